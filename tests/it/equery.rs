//! The rules of Equery as text: each file of `tests/equery` states a rule, packets, queries, and their answers.
//!
//! `EDISON_REWRITE=1 cargo test --test it equery::` writes the answers that the program gives into the files. A file has sections, each after
//! a line that begins with `== `: `packets` (time in seconds, source, destination, protocol, ports, length of the IP packet, then
//! `flags=`, `vlan=`, `ttl=`, `win=` where they matter), or `packets of FILE`, or `packets at NODE` of each of several nodes; `options`, and any number of `query` and `answer`.

use crate::support::capture::{self, Frame};
use crate::support::output;
use crate::support::program::{Ended, call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::fmt::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Midnight, a multiple of all windows: 2026-01-01.
const START: u64 = 1_767_225_600;
const SECOND: u64 = 1_000_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/equery")
}

/// A section: its heading and its lines.
type Section = (String, String);

/// The text before the first section, and the sections.
fn sections(text: &str) -> (String, Vec<Section>) {
    let mut parts = text.split("\n== ");
    let head = parts.next().unwrap_or_default().to_owned() + "\n";
    let section = |part: &str| {
        let (heading, lines) = part.split_once('\n').unwrap_or((part, ""));
        (heading.trim().to_owned(), lines.trim_end().to_owned() + "\n")
    };
    (head, parts.map(section).collect())
}

/// One packet of a line, as an Ethernet frame.
fn frame(line: &str) -> Frame {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_else(|| panic!("a packet lacks a word: {line}"));
    let seconds: f64 = word().parse().expect("a time");
    let [src, dst]: [IpAddr; 2] = [word(), word()].map(|address| address.parse().expect("an address"));
    let protocol: u8 = match word() {
        "tcp" => 6,
        "udp" => 17,
        "icmp" => 1,
        other => other.parse().expect("a protocol"),
    };
    let [from, to, length]: [u16; 3] =
        [word(), word(), word()].map(|number| number.parse().expect("a number"));
    let (mut flags, mut vlan, mut ttl, mut win) = (16_u8, None, 64_u8, 1000_u16);
    for option in words {
        let (name, value) = option.split_once('=').unwrap_or_else(|| panic!("{option} has no value: {line}"));
        let number: u16 = value.parse().expect("a number");
        match name {
            "flags" => flags = number as u8,
            "vlan" => vlan = Some(number),
            "ttl" => ttl = number as u8,
            "win" => win = number,
            other => panic!("{other}: {line}"),
        }
    }
    let mut data = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if let Some(vlan) = vlan {
        data.extend([0x81, 0]);
        data.extend(vlan.to_be_bytes());
    }
    let header = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            data.extend([8, 0, 0x45, 0]);
            data.extend(length.to_be_bytes());
            data.extend([0, 0, 0, 0, ttl, protocol, 0, 0]);
            data.extend(src.octets().into_iter().chain(dst.octets()));
            20
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            data.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            data.extend((length - 40).to_be_bytes());
            data.extend([protocol, ttl]);
            data.extend(src.octets().into_iter().chain(dst.octets()));
            40
        }
        _ => panic!("two families: {line}"),
    };
    let mut payload: Vec<u8> = [from.to_be_bytes(), to.to_be_bytes()].concat();
    match protocol {
        6 => {
            payload.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags]);
            payload.extend(win.to_be_bytes());
            payload.extend([0; 4]);
        }
        17 => payload.extend((length - header).to_be_bytes().into_iter().chain([0, 0])),
        1 => payload = vec![(to >> 8) as u8, to as u8, 0, 0, 0, 0, 0, 0],
        _ => {}
    }
    payload.resize(usize::from(length - header), 0);
    data.extend(payload);
    Frame { time_ns: START * SECOND + (seconds * 1e9).round() as u64, data }
}

fn packets(lines: &str) -> Vec<Frame> {
    lines.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(frame).collect()
}

