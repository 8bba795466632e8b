//! A machine in numbers, and the tuner in charge of it over thousands of windows.

use super::knobs::{KnobRange, KnobSetting};
use super::report::{SettingChange, Unmet};
use super::seen::TuningObservation;
use super::tuner::Tuner;

const BOUND: f64 = 1e-5;
/// Windows within which loss must be below the bound after a step of load.
const SETTLED: usize = 5;
/// The most changes that a step of load may cause until it is settled.
const MOST_CHANGES: usize = 8;

/// The costs of frames on a machine, nanoseconds.
#[derive(Clone, Copy)]
struct MachineCosts {
    /// The receiver's cost of each frame; `parse` is that of each that is measured.
    frame: f64,
    parse: f64,
    /// The cost of each measured packet without tasks, of the worker, or of the receiver where there is none; `tasks` is that of tasks of
    /// full size.
    count: f64,
    tasks: f64,
    /// Relative deviation of all these, from window to window.
    noise: f64,
}

/// Load of a window.
#[derive(Clone, Copy, PartialEq)]
struct SimulatedLoad {
    pps: f64,
    /// The factor by which counting a packet costs more: 1 for skewed traffic, up to 3 where every packet misses the cache.
    misses: f64,
}

#[derive(Default)]
struct SimulationResult {
    losses: Vec<f64>,
    changes: Vec<SettingChange>,
    unmet: Vec<Unmet>,
    shares: Vec<f64>,
}

