//! Names, suffixes, `.part`, and what happens when the disk fills.

use crate::ipfix;
use crate::sample;
use crate::tool;
use flow::{FIELDS, Metric, Part};
use record::{RecordContents, RequiredPart, Selection, SelectionError};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

fn create(path: &Path) -> std::io::Result<Box<dyn record::RecordWriter>> {
    record::create(path, "node", &Selection::all())
}

#[test]
fn a_file_gets_its_name_when_it_is_complete() {
    let directory = tool::Directory::new("part");
    for name in ["a.csv", "b.jsonl", "c.parquet", "d.ipfix", "D.CSV"] {
        let path = directory.path(name);
        let part = directory.path(&format!("{name}.part"));
        let mut writer = create(&path).unwrap();
        writer.write(&sample::records(10)).unwrap();
        assert!(part.exists() && !path.exists(), "{name}");
        writer.finish().unwrap();
        assert!(!part.exists() && path.exists(), "{name}");

        // A writer that is dropped leaves the part and the older file alone.
        let before = fs::read(&path).unwrap();
        drop(create(&path).unwrap());
        assert!(part.exists(), "{name}");
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
    }
}

#[test]
fn an_unknown_suffix_is_refused_with_the_known_ones() {
    let directory = tool::Directory::new("suffix");
    let path = directory.path("flows.txt");
    let error = create(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.contains("flows.txt") && text.contains(".csv, .jsonl, .parquet, .ipfix"), "{text}");
    assert!(!directory.path("flows.txt.part").exists());
}

