//! The values of one record, and the flow records that they are.

use crate::counts::Counts;
use crate::element::{Clock, NUMBERS, Number, Plan, Target};
use crate::rate::Rate;
use crate::waiting::Facts;
use flow::{EndReason, FlowKey, FlowRecord};
use record::read::{ntp, unsigned};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Protocols of ICMP, over IPv4 and IPv6.
const ICMP: [u64; 2] = [1, 58];

/// What a record says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    pub(crate) addresses: [Option<IpAddr>; 2],
    macs: [[u8; 6]; 2],
    numbers: [Option<u64>; NUMBERS],
    start: Option<(Clock, u64)>,
    end: Option<(Clock, u64)>,
}

/// What is known of time apart from a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) facts: Facts,
    /// When the exporter began, milliseconds since the epoch.
    pub(crate) start_ms: Option<u64>,
}

impl Values {
    /// Those of the fields of a record.
    pub(crate) fn read(plan: &Plan, set: &[u8], fields: &[Range<usize>]) -> Self {
        let mut values = Self::default();
        for (at, target) in &plan.0 {
            let octets = &set[fields[*at].clone()];
            match target {
                Target::Source => values.address(0, octets),
                Target::Destination => values.address(1, octets),
                Target::SourceMac => values.mac(0, octets),
                Target::DestinationMac => values.mac(1, octets),
                Target::Start(clock) => values.start = unsigned(octets).map(|number| (*clock, number)),
                Target::End(clock) => values.end = unsigned(octets).map(|number| (*clock, number)),
                Target::Number(number) => values.numbers[*number as usize] = unsigned(octets),
            }
        }
        values
    }

    fn address(&mut self, at: usize, octets: &[u8]) {
        let address = match (<[u8; 4]>::try_from(octets), <[u8; 16]>::try_from(octets)) {
            (Ok(octets), _) => IpAddr::V4(Ipv4Addr::from(octets)),
            // One of IPv4 within one of IPv6 is of IPv4, as files have it.
            (_, Ok(octets)) => IpAddr::V6(Ipv6Addr::from(octets)).to_canonical(),
            _ => return,
        };
        // Some templates have addresses of both families, of which one is zero.
        if self.addresses[at].is_none_or(|known| known.is_unspecified() && !address.is_unspecified()) {
            self.addresses[at] = Some(address);
        }
    }

    fn mac(&mut self, at: usize, octets: &[u8]) {
        if let Ok(octets) = octets.try_into() {
            self.macs[at] = octets;
        }
    }

    pub(crate) fn number(&self, number: Number) -> Option<u64> {
        self.numbers[number as usize]
    }

    /// Sets a number, as NetFlow v5 has it in a fixed place.
    pub(crate) fn set(&mut self, number: Number, value: u64) {
        self.numbers[number as usize] = Some(value);
    }

    /// Sets both addresses and times, likewise.
    pub(crate) fn set_flow(&mut self, addresses: [Ipv4Addr; 2], [start, end]: [u32; 2]) {
        self.addresses = addresses.map(|address| Some(IpAddr::V4(address)));
        self.start = Some((Clock::Uptime, start.into()));
        self.end = Some((Clock::Uptime, end.into()));
    }

    /// The sampling rate that a record tells, of itself or of a sampler; an error where it is impossible.
    pub(crate) fn rate(&self) -> Option<Result<Rate, ()>> {
        let told = match (self.number(Number::PacketInterval), self.number(Number::PacketSpace)) {
            (Some(counted), Some(not)) => Some((counted.saturating_add(not), counted)),
            // Some name the distance alone.
            (Some(distance), None) => Some((distance, 1)),
            _ => match (self.number(Number::SamplePopulation), self.number(Number::SampleSize)) {
                (Some(population), Some(size)) => Some((population, size)),
                _ => self.number(Number::OneOf).map(|packets| (packets, 1)),
            },
        };
        // Zero is nothing told.
        told.filter(|(packets, _)| *packets != 0)
            .map(|(packets, counted)| Rate::new(packets, counted).ok_or(()))
    }

