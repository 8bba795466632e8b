//! `edison query`: the answers over flow files are those of the measurement that wrote them.

use crate::support::capture::{self, Generated};
use crate::support::output;
use crate::support::program::{Ended, call};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::Path;

const SPEC: &str =
    "packets=60k,flows=8k,rate=10k,zipf=1.0,ipv6=20%,size=64:7/594:4/1518:1,plant=flood/scan/elephant";

/// Queries whose answers do not depend on how flows are cut into records.
const QUERIES: &[&str] = &[
    "select sum(total_byte), sum(total_count), sum(wire_byte), count(*)",
    "select protocol, sum(total_byte) where dst_port = 443 groupby protocol",
    "select src_addr, sum(total_byte), count(*) groupby src_addr limit 20",
    "select src_addr/24/48, sum(total_count) groupby src_addr/24/48 limit 20",
    "select dst_addr, count(src_addr) groupby dst_addr limit 20",
    "select dst_addr, count(src_addr), count(*) groupby dst_addr limit 20",
    "select addr, sum(total_byte), count(*) groupby addr limit 20",
    "select conversation, sum(total_byte), sum(total_count * forward) as there groupby conversation limit 20",
    "select port, sum(total_count) groupby port limit 20",
    "select src_addr, dst_addr, src_port, dst_port, protocol, total_byte, tcp_flags, stime, ltime order by total_byte desc limit 30",
    "select first_vlan, count(*), sum(total_byte) groupby first_vlan",
    "select min(stime), max(ltime), avg(total_byte), stddev(total_count), quantile(total_byte, 0.9)",
    "select entropy(src_addr), entropy(dst_port, total_byte), top(3, dst_port)",
    "select rate(total_byte), count(dst_addr) where src_addr in 10.0.0.0/8",
    "select src_addr, max(last_tcp_win), max(last_ip_ttl) where tcp_flags = 2 groupby src_addr limit 20",
    "select dst_port, count(*) groupby dst_port having count(*) > 10 order by count(*) desc, dst_port limit 40",
    "select service, sum(total_byte) where duration > 0 groupby service limit 9",
    "select first_smac, sum(total_byte) groupby first_smac",
];

/// The answers in lines of JSON, without what only one side knows.
fn answers(ended: &Ended) -> Vec<Value> {
    let answer = |line: &str| {
        let mut answer: Value = serde_json::from_str(line).expect("JSON");
        answer["coverage"] = Value::Null;
        output::round(&mut answer);
        answer
    };
    ended.stdout.lines().map(answer).collect()
}

fn query(files: &[&str], asked: &str) -> Vec<Value> {
    ended_well(call(&[&["query"], files, &["--json", "-q", asked]].concat()))
}

/// The answers of a command, which says with its exit code whether one of them is partial.
fn ended_well(ended: Ended) -> Vec<Value> {
    let answers = answers(&ended);
    let is_partial = answers.iter().any(|answer| answer["status"] == "partial");
    ended.expect(if is_partial { 3 } else { 0 });
    answers
}

/// All queries as one text.
fn together(every: &str) -> String {
    QUERIES.iter().map(|query| format!("{query}{every};\n")).collect()
}

/// Measures a capture into a file, and returns the answers over the run.
fn measured(path: &Path, file: &str, options: &[&str], report: &Path, asked: &str) -> Value {
    let mut arguments = vec!["run", text(path), "--report", text(report), "-q", asked];
    arguments.extend(if file.ends_with("rows.parquet") { ["--rows", file] } else { ["--flows", file] });
    arguments.extend(options);
    call(&arguments).expect(0);
    let mut report = output::report(report);
    output::round(&mut report);
    report
}

