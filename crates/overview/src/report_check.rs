//! What a message may say of traffic. A probe may be faulty, or something that pretends to be one.

use crate::group_key::KeyShape;
use crate::ranking::{GROUPS, Ranking};
use crate::report::{ENTRIES, EntryReport, ShapeReport, TrafficReport, UnusualReport};
use crate::step::{REASONS, Step};
use model::view::now::RankingBy;
use model::view::unusual::UnusualRule;
use model::{Counters, Item, Value};
use std::collections::HashSet;

/// The most bytes or packets of a step: sums of a thousand nodes over hours are still numbers.
const MOST_COUNT: u64 = 1 << 48;
/// The lengths of a step that it may have been watched: windows may end after it.
pub(crate) const MOST_WATCHED: u64 = 2;
/// What is wrong with a step that was watched longer.
pub(crate) const WATCHED_TOO_LONG: &str = "a step was watched longer than it lasts: two probes have its name";
/// The names of counters of a step, and their characters.
const COUNTERS: usize = 64;
const LONGEST_NAME: usize = 80;
/// The characters of a text.
const LONGEST_TEXT: usize = 500;
/// The members of a key, and the further figures of an entry.
const MEMBERS: usize = 5;
const FIGURES: usize = 8;
/// The names of the members of keys.
const NAMES: [&str; 9] =
    ["src_addr", "dst_addr", "addr_a", "addr_b", "src_port", "dst_port", "protocol", "port", "node_id"];
/// The kinds of what an entry is about.
const SUBJECTS: [&str; 7] = ["source", "destination", "conversation", "port", "protocol", "flow", "node"];

/// What of a report is taken.
#[derive(Debug, Default)]
pub(crate) struct CheckedReport {
    pub(crate) shape: KeyShape,
    pub(crate) steps: Vec<Step>,
    pub(crate) unusual: Option<UnusualReport>,
    /// The number of steps, and of lists of what is unusual, that are refused, and why the first one is.
    pub(crate) refused: (u64, Option<&'static str>),
}

impl CheckedReport {
    pub(crate) fn refuse(&mut self, number: u64, wrong: &'static str) {
        self.refused.0 += number;
        self.refused.1.get_or_insert(wrong);
    }
}

impl TrafficReport {
    /// Returns what can be believed, and what is wrong with the rest. `step_ns`: the length of steps; `until_ns`: the end of the window with which it came.
    pub(crate) fn checked(self, node: &str, step_ns: u64, until_ns: u64) -> CheckedReport {
        let mut checked = CheckedReport::default();
        if let Some(wrong) = wrong_shape(&self.shape) {
            checked.refuse(self.steps.len() as u64 + u64::from(self.unusual.is_some()), wrong);
            return checked;
        }
        let shape = KeyShape::from(self.shape);
        checked.shape = shape;
        for step in self.steps {
            match wrong_step(&step, &shape, step_ns, until_ns) {
                Some(wrong) => checked.refuse(1, wrong),
                None => checked.steps.push(step),
            }
        }
        if let Some(unusual) = self.unusual {
            match wrong_unusual(&unusual, node) {
                Some(wrong) => checked.refuse(1, wrong),
                None => checked.unusual = Some(unusual),
            }
        }
        checked
    }
}

/// Returns what is wrong with the parts of keys.
fn wrong_shape(shape: &ShapeReport) -> Option<&'static str> {
    let is_wrong = |[v4, v6]: [u8; 2]| v4 > 32 || v6 > 128;
    [shape.source, shape.destination]
        .into_iter()
        .flatten()
        .any(is_wrong)
        .then_some("its prefixes are longer than addresses")
}

/// Returns what is wrong with a step.
fn wrong_step(step: &Step, shape: &KeyShape, step_ns: u64, until_ns: u64) -> Option<&'static str> {
    let totals = &step.totals;
    let counts = [totals.bytes, totals.packets, totals.flows[0], totals.flows[1], totals.tcp_bytes];
    let not_measured = totals.frames.not_measured.total();
    let named = [&totals.frames.not_measured].into_iter().chain(&totals.loss);
    if step.length_ns != step_ns || !step.start_ns.is_multiple_of(step_ns.max(1)) {
        return Some("its steps have another length");
    }
    if step.start_ns.checked_add(step_ns).is_none_or(|end_ns| end_ns > until_ns) {
        return Some("a step ends after the window with which it came");
    }
    if totals.watched_ns > MOST_WATCHED.saturating_mul(step_ns) {
        return Some(WATCHED_TOO_LONG);
    }
    if counts
        .into_iter()
        .chain(totals.tcp_lost)
        .chain([totals.frames.received])
        .any(|count| count > MOST_COUNT)
        || totals.flows[0] > totals.flows[1]
    {
        return Some("its sums are none of a step");
    }
    if totals.frames.measured.checked_add(not_measured) != Some(totals.frames.received) {
        return Some("its account does not add up");
    }
    if !totals.frames.remarks.0.is_empty() {
        return Some("its account has remarks, which are none of a step");
    }
    if named.into_iter().any(is_wrong_names) {
        return Some("its counters have too many names, or too long ones");
    }
    if step.reasons.len() > REASONS || step.reasons.iter().any(|reason| is_wrong_text(reason)) {
        return Some("it lacks something for no reason in one line");
    }
    let all = [totals.bytes, totals.packets];
    let mut rankings = RankingBy::ALL.into_iter().zip(&step.rankings);
    rankings.find_map(|(by, ranking)| wrong_ranking(by, ranking, shape, all, totals.is_estimate))
}