#[test]
fn a_missing_directory_is_named() {
    let error = create(Path::new("/nonexistent/flows.csv")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("/nonexistent/flows.csv"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_that_counts_whole_records() {
    let directory = tool::Directory::new("full");
    for name in ["full.csv", "full.jsonl", "full.parquet", "full.ipfix"] {
        let path = directory.path(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut writer = create(&path).unwrap();
        let result = writer.write(&sample::records(100));
        let error = match result {
            Ok(()) => writer.finish().map(|_| ()),
            error => error,
        };
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.to_string().ends_with("; 0 records were written whole"), "{error}");
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "a device is not renamed over");
    }
}

#[test]
fn a_disk_that_fills_keeps_what_was_written_whole() {
    let Some(disk) = tool::SmallDisk::new("disk") else { return };
    let records = sample::records(400_000);
    for name in ["a.csv", "a.jsonl", "a.parquet", "a.ipfix"] {
        let path = disk.path(name);
        let mut writer = record::create(&path, "node", &selection_for(name)).unwrap();
        let error = records.chunks(1000).try_for_each(|batch| writer.write(batch)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert!(
            writer.write(&records[..1000]).and_then(|()| writer.finish().map(|_| ())).is_err(),
            "nothing more is taken"
        );
        let text = error.to_string();
        let whole: usize = text.rsplit("; ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(whole > 0 && whole < records.len(), "{text}");
        let part = disk.path(&format!("{name}.part"));
        assert!(!path.exists());
        let bytes = fs::read(&part).unwrap();
        match name {
            "a.csv" => {
                let mut reader = csv::Reader::from_reader(&bytes[..]);
                assert_eq!(reader.records().map(Result::unwrap).count(), whole);
                assert_eq!(bytes.last(), Some(&b'\n'));
            }
            "a.jsonl" => {
                let lines = std::str::from_utf8(&bytes).unwrap().lines();
                let objects = lines.map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
                assert_eq!(objects.count(), whole);
            }
            "a.ipfix" => {
                let decoded = ipfix::decode(&bytes);
                assert_eq!(decoded.flows.len(), whole);
            }
            _ => {
                use parquet::file::reader::{FileReader, SerializedFileReader};
                let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
                assert_eq!(reader.metadata().file_metadata().num_rows(), whole as i64);
                let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap).count();
                assert_eq!(rows, whole);
            }
        }
        fs::remove_file(part).unwrap();
    }
}

/// Parquet: few enough bytes a record that the disk takes one row group and not three.
fn selection_for(name: &str) -> Selection {
    match name {
        "a.parquet" => {
            Selection::parse("total_byte,wire_byte,total_count,tcp_seq,tcp_ack", &RecordContents::default())
                .unwrap()
        }
        _ => Selection::all(),
    }
}

fn refused(list: &str, parts: &RecordContents) -> SelectionError {
    Selection::parse(list, parts).unwrap_err()
}

#[test]
fn selections_are_checked() {
    let plain = RecordContents::default();
    assert_eq!(refused("src_addr,", &plain), SelectionError::Empty);
    assert_eq!(refused("", &plain), SelectionError::Empty);
    assert_eq!(refused("vlan,stime,VLAN", &plain), SelectionError::Twice("vlan".to_owned()));
    for (wrong, right) in [("src_adr", "src_addr"), ("totalbytes", "total_byte"), ("IP_TT", "ip_ttl")] {
        let error = refused(&format!("stime,{wrong}"), &plain).to_string();
        assert!(error.contains(&format!("did you mean `{right}`")), "{error}");
        assert!(error.contains("edison fields"), "{error}");
    }
    let error = refused("xyzzyqqqqq", &plain).to_string();
    assert!(!error.contains("did you mean") && error.contains("edison fields"), "{error}");
}

#[test]
fn what_was_not_asked_for_names_what_gives_it() {
    let plain = RecordContents::default();
    let everything = sample::parts();
    let loss = RequiredPart::Part(Part::Loss);
    for (name, needs) in [
        ("ploss_byte", loss),
        ("RTT_MIN", loss),
        ("reverse_ploss_byte", loss),
        ("reverse_total_byte", RequiredPart::Biflow),
        ("gap_mean", RequiredPart::Metric(Metric::Gap)),
        ("size_p50", RequiredPart::Metric(Metric::Size)),
        ("iat_p99.9", RequiredPart::Metric(Metric::InterArrival)),
        ("reverse_gap_stddev", RequiredPart::Metric(Metric::Gap)),
    ] {
        let error = refused(name, &plain);
        assert_eq!(error, SelectionError::NotAsked { name: name.to_owned(), needs });
        assert!(error.to_string().contains(&needs.to_string()), "{error}");
    }
    // Another percentile than the run's.
    let needs = RequiredPart::Metric(Metric::Gap);
    assert_eq!(
        refused("gap_p50", &everything),
        SelectionError::NotAsked { name: "gap_p50".to_owned(), needs }
    );
    for name in ["reverse_src_addr", "reverse_node_id"] {
        assert!(matches!(refused(name, &everything), SelectionError::SameInBoth { .. }), "{name}");
    }
    let keyed =
        RecordContents { key: "src_addr/24,vlan".parse_key(), biflow: true, ..RecordContents::default() };
    assert_eq!(refused("dst_port", &keyed), SelectionError::NotInKey("dst_port".to_owned()));
    assert!(matches!(refused("reverse_vlan", &keyed), SelectionError::SameInBoth { .. }));

    let list = "reverse_total_byte,ploss_byte,IAT_P99.9,reverse_rtt_min";
    let selection = Selection::parse(list, &everything).unwrap();
    let names: Vec<_> = selection.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["reverse_total_byte", "ploss_byte", "iat_p99.9", "reverse_rtt_min"]);
}

trait ParseKey {
    fn parse_key(&self) -> packet::KeySpec;
}

impl ParseKey for str {
    fn parse_key(&self) -> packet::KeySpec {
        packet::KeySpec::parse(self).unwrap()
    }
}

fn names(parts: &RecordContents) -> Vec<String> {
    Selection::new(parts).columns().iter().map(|column| column.name().to_owned()).collect()
}

/// The columns of `--headers`.
const HEADER_COLUMNS: [&str; 3] = ["flow_label", "ip_ttl_min", "ip_ttl_max"];

#[test]
fn by_default_a_file_has_what_the_run_was_asked_for() {
    assert_eq!(names(&RecordContents::default()), sample::COLUMNS);
    assert_eq!(names(&sample::parts()), sample::full_columns());
    let with_loss = RecordContents { tracked: flow::TrackedParts::LOSS, ..RecordContents::default() };
    assert_eq!(names(&with_loss), [&sample::COLUMNS[..], &sample::LOSS_COLUMNS].concat());
    let headers = RecordContents {
        tracked: flow::TrackedParts { headers: true, ..flow::TrackedParts::PLAIN },
        ..RecordContents::default()
    };
    assert_eq!(names(&headers), [&sample::COLUMNS[..], &HEADER_COLUMNS].concat());
    let keyed = names(&RecordContents { key: "dst_port,src_addr".parse_key(), ..RecordContents::default() });
    assert_eq!(keyed[..3], ["src_addr", "dst_port", "node_id"]);
    assert_eq!(keyed.len(), sample::COLUMNS.len() - 3);
}

#[test]
fn the_field_table_is_sound() {
    let names: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(
        names,
        [&sample::COLUMNS[..], &sample::LOSS_COLUMNS, &["sampling_rate"], &HEADER_COLUMNS].concat()
    );
    let elements: Vec<_> = FIELDS.iter().flat_map(|field| field.elements).collect();
    assert_eq!(
        elements.iter().collect::<HashSet<_>>().len(),
        elements.len(),
        "an element stands for two fields"
    );
    for field in FIELDS {
        assert!(!field.meaning.is_empty() && !field.source().is_empty(), "{}", field.name);
        assert!(!field.elements.is_empty(), "{} cannot be exported", field.name);
    }
    for part in [Part::Plain, Part::Loss, Part::Headers, Part::Sampling] {
        let of_part = || FIELDS.iter().filter(|field| field.part == part);
        let first = of_part().take_while(|field| field.paper.is_some()).count();
        let all = of_part().filter(|field| field.paper.is_some()).count();
        assert_eq!(first, all, "the paper's come first");
    }
}
