//! Rotation: which records go into which file, how the files are called, when they are complete.

use crate::ipfix;
use crate::sample;
use crate::tool;
use flow::FlowRecord;
use record::read::FlowFile;
use record::{
    MeasurementTotals, RecordContents, RecordWriter, Rotation, Selection, Shortfall, create_rotating,
};
use std::path::Path;

const MINUTE: u64 = 60_000_000_000;
/// 2023-11-14 22:13:20 UTC.
const START: u64 = 1_700_000_000_000_000_000;

fn open(path: &Path, rotation: Rotation) -> Box<dyn RecordWriter> {
    create_rotating(path, rotation, "probe", &selection()).unwrap()
}

fn selection() -> Selection {
    Selection::parse("ltime,total_count", &RecordContents::default()).unwrap()
}

/// A record of a moment, this many nanoseconds after the start.
fn ended(at: u64, count: u64) -> FlowRecord {
    FlowRecord { ltime: START + at, stime: START + at, total_count: count, ..sample::records(1).remove(0) }
}

/// `total_count` of each line of a CSV file.
fn counts(directory: &tool::Directory, name: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(directory.path(name)).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("ltime,total_count"), "every file is whole");
    lines.map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect()
}

#[test]
fn periods_begin_at_multiples_of_their_length() {
    let directory = tool::Directory::new("rotate-time");
    let mut writer = open(&directory.path("flows.csv"), Rotation::Time(5 * MINUTE));
    assert!(directory.names().is_empty(), "no records, no file");
    // 22:13:20, 22:14:59.999999999 | 22:15:00, and a latecomer | nothing from 22:20 | 22:25:00
    let batch = [ended(0, 1), ended(99_999_999_999, 2), ended(100_000_000_000, 3), ended(50_000_000_000, 4)];
    writer.write(&batch).unwrap();
    assert_eq!(directory.names(), ["flows-20231114-221320.csv", "flows-20231114-221500.csv.part"]);
    writer.write(&[ended(700_000_000_000, 5)]).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        directory.names(),
        ["flows-20231114-221320.csv", "flows-20231114-221410.csv", "flows-20231114-222500.csv"],
        "the first packet is the latecomer's"
    );
    assert_eq!(counts(&directory, "flows-20231114-221320.csv"), [1, 2]);
    assert_eq!(counts(&directory, "flows-20231114-221410.csv"), [3, 4]);
    assert_eq!(counts(&directory, "flows-20231114-222500.csv"), [5]);
}

#[test]
fn the_end_of_a_window_completes_the_file_before_it() {
    let directory = tool::Directory::new("rotate-account");
    let mut writer = open(&directory.path("flows.csv"), Rotation::Time(5 * MINUTE));
    writer.write(&[ended(0, 1)]).unwrap();
    let account = |time_ns| MeasurementTotals { time_ns, ..MeasurementTotals::default() };
    writer.account(&account(START + 99_000_000_000)).unwrap();
    assert_eq!(directory.names(), ["flows-20231114-221320.csv.part"]);
    writer.account(&account(START + 100_000_000_000)).unwrap();
    assert_eq!(directory.names(), ["flows-20231114-221320.csv"]);
    // A flow that ended before is reported after: it goes into the open period.
    writer.write(&[ended(10_000_000_000, 2)]).unwrap();
    writer.finish().unwrap();
    assert_eq!(counts(&directory, "flows-20231114-221330.csv"), [2]);
}

