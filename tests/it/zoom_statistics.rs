//! Statistics of the packets of flows that a query or a firing pins: of each window by itself, and those that the frames tell.

use crate::support::capture::{self, Frame, Generated, Key};
use crate::support::output::{list, number, rows, time};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

const SPEC: &str = "packets=40k,flows=300,zipf=1,rate=20000,ipv6=30%,seed=4";
const EVERY_NS: u64 = 500_000_000;

/// The answers of a query that a run prints.
fn answers(capture: &Generated, query: &str, arguments: &[&str]) -> Vec<Value> {
    let mut command = edison();
    command.args(["run", "--json", "--every", "500ms", "-q", query]).arg(&capture.path).args(arguments);
    let ended = run(&mut command).expect(0);
    let all = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    all.filter(|answer| answer["query"] == "q" && answer["event"].is_null()).collect()
}

/// Gaps, sizes and times between packets of each flow in the window that begins at this time.
fn samples(frames: &[Frame], start_ns: u64) -> BTreeMap<Key, [Vec<f64>; 3]> {
    let mut samples: BTreeMap<Key, [Vec<f64>; 3]> = BTreeMap::new();
    let mut last: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
    let window = start_ns..start_ns + EVERY_NS;
    for (at, frame) in (0..).zip(frames).filter(|(_, frame)| window.contains(&frame.time_ns)) {
        let (key, bytes) = capture::layer3(&frame.data);
        let [gaps, sizes, times] = samples.entry(key).or_default();
        sizes.push(bytes as f64);
        if let Some((last_at, last_ns)) = last.insert(key, (at, frame.time_ns)) {
            gaps.push((at - last_at - 1) as f64);
            times.push((frame.time_ns - last_ns) as f64);
        }
    }
    samples
}

fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

fn stddev(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples)?;
    self::mean(&samples.iter().map(|sample| (sample - mean).powi(2)).collect::<Vec<_>>()).map(f64::sqrt)
}

fn greatest(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().max_by(f64::total_cmp)
}

fn near(found: &Value, expected: Option<f64>) -> bool {
    match (found.as_f64(), expected) {
        (None, None) => found.is_null(),
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
        _ => false,
    }
}

const KEYS: &str = "src_addr, dst_addr, protocol, src_port, dst_port";

fn key(row: &Value) -> Key {
    let address =
        |name: &str| row[name].as_str().and_then(|text| text.parse::<IpAddr>().ok()).expect("an address");
    let port = |name: &str| u16::try_from(number(&row[name])).expect("a port");
    let protocol = u8::try_from(number(&row["protocol"])).expect("a protocol");
    (address("src_addr"), address("dst_addr"), protocol, port("src_port"), port("dst_port"))
}

/// The heaviest flows of a capture.
fn heaviest(frames: &[Frame]) -> Vec<Key> {
    let mut flows: Vec<_> = capture::flows(frames).into_iter().collect();
    flows.sort_unstable_by_key(|(key, count)| (std::cmp::Reverse(count.packets), *key));
    flows.into_iter().map(|(key, _)| key).collect()
}

fn condition(key: &Key) -> String {
    let (from, to, protocol, source, destination) = key;
    format!(
        "(src_addr = {from} and dst_addr = {to} and protocol = {protocol} and src_port = {source} and dst_port = {destination})"
    )
}

/// Compares each row of each window with the frames; gives the number of rows with gaps.
fn check(answers: &[Value], frames: &[Frame], is_pinned: impl Fn(&Key) -> bool) -> usize {
    let mut with_gaps = 0;
    for answer in answers {
        // The last window is cut by the end of the capture.
        assert!(answer["class"] == "zoom" && answer["status"] != "partial", "{answer}");
        let mut expected = samples(frames, time(&answer["window"]["start"]));
        expected.retain(|key, _| is_pinned(key));
        assert_eq!(rows(answer).len(), expected.len());
        for row in rows(answer) {
            let [gaps, sizes, times] = &expected[&key(row)];
            assert_eq!(number(&row["total_count"]), sizes.len() as u64);
            for (name, expected) in [
                ("gap_mean", mean(gaps)),
                ("gap_stddev", stddev(gaps)),
                ("gap_p100", greatest(gaps)),
                ("size_mean", mean(sizes)),
                (
                    "size_p0",
                    greatest(&sizes.iter().map(|size| -size).collect::<Vec<_>>()).map(|least| -least),
                ),
                ("iat_mean", mean(times)),
            ] {
                assert!(near(&row[name], expected), "{name}: {row} {expected:?}");
            }
            let (least, most) = (gaps.iter().copied().min_by(f64::total_cmp), greatest(gaps));
            let median = row["gap_p50"].as_f64();
            assert_eq!(median.is_some(), least.is_some());
            assert!(median.is_none_or(|median| least <= Some(median) && Some(median) <= most));
            with_gaps += usize::from(gaps.len() > 5);
        }
    }
    with_gaps
}

const STATISTICS: &str = "total_count, gap_mean, gap_stddev, gap_p100, gap_p50, size_mean, size_p0, iat_mean";

