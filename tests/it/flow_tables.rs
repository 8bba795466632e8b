//! `--table`: FloWatcher's tables count each flow as a map over the frames does, apart from what they say that they miscount.

use crate::support::capture::{self, Flows, Generated};
use crate::support::output::{self, list, number, of_run, rows};
use crate::support::program::{Ended, edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::HashMap;

/// More than half as many flows as a table has buckets, so that some buckets have three and more.
const SPEC: &str = "packets=60k,flows=60k,zipf=uniform,ipv6=30%,size=64:3/590:1,seed=3";
const TABLES: [&str; 3] = ["double", "list", "combined"];

fn edison_run(arguments: &[&str]) -> Ended {
    run(edison().args(["run", "--memory", "512MiB"]).args(arguments))
}

/// Holds records and report of a run against the frames. Returns the number of packets in the record `other`.
fn check(table: &str, generated: &Generated, truth: &Flows, arguments: &[&str], scratch: &Scratch) -> u64 {
    let (csv, path) = (scratch.path("flows.csv"), scratch.path("report.json"));
    let mut command = edison();
    command.args(["run", "--memory", "512MiB", "--seed", "5", "--table", table]).arg(&generated.path);
    run(command.args(arguments).arg("--flows").arg(&csv).arg("--report").arg(&path)).expect(0);
    let (records, report) = (output::records(&csv), output::report(&path));
    let flows = &report["flows"];
    assert_eq!(flows["hash_table"]["table"], table, "{arguments:?}");
    let of = |value: &Value| number(value);
    let (table_full, shared) = (of(&flows["table_full"]), of(&flows["hash_table"]["shared_packets"]));
    let shared_entries = of(&flows["hash_table"]["shared_entries"]);
    // All that was received is measured, and is in one record.
    assert_eq!(of(&report["packets"]["received"]), 60_000);
    assert_eq!(of(&report["packets"]["measured"]), records.iter().map(|record| record.packets).sum::<u64>());
    let (listed, other): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.key.is_some());
    assert_eq!(other.iter().map(|record| record.packets).sum::<u64>(), table_full, "{table} {arguments:?}");
    assert_eq!((of(&flows["seen"]), of(&flows["active"])), (listed.len() as u64, 0));
    let mut times: HashMap<_, (u64, u64)> = HashMap::new();
    for frame in &generated.frames {
        let time = times.entry(capture::layer3(&frame.data).0).or_insert((frame.time_ns, frame.time_ns));
        *time = (time.0.min(frame.time_ns), time.1.max(frame.time_ns));
    }
    // A record has all packets of the flow that began it. What it has beyond them was counted as known.
    let (mut more, mut with_more) = (0, 0);
    let mut without_record = truth.clone();
    for record in &listed {
        let key = record.key.expect("listed");
        let own =
            without_record.remove(&key).unwrap_or_else(|| panic!("{key:?} has two records, or no packet"));
        assert!(record.packets >= own.packets && record.total_byte >= own.total_byte, "{key:?}");
        assert_eq!(record.stime, times[&key].0, "{key:?}");
        if record.packets == own.packets {
            assert_eq!((record.total_byte, record.ltime), (own.total_byte, times[&key].1), "{key:?}");
        }
        more += record.packets - own.packets;
        with_more += u64::from(record.packets > own.packets);
    }
    assert_eq!((more, with_more), (shared, shared_entries), "{table} {arguments:?}");
    let unlisted: u64 = without_record.values().map(|flow| flow.packets).sum();
    assert_eq!(unlisted, table_full + shared, "{table} {arguments:?}");
    for answer in list(&report["answers"]) {
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("approximate: the table") && reason.contains(table), "{answer}");
        assert!(answer["window"].is_null());
    }
    let totals = &rows(of_run(&report, "totals"))[0];
    assert_eq!(of(&totals["total_byte"]), truth.values().map(|flow| flow.total_byte).sum::<u64>());
    let wire: u64 = generated.frames.iter().map(|frame| frame.data.len() as u64).sum();
    assert_eq!(of(&totals["wire_byte"]), wire, "{totals}");
    table_full
}

