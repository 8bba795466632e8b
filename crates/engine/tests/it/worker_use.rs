//! The number of workers that get packets changes between windows: every window and every sum is that of a single core.

use crate::support::{Recorder, Run, config, generated, plan, shown, sums, task_set};
use engine::{Control, Every, Gate, MeasurementConfig, Split, WindowId, WorkerUse};
use flow::EndReason;
use std::sync::Arc;

/// Sets the number of workers of the window that is entered next.
#[derive(Debug)]
struct Numbers {
    workers: WorkerUse,
    of: fn(WindowId) -> usize,
}

impl Gate for Numbers {
    fn enter(&self, window: WindowId) {
        self.workers.set((self.of)(window));
    }
}

const SPEC: &str = "packets=60k,flows=900,ipv6=30%,rate=10000,plant=flood";

fn run(design: &str, of: Option<fn(WindowId) -> usize>) -> Run {
    let workers = WorkerUse::new(3);
    let base = MeasurementConfig { every: Every::Time(300_000_000), ..config() };
    let gate = Arc::new(Numbers { workers: workers.clone(), of: of.unwrap_or(|_| 3) });
    let control = Control::gated(task_set(0, &[], None, &base), gate);
    let config = MeasurementConfig { control: Some(control), worker_use: of.map(|_| workers), ..base };
    let run = Run::new(&mut generated(SPEC, 64), None, &config, &plan(design), Recorder::new(|_, _| {}));
    run.is_consistent();
    assert_eq!(run.outcome.faults, Vec::<String>::new());
    run
}

#[test]
fn windows_and_sums_are_those_of_a_single_core() {
    let whole = run("rss", None);
    assert!(whole.windows.len() >= 15, "{}", whole.windows.len());
    let numbers: [fn(WindowId) -> usize; 4] = [
        |window| [3, 1, 2, 3, 2, 1, 1][(window.number() % 7) as usize],
        |window| if window.number() % 2 == 0 { 1 } else { 3 },
        |_| 2,
        |_| 3,
    ];
    for (case, of) in numbers.into_iter().enumerate() {
        for design in ["1x3", "async/4"] {
            let run = run(design, Some(of));
            let what = format!("case {case}, {design}");
            assert_eq!(run.windows.len(), whole.windows.len(), "{what}");
            for (window, expected) in run.windows.iter().zip(&whole.windows) {
                assert_eq!(window.totals, expected.totals, "{what}, window {}", window.window);
                assert_eq!(shown(&window.packets), shown(&expected.packets), "{what}");
                assert_eq!(window.work.even_flows.to_bits(), expected.work.even_flows.to_bits(), "{what}");
            }
            assert_eq!(sums(&run), sums(&whole), "{what}");
            // Only flows that moved have several records.
            let records = run.records().len();
            match case {
                3 => assert_eq!(records, whole.records().len(), "{what}"),
                _ => assert!(records >= whole.records().len(), "{what}"),
            }
        }
    }
}

#[test]
fn a_worker_that_is_not_in_use_holds_no_flows() {
    // All flows of the first windows go to one worker in the end.
    let run = run("1x3", Some(|window| if window.number() % 1000 < 5 { 3 } else { 1 }));
    let of_worker = |worker: usize| -> Vec<_> {
        run.records()
            .into_iter()
            .filter(|(from, _)| *from == Some(worker))
            .map(|(_, record)| record)
            .collect()
    };
    let last = run.windows.iter().map(|window| window.span.start_ns).max().expect("windows");
    for worker in [1, 2] {
        let records = of_worker(worker);
        assert!(records.iter().all(|record| record.end_reason == EndReason::End && record.ltime < last));
    }
    assert!(!of_worker(0).is_empty());
}

#[test]
fn flows_move_only_where_they_must() {
    const WORKERS: usize = 8;
    let hashes = (1..20_000_u64).map(|n| n.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(29));
    let mut counts = [[0_u32; WORKERS]; WORKERS + 1];
    for hash in hashes {
        let on: Vec<_> = (1..=WORKERS).map(|in_use| Split::by_hash_among(hash, WORKERS, in_use)).collect();
        assert_eq!(on[WORKERS - 1], Split::by_hash(hash, WORKERS));
        for (fewer, worker) in on.iter().enumerate() {
            assert!(*worker <= fewer);
            counts[fewer + 1][*worker] += 1;
        }
        // With one more worker, a flow stays or goes to that one.
        for (fewer, pair) in on.windows(2).enumerate() {
            assert!(pair[1] == pair[0] || pair[1] == fewer + 1, "{on:?}");
        }
    }
    for (in_use, counts) in counts.iter().enumerate().skip(1) {
        let even = 20_000 / in_use as u32;
        assert!(
            counts[..in_use].iter().all(|count| count.abs_diff(even) < even / 8 + 150),
            "{in_use}: {counts:?}"
        );
    }
}
