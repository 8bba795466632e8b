//! Window rows as they come: short files, each of whole windows.

use crate::begun::{Begun, Complete};
use crate::level::{HOUR, SECOND};
use crate::shared::Shared;
use crate::watched::{Unstored, Watcher};
use crate::{Level, NodeSetting, flush, retention};
use flow::{Rows, Share};
use packet::Key;
use record::{RecordedWindows, RowParts, RowWindow, RowWriter, WindowFacts, WindowSample};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The time of a segment's windows, unless one is longer.
const SPAN: u64 = 10 * SECOND;
/// The time of the windows of a segment of a recording, which come as fast as they can be read.
const SPAN_OF_RECORDING: u64 = HOUR;
/// The numbers of rows and of seconds after which a segment of a recording ends with the windows that have rows in it.
const MOST_ROWS: u64 = 1 << 17;
const LONGEST: Duration = Duration::from_secs(1);
/// The longest time that a segment of a live source waits for its windows. It is then stored incomplete: a clock that is set back closes none of them.
const PATIENCE: Duration = Duration::from_secs(30);
/// Files that are written at a time, each with the rows of a row group in memory.
const MOST_OPEN: usize = 3;
/// The longest time without a packet before a window whose windows are stored as empty ones, nanoseconds.
pub const MOST_EMPTY_NS: u64 = 48 * HOUR;
/// Bytes after which the size of the store is looked at.
const LOOK: u64 = 8 << 20;

/// The segments of a node that are being written, by the first instant behind their windows.
///
/// Rows of a recording may come long before it is known that their windows are over, which takes another thread. The manifest names the files of
/// a segment only then, all at once: else a run that is killed would have stored more than it says that it has watched.
pub(crate) struct RowSegments {
    shared: Arc<Shared>,
    setting: NodeSetting,
    open: BTreeMap<u64, Segment>,
    /// The reason why nothing follows the last window that was closed.
    why: Unstored,
}

struct Segment {
    /// The file that is being written. `None` before the first row, between two files, and once one could not be written.
    file: Option<OpenFile>,
    /// Files that are complete.
    files: Vec<(Begun, Complete)>,
    /// The windows that are closed and in no file.
    windows: RecordedWindows,
    /// The times of its windows that were watched, those that follow each other as one.
    watched: Vec<[u64; 2]>,
    /// The reason why the segment could not be written.
    fault: Option<String>,
    without_place: [u64; 3],
    rows: u64,
    /// The begin of the last window with rows in it.
    last_ns: Option<u64>,
    /// Bytes that are on the shared account.
    bytes: u64,
    since: Instant,
}

/// A file that is being written.
struct OpenFile {
    begun: Begun,
    writer: RowWriter,
    /// The begins of the first window and the last.
    span: [u64; 2],
    rows: u64,
    /// Bytes that are on the shared account.
    bytes: u64,
}

impl RowSegments {
    pub(crate) fn new(shared: Arc<Shared>, setting: NodeSetting) -> Self {
        shared.set_progress(&setting.node, 0);
        let by = if setting.is_live { Watcher::Live } else { Watcher::Recorded };
        let number = shared.manifest().take_entry();
        shared.group().begin(&setting.node, by, setting.source.as_deref(), number);
        // A run that is killed before it has stored anything is known by its begin alone.
        flush::flush(&shared);
        Self { shared, setting, open: BTreeMap::new(), why: Unstored::Stopped }
    }

    /// The time of which segments are parts, around that of a window.
    fn slot(&self, start_ns: u64) -> [u64; 2] {
        let span = if self.setting.is_live { SPAN } else { SPAN_OF_RECORDING };
        let span = self.setting.window_ns.max(span);
        let begin = start_ns - start_ns % span;
        [begin, begin.saturating_add(span)]
    }

    /// Returns where the segment of a window ends, whether it is open or not.
    fn place(&self, start_ns: u64) -> u64 {
        let [_, end] = self.slot(start_ns);
        let open = self.open.range(start_ns.saturating_add(1)..=end).next();
        open.map_or(end, |(until, _)| *until)
    }

