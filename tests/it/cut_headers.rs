//! Captures whose snap length cut headers: answers say which packets they do not tell of.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number, rows};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_400 * SECOND;

/// The capture as `tcpdump -s` of this length would have written it: frames are cut, their lengths on the wire remain.
fn cut(frames: &[Frame], snap: usize) -> Vec<u8> {
    let whole = capture::pcap(ETHERNET, frames);
    let (mut bytes, mut at) = (whole[..24].to_vec(), 24);
    for frame in frames {
        let length = frame.data.len().min(snap);
        bytes.extend(&whole[at..at + 8]);
        bytes.extend((length as u32).to_le_bytes());
        bytes.extend(&whole[at + 12..at + 16]);
        bytes.extend(&frame.data[..length]);
        at += 16 + frame.data.len();
    }
    bytes
}

/// Returns an Ethernet frame with an IPv4 packet of this protocol. `options` is the number of bytes of IPv4 options, a multiple of 4.
fn frame(time_ns: u64, options: usize, protocol: u8, transport: &[u8]) -> Frame {
    let mut data = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let length = (20 + options + transport.len()) as u16;
    data.extend([0x45 + (options / 4) as u8, 0]);
    data.extend(length.to_be_bytes());
    data.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 9]);
    data.extend(vec![1; options]);
    data.extend(transport);
    Frame { time_ns, data }
}

/// TCP with SYN and window 4096 from a port of its own.
fn tcp(port: u16) -> Vec<u8> {
    let port = port.to_be_bytes();
    [&port[..], &[0, 80], &[0, 0, 0, 5, 0, 0, 0, 7, 0x50, 2, 16, 0, 0, 0, 0, 0]].concat()
}

/// In the first second: two segments whose headers lie within the first 50 bytes, and one whose window lies after them. In the second one:
/// an echo and a datagram, of which no more than the IP header is within them.
fn frames() -> Vec<Frame> {
    let udp = [[0x13, 0x88].as_slice(), &[0, 53, 0, 8, 0, 0]].concat();
    vec![
        frame(START, 0, 6, &tcp(1000)),
        frame(START + 1, 0, 6, &tcp(1001)),
        frame(START + 2, 4, 6, &tcp(1002)),
        frame(START + SECOND, 16, 1, &[8, 0, 0, 0, 0, 0, 0, 0]),
        frame(START + SECOND + 1, 16, 17, &udp),
    ]
}

fn reason(answer: &Value) -> &str {
    answer["reason"].as_str().unwrap_or_default()
}

