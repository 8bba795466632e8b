//! Debian's Prometheus scrapes a run, and a hub with all that a controller may show. Every expression of the dashboard
//! (`deploy/grafana/edison.json`) gives what the API of the same server says.

use crate::support::capture;
use crate::support::program::{Running, edison};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::{api_get, until};
use archive::{Archive, ArchiveChanges, ArchiveRetention};
use model::{Answer, Column, ColumnKind, Counters, Event, EventKind, Span, Value as Cell};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use web::view::{
    Broker, BrokerState, Clock, Delivered, KernelClock, Load, Mode, NodeState, NodeView, QueryView, Spool,
    Status, Store, Trigger, WindowTotals,
};

/// A name that would end a label, a line or an expression.
const HOSTILE: &str = "a\"b\\c\nd} 1\n# TYPE x counter\nü{{node}}";
/// The same of a query: without a newline, which `.*` does not match.
const QUERY: &str = "a\"b\\c} 1 # ü{{node}}";
const SECOND: u64 = 1_000_000_000;

/// Labels without those of the target, and a number.
type Series = BTreeMap<BTreeMap<String, String>, f64>;
/// The same with the least and the most that it may be.
type Ranges = BTreeMap<BTreeMap<String, String>, (f64, f64)>;

/// Prometheus as a process of this test.
struct Prometheus {
    running: Running,
    port: u16,
}

impl Prometheus {
    /// Starts one that scrapes these servers, each under its name; `None` where it is not installed.
    fn start(scratch: &Scratch, jobs: &[(&str, u16)]) -> Option<Self> {
        if Command::new("prometheus").arg("--version").output().is_err() {
            eprintln!("not tested: there is no Prometheus (Debian's package prometheus)");
            return None;
        }
        let mut settings = "global: {scrape_interval: 3s, scrape_timeout: 3s}\nscrape_configs:\n".to_owned();
        for (job, port) in jobs {
            settings.push_str(&format!(
                "- {{job_name: {job}, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n"
            ));
        }
        let settings = scratch.file("prometheus.yml", settings);
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", text(&settings)));
        command.arg(format!("--storage.tsdb.path={}", text(&scratch.path("prometheus"))));
        command.args(["--web.listen-address=127.0.0.1:0", "--log.level=info"]);
        let mut running = Running::start(&mut command);
        // It says where it listens.
        let port = |running: &Running| -> Option<u16> {
            let said = running.said();
            let line = said.iter().find(|line| line.contains("Listening on"))?;
            line.split("address=127.0.0.1:").nth(1)?.split_whitespace().next()?.parse().ok()
        };
        assert!(running.wait_for("Prometheus", |running| port(running).is_some()), "{:?}", running.said());
        let port = port(&running).expect("it was there");
        let ready = format!("http://127.0.0.1:{port}/-/ready");
        until("Prometheus to be ready", || ureq::get(&ready).call().ok().map(drop));
        Some(Self { running, port })
    }

    /// What an expression gives at a time.
    fn ask(&self, expression: &str, time: f64) -> Value {
        let time = time.to_string();
        let parameters = [("query", expression), ("time", time.as_str())];
        let request = ureq::post(format!("http://127.0.0.1:{}/api/v1/query", self.port)).config();
        let answer = request.http_status_as_error(false).build().send_form(parameters).expect("an answer");
        let answer = answer.into_body().read_to_string().expect("a text");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"].clone()
    }
}

/// The labels of a result that are not those of its target.
fn labels(result: &Value) -> BTreeMap<String, String> {
    let labels = result["metric"].as_object().expect("labels").iter();
    let own = labels.filter(|(name, _)| !["__name__", "job", "instance"].contains(&name.as_str()));
    own.map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned())).collect()
}

/// The number and the time of a sample.
fn sample(sample: &Value) -> (f64, f64) {
    let number = sample[1].as_str().and_then(|text| text.parse().ok()).expect("a number");
    (sample[0].as_f64().expect("a time"), number)
}

