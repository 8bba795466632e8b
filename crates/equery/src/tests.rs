//! What the language means, rule by rule.

mod aggregates;
mod computed;
mod generator;
mod habits;
mod limits;
mod meaning;
mod printed;
mod random;
mod say;
mod sketches;
mod sql;

use crate::{CheckOptions, CheckedQuery, CheckedText, NodeFilter, SourceText, check, one_line};
use model::Class;
use task::query::{GroupField, Grouping, OutputColumn, Over};

fn checked(text: &str) -> CheckedText {
    check(&SourceText { name: "q", text }, &CheckOptions::default())
}

/// The one query of a text without errors.
#[track_caller]
fn query(text: &str) -> CheckedQuery {
    let checked = checked(text);
    assert!(!checked.has_errors(), "{text}: {:#?}", checked.diagnostics);
    checked.queries.into_iter().next().expect("one query")
}

/// What is said about a text, without its name.
fn said(text: &str) -> Vec<String> {
    said_with(text, &CheckOptions::default())
}

fn said_with(text: &str, options: &CheckOptions) -> Vec<String> {
    let source = SourceText { name: "q", text };
    let lines =
        check(&source, options).diagnostics.iter().map(|found| one_line(&source, found)).collect::<Vec<_>>();
    lines.into_iter().map(|line| line.strip_prefix("q:").expect("the name").to_owned()).collect()
}

#[test]
fn the_first_example_of_the_paper() {
    let q = query("q1: select count(src_addr), dst_addr groupby dst_addr where node_id=NodeX;");
    assert_eq!((q.label.as_str(), q.class, &q.plan.filter), ("q1", Class::Row, &None));
    assert_eq!(q.plan.group, Grouping::By(vec![GroupField::from_field("dst_addr")]));
    assert_eq!(
        q.plan.columns,
        [OutputColumn::distinct("src_addr", "count(src_addr)"), OutputColumn::field("dst_addr")]
    );
    assert_eq!(q.nodes, NodeFilter::In(vec!["NodeX".to_owned()]));
    assert_eq!((q.plan.over, q.not_run.len()), (Over::Window, 0));
}

