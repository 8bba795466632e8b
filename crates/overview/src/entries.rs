//! Entries: what is unusual, from the step in which it begins to the hour after it ends.

use crate::bounded::Bounded;
use crate::group_key::{GroupKey, KeyShape, item};
use crate::thresholds::PAST_NS;
use model::view::now::RankingBy;
use model::view::unusual::{UnusualEntry, UnusualFigure, UnusualPast, UnusualRule, UnusualThreshold};
use model::{Item, Span, Value};

/// The number of entries that are kept of a node.
const KEPT: usize = 200;

/// The subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A group of a ranking.
    Group(RankingBy, GroupKey),
    /// A flow.
    Flow(GroupKey),
    /// The node.
    Node,
}

impl Subject {
    fn by(&self) -> &'static str {
        match self {
            Self::Group(by, _) => by.name(),
            Self::Flow(_) => "flow",
            Self::Node => "node",
        }
    }
}

/// A figure: its name, its unit and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure(pub(crate) &'static str, pub(crate) &'static str, pub(crate) Value);

impl Figure {
    pub(crate) fn count(name: &'static str, unit: &'static str, count: u64) -> Self {
        Self(name, unit, count.into())
    }

    pub(crate) fn bounded(name: &'static str, unit: &'static str, count: Bounded) -> Self {
        Self(name, unit, count.value())
    }

    fn view(&self) -> UnusualFigure {
        UnusualFigure { name: self.0.to_owned(), unit: self.1.to_owned(), value: self.2.clone() }
    }
}

/// The finding of a rule in a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) rule: UnusualRule,
    pub(crate) subject: Subject,
    pub(crate) span: Span,
    /// The distance from the threshold: the greater, the further.
    pub(crate) weight: f64,
    pub(crate) figure: Figure,
    pub(crate) threshold: f64,
    pub(crate) why: String,
    /// The same figure in the past, and the time of that value.
    pub(crate) past: (Value, Option<Span>),
    pub(crate) figures: Vec<Figure>,
    pub(crate) text: String,
}

/// An entry.
#[derive(Clone, Debug)]
struct Entry {
    /// The finding that is furthest from its threshold.
    furthest: Finding,
    since_ns: u64,
    /// The end of the last step in which it was found.
    until_ns: u64,
    is_over: bool,
}

/// The entries of a node, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries(Vec<Entry>);

impl Entries {
    /// Returns the threshold and the past of what is found already, and still is: its past is the hour before it began. After an hour that is
    /// over.
    pub(crate) fn ongoing(&self, rule: UnusualRule, subject: &Subject, at_ns: u64) -> Option<&Finding> {
        let entry = self.0.iter().rev().find(|entry| entry.is_of(rule, subject))?;
        let is_recent = at_ns.saturating_sub(entry.since_ns) < PAST_NS;
        (!entry.is_over && is_recent).then_some(&entry.furthest)
    }

    /// Takes the findings of these rules in a step. `is_open`: more of the step follows, so that nothing ends with it.
    pub(crate) fn take(&mut self, rules: &[UnusualRule], span: Span, findings: Vec<Finding>, is_open: bool) {
        for finding in findings {
            let is_same = |entry: &&mut Entry| !entry.is_over && entry.is_of(finding.rule, &finding.subject);
            match self.0.iter_mut().rev().find(is_same) {
                Some(entry) => {
                    entry.until_ns = entry.until_ns.max(finding.span.end_ns);
                    // The figure of a step that goes on grows.
                    if finding.weight >= entry.furthest.weight {
                        entry.furthest = finding;
                    }
                }
                None => self.0.push(Entry {
                    since_ns: finding.span.start_ns,
                    until_ns: finding.span.end_ns,
                    is_over: false,
                    furthest: finding,
                }),
            }
        }
        let of_rules = self.0.iter_mut().filter(|entry| rules.contains(&entry.furthest.rule));
        for entry in of_rules.filter(|entry| !is_open && entry.until_ns <= span.start_ns) {
            entry.is_over = true;
        }
        self.0.retain(|entry| !entry.is_over || entry.until_ns.saturating_add(PAST_NS) > span.end_ns);
        let more = self.0.len().saturating_sub(KEPT);
        self.0.drain(..more);
    }

    /// Takes note that nothing follows: all that was found is over.
    pub(crate) fn end(&mut self) {
        self.0.iter_mut().for_each(|entry| entry.is_over = true);
    }

    /// Returns the entries of the node of this name and of this definition of flows, as they are shown.
    pub(crate) fn views<'a>(
        &'a self,
        node: &'a str,
        shape: &'a KeyShape,
    ) -> impl Iterator<Item = UnusualEntry> + 'a {
        self.0.iter().map(move |entry| {
            let Finding { rule, subject, span, figure, threshold, why, past, figures, text, .. } =
                &entry.furthest;
            let key = match *subject {
                Subject::Group(by, key) => shape.items(by, key),
                Subject::Flow(key) => shape.items(RankingBy::Source, key),
                Subject::Node => vec![item("node_id", node.into())],
            };
            UnusualEntry {
                id: identifier(*rule, node, &key, entry.since_ns),
                rule: *rule,
                node: Some(node.to_owned()),
                by: subject.by().to_owned(),
                key,
                since_ns: entry.since_ns,
                until_ns: entry.is_over.then_some(entry.until_ns),
                window: *span,
                figure: figure.view(),
                threshold: UnusualThreshold { value: *threshold, why: why.clone() },
                past: UnusualPast { value: past.0.clone(), window: past.1 },
                figures: figures.iter().map(Figure::view).collect(),
                text: text.clone(),
            }
        })
    }
}

impl Entry {
    fn is_of(&self, rule: UnusualRule, subject: &Subject) -> bool {
        self.furthest.rule == rule && self.furthest.subject == *subject
    }
}

/// Returns the identifier of an entry.
pub(crate) fn identifier(rule: UnusualRule, node: &str, key: &[Item], since_ns: u64) -> String {
    let names = key.iter().map(|item| serde_text(&item.value)).collect::<Vec<_>>().join(" ");
    format!("{}:{node}:{names}:{}", rule.name(), model::format_time(since_ns))
}

/// Returns a member of a key as text.
fn serde_text(value: &Value) -> String {
    match value {
        Value::Address(address) => address.to_string(),
        Value::Prefix { address, length } => format!("{address}/{length}"),
        Value::Unsigned(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        _ => String::new(),
    }
}
