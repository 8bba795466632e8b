//! What a controller answers of its nodes, against a map of all packets of all nodes.

use crate::now::{check, drawn};
use crate::support::{BEGIN, Draw, Fed, MINUTE, SECOND, Sent};
use model::view::now::Now;
use model::view::unusual::{RuleState, UnusualRule};
use model::{MissingReason, Span, Value};
use overview::{MOST_STEPS, NowAsked, Overview, OverviewSetting, Taken, TrafficReport, TrafficReporter};
use serde_json::{Value as Json, json};

const WINDOW: u64 = 10 * SECOND;

/// A node, what tells of it, and the number of it at the controller.
struct Telling {
    fed: Fed,
    reporter: TrafficReporter,
    number: usize,
}

impl Telling {
    fn new(name: &str, number: usize) -> Self {
        let fed = Fed::named(name, OverviewSetting::live(WINDOW), WINDOW, MINUTE, 1 << 28);
        let reporter = fed.overview.reporter();
        Self { fed, reporter, number }
    }

    /// Feeds a window, and returns what the node tells with it, as a message has it.
    fn window(&mut self, start_ns: u64, sent: &[Sent]) -> Option<TrafficReport> {
        self.fed.window(start_ns, sent);
        self.report()
    }

    fn report(&mut self) -> Option<TrafficReport> {
        let report = self.reporter.report()?;
        let text = serde_json::to_string(&report).expect("JSON");
        let read: TrafficReport = serde_json::from_str(&text).expect("a report");
        assert_eq!(read, *report);
        Some(read)
    }
}

/// A controller, its nodes, and a map of what they told it.
struct Site {
    nodes: Vec<Telling>,
    controller: Overview,
    all: Fed,
}

impl Site {
    /// Creates a controller of nodes that tell, and of one more that does not.
    fn new(nodes: usize) -> Self {
        let mut names: Vec<String> = (0..nodes).map(|number| format!("n{number}")).collect();
        let telling = names.iter().enumerate().map(|(number, name)| Telling::new(name, number)).collect();
        names.push("old".to_owned());
        let controller = Overview::of_nodes(OverviewSetting::live(WINDOW), &names);
        Self { nodes: telling, controller, all: Fed::live() }
    }

    /// Feeds each node a window of random flows. `withholds`: what the node tells does not come.
    fn window(&mut self, draw: &mut Draw, at: u64, hosts: u64, withholds: impl Fn(usize) -> bool) {
        let start_ns = BEGIN + at * WINDOW;
        for node in &mut self.nodes {
            let number = node.number;
            let sent = drawn(draw, 20, hosts);
            let told = node.window(start_ns, &sent).filter(|_| !withholds(number));
            if let Some(report) = told {
                let taken = self.controller.take(number, report, start_ns + WINDOW);
                assert_eq!(taken, Taken::default(), "window {at} of node {number}");
            }
        }
    }

    /// Counts what each node was fed in steps that came.
    fn count(&mut self, came: impl Fn(usize, u64) -> bool) {
        (self.all.truth, self.all.totals) = Default::default();
        for Telling { fed, number, .. } in &self.nodes {
            for ((by, step), groups) in fed.truth.iter().filter(|((_, step), _)| came(*number, *step)) {
                let own = self.all.truth.entry((*by, *step)).or_default();
                for (key, more) in groups {
                    let own = own.entry(*key).or_default();
                    *own = [own[0] + more[0], own[1] + more[1]];
                }
            }
            for (step, more) in fed.totals.iter().filter(|(step, _)| came(*number, **step)) {
                let own = self.all.totals.entry(*step).or_default();
                *own = [own[0] + more[0], own[1] + more[1]];
            }
        }
    }

    fn now(&self) -> Now {
        self.controller.now(&NowAsked::default()).expect("all nodes")
    }
}

