//! Each rule of `docs/loss.md` with segments written by hand; the figures that are expected are worked out by hand
//! too.

use crate::tcp_support::talk::{A, B, MS, Talk, without_rtt};
use tcp::{LossCounts, Segment, flag};

/// Initial sequence numbers such that all of a test, its beginning or its middle lies beyond 2^32.
const ISNS: [[u32; 2]; 4] =
    [[1_000, 9_000], [u32::MAX, 0], [u32::MAX - 1_500, u32::MAX - 700], [1 << 31, 1 << 31]];

fn with_each_isn(test: impl Fn(Talk)) {
    ISNS.into_iter().for_each(|isn| test(Talk::open(isn)));
}

const NOTHING: LossCounts = LossCounts {
    ploss_byte: 0,
    retrans_byte: 0,
    unseen_byte: 0,
    rtt_min_ns: 0,
    rtt_sum_ns: 0,
    rtt_count: 0,
    ploss_count: 0,
    reorder_count: 0,
    retrans_count: 0,
    zero_window_count: 0,
    hole_count: 0,
    resync_count: 0,
};

#[test]
fn nothing_is_booked_where_nothing_is_missing() {
    with_each_isn(|mut talk| {
        for i in 0..100 {
            talk.data(A, i * 1_000, 1_000);
            talk.wait(MS);
            talk.ack(B, (i + 1) * 1_000);
        }
        talk.flags(A, 100_000, 0, flag::FIN | flag::ACK);
        talk.ack(B, 100_001);
        talk.flags(B, 0, 0, flag::FIN | flag::ACK);
        talk.ack(A, 1);
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn what_is_filled_within_the_window_was_reordered() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 2_000, 1_000);
        talk.wait(3 * MS);
        talk.data(A, 1_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, reorder_count: 1, ..NOTHING });
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn what_is_filled_later_was_lost_before_here() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 2_000, 1_000);
        talk.wait(3 * MS + 1);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ..NOTHING });
        talk.data(A, 1_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { ploss_count: 1, ploss_byte: 1_000, ..NOTHING });
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn the_window_is_a_quarter_of_the_round_trip_where_that_is_longer() {
    for (wait, reorder_count) in [(10 * MS, 1), (10 * MS + 1, 0)] {
        let mut talk = Talk::new([1, 2]);
        // 20 ms from here to B and back, and 20 ms to A and back: a quarter of 40 ms.
        talk.handshake(None, 20 * MS);
        let _ = talk.take();
        talk.data(A, 1_000, 1_000);
        talk.wait(wait);
        talk.data(A, 0, 1_000);
        let booked = talk.booked();
        assert_eq!((booked.reorder_count, booked.ploss_count), (reorder_count, 1 - reorder_count));
    }
}

#[test]
fn a_hole_is_filled_piece_by_piece() {
    with_each_isn(|mut talk| {
        talk.data(A, 4_000, 1_000);
        talk.wait(MS);
        // From the middle: the hole is split.
        talk.data(A, 1_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, reorder_count: 1, ..NOTHING });
        talk.wait(10 * MS);
        talk.data(A, 3_000, 1_000);
        talk.data(A, 0, 500);
        assert_eq!(talk.booked(), LossCounts { ploss_count: 2, ploss_byte: 1_500, ..NOTHING });
        // 500 to 1,000 and 2,000 to 3,000 stay: 1 and 1 segment of 1,000 bytes.
        assert_eq!(talk.finished(), LossCounts { ploss_count: 2, ploss_byte: 1_500, ..NOTHING });
    });
}

