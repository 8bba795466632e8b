//! `--store`: the time that was not watched or not stored is missing, and never empty.

use crate::support::capture::{self, ETHERNET, Frame, Generated};
use crate::support::output::{list, number, of_run, report as report_of, time};
use crate::support::program::{Running, call, edison};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use store::{Catalog, Level, Manifest};

const SECOND: u64 = 1_000_000_000;
/// 2026-11-22 10:00:00 UTC.
const START: u64 = 1_795_341_600 * SECOND;
const QUERY: &str = "q: select sum(total_count) as n every 1s";

/// A live run into the store, of five thousand packets a second.
fn start(store: &Path, packets: &str) -> Running {
    let traffic = format!("packets={packets},flows=200");
    let mut command = edison();
    command.args([
        "run",
        "--synthetic",
        &traffic,
        "--wire",
        "rate=5kpps",
        "--every",
        "1s",
        "--json",
        "-q",
        QUERY,
    ]);
    command.args(["--store", text(store)]);
    Running::start(&mut command)
}

fn answers<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    let answers = lines.into_iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    answers.filter(|answer| answer["query"] == "q").collect()
}

/// The sum of counters.
fn counted(counters: &Value) -> u64 {
    counters.as_object().expect("counters").values().map(number).sum()
}

fn packets(answer: &Value) -> Option<u64> {
    list(&answer["rows"]).first().map(|row| number(&row["n"]))
}

fn window(answer: &Value) -> [u64; 2] {
    ["start", "end"].map(|end| time(&answer["window"][end]))
}

#[test]
fn a_run_that_was_killed_leaves_a_missing_time() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let mut first = start(&store, "2M");
    let has_rows = || {
        Catalog::open(&store)
            .is_ok_and(|catalog| catalog.files(Level::Rows, None).is_ok_and(|files| !files.is_empty()))
    };
    assert!(first.wait_for("rows in the store", |_| has_rows()));
    first.signal(libc::SIGKILL);
    let first = first.wait();
    let killed = call(&["query", "--store", text(&store), "--json", "-q", QUERY]).expect(3);
    let last = answers(killed.stdout.lines()).pop().expect("an answer");
    let reason = last["reason"].as_str().unwrap_or_default();
    assert!(last["status"] == "partial" && reason.contains("the run was killed"), "{last}");
    // So long that whole windows lie in it.
    std::thread::sleep(Duration::from_secs(3));
    let second = start(&store, "20k").wait();
    // A machine that is busy loses packets of the wire, which is told.
    assert!(matches!(second.code, Some(0 | 3)), "{second:?}");
    let [of_first, of_second] = [&first, &second].map(|ended| {
        let live = answers(ended.stdout.lines()).into_iter();
        live.filter_map(|answer| Some((window(&answer)[0], packets(&answer)?)))
            .collect::<BTreeMap<u64, u64>>()
    });
    let last_of_first = of_first.keys().next_back().copied().unwrap_or(0);
    let first_of_second = *of_second.keys().next().expect("a window");
    let live: BTreeMap<u64, u64> = of_first.into_iter().chain(of_second).collect();
    let asked = call(&["query", "--store", text(&store), "--json", "-q", QUERY]).expect(3);
    let found = answers(asked.stdout.lines());
    let mut until = window(&found[0])[0];
    let mut killed = 0;
    for answer in &found {
        let [start, end] = window(answer);
        assert_eq!(start, until, "{answer}");
        until = end;
        let missing = answer["missing"].as_array().cloned().unwrap_or_default();
        assert!(missing.is_empty() || answer["status"] == "partial", "{answer}");
        // Or packets came faster than a busy machine could store them.
        assert!(!missing.is_empty() || answer["status"] != "partial" || second.code == Some(3), "{answer}");
        for one in &missing {
            assert_eq!(one["reason"], "killed", "{answer}");
            killed += time(&one["end"]) - time(&one["start"]);
        }
        match packets(answer).filter(|_| missing.is_empty()) {
            // What was shown live is what is stored. The process may have been killed before it showed what it had stored.
            Some(packets) if answer["status"] == "complete" => match live.get(&start) {
                Some(shown) => assert_eq!(*shown, packets, "{answer}"),
                None => assert!(last_of_first < start && start < first_of_second, "{answer}"),
            },
            Some(_) => {}
            // A window that is empty had no packet live, as on a machine that stood still.
            None => assert!(
                !missing.is_empty() || live.range(start..end).all(|(_, packets)| *packets == 0),
                "{answer}"
            ),
        }
    }
    assert!(killed > 2 * SECOND, "{killed}: {found:?}");
    let whole = call(&["query", "--store", text(&store), "select sum(total_count) as n"]).expect(3);
    assert!(whole.stdout.contains("(the measurement was killed)"), "{}", whole.stdout);
    // Of the time since the second run began nothing is missing. Its first window may be cut.
    let live_of_second = answers(second.stdout.lines());
    let begin = live_of_second.get(1).expect("a second window")["window"]["start"].as_str().expect("a time");
    let asked =
        call(&["query", "--store", text(&store), "--json", "--from", begin, "select sum(total_count) as n"]);
    let answer: Value = serde_json::from_str(asked.stdout.trim()).expect("JSON");
    assert_eq!(answer.get("missing"), None, "{answer}");
    // Only what a busy machine lost of the wire is not covered.
    let is_lost = answer["reason"].as_str().is_some_and(|reason| reason.contains(" lost before "));
    let coverage = answer["coverage"].as_f64().expect("a coverage");
    assert!(if is_lost { coverage < 1.0 } else { coverage == 1.0 }, "{answer}");
    let is_complete = answer["status"] == "complete";
    assert_eq!(asked.code, Some(if is_complete { 0 } else { 3 }), "{asked:?}");
    assert!(is_complete || second.code == Some(3), "{answer}");
}