fn series(results: &Value) -> Series {
    let results = results.as_array().expect("a list").iter();
    results.map(|result| (labels(result), sample(&result["value"]).1)).collect()
}

/// A number of the API; those beyond 2^53 are texts.
fn number(json: &Value) -> Option<f64> {
    json.as_f64().or_else(|| json.as_str()?.parse().ok())
}

/// What the API of a server says.
struct Said {
    status: Value,
    queries: Vec<Value>,
    events: Vec<Value>,
}

impl Said {
    fn of(port: u16) -> Self {
        let list = |path: &str, name: &str| {
            api_get(port, path).expect("an answer")[name].as_array().expect("a list").clone()
        };
        Self {
            status: api_get(port, "/status").expect("a status"),
            queries: list("/queries", "queries"),
            events: list("/events?limit=1000", "events"),
        }
    }

    /// A number of each node that has it.
    fn of_nodes(&self, get: impl Fn(&Value) -> Option<f64>) -> Series {
        let nodes = self.status["nodes"].as_array().expect("nodes").iter();
        nodes.filter_map(|node| Some((named(&[("node", &node["name"])]), get(node)?))).collect()
    }

    /// Counters of each node.
    fn counters_of_nodes(&self, pointer: &str, label: &str) -> Series {
        let nodes = self.status["nodes"].as_array().expect("nodes").iter();
        let of_node = |node: &Value| {
            let counters = node.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
            let name = node["name"].clone();
            let series = counters.into_iter().map(move |(counter, count)| {
                (named(&[("node", &name), (label, &counter.into())]), number(&count).expect("a count"))
            });
            series.collect::<Vec<_>>()
        };
        nodes.flat_map(of_node).collect()
    }

    fn counters(&self, pointer: &str, label: &str) -> Series {
        let counters = self.status.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
        counters
            .into_iter()
            .map(|(name, count)| (named(&[(label, &name.into())]), number(&count).expect("a count")))
            .collect()
    }

    fn one(&self, value: Option<f64>) -> Series {
        value.map(|value| (BTreeMap::new(), value)).into_iter().collect()
    }

    /// Numbers of the latest answers that are exported; `dst_addr` is the key of all of them.
    fn exported(&self, get: impl Fn(&Value) -> Option<f64>) -> Series {
        let mut series = Series::new();
        for query in self.queries.iter().filter(|query| query["metric"] == true) {
            for answer in query["latest"].as_array().expect("answers") {
                for row in answer["rows"].as_array().expect("rows").iter().take(20) {
                    for column in answer["columns"].as_array().expect("columns") {
                        let name = column["name"].as_str().expect("a name");
                        let Some(value) = get(&row[name]).filter(|_| name != "dst_addr") else { continue };
                        let labels = [
                            ("query", &query["name"]),
                            ("node", &answer["node"]),
                            ("column", &column["name"]),
                            ("unit", &column["unit"]),
                            ("dst_addr", &row["dst_addr"]),
                        ];
                        series.insert(named(&labels), value);
                    }
                }
            }
        }
        series
    }

