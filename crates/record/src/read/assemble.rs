//! Assembly of columns as they are read into blocks: keys, families, directions, nodes.

use super::BlockSink;
use super::address::AddressFamily;
use super::block::{ReadProjection, RowBlock, WithoutKey};
use super::columns::{InputColumns, NO_NODE, UNTOLD};
use super::direction::Direction;
use super::open_fields::OpenColumns;
use flow::{FIELDS, NULL, OpenFields, RowBatch, RowValue};
use std::mem;

/// The columns of which rows have null, whether they leave the field open or not.
const NULLABLE: [RowValue; 4] =
    [RowValue::Vlan, RowValue::SourceMac, RowValue::DestinationMac, RowValue::Last];

/// Makes blocks of columns.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    /// Flags for sources and for destinations: true once the file is known to have a row with such an address.
    told: [bool; 2],
    block: RowBlock,
    v4: Vec<u32>,
    v6: Vec<u32>,
    rows: Vec<u32>,
}

impl Assembler {
    /// Makes the assembler of a file that is known to have rows with a source, and with a destination, where `told` is true.
    ///
    /// In such a file a row without that address has no key. Where it is not known before, it is so from the first block on in which a row
    /// has the address: rows of the blocks before it that lack it have keys without it, as in a file in which no row has it.
    pub(crate) fn new(told: [bool; 2]) -> Self {
        Self { told, ..Self::default() }
    }

    /// Returns for sources, and for destinations, whether a row with one is known so far.
    pub(crate) fn told(&self) -> [bool; 2] {
        self.told
    }

