//! Names, suffixes, `.part`, and what happens when the disk fills.

mod sample;

use record::{FIELDS, Field, Selection, SelectionError};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A directory of its own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("edison-record-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn create(path: &Path) -> std::io::Result<Box<dyn record::RecordWriter>> {
    record::create(path, "node", &Selection::all())
}

#[test]
fn a_file_gets_its_name_when_it_is_complete() {
    let directory = Directory::new("part");
    for name in ["a.csv", "b.jsonl", "c.parquet", "D.CSV"] {
        let path = directory.0.join(name);
        let part = directory.0.join(format!("{name}.part"));
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
    let directory = Directory::new("suffix");
    let path = directory.0.join("flows.txt");
    let error = create(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.contains("flows.txt") && text.contains(".csv, .jsonl, .parquet"), "{text}");
    assert!(!directory.0.join("flows.txt.part").exists());
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
    let directory = Directory::new("full");
    for name in ["full.csv", "full.jsonl", "full.parquet"] {
        let path = directory.0.join(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut writer = create(&path).unwrap();
        let result = writer.write(&sample::records(100));
        let error = match result {
            Ok(()) => writer.finish(),
            error => error,
        };
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.to_string().ends_with("; 0 records were written whole"), "{error}");
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "a device is not renamed over");
    }
}

/// A file system of eight mebibytes; `None` where this process may not mount one.
struct SmallDisk(Directory);

impl SmallDisk {
    fn new() -> Option<Self> {
        let directory = Directory::new("disk");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m", "edison-record"])
            .arg(&directory.0)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0.0).status();
    }
}

#[test]
fn a_disk_that_fills_keeps_what_was_written_whole() {
    let Some(disk) = SmallDisk::new() else {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    };
    let records = sample::records(400_000);
    for name in ["a.csv", "a.jsonl", "a.parquet"] {
        let path = disk.0.0.join(name);
        let mut writer = record::create(&path, "node", &selection_for(name)).unwrap();
        let error = records.chunks(1000).try_for_each(|batch| writer.write(batch)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert!(
            writer.write(&records[..1000]).and_then(|()| writer.finish()).is_err(),
            "nothing more is taken"
        );
        let text = error.to_string();
        let whole: usize = text.rsplit("; ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(whole > 0 && whole < records.len(), "{text}");
        let part = disk.0.0.join(format!("{name}.part"));
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
        "a.parquet" => Selection::parse("total_byte,wire_byte,total_count,tcp_seq,tcp_ack").unwrap(),
        _ => Selection::all(),
    }
}

#[test]
fn selections_are_checked() {
    assert_eq!(Selection::parse("src_addr,").unwrap_err(), SelectionError::Empty);
    assert_eq!(Selection::parse("").unwrap_err(), SelectionError::Empty);
    assert_eq!(Selection::parse("vlan,stime,VLAN").unwrap_err(), SelectionError::Twice("vlan"));
    for (wrong, right) in [("src_adr", "src_addr"), ("totalbytes", "total_byte"), ("TTL", "ip_ttl")] {
        let error = Selection::parse(&format!("stime,{wrong}")).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean `{right}`")), "{error}");
        assert!(error.contains("edison fields"), "{error}");
    }
    let error = Selection::parse("xyzzyqqqqq").unwrap_err().to_string();
    assert!(!error.contains("did you mean") && error.contains("edison fields"), "{error}");
}

#[test]
fn the_field_table_is_sound() {
    let names: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(names, sample::COLUMNS);
    let elements: Vec<_> = FIELDS.iter().flat_map(|field| field.elements).map(|element| element.1).collect();
    assert_eq!(
        elements.iter().collect::<HashSet<_>>().len(),
        elements.len(),
        "an element stands for two fields"
    );
    for field in FIELDS {
        let row = field.describe();
        assert_eq!(row.len(), Field::HEADINGS.len());
        assert_eq!(row[0], field.name);
        assert!(!row[5].is_empty() && !row[6].is_empty(), "{}", field.name);
    }
    let paper = FIELDS.iter().take_while(|field| field.paper.is_some()).count();
    assert_eq!(paper, FIELDS.iter().filter(|field| field.paper.is_some()).count(), "the paper's come first");
}
