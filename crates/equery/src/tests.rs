//! What the language means, rule by rule.

mod computed;
mod generator;
mod limits;
mod meaning;
mod printed;
mod random;
mod sketches;
mod sql;

use crate::{Checked, CheckedQuery, Class, NodeFilter, Options, Source, check, one_line};
use task::query::{GroupField, Grouping, Item, Over};

fn checked(text: &str) -> Checked {
    check(&Source { name: "q", text }, &Options::default())
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
    said_with(text, &Options::default())
}

fn said_with(text: &str, options: &Options) -> Vec<String> {
    let source = Source { name: "q", text };
    let lines =
        check(&source, options).diagnostics.iter().map(|found| one_line(&source, found)).collect::<Vec<_>>();
    lines.into_iter().map(|line| line.strip_prefix("q:").expect("the name").to_owned()).collect()
}

#[test]
fn the_first_example_of_the_paper() {
    let q = query("q1: select count(src_addr), dst_addr groupby dst_addr where node_id=NodeX;");
    assert_eq!((q.label.as_str(), q.class, &q.plan.filter), ("q1", Class::Row, &None));
    assert_eq!(q.plan.group, Grouping::By(vec![GroupField::of("dst_addr")]));
    assert_eq!(q.plan.columns, [Item::distinct("src_addr", "count(src_addr)"), Item::field("dst_addr")]);
    assert_eq!(q.nodes, NodeFilter::In(vec!["NodeX".to_owned()]));
    assert_eq!((q.plan.over, q.not_run.len()), (Over::Window, 0));
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
