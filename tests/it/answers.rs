//! What `--json`, `--report` and `--rows` write: it has the schemas, is read back as it was written, and
//! agrees with the frames.

use crate::support::capture::{self, ETHERNET, Frame, Generated, Key};
use crate::support::output::{self, number, time};
use crate::support::program::{edison, run};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use model::{Answer, RunReport};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

const SECOND: u64 = 1_000_000_000;
/// A multiple of all windows here.
const START: u64 = 1_700_000_000 * SECOND;

const MIXED: &str = "packets=6000,flows=700,size=64:7/594:4/1518:1,ipv6=30%,rate=1k,start=1704067203.5,\
                     plant=flood:sources=150/scan/elephant";

/// Runs `edison run` with `--json` and `--report`, and checks the form of both. The lines and the report.
fn checked(scratch: &Scratch, arguments: &[&str], code: i32) -> (Vec<String>, Value) {
    let path = scratch.path("report.json");
    let ended = run(edison().args(["run", "--json", "--report"]).arg(&path).args(arguments)).expect(code);
    let lines: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
    for line in &lines {
        schema::of_line(line);
        let answer: Answer = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&answer).expect("JSON"), *line);
    }
    output::windows(lines.iter().map(String::as_str));
    let text = std::fs::read_to_string(&path).expect("written");
    schema::of_report(&text);
    let report: RunReport = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(serde_json::to_string_pretty(&report).expect("JSON") + "\n", text);
    (lines, output::report(&path))
}

fn pcap(scratch: &Scratch, name: &str, frames: &[Frame]) -> PathBuf {
    scratch.file(name, capture::pcap(ETHERNET, frames))
}

/// A frame at each of these times, over seven flows.
fn frames_at(times: impl IntoIterator<Item = u64>) -> Vec<Frame> {
    (0..)
        .zip(times)
        .map(|(n, time)| Frame { time_ns: START + time, data: capture::udp(1000 + n % 7) })
        .collect()
}

#[test]
fn what_runs_write_has_the_schemas_and_is_read_back() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, MIXED);
    let mixed = text(&path);
    let gap = pcap(&scratch, "gap.pcap", &frames_at([0, 1, 95 * SECOND, 96 * SECOND]));
    let none = pcap(&scratch, "none.pcap", &[]);
    let mut arp = capture::udp(1);
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut odd = frames_at([0, 5 * SECOND, 2 * SECOND]);
    odd.push(Frame { time_ns: START + 6 * SECOND, data: arp });
    let odd = pcap(&scratch, "odd.pcap", &odd);
    let key = scratch.file("key", (0..32).collect::<Vec<u8>>());
    let lossy = scratch.path("path.pcap");
    run(edison()
        .arg("generate")
        .arg(&lossy)
        .args(["--path", "connections=8,segments=700,hops=2,lossy=1,loss=1%"]))
    .expect(0);
    let lossy = scratch.path("path.tap2.pcap");
    let tasks = [
        "heavy-hitters:share=1%,packets=60k",
        "heavy-hitters:key=src_addr,prefixes=8/16/24/32,share=2%",
        "heavy-hitters:key=src_addr/24,top=3",
        "heavy-hitters:top=3,structure=count-sketch,memory=64KiB",
        "super-spreaders:key=dst_addr,of=src_addr,count=50,memory=256KiB",
        "change:key=dst_addr,share=2%",
        "flow-sizes:memory=64KiB",
        "entropy:memory=16KiB,packets=100k",
        "entropy:by=bytes",
        "quantiles:key=src_addr",
        "quantiles:key=size,structure=reservoir,memory=64KiB",
    ];
    let tasks: Vec<&str> = tasks.iter().flat_map(|task| ["--task", *task]).collect();

    let csv = scratch.path("flows.csv");
    // The source, more options, the exit code, and a query that must be there.
    let cases: [(&[&str], &[&str], i32, &str); 17] = [
        (&[text(&lossy)], &["--loss", "--every", "50ms", "--top", "3"], 0, "top_loss"),
        (&[mixed], &["--every", "1s"], 0, "top_packets"),
        (&[mixed], &["--top", "0"], 0, "totals"),
        (&[mixed], &[&tasks[..], &["--every", "1s"]].concat(), 0, "quantiles"),
        (&[mixed], &[&tasks[..], &["--every", "2s", "--anonymize", text(&key)]].concat(), 0, "heavy_hitters"),
        (&[mixed], &["--key", "dst_port", "--every", "1s"], 0, "top_bytes"),
        (&[mixed], &["--key", "src_addr/24/64,protocol,vlan", "--every", "1s"], 0, "top_bytes"),
        (&[mixed], &["--every", "500p"], 0, "top_bytes"),
        (
            &[mixed],
            &["--max-flows", "50", "--every", "1s", "--biflow", "--gap", "mean", "-w", text(&csv)],
            0,
            "top_bytes",
        ),
        (&[mixed], &["--design", "1x2", "--every", "1s", "--node", "a \"node\"\n"], 0, "top_bytes"),
        (&[mixed], &["--wire", "queues=2", "--every", "1s"], 0, "top_bytes"),
        (&[text(&gap)], &["--every", "10s", "--task", "entropy"], 0, "entropy"),
        (&[text(&odd)], &["--every", "1s"], 0, "totals"),
        (&[text(&none)], &[], 0, ""),
        (&[text(&none), mixed], &[], 0, "totals"),
        (&["--synthetic", "packets=10k,flows=500"], &["--wire", "rate=500kpps,packets=5k"], 0, "totals"),
        (
            &["--synthetic", "packets=10k,flows=500"],
            &["--wire", "rate=200Mpps,queues=2,ring=64,packets=50k"],
            0,
            "totals",
        ),
    ];
    for (source, options, code, query) in cases {
        let (lines, report) = checked(&scratch, &[source, options].concat(), code);
        let is_there = lines.iter().any(|line| line.contains(&format!("\"query\":\"{query}\"")));
        assert!(is_there || query.is_empty(), "{options:?}: {lines:?}");
        assert_eq!(lines.is_empty(), query.is_empty(), "{options:?}");
        let last = report["command_line"].as_array().and_then(|words| words.last());
        assert_eq!(last, [source, options].concat().last().map(|word| Value::from(*word)).as_ref());
    }
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        let (lines, _) = checked(&scratch, &[mixed, "--cores", "2", "--every", "1s"], 0);
        let (on_one_core, _) = checked(&scratch, &[mixed, "--cores", "1", "--every", "1s"], 0);
        assert!(lines == on_one_core, "two cores give other lines");
    }
    // Ended early: what was measured is written all the same.
    let bytes = std::fs::read(&path).expect("written");
    let cut = scratch.file("cut.pcap", &bytes[..bytes.len() / 2]);
    let (_, report) = checked(&scratch, &[text(&cut)], 3);
    assert_eq!(output::list(&report["faults"]).len(), 1);
}

