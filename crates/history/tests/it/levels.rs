//! Questions about a store: whatever level is chosen, the answers are those of rows.

use crate::stored;
use crate::stored::{HOUR, HOURS, MINUTE, Maker, Random, SECOND, START, WINDOW, ask, rows, shelf};
use history::Period;
use history::levels::Shelf;
use model::{Answer, AnswerStatus, Value};
use std::collections::BTreeMap;
use store::Level;
use task::query::{
    Aggregate, Comparison, Condition, Expression, GroupField, Grouping, Operator, OutputColumn, Over, Query,
    ValueWeight,
};

fn field(random: &mut Random) -> GroupField {
    let name = match random.below(4) {
        0 if !random.is_plain => random.of(&[
            "src_port",
            "dst_port",
            "port",
            "service",
            "vlan",
            "ip_ttl",
            "conversation",
            "node_id",
        ]),
        _ => random.of(&["src_addr", "dst_addr", "protocol", "protocol_name", "addr"]),
    };
    let prefix = match name {
        "src_addr" | "dst_addr" | "addr" => random.of(&[None, Some([24, 48]), Some([16, 32])]),
        _ => None,
    };
    GroupField { field: name.to_owned(), prefix }
}

fn number(random: &mut Random) -> Expression {
    let name = [
        "total_byte",
        "total_byte",
        "total_count",
        "wire_byte",
        "stime",
        "ltime",
        "tcp_win",
        "ip_ttl",
        "duration",
        "forward",
    ];
    Expression::field(random.of(&name))
}

fn total(random: &mut Random) -> Expression {
    Expression::field(random.of(&["total_byte", "total_count", "wire_byte"]))
}

fn aggregate(random: &mut Random) -> Expression {
    let weight = |random: &mut Random| match random.below(4) {
        0 if !random.is_plain => ValueWeight::Rows,
        _ => ValueWeight::Sum("total_byte".to_owned()),
    };
    let aggregate = match if random.is_plain { 6 + random.below(18) } else { random.below(24) } {
        0 => Aggregate::Count,
        1 => Aggregate::Min(Box::new(number(random))),
        2 => Aggregate::Max(Box::new(number(random))),
        3 => Aggregate::Mean(Box::new(number(random))),
        4 => Aggregate::Deviation(Box::new(total(random))),
        5 => Aggregate::Quantile(Box::new(total(random)), 0.9),
        6..=8 => Aggregate::Min(Box::new(Expression::field("stime"))),
        9..=11 => Aggregate::Max(Box::new(Expression::field("ltime"))),
        12..=14 => Aggregate::Rate(Box::new(total(random))),
        15 | 16 => Aggregate::CountDistinct(field(random)),
        17 => Aggregate::Entropy(field(random), weight(random)),
        18 => Aggregate::Top(3, field(random), weight(random)),
        _ => Aggregate::Sum(Box::new(total(random))),
    };
    match random.below(20) {
        0 => {
            let [above, below] = ["total_byte", "total_count"].map(|name| Box::new(Expression::sum(name)));
            Expression::Arithmetic(above, Operator::Divide, below)
        }
        1 => Expression::Aggregate(Aggregate::Sum(Box::new(Expression::Arithmetic(
            Box::new(total(random)),
            Operator::Multiply,
            Box::new(Expression::Integer(8)),
        )))),
        _ => Expression::Aggregate(aggregate),
    }
}

fn condition(random: &mut Random) -> Condition {
    match random.below(12) {
        0 | 1 => Condition::compare("protocol", Comparison::Equal, random.of(&[6, 17])),
        2 | 3 => {
            Condition::InPrefixes("src_addr".to_owned(), vec![("10.0.0.0".parse().expect("an address"), 16)])
        }
        4 | 5 => {
            Condition::InPrefixes("dst_addr".to_owned(), vec![("10.1.0.2".parse().expect("an address"), 31)])
        }
        6 if !random.is_plain => Condition::compare("dst_port", Comparison::Equal, 443),
        7 if !random.is_plain => Condition::compare("total_byte", Comparison::Greater, 1500),
        8 => Condition::Not(Box::new(condition(random))),
        9 => Condition::And(vec![condition(random), condition(random)]),
        _ => Condition::InPrefixes("addr".to_owned(), vec![("2001:db8::".parse().expect("an address"), 40)]),
    }
}

