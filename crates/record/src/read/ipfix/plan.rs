//! Plans, by which the values of a record go to the columns that are wanted.

use super::super::block::ReadProjection;
use super::super::columns::{ColumnSlot, InputColumns, RowCell, UNTOLD};
use super::super::name::ColumnContent;
use super::element::NumericElement;
use super::field_plan::FieldPlan;
use super::meaning::{ElementColumn, ElementMapping, ValueEncoding};
use super::session::IpfixRecord;
use super::template::unsigned;
use super::totals::RunningTotals;
use super::values::{RecordOf, RecordValues};
use flow::{FIELDS, NULL, RowValue};

/// The way in which records of a template fill a row.
#[derive(Debug)]
pub(crate) struct TemplatePlan {
    fields: FieldPlan,
    /// The origins of the values of the places, in the order of the places.
    origins: Vec<ValueOrigin>,
    /// True to tell a value that a record does not tell apart from one that it does not have.
    open_fields: bool,
}

/// The origin of the value of a place. The direction is the other one where the flag is true.
#[derive(Debug)]
enum ValueOrigin {
    Address(usize),
    Port(usize),
    Time(usize, bool),
    Count(usize, bool),
    Number(NumericElement, bool),
    Header(u8, bool),
    /// A field of the template that nothing else is.
    Field(TemplateField),
    Nothing,
}

/// A field of the template.
#[derive(Debug)]
struct TemplateField {
    number: usize,
    column: ElementColumn,
    most: u64,
}

