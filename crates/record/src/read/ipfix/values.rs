//! The values of a record of flows or of options, wherever it comes from: of a file or of a socket, of NetFlow or IPFIX.

use super::element::{Clock, NUMBERS, Number, Role, Target};
use super::template::{Element, Template, unsigned};
use super::totals::{self, COUNTERS, Totals};
use flow::NULL;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// The seconds from 1900 to 1970.
const EPOCH: u64 = 2_208_988_800;
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Protocols of ICMP, over IPv4 and IPv6.
const ICMP: [u64; 2] = [1, 58];
/// Reasons why a flow ended after which no record of it follows: all but the active timeout.
const IS_OVER: [u64; 4] = [1, 3, 4, 5];

/// Property match filtering (RFC 5475, section 6.1): it selects packets and leaves none of these out.
const FILTER: u64 = 5;

/// The numbers from which a counter is read: the first one that is not 0, first of those since the last record, then of those since the flow
/// began.
const SOURCES: [(&[Number], &[Number]); COUNTERS] = [
    (
        &[Number::Packets, Number::InitiatorPackets, Number::OutPackets],
        &[Number::TotalPackets, Number::TotalOutPackets],
    ),
    (
        &[Number::Bytes, Number::InitiatorBytes, Number::OutBytes],
        &[Number::TotalBytes, Number::TotalOutBytes],
    ),
    (&[Number::WireBytes], &[Number::TotalWireBytes]),
];

/// Elements by which exporters tell flows apart: keys, interfaces, translated addresses and the like. NAT and tunnels included.
const KEY: &[u16] = &[
    4, 5, 7, 8, 10, 11, 12, 14, 27, 28, 31, 32, 56, 58, 59, 60, 61, 70, 80, 138, 139, 148, 176, 177, 178,
    179, 180, 181, 182, 183, 225, 226, 227, 228, 234, 235, 242, 243, 244, 245, 254, 281, 282, 351,
];

/// A plan of which fields of a template's records are read, and where their values go.
#[derive(Debug)]
pub struct FieldPlan {
    fields: Vec<(usize, bool, Target)>,
    /// The fields by which flows are told apart, with the numbers of their elements; none where no total is told.
    key: Vec<(u16, usize)>,
    /// The field that has the start of the flow.
    start: Option<usize>,
    /// The fewest bits of a total.
    bits: u32,
}

impl FieldPlan {
    /// All fields of a template that have a meaning.
    pub fn of(template: &Template) -> Self {
        let mut found: Vec<(usize, Role)> = Vec::new();
        let mut bits = 64;
        for (at, (element, length)) in template.lengths().enumerate() {
            let Some(role) = Role::of(element) else { continue };
            if let (Target::Number(number), Some(length)) = (role.target, length)
                && number.is_total()
            {
                bits = bits.min(8 * u32::from(length));
            }
            // Addresses of both families may be there, of which one is zero.
            let is_address = matches!(role.target, Target::Source | Target::Destination);
            let is_same = |(_, known): &&mut (usize, Role)| {
                known.is_reverse == role.is_reverse && known.target.replaces(role.target)
            };
            match found.iter_mut().find(is_same) {
                Some(known) if !is_address => {
                    if role.rank < known.1.rank {
                        *known = (at, role);
                    }
                }
                _ => found.push((at, role)),
            }
        }
        let has_totals =
            found.iter().any(|(_, role)| matches!(role.target, Target::Number(number) if number.is_total()));
        let mut key = Vec::new();
        if has_totals {
            let elements = template.elements().enumerate();
            key.extend(elements.filter(|(_, element)| is_key(*element)).map(|(at, of)| (of.number, at)));
            key.sort_unstable();
        }
        // One that is told by its distance to the export is another one in each record.
        let is_start = |role: &Role| {
            matches!(role.target, Target::Start(clock) if clock != Clock::MicrosecondsBefore)
                && !role.is_reverse
        };
        let start = found.iter().find(|(_, role)| is_start(role)).map(|(at, _)| *at);
        let fields = found.into_iter().map(|(at, role)| (at, role.is_reverse, role.target)).collect();
        Self { fields, key, start, bits }
    }

