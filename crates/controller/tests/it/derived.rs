//! Answers of other queries and earlier windows against plain maps: what nodes have in each second, known in full, against what the
//! controller makes of their answers, which are missing, empty, cut or limited.

use crate::nodes;
use crate::nodes::{Random, SECOND, START, window};
use controller::ControllerOutput;
use model::{Answer, AnswerStatus, Column, ColumnKind, Rest, Value};
use protocol::{TaskList, WindowResult};
use std::collections::{BTreeMap, BTreeSet};
use task::query::{Aggregate, Expression};

const NAMES: [&str; 2] = ["A", "B"];
/// Sources on one node each, joined; a query on both nodes with its earlier windows; and what reads a derived query.
const WHOLE: &str = "x: select dst_port, sum(total_byte) as b groupby dst_port where node_id = A every 1s;\n\
    y: select sum(total_byte) as bytes, dst_port as p groupby dst_port where node_id = B every 1s;\n\
    d: select dst_port, x.b - y.bytes as lost, x.b + y.bytes as both, x.b / y.bytes as ratio from x, y;\n\
    h: select dst_port, sum(total_byte) as b, prev(sum(total_byte)) as before, sum(total_byte) offset 3s as old, \
       avg_over(sum(total_byte), 4s) as usual groupby dst_port every 1s;\n\
    r: select dst_port, h.b - prev(h.b) as change from h;";
/// The same of answers that leave groups out.
const LIMITED: &str = "x: select dst_port, sum(total_byte) as b groupby dst_port where node_id = A limit 3 every 1s;\n\
    y: select sum(total_byte) as bytes, dst_port as p groupby dst_port where node_id = B having bytes > 20 every 1s;\n\
    d: select dst_port, x.b - y.bytes as lost, x.b + y.bytes as both, x.b / y.bytes as ratio from x, y limit 4;\n\
    h: select dst_port, x.b as b, prev(x.b) as before, x.b offset 3s as old, avg_over(x.b, 4s) as usual from x;";

/// Bytes by port.
type Groups = BTreeMap<u64, u64>;

/// What a live node does in a second.
#[derive(Clone, Debug, PartialEq)]
enum Second {
    Silent,
    Empty,
    Cut(Groups),
    Whole(Groups),
}

impl Second {
    /// Its groups, where all are known.
    fn known(&self) -> Option<Groups> {
        match self {
            Self::Empty => Some(Groups::new()),
            Self::Whole(groups) => Some(groups.clone()),
            Self::Silent | Self::Cut(_) => None,
        }
    }

    /// What was seen.
    fn seen(&self) -> Option<Groups> {
        if let Self::Cut(groups) = self { Some(groups.clone()) } else { self.known() }
    }
}

/// The answers of a node that carries out these tasks.
fn result(node: usize, at: u64, second: &Second, tasks: &TaskList) -> Option<WindowResult> {
    let span = window(at);
    let (groups, is_cut) = match second {
        Second::Silent => return None,
        Second::Empty => {
            return Some(WindowResult { empty: Some(1), ..WindowResult::new(span, Vec::new()) });
        }
        Second::Cut(groups) => (groups, true),
        Second::Whole(groups) => (groups, false),
    };
    let answer = |task: &protocol::Task| {
        let query = &task.query;
        let columns = query.columns.iter();
        let columns = columns.map(|item| Column::new(item.name.clone(), ColumnKind::Unsigned, ""));
        let value = |item: &task::query::OutputColumn, (port, bytes): (u64, u64)| match &item.value {
            Expression::Field(_) => Value::Unsigned(port),
            Expression::Aggregate(Aggregate::Sum(_)) => Value::Unsigned(bytes),
            other => panic!("{other:?}"),
        };
        let least = if query.having.is_some() { 20 } else { 0 };
        let mut all: Vec<(u64, u64)> = groups.iter().map(|(port, bytes)| (*port, *bytes)).collect();
        all.retain(|(_, bytes)| *bytes > least);
        all.sort_by_key(|(port, bytes)| (std::cmp::Reverse(*bytes), *port));
        let beyond = all.split_off(query.limit.unwrap_or(usize::MAX).min(all.len()));
        let row = |group: &(u64, u64)| query.columns.iter().map(|item| value(item, *group)).collect();
        let sum = beyond.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let sums = query.columns.iter().filter(|item| !matches!(item.value, Expression::Field(_)));
        let totals = sums.map(|item| (item.name.clone(), Value::Unsigned(sum))).collect();
        Answer {
            node: Some(NAMES[node].to_owned()),
            status: if is_cut { AnswerStatus::Cut } else { AnswerStatus::Complete },
            watched: is_cut.then_some(model::Span { start_ns: span.start_ns + 1, ..span }),
            rest: Rest { groups: beyond.len() as u64, is_open: false, totals },
            ..Answer::new(query.name.clone(), Some(span), columns.collect(), all.iter().map(row).collect())
        }
    };
    Some(WindowResult::new(span, tasks.tasks.iter().map(answer).collect()))
}

