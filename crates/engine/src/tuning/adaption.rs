//! The adaption of a run's settings to its windows.

use super::knobs::{ALL_PPM, KnobSetting, KnobValues};
use super::report::{SettingChange, TunerReport, Unmet};
use super::seen::TuningObservation;
use super::tuner::{Decision, Tuner};
use crate::closed::ClosedWindow;
use crate::idle_timeout::IdleTimeout;
use crate::ids::WindowId;
use crate::refused::RING_FULL;
use crate::sampling::SamplingControl;
use crate::worker_use::WorkerUse;
use arena::Limits;
use flow::Share;
use model::WindowEnd;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Changes that are kept for the report.
const MOST_CHANGES: usize = 10_000;
/// The first window of a run is looked at if it was watched for this part of its time.
const WATCHED: f64 = 0.2;

/// Plans the tasks of a run again, with less memory or more.
pub trait Retask: Send {
    /// Installs the same tasks, with one part in `divisor` of their memory, in the first window that no receiver has entered.
    ///
    /// # Errors
    /// Returns the reason in one line; nothing has changed then.
    fn retask(&mut self, divisor: u32) -> Result<WindowId, String>;
}

/// An event of tuning, to be shown at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Tuned {
    /// A setting changes.
    Change(SettingChange),
    /// The bound cannot be kept, or can be kept again.
    Unmet(Unmet),
    /// A setting could not be changed, in one line.
    Warning(String),
}

/// Tunes a run: gives its windows to a [`Tuner`], and applies what that decides. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct Adaption(Arc<Mutex<Inner>>);

/// The handles by which the settings of a run are changed; a setting that its range does not vary needs no handle.
#[derive(Default)]
pub struct Handles {
    /// The number of workers in use.
    pub workers: Option<WorkerUse>,
    /// The idle timeout, and the whole of it, nanoseconds.
    pub idle_timeout: Option<(IdleTimeout, u64)>,
    /// The share of packets that is sampled.
    pub sampling: Option<SamplingControl>,
    /// The memory of tasks.
    pub retask: Option<Box<dyn Retask>>,
    /// The limits from which the flow tables take memory.
    pub limits: Option<Limits>,
}

struct Inner {
    tuner: Tuner,
    handles: Handles,
    /// Frames that are lost off the core are excused.
    excuses: bool,
    settings: KnobValues,
    changes: Vec<SettingChange>,
    changes_unlisted: u64,
    unmet: Vec<Unmet>,
    windows: u64,
    windows_above: u64,
    windows_off_core: u64,
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").finish_non_exhaustive()
    }
}

impl fmt::Debug for Adaption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaption").finish_non_exhaustive()
    }
}

