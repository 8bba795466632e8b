//! Header fields of flows (`--headers`), against what tshark reads of each packet: in records of every design and format, in windows, in files and
//! in a store.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number, rows};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SECOND: u64 = 1_000_000_000;
/// A multiple of all windows here.
const START: u64 = 1_700_000_400 * SECOND;

/// Flow label, least and greatest time to live.
type Headers = [Option<u64>; 3];

/// A query for all three fields, by the port of the flow.
const ASKED: &str = "select src_port, max(flow_label) as label, min(ip_ttl_min) as least, max(ip_ttl_max) as most groupby src_port";

/// UDP packets of flows of both families: labels and times to live that are all the same, that differ now and then, and any.
fn frames(count: u64) -> Vec<Frame> {
    let mut state = 11u64;
    let mut below = move |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut time_ns = START;
    let frame = |_| {
        time_ns += below(12_000_000);
        let flow = below(60);
        let ttl = if flow % 4 == 0 { 64 } else { below(256) } as u8;
        let label = match flow % 5 {
            0 | 1 => flow * 7919,
            2 => flow + below(40) / 39,
            3 => 0,
            _ => below(1 << 20),
        };
        let length = below(50) as u8;
        let mut data = vec![2; 12];
        if flow % 2 == 0 {
            data.extend([
                8,
                0,
                0x45,
                0,
                0,
                28 + length,
                0,
                0,
                0,
                0,
                ttl,
                17,
                0,
                0,
                10,
                0,
                0,
                flow as u8,
                10,
                9,
                9,
                9,
            ]);
        } else {
            data.extend([0x86, 0xdd]);
            data.extend((6 << 28 | label as u32).to_be_bytes());
            data.extend([0, 8 + length, 17, ttl]);
            data.extend([&[0xfd; 15][..], &[flow as u8], &[0xfe; 16]].concat());
        }
        data.extend((1000 + flow as u16).to_be_bytes());
        data.extend([0, 53, 0, 8 + length, 0, 0]);
        data.resize(data.len() + usize::from(length), 0);
        Frame { time_ns, data }
    };
    (0..count).map(frame).collect()
}

/// A capture, and the number of a window, of a second, and the values of each packet, by the port of its flow: as tshark reads them.
struct Capture {
    path: PathBuf,
    packets: Vec<(u64, u64, Headers)>,
}

impl Capture {
    fn new(scratch: &Scratch) -> Self {
        let path = scratch.file("headers.pcap", capture::pcap(ETHERNET, &frames(4000)));
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&path).args(["-T", "fields"]);
        for field in ["frame.time_epoch", "udp.srcport", "ip.ttl", "ipv6.hlim", "ipv6.flow"] {
            tshark.args(["-e", field]);
        }
        let read = tshark.output().expect("tshark is there");
        let packet = |line: &str| {
            let values: Vec<&str> = line.split('\t').collect();
            let ttl = values[2].parse().or_else(|_| values[3].parse()).ok();
            let label = values[4].strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            let (seconds, _) = values[0].split_once('.').expect("seconds");
            (seconds.parse().expect("seconds"), values[1].parse().expect("a port"), [label, ttl, ttl])
        };
        let packets: Vec<_> = String::from_utf8(read.stdout).expect("text").lines().map(packet).collect();
        assert_eq!(packets.len(), 4000);
        Self { path, packets }
    }

    /// The values of each flow, of its packets in this period, in seconds.
    fn flows(&self, period: std::ops::Range<u64>) -> BTreeMap<u64, Headers> {
        let mut all: BTreeMap<u64, Vec<Headers>> = BTreeMap::new();
        for (_, port, values) in self.packets.iter().filter(|(second, ..)| period.contains(second)) {
            all.entry(*port).or_default().push(*values);
        }
        let of = |packets: Vec<Headers>| {
            let label = packets[0][0].filter(|label| packets.iter().all(|packet| packet[0] == Some(*label)));
            let ttl = || packets.iter().filter_map(|packet| packet[1]);
            [label, ttl().min(), ttl().max()]
        };
        all.into_iter().map(|(port, packets)| (port, of(packets))).collect()
    }

    fn all(&self) -> BTreeMap<u64, Headers> {
        self.flows(0..u64::MAX)
    }

    fn run(&self, options: &[&str]) -> Command {
        let mut command = edison();
        command.arg("run").arg(&self.path).args(options);
        command
    }
}

