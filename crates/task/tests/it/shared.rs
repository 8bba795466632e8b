//! Structures in which all workers count at the same time, against those of one worker.

use crate::support::{Packet, answers, count, setting, stream, tasks, weights};
use arena::Limits;
use packet::{KeySpec, Seed};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use task::query::{GroupField, OutputColumn, Query};
use task::rows::{CountingOffer, PlanContext};
use task::sketched::Counting;
use task::{
    Generation, RunProperties, SharedCounting, Size, Structure, TaskAnswer, TaskCounter, TaskRows,
    TaskRunner, TaskSet, Tasks, WindowId, WorkerId,
};

/// Structures whose updates commute, by each of their tasks.
const SHARED: [&str; 12] = [
    "heavy-hitters:structure=count-min,share=1%,top=50,memory=256KiB",
    "heavy-hitters:structure=count-min,by=bytes,key=src_addr,share=2%,top=50,memory=256KiB",
    "heavy-hitters:structure=count-min,key=dst_addr,prefixes=8/32,share=2%,memory=256KiB",
    "heavy-hitters:structure=count-sketch,share=1%,top=50,memory=256KiB",
    "heavy-hitters:structure=k-ary,share=1%,top=50,memory=256KiB",
    "heavy-hitters:structure=reversible,key=dst_addr,share=2%,top=50,memory=1MiB",
    "heavy-hitters:structure=reversible,share=5%,top=50,memory=8MiB",
    "change:structure=k-ary,by=bytes,share=2%,top=50,memory=256KiB",
    "change:structure=turnstile,share=2%,top=50,memory=256KiB",
    "distinct:of=src_addr,structure=hyper-log-log,memory=4KiB",
    "distinct:of=src_addr,structure=bitmap,memory=4KiB",
    "distinct:of=src_addr,structure=multi-resolution-bitmap,memory=4KiB",
];

/// Structures of which each worker has its own.
const SEPARATE: [&str; 2] =
    ["entropy:structure=exact,memory=1MiB", "heavy-hitters:structure=exact,share=1%,memory=1MiB"];

/// The tasks of a run whose workers count in one structure.
fn sharing(specs: &[&str], packets: u64, workers: usize) -> Tasks {
    tasks(specs, &RunProperties { shares: true, ..setting(packets, workers, true) })
}

/// All that an answer says of what was counted; flows of equal figures in any order.
fn said(answer: &TaskAnswer) -> (String, Vec<String>) {
    let mut rows = match &answer.rows {
        TaskRows::Flows { flows, .. } => flows.iter().map(|flow| format!("{flow:?}")).collect(),
        other => vec![format!("{other:?}")],
    };
    rows.sort_unstable();
    (format!("{} {} {:?}", answer.status, answer.note.structure, answer.note.total), rows)
}

/// The answers of windows that workers counted in threads of their own, packets in turn.
fn together(tasks: &Tasks, windows: &[&[Packet]], workers: usize) -> Vec<Vec<TaskAnswer>> {
    let shared = SharedCounting::new(tasks).expect("memory");
    let states = || Box::new(tasks.states_of_worker(workers).expect("memory"));
    let mut counters: Vec<_> = (0..workers)
        .map(|_| (TaskCounter::new(tasks, states()).with_shared(shared.clone()), Some(states())))
        .collect();
    let mut desk = TaskRunner::new(tasks.clone(), workers);
    let mut answers = Vec::new();
    for (number, packets) in (0..).zip(windows) {
        let window = WindowId::new(number);
        thread::scope(|scope| {
            for (worker, (counter, _)) in counters.iter_mut().enumerate() {
                let part: Vec<_> = packets.iter().skip(worker).step_by(workers).copied().collect();
                scope.spawn(move || count(counter, &part));
            }
        });
        let mut emptied = Vec::new();
        for (worker, (counter, spare)) in counters.iter_mut().enumerate() {
            let states = counter.turn(spare.take().expect("it came back"));
            emptied.extend(desk.part(WorkerId::new(worker), window, states));
        }
        emptied.into_iter().for_each(|(worker, states)| counters[worker.index()].1 = Some(states));
        shared.iter().for_each(|shared| shared.change());
        answers.push(desk.report(window, Some(0)));
    }
    answers
}

