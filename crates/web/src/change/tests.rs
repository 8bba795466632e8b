//! Contributors of generated traffic, against sums that the tests make by themselves of its rows.

use super::asked::ChangeAsked;
use super::field::FIELDS;
use super::outcome::{Change, ChangeMeasure, ChangeOfField, Compared, DifferenceKind, PeriodStatus};
use super::{figures, leaders, outcome, ranking};
use model::{Answer, Column, ColumnKind, HistoryAnswers, HistoryNode, Span, Value};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};

const HOUR: u64 = 3_600_000_000_000;

/// A row of traffic: who saw it and when, between whom, and how many bytes it has.
struct Row {
    node: &'static str,
    side: usize,
    src: u32,
    dst: u32,
    port: u64,
    bytes: u64,
}

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn rows(seed: u64, nodes: &[&'static str], number: usize) -> Vec<Row> {
    let mut numbers = Numbers(seed * 2 + 1);
    let made = (0..number).map(|_| {
        let side = usize::from(numbers.below(2) == 1);
        // Few sources are heavy, and who is heavy differs between the periods.
        let heavy = numbers.below(3) == 0;
        let src = if heavy { 1 + numbers.below(6) + 3 * side as u64 } else { 10 + numbers.below(600) };
        Row {
            node: nodes[numbers.below(nodes.len() as u64) as usize],
            side,
            src: src as u32,
            dst: 1 + numbers.below(40) as u32,
            port: [53, 80, 443, 8080 + numbers.below(300)][numbers.below(4) as usize],
            bytes: 1 + numbers.below(if heavy { 100_000 } else { 2_000 }),
        }
    });
    made.collect()
}

fn address(number: u32) -> Value {
    Value::Address(IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number)))
}

fn network(number: u32) -> Value {
    Value::Prefix { address: IpAddr::V4(Ipv4Addr::from((0x0a00_0000 + number) & 0xffff_ff00)), length: 24 }
}

/// The values of a row's group.
fn key(field: &str, row: &Row) -> Vec<Value> {
    match field {
        "conversation" => vec![address(row.src), address(row.dst)],
        "source" => vec![address(row.src)],
        "destination" => vec![address(row.dst)],
        "source_network" => vec![network(row.src)],
        "destination_network" => vec![network(row.dst)],
        "port" => vec![Value::Unsigned(6), Value::Unsigned(row.port)],
        "protocol" => vec![Value::Unsigned(6)],
        other => panic!("{other}"),
    }
}

fn asked(measure: ChangeMeasure, after_ns: u64, top: usize) -> ChangeAsked {
    ChangeAsked {
        measure,
        periods: [
            Span { start_ns: 10 * HOUR, end_ns: 11 * HOUR },
            Span { start_ns: 11 * HOUR, end_ns: 11 * HOUR + after_ns },
        ],
        fields: FIELDS.iter().filter(|field| field.is_usual).collect(),
        is_by_node: true,
        conditions: Vec::new(),
        top,
        is_of_one_node: false,
    }
}

/// What the store of a node says to a query of this name. `limit`: the groups that it lists.
fn answer(asked: &ChangeAsked, rows: &[Row], node: &str, name: &str, limit: usize) -> Answer {
    let (side, field) = name.split_once('_').map_or_else(
        || panic!("{name}"),
        |(begin, end)| match begin {
            "all" => (usize::from(end == "after"), None),
            side => (usize::from(side == "after"), Some(end.parse::<usize>().expect("a number"))),
        },
    );
    let own = rows.iter().filter(|row| row.node == node && row.side == side);
    let period = asked.periods[side];
    let mut sums: HashMap<String, (Vec<Value>, u64)> = HashMap::new();
    for row in own {
        let key = field.map(|field| key(asked.fields[field].name, row)).unwrap_or_default();
        sums.entry(format!("{key:?}")).or_insert((key, 0)).1 += row.bytes;
    }
    if field.is_none() {
        sums.entry(format!("{:?}", Vec::<Value>::new())).or_default();
    }
    let mut sums: Vec<(Vec<Value>, u64)> = sums.into_values().collect();
    sums.sort_by(|one, other| {
        other.1.cmp(&one.1).then_with(|| format!("{one:?}").cmp(&format!("{other:?}")))
    });
    let width = sums.first().map_or(0, |(key, _)| key.len());
    let columns = (0..=width).map(|at| Column::new(format!("c{at}"), ColumnKind::Unsigned, "")).collect();
    let more = sums.split_off(limit.min(sums.len()));
    let table = sums.into_iter().map(|(mut key, sum)| {
        key.push(Value::Unsigned(sum));
        key
    });
    let mut answer = Answer::new(name, Some(period), columns, table.collect());
    answer.rest.groups = more.len() as u64;
    let rest = more.iter().map(|(_, sum)| sum).sum::<u64>();
    answer.rest.totals = vec![("value".to_owned(), Value::Unsigned(rest))];
    answer.node = Some(node.to_owned());
    answer
}