fn answered(answer: &Value) -> BTreeMap<u64, Headers> {
    let row = |row: &Value| {
        let of = |name: &str| (!row[name].is_null()).then(|| number(&row[name]));
        (number(&row["src_port"]), ["label", "least", "most"].map(of))
    };
    rows(answer).iter().map(row).collect()
}

/// The answer of recorded flows to the question for all three fields.
fn recorded(arguments: &[&str]) -> BTreeMap<u64, Headers> {
    let ended = call(&[&["query"], arguments, &[ASKED, "--json"]].concat()).expect(0);
    answered(&serde_json::from_str(ended.stdout.lines().next().expect("an answer")).expect("JSON"))
}

const OFF: [&str; 4] = ["--active-timeout", "off", "--idle-timeout", "off"];

#[test]
fn records_have_what_tshark_reads_in_every_design_and_format() {
    let scratch = Scratch::new();
    let capture = Capture::new(&scratch);
    let expected = capture.all();
    assert!(expected.values().any(|[label, ..]| label.is_some()) && expected.len() == 60);
    let designs: [&[&str]; 6] = [
        &[],
        &["--design", "1x3"],
        &["--design", "sync", "--cores", "2"],
        &["--design", "1x2", "--split", "position"],
        &["--design", "1x2", "--state", "shared"],
        &["--loss", "--biflow", "--packet-size", "mean,p50"],
    ];
    for design in designs {
        let path = scratch.path("flows.parquet");
        run(capture.run(&["--headers", "--flows", text(&path)]).args(design).args(OFF)).expect(0);
        assert_eq!(recorded(&[text(&path)]), expected, "{design:?}");
    }
    for format in ["csv", "jsonl", "ipfix"] {
        let path = scratch.path(&format!("flows.{format}"));
        run(&mut capture.run(&["--headers", "--flows", text(&path)])).expect(0);
        assert_eq!(recorded(&[text(&path)]), expected, "{format}");
    }
    // What a record has of its packets follows it into the next one.
    let path = scratch.path("short.csv");
    run(&mut capture.run(&["--headers", "--active-timeout", "1s", "--flows", text(&path)])).expect(0);
    assert!(std::fs::read_to_string(&path).expect("a file").lines().count() > 200);
    let least = |flows: &BTreeMap<u64, Headers>| flows.values().map(|values| values[1]).collect::<Vec<_>>();
    assert_eq!(least(&recorded(&[text(&path)])), least(&expected));
}

#[test]
fn windows_have_what_tshark_reads_of_their_packets() {
    let scratch = Scratch::new();
    let capture = Capture::new(&scratch);
    let report = scratch.path("report.json");
    // A question alone asks for them; a window of several merges those of each flow.
    let asked = format!("s: {ASKED} every 1s; l: {ASKED} every 5s; r: {ASKED}");
    run(capture.run(&["--every", "1s", "--json", "-q", &asked]).arg("--report").arg(&report)).expect(0);
    let report = output::report(&report);
    assert_eq!(answered(output::of_run(&report, "r")), capture.all());
    let (store, file) = (scratch.path("store"), scratch.path("rows.parquet"));
    let ended = run(&mut capture.run(&[
        "--headers",
        "--every",
        "1s",
        "--json",
        "-q",
        &asked,
        "--store",
        text(&store),
        "--rows",
        text(&file),
    ]))
    .expect(0);
    let (mut short, mut long) = (0, 0);
    for line in ended.stdout.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let (count, length) = match line["query"].as_str() {
            Some("s") => (&mut short, 1),
            Some("l") => (&mut long, 5),
            _ => continue,
        };
        *count += 1;
        let begin = output::time(&line["window"]["start"]) / SECOND / length * length;
        assert_eq!(answered(&line), capture.flows(begin..begin + length), "{begin}");
    }
    assert!(short > 20 && long > 4, "{short} {long}");
    assert_eq!(recorded(&["--store", text(&store)]), capture.all());
    assert_eq!(recorded(&[text(&file)]), capture.all());
}