#[test]
fn a_column_of_whole_flows_says_of_which_packet_its_value_is() {
    let columns = |text: &str, key: &[&str]| {
        let key = Some(key.iter().map(|field| (*field).to_owned()).collect());
        let checked =
            check(&SourceText { name: "q", text }, &CheckOptions { key, ..CheckOptions::default() });
        assert!(!checked.has_errors(), "{text}: {:#?}", checked.diagnostics);
        let [query] = &checked.queries[..] else { panic!("one query: {text}") };
        // What is computed has the names that the answer is said to have.
        assert!(
            query
                .plan
                .columns
                .iter()
                .map(|item| &item.name)
                .eq(query.columns.iter().map(|column| &column.name))
        );
        query.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let all =
        "select src_addr, vlan, smac, dmac, ip_ttl, ip_tos, tcp_seq, tcp_ack, tcp_win, tcp_flags, total_byte";
    let of_flow = "src_addr first_vlan first_smac first_dmac last_ip_ttl last_ip_tos last_tcp_seq last_tcp_ack last_tcp_win \
                   any_tcp_flags total_byte";
    let flow = ["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];
    assert_eq!(columns(all, &flow), of_flow);
    // A name of the user's own, and a field of the key, are as they are.
    assert_eq!(columns("select src_addr, vlan as tag, TCP_FLAGS", &flow), "src_addr tag any_tcp_flags");
    assert_eq!(columns("select src_addr, vlan, ip_ttl", &["src_addr", "vlan"]), "src_addr vlan last_ip_ttl");
    // What a filter lets pass are packets of these values.
    assert_eq!(columns("select src_addr, vlan, ip_ttl where vlan = 5", &flow), "src_addr vlan last_ip_ttl");
    assert_eq!(columns("select src_addr, VLAN where ip_ttl > 5 or vlan in (5, 6)", &flow), "src_addr vlan");
    assert_eq!(columns("select tcp_flags where tcp_flags = 2", &flow), "any_tcp_flags");
    // Groups are by packets.
    assert_eq!(columns("select vlan, count(*) groupby vlan", &flow), "vlan count(*)");
    assert_eq!(columns("select max(ip_ttl)", &flow), "max(ip_ttl)");
}

#[test]
fn no_query_by_packets_answers_in_the_window_that_fired() {
    let of = |query: &str| format!("a: select vlan, count(*) as n groupby vlan every 1s; b: {query}");
    let said_of = |query: &str, key: &[&str]| {
        let key = key.iter().map(|field| (*field).to_owned()).collect();
        let said = said_with(&of(query), &CheckOptions { key: Some(key), ..CheckOptions::default() });
        said.into_iter().filter(|line| line.contains("error")).collect::<Vec<_>>()
    };
    let flow = ["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];
    let cases = [
        ("select vlan, sum(total_byte) groupby vlan", "vlan", "first_vlan, measure with it in --key, or"),
        ("select max(ip_ttl)", "ip_ttl", "last_ip_ttl or"),
        ("select count(tcp_flags)", "tcp_flags", "any_tcp_flags or"),
        ("select sum(total_byte) where ip_tos = 184", "ip_tos", "last_ip_tos, measure with it in --key, or"),
        // What a firing pins is a filter.
        ("select sum(total_byte) where vlan = a.vlan", "vlan", "first_vlan, measure with it in --key, or"),
    ];
    for (query, field, instead) in cases {
        let why = format!(
            "error: b reads {field} of each packet, but of the window that fired nodes keep the rows of whole flows; ask for {instead}"
        );
        for (clause, later) in [
            ("when a.n > 5 in same window", "remove 'in same window'"),
            ("while a.n > 5", "write 'when' instead of 'while'"),
        ] {
            let text = format!("{query} every 1s {clause}");
            let said = said_of(&text, &flow);
            assert!(said.len() == 1 && said[0].contains(&why) && said[0].contains(later), "{text}: {said:?}");
        }
        // In a later window packets are counted for it.
        assert_eq!(said_of(&format!("{query} every 1s when a.n > 5"), &flow), Vec::<String>::new());
    }
    let in_key = ["src_addr", "vlan"];
    let by_key = "select vlan, sum(total_byte) groupby vlan every 1s when a.n > 5 in same window";
    assert_eq!(said_of(by_key, &in_key), Vec::<String>::new());
    let of_flows = "select first_vlan, sum(total_byte) groupby first_vlan every 1s while a.n > 5";
    assert_eq!(said_of(of_flows, &flow), Vec::<String>::new());
}

#[test]
fn what_a_run_refuses_of_whole_flows_and_of_packets_together_a_check_refuses() {
    let refused = |text: &str, field: &str, by: &str, instead: &str| {
        let said = said(text);
        let why = format!(
            "1:1: error: {field} is measured of whole flows: a query by {by}, in which their packets may differ, cannot have it; ask for it in \
             another one{instead}"
        );
        assert_eq!(said.iter().filter(|line| line.contains("error")).collect::<Vec<_>>(), [&why], "{text}");
    };
    refused("select vlan, first_vlan, count(*) groupby vlan, first_vlan", "first_vlan", "vlan", "");
    let of_flows = "; of whole flows it is 'select first_vlan, max(last_ip_ttl) groupby first_vlan'";
    refused("select vlan, max(last_ip_ttl) groupby vlan", "last_ip_ttl", "vlan", of_flows);
    let of_flows = "; of whole flows it is 'select count(first_vlan), count(first_smac)'";
    refused("select count(vlan), count(first_smac)", "first_smac", "vlan", of_flows);
}

#[test]
fn counters_and_rates_are_told_apart() {
    assert_eq!(
        said("select sum(total_byte) where total_byte > 5Mbps"),
        [
            "1:43: error: total_byte is a number of bytes: expected a number of bytes such as 10K or 1MiB, but found 5Mbps; compare \
         rate(total_byte) with it: total_byte is a total"
        ]
    );
}

/// Expects one error, in which all of `words` stand, at this column of the first line.
#[track_caller]
fn refused(text: &str, column: usize, words: &[&str]) {
    let said = said(text);
    let errors: Vec<_> = said.iter().filter(|line| line.contains(": error: ")).collect();
    assert_eq!(errors.len(), 1, "{text}: {said:#?}");
    assert!(errors[0].starts_with(&format!("1:{column}: ")), "{text}: {}", errors[0]);
    words.iter().for_each(|word| assert!(errors[0].contains(word), "{text}: no '{word}' in {}", errors[0]));
}