/// The names of the queries of a text.
fn names(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_once(':').expect("a name").0.to_owned()).collect()
}

/// Asks stores that have these rows.
fn asks(asked: &ChangeAsked, rows: &[Row], nodes: &[&str], listed: usize) -> Change {
    let all = |text: &str, limit: usize| -> Vec<Answer> {
        let names = names(text);
        let of_name = |name: &String| {
            nodes.iter().map(|node| answer(asked, rows, node, name, limit)).collect::<Vec<_>>()
        };
        names.iter().flat_map(of_name).collect()
    };
    let leaders = leaders(asked, &all(&ranking(asked, nodes.len()), listed));
    // Stores that look up these groups give others, too, here: they are not taken.
    let answers = all(&figures(asked, &leaders), usize::MAX);
    let nodes = nodes.iter().map(|name| HistoryNode { name: (*name).to_owned(), missing: None });
    outcome(
        asked,
        &leaders,
        HistoryAnswers { answers, nodes: nodes.collect(), warnings: Vec::new() },
        Vec::new(),
    )
}

/// The bytes of each group of a field in both periods.
fn truth(rows: &[Row], key: impl Fn(&Row) -> Vec<Value>) -> BTreeMap<String, [u64; 2]> {
    let mut sums: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for row in rows {
        sums.entry(format!("{:?}", key(row))).or_default()[row.side] += row.bytes;
    }
    sums
}

fn values(group: &super::outcome::ChangedGroup) -> String {
    format!("{:?}", group.key.0.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>())
}

/// Compares a field with what the rows have.
fn check(asked: &ChangeAsked, found: &ChangeOfField, truth: &BTreeMap<String, [u64; 2]>, unit: u64) {
    let [before, after] = asked.periods.map(|period| period.length_ns() as f64 / 1e9);
    let is_rate = before != after;
    let difference = |[one, other]: [u64; 2]| match is_rate {
        true => (other as f64 / after - one as f64 / before) * unit as f64,
        false => (other as f64 - one as f64) * unit as f64,
    };
    let is = |one: f64, other: f64| (one - other).abs() <= 1e-6 * (1.0 + one.abs());
    let all = truth.values().fold([0; 2], |sum: [u64; 2], own| [sum[0] + own[0], sum[1] + own[1]]);
    let mut listed: Vec<f64> = Vec::new();
    let mut sums = [found.rest.before, found.rest.after];
    for group in &found.groups {
        let own = truth.get(&values(group)).copied().unwrap_or_else(|| panic!("{} {group:?}", found.field));
        assert_eq!([group.before, group.after], own.map(|bytes| bytes * unit), "{} {group:?}", found.field);
        assert!(is(group.difference.0, difference(own)), "{group:?}");
        listed.push(group.difference.0.abs());
        sums = [sums[0] + group.before, sums[1] + group.after];
    }
    assert_eq!(sums, all.map(|bytes| bytes * unit), "{}: the groups and the rest are all", found.field);
    assert!(listed.windows(2).all(|pair| pair[0] >= pair[1]), "{}: the largest first", found.field);
    let names: Vec<String> = found.groups.iter().map(values).collect();
    let mut others: Vec<f64> = truth
        .iter()
        .filter(|(name, _)| !names.contains(name))
        .map(|(_, own)| difference(*own).abs())
        .collect();
    others.sort_by(|one, other| other.total_cmp(one));
    let largest = others.first().copied().unwrap_or(0.0);
    assert!(
        largest <= found.most_unlisted.0 * (1.0 + 1e-9),
        "{}: {largest} {:?}",
        found.field,
        found.most_unlisted
    );
    if found.is_certain {
        let last = listed.last().copied().unwrap_or(0.0);
        assert!(largest <= last * (1.0 + 1e-9), "{}: {largest} {last}", found.field);
    }
}

