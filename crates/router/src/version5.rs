//! NetFlow v5: records in fixed places.

use record::read::{ExportTimes, NumericElement, Octets, RecordValues};
use std::net::Ipv4Addr;

/// Octets of a record.
pub(crate) const RECORD: usize = 48;
/// The most records of a datagram.
pub(crate) const MOST_RECORDS: u16 = 30;

/// The header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) count: u16,
    pub(crate) facts: ExportTimes,
    pub(crate) sequence: u32,
    /// Type and number of the engine.
    pub(crate) engine: u16,
    /// The sampling interval N: one packet of N is counted; 0 if it is not given.
    pub(crate) sampling: u16,
    /// The mode of sampling; 0 if the exporter does not sample, or does not say so.
    pub(crate) mode: u16,
}

impl Header {
    /// Reads the header behind the version.
    pub(crate) fn read(octets: &mut Octets<'_>) -> Option<Self> {
        let count = octets.u16()?;
        let (uptime, seconds, nanoseconds) = (octets.u32()?, octets.u32()?, octets.u32()?);
        let export_ns = u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds.min(999_999_999));
        let facts = ExportTimes { export_ns, uptime_ms: Some(uptime) };
        let (sequence, engine, sampling) = (octets.u32()?, octets.u16()?, octets.u16()?);
        Some(Self { count, facts, sequence, engine, sampling: sampling & 0x3fff, mode: sampling >> 14 })
    }
}

/// The values of a record of [`RECORD`] octets.
pub(crate) fn values(record: &[u8]) -> Option<RecordValues> {
    let mut octets = Octets(record);
    let [source, destination] = [octets.u32()?, octets.u32()?].map(Ipv4Addr::from);
    let (_next_hop, _interfaces) = (octets.u32()?, octets.u32()?);
    let (packets, bytes) = (octets.u32()?, octets.u32()?);
    let times = [octets.u32()?, octets.u32()?];
    let ports = [octets.u16()?, octets.u16()?];
    let rest = octets.take(4)?;
    let mut values = RecordValues::default();
    values.set_flow([source, destination], times);
    values.set(NumericElement::Packets, packets.into());
    values.set(NumericElement::Bytes, bytes.into());
    values.set(NumericElement::SourcePort, ports[0].into());
    values.set(NumericElement::DestinationPort, ports[1].into());
    values.set(NumericElement::Flags, rest[1].into());
    values.set(NumericElement::Protocol, rest[2].into());
    values.set(NumericElement::Tos, rest[3].into());
    Some(values)
}
