//! Files of sampled packets say by which share.

use crate::sample;
use crate::tool;
use flow::Share;
use record::Selection;
use record::read::FlowFile;
use std::fs;

#[test]
fn every_format_carries_the_share() {
    let directory = tool::Directory::new("sampled");
    let share = Share::of_ppm(100_000).expect("a share");
    let of = |name: &str, share: Share| {
        let path = directory.path(name);
        let selection = Selection::all().of_sample(share);
        let mut writer = record::create(&path, "node", &selection).expect("a file");
        writer.write(&sample::records(10)).expect("written");
        writer.finish().expect("written");
        let file = FlowFile::open(&path).expect("flows");
        let contents = file.contents();
        assert!(contents.unread.iter().all(|(column, _)| !column.contains("share")), "{:?}", contents.unread);
        (contents.sampled, contents.share)
    };
    for name in ["a.csv", "a.jsonl", "a.parquet", "a.ipfix"] {
        assert_eq!(of(name, share), (true, Some(share)), "{name}");
    }
    // Other programs read the text as before: the share is a column behind the others.
    let csv = fs::read_to_string(directory.path("a.csv")).expect("text");
    let ends: Vec<_> = csv.lines().map(|line| line.rsplit(',').next().unwrap_or_default()).collect();
    assert_eq!((ends[0], &ends[1..]), ("sampling_share", &["0.1"; 10][..]));
    let json = fs::read_to_string(directory.path("a.jsonl")).expect("text");
    for line in json.lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(value["sampling_share"], 0.1);
    }
    // Files of all packets are as they were.
    for name in ["a.csv", "a.jsonl", "a.parquet", "a.ipfix"] {
        assert_eq!(of(name, Share::ALL), (false, None), "{name}");
    }
    assert!(!fs::read_to_string(directory.path("a.csv")).expect("text").contains("share"));
}
