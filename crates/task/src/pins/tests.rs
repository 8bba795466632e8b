use super::*;
use crate::query::{GroupField, OutputColumn};
use crate::rows::ZoomOffer;
use crate::{Generation, TaskSet};
use arena::Limits;
use model::{Class, Span};
use packet::{KeySpec, KeyV4, Seed};
use std::net::IpAddr;

fn site() -> PlanContext {
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 24, 1_000));
    PlanContext { tracked_flows: ZoomOffer::Offered, window_ns: Some(1), ..site }
}

fn net(text: &str) -> Network {
    let (address, length) = text.split_once('/').expect("a prefix");
    (address.parse::<IpAddr>().expect("an address"), length.parse().expect("a length"))
}

fn within(field: &str, networks: &[&str]) -> Condition {
    Condition::InPrefixes(field.to_owned(), networks.iter().map(|text| net(text)).collect())
}

fn equal(field: &str, value: i64) -> Condition {
    Condition::compare(field, Comparison::Equal, value)
}

fn one_of(field: &str, values: impl IntoIterator<Item = i64>) -> Condition {
    Condition::In(Expression::field(field), values.into_iter().map(Expression::Integer).collect())
}

fn query(name: &str, filter: Option<Condition>) -> Query {
    Query {
        filter,
        ..Query::new(name, [GroupField::from_field("dst_addr")], [OutputColumn::sum("ploss_byte")])
    }
}

#[test]
fn members_that_constants_name_are_pinned() {
    let flow = Condition::And(vec![
        within("src_addr", &["10.0.0.1/32"]),
        within("dst_addr", &["10.0.0.2/32"]),
        equal("src_port", 22),
        equal("dst_port", 33),
        equal("protocol", 6),
    ]);
    let networks = [Some(net("10.0.0.1/32")), Some(net("10.0.0.2/32"))];
    let pin = Pin { networks, ports: [Some(22), Some(33)], protocol: Some(6) };
    assert_eq!(pins_of(&flow), Some(vec![pin]));
    let either = pins_of(&within("addr", &["10.0.0.0/8", "2001:db8::/32"])).expect("pins");
    assert_eq!(either.len(), 4);
    // Other conditions let fewer flows through.
    let more =
        Condition::And(vec![flow.clone(), Condition::compare("total_byte", Comparison::Greater, 1000)]);
    assert_eq!(pins_of(&more), Some(vec![pin]));
    // A firing of several keys.
    let other = Condition::And(vec![within("src_addr", &["10.0.0.9/32"]), equal("dst_port", 443)]);
    let of_both = Condition::And(vec![equal("protocol", 6), Condition::Or(vec![flow, other])]);
    assert_eq!(pins_of(&of_both).map(|pins| pins.len()), Some(2));
    assert_eq!(pins_of(&one_of("port", [80, 443])).map(|pins| pins.len()), Some(4));
    // No packet has it: nothing is pinned, and nothing else is needed.
    assert_eq!(pins_of(&equal("dst_port", 70_000)), Some(Vec::new()));
}

#[test]
fn what_does_not_single_out_flows_pins_nothing() {
    let not = Condition::Not(Box::new(equal("dst_port", 443)));
    let or =
        Condition::Or(vec![equal("dst_port", 443), Condition::compare("total_byte", Comparison::Equal, 1)]);
    let less = Condition::compare("dst_port", Comparison::Less, 1024);
    let nulls = Condition::IsNull(Expression::field("first_vlan"));
    let everything = within("dst_addr", &["0.0.0.0/0"]);
    for filter in [not, or, less, nulls, everything, equal("protocol", 6), Condition::And(Vec::new())] {
        assert_eq!(pins_of(&filter), None, "{filter:?}");
        let refused = TaskSet::plan(Generation::new(1), &[query("q", Some(filter))], None, &site());
        let refused = refused.expect_err("it pins nothing");
        let field = "ploss_byte".to_owned();
        assert_eq!(refused, [("q".to_owned(), Refusal::NeedsPins { field })]);
        assert!(refused[0].1.to_string().contains("run with --loss, or pin at most 4096 keys or prefixes"));
    }
}

#[test]
fn too_many_together_take_the_fewer_alone() {
    let sources = Condition::And(vec![one_of("src_port", 0..100), one_of("dst_port", 0..300)]);
    let pins = pins_of(&sources).expect("pins");
    assert!(pins.len() == 100 && pins.iter().all(|pin| pin.ports[1].is_none()));
}

