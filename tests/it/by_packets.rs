//! Questions by fields in which the packets of one flow differ: the answers are those of a map over packets.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number, rows};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const SECOND: u64 = 1_000_000_000;
/// A multiple of all windows here.
const START: u64 = 1_700_000_400 * SECOND;

/// A packet as tshark would tell it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    time_ns: u64,
    port: u16,
    vlan: Option<u16>,
    tos: u8,
    ttl: u8,
    flags: u8,
}

/// Packets of few flows, each of any VLAN, service, time to live and flags, with pauses longer than the idle timeout.
fn packets(seed: u64, count: u64) -> Vec<Packet> {
    let mut state = seed;
    let mut below = move |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut time_ns = START;
    let mut packet = |_| {
        time_ns += below(200_000_000) + if below(150) == 0 { 45 * SECOND } else { 0 };
        Packet {
            time_ns,
            port: 1000 + below(5) as u16,
            vlan: [None, Some(5), Some(6), Some(1234)][below(4) as usize],
            tos: [0, 184, 40][below(3) as usize],
            ttl: 60 + below(3) as u8,
            flags: [2, 16, 24, 17][below(4) as usize],
        }
    };
    (0..count).map(&mut packet).collect()
}

fn frame(packet: &Packet) -> Frame {
    let mut data = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if let Some(vlan) = packet.vlan {
        data.extend([0x81, 0]);
        data.extend(vlan.to_be_bytes());
    }
    data.extend([8, 0, 0x45, packet.tos, 0, 40, 0, 0, 0, 0, packet.ttl, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    data.extend(packet.port.to_be_bytes().into_iter().chain([0, 80]));
    data.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, packet.flags, 16, 0, 0, 0, 0, 0]);
    Frame { time_ns: packet.time_ns, data }
}

/// Packets and flows by a value, which is null without one.
type Groups = BTreeMap<Option<u64>, (u64, u64)>;

fn groups<'a>(packets: impl Iterator<Item = &'a Packet>, of: fn(&Packet) -> Option<u64>) -> Groups {
    let mut counts: BTreeMap<Option<u64>, (u64, BTreeSet<u16>)> = BTreeMap::new();
    for packet in packets {
        let (count, flows) = counts.entry(of(packet)).or_default();
        *count += 1;
        flows.insert(packet.port);
    }
    counts.into_iter().map(|(value, (count, flows))| (value, (count, flows.len() as u64))).collect()
}

fn answered(answer: &Value, column: &str) -> Groups {
    let row = |row: &Value| {
        let value = (!row[column].is_null()).then(|| number(&row[column]));
        (value, (number(&row["n"]), number(&row["f"])))
    };
    let found: Groups = rows(answer).iter().map(row).collect();
    assert_eq!(found.len(), rows(answer).len(), "{answer}");
    found
}

/// A field of packets: its name, and its value.
type Changing = (&'static str, fn(&Packet) -> Option<u64>);

const FIELDS: [Changing; 4] = [
    ("vlan", |packet| packet.vlan.map(u64::from)),
    ("ip_tos", |packet| Some(packet.tos.into())),
    ("ip_ttl", |packet| Some(packet.ttl.into())),
    ("tcp_flags", |packet| Some(packet.flags.into())),
];

const DESIGNS: [&[&str]; 6] = [
    &[],
    &["--design", "1x2"],
    &["--design", "1x4"],
    &["--design", "sync", "--cores", "2"],
    &["--design", "1x2", "--split", "position", "--active-timeout", "off", "--idle-timeout", "off"],
    &["--design", "1x2", "--state", "shared", "--active-timeout", "off", "--idle-timeout", "off"],
];

fn edison_run(path: &std::path::Path, options: &[&str]) -> Command {
    let mut command = edison();
    command.arg("run").arg(path).args(options);
    command
}

#[test]
fn groups_are_those_of_a_map_over_packets_in_every_design_and_window() {
    let scratch = Scratch::new();
    let packets = packets(7, 1500);
    let path =
        scratch.file("random.pcap", capture::pcap(ETHERNET, &packets.iter().map(frame).collect::<Vec<_>>()));
    let report = scratch.path("report.json");
    let asked: String = FIELDS
        .iter()
        .map(|(field, _)| {
            format!("{field}s: select {field}, sum(total_count) as n, count(*) as f groupby {field}; \
                     {field}_each: select {field}, sum(total_count) as n, count(*) as f groupby {field} every 10s; ")
        })
        .collect();
    // Another question of the same run is not changed by it.
    let asked = asked + "sources: select src_port, sum(total_count) as n, count(*) as f groupby src_port";
    for design in DESIGNS {
        let mut command =
            edison_run(&path, &["--every", "2s", "--json", "--report", text(&report), "-q", &asked]);
        let lines = run(command.args(design)).expect(0).stdout;
        let report = output::report(&report);
        for (field, of) in FIELDS {
            let query = format!("{field}s");
            let what = format!("{design:?} {field}");
            let whole = groups(packets.iter(), of);
            assert_eq!(answered(output::of_run(&report, &query), field), whole, "{what}");
            for (query, length) in [(query, 2 * SECOND), (format!("{field}_each"), 10 * SECOND)] {
                let mut seen = 0;
                for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
                    if line["query"] != query.as_str() || line["window"].is_null() || !line["empty"].is_null()
                    {
                        continue;
                    }
                    let start = output::time(&line["window"]["start"]);
                    let within = packets.iter().filter(|packet| packet.time_ns / length == start / length);
                    let within = groups(within, of);
                    seen += within.values().map(|(packets, _)| packets).sum::<u64>();
                    assert_eq!(answered(&line, field), within, "{what}: {line}");
                    assert_ne!(line["status"], "partial", "{what}: {line}");
                }
                assert_eq!(seen, packets.len() as u64, "{what}: {query}");
            }
        }
        let ports = groups(packets.iter(), |packet| Some(packet.port.into()));
        assert_eq!(answered(output::of_run(&report, "sources"), "src_port"), ports, "{design:?}");
    }
}