#[test]
fn an_answer_says_of_how_many_packets_it_does_not_know_the_header() {
    let scratch = Scratch::new();
    let (whole, short) = (frames(), 50);
    let path = scratch.file("cut.pcap", cut(&whole, short));
    let report = scratch.path("report.json");
    // What was captured of a frame, by hand: link, IP header, and the bytes of the transport header that are read.
    let transport = |frame: &Frame| 14 + usize::from(frame.data[14] & 15) * 4;
    let is_tcp = |frame: &&Frame| frame.data[23] == 6;
    let lacks_tcp = whole.iter().filter(is_tcp).filter(|frame| transport(frame) + 16 > short).count();
    let lacks_ports = whole
        .iter()
        .filter(|frame| transport(frame) + if frame.data[23] == 1 { 2 } else { 4 } > short)
        .count();
    assert_eq!((lacks_tcp, lacks_ports), (1, 2));
    let asked = "least: select min(tcp_win) as x; seq: select tcp_seq, sum(total_count) as n groupby tcp_seq; \
                 syn: select sum(total_count) as n where tcp_flags = 2 every 2s; last: select max(last_tcp_win) as x; \
                 by_port: select dst_port, sum(total_count) as n groupby dst_port; flows: select count(*) as n; \
                 bytes: select sum(total_byte) as n; ttl: select min(ip_ttl) as n; \
                 udp: select min(tcp_win) as x where protocol = udp; \
                 other: select min(tcp_win) as x where protocol != icmp";
    let options = ["--every", "1s", "--json", "--report", text(&report), "-q", asked];
    let lines = run(edison().arg("run").arg(&path).args(options)).expect(0).stdout;
    let report = output::report(&report);
    let tcp = format!("the capture cut the TCP headers of {lacks_tcp} packet:");
    let ports = format!("the capture cut the headers of {lacks_ports} packets before the ports");
    for (query, expected) in [
        ("least", Some(&tcp)),
        ("seq", Some(&tcp)),
        ("last", Some(&tcp)),
        ("by_port", Some(&ports)),
        ("flows", Some(&ports)),
        ("bytes", None),
        ("ttl", None),
        ("udp", None),
        ("other", Some(&tcp)),
    ] {
        let answer = output::of_run(&report, query);
        let said = expected.map_or("", |line| line.as_str());
        assert!(reason(answer).starts_with(said), "{answer}");
        assert_eq!(
            (answer["status"] == "partial", reason(answer).is_empty()),
            (expected.is_some(), expected.is_none()),
            "{answer}"
        );
    }
    let bytes: u64 = whole.iter().map(|frame| frame.data.len() as u64 - 14).sum();
    assert_eq!(number(&rows(output::of_run(&report, "bytes"))[0]["n"]), bytes);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |query: &str| {
        lines.iter().filter(|line| line["query"] == query && !line["window"].is_null()).collect::<Vec<_>>()
    };
    // Each window has what was cut in it.
    let windows = of("least");
    assert_eq!(windows.iter().map(|line| reason(line).starts_with(&tcp)).collect::<Vec<_>>(), [true, false]);
    let windows = of("by_port");
    assert_eq!(
        windows.iter().map(|line| reason(line).starts_with(&ports)).collect::<Vec<_>>(),
        [false, true]
    );
    let windows = of("syn");
    assert!(windows.len() == 1 && reason(windows[0]).starts_with(&tcp), "{windows:?}");
    // The remark is in the report of frames, too.
    assert_eq!(number(&report["packets"]["remarks"]["tcp_truncated"]), lacks_tcp as u64, "{report}");
    assert_eq!(number(&report["packets"]["remarks"]["ports_truncated"]), lacks_ports as u64, "{report}");
}

/// The reason of each answer of a question over recorded rows.
fn reasons_of(rows: &[&str], query: &str, more: &[&str]) -> Vec<String> {
    let ended = call(&[&["query"], rows, &["--json", "-q", query], more].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.stderr);
    let lines = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["empty"].is_null()).map(|line| reason(&line).to_owned()).collect()
}

#[test]
fn questions_over_recorded_rows_say_so_too() {
    let scratch = Scratch::new();
    let path = scratch.file("cut.pcap", cut(&frames(), 50));
    let (store, rows) = (scratch.path("store"), scratch.path("rows.parquet"));
    let kept = ["--node", "n1", "--store", text(&store), "--rows", text(&rows)];
    call(&[&["run", text(&path), "--every", "1s"], &kept[..]].concat()).expect(0);
    let tcp = "the capture cut the TCP headers of 1 packet:";
    let ports = "the capture cut the headers of 2 packets before the ports";
    for of in [&["--store", text(&store)][..], &[text(&rows)]] {
        let say = |query: &str, more: &[&str], expected: &[&[&str]]| {
            let reasons = reasons_of(of, query, more);
            assert_eq!(reasons.len(), expected.len(), "{of:?} {query}: {reasons:?}");
            for (reason, expected) in reasons.iter().zip(expected) {
                let said = [tcp, ports].map(|line| reason.contains(line));
                assert_eq!(
                    said,
                    [tcp, ports].map(|line| expected.contains(&line)),
                    "{of:?} {query}: {reason}"
                );
            }
        };
        // Which packet is the last of its flow depends on the ports.
        say("select max(last_tcp_win)", &[], &[&[tcp, ports]]);
        say("select count(*)", &[], &[&[ports]]);
        say("select sum(total_byte)", &[], &[&[]]);
        // Each part has what was cut in it: in the first second a window of TCP, in the second one ports.
        say("select max(last_tcp_win) as w", &["--per", "1s"], &[&[tcp], &[ports]]);
        say("select dst_port, sum(total_byte) groupby dst_port", &["--per", "1s"], &[&[], &[ports]]);
    }
    // A dry run and an engine that only reads rows say it of them as well.
    let program = scratch.path("engine");
    let answer = r#"{"window_us":0,"node":"n1","groups_of_all":1,"rows_of_all":1,"c1":7}"#;
    std::fs::write(&program, format!("#!/bin/sh\ncat >/dev/null; echo '{answer}'\n")).expect("written");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("may be run");
    let engine = ["--engine", "duckdb", "--engine-program", text(&program)];
    let [reason] = &reasons_of(&["--store", text(&store)], "select max(last_tcp_win)", &engine)[..] else {
        panic!("one answer")
    };
    assert!(reason.contains(tcp) && reason.contains(ports), "{reason}");
    let [reason] = &reasons_of(&["--store", text(&store)], "select sum(total_byte)", &engine)[..] else {
        panic!("one answer")
    };
    assert!(!reason.contains("the capture cut"), "{reason}");
    let rules = scratch.file("rules.eq", "w: select max(last_tcp_win) as x every 1s;");
    let dry = call(&["dry-run", text(&rules), text(&rows), "--json", "--answers"]).stdout;
    let mut answers = dry.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert!(answers.any(|line| line["query"] == "w" && self::reason(&line).starts_with(tcp)), "{dry}");
}