fn draw(random: &mut Random, seconds: u64) -> Vec<Vec<Second>> {
    let mut second = || {
        let groups = |random: &mut Random| {
            (0..1 + random.below(7)).map(|_| (random.below(6), 1 + random.below(50))).collect()
        };
        match random.below(10) {
            0 => Second::Silent,
            1 | 2 => Second::Empty,
            3 => Second::Cut(groups(random)),
            _ => Second::Whole(groups(random)),
        }
    };
    (0..2).map(|_| (0..seconds).map(|_| second()).collect()).collect()
}

/// The answers of a query on a node by second; of an empty one, of each of its seconds.
fn answers(shown: &[ControllerOutput], query: &str, node: Option<&str>) -> BTreeMap<u64, Answer> {
    let mut found = BTreeMap::new();
    for output in shown {
        let ControllerOutput::Answer(answer) = output else { continue };
        if answer.query != query || answer.node.as_deref() != node {
            continue;
        }
        let window = answer.window.expect("a window");
        let seconds = (window.start_ns - START) / SECOND..(window.end_ns - START) / SECOND;
        assert_eq!(seconds.end - seconds.start, answer.empty.unwrap_or(1), "{answer:?}");
        for at in seconds {
            assert!(found.insert(at, (**answer).clone()).is_none(), "{query} answers {at} twice");
        }
    }
    found
}

/// The rows by port, without it.
fn rows(answer: &Answer) -> BTreeMap<u64, Vec<Value>> {
    let row = |row: &Vec<Value>| (row[0].as_unsigned().expect("a port"), row[1..].to_vec());
    answer.rows.iter().map(row).collect()
}

fn shown(text: &str, nodes: &[Vec<Second>], random: &mut Random) -> Vec<ControllerOutput> {
    let result = |node: usize, at: u64, tasks: &TaskList| result(node, at, &nodes[node][at as usize], tasks);
    nodes::shown(text, &NAMES, nodes[0].len() as u64, random, &result)
}

/// The first second of which anything is known.
fn first(nodes: &[Vec<Second>]) -> usize {
    let is_known = |at: &usize| nodes.iter().any(|node| node[*at] != Second::Silent);
    (0..nodes[0].len()).find(is_known).unwrap_or(nodes[0].len())
}

/// A whole number as a column of signed ones has it.
fn signed(number: i64) -> Value {
    Value::Signed(number)
}