    /// Reads no more than what tells of sampling, if anything does.
    pub(crate) fn of_sampling(template: &Template) -> Option<Self> {
        let is_of_sampling =
            |role: Role| matches!(role.target, Target::Number(number) if number.is_of_sampling());
        if !template.elements().any(|element| Role::of(element).is_some_and(is_of_sampling)) {
            return None;
        }
        let mut plan = Self::of(template);
        plan.fields
            .retain(|(.., target)| matches!(target, Target::Number(number) if number.is_of_sampling()));
        Some(plan)
    }

    /// Returns for sources, and for destinations, whether some field tells one.
    pub(crate) fn has_ends(&self) -> [bool; 2] {
        [Target::Source, Target::Destination].map(|end| self.fields.iter().any(|(.., target)| *target == end))
    }

    /// Returns true if some field tells packets of the other direction.
    pub(crate) fn has_reverse_packets(&self) -> bool {
        let (plain, totals) = SOURCES[0];
        let is_packets = |number: &Number| plain.contains(number) || totals.contains(number);
        let mut reverse = self.fields.iter().filter(|(_, is_reverse, _)| *is_reverse);
        reverse.any(|(.., target)| matches!(target, Target::Number(number) if is_packets(number)))
    }

    /// Reads no more than what these fields of a row need.
    pub(crate) fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        let is_needed = |target: &Target| match target {
            Target::Number(Number::SystemStart | Number::EndReason) => true,
            target => target.columns().iter().any(|column| wanted(column)),
        };
        self.fields.retain(|(.., target)| is_needed(target));
        self
    }
}

fn is_key(element: Element) -> bool {
    element.enterprise == 0 && KEY.contains(&element.number)
}

/// The facts about a record's time that are known apart from the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The time at which the record's message was sent, nanoseconds since the epoch.
    pub export_ns: u64,
    /// The exporter's time since its start when it sent the message, milliseconds, where the message tells it.
    pub uptime_ms: Option<u32>,
}

/// The statement of a record about sampling, of itself or, in options, of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told {
    /// A fixed share of the packets is counted.
    Rate {
        /// The number of packets in a period of the selection.
        packets: u64,
        /// The number of these that are counted.
        counted: u64,
    },
    /// The probability with which a packet is counted.
    Probability(f64),
    /// An unknown number of packets that are left out.
    Unknown,
}

/// The values of one direction.
#[derive(Clone, Debug)]
struct Half {
    numbers: [u64; NUMBERS],
    start: Option<(Clock, u64)>,
    end: Option<(Clock, u64)>,
    event: Option<(Clock, u64)>,
    duration_ns: Option<u64>,
}

impl Default for Half {
    fn default() -> Self {
        Self { numbers: [NULL; NUMBERS], start: None, end: None, event: None, duration_ns: None }
    }
}

/// A field whose octets are no value of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit {
    target: Target,
    octets: usize,
    /// The number, where it is one that is too great.
    number: Option<u64>,
}

/// The values of a record.
#[derive(Clone, Debug, Default)]
pub struct Values {
    addresses: [Option<IpAddr>; 2],
    /// The values of the flow's direction, and of the other one.
    halves: [Half; 2],
    /// The first field that is not read, because its octets are no value of its element.
    unfit: Option<Unfit>,
}

impl Values {
    /// Reads the fields of a record.
    pub fn read(plan: &FieldPlan, set: &[u8], fields: &[Range<usize>]) -> Self {
        let mut values = Self::default();
        for (at, is_reverse, target) in &plan.fields {
            let octets = &set[fields[*at].clone()];
            if let Err(number) = values.put(*target, *is_reverse, octets) {
                values.unfit.get_or_insert(Unfit { target: *target, octets: octets.len(), number });
            }
        }
        values
    }

