//! What users of tcpdump and of spreadsheets type: a file without a command, letters for options, usual names of fields; and
//! errors that name the fix and where an option was set.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use std::collections::BTreeMap;

const START: u64 = 1_700_000_000_000_000_000;

/// A capture of seven flows with a hundred packets each.
fn good(scratch: &Scratch) -> (String, Vec<Frame>) {
    let frames = capture::udp_frames(700, START);
    (text(&scratch.file("good.pcap", capture::pcap(ETHERNET, &frames))).to_owned(), frames)
}

#[test]
fn a_file_alone_is_measured() {
    let scratch = Scratch::new();
    let (good, frames) = good(&scratch);
    let report = scratch.path("report.json");
    for source in [&["run", &good][..], &[&good], &["-r", &good], &["run", "--read", &good]] {
        call(&[source, &["--report", text(&report)]].concat()).expect(0);
        assert_eq!(
            number(&output::report(&report)["packets"]["measured"]),
            frames.len() as u64,
            "{source:?}"
        );
        std::fs::remove_file(&report).expect("it was written");
    }
    // With a filter behind it. The source port stands at byte 34.
    let of_port = frames.iter().filter(|frame| frame.data[34..36] == 1003_u16.to_be_bytes()).count();
    for source in [&[&good[..]][..], &["-r", &good]] {
        call(&[source, &["--report", text(&report), "udp", "port", "1003"]].concat()).expect(0);
        assert_eq!(number(&output::report(&report)["packets"]["measured"]), of_port as u64);
    }
    call(&["-i", "nosuch0"]).says(2, &["--interface", "'nosuch0'"]);
}

#[test]
fn letters_stand_for_options() {
    let scratch = Scratch::new();
    let (good, frames) = good(&scratch);
    let (report, csv) = (scratch.path("report.json"), scratch.path("flows.csv"));
    call(&[&good, "-c", "123", "-n", "3", "-w", text(&csv), "--report", text(&report)]).expect(0);
    let report = output::report(&report);
    assert_eq!(number(&report["packets"]["received"]), 123);
    assert_eq!(output::rows(output::of_run(&report, "top_bytes")).len(), 3);
    assert_eq!(output::one_record_per_key(&output::records(&csv)), capture::flows(&frames[..123]));
}