/// A replay that is killed before its first files are named leaves a store that does not know what it lacks, and says so.
#[test]
fn a_replay_that_was_killed_before_it_stored_anything_is_told() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let bytes = capture::pcap(ETHERNET, &capture::udp_frames(3000, START));
    let file = scratch.path("whole.pcap");
    std::fs::write(&file, &bytes).expect("it is written");
    let asked = |code: i32| {
        let ended = call(&["query", "--store", text(&store), "--json", "-q", "select sum(total_count) as n"]);
        let ended = ended.expect(code);
        serde_json::from_str::<Value>(ended.stdout.trim()).expect("JSON")
    };
    for stored in [0, 3000] {
        let mut command = edison();
        command.args(["run", "n=-", "--store", text(&store)]).stdin(Stdio::piped());
        let mut killed = Running::start(&mut command);
        let mut stdin = killed.child.stdin.take().expect("piped");
        // All but the last bytes: what is read is measured, and not stored yet.
        stdin.write_all(&bytes[..bytes.len() - 8]).expect("it reads");
        let has_begun = || {
            let entries = Catalog::open(&store).and_then(|catalog| catalog.watched());
            entries.ok().flatten().is_some_and(|entries| entries.iter().any(store::WatchedTime::is_begin))
        };
        assert!(killed.wait_for("the begin of the run", |_| has_begun()));
        killed.signal(libc::SIGKILL);
        killed.wait();
        drop(stdin);
        let answer = asked(3);
        assert_eq!(
            (answer["status"].as_str(), packets(&answer)),
            (Some("partial"), Some(stored)),
            "{answer}"
        );
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("a run was killed before anything of it was stored"), "{answer}");
        let windows =
            call(&["query", "--store", text(&store), "--json", "-q", "select count(*) every 10s"]).expect(3);
        assert!(windows.stdout.contains("a run was killed before anything of it was stored"), "{windows:?}");
        // What is stored now does not tell what standard input would have given.
        let named = format!("n={}", text(&file));
        call(&["run", &named, "--store", text(&store)]).expect(0);
        let answer = asked(3);
        assert_eq!(
            (answer["status"].as_str(), packets(&answer)),
            (Some("partial"), Some(stored + 3000)),
            "{answer}"
        );
    }
}

