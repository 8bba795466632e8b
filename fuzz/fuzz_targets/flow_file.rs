//! Any bytes as a flow file: no panic, no hang, rows that are whole, and the same rows when it is read again.
#![no_main]

use flow::RowValue;
use libfuzzer_sys::fuzz_target;
use record::Format;
use record::read::{FlowFile, ReadProjection, RowBlock};
use std::path::Path;

/// A few bytes of Parquet can stand for any number of equal rows.
const MOST_ROWS: u64 = 200_000;
/// The most rows of a block.
const BLOCK: usize = 4096;

/// All members and all kinds of columns, or few of them.
fn wanted(is_all: bool) -> ReadProjection {
    if !is_all {
        return ReadProjection { columns: vec![RowValue::Bytes], ..ReadProjection::default() };
    }
    let columns = [
        RowValue::Time,
        RowValue::First,
        RowValue::Packets,
        RowValue::Bytes,
        RowValue::WireBytes,
        RowValue::TcpSeq,
        RowValue::TcpFlags,
        RowValue::Vlan,
        RowValue::SourceMac,
        RowValue::RttMin,
        RowValue::Statistic(0),
    ];
    ReadProjection {
        members: vec!["src_addr", "dst_addr", "src_port", "dst_port", "protocol", "vlan", "ip_tos"],
        open_fields: true,
        samples: true,
        keeps_open: true,
        needs_time: true,
        columns: columns.to_vec(),
        statistics: vec!["gap_mean".to_owned()],
    }
}

/// Rows, rows without a key, a sum over all values, and how reading ended.
fn read(file: &mut FlowFile, wanted: &ReadProjection) -> (u64, u64, u64, Option<String>) {
    let (mut rows, mut without_key, mut sum) = (0, 0, 0_u64);
    for part in 0..file.contents().parts.len() {
        let mut take = |block: &mut RowBlock| {
            let taken = block.v4.len() + block.v6.len();
            assert!(taken + block.without_key.len() <= BLOCK);
            for column in &wanted.columns {
                let (v4, v6) = (block.v4.column(*column), block.v6.column(*column));
                assert_eq!((v4.len(), v6.len()), (block.v4.len(), block.v6.len()));
                sum = v4.iter().chain(v6).fold(sum, |sum, value| sum.rotate_left(1).wrapping_add(*value));
            }
            rows += taken as u64;
            without_key += block.without_key.len() as u64;
            rows + without_key < MOST_ROWS
        };
        if let Err(error) = file.read_part(part, wanted, &mut take) {
            let error = error.to_string();
            assert!(!error.contains('\n'), "{error}");
            return (rows, without_key, sum, Some(error));
        }
        if rows + without_key >= MOST_ROWS {
            break;
        }
    }
    (rows, without_key, sum, None)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let format = Format::ALL[usize::from(*choice) % Format::ALL.len()];
    let name = format!("fuzz{}", format.suffix());
    let mut file = match FlowFile::from_bytes(Path::new(&name), bytes.to_vec()) {
        Ok(file) => file,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let all = wanted(true);
    let first = read(&mut file, &all);
    assert_eq!(first, read(&mut file, &all), "another answer");
    read(&mut file, &wanted(false));
});
