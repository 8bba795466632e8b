//! The decision: a state machine that is given windows and returns settings.

use super::cost::Cost;
use super::knobs::{ALL_PPM, KnobRange, KnobSetting, KnobValues, Rung};
use super::report::{SettingChange, Unmet};
use super::seen::TuningObservation;

/// A window's frames may take this much of the time, as foretold, where settings are lowered.
const FULL: f64 = 0.8;
/// The part of the time that a window's frames may take, as foretold, where settings are raised: between [`FULL`] and this nothing changes.
const ROOM: f64 = 0.7;
/// The part of the time from which on, while load rises, settings are lowered before anything is lost.
const NEARLY: f64 = 0.9;
/// Load rises if it is this many times that of the window before.
const RISE: f64 = 1.04;
/// Loads that differ by less than this factor are the same one.
const SAME_LOAD: f64 = 1.15;
/// Windows without loss under the settings in force before these are raised.
const CALM: u32 = 2;
/// Windows without loss after which more is tried at the same load, at first and at most: each try that has to be taken back doubles it.
const WAITS: (u32, u32) = (16, 1024);
/// The load of threads below which, if no try had to be taken back, the next one comes after a quarter of the wait.
const IDLE: f64 = 0.5;
/// Windows without loss before a worker is taken out of use, at first.
const PARK_AFTER: u32 = 8;
/// Workers are put to use while the busiest is busier than this, and taken out of use where the others would be less busy than that.
const WORKERS_BUSY: (f64, f64) = (0.8, 0.5);
/// The tables are crowded where they hold this many times the flows that a window has.
const CROWDED: u64 = 2;
/// Less is lost than this, by threads that are less busy than that: once may be chance.
const CHANCE: (f64, f64) = (0.01, 0.7);
/// The traffic is another one if its flows, or its even flows, are this many times as many or as few.
const OTHER_TRAFFIC: f64 = 1.5;

/// The decision that follows from a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The settings that change, with the first window for which each change is meant.
    pub changes: Vec<SettingChange>,
    /// The settings from then on, if any changes.
    pub settings: Option<KnobValues>,
    /// The bound cannot be kept, or can be kept again.
    pub unmet: Option<Unmet>,
}

/// Settings in use from a window on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct InForce {
    from: u64,
    workers: usize,
    idle_divisor: u32,
    rung: usize,
}

/// Chooses settings so that a bound of loss is kept, with as much accuracy as that allows.
#[derive(Debug)]
pub struct Tuner {
    bound: f64,
    range: KnobRange,
    rungs: Vec<Rung>,
    /// The settings in force, the oldest first; at least one.
    in_force: Vec<InForce>,
    cost: Cost,
    /// Load that made frames be lost, by rung.
    failed_pps: Vec<f64>,
    /// Windows without loss since the settings in force began, or loss ended.
    calm: u32,
    /// Steps down that were not enough, in sequence.
    repeats: i32,
    wait: u32,
    park_after: u32,
    /// Load at which more was given last.
    tried_pps: Option<f64>,
    /// Load at which a worker was taken out of use last.
    parked_pps: Option<f64>,
    /// Load at which the idle timeout was made shorter.
    shortened_pps: f64,
    before: Option<TuningObservation>,
    /// True if what was lost in the window before may have been chance.
    was_chance: bool,
    is_unmet: bool,
    /// Load and flows by which `cost` was learnt.
    traffic: Option<(f64, f64)>,
}

impl Tuner {
    /// Begins with everything that the range has. `bound`: the share of the frames that may be lost.
    pub fn new(bound: f64, range: KnobRange) -> Self {
        let rungs = range.rungs();
        let whole = InForce { from: 0, workers: range.workers, idle_divisor: 1, rung: 0 };
        Self {
            bound,
            failed_pps: vec![f64::INFINITY; rungs.len()],
            rungs,
            range,
            in_force: vec![whole],
            cost: Cost::new(),
            calm: 0,
            repeats: 0,
            wait: WAITS.0,
            park_after: PARK_AFTER,
            tried_pps: None,
            parked_pps: None,
            shortened_pps: 0.0,
            before: None,
            was_chance: false,
            is_unmet: false,
            traffic: None,
        }
    }

    /// The bound, as a share.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns the settings by which the latest windows are to be measured.
    pub fn settings(&self) -> KnobValues {
        self.settings_of(self.latest())
    }

    fn settings_of(&self, InForce { workers, idle_divisor, rung, .. }: InForce) -> KnobValues {
        let Rung { memory_divisor, share_ppm } = self.rungs[rung];
        KnobValues { workers, idle_divisor, memory_divisor, share_ppm }
    }

