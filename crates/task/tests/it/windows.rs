//! Windows, workers and losses.

use crate::support::*;
use arena::Limits;
use flow::Estimate;
use packet::{KeySpec, Seed};
use std::collections::HashMap;
use task::rows::PlanContext;
use task::{
    CannotMerge, Generation, OtherGeneration, Structure, TaskKind, TaskRows, TaskRunner, TaskSet, Tasks,
    WindowId, WorkerId, catalog,
};

const FIRST: WorkerId = WorkerId::new(0);
const SECOND: WorkerId = WorkerId::new(1);

/// The change of each flow against the mean of what was before.
fn changes(now: &[Packet], before: &[&[Packet]]) -> HashMap<packet::FlowKey, f64> {
    let many = before.len() as i64;
    let mut changes: HashMap<_, i64> = HashMap::new();
    for (key, weight) in weights(now, &KeySpec::FIVE_TUPLE, false) {
        *changes.entry(key).or_default() += weight as i64 * many;
    }
    for window in before {
        for (key, weight) in weights(window, &KeySpec::FIVE_TUPLE, false) {
            *changes.entry(key).or_default() -= weight as i64;
        }
    }
    changes.into_iter().map(|(key, change)| (key, change as f64 / many as f64)).collect()
}

fn windows() -> Vec<Vec<Packet>> {
    let burst = Packet { key: v4(1, 2, 3), bytes: 100 };
    let gone = Packet { key: v6(9, 8, 7), bytes: 100 };
    (0..4)
        .map(|number| {
            let mut packets = stream(20 + number, 20_000);
            packets.extend(vec![gone; if number < 3 { 900 } else { 0 }]);
            packets.extend(vec![burst; if number == 3 { 1_500 } else { 100 }]);
            packets
        })
        .collect()
}

#[test]
fn changes_are_found_either_way_by_every_structure() {
    let windows = windows();
    let all: Vec<&[Packet]> = windows.iter().map(|window| &window[..]).collect();
    for against in ["last", "average,windows=3"] {
        let before = if against == "last" { &all[2..3] } else { &all[..3] };
        let truth = changes(all[3], before);
        // The Reversible sketch takes other keys; `reversible.rs` asks it.
        for structure in
            catalog::structures(TaskKind::Change).filter(|structure| structure.name() != "reversible")
        {
            let text =
                format!("change:against={against},count=600,structure={},memory=4MiB", structure.name());
            let setting = setting(25_000, 1, false);
            let planned = Tasks::plan(&[spec(&text)], &setting);
            if structure.name() == "mv-sketch" && against != "last" {
                let error = planned.expect_err("an average").to_string();
                assert!(error.contains("compares two windows"), "{error}");
                continue;
            }
            let answers = answers(&planned.expect("a plan"), &all);
            assert!(answers[0][0].status.contains("nothing to compare"), "{}", answers[0][0].status);
            let last = flows(&answers[3][0]);
            let found: Vec<_> = last.iter().map(|flow| (flow.key, flow.estimate.value)).collect();
            assert_eq!(found.len(), 2, "{text}: {found:?}");
            for flow in last {
                let truth = truth[&flow.key];
                assert!(truth.abs() >= 600.0, "{text}: {flow:?} {truth}");
                assert!((flow.estimate.value - truth).abs() <= 0.2 * truth.abs(), "{text}: {flow:?} {truth}");
                let bounds = flow.estimate.bounds.filter(|bounds| bounds.confidence >= 1.0);
                assert!(bounds.is_none_or(|bounds| bounds.contain(truth)), "{text}: {flow:?} {truth}");
                let is_exact = ["exact", "flow-sample"].contains(&structure.name());
                assert!(!is_exact || (flow.estimate.value - truth).abs() < 1e-9, "{text}");
            }
        }
    }
}

