//! Files that lie, and files that change while they are read.

use arena::Limits;
use flow::{FlowKey, FlowRecord};
use history::{AnswerSetting, FlowFiles, Question, ScanSummary};
use model::{Answer, AnswerStatus};
use packet::Seed;
use record::Selection;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use task::query::{GroupField, OutputColumn, Over, Query};

fn write(path: &Path, records: impl Iterator<Item = FlowRecord>) {
    let mut writer = record::create(path, "node", &Selection::all()).expect("a file");
    let records: Vec<_> = records.collect();
    records.chunks(1000).for_each(|records| writer.write(records).expect("written"));
    writer.finish().expect("a whole file");
}

fn flow(number: u32, bytes: u64) -> FlowRecord {
    let ends = [(Ipv4Addr::from(number).into(), 1), (Ipv4Addr::from(!number).into(), 2)];
    FlowRecord {
        key: Some(FlowKey::five_tuple(ends[0], ends[1], 6)),
        total_count: 1,
        total_byte: bytes,
        ..FlowRecord::without_packets(1_000, 2_000)
    }
}

fn setting() -> AnswerSetting {
    AnswerSetting { limits: Limits::new(1 << 30, usize::MAX), seed: Seed::new(1), geo: None }
}

fn question(query: Query) -> Question {
    Question { query: Query { over: Over::Run, ..query }, period: None, runs_on: Rc::new(|_| true) }
}

/// The bytes of each source.
fn by_source() -> Question {
    question(Query::new("q", [GroupField::from_field("src_addr")], [OutputColumn::sum("total_byte")]))
}

fn answered(files: &mut FlowFiles, mut each: impl FnMut()) -> (ScanSummary, Vec<Answer>) {
    let mut answers = Vec::new();
    let mut progress = |_| {
        each();
        true
    };
    let outcome = files.answer(&[by_source()], &setting(), &mut progress, &mut |answer| answers.push(answer));
    (outcome.expect("a question that can be answered"), answers)
}

fn named(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

#[test]
fn sums_do_not_overflow() {
    let folder = tempfile::tempdir().expect("a folder");
    for suffix in ["csv", "jsonl", "parquet", "ipfix"] {
        let path = named(&folder, &format!("large.{suffix}"));
        write(&path, (0..3).map(|number| flow(number, u64::MAX / 2 - 5)));
        let mut files = FlowFiles::open([path.clone()]).expect("a flow file");
        let (outcome, answers) = answered(&mut files, || ());
        let errors: Vec<_> = outcome.errors.iter().map(ToString::to_string).collect();
        assert!(errors.len() == 1 && errors[0].contains("adds up to more than 2^64"), "{errors:?}");
        assert_eq!(answers[0].status, AnswerStatus::Partial);
    }
}

/// Whatever is cut off while a file is read: its name is said, and no answer is called complete.
#[test]
fn a_file_that_shrinks_while_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for suffix in ["csv", "jsonl", "parquet", "ipfix"] {
        let path = named(&folder, &format!("shrinks.{suffix}"));
        write(&path, (0..400_000).map(|number| flow(number, 100)));
        let length = std::fs::metadata(&path).expect("a file").len();
        let mut files = FlowFiles::open([path.clone()]).expect("a flow file");
        let mut is_cut = false;
        let (outcome, answers) = answered(&mut files, || {
            if !is_cut {
                let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a file");
                file.set_len(length / 2).expect("cut");
                is_cut = true;
            }
        });
        assert!(outcome.rows > 0 && outcome.rows < 400_000, "{suffix}: {}", outcome.rows);
        assert_eq!(outcome.errors.len(), 1, "{suffix}: {:?}", outcome.errors);
        assert!(outcome.errors[0].to_string().contains(&format!("shrinks.{suffix}: damaged")), "{suffix}");
        assert_eq!(answers[0].status, AnswerStatus::Partial, "{suffix}");
    }
}

#[test]
fn reading_ends_when_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = named(&folder, "long.parquet");
    write(&path, (0..300_000).map(|number| flow(number, 100)));
    let mut files = FlowFiles::open([path]).expect("a flow file");
    let mut answers = Vec::new();
    let outcome = files
        .answer(&[by_source()], &setting(), &mut |progress| progress.rows < 50_000, &mut |answer| {
            answers.push(answer)
        })
        .expect("a question that can be answered");
    assert!(outcome.stopped && outcome.rows < 60_000, "{outcome:?}");
    assert!(
        answers[0].reason.as_deref().is_some_and(|reason| reason.contains("stopped")),
        "{:?}",
        answers[0].reason
    );
}
