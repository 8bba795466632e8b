//! Who an exporter is, and when it began anew (RFC 7011, section 2, 8.1 and 8.4).

use crate::support::*;
use std::net::SocketAddr;

/// A port of the same address.
fn port(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

fn templates() -> Vec<u8> {
    set(2, &template(256, &FIELDS))
}

/// Data of this number of records.
fn data(records: usize) -> Vec<u8> {
    set(256, &record(1, 10, 5000).repeat(records))
}

#[test]
fn two_processes_of_an_address_are_two_exporters() {
    let mut test = Test::new();
    let mut records = 0;
    // The numbers of one are far from those of the other.
    for number in 0..11 {
        for (of, first) in [(5001, 100_000), (5002, 5_000)] {
            let sets = if number == 0 { vec![templates(), data(1)] } else { vec![data(1)] };
            records += test.take_of(port(of), &ipfix(first + number, 0, &sets), NOW_NS).len();
        }
    }
    let counts = *test.0.counts();
    assert_eq!(
        (
            records,
            counts.exporters.lost_records,
            counts.exporters.restarts,
            counts.templates.without_template
        ),
        (22, 0, 0, 0)
    );
    let found: Vec<_> = test.0.exporters().iter().map(|own| (own.port, own.sessions, own.records)).collect();
    assert_eq!(found, [(Some(5001), 1, 11), (Some(5002), 1, 11)]);
}

#[test]
fn two_processes_of_an_address_have_templates_and_samplers_of_their_own() {
    let mut test = Test::new();
    // The same number of template means another thing; one of them is sampled.
    let options = numbers(&[260, 4, 4, 1, 4, 34, 4]);
    let other: Vec<u16> = [&FIELDS[..10], &[1, 4, 2, 4], &FIELDS[14..]].concat();
    let one = [set(0, &template(256, &FIELDS)), set(1, &options), set(260, &[0, 0, 0, 9, 0, 0, 0, 10])];
    test.take_of(port(1), &v9(0, 0, &one), NOW_NS);
    test.take_of(port(2), &v9(0, 0, &[set(0, &template(256, &other))]), NOW_NS);
    for (number, expected) in [(1, (1, 20, 600)), (2, (1, 60, 2))] {
        let flows = test.take_of(port(number), &v9(1, 0, &[set(256, &record(1, 2, 60))]), NOW_NS);
        assert_eq!(seen(&flows), [expected]);
    }
    assert_eq!(test.0.counts().templates.changed_templates, 0);
}

#[test]
fn a_datagram_that_is_late_forgets_no_template() {
    let mut test = Test::new();
    let mut records = test.take(1, &ipfix(0, 0, &[templates(), data(1)])).len();
    let mut take = |sequence, count| {
        let flows = test.take(1, &ipfix(sequence, 0, &[data(count)]));
        records += flows.len();
        records
    };
    for number in 0..60 {
        take(1 + 20 * number, 20);
    }
    // It was sent before the others, 1,160 records ago.
    assert_eq!(take(41, 1), 1202);
    for number in 0..5 {
        take(1201 + number, 1);
    }
    let counts = *test.0.counts();
    assert_eq!(
        (
            records,
            counts.exporters.restarts,
            counts.exporters.lost_records,
            counts.templates.without_template
        ),
        (1207, 0, 0, 0)
    );
}

#[test]
fn a_late_datagram_of_netflow_9_and_5_is_no_restart() {
    let mut test = Test::new();
    let data = |uptime, sequence| v9_of(uptime, sequence, 0, &[set(256, &record(1, 1, 60))]);
    test.take(1, &v9_of(UPTIME_MS, 5_000, 0, &[set(0, &template(256, &FIELDS))]));
    assert_eq!(test.take(1, &data(UPTIME_MS + 500, 5_001)).len(), 1);
    assert_eq!(test.take(1, &data(UPTIME_MS - 900, 100)).len(), 1);
    assert_eq!(test.take(1, &data(UPTIME_MS + 600, 5_002)).len(), 1);
    for sequence in [900_000, 900_001, 5, 900_002] {
        assert_eq!(test.take(2, &v5(sequence, 0, &[v5_record(1, 1, 1)])).len(), 1);
    }
    let counts = *test.0.counts();
    assert_eq!(
        (counts.exporters.restarts, counts.exporters.lost_messages, counts.exporters.lost_records),
        (0, 0, 0)
    );
}

#[test]
fn an_exporter_that_begins_anew_at_its_port_forgets_what_it_told() {
    let mut test = Test::new();
    let mut take = |later: u32, sequence, sets: &[Vec<u8>]| {
        let now_ns = NOW_NS + u64::from(later) * SECOND;
        let flows = test.take_of(port(9), &ipfix_at(EXPORT_S + later, sequence, 0, sets), now_ns).len();
        (flows, test.0.counts().exporters.restarts)
    };
    assert_eq!(take(0, 0, &[templates(), data(300)]), (300, 0));
    assert_eq!(take(1, 300, &[data(5)]), (5, 0));
    // A little later its numbers begin anew: the same template is no longer known.
    assert_eq!(take(5, 0, &[data(1)]), (0, 1));
    assert_eq!(take(6, 1, &[templates(), data(1)]), (2, 1));
    assert_eq!((test.0.counts().exporters.lost_records, test.0.counts().templates.late_template), (0, 1));
}

#[test]
fn an_exporter_that_begins_anew_with_another_port_is_another_session() {
    let mut test = Test::new();
    let mut at = 0;
    for session in 0..4 {
        at = session * 3600;
        let now_ns = NOW_NS + u64::from(at) * SECOND;
        // Data before the templates of the new process are not read by those of the old one.
        let of = port(4000 + session as u16);
        assert!(test.take_of(of, &ipfix_at(EXPORT_S + at, 0, 7, &[data(2)]), now_ns).is_empty());
        assert_eq!(test.take_of(of, &ipfix_at(EXPORT_S + at, 2, 7, &[templates()]), now_ns).len(), 2);
    }
    // What is over is told together, and nothing is lost of it.
    let found: Vec<_> = test.0.exporters().iter().map(|own| (own.port, own.sessions, own.records)).collect();
    assert_eq!(found, [(None, 3, 6), (Some(4003), 1, 2)]);
    let counts = *test.0.counts();
    assert_eq!(
        (counts.exporters.restarts, counts.exporters.lost_records, counts.records.given, at),
        (0, 0, 8, 3 * 3600)
    );
}

#[test]
fn strangers_of_an_address_take_no_place_from_others() {
    let mut test = Test::new();
    let datagram = v5(0, 0, &[v5_record(1, 1, 1)]);
    for number in 1..=3_000 {
        test.take_of(port(number), &datagram, NOW_NS);
    }
    assert_eq!(
        (test.0.exporters().len(), test.0.counts().datagrams.too_many_exporters),
        (1024, 3_000 - 1024)
    );
    // Another address has room, and so has the same one when some of its sessions were silent for a minute.
    assert_eq!(test.take_of(SocketAddr::from(([192, 0, 2, 2], 1)), &datagram, NOW_NS).len(), 1);
    assert!(test.take_of(port(4_000), &datagram, NOW_NS + 59 * SECOND).is_empty());
    assert_eq!(test.take_of(port(4_000), &datagram, NOW_NS + 60 * SECOND).len(), 1);
    let records: u64 = test.0.exporters().iter().map(|exporter| exporter.records).sum();
    assert_eq!((test.0.exporters().len(), records), (3, 1026));
}

#[test]
fn sessions_that_are_over_have_the_rates_of_all() {
    let mut test = Test::new();
    let one_of = |packets: u64| router::SamplingRate::one_of(packets).expect("a rate");
    // Each has another rate, whichever of them is looked at last.
    for session in 1..=20u16 {
        test.take_of(port(session), &v5(0, 0x4000 | (10 * session), &[v5_record(1, 1, 1)]), NOW_NS);
    }
    let later = NOW_NS + 3_600 * SECOND;
    test.take_of(port(999), &v5(0, 0x4000 | 10, &[v5_record(1, 1, 1)]), later);
    let found = test.0.exporters();
    assert_eq!((found.len(), found[0].sessions), (2, 20));
    assert_eq!(found[0].rates, (1..=20).map(|number| one_of(10 * number)).collect::<Vec<_>>());
    // Others come to them, and no rate is there twice.
    test.take_of(port(998), &v5(0, 0x4000 | 5, &[v5_record(1, 1, 1)]), later + SECOND);
    test.take_of(port(997), &v5(0, 0, &[v5_record(1, 1, 1)]), later + 3_600 * SECOND);
    let found = test.0.exporters();
    assert_eq!((found[0].sessions, found[0].rates.len(), found[0].rates[0]), (22, 21, one_of(5)));
}

#[test]
fn sessions_that_find_no_room_among_those_that_are_over_are_counted() {
    let mut test = Test::new();
    let datagram = v5(0, 0, &[v5_record(1, 1, 1)]);
    let mut begin = |network: u8, sessions: u16, hour: u64| {
        for number in 0..sessions {
            let [high, low] = number.to_be_bytes();
            let from = SocketAddr::from(([10, network, high, low], 2055));
            test.take_of(from, &datagram, NOW_NS + 3_600 * hour * SECOND);
        }
        (test.0.exporters().len(), test.0.counts().exporters.forgotten)
    };
    assert_eq!(begin(1, 4096, 0), (4096, 0));
    // As many as are kept are over, and three begin.
    assert_eq!(begin(2, 3, 1), (4096 + 3, 0));
    assert_eq!(begin(3, 1, 2), (4096 + 1, 3));
    // What is known goes on.
    assert_eq!(begin(1, 1, 3), (4096 + 1, 4));
    assert_eq!(begin(4, 1, 4), (4096 + 1, 4));
    let named = test.0.counts().named();
    assert!(named.contains(&("forgotten_exporters", 4)), "{named:?}");
}

#[test]
fn the_room_that_is_left_is_of_who_was_silent_first() {
    let mut test = Test::new();
    let datagram = v5(0, 0, &[v5_record(1, 1, 1)]);
    let mut take = |from: [u8; 4], second: u64| {
        test.take_of(SocketAddr::from((from, 2055)), &datagram, NOW_NS + second * SECOND);
        test.0.exporters()
    };
    for number in 0..4_095u16 {
        let [high, low] = number.to_be_bytes();
        take([10, 1, high, low], 0);
    }
    // All of these are over at a time, and one entry is left for them.
    let last = [10, 9, 9, 9];
    take(last, 3_600);
    for number in (0..100).rev() {
        take([10, 2, 0, number], 3_700 + u64::from(100 - number));
    }
    let found = take([10, 3, 0, 0], 9_000);
    let is_there = |address: [u8; 4]| found.iter().any(|of| of.address == std::net::IpAddr::from(address));
    assert_eq!((found.len(), is_there(last), is_there([10, 2, 0, 99])), (4_097, true, false));
    assert_eq!(test.0.counts().exporters.forgotten, 100);
}