#[test]
fn a_set_has_the_pins_of_all_queries_that_need_them() {
    let plan = |queries: &[Query], others: &[Query]| {
        TaskSet::plan_with(Generation::new(1), queries, others, None, &site())
    };
    let rows = Query::new("rows", [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_byte")]);
    assert!(plan(std::slice::from_ref(&rows), &[]).expect("possible").pins().is_none());
    let own = query("own", Some(within("dst_addr", &["10.0.0.1/32"])));
    let other = query("other", Some(equal("port", 443)));
    let set = plan(&[rows, own], &[other]).expect("possible");
    let pins = set.pins().expect("two queries zoom");
    assert_eq!(pins.iter().len(), 3);
    let key = |source: [u8; 4], destination: [u8; 4], ports: [u8; 4]| {
        let all = [source, destination].concat();
        KeyV4::new(std::array::from_fn(|at| all[at]), ports, 6)
    };
    assert!(pins.have(&key([10, 0, 0, 1], [9, 9, 9, 9], [0, 1, 0, 2])));
    assert!(pins.have(&key([9, 9, 9, 9], [8, 8, 8, 8], [1, 187, 0, 2])));
    assert!(!pins.have(&key([9, 9, 9, 9], [8, 8, 8, 8], [0, 1, 0, 2])));
    // The answers say what they are from.
    let answers =
        set.rows().window().window_answers(set.rows(), SPAN, SPAN, &crate::rows::Unplaced::default());
    let classes: Vec<_> = answers.iter().map(|answer| answer.class).collect();
    assert_eq!(classes, [Class::Row, Class::Zoom, Class::Zoom]);
    assert!(set.rows().empty_answers().map(|answer| answer.class).eq(classes));
}

const SPAN: Span = Span { start_ns: 0, end_ns: 1 };

#[test]
fn the_query_with_which_pins_are_too_many_is_refused_by_name() {
    let first = query("first", Some(one_of("src_port", 0..4000)));
    let second = query("second", Some(one_of("dst_port", 0..97)));
    let refused = TaskSet::plan(Generation::new(1), &[first, second], None, &site()).expect_err("too many");
    assert_eq!((refused.len(), refused[0].0.as_str()), (1, "second"));
    assert!(refused[0].1.to_string().starts_with("4097 keys or prefixes are pinned"), "{}", refused[0].1);
}

#[test]
fn a_site_with_losses_of_all_flows_pins_none() {
    let site = PlanContext { tracked: flow::TrackedParts::ALL, ..site() };
    let set = TaskSet::plan(Generation::new(1), &[query("q", None)], None, &site).expect("it has losses");
    assert!(set.pins().is_none());
    let pinned = [query("q", Some(equal("dst_port", 443)))];
    let site = PlanContext { tracked: flow::TrackedParts::PLAIN, tracked_flows: ZoomOffer::None, ..site };
    let refused = TaskSet::plan(Generation::new(1), &pinned, None, &site).expect_err("no losses");
    assert!(matches!(refused[0].1, Refusal::NeedsLoss { .. }));
    let site = PlanContext { tracked_flows: ZoomOffer::NotPossible("it rains".to_owned()), ..site };
    let refused = TaskSet::plan(Generation::new(1), &pinned, None, &site).expect_err("no zoom");
    assert!(refused[0].1.to_string().ends_with("not: it rains"), "{}", refused[0].1);
}

fn of_packets(name: &str, items: &[&str], filter: Option<Condition>) -> Query {
    let items = items.iter().map(|item| OutputColumn::new(*item, Expression::field(*item)));
    Query { filter, group: crate::query::Grouping::Flows, ..Query::new(name, [], items) }
}

#[test]
fn a_set_has_the_statistics_of_all_queries_that_read_them() {
    let plan = |queries: &[Query], site: &PlanContext| TaskSet::plan(Generation::new(1), queries, None, site);
    let port = || Some(equal("dst_port", 443));
    let first = of_packets("first", &["GAP_P99", "size_mean"], port());
    let second = of_packets("second", &["size_mean", "iat_p99.9"], Some(equal("src_port", 22)));
    let set = plan(&[first.clone(), second], &site()).expect("possible");
    let names: Vec<_> = set.statistics().iter().map(Statistic::to_string).collect();
    assert_eq!(names, ["gap_p99", "size_mean", "iat_p99.9"]);
    assert_eq!((set.pins().expect("pins").iter().len(), set.follows_losses()), (2, false));
    assert!(set.rows().empty_answers().all(|answer| answer.class == Class::Zoom));
    // Losses of all flows change nothing of them.
    let with_loss = PlanContext { tracked: flow::TrackedParts::ALL, ..site() };
    let set = plan(&[first.clone(), query("losses", port())], &with_loss).expect("possible");
    assert_eq!((set.statistics().len(), set.pins().is_some(), set.follows_losses()), (2, true, false));
    let both = plan(&[first, query("losses", port())], &site()).expect("possible");
    assert!(both.follows_losses());
}

#[test]
fn statistics_that_cannot_be_told_are_refused_with_the_reason() {
    let refusal = |query: Query, site: &PlanContext| {
        let refused = TaskSet::plan(Generation::new(1), &[query], None, site).expect_err("refused");
        refused[0].1.clone()
    };
    let port = || Some(equal("dst_port", 443));
    let (gap, size) = ("gap_mean".to_owned(), "size_p50".to_owned());
    let field = |field: &String| field.clone();
    assert_eq!(
        refusal(of_packets("q", &["size_p50"], Some(equal("protocol", 6))), &site()),
        Refusal::NeedsPinsOfPackets { field: field(&size) }
    );
    let over = crate::query::Over::Run;
    assert_eq!(
        refusal(Query { over, ..of_packets("q", &["size_p50"], port()) }, &site()),
        Refusal::OfOneWindow { field: field(&size) }
    );
    let over = crate::query::Over::Windows { every_ns: 2, over_ns: 2 };
    assert_eq!(
        refusal(Query { over, ..of_packets("q", &["size_p50"], port()) }, &site()),
        Refusal::OfOneWindow { field: field(&size) }
    );
    let apart = PlanContext { no_gaps: Some("there are two".to_owned()), ..site() };
    assert_eq!(
        refusal(of_packets("q", &["gap_mean", "size_p50"], port()), &apart),
        Refusal::NotFollowed { field: field(&gap), why: "there are two".to_owned() }
    );
    let without = PlanContext { tracked_flows: ZoomOffer::NotPossible("it rains".to_owned()), ..site() };
    assert_eq!(
        refusal(of_packets("q", &["size_p50"], port()), &without),
        Refusal::NotFollowed { field: field(&size), why: "it rains".to_owned() }
    );
    let none = PlanContext { tracked_flows: ZoomOffer::None, ..site() };
    assert_eq!(
        refusal(of_packets("q", &["size_p50"], port()), &none),
        Refusal::NotInRows { field: field(&size) }
    );
    let many: Vec<_> = (0..33).map(|percent| format!("gap_p{percent}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(
        refusal(of_packets("q", &many, port()), &site()),
        Refusal::TooManyStatistics { most: MAX_ROW_STATISTICS }
    );
    // Of windows that are over, rows alone are planned.
    let past =
        crate::rows::RowQueries::plan(Generation::new(1), &[of_packets("q", &["size_p50"], port())], &site());
    assert_eq!(past.expect_err("not kept")[0].1, Refusal::NotKept { field: size });
}

#[test]
fn statistics_that_rows_of_all_flows_have_need_no_pins() {
    let kept: Vec<Statistic> =
        ["gap_p99", "size_mean"].iter().map(|name| name.parse().expect("one")).collect();
    let site = PlanContext { row_statistics: kept, window_ns: Some(1), ..site() };
    let plan = |query: Query, site: &PlanContext| TaskSet::plan(Generation::new(1), &[query], None, site);
    let read = |set: &TaskSet| (set.reads_row_statistics(), set.statistics().len(), set.pins().is_some());
    let all = plan(of_packets("q", &["SIZE_MEAN"], None), &site).expect("possible");
    assert_eq!(read(&all), (true, 0, false));
    assert!(all.rows().empty_answers().all(|answer| answer.class == Class::Row));
    // Pins are for what not all rows have.
    let pinned = plan(of_packets("q", &["gap_p99"], Some(equal("dst_port", 443))), &site).expect("possible");
    assert_eq!(read(&pinned), (true, 0, false));
    let both = of_packets("q", &["gap_p99", "iat_p50"], Some(equal("dst_port", 443)));
    assert_eq!(read(&plan(both, &site).expect("possible")), (true, 1, true));
    assert_eq!(read(&plan(query("q", None), &site_with_losses()).expect("possible")), (false, 0, false));
    // Where nothing is followed, and frames are numbered apart.
    for tracked_flows in [ZoomOffer::None, ZoomOffer::NotPossible("it rains".to_owned())] {
        let alone = PlanContext { tracked_flows, no_gaps: Some("there are two".to_owned()), ..site.clone() };
        assert_eq!(
            read(&plan(of_packets("q", &["gap_p99"], None), &alone).expect("possible")),
            (true, 0, false)
        );
    }
    let over = crate::query::Over::Run;
    let refused = plan(Query { over, ..of_packets("q", &["gap_p99"], None) }, &site).expect_err("refused");
    assert_eq!(refused[0].1, Refusal::OfOneWindow { field: "gap_p99".to_owned() });
    let refused = plan(of_packets("q", &["gap_p98"], None), &site).expect_err("refused");
    assert!(refused[0].1.to_string().ends_with(", or give the run --gap p98"), "{}", refused[0].1);
    // All of them together are no more than rows have.
    let many: Vec<_> = (0..31).map(|percent| format!("gap_p{percent}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let refused = plan(of_packets("q", &many, Some(equal("dst_port", 443))), &site).expect_err("refused");
    assert_eq!(refused[0].1, Refusal::TooManyStatistics { most: MAX_ROW_STATISTICS });
}

fn site_with_losses() -> PlanContext {
    PlanContext { tracked: flow::TrackedParts::ALL, ..site() }
}