/// The last window of a capture that is not whole lacks what followed, in stores and files of rows, and in no other window.
#[test]
fn what_a_cut_off_capture_leaves_lacks_its_end() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=2k,flows=100,rate=100");
    let whole = std::fs::read(&path).expect("a capture");
    let cut = scratch.path("cut.pcap");
    std::fs::write(&cut, &whole[..whole.len() * 2 / 3]).expect("written");
    for (capture, is_whole) in [(&path, true), (&cut, false)] {
        let (store, rows) = (scratch.path("cut.store"), scratch.path("cut.parquet"));
        let _ = std::fs::remove_dir_all(&store);
        let _ = std::fs::remove_file(&rows);
        let run = ["run", text(capture), "--every", "1s", "--store", text(&store), "--rows", text(&rows)];
        call(&run).expect(if is_whole { 0 } else { 3 });
        let live = call(&["run", text(capture), "--json"]).stdout;
        for answer in live.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
            assert_eq!(answer["status"] == "complete", is_whole, "{answer}");
        }
        for files in [&["--store", text(&store)][..], &[text(&rows)]] {
            let told = call(&[&["query"], files, &["--json", "-q", QUERY]].concat());
            let told = told.expect(if is_whole { 0 } else { 3 });
            let answers = answers(told.stdout.lines());
            let lacks = |answer: &Value| {
                answer["status"] == "partial"
                    && answer["reason"].as_str().is_some_and(|reason| reason.contains("not read to the end"))
            };
            let lacking: Vec<usize> = (0..answers.len()).filter(|at| lacks(&answers[*at])).collect();
            let last = (!is_whole).then(|| answers.len() - 1);
            assert_eq!(lacking, Vec::from_iter(last), "{answers:?}");
        }
        // Flow records have no windows: no answer from them knows where the end is.
        let flows = scratch.path("cut.flows.parquet");
        call(&["run", text(capture), "--flows", text(&flows)]).expect(if is_whole { 0 } else { 3 });
        let asked = ["query", text(&flows), "--json", "-q", "q: select sum(total_count) as n"];
        let told = answers(call(&asked).expect(if is_whole { 0 } else { 3 }).stdout.lines());
        let reason = told[0]["reason"].as_str().unwrap_or_default();
        let is_told = told[0]["status"] == "partial" && reason.contains("not read to the end");
        assert_eq!(is_told, !is_whole, "{told:?}");
        // Behind the cut nothing is known; behind the whole capture nothing was to be watched.
        let behind = ["--from", "2024-01-01T00:00:30Z", "--to", "2024-01-01T00:00:40Z"];
        let told = call(
            &[&["query", "--store", text(&store), "--json", "-q", "select sum(total_count)"], &behind[..]]
                .concat(),
        );
        let told = told.expect(if is_whole { 0 } else { 3 }).stdout;
        assert_eq!(told.contains(r#""reason":"stopped""#), !is_whole, "{told}");
        if !is_whole {
            // The packets of a second run count, too, and the answer says so.
            call(&["run", text(&path), "--every", "1s", "--store", text(&store)]).expect(0);
            let told =
                call(&["query", "--store", text(&store), "--json", "-q", "select sum(total_count)"]).stdout;
            assert!(told.contains("stored by two runs, whose packets both count"), "{told}");
        }
    }
}

/// Packets that a wire loses because a run is too slow for it are told in what is stored, too.
#[test]
fn what_a_wire_loses_lowers_the_coverage_of_stored_answers() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let run = ["run", "--synthetic", "packets=3M,flows=20k", "--wire", "rate=12Mpps,ring=256", "--every"];
    let windows = "q: select sum(total_count) as n every 100ms";
    let report = scratch.path("report.json");
    let flows = scratch.path("flows.parquet");
    let rows = scratch.path("rows.parquet");
    let outputs = ["--store", text(&store), "--report", text(&report), "--flows", text(&flows)];
    let outputs = [&outputs[..], &["--rows", text(&rows)]].concat();
    let to = [&["100ms", "--json"][..], &outputs, &["-q", windows]].concat();
    let live = call(&[&run[..], &to].concat());
    let whole = report_of(&report);
    let [received, lost] = [number(&whole["packets"]["received"]), counted(&whole["loss"])];
    let told = of_run(&whole, "totals")["coverage"].as_f64().expect("a coverage");
    assert!((told - received as f64 / (received + lost) as f64).abs() < 1e-9, "{told}: {received}, {lost}");
    let live = answers(live.stdout.lines());
    assert!(!live.is_empty());
    let ask =
        |query| answers(call(&["query", "--store", text(&store), "--json", "-q", query]).stdout.lines());
    let coverage = |answer: &Value| answer["coverage"].as_f64().expect("a coverage");
    let stored = ask(windows);
    for shown in &live {
        let begin = &shown["window"]["start"];
        let found = stored.iter().find(|answer| answer["window"]["start"] == *begin).expect("a window");
        assert!((coverage(found) - coverage(shown)).abs() < 0.001, "{found} stored, {shown} live");
    }
    // The time that the run watched is that of its windows, in files and in the store.
    let rate = "q: select rate(total_count) as rate";
    let of_rows = answers(call(&["query", text(&rows), "--json", "-q", rate]).stdout.lines());
    assert_eq!(of_rows[0]["rows"], ask(rate)[0]["rows"]);
    let whole = ask("q: select sum(total_count) as n");
    let is_lost = live.iter().any(|answer| coverage(answer) < 1.0);
    assert_eq!(coverage(&whole[0]) < 1.0, is_lost, "{whole:?}");
    let reason = whole[0]["reason"].as_str().unwrap_or_default();
    assert_eq!(reason.contains(" lost before "), is_lost, "{whole:?}");
    let of_flows = call(&["query", text(&flows), "--json", "-q", "q: select sum(total_count) as n"]).stdout;
    let is_told = of_flows.contains(&format!("{lost} packet")) && of_flows.contains(" lost before ");
    assert_eq!(is_told, lost != 0, "{of_flows}: {lost}");
}

