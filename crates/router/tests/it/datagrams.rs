//! Datagrams written by hand from RFC 3954 and RFC 7011, and what becomes of them.

use crate::support::*;
use proptest::prelude::*;
use router::{Decoder, DecoderSettings, ExportedFlow, ExporterNetwork, SamplingRate};
use std::net::{IpAddr, SocketAddr};

#[test]
fn version_5_has_its_records_in_fixed_places() {
    let mut test = Test::new();
    let flows = test.take(1, &v5(7, 0, &[v5_record(1000, 3, 300), v5_record(1001, 4, 400)]));
    assert_eq!(seen(&flows), [(1000, 3, 300), (1001, 4, 400)]);
    let record = &flows[0].record;
    assert_eq!((record.stime, record.ltime), (NOW_NS - 5 * SECOND, NOW_NS - 2 * SECOND));
    assert_eq!((record.tcp_flags, record.ip_tos, record.wire_bytes()), (0x1b, 8, None));
    assert_eq!(record.key.expect("a key").src_addr, Some(IpAddr::from([10, 0, 0, 1])));
    // Sampling in the header, in the lower 14 bits; three records are missing.
    let flows = test.take(1, &v5(12, 0x4000 | 100, &[v5_record(1000, 3, 300)]));
    assert_eq!((seen(&flows), flows[0].counted), (vec![(1000, 300, 30_000)], 3));
    assert_eq!(test.0.counts().exporters.lost_records, 3);
    // More records than there are, and none at all.
    let mut short = v5(13, 0, &[v5_record(1, 1, 1)]);
    short[3] = 2;
    assert!(test.take(1, &short).is_empty() && test.take(1, &v5(13, 0, &[])).is_empty());
    assert_eq!(test.0.counts().datagrams.damaged, 2);
}

#[test]
fn header_fields_are_those_that_records_tell() {
    // flowLabelIPv6, minimumTTL and maximumTTL, the last one in two octets.
    let fields = [&FIELDS[..], &[31, 4, 52, 1, 53, 2]].concat();
    let with = |headers: [u8; 7]| [record(1, 1, 60), headers.to_vec()].concat();
    for is_v9 in [true, false] {
        let mut test = Test::new();
        let message = |sets: &[Vec<u8>]| if is_v9 { v9(0, 0, sets) } else { ipfix(0, 0, sets) };
        test.take(1, &message(&[set(if is_v9 { 0 } else { 2 }, &template(300, &fields))]));
        let flows = test.take(1, &message(&[set(300, &with([0, 0xb, 0xee, 0xf5, 3, 0, 200]))]));
        let told = |flow: &ExportedFlow| [0, 1, 2].map(|at| flow.record.headers.get(at));
        assert_eq!(told(&flows[0]), [Some(0xb_eef5), Some(3), Some(200)]);
        // What no packet can have is not read.
        let flows = test.take(1, &message(&[set(300, &with([0xff; 7]))]));
        assert_eq!(flows.iter().map(told).collect::<Vec<_>>(), [[None, Some(255), None]]);
    }
    let mut test = Test::new();
    test.take(1, &v9(0, 0, &[set(0, &template(256, &FIELDS))]));
    let flows = test.take(1, &v9(1, 0, &[set(256, &record(1, 1, 60))]));
    assert_eq!(flows[0].record.headers.get(1), None);
}

#[test]
fn templates_of_exporters_and_domains_are_their_own() {
    let mut test = Test::new();
    let data = |port| set(256, &record(port, 1, 60));
    test.take(1, &v9(0, 0, &[set(0, &template(256, &FIELDS))]));
    assert_eq!(seen(&test.take(1, &v9(1, 0, &[data(1)]))), [(1, 1, 60)]);
    // Another domain, address or version has none.
    assert!(test.take(1, &v9(0, 1, &[data(2)])).is_empty());
    assert!(test.take(2, &v9(0, 0, &[data(3)])).is_empty());
    assert!(test.take(1, &ipfix(0, 0, &[data(4)])).is_empty());
    assert_eq!((test.0.exporters().len(), test.0.counts().datagrams.decoded), (4, 5));
    test.0.finish();
    assert_eq!((test.0.counts().templates.without_template, test.0.waiting_bytes()), (3, 0));
}

