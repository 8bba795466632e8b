//! Workers and receivers that die: the others continue, and what is missing is counted.

use crate::support::{BURST, Live, Recorder, Run, config, count, generated, on_queues, plan, with_tasks};
use arena::Limits;
use engine::ClosedWindow;
use engine::{Every, MeasurementConfig, ResolvedDesign, Split, StatePlacement};
use flow::{EndReason, FlowRecord};
use flowtable::Timeouts;
use port::{PacketSource, TimeBase};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

const SPEC: &str = "packets=8k,flows=300,ipv6=20%,rate=2000";
const FRAMES: u64 = 8_000;

/// Records that end all the time, and windows of a fifth of a second: forty of them.
fn busy() -> MeasurementConfig {
    MeasurementConfig {
        every: Every::Time(200_000_000),
        timeouts: Timeouts { idle_ns: u64::MAX, active_ns: 50_000_000 },
        ..config()
    }
}

fn sources(plan: &ResolvedDesign) -> Vec<Box<dyn PacketSource>> {
    match plan.receivers {
        1 => generated(SPEC, BURST),
        queues => on_queues(SPEC, queues, BURST),
    }
}

/// Records of all workers but those, in a fixed order. Why the last ones ended depends on when the stream
/// ended, which is earlier where a receiver is missing.
fn records_of_others(run: &Run, dead: impl Fn(usize) -> bool) -> Vec<String> {
    let others = run.records().into_iter().filter(|(worker, _)| !worker.is_some_and(&dead));
    let mut lines: Vec<_> = others
        .map(|(_, record)| format!("{:?}", FlowRecord { end_reason: EndReason::End, ..record }))
        .collect();
    lines.sort_unstable();
    lines
}

/// Fails where another worker than the dead one does not have the records of a run without deaths.
#[track_caller]
fn others_have_all(run: &Run, whole: &Run, dead: impl Fn(usize) -> bool, what: &str) {
    let [found, expected] = [run, whole].map(|run| records_of_others(run, &dead));
    assert!(found == expected, "{what}: records of others");
}

fn whole(plan: &ResolvedDesign) -> Run {
    let run = Run::new(&mut sources(plan), None, &busy(), plan, Recorder::new(|_, _| ()));
    run.is_consistent();
    assert!(run.outcome.faults.is_empty());
    run
}

fn with_a_dead_worker(plan: &ResolvedDesign, dead: usize, at: usize) -> Run {
    let sink = Recorder::new(move |worker, record| {
        assert!((worker, record) != (dead, at), "this worker dies here");
    });
    let run = Run::new(&mut sources(plan), None, &busy(), plan, sink);
    run.is_consistent();
    run
}

#[test]
fn a_worker_that_dies_takes_its_share_only() {
    for (design, dead) in
        [("async/2", 0), ("async/4", 1), ("sync/3", 1), ("pipeline/2", 0), ("2x2", 0), ("2x2", 3), ("3x1", 2)]
    {
        let plan = plan(design);
        let whole = whole(&plan);
        let records = whole.records().iter().filter(|(worker, _)| *worker == Some(dead)).count();
        // At once, in the middle, and with the very last record, when all windows but one are reported.
        for at in [0, records / 2, records - 1] {
            let what = format!("{design}, worker {dead} at record {at}");
            let run = with_a_dead_worker(&plan, dead, at);
            let packets = &run.outcome.ended.packets;
            assert_eq!(packets.received, FRAMES, "{what}");
            let failed = count(&packets.not_measured, "worker_failed");
            assert_eq!(packets.measured + failed, FRAMES, "{what}: {packets:?}");
            assert_ne!(failed, 0, "{what}");
            assert_eq!(run.windows.len(), whole.windows.len(), "{what}");
            assert_eq!(
                run.outcome.records.failed_workers, 1,
                "{what}: its records are missing, which is told"
            );
            others_have_all(&run, &whole, |worker| worker == dead, &what);
            let [fault] = &run.outcome.faults[..] else { panic!("{what}: {:?}", run.outcome.faults) };
            assert!(fault.contains(&format!("worker {dead} failed")) && !fault.contains('\n'), "{fault}");
        }
    }
}

