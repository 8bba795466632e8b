//! Rows of a store: each is delivered at least once under one identifier, whatever becomes of its file and of the process.

use crate::support::Fake;
use flow::{Rows, Sampled, Share, TrackedParts, WindowRow};
use kafka::{Bell, DeliveryThread, Outbox, StoredRows};
use model::{Answer, AnswerStatus, Class, Value};
use packet::{KeySpec, KeyV4, KeyV6};
use proptest::prelude::*;
use record::{RecordedWindows, RowWindow, RowWriter, WindowFacts};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use store::{Level, Manifest, ManifestChange, StoredFile};

const SECOND: u64 = 1_000_000_000;
/// The begin of an hour.
const START: u64 = 1_795_341_600 * SECOND;
const HOUR: u64 = 3_600 * SECOND;
const LENGTH: u64 = 10 * SECOND;
const LONG: Duration = Duration::from_secs(120);

/// The window of a row, and what no other row has: its number of packets.
type Truth = BTreeSet<(u64, u64)>;

/// A store whose files are made here.
struct Written {
    manifest: Manifest,
    /// Files by number, with their rows by window.
    files: BTreeMap<u64, (StoredFile, BTreeMap<u64, Vec<u64>>)>,
    truth: Truth,
    /// What is known of each window.
    facts: WindowFacts,
}

impl Written {
    fn new(folder: &Path) -> Self {
        let manifest = Manifest::open(folder).expect("a manifest");
        Self { manifest, files: BTreeMap::new(), truth: Truth::new(), facts: WindowFacts::default() }
    }

    /// Adds a segment with rows of windows of one hour.
    fn segment(&mut self, windows: BTreeMap<u64, Vec<u64>>) {
        let rows = windows.iter().flat_map(|(window, rows)| rows.iter().map(|row| (*window, *row)));
        self.truth.extend(rows);
        let file = self.file(&windows, false);
        let change = ManifestChange { added: vec![file.clone()], ..ManifestChange::default() };
        self.manifest.commit(&change).expect("it is written");
        self.files.insert(file.number, (file, windows));
    }

    /// Makes one file of all of an hour.
    fn compact(&mut self, hour: u64) {
        let is_of = |(_, (file, _)): &(&u64, &(StoredFile, _))| file.first_ns / HOUR == hour;
        let numbers: Vec<u64> = self.files.iter().filter(is_of).map(|(number, _)| *number).collect();
        if numbers.len() < 2 {
            return;
        }
        let mut all: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        // Another order of rows.
        for number in numbers.iter().rev() {
            for (window, rows) in &self.files[number].1 {
                all.entry(*window).or_default().extend(rows.iter().rev());
            }
        }
        let file = self.file(&all, true);
        let change = ManifestChange {
            added: vec![file.clone()],
            removed: numbers.clone(),
            ..ManifestChange::default()
        };
        self.manifest.commit(&change).expect("it is written");
        for number in numbers {
            let (old, _) = self.files.remove(&number).expect("a file");
            std::fs::remove_file(old.path).expect("it is there");
        }
        self.files.insert(file.number, (file, all));
    }

    /// Retention drops a file.
    fn drop_file(&mut self, number: u64) {
        let (file, _) = self.files.remove(&number).expect("a file");
        let removed = vec![number];
        self.manifest
            .commit(&ManifestChange { removed, ..ManifestChange::default() })
            .expect("it is written");
        std::fs::remove_file(file.path).expect("it is there");
    }

