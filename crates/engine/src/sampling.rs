//! The share by which the packets of each window are sampled.
//!
//! As the set of tasks of a window, its share is a function of the window's number, so that all receivers agree on it, however far they
//! are apart. Receivers take the lock once a window.

use crate::ids::WindowId;
use flow::Share;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sets the share of packets that receivers hand over while packets flow (Alipourfard et al. 2015, section 4: a "tee" in the place of
/// the measurement). Cloning gives another handle to the same share.
#[derive(Clone, Debug)]
pub struct SamplingControl(Arc<Mutex<ShareSchedule>>);

#[derive(Debug)]
struct ShareSchedule {
    /// The latest window that a receiver has entered.
    entered: Option<WindowId>,
    /// Shares by the first window of each, in order. The first one is that of all windows before the second.
    shares: Vec<(WindowId, Share)>,
}

impl ShareSchedule {
    fn share(&self, window: WindowId) -> Share {
        let after = self.shares.partition_point(|(first, _)| *first <= window);
        self.shares[after.saturating_sub(1)].1
    }
}

impl SamplingControl {
    /// A run begins with this share.
    pub fn new(share: Share) -> Self {
        Self(Arc::new(Mutex::new(ShareSchedule {
            entered: None,
            shares: vec![(WindowId::default(), share)],
        })))
    }

    fn schedule(&self) -> MutexGuard<'_, ShareSchedule> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Packets are sampled by `share` from the returned window on, the first that no receiver has entered.
    pub fn set(&self, share: Share) -> WindowId {
        let mut schedule = self.schedule();
        let first = schedule.entered.map_or(WindowId::default(), WindowId::next);
        schedule.shares.retain(|(window, _)| *window < first);
        schedule.shares.push((first, share));
        first
    }

    /// The share of this window, as far as is known now.
    pub fn share(&self, window: WindowId) -> Share {
        self.schedule().share(window)
    }

    /// A receiver enters this window. Returns its share.
    pub(crate) fn enter(&self, window: WindowId) -> Share {
        let mut schedule = self.schedule();
        schedule.entered = schedule.entered.max(Some(window));
        schedule.share(window)
    }

    /// No receiver is in a window before this one.
    pub(crate) fn forget_before(&self, window: WindowId) {
        let mut schedule = self.schedule();
        let after = schedule.shares.partition_point(|(first, _)| *first <= window);
        schedule.shares.drain(..after.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_holds_from_the_first_window_that_is_not_entered() {
        let share = |percent: u32| Share::from_ppm(percent * 10_000).expect("a share");
        let sampling = SamplingControl::new(share(20));
        let of = |number| sampling.share(WindowId::new(number));
        assert_eq!(sampling.set(share(30)), WindowId::new(0));
        assert_eq!(sampling.enter(WindowId::new(7)), share(30));
        // Another receiver is still in an earlier window.
        assert_eq!(sampling.enter(WindowId::new(5)), share(30));
        assert_eq!(sampling.set(share(40)), WindowId::new(8));
        // Replaced before any window began with it.
        assert_eq!(sampling.clone().set(share(50)), WindowId::new(8));
        assert_eq!([of(0), of(7), of(8), of(99)], [30, 30, 50, 50].map(share));
        assert_eq!(sampling.enter(WindowId::new(8)), share(50));
        assert_eq!(sampling.set(share(60)), WindowId::new(9));
        sampling.forget_before(WindowId::new(8));
        assert_eq!([of(8), of(9)], [50, 60].map(share));
    }
}
