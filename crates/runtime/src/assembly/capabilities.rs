//! The options that cannot be combined in a run, and the reasons. Runs are checked by this table, and docs/refused.md is made from it.

mod options;
mod probes;
mod routers;
pub(super) mod table;
mod tuning;
mod windows;

use crate::origin::Origins;
use crate::spec::RunSpec;
use engine::Every;
use equery::CheckedQuery;
use history::replay::NodeRecording;
use task::TaskSpec;

/// The facts about a node that are known before anything is opened.
pub(super) struct NodeFacts<'a> {
    /// The options of the run, with the sources of the node.
    pub(super) spec: &'a RunSpec,
    /// The places where the options are set.
    pub(super) origins: &'a Origins,
    /// The queries of the run that are answered from rows.
    pub(super) queries: &'a [CheckedQuery],
    /// The tasks of the node, including those of queries.
    pub(super) tasks: &'a [TaskSpec],
    /// True if a node of the run receives what routers send.
    pub(super) has_routers: bool,
    /// True if there are several nodes.
    pub(super) has_several_nodes: bool,
    /// The recording of the node; `None` if it measures.
    pub(super) recorded: Option<&'a NodeRecording>,
    /// True if the run has a controller: there are several nodes, or a query starts or reads others.
    pub(super) is_controlled: bool,
}

impl<'a> NodeFacts<'a> {
    /// Returns the options of the run if the node is part of a deployment.
    fn probe(&self) -> Option<&'a RunSpec> {
        Some(self.spec).filter(|spec| spec.link.is_some())
    }
}

/// A rule that refuses an option under a condition.
struct ConflictRule {
    /// The option that is refused, as users write it.
    what: &'static str,
    /// The condition under which the option is refused: another option is set, or something is missing.
    condition: &'static str,
    /// The reason why the option is refused.
    why: &'static str,
    /// The alternative that the user has.
    instead: &'static str,
    is_broken: fn(&NodeFacts<'_>) -> bool,
}

const LEAVE_ONE: &str = "leave out one of them";

/// The rules by subject, in the order of refusals and of docs/refused.md.
const SUBJECTS: [&[ConflictRule]; 7] = [
    options::RULES,
    probes::RULES,
    routers::MISSING,
    windows::RULES,
    tuning::RULES,
    table::RULES,
    routers::RULES,
];

/// Returns all rules, in their order.
fn rules() -> impl Iterator<Item = &'static ConflictRule> {
    SUBJECTS.into_iter().flatten()
}

fn is_of_packets(spec: &RunSpec) -> bool {
    matches!(spec.question.every, Every::Packets(_))
}

/// Returns the options that are refused with routers, as users write them.
pub(super) fn refused_with_routers() -> impl Iterator<Item = &'static str> {
    let rules = rules().filter(|rule| rule.condition == routers::WITH_ROUTERS);
    let is_of_word = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    rules
        .flat_map(move |rule| rule.what.split(move |letter| !is_of_word(letter)))
        .filter(|word| word.starts_with('-'))
}

/// Returns a line for each rule that a node breaks.
pub(super) fn refusals(facts: &NodeFacts<'_>) -> Vec<String> {
    let broken = rules().filter(|rule| (rule.is_broken)(facts));
    broken
        .map(|ConflictRule { what, condition, why, instead, .. }| {
            format!("{what} {condition}: {why}: {instead}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;
    use std::path::PathBuf;

    #[test]
    fn options_that_routers_refuse_are_options_of_a_run() {
        let run = RunSpec::augment_args(clap::Command::new("run"));
        let names = run.get_arguments().flat_map(|argument| {
            let long = argument.get_long().map(|name| format!("--{name}"));
            [long, argument.get_short().map(|letter| format!("-{letter}"))]
        });
        let names: Vec<String> = names.flatten().collect();
        for option in refused_with_routers() {
            assert!(names.iter().any(|name| name == option), "{option}");
        }
        assert!(refused_with_routers().any(|option| option == "--tee"));
    }

    const HEAD: &str = "\
# What does not go together

Everything that a run can do goes with everything else, but for what this table has. A test writes it from the program's own
(`EDISON_REWRITE=1 cargo test capabilities`). What designs and sources cannot do is in [designs.md](designs.md), what a
sample does not tell is in [tee.md](tee.md), and what queries cannot ask is in [equery.md](equery.md#refused).

| what | is refused | because | instead |
| --- | --- | --- | --- |
";

    /// Returns the page that lists the rules.
    fn page() -> String {
        let mut text = String::from(HEAD);
        for ConflictRule { what, condition, why, instead, .. } in rules() {
            text.push_str(&format!("| {what} | {condition} | {why} | {instead} |\n"));
        }
        text
    }

    #[test]
    fn the_page_lists_all_rules() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/refused.md");
        if std::env::var_os("EDISON_REWRITE").is_some() {
            std::fs::write(&path, page()).expect("the page is written");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("the page is there"), page());
    }
}