impl Adaption {
    /// Tunes by what the tuner decides. `excuses`: what was lost while a
    /// receiver was off its core does not count. (With more threads than cores it does: the threads take the cores from each other.)
    pub fn new(tuner: Tuner, handles: Handles, excuses: bool) -> Self {
        let settings = tuner.settings();
        Self(Arc::new(Mutex::new(Inner {
            tuner,
            handles,
            excuses,
            settings,
            changes: Vec::new(),
            changes_unlisted: 0,
            unmet: Vec::new(),
            windows: 0,
            windows_above: 0,
            windows_off_core: 0,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a window that all have completed: later ones are measured by what follows from it.
    pub(crate) fn window(&self, closed: &ClosedWindow) -> Vec<Tuned> {
        self.inner().window(closed)
    }

    /// Returns a report of what was done so far.
    pub fn report(&self) -> TunerReport {
        let inner = self.inner();
        TunerReport {
            bound: inner.tuner.bound(),
            changes: inner.changes.clone(),
            changes_unlisted: inner.changes_unlisted,
            unmet: inner.unmet.clone(),
            settings: inner.settings,
            windows_off_core: inner.windows_off_core,
            windows_above: inner.windows_above,
            windows: inner.windows,
        }
    }
}

impl Inner {
    fn window(&mut self, closed: &ClosedWindow) -> Vec<Tuned> {
        let (Some(loss), true) = (&closed.loss, closed.ended_by != WindowEnd::RunEnd) else {
            return Vec::new();
        };
        let length_ns = closed.watched.end_ns - closed.watched.start_ns;
        if (length_ns as f64) < WATCHED * (closed.span.end_ns - closed.span.start_ns) as f64 {
            return Vec::new();
        }
        // A packet of the sample that a ring refused stands for as many as one that was measured.
        let share = closed.sampled.as_ref().map_or(1.0, |sampled| sampled.shares()[0].probability());
        let (counted, refused) = (loss.total(), loss.get(RING_FULL));
        let offered = closed.packets.received + counted;
        let ring_full = (refused as f64 / share) as u64;
        let lost = (counted - refused + ring_full).min(offered);
        let seen = TuningObservation {
            window: closed.window.number(),
            end_ns: closed.span.end_ns,
            length_ns,
            received: offered - lost,
            lost,
            ring_full,
            off_core: if self.excuses { closed.work.off_core } else { 0 },
            flows: closed.totals.flows,
            held: self.handles.limits.as_ref().map_or(0, |limits| limits.flows_used() as u64),
            even_flows: closed.work.even_flows,
            receivers_behind: closed.work.receivers_behind,
            workers_busy: closed.work.workers_busy,
        };
        self.windows += 1;
        let (lost, offered) = (seen.lost as f64, seen.offered() as f64);
        if lost > self.tuner.bound() * offered {
            match seen.loss() > self.tuner.bound() {
                true => self.windows_above += 1,
                false => self.windows_off_core += 1,
            }
        }
        let decision = self.tuner.window(&seen);
        self.apply(decision)
    }

    fn apply(&mut self, Decision { changes, settings, unmet }: Decision) -> Vec<Tuned> {
        let mut tuned = Vec::new();
        let mut began = None;
        if let Some(settings) = settings {
            for change in changes {
                // What could not be changed before is as it was.
                let from = self.settings.value(change.setting);
                match self.set(&change, &settings) {
                    Ok(window) => {
                        began = began.max(Some(window.number()));
                        let change = SettingChange { window: window.number(), from, ..change };
                        tuned.push(Tuned::Change(change.clone()));
                        self.changes.push(change);
                    }
                    Err(line) => tuned.push(Tuned::Warning(line)),
                }
            }
        }
        if self.changes.len() > MOST_CHANGES {
            let more = self.changes.len() - MOST_CHANGES;
            self.changes.drain(..more);
            self.changes_unlisted += more as u64;
        }
        began.into_iter().for_each(|window| self.tuner.began(window));
        if let Some(unmet) = unmet {
            self.unmet.push(unmet.clone());
            tuned.push(Tuned::Unmet(unmet));
        }
        tuned
    }

    /// Sets one of the settings, from the returned window on.
    fn set(&mut self, change: &SettingChange, settings: &KnobValues) -> Result<WindowId, String> {
        let setting = change.setting;
        match setting {
            KnobSetting::IdleTimeout => {
                self.settings.idle_divisor = settings.idle_divisor;
                let (timeout, whole_ns) =
                    self.handles.idle_timeout.as_ref().ok_or_else(|| absent(setting))?;
                timeout.set(whole_ns / u64::from(settings.idle_divisor));
                Ok(WindowId::new(change.window))
            }
            KnobSetting::Workers => {
                self.settings.workers = settings.workers;
                self.handles
                    .workers
                    .as_ref()
                    .map(|workers| workers.set(settings.workers))
                    .ok_or_else(|| absent(setting))
            }
            KnobSetting::Share => {
                let share = Share::from_ppm(settings.share_ppm.clamp(1, ALL_PPM)).unwrap_or(Share::ALL);
                self.settings.share_ppm = share.ppm();
                self.handles
                    .sampling
                    .as_ref()
                    .map(|sampling| sampling.set(share))
                    .ok_or_else(|| absent(setting))
            }
            KnobSetting::TaskMemory => {
                let retask = self.handles.retask.as_mut().ok_or_else(|| absent(setting))?;
                let window = retask
                    .retask(settings.memory_divisor)
                    .map_err(|error| format!("tasks keep the memory that they have: {error}"))?;
                self.settings.memory_divisor = settings.memory_divisor;
                Ok(window)
            }
        }
    }
}

fn absent(setting: KnobSetting) -> String {
    format!("{} cannot be set in this run", setting.name())
}
