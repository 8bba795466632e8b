//! The values of a record of flows or of options, wherever it comes from: of a file or of a socket, of NetFlow or IPFIX.

mod counters;
mod sampling;
#[cfg(test)]
mod tests;
mod time;

use super::element::{HEADER_MOST, NUMBERS, NumericElement, TimeEncoding, ValueTarget};
use super::field_plan::FieldPlan;
use super::template::unsigned;
use flow::{HeaderValues, NULL};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

pub use counters::RecordOf;
pub use sampling::SamplingStatement;
pub use time::ExportTimes;

/// Protocols of ICMP, over IPv4 and IPv6.
const ICMP: [u64; 2] = [1, 58];

/// The values of one direction.
#[derive(Clone, Debug)]
struct Half {
    numbers: [u64; NUMBERS],
    headers: HeaderValues,
    start: Option<(TimeEncoding, u64)>,
    end: Option<(TimeEncoding, u64)>,
    event: Option<(TimeEncoding, u64)>,
    duration_ns: Option<u64>,
}

impl Default for Half {
    fn default() -> Self {
        Self {
            numbers: [NULL; NUMBERS],
            headers: HeaderValues::NONE,
            start: None,
            end: None,
            event: None,
            duration_ns: None,
        }
    }
}

/// A field whose octets are no value of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedField {
    target: ValueTarget,
    octets: usize,
    /// The number, where it is one that is too great.
    number: Option<u64>,
}

/// The values of a record.
#[derive(Clone, Debug, Default)]
pub struct RecordValues {
    addresses: [Option<IpAddr>; 2],
    /// The values of the flow's direction, and of the other one.
    halves: [Half; 2],
    /// The first field that is not read, because its octets are no value of its element.
    unfit: Option<MalformedField>,
}

impl RecordValues {
    /// Reads the fields of a record.
    pub fn read(plan: &FieldPlan, set: &[u8], fields: &[Range<usize>]) -> Self {
        let mut values = Self::default();
        for (at, is_reverse, target) in &plan.fields {
            let octets = &set[fields[*at].clone()];
            if let Err(number) = values.put(*target, *is_reverse, octets) {
                values.unfit.get_or_insert(MalformedField { target: *target, octets: octets.len(), number });
            }
        }
        values
    }

    /// Sets a number of the flow's direction, as NetFlow v5 has it in a fixed place.
    pub fn set(&mut self, number: NumericElement, value: u64) {
        self.halves[0].numbers[number as usize] = value;
    }

    /// Sets both addresses, and both times in uptime, as NetFlow v5 has them in fixed places.
    pub fn set_flow(&mut self, addresses: [Ipv4Addr; 2], [start, end]: [u32; 2]) {
        self.addresses = addresses.map(|address| Some(IpAddr::V4(address)));
        self.halves[0].start = Some((TimeEncoding::Uptime, start.into()));
        self.halves[0].end = Some((TimeEncoding::Uptime, end.into()));
    }

    /// Puts the value of a field. It is an error if the octets are no value of this kind: with the number where it is too great.
    fn put(&mut self, target: ValueTarget, is_reverse: bool, octets: &[u8]) -> Result<(), Option<u64>> {
        let half = &mut self.halves[usize::from(is_reverse)];
        let number = || unsigned(octets).ok_or(None);
        match target {
            ValueTarget::Source => self.address(0, octets)?,
            ValueTarget::Destination => self.address(1, octets)?,
            ValueTarget::Start(clock) => half.start = Some((clock, number()?)),
            ValueTarget::End(clock) => half.end = Some((clock, number()?)),
            ValueTarget::Event(clock) => half.event = Some((clock, number()?)),
            ValueTarget::Duration(unit_ns) => half.duration_ns = number()?.checked_mul(unit_ns),
            ValueTarget::Number(number) => half.numbers[number as usize] = value(number, octets)?,
            ValueTarget::Header(at) => {
                let (at, value) = (usize::from(at), number()?);
                if value > HEADER_MOST[at] {
                    return Err(Some(value));
                }
                half.headers.set(at, Some(value));
            }
        }
        Ok(())
    }

