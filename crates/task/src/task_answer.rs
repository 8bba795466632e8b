//! The answer of a measurement task for one window.

use crate::shape::Shape;
use crate::size_bins::{SizeBins, SizeClass};
use flow::{Estimate, Field, Untold};
use model::{Answer, AnswerStatus, Class, Column, ColumnKind, Span, TaskNote, Value};
use packet::{FlowKey, KeySpec};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The begin of the status of a change that is not answered because its own window was watched only in part.
pub(crate) const NOT_COMPARED: &str = "not compared";

/// The column that says where a row's key is not certain.
const KEY_CERTAIN: &str = "key_certain";
/// The reason why keys are not certain, for an answer whose columns leave no place for [`KEY_CERTAIN`] too.
const UNCHECKED: &str = "keys are not certain: this structure does not check them, and a row may name another flow than the one that it counted";

/// The answer of one task for one window.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskAnswer {
    /// The kind of task: `heavy_hitters`, `entropy`, …
    pub name: &'static str,
    /// The way in which the task was counted.
    pub note: TaskNote,
    /// `ok`, or what keeps the answer from being complete.
    pub status: String,
    /// True if all that the answer is made of was counted in tables that had room for everything. Its rows, if they have bounds, say more.
    pub is_exact: bool,
    /// The answer.
    pub rows: TaskRows,
    /// Numbers of packets and records that did not tell what it depends on.
    pub untold: Untold,
    /// The query that it answers.
    pub shape: Option<Arc<Shape>>,
}

/// The rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskRows {
    /// Flows with a figure each, the largest first.
    Flows {
        /// The definition of their keys.
        key: KeySpec,
        /// The name of the figure: `total_count`, `total_byte`, `contacts`, `change`.
        figure: &'static str,
        /// True if the flows are prefixes of a hierarchy.
        is_hierarchy: bool,
        /// True if what a row has counted is its key's; else flows that share its counter may have as much of it.
        keys_are_certain: bool,
        /// The flows.
        flows: Vec<EstimatedFlow>,
        /// The number of further ones that belong here, as far as is known.
        more: u64,
        /// The most that any flow has that is not listed; `None` where nothing certain bounds it.
        most_unlisted: Option<u64>,
    },
    /// Sizes of flows.
    Sizes {
        /// The classes of sizes that reports show.
        bins: SizeBins,
        /// Sizes in packets, ascending, and how many flows have each.
        sizes: Vec<(u64, f64)>,
    },
    /// Bits; `None` if nothing was counted.
    Entropy(Option<Estimate>),
    /// The number of distinct values.
    Distinct(Estimate),
    /// The sum over all keys of their weight in one stream times their weight in another.
    Inner {
        /// The sum.
        product: Estimate,
        /// The weights of both streams.
        totals: [u64; 2],
        /// The name of what is weighed: `total_count` or `total_byte`.
        figure: &'static str,
    },
    /// Values by the share of packets that do not lie above them.
    Quantiles {
        /// The field that they are of.
        of: &'static str,
        /// The quantiles by share, IPv4 first.
        quantiles: Vec<QuantileRow>,
    },
}

/// A flow and its figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedFlow {
    /// The flow.
    pub key: FlowKey,
    /// The length of a prefix in a hierarchy.
    pub prefix: Option<u8>,
    /// The figure of the flow.
    pub estimate: Estimate,
    /// The remainder of the figure of a prefix in a hierarchy, without the heavy prefixes below it.
    pub own: Option<Estimate>,
}

/// A quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileRow {
    /// Share of the packets, from 0 to 1, that do not lie above the value.
    pub share: f64,
    /// The value.
    pub value: Point,
    /// The values between which the true one lies, and the probability.
    pub bounds: Option<(Point, Point, f64)>,
}

/// The networks of this prefix that the addresses of a key lie in.
pub fn network_of(key: &FlowKey, prefix: u8) -> FlowKey {
    let length = u32::from(prefix);
    let cut = |address: IpAddr| match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    };
    FlowKey { src_addr: key.src_addr.map(cut), dst_addr: key.dst_addr.map(cut), ..*key }
}

/// A value that quantiles are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A port, a length.
    Number(u64),
    /// An address; of IPv6 the first one with these 48 bits.
    Address(IpAddr),
}

