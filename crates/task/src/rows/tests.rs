//! Queries against sums that the tests make of the rows with their own `BTreeMap`s.

mod across;
mod aggregates;
mod count_if;
mod geomean;
mod long_windows;
mod places;

use super::*;
use crate::Generation;
use crate::query::{
    Aggregate, Comparison, Condition, Expression, GroupField, Grouping, Order, OutputColumn, Over, Query,
};
use arena::Limits;
use flow::{FlowKey, LossCounts, Rows, WindowRow};
use model::{Answer, AnswerStatus, Span, Value};
use packet::{KeySpec, KeyV4, KeyV6, Seed};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A row as the test knows it.
#[derive(Clone, Debug)]
struct Plain {
    src: IpAddr,
    dst: IpAddr,
    ports: [u16; 2],
    protocol: u8,
    packets: u64,
    bytes: u64,
    vlan: Option<u16>,
    rtt: Option<(u64, u32)>,
    lost: u64,
}

impl Plain {
    fn key(&self) -> FlowKey {
        FlowKey::five_tuple((self.src, self.ports[0]), (self.dst, self.ports[1]), self.protocol)
    }

    fn row<K>(&self, key: K) -> (WindowRow<K>, LossCounts) {
        let row = WindowRow {
            packets: self.packets,
            bytes: self.bytes,
            wire_bytes: self.bytes + 14 * self.packets,
            tcp_seq: 1,
            tcp_ack: 2,
            tcp_win: 3,
            vlan: self.vlan.unwrap_or(u16::MAX),
            tcp_flags: 16,
            ip_ttl: 64,
            ..WindowRow::without_packets(key, 5, 9)
        };
        let mut loss = LossCounts { ploss_byte: self.lost, ..LossCounts::default() };
        if let Some((sum, count)) = self.rtt {
            loss.add_rtt(count, sum / u64::from(count), sum);
        }
        (row, loss)
    }
}

fn rows() -> impl Strategy<Value = Vec<Plain>> {
    let address = (any::<bool>(), 0u8..6).prop_map(|(is_v4, n)| match is_v4 {
        true => IpAddr::from([10, 1, n / 3, n]),
        false => IpAddr::from([0x2001, 0xdb8, 0, u16::from(n / 3), 0, 0, 0, u16::from(n)]),
    });
    let addresses = (address.clone(), address)
        .prop_map(|(src, dst)| if src.is_ipv4() == dst.is_ipv4() { (src, dst) } else { (src, src) });
    let row = (
        addresses,
        [0u16..4, 0u16..4],
        prop::sample::select(vec![6u8, 17]),
        (1u64..50, 40u64..9000),
        prop::option::of(0u16..3),
        prop::option::of((1u64..1000, 1u32..4)),
        0u64..100,
    );
    let row = row.prop_map(|((src, dst), ports, protocol, (packets, bytes), vlan, rtt, lost)| Plain {
        src,
        dst,
        ports,
        protocol,
        packets,
        bytes,
        vlan,
        rtt,
        lost,
    });
    // One row for each key.
    prop::collection::vec(row, 0..400).prop_map(|rows| {
        let mut keys = BTreeSet::new();
        rows.into_iter().filter(|row| keys.insert(row.key())).collect()
    })
}

/// Rows in blocks of either family.
fn blocks(rows: &[Plain]) -> (Rows<KeyV4>, Rows<KeyV6>) {
    let (mut v4, mut v6) = (Rows::default(), Rows::default());
    for plain in rows {
        let ports = [plain.ports[0].to_be_bytes(), plain.ports[1].to_be_bytes()].concat();
        let ports = std::array::from_fn(|at| ports[at]);
        match (plain.src, plain.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let both = [src.octets(), dst.octets()].concat();
                let (row, loss) =
                    plain.row(KeyV4::new(std::array::from_fn(|at| both[at]), ports, plain.protocol));
                v4.rows.push(row);
                v4.losses.push(loss);
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let (row, loss) = plain.row(KeyV6::new(&src.octets(), &dst.octets(), ports, plain.protocol));
                v6.rows.push(row);
                v6.losses.push(loss);
            }
            _ => unreachable!("one family"),
        }
    }
    (v4, v6)
}

