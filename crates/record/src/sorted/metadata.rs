//! The metadata of the copy: what all files tell of their rows.

use super::input::SortedInputFile;
use crate::parquet_file::entry;
use crate::{RecordedWindows, Shortfall};
use parquet::file::metadata::KeyValue;

const WINDOWS: &str = "edison.windows";
const WITHOUT_PLACE: &str = "edison.without_place";
const VERSION: &str = "edison.version";

pub(super) fn merged(inputs: &[SortedInputFile]) -> Vec<KeyValue> {
    let mut metadata: Vec<KeyValue> = Vec::new();
    for known in inputs.iter().flat_map(SortedInputFile::metadata) {
        let is_merged = |name: &str| {
            [WINDOWS, WITHOUT_PLACE, VERSION].contains(&name)
                || name.strip_prefix("edison.").is_some_and(|name| Shortfall::NAMES.contains(&name))
        };
        let is_own = known.key.starts_with("edison.") && !is_merged(&known.key);
        if is_own && !metadata.iter().any(|other| other.key == known.key) {
            metadata.push(known.clone());
        }
    }
    metadata.push(entry("version", env!("CARGO_PKG_VERSION").to_owned()));
    let lists: Vec<_> = inputs
        .iter()
        .filter_map(|input| RecordedWindows::from_json(input.entry(WINDOWS)?))
        .filter(|list| !list.is_empty())
        .collect();
    if let Some(Ok(text)) = RecordedWindows::merged(&lists).map(|list| list.to_json()) {
        metadata.push(entry("windows", text));
    }
    let mut sums = [0_u64; 3];
    for text in inputs.iter().filter_map(|input| input.entry(WITHOUT_PLACE)) {
        for (sum, number) in sums.iter_mut().zip(text.split(',')) {
            *sum = sum.saturating_add(number.parse().unwrap_or(0));
        }
    }
    if sums != [0; 3] {
        metadata.push(entry("without_place", sums.map(|sum| sum.to_string()).join(",")));
    }
    let mut shortfall = Shortfall::default();
    for input in inputs {
        let entry = |name: &str| input.entry(&format!("edison.{name}")).map(str::to_owned);
        shortfall.add(&Shortfall::from_entries(entry));
    }
    metadata.extend(shortfall.entries().map(|(name, value)| entry(name, value)));
    metadata
}
