//! Every design gives the same, however packets are split and wherever flows are kept: records, windows, totals, remarks.

use crate::support::{
    BURST, Recorder, Run, config, count, generated, on_queues, plan, planned, planned_for, same_answers,
    task_set, with_tasks,
};
use arena::Limits;
use engine::admission::{self, Ordered, RunRefusal};
use engine::{Control, Design, Every, MeasurementConfig, ResolvedDesign, Split, StatePlacement};
use flow::Metric;
use flowtable::{MeasuredParts, Timeouts};
use port::Filter;
use proptest::prelude::*;
use std::time::Duration;

/// Those with one receiver, whose packets keep their order.
const ONE_RECEIVER: [&str; 10] = [
    "rss/1",
    "sync/2",
    "sync/3",
    "async/2",
    "async/4",
    "pipeline/2",
    "cooperative/1",
    "1x1",
    "1x3",
    // More threads than any machine that runs this has cores to spare.
    "1x9",
];
/// Those with more.
const MORE_RECEIVERS: [&str; 6] = ["rss/2", "rss/3", "2x1", "2x2", "3x1", "5x2"];

const MS: u64 = 1_000_000;

/// Each way to split packets and to keep flows.
const WAYS: [(Split, StatePlacement); 4] = [
    (Split::Hash, StatePlacement::Separate),
    (Split::Position, StatePlacement::Separate),
    (Split::Hash, StatePlacement::Shared),
    (Split::Position, StatePlacement::Shared),
];

/// More flows than any traffic here has, so that shared tables are not made for millions.
const SHARED_FLOWS: usize = 1 << 13;

fn measure(plan: &ResolvedDesign, spec: &str, filter: Option<&Filter>, config: &MeasurementConfig) -> Run {
    let flows = if plan.state == StatePlacement::Shared { SHARED_FLOWS } else { usize::MAX };
    let config =
        MeasurementConfig { limits: Limits::new(config.limits.bytes_allowed(), flows), ..config.clone() };
    let mut sources = match plan.receivers {
        1 => generated(spec, config.burst),
        queues => on_queues(spec, queues, config.burst),
    };
    let run = Run::new(&mut sources, filter, &config, plan, Recorder::new(|_, _| ()));
    run.is_consistent();
    assert_eq!(config.limits.flows_used(), 0, "{}: places of flows that are gone", plan.design);
    run
}

/// Runs the single plan and all of `designs` on the same traffic, in each possible way. Returns the single
/// plan's result.
fn all_alike(designs: &[&str], spec: &str, filter: Option<&Filter>, config: &MeasurementConfig) -> Run {
    let single = measure(&ResolvedDesign::single(), spec, filter, config);
    assert!(single.outcome.faults.is_empty() && single.outcome.errors.is_empty());
    for design in designs {
        for (split, state) in WAYS {
            let plan = ResolvedDesign { split, state, ..plan(design) };
            // A receiver that counts by itself has no workers to split anything among.
            let is_same = split == Split::Position && plan.workers == 0;
            if !is_same && admission::check_order(config, &plan).is_empty() {
                let run = measure(&plan, spec, filter, config);
                same_answers(&single, &run, &format!("{design} split by {split}, {state} state"));
            }
        }
    }
    single
}

fn every_design() -> Vec<&'static str> {
    ONE_RECEIVER.into_iter().chain(MORE_RECEIVERS).collect()
}

#[test]
fn plain_records() {
    let spec = "packets=6k,flows=700,ipv6=30%,size=64:3/590:1,plant=flood/scan/elephant";
    let run = all_alike(&every_design(), spec, None, &config());
    assert!(run.record_lines().len() > 500 && run.windows.len() > 20);
}

#[test]
fn many_windows_with_jumps_between_them() {
    // A packet a millisecond: each second one skips a window, all the more on several queues.
    let spec = "packets=400,flows=60,rate=1000,ipv6=50%";
    let config = MeasurementConfig { every: Every::Time(700_000), ..config() };
    let windows = all_alike(&every_design(), spec, None, &config).outcome.ended.windows;
    assert!(windows.count == 400 && windows.jump > 100 && windows.full > 100, "{windows:?}");
    // Windows of several packets, of which a queue may have none.
    let config = MeasurementConfig { every: Every::Time(5 * MS), ..config };
    let windows = all_alike(&every_design(), spec, None, &config).outcome.ended.windows;
    assert_eq!((windows.count, windows.jump), (80, 0));
}