fn query(random: &mut Random) -> Query {
    random.is_plain = random.below(2) == 0;
    let fields: Vec<GroupField> = (0..random.below(3)).map(|_| field(random)).collect();
    let items = (0..1 + random.below(3)).map(|at| OutputColumn::new(format!("v{at}"), aggregate(random)));
    let items: Vec<OutputColumn> = items.collect();
    let over = match random.below(3) {
        0 | 1 => Over::Run,
        _ => {
            let every_ns = random.of(&[100 * SECOND, MINUTE, 5 * MINUTE, 20 * MINUTE, HOUR, 2 * HOUR]);
            Over::Windows { every_ns, over_ns: every_ns * (1 + random.below(3)) }
        }
    };
    let mut query = Query::new("q", fields, items);
    if random.below(12) == 0 {
        query.group = Grouping::Flows;
        query.columns = ["src_addr", "dst_addr", "total_byte"].map(OutputColumn::field).to_vec();
    }
    query.over = over;
    query.filter = (random.below(2) == 0).then(|| condition(random));
    query.limit = random.of(&[None, Some(3)]);
    if random.below(4) == 0 && query.group != Grouping::Flows {
        query.having = Some(Condition::Compare(
            Expression::sum("total_byte"),
            Comparison::Greater,
            Expression::Integer(2000),
        ));
    }
    query
}

fn period(random: &mut Random) -> Option<Period> {
    let all = HOURS * HOUR;
    let grain = random.of(&[1, SECOND, WINDOW, MINUTE, HOUR]);
    let [one, other] = [0; 2].map(|_| random.below(all) / grain * grain);
    match random.below(4) {
        0 => None,
        _ => Some(Period { from_ns: START + one.min(other), to_ns: START + one.max(other) + grain }),
    }
}

fn is_close(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => is_close(*one, *other),
        (one, other) => one == other,
    }
}

/// Why two lists of answers differ, if they do.
fn difference(of_level: &[Answer], of_rows: &[Answer]) -> Option<String> {
    let without = |answer: &Answer| Answer { rows: Vec::new(), levels: Vec::new(), ..answer.clone() };
    if of_level.len() != of_rows.len() {
        return Some(format!("{} answers and {}", of_level.len(), of_rows.len()));
    }
    of_level.iter().zip(of_rows).find_map(|(one, other)| {
        let is_same = without(one) == without(other)
            && one.rows.len() == other.rows.len()
            && one
                .rows
                .iter()
                .zip(&other.rows)
                .all(|(one, other)| one.iter().zip(other).all(|(one, other)| are_equal(one, other)));
        (!is_same).then(|| format!("{one:?}\nis not\n{other:?}"))
    })
}

/// The coarsest level of answers.
fn level(answers: &[Answer]) -> String {
    answers
        .iter()
        .filter_map(|answer| answer.levels.first())
        .min_by_key(|name| ["1h", "1min", "rows"].iter().position(|own| own == name))
        .cloned()
        .unwrap_or_default()
}

fn is_refused(query: &Query) -> bool {
    // What no rows answer: several fields of one kind, values that are no numbers.
    use task::Generation;
    use task::rows::{PlanContext, RowQueries};
    let setting = stored::setting();
    let site = PlanContext {
        window_ns: Some(1),
        ..PlanContext::new(packet::KeySpec::FIVE_TUPLE, setting.seed, setting.limits)
    };
    RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site).is_err()
}

#[test]
fn whatever_level_is_chosen_the_answers_are_those_of_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random::new(11);
    let rows = rows(&mut random, 2000);
    Maker::new(folder.path()).fill(&rows, HOURS - 1);
    let shelf = shelf(folder.path());
    let mut levels: BTreeMap<String, u32> = BTreeMap::new();
    for number in 0..250 {
        let query = query(&mut random);
        if is_refused(&query) {
            continue;
        }
        let period = period(&mut random);
        let (of_rows, _) = ask(&shelf, &query, period, Level::Rows);
        assert!(
            of_rows.iter().all(|answer| answer.levels.iter().all(|level| level == "rows")),
            "{of_rows:?}"
        );
        for coarsest in [Level::Minute, Level::Hour] {
            let (answers, outcome) = ask(&shelf, &query, period, coarsest);
            assert!(outcome.errors.is_empty(), "{outcome:?}");
            *levels.entry(level(&answers)).or_default() += 1;
            if let Some(difference) = difference(&answers, &of_rows) {
                panic!("{number}: {query:?} in {period:?}: {difference}");
            }
        }
    }
    // Each level was chosen often.
    for name in ["1h", "1min", "rows"] {
        assert!(levels.get(name).is_some_and(|count| *count > 25), "{levels:?}");
    }
}

fn of(group: &[&str], value: Aggregate) -> Query {
    let item = OutputColumn::new("value", Expression::Aggregate(value));
    Query {
        over: Over::Run,
        ..Query::new("q", group.iter().map(|field| GroupField::from_field(*field)), [item])
    }
}

fn sum() -> Aggregate {
    Aggregate::Sum(Box::new(Expression::field("total_byte")))
}

