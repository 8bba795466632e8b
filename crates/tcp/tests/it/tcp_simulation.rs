//! Transfers over a path with planted loss, reordering and duplicates before, at and after the tap, from many
//! seeds. The truth is known by construction, and the tracker must find exactly that.

use crate::tcp_support::path::{MS, Outcome, Plan, run};
use tcp::LossCounts;
use testbed::Random;

/// What happened to each segment, worked out from the whole log of the tap, with the end of the story known: no
/// state machine and nothing bounded.
fn truth(outcome: &Outcome, window_ns: u64) -> LossCounts {
    let sizes = &outcome.sizes;
    let count = sizes.len();
    let mut passes = vec![Vec::new(); count];
    for (time, segment) in &outcome.seen.data {
        passes[*segment].push(*time);
    }
    let first = |segment: usize| passes[segment].first().copied();
    // When the first acknowledgement that covers each segment passed.
    let mut acked = vec![None; count];
    for (time, until) in &outcome.seen.acks {
        acked[..*until].iter_mut().for_each(|acked| *acked = acked.or(Some(*time)));
    }
    // When something after each segment passed for the first time.
    let mut behind = vec![None; count];
    for segment in (0..count.saturating_sub(1)).rev() {
        behind[segment] = [behind[segment + 1], first(segment + 1)].into_iter().flatten().min();
    }
    let mut largest = 0;
    let mut truth = LossCounts::default();
    // Bytes in a row that never arrived, and were not acknowledged.
    let mut lost = 0;
    let mut was_missed = vec![false; count];
    for segment in 0..count {
        let bytes = u64::from(sizes[segment]);
        let repeated = passes[segment].len().saturating_sub(1);
        let skipped = behind[segment].filter(|at| first(segment).is_none_or(|first| *at < first));
        let mut again = repeated;
        match first(segment) {
            Some(first) => {
                largest = largest.max(sizes[segment]);
                let early_ack = acked[segment].filter(|acked| *acked < first);
                match (skipped, early_ack) {
                    (_, Some(acked)) if first - acked > window_ns => {
                        truth.unseen_byte += bytes;
                        was_missed[segment] = true;
                        again += 1;
                    }
                    // The acknowledgement indicated it first, and it arrived: only the capture was out of
                    // order.
                    (Some(skipped), Some(acked)) if acked < skipped => {}
                    // Acknowledged and then filled: its age at the acknowledgement decides.
                    (Some(skipped), acked) => {
                        if acked.unwrap_or(first) - skipped <= window_ns {
                            truth.reorder_count += 1;
                        } else {
                            truth.ploss_count += 1;
                            truth.ploss_byte += bytes;
                        }
                    }
                    (None, _) => {}
                }
            }
            None if acked[segment].is_some() => truth.unseen_byte += bytes,
            None if skipped.is_some() => lost += bytes,
            None => {}
        }
        truth.retrans_count += again as u32;
        truth.retrans_byte += again as u64 * bytes;
    }
    truth.ploss_byte += lost;
    // Holes: a segment beyond the one that follows the highest seen.
    let mut highest = None;
    for (_, segment) in &outcome.seen.data {
        let expected = highest.map_or(0, |highest: usize| highest + 1);
        truth.hole_count += u32::from(*segment > expected && !was_missed[*segment]);
        highest = highest.max(Some(*segment));
    }
    // Runs of what never arrived; the end closes the last one.
    let is_lost =
        |segment: usize| first(segment).is_none() && acked[segment].is_none() && behind[segment].is_some();
    let mut run = 0;
    for lost in (0..count).map(|segment| is_lost(segment).then_some(sizes[segment])).chain([None]) {
        match lost {
            Some(bytes) => run += bytes,
            None if run != 0 => {
                truth.ploss_count += run.div_ceil(largest);
                run = 0;
            }
            None => {}
        }
    }
    truth
}