#[test]
fn nothing_is_said_where_all_headers_are_there() {
    let scratch = Scratch::new();
    let path = scratch.file("whole.pcap", cut(&frames(), 54 + 16));
    let asked = "select min(tcp_win) as w, max(tcp_seq) as s; select dst_port, count(*) groupby dst_port";
    let ended = call(&["run", text(&path), "--json", "-q", asked]).expect(0);
    assert!(!ended.stdout.contains("the capture cut"), "{}", ended.stdout);
    let keyed = scratch.file("cut.pcap", cut(&frames(), 50));
    let hosts = ["run", text(&keyed), "--key", "src_addr", "--json", "-q", "select count(*) as n"];
    let ended = call(&hosts).expect(0);
    assert!(!ended.stdout.contains("the capture cut"), "{}", ended.stdout);
}

/// The segments of a capture of which less than the TCP header, with its options, lies within this length.
fn unread_segments(frames: &[Frame], snap: usize) -> u64 {
    let is_unread = |frame: &&Frame| {
        let begin = 14 + usize::from(frame.data[14] & 15) * 4;
        frame.data[23] == 6 && begin + usize::from(frame.data[begin + 12] >> 4) * 4 > snap
    };
    frames.iter().filter(is_unread).count() as u64
}

#[test]
fn losses_of_tcp_headers_that_were_cut_are_not_known() {
    let scratch = Scratch::new();
    let spec = "packets=9k,flows=60,tcp=handshake,plant=loss:connections=1";
    let whole = capture::generate(&scratch, spec).frames;
    for snap in [44, 52] {
        let count = unread_segments(&whole, snap);
        assert!(count > 0, "{snap}");
        let said = format!("the TCP headers of {count} segments were cut or damaged");
        let path = scratch.file("lossy.pcap", cut(&whole, snap));
        let at = |name: &str| scratch.path(&format!("{snap}{name}"));
        let (report, store, kept) = (at(".json"), at("store"), at("rows.parquet"));
        let asked = "q: select sum(ploss_byte) as p, sum(retrans_byte) as r; rtt: select max(rtt_min) as x; \
                     n: select sum(total_byte) as n";
        let files = ["--report", text(&report), "--store", text(&store), "--rows", text(&kept)];
        let run = ["run", text(&path), "--loss", "--json", "-q", asked, "--node", "n1"];
        call(&[&run[..], &files].concat()).expect(0);
        let report = output::report(&report);
        let plain = at("plain.json");
        call(&["run", text(&path), "--loss", "--report", text(&plain)]).expect(0);
        let plain = output::report(&plain);
        for (of, query) in [(&report, "q"), (&report, "rtt"), (&plain, "tcp_loss"), (&plain, "top_loss")] {
            let answer = output::of_run(of, query);
            assert!(reason(answer).contains(&said), "{snap}: {answer}");
            assert_eq!(
                (&answer["status"], &answer["bounds"]),
                (&"partial".into(), &"none".into()),
                "{answer}"
            );
        }
        assert!(!reason(output::of_run(&report, "n")).contains("segments"), "{report}");
        for of in [&["--store", text(&store)][..], &[text(&kept)]] {
            for (query, is_said) in [("select sum(ploss_byte)", true), ("select sum(total_byte)", false)] {
                let reasons = reasons_of(of, query, &[]);
                assert!(reasons.len() == 1 && reasons[0].contains(&said) == is_said, "{of:?}: {reasons:?}");
            }
        }
        // The flows of a question alone, without `--loss`.
        let zoom = "select sum(ploss_byte) as p where dst_port = 443";
        let ended = call(&["run", text(&path), "--json", "-q", zoom]).expect(0);
        assert!(ended.stdout.contains("segments were cut or damaged"), "{}", ended.stdout);
    }
}

