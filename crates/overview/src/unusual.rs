//! Rules about what is unusual, over the steps of a node, each against the node's own last hour.

mod judge;
mod rules;
mod text;

use crate::node::Node;
pub(crate) use judge::Judge;
use model::view::unusual::{RuleState, RuleView, UnusualRule};

/// Returns a rule: it is watched where a node watches it.
pub(crate) fn rule_view(rule: UnusualRule, nodes: &[&Node]) -> RuleView {
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
