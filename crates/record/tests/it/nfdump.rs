//! Debian's collector, `nfcapd`, takes what is exported over UDP; `nfdump` then reports the same totals.

use crate::sample;
use crate::tool;
use flow::{EndReason, FlowRecord, More};
use packet::FlowKey;
use record::{Collector, MeasurementTotals, Patience, RecordContents, Selection, export};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A collector that is stopped in any case.
struct Nfcapd {
    child: Child,
    directory: tool::Directory,
    port: u16,
}

impl Nfcapd {
    fn start(name: &str) -> Self {
        let directory = tool::Directory::new(name);
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("nfcapd")
            .args(["-b", "127.0.0.1", "-p", &port.to_string(), "-t", "3600", "-B", "4000000", "-w"])
            .arg(directory.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(directory.path("log")).unwrap())
            .spawn()
            .unwrap();
        let collector = Self { child, directory, port };
        // It listens once no other process can bind the port.
        let began = Instant::now();
        while UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            assert!(began.elapsed() < Duration::from_secs(60), "nfcapd does not start: {}", collector.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        collector
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path("log")).unwrap_or_default()
    }

    /// Ends it and returns what `nfdump -I` reports of its file.
    fn totals(mut self) -> HashMap<String, u64> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        self.child.wait().unwrap();
        let names = self.directory.names();
        let files: Vec<_> = names.iter().filter(|name| name.starts_with("nfcapd.20")).collect();
        assert_eq!(files.len(), 1, "{names:?}: {}", self.log());
        totals(&self.directory.path(files[0]))
    }
}

impl Drop for Nfcapd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn totals(file: &Path) -> HashMap<String, u64> {
    let output = Command::new("nfdump").arg("-I").arg("-r").arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?))).collect()
}

/// Flows as networks have them: both families, protocols with and without ports, some tagged.
fn flows(n: u64) -> Vec<FlowRecord> {
    let flow = |i: u64| {
        let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (source, destination) = match i % 4 {
            0 => (Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(x)).into(), Ipv6Addr::LOCALHOST.into()),
            _ => (IpAddr::from(Ipv4Addr::from_bits(x as u32)), Ipv4Addr::from_bits((x >> 32) as u32).into()),
        };
        let protocol = [6, 17, 1, 47][(i % 4) as usize];
        let ports = if protocol == 47 { (0, 0) } else { ((x >> 16) as u16, 443) };
        let start = 1_700_000_000_000_000_000 + x % 3_000_000_000_000;
        FlowRecord {
            // What arrived when the table was full.
            key: (i != 77).then(|| FlowKey::five_tuple((source, ports.0), (destination, ports.1), protocol)),
            total_count: x % 1000 + 1,
            total_byte: x % 1_000_000 + 40,
            wire_byte: x % 1_000_000 + 54,
            tcp_seq: x as u32,
            tcp_ack: 1,
            tcp_win: 2,
            vlan: i.is_multiple_of(3).then_some(100),
            smac: [2, 0, 0, 0, 0, 1],
            dmac: [2, 0, 0, 0, 0, 2],
            tcp_flags: 0x1b,
            ip_ttl: 64,
            ip_tos: 8,
            end_reason: EndReason::Idle,
            ..FlowRecord::without_packets(start, start + x % 90_000_000_000)
        }
    };
    (0..n).map(flow).collect()
}

fn send(collector: &Nfcapd, records: &[FlowRecord], parts: &RecordContents) {
    let to: Collector = format!("ipfix://127.0.0.1:{}", collector.port).parse().unwrap();
    let mut writer = export(&to, "probe-1", &Selection::new(parts), Patience::ForPace).unwrap();
    for batch in records.chunks(4096) {
        writer.write(batch).unwrap();
    }
    writer.account(&MeasurementTotals { time_ns: 0, received: 5, measured: 4, lost: Some(1) }).unwrap();
    let delivery = writer.finish().unwrap();
    assert_eq!((delivery.dropped, &delivery.warnings[..]), (0, &[][..]));
}

#[test]
fn nfdump_has_the_same_totals() {
    if !tool::is_there("nfcapd") || !tool::is_there("nfdump") {
        return;
    }
    let records = flows(20_000);
    // A datagram may find the collector's buffer full on a loaded machine: all must arrive once in a few times.
    let mut tries = (0..5).map(|_| {
        let collector = Nfcapd::start("nfcapd");
        send(&collector, &records, &RecordContents::default());
        collector.totals()
    });
    let totals = tries.find(|totals| totals["Flows"] == 20_000).expect("all flows");
    let sum = |of: fn(&FlowRecord) -> u64| records.iter().map(of).sum::<u64>();
    assert_eq!(totals["Packets"], sum(|record| record.total_count));
    assert_eq!(totals["Bytes"], sum(|record| record.total_byte));
    let of_protocol = |number: u8| {
        let is = move |record: &&FlowRecord| record.key.and_then(|key| key.protocol) == Some(number);
        let of = || records.iter().filter(is);
        (of().count() as u64, of().map(|record| record.total_count).sum(), of().map(|r| r.total_byte).sum())
    };
    for (name, number) in [("tcp", 6), ("udp", 17), ("icmp", 1)] {
        let said = ["Flows", "Packets", "Bytes"].map(|what| totals[&format!("{what}_{name}")]);
        assert_eq!((said[0], said[1], said[2]), of_protocol(number), "{name}");
    }
    let first = records.iter().map(|record| record.stime).min().unwrap() / 1_000_000;
    let last = records.iter().map(|record| record.ltime).max().unwrap() / 1_000_000;
    assert_eq!(totals["First"] * 1000 + totals["msec_first"], first);
    assert_eq!(totals["Last"] * 1000 + totals["msec_last"], last);
}

#[test]
fn nfdump_adds_up_both_directions() {
    if !tool::is_there("nfcapd") || !tool::is_there("nfdump") {
        return;
    }
    let collector = Nfcapd::start("nfcapd-biflow");
    let mut records = flows(3000);
    let parts = sample::parts();
    for (record, reverse) in records.iter_mut().zip(flows(3000).into_iter().rev()).step_by(2) {
        let more = More { reverse: Some(FlowRecord { key: record.key, ..reverse }), ..More::default() };
        record.more = Some(Box::new(more));
    }
    send(&collector, &records, &parts);
    let totals = collector.totals();
    let both = |of: fn(&FlowRecord) -> u64| {
        records.iter().map(|record| of(record) + record.reverse().map_or(0, of)).sum::<u64>()
    };
    assert_eq!(totals["Flows"], 3000);
    assert_eq!(totals["Packets"], both(|record| record.total_count));
    assert_eq!(totals["Bytes"], both(|record| record.total_byte));
}