    /// Sets a number of the flow's direction, as NetFlow v5 has it in a fixed place.
    pub fn set(&mut self, number: Number, value: u64) {
        self.halves[0].numbers[number as usize] = value;
    }

    /// Sets both addresses, and both times in uptime, as NetFlow v5 has them in fixed places.
    pub fn set_flow(&mut self, addresses: [Ipv4Addr; 2], [start, end]: [u32; 2]) {
        self.addresses = addresses.map(|address| Some(IpAddr::V4(address)));
        self.halves[0].start = Some((Clock::Uptime, start.into()));
        self.halves[0].end = Some((Clock::Uptime, end.into()));
    }

    /// Puts the value of a field. It is an error if the octets are no value of this kind: with the number where it is too great.
    fn put(&mut self, target: Target, is_reverse: bool, octets: &[u8]) -> Result<(), Option<u64>> {
        let half = &mut self.halves[usize::from(is_reverse)];
        let number = || unsigned(octets).ok_or(None);
        match target {
            Target::Source => self.address(0, octets)?,
            Target::Destination => self.address(1, octets)?,
            Target::Start(clock) => half.start = Some((clock, number()?)),
            Target::End(clock) => half.end = Some((clock, number()?)),
            Target::Event(clock) => half.event = Some((clock, number()?)),
            Target::Duration(unit_ns) => half.duration_ns = number()?.checked_mul(unit_ns),
            Target::Number(number) => half.numbers[number as usize] = value(number, octets)?,
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
    pub fn unfit(&self) -> Option<Unfit> {
        self.unfit
    }

    /// Source and destination.
    pub fn addresses(&self) -> [Option<IpAddr>; 2] {
        self.addresses
    }

    /// A number of the flow's direction.
    pub fn number(&self, number: Number) -> Option<u64> {
        self.of(number, false)
    }

    /// A number of a direction.
    pub fn of(&self, number: Number, is_reverse: bool) -> Option<u64> {
        let value = self.halves[usize::from(is_reverse)].numbers[number as usize];
        (value != NULL && !(value == 0 && number.is_none_if_zero())).then_some(value)
    }

    /// Returns whether the record tells a number of the flow's direction, or that there is none.
    pub fn tells(&self, number: Number) -> bool {
        self.halves[0].numbers[number as usize] != NULL
    }

    /// Returns what the record tells of sampling.
    pub fn sampling(&self) -> Option<Told> {
        let pair = |packets, counted| Some((self.number(packets)?, self.number(counted)?));
        let interval = self.number(Number::PacketInterval).map(|counted| {
            let distance = |not: u64| (counted.saturating_add(not), counted);
            // Some tell the distance alone.
            self.number(Number::PacketSpace).map_or((counted, 1), distance)
        });
        let of_population = || pair(Number::SamplePopulation, Number::SampleSize);
        let one_of = || self.number(Number::OneOf).map(|packets| (packets, 1));
        // Zero is nothing told, and hides no rate that another element tells.
        let is_told = |(packets, _): &(u64, u64)| *packets != 0;
        let told = interval
            .filter(is_told)
            .or_else(|| of_population().filter(is_told))
            .or_else(|| one_of().filter(is_told));
        if let Some((packets, counted)) = told {
            return Some(Told::Rate { packets, counted });
        }
        if let Some(bits) = self.number(Number::Probability) {
            return Some(Told::Probability(f64::from_bits(bits)));
        }
        let selects =
            self.number(Number::Algorithm).is_some_and(|algorithm| !matches!(algorithm, 0 | FILTER));
        let leaves_out = self.number(Number::PacketSpace).is_some_and(|packets| packets != 0);
        (selects || leaves_out).then_some(Told::Unknown)
    }

    /// The ports of source and destination; of ICMP, the second one is type × 256 + code.
    pub fn ports(&self) -> [Option<u64>; 2] {
        let ports = [Number::SourcePort, Number::DestinationPort].map(|number| self.number(number));
        let is_icmp = match self.number(Number::Protocol) {
            Some(protocol) => ICMP.contains(&protocol),
            None => ports[1].is_none(),
        };
        if !is_icmp {
            return ports;
        }
        let parts = [Number::IcmpType, Number::IcmpCode].map(|number| self.number(number));
        let told = self.number(Number::Icmp).filter(|both| *both != 0);
        let of_parts = || parts[0].map(|kind| kind << 8 | parts[1].unwrap_or(0));
        [ports[0], told.or_else(of_parts).or(ports[1]).or(self.number(Number::Icmp))]
    }

    /// Returns the times at which the first and the last packet of a direction came, as far as the record tells them; the other direction has
    /// its own times, or those of the flow. `start_ms`: when the exporter began, where that was told apart from records.
    pub fn times(&self, is_reverse: bool, facts: Facts, start_ms: Option<u64>) -> [Option<u64>; 2] {
        let start_ms = self.number(Number::SystemStart).or(start_ms);
        let half = &self.halves[usize::from(is_reverse)];
        let at =
            |told: Option<(Clock, u64)>| told.and_then(|(clock, time)| moment(clock, time, facts, start_ms));
        let [start, end, event] = [half.start, half.end, half.event].map(at);
        let duration = half.duration_ns;
        let after = |start: u64| duration.and_then(|length| start.checked_add(length));
        let before = |end: u64| duration.and_then(|length| end.checked_sub(length));
        // What is not told follows from the duration, or is the time of the event.
        let end = end.or_else(|| start.and_then(after)).or(event);
        let start = start.or_else(|| end.and_then(before));
        match (start, end) {
            (None, None) if is_reverse => self.times(false, facts, start_ms),
            // It was no later than the export.
            (None, None) => {
                let start = before(facts.export_ns);
                [start, start.map(|_| facts.export_ns)]
            }
            times => [times.0, times.1],
        }
    }

    /// Returns what both directions count: packets, bytes, bytes on the wire; [`NULL`] where the record does not tell it. A total counts what it
    /// grew since the last record of the flow.
    pub fn counts(&self, all: &mut Totals, told: &RecordOf<'_>) -> [[u64; COUNTERS]; 2] {
        let of_totals = self.totals();
        let differences = if of_totals.iter().flatten().all(|total| *total == NULL) {
            of_totals
        } else {
            let start = told.plan.start.map_or(NULL, |at| unsigned(told.field(at)).unwrap_or(NULL));
            let is_over = self.number(Number::EndReason).is_some_and(|reason| IS_OVER.contains(&reason));
            let key = told.plan.key.iter().map(|(element, at)| (*element, told.field(*at)));
            let key = all.key(told.session, key);
            let export_ns = told.export_ns;
            all.take(key, totals::Told { start, export_ns, is_over, bits: told.plan.bits, totals: of_totals })
        };
        let of = |is_reverse: bool, at: usize| {
            let plain = SOURCES[at]
                .0
                .iter()
                .map(|number| self.halves[usize::from(is_reverse)].numbers[*number as usize]);
            first(plain.chain([differences[usize::from(is_reverse)][at]]))
        };
        [false, true]
            .map(|is_reverse| with_wire_bytes([of(is_reverse, 0), of(is_reverse, 1), of(is_reverse, 2)]))
    }

    /// Returns what both directions count of a record in which nothing counts since a flow began.
    pub fn plain_counts(&self) -> [[u64; COUNTERS]; 2] {
        let of =
            |half: &Half, at: usize| first(SOURCES[at].0.iter().map(|number| half.numbers[*number as usize]));
        self.halves.each_ref().map(|half| with_wire_bytes([of(half, 0), of(half, 1), of(half, 2)]))
    }

    fn totals(&self) -> [[u64; COUNTERS]; 2] {
        let of =
            |half: &Half, at: usize| first(SOURCES[at].1.iter().map(|number| half.numbers[*number as usize]));
        self.halves.each_ref().map(|half| [of(half, 0), of(half, 1), of(half, 2)])
    }
}

/// A frame has more bytes than its packet: no bytes on the wire of packets that have some are not known ones.
fn with_wire_bytes([packets, bytes, wire_bytes]: [u64; COUNTERS]) -> [u64; COUNTERS] {
    let is_known = wire_bytes != 0 || matches!(bytes, 0 | NULL);
    [packets, bytes, if is_known { wire_bytes } else { NULL }]
}

/// The first number that is not 0, 0 if one is told, or [`NULL`].
fn first(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(NULL, |found, number| match (found, number) {
        (NULL, number) => number,
        (0, number) if number != NULL => number,
        (found, _) => found,
    })
}

/// A record, as far as totals need it.
#[derive(Clone, Copy, Debug)]
pub struct RecordOf<'a> {
    /// The plan by which the fields of the record are read.
    pub plan: &'a FieldPlan,
    /// The set of the record.
    pub set: &'a [u8],
    /// The ranges of the record's fields in its set.
    pub fields: &'a [Range<usize>],
    /// The session of the record: flows of different exporters are different ones.
    pub session: u64,
    /// The time at which the record was exported.
    pub export_ns: u64,
}

impl<'a> RecordOf<'a> {
    fn field(&self, at: usize) -> &'a [u8] {
        &self.set[self.fields[at].clone()]
    }
}