/// A row of a file of window rows, as the frames have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    packets: u64,
    total_byte: u64,
    wire_byte: u64,
    first: u64,
    last: u64,
}

/// Rows by the start of their window and by key.
type Rows = BTreeMap<(u64, Key), Row>;

/// The rows of frames whose times never go back.
fn rows_of(frames: &[Frame], window: u64) -> Rows {
    let mut rows = Rows::new();
    for frame in frames {
        let (key, length) = capture::layer3(&frame.data);
        let first = Row { packets: 0, total_byte: 0, wire_byte: 0, first: frame.time_ns, last: 0 };
        let row = rows.entry((frame.time_ns / window * window, key)).or_insert(first);
        row.packets += 1;
        row.total_byte += length;
        row.wire_byte += frame.data.len() as u64;
        row.last = frame.time_ns;
    }
    rows
}

/// The rows of a Parquet file, each of which must have its node, and how many there are: those of the same window and key are
/// added up.
fn read_rows(path: &Path, node: &str) -> (Rows, usize) {
    let reader = SerializedFileReader::new(std::fs::File::open(path).expect("written")).expect("Parquet");
    let integer = |field: &Field| match field {
        Field::UByte(value) => u64::from(*value),
        Field::UShort(value) => u64::from(*value),
        Field::UInt(value) => u64::from(*value),
        Field::ULong(value) => *value,
        Field::Long(value) | Field::TimestampMicros(value) => u64::try_from(*value).expect("not negative"),
        other => panic!("{other:?} is no integer"),
    };
    let address = |field: &Field| match field {
        Field::Bytes(bytes) => {
            let address = Ipv6Addr::from(<[u8; 16]>::try_from(bytes.data()).expect("16 bytes"));
            address.to_ipv4_mapped().map_or(IpAddr::from(address), IpAddr::from)
        }
        other => panic!("{other:?} is no address"),
    };
    let (mut rows, mut count) = (Rows::new(), 0);
    for record in reader.get_row_iter(None).expect("rows") {
        let record = record.expect("a row");
        let columns: BTreeMap<&str, &Field> =
            record.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
        let number = |name: &str| integer(columns[name]);
        let small = |name: &str| u16::try_from(number(name)).expect("16 bits");
        let (source, destination) = (address(columns["src_addr"]), address(columns["dst_addr"]));
        let protocol = u8::try_from(number("protocol")).expect("8 bits");
        let key = (source, destination, protocol, small("src_port"), small("dst_port"));
        assert_eq!(*columns["node_id"], Field::Str(node.to_owned()));
        assert_eq!(number("ip_version"), if source.is_ipv6() { 6 } else { 4 });
        let row = Row {
            packets: number("total_count"),
            total_byte: number("total_byte"),
            wire_byte: number("wire_byte"),
            first: number("stime_ns"),
            last: number("ltime_ns"),
        };
        count += 1;
        rows.entry((number("window_start") * 1000, key))
            .and_modify(|sum| {
                sum.packets += row.packets;
                sum.total_byte += row.total_byte;
                sum.wire_byte += row.wire_byte;
                (sum.first, sum.last) = (sum.first.min(row.first), sum.last.max(row.last));
            })
            .or_insert(row);
    }
    (rows, count)
}

