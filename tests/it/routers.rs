//! Flow records of routers: those of softflowd, nfreplay and pmacctd are the flows of the capture, within the differences that are printed here
//! and listed in docs/routers.md.

use crate::support::capture::{self, Count, Flows, Frame, Generated};
use crate::support::deployment::{Broker, Deployment};
use crate::support::output::{self, number};
use crate::support::program::{Ended, Running, call, edison, run};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::veth::with_veth;

/// Connections, with a fifth of IPv6.
const SPEC: &str = "packets=6k,flows=400,seed=5,tcp=handshake,ipv6=20%";

/// `edison collect` on loopback.
struct Collecting {
    running: Running,
    port: u16,
    report: PathBuf,
    flows: PathBuf,
}

impl Collecting {
    fn start(scratch: &Scratch, name: &str, more: &[&str]) -> Self {
        Self::start_to(scratch, &format!("{name}.csv"), more)
    }

    /// The same with the name of the file of its flows.
    fn start_to(scratch: &Scratch, flows: &str, more: &[&str]) -> Self {
        // A port that was free a moment ago.
        let port = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
        let report = scratch.path(&format!("{flows}.json"));
        let flows = scratch.path(flows);
        let mut command = edison();
        command.args(["collect", &format!("ipfix://127.0.0.1:{port}"), "--memory", "256MiB", "--node", "R1"]);
        command.arg("--report").arg(&report).arg("--flows").arg(&flows).args(more);
        let collecting = Self { running: Running::start(&mut command), port, report, flows };
        collecting.wait_for("to listen", |waiting| waiting.is_some());
        collecting
    }

    /// Waits for a fact about the octets that wait in its socket; `None` while it has none.
    fn wait_for(&self, what: &str, fact: impl Fn(Option<u64>) -> bool) {
        let began = Instant::now();
        let own = format!("0100007F:{:04X}", self.port);
        loop {
            let sockets = std::fs::read_to_string("/proc/net/udp").expect("the sockets");
            let line = sockets.lines().find(|line| line.split_whitespace().nth(1) == Some(&own));
            let queues = line.and_then(|line| line.split_whitespace().nth(4));
            if fact(queues.and_then(|queues| u64::from_str_radix(queues.split_once(':')?.1, 16).ok())) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(120), "waited in vain for the program {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it when it has read everything; its standard output and its report.
    fn end(self) -> (String, Value, PathBuf) {
        let (ended, report, flows) = self.finish();
        (ended.stdout, report, flows)
    }

    /// The same with all that it said.
    fn finish(mut self) -> (Ended, Value, PathBuf) {
        self.wait_for("to read what was sent", |waiting| waiting == Some(0));
        self.running.signal(libc::SIGINT);
        let ended = self.running.wait().expect(0);
        let report = output::report(&self.report);
        let remarks = &report["packets"]["remarks"];
        let of = |name: &str| remarks.get(name).map_or(0, number);
        let named = ["refused_exporter", "too_many_exporters", "unknown_version", "damaged"];
        let named: u64 = named.iter().map(|name| of(name)).sum();
        assert_eq!(of("datagrams"), of("decoded") + named, "{remarks}");
        (ended, report, self.flows)
    }
}

fn is_missing(programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        let found = Command::new(program).arg("-h").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok()
    };
    let missing: Vec<_> = programs.iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        eprintln!(
            "skipped: {missing:?} are not installed; Debian's packages are softflowd, nfdump and pmacct"
        );
    }
    !missing.is_empty()
}

/// Packets and bytes by key, whatever the number of records.
fn by_key(path: &Path) -> Flows {
    let mut flows = Flows::new();
    for record in output::records(path) {
        let flow = flows.entry(record.key.expect("a key")).or_insert(Count { packets: 0, total_byte: 0 });
        flow.packets += record.packets;
        flow.total_byte += record.total_byte;
    }
    flows
}

/// What `edison run` has of the capture.
fn measured(scratch: &Scratch, capture: &Path) -> Flows {
    let flows = scratch.path("run.csv");
    let off = ["--idle-timeout", "off", "--active-timeout", "off"];
    call(&[&["run", text(capture), "-w", text(&flows)][..], &off].concat()).expect(0);
    output::one_record_per_key(&output::records(&flows))
}

/// The flows as softflowd counts bytes: all behind the Ethernet header, padding too.
fn with_padding(frames: &[Frame]) -> Flows {
    let mut flows = Flows::new();
    for frame in frames {
        let (key, _) = capture::layer3(&frame.data);
        let flow = flows.entry(key).or_insert(Count { packets: 0, total_byte: 0 });
        flow.packets += 1;
        flow.total_byte += frame.data.len() as u64 - 14;
    }
    flows
}

fn differing(one: &Flows, other: &Flows) -> usize {
    one.iter().filter(|(key, count)| other.get(key) != Some(count)).count()
}

