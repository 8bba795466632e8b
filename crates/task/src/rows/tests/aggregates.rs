//! Aggregates, conditions on groups and orders against what the tests compute of the rows one by one.

use super::*;
use crate::query::{Operator, ValueWeight};

type Number = Option<f64>;

fn number(value: &Value) -> Number {
    match value {
        Value::Null => None,
        Value::Unsigned(number) => Some(*number as f64),
        Value::Signed(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        other => panic!("no number: {other:?}"),
    }
}

fn are_close(found: Number, expected: Number) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            (found - expected).abs() <= 1e-9 * expected.abs().max(found.abs()).max(1e-3)
        }
        (found, expected) => found == expected,
    }
}

fn arithmetic(left: Expression, operator: Operator, right: Expression) -> Expression {
    Expression::Arithmetic(Box::new(left), operator, Box::new(right))
}

fn aggregate(aggregate: fn(Box<Expression>) -> Aggregate, of: Expression) -> Expression {
    Expression::Aggregate(aggregate(Box::new(of)))
}

/// Bytes without the 40 of each packet's headers: they may be fewer than none.
fn payload() -> Expression {
    let headers = arithmetic(Expression::field("total_count"), Operator::Multiply, Expression::Integer(40));
    arithmetic(Expression::field("total_byte"), Operator::Subtract, headers)
}

fn payload_of(row: &Plain) -> f64 {
    row.bytes as f64 - 40.0 * row.packets as f64
}

fn per_packet_of(row: &Plain) -> f64 {
    row.bytes as f64 / row.packets as f64
}