/// The levels that an answer about whole hours is read from.
fn read(shelf: &Shelf, query: &Query, minutes: [u64; 2]) -> Vec<String> {
    let [from_ns, to_ns] = minutes.map(|minutes| START + minutes * MINUTE);
    let (answers, _) = ask(shelf, query, Some(Period { from_ns, to_ns }), Level::Hour);
    answers.first().map(|answer| answer.levels.clone()).unwrap_or_default()
}

#[test]
fn the_coarsest_exact_level_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = rows(&mut Random::new(3), 4000);
    // Without rows that came late.
    let rows: Vec<_> = rows.into_iter().map(stored::Row::in_time).collect();
    Maker::new(folder.path()).fill(&rows, HOURS - 1);
    let shelf = shelf(folder.path());
    let by_source = of(&["src_addr"], sum());
    let cases = [
        (by_source.clone(), [60, 120], "1h"),
        (by_source.clone(), [59, 121], "1h, 1min"),
        (by_source.clone(), [61, 119], "1min"),
        (by_source.clone(), [0, 60 * HOURS], "1h, 1min, rows"),
        (by_source.clone(), [60 * (HOURS - 1), 60 * HOURS], "1min, rows"),
        (of(&[], Aggregate::CountDistinct(GroupField::from_field("src_addr"))), [0, 60], "1h"),
        (of(&["protocol"], Aggregate::Max(Box::new(Expression::field("ltime")))), [0, 60], "1h"),
        (
            of(
                &[],
                Aggregate::Entropy(
                    GroupField::from_field("src_addr"),
                    ValueWeight::Sum("total_byte".to_owned()),
                ),
            ),
            [0, 60],
            "1h",
        ),
        // Rows of a rollup are several flows.
        (of(&["src_addr"], Aggregate::Count), [0, 60], "rows"),
        (of(&[], Aggregate::Entropy(GroupField::from_field("src_addr"), ValueWeight::Rows)), [0, 60], "rows"),
        (of(&[], Aggregate::Mean(Box::new(Expression::field("total_byte")))), [0, 60], "rows"),
        (of(&[], Aggregate::Max(Box::new(Expression::field("total_byte")))), [0, 60], "rows"),
        // A rollup has no ports, and one last value of many flows.
        (of(&["dst_port"], sum()), [0, 60], "rows"),
        (of(&[], Aggregate::CountDistinct(GroupField::from_field("conversation"))), [0, 60], "rows"),
        (of(&["ip_ttl"], sum()), [0, 60], "rows"),
    ];
    for (query, minutes, expected) in cases {
        assert_eq!(read(&shelf, &query, minutes).join(", "), expected, "{query:?} {minutes:?}");
    }
    let every = |every_ns| Query { over: Over::Windows { every_ns, over_ns: every_ns }, ..by_source.clone() };
    assert_eq!(read(&shelf, &every(HOUR), [60, 120]), ["1h"]);
    assert_eq!(read(&shelf, &every(5 * MINUTE), [60, 120]), ["1min"]);
    assert_eq!(read(&shelf, &every(100 * SECOND), [60, 120]), ["rows"]);
}

#[test]
fn what_is_kept_no_more_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = rows(&mut Random::new(5), 4000);
    let mut maker = Maker::new(folder.path());
    maker.fill(&rows, HOURS);
    let whole = ask(&shelf(folder.path()), &of(&["src_addr"], sum()), None, Level::Hour).0;
    maker.retain(Level::Rows, START + 2 * HOUR);
    let shelf = shelf(folder.path());
    // A rollup has it: the answer is that of all rows, but for those that came too late for it.
    let (answers, _) = ask(&shelf, &of(&["src_addr"], sum()), None, Level::Hour);
    assert_eq!(answers.len(), whole.len());
    assert!(answers.iter().all(|answer| answer.levels[0] == "1h" && !lacks_rows(answer)), "{answers:?}");
    // Ports are in rows alone. Without a begin the question begins with them.
    let (answers, _) = ask(&shelf, &of(&["dst_port"], sum()), None, Level::Hour);
    assert!(!answers.is_empty() && !answers.iter().any(lacks_rows), "{answers:?}");
    let from_ns = answers[0].window.expect("a window").start_ns;
    assert!(from_ns >= START + 2 * HOUR, "{from_ns}");
    let all = Period { from_ns: START, to_ns: u64::MAX };
    let (answers, _) = ask(&shelf, &of(&["dst_port"], sum()), Some(all), Level::Hour);
    let reason = answers[0].reason.clone().expect("a reason");
    assert!(reason.contains("rows of a from 2026-"), "{reason}");
    assert_eq!(answers[0].status, AnswerStatus::Partial);
    let later = Period { from_ns: START + 2 * HOUR, to_ns: START + HOURS * HOUR };
    let (answers, _) = ask(&shelf, &of(&["dst_port"], sum()), Some(later), Level::Hour);
    assert!(!answers.is_empty() && !answers.iter().any(lacks_rows), "{answers:?}");
}

