//! The options that do not go together in a run, and the reasons: one table, by which runs are checked and from which docs/refused.md is made.

mod options;
mod probes;
mod routers;
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
    /// The queries of the run that rows answer.
    pub(super) queries: &'a [CheckedQuery],
    /// The tasks of the node, those of queries among them.
    pub(super) tasks: &'a [TaskSpec],
    /// True if a node of the run receives what routers send.
    pub(super) has_routers: bool,
    /// True if there are several nodes.
    pub(super) has_several_nodes: bool,
    /// The node, where its rows were recorded.
    pub(super) recorded: Option<&'a NodeRecording>,
    /// True if a controller joins nodes: there are several, or queries start or read others.
    pub(super) is_controlled: bool,
}

impl<'a> NodeFacts<'a> {
    /// Returns what a node of a deployment is asked for.
    fn probe(&self) -> Option<&'a RunSpec> {
        Some(self.spec).filter(|spec| spec.link.is_some())
    }
}

/// Something that a run cannot do beside something else.
struct ConflictRule {
    /// The option that is refused, as users write it.
    what: &'static str,
    /// The circumstance in which it is refused: an option beside it, or something that is missing.
    condition: &'static str,
    /// The reason why it is refused.
    why: &'static str,
    /// The alternative that is possible.
    instead: &'static str,
    is_broken: fn(&NodeFacts<'_>) -> bool,
}

const LEAVE_ONE: &str = "leave out one of them";

/// The rules by subject, in the order in which refusals and the page list them.
const SUBJECTS: [&[ConflictRule]; 6] =
    [options::RULES, probes::RULES, routers::MISSING, windows::RULES, tuning::RULES, routers::RULES];

/// Returns all rules, in their order.
fn rules() -> impl Iterator<Item = &'static ConflictRule> {
    SUBJECTS.into_iter().flatten()
}

fn is_of_packets(spec: &RunSpec) -> bool {
    matches!(spec.question.every, Every::Packets(_))
}

/// Returns the options that are refused with routers, as they are typed.
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

    /// The page that lists the rules.
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