    fn segment(&mut self, start_ns: u64) -> &mut Segment {
        let until = self.place(start_ns);
        self.open.entry(until).or_insert_with(|| Segment::new(&self.setting))
    }

    pub(crate) fn write<K: Key>(&mut self, start_ns: u64, rows: &Rows<K>) {
        let window = RowWindow { start_ns, end_ns: start_ns.saturating_add(self.setting.window_ns) };
        let shared = Arc::clone(&self.shared);
        let has_file = self.segment(start_ns).file.is_some();
        if !has_file {
            self.make_room();
        }
        let until = self.place(start_ns);
        let Self { setting, open, .. } = self;
        let Some(segment) = open.get_mut(&until) else { return };
        segment.rows += rows.len() as u64;
        segment.last_ns = segment.last_ns.max(Some(start_ns));
        let Some(file) = segment.file(&shared, setting, start_ns) else { return };
        file.extend([start_ns; 2]);
        file.rows += rows.len() as u64;
        let written = file.writer.write(window, rows).map_err(|error| error.to_string());
        let bytes = file.writer.bytes();
        match written {
            Ok(()) if bytes >= file.bytes + LOOK => {
                let more = bytes - std::mem::replace(&mut file.bytes, bytes);
                shared.open_bytes.fetch_add(more, Relaxed);
                segment.bytes += more;
                retention::hold_size(&shared);
            }
            Ok(()) => {}
            Err(reason) => segment.fail(&shared, reason),
        }
    }

    /// Ends the file of the oldest segment that has one, if there are as many as may be.
    fn make_room(&mut self) {
        let Self { shared, setting, open, .. } = self;
        let with_file = open.values_mut().filter(|segment| segment.file.is_some());
        let mut with_file: Vec<_> = with_file.collect();
        if with_file.len() < MOST_OPEN {
            return;
        }
        let oldest = with_file.iter_mut().min_by_key(|segment| segment.since);
        oldest.into_iter().for_each(|segment| segment.end_file(shared, setting));
    }

    /// Closes a window: all its rows have come, and `empty_before` windows before it had no packet.
    pub(crate) fn close(&mut self, start_ns: u64, facts: WindowFacts, empty_before: u64) {
        let length = self.setting.window_ns.max(1);
        let empty_since = start_ns.saturating_sub(empty_before.saturating_mul(length));
        // A record that ends later may have had packets in them.
        let sample = facts.sample.map(WindowSample::without_frames);
        let empty = WindowFacts { of_records: facts.of_records, sample, ..WindowFacts::default() };
        self.close_empty(empty_since, start_ns, &empty);
        let hour = start_ns - start_ns % HOUR;
        let is_back = |segment: &Segment| {
            segment.windows.ends().is_some_and(|[_, last]| last >= empty_since.max(hour).min(start_ns))
        };
        let until = self.place(start_ns);
        if self.open.get(&until).is_some_and(is_back) {
            // The clock was set back by less than a segment.
            self.end_one(until);
        }
        let segment = self.segment(start_ns);
        let since = empty_since.max(hour.next_multiple_of(length));
        if since < start_ns {
            segment.windows.push_run(since, (start_ns - since) / length, empty);
            segment.watch([since, start_ns]);
        }
        for (sum, more) in segment.without_place.iter_mut().zip(facts.without_place) {
            *sum = sum.saturating_add(more);
        }
        let end = start_ns.saturating_add(length);
        segment.watch(facts.watched.unwrap_or([start_ns, end]));
        // What a recording lacks at its end is what was not read of it.
        let is_unread = facts.ended && facts.lacks.is_some() && !self.setting.is_live;
        self.why = if is_unread { Unstored::Unread } else { Unstored::Stopped };
        let is_live = self.setting.is_live;
        let segment = self.segment(start_ns);
        segment.windows.push(start_ns, facts);
        let is_enough = !is_live && (segment.rows >= MOST_ROWS || segment.since.elapsed() >= LONGEST);
        let mut until = self.place(start_ns);
        if is_enough {
            until = self.cut(until, start_ns);
        }
        if end >= until {
            let complete: Vec<u64> = self.open.range(..=until).map(|(until, _)| *until).collect();
            complete.into_iter().for_each(|until| self.end_one(until));
            self.shared.group().reach(&self.setting.node, end);
        }
    }