#[test]
fn answers_over_files_are_those_of_the_run() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let report = scratch.path("report.json");
    let asked = together("");
    // Records that are cut at all times have the same flows.
    for cuts in [
        &["--idle-timeout", "off", "--active-timeout", "off", "--every", "1s"][..],
        &["--idle-timeout", "300ms", "--active-timeout", "700ms", "--every", "500ms"],
    ] {
        for name in ["flows.parquet", "rows.parquet", "flows.csv", "flows.jsonl", "flows.ipfix"] {
            let file = scratch.path(name);
            let file = text(&file);
            let of_run = measured(&path, file, cuts, &report, &asked);
            let read = query(&[file], &asked);
            assert_eq!(read.len(), QUERIES.len(), "{file}");
            for (read, asked) in read.iter().zip(QUERIES) {
                let measured = output::of_run(&of_run, read["query"].as_str().expect("a name"));
                // Over records, the last value of a flow is that of its last packet, too.
                assert_eq!(read["rows"], measured["rows"], "{file}: {asked}");
                assert_eq!(
                    (&read["rest"], &read["bounds"]),
                    (&measured["rest"], &measured["bounds"]),
                    "{asked}"
                );
            }
        }
    }
}

#[test]
fn windows_over_rows_are_those_of_the_run() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let rows = scratch.path("rows.parquet");
    let rows = text(&rows);
    for every in [" every 500ms", " every 2s", " over 2s every 1s"] {
        let asked = together(every);
        let mut of_run = answers(
            &call(&["run", text(&path), "--every", "500ms", "--rows", rows, "--json", "-q", &asked])
                .expect(0),
        );
        let mut read = query(&[rows], &asked);
        let key = |answer: &Value| (answer["query"].to_string(), answer["window"]["end"].to_string());
        of_run.sort_by_key(key);
        read.sort_by_key(key);
        assert!(of_run.len() > QUERIES.len(), "{}", of_run.len());
        assert_eq!(of_run.len(), read.len(), "{every}");
        for (read, of_run) in read.iter().zip(&of_run) {
            for member in ["query", "window", "rows", "rest", "empty", "status", "watched", "bounds"] {
                assert_eq!(read[member], of_run[member], "{every}: {member} of {read}");
            }
        }
    }
}

#[test]
fn files_are_one_and_in_any_order() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let rows = scratch.path("all.rows.parquet");
    let all = scratch.path("all.parquet");
    let cut = ["--active-timeout", "500ms", "--idle-timeout", "200ms"];
    call(&[&["run", text(&path), "--every", "500ms", "--flows", text(&all)], &cut[..]].concat()).expect(0);
    let rotated = scratch.path("part.parquet");
    call(&[&["run", text(&path), "--flows", text(&rotated), "--rotate", "1s"], &cut[..]].concat()).expect(0);
    call(&["run", text(&path), "--every", "500ms", "--rows", text(&rows)]).expect(0);
    let mut parts: Vec<String> = std::fs::read_dir(scratch.path(""))
        .expect("the folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("part"))
        .map(|name| text(&scratch.path(&name)).to_owned())
        .collect();
    parts.sort();
    assert!(parts.len() > 3, "{parts:?}");
    let asked = &(together("") + &together(" every 1s"));
    let expected = query(&[text(&all)], asked);
    let of = |parts: &[String]| {
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        query(&names, asked)
    };
    // Windows are given by time, whatever the order of files. Parts do not tell which time was watched, which rates of all of it, or at its ends, say.
    let same = |mut answers: Vec<Value>| {
        let mut told = 0;
        for answer in &mut answers {
            let reason = answer["reason"].as_str().unwrap_or_default().to_owned();
            let is_of_time = |part: &&str| part.starts_with("rates are over the time from the first packet");
            let (of_time, others): (Vec<_>, Vec<_>) = reason.split("; ").partition(is_of_time);
            told += of_time.len();
            let members = answer.as_object_mut().expect("an answer");
            members.remove("reason");
            if !others.concat().is_empty() {
                members.insert("reason".to_owned(), others.join("; ").into());
            }
        }
        assert!(told > 1, "{told}");
        let differing = answers.iter().zip(&expected).find(|(one, other)| one != other);
        assert!(differing.is_none() && answers.len() == expected.len(), "{differing:?}");
    };
    same(of(&parts));
    parts.reverse();
    same(of(&parts));
    // A pattern, and a file that is named twice, are the same files.
    let pattern = scratch.path("part*.parquet");
    let with_twice = [text(&pattern), parts[0].as_str()];
    same(query(&with_twice, asked));
}