/// The value of a number.
fn value(number: Number, octets: &[u8]) -> Result<u64, Option<u64>> {
    if number == Number::Probability {
        return match (<[u8; 8]>::try_from(octets), <[u8; 4]>::try_from(octets)) {
            (Ok(octets), _) => Ok(u64::from_be_bytes(octets)),
            (_, Ok(octets)) => Ok(f64::from(f32::from_be_bytes(octets)).to_bits()),
            _ => Err(None),
        };
    }
    let plain = unsigned(octets).ok_or(None)?;
    match number {
        Number::Flags => Ok(plain & 0xff),
        Number::Vlan => Ok(plain & 0xfff),
        Number::SourceMac | Number::DestinationMac if octets.len() == 6 => Ok(plain),
        Number::SourceMac | Number::DestinationMac => Err(None),
        // The greatest number of all denotes none.
        _ if plain == NULL => Ok(NULL),
        _ if plain > number.most() => Err(Some(plain)),
        _ => Ok(plain),
    }
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.target.columns().first().copied().unwrap_or("an option");
        match (self.number, self.target) {
            (Some(value), Target::Number(number)) => {
                write!(f, "the number {value} is greater than {}: {what}", number.most())
            }
            _ => write!(f, "a value of {} octets is none of {what}", self.octets),
        }
    }
}