#[test]
fn one_segment_repairs_and_repeats() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 1_500, 500);
        talk.data(A, 2_500, 500);
        talk.wait(10 * MS);
        // 500 seen, 500 of the first hole, 500 seen, 500 of the second, 500 seen and 500 new.
        talk.data(A, 500, 3_000);
        let expected = LossCounts {
            hole_count: 2,
            ploss_count: 1,
            ploss_byte: 1_000,
            retrans_count: 1,
            retrans_byte: 1_500,
            ..NOTHING
        };
        assert_eq!(talk.booked(), expected);
        talk.data(A, 3_500, 500);
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn what_was_seen_before_is_a_retransmission() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 1_000, 1_000);
        talk.wait(200 * MS);
        talk.data(A, 0, 1_000);
        talk.ack(B, 2_000);
        // Spurious: acknowledged before.
        talk.data(A, 1_000, 1_000);
        // Half of it is new.
        talk.data(A, 1_500, 1_000);
        let expected = LossCounts { retrans_count: 3, retrans_byte: 2_500, ..NOTHING };
        assert_eq!(talk.booked(), expected);
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn syn_and_fin_are_repeated_without_bytes() {
    for isn in ISNS {
        let mut talk = Talk::new(isn);
        talk.syn(A, flag::SYN, None);
        talk.wait(1_000 * MS);
        talk.syn(A, flag::SYN, None);
        talk.wait(1_000 * MS);
        talk.syn(B, flag::SYN | flag::ACK, None);
        talk.syn(B, flag::SYN | flag::ACK, None);
        talk.ack(A, 0);
        talk.data(A, 0, 10);
        talk.flags(A, 10, 0, flag::FIN | flag::ACK);
        talk.flags(A, 10, 0, flag::FIN | flag::ACK);
        let [a, b] = talk.take().map(without_rtt);
        assert_eq!(a, LossCounts { retrans_count: 2, ..NOTHING });
        assert_eq!(b, LossCounts { retrans_count: 1, ..NOTHING });
        // With data before it: 10 bytes.
        talk.flags(A, 0, 10, flag::FIN | flag::ACK);
        assert_eq!(talk.booked(), LossCounts { retrans_count: 1, retrans_byte: 10, ..NOTHING });
    }
}

#[test]
fn keep_alives_are_no_retransmissions() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 100);
        talk.ack(B, 100);
        for payload in [0, 1, 0] {
            talk.wait(1_000 * MS);
            talk.data(A, 99, payload);
            talk.ack(B, 100);
        }
        talk.data(A, 100, 100);
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn zero_windows_and_their_probes() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.window[B] = 0;
        talk.ack(B, 1_000);
        for _ in 0..3 {
            // One byte into the closed window; the answer does not take it.
            talk.wait(1_000 * MS);
            talk.data(A, 1_000, 1);
            talk.ack(B, 1_000);
        }
        talk.window[B] = 2_048;
        talk.ack(B, 1_000);
        talk.data(A, 1_000, 1_000);
        let [a, b] = talk.take().map(without_rtt);
        assert_eq!(a, NOTHING);
        assert_eq!(b, LossCounts { zero_window_count: 4, ..NOTHING });
    });
}

#[test]
fn a_probe_may_be_taken() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.window[B] = 0;
        talk.ack(B, 1_000);
        talk.data(A, 1_000, 1);
        talk.ack(B, 1_001);
        talk.data(A, 1_001, 1);
        talk.window[B] = 2_048;
        talk.ack(B, 1_002);
        talk.data(A, 1_002, 1_000);
        talk.ack(B, 2_002);
        let [a, b] = talk.connection.finish().map(without_rtt);
        assert_eq!(a, NOTHING);
        assert_eq!(b, LossCounts { zero_window_count: 2, ..NOTHING });
    });
}

#[test]
fn a_probe_is_forgotten_when_the_window_opens() {
    let mut talk = Talk::open([1, 1]);
    talk.window[B] = 0;
    talk.ack(B, 0);
    talk.data(A, 0, 1);
    // The window opens, the byte was not taken.
    talk.window[B] = 2_048;
    talk.ack(B, 0);
    // One byte is acknowledged that the tap did not see: no probe explains it.
    talk.ack(B, 1);
    assert_eq!(talk.connection.finish()[A].unseen_byte, 1);
}

#[test]
fn a_window_of_zero_does_not_count_on_syn_fin_and_rst() {
    let mut talk = Talk::new([5, 6]);
    talk.window = [0; 2];
    talk.syn(A, flag::SYN, None);
    talk.syn(B, flag::SYN | flag::ACK, None);
    talk.flags(A, 0, 0, flag::FIN | flag::ACK);
    talk.flags(B, 0, 0, flag::RST | flag::ACK);
    assert_eq!(talk.take().map(without_rtt), [NOTHING; 2]);
    talk.data(A, 1, 0);
    assert_eq!(talk.booked(), LossCounts { zero_window_count: 1, ..NOTHING });
}

#[test]
fn what_is_acknowledged_and_never_comes_was_missed_by_the_tap() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 2_000, 1_000);
        talk.wait(20 * MS);
        talk.ack(B, 3_000);
        // Not decided before the reordering window after the acknowledgement is over.
        talk.wait(3 * MS);
        talk.data(A, 3_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ..NOTHING });
        talk.wait(1);
        talk.data(A, 4_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { unseen_byte: 1_000, ..NOTHING });
        // It was decided: a late copy is one copy too many.
        talk.data(A, 1_000, 1_000);
        assert_eq!(talk.finished(), LossCounts { retrans_count: 1, retrans_byte: 1_000, ..NOTHING });
    });
}

