//! A thread with a network of its own, which stands for a host.

use crate::network::{leave_network, thread_number};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A host that works when its link is there. Its network, and its link, are there until it is dropped.
pub(super) struct Host<T> {
    number: i32,
    go: Sender<()>,
    result: Receiver<Result<T, String>>,
}

impl<T: Send + 'static> Host<T> {
    /// Starts a host, which waits for [`Host::go`].
    ///
    /// # Errors
    /// One line: it cannot have a network of its own.
    pub(super) fn start(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<Self, String> {
        let (tell, told) = channel();
        let (go, wait) = channel();
        let (done, result) = channel();
        thread::spawn(move || {
            let has_left = leave_network();
            let may_go_on = has_left.is_ok();
            let _ = tell.send(has_left.map(|()| thread_number()));
            // Where the device could not be made, the host is dropped and nothing comes.
            if may_go_on && wait.recv().is_ok() {
                let _ = done.send(work());
                // Until the host is dropped.
                let _ = wait.recv();
            }
        });
        let number = told.recv().map_err(|_| "a host ended".to_owned())??;
        Ok(Self { number, go, result })
    }

    /// The number by which `ip` finds its network.
    pub(super) fn number(&self) -> i32 {
        self.number
    }

    /// Lets it begin.
    pub(super) fn go(&self) {
        // One that ended has a result that says so.
        let _ = self.go.send(());
    }

    /// Waits for the end of its work.
    pub(super) fn result(&self) -> Result<T, String> {
        self.result.recv().unwrap_or_else(|_| Err("a host failed".to_owned()))
    }
}