/// A time, nanoseconds since the epoch. `start_ms`: when the exporter began, where that was told apart from the header.
fn moment(clock: Clock, time: u64, facts: Facts, start_ms: Option<u64>) -> Option<u64> {
    match clock {
        Clock::NtpNanoseconds => ntp(time, SECOND).filter(|_| time != 0),
        Clock::NtpMicroseconds => ntp(time, 1_000_000).filter(|_| time != 0),
        // Zero is how a time is told that is not known.
        Clock::Milliseconds => time.checked_mul(MILLISECOND).filter(|time| *time != 0),
        Clock::Seconds => time.checked_mul(SECOND).filter(|time| *time != 0),
        Clock::MicrosecondsBefore => facts.export_ns.checked_sub(time.checked_mul(1000)?),
        Clock::Uptime => {
            let told = |start: u64| (facts.export_ns / MILLISECOND).wrapping_sub(start) as u32;
            let uptime = facts.uptime_ms.or(start_ms.map(told))?;
            // The counter begins anew every seven weeks: what counts is how long before the export it was, or a little after.
            let before = i64::from(uptime.wrapping_sub(time as u32) as i32);
            facts.export_ns.checked_add_signed(-before * MILLISECOND as i64)
        }
    }
}

/// Nanoseconds since 1970 of an NTP timestamp whose fraction is rounded to a unit; `units` of them are a second. Seconds before 1968 are
/// of the second era, which begins in 2036.
fn ntp(timestamp: u64, units: u64) -> Option<u64> {
    const ERA: u64 = 1 << 32;
    let (seconds, fraction) = (timestamp >> 32, timestamp & (ERA - 1));
    let seconds = if seconds < ERA / 2 { seconds + ERA } else { seconds };
    let rounded = (fraction * units + ERA / 2) >> 32;
    Some(seconds.checked_sub(EPOCH)? * SECOND + rounded * (SECOND / units))
}

