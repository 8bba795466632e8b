//! Receivers wait here for one another between windows, if flows are merged when a window closes: no worker counts in a
//! window before all receivers have left the earlier ones. Two sets of tables are enough then, one that is counted in and one
//! that is merged, however far the receivers are apart.

use crate::backoff::Backoff;
use crate::ids::{ReceiverId, WindowId};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A barrier at which receivers wait for one another between windows.
#[derive(Debug)]
pub(crate) struct WindowBarrier {
    places: Mutex<ReceiverWindows>,
}

#[derive(Debug)]
struct ReceiverWindows {
    /// The window that each receiver is in, or the first that it may still enter.
    at: Vec<WindowId>,
    /// The last window that any receiver was in.
    open: Option<WindowId>,
}

/// A receiver has ended.
const ENDED: WindowId = WindowId::MAX;

impl WindowBarrier {
    pub(crate) fn new(receivers: usize) -> Self {
        Self { places: Mutex::new(ReceiverWindows { at: vec![WindowId::default(); receivers], open: None }) }
    }

    /// The handle of a receiver; to be requested once for each. One of them will call `over` with the number
    /// of each window that is over: its workers have reported it then, and no worker counts. `comes` is
    /// called before this receiver waits to enter a window: it adds nothing more to the earlier ones.
    pub(crate) fn seat<'a>(
        &'a self,
        receiver: ReceiverId,
        comes: impl Fn(WindowId) + Send + 'a,
        over: impl Fn(WindowId) + Send + 'a,
    ) -> Seat<'a> {
        Seat { barrier: self, receiver, comes: Box::new(comes), over: Box::new(over) }
    }

    fn places(&self) -> MutexGuard<'_, ReceiverWindows> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A receiver's place; it is free when dropped.
pub(crate) struct Seat<'a> {
    barrier: &'a WindowBarrier,
    receiver: ReceiverId,
    comes: Box<dyn Fn(WindowId) + Send + 'a>,
    over: Box<dyn Fn(WindowId) + Send + 'a>,
}

impl fmt::Debug for Seat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}

impl Seat<'_> {
    /// Enters a window, and waits until the others have completed the earlier ones.
    pub(crate) fn enter(&self, window: WindowId) {
        (self.comes)(window);
        let mut backoff = Backoff::default();
        loop {
            let mut places = self.barrier.places();
            debug_assert!(window >= places.at[self.receiver.index()], "windows are entered in their order");
            places.at[self.receiver.index()] = window;
            if places.at.iter().all(|&at| at >= window) {
                if let Some(open) = places.open.filter(|&open| open != window) {
                    (self.over)(open);
                }
                places.open = Some(window);
                return;
            }
            drop(places);
            backoff.wait();
        }
    }

    /// Leaves a window: the receiver and its workers have completed it.
    pub(crate) fn leave(&self, window: WindowId) {
        self.barrier.places().at[self.receiver.index()] = window.next();
    }
}

/// Gives up the seat, also if the receiver fails: the others stop waiting for it.
impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut places = self.barrier.places();
        places.at[self.receiver.index()] = ENDED;
        if places.at.iter().all(|&at| at == ENDED)
            && let Some(open) = places.open.take()
        {
            (self.over)(open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn no_receiver_counts_before_those_before_are_done() {
        // Windows of each receiver; one ends at once, and one is alone at the end.
        let windows: [&[u64]; 4] = [&[1, 2, 5, 9, 10], &[2, 3, 4, 9], &[], &[1, 9, 11, 12]];
        let barrier = WindowBarrier::new(windows.len());
        let (said, heard) = channel();
        thread::scope(|scope| {
            for (receiver, windows) in windows.iter().enumerate() {
                let receiver = ReceiverId::new(receiver);
                let over = said.clone();
                let seat = barrier.seat(receiver, |_| (), move |window| over.send((window, true)).unwrap());
                let said = said.clone();
                scope.spawn(move || {
                    for window in windows.iter().copied().map(WindowId::new) {
                        seat.enter(window);
                        said.send((window, false)).unwrap();
                        seat.leave(window);
                    }
                });
            }
        });
        drop(said);
        // Each window is over once, in order, and after all that was counted in it.
        let said: Vec<_> = heard.into_iter().collect();
        assert!(said.is_sorted(), "{said:?}");
        let over: Vec<_> =
            said.iter().filter(|(_, is_over)| *is_over).map(|(window, _)| window.number()).collect();
        assert_eq!(over, [1, 2, 3, 4, 5, 9, 10, 11, 12]);
        assert_eq!(said.len() - over.len(), windows.concat().len());
    }

    #[test]
    fn a_receiver_that_fails_keeps_no_other_waiting() {
        let barrier = WindowBarrier::new(2);
        let seat = |receiver| barrier.seat(ReceiverId::new(receiver), |_| (), |_| ());
        let (failing, going_on) = (seat(0), seat(1));
        going_on.leave(WindowId::new(2));
        failing.enter(WindowId::new(3));
        thread::scope(|scope| {
            let failed = scope.spawn(move || {
                let _seat = failing;
                panic!("this receiver dies here");
            });
            assert!(failed.join().is_err());
        });
        going_on.enter(WindowId::new(7));
    }
}