#[test]
fn statistics_of_pinned_flows_are_those_of_the_frames() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC);
    let heaviest = heaviest(&capture.frames);
    let few = &heaviest[..8];
    assert!(few.iter().any(|key| key.0.is_ipv6()) && few.iter().any(|key| key.0.is_ipv4()));
    let pins = few.iter().map(condition).collect::<Vec<_>>().join(" or ");
    let whole = format!("q: select {KEYS}, {STATISTICS} where {pins}");
    let of_few = |key: &Key| few.contains(key);
    // Beside the losses of all flows, and of the same flows.
    for arguments in [&[][..], &["--loss"], &["--design", "async", "--cores", "2"]] {
        let found = answers(&capture, &whole, arguments);
        assert!(found.len() >= 4);
        assert!(check(&found, &capture.frames, of_few) > 20, "{arguments:?}");
    }
    let port = heaviest[0].4;
    let wide = format!("q: select {KEYS}, {STATISTICS}, ploss_byte where port = {port}");
    let of_port = |key: &Key| key.3 == port || key.4 == port;
    assert!(check(&answers(&capture, &wide, &[]), &capture.frames, of_port) > 3);
}

#[test]
fn aggregates_read_them_and_other_flows_have_none() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC);
    let pinned = heaviest(&capture.frames)[0];
    let text = format!(
        "q: select count(*) as flows, max(gap_p100) as most, avg(size_mean) as size where {}; \
         rows: select count(*) as flows, sum(total_count) as packets",
        condition(&pinned)
    );
    let found = answers(&capture, &text, &[]);
    assert!(found.len() >= 4);
    for answer in &found {
        let samples = samples(&capture.frames, time(&answer["window"]["start"]));
        let [gaps, sizes, _] = &samples[&pinned];
        let row = &rows(answer)[0];
        assert_eq!(number(&row["flows"]), 1);
        assert!(near(&row["most"], greatest(gaps)) && near(&row["size"], mean(sizes)), "{row}");
    }
    // The other direction is followed too, and is in no row of this query.
    let both = format!(
        "q: select count(*) as flows, count(*) - count(*) as none, max(gap_p100) as most where src_port = {0} or dst_port = {0}",
        pinned.3
    );
    for answer in answers(&capture, &both, &[]) {
        let samples = samples(&capture.frames, time(&answer["window"]["start"]));
        let of_port = samples.iter().filter(|(key, _)| key.3 == pinned.3 || key.4 == pinned.3);
        let most = of_port.filter_map(|(_, [gaps, ..])| greatest(gaps)).max_by(f64::total_cmp);
        assert!(near(&rows(&answer)[0]["most"], most), "{answer}");
    }
}

/// A firing pins the flows of an address, some windows later.
#[test]
fn a_firing_pins_the_flows_whose_packets_tell_them() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=30k,flows=300,zipf=1,rate=5000,seed=4");
    let address = heaviest(&capture.frames)[0].1;
    let text = format!(
        "start: select count(*) as flows every 500ms; \
         q: select {KEYS}, {STATISTICS} where dst_addr = {address} every 500ms when start.flows > 5 run 1s"
    );
    let found: Vec<_> = answers(&capture, &text, &[])
        .into_iter()
        .filter(|answer| !list(&answer["rows"]).is_empty())
        .collect();
    assert!((1..4).contains(&found.len()), "{}", found.len());
    assert!(check(&found, &capture.frames, |key| key.1 == address) > 0);
}

#[test]
fn what_cannot_be_told_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=2k,flows=20,seed=1");
    let refused = |query: &str, arguments: &[&str], reason: &str| {
        let mut command = edison();
        command.args(["run", "--every", "500ms", "-q", query]).arg(&capture.path).args(arguments);
        let said = run(&mut command).expect(2).stderr;
        assert!(said.contains(reason), "{query} {arguments:?}: {said}");
    };
    refused("q: select max(gap_p99) as most", &[], "gap_p99 is told of pinned flows alone");
    refused(
        "q: select max(iat_p50) as most where protocol = UDP",
        &[],
        "iat_p50 is told of pinned flows alone",
    );
    refused(
        "q: select max(gap_p99) as most where dst_port = 53 every 1s",
        &[],
        "gap_p99 is of a flow's packets in one window of the run",
    );
    refused(
        "q: select max(size_p99) as most where dst_port = 53",
        &["--design", "1x2"],
        "size_p99 needs the packets of pinned flows",
    );
    let many = (0..33).map(|percent| format!("size_p{percent}")).collect::<Vec<_>>().join(", ");
    refused(&format!("q: select {many} where dst_port = 53"), &[], "at most 32 statistics of packets");
}

#[test]
fn what_is_told_of_packets_is_explained() {
    let scratch = Scratch::new();
    let file = scratch.file("q.eq", "q: select src_addr, gap_p99, size_mean where dst_addr = 10.0.0.2;");
    let said = call(&["explain", text(&file)]).expect(0).stdout;
    assert!(
        said.contains("class    zoom: 'where' pins the flows whose packets tell 'gap_p99', 'size_mean'"),
        "{said}"
    );
    assert!(said.contains("keep gap_p99, size_mean of the packets of the flows that 'where' pins"), "{said}");
    assert!(!said.contains("not run"), "{said}");
    let file = scratch.file("all.eq", "q: select src_addr, gap_p99;");
    let said = call(&["explain", text(&file)]).expect(0).stdout;
    assert!(said.contains("told of pinned flows alone"), "{said}");
}
