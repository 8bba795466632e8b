//! Files that are complete and that the manifest does not name yet: the disk is waited for once for all of them.

use crate::Level;
use crate::begun::{Begun, FileProperties};
use crate::clock::now_ns;
use crate::watched::{Ledger, MeasurementKind, Unstored};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The shortest time between two waits for the disk.
const EVERY: Duration = Duration::from_secs(1);

/// A group of what waits to be named.
#[derive(Debug, Default)]
pub(crate) struct CommitGroup {
    pub(crate) files: Vec<PendingFile>,
    /// The times until which nodes are committed once these files are.
    pub(crate) progress: BTreeMap<String, u64>,
    pub(crate) ledgers: BTreeMap<String, Ledger>,
    pub(crate) flushed: Option<Instant>,
    /// True if there is something that the manifest does not have.
    pub(crate) is_changed: bool,
}

/// A file that waits.
#[derive(Debug)]
pub(crate) struct PendingFile {
    pub(crate) begun: Begun,
    pub(crate) complete: FileProperties,
    /// The time of its windows that was watched.
    pub(crate) watched: Vec<[u64; 2]>,
    pub(crate) bytes: u64,
}

impl CommitGroup {
    /// Begins a run of a node, which has this number.
    pub(crate) fn begin(&mut self, node: &str, by: MeasurementKind, source: Option<&str>, number: u64) {
        let mut ledger = Ledger::new(node, by);
        ledger.begin(source, now_ns(), number);
        self.ledgers.insert(node.to_owned(), ledger);
        self.is_changed = true;
    }

    /// Takes the files that are named next. Records of a recording that end behind what is known to be watched wait, unless `all` are taken: a run
    /// that is killed would have stored more than it says.
    pub(crate) fn take_files(&mut self, all: bool) -> Vec<PendingFile> {
        let files = std::mem::take(&mut self.files);
        let watched = |node: &str| {
            let of_node = files.iter().filter(|file| file.begun.node() == node);
            of_node.flat_map(|file| &file.watched).map(|[_, end]| *end).max().unwrap_or(0)
        };
        let read = self.ledgers.iter().filter_map(|(node, ledger)| Some((node, ledger.read_until()?)));
        let until: BTreeMap<String, u64> =
            read.map(|(node, until)| (node.clone(), until.max(watched(node)))).collect();
        let is_early = |file: &PendingFile| {
            let until = until.get(file.begun.node());
            file.begun.level() == Level::Flows && until.is_some_and(|until| file.complete.last_ns >= *until)
        };
        let (early, files) = files.into_iter().partition(|file| !all && is_early(file));
        self.files = early;
        files
    }

    /// Takes note that all that was measured of a node before this time is in files that were added.
    pub(crate) fn reach(&mut self, node: &str, until_ns: u64) {
        self.progress.insert(node.to_owned(), until_ns);
        self.is_changed = true;
    }

    /// Ends the run of a node; nothing of it follows for this reason.
    pub(crate) fn end(&mut self, node: &str, why: Unstored) {
        let clock_ns = now_ns();
        self.ledgers.get_mut(node).into_iter().for_each(|ledger| ledger.end(clock_ns, why));
        self.is_changed = true;
    }

    /// Returns true if the disk may be waited for again.
    pub(crate) fn is_due(&self) -> bool {
        self.is_changed && self.flushed.is_none_or(|flushed| flushed.elapsed() >= EVERY)
    }
}
