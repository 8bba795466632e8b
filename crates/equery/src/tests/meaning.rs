//! What plans and links between queries are, beyond the rules in `tests/equery`.

use super::{checked, query, refused, said, said_with};
use crate::{CheckOptions, EdgeKind, ExplainContext, FieldBinding, explain};
use task::query::Comparison::{Equal, Greater, GreaterOrEqual, LessOrEqual};
use task::query::{Condition, Expression, Over};

fn filter(condition: &str) -> Condition {
    query(&format!("select src_addr where {condition}")).plan.filter.expect("a filter")
}

#[test]
fn either_end_is_one_end_at_a_time() {
    let compared = Condition::compare;
    assert_eq!(filter("port != 80"), Condition::Not(Box::new(compared("port", Equal, 80))));
    let between =
        |end| Condition::And(vec![compared(end, GreaterOrEqual, 80), compared(end, LessOrEqual, 90)]);
    assert_eq!(
        filter("port between 80 and 90"),
        Condition::Or(vec![between("src_port"), between("dst_port")])
    );
    let net = ("10.0.0.0".parse().expect("an address"), 8);
    let within = Condition::InPrefixes("addr".to_owned(), vec![net]);
    assert_eq!(filter("addr not in 10.0.0.0/8"), Condition::Not(Box::new(within)));
}

#[test]
fn bare_names_are_written_as_the_field_has_them() {
    let text = |text: &str| Expression::Text(text.to_owned());
    let named = |field, value| Condition::Compare(Expression::field(field), Equal, text(value));
    assert_eq!(filter("protocol_name = TCP"), named("protocol_name", "tcp"));
    assert_eq!(filter("service = HTTPS"), named("service", "https"));
    assert_eq!(filter("protocol = TCP"), Condition::compare("protocol", Equal, 6));
    assert_eq!(filter("dst_port = https"), Condition::compare("dst_port", Equal, 443));
    refused("select vlan where protocol_name = tpc", 35, &["'tpc' is not the name of a protocol"]);
}

#[test]
fn rates_are_in_the_unit_of_what_they_are_compared_with() {
    assert_eq!(filter("bps > 5Mbps"), Condition::compare("bps", Greater, 5_000_000));
    assert_eq!(filter("bps > 5MBps"), Condition::compare("bps", Greater, 40_000_000));
    let having = query("select src_addr groupby src_addr having rate(total_byte) > 5Mbps").plan.having;
    let Some(Condition::Compare(_, Greater, value)) = having else { panic!("{having:?}") };
    assert_eq!(value, Expression::Integer(625_000));
}

#[test]
fn an_error_says_what_was_expected() {
    refused(
        "select vlan where src_addr > 5",
        30,
        &["src_addr is an address: expected an address such as 10.0.0.1", "found 5"],
    );
    refused("select src_addr + 1", 8, &["there is no arithmetic on it"]);
    refused("select vlan using space_savin", 19, &["'space_saving' may be meant"]);
    refused("select src_addr / 24", 8, &["there is no arithmetic on it"]);
    let nodes =
        CheckOptions { known_nodes: Some(vec!["Node1".into(), "Node2".into()]), ..CheckOptions::default() };
    assert_eq!(
        said_with("select vlan where node_id in (Node1, nod2)", &nodes),
        ["1:38: error: there is no node 'nod2'; 'Node2' may be meant; nodes are Node1, Node2"]
    );
}

#[test]
fn variables_stand_in_clauses_too() {
    let q = query("select vlan limit N every W; let N = 5; let W = 1min;");
    let minute = 60_000_000_000;
    assert_eq!((q.plan.limit, q.plan.over), (Some(5), Over::Windows { every_ns: minute, over_ns: minute }));
    let set = CheckOptions { set: vec![("N".into(), "7".into())], ..CheckOptions::default() };
    let text = "let N = 5; select vlan limit N";
    assert_eq!(said_with(text, &set), Vec::<String>::new());
    refused("select vlan limit N", 19, &["expected a number of rows", "found 'N'"]);
    refused("let N = 5s; select vlan limit N", 31, &["expected a number of rows"]);
}

