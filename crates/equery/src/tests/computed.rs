//! Queries that read answers: of others, and of earlier windows.

use super::{checked, query, refused, said, said_with};
use crate::{Chain, ChainSite, CheckOptions, EarlierWindows, ExplainContext, explain};
use events::{ALL_NODES, ColumnRole, Formula};
use task::query::Over;

const A: &str = "a: select dst_addr, sum(total_byte) as b groupby dst_addr every 10s;";

/// Expects one error, with these words, at the last place of a part of the text.
#[track_caller]
fn refused_at(text: &str, part: &str, words: &[&str]) {
    refused(text, 1 + text.rfind(part).expect("a part of the text"), words);
}

fn chain_of(text: &str, nodes: &[&str]) -> Result<Chain, Vec<String>> {
    let checked = checked(text);
    assert!(!checked.has_errors(), "{text}: {:#?}", checked.diagnostics);
    let nodes: Vec<String> = nodes.iter().map(|name| (*name).to_owned()).collect();
    let site = ChainSite {
        nodes: &nodes,
        key: &packet::KeySpec::FIVE_TUPLE.parts(),
        base_ns: 1_000_000_000,
        window_ns: 10_000_000_000,
        settings: events::EventSettings::default(),
    };
    Chain::new(&checked.queries, &site)
}

#[test]
fn earlier_windows_are_windows_of_the_query() {
    let select = "select dst_addr, sum(total_byte) as b,";
    let text = format!("{select} avg_over(sum(total_byte), 10min) as usual groupby dst_addr every 10s");
    let one = query(&text);
    assert_eq!((one.not_run.len(), one.earlier.len()), (0, 1));
    assert_eq!(one.earlier[0].windows, EarlierWindows::MeanOver(600_000_000_000));
    // 60 windows of 10,000 groups: a number of the key and one value each.
    assert_eq!(one.past_bytes, 60 * 10_000 * 20);
    let query = |part: &str| format!("{select} {part} groupby dst_addr every 10s");
    refused_at(
        &query("sum(total_byte) offset 15s"),
        "sum(total_byte) offset",
        &["15s is no multiple", "10s"],
    );
    refused_at(
        &query("avg_over(sum(total_byte), 5s)"),
        "avg_over",
        &["over 5s, less than a window, which is 10s"],
    );
    refused_at(&query("avg_over(sum(total_byte), 365d)"), "avg_over", &["3153600 windows: at most 100000"]);
    refused_at(
        &query("avg_over(prev(avg_over(count(*), 1min)), 1min)"),
        "avg_over(prev",
        &["within an avg_over"],
    );
    refused_at(&query("prev(dst_addr)"), "dst_addr) groupby", &["an address"]);
    refused_at(&query("sum(prev(total_byte))"), "prev", &["an aggregate is of rows"]);
    refused_at("select prev(total_byte) every 10s", "prev", &["the query is of flows"]);
    refused_at("select dst_addr where prev(total_byte) > 5", "prev", &["having"]);
    refused_at(
        &format!("{A} select src_addr when a.b > 4 * prev(a.b)"),
        "prev",
        &["no item", "under a name"],
    );
    // Where the length of windows is not known, it is checked when that is.
    let text = "select sum(total_byte) offset 15s as b";
    assert!(said(text).is_empty());
    let options = CheckOptions { base_window_ns: Some(10_000_000_000), ..CheckOptions::default() };
    assert!(said_with(text, &options)[0].contains("15s is no multiple"));
    assert!(chain_of(text, &["N"]).expect_err("refused")[0].contains("15s is no multiple"));
}

#[test]
fn what_says_nothing_of_time_has_no_windows_of_its_own() {
    let options = CheckOptions { base_window_ns: Some(10_000_000_000), ..CheckOptions::default() };
    let over = |text: &str| {
        let checked = crate::check(&crate::SourceText { name: "q", text }, &options);
        assert!(!checked.has_errors(), "{text}: {:#?}", checked.diagnostics);
        checked.queries.last().expect("a query").plan.over
    };
    let b = "b: select dst_addr, min(stime) as t groupby dst_addr;";
    let c = "c: select dst_addr, max(ltime) as t groupby dst_addr;";
    assert_eq!(over(&format!("{b} {c} d: select c.t - b.t as time from b, c")), Over::Window);
    let ten = Over::Windows { every_ns: 10_000_000_000, over_ns: 10_000_000_000 };
    assert_eq!(over(&format!("{A} {b} select a.b, b.t from a, b")), ten);
    assert_eq!(over(&format!("{b} select b.t from b every 10s")), ten);
    // From one moment to another are nanoseconds.
    let chain = chain_of(&format!("{b} {c} d: select c.t - b.t as time from b, c"), &["N"]).expect("a chain");
    let column = &chain.graph.queries[2].columns[0].column;
    assert_eq!((column.name.as_str(), column.unit.as_str()), ("time", "ns"));
}

