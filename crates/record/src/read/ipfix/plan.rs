//! Plans, by which the values of a record go to the columns that are wanted.

use super::super::block::Wanted;
use super::super::columns::{Cell, Columns, Place, UNTOLD};
use super::super::name::Name;
use super::element::Number;
use super::field_plan::FieldPlan;
use super::meaning::{Column, Meaning, Reading};
use super::session::Record;
use super::template::unsigned;
use super::totals::Totals;
use super::values::{RecordOf, Values};
use flow::{FIELDS, NULL, RowValue};

/// The way in which records of a template fill a row.
#[derive(Debug)]
pub(crate) struct Plan {
    fields: FieldPlan,
    /// The origins of the values of the places, in the order of the places.
    origins: Vec<Origin>,
    /// True to tell a value that a record does not tell apart from one that it does not have.
    open_fields: bool,
}

/// The origin of the value of a place. The direction is the other one where the flag is true.
#[derive(Debug)]
enum Origin {
    Address(usize),
    Port(usize),
    Time(usize, bool),
    Count(usize, bool),
    Number(Number, bool),
    /// A field of the template that nothing else is.
    Field(Source),
    Nothing,
}

/// A field of the template.
#[derive(Debug)]
struct Source {
    number: usize,
    column: Column,
    most: u64,
}

/// The places of all that is wanted: each row has a value for each, since templates differ in what they have.
pub(crate) fn places(wanted: &Wanted, has_reverse: bool, has_rates: bool) -> Vec<Place> {
    let members = wanted.members.iter().filter_map(|member| Name::of(member).member_place());
    let numbers = 0..wanted.columns.len();
    let mut places = vec![Place::Node];
    if wanted.samples && has_rates {
        places.push(Place::SamplingRate);
    }
    for place in members {
        // A member may be wanted twice.
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.extend(numbers.clone().map(Place::Value));
    if has_reverse {
        places.extend(numbers.map(Place::Reverse).chain([Place::HasReverse]));
    }
    places
}

impl Plan {
    /// Makes the plan of a record's template.
    pub(crate) fn new(record: &Record<'_>, wanted: &Wanted, places: &[Place]) -> Self {
        let needed: Vec<&str> = places.iter().flat_map(|place| needed(place, wanted)).collect();
        let fields = FieldPlan::of(&record.known.template).only(|column| needed.contains(&column));
        let mut columns: Vec<Source> = Vec::new();
        for (number, element) in record.known.template.elements().enumerate() {
            if let Meaning::Column(column) = Meaning::of(element, record.session) {
                columns.push(Source { number, most: column.name.most(), column });
            }
        }
        let origin = |place: &Place| {
            let origin = match place {
                Place::Source => Origin::Address(0),
                Place::Destination => Origin::Address(1),
                Place::SourcePort => Origin::Port(0),
                Place::DestinationPort => Origin::Port(1),
                Place::Protocol => Origin::Number(Number::Protocol, false),
                Place::Vlan => Origin::Number(Number::Vlan, false),
                Place::Tos => Origin::Number(Number::Tos, false),
                // Of firewalls that tell bytes alone, these are what tells it.
                Place::HasReverse => Origin::Count(usize::from(!fields.has_reverse_packets()), true),
                Place::Value(at) => value(wanted.columns[*at], false),
                Place::Reverse(at) => value(wanted.columns[*at], true),
                Place::IpVersion | Place::SamplingRate | Place::Node | Place::Nowhere => Origin::Nothing,
            };
            if !matches!(origin, Origin::Nothing) {
                return origin;
            }
            let is_of = |source: &Source| source.column.name.places(wanted, false).contains(place);
            let found = columns.iter().position(is_of);
            found.map_or(Origin::Nothing, |at| {
                let Source { number, ref column, most } = columns[at];
                Origin::Field(Source { number, column: column.clone(), most })
            })
        };
        let origins: Vec<Origin> = places.iter().map(origin).collect();
        Self { fields, origins, open_fields: wanted.open_fields }
    }

    /// Puts the values of a record.
    pub(crate) fn fill(
        &self,
        record: &Record<'_>,
        places: &[Place],
        totals: &mut Totals,
        columns: &mut Columns,
    ) -> Result<(), String> {
        let (set, fields) = record.octets_of_fields();
        let values = Values::read(&self.fields, set, fields);
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
        let number = |number: Option<u64>| number.map_or(Cell::None, Cell::Number);
        for (place, origin) in places.iter().zip(&self.origins) {
            let mut cell = match origin {
                Origin::Address(at) => values.addresses()[*at].map_or(Cell::None, Cell::Address),
                Origin::Port(at) => number(values.ports()[*at]),
                Origin::Time(at, is_reverse) => number(times[usize::from(*is_reverse)][*at]),
                Origin::Count(at, is_reverse) => {
                    number(Some(counts[usize::from(*is_reverse)][*at]).filter(|count| *count != NULL))
                }
                Origin::Number(of, is_reverse) => number(values.of(*of, *is_reverse)),
                Origin::Field(source) => source.cell(record)?,
                Origin::Nothing => Cell::None,
            };
            match place {
                Place::Node if cell == Cell::None => {
                    cell = record.domain.name.as_deref().map_or(Cell::None, Cell::Node);
                }
                // Templates of records of all packets do not tell it.
                Place::Value(_) if cell == Cell::None && self.is_link_open(origin, &values) => {
                    cell = Cell::Number(UNTOLD);
                }
                Place::SamplingRate if cell == Cell::None => cell = Cell::Number(1),
                _ => {}
            }
            columns.put(place, cell)?;
        }
        Ok(())
    }
}

impl Plan {
    /// Returns whether a value is of a link, and not told.
    fn is_link_open(&self, origin: &Origin, values: &Values) -> bool {
        use Number::{DestinationMac, SourceMac, Vlan};
        self.open_fields
            && matches!(origin, Origin::Number(number @ (Vlan | SourceMac | DestinationMac), _) if !values.tells(*number))
    }
}

/// The origin of a column of rows.
fn value(column: RowValue, is_reverse: bool) -> Origin {
    let number = |number| Origin::Number(number, is_reverse);
    match column {
        RowValue::Packets => Origin::Count(0, is_reverse),
        RowValue::Bytes => Origin::Count(1, is_reverse),
        RowValue::WireBytes => Origin::Count(2, is_reverse),
        RowValue::First => Origin::Time(0, is_reverse),
        RowValue::Last | RowValue::Time => Origin::Time(1, is_reverse),
        RowValue::TcpSeq => number(Number::TcpSeq),
        RowValue::TcpAck => number(Number::TcpAck),
        RowValue::TcpWin => number(Number::TcpWindow),
        RowValue::TcpFlags => number(Number::Flags),
        RowValue::IpTtl => number(Number::Ttl),
        RowValue::IpTos => number(Number::Tos),
        RowValue::Vlan => number(Number::Vlan),
        RowValue::SourceMac => number(Number::SourceMac),
        RowValue::DestinationMac => number(Number::DestinationMac),
        _ => Origin::Nothing,
    }
}

/// The fields of a row that the value of a place needs.
fn needed(place: &Place, wanted: &Wanted) -> Vec<&'static str> {
    match place {
        Place::Source => vec!["src_addr"],
        Place::Destination => vec!["dst_addr"],
        // What they mean depends on the protocol.
        Place::SourcePort => vec!["src_port", "protocol"],
        Place::DestinationPort => vec!["dst_port", "protocol"],
        Place::Protocol => vec!["protocol"],
        Place::Vlan => vec!["vlan"],
        Place::Tos => vec!["ip_tos"],
        // Some exporters tell bytes of the other direction alone.
        Place::HasReverse => vec!["total_count", "total_byte"],
        Place::Value(at) | Place::Reverse(at) => match wanted.columns[*at] {
            // One may follow from the other.
            RowValue::First | RowValue::Last | RowValue::Time => vec!["stime", "ltime"],
            // None at all of packets with bytes are not known ones.
            RowValue::WireBytes => vec!["total_byte", "wire_byte"],
            column => FIELDS.iter().filter(|field| field.row == column).map(|field| field.name).collect(),
        },
        Place::IpVersion | Place::SamplingRate | Place::Node | Place::Nowhere => Vec::new(),
    }
}

