//! The window rows of a store as an outbox.
//!
//! Segments are taken in the order in which they were written, whatever windows they have: a node that starts again within a window, or whose
//! clock was set back, adds to windows that were delivered before. Of the file that takes the place of an hour's segments, the windows after the
//! last one that was delivered are taken. If the hour then has more rows than were delivered, some came late and were merged before it was
//! their turn: all of the hour is delivered again, and the identifiers tell what came twice.

use crate::message::Message;
use crate::row_progress::{DeliveryProgress, group_of, read, write};
use crate::rows::{self, WindowMessageRange, parts_of};
use crate::{MessageBatch, Outbox};
use record::read::FlowFile;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use store::{Catalog, Level, StoredFile};

/// The file in the store's folder that says how far rows were delivered.
const STATE: &str = "kafka-rows.json";
/// Messages of a batch, about.
const MOST: usize = 50;

/// A file some of whose windows are to be delivered.
struct FileDelivery {
    chosen: Chosen,
    open: FlowFile,
    /// The windows that are left, and their rows.
    windows: BTreeMap<u64, u64>,
    /// Messages of the first of them that were delivered.
    delivered_parts: usize,
    /// The state once the batch is delivered: the begin of the last whole window in it, and the number of delivered messages of the window after
    /// it.
    given: (Option<u64>, usize),
}

/// A file that is next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chosen {
    file: StoredFile,
    /// The begin of the last of its windows that was delivered.
    after_ns: Option<u64>,
    /// All of it was delivered before, but for some rows that are not known.
    is_again: bool,
    /// The rows of its hour that are delivered once it is.
    needed: u64,
}

/// A file that was listed.
#[derive(Clone, Debug)]
struct ListedFile {
    /// The node, and what becomes one file with it.
    of: (String, String),
    rows: u64,
    is_compacted: bool,
}

/// The window rows of a store.
pub struct StoredRows {
    folder: PathBuf,
    catalog: Option<Catalog>,
    progress: Option<BTreeMap<String, DeliveryProgress>>,
    work: Option<FileDelivery>,
    /// Files that cannot be read.
    damaged: BTreeSet<u64>,
    /// The files as they were listed last, by number.
    listed: BTreeMap<u64, ListedFile>,
    lost: Vec<(&'static str, u64)>,
}

impl StoredRows {
    /// Continues where the store's folder says; without a word there, all that the store has is delivered.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            catalog: None,
            progress: None,
            work: None,
            damaged: BTreeSet::new(),
            listed: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    fn progress(&mut self) -> Result<&mut BTreeMap<String, DeliveryProgress>, String> {
        if self.progress.is_none() {
            self.progress = Some(read(&self.folder.join(STATE))?);
        }
        Ok(self.progress.get_or_insert_default())
    }

    fn files(&mut self) -> Result<Vec<StoredFile>, String> {
        // A run makes its store when all else is ready.
        if self.catalog.is_none() {
            self.catalog = Catalog::begun(&self.folder)?;
        }
        let Some(catalog) = &self.catalog else { return Ok(Vec::new()) };
        catalog.files(Level::Rows, None)
    }

    /// The file that is next.
    fn next_file(&mut self) -> Result<Option<Chosen>, String> {
        let mut files = self.files()?;
        let dropped = self.notice_dropped(&files)?;
        self.lost.extend((dropped != 0).then_some(("dropped", dropped)));
        files.retain(|file| !self.damaged.contains(&file.number));
        let progress = self.progress()?;
        let nodes: BTreeSet<&str> = files.iter().map(|file| file.node.as_str()).collect();
        let usual = DeliveryProgress::default();
        let of_node = |node: &str| {
            let own: Vec<&StoredFile> = files.iter().filter(|file| file.node == node).collect();
            next_of_node(progress.get(node).unwrap_or(&usual), &own)
        };
        Ok(nodes.into_iter().find_map(of_node))
    }