#[test]
fn sources_have_the_same_keys_and_windows() {
    let b = "b: select dst_addr, sum(total_byte) as b groupby dst_addr";
    refused_at(
        &format!("{A} {b} every 1min; select a.b from a, b"),
        "b",
        &["'a' answers for windows of 10s, but 'b'"],
    );
    refused_at(
        &format!("{A} {b} over 30s every 10s; select a.b from a, b"),
        "b",
        &["windows of 30s every 10s"],
    );
    refused_at(
        &format!("{A} select a.b from a every 1min"),
        "every 1min",
        &["windows of 1min", "leave every and over out"],
    );
    refused_at(
        &format!("{A} select a.b from a across nodes by sum"),
        "across",
        &["'across nodes'", "reads answers"],
    );
    let other = "c: select src_addr, count(*) as n groupby src_addr every 10s;";
    refused_at(
        &format!("{A} {other} select a.b from a, c"),
        "c",
        &["'a' groups by dst_addr, but 'c' by src_addr"],
    );
    refused_at(&format!("{A} select a.nothing from a"), "nothing", &["'a' has no item 'nothing'"]);
    refused_at(&format!("{A} select b.b from a"), "b.b", &["'b' is not in from"]);
    let derived = query(&format!("d: select a.b from a; {A}"));
    assert_eq!(
        (derived.plan.over, derived.not_run.len()),
        (Over::Windows { every_ns: 10_000_000_000, over_ns: 10_000_000_000 }, 0)
    );
}

#[test]
fn circles_and_chains_are_over_from_and_when_together() {
    let said = said("a: select count(*) as n when d.n > 1; d: select a.n as n from a;");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("read and trigger each other in a circle: a → d → a"), "{said:?}");
    let reads = super::said("a: select b.n as n from b; b: select a.n as n from a;");
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert!(reads[0].contains("read each other in a circle"), "{reads:?}");
    let chain: String = (1..=16).map(|at| format!("q{at}: select q{}.n as n from q{0};", at - 1)).collect();
    let said = super::said(&format!("q0: select count(*) as n; {chain}"));
    assert!(said.iter().any(|line| line.contains("more than 16 queries")), "{said:?}");
}

#[test]
fn what_is_read_is_always_there() {
    let text = format!(
        "{A} c: select dst_addr, count(*) as n groupby dst_addr every 10s when a.b > 5; d: select c.n from c"
    );
    let checked = checked(&text);
    let not_run: Vec<&str> = checked.queries[2].not_run.iter().map(|found| found.reason.as_str()).collect();
    assert_eq!(not_run, ["answers of c, which is started by another one, are not always there"]);
}

#[test]
fn derived_queries_are_of_the_nodes_of_their_sources() {
    let of = |a: &str, b: &str| {
        let source = |name: &str, rest: &str| {
            format!("{name}: select dst_addr, sum(total_byte) as b groupby dst_addr {rest};")
        };
        let text = format!("{} {} d: select a.b - b.b as lost from a, b;", source("a", a), source("b", b));
        chain_of(&text, &["N1", "N2", "N3"])
    };
    let nodes = |chain: Chain| chain.graph.queries[2].nodes.clone();
    assert_eq!(nodes(of("", "").expect("a chain")), [0, 1, 2]);
    let [one, two] = ["where node_id = N1", "where node_id = N2"];
    assert_eq!(nodes(of(one, one).expect("a chain")), [0]);
    let chain = of(one, two).expect("a chain");
    assert_eq!((chain.nodes_of(2), nodes(chain)), (vec![0, 1], vec![ALL_NODES]));
    assert_eq!(nodes(of("across nodes by sum", two).expect("a chain")), [ALL_NODES]);
    assert!(of(one, "").expect_err("refused")[0].contains("a and b run on different nodes"));
    assert!(
        of(one, "where node_id = N9").expect_err("refused")[0].contains("b, which it reads, runs on no node")
    );
}

#[test]
fn keys_are_joined_whatever_their_order() {
    let text = "a: select sum(total_byte) as b, src_addr groupby src_addr, dst_port; \
                b: select dst_port as p, count(*) as n groupby dst_port, src_addr; \
                d: select b.p, a.b / b.n as mean, a.src_addr as who from a, b having a.b > 5 order by b.n;";
    let chain = chain_of(text, &["N"]).expect("a chain");
    let derivation = chain.derivations[2].as_ref().expect("derived");
    assert_eq!(derivation.sources[1].key, [1, 0]);
    assert_eq!([&derivation.values[0], &derivation.values[2]], [&Formula::Key(1), &Formula::Key(0)]);
    // `having` and the order read more than is selected.
    assert_eq!((derivation.values.len(), derivation.order[0].value), (5, 4));
    let query = &chain.graph.queries[2];
    assert_eq!((query.key.clone(), chain.shown[2]), (vec![2, 0], 3));
    let roles: Vec<ColumnRole> = query.columns.iter().map(|column| column.role).collect();
    assert_eq!(roles, [ColumnRole::Key, ColumnRole::Bounded, ColumnRole::Key]);
}

#[test]
fn explain_tells_where_it_is_computed() {
    let text = format!(
        "{A} d: select a.b - prev(a.b) as more from a; \
         h: select dst_addr, avg_over(sum(total_byte), 1min) as usual groupby dst_addr having usual > 5 every 10s;"
    );
    let explained = explain(&checked(&text), &ExplainContext::default());
    let [_, d, h] = &explained.queries[..] else { panic!("three queries") };
    assert!(d.probe[0].starts_with("none: the controller computes it"), "{:?}", d.probe);
    assert!(
        d.above.iter().any(|step| step.starts_with("keep the groups of 1 earlier window, ")),
        "{:?}",
        d.above
    );
    assert!(d.sql.is_empty() && d.no_sql.is_some() && h.sql.is_empty() && h.no_sql.is_some());
    assert!(h.probe.iter().any(|step| step.contains("a sum")), "{:?}", h.probe);
    assert!(h.above.iter().any(|step| step.contains("avg_over(sum(total_byte), 1min)")), "{:?}", h.above);
    assert!(h.above.iter().any(|step| step.contains("6 earlier windows")), "{:?}", h.above);
}
