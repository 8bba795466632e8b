//! Rows of longer windows without ports: each the sum of the rows of its key and time.

use crate::begun::{Begun, FileProperties};
use crate::closed_windows::ClosedWindows;
use crate::segment::SegmentFile;
use crate::shared::StoreState;
use crate::sums::{RowSums, Slice};
use crate::{Level, StoredFile};
use flow::{Rows, TrackedParts, row_columns};
use packet::{KeySpec, KeyV4, KeyV6, Seed};
use record::read::{FlowFile, ReadProjection};
use record::{RowParts, RowWindow, RowWriter, WindowFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of rows that are summed at a time. Where all keys take more, the files are read several times, each time for a part of the keys.
const MEMORY: usize = 128 << 20;
/// The most parts: of ten billion keys of a window, the last may take more memory.
const MOST_PARTS: u64 = 1 << 14;

/// The reason why a rollup is not made.
pub(crate) enum RollupFailure {
    /// A file that cannot be read: which, and one line that names it.
    Damaged(PathBuf, String),
    /// A rollup that cannot be written: one line.
    Output(String),
    /// A rollup that was to stop.
    Stopped,
}

/// A job: files of one node, hour, key and length of windows, which become one file.
pub(crate) struct RollupJob<'a> {
    pub(crate) files: &'a [StoredFile],
    /// The level of the new file.
    pub(crate) level: Level,
    /// The length of the new file's windows, nanoseconds.
    pub(crate) window_ns: u64,
    pub(crate) is_compaction: bool,
}

impl RollupJob<'_> {
    /// Returns the flag that stops the job.
    fn stop_flag<'a>(&self, shared: &'a StoreState) -> &'a AtomicBool {
        if self.is_compaction { &shared.gives_up } else { &shared.stop }
    }
}

/// The text of a key without its ports.
pub(crate) fn without_ports(key: &str) -> String {
    let is_port = |part: &&str| ["src_port", "dst_port"].contains(part);
    key.split(',').filter(|part| !is_port(part)).collect::<Vec<_>>().join(",")
}

struct RollupFile {
    file: SegmentFile<RowWriter>,
    closed: ClosedWindows,
}

/// Writes the file. `parts` is how many parts the keys of a window were divided into at last, and are at first. `None`: there is nothing
/// to write.
pub(crate) fn write(
    shared: &StoreState,
    job: &RollupJob<'_>,
    parts: &mut u64,
) -> Result<Option<(Begun, FileProperties)>, RollupFailure> {
    let Some(first) = job.files.first() else { return Ok(None) };
    let mut inputs = Vec::new();
    for file in job.files {
        inputs.push(FlowFile::open(&file.path).map_err(|error| damaged(&file.path, &error))?);
    }
    let text = without_ports(&first.key);
    // Of ports alone nothing is left: all rows of a window are one.
    let key = if text.is_empty() { KeySpec::NOTHING } else { parsed(&text)? };
    let parts_of_files = || inputs.iter().map(|file| file.contents().tracked);
    // Header fields of a part of the rows are none of the sum: a question for them is refused rather than answered in part.
    let tracked = TrackedParts {
        loss: parts_of_files().any(|tracked| tracked.loss),
        ..TrackedParts::common(parts_of_files())
    };
    // Sums of what some do not tell are not known.
    let has_wire_bytes = inputs.iter().all(|file| file.contents().fields.contains("wire_byte"));
    let length = job.window_ns;
    let begin = first.first_ns - first.first_ns % length;
    let created = SegmentFile::begin(shared, job.level, &first.node, begin, |path| {
        let parts = RowParts { has_means: false, has_wire_bytes };
        RowWriter::create_stored(path, &first.node, key, tracked, parts)
    });
    let file = created.map_err(RollupFailure::Output)?;
    let mut output = RollupFile { file, closed: ClosedWindows::new(length, length) };
    let last = job.files.iter().map(|file| file.last_ns).max().unwrap_or(begin);
    let written =
        output.write_windows(&mut inputs, [begin, last], key, tracked, parts, job.stop_flag(shared));
    if let Err(failure) = written {
        output.file.discard(shared);
        return Err(failure);
    }
    let RollupFile { file, closed } = output;
    if file.is_empty() {
        file.discard(shared);
        return Ok(None);
    }
    let facts = FileProperties {
        window_ns: length,
        key: text,
        is_compacted: job.is_compaction,
        ..FileProperties::default()
    };
    let complete =
        file.end(shared, facts, |writer| closed.describe(writer)).map_err(RollupFailure::Output)?;
    // The next one may have fewer keys.
    *parts = (*parts / 2).max(1);
    Ok(Some(complete))
}

fn parsed(key: &str) -> Result<KeySpec, RollupFailure> {
    let wrong = |_| RollupFailure::Output(format!("the manifest has the key '{key}', which is none"));
    KeySpec::parse(key).map_err(wrong)
}

fn damaged(path: &Path, error: &record::read::ReadError) -> RollupFailure {
    RollupFailure::Damaged(path.to_owned(), error.to_string())
}

