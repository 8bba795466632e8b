//! A store that is written.

use crate::budget::Budget;
use crate::feed::{FeedChannel, RecordFeed, RowFeed};
use crate::message::WriterMessage;
use crate::schema::MANIFEST;
use crate::shared::StoreState;
use crate::{
    Level, Manifest, NodeSetting, StoreCounts, StoreRetention, fault, retention, sweep, upkeep, writing,
};
use record::RecordWriter;
use rustix::fs::statvfs;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The largest size where none is given.
const MOST: u64 = 100_000_000_000;

/// A store that is written, by threads of its own: one writes what is measured, and one makes rollups, compacts, and drops what is old.
pub struct StoreWriter {
    shared: Arc<StoreState>,
    budget: Arc<Budget>,
    /// The open store; `None` once it is closed.
    open: Mutex<Option<WriterThreads>>,
}

struct WriterThreads {
    sender: Sender<WriterMessage>,
    nodes: usize,
    threads: [JoinHandle<()>; 2],
}

impl StoreWriter {
    /// Bytes that wait to be written at the most, unless there is little memory.
    pub const QUEUE_BYTES: usize = 64 << 20;

    /// Opens the store in a folder, or begins one there. What a killed writer left is removed. `queue`: the bytes that wait to be written at the
    /// most.
    ///
    /// # Errors
    /// Returns one line if another process writes the store, it is something else, or it cannot be written.
    pub fn open(folder: &Path, keep: StoreRetention, queue: usize) -> Result<Self, String> {
        let manifest = Manifest::open(folder)?;
        let file_system = || {
            let space = statvfs(folder).map_err(|error| fault::describe_path_error(folder, &error.into()))?;
            Ok::<u64, String>((space.f_blocks.saturating_mul(space.f_frsize) / 2).min(MOST))
        };
        let size = keep.size.map_or_else(file_system, Ok)?;
        let shared = Arc::new(StoreState::new(manifest, keep, size));
        sweep::sweep(&shared)?;
        retention::hold_size(&shared);
        let budget = Arc::new(Budget::new(queue));
        let (sender, messages) = channel();
        let begin = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
            thread.map_err(|error| format!("cannot start a thread: {error}"))
        };
        let writer = {
            let (shared, budget) = (Arc::clone(&shared), Arc::clone(&budget));
            begin(
                "store",
                Box::new(move || {
                    let _closing = BudgetGuard(&budget);
                    writing::run(&shared, &budget, &messages);
                }),
            )?
        };
        let keeper = {
            let shared = Arc::clone(&shared);
            begin("store-upkeep", Box::new(move || upkeep::run(&shared)))?
        };
        let open = Mutex::new(Some(WriterThreads { sender, nodes: 0, threads: [writer, keeper] }));
        Ok(Self { shared, budget, open })
    }

    /// Returns true if a store has begun in a folder.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(MANIFEST).is_file()
    }

    /// Adds a node. Returns the feeds by which it hands over its rows and, if they are stored, its records.
    pub fn node(&self, setting: NodeSetting) -> (RowFeed, Option<Box<dyn RecordWriter>>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, node) = match &mut *open {
            Some(open) => {
                open.nodes += 1;
                (open.sender.clone(), open.nodes - 1)
            }
            // What is handed to a closed store is counted as not taken.
            None => (channel().0, 0),
        };
        let waits = setting.waits;
        // If the thread has failed, nothing is taken.
        let _ = sender.send(WriterMessage::Node(Box::new(setting)));
        let way = FeedChannel {
            shared: Arc::clone(&self.shared),
            budget: Arc::clone(&self.budget),
            sender,
            node,
            waits,
        };
        let keeps_flows = self.shared.keep.age(Level::Flows).is_some();
        let records = keeps_flows.then(|| {
            let refused_before = self.shared.tally.flows.read().refused;
            Box::new(RecordFeed { way: way.clone(), behind: 0, refused_before }) as Box<dyn RecordWriter>
        });
        (RowFeed(way), records)
    }

    /// Returns the folder of the store.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Returns the greatest size of all files, bytes.
    pub fn size(&self) -> u64 {
        self.shared.size
    }

    /// Returns the counts of what was stored so far, and of what was not.
    pub fn counts(&self) -> StoreCounts {
        self.shared.counts()
    }

    /// Returns what is to be reported, one line each; every line is returned once.
    pub fn remarks(&self) -> Vec<String> {
        self.shared.remarks()
    }

    /// Ends the store's threads; feeds are finished before. `is_quick`: rollups and compaction that are under way wait until the next start;
    /// else all are made that can be.
    pub fn close(&self, is_quick: bool) -> StoreCounts {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(WriterThreads { sender, threads: [writer, keeper], .. }) = open {
            // If the thread has failed, it has ended.
            let _ = sender.send(WriterMessage::End);
            let is_written = writer.join().is_ok();
            if is_quick {
                self.shared.stop();
            }
            self.shared.end();
            let is_kept = keeper.join().is_ok();
            if !(is_written && is_kept) {
                self.shared.remark(format!("a thread of the store {} failed", self.shared.folder.display()));
            }
            self.shared.manifest().close();
        }
        self.counts()
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.close(true);
    }
}

/// A guard that closes the budget: nothing is taken any more once the thread has ended, however it did.
struct BudgetGuard<'a>(&'a Budget);

impl Drop for BudgetGuard<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
