//! The entries of docs/equery.md, section "Event cookbook".

use std::path::Path;

/// The queries of the entry with this heading.
#[track_caller]
pub(crate) fn entry(heading: &str) -> String {
    let entries = entries();
    let found = entries.iter().find(|(name, _)| name == heading);
    found.unwrap_or_else(|| panic!("no entry '{heading}'")).1.clone()
}

/// All entries: their headings and queries.
pub(crate) fn entries() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/equery.md");
    let text = std::fs::read_to_string(path).expect("the reference");
    let (_, section) = text.split_once("\n## Event cookbook\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let entry = |part: &str| {
        let (heading, rest) = part.split_once('\n').expect("a heading");
        let blocks: Vec<&str> = rest.split("\n```").collect();
        let [_, block, _] = blocks[..] else { panic!("{heading}: one block of queries is expected") };
        let (kind, queries) = block.split_once('\n').expect("a block");
        assert_eq!(kind, "equery check", "{heading}");
        (heading.to_owned(), queries.to_owned())
    };
    section.split("\n### ").skip(1).map(entry).collect()
}
