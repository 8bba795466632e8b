//! What a controller shows depends on what nodes answer, never on the order in which their messages arrive.

use controller::{Controller, ControllerContext, ControllerOutput};
use equery::{Chain, ChainSite, CheckOptions, SourceText, check};
use model::{Answer, Column, ColumnKind, Span, Value};
use packet::KeySpec;
use protocol::{FromProbe, TaskList, ToProbe, WindowResult};
use std::collections::{BTreeMap, VecDeque};
use task::query::Over;

const SECOND: u64 = 1_000_000_000;
const CHAIN: &str = "a: select sum(total_count) as n where node_id = A every 1s;\n\
    b: select sum(total_count) as n where node_id = B every 1s when a.n > 5;\n\
    both: select sum(total_count) as n every 1s when b.n < 3 run 2s;\n\
    last: select sum(total_count) as n where node_id = A every 1s when both.n > 8 cooldown 4s;";

/// Queries across nodes: one of each window, one of longer ones, and one that is started.
const ACROSS: &str = "all: select sum(total_count) as n every 1s across nodes by sum;\n\
    long: select sum(total_count) as n over 4s every 2s across nodes by max;\n\
    more: select sum(total_count) as n every 1s across nodes by max when all.n > 9 run 3s;\n\
    last: select sum(total_count) as n where node_id = A every 1s when more.n < 3;";

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A node that replays a capture: what it counts in each of its windows, by their begins in seconds.
struct Node {
    counts: VecDeque<(u64, u64)>,
    /// The window that it waits to enter.
    waits: Option<(u64, u64)>,
    may_enter_ns: Option<u64>,
    tasks: TaskList,
    /// Answers that are under way.
    sent: VecDeque<FromProbe>,
    has_ended: bool,
}

impl Node {
    fn new(counts: &BTreeMap<u64, u64>) -> Self {
        let counts = counts.iter().map(|(at, count)| (*at, *count)).collect();
        Self {
            counts,
            waits: None,
            may_enter_ns: None,
            tasks: TaskList::default(),
            sent: VecDeque::new(),
            has_ended: false,
        }
    }

    fn take(&mut self, message: ToProbe) {
        match message {
            ToProbe::Tasks(list) => {
                assert!(list.is_newer_than(&self.tasks));
                self.tasks = list;
            }
            ToProbe::Enter { until_ns } => self.may_enter_ns = self.may_enter_ns.max(Some(until_ns)),
        }
    }

    /// Goes on by one step, if it can.
    fn step(&mut self) {
        match self.waits {
            None => match self.counts.pop_front() {
                Some((at, count)) => {
                    self.waits = Some((at, count));
                    self.sent.push_back(FromProbe::Reached { at_ns: at * SECOND });
                }
                None if !self.has_ended => {
                    self.has_ended = true;
                    self.sent.push_back(FromProbe::Ended { answers: Vec::new(), traffic: None });
                }
                None => {}
            },
            Some((at, count)) if Some(at * SECOND) <= self.may_enter_ns => {
                self.waits = None;
                let window = Span { start_ns: at * SECOND, end_ns: (at + 1) * SECOND };
                let is_answered = |time: &Option<Span>| {
                    time.is_none_or(|time| time.start_ns <= window.start_ns && window.end_ns <= time.end_ns)
                };
                // Windows of other lengths are not answered here.
                let is_of_window = |task: &&protocol::Task| match task.query.over {
                    Over::Windows { over_ns, .. } => over_ns == SECOND,
                    _ => true,
                };
                let asked = self.tasks.tasks.iter().filter(is_of_window);
                let asked = asked.filter(|task| is_answered(&task.time));
                let answer = |task: &protocol::Task| {
                    let column = Column::new(&*task.query.columns[0].name, ColumnKind::Unsigned, "packets");
                    Answer::new(
                        task.query.name.clone(),
                        Some(window),
                        vec![column],
                        vec![vec![Value::Unsigned(count)]],
                    )
                };
                let answers = asked.map(answer).collect();
                self.sent.push_back(FromProbe::Window(Box::new(WindowResult::new(window, answers))));
            }
            Some(_) => {}
        }
    }
}

