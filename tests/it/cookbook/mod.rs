//! Every line of docs/cookbook.md, run as it stands: Edison's lines answer, and where another program of Debian stands next to
//! them, its answer is the same. `--nocapture` prints them as a table.

mod page;
mod peers;
mod table;
mod traces;

use crate::support::program::{Ended, run};
use crate::support::scratch::Scratch;
use page::{Entry, program};
use peers::{COMPARISONS, Comparison};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use table::Row;

/// The tested program's folder is the first; argus is where programs of administrators are.
fn path() -> String {
    let tested = Path::new(env!("CARGO_BIN_EXE_edison")).parent().expect("a folder").display();
    format!("{tested}:{}:/usr/sbin", std::env::var("PATH").unwrap_or_default())
}

/// Runs a line in the folder of the files.
fn typed(scratch: &Scratch, line: &str) -> Ended {
    let mut shell = Command::new("sh");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("EDISON_")) {
        shell.env_remove(name);
    }
    shell.env("PATH", path()).env("TZ", "UTC").current_dir(scratch);
    let ended = run(shell.args(["-c", line]));
    assert_eq!(ended.code, Some(0), "{line}\n{}", ended.stderr);
    ended
}

/// Runs a line of Edison, which has an answer or a remark.
fn edison(scratch: &Scratch, line: &str) -> Ended {
    let ended = typed(scratch, line);
    assert!(!ended.stdout.starts_with('\n'), "{line}: an empty line is first");
    assert!(
        !ended.stdout.trim().is_empty() || line.contains("--flows"),
        "{line}: no answer\n{}",
        ended.stderr
    );
    ended
}

/// The answers to a line of Edison, and how many groups there are; what it prints where other programs read on.
fn answers(scratch: &Scratch, line: &str, shape: table::Shape) -> (Vec<Row>, usize) {
    if line.contains('|') {
        let rows = table::rows(shape, &edison(scratch, line).stdout);
        let groups = rows.len();
        return (rows, groups);
    }
    let parsed = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    if line.starts_with("edison query") || line.contains("--per") {
        let printed = edison(scratch, &format!("{line} --json")).stdout;
        return table::answers(&printed.lines().map(parsed).collect::<Vec<_>>());
    }
    edison(scratch, &format!("{line} --report report.json"));
    let report = std::fs::read_to_string(scratch.path("report.json")).expect("the report");
    let of_report = parsed(&report)["answers"].as_array().expect("answers").clone();
    table::answers(&of_report.into_iter().filter(|answer| answer["query"] != "totals").collect::<Vec<_>>())
}

/// Whether an answer can have what is compared.
fn has(rows: &[Row], comparison: &Comparison) -> bool {
    let mut names = comparison.keys.iter().chain(comparison.values).map(|(_, own)| own);
    !rows.is_empty() && names.all(|name| rows.iter().all(|row| row.contains_key(*name)))
}

/// The chosen cells of rows: values by keys.
fn chosen(rows: &[Row], keys: &[&str], values: &[&str]) -> BTreeMap<Vec<String>, Vec<String>> {
    let cells = |row: &Row, names: &[&str]| -> Vec<String> {
        let cell =
            |name: &&str| row.get(*name).unwrap_or_else(|| panic!("no column {name}: {row:?}")).clone();
        names.iter().map(cell).collect()
    };
    let mut chosen = BTreeMap::new();
    for row in rows {
        let (key, values) = (cells(row, keys), cells(row, values));
        let known = chosen.entry(key).or_insert_with(|| values.clone());
        assert_eq!(*known, values, "two rows of one key: {row:?}");
    }
    chosen
}

/// The sums of the values of all rows, as one row.
fn total(rows: &[Row], values: &[&str]) -> BTreeMap<Vec<String>, Vec<String>> {
    let number = |cell: &String| cell.parse::<u64>().unwrap_or_else(|_| panic!("{cell} is no number"));
    let sum = |name: &&str| rows.iter().map(|row| number(&row[*name])).sum::<u64>().to_string();
    BTreeMap::from([(Vec::new(), values.iter().map(sum).collect())])
}

/// Whether rankings differ only in which of several equal rows are their last.
fn tied(ours: &BTreeMap<Vec<String>, Vec<String>>, theirs: &BTreeMap<Vec<String>, Vec<String>>) -> bool {
    let alone = ours.iter().filter(|(key, _)| !theirs.contains_key(*key));
    let of_theirs = theirs.iter().filter(|(key, _)| !ours.contains_key(*key));
    let different: BTreeSet<_> = alone.chain(of_theirs).map(|(_, values)| values).collect();
    let shared = ours.iter().filter(|(key, _)| theirs.contains_key(*key));
    different.len() == 1 && shared.clone().all(|(key, values)| theirs.get(key) == Some(values))
}

