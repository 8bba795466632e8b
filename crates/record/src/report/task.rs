//! Answers of measurement tasks (`--task`).

use super::{Query, Span, json_integer, key_member};
use crate::Anonymizer;
use flow::Estimate;
use packet::{FlowKey, KeySpec};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What one task answers of one window.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskAnswer {
    /// What kind of task: `heavy_hitters`, `entropy`, …
    pub name: &'static str,
    /// How it was counted.
    pub note: TaskNote,
    /// `ok`, or what keeps the answer from being whole.
    pub status: String,
    /// The answer.
    pub rows: TaskRows,
}

/// Where an answer comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskNote {
    /// The task as it was asked for.
    pub task: String,
    /// The structure that counted, with its sizes.
    pub structure: String,
    /// Why that one.
    pub why: String,
    /// Memory of one such structure, all address families together, bytes.
    pub memory_bytes: u64,
    /// What was counted in the window: packets, or bytes where the task is about them.
    pub total: Whole,
    /// Packets lost before anybody could count them, which bounds include; `None` where the source cannot know.
    pub lost: Option<u64>,
}

/// An integer that JSON readers get whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole(pub u64);

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json_integer(self.0).serialize(serializer)
    }
}

/// The rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskRows {
    /// Flows with a figure each, the largest first.
    Flows {
        /// What their keys consist of.
        key: KeySpec,
        /// What the figure is: `total_count`, `total_byte`, `contacts`, `change`.
        figure: &'static str,
        /// They are prefixes of a hierarchy.
        is_hierarchy: bool,
        /// The flows.
        flows: Vec<EstimatedFlow>,
    },
    /// Sizes in packets, ascending, and how many flows have each. Reports show them by [`size_classes`].
    Sizes(Vec<(u64, f64)>),
    /// Bits; `None` where nothing was counted.
    Entropy(Option<Estimate>),
    /// Values by the share of packets that do not lie above them.
    Quantiles {
        /// Of what: a field.
        of: &'static str,
        /// By share, IPv4 first.
        quantiles: Vec<QuantileRow>,
    },
}

/// A flow and its figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedFlow {
    /// The flow.
    pub key: FlowKey,
    /// Of a prefix in a hierarchy: its length.
    pub prefix: Option<u8>,
    /// Its figure.
    pub estimate: Estimate,
    /// Of a prefix in a hierarchy: what is left of the figure without the heavy prefixes below it.
    pub own: Option<Estimate>,
}

/// Flows of similar size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeClass {
    /// The smallest size, packets.
    pub least: u64,
    /// The largest size.
    pub most: u64,
    /// How many flows.
    pub flows: f64,
}

/// A quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileRow {
    /// Share of the packets, from 0 to 1, that do not lie above the value.
    pub share: f64,
    /// The value.
    pub value: Point,
    /// Between which values the true one lies, and with which probability.
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

impl Point {
    fn json(self) -> Value {
        match self {
            Self::Number(number) => json_integer(number),
            Self::Address(address) => json!(address),
        }
    }