    fn file(&mut self, windows: &BTreeMap<u64, Vec<u64>>, is_compacted: bool) -> StoredFile {
        let number = self.manifest.take_number();
        let (first_ns, last_ns) =
            (*windows.keys().next().expect("a window"), *windows.keys().next_back().expect("a window"));
        let path = self.manifest.folder().join(store::place(Level::Rows, "n", first_ns, number));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        let mut writer =
            RowWriter::create(&path, "n", KeySpec::FIVE_TUPLE, TrackedParts::PLAIN).expect("a file");
        let mut recorded = RecordedWindows::new(LENGTH, LENGTH);
        for (start_ns, rows) in windows {
            let window = RowWindow { start_ns: *start_ns, end_ns: start_ns + LENGTH };
            let (mut v4, mut v6) = (Rows::<KeyV4>::default(), Rows::<KeyV6>::default());
            for packets in rows {
                let row = WindowRow { packets: *packets, ..WindowRow::<()>::default() };
                let n = packets.to_be_bytes();
                let ports = [n[6], n[7], 0, 80];
                match packets % 3 {
                    0 => v6.push(row.with_key(KeyV6::new(&[7; 16], &[9; 16], ports, 6)), None),
                    _ => v4.push(row.with_key(KeyV4::new([10, 0, 0, 1, 10, n[4], n[5], 2], ports, 6)), None),
                }
            }
            writer.write(window, &v4).expect("they are taken");
            writer.write(window, &v6).expect("they are taken");
            recorded.push(*start_ns, self.facts.clone());
        }
        writer.describe_windows(&recorded).expect("they are described");
        let rows = writer.finish().expect("it is complete");
        StoredFile {
            number,
            path,
            level: Level::Rows,
            node: "n".to_owned(),
            first_ns,
            last_ns,
            window_ns: LENGTH,
            rows,
            bytes: 1,
            key: KeySpec::FIVE_TUPLE.parts().join(","),
            created_ns: 0,
            is_compacted,
            is_rolled: false,
        }
    }
}

/// The rows of messages. Asserts that they are answers of one node in parts.
fn rows_of(values: &[Vec<u8>]) -> Vec<(u64, u64)> {
    let mut rows = Vec::new();
    for value in values {
        let json: Json = serde_json::from_slice(value).expect("JSON");
        assert_eq!(json["kind"], "rows");
        assert!(json["part"].as_u64() <= json["parts"].as_u64());
        let answer: Answer = serde_json::from_value(json["answer"].clone()).expect("an answer");
        assert_eq!((answer.query.as_str(), answer.node.as_deref()), ("rows", Some("n")));
        let window = answer.window.expect("a window");
        assert_eq!(window.end_ns - window.start_ns, LENGTH);
        for row in 0..answer.rows.len() {
            let Some(Value::Unsigned(packets)) = answer.value(row, "total_count") else {
                panic!("no packets")
            };
            rows.push((window.start_ns, *packets));
        }
    }
    rows
}

fn deliver(folder: &Path, fake: &Fake) -> kafka::KafkaOutcome {
    let outboxes: Vec<Box<dyn Outbox>> = vec![Box::new(StoredRows::new(folder))];
    let sink = DeliveryThread::start(
        outboxes,
        Box::new(fake.clone()),
        &Bell::default(),
        Box::new(|line| panic!("{line}")),
    );
    sink.expect("a thread").finish(LONG)
}

fn windows(of: &[(u64, u64)], next: &mut u64) -> BTreeMap<u64, Vec<u64>> {
    of.iter()
        .map(|(window, count)| {
            let rows = (*next..*next + count).collect();
            *next += count;
            (START + window * LENGTH, rows)
        })
        .collect()
}

#[test]
fn rows_are_those_that_were_written_and_windows_of_many_are_split() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    let mut next = 1;
    written.segment(windows(&[(0, 3), (1, 12_345), (5, 1)], &mut next));
    written.segment(windows(&[(6, 70_000)], &mut next));
    let fake = Fake::default();
    let ended = deliver(folder.path(), &fake);
    assert!(ended.waiting.is_empty() && ended.counts.lost.total() == 0, "{ended:?}");
    assert_eq!(ended.counts.delivered, 1 + 13 + 1 + 70);
    let rows = rows_of(&fake.values());
    assert_eq!(rows.len(), written.truth.len());
    assert_eq!(rows.into_iter().collect::<Truth>(), written.truth);
    // Another process finds nothing to do.
    assert_eq!(deliver(folder.path(), &Fake::default()).counts.delivered, 0);
}

