//! Datagrams of sFlow v5, written by hand from its specification.

use crate::support::*;
use flow::{FlowKey, NULL, OpenFields};
use router::{ExportedFlow, Version};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const AGENT: [u8; 4] = [198, 51, 100, 1];
const TCP: u8 = 6;

/// Numbers of 32 bits.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A structure with its format and length.
fn structure(format: u32, content: &[u8]) -> Vec<u8> {
    [&words(&[format, content.len() as u32])[..], content].concat()
}

/// A datagram of an agent.
fn datagram(agent: [u8; 4], sequence: u32, samples: &[Vec<u8>]) -> Vec<u8> {
    let head = [&words(&[5, 1])[..], &agent, &words(&[0, sequence, UPTIME_MS, samples.len() as u32])];
    [&head.concat()[..], &samples.concat()].concat()
}

/// A flow sample of interface 3.
fn sample(rate: u32, drops: u32, records: &[Vec<u8>]) -> Vec<u8> {
    let head = words(&[7, 3, rate, 1000, drops, 3, 4, records.len() as u32]);
    structure(1, &[&head[..], &records.concat()].concat())
}

/// The first octets of a frame of this length, whose check sequence was taken off.
fn raw(protocol: u32, length: u32, header: &[u8]) -> Vec<u8> {
    let padding = vec![0; header.len().next_multiple_of(4) - header.len()];
    let head = words(&[protocol, length, 4, header.len() as u32]);
    structure(1, &[&head[..], header, &padding].concat())
}

/// The first 54 octets of a TCP frame whose IP packet has 1,000 octets.
fn tcp_header(tag: Option<u16>) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if let Some(tag) = tag {
        frame.extend(numbers(&[0x8100, tag]));
    }
    frame.extend(numbers(&[0x0800, 0x4508, 1000, 1, 0, 0x4006, 0]));
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(numbers(&[4000, 443]));
    frame.extend(words(&[11, 22]));
    frame.extend(numbers(&[0x5018, 512, 0, 0]));
    frame
}

fn key(addresses: [IpAddr; 2], ports: [u16; 2], protocol: u8) -> Option<FlowKey> {
    Some(FlowKey::five_tuple((addresses[0], ports[0]), (addresses[1], ports[1]), protocol))
}

fn ends() -> [IpAddr; 2] {
    [Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into()]
}

fn is_open(flow: &ExportedFlow, field: &str) -> bool {
    flow.record.open.has_any(OpenFields::all(&[field]))
}