fn without_rtt(counts: LossCounts) -> LossCounts {
    LossCounts { rtt_count: 0, rtt_min_ns: 0, rtt_sum_ns: 0, ..counts }
}

fn check(plan: Plan) -> Outcome {
    let outcome = run(plan);
    let round_trip = 2 * (plan.before_tap + plan.behind_tap);
    let window_ns = (round_trip / 4).max(3 * MS);
    assert!(plan.stops_at != u64::MAX || outcome.is_complete, "the simulation did not end: {plan:?}");
    assert_eq!(without_rtt(outcome.counts[0]), truth(&outcome, window_ns), "{plan:?}");
    assert_eq!(without_rtt(outcome.counts[1]), LossCounts::default(), "{plan:?}");
    outcome
}

/// A transfer in which nothing goes wrong yet.
fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed ^ 0x5eed);
    let isns = [0, 1, u32::MAX, u32::MAX - 5_000, u32::MAX - 40_000, 1 << 31, random.draw() as u32];
    Plan {
        seed,
        segments: 200,
        window: 2 + random.below(7) as usize,
        before_tap: 1 + random.below(10 * MS),
        behind_tap: 1 + random.below(10 * MS),
        spacing: 1 + random.below(MS / 5),
        timeout: 200 * MS,
        delays_acks: seed.is_multiple_of(2),
        safe_from: usize::MAX,
        stops_at: u64::MAX,
        isn: [isns[random.below(7) as usize], isns[random.below(7) as usize]],
        direction: random.below(2) as usize,
        ..Plan::default()
    }
}

const SEEDS: u64 = 400;

#[test]
fn nothing_goes_wrong() {
    for seed in 0..SEEDS {
        let plan = plan(seed);
        let [data, acks] = check(plan).counts;
        assert_eq!(without_rtt(data), LossCounts::default());
        assert_eq!(data.rtt_min_ns, 2 * plan.behind_tap, "{plan:?}");
        assert_eq!((acks.rtt_count, acks.rtt_min_ns), (1, 2 * plan.before_tap), "{plan:?}");
    }
}

#[test]
fn loss_before_the_tap() {
    let mut planted = 0;
    for seed in 0..SEEDS {
        let plan = Plan { lost_before: 4, is_spaced: true, safe_from: 190, ..plan(seed) };
        let outcome = check(plan);
        let expected = LossCounts {
            ploss_count: outcome.planted.first_lost_before,
            ploss_byte: outcome.planted.first_lost_before_byte,
            hole_count: outcome.planted.first_lost_before,
            ..LossCounts::default()
        };
        assert_eq!(without_rtt(outcome.counts[0]), expected, "{plan:?}");
        planted += expected.ploss_count;
    }
    assert!(planted > 4_000, "{planted}");
}

#[test]
fn much_loss_before_the_tap() {
    let mut lost = 0;
    for seed in 0..SEEDS {
        let plan = Plan { lost_before: 4, ..plan(seed) };
        let counts = check(plan).counts[0];
        assert_eq!((counts.retrans_count, counts.unseen_byte, counts.reorder_count), (0, 0, 0), "{plan:?}");
        lost += counts.ploss_count;
    }
    assert!(lost > 4_000, "{lost}");
}

#[test]
fn loss_behind_the_tap() {
    let mut planted = 0;
    for seed in 0..SEEDS {
        let plan = Plan { lost_behind: 10, ..plan(seed) };
        let outcome = check(plan);
        let counts = &outcome.counts[0];
        // Each copy that was lost had to pass once more, and no other did.
        assert_eq!(counts.retrans_count, outcome.planted.lost_behind, "{plan:?}");
        assert_eq!(counts.retrans_byte, outcome.planted.lost_behind_byte, "{plan:?}");
        assert_eq!((counts.ploss_byte, counts.unseen_byte, counts.reorder_count), (0, 0, 0), "{plan:?}");
        assert_eq!(counts.rtt_min_ns, 2 * plan.behind_tap, "{plan:?}");
        planted += outcome.planted.lost_behind;
    }
    assert!(planted > 5_000, "{planted}");
}