#[test]
fn flows_of_softflowd_are_those_of_the_capture() {
    if is_missing(&["softflowd"]) {
        return;
    }
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let measured = measured(&scratch, &path);
    assert_eq!(measured, capture::flows(&frames));
    for (version, name, takes_v6) in
        [("5", "NetFlow v5", false), ("9", "NetFlow v9", true), ("10", "IPFIX", true)]
    {
        let collecting = Collecting::start(&scratch, version, &[]);
        let mut softflowd = Command::new("softflowd");
        softflowd.arg("-r").arg(&path).args(["-v", version, "-6", "-m", "100000", "-c", "none", "-p"]);
        softflowd.arg(scratch.path("softflowd.pid"));
        softflowd.args(["-n", &format!("127.0.0.1:{}", collecting.port)]);
        run(&mut softflowd).expect(0);
        let (_, report, flows) = collecting.end();
        let collected = by_key(&flows);
        let mut expected = with_padding(&frames);
        expected.retain(|(source, ..), _| takes_v6 || source.is_ipv4());
        println!(
            "softflowd {name}: {} of {} flows; of IPv6, which NetFlow v5 has not: {}; with the padding of Ethernet among their bytes: {}",
            collected.len(),
            measured.len(),
            measured.len() - expected.len(),
            differing(&expected, &measured)
        );
        assert_eq!(collected, expected);
        let packets: u64 = expected.values().map(|flow| flow.packets).sum();
        assert_eq!(number(&report["packets"]["measured"]), packets);
        assert_eq!(report["loss"], serde_json::json!({}), "{}", report["exporters"]);
        let exporters = output::list(&report["exporters"]);
        assert_eq!((exporters.len(), &exporters[0]["version"]), (1, &Value::from(name)));
    }
}

/// nfpcapd's file of the capture.
fn recorded(scratch: &Scratch, capture: &Path) -> Vec<PathBuf> {
    let folder = scratch.path("nfpcapd");
    std::fs::create_dir(&folder).expect("a folder");
    run(Command::new("nfpcapd").arg("-r").arg(capture).arg("-w").arg(&folder)).expect(0);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn flows_of_nfreplay_are_those_of_the_capture() {
    if is_missing(&["nfpcapd", "nfreplay"]) {
        return;
    }
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let files = recorded(&scratch, &path);
    let measured = measured(&scratch, &path);
    let collecting = Collecting::start(&scratch, "nfreplay", &[]);
    for file in files {
        let mut nfreplay = Command::new("nfreplay");
        nfreplay.args(["-v", "9", "-H", "127.0.0.1", "-p", &collecting.port.to_string(), "-r"]).arg(file);
        run(&mut nfreplay).expect(0);
    }
    let (_, report, flows) = collecting.end();
    let records = output::records(&flows).len();
    println!(
        "nfreplay NetFlow v9: {} flows in {records} records: nfpcapd ends flows earlier; no other difference",
        measured.len()
    );
    assert_eq!(by_key(&flows), measured);
    assert_eq!(number(&report["packets"]["measured"]), frames.len() as u64);
    assert_eq!(report["loss"], serde_json::json!({}));
}

/// pmacctd as an agent of sFlow that samples each packet of the capture, and what `edison collect` says of it.
fn sampled_by_pmacctd(scratch: &Scratch, capture: &Path, more: &[&str]) -> (String, Value, Flows) {
    let collecting = Collecting::start(scratch, "pmacctd", more);
    let settings = scratch.path("pmacctd.conf");
    let lines = [
        "daemonize: false".to_owned(),
        format!("pcap_savefile: {}", text(capture)),
        "plugins: sfprobe".to_owned(),
        format!("sfprobe_receiver: 127.0.0.1:{}", collecting.port),
        "sfprobe_agentip: 192.0.2.7".to_owned(),
        "sampling_rate: 1".to_owned(),
        "snaplen: 256".to_owned(),
    ];
    std::fs::write(&settings, lines.join("\n") + "\n").expect("written");
    run(Command::new("pmacctd").arg("-f").arg(&settings)).expect(0);
    let (stdout, report, flows) = collecting.end();
    (stdout, report, sampled_by_key(&flows))
}

/// Packets and bytes by key of records that tell no times.
fn sampled_by_key(path: &Path) -> Flows {
    let text = std::fs::read_to_string(path).expect("the records");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let [header, records @ ..] = &lines[..] else { panic!("no records") };
    let mut flows = Flows::new();
    for record in records {
        let cell = |name: &str| record[header.iter().position(|it| *it == name).expect("a default field")];
        let port = |name| cell(name).parse().expect("a port");
        let address = |name| cell(name).parse().expect("an address");
        let protocol = cell("protocol").parse().expect("a protocol");
        let key = (address("src_addr"), address("dst_addr"), protocol, port("src_port"), port("dst_port"));
        let flow = flows.entry(key).or_insert(Count { packets: 0, total_byte: 0 });
        flow.packets += cell("total_count").parse::<u64>().expect("a number");
        flow.total_byte += cell("total_byte").parse::<u64>().expect("a number");
        assert_eq!((cell("stime"), cell("sampling_rate")), ("", "1"));
    }
    flows
}

#[test]
fn samples_of_pmacctd_are_packets_of_the_capture() {
    if is_missing(&["pmacctd"]) {
        return;
    }
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let query = "q: select sum(total_count) as packets, sum(wire_byte) as bytes";
    let (stdout, report, collected) =
        sampled_by_pmacctd(&scratch, &path, &["-q", query, "--json", "--every", "1h"]);
    // pmacctd sends no datagram that is not full when the capture ends.
    let packets = number(&report["packets"]["measured"]);
    let sampled = &frames[..packets as usize];
    assert!(frames.len() - sampled.len() < 16, "{packets}");
    assert_eq!(collected, capture::flows(sampled));
    assert_eq!(
        (number(&report["packets"]["remarks"]["records"]), &report["loss"]),
        (packets, &serde_json::json!({}))
    );
    let [exporter] = output::list(&report["exporters"]) else { panic!("{report}") };
    assert_eq!(
        (&exporter["version"], &exporter["agent"]),
        (&Value::from("sFlow v5"), &Value::from("192.0.2.7"))
    );
    assert_eq!(exporter["sampling"], serde_json::json!(["1:1"]));
    let answers = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let answer: Value = answers.into_iter().find(|answer: &Value| answer["query"] == "q").expect("an answer");
    let row = &output::rows(&answer)[0];
    let bytes: u64 = sampled.iter().map(|frame| frame.data.len() as u64).sum();
    assert_eq!((number(&row["packets"]), number(&row["bytes"])), (packets, bytes));
}

/// A datagram of NetFlow v5 with one record of these packets and bytes; its times are now.
fn v5(sequence: u32, sampling: u16, port: u16, packets: u32, bytes: u32) -> Vec<u8> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let mut octets = [5u16, 1].map(u16::to_be_bytes).concat();
    octets.extend([1_000u32, now as u32, 0, sequence].map(u32::to_be_bytes).concat());
    octets.extend([0u16, sampling].map(u16::to_be_bytes).concat());
    octets.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    octets.extend([packets, bytes, 1_000, 1_000].map(u32::to_be_bytes).concat());
    octets.extend([port, 80].map(u16::to_be_bytes).concat());
    octets.extend([0, 0x10, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    octets
}

#[test]
fn samples_are_estimates_and_what_is_lost_is_said() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let query =
        "q: select src_port, sum(total_count) as packets groupby src_port order by packets desc limit 5";
    let more = ["--store", text(&store), "-q", query, "--json", "--every", "1h"];
    let collecting = Collecting::start_to(&scratch, "sampled.parquet", &more);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = ("127.0.0.1", collecting.port);
    for datagram in
        [v5(0, 100, 1000, 3, 300), v5(1, 100, 1001, 5, 500), v5(4, 100, 1000, 1, 60), vec![1, 2, 3]]
    {
        socket.send_to(&datagram, to).expect("sent");
    }
    let (stdout, report, flows) = collecting.end();
    let answers: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let answer = answers.iter().find(|answer| answer["query"] == "q").expect("an answer");
    let rows: Vec<_> =
        output::rows(answer).iter().map(|row| (number(&row["src_port"]), number(&row["packets"]))).collect();
    assert_eq!(rows, [(1001, 500), (1000, 400)]);
    assert_eq!((&answer["bounds"], &answer["status"]), (&Value::from("none"), &Value::from("partial")));
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("3 of 3 records are samples, 1:100") && reason.contains("2 records did not arrive"),
        "{reason}"
    );
    assert_eq!(number(&report["packets"]["received"]), 900);
    assert_eq!(report["loss"], serde_json::json!({"records_lost": 2}));
    assert_eq!(number(&report["packets"]["remarks"]["unknown_version"]), 1);
    assert_eq!(report["exporters"][0]["sampling"], serde_json::json!(["1:100"]));
    let totals = output::of_run(&report, "totals");
    assert_eq!(totals["bounds"], "none");
    // What was stored answers too, and the flow file, and what it was imported into.
    let imported = scratch.path("imported");
    call(&["import", text(&flows), "--store", text(&imported)]).expect(0);
    for from in [&["--store", text(&store)][..], &[text(&flows)], &["--store", text(&imported)]] {
        let asked =
            call(&[&["query"], from, &["select sum(total_count) as packets", "--json"]].concat()).expect(3);
        let answer: Value =
            serde_json::from_str(asked.stdout.lines().next().expect("an answer")).expect("JSON");
        assert_eq!(number(&output::rows(&answer)[0]["packets"]), 900);
        assert_eq!((&answer["bounds"], &answer["status"]), (&Value::from("none"), &Value::from("partial")));
        let reason = answer["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("3 of 3 records are samples, 1:100")
                && reason.contains("2 records did not arrive"),
            "{from:?}: {reason}"
        );
    }
}

