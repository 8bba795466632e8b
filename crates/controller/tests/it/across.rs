//! Queries across nodes against plain maps: in each window the answers of the nodes are added, or the largest is taken, also where nodes are
//! missing.

use crate::nodes;
use crate::nodes::{Random, SECOND, START, window};
use controller::ControllerOutput;
use model::{
    Account, Answer, AnswerStatus, Column, ColumnKind, Counters, Event, EventKind, PacketCounts, Value,
};
use protocol::WindowResult;
use std::collections::BTreeMap;

const NAMES: [&str; 4] = ["A", "B", "C", "D"];
/// `having` uses what is not selected.
const SUM: &str = "q: select dst_port, sum(total_byte) as b, count(*) as n groupby dst_port having sum(total_count) < 60 \
    order by n desc limit 3 every 1s across nodes by sum;";
const MAX: &str = "q: select dst_port, sum(total_byte) as b, count(*) as n groupby dst_port having sum(total_count) < 60 \
    order by n desc limit 3 every 1s across nodes by max;";
const EVENTS: &str = "q: select sum(total_byte) as b every 1s across nodes by sum;\n\
    more: select sum(total_byte) as b every 1s across nodes by max when q.b > 100;\n\
    less: select sum(total_byte) as b where node_id = A every 1s when q.b < 50;";

/// Packets, bytes and flows by port.
type Groups = BTreeMap<u64, [u64; 3]>;

/// What a live node does in a second.
#[derive(Clone, Debug)]
enum Second {
    Silent,
    Empty,
    Groups(Groups),
}

/// The value of a part: `sum(total_byte)`, `sum(total_count)` or `count(*)`.
fn part(item: &task::query::OutputColumn, port: u64, [packets, bytes, flows]: [u64; 3]) -> Value {
    use task::query::{Aggregate, Expression};
    Value::Unsigned(match &item.value {
        Expression::Field(_) => port,
        Expression::Aggregate(Aggregate::Count) => flows,
        value if *value == Expression::sum("total_byte") => bytes,
        value if *value == Expression::sum("total_count") => packets,
        other => panic!("{other:?}"),
    })
}

/// The result of a node that carries out these tasks.
fn result(node: usize, at: u64, groups: &Groups, tasks: &protocol::TaskList) -> WindowResult {
    let span = window(at);
    let name = Some(NAMES[node].to_owned());
    let is_in = |task: &&protocol::Task| {
        task.time.is_none_or(|time| time.start_ns <= span.start_ns && span.end_ns <= time.end_ns)
    };
    let answer = |task: &protocol::Task| {
        let query = &task.query;
        // What is left to the controller.
        assert!(query.having.is_none() && query.limit.is_none(), "{query:?}");
        let columns =
            query.columns.iter().map(|item| Column::new(item.name.clone(), ColumnKind::Unsigned, ""));
        let row = |(port, sums): (&u64, &[u64; 3])| -> Vec<Value> {
            query.columns.iter().map(|item| part(item, *port, *sums)).collect()
        };
        let all = groups.values().fold([0; 3], |all, own| std::array::from_fn(|at| all[at] + own[at]));
        let rows = match query.group {
            task::query::Grouping::All => vec![row((&0, &all))],
            _ => groups.iter().map(row).collect(),
        };
        Answer { node: name.clone(), ..Answer::new(query.name.clone(), Some(span), columns.collect(), rows) }
    };
    let received = groups.values().map(|[packets, ..]| packets).sum();
    let packets = PacketCounts { received, ..PacketCounts::default() };
    // The node of an even number counts what it loses: a packet of a window that has several.
    let loss = node.is_multiple_of(2).then(|| Counters(vec![("ring".to_owned(), u64::from(received > 1))]));
    let totals = Answer {
        node: name.clone(),
        account: Some(Account { packets, loss }),
        ..Answer::new("totals", Some(span), Vec::new(), Vec::new())
    };
    let answers = tasks.tasks.iter().filter(is_in).map(answer);
    WindowResult::new(span, [totals].into_iter().chain(answers).collect())
}

/// What a controller shows of nodes that do this, second by second.
fn shown(text: &str, nodes: &[Vec<Second>], random: &mut Random) -> Vec<ControllerOutput> {
    let result = |node: usize, at: u64, tasks: &protocol::TaskList| match &nodes[node][at as usize] {
        Second::Silent => None,
        Second::Empty => Some(WindowResult { empty: Some(1), ..WindowResult::new(window(at), Vec::new()) }),
        Second::Groups(groups) => Some(result(node, at, groups, tasks)),
    };
    nodes::shown(text, &NAMES[..nodes.len()], nodes[0].len() as u64, random, &result)
}

