//! `edison-lab bench records`: the cost of the writers, in processor time of the thread that writes real files.

use crate::compare::{in_turn, thread_time};
use crate::{BenchResult, Points};
use flow::{EndReason, FlowRecord};
use packet::{FlowKey, Key, KeySpec};
use parquet::file::reader::{FileReader, SerializedFileReader};
use record::{Format, Selection};
use serde_json::json;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use traffic::{KeyStream, TrafficSpec};

/// Records handed over at once, as in the engine.
const BLOCK: usize = 1 << 12;

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let count = points.packets.unwrap_or(1_000_000).max(1);
    for is_v6 in [false, true] {
        let records = records(count, is_v6)?;
        let directory =
            tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
        let mut formats: Vec<(Format, u64, bool)> =
            Format::ALL.iter().map(|&format| (format, 0, true)).collect();
        let mut fault = None;
        let times = in_turn(&mut formats, points.seconds, |(format, bytes, checked)| {
            let path = directory.path().join(format!("records{}", format.suffix()));
            let began = thread_time();
            let written = record::create(&path, "bench", &Selection::all()).and_then(|mut writer| {
                records.chunks(BLOCK).try_for_each(|block| writer.write(block))?;
                writer.finish()
            });
            let time = thread_time() - began;
            let result = written.and_then(|_| Ok((std::fs::metadata(&path)?.len(), rows(&path, *format)?)));
            match result {
                Ok((size, Some(rows))) => (*bytes, *checked) = (size, *checked && rows == count),
                Ok((size, None)) => (*bytes, *checked) = (size, false),
                Err(error) => fault = Some(error.to_string()),
            }
            time
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        for ((format, bytes, checked), rounds_ns) in formats.into_iter().zip(times) {
            out(BenchResult {
                bench: "records",
                variant: format.suffix().trim_start_matches('.').to_owned(),
                params: vec![("addresses", json!(if is_v6 { "ipv6" } else { "ipv4" })), ("cores", json!(1))],
                packets: count,
                rounds_ns,
                memory_bytes: None,
                checked,
                more: vec![("bytes_per_record", json!(bytes / count))],
            });
        }
    }
    Ok(())
}

/// Rows that the file has, counted without the writer's help: lines, the count in the Parquet footer, or
/// records of IPFIX templates; `None` for any other file. The crate's tests check the values.
fn rows(path: &std::path::Path, format: Format) -> std::io::Result<Option<u64>> {
    let bytes = std::fs::read(path)?;
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    Ok(match format {
        Format::Csv => lines.checked_sub(1),
        Format::JsonLines => Some(lines),
        Format::Parquet => {
            let file =
                SerializedFileReader::new(std::fs::File::open(path)?).map_err(std::io::Error::other)?;
            Some(file.metadata().file_metadata().num_rows() as u64)
        }
        Format::Ipfix => ipfix_records(&bytes),
    })
}

/// Records of templates without scope (RFC 7011, section 3). A template's records have one length: that of
/// the first, since all contain the same node name.
fn ipfix_records(mut bytes: &[u8]) -> Option<u64> {
    let number = |bytes: &[u8], at: usize| {
        Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])))
    };
    let mut templates: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut records = 0;
    while !bytes.is_empty() {
        let (message, rest) = bytes.split_at_checked(number(bytes, 2)?)?;
        let mut sets = message.get(16..)?;
        while !sets.is_empty() {
            let (set, others) = sets.split_at_checked(number(sets, 2)?)?;
            let (id, mut body) = (number(set, 0)?, set.get(4..)?);
            if id == 2 {
                while body.len() >= 4 {
                    let (template, count) = (number(body, 0)?, number(body, 2)?);
                    body = &body[4..];
                    let mut lengths = Vec::new();
                    for _ in 0..count {
                        lengths.push(number(body, 2)?);
                        let enterprise = if number(body, 0)? >= 0x8000 { 4 } else { 0 };
                        body = body.get(4 + enterprise..)?;
                    }
                    templates.insert(template, lengths);
                }
            } else if let Some(lengths) = templates.get(&id) {
                let mut length = 0;
                for field in lengths {
                    length += match field {
                        // One octet gives the number of octets that follow.
                        65535 => 1 + usize::from(*body.get(length)?),
                        fixed => *fixed,
                    };
                }
                if length == 0 || !body.len().is_multiple_of(length) {
                    return None;
                }
                records += (body.len() / length) as u64;
            }
            sets = others;
        }
        bytes = rest;
    }
    Some(records)
}

fn records(count: u64, is_v6: bool) -> Result<Vec<FlowRecord>, String> {
    let spec: TrafficSpec =
        format!("packets={count},flows={count},zipf=0,seed=1").parse().map_err(|e| format!("{e}"))?;
    let stream = KeyStream::ipv4(&spec);
    let keys = stream.keys().iter().map(|key| key.flow_key(&KeySpec::FIVE_TUPLE));
    let widen = |address: IpAddr| match address {
        IpAddr::V4(a) => {
            let [a, b, c, d] = a.octets().map(u16::from);
            IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, a << 8 | b, c, 0, d << 8 | a, b, c << 8 | d))
        }
        v6 => v6,
    };
    let wide = keys.map(|key| match is_v6 {
        true => FlowKey { src_addr: key.src_addr.map(widen), dst_addr: key.dst_addr.map(widen), ..key },
        false => key,
    });
    let record = |(n, key): (u64, FlowKey)| FlowRecord {
        key: Some(key),
        total_count: n % 1000 + 1,
        total_byte: n % 1000 * 700 + 40,
        wire_byte: n % 1000 * 714 + 60,
        tcp_seq: (n as u32).wrapping_mul(2_654_435_761),
        tcp_ack: (n as u32).wrapping_mul(40_503),
        tcp_win: n as u16,
        vlan: n.is_multiple_of(3).then_some((n % 4094) as u16),
        smac: [2, 0, 0, 0, 0, n as u8],
        dmac: [2, 0, 0, 0, 1, n as u8],
        tcp_flags: 0x1b,
        ip_ttl: 64,
        end_reason: EndReason::Idle,
        ..FlowRecord::without_packets(
            1_700_000_000_000_000_000 + n * 7_919_123,
            1_700_000_010_000_000_000 + n * 7_919_321,
        )
    };
    Ok((0..).zip(wide).map(record).collect())
}