/// Statistics of interface 0 of a pcapng file with `isb_ifdrop`, and the end of options.
fn statistics(lost: u64) -> Vec<u8> {
    let option = [&5_u16.to_le_bytes()[..], &8_u16.to_le_bytes(), &lost.to_le_bytes()].concat();
    let body = [&[0; 12][..], &option, &[0; 4]].concat();
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&5_u32.to_le_bytes()[..], &length, &body, &length].concat()
}

/// Files and stores know the time that was watched before the first packet that passes a filter and behind the last, and what was lost in it.
#[test]
fn a_filter_shortens_no_time() {
    let scratch = Scratch::new();
    // A packet each 100 ms for 10 s: those of port 443 from 4 s to 6 s. Statistics behind the last tell 7 lost packets.
    let frames: Vec<_> = (0..=100)
        .map(|at| Frame {
            time_ns: START + at * SECOND / 10,
            data: capture::udp(if (40..=60).contains(&at) { 443 } else { 53 }),
        })
        .collect();
    let path = scratch.file("all.pcapng", [capture::pcapng(&frames), statistics(7)].concat());
    let [store, rows, flows] = ["store", "rows.parquet", "flows.parquet"].map(|name| scratch.path(name));
    let [of_rows, of_flows] = ["of_rows", "of_flows"].map(|name| scratch.path(name));
    let run = ["run", text(&path), "src port 443"];
    let outputs = ["--every", "1s", "--store", text(&store), "--rows", text(&rows), "--flows", text(&flows)];
    call(&[&run[..], &outputs].concat()).expect(0);
    for (file, store) in [(&rows, &of_rows), (&flows, &of_flows)] {
        call(&["import", text(file), "--store", text(store)]).expect(0);
    }
    let query = ["--json", "-q", "q: select sum(total_count) as n, rate(total_count) as r"];
    let told = |arguments: &[&str]| {
        let ended = call(&[arguments, &query].concat());
        answers(ended.stdout.lines()).pop().unwrap_or_else(|| panic!("no answer: {ended:?}"))
    };
    let stored = [&store, &of_rows, &of_flows].map(|store| told(&["query", "--store", text(store)]));
    let files = [&rows, &flows].map(|file| told(&["query", text(file)]));
    for answer in [told(&run)].iter().chain(&stored).chain(&files) {
        // Where windows are stored, the last one ends a nanosecond behind the last packet.
        let [start, end] = window(answer);
        assert!(start == START && end.abs_diff(START + 10 * SECOND) <= 1, "{answer}");
        let row = &answer["rows"][0];
        assert_eq!((number(&row["n"]), row["r"].as_f64().map(f64::round)), (21, Some(2.0)), "{answer}");
    }
    for answer in stored[..2].iter().chain(&files) {
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("7 packets were lost before they were measured"), "{answer}");
    }
    assert_eq!(stored[2]["status"], "partial", "the time of the loss is not known: {}", stored[2]);
    // Windows are those of the run: empty ones before and behind those with packets, of which the last is cut.
    let windows = ["--json", "-q", "q: select sum(total_count) as n every 3s"];
    let told = |arguments: &[&str]| {
        let ended = call(&[arguments, &windows].concat());
        let told = answers(ended.stdout.lines()).into_iter();
        told.map(|answer| (window(&answer), packets(&answer).unwrap_or(0))).collect::<Vec<_>>()
    };
    let of_run = told(&run);
    assert!(of_run.len() > 3, "{of_run:?}");
    assert_eq!(told(&["query", text(&rows)]), of_run);
    assert_eq!(told(&["query", "--store", text(&store)]), of_run);
}

