//! The cost to the measuring core of a controller and its transport in the process: the instructions of its thread, counted by callgrind over a
//! replay of one capture, with and without them.

use super::WINDOW_NS;
use crate::callgrind::{self, CallgrindRun};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use model::{Answer, Value};
use port::CaptureWriter;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use traffic::{Generator, TrafficSpec};

const ETHERNET: u16 = 1;
/// Packets per second of the traffic, as in `edison-lab bench query`.
const RATE: u64 = 1_000_000;
/// A query of each window, which answers all groups.
const CONTINUOUS_QUERY: &str = "q1: select dst_addr, count(src_addr) as n groupby dst_addr limit 1M every 1s";
/// A query that the standing one never starts.
const TRIGGERED: &str = "q2: select count(*) when q1.n > 1000G";

/// The number of sources of each destination in a window, by the number of the window.
type DestinationSources = BTreeMap<(u64, Ipv4Addr), u64>;

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    if !callgrind::is_there("events") {
        return Ok(());
    }
    let packets = points.packets.unwrap_or(4_000_000).max(1);
    let flows = points.flows.unwrap_or(50_000).clamp(1, packets);
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let capture = directory.path().join("bench.pcap");
    let spec = format!("packets={packets},flows={flows},zipf=1.0,rate={RATE},seed=1");
    let truth = write_capture(&capture, &spec)?;
    let mut node = OsString::from("NodeX=");
    node.push(&capture);
    let chain = format!("{CONTINUOUS_QUERY}; {TRIGGERED}");
    let count = |source: OsString, queries: &str| callgrind::count([source, "-q".into(), queries.into()]);
    let (direct, controlled) = (count(capture.into(), CONTINUOUS_QUERY)?, count(node, &chain)?);
    let more = 100.0 * (controlled.instructions as f64 / direct.instructions as f64 - 1.0);
    for (variant, counted) in [("direct", &direct), ("controlled", &controlled)] {
        check(counted, packets, &truth).map_err(|wrong| format!("transport, {variant}: {wrong}"))?;
        let mut figures = vec![("instructions_per_packet", json!(counted.per_packet()))];
        if variant == "controlled" {
            figures.push(("more_percent", json!(to_digits(more, 3))));
        }
        out(BenchResult {
            bench: "events",
            variant: format!("transport_{variant}"),
            params: vec![("flows", json!(flows)), ("zipf", json!(1.0)), ("cores", json!(1))],
            packets,
            rounds_ns: Vec::new(),
            memory_bytes: None,
            checked: true,
            more: figures,
        });
    }
    Ok(())
}

/// Writes the traffic, and counts what the standing query asks.
fn write_capture(path: &Path, spec: &str) -> Result<DestinationSources, String> {
    let spec: TrafficSpec = spec.parse().map_err(|error| format!("{spec}: {error}"))?;
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut generator = Generator::new(spec);
    let mut frame = vec![0; generator.longest_capture()];
    let mut writer = CaptureWriter::create(path, ETHERNET, 65_535).map_err(fail)?;
    let mut pairs = HashSet::new();
    while let Some(made) = generator.next_frame(&mut frame) {
        writer.write(made.time_ns, &frame[..made.captured as usize], made.wire_len).map_err(fail)?;
        let address = |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
        pairs.insert((made.time_ns / WINDOW_NS, address(30), address(26)));
    }
    writer.finish().map_err(fail)?;
    let mut truth = DestinationSources::new();
    pairs.into_iter().for_each(|(window, to, _)| *truth.entry((window, to)).or_default() += 1);
    Ok(truth)
}

/// Checks that all packets were measured, that the answers are those that were counted apart, and that nothing else was said.
fn check(counted: &CallgrindRun, packets: u64, truth: &DestinationSources) -> Result<(), String> {
    if counted.packets != packets {
        return Err(format!("{} of {packets} packets were measured", counted.packets));
    }
    match answered(&counted.lines) {
        Some(answered) if answered == *truth => Ok(()),
        Some(answered) => {
            Err(format!("{} groups were answered, not the {} that there are", answered.len(), truth.len()))
        }
        None => Err("lines are no answers of the standing query".to_owned()),
    }
}

/// Reads the rows of all answers; `None` if a line is no answer of the standing query.
fn answered(lines: &[serde_json::Value]) -> Option<DestinationSources> {
    let mut all = DestinationSources::new();
    for line in lines {
        let answer = Answer::deserialize(line).ok().filter(|answer| answer.query == "q1")?;
        let window = answer.window?.start_ns / WINDOW_NS;
        for row in &answer.rows {
            let [Value::Address(IpAddr::V4(address)), Value::Unsigned(sources)] = row[..] else {
                return None;
            };
            if all.insert((window, address), sources).is_some() {
                return None;
            }
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, ColumnKind, Span};

    #[test]
    fn wrong_answers_and_events_are_found() {
        let directory = tempfile::tempdir().expect("a place for files");
        // Two windows and a half.
        let spec = "packets=250,flows=40,zipf=1.0,rate=100,seed=1";
        let truth = write_capture(&directory.path().join("t.pcap"), spec).expect("a capture");
        let windows: HashSet<u64> = truth.keys().map(|(window, _)| *window).collect();
        assert_eq!(windows.len(), 3, "{truth:?}");
        let columns = [("dst_addr", ColumnKind::Address), ("n", ColumnKind::Unsigned)];
        let columns = columns.map(|(name, kind)| Column::new(name, kind, ""));
        let answer = |window: u64| {
            let start_ns = window * WINDOW_NS;
            let rows = truth.iter().filter(|((own, _), _)| *own == window);
            let rows = rows.map(|((_, to), n)| vec![Value::Address((*to).into()), Value::Unsigned(*n)]);
            let span = Span { start_ns, end_ns: start_ns + WINDOW_NS };
            Answer::new("q1", Some(span), columns.to_vec(), rows.collect())
        };
        let lines: Vec<_> = windows.iter().map(|window| json!(answer(*window))).collect();
        let counted =
            |lines: &[serde_json::Value]| CallgrindRun { instructions: 1, packets: 9, lines: lines.to_vec() };
        assert_eq!(check(&counted(&lines), 9, &truth), Ok(()));
        assert!(check(&counted(&lines), 10, &truth).is_err());
        assert!(check(&counted(&lines[1..]), 9, &truth).is_err());
        let mut more = truth.clone();
        more.values_mut().take(1).for_each(|sources| *sources += 1);
        assert!(check(&counted(&lines), 9, &more).is_err());
        let twice = [&lines[..], &lines[..1]].concat();
        assert!(check(&counted(&twice), 9, &truth).is_err());
        let other = [&lines[..], &[json!({"event": "0123", "kind": "fired"})]].concat();
        assert!(check(&counted(&other), 9, &truth).is_err());
    }
}