fn site(memory: usize) -> PlanContext {
    PlanContext {
        node: "here".to_owned(),
        window_ns: Some(10),
        tracked: flow::TrackedParts::ALL,
        ..PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(7), Limits::new(memory, usize::MAX))
    }
}

const SPAN: Span = Span { start_ns: 0, end_ns: 10 };

fn query(group: &[&str], items: Vec<OutputColumn>, limit: Option<usize>) -> Query {
    Query { limit, ..Query::new("q", group.iter().copied().map(GroupField::from_field), items) }
}

/// The answer of a window whose rows arrive in two blocks of each family, as one or as two that merge.
fn answer(query: &Query, rows: &[Plain], merges: bool) -> Answer {
    let queries = RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site(1 << 30))
        .expect("a query");
    let mut scratch = RowScratch::default();
    let mut partials = queries.window();
    let (first, second) = rows.split_at(rows.len() / 2);
    let mut add = |partials: &mut RowPartials, rows: &[Plain]| {
        let (v4, v6) = blocks(rows);
        partials.add_v4(&queries, &v4, &mut scratch);
        partials.add_v6(&queries, &v6, &mut scratch);
    };
    add(&mut partials, first);
    if merges {
        let mut other = queries.window();
        add(&mut other, second);
        partials.merge(&queries, &other).expect("one generation");
    } else {
        add(&mut partials, second);
    }
    partials.window_answers(&queries, SPAN, SPAN, &Unplaced::default()).pop().expect("an answer")
}

type Groups = BTreeMap<Vec<String>, [u64; 3]>;

/// Packets, bytes and rows by group.
fn sums(rows: &[Plain], groups: impl Fn(&Plain) -> BTreeSet<Vec<String>>) -> Groups {
    let mut sums = Groups::new();
    for row in rows {
        for group in groups(row) {
            let sum = sums.entry(group).or_default();
            *sum = [sum[0] + row.packets, sum[1] + row.bytes, sum[2] + 1];
        }
    }
    sums
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Unsigned(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Conversation(conversation) => conversation.to_string(),
        Value::Address(address) => address.to_string(),
        Value::Prefix { address, length } => format!("{address}/{length}"),
        other => format!("{other:?}"),
    }
}

fn shown(answer: &Answer, group: usize) -> Groups {
    let row = |row: &Vec<Value>| {
        let key = row[..group].iter().map(text).collect();
        let numbers: Vec<u64> = row[group..].iter().filter_map(Value::as_unsigned).collect();
        (key, [numbers[0], numbers[1], numbers[2]])
    };
    let shown: Groups = answer.rows.iter().map(row).collect();
    assert_eq!(shown.len(), answer.rows.len(), "a group stands in one row");
    shown
}

/// An aggregate of a field.
fn of(aggregate: fn(Box<Expression>) -> Aggregate, field: &str) -> Expression {
    Expression::Aggregate(aggregate(Box::new(Expression::field(field))))
}

fn items() -> Vec<OutputColumn> {
    let sum = |field: &str, name: &str| OutputColumn::new(name, Expression::sum(field));
    vec![sum("total_count", "packets"), sum("total_byte", "bytes"), OutputColumn::count("flows")]
}

/// The groups of a row, by the texts of their values.
fn groups_of(fields: &[&str], row: &Plain) -> BTreeSet<Vec<String>> {
    let side = |address: IpAddr, port: u16| {
        let value = |field: &&str| match *field {
            "src_addr" => row.src.to_string(),
            "dst_addr" => row.dst.to_string(),
            "src_port" => row.ports[0].to_string(),
            "dst_port" => row.ports[1].to_string(),
            "protocol" => row.protocol.to_string(),
            "first_vlan" => row.vlan.map_or("null".to_owned(), |vlan| vlan.to_string()),
            "total_count" => row.packets.to_string(),
            "addr" => address.to_string(),
            "port" => port.to_string(),
            other => unreachable!("{other}"),
        };
        fields.iter().map(value).collect::<Vec<_>>()
    };
    BTreeSet::from([side(row.src, row.ports[0]), side(row.dst, row.ports[1])])
}

