//! Rules of many kinds over random traffic, against a second reading of `for`, `until`, `cooldown` and `run` (`docs/equery.md`, "Events").

use super::chained::{SECOND, START, Span, run};
use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::scratch::{Scratch, text};
use std::collections::BTreeSet;

/// A multiple of all windows.
const SECONDS: usize = 300;

/// What a rule is about: the packets of windows of these lengths, in seconds.
#[derive(Clone, Copy, Debug)]
struct Parent {
    name: &'static str,
    every: usize,
    over: usize,
}

const PARENTS: [Parent; 4] = [
    Parent { name: "second", every: 1, over: 1 },
    Parent { name: "five", every: 5, over: 5 },
    Parent { name: "sliding", every: 1, over: 4 },
    Parent { name: "leaping", every: 2, over: 6 },
];

#[derive(Clone, Copy, Debug)]
enum Condition {
    Above(u64),
    Below(u64),
}

impl Condition {
    fn text(self, parent: &Parent) -> String {
        match self {
            Self::Above(n) => format!("{}.n > {n}", parent.name),
            Self::Below(n) => format!("{}.n < {n}", parent.name),
        }
    }

    /// The truth of the condition in a window where `packets` packets were counted. A window watched in part may have had more.
    fn holds(self, packets: u64, is_cut: bool) -> Option<bool> {
        match self {
            Self::Above(n) if packets > n => Some(true),
            Self::Below(n) if packets >= n => Some(false),
            _ if is_cut => None,
            Self::Above(_) => Some(false),
            Self::Below(_) => Some(true),
        }
    }
}

#[derive(Clone, Debug)]
struct Rule {
    parent: Parent,
    when: Condition,
    hold: u64,
    until: Option<Condition>,
    cooldown: u64,
    run: usize,
}

impl Rule {
    fn text(&self, name: &str) -> String {
        let Self { parent, when, hold, until, cooldown, run } = self;
        let when = when.text(parent);
        let mut text = format!("{name}: select sum(total_count) as n every 1s when {when}");
        if *hold != 0 {
            text += &format!(" for {hold}s");
        }
        if let Some(until) = until {
            text += &format!(" until {}", until.text(parent));
        }
        if *cooldown != 0 {
            text += &format!(" cooldown {cooldown}s");
        }
        if *run != 0 {
            text += &format!(" run {run}s");
        }
        text + ";"
    }

    /// The events of a node that had `packets[second]` packets in each second.
    fn expected(&self, packets: &[u64]) -> Vec<(&'static str, Span)> {
        let Parent { every, over, .. } = self.parent;
        let (mut happened, mut held, mut active, mut quiet_until) = (Vec::new(), 0, None, 0);
        for end in (every..=SECONDS).step_by(every) {
            let window = end as i64 - over as i64..end as i64;
            let n: u64 = packets[end.saturating_sub(over)..end].iter().sum();
            // Its first and its last second are watched in part.
            let is_cut = end <= over || end == SECONDS;
            let own = self.when.holds(n, is_cut);
            let rearms = self.until.map_or(own.map(|holds| !holds), |until| until.holds(n, is_cut));
            let end = end as u64;
            match (active, own) {
                (Some(fired), _) if rearms == Some(true) => {
                    happened.push(("resolved", window));
                    (active, held, quiet_until) = (None, 0, fired + self.cooldown);
                }
                (None, Some(true)) if end >= quiet_until => {
                    held += every as u64;
                    if held >= self.hold {
                        happened.push(("fired", window));
                        active = Some(end);
                    }
                }
                (None, Some(false)) => held = 0,
                _ => {}
            }
        }
        happened
    }

