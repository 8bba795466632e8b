//! The tracker on random segments: against a model number by number, and on nonsense.

use crate::tcp_support::model::Model;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tcp::{ColdStream, HotStream, LossCounts, Segment, TcpConnection, finish, flag, track_rare};

/// The next segment of a stream, relative to its position.
#[derive(Clone, Copy, Debug)]
enum Step {
    Data { back: usize, ahead: usize, length: usize },
    Ack { back: usize, ahead: usize },
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let back = || prop_oneof![3 => Just(0usize), 2 => 0usize..60, 1 => 0usize..400];
    let ahead = || prop_oneof![4 => Just(0usize), 2 => 1usize..40];
    let data =
        (back(), ahead(), 0usize..50).prop_map(|(back, ahead, length)| Step::Data { back, ahead, length });
    let ack = (back(), ahead()).prop_map(|(back, ahead)| Step::Ack { back, ahead });
    let wait = prop_oneof![3 => 0u64..10_000, 1 => 0u64..2_000_000];
    (wait, prop_oneof![4 => data, 1 => ack])
}

fn without_rtt(counts: LossCounts) -> LossCounts {
    LossCounts { rtt_count: 0, rtt_min_ns: 0, rtt_sum_ns: 0, ..counts }
}

/// Any segment, more or less.
fn segment(payload: impl Strategy<Value = u32>) -> impl Strategy<Value = (usize, Segment)> {
    let number =
        || prop_oneof![3 => 0u32..3_000, 1 => any::<u32>(), 1 => (0u32..32).prop_map(|bit| 1 << bit)];
    let flags = prop_oneof![4 => Just(flag::ACK), 1 => any::<u8>(), 1 => Just(flag::SYN)];
    let window = prop_oneof![3 => any::<u16>(), 1 => Just(0)];
    let timestamps = proptest::option::of((0u32..50, 0u32..50));
    let time = prop_oneof![3 => 0u64..50_000_000, 1 => any::<u64>()];
    let options = (proptest::option::of(any::<u8>()), timestamps);
    (0usize..2, time, number(), number(), payload, window, flags, options).prop_map(
        |(direction, time_ns, seq, ack, payload, window, flags, (scale, timestamps))| {
            let segment = Segment { time_ns, seq, ack, payload, window, flags, ..Segment::default() };
            (direction, segment.with_window_scale(scale).with_timestamps(timestamps))
        },
    )
}

/// Segments of two sides that leap, together or not, after a handshake with windows of 1 GiB.
fn leaps() -> impl Strategy<Value = Vec<(usize, Segment)>> {
    let leap = || prop_oneof![3 => 0u32..3_000, 3 => (10u32..31).prop_map(|bit| 1 << bit), 1 => any::<u32>()];
    let step = (0usize..2, 0u64..20_000_000, leap(), leap(), 0u32..1_460, any::<bool>());
    prop::collection::vec(step, 1..200).prop_map(|steps| {
        let mut now = 0;
        let mut next = [1u32, 1];
        let syn = |seq, ack, flags| {
            Segment { seq, ack, flags, window: u16::MAX, ..Segment::default() }.with_window_scale(Some(14))
        };
        let mut segments = vec![(0, syn(0, 0, flag::SYN)), (1, syn(0, 1, flag::SYN | flag::ACK))];
        for (direction, wait, leap, ack_leap, payload, is_ack_ahead) in steps {
            now += wait;
            next[direction] = next[direction].wrapping_add(leap);
            let ack = next[1 - direction].wrapping_add(if is_ack_ahead { ack_leap } else { 0 });
            next[1 - direction] = ack;
            let plain = Segment { time_ns: now, window: u16::MAX, flags: flag::ACK, ..Segment::default() };
            segments.push((direction, Segment { seq: next[direction], ack, payload, ..plain }));
            next[direction] = next[direction].wrapping_add(payload);
        }
        segments
    })
}