fn sum(answers: &[Value], column: &str) -> u64 {
    answers.iter().flat_map(output::rows).map(|row| output::number(&row[column])).sum()
}

#[test]
fn periods_part_the_rows() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let flows = scratch.path("flows.parquet");
    let flows = text(&flows);
    call(&["run", text(&path), "--flows", flows, "--active-timeout", "500ms", "--idle-timeout", "100ms"])
        .expect(0);
    let asked = "select sum(total_count), count(src_addr)";
    let all = sum(&query(&[flows], asked), "sum(total_count)");
    assert_eq!(all, 60_000);
    let whole: Value = query(&[flows], "select min(stime), max(ltime)")[0].clone();
    let first = whole["rows"][0]["min(stime)"].as_str().expect("a time").to_owned();
    let middle = format!("{}:02Z", &first[..first.len() - 14]);
    let part = |options: &[&str]| {
        let ended = call(&[&["query", flows, "--json", "-q", asked], options].concat()).expect(0);
        sum(&answers(&ended), "sum(total_count)")
    };
    let (before, after) = (part(&["--to", &middle]), part(&["--from", &middle]));
    assert!(before != 0 && after != 0, "{before} {after} {middle}");
    assert_eq!(before + after, all);
    // A query's own period wins.
    let own = format!("select sum(total_count) from \"{first}\" to \"{middle}\"");
    assert_eq!(sum(&query(&[flows], &own), "sum(total_count)"), before);
    call(&["query", flows, "-q", asked, "--from", &middle, "--to", &middle])
        .says(2, &["the period is empty"]);
    call(&["query", flows, "-q", asked, "--from", "yesterday"])
        .says(2, &["--from", "'yesterday' is not a time"]);
    let nothing = call(&["query", flows, "--json", "-q", asked, "--from", "2037-01-01"]).expect(0);
    assert_eq!(sum(&answers(&nothing), "sum(total_count)"), 0);
}

#[test]
fn differences_of_files_and_of_periods() {
    let scratch = Scratch::new();
    let file = |name: &str, seed: &str| {
        let spec = format!("{SPEC},seed={seed}");
        let Generated { path, .. } = capture::generate(&scratch, &spec);
        let flows = scratch.path(name);
        call(&["run", text(&path), "--flows", text(&flows)]).expect(0);
        flows
    };
    let (monday, tuesday) = (file("monday.parquet", "1"), file("tuesday.parquet", "2"));
    let asked = "select dst_port, sum(total_byte), count(*) groupby dst_port limit 50";
    let ended = call(&["query", "--diff", text(&monday), text(&tuesday), "--json", "-q", asked]).expect(0);
    let difference = &answers(&ended)[0];
    let all = |path: &Path| {
        let asked = asked.replace("50", "1M");
        let answer = query(&[text(path)], &asked).remove(0);
        let rows = output::rows(&answer).to_vec();
        move |port: u64| {
            let row = rows.iter().find(|row| output::number(&row["dst_port"]) == port);
            row.map_or((0, 0), |row| {
                (output::number(&row["sum(total_byte)"]), output::number(&row["count(*)"]))
            })
        }
    };
    let (before, after) = (all(&monday), all(&tuesday));
    let mut last = u64::MAX;
    let rows = output::rows(difference);
    assert_eq!(rows.len(), 50);
    for row in rows {
        let port = output::number(&row["dst_port"]);
        let sides = [&row["sum(total_byte)_a"], &row["sum(total_byte)_b"]].map(output::number);
        assert_eq!((sides[0], sides[1]), (before(port).0, after(port).0), "{port}");
        let change = row["sum(total_byte)_change"].as_i64().expect("a number");
        assert_eq!(change, sides[1].cast_signed() - sides[0].cast_signed());
        assert_eq!(output::number(&row["count(*)_a"]), before(port).1);
        assert!(change.unsigned_abs() <= last, "the greatest change is first");
        last = change.unsigned_abs();
    }
    // All groups count: those that are not shown are in the rest.
    let total = |path: &Path| sum(&query(&[text(path)], "select sum(total_byte)"), "sum(total_byte)");
    let shown: u64 = rows.iter().map(|row| output::number(&row["sum(total_byte)_a"])).sum();
    assert_eq!(shown + output::number(&difference["rest"]["sum(total_byte)_a"]), total(&monday));
    // A period of itself is no difference.
    let day = "2024-01-01";
    let same = call(&["query", text(&monday), "--diff", day, day, "--json", "--by", "protocol"]).expect(0);
    let of_same = answers(&same);
    assert!(output::rows(&of_same[0]).iter().all(|row| row["total_byte_change"] == 0), "{of_same:?}");
    call(&["query", text(&monday), "--diff", day, "never", "--by", "protocol"])
        .says(2, &["--diff", "'never'"]);
}