const GROUPINGS: &[&[&str]] = &[
    &["src_addr"],
    &["dst_addr", "dst_port"],
    &["dst_port"],
    &["protocol", "first_vlan"],
    &["first_vlan"],
    &["first_vlan", "src_addr", "total_count"],
    &["addr"],
    &["addr", "protocol"],
    &["port"],
    &["addr", "port", "first_vlan"],
    &["src_addr", "dst_addr", "protocol", "src_port", "dst_port"],
    &["dst_port", "src_port", "protocol", "dst_addr", "src_addr"],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(48), ..ProptestConfig::default() })]

    #[test]
    fn groups_have_the_sums_of_a_map(rows in rows(), merges: bool) {
        for fields in GROUPINGS {
            let answer = answer(&query(fields, items(), None), &rows, merges);
            let expected = sums(&rows, |row| groups_of(fields, row));
            prop_assert_eq!(&shown(&answer, fields.len()), &expected, "{:?}", fields);
            prop_assert_eq!((answer.status, answer.rest.groups), (AnswerStatus::Complete, 0));
        }
        let all = answer(&query(&[], items(), None), &rows, merges);
        let expected = sums(&rows, |_| BTreeSet::from([Vec::new()]));
        prop_assert_eq!(shown(&all, 0).pop_first().map(|(_, sums)| sums), Some(expected.into_values().next().unwrap_or_default()));
    }

    #[test]
    fn the_first_are_those_of_a_sort_and_the_rest_is_exact(
        rows in rows(),
        merges: bool,
        limit in 0usize..20,
        at in 0..GROUPINGS.len(),
    ) {
        let fields = GROUPINGS[at];
        let mut query = query(fields, items(), Some(limit));
        query.order = vec![Order::largest(Expression::sum("total_byte"))];
        let answer = answer(&query, &rows, merges);
        let all = sums(&rows, |row| groups_of(fields, row));
        let mut sorted: Vec<_> = all.values().map(|sums| sums[1]).collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted.truncate(limit);
        let found: Vec<_> = answer.rows.iter().filter_map(|row| row[fields.len() + 1].as_unsigned()).collect();
        prop_assert_eq!(&found, &sorted);
        let first = shown(&answer, fields.len());
        prop_assert!(first.iter().all(|(key, sums)| all[key] == *sums));
        let rest: Vec<_> = (0..3)
            .map(|at| all.values().map(|sums| sums[at]).sum::<u64>() - first.values().map(|sums| sums[at]).sum::<u64>())
            .collect();
        let shown: Vec<_> = answer.rest.totals.iter().filter_map(|(_, total)| total.as_unsigned()).collect();
        prop_assert_eq!(answer.rest.groups as usize, all.len() - first.len());
        prop_assert_eq!(shown, rest);
        // Whatever the order of rows.
        let mut reversed = rows.clone();
        reversed.reverse();
        prop_assert_eq!(self::answer(&query, &reversed, merges).rows, answer.rows);
    }

    #[test]
    fn distinct_values_and_losses_are_those_of_sets(rows in rows(), merges: bool) {
        let items = vec![
            OutputColumn::distinct("src_addr", "sources"),
            OutputColumn::distinct("dst_port", "ports"),
            OutputColumn::distinct("first_vlan", "vlans"),
            OutputColumn::sum("ploss_byte"),
            OutputColumn::new("rtt_min", of(Aggregate::Min, "rtt_min")),
            OutputColumn::new("rtt_avg", Expression::Aggregate(Aggregate::MeanRoundTrip)),
        ];
        let answer = answer(&query(&["dst_addr"], items, None), &rows, merges);
        let targets: BTreeSet<_> = rows.iter().map(|row| row.dst).collect();
        prop_assert_eq!(answer.rows.len(), targets.len());
        for row in &answer.rows {
            let of_target: Vec<_> = rows.iter().filter(|plain| Value::Address(plain.dst) == row[0]).collect();
            let count = |value: &dyn Fn(&Plain) -> Option<String>| {
                Value::Unsigned(of_target.iter().filter_map(|plain| value(plain)).collect::<BTreeSet<_>>().len() as u64)
            };
            // Other flows have no losses.
            let tcp = || of_target.iter().filter(|plain| plain.protocol == 6);
            prop_assert_eq!(&row[1], &count(&|plain| Some(plain.src.to_string())));
            prop_assert_eq!(&row[2], &count(&|plain| Some(plain.ports[1].to_string())));
            prop_assert_eq!(&row[3], &count(&|plain| plain.vlan.map(|vlan| vlan.to_string())));
            prop_assert_eq!(&row[4], &Value::Unsigned(tcp().map(|plain| plain.lost).sum()));
            let trips: Vec<_> = tcp().filter_map(|plain| plain.rtt).collect();
            prop_assert_eq!(&row[5], &trips.iter().map(|(sum, count)| sum / u64::from(*count)).min().into());
            let (sum, number) =
                trips.iter().fold((0, 0), |(sum, number), (s, n)| (sum + s, number + u64::from(*n)));
            prop_assert_eq!(&row[6], &u64::checked_div(sum, number).into());
        }
    }

    #[test]
    fn filters_keep_what_is_true(rows in rows(), limit in 1u64..40, port in 0u64..4, n in 0u8..6) {
        let compare = |field: &str, comparison, value: u64| Condition::compare(field, comparison, value as i64);
        let within = |field: &str, address, length| Condition::InPrefixes(field.to_owned(), vec![(address, length)]);
        let network = IpAddr::from([10, 1, n / 3, 0]);
        let in_network = |address: IpAddr| matches!(address, IpAddr::V4(v4) if v4.octets()[..3] == [10, 1, n / 3]);
        let host = IpAddr::from([0x2001, 0xdb8, 0, u16::from(n / 3), 0, 0, 0, u16::from(n)]);
        /// Whether a row is to be kept.
        type Expected<'a> = Box<dyn Fn(&Plain) -> bool + 'a>;
        let cases: Vec<(Condition, Expected<'_>)> = vec![
            (compare("total_count", Comparison::Greater, limit), Box::new(|row| row.packets > limit)),
            (within("src_addr", network, 24), Box::new(|row| in_network(row.src))),
            (Condition::Not(Box::new(within("addr", network, 24))), Box::new(|row| !in_network(row.src) && !in_network(row.dst))),
            (within("addr", host, 128), Box::new(|row| row.src == host || row.dst == host)),
            (compare("port", Comparison::Equal, port), Box::new(|row| row.ports.contains(&(port as u16)))),
            // Null is neither equal nor different.
            (compare("first_vlan", Comparison::NotEqual, 1), Box::new(|row| row.vlan.is_some_and(|vlan| vlan != 1))),
            (
                Condition::Not(Box::new(compare("first_vlan", Comparison::Equal, 1))),
                Box::new(|row| row.vlan.is_some_and(|vlan| vlan != 1)),
            ),
            (
                Condition::Or(vec![
                    compare("first_vlan", Comparison::Less, 1),
                    Condition::And(vec![
                        compare("protocol", Comparison::Equal, 6),
                        compare("dst_port", Comparison::LessOrEqual, port),
                    ]),
                ]),
                Box::new(|row| row.vlan == Some(0) || row.protocol == 6 && u64::from(row.ports[1]) <= port),
            ),
        ];
        for (filter, expected) in cases {
            let query = Query { filter: Some(filter), ..query(&["src_addr"], items(), None) };
            let kept: Vec<_> = rows.iter().filter(|row| expected(row)).cloned().collect();
            let answer = answer(&query, &rows, false);
            prop_assert_eq!(shown(&answer, 1), sums(&kept, |row| groups_of(&["src_addr"], row)), "{:?}", query.filter);
        }
    }

    #[test]
    fn flows_are_merged_over_windows(windows in prop::collection::vec(rows(), 1..4)) {
        let run = |group: &[&str]| Query { over: Over::Run, ..query(group, items(), None) };
        let names: [&[&str]; 7] = [
            &["src_addr", "dst_addr", "protocol", "src_port", "dst_port"],
            &["addr"],
            &[],
            &["addr", "protocol"],
            &["src_addr"],
            &["dst_addr", "dst_port"],
            &["protocol", "port"],
        ];
        let mut queries: Vec<_> = names.iter().map(|group| run(group)).collect();
        // Of many groups the first by distinct values, then by flows.
        let order = ["destinations", "flows"].map(|name| match name {
            "flows" => Order::largest(OutputColumn::count(name).value),
            name => Order::largest(OutputColumn::distinct("dst_addr", name).value),
        });
        let items = vec![OutputColumn::distinct("dst_addr", "destinations"), OutputColumn::count("flows")];
        queries.push(Query { order: order.to_vec(), over: Over::Run, ..query(&["src_addr"], items, Some(3)) });
        let planned = RowQueries::plan(Generation::default(), &queries, &site(1 << 30)).expect("queries");
        let mut merged = planned.run().expect("queries over the run");
        let mut flows: BTreeMap<FlowKey, Plain> = BTreeMap::new();
        for row in windows.iter().flatten() {
            let flow = flows.entry(row.key()).or_insert(Plain { packets: 0, bytes: 0, ..row.clone() });
            (flow.packets, flow.bytes) = (flow.packets + row.packets, flow.bytes + row.bytes);
        }
        // The last rows of their keys take another path where each has exactly one.
        let (last, earlier) = windows.split_last().expect("a window");
        for rows in earlier {
            let (v4, v6) = blocks(rows);
            merged.add_v4(&v4);
            merged.add_v6(&v6);
        }
        let mut own: BTreeMap<FlowKey, Plain> = BTreeMap::new();
        for row in last {
            let flow = own.entry(row.key()).or_insert(Plain { packets: 0, bytes: 0, ..row.clone() });
            (flow.packets, flow.bytes) = (flow.packets + row.packets, flow.bytes + row.bytes);
        }
        let (v4, v6) = blocks(&own.into_values().collect::<Vec<_>>());
        merged.add_last_v4(&planned, &v4);
        merged.add_last_v6(&planned, &v6);
        let flows: Vec<_> = flows.into_values().collect();
        let outside = Unplaced { packets: 3, bytes: 5, wire_bytes: 7, keyless: 0 };
        let answers = planned.run_answers(merged, None, &outside);
        let mut scanners: BTreeMap<IpAddr, (BTreeSet<IpAddr>, u64)> = BTreeMap::new();
        for flow in &flows {
            let (destinations, count) = scanners.entry(flow.src).or_default();
            destinations.insert(flow.dst);
            *count += 1;
        }
        let mut ranked: Vec<_> = scanners.values().map(|(all, flows)| (all.len() as u64, *flows)).collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        ranked.truncate(3);
        let row = |row: &Vec<Value>| (row[1].as_unsigned().expect("exact"), row[2].as_unsigned().expect("exact"));
        prop_assert_eq!(answers[7].rows.iter().map(row).collect::<Vec<_>>(), &ranked[..]);
        // The packets without a place may be of others.
        let others = (scanners.len() - ranked.len()).max(1);
        prop_assert_eq!((answers[7].rest.groups as usize, answers[7].rest.is_open), (others, true));
        for (answer, group) in answers.iter().zip(names) {
            let expected = match group {
                [] => {
                    let mut sums = sums(&flows, |_| BTreeSet::from([Vec::new()]));
                    let sum = sums.entry(Vec::new()).or_default();
                    (sum[0], sum[1]) = (sum[0] + 3, sum[1] + 5);
                    sums
                }
                group => sums(&flows, |row| groups_of(group, row)),
            };
            prop_assert_eq!(shown(answer, group.len()), expected);
            if !group.is_empty() {
                prop_assert_eq!(
                    &answer.rest.totals[..2],
                    &[("packets".to_owned(), Value::Unsigned(3)), ("bytes".to_owned(), Value::Unsigned(5))]
                );
            }
        }
    }
}