    /// Lets a segment end with the last window that has rows in it, or the one of this begin. Returns that end.
    fn cut(&mut self, until: u64, start_ns: u64) -> u64 {
        let Some(segment) = self.open.remove(&until) else { return until };
        let last_ns = segment.last_ns.unwrap_or(start_ns).max(start_ns);
        let until = last_ns.saturating_add(self.setting.window_ns.max(1)).min(until);
        self.open.insert(until, segment);
        until
    }

    /// Stores windows without a packet of the hours before that of a window.
    fn close_empty(&mut self, since_ns: u64, start_ns: u64, facts: &WindowFacts) {
        let length = self.setting.window_ns.max(1);
        let hour = start_ns - start_ns % HOUR;
        let first = since_ns.max(hour.saturating_sub(MOST_EMPTY_NS));
        let mut from = first.next_multiple_of(length);
        while from < hour {
            let end = (from - from % HOUR + HOUR).min(hour);
            let windows = (end - from).div_ceil(length);
            // Windows of another segment that is open are not to be mixed with these.
            self.end_all(self.slot(from));
            let segment = self.segment(from);
            segment.windows.push_run(from, windows, facts.clone());
            segment.watch([from, from + windows * length]);
            self.end_all(self.slot(from));
            from += windows * length;
        }
    }

    /// Ends segments that wait for too long.
    pub(crate) fn tick(&mut self) {
        // Those of a recording end with a window, whose time never goes back.
        if !self.setting.is_live {
            return;
        }
        // Rows of a window come for as long as the next one.
        let patience = PATIENCE.max(Duration::from_nanos(self.setting.window_ns.saturating_mul(2)));
        let late: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, segment)| segment.since.elapsed() >= patience)
            .map(|(until, _)| *until)
            .collect();
        late.into_iter().for_each(|until| self.end_one(until));
    }

    /// Ends all segments, and the run: nothing more comes.
    pub(crate) fn end(&mut self) {
        let until =
            self.open.values().filter_map(|segment| segment.windows.ends()).map(|[_, last]| last).max();
        self.end_all([0, u64::MAX]);
        if let Some(last) = until {
            let end = last.saturating_add(self.setting.window_ns);
            self.shared.group().reach(&self.setting.node, end);
        }
        // The run ends behind its last files: what they watched is noted first.
        flush::flush(&self.shared);
        self.shared.group().end(&self.setting.node, self.why);
        flush::flush(&self.shared);
    }

    /// Ends the segments of a slot.
    fn end_all(&mut self, [begin, end]: [u64; 2]) {
        let all: Vec<u64> = self.open.range(begin.saturating_add(1)..=end).map(|(until, _)| *until).collect();
        all.into_iter().for_each(|until| self.end_one(until));
    }

    fn end_one(&mut self, until: u64) {
        let Some(segment) = self.open.remove(&until) else { return };
        segment.end(&self.shared, &self.setting);
        retention::hold_size(&self.shared);
    }
}

impl OpenFile {
    fn begin(shared: &Shared, setting: &NodeSetting, start_ns: u64) -> Result<Self, String> {
        let NodeSetting { node, key, tracks_loss, has_wire_bytes, .. } = setting;
        let parts = RowParts { has_wire_bytes: *has_wire_bytes, ..RowParts::ALL };
        let (begun, writer) = Begun::create(shared, Level::Rows, node, start_ns, |path| {
            RowWriter::create_stored(path, node, *key, *tracks_loss, parts).map_err(|error| error.to_string())
        })?;
        let writer = writer.with_anonymizer(setting.anonymizer.clone());
        Ok(Self { begun, writer, span: [start_ns; 2], rows: 0, bytes: 0 })
    }

    /// Extends the span of the file to these windows.
    fn extend(&mut self, [first_ns, last_ns]: [u64; 2]) {
        let [first, last] = self.span;
        self.span = [first.min(first_ns), last.max(last_ns)];
    }
}

