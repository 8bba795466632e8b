//! The window rows of a store as an outbox.
//!
//! A file of its own in the store's folder says how far each node's rows were delivered. Segments are taken in the order in which they were
//! written, whatever windows they have: a node that starts again within a window, or whose clock was set back, adds to windows that were
//! delivered before. Of a file that took the place of segments, the windows after the last one that was delivered are taken.

use crate::message::Message;
use crate::rows::{self, Share, parts_of};
use crate::{Batch, Outbox};
use record::read::FlowFile;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use store::{Catalog, Level, StoredFile};

/// The file that says how far rows were delivered.
const STATE: &str = "kafka-rows.json";
/// Messages of a batch, about.
const MOST: usize = 50;

/// How far the rows of a node were delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    /// The begin of the last window that was delivered.
    after_ns: Option<u64>,
    /// The number of the last segment all of which was delivered.
    segment: u64,
    /// The segment that is under way, and the begin of its last window that was delivered.
    current: Option<(u64, u64)>,
}

/// A file some of whose windows are to be delivered.
struct Work {
    node: String,
    file: StoredFile,
    open: FlowFile,
    /// The windows that are left, and their rows.
    windows: BTreeMap<u64, u64>,
    /// Messages of the first of them that were delivered.
    delivered_parts: usize,
    /// What the batch has: whole windows up to one that begins then, and messages of the one after it.
    given: (Option<u64>, usize),
}

/// The window rows of a store.
pub struct StoredRows {
    folder: PathBuf,
    catalog: Option<Catalog>,
    progress: Option<BTreeMap<String, Progress>>,
    work: Option<Work>,
    /// Files that cannot be read.
    damaged: BTreeSet<u64>,
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
        }
    }

    fn progress(&mut self) -> Result<&mut BTreeMap<String, Progress>, String> {
        if self.progress.is_none() {
            self.progress = Some(read(&self.folder.join(STATE))?);
        }
        Ok(self.progress.get_or_insert_default())
    }

    fn files(&mut self) -> Result<Vec<StoredFile>, String> {
        if self.catalog.is_none() {
            self.catalog = Some(Catalog::open(&self.folder)?);
        }
        let Some(catalog) = &self.catalog else { return Ok(Vec::new()) };
        catalog.files(Level::Rows, None)
    }

    /// The file that is next, and the begin of its last window that was delivered.
    fn next_file(&mut self) -> Result<Option<(StoredFile, Option<u64>)>, String> {
        let files = self.files()?;
        let damaged = self.damaged.clone();
        let progress = self.progress()?;
        let mut nodes: Vec<&str> = files.iter().map(|file| file.node.as_str()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let usual = Progress::default();
        for node in nodes {
            let of = progress.get(node).unwrap_or(&usual);
            let own = files.iter().filter(|file| file.node == node && !damaged.contains(&file.number));
            let found = next_of_node(of, own);
            if let Some(file) = found {
                let after = match of.current {
                    _ if file.is_compacted => of.after_ns,
                    Some((number, window)) if number == file.number => Some(window),
                    _ => None,
                };
                return Ok(Some((file.clone(), after)));
            }
        }
        Ok(None)
    }

    /// Opens the next file that has windows to deliver. What cannot be read is counted.
    fn begin(&mut self, lost: &mut Vec<(&'static str, u64)>) -> Result<bool, String> {
        while let Some((file, after)) = self.next_file()? {
            let opened = FlowFile::open(&file.path).and_then(|mut open| {
                let windows = rows::windows(&mut open, after)?;
                Ok((open, windows))
            });
            match opened {
                Ok((open, windows)) => {
                    let node = file.node.clone();
                    if windows.is_empty() {
                        self.done(&node, &file, after);
                        continue;
                    }
                    self.work =
                        Some(Work { node, file, open, windows, delivered_parts: 0, given: (None, 0) });
                    return Ok(true);
                }
                // It was replaced, or dropped, since it was listed.
                Err(_) if !file.path.exists() => {
                    if self.files()?.iter().any(|listed| listed.number == file.number) {
                        return Err(format!("{}: it is not there", file.path.display()));
                    }
                }
                Err(_) => self.give_up(&file, lost),
            }
        }
        Ok(false)
    }

    fn give_up(&mut self, file: &StoredFile, lost: &mut Vec<(&'static str, u64)>) {
        self.damaged.insert(file.number);
        lost.push(("damaged", parts_of(file.rows) as u64));
    }

    /// Notes that all of a file was delivered.
    fn done(&mut self, node: &str, file: &StoredFile, window: Option<u64>) {
        let of = self.progress.get_or_insert_default().entry(node.to_owned()).or_default();
        let last = Some(file.last_ns).max(window);
        of.after_ns = of.after_ns.max(last);
        if !file.is_compacted {
            of.segment = of.segment.max(file.number);
            of.current = None;
        }
    }
}

/// The next file of a node.
fn next_of_node<'a>(
    of: &Progress,
    files: impl Iterator<Item = &'a StoredFile> + Clone,
) -> Option<&'a StoredFile> {
    let is_after = |file: &&StoredFile| of.after_ns.is_none_or(|after| file.last_ns > after);
    let merged = files.clone().filter(|file| file.is_compacted).filter(is_after);
    let merged = merged.min_by_key(|file| (file.first_ns, file.number));
    let segment = files.filter(|file| !file.is_compacted && file.number > of.segment);
    let segment = segment.min_by_key(|file| file.number);
    match (merged, segment) {
        (Some(merged), Some(segment)) if segment.first_ns < merged.first_ns => Some(segment),
        (Some(merged), _) => Some(merged),
        (None, segment) => segment,
    }
}