/// Compares the rows of both. Where the other program has all groups and Edison the first ones, these are among them.
fn compare(line: &str, comparison: &Comparison, theirs: &[Row], ours: &[Row], groups: usize) {
    let sides =
        |all: &[(&'static str, &'static str)]| -> (Vec<&str>, Vec<&str>) { all.iter().copied().unzip() };
    let (their_keys, our_keys) = sides(comparison.keys);
    let (their_values, our_values) = sides(comparison.values);
    let theirs = chosen(theirs, &their_keys, &their_values);
    let ours = if comparison.is_total {
        assert_eq!(ours.len(), groups, "{line}: a total of rows that are not all");
        total(ours, &our_values)
    } else {
        chosen(ours, &our_keys, &our_values)
    };
    assert!(!ours.is_empty(), "{line}: no rows");
    if ours.len() < groups && theirs.len() == ours.len() {
        let tied = tied(&ours, &theirs);
        assert!(tied || ours == theirs, "{line}: the first of {}\n{ours:?}\n{theirs:?}", comparison.peer);
        return;
    }
    if !comparison.is_total {
        assert_eq!(theirs.len(), groups, "{line}: groups of {}\n{theirs:?}\n{ours:?}", comparison.peer);
    }
    for (key, values) in &ours {
        assert_eq!(theirs.get(key), Some(values), "{line}: {key:?} of {}", comparison.peer);
    }
}

/// Runs and compares the lines of a task; a table of what was compared.
fn check(scratch: &Scratch, entry: &Entry) -> String {
    let mut told = String::new();
    let escaped = |line: &str| line.replace('|', "\\|");
    let comparisons = || COMPARISONS.iter().filter(|comparison| comparison.task == entry.task);
    let named: BTreeSet<&str> = comparisons().map(|comparison| comparison.peer).collect();
    let printed: Vec<(&str, String)> =
        entry.peers().map(|line| (program(line), typed(scratch, line).stdout)).collect();
    let is_special = SPECIAL.iter().any(|(task, _)| *task == entry.task);
    let there: BTreeSet<&str> = printed.iter().map(|(peer, _)| *peer).collect();
    assert!(is_special || there == named, "{}: {there:?} has lines, {named:?} is compared", entry.task);
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for line in entry.edison() {
        if printed.is_empty() {
            edison(scratch, line);
            told += &format!("| {} | `{}` | | runs |\n", entry.task, escaped(line));
        }
        for (peer, output) in &printed {
            for comparison in comparisons().filter(|comparison| comparison.peer == *peer) {
                let (ours, groups) = answers(scratch, line, comparison.shape);
                if !has(&ours, comparison) {
                    edison(scratch, line);
                    told += &format!("| {} | `{}` | | runs |\n", entry.task, escaped(line));
                    continue;
                }
                compare(line, comparison, &table::rows(comparison.shape, output), &ours, groups);
                *compared.entry(peer).or_default() += 1;
                let theirs = entry.peers().find(|line| program(line) == *peer).unwrap_or_default();
                let verdict = match comparison.difference {
                    "" => "equal".to_owned(),
                    difference => format!("equal; {difference}"),
                };
                let (ours, theirs) = (escaped(line), escaped(theirs));
                told += &format!("| {} | `{ours}` | `{theirs}` | {verdict} |\n", entry.task);
            }
        }
    }
    assert!(named.iter().all(|peer| compared.contains_key(peer)), "{}: compared {compared:?}", entry.task);
    if let Some((_, check)) = SPECIAL.iter().find(|(task, _)| *task == entry.task) {
        told += &check(scratch, entry, &printed);
    }
    told
}

/// What is compared by a function of its own.
type Check = fn(&Scratch, &Entry, &[(&str, String)]) -> String;
const SPECIAL: [(&str, Check); 4] = [
    ("The files", files),
    ("Difference of two days", days),
    ("Export as CSV", export),
    ("Microbursts", bursts),
];

/// nfdump's records are Edison's flows, but for those that nfpcapd writes for each packet.
fn files(scratch: &Scratch, entry: &Entry, _: &[(&str, String)]) -> String {
    entry.edison().for_each(|line| drop(edison(scratch, line)));
    let records = typed(scratch, "nfdump -R nf -q -o csv | wc -l").stdout;
    let each = "(protocol in (1, 58) or protocol = udp and port = 53)";
    let query = format!(
        "edison query flows.parquet --json 'select count(*) as n where not {each}' && \
         edison query flows.parquet --json 'select sum(total_count) as n where {each}'"
    );
    let printed = typed(scratch, &query).stdout;
    let of_line = |line: &str| {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        answer["rows"][0]["n"].as_u64().expect("a number")
    };
    let expected: u64 = printed.lines().map(of_line).sum();
    assert_eq!(records.trim(), expected.to_string());
    format!(
        "| Records | `edison query flows.parquet 'select count(*)'` | `nfdump -R nf` | {expected} records there: a packet of ICMP or \
         DNS is one |\n"
    )
}