    /// The seconds in which the query runs that fired then.
    fn runs(&self, happened: &[(&'static str, Span)]) -> impl Iterator<Item = i64> {
        let fired = happened.iter().filter(|(kind, _)| *kind == "fired");
        let runs = fired.flat_map(|(_, window)| window.end + 2..window.end + 2 + self.run.max(1) as i64);
        runs.collect::<Vec<_>>().into_iter()
    }
}

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for parent in PARENTS {
        let usual = 2 * parent.over as u64;
        let rule = |when| Rule { parent, when, hold: 0, until: None, cooldown: 0, run: 0 };
        for when in [Condition::Above(usual), Condition::Below(1), Condition::Below(usual)] {
            let other = match when {
                Condition::Above(_) => Condition::Below(2),
                Condition::Below(_) => Condition::Above(usual + 1),
            };
            rules.push(rule(when));
            for hold in [1, 3, 10] {
                rules.push(Rule { hold, ..rule(when) });
                rules.push(Rule { hold, until: Some(other), run: 3, ..rule(when) });
            }
            for cooldown in [1, 7, 40] {
                rules.push(Rule { cooldown, ..rule(when) });
                rules.push(Rule { cooldown, until: Some(other), run: 12, ..rule(when) });
            }
        }
    }
    rules
}

/// Packets in each second: numbers that last for some time, and long pauses.
pub(crate) fn random_packets(mut seed: u64) -> Vec<u64> {
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut packets = Vec::new();
    while packets.len() < SECONDS {
        let (value, times) = match next(8) {
            0 => (0, 5 + next(25)),
            _ => (next(6), 1 + next(4)),
        };
        packets.extend((0..times).map(|_| value));
    }
    packets.truncate(SECONDS);
    // The capture has all of them.
    (packets[0], packets[SECONDS - 1]) = (1, 1);
    packets
}

pub(crate) fn frames(packets: &[u64]) -> Vec<Frame> {
    let of_second = |(second, n): (usize, &u64)| {
        let time = START + second as u64 * SECOND + SECOND / 10;
        let frame =
            move |n: u64| Frame { time_ns: time + n * SECOND / 10, data: capture::udp(1000 + n as u16) };
        (0..*n).map(frame)
    };
    packets.iter().enumerate().flat_map(of_second).collect()
}

/// Runs all rules on nodes with random traffic, and compares what happened and what was measured.
fn check(nodes: &[(&str, u64)], options: &[&str]) {
    let scratch = Scratch::new();
    let of_nodes: Vec<_> = nodes.iter().map(|(node, seed)| (*node, random_packets(*seed))).collect();
    let sources = of_nodes.iter().map(|(node, packets)| {
        let capture = capture::pcap(ETHERNET, &frames(packets));
        format!("{node}={}", text(&scratch.file(&format!("{node}.pcap"), capture)))
    });
    let sources: Vec<String> = sources.collect();
    let rules = rules();
    let parent = |Parent { name, every, over }| {
        format!("{name}: select sum(total_count) as n over {over}s every {every}s;\n")
    };
    let mut queries: String = PARENTS.map(parent).concat();
    rules.iter().enumerate().for_each(|(at, rule)| queries += &rule.text(&format!("r{at}")));
    let queries = scratch.file("rules.eq", queries);
    let mut arguments: Vec<&str> = sources.iter().map(String::as_str).collect();
    arguments.extend(["-f", text(&queries)]);
    arguments.extend(options);
    let chained = run(&scratch, 0, &arguments);
    let (mut events, mut missed) = (0, 0);
    for (at, rule) in rules.iter().enumerate() {
        let name = format!("r{at}");
        let mut seconds = BTreeSet::new();
        for (node, packets) in &of_nodes {
            let expected = rule.expected(packets);
            let of_node = chained.events.iter().filter(|event| event.query == name && event.node == *node);
            let happened: Vec<_> = of_node
                .filter(|event| event.kind != "missed")
                .map(|event| (event.kind.as_str(), event.window.clone()))
                .collect();
            assert_eq!(happened, expected, "{node}: {} of {packets:?}", rule.text(&name));
            seconds.extend(rule.runs(&expected));
            events += expected.len();
        }
        // A query runs on all nodes, whichever it fired for.
        let (in_run, after): (Vec<i64>, Vec<i64>) = seconds.iter().partition(|at| **at < SECONDS as i64);
        for (node, packets) in &of_nodes {
            let answers: Vec<_> = chained.answers_on(&name, node).collect();
            let answered: Vec<i64> = answers.iter().map(|answer| answer.window.start).collect();
            assert_eq!(answered, in_run, "{node}: {}", rule.text(&name));
            for answer in answers {
                let n = answer.json["rows"][0]["n"].as_u64().unwrap_or(0);
                let second = answer.window.start as usize;
                assert_eq!(n, packets[second], "{node}: {}: {}", rule.text(&name), answer.json);
            }
        }
        // Runs that begin after the end are missed.
        let of_rule = chained.of("missed", &name).len();
        assert_eq!(of_rule == 0, after.is_empty() || in_run.last() == Some(&(SECONDS as i64 - 1)), "{name}");
        missed += of_rule;
    }
    assert!(events > 500 && missed > 0, "{events} {missed}");
}

#[test]
fn rules_decide_as_a_second_reading_does() {
    check(&[("A", 7)], &[]);
    check(&[("A", 8)], &["--cores", "2"]);
}

#[test]
fn nodes_decide_each_for_itself() {
    check(&[("A", 9), ("B", 10), ("C", 11)], &[]);
}
