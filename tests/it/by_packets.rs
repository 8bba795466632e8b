//! Questions by fields in which the packets of one flow differ: the answers are those of a map over packets.

use crate::support::capture::{self, ETHERNET, Frame};
use crate::support::output::{self, number, rows};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
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
    data.extend([8, 0, 0x45, packet.tos, 0, 40, 0, 0, 0, 0, packet.ttl, 6, 0, 0]);
    data.extend([10, 0, 0, host(packet) as u8, 10, 0, 0, 9]);
    data.extend(packet.port.to_be_bytes().into_iter().chain([0, 80]));
    data.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, packet.flags, 16, 0, 0, 0, 0, 0]);
    Frame { time_ns: packet.time_ns, data }
}

/// The last byte of its source address: flows of several ports have one.
fn host(packet: &Packet) -> u64 {
    1 + u64::from(packet.port % 2)
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

/// Edison refuses, for a reason that has these words.
fn refused(arguments: &[&str], words: &[&str]) {
    let ended = call(arguments).expect(2);
    words.iter().for_each(|word| assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr));
    assert_eq!(ended.stdout, "");
}

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

/// A flow file tells the members of its keys: those that other files have as fields, too.
#[test]
fn a_flow_file_has_the_keys_that_its_flows_were_measured_by() {
    let scratch = Scratch::new();
    let packets = packets(11, 800);
    let frames: Vec<_> = packets.iter().map(frame).collect();
    let path = scratch.file("random.pcap", capture::pcap(ETHERNET, &frames));
    for (field, of) in &FIELDS[..2] {
        let (flows, store) = (scratch.path(&format!("{field}.parquet")), scratch.path(field));
        let key = format!("src_addr,dst_addr,src_port,dst_port,protocol,{field}");
        run(&mut edison_run(&path, &["--key", &key, "--flows", text(&flows)])).expect(0);
        let asked = format!("select {field}, sum(total_count) as n, count(*) as f groupby {field}");
        call(&["import", text(&flows), "--every", "1h", "--store", text(&store)]).expect(0);
        for from in [&[text(&flows)][..], &["--store", text(&store)]] {
            let ended = call(&[&["query"], from, &["--json", "-q", &asked]].concat()).expect(0);
            let answer = serde_json::from_str(ended.stdout.lines().next().expect("an answer")).expect("JSON");
            assert_eq!(answered(&answer, field), groups(packets.iter(), *of), "{from:?}: {answer}");
        }
    }
}

/// What some packets have of each field that changes: the least value, the greatest, and how many values; of their flows: how many there are,
/// packets of the one that has most, and of all.
#[derive(Clone, Debug, Default, PartialEq)]
struct Extremes {
    values: [BTreeSet<u64>; 4],
    flows: BTreeMap<u16, u64>,
}

impl Extremes {
    fn of<'a>(packets: impl Iterator<Item = &'a Packet>) -> BTreeMap<u64, Self> {
        let mut hosts: BTreeMap<u64, Self> = BTreeMap::new();
        for packet in packets {
            let own = hosts.entry(host(packet)).or_default();
            *own.flows.entry(packet.port).or_default() += 1;
            for (values, (_, of)) in own.values.iter_mut().zip(FIELDS) {
                values.extend(of(packet));
            }
        }
        hosts
    }

    fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.flows.extend(&other.flows);
        both.values.iter_mut().zip(&other.values).for_each(|(own, more)| own.extend(more));
        both
    }

    /// As [`COLUMNS`] have them.
    fn row(&self) -> Vec<Option<u64>> {
        let of_values =
            self.values.iter().flat_map(|values| [values.first().copied(), values.last().copied()]);
        let (flows, packets) = (self.flows.len() as u64, self.flows.values().sum());
        let most = self.flows.values().copied().max();
        of_values.chain([Some(flows), Some(packets), most, Some(self.values[0].len() as u64)]).collect()
    }
}

/// Aggregates of packets and of whole flows in one question.
const COLUMNS: [&str; 12] = [
    "min(vlan)",
    "max(vlan)",
    "min(ip_tos)",
    "max(ip_tos)",
    "min(ip_ttl)",
    "max(ip_ttl)",
    "min(tcp_flags)",
    "max(tcp_flags)",
    "count(*)",
    "sum(total_count)",
    "max(total_count)",
    "count(vlan)",
];

