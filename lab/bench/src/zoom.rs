//! `edison-lab bench zoom`: what the losses, or the statistics of packets, of a few flows cost, compared with none and with the losses of all
//! flows: instructions of the measuring thread, counted by callgrind, and processor time of the whole program.

use crate::callgrind::{self, CallgrindRun};
use crate::capture::children_usage;
use crate::compare::{in_turn, median_ratio};
use crate::line::to_digits;
use crate::program;
use crate::{BenchResult, Points};
use port::CaptureWriter;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use traffic::{Generator, TrafficSpec};

const ETHERNET: u16 = 1;
/// Packets per second, as in `edison-lab bench query`.
const RATE: u64 = 1_000_000;
/// Flows that are pinned, and connections with losses.
const PINNED: usize = 64;
/// The identity of an IPv4 flow in a frame: addresses and ports.
type FrameFlowKey = [u8; 12];

/// A variant: what is asked, of which flows, and with which option.
struct TrackingVariant {
    name: &'static str,
    flows: Vec<FrameFlowKey>,
    items: &'static str,
    tracks_all: bool,
}

const BYTES: &str = "sum(total_byte) as bytes";
const LOSSES: &str = "sum(ploss_byte) as lost, sum(ploss_count) as gone, sum(retrans_byte) as again, sum(reorder_count) as late, \
                      sum(hole_count) as holes, min(rtt_min) as trip";

const STATISTICS: &str = "max(gap_p99) as gap, avg(iat_mean) as apart, max(size_stddev) as spread";

impl TrackingVariant {
    fn arguments(&self, capture: &Path) -> Vec<OsString> {
        let flows: Vec<_> = self.flows.iter().map(condition).collect();
        let keys = "src_addr, src_port, dst_addr, dst_port";
        let query = format!(
            "q: select {keys}, {} where {} groupby {keys} order by {keys} every 1s",
            self.items,
            flows.join(" or ")
        );
        let loss = self.tracks_all.then(|| "--loss".into());
        [capture.into(), "-q".into(), query.into()].into_iter().chain(loss).collect()
    }

    /// Processor time of the program, nanoseconds.
    fn round(&self, edison: &Path, capture: &Path) -> Result<f64, String> {
        let mut command = Command::new(edison);
        command.args(["run", "--json", "-n", "0", "--seed", "1", "--every", "1s"]);
        let before = children_usage();
        let ran = command.args(self.arguments(capture)).stdin(Stdio::null()).output();
        let ran = ran.map_err(|error| error.to_string())?;
        match ran.status.success() {
            true => Ok(children_usage() - before),
            false => Err(format!("{}: {}", self.name, String::from_utf8_lossy(&ran.stderr))),
        }
    }
}

