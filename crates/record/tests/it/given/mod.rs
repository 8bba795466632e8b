//! What a flow file gives, as rows.

use flow::{FlowKey, RowValue};
use packet::{Key, KeySpec};
use record::Format;
use record::read::{FlowFile, ReadError, ReadProjection};
use std::path::Path;

/// A row: its key, its values.
pub(crate) type Row = (FlowKey, Vec<u64>);

/// Rows without a key, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) rows: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) wire_bytes: u64,
}

/// What a file gives: rows in an order of their own, the rows without a key, and the error at its end.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) rows: Vec<Row>,
    pub(crate) without_key: Unread,
    pub(crate) nodes: Vec<String>,
    pub(crate) error: Option<ReadError>,
}

pub(crate) fn given(file: &mut FlowFile, wanted: &ReadProjection) -> Given {
    let mut given =
        Given { rows: Vec::new(), without_key: Unread::default(), nodes: Vec::new(), error: None };
    for part in 0..file.contents().parts.len() {
        let read = file.read_part(part, wanted, &mut |block| {
            assert!(block.v4.len() + block.v6.len() + block.without_key.len() <= 4096);
            let row = |key: FlowKey, column: &dyn Fn(RowValue) -> u64| {
                (key, wanted.columns.iter().map(|of| column(*of)).collect::<Vec<_>>())
            };
            for (at, key) in block.v4.keys.iter().enumerate() {
                let key = key.flow_key(&KeySpec::FIVE_TUPLE);
                given.rows.push(row(key, &|of| block.v4.column(of)[at]));
            }
            for (at, key) in block.v6.keys.iter().enumerate() {
                let key = key.flow_key(&KeySpec::FIVE_TUPLE);
                given.rows.push(row(key, &|of| block.v6.column(of)[at]));
            }
            let sum = &mut given.without_key;
            sum.rows += block.without_key.len() as u64;
            for row in &block.without_key {
                sum.packets = sum.packets.saturating_add(row.packets);
                sum.bytes = sum.bytes.saturating_add(row.bytes);
                sum.wire_bytes = sum.wire_bytes.saturating_add(row.wire_bytes);
            }
            given.nodes.extend(block.node.as_deref().map(str::to_owned));
            true
        });
        if let Err(error) = read {
            given.error = Some(error);
            break;
        }
    }
    given.rows.sort();
    given.nodes.sort();
    given.nodes.dedup();
    given
}

pub(crate) fn of_bytes(format: Format, bytes: Vec<u8>) -> Result<FlowFile, ReadError> {
    FlowFile::from_bytes(Path::new(&format!("flows{}", format.suffix())), bytes)
}
