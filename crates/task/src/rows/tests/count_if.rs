//! `count_if` against maps that the tests fill row by row.

use super::*;
use crate::query::{Across, MOST_GROUPS};
use std::collections::HashMap;

/// A condition, and the rows for which it is true.
type Case = (Condition, Box<dyn Fn(&Plain) -> bool>);

/// Conditions on counters, on keys, and on a value that rows may lack.
fn cases(least: u64, port: u16) -> Vec<Case> {
    let is_large = Condition::compare("total_byte", Comparison::Greater, least as i64);
    let ports = [port, 3].map(|port| Expression::Integer(port.into())).to_vec();
    let is_port = Condition::In(Expression::field("dst_port"), ports);
    let is_tagged = Condition::compare("first_vlan", Comparison::Equal, 1);
    let is_not_tagged = Condition::Not(Box::new(is_tagged.clone()));
    let network = (IpAddr::from([10, 1, 1, 0]), 24);
    let is_within = Condition::InPrefixes("addr".to_owned(), vec![network]);
    let has_network = |address: IpAddr| matches!(address, IpAddr::V4(v4) if v4.octets()[..3] == [10, 1, 1]);
    let both = Condition::And(vec![is_large.clone(), is_port.clone()]);
    let any = Condition::Or(vec![is_large.clone(), is_tagged.clone()]);
    vec![
        (is_large, Box::new(move |row| row.bytes > least)),
        (is_port, Box::new(move |row| [port, 3].contains(&row.ports[1]))),
        (is_tagged, Box::new(|row| row.vlan == Some(1))),
        // A comparison with null is unknown, and so is its opposite.
        (is_not_tagged, Box::new(|row| row.vlan.is_some_and(|vlan| vlan != 1))),
        (Condition::IsNull(Expression::field("first_vlan")), Box::new(|row| row.vlan.is_none())),
        (is_within, Box::new(move |row| has_network(row.src) || has_network(row.dst))),
        (both, Box::new(move |row| row.bytes > least && [port, 3].contains(&row.ports[1]))),
        (any, Box::new(move |row| row.bytes > least || row.vlan == Some(1))),
        (Condition::And(Vec::new()), Box::new(|_| true)),
    ]
}

fn count_if(condition: Condition) -> Expression {
    Expression::Aggregate(Aggregate::CountIf(Box::new(condition)))
}

fn columns(cases: &[Case]) -> Vec<OutputColumn> {
    let item = |(at, (condition, _)): (usize, &Case)| {
        OutputColumn::new(format!("c{at}"), count_if(condition.clone()))
    };
    cases.iter().enumerate().map(item).collect()
}

/// The numbers of the rows for which the conditions are true, by group.
fn counts(
    rows: &[Plain],
    cases: &[Case],
    groups: impl Fn(&Plain) -> BTreeSet<Vec<String>>,
) -> HashMap<Vec<String>, Vec<u64>> {
    let mut counts: HashMap<Vec<String>, Vec<u64>> = HashMap::new();
    for row in rows {
        for group in groups(row) {
            let own = counts.entry(group).or_insert_with(|| vec![0; cases.len()]);
            own.iter_mut().zip(cases).for_each(|(own, (_, holds))| *own += u64::from(holds(row)));
        }
    }
    counts
}