#[test]
fn only_what_fires_binds_and_only_its_items() {
    let with = |filter: &str| {
        format!(
            "q1: select src_addr, count(*) as c groupby src_addr; q0: select vlan; \
             q2: select vlan where {filter} when q1.c > 5 for 30s until q1.c < 3"
        )
    };
    let checked = checked(&with("dst_addr = q1.src_addr, node_id = q1.node_id"));
    let q2 = checked.queries.last().expect("it has no errors");
    let bound = |field: &str, item: &str| FieldBinding {
        field: field.into(),
        parent: "q1".into(),
        item: item.into(),
    };
    assert_eq!(q2.bindings, [bound("dst_addr", "src_addr"), bound("node_id", "node_id")]);
    let trigger = q2.trigger.as_ref().expect("it has one");
    assert_eq!((trigger.kind, trigger.until.as_deref()), (EdgeKind::When, Some("q1.c < 3")));
    for (filter, words) in [
        ("dst_addr = q1.dst_addr", "'q1' has no item 'dst_addr'"),
        ("dst_addr = q1.c", "'dst_addr' is an address, but 'q1.c' is"),
        ("vlan = q0.vlan", "'q0' is not in the query's when"),
        ("vlan > q1.c", "'q1.c' is of another query"),
        ("node_id = q1.src_addr", "node_id is pinned by the other query's node_id"),
    ] {
        let said = said(&with(filter));
        assert!(said.len() == 1 && said[0].contains(words), "{filter}: {said:#?}");
    }
}

#[test]
fn a_derived_query_reads_what_is_in_from() {
    let of =
        |label: &str, key: &str| format!("{label}: select dst_addr, sum(total_byte) as b groupby {key};");
    let two = of("q1", "dst_addr") + &of("q2", "dst_addr");
    assert_eq!(
        said(&format!("{two} select dst_addr, q1.b - q2.b as lost from q1, q2")),
        Vec::<String>::new()
    );
    for (text, words) in [
        (format!("{two} select q1.b from q2"), "'q1' is not in from"),
        (
            of("q1", "dst_addr") + &of("q2", "dst_addr, vlan") + "select q1.b from q1, q2",
            "but 'q2' by dst_addr, vlan",
        ),
        (format!("{two} select q1.b from q1 where vlan = 5"), "'where' is about rows"),
        ("a: select a.x from a".to_owned(), "queries read each other in a circle: a → a"),
    ] {
        let said = said(&text);
        assert!(said.iter().any(|line| line.contains(words)), "{text}: {said:#?}");
    }
}

#[test]
fn chains_have_sixteen_queries_and_no_circles() {
    let chain = |length: usize| {
        let step = |at| format!("q{}: select vlan when q{at}.first_vlan > 1;", at + 1);
        format!("q0: select vlan;{}", (0..length - 1).map(step).collect::<String>())
    };
    assert_eq!(said(&chain(16)), Vec::<String>::new());
    let long = said(&chain(20));
    assert!(long.len() == 1 && long[0].contains("ends in 'q16' has more than 16 queries"), "{long:?}");
    let circle = said(
        "a: select vlan when b.first_vlan > 1; b: select vlan when c.first_vlan > 1; c: select vlan when b.first_vlan > 1",
    );
    assert!(circle.len() == 1 && circle[0].contains("in a circle: b → c → b"), "{circle:?}");
    let reaction = |base_window_ns| {
        let site = ExplainContext { base_window_ns, ..ExplainContext::default() };
        explain(&checked(&chain(4)), &site).queries[3].reaction_ns
    };
    assert_eq!(
        [reaction(10_000_000_000), reaction(1_000_000_000)],
        [Some(61_000_000_000), Some(10_000_000_000)]
    );
}

#[test]
fn a_name_that_edison_takes_is_refused_where_it_stands() {
    for name in ["targets", "totals", "tcp_loss", "hosts"] {
        let said = said(&format!("a: select vlan;\n {name}: select vlan"));
        let expected = format!(
            "2:2: error: the name '{name}' is taken by Edison, which answers a query of this name in every run"
        );
        assert!(said.len() == 1 && said[0].starts_with(&expected), "{said:?}");
    }
    assert_eq!(said("target: select vlan; Targets: select vlan"), [""; 0]);
}
