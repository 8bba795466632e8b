//! What `--key`, `--biflow`, `--gap`, `--anonymize`, `--rotate` and `--export` make of records, against what the test makes of
//! the frames or of plain records by itself.

use crate::support::capture::{self, Frame, Generated};
use crate::support::output::{self, number};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MIXED: &str =
    "packets=6000,flows=700,size=64:7/594:4/1518:1,ipv6=30%,plant=flood:sources=150/scan/elephant";

/// A line of a CSV file by column names.
type Line = HashMap<String, String>;

fn lines(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    lines.map(|cells| header.iter().cloned().zip(cells).collect()).collect()
}

fn of(line: &Line, name: &str) -> u64 {
    line[name].parse().unwrap_or_else(|_| panic!("{name} in {line:?}"))
}

/// The 5-tuple of a record.
fn key_of(line: &Line) -> capture::Key {
    let address = |name: &str| line[name].parse::<IpAddr>().unwrap();
    let small = |name: &str| u16::try_from(of(line, name)).unwrap();
    let protocol = u8::try_from(small("protocol")).unwrap();
    (address("src_addr"), address("dst_addr"), protocol, small("src_port"), small("dst_port"))
}

/// Runs `edison run` with one record per key, and reads the records and the report.
fn measure(scratch: &Scratch, capture: &Path, options: &[&str]) -> (Vec<Line>, serde_json::Value) {
    let (csv, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.arg("run").arg(capture).args(["--idle-timeout", "off", "--active-timeout", "off"]).args(options);
    command.arg("--flows").arg(&csv).arg("--report").arg(&report);
    run(&mut command).expect(0);
    (lines(&csv), output::report(&report))
}

/// The first `bits` of an address, the rest zero.
fn prefix(address: IpAddr, v4: u32, v6: u32) -> IpAddr {
    let cut = |bits: u128, low: u32| if low == 128 { 0 } else { bits >> low << low };
    match address {
        IpAddr::V4(a) => IpAddr::from((cut(u32::from(a).into(), 32 - v4) as u32).to_be_bytes()),
        IpAddr::V6(a) => IpAddr::from(cut(a.into(), 128 - v6).to_be_bytes()),
    }
}

/// What the frames have under a key of the test's own choice: packets and bytes.
fn expected<K: Ord>(frames: &[Frame], key: impl Fn(&capture::Key) -> K) -> BTreeMap<K, (u64, u64)> {
    let mut flows = BTreeMap::new();
    for frame in frames {
        let (tuple, bytes) = capture::layer3(&frame.data);
        let sum: &mut (u64, u64) = flows.entry(key(&tuple)).or_default();
        *sum = (sum.0 + 1, sum.1 + bytes);
    }
    flows
}

#[test]
fn keys_merge_what_they_leave_out() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, MIXED);

    let (records, _) = measure(&scratch, &path, &["--key", "src_addr/20/48,dst_port"]);
    let found = records.iter().map(|line| {
        let key = (line["src_addr"].parse::<IpAddr>().unwrap(), of(line, "dst_port"));
        assert!(["dst_addr", "src_port", "protocol"].iter().all(|name| !line.contains_key(*name)));
        (key, (of(line, "total_count"), of(line, "total_byte")))
    });
    let by_prefix = expected(&frames, |key| (prefix(key.0, 20, 48), u64::from(key.4)));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), by_prefix);
    assert_eq!(records.len(), by_prefix.len());

    // Without addresses both families have the same keys.
    let (records, report) = measure(&scratch, &path, &["--key", "protocol"]);
    let found =
        records.iter().map(|line| (of(line, "protocol"), (of(line, "total_count"), of(line, "total_byte"))));
    let by_protocol = expected(&frames, |key| u64::from(key.2));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), by_protocol);
    assert_eq!(records.len(), by_protocol.len());
    let names: Vec<_> = output::list(&report["answers"]).iter().map(|answer| &answer["query"]).collect();
    assert_eq!(names, ["totals", "top_bytes", "top_packets", "protocols"]);
    let answer = output::of_run(&report, "top_bytes");
    assert_eq!(answer["columns"][0]["name"], "protocol");
    let ranked = output::rows(answer)
        .iter()
        .map(|row| (number(&row["protocol"]), (number(&row["total_count"]), number(&row["total_byte"]))));
    assert_eq!(ranked.collect::<BTreeMap<_, _>>(), by_protocol);
}

#[test]
fn a_bad_key_names_the_field_and_the_fields_there_are() {
    let ended = run(edison().args(["run", "--synthetic", "packets=1", "--key", "src_addr,dts_port"]));
    let fields = "src_addr, dst_addr, protocol, src_port, dst_port, vlan, ip_tos";
    ended.says(2, &["--key", "'dts_port'", "did you mean dst_port?", fields]);
}