impl Segment {
    fn new(setting: &NodeSetting) -> Self {
        Self {
            file: None,
            files: Vec::new(),
            windows: RecordedWindows::new(setting.window_ns, setting.usual_ns),
            watched: Vec::new(),
            fault: None,
            without_place: [0; 3],
            rows: 0,
            last_ns: None,
            bytes: 0,
            since: Instant::now(),
        }
    }

    /// The file that it writes, which begins now if there is none, by a window of this begin; `None` if one could not be written.
    fn file(&mut self, shared: &Shared, setting: &NodeSetting, start_ns: u64) -> Option<&mut OpenFile> {
        if self.file.is_none() && self.fault.is_none() {
            match OpenFile::begin(shared, setting, start_ns) {
                Ok(file) => self.file = Some(file),
                Err(reason) => self.fail(shared, reason),
            }
        }
        self.file.as_mut()
    }

    /// Adds a time that was watched, which follows all before it.
    fn watch(&mut self, time: [u64; 2]) {
        match self.watched.last_mut() {
            Some(last) if last[1] >= time[0] && time[1] >= last[0] => {
                *last = [last[0].min(time[0]), last[1].max(time[1])];
            }
            _ => self.watched.push(time),
        }
    }

    /// Returns whether the segment has rows of a sample whose window was not closed: nothing tells how they are to be scaled.
    fn lacks_share(&self, setting: &NodeSetting) -> bool {
        let closed_until = self.watched.last().map(|[_, end]| *end);
        let is_open = |last_ns: u64| closed_until.is_none_or(|until| until <= last_ns);
        setting.selection.share() != Share::ALL && self.last_ns.is_some_and(is_open)
    }

    /// Gives the files of the segment up: its rows are not stored.
    fn fail(&mut self, shared: &Shared, reason: String) {
        self.fault = Some(reason.clone());
        if let Some(OpenFile { begun, writer, .. }) = self.file.take() {
            drop(writer);
            begun.discard(shared);
        }
        self.files.drain(..).for_each(|(begun, _)| begun.discard(shared));
        shared.set_fault(Some(reason));
    }

    /// Ends the file that it writes, with the windows that were closed.
    fn end_file(&mut self, shared: &Shared, setting: &NodeSetting) {
        let windows = RecordedWindows::new(setting.window_ns, setting.usual_ns);
        let windows = std::mem::replace(&mut self.windows, windows);
        if let Some([first_ns, last_ns]) = windows.ends()
            && let Some(file) = self.file(shared, setting, first_ns)
        {
            file.extend([first_ns, last_ns]);
        }
        let Some(OpenFile { begun, mut writer, span: [first_ns, last_ns], rows, .. }) = self.file.take()
        else {
            return;
        };
        let [packets, bytes, wire_bytes] = std::mem::take(&mut self.without_place);
        writer.describe_without_place(packets, bytes, wire_bytes);
        let described = writer.describe_windows(&windows).map_err(|error| error.to_string());
        match described.and_then(|()| writer.finish().map_err(|error| error.to_string())) {
            Ok(_) => {
                let (window_ns, key) = (setting.window_ns, setting.key_text());
                let complete = Complete { first_ns, last_ns, window_ns, rows, key, ..Complete::default() };
                self.files.push((begun, complete));
            }
            Err(reason) => {
                begun.discard(shared);
                self.fail(shared, reason);
            }
        }
    }

    fn end(mut self, shared: &Shared, setting: &NodeSetting) {
        self.end_file(shared, setting);
        if self.lacks_share(setting) {
            self.fail(shared, "windows of a sample were not closed: it is not known which".to_owned());
        }
        if let Some(reason) = &self.fault {
            flush::lose(shared, &setting.node, &self.watched, reason);
            shared.tally.rows.refused.fetch_add(self.rows, Relaxed);
        } else {
            flush::add(shared, self.files, &self.watched);
        }
        shared.open_bytes.fetch_sub(self.bytes, Relaxed);
    }
}