#[test]
fn flow_records_tell_of_headers_that_were_cut() {
    let scratch = Scratch::new();
    let path = scratch.file("cut.pcap", cut(&frames(), 50));
    let flows = scratch.path("flows.parquet");
    call(&["run", text(&path), "--flows", text(&flows)]).expect(0);
    let (tcp, ports) = ("the TCP headers of 1 packet:", "the headers of 2 packets before the ports");
    for (query, expected) in [
        ("select max(last_tcp_win) as x", [true, true]),
        ("select max(last_tcp_win) as x every 1s", [true, true]),
        ("select dst_port, sum(total_byte) groupby dst_port", [false, true]),
        ("select sum(total_byte)", [false, false]),
    ] {
        let reasons = reasons_of(&[text(&flows)], query, &[]);
        assert!(!reasons.is_empty(), "{query}");
        for reason in reasons {
            assert_eq!([tcp, ports].map(|line| reason.contains(line)), expected, "{query}: {reason}");
        }
    }
}

#[test]
fn the_number_of_flows_among_totals_says_so() {
    let scratch = Scratch::new();
    let path = scratch.file("cut.pcap", cut(&frames(), 50));
    for (key, expected) in [(&[][..], true), (&["--key", "src_addr"], false)] {
        let report = scratch.path("report.json");
        let ended = call(
            &[&["run", text(&path), "--json", "--every", "1s", "--report", text(&report)], key].concat(),
        );
        let lines = ended.expect(0).stdout;
        let said = "the headers of 2 packets before the ports";
        let report = output::report(&report);
        let totals = output::of_run(&report, "totals");
        assert_eq!(
            (reason(totals).contains(said), totals["status"] == "partial"),
            (expected, expected),
            "{totals}"
        );
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let windows: Vec<bool> = lines
            .filter(|line| line["query"] == "totals" && !line["window"].is_null())
            .map(|line| reason(&line).contains(said))
            .collect();
        assert_eq!(windows, [false, expected]);
    }
}

/// Returns an Ethernet frame with a UDP packet of IPv6 behind an extension header for its destination.
fn behind_an_extension(time_ns: u64) -> Frame {
    let mut data = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 60, 64];
    data.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    data.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    data.extend([17, 0, 1, 4, 0, 0, 0, 0, 0x13, 0x88, 0, 53, 0, 8, 0, 0]);
    Frame { time_ns, data }
}

#[test]
fn protocols_and_addresses_that_were_cut_are_told() {
    let scratch = Scratch::new();
    let whole: Vec<Frame> = (0..3).map(|number| behind_an_extension(START + number)).collect();
    let by_protocol = "select protocol, sum(total_count) as n groupby protocol";
    let (protocol, addresses) = (
        "the headers of 3 packets before the protocol",
        "the capture cut 3 frames before the addresses: no flow has them",
    );
    for (snap, row, said) in
        [(60, Some(60), Some(protocol)), (80, Some(17), None), (50, None, Some(addresses))]
    {
        let path = scratch.file("cut.pcap", cut(&whole, snap));
        let at = |name: &str| scratch.path(&format!("{snap}{name}"));
        let (report, store, kept) = (at(".json"), at("store"), at("rows.parquet"));
        let files = ["--report", text(&report), "--store", text(&store), "--rows", text(&kept)];
        let asked = format!("p: {by_protocol}; n: select sum(total_count) as n");
        call(&[&["run", text(&path), "--json", "--node", "n1", "-q", &asked][..], &files].concat()).expect(0);
        let report = output::report(&report);
        let answer = output::of_run(&report, "p");
        assert_eq!(rows(answer).first().map(|row| number(&row["protocol"])), row, "{answer}");
        assert_eq!(said.is_some_and(|said| reason(answer).contains(said)), said.is_some(), "{answer}");
        assert_eq!(answer["status"] == "partial", said.is_some(), "{answer}");
        // What does not read the protocol has all packets, unless these are in no flow.
        for query in ["n", "totals"] {
            let answer = output::of_run(&report, query);
            let is_of_flows = query == "totals";
            let lacks = snap == 50 || snap == 60 && is_of_flows;
            assert_eq!(answer["status"] == "partial", lacks, "{answer}");
        }
        for of in [&["--store", text(&store)][..], &[text(&kept)]] {
            let reasons = reasons_of(of, by_protocol, &[]);
            assert_eq!(reasons.len(), 1, "{of:?}: {reasons:?}");
            assert_eq!(reasons[0].contains(said.unwrap_or("cut")), said.is_some(), "{of:?}: {reasons:?}");
        }
    }
}

