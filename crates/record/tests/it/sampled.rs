//! Files of sampled packets say by which share.

use crate::given::of_bytes;
use crate::sample;
use crate::tool;
use flow::Share;
use record::read::FlowFile;
use record::{Format, Selection};
use std::fs;

#[test]
fn every_format_carries_the_share() {
    let directory = tool::Directory::new("sampled");
    let share = Share::from_ppm(100_000).expect("a share");
    let of = |name: &str, share: Share| {
        let path = directory.path(name);
        let selection = Selection::all().with_share(share);
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

/// What a file says of its samples.
fn told(format: Format, text: &str) -> (bool, Option<Share>) {
    let file = of_bytes(format, text.as_bytes().to_vec()).expect("flows");
    (file.contents().sampled, file.contents().share)
}

#[test]
fn a_share_that_is_no_number_is_not_known() {
    let csv = |share: &str| told(Format::Csv, &format!("bytes,sampling_share\n1,{share}\n"));
    for unknown in ["10%", "1:10", "0", "1.5", "nan", "all"] {
        assert_eq!(csv(unknown), (true, None), "{unknown}");
        let json = format!("{{\"bytes\":1,\"sampling_share\":\"{unknown}\"}}");
        assert_eq!(told(Format::JsonLines, &json), (true, None), "{unknown}");
    }
    assert_eq!(
        (csv(" 0.1 "), csv("1"), csv("")),
        ((true, Share::from_ppm(100_000)), (false, Some(Share::ALL)), (false, None))
    );
    for unknown in ["[0.1]", "true", "{}", "-1"] {
        let json = format!("{{\"bytes\":1,\"sampling_share\":{unknown}}}");
        assert_eq!(told(Format::JsonLines, &json), (true, None), "{unknown}");
    }
}

#[test]
fn lines_of_json_tell_one_share_or_none() {
    let of = |shares: &[&str]| {
        let line = |share: &&str| match *share {
            "" => "{\"bytes\":1}\n".to_owned(),
            share => format!("{{\"bytes\":1,\"sampling_share\":{share}}}\n"),
        };
        told(Format::JsonLines, &shares.iter().map(line).collect::<String>())
    };
    let tenth = (true, Share::from_ppm(100_000));
    // A string is what it contains, as elsewhere; null is not told.
    for one in [&["0.1"][..], &["\"0.1\""], &["0.1", "0.10", "1e-1"], &["null", "0.1"], &["0.1", "", "null"]]
    {
        assert_eq!(of(one), tenth, "{one:?}");
    }
    for two in
        [&["0.1", "0.2"][..], &["1", "0.1"], &["0.1", "1"], &["0.1", "\"10%\""], &["0.1", "0.2", "0.1"]]
    {
        assert_eq!(of(two), (true, None), "{two:?}");
    }
    for none in [&["null"][..], &["null", ""], &["\"\""]] {
        assert_eq!(of(none), (false, None), "{none:?}");
    }
    assert_eq!(of(&["1", "1.0"]), (false, Some(Share::ALL)));
}
