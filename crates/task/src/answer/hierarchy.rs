//! Hierarchical heavy hitters: prefixes that are heavy even without the heavy prefixes below them (Cormode,
//! Korn, Muthukrishnan, Srivastava, VLDB 2003; with a structure for each length, Mitzenmacher, Steinke,
//! Thaler 2011).

use super::{AnswerInput, QualifiedRows, flows, ranked};
use crate::task_answer::{EstimatedFlow, network_of};
use crate::tasks::HierarchyLevel;
use flow::{Bounds, Estimate};
use packet::FlowKey;
use std::collections::BTreeMap;

/// Heavy prefixes that are not yet covered by a longer one.
type Uncovered = Vec<(FlowKey, Estimate)>;

pub(super) fn rows(asked: &AnswerInput<'_>) -> QualifiedRows {
    let threshold = asked.threshold(asked.state().total());
    let (mut found, mut uncovered, mut is_cut_short) = (Vec::new(), Uncovered::new(), false);
    // The longest prefixes are first.
    for (number, level) in asked.task.levels.iter().enumerate() {
        // All of them: what is left of one depends on those below it.
        let heavy = flows::find_in_both(asked, number, threshold, usize::MAX);
        is_cut_short |= heavy.is_cut_short;
        let mut below: BTreeMap<FlowKey, Vec<(FlowKey, Estimate)>> = BTreeMap::new();
        for (key, estimate) in uncovered.drain(..) {
            below.entry(prefix_of(&key, level)).or_default().push((key, estimate));
        }
        for (key, estimate) in heavy.flows {
            let covered = below.remove(&key).unwrap_or_default();
            let own = covered.iter().fold(estimate, |left, (_, part)| less(left, part));
            // By the upper bound, so that everything that may belong here is included (Mitzenmacher et al.
            // 2011).
            if own.bounds.map_or(own.value, |bounds| bounds.upper) < threshold as f64 {
                below.insert(key, covered);
                continue;
            }
            let prefix = prefix_length(&key, level);
            found.push(EstimatedFlow { key, prefix, estimate, own: Some(own) });
            uncovered.push((key, estimate));
        }
        // What is heavy below a prefix that is not counts against the next one above.
        uncovered.extend(below.into_values().flatten());
    }
    ranked(asked, asked.figure(), (found, 0), is_cut_short, |_| true)
}

/// Returns the remainder of an estimate without a part of it.
fn less(whole: Estimate, part: &Estimate) -> Estimate {
    let both = whole.bounds.zip(part.bounds);
    let bounds = both.map(|(whole, part)| Bounds {
        lower: (whole.lower - part.upper).max(0.0),
        upper: whole.upper - part.lower,
        // Both hold at once.
        confidence: (whole.confidence + part.confidence - 1.0).max(0.0),
    });
    Estimate { value: whole.value - part.value, bounds }
}

/// The prefix of this level that a longer one lies in.
fn prefix_of(key: &FlowKey, level: &HierarchyLevel) -> FlowKey {
    prefix_length(key, level).map_or(*key, |length| network_of(key, length))
}

fn prefix_length(key: &FlowKey, level: &HierarchyLevel) -> Option<u8> {
    let is_v6 = key.src_addr.or(key.dst_addr).is_some_and(|address| address.is_ipv6());
    level.prefix.map(|length| if is_v6 { 4 * length } else { length })
}