#[test]
fn conversations_have_no_direction() {
    let row = |src: [u8; 4], dst: [u8; 4], ports: [u16; 2]| Plain {
        src: src.into(),
        dst: dst.into(),
        ports,
        protocol: 6,
        packets: 2,
        bytes: 100,
        vlan: None,
        rtt: None,
        lost: 0,
    };
    let rows = [
        row([10, 0, 0, 2], [10, 0, 0, 1], [5000, 443]),
        row([10, 0, 0, 1], [10, 0, 0, 2], [443, 5000]),
        row([10, 0, 0, 1], [10, 0, 0, 2], [444, 5000]),
    ];
    let answer = answer(&query(&["conversation"], items(), None), &rows, false);
    let expected = [
        ("10.0.0.1:443 <-> 10.0.0.2:5000 tcp", [4, 200, 2]),
        ("10.0.0.1:444 <-> 10.0.0.2:5000 tcp", [2, 100, 1]),
    ];
    let expected = expected.into_iter().map(|(text, sums)| (vec![text.to_owned()], sums)).collect();
    assert_eq!(shown(&answer, 1), expected);
}

#[test]
fn prefixes_print_as_prefixes() {
    let rows: Vec<_> = (0..3).map(|n| one_packet([10, 1, n / 2, n])).collect();
    let mut query = query(&["src_addr"], items(), None);
    query.group = Grouping::By(vec![GroupField { field: "src_addr".to_owned(), prefix: Some([24, 64]) }]);
    let answer = answer(&query, &rows, false);
    let expected = [("10.1.0.0/24", [2, 100, 2]), ("10.1.1.0/24", [1, 50, 1])];
    assert_eq!(
        shown(&answer, 1),
        expected.into_iter().map(|(text, sums)| (vec![text.to_owned()], sums)).collect()
    );
}