#[test]
fn workers_count_together_what_one_counts() {
    // The last one is another one; changes are measured across windows, and what was counted before is gone.
    let streams = [stream(1, 20_000), stream(1, 20_000), stream(2, 9_000), Vec::new(), stream(3, 20_000)];
    let windows: Vec<&[Packet]> = streams.iter().map(Vec::as_slice).collect();
    let all: Vec<&str> = SHARED.into_iter().chain(SEPARATE).collect();
    for workers in [2, 4] {
        let planned = tasks(&all, &setting(20_000, workers, true));
        let expected = answers(&planned, &windows);
        let sharing = sharing(&all, 20_000, workers);
        let why = |at: usize| sharing.choices().nth(at).expect("a task").1.why.clone();
        assert!((0..SHARED.len()).all(|at| why(at).ends_with("; all workers count in one")));
        assert!((SHARED.len()..all.len()).all(|at| !why(at).contains("all workers")));
        let found = together(&sharing, &windows, workers);
        let mut rows = 0;
        for (window, (expected, found)) in expected.iter().zip(&found).enumerate() {
            assert_eq!((expected.len(), found.len()), (all.len(), all.len()));
            for ((text, expected), found) in all.iter().zip(expected).zip(found) {
                assert_eq!(said(found), said(expected), "{workers} workers, window {window}: {text}");
                rows += said(found).1.len();
            }
        }
        assert!(rows > 100, "{workers} workers: {rows}");
    }
}

/// What all workers count together is held against maps of the packets.
#[test]
fn what_workers_count_together_is_what_maps_say() {
    const DISTINCT: [&str; 3] = ["hyper-log-log", "bitmap", "multi-resolution-bitmap"];
    let of_flows = [("src_addr,dst_addr,protocol,src_port,dst_port", false), ("src_addr", true)];
    let heavy = of_flows.map(|(key, by_bytes)| {
        let by = if by_bytes { "by=bytes,key=src_addr" } else { "by=packets" };
        let text = format!("heavy-hitters:structure=count-min,{by},share=0.3%,top=200,memory=1MiB");
        (text, KeySpec::parse(key).expect("fields"), by_bytes)
    });
    let distinct = DISTINCT.map(|it| format!("distinct:of=src_addr,structure={it},memory=16KiB"));
    let specs: Vec<&str> =
        heavy.iter().map(|(text, ..)| text.as_str()).chain(distinct.iter().map(|it| &**it)).collect();
    let packets = stream(5, 20_000);
    let source = KeySpec::parse("src_addr").expect("a field");
    let sources: HashSet<_> = packets.iter().map(|packet| packet.flow_key(&source)).collect();
    for workers in [2, 3, 5] {
        let planned = sharing(&specs, 20_000, workers);
        let found = together(&planned, &[&packets], workers).remove(0);
        for (answer, (text, key, by_bytes)) in found.iter().zip(&heavy) {
            let truth = weights(&packets, key, *by_bytes);
            let total: u64 = truth.values().sum();
            assert_eq!((answer.status.as_str(), answer.note.total), ("ok", total), "{text}");
            let TaskRows::Flows { flows, most_unlisted, .. } = &answer.rows else { panic!("{answer:?}") };
            for flow in flows {
                let own = truth[&flow.key] as f64;
                let bounds = flow.estimate.bounds.expect("bounds");
                assert!(own <= flow.estimate.value, "{text}: {own} is more than {flow:?}");
                assert!(bounds.lower <= own && own <= bounds.upper, "{text}: {own} is not in {flow:?}");
            }
            let listed: HashSet<_> = flows.iter().map(|flow| &flow.key).collect();
            let others = truth.iter().filter(|(key, _)| !listed.contains(key)).map(|(_, weight)| *weight);
            let largest = others.max().expect("more flows than rows");
            assert!(largest < (total * 3).div_ceil(1000), "{text}: a flow with {largest} is not listed");
            assert!(largest <= most_unlisted.expect("Count-Min knows it"), "{text}: {largest}");
            assert!(flows.len() > 5, "{text}");
        }
        for answer in &found[heavy.len()..] {
            let TaskRows::Distinct(estimate) = &answer.rows else { panic!("{answer:?}") };
            let (own, bounds) = (sources.len() as f64, estimate.bounds.expect("bounds"));
            assert!(bounds.lower <= own && own <= bounds.upper, "{own} is not in {answer:?}");
        }
    }
}