/// What the program answers, as readable lines. `has_nodes`: they say of which node they are.
fn shown(ended: &Ended, has_nodes: bool) -> String {
    let mut text = String::new();
    // A crash is no answer, also where answers are rewritten.
    assert!(ended.signal.is_none() && !ended.stderr.contains("panicked"), "{ended:?}");
    let has_errors = ended.stderr.contains("edison: error: ");
    assert_eq!(ended.code, Some(if has_errors { 2 } else { 0 }), "{ended:?}");
    let said = ended.stderr.lines().filter_map(|line| line.strip_prefix("edison: "));
    said.for_each(|line| writeln!(text, "! {line}").expect("a text"));
    for line in ended.stdout.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer.get("kind").is_some() {
            writeln!(text, "{}", event(&answer)).expect("a text");
            continue;
        }
        let span = |value: &Value| {
            let at = |end: &str| (output::time(&value[end]) as f64 - (START * SECOND) as f64) / 1e9;
            format!("{} to {} s", at("start"), at("end"))
        };
        let node = match answer["node"].as_str() {
            _ if !has_nodes => String::new(),
            Some(node) => format!(" on {node}"),
            None => " on all nodes".to_owned(),
        };
        let mut head =
            format!("{}{node}: {}", answer["query"].as_str().expect("a name"), span(&answer["window"]));
        if answer["status"] != "complete" {
            head += &format!(", {}", answer["status"].as_str().expect("a status"));
        }
        if let Some(watched) = answer.get("watched") {
            head += &format!(", watched {}", span(watched));
        }
        for member in ["empty", "reason"] {
            if let Some(value) = answer.get(member) {
                head += &format!(", {member} {value}");
            }
        }
        if answer["bounds"] != "exact" {
            head += &format!(", bounds {}", answer["bounds"]);
        }
        writeln!(text, "{head}").expect("a text");
        for row in answer["rows"].as_array().expect("rows") {
            let cells = row.as_object().expect("a row").iter();
            let cells: Vec<_> = cells.map(|(name, value)| format!("{name} = {value}")).collect();
            writeln!(text, "    {}", cells.join(", ")).expect("a text");
        }
        if answer["rest"]["groups"] != 0 {
            writeln!(text, "    rest {}", answer["rest"]).expect("a text");
        }
    }
    text
}

/// An event as a readable line.
fn event(event: &Value) -> String {
    let at = (output::time(&event["at"]) as f64 - (START * SECOND) as f64) / 1e9;
    let members = |of: &str| {
        let members = event[of].as_object().expect("an object").iter();
        members.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    };
    let text = |member: &str| event[member].as_str().unwrap_or("nothing").to_owned();
    let key = members("key");
    let key = if key.is_empty() { key } else { format!(" for {key}") };
    let (values, parent) = (members("values"), if event["parent"].is_null() { "" } else { ", in a chain" });
    let cause = if event["fired_by"].is_null() {
        String::new()
    } else {
        format!(" by {}: {values}", text("fired_by"))
    };
    format!("* {at} s: {} {}{key}{cause}{parent}", text("query"), text("kind"))
}

/// Runs the queries of a file; its text with the answers that the program gives.
fn answered(path: &Path, scratch: &Scratch) -> (String, String) {
    let original = std::fs::read_to_string(path).expect("a readable file");
    let (head, sections) = sections(&original);
    let (mut capture, mut options, mut query) = (None, String::new(), String::new());
    let mut nodes: Vec<(String, PathBuf)> = Vec::new();
    let mut text = head.trim_end().to_owned() + "\n";
    for (heading, lines) in sections {
        let mut lines = lines;
        match heading.as_str() {
            "packets" => {
                capture = Some(scratch.file("t.pcap", capture::pcap(capture::ETHERNET, &packets(&lines))))
            }
            "options" => options = lines.trim().to_owned(),
            "query" => query = lines.clone(),
            "answer" => {
                let file = scratch.file("q.eq", query.clone().into_bytes());
                let mut command = edison();
                command.current_dir(file.parent().expect("a folder")).arg("run");
                if nodes.is_empty() {
                    command.arg(capture.as_ref().unwrap_or_else(|| panic!("{}: no packets", path.display())));
                    if !options.contains("--node") {
                        command.args(["--node", "here"]);
                    }
                }
                command.args(nodes.iter().map(|(node, path)| format!("{node}={}", path.display())));
                command.args(["--json", "-f", "q.eq"]).args(options.split_whitespace());
                // A question without `every` is answered in windows of the usual length.
                if !options.contains("--every") && !query.contains("every") {
                    command.args(["--every", "10s"]);
                }
                lines = shown(&run(&mut command), !nodes.is_empty());
            }
            node if node.starts_with("packets at ") => {
                let node = node["packets at ".len()..].to_owned();
                nodes.retain(|(known, _)| *known != node);
                let bytes = capture::pcap(capture::ETHERNET, &packets(&lines));
                nodes.push((node.clone(), scratch.file(&format!("{node}.pcap"), bytes)));
            }
            shared => {
                let name =
                    shared.strip_prefix("packets of ").unwrap_or_else(|| panic!("{shared}: no section"));
                let other = std::fs::read_to_string(folder().join(name)).expect("a shared file");
                let (_, others) = self::sections(&other);
                let (_, own) = others.iter().find(|(heading, _)| heading == "packets").expect("its packets");
                capture = Some(scratch.file("t.pcap", capture::pcap(capture::ETHERNET, &packets(own))));
            }
        }
        let lines = lines.trim_end();
        text += &format!("\n== {heading}\n{lines}{}", if lines.is_empty() { "" } else { "\n" });
    }
    (original, text)
}