#[test]
fn tasks() {
    let spec = "packets=2500,flows=400,ipv6=30%,rate=2500,plant=flood/scan/elephant";
    let config = with_tasks(MeasurementConfig { every: Every::Time(200 * MS), ..config() });
    let run = all_alike(&every_design(), spec, None, &config);
    assert!(run.windows.len() >= 5 && run.windows.iter().all(|window| window.answers.len() == 7));
    // More windows in a burst than states: counting waits for answers.
    let config = MeasurementConfig { every: Every::Time(2 * MS), ..config };
    let run = all_alike(&["rss/2", "async/3", "2x1"], "packets=120,flows=60,rate=500", None, &config);
    assert_eq!(run.windows.len(), 120);
    assert!(
        run.windows.iter().all(|window| window.answers.iter().all(|answer| answer
            .task
            .as_ref()
            .expect("a task")
            .total
            > 0))
    );
    // Directions that have one record and one hash in common are two flows for tasks: nothing changes but the records.
    let spec = "packets=3k,flows=300,rate=5000,tcp=handshake";
    let run_with = |biflow| {
        let parts = MeasuredParts { biflow, ..MeasuredParts::default() };
        let config =
            MeasurementConfig { every: Every::Time(200 * MS), parts, control: None, ..config.clone() };
        all_alike(&["async/2"], spec, None, &with_tasks(config))
    };
    let (apart, together) = (run_with(false), run_with(true));
    assert!(together.records().iter().any(|(_, record)| record.reverse().is_some()));
    let rows = |run: &Run| -> Vec<String> {
        run.windows
            .iter()
            .flat_map(|window| &window.answers)
            .map(|answer| format!("{:?}", answer.rows))
            .collect()
    };
    assert!(!rows(&apart).is_empty());
    assert_eq!(rows(&apart), rows(&together));
}

#[test]
fn records_that_end_inside() {
    let spec = "packets=6k,flows=300,rate=2000,ipv6=30%,tcp=handshake,plant=elephant";
    for (idle_ns, active_ns) in [(100 * MS, 700 * MS), (30 * MS, u64::MAX), (u64::MAX, 200 * MS)] {
        let timeouts = Timeouts { idle_ns, active_ns };
        let config = MeasurementConfig { timeouts, every: Every::Time(300 * MS), ..config() };
        let run = all_alike(&every_design(), spec, None, &config);
        let lines = run.record_lines();
        let ends = |reason: &str| lines.iter().any(|line| line.contains(&format!("end_reason: {reason}")));
        assert!(ends("End"));
        assert_eq!((ends("Idle"), ends("Active")), (idle_ns != u64::MAX, active_ns != u64::MAX));
    }
}

#[test]
fn both_directions_and_tcp_losses() {
    let spec = "packets=5k,flows=200,ipv6=30%,tcp=handshake,plant=loss:connections=3:segments=90/retransmission:connections=3:segments=90/reorder:connections=3:segments=90";
    for (loss, biflow) in [(true, false), (false, true), (true, true)] {
        let config = MeasurementConfig {
            parts: MeasuredParts { loss, biflow, ..MeasuredParts::default() },
            ..config()
        };
        let run = all_alike(&every_design(), spec, None, &config);
        assert_eq!(run.outcome.ended.tcp_loss.is_some(), loss);
        assert!(!loss || run.outcome.ended.tcp_loss.is_some_and(|loss| loss.ploss_count > 0));
        assert!(!biflow || run.records().iter().any(|(_, record)| record.reverse().is_some()));
    }
}

/// With shared state, workers count in one structure of each task: its counters, and so its answers, are those of one core.
#[test]
fn tasks_in_structures_of_all_workers() {
    let specs = [
        "heavy-hitters:structure=count-min,share=1%,top=200,memory=256KiB",
        "heavy-hitters:structure=count-sketch,key=src_addr,share=1%,top=200,memory=256KiB",
        "heavy-hitters:structure=count-min,key=dst_addr,by=bytes,share=1%,top=200,memory=256KiB",
        "change:structure=k-ary,share=2%,top=200,memory=256KiB",
        "distinct:of=src_addr,structure=hyper-log-log,memory=4KiB",
        "entropy:structure=exact,memory=256KiB",
    ];
    for (designs, spec, every, least) in [
        (every_design(), "packets=2500,flows=400,ipv6=30%,rate=2500,plant=flood/elephant", 200 * MS, 5),
        // More windows in a burst than structures, some of which a queue has no packet of: counting waits for answers.
        (vec!["rss/2", "async/3", "2x1", "3x1"], "packets=120,flows=60,rate=500", 2 * MS, 100),
    ] {
        let base = MeasurementConfig { every: Every::Time(every), ..config() };
        let with = |tasks| MeasurementConfig {
            control: Some(Control::new(task_set(0, &[], Some(tasks), &base))),
            ..base.clone()
        };
        let single = measure(&ResolvedDesign::single(), spec, None, &with(planned(&specs, &base)));
        assert!(single.windows.len() >= least);
        for design in designs {
            for split in [Split::Hash, Split::Position] {
                let plan = ResolvedDesign { split, state: StatePlacement::Shared, ..plan(design) };
                if plan.counting() > 1 {
                    let run = measure(&plan, spec, None, &with(planned_for(&specs, &base, true)));
                    same_answers(&single, &run, &format!("{design} split by {split}"));
                }
            }
        }
    }
}