#[test]
fn what_comes_after_its_acknowledgement_was_captured_out_of_order() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        // Acknowledged before it was ever seen: 1,000 to 3,000.
        talk.ack(B, 3_000);
        talk.wait(2 * MS);
        talk.data(A, 1_000, 1_000);
        talk.data(A, 2_000, 1_000);
        talk.wait(2 * MS);
        talk.data(A, 3_000, 1_000);
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn a_repair_captured_after_its_acknowledgement_is_still_a_repair() {
    // (from the hole to the acknowledgement, and from there to the repair)
    for (before, after, expected) in [
        (2 * MS, 2 * MS, LossCounts { reorder_count: 1, ..NOTHING }),
        (3 * MS, 3 * MS, LossCounts { reorder_count: 1, ..NOTHING }),
        (3 * MS + 1, 3 * MS, LossCounts { ploss_count: 1, ploss_byte: 1_000, ..NOTHING }),
        (20 * MS, 2 * MS, LossCounts { ploss_count: 1, ploss_byte: 1_000, ..NOTHING }),
        (
            20 * MS,
            4 * MS,
            LossCounts { unseen_byte: 1_000, retrans_count: 1, retrans_byte: 1_000, ..NOTHING },
        ),
    ] {
        let mut talk = Talk::open([7, 7]);
        talk.data(A, 1_000, 1_000);
        talk.wait(before);
        talk.ack(B, 2_000);
        talk.wait(after);
        talk.data(A, 0, 1_000);
        assert_eq!(talk.finished(), LossCounts { hole_count: 1, ..expected });
    }
}

#[test]
fn an_acknowledgement_beyond_what_was_seen_tells_of_unseen_bytes() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.wait(MS);
        talk.ack(B, 3_500);
        talk.wait(MS);
        assert_eq!(talk.booked(), NOTHING);
        // The hole shows in A's own sequence only now.
        talk.data(A, 3_500, 1_000);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ..NOTHING });
        talk.wait(10 * MS);
        talk.ack(B, 4_500);
        assert_eq!(talk.booked(), LossCounts { unseen_byte: 2_500, ..NOTHING });
    });
}

#[test]
fn part_of_a_hole_is_acknowledged() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 4_000, 1_000);
        talk.wait(20 * MS);
        talk.ack(B, 2_000);
        talk.wait(20 * MS);
        talk.data(A, 3_000, 1_000);
        let expected =
            LossCounts { hole_count: 1, unseen_byte: 1_000, ploss_count: 1, ploss_byte: 1_000, ..NOTHING };
        assert_eq!(talk.booked(), expected);
        // 2,000 to 3,000 never arrived.
        assert_eq!(talk.finished(), LossCounts { ploss_count: 1, ploss_byte: 1_000, ..NOTHING });
    });
}

#[test]
fn what_nothing_repaired_counts_by_the_largest_segment() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_400);
        talk.data(A, 1_400 + 3_000, 100);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ..NOTHING });
        // 3,000 ÷ 1,400, rounded up.
        assert_eq!(talk.finished(), LossCounts { ploss_count: 3, ploss_byte: 3_000, ..NOTHING });
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn without_a_segment_536_bytes_are_one() {
    let mut talk = Talk::open([1, 1]);
    talk.data(A, 1_000, 0);
    assert_eq!(talk.finished(), LossCounts { hole_count: 1, ploss_count: 2, ploss_byte: 1_000, ..NOTHING });
}

#[test]
fn the_ninth_hole_pushes_the_oldest_out() {
    with_each_isn(|mut talk| {
        for i in 0..8 {
            talk.data(A, i * 2_000 + 1_000, 1_000);
        }
        assert_eq!(talk.booked(), LossCounts { hole_count: 8, ..NOTHING });
        talk.data(A, 17_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ploss_count: 1, ploss_byte: 1_000, ..NOTHING });
        // The oldest is gone, the second one is there.
        talk.data(A, 0, 1_000);
        talk.data(A, 2_000, 1_000);
        let expected = LossCounts { retrans_count: 1, retrans_byte: 1_000, reorder_count: 1, ..NOTHING };
        assert_eq!(talk.booked(), expected);
        assert_eq!(talk.finished(), LossCounts { ploss_count: 7, ploss_byte: 7_000, ..NOTHING });
    });
}

