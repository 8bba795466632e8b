//! A file whose rows are copied.

use super::RowOrder;
use super::batch::ColumnBatch;
use super::pass::SortPass;
use super::values::BufferedColumn;
use crate::read::{OpenError, guarded, open_checked};
use crate::summed_file::SummedFile;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::{ColumnDescriptor, Type};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most rows of a row group: those that are written have fewer.
const MOST_ROWS: i64 = 1 << 20;
/// The entries that are equal in the metadata of all files of a copy.
const COMMON: [&str; 5] =
    ["edison.node", "edison.key", "edison.schema", "edison.window_ns", "edison.sampling_share"];

/// An open file.
pub(super) struct SortedInputFile {
    path: PathBuf,
    file: SerializedFileReader<SummedFile>,
    /// The number of the column that rows are sorted by first; then of addresses, destination first.
    time: usize,
    addresses: Vec<usize>,
}

/// Rows of a row group.
pub(super) struct SelectedRows {
    pub(super) count: usize,
    /// A mark for each row of the row group: true if it is picked. `None`: all are picked.
    marks: Option<Vec<bool>>,
}

impl SortedInputFile {
    pub(super) fn open(path: &Path, order: RowOrder) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let file = open_checked(file).map_err(|error| match error {
            OpenError::Damaged(reason) => format!("damaged: {reason}"),
            OpenError::NoParquet(reason) => format!("no complete Parquet file: {reason}"),
        })?;
        let metadata = file.metadata();
        if metadata.row_groups().iter().any(|group| !(0..=MOST_ROWS).contains(&group.num_rows())) {
            return Err("its row groups are larger than those of a store".to_owned());
        }
        let columns = metadata.file_metadata().schema_descr();
        if columns.columns().iter().any(|column| column.max_rep_level() != 0 || column.max_def_level() > 1) {
            return Err("it has nested columns".to_owned());
        }
        let place = |name: &str| columns.columns().iter().position(|column| column.name() == name);
        let name = match order {
            RowOrder::Windows => "window_start",
            RowOrder::Times => "ltime_ns",
        };
        let time = place(name).ok_or_else(|| format!("it has no column {name}"))?;
        let addresses = match order {
            RowOrder::Windows => ["dst_addr", "src_addr"].into_iter().filter_map(place).collect(),
            RowOrder::Times => Vec::new(),
        };
        Ok(Self { path: path.to_owned(), file, time, addresses })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn schema(&self) -> Arc<Type> {
        self.file.metadata().file_metadata().schema_descr().root_schema_ptr()
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &ColumnDescriptor> {
        self.file.metadata().file_metadata().schema_descr().columns().iter().map(|column| &**column)
    }

    pub(super) fn metadata(&self) -> &[KeyValue] {
        self.file.metadata().file_metadata().key_value_metadata().map_or(&[], Vec::as_slice)
    }

    pub(super) fn entry(&self, name: &str) -> Option<&str> {
        self.metadata().iter().find(|entry| entry.key == name)?.value.as_deref()
    }

    /// Returns true if the rows of both can be in one file.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.schema() == other.schema() && COMMON.iter().all(|name| self.entry(name) == other.entry(name))
    }

    pub(super) fn groups(&self) -> std::ops::Range<usize> {
        0..self.file.metadata().num_row_groups()
    }

    fn group(&self, group: usize) -> &RowGroupMetaData {
        self.file.metadata().row_group(group)
    }

    pub(super) fn row_count(&self, group: usize) -> usize {
        usize::try_from(self.group(group).num_rows()).unwrap_or(0)
    }

    /// The least and the greatest time in a row group, where the file tells it.
    pub(super) fn times(&self, group: usize) -> Option<[i64; 2]> {
        match self.group(group).column(self.time).statistics()? {
            Statistics::Int64(values) => Some([*values.min_opt()?, *values.max_opt()?]),
            _ => None,
        }
    }

    /// The row groups that may have rows of a pass.
    pub(super) fn groups_of(&self, pass: &SortPass) -> impl Iterator<Item = usize> {
        self.groups().filter(|group| {
            self.row_count(*group) != 0
                && self
                    .times(*group)
                    .is_none_or(|[first, last]| pass.times.start <= last && first < pass.times.end)
        })
    }

    /// The values of a column in a row group.
    fn column(&self, group: usize, number: usize) -> Result<BufferedColumn, String> {
        let descriptor = self.file.metadata().file_metadata().schema_descr().column(number);
        let mut column = BufferedColumn::from_descriptor(&descriptor);
        self.append(group, number, None, &mut column)?;
        Ok(column)
    }

    fn append(
        &self,
        group: usize,
        number: usize,
        marks: Option<&[bool]>,
        column: &mut BufferedColumn,
    ) -> Result<(), String> {
        let name = self.group(group).column(number).column_path().string();
        let rows = self.row_count(group);
        guarded(|| {
            let reader = self.file.get_row_group(group).and_then(|group| group.get_column_reader(number));
            column.read(reader.map_err(|error| error.to_string())?, rows, marks)
        })
        .map_err(|reason| format!("row group {}, column {name}: {reason}", group + 1))
    }

    /// The times of the rows of a row group.
    pub(super) fn all_times(&self, group: usize) -> Result<Vec<i64>, String> {
        match self.times(group) {
            // Not even read.
            Some([first, last]) if first == last => Ok(vec![first; self.row_count(group)]),
            _ => Ok(self.column(group, self.time)?.integers().to_vec()),
        }
    }

    /// Destination and source of the rows of a row group; zero without.
    pub(super) fn all_addresses(&self, group: usize) -> Result<Vec<[u128; 2]>, String> {
        let mut all = vec![[0; 2]; self.row_count(group)];
        for (at, number) in self.addresses.iter().enumerate() {
            let column = self.column(group, *number)?;
            all.iter_mut().zip(column.addresses()).for_each(|(both, address)| both[at] = address);
        }
        Ok(all)
    }

    /// Finds the rows of a row group that are of a pass.
    pub(super) fn rows_of(&self, group: usize, pass: &SortPass) -> Result<SelectedRows, String> {
        let is_whole =
            self.times(group).is_some_and(|times| times.iter().all(|time| pass.times.contains(time)));
        if is_whole && pass.addresses.is_none() {
            return Ok(SelectedRows { count: self.row_count(group), marks: None });
        }
        let mut marks: Vec<bool> =
            self.all_times(group)?.iter().map(|time| pass.times.contains(time)).collect();
        if let Some(range) = &pass.addresses {
            let both = self.all_addresses(group)?;
            marks.iter_mut().zip(both).for_each(|(mark, both)| *mark &= range.contains(&both));
        }
        let count = marks.iter().filter(|mark| **mark).count();
        Ok(SelectedRows { count, marks: (count != marks.len()).then_some(marks) })
    }

    /// Appends rows to a batch.
    pub(super) fn read(
        &self,
        group: usize,
        rows: &SelectedRows,
        batch: &mut ColumnBatch,
    ) -> Result<(), String> {
        let marks = rows.marks.as_deref();
        let is_picked = |row: &usize| marks.is_none_or(|marks| marks[*row]);
        let (times, both) = (self.all_times(group)?, self.all_addresses(group)?);
        if times.len() != both.len() {
            return Err(format!("row group {}: it has fewer values than rows", group + 1));
        }
        for (number, column) in batch.columns_mut().iter_mut().enumerate() {
            self.append(group, number, marks, column)?;
        }
        batch.keys.0.extend((0..times.len()).filter(is_picked).map(|row| (times[row], both[row])));
        Ok(())
    }
}