#[test]
fn data_wait_for_a_template_that_comes_late() {
    for is_v9 in [true, false] {
        let mut test = Test::new();
        let message = |sequence, sets: &[Vec<u8>]| match is_v9 {
            true => v9(sequence, 0, sets),
            false => ipfix(sequence, 0, sets),
        };
        let both = [record(1, 1, 60), record(2, 2, 120)].concat();
        assert!(test.take(1, &message(0, &[set(300, &both), set(301, &record(3, 3, 180))])).is_empty());
        assert!(test.0.waiting_bytes() > 0);
        let flows = test.take(1, &message(1, &[set(if is_v9 { 0 } else { 2 }, &template(300, &FIELDS))]));
        assert_eq!(seen(&flows), [(1, 1, 60), (2, 2, 120)]);
        // Their times are those of their own message.
        if is_v9 {
            assert_eq!(flows[0].record.ltime, NOW_NS - 2 * SECOND);
        } else {
            assert_eq!((flows[0].record.ltime, test.0.counts().records.without_time), (NOW_NS, 2));
        }
        assert_eq!(
            (test.0.counts().templates.late_template, test.0.counts().templates.without_template),
            (1, 0)
        );
        test.0.finish();
        assert_eq!((test.0.counts().templates.without_template, test.0.waiting_bytes()), (1, 0));
    }
}

#[test]
fn templates_change_and_are_wrong() {
    let mut test = Test::new();
    let templates = |fields: &[u16]| set(0, &template(256, fields));
    test.take(1, &v9(0, 0, &[templates(&FIELDS)]));
    // The same again is no change.
    test.take(1, &v9(1, 0, &[templates(&FIELDS)]));
    assert_eq!(test.0.counts().templates.changed_templates, 0);
    // Ports alone are left out: the record is shorter.
    let fields: Vec<u16> = [&FIELDS[..4], &FIELDS[8..]].concat();
    let mut short = record(1, 5, 500);
    short.drain(8..12);
    let flows = test.take(1, &v9(2, 0, &[templates(&fields), set(256, &short)]));
    assert_eq!((seen(&flows), test.0.counts().templates.changed_templates), (vec![(0, 5, 500)], 1));
    // Cut off; a number that no template has; a set longer than its message; a set of no length.
    let cut = set(0, &template(257, &FIELDS)[..20]);
    let reserved = set(0, &template(4, &FIELDS));
    let mut long = set(256, &short);
    long[3] += 1;
    for (number, wrong) in [cut, reserved, long, numbers(&[256, 3])].into_iter().enumerate() {
        assert!(test.take(1, &v9(3 + number as u32, 0, &[wrong])).is_empty());
        assert_eq!(test.0.counts().datagrams.damaged, 1 + number as u64);
    }
    // An address of three octets is none; what came before the damage counts.
    test.take(1, &v9(7, 0, &[set(0, &template(258, &[8, 3, 12, 4, 2, 4, 1, 4]))]));
    let flows = test.take(1, &v9(8, 0, &[set(258, &[1; 15])]));
    assert!(
        matches!(&flows[..], [ExportedFlow { record, .. }] if record.key.is_none()),
        "it is of no flow: {flows:?}"
    );
    assert_eq!(test.0.counts().records.without_address, 1);
    let flows = test.take(1, &v9(9, 0, &[set(256, &short), numbers(&[256, 3])]));
    assert_eq!((flows.len(), test.0.counts().datagrams.damaged), (1, 5));
    assert_eq!(test.0.counts().exporters.lost_messages, 0);
}

