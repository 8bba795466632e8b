//! Parquet files of rows or records as one, sorted, so that readers find what they need in few row groups.
//!
//! Values are copied as they are stored, whatever they mean. The files are read in passes, each of which takes the rows of some windows
//! (or, of a large window, of a range of destinations), so that memory does not grow with the files.

mod batch;
mod input;
mod metadata;
mod output;
mod pass;
mod plan;
mod values;

use crate::parquet_file::ROW_GROUP;
use batch::ColumnBatch;
use input::SortedInputFile;
use output::SortedFile;
use pass::SortPass;
use plan::plan;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Rows that a pass takes, about. The batch has room for a row group more.
const PASS: usize = 2 * ROW_GROUP;

/// The order of the rows of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Window rows: by window, then destination and source. In windows of very many rows of one destination the order may have breaks.
    Windows,
    /// Flow records: by the time of their last packet.
    Times,
}

/// The result of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The number of rows.
    pub rows: u64,
    /// The files that were not copied, for their columns, or what they are of, differ from those of the first.
    pub left: Vec<PathBuf>,
}

/// The reason why nothing was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyError {
    /// A file that cannot be read: which, and one line that names it.
    Damaged(PathBuf, String),
    /// A copy that cannot be written: one line.
    Output(String),
    /// A copy that was to stop.
    Stopped,
}

/// Copies the rows of Parquet files into one of a store, which is on the disk before it gets its name.
///
/// # Errors
/// Returns a [`CopyError`]. Nothing is left of the copy then, but for what an output that cannot be removed leaves under `PATH.part`.
pub fn sorted_copy(
    inputs: &[PathBuf],
    output: &Path,
    order: RowOrder,
    stop: &AtomicBool,
) -> Result<Copied, CopyError> {
    let mut opened: Vec<SortedInputFile> = Vec::new();
    let mut left = Vec::new();
    for path in inputs {
        let input = SortedInputFile::open(path, order).map_err(|reason| damaged(path, reason))?;
        match opened.first() {
            Some(first) if !first.is_like(&input) => left.push(path.clone()),
            _ => opened.push(input),
        }
    }
    let Some(first) = opened.first() else { return Ok(Copied { rows: 0, left }) };
    let passes = plan(&opened, order, stop)?;
    let mut target =
        SortedFile::create(output, first.schema(), metadata::merged(&opened)).map_err(CopyError::Output)?;
    let copied =
        copy(&opened, &passes, &mut target, stop).and_then(|()| target.finish().map_err(CopyError::Output));
    if copied.is_err() {
        SortedFile::remove(output);
    }
    copied.map(|rows| Copied { rows, left })
}

fn copy(
    inputs: &[SortedInputFile],
    passes: &[SortPass],
    output: &mut SortedFile,
    stop: &AtomicBool,
) -> Result<(), CopyError> {
    let Some(first) = inputs.first() else { return Ok(()) };
    let mut batch = ColumnBatch::from_descriptors(first.columns());
    for pass in passes {
        for input in inputs {
            for group in input.groups_of(pass) {
                if stop.load(Relaxed) {
                    return Err(CopyError::Stopped);
                }
                let rows = input.rows_of(group, pass).map_err(|reason| damaged(input.path(), reason))?;
                if rows.count != 0 {
                    if batch.len() + rows.count > PASS + ROW_GROUP {
                        batch.write(output).map_err(CopyError::Output)?;
                    }
                    input.read(group, &rows, &mut batch).map_err(|reason| damaged(input.path(), reason))?;
                }
            }
        }
        batch.write(output).map_err(CopyError::Output)?;
    }
    Ok(())
}

fn damaged(path: &Path, reason: String) -> CopyError {
    CopyError::Damaged(path.to_owned(), format!("{}: {reason}", path.display()))
}
