//! `/metrics`: what Prometheus's own checker takes, whatever names there are, and nothing that is not known.

use crate::access::Keys;
use crate::client::{get, json, send};
use crate::sample::{self, HOSTILE, SECOND, START, event, full, hub, serve, status, window};
use archive::ArchiveChanges;
use model::{Answer, AnswerStatus, Column, ColumnKind, EventKind, Item, Value};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use web::Role;
use web::view::{Load, Mode, NodeState, NodeView, QueryView, Spool, Status, Store};

/// What a scrape gives. Debian's `promtool` has checked it, if it is there.
fn scrape(address: SocketAddr) -> String {
    let response = get(address, "/metrics");
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    check(response.text());
    response.text().to_owned()
}

fn check(text: &str) {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = match promtool {
        Ok(promtool) => promtool,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("not checked: promtool is not installed (Debian's package prometheus)");
            return;
        }
        Err(error) => panic!("promtool: {error}"),
    };
    promtool.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it is read");
    let ended = promtool.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.trim().is_empty(), "{said}\n{text}");
}

/// The value of a series, as it is written.
fn value<'a>(text: &'a str, series: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

#[track_caller]
fn has(text: &str, series: &str, number: &str) {
    assert_eq!(value(text, series), Some(number), "{series}\n{text}");
}

#[track_caller]
fn has_none(text: &str, begin: &str) {
    let found = text.lines().find(|line| line.starts_with(begin));
    assert_eq!(found, None);
}

#[test]
fn the_state_is_there_and_what_is_unknown_is_not() {
    let hub = full();
    let server = serve(&hub);
    assert_eq!(get(server.address(), "/nothing.txt").status, 404);
    let text = scrape(server.address());
    for (series, number) in [
        ("edison_build_info{version=\"0.1.0\",mode=\"controller\"}", "1"),
        ("edison_start_timestamp_seconds", "1795534800"),
        ("edison_broker_up", "0"),
        ("edison_controller_fault{fault=\"archive\"}", "0"),
        ("edison_controller_fault{fault=\"broker_away\"}", "1"),
        ("edison_windows_total{kind=\"missing\"}", "5"),
        ("edison_node_missing_windows_total{node=\"Node1\",reason=\"not_sent\"}", "6"),
        ("edison_node_missing_seconds_total{node=\"Node1\",reason=\"not_sent\"}", "6"),
        ("edison_node_watched_ratio{node=\"Node1\"}", "0.9"),
        ("edison_node_unheard{node=\"Node1\"}", "0"),
        ("edison_windows_total{kind=\"partial\"}", "2"),
        ("edison_windows_total{kind=\"doubled\"}", "18446744073709551615"),
        ("edison_refused_messages_total{reason=\"version\"}", "2"),
        ("edison_refused_requests_total{reason=\"unknown_path\"}", "1"),
        ("edison_kafka_delivered_messages_total", "1"),
        ("edison_alerts_total{alertmanager=\"http://127.0.0.1:9093\",kind=\"fired\"}", "1"),
        ("edison_alerts_lost_total{alertmanager=\"http://127.0.0.1:9093\",reason=\"refused\"}", "6"),
        ("edison_alerts_problems_total{alertmanager=\"http://127.0.0.1:9093\",problem=\"away\"}", "7"),
        ("edison_alertmanager_up{alertmanager=\"http://127.0.0.1:9093\"}", "0"),
        ("edison_kafka_lost_messages_total{reason=\"dropped\"}", "4"),
        ("edison_events_total{query=\"q2\",kind=\"fired\"}", "1"),
        ("edison_events_total{query=\"q2\",kind=\"missed\"}", "1"),
        ("edison_node_up{node=\"Node1\"}", "1"),
        ("edison_node_received_frames_total{node=\"Node1\"}", "10"),
        ("edison_node_measured_frames_total{node=\"Node1\"}", "7"),
        ("edison_node_not_measured_frames_total{node=\"Node1\",reason=\"arp\"}", "3"),
        ("edison_node_lost_frames_total{node=\"Node1\"}", "18446744073709551615"),
        ("edison_node_coverage_ratio{node=\"Node1\"}", "0.5"),
        ("edison_node_flows{node=\"Node1\"}", "7"),
        ("edison_node_busy_ratio{node=\"Node1\"}", "0.5"),
        ("edison_node_spool_dropped_total{node=\"Node1\"}", "3"),
        ("edison_node_spool_fault{node=\"Node1\"}", "1"),
        ("edison_node_store_lost_rows_total{node=\"Node1\"}", "3"),
        ("edison_node_clock_error_seconds{node=\"Node1\"}", "0.000000005"),
        ("edison_node_clock_ahead_seconds{node=\"Node1\"}", "-0.25"),
        ("edison_node_tasks_current{node=\"Node1\"}", "0"),
        ("edison_series_left_out", "0"),
    ] {
        has(&text, series, number);
    }
    // Nothing was ever heard of the second node.
    let of_second: Vec<_> = text.lines().filter(|line| line.contains("node=\"Node2\"")).collect();
    let flags = ["up", "late", "unheard"].map(|flag| format!("edison_node_{flag}{{node=\"Node2\"}} 0"));
    assert_eq!(of_second, flags);

    // How a node is that the controller cannot hear is not known.
    let unheard = NodeView { name: "Node1".to_owned(), state: NodeState::Unheard, ..NodeView::default() };
    hub.set_status(Status { mode: Mode::Controller, nodes: vec![unheard], ..Status::default() });
    let text = scrape(server.address());
    has(&text, "edison_node_unheard{node=\"Node1\"}", "1");
    has_none(&text, "edison_node_up");
    has_none(&text, "edison_node_late");

    // A run has no broker, no spool, and no window that could be late.
    let node = NodeView { name: "Node1".to_owned(), version: Some("1".to_owned()), ..NodeView::default() };
    hub.set_status(Status { mode: Mode::Run, nodes: vec![node], ..Status::default() });
    let text = scrape(server.address());
    has(&text, "edison_node_received_frames_total{node=\"Node1\"}", "0");
    has(&text, "edison_windows_total{kind=\"complete\"}", "0");
    for absent in [
        "edison_broker",
        "edison_kafka",
        "edison_alert",
        "edison_node_spool",
        "edison_node_lost",
        "edison_node_coverage",
        "edison_windows_total{kind=\"late\"}",
        "edison_node_busy",
        "edison_node_store",
    ] {
        has_none(&text, absent);
    }
}