#[test]
fn a_split_can_push_the_oldest_out_too() {
    let mut talk = Talk::open([1, 1]);
    for i in 0..8 {
        talk.data(A, i * 4_000 + 3_000, 1_000);
    }
    // From the middle of the last hole, 28,000 to 31,000.
    talk.data(A, 29_000, 1_000);
    let expected =
        LossCounts { hole_count: 8, reorder_count: 1, ploss_count: 3, ploss_byte: 3_000, ..NOTHING };
    assert_eq!(talk.booked(), expected);
    assert_eq!(talk.finished().ploss_byte, 6 * 3_000 + 2_000);
}

#[test]
fn another_syn_decides_and_begins_anew() {
    with_each_isn(|mut talk| {
        talk.data(A, 2_000, 1_000);
        let again = Segment { seq: 0x5555_0000, ..talk.segment(A, 0, 0, flag::SYN) };
        talk.connection.segment(A, &again);
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ploss_count: 2, ploss_byte: 2_000, ..NOTHING });
        let first = Segment { seq: 0x5555_0001, payload: 10, ..talk.segment(A, 0, 0, flag::ACK) };
        talk.connection.segment(A, &first);
        talk.connection.segment(A, &first);
        assert_eq!(talk.finished(), LossCounts { retrans_count: 1, retrans_byte: 10, ..NOTHING });
    });
}

#[test]
fn a_reset_decides_only_where_its_sequence_number_fits() {
    with_each_isn(|mut talk| {
        talk.data(A, 2_000, 1_000);
        for seq in [0x1234_5678, 0x9abc_def0u32] {
            let forged = Segment { seq, ..talk.segment(A, 0, 0, flag::RST) };
            talk.connection.segment(A, &forged);
            let forged = Segment { seq, ..talk.segment(B, 0, 0, flag::RST) };
            talk.connection.segment(B, &forged);
        }
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ..NOTHING });
        talk.flags(B, 0, 0, flag::RST);
        assert_eq!(talk.booked(), LossCounts { ploss_count: 2, ploss_byte: 2_000, ..NOTHING });
    });
}

#[test]
fn syn_with_data() {
    for isn in ISNS {
        let mut talk = Talk::new(isn);
        // RFC 7413: 100 bytes with the SYN, of which the server takes none.
        talk.connection.segment(A, &talk.segment(A, u32::MAX, 100, flag::SYN));
        talk.syn(B, flag::SYN | flag::ACK, None);
        talk.data(A, 0, 100);
        talk.data(A, 100, 100);
        talk.ack(B, 200);
        assert_eq!(talk.finished(), LossCounts { retrans_count: 1, retrans_byte: 100, ..NOTHING });
    }
}

#[test]
fn a_stream_is_picked_up_where_it_is() {
    for isn in ISNS {
        let mut talk = Talk::new(isn);
        talk.data(A, 5_000, 1_000);
        talk.ack(B, 6_000);
        talk.data(A, 6_000, 1_000);
        assert_eq!(talk.booked(), NOTHING);
        // Before the first one seen: reordered where it comes at once, else it has been sent before.
        talk.wait(MS);
        talk.data(A, 4_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { reorder_count: 1, ..NOTHING });
        talk.wait(10 * MS);
        talk.data(A, 3_000, 1_000);
        assert_eq!(talk.finished(), LossCounts { retrans_count: 1, retrans_byte: 1_000, ..NOTHING });
    }
}

#[test]
fn only_data_is_seen() {
    for isn in ISNS {
        let mut talk = Talk::new(isn);
        talk.data(A, 0, 1_000);
        talk.data(A, 2_000, 1_000);
        talk.wait(50 * MS);
        talk.data(A, 1_000, 1_000);
        talk.data(A, 2_000, 1_000);
        let expected = LossCounts {
            hole_count: 1,
            ploss_count: 1,
            ploss_byte: 1_000,
            retrans_count: 1,
            retrans_byte: 1_000,
            ..NOTHING
        };
        assert_eq!(talk.finished(), expected);
    }
}

#[test]
fn only_acknowledgements_are_seen() {
    for isn in ISNS {
        let mut talk = Talk::new(isn);
        for i in 0..100 {
            talk.ack(B, i * 30_000);
            talk.wait(10 * MS);
        }
        assert_eq!(talk.finished(), NOTHING);
    }
}

#[test]
fn a_tap_that_misses_most_of_a_stream() {
    with_each_isn(|mut talk| {
        // Of 100 segments only the first is seen, and each second acknowledgement.
        talk.data(A, 0, 1_000);
        for i in 1..=50 {
            talk.wait(10 * MS);
            talk.ack(B, i * 2_000);
        }
        assert_eq!(talk.finished(), LossCounts { unseen_byte: 99_000, ..NOTHING });
    });
}

