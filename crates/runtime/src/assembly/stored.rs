//! The store of `--store`: opened before a measurement, closed after it, and what is said of it.

use super::folder;
use crate::exit::{EARLY, FAULT, Failure, say};
use crate::machine;
use crate::spec::RunSpec;
use crate::verdict::ExitStatus;
use std::sync::Arc;
use store::StoreWriter;

/// The store that the options name, where it is there already. That a new one could be made is checked, and nothing of it is left: [`open`] makes
/// it once all checks have passed.
pub(crate) fn existing(options: &RunSpec) -> Result<Option<Arc<StoreWriter>>, Failure> {
    let Some(path) = &options.output.store else { return Ok(None) };
    if StoreWriter::is_at(path) {
        return open(options, None);
    }
    folder::check(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(None)
}

/// Opens the store that the options name, if they name one, unless it is open already.
pub(crate) fn open(
    options: &RunSpec,
    existing: Option<Arc<StoreWriter>>,
) -> Result<Option<Arc<StoreWriter>>, Failure> {
    let (None, Some(folder), Some(queue)) = (&existing, &options.output.store, queue_bytes(options)) else {
        return Ok(existing);
    };
    let store = StoreWriter::open(folder, options.output.store_keep.unwrap_or_default(), queue)
        .map_err(Failure::usage)?;
    store.remarks().iter().for_each(|line| say(line));
    Ok(Some(Arc::new(store)))
}

/// Returns the most bytes that wait to be written to the store, where the options name one.
pub(super) fn queue_bytes(options: &RunSpec) -> Option<usize> {
    options.output.store.as_ref()?;
    let memory = options.limit.memory.unwrap_or_else(machine::half_of_memory);
    // Flow tables have the greater part of a small memory.
    Some(usize::try_from(memory / 8).unwrap_or(usize::MAX).min(StoreWriter::QUEUE_BYTES))
}

/// Closes the store once all that was measured is handed over, and says what it lacks. `is_live`: rollups under way wait until the next
/// start.
pub(crate) fn close(store: Option<&Arc<StoreWriter>>, is_live: bool, verdict: &mut ExitStatus) {
    let Some(store) = store else { return };
    let counts = store.close(is_live);
    store.remarks().iter().for_each(|line| say(line));
    let folder = store.folder().display();
    for (what, of) in [("window rows", counts.rows), ("flow records", counts.flows)] {
        if of.lost() == 0 {
            continue;
        }
        let [behind, refused] = [of.behind, of.refused].map(notation::grouped);
        verdict.lines.push(format!(
            "the store {folder} lacks {what}: {behind} came faster than the disk took them, {refused} could not be written"
        ));
        verdict.code = if of.refused != 0 || verdict.code == FAULT { FAULT } else { verdict.code.max(EARLY) };
    }
}
