//! Which queries are tasks, and why others are not.

use super::*;
use crate::query::OutputColumn;

const HOW: Counting =
    Counting { structure: None, size: Size::Usual, depth: None, width: None, packets: None };

fn largest(field: &str) -> Query {
    let groups = [GroupField { field: "dst_addr".to_owned(), prefix: Some([24, 64]) }];
    Query { limit: Some(10), ..Query::new("q", groups, [OutputColumn::sum(field)]) }
}

fn entropy(weight: &str) -> Query {
    let of = Aggregate::Entropy(GroupField::from_field("dst_port"), ValueWeight::Sum(weight.to_owned()));
    Query::new("q", [], [OutputColumn::new("bits", Expression::Aggregate(of))])
}

#[test]
fn queries_are_tasks() {
    let count =
        Query::new("q", [GroupField::from_field("src_addr")], [OutputColumn::distinct("dst_addr", "n")]);
    let all = Query::new("q", [], [OutputColumn::distinct("dst_addr", "n")]);
    let above = |comparison| {
        let having = Condition::Compare(count.columns[1].value.clone(), comparison, Expression::Integer(99));
        Query { having: Some(having), ..count.clone() }
    };
    let how = |structure, size| Counting { structure, size, packets: Some(60_000), ..HOW };
    for (query, how, text) in [
        (largest("total_byte"), HOW, "heavy-hitters:key=dst_addr/24/64,by=bytes,top=10"),
        (largest("packets"), HOW, "heavy-hitters:key=dst_addr/24/64,by=packets,top=10"),
        (
            largest("total_count"),
            how(Some(Structure::SpaceSaving), Size::Memory(128 << 10)),
            "heavy-hitters:key=dst_addr/24/64,by=packets,top=10,structure=space-saving,memory=128KiB,packets=60000",
        ),
        (
            largest("total_count"),
            how(None, Size::ErrorPpm(2_500)),
            "heavy-hitters:key=dst_addr/24/64,by=packets,top=10,error=0.25%,packets=60000",
        ),
        (
            largest("total_count"),
            Counting { size: Size::Memory(1_000_001), ..HOW },
            "heavy-hitters:key=dst_addr/24/64,by=packets,top=10,memory=1000001B",
        ),
        (
            largest("total_count"),
            Counting { structure: Some(Structure::CountMin), depth: Some(3), width: Some(1024), ..HOW },
            "heavy-hitters:key=dst_addr/24/64,by=packets,top=10,structure=count-min,depth=3,width=1024",
        ),
        (count.clone(), HOW, "super-spreaders:key=src_addr,of=dst_addr,top=1000"),
        (above(Comparison::Greater), HOW, "super-spreaders:key=src_addr,of=dst_addr,count=100"),
        (above(Comparison::GreaterOrEqual), HOW, "super-spreaders:key=src_addr,of=dst_addr,count=99"),
        (entropy("total_count"), HOW, "entropy:key=dst_port,by=packets"),
        (entropy("total_byte"), HOW, "entropy:key=dst_port,by=bytes"),
        (all.clone(), HOW, "distinct:of=dst_addr"),
        (
            all.clone(),
            how(Some(Structure::HyperLogLog), Size::Memory(4 << 10)),
            "distinct:of=dst_addr,structure=hyper-log-log,memory=4KiB,packets=60000",
        ),
    ] {
        let task = task_of(&query, &how, &KeySpec::FIVE_TUPLE).expect(text);
        assert_eq!(task.to_string(), format!("q: {text}"));
        // The text is that of the task itself.
        let same: TaskSpec = text.parse().expect(text);
        assert_eq!((same.kind, same.key, same.of), (task.kind, task.key, task.of), "{text}");
        assert_eq!((same.size, same.rows), (task.size, task.rows), "{text}");
        assert_eq!((same.limit, same.top), (task.limit, task.top), "{text}");
    }
}

#[test]
fn the_key_has_the_prefixes_of_the_run() {
    let query = Query::new("q", [GroupField::from_field("src_addr")], [OutputColumn::sum("total_byte")]);
    let key = KeySpec::parse("src_addr/24/48,dst_port").expect("a key");
    let task = task_of(&query, &HOW, &key).expect("a task");
    assert_eq!(task.key, Some(KeySpec::parse("src_addr/24/48").expect("a key")));
}

