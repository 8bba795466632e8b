//! Sequence numbers that make no sense lose nothing; streams that lose most of their bytes do.

use crate::tcp_support::talk::{A, B, MS, Talk};
use tcp::{LossCounts, Segment, TcpConnection, flag};
use testbed::Random;

fn sum(counts: &[LossCounts]) -> LossCounts {
    let mut sum = LossCounts::default();
    counts.iter().for_each(|counts| sum.add(counts));
    sum
}

/// Many flows whose segments take their sequence numbers from one counter, as some generators have it: nothing was lost.
fn one_counter(flows: usize, packets: usize, payload: u32, has_acks: bool) -> LossCounts {
    let mut connections: Vec<TcpConnection> = (0..flows).map(|_| TcpConnection::default()).collect();
    let (mut seq, mut random) = (0_u32, Random::new(flows as u64));
    for packet in 0..packets as u64 {
        let flow = random.below(flows as u64) as usize;
        let ack = if has_acks { random.below(1 << 32) as u32 } else { 0 };
        let segment = Segment {
            time_ns: packet * 1_000,
            seq,
            ack,
            payload,
            window: 8_192,
            flags: flag::ACK,
            ..Segment::default()
        };
        connections[flow].segment(A, &segment);
        seq = seq.wrapping_add(payload);
    }
    let counts: Vec<_> = connections.iter_mut().flat_map(TcpConnection::finish).collect();
    sum(&counts)
}

#[test]
fn numbers_that_follow_no_flow_are_said_and_not_summed() {
    for (flows, packets, payload) in [(100, 100_000, 1_000), (1_000, 200_000, 10), (30, 50_000, 1_400)] {
        for has_acks in [false, true] {
            let found = one_counter(flows, packets, payload, has_acks);
            let sent = packets as u64 * u64::from(payload);
            let what = format!("{flows} {packets} {payload} {has_acks}: {found:?}");
            // A few holes of short spells in which the numbers happen to look like a flow's; without the rule it is every byte of the others.
            assert!(found.ploss_byte + found.unseen_byte < sent / 10, "{what}");
            assert!(u64::from(found.resync_count) > packets as u64 / 2, "{what}");
        }
    }
}

#[test]
fn short_flows_without_sense_are_recognised_at_their_end() {
    let mut counts = Vec::new();
    for flow in 0..100_u32 {
        let mut connection = TcpConnection::default();
        for packet in 0..6 {
            let seq = flow * 7_919 + packet * 20_000;
            let segment = Segment { seq, payload: 10, window: 512, flags: flag::ACK, ..Segment::default() };
            connection.segment(A, &segment);
        }
        counts.extend(connection.finish());
    }
    let found = sum(&counts);
    assert_eq!((found.ploss_byte, found.ploss_count, found.resync_count), (0, 0, 100), "{found:?}");
}

/// A stream of which the tap sees some segments, in order, and where the peer acknowledges what is asked for: all between the first and the
/// last that was seen is missing, nothing else.
fn lossy(seen: f64, acked: f64, number: u64) -> (u64, LossCounts) {
    let mut talk = Talk::open([7, 9]);
    let mut random = Random::new(number);
    let mut is = |chance: f64| (random.below(1 << 20) as f64) < chance * f64::from(1 << 20);
    let (mut missing, mut since) = (0, 0);
    let mut last = 0;
    for segment in 0..20_000_u32 {
        talk.wait(10 * MS);
        if segment == 0 || is(seen) {
            talk.data(A, segment * 1_000, 1_000);
            missing += since;
            (since, last) = (0, (segment + 1) * 1_000);
        } else {
            since += 1_000;
        }
        if is(acked) {
            talk.ack(B, last);
        }
    }
    let [found, _] = talk.connection.finish();
    (missing, found)
}

#[test]
fn streams_that_lose_most_of_their_bytes_are_believed() {
    // In one direction alone, up to half; where something is acknowledged, nine tenths.
    for (seen, acked) in [(0.99, 0.0), (0.7, 0.0), (0.5, 0.0), (0.5, 0.5), (0.2, 0.9), (0.1, 0.9)] {
        for number in 0..5 {
            let (missing, found) = lossy(seen, acked, number);
            assert_eq!(found.ploss_byte + found.unseen_byte, missing, "{seen} {acked} {number}: {found:?}");
            assert_eq!(found.resync_count, 0, "{seen} {acked} {number}: {found:?}");
        }
    }
}

#[test]
fn a_new_connection_is_believed_again() {
    let mut talk = Talk::open([7, 9]);
    (0..50).for_each(|at| talk.data(A, at * 20_000, 10));
    assert!(talk.take()[A].resync_count > 30);
    // The same connection's tracker, and other initial numbers.
    let mut next = Talk::new([1 << 30, 9]);
    std::mem::swap(&mut next.connection, &mut talk.connection);
    let mut talk = next;
    talk.handshake(Some(5), 0);
    let _ = talk.take();
    talk.data(A, 0, 1_000);
    talk.data(A, 3_000, 1_000);
    let [found, _] = talk.connection.finish();
    assert_eq!((found.ploss_byte, found.resync_count), (2_000, 0));
}

#[test]
fn what_goes_on_in_order_for_long_is_believed_again() {
    let mut talk = Talk::open([7, 9]);
    (0..50).for_each(|at| talk.data(A, at * 20_000, 10));
    let _ = talk.take();
    let start = 49 * 20_000 + 10;
    (0..70).for_each(|at| talk.data(A, start + at * 1_000, 1_000));
    talk.data(A, start + 71_000, 1_000);
    let [found, _] = talk.connection.finish();
    assert_eq!((found.ploss_byte, found.resync_count), (1_000, 0));
}