/// The condition that one flow alone fulfils.
fn condition(flow: &FrameFlowKey) -> String {
    let address = |at: usize| Ipv4Addr::new(flow[at], flow[at + 1], flow[at + 2], flow[at + 3]);
    let port = |at: usize| u16::from_be_bytes([flow[at], flow[at + 1]]);
    format!(
        "(src_addr = {} and dst_addr = {} and src_port = {} and dst_port = {} and protocol = TCP)",
        address(0),
        address(4),
        port(8),
        port(10)
    )
}

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let edison = program::edison()?;
    let packets = points.packets.unwrap_or(4_000_000).max(100_000);
    let flows = points.flows.unwrap_or(1_000_000).clamp(1, packets);
    let zipf = points.zipf.unwrap_or(1.0);
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let capture = directory.path().join("bench.pcap");
    let spec = format!(
        "packets={packets},flows={flows},zipf={zipf},rate={RATE},seed=1,plant=loss:connections={PINNED}:segments=100:start=5%"
    );
    let (lossy, heaviest) = write_capture(&capture, &spec)?;
    let variant = |name, flows: &[FrameFlowKey], items, tracks_all| TrackingVariant {
        name,
        flows: flows.to_vec(),
        items,
        tracks_all,
    };
    let mut variants = [
        variant("none", &lossy, BYTES, false),
        variant("zoom", &lossy, LOSSES, false),
        variant("zoom_heaviest", &heaviest, LOSSES, false),
        variant("all", &lossy, LOSSES, true),
        variant("all_heaviest", &heaviest, LOSSES, true),
        variant("statistics", &lossy, STATISTICS, false),
        variant("statistics_heaviest", &heaviest, STATISTICS, false),
    ];
    let mut counted = Vec::new();
    if callgrind::is_there("zoom") {
        for variant in &variants {
            counted.push(callgrind::count(variant.arguments(&capture))?);
        }
        check(&counted, packets)?;
    }
    let mut fault = None;
    let times = in_turn(&mut variants, points.seconds, |variant| {
        variant.round(&edison, &capture).unwrap_or_else(|wrong| {
            fault = Some(wrong);
            f64::NAN
        })
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    for (at, (variant, rounds_ns)) in variants.iter().zip(&times).enumerate() {
        let mut more = vec![("times_none", json!(to_digits(median_ratio(rounds_ns, &times[0]), 3)))];
        if let Some(own) = counted.get(at) {
            let base = counted[0].instructions as f64;
            let percent = 100.0 * (own.instructions as f64 / base - 1.0);
            more.push(("instructions_per_packet", json!(own.per_packet())));
            more.push(("more_percent", json!(to_digits(percent, 3))));
        }
        out(BenchResult {
            bench: "zoom",
            variant: variant.name.to_owned(),
            params: vec![
                ("flows", json!(flows)),
                ("zipf", json!(zipf)),
                ("pinned", json!(PINNED)),
                ("cores", json!(1)),
            ],
            packets,
            rounds_ns: rounds_ns.clone(),
            memory_bytes: None,
            checked: !counted.is_empty(),
            more,
        });
    }
    Ok(())
}

/// Checks that all packets were measured, and that the losses of pinned flows are those that tracking all flows finds of them.
fn check(counted: &[CallgrindRun], packets: u64) -> Result<(), String> {
    let [_, zoom, zoom_heaviest, all, all_heaviest, of_packets @ ..] = counted else {
        return Err("five runs".to_owned());
    };
    if let Some(other) = counted.iter().find(|counted| counted.packets != packets) {
        return Err(format!("{} of {packets} packets were measured", other.packets));
    }
    for (what, zoomed, tracked) in [("zoom", zoom, all), ("zoom_heaviest", zoom_heaviest, all_heaviest)] {
        let (zoomed_rows, rows) = (answered(zoomed, "zoom"), answered(tracked, "row"));
        if rows.is_none() || zoomed_rows != rows {
            return Err(format!("{what}: its losses are not those that tracking all flows finds"));
        }
    }
    for told in of_packets {
        let rows: Vec<Value> =
            answered(told, "zoom").into_iter().flatten().flat_map(|(_, rows)| rows).collect();
        if rows.is_empty() || rows.iter().all(|row| row["gap"].is_null() || row["apart"].is_null()) {
            return Err("packets of pinned flows tell no statistics".to_owned());
        }
    }
    let lost = |row: &Value| row["lost"].as_u64().unwrap_or(0);
    let found: u64 =
        answered(zoom, "zoom").into_iter().flatten().flat_map(|(_, rows)| rows).map(|row| lost(&row)).sum();
    if found == 0 { Err("nothing was lost of connections with losses".to_owned()) } else { Ok(()) }
}

/// Windows and the rows of their answers; `None` where an answer is not of this class.
fn answered(counted: &CallgrindRun, class: &str) -> Option<Vec<(Value, Vec<Value>)>> {
    let of = |line: &Value| {
        let rows = line["rows"].as_array().filter(|_| line["class"] == class)?;
        Some((line["window"].clone(), rows.clone()))
    };
    counted.lines.iter().filter(|line| line["query"] == "q").map(of).collect()
}

/// Writes the traffic. Gives the data's direction of the connections with losses, and the heaviest flows of TCP.
fn write_capture(path: &Path, spec: &str) -> Result<(Vec<FrameFlowKey>, Vec<FrameFlowKey>), String> {
    let spec: TrafficSpec = spec.parse().map_err(|error| format!("{spec}: {error}"))?;
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut generator = Generator::new(spec);
    let mut frame = vec![0; generator.longest_capture()];
    let mut writer = CaptureWriter::create(path, ETHERNET, 65_535).map_err(fail)?;
    let mut counts: HashMap<FrameFlowKey, u64> = HashMap::new();
    while let Some(made) = generator.next_frame(&mut frame) {
        writer.write(made.time_ns, &frame[..made.captured as usize], made.wire_len).map_err(fail)?;
        // Untagged IPv4 without options.
        if frame[12..15] == [0x08, 0x00, 0x45] && frame[23] == 6 {
            let flow = std::array::from_fn(|at| frame[26 + at]);
            *counts.entry(flow).or_default() += 1;
        }
    }
    writer.finish().map_err(fail)?;
    // From clients in 10.1.0.0/16 to the event's server.
    let is_lossy =
        |flow: &FrameFlowKey| flow[..2] == [10, 1] && flow[4..8] == [192, 0, 2, 10] && flow[10..] == [1, 187];
    let mut lossy: Vec<FrameFlowKey> = counts.keys().filter(|flow| is_lossy(flow)).copied().collect();
    lossy.sort_unstable_by_key(|flow| (std::cmp::Reverse(counts[flow]), *flow));
    lossy.truncate(PINNED);
    let mut others: Vec<_> = counts.iter().map(|(flow, count)| (std::cmp::Reverse(*count), *flow)).collect();
    others.sort_unstable();
    let heaviest = others.into_iter().take(PINNED).map(|(_, flow)| flow).collect();
    if lossy.len() < PINNED {
        Err("too few connections with losses".to_owned())
    } else {
        Ok((lossy, heaviest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(class: &str, lost: u64) -> CallgrindRun {
        let line = json!({"query": "q", "class": class, "window": [0, 1], "rows": [{"lost": lost}]});
        CallgrindRun { instructions: 1, packets: 9, lines: vec![line] }
    }

    #[test]
    fn other_losses_are_found() {
        let of = |lost: [u64; 4]| {
            let [zoom, zoom_heaviest, all, all_heaviest] = lost;
            let zoomed = [zoom, zoom_heaviest].map(|lost| counted("zoom", lost));
            let tracked = [all, all_heaviest].map(|lost| counted("row", lost));
            [counted("row", 0)].into_iter().chain(zoomed).chain(tracked).collect::<Vec<_>>()
        };
        assert_eq!(check(&of([5, 0, 5, 0]), 9), Ok(()));
        assert!(check(&of([5, 0, 5, 0]), 10).is_err());
        assert!(check(&of([5, 0, 6, 0]), 9).is_err());
        assert!(check(&of([5, 1, 5, 0]), 9).is_err());
        assert!(check(&of([0, 0, 0, 0]), 9).is_err());
        assert!(check(&of([5, 0, 5, 0])[..4], 9).is_err());
        // Statistics that are not there.
        let runs = of([5, 0, 5, 0]).into_iter().chain([counted("zoom", 0)]);
        assert!(check(&runs.collect::<Vec<_>>(), 9).is_err());
    }

    #[test]
    fn connections_with_losses_are_in_the_traffic() {
        let directory = tempfile::tempdir().expect("a place for files");
        let spec = "packets=60k,flows=500,rate=1000000,plant=loss:connections=64:segments=100:start=5%";
        let (lossy, heaviest) = write_capture(&directory.path().join("t.pcap"), spec).expect("a capture");
        assert_eq!((lossy.len(), heaviest.len()), (PINNED, PINNED));
        let text = condition(&lossy[0]);
        assert!(text.starts_with("(src_addr = 10.1.") && text.contains("dst_port = 443"), "{text}");
    }
}