    fn latest(&self) -> InForce {
        self.in_force[self.in_force.len() - 1]
    }

    /// Returns the settings by which this window was measured.
    fn at(&self, window: u64) -> InForce {
        let after = self.in_force.partition_point(|settings| settings.from <= window);
        self.in_force[after.saturating_sub(1)]
    }

    /// The settings that were decided last are in force from this window on, where that is not the one that they were meant for.
    pub fn began(&mut self, window: u64) {
        if let Some(last) = self.in_force.last_mut() {
            last.from = window;
        }
    }

    /// Decides by what a window tells, which follows those that were given before.
    pub fn window(&mut self, seen: &TuningObservation) -> Decision {
        let ran = self.at(seen.window);
        let is_latest = seen.window >= self.latest().from;
        let decision = if seen.loss() > self.bound {
            self.calm = 0;
            self.lossy(seen, ran, is_latest)
        } else {
            self.was_chance = false;
            self.quiet(seen, ran, is_latest)
        };
        self.before = Some(*seen);
        // Windows come in order: what was in force before this one is no longer asked for.
        let after = self.in_force.partition_point(|settings| settings.from <= seen.window);
        self.in_force.drain(..after.saturating_sub(1));
        decision
    }

    /// Decides after a window in which more was lost than the bound.
    fn lossy(&mut self, seen: &TuningObservation, ran: InForce, is_latest: bool) -> Decision {
        let (rare, idle) = CHANCE;
        if seen.loss() < rare && seen.busy() < idle && !self.was_chance {
            self.was_chance = true;
            return Decision::default();
        }
        let offered = seen.offered_pps();
        // The answer to the same loss is on its way.
        let is_known = |before: &TuningObservation| {
            offered < before.offered_pps() * RISE && seen.received_pps() * RISE > before.received_pps()
        };
        if !is_latest && self.before.as_ref().is_some_and(is_known) {
            return Decision::default();
        }
        self.take_back(offered);
        let is_same = self.is_same_traffic(seen);
        self.traffic = Some((seen.flows as f64, seen.even_flows));
        if !is_same {
            self.failed_pps.fill(f64::INFINITY);
        }
        let failed = &mut self.failed_pps[ran.rung];
        *failed = failed.min(offered);
        let mut next = self.latest();
        let mut gain = 1.0;
        // Workers that wait for nothing but packets cost no accuracy; where frames never came to a ring, they are no help.
        if self.range.varies_workers && 2 * seen.ring_full > seen.lost {
            next.workers = self.range.workers;
            gain = next.workers as f64 / ran.workers.max(1) as f64;
            if self.parked_pps.take().is_some_and(|parked| offered < parked * SAME_LOAD) {
                self.park_after = (2 * self.park_after).min(WAITS.1);
            }
        }
        // Flows that no packet of a window is of cost no answer anything: their records end.
        if next.idle_divisor < self.range.idle_divisor && seen.held > CROWDED * seen.flows {
            next.idle_divisor = self.range.idle_divisor;
            self.shortened_pps = offered;
        }
        // What takes nearly all frames is not full: frames were lost in bursts, and what a frame costs is not to be learnt from that.
        let is_rare = seen.loss() < rare;
        if seen.received != 0 && !is_rare {
            self.cost.learn(self.rungs[ran.rung], 1.0 / (seen.received_pps() * gain), is_same);
        }
        let full = FULL * FULL.powi(self.repeats);
        let is_fresh = next.workers != self.latest().workers;
        let wanted = match is_rare {
            true if is_fresh => next.rung,
            true => ran.rung + 1 + usize::try_from(self.repeats).unwrap_or(0),
            false => self.first_within(offered, full),
        };
        next.rung = match is_latest && !is_fresh {
            // These very settings lost.
            true => wanted.max(ran.rung + 1),
            // What is on its way is not taken back by what was before it.
            false => wanted.max(next.rung),
        };
        next.rung = next.rung.min(self.rungs.len() - 1);
        if is_latest {
            self.repeats += 1;
        }
        let lost = 100.0 * seen.loss();
        let (rate, came) = (mpps(offered), mpps(seen.received_pps()));
        if is_latest && next == ran {
            return self.unmet(seen, true);
        }
        let what = format!("{lost:.3} % of {rate} were lost, {came} were received");
        self.change(seen, next, |setting| match setting {
            KnobSetting::Workers => format!("{what}; workers that are not in use cost no accuracy"),
            KnobSetting::IdleTimeout => {
                format!("{what}; the tables hold {} flows, {} of which have packets", seen.held, seen.flows)
            }
            KnobSetting::TaskMemory => format!("{what}; smaller structures cost less a packet"),
            KnobSetting::Share => format!("{what}; what is left out costs less"),
        })
    }

