//! A run that tunes itself, over a wire that is for a while faster than any core receives. What it changes depends on time. That every packet
//! has its name, and every change its reason, does not.

use crate::support::{Recorder, Run, config, on_wire, plan, task_set};
use engine::tuning::{Adaption, Handles, KnobRange, KnobSetting, Retask, SettingChange, Tuner};
use engine::{Control, Every, IdleTimeout, MeasurementConfig, SamplingControl, WindowId, WorkerUse};
use flow::Share;
use flowtable::Timeouts;
use std::sync::{Arc, Mutex};

/// Installs a set of the next generation, and notes the divisor.
struct Noted {
    control: Control,
    config: MeasurementConfig,
    divisors: Arc<Mutex<Vec<u32>>>,
}

impl Retask for Noted {
    fn retask(&mut self, divisor: u32) -> Result<WindowId, String> {
        let mut divisors = self.divisors.lock().map_err(|error| error.to_string())?;
        divisors.push(divisor);
        let set = task_set(divisors.len() as u64, &[], None, &self.config);
        self.control.install(set).map_err(|error| error.to_string())
    }
}

#[test]
fn settings_follow_the_load_and_every_packet_has_a_name() {
    let timeouts = Timeouts { idle_ns: 8_000_000_000, active_ns: 1_800_000_000_000 };
    let base =
        MeasurementConfig { every: Every::Time(200_000_000), hand_over_batches: 64, timeouts, ..config() };
    let control = Control::new(task_set(0, &[], None, &base));
    let (sampling, workers) = (SamplingControl::new(Share::ALL), WorkerUse::new(2));
    let range = KnobRange {
        workers: 2,
        varies_workers: true,
        idle_divisor: 16,
        memory_divisors: vec![4],
        varies_share: true,
        most_share_ppm: 1_000_000,
    };
    let divisors = Arc::new(Mutex::new(Vec::new()));
    let noted = Noted { control: control.clone(), config: base.clone(), divisors: Arc::clone(&divisors) };
    let tuner = Tuner::new(1e-5, range);
    let idle_timeout = IdleTimeout::new(base.timeouts.idle_ns);
    let handles = Handles {
        workers: Some(workers.clone()),
        idle_timeout: Some((idle_timeout.clone(), base.timeouts.idle_ns)),
        sampling: Some(sampling.clone()),
        retask: Some(Box::new(noted)),
        limits: Some(base.limits.clone()),
    };
    let adaption = Adaption::new(tuner, handles, false);
    let config = MeasurementConfig {
        control: Some(control),
        sampling: Some(sampling),
        worker_use: Some(workers),
        idle_timeout: Some(idle_timeout),
        adaption: Some(adaption.clone()),
        ..base
    };
    let spec = "rate=20kpps/900Mpps/20kpps,phase=1s,seconds=3,ring=256".parse().expect("a wire");
    let (wire, mut sources) = on_wire("packets=60k,flows=5k", &spec, 256);
    let run = Run::new(&mut sources, None, &config, &plan("1x2"), Recorder::new(|_, _| {}));
    run.is_consistent();
    assert_eq!(run.outcome.faults, Vec::<String>::new());
    let lost = run.outcome.loss.as_ref().map_or(0, |loss| loss.total());
    assert!(lost > 0);
    assert_eq!(run.outcome.ended.packets.received + lost, wire.total().offered);

    let report = adaption.report();
    assert!(report.windows > 0 && report.windows_above > 0, "{report:?}");
    assert!(!report.changes.is_empty());
    let mut values = [
        (KnobSetting::Workers, 2.0),
        (KnobSetting::IdleTimeout, 1.0),
        (KnobSetting::TaskMemory, 1.0),
        (KnobSetting::Share, 1.0),
    ];
    for SettingChange { setting, from, to, reason, window, at_ns } in &report.changes {
        let known = values.iter_mut().find(|(known, _)| known == setting).expect("a setting");
        assert_eq!(known.1, *from);
        known.1 = *to;
        assert!(!reason.is_empty() && !reason.contains('\n') && window * 200_000_000 >= *at_ns, "{reason}");
    }
    for (setting, value) in values {
        assert_eq!(report.settings.value(setting), value, "{}", setting.name());
    }
    let memory = report.changes.iter().filter(|change| change.setting == KnobSetting::TaskMemory);
    assert_eq!(divisors.lock().expect("no panic").len(), memory.count());
    // Windows are measured by the share that was set for them.
    let of_share = report.changes.iter().filter(|change| change.setting == KnobSetting::Share);
    let shares: Vec<_> = of_share.map(|change| (change.window, change.to)).collect();
    for window in &run.windows {
        let set = shares.iter().rev().find(|(from, _)| *from <= window.window.number());
        let share = set.map_or(1.0, |(_, share)| *share);
        let measured = window.sampled.as_ref().map_or(1.0, |sampled| sampled.shares()[0].probability());
        assert!((share - measured).abs() < 1e-9, "{}: {share} {measured}", window.window);
    }
}
