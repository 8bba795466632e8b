//! The cost of `--store` to the measuring core: the instructions of its thread with and without it, counted by callgrind over a replay on the
//! software wire. The threads of the store are not in them.

use crate::callgrind;
use crate::{BenchResult, Points};
use serde_json::json;
use std::ffi::OsString;

/// Packets per second of the traffic, whose windows last a second. With its flows there is one row for about ninety packets, as where nine
/// million packets a second are of a million flows in ten seconds: half the packets of a link of 100 Gbit/s.
const RATE: u64 = 4_000_000;
/// Two windows. All flows end with the run, so there is a record for some 160 packets.
const PACKETS: u64 = 8_000_000;
/// Packets of the trace that the wire repeats.
const LAP: u64 = 1_000_000;
/// Flows of the trace.
const FLOWS: u64 = 50_000;

/// Runs the program under callgrind, with its usual answers, without a store and with one.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    if !callgrind::is_there("store") {
        return Ok(());
    }
    let packets = points.packets.unwrap_or(PACKETS).clamp(1, PACKETS);
    let flows = points.flows.unwrap_or(FLOWS).clamp(1, packets);
    let folder = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let mut without = None;
    for (variant, store) in [("measuring", None), ("measuring_stored", Some(folder.path().join("store")))] {
        let lap = packets.min(LAP);
        let wire: [OsString; 4] = [
            "--wire".into(),
            format!("queues=1,packets={packets}").into(),
            "--synthetic".into(),
            format!("packets={lap},flows={flows},zipf=1.0,rate={RATE},seed=1").into(),
        ];
        let stored = store.iter().flat_map(|folder| ["--store".into(), folder.clone().into_os_string()]);
        let counted = callgrind::count(wire.into_iter().chain(stored))?;
        let is_stored = store
            .as_deref()
            .map_or(Ok(true), |folder| super::packets_of(folder).map(|packets| packets == counted.packets))?;
        let base = *without.get_or_insert(counted.instructions as f64 / counted.packets as f64);
        let cost = counted.instructions as f64 / counted.packets as f64 / base - 1.0;
        out(BenchResult {
            bench: "store",
            variant: variant.to_owned(),
            params: vec![("flows", json!(flows)), ("zipf", json!(1.0)), ("cores", json!(1))],
            packets,
            rounds_ns: Vec::new(),
            memory_bytes: None,
            checked: counted.packets == packets && is_stored,
            more: vec![
                ("instructions_per_packet", json!(counted.per_packet())),
                ("cost_percent", json!((cost * 10_000.0).round() / 100.0)),
            ],
        });
    }
    Ok(())
}