#[cfg(test)]
mod tests {
    use super::super::template::{Dialect, Octets, Told as Said};
    use super::*;

    fn template(fields: &[(u16, u16)]) -> Template {
        let mut octets = vec![1, 0, 0, fields.len() as u8];
        fields.iter().for_each(|(number, length)| {
            octets.extend(number.to_be_bytes());
            octets.extend(length.to_be_bytes());
        });
        let told = Template::read(&mut Octets(&octets), false, Dialect::Ipfix).expect("a template");
        let Some(Said::Definition(256, template)) = told else { panic!("a definition") };
        template
    }

    #[test]
    fn each_value_is_read_from_the_field_of_the_least_rank() {
        // 150 seconds, 152 milliseconds, 23 octets out, 1 octets, 12, and 27 and 28 next to it.
        let plan =
            FieldPlan::of(&template(&[(150, 4), (152, 8), (23, 4), (1, 4), (12, 4), (27, 16), (28, 16)]));
        let expected = [
            (1, false, Target::Start(Clock::Milliseconds)),
            (2, false, Target::Number(Number::OutBytes)),
            (3, false, Target::Number(Number::Bytes)),
            (4, false, Target::Destination),
            (5, false, Target::Source),
            (6, false, Target::Destination),
        ];
        assert_eq!((plan.fields, plan.key.len()), (expected.to_vec(), 0));
    }

    #[test]
    fn what_is_no_value_of_its_element_is_not_read_and_told() {
        let plan = FieldPlan::of(&template(&[(8, 3), (7, 4), (2, 1)]));
        let values = Values::read(&plan, &[1, 2, 3, 0, 1, 0, 0, 9], &[0..3, 3..7, 7..8]);
        assert_eq!((values.addresses, values.ports()), ([None; 2], [None; 2]));
        assert_eq!(values.plain_counts()[0], [9, NULL, NULL]);
        assert_eq!(values.unfit.expect("a field").to_string(), "a value of 3 octets is none of src_addr");
    }

    /// The values of a record of pairs of an element and a number of an octet.
    fn values(fields: &[(u16, u8)]) -> Values {
        let template = template(&fields.iter().map(|(number, _)| (*number, 1)).collect::<Vec<_>>());
        let set: Vec<u8> = fields.iter().map(|(_, value)| *value).collect();
        let at: Vec<_> = (0..set.len()).map(|at| at..at + 1).collect();
        Values::read(&FieldPlan::of(&template), &set, &at)
    }

    /// The counters of both directions, of pairs of an element and a number of an octet.
    fn counts(fields: &[(u16, u8)]) -> [[u64; COUNTERS]; 2] {
        let template = template(&fields.iter().map(|(number, _)| (*number, 1)).collect::<Vec<_>>());
        let (plan, set): (_, Vec<u8>) =
            (FieldPlan::of(&template), fields.iter().map(|(_, value)| *value).collect());
        let at: Vec<_> = (0..set.len()).map(|at| at..at + 1).collect();
        let values = Values::read(&plan, &set, &at);
        let of = RecordOf { plan: &plan, set: &set, fields: &at, session: 0, export_ns: 0 };
        values.counts(&mut Totals::default(), &of)
    }

