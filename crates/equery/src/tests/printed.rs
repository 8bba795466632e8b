//! What is printed of a text parses to the same plans.

use super::generator::Generator;
use crate::{CheckOptions, CheckedQuery, CheckedText, SourceText, check};

/// What of a query is not where it stands.
fn meanings(checked: &CheckedText) -> Vec<CheckedQuery> {
    let meaning = |query: &CheckedQuery| {
        let mut query = query.clone();
        query.text_span = 0..0;
        query.not_run.iter_mut().for_each(|not_run| not_run.span = 0..0);
        query
    };
    checked.queries.iter().map(meaning).collect()
}

fn checked(text: &str, set: &[(String, String)]) -> CheckedText {
    check(&SourceText { name: "q", text }, &CheckOptions { set: set.to_vec(), ..CheckOptions::default() })
}

/// Its definitions and its queries, as `edison explain` prints them.
fn printed(checked: &CheckedText) -> String {
    let texts = checked.queries.iter().map(|query| query.text.as_str());
    checked.definitions.iter().map(String::as_str).chain(texts).collect::<Vec<_>>().join("\n")
}

/// Checks that a text without errors means the same once it is printed; whether it has none.
#[track_caller]
fn judge(text: &str, set: &[(String, String)]) -> bool {
    let first = checked(text, set);
    if first.has_errors() {
        return false;
    }
    let canonical = printed(&first);
    let second = checked(&canonical, &[]);
    assert!(!second.has_errors(), "{text}\nset {set:?}\nbecame\n{canonical}\n{:#?}", second.diagnostics);
    for (one, other) in meanings(&first).iter().zip(&meanings(&second)) {
        assert_eq!(one, other, "{text}\nset {set:?}\nbecame\n{canonical}");
    }
    assert_eq!(first.queries.len(), second.queries.len(), "{text}\nbecame\n{canonical}");
    assert_eq!(first.graph, second.graph, "{text}\nbecame\n{canonical}");
    assert_eq!(printed(&second), canonical, "{text}");
    // Each query by itself, where it reads no other one.
    for query in first.queries.iter().filter(|query| query.derived_from.is_empty() && query.trigger.is_none())
    {
        let alone = checked(&format!("{}\n{}", query.definitions.join("\n"), query.text), &[]);
        assert!(!alone.has_errors(), "{text}\nset {set:?}\n{:?}\n{}", query.definitions, query.text);
        assert_eq!(alone.queries[0].plan.columns, query.plan.columns, "{}", query.text);
        assert_eq!(alone.queries[0].plan.filter, query.plan.filter, "{}", query.text);
    }
    true
}

/// What must be met often enough: a word of the text.
const KINDS: [&str; 39] = [
    " from ",
    " when ",
    " when each ",
    " while ",
    " until ",
    " cooldown ",
    " for ",
    " offset ",
    "avg_over(",
    "prev(",
    "top(",
    "entropy(",
    "quantile(",
    "count(distinct ",
    " using ",
    " error ",
    " across nodes by ",
    " limit ",
    " every ",
    " over ",
    " having ",
    " order by ",
    " in same window",
    " run once",
    " within ",
    " capture ",
    " say ",
    " export as metric",
    " last ",
    "surely(",
    " is missing",
    " like ",
    " between ",
    " is not null",
    "node_id",
    "let ",
    " as \"",
    "/24",
    ".\"",
];

#[test]
fn what_is_printed_has_the_same_plans() {
    let wanted = testbed::cases(5_000);
    let (mut accepted, mut drawn) = (0, 0);
    let mut met = [0_u32; KINDS.len()];
    while accepted < wanted {
        let (text, set) = Generator::new(drawn).text();
        drawn += 1;
        if judge(&text, &set) {
            accepted += 1;
            let canonical = printed(&checked(&text, &set));
            for (met, kind) in met.iter_mut().zip(KINDS) {
                *met += u32::from(canonical.contains(kind));
            }
        }
        assert!(drawn < 100 + 5 * u64::from(wanted), "only {accepted} of {drawn} texts have no errors");
    }
    for (met, kind) in met.iter().zip(KINDS) {
        assert!(*met > wanted / 500, "{kind:?} stands in {met} of {accepted} texts");
    }
}

#[test]
fn an_item_a_node_and_a_query_keep_a_name_that_is_also_a_fields() {
    let printed = |text: &str| {
        assert!(judge(text, &[]), "{text}: {:#?}", checked(text, &[]).diagnostics);
        printed(&checked(text, &[]))
    };
    assert_eq!(
        printed(
            "a: select SRCIP, sum(bytes) as proto groupby srcip every 1s; \
             b: select src_addr, a.proto from a; bytes: select count(*) every 1s when a.proto > 5 or bytes2.n > 1; \
             bytes2: select count(*) as n every 1s; c: select vlan every 1s when bytes2 is missing and a.srcip = 10.0.0.1;"
        ),
        "a: select src_addr, sum(total_byte) as proto groupby src_addr every 1s;\n\
         b: select src_addr, a.proto from a;\n\
         bytes: select count(*) every 1s when a.proto > 5 or bytes2.n > 1;\n\
         bytes2: select count(*) as n every 1s;\n\
         c: select vlan every 1s when bytes2 is missing and a.src_addr = 10.0.0.1;"
    );
    assert_eq!(
        printed("bytes: select count(*) every 1s; select vlan every 1s when bytes is missing"),
        "bytes: select count(*) every 1s;\nselect vlan every 1s when bytes is missing;"
    );
    // Nodes.
    assert_eq!(
        printed("select count(*) where node_id = proto, proto = tcp, node_id in (bytes, dst)"),
        "select count(*) where node_id = proto and protocol = tcp and node_id in (bytes, dst);"
    );
    // A column in the place of a field, and a field next to a column that has its name.
    assert_eq!(
        printed("select proto, count(*) as bytes groupby proto having bytes > 5 order by bytes"),
        "select protocol, count(*) as bytes groupby protocol having bytes > 5 order by bytes;"
    );
    assert_eq!(
        printed("select ip_ttl, total_count as total_byte order by bytes, total_byte, packets"),
        "select ip_ttl, total_count as total_byte order by bytes, total_byte, total_count;"
    );
    assert_eq!(printed("select GAP_P99 where srcip = 10.0.0.1"), "select gap_p99 where src_addr = 10.0.0.1;");
    // A query and a column whose names are words of the grammar.
    assert_eq!(
        printed("distinct: select count(*) as n every 1s; d: select prev((distinct.n)) from distinct"),
        "distinct: select count(*) as n every 1s;\nd: select prev(distinct.n) from distinct;"
    );
    let text = "each: select count(*) as n every 1s;\ne: select count(*) every 1s when each is missing;";
    assert_eq!(printed(&text.replace("each is missing", "(each is missing)")), text);
}

#[test]
fn definitions_have_the_values_that_count() {
    let set = [("K".to_owned(), "20".to_owned()), ("Name".to_owned(), "Other".to_owned())];
    let text = "let Other = 5; let A = 10K; let K = A; let Name = A; let Unused = 1; let B = A;
                select vlan where total_byte > K and total_count > B, node_id = Name limit Other";
    assert!(judge(text, &set));
    assert_eq!(
        checked(text, &set).queries[0].definitions,
        ["let Name = Other;", "let K = 20;", "let B = 10000;"]
    );
    assert!(judge("select vlan where total_byte > K", &set));
}