    /// The messages of rows that are gone and were not delivered. What was merged into another file is not gone, and the file that is under
    /// way is open.
    fn notice_dropped(&mut self, files: &[StoredFile]) -> Result<u64, String> {
        let of = |file: &StoredFile| (file.node.clone(), group_of(file));
        let listed = files.iter().map(|file| {
            (file.number, ListedFile { of: of(file), rows: file.rows, is_compacted: file.is_compacted })
        });
        let listed: BTreeMap<u64, ListedFile> = listed.collect();
        self.progress()?;
        let before = std::mem::replace(&mut self.listed, listed);
        let progress = self.progress.get_or_insert_default();
        let is_new = |(number, file): &(&u64, &ListedFile)| file.is_compacted && !before.contains_key(number);
        let merged: BTreeSet<_> =
            self.listed.iter().filter(is_new).map(|(_, file)| file.of.clone()).collect();
        let open = self.work.as_ref().map(|work| work.chosen.file.number);
        let mut dropped = 0;
        for (number, file) in &before {
            let is_there = self.listed.contains_key(number) || merged.contains(&file.of);
            if is_there || open == Some(*number) || self.damaged.contains(number) {
                continue;
            }
            let (node, group) = &file.of;
            let Some(of) = progress.get_mut(node) else {
                dropped += parts_of(file.rows) as u64;
                continue;
            };
            let whole = of.segments.iter().filter_map(|number| before.get(number));
            let whole: u64 = whole.filter(|other| other.of == file.of).map(|other| other.rows).sum();
            let delivered = of.delivered.get_mut(group);
            let of_group = delivered.as_ref().map_or(0, |rows| **rows);
            let own = match (of.segments.contains(number), file.is_compacted) {
                (true, _) => file.rows,
                (false, true) => of_group.min(file.rows),
                (false, false) if of.current.is_some_and(|(current, _)| current == *number) => {
                    of_group.saturating_sub(whole).min(file.rows)
                }
                (false, false) => 0,
            };
            dropped += parts_of(file.rows - own) as u64;
            // Of the hour's rows that are left, none of these was delivered.
            delivered.into_iter().for_each(|rows| *rows = rows.saturating_sub(own));
        }
        for (node, of) in progress {
            of.segments.retain(|number| self.listed.contains_key(number));
            of.delivered.retain(|group, _| {
                self.listed.values().any(|file| file.of.0 == *node && file.of.1 == *group)
            });
        }
        Ok(dropped)
    }

