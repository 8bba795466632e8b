//! Window rows as they come: short files, each of whole windows.

use crate::begun::{Begun, Complete};
use crate::level::{HOUR, SECOND};
use crate::shared::Shared;
use crate::watched::{Unstored, Watcher};
use crate::{Level, NodeSetting, flush, retention};
use flow::Rows;
use packet::Key;
use record::{RecordedWindows, RowParts, RowWindow, RowWriter, WindowFacts};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The time of a segment's windows, unless one is longer.
const SPAN: u64 = 10 * SECOND;
/// The same of a recording, whose windows come as fast as they can be read.
const SPAN_OF_RECORDING: u64 = HOUR;
/// The numbers of rows and of seconds after which a segment of a recording ends with the window that is open.
const MOST_ROWS: u64 = 1 << 17;
const LONGEST: Duration = Duration::from_secs(1);
/// A segment that is not complete by then is ended as it is: a clock may have been set back.
const PATIENCE: Duration = Duration::from_secs(30);
/// Segments that are written at a time, each with the rows of a row group in memory.
const MOST_OPEN: usize = 3;
/// The longest time without a packet before a window whose windows are stored as empty ones, nanoseconds.
pub const MOST_EMPTY_NS: u64 = 48 * HOUR;
/// Bytes after which the size of the store is looked at.
const LOOK: u64 = 8 << 20;

/// The segments of a node that are being written.
pub(crate) struct RowSegments {
    shared: Arc<Shared>,
    setting: NodeSetting,
    open: BTreeMap<u64, Segment>,
    /// Why nothing follows the last window that was closed.
    why: Unstored,
}

struct Segment {
    /// `None` once it could not be written.
    file: Option<(Begun, RowWriter)>,
    windows: RecordedWindows,
    /// The times of its windows that were watched, those that follow each other as one.
    watched: Vec<[u64; 2]>,
    /// Why it could not be written.
    fault: Option<String>,
    /// The begins of the first window and the last.
    span: Option<[u64; 2]>,
    without_place: [u64; 3],
    rows: u64,
    /// Bytes that are on the shared account.
    bytes: u64,
    since: Instant,
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

    /// The number of the segment of a window.
    fn slot(&self, start_ns: u64) -> u64 {
        let span = if self.setting.is_live { SPAN } else { SPAN_OF_RECORDING };
        start_ns / self.setting.window_ns.max(span)
    }

    fn segment(&mut self, start_ns: u64) -> &mut Segment {
        let slot = self.slot(start_ns);
        if !self.open.contains_key(&slot) && self.open.len() == MOST_OPEN {
            let oldest = self.open.iter().min_by_key(|(_, segment)| segment.since).map(|(slot, _)| *slot);
            oldest.into_iter().for_each(|slot| self.end_slot(slot));
        }
        let Self { shared, setting, open, .. } = self;
        open.entry(slot).or_insert_with(|| Segment::begin(shared, setting, start_ns))
    }

    pub(crate) fn write<K: Key>(&mut self, start_ns: u64, rows: &Rows<K>) {
        let window = RowWindow { start_ns, end_ns: start_ns.saturating_add(self.setting.window_ns) };
        let shared = Arc::clone(&self.shared);
        let segment = self.segment(start_ns);
        segment.rows += rows.len() as u64;
        segment.extend(start_ns, start_ns);
        let Some((_, writer)) = &mut segment.file else { return };
        let written = writer.write(window, rows).map_err(|error| error.to_string());
        let bytes = writer.bytes();
        match written {
            Ok(()) if bytes >= segment.bytes + LOOK => {
                shared.open_bytes.fetch_add(bytes - segment.bytes, Relaxed);
                segment.bytes = bytes;
                retention::hold_size(&shared);
            }
            Ok(()) => {}
            Err(reason) => segment.fail(&shared, reason),
        }
    }

    /// All rows of a window have come, and `empty_before` windows before it had no packet.
    pub(crate) fn close(&mut self, start_ns: u64, facts: WindowFacts, empty_before: u64) {
        let length = self.setting.window_ns.max(1);
        let empty_since = start_ns.saturating_sub(empty_before.saturating_mul(length));
        // A record that ends later may have had packets in them.
        let empty = WindowFacts { of_records: facts.of_records, ..WindowFacts::default() };
        self.close_empty(empty_since, start_ns, &empty);
        let hour = start_ns - start_ns % HOUR;
        let is_back = |segment: &Segment| {
            segment.windows.ends().is_some_and(|[_, last]| last >= empty_since.max(hour).min(start_ns))
        };
        let slot = self.slot(start_ns);
        if self.open.get(&slot).is_some_and(is_back) {
            // The clock was set back by less than a segment.
            self.end_slot(slot);
        }
        let segment = self.segment(start_ns);
        let since = empty_since.max(hour.next_multiple_of(length));
        if since < start_ns {
            segment.windows.push_run(since, (start_ns - since) / length, empty);
            segment.extend(since, start_ns);
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
        let segment = self.segment(start_ns);
        segment.windows.push(start_ns, facts);
        segment.extend(start_ns, start_ns);
        let is_enough = segment.rows >= MOST_ROWS || segment.since.elapsed() >= LONGEST;
        if self.slot(end) > slot || is_enough && !self.setting.is_live {
            let complete: Vec<u64> = self.open.range(..=slot).map(|(slot, _)| *slot).collect();
            complete.into_iter().for_each(|slot| self.end_slot(slot));
            self.shared.group().reach(&self.setting.node, end);
        }
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
            let slot = self.slot(from);
            // Windows of another segment that is open are not to be mixed with these.
            self.end_slot(slot);
            let segment = self.segment(from);
            segment.windows.push_run(from, windows, facts.clone());
            segment.extend(from, from + (windows - 1) * length);
            segment.watch([from, from + windows * length]);
            self.end_slot(slot);
            from += windows * length;
        }
    }