#[test]
fn windows_without_packets_count_as_nothing() {
    let packets = stream(30, 5_000);
    let tasks = tasks(&["change:count=1,structure=exact,memory=4MiB"], &setting(5_000, 1, false));
    let (mut desk, mut counter) = (TaskRunner::new(tasks.clone(), 1), counter(&tasks));
    let mut empty = Box::new(tasks.states().expect("memory"));
    for (number, has_changed) in [(10, false), (11, false), (13, true)] {
        let window = WindowId::new(number);
        count(&mut counter, &packets);
        empty = desk.part(FIRST, window, counter.turn(empty)).remove(0).1;
        let answer = desk.report(window, Some(0)).remove(0);
        assert_eq!(flows(&answer).is_empty(), !has_changed, "window {number}");
    }
}

/// The same windows counted by several workers, which hand in their parts in different orders.
fn by_workers(tasks: &Tasks, windows: &[&[Packet]], workers: usize, by_flow: bool) -> Vec<String> {
    let mut desk = TaskRunner::new(tasks.clone(), workers);
    let mut counters: Vec<_> = (0..workers).map(|_| counter(tasks)).collect();
    let mut answers = Vec::new();
    for (number, packets) in (0..).zip(windows) {
        let window = WindowId::new(number);
        let mut parts = vec![Vec::new(); workers];
        for (at, packet) in packets.iter().enumerate() {
            let flow = weights(std::slice::from_ref(packet), &KeySpec::FIVE_TUPLE, false);
            let flow = format!("{flow:?}")
                .bytes()
                .fold(7_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
            parts[if by_flow { flow % workers } else { at % workers }].push(*packet);
        }
        for turn in 0..workers {
            let worker = (turn + number as usize) % workers;
            count(&mut counters[worker], &parts[worker]);
            let empty = Box::new(tasks.states().expect("memory"));
            let back = desk.part(WorkerId::new(worker), window, counters[worker].turn(empty));
            // The first part is kept until the last one has arrived; then both are free.
            let expected = if turn == 0 {
                0
            } else if turn + 1 == workers {
                2
            } else {
                1
            };
            assert_eq!(back.len(), expected);
        }
        answers.extend(
            desk.report(window, Some(0)).iter().map(|answer| format!("{:?} {}", answer.rows, answer.status)),
        );
    }
    answers
}

#[test]
fn several_workers_answer_as_one() {
    let windows = windows();
    let all: Vec<&[Packet]> = windows.iter().map(|window| &window[..]).collect();
    // What is linear, or exact, or a set, does not depend on who counted.
    let same = [
        "heavy-hitters:key=src_addr",
        "heavy-hitters:key=src_addr,prefixes=8/24,by=bytes",
        "super-spreaders:count=50",
        "super-spreaders:key=src_addr,count=50,structure=contact-sample,memory=16KiB",
        "flow-sizes:structure=size-array,memory=64KiB",
        "flow-sizes",
        "change:count=600",
        "entropy",
        "quantiles:structure=dyadic,memory=128KiB",
        "quantiles:key=size",
        "inner:key=dst_addr,a=src_port=1024",
        "inner:key=dst_addr,a=src_port=1024,b=protocol=tcp,structure=count-sketch,memory=16KiB",
        "distinct",
        "distinct:of=src_addr,structure=hyper-log-log,memory=1KiB",
        "distinct:of=src_addr,structure=bitmap,memory=1KiB",
        "distinct:of=src_addr,structure=multi-resolution-bitmap,memory=1KiB",
    ];
    let of_one = {
        let tasks = tasks(&same, &setting(25_000, 1, false));
        let answers = answers(&tasks, &all).into_iter().flatten();
        answers.map(|answer| format!("{:?} {}", answer.rows, answer.status)).collect::<Vec<_>>()
    };
    for by_flow in [true, false] {
        let tasks = tasks(&same, &setting(25_000, 3, !by_flow));
        for (number, (ours, theirs)) in by_workers(&tasks, &all, 3, by_flow).iter().zip(&of_one).enumerate() {
            assert_eq!(ours, theirs, "answer {} by flow: {by_flow}", same[number % same.len()]);
        }
    }
}

#[test]
fn what_cannot_be_merged_is_refused_with_the_reason() {
    for (text, scatters, says) in [
        ("heavy-hitters:structure=conservative-update,memory=1MiB", true, "on one core"),
        ("heavy-hitters:structure=conservative-update,memory=1MiB,key=src_addr", false, "on one core"),
        ("entropy:structure=stream-sample,memory=1MiB", true, "on one core"),
        ("entropy:structure=stream-sample,memory=1MiB,key=src_addr", false, "on one core"),
    ] {
        let error = Tasks::plan(&[spec(text)], &setting(1_000, 2, scatters)).expect_err(text);
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
        assert!(Tasks::plan(&[spec(text)], &setting(1_000, 1, false)).is_ok(), "{text}");
    }
    let tasks = tasks(&["entropy:structure=stream-sample,memory=64KiB"], &setting(25_000, 3, false));
    let windows = windows();
    assert_eq!(by_workers(&tasks, &[&windows[0]], 3, true).len(), 1, "flows stay on their cores");
}

/// With room for all flows every estimate is the truth, whoever counted.
#[test]
fn conservative_update_runs_where_flows_stay_on_their_cores() {
    let text = ["heavy-hitters:structure=conservative-update,memory=16MiB,count=50"];
    let windows = windows();
    let all: Vec<&[Packet]> = windows.iter().map(|window| &window[..]).collect();
    let of_one = answers(&tasks(&text, &setting(25_000, 1, false)), &all).into_iter().flatten();
    let of_one: Vec<_> = of_one.map(|answer| format!("{:?} {}", answer.rows, answer.status)).collect();
    assert!(of_one.iter().all(|answer| answer.matches("estimate").count() > 10), "{of_one:?}");
    assert_eq!(by_workers(&tasks(&text, &setting(25_000, 3, false)), &all, 3, true), of_one);
}

#[test]
fn the_planner_takes_another_where_a_flow_may_be_on_several_cores() {
    let chosen = |scatters| {
        let tasks = tasks(&["entropy:by=bytes,memory=256KiB"], &setting(1_000_000, 2, scatters));
        tasks.choices().next().map(|(_, choice)| choice.structure)
    };
    assert_eq!([chosen(false), chosen(true)], [Structure::StreamSample, Structure::Exact].map(Some));
}

#[test]
fn a_worker_that_is_gone_holds_up_no_other() {
    let packets = stream(31, 1_000);
    let tasks = tasks(&["entropy"], &setting(1_000, 2, false));
    let (mut desk, mut first) = (TaskRunner::new(tasks.clone(), 2), counter(&tasks));
    count(&mut first, &packets);
    let states = first.turn(Box::new(tasks.states().expect("memory")));
    let window = WindowId::new(5);
    assert!(desk.part(FIRST, window, states).is_empty(), "the other one may still come");
    assert_eq!(desk.end_worker(SECOND).len(), 1);
    assert_eq!(desk.report(window, Some(0)).len(), 1);
    assert!(desk.report(window.next(), Some(0)).is_empty(), "no worker counted anything");
}

#[test]
fn a_worker_that_was_given_up_is_not_heard_any_more() {
    let packets = stream(31, 1_000);
    let tasks = tasks(&["entropy"], &setting(1_000, 2, false));
    let states = || Box::new(tasks.states().expect("memory"));
    let (mut desk, mut first, mut late) =
        (TaskRunner::new(tasks.clone(), 2), counter(&tasks), counter(&tasks));
    for window in (5..7).map(WindowId::new) {
        count(&mut first, &packets);
        desk.part(FIRST, window, first.turn(states()));
    }
    assert_eq!(desk.fail_worker(SECOND).len(), 2);
    // It awakes, and gets its memory back.
    count(&mut late, &packets);
    let emptied = desk.part(SECOND, WindowId::new(5), late.turn(states()));
    assert_eq!(emptied.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [SECOND]);
    for window in (5..7).map(WindowId::new) {
        let answers = desk.report(window, Some(0));
        assert_eq!(answers.len(), 1);
        assert!(answers[0].status.contains("a worker failed"), "{}", answers[0].status);
        assert_eq!(answers[0].note.total, 1_000, "what came late is not counted");
    }
    let answers = desk.report(WindowId::new(7), Some(3));
    assert_eq!((answers.len(), answers[0].note.lost), (1, Some(3)), "no worker counted, and that is said");
    assert!(answers[0].status.contains("a worker failed") && answers[0].rows.is_empty(), "{answers:?}");
}

#[test]
fn losses_widen_what_they_can_and_are_said() {
    let windows = windows();
    let specs = [
        "heavy-hitters:key=src_addr",
        "heavy-hitters:by=bytes",
        "change:count=600",
        "entropy",
        "quantiles:key=size",
        "flow-sizes",
        "distinct:of=src_addr,structure=bitmap,memory=16KiB",
        "inner:key=src_addr,a=src_port=1024",
    ];
    let tasks = tasks(&specs, &setting(25_000, 1, false));
    let run = |losses: [Option<u64>; 4]| {
        let (mut desk, mut counter) = (TaskRunner::new(tasks.clone(), 1), counter(&tasks));
        let mut empty = Box::new(tasks.states().expect("memory"));
        let mut last = Vec::new();
        for ((window, packets), lost) in (0..).map(WindowId::new).zip(&windows).zip(losses) {
            count(&mut counter, packets);
            empty = desk.part(FIRST, window, counter.turn(empty)).remove(0).1;
            last = desk.report(window, lost);
        }
        last
    };
    let (none, some, unknown) =
        (run([Some(0); 4]), run([Some(0), Some(0), Some(5), Some(10)]), run([None; 4]));
    let bounds =
        |estimate: Estimate| estimate.bounds.map(|bounds| (bounds.lower, bounds.upper)).expect("bounds");
    for (task, (lower, upper)) in [(0, (0.0, 10.0)), (1, (0.0, 655_750.0)), (2, (-5.0, 10.0))] {
        for (with, without) in flows(&some[task]).iter().zip(flows(&none[task])) {
            let ((a, b), (c, d)) = (bounds(with.estimate), bounds(without.estimate));
            assert_eq!((a - c, b - d), (lower, upper), "{}", specs[task]);
        }
    }
    let TaskRows::Entropy(Some(bits)) = &some[3].rows else { panic!("no entropy") };
    let (lower, upper) = bounds(*bits);
    assert!(lower < bits.value && bits.value < upper);
    let distinct = |answers: &[task::TaskAnswer]| match answers[6].rows {
        TaskRows::Distinct(values) => bounds(values),
        _ => panic!("no number"),
    };
    let ((lower, upper), (with_lower, with_upper)) = (distinct(&none), distinct(&some));
    assert_eq!((with_lower, with_upper), (lower, upper + 10.0), "each may have been another address");
    let inner = |answers: &[task::TaskAnswer]| match answers[7].rows {
        TaskRows::Inner { product, totals: [a, b], .. } => (bounds(product), (a + b) as f64),
        _ => panic!("no product"),
    };
    let (((lower, upper), totals), (widened, _)) = (inner(&none), inner(&some));
    assert_eq!(
        widened,
        (lower, upper + 10.0 * (totals + 10.0)),
        "each may be of the heaviest key of the other"
    );
    for task in [4, 5] {
        assert!(some[task].status.contains("10 packets were lost"), "{}", some[task].status);
    }
    assert_eq!((unknown[0].bounds(), unknown[0].note.lost), ("exact".into(), None));
    assert_eq!(none[0].bounds(), "exact");
}

#[test]
fn what_different_sets_counted_does_not_merge() {
    let tasks = tasks(&["entropy:structure=exact,memory=64KiB"], &setting(1_000, 2, false));
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 20, usize::MAX));
    let states = |generation| {
        let set = TaskSet::plan(Generation::new(generation), &[], Some(tasks.clone()), &site).expect("a set");
        set.packets().expect("tasks").states().expect("memory")
    };
    let mut first = states(1);
    first.merge(&states(1)).expect("one set");
    let error = first.merge(&states(2)).expect_err("another set of the same sizes");
    let [ours, theirs] = [1, 2].map(Generation::new);
    assert!(matches!(error, CannotMerge::Generation(other) if other == OtherGeneration { ours, theirs }));
}