#[test]
fn what_no_structure_answers_is_refused_by_name() {
    let of = |value| Query { columns: vec![OutputColumn::new("x", value)], ..largest("total_byte") };
    let field = || Box::new(Expression::field("total_byte"));
    let aggregate = |aggregate| of(Expression::Aggregate(aggregate));
    let greater = |value| Condition::Compare(value, Comparison::Greater, Expression::Integer(5));
    let base = || largest("total_byte");
    for (query, part, says) in [
        (
            Query { filter: Some(Condition::compare("dst_port", Comparison::Equal, 5)), ..base() },
            QueryClause::Filter,
            "without a condition",
        ),
        (
            Query { over: Over::Windows { every_ns: 1, over_ns: 2 }, ..base() },
            QueryClause::Over,
            "cannot overlap",
        ),
        (Query { group: Grouping::Flows, ..base() }, QueryClause::Columns, "groupby"),
        (Query { group: Grouping::All, ..base() }, QueryClause::Columns, "a total"),
        (Query { limit: Some(1_001), ..base() }, QueryClause::Limit, "1000 rows"),
        (
            Query {
                having: Some(Condition::Not(Box::new(greater(Expression::sum("total_byte"))))),
                ..base()
            },
            QueryClause::Having,
            "threshold",
        ),
        (
            Query { having: Some(greater(Expression::sum("total_count"))), ..base() },
            QueryClause::Columns,
            "several",
        ),
        (
            Query { order: vec![Order { by: Expression::sum("total_byte"), descending: false }], ..base() },
            QueryClause::Order,
            "largest",
        ),
        (largest("wire_byte"), QueryClause::Columns, "not wire_byte"),
        (largest("ploss_byte"), QueryClause::Columns, "not ploss_byte"),
        (
            Query { group: Grouping::By(vec![GroupField::from_field("addr")]), ..base() },
            QueryClause::Group,
            "not by addr",
        ),
        (
            Query { group: Grouping::By(vec![GroupField::from_field("tcp_flags")]), ..base() },
            QueryClause::Group,
            "not by tcp_flags",
        ),
        (of(Expression::field("dst_addr")), QueryClause::Columns, "has none"),
        (aggregate(Aggregate::Count), QueryClause::Columns, "count(*) counts flows"),
        (aggregate(Aggregate::Max(field())), QueryClause::Columns, "greatest"),
        (aggregate(Aggregate::Mean(field())), QueryClause::Columns, "means"),
        (aggregate(Aggregate::Rate(field())), QueryClause::Columns, "sums"),
        (aggregate(Aggregate::Quantile(field(), 0.5)), QueryClause::Columns, "--task quantiles"),
        (aggregate(Aggregate::CountDistinct(GroupField::from_field("vlan"))), QueryClause::Columns, "null"),
        (
            aggregate(Aggregate::CountDistinct(GroupField::from_field("port"))),
            QueryClause::Columns,
            "not by port",
        ),
        (
            Query {
                having: Some(greater(entropy("total_byte").columns[0].value.clone())),
                ..entropy("total_byte")
            },
            QueryClause::Having,
            "no condition",
        ),
        (entropy("wire_byte"), QueryClause::Columns, "not wire_byte"),
    ] {
        let refused = task_of(&query, &HOW, &KeySpec::FIVE_TUPLE).expect_err(says);
        assert_eq!(refused.part, part, "{refused}");
        assert!(refused.reason.contains(says) && !refused.reason.contains('\n'), "{refused}");
    }
}

#[test]
fn a_structure_must_be_for_the_query() {
    for (query, structure, says) in [
        (largest("total_byte"), Structure::Dyadic, "no structure \"dyadic\""),
        (largest("total_byte"), Structure::MvSketch, "32 bits"),
        (entropy("total_byte"), Structure::SizeArray, "counts packets"),
    ] {
        let how = Counting { structure: Some(structure), ..HOW };
        let refused = task_of(&query, &how, &KeySpec::FIVE_TUPLE).expect_err(says);
        assert_eq!(refused.part, QueryClause::Counting);
        assert!(refused.reason.contains(says), "{refused}");
    }
}
