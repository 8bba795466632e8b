//! Records per second of processor time of each writer: `cargo run --release -p record --example speed -- DIRECTORY`.

use flow::{EndReason, FlowRecord};
use packet::FlowKey;
use record::{Anonymizer, Format, Selection};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const RECORDS: u64 = 1_000_000;
const ROUNDS: usize = 5;

fn main() -> std::io::Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "/dev/shm".to_owned());
    for (kind, ipv6) in [("IPv4", false), ("IPv6", true)] {
        let records: Vec<FlowRecord> = (0..RECORDS).map(|i| record(i, ipv6)).collect();
        for format in Format::ALL {
            let path = std::path::PathBuf::from(format!("{directory}/edison-speed{}", format.suffix()));
            let mut best = f64::INFINITY;
            for _ in 0..ROUNDS {
                let start = processor_seconds()?;
                let mut writer = record::create(&path, "probe-1", &Selection::all())?;
                for batch in records.chunks(1024) {
                    writer.write(batch)?;
                }
                writer.finish()?;
                best = best.min(processor_seconds()? - start);
            }
            let bytes = std::fs::metadata(&path)?.len();
            std::fs::remove_file(&path)?;
            println!(
                "{kind} {format:?}: {:.2} million records/s, {} bytes a record",
                RECORDS as f64 / best / 1e6,
                bytes / RECORDS
            );
        }
        rows::speed(&directory, kind, &records)?;
        // Few hosts, whose replacements are kept, and hosts that never come again.
        for (hosts, mask) in [("4,096 hosts", 0xfff), ("always other hosts", u64::MAX)] {
            let mut anonymizer = Anonymizer::new(&[7; 32]);
            let start = processor_seconds()?;
            for i in 0..RECORDS {
                let host = (i & mask) as u32;
                let v6 = Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(host));
                std::hint::black_box(anonymizer.address(if ipv6 {
                    v6.into()
                } else {
                    Ipv4Addr::from_bits(host).into()
                }));
            }
            let took = processor_seconds()? - start;
            println!("{kind} anonymised, {hosts}: {:.0} ns an address", took * 1e9 / RECORDS as f64);
        }
    }
    Ok(())
}

/// What this thread has run so far, user and system: other programs on the machine disturb it little.
fn processor_seconds() -> std::io::Result<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    nanoseconds
        .map(|ns| ns / 1e9)
        .ok_or_else(|| std::io::Error::other("no time in /proc/thread-self/schedstat"))
}

/// Flows of a few thousand hosts within a minute.
fn record(i: u64, ipv6: bool) -> FlowRecord {
    let mix = |salt: u64| {
        let x = (i ^ salt << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    };
    let address = |salt: u64| match ipv6 {
        false => IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | (mix(salt) % 60_000) as u32)),
        true => IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(mix(salt) % 60_000 + 1) << 30)),
    };
    let start = 1_700_000_000_000_000_000 + i * 60_000;
    let packets = 1 + (mix(1) % 1000) / (1 + mix(2) % 1000);
    FlowRecord {
        key: Some(FlowKey::five_tuple(
            (address(3), mix(5) as u16),
            (address(4), [80, 443, 53, 22, 8080][(mix(6) % 5) as usize]),
            if mix(6) % 5 == 2 { 17 } else { 6 },
        )),
        total_count: packets,
        total_byte: packets * (40 + mix(9) % 1460),
        wire_byte: packets * (54 + mix(9) % 1460),
        tcp_seq: mix(10) as u32,
        tcp_ack: mix(11) as u32,
        tcp_win: mix(12) as u16,
        smac: [2, 0, 0, 0, 0, (mix(13) % 4) as u8],
        dmac: [2, 0, 0, 0, 1, (mix(14) % 4) as u8],
        tcp_flags: 0x1b,
        ip_ttl: 64 - (mix(15) % 20) as u8,
        end_reason: EndReason::Idle,
        ..FlowRecord::without_packets(
            start + mix(7) % 1_000_000_000,
            start + 1_000_000_000 + mix(8) % 20_000_000_000,
        )
    }
}

