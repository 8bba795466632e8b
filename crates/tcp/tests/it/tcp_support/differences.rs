//! The differences that remain, and why.

use std::collections::BTreeMap;
use std::path::Path;

/// What `differences.txt` lists: its head explains the format.
#[derive(Debug)]
pub(crate) struct Listed(BTreeMap<String, Vec<String>>);

impl Listed {
    pub(crate) fn read(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut listed = BTreeMap::<String, Vec<String>>::new();
        let (mut has_reason, mut name) = (false, None);
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            if let Some(entry) = line.strip_prefix("  ") {
                let name: &String = name.as_ref().unwrap_or_else(|| panic!("no capture before: {line}"));
                listed.entry(name.clone()).or_default().push(entry.to_owned());
            } else if line.starts_with("why: ") {
                (has_reason, name) = (true, None);
            } else {
                assert!(has_reason, "a capture without a reason: {line}");
                name = Some(line.to_owned());
            }
        }
        listed.values_mut().for_each(|entries| entries.sort());
        Self(listed)
    }

    /// The differences that are known of a capture, sorted.
    pub(crate) fn of(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}