/// A field that may change within a flow has another name in answers: its groups are compared one by one all the same.
#[test]
fn differences_of_groups_by_what_may_change_in_a_flow() {
    let scratch = Scratch::new();
    let head =
        "src_addr,dst_addr,src_port,dst_port,protocol,vlan,ip_tos,total_count,total_byte,stime,ltime\n";
    let file = |name: &str, flows: [(u32, u64); 2]| {
        let row = |(vlan, packets): (u32, u64)| {
            let times = "2024-01-01T00:00:00Z,2024-01-01T00:00:01Z";
            format!("10.0.0.{vlan},10.0.0.9,1,2,17,{vlan},{vlan},{packets},{packets}00,{times}\n")
        };
        scratch.file(name, head.to_owned() + &flows.map(row).concat())
    };
    let (a, b) = (file("a.csv", [(5, 3), (6, 10)]), file("b.csv", [(5, 9), (7, 1)]));
    for (by, column) in [("vlan", "first_vlan"), ("ip_tos", "last_ip_tos")] {
        let ended = call(&["query", "--diff", text(&a), text(&b), "--json", "--by", by, "--sort", "packets"]);
        let answer = answers(&ended.expect(0)).remove(0);
        let mut rows: Vec<[i64; 4]> = output::rows(&answer)
            .iter()
            .map(|row| {
                [column, "total_count_a", "total_count_b", "total_count_change"]
                    .map(|column| row[column].as_i64().unwrap_or_else(|| panic!("{column}: {answer}")))
            })
            .collect();
        // Those whose packets changed most, as --sort asks, and not their flows.
        assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [6, 5, 7], "{answer}");
        rows.sort_unstable();
        assert_eq!(rows, [[5, 3, 9, 6], [6, 10, 0, -10], [7, 0, 1, 1]], "{answer}");
    }
}

#[test]
fn what_cannot_be_answered_is_refused_in_words() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=2k,flows=200");
    let (flows, rows) = (scratch.path("flows.parquet"), scratch.path("rows.parquet"));
    call(&["run", text(&path), "--flows", text(&flows), "--rows", text(&rows)]).expect(0);
    let asked = "select sum(total_byte)";
    call(&["query", "none.parquet", asked]).says(2, &["none.parquet", "there is no such file"]);
    call(&["query", text(&scratch.path("x*.parquet")), asked]).says(2, &["no file has such a name"]);
    call(&["query", asked]).says(2, &["no file is given"]);
    call(&["query", text(&path), asked]).says(2, &["unknown suffix", ".parquet"]);
    let unknown = call(&["query", text(&flows), "select sum(total_bite)"]).expect(2);
    assert!(unknown.stderr.contains("'total_byte' may be meant"), "{unknown:?}");
    call(&["query", text(&flows), "select sum(ploss_byte)"]).says(2, &["losses", "--loss"]);
    let no_gap = call(&["query", text(&flows), "select avg(gap_p99)"]).expect(2);
    assert!(no_gap.stderr.contains("the files have no gap_p99"), "{no_gap:?}");
    let every = call(&["query", text(&rows), "select sum(total_byte) every 15s"]).expect(2);
    assert!(every.stderr.contains("every 15s is not a multiple"), "{every:?}");
    call(&[
        "query",
        text(&flows),
        "--diff",
        "2024-01-01",
        "2024-01-02",
        "-q",
        "select sum(total_byte) every 1s",
    ])
    .says(2, &["--diff", "'every'"]);
    let no_columns = scratch.path("few.parquet");
    call(&["run", text(&path), "--flows", text(&no_columns), "--fields", "src_addr,total_count,ltime"])
        .expect(0);
    call(&["query", text(&no_columns), asked]).says(2, &["few.parquet", "total_byte"]);
    call(&["query", text(&no_columns), "select src_addr, sum(total_count) groupby src_addr"]).expect(0);
    let ports = "select dst_port, sum(total_count) groupby dst_port";
    let no_port = call(&["query", text(&no_columns), ports]).expect(2);
    assert!(no_port.stderr.contains("the files have no column dst_port"), "{no_port:?}");
}

