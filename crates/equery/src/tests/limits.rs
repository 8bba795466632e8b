//! Large and deep texts: one error where there is one, linear time, and no plan that is much larger than its text.

use super::{checked, said};
use crate::ast::File;
use crate::diagnostic::{Diagnostics, MOST_ERRORS};
use crate::lexer::tokens;
use crate::parser::Parser;
use crate::variables::Constants;
use proptest::prelude::*;

/// The tree of a text, the number of errors, and how often a token was looked at.
fn parsed(text: &str) -> (File, usize, usize) {
    let mut diagnostics = Diagnostics::new(text);
    let tokens = tokens(text, &mut diagnostics);
    let constants = Constants::default();
    let mut parser = Parser::new(&tokens, &constants, &mut diagnostics);
    let file = parser.file();
    let steps = parser.steps.get() / tokens.len();
    (file, diagnostics.errors(), steps)
}

/// The most that one token is looked at.
const MOST_STEPS: usize = 60;

#[test]
fn a_megabyte_of_parentheses_is_one_error() {
    for open in ["(", "not ", "- ", "sum("] {
        let text = format!("select src_addr where {}", open.repeat((1 << 20) / open.len() - 100));
        let said = said(&text);
        assert!(said.len() == 1 && said[0].contains("nested too deeply"), "{open}: {said:?}");
        assert!(parsed(&text).2 <= MOST_STEPS, "{open}");
    }
    let sum = format!("select src_addr where {}1 = vlan", "vlan+".repeat(1000));
    assert!(said(&sum).len() == 1 && said(&sum)[0].contains("nested too deeply"));
    // Sums within sums are as deep as their levels together.
    let nested = (0..12).fold("vlan".to_owned(), |inner, _| format!("({inner})+1+1+1+1+1+1"));
    assert!(said(&format!("select {nested}"))[0].contains("nested too deeply"));
}

#[test]
fn wide_texts_are_fine() {
    let count = |text: &str| {
        let checked = checked(text);
        assert!(!checked.has_errors(), "{:?}", checked.diagnostics.first());
        checked.queries.len()
    };
    let list = (0..100_000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(count(&format!("select src_addr where tcp_win in ({list})")), 1);
    let all = vec!["vlan = 1"; 50_000].join(" or ");
    assert_eq!(count(&format!("select src_addr where {all}")), 1);
    assert_eq!(count(&"select vlan;".repeat(50_000)), 50_000);
    let chain: String =
        (1..20_000).map(|at| format!("q{at}: select vlan when q{}.first_vlan > 1;", at - 1)).collect();
    assert!(!said(&chain).is_empty());
}

#[test]
fn errors_and_sizes_are_limited() {
    let many = vec!["nosuch"; 50_000].join(" = 1 and ");
    let lines = said(&format!("select src_addr where {many} = 1"));
    assert_eq!(lines.len(), MOST_ERRORS + 1);
    assert!(lines[MOST_ERRORS].contains("more than 50 errors"), "{lines:?}");
    assert!(said(&"?".repeat(1 << 20)).len() <= MOST_ERRORS + 1);
    assert!(said(&" ".repeat((1 << 20) + 1))[0].starts_with("1:1: error: the text has 1048577 bytes"));
}

#[test]
fn a_short_text_does_not_become_a_large_plan() {
    let product = vec!["(ip_ttl + ip_ttl)"; 30].join("*");
    let uses = vec!["x > 1"; 50_000].join(" and ");
    let by_column = said(&format!("select max({product}) as x having {uses}"));
    assert!(
        by_column.len() == 1 && by_column[0].contains("names stand for more than 1 MiB"),
        "{by_column:?}"
    );
    let long = "x".repeat(100_000);
    let uses = vec!["protocol_name = T"; 1_000].join(" or ");
    let by_variable = said(&format!("let T = '{long}'; select vlan where {uses}"));
    assert!(by_variable.len() == 1 && by_variable[0].contains("names stand for"), "{}", by_variable.len());
    let queries: String = (0..100).map(|at| format!("a{at}: select vlan;")).collect();
    let condition = (0..100).map(|at| format!("a{at}.first_vlan > 1")).collect::<Vec<_>>().join(" or ");
    let of_many = said(&format!("{queries} select vlan when {condition}"));
    assert!(
        of_many.len() == 1 && of_many[0].contains("when is about 100 queries: at most 64"),
        "{of_many:?}"
    );
}

/// Values, most of which no checker accepts.
fn value() -> impl Strategy<Value = String> {
    let leaves = [
        "total_byte",
        "src_addr",
        "5",
        "0.5",
        "5%",
        "1h",
        "10.0.0.0/8",
        "'a''b'",
        "K",
        "src_addr/24/64",
        "q1.b",
        "2001:db8::1",
    ];
    let operator = || prop::sample::select(vec!["+", "-", "*", "/"]);
    prop::sample::select(leaves.to_vec()).prop_map(str::to_owned).prop_recursive(4, 16, 2, move |inner| {
        prop_oneof![
            (inner.clone(), operator(), inner.clone()).prop_map(|(a, by, b)| format!("({a}) {by} ({b})")),
            (inner.clone(), operator(), inner.clone()).prop_map(|(a, by, b)| format!("{a} {by} {b}")),
            inner.clone().prop_map(|a| format!("sum({a})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("({a}) offset 1d")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("entropy({a}, {b})")),
        ]
    })
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (value(), prop::sample::select(vec!["=", "!=", "<", ">="]), value())
            .prop_map(|(a, by, b)| format!("{a} {by} {b}")),
        (value(), value(), value()).prop_map(|(a, b, c)| format!("{a} not in ({b}, {c})")),
        (value(), value(), value()).prop_map(|(a, b, c)| format!("{a} between {b} and {c}")),
        value().prop_map(|a| format!("{a} like 'x%'")),
        value().prop_map(|a| format!("{a} is not null")),
        Just("q1 is missing".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} and {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) or {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} or {b}), {a}")),
            inner.prop_map(|a| format!("not ({a})")),
        ]
    })
}

fn query() -> impl Strategy<Value = String> {
    let clauses = vec![
        "limit 3",
        "every 10s over 1min",
        "groupby src_addr/24, vlan",
        "order by b desc, vlan",
        "from q1, q2",
        "from -1h to '2026-11-01'",
        "across nodes by max",
        "using space_saving(memory=128KiB, x=-1)",
        "error 0.5%",
        "run once",
        "run 5m",
        "within 1w",
        "capture 5 packets",
        "export as metric",
        "in same window",
    ];
    let more = prop::sample::subsequence(clauses, 0..8).prop_map(|clauses| clauses.join(" "));
    (value(), condition(), condition(), more).prop_map(|(a, b, c, more)| {
        format!(
            "q1: select {a} as \"a b\", vlan where {b} {more} when {c} for 30s until {b} cooldown 1s; let K = -5;"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn what_is_printed_has_the_same_tree(text in query()) {
        let (file, errors, steps) = parsed(&text);
        prop_assert!(steps <= MOST_STEPS, "{} steps a token", steps);
        // Only `from` twice is refused here.
        if errors == 0 {
            let printed = file.to_string();
            let (again, errors, _) = parsed(&printed);
            prop_assert_eq!(errors, 0, "{} became {}", text, printed);
            prop_assert_eq!(again.to_string(), printed.clone());
            prop_assert_eq!(parsed(&again.to_string()).0, again, "{}", printed);
        }
    }
}