#[test]
fn steps_of_few_hosts_of_five_nodes_add_up_exactly() {
    let mut site = Site::new(5);
    let mut draw = Draw(21);
    for at in 0..6 * 75 {
        site.window(&mut draw, at, 9, |_| false);
    }
    site.count(|_, _| true);
    let now = site.now();
    assert_eq!((now.steps, now.step_ns, now.open, now.ended), (60, MINUTE, false, false));
    assert_eq!(now.period, Some(Span { start_ns: BEGIN + 15 * MINUTE, end_ns: BEGIN + 75 * MINUTE }));
    check(&site.all, &now, true);
    assert_eq!(now.account.received, now.account.measured + now.account.not_measured.total());
    assert_eq!(now.account.not_measured.get("arp"), 5 * 60 * 6 * 3);
    // The node that tells nothing is named, and no zero.
    let missing: Vec<_> = now.missing.iter().map(|one| (one.node.as_str(), one.missing.reason)).collect();
    assert_eq!(missing, [("old", MissingReason::NotSent)]);
    assert_eq!(now.missing[0].missing.span, now.period.expect("a period"));
    // A node by itself has what it had.
    let alone = site.controller.now(&NowAsked { node: Some("n3".to_owned()), ..NowAsked::default() });
    check(&site.nodes[3].fed, &alone.expect("a node"), true);
    let untold = site.controller.now(&NowAsked { node: Some("old".to_owned()), ..NowAsked::default() });
    let untold = untold.expect("a node");
    assert_eq!((untold.period, &untold.figures.bytes), (None, &Value::Null));
}

#[test]
fn steps_of_many_hosts_are_between_bounds() {
    let mut site = Site::new(8);
    let mut draw = Draw(22);
    for at in 0..6 * 20 {
        site.window(&mut draw, at, 60_000, |_| false);
    }
    site.count(|_, _| true);
    check(&site.all, &site.now(), false);
}

#[test]
fn minutes_that_do_not_come_are_named_and_those_that_come_late_are_added() {
    let mut site = Site::new(3);
    let mut draw = Draw(23);
    let minute = |at: u64| at / 6;
    let mut kept = Vec::new();
    for at in 0..6 * 40 {
        let start_ns = BEGIN + at * WINDOW;
        for node in &mut site.nodes {
            let sent = drawn(&mut draw, 20, 9);
            let Some(report) = node.window(start_ns, &sent) else { continue };
            match (node.number, minute(at)) {
                // Lost.
                (1, 10..=12) => {}
                // Later, as after a broker that was away.
                (2, 5..) => kept.push((start_ns + WINDOW, report)),
                (number, _) => {
                    site.controller.take(number, report, start_ns + WINDOW);
                }
            }
        }
    }
    // The steps of node 1 that end in these minutes.
    let is_lost = |number: usize, step: u64| number == 1 && (10..=12).contains(&((step - BEGIN) / MINUTE));
    let is_kept = |number: usize, step: u64| number == 2 && (step - BEGIN) / MINUTE >= 5;
    site.count(|number, step| !is_lost(number, step) && !is_kept(number, step));
    let now = site.now();
    check(&site.all, &now, true);
    let missing = |now: &Now, node: &str| -> Vec<(MissingReason, u64, u64)> {
        let of_node = now.missing.iter().filter(|one| one.node == node);
        of_node
            .map(|one| {
                let Span { start_ns, end_ns } = one.missing.span;
                (one.missing.reason, (start_ns - BEGIN) / MINUTE, (end_ns - BEGIN) / MINUTE)
            })
            .collect()
    };
    assert_eq!(missing(&now, "n1"), [(MissingReason::NotSent, 10, 13)]);
    assert_eq!(missing(&now, "n2"), [(MissingReason::NotSent, 5, 40)]);
    for (until_ns, report) in kept {
        assert_eq!(site.controller.take(2, report, until_ns), Taken::default());
    }
    site.count(|number, step| !is_lost(number, step));
    let now = site.now();
    check(&site.all, &now, true);
    assert_eq!(missing(&now, "n2"), []);
}

#[test]
fn a_node_that_starts_anew_within_a_minute_tells_two_parts_of_it() {
    let controller = Overview::of_nodes(OverviewSetting::live(WINDOW), &["n0".to_owned()]);
    let mut draw = Draw(24);
    let mut all = Fed::live();
    for starts in [0..9, 9..17] {
        let mut node = Telling::new("n0", 0);
        for at in starts {
            let sent = drawn(&mut draw, 20, 9);
            all.window(BEGIN + at * WINDOW, &sent);
            if let Some(report) = node.window(BEGIN + at * WINDOW, &sent) {
                let taken = controller.take(0, report, BEGIN + (at + 1) * WINDOW);
                assert_eq!(taken, Taken::default());
            }
        }
        // With its end it tells what it has of the minute.
        node.fed.recorder.finish();
        let report = node.report().expect("the rest of a minute");
        controller.take(0, report, u64::MAX);
        controller.end(0);
    }
    let now = controller.now(&NowAsked::default()).expect("all nodes");
    check(&all, &now, true);
    assert_eq!((now.steps, now.ended), (3, true));
    assert_eq!(now.series.watched_ns, [60, 60, 50].map(|seconds| Value::from(seconds * SECOND)));
}