#[test]
fn a_mistake_names_the_fix() {
    let scratch = Scratch::new();
    let (good, _) = good(&scratch);
    call(&[&good, "--tpo", "3"]).says(2, &["'--tpo'", "'--top'"]);
    call(&["-n", "-r", &good]).says(2, &["-n takes a number", "can be left out"]);
    call(&["-nr", &good]).says(2, &["-n takes a number", "can be left out"]);
    call(&["rnu", &good]).says(2, &["'rnu'", "`edison run`"]);
    call(&["nosuch.pcap"]).says(2, &["nosuch.pcap", "no such file"]);
    call(&[&good, "--key", "src_adr"]).says(2, &["'src_adr'", "src_addr?"]);
    call(&[&good, "-w", "f.csv", "--fields", "total_bite"]).says(2, &["`total_bite`", "`total_byte`"]);
    call(&[&good, "-w", "f.pcap"]).says(2, &["f.pcap", ".csv"]);
    call(&[&good, "--tunnel", "both"]).says(2, &["'both'", "outer, inner"]);
    for words in [&["bench"][..], &["bench", "table", "--json"], &["study", "--help"]] {
        let ended = call(words)
            .says(2, &["edison-lab", words[0], "cd lab && cargo build --release", "Debian package"]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    call(&["fields", "--jsn"]).says(2, &["'--jsn'", "'--json'"]);
}

#[test]
fn usual_names_of_fields_are_understood() {
    let scratch = Scratch::new();
    let (good, frames) = good(&scratch);
    let csv = scratch.path("flows.csv");
    call(&[&good, "-w", text(&csv), "--key", "srcip/24,sport", "--fields", "SRCIP,sport,packets,bytes"])
        .expect(0);
    let written = std::fs::read_to_string(&csv).expect("records");
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("src_addr,src_port,total_count,total_byte"));
    let mut expected: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    for frame in &frames {
        let ((_, _, _, port, _), length) = capture::layer3(&frame.data);
        let sums = expected.entry(port).or_default();
        *sums = (sums.0 + 1, sums.1 + length);
    }
    let mut expected: Vec<_> = expected
        .into_iter()
        .map(|(port, (packets, bytes))| format!("192.0.2.0,{port},{packets},{bytes}"))
        .collect();
    let mut got: Vec<_> = lines.map(str::to_owned).collect();
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
    // In tasks: all packets have the one destination port.
    let report = scratch.path("report.json");
    let tasks = ["heavy-hitters:key=dstip+dport,by=bytes", "heavy-hitters:key=dst_ip+dst_port,by=total_byte"];
    let options =
        ["--task", tasks[0], "--task", tasks[1], "--task", "quantiles:key=sport", "--report", text(&report)];
    call(&[&[&good[..]][..], &options].concat()).expect(0);
    let report = output::report(&report);
    let answers: Vec<_> =
        output::list(&report["answers"]).iter().filter(|it| it["query"] == "heavy_hitters").collect();
    assert_eq!(answers.len(), 2, "{}", report["answers"]);
    let bytes: u64 = frames.iter().map(|frame| capture::layer3(&frame.data).1).sum();
    for answer in answers {
        let row = &output::rows(answer)[0];
        assert!(row["dst_addr"] == "198.51.100.1" && !row["dst_port"].is_null(), "{row}");
        let value = row["total_byte"]["value"].as_f64().or_else(|| row["total_byte"].as_f64());
        assert_eq!(value, Some(bytes as f64), "{row}");
    }
}

#[test]
fn an_error_names_where_an_option_was_set() {
    let scratch = Scratch::new();
    let (good, _) = good(&scratch);
    let file = scratch.file("edison.toml", "every = \"5\"\n");
    let from = |variable: &str, value: &str, arguments: &[&str]| {
        run(edison().arg(&good).args(arguments).env(variable, value))
    };
    from("EDISON_EVERY", "5", &[]).says(2, &["edison: error: EDISON_EVERY: ", "'5'"]);
    from("EDISON_TASK", "nosuch", &[]).says(2, &["edison: error: EDISON_TASK: ", "nosuch"]);
    from("EDISON_GAP", "mean", &[]).says(2, &["edison: error: EDISON_GAP: ", "--flows"]);
    from("EDISON_TOP", "many", &["--config", text(&file)]).says(2, &["EDISON_TOP: ", "'many'"]);
    call(&[&good, "--config", text(&file)]).says(2, &["edison.toml: ", "'5'", "--every"]);
    let ended = call(&[&good, "--every", "5"]).says(2, &["'5'", "--every"]);
    assert!(!ended.stderr.contains("EDISON_") && !ended.stderr.contains(".toml"), "{}", ended.stderr);
    // What is typed wins.
    from("EDISON_EVERY", "5", &["--every", "1s"]).expect(0);
    call(&[&good, "--config", text(&file), "--every", "1s"]).expect(0);
}

#[test]
fn help_is_short_unless_all_is_asked_for() {
    let short = call(&["run", "-h"]).expect(0).stdout;
    let headings: Vec<_> =
        short.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    assert_eq!(headings, ["Source:", "Question:", "Output:", "Limits:", "Examples:"], "{short}");
    let options = |text: &str| text.lines().filter(|line| line.trim_start().starts_with('-')).count();
    assert!((12..=18).contains(&options(&short)), "{short}");
    assert!(short.contains("Usage: edison run [OPTIONS] SOURCE… [FILTER]\n"), "{short}");
    let long = call(&["run", "--help"]).expect(0).stdout;
    assert!(options(&long) > 40, "{long}");
    for name in ["--synthetic", "--wire", "--idle-timeout", "--preset", "--config"] {
        assert!(long.contains(name) && !short.contains(name), "{name}");
    }
}

#[test]
fn what_would_show_in_nothing_is_refused_or_shown() {
    let scratch = Scratch::new();
    let (good, _) = good(&scratch);
    let csv = scratch.path("flows.csv");
    let options =
        [["--gap", "mean"], ["--packet-size", "p50"], ["--inter-arrival", "mean"], ["--fields", "bytes"]];
    for option in options {
        call(&[&[&good[..]][..], &option].concat()).says(2, &[option[0], "--flows", "--export"]);
        call(&[&[&good[..]][..], &option, &["-w", text(&csv)]].concat()).expect(0);
    }
    call(&[&good, "--rotate", "1h"]).says(2, &["--rotate", "--flows"]);
    // 700 frames a millisecond apart from a multiple of 100 ms on: seven windows of a hundred.
    let windows = |arguments: &[&str]| {
        let shown = call(&[&[&good[..]][..], arguments].concat()).expect(0).stdout;
        shown.lines().filter(|line| line.starts_with("window ")).count()
    };
    assert_eq!(windows(&["--every", "100ms"]), 7);
    assert_eq!(windows(&["--every", "350p"]), 2);
    assert_eq!(windows(&[]), 0);
}