/// Everything that is shown, where the nodes and their messages take turns as `random` says.
fn shown(text: &str, counts: &[BTreeMap<u64, u64>; 2], random: &mut Random) -> Vec<ControllerOutput> {
    let names = ["A".to_owned(), "B".to_owned()];
    let options = CheckOptions { known_nodes: Some(names.to_vec()), ..CheckOptions::default() };
    let checked = check(&SourceText { name: "chain", text }, &options);
    assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
    let site = ChainSite {
        nodes: &names,
        key: &KeySpec::FIVE_TUPLE.parts(),
        base_ns: SECOND,
        window_ns: SECOND,
        settings: events::EventSettings::default(),
    };
    let chain = Chain::new(&checked.queries, &site).expect("a chain");
    let mut controller =
        Controller::new(chain, ControllerContext { window_ns: SECOND, is_replay: true, key: None });
    let mut nodes = counts.each_ref().map(Node::new);
    let mut shown = Vec::new();
    let begin = controller.begin();
    begin.send.into_iter().for_each(|(node, message)| nodes[node].take(message));
    let mut idle = 0;
    while !controller.has_ended() {
        let at = random.below(2) as usize;
        if random.below(2) == 0 {
            nodes[at].step();
        } else if let Some(message) = nodes[at].sent.pop_front() {
            let actions = controller.take(at, message);
            shown.extend(actions.show);
            actions.send.into_iter().for_each(|(node, message)| nodes[node].take(message));
            idle = 0;
        }
        idle += 1;
        assert!(idle < 10_000, "everybody waits: {:?}", nodes.each_ref().map(|node| node.waits));
    }
    shown.extend(controller.finish().show);
    shown
}

/// What two nodes count: they begin at different times, and have seconds without packets.
fn draw(random: &mut Random) -> [BTreeMap<u64, u64>; 2] {
    std::array::from_fn(|_| {
        let begin = 100 + random.below(8) * random.below(2);
        let windows = random.below(30);
        (begin..begin + windows)
            .map(|at| (at, random.below(4), random.below(12)))
            .filter(|(_, draw, _)| *draw != 0)
            .map(|(at, _, count)| (at, count))
            .collect()
    })
}

#[test]
fn the_order_of_messages_changes_nothing() {
    let mut random = Random(7);
    let (mut fired, mut missed, mut empty) = (0, 0, 0);
    for _ in 0..300 {
        let counts = draw(&mut random);
        let first = shown(CHAIN, &counts, &mut random);
        for _ in 0..3 {
            assert_eq!(shown(CHAIN, &counts, &mut random), first, "{counts:?}");
        }
        for output in &first {
            match output {
                ControllerOutput::Event(event) if event.kind == model::EventKind::Fired => fired += 1,
                ControllerOutput::Event(event) if event.kind == model::EventKind::Missed => missed += 1,
                ControllerOutput::Answer(answer) if answer.empty.is_some() => empty += 1,
                ControllerOutput::Warning(line) => panic!("{line}"),
                _ => {}
            }
        }
    }
    assert!(fired > 300 && missed > 30 && empty > 30, "{fired} {missed} {empty}");
}

/// The windows that triggered queries answer are those that the firings say: nothing is asked too late, nothing twice.
#[test]
fn what_fires_is_answered_in_its_window() {
    let mut random = Random(11);
    for _ in 0..200 {
        let counts: [BTreeMap<u64, u64>; 2] =
            std::array::from_fn(|_| (50..80).map(|at| (at, random.next() % 12)).collect());
        let shown = shown(CHAIN, &counts, &mut random);
        let answered = |query: &str, node: &str, window: Span| {
            shown.iter().any(|output| {
                matches!(output, ControllerOutput::Answer(answer) if answer.query == query
                    && answer.node.as_deref().unwrap_or(node) == node && answer.window == Some(window))
            })
        };
        let mut last_b = 0;
        for output in &shown {
            let ControllerOutput::Event(event) = output else { continue };
            if event.kind != model::EventKind::Fired || event.query != "b" {
                continue;
            }
            // The third window after the one that fired: 2 s lie between.
            let start_ns = event.at_ns + 2 * SECOND;
            let window = Span { start_ns, end_ns: start_ns + SECOND };
            assert!(event.at_ns > last_b, "{event:?}");
            last_b = event.at_ns;
            if window.end_ns <= 80 * SECOND {
                assert!(answered("b", "B", window), "{event:?}");
            }
        }
    }
}