#[test]
fn what_is_unusual_on_a_node_is_told_as_it_is_there() {
    let mut site = Site::new(2);
    let mut draw = Draw(25);
    for at in 0..6 * 15 + 2 {
        site.window(&mut draw, at, 9, |_| false);
    }
    assert!(site.controller.unusual(None).expect("all nodes").entries.is_empty());
    // A scan in the minute that goes on.
    let start_ns = BEGIN + (6 * 15 + 2) * WINDOW;
    let scan: Vec<Sent> =
        (0..600).map(|host| Sent::new(0xcb00_7109, 0x0a4d_0000 + host, [50_000, 22], 60)).collect();
    let report = site.nodes[1].window(start_ns, &scan).expect("news");
    assert_eq!(site.controller.take(1, report, start_ns + WINDOW), Taken::default());
    let [there, here] =
        [&site.nodes[1].fed.overview, &site.controller].map(|one| one.unusual(None).expect("all nodes"));
    assert_eq!(there.entries.len(), 1);
    assert_eq!(there.entries, here.entries);
    assert_eq!((here.entries[0].rule, here.entries[0].node.as_deref()), (UnusualRule::Scan, Some("n1")));
    let alone = site.controller.unusual(Some("n0")).expect("a node");
    assert!(alone.entries.is_empty());
    assert!(alone.rules.iter().all(|rule| rule.state == RuleState::Watched), "{:?}", alone.rules);
    let untold = site.controller.unusual(Some("old")).expect("a node");
    assert!(untold.rules.iter().all(|rule| rule.state == RuleState::NotWatched));
    // The node tells nothing more: it is not said to last, and is gone an hour later.
    for at in 6 * 16..6 * 20 {
        site.window(&mut draw, at, 9, |number| number == 1);
    }
    let silent = site.controller.unusual(None).expect("all nodes").entries;
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0].until_ns, Some(start_ns + WINDOW));
    for at in 6 * 20..6 * 80 {
        site.window(&mut draw, at, 9, |number| number == 1);
    }
    assert!(site.controller.unusual(None).expect("all nodes").entries.is_empty());
}

#[test]
fn steps_that_are_older_than_what_is_kept_are_counted() {
    let mut site = Site::new(2);
    let mut draw = Draw(26);
    let mut first = None;
    for at in 0..6 * (MOST_STEPS as u64 + 5) {
        let start_ns = BEGIN + at * WINDOW;
        for node in &mut site.nodes {
            let Some(report) = node.window(start_ns, &drawn(&mut draw, 5, 9)) else { continue };
            match (node.number, &mut first) {
                (0, first @ None) if at == 5 => *first = Some(report),
                (1, _) => drop(site.controller.take(1, report, start_ns + WINDOW)),
                _ => {}
            }
        }
    }
    let taken = site.controller.take(0, first.expect("a step"), BEGIN + MINUTE);
    assert_eq!(taken, Taken { old: 1, ..Taken::default() });
    let now = site.controller.now(&NowAsked { node: Some("n0".to_owned()), ..NowAsked::default() });
    assert_eq!(now.expect("a node").period, None);
}

