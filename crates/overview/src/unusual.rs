//! What is unusual: rules over the steps of a node, each against the node's own last hour.

mod entry;
mod judge;
mod rules;
mod text;
pub mod thresholds;

use crate::group_key::item;
use crate::overview::{Overview, OverviewError};
use crate::shared::Node;
pub(crate) use entry::Entries;
pub(crate) use judge::Judge;
use model::Span;
use model::view::unusual::{RuleState, RuleView, Unusual, UnusualEntry, UnusualRule};

/// The number of entries that are listed.
const LISTED: usize = 100;

impl Overview {
    /// Answers what is unusual.
    ///
    /// # Errors
    /// If there is no node of the name that is asked about.
    pub fn unusual(&self, node: Option<&str>) -> Result<Unusual, OverviewError> {
        let shared = self.shared();
        let nodes = shared.named(node)?;
        let mut entries: Vec<UnusualEntry> = nodes.iter().flat_map(|node| node.entries.views(node)).collect();
        entries.sort_by(|one, other| other.since_ns.cmp(&one.since_ns).then_with(|| one.id.cmp(&other.id)));
        let unlisted = entries.len().saturating_sub(LISTED);
        entries.truncate(LISTED);
        let begin = nodes.iter().filter_map(|node| node.history.begin()).min();
        let end = nodes.iter().filter_map(|node| node.history.end()).max();
        Ok(Unusual {
            at_ns: end,
            period: begin.zip(end).map(|(start_ns, end_ns)| Span { start_ns, end_ns }),
            rules: UnusualRule::ALL.map(|rule| rule_view(rule, &nodes)).into(),
            entries,
            entries_unlisted: unlisted as u64,
        })
    }
}

/// Returns a rule: it is watched where a node watches it.
fn rule_view(rule: UnusualRule, nodes: &[&Node]) -> RuleView {
    let rank = |state: &RuleState| match state {
        RuleState::Watched => 0,
        RuleState::Learning => 1,
        RuleState::NotWatched => 2,
    };
    let states = nodes.iter().map(|node| rules::state(rule, node));
    let none = (RuleState::NotWatched, Some("nothing is measured yet".to_owned()));
    let (state, reason) = states.min_by_key(|(state, _)| rank(state)).unwrap_or(none);
    RuleView { rule, title: text::title(rule).to_owned(), state, reason, threshold: text::threshold(rule) }
}

/// Returns the key of a node.
fn node_key(name: &str) -> Vec<model::Item> {
    vec![item("node_id", name.into())]
}