/// What interface statistics of a pcapng file tell as lost is lost once: in the windows, in the run, in the store and in its rows.
#[test]
fn the_loss_that_a_capture_tells_is_the_sum_of_its_windows() {
    let scratch = Scratch::new();
    // A packet each 100 ms: statistics behind the 25th, the 35th and the last of 60 tell 10, 10 and 34 lost packets.
    let file = |name, from: u64| {
        let frames = capture::udp_frames(60, from).into_iter().zip(0..);
        let frames: Vec<_> =
            frames.map(|(frame, at)| Frame { time_ns: from + at * 100_000_000, ..frame }).collect();
        let packets = capture::pcapng(&frames);
        let [head, each] = [28 + 32, 92];
        let (mut bytes, mut at) = (packets[..head].to_vec(), head);
        for (behind, lost) in [(25, 10), (35, 10), (60, 34)] {
            let end = head + behind * each;
            bytes.extend_from_slice(&packets[at..end]);
            bytes.extend(statistics(lost));
            at = end;
        }
        scratch.file(name, bytes)
    };
    let path = file("lost.pcapng", START);
    let [store, rows, flows, report] =
        ["store", "rows.parquet", "flows.parquet", "report.json"].map(|name| scratch.path(name));
    let outputs = ["--store", text(&store), "--rows", text(&rows), "--flows", text(&flows)];
    let run = ["run", text(&path), "--every", "1s", "--report", text(&report)];
    call(&[&run[..], &outputs].concat()).expect(0);
    let whole = report_of(&report);
    assert_eq!(counted(&whole["loss"]), 34);
    let coverage = of_run(&whole, "totals")["coverage"].as_f64().expect("a coverage");
    assert!((coverage - 60.0 / 94.0).abs() < 1e-9, "{coverage}");
    let said = "34 packets were lost before they were measured";
    for files in [&["--store", text(&store)][..], &[text(&rows)], &[text(&flows)]] {
        let asked = ["--json", "-q", "q: select sum(total_count) as n"];
        let told = call(&[&["query"], files, &asked].concat()).expect(0).stdout;
        assert!(told.contains(said), "{files:?}: {told}");
    }
    // 10 packets next to 10 in the third window, 24 next to 10 in the last; the others have lost none.
    let told =
        call(&["query", text(&rows), "--json", "-q", "q: select sum(total_count) as n every 1s"]).expect(0);
    let lost = |told: &str| {
        let each = answers(told.lines()).into_iter().map(|answer| {
            let reason = answer["reason"].as_str().unwrap_or_default();
            reason.split(' ').next().and_then(|lost| lost.parse().ok()).unwrap_or(0)
        });
        each.collect::<Vec<u64>>()
    };
    assert_eq!(lost(&told.stdout), [0, 0, 10, 0, 0, 24]);
    // So are those of two captures that are read as one.
    let (next, rows) = (file("next.pcapng", START + 6 * SECOND), scratch.path("both.parquet"));
    call(&["run", text(&path), text(&next), "--every", "1s", "--rows", text(&rows)]).expect(0);
    let told =
        call(&["query", text(&rows), "--json", "-q", "q: select sum(total_count) as n every 1s"]).expect(0);
    assert_eq!(lost(&told.stdout), [0, 0, 10, 0, 0, 24, 0, 0, 10, 0, 0, 24]);
}