#[test]
fn options_tell_sampling_rates() {
    // NetFlow v9: of the exporter, by 34; of samplers, by 48 and 50. Lengths are octets: the scope is the system.
    let mut test = Test::new();
    let of_all = numbers(&[260, 4, 4, 1, 4, 34, 4]);
    let of_sampler = numbers(&[261, 4, 8, 1, 4, 48, 1, 50, 4]);
    let with_sampler: Vec<u16> = [&FIELDS[..], &[48, 1]].concat();
    let templates = [template(256, &FIELDS), template(257, &with_sampler)].concat();
    test.take(1, &v9(0, 0, &[set(0, &templates), set(1, &[of_all, of_sampler].concat())]));
    let plain = |test: &mut Test, sequence| test.take(1, &v9(sequence, 0, &[set(256, &record(1, 2, 200))]));
    assert_eq!(seen(&plain(&mut test, 1)), [(1, 2, 200)]);
    let told = [set(260, &[0, 0, 0, 9, 0, 0, 0, 10]), set(261, &[0, 0, 0, 9, 3, 0, 0, 0, 100])];
    test.take(1, &v9(2, 0, &told));
    let flows = plain(&mut test, 3);
    // The exporter has one sampler, and a rate of its own for those that name none: the sampler's wins where it is the only one.
    assert_eq!(flows[0].rate, SamplingRate::one_of(100));
    let sampled = |sampler: u8| set(257, &[record(1, 2, 200), vec![sampler]].concat());
    assert_eq!(seen(&test.take(1, &v9(4, 0, &[sampled(3)]))), [(1, 200, 20_000)]);
    assert_eq!(seen(&test.take(1, &v9(5, 0, &[sampled(7)]))), [(1, 20, 2_000)]);
    assert_eq!((test.0.counts().sampling.unknown_sampler, test.0.counts().records.option_records), (1, 2));
    assert_eq!(test.0.exporters()[0].rates.len(), 2);
    // IPFIX: 305 of 305 + 306, by selectorId 302, which the options are about.
    let options = [numbers(&[262, 3, 1, 302, 2, 305, 4, 306, 4])].concat();
    let by_selector: Vec<u16> = [&FIELDS[..], &[302, 2]].concat();
    let sets =
        [set(2, &template(258, &by_selector)), set(3, &options), set(262, &[0, 5, 0, 0, 0, 2, 0, 0, 0, 6])];
    test.take(2, &ipfix(0, 1, &sets));
    let flows = test.take(2, &ipfix(1, 1, &[set(258, &[record(1, 2, 200), vec![0, 5]].concat())]));
    assert_eq!((seen(&flows), flows[0].rate), (vec![(1, 8, 800)], SamplingRate::new(4, 1)));
    // What is impossible is ignored.
    test.take(2, &ipfix(2, 1, &[set(262, &[0, 5, 0, 0, 0, 1, 255, 255, 255, 255])]));
    assert_eq!(test.0.counts().sampling.wrong_sampling, 1);
}

#[test]
fn the_rate_of_the_user_is_for_those_that_tell_none() {
    let sampling = SamplingRate::one_of(1000);
    let mut test = Test(Decoder::new(DecoderSettings { sampling, ..DecoderSettings::default() }));
    assert_eq!(seen(&test.take(1, &v5(0, 0, &[v5_record(1, 2, 3)]))), [(1, 2000, 3000)]);
    assert_eq!(seen(&test.take(1, &v5(1, 1, &[v5_record(1, 2, 3)]))), [(1, 2, 3)]);
}

#[test]
fn sequence_numbers_tell_what_is_lost_and_who_began_anew() {
    let mut test = Test::new();
    let data = |uptime, sequence| v9_of(uptime, sequence, 0, &[set(256, &record(1, 1, 60))]);
    test.take(1, &v9(100, 0, &[set(0, &template(256, &FIELDS))]));
    assert_eq!(test.take(1, &data(UPTIME_MS + 1, 104)).len(), 1);
    assert_eq!(test.0.counts().exporters.lost_messages, 3);
    // One of them was overtaken.
    assert_eq!(test.take(1, &data(UPTIME_MS, 102)).len(), 1);
    assert_eq!(test.0.counts().exporters.lost_messages, 2);
    // A restart: templates are no longer known.
    assert!(test.take(1, &data(1_000, 0)).is_empty());
    assert_eq!((test.0.counts().exporters.restarts, test.0.counts().exporters.lost_messages), (1, 2));
    // IPFIX counts records, those of options too.
    test.take(2, &ipfix(0, 0, &[set(2, &template(256, &FIELDS))]));
    let two = [record(1, 1, 60), record(2, 1, 60)].concat();
    test.take(2, &ipfix(0, 0, &[set(256, &two)]));
    test.take(2, &ipfix(2, 0, &[set(256, &record(3, 1, 60))]));
    test.take(2, &ipfix(10, 0, &[set(256, &two)]));
    assert_eq!(test.0.counts().exporters.lost_records, 7);
}

#[test]
fn both_directions_and_other_protocols() {
    let mut test = Test::new();
    // A biflow (RFC 5103): 29305/1 and 29305/2 are the other direction's; enterprises follow the field.
    let mut fields = [numbers(&[256, 8]), numbers(&[8, 4, 12, 4, 7, 2, 11, 2, 4, 1, 2, 4])].concat();
    for number in [1u16, 2] {
        fields.extend(numbers(&[0x8000 | number, 4]));
        fields.extend(29305u32.to_be_bytes());
    }
    let mut data = record(1000, 7, 0)[..17].to_vec();
    data.extend([0, 0, 1, 0, 0, 0, 0, 3]);
    let flows = test.take(1, &ipfix(0, 0, &[set(2, &fields), set(256, &data)]));
    assert_eq!(seen(&flows), [(1000, 7, 0), (80, 3, 256)]);
    // ICMP: type and code stand in 32.
    let fields = template(257, &[8, 4, 12, 4, 4, 1, 32, 2, 2, 4]);
    let data = [10, 0, 0, 1, 10, 0, 0, 2, 1, 8, 0, 0, 0, 0, 5];
    let flows = test.take(1, &ipfix(1, 0, &[set(2, &fields), set(257, &data)]));
    let key = flows[0].record.key.expect("a key");
    assert_eq!((key.src_port, key.dst_port), (Some(0), Some(0x0800)));
    // Records that count nothing, and those without addresses, are no flows.
    let data = [10, 0, 0, 1, 10, 0, 0, 2, 1, 8, 0, 0, 0, 0, 0];
    assert!(test.take(1, &ipfix(2, 0, &[set(257, &data)])).is_empty());
    assert_eq!(test.0.counts().records.without_packets, 1);
}