#[test]
fn a_jump_beyond_the_window_is_no_hole() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.ack(B, 1_000);
        // The window is 64 KiB: 500 MB ahead is another world. One stray segment is not believed, ...
        talk.data(A, 500_000_000, 1_000);
        talk.data(A, 1_000, 1_000);
        talk.ack(B, 2_000);
        assert_eq!(talk.booked(), NOTHING);
        // ... two that follow on are.
        talk.data(A, 1_000_000_000, 1_000);
        talk.data(A, 1_000_001_000, 1_000);
        assert_eq!(talk.booked(), LossCounts { resync_count: 1, ..NOTHING });
        talk.data(A, 1_000_002_000, 1_000);
        talk.ack(B, 1_000_003_000);
        assert_eq!(talk.finished(), NOTHING);
    });
}

#[test]
fn a_jump_far_behind_is_no_retransmission() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.data(A, 2_000, 1_000);
        let far = |talk: &Talk, i: u32| {
            let segment = talk.segment(A, 0, 1_000, flag::ACK);
            Segment { seq: segment.seq.wrapping_sub(1_000_000_000).wrapping_add(i * 1_000), ..segment }
        };
        talk.connection.segment(A, &far(&talk, 0));
        assert_eq!(talk.booked(), LossCounts { hole_count: 1, ..NOTHING });
        talk.connection.segment(A, &far(&talk, 1));
        // The hole is forgotten.
        assert_eq!(talk.finished(), LossCounts { resync_count: 1, ..NOTHING });
    });
}

#[test]
fn an_acknowledgement_of_another_world_is_not_believed() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 1_000);
        talk.ack(B, 700_000_000);
        talk.ack(B, 1_000);
        talk.data(A, 1_000, 1_000);
        talk.ack(B, 2_000);
        assert_eq!(talk.booked(), NOTHING);
        talk.ack(B, 900_000_000);
        talk.ack(B, 900_002_000);
        talk.data(A, 900_002_000, 1_000);
        assert_eq!(talk.finished(), LossCounts { resync_count: 1, ..NOTHING });
    });
}

#[test]
fn how_far_a_jump_goes_depends_on_what_is_known() {
    let jump = |scale: Option<u8>, is_handshake_seen: bool, distance: u32| {
        let mut talk = Talk::new([1, 1]);
        if is_handshake_seen {
            talk.handshake(scale, 0);
        }
        talk.data(A, 0, 1_000);
        talk.ack(B, 1_000);
        talk.data(A, 1_000 + distance, 1_000);
        talk.connection.take()[A].hole_count
    };
    let is_last = |scale, is_handshake_seen, distance| {
        assert_eq!(jump(scale, is_handshake_seen, distance), 1);
        assert_eq!(jump(scale, is_handshake_seen, distance + 1), 0);
    };
    // Windows of 2,048 × 2^14: 32 MiB and a quarter more, but no more than 16 MiB on trust.
    is_last(Some(14), true, 1 << 24);
    // 2,048 × 2^10: 2 MiB, a quarter of it, 64 KiB.
    is_last(Some(10), true, (1 << 21) + (1 << 19) + (1 << 16));
    // Not scaled: 2,048, a quarter of it, 64 KiB.
    is_last(None, true, 2_048 + 512 + (1 << 16));
    is_last(None, false, 1 << 20);
}

#[test]
fn trust_runs_out() {
    let mut talk = Talk::new([1, 1]);
    talk.handshake(Some(14), 0);
    for i in 1..=400 {
        // 10 MB ahead each time, as the windows allow, then two segments, acknowledged.
        let offset = i * 10_000_000;
        talk.data(A, offset, 1_000);
        talk.data(A, offset + 1_000, 1_000);
        talk.ack(B, offset + 2_000);
        talk.wait(100 * MS);
    }
    let [a, _] = talk.connection.finish();
    // 16 MiB on trust, and 64 bytes for each that was seen.
    assert!(a.ploss_byte + a.unseen_byte <= (1 << 24) + 64 * 800_000, "{a:?}");
    assert!(a.resync_count > 300, "{a:?}");
}