impl Source {
    fn cell<'a>(&self, record: &'a Record<'_>) -> Result<Cell<'a>, String> {
        let octets = record.field(self.number);
        let unfit = || format!("a value of {} octets is none of {}", octets.len(), self.what());
        let number = match self.column.reading {
            Reading::Number => unsigned(octets).ok_or_else(unfit)?,
            Reading::Float => {
                let value = match (<[u8; 8]>::try_from(octets), <[u8; 4]>::try_from(octets)) {
                    (Ok(octets), _) => f64::from_be_bytes(octets),
                    (_, Ok(octets)) => f32::from_be_bytes(octets).into(),
                    _ => return Err(unfit()),
                };
                return Ok(Cell::Number(flow::float_bits(Some(value).filter(|value| value.is_finite()))));
            }
            Reading::Text => {
                let name = std::str::from_utf8(octets).map_err(|_| unfit())?;
                return Ok(if name.is_empty() { Cell::None } else { Cell::Node(name) });
            }
        };
        if number != NULL && number > self.most {
            return Err(format!("the number {number} is greater than {}: {}", self.most, self.what()));
        }
        Ok(Cell::Number(number))
    }

    fn what(&self) -> &'static str {
        match &self.column.name {
            Name::Field { field, .. } => field.name,
            _ => "a statistic",
        }
    }
}