    /// What a metric must be, by what the API says.
    fn metric(&self, name: &str) -> Series {
        let is_controller = self.status["mode"] == "controller";
        let heard = |node: &Value| !is_controller || node["state"] != "never";
        let at = |pointer: &'static str| {
            move |node: &Value| number(node.pointer(pointer)?).filter(|_| heard(node))
        };
        let spool = |pointer: &'static str| {
            move |node: &Value| {
                number(node.pointer(pointer)?).filter(|_| is_controller && !node["version"].is_null())
            }
        };
        let known = |node: &Value, state: &[&str]| state.iter().any(|state| node["state"] == *state);
        match name {
            "edison_broker_up" => {
                let state = self.status["broker"]["state"].as_str();
                self.one(state.map(|state| f64::from(u8::from(state == "connected"))))
            }
            "edison_series_left_out" => self.one(Some(0.0)),
            "edison_windows_total" => {
                let mut windows = self.counters("/windows", "kind");
                windows
                    .retain(|labels, _| is_controller || ["complete", "partial"].contains(&&*labels["kind"]));
                windows
            }
            "edison_refused_messages_total" => self.counters("/refused", "reason"),
            "edison_refused_requests_total" => self.counters("/refused_requests", "reason"),
            "edison_kafka_delivered_messages_total" => {
                self.one(self.status.pointer("/kafka/delivered").and_then(number))
            }
            "edison_kafka_lost_messages_total" => self.counters("/kafka/lost", "reason"),
            "edison_events_total" => {
                let mut counts = Series::new();
                for query in self.queries.iter().filter(|query| !query["trigger"].is_null()) {
                    for kind in ["fired", "resolved"] {
                        counts.insert(named(&[("query", &query["name"]), ("kind", &kind.into())]), 0.0);
                    }
                }
                for event in &self.events {
                    let labels = named(&[("query", &event["query"]), ("kind", &event["kind"])]);
                    *counts.entry(labels).or_default() += 1.0;
                }
                counts
            }
            "edison_node_up" => self.of_nodes(|node| Some(f64::from(u8::from(known(node, &["up", "late"]))))),
            "edison_node_received_frames_total" => self.of_nodes(at("/packets/received")),
            "edison_node_measured_frames_total" => self.of_nodes(at("/packets/measured")),
            "edison_node_lost_frames_total" => self.of_nodes(|node| {
                let counters = node["loss"].as_object()?;
                Some(counters.values().map(|count| number(count).expect("a count")).sum())
            }),
            "edison_node_loss_frames_total" => self.counters_of_nodes("/loss", "reason"),
            "edison_node_not_measured_frames_total" => {
                self.counters_of_nodes("/packets/not_measured", "reason")
            }
            "edison_node_coverage_ratio" => self.of_nodes(at("/coverage")),
            "edison_node_busy_ratio" => self.of_nodes(at("/load/busy")),
            "edison_node_flows" => self.of_nodes(at("/load/flows")),
            "edison_node_flows_limit" => self.of_nodes(at("/load/most_flows")),
            "edison_node_clock_error_seconds" => {
                self.of_nodes(|node| Some(number(node.pointer("/clock/max_error_ns")?)? / 1e9))
            }
            "edison_node_clock_ahead_seconds" => self.of_nodes(at("/clock/ahead_s")),
            "edison_node_spool_bytes" => self.of_nodes(spool("/spool/bytes")),
            "edison_node_spool_dropped_total" => self.of_nodes(spool("/spool/dropped")),
            "edison_node_store_bytes" => self.of_nodes(at("/store/bytes")),
            "edison_node_store_lost_rows_total" => self.of_nodes(at("/store/lost")),
            "edison_query_value" => {
                self.exported(|value| number(if value.is_object() { &value["value"] } else { value }))
            }
            "edison_query_lower" => self.exported(|value| number(value.get("lower")?)),
            "edison_query_upper" => self.exported(|value| number(value.get("upper")?)),
            "edison_query_keys_left_out" => {
                let mut left_out = Series::new();
                for query in self.queries.iter().filter(|query| query["metric"] == true) {
                    for answer in query["latest"].as_array().expect("answers") {
                        let rows = answer["rows"].as_array().expect("rows").len();
                        let rest = number(&answer["rest"]["groups"]).expect("a count");
                        let labels = named(&[("query", &query["name"]), ("node", &answer["node"])]);
                        left_out.insert(labels, rest + rows.saturating_sub(20) as f64);
                    }
                }
                left_out
            }
            _ => panic!("the dashboard has {name}, which this test does not know"),
        }
    }
}

/// Labels; what is null or empty is none.
fn named(labels: &[(&str, &Value)]) -> BTreeMap<String, String> {
    let labels =
        labels.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.as_str()?.to_owned())));
    labels.filter(|(_, value)| !value.is_empty()).collect()
}

/// One server, and what is asked of it.
struct Job<'a> {
    prometheus: &'a Prometheus,
    said: Said,
    time: f64,
}