/// The places of all that is wanted: each row has a value for each, since templates differ in what they have.
pub(crate) fn places(wanted: &ReadProjection, has_reverse: bool, has_rates: bool) -> Vec<ColumnSlot> {
    let members = wanted.members.iter().filter_map(|member| ColumnContent::parse(member).member_place());
    let numbers = 0..wanted.columns.len();
    let mut places = vec![ColumnSlot::Node];
    if wanted.samples && has_rates {
        places.push(ColumnSlot::SamplingRate);
    }
    for place in members {
        // A member may be wanted twice.
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.extend(numbers.clone().map(ColumnSlot::Value));
    if has_reverse {
        places.extend(numbers.map(ColumnSlot::Reverse).chain([ColumnSlot::HasReverse]));
    }
    places
}

impl TemplatePlan {
    /// Makes the plan of a record's template.
    pub(crate) fn new(record: &IpfixRecord<'_>, wanted: &ReadProjection, places: &[ColumnSlot]) -> Self {
        let needed: Vec<&str> = places.iter().flat_map(|place| needed(place, wanted)).collect();
        let fields = FieldPlan::from_template(&record.known.template).only(|column| needed.contains(&column));
        let mut columns: Vec<TemplateField> = Vec::new();
        for (number, element) in record.known.template.elements().enumerate() {
            if let ElementMapping::Column(column) = ElementMapping::from_element(element, record.session) {
                columns.push(TemplateField { number, most: column.name.most(), column });
            }
        }
        let origin = |place: &ColumnSlot| {
            let origin = match place {
                ColumnSlot::Source => ValueOrigin::Address(0),
                ColumnSlot::Destination => ValueOrigin::Address(1),
                ColumnSlot::SourcePort => ValueOrigin::Port(0),
                ColumnSlot::DestinationPort => ValueOrigin::Port(1),
                ColumnSlot::Protocol => ValueOrigin::Number(NumericElement::Protocol, false),
                ColumnSlot::Vlan => ValueOrigin::Number(NumericElement::Vlan, false),
                ColumnSlot::Tos => ValueOrigin::Number(NumericElement::Tos, false),
                // Of firewalls that tell bytes alone, these are what tells it.
                ColumnSlot::HasReverse => {
                    ValueOrigin::Count(usize::from(!fields.has_reverse_packets()), true)
                }
                ColumnSlot::Value(at) => value(wanted.columns[*at], false),
                ColumnSlot::Reverse(at) => value(wanted.columns[*at], true),
                ColumnSlot::IpVersion | ColumnSlot::SamplingRate | ColumnSlot::Node | ColumnSlot::Nowhere => {
                    ValueOrigin::Nothing
                }
            };
            if !matches!(origin, ValueOrigin::Nothing) {
                return origin;
            }
            let is_of = |source: &TemplateField| source.column.name.places(wanted, false).contains(place);
            let found = columns.iter().position(is_of);
            found.map_or(ValueOrigin::Nothing, |at| {
                let TemplateField { number, ref column, most } = columns[at];
                ValueOrigin::Field(TemplateField { number, column: column.clone(), most })
            })
        };
        let origins: Vec<ValueOrigin> = places.iter().map(origin).collect();
        Self { fields, origins, open_fields: wanted.open_fields }
    }

    /// Puts the values of a record.
    pub(crate) fn fill(
        &self,
        record: &IpfixRecord<'_>,
        places: &[ColumnSlot],
        totals: &mut RunningTotals,
        columns: &mut InputColumns,
    ) -> Result<(), String> {
        let (set, fields) = record.octets_of_fields();
        let values = RecordValues::read(&self.fields, set, fields);
        if let Some(unfit) = values.unfit() {
            return Err(unfit.to_string());
        }
        let facts = record.facts();
        let of = RecordOf {
            plan: &self.fields,
            set,
            fields,
            session: record.number.into(),
            export_ns: facts.export_ns,
        };
        let counts = values.counts(totals, &of);
        let times = [false, true].map(|is_reverse| values.times(is_reverse, facts, record.domain.start_ms));
        let number = |number: Option<u64>| number.map_or(RowCell::None, RowCell::Number);
        for (place, origin) in places.iter().zip(&self.origins) {
            let mut cell = match origin {
                ValueOrigin::Address(at) => values.addresses()[*at].map_or(RowCell::None, RowCell::Address),
                ValueOrigin::Port(at) => number(values.ports()[*at]),
                ValueOrigin::Time(at, is_reverse) => number(times[usize::from(*is_reverse)][*at]),
                ValueOrigin::Count(at, is_reverse) => {
                    number(Some(counts[usize::from(*is_reverse)][*at]).filter(|count| *count != NULL))
                }
                ValueOrigin::Number(of, is_reverse) => number(values.get(*of, *is_reverse)),
                ValueOrigin::Header(at, is_reverse) => number(values.headers(*is_reverse).get((*at).into())),
                ValueOrigin::Field(source) => source.cell(record)?,
                ValueOrigin::Nothing => RowCell::None,
            };
            match place {
                ColumnSlot::Node if cell == RowCell::None => {
                    cell = record.domain.name.as_deref().map_or(RowCell::None, RowCell::Node);
                }
                // Templates of records of all packets do not tell it.
                ColumnSlot::Value(_) if cell == RowCell::None && self.is_link_open(origin, &values) => {
                    cell = RowCell::Number(UNTOLD);
                }
                ColumnSlot::SamplingRate if cell == RowCell::None => cell = RowCell::Number(1),
                _ => {}
            }
            columns.put(place, cell)?;
        }
        Ok(())
    }
}

impl TemplatePlan {
    /// Returns whether a value is of a link, and not told.
    fn is_link_open(&self, origin: &ValueOrigin, values: &RecordValues) -> bool {
        use NumericElement::{DestinationMac, SourceMac, Vlan};
        self.open_fields
            && matches!(origin, ValueOrigin::Number(number @ (Vlan | SourceMac | DestinationMac), _) if !values.tells(*number))
    }
}

/// The origin of a column of rows.
fn value(column: RowValue, is_reverse: bool) -> ValueOrigin {
    let number = |number| ValueOrigin::Number(number, is_reverse);
    match column {
        RowValue::Packets => ValueOrigin::Count(0, is_reverse),
        RowValue::Bytes => ValueOrigin::Count(1, is_reverse),
        RowValue::WireBytes => ValueOrigin::Count(2, is_reverse),
        RowValue::First => ValueOrigin::Time(0, is_reverse),
        RowValue::Last | RowValue::Time => ValueOrigin::Time(1, is_reverse),
        RowValue::TcpSeq => number(NumericElement::TcpSeq),
        RowValue::TcpAck => number(NumericElement::TcpAck),
        RowValue::TcpWin => number(NumericElement::TcpWindow),
        RowValue::TcpFlags => number(NumericElement::Flags),
        RowValue::IpTtl => number(NumericElement::Ttl),
        RowValue::IpTos => number(NumericElement::Tos),
        RowValue::Vlan => number(NumericElement::Vlan),
        RowValue::SourceMac => number(NumericElement::SourceMac),
        RowValue::DestinationMac => number(NumericElement::DestinationMac),
        RowValue::Header(at) => ValueOrigin::Header(at, is_reverse),
        _ => ValueOrigin::Nothing,
    }
}

/// The fields of a row that the value of a place needs.
fn needed(place: &ColumnSlot, wanted: &ReadProjection) -> Vec<&'static str> {
    match place {
        ColumnSlot::Source => vec!["src_addr"],
        ColumnSlot::Destination => vec!["dst_addr"],
        // What they mean depends on the protocol.
        ColumnSlot::SourcePort => vec!["src_port", "protocol"],
        ColumnSlot::DestinationPort => vec!["dst_port", "protocol"],
        ColumnSlot::Protocol => vec!["protocol"],
        ColumnSlot::Vlan => vec!["vlan"],
        ColumnSlot::Tos => vec!["ip_tos"],
        // Some exporters tell bytes of the other direction alone.
        ColumnSlot::HasReverse => vec!["total_count", "total_byte"],
        ColumnSlot::Value(at) | ColumnSlot::Reverse(at) => match wanted.columns[*at] {
            // One may follow from the other.
            RowValue::First | RowValue::Last | RowValue::Time => vec!["stime", "ltime"],
            // None at all of packets with bytes are not known ones.
            RowValue::WireBytes => vec!["total_byte", "wire_byte"],
            column => FIELDS.iter().filter(|field| field.row == column).map(|field| field.name).collect(),
        },
        ColumnSlot::IpVersion | ColumnSlot::SamplingRate | ColumnSlot::Node | ColumnSlot::Nowhere => {
            Vec::new()
        }
    }
}