#[test]
fn both_directions_of_a_record_are_the_plain_ones() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, MIXED);
    let flows = expected(&frames, |key| *key);
    let (records, report) = measure(&scratch, &path, &["--biflow"]);
    let mut left = flows.clone();
    for line in &records {
        let key = key_of(line);
        let back = (key.1, key.0, key.2, key.4, key.3);
        assert_eq!(left.remove(&key), Some((of(line, "total_count"), of(line, "total_byte"))), "{key:?}");
        let reverse = (!line["reverse_total_count"].is_empty())
            .then(|| (of(line, "reverse_total_count"), of(line, "reverse_total_byte")));
        assert_eq!(left.remove(&back), reverse, "{back:?}");
        if reverse.is_some() {
            assert!(of(line, "stime") <= of(line, "reverse_stime"), "the first packet decides the direction");
        }
    }
    assert_eq!(left, BTreeMap::new());
    assert!(records.len() < flows.len(), "some flows have two directions");
    assert_eq!(number(&report["flows"]["seen"]), records.len() as u64);
}

#[test]
fn gaps_sizes_and_times_are_those_of_the_frames() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, MIXED);
    let options = ["--gap", "mean,stddev,p50", "--packet-size", "mean", "--inter-arrival", "stddev,mean"];
    let (records, _) = measure(&scratch, &path, &options);
    let mut samples: HashMap<capture::Key, [Vec<f64>; 3]> = HashMap::new();
    let mut last: HashMap<capture::Key, (u64, u64)> = HashMap::new();
    for (at, frame) in (0..).zip(&frames) {
        let (key, bytes) = capture::layer3(&frame.data);
        let [gaps, sizes, times] = samples.entry(key).or_default();
        sizes.push(bytes as f64);
        if let Some((last_at, last_ns)) = last.insert(key, (at, frame.time_ns)) {
            gaps.push((at - last_at - 1) as f64);
            times.push((frame.time_ns - last_ns) as f64);
        }
    }
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
    let stddev = |samples: &[f64]| {
        let mean = mean(samples);
        mean_of(samples, |sample| (sample - mean).powi(2)).sqrt()
    };
    let mut several = 0;
    for line in &records {
        let key = key_of(line);
        let [gaps, sizes, times] = &samples[&key];
        let value = |name: &str| line[name].parse::<f64>().ok();
        let near = |name: &str, expected: Option<f64>| {
            let (found, expected) = (value(name), expected);
            let is_near = match (found, expected) {
                (None, None) => true,
                (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
                _ => false,
            };
            assert!(is_near, "{name} of {key:?}: {found:?}, expected {expected:?}");
        };
        near("gap_mean", (!gaps.is_empty()).then(|| mean(gaps)));
        near("gap_stddev", (!gaps.is_empty()).then(|| stddev(gaps)));
        near("size_mean", Some(mean(sizes)));
        near("iat_stddev", (!times.is_empty()).then(|| stddev(times)));
        near("iat_mean", (!times.is_empty()).then(|| mean(times)));
        if let (Some(p50), [_, ..]) = (value("gap_p50"), gaps.as_slice()) {
            let (least, most) =
                gaps.iter().fold((f64::MAX, 0.0_f64), |(a, b), &gap| (a.min(gap), b.max(gap)));
            assert!((least..=most).contains(&p50));
        }
        several += usize::from(gaps.len() > 5);
    }
    assert!(several > 100, "flows with gaps: {several}");
}

fn mean_of(samples: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    samples.iter().map(|&sample| of(sample)).sum::<f64>() / samples.len() as f64
}

#[test]
fn anonymised_records_keep_prefixes_and_counts_and_show_no_address() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, MIXED);
    let key = scratch.file("key", (0..32).collect::<Vec<u8>>());
    let (plain, _) = measure(&scratch, &path, &[]);
    let (hidden, report) = measure(&scratch, &path, &["--anonymize", key.to_str().unwrap()]);
    assert_eq!(plain.len(), hidden.len());
    let counts = |lines: &[Line]| {
        let mut counts: Vec<_> = lines
            .iter()
            .map(|line| {
                (of(line, "stime"), of(line, "total_count"), of(line, "src_port"), of(line, "dst_port"))
            })
            .collect();
        counts.sort_unstable();
        counts
    };
    assert_eq!(counts(&plain), counts(&hidden));
    let real: Vec<&String> = plain.iter().flat_map(|line| [&line["src_addr"], &line["dst_addr"]]).collect();
    assert!(hidden.iter().all(|line| !real.contains(&&line["src_addr"])));
    let text = report.to_string();
    assert!(real.iter().all(|address| !text.contains(&format!("\"{address}\""))));
    assert!(hidden.iter().all(|line| line["smac"].is_empty() && line["dmac"].is_empty()));
}