#[test]
fn trust_does_not_come_with_a_syn() {
    let mut talk = Talk::new([1, 1]);
    for i in 0..100 {
        let seq = i * 40_000_000;
        let syn = Segment { seq, ..talk.segment(A, 0, 0, flag::SYN) };
        talk.connection.segment(A, &syn.with_window_scale(Some(14)));
        let answer = Segment { seq, ack: seq + 1, ..talk.segment(B, 0, 0, flag::SYN | flag::ACK) };
        talk.connection.segment(B, &answer.with_window_scale(Some(14)));
        talk.connection.segment(A, &Segment { seq: seq + 16_000_000, ..talk.segment(A, 0, 0, flag::ACK) });
    }
    let [a, _] = talk.connection.finish();
    assert!(a.ploss_byte <= 1 << 24, "{a:?}");
}

#[test]
fn trust_does_not_come_back_by_itself() {
    let mut talk = Talk::new([1, 1]);
    talk.handshake(Some(14), 0);
    // All trust at once, then 10,000 bytes more are seen: 640,000 bytes of trust.
    talk.data(A, 1 << 24, 10_000);
    // Each of these is 1.5 MB away from the one before, and too far.
    for i in 1..=8 {
        talk.data(A, (1 << 24) + 10_000 + i * 1_500_000, 0);
    }
    talk.data(A, (1 << 24) + 10_000 + 700_000, 0);
    let [a, _] = talk.take();
    assert_eq!((a.hole_count, a.resync_count), (1, 0));
    talk.data(A, (1 << 24) + 10_000 + 600_000, 0);
    assert_eq!(talk.take()[A].hole_count, 1);
}

#[test]
fn an_old_hole_is_not_filled_by_the_numbers_of_another_round() {
    let mut talk = Talk::new([1, 1]);
    // Data only, nothing acknowledges: 1,000 bytes are missing.
    let first = Segment { seq: 0, payload: 1_000, flags: flag::ACK, window: 1, ..Segment::default() };
    talk.connection.segment(A, &first);
    talk.connection.segment(A, &Segment { seq: 2_000, ..first });
    let mut seq = 3_000u32;
    for i in 0..270 {
        // 270 segments of 16,000,000: once round, and 25 MB.
        talk.connection.segment(A, &Segment { seq, payload: 16_000_000, ..first });
        seq = seq.wrapping_add(16_000_000);
        if i % 30 == 0 {
            talk.connection.segment(A, &Segment { seq: seq.wrapping_sub(1_000), ..first });
        }
    }
    let [a, _] = talk.take();
    assert_eq!((a.ploss_byte, a.retrans_count), (1_000, 9));
    assert_eq!(talk.connection.finish()[A], NOTHING);
}

#[test]
fn round_trips_of_the_handshake_and_of_data() {
    let mut talk = Talk::new([u32::MAX - 5, 77]);
    talk.syn(A, flag::SYN, None);
    talk.wait(30 * MS);
    talk.syn(B, flag::SYN | flag::ACK, None);
    talk.wait(4 * MS);
    talk.ack(A, 0);
    let rtt = |counts: LossCounts| (counts.rtt_count, counts.rtt_min_ns, counts.rtt_sum_ns);
    assert_eq!(talk.take().map(rtt), [(1, 30 * MS, 30 * MS), (1, 4 * MS, 4 * MS)]);
    // Two segments, one acknowledgement, which is that of the second.
    talk.data(A, 0, 100);
    talk.wait(5 * MS);
    talk.data(A, 100, 100);
    talk.wait(32 * MS);
    talk.ack(B, 200);
    // Each with its own, and an answer with data.
    talk.data(A, 200, 100);
    talk.wait(MS);
    talk.data(A, 300, 100);
    talk.wait(30 * MS);
    talk.ack(B, 300);
    talk.wait(MS);
    talk.ack(B, 400);
    talk.data(B, 0, 50);
    talk.wait(6 * MS);
    talk.ack(A, 50);
    assert_eq!(talk.take().map(rtt), [(3, 31 * MS, 94 * MS), (1, 6 * MS, 6 * MS)]);
    assert_eq!(talk.take().map(rtt), [(0, 0, 0); 2]);
}

#[test]
fn round_trips_longer_than_four_seconds() {
    let mut talk = Talk::open([1, 1]);
    let mut offset = 0;
    for rtt in [3_000, 3_000, 5_000, 60_000] {
        talk.data(A, offset, 1);
        talk.wait(rtt * MS);
        offset += 1;
        talk.ack(B, offset);
    }
    let [a, _] = talk.take();
    assert_eq!((a.rtt_count, a.rtt_min_ns, a.rtt_sum_ns), (4, 3_000 * MS, 71_000 * MS));
    assert_eq!(a.rtt_avg_ns(), Some(17_750 * MS));
}