/// Nodes that measured at different times have rates of their own times, in one store or in files that are read together.
#[test]
fn nodes_that_measured_at_different_times_have_rates_of_their_own() {
    let scratch = Scratch::new();
    let [both, alone] = ["both", "alone"].map(|name| scratch.path(name));
    let mut rows = Vec::new();
    for (name, from) in [("a", START), ("b", START + 3600 * SECOND)] {
        let frames = capture::udp_frames(200, from).into_iter().zip(0..);
        let frames: Vec<_> =
            frames.map(|(frame, at)| Frame { time_ns: from + at * 50_000_000, ..frame }).collect();
        let file = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
        let named = format!("{name}={}", text(&file));
        let out = scratch.path(&format!("{name}.rows.parquet"));
        call(&["run", &named, "--every", "1s", "--store", text(&both), "--rows", text(&out)]).expect(0);
        rows.push(out);
        if name == "a" {
            call(&["run", &named, "--every", "1s", "--store", text(&alone)]).expect(0);
        }
    }
    // 200 packets in 199 intervals of 50 ms, which end behind the last packet.
    let rate = 200.0 / (199.0 * 0.05 + 1e-9);
    let to = ["--to", "2026-11-22T10:30:00Z"];
    for (query, more) in [
        ("q: select rate(total_count) as r", &[][..]),
        ("q: select rate(total_count) as r every 30min", &[]),
        ("q: select rate(total_count) as r", &to),
    ] {
        let ask = |files: &[&str]| {
            let told = call(&[&["query"], files, &["--json", "-q", query], more].concat()).expect(0).stdout;
            let of_a = answers(told.lines()).into_iter().filter(|answer| answer["node"] == "a");
            of_a.filter(|answer| answer["rows"][0]["r"].is_number()).collect::<Vec<_>>()
        };
        let own = ask(&["--store", text(&alone)]);
        assert!((own[0]["rows"][0]["r"].as_f64().expect("a rate") - rate).abs() < 1e-6, "{own:?}");
        let told = |answers: &[Value]| {
            let each = answers.iter().map(|answer| (answer["rows"].clone(), answer["watched"].clone()));
            each.collect::<Vec<_>>()
        };
        for files in [&["--store", text(&both)][..], &[text(&rows[0]), text(&rows[1])]] {
            assert_eq!(told(&ask(files)), told(&own), "{files:?}: {query}");
        }
    }
}

/// Two captures of one node, with half an hour between them: files divide by the same time as the store, and say the same of it.
#[test]
fn time_between_captures_is_watched_by_no_file() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let (mut flows, mut rows) = (Vec::new(), Vec::new());
    for (name, from) in [("a", START), ("b", START + 1800 * SECOND)] {
        let frames = capture::udp_frames(200, from).into_iter().zip(0..);
        let frames: Vec<_> =
            frames.map(|(frame, at)| Frame { time_ns: from + at * 50_000_000, ..frame }).collect();
        let file = scratch.file(&format!("{name}.pcap"), capture::pcap(ETHERNET, &frames));
        let named = format!("n={}", text(&file));
        let [of_flows, of_rows] =
            ["flows", "rows"].map(|kind| scratch.path(&format!("{name}.{kind}.parquet")));
        let outputs =
            ["--every", "1s", "--store", text(&store), "--flows", text(&of_flows), "--rows", text(&of_rows)];
        call(&[&["run", &named], &outputs[..]].concat()).expect(0);
        flows.push(text(&of_flows).to_owned());
        rows.push(text(&of_rows).to_owned());
    }
    let ask = |files: &[&str], query: &str, more: &[&str]| {
        let told = call(&[&["query"], files, &["--json", "-q", query], more].concat()).expect(0).stdout;
        answers(told.lines())
    };
    let files: [[&str; 2]; 3] = [["--store", text(&store)], [&flows[0], &flows[1]], [&rows[0], &rows[1]]];
    let rate = 200.0 / (199.0 * 0.05 + 1e-9);
    let over_all = |answer: &Value| {
        answer["reason"].as_str().is_some_and(|reason| reason.contains("rates are over all of its time"))
    };
    let value = |answer: &Value| answer["rows"][0]["r"].as_f64();
    let is = |found: Option<f64>, rate: f64| found.is_some_and(|found| (found - rate).abs() < 1e-6);
    for files in &files {
        let all = ask(files, "q: select rate(total_count) as r", &[]);
        assert!(is(value(&all[0]), 400.0 / (1800.0 + 199.0 * 0.05 + 1e-9)) && over_all(&all[0]), "{all:?}");
        // A window in which a capture ends is watched up to there.
        let windows = ask(files, "q: select rate(total_count) as r every 1min", &[]);
        let with_rows: Vec<_> = windows.iter().filter(|answer| value(answer).is_some()).collect();
        assert_eq!(with_rows.len(), 2, "{files:?}: {windows:?}");
        for answer in with_rows {
            assert!(is(value(answer), rate) && answer["status"] == "cut" && !over_all(answer), "{answer}");
        }
        let empty = windows.iter().find(|answer| answer["empty"].is_number()).expect("none is between them");
        let reason = empty["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("between two recordings") || reason.contains("not watched"), "{empty}");
        // So is a period that begins between them, and in one that ends there nothing was watched.
        let later = ask(files, "q: select rate(total_count) as r", &["--from", "2026-11-22T10:10:00Z"]);
        assert!(is(value(&later[0]), rate) && !over_all(&later[0]), "{files:?}: {later:?}");
        let within = ["--from", "2026-11-22T10:10:00Z", "--to", "2026-11-22T10:20:00Z"];
        let none = ask(files, "q: select rate(total_count) as r, sum(total_count) as n", &within);
        assert_eq!((&none[0]["rows"][0]["r"], packets(&none[0])), (&Value::Null, Some(0)), "{none:?}");
    }
}

