//! Equery over live traffic and captures: what it finds, that no packet is missing, and what is refused.

use crate::support::capture::{self, Generated, Key};
use crate::support::output::{self, number, rows, total};
use crate::support::program::{Ended, call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// Two seconds of traffic with a flood, a scan and a large flow: the traffic of `make run`, smaller.
const SPEC: &str =
    "packets=60k,flows=5k,rate=20k,zipf=1.0,ipv6=20%,size=64:7/594:4/1518:1,plant=flood/scan/elephant";

fn generated(scratch: &Scratch) -> Generated {
    capture::generate(scratch, SPEC)
}

/// The answers in lines of JSON, by query.
fn answers(ended: &Ended) -> HashMap<String, Vec<Value>> {
    let mut answers: HashMap<String, Vec<Value>> = HashMap::new();
    for line in ended.stdout.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        answers.entry(answer["query"].as_str().expect("a name").to_owned()).or_default().push(answer);
    }
    answers
}

#[test]
fn every_measured_packet_is_in_a_sum_in_every_design() {
    let scratch = Scratch::new();
    let Generated { path, .. } = generated(&scratch);
    let report_path = scratch.path("report.json");
    let off = ["--idle-timeout", "off", "--active-timeout", "off"];
    for design in [
        &["--design", "rss"][..],
        &["--design", "sync"],
        &["--design", "async"],
        &["--design", "pipeline"],
        &["--design", "cooperative"],
        &["--design", "1x3"],
        &["--wire", "queues=2", "--design", "2x1"],
        &["--max-flows", "100"],
        &[&["--design", "1x2", "--split", "position"], &off[..]].concat(),
        &[&["--design", "1x2", "--state", "shared"], &off[..]].concat(),
    ] {
        let mut command = edison();
        command.arg("run").arg(&path).args(["--memory", "512MiB", "--every", "500ms", "--json"]).args(design);
        command.args(["-q", "one: select sum(total_count); long: select sum(total_count) every 2s"]);
        let answers = answers(&run(command.arg("--report").arg(&report_path)).expect(0));
        let report = output::report(&report_path);
        let packets = &report["packets"];
        let measured = number(&packets["received"]) - total(&packets["not_measured"]);
        assert_eq!(measured, 60_000);
        let sum =
            |answer: &Value| -> u64 { rows(answer).iter().map(|row| number(&row["sum(total_count)"])).sum() };
        for query in ["one", "long"] {
            let all: u64 = answers[query].iter().map(sum).sum();
            assert_eq!(all, measured, "{design:?} {query}");
        }
        assert_eq!(sum(output::of_run(&report, "one")), measured, "{design:?}");
        assert!(!answers.contains_key("totals"));
    }
}

#[test]
fn each_planted_event_is_found_by_a_query() {
    let scratch = Scratch::new();
    let Generated { path, truth, .. } = generated(&scratch);
    let file = scratch.file(
        "events.eq",
        b"flood: select dst_addr, count(src_addr) as sources, sum(total_count) as packets groupby dst_addr
                 having sources > MANY order by sources desc limit 3;
          scan: select src_addr, count(dst_addr) as targets groupby src_addr having targets > MANY;
          elephant: select src_addr, src_port, dst_addr, total_byte where total_byte > 1M order by total_byte desc limit 1;",
    );
    let report_path = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(&path).arg("-f").arg(&file).args(["--set", "MANY=400"]);
    run(command.arg("--report").arg(&report_path)).expect(0);
    let report = output::report(&report_path);
    let event = |kind: &str| {
        let events = truth["events"].as_array().expect("events");
        events.iter().find(|event| event["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {truth}"))
    };
    let only = |query: &str| {
        let rows = rows(output::of_run(&report, query));
        assert_eq!(rows.len(), 1, "{query}: {rows:?}");
        rows[0].clone()
    };
    let (flood, scan) = (only("flood"), only("scan"));
    assert_eq!(flood["dst_addr"], "203.0.113.10");
    assert_eq!(number(&flood["packets"]), number(&event("flood")["packets"]));
    assert_eq!(scan["src_addr"], "198.51.100.11");
    assert_eq!(number(&scan["targets"]), number(&event("scan")["packets"]));
    assert_eq!(only("elephant")["src_addr"], "192.0.2.12");
}

