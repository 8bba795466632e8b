//! The progress of the delivery of a store's rows, and the file that keeps it.

use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use store::StoredFile;

/// Nanoseconds of an hour: no file has rows of two.
const HOUR: u64 = 3_600_000_000_000;

/// The progress of the delivery of a node's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryProgress {
    /// The begin of the last window that was delivered.
    pub(crate) after_ns: Option<u64>,
    /// The numbers of segments that were delivered and are there still. A number is given when a segment is begun: the manifest may name a later one
    /// before.
    pub(crate) segments: BTreeSet<u64>,
    /// The segment that is under way, and the begin of its last window that was delivered.
    pub(crate) current: Option<(u64, u64)>,
    /// Rows that were delivered, by what becomes one file ([`group_of`]).
    pub(crate) delivered: BTreeMap<String, u64>,
}

/// Returns the group of a file, whose members become one file: its hour, the length of its windows, and its key.
pub(crate) fn group_of(file: &StoredFile) -> String {
    format!("{} {} {}", file.first_ns / HOUR, file.window_ns, file.key)
}

/// Reads the file; nothing was delivered where there is none.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, DeliveryProgress>, String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    parse_json(&text)
        .ok_or_else(|| format!("{} is damaged: remove it, and all rows are delivered again", path.display()))
}

fn parse_json(text: &str) -> Option<BTreeMap<String, DeliveryProgress>> {
    let json: Json = serde_json::from_str(text).ok()?;
    // Times are texts of digits: most readers hold numbers as doubles.
    let time = |json: &Json| json.as_str()?.parse::<u64>().ok();
    let of = |(node, json): (&String, &Json)| {
        let after_ns = match &json["after"] {
            Json::Null => None,
            after => Some(time(after)?),
        };
        let current = match &json["current"] {
            Json::Null => None,
            current => Some((current["segment"].as_u64()?, time(&current["after"])?)),
        };
        let delivered = json["delivered"].as_object()?.iter();
        let delivered = delivered.map(|(group, rows)| Some((group.clone(), rows.as_u64()?)));
        let delivered = delivered.collect::<Option<_>>()?;
        let segments = json["segments"].as_array()?.iter().map(Json::as_u64).collect::<Option<_>>()?;
        Some((node.clone(), DeliveryProgress { after_ns, segments, current, delivered }))
    };
    json["nodes"].as_object()?.iter().map(of).collect()
}

/// Writes the file so that a crash leaves the old text or the new one.
pub(crate) fn write(path: &Path, progress: &BTreeMap<String, DeliveryProgress>) -> Result<(), String> {
    let node = |(node, of): (&String, &DeliveryProgress)| {
        let after = of.after_ns.map(|after| after.to_string());
        let current =
            of.current.map(|(segment, after)| json!({ "segment": segment, "after": after.to_string() }));
        let DeliveryProgress { segments, delivered, .. } = of;
        let json =
            json!({ "after": after, "segments": segments, "current": current, "delivered": delivered });
        (node.clone(), json)
    };
    let nodes: serde_json::Map<String, Json> = progress.iter().map(node).collect();
    let text = format!("{}\n", json!({ "nodes": nodes }));
    let part = path.with_extension("json.part");
    let written = || {
        let mut file = File::create(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    written().map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kafka-rows.json");
        assert_eq!(read(&path), Ok(BTreeMap::new()));
        let delivered = BTreeMap::from([("498703 10 src_addr".to_owned(), 12)]);
        let segments = BTreeSet::from([5, 7]);
        let of = DeliveryProgress { after_ns: Some(u64::MAX), segments, current: Some((8, 9)), delivered };
        let all = BTreeMap::from([("a".to_owned(), of), ("b \"".to_owned(), DeliveryProgress::default())]);
        write(&path, &all).expect("it is written");
        assert_eq!(read(&path), Ok(all));
        for text in [
            "",
            "{}",
            "[]",
            r#"{"nodes":{"a":{}}}"#,
            r#"{"nodes":{"a":{"segments":[1],"after":3,"delivered":{}}}}"#,
            r#"{"nodes":{"a":{"segments":["1"],"after":null,"delivered":{}}}}"#,
        ] {
            fs::write(&path, text).expect("it is written");
            assert!(read(&path).expect_err(text).contains("damaged"), "{text}");
        }
    }
}