/// Segments of two sides that mostly send the next bytes, and acknowledge all, some or nothing more of what
/// they got.
fn talk() -> impl Strategy<Value = Vec<(usize, Segment)>> {
    let lag = prop_oneof![3 => Just(0u32), 2 => Just(u32::MAX), 1 => 1u32..3_000];
    let leap = prop_oneof![12 => Just(0i32), 1 => -3_000i32..3_000];
    let payload = prop_oneof![1 => Just(0u32), 3 => Just(100), 1 => 1u32..1_460];
    let window = prop_oneof![12 => Just(8_000u16), 1 => any::<u16>(), 1 => Just(0)];
    let step = (0usize..2, 0u64..3_000_000, payload, lag, leap, window, any::<bool>());
    prop::collection::vec(step, 1..200).prop_map(|steps| {
        let (mut now, mut next, mut acked) = (0, [1u32, 1], [1u32, 1]);
        let mut segments = Vec::new();
        for (direction, wait, payload, lag, leap, window, pushes) in steps {
            now += wait;
            let peer = 1 - direction;
            let open = next[peer].wrapping_sub(acked[peer]);
            acked[peer] = acked[peer].wrapping_add(open.saturating_sub(lag));
            let seq = next[direction].wrapping_add_signed(leap);
            let flags = flag::ACK | if pushes { flag::PSH } else { 0 };
            let segment =
                Segment { time_ns: now, seq, ack: acked[peer], payload, window, flags, ..Segment::default() };
            segments.push((direction, segment));
            next[direction] = next[direction].max(seq.wrapping_add(payload));
        }
        segments
    })
}

/// A payload as the tracker takes it.
fn payload_of(segment: &Segment) -> u64 {
    segment.payload.min(1 << 24).into()
}

/// No bytes out of nothing. A segment or an acknowledgement can add 64 KiB that were not seen to a stream; what
/// goes beyond comes out of 16 MiB, and 64 for each number of the sequence that was seen.
fn check_bounds(segments: &[(usize, Segment)]) -> Result<(), TestCaseError> {
    let mut connection = TcpConnection::default();
    let mut payload = [0; 2];
    for (direction, segment) in segments {
        connection.segment(*direction, segment);
        payload[*direction] += payload_of(segment);
    }
    let booked = connection.finish();
    let count = segments.len() as u32;
    for (counts, payload) in booked.iter().zip(payload) {
        let numbers = payload + 2 * u64::from(count);
        let bound = u64::from(count) * (1 << 16) + (1 << 24) + 64 * numbers;
        prop_assert!(counts.ploss_byte + counts.unseen_byte <= bound, "{:?} {}", counts, bound);
        prop_assert!(counts.retrans_byte <= payload);
        let counted = [
            counts.reorder_count,
            counts.retrans_count,
            counts.zero_window_count,
            counts.hole_count,
            counts.resync_count,
            counts.rtt_count,
        ];
        prop_assert!(counted.iter().all(|counted| *counted <= count), "{:?}", counts);
        prop_assert!(u64::from(counts.ploss_count) <= counts.ploss_byte + u64::from(count));
    }
    Ok(())
}

