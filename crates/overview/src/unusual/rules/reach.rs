//! Scans, and many sources of one destination.

use super::has_whole_addresses;
use crate::entries::{Figure, Finding, Subject};
use crate::group_key::GroupKey;
use crate::history::ReachMinute;
use crate::node::Node;
use crate::reach::{Peers, Reach};
use crate::thresholds::{
    MANY_SOURCES, PAST_NS, PAST_STEPS, SCAN_DESTINATIONS, SCAN_PORTS, SCAN_SILENT, TIMES_OWN_PAST,
};
use crate::unusual::text::{grouped, name};
use model::view::now::RankingBy;
use model::view::unusual::UnusualRule;
use model::{Span, Value};

/// A count of a minute, its threshold, and the greatest one of the hour before.
struct Judged {
    threshold: f64,
    past: (Value, Option<Span>),
    is_over: bool,
}

/// Compares a count with a fixed threshold and with its own past. Of what is found already its past is the hour before it began.
fn judge(
    node: &Node,
    minute: &ReachMinute,
    (rule, subject): (UnusualRule, &Subject),
    (count, least): (u64, u64),
    before: impl Fn(&Reach) -> u64,
) -> Judged {
    if let Some(found) = node.entries.ongoing(rule, subject, minute.span.start_ns) {
        let (threshold, past) = (found.threshold, found.past.clone());
        return Judged { threshold, past, is_over: count as f64 >= threshold };
    }
    let past: Vec<&ReachMinute> = past(node, minute).collect();
    let most = past.iter().map(|minute| before(&minute.reach)).max();
    let threshold = most.map_or(0.0, |most| TIMES_OWN_PAST * most as f64).max(least as f64);
    let span = past
        .first()
        .zip(past.last())
        .map(|(first, last)| Span { start_ns: first.span.start_ns, end_ns: last.span.end_ns });
    Judged { threshold, past: (most.into(), span), is_over: count as f64 >= threshold }
}

/// Returns the minutes of the hour before.
fn past<'a>(node: &'a Node, minute: &'a ReachMinute) -> impl Iterator<Item = &'a ReachMinute> {
    let from_ns = minute.span.start_ns.saturating_sub(PAST_NS);
    let is_past =
        move |one: &&ReachMinute| one.span.start_ns >= from_ns && one.span.start_ns < minute.span.start_ns;
    node.history.minutes.iter().filter(is_past)
}

/// Returns the origin of a threshold.
fn why(threshold: f64, least: u64) -> String {
    match threshold > least as f64 {
        true => format!("{TIMES_OWN_PAST} times its own most of the hour before"),
        false => format!("{least} in a minute"),
    }
}

fn past_words(past: &Value) -> String {
    match past {
        Value::Unsigned(0) => "; it had none in the hour before".to_owned(),
        Value::Unsigned(most) => format!("; its most in the hour before was {}", grouped(*most)),
        _ => String::new(),
    }
}

/// Returns a count of which there may be more.
fn at_least(count: u64, is_cut: bool) -> Value {
    match is_cut {
        true => Value::Estimate { value: count as f64, lower: count as f64, upper: f64::INFINITY },
        false => count.into(),
    }
}