#[test]
fn segments_that_are_named_out_of_order_are_all_delivered() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    let mut next = 1;
    // A number is given when a segment is begun, and a later one may be complete before.
    let begun = windows(&[(3, 7)], &mut next);
    let file = written.file(&begun, false);
    written.segment(windows(&[(1, 4)], &mut next));
    let fake = Fake::default();
    deliver(folder.path(), &fake);
    written
        .manifest
        .commit(&ManifestChange { added: vec![file], ..ManifestChange::default() })
        .expect("it is written");
    written.truth.extend(begun.iter().flat_map(|(window, rows)| rows.iter().map(|row| (*window, *row))));
    let ended = deliver(folder.path(), &fake);
    assert!(ended.waiting.is_empty(), "{ended:?}");
    assert_eq!(rows_of(&fake.values()).into_iter().collect::<Truth>(), written.truth);
}

#[test]
fn messages_of_rows_have_the_schema_and_name_what_is_lacking() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    written.segment(windows(&[(0, 5)], &mut 1));
    let fake = Fake::default();
    deliver(folder.path(), &fake);
    let json: Json = serde_json::from_slice(&fake.values()[0]).expect("JSON");
    let parse = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
    let of_answers = parse(include_str!("../../../../docs/schema/answer.json"));
    let registry = jsonschema::Registry::new().add("urn:edison:answer", &of_answers).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    let of_messages = parse(include_str!("../../../../docs/schema/kafka.json"));
    let validator = jsonschema::options().with_registry(&registry).build(&of_messages).expect("a schema");
    assert_eq!(validator.validate(&json).map_err(|error| error.to_string()), Ok(()), "{json:#}");
    let answer: Answer = serde_json::from_value(json["answer"].clone()).expect("an answer");
    assert_eq!(answer.status, AnswerStatus::Complete);
    let names: Vec<&str> = answer.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..5], ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"]);
    assert!(names.contains(&"wire_byte") && names.contains(&"ltime"), "{names:?}");
}

#[test]
fn messages_of_rows_of_a_sample_say_by_which_share() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    let sampled = Sampled::new(Share::from_ppm(150_000).expect("a share"), 5, 0, 1500);
    written.facts.sample = Some(sampled.into());
    written.segment(windows(&[(0, 5)], &mut 1));
    let fake = Fake::default();
    deliver(folder.path(), &fake);
    assert_eq!(rows_of(&fake.values()).len(), 5);
    let json: Json = serde_json::from_slice(&fake.values()[0]).expect("JSON");
    let answer: Answer = serde_json::from_value(json["answer"].clone()).expect("an answer");
    assert_eq!(
        (answer.class, answer.bounds.as_str(), answer.status),
        (Class::Sample, "none", AnswerStatus::Complete)
    );
    assert_eq!(answer.sampling.map(|sampling| (sampling.least, sampling.greatest)), Some((0.15, 0.15)));
    assert_eq!(answer.reason.as_deref(), Some("of sampled packets alone, not scaled: 15% of the packets"));
}

#[test]
fn a_merged_file_gives_the_same_messages_as_its_segments() {
    let parts = [windows(&[(0, 2_500)], &mut 1), windows(&[(1, 40)], &mut 10_000)];
    let ids = |compacts: bool| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut written = Written::new(folder.path());
        parts.iter().for_each(|windows| written.segment(windows.clone()));
        if compacts {
            written.compact(START / HOUR);
        }
        let fake = Fake::default();
        deliver(folder.path(), &fake);
        fake.taken_once()
    };
    assert_eq!(ids(false), ids(true));
}

#[test]
fn a_damaged_file_is_counted_and_the_rest_is_delivered() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    written.segment(windows(&[(0, 5)], &mut 1));
    written.segment(windows(&[(1, 5)], &mut 6));
    let first = written.files.values().next().expect("a file").0.path.clone();
    std::fs::write(first, b"PAR1 no more").expect("it is damaged");
    let fake = Fake::default();
    let ended = deliver(folder.path(), &fake);
    assert_eq!(ended.counts.lost.nonzero().collect::<Vec<_>>(), [("damaged", 1)]);
    assert_eq!(rows_of(&fake.values()).len(), 5);
}