#[test]
fn groups_are_exact_on_both_sides_and_add_up_to_all() {
    let mut certain = 0;
    for seed in 1..40 {
        let nodes: &[&'static str] = [&["n1"][..], &["n1", "n2", "n3"]][seed as usize % 2];
        let rows = rows(seed, nodes, 3_000);
        let measure = if seed % 3 == 0 { ChangeMeasure::Packets } else { ChangeMeasure::Bits };
        let unit = if seed % 3 == 0 { 1 } else { 8 };
        let length = if seed % 4 == 0 { HOUR / 3 } else { HOUR };
        let asked = asked(measure, length, 1 + seed as usize % 7);
        for listed in [8, 100, usize::MAX] {
            let change = asks(&asked, &rows, nodes, listed);
            assert_eq!(change.difference_is, DifferenceKind::Exact);
            assert_eq!(change.compared, if length == HOUR { Compared::Sums } else { Compared::Rates });
            assert_eq!(change.fields.len(), asked.fields.len() + 1);
            for found in &change.fields {
                let truth = match found.field {
                    "node" => truth(&rows, |row| vec![Value::Text(row.node.to_owned())]),
                    field => truth(&rows, |row| key(field, row)),
                };
                check(&asked, found, &truth, unit);
                // What all stores list is the whole truth.
                assert!(
                    listed != usize::MAX || found.is_certain,
                    "{} {:?}",
                    found.field,
                    found.most_unlisted
                );
                certain += usize::from(found.is_certain && listed == 100);
            }
        }
    }
    // Rankings of a hundred decide most of it.
    assert!(certain > 200, "{certain}");
}

#[test]
fn figures_of_nodes_that_see_the_same_are_those_of_one() {
    let nodes = ["n1", "n2"];
    let mut rows = rows(7, &["n2"], 1_000);
    // The other one saw half of it.
    let half: Vec<Row> = rows.iter().step_by(2).map(|row| Row { node: "n1", ..*row }).collect();
    rows.extend(half);
    let asked = ChangeAsked { is_of_one_node: true, ..asked(ChangeMeasure::Bits, HOUR, 5) };
    let change = asks(&asked, &rows, &nodes, 100);
    assert_eq!(change.of_node.as_deref(), Some("n2"));
    assert_eq!(change.nodes.len(), 1);
    rows.retain(|row| row.node == "n2");
    assert!(change.fields.iter().all(|found| found.field != "node"));
    for found in &change.fields {
        check(&asked, found, &truth(&rows, |row| key(found.field, row)), 8);
    }
}

#[test]
fn what_is_missing_is_said_and_makes_figures_open() {
    let asked = asked(ChangeMeasure::Bits, HOUR, 5);
    let rows = rows(3, &["n1", "n2"], 500);
    let answers = |change: &dyn Fn(&mut Answer)| {
        let ranking = names(&ranking(&asked, 2));
        let mut answers: Vec<Answer> = ranking
            .iter()
            .flat_map(|name| ["n1", "n2"].map(|node| answer(&asked, &rows, node, name, usize::MAX)))
            .collect();
        answers.iter_mut().for_each(change);
        let leaders = leaders(&asked, &answers);
        outcome(&asked, &leaders, HistoryAnswers { answers, ..HistoryAnswers::default() }, Vec::new())
    };
    let is_of = |answer: &Answer, side: &str| answer.query.contains(side);
    let later = answers(&|answer| {
        if is_of(answer, "after") && answer.node.as_deref() == Some("n1") {
            answer.mark_partial("the measurement was killed");
        }
    });
    assert_eq!(later.difference_is, DifferenceKind::AtLeast);
    assert_eq!((later.before.status, later.after.status), (PeriodStatus::Complete, PeriodStatus::Partial));
    assert_eq!(later.after.reasons, ["n1: the measurement was killed"]);
    // The period says it once for all fields.
    assert!(later.fields.iter().all(|found| found.reasons.is_empty()));
    let earlier = answers(&|answer| {
        if is_of(answer, "before") {
            answer.mark_partial("retention");
        }
    });
    assert_eq!(earlier.difference_is, DifferenceKind::AtMost);
    // A field whose rows are kept no more is open where the sums are not.
    let port = asked.fields.iter().position(|field| field.name == "port").expect("a field");
    let rows_gone = answers(&|answer| {
        if answer.query == format!("before_{port}") {
            answer.mark_partial("rows are kept no more");
        }
    });
    assert_eq!(rows_gone.difference_is, DifferenceKind::Exact);
    for found in &rows_gone.fields {
        assert_eq!(found.reasons.is_empty(), found.field != "port");
        assert!(found.field != "port" || !found.is_certain);
    }
    // No group is known, and each may have changed by all there is.
    let no_group = answers(&|answer| {
        if [format!("before_{port}"), format!("after_{port}")].contains(&answer.query) {
            answer.rows.clear();
            answer.rest = model::Rest::default();
            answer.mark_partial("rows are kept no more");
        }
    });
    let found = no_group.fields.iter().find(|found| found.field == "port").expect("a field");
    assert!(found.groups.is_empty() && !found.is_certain && found.reasons.len() == 2, "{found:?}");
    let most = no_group.before.total.max(no_group.after.total).expect("a sum");
    assert_eq!(found.most_unlisted.0, most as f64);
    // A node that does not answer is no node without traffic.
    let silent = answers(&|answer| {
        if is_of(answer, "before") && answer.node.as_deref() == Some("n2") {
            answer.rows.clear();
            answer.window = None;
            answer.mark_partial("no answer: away");
        }
    });
    assert_eq!((silent.difference_is, silent.before.status), (DifferenceKind::AtMost, PeriodStatus::Partial));
    // Nothing of a period is remembered: no figure is known, and nothing is zero.
    let unknown = answers(&|answer| {
        if is_of(answer, "before") {
            answer.window = answer.window.map(|window| Span { end_ns: window.start_ns, ..window });
        }
    });
    assert_eq!((unknown.before.total, unknown.difference), (None, None));
    assert_eq!((unknown.difference_is, unknown.fields.len()), (DifferenceKind::NotKnown, 0));
    assert!(unknown.after.total > Some(0));
    // A period of which the first half is not remembered is of less time.
    let half = answers(&|answer| {
        if is_of(answer, "before") {
            answer.window =
                answer.window.map(|window| Span { start_ns: window.start_ns + HOUR / 2, ..window });
        }
    });
    assert_eq!(half.difference_is, DifferenceKind::AtMost);
}

#[test]
fn texts_are_queries_that_have_no_errors() {
    let options = equery::CheckOptions { reads_history: true, ..equery::CheckOptions::default() };
    let rows = rows(5, &["n1"], 800);
    let asked = ChangeAsked {
        conditions: vec![
            "protocol = tcp".to_owned(),
            "src_addr in 10.0.0.0/8 or dst_port is null".to_owned(),
        ],
        ..asked(ChangeMeasure::Flows, HOUR, 5)
    };
    let ranking = ranking(&asked, 1);
    let answers: Vec<Answer> =
        names(&ranking).iter().map(|name| answer(&asked, &rows, "n1", name, 100)).collect();
    for text in [ranking, figures(&asked, &leaders(&asked, &answers))] {
        let checked = equery::check(&equery::SourceText { name: "q", text: &text }, &options);
        assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
        assert_eq!(checked.queries.len(), 16);
    }
}

#[test]
fn a_condition_is_one_expression_or_several_between_commas() {
    let parts = super::condition_parts;
    assert_eq!(parts(""), Ok(Vec::new()));
    assert_eq!(
        parts("protocol = tcp, dst_port in (80, 443) , service = 'a,;('''"),
        Ok(vec!["protocol = tcp", "dst_port in (80, 443)", "service = 'a,;('''"])
    );
    for wrong in [
        "protocol = tcp; select 1",
        "protocol = tcp) groupby src_addr having (1 = 1",
        "(protocol = tcp",
        "service = 'a",
        "protocol = tcp -- more",
        "protocol = tcp /* more",
        "protocol = tcp # more",
        "protocol = tcp\ngroupby src_addr",
        "protocol = tcp,, dst_port = 1",
        ",",
        "a\u{7}",
    ] {
        let error = parts(wrong).expect_err(wrong);
        assert!(error.starts_with("condition: ") && !error.contains('\n'), "{error}");
    }
    assert!(parts(&"a".repeat(20_000)).is_err());
}
