//! Traffic that is not there.

use super::played::{SECOND, START, node, play};
use crate::support::capture::{self, Frame};
use crate::support::output::number;
use crate::support::scratch::Scratch;
use std::ops::Range;

/// Five packets a second of the flow from this port, in these seconds.
fn flow(port: u16, seconds: Range<u64>) -> impl Iterator<Item = Frame> {
    let time = |n: u64| START + n * SECOND / 5 + SECOND / 10;
    (seconds.start * 5..seconds.end * 5).map(move |n| Frame { time_ns: time(n), data: capture::udp(port) })
}

/// The same to another port than 53.
fn other(port: u16, seconds: Range<u64>) -> impl Iterator<Item = Frame> {
    flow(port, seconds).map(|mut frame| {
        frame.data[36..38].copy_from_slice(&5060_u16.to_be_bytes());
        frame.time_ns += 1;
        frame
    })
}

#[test]
fn vanished_flow() {
    let scratch = Scratch::new();
    // Among other packets, and where there are none.
    for others in [0..30, 0..15] {
        let frames = flow(5000, 0..12).chain(flow(5000, 24..30)).chain(other(6000, others.clone()));
        let source = node(&scratch, "here", frames.collect());
        let played = play(&scratch, "Vanished flow", &[&source]);
        let key = "198.51.100.1 53 17 192.0.2.1 5000";
        let expected =
            [format!("14000..15000 fired remains {key}"), format!("24000..25000 resolved remains {key}")];
        assert_eq!(played.happened(), expected, "{others:?}");
        let [(window, rows)] = played.answers_of("remains")[..] else { panic!("one answer") };
        assert_eq!((window, rows.len()), ([17_000, 18_000], usize::from(others.end > 17)), "{others:?}");
    }
}

#[test]
fn no_vanished_flow() {
    let scratch = Scratch::new();
    // Two seconds of silence are not three.
    let frames = flow(5000, 0..12).chain(flow(5000, 14..30)).chain(other(6000, 0..30));
    let source = node(&scratch, "here", frames.collect());
    assert_eq!(play(&scratch, "Vanished flow", &[&source]).happened(), [] as [String; 0]);
}

/// The events where Node1 has these frames, and Node2 traffic all the time.
fn expected_traffic(frames: impl Iterator<Item = Frame>) -> (Scratch, super::played::Played) {
    let scratch = Scratch::new();
    let first = node(&scratch, "Node1", frames.collect());
    let second = node(&scratch, "Node2", other(7000, 0..120).collect());
    let played = play(&scratch, "Expected traffic is absent", &[&first, &second]);
    (scratch, played)
}

#[test]
fn expected_traffic_is_absent() {
    let (_scratch, played) =
        expected_traffic(flow(5000, 0..20).chain(flow(5000, 90..120)).chain(other(6000, 0..120)));
    assert_eq!(played.happened(), ["40000..50000 fired silent", "90000..100000 resolved silent"]);
    let [(window, rows)] = played.answers_of("silent")[..] else { panic!("one answer") };
    assert_eq!((window, number(&rows[0]["dst_port"])), ([60_000, 70_000], 5060));
    // A capture without any packet of the time is silent too.
    let (_scratch, played) = expected_traffic(flow(5000, 0..20).chain(flow(5000, 90..120)));
    assert_eq!(played.happened(), ["40000..50000 fired silent", "90000..100000 resolved silent"]);
    // Where Node1 ends, nothing is known of it.
    let (_scratch, played) = expected_traffic(flow(5000, 0..60));
    let expected = ["80000..90000 nodata silent", "80000..90000 fired blind"];
    assert_eq!(played.happened(), expected);
    let [(window, rows)] = played.answers_of("blind")[..] else { panic!("one answer") };
    assert_eq!((window, number(&rows[0]["packets"])), ([100_000, 110_000], 50));
}

#[test]
fn expected_traffic_is_there() {
    let (_scratch, played) = expected_traffic(flow(5000, 0..35).chain(flow(5000, 60..120)));
    assert_eq!(played.happened(), [] as [String; 0]);
}