    /// Decides after a window in which not more was lost than the bound.
    fn quiet(&mut self, seen: &TuningObservation, ran: InForce, is_latest: bool) -> Decision {
        let offered = seen.offered_pps();
        if offered > 0.0 {
            self.cost.learn_bound(self.rungs[ran.rung], 1.0 / offered);
        }
        if !is_latest {
            return Decision::default();
        }
        self.calm += 1;
        self.repeats = 0;
        if self.is_unmet {
            return self.unmet(seen, false);
        }
        // What was too much once may fit again.
        if self.calm >= self.wait {
            self.failed_pps[ran.rung] = f64::INFINITY;
        }
        let last = self.before.map_or(offered, |before| before.offered_pps());
        if offered > RISE * last
            && let Some(decision) = self.prevent_loss(seen, ran)
        {
            return decision;
        }
        if let Some(decision) = self.more_workers(seen, ran) {
            return decision;
        }
        if ran.rung != 0 {
            return self.raise(seen, ran, offered.max(last));
        }
        match self.longer_records(seen, ran) {
            Some(decision) => decision,
            None => self.fewer_workers(seen, ran),
        }
    }

    /// Lets records go on for their whole time again, with everything measured and less load than when they were made to end early.
    fn longer_records(&mut self, seen: &TuningObservation, ran: InForce) -> Option<Decision> {
        let offered = seen.offered_pps();
        if ran.idle_divisor == 1 || self.calm < PARK_AFTER || offered * SAME_LOAD > self.shortened_pps {
            return None;
        }
        self.calm = 0;
        let reason = format!("load has fallen to {}, and nothing is left out", mpps(offered));
        Some(self.change(seen, InForce { idle_divisor: 1, ..ran }, |_| reason.clone()))
    }

    /// Load rises towards what is known to be too much.
    fn prevent_loss(&mut self, seen: &TuningObservation, ran: InForce) -> Option<Decision> {
        let offered = seen.offered_pps();
        let taken = offered * self.cost.get(self.rungs[ran.rung])?;
        if taken < NEARLY || ran.rung + 1 == self.rungs.len() {
            return None;
        }
        self.take_back(offered);
        let next = InForce { rung: self.first_within(offered, FULL).max(ran.rung + 1), ..ran };
        let reason = format!(
            "load has risen to {}, which takes {:.0} % of what these settings can do",
            mpps(offered),
            100.0 * taken
        );
        self.calm = 0;
        Some(self.change(seen, next, |_| reason.clone()))
    }

    fn more_workers(&mut self, seen: &TuningObservation, ran: InForce) -> Option<Decision> {
        let busy = seen.workers_busy?;
        if !self.range.varies_workers || ran.workers >= self.range.workers || busy < WORKERS_BUSY.0 {
            return None;
        }
        let offered = seen.offered_pps();
        if self.parked_pps.take().is_some_and(|parked| offered < parked * SAME_LOAD) {
            self.park_after = (2 * self.park_after).min(WAITS.1);
        }
        let next = InForce { workers: ran.workers + 1, ..ran };
        self.calm = 0;
        Some(self.change(seen, next, |_| {
            format!("the busiest worker is busy for {:.0} % of the bursts", 100.0 * busy)
        }))
    }

    /// Takes one worker out of use, with everything measured, if the others suffice.
    fn fewer_workers(&mut self, seen: &TuningObservation, ran: InForce) -> Decision {
        let Some(busy) = seen.workers_busy.filter(|_| self.range.varies_workers && ran.workers > 1) else {
            return Decision::default();
        };
        let would_be = busy * ran.workers as f64 / (ran.workers - 1) as f64;
        if self.calm < self.park_after || would_be > WORKERS_BUSY.1 {
            return Decision::default();
        }
        self.parked_pps = Some(seen.offered_pps());
        self.calm = 0;
        let next = InForce { workers: ran.workers - 1, ..ran };
        self.change(seen, next, |_| {
            format!(
                "nothing is left out, and the busiest worker is busy for {:.0} % of the bursts: fewer will do",
                100.0 * busy
            )
        })
    }