#[test]
fn a_worker_that_dies_leaves_tasks_to_the_others() {
    for design in ["async/4", "2x2", "rss/2"] {
        let plan = plan(design);
        let sink =
            Recorder::new(|worker, record| assert!((worker, record) != (0, 20), "this worker dies here"));
        let run = Run::new(&mut sources(&plan), None, &with_tasks(busy()), &plan, sink);
        run.is_consistent();
        let answered = run.windows.iter().filter(|window| window.answers.len() == 7).count();
        assert_eq!((answered, run.windows.len()), (20, 20), "{design}: the others counted in all windows");
        let counted = |window: &ClosedWindow| {
            window.answers.first().map_or(0, |answer| answer.task.as_ref().expect("a task").total)
        };
        let missing = |window: &ClosedWindow| count(&window.packets.not_measured, "worker_failed");
        assert!(
            run.windows.iter().any(|window| counted(window) > 0 && missing(window) > 0) || design == "rss/2"
        );
    }
}

#[test]
fn a_receiver_that_counts_itself_dies_with_its_share() {
    for (design, dead) in [("rss/2", 0), ("rss/2", 1), ("rss/3", 2)] {
        let plan = plan(design);
        let whole = whole(&plan);
        let records = whole.records().iter().filter(|(worker, _)| *worker == Some(dead)).count();
        for at in [0, records / 2, records - 1] {
            let what = format!("{design}, worker {dead} at record {at}");
            let run = with_a_dead_worker(&plan, dead, at);
            assert!(run.outcome.ended.packets.received <= FRAMES, "{what}");
            others_have_all(&run, &whole, |worker| worker == dead, &what);
            let faults = &run.outcome.faults;
            assert!(faults.iter().any(|line| line.contains(&format!("worker {dead} failed"))), "{faults:?}");
            assert!(
                faults.iter().any(|line| line.contains(&format!("receiver {dead} failed"))),
                "{faults:?}"
            );
            assert_eq!(faults.len(), 2, "{faults:?}");
        }
    }
}

#[test]
fn a_worker_of_a_live_source_dies() {
    for (design, dead) in [("async/2", 0), ("async/3", 1)] {
        let sink = Recorder::new(move |worker, record| {
            assert!((worker, record) != (dead, 7), "this worker dies here");
        });
        let mut sources: Vec<Box<dyn PacketSource>> =
            vec![Box::new(Live::new(generated(SPEC, BURST).remove(0)))];
        let config = MeasurementConfig { every: Every::Packets(1000), ..busy() };
        let run = Run::new(&mut sources, None, &config, &plan(design), sink);
        run.is_consistent();
        let packets = &run.outcome.ended.packets;
        assert_eq!(packets.received + run.lost("ring_full"), FRAMES, "{design}");
        assert_ne!(count(&packets.not_measured, "worker_failed"), 0, "{design}");
        assert_eq!(run.outcome.faults.len(), 1, "{design}");
    }
}

/// It takes the ten seconds after which a worker counts as failed.
#[test]
fn a_worker_of_a_live_source_that_hangs_leaves_tasks_to_the_others() {
    thread::scope(|scope| {
        for (design, hung) in [("async/2", 0), ("async/3", 1)] {
            scope.spawn(move || hangs(design, hung));
        }
    });
}

fn hangs(design: &'static str, hung: usize) {
    let source = Live::new(generated(SPEC, BURST).remove(0));
    let bursts = Arc::clone(&source.bursts);
    // Until the receiver has got to the end without it: it waits for this worker at the next window's turn.
    let sink = Recorder::new(move |worker, record| {
        let began = Instant::now();
        while (worker, record) == (hung, 7) && bursts.load(Relaxed) <= FRAMES as usize / BURST {
            assert!(began.elapsed() < Duration::from_secs(60), "it was never given up");
            thread::sleep(Duration::from_millis(1));
        }
    });
    let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
    let config = MeasurementConfig { every: Every::Packets(1000), ..with_tasks(busy()) };
    let run = Run::new(&mut sources, None, &config, &plan(design), sink);
    run.is_consistent();
    let packets = &run.outcome.ended.packets;
    assert_eq!(packets.received + run.lost("ring_full"), FRAMES, "{design}");
    assert_ne!(count(&packets.not_measured, "worker_failed"), 0, "{design}");
    let [fault] = &run.outcome.faults[..] else { panic!("{design}: {:?}", run.outcome.faults) };
    assert!(fault.contains(&format!("worker {hung} failed")), "{fault}");
    // Each window is answered, and reports what is missing.
    let mut incomplete = 0;
    for window in &run.windows {
        let failed = count(&window.packets.not_measured, "worker_failed");
        assert_eq!(window.answers.len(), 7, "{design}, also if no worker is left to count");
        for answer in &window.answers {
            let is_said = answer.reason.as_ref().is_some_and(|reason| reason.contains("a worker failed"));
            assert!(is_said || failed == 0, "{design}: {failed} {:?}", answer.reason);
            let note = answer.task.as_ref().expect("a task");
            assert!(note.lost >= Some(failed), "{design}: {note:?}");
            incomplete += usize::from(is_said);
        }
    }
    assert!(incomplete > 0, "{design}");
}

