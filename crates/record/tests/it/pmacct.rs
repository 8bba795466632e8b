//! pmacct's collector, `nfacctd`, reads every flow of an IPFIX file's messages. It takes one options template of a set, and refuses all that
//! follows a second one.

use crate::ipfix;
use crate::sample;
use crate::tool;
use flow::{FlowRecord, More};
use packet::FlowKey;
use record::{MeasurementTotals, RecordContents, Selection, create};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A capture (pcap, raw IPv4) of datagrams with these messages.
fn capture(messages: &[&[u8]]) -> Vec<u8> {
    const RAW: u32 = 101;
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 1 << 18, RAW] {
        capture.extend(word.to_le_bytes());
    }
    for (at, message) in messages.iter().enumerate() {
        let length = 28 + message.len();
        for word in [at as u32, 0, length as u32, length as u32] {
            capture.extend(word.to_le_bytes());
        }
        let total = u16::try_from(length).expect("a datagram's length");
        capture.extend([
            0x45,
            0,
            total.to_be_bytes()[0],
            total.to_be_bytes()[1],
            0,
            0,
            0x40,
            0,
            64,
            17,
            0,
            0,
        ]);
        capture.extend([127, 0, 0, 1, 127, 0, 0, 2]);
        for field in [4_000, 4_739, total - 20, 0] {
            capture.extend(field.to_be_bytes());
        }
        capture.extend(*message);
    }
    capture
}

/// Flows, packets and bytes that `nfacctd` finds in an IPFIX file.
fn totals(directory: &tool::Directory, file: &Path) -> (usize, u64, u64) {
    let bytes = std::fs::read(file).unwrap();
    std::fs::write(directory.path("flows.pcap"), capture(&ipfix::messages(&bytes))).unwrap();
    let found = directory.path("found.csv");
    let status = Command::new("nfacctd")
        .args(["-P", "print", "-r", "3600", "-O", "csv", "-c", "src_host,dst_host,src_port,dst_port,proto"])
        .args(["-I".as_ref(), directory.path("flows.pcap").as_os_str(), "-o".as_ref(), found.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(directory.path("log")).unwrap())
        .status()
        .unwrap();
    let log = std::fs::read_to_string(directory.path("log")).unwrap();
    assert!(status.success(), "{log}");
    let text = std::fs::read_to_string(found).unwrap_or_else(|error| panic!("{error}: {log}"));
    let numbers = |line: &str| {
        let mut fields = line.rsplit(',');
        let mut next = || fields.next().unwrap().parse::<u64>().unwrap();
        let bytes = next();
        (next(), bytes)
    };
    let lines: Vec<(u64, u64)> = text.lines().skip(1).map(numbers).collect();
    (lines.len(), lines.iter().map(|line| line.0).sum(), lines.iter().map(|line| line.1).sum())
}

#[test]
fn nfacctd_reads_all_flows() {
    if !tool::is_there("nfacctd") {
        return;
    }
    let mut records = sample::records(600);
    for (at, record) in (0_u32..).zip(&mut records) {
        let (source, destination) = (Ipv4Addr::from_bits(0x0a00_0000 + at), Ipv4Addr::new(192, 0, 2, 1));
        record.key = Some(FlowKey::five_tuple((source.into(), 1_024), (destination.into(), 443), 6));
        (record.total_count, record.total_byte) = (u64::from(at) + 1, 100 * u64::from(at) + 40);
        (record.stime, record.ltime) = (1_700_000_000_000_000_000, 1_700_000_001_000_000_000);
        record.more = None;
    }
    let sum = |of: fn(&FlowRecord) -> u64| records.iter().map(of).sum::<u64>();
    let expected = (records.len(), sum(|record| record.total_count), sum(|record| record.total_byte));
    // Plain ones, those of all columns, and those of both directions, whose reverse counts it leaves out.
    for (name, selection, is_biflow) in [
        ("plain", Selection::new(&RecordContents::default()), false),
        ("all", Selection::all(), false),
        ("both", Selection::all(), true),
    ] {
        let directory = tool::Directory::new(&format!("pmacct-{name}"));
        let file = directory.path("flows.ipfix");
        let mut writer = create(&file, "probe-1", &selection).unwrap();
        for record in &records {
            let reverse = FlowRecord { total_count: 7, total_byte: 700, ..record.clone() };
            let more = || More { reverse: Some(reverse), ..More::default() };
            let more = is_biflow.then(|| Box::new(more()));
            writer.write(&[FlowRecord { more, ..record.clone() }]).unwrap();
        }
        writer.account(&MeasurementTotals { time_ns: 0, received: 5, measured: 4, lost: Some(1) }).unwrap();
        writer.finish().unwrap();
        assert_eq!(totals(&directory, &file), expected, "{name}");
    }
}
