//! The differences that remain, and why.

use super::flow::{Counts, Flows, Level};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where the two differ, key by key: `-` tshark's result, `+` Edison's, each with packets and bytes.
pub(crate) fn difference(tshark: &Flows, edison: &Flows) -> Vec<String> {
    let keys: BTreeSet<_> = tshark.keys().chain(edison.keys()).collect();
    let mut lines = Vec::new();
    for key in keys {
        let (theirs, ours) = (tshark.get(key), edison.get(key));
        if theirs != ours {
            for (sign, counts) in [('-', theirs), ('+', ours)] {
                if let Some(Counts { packets, bytes }) = counts {
                    lines.push(format!("{sign} {key} {packets} {bytes}"));
                }
            }
        }
    }
    lines
}

/// What `differences.txt` lists: its head explains the format.
#[derive(Debug)]
pub(crate) struct Listed(BTreeMap<(String, Level), Vec<String>>);

impl Listed {
    pub(crate) fn read(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut listed = BTreeMap::<_, Vec<String>>::new();
        let (mut names, mut reason) = (Vec::<(String, Level)>::new(), None);
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            if let Some(why) = line.strip_prefix("why: ") {
                reason = Some(why);
                names.clear();
            } else if let Some(entry) = line.strip_prefix("  ") {
                for name in &names {
                    listed.entry(name.clone()).or_default().push(entry.to_owned());
                }
            } else {
                assert!(reason.is_some(), "a capture without a reason: {line}");
                let (name, levels) = line.rsplit_once(' ').expect("a name and its levels");
                let is_named = |level: &Level| levels.split(',').any(|named| named == level.name());
                names =
                    Level::ALL.into_iter().filter(is_named).map(|level| (name.to_owned(), level)).collect();
                assert!(!names.is_empty(), "no level: {line}");
                for name in &names {
                    assert!(listed.insert(name.clone(), Vec::new()).is_none(), "listed twice: {line}");
                }
            }
        }
        Self(listed)
    }

    /// The difference that is known of a capture.
    pub(crate) fn of(&self, name: &str, level: Level) -> &[String] {
        self.0.get(&(name.to_owned(), level)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &(String, Level)> {
        self.0.keys()
    }
}
