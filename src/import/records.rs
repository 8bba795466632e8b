//! Flow records into a store.

use flow::{BatchRows, FlowRecord, NULL, OpenFields, TrackedParts, WindowRow, row_columns};
use notation::grouped;
use packet::{Key, KeySpec};
use record::RecordWriter;
use record::read::{FlowFile, ReadProjection, RowBlock};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The node of records that do not tell it, as where rows are replayed.
const UNKNOWN: &str = "unknown";

/// The records of nodes.
#[derive(Default)]
pub(super) struct RecordImport {
    nodes: BTreeMap<String, ImportNode>,
    taken: u64,
    /// Records of nodes that the files did not have when they were surveyed.
    strange: u64,
}

struct ImportNode {
    key: KeySpec,
    /// `None` where records are not stored.
    writer: Option<Box<dyn RecordWriter>>,
}

impl RecordImport {
    /// A node whose records may come.
    pub(super) fn node(&mut self, name: &str, key: KeySpec, writer: Option<Box<dyn RecordWriter>>) {
        self.nodes.insert(name.to_owned(), ImportNode { key, writer });
    }

    /// Takes the records of a file. `named`: the node that they are of, whatever they tell. Returns what could not be taken, a line each.
    pub(super) fn take(&mut self, path: &Path, named: Option<&str>, stop: &AtomicBool) -> Vec<String> {
        let mut file = match FlowFile::open(path) {
            Ok(file) => file,
            Err(error) => return vec![error.to_string()],
        };
        let key = file.contents().key;
        // Losses of records are none of windows.
        let tracked = TrackedParts { loss: false, ..file.contents().tracked };
        let wanted = ReadProjection {
            members: key.columns().collect(),
            columns: row_columns(tracked),
            open_fields: true,
            samples: true,
            needs_time: true,
            ..Default::default()
        };
        let (mut lines, mut without_time, mut without_address) = (Vec::new(), 0, 0);
        for part in 0..file.contents().parts.len() {
            let read = file.read_part(part, &wanted, &mut |block| {
                without_address += block.without_key.len() as u64;
                without_time += self.block(block, named, tracked);
                !stop.load(Relaxed)
            });
            lines.extend(read.err().map(|error| error.to_string()));
            // Said when it was surveyed, in the same words.
            lines.extend(file.passed_over().map(|what| format!("{}: {what}", path.display())));
        }
        let strange = std::mem::take(&mut self.strange);
        if strange != 0 {
            lines.push(format!(
                "{}: it changed while it was read: {} records are of nodes that it did not have",
                path.display(),
                grouped(strange)
            ));
        }
        for (number, what) in [(without_time, "time"), (without_address, "address")] {
            if number != 0 {
                lines.push(format!("{}: {} records have no {what}", path.display(), grouped(number)));
            }
        }
        lines
    }

    /// Takes a block. Returns how many of its records have no time.
    fn block(&mut self, block: &RowBlock, named: Option<&str>, tracked: TrackedParts) -> u64 {
        let name = named.or(block.node.as_deref()).unwrap_or(UNKNOWN);
        // A file that changed since it was surveyed may name others.
        let Some(ImportNode { key, writer }) = self.nodes.get_mut(name) else {
            self.strange += (block.v4.len() + block.v6.len()) as u64;
            return 0;
        };
        let Some(writer) = writer else { return 0 };
        let mut records = Vec::new();
        let [v4, v6] = &block.open;
        let without_time = records_of(&BatchRows::new(&block.v4, tracked), v4, key, &mut records)
            + records_of(&BatchRows::new(&block.v6, tracked), v6, key, &mut records);
        self.taken += records.len() as u64;
        // It counts itself what it does not take.
        let _ = writer.write(&records);
        without_time
    }

    /// Ends all writers once they have written their records. Returns the number of records that were taken.
    pub(super) fn finish(self) -> u64 {
        for node in self.nodes.into_values() {
            let _ = node.writer.map(RecordWriter::finish);
        }
        self.taken
    }
}

/// Appends the records of rows, each of which leaves these fields open. Returns the number of rows without a time, which are none.
fn records_of<K: Key>(
    rows: &BatchRows<'_, K>,
    open: &[OpenFields],
    key: &KeySpec,
    records: &mut Vec<FlowRecord>,
) -> u64 {
    let mut without_time = 0;
    for at in 0..rows.len() {
        if rows.time(at) == NULL {
            without_time += 1;
            continue;
        }
        let (row, _) = rows.row(at);
        let open = open.get(at).copied().unwrap_or_default();
        // The rate of a sample is not among the values of rows.
        let sampling_rate = u32::from(!open.has_any(const { OpenFields::from_field("sampling_rate") }));
        records.push(FlowRecord { open, sampling_rate, ..record(&row, key) });
    }
    without_time
}

fn record<K: Key>(row: &WindowRow<K>, key: &KeySpec) -> FlowRecord {
    // No flow begins behind its end.
    let stime = row.first_ns.min(row.last_ns);
    FlowRecord { stime, ..FlowRecord::of_row(row.key.flow_key(key), row) }
}
