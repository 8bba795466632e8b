//! Datagrams as exporters send them, with what nfcapd and the standards say of them.

use crate::support::*;
use flow::OpenFields;
use router::ExportedFlow;

/// NetFlow v9: IN_BYTES and IN_PKTS are 0, OUT_BYTES and OUT_PKTS are not; a flow that was dropped, and one that was not.
const OUT_WITHOUT_IN: [&str; 2] = [
    "000900010036ee806b09b6b10000000000000000000000340100000b00080004000c000400070002000b000200040001000100040002000400170004\
     001800040016000400150004",
    "000900010036ee806b09b6b100000001000000000100004e0a0000010a00000203e80050060000000000000000000013880000000a0036c7700036ea\
     980a0000020a00000203e8005006000002bc00000007000013880000000a0036c7700036ea98",
];

/// IPFIX: octetTotalCount and packetTotalCount of both directions (RFC 5103).
const REVERSE_TOTALS: [&str; 1] = [
    "000a008d6b09b6b100000000000000000002003c0100000b00080004000c000400070002000b00020004000100550008005600088055000800007279\
     80560008000072790098000800990008010000410a0000010a00000203e80050060000000000001388000000000000000a0000000000011170000000\
     0000000032000001a21df18040000001a21df19f80",
];

/// IPFIX: the totals of one flow, 100, 200, 300 packets.
const TOTALS_THAT_GROW: [&str; 3] = [
    "000a006d6b09b9b400000000000000000002002c0100000900080004000c000400070002000b00020004000100550008005600080098000800990008\
     010000310a0000010a00000203e8005006000000000000c3500000000000000064000001a21df8d340000001a21dfb9260",
    "000a00416b09b9b40000000100000000010000310a0000010a00000203e800500600000000000186a000000000000000c8000001a21df8d340000001\
     a21dfc7cc0",
    "000a00416b09b9b40000000200000000010000310a0000010a00000203e800500600000000000249f0000000000000012c000001a21df8d340000001\
     a21dfd6338",
];

/// IPFIX: a selector with samplingProbability 0.01, and a flow of 10 packets.
const PROBABILITY: [&str; 1] = [
    "000a00956b09b6b1000000000000000000030016012c00030001009500040130000201370008012c00120000000000043f847ae147ae147b0002002c\
     0100000900080004000c000400070002000b00020004000100010008000200080098000800990008010000310a0000010a00000203e8005006000000\
     0000001388000000000000000a000001a21df19b98000001a21df19f80",
];

/// NetFlow v9 of a firewall: flowStartMilliseconds an hour ago, observationTimeMilliseconds at the event.
const FIREWALL: [&str; 2] = [
    "0009000205f5e1006b09b6b10000000000000000000000400107000e009400040008000400070002000c0004000b00020004000100e9000180ea0002\
     014300080098000800e7000400e80004012a0004012b000401070038000000090a00000103e80a00000201bb06020000000001a21df19f80000001a2\
     1dbab4e800000fa000015f900000001400000050",
    "0009000205f5e1006b09b6b1000000010000000001070038000000090a00000103e80a00000201bb06010000000001a21df19f80000001a21dbab4e8\
     0000000000000000000000000000000001070038000000090a00000103e80a00000201bb06030000000001a21df19f80000001a21dbab4e800000000\
     000000000000000000000000",
];

/// IPFIX: flowStartSeconds, and flowDurationMilliseconds of 18 s.
const DURATION: [&str; 1] = [
    "000a00656b09b6b100000000000000000002002c0100000900080004000c000400070002000b00020004000100010008000200080096000400a10004\
     010000290a0000010a00000203e80050060000000000001388000000000000000a6b09b69d00004650",
];

/// Takes datagrams of one exporter.
fn flows_of(test: &mut Test, datagrams: &[&str]) -> Vec<ExportedFlow> {
    let octets = |text: &str| -> Vec<u8> {
        let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("a digit")).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    };
    datagrams.iter().flat_map(|text| test.take(1, &octets(text))).collect()
}

/// Packets and bytes of all flows.
fn sums(flows: &[ExportedFlow]) -> (u64, u64) {
    let sum = |of: fn(&ExportedFlow) -> u64| flows.iter().map(of).sum();
    (sum(|flow| flow.record.total_count), sum(|flow| flow.record.total_byte))
}

#[test]
fn what_left_counts_where_nothing_came_in() {
    let mut test = Test::new();
    let flows = flows_of(&mut test, &OUT_WITHOUT_IN);
    let found: Vec<_> = flows.iter().map(|flow| (flow.record.total_count, flow.record.total_byte)).collect();
    assert_eq!((found, test.0.counts().records.without_packets), (vec![(10, 5000), (7, 700)], 0));
}

#[test]
fn totals_of_both_directions_count() {
    let mut test = Test::new();
    let flows = flows_of(&mut test, &REVERSE_TOTALS);
    let found: Vec<_> = flows.iter().map(|flow| (flow.record.total_count, flow.record.total_byte)).collect();
    assert_eq!((found, sums(&flows)), (vec![(10, 5000), (50, 70_000)], (60, 75_000)));
}

#[test]
fn totals_that_grow_are_differences() {
    let mut test = Test::new();
    let flows = flows_of(&mut test, &TOTALS_THAT_GROW);
    assert_eq!((flows.len(), sums(&flows)), (3, (300, 150_000)));
    // The last one again; the exporter's flow is that of no other one.
    assert_eq!(
        (flows_of(&mut test, &TOTALS_THAT_GROW[2..]).len(), test.0.counts().records.without_packets),
        (0, 1)
    );
    assert_eq!(sums(&flows_of(&mut Test::new(), &TOTALS_THAT_GROW)), (300, 150_000));
}