    fn address(&mut self, at: usize, octets: &[u8]) -> Result<(), Option<u64>> {
        let address = match (<[u8; 4]>::try_from(octets), <[u8; 16]>::try_from(octets)) {
            (Ok(octets), _) => IpAddr::V4(Ipv4Addr::from(octets)),
            // One of IPv4 within one of IPv6 is of IPv6, as in all other files.
            (_, Ok(octets)) => IpAddr::V6(Ipv6Addr::from(octets)),
            _ => return Err(None),
        };
        // Some templates have addresses of both families, of which one is zero.
        if self.addresses[at]
            .is_none_or(|known| known.is_unspecified() && !address.to_canonical().is_unspecified())
        {
            self.addresses[at] = Some(address);
        }
        Ok(())
    }

    /// The first field that is not read, because its octets are no value of its element.
    pub fn unfit(&self) -> Option<MalformedField> {
        self.unfit
    }

    /// Source and destination.
    pub fn addresses(&self) -> [Option<IpAddr>; 2] {
        self.addresses
    }

    /// A number of the flow's direction.
    pub fn number(&self, number: NumericElement) -> Option<u64> {
        self.get(number, false)
    }

    /// A number of a direction.
    pub fn get(&self, number: NumericElement, is_reverse: bool) -> Option<u64> {
        let value = self.halves[usize::from(is_reverse)].numbers[number as usize];
        (value != NULL && !(value == 0 && number.is_none_if_zero())).then_some(value)
    }

    /// The header fields of a direction.
    pub fn headers(&self, is_reverse: bool) -> HeaderValues {
        self.halves[usize::from(is_reverse)].headers
    }

    /// Returns whether the record tells a number of the flow's direction, or that there is none.
    pub fn tells(&self, number: NumericElement) -> bool {
        self.halves[0].numbers[number as usize] != NULL
    }

    /// The ports of source and destination; of ICMP, the second one is type × 256 + code.
    pub fn ports(&self) -> [Option<u64>; 2] {
        let ports =
            [NumericElement::SourcePort, NumericElement::DestinationPort].map(|number| self.number(number));
        let is_icmp = match self.number(NumericElement::Protocol) {
            Some(protocol) => ICMP.contains(&protocol),
            None => ports[1].is_none(),
        };
        if !is_icmp {
            return ports;
        }
        let parts = [NumericElement::IcmpType, NumericElement::IcmpCode].map(|number| self.number(number));
        let told = self.number(NumericElement::Icmp).filter(|both| *both != 0);
        let of_parts = || parts[0].map(|kind| kind << 8 | parts[1].unwrap_or(0));
        [ports[0], told.or_else(of_parts).or(ports[1]).or(self.number(NumericElement::Icmp))]
    }
}

/// The value of a number.
fn value(number: NumericElement, octets: &[u8]) -> Result<u64, Option<u64>> {
    if number == NumericElement::Probability {
        return match (<[u8; 8]>::try_from(octets), <[u8; 4]>::try_from(octets)) {
            (Ok(octets), _) => Ok(u64::from_be_bytes(octets)),
            (_, Ok(octets)) => Ok(f64::from(f32::from_be_bytes(octets)).to_bits()),
            _ => Err(None),
        };
    }
    let plain = unsigned(octets).ok_or(None)?;
    match number {
        NumericElement::Flags => Ok(plain & 0xff),
        NumericElement::Vlan => Ok(plain & 0xfff),
        NumericElement::SourceMac | NumericElement::DestinationMac if octets.len() == 6 => Ok(plain),
        NumericElement::SourceMac | NumericElement::DestinationMac => Err(None),
        // The greatest number of all denotes none.
        _ if plain == NULL => Ok(NULL),
        _ if plain > number.most() => Err(Some(plain)),
        _ => Ok(plain),
    }
}

impl std::fmt::Display for MalformedField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.target.columns().first().copied().unwrap_or("an option");
        match (self.number, self.target) {
            (Some(value), ValueTarget::Number(number)) => {
                write!(f, "the number {value} is greater than {}: {what}", number.most())
            }
            _ => write!(f, "a value of {} octets is none of {what}", self.octets),
        }
    }
}
