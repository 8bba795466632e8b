//! Live sources whose frames do not all find room: every one of them is counted, by its name.

use crate::support::{BURST, Live, Recorder, Run, config, count, generated, plan};
use engine::{Every, MeasurementConfig, ResolvedDesign};
use flowtable::Timeouts;
use port::wire::{Trace, Wire, WireSpec};
use port::{PacketSource, SyntheticSource};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const SPEC: &str = "packets=60k,flows=300,ipv6=20%,rate=100k";
const FRAMES: u64 = 60_000;
/// Frames that come while a worker does nothing: more than any ring here takes.
const WHILE_ASLEEP: usize = 20_000;

/// Records end while frames come: by their own times, in which a run lasts less than a second. The clock, by which sweeps go,
/// is years ahead: every flow that a sweep comes across has timed out.
fn short() -> MeasurementConfig {
    MeasurementConfig {
        timeouts: Timeouts { idle_ns: u64::MAX, active_ns: 1_000_000 },
        hand_over_batches: 2,
        ..config()
    }
}

/// Runs a design on a live source whose first worker sleeps in its first record until enough frames were lost, or, where
/// `gives_up`, for a while.
fn with_a_sleeper(
    plan: &ResolvedDesign,
    config: &MeasurementConfig,
    counts_losses: bool,
    gives_up: bool,
) -> (Run, u64) {
    let mut source = Live::new(generated(SPEC, BURST).remove(0));
    source.counts_losses = counts_losses;
    let bursts = Arc::clone(&source.bursts);
    let sleeper = Recorder::new({
        let bursts = Arc::clone(&bursts);
        move |worker, record| {
            let began = Instant::now();
            let is_long = || gives_up && began.elapsed() > Duration::from_millis(20);
            while (worker, record) == (0, 0) && bursts.load(Relaxed) * BURST < WHILE_ASLEEP && !is_long() {
                std::thread::yield_now();
            }
        }
    });
    let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
    let run = Run::new(&mut sources, None, config, plan, sleeper);
    run.is_consistent();
    (run, 3 * bursts.load(Relaxed) as u64)
}

#[test]
fn what_a_full_ring_refuses_is_lost_and_counted() {
    // A window of frames does not turn while the worker sleeps, for the turn would wait for it.
    for every in [Every::Packets(25_000), Every::Time(u64::MAX / 2)] {
        for design in ["async/2", "async/4", "pipeline/2", "1x2"] {
            let (run, imissed) =
                with_a_sleeper(&plan(design), &MeasurementConfig { every, ..short() }, true, false);
            let packets = &run.outcome.ended.packets;
            let ring_full = run.lost("ring_full");
            assert!(ring_full > 100, "{design}: {ring_full}");
            assert_eq!(packets.received + ring_full, FRAMES, "{design}");
            assert_eq!(packets.measured, packets.received, "{design}: {packets:?}");
            assert_eq!(run.lost("imissed"), imissed, "{design}: the source's own losses");
            let recorded: u64 = run.records().iter().map(|(_, record)| record.total_count).sum();
            assert_eq!(recorded, packets.measured, "{design}");
            assert!(run.outcome.faults.is_empty());
        }
    }
}

#[test]
fn where_losses_are_unknown_a_full_ring_is_a_reason() {
    for every in [Every::Packets(25_000), Every::Time(u64::MAX / 2)] {
        for design in ["async/2", "async/3"] {
            let (run, _) =
                with_a_sleeper(&plan(design), &MeasurementConfig { every, ..short() }, false, false);
            let packets = &run.outcome.ended.packets;
            assert_eq!(run.outcome.loss, None);
            assert_eq!(packets.received, FRAMES, "{design}");
            assert!(count(&packets.not_measured, "ring_full") > 100, "{design}: {packets:?}");
            assert!(run.windows.iter().all(|window| window.loss.is_none()));
        }
    }
}

#[test]
fn windows_that_turn_while_a_worker_is_behind() {
    for length in [1_000_000, 10_000_000] {
        for design in ["async/2", "async/3", "cooperative/1", "rss/1"] {
            let config = MeasurementConfig { every: Every::Time(length), ..short() };
            let (run, imissed) = with_a_sleeper(&plan(design), &config, true, true);
            let packets = &run.outcome.ended.packets;
            assert_eq!(packets.received + run.lost("ring_full"), FRAMES, "{design}");
            assert_eq!(packets.measured, packets.received, "{design}");
            assert_eq!(run.lost("imissed"), imissed, "{design}");
        }
    }
}

#[test]
fn lock_step_loses_nothing_in_rings() {
    let (run, _) = with_a_sleeper(&plan("sync/3"), &short(), true, true);
    assert_eq!(run.outcome.ended.packets.received + run.lost("ring_full"), FRAMES);
    assert_eq!(run.lost("ring_full"), 0);
}

#[test]
fn a_wire_too_fast_for_its_receivers() {
    let mut source = SyntheticSource::open("packets=2k,flows=300,ipv6=20%", BURST).expect("good");
    let all = Trace::load(&mut source, 1, 1 << 30).expect("it fits");
    for (design, queues) in [("rss/2", 2), ("2x2", 2), ("async/3", 3), ("single", 2)] {
        let trace = all.spread(queues, 1 << 30).expect("it fits");
        let text = format!("rate=400Mpps,queues={queues},ring=64,packets=40k");
        let spec: WireSpec = text.parse().expect("good");
        let wire = Wire::open("wire", &spec, &Arc::new(trace), BURST).expect("good");
        let mut sources: Vec<_> =
            wire.into_iter().map(|queue| Box::new(queue) as Box<dyn PacketSource>).collect();
        let plan = if design == "single" { ResolvedDesign::single() } else { plan(design) };
        let config = MeasurementConfig { every: Every::Time(1_000_000), ..short() };
        let run = Run::new(&mut sources, None, &config, &plan, Recorder::new(|_, _| ()));
        run.is_consistent();
        let packets = &run.outcome.ended.packets;
        assert_eq!(packets.measured, packets.received, "{design}");
        // 40,000 packets arrive within 100 microseconds, of which rings take a few hundred.
        assert_ne!(run.lost("imissed"), 0, "{design}");
        let offered = packets.received + run.lost("imissed") + run.lost("ring_full");
        assert_eq!(offered, 40_000, "{design}");
    }
}