#[test]
fn one_damaged_file_among_many_is_named_and_the_rest_is_answered() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let flows = scratch.path("good.parquet");
    call(&["run", text(&path), "--flows", text(&flows)]).expect(0);
    let good = std::fs::read(&flows).expect("a file");
    let cut = scratch.file("cut.parquet", &good[..good.len() / 2]);
    // The footer is whole, a page is not.
    let mut bytes = good.clone();
    for byte in &mut bytes[1000..40_000] {
        *byte ^= 0x5a;
    }
    let spoilt = scratch.file("spoilt.parquet", bytes);
    for damaged in [&cut, &spoilt] {
        let asked = "select sum(total_count), count(src_addr), sum(total_byte)";
        let ended =
            call(&["query", text(&flows), text(damaged), "--json", asked]).says(3, &["error", text(damaged)]);
        let answer = &answers(&ended)[0];
        assert!(sum(std::slice::from_ref(answer), "sum(total_count)") >= 60_000, "{answer}");
        assert_eq!(answer["status"], "partial");
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains(text(damaged))), "{answer}");
    }
    call(&["query", text(&cut), "select count(*)"]).says(2, &[text(&cut)]);
}

#[test]
fn ipfix_records_without_a_template_are_named() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let flows = scratch.path("flows.ipfix");
    call(&["run", text(&path), "--flows", text(&flows)]).expect(0);
    let whole = std::fs::read(&flows).expect("a file");
    // A message's length is its second pair of octets. The first messages have templates, the last one has none.
    let mut starts = vec![0];
    while let Some(octets) = whole.get(starts[starts.len() - 1] + 2..).filter(|left| left.len() > 2) {
        let length = usize::from(u16::from_be_bytes([octets[0], octets[1]]));
        starts.push(starts[starts.len() - 1] + length);
    }
    let last = &whole[starts[starts.len() - 2]..];
    let file = scratch.file("late.ipfix", [last, &whole].concat());
    let asked = "select sum(total_count)";
    let ended = call(&["query", text(&file), "--json", asked]).says(3, &[text(&file), "no template"]);
    let answer = &answers(&ended)[0];
    assert_eq!(answer["status"], "partial");
    assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains("no template")), "{answer}");
    assert_eq!(sum(std::slice::from_ref(answer), "sum(total_count)"), 60_000, "{answer}");
}