#[test]
fn many_round_trips_are_all_booked() {
    let mut talk = Talk::open([1, 1]);
    for i in 0..10_000 {
        talk.data(A, i, 1);
        talk.wait(MS + u64::from(i));
        talk.ack(B, i + 1);
    }
    let [a, _] = talk.take();
    let sum = 10_000 * MS + 9_999 * 10_000 / 2;
    assert_eq!((a.rtt_count, a.rtt_min_ns, a.rtt_sum_ns), (10_000, MS, sum));
}

#[test]
fn what_was_sent_again_is_not_timed() {
    with_each_isn(|mut talk| {
        talk.data(A, 0, 100);
        talk.data(A, 100, 100);
        talk.wait(200 * MS);
        talk.data(A, 0, 100);
        talk.wait(10 * MS);
        talk.ack(B, 100);
        talk.ack(B, 200);
        assert_eq!(talk.take()[A].rtt_count, 0);
        talk.data(A, 200, 100);
        talk.wait(10 * MS);
        talk.ack(B, 300);
        assert_eq!(talk.take()[A].rtt_min_ns, 10 * MS);
    });
}

#[test]
fn timestamps_tell_which_copy_is_acknowledged() {
    // The echo of the first copy, of the second one, and none.
    for (echo, expected) in [(500, 0), (700, 1), (0, 0)] {
        let mut talk = Talk::open([1, 1]);
        talk.timestamps = [Some((500, 0)), Some((0, 0))];
        talk.data(A, 0, 100);
        talk.wait(200 * MS);
        talk.timestamps[A] = Some((700, 0));
        talk.data(A, 0, 100);
        talk.wait(10 * MS);
        talk.timestamps[B] = (echo != 0).then_some((0, echo));
        talk.ack(B, 100);
        let [a, _] = talk.take();
        assert_eq!((a.retrans_count, a.rtt_count), (1, expected));
        assert_eq!(a.rtt_min_ns, u64::from(expected) * 10 * MS);
    }
}

#[test]
fn copies_of_a_copy() {
    // TSval of the third copy, its echo, and the round trip: with the same TSval it began with the second copy.
    for (tsval, echo, expected) in [(700, 700, 30 * MS), (900, 900, 10 * MS), (900, 700, 0), (600, 600, 0)] {
        let mut talk = Talk::open([1, 1]);
        talk.timestamps[A] = Some((500, 0));
        talk.data(A, 0, 100);
        talk.wait(200 * MS);
        talk.timestamps[A] = Some((700, 0));
        talk.data(A, 0, 100);
        talk.wait(20 * MS);
        talk.timestamps[A] = Some((tsval, 0));
        talk.data(A, 0, 100);
        talk.wait(10 * MS);
        talk.timestamps[B] = Some((0, echo));
        talk.ack(B, 100);
        let [a, _] = talk.take();
        assert_eq!((a.rtt_min_ns, a.retrans_count), (expected, 2), "{tsval} {echo}");
        // And the next one is timed as ever.
        talk.data(A, 100, 100);
        talk.wait(MS);
        talk.ack(B, 200);
        assert_eq!(talk.take()[A].rtt_min_ns, MS);
    }
}

#[test]
fn what_is_sent_behind_a_timed_copy_does_not_take_its_place() {
    let mut talk = Talk::open([1, 1]);
    talk.timestamps = [Some((500, 0)), Some((0, 700))];
    talk.data(A, 0, 100);
    talk.wait(200 * MS);
    talk.timestamps[A] = Some((700, 0));
    talk.data(A, 0, 100);
    talk.wait(MS);
    talk.timestamps[A] = Some((701, 0));
    talk.data(A, 100, 100);
    talk.wait(9 * MS);
    talk.ack(B, 200);
    let [a, _] = talk.take();
    assert_eq!((a.rtt_count, a.rtt_min_ns), (1, 10 * MS));
}

#[test]
fn three_segments_are_timed_at_once_and_the_end_of_a_burst() {
    let mut talk = Talk::open([1, 1]);
    for i in 0..10 {
        let flags = if i == 8 { flag::ACK | flag::PSH } else { flag::ACK };
        talk.flags(A, i * 100, 100, flags);
        talk.wait(MS);
    }
    for i in 0..10 {
        talk.ack(B, (i + 1) * 100);
    }
    let [a, _] = talk.take();
    // The first and the second one, 10 and 9 ms ago, and the ninth, 2 ms ago.
    assert_eq!((a.rtt_count, a.rtt_min_ns, a.rtt_sum_ns), (3, 2 * MS, 21 * MS));
}