/// The shares of the next windows that make a batch, and what is delivered with them: whole windows up to one, and parts of the one after
/// it.
fn plan(windows: &BTreeMap<u64, u64>, delivered_parts: usize) -> (Vec<Share>, (Option<u64>, usize)) {
    let (mut shares, mut count) = (Vec::new(), 0);
    let mut given = (None, 0);
    let mut from = delivered_parts;
    for (start_ns, rows) in windows {
        let parts = parts_of(*rows);
        let to = parts.min(from + (MOST - count));
        shares.push(Share { start_ns: *start_ns, parts, wanted: from..to });
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

    fn next(&mut self) -> Result<Batch, String> {
        let mut lost = Vec::new();
        loop {
            if self.work.is_none() && !self.begin(&mut lost)? {
                return Ok(Batch { messages: Vec::new(), lost });
            }
            let Some(work) = &mut self.work else { continue };
            let (shares, given) = plan(&work.windows, work.delivered_parts);
            let messages: Result<Vec<Message>, String> = rows::messages(&mut work.open, &work.node, &shares);
            match messages {
                Ok(messages) => {
                    work.given = given;
                    return Ok(Batch { messages, lost });
                }
                Err(_) => {
                    let file = work.file.clone();
                    self.work = None;
                    self.give_up(&file, &mut lost);
                }
            }
        }
    }

    fn acknowledge(&mut self) -> Result<(), String> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let (until, parts) = work.given;
        work.delivered_parts = parts;
        if let Some(until) = until {
            work.windows = work.windows.split_off(&until.saturating_add(1));
            let (node, file) = (work.node.clone(), work.file.clone());
            let is_done = work.windows.is_empty();
            let of = self.progress()?.entry(node.clone()).or_default();
            of.after_ns = of.after_ns.max(Some(until));
            if !file.is_compacted {
                of.current = Some((file.number, until));
            }
            if is_done {
                self.done(&node, &file, Some(until));
            }
            write(&self.folder.join(STATE), self.progress.get_or_insert_default())?;
            if is_done {
                self.work = None;
            }
        }
        Ok(())
    }

    fn waiting(&mut self) -> u64 {
        let left: usize =
            self.work.iter().flat_map(|work| work.windows.values()).map(|rows| parts_of(*rows)).sum();
        let current = self.work.as_ref().map(|work| work.file.number);
        let Ok(files) = self.files() else { return left as u64 };
        let Ok(progress) = self.progress() else { return left as u64 };
        let others = files.iter().filter(|file| {
            let of = progress.get(&file.node).cloned().unwrap_or_default();
            let is_open = match file.is_compacted {
                true => of.after_ns.is_none_or(|after| file.last_ns > after),
                false => file.number > of.segment,
            };
            is_open && Some(file.number) != current
        });
        left as u64 + others.map(|file| parts_of(file.rows) as u64).sum::<u64>()
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, Progress>, String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    of_json(&text)
        .ok_or_else(|| format!("{} is damaged: remove it, and all rows are delivered again", path.display()))
}

fn of_json(text: &str) -> Option<BTreeMap<String, Progress>> {
    let json: Json = serde_json::from_str(text).ok()?;
    // Times are texts of digits: most readers hold numbers as doubles.
    let time = |json: &Json| json.as_str()?.parse::<u64>().ok();
    let of = |(node, json): (&String, &Json)| {
        let after_ns = match &json["after"] {
            Json::Null => None,
            after => Some(time(after)?),
        };
        let current = match &json["current"] {
            Json::Null => None,
            current => Some((current["segment"].as_u64()?, time(&current["after"])?)),
        };
        Some((node.clone(), Progress { after_ns, segment: json["segment"].as_u64()?, current }))
    };
    json["nodes"].as_object()?.iter().map(of).collect()
}

/// Writes it so that a crash leaves the old text or the new one.
fn write(path: &Path, progress: &BTreeMap<String, Progress>) -> Result<(), String> {
    let node = |(node, of): (&String, &Progress)| {
        let after = of.after_ns.map(|after| after.to_string());
        let current =
            of.current.map(|(segment, after)| json!({ "segment": segment, "after": after.to_string() }));
        (node.clone(), json!({ "after": after, "segment": of.segment, "current": current }))
    };
    let nodes: serde_json::Map<String, Json> = progress.iter().map(node).collect();
    let text = format!("{}\n", json!({ "nodes": nodes }));
    let part = path.with_extension("json.part");
    let written = || {
        let mut file = File::create(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    written().map_err(|error| format!("{}: {error}", path.display()))
}