#[test]
fn without_the_option_nothing_has_them_and_the_refusal_names_it() {
    let scratch = Scratch::new();
    let capture = Capture::new(&scratch);
    let path = scratch.path("flows.csv");
    run(&mut capture.run(&["--flows", text(&path)])).expect(0);
    let header = std::fs::read_to_string(&path).expect("a file");
    assert!(!header.contains("flow_label"), "{header}");
    call(&["query", text(&path), ASKED]).says(2, &["header fields", "edison run --headers --flows"]);
    run(&mut capture.run(&["--flows", text(&path), "--fields", "flow_label"])).says(2, &["--headers"]);
    // A query by packets has rows of its own.
    let by_packets = "select min(ip_ttl), min(ip_ttl_min)";
    let refused = run(&mut capture.run(&["-q", by_packets])).expect(2);
    assert!(refused.stderr.contains("ip_ttl_min is measured of whole flows"), "{}", refused.stderr);
    let rows: PathBuf = scratch.path("rows.parquet");
    run(&mut capture.run(&["--every", "1s", "--rows", text(&rows)])).expect(0);
    let query = scratch.file("query.eq", format!("q: {ASKED};"));
    dry_run(&rows, &query);
}

/// A dry run over rows without header fields is refused.
fn dry_run(rows: &Path, query: &Path) {
    call(&["dry-run", text(query), text(rows)]).says(2, &["--headers"]);
}

/// A rollup of files of which one lacks header fields has none: an answer from it would be of a part of the packets.
#[test]
fn a_rollup_of_files_of_which_one_lacks_them_has_none() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    // Two recordings in one hour, and one a day later, which closes the hour.
    let recordings: [(u64, &[&str]); 3] =
        [(1_704_103_200, &[]), (1_704_104_400, &["--headers"]), (1_704_200_000, &["--headers"])];
    for (start, options) in recordings {
        let path = scratch.path(&format!("{start}.pcap"));
        let spec = format!("packets=500,flows=20,rate=500,start={start}");
        run(edison().arg("generate").arg(&path).arg(spec)).expect(0);
        let keep = ["--every", "1s", "--store-keep", "rows=1min,1min=100y,1h=100y", "--node", "n"];
        run(edison().arg("run").arg(&path).args(options).args(keep).arg("--store").arg(&store)).expect(0);
    }
    let hour = store.join("rollup=1h/date=2024-01-01/hour=10/node=n");
    let files: Vec<PathBuf> =
        std::fs::read_dir(&hour).expect("a rollup").map(|file| file.expect("a file").path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let counted = call(&["query", text(file), "select sum(total_count) as n", "--json"]).expect(0);
    let answer: Value =
        serde_json::from_str(counted.stdout.lines().next().expect("an answer")).expect("JSON");
    assert_eq!(number(&rows(&answer)[0]["n"]), 1000);
    // Rollups keep no ports.
    let asked = ASKED.replace("src_port", "src_addr");
    call(&["query", text(file), &asked]).says(2, &["header fields", "edison run --headers --flows"]);
    let of_store = ["query", "--store", text(&store), "--to", "2024-01-01T12:00:00Z", &asked];
    call(&of_store).says(2, &["not all rows have flow_label, which --headers keeps"]);
}
