//! The period that is replayed, and the part of it that is shown.

use super::windows;
use crate::exit::Failure;
use crate::open_files;
use crate::questions::periods;
use crate::questions::query_text::NamedText;
use crate::spec::RecordedOptions;
use history::Period;
use history::levels::Shelf;
use history::replay::{Named, Recording};
use std::path::Path;
use store::Catalog;

/// The most times that the manifest is asked again when files that it named are gone.
const MOST_TRIES: u32 = 20;

/// Opens these files, or the store that is named. Returns what is replayed, and the time up to which nothing is shown, if there is one:
/// windows before it are replayed for their values. `set`: variables of the texts.
pub(super) fn open(
    source: &RecordedOptions,
    files: Vec<Named>,
    texts: &[NamedText],
    set: &[(String, String)],
) -> Result<(Recording, Option<u64>), Failure> {
    let period = periods::parse_options(source.from.as_deref(), source.to.as_deref())?;
    let reach_ns = period.map_or(0, |_| windows::reach_ns(source, set, texts));
    let replayed = period.map(|period| Period { from_ns: period.from_ns.saturating_sub(reach_ns), ..period });
    let recording = match &source.store {
        None => Recording::open(files).map_err(Failure::usage)?,
        Some(folder) => open_store(folder, replayed.unwrap_or(Period::ALL))?,
    };
    let shown_from = period.map(|period| period.from_ns).filter(|_| reach_ns != 0);
    Ok((recording.within(replayed.unwrap_or(Period::ALL)), shown_from))
}

/// Opens the rows of a store that count in a period.
fn open_store(folder: &Path, period: Period) -> Result<Recording, Failure> {
    open_files::allow_many();
    let failure = |line: String| match store::is_damage(&line) {
        true => Failure::damage(line),
        false => Failure::usage(line),
    };
    let catalog = Catalog::open(folder).map_err(failure)?;
    let mut tries = 0;
    loop {
        let shelf = Shelf::open(&catalog).map_err(failure)?;
        let failure = |line: String| shelf.damage().map_or(Failure::usage(line), Failure::damage);
        let files = shelf.rows_of(period).map(|path| Named { name: None, path: path.to_owned() });
        let files: Vec<_> = files.collect();
        if files.is_empty() {
            return Err(failure(format!(
                "{} has no rows of this time: there is no window to judge",
                folder.display()
            )));
        }
        let opened = Recording::open(files.iter().cloned());
        // Other files have taken the place of those that are gone.
        let is_gone = files.iter().any(|file| !file.path.exists());
        tries += 1;
        if !is_gone || tries == MOST_TRIES {
            let recording = opened.map_err(failure)?.without(shelf.missing());
            return Ok(match shelf.damage() {
                Some(damage) => recording.mark_damaged(damage.clone()),
                None => recording,
            });
        }
    }
}
