//! The thread that looks after a spool: it writes its file, where there is one, and shortens results where there is little room. Neither
//! what measures nor what sends waits for that.

use super::broker::BrokerError;
use super::outbox::ProbeOutbox;
use super::probe_state::ProbeState;
use super::shortening::shortened;
use super::spool_log::Log;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time until what is written is there for good.
const GROUP: Duration = Duration::from_millis(100);
/// The time after which a file that took nothing is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// The longest time that the end of a probe waits for the disk.
const END: Duration = Duration::from_secs(5);

/// The thread, until it is dropped. It writes then what is not written yet.
#[derive(Debug)]
pub(super) struct SpoolWriter {
    shared: Arc<ProbeState>,
    is_closing: Arc<AtomicBool>,
    ended: Mutex<Receiver<()>>,
}

impl SpoolWriter {
    pub(super) fn start(shared: &Arc<ProbeState>, log: Option<Log>) -> Result<Self, BrokerError> {
        let is_closing = Arc::new(AtomicBool::new(false));
        let (end, ended) = channel();
        let mut work = SpoolThread {
            shared: Arc::clone(shared),
            is_closing: Arc::clone(&is_closing),
            log,
            unsynced: None,
            retry: Instant::now() + RETRY,
            shrink: None,
        };
        let run = move || {
            work.run();
            // The lock first: who waits may open the file.
            drop(work);
            let _ = end.send(());
        };
        let thread = std::thread::Builder::new().name("spool".to_owned()).spawn(run);
        thread.map_err(|error| BrokerError::Thread(error.to_string()))?;
        Ok(Self { shared: Arc::clone(shared), is_closing, ended: Mutex::new(ended) })
    }
}

impl Drop for SpoolWriter {
    fn drop(&mut self) {
        {
            let _outbox = self.shared.outbox();
            self.is_closing.store(true, Relaxed);
            self.shared.unwritten.notify_all();
        }
        // A disk that does not answer is not waited for: the thread ends with the process.
        let _ = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(END);
    }
}

struct SpoolThread {
    shared: Arc<ProbeState>,
    is_closing: Arc<AtomicBool>,
    log: Option<Log>,
    /// The time since which something is written that may be lost with the machine.
    unsynced: Option<Instant>,
    /// The time at which a file that takes nothing is tried again.
    retry: Instant,
    /// The time at which a file that could not be written anew is tried again; it takes what it is told.
    shrink: Option<Instant>,
}

impl SpoolThread {
    fn run(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut bytes = Vec::new();
        loop {
            let mut outbox = self.wait(shared.outbox());
            let is_over = self.is_closing.load(Relaxed);
            if !is_over
                && outbox.is_to_shorten()
                && let Some((place, body)) = outbox.take_long()
            {
                drop(outbox);
                let short = shortened(&body);
                outbox = shared.outbox();
                short.into_iter().for_each(|short| outbox.shorten(place, short));
            }
            let Some(log) = self.log.as_mut().filter(|_| outbox.is_file_working()) else {
                if is_over {
                    return;
                }
                if self.retry <= Instant::now() {
                    self.rewrite(outbox);
                }
                continue;
            };
            if outbox.is_unwritten() {
                let batch = outbox.take_batch();
                drop(outbox);
                bytes.clear();
                batch.write(&mut bytes);
                let written = log.append(&bytes);
                // A window of many megabytes does not stay in memory twice.
                bytes.shrink_to(1 << 20);
                match written {
                    Ok(()) => {
                        self.unsynced.get_or_insert_with(Instant::now);
                        shared.outbox().has_written(&batch);
                        // Messages may go now.
                        shared.wake.notify_one();
                    }
                    Err(error) => self.fail(&error, batch.messages.len()),
                }
            } else if is_over && self.unsynced.is_none() {
                return;
            } else {
                drop(outbox);
            }
            self.sync(is_over);
            let outbox = shared.outbox();
            if outbox.is_file_working() && self.is_to_shrink(&outbox) {
                self.rewrite(outbox);
            }
        }
    }

    /// Waits until there is something to do.
    fn wait<'a>(&self, mut outbox: MutexGuard<'a, ProbeOutbox>) -> MutexGuard<'a, ProbeOutbox> {
        loop {
            let is_working = outbox.is_file_working();
            let due = match is_working {
                true => self.unsynced.map(|since| since + GROUP),
                false => self.log.as_ref().map(|_| self.retry),
            };
            let left = due.map_or(RETRY, |due| due.saturating_duration_since(Instant::now()));
            let is_work = outbox.is_to_shorten() || (is_working && outbox.is_unwritten());
            if is_work || left.is_zero() || self.is_closing.load(Relaxed) {
                return outbox;
            }
            let waited = self.shared.unwritten.wait_timeout(outbox, left);
            outbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Makes what is written outlast the machine, if it is time.
    fn sync(&mut self, is_over: bool) {
        if !self.unsynced.is_some_and(|since| is_over || since.elapsed() >= GROUP) {
            return;
        }
        self.unsynced = None;
        match self.log.as_mut().map_or(Ok(()), Log::sync) {
            Ok(()) => {
                self.shared.outbox().has_synced();
                self.shared.confirmed.notify_all();
            }
            Err(error) => self.fail(&error, 0),
        }
    }

    /// Returns true if the file is to be written anew because it has become large: best where it is told nothing meanwhile.
    fn is_to_shrink(&self, outbox: &ProbeOutbox) -> bool {
        let most = Log::rewrite_threshold(outbox.bytes());
        let most = if outbox.is_unwritten() { 2 * most } else { most };
        let is_large = self.log.as_ref().is_some_and(|log| log.length() > most);
        is_large && self.shrink.is_none_or(|at| at <= Instant::now())
    }

    /// Writes the file anew.
    fn rewrite(&mut self, mut outbox: MutexGuard<'_, ProbeOutbox>) {
        let Some(log) = &mut self.log else { return };
        let was_working = outbox.is_file_working();
        let is_whole = was_working && !outbox.is_unwritten();
        let is_huge = log.length() > 4 * Log::rewrite_threshold(outbox.bytes());
        let (messages, totals) = outbox.take_all();
        drop(outbox);
        if messages.is_empty() && !was_working {
            log.give_up();
        }
        match log.rewrite(&messages, totals) {
            Ok(()) => {
                (self.unsynced, self.shrink) = (None, None);
                self.shared.outbox().has_rewritten();
                self.shared.confirmed.notify_all();
                self.shared.wake.notify_one();
            }
            // All is in the file that is there.
            Err(_) if is_whole && !is_huge => {
                self.shrink = Some(Instant::now() + RETRY);
                self.unsynced = Some(Instant::now());
            }
            Err(error) => self.fail(&error, 0),
        }
    }

    /// The spool goes on in memory.
    fn fail(&mut self, error: &io::Error, count: usize) {
        self.unsynced = None;
        self.retry = Instant::now() + RETRY;
        self.shared.outbox().has_failed(error.to_string(), count);
        self.shared.wake.notify_one();
    }
}