#[test]
fn a_million_groups_in_little_memory_have_an_exact_rest() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=400k,flows=300k,zipf=0.1");
    let flows = scratch.path("flows.parquet");
    call(&["run", text(&path), "--flows", text(&flows)]).expect(0);
    // Each of them has enough, all together have not.
    let asked = ["src_addr, src_port", "dst_addr, dst_port", "dst_addr, src_port", "src_addr, dst_port"]
        .map(|key| format!("select {key}, sum(total_count) as packets, count(*) where protocol > 0 groupby {key} limit 10;"))
        .concat();
    for memory in ["1GiB", "20MiB"] {
        let answers = ended_well(call(&["query", text(&flows), "--json", "--memory", memory, "-q", &asked]));
        for answer in &answers {
            let shown = sum(std::slice::from_ref(answer), "packets");
            assert_eq!(shown + output::number(&answer["rest"]["packets"]), 400_000, "{memory}: {answer}");
        }
        let are_partial = answers.iter().any(|answer| answer["status"] == "partial");
        assert_eq!(are_partial, memory == "20MiB", "{memory}");
    }
}

/// Packets without a place in the table are in no group, and are counted: in the record `other`, and in what files of rows say of them.
#[test]
fn packets_without_a_place_are_named() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=20k,flows=5k");
    let (flows, rows) = (scratch.path("flows.parquet"), scratch.path("rows.parquet"));
    let few = ["run", text(&path), "--flows", text(&flows), "--rows", text(&rows), "--max-flows", "100"];
    call(&few).expect(0);
    let asked = "select src_addr, sum(total_count) as packets groupby src_addr";
    for file in [&flows, &rows] {
        let answer = &query(&[text(file)], asked)[0];
        let shown = sum(std::slice::from_ref(answer), "packets");
        assert_eq!(shown + output::number(&answer["rest"]["packets"]), 20_000, "{answer}");
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains("no place")), "{answer}");
        assert_eq!(sum(&query(&[text(file)], "select sum(total_count)"), "sum(total_count)"), 20_000);
    }
    // Rows tell in which window they were.
    let windows = query(&[text(&rows)], "select sum(total_count) every 10s");
    assert_eq!((windows.len(), sum(&windows, "sum(total_count)")), (4, 20_000), "{windows:?}");
    let windows = query(&[text(&rows)], &format!("{asked} every 10s"));
    let rest: u64 = windows.iter().map(|answer| output::number(&answer["rest"]["packets"])).sum();
    assert!(rest > 0, "{windows:?}");
    assert_eq!(sum(&windows, "packets") + rest, 20_000);
}

#[test]
fn values_that_a_file_lacks_are_null_and_not_numbers() {
    let scratch = Scratch::new();
    let csv = scratch.file("holes.csv", b"ltime,dst_port,total_byte,ip_ttl\n1,80,,\n2,80,100,7\n3,81,,\n");
    let asked =
        "select dst_port, sum(total_byte) as b, max(last_ip_ttl) as t groupby dst_port order by dst_port";
    let read = query(&[text(&csv)], asked);
    let rows: Vec<_> =
        output::rows(&read[0]).iter().map(|row| (row["b"].clone(), row["t"].clone())).collect();
    assert_eq!(rows, [(100.into(), 7.into()), (0.into(), Value::Null)]);
    // Rows without a time are in no window, and the file is named.
    let untimed = scratch.file("untimed.csv", b"ltime,dst_port,total_byte\n1,80,5\n,80,7\n");
    let ended = call(&["query", text(&untimed), "--json", "--per", "1s", "-q", "select sum(total_byte)"]);
    ended.says(3, &["untimed.csv", "no time"]);
    assert_eq!(sum(&query(&[text(&untimed)], "select sum(total_byte)"), "sum(total_byte)"), 12);
    // A file without the time of the first packet has windows too.
    let ended = scratch.file("ended.csv", b"ltime,total_byte\n1000000000,5\n2500000000,7\n");
    let windows = answers(
        &call(&["query", text(&ended), "--json", "--per", "1s", "-q", "select sum(total_byte)"]).expect(0),
    );
    assert_eq!((windows.len(), sum(&windows, "sum(total_byte)")), (2, 12), "{windows:?}");
    // A record reaches over windows, and counts in one.
    for answer in &windows {
        assert_eq!(answer["bounds"], "none", "{answer}");
        assert_eq!(answer["reason"], "a flow record counts whole in the window in which it ends", "{answer}");
    }
    // The period that is asked for, likewise, unless it has all of them.
    let reaching = scratch.path("reaching.parquet");
    let made = capture::generate(&scratch, "packets=2k,flows=100,rate=100");
    call(&["run", text(&made.path), "--flows", text(&reaching)]).expect(0);
    let within = |period: &[&str]| {
        let asked = ["query", text(&reaching), "--json", "-q", "select sum(total_count) as n"];
        let answer = answers(&call(&[&asked[..], period].concat()).expect(0)).remove(0);
        let is_told = answer["reason"] == "a flow record counts whole in the period in which it ends";
        (sum(std::slice::from_ref(&answer), "n") == 2_000, answer["bounds"] == "none", is_told)
    };
    let day = |time: &str| format!("2024-01-01T00:00:{time}Z");
    assert_eq!(within(&["--from", &day("03"), "--to", &day("09")]), (false, true, true));
    assert_eq!(within(&["--to", &day("09")]), (false, true, true));
    assert_eq!(within(&["--from", &day("00"), "--to", &day("20")]), (true, false, false));
    let whole = query(&[text(&ended)], "select sum(total_byte)");
    assert_eq!((&whole[0]["bounds"], &whole[0]["reason"]), (&"exact".into(), &Value::Null), "{whole:?}");
}