/// Each of these is refused by its reason, and changes nothing.
#[test]
fn what_no_node_tells_is_refused() {
    let mut site = Site::new(1);
    let mut draw = Draw(27);
    let mut last = None;
    for at in 0..12 {
        let told = site.nodes[0].window(BEGIN + at * WINDOW, &drawn(&mut draw, 30, 9));
        last = told.or(last);
    }
    let (controller, good) = (&site.controller, serde_json::to_value(last.expect("a step")).expect("JSON"));
    let until_ns = BEGIN + 12 * WINDOW;
    let take = |json: &Json| -> Option<Taken> {
        let report: TrafficReport = serde_json::from_value(json.clone()).ok()?;
        Some(controller.take(0, report, until_ns))
    };
    let leader = |json: &Json, at: usize| json["steps"][0]["rankings"][at]["leaders"][0].clone();
    type Change<'a> = Box<dyn Fn(&mut Json) + 'a>;
    let step = |member: &'static str, value: Json| -> Change<'_> {
        Box::new(move |json| json["steps"][0][member] = value.clone())
    };
    let totals = |member: &'static str, value: Json| -> Change<'_> {
        Box::new(move |json| json["steps"][0]["totals"][member] = value.clone())
    };
    // The step is there already, and would be added.
    let unusual = |member: &'static str, value: Json| -> Change<'_> {
        Box::new(move |json| {
            json["steps"] = json!([]);
            json["unusual"][member] = value.clone();
        })
    };
    let changes: Vec<(&str, Change<'_>)> = vec![
        ("length", step("length_ns", json!(1))),
        ("length", step("start_ns", json!(BEGIN + 1))),
        ("after the window", step("start_ns", json!(BEGIN + 60 * MINUTE))),
        ("after the window", step("start_ns", json!(u64::MAX - u64::MAX % MINUTE))),
        ("watched longer", totals("watched_ns", json!(u64::MAX))),
        ("sums", totals("bytes", json!(u64::MAX))),
        ("sums", totals("tcp_lost", json!(1_u64 << 50))),
        ("sums", totals("flows", json!([2, 1]))),
        ("account", Box::new(|json| json["steps"][0]["totals"]["frames"]["measured"] = json!(0))),
        ("names", Box::new(|json| json["steps"][0]["totals"]["loss"] = json!({"a\nb": 1}))),
        ("names", Box::new(|json| json["steps"][0]["totals"]["loss"] = json!({"x".repeat(100): 1}))),
        ("reason", step("reasons", json!(["two\nlines"]))),
        ("reason", step("reasons", json!(["a", "b", "c", "d", "e"]))),
        ("reason", step("reasons", json!(["x".repeat(70_000)]))),
        ("another kind", Box::new(|json| json["steps"][0]["rankings"][0]["leaders"][0][0] = json!(6))),
        (
            "twice",
            Box::new(|json| {
                let first = leader(json, 0);
                json["steps"][0]["rankings"][0]["leaders"][1] = first;
            }),
        ),
        (
            "another kind",
            Box::new(|json| {
                json["steps"][0]["rankings"][2]["leaders"][0][0] = json!(["10.0.0.2", "10.0.0.1"]);
            }),
        ),
        (
            "more than all",
            Box::new(|json| json["steps"][0]["rankings"][0]["leaders"][0][1] = json!(u64::MAX)),
        ),
        ("more than all", Box::new(|json| json["steps"][0]["rankings"][3]["others"] = json!([u64::MAX, 0]))),
        (
            "too many groups",
            Box::new(|json| {
                let many: Vec<Json> = (0..101).map(|port| json!([[6, port], 0, 0, [0, 0]])).collect();
                json["steps"][0]["rankings"][3]["leaders"] = json!(many);
            }),
        ),
        ("prefixes", Box::new(|json| json["shape"]["source"] = json!([33, 128]))),
        ("do not have", Box::new(|json| json["shape"]["ports"] = json!(false))),
        ("rules", unusual("rules", json!([]))),
        ("rules", unusual("rules", json!(vec![json!(["watched", "x".repeat(70_000)]); 5]))),
    ];
    assert_eq!(take(&good), Some(Taken::default()));
    let before = site.now();
    for (reason, change) in changes {
        let mut json = good.clone();
        change(&mut json);
        assert_ne!(json, good, "{reason}");
        let taken = take(&json).unwrap_or_else(|| panic!("{reason}: no report"));
        assert!(taken.refused >= 1, "{reason}");
        assert!(taken.wrong.is_some_and(|wrong| wrong.contains(reason)), "{reason}: {taken:?}");
        assert_eq!(site.now().figures, before.figures, "{reason}");
    }
    for entry in [json!([0, {}]), json!([1]), json!("x")] {
        let mut json = good.clone();
        json["unusual"]["entries"] = entry;
        assert_eq!(take(&json), None);
    }
    // What came once is taken once more at most: no minute lasts longer.
    let twice = take(&good).expect("a report");
    let thrice = take(&good).expect("a report");
    assert_eq!((twice.refused, thrice.refused), (0, 1));
    assert!(thrice.wrong.is_some_and(|wrong| wrong.contains("two probes have its name")));
    // An unknown number is nobody's.
    let report: TrafficReport = serde_json::from_value(good).expect("a report");
    assert_eq!(controller.take(9, report, until_ns), Taken::default());
}