#[test]
fn a_time_of_zero_is_none() {
    let mut test = Test::new();
    // Milliseconds, and seconds.
    for (id, fields, length) in [(256, [152u16, 8, 153, 8], 8usize), (257, [150, 4, 151, 4], 4)] {
        let fields = [&[8u16, 4, 12, 4, 2, 4][..], &fields].concat();
        let times = |start: u64, end: u64| {
            [start, end].map(|time| time.to_be_bytes()[8 - length..].to_vec()).concat()
        };
        let of = |times: Vec<u8>| [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 5][..], &times].concat();
        let export = u64::from(EXPORT_S) * if length == 8 { 1000 } else { 1 };
        let sets =
            [set(2, &template(id, &fields)), set(id, &[of(times(0, export)), of(times(0, 0))].concat())];
        let before = test.0.counts().records.without_time;
        let flows = test.take(1, &ipfix(0, id.into(), &sets));
        let found: Vec<_> = flows.iter().map(|flow| [flow.record.stime, flow.record.ltime]).collect();
        assert_eq!(found, [[NOW_NS; 2]; 2]);
        assert_eq!(test.0.counts().records.without_time, before + 1);
    }
}

#[test]
fn data_of_a_template_without_values_are_told() {
    let mut test = Test::new();
    let empty = [template(256, &[]), template(257, &[8, 0, 12, 0])].concat();
    test.take(1, &v9(0, 0, &[set(0, &empty), set(256, &[1; 8]), set(257, &[1; 8])]));
    assert_eq!((test.0.counts().templates.damaged_sets, test.0.counts().datagrams.damaged), (2, 0));
}

#[test]
fn a_datagram_that_comes_twice_is_told() {
    let mut test = Test::new();
    test.take(1, &v5(0, 0, &[v5_record(1, 2, 3)]));
    test.take(1, &v5(5, 0, &[v5_record(1, 2, 3)]));
    assert_eq!((test.0.counts().exporters.lost_records, test.0.counts().exporters.repeated), (4, 0));
    test.take(1, &v5(0, 0, &[v5_record(1, 2, 3)]));
    assert_eq!((test.0.counts().exporters.lost_records, test.0.counts().exporters.repeated), (4, 1));
}

#[test]
fn others_are_refused() {
    let from: Vec<ExporterNetwork> = vec!["192.0.2.8/31".parse().expect("a network")];
    let mut test = Test(Decoder::new(DecoderSettings { from, sampling: None }));
    let datagram = v5(0, 0, &[v5_record(1, 1, 1)]);
    assert_eq!([7, 8, 9, 10].map(|last| test.take(last, &datagram).len()), [0, 1, 1, 0]);
    assert_eq!(test.0.counts().datagrams.refused_exporter, 2);
    test.take(8, &[0, 7, 0, 0]);
    test.take(8, &[]);
    assert_eq!(test.0.counts().datagrams.unknown_version, 2);
}

/// A flood of exporters that do not exist: each with data that wait, and with templates.
#[test]
fn floods_are_bounded() {
    let mut decoder = Decoder::new(DecoderSettings::default());
    let mut take = |address: u32, octets: &[u8]| {
        decoder.datagram(SocketAddr::from((address.to_be_bytes(), 2055)), octets, NOW_NS, &mut |_| {});
    };
    let waiting = v9(0, 0, &[set(999, &[7; 1200])]);
    let many: Vec<u8> = (256..2256).flat_map(|id| template(id, &[1, 4, 2, 4])).collect();
    let templates = v9(0, 1, &[set(0, &many)]);
    for address in 0..20_000 {
        take(address, &waiting);
        take(address, &templates);
    }
    for _ in 0..2_000 {
        take(1, &waiting);
    }
    let counts = *decoder.counts();
    assert!(counts.are_complete() && counts.datagrams.received == 42_000);
    assert_eq!(decoder.exporters().len(), 4096);
    assert!(decoder.waiting_bytes() <= 8 << 20);
    assert!(
        counts.datagrams.too_many_exporters > 30_000
            && counts.templates.without_template > 1_000
            && counts.templates.too_many_templates > 0
    );
}