#[test]
fn a_receiver_that_dies_where_flows_are_merged() {
    let all = [
        ("async/3", Split::Position, StatePlacement::Separate),
        ("2x2", Split::Position, StatePlacement::Separate),
        ("sync/3", Split::Position, StatePlacement::Shared),
        ("rss/2", Split::Hash, StatePlacement::Shared),
        ("3x2", Split::Hash, StatePlacement::Shared),
    ];
    for (design, split, state) in all {
        let plan = ResolvedDesign { split, state, ..plan(design) };
        let config = MeasurementConfig {
            timeouts: Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX },
            limits: Limits::new(1 << 31, 1000),
            ..busy()
        };
        for (dead, dies_after) in [(0, 0), (plan.receivers - 1, 40)] {
            let what = format!("{design} {split} {state}, receiver {dead} after {dies_after} bursts");
            let mut sources = sources(&plan);
            let source =
                std::mem::replace(&mut sources[dead], generated("packets=1,flows=1", BURST).remove(0));
            let time_base = TimeBase::Packets;
            sources[dead] = Box::new(Live { dies_after, time_base, ..Live::new(source) });
            let run = Run::new(&mut sources, None, &config, &plan, Recorder::new(|_, _| ()));
            run.is_consistent();
            let packets = &run.outcome.ended.packets;
            assert!(packets.received < FRAMES || plan.receivers == 1, "{what}: {packets:?}");
            assert_eq!(packets.measured == 0, plan.receivers == 1 && dies_after == 0, "{what}: {packets:?}");
            let said = &run.outcome.faults[0];
            assert!(
                run.outcome.faults.iter().any(|line| line.contains(&format!("receiver {dead} failed"))),
                "{said}"
            );
        }
    }
}

#[test]
fn a_receiver_that_dies_ends_the_run_with_a_fault() {
    for (design, dead, workers) in
        [("async/2", 0, 0..1), ("sync/3", 0, 0..2), ("2x2", 1, 2..4), ("rss/2", 0, 0..1), ("3x1", 1, 1..2)]
    {
        let plan = plan(design);
        let whole = whole(&plan);
        // With the first burst, and in the middle of a window.
        for dies_after in [0, 40] {
            let what = format!("{design}, receiver {dead} after {dies_after} bursts");
            let mut sources = sources(&plan);
            let source =
                std::mem::replace(&mut sources[dead], generated("packets=1,flows=1", BURST).remove(0));
            let time_base = TimeBase::Packets;
            sources[dead] = Box::new(Live { dies_after, time_base, ..Live::new(source) });
            let run = Run::new(&mut sources, None, &busy(), &plan, Recorder::new(|_, _| ()));
            run.is_consistent();
            others_have_all(&run, &whole, |worker| workers.contains(&worker), &what);
            let faults = &run.outcome.faults;
            assert!(
                faults.iter().any(|line| line.contains(&format!("receiver {dead} failed"))),
                "{faults:?}"
            );
            assert_eq!(faults.len(), 1 + workers.len(), "{what}: {faults:?}");
        }
    }
}

/// The end of a run closes the last window of each receiver, and of no other.
#[test]
fn a_live_run_that_merges_ends_each_window_once() {
    for (design, split, state) in [
        ("async/2", Split::Hash, StatePlacement::Shared),
        ("1x2", Split::Position, StatePlacement::Separate),
        ("2x1", Split::Hash, StatePlacement::Shared),
        ("rss/3", Split::Hash, StatePlacement::Shared),
    ] {
        let plan = ResolvedDesign { split, state, ..plan(design) };
        let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
        // By number, where one receiver counts; else so short that receivers are in different ones when they end.
        let every = if plan.receivers == 1 { Every::Packets(1000) } else { Every::Time(1_000_000) };
        let config = MeasurementConfig { every, timeouts, ..config() };
        let mut sources: Vec<Box<dyn PacketSource>> = sources(&plan)
            .into_iter()
            .map(|source| Box::new(Live::new(source)) as Box<dyn PacketSource>)
            .collect();
        let run = Run::new(&mut sources, None, &config, &plan, Recorder::new(|_, _| ()));
        run.is_consistent();
        let ended = &run.outcome.ended;
        assert_eq!(ended.packets.received + run.lost("ring_full"), FRAMES, "{design}");
        assert_eq!(ended.packets.measured, ended.packets.received, "{design}");
        assert_eq!(ended.windows.run_end, 1, "{design}: {:?}", ended.windows);
        assert!(run.outcome.faults.is_empty(), "{:?}", run.outcome.faults);
    }
}