#[test]
fn each_flow_is_that_of_the_frames_or_named() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let truth = capture::flows(&generated.frames);
    assert!(truth.len() > 32_768, "{}", truth.len());
    for table in TABLES {
        for arguments in
            [&[][..], &["--design", "1x2"], &["--wire", "queues=2"], &["--design", "cooperative"]]
        {
            let table_full = check(table, &generated, &truth, arguments, &scratch);
            assert_eq!(table_full > 0, table == "double", "{table} {arguments:?}: {table_full}");
        }
    }
    // Places that the user denies are named too.
    assert!(check("list", &generated, &truth, &["--max-flows", "1000"], &scratch) > 30_000);
}

#[test]
fn every_answer_says_that_it_is_approximate() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=5k,flows=100");
    let path = generated.path.to_str().expect("text");
    for table in TABLES {
        let ended = edison_run(&[path, "--table", table, "--json"]).expect(0);
        let answers: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(answers.len() > 3, "{}", ended.stdout);
        for answer in &answers {
            let reason = answer["reason"].as_str().unwrap_or_default();
            assert!(reason.contains(&format!("approximate: the table '{table}'")), "{answer}");
            assert!(reason.contains("0 packets are known to be in the records of other flows"), "{answer}");
            // So few flows have entries of their own.
            assert_eq!(answer["bounds"], "exact", "{answer}");
        }
        let ended = edison_run(&[path, "--table", table]).expect(0);
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("approximate: the table '{table}' knows flows by 32 bits")), "{text}");
    }
}

#[test]
fn what_such_a_table_cannot_do_is_refused() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let store = store.to_str().expect("text");
    for (arguments, words) in [
        (&["--every", "1s"][..], &["--every", "no windows"][..]),
        (&["--per", "1s"], &["--per", "no windows"]),
        (&["-q", "select count(*)"], &["--query", "leave out --table"]),
        (&["--by", "src_addr"], &["--by", "leave out --table"]),
        (&["--task", "entropy"], &["--task", "no windows"]),
        (&["--loss"], &["--loss", "exact table"]),
        (&["--biflow", "--flows", "f.csv"], &["--biflow", "one direction"]),
        (&["--gap", "mean", "--flows", "f.csv"], &["--gap", "packets, bytes, first and last time"]),
        (&["--headers", "--flows", "f.csv"], &["--headers", "packets, bytes, first and last time"]),
        (&["--idle-timeout", "5s"], &["--idle-timeout", "before the run does"]),
        (&["--fields", "src_addr,ip_ttl", "--flows", "f.csv"], &["--fields", "take some of these"]),
        (&["--store", store], &["--store", "no windows"]),
        (&["--flows", "f.ipfix"], &["--flows in IPFIX", ".parquet"]),
        (&["--export", "ipfix://127.0.0.1:4739"], &["--export", ".parquet"]),
        (&["--web=127.0.0.1:0"], &["--web", "--report"]),
        (&["--tee", "10%"], &["--tee", "error of the table"]),
        (&["--design", "1x2", "--split", "position"], &["--table", "--split position", "--split hash"]),
        (&["--design", "1x2", "--state", "shared"], &["--table", "--state shared", "--state separate"]),
        (&["--table", "cuckoo"], &["there are double, list and combined"]),
    ] {
        let mut all = vec!["--synthetic", "packets=10"];
        if arguments[0] != "--table" {
            all.extend(["--table", "list"]);
        }
        let ended =
            run(edison().current_dir(scratch.as_ref()).arg("run").args(all).args(arguments)).expect(2);
        for word in words {
            assert!(ended.stderr.contains(word), "{arguments:?}: {}", ended.stderr);
        }
    }
    assert_eq!(std::fs::read_dir(scratch.as_ref()).expect("a folder").count(), 0, "nothing was created");
    let file = scratch.file("t.pcap", capture::pcap(capture::ETHERNET, &capture::udp_frames(3, 1)));
    let nodes = ["a", "b"].map(|node| format!("{node}={}", file.display()));
    let ended = run(edison().args(["run", "--table", "list"]).args(nodes));
    ended.says(2, &["several nodes", "joined by their windows"]);
}
