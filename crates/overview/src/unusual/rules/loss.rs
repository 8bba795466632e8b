//! Losses: of a node before it reads packets, and of connections.

use super::{part_of_a_minute, span_of};
use crate::entries::{Figure, Finding, Subject};
use crate::node::Node;
use crate::step::Step;
use crate::thresholds::{FLOW_LOSS, FLOW_LOST_BYTES, FLOW_LOST_LEAST, NODE_LOSS, NODE_LOST_PACKETS};
use crate::traffic::LosingFlow;
use crate::unusual::text::{bytes, grouped, name, percent};
use model::Value;
use model::view::unusual::UnusualRule;

/// Finds losses.
pub(in crate::unusual) fn loss(node: &Node, step: &Step, past: &[&Step]) -> Vec<Finding> {
    let flows = step.losing.iter().filter_map(|flow| of_flow(step, flow, past));
    of_node(node, step, past).into_iter().chain(flows).collect()
}

/// Returns the share of the packets of a step that were lost before they were read.
fn share(step: &Step) -> Option<(u64, f64)> {
    let lost = step.totals.lost()?;
    Some((lost, 1.0 - model::coverage(step.totals.frames.received, lost)))
}

fn of_node(node: &Node, step: &Step, past: &[&Step]) -> Option<Finding> {
    let (lost, lost_share) =
        share(step).filter(|(lost, share)| *lost >= NODE_LOST_PACKETS && *share >= NODE_LOSS)?;
    let before = past.iter().filter_map(|step| share(step)).map(|(_, share)| share).reduce(f64::max);
    Some(Finding {
        rule: UnusualRule::Loss,
        subject: Subject::Node,
        span: step.span(),
        weight: lost_share / NODE_LOSS,
        figure: Figure("lost", "share", lost_share.into()),
        threshold: NODE_LOSS,
        why: format!("{} of the packets, and {NODE_LOST_PACKETS} of them", percent(NODE_LOSS)),
        past: (before.into(), span_of(past)),
        figures: vec![
            Figure::count("lost", "packets", lost),
            Figure::count("received", "packets", step.totals.frames.received),
        ],
        text: format!(
            "{} lost {} packets, {}, before it read them",
            node.name,
            grouped(lost),
            percent(lost_share)
        ),
    })
}

fn of_flow(step: &Step, flow: &LosingFlow, past: &[&Step]) -> Option<Finding> {
    let least = ((FLOW_LOST_BYTES as f64 * part_of_a_minute(step)) as u64).max(FLOW_LOST_LEAST);
    let of = |flow: &LosingFlow| flow.lost as f64 / (flow.lost + flow.bytes).max(1) as f64;
    let lost_share = of(flow);
    if flow.lost < least || lost_share < FLOW_LOSS {
        return None;
    }
    // A flow that is not among those that lost most may have lost a little.
    let known = past.iter().filter_map(|step| step.losing.iter().find(|other| other.key == flow.key));
    let before = known.map(of).reduce(f64::max);
    let span = before.and(span_of(past));
    Some(Finding {
        rule: UnusualRule::Loss,
        subject: Subject::Flow(flow.key),
        span: step.span(),
        weight: lost_share / FLOW_LOSS,
        figure: Figure("lost", "share", lost_share.into()),
        threshold: FLOW_LOSS,
        why: format!("{} of the bytes, and {} in a step", percent(FLOW_LOSS), bytes(least)),
        past: (before.map_or(Value::Null, Value::from), span),
        figures: vec![Figure::count("lost", "bytes", flow.lost), Figure::count("bytes", "bytes", flow.bytes)],
        text: format!("{} lost or sent again {}, {}", name(&flow.key), bytes(flow.lost), percent(lost_share)),
    })
}