#[test]
fn a_reset_voids_what_its_sender_would_acknowledge() {
    let mut talk = Talk::new([1, 1]);
    talk.syn(A, flag::SYN, None);
    talk.wait(5 * MS);
    // Refused: that too is a round trip.
    talk.flags(B, 0, 0, flag::RST | flag::ACK);
    assert_eq!(talk.take()[A].rtt_min_ns, 5 * MS);
    let mut talk = Talk::open([1, 1]);
    talk.data(A, 0, 100);
    talk.data(B, 0, 100);
    talk.flags(A, 100, 0, flag::RST);
    talk.wait(MS);
    talk.ack(B, 100);
    talk.wait(MS);
    talk.ack(A, 100);
    assert_eq!(talk.take().map(|counts| counts.rtt_count), [1, 0]);
}

#[test]
fn a_receiver_that_acknowledges_many_at_once_is_timed_too() {
    let mut talk = Talk::open([1, 1]);
    for i in 0..10 {
        talk.data(A, i * 100, 100);
        talk.wait(MS);
    }
    talk.ack(B, 1_000);
    // All three are covered; the third left 8 ms ago.
    let [a, _] = talk.take();
    assert_eq!((a.rtt_count, a.rtt_min_ns), (1, 8 * MS));
}

#[test]
fn two_taps_name_the_hop() {
    // The segments that pass each tap, and when; the second one is lost between them.
    let taps = [vec![(0, 0), (1_000, 1), (2_000, 2), (1_000, 200)], vec![(0, 1), (2_000, 3), (1_000, 201)]];
    let [before, behind] = taps.map(|segments| {
        let mut talk = Talk::open([u32::MAX - 1_500, 1]);
        let start = talk.now;
        for (offset, ms) in segments {
            talk.now = start + ms * MS;
            talk.data(A, offset, 1_000);
        }
        talk.ack(B, 3_000);
        talk.finished()
    });
    assert_eq!(before, LossCounts { retrans_count: 1, retrans_byte: 1_000, ..NOTHING });
    assert_eq!(behind, LossCounts { hole_count: 1, ploss_count: 1, ploss_byte: 1_000, ..NOTHING });
}

#[test]
fn a_copy_with_an_old_timestamp_is_not_timed() {
    let mut talk = Talk::open([1, 1]);
    talk.timestamps = [Some((500, 0)), Some((0, 500))];
    talk.data(A, 0, 100);
    talk.wait(MS / 2);
    // Within one tick: which copy is acknowledged cannot be told.
    talk.data(A, 0, 100);
    talk.wait(MS);
    talk.ack(B, 100);
    assert_eq!(talk.take()[A].rtt_count, 0);
}

#[test]
fn time_may_go_backwards() {
    let mut talk = Talk::open([1, 1]);
    talk.data(A, 0, 100);
    talk.now -= 500 * MS;
    talk.ack(B, 100);
    talk.data(A, 200, 100);
    talk.now -= 500 * MS;
    talk.data(A, 100, 100);
    let [a, b] = talk.connection.finish();
    assert_eq!(b, NOTHING);
    assert_eq!(a, LossCounts { hole_count: 1, reorder_count: 1, ..NOTHING });
}

#[test]
fn counts_of_two_windows_add_up() {
    let mut sum = LossCounts { rtt_count: 1, rtt_min_ns: 5, rtt_sum_ns: 5, ploss_byte: 1, ..NOTHING };
    sum.add(&NOTHING);
    assert_eq!(sum.rtt_min_ns, 5);
    sum.add(&LossCounts { rtt_count: 2, rtt_min_ns: 3, rtt_sum_ns: 10, ploss_byte: 2, ..NOTHING });
    assert_eq!(sum, LossCounts { rtt_count: 3, rtt_min_ns: 3, rtt_sum_ns: 15, ploss_byte: 3, ..NOTHING });
    let mut none = NOTHING;
    none.add(&sum);
    assert_eq!(none, sum);
    assert!(NOTHING.is_empty() && !sum.is_empty());
}

#[test]
fn options_of_a_segment() {
    let plain = Segment::default();
    assert_eq!((plain.window_scale(), plain.timestamps()), (None, None));
    let both = plain.with_window_scale(Some(7)).with_timestamps(Some((1, 2)));
    assert_eq!((both.window_scale(), both.timestamps()), (Some(7), Some((1, 2))));
    assert_eq!(both.with_window_scale(None).with_timestamps(None), plain);
    assert_eq!(plain.with_window_scale(Some(0)).window_scale(), Some(0));
    assert_eq!(plain.with_window_scale(Some(200)).window_scale(), Some(14));
}