#[test]
fn generations_do_not_merge() {
    let query = query(&["src_addr"], items(), None);
    let plan = |number| {
        RowQueries::plan(Generation::new(number), std::slice::from_ref(&query), &site(1 << 30))
            .expect("a query")
    };
    let (one, two) = (plan(1), plan(2));
    let mut partials = one.window();
    let refused = partials.merge(&one, &two.window()).expect_err("another generation");
    assert_eq!((refused.ours, refused.theirs), (Generation::new(1), Generation::new(2)));
    assert!(partials.merge(&one, &one.window()).is_ok());
}

/// A row of one packet from this source.
fn one_packet(src: [u8; 4]) -> Plain {
    Plain {
        src: src.into(),
        dst: IpAddr::from([10, 9, 9, 9]),
        ports: [1, 2],
        protocol: 17,
        packets: 1,
        bytes: 50,
        vlan: None,
        rtt: None,
        lost: 0,
    }
}

/// 5,000 rows of one packet each, each of a different source.
fn many_sources() -> Vec<Plain> {
    (0..5000_u32).map(|n| one_packet((0x0a00_0000 + n).to_be_bytes())).collect()
}

#[test]
fn without_memory_rows_are_counted_and_the_answer_is_partial() {
    let rows = many_sources();
    let query = query(&["src_addr"], items(), None);
    let site = site(64 << 10);
    let queries = RowQueries::plan(Generation::default(), &[query], &site).expect("a query");
    let mut partials = queries.window();
    partials.add_v4(&queries, &blocks(&rows).0, &mut RowScratch::default());
    let answer =
        partials.window_answers(&queries, SPAN, SPAN, &Unplaced::default()).pop().expect("an answer");
    let placed = answer.rows.len() as u64;
    assert!(placed > 0 && placed < 5000);
    assert_eq!(answer.status, AnswerStatus::Partial);
    assert_eq!(
        answer.reason,
        Some(format!(
            "memory ran out: {} rows, or groups of another core's rows, are in no group",
            5000 - placed
        ))
    );
    // All the same, the totals are whole.
    assert_eq!(
        answer.rest.totals,
        [
            ("packets".to_owned(), Value::Unsigned(5000 - placed)),
            ("bytes".to_owned(), Value::Unsigned(50 * (5000 - placed))),
            ("flows".to_owned(), Value::Unsigned(5000 - placed))
        ]
    );
    // The number of groups that the other rows are of is not known.
    assert!(answer.rest.is_open);
    assert_eq!(site.limits.bytes_used(), 0);
}