#[test]
fn tasks_and_sketches_say_so() {
    let scratch = Scratch::new();
    let ports = "the capture cut the headers of 2 packets before the ports";
    let addresses = "the capture cut 5 frames before the addresses";
    // Each task as rows answer it and as packets are counted, and whether ports matter to it.
    let tasks = [
        ("heavy-hitters:key=src_port,count=1", true),
        ("heavy-hitters:key=src_port,count=1,structure=space-saving,memory=64KiB", true),
        ("heavy-hitters:key=src_addr,count=1", false),
        ("super-spreaders:of=dst_port,count=1", true),
        ("super-spreaders:of=dst_addr,count=1", false),
        ("flow-sizes:", true),
        ("flow-sizes:key=src_addr", false),
        ("entropy:key=dst_port", true),
        ("entropy:key=dst_addr,by=bytes", false),
        ("quantiles:key=src_port", true),
        ("quantiles:key=size", false),
    ];
    let sketch =
        "select src_port, sum(total_count) as n groupby src_port limit 9 using space_saving(memory=64KiB)";
    for (snap, said) in [(50, ports), (30, addresses)] {
        let path = scratch.file("cut.pcap", cut(&frames(), snap));
        let mut command = edison();
        command.arg("run").arg(&path).args(["--every", "2s", "--json", "-q", sketch]);
        for (task, _) in &tasks {
            command.args(["--task", task]);
        }
        let lines = run(&mut command).expect(0).stdout;
        let answers: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .filter(|line| line["task"].is_object())
            .collect();
        assert_eq!(answers.len(), tasks.len() + 1, "{lines}");
        for answer in &answers {
            let task = answer["task"]["text"].as_str().unwrap_or_default();
            let known = tasks.iter().find(|(text, _)| *text == task);
            let matters = snap == 30 || known.is_none_or(|(_, matters)| *matters);
            assert_eq!(
                (reason(answer).contains(said), answer["status"] == "partial"),
                (matters, matters),
                "{answer}"
            );
            assert!(!matters || answer["bounds"] == "none", "{answer}");
            for row in rows(answer).iter().flat_map(|row| row.as_object().expect("a row").values()) {
                assert!(!matters || row["lower"].is_null() && row["upper"].is_null(), "{answer}");
            }
        }
    }
}

/// An IPv4 packet in an IPv4 packet, and one in GRE that announces a protocol other than IP.
fn tunnelled() -> [Frame; 2] {
    let inner = frame(START, 0, 6, &tcp(1000)).data.split_off(14);
    let gre = [[0, 0, 0x99, 0x99].as_slice(), &inner].concat();
    [frame(START, 0, 4, &inner), frame(START + 1, 0, 47, &gre)]
}

#[test]
fn the_outer_flow_is_not_the_answer_about_an_inner_one_that_was_cut() {
    let scratch = Scratch::new();
    let said = "the capture cut the headers of 1 packet inside a tunnel";
    let asked = "host: select src_addr, sum(total_count) as n groupby src_addr; bytes: select sum(total_byte) as n; \
                 flows: select count(*) as n; n: select sum(total_count) as n";
    for (snap, tunnel, is_cut) in [(50, "inner", true), (50, "outer", false), (99, "inner", false)] {
        let path = scratch.file("cut.pcap", cut(&tunnelled(), snap));
        let at = |name: &str| scratch.path(&format!("{snap}{tunnel}{name}"));
        let (report, kept) = (at(".json"), at("rows.parquet"));
        let files = ["--report", text(&report), "--rows", text(&kept)];
        let run = ["run", text(&path), "--tunnel", tunnel, "--json", "-q", asked];
        call(&[&run[..], &files].concat()).expect(0);
        let report = output::report(&report);
        for query in ["host", "bytes", "flows", "n", "totals"] {
            let answer = output::of_run(&report, query);
            let matters = is_cut && query != "n";
            assert_eq!(
                (reason(answer).contains(said), answer["status"] == "partial"),
                (matters, matters),
                "{answer}"
            );
        }
        let remarks = &report["packets"]["remarks"];
        let count = |name: &str| remarks.get(name).map_or(0, number);
        let expected = (u64::from(is_cut), u64::from(tunnel == "inner"));
        assert_eq!((count("inner_truncated"), count("inner_unparsed")), expected, "{remarks}");
        for (query, matters) in [("select sum(total_byte)", is_cut), ("select sum(total_count)", false)] {
            let reasons = reasons_of(&[text(&kept)], query, &[]);
            assert!(reasons.len() == 1 && reasons[0].contains(said) == matters, "{query}: {reasons:?}");
        }
    }
}