#[test]
fn filters_and_distinct_values_are_of_packets() {
    let scratch = Scratch::new();
    let packets = packets(11, 900);
    let path =
        scratch.file("random.pcap", capture::pcap(ETHERNET, &packets.iter().map(frame).collect::<Vec<_>>()));
    let report = scratch.path("report.json");
    let one = |query: &str| -> Value {
        run(&mut edison_run(&path, &["--report", text(&report), "-q", &format!("q: {query}")])).expect(0);
        output::of_run(&output::report(&report), "q").clone()
    };
    let in_two = |packet: &&Packet| matches!(packet.vlan, Some(5 | 6));
    // A flow with packets in both VLANs is one flow.
    let answer = one(
        "select src_port, sum(total_count) as n, count(*) as f where vlan in (5, 6) groupby src_port limit 99",
    );
    let expected = groups(packets.iter().filter(in_two), |packet| Some(packet.port.into()));
    assert_eq!(answered(&answer, "src_port"), expected);
    let answer = one(
        "select sum(total_count) as n, count(*) as f where vlan is null and ip_tos = 184 and src_port = 1002",
    );
    let untagged = packets
        .iter()
        .filter(|packet| packet.vlan.is_none() && packet.tos == 184 && packet.port == 1002)
        .count();
    assert_eq!((number(&rows(&answer)[0]["n"]), number(&rows(&answer)[0]["f"])), (untagged as u64, 1));
    let answer = one("select count(vlan) as vlans, count(ip_ttl) as ttls");
    assert_eq!((number(&rows(&answer)[0]["vlans"]), number(&rows(&answer)[0]["ttls"])), (3, 3));
    // What the packets of a flow that pass have together is a flow's.
    let answer = one(
        "select src_port, total_count as n where vlan = 5 and total_count > 1 order by src_port limit 99",
    );
    let of_five =
        groups(packets.iter().filter(|packet| packet.vlan == Some(5)), |packet| Some(packet.port.into()));
    let found: Vec<_> =
        rows(&answer).iter().map(|row| (Some(number(&row["src_port"])), number(&row["n"]))).collect();
    let expected: Vec<_> = of_five.into_iter().map(|(port, (packets, _))| (port, packets)).collect();
    assert_eq!(found, expected);
    // Both in one condition that is not joined by and: neither reading would be right.
    call(&["run", text(&path), "-q", "select sum(total_count) where vlan = 5 or total_count > 100"])
        .says(2, &["vlan", "total_count"]);
    call(&["run", text(&path), "--loss", "-q", "select vlan, sum(ploss_byte) groupby vlan"])
        .says(2, &["ploss_byte", "vlan"]);
    // Flags that any packet of a flow had are the flow's: no flow here has SYN alone.
    let answer = one("select count(*) as f where tcp_flags = 2");
    assert_eq!(number(&rows(&answer)[0]["f"]), 0);
}

#[test]
fn a_question_by_packets_changes_no_record_and_no_other_answer() {
    let scratch = Scratch::new();
    let packets = packets(3, 700);
    let path =
        scratch.file("random.pcap", capture::pcap(ETHERNET, &packets.iter().map(frame).collect::<Vec<_>>()));
    let written = |name: &str, asked: &str| {
        let (flows, report) = (scratch.path(name), scratch.path("report.json"));
        let other =
            "h: select src_port, count(*) as f, sum(total_count) as n, max(duration) as d groupby src_port; ";
        let asked = format!("{other}{asked}");
        run(&mut edison_run(&path, &["--flows", text(&flows), "--report", text(&report), "-q", &asked]))
            .expect(0);
        let report = output::report(&report);
        (std::fs::read_to_string(&flows).expect("written"), rows(output::of_run(&report, "h")).to_vec())
    };
    let plain = written("plain.csv", "");
    let with = written("with.csv", "v: select vlan, sum(total_count) groupby vlan");
    assert_eq!(plain, with);
    assert!(plain.0.lines().count() > 5 + 1, "flows that pause have several records");
}