    fn anonymize(&mut self, anonymizer: &mut Anonymizer) {
        if let Self::Address(address) = self {
            *address = anonymizer.address(*address);
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

/// A figure as JSON has it: whole where it is, `null` where it is not finite.
fn figure(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < u64::MAX as f64 {
        match json_integer(value.abs() as u64) {
            Value::String(digits) if value < 0.0 => json!(format!("-{digits}")),
            _ if value < 0.0 => json!(value as i64),
            whole => whole,
        }
    } else {
        json!(value)
    }
}

/// A figure, its lower and its upper bound.
fn figures(estimate: &Estimate) -> [Value; 3] {
    let bounds = estimate.bounds.map(|bounds| [figure(bounds.lower), figure(bounds.upper)]);
    let [lower, upper] = bounds.unwrap_or_default();
    [figure(estimate.value), lower, upper]
}

/// By powers of two: 1, 2, 3 to 4, 5 to 8, …
pub fn size_classes(sizes: &[(u64, f64)]) -> Vec<SizeClass> {
    let mut classes: Vec<SizeClass> = Vec::new();
    for &(size, flows) in sizes {
        let most = size.checked_next_power_of_two().unwrap_or(u64::MAX);
        match classes.last_mut() {
            Some(class) if class.most == most => class.flows += flows,
            _ => classes.push(SizeClass { least: most / 2 + 1, most, flows }),
        }
    }
    classes
}

impl TaskRows {
    /// The least probability with which the bounds of all rows hold, and whether all are exact; `None` where a row has none.
    fn confidence(&self) -> Option<(f64, bool)> {
        let of = |estimate: &Estimate| {
            let bounds = estimate.bounds?;
            Some((bounds.confidence, bounds.lower == bounds.upper && bounds.confidence >= 1.0))
        };
        let all = |a: (f64, bool), b: (f64, bool)| (a.0.min(b.0), a.1 && b.1);
        let mut rows: Box<dyn Iterator<Item = Option<(f64, bool)>>> = match self {
            Self::Flows { flows, .. } => Box::new(flows.iter().map(|flow| of(&flow.estimate))),
            Self::Sizes(_) => return None,
            Self::Entropy(bits) => Box::new(bits.iter().map(of)),
            Self::Quantiles { quantiles, .. } => Box::new(quantiles.iter().map(|row| {
                let (lower, upper, confidence) = row.bounds?;
                Some((confidence, lower == upper && confidence >= 1.0))
            })),
        };
        let first = rows.next()??;
        rows.try_fold(first, |sum, row| Some(all(sum, row?)))
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Flows { flows, .. } => flows.len(),
            Self::Sizes(sizes) => size_classes(sizes).len(),
            Self::Entropy(bits) => usize::from(bits.is_some()),
            Self::Quantiles { quantiles, .. } => quantiles.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn columns(&self) -> Vec<&'static str> {
        match self {
            &Self::Flows { key, figure, is_hierarchy, .. } => {
                let mut columns: Vec<_> = key.columns().collect();
                columns.extend(is_hierarchy.then_some("prefix"));
                columns.extend([figure, "lower", "upper"]);
                columns
                    .extend(is_hierarchy.then_some(["own", "own_lower", "own_upper"]).into_iter().flatten());
                columns
            }
            Self::Sizes(_) => vec!["size_from", "size_to", "flows"],
            Self::Entropy(_) => vec!["bits", "lower", "upper"],
            Self::Quantiles { of, .. } => vec!["share", of, "lower", "upper"],
        }
    }

    fn rows(&self) -> Vec<Vec<Value>> {
        match self {
            Self::Flows { key, flows, .. } => {
                let row = |flow: &EstimatedFlow| {
                    let members = key.columns().map(|column| key_member(&flow.key, column));
                    let prefix = flow.prefix.map(|length| json!(length));
                    let own = flow.own.as_ref().map(figures).into_iter().flatten();
                    members.chain(prefix).chain(figures(&flow.estimate)).chain(own).collect()
                };
                flows.iter().map(row).collect()
            }
            Self::Sizes(sizes) => {
                let row = |class: SizeClass| {
                    vec![json_integer(class.least), json_integer(class.most), json!(class.flows)]
                };
                size_classes(sizes).into_iter().map(row).collect()
            }
            Self::Entropy(bits) => bits.iter().map(|bits| figures(bits).to_vec()).collect(),
            Self::Quantiles { quantiles, .. } => {
                let row = |row: &QuantileRow| {
                    let bounds = row.bounds.map(|(lower, upper, _)| [lower.json(), upper.json()]);
                    let [lower, upper] = bounds.unwrap_or_default();
                    vec![json!(row.share), row.value.json(), lower, upper]
                };
                quantiles.iter().map(row).collect()
            }
        }
    }

    /// Replaces addresses.
    pub fn anonymize(&mut self, anonymizer: &mut Anonymizer) {
        match self {
            Self::Flows { flows, .. } => {
                for flow in flows {
                    anonymizer.flow_key(&mut flow.key);
                    // Bits behind a prefix are replaced too, and would look like a host's.
                    flow.key = flow.prefix.map_or(flow.key, |prefix| network_of(&flow.key, prefix));
                }
            }
            Self::Quantiles { quantiles, .. } => {
                for row in quantiles {
                    row.value.anonymize(anonymizer);
                    // Order does not survive: bounds would mean nothing.
                    row.bounds = row.bounds.filter(|(lower, ..)| matches!(lower, Point::Number(_)));
                }
            }
            Self::Sizes(_) | Self::Entropy(_) => {}
        }
    }
}

impl TaskAnswer {
    /// How far the figures may be off, in words, and of what: where the loss is known, they are about the wire.
    pub fn bounds(&self) -> Cow<'static, str> {
        let Some((confidence, is_exact)) = self.rows.confidence() else { return Cow::Borrowed("none") };
        let seen = if self.note.lost.is_none() { ", of what was seen" } else { "" };
        match (is_exact, confidence) {
            (true, _) => Cow::Owned(format!("exact{seen}")),
            (_, confidence) if confidence >= 1.0 => Cow::Owned(format!("certain{seen}")),
            _ => Cow::Owned(format!("each with a probability of {confidence:.3}{seen}")),
        }
    }
}

impl Query {
    /// A task's answer.
    pub(super) fn task(window: Option<Span>, answer: &TaskAnswer) -> Self {
        Self {
            name: answer.name,
            window,
            columns: answer.rows.columns(),
            rows: answer.rows.rows(),
            status: answer.status.clone(),
            bounds: answer.bounds(),
            task: Some(answer.note.clone()),
        }
    }
}