/// A rule about the peers of a group in a minute.
struct PeersRule {
    rule: UnusualRule,
    by: RankingBy,
    /// The least number of peers.
    least: u64,
    /// The name of the number of peers, and of the number of those of them that sent nothing.
    figures: [&'static str; 2],
    /// The most peers of a group in an earlier minute.
    before: fn(&Reach, &GroupKey) -> u64,
}

const SCAN: PeersRule = PeersRule {
    rule: UnusualRule::Scan,
    by: RankingBy::Source,
    least: SCAN_DESTINATIONS,
    figures: ["destinations", "silent"],
    before: Reach::destinations_of,
};

const MANY_TO_ONE: PeersRule = PeersRule {
    rule: UnusualRule::ManyToOne,
    by: RankingBy::Destination,
    least: MANY_SOURCES,
    figures: ["sources", "unanswered"],
    before: Reach::sources_of,
};

impl PeersRule {
    /// Returns the finding about a group, if it has more peers than it may. `words`: what it did.
    fn find(
        &self,
        node: &Node,
        minute: &ReachMinute,
        group: &Peers,
        words: impl FnOnce() -> String,
    ) -> Option<Finding> {
        let subject = Subject::Group(self.by, group.key);
        let judged = judge(node, minute, (self.rule, &subject), (group.peers, self.least), |past| {
            (self.before)(past, &group.key)
        });
        let [peers, silent] = self.figures;
        judged.is_over.then(|| Finding {
            rule: self.rule,
            subject,
            span: minute.span,
            weight: group.peers as f64 / judged.threshold,
            figure: Figure(peers, "addresses", at_least(group.peers, minute.reach.is_cut)),
            threshold: judged.threshold,
            why: why(judged.threshold, self.least),
            text: words() + &past_words(&judged.past.0),
            past: judged.past,
            figures: vec![Figure::count(silent, "addresses", group.silent)],
        })
    }
}

/// Finds sources that reach many destinations without an answer, or many ports of one destination.
pub(in crate::unusual) fn scan(node: &Node, minute: &ReachMinute) -> Vec<Finding> {
    if !has_whole_addresses(node) {
        return Vec::new();
    }
    let reach = &minute.reach;
    let of_source = |source: &Peers| {
        let is_silent = source.silent as f64 >= SCAN_SILENT * source.peers as f64;
        if source.peers < SCAN_DESTINATIONS || !is_silent {
            return None;
        }
        let (peers, silent) = (grouped(source.peers), grouped(source.silent));
        SCAN.find(node, minute, source, || {
            format!(
                "{} reached {peers} addresses in one minute, of which {silent} sent nothing back",
                name(&source.key)
            )
        })
    };
    let mut findings: Vec<Finding> = reach.sources.iter().filter_map(of_source).collect();
    findings.extend(reach.ports.iter().filter_map(|ports| {
        let key = GroupKey::pair(ports.from, ports.to);
        let subject = Subject::Group(RankingBy::Conversation, key);
        let count = u64::from(ports.ports);
        let of = (UnusualRule::Scan, &subject);
        let judged =
            judge(node, minute, of, (count, SCAN_PORTS), |past| past.ports_of(ports.from, ports.to).into());
        let past = match &judged.past.0 {
            // Few ports are not kept.
            Value::Unsigned(most) if *most <= 8 => (Value::Null, None),
            _ => judged.past,
        };
        (judged.is_over && count >= SCAN_PORTS).then(|| Finding {
            rule: UnusualRule::Scan,
            subject,
            span: minute.span,
            weight: count as f64 / judged.threshold,
            // Ports that share a bit are counted once.
            figure: Figure("ports", "ports", at_least(count, true)),
            threshold: judged.threshold,
            why: why(judged.threshold, SCAN_PORTS),
            past,
            figures: Vec::new(),
            text: format!("{} tried at least {count} ports of {} in one minute", ports.from, ports.to),
        })
    }));
    findings
}

/// Finds destinations that many sources reach.
pub(in crate::unusual) fn many_to_one(node: &Node, minute: &ReachMinute) -> Vec<Finding> {
    if !has_whole_addresses(node) {
        return Vec::new();
    }
    let reach = &minute.reach;
    let is_learning = past(node, minute).count() < PAST_STEPS;
    let found = reach.destinations.iter().filter_map(|destination| {
        // As long as little is known of the past, a server is told from a victim by its answers.
        let is_silent = 2 * destination.silent >= destination.peers;
        if destination.peers < MANY_SOURCES || is_learning && !is_silent {
            return None;
        }
        MANY_TO_ONE.find(node, minute, destination, || {
            let peers = grouped(destination.peers);
            format!("{} was reached by {peers} sources in one minute", name(&destination.key))
        })
    });
    found.collect()
}