#[test]
fn distinct_counts_beyond_memory_have_bounds() {
    let rows = many_sources();
    let query = query(&[], vec![OutputColumn::distinct("src_addr", "sources")], None);
    let queries = RowQueries::plan(Generation::default(), &[query], &site(64 << 10)).expect("a query");
    let mut partials = queries.window();
    partials.add_v4(&queries, &blocks(&rows).0, &mut RowScratch::default());
    let answer =
        partials.window_answers(&queries, SPAN, SPAN, &Unplaced::default()).pop().expect("an answer");
    let Value::Estimate { lower, upper, .. } = answer.rows[0][0] else { panic!("{:?}", answer.rows) };
    assert!(lower < 5000.0 && upper == 5000.0, "{lower} {upper}");
    assert_eq!(answer.bounds, "certain");
}

#[test]
fn refusals_name_all_that_is_wrong() {
    let mut wrong = query(
        &["source", "addr", "src_addr", "end_reason"],
        vec![
            OutputColumn::sum("smac"),
            OutputColumn::sum("nothing"),
            OutputColumn::count("flows"),
            OutputColumn::distinct("first_vlan", "flows"),
        ],
        None,
    );
    wrong.order = vec![Order::largest(Expression::field("dst_port"))];
    wrong.filter = Some(Condition::compare("src_addr", Comparison::Less, 1));
    let refusals =
        RowQueries::plan(Generation::default(), &[wrong], &site(1 << 20)).expect_err("much is wrong");
    let texts: Vec<_> = refusals.iter().map(|(_, refusal)| refusal.to_string()).collect();
    for part in [
        "src_addr cannot",
        "addr and src_addr",
        "smac cannot",
        "no field nothing",
        "dst_port is neither",
        "named flows",
    ] {
        assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
    }
    assert!(texts.iter().all(|text| !text.contains("--") && !text.contains('\n')));
    let without_loss = PlanContext { tracked: flow::TrackedParts::PLAIN, ..site(1 << 20) };
    let loss = query(&[], vec![OutputColumn::sum("ploss_byte")], None);
    let refusals = RowQueries::plan(Generation::default(), &[loss], &without_loss).expect_err("no losses");
    assert_eq!(refusals[0].1, Refusal::NeedsLoss { field: "ploss_byte".to_owned() });
}