/// Records that a collector multiplied are estimates wherever they are read, and a VLAN that a router does not tell is none of untagged packets.
#[test]
fn files_of_each_format_tell_which_records_are_samples() {
    let scratch = Scratch::new();
    for suffix in ["csv", "jsonl", "ipfix"] {
        let collecting = Collecting::start_to(&scratch, &format!("some.{suffix}"), &[]);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for datagram in [v5(0, 100, 1000, 3, 300), v5(1, 0, 1001, 5, 500)] {
            socket.send_to(&datagram, ("127.0.0.1", collecting.port)).expect("sent");
        }
        collecting.wait_for("to read them", |waiting| waiting == Some(0));
        let (_, report, flows) = collecting.end();
        assert_eq!(number(&report["packets"]["received"]), 305, "{suffix}");
        let imported = scratch.path(suffix);
        call(&["import", text(&flows), "--store", text(&imported), "--every", "1h"]).expect(0);
        for from in [&[text(&flows)][..], &["--store", text(&imported)]] {
            let asked = call(&[&["query"], from, &["select sum(total_count) as packets", "--json"]].concat())
                .expect(0);
            let answer: Value = serde_json::from_str(asked.stdout.trim()).expect("an answer");
            assert_eq!(number(&output::rows(&answer)[0]["packets"]), 305, "{from:?}");
            assert_eq!(
                (&answer["bounds"], &answer["status"]),
                (&"none".into(), &"complete".into()),
                "{from:?}"
            );
            let reason = answer["reason"].as_str().expect("a reason");
            assert!(
                reason.contains("1 record is a sample: what it counts is an estimate"),
                "{from:?}: {reason}"
            );
        }
        if suffix == "ipfix" {
            let asked = ["query", text(&flows), "select count(*) as n where first_vlan is null", "--json"];
            let answer: Value =
                serde_json::from_str(call(&asked).expect(3).stdout.trim()).expect("an answer");
            let reason = answer["reason"].as_str().expect("a reason");
            assert!(reason.contains("2 records do not tell vlan, which counts as none"), "{reason}");
        }
    }
}