impl TemplateField {
    fn cell<'a>(&self, record: &'a IpfixRecord<'_>) -> Result<RowCell<'a>, String> {
        let octets = record.field(self.number);
        let unfit = || format!("a value of {} octets is none of {}", octets.len(), self.what());
        let number = match self.column.reading {
            ValueEncoding::Number => unsigned(octets).ok_or_else(unfit)?,
            ValueEncoding::Float => {
                let value = match (<[u8; 8]>::try_from(octets), <[u8; 4]>::try_from(octets)) {
                    (Ok(octets), _) => f64::from_be_bytes(octets),
                    (_, Ok(octets)) => f32::from_be_bytes(octets).into(),
                    _ => return Err(unfit()),
                };
                return Ok(RowCell::Number(flow::float_bits(Some(value).filter(|value| value.is_finite()))));
            }
            ValueEncoding::Text => {
                let name = std::str::from_utf8(octets).map_err(|_| unfit())?;
                return Ok(if name.is_empty() { RowCell::None } else { RowCell::Node(name) });
            }
        };
        if number != NULL && number > self.most {
            return Err(format!("the number {number} is greater than {}: {}", self.most, self.what()));
        }
        Ok(RowCell::Number(number))
    }

    fn what(&self) -> &'static str {
        match &self.column.name {
            ColumnContent::Field { field, .. } => field.name,
            _ => "a statistic",
        }
    }
}
