//! The conversion of the values of a record to flow records.

use crate::counts::RecordCounts;
use crate::rate::SamplingRate;
use flow::{EndReason, FlowKey, FlowRecord, NULL, OpenFields};
use record::read::{COUNTERS, ExportTimes, NumericElement, RecordValues, Sampling};

/// Protocols of ICMP, over IPv4 and IPv6.
const ICMP: [u64; 2] = [1, 58];

/// The facts about time that are known apart from a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeFacts {
    pub(crate) facts: ExportTimes,
    /// The time at which the exporter began, milliseconds since the epoch.
    pub(crate) start_ms: Option<u64>,
}

/// Returns what a record tells of sampling, of itself or of others: a rate, or `None` where packets are left out and it is not told how many. An
/// error where the rate is impossible.
pub(crate) fn sampling(values: &RecordValues) -> Option<Result<Option<SamplingRate>, ()>> {
    Some(match values.sampling()? {
        Sampling::Rate { packets, counted } => SamplingRate::new(packets, counted).map(Some).ok_or(()),
        Sampling::Probability(probability) => SamplingRate::with_probability(probability).map(Some).ok_or(()),
        Sampling::Unknown => Ok(None),
    })
}

/// The records of a flow, of each direction that has packets or bytes, as they were counted.
pub(crate) fn records(
    values: &RecordValues,
    counted: [[u64; COUNTERS]; 2],
    times: TimeFacts,
    counts: &mut RecordCounts,
) -> [Option<FlowRecord>; 2] {
    let told = |count: u64| if count == NULL { 0 } else { count };
    let is_empty = |[packets, bytes, _]: [u64; COUNTERS]| told(packets) == 0 && told(bytes) == 0;
    if counted.into_iter().all(is_empty) {
        counts.without_packets += 1;
        return [None, None];
    }
    let [source, destination] = values.addresses();
    let addresses = source.zip(destination);
    counts.without_address += u64::from(addresses.is_none());
    let protocol = values.number(NumericElement::Protocol);
    let ports = values.ports();
    let is_icmp = protocol.is_some_and(|protocol| ICMP.contains(&protocol));
    let mut lacks_wire_bytes = false;
    let mut record = |[packets, bytes, wire_bytes]: [u64; COUNTERS], is_reverse: bool| {
        let of = |number| values.get(number, is_reverse);
        // Of the other direction some exporters tell counts alone.
        let or_of_flow = |number| of(number).or(values.number(number));
        let mut open = OpenFields::default();
        let mut or_open = |field: OpenFields, value: Option<u64>| {
            if value.is_none() {
                open.add(field);
            }
            value.unwrap_or(0)
        };
        let counter = |count: u64| (count != NULL).then_some(count);
        let told = values.times(is_reverse, times.facts, times.start_ms);
        let [start, end] = span(told, times.facts, counts);
        let mut record = FlowRecord::without_packets(start, end);
        let ends = addresses.map(|(source, destination)| [(source, ports[0]), (destination, ports[1])]);
        // Without both addresses it is of no flow.
        record.key = ends.map(|ends| {
            // Type and code of ICMP are of neither end: they stand in the destination's place in both directions.
            let [from, to] = match is_reverse {
                true if is_icmp => [(ends[1].0, ports[0]), (ends[0].0, ports[1])],
                true => [ends[1], ends[0]],
                false => ends,
            };
            FlowKey::five_tuple(
                (from.0, or_open(const { OpenFields::from_field("src_port") }, from.1) as u16),
                (to.0, or_open(const { OpenFields::from_field("dst_port") }, to.1) as u16),
                or_open(const { OpenFields::from_field("protocol") }, protocol) as u8,
            )
        });
        record.total_count = or_open(const { OpenFields::from_field("total_count") }, counter(packets));
        record.total_byte = or_open(const { OpenFields::from_field("total_byte") }, counter(bytes));
        lacks_wire_bytes |= wire_bytes == NULL;
        record.wire_byte = wire_bytes;
        or_open(const { OpenFields::from_field("wire_byte") }, counter(wire_bytes));
        or_open(const { OpenFields::from_field("stime") }, told[0]);
        or_open(const { OpenFields::from_field("ltime") }, told[1]);
        record.ip_tos =
            or_open(const { OpenFields::from_field("ip_tos") }, or_of_flow(NumericElement::Tos)) as u8;
        record.ip_ttl =
            or_open(const { OpenFields::from_field("ip_ttl") }, or_of_flow(NumericElement::Ttl)) as u8;
        record.vlan = or_of_flow(NumericElement::Vlan).map(|vlan| vlan as u16);
        record.end_reason = match or_of_flow(NumericElement::EndReason) {
            Some(1) => EndReason::Idle,
            Some(2) => EndReason::Active,
            _ => EndReason::End,
        };
        let mac = |number| {
            let [_, _, mac @ ..] = of(number).unwrap_or(0).to_be_bytes();
            mac
        };
        record.tcp_flags =
            or_open(const { OpenFields::from_field("tcp_flags") }, of(NumericElement::Flags)) as u8;
        record.smac = mac(NumericElement::SourceMac);
        record.dmac = mac(NumericElement::DestinationMac);
        record.headers = values.headers(is_reverse);
        record.tcp_seq =
            or_open(const { OpenFields::from_field("tcp_seq") }, of(NumericElement::TcpSeq)) as u32;
        record.tcp_ack =
            or_open(const { OpenFields::from_field("tcp_ack") }, of(NumericElement::TcpAck)) as u32;
        record.tcp_win =
            or_open(const { OpenFields::from_field("tcp_win") }, of(NumericElement::TcpWindow)) as u16;
        for (field, number) in [
            (const { OpenFields::from_field("vlan") }, NumericElement::Vlan),
            (const { OpenFields::from_field("smac") }, NumericElement::SourceMac),
            (const { OpenFields::from_field("dmac") }, NumericElement::DestinationMac),
        ] {
            if !values.tells(number) && of(number).is_none() {
                open.add(field);
            }
        }
        record.open = open.limit_to_protocol(protocol.map(|protocol| protocol as u8));
        record
    };
    let mut one = |is_reverse: bool| {
        let own = counted[usize::from(is_reverse)];
        (!is_empty(own)).then(|| record(own, is_reverse))
    };
    let records = [one(false), one(true)];
    counts.without_wire_bytes += u64::from(lacks_wire_bytes);
    records
}

/// The times of the first and the last packet, as far as they are told.
fn span(times: [Option<u64>; 2], facts: ExportTimes, counts: &mut RecordCounts) -> [u64; 2] {
    let [start, end] = times;
    let Some(end) = end.or(start) else {
        counts.without_time += 1;
        return [facts.export_ns; 2];
    };
    match start {
        Some(start) if start > end => {
            counts.times_reversed += 1;
            [end, end]
        }
        start => [start.unwrap_or(end), end],
    }
}