/// The columns of a row.
fn columns(row: &Value, columns: &[&str]) -> Vec<Option<u64>> {
    columns.iter().map(|column| (!row[*column].is_null()).then(|| number(&row[*column]))).collect()
}

#[test]
fn least_and_greatest_values_are_of_all_packets_and_totals_of_whole_flows() {
    let scratch = Scratch::new();
    let packets = packets(19, 1500);
    let path =
        scratch.file("random.pcap", capture::pcap(ETHERNET, &packets.iter().map(frame).collect::<Vec<_>>()));
    let report = scratch.path("report.json");
    let all = COLUMNS.join(", ");
    let asked = format!(
        "all: select {all}; each: select {all} every 10s; \
         by_host: select src_addr, {all} groupby src_addr; over: select src_addr, {all} groupby src_addr every 4s over 8s; \
         having: select src_addr, count(*) groupby src_addr having max(vlan) = 1234 and min(ip_ttl) > 60 order by max(ip_tos); \
         alone: select max(vlan); lone: select min(ip_ttl) every 10s; \
         five: select {all} where vlan = 5 and src_port != 1003"
    );
    for design in DESIGNS {
        let mut command =
            edison_run(&path, &["--every", "2s", "--json", "--report", text(&report), "-q", &asked]);
        let lines = run(command.args(design)).expect(0).stdout;
        let report = output::report(&report);
        let in_time = |start: u64, end: u64| {
            packets.iter().filter(move |packet| (start..end).contains(&packet.time_ns))
        };
        let check = |answer: &Value, query: &str, within: &BTreeMap<u64, Extremes>| {
            let what = format!("{design:?} {query}: {answer}");
            let whole = || within.values().fold(Extremes::default(), |sum, one| sum.with(one)).row();
            match query {
                "all" | "each" | "five" => {
                    assert_eq!(columns(&rows(answer)[0], &COLUMNS), whole(), "{what}");
                }
                "alone" => assert_eq!(columns(&rows(answer)[0], &["max(vlan)"]), whole()[1..2], "{what}"),
                "lone" => assert_eq!(columns(&rows(answer)[0], &["min(ip_ttl)"]), whole()[4..5], "{what}"),
                "by_host" | "over" => {
                    assert_eq!(rows(answer).len(), within.len(), "{what}");
                    for row in rows(answer) {
                        let name = row["src_addr"].as_str().expect("an address");
                        let of_host = &within[&name["10.0.0.".len()..].parse().expect("a host")];
                        assert_eq!(columns(row, &COLUMNS), of_host.row(), "{what}");
                    }
                }
                _ => {
                    let passing = within.iter().filter(|(_, of)| {
                        of.values[0].last() == Some(&1234) && of.values[2].first() > Some(&60)
                    });
                    // Ordered by the greatest service, then by address.
                    let mut passing: Vec<_> = passing
                        .map(|(host, of)| (of.values[1].last(), *host, of.flows.len() as u64))
                        .collect();
                    passing.sort_unstable();
                    let expected: Vec<_> =
                        passing.iter().map(|(_, host, flows)| (format!("10.0.0.{host}"), *flows)).collect();
                    let found: Vec<_> = rows(answer)
                        .iter()
                        .map(|row| {
                            (
                                row["src_addr"].as_str().expect("an address").to_owned(),
                                number(&row["count(*)"]),
                            )
                        })
                        .collect();
                    assert_eq!(found, expected, "{what}");
                }
            }
            assert_ne!(answer["status"], "partial", "{what}");
        };
        let is_five = |packet: &&Packet| packet.vlan == Some(5) && packet.port != 1003;
        let mut answered = BTreeMap::new();
        for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
            let query = line["query"].as_str().unwrap_or_default();
            if line["window"].is_null() || !line["empty"].is_null() || !asked.contains(&format!("{query}: "))
            {
                continue;
            }
            let within =
                in_time(output::time(&line["window"]["start"]), output::time(&line["window"]["end"]));
            let within = match query {
                "five" => Extremes::of(within.filter(is_five)),
                _ => Extremes::of(within),
            };
            check(&line, query, &within);
            *answered.entry(query.to_owned()).or_insert(0) += 1;
        }
        assert!(answered.len() == 8 && answered.values().all(|windows| *windows > 10), "{answered:?}");
        let (whole, five) = (Extremes::of(packets.iter()), Extremes::of(packets.iter().filter(is_five)));
        for (query, within) in
            [("all", &whole), ("by_host", &whole), ("having", &whole), ("alone", &whole), ("five", &five)]
        {
            check(output::of_run(&report, query), query, within);
        }
    }
}

