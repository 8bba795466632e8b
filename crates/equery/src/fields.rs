//! Fields as queries see them: of the field table, derived, and statistics of packets.

use crate::kind::{Unit, ValueKind};
use crate::names;
use flow::{Aggregation, Derived, DerivedField, Field, FieldAccessor, Part, RowValue};

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    pub(crate) name: String,
    pub(crate) kind: ValueKind,
    /// True if rows may lack the field.
    pub(crate) is_nullable: bool,
    /// The aggregation by which the field's values are merged; `None` where the field is derived.
    pub(crate) aggregation: Option<Aggregation>,
    /// True if window rows have the field.
    pub(crate) is_in_rows: bool,
    /// The part that a run must measure.
    pub(crate) part: Part,
    /// True if the field needs geographic databases.
    pub(crate) needs_geo: bool,
    /// True if the field needs the packets of the flow.
    pub(crate) needs_packets: bool,
    /// A number with a fraction, which nothing is grouped by.
    pub(crate) is_fractional: bool,
    /// Parts of the flow key that it is computed from.
    pub(crate) from: &'static [&'static str],
}

/// The field of this name.
pub(crate) fn find(name: &str) -> Option<FieldInfo> {
    if let Some(field) = Field::named(name) {
        return Some(from_table_field(field));
    }
    if let Some(field) = DerivedField::named(name) {
        return Some(derived(field));
    }
    let metric = names::statistic(name)?;
    Some(FieldInfo {
        name: name.to_ascii_lowercase(),
        kind: ValueKind::Number(Unit::named(metric.unit())),
        is_nullable: true,
        aggregation: Some(Aggregation::Mean),
        is_in_rows: true,
        part: Part::Plain,
        needs_geo: false,
        needs_packets: true,
        is_fractional: true,
        from: &[],
    })
}

fn from_table_field(field: &Field) -> FieldInfo {
    let kind = match field.value {
        FieldAccessor::Address(_) => ValueKind::Address,
        FieldAccessor::Mac(_) => ValueKind::Mac,
        FieldAccessor::Time(_) => ValueKind::Time,
        FieldAccessor::EndReason(_) | FieldAccessor::Node => ValueKind::Text,
        FieldAccessor::Unsigned(..) | FieldAccessor::Optional(..) | FieldAccessor::Float(_) => {
            match field.name {
                "src_port" | "dst_port" => ValueKind::Port,
                "protocol" => ValueKind::Protocol,
                _ if field.is_identifier => ValueKind::Identifier,
                _ => ValueKind::Number(Unit::named(field.unit)),
            }
        }
    };
    FieldInfo {
        name: field.name.to_owned(),
        kind,
        is_nullable: field.value.nullable() && field.aggregation != Aggregation::Key,
        aggregation: Some(field.aggregation),
        is_in_rows: field.row != RowValue::Absent,
        part: field.part,
        needs_geo: false,
        needs_packets: false,
        is_fractional: matches!(field.value, FieldAccessor::Float(_)),
        from: &[],
    }
}

fn derived(field: &DerivedField) -> FieldInfo {
    if field.derived == Derived::OfFlow
        && let Some(of) = field.from.iter().find_map(|name| Field::named(name))
    {
        return FieldInfo { name: field.name.to_owned(), ..from_table_field(of) };
    }
    let kind = match field.derived {
        Derived::Address => ValueKind::Address,
        Derived::Port => ValueKind::Port,
        Derived::ProtocolName | Derived::Service | Derived::Conversation | Derived::Country(_) => {
            ValueKind::Text
        }
        Derived::Asn(_) => ValueKind::Identifier,
        Derived::Duration
        | Derived::PacketRate
        | Derived::BitRate
        | Derived::BytesPerPacket
        | Derived::Forward => ValueKind::Number(Unit::named(field.unit)),
        Derived::OfFlow => ValueKind::Number(Unit::None),
    };
    FieldInfo {
        name: field.name.to_owned(),
        kind,
        is_nullable: field.nullable,
        aggregation: None,
        is_in_rows: true,
        part: Part::Plain,
        needs_geo: field.derived.needs_geo(),
        needs_packets: false,
        is_fractional: field.type_name == "float64",
        from: field.from,
    }
}

impl FieldInfo {
    /// Returns true if the field is a total, so that sums of it are totals too.
    pub(crate) fn is_counter(&self) -> bool {
        self.aggregation == Some(Aggregation::Sum)
    }

    /// The function whose aggregate of it most would mean.
    pub(crate) fn default_aggregate(&self) -> &'static str {
        match self.kind {
            _ if self.is_counter() => "sum",
            ValueKind::Number(_) | ValueKind::Time => "max",
            _ => "count",
        }
    }
}
