//! What nodes lack, in the archive: windows that never came, and times that no condition judges.

use controller::{Controller, Lacks};
use std::collections::BTreeMap;

/// What the names of their states begin with.
pub(super) const PREFIX: &str = "lacks/";

/// How often what a node lacks had changed when it was stored, by node.
pub(super) type Stored = BTreeMap<String, u64>;

/// Those that are not stored yet: names and texts.
pub(super) fn new(
    controller: &Controller,
    stored: &Stored,
) -> Result<Vec<(String, String)>, serde_json::Error> {
    let is_new =
        |(name, _, version): &(&str, &Lacks, u64)| stored.get(*name).map_or(0, |stored| *stored) != *version;
    let text = |(name, lacks, _): (&str, &Lacks, u64)| {
        Ok((format!("{PREFIX}{name}"), serde_json::to_string(lacks)?))
    };
    controller.lacks().filter(is_new).map(text).collect()
}

/// What is stored once these are.
pub(super) fn stored(controller: &Controller) -> Stored {
    controller.lacks().map(|(name, _, version)| (name.to_owned(), version)).collect()
}

/// What these states say, by node. One that is damaged is as if the node had lacked nothing.
pub(super) fn read(states: &[(String, String)]) -> impl Iterator<Item = (String, Lacks)> + '_ {
    let one = |(name, text): &(String, String)| {
        Some((name.strip_prefix(PREFIX)?.to_owned(), serde_json::from_str(text).ok()?))
    };
    states.iter().filter_map(one)
}
