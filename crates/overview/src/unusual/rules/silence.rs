//! Sources and nodes that sent steadily and send no more.

use super::{before_and_recent, span_of};
use crate::entries::{Figure, Finding, Subject};
use crate::node::Node;
use crate::step::Step;
use crate::thresholds::{NODE_PACKETS, PAST_STEPS, SILENT_PART, STEADY_SHARE, STEADY_STEPS};
use crate::unusual::text::{bytes, grouped, name, percent};
use model::Value;
use model::view::now::RankingBy;
use model::view::unusual::UnusualRule;

/// The part of a step that must have been watched, so that silence in it is silence.
const WATCHED: f64 = 0.9;

/// Finds what is silent.
pub(in crate::unusual) fn silence(node: &Node, step: &Step, past: &[&Step]) -> Vec<Finding> {
    let is_watched = step.totals.watched_ns as f64 >= WATCHED * step.length_ns as f64;
    // What lacks something is not known to be silent.
    if past.len() < PAST_STEPS || !is_watched || !step.reasons.is_empty() {
        return Vec::new();
    }
    if step.totals.frames.received == 0 && step.totals.packets == 0 {
        return of_node(node, step, past).into_iter().collect();
    }
    if node.shape.refuses(RankingBy::Source).is_some() {
        return Vec::new();
    }
    of_sources(node, step, past)
}

fn of_node(node: &Node, step: &Step, past: &[&Step]) -> Option<Finding> {
    let subject = Subject::Node;
    let found = node.entries.ongoing(UnusualRule::Silence, &subject, step.start_ns);
    let (mean, before) = match found {
        Some(found) => (NODE_PACKETS, found.past.clone()),
        None => {
            let all: u64 = past.iter().map(|step| step.totals.packets).sum();
            let mean = all / past.len() as u64;
            let had_some = past.iter().filter(|step| step.totals.packets != 0).count();
            if (had_some as f64) < STEADY_STEPS * past.len() as f64 {
                return None;
            }
            (mean, (Value::from(mean), span_of(past)))
        }
    };
    (mean >= NODE_PACKETS).then(|| Finding {
        rule: UnusualRule::Silence,
        subject,
        span: step.span(),
        weight: 1.0,
        figure: Figure::count("packets", "packets", 0),
        threshold: 0.0,
        why: "no packet in a step".to_owned(),
        text: match &before.0 {
            Value::Unsigned(mean) => {
                format!(
                    "{} has no packets; in the hour before it had {} in a step",
                    node.name,
                    grouped(*mean)
                )
            }
            _ => format!("{} has no packets", node.name),
        },
        past: before,
        figures: Vec::new(),
    })
}

fn of_sources(node: &Node, step: &Step, past: &[&Step]) -> Vec<Finding> {
    let (past, recent) = before_and_recent(step, past);
    // A source that was steady was among the leaders of the last step in which it sent.
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    let candidates = past.iter().rev().flat_map(|step| {
        let least = STEADY_SHARE * step.totals.bytes as f64;
        step.rankings[0].leaders.iter().take_while(move |leader| leader.bytes as f64 >= least)
    });
    for candidate in candidates {
        if seen.contains(&candidate.key) {
            continue;
        }
        seen.push(candidate.key);
        let subject = Subject::Group(RankingBy::Source, candidate.key);
        let (threshold, before) = match node.entries.ongoing(UnusualRule::Silence, &subject, step.start_ns) {
            Some(found) => (found.threshold, found.past.clone()),
            None => {
                let is_steady = |step: &&&Step| {
                    let bytes = step.rankings[0].bytes(&candidate.key).lower as f64;
                    step.totals.bytes != 0 && bytes >= STEADY_SHARE * step.totals.bytes as f64
                };
                let steady = past.iter().filter(is_steady).count();
                if (steady as f64) < STEADY_STEPS * past.len() as f64 {
                    continue;
                }
                let all: u64 = past.iter().map(|step| step.rankings[0].bytes(&candidate.key).lower).sum();
                let mean = all / past.len() as u64;
                (SILENT_PART * mean as f64, (Value::from(mean), span_of(past)))
            }
        };
        let now = step.rankings[0].bytes(&candidate.key);
        let is_loud = |step: &&Step| step.rankings[0].bytes(&candidate.key).upper as f64 >= threshold;
        if is_loud(&step) || recent.iter().any(is_loud) {
            continue;
        }
        let mean = before.0.as_unsigned().unwrap_or(0);
        findings.push(Finding {
            rule: UnusualRule::Silence,
            subject,
            span: step.span(),
            weight: threshold / (now.upper as f64).max(1.0),
            figure: Figure::bounded("bytes", "bytes", now),
            threshold,
            why: format!("{} of its own mean of the hour before", percent(SILENT_PART)),
            past: before,
            figures: Vec::new(),
            text: format!(
                "{} sent {} in a step; in the hour before it sent {} on average",
                name(&candidate.key),
                if now.upper == 0 { "nothing".to_owned() } else { format!("at most {}", bytes(now.upper)) },
                bytes(mean)
            ),
        });
    }
    findings
}
