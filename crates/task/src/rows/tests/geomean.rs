//! `geomean` against the root of a product, or a loop over the rows where the product is too large.

use super::*;
use crate::query::{Across, Operator};
use std::collections::HashMap;

/// The largest relative difference of two orders of the same values.
const TOLERANCE: f64 = 1e-9;

fn geomean(of: Expression) -> Expression {
    Expression::Aggregate(Aggregate::GeometricMean(Box::new(of)))
}

/// The geometric mean, one factor after the other: each is a root, so that the product stays in range. It is 0 with a value that is 0,
/// and none with a negative one or without any.
fn product_of_roots(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value < 0.0) {
        return None;
    }
    let exponent = 1.0 / values.len() as f64;
    Some(values.iter().map(|value| value.powf(exponent)).product())
}

fn is_close(found: &Value, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Value::Float(found), Some(expected)) => (found - expected).abs() <= TOLERANCE * expected.abs(),
        (found, expected) => *found == Value::Null && expected.is_none(),
    }
}

/// Bytes without some for each packet: they may be none, and fewer than none.
fn remaining(per_packet: i64) -> Expression {
    let with = |left: Expression, operator, right: Expression| {
        Expression::Arithmetic(left.into(), operator, right.into())
    };
    let headers = with(Expression::field("total_count"), Operator::Multiply, Expression::Integer(per_packet));
    with(Expression::field("total_byte"), Operator::Subtract, headers)
}

/// A column, and what it must have of plain rows.
type Expected = (OutputColumn, Box<dyn Fn(&Plain) -> Option<f64>>);

/// Columns, each with the values of a row that are not null.
fn columns(per_packet: i64) -> Vec<Expected> {
    let item = |name: &str, of| OutputColumn::new(name, geomean(of));
    vec![
        (item("bytes", Expression::field("total_byte")), Box::new(|row| Some(row.bytes as f64))),
        // VLANs may be null, and 0.
        (item("vlans", Expression::field("first_vlan")), Box::new(|row| row.vlan.map(f64::from))),
        (
            item("each", Expression::field("bytes_per_packet")),
            Box::new(|row| Some(row.bytes as f64 / row.packets as f64)),
        ),
        (
            item("remaining", remaining(per_packet)),
            Box::new(move |row| Some(row.bytes as f64 - (per_packet * row.packets as i64) as f64)),
        ),
    ]
}

/// Returns the rows by group, in a map of the test.
fn groups<'a>(rows: &'a [Plain], fields: &[&str]) -> HashMap<Vec<String>, Vec<&'a Plain>> {
    let mut groups: HashMap<Vec<String>, Vec<&Plain>> = HashMap::new();
    for row in rows {
        groups_of(fields, row).into_iter().for_each(|group| groups.entry(group).or_default().push(row));
    }
    groups
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(48), ..ProptestConfig::default() })]

    #[test]
    fn it_is_the_root_of_the_product(rows in rows(), merges: bool, per_packet in 0i64..60) {
        let columns = columns(per_packet);
        let items = || columns.iter().map(|(item, _)| item.clone()).collect::<Vec<_>>();
        for fields in GROUPINGS {
            let answer = answer(&query(fields, items(), None), &rows, merges);
            let groups = groups(&rows, fields);
            prop_assert_eq!(answer.rows.len(), groups.len());
            for row in &answer.rows {
                let key: Vec<String> = row[..fields.len()].iter().map(text).collect();
                for (found, (item, value)) in row[fields.len()..].iter().zip(&columns) {
                    let values: Vec<f64> = groups[&key].iter().filter_map(|row| value(row)).collect();
                    let expected = product_of_roots(&values);
                    prop_assert!(is_close(found, expected), "{}: {:?}, not {:?}", item.name, found, expected);
                }
            }
        }
        let all = answer(&query(&[], items(), None), &rows, merges);
        for (found, (item, value)) in all.rows[0].iter().zip(&columns) {
            let expected = product_of_roots(&rows.iter().filter_map(value).collect::<Vec<_>>());
            prop_assert!(is_close(found, expected), "{}: {:?}, not {:?}", item.name, found, expected);
        }
    }

    /// Nodes tell the sum of logarithms, the number and the least value: together they answer as one node that saw all.
    #[test]
    fn nodes_together_have_that_of_all_rows(
        rows in rows(),
        nodes in 1usize..4,
        per_packet in 0i64..60,
        by_port: bool,
    ) {
        let columns = columns(per_packet);
        let fields: &[&str] = if by_port { &["dst_port"] } else { &[] };
        let asked = query(fields, columns.iter().map(|(item, _)| item.clone()).collect(), None);
        let merging = Merging::new(&asked, Across::Sum, &site(1 << 30)).expect("it can be merged");
        let of_node = |node| {
            let own: Vec<Plain> =
                rows.iter().filter(|row| row.bytes as usize % nodes == node).cloned().collect();
            answer(merging.parts(), &own, false)
        };
        let answers: Vec<Answer> = (0..nodes).map(of_node).collect();
        let merged = merging.merge(SPAN, &answers.iter().collect::<Vec<_>>());
        let mut groups = groups(&rows, fields);
        if fields.is_empty() {
            groups.insert(Vec::new(), rows.iter().collect());
        }
        prop_assert_eq!(merged.rows.len(), groups.len());
        for row in &merged.rows {
            let key: Vec<String> = row[..fields.len()].iter().map(text).collect();
            for (found, (item, value)) in row[fields.len()..].iter().zip(&columns) {
                let values: Vec<f64> = groups[&key].iter().filter_map(|row| value(row)).collect();
                let expected = product_of_roots(&values);
                prop_assert!(is_close(found, expected), "{}: {:?}, not {:?}", item.name, found, expected);
            }
        }
    }

    /// In `having` and as the order: by groups whose means are well apart.
    #[test]
    fn groups_are_kept_and_ordered_by_it(rows in rows(), bound in 40i64..9000) {
        let value = geomean(Expression::field("total_byte"));
        let having = Condition::Compare(value.clone(), Comparison::Greater, Expression::Integer(bound));
        let asked = Query {
            having: Some(having),
            order: vec![Order::largest(value.clone())],
            ..query(&["src_addr"], vec![OutputColumn::new("mean", value)], None)
        };
        let found: Vec<f64> = answer(&asked, &rows, false).rows.iter().filter_map(|row| match row[1] {
            Value::Float(mean) => Some(mean),
            _ => None,
        }).collect();
        let mean = |rows: &Vec<&Plain>| product_of_roots(&rows.iter().map(|row| row.bytes as f64).collect::<Vec<_>>());
        let mut expected: Vec<f64> = groups(&rows, &["src_addr"]).values().filter_map(mean).collect();
        // A mean that is the bound but for its last digits may pass or not.
        let is_apart = |mean: &f64| (mean / bound as f64 - 1.0).abs() > TOLERANCE;
        expected.retain(|mean| *mean > bound as f64 && is_apart(mean));
        expected.sort_by(|one, other| other.total_cmp(one));
        let found: Vec<f64> = found.into_iter().filter(is_apart).collect();
        prop_assert!(found.is_sorted_by(|one, other| one >= other));
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found / expected - 1.0).abs() <= TOLERANCE, "{}, not {}", found, expected);
        }
    }
}