#[test]
fn joined_answers_are_those_of_plain_maps() {
    let mut random = Random(11);
    let (mut whole, mut empty, mut missing, mut cut) = (0, 0, 0, 0);
    for _ in 0..200 {
        let nodes = draw(&mut random, 12);
        let shown = shown(WHOLE, &nodes, &mut random);
        let joined = answers(&shown, "d", None);
        for at in first(&nodes)..12 {
            let answer = joined.get(&(at as u64));
            let [Some(x), Some(y)] = [0, 1].map(|node| nodes[node][at].seen()) else {
                assert!(answer.is_none(), "{nodes:?}: {answer:?}");
                missing += 1;
                continue;
            };
            let answer = answer.unwrap_or_else(|| panic!("{nodes:?}: no answer at {at}"));
            if nodes.iter().all(|node| node[at] == Second::Empty) {
                assert!(answer.empty.is_some() && answer.rows.is_empty(), "{answer:?}");
                empty += 1;
                continue;
            }
            assert_eq!((answer.empty, answer.rest.groups), (None, 0));
            let ports: BTreeSet<u64> = x.keys().chain(y.keys()).copied().collect();
            assert_eq!(rows(answer).into_keys().collect::<BTreeSet<_>>(), ports);
            if nodes.iter().any(|node| matches!(node[at], Second::Cut(_))) {
                assert_eq!(answer.status, AnswerStatus::Cut);
                for (port, row) in rows(answer) {
                    let both = (x.get(&port).unwrap_or(&0) + y.get(&port).unwrap_or(&0)) as f64;
                    let bounds = Value::Estimate { value: both, lower: both, upper: f64::INFINITY };
                    assert_eq!(row[1], bounds);
                }
                cut += 1;
                continue;
            }
            // Two nodes' counts are compared: nothing bounds what was under way between them.
            assert_eq!((answer.status, &*answer.bounds), (AnswerStatus::Complete, "none"));
            let expected = ports.iter().map(|port| {
                let [x, y] = [&x, &y].map(|groups| groups.get(port).copied().unwrap_or(0) as i64);
                let ratio = if y == 0 { Value::Null } else { Value::Float(x as f64 / y as f64) };
                (*port, vec![signed(x - y), signed(x + y), ratio])
            });
            assert_eq!(rows(answer), expected.collect());
            // The largest difference is first, equal ones by port.
            let order: Vec<_> = answer.rows.iter().map(|row| (row[1].clone(), row[0].clone())).collect();
            let mut sorted = order.clone();
            let number = |value: &Value| if let Value::Signed(number) = value { *number } else { i64::MIN };
            sorted.sort_by_key(|(lost, port)| (-number(lost), port.as_unsigned()));
            assert_eq!(order, sorted);
            whole += 1;
        }
    }
    assert!(whole > 500 && empty > 50 && missing > 200 && cut > 200, "{whole} {empty} {missing} {cut}");
}

/// What a group had in a second, if that is known.
fn earlier(node: &[Second], at: i64, port: u64) -> Option<u64> {
    let groups = usize::try_from(at).ok().and_then(|at| node.get(at)?.known())?;
    Some(groups.get(&port).copied().unwrap_or(0))
}

#[test]
fn earlier_windows_are_those_of_plain_maps() {
    let mut random = Random(12);
    let (mut rows_seen, mut means, mut changes) = (0, 0, 0);
    for _ in 0..200 {
        let nodes = draw(&mut random, 14);
        let shown = shown(WHOLE, &nodes, &mut random);
        let reads = |at: usize| -> Vec<usize> { (at.saturating_sub(5)..at).collect() };
        for (node, name) in nodes.iter().zip(NAMES) {
            let (own, changed) = (answers(&shown, "h", Some(name)), answers(&shown, "r", Some(name)));
            for at in first(&nodes)..14 {
                let answer = own.get(&(at as u64));
                let Some(seen) = node[at].seen() else {
                    assert!(answer.is_none(), "{nodes:?}: {answer:?}");
                    continue;
                };
                let answer = answer.unwrap_or_else(|| panic!("{nodes:?}: no answer at {at} of {name}"));
                let of_before = reads(at).into_iter().filter_map(|at| node[at].known());
                let ports: BTreeSet<u64> =
                    of_before.chain([seen.clone()]).flat_map(Groups::into_keys).collect();
                assert_eq!(rows(answer).into_keys().collect::<BTreeSet<_>>(), ports, "{nodes:?} {at}");
                assert_eq!(answer.empty.is_some(), ports.is_empty() && node[at] == Second::Empty);
                let is_cut = matches!(node[at], Second::Cut(_));
                for (port, row) in rows(answer) {
                    let number = seen.get(&port).copied().unwrap_or(0);
                    let before = |seconds: i64| earlier(node, at as i64 - seconds, port);
                    let known: Vec<u64> = (1..=4).filter_map(before).collect();
                    let sum = known.iter().sum::<u64>() as f64;
                    let usual = (known.len() >= 2).then(|| Value::Float(sum / known.len() as f64));
                    means += u64::from(usual.is_some());
                    let value = |known: Option<u64>| known.map_or(Value::Null, Value::Unsigned);
                    let expected = [value(before(1)), value(before(3)), usual.unwrap_or_default()];
                    assert_eq!(row[1..], expected, "{nodes:?} {at}");
                    if !is_cut {
                        assert_eq!(row[0], Value::Unsigned(number));
                        let changed = rows(&changed[&(at as u64)]);
                        // `h` was answered whole the second before, and so was `r` now.
                        let change = before(1).map_or(Value::Null, |it| signed(number as i64 - it as i64));
                        assert_eq!(changed[&port][0], change, "{nodes:?} {at}");
                        changes += 1;
                    }
                    rows_seen += 1;
                }
            }
        }
    }
    assert!(rows_seen > 10_000 && means > 5_000 && changes > 5_000, "{rows_seen} {means} {changes}");
}