#[test]
fn frames_of_which_the_filter_cannot_decide_are_told() {
    let scratch = Scratch::new();
    let path = scratch.file("cut.pcap", cut(&frames(), 50));
    let said = "the capture cut 1 frame before what the filter reads: no flow has them";
    // The echo has no ports, those of the segments are there, and those of the datagram begin where it was cut.
    for (filter, measured, undecided) in [
        ("port 53", 0, 1),
        ("udp port 53", 0, 1),
        ("tcp port 53", 0, 0),
        ("port 80 or port 53", 3, 1),
        ("not port 80", 1, 1),
        ("udp or icmp", 2, 0),
        ("host 10.0.0.7 and port 53", 0, 0),
    ] {
        let at = |name: &str| scratch.path(&format!("{}{name}", filter.replace(' ', "_")));
        let (report, kept) = (at(".json"), at("rows.parquet"));
        let files = ["--report", text(&report), "--rows", text(&kept)];
        let asked = "n: select sum(total_count) as n; sketch: select dst_addr, sum(total_count) as n groupby dst_addr limit 9 \
                     using space_saving(memory=64KiB)";
        let run = ["run", text(&path), filter, "--every", "2s", "--json", "-q", asked];
        let lines = call(&[&run[..], &files].concat()).expect(0).stdout;
        let report = output::report(&report);
        let not_measured = &report["packets"]["not_measured"];
        let count = |name: &str| not_measured.get(name).map_or(0, number);
        assert_eq!(
            (number(&report["packets"]["measured"]), count("filter_undecided"), count("filter")),
            (measured, undecided, 5 - measured - undecided),
            "{filter}: {report}"
        );
        let answers = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let answers: Vec<Value> = answers.filter(|line| line["query"].is_string()).collect();
        assert_eq!(answers.len(), 2, "{lines}");
        for answer in &answers {
            let told = (reason(answer).contains(said), answer["status"] == "partial");
            assert_eq!(told, (undecided != 0, undecided != 0), "{filter}: {answer}");
        }
        if measured != 0 {
            let reasons = reasons_of(&[text(&kept)], "select sum(total_count)", &[]);
            assert!(
                reasons.len() == 1 && reasons[0].contains(said) == (undecided != 0),
                "{filter}: {reasons:?}"
            );
        }
    }
}

#[test]
fn windows_without_a_row_are_answered_too() {
    let scratch = Scratch::new();
    let path = scratch.file("cut.pcap", cut(&frames(), 30));
    let (rows, store) = (scratch.path("rows.parquet"), scratch.path("store"));
    let files = ["--rows", text(&rows), "--store", text(&store), "--node", "n1"];
    call(&[&["run", text(&path), "--every", "1s"], &files[..]].concat()).expect(0);
    for of in [&[text(&rows)][..], &["--store", text(&store)]] {
        for (query, more) in [
            ("select sum(total_count) as n every 1s", &[][..]),
            ("select count(*) as n", &["--per", "1s"]),
            ("select src_addr, sum(total_count) as n groupby src_addr every 1s", &[]),
        ] {
            let reasons = reasons_of(of, query, more);
            // Three frames of the first second, and two of the second one.
            let said = [3, 2].map(|frames| format!("the capture cut {frames} frames before the addresses"));
            let are_said = reasons.len() == 2
                && reasons.iter().zip(&said).all(|(reason, said)| reason.contains(said.as_str()));
            assert!(are_said, "{of:?} {query}: {reasons:?}");
        }
    }
}
