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
    check_of_class("zoom", answers, frames, is_pinned)
}

fn check_of_class(
    class: &str,
    answers: &[Value],
    frames: &[Frame],
    is_pinned: impl Fn(&Key) -> bool,
) -> usize {
    let mut with_gaps = 0;
    for answer in answers {
        // The last window is cut by the end of the capture.
        assert!(answer["class"] == class && answer["status"] != "partial", "{answer}");
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

/// P-square as Jain and Chlamtac print it, for one quantile of more than five samples, and the interpolation of up to five.
fn p_square(samples: &[f64], p: f64) -> Option<f64> {
    let mut q: Vec<f64> = samples.iter().take(5).copied().collect();
    q.sort_unstable_by(f64::total_cmp);
    let between = |q: &[f64], rank: f64| {
        let (low, high) = (rank.floor() as usize, rank.ceil() as usize);
        q[low] + (q[high] - q[low]) * (rank - low as f64)
    };
    if samples.len() <= 5 {
        return (!q.is_empty()).then(|| between(&q, (q.len() - 1) as f64 * p));
    }
    let mut n: Vec<f64> = (1..=5).map(f64::from).collect();
    for (count, x) in (6..).zip(&samples[5..]) {
        q[0] = q[0].min(*x);
        let above = (1..5).find(|k| *x < q[*k]).unwrap_or(4);
        q[4] = q[4].max(*x);
        n[above..].iter_mut().for_each(|n| *n += 1.0);
        for i in 1..4 {
            let desired = 1.0 + f64::from(count - 1) * [0.0, p / 2.0, p, (1.0 + p) / 2.0][i];
            let off = desired - n[i];
            if off >= 1.0 && n[i + 1] - n[i] > 1.0 || off <= -1.0 && n[i - 1] - n[i] < -1.0 {
                let d = off.signum();
                let (up, down) =
                    ((q[i + 1] - q[i]) / (n[i + 1] - n[i]), (q[i] - q[i - 1]) / (n[i] - n[i - 1]));
                let parabolic = q[i]
                    + d / (n[i + 1] - n[i - 1]) * ((n[i] - n[i - 1] + d) * up + (n[i + 1] - n[i] - d) * down);
                let next = if d > 0.0 { i + 1 } else { i - 1 };
                let linear = q[i] + d * (q[next] - q[i]) / (n[next] - n[i]);
                q[i] = if q[i - 1] < parabolic && parabolic < q[i + 1] { parabolic } else { linear };
                n[i] += d;
            }
        }
    }
    Some(q[2])
}

const OF_ALL: [&str; 6] =
    ["--gap", "mean,stddev,p50,p90", "--packet-size", "mean,p50", "--inter-arrival", "mean,p25"];

/// With the options, rows of all flows have them, without a pin, by each design that keeps the packets of a flow in their order.
#[test]
fn statistics_of_all_flows_are_those_of_the_frames() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC);
    let columns = "total_count, gap_mean, gap_stddev, gap_p50, gap_p90, size_mean, iat_mean";
    let text = format!("q: select {KEYS}, {columns} limit 10k; rows: select count(*) as flows");
    let flows = scratch.file("flows.csv", "");
    let path = crate::support::scratch::text(&flows);
    let designs: [&[&str]; 5] = [
        &[],
        &["--loss"],
        &["--design", "1x3"],
        &["--biflow", "--design", "cooperative"],
        &["--flows", path],
    ];
    for design in designs {
        let found = answers(&capture, &text, &[&OF_ALL[..], design].concat());
        assert!(found.len() >= 4, "{design:?}");
        let mut medians = 0;
        for answer in &found {
            assert!(answer["class"] == "row" && answer["status"] != "partial", "{answer}");
            let expected = samples(&capture.frames, time(&answer["window"]["start"]));
            // Every flow of the window has a row, those of a single packet too, whose gaps have no value.
            assert_eq!(rows(answer).len(), expected.len(), "{design:?}");
            for row in rows(answer) {
                let [gaps, sizes, times] = &expected[&key(row)];
                assert_eq!(number(&row["total_count"]), sizes.len() as u64);
                for (name, expected) in [
                    ("gap_mean", mean(gaps)),
                    ("gap_stddev", stddev(gaps)),
                    ("gap_p50", p_square(gaps, 0.5)),
                    ("size_mean", mean(sizes)),
                    ("iat_mean", mean(times)),
                ] {
                    assert!(near(&row[name], expected), "{design:?} {name}: {row} {expected:?}");
                }
                // The program interpolates until the marker of a high percentile has got to its place.
                if gaps.len() <= 5 || gaps.len() > 20 {
                    let printed = p_square(gaps, 0.9);
                    let is_close = |found: f64, printed: f64| {
                        (found - printed).abs() <= if gaps.len() <= 5 { 1e-6 } else { 0.5 * printed }
                    };
                    let found = row["gap_p90"].as_f64();
                    assert!(
                        found.is_some() == printed.is_some()
                            && found.zip(printed).is_none_or(|(found, printed)| is_close(found, printed)),
                        "{design:?}: {row} {printed:?}"
                    );
                }
                medians += usize::from(gaps.len() > 5);
            }
        }
        assert!(medians > 100, "{design:?}: {medians}");
    }
}