impl Job<'_> {
    /// What an expression must be.
    fn expected(&self, expression: &str) -> Ranges {
        if let Some((by, inner)) = aggregated(expression) {
            let mut groups = Ranges::new();
            for (labels, (least, most)) in self.expected(inner) {
                let (least, most) = if expression.starts_with("count(") { (1.0, 1.0) } else { (least, most) };
                let labels = labels.into_iter().filter(|(name, _)| by.contains(&name.as_str())).collect();
                let group = groups.entry(labels).or_default();
                *group = (group.0 + least, group.1 + most);
            }
            return groups;
        }
        let inner = ["rate(", "increase("].iter().find_map(|name| expression.strip_prefix(name));
        if let Some(range) = inner.map(|inner| inner.trim_end_matches(')')) {
            let per = if expression.starts_with("rate") { 3600.0 } else { 1.0 };
            return self.over_time(range, per);
        }
        self.selected(expression).into_iter().map(|(labels, value)| (labels, (value, value))).collect()
    }

    /// What a selector without a range must be.
    fn selected(&self, selector: &str) -> Series {
        let (name, matchers) = selector.split_once('{').expect("a selector");
        let mut series = self.said.metric(name);
        if matchers.contains("kind=\"fired\"") {
            series.retain(|labels, _| labels["kind"] == "fired");
        }
        series
    }

    /// What counters grew by within an hour, between what the samples have and what Prometheus may extrapolate them to. The last sample is
    /// what the API says.
    fn over_time(&self, range: &str, per: f64) -> Ranges {
        let results = self.prometheus.ask(range, self.time);
        let mut expected = self.selected(range.split('[').next().expect("a selector"));
        let mut grown = Ranges::new();
        for result in results.as_array().expect("a list") {
            let samples: Vec<_> = result["values"].as_array().expect("samples").iter().map(sample).collect();
            let (first, last) = (samples[0], samples[samples.len() - 1]);
            let labels = labels(result);
            // The API leaves out counters that are zero.
            let said = expected.remove(&labels).unwrap_or_default();
            assert_eq!(said, last.1, "{range}: {labels:?}");
            let delta = last.1 - first.1;
            grown.insert(labels, (delta / per, delta * 3600.0 / (last.0 - first.0) / per));
        }
        assert!(expected.is_empty(), "{range}: Prometheus lacks {expected:?}");
        grown
    }

    fn check(&self, expression: &str) -> usize {
        let mut got = series(&self.prometheus.ask(expression, self.time));
        let expected = self.expected(expression);
        // The API leaves out counters that are zero.
        got.retain(|labels, value| {
            *value != 0.0 || !labels.contains_key("reason") || expected.contains_key(labels)
        });
        let names = |series: BTreeSet<_>| -> Vec<String> {
            series.into_iter().map(|labels: &BTreeMap<String, String>| format!("{labels:?}")).collect()
        };
        assert_eq!(
            names(got.keys().collect()),
            names(expected.keys().collect()),
            "the series of {expression}"
        );
        for (labels, value) in &got {
            let (least, most) = expected[labels];
            let error = 1e-9 * most.abs();
            let is_right = (least - error..=most + error).contains(value);
            assert!(is_right, "{expression} {labels:?}: {value}, not from {least} to {most}");
        }
        got.len()
    }
}

/// The labels by which an expression aggregates, and what.
fn aggregated(expression: &str) -> Option<(Vec<&str>, &str)> {
    let inner = |text: &'static str| expression.strip_prefix(text)?.strip_suffix(')');
    if let Some(inner) = inner("sum(").or_else(|| inner("count(")) {
        return Some((Vec::new(), inner));
    }
    let (by, inner) = expression.strip_prefix("sum by (")?.split_once(") (")?;
    Some((by.split(", ").collect(), inner.strip_suffix(')')?))
}