#[test]
fn statistics_of_flows() {
    let spec = "packets=5k,flows=150,ipv6=30%,size=64/594/1518";
    let statistics = |metric| Some((metric, "mean,stddev,p50,p99".parse().expect("statistics")));
    let sized = [None, statistics(Metric::Size), statistics(Metric::InterArrival)];
    let parts = MeasuredParts { statistics: sized, ..MeasuredParts::default() };
    all_alike(&every_design(), spec, None, &MeasurementConfig { parts, ..config() });
    // Frames between two of a flow are known only to one who receives all.
    let parts = MeasuredParts { statistics: [statistics(Metric::Gap), sized[1], sized[2]], ..parts };
    all_alike(&ONE_RECEIVER, spec, None, &MeasurementConfig { parts, ..config() });
}

#[test]
fn frames_that_are_not_measured() {
    let spec = "packets=4k,flows=200,ipv6=30%,snap=40";
    let filter = Filter::new("tcp or ip6").expect("a good filter");
    let run = all_alike(&every_design(), spec, Some(&filter), &config());
    assert_ne!(count(&run.outcome.ended.packets.not_measured, "filter"), 0);
    assert!(run.outcome.ended.packets.remarks.total() + run.outcome.ended.packets.not_measured.total() > 100);
}

#[test]
fn windows_of_frames_and_runs_of_so_many() {
    let spec = "packets=2k,flows=200,ipv6=30%";
    for (frames, packets) in [(1, Some(100)), (7, None), (1000, None), (5000, None), (100, Some(1501))] {
        let config = MeasurementConfig { every: Every::Packets(frames), packets, ..config() };
        let windows = all_alike(&ONE_RECEIVER, spec, None, &config).outcome.ended.windows;
        assert_eq!(windows.count, packets.unwrap_or(2000).div_ceil(frames));
    }
}

#[test]
fn runs_of_so_long() {
    let spec = "packets=3k,flows=200,rate=1000";
    let config = MeasurementConfig { duration: Some(Duration::from_millis(1234)), ..config() };
    let run = all_alike(&ONE_RECEIVER, spec, None, &config);
    assert_eq!(run.outcome.ended.packets.received, 1234);
}

#[test]
fn small_rings_and_small_bursts() {
    let spec = "packets=1k,flows=200,ipv6=30%,rate=1000";
    for (burst, hand_over_batches) in [(1, 2), (3, 1), (7, 2), (256, 2)] {
        let config = MeasurementConfig { burst, hand_over_batches, every: Every::Time(100 * MS), ..config() };
        all_alike(&every_design(), spec, None, &config);
    }
}

#[test]
fn a_queue_without_frames() {
    // One flow comes to one queue; the others never see stream time.
    all_alike(&every_design(), "packets=500,flows=1,rate=1000", None, &config());
    all_alike(&every_design(), "packets=1,flows=1", None, &config());
    all_alike(&ONE_RECEIVER, "packets=0", None, &config());
}

#[test]
fn a_full_table_keeps_the_sums() {
    let spec = "packets=4k,flows=600,ipv6=30%";
    let small = |plan: &ResolvedDesign| {
        let config = MeasurementConfig { limits: Limits::new(1 << 31, 50), ..config() };
        let mut sources = match plan.receivers {
            1 => generated(spec, BURST),
            queues => on_queues(spec, queues, BURST),
        };
        let run = Run::new(&mut sources, None, &config, plan, Recorder::new(|_, _| ()));
        run.is_consistent();
        run
    };
    let ways = |design| WAYS.map(|(split, state)| ResolvedDesign { split, state, ..plan(design) });
    for plan in every_design().into_iter().flat_map(ways).chain([ResolvedDesign::single()]) {
        let run = small(&plan);
        let ended = &run.outcome.ended;
        assert_eq!((ended.packets.received, ended.packets.measured), (4000, 4000), "{}", plan.design);
        let records = run.records();
        let others: Vec<_> = records.iter().filter(|(_, record)| record.key.is_none()).collect();
        assert!(matches!(&others[..], [(None, _)]), "{}: one record other", plan.design);
        assert_eq!(others[0].1.total_count, ended.flows.table_full);
        assert_ne!(ended.flows.table_full, 0, "{}", plan.design);
        // If a worker may lag, places freed by another worker's ended flows are reused.
        let may_be_behind = plan.workers > 1 || plan.receivers > 1;
        assert!(records.len() <= 51 || may_be_behind && !plan.merges(), "{plan:?}");
        let sums = records.iter().fold((0, 0, 0), |(packets, bytes, wire), (_, record)| {
            (packets + record.total_count, bytes + record.total_byte, wire + record.wire_byte)
        });
        let totals = &ended.totals;
        assert_eq!(sums, (totals.packets, totals.bytes, totals.wire_bytes), "{}", plan.design);
    }
}

