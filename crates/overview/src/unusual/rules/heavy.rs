//! New heavy talkers.

use super::{before_and_recent, part_of_a_minute, span_of};
use crate::entries::{Figure, Finding, Subject};
use crate::group_key::GroupKey;
use crate::node::Node;
use crate::ranking::Leader;
use crate::step::Step;
use crate::thresholds::{EXPLAINED, HEAVY_BYTES, HEAVY_SHARE, PAST_STEPS, TIMES_OWN_PAST};
use crate::unusual::text::{bytes, name, percent};
use model::Value;
use model::view::now::RankingBy;
use model::view::unusual::UnusualRule;

/// Finds conversations, sources and destinations that have a large share, and had much less. A source or a destination most of whose bytes
/// are of a conversation that is found is not listed as well.
pub(in crate::unusual) fn heavy(node: &Node, step: &Step, past: &[&Step]) -> Vec<Finding> {
    if past.len() < PAST_STEPS || step.totals.bytes == 0 {
        return Vec::new();
    }
    let mut findings: Vec<(Leader, Finding)> = Vec::new();
    for by in [RankingBy::Conversation, RankingBy::Source, RankingBy::Destination] {
        if node.shape.refuses(by).is_some() {
            continue;
        }
        let Some(at) = RankingBy::ALL.iter().position(|one| *one == by) else { continue };
        for leader in &step.rankings[at].leaders {
            if (leader.bytes as f64) < HEAVY_SHARE * step.totals.bytes as f64 {
                // Leaders are in order.
                break;
            }
            let is_explained = findings.iter().any(|(pair, _)| explains(pair, leader));
            if !is_explained {
                findings.extend(judge(node, step, past, (at, by), leader).map(|finding| (*leader, finding)));
            }
        }
    }
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// Returns true if most bytes of an address are of a conversation.
fn explains(pair: &Leader, leader: &Leader) -> bool {
    match (pair.key, leader.key) {
        (GroupKey::Pair(one, other), GroupKey::Address(address)) => {
            (one == address || other == address) && pair.bytes as f64 >= EXPLAINED * leader.bytes as f64
        }
        _ => false,
    }
}

fn judge(
    node: &Node,
    step: &Step,
    past: &[&Step],
    (at, by): (usize, RankingBy),
    leader: &Leader,
) -> Option<Finding> {
    let subject = Subject::Group(by, leader.key);
    let share = leader.bytes as f64 / step.totals.bytes as f64;
    // In less than a minute anything may have most for a moment: it must have it for longer.
    let (past, recent) = before_and_recent(step, past);
    let has_share = |step: &&Step| {
        step.rankings[at].bytes(&leader.key).lower as f64 >= HEAVY_SHARE * (step.totals.bytes as f64).max(1.0)
    };
    if !recent.iter().all(has_share) {
        return None;
    }
    let least = HEAVY_BYTES as f64 * part_of_a_minute(step);
    let of_past = |step: &&&Step| {
        // A step without bytes says nothing of shares.
        let all = step.totals.bytes as f64;
        (all != 0.0).then(|| step.rankings[at].bytes(&leader.key).upper as f64 / all)
    };
    let (threshold, before) = match node.entries.ongoing(UnusualRule::Heavy, &subject, step.start_ns) {
        Some(found) => (found.threshold, found.past.clone()),
        None => {
            let most = past.iter().filter_map(|step| of_past(&step)).fold(0.0, f64::max);
            ((TIMES_OWN_PAST * most).max(HEAVY_SHARE), (Value::from(most), span_of(past)))
        }
    };
    if share < threshold || (leader.bytes as f64) < least {
        return None;
    }
    let past_words = match before.0 {
        Value::Float(most) if most > 0.0 => format!("at most {}", percent(most)),
        _ => "none".to_owned(),
    };
    Some(Finding {
        rule: UnusualRule::Heavy,
        subject,
        span: step.span(),
        weight: share / threshold,
        figure: Figure("share", "share", share.into()),
        threshold,
        why: match threshold > HEAVY_SHARE {
            true => format!("{TIMES_OWN_PAST} times its own largest share of the hour before"),
            false => format!("{} of all bytes", percent(HEAVY_SHARE)),
        },
        past: before,
        figures: vec![
            Figure::bounded("bytes", "bytes", leader.bounded()),
            Figure::bounded("packets", "packets", leader.bounded_packets()),
        ],
        text: format!(
            "{} has {} of all bytes, {}; in the hour before it had {past_words}",
            name(&leader.key),
            percent(share),
            bytes(leader.bytes)
        ),
    })
}