#[test]
fn what_rows_by_packets_do_not_tell_is_refused_with_what_to_ask() {
    let scratch = Scratch::new();
    let packets = packets(5, 60);
    let path =
        scratch.file("random.pcap", capture::pcap(ETHERNET, &packets.iter().map(frame).collect::<Vec<_>>()));
    for (question, words) in [
        ("select avg(vlan)", ["vlan", "avg of first_vlan", "--key"]),
        (
            "select stddev(ip_ttl) as s",
            ["ip_ttl", "stddev of last_ip_ttl", "of last_ip_ttl; of whole flows it is 'select"],
        ),
        (
            "select src_addr groupby src_addr order by quantile(tcp_win, 0.5)",
            ["tcp_win", "quantile of last_tcp_win", "of last_tcp_win; of whole flows it is 'select"],
        ),
        (
            "select src_addr groupby src_addr having sum(ip_tos) > 5",
            ["ip_tos", "sum of last_ip_tos", "--key"],
        ),
        (
            "select vlan, avg(ip_ttl) groupby vlan",
            ["ip_ttl", "avg of last_ip_ttl", "of last_ip_ttl; of whole flows it is 'select"],
        ),
        ("select max(vlan) where total_count > 2", ["vlan", "total_count", "ask a query for each"]),
        ("select count(vlan) where tcp_flags = 2", ["vlan", "tcp_flags", "ask a query for each"]),
        ("select max(ip_ttl * total_count)", ["ip_ttl", "total_count", "ask a query for each"]),
        ("select max(vlan), avg(first_vlan)", ["vlan", "first_vlan", "in another one"]),
        ("select max(vlan), sum(ploss_byte)", ["vlan", "ploss_byte", "in another one"]),
    ] {
        refused(&["run", text(&path), "--loss", "-q", question], &words);
    }
    for question in ["select avg(vlan)", "select max(vlan) where total_count > 2"] {
        refused(&["check", "-q", question], &["vlan"]);
    }
    // With the field in the key it is the flow's.
    let key = "src_addr,dst_addr,protocol,src_port,dst_port,vlan";
    let report = scratch.path("report.json");
    let asked = "q: select avg(vlan) as mean, max(vlan) as most where total_count > 0";
    run(&mut edison_run(&path, &["--key", key, "--report", text(&report), "-q", asked])).expect(0);
    let flows: BTreeSet<_> = packets.iter().map(|packet| (packet.port, packet.vlan)).collect();
    let vlans: Vec<u64> = flows.iter().filter_map(|(_, vlan)| vlan.map(u64::from)).collect();
    let report = output::report(&report);
    let row = &rows(output::of_run(&report, "q"))[0];
    let mean = vlans.iter().sum::<u64>() as f64 / vlans.len() as f64;
    assert!((row["mean"].as_f64().expect("a mean") - mean).abs() < 1e-9, "{row}");
    assert_eq!(Some(number(&row["most"])), vlans.iter().copied().max());
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
    let either = "select sum(total_count) where vlan = 5 or total_count > 100";
    refused(&["run", text(&path), "-q", either], &["vlan", "total_count"]);
    let lost = "select vlan, sum(ploss_byte) groupby vlan";
    refused(&["run", text(&path), "--loss", "-q", lost], &["ploss_byte", "vlan"]);
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
        for question in [
            "select sum(total_count) where vlan = 5",
            "select count(vlan)",
            "select max(vlan)",
            "select src_addr, min(vlan), sum(total_count) groupby src_addr",
            "select sum(total_count) as n having min(vlan) = 5",
            "select src_addr groupby src_addr order by max(vlan)",
            "select max(vlan) every 10s",
            "select avg(vlan)",
            "select quantile(vlan, 0.5), stddev(vlan), sum(vlan)",
        ] {
            refused(&["query", text(&flows), question], &["vlan", "first_vlan", "--key"]);
        }
        let answer = asked("select max(first_vlan) as v, min(last_ip_tos) as s, avg(last_ip_tos) as m");
        let row = &rows(&answer)[0];
        assert_eq!(
            (&row["v"], number(&row["s"]), row["m"].as_f64()),
            (&Value::Null, 184, Some(184.0)),
            "{answer}"
        );
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
    // In one window the first packet is that of the record that has ended.
    let (window_rows, store) = (scratch.path("rows.parquet"), scratch.path("store"));
    let kept = ["--every", "1h", "--rows", text(&window_rows), "--store", text(&store)];
    run(&mut edison_run(&path, &kept)).expect(0);
    let asked = "select first_vlan, sum(total_count) as n, count(*) as f groupby first_vlan";
    for from in [&[text(&window_rows)][..], &["--store", text(&store)]] {
        let shown = run(edison().arg("query").args(from).args(["--json", asked])).expect(0).stdout;
        let answer: Value = serde_json::from_str(shown.trim()).expect("one answer");
        assert_eq!(answered(&answer, "first_vlan"), Groups::from([(None, (2, 1))]), "{from:?}");
    }
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

/// The key that flows were measured with is known of a file in each format, and of several files the members that all keys have.
#[test]
fn files_tell_whether_vlan_and_tos_are_of_the_key() {
    let scratch = Scratch::new();
    let packet = |at: u64, vlan, tos| {
        frame(&Packet { time_ns: START + at * SECOND, port: 1000, vlan, tos, ttl: 64, flags: 16 })
    };
    let packets = [packet(0, None, 0), packet(1, Some(5), 184), packet(2, Some(5), 0), packet(3, None, 0)];
    let path = scratch.file("keys.pcap", capture::pcap(ETHERNET, &packets));
    let plain = "src_addr,dst_addr,protocol,src_port,dst_port";
    let ask = |files: &[&Path], question: &str| {
        let files: Vec<&str> = files.iter().map(|file| text(file)).collect();
        let shown = call(&[&["query"], &files[..], &["--json", question]].concat()).expect(0).stdout;
        serde_json::from_str::<Value>(shown.trim()).expect("one answer")
    };
    let of_vlan = Groups::from([(None, (2, 1)), (Some(5), (2, 1))]);
    let of_tos = Groups::from([(Some(0), (3, 1)), (Some(184), (1, 1))]);
    let by = |field: &str| format!("select {field}, sum(total_count) as n, count(*) as f groupby {field}");
    for suffix in ["csv", "jsonl", "ipfix", "parquet"] {
        let written = |name: &str, key: &str| {
            let file = scratch.path(&format!("{name}.{suffix}"));
            run(&mut edison_run(&path, &["--key", key, "--flows", text(&file)])).expect(0);
            file
        };
        let whole = written("plain", plain);
        assert_eq!(number(&rows(&ask(&[&whole], "select count(*) as f"))[0]["f"]), 1, "{suffix}");
        refused(&["query", text(&whole), "select count(*) where vlan = 5"], &["vlan", "first_vlan", "--key"]);
        refused(&["query", text(&whole), "select max(ip_tos)"], &["ip_tos", "last_ip_tos", "--key"]);
        let tagged = written("vlan", &format!("{plain},vlan"));
        let answer = ask(&[&tagged], &by("vlan"));
        assert_eq!(answered(&answer, "vlan"), of_vlan, "{suffix}: {answer}");
        assert_eq!(number(&rows(&ask(&[&tagged], "select count(*) as f"))[0]["f"]), 2, "{suffix}");
        let marked = written("tos", &format!("{plain},ip_tos"));
        let answer = ask(&[&marked], &by("ip_tos"));
        assert_eq!(answered(&answer, "ip_tos"), of_tos, "{suffix}: {answer}");
        // Flows of several keys are told apart by what all keys have, and what counts flows says so.
        let answer = ask(&[&tagged, &marked], "select count(*) as f");
        assert_eq!(number(&rows(&answer)[0]["f"]), 1, "{suffix}: {answer}");
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("the files are of different keys"), "{suffix}: {answer}");
        let answer = ask(&[&tagged, &marked], "select sum(total_count) as n");
        assert_eq!(
            (number(&rows(&answer)[0]["n"]), &answer["reason"]),
            (8, &Value::Null),
            "{suffix}: {answer}"
        );
    }
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
