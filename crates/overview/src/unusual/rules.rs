//! The rules: what each finds in a step.

mod heavy;
mod loss;
mod reach;
mod silence;

pub(super) use heavy::heavy;
pub(super) use loss::loss;
pub(super) use reach::{many_to_one, scan};
pub(super) use silence::silence;

use crate::node::Node;
use crate::step::Step;
use crate::thresholds::{PAST_STEPS, SHORT_STEPS};
use model::Span;
use model::view::now::RankingBy;
use model::view::unusual::{RuleState, UnusualRule};

/// Returns the state of a rule on a node, and the reason where it does not judge.
pub(super) fn state(rule: UnusualRule, node: &Node) -> (RuleState, Option<String>) {
    let not = |reason: &str| (RuleState::NotWatched, Some(reason.to_owned()));
    let learning = |known: usize, what: &str| match known {
        known if known >= PAST_STEPS => (RuleState::Watched, None),
        known => {
            (RuleState::Learning, Some(format!("{PAST_STEPS} earlier {what} are needed, {known} are known")))
        }
    };
    let minutes = node.history.minutes.iter().filter(|minute| !minute.is_open).count();
    let steps = node.history.steps.len();
    match rule {
        UnusualRule::Scan | UnusualRule::ManyToOne if node.shape.without_rows.is_some() => {
            not(node.shape.without_rows.unwrap_or_default())
        }
        UnusualRule::Scan | UnusualRule::ManyToOne if !has_whole_addresses(node) => {
            not("flows have no two whole addresses: add src_addr and dst_addr to --key")
        }
        UnusualRule::Scan => (RuleState::Watched, None),
        UnusualRule::ManyToOne => match learning(minutes, "minutes") {
            (RuleState::Learning, Some(reason)) => {
                let until = "until then only sources that get no answer count";
                (RuleState::Learning, Some(format!("{reason}; {until}")))
            }
            watched => watched,
        },
        UnusualRule::Loss => {
            let newest = node.history.open.as_ref().or(node.history.steps.back());
            let counts = newest.is_none_or(|step| step.totals.loss.is_some());
            match counts || node.tracks_loss {
                true => (RuleState::Watched, None),
                false => not("the source cannot count its loss, and TCP losses are not tracked: give --loss"),
            }
        }
        UnusualRule::Heavy => match node.shape.refuses(RankingBy::Source) {
            Some(reason) => not(reason),
            None => learning(steps, "steps"),
        },
        UnusualRule::Silence => learning(steps, "steps"),
    }
}

/// Returns true if flows have both addresses, and these are no prefixes.
fn has_whole_addresses(node: &Node) -> bool {
    let whole = Some([32, 128]);
    node.shape.source == whole && node.shape.destination == whole && node.shape.without_rows.is_none()
}

/// Returns the past of a step, and the steps just before it that must be as it is: none of a minute or more, and [`SHORT_STEPS`] of shorter ones.
fn before_and_recent<'a, 'b>(step: &Step, past: &'a [&'b Step]) -> (&'a [&'b Step], &'a [&'b Step]) {
    let recent = if step.length_ns < crate::setting::STEP_NS { SHORT_STEPS } else { 0 };
    past.split_at(past.len().saturating_sub(recent))
}

/// Returns the time of past steps.
fn span_of(past: &[&Step]) -> Option<Span> {
    let (first, last) = (past.first()?, past.last()?);
    Some(Span { start_ns: first.start_ns, end_ns: last.span().end_ns })
}

/// Returns what a step has of what a minute may have.
fn part_of_a_minute(step: &Step) -> f64 {
    (step.length_ns as f64 / crate::setting::STEP_NS as f64).min(1.0)
}