#[test]
fn what_nodes_leave_out_leaves_it_open() {
    let row = |source, bytes| Plain {
        src: IpAddr::from([10, 0, 0, source]),
        dst: IpAddr::from([10, 0, 0, 9]),
        ports: [1, 2],
        protocol: 6,
        packets: 1,
        bytes,
        vlan: None,
        rtt: None,
        lost: 0,
    };
    let asked =
        query(&["src_addr"], vec![OutputColumn::new("mean", geomean(Expression::field("total_byte")))], None);
    let merging = Merging::new(&asked, Across::Sum, &site(1 << 30)).expect("it can be merged");
    let mut answers = [[row(1, 100), row(2, 50)], [row(1, 400), row(3, 70)]]
        .map(|rows| answer(merging.parts(), &rows, false));
    // The second node has no place for 10.0.0.1.
    answers[1].rows.retain(|row| row[0] != Value::Address(IpAddr::from([10, 0, 0, 1])));
    answers[1].rest.groups = 1;
    let merged = merging.merge(SPAN, &answers.iter().collect::<Vec<_>>());
    let of_first = merged.rows.iter().find(|row| row[0] == Value::Address(IpAddr::from([10, 0, 0, 1])));
    let Some(Value::Estimate { value, lower, upper }) = of_first.map(|row| &row[1]) else {
        panic!("{merged:?}")
    };
    assert!((value - 100.0).abs() < 1e-6, "{value}");
    assert_eq!((*lower, *upper), (f64::NEG_INFINITY, f64::INFINITY));
}

#[test]
fn a_sample_has_no_bounds_of_it() {
    let row = Plain {
        src: IpAddr::from([10, 0, 0, 1]),
        dst: IpAddr::from([10, 0, 0, 2]),
        ports: [1, 2],
        protocol: 6,
        packets: 1,
        bytes: 64,
        vlan: None,
        rtt: None,
        lost: 0,
    };
    let asked = query(&[], vec![OutputColumn::new("mean", geomean(Expression::field("total_byte")))], None);
    let queries = RowQueries::plan(Generation::default(), &[asked], &site(1 << 30)).expect("a query");
    let (v4, v6) = blocks(&[row]);
    let (mut partials, mut scratch) = (queries.window(), RowScratch::default());
    partials.add_v4(&queries, &v4, &mut scratch);
    partials.add_v6(&queries, &v6, &mut scratch);
    let nothing = Unplaced::default();
    let share = flow::Share::from_ppm(100_000).expect("a share");
    let sampled = Some(flow::Sampled::new(share, 1, 0, 1500));
    let outside = Outside { sampled, ..Outside::from(&nothing) };
    let answer = partials.window_answers(&queries, SPAN, SPAN, outside).pop().expect("an answer");
    let Value::Estimate { value, lower, upper } = answer.rows[0][0] else { panic!("{answer:?}") };
    assert!((value - 64.0).abs() < 1e-9 && lower == f64::NEG_INFINITY && upper == f64::INFINITY);
    let reason = answer.reason.expect("a remark");
    assert!(reason.contains("of the sampled packets alone, not scaled: mean"), "{reason}");
}

/// Of logarithms below 0 the greatest sum is that of the node that has counted least.
#[test]
fn the_greatest_sum_of_logarithms_is_no_nodes_mean() {
    let asked = query(&[], vec![OutputColumn::new("mean", geomean(Expression::field("total_byte")))], None);
    let refused = Merging::new(&asked, Across::Max, &site(1 << 30)).expect_err("it does not follow");
    assert_eq!(refused, ["geomean(total_byte) by max does not follow from that of each node; ask by sum"]);
    assert!(Merging::new(&asked, Across::Sum, &site(1 << 30)).is_ok());
}