#[test]
fn loss_at_the_tap() {
    let mut unseen = 0;
    for seed in 0..SEEDS {
        // The round trip stays below 12 ms, so that the reordering window is 3 ms whatever is timed.
        let short = plan(seed);
        let (before_tap, behind_tap) = (short.before_tap / 4, short.behind_tap / 4);
        let plan = Plan { missed: 6, before_tap, behind_tap, ..short };
        let counts = check(plan).counts[0];
        assert_eq!((counts.ploss_byte, counts.retrans_count, counts.reorder_count), (0, 0, 0), "{plan:?}");
        unseen += counts.unseen_byte;
    }
    assert!(unseen > 1_000_000, "{unseen}");
}

#[test]
fn reordering_within_the_window() {
    let mut reordered = 0;
    for seed in 0..SEEDS {
        let plan = Plan { delayed: 5, longest_delay: 3 * MS, ..plan(seed) };
        let counts = check(plan).counts[0];
        assert_eq!((counts.ploss_byte, counts.retrans_count, counts.unseen_byte), (0, 0, 0), "{plan:?}");
        reordered += counts.reorder_count;
    }
    assert!(reordered > 1_000, "{reordered}");
}

#[test]
fn delays_around_the_window() {
    let (mut reordered, mut lost) = (0, 0);
    for seed in 0..SEEDS {
        let plan = Plan { delayed: 5, longest_delay: 20 * MS, ..plan(seed) };
        let counts = check(plan).counts[0];
        assert_eq!((counts.retrans_count, counts.unseen_byte), (0, 0), "{plan:?}");
        reordered += counts.reorder_count;
        lost += counts.ploss_count;
    }
    assert!(reordered > 1_000 && lost > 1_000, "{reordered} {lost}");
}

#[test]
fn duplicates_of_the_network() {
    for seed in 0..SEEDS {
        let plan = Plan { duplicated: 10, ..plan(seed) };
        let outcome = check(plan);
        assert_eq!(outcome.counts[0].retrans_count, outcome.planted.duplicates, "{plan:?}");
    }
}

#[test]
fn everything_at_once() {
    let mut sum = LossCounts::default();
    for seed in 0..10 * SEEDS {
        let mut random = Random::new(seed);
        let mut some = |most: u64| if random.once_in(3) { 0 } else { 5 + random.below(most) };
        let base = plan(seed);
        let plan = Plan {
            goes_back: seed.is_multiple_of(3),
            lost_before: some(40),
            lost_behind: some(40),
            missed: some(40),
            duplicated: some(60),
            delayed: some(30),
            longest_delay: 8 * MS,
            ack_lost: some(20),
            before_tap: base.before_tap / 4,
            behind_tap: base.behind_tap / 4,
            ..base
        };
        sum.add(&check(plan).counts[0]);
    }
    let seen = [sum.ploss_count, sum.reorder_count, sum.retrans_count, sum.hole_count];
    assert!(seen.iter().all(|count| *count > 5_000) && sum.unseen_byte > 1_000_000, "{sum:?}");
}

#[test]
fn the_capture_ends_in_the_middle() {
    let mut unrepaired = 0;
    for seed in 0..10 * SEEDS {
        let base = plan(seed);
        let stops_at = MS * (5 + Random::new(seed).below(400));
        let complete = check(Plan { lost_before: 10, lost_behind: 30, ..base }).counts[0];
        let cut = check(Plan { lost_before: 10, lost_behind: 30, stops_at, ..base }).counts[0];
        unrepaired += u32::from(cut.ploss_byte > 0 && cut.ploss_byte < complete.ploss_byte);
    }
    assert!(unrepaired > 500, "{unrepaired}");
}