#[test]
fn by_the_times_of_records_alone_accounts_end_no_file() {
    let account = |at: u64| MeasurementTotals { time_ns: START + at, ..MeasurementTotals::default() };
    let batches = [[ended(0, 1), ended(10, 2)], [ended(100_000_000_000, 3), ended(20, 4)]];
    // Accounts before, between and behind the records.
    for place in 0..3 {
        let directory = tool::Directory::new(&format!("rotate-records-{place}"));
        let mut writer = open(&directory.path("flows.csv"), Rotation::RecordTime(5 * MINUTE));
        for (at, batch) in batches.iter().enumerate() {
            if at == place {
                writer.account(&account(1_000_000_000_000)).unwrap();
            }
            writer.write(batch).unwrap();
        }
        if place == 2 {
            writer.account(&account(1_000_000_000_000)).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(directory.names(), ["flows-20231114-221320-2.csv", "flows-20231114-221320.csv"]);
        assert_eq!(counts(&directory, "flows-20231114-221320.csv"), [1, 2]);
        assert_eq!(counts(&directory, "flows-20231114-221320-2.csv"), [3, 4]);
    }
}

/// The time of a whole run is not that of one of its files, each of which has a part of the run.
#[test]
fn no_file_tells_the_time_of_the_whole_run_as_watched() {
    let directory = tool::Directory::new("rotate-watched");
    let selection = Selection::new(&RecordContents::default());
    let path = directory.path("flows.parquet");
    let mut writer = create_rotating(&path, Rotation::Time(5 * MINUTE), "probe", &selection).unwrap();
    writer.write(&[ended(0, 1), ended(700_000_000_000, 2)]).unwrap();
    writer.add_shortfall(&Shortfall {
        lost: 3,
        watched: Some([START, START + 800_000_000_000]),
        ..Shortfall::default()
    });
    writer.finish().unwrap();
    let told = directory.names().into_iter().map(|name| {
        let file = FlowFile::open(&directory.path(&name)).unwrap();
        (file.contents().shortfall.lost, file.contents().shortfall.watched)
    });
    assert_eq!(told.collect::<Vec<_>>(), [(0, None), (3, None)]);
}

#[test]
fn sizes_are_kept_in_every_format() {
    const SIZE: u64 = 20_000;
    for suffix in ["csv", "jsonl", "ipfix"] {
        let directory = tool::Directory::new(&format!("rotate-{suffix}"));
        let path = directory.path(&format!("flows.{suffix}"));
        let mut writer = create_rotating(&path, Rotation::Size(SIZE), "probe", &Selection::all()).unwrap();
        let records = sample::records(3000);
        for batch in records.chunks(1000) {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        let names = directory.names();
        assert!(names.len() > 10, "{names:?}");
        let mut found = 0;
        for (at, name) in names.iter().enumerate() {
            assert!(name.ends_with(suffix), "{names:?}");
            let bytes = std::fs::read(directory.path(name)).unwrap();
            // The last one is shorter, whichever it is called.
            let is_full = bytes.len() as u64 >= SIZE;
            assert!(is_full || names.len() - 1 != at || at > 0, "{name}");
            assert!((bytes.len() as u64) < SIZE + 64 * 700, "{name} has {} bytes", bytes.len());
            found += match suffix {
                "ipfix" => ipfix::decode(&bytes).flows.len(),
                "csv" => bytes.iter().filter(|byte| **byte == b'\n').count() - 1,
                _ => bytes.iter().filter(|byte| **byte == b'\n').count(),
            };
        }
        let short =
            names.iter().filter(|name| std::fs::metadata(directory.path(name)).unwrap().len() < SIZE).count();
        assert!(short <= 1, "{short} files are shorter than they should be");
        assert_eq!(found, records.len());
    }
}

#[test]
fn parquet_files_rotate_by_what_they_will_take() {
    let directory = tool::Directory::new("rotate-parquet");
    let path = directory.path("flows.parquet");
    let mut writer = create_rotating(&path, Rotation::Size(100_000), "probe", &Selection::all()).unwrap();
    for _ in 0..5 {
        writer.write(&sample::records(1500)).unwrap();
    }
    writer.finish().unwrap();
    let sizes: Vec<_> =
        directory.names().iter().map(|name| std::fs::metadata(directory.path(name)).unwrap().len()).collect();
    assert!((4..=10).contains(&sizes.len()), "{sizes:?}");
}

#[test]
fn files_of_one_second_are_numbered() {
    let directory = tool::Directory::new("rotate-names");
    let mut writer = open(&directory.path("flows.csv"), Rotation::Size(1));
    for count in 1..=3 {
        writer.write(&[ended(0, count)]).unwrap();
    }
    writer.write(&[ended(1_000_000_000, 4)]).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        directory.names(),
        [
            "flows-20231114-221320-2.csv",
            "flows-20231114-221320-3.csv",
            "flows-20231114-221320.csv",
            "flows-20231114-221321.csv"
        ]
    );
    assert_eq!(counts(&directory, "flows-20231114-221320-2.csv"), [2]);
}

#[test]
fn the_same_records_give_the_same_files() {
    let contents = |name: &str, batch: usize| {
        let directory = tool::Directory::new(name);
        let mut writer = open(&directory.path("f.csv"), Rotation::Time(MINUTE));
        let records: Vec<_> = (0..1000).map(|i| ended(i * 700_000_000 % 400_000_000_000, i)).collect();
        records.chunks(batch).for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        let names = directory.names();
        names.into_iter().map(|name| (counts(&directory, &name), name)).collect::<Vec<_>>()
    };
    assert_eq!(contents("rotate-same-1", 1), contents("rotate-same-2", 333));
}

#[test]
fn what_cannot_rotate_is_refused_with_the_reason() {
    let directory = tool::Directory::new("rotate-refused");
    let refused = |path: &Path, rotation| {
        create_rotating(path, rotation, "probe", &selection()).err().unwrap().to_string()
    };
    for path in ["-", "/dev/stdout", "/dev/null"] {
        let error = refused(Path::new(path), Rotation::Time(MINUTE));
        assert!(error.starts_with(path) && error.contains("rotation makes several files"), "{error}");
    }
    assert!(refused(&directory.path("flows.txt"), Rotation::Size(1)).contains("unknown suffix"));
    assert!(refused(&directory.path("missing/flows.csv"), Rotation::Size(1)).contains("missing/flows.csv"));
    for rotation in [Rotation::Time(0), Rotation::Size(0)] {
        assert!(refused(&directory.path("flows.csv"), rotation).contains("above zero"));
    }
    assert!(directory.names().is_empty());
}

#[test]
fn files_that_are_there_stay() {
    let directory = tool::Directory::new("rotate-older");
    std::fs::write(directory.path("flows-20231114-221320.csv"), "older").unwrap();
    for number in 2..4 {
        let mut writer = open(&directory.path("flows.csv"), Rotation::Time(5 * MINUTE));
        writer.write(&[ended(0, number)]).unwrap();
        writer.finish().unwrap();
        assert_eq!(counts(&directory, &format!("flows-20231114-221320-{number}.csv")), [number]);
    }
    assert_eq!(std::fs::read_to_string(directory.path("flows-20231114-221320.csv")).unwrap(), "older");
    assert_eq!(directory.names().len(), 3);
}

/// In every format: of the packets of all flows in the file the first, in whichever direction and record.
#[test]
fn a_file_is_called_by_its_first_packet() {
    for suffix in ["csv", "jsonl", "ipfix", "parquet"] {
        for rotation in [Rotation::Time(5 * MINUTE), Rotation::Size(1 << 30), Rotation::OnDemand] {
            let directory = tool::Directory::new("rotate-first");
            let path = directory.path(&format!("flows.{suffix}"));
            let mut writer = create_rotating(&path, rotation, "probe", &selection()).unwrap();
            let long = FlowRecord { stime: START + 1_999_999_999, ..ended(60_000_000_000, 1) };
            let mut both = ended(70_000_000_000, 2);
            let reverse = FlowRecord { stime: START + 999_999_999, ..both.clone() };
            both.more = Some(Box::new(flow::More { reverse: Some(reverse), ..Default::default() }));
            writer.write(&[ended(50_000_000_000, 3), long, both]).unwrap();
            assert_eq!(directory.names(), [format!("flows-20231114-221410.{suffix}.part")]);
            // Nothing came since: no file is made of it.
            writer
                .account(&MeasurementTotals {
                    time_ns: START + 900_000_000_000,
                    ..MeasurementTotals::default()
                })
                .unwrap();
            writer.finish().unwrap();
            assert_eq!(directory.names(), [format!("flows-20231114-221320.{suffix}")], "{rotation:?}");
        }
    }
}