    /// The records of this flow, of each direction that has packets or bytes, as they were counted.
    pub(crate) fn records(&self, times: Times, counts: &mut Counts) -> [Option<FlowRecord>; 2] {
        let [Some(source), Some(destination)] = self.addresses else {
            counts.without_address += 1;
            return [None, None];
        };
        let of = |number| self.number(number).unwrap_or(0);
        let forward = [of(Number::Packets), of(Number::Bytes)];
        let reverse = [of(Number::ReversePackets), of(Number::ReverseBytes)];
        if forward == [0; 2] && reverse == [0; 2] {
            counts.without_packets += 1;
            return [None, None];
        }
        let [start, end] = self.times(times, counts);
        let protocol = of(Number::Protocol);
        let mut ports = [of(Number::SourcePort) as u16, of(Number::DestinationPort) as u16];
        if ICMP.contains(&protocol) {
            let parts = [Number::IcmpType, Number::IcmpCode].map(|number| self.number(number));
            let told = self.number(Number::Icmp).filter(|both| *both != 0);
            let of_parts = || parts[0].map(|kind| kind << 8 | parts[1].unwrap_or(0));
            ports = [0, told.or_else(of_parts).map_or(ports[1], |both| both as u16)];
        }
        let record = |packets, bytes, is_reverse: bool| {
            let mut record = FlowRecord::without_packets(start, end);
            let ends = [(source, ports[0]), (destination, ports[1])];
            // Type and code of ICMP are of neither end: they stand in the destination's place in both directions.
            let [from, to] = match is_reverse {
                true if ICMP.contains(&protocol) => [(destination, ports[0]), (source, ports[1])],
                true => [ends[1], ends[0]],
                false => ends,
            };
            record.key = Some(FlowKey::five_tuple(from, to, protocol as u8));
            record.total_count = packets;
            record.total_byte = bytes;
            record.wire_byte = bytes;
            record.ip_tos = of(Number::Tos) as u8;
            record.ip_ttl = of(Number::Ttl) as u8;
            record.vlan = self.number(Number::Vlan).map(|vlan| vlan as u16 & 0xfff).filter(|vlan| *vlan != 0);
            record.end_reason = match self.number(Number::EndReason) {
                Some(1) => EndReason::Idle,
                Some(2) => EndReason::Active,
                _ => EndReason::End,
            };
            record.tcp_flags = of(if is_reverse { Number::ReverseFlags } else { Number::Flags }) as u8;
            if !is_reverse {
                record.wire_byte = self.number(Number::WireBytes).unwrap_or(bytes);
                [record.smac, record.dmac] = self.macs;
                record.tcp_seq = of(Number::TcpSeq) as u32;
                record.tcp_ack = of(Number::TcpAck) as u32;
                record.tcp_win = of(Number::TcpWindow) as u16;
            }
            record
        };
        counts.without_wire_bytes += u64::from(self.number(Number::WireBytes).is_none());
        let one = |[packets, bytes]: [u64; 2], is_reverse| {
            (packets != 0 || bytes != 0).then(|| record(packets, bytes, is_reverse))
        };
        [one(forward, false), one(reverse, true)]
    }

    /// The times of its first and last packet.
    fn times(&self, times: Times, counts: &mut Counts) -> [u64; 2] {
        let start_ms = self.number(Number::SystemStart).or(times.start_ms);
        let at = |told: Option<(Clock, u64)>| {
            told.and_then(|(clock, time)| moment(clock, time, times.facts, start_ms))
        };
        let (start, end) = (at(self.start), at(self.end));
        let Some(end) = end.or(start) else {
            counts.without_time += 1;
            return [times.facts.export_ns; 2];
        };
        match start {
            Some(start) if start > end => {
                counts.times_reversed += 1;
                [end, end]
            }
            start => [start.unwrap_or(end), end],
        }
    }
}

/// A time, nanoseconds since the epoch. `start_ms`: when the exporter began, where that was told apart from the header.
fn moment(clock: Clock, time: u64, facts: Facts, start_ms: Option<u64>) -> Option<u64> {
    match clock {
        Clock::NtpNanoseconds => ntp(time, SECOND),
        Clock::NtpMicroseconds => ntp(time, 1_000_000),
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