#[test]
fn rotated_files_together_are_the_whole() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, MIXED);
    let timeouts = ["--idle-timeout", "1s", "--active-timeout", "3s"];
    let whole = scratch.path("whole.csv");
    run(edison().arg("run").arg(&path).args(timeouts).arg("--flows").arg(&whole)).expect(0);
    let rotated = scratch.path("part.csv");
    run(edison().arg("run").arg(&path).args(timeouts).args(["--rotate", "5s", "--flows"]).arg(&rotated))
        .expect(0);
    let parts: Vec<_> = std::fs::read_dir(scratch.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("part-"))
        .collect();
    assert!(parts.len() > 3, "{parts:?}");
    assert!(parts.iter().all(|path| path.extension().is_some_and(|suffix| suffix == "csv")));
    let sorted = |lines: Vec<Line>| {
        let mut lines: Vec<_> =
            lines.into_iter().map(|line| line.into_iter().collect::<BTreeMap<_, _>>()).collect();
        lines.sort();
        lines
    };
    let all: Vec<Line> = parts.iter().flat_map(|path| lines(path)).collect();
    assert_eq!(sorted(all), sorted(lines(&whole)));
}

/// Debian's collector, ended with the test.
struct Nfcapd {
    child: std::process::Child,
    port: u16,
}

impl Nfcapd {
    fn start(directory: &Path) -> Self {
        std::fs::create_dir(directory).unwrap();
        // A port that was free a moment ago.
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("nfcapd");
        command.args(["-b", "127.0.0.1", "-p", &port.to_string(), "-B", "8000000", "-l"]).arg(directory);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("nfcapd is installed");
        let nfcapd = Self { child, port };
        nfcapd.wait_for("to listen", |waiting| waiting.is_some());
        nfcapd
    }

    /// Waits for a fact about the bytes that wait in its socket; `None` while it has none.
    fn wait_for(&self, what: &str, fact: impl Fn(Option<u64>) -> bool) {
        let began = Instant::now();
        let own = format!("0100007F:{:04X}", self.port);
        loop {
            let sockets = std::fs::read_to_string("/proc/net/udp").unwrap();
            let line = sockets.lines().find(|line| line.split_whitespace().nth(1) == Some(&own));
            let queues = line.and_then(|line| line.split_whitespace().nth(4));
            let waiting = queues.and_then(|queues| u64::from_str_radix(queues.split_once(':')?.1, 16).ok());
            if fact(waiting) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "waited in vain for nfcapd {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it in order when it has read everything, so that it writes its file.
    fn stop(mut self) {
        self.wait_for("to read what was sent", |waiting| waiting == Some(0));
        // SAFETY: no pointers; the child was not waited for, so its number is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        self.child.wait().unwrap();
    }
}

impl Drop for Nfcapd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nfdump_has_the_same_totals() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, MIXED);
    let collected = scratch.path("collected");
    let nfcapd = Nfcapd::start(&collected);
    let url = format!("ipfix://127.0.0.1:{}", nfcapd.port);
    let report = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(&path).args(["--export", &url, "--report"]).arg(&report);
    run(&mut command).expect(0);
    nfcapd.stop();
    let report = output::report(&report);
    let nfdump = Command::new("nfdump").arg("-R").arg(&collected).arg("-I").output().expect("nfdump");
    let text = String::from_utf8_lossy(&nfdump.stdout).into_owned();
    let said = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
    };
    let bytes: u64 = frames.iter().map(|frame| capture::layer3(&frame.data).1).sum();
    assert_eq!((said("Packets"), said("Bytes")), (frames.len() as u64, bytes));
    assert_eq!(said("Flows"), number(&report["flows"]["exported"]));
    assert_eq!(number(&report["flows"]["dropped"]), 0);
}

#[test]
fn a_collector_that_is_away_costs_records_and_nothing_else() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, MIXED);
    let report = scratch.path("report.json");
    // A closed socket's port has no listener.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("ipfix://127.0.0.1:{port}?transport=tcp");
    let mut command = edison();
    command.arg("run").arg(&path).args(["--export", &url, "--report"]).arg(&report);
    let ended = run(&mut command).says(3, &[&url, "records were lost"]);
    let report = output::report(&report);
    assert_eq!(number(&report["packets"]["measured"]), 6000);
    let flows = &report["flows"];
    assert_eq!((number(&flows["exported"]), number(&flows["dropped"])), (0, number(&flows["seen"])));
    assert!(ended.stderr.contains(&port.to_string()), "{}", ended.stderr);
}
