//! Rules about what is unusual, over the steps of a node, each against the node's own last hour.

mod judge;
mod rules;
mod text;

use crate::node::Node;
pub(crate) use judge::Judge;
use model::view::unusual::{RuleState, RuleView, UnusualRule};

/// Returns the state of a rule on a node, and the reason where it does not judge.
pub(crate) fn rule_state(rule: UnusualRule, node: &Node) -> (RuleState, Option<String>) {
    match &node.told {
        None => rules::state(rule, node),
        Some(told) => {
            let at = UnusualRule::ALL.iter().position(|one| *one == rule);
            let untold = || (RuleState::NotWatched, Some("the probe does not tell it".to_owned()));
            at.and_then(|at| told.unusual.as_ref()?.rules.get(at).cloned()).unwrap_or_else(untold)
        }
    }
}

/// Returns a rule: it is watched where a node watches it.
pub(crate) fn rule_view(rule: UnusualRule, nodes: &[&Node]) -> RuleView {
    let rank = |state: &RuleState| match state {
        RuleState::Watched => 0,
        RuleState::Learning => 1,
        RuleState::NotWatched => 2,
    };
    let states = nodes.iter().map(|node| rule_state(rule, node));
    let none = (RuleState::NotWatched, Some("nothing is measured yet".to_owned()));
    let (state, reason) = states.min_by_key(|(state, _)| rank(state)).unwrap_or(none);
    RuleView { rule, title: text::title(rule).to_owned(), state, reason, threshold: text::threshold(rule) }
}
