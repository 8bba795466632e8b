//! The idle timeout changes between windows: every window and every sum is that of a run in which it does not, and the tables hold fewer
//! flows where it is short.

use crate::support::{Recorder, Run, config, generated, plan, shown, sums, task_set};
use arena::Limits;
use engine::{Control, Every, Gate, IdleTimeout, MeasurementConfig, WindowId};
use flow::EndReason;
use flowtable::Timeouts;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SECOND: u64 = 1_000_000_000;
/// Six seconds, in which each flow comes up three times.
const SPEC: &str = "packets=18k,flows=6k,zipf=0,ipv6=30%,rate=3000";

/// Sets the timeout as a window is entered, and notes how many flows the tables hold.
#[derive(Debug)]
struct Times {
    timeout: IdleTimeout,
    of: fn(u64) -> u64,
    limits: Limits,
    most: Arc<AtomicUsize>,
}

impl Gate for Times {
    fn enter(&self, window: WindowId) {
        self.timeout.set((self.of)(window.number()));
        self.most.fetch_max(self.limits.flows_used(), Relaxed);
    }
}

/// A run, and the most flows that its tables held as a window began.
fn run(design: &str, of: Option<fn(u64) -> u64>) -> (Run, usize) {
    let timeouts = Timeouts { idle_ns: 4 * SECOND, active_ns: 1800 * SECOND };
    let timeout = IdleTimeout::new(timeouts.idle_ns);
    let base = MeasurementConfig { every: Every::Time(300_000_000), timeouts, ..config() };
    let most = Arc::<AtomicUsize>::default();
    let gate = Times {
        timeout: timeout.clone(),
        of: of.unwrap_or(|_| 4 * SECOND),
        limits: base.limits.clone(),
        most: Arc::clone(&most),
    };
    let control = Control::gated(task_set(0, &[], None, &base), Arc::new(gate));
    let config = MeasurementConfig { control: Some(control), idle_timeout: of.map(|_| timeout), ..base };
    let run = Run::new(&mut generated(SPEC, 64), None, &config, &plan(design), Recorder::new(|_, _| {}));
    run.is_consistent();
    assert_eq!(run.outcome.faults, Vec::<String>::new());
    (run, most.load(Relaxed))
}

#[test]
fn windows_and_sums_do_not_hang_on_it() {
    let (whole, held) = run("1x2", None);
    assert!(whole.windows.len() >= 15, "{}", whole.windows.len());
    let times: [fn(u64) -> u64; 4] = [
        |_| 4 * SECOND,
        |_| SECOND / 4,
        |window| if window % 2 == 0 { SECOND / 4 } else { 4 * SECOND },
        |window| [4 * SECOND, SECOND, SECOND / 20, 2 * SECOND][(window % 4) as usize],
    ];
    for (case, of) in times.into_iter().enumerate() {
        for design in ["1x2", "async/3"] {
            let (run, most) = run(design, Some(of));
            let what = format!("case {case}, {design}");
            assert_eq!(run.windows.len(), whole.windows.len(), "{what}");
            for (window, expected) in run.windows.iter().zip(&whole.windows) {
                assert_eq!(window.totals, expected.totals, "{what}, window {}", window.window);
                assert_eq!(shown(&window.packets), shown(&expected.packets), "{what}");
            }
            assert_eq!(sums(&run), sums(&whole), "{what}");
            let (records, expected) = (run.records(), whole.records().len());
            match case {
                0 => assert_eq!(records.len(), expected, "{what}"),
                1 => {
                    assert!(2 * most < held, "{what}: {most} of {held} flows");
                    let idle = records.iter().filter(|(_, record)| record.end_reason == EndReason::Idle);
                    assert!(2 * idle.count() > records.len(), "{what}");
                }
                _ => assert!(records.len() > expected, "{what}"),
            }
        }
    }
}
