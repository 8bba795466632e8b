//! The windows and times that nodes lack, in the archive: windows that never came, and times that no condition judges.

use controller::{Controller, Lacks};
use std::collections::BTreeMap;

/// The prefix of the names of their states.
pub(super) const PREFIX: &str = "lacks/";

/// The number of times that each node's lacks had changed when they were stored, by node.
pub(super) type StoredChanges = BTreeMap<String, u64>;

/// Those that are not stored yet: names and texts.
pub(super) fn new(
    controller: &Controller,
    stored: &StoredChanges,
) -> Result<Vec<(String, String)>, serde_json::Error> {
    let is_new =
        |(name, _, version): &(&str, &Lacks, u64)| stored.get(*name).map_or(0, |stored| *stored) != *version;
    let text = |(name, lacks, _): (&str, &Lacks, u64)| {
        Ok((format!("{PREFIX}{name}"), serde_json::to_string(lacks)?))
    };
    controller.lacks().filter(is_new).map(text).collect()
}

/// Returns the numbers that hold once the states of [`new`] are stored.
pub(super) fn stored(controller: &Controller) -> StoredChanges {
    controller.lacks().map(|(name, _, version)| (name.to_owned(), version)).collect()
}

/// Reads states: what each node lacks, and a line for each state that is damaged. Such a state is left out, as if the node had lacked nothing.
pub(super) fn read(states: &[(String, String)]) -> (Vec<(String, Lacks)>, Vec<String>) {
    let (mut read, mut damaged) = (Vec::new(), Vec::new());
    for (name, text) in states {
        let node = name.strip_prefix(PREFIX).unwrap_or(name);
        match serde_json::from_str(text) {
            Ok(lacks) => read.push((node.to_owned(), lacks)),
            Err(error) => damaged.push(format!(
                "{node}: its gaps and missing windows are damaged in the state and are counted anew: {error}"
            )),
        }
    }
    (read, damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_state_is_said_with_its_node_and_the_others_are_read() {
        let whole = serde_json::to_string(&Lacks::default()).expect("JSON");
        let cut = &whole[..whole.len() - 1];
        let states = [("lacks/A", &*whole), ("lacks/B", cut), ("lacks/C", "")];
        let (read, damaged) = read(&states.map(|(name, text)| (name.to_owned(), text.to_owned())));
        assert_eq!(read, [("A".to_owned(), Lacks::default())]);
        assert_eq!(damaged.len(), 2, "{damaged:?}");
        assert!(damaged[0].starts_with("B: ") && damaged[1].starts_with("C: "), "{damaged:?}");
    }
}