fn is_wrong_names(counters: &Counters) -> bool {
    counters.0.len() > COUNTERS || counters.0.iter().any(|(name, _)| is_wrong_name(name))
}

fn is_wrong_name(name: &str) -> bool {
    name.len() > LONGEST_NAME || name.chars().any(char::is_control)
}

fn is_wrong_text(text: &str) -> bool {
    text.chars().count() > LONGEST_TEXT || text.chars().any(char::is_control)
}

fn wrong_ranking(
    by: RankingBy,
    ranking: &Ranking,
    shape: &KeyShape,
    all: [u64; 2],
    is_estimate: bool,
) -> Option<&'static str> {
    let leaders = &ranking.leaders;
    if leaders.len() > GROUPS || !leaders.is_empty() && shape.refuses(by).is_some() {
        return Some("it ranks too many groups, or some that its flows do not have");
    }
    let mut seen = HashSet::new();
    if !leaders.iter().all(|leader| leader.key.is_of(by) && seen.insert(leader.key)) {
        return Some("it ranks groups of another kind, or one of them twice");
    }
    let sum = |of: fn(&crate::ranking::Leader) -> u64| {
        leaders.iter().try_fold(0_u64, |sum, leader| sum.checked_add(of(leader)))
    };
    // Estimates are rounded one by one.
    let slack = if is_estimate { leaders.len() as u64 } else { 0 };
    let fits = |sum: Option<u64>, all: u64| sum.is_some_and(|sum| sum <= all.saturating_add(slack));
    let more = leaders.iter().map(|leader| leader.more).chain([ranking.others]);
    let is_more = |more: [u64; 2]| [0, 1].into_iter().any(|at| more[at] > all[at].saturating_add(1));
    if !fits(sum(|leader| leader.bytes), all[0])
        || !fits(sum(|leader| leader.packets), all[1])
        || more.into_iter().any(is_more)
    {
        return Some("its groups have more than all");
    }
    None
}

/// Returns what is wrong with what is said to be unusual on a node.
fn wrong_unusual(unusual: &UnusualReport, node: &str) -> Option<&'static str> {
    let UnusualReport { rules, entries, .. } = unusual;
    let reasons = rules.iter().filter_map(|(_, reason)| reason.as_deref());
    if rules.len() != UnusualRule::ALL.len() || reasons.into_iter().any(is_wrong_text) {
        return Some("its rules are others");
    }
    if entries.len() > ENTRIES {
        return Some("it lists more that is unusual than a node does");
    }
    entries.iter().any(|entry| is_wrong_entry(entry, node)).then_some("what it says is unusual is malformed")
}

fn is_wrong_entry(entry: &EntryReport, node: &str) -> bool {
    let EntryReport { by, key, figure, past, figures, why, text, window, .. } = entry;
    let mut items = figures.iter().chain([figure, &past.0]);
    let is_wrong_member = |Item { column, value }: &Item| {
        !NAMES.contains(&column.name.as_str())
            || is_wrong_name(&column.unit)
            || match value {
                Value::Address(_) | Value::Prefix { .. } | Value::Unsigned(_) => false,
                // The name of the node is its own.
                Value::Text(name) => column.name != "node_id" || name != node,
                _ => true,
            }
    };
    let is_wrong_figure = |Item { column, value }: &Item| {
        let is_number =
            matches!(value, Value::Null | Value::Unsigned(_) | Value::Float(_) | Value::Estimate { .. });
        !is_number || is_wrong_name(&column.name) || is_wrong_name(&column.unit)
    };
    !SUBJECTS.contains(&by.as_str())
        || key.is_empty()
        || key.len() > MEMBERS
        || key.iter().any(is_wrong_member)
        || figures.len() > FIGURES
        || items.any(is_wrong_figure)
        || is_wrong_text(why)
        || is_wrong_text(text)
        || window.start_ns > window.end_ns
        || !entry.threshold.is_finite()
}
