//! Segments of an hour as one file.

use crate::begun::{Begun, FileProperties};
use crate::rollup::{self, RollupFailure, RollupJob};
use crate::shared::StoreState;
use crate::{Level, StoredFile};
use record::{CopyError, RowOrder, sorted_copy};
use std::path::PathBuf;

/// The result of a compaction: one file, and what it was made of.
pub(crate) struct Compacted {
    pub(crate) begun: Begun,
    pub(crate) complete: FileProperties,
    /// The files that the new file takes the place of.
    pub(crate) replaced: Vec<StoredFile>,
}

/// Makes one file of files of one level, node, hour, key and length of windows. `None` if they cannot be one.
pub(crate) fn write(
    shared: &StoreState,
    files: &[StoredFile],
    parts: &mut u64,
) -> Result<Option<Compacted>, RollupFailure> {
    let Some(first) = files.first() else { return Ok(None) };
    let order = match first.level {
        Level::Rows => RowOrder::Windows,
        Level::Flows => RowOrder::Times,
        Level::Minute | Level::Hour => {
            let job =
                RollupJob { files, level: first.level, window_ns: first.window_ns, is_compaction: true };
            let written = rollup::write(shared, &job, parts)?;
            let is_rolled = files.iter().all(|file| file.is_rolled);
            return Ok(written.map(|(begun, complete)| Compacted {
                begun,
                complete: FileProperties { is_rolled, ..complete },
                replaced: files.to_vec(),
            }));
        }
    };
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let begun = Begun::create(shared, first.level, &first.node, first.first_ns, |_| Ok(()));
    let (begun, ()) = begun.map_err(RollupFailure::Output)?;
    let copied = match sorted_copy(&paths, begun.path(), order, &shared.gives_up) {
        Ok(copied) => copied,
        Err(error) => {
            begun.discard(shared);
            return Err(match error {
                CopyError::Damaged(path, reason) => RollupFailure::Damaged(path, reason),
                CopyError::Output(reason) => RollupFailure::Output(reason),
                CopyError::Stopped => RollupFailure::Stopped,
            });
        }
    };
    let replaced: Vec<StoredFile> =
        files.iter().filter(|file| !copied.left.contains(&file.path)).cloned().collect();
    let sum = replaced.iter().map(|file| file.rows).sum::<u64>();
    if replaced.len() < 2 || sum != copied.rows {
        begun.discard(shared);
        if replaced.len() < 2 {
            return Ok(None);
        }
        let (path, rows) = (first.path.display(), copied.rows);
        return Err(RollupFailure::Output(format!(
            "{path} and others have {rows} rows, not the {sum} that were written"
        )));
    }
    let complete = FileProperties {
        first_ns: replaced.iter().map(|file| file.first_ns).min().unwrap_or(0),
        last_ns: replaced.iter().map(|file| file.last_ns).max().unwrap_or(0),
        window_ns: first.window_ns,
        rows: copied.rows,
        key: first.key.clone(),
        is_compacted: true,
        is_rolled: replaced.iter().all(|file| file.is_rolled),
    };
    Ok(Some(Compacted { begun, complete, replaced }))
}