/// Returns a number that is uniform in [-1, 1], from a counter.
fn noise(n: usize) -> f64 {
    let mut x = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 29;
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Runs the tuner over windows of a second. What it decides about window n is in force from window n + 2 on.
fn run(machine: MachineCosts, range: KnobRange, loads: &[SimulatedLoad]) -> SimulationResult {
    let mut tuner = Tuner::new(BOUND, range.clone());
    let mut outcome = SimulationResult::default();
    let mut settings = vec![tuner.settings(); loads.len() + 3];
    for (window, load) in loads.iter().enumerate() {
        let now = settings[window];
        let share = now.value(KnobSetting::Share);
        let jitter = 1.0 + machine.noise * noise(window);
        let tasks = machine.tasks * (0.5 + 0.5 * now.value(KnobSetting::TaskMemory));
        let counting = (machine.count * load.misses + tasks) * share * jitter;
        let receiving = (machine.frame + machine.parse * share) * jitter;
        let offered = load.pps * (1.0 + 0.2 * machine.noise * noise(window + 7919));
        // What the receiver cannot take is missed; what the workers cannot is refused by their rings.
        let (receiver_ns, worker_ns) = match now.workers {
            0 => (receiving + counting, 0.0),
            workers => (receiving, counting / workers as f64),
        };
        let taken = offered.min(1e9 / receiver_ns);
        let counted = if worker_ns > 0.0 { taken.min(1e9 / worker_ns) } else { taken };
        let seen = TuningObservation {
            window: window as u64,
            end_ns: (window as u64 + 1) * 1_000_000_000,
            length_ns: 1_000_000_000,
            received: counted as u64,
            lost: (offered as u64).saturating_sub(counted as u64),
            ring_full: (taken - counted) as u64,
            off_core: 0,
            flows: (50_000.0 * load.misses.powi(4)) as u64,
            // Idle ones are of no consequence for the load, as on a machine whose caches hold all of them.
            held: (400_000.0 * load.misses.powi(4) * now.value(KnobSetting::IdleTimeout)) as u64,
            even_flows: 100.0 * load.misses.powi(4),
            receivers_behind: (offered * receiver_ns / 1e9).min(1.0),
            workers_busy: (now.workers != 0).then_some((taken * worker_ns / 1e9).min(1.0)),
        };
        outcome.losses.push(seen.loss());
        outcome.shares.push(share);
        let decision = tuner.window(&seen);
        if let Some(next) = decision.settings {
            settings[window + 2..].fill(next);
            assert!((1..=1_000_000).contains(&next.share_ppm) && next.workers <= range.workers);
            assert!(next.workers >= range.workers.min(1));
        }
        for change in &decision.changes {
            assert!(
                !change.reason.is_empty() && change.from != change.to && change.window == window as u64 + 2
            );
        }
        outcome.changes.extend(decision.changes);
        outcome.unmet.extend(decision.unmet);
    }
    outcome
}

fn range(workers: usize, memory_divisors: &[u32]) -> KnobRange {
    KnobRange {
        workers,
        varies_workers: workers > 1,
        idle_divisor: 16,
        memory_divisors: memory_divisors.to_vec(),
        varies_share: true,
        most_share_ppm: 1_000_000,
    }
}

fn machines() -> Vec<(MachineCosts, KnobRange)> {
    let one = MachineCosts { frame: 20.0, parse: 20.0, count: 60.0, tasks: 0.0, noise: 0.03 };
    let many = MachineCosts { count: 90.0, ..one };
    let mut all = Vec::new();
    for noise in [0.0, 0.03] {
        for frame in [4.0, 20.0] {
            for tasks in [0.0, 40.0] {
                let divisors: &[u32] = if tasks > 0.0 { &[4, 16] } else { &[] };
                all.push((MachineCosts { noise, frame, tasks, ..one }, range(0, divisors)));
                all.push((MachineCosts { noise, frame, tasks, ..many }, range(3, divisors)));
            }
        }
    }
    all
}

/// Returns each load for this many windows.
fn steps(loads: &[(f64, f64)], windows: usize) -> Vec<SimulatedLoad> {
    let each =
        |(mpps, misses): &(f64, f64)| vec![SimulatedLoad { pps: mpps * 1e6, misses: *misses }; windows];
    loads.iter().flat_map(each).collect()
}

const STEPS: [(f64, f64); 8] =
    [(2.0, 1.0), (20.0, 1.0), (4.0, 1.0), (12.0, 3.0), (12.0, 1.0), (1.0, 2.0), (22.0, 2.0), (3.0, 1.0)];

/// Windows after a step, until the next one.
fn settled(windows: usize) -> impl Fn(usize) -> bool {
    move |window| window % windows >= SETTLED
}

#[test]
fn loss_is_below_the_bound_five_windows_after_a_step() {
    const WINDOWS: usize = 14;
    for (number, (machine, range)) in machines().into_iter().enumerate() {
        let outcome = run(machine, range, &steps(&STEPS, WINDOWS));
        for (window, loss) in
            outcome.losses.iter().enumerate().filter(|(window, _)| settled(WINDOWS)(*window))
        {
            assert!(*loss <= BOUND, "machine {number}, window {window}: {loss}");
        }
        for step in 0..STEPS.len() {
            let of_step = (step * WINDOWS + 2) as u64..((step + 1) * WINDOWS + 2) as u64;
            let changes = outcome.changes.iter().filter(|change| of_step.contains(&change.window)).count();
            assert!(changes <= MOST_CHANGES, "machine {number}, step {step}: {changes}");
        }
    }
}

#[test]
fn accuracy_comes_back_when_load_falls() {
    for (number, (machine, range)) in machines().into_iter().enumerate() {
        let outcome = run(machine, range, &steps(&[(20.0, 2.0), (1.0, 2.0)], 20));
        assert!(outcome.shares[19] < 0.9, "machine {number}: {}", outcome.shares[19]);
        assert_eq!(outcome.shares[20 + SETTLED], 1.0, "machine {number}");
        let idle = outcome.changes.iter().filter(|change| change.setting == KnobSetting::IdleTimeout);
        let idle: Vec<_> = idle.map(|change| (change.window < 20, change.to)).collect();
        assert_eq!(idle, [(true, 1.0 / 16.0), (false, 1.0)], "machine {number}");
        assert_eq!(outcome.losses[20..].iter().copied().fold(0.0, f64::max), 0.0, "machine {number}");
    }
}

#[test]
fn at_a_steady_load_tries_that_fail_become_rare() {
    const WINDOWS: usize = 4000;
    for (number, (machine, range)) in machines().into_iter().enumerate() {
        for mpps in [5.0, 9.0, 14.0, 19.0] {
            let outcome = run(machine, range.clone(), &steps(&[(mpps, 2.0)], WINDOWS));
            // A try that fails doubles the time to the next: they become rarer all the time.
            let changes = |from: u64, to: u64| {
                outcome.changes.iter().filter(|change| (from..to).contains(&change.window)).count()
            };
            let by_time = [(100, 1000), (1000, 2000), (2000, 4000)].map(|(from, to)| changes(from, to));
            assert!(
                by_time[0] <= 24 && by_time[1] <= 12 && by_time[2] <= 12,
                "machine {number} at {mpps}: {by_time:?}"
            );
            let lossy = outcome.losses[SETTLED..].iter().filter(|loss| **loss > BOUND).count();
            assert!(lossy <= 3 * 16, "machine {number} at {mpps}: {lossy}");
        }
    }
}

#[test]
fn a_ramp_is_followed_in_both_directions() {
    let up = (0..200).map(|window| SimulatedLoad { pps: 1e6 + 1e5 * window as f64, misses: 1.5 });
    let loads: Vec<_> = up.clone().chain(up.rev()).collect();
    for (number, (machine, range)) in machines().into_iter().enumerate() {
        let outcome = run(machine, range, &loads);
        let lossy = outcome.losses.iter().filter(|loss| **loss > BOUND).count();
        assert!(lossy <= 24, "machine {number}: {lossy} of 400 windows");
        assert_eq!(outcome.shares.last(), Some(&1.0), "machine {number}");
    }
}

#[test]
fn what_cannot_be_kept_is_said_once() {
    let machine = MachineCosts { frame: 50.0, parse: 20.0, count: 60.0, tasks: 0.0, noise: 0.03 };
    let outcome = run(machine, range(0, &[]), &steps(&[(60.0, 1.0), (2.0, 1.0)], 300));
    let said: Vec<_> = outcome.unmet.iter().map(|unmet| (unmet.is_over, unmet.window >= 300)).collect();
    assert_eq!(said, [(false, false), (true, true)]);
    // It stays with the least, and does not flap.
    let changes = outcome.changes.iter().filter(|change| (20..300).contains(&change.window)).count();
    assert_eq!(changes, 0, "{:?}", outcome.changes);
    assert_eq!(outcome.shares[310], 1.0);
}

#[test]
fn workers_come_first_and_leave_when_they_are_not_needed() {
    let machine = MachineCosts { frame: 5.0, parse: 10.0, count: 100.0, tasks: 0.0, noise: 0.02 };
    let outcome = run(machine, range(4, &[]), &steps(&[(3.0, 1.0), (25.0, 1.0)], 60));
    let first = &outcome.changes[0];
    assert_eq!((first.setting, first.from, first.to), (KnobSetting::Workers, 4.0, 3.0), "{first:?}");
    let back = outcome.changes.iter().find(|change| change.window > 60).expect("load rose");
    assert_eq!((back.setting, back.to), (KnobSetting::Workers, 4.0), "{back:?}");
    // What four workers can do needs nothing else that costs accuracy.
    let is_free =
        |change: &SettingChange| matches!(change.setting, KnobSetting::Workers | KnobSetting::IdleTimeout);
    assert!(outcome.changes.iter().all(is_free), "{:?}", outcome.changes);
}

/// A first window without loss.
fn quiet() -> TuningObservation {
    TuningObservation {
        window: 0,
        end_ns: 1_000_000_000,
        length_ns: 1_000_000_000,
        received: 1_000_000,
        lost: 0,
        ring_full: 0,
        off_core: 0,
        flows: 1000,
        held: 1000,
        even_flows: 100.0,
        receivers_behind: 0.3,
        workers_busy: None,
    }
}

#[test]
fn a_loss_that_no_setting_causes_changes_nothing() {
    let mut tuner = Tuner::new(BOUND, range(0, &[]));
    let quiet = quiet();
    for window in 0..200 {
        // In every third window packets are lost while the receiver is off its core; now and then a few are lost for no known reason.
        let lost = if window % 3 == 0 { 5_000 } else { 0 };
        let chance = if window % 10 == 5 { 40 } else { 0 };
        let decision =
            tuner.window(&TuningObservation { window, lost: lost + chance, off_core: lost, ..quiet });
        assert_eq!(decision.changes, [], "window {window}");
    }
    // Twice in sequence it is no chance.
    tuner.window(&TuningObservation { window: 200, lost: 400, ..quiet });
    assert_eq!(tuner.window(&TuningObservation { window: 201, lost: 400, ..quiet }).changes.len(), 1);
}

#[test]
fn a_small_loss_is_answered_by_small_steps() {
    let mut tuner = Tuner::new(BOUND, range(0, &[]));
    let mut seen =
        TuningObservation { received: 50_000_000, lost: 20_000_000, receivers_behind: 1.0, ..quiet() };
    tuner.window(&seen);
    let first = tuner.settings().value(KnobSetting::Share);
    // Nearly all was received: the settings are not far from those that do.
    (seen.received, seen.lost) = (69_999_000, 1_000);
    for (window, least) in [(2, first / 2.5), (4, first / 7.0)] {
        seen.window = window;
        let decision = tuner.window(&seen);
        assert_eq!(decision.changes.len(), 1, "window {window}");
        let share = tuner.settings().value(KnobSetting::Share);
        assert!(share < first && share > least, "window {window}: {share} after {first}");
    }
}