/// A datagram of IPFIX with a template and one record, of 8 packets and 800 bytes: without a source address.
fn without_source() -> Vec<u8> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    // Destination, ports, protocol, packets, bytes, and the seconds of begin and end.
    let fields = [(12, 4), (7, 2), (11, 2), (4, 1), (2, 4), (1, 4), (150, 4), (151, 4)];
    let set = |number: u16, content: Vec<u8>| {
        [&number.to_be_bytes()[..], &(content.len() as u16 + 4).to_be_bytes(), &content].concat()
    };
    let elements = fields.iter().flat_map(|(number, length): &(u16, u16)| [*number, *length]);
    let template = [256, fields.len() as u16].into_iter().chain(elements).flat_map(u16::to_be_bytes);
    let mut record = vec![192, 0, 2, 7, 0, 9, 0, 80, 17];
    record.extend([8, 800, now as u32, now as u32].map(u32::to_be_bytes).concat());
    let sets = [set(2, template.collect()), set(256, record)].concat();
    let head = [10, sets.len() as u16 + 16].map(u16::to_be_bytes).concat();
    [head, [now as u32, 0, 7].map(u32::to_be_bytes).concat(), sets].concat()
}

/// A record without a source address is of no flow: totals count its packets, and no group has them. So it is in answers of the collector, of its
/// store and of its files.
#[test]
fn a_record_without_an_address_counts_and_is_in_no_group() {
    let scratch = Scratch::new();
    let (store, rows) = (scratch.path("store"), scratch.path("rows.parquet"));
    let queries =
        "all: select sum(total_count) as n; by: select dst_addr, sum(total_count) as n groupby dst_addr";
    let more = ["--store", text(&store), "--rows", text(&rows), "-q", queries, "--json", "--every", "1h"];
    let collecting = Collecting::start_to(&scratch, "without.parquet", &more);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for datagram in [v5(0, 0, 1000, 3, 300), without_source()] {
        socket.send_to(&datagram, ("127.0.0.1", collecting.port)).expect("sent");
    }
    let (stdout, report, flows) = collecting.end();
    assert_eq!(number(&report["packets"]["received"]), 11);
    assert_eq!(number(&report["packets"]["remarks"]["without_address"]), 1);
    let stored = [&["--store", text(&store)][..], &[text(&rows)], &[text(&flows)]]
        .map(|from| call(&[&["query"], from, &["--json", "-q", queries]].concat()).expect(3).stdout);
    for told in [stdout].iter().chain(&stored) {
        let answers: Vec<Value> =
            told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let of = |query: &str| answers.iter().find(|answer| answer["query"] == query).expect("an answer");
        assert_eq!(number(&output::rows(of("all"))[0]["n"]), 11, "{told}");
        let (by, groups) = (of("by"), output::rows(of("by")));
        assert_eq!((groups.len(), number(&groups[0]["n"])), (1, 3), "{told}");
        assert_eq!(by["status"], "partial", "{told}");
    }
}

