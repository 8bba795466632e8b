//! Flow records as they come: short files of an hour each.

use crate::begun::{Begun, Complete};
use crate::level::HOUR;
use crate::shared::Shared;
use crate::{Change, Level, NodeSetting, retention};
use flow::FlowRecord;
use record::RecordWriter;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long a segment takes records.
const SPAN: Duration = Duration::from_secs(10);
/// Hours that are written at a time, each with the records of a row group in memory.
const MOST_OPEN: usize = 2;
/// Records of a segment of a replay, which is faster than the clock.
const MOST_RECORDS: u64 = 4 << 20;
/// Bytes after which the size of the store is looked at.
const LOOK: u64 = 8 << 20;

/// The segments of a node that are being written, by the hour in which their records end.
pub(crate) struct FlowSegments {
    shared: Arc<Shared>,
    setting: NodeSetting,
    open: BTreeMap<u64, Segment>,
}

struct Segment {
    /// `None` once it could not be written.
    file: Option<(Begun, Box<dyn RecordWriter>)>,
    /// The least and the greatest `ltime`.
    span: [u64; 2],
    records: u64,
    /// Bytes that are on the shared account.
    bytes: u64,
    since: Instant,
}

impl FlowSegments {
    pub(crate) fn new(shared: Arc<Shared>, setting: NodeSetting) -> Self {
        Self { shared, setting, open: BTreeMap::new() }
    }

    pub(crate) fn write(&mut self, records: &[FlowRecord]) {
        for run in records.chunk_by(|one, other| one.ltime / HOUR == other.ltime / HOUR) {
            self.write_hour(run[0].ltime / HOUR, run);
        }
    }

    fn write_hour(&mut self, hour: u64, records: &[FlowRecord]) {
        if !self.open.contains_key(&hour) && self.open.len() == MOST_OPEN {
            let oldest = self.open.keys().next().copied();
            oldest.into_iter().for_each(|hour| self.end_hour(hour));
        }
        let Self { shared, setting, open } = self;
        let segment = open.entry(hour).or_insert_with(|| Segment::begin(shared, setting, records[0].ltime));
        segment.take(shared, records);
        if segment.records >= MOST_RECORDS {
            self.end_hour(hour);
        }
    }

    /// Ends segments that have taken records for long enough.
    pub(crate) fn tick(&mut self) {
        let due: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, segment)| segment.since.elapsed() >= SPAN)
            .map(|(hour, _)| *hour)
            .collect();
        due.into_iter().for_each(|hour| self.end_hour(hour));
    }

    /// Nothing more comes.
    pub(crate) fn end(&mut self) {
        let all: Vec<u64> = self.open.keys().copied().collect();
        all.into_iter().for_each(|hour| self.end_hour(hour));
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
            let finished = writer.finish().map_err(|error| error.to_string());
            match finished.and_then(|_| begun.commit(shared, complete, Change::default())) {
                Ok(()) => {
                    shared.tally.flows.stored.fetch_add(self.records, Relaxed);
                    shared.set_fault(None);
                    self.records = 0;
                }
                Err(reason) => {
                    begun.discard(shared);
                    shared.set_fault(Some(reason));
                }
            }
        }
        shared.tally.flows.refused.fetch_add(self.records, Relaxed);
        shared.open_bytes.fetch_sub(self.bytes, Relaxed);
    }
}