/// The same of an answer.
fn counted(answer: &Answer, keys: usize) -> HashMap<Vec<String>, Vec<u64>> {
    let row = |row: &Vec<Value>| {
        let numbers = row[keys..].iter().map(|value| value.as_unsigned().expect("a number"));
        (row[..keys].iter().map(text).collect(), numbers.collect())
    };
    answer.rows.iter().map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(48), ..ProptestConfig::default() })]

    #[test]
    fn flows_are_counted_for_which_the_condition_is_true(
        rows in rows(),
        merges: bool,
        least in 0u64..9000,
        port in 0u16..4,
    ) {
        let cases = cases(least, port);
        for fields in GROUPINGS {
            let answer = answer(&query(fields, columns(&cases), None), &rows, merges);
            prop_assert_eq!(counted(&answer, fields.len()), counts(&rows, &cases, |row| groups_of(fields, row)));
        }
        let all = answer(&query(&[], columns(&cases), None), &rows, merges);
        let none = HashMap::from([(Vec::new(), vec![0; cases.len()])]);
        let expected = counts(&rows, &cases, |_| BTreeSet::from([Vec::new()]));
        prop_assert_eq!(counted(&all, 0), if rows.is_empty() { none } else { expected });
    }

    /// In `having`, as the order, and as the rest of a limit, with each flow a group too.
    #[test]
    fn groups_are_kept_ordered_and_left_out_by_it(
        rows in rows(),
        merges: bool,
        least in 0u64..9000,
        limit in 0usize..8,
        at in 0..GROUPINGS.len(),
        bound in prop::option::of(0i64..4),
    ) {
        let fields = GROUPINGS[at];
        let mut cases = cases(least, 1);
        cases.truncate(1);
        let value = count_if(cases[0].0.clone());
        let bounded = |bound| Condition::Compare(value.clone(), Comparison::Greater, Expression::Integer(bound));
        let query = Query { having: bound.map(bounded), ..query(fields, columns(&cases), Some(limit)) };
        let answer = answer(&query, &rows, merges);
        let mut expected: Vec<u64> =
            counts(&rows, &cases, |row| groups_of(fields, row)).into_values().map(|counts| counts[0]).collect();
        expected.retain(|count| bound.is_none_or(|bound| *count as i64 > bound));
        expected.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let shown = limit.min(expected.len());
        let found: Vec<u64> = answer.rows.iter().filter_map(|row| row[fields.len()].as_unsigned()).collect();
        prop_assert_eq!(&found, &expected[..shown]);
        let rest = expected[shown..].iter().sum::<u64>();
        prop_assert_eq!(answer.rest.groups as usize, expected.len() - shown);
        prop_assert_eq!(&answer.rest.totals, &[("c0".to_owned(), Value::Unsigned(rest))]);
    }

    /// Numbers of nodes add up, or the largest is taken; what nodes leave out is within the bounds.
    #[test]
    fn nodes_count_their_own_flows(
        nodes in prop::collection::vec(rows(), 1..4),
        least in 0u64..9000,
        limit in prop::option::of(0usize..6),
        by in prop::sample::select(vec![Across::Sum, Across::Max]),
    ) {
        let mut cases = cases(least, 2);
        cases.truncate(2);
        let asked = query(&["dst_port"], columns(&cases), limit);
        let merging = Merging::new(&asked, by, &site(1 << 30)).expect("it can be merged");
        let answers: Vec<Answer> = nodes.iter().map(|rows| answer(merging.parts(), rows, false)).collect();
        let merged = merging.merge(SPAN, &answers.iter().collect::<Vec<_>>());
        let mut expected: HashMap<Vec<String>, Vec<u64>> = HashMap::new();
        for rows in &nodes {
            for (group, counts) in counts(rows, &cases, |row| groups_of(&["dst_port"], row)) {
                let own = expected.entry(group).or_insert_with(|| vec![0; cases.len()]);
                own.iter_mut().zip(counts).for_each(|(own, count)| {
                    *own = if by == Across::Sum { *own + count } else { count.max(*own) };
                });
            }
        }
        let found = counted(&merged, 1);
        prop_assert_eq!(found.len(), limit.unwrap_or(MOST_GROUPS).min(expected.len()));
        prop_assert!(found.iter().all(|(group, counts)| expected[group] == *counts));
    }

    /// Over several windows a flow is one row, whose bytes are those of all of them.
    #[test]
    fn flows_of_long_windows_count_once(parts in prop::collection::vec(rows(), 2..3), least in 0u64..9000) {
        let mut cases = cases(least, 2);
        cases.truncate(1);
        let over = Over::Windows { every_ns: 20, over_ns: 20 };
        let asked = Query { over, ..query(&[], columns(&cases), None) };
        let planned = RowQueries::plan(Generation::default(), &[asked], &site(1 << 30)).expect("a query");
        let (mut states, mut answers) = (Vec::new(), Vec::new());
        planned.begin_long_windows(&mut states);
        let mut flows: HashMap<String, u64> = HashMap::new();
        for (number, rows) in (0u64..).zip(&parts) {
            let (v4, v6) = blocks(rows);
            rows.iter().for_each(|row| *flows.entry(format!("{:?}", row.key())).or_default() += row.bytes);
            for state in &mut states {
                state.add(number * 10, &v4, &v6);
                answers.extend(state.close(&long_windows::account(number, 0)));
            }
        }
        let expected = flows.values().filter(|bytes| **bytes > least).count() as u64;
        // Without packets there is no window to answer.
        if !flows.is_empty() {
            prop_assert_eq!(counted(&answers[0], 0)[&Vec::new()][0], expected);
        }
    }
}

/// A sample does not tell whether the condition holds for all packets of a flow, and packets in no row may change it.
#[test]
fn samples_and_packets_without_a_place_leave_it_without_bounds() {
    let row = |bytes| Plain {
        src: IpAddr::from([10, 0, 0, 1]),
        dst: IpAddr::from([10, 0, 0, 2]),
        ports: [1, bytes as u16],
        protocol: 6,
        packets: 1,
        bytes,
        vlan: None,
        rtt: None,
        lost: 0,
    };
    let is_large = Condition::compare("total_byte", Comparison::Greater, 100);
    let asked = query(&[], vec![OutputColumn::new("large", count_if(is_large))], None);
    let queries = RowQueries::plan(Generation::default(), &[asked], &site(1 << 30)).expect("a query");
    let answered = |outside: Outside<'_>| {
        let (v4, v6) = blocks(&[row(50), row(200), row(300)]);
        let (mut partials, mut scratch) = (queries.window(), RowScratch::default());
        partials.add_v4(&queries, &v4, &mut scratch);
        partials.add_v6(&queries, &v6, &mut scratch);
        partials.window_answers(&queries, SPAN, SPAN, outside).pop().expect("an answer")
    };
    let nothing = Unplaced::default();
    let share = flow::Share::from_ppm(100_000).expect("a share");
    let sampled = Some(flow::Sampled::new(share, 3, 0, 1500));
    let sample = answered(Outside { sampled, ..Outside::from(&nothing) });
    let open = Value::Estimate { value: 2.0, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    assert_eq!(sample.rows, [[open]]);
    let reason = sample.reason.expect("a remark");
    assert!(reason.contains("of the sampled packets alone, not scaled: large"), "{reason}");
    let unplaced = Unplaced { packets: 3, bytes: 5, wire_bytes: 6, keyless: 0 };
    let lacking = answered(Outside::from(&unplaced));
    assert_eq!((lacking.status, &lacking.rows[..]), (AnswerStatus::Partial, &[vec![Value::Unsigned(2)]][..]));
}

#[test]
fn a_condition_on_packets_of_a_flow_is_refused() {
    let is_tagged = Condition::compare("vlan", Comparison::Equal, 1);
    let asked = query(&[], vec![OutputColumn::new("tagged", count_if(is_tagged))], None);
    let refused = RowQueries::plan(Generation::default(), &[asked], &site(1 << 30)).expect_err("refused");
    let refused: Vec<String> = refused.iter().map(|(_, refusal)| refusal.to_string()).collect();
    assert!(refused.iter().any(|reason| reason.contains("vlan")), "{refused:?}");
}
