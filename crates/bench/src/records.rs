//! `edison bench records`: what the writers take, in processor time of the thread that writes real files.

use crate::compare::{in_turn, thread_time};
use crate::{Line, Points};
use packet::FlowKey;
use parquet::file::reader::{FileReader, SerializedFileReader};
use record::{EndReason, FlowRecord, Format, Selection};
use serde_json::json;
use std::net::{IpAddr, Ipv6Addr};
use traffic::{KeyStream, Spec};

/// Records handed over at once, as the engine does.
const BLOCK: usize = 1 << 12;

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
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
            let result = written.and_then(|()| Ok((std::fs::metadata(&path)?.len(), rows(&path, *format)?)));
            match result {
                Ok((size, rows)) => (*bytes, *checked) = (size, *checked && rows == count),
                Err(error) => fault = Some(error.to_string()),
            }
            time
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        for ((format, bytes, checked), rounds_ns) in formats.into_iter().zip(times) {
            out(Line {
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

/// Rows that the file has, counted without the writer's help: lines, or what the Parquet footer says. That every value is
/// right is for the crate's tests.
fn rows(path: &std::path::Path, format: Format) -> std::io::Result<u64> {
    let bytes = std::fs::read(path)?;
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    Ok(match format {
        Format::Csv => lines - 1,
        Format::JsonLines => lines,
        Format::Parquet => {
            let file =
                SerializedFileReader::new(std::fs::File::open(path)?).map_err(std::io::Error::other)?;
            file.metadata().file_metadata().num_rows() as u64
        }
    })
}

fn records(count: u64, is_v6: bool) -> Result<Vec<FlowRecord>, String> {
    let spec: Spec =
        format!("packets={count},flows={count},zipf=0,seed=1").parse().map_err(|e| format!("{e}"))?;
    let stream = KeyStream::ipv4(&spec);
    let keys = stream.keys().iter().map(packet::Key::flow_key);
    let widen = |address: IpAddr| match address {
        IpAddr::V4(a) => {
            let [a, b, c, d] = a.octets().map(u16::from);
            IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, a << 8 | b, c, 0, d << 8 | a, b, c << 8 | d))
        }
        v6 => v6,
    };
    let wide = keys.map(|key| match is_v6 {
        true => FlowKey { src_addr: widen(key.src_addr), dst_addr: widen(key.dst_addr), ..key },
        false => key,
    });
    let record = |(n, key): (u64, FlowKey)| FlowRecord {
        key: Some(key),
        stime: 1_700_000_000_000_000_000 + n * 7_919_123,
        ltime: 1_700_000_010_000_000_000 + n * 7_919_321,
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
        ip_tos: 0,
        end_reason: EndReason::Idle,
    };
    Ok((0..).zip(wide).map(record).collect())
}