/// The difference of two answers of nfdump.
fn days(scratch: &Scratch, entry: &Entry, printed: &[(&str, String)]) -> String {
    let [(_, monday), (_, tuesday)] = printed else { panic!("two days: {printed:?}") };
    let bytes = |output: &str| -> BTreeMap<String, i64> {
        let rows = table::rows(table::Shape::Named, output);
        rows.iter().map(|row| (row["val"].clone(), row["byt"].parse().expect("a number"))).collect()
    };
    let (monday, tuesday) = (bytes(monday), bytes(tuesday));
    let ports: BTreeSet<&String> = monday.keys().chain(tuesday.keys()).collect();
    let of = |day: &BTreeMap<String, i64>, port: &String| day.get(port).copied().unwrap_or_default();
    let mut told = String::new();
    for line in entry.edison() {
        let (rows, groups) = answers(scratch, line, table::Shape::Named);
        assert_eq!((rows.len(), groups), (10, ports.len()), "{line}");
        for row in &rows {
            let port = &row["dst_port"];
            let [before, after, change] =
                ["a", "b", "change"].map(|name| row[&format!("total_byte_{name}")].clone());
            let (a, b) = (of(&monday, port), of(&tuesday, port));
            assert_eq!(
                [before, after, change],
                [a, b, b - a].map(|number| number.to_string()),
                "{line}: {port}"
            );
        }
        told += &format!(
            "| {} | `{line}` | `nfdump … -s dstport/bytes`, both days | equal, subtracted |\n",
            entry.task
        );
    }
    told
}

/// The flow that was planted with evenly spaced packets is the densest: one in ten packets of half the capture.
fn bursts(scratch: &Scratch, entry: &Entry, _: &[(&str, String)]) -> String {
    let line = entry.edison().last().expect("a line");
    let (rows, _) = answers(scratch, line, table::Shape::Named);
    let number = |row: &Row, name: &str| row[name].parse::<f64>().expect("a number");
    let gaps: Vec<f64> = rows.iter().map(|row| number(row, "gap_p99")).collect();
    assert!(gaps.len() == 10 && gaps.is_sorted(), "{gaps:?}");
    let first = &rows[0];
    assert_eq!((&*first["src_addr"], &*first["total_count"]), ("192.0.2.13", "3000"));
    assert!((8.0..12.0).contains(&gaps[0]) && (45e6..55e6).contains(&number(first, "iat_p50")), "{first:?}");
    String::new()
}

/// Both files have the same flows with the same counts.
fn export(scratch: &Scratch, entry: &Entry, _: &[(&str, String)]) -> String {
    let line = entry.edison().next().expect("a line");
    edison(scratch, line);
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect("the file");
    let theirs = table::rows(table::Shape::Commas, &figures_last(&read("all.csv")));
    let theirs = chosen(&theirs, &["4", "5", "8", "6", "7"], &["12", "13"]);
    let ours = table::rows(table::Shape::Named, &read("flows.csv"));
    let ours = chosen(
        &ours,
        &["src_addr", "dst_addr", "protocol", "src_port", "dst_port"],
        &["total_count", "total_byte"],
    );
    assert_eq!(ours, theirs);
    let theirs = entry.peers().next().unwrap_or_default();
    format!("| {} | `{line}` | `{theirs}` | the same {} flows |\n", entry.task, ours.len())
}

/// The lines of a CSV file of nfdump, cut behind the bytes: what follows is no number.
fn figures_last(text: &str) -> String {
    text.lines().map(|line| line.split(',').take(13).collect::<Vec<_>>().join(",") + "\n").collect()
}

fn check_all(trace: Option<&[u8]>, without: &[&str]) -> String {
    let scratch = Scratch::new();
    traces::write(&scratch, trace);
    let entries = page::entries();
    let tasks: BTreeSet<&str> = entries.iter().map(|entry| entry.task.as_str()).collect();
    for comparison in COMPARISONS {
        assert!(tasks.contains(comparison.task), "{} is not in the cookbook", comparison.task);
    }
    let mut table = "| task | Edison | the other program | |\n| --- | --- | --- | --- |\n".to_owned();
    for entry in entries.iter().filter(|entry| !without.contains(&entry.task.as_str())) {
        table += &check(&scratch, entry);
    }
    table
}

fn need_programs() {
    for program in ["nfdump", "nfpcapd", "tshark", "capinfos", "argus", "racluster", "rasort", "jq"] {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {program}")]).env("PATH", path()).output();
        assert!(found.expect("a shell").status.success(), "{program} is missing: run scripts/install test");
    }
}

#[test]
fn every_line_answers_as_the_other_programs_do() {
    need_programs();
    let table = check_all(None, &[]);
    println!("{table}");
    let compared = table.matches("| equal").count();
    assert!(compared > 70, "only {compared} answers are compared");
}

/// A real capture. tshark's minutes begin with its first packet, and nothing is planted in it.
#[test]
fn every_line_answers_of_a_real_capture() {
    let Some(folder) = std::env::var_os("EDISON_TEST_DATA") else {
        eprintln!("skipped: EDISON_TEST_DATA names no folder of captures");
        return;
    };
    need_programs();
    let capture = Path::new(&folder).join("pcap/zeek/http/bro.org.pcap");
    let capture = std::fs::read(&capture).unwrap_or_else(|error| panic!("{}: {error}", capture.display()));
    println!(
        "{}",
        check_all(Some(&capture), &["Time series per minute", "Microbursts", "Hosts of IPv6", "IPv6 only"])
    );
}