/// The same flows as window rows.
mod rows {
    use flow::{FlowRecord, LossCounts, Rows, TrackedParts};
    use packet::{Key, KeySpec, KeyV4, KeyV6};
    use record::{Anonymizer, RowWindow, RowWriter};
    use std::net::IpAddr;

    pub(crate) fn speed(directory: &str, kind: &str, records: &[FlowRecord]) -> std::io::Result<()> {
        let path = std::path::PathBuf::from(format!("{directory}/edison-speed-rows.parquet"));
        for (what, tracked, anonymizer) in [
            ("rows", TrackedParts::PLAIN, None),
            ("rows with losses", TrackedParts::LOSS, None),
            ("anonymised rows", TrackedParts::PLAIN, Some(Anonymizer::new(&[7; 32]))),
        ] {
            let v4 = |record: &FlowRecord| match addresses(record) {
                [IpAddr::V4(src), IpAddr::V4(dst)] => {
                    let [a, b] = [src, dst].map(|address| address.octets());
                    let octets = std::array::from_fn(|at| if at < 4 { a[at] } else { b[at - 4] });
                    Some(KeyV4::new(octets, ports(record), protocol(record)))
                }
                _ => None,
            };
            let v6 = |record: &FlowRecord| match addresses(record) {
                [IpAddr::V6(src), IpAddr::V6(dst)] => {
                    Some(KeyV6::new(&src.octets(), &dst.octets(), ports(record), protocol(record)))
                }
                _ => None,
            };
            let (v4, v6) = (blocks(records, tracked, v4), blocks(records, tracked, v6));
            let mut best = f64::INFINITY;
            for _ in 0..super::ROUNDS {
                let start = super::processor_seconds()?;
                let writer = RowWriter::create(&path, "probe-1", KeySpec::default(), tracked)?;
                let mut writer = writer.with_anonymizer(anonymizer.clone());
                v4.iter().try_for_each(|rows| writer.write(window(rows), rows))?;
                v6.iter().try_for_each(|rows| writer.write(window(rows), rows))?;
                writer.finish()?;
                best = best.min(super::processor_seconds()? - start);
            }
            let bytes = std::fs::metadata(&path)?.len();
            std::fs::remove_file(&path)?;
            println!(
                "{kind} {what}: {:.2} million/s, {} bytes a row",
                super::RECORDS as f64 / best / 1e6,
                bytes / super::RECORDS
            );
        }
        Ok(())
    }

    fn window<K>(rows: &Rows<K>) -> RowWindow {
        const LENGTH: u64 = 10_000_000_000;
        let start_ns = rows.rows.first().map_or(0, |row| row.first_ns / LENGTH * LENGTH);
        RowWindow { start_ns, end_ns: start_ns + LENGTH }
    }

    fn addresses(record: &FlowRecord) -> [IpAddr; 2] {
        let key = record.key.unwrap_or_default();
        [key.src_addr, key.dst_addr].map(|address| address.unwrap_or(IpAddr::from([0; 4])))
    }

    fn ports(record: &FlowRecord) -> [u8; 4] {
        let key = record.key.unwrap_or_default();
        let [a, b] = [key.src_port, key.dst_port].map(|port| port.unwrap_or(0).to_be_bytes());
        [a[0], a[1], b[0], b[1]]
    }

    fn protocol(record: &FlowRecord) -> u8 {
        record.key.and_then(|key| key.protocol).unwrap_or(0)
    }

    fn blocks<K: Key>(
        records: &[FlowRecord],
        tracked: TrackedParts,
        key: impl Fn(&FlowRecord) -> Option<K>,
    ) -> Vec<Rows<K>> {
        let row = |record: &FlowRecord| Some(record.row().with_key(key(record)?));
        let block = |records: &[FlowRecord]| {
            let rows: Vec<_> = records.iter().filter_map(row).collect();
            let losses = vec![LossCounts::default(); if tracked.loss { rows.len() } else { 0 }];
            Rows { rows, losses, ..Rows::default() }
        };
        records.chunks(1024).map(block).collect()
    }
}