#[test]
fn zero_beside_a_total_is_no_count() {
    let mut test = Test::new();
    let fields = template(256, &[8, 4, 12, 4, 1, 4, 2, 4, 85, 4, 86, 4]);
    let record = |numbers: [u32; 4]| {
        let numbers: Vec<u8> = numbers.into_iter().flat_map(u32::to_be_bytes).collect();
        [&[10, 0, 0, 1, 10, 0, 0, 2][..], &numbers].concat()
    };
    // Counts since the last record where they are told, else what the totals grew.
    let records = [
        record([0, 0, 5000, 10]),
        record([600, 2, 5600, 12]),
        record([0, 0, 5700, 13]),
        record([0, 0, 5700, 13]),
    ];
    let flows = test.take(1, &ipfix(0, 0, &[set(2, &fields), set(256, &records.concat())]));
    assert_eq!((flows.len(), sums(&flows), test.0.counts().records.without_packets), (3, (13, 5700), 1));
}

#[test]
fn totals_of_an_exporter_that_began_anew_are_of_another_flow() {
    let mut test = Test::new();
    let fields = set(2, &template(256, &[8, 4, 12, 4, 86, 4]));
    let record = |packets: u32| set(256, &[&[10, 0, 0, 1, 10, 0, 0, 2][..], &packets.to_be_bytes()].concat());
    let mut take = |later, sequence, packets| {
        sums(&test.take(1, &ipfix_at(EXPORT_S + later, sequence, 0, &[fields.clone(), record(packets)]))).0
    };
    assert_eq!(
        [take(0, 5_000, 100), take(1, 5_001, 150), take(9, 0, 200), take(10, 1, 210)],
        [100, 50, 200, 10]
    );
    assert_eq!(test.0.counts().exporters.restarts, 1);
}

#[test]
fn an_event_of_a_firewall_is_when_it_happened() {
    let flows = flows_of(&mut Test::new(), &FIREWALL);
    let times: Vec<_> = flows.iter().map(|flow| [flow.record.stime, flow.record.ltime]).collect();
    // The flow began an hour before.
    let [start, end] = [0x1a2_1dba_b4e8, 0x1a2_1df1_9f80].map(|time: u64| time * 1_000_000);
    assert!(!times.is_empty() && times.iter().all(|own| *own == [start, end]), "{times:?}");
}

#[test]
fn a_flow_lasts_as_long_as_it_says() {
    let flows = flows_of(&mut Test::new(), &DURATION);
    let start = 0x6b09_b69d * SECOND;
    assert_eq!([flows[0].record.stime, flows[0].record.ltime], [start, start + 18 * SECOND]);
}

#[test]
fn a_probability_is_a_rate() {
    let flows = flows_of(&mut Test::new(), &PROBABILITY);
    assert_eq!((sums(&flows), flows[0].counted), ((1000, 500_000), 10));
}

/// An end that a record does not tell is its begin. A VLAN of 0 is told, and is none.
#[test]
fn an_end_and_a_vlan_that_are_not_told_are_open() {
    let of = |fields: &[u16], more: &[u8]| {
        let fields = template(256, &[&[8, 4, 12, 4, 2, 4, 1, 4], fields].concat());
        let record = [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 3, 0, 0, 1, 44][..], more].concat();
        let flows = Test::new().take(1, &ipfix(0, 0, &[set(2, &fields), set(256, &record)]));
        let record = &flows[0].record;
        let is_open =
            ["ltime", "vlan", "smac"].map(|field| record.open.has_any(OpenFields::from_field(field)));
        (record.stime == record.ltime, record.vlan, is_open)
    };
    let began = (EXPORT_S - 9).to_be_bytes();
    assert_eq!(of(&[150, 4], &began), (true, None, [true, true, true]));
    let with = |vlan: u8| of(&[150, 4, 151, 4, 58, 2], &[&began[..], &began, &[0, vlan]].concat());
    assert_eq!(
        [with(0), with(7)],
        [(true, None, [false, false, true]), (true, Some(7), [false, false, true])]
    );
}

/// A begin that no record tells is that of its end, and is told as open, as bytes on the wire are.
#[test]
fn a_begin_that_is_not_told_is_open() {
    let [begin, wire] = ["stime", "wire_byte"].map(OpenFields::from_field);
    let of = |fields: &[u16], more: &[u8]| {
        let fields = template(256, &[&[8, 4, 12, 4, 2, 4, 1, 4], fields].concat());
        let record = [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 3, 0, 0, 1, 44][..], more].concat();
        let flows = Test::new().take(1, &ipfix(0, 0, &[set(2, &fields), set(256, &record)]));
        let record = &flows[0].record;
        (record.stime == record.ltime, record.open.has_any(begin), record.open.has_any(wire))
    };
    let times = |seconds: &[u32]| seconds.iter().flat_map(|at| at.to_be_bytes()).collect::<Vec<_>>();
    assert_eq!(of(&[151, 4], &times(&[EXPORT_S - 5])), (true, true, true));
    assert_eq!(of(&[], &[]), (true, true, true));
    assert_eq!(of(&[150, 4, 151, 4], &times(&[EXPORT_S - 9, EXPORT_S - 5])), (false, false, true));
    assert_eq!(
        of(&[150, 4, 151, 4, 352, 4], &times(&[EXPORT_S - 9, EXPORT_S - 5, 342])),
        (false, false, false)
    );
}