#[test]
fn answers_are_those_of_the_files() {
    let rewrites = std::env::var_os("EDISON_REWRITE").is_some();
    let mut paths: Vec<_> = std::fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() > 20, "{paths:?}");
    let mut wrong = Vec::new();
    for path in paths {
        let (original, text) = answered(&path, &Scratch::new());
        if rewrites {
            std::fs::write(&path, text).expect("a writable file");
        } else if original != text {
            wrong.push(format!("{}\n--- in the file\n{original}\n--- answered\n{text}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "EDISON_REWRITE=1 writes what the program answers:\n{}", wrong.join("\n"));
}

/// The reference's examples: each block of ```` ```equery ```` is run, each of ```` ```equery check ```` is checked.
#[test]
fn examples_of_the_reference_run() {
    let scratch = Scratch::new();
    let path = scratch.path("t.pcap");
    let spec = "packets=20k,flows=1k,rate=1k,ipv6=20%,tcp=handshake,plant=flood";
    call(&["generate", text(&path), spec]).expect(0);
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/equery.md");
    let reference = std::fs::read_to_string(reference).expect("the reference");
    let mut examples = 0;
    for block in reference.split("\n```equery").skip(1) {
        let (kind, rest) = block.split_once('\n').expect("a block");
        let (example, _) = rest.split_once("\n```").expect("its end");
        let file = scratch.file("example.eq", example.to_owned().into_bytes());
        let ended = match kind.trim() {
            "check" => call(&["check", text(&file), "--set", "K1=10K"]),
            "" => call(&["run", text(&path), "--json", "--node", "Node1", "-f", text(&file)]),
            other => panic!("a block of {other}"),
        };
        assert_eq!(ended.code, Some(0), "{example}\n{}", ended.stderr);
        examples += 1;
    }
    assert!(examples > 10, "{examples}");
}

/// Both examples of the paper, section II.C, as printed: the nodes, the commas, and the colons that end q2 and q3.
#[test]
fn the_papers_examples_pass_as_printed() {
    let of = |node: &str| {
        format!(
            "where src_addr=10.0.0.1, dst_addr=10.0.0.2, src_port=22, dst_port=33, protocol=TCP, node_id={node}"
        )
    };
    let (one, two) = (of("Node1"), of("Node2"));
    let second = format!(
        "q1: select ploss_byte {one};\nq2: select total_byte {one} when q1.ploss_byte > K1:\n\
         q3: select total_byte {two} when q2.total_byte < K2:\nq4: select tcp_win {two} when q3.total_byte < K3;\n"
    );
    let scratch = Scratch::new();
    let first = "q1: select count(src_addr), dst_addr groupby dst_addr where node_id=NodeX;\n";
    let first = scratch.file("first.eq", first.as_bytes());
    let second = scratch.file("second.eq", second.into_bytes());
    call(&["check", text(&first), text(&second), "--set", "K1=10K", "--set", "K2=20K", "--set", "K3=1"])
        .expect(0);
    call(&["check", text(&first)]).expect(0);
    let undefined = call(&["check", text(&second)]).expect(2);
    for said in ["'K1' is neither", "--set K1=", "'K2' is neither", "'K3' is neither", "warning: ':'"] {
        assert!(undefined.stderr.contains(said), "{said}: {undefined:?}");
    }
}

/// Every field that a query may name is in the reference, or in the table that it refers to.
#[test]
fn the_reference_has_every_derived_field() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/equery.md");
    let reference = std::fs::read_to_string(reference).expect("the reference");
    for field in flow::DERIVED {
        assert!(reference.contains(&format!("| `{}` |", field.name)), "{}", field.name);
    }
}
