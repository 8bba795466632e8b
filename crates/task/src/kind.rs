//! The kinds of tasks, and the values that quantiles are taken of.

use std::fmt;
use std::str::FromStr;

/// A row of Alipourfard's table 1, the number of distinct values, which Wu et al. name, or the inner product, which Makwana names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// Flows with a large share of the traffic.
    HeavyHitters,
    /// Sources with many destinations, or the reverse.
    SuperSpreaders,
    /// The number of flows of each size.
    FlowSizes,
    /// Flows whose traffic changed much.
    Change,
    /// The evenness of traffic over flows.
    Entropy,
    /// Values that divide the traffic into shares.
    Quantiles,
    /// The number of distinct values.
    Distinct,
    /// The inner product of two streams.
    Inner,
}

impl TaskKind {
    /// The kinds of tasks.
    pub const ALL: [Self; 8] = [
        Self::HeavyHitters,
        Self::SuperSpreaders,
        Self::FlowSizes,
        Self::Change,
        Self::Entropy,
        Self::Quantiles,
        Self::Distinct,
        Self::Inner,
    ];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeavyHitters => "heavy-hitters",
            Self::SuperSpreaders => "super-spreaders",
            Self::FlowSizes => "flow-sizes",
            Self::Change => "change",
            Self::Entropy => "entropy",
            Self::Quantiles => "quantiles",
            Self::Distinct => "distinct",
            Self::Inner => "inner",
        }
    }

    /// Returns the name of the task's answers in reports.
    pub(crate) fn query(self) -> &'static str {
        match self {
            Self::HeavyHitters => "heavy_hitters",
            Self::SuperSpreaders => "super_spreaders",
            Self::FlowSizes => "flow_sizes",
            Self::Change => "change",
            Self::Entropy => "entropy",
            Self::Quantiles => "quantiles",
            Self::Distinct => "distinct",
            Self::Inner => "inner",
        }
    }

    /// Options of this kind, in addition to those of all kinds.
    pub(crate) fn keys(self) -> &'static [&'static str] {
        match self {
            Self::HeavyHitters => &["key", "by", "share", "count", "top", "prefixes"],
            Self::SuperSpreaders => &["key", "of", "count", "top"],
            Self::FlowSizes => &["key", "bins"],
            Self::Change => &["key", "by", "share", "count", "top", "against", "windows", "alpha", "beta"],
            Self::Entropy => &["key", "by"],
            Self::Quantiles => &["key", "at"],
            Self::Distinct => &["of"],
            Self::Inner => &["key", "a", "b", "by"],
        }
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bits that are omitted from an IPv6 address: the others fit an `f64` exactly.
pub(crate) const IPV6_LEFT_OUT: u32 = 16;

/// The values that quantiles are of. Packets are counted in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Source address; of IPv6 its first 48 bits.
    SrcAddr,
    /// Destination address; of IPv6 its first 48 bits.
    DstAddr,
    /// Source port.
    SrcPort,
    /// Destination port.
    DstPort,
    /// Bytes of the packet by its IP header.
    Size,
}

impl Quantity {
    const ALL: [Self; 5] = [Self::SrcAddr, Self::DstAddr, Self::SrcPort, Self::DstPort, Self::Size];

    /// The field's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SrcAddr => "src_addr",
            Self::DstAddr => "dst_addr",
            Self::SrcPort => "src_port",
            Self::DstPort => "dst_port",
            Self::Size => "size",
        }
    }

    /// The name of the field of rows that it is of.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Size => "total_byte",
            _ => self.name(),
        }
    }

    /// Bits of its values.
    pub(crate) fn bits(self, is_v6: bool) -> u32 {
        match self {
            Self::SrcPort | Self::DstPort => 16,
            Self::SrcAddr | Self::DstAddr if is_v6 => 64 - IPV6_LEFT_OUT,
            Self::SrcAddr | Self::DstAddr | Self::Size => 32,
        }
    }

    /// True where IPv4 and IPv6 have values of different kinds.
    pub(crate) fn is_address(self) -> bool {
        matches!(self, Self::SrcAddr | Self::DstAddr)
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let meant = flow::resolve_alias(text);
        let found = Self::ALL.into_iter().find(|quantity| quantity.name() == meant);
        found.ok_or_else(|| format!("quantiles are of {}", Self::ALL.map(Self::name).join(", ")))
    }
}