/// A window does not end before the one before it is answered, by all workers that counted in it: what is counted in it would be counted twice.
#[test]
fn a_change_of_windows_waits_for_the_parts_of_all_workers() {
    const WORKERS: usize = 3;
    let planned = sharing(&SHARED[..1], 1_000, WORKERS);
    let shared = SharedCounting::new(&planned).expect("memory").expect("they share some");
    let states = || Box::new(planned.states_of_worker(WORKERS).expect("memory"));
    let mut counters: Vec<TaskCounter> = (0..WORKERS)
        .map(|_| TaskCounter::new(&planned, states()).with_shared(Some(Arc::clone(&shared))))
        .collect();
    let packets = stream(1, 1_000);
    let mut window = || -> Vec<_> {
        counters.iter_mut().for_each(|counter| count(counter, &packets));
        counters.iter_mut().map(|counter| counter.turn(states())).collect()
    };
    let first = window();
    shared.change();
    let second = window();
    // The parts of the first window that have come back.
    let back = Arc::new(AtomicUsize::new(0));
    let changing = thread::spawn({
        let (shared, back) = (Arc::clone(&shared), Arc::clone(&back));
        move || {
            shared.change();
            back.load(SeqCst)
        }
    });
    for part in first {
        // A change that does not wait has time to go on. One that does is still there.
        thread::sleep(Duration::from_millis(30));
        back.fetch_add(1, SeqCst);
        drop(part);
    }
    assert_eq!(changing.join().expect("no thread fails"), WORKERS);
    shared.give_up();
    // The structures of the second window are held, and no change waits for them.
    shared.change();
    drop(second);
}

/// A query that says how its packets are counted is a task like others: its workers count in one structure too, and its memory is theirs.
#[test]
fn queries_of_a_set_count_in_structures_of_all_workers() {
    let run = |shares| RunProperties { shares, ..setting(20_000, 4, true) };
    let site = |shares| PlanContext {
        counting: CountingOffer::Offered { run: run(shares), is_sampled: false },
        ..PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 30, 1_000))
    };
    let counting =
        Counting { structure: Some(Structure::CountMin), size: Size::Memory(1 << 20), ..Counting::default() };
    let query = Query {
        counting: Some(counting),
        ..Query::new("q", [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_count")])
    };
    let planned = |shares: bool, first: Option<Tasks>| {
        let set = TaskSet::plan(Generation::new(1), std::slice::from_ref(&query), first, &site(shares));
        set.expect("nothing is refused").packets().cloned().expect("it counts packets")
    };
    // Alone, and behind a task of the run.
    let tasks_of_run = || Some(sharing(&SHARED[..1], 20_000, 4).lasting());
    for first in [None, tasks_of_run()] {
        let number = first.iter().flat_map(Tasks::choices).count();
        let planned = planned(true, first);
        let whys: Vec<bool> =
            planned.choices().map(|(_, choice)| choice.why.ends_with("; all workers count in one")).collect();
        assert_eq!(whys, vec![true; number + 1]);
        assert!(SharedCounting::new(&planned).expect("memory").is_some());
    }
    let separate = planned(false, None);
    assert!(SharedCounting::new(&separate).expect("memory").is_none());
    assert!(planned(true, None).added_bytes(8) < separate.added_bytes(8) / 2);
}

#[test]
fn tasks_that_share_nothing_have_no_structures_in_common() {
    let planned = sharing(&SEPARATE, 1_000, 2);
    assert!(SharedCounting::new(&planned).expect("memory").is_none());
    // Nor do those of a run that does not ask for it.
    let planned = tasks(&SHARED, &setting(1_000, 2, true));
    assert!(SharedCounting::new(&planned).expect("memory").is_none());
    let bytes = planned.bytes(8);
    // Five times a structure, and small lists of flows, instead of two structures for each worker.
    assert!(sharing(&SHARED, 1_000, 2).bytes(8) < bytes / 2);
}