#[test]
fn window_rows_are_the_flows_of_each_window() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, MIXED);
    let (rows, csv) = (scratch.path("rows.parquet"), scratch.path("flows.csv"));
    let short = ["--idle-timeout", "100ms"];
    let off = ["--idle-timeout", "off", "--active-timeout", "off"];
    let mut cases = vec![
        ("1s", SECOND, vec![]),
        ("1s", SECOND, short.to_vec()),
        ("1s", SECOND, vec!["--idle-timeout", "off", "--active-timeout", "150ms"]),
        ("10s", 10 * SECOND, off.to_vec()),
        ("250ms", SECOND / 4, short.to_vec()),
        ("1s", SECOND, [&["--design", "1x2"], &short[..]].concat()),
        ("1s", SECOND, [&["--wire", "queues=2"], &short[..]].concat()),
        ("1s", SECOND, [&["--wire", "queues=2", "--design", "2x2", "--state", "shared"], &off[..]].concat()),
        ("1s", SECOND, [&["--design", "1x3", "--split", "position"], &off[..]].concat()),
        ("1s", SECOND, vec!["--biflow", "-w", text(&csv)]),
    ];
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        cases.push(("1s", SECOND, vec!["--cores", "2"]));
        cases.push(("1s", SECOND, [&["--cores", "2"], &short[..]].concat()));
    }
    let mut restarted = 0;
    for (every, window, options) in cases {
        let report = scratch.path("report.json");
        let mut command = edison();
        command.arg("run").arg(&path).args(["--node", "here", "--every", every]).args(&options);
        run(command.arg("--rows").arg(&rows).arg("--report").arg(&report)).expect(0);
        let expected = rows_of(&frames, window);
        let (found, count) = read_rows(&rows, "here");
        assert_eq!(found.len(), expected.len(), "{every} {options:?}");
        for (at, row) in &expected {
            assert_eq!(found.get(at), Some(row), "{every} {options:?}: {at:?}");
        }
        assert_eq!(count, expected.len(), "{every} {options:?}: one row for each window and key");
        let report = output::report(&report);
        let flows: HashSet<Key> = expected.keys().map(|(_, key)| *key).collect();
        restarted += u64::from(number(&report["flows"]["seen"]) > flows.len() as u64);
        let is_biflow = options.contains(&"--biflow");
        assert_eq!(number(&report["flows"]["exported"]) != 0, is_biflow, "nothing else takes records");
    }
    assert!(restarted > 3, "in some of them flows have several records");
}

#[test]
fn window_rows_have_the_losses_of_the_report() {
    let scratch = Scratch::new();
    let path = scratch.path("path.pcap");
    run(edison()
        .arg("generate")
        .arg(&path)
        .args(["--path", "connections=8,segments=700,hops=2,lossy=1,loss=1%"]))
    .expect(0);
    let (rows, report) = (scratch.path("rows.parquet"), scratch.path("report.json"));
    let mut command = edison();
    command.args(["run", "--loss", "--every", "50ms"]).arg(scratch.path("path.tap2.pcap"));
    run(command.arg("--rows").arg(&rows).arg("--report").arg(&report)).expect(0);
    let reader = SerializedFileReader::new(std::fs::File::open(&rows).expect("written")).expect("Parquet");
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for record in reader.get_row_iter(None).expect("rows") {
        for (name, field) in record.expect("a row").get_column_iter() {
            let value = match field {
                Field::UInt(value) => u64::from(*value),
                Field::ULong(value) => *value,
                _ => continue,
            };
            *sums.entry(name.clone()).or_default() += value;
        }
    }
    let report = output::report(&report);
    let all = &output::rows(output::of_run(&report, "tcp_loss"))[0];
    assert!(number(&all["ploss_byte"]) > 0);
    for name in ["ploss_byte", "ploss_count", "retrans_count", "retrans_byte", "unseen_byte", "reorder_count"]
    {
        assert_eq!(sums[name], number(&all[name]), "{name}");
    }
}

