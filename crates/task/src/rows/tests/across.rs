//! Answers of several nodes, merged, against what a plain map makes of all their rows.

use super::*;
use crate::query::{Across, MOST_GROUPS, Operator};

/// What the test knows of a group: packets, bytes, flows, and the least and greatest number of bytes.
type Sums = [u64; 5];

/// The groups of rows by the source's address.
fn sums<'a>(rows: impl IntoIterator<Item = &'a Plain>) -> BTreeMap<IpAddr, Sums> {
    let mut groups: BTreeMap<IpAddr, Sums> = BTreeMap::new();
    for row in rows {
        let group = groups.entry(row.src).or_insert([0, 0, 0, u64::MAX, 0]);
        group[0] += row.packets;
        group[1] += row.bytes;
        group[2] += 1;
        group[3] = group[3].min(row.bytes);
        group[4] = group[4].max(row.bytes);
    }
    groups
}

fn packets() -> Expression {
    Expression::sum("total_count")
}

fn bytes() -> Expression {
    Expression::sum("total_byte")
}

fn of_bytes(of: fn(Box<Expression>) -> Aggregate) -> Expression {
    Expression::Aggregate(of(Expression::field("total_byte").into()))
}

/// Groups by source with everything that merges; `having` and the order use aggregates that no column has.
fn asked(most: u64, limit: Option<usize>) -> Query {
    let ratio = Expression::Arithmetic(bytes().into(), Operator::Divide, packets().into());
    let items = vec![
        OutputColumn::sum("total_count"),
        OutputColumn::new("bytes", bytes()),
        OutputColumn::count("flows"),
        OutputColumn::new("least", of_bytes(Aggregate::Min)),
        OutputColumn::new("greatest", of_bytes(Aggregate::Max)),
        OutputColumn::new("mean", of_bytes(Aggregate::Mean)),
        OutputColumn::new("rate", of_bytes(Aggregate::Rate)),
        OutputColumn::new("each", ratio),
    ];
    let wire = Expression::sum("wire_byte");
    let bound = Expression::Integer(most.cast_signed());
    Query {
        having: Some(Condition::Compare(wire.clone(), Comparison::Less, bound)),
        order: vec![Order::largest(wire)],
        ..query(&["src_addr"], items, limit)
    }
}

fn merging(query: &Query, by: Across) -> Merging {
    Merging::new(query, by, &site(1 << 30)).expect("it can be merged")
}

/// The answers of nodes that have these rows, merged.
fn merged(query: &Query, by: Across, nodes: &[Vec<Plain>]) -> Answer {
    let merging = merging(query, by);
    let answers: Vec<Answer> = nodes.iter().map(|rows| answer(merging.parts(), rows, false)).collect();
    assert!(answers.iter().all(|answer| merging.fits(answer)));
    merging.merge(SPAN, &answers.iter().collect::<Vec<_>>())
}