/// Elements that are read, with the lengths that routers give them, and some that are not.
const FIELDS_OF_ALL: [(u16, u16); 36] = [
    (8, 4),
    (12, 4),
    (27, 16),
    (28, 16),
    (7, 2),
    (11, 2),
    (4, 1),
    (5, 1),
    (6, 1),
    (6, 2),
    (1, 4),
    (1, 8),
    (2, 4),
    (2, 8),
    (23, 4),
    (24, 4),
    (231, 8),
    (232, 8),
    (298, 8),
    (299, 8),
    (352, 8),
    (32, 2),
    (58, 2),
    (56, 6),
    (80, 6),
    (21, 4),
    (22, 4),
    (150, 4),
    (151, 4),
    (152, 8),
    (153, 8),
    (156, 8),
    (34, 4),
    (48, 1),
    (95, 3),
    (160, 8),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(if cfg!(debug_assertions) { 300 } else { 3000 })))]

    /// Whatever comes, nothing panics, all is accounted for, and memory is bounded.
    #[test]
    fn any_octets(datagrams in prop::collection::vec((0u8..4, prop::sample::select(vec![0u16, 5, 9, 10]), prop::collection::vec(any::<u8>(), 0..200)), 1..40)) {
        let mut test = Test::new();
        for (from, version, rest) in datagrams {
            test.take(from, &[&version.to_be_bytes()[..], &rest].concat());
        }
        test.0.finish();
        prop_assert_eq!(test.0.waiting_bytes(), 0);
    }

    /// Records of any template, whole: each is a flow or two, or has a name.
    #[test]
    fn whole_records_of_any_template(
        is_v9 in any::<bool>(),
        fields in prop::collection::vec(prop::sample::select(FIELDS_OF_ALL.to_vec()), 1..14),
        numbers in prop::collection::vec(prop::sample::select(vec![0u8, 0, 0, 1, 2, 16, 17, 64, 100, 255]), 1..600),
        records in 1usize..6,
    ) {
        let mut test = Test::new();
        let flat: Vec<u16> = fields.iter().flat_map(|(number, length)| [*number, *length]).collect();
        let length: usize = fields.iter().map(|(_, length)| usize::from(*length)).sum();
        // Padding is shorter than a record, and than four octets.
        let padding = (length - 1).min(3);
        let data: Vec<u8> = numbers.iter().copied().cycle().take(records * length + padding).collect();
        let sets = [set(if is_v9 { 0 } else { 2 }, &template(256, &flat)), set(256, &data)];
        let flows = test.take(1, &if is_v9 { v9(0, 0, &sets) } else { ipfix(0, 0, &sets) });
        let counts = *test.0.counts();
        prop_assert_eq!((counts.datagrams.decoded, counts.records.given), (1, flows.len() as u64));
        let none = counts.records.without_packets;
        let given = records as u64 - none;
        let found = counts.records.given + counts.records.implausible;
        prop_assert!(none <= records as u64 && (given..=2 * given).contains(&found), "{:?}", counts);
        let keyless = flows.iter().filter(|flow| flow.record.key.is_none()).count() as u64;
        let without = counts.records.without_address;
        prop_assert!(keyless <= 2 * without && (keyless != 0 || without == 0 || counts.records.implausible != 0));
        for ExportedFlow { record, counted, .. } in flows {
            prop_assert!(record.stime <= record.ltime);
            prop_assert!(record.total_count != 0 || record.total_byte != 0);
            prop_assert!(counted <= record.total_count && record.total_count <= 1 << 48);
        }
    }

    /// Sets in any order with any contents, templates among them.
    #[test]
    fn any_sets(
        is_v9 in any::<bool>(),
        sets in prop::collection::vec((prop::sample::select(vec![0u16, 1, 2, 3, 256, 257, 258]), prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 4, 8, 12, 16, 34, 48, 50, 128, 255]), 0..80)), 1..12),
    ) {
        let mut test = Test::new();
        let good = set(if is_v9 { 0 } else { 2 }, &template(256, &FIELDS));
        let all: Vec<Vec<u8>> = [good].into_iter().chain(sets.iter().map(|(id, content)| set(*id, content))).collect();
        for (sequence, sets) in all.chunks(3).enumerate() {
            let sequence = sequence as u32;
            test.take(1, &if is_v9 { v9(sequence, 0, sets) } else { ipfix(sequence, 0, sets) });
        }
        test.0.finish();
        prop_assert_eq!(test.0.waiting_bytes(), 0);
    }
}