    #[test]
    fn a_counter_is_the_first_that_is_not_zero() {
        let of = |fields: &[(u16, u8)]| counts(fields)[0];
        assert_eq!(of(&[(1, 0), (2, 0), (23, 50), (24, 5)]), [5, 50, NULL]);
        assert_eq!(of(&[(23, 50), (24, 5)]), [5, 50, NULL]);
        assert_eq!(of(&[(1, 70), (2, 7), (23, 50), (24, 5)]), [7, 70, NULL]);
        // Zero next to a total; a counter from each.
        assert_eq!(of(&[(1, 0), (85, 90), (2, 3), (86, 9)]), [3, 90, NULL]);
        assert_eq!(of(&[(171, 80), (172, 8), (353, 99)]), [8, 80, 99]);
        assert_eq!(of(&[(1, 0), (2, 0)]), [0, 0, NULL]);
        assert_eq!(counts(&[(231, 5), (298, 1), (232, 6), (299, 2)]), [[1, 5, NULL], [2, 6, NULL]]);
    }

    #[test]
    fn a_rate_of_zero_hides_no_other() {
        let of = |fields: &[(u16, u8)]| values(fields).sampling();
        let one_of = |packets| Some(Told::Rate { packets, counted: 1 });
        assert_eq!(of(&[(305, 0), (306, 0), (34, 100)]), one_of(100));
        assert_eq!(of(&[(305, 0), (34, 100)]), one_of(100));
        assert_eq!(of(&[(305, 0), (306, 0), (309, 1), (310, 50), (34, 100)]), one_of(50));
        assert_eq!(of(&[(309, 1), (310, 0), (34, 100)]), one_of(100));
        assert_eq!(of(&[(305, 0), (306, 0), (34, 0)]), None);
    }

    /// Both times of a record with these times: element, octets.
    fn times(fields: &[(u16, Vec<u8>)]) -> [Option<u64>; 2] {
        let template =
            template(&fields.iter().map(|(number, of)| (*number, of.len() as u16)).collect::<Vec<_>>());
        let set: Vec<u8> = fields.iter().flat_map(|(_, octets)| octets.clone()).collect();
        let mut end = 0;
        let at: Vec<_> = fields
            .iter()
            .map(|(_, octets)| {
                end += octets.len();
                end - octets.len()..end
            })
            .collect();
        let facts = Facts { export_ns: 1_000_000 * SECOND, uptime_ms: None };
        Values::read(&FieldPlan::of(&template), &set, &at).times(false, facts, None)
    }

    #[test]
    fn what_is_not_told_of_time_follows_from_the_duration_or_the_event() {
        let seconds = |number, seconds: u32| (number, seconds.to_be_bytes().to_vec());
        let milliseconds = |number, time: u64| (number, time.to_be_bytes().to_vec());
        let at = |start: u64, end: u64| [Some(start * SECOND), Some(end * SECOND)];
        assert_eq!(times(&[seconds(150, 500), seconds(161, 18_000)]), at(500, 518));
        assert_eq!(times(&[seconds(151, 500), seconds(162, 18_000_000)]), at(482, 500));
        assert_eq!(times(&[milliseconds(323, 900_000), milliseconds(152, 500_000)]), at(500, 900));
        assert_eq!(times(&[seconds(322, 900), seconds(161, 18_000)]), at(882, 900));
        // What is told counts, whatever the duration is.
        assert_eq!(
            times(&[seconds(150, 500), seconds(151, 510), seconds(161, 18_000), seconds(322, 999)]),
            at(500, 510)
        );
        // An event alone; a time of zero, which is none.
        assert_eq!(times(&[seconds(322, 900)]), [None, Some(900 * SECOND)]);
        assert_eq!(
            times(&[seconds(150, 0), seconds(151, 0), milliseconds(258, 900_000)]),
            [None, Some(900 * SECOND)]
        );
        assert_eq!(times(&[seconds(161, 1000)]), at(999_999, 1_000_000));
        assert_eq!(times(&[seconds(265, 400), seconds(261, 410)]), at(400, 410));
        let ntp = ((500 + EPOCH) << 32 | 1 << 31).to_be_bytes().to_vec();
        for number in [324, 325] {
            assert_eq!(times(&[(number, ntp.clone())])[1], Some(500 * SECOND + SECOND / 2), "{number}");
        }
    }
}
