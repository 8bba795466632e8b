//! Flow records as they come: short files of an hour each.

use crate::level::HOUR;
use crate::segment::{OpenSegment, SegmentWriter};
use crate::shared::StoreState;
use crate::{Level, NodeSetting, flush, retention};
use flow::FlowRecord;
use record::RecordWriter;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
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

/// The segments of a node that are being written, by the hour in which their records end.
pub(crate) struct FlowSegments {
    shared: Arc<StoreState>,
    setting: NodeSetting,
    open: BTreeMap<u64, FlowSegment>,
    /// Records of other hours.
    waiting: BTreeMap<u64, Vec<FlowRecord>>,
    /// The number of records of other hours, and the time since when there are some.
    waiting_records: usize,
    waiting_since: Instant,
}

type FlowSegment = OpenSegment<Box<dyn RecordWriter>>;

impl FlowSegments {
    pub(crate) fn new(shared: Arc<StoreState>, setting: NodeSetting) -> Self {
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
        let segment = open.entry(hour).or_insert_with(FlowSegment::new);
        take(segment, shared, setting, records);
        if segment.rows() >= MOST_RECORDS {
            self.end_hour(hour);
        }
    }

    /// Ends the segment of the oldest hour, if a later one follows and it is worth a file.
    fn give_way(&mut self, hour: u64) -> bool {
        let is_later = self.open.last_key_value().is_some_and(|(last, _)| *last < hour);
        let oldest = self.open.first_key_value().filter(|(_, oldest)| is_later && oldest.rows() >= ENOUGH);
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
            let mut segment = FlowSegment::new();
            hours.iter().for_each(|records| take(&mut segment, &self.shared, &self.setting, records));
            end(segment, &self.shared, &self.setting);
        }
        retention::hold_size(&self.shared);
    }

    /// Ends segments that have taken records for long enough.
    pub(crate) fn tick(&mut self) {
        if !self.waiting.is_empty() && self.waiting_since.elapsed() >= SPAN {
            self.write_waiting();
        }
        let due: Vec<u64> =
            self.open.iter().filter(|(_, segment)| segment.is_older(SPAN)).map(|(hour, _)| *hour).collect();
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
        end(segment, &self.shared, &self.setting);
        retention::hold_size(&self.shared);
    }
}

impl SegmentWriter for Box<dyn RecordWriter> {
    const LEVEL: Level = Level::Flows;

    fn create(path: &Path, setting: &NodeSetting) -> io::Result<Self> {
        record::create_stored(path, &setting.node, &setting.selection)
    }

    fn window_ns(_: &NodeSetting) -> u64 {
        0
    }

    fn written_bytes(&self) -> u64 {
        self.size()
    }

    fn end(self) -> io::Result<()> {
        self.finish().map(|_| ())
    }
}

/// Writes records, of which there are some.
fn take(segment: &mut FlowSegment, shared: &StoreState, setting: &NodeSetting, records: &[FlowRecord]) {
    let first = records[0].ltime;
    let span = records
        .iter()
        .fold([first; 2], |[least, greatest], record| [least.min(record.ltime), greatest.max(record.ltime)]);
    segment.write(shared, setting, span, records.len() as u64, |writer| writer.write(records));
}

fn end(mut segment: FlowSegment, shared: &StoreState, setting: &NodeSetting) {
    segment.end_file(shared, setting, |_| Ok(()));
    segment.end(shared, setting, &[]);
}