    /// Opens the next file that has windows to deliver. What cannot be read is counted.
    fn begin(&mut self) -> Result<bool, String> {
        while let Some(chosen) = self.next_file()? {
            let file = &chosen.file;
            let opened = FlowFile::open(&file.path).and_then(|mut open| {
                let windows = rows::windows(&mut open, chosen.after_ns)?;
                Ok((open, windows))
            });
            match opened {
                Ok((_, windows)) if windows.is_empty() => self.done(&chosen),
                Ok((open, windows)) => {
                    self.work =
                        Some(FileDelivery { chosen, open, windows, delivered_parts: 0, given: (None, 0) });
                    return Ok(true);
                }
                Err(_) => {
                    let file = chosen.file;
                    // One that was replaced, or dropped, since it was listed, is not listed any more.
                    if self.files()?.iter().any(|listed| listed.number == file.number) {
                        self.give_up(&file)?;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Gives up a file that is damaged or has been removed by another program.
    ///
    /// # Errors
    /// The disk or the system is why it cannot be read: that may pass.
    fn give_up(&mut self, file: &StoredFile) -> Result<(), String> {
        let read = File::open(&file.path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
        match read {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(format!("{}: {error}", file.path.display()));
            }
            _ => {}
        }
        self.damaged.insert(file.number);
        self.lost.push(("damaged", parts_of(file.rows) as u64));
        Ok(())
    }

    /// Notes that all of a file was delivered.
    fn done(&mut self, chosen: &Chosen) {
        let file = &chosen.file;
        let of = self.progress.get_or_insert_default().entry(file.node.clone()).or_default();
        of.after_ns = of.after_ns.max(Some(file.last_ns));
        if !file.is_compacted {
            of.segments.insert(file.number);
            of.current = None;
        } else if chosen.is_again || chosen.after_ns.is_none() {
            of.delivered.insert(group_of(file), chosen.needed);
        }
    }

    /// Notes that windows of the file that is under way were delivered, up to one.
    fn advance(&mut self, until: u64) -> Result<(), String> {
        self.progress()?;
        let (Some(work), Some(progress)) = (&mut self.work, &mut self.progress) else { return Ok(()) };
        let left = work.windows.split_off(&until.saturating_add(1));
        let rows: u64 = std::mem::replace(&mut work.windows, left).values().sum();
        let chosen = work.chosen.clone();
        let is_done = work.windows.is_empty();
        let of = progress.entry(chosen.file.node.clone()).or_default();
        if !chosen.is_again {
            of.after_ns = of.after_ns.max(Some(until));
            *of.delivered.entry(group_of(&chosen.file)).or_default() += rows;
        }
        if !chosen.file.is_compacted {
            of.current = Some((chosen.file.number, until));
        }
        if is_done {
            self.done(&chosen);
        }
        write(&self.folder.join(STATE), self.progress.get_or_insert_default())?;
        if is_done {
            self.work = None;
        }
        Ok(())
    }
}

/// The next file of a node.
fn next_of_node(of: &DeliveryProgress, files: &[&StoredFile]) -> Option<Chosen> {
    let segment = files.iter().filter(|file| !file.is_compacted && !of.segments.contains(&file.number));
    let segment = segment.min_by_key(|file| file.number).map(|file| {
        let current = of.current.filter(|(number, _)| *number == file.number);
        let after_ns = current.map(|(_, window)| window);
        Chosen { file: (*file).clone(), after_ns, is_again: false, needed: 0 }
    });
    // One that is under way is finished first.
    if segment.as_ref().is_some_and(|segment| segment.after_ns.is_some()) {
        return segment;
    }
    let needed = |file: &StoredFile| -> u64 {
        let group = group_of(file);
        let is_due = |other: &&&StoredFile| other.is_compacted || of.segments.contains(&other.number);
        let of_group = files.iter().filter(is_due).filter(|other| group_of(other) == group);
        of_group.map(|other| other.rows).sum()
    };
    let merged = files.iter().filter(|file| file.is_compacted).map(|file| (file, needed(file)));
    let is_open = |(file, needed): &(&&StoredFile, u64)| {
        of.delivered.get(&group_of(file)).copied().unwrap_or(0) < *needed
    };
    let merged = merged.filter(is_open).min_by_key(|(file, _)| (file.first_ns, file.number));
    let merged = merged.map(|(file, needed)| {
        let is_again = of.after_ns.is_some_and(|after| file.last_ns <= after);
        let after_ns = of.after_ns.filter(|after| !is_again && *after >= file.first_ns);
        Chosen { file: (*file).clone(), after_ns, is_again, needed }
    });
    match (merged, segment) {
        (Some(merged), Some(segment)) if segment.file.first_ns < merged.file.first_ns => Some(segment),
        (Some(merged), _) => Some(merged),
        (None, segment) => segment,
    }
}

/// The shares of the next windows that make a batch, and what is delivered with them: whole windows up to one, and parts of the one after
/// it.
fn plan(
    windows: &BTreeMap<u64, u64>,
    delivered_parts: usize,
) -> (Vec<WindowMessageRange>, (Option<u64>, usize)) {
    let (mut shares, mut count) = (Vec::new(), 0);
    let mut given = (None, 0);
    let mut from = delivered_parts;
    for (start_ns, rows) in windows {
        let parts = parts_of(*rows);
        let to = parts.min(from + (MOST - count));
        shares.push(WindowMessageRange { start_ns: *start_ns, parts, wanted: from..to });
        count += to - from;
        if to < parts {
            given.1 = to;
            break;
        }
        given = (Some(*start_ns), 0);
        from = 0;
        if count >= MOST {
            break;
        }
    }
    (shares, given)
}

impl Outbox for StoredRows {
    fn what(&self) -> &'static str {
        "messages of window rows"
    }

    fn next(&mut self) -> Result<MessageBatch, String> {
        loop {
            if self.work.is_none() && !self.begin()? {
                return Ok(MessageBatch { messages: Vec::new(), lost: std::mem::take(&mut self.lost) });
            }
            let Some(work) = &mut self.work else { continue };
            let (shares, given) = plan(&work.windows, work.delivered_parts);
            let messages: Result<Vec<Message>, String> =
                rows::messages(&mut work.open, &work.chosen.file.node, &shares);
            match messages {
                Ok(messages) => {
                    work.given = given;
                    return Ok(MessageBatch { messages, lost: std::mem::take(&mut self.lost) });
                }
                Err(_) => {
                    let file = work.chosen.file.clone();
                    self.work = None;
                    self.give_up(&file)?;
                }
            }
        }
    }

    fn look(&mut self) -> Result<Vec<(&'static str, u64)>, String> {
        let files = self.files()?;
        let dropped = self.notice_dropped(&files)?;
        Ok((dropped != 0).then_some(("dropped", dropped)).into_iter().collect())
    }

    fn acknowledge(&mut self) -> Result<(), String> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let (until, parts) = work.given;
        if let Some(until) = until {
            self.advance(until)?;
        }
        if let Some(work) = &mut self.work {
            work.delivered_parts = parts;
        }
        Ok(())
    }

    fn waiting(&mut self) -> u64 {
        let windows = self.work.iter().flat_map(|work| work.windows.values());
        let left: u64 = windows.map(|rows| parts_of(*rows) as u64).sum();
        let current = self.work.as_ref().map(|work| work.chosen.file.number);
        let Ok(files) = self.files() else { return left };
        let Ok(progress) = self.progress() else { return left };
        let usual = DeliveryProgress::default();
        let others = files.iter().filter(|file| {
            let of = progress.get(&file.node).unwrap_or(&usual);
            let is_open = match file.is_compacted {
                true => of.after_ns.is_none_or(|after| file.last_ns > after),
                false => !of.segments.contains(&file.number),
            };
            is_open && Some(file.number) != current
        });
        left + others.map(|file| parts_of(file.rows) as u64).sum::<u64>()
    }
}
