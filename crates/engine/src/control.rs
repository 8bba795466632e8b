//! Which task set answers which window: sets are installed and removed between windows while packets flow.
//!
//! The set of a window is a function of the window's number, so that the receivers and the merger of their
//! windows agree on it, however far the receivers are apart. A receiver takes the lock once a window; a packet never does.

use crate::ids::WindowId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use task::TaskSet;

/// Installs task sets in a run. Cloning gives another handle to the same run.
#[derive(Clone, Debug)]
pub struct Control {
    schedule: Arc<Mutex<Schedule>>,
}

#[derive(Debug)]
struct Schedule {
    /// The latest window that a receiver has entered.
    entered: Option<WindowId>,
    /// Sets by the first window that each answers, in order. The first one answers all windows before the second.
    sets: Vec<(WindowId, Arc<TaskSet>)>,
}

impl Control {
    /// A run begins with this set.
    pub fn new(first: Arc<TaskSet>) -> Self {
        let schedule = Schedule { entered: None, sets: vec![(WindowId::default(), first)] };
        Self { schedule: Arc::new(Mutex::new(schedule)) }
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `set` answer from the returned window on, the first that no receiver has entered. Windows before it are answered by the
    /// sets that they began with. A set that replaces another one must be of another generation.
    pub fn install(&self, set: Arc<TaskSet>) -> WindowId {
        let mut schedule = self.schedule();
        let first = schedule.entered.map_or(WindowId::default(), WindowId::next);
        // A set that no window was entered with answers none.
        schedule.sets.retain(|(window, _)| *window < first);
        schedule.sets.push((first, set));
        first
    }

    /// A receiver enters this window.
    pub(crate) fn enter(&self, window: WindowId) {
        let mut schedule = self.schedule();
        schedule.entered = schedule.entered.max(Some(window));
    }

    /// The set that answers this window.
    pub fn set(&self, window: WindowId) -> Arc<TaskSet> {
        let schedule = self.schedule();
        let after = schedule.sets.partition_point(|(first, _)| *first <= window);
        Arc::clone(&schedule.sets[after.saturating_sub(1)].1)
    }

    /// No window before this one is asked about any more.
    pub(crate) fn forget_before(&self, window: WindowId) {
        let mut schedule = self.schedule();
        let after = schedule.sets.partition_point(|(first, _)| *first <= window);
        schedule.sets.drain(..after.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{KeySpec, Seed};
    use summary::Limits;
    use task::Generation;
    use task::rows::Site;

    fn set(number: u64) -> Arc<TaskSet> {
        let site = Site {
            key: KeySpec::FIVE_TUPLE,
            tracks_loss: false,
            seed: Seed::new(1),
            limits: Limits::new(1 << 20, 1),
        };
        Arc::new(TaskSet::plan(Generation::new(number), &[], None, &site).expect("no query is wrong"))
    }

    #[test]
    fn a_set_answers_from_the_first_window_that_is_not_entered() {
        let control = Control::new(set(0));
        let of = |window| control.set(WindowId::new(window)).generation();
        // Nothing has begun: the new set answers everything.
        assert_eq!(control.install(set(1)), WindowId::new(0));
        assert_eq!(of(0), Generation::new(1));
        control.enter(WindowId::new(7));
        control.enter(WindowId::new(5));
        assert_eq!(control.install(set(2)), WindowId::new(8));
        assert_eq!([of(0), of(7), of(8), of(100)], [1, 1, 2, 2].map(Generation::new));
        // Replaced before any window began with it.
        assert_eq!(control.install(set(3)), WindowId::new(8));
        assert_eq!([of(7), of(8)], [1, 3].map(Generation::new));
        control.enter(WindowId::new(8));
        assert_eq!(control.install(set(4)), WindowId::new(9));
        control.forget_before(WindowId::new(8));
        assert_eq!([of(8), of(9)], [3, 4].map(Generation::new));
    }
}