    /// Gives the rows of the columns to `sink`; false once it wants no more.
    pub(crate) fn give(
        &mut self,
        columns: &mut InputColumns,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> bool {
        let key_has_vlan = wanted.members.contains(&"vlan");
        let rows = columns.rows;
        let [has_source, has_destination] = self.told;
        let are_told =
            [has_source || columns.source.is_told(), has_destination || columns.destination.is_told()];
        self.told = are_told;
        // The other direction first: giving the rows themselves takes their columns.
        if !columns.has_reverse.is_empty() {
            let InputColumns { source, destination, source_port, destination_port, protocol, .. } = columns;
            let InputColumns {
                vlan, tos, ip_version, sampling_rate, reverse, has_reverse, node, nodes, ..
            } = columns;
            let direction = Direction {
                are_told: [are_told[1], are_told[0]],
                source: destination,
                destination: source,
                source_port: destination_port,
                destination_port: source_port,
                protocol,
                vlan,
                tos,
                ip_version,
                sampling_rate,
                key_has_vlan,
                keeps_open: wanted.keeps_open,
            };
            let is_there = |row: &u32| !matches!(has_reverse[*row as usize], 0 | NULL);
            if !self.each_node(&direction, reverse, wanted, node, nodes, rows, Some(&is_there), sink) {
                return false;
            }
        }
        let InputColumns { source, destination, source_port, destination_port, protocol, .. } = columns;
        let InputColumns { vlan, tos, ip_version, sampling_rate, values, node, nodes, .. } = columns;
        let direction = Direction {
            are_told,
            source,
            destination,
            source_port,
            destination_port,
            protocol,
            vlan,
            tos,
            ip_version,
            sampling_rate,
            key_has_vlan,
            keeps_open: wanted.keeps_open,
        };
        self.each_node(&direction, values, wanted, node, nodes, rows, None, sink)
    }

    /// Gives the rows of each node.
    #[expect(clippy::too_many_arguments, reason = "the parts of columns, which are borrowed one by one")]
    fn each_node(
        &mut self,
        direction: &Direction<'_>,
        values: &mut [Vec<u64>],
        wanted: &ReadProjection,
        node: &[u32],
        nodes: &[std::sync::Arc<str>],
        rows: usize,
        is_there: Option<&dyn Fn(&u32) -> bool>,
        sink: &mut BlockSink<'_>,
    ) -> bool {
        let of_several = node.windows(2).any(|pair| pair[0] != pair[1]);
        if !of_several && is_there.is_none() && direction.are_all_v4() {
            // Most files: row by row, sorting by family and node takes as long as reading.
            self.block.node = nodes.get(node.first().map_or(0, |number| *number as usize)).cloned();
            self.fill_all_v4(direction, values, wanted, rows);
            return self.give_block(wanted, sink);
        }
        let mut all = mem::take(&mut self.rows);
        let mut continues = true;
        let numbers = if of_several { 0..nodes.len() as u32 } else { 0..1 };
        let unknown = of_several.then_some(NO_NODE);
        for number in numbers.chain(unknown) {
            all.clear();
            let is_of_node = |row: &u32| !of_several || node[*row as usize] == number;
            all.extend(
                (0..rows as u32)
                    .filter(|row| is_of_node(row) && is_there.is_none_or(|is_there| is_there(row))),
            );
            if all.is_empty() {
                continue;
            }
            let number = node.get(all[0] as usize).copied().unwrap_or(0);
            self.block.node = nodes.get(number as usize).cloned();
            self.fill(direction, values, wanted, &all, all.len() == rows);
            continues = self.give_block(wanted, sink);
            if !continues {
                break;
            }
        }
        self.rows = all;
        continues
    }

    /// Gives the block. A counter that a row leaves open is 0, and a begin its end. A value that packets of its protocol do not have is 0, as in rows
    /// of a measurement.
    fn give_block(&mut self, wanted: &ReadProjection, sink: &mut BlockSink<'_>) -> bool {
        let block = &mut self.block;
        if wanted.open_fields && wanted.columns.contains(&RowValue::First) {
            begin_at_end(&mut block.v4);
            begin_at_end(&mut block.v6);
        }
        for column in wanted.columns.iter().filter(|_| wanted.open_fields) {
            if NULLABLE.contains(column) {
                let null = |values: &mut Vec<u64>| {
                    values.iter_mut().filter(|value| **value == UNTOLD).for_each(|value| *value = NULL);
                };
                null(block.v4.column_mut(*column));
                null(block.v6.column_mut(*column));
                continue;
            }
            let Some(field) = may_be_open(*column) else { continue };
            let is_counter = matches!(column, RowValue::Packets | RowValue::Bytes);
            let [open_v4, open_v6] = &block.open;
            let families = [(block.v4.column_mut(*column), open_v4), (block.v6.column_mut(*column), open_v6)];
            for (values, open) in families {
                for (at, value) in values.iter_mut().enumerate().filter(|(_, value)| **value == NULL) {
                    let is_open = open.get(at).is_some_and(|open| open.has_any(field));
                    *value = if is_counter || !is_open { 0 } else { NULL };
                }
            }
        }
        sink(block)
    }

    /// Fills the block with all rows, which have keys of IPv4.
    fn fill_all_v4(
        &mut self,
        direction: &Direction<'_>,
        values: &mut [Vec<u64>],
        wanted: &ReadProjection,
        rows: usize,
    ) {
        let block = &mut self.block;
        block.v4.clear();
        block.v6.clear();
        block.without_key.clear();
        let open = OpenColumns::new(direction, values, wanted);
        block.open = [open.each(0..rows), Vec::new()];
        block.v4.keys.extend((0..rows).map(|row| direction.v4(row)));
        for (column, values) in wanted.columns.iter().zip(values) {
            // A column that the file lacks.
            values.resize(rows, NULL);
            mem::swap(block.v4.column_mut(*column), values);
            block.v6.column_mut(*column).clear();
        }
    }

    /// Fills the block with these rows. `are_all`: no row is left, so that columns may be taken.
    fn fill(
        &mut self,
        direction: &Direction<'_>,
        values: &mut [Vec<u64>],
        wanted: &ReadProjection,
        rows: &[u32],
        are_all: bool,
    ) {
        let Self { block, v4, v6, .. } = self;
        v4.clear();
        v6.clear();
        block.v4.clear();
        block.v6.clear();
        block.without_key.clear();
        for &row in rows {
            match direction.family(row as usize) {
                Some(AddressFamily::V6) => v6.push(row),
                Some(_) => v4.push(row),
                None => {
                    let of = |column: RowValue| {
                        let at = wanted.columns.iter().position(|known| *known == column)?;
                        Some(InputColumns::number(&values[at], row as usize))
                    };
                    block.without_key.push(WithoutKey::from_values(of));
                }
            }
        }
        let open = OpenColumns::new(direction, values, wanted);
        block.open = [&*v4, &*v6].map(|rows| open.each(rows.iter().map(|row| *row as usize)));
        block.v4.keys.extend(v4.iter().map(|row| direction.v4(*row as usize)));
        block.v6.keys.extend(v6.iter().map(|row| direction.v6(*row as usize)));
        let takes_v4 = are_all && v4.len() == rows.len();
        for (column, values) in wanted.columns.iter().zip(values) {
            if takes_v4 && values.len() == rows.len() {
                mem::swap(block.v4.column_mut(*column), values);
            } else {
                pick(&mut block.v4, *column, values, v4);
            }
            pick(&mut block.v6, *column, values, v6);
        }
    }
}

/// Returns the field of a column that a row may leave open, but for its begin.
fn may_be_open(column: RowValue) -> Option<OpenFields> {
    let field = FIELDS.iter().find(|field| field.row == column && column != RowValue::First)?;
    Some(OpenFields::from_field(field.name)).filter(|field| !field.is_empty())
}

/// Puts the end of a row in the place of a begin that it does not tell.
fn begin_at_end<K: Copy>(rows: &mut RowBatch<K>) {
    if !rows.column(RowValue::First).contains(&NULL) {
        return;
    }
    let ends = rows.column(RowValue::Last).to_vec();
    let begins = rows.column_mut(RowValue::First).iter_mut();
    begins.zip(ends).filter(|(begin, _)| **begin == NULL).for_each(|(begin, end)| *begin = end);
}

/// Puts the values of these rows into a batch.
fn pick<K: Copy>(batch: &mut RowBatch<K>, column: RowValue, values: &[u64], rows: &[u32]) {
    let picked = batch.column_mut(column);
    picked.clear();
    picked.extend(rows.iter().map(|row| InputColumns::number(values, *row as usize)));
}
