//! The cookbook as a text: its entries, each with lines to type.

use std::path::Path;

/// Programs whose lines run here. Those of others (goQuery) are only shown.
const PEERS: [&str; 7] = ["mkdir", "nfdump", "nfpcapd", "tshark", "racluster", "argus", "capinfos"];

/// A task and its lines.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) task: String,
    pub(crate) lines: Vec<String>,
}

impl Entry {
    /// The lines of Edison.
    pub(crate) fn edison(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str).filter(|line| line.starts_with("edison "))
    }

    /// The lines of other programs that run here.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str).filter(|line| PEERS.contains(&program(line)))
    }
}

/// The program of a line.
pub(crate) fn program(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// All entries; the first one makes the files.
pub(crate) fn entries() -> Vec<Entry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cookbook.md");
    let text = std::fs::read_to_string(path).expect("the cookbook");
    let (mut task, mut entries, mut lines) = (String::new(), Vec::new(), None);
    for line in text.lines() {
        match (line, &mut lines) {
            ("```sh", None) => lines = Some(Vec::new()),
            ("```", Some(_)) => {
                let task = task.clone();
                entries.push(Entry { task, lines: lines.take().expect("a block") });
            }
            (line, Some(lines)) => lines.push(line.to_owned()),
            (line, None) => {
                if let Some(heading) = line.strip_prefix("## ").or(line.strip_prefix("### ")) {
                    task = heading.to_owned();
                }
            }
        }
    }
    entries
}