/// A query whose key is an address, a port and a text.
fn exported(name: &str, columns: Vec<Column>) -> QueryView {
    let key = ["dst_addr", "query", "text", "text!", "8port"].map(str::to_owned);
    QueryView { name: name.to_owned(), columns, metric: true, key: key.into(), ..QueryView::default() }
}

#[test]
fn names_of_strangers_stay_within_their_labels() {
    let columns = vec![
        Column::new("query", ColumnKind::Text, ""),
        Column::new("text", ColumnKind::Text, ""),
        Column::new("text!", ColumnKind::Text, ""),
        Column::new("8port", ColumnKind::Unsigned, ""),
        Column::new(HOSTILE, ColumnKind::Unsigned, HOSTILE),
        Column::new("free", ColumnKind::Text, ""),
    ];
    let long = "\\\"\n".repeat(100_000);
    let text = |text: &str| Value::Text(text.to_owned());
    let row = |key: &str| {
        vec![text(key), text("b"), text("c"), Value::Unsigned(80), Value::Unsigned(1), text("not a label")]
    };
    // The last two differ behind what is kept of a label.
    let rows = vec![row(HOSTILE), row(&long), row(&(long.clone() + "x"))];
    let mut status = status();
    status.nodes[0].name = HOSTILE.to_owned();
    status.nodes[0].packets.not_measured = [(HOSTILE, 3)].into_iter().collect();
    let hub = hub();
    hub.set_status(status);
    hub.set_queries(vec![exported(HOSTILE, columns.clone())]);
    let mut answer = Answer::new(HOSTILE, Some(window(0)), columns, rows);
    answer.node = Some(HOSTILE.to_owned());
    answer.bound = vec![Item { column: Column::new("text", ColumnKind::Text, ""), value: text(HOSTILE) }];
    hub.publish(&ArchiveChanges { answers: vec![answer], ..ArchiveChanges::default() })
        .expect("it is stored");
    let server = serve(&hub);
    let text = scrape(server.address());
    // U+2028 ends no line; the other control characters and the end of the line are not there as such.
    let safe = "</script><img src=x onerror=alert(1)>\\\"'\\\\\\n\u{fffd}\\ndata: x\\n\\nevent: y; DROP TABLE events--\u{fffd}ü\u{2028}";
    has(&text, &format!("edison_node_up{{node=\"{safe}\"}}"), "1");
    let labels = format!(
        "edison_query_value{{query=\"{safe}\",node=\"{safe}\",column=\"{safe}\",unit=\"{safe}\",pinned_text=\"{safe}\",\
         key_query=\"{safe}\",text=\"b\",text_=\"c\",key_8port=\"80\"}}"
    );
    has(&text, &labels, "1");
    assert_eq!(text.lines().filter(|line| line.starts_with("edison_query_value{")).count(), 2);
    has(&text, "edison_series_left_out", "1");
    assert!(text.lines().all(|line| line.len() < 4000), "a label has no bound");
    assert!(!text.contains("not a label"));
}