/// A record that lasts longer than its window may have had packets in any time before its end.
#[test]
fn parts_of_the_time_of_imported_records_have_no_bounds() {
    let scratch = Scratch::new();
    let day = |time: &str| format!("2026-11-22T10:{time}.000000000Z");
    let record = |from, to, port, packets: u64| {
        format!("{},{},10.0.0.1,10.0.0.2,{port},53,17,{packets},{}\n", day(from), day(to), 100 * packets)
    };
    let head = "stime,ltime,src_addr,dst_addr,src_port,dst_port,protocol,total_count,total_byte\n";
    let records = [record("00:00", "03:30", 1000, 210), record("03:40", "03:45", 1001, 10)].concat();
    let csv = scratch.file("long.csv", [head, &records].concat());
    let store = scratch.path("store");
    call(&["import", text(&csv), "--store", text(&store)]).expect(0);
    let asked = |times: &[&str]| {
        let asked = ["query", "--store", text(&store), "--json", "-q", "select sum(total_count) as n"];
        let told = call(&[&asked[..], times].concat()).expect(0).stdout;
        let answer: Value = serde_json::from_str(told.trim()).expect("one answer");
        let reason = answer["reason"].as_str().unwrap_or_default().contains("in which it ends");
        let begin = answer["window"]["start"].as_str().expect("a time").to_owned();
        (number(&output::rows(&answer)[0]["n"]), begin, answer["bounds"] == "none", reason)
    };
    assert_eq!(asked(&[]), (220, day("00:00"), false, false));
    let [one, two] = ["01:00", "02:00"].map(day);
    assert_eq!(asked(&["--from", &one, "--to", &two]), (0, one.clone(), true, true));
    assert_eq!(asked(&["--from", &two]), (220, two.clone(), true, true));
    let [before, behind] = ["2026-11-22T09:00:00Z", "2026-11-22T11:00:00Z"];
    assert_eq!(asked(&["--from", before, "--to", behind]), (220, day("00:00"), false, false));
    let windows =
        ["query", "--store", text(&store), "--json", "-q", "select sum(total_count) as n every 1min"];
    for line in call(&windows).expect(0).stdout.lines() {
        assert!(line.contains(r#""bounds":"none""#) && line.contains("in which it ends"), "{line}");
    }
}

/// By source: packets, and bytes on the wire where they are known.
fn by_source(answer: &Value) -> Vec<(String, u64, Option<u64>)> {
    let of = |row: &Value| {
        let source = row["src_addr"].as_str().expect("an address").to_owned();
        (source, number(&row["packets"]), row["wire"].as_u64())
    };
    let mut rows: Vec<_> = output::rows(answer).iter().map(of).collect();
    rows.sort();
    rows
}

/// Bytes on the wire are null where a router does not tell them, and so is each sum with such a record, on the way and in what was stored.
#[test]
fn bytes_on_the_wire_that_no_router_tells_are_null() {
    let scratch = Scratch::new();
    let query = "select src_addr, sum(total_count) as packets, sum(wire_byte) as wire groupby src_addr";
    let Generated { path, .. } = capture::generate(&scratch, "packets=400,flows=20,seed=3");
    let (store, parquet) = (scratch.path("store"), scratch.path("rows.parquet"));
    let named = format!("q: {query}");
    let more = ["--store", text(&store), "--rows", text(&parquet), "-q", &named, "--json", "--every", "1h"];
    let collecting = Collecting::start(&scratch, "wire", &more);
    // Ours tells them.
    let to = format!("ipfix://127.0.0.1:{}?rate=5000", collecting.port);
    call(&["run", text(&path), "--export", &to]).expect(0);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&v5(0, 0, 1000, 3, 300), ("127.0.0.1", collecting.port)).expect("sent");
    let (stdout, report, csv) = collecting.end();
    assert_eq!(report["loss"], serde_json::json!({}));
    assert_eq!(number(&report["packets"]["remarks"]["without_wire_bytes"]), 1);
    let measured = call(&["run", text(&path), "-q", &named, "--json"]).expect(0).stdout;
    let of_query = |stdout: &str| -> Value {
        let mut answers = stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        answers.find(|answer| answer["columns"][0]["name"] == "src_addr").expect("an answer")
    };
    let mut expected = by_source(&of_query(&measured));
    assert!(expected.iter().all(|(_, _, wire)| wire.is_some()));
    expected.push(("10.0.0.1".to_owned(), 3, None));
    expected.sort();
    assert_eq!(by_source(&of_query(&stdout)), expected);
    let totals = output::of_run(&report, "totals");
    assert_eq!(output::rows(totals)[0]["wire_byte"], Value::Null);
    assert_eq!(report["rates"]["bits_per_second"], Value::Null);
    for files in [&[text(&csv)][..], &[text(&parquet)], &["--store", text(&store)]] {
        let asked = call(&[&["query"], files, &[query, "--json"]].concat()).expect(0).stdout;
        assert_eq!(by_source(&of_query(&asked)), expected, "{files:?}");
        let all = call(&[&["query"], files, &["select sum(wire_byte) as wire", "--json"]].concat());
        let all: Value =
            serde_json::from_str(all.expect(0).stdout.lines().next().expect("one")).expect("JSON");
        assert_eq!(output::rows(&all)[0]["wire"], Value::Null, "{files:?}");
    }
}

#[test]
fn a_sample_that_was_exported_is_an_estimate_of_all_packets() {
    const PACKETS: u64 = 20_000;
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=20k,flows=2k,seed=9");
    let collecting = Collecting::start(&scratch, "tee", &[]);
    let to = format!("ipfix://127.0.0.1:{}?rate=5000", collecting.port);
    call(&["run", text(&path), "--tee", "10%", "--seed", "1", "--export", &to]).expect(0);
    let (_, report, _) = collecting.finish();
    assert_eq!(report["loss"], serde_json::json!({}));
    let received = number(&report["packets"]["received"]);
    // Each packet with a probability of a tenth: the deviation of the estimate is 424.
    assert!(received.abs_diff(PACKETS) < 5 * 424 && received.is_multiple_of(10), "{received}");
    assert_eq!(report["exporters"][0]["sampling"], serde_json::json!(["1:10"]));
    let totals = output::of_run(&report, "totals");
    let reason = totals["reason"].as_str().expect("a reason");
    // 196 % by the root of some 2,000 packets, and of nine tenths.
    assert!(reason.contains("1:10; all packets within 4.") && totals["bounds"] == "none", "{reason}");
}

#[test]
fn exporters_of_one_address_are_told_apart_and_what_is_not_read_is_said() {
    let scratch = Scratch::new();
    let collecting = Collecting::start(&scratch, "several", &[]);
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    let to = ("127.0.0.1", collecting.port);
    // Sequence numbers far from each other: one would restart and lose at every datagram.
    for number in 0..5 {
        for (socket, first) in sockets.iter().zip([900_000, 7]) {
            socket.send_to(&v5(first + number, 0, 1000, 3, 300), to).expect("sent");
        }
    }
    for version in [1, 7, 8] {
        sockets[0].send_to(&[&[0, version, 0, 1][..], &[0; 60]].concat(), to).expect("sent");
    }
    sockets[1].send_to(&[0, 0, 0, 4, 0, 0, 0, 1, 127, 0, 0, 1], to).expect("sent");
    let (ended, report, _) = collecting.finish();
    assert_eq!((number(&report["packets"]["received"]), &report["loss"]), (30, &serde_json::json!({})));
    let remarks = &report["packets"]["remarks"];
    assert_eq!((number(&remarks["unknown_version"]), &remarks["restarts"]), (4, &Value::Null));
    let exporters = output::list(&report["exporters"]);
    assert_eq!(exporters.len(), 2);
    for socket in &sockets {
        let port = socket.local_addr().expect("an address").port();
        assert!(
            exporters.iter().any(|exporter| exporter["port"] == port && exporter["records"] == 5),
            "{report}"
        );
        assert!(
            ended.stderr.contains(&format!("domain 0, port {port}"))
                || ended.stdout.contains(&format!("domain 0, port {port}"))
        );
    }
    for (protocol, name) in [
        ("NetFlow v1", "netflow_v1"),
        ("NetFlow v7", "netflow_v7"),
        ("NetFlow v8", "netflow_v8"),
        ("sFlow v2 or v4", "sflow"),
    ] {
        let line = format!("sends {protocol}, which is not read");
        assert_eq!(ended.stderr.matches(&line).count(), 1, "{}", ended.stderr);
        assert_eq!(remarks[name], 1, "{remarks}");
    }
}

/// Rankings, tasks and intervals are answered of flow records as of packets; the environment has the same options.
#[test]
fn rankings_and_tasks_are_answered() {
    let scratch = Scratch::new();
    let task = "heavy-hitters:key=src_port,count=1";
    let more = ["--by", "src_port", "--json", "--every", "1h", "--top", "2"];
    let port = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
    let report = scratch.path("report.json");
    let mut command = edison();
    command.args(["collect", &format!("ipfix://127.0.0.1:{port}"), "--node", "R1"]).args(more);
    command.env("EDISON_TASK", task).arg("--report").arg(&report);
    let collecting =
        Collecting { running: Running::start(&mut command), port, report, flows: scratch.path("none") };
    collecting.wait_for("to listen", |waiting| waiting.is_some());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for (number, (port, packets, bytes)) in
        [(1000, 5, 500), (2000, 7, 300), (3000, 1, 900)].into_iter().enumerate()
    {
        let sequence = u32::try_from(number).expect("few");
        socket.send_to(&v5(sequence, 0, port, packets, bytes), ("127.0.0.1", collecting.port)).expect("sent");
    }
    let (stdout, _, _) = collecting.end();
    let lines: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let of = |query: &str| {
        let found =
            lines.iter().find(|line| line["query"].as_str().is_some_and(|name| name.starts_with(query)));
        found.unwrap_or_else(|| panic!("no {query} in {stdout}"))
    };
    let figures = |answer: &Value, column: &str| -> Vec<(u64, u64)> {
        output::rows(answer).iter().map(|row| (number(&row["src_port"]), number(&row[column]))).collect()
    };
    assert_eq!(figures(of("by"), "total_byte"), [(3000, 900), (1000, 500)]);
    let hitters: Vec<(u64, f64)> = output::rows(of("heavy_hitters"))
        .iter()
        .map(|row| (number(&row["src_port"]), output::estimate(&row["total_count"])))
        .collect();
    assert_eq!(hitters, [(2000, 7.0), (1000, 5.0), (3000, 1.0)]);
}

#[test]
fn others_than_the_allowed_are_refused() {
    let scratch = Scratch::new();
    let collecting = Collecting::start(&scratch, "refused", &["--from", "192.0.2.0/24,2001:db8::/32"]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&v5(0, 0, 1000, 3, 300), ("127.0.0.1", collecting.port)).expect("sent");
    let (_, report, _) = collecting.end();
    assert_eq!(number(&report["packets"]["remarks"]["refused_exporter"]), 1);
    assert_eq!(number(&report["packets"]["received"]), 0);
}

#[test]
fn variables_of_packets_are_said_not_to_be_used() {
    let collect = |variables: &[(&str, &str)]| {
        // No address of this machine: it ends at once.
        let mut command = edison();
        run(command.args(["collect", "ipfix://192.0.2.1:4739"]).envs(variables.iter().copied()))
    };
    let unused = [("EDISON_TEE", "0.1"), ("EDISON_LOSS", "true"), ("EDISON_INTERFACE", "lo")];
    let used = [("EDISON_EVERY", "1s"), ("EDISON_WEB", "127.0.0.1:0")];
    let ended = collect(&[&unused[..], &used].concat());
    let ended = ended.says(2, &["EDISON_LOSS, EDISON_INTERFACE, EDISON_TEE: not used"]);
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
    assert_eq!(collect(&used).says(2, &["cannot listen"]).stderr.lines().count(), 1);
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = taken.local_addr().expect("an address").port();
    call(&["collect", &format!("ipfix://127.0.0.1:{port}")])
        .says(2, &[&port.to_string(), "cannot listen", "another program has the port"]);
    call(&["collect", "ipfix://192.0.2.1:4739"]).says(2, &["cannot listen", "an address of this machine"]);
    call(&["collect", "http://x"]).says(2, &["http://x", "ipfix://"]);
    call(&["collect", "ipfix://:4739", "--from", "192.0.2.0/33"]).says(2, &["192.0.2.0/33"]);
    call(&["collect", "ipfix://:4739", "--sampling", "0"]).says(2, &["'0'", "sampling rate"]);
    call(&["collect", "ipfix://127.0.0.1:0", "-q", "select sum(ploss_byte)"])
        .says(2, &["losses", "flow records"]);
    call(&["collect", "ipfix://127.0.0.1:0", "--every", "1Mp"]).says(2, &["--every in packets", "routers"]);
    let structure = "heavy-hitters:memory=64KiB";
    call(&["collect", "ipfix://127.0.0.1:0", "--task", structure]).says(2, &["--task", "one by one"]);
    call(&["import", "missing.csv", "--store", "/tmp/none"]).says(2, &["missing.csv"]);
}

#[test]
fn nfdump_s_csv_is_imported() {
    if is_missing(&["nfpcapd", "nfdump"]) {
        return;
    }
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let files = recorded(&scratch, &path);
    let folder = files[0].parent().expect("a folder");
    let printed =
        run(Command::new("nfdump").env("TZ", "UTC").arg("-R").arg(folder).args(["-6", "-o", "csv"]))
            .expect(0);
    let csv = scratch.file("day.csv", &printed.stdout);
    let store = scratch.path("store");
    call(&["import", text(&csv), "--store", text(&store), "--node", "R7"]).expect(0);
    let bytes: u64 = capture::flows(&frames).values().map(|flow| flow.total_byte).sum();
    let expected = (frames.len() as u64, bytes);
    let ask = |store: &Path, code: i32| {
        let asked = call(&[
            "query",
            "--store",
            text(store),
            "select sum(total_count) as packets, sum(total_byte) as bytes",
            "--json",
        ])
        .expect(code);
        let answer: Value =
            serde_json::from_str(asked.stdout.lines().next().expect("an answer")).expect("JSON");
        let row = &output::rows(&answer)[0];
        ((number(&row["packets"]), number(&row["bytes"])), answer["node"].clone())
    };
    assert_eq!(ask(&store, 0), (expected, Value::from("R7")));
    // As a file, flow by flow.
    let copy =
        call(&["query", text(&csv), "select count(*) as flows, sum(total_count) as packets", "--json"])
            .expect(0);
    let answer: Value = serde_json::from_str(copy.stdout.lines().next().expect("an answer")).expect("JSON");
    assert_eq!(number(&output::rows(&answer)[0]["packets"]), expected.0);
    // A line that is none is named, and the others are taken.
    let mut lines: Vec<&str> = printed.stdout.lines().collect();
    lines.insert(3, "2024-13-01 00:00:00,x");
    let damaged = scratch.file("damaged.csv", lines.join("\n"));
    let other = scratch.path("other");
    call(&["import", text(&damaged), "--store", text(&other), "--node", "R7"])
        .says(3, &["damaged.csv", "1 lines are no flows", "line 4"]);
    assert_eq!(ask(&other, 3).0, expected);
}

/// nfdump's CSV of flows of ten packets, one a second, each of a source of its own.
fn printed(flows: u32) -> Vec<String> {
    let line = |number: u32| {
        let [minute, second] = [number / 60 % 60, number % 60];
        let time = format!("2026-11-01 10:{minute:02}:{second:02}");
        let source = std::net::Ipv4Addr::from(0x0a00_0000 + number);
        format!("{time},{time},0.0,{source},192.0.2.1,1024,80,TCP,......S.,0,0,10,400,0,0")
    };
    let header = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt".to_owned();
    std::iter::once(header).chain((0..flows).map(line)).collect()
}

/// The packets of each window of a store, and whether some are missing. The exit code says whether any are.
fn stored(store: &Path, every: &str) -> Vec<(u64, bool)> {
    let query = format!("select sum(total_count) as packets every {every}");
    let asked = call(&["query", "--store", text(store), &query, "--json"]);
    let answers = asked.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let of = |answer: Value| (number(&output::rows(&answer)[0]["packets"]), answer["status"] == "partial");
    let windows: Vec<_> = answers.map(of).collect();
    asked.expect(if windows.iter().any(|(_, is_partial)| *is_partial) { 3 } else { 0 });
    windows
}

#[test]
fn what_an_import_lacks_is_said_and_its_windows_are_partial() {
    let scratch = Scratch::new();
    let mut lines = printed(120);
    let whole = scratch.file("whole.csv", lines.join("\n"));
    let store = scratch.path("whole");
    let said = call(&["import", text(&whole), "--store", text(&store), "--every", "1min"]).expect(0).stdout;
    assert!(said.starts_with("120 flow records and 120 window rows of 2 windows went into"), "{said}");
    assert!(said.trim_end().ends_with("120 rows were read"), "{said}");
    assert_eq!(stored(&store, "1min"), [(600, false), (600, false)]);
    // A record is of the window in which it ends: all of them together are exact, and parts of the time are not.
    for (query, bounds) in
        [("select sum(total_count)", "exact"), ("select sum(total_count) every 1min", "none")]
    {
        let asked = call(&["query", "--store", text(&store), query, "--json"]).expect(0);
        for line in asked.stdout.lines() {
            let answer: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(answer["bounds"], bounds, "{answer}");
        }
    }
    // Of which window a line would be that is none, nobody knows.
    lines.insert(30, "2026-11-01 10:00:00,x".to_owned());
    let damaged = scratch.file("damaged.csv", lines.join("\n"));
    let store = scratch.path("damaged");
    call(&["import", text(&damaged), "--store", text(&store), "--every", "1min"])
        .says(3, &["damaged.csv", "1 lines are no flows"]);
    assert_eq!(stored(&store, "1min"), [(600, true), (600, true)]);
    // Flows of one source are one row.
    let same = scratch.file("same.csv", [&printed(60)[..], &printed(60)[1..]].concat().join("\n"));
    let store = scratch.path("same");
    let said = call(&["import", text(&same), "--store", text(&store), "--every", "1min"]).expect(0).stdout;
    assert!(said.starts_with("120 flow records and 60 window rows of 1 windows went into"), "{said}");
    assert!(said.trim_end().ends_with("120 rows were read"), "{said}");
}

#[test]
fn rows_of_an_import_without_memory_are_counted() {
    const FLOWS: u32 = 200_000;
    let scratch = Scratch::new();
    let large = scratch.file("large.csv", printed(FLOWS).join("\n"));
    let store = scratch.path("store");
    let memory = ["--every", "1h", "--memory", "16MiB"];
    let ended = call(&[&["import", text(&large), "--store", text(&store)][..], &memory].concat());
    ended.says(3, &["rows are not in their windows, as memory ran out", "--memory"]);
    let [(packets, is_partial)] = stored(&store, "1h")[..] else { panic!("one window") };
    assert!(packets != 0 && packets < 10 * u64::from(FLOWS) && is_partial, "{packets}");
}

#[test]
fn ipfix_files_and_window_rows_are_imported() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let (ipfix, rows) = (scratch.path("flows.ipfix"), scratch.path("rows.parquet"));
    call(&["run", text(&path), "-w", text(&ipfix), "--rows", text(&rows), "--node", "N1", "--every", "1s"])
        .expect(0);
    for (name, file, flows) in [("a", &ipfix, true), ("b", &rows, false)] {
        let store = scratch.path(name);
        let said = call(&["import", text(file), "--store", text(&store)]).expect(0).stdout;
        assert_eq!(said.starts_with("0 flow records"), !flows, "{said}");
        let asked = call(&["query", "--store", text(&store), "select sum(total_count) as packets", "--json"])
            .expect(0);
        let answer: Value =
            serde_json::from_str(asked.stdout.lines().next().expect("an answer")).expect("JSON");
        assert_eq!(
            (number(&output::rows(&answer)[0]["packets"]), &answer["node"]),
            (frames.len() as u64, &Value::from("N1"))
        );
    }
}