/// Whether a value that is shown may be this one.
fn contains(value: &Value, truth: f64) -> bool {
    match value {
        Value::Null => true,
        Value::Unsigned(number) => *number as f64 == truth,
        Value::Signed(number) => *number as f64 == truth,
        Value::Float(number) => (number - truth).abs() < 1e-9,
        Value::Estimate { lower, upper, .. } => *lower <= truth + 1e-9 && truth <= upper + 1e-9,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bounds_contain_what_limits_and_having_leave_out() {
    let mut random = Random(13);
    let (mut exact, mut bounded, mut unlisted) = (0, 0, 0);
    for _ in 0..200 {
        let mut nodes = draw(&mut random, 12);
        // Of what was watched in part, the truth is not known here.
        for second in nodes.iter_mut().flatten() {
            if let Second::Cut(groups) = second {
                *second = Second::Whole(std::mem::take(groups));
            }
        }
        let shown = shown(LIMITED, &nodes, &mut random);
        for (at, answer) in answers(&shown, "d", None) {
            let [Some(x), Some(y)] = [0, 1].map(|node| nodes[node][at as usize].known()) else {
                panic!("an answer without a source")
            };
            let all: BTreeSet<u64> = x.keys().chain(y.keys()).copied().collect();
            // What `having` leaves out no answer counts.
            let listed_y = y.iter().filter(|(_, bytes)| **bytes > 20).count();
            let known = answer.rows.len() as u64 + answer.rest.groups;
            assert!(known <= all.len() as u64 + 1, "{nodes:?} {at}");
            assert!(known >= x.len().max(listed_y) as u64, "{nodes:?} {at}");
            unlisted += u64::from(answer.rest.groups != 0);
            for (port, row) in rows(&answer) {
                let [x, y] = [&x, &y].map(|groups| groups.get(&port).copied().unwrap_or(0) as f64);
                let truth = [x - y, x + y, x / y];
                for (value, truth) in row.iter().zip(truth).filter(|(_, truth)| truth.is_finite()) {
                    assert!(contains(value, truth), "{nodes:?} {at}: {value:?} is not {truth}");
                    let is_open = matches!(value, Value::Estimate { .. });
                    assert!(!is_open || answer.bounds != "exact");
                    *(if is_open { &mut bounded } else { &mut exact }) += 1;
                }
            }
        }
        for (at, answer) in answers(&shown, "h", Some("A")) {
            for (port, row) in rows(&answer) {
                let of = |before: i64| earlier(&nodes[0], at as i64 - before, port).map(|it| it as f64);
                let known: Vec<f64> = (1..=4).filter_map(of).collect();
                let mean = (known.len() >= 2).then(|| known.iter().sum::<f64>() / known.len() as f64);
                for (value, truth) in row.iter().zip([of(0), of(1), of(3), mean]) {
                    match truth {
                        Some(truth) => assert!(contains(value, truth), "{nodes:?} {at}: {row:?}"),
                        None => assert_eq!(*value, Value::Null, "{nodes:?} {at}: {row:?}"),
                    }
                }
            }
        }
    }
    assert!(exact > 1_000 && bounded > 1_000 && unlisted > 300, "{exact} {bounded} {unlisted}");
}