    /// Gives accuracy back, where load leaves room or a try is due.
    fn raise(&mut self, seen: &TuningObservation, ran: InForce, peak: f64) -> Decision {
        let is_known = |rung: usize| peak * SAME_LOAD < self.failed_pps[rung];
        let within = self.first_within(peak, ROOM);
        let possible = (within..ran.rung).find(|rung| is_known(*rung));
        let is_eager = seen.busy() < IDLE && self.wait == WAITS.0 && is_known(ran.rung - 1);
        let wait = if is_eager { self.wait / 4 } else { self.wait };
        let rate = mpps(seen.offered_pps());
        let (next, reason) = match possible {
            Some(rung) if self.calm >= CALM => {
                let taken = peak * self.cost.get(self.rungs[rung]).unwrap_or(0.0);
                (rung, format!("{rate} leave room: they take {:.0} % of what this can do", 100.0 * taken))
            }
            _ if self.calm >= wait => {
                let calm = self.calm;
                (ran.rung - 1, format!("{calm} windows kept the bound at {rate}: one step more is tried"))
            }
            _ => return Decision::default(),
        };
        self.tried_pps = Some(peak);
        self.calm = 0;
        self.change(seen, InForce { rung: next, ..ran }, |_| reason.clone())
    }

    /// Delays the next try if more was given than this load allows; if load has grown since, that says nothing.
    fn take_back(&mut self, offered: f64) {
        if let Some(tried) = self.tried_pps.take() {
            self.wait = if offered < tried * SAME_LOAD { (2 * self.wait).min(WAITS.1) } else { WAITS.0 };
        }
    }

    /// The most accurate rung by which this load takes a share of the time at the most; the first one while nothing was learnt.
    fn first_within(&self, offered: f64, share: f64) -> usize {
        let fits = |rung: &Rung| self.cost.get(*rung).is_none_or(|seconds| offered * seconds <= share);
        self.rungs.iter().position(fits).unwrap_or(self.rungs.len() - 1)
    }

    fn is_same_traffic(&self, seen: &TuningObservation) -> bool {
        let Some((flows, even)) = self.traffic else { return true };
        let is_near = |a: f64, b: f64| {
            a.max(1.0) / b.max(1.0) < OTHER_TRAFFIC && b.max(1.0) / a.max(1.0) < OTHER_TRAFFIC
        };
        is_near(even, seen.even_flows) || is_near(flows, seen.flows as f64)
    }

    /// Changes to other settings from the next window but one on.
    fn change(
        &mut self,
        seen: &TuningObservation,
        next: InForce,
        reason: impl Fn(KnobSetting) -> String,
    ) -> Decision {
        let from = seen.window + 2;
        let (old, new) = (self.settings(), self.settings_of(next));
        let all =
            [KnobSetting::Workers, KnobSetting::IdleTimeout, KnobSetting::TaskMemory, KnobSetting::Share];
        let changes = all.into_iter().filter_map(|setting| {
            let (from_value, to) = (old.value(setting), new.value(setting));
            let change = SettingChange {
                window: from,
                at_ns: seen.end_ns,
                setting,
                from: from_value,
                to,
                reason: reason(setting),
            };
            (from_value != to).then_some(change)
        });
        let changes: Vec<_> = changes.collect();
        if changes.is_empty() {
            return Decision::default();
        }
        self.in_force.retain(|settings| settings.from < from);
        self.in_force.push(InForce { from, ..next });
        Decision { changes, settings: Some(new), unmet: None }
    }

    /// Decides where there is nothing more to give up, or loss is within the bound again.
    fn unmet(&mut self, seen: &TuningObservation, is_unmet: bool) -> Decision {
        if std::mem::replace(&mut self.is_unmet, is_unmet) == is_unmet {
            return Decision::default();
        }
        let (rate, share) =
            (mpps(seen.offered_pps()), f64::from(self.settings().share_ppm) / f64::from(ALL_PPM));
        let reason = match is_unmet {
            true if self.range.varies_share => {
                format!(
                    "{rate} are more than can be received even where {:.2} % of them are measured",
                    100.0 * share
                )
            }
            true => format!("{rate} are more than can be received, and no setting is left to give up"),
            false => format!("of {rate} no more is lost than the bound"),
        };
        let unmet =
            Unmet { window: seen.window, at_ns: seen.end_ns, loss: seen.loss(), is_over: !is_unmet, reason };
        Decision { unmet: Some(unmet), ..Decision::default() }
    }
}

/// A rate, as text.
fn mpps(pps: f64) -> String {
    match pps {
        pps if pps >= 1e6 => format!("{:.2} Mpps", pps / 1e6),
        pps if pps >= 1e3 => format!("{:.1} kpps", pps / 1e3),
        pps => format!("{pps:.0} pps"),
    }
}
