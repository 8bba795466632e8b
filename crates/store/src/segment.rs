//! A segment of a node that is being written: its files until they wait to be named, and what is counted where they cannot be written.

use crate::begun::{Begun, FileProperties};
use crate::shared::StoreState;
use crate::{Level, NodeSetting, flush, retention};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Bytes after which the size of the store is looked at.
const LOOK: u64 = 8 << 20;

/// Writes a file of rows or of records.
pub(crate) trait SegmentWriter: Sized {
    /// The level of its files.
    const LEVEL: Level;

    /// Opens a file for what a node measures.
    fn create(path: &Path, setting: &NodeSetting) -> io::Result<Self>;

    /// Returns the length of the windows of its files, nanoseconds; 0 of flow records.
    fn window_ns(setting: &NodeSetting) -> u64;

    /// Returns the number of bytes written so far.
    fn written_bytes(&self) -> u64;

    /// Writes what is buffered and ends the file.
    fn end(self) -> io::Result<()>;
}

/// A file that is being written.
pub(crate) struct SegmentFile<W> {
    begun: Begun,
    pub(crate) writer: W,
    /// The least and the greatest time of what it has: begins of windows, or `ltime` of records.
    span: Option<[u64; 2]>,
    pub(crate) rows: u64,
    /// Bytes that are on the shared account.
    bytes: u64,
}

impl<W: SegmentWriter> SegmentFile<W> {
    /// Makes a file by `create`, in the folder of the hour of `first_ns`.
    pub(crate) fn begin(
        shared: &StoreState,
        level: Level,
        node: &str,
        first_ns: u64,
        create: impl FnOnce(&Path) -> io::Result<W>,
    ) -> Result<Self, String> {
        let (begun, writer) = Begun::create(shared, level, node, first_ns, |path| {
            create(path).map_err(|error| error.to_string())
        })?;
        Ok(Self { begun, writer, span: None, rows: 0, bytes: 0 })
    }

    /// Takes these times into the span of the file.
    pub(crate) fn cover(&mut self, [first_ns, last_ns]: [u64; 2]) {
        let [first, last] = self.span.unwrap_or([first_ns, last_ns]);
        self.span = Some([first.min(first_ns), last.max(last_ns)]);
    }

    /// Returns true if the file has nothing, not even a window without a packet.
    pub(crate) fn is_empty(&self) -> bool {
        self.span.is_none()
    }

    /// Removes the file.
    pub(crate) fn discard(self, shared: &StoreState) {
        drop(self.writer);
        self.begun.discard(shared);
    }

    /// Ends the file after `describe`. `facts`: what is known of it apart from its span and its number of rows.
    ///
    /// # Errors
    /// One line: it cannot be written. The file is removed.
    pub(crate) fn end(
        self,
        shared: &StoreState,
        facts: FileProperties,
        describe: impl FnOnce(&mut W) -> io::Result<()>,
    ) -> Result<(Begun, FileProperties), String> {
        let Self { begun, mut writer, span, rows, .. } = self;
        let [first_ns, last_ns] = span.unwrap_or_default();
        match describe(&mut writer).and_then(|()| writer.end()) {
            Ok(()) => Ok((begun, FileProperties { first_ns, last_ns, rows, ..facts })),
            Err(error) => {
                begun.discard(shared);
                Err(error.to_string())
            }
        }
    }
}

/// A segment that is being written: one file at a time.
pub(crate) struct OpenSegment<W> {
    /// The file that is being written. `None` before the first row, between two files, and once one could not be written.
    file: Option<SegmentFile<W>>,
    /// Files that are complete.
    files: Vec<(Begun, FileProperties)>,
    /// The reason why the segment could not be written.
    fault: Option<String>,
    rows: u64,
    /// Bytes that are on the shared account.
    bytes: u64,
    since: Instant,
}

impl<W: SegmentWriter> OpenSegment<W> {
    pub(crate) fn new() -> Self {
        Self { file: None, files: Vec::new(), fault: None, rows: 0, bytes: 0, since: Instant::now() }
    }

    /// Returns the number of rows or records that it took.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns true while a file is being written.
    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the time at which the segment began.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Returns true if the segment is as old as this.
    pub(crate) fn is_older(&self, age: Duration) -> bool {
        self.since.elapsed() >= age
    }

    /// Writes rows or records of these times; what is not written is counted at the end.
    pub(crate) fn write(
        &mut self,
        shared: &StoreState,
        setting: &NodeSetting,
        span: [u64; 2],
        rows: u64,
        write: impl FnOnce(&mut W) -> io::Result<()>,
    ) {
        self.rows += rows;
        let Some(file) = self.file(shared, setting, span[0]) else { return };
        file.cover(span);
        file.rows += rows;
        let written = write(&mut file.writer);
        let bytes = file.writer.written_bytes();
        match written {
            Ok(()) if bytes >= file.bytes + LOOK => {
                let more = bytes - std::mem::replace(&mut file.bytes, bytes);
                shared.open_bytes.fetch_add(more, Relaxed);
                self.bytes += more;
                retention::hold_size(shared);
            }
            Ok(()) => {}
            Err(error) => self.fail(shared, error.to_string()),
        }
    }

    /// Takes these times into the span of the file that it writes.
    pub(crate) fn cover(&mut self, shared: &StoreState, setting: &NodeSetting, span: [u64; 2]) {
        if let Some(file) = self.file(shared, setting, span[0]) {
            file.cover(span);
        }
    }

    /// Returns the file that it writes, which begins now if there is none, in the hour of this time; `None` if one could not be written.
    fn file(
        &mut self,
        shared: &StoreState,
        setting: &NodeSetting,
        first_ns: u64,
    ) -> Option<&mut SegmentFile<W>> {
        if self.file.is_none() && self.fault.is_none() {
            let create = |path: &Path| W::create(path, setting);
            match SegmentFile::begin(shared, W::LEVEL, &setting.node, first_ns, create) {
                Ok(file) => self.file = Some(file),
                Err(reason) => self.fail(shared, reason),
            }
        }
        self.file.as_mut()
    }

    /// Gives the files of the segment up: its rows are not stored.
    pub(crate) fn fail(&mut self, shared: &StoreState, reason: String) {
        self.fault = Some(reason.clone());
        if let Some(file) = self.file.take() {
            file.discard(shared);
        }
        self.files.drain(..).for_each(|(begun, _)| begun.discard(shared));
        shared.set_fault(Some(reason));
    }

    /// Ends the file that it writes, if there is one, after `describe`.
    pub(crate) fn end_file(
        &mut self,
        shared: &StoreState,
        setting: &NodeSetting,
        describe: impl FnOnce(&mut W) -> io::Result<()>,
    ) {
        let Some(file) = self.file.take() else { return };
        let (window_ns, key) = (W::window_ns(setting), setting.key_text());
        match file.end(shared, FileProperties { window_ns, key, ..FileProperties::default() }, describe) {
            Ok(complete) => self.files.push(complete),
            Err(reason) => self.fail(shared, reason),
        }
    }

    /// Ends the segment, whose last file has ended: its files wait to be named, or its rows and the times that were watched are lost.
    pub(crate) fn end(self, shared: &StoreState, setting: &NodeSetting, watched: &[[u64; 2]]) {
        match &self.fault {
            Some(reason) => {
                if !watched.is_empty() {
                    flush::lose(shared, &setting.node, watched, reason);
                }
                shared.tally.level(W::LEVEL).refused.fetch_add(self.rows, Relaxed);
            }
            None => flush::add(shared, self.files, watched),
        }
        shared.open_bytes.fetch_sub(self.bytes, Relaxed);
    }
}