/// All expressions of the dashboard for one job.
fn expressions(job: &str) -> Vec<String> {
    let dashboard = include_str!("../../deploy/grafana/edison.json");
    let dashboard: Value = serde_json::from_str(dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let filled = |target: &Value| {
        let expression = target["expr"].as_str().expect("an expression");
        let filled =
            expression.replace("$job", job).replace("$query", ".*").replace("$__rate_interval", "1h");
        assert!(!filled.contains('$'), "{filled}");
        filled
    };
    targets.map(filled).collect()
}

/// A hub with all that a controller may show, under names of strangers.
struct Shown(web::Hub);

impl Shown {
    fn new() -> Self {
        let hub = web::Hub::new(Archive::in_memory(ArchiveRetention::default()).expect("an archive"));
        let columns = vec![
            Column::new("dst_addr", ColumnKind::Address, ""),
            Column::new("bytes", ColumnKind::Unsigned, "bytes"),
            Column::new(HOSTILE, ColumnKind::Estimate, HOSTILE),
        ];
        let key = vec!["dst_addr".to_owned()];
        let heavy = QueryView {
            name: QUERY.to_owned(),
            columns: columns.clone(),
            metric: true,
            key,
            ..QueryView::default()
        };
        let fired =
            QueryView { name: "fired".to_owned(), trigger: Some(Trigger::default()), ..QueryView::default() };
        hub.set_queries(vec![heavy, fired]);
        let row = |number: u8| {
            let estimate = Cell::Estimate { value: 7.5, lower: 7.0, upper: f64::from(number) + 8.0 };
            vec![Cell::Address([192, 0, 2, number].into()), Cell::Unsigned(1 << 40), estimate]
        };
        let span = Span { start_ns: SECOND, end_ns: 2 * SECOND };
        let mut answer = Answer::new(QUERY, Some(span), columns, (0..33).map(row).collect());
        answer.node = Some(HOSTILE.to_owned());
        answer.rest.groups = 4;
        hub.publish(&ArchiveChanges { answers: vec![answer], ..ArchiveChanges::default() })
            .expect("it is stored");
        let shown = Self(hub);
        shown.step(1);
        shown
    }

    /// Everything that is counted grows.
    fn step(&self, step: u64) {
        let counters = |name: &str| -> Counters {
            [(name.to_owned(), step * 10), ("b".to_owned(), step)].into_iter().collect()
        };
        let mut node = NodeView {
            name: HOSTILE.to_owned(),
            state: NodeState::Up,
            coverage: Some(0.5),
            loss: Some(counters(HOSTILE)),
            spool: Spool { messages: 1, bytes: 2_000, dropped: step, ..Spool::default() },
            store: Some(Store { files: 3, bytes: 4_000, lost: step, fault: None }),
            clock: Some(Clock {
                kernel: KernelClock { synchronised: None, max_error_ns: Some(5_000_000) },
                ahead_s: Some(-0.25),
            }),
            load: Some(Load { busy: Some(0.75), flows: 7, most_flows: Some(1_000) }),
            version: Some("1".to_owned()),
            ..NodeView::default()
        };
        node.packets.received = 100 * step;
        node.packets.measured = 90 * step;
        node.packets.not_measured = counters("arp");
        let never = NodeView { name: "never".to_owned(), ..NodeView::default() };
        let down = NodeView { name: "down".to_owned(), state: NodeState::Down, ..NodeView::default() };
        let broker = Broker { state: BrokerState::Connected, since_ns: SECOND, reason: None };
        let kafka = Delivered { delivered: 1_000 * step, lost: counters("dropped"), ..Delivered::default() };
        let event = Event {
            event: step.to_string(),
            kind: EventKind::Fired,
            query: "fired".to_owned(),
            fired_by: None,
            key: Vec::new(),
            node: None,
            at_ns: step * SECOND,
            window: None,
            values: Vec::new(),
            threshold: None,
            late: false,
            coverage: None,
            bounds: None,
            parent: None,
            title: None,
        };
        self.0
            .publish(&ArchiveChanges { events: vec![event], ..ArchiveChanges::default() })
            .expect("it is stored");
        // Last: who reads the status of a step finds its event, too.
        self.0.set_status(Status {
            mode: Mode::Controller,
            broker: Some(broker),
            kafka: Some(kafka),
            nodes: vec![node, never, down],
            refused: counters(HOSTILE),
            windows: WindowTotals {
                complete: 10 * step,
                partial: step,
                late: 2 * step,
                lost: 1,
                missing: 3,
                doubled: 1,
            },
            ..Status::default()
        });
    }
}

/// A run that has ended: its page stays.
fn start_run(scratch: &Scratch) -> (Running, u16) {
    let capture = capture::generate(scratch, "packets=20k,flows=2k,zipf=1.0,plant=flood").path;
    let queries = "heavy: select dst_addr, sum(total_byte) as bytes, count(distinct src_addr) as sources \
        groupby dst_addr order by bytes desc limit 30 every 1s export as metric;\n\
        alarm: select count(*) as n every 1s when heavy.bytes > 1000 export as metric;";
    let mut command = edison();
    command.args(["run", text(&capture), "--web=127.0.0.1:0", "-q", queries]);
    let mut running = Running::start(&mut command);
    let line = |running: &Running| running.said().into_iter().find(|line| line.contains("stays at"));
    assert!(running.wait_for("the end", |running| line(running).is_some()), "{:?}", running.said());
    let line = line(&running).expect("it was there");
    let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()?.parse().ok());
    (running, port.expect("a port"))
}