#[test]
fn biflow_shows_both_directions_of_conversations_on_screen() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = generated(&scratch);
    // By the endpoints in order: the packets from the lesser one, and from the greater one.
    let mut conversations: HashMap<(Key, bool), u64> = HashMap::new();
    for frame in &frames {
        let (key @ (src, dst, protocol, from, to), _) = capture::layer3(&frame.data);
        let reversed = (dst, src, protocol, to, from);
        let is_forward = (src, from) <= (dst, to);
        *conversations.entry((if is_forward { key } else { reversed }, is_forward)).or_default() += 1;
    }
    let report_path = scratch.path("report.json");
    let path = text(&path);
    let shown = call(&["run", path, "--biflow", "-n", "20", "--report", text(&report_path)]).expect(0).stdout;
    assert!(shown.contains("packets ->") && shown.contains("bytes <-"), "{shown}");
    let report = output::report(&report_path);
    let rows = rows(output::of_run(&report, "conversations"));
    assert_eq!(rows.len(), 20);
    let texts: HashMap<String, Key> = conversations
        .keys()
        .map(|(key @ (src, dst, protocol, from, to), _)| {
            let end = |address: &std::net::IpAddr, port: u16| match address.is_ipv6() {
                true => format!("[{address}]:{port}"),
                false => format!("{address}:{port}"),
            };
            let name = match protocol {
                6 => "tcp",
                17 => "udp",
                1 => "icmp",
                58 => "icmp6",
                other => panic!("protocol {other}"),
            };
            (format!("{} <-> {} {name}", end(src, *from), end(dst, *to)), *key)
        })
        .collect();
    for row in rows {
        let key = texts[row["conversation"].as_str().expect("text")];
        let of = |is_forward| conversations.get(&(key, is_forward)).copied().unwrap_or(0);
        assert_eq!(
            [number(&row["forward_count"]), number(&row["reverse_count"])],
            [of(true), of(false)],
            "{row}"
        );
        let bytes = number(&row["forward_byte"]) + number(&row["reverse_byte"]);
        assert_eq!(bytes, number(&row["total_byte"]), "{row}");
    }
    // In windows too.
    let lines = call(&["run", path, "--biflow", "--every", "1s", "--json"]).expect(0);
    let answers = answers(&lines);
    assert!(answers.contains_key("conversations") && answers.contains_key("top_bytes"));
}

#[test]
fn intervals_are_rows_of_one_table() {
    let scratch = Scratch::new();
    let Generated { path, .. } = generated(&scratch);
    let shown = call(&["run", text(&path), "--per", "1s"]).expect(0).stdout;
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("  2")).collect();
    let column = |at: usize| -> u64 {
        let cell = |row: &&str| {
            row.split_whitespace().nth(at).expect("a cell").replace(',', "").parse::<u64>().expect("a number")
        };
        rows.iter().map(cell).sum()
    };
    assert!(rows.len() >= 3, "{shown}");
    // Date, time, zone, flows, packets.
    assert_eq!(column(4), 60_000, "{shown}");
    assert_eq!(shown.matches("packets").count(), 2, "one heading, and the account: {shown}");
}

#[test]
fn short_forms_are_the_query_that_they_stand_for() {
    let scratch = Scratch::new();
    let Generated { path, .. } = generated(&scratch);
    let report_path = scratch.path("report.json");
    let answer = |arguments: &[&str], query: &str| {
        let mut command = edison();
        run(command.arg("run").arg(&path).args(arguments).arg("--report").arg(&report_path)).expect(0);
        rows(output::of_run(&output::report(&report_path), query)).to_vec()
    };
    let short = answer(&["--by", "src_addr/24/48,dst_port", "--sort", "count(dst_addr)", "--top", "7"], "by");
    let long = "long: SELECT src_addr/24/48, dst_port, count(dst_addr), count(*) as flows, sum(packets) as total_count,
        sum(bytes) as total_byte, sum(wire_byte) as wire_byte group by src_addr/24/48, dst_port
        order by count(dst_addr) desc limit 7";
    assert_eq!(short.len(), 7);
    assert_eq!(short, answer(&["-q", long], "long"));
}

#[test]
fn a_query_of_another_node_answers_nothing_and_nothing_takes_its_place() {
    let scratch = Scratch::new();
    let Generated { path, .. } = generated(&scratch);
    let query = "select count(*) where node_id != Node1";
    let ended = call(&["run", text(&path), "--json", "--node", "Node1", "-q", query]).expect(0);
    assert!(ended.stdout.is_empty() && ended.stderr.contains("q1 runs on no node"), "{ended:?}");
}

