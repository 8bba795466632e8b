//! Flow records as they come: short files of an hour each.

use crate::begun::{Begun, Complete};
use crate::level::HOUR;
use crate::shared::Shared;
use crate::{Level, NodeSetting, flush, retention};
use flow::FlowRecord;
use record::RecordWriter;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The time that a segment takes records.
const SPAN: Duration = Duration::from_secs(10);
/// Hours that are written at a time, each with the records of a row group in memory.
const MOST_OPEN: usize = 2;
/// The number of records of other hours at which these are written, and the most files that they are written to: a file for each hour would be short.
const MOST_WAITING: usize = 16_384;
const MOST_FILES: usize = 64;
/// The number of records that a segment has, at the least, before it gives its place to a later hour.
const ENOUGH: u64 = 16_384;
/// Records of a segment of a replay, which is faster than the clock.
const MOST_RECORDS: u64 = 4 << 20;
/// Bytes after which the size of the store is looked at.
const LOOK: u64 = 8 << 20;

/// The segments of a node that are being written, by the hour in which their records end.
pub(crate) struct FlowSegments {
    shared: Arc<Shared>,
    setting: NodeSetting,
    open: BTreeMap<u64, Segment>,
    /// Records of other hours.
    waiting: BTreeMap<u64, Vec<FlowRecord>>,
    /// The number of records of other hours, and the time since when there are some.
    waiting_records: usize,
    waiting_since: Instant,
}

struct Segment {
    /// The file of the segment; `None` once it could not be written.
    file: Option<(Begun, Box<dyn RecordWriter>)>,
    /// The least and the greatest `ltime` of its records.
    span: [u64; 2],
    records: u64,
    /// Bytes that are on the shared account.
    bytes: u64,
    since: Instant,
}

impl FlowSegments {
    pub(crate) fn new(shared: Arc<Shared>, setting: NodeSetting) -> Self {
        Self {
            shared,
            setting,
            open: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waiting_records: 0,
            waiting_since: Instant::now(),
        }
    }

    pub(crate) fn write(&mut self, records: &[FlowRecord]) {
        for run in records.chunk_by(|one, other| one.ltime / HOUR == other.ltime / HOUR) {
            self.write_hour(run[0].ltime / HOUR, run);
        }
    }

    fn write_hour(&mut self, hour: u64, records: &[FlowRecord]) {
        if !self.open.contains_key(&hour) && self.open.len() == MOST_OPEN && !self.give_way(hour) {
            return self.wait(hour, records);
        }
        let Self { shared, setting, open, .. } = self;
        let segment = open.entry(hour).or_insert_with(|| Segment::begin(shared, setting, records[0].ltime));
        segment.take(shared, records);
        if segment.records >= MOST_RECORDS {
            self.end_hour(hour);
        }
    }

    /// Ends the segment of the oldest hour, if a later one follows and it is worth a file.
    fn give_way(&mut self, hour: u64) -> bool {
        let is_later = self.open.last_key_value().is_some_and(|(last, _)| *last < hour);
        let oldest = self.open.first_key_value().filter(|(_, oldest)| is_later && oldest.records >= ENOUGH);
        let Some(oldest) = oldest.map(|(hour, _)| *hour) else { return false };
        self.end_hour(oldest);
        true
    }

    /// Keeps records whose hour is not written now.
    fn wait(&mut self, hour: u64, records: &[FlowRecord]) {
        if self.waiting.is_empty() {
            self.waiting_since = Instant::now();
        }
        self.waiting.entry(hour).or_default().extend_from_slice(records);
        self.waiting_records += records.len();
        if self.waiting_records >= MOST_WAITING {
            self.write_waiting();
        }
    }

    /// Writes the records that wait: a file for each hour or, of too many, for several that follow each other.
    fn write_waiting(&mut self) {
        self.waiting_records = 0;
        let waiting: Vec<_> = std::mem::take(&mut self.waiting).into_values().collect();
        for hours in waiting.chunks(waiting.len().div_ceil(MOST_FILES).max(1)) {
            let mut segment = Segment::begin(&self.shared, &self.setting, hours[0][0].ltime);
            hours.iter().for_each(|records| segment.take(&self.shared, records));
            segment.end(&self.shared, &self.setting);
        }
        retention::hold_size(&self.shared);
    }

    /// Ends segments that have taken records for long enough.
    pub(crate) fn tick(&mut self) {
        if !self.waiting.is_empty() && self.waiting_since.elapsed() >= SPAN {
            self.write_waiting();
        }
        let due: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, segment)| segment.since.elapsed() >= SPAN)
            .map(|(hour, _)| *hour)
            .collect();
        due.into_iter().for_each(|hour| self.end_hour(hour));
    }

    /// Ends all segments: no records follow.
    pub(crate) fn end(&mut self) {
        self.write_waiting();
        let all: Vec<u64> = self.open.keys().copied().collect();
        all.into_iter().for_each(|hour| self.end_hour(hour));
        flush::flush_all(&self.shared);
    }

    fn end_hour(&mut self, hour: u64) {
        let Some(segment) = self.open.remove(&hour) else { return };
        segment.end(&self.shared, &self.setting);
        retention::hold_size(&self.shared);
    }
}

impl Segment {
    fn begin(shared: &Shared, setting: &NodeSetting, ltime: u64) -> Self {
        let NodeSetting { node, selection, .. } = setting;
        let file = Begun::create(shared, Level::Flows, node, ltime, |path| {
            record::create_stored(path, node, selection).map_err(|error| error.to_string())
        });
        let mut segment = Self { file: None, span: [ltime; 2], records: 0, bytes: 0, since: Instant::now() };
        match file {
            Ok(file) => segment.file = Some(file),
            Err(reason) => segment.fail(shared, reason),
        }
        segment
    }

    fn take(&mut self, shared: &Shared, records: &[FlowRecord]) {
        self.records += records.len() as u64;
        for record in records {
            self.span = [self.span[0].min(record.ltime), self.span[1].max(record.ltime)];
        }
        let Some((_, writer)) = &mut self.file else { return };
        let written = writer.write(records).map_err(|error| error.to_string());
        let bytes = writer.size();
        match written {
            Ok(()) if bytes >= self.bytes + LOOK => {
                shared.open_bytes.fetch_add(bytes - self.bytes, Relaxed);
                self.bytes = bytes;
                retention::hold_size(shared);
            }
            Ok(()) => {}
            Err(reason) => self.fail(shared, reason),
        }
    }

    /// Gives the file up: its records are not stored.
    fn fail(&mut self, shared: &Shared, reason: String) {
        if let Some((begun, writer)) = self.file.take() {
            drop(writer);
            begun.discard(shared);
        }
        shared.set_fault(Some(reason));
    }

    fn end(mut self, shared: &Shared, setting: &NodeSetting) {
        if let Some((begun, writer)) = self.file.take() {
            let complete = Complete {
                first_ns: self.span[0],
                last_ns: self.span[1],
                rows: self.records,
                key: setting.key_text(),
                ..Complete::default()
            };
            match writer.finish() {
                Ok(_) => {
                    flush::add(shared, vec![(begun, complete)], &[]);
                    self.records = 0;
                }
                Err(error) => {
                    begun.discard(shared);
                    shared.set_fault(Some(error.to_string()));
                }
            }
        }
        shared.tally.flows.refused.fetch_add(self.records, Relaxed);
        shared.open_bytes.fetch_sub(self.bytes, Relaxed);
    }
}
