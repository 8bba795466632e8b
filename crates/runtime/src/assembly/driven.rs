//! Nodes in threads of their own, and the controller that drives them.

use crate::exit::{Failure, no_thread};
use controller::{Controller, OutputSink};
use protocol::memory::MemoryControllerLink;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Ends the nodes where the thread that drives them fails.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// Drives the controller until all nodes have ended. Returns what each of them did.
///
/// # Errors
/// A node failed, or its thread did.
pub fn drive<T: Send>(
    controller: &mut Controller,
    link: &MemoryControllerLink,
    outlet: &mut dyn OutputSink,
    nodes: impl Iterator<Item = impl FnOnce() -> Result<T, Failure> + Send>,
    stop: &AtomicBool,
) -> Result<Vec<T>, Failure> {
    thread::scope(|scope| {
        let start =
            |(number, work)| thread::Builder::new().name(format!("node{number}")).spawn_scoped(scope, work);
        let threads: Vec<_> = nodes.enumerate().map(start).collect();
        // Whatever ends this thread, no node waits for it.
        let _ends = StopOnPanic(stop);
        controller::drive(controller, link, outlet);
        let joined = threads.into_iter().map(|thread| {
            let thread = thread.map_err(no_thread)?;
            thread.join().unwrap_or_else(|_| Err(Failure::fault("the thread of a node failed")))
        });
        joined.collect()
    })
}