/// Filters, aggregates and orders read them as any field, beside statistics of pinned flows that the options do not name.
#[test]
fn queries_read_statistics_of_all_flows_as_any_field() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, SPEC);
    let port = heaviest(&capture.frames)[0].4;
    let text = format!(
        "q: select count(*) as flows, max(gap_mean) as most, avg(size_mean) as size where gap_mean > 200; \
         top: select {KEYS}, gap_mean order by gap_mean desc limit 3; \
         pinned: select {KEYS}, gap_mean, iat_p100 where port = {port}"
    );
    let options = ["--gap", "mean", "--packet-size", "mean"];
    let mut command = edison();
    command.args(["run", "--json", "--every", "500ms", "-q", &text]).arg(&capture.path).args(options);
    let ended = run(&mut command).expect(0);
    let mut seen = [0; 3];
    for line in ended.stdout.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if !answer["event"].is_null() {
            continue;
        }
        let all = samples(&capture.frames, time(&answer["window"]["start"]));
        let mean_gap = |key: &Key| mean(&all[key][0]);
        match answer["query"].as_str() {
            Some("q") => {
                let wide: Vec<&Key> = all.keys().filter(|key| mean_gap(key) > Some(200.0)).collect();
                let row = &rows(&answer)[0];
                assert_eq!(number(&row["flows"]), wide.len() as u64);
                assert!(near(
                    &row["most"],
                    wide.iter().filter_map(|key| mean_gap(key)).max_by(f64::total_cmp)
                ));
                let sizes: Vec<f64> = wide.iter().filter_map(|key| mean(&all[*key][1])).collect();
                assert!(near(&row["size"], mean(&sizes)));
                seen[0] += wide.len();
            }
            Some("top") => {
                let mut gaps: Vec<f64> = all.keys().filter_map(mean_gap).collect();
                gaps.sort_unstable_by(|one, other| other.total_cmp(one));
                for (row, expected) in rows(&answer).iter().zip(gaps) {
                    assert!(near(&row["gap_mean"], Some(expected)), "{row} {expected}");
                    seen[1] += 1;
                }
            }
            Some("pinned") => {
                assert_eq!(answer["class"], "zoom");
                for row in rows(&answer) {
                    assert!(near(&row["gap_mean"], mean_gap(&key(row))));
                    assert!(near(&row["iat_p100"], greatest(&all[&key(row)][2])), "{row}");
                    seen[2] += usize::from(!row["iat_p100"].is_null());
                }
            }
            _ => {}
        }
    }
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
}

/// A firing pins the flows of an address, some windows later.
/// What is of windows has no answer where a capture is answered as a whole, and that is said.
#[test]
fn a_query_of_statistics_without_windows_is_named() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=500,flows=20,rate=1000,seed=4");
    let query =
        "q: select src_addr, gap_p99, gap_mean; plain: select src_addr, sum(total_byte) groupby src_addr;";
    let of = |arguments: &[&str]| {
        let path = text(&capture.path).to_owned();
        call(&[&["run", &path, "--gap", "mean,p99", "-q", query], arguments].concat()).expect(0)
    };
    let ended = of(&[]);
    let remark = "q: statistics of packets (gap_mean, gap_p99) are of windows, and this run answers none: give --every";
    assert!(ended.stderr.contains(remark), "{}", ended.stderr);
    assert!(!ended.stderr.contains("plain:"), "{}", ended.stderr);
    assert!(
        !ended.stdout.contains("gap_p99") && ended.stdout.contains("sum(total_byte)"),
        "{}",
        ended.stdout
    );
    for windows in [&["--every", "200ms"][..], &["--json", "--every", "200ms"]] {
        let ended = of(windows);
        assert!(!ended.stderr.contains("statistics of packets"), "{}", ended.stderr);
        assert!(ended.stdout.contains("gap_p99"), "{}", ended.stdout);
    }
}

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
    // With the options of all flows: what they do not name, windows of another length, and designs without an order of packets.
    refused("q: select max(gap_p98) as most", &["--gap", "p99"], "or give the run --gap p98");
    refused(
        "q: select max(gap_p99) as most every 1s",
        &["--gap", "p99"],
        "gap_p99 is of a flow's packets in one window of the run",
    );
    refused(
        "q: select max(gap_p99) as most",
        &["--gap", "p99", "--cores", "2", "--state", "shared"],
        "--gap",
    );
    refused(
        "q: select count(*) as flows",
        &["--gap", "p99"],
        "without --flows, --export, --store or a query of windows",
    );
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