    /// Ends segments that wait for too long.
    pub(crate) fn tick(&mut self) {
        // Rows of a window come for as long as the next one.
        let patience = PATIENCE.max(Duration::from_nanos(self.setting.window_ns.saturating_mul(2)));
        let late: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, segment)| segment.since.elapsed() >= patience)
            .map(|(slot, _)| *slot)
            .collect();
        late.into_iter().for_each(|slot| self.end_slot(slot));
    }

    /// Nothing more comes.
    pub(crate) fn end(&mut self) {
        let all: Vec<u64> = self.open.keys().copied().collect();
        let until =
            self.open.values().filter_map(|segment| segment.windows.ends()).map(|[_, last]| last).max();
        all.into_iter().for_each(|slot| self.end_slot(slot));
        if let Some(last) = until {
            let end = last.saturating_add(self.setting.window_ns);
            self.shared.group().reach(&self.setting.node, end);
        }
        // The run ends behind its last files: what they watched is noted first.
        flush::flush(&self.shared);
        self.shared.group().end(&self.setting.node, self.why);
        flush::flush(&self.shared);
    }

    fn end_slot(&mut self, slot: u64) {
        let Some(segment) = self.open.remove(&slot) else { return };
        segment.end(&self.shared, &self.setting);
        retention::hold_size(&self.shared);
    }
}

impl Segment {
    fn begin(shared: &Shared, setting: &NodeSetting, start_ns: u64) -> Self {
        let NodeSetting { node, key, tracks_loss, has_wire_bytes, .. } = setting;
        let parts = RowParts { has_wire_bytes: *has_wire_bytes, ..RowParts::ALL };
        let file = Begun::create(shared, Level::Rows, node, start_ns, |path| {
            RowWriter::create_stored(path, node, *key, *tracks_loss, parts).map_err(|error| error.to_string())
        });
        let mut segment = Self {
            file: None,
            windows: RecordedWindows::new(setting.window_ns, setting.usual_ns),
            watched: Vec::new(),
            fault: None,
            span: None,
            without_place: [0; 3],
            rows: 0,
            bytes: 0,
            since: Instant::now(),
        };
        match file {
            Ok((begun, writer)) => {
                segment.file = Some((begun, writer.with_anonymizer(setting.anonymizer.clone())));
            }
            Err(reason) => segment.fail(shared, reason),
        }
        segment
    }

    fn extend(&mut self, first_ns: u64, last_ns: u64) {
        let [first, last] = self.span.unwrap_or([first_ns, last_ns]);
        self.span = Some([first.min(first_ns), last.max(last_ns)]);
    }

    /// A time was watched, which follows all before it.
    fn watch(&mut self, time: [u64; 2]) {
        match self.watched.last_mut() {
            Some(last) if last[1] >= time[0] && time[1] >= last[0] => {
                *last = [last[0].min(time[0]), last[1].max(time[1])];
            }
            _ => self.watched.push(time),
        }
    }

    /// Gives the file up: its rows are not stored.
    fn fail(&mut self, shared: &Shared, reason: String) {
        self.fault = Some(reason.clone());
        if let Some((begun, writer)) = self.file.take() {
            drop(writer);
            begun.discard(shared);
        }
        shared.set_fault(Some(reason));
    }

    fn end(mut self, shared: &Shared, setting: &NodeSetting) {
        if let (Some([first_ns, last_ns]), Some((begun, writer))) = (self.span, self.file.take()) {
            let complete = Complete {
                first_ns,
                last_ns,
                window_ns: setting.window_ns,
                rows: self.rows,
                key: setting.key_text(),
                ..Complete::default()
            };
            match self.finish(writer) {
                Ok(()) => {
                    flush::add(shared, begun, complete, std::mem::take(&mut self.watched));
                    self.rows = 0;
                }
                Err(reason) => {
                    begun.discard(shared);
                    shared.set_fault(Some(reason.clone()));
                    self.fault = Some(reason);
                }
            }
        } else if let Some((begun, writer)) = self.file.take() {
            drop(writer);
            begun.discard(shared);
        }
        if let Some(reason) = &self.fault {
            flush::lose(shared, &setting.node, &self.watched, reason);
        }
        shared.tally.rows.refused.fetch_add(self.rows, Relaxed);
        shared.open_bytes.fetch_sub(self.bytes, Relaxed);
    }

    fn finish(&self, mut writer: RowWriter) -> Result<(), String> {
        let [packets, bytes, wire_bytes] = self.without_place;
        writer.describe_without_place(packets, bytes, wire_bytes);
        writer.describe_windows(&self.windows).map_err(|error| error.to_string())?;
        writer.finish().map(|_| ()).map_err(|error| error.to_string())
    }
}