#[test]
fn packets_without_a_place_are_in_sums_over_all_and_in_no_filtered_ones() {
    let outside = Unplaced { packets: 3, bytes: 5, wire_bytes: 7, keyless: 0 };
    let sums = query(&[], vec![OutputColumn::sum("total_count"), OutputColumn::sum("wire_byte")], None);
    let filter = Condition::compare("protocol", Comparison::Equal, 6);
    let filtered = Query { filter: Some(filter), ..sums.clone() };
    let by_port = query(&["dst_port"], vec![OutputColumn::sum("total_count")], None);
    let queries = RowQueries::plan(Generation::default(), &[sums, filtered, by_port], &site(1 << 30));
    let queries = queries.expect("good queries");
    let answers = queries.window().window_answers(&queries, SPAN, SPAN, &outside);
    let [sums, filtered, by_port] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((sums.status, &sums.rows[0][..]), (AnswerStatus::Complete, &[3, 7].map(Value::Unsigned)[..]));
    // Whether they are of the filter's protocol is not known.
    assert_eq!(
        (filtered.status, &filtered.rows[0][..]),
        (AnswerStatus::Partial, &[0, 0].map(Value::Unsigned)[..])
    );
    assert_eq!((by_port.status, &by_port.rest.totals[0].1), (AnswerStatus::Partial, &Value::Unsigned(3)));
    // The number of groups that these packets are of is not known.
    assert_eq!([&sums.rest, &filtered.rest, &by_port.rest].map(|rest| rest.is_open), [false, false, true]);
    let reason = Some("3 packets had no place in the table: they are in no group".to_owned());
    assert_eq!([&filtered.reason, &by_port.reason], [&reason, &reason]);
}
