//! The time that the store's threads take: rows of windows of ten seconds and the records of their flows, up to the compacted hour and the
//! rollups.

use super::ask;
use super::made::{NODE, SECOND, START, WINDOW, random, window};
use crate::compare::{in_turn, median, process_time, thread_time};
use crate::{BenchResult, Points};
use ::store::{NodeSetting, StoreRetention, StoreWriter};
use flow::{FlowKey, FlowRecord, Rows, WindowRow};
use model::{Answer, Value};
use packet::{KeySpec, KeyV4, MaskedKey};
use record::{Selection, WindowFacts};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use task::query::{OutputColumn, Over, Query};

/// Windows of a round.
const WINDOWS: u64 = 6;
/// Rows of all windows, unless it is said.
const ROWS: u64 = 600_000;
/// Rows that are handed over at a time, as the engine's blocks have.
const BLOCK: usize = 2048;
/// The rate that has to be kept up with: a million flows in each window.
const FLOWS_OF_WINDOW: f64 = 1e6;

/// Writes rows and records of six windows, and closes the store. What makes them is not in the time.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let of_window = points.packets.unwrap_or(ROWS).div_ceil(WINDOWS).max(1);
    let mut numbers = random(13);
    let windows: Vec<_> =
        (0..WINDOWS).map(|at| window(&mut numbers, START + at * WINDOW, of_window, true)).collect();
    let mut fault = None;
    let (mut checked, mut file_bytes) = (true, 0);
    let times = in_turn(&mut [()], points.seconds, |()| match round(&windows) {
        Ok(round) => {
            checked &= round.is_right;
            file_bytes = round.file_bytes;
            round.time_ns
        }
        Err(error) => {
            fault = Some(error);
            0.0
        }
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    let rounds_ns = times.into_iter().next().unwrap_or_default();
    let rows = WINDOWS * of_window;
    let of_row = median(&rounds_ns) / rows as f64;
    out(BenchResult {
        bench: "store",
        variant: "writing".to_owned(),
        params: vec![("flows", json!(of_window)), ("windows", json!(WINDOWS))],
        packets: rows,
        rounds_ns,
        memory_bytes: None,
        checked,
        more: vec![
            ("rows_per_s", json!((1e9 / of_row).round())),
            // The share of a core that a million flows in ten seconds take.
            ("cores", json!((of_row * FLOWS_OF_WINDOW / WINDOW as f64 * 1000.0).round() / 1000.0)),
            ("bytes_per_row", json!((10.0 * file_bytes as f64 / rows as f64).round() / 10.0)),
        ],
    });
    Ok(())
}

struct WritingRound {
    /// Processor time of the threads of the store.
    time_ns: f64,
    is_right: bool,
    /// The bytes of the files of rows, records and rollups.
    file_bytes: u64,
}

fn round(windows: &[Vec<WindowRow<KeyV4>>]) -> Result<WritingRound, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let setting = NodeSetting {
        node: NODE.to_owned(),
        source: Some("synthetic".to_owned()),
        key: KeySpec::FIVE_TUPLE,
        window_ns: WINDOW,
        default_ns: WINDOW,
        tracked: flow::TrackedParts::PLAIN,
        has_wire_bytes: true,
        selection: Selection::all(),
        anonymizer: None,
        is_live: true,
        waits: true,
    };
    let [began, own] = [process_time(), thread_time()];
    let store = StoreWriter::open(folder.path(), StoreRetention::default(), StoreWriter::QUEUE_BYTES)?;
    let (mut rows, records) = store.node(setting);
    let mut records = records.ok_or("the store takes no records")?;
    for (at, window) in windows.iter().enumerate() {
        let start_ns = START + at as u64 * WINDOW;
        for block in window.chunks(BLOCK) {
            rows.write_v4(start_ns, &Rows { rows: block.to_vec(), ..Rows::default() });
            let ended: Vec<_> = block.iter().map(record).collect();
            records.write(&ended).map_err(|error| error.to_string())?;
        }
        rows.close(start_ns, WindowFacts::default(), 0);
    }
    // A window of the next hour, so that the first one is over.
    let next_ns = START + 3600 * SECOND;
    let last =
        windows.iter().flatten().take(1).map(|row| WindowRow { first_ns: next_ns, last_ns: next_ns, ..*row });
    rows.write_v4(next_ns, &Rows { rows: last.collect(), ..Rows::default() });
    rows.close(next_ns, WindowFacts::default(), 3600 * SECOND / WINDOW - windows.len() as u64);
    records.finish().map_err(|error| error.to_string())?;
    rows.finish();
    let counts = store.close(false);
    let time_ns = (process_time() - began) - (thread_time() - own);
    let number: u64 = windows.iter().map(|window| window.len() as u64).sum();
    let is_right = counts.rows.stored == number + 1
        && counts.flows.stored == number
        && counts.rows.lost() + counts.flows.lost() + counts.failed_upkeep == 0
        && are_there(folder.path(), windows)?;
    Ok(WritingRound { time_ns, is_right, file_bytes: counts.bytes })
}

/// Returns true if the store answers with the sums of the rows, one of which it has twice.
fn are_there(store: &Path, windows: &[Vec<WindowRow<KeyV4>>]) -> Result<bool, String> {
    let all = || windows.iter().flatten();
    let again = all().take(1);
    let expected = [
        all().chain(again.clone()).map(|row| row.bytes).sum(),
        all().chain(again).map(|row| row.packets).sum(),
    ];
    let sums = Query {
        over: Over::Run,
        ..Query::new("sums", [], [OutputColumn::sum("total_byte"), OutputColumn::sum("total_count")])
    };
    let answers = ask(store, &sums)?;
    let is_sum = |answer: &Answer| {
        answer.rows == [expected.map(Value::Unsigned)]
            && answer.levels.first().is_some_and(|level| level == "1h")
    };
    Ok(matches!(&answers[..], [answer] if is_sum(answer)))
}

/// The record of a flow that is in one window alone.
fn record(row: &WindowRow<KeyV4>) -> FlowRecord {
    let [source, destination] =
        row.key.addresses().map(|address| IpAddr::from(Ipv4Addr::from_bits(address as u32)));
    let [from, to] = row.key.ports();
    FlowRecord {
        key: Some(FlowKey::five_tuple((source, from), (destination, to), row.key.protocol())),
        total_count: row.packets,
        total_byte: row.bytes,
        wire_byte: row.wire_bytes,
        ..FlowRecord::without_packets(row.first_ns, row.last_ns)
    }
}