/// A rate is over the time that was watched: what does not tell it is named, and what has no packet in it has the rate 0.
#[test]
fn rates_say_where_the_time_watched_is_not_told() {
    let scratch = Scratch::new();
    let frames: Vec<_> = (0..=100)
        .map(|at| Frame {
            time_ns: START + at * SECOND / 10,
            data: capture::udp(if (40..=60).contains(&at) { 443 } else { 53 }),
        })
        .collect();
    let path = scratch.file("all.pcap", capture::pcap(ETHERNET, &frames));
    let ask = |files: &[&str], query: &str| {
        let told = call(&[&["query"], files, &["--json", "-q", query]].concat()).expect(0).stdout;
        answers(told.lines())
    };
    let said = |answer: &Value| {
        let reason = answer["reason"].as_str().unwrap_or_default();
        let files = reason.split_once("where files do not tell which time was watched: ");
        files.map(|(_, files)| files.split("; ").next().unwrap_or_default().to_owned())
    };
    let query = "q: select rate(total_count) as r, sum(total_count) as n";
    let file = |name: &str, filter: &str| {
        let file = scratch.path(name);
        call(&["run", text(&path), filter, "--flows", text(&file)]).expect(0);
        text(&file).to_owned()
    };
    let parquet = file("x.parquet", "src port 443");
    for name in ["x.csv", "x.jsonl", "x.ipfix"] {
        let other = file(name, "src port 443");
        // 21 packets within two seconds, and a nanosecond.
        let alone = &ask(&[&other], query)[0];
        assert_eq!(
            (alone["rows"][0]["r"].as_f64().map(f64::round), said(alone)),
            (Some(10.0), Some(other.clone()))
        );
        assert_eq!(alone["status"], "complete");
        let both = &ask(&[&parquet, &other], query)[0];
        assert_eq!(
            (both["rows"][0]["r"].as_f64().map(f64::round), said(both)),
            (Some(4.0), Some(other.clone()))
        );
        assert_eq!(said(&ask(&[&other], "q: select sum(total_count) as n")[0]), None);
        let windows = ask(&[&other], "q: select rate(total_count) as r every 1min");
        assert_eq!(said(&windows[0]), Some(other));
    }
    assert_eq!(said(&ask(&[&parquet], query)[0]), None);
    // Nothing passes: as in the run, the file and the store, the time is watched and the rate is 0.
    let [store, none] = ["store", "none.parquet"].map(|name| scratch.path(name));
    let run = ["run", text(&path), "src port 9", "--every", "1s", "--json", "-q", query];
    let outputs = ["--store", text(&store), "--flows", text(&none)];
    let of_run = answers(call(&[&run[..], &outputs].concat()).expect(0).stdout.lines());
    let zero = |answer: &Value| {
        let row = &answer["rows"][0];
        assert_eq!((row["r"].as_f64(), number(&row["n"]), said(answer)), (Some(0.0), 0, None), "{answer}");
        window(answer)
    };
    for answers in [ask(&[text(&none)], query), ask(&["--store", text(&store)], query)] {
        assert_eq!((answers.len(), &answers[0]["node"]), (1, &of_run[0]["node"]), "{answers:?}");
        assert_eq!(zero(&answers[0])[0], zero(&of_run[0])[0]);
    }
}