impl From<Point> for Value {
    fn from(point: Point) -> Self {
        match point {
            Point::Number(number) => number.into(),
            Point::Address(address) => address.into(),
        }
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// The lengths that this member of keys is truncated to, of IPv4 and IPv6; `None` if it is whole, or no
/// address.
fn prefix_lengths(key: &KeySpec, member: &str) -> Option<[u8; 2]> {
    key.prefix_lengths(member).filter(|lengths| *lengths != [32, 128])
}

impl TaskRows {
    /// The least probability with which the bounds of all rows hold, and whether all are exact; `None` if a
    /// row has none.
    fn confidence(&self) -> Option<(f64, bool)> {
        let of = |estimate: &Estimate| {
            let bounds = estimate.bounds?;
            Some((bounds.confidence, bounds.lower == bounds.upper && bounds.confidence >= 1.0))
        };
        let all = |a: (f64, bool), b: (f64, bool)| (a.0.min(b.0), a.1 && b.1);
        let mut rows: Box<dyn Iterator<Item = Option<(f64, bool)>>> = match self {
            Self::Flows { flows, .. } => Box::new(flows.iter().map(|flow| of(&flow.estimate))),
            Self::Sizes { .. } => return None,
            Self::Entropy(bits) => Box::new(bits.iter().map(of)),
            Self::Distinct(figure) | Self::Inner { product: figure, .. } => {
                Box::new(std::iter::once(of(figure)))
            }
            Self::Quantiles { quantiles, .. } => Box::new(quantiles.iter().map(|row| {
                let (lower, upper, confidence) = row.bounds?;
                Some((confidence, lower == upper && confidence >= 1.0))
            })),
        };
        let first = rows.next()??;
        rows.try_fold(first, |sum, row| Some(all(sum, row?)))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Flows { flows, .. } => flows.len(),
            Self::Sizes { bins, sizes } => bins.classes(sizes).len(),
            Self::Entropy(bits) => usize::from(bits.is_some()),
            Self::Distinct(_) | Self::Inner { .. } => 1,
            Self::Quantiles { quantiles, .. } => quantiles.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        let estimate = |name: &str, unit: &str| Column::new(name, ColumnKind::Estimate, unit);
        match self {
            &Self::Flows { key, figure, is_hierarchy, keys_are_certain, .. } => {
                let member = |name| {
                    let column = Field::named(name).map(Column::from_field);
                    let column = column.unwrap_or_else(|| Column::new(name, ColumnKind::Text, ""));
                    let is_prefix = is_hierarchy || prefix_lengths(&key, name).is_some();
                    match (column.kind, is_prefix) {
                        (ColumnKind::Address, true) => Column { kind: ColumnKind::Prefix, ..column },
                        _ => column,
                    }
                };
                let unit = Field::named(figure).map_or("", |field| field.unit);
                let own = is_hierarchy.then(|| estimate("own", unit));
                let certain = (!keys_are_certain).then(|| Column::new(KEY_CERTAIN, ColumnKind::Text, ""));
                key.columns().map(member).chain(certain).chain([estimate(figure, unit)]).chain(own).collect()
            }
            Self::Sizes { bins, .. } => {
                let flows = if bins.are_counted() { ColumnKind::Unsigned } else { ColumnKind::Float };
                vec![
                    Column::new("size_from", ColumnKind::Unsigned, "packets"),
                    Column::new("size_to", ColumnKind::Unsigned, "packets"),
                    Column::new("flows", flows, "flows"),
                ]
            }
            Self::Entropy(_) => vec![estimate("bits", "bits")],
            Self::Distinct(_) => vec![estimate("distinct", "")],
            Self::Inner { figure, .. } => {
                let unit = Field::named(figure).map_or("", |field| field.unit);
                let total = |name: &str| Column::new(name, ColumnKind::Unsigned, unit);
                vec![estimate("inner", ""), total("total_a"), total("total_b")]
            }
            &Self::Quantiles { of, .. } => {
                let field = Field::named(of).map(Column::from_field);
                let value = field.unwrap_or_else(|| Column::new(of, ColumnKind::Unsigned, ""));
                let bound = |name: &str| Column { name: name.to_owned(), ..value.clone() };
                let (lower, upper) = (bound("lower"), bound("upper"));
                vec![Column::new("share", ColumnKind::Float, ""), value, lower, upper]
            }
        }
    }

    fn rows(&self) -> Vec<Vec<Value>> {
        match self {
            Self::Flows { key, flows, keys_are_certain, .. } => {
                let certain = (!keys_are_certain).then_some(Value::from("no"));
                let row = |flow: &EstimatedFlow| {
                    let member = |name| {
                        let value = Value::from_key(&flow.key, name).unwrap_or_default();
                        let Value::Address(address) = value else { return value };
                        let of_key = prefix_lengths(key, name);
                        let of_key = of_key.map(|[v4, v6]| if address.is_ipv4() { v4 } else { v6 });
                        match flow.prefix.or(of_key) {
                            Some(length) => Value::Prefix { address, length },
                            None => value,
                        }
                    };
                    let own = flow.own.map(Value::from);
                    let figures = [flow.estimate.into()].into_iter().chain(own);
                    key.columns().map(member).chain(certain.clone()).chain(figures).collect()
                };
                flows.iter().map(row).collect()
            }
            Self::Sizes { bins, sizes } => {
                let flows = |flows: f64| match bins.are_counted() {
                    true => Value::Unsigned(flows as u64),
                    false => Value::Float(flows),
                };
                let row = |class: SizeClass| vec![class.least.into(), class.most.into(), flows(class.flows)];
                bins.classes(sizes).into_iter().map(row).collect()
            }
            Self::Entropy(bits) => bits.iter().map(|bits| vec![(*bits).into()]).collect(),
            Self::Distinct(values) => vec![vec![(*values).into()]],
            Self::Inner { product, totals: [a, b], .. } => {
                vec![vec![(*product).into(), (*a).into(), (*b).into()]]
            }
            Self::Quantiles { quantiles, .. } => {
                let row = |row: &QuantileRow| {
                    let bounds = row.bounds.map(|(lower, upper, _)| [lower.into(), upper.into()]);
                    let [lower, upper] = bounds.unwrap_or_default();
                    vec![row.share.into(), row.value.into(), lower, upper]
                };
                quantiles.iter().map(row).collect()
            }
        }
    }
}

impl TaskAnswer {
    /// The bounds of the figures, in words. If the loss is known ([`TaskNote::lost`]) they are about the
    /// wire, else about what was seen.
    pub fn bounds(&self) -> Cow<'static, str> {
        let Some((confidence, is_exact)) = self.rows.confidence() else {
            // Without rows, and where rows have no bounds of their own.
            return Cow::Borrowed(if self.is_exact && self.status == "ok" { "exact" } else { "none" });
        };
        match (is_exact, confidence) {
            (true, _) => Cow::Borrowed("exact"),
            (_, confidence) if confidence >= 1.0 => Cow::Borrowed("certain"),
            _ => Cow::Owned(format!("each with a probability of {confidence:.3}")),
        }
    }
}

impl TaskAnswer {
    /// Forgets how far the figures are off: what is missing may be anything.
    pub(crate) fn forget_bounds(&mut self) {
        self.is_exact = false;
        match &mut self.rows {
            TaskRows::Flows { flows, most_unlisted, .. } => {
                *most_unlisted = None;
                for flow in flows {
                    flow.estimate.bounds = None;
                    flow.own.iter_mut().for_each(|own| own.bounds = None);
                }
            }
            TaskRows::Entropy(bits) => bits.iter_mut().for_each(|bits| bits.bounds = None),
            TaskRows::Distinct(figure) | TaskRows::Inner { product: figure, .. } => figure.bounds = None,
            TaskRows::Quantiles { quantiles, .. } => quantiles.iter_mut().for_each(|row| row.bounds = None),
            TaskRows::Sizes { .. } => {}
        }
    }