#[test]
fn what_is_kept_no_more_is_named_in_a_store_that_was_taken_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut maker = Maker::new(folder.path());
    maker.fill(&rows(&mut Random::new(5), 4000), HOURS);
    // As the format before is taken over: what was watched is not known.
    maker.take_over();
    maker.retain(Level::Rows, START + 2 * HOUR);
    let all = Period { from_ns: START, to_ns: START + HOURS * HOUR };
    let later = Period { from_ns: START + 2 * HOUR, ..all };
    for (period, lacks) in [(Some(all), true), (Some(later), false), (None, false)] {
        let answers = stored_answers(folder.path(), &of(&["dst_port"], sum()), period);
        assert_eq!(answers.len(), stored::NODES.len());
        for answer in &answers {
            assert_eq!(lacks_rows(answer), lacks, "{period:?}: {answer:?}");
            assert!(!lacks || answer.status == AnswerStatus::Partial, "{answer:?}");
        }
    }
}

fn lacks_rows(answer: &Answer) -> bool {
    answer.reason.as_ref().is_some_and(|reason| reason.contains("are kept no more"))
}

/// The answers of a store as a whole, by node and window.
fn stored_answers(folder: &std::path::Path, query: &Query, period: Option<Period>) -> Vec<Answer> {
    let mut stored = history::levels::OpenStore::open(folder).expect("a store");
    let question = history::Question { query: query.clone(), period, runs_on: std::rc::Rc::new(|_| true) };
    let mut answers = Vec::new();
    let outcomes =
        stored.answer(vec![question], &stored::setting(), &mut |_| true, &mut |answer| answers.push(answer));
    assert!(outcomes.expect("answers").iter().all(|outcome| outcome.errors.is_empty()));
    answers.sort_by_key(|answer| (answer.window.map(|window| window.start_ns), answer.node.clone()));
    answers
}

#[test]
fn what_a_lost_level_alone_tells_is_unknown_and_the_rest_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = rows(&mut Random::new(7), 4000);
    // What came too late is in no rollup.
    let rows: Vec<_> = rows.into_iter().map(stored::Row::in_time).collect();
    let mut maker = Maker::new(folder.path());
    maker.fill(&rows, HOURS);
    let of = |over| Query {
        over,
        limit: Some(4),
        ..Query::new(
            "q",
            [GroupField::from_field("src_addr")],
            [OutputColumn::count("flows"), OutputColumn::sum("total_byte")],
        )
    };
    let by_bytes = |query: &Query| Query {
        order: vec![task::query::Order::largest(Expression::sum("total_byte"))],
        ..query.clone()
    };
    let from = Some(Period { from_ns: START, to_ns: START + HOURS * HOUR });
    let whole = shelf(folder.path());
    let windows = Over::Windows { every_ns: HOUR, over_ns: HOUR };
    let truths = [Over::Run, windows].map(|over| ask(&whole, &by_bytes(&of(over)), from, Level::Rows).0);
    maker.retain(Level::Rows, START + 2 * HOUR);
    for (over, truth) in [Over::Run, windows].into_iter().zip(truths) {
        // Ordered by flows, which are not known everywhere: by bytes then.
        for (query, period) in [(by_bytes(&of(over)), from), (by_bytes(&of(over)), None)] {
            let answers = stored_answers(folder.path(), &query, period);
            assert_eq!(answers.len(), truth.len(), "{answers:?}");
            for (answer, truth) in answers.iter().zip(&truth) {
                let is_kept = over != Over::Run
                    && truth.window.is_some_and(|window| window.start_ns >= START + 2 * HOUR);
                assert_eq!((&answer.node, answer.rows.len()), (&truth.node, truth.rows.len()));
                for (row, truth) in answer.rows.iter().zip(&truth.rows) {
                    let flows = if is_kept { truth[1].clone() } else { Value::Null };
                    assert_eq!(*row, [truth[0].clone(), flows, truth[2].clone()], "{answer:?}");
                }
                assert_eq!(answer.rest.groups, truth.rest.groups);
                assert_eq!(answer.columns, truth.columns);
                // Some windows have packets without a place, whatever level tells them.
                let is_partial = truth.status == AnswerStatus::Partial || !is_kept && period.is_some();
                assert_eq!(answer.status == AnswerStatus::Partial, is_partial, "{answer:?}");
                let says = answer.reason.as_ref().is_some_and(|reason| reason.contains("flows not known"));
                assert_eq!(says, !is_kept, "{answer:?}");
            }
        }
    }
    let answers = stored_answers(folder.path(), &of(Over::Run), from);
    let reason = answers[0].reason.clone().expect("a reason");
    assert!(reason.contains("not in the order of flows"), "{reason}");
}