#[test]
fn a_sampled_header_is_a_flow_of_a_packet() {
    let mut test = Test::new();
    let flows = test.take(1, &datagram(AGENT, 0, &[sample(100, 0, &[raw(1, 1018, &tcp_header(None))])]));
    let [flow] = &flows[..] else { panic!("{flows:?}") };
    let record = &flow.record;
    assert_eq!(record.key, key(ends(), [4000, 443], TCP));
    assert_eq!((record.total_count, record.total_byte, record.wire_byte), (100, 100_000, 101_400));
    assert_eq!((flow.counted, record.sampling_rate), (1, 100));
    assert_eq!((record.tcp_seq, record.tcp_ack, record.tcp_win, record.tcp_flags), (11, 22, 512, 0x18));
    assert_eq!((record.ip_tos, record.ip_ttl, record.vlan), (8, 64, None));
    assert_eq!((record.dmac, record.smac), ([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]));
    // It counts when it arrives, which is no time of the packet.
    assert_eq!((record.stime, record.ltime), (NOW_NS, NOW_NS));
    assert!(is_open(flow, "stime") && is_open(flow, "ltime") && !is_open(flow, "vlan"));
    let [exporter] = &test.0.exporters()[..] else { panic!("an exporter") };
    assert_eq!((exporter.version, exporter.agent), (Version::SFlow, Some(AGENT.into())));
    assert_eq!((exporter.records, exporter.sampled, exporter.counts_messages), (1, 1, true));
    assert_eq!(exporter.rates.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1:100"]);
}

#[test]
fn what_an_agent_tells_of_a_packet_is_taken() {
    let switch = structure(1001, &words(&[7, 0, 9, 0]));
    let fields = [words(&[1000, 6]), vec![10, 0, 0, 1, 10, 0, 0, 2], words(&[4000, 443, 0x12, 8])].concat();
    let source: [u8; 16] = Ipv6Addr::LOCALHOST.octets();
    let fields6 = [&words(&[60, 17])[..], &source, &source, &words(&[53, 54, 0, 0])].concat();
    let expanded =
        [words(&[7, 0, 3, 1, 1000, 0, 0, 3, 0, 4, 1]), raw(1, 1022, &tcp_header(Some(5)))].concat();
    let arp = [&[2; 12][..], &[8, 6], &[0; 46]].concat();
    let samples = [
        // A tag in the header is the packet's; one that the switch took out of it is told apart.
        sample(1, 0, &[raw(1, 1022, &tcp_header(Some(5))), switch.clone()]),
        sample(1, 0, &[switch, raw(1, 1018, &tcp_header(None))]),
        sample(1, 0, &[structure(3, &fields)]),
        sample(1, 0, &[structure(4, &fields6)]),
        structure(3, &expanded),
        sample(1, 0, &[raw(11, 1000, &tcp_header(None)[14..])]),
        sample(1, 0, &[raw(1, 64, &arp)]),
        // The fields take the place of a header that is not read.
        sample(1, 0, &[raw(13, 1000, &[0; 20]), structure(3, &fields)]),
        // Counters of an interface, and the sample of a vendor.
        structure(2, &words(&[1, 3, 0])),
        structure(4413 << 12 | 1, &[1, 2, 3, 4]),
    ];
    let mut test = Test::new();
    let flows = test.take(1, &datagram(AGENT, 0, &samples));
    let of = |at: usize| {
        let record = &flows[at].record;
        (record.key, record.total_byte, record.wire_byte, record.vlan)
    };
    let tcp = key(ends(), [4000, 443], TCP);
    let loopback = [IpAddr::from(Ipv6Addr::LOCALHOST); 2];
    assert_eq!(flows.len(), 8);
    assert_eq!(of(0), (tcp, 1000, 1018, Some(5)));
    assert_eq!(of(1), (tcp, 1000, 1014, Some(7)));
    assert_eq!(of(2), (tcp, 1000, NULL, None));
    assert_eq!(of(3), (key(loopback, [53, 54], 17), 60, NULL, None));
    assert_eq!(of(4), (tcp, 1000, 1018, Some(5)));
    assert_eq!(of(5), (tcp, 1000, 1000, None));
    assert_eq!(of(6), (None, 0, 60, None));
    assert_eq!(of(7), (tcp, 1000, NULL, None));
    assert_eq!((flows[2].record.tcp_flags, flows[2].record.ip_tos), (0x12, 8));
    for (at, field, expected) in [
        (2, "vlan", true),
        (2, "tcp_seq", true),
        (2, "tcp_flags", false),
        (3, "tcp_seq", false),
        (5, "vlan", false),
        (6, "total_byte", true),
        (6, "wire_byte", false),
    ] {
        assert_eq!(is_open(&flows[at], field), expected, "{field} of {at}");
    }
    assert!(flows.iter().all(|flow| flow.rate.is_some_and(|rate| !rate.is_sampled())));
    let counts = test.0.counts();
    assert_eq!(
        (counts.records.given, counts.records.other_samples, counts.records.without_address),
        (8, 2, 1)
    );
    assert_eq!((counts.records.without_wire_bytes, counts.records.without_time), (3, 8));
    assert_eq!((counts.datagrams.decoded, counts.datagrams.trailing_octets), (1, 0));
}

#[test]
fn a_header_that_is_cut_leaves_open_what_it_does_not_tell() {
    let mut test = Test::new();
    let header = tcp_header(None);
    let samples = [34, 38, 46].map(|octets| sample(1, 0, &[raw(1, 1018, &header[..octets])]));
    let flows = test.take(1, &datagram(AGENT, 0, &samples));
    let open = |field| flows.iter().map(|flow| is_open(flow, field)).collect::<Vec<_>>();
    assert_eq!(flows.iter().map(|flow| flow.record.total_byte).collect::<Vec<_>>(), [1000; 3]);
    assert_eq!(open("src_port"), [true, false, false]);
    assert_eq!(open("tcp_flags"), [true, true, true]);
}

#[test]
fn what_was_lost_and_dropped_is_counted() {
    let mut test = Test::new();
    let one = |drops| sample(100, drops, &[raw(1, 1018, &tcp_header(None))]);
    for (sequence, drops) in [(5, 40), (6, 40), (9, 43), (10, 43)] {
        assert_eq!(test.take(1, &datagram(AGENT, sequence, &[one(drops)])).len(), 1);
    }
    let exporters = test.0.counts().exporters;
    assert_eq!((exporters.lost_messages, exporters.lost_records, exporters.restarts), (2, 3, 0));
    // The uptime went back, and it is later by more than the two differ: the agent began anew, and dropped none since.
    let mut anew = datagram(AGENT, 1, &[one(0)]);
    anew[20..24].copy_from_slice(&5_000u32.to_be_bytes());
    test.take_of(exporter(1), &anew, NOW_NS + 60 * SECOND);
    let exporters = test.0.counts().exporters;
    assert_eq!((exporters.lost_messages, exporters.lost_records, exporters.restarts), (2, 3, 1));
}

/// Strangers can name any number of sources: what is kept of them is bounded, and a sample of a source without room still counts as a packet.
#[test]
fn sources_of_samples_find_room_within_limits() {
    let mut test = Test::new();
    let raw = raw(1, 1018, &tcp_header(None));
    let of_source = |source: u32, drops| {
        let head = words(&[7, source, 100, 1000, drops, 3, 4, 1]);
        structure(1, &[&head[..], &raw].concat())
    };
    for (sequence, drops) in [(0, 0), (1, 2)] {
        let samples: Vec<_> = (0..5000).map(|source| of_source(source, drops)).collect();
        assert_eq!(test.take(1, &datagram(AGENT, sequence, &samples)).len(), 5000);
    }
    let counts = test.0.counts();
    assert_eq!(counts.sampling.too_many_samplers, 2 * (5000 - 4096));
    assert_eq!(counts.exporters.lost_records, 2 * 4096);
    // 16 exporters fill what all have together.
    for agent in 2..18 {
        let samples: Vec<_> = (0..4096).map(|source| of_source(source, 0)).collect();
        test.take(1, &datagram([198, 51, 100, agent], 0, &samples));
    }
    let without_room = 2 * (5000 - 4096) + 17 * 4096 - (1 << 16);
    assert_eq!(test.0.counts().sampling.too_many_samplers, without_room);
}

/// A program that forwards the datagrams of several agents sends all of them from one port.
#[test]
fn agents_behind_one_port_are_told_apart() {
    let mut test = Test::new();
    for number in 0..4 {
        for (agent, first) in [(1, 900), (2, 7)] {
            let one = sample(u32::from(agent) * 10, 0, &[raw(1, 1018, &tcp_header(None))]);
            test.take(1, &datagram([198, 51, 100, agent], first + number, &[one]));
        }
    }
    let exporters = test.0.exporters();
    let found: Vec<_> = exporters.iter().map(|of| (of.agent, of.records, of.lost, of.rates.len())).collect();
    let agent = |last| Some(IpAddr::from([198, 51, 100, last]));
    assert_eq!(found, [(agent(1), 4, 0, 1), (agent(2), 4, 0, 1)]);
    assert_eq!(test.0.counts().exporters, router::ExporterCounts::default());
}

#[test]
fn a_rate_that_is_not_told_is_not_known() {
    let mut test = Test::new();
    let flows = test.take(1, &datagram(AGENT, 0, &[sample(0, 0, &[raw(1, 1018, &tcp_header(None))])]));
    assert_eq!((flows[0].rate, flows[0].record.total_count, flows[0].record.sampling_rate), (None, 1, 0));
    assert_eq!(test.0.counts().sampling.wrong_sampling, 1);
}

/// Samples before the damage count, and nothing behind it.
#[test]
fn a_datagram_that_is_cut_is_damaged() {
    let one = sample(1, 0, &[raw(1, 1018, &tcp_header(None))]);
    let whole = datagram(AGENT, 0, &[one.clone(), one.clone()]);
    for length in 4..whole.len() {
        let mut test = Test::new();
        let flows = test.take(1, &whole[..length]);
        assert_eq!(flows.len(), usize::from(length >= whole.len() - one.len()), "{length}");
        assert_eq!(test.0.counts().datagrams.damaged, 1, "{length}");
    }
    // Lengths that point beyond their structure, and numbers of samples and of records that are not there.
    let at = whole.len() - 2 * one.len();
    for place in [at - 4, at + 4, at + 36, at + 44, at + 60] {
        let mut wrong = whole.clone();
        wrong[place..place + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut test = Test::new();
        test.take(1, &wrong);
        assert_eq!(test.0.counts().datagrams.damaged, 1, "{place}");
    }
}