impl RollupFile {
    /// Writes the windows from one to another: as many at a time as there is memory for, so that the files are read once.
    fn write_windows(
        &mut self,
        inputs: &mut [FlowFile],
        [begin, last]: [u64; 2],
        key: KeySpec,
        tracked: flow::TrackedParts,
        parts: &mut u64,
        gives_up: &AtomicBool,
    ) -> Result<(), RollupFailure> {
        let length = self.closed.windows.length_ns;
        let wanted = ReadProjection {
            members: key.columns().collect(),
            columns: row_columns(tracked),
            statistics: Vec::new(),
            ..Default::default()
        };
        let mut next = begin;
        let mut at_once = if *parts == 1 { (last - begin) / length + 1 } else { 1 };
        while next <= last {
            let end = next.saturating_add(length.saturating_mul(at_once));
            // With all keys of several windows, or a part of the keys of one.
            let mut part = 0;
            let mut rows: BTreeMap<u64, u64> = BTreeMap::new();
            while part < *parts {
                let slice = Slice { times: next..end, window_ns: length, part, parts: *parts };
                let Some((v4, v6)) = summed(inputs, &wanted, tracked, &slice, gives_up)? else {
                    if at_once > 1 {
                        break;
                    }
                    // Those that are written stay, as twice as many halves.
                    *parts *= 2;
                    part *= 2;
                    continue;
                };
                let windows: BTreeSet<u64> = v4.keys().chain(v6.keys()).copied().collect();
                for start_ns in windows {
                    let window = RowWindow { start_ns, end_ns: start_ns.saturating_add(length) };
                    let v4 = v4.get(&start_ns).map_or(Ok(()), |rows| self.file.writer.write(window, rows));
                    let v6 = v4.and_then(|()| {
                        v6.get(&start_ns).map_or(Ok(()), |rows| self.file.writer.write(window, rows))
                    });
                    v6.map_err(|error| RollupFailure::Output(error.to_string()))?;
                }
                let counts = v4.iter().map(|(window, rows)| (*window, rows.len()));
                for (window, more) in counts.chain(v6.iter().map(|(window, rows)| (*window, rows.len()))) {
                    *rows.entry(window).or_default() += more as u64;
                }
                part += 1;
            }
            if part < *parts {
                at_once = at_once.div_ceil(2);
                continue;
            }
            for start_ns in
                (next..end.min(last.saturating_add(1))).step_by(usize::try_from(length).unwrap_or(usize::MAX))
            {
                self.describe_window(inputs, start_ns, rows.get(&start_ns).copied().unwrap_or(0));
            }
            next = end;
        }
        Ok(())
    }

    /// Writes what the input files tell about a window of the rollup that has `rows` rows.
    fn describe_window(&mut self, inputs: &[FlowFile], start_ns: u64, rows: u64) {
        let span = [start_ns, start_ns.saturating_add(self.closed.windows.length_ns)];
        let mut facts: Option<WindowFacts> = None;
        for more in inputs.iter().filter_map(|file| file.contents().windows.as_ref()?.facts_within(span)) {
            match &mut facts {
                Some(facts) => facts.add(&more, span),
                None => facts = Some(more),
            }
        }
        if facts.is_none() && rows == 0 {
            return;
        }
        self.file.rows += rows;
        self.file.cover([start_ns; 2]);
        if let Some(facts) = facts {
            self.closed.push(start_ns, facts);
        }
    }
}

/// Rows of both address families, by the begins of their windows.
type RollupRows = (BTreeMap<u64, Rows<KeyV4>>, BTreeMap<u64, Rows<KeyV6>>);

/// The sums of a slice, sorted; `None` if they take too much memory.
fn summed(
    inputs: &mut [FlowFile],
    wanted: &ReadProjection,
    tracked: flow::TrackedParts,
    slice: &Slice,
    gives_up: &AtomicBool,
) -> Result<Option<RollupRows>, RollupFailure> {
    let seed = Seed::new(1);
    let (mut v4, mut v6) = (RowSums::default(), RowSums::default());
    let mut is_full = false;
    for file in inputs {
        let is_in = |times: &[u64; 2]| times[0] < slice.times.end && slice.times.start <= times[1];
        let parts: Vec<usize> = (0..file.contents().parts.len())
            .filter(|part| file.contents().parts[*part].times.as_ref().is_none_or(is_in))
            .collect();
        for part in parts {
            if gives_up.load(Relaxed) {
                return Err(RollupFailure::Stopped);
            }
            let read = file.read_part(part, wanted, &mut |block| {
                v4.add(&block.v4, tracked, slice, &seed);
                v6.add(&block.v6, tracked, slice, &seed);
                is_full = v4.bytes() + v6.bytes() > MEMORY && slice.parts < MOST_PARTS;
                !is_full
            });
            read.map_err(|error| damaged(file.path(), &error))?;
            if is_full {
                return Ok(None);
            }
        }
    }
    Ok(Some((v4.into_sorted(), v6.into_sorted())))
}