#[test]
fn answers_have_twenty_keys_and_bounds() {
    let columns = vec![
        Column::new("dst_addr", ColumnKind::Address, ""),
        Column::new("total_byte", ColumnKind::Unsigned, "bytes"),
        Column::new("gap", ColumnKind::Unsigned, "ns"),
        Column::new("sources", ColumnKind::Estimate, ""),
        Column::new("share", ColumnKind::Float, ""),
        Column::new("lost", ColumnKind::Unsigned, "packets"),
    ];
    let row = |number: u8| {
        vec![
            Value::Address([192, 0, 2, number].into()),
            Value::Unsigned(u64::MAX),
            Value::Unsigned(1_500_000_000),
            Value::Estimate { value: 7.5, lower: f64::from(number), upper: f64::INFINITY },
            Value::Float(f64::NAN),
            Value::Null,
        ]
    };
    let hub = hub();
    let private = QueryView { metric: false, ..exported("private", columns.clone()) };
    hub.set_queries(vec![exported("heavy", columns.clone()), private]);
    let answer = |query: &str, node: Option<&str>, window_number: u64, rows: u8| {
        let rows = (0..rows).map(row).collect();
        let mut answer = Answer::new(query, Some(window(window_number)), columns.clone(), rows);
        answer.node = node.map(str::to_owned);
        answer.coverage = node.map(|_| 0.75);
        answer.rest.groups = 5;
        answer
    };
    let mut partial = answer("heavy", None, 1, 2);
    partial.status = AnswerStatus::Partial;
    let answers = vec![
        answer("heavy", Some("Node1"), 0, 3),
        answer("heavy", Some("Node1"), 1, 33),
        partial,
        answer("private", None, 0, 1),
    ];
    hub.publish(&ArchiveChanges { answers, ..ArchiveChanges::default() }).expect("it is stored");
    let server = serve(&hub);
    let text = scrape(server.address());
    let series = |name: &str, column: &str, unit: &str, address: u8| {
        format!(
            "edison_query_{name}{{query=\"heavy\",node=\"Node1\",column=\"{column}\"{unit},dst_addr=\"192.0.2.{address}\"}}"
        )
    };
    for address in 0..20 {
        has(&text, &series("value", "total_byte", ",unit=\"bytes\"", address), "18446744073709551615");
        has(&text, &series("value", "gap", ",unit=\"seconds\"", address), "1.5");
        has(&text, &series("value", "sources", "", address), "7.5");
        has(&text, &series("lower", "sources", "", address), &address.to_string());
    }
    assert_eq!(text.matches("edison_query_value{query=\"heavy\",node=\"Node1\"").count(), 3 * 20);
    // Nothing is known of an upper bound, of a share that is no number, and of what is null.
    for absent in ["edison_query_upper", "column=\"share\"", "column=\"lost\"", "private"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    let of_node = |name: &str| format!("edison_query_{name}{{query=\"heavy\",node=\"Node1\"}}");
    has(&text, &of_node("keys_left_out"), "18");
    has(&text, &of_node("answer_complete"), "1");
    has(&text, &of_node("answer_coverage_ratio"), "0.75");
    has(&text, &of_node("window_end_timestamp_seconds"), "1795534820");
    has(&text, "edison_query_keys_left_out{query=\"heavy\"}", "5");
    has(&text, "edison_query_answer_complete{query=\"heavy\"}", "0");
    has_none(&text, "edison_query_answer_coverage_ratio{query=\"heavy\"}");
}

#[test]
fn events_are_counted_of_queries_that_are_there() {
    let hub = hub();
    hub.set_queries(sample::queries());
    let server = serve(&hub);
    let series = |kind: &str| format!("edison_events_total{{query=\"q2\",kind=\"{kind}\"}}");
    has(&scrape(server.address()), &series("fired"), "0");
    for (number, kind) in [EventKind::Fired, EventKind::Resolved, EventKind::Fired].into_iter().enumerate() {
        let event = event(&number.to_string(), kind, START + number as u64 * SECOND);
        hub.publish(&ArchiveChanges { events: vec![event], ..ArchiveChanges::default() })
            .expect("it is stored");
    }
    let text = scrape(server.address());
    has(&text, &series("fired"), "2");
    has(&text, &series("resolved"), "1");
    has_none(&text, "edison_events_total{query=\"q1\"");
    hub.set_queries(Vec::new());
    has_none(&scrape(server.address()), "edison_events_total");
}

#[test]
fn it_is_guarded_as_the_api_is() {
    let keys = Keys::new();
    let hub = full();
    let server = keys.serve(&hub);
    let ask = |line: &str, headers: &[(&str, &str)]| send(server.address(), line, headers, b"").status;
    assert_eq!(ask("GET /metrics", &[]), 401);
    let bearer = keys.bearer(Role::View);
    assert_eq!(ask("GET /metrics", &[("Authorization", &bearer)]), 200);
    assert_eq!(ask("GET /metrics?query=a", &[("Authorization", &bearer)]), 400);
    assert_eq!(ask("POST /metrics", &[("Authorization", &bearer)]), 405);
    let server = serve(&hub);
    let elsewhere =
        crate::client::send_bare(server.address(), "GET /metrics", &[("Host", "example.org")], b"");
    assert_eq!(elsewhere.status, 403);
    assert_eq!(json(server.address(), "/api/v1/status")["refused_requests"]["no_token"], 1);
}

/// A controller of 1,000 nodes, of which ten reasons are known each, and ten exported queries of 20 keys of each tenth node:
/// `cargo test -p web --test it -- --ignored --nocapture a_scrape_of_a_thousand_nodes`.
#[test]
#[ignore = "it measures a time"]
fn a_scrape_of_a_thousand_nodes() {
    let hub = hub();
    let reasons: model::Counters = (0..10).map(|number| (format!("reason_{number}"), number)).collect();
    let node = |number: u64| {
        let mut node = NodeView {
            name: format!("Node{number}"),
            state: NodeState::Up,
            seen_ns: Some(START),
            coverage: Some(0.5),
            window: Some(window(number)),
            loss: Some(reasons.clone()),
            spool: Spool { messages: number, ..Spool::default() },
            store: Some(Store::default()),
            clock: Some(web::view::Clock {
                kernel: web::view::KernelClock { synchronised: Some(true), max_error_ns: Some(5) },
                ahead_s: Some(0.5),
            }),
            load: Some(Load { busy: Some(0.25), flows: 1_000_000, most_flows: Some(2_000_000) }),
            version: Some("0.1.0".to_owned()),
            ..NodeView::default()
        };
        node.packets.received = number;
        node.packets.not_measured = reasons.clone();
        node
    };
    hub.set_status(Status {
        mode: Mode::Controller,
        nodes: (0..1_000).map(node).collect(),
        ..Status::default()
    });
    let columns = vec![
        Column::new("dst_addr", ColumnKind::Address, ""),
        Column::new("bytes", ColumnKind::Unsigned, "bytes"),
    ];
    let rows = (0..20).map(|row| vec![Value::Address([192, 0, 2, row].into()), Value::Unsigned(u64::MAX)]);
    let rows: Vec<_> = rows.collect();
    let names: Vec<String> = (0..10).map(|number| format!("q{number}")).collect();
    hub.set_queries(names.iter().map(|name| exported(name, columns.clone())).collect());
    let answers = names.iter().flat_map(|name| (0..1_000).step_by(10).map(move |node| (name, node)));
    let answers = answers.map(|(name, number)| {
        let node = Some(format!("Node{number}"));
        Answer { node, ..Answer::new(name, Some(window(0)), columns.clone(), rows.clone()) }
    });
    hub.publish(&ArchiveChanges { answers: answers.collect(), ..ArchiveChanges::default() })
        .expect("it is stored");
    let server = serve(&hub);
    let text = scrape(server.address());
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    has(&text, "edison_series_left_out", "0");
    assert!(series > 60_000, "{series}");
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(get(server.address(), "/metrics").body.len(), text.len());
            began.elapsed()
        })
        .collect();
    times.sort();
    let (median, most) = (times[10], times[20]);
    println!("{series} series, {} bytes: {median:.1?} (median of 21), at most {most:.1?}", text.len());
    assert!(median < Duration::from_millis(100), "{median:?}");
}