#[test]
fn every_expression_of_the_dashboard_is_what_the_api_says() {
    let scratch = Scratch::new();
    let shown = Shown::new();
    let server =
        web::serve(shown.0.clone(), "127.0.0.1:0".parse().expect("an address"), None).expect("a server");
    // Prometheus takes what comes under its scrape's time: what is refused is counted before the first one.
    let refused = ureq::get(format!("http://{}/nothing.txt", server.address()));
    assert!(refused.call().is_err());
    let (mut run, port) = start_run(&scratch);
    let ports = [("hub", server.address().port()), ("run", port)];
    let Some(prometheus) = Prometheus::start(&scratch, &ports) else { return };

    // What is there at the first scrape has grown by the last one.
    let scraped = |conditions: &[&str]| {
        let now = now_s();
        let holds = |expression: &&str| !series(&prometheus.ask(expression, now)).is_empty();
        conditions.iter().all(holds).then_some(now)
    };
    let first = ["edison_node_received_frames_total{job=\"hub\"} == 100", "up{job=\"run\"} == 1"];
    until("the first scrapes", || scraped(&first));
    shown.step(3);
    let grown = "edison_node_received_frames_total{job=\"hub\"} == 300";
    let again = "min(count_over_time(edison_build_info[1h])) >= 2 and sum(up) == 2";
    let time = until("scrapes of what has grown", || scraped(&[grown, again]));
    let mut most = BTreeMap::new();
    for (name, port) in ports {
        let job = Job { prometheus: &prometheus, said: Said::of(port), time };
        for (place, expression) in expressions(name).iter().enumerate() {
            let count = job.check(expression);
            let known: &mut usize = most.entry(place).or_default();
            *known = count.max(*known);
        }
        let fired = job.said.metric("edison_events_total").values().sum::<f64>();
        assert!(
            fired > 0.0 && !job.said.metric("edison_query_value").is_empty(),
            "{name} has nothing to show"
        );
    }
    // None of them was only right because there was nothing.
    let all = expressions("hub");
    let empty: Vec<_> =
        most.iter().filter(|(_, count)| **count == 0).map(|(place, _)| &all[*place]).collect();
    assert!(empty.is_empty(), "{empty:?}");
    run.signal(libc::SIGINT);
    run.wait().expect(0);
    let mut prometheus = prometheus.running;
    prometheus.signal(libc::SIGTERM);
    prometheus.wait().expect(0);
}

/// Now, seconds since the epoch.
fn now_s() -> f64 {
    std::time::UNIX_EPOCH.elapsed().expect("after the epoch").as_secs_f64()
}
