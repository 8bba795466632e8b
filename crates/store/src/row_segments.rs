//! Window rows as they come: short files, each of whole windows.

use crate::closed_windows::ClosedWindows;
use crate::level::{HOUR, SECOND};
use crate::segment::{OpenSegment, SegmentWriter};
use crate::shared::StoreState;
use crate::watched::{MeasurementKind, Unstored};
use crate::{Level, NodeSetting, flush, retention};
use flow::{Rows, Share};
use packet::Key;
use record::{RowParts, RowWindow, RowWriter, WindowFacts, WindowSample};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The time of a segment's windows, unless one is longer.
const SPAN: u64 = 10 * SECOND;
/// The time of the windows of a segment of a recording, which come as fast as they can be read.
const SPAN_OF_RECORDING: u64 = HOUR;
/// The numbers of rows and of seconds after which a segment of a recording ends with the windows that have rows in it.
const MOST_ROWS: u64 = 1 << 17;
const LONGEST: Duration = Duration::from_secs(1);
/// The longest time that a segment of a live source waits for its windows. It is then stored incomplete: a clock that is set back closes none of them.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Files that are written at a time, each with the rows of a row group in memory.
const MOST_OPEN: usize = 3;
/// The longest time without a packet before a window whose windows are stored as empty ones, nanoseconds.
pub const MOST_EMPTY_NS: u64 = 48 * HOUR;

/// The segments of a node that are being written, by the first instant behind their windows.
///
/// Rows of a recording may come long before it is known that their windows are over, which takes another thread. The manifest names the files of
/// a segment only then, all at once: else a run that is killed would have stored more than it says that it has watched.
pub(crate) struct RowSegments {
    shared: Arc<StoreState>,
    setting: NodeSetting,
    open: BTreeMap<u64, RowSegment>,
    /// The reason why nothing follows the last window that was closed.
    why: Unstored,
}

struct RowSegment {
    written: OpenSegment<RowWriter>,
    /// The windows that are closed and in no file.
    closed: ClosedWindows,
    /// The times of its windows that were watched, those that follow each other as one.
    watched: Vec<[u64; 2]>,
    /// The begin of the last window with rows in it.
    last_ns: Option<u64>,
}

impl RowSegments {
    pub(crate) fn new(shared: Arc<StoreState>, setting: NodeSetting) -> Self {
        shared.set_progress(&setting.node, 0);
        let by = if setting.is_live { MeasurementKind::Live } else { MeasurementKind::Recorded };
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

    fn segment(&mut self, start_ns: u64) -> &mut RowSegment {
        let until = self.place(start_ns);
        self.open.entry(until).or_insert_with(|| RowSegment::new(&self.setting))
    }

    pub(crate) fn write<K: Key>(&mut self, start_ns: u64, rows: &Rows<K>) {
        let window = RowWindow { start_ns, end_ns: start_ns.saturating_add(self.setting.window_ns) };
        let shared = Arc::clone(&self.shared);
        if !self.segment(start_ns).written.has_file() {
            self.make_room();
        }
        let until = self.place(start_ns);
        let Self { setting, open, .. } = self;
        let Some(segment) = open.get_mut(&until) else { return };
        segment.last_ns = segment.last_ns.max(Some(start_ns));
        let write = |writer: &mut RowWriter| writer.write(window, rows);
        segment.written.write(&shared, setting, [start_ns; 2], rows.len() as u64, write);
    }

    /// Ends the file of the oldest segment that has one, if there are as many as may be.
    fn make_room(&mut self) {
        let Self { shared, setting, open, .. } = self;
        let with_file = open.values_mut().filter(|segment| segment.written.has_file());
        let mut with_file: Vec<_> = with_file.collect();
        if with_file.len() < MOST_OPEN {
            return;
        }
        let oldest = with_file.iter_mut().min_by_key(|segment| segment.written.since());
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
        let is_back = |segment: &RowSegment| {
            segment.closed.windows.ends().is_some_and(|[_, last]| last >= empty_since.max(hour).min(start_ns))
        };
        let until = self.place(start_ns);
        if self.open.get(&until).is_some_and(is_back) {
            // The clock was set back by less than a segment.
            self.end_one(until);
        }
        let segment = self.segment(start_ns);
        let since = empty_since.max(hour.next_multiple_of(length));
        if since < start_ns {
            segment.closed.windows.push_run(since, (start_ns - since) / length, empty);
            segment.watch([since, start_ns]);
        }
        let end = start_ns.saturating_add(length);
        segment.watch(facts.watched.unwrap_or([start_ns, end]));
        // What a recording lacks at its end is what was not read of it.
        let is_unread = facts.ended && facts.lacks.is_some() && !self.setting.is_live;
        self.why = if is_unread { Unstored::Unread } else { Unstored::Stopped };
        let is_live = self.setting.is_live;
        let segment = self.segment(start_ns);
        segment.closed.push(start_ns, facts);
        let is_enough =
            !is_live && (segment.written.rows() >= MOST_ROWS || segment.written.is_older(LONGEST));
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
            segment.closed.windows.push_run(from, windows, facts.clone());
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
        let patience = TIMEOUT.max(Duration::from_nanos(self.setting.window_ns.saturating_mul(2)));
        let late: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, segment)| segment.written.is_older(patience))
            .map(|(until, _)| *until)
            .collect();
        late.into_iter().for_each(|until| self.end_one(until));
    }

    /// Ends all segments, and the run: nothing more comes.
    pub(crate) fn end(&mut self) {
        let until = self
            .open
            .values()
            .filter_map(|segment| segment.closed.windows.ends())
            .map(|[_, last]| last)
            .max();
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

impl SegmentWriter for RowWriter {
    const LEVEL: Level = Level::Rows;

    fn create(path: &Path, setting: &NodeSetting) -> io::Result<Self> {
        let NodeSetting { node, key, tracked, has_wire_bytes, .. } = setting;
        let parts = RowParts { has_wire_bytes: *has_wire_bytes, ..RowParts::ALL };
        let writer = Self::create_stored(path, node, *key, *tracked, parts)?;
        Ok(writer.with_anonymizer(setting.anonymizer.clone()))
    }

    fn window_ns(setting: &NodeSetting) -> u64 {
        setting.window_ns
    }

    fn written_bytes(&self) -> u64 {
        self.bytes()
    }

    fn end(self) -> io::Result<()> {
        self.finish().map(|_| ())
    }
}

impl RowSegment {
    fn new(setting: &NodeSetting) -> Self {
        Self {
            written: OpenSegment::new(),
            closed: ClosedWindows::new(setting.window_ns, setting.default_ns),
            watched: Vec::new(),
            last_ns: None,
        }
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

    /// Ends the file that it writes, with the windows that were closed.
    fn end_file(&mut self, shared: &StoreState, setting: &NodeSetting) {
        let closed = ClosedWindows::new(setting.window_ns, setting.default_ns);
        let closed = std::mem::replace(&mut self.closed, closed);
        if let Some(span) = closed.windows.ends() {
            self.written.cover(shared, setting, span);
        }
        self.written.end_file(shared, setting, |writer| closed.describe(writer));
    }

    fn end(mut self, shared: &StoreState, setting: &NodeSetting) {
        self.end_file(shared, setting);
        if self.lacks_share(setting) {
            self.written
                .fail(shared, "windows of a sample were not closed: it is not known which".to_owned());
        }
        self.written.end(shared, setting, &self.watched);
    }
}