#[test]
fn files_with_nothing_in_common_have_no_groups() {
    let scratch = Scratch::new();
    let one = scratch.file("one.csv", b"ltime,total_byte\n1,5\n");
    let other = scratch.file("other.csv", b"ltime,dst_addr,total_byte\n1,10.0.0.1,7\n");
    let asked = "select dst_addr, sum(total_byte) groupby dst_addr";
    for files in [[&one, &other], [&other, &one]] {
        let ended = call(&["query", text(files[0]), text(files[1]), asked]).expect(2);
        assert!(ended.stderr.contains("no column dst_addr"), "{ended:?}");
        let all = query(&[text(files[0]), text(files[1])], "select sum(total_byte)");
        assert_eq!(sum(&all, "sum(total_byte)"), 12);
    }
}

/// Whatever the order in which parts come: no row is lost.
#[test]
fn windows_of_a_period_and_of_several_nodes_are_whole() {
    let scratch = Scratch::new();
    let seconds = |name: &str, node: &str, seconds: &[u64]| {
        let rows = seconds.iter().map(|at| format!("{at}000000000,{at},{node}\n")).collect::<String>();
        let csv = scratch.file(&format!("{name}.csv"), format!("ltime,total_byte,node_id\n{rows}"));
        text(&csv).to_owned()
    };
    let files =
        [seconds("a", "n1", &[1, 30]), seconds("b", "n1", &[5, 12]), seconds("c", "n2", &[30, 12, 3])];
    let asked = [
        "query",
        &files[0],
        &files[1],
        &files[2],
        "--json",
        "--per",
        "1s",
        "-q",
        "select sum(total_byte) as b",
    ];
    let all = answers(&call(&asked).expect(0));
    assert_eq!(sum(&all, "b"), 1 + 30 + 5 + 12 + 30 + 12 + 3);
    let later = answers(&call(&[&asked[..], &["--from", "1970-01-01 00:00:10"]].concat()).expect(0));
    assert_eq!(sum(&later, "b"), 30 + 12 + 30 + 12);
    let unknown = call(&["query", &files[0], "select sum(total_byte) where node_id = n9"]);
    unknown.says(2, &["runs on no node of the files, which are of n1"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let scratch = Scratch::new();
    let csv = scratch.file("a.csv", b"ltime,dst_port,src_addr,total_byte\n1,80,10.0.0.1,5\n");
    for (asked, words) in [
        ("select sum(total_byte) groupby dst_port", "select dst_port too"),
        ("select src_addr, total_byte", "add 'groupby'"),
        ("select dst_port, sum(total_byte) as b groupby dst_port having b > 3", "leave out 'having'"),
    ] {
        call(&["query", "--diff", text(&csv), text(&csv), "-q", asked]).says(2, &["--diff", words]);
    }
}
