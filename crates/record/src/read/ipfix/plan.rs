//! From the fields of a template to the columns that are wanted.

use super::super::block::Wanted;
use super::super::columns::{Cell, Columns, Place};
use super::super::name::Name;
use super::meaning::{Meaning, Reading, meaning};
use super::session::Record;
use super::template::{Element, unsigned};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// systemInitTimeMilliseconds.
const SYSTEM_START: Element = Element::registered(160);
/// From 1900 to 1970, seconds.
const EPOCH: u64 = 2_208_988_800;
const SECOND: u64 = 1_000_000_000;

/// How records of a template fill a row.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each place, in their order, the fields that may have its value: of an address one of each family, else one.
    sources: Vec<Vec<Source>>,
}

#[derive(Debug)]
struct Source {
    /// The number of the field in the template.
    field: usize,
    meaning: Meaning,
    most: u64,
}

/// The places of all that is wanted: each row has a value for each, since templates differ in what they have.
pub(crate) fn places(wanted: &Wanted, has_reverse: bool) -> Vec<Place> {
    let members = wanted.members.iter().filter_map(|member| Name::of(member).member_place());
    let numbers = 0..wanted.columns.len();
    let mut places = vec![Place::Node];
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
    /// Of the template of a record.
    pub(crate) fn new(record: &Record<'_>, wanted: &Wanted, places: &[Place]) -> Self {
        let mut sources: Vec<Vec<Source>> = places.iter().map(|_| Vec::new()).collect();
        for (field, element) in record.template.elements().enumerate() {
            let Some(Ok(meaning)) = meaning(element, record.session) else { continue };
            for place in meaning.name.places(wanted, false) {
                let Some(at) = places.iter().position(|of| *of == place) else { continue };
                let of_place = &mut sources[at];
                let is_address = matches!(place, Place::Source | Place::Destination);
                let source = Source { field, most: meaning.name.most(), meaning: meaning.clone() };
                match of_place.first() {
                    Some(_) if is_address => of_place.push(source),
                    Some(known) if known.meaning.rank <= meaning.rank => {}
                    _ => *of_place = vec![source],
                }
            }
        }
        Self { sources }
    }

    /// Puts the values of a record.
    pub(crate) fn fill(
        &self,
        record: &Record<'_>,
        places: &[Place],
        columns: &mut Columns,
    ) -> Result<(), String> {
        for (place, sources) in places.iter().zip(&self.sources) {
            let mut cell = Cell::None;
            for source in sources {
                let value = source.cell(record)?;
                // Some templates have addresses of both families, of which one is zero.
                let is_better = match (cell, value) {
                    (Cell::None, _) => true,
                    (Cell::Address(before), Cell::Address(_)) => before.is_unspecified(),
                    _ => false,
                };
                if is_better {
                    cell = value;
                }
            }
            if *place == Place::Node && cell == Cell::None {
                cell = record.domain.name.as_deref().map_or(Cell::None, Cell::Node);
            }
            columns.put(place, cell)?;
        }
        Ok(())
    }
}

impl Source {
    fn cell<'a>(&self, record: &'a Record<'_>) -> Result<Cell<'a>, String> {
        let octets = record.field(self.field);
        let unfit = || format!("a value of {} octets is none of {}", octets.len(), self.what());
        let number = || unsigned(octets).ok_or_else(unfit);
        let value = match self.meaning.reading {
            Reading::Number => Some(number()?),
            Reading::LowOctet => Some(number()? & 0xff),
            Reading::NonZero => Some(number()?).filter(|number| *number != 0),
            Reading::Float => {
                let value = match (<[u8; 8]>::try_from(octets), <[u8; 4]>::try_from(octets)) {
                    (Ok(octets), _) => f64::from_be_bytes(octets),
                    (_, Ok(octets)) => f32::from_be_bytes(octets).into(),
                    _ => return Err(unfit()),
                };
                return Ok(Cell::Number(flow::float_bits(Some(value).filter(|value| value.is_finite()))));
            }
            Reading::V4 => {
                let octets: [u8; 4] = octets.try_into().map_err(|_| unfit())?;
                return Ok(Cell::Address(IpAddr::V4(Ipv4Addr::from(octets))));
            }
            Reading::V6 => {
                let octets: [u8; 16] = octets.try_into().map_err(|_| unfit())?;
                return Ok(Cell::Address(IpAddr::V6(Ipv6Addr::from(octets))));
            }
            Reading::Text => {
                let name = std::str::from_utf8(octets).map_err(|_| unfit())?;
                return Ok(if name.is_empty() { Cell::None } else { Cell::Node(name) });
            }
            Reading::Seconds => number()?.checked_mul(SECOND),
            Reading::Milliseconds => number()?.checked_mul(1_000_000),
            Reading::NtpMicroseconds => ntp(number()?, 1_000_000),
            Reading::NtpNanoseconds => ntp(number()?, SECOND),
            Reading::Uptime => {
                let start = record.number(SYSTEM_START).or(record.domain.start_ms);
                let export_ms = u64::from(record.export_time) * 1000;
                let uptime = number()?;
                start.and_then(|start| since(start, uptime, export_ms)?.checked_mul(1_000_000))
            }
            Reading::MicrosecondsBefore => {
                let export = u64::from(record.export_time) * SECOND;
                number()?.checked_mul(1000).and_then(|before| export.checked_sub(before))
            }
        };
        match value {
            Some(number) if number != flow::NULL && number > self.most => {
                Err(format!("the number {number} is greater than {}: {}", self.most, self.what()))
            }
            value => Ok(value.map_or(Cell::None, Cell::Number)),
        }
    }

    fn what(&self) -> &'static str {
        match &self.meaning.name {
            Name::Field { field, .. } => field.name,
            _ => "a statistic",
        }
    }
}

/// When an uptime was, where it began at a time, all of them in milliseconds: a counter of 32 bits begins anew every seven weeks, so that
/// it is the time that is nearest to the export. The export itself is told in seconds.
fn since(start: u64, uptime: u64, export: u64) -> Option<u64> {
    const TURN: u64 = 1 << 32;
    let first = start.checked_add(uptime)?;
    let turns = if uptime < TURN { export.saturating_sub(first).saturating_add(TURN / 2) / TURN } else { 0 };
    first.checked_add(turns * TURN)
}

/// Nanoseconds since 1970 of an NTP timestamp whose fraction is rounded to a unit; `units` of them are a second. Seconds before 1968 are
/// of the second era, which begins in 2036.
pub fn ntp(timestamp: u64, units: u64) -> Option<u64> {
    const ERA: u64 = 1 << 32;
    let (seconds, fraction) = (timestamp >> 32, timestamp & (ERA - 1));
    let seconds = if seconds < ERA / 2 { seconds + ERA } else { seconds };
    let rounded = (fraction * units + ERA / 2) >> 32;
    Some(seconds.checked_sub(EPOCH)? * SECOND + rounded * (SECOND / units))
}