/// After a handshake at time 0 with windows that allow everything here.
fn open(isn: [u32; 2]) -> TcpConnection {
    let mut connection = TcpConnection::default();
    let syn = |seq: u32, ack, flags| {
        Segment { seq, ack, flags, window: 65_535, ..Segment::default() }.with_window_scale(Some(7))
    };
    connection.segment(0, &syn(isn[0], 0, flag::SYN));
    connection.segment(1, &syn(isn[1], isn[0].wrapping_add(1), flag::SYN | flag::ACK));
    let ack = Segment { window: 512, ..syn(isn[0].wrapping_add(1), isn[1].wrapping_add(1), flag::ACK) };
    connection.segment(0, &ack);
    let _ = connection.take();
    connection
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(400)))]

    /// Streams that make sense: every count equals that of the model.
    #[test]
    fn a_stream_counts_as_the_model_does(
        steps in prop::collection::vec(step(), 1..60),
        isn in any::<[u32; 2]>(),
    ) {
        const NUMBERS: usize = 10_000;
        let mut model = Model::new(NUMBERS);
        let mut connection = open(isn);
        let mut now = 0;
        let [base, other] = isn.map(|isn| isn.wrapping_add(1));
        for (wait, step) in steps {
            // No round trip comes near 12 ms.
            now = (now + wait).min(11_000_000);
            match step {
                Step::Data { back, ahead, length } => {
                    let start = model.next().saturating_sub(back) + ahead;
                    let seq = base.wrapping_add(start as u32);
                    let payload = length as u32;
                    let plain = Segment { time_ns: now, window: 512, flags: flag::ACK, ..Segment::default() };
                    connection.segment(0, &Segment { seq, ack: other, payload, ..plain });
                    model.data(now, start, length);
                }
                Step::Ack { back, ahead } => {
                    let until = model.next().saturating_sub(back) + ahead;
                    let ack = base.wrapping_add(until as u32);
                    let plain = Segment { time_ns: now, window: 512, flags: flag::ACK, ..Segment::default() };
                    connection.segment(1, &Segment { seq: other, ack, ..plain });
                    model.ack(now, until);
                }
            }
            let [a, b] = connection.take().map(without_rtt);
            prop_assert_eq!(a, std::mem::take(&mut model.counts), "{:?} at {}", step, now);
            prop_assert_eq!(b, LossCounts::default());
        }
        model.finish();
        prop_assert_eq!(without_rtt(connection.finish()[0]), model.counts);
    }

    #[test]
    fn the_short_path_counts_as_the_long_one(segments in prop_oneof![4 => talk(), 1 => leaps()]) {
        let mut connection = TcpConnection::default();
        let (mut hot, mut cold) = ([HotStream::default(); 2], [ColdStream::default(); 2]);
        let mut booked = [LossCounts::default(); 2];
        for (direction, segment) in &segments {
            connection.segment(*direction, segment);
            track_rare(&mut hot, &mut cold, *direction, segment, &mut booked);
        }
        for ((stream, cold), booked) in hot.iter_mut().zip(&mut cold).zip(&mut booked) {
            finish(stream, cold, booked);
        }
        prop_assert_eq!(connection.finish(), booked);
    }

    #[test]
    fn nonsense_makes_no_gigabytes(
        segments in prop::collection::vec(segment(prop_oneof![4 => 0u32..1_500, 1 => any::<u32>()]), 1..200),
    ) {
        check_bounds(&segments)?;
    }

    #[test]
    fn small_nonsense_makes_no_gigabytes(segments in prop::collection::vec(segment(0u32..3), 1..200)) {
        check_bounds(&segments)?;
    }

    #[test]
    fn leaps_make_no_gigabytes(segments in leaps()) {
        check_bounds(&segments)?;
    }

    /// What is booked depends neither on where the numbers begin nor on which direction is called which.
    #[test]
    fn numbers_and_directions_are_relative(
        segments in prop::collection::vec(segment(0u32..1_500), 1..100),
        leaps in leaps(),
        shift in any::<[u32; 2]>(),
    ) {
        for segments in [segments, leaps] {
            let mut plain = TcpConnection::default();
            let mut shifted = TcpConnection::default();
            for (direction, segment) in &segments {
                plain.segment(*direction, segment);
                let moved = Segment {
                    seq: segment.seq.wrapping_add(shift[*direction]),
                    ack: segment.ack.wrapping_add(shift[1 - direction]),
                    ..*segment
                };
                shifted.segment(1 - direction, &moved);
                let [a, b] = shifted.take();
                prop_assert_eq!(plain.take(), [b, a]);
            }
            let [a, b] = shifted.finish();
            prop_assert_eq!(plain.finish(), [b, a]);
        }
    }
}