#[test]
fn routers_are_a_node_of_a_deployment() {
    with_veth(|_| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let _controller = deployment.controller_of("\"R1\"", "all: select sum(total_count) as packets;");
        let port = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
        let settings = format!(
            "broker = \"{}\"\nnode = \"R1\"\ncollect = \"ipfix://127.0.0.1:{port}\"\nfrom = [\"127.0.0.0/8\"]\nevery = \"1s\"\nmemory = \"256MiB\"\n",
            deployment.url()
        );
        let file = deployment.scratch.file("R1.toml", settings);
        let mut collecting = Running::start(edison().args(["collect", "--config", text(&file)]));
        until("the node", || deployment.is_up("R1").then_some(()));
        // A list is applied between windows: the first answers say that it is.
        until("its first answer", || (!deployment.windows("all", "R1").is_empty()).then_some(()));
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for (sequence, packets) in [(0, 3), (1, 5), (2, 1)] {
            let datagram = v5(sequence, 100, 1000, packets, 60 * packets);
            socket.send_to(&datagram, ("127.0.0.1", port)).expect("sent");
        }
        let counted = || deployment.windows("all", "R1").values().sum::<u64>();
        until("all packets in answers", || (counted() == 900).then_some(()));
        let answers = deployment.get("/answers?query=all&node=R1&limit=10000").expect("answers");
        assert!(answers.to_string().contains("records are samples, 1:100"), "{answers}");
        collecting.signal(libc::SIGINT);
        collecting.wait().says(0, &["R1 ended", "900 packets received"]);
    });
}