    /// Notes that these numbers of packets and records did not tell what the answer depends on: what they counted may belong to other rows.
    pub(crate) fn mark_untold(&mut self, untold: &Untold) {
        if !untold.is_none() {
            self.forget_bounds();
            self.untold = *untold;
        }
    }

    /// The answer as reports have it.
    pub fn into_answer(self, window: Option<Span>) -> Answer {
        let mut answer = Answer::new(self.name, window, self.rows.columns(), self.rows.rows());
        answer.class = Class::Sketch;
        answer.bounds = self.bounds().into_owned();
        if self.status != "ok" {
            let is_cut = self.status.starts_with(NOT_COMPARED);
            answer.status = if is_cut { AnswerStatus::Cut } else { AnswerStatus::Partial };
            answer.reason = Some(self.status);
        }
        if matches!(&self.rows, TaskRows::Flows { keys_are_certain: false, flows, .. } if !flows.is_empty()) {
            answer.remark(UNCHECKED);
        }
        answer.mark_untold(&self.untold);
        let (more, most_unlisted) = match self.rows {
            TaskRows::Flows { more, most_unlisted, .. } => (more, most_unlisted),
            _ => (0, None),
        };
        answer.task = Some(TaskNote { most_unlisted, ..self.note });
        match self.shape {
            Some(shape) => shape.shaped(answer, more),
            None => answer,
        }
    }
}