/// Flow files of a store are complete before it is known what their time lacks: asked as files, they say who knows it.
/// The windows of a file that is damaged or gone are missing, and those of the others are complete.
#[test]
fn windows_of_a_damaged_file_are_missing_and_no_others() {
    let scratch = Scratch::new();
    let spec = "packets=7200,flows=50,rate=1,start=1700000000";
    let (capture, store) = (capture::generate(&scratch, spec).path, scratch.path("store"));
    let store = text(&store);
    let options = ["--every", "10s", "--store", store, "--store-keep", "rows=3650d"];
    call(&[&["run", text(&capture)], &options[..]].concat()).expect(0);
    let files = Catalog::open(Path::new(store)).and_then(|catalog| catalog.files(Level::Rows, None));
    let files: Vec<_> = files.expect("a list").into_iter().map(|file| file.path).collect();
    let [_, file, _] = &files[..] else { panic!("{files:?}") };
    let bytes = std::fs::read(file).expect("a file");
    let asked = |more: &[&str]| {
        let ended = call(&[&["query", "--store", store, "--json"], more].concat()).expect(3);
        answers(ended.stdout.lines())
    };
    let flipped: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == 60)).collect();
    for content in [Some(flipped), Some(bytes[..bytes.len() / 2].to_vec()), None] {
        match content {
            Some(content) => std::fs::write(file, content).expect("written"),
            None => std::fs::remove_file(file).expect("removed"),
        }
        let lost = [1_700_002_800, 1_700_006_400].map(|second| second * 1_000_000_000_u64);
        let told = asked(&["-q", "q: select sum(total_count) as n every 10s"]);
        for answer in &told {
            let [start, end] = window(answer);
            let is_lost = lost[0] < end && start < lost[1];
            assert_eq!(answer["status"] == "partial", is_lost, "{answer}");
            assert_eq!(answer.get("missing").is_some(), is_lost, "{answer}");
            assert!(!is_lost || ([start, end] == lost && answer["coverage"] == 0.0), "{answer}");
        }
        assert_eq!(told.iter().filter_map(packets).sum::<u64>(), 3600, "half of them is in the file");
        // From rows, as the rollups of an hour have less.
        let [all] = &asked(&["-q", "q: select sum(total_count) as n, max(last_ip_ttl) as t"])[..] else {
            panic!("one")
        };
        assert_eq!((all["status"].as_str(), packets(all)), (Some("partial"), Some(3600)), "{all}");
        assert_eq!(all["missing"][0]["reason"], "damaged", "{all}");
    }
}

#[test]
fn flow_files_of_a_store_name_the_store() {
    let scratch = Scratch::new();
    let frames: Vec<_> =
        (0..=100).map(|at| Frame { time_ns: START + at * SECOND / 10, data: capture::udp(53) }).collect();
    let path = scratch.file("all.pcapng", [capture::pcapng(&frames), statistics(7)].concat());
    let store = scratch.path("store");
    call(&["run", text(&path), "--node", "n", "--every", "1s", "--store", text(&store)]).expect(0);
    let query = ["--json", "-q", "q: select sum(total_count) as n"];
    let files = scratch.path("store/flows/*/*/*/*.parquet");
    let asked = answers(call(&[&["query", text(&files)][..], &query].concat()).expect(0).stdout.lines());
    let said = format!("ask with --store {}", text(&store));
    let reason = |answers: &[Value]| answers[0]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(packets(&asked[0]) == Some(101) && reason(&asked).contains(&said), "{asked:?}");
    let stored =
        answers(call(&[&["query", "--store", text(&store)][..], &query].concat()).expect(0).stdout.lines());
    assert!(
        reason(&stored).contains("7 packets were lost") && !reason(&stored).contains(&said),
        "{stored:?}"
    );
}

/// A store that has nothing as yet, as of a run that was killed when it had just begun, is not one without packets.
#[test]
fn a_store_without_a_run_says_so() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    drop(Manifest::open(&store).expect("a store"));
    let asked = ["query", "--store", text(&store), "--json", "-q", "select sum(total_count) as n"];
    let told = call(&asked).expect(3).stdout;
    assert!(told.contains(r#""status":"partial""#) && told.contains("nothing is stored as yet"), "{told}");
}