#[test]
fn a_long_time_without_packets_takes_no_longer() {
    // Years of windows of a second: one by one they would take hours.
    for gap in [2, 145_000_000] {
        let counts = [
            [(10, 9), (11, 9), (12 + gap, 9)].into_iter().collect(),
            [(10, 1), (11, 1), (12 + gap, 1)].into_iter().collect::<BTreeMap<_, _>>(),
        ];
        let shown = shown(CHAIN, &counts, &mut Random(3));
        let events: Vec<_> = shown
            .iter()
            .filter_map(|output| match output {
                ControllerOutput::Event(event) => {
                    Some((event.query.clone(), event.kind, event.at_ns / SECOND))
                }
                _ => None,
            })
            .collect();
        let event = |query: &str, kind, at| (query.to_owned(), kind, at);
        use model::EventKind::{Fired, Missed, Resolved};
        // b is resolved in the first empty window, and runs in one; both runs in two of them, or where these are over.
        let expected = match gap {
            2 => vec![
                event("b", Fired, 11),
                event("b", Resolved, 13),
                event("both", Fired, 14),
                event("b", Fired, 15),
                event("both", Missed, 17),
                event("both", Missed, 17),
                event("b", Missed, 18),
            ],
            _ => vec![
                event("b", Fired, 11),
                event("b", Resolved, 13),
                event("both", Fired, 14),
                event("b", Fired, 145_000_013),
                event("b", Missed, 145_000_016),
            ],
        };
        assert_eq!(events, expected);
    }
}

/// Whether a node has not begun by this second, or has ended.
fn is_missing(of: &BTreeMap<u64, u64>, at: u64) -> bool {
    let span = of.keys().next().zip(of.keys().next_back());
    span.is_none_or(|(first, last)| at < *first || *last < at)
}

/// Answers across nodes are in one order too, follow each other without a gap, and have what the nodes counted.
#[test]
fn answers_across_nodes_are_one_for_each_window() {
    let mut random = Random(13);
    let (mut started, mut empty, mut partial) = (0, 0, 0);
    for number in 0..300 {
        let mut counts = draw(&mut random);
        if number % 10 == 0 {
            // A year without packets.
            counts[0].insert(31_536_000, 9);
        }
        let first = shown(ACROSS, &counts, &mut random);
        for _ in 0..3 {
            assert_eq!(shown(ACROSS, &counts, &mut random), first, "{counts:?}");
        }
        let mut until_s = counts.iter().filter_map(|counts| counts.keys().next()).min().copied().unwrap_or(0);
        for output in &first {
            let ControllerOutput::Answer(answer) = output else { continue };
            let window = answer.window.expect("a window");
            assert!(answer.node.is_none() || answer.query == "last", "{answer:?}");
            started += u64::from(answer.query == "more");
            if answer.query != "all" {
                continue;
            }
            let (start, end) = (window.start_ns / SECOND, window.end_ns / SECOND);
            // There is no answer only where all nodes are missing.
            assert!((until_s..start).all(|at| counts.iter().all(|of| is_missing(of, at))), "{counts:?}");
            assert!(until_s <= start, "{counts:?}");
            until_s = end;
            assert_eq!(
                answer.reason.is_some(),
                counts.iter().any(|of| is_missing(of, start)),
                "{counts:?} {answer:?}"
            );
            partial += u64::from(answer.reason.is_some());
            let of_window: Vec<u64> = counts.iter().filter_map(|of| of.get(&start)).copied().collect();
            match answer.empty {
                Some(windows) => {
                    empty += 1;
                    assert_eq!(windows, end - start);
                    let has_packets = |of: &BTreeMap<u64, u64>| of.range(start..end).next().is_some();
                    assert!(!counts.iter().any(has_packets), "{counts:?} {answer:?}");
                }
                None => assert_eq!(answer.rows, [[Value::Unsigned(of_window.iter().sum())]]),
            }
        }
        let last_s = counts.iter().filter_map(|of| of.keys().next_back()).max().map_or(0, |last| last + 1);
        assert_eq!(until_s, last_s, "{counts:?}");
    }
    assert!(started > 300 && empty > 300 && partial > 300, "{started} {empty} {partial}");
}