#[test]
fn what_hangs_on_the_order_of_packets_is_refused() {
    let statistics = |metric| {
        let statistics = [Some((metric, "mean".parse().expect("a statistic"))), None, None];
        MeasurementConfig { parts: MeasuredParts { statistics, ..MeasuredParts::default() }, ..config() }
    };
    let timeouts =
        |idle_ns, active_ns| MeasurementConfig { timeouts: Timeouts { idle_ns, active_ns }, ..config() };
    let parts = |loss, biflow| MeasurementConfig {
        parts: MeasuredParts { loss, biflow, ..MeasuredParts::default() },
        ..config()
    };
    let refused = [
        (parts(true, false), Ordered::Loss),
        (parts(false, true), Ordered::Biflow),
        (statistics(Metric::Gap), Ordered::Statistic(Metric::Gap)),
        (statistics(Metric::Size), Ordered::Statistic(Metric::Size)),
        (statistics(Metric::InterArrival), Ordered::Statistic(Metric::InterArrival)),
        (timeouts(30_000 * MS, u64::MAX), Ordered::Timeouts),
        (timeouts(u64::MAX, 1), Ordered::Timeouts),
    ];
    for (split, state) in WAYS {
        let plan = |design| ResolvedDesign { split, state, ..plan(design) };
        let check = |name, config: &MeasurementConfig| admission::check_order(config, &plan(name));
        assert_eq!(check("async/3", &config()), []);
        for (config, what) in &refused {
            // The only worker gets all of a burst, and no worker is the receiver itself.
            let is_whole = (split, state) == WAYS[0];
            assert_eq!(check("async/2", config).is_empty(), state == StatePlacement::Separate);
            assert_eq!(check("rss/2", config).is_empty(), state == StatePlacement::Separate);
            let refusal = RunRefusal::NeedsOrder { what: *what, split, state };
            let expected = if is_whole { vec![] } else { vec![refusal] };
            assert_eq!(check("async/3", config), expected);
        }
    }
}

#[test]
fn the_plans_are_what_their_names_say() {
    let named = |name: &str| {
        let plan = plan(name);
        (plan.design, plan.receivers, plan.workers)
    };
    assert_eq!(named("rss/3"), (Design::Rss, 3, 0));
    assert_eq!(named("async/4"), (Design::Async, 1, 3));
    assert_eq!(named("2x3"), (Design::Clusters { queues: 2, workers: 3 }, 2, 3));
    assert_eq!(named("cooperative/1"), (Design::Cooperative, 1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(24), ..ProptestConfig::default() })]

    #[test]
    fn any_traffic_by_any_design(
        (packets, flows, seed) in (1u64..800, 1u64..120, any::<u32>()),
        ipv6 in 0u8..=100,
        (window_us, idle_us, active_us) in (500u64..100_000, 1000u64..300_000, 1000u64..300_000),
        (burst, hand_over_batches) in (1usize..80, 1usize..4),
        (loss, biflow) in (any::<bool>(), any::<bool>()),
        (receivers, workers, kind, keeps_timeouts) in (1usize..4, 1usize..4, 0u8..5, any::<bool>()),
    ) {
        let spec = format!("packets={packets},flows={flows},seed={seed},ipv6={ipv6}%,rate=2000");
        let config = MeasurementConfig {
            every: Every::Time(window_us * 1000),
            // What late acknowledgements show of a direction that was idle depends on the sweep.
            timeouts: Timeouts {
                idle_ns: if loss || !keeps_timeouts { u64::MAX } else { idle_us * 1000 },
                active_ns: if loss || !keeps_timeouts { u64::MAX } else { active_us * 1000 },
            },
            // Without either, flows may be merged.
            parts: MeasuredParts { loss: loss && keeps_timeouts, biflow: biflow && keeps_timeouts, ..MeasuredParts::default() },
            burst,
            hand_over_batches,
            ..config()
        };
        let design = match kind {
            0 => format!("rss/{receivers}"),
            1 => format!("sync/{}", 1 + workers),
            2 => format!("async/{}", 1 + workers),
            3 => "cooperative".to_owned(),
            _ => format!("{receivers}x{workers}"),
        };
        all_alike(&[&design], &spec, None, &config);
    }
}