#[test]
fn a_store_that_has_not_begun_has_nothing_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut outbox = StoredRows::new(&path);
    assert!(outbox.next().expect("an empty batch").messages.is_empty());
    assert_eq!(outbox.look(), Ok(Vec::new()));
    let mut written = Written::new(&path);
    written.segment(windows(&[(0, 5)], &mut 1));
    assert_eq!(outbox.next().expect("a batch").messages.len(), 1);
}

#[test]
fn hours_that_are_dropped_unsent_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    written.segment(windows(&[(0, 5)], &mut 1));
    written.segment(windows(&[(360, 2_001)], &mut 6));
    let mut outbox = StoredRows::new(folder.path());
    assert_eq!(outbox.next().expect("a batch").messages.len(), 1);
    outbox.acknowledge().expect("it is noted");
    let second = written.files.keys().next_back().copied().expect("a file");
    assert_eq!(outbox.next().expect("a batch").messages.len(), 3);
    outbox.acknowledge().expect("it is noted");
    written.segment(windows(&[(720, 2_001)], &mut 6));
    // It is listed, and then gone before it is read.
    let third = written.files.keys().next_back().copied().expect("a file");
    assert!(third > second && outbox.waiting() == 3);
    assert_eq!(outbox.look(), Ok(Vec::new()));
    written.drop_file(third);
    let batch = outbox.next().expect("a batch");
    assert!(batch.messages.is_empty());
    assert_eq!(batch.lost, [("dropped", 3)]);
}

#[test]
fn what_retention_drops_while_kafka_is_away_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    written.segment(windows(&[(0, 5)], &mut 1));
    let mut outbox = StoredRows::new(folder.path());
    // It is on its way, again and again.
    assert_eq!(outbox.next().expect("a batch").messages.len(), 1);
    written.segment(windows(&[(1, 1_500)], &mut 6));
    written.segment(windows(&[(2, 2_500)], &mut 2_000));
    written.segment(windows(&[(3, 10)], &mut 9_000));
    assert_eq!(outbox.look(), Ok(Vec::new()));
    let numbers: Vec<u64> = written.files.keys().copied().collect();
    // Of an hour, two segments go, and the file that is on its way too, which is open.
    [0, 1].iter().for_each(|at| written.drop_file(numbers[*at]));
    assert_eq!(outbox.look(), Ok(vec![("dropped", 2)]));
    written.drop_file(numbers[2]);
    assert_eq!(outbox.look(), Ok(vec![("dropped", 3)]));
    assert_eq!(outbox.look(), Ok(Vec::new()));
    // What is merged is not dropped.
    written.segment(windows(&[(4, 20)], &mut 10_000));
    assert_eq!(outbox.look(), Ok(Vec::new()));
    written.compact(START / HOUR);
    assert_eq!(outbox.look(), Ok(Vec::new()));
    outbox.acknowledge().expect("it is noted");
    drop(outbox);
    let fake = Fake::default();
    let ended = deliver(folder.path(), &fake);
    assert_eq!((rows_of(&fake.values()).len(), ended.counts.lost.total()), (30, 0));
}

#[test]
fn a_file_that_somebody_removes_is_counted_once_and_blocks_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    written.segment(windows(&[(0, 1_500)], &mut 1));
    written.segment(windows(&[(1, 5)], &mut 2_000));
    let first = written.files.keys().next().copied().expect("a file");
    std::fs::remove_file(&written.files[&first].0.path).expect("it is there");
    let mut outbox = StoredRows::new(folder.path());
    let batch = outbox.next().expect("a batch");
    assert_eq!((batch.messages.len(), batch.lost), (1, vec![("damaged", 2)]));
    outbox.acknowledge().expect("it is noted");
    let removed = vec![first];
    written.manifest.commit(&ManifestChange { removed, ..ManifestChange::default() }).expect("it is written");
    assert!(outbox.next().expect("a batch").is_empty());
}