#[test]
fn rows_that_cannot_be_written_are_refused_in_one_line() {
    let scratch = Scratch::new();
    let path = pcap(&scratch, "one.pcap", &frames_at([0]));
    let refused = |options: &[&str], words: &[&str]| {
        let flows = scratch.path("flows.csv");
        let mut command = edison();
        command.arg("run").arg(&path).args(options).arg("--flows").arg(&flows);
        let ended = run(&mut command).says(2, words);
        assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{}", ended.stderr);
        let part = scratch.path("flows.csv.part");
        assert!(!flows.exists() && !part.exists(), "{options:?} leaves a file of records");
    };
    let (csv, parquet) = (scratch.path("x.csv"), scratch.path("r.parquet"));
    refused(&["--rows", text(&csv)], &["x.csv", "Parquet", ".parquet"]);
    refused(&["--rows", text(&parquet), "--every", "1Mp"], &["--rows", "--every"]);
    refused(&["--rows", "/nonexistent/r.parquet"], &["/nonexistent/r.parquet"]);
    let left: Vec<_> =
        std::fs::read_dir(&scratch).expect("a directory").map(|entry| entry.expect("one").path()).collect();
    assert_eq!(left, [path], "no file is left behind");
}

#[test]
fn a_run_of_empty_windows_is_one_object() {
    let scratch = Scratch::new();
    let path = pcap(&scratch, "gap.pcap", &frames_at([0, 95 * SECOND]));
    for (options, coverage) in [(&[][..], Value::Null), (&["--wire", ""], 1.0.into())] {
        let (lines, report) = checked(&scratch, &[&[text(&path), "--every", "10s"], options].concat(), 0);
        let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let named: Vec<_> = lines.iter().map(|line| line["query"].as_str().expect("a name")).collect();
        let whole = ["totals", "top_bytes", "top_packets"];
        assert_eq!(named, [&whole[..], &["totals"], &whole].concat());
        let at = |second: u64| START + second * SECOND;
        let span = |line: &Value| [&line["window"]["start"], &line["window"]["end"]].map(time);
        for (numbers, from, to) in [(0..3, 0, 10), (3..4, 10, 90), (4..7, 90, 100)] {
            for line in &lines[numbers] {
                assert_eq!(span(line), [at(from), at(to)], "{line}");
            }
        }
        let empty = &lines[3];
        assert_eq!((number(&empty["empty"]), &empty["status"]), (8, &"complete".into()));
        assert_eq!((output::rows(empty).len(), &empty["node"]), (0, &lines[0]["node"]));
        assert_eq!(empty["coverage"], coverage, "as in other windows");
        assert!(lines.iter().all(|line| line["coverage"] == coverage));
        assert!(lines.iter().enumerate().all(|(number, line)| number == 3 || line["empty"].is_null()));
        assert_eq!(number(&report["windows"]["count"]), 2, "empty windows are not among them");
        assert_eq!(number(&report["windows"]["jump"]), 1);
    }
    // Neighbours have none between them; windows of packets have no empty ones.
    for (times, every) in [([0, 19 * SECOND], "10s"), ([0, 95 * SECOND], "1p")] {
        let path = pcap(&scratch, "near.pcap", &frames_at(times));
        let (lines, _) = checked(&scratch, &[text(&path), "--every", every], 0);
        assert_eq!(lines.len(), 6);
        assert!(lines.iter().all(|line| !line.contains("\"empty\"")));
    }
}

/// Status, and what was watched, of each window, which all its answers agree about; in nanoseconds from [`START`] on.
fn watched(lines: &[String]) -> Vec<(u64, Option<[u64; 2]>)> {
    let windows = output::windows(lines.iter().map(String::as_str));
    let of = |window: &output::Window| {
        let totals = window.answer("totals");
        for answer in &window.answers {
            assert_eq!([&answer["status"], &answer["watched"]], [&totals["status"], &totals["watched"]]);
        }
        assert_eq!(totals["status"], if totals["watched"].is_null() { "complete" } else { "cut" });
        let span = (!totals["watched"].is_null())
            .then(|| ["start", "end"].map(|name| time(&totals["watched"][name]) - START));
        (window.start - START, span)
    };
    windows.iter().map(of).collect()
}