/// The rows of some nodes: each flow on one of them.
fn on_nodes(rows: &[Plain], nodes: usize) -> Vec<Vec<Plain>> {
    let place = |row: &Plain| (row.packets + row.bytes) as usize % nodes;
    (0..nodes).map(|node| rows.iter().filter(|row| place(row) == node).cloned().collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    /// Disjoint taps together answer as one node that saw all, whatever is asked.
    #[test]
    fn disjoint_taps_are_one_node(
        rows in rows(),
        nodes in 1usize..5,
        most in 0u64..200_000,
        limit in prop::option::of(0usize..9),
    ) {
        let on_nodes = on_nodes(&rows, nodes);
        let of = |sum| vec![OutputColumn::sum(sum), OutputColumn::count("n")];
        let queries = [
            asked(most, limit),
            query(&["src_addr", "protocol"], of("total_byte"), limit),
            query(&["dst_port", "first_vlan"], of("ploss_byte"), limit),
            query(&["addr"], of("total_count"), limit),
            Query { having: None, ..query(&[], asked(most, None).columns.split_off(1), limit) },
        ];
        for query in queries {
            prop_assert_eq!(merged(&query, Across::Sum, &on_nodes), answer(&query, &rows, false));
        }
    }

    /// The same by plain maps: sums over all rows, or of each group the largest of the nodes' values.
    #[test]
    fn groups_are_those_of_a_plain_map(
        all in prop::collection::vec(rows(), 1..5),
        most in 0u64..400_000,
        limit in prop::option::of(0usize..9),
        by in prop::sample::select(vec![Across::Sum, Across::Max]),
    ) {
        let merge = |own: &mut Sums, other: &Sums| {
            for at in 0..3 {
                own[at] = match by {
                    Across::Sum => own[at] + other[at],
                    Across::Max => own[at].max(other[at]),
                };
            }
            own[3] = own[3].min(other[3]);
            own[4] = own[4].max(other[4]);
        };
        let mut wire: BTreeMap<IpAddr, u64> = BTreeMap::new();
        let mut groups: BTreeMap<IpAddr, Sums> = BTreeMap::new();
        for rows in &all {
            for (key, sums) in sums(rows) {
                groups.entry(key).and_modify(|own| merge(own, &sums)).or_insert(sums);
                let own = sums[1] + 14 * sums[0];
                let wire = wire.entry(key).or_default();
                *wire = if by == Across::Sum { *wire + own } else { own.max(*wire) };
            }
        }
        let mut passing: Vec<(&IpAddr, &Sums)> = groups.iter().filter(|(key, _)| wire[*key] < most).collect();
        passing.sort_by_key(|(key, _)| std::cmp::Reverse(wire[*key]));
        let shown = limit.unwrap_or(MOST_GROUPS).min(passing.len());
        let answer = merged(&asked(most, limit), by, &all);
        let rows = passing[..shown].iter().map(|(key, [packets, bytes, flows, least, greatest])| {
            let quotient = |by: u64| Value::Float(*bytes as f64 / by as f64);
            let mut row = vec![Value::Address(**key)];
            row.extend([packets, bytes, flows, least, greatest].map(|number| Value::Unsigned(*number)));
            row.extend([quotient(*flows), Value::Float(*bytes as f64 / SPAN.seconds()), quotient(*packets)]);
            row
        });
        prop_assert_eq!(&answer.rows, &rows.collect::<Vec<_>>());
        prop_assert_eq!(answer.rest.groups as usize, passing.len() - shown);
        for (at, name) in ["total_count", "bytes", "flows"].into_iter().enumerate() {
            let total = passing[shown..].iter().map(|(_, sums)| sums[at]).sum::<u64>();
            prop_assert!(answer.rest.totals.contains(&(name.to_owned(), Value::Unsigned(total))));
        }
        prop_assert_eq!((answer.status, &*answer.bounds), (AnswerStatus::Complete, "exact"));
    }

    /// Where nodes leave groups out, bounds contain the truth.
    #[test]
    fn bounds_contain_what_nodes_leave_out(
        all in prop::collection::vec(rows(), 1..4),
        node_limit in 0usize..6,
        by in prop::sample::select(vec![Across::Sum, Across::Max]),
    ) {
        let items = || vec![OutputColumn::sum("total_count"), OutputColumn::new("least", of_bytes(Aggregate::Min))];
        let query = query(&["src_addr"], items(), Some(3));
        let merging = merging(&query, by);
        let parts = Query { limit: Some(node_limit), ..merging.parts().clone() };
        let answers: Vec<Answer> = all.iter().map(|rows| answer(&parts, rows, false)).collect();
        let answer = merging.merge(SPAN, &answers.iter().collect::<Vec<_>>());
        let mut truth: BTreeMap<IpAddr, (u64, u64)> = BTreeMap::new();
        for (key, [packets, _, _, least, _]) in all.iter().flat_map(sums) {
            let own = truth.entry(key).or_insert((0, u64::MAX));
            own.0 = if by == Across::Sum { own.0 + packets } else { own.0.max(packets) };
            own.1 = own.1.min(least);
        }
        let is_within = |value: &Value, truth: u64| match value {
            Value::Unsigned(number) => *number == truth,
            Value::Estimate { value, lower, upper } => {
                lower <= value && value <= upper && *lower <= truth as f64 && truth as f64 <= *upper
            }
            _ => false,
        };
        let mut rest = truth.clone();
        for row in &answer.rows {
            let Value::Address(key) = row[0] else { panic!("no key") };
            let (packets, least) = rest.remove(&key).expect("a group");
            prop_assert!(is_within(&row[1], packets) && is_within(&row[2], least), "{row:?} {packets} {least}");
        }
        let packets: u64 = rest.values().map(|(packets, _)| packets).sum();
        prop_assert!(is_within(&answer.rest.totals[0].1, packets), "{:?} {packets}", answer.rest);
        prop_assert_eq!(answer.rest.groups == 0, rest.is_empty() && answers.iter().all(|one| one.rest.groups == 0));
        let left_out = answers.iter().any(|answer| answer.rest.groups != 0);
        prop_assert_eq!(&*answer.bounds, if left_out { "certain" } else { "exact" });
    }
}

#[test]
fn what_does_not_follow_from_the_nodes_is_refused_by_name() {
    let field = || Expression::field("total_byte").into();
    let refused = |group: &[&str], aggregate| {
        let query = query(group, vec![OutputColumn::new("x", Expression::Aggregate(aggregate))], None);
        Merging::new(&query, Across::Sum, &site(1 << 30)).expect_err("refused").join("; ")
    };
    for (aggregate, name) in [
        (Aggregate::CountDistinct(GroupField::from_field("src_addr")), "count(distinct src_addr)"),
        (Aggregate::Quantile(field(), 0.5), "quantile(total_byte, 0.5)"),
        (Aggregate::Deviation(field()), "stddev(total_byte)"),
        (
            Aggregate::Entropy(GroupField::from_field("dst_port"), crate::query::ValueWeight::Rows),
            "entropy(dst_port)",
        ),
        (
            Aggregate::Top(3, GroupField::from_field("dst_port"), crate::query::ValueWeight::Rows),
            "top(3, dst_port)",
        ),
        (Aggregate::MeanRoundTrip, "avg(rtt_avg)"),
    ] {
        let reason = refused(&["dst_addr"], aggregate);
        assert_eq!(reason, format!("{name} of all nodes does not follow from that of each"));
    }
    assert_eq!(refused(&["node_id"], Aggregate::Count), "node_id is that of one node");
    let flows = Query { group: Grouping::Flows, ..query(&[], vec![OutputColumn::field("src_addr")], None) };
    let refused = Merging::new(&flows, Across::Max, &site(1 << 30)).expect_err("refused");
    assert_eq!(refused, ["flows are those of each node; group by fields"]);
}

#[test]
fn what_nodes_lack_the_answer_lacks() {
    let row = |packets, bytes| Plain {
        src: IpAddr::from([10, 0, 0, 1]),
        dst: IpAddr::from([10, 0, 0, 2]),
        ports: [1, 2],
        protocol: 6,
        packets,
        bytes,
        vlan: None,
        rtt: None,
        lost: 0,
    };
    let items = vec![OutputColumn::sum("total_byte"), OutputColumn::new("rate", of_bytes(Aggregate::Rate))];
    let query = query(&["src_addr"], items, None);
    let merging = merging(&query, Across::Sum);
    let mut answers = [[row(1, 100)], [row(2, 300)]].map(|rows| answer(merging.parts(), &rows, false));
    let names = ["A", "B"];
    answers.iter_mut().zip(names).for_each(|(answer, name)| answer.node = Some(name.to_owned()));
    // Each rate is over the time that the node watched.
    let watched = Span { start_ns: 5, end_ns: 10 };
    (answers[0].status, answers[0].watched) = (AnswerStatus::Cut, Some(watched));
    let merge = |answers: &[Answer]| merging.merge(SPAN, &answers.iter().collect::<Vec<_>>());
    let cut = merge(&answers);
    assert_eq!((cut.status, cut.watched, cut.reason), (AnswerStatus::Cut, Some(watched), None));
    let row =
        |rate| vec![Value::Address(IpAddr::from([10, 0, 0, 1])), Value::Unsigned(400), Value::Float(rate)];
    assert_eq!(cut.rows, [row(100.0 / 5e-9 + 300.0 / 10e-9)]);
    answers[1].mark_partial("7 rows found no memory");
    let partial = merge(&answers);
    assert_eq!(partial.status, AnswerStatus::Partial);
    assert_eq!(partial.reason.as_deref(), Some("B: 7 rows found no memory"));
    assert_eq!((partial.bounds.as_str(), partial.node), ("none", None));
    // No node had packets.
    assert_eq!(merge(&[]).rows, Vec::<Vec<Value>>::new());
}