#[test]
fn a_file_that_the_disk_does_not_give_is_no_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = Written::new(folder.path());
    written.segment(windows(&[(0, 5)], &mut 1));
    let path = written.files.values().next().expect("a file").0.path.clone();
    // A folder cannot be read as a file, not even by root.
    let aside = folder.path().join("aside");
    std::fs::rename(&path, &aside).expect("it is there");
    std::fs::create_dir(&path).expect("a folder");
    let mut outbox = StoredRows::new(folder.path());
    assert!(outbox.next().expect_err("no file").contains(&path.display().to_string()));
    std::fs::remove_dir(&path).expect("it is there");
    std::fs::rename(&aside, &path).expect("it is there");
    let batch = outbox.next().expect("a batch");
    assert_eq!((batch.messages.len(), batch.lost.len()), (1, 0));
}

/// What happens to a store and the one who delivers.
#[derive(Clone, Debug)]
enum Happening {
    /// A segment: its first window, the number of windows, and the number of rows of each. Windows may have been stored before.
    Segment { from: u64, windows: u64, rows: u64 },
    /// An hour becomes one file.
    Compacted(u64),
    /// A batch is taken, and acknowledged or not.
    Delivered { acknowledged: bool },
    /// The process is killed, and another one begins.
    Killed,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let segment = (0..6_u64, 1..4_u64, prop_oneof![4 => 1..4_u64, 1 => Just(1_100_u64)]);
    // The windows of two hours, of which a segment has those of one.
    let segment = (segment, any::<bool>()).prop_map(|((from, windows, rows), later)| Happening::Segment {
        from: from + if later { 360 } else { 0 },
        windows,
        rows,
    });
    let one = prop_oneof![
        4 => segment,
        1 => (0..2_u64).prop_map(Happening::Compacted),
        4 => any::<bool>().prop_map(|acknowledged| Happening::Delivered { acknowledged }),
        1 => Just(Happening::Killed),
    ];
    prop::collection::vec(one, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(60), ..ProptestConfig::default() })]

    #[test]
    fn all_rows_are_delivered_whatever_happens(happenings in happenings()) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut written = Written::new(folder.path());
        let mut next = 1;
        let mut outbox = StoredRows::new(folder.path());
        let mut taken: Vec<Vec<u8>> = Vec::new();
        let mut pending = None;
        for happening in happenings {
            match happening {
                Happening::Segment { from, windows: count, rows } => {
                    let of: Vec<_> = (from..from + count).map(|window| (window, rows)).collect();
                    written.segment(windows(&of, &mut next));
                }
                Happening::Compacted(hour) => written.compact(START / HOUR + hour),
                Happening::Delivered { acknowledged } => {
                    let batch = match pending.take() {
                        Some(batch) => batch,
                        None => outbox.next().expect("a batch"),
                    };
                    prop_assert!(batch.lost.is_empty(), "{:?}", batch.lost);
                    taken.extend(batch.messages.iter().map(|message| message.value.clone()));
                    if batch.is_empty() {
                        continue;
                    }
                    match acknowledged {
                        true => outbox.acknowledge().expect("it is noted"),
                        false => pending = Some(batch),
                    }
                }
                Happening::Killed => {
                    outbox = StoredRows::new(folder.path());
                    pending = None;
                }
            }
        }
        drop(outbox);
        let fake = Fake::default();
        let ended = deliver(folder.path(), &fake);
        prop_assert!(ended.waiting.is_empty() && ended.counts.lost.total() == 0, "{:?}", ended);
        taken.extend(fake.values());
        let delivered: Truth = rows_of(&taken).into_iter().collect();
        prop_assert_eq!(&delivered, &written.truth);
        // Nothing is left over for another process.
        prop_assert_eq!(deliver(folder.path(), &Fake::default()).counts.delivered, 0);
    }
}