#[test]
fn recorded_flows_say_of_which_packet_a_value_is() {
    let scratch = Scratch::new();
    let untagged = Packet { time_ns: START, port: 1000, vlan: None, tos: 0, ttl: 64, flags: 16 };
    let tagged = Packet { time_ns: START + 40 * SECOND, vlan: Some(5), tos: 184, ..untagged };
    let path = scratch.file("two.pcap", capture::pcap(ETHERNET, &[frame(&untagged), frame(&tagged)]));
    let flows = scratch.path("two.parquet");
    for timeouts in [&[][..], &["--idle-timeout", "off", "--active-timeout", "off"]] {
        run(edison_run(&path, &["--flows", text(&flows)]).args(timeouts)).expect(0);
        let asked = |question: &str| {
            let shown = call(&["query", text(&flows), "--json", question]).expect(0).stdout;
            serde_json::from_str::<Value>(shown.trim()).expect("one answer")
        };
        // Merged rows have the first packet's VLAN, which is none, and the last packet's service.
        let answer = asked("select vlan, sum(total_count) as n, count(*) as f groupby vlan");
        assert_eq!(answered(&answer, "first_vlan"), Groups::from([(None, (2, 1))]), "{answer}");
        let answer = asked("select ip_tos, sum(total_count) as n, count(*) as f groupby ip_tos");
        assert_eq!(answered(&answer, "last_ip_tos"), Groups::from([(Some(184), (2, 1))]), "{answer}");
        let answer = asked("select sum(total_count) as n, count(*) as f where first_vlan is null");
        assert_eq!((number(&rows(&answer)[0]["n"]), number(&rows(&answer)[0]["f"])), (2, 1), "{answer}");
        for question in ["select sum(total_count) where vlan = 5", "select count(vlan)"] {
            call(&["query", text(&flows), question]).says(2, &["vlan", "first_vlan", "--key"]);
        }
    }
    // By packets there is one in each; over the run the flow's first packet has none.
    let report = scratch.path("report.json");
    let asked = "v: select vlan, sum(total_count) as n, count(*) as f groupby vlan; \
                 w: select first_vlan, sum(total_count) as n, count(*) as f groupby first_vlan";
    run(&mut edison_run(&path, &["--report", text(&report), "-q", asked])).expect(0);
    let report = output::report(&report);
    let expected = Groups::from([(None, (1, 1)), (Some(5), (1, 1))]);
    assert_eq!(answered(output::of_run(&report, "v"), "vlan"), expected);
    assert_eq!(answered(output::of_run(&report, "w"), "first_vlan"), Groups::from([(None, (2, 1))]));
    // Rows whose key has the field are by it, and there is nothing to say.
    let (keyed, key) = (scratch.path("keyed.parquet"), "src_addr,dst_addr,protocol,src_port,dst_port,vlan");
    run(&mut edison_run(&path, &["--key", key, "--rows", text(&keyed)])).expect(0);
    let shown = call(&[
        "query",
        text(&keyed),
        "--json",
        "select vlan, sum(total_count) as n, count(*) as f groupby vlan",
    ]);
    let answer: Value = serde_json::from_str(shown.expect(0).stdout.trim()).expect("one answer");
    assert_eq!(answered(&answer, "vlan"), expected);
}

#[test]
fn packets_without_room_are_named_and_filters_do_not_claim_them() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=60k,flows=40k");
    let report = scratch.path("report.json");
    let asked = "v: select vlan, sum(total_count) as n, count(*) as f groupby vlan; \
                 t: select sum(total_count) as n where ip_ttl > 0; a: select sum(total_count) as n";
    let options = ["--memory", "64MiB", "--every", "1min", "--report", text(&report), "-q", asked];
    run(&mut edison_run(&made.path, &options)).expect(0);
    let report = output::report(&report);
    let whole = number(&report["packets"]["measured"]);
    assert_eq!(number(&rows(output::of_run(&report, "a"))[0]["n"]), whole, "others have all");
    let groups = output::of_run(&report, "v");
    let listed: u64 = rows(groups).iter().map(|row| number(&row["n"])).sum();
    assert!(0 < listed && listed < whole, "{groups}");
    assert_eq!(listed + number(&groups["rest"]["n"]), whole, "{groups}");
    // Which of them pass is not known: what is counted is the least.
    let filtered = output::of_run(&report, "t");
    assert!((1..whole).contains(&number(&rows(filtered)[0]["n"])), "{filtered}");
    for answer in [groups, filtered] {
        assert_eq!((&answer["status"], &answer["bounds"]), (&"partial".into(), &"none".into()), "{answer}");
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains("no place")), "{answer}");
    }
}
