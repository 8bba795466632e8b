//! What a node tells its controller of its traffic.

use crate::group_key::KeyShape;
use crate::step::Step;
use model::view::unusual::{
    RuleState, UnusualEntry, UnusualFigure, UnusualPast, UnusualRule, UnusualThreshold,
};
use model::{Column, ColumnKind, Item, Span, Value};
use serde::{Deserialize, Serialize};

/// The number of entries that a node tells.
pub(crate) const ENTRIES: usize = 50;
/// Why a node has no rankings, where it does not send why.
const WITHOUT_ROWS: &str = "windows of the node do not tell their rows apart";

/// What a node tells its controller of its traffic: the steps that are over since it told it last, and what is unusual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficReport {
    pub(crate) shape: ShapeReport,
    /// The steps, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<Step>,
    /// What is unusual now; `None` where that is as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unusual: Option<UnusualReport>,
}

/// The parts of the keys of flows that groups are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShapeReport {
    pub(crate) source: Option<[u8; 2]>,
    pub(crate) destination: Option<[u8; 2]>,
    pub(crate) ports: bool,
    pub(crate) protocol: bool,
    /// True if there are rankings.
    pub(crate) rows: bool,
}

impl From<KeyShape> for ShapeReport {
    fn from(shape: KeyShape) -> Self {
        let KeyShape { source, destination, has_ports, has_protocol, without_rows } = shape;
        Self { source, destination, ports: has_ports, protocol: has_protocol, rows: without_rows.is_none() }
    }
}

impl From<ShapeReport> for KeyShape {
    fn from(shape: ShapeReport) -> Self {
        let ShapeReport { source, destination, ports, protocol, rows } = shape;
        let without_rows = (!rows).then_some(WITHOUT_ROWS);
        Self { source, destination, has_ports: ports, has_protocol: protocol, without_rows }
    }
}

/// What is unusual on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnusualReport {
    /// The states of the rules, in their order, each with its reason.
    pub(crate) rules: Vec<(RuleState, Option<String>)>,
    /// The newest entries.
    pub(crate) entries: Vec<EntryReport>,
    /// The number of the others.
    #[serde(default)]
    pub(crate) unlisted: u64,
}

/// An entry. Values are with their columns, so that they are read as what they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EntryReport {
    pub(crate) rule: UnusualRule,
    pub(crate) by: String,
    pub(crate) key: Vec<Item>,
    pub(crate) since_ns: u64,
    pub(crate) until_ns: Option<u64>,
    pub(crate) window: Span,
    pub(crate) figure: Item,
    pub(crate) threshold: f64,
    pub(crate) why: String,
    pub(crate) past: (Item, Option<Span>),
    pub(crate) figures: Vec<Item>,
    pub(crate) text: String,
}

/// Returns a figure as a column and its value.
fn figure_item(name: &str, unit: &str, value: &Value) -> Item {
    let kind = match value {
        Value::Float(_) => ColumnKind::Float,
        Value::Estimate { .. } => ColumnKind::Estimate,
        _ => ColumnKind::Unsigned,
    };
    Item { column: Column::new(name, kind, unit), value: value.clone() }
}

fn figure_of(item: Item) -> UnusualFigure {
    UnusualFigure { name: item.column.name, unit: item.column.unit, value: item.value }
}

impl From<UnusualEntry> for EntryReport {
    fn from(entry: UnusualEntry) -> Self {
        let of_figure = |figure: &UnusualFigure| figure_item(&figure.name, &figure.unit, &figure.value);
        Self {
            rule: entry.rule,
            by: entry.by,
            since_ns: entry.since_ns,
            until_ns: entry.until_ns,
            window: entry.window,
            figure: of_figure(&entry.figure),
            threshold: entry.threshold.value,
            why: entry.threshold.why,
            past: (figure_item("past", &entry.figure.unit, &entry.past.value), entry.past.window),
            figures: entry.figures.iter().map(of_figure).collect(),
            key: entry.key,
            text: entry.text,
        }
    }
}

impl EntryReport {
    /// Returns the entry of a node as it is shown.
    pub(crate) fn view(self, node: &str) -> UnusualEntry {
        let id = crate::entries::identifier(self.rule, node, &self.key, self.since_ns);
        UnusualEntry {
            id,
            rule: self.rule,
            node: Some(node.to_owned()),
            by: self.by,
            key: self.key,
            since_ns: self.since_ns,
            until_ns: self.until_ns,
            window: self.window,
            figure: figure_of(self.figure),
            threshold: UnusualThreshold { value: self.threshold, why: self.why },
            past: UnusualPast { value: self.past.0.value, window: self.past.1 },
            figures: self.figures.into_iter().map(figure_of).collect(),
            text: self.text,
        }
    }
}