fn draw(random: &mut Random, nodes: usize, seconds: u64) -> Vec<Vec<Second>> {
    let mut second = || match random.below(8) {
        0 => Second::Silent,
        1 => Second::Empty,
        _ => {
            let groups = (0..1 + random.below(7)).map(|_| {
                (random.below(6), [1 + random.below(20), 1 + random.below(50), 1 + random.below(4)])
            });
            Second::Groups(groups.collect())
        }
    };
    (0..nodes).map(|_| (0..seconds).map(|_| second()).collect()).collect()
}

/// The groups of all nodes that have any, and the names of those that are missing.
fn together(nodes: &[Vec<Second>], at: usize, is_sum: bool) -> (Option<Groups>, Vec<&'static str>) {
    let (mut groups, mut missing) = (None, Vec::new());
    for (seconds, name) in nodes.iter().zip(NAMES) {
        match &seconds[at] {
            Second::Silent => missing.push(name),
            Second::Empty => {}
            Second::Groups(own) => {
                let all: &mut Groups = groups.get_or_insert_default();
                for (port, sums) in own {
                    let known = all.entry(*port).or_default();
                    *known = std::array::from_fn(|at| match is_sum {
                        true => known[at] + sums[at],
                        false => known[at].max(sums[at]),
                    });
                }
            }
        }
    }
    (groups, missing)
}

#[test]
fn answers_are_those_of_a_plain_map() {
    let mut random = Random(5);
    let (mut partial, mut empty, mut covered) = (0, 0, 0);
    for number in 0..400_usize {
        let is_sum = number.is_multiple_of(2);
        let nodes = draw(&mut random, 1 + number % 4, 12);
        let shown = shown(if is_sum { SUM } else { MAX }, &nodes, &mut random);
        let answers: Vec<&Answer> = shown
            .iter()
            .filter_map(|output| match output {
                ControllerOutput::Answer(answer) if answer.query == "q" => Some(&**answer),
                _ => None,
            })
            .collect();
        let mut windows = answers.iter().filter_map(|answer| answer.window);
        let mut last_ns = 0;
        assert!(windows.all(|window| std::mem::replace(&mut last_ns, window.end_ns) <= window.start_ns));
        let first = (0..12).find(|at| nodes.iter().any(|node| !matches!(node[*at], Second::Silent)));
        for at in first.unwrap_or(12)..12 {
            let (groups, missing) = together(&nodes, at, is_sum);
            let span = window(at as u64);
            let of_window = |answer: &&&Answer| {
                answer.window.is_some_and(|own| own.start_ns <= span.start_ns && span.end_ns <= own.end_ns)
            };
            let mut found = answers.iter().filter(of_window);
            if missing.len() == nodes.len() {
                assert!(found.next().is_none());
                continue;
            }
            let answer = found.next().unwrap_or_else(|| panic!("{nodes:?}: no answer at {at}"));
            assert!(found.next().is_none() && answer.node.is_none(), "{answer:?}");
            let reason = (!missing.is_empty()).then(|| format!("no answer of {}", missing.join(", ")));
            assert_eq!(answer.reason, reason);
            assert_eq!(
                answer.status,
                if reason.is_some() { AnswerStatus::Partial } else { AnswerStatus::Complete }
            );
            partial += u64::from(reason.is_some());
            assert_eq!(answer.empty.is_some(), groups.is_none());
            empty += u64::from(groups.is_none());
            let groups = groups.unwrap_or_default();
            let mut passing: Vec<_> = groups.iter().filter(|(_, [packets, ..])| *packets < 60).collect();
            passing.sort_by_key(|(port, [_, _, flows])| (std::cmp::Reverse(*flows), **port));
            let shown = passing.len().min(3);
            let row = |(port, [_, bytes, flows]): &(&u64, &[u64; 3])| -> Vec<Value> {
                [**port, *bytes, *flows].map(Value::Unsigned).to_vec()
            };
            assert_eq!(answer.rows, passing[..shown].iter().map(row).collect::<Vec<_>>());
            assert_eq!(answer.columns.len(), 3);
            assert_eq!(answer.rest.groups, (passing.len() - shown) as u64);
            let counts = |column: usize| passing[shown..].iter().map(|(_, sums)| sums[column]).sum::<u64>();
            if answer.empty.is_none() {
                let totals = [("b", 1), ("n", 2)];
                let totals = totals.map(|(name, at)| (name.to_owned(), Value::Unsigned(counts(at))));
                assert_eq!(answer.rest.totals, totals);
            }
            covered += u64::from(answer.coverage.is_some_and(|coverage| coverage < 1.0));
        }
    }
    assert!(partial > 500 && empty > 100 && covered > 50, "{partial} {empty} {covered}");
}