#[test]
fn the_first_and_the_last_window_are_cut() {
    const TEN: u64 = 10 * SECOND;
    let scratch = Scratch::new();
    let of = |times: &[u64], options: &[&str]| {
        let path = pcap(&scratch, "cut.pcap", &frames_at(times.iter().copied()));
        let arguments = [&[text(&path), "--every", "10s", "--task", "entropy"], options].concat();
        watched(&checked(&scratch, &arguments, 0).0)
    };
    let (first, last) = (3 * SECOND + 7, 34 * SECOND + 5);
    let times = [first, 9 * SECOND, 12 * SECOND, 25 * SECOND, 31 * SECOND, last];
    for options in [&[][..], &["--design", "1x2"], &["--wire", ""], &["--wire", "queues=2"]] {
        let expected =
            [(0, Some([first, TEN])), (TEN, None), (2 * TEN, None), (3 * TEN, Some([3 * TEN, last + 1]))];
        assert_eq!(of(&times, options), expected, "{options:?}");
    }
    // Within one window; from a window's first instant on; up to its last one.
    assert_eq!(of(&[first, 4 * SECOND], &[]), [(0, Some([first, 4 * SECOND + 1]))]);
    assert_eq!(of(&[0, TEN], &[]), [(0, None), (TEN, Some([TEN, TEN + 1]))]);
    // Time ends where the latest frame is, not the last one.
    assert_eq!(of(&[0, 8 * SECOND, 5 * SECOND], &[]), [(0, Some([0, 8 * SECOND + 1]))]);
    // Windows of packets begin and end with them; the last one could have had more.
    let path = pcap(&scratch, "packets.pcap", &frames_at([5, 6, 7, 8, 9]));
    let (lines, _) = checked(&scratch, &[text(&path), "--every", "2p"], 0);
    assert_eq!(watched(&lines), [(5, None), (7, None), (9, Some([9, 10]))]);
}

/// Each flow in a part of the time only, so that receivers begin and end in different windows.
#[test]
fn receivers_that_begin_and_end_apart_cut_no_other_window() {
    let scratch = Scratch::new();
    let mut frames = Vec::new();
    for flow in 0..40_u64 {
        let data = capture::udp(2000 + flow as u16);
        frames.extend((0..3).map(|n| Frame {
            time_ns: START + (flow * 700 + n * 333 + 250) * 1_000_000,
            data: data.clone(),
        }));
    }
    frames.sort_by_key(|frame| frame.time_ns);
    let path = pcap(&scratch, "apart.pcap", &frames);
    let of = |options: &[&str]| {
        let arguments = [&[text(&path), "--every", "1s", "--wire"], options].concat();
        checked(&scratch, &arguments, 0).0
    };
    let one = of(&[""]);
    for options in [&["queues=2"][..], &["queues=3", "--design", "3x1"], &["queues=4", "--design", "rss"]] {
        let several = of(options);
        assert_eq!(watched(&several), watched(&one), "{options:?}");
        assert!(several == one, "{options:?} gives other lines");
    }
}

#[test]
fn answers_of_sketches_have_the_schema_also_where_there_is_nothing_to_count() {
    let scratch = Scratch::new();
    let arp = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1, 8, 6], &[0; 46]].concat();
    let mut frames = capture::udp_frames(3, START);
    frames.push(Frame { time_ns: START + 2 * SECOND, data: arp });
    frames.extend(capture::udp_frames(2, START + 5 * SECOND));
    let path = scratch.file("t.pcap", capture::pcap(ETHERNET, &frames));
    let queries =
        "most: select dst_addr, sum(total_byte) as b groupby dst_addr using space_saving(memory=64KiB);
                   bits: select entropy(dst_port) as bits using exact(memory=4MiB)";
    let ended = run(edison().args(["run", text(&path), "--json", "--every", "1s", "-q", queries])).expect(0);
    let mut of_bits = Vec::new();
    for line in ended.stdout.lines() {
        schema::of_line(line);
        let answer: Answer = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&answer).expect("JSON"), line);
        assert_eq!(answer.class, model::Class::Sketch, "{line}");
        if answer.query == "bits" {
            of_bits.push((
                answer.empty,
                answer.rows.len(),
                answer.value(0, "bits") == Some(&model::Value::Null),
            ));
        }
    }
    // Packets, nothing, frames without packets, nothing, packets.
    let expected =
        [(None, 1, false), (Some(1), 0, false), (None, 1, true), (Some(2), 0, false), (None, 1, false)];
    assert_eq!(of_bits, expected, "{}", ended.stdout);
}