fn mean(values: &[f64]) -> Number {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn deviation(values: &[f64]) -> Number {
    let mean = mean(values)?;
    self::mean(&values.iter().map(|value| (value - mean).powi(2)).collect::<Vec<_>>()).map(f64::sqrt)
}

fn quantile(values: &[f64], share: f64) -> Number {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The least value that at least this share does not exceed.
    sorted.iter().copied().find(|value| {
        let not_above = sorted.iter().filter(|other| *other <= value).count();
        not_above as f64 >= share * sorted.len() as f64
    })
}

fn entropy<K: Ord>(weights: impl Iterator<Item = (K, u64)>) -> Number {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    weights.for_each(|(key, weight)| *sums.entry(key).or_default() += weight);
    let all = sums.values().sum::<u64>() as f64;
    let share = |weight: &u64| *weight as f64 / all;
    let bits = -sums.values().map(|weight| share(weight) * share(weight).log2()).sum::<f64>();
    // To 9 decimals.
    (all > 0.0).then(|| (bits * 1e9).round() / 1e9)
}

/// Columns, each with what it is of some rows.
type Case = (Expression, Box<dyn Fn(&[&Plain]) -> Number>);

fn cases() -> Vec<Case> {
    fn of(value: fn(&Plain) -> f64) -> impl Fn(&[&Plain]) -> Vec<f64> {
        move |rows| rows.iter().map(|row| value(row)).collect()
    }
    let bytes = || Expression::field("total_byte");
    let vlans =
        |rows: &[&Plain]| -> Vec<f64> { rows.iter().filter_map(|row| row.vlan.map(f64::from)).collect() };
    let quantile_of = |of: Expression, share| Expression::Aggregate(Aggregate::Quantile(Box::new(of), share));
    let entropy_of = |field: &str, weight: &str| {
        Expression::Aggregate(Aggregate::Entropy(
            GroupField::from_field(field),
            ValueWeight::Sum(weight.to_owned()),
        ))
    };
    let sums = arithmetic(Expression::sum("total_byte"), Operator::Divide, Expression::sum("total_count"));
    vec![
        (aggregate(Aggregate::Mean, bytes()), Box::new(move |rows| mean(&of(|row| row.bytes as f64)(rows)))),
        (
            aggregate(Aggregate::Mean, Expression::field("first_vlan")),
            Box::new(move |rows| mean(&vlans(rows))),
        ),
        (
            aggregate(Aggregate::Max, Expression::field("first_vlan")),
            Box::new(move |rows| vlans(rows).into_iter().reduce(f64::max)),
        ),
        (
            aggregate(Aggregate::Min, payload()),
            Box::new(move |rows| of(payload_of)(rows).into_iter().reduce(f64::min)),
        ),
        (
            aggregate(Aggregate::Max, payload()),
            Box::new(move |rows| of(payload_of)(rows).into_iter().reduce(f64::max)),
        ),
        (
            aggregate(Aggregate::Sum, payload()),
            Box::new(move |rows| Some(of(payload_of)(rows).into_iter().sum())),
        ),
        (aggregate(Aggregate::Deviation, payload()), Box::new(move |rows| deviation(&of(payload_of)(rows)))),
        (
            aggregate(Aggregate::Max, Expression::field("bytes_per_packet")),
            Box::new(move |rows| of(per_packet_of)(rows).into_iter().reduce(f64::max)),
        ),
        (
            aggregate(Aggregate::Sum, Expression::field("bytes_per_packet")),
            Box::new(move |rows| Some(of(per_packet_of)(rows).into_iter().sum())),
        ),
        (
            aggregate(Aggregate::Mean, Expression::field("bytes_per_packet")),
            Box::new(move |rows| mean(&of(per_packet_of)(rows))),
        ),
        // Rows are of 4 ns.
        (
            aggregate(Aggregate::Max, Expression::field("duration")),
            Box::new(|rows| rows.first().map(|_| 4.0)),
        ),
        // The window has 10 ns.
        (
            aggregate(Aggregate::Rate, bytes()),
            Box::new(move |rows| Some(of(|row| row.bytes as f64)(rows).into_iter().sum::<f64>() * 1e8)),
        ),
        (quantile_of(bytes(), 0.5), Box::new(move |rows| quantile(&of(|row| row.bytes as f64)(rows), 0.5))),
        (quantile_of(bytes(), 0.0), Box::new(move |rows| quantile(&of(|row| row.bytes as f64)(rows), 0.0))),
        (quantile_of(payload(), 0.9), Box::new(move |rows| quantile(&of(payload_of)(rows), 0.9))),
        (
            entropy_of("dst_port", "total_count"),
            Box::new(|rows| entropy(rows.iter().map(|row| (row.ports[1], row.packets)))),
        ),
        (
            entropy_of("src_addr", "total_byte"),
            Box::new(|rows| entropy(rows.iter().map(|row| (row.src, row.bytes)))),
        ),
        (
            Expression::Aggregate(Aggregate::Entropy(
                GroupField::from_field("first_vlan"),
                ValueWeight::Rows,
            )),
            Box::new(|rows| entropy(rows.iter().filter_map(|row| Some((row.vlan?, 1))))),
        ),
        (
            sums,
            Box::new(move |rows| {
                let sum = |value: fn(&Plain) -> f64| of(value)(rows).into_iter().sum::<f64>();
                let packets = sum(|row| row.packets as f64);
                (packets != 0.0).then(|| sum(|row| row.bytes as f64) / packets)
            }),
        ),
    ]
}

fn columns(cases: &[Case]) -> Vec<OutputColumn> {
    cases
        .iter()
        .enumerate()
        .map(|(at, (value, _))| OutputColumn::new(format!("c{at}"), value.clone()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(48), ..ProptestConfig::default() })]

    #[test]
    fn aggregates_are_those_of_the_rows_one_by_one(rows in rows(), merges: bool) {
        let cases = cases();
        for fields in [&[][..], &["dst_port"], &["src_addr", "first_vlan"], &["port"]] {
            let answer = answer(&query(fields, columns(&cases), None), &rows, merges);
            let mut groups: BTreeMap<Vec<String>, Vec<&Plain>> = BTreeMap::new();
            if fields.is_empty() {
                groups.insert(Vec::new(), rows.iter().collect());
            }
            for row in rows.iter().filter(|_| !fields.is_empty()) {
                groups_of(fields, row).into_iter().for_each(|group| groups.entry(group).or_default().push(row));
            }
            prop_assert_eq!(answer.rows.len(), groups.len());
            for row in &answer.rows {
                let key: Vec<_> = row[..fields.len()].iter().map(text).collect();
                for ((column, value), (_, expected)) in
                    answer.columns[fields.len()..].iter().zip(&row[fields.len()..]).zip(&cases)
                {
                    let expected = expected(&groups[&key]);
                    prop_assert!(
                        are_close(number(value), expected),
                        "{} of {:?}: {:?}, not {:?}", column.name, key, value, expected
                    );
                }
            }
        }
    }

    #[test]
    fn groups_that_pass_are_in_order_with_an_exact_rest(rows in rows(), merges: bool, least in 0i64..9000, limit in 0usize..8) {
        let ratio = arithmetic(Expression::sum("total_byte"), Operator::Divide, Expression::sum("total_count"));
        let having = Condition::Compare(
            aggregate(Aggregate::Max, Expression::field("total_byte")),
            Comparison::GreaterOrEqual,
            Expression::Integer(least),
        );
        let items = vec![OutputColumn::sum("total_byte"), OutputColumn::new("ratio", ratio.clone())];
        let query = Query {
            having: Some(having),
            order: vec![Order { by: ratio, descending: false }, Order { by: Expression::field("src_addr"), descending: true }],
            limit: Some(limit),
            ..query(&["src_addr"], items, None)
        };
        let answer = answer(&query, &rows, merges);
        let mut groups: BTreeMap<IpAddr, Vec<&Plain>> = BTreeMap::new();
        rows.iter().for_each(|row| groups.entry(row.src).or_default().push(row));
        let mut passing: Vec<(f64, IpAddr, u64)> = groups
            .iter()
            .filter(|(_, rows)| rows.iter().any(|row| row.bytes as i64 >= least))
            .map(|(address, rows)| {
                let (bytes, packets) =
                    rows.iter().fold((0, 0), |sums, row| (sums.0 + row.bytes, sums.1 + row.packets));
                (bytes as f64 / packets as f64, *address, bytes)
            })
            .collect();
        passing.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        let rest: u64 = passing.iter().skip(limit).map(|group| group.2).sum();
        prop_assert_eq!(answer.rest.groups as usize, passing.len().saturating_sub(limit));
        prop_assert_eq!(&answer.rest.totals, &[("total_byte".to_owned(), Value::Unsigned(rest))]);
        let expected: Vec<_> = passing.iter().take(limit).map(|group| Value::Address(group.1)).collect();
        prop_assert_eq!(answer.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_heaviest_values_are_those_of_a_sort(rows in rows(), merges: bool, most in 0usize..5) {
        let top = |field: &str, weight| {
            OutputColumn::new(field, Expression::Aggregate(Aggregate::Top(most, GroupField::from_field(field), weight)))
        };
        let items = vec![top("src_addr", ValueWeight::Sum("total_byte".to_owned())), top("dst_port", ValueWeight::Rows)];
        let answer = answer(&query(&["protocol"], items, None), &rows, merges);
        for row in &answer.rows {
            let of_group: Vec<_> =
                rows.iter().filter(|plain| Value::Unsigned(plain.protocol.into()) == row[0]).collect();
            let mut sources: BTreeMap<IpAddr, u64> = BTreeMap::new();
            of_group.iter().for_each(|plain| *sources.entry(plain.src).or_default() += plain.bytes);
            let mut ports: BTreeMap<u16, u64> = BTreeMap::new();
            of_group.iter().for_each(|plain| *ports.entry(plain.ports[1]).or_default() += 1);
            let sources = sources.into_iter().map(|(address, weight)| (Value::Address(address), weight));
            let ports = ports.into_iter().map(|(port, weight)| (Value::from(port), weight));
            for (found, mut expected) in [(&row[1], sources.collect::<Vec<_>>()), (&row[2], ports.collect())] {
                expected.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
                let Value::Heaviest(found) = found else { panic!("{found:?}") };
                let rest: u64 = expected.iter().skip(most).map(|(_, weight)| weight).sum();
                prop_assert_eq!((found.rest_values as usize, found.rest_weight), (expected.len().saturating_sub(most), rest));
                expected.truncate(most);
                // The map is in the order of the values, which is that of equal weights.
                prop_assert_eq!(&found.values, &expected);
            }
        }
    }

    #[test]
    fn plain_fields_are_those_of_each_flow(rows in rows()) {
        let fields = ["src_addr", "dst_port", "total_byte", "first_vlan", "protocol_name", "tcp_flags", "stime", "bytes_per_packet", "node_id"];
        let query = Query { group: Grouping::Flows, ..query(&[], fields.map(OutputColumn::field).to_vec(), None) };
        let answer = answer(&query, &rows, false);
        prop_assert_eq!(answer.rows.len(), rows.len());
        let mut expected: Vec<String> = rows.iter().map(|row| {
            let name = if row.protocol == 6 { "tcp" } else { "udp" };
            let vlan = Value::from(row.vlan);
            format!(
                "{:?}",
                [
                    Value::Address(row.src), row.ports[1].into(), row.bytes.into(), vlan, name.into(),
                    16_u8.into(), Value::Time(5), Value::Float(per_packet_of(row)), "here".into(),
                ]
            )
        }).collect();
        let mut found: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
        // The counter is the order.
        let bytes: Vec<_> = answer.rows.iter().filter_map(|row| row[2].as_unsigned()).collect();
        prop_assert!(bytes.is_sorted_by(|one, other| one >= other));
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn conditions_of_expressions_keep_what_is_true(rows in rows(), ratio in 1i64..400, n in 0u8..6) {
        let field = Expression::field;
        let per_packet = || arithmetic(field("total_byte"), Operator::Divide, field("total_count"));
        let v6 = |length| (IpAddr::from([0x2001, 0xdb8, 0, u16::from(n / 3), 0, 0, 0, 0]), length);
        let v4 = (IpAddr::from([10, 1, n / 3, 0]), 24);
        type Expected = Box<dyn Fn(&Plain) -> bool>;
        let cases: Vec<(Condition, Expected)> = vec![
            (
                Condition::Compare(per_packet(), Comparison::Less, Expression::Integer(ratio)),
                Box::new(move |row| row.bytes < ratio as u64 * row.packets),
            ),
            (
                Condition::Compare(payload(), Comparison::Less, Expression::Integer(-5)),
                Box::new(|row| payload_of(row) < -5.0),
            ),
            // A division by zero is unknown, and so is its opposite.
            (
                Condition::Not(Box::new(Condition::Compare(
                    arithmetic(field("total_byte"), Operator::Divide, field("src_port")),
                    Comparison::Greater,
                    Expression::Float(100.5),
                ))),
                Box::new(|row| row.ports[0] != 0 && row.bytes as f64 / f64::from(row.ports[0]) <= 100.5),
            ),
            (
                Condition::InPrefixes("src_addr".to_owned(), vec![v4, v6(64)]),
                Box::new(move |row| match row.src {
                    IpAddr::V4(v4) => v4.octets()[..3] == [10, 1, n / 3],
                    IpAddr::V6(v6) => v6.segments()[3] == u16::from(n / 3),
                }),
            ),
            (
                Condition::InPrefixes("addr".to_owned(), vec![(IpAddr::from([0u16; 8]), 0)]),
                Box::new(|row| row.src.is_ipv6()),
            ),
            (Condition::Compare(field("src_addr"), Comparison::Equal, field("dst_addr")), Box::new(|row| row.src == row.dst)),
            (
                Condition::Compare(field("src_port"), Comparison::Greater, field("dst_port")),
                Box::new(|row| row.ports[0] > row.ports[1]),
            ),
            (
                Condition::In(field("port"), vec![Expression::Integer(1), Expression::Integer(3)]),
                Box::new(|row| row.ports.iter().any(|port| [1, 3].contains(port))),
            ),
            (
                Condition::Not(Box::new(Condition::In(field("first_vlan"), vec![Expression::Integer(0), Expression::Integer(2)]))),
                Box::new(|row| row.vlan == Some(1)),
            ),
            (Condition::IsNull(field("first_vlan")), Box::new(|row| row.vlan.is_none())),
            (Condition::Not(Box::new(Condition::IsNull(field("first_vlan")))), Box::new(|row| row.vlan.is_some())),
            (
                Condition::Compare(field("protocol_name"), Comparison::NotEqual, Expression::Text("UDP".to_owned())),
                Box::new(|row| row.protocol == 6),
            ),
            (Condition::Like("protocol_name".to_owned(), "%d_".to_owned()), Box::new(|row| row.protocol == 17)),
            (Condition::And(Vec::new()), Box::new(|_| true)),
            (Condition::Or(Vec::new()), Box::new(|_| false)),
        ];
        for (filter, expected) in cases {
            let query = Query { filter: Some(filter), ..query(&["src_addr"], items(), None) };
            let kept: Vec<_> = rows.iter().filter(|row| expected(row)).cloned().collect();
            let answer = answer(&query, &rows, false);
            prop_assert_eq!(shown(&answer, 1), sums(&kept, |row| groups_of(&["src_addr"], row)), "{:?}", query.filter);
        }
    }
}

/// The answer of 5,000 rows of one packet each where memory has no place for their values.
fn without_memory(value: Expression) -> Answer {
    let queries = RowQueries::plan(
        Generation::default(),
        &[query(&[], vec![OutputColumn::new("v", value)], None)],
        &site(64 << 10),
    );
    let queries = queries.expect("a query");
    let mut partials = queries.window();
    partials.add_v4(&queries, &blocks(&many_sources()).0, &mut RowScratch::default());
    partials.window_answers(&queries, SPAN, SPAN, &Unplaced::default()).pop().expect("an answer")
}

#[test]
fn entropies_and_quantiles_beyond_memory_have_bounds_that_hold() {
    let entropy = Aggregate::Entropy(GroupField::from_field("src_addr"), ValueWeight::Rows);
    let quantile = Aggregate::Quantile(Box::new(Expression::field("total_byte")), 0.5);
    for (aggregate, truth) in [(entropy, 5000_f64.log2()), (quantile, 50.0)] {
        let answer = without_memory(Expression::Aggregate(aggregate));
        let Value::Estimate { lower, upper, .. } = answer.rows[0][0] else { panic!("{:?}", answer.rows) };
        assert!(lower <= truth + 1e-9 && truth - 1e-9 <= upper, "{lower} {truth} {upper}");
        assert_eq!(answer.bounds, "certain");
    }
}

#[test]
fn distinct_counts_beyond_the_limit_are_near_the_truth_and_within_bounds() {
    let distinct = OutputColumn::distinct("src_addr", "v").value;
    let queries = RowQueries::plan(
        Generation::default(),
        &[query(&[], vec![OutputColumn::new("v", distinct)], None)],
        &site(1 << 30),
    );
    let queries = queries.expect("a query");
    let mut partials = queries.window();
    let truth = MOST_DISTINCT as u32 + 200_000;
    let sources: Vec<u32> = (0..truth).collect();
    let mut scratch = RowScratch::default();
    // Twice: what had no room the first time has none the second time.
    for sources in sources.chunks(100_000).chain(sources[MOST_DISTINCT..].chunks(100_000)) {
        let rows: Vec<_> = sources.iter().map(|n| one_packet((0x0a00_0000 + n).to_be_bytes())).collect();
        partials.add_v4(&queries, &blocks(&rows).0, &mut scratch);
    }
    let answer =
        partials.window_answers(&queries, SPAN, SPAN, &Unplaced::default()).pop().expect("an answer");
    let Value::Estimate { value, lower, upper } = answer.rows[0][0] else { panic!("{:?}", answer.rows) };
    let truth = f64::from(truth);
    assert!(lower <= truth && truth <= upper && upper == truth + 200_000.0, "{lower} {truth} {upper}");
    // Registers for 200,000 values: an error of 3.3 % of these.
    assert!((value - truth).abs() < 0.2 * 200_000.0, "{value}");
}