/// The share of what all nodes received; unknown where one does not count its loss.
#[test]
fn coverage_is_over_all_nodes() {
    let groups = |packets| Second::Groups([(1, [packets, 9, 1])].into_iter().collect());
    let coverage = |nodes: &[Vec<Second>]| {
        shown(SUM, nodes, &mut Random(1)).into_iter().find_map(|output| match output {
            ControllerOutput::Answer(answer) if answer.query == "q" => Some(answer.coverage),
            _ => None,
        })
    };
    let (nine, thirty) = (vec![groups(9)], vec![groups(30)]);
    assert_eq!(coverage(std::slice::from_ref(&nine)), Some(Some(0.9)));
    let silent = vec![Second::Silent];
    assert_eq!(coverage(&[nine.clone(), silent, thirty.clone()]), Some(Some(39.0 / 41.0)));
    assert_eq!(coverage(&[nine, thirty]), Some(None));
}

/// The events of the merged answers, by second.
fn events(nodes: &[Vec<Second>], random: &mut Random) -> Vec<Event> {
    let shown = shown(EVENTS, nodes, random).into_iter();
    let events = shown.filter_map(|output| match output {
        ControllerOutput::Event(event) => Some(*event),
        _ => None,
    });
    events.collect()
}

#[test]
fn a_missing_node_makes_sums_lower_bounds() {
    let bytes = |bytes| Second::Groups([(1, [1, bytes, 1])].into_iter().collect());
    let (none, away) = (Second::Empty, Second::Silent);
    let of = |a: [&Second; 6], b: [&Second; 6]| {
        let nodes = [a.map(Clone::clone).to_vec(), b.map(Clone::clone).to_vec()];
        let events = events(&nodes, &mut Random(3));
        assert!(events.iter().all(|event| event.kind == EventKind::Missed || event.node.is_none()));
        let judged = events.iter().filter(|event| event.fired_by.is_some());
        judged
            .map(|event| (event.kind, event.query.clone(), (event.at_ns - START) / SECOND))
            .collect::<Vec<_>>()
    };
    let event = |kind, query: &str, at| (kind, query.to_owned(), at);
    use EventKind::{Fired, NoData, Resolved};
    let (much, some, little) = (&bytes(200), &bytes(60), &bytes(20));
    // 60 on each are more than 100 together; 20 where the other one is missing may be more than 50.
    let fired =
        of([some, little, little, little, little, little], [some, &away, &away, little, &none, little]);
    assert_eq!(
        fired,
        [event(Fired, "more", 1), event(Resolved, "more", 4), event(Fired, "less", 4),]
            .into_iter()
            .collect::<Vec<_>>()
    );
    // What one node has alone is enough to fire, and not to resolve; without both nothing is known.
    let fired = of([much, &away, &away, &away, &away, &none], [&away, little, &away, &away, &away, &none]);
    assert_eq!(
        fired,
        [
            event(Fired, "more", 1),
            event(NoData, "more", 5),
            event(NoData, "less", 5),
            event(Resolved, "more", 6),
            event(Fired, "less", 6),
        ]
    );
}

#[test]
fn a_started_query_across_nodes_answers_once_in_its_window() {
    let bytes = |bytes| Second::Groups([(1, [1, bytes, 1])].into_iter().collect());
    let (much, little, none) = (bytes(200), bytes(80), Second::Empty);
    let nodes = [
        [&much, &little, &none, &bytes(7), &none].map(Clone::clone).to_vec(),
        [&none, &none, &none, &bytes(9), &none].map(Clone::clone).to_vec(),
    ];
    let shown = shown(EVENTS, &nodes, &mut Random(9));
    let answers: Vec<_> = shown
        .iter()
        .filter_map(|output| match output {
            ControllerOutput::Answer(answer) if answer.query == "more" => {
                Some((answer.node.clone(), answer.window, answer.rows.clone()))
            }
            _ => None,
        })
        .collect();
    // Fired by the first second, measured in the fourth: the larger one of both.
    assert_eq!(answers, [(None, Some(window(3)), vec![vec![Value::Unsigned(9)]])]);
    let sentences: Vec<&str> = shown
        .iter()
        .filter_map(|output| match output {
            ControllerOutput::Sentence(sentence) => Some(sentence.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(sentences[0], "More than 100 bytes at all nodes");
    assert!(sentences[1].contains("because q on all nodes had b = 200"), "{sentences:?}");
    assert!(
        sentences.iter().any(|line| line.starts_with("Therefore more ran on all nodes in ")),
        "{sentences:?}"
    );
}
