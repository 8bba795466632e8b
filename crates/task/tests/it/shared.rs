//! Structures in which all workers count at the same time, against those of one worker.

use crate::support::{Packet, answers, count, setting, stream, tasks};
use std::sync::Arc;
use std::thread;
use task::{SharedCounting, TaskAnswer, TaskCounter, TaskRows, TaskRunner, Tasks, WindowId, WorkerId};

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
        let sharing = planned.sharing();
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

/// A window does not end before the one before it is answered: what is counted in it would be counted twice.
#[test]
fn structures_come_back_when_their_window_is_answered() {
    let planned = tasks(&SHARED[..1], &setting(1_000, 2, true)).sharing();
    let shared = SharedCounting::new(&planned).expect("memory").expect("they share some");
    let states = || Box::new(planned.states_of_worker(2).expect("memory"));
    let mut counter = TaskCounter::new(&planned, states()).with_shared(Some(Arc::clone(&shared)));
    let packets = stream(1, 1_000);
    count(&mut counter, &packets);
    let first = counter.turn(states());
    shared.change();
    count(&mut counter, &packets);
    let second = counter.turn(states());
    let changing = thread::spawn({
        let shared = Arc::clone(&shared);
        move || shared.change()
    });
    // Nobody has answered the first window. The change waits, until that is given up.
    assert!(!changing.is_finished());
    drop(first);
    changing.join().expect("no thread fails");
    shared.give_up();
    // The second window's are held, and nobody waits for them.
    shared.change();
    drop(second);
}

#[test]
fn tasks_that_share_nothing_have_no_structures_in_common() {
    let planned = tasks(&SEPARATE, &setting(1_000, 2, true)).sharing();
    assert!(SharedCounting::new(&planned).expect("memory").is_none());
    // Nor do those of a run that does not ask for it.
    let planned = tasks(&SHARED, &setting(1_000, 2, true));
    assert!(SharedCounting::new(&planned).expect("memory").is_none());
    let bytes = planned.bytes(8);
    // Five times a structure, and small lists of flows, instead of two structures for each worker.
    assert!(planned.sharing().bytes(8) < bytes / 2);
}