/// A router whose records have no field for the TTL, as in NetFlow v5: answers that read it say so, of the run and of its store.
#[test]
fn a_field_that_a_router_does_not_tell_is_not_zero() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let asked = "vlan: select count(*) as n where first_vlan is null; ttl: select max(last_ip_ttl) as n; flags: select max(any_tcp_flags) as n; bytes: select sum(total_byte) as n";
    let collecting = Collecting::start(
        &scratch,
        "open",
        &["--every", "1h", "--store", text(&store), "--json", "-q", asked],
    );
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let mut datagram = vec![0, 5, 0, 1, 0, 0, 0, 0];
    datagram.extend((now as u32).to_be_bytes());
    datagram.extend([0; 12]);
    datagram.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 180]);
    datagram.extend([0; 8]);
    datagram.extend([4, 0, 0, 80, 0, 0x12, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&datagram, ("127.0.0.1", collecting.port)).expect("it is sent");
    collecting.wait_for("to read it", |waiting| waiting == Some(0));
    let (_, report, csv) = collecting.end();
    let said = "1 record does not tell ip_ttl, which counts as 0";
    let written = std::fs::read_to_string(&csv).expect("the flows");
    let [names, values] =
        [0, 1].map(|line| written.lines().nth(line).expect("a line").split(',').collect::<Vec<_>>());
    let of = |name| names.iter().position(|known| *known == name).map(|at| values[at]);
    assert_eq!(
        ["ip_ttl", "tcp_flags", "total_byte"].map(of),
        [Some(""), Some("18"), Some("180")],
        "{written}"
    );
    let stored = scratch.path("imported");
    call(&["import", text(&csv), "--store", text(&stored)]).expect(0);
    for from in [&[text(&csv)][..], &["--store", text(&stored)]] {
        let of_ttl = if from.len() == 1 { "1 record does not tell ip_ttl, which is left out" } else { said };
        for (query, told) in
            [("select max(last_ip_ttl) as n", of_ttl), ("select max(any_tcp_flags) as n", "")]
        {
            let ended = call(&[&["query"], from, &["--json", "-q", query]].concat());
            let answer: Value =
                serde_json::from_str(ended.stdout.lines().next().expect("an answer")).expect("JSON");
            assert_eq!(answer["reason"].as_str().unwrap_or_default(), told, "{from:?}: {answer}");
        }
    }
    let no_vlan = "1 record does not tell vlan, which counts as none";
    for (query, n, told) in [("vlan", 1, no_vlan), ("ttl", 0, said), ("flags", 0x12, ""), ("bytes", 180, "")]
    {
        let of_run = output::of_run(&report, query);
        assert_eq!(number(&output::rows(of_run)[0]["n"]), n, "{of_run}");
        assert_eq!(of_run["reason"].as_str().unwrap_or_default(), told, "{of_run}");
    }
    for (query, told) in [("select max(last_ip_ttl) as n", said), ("select max(any_tcp_flags) as n", "")] {
        let ended = call(&["query", "--store", text(&store), "--json", "-q", query]);
        let answer: Value =
            serde_json::from_str(ended.stdout.lines().next().expect("an answer")).expect("JSON");
        // The run ended within its window, which is cut.
        assert_eq!(
            answer["reason"].as_str().unwrap_or_default().contains("does not tell"),
            !told.is_empty(),
            "{answer}"
        );
    }
}