/// Each of these is refused before anything is measured, with words that help.
#[test]
fn what_cannot_be_asked_is_refused_in_words() {
    let scratch = Scratch::new();
    let Generated { path, .. } = generated(&scratch);
    let path = text(&path);
    let refused: [(&[&str], &[&str]); 13] = [
        (&["-q", "select sum(total_byt)"], &["total_byt", "total_byte"]),
        (&["-q", "select"], &["-q", "1:"]),
        (&["-q", "totals: select count(*)"], &["totals", "name"]),
        (&["-q", "select count(*) when q0.x > 1"], &["q0"]),
        (&["-q", "a: select count(*) as n; b: select count(*) every 20s while a.n > 1"], &["b", "'every'"]),
        (&["-q", "select count(*) where node_id = Elsewhere", "--node", "Here"], &["Elsewhere", "Here"]),
        (&["-q", "select count(*) every 15s", "--every", "10s"], &["every"]),
        (&["-q", "select count(*) every 1min", "--every", "1kp"], &["window"]),
        (&["-q", "select src_port, count(*) groupby src_port", "--key", "src_addr"], &["src_port", "--key"]),
        (&["--sort", "bytes"], &["--sort", "--by"]),
        (&["--by", "nothing"], &["nothing"]),
        (&["--by", "src_addr", "--top", "0"], &["edison: error: --top 0", "--by"]),
        (&["--set", "K1"], &["--set", "K1=10K"]),
    ];
    for (arguments, words) in refused {
        let ended = call(&[&["run", path], arguments].concat());
        let missing: Vec<_> = words.iter().filter(|word| !ended.stderr.contains(**word)).collect();
        assert!(ended.code == Some(2) && missing.is_empty(), "{arguments:?}: {ended:?}");
        assert!(ended.stdout.is_empty(), "{arguments:?}: {ended:?}");
    }
    let missing: PathBuf = scratch.path("missing.eq");
    call(&["run", path, "-f", text(&missing)]).says(2, &["missing.eq", "--file"]);
}

#[test]
fn a_query_about_losses_turns_their_tracking_on() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=40k,flows=1k,tcp=handshake,plant=loss");
    let report_path = scratch.path("report.json");
    let query = "lost: select sum(ploss_byte), sum(retrans_byte) where protocol = tcp";
    call(&["run", text(&made.path), "-q", query, "--report", text(&report_path)]).expect(0);
    let report = output::report(&report_path);
    let row = &rows(output::of_run(&report, "lost"))[0];
    assert_eq!(
        row["sum(ploss_byte)"], made.truth["totals"]["tcp_loss"]["ploss_byte"],
        "{}",
        made.truth["totals"]["tcp_loss"]
    );
    assert_eq!(row["sum(retrans_byte)"], made.truth["totals"]["tcp_loss"]["retrans_byte"]);
}

/// Nothing leaves the program with an address of the traffic, in whatever an answer has it.
#[test]
fn addresses_in_answers_are_replaced() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = generated(&scratch);
    let key = scratch.file("key", vec![7; 32]);
    let report = scratch.path("report.json");
    let query = "select conversation, top(3, src_addr), top(2, conversation) groupby conversation limit 50; \
                 select src_addr, dst_addr, conversation limit 50; select dst_addr/32/128 groupby dst_addr/32/128; select addr groupby addr every 2s; \
                 select smac, count(*) groupby smac; select top(2, dmac)";
    let mut command = edison();
    command.arg("run").arg(&path).arg("--anonymize").arg(&key).arg("--report").arg(&report);
    let shown = run(command.args(["-q", query, "--json"])).expect(0).stdout;
    let standing = call(&["run", text(&path), "--anonymize", text(&key)]).expect(0).stdout;
    let all = shown + &std::fs::read_to_string(&report).expect("written") + &standing;
    assert!(all.contains(" <-> "), "{all}");
    let words: std::collections::HashSet<&str> =
        all.split(|letter: char| !(letter.is_ascii_hexdigit() || letter == '.' || letter == ':')).collect();
    for frame in frames.iter().step_by(50) {
        for mac in [&frame.data[..6], &frame.data[6..12]] {
            let octets: Vec<String> = mac.iter().map(|octet| format!("{octet:02x}")).collect();
            assert!(!words.contains(octets.join(":").as_str()), "{octets:?} is in an answer");
        }
        let ((src, dst, ..), _) = capture::layer3(&frame.data);
        for address in [src.to_string(), dst.to_string()] {
            let is_there = |word: &&str| *word == address || word.starts_with(&format!("{address}:"));
            assert!(!words.iter().any(is_there), "{address} is in an answer");
        }
    }
}
