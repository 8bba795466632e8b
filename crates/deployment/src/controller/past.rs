//! Earlier windows that queries read, in the archive: each is stored once.

use controller::Controller;
use events::SavedWindows;
use std::collections::BTreeSet;

/// The prefix of the names of their states.
pub(super) const PREFIX: &str = "past/";

/// The names of all that are kept.
pub(super) fn names(controller: &Controller) -> BTreeSet<String> {
    controller.past().map(|part| format!("{PREFIX}{}", part.name())).collect()
}

/// Those that are not stored yet: names and texts.
pub(super) fn new(
    controller: &Controller,
    stored: &BTreeSet<String>,
) -> Result<Vec<(String, String)>, serde_json::Error> {
    let named = controller.past().map(|part| (format!("{PREFIX}{}", part.name()), part));
    let is_new = named.filter(|(name, _)| !stored.contains(name));
    is_new.map(|(name, part)| Ok((name, serde_json::to_string(&part.windows())?))).collect()
}

/// The windows of these states. One that is damaged is as if it had not been measured.
pub(super) fn read(states: &[(String, String)]) -> impl Iterator<Item = SavedWindows> + '_ {
    states.iter().filter_map(|(_, text)| serde_json::from_str(text).ok())
}
