//! Answers over random records, in files of all formats and in any order, against ordinary maps over the same records.

use arena::Limits;
use flow::{FlowKey, FlowRecord};
use history::{AnswerSetting, FlowFiles, Period, Question, ScanSummary};
use model::{Answer, Value};
use packet::Seed;
use record::Selection;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use task::query::{Aggregate, Comparison, Condition, Expression, GroupField, OutputColumn, Over, Query};

const SECOND: u64 = 1_000_000_000;
/// When the records begin.
const START: u64 = 1_700_000_000 * SECOND;

/// A small generator, so that the test needs no dependency and repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }
}

/// Records of few flows, many of each; no two end at the same time.
fn records(random: &mut Random) -> Vec<FlowRecord> {
    let address = |number: u64| -> IpAddr {
        let text = if number < 4 { format!("10.0.0.{number}") } else { format!("2001:db8::{number}") };
        text.parse().expect("an address")
    };
    let record = |number: u64, random: &mut Random| {
        let family = 4 * random.below(2);
        let [from, to] = [0, 1].map(|_| address(family + random.below(4)));
        let ltime = START + random.below(60) * SECOND + number;
        FlowRecord {
            key: Some(FlowKey::five_tuple((from, 1000), (to, [80, 443][random.below(2) as usize]), 6)),
            total_count: 1 + random.below(9),
            total_byte: 40 + random.below(2000),
            tcp_win: random.below(60_000) as u16,
            ..FlowRecord::without_packets(ltime - random.below(SECOND), ltime)
        }
    };
    (0..600).map(|number| record(number, random)).collect()
}

fn write(path: &Path, records: &[FlowRecord]) {
    let mut writer = record::create(path, "node", &Selection::all()).expect("a file");
    writer.write(records).expect("written");
    writer.finish().expect("a whole file");
}

/// The records in files of all formats, in an order of their own.
fn files(folder: &Path, mut records: Vec<FlowRecord>, random: &mut Random) -> Vec<PathBuf> {
    for at in (1..records.len()).rev() {
        records.swap(at, random.below(at as u64 + 1) as usize);
    }
    let parts = records.chunks(records.len().div_ceil(4)).zip(["csv", "jsonl", "parquet", "ipfix"]);
    let written = parts.map(|(part, suffix)| {
        let path = folder.join(format!("part.{suffix}"));
        write(&path, part);
        path
    });
    written.collect()
}

fn ask(paths: &[PathBuf], query: Query, period: Option<Period>) -> (Vec<Answer>, ScanSummary) {
    let setting = AnswerSetting { limits: Limits::new(1 << 30, usize::MAX), seed: Seed::new(1), geo: None };
    let mut files = FlowFiles::open(paths.iter().cloned()).expect("flow files");
    let mut answers = Vec::new();
    let question = Question { query, period, runs_on: Rc::new(|_| true) };
    let outcome = files.answer(&[question], &setting, &mut |_| true, &mut |answer| answers.push(answer));
    let outcome = outcome.expect("a question that can be answered");
    assert!(outcome.errors.is_empty() && outcome.passed_over.is_empty(), "{outcome:?}");
    (answers, outcome)
}

/// What is counted of each source.
#[derive(Clone, Debug, Default, PartialEq)]
struct Source {
    bytes: u64,
    flows: u64,
    destinations: u64,
    greatest_window: u64,
}

/// One flow: all of its records.
#[derive(Default)]
struct Flow {
    bytes: u64,
    /// The end of the record that ended last, and its TCP window.
    last: (u64, u64),
}

fn by_source<'a>(
    records: impl Iterator<Item = &'a FlowRecord>,
    least_bytes: u64,
) -> BTreeMap<IpAddr, Source> {
    let mut flows: HashMap<FlowKey, Flow> = HashMap::new();
    for record in records {
        let flow = flows.entry(record.key.expect("a key")).or_default();
        flow.bytes += record.total_byte;
        flow.last = flow.last.max((record.ltime, record.tcp_win.into()));
    }
    let mut sources: BTreeMap<IpAddr, (Source, BTreeSet<IpAddr>)> = BTreeMap::new();
    for (key, flow) in flows.into_iter().filter(|(_, flow)| flow.bytes > least_bytes) {
        let (source, peers) = sources.entry(key.src_addr.expect("an address")).or_default();
        source.bytes += flow.bytes;
        source.flows += 1;
        source.greatest_window = source.greatest_window.max(flow.last.1);
        peers.extend(key.dst_addr);
        source.destinations = peers.len() as u64;
    }
    sources.into_iter().map(|(address, (source, _))| (address, source)).collect()
}

fn query(filter: Option<Condition>, over: Over) -> Query {
    let window = Expression::field("last_tcp_win");
    let items = [
        OutputColumn::sum("total_byte"),
        OutputColumn::count("flows"),
        OutputColumn::distinct("dst_addr", "destinations"),
        OutputColumn::new("window", Expression::Aggregate(Aggregate::Max(Box::new(window)))),
    ];
    Query { filter, over, ..Query::new("q", [GroupField::from_field("src_addr")], items) }
}

fn read(answer: &Answer) -> BTreeMap<IpAddr, Source> {
    let number = |value: &Value| match value {
        Value::Unsigned(number) => *number,
        other => panic!("{other:?}"),
    };
    let rows = answer.rows.iter().map(|row| {
        let Value::Address(address) = row[0] else { panic!("{row:?}") };
        let [bytes, flows, destinations, greatest_window] = [1, 2, 3, 4].map(|at| number(&row[at]));
        (address, Source { bytes, flows, destinations, greatest_window })
    });
    rows.collect()
}

#[test]
fn answers_are_those_of_maps_over_the_records() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let records = records(&mut random);
        let paths = files(folder.path(), records.clone(), &mut random);

        let (answers, _) = ask(&paths, query(None, Over::Run), None);
        assert_eq!(read(&answers[0]), by_source(records.iter(), 0), "seed {seed}");

        // The filter judges flows, not records.
        let large = Condition::compare("total_byte", Comparison::Greater, 20_000);
        let (answers, _) = ask(&paths, query(Some(large), Over::Run), None);
        assert_eq!(read(&answers[0]), by_source(records.iter(), 20_000), "seed {seed}");

        // A filter that reads keys is applied before rows are merged, and one that reads flows after.
        let both = Condition::And(vec![
            Condition::compare("dst_port", Comparison::Equal, 443),
            Condition::compare("total_byte", Comparison::Greater, 10_000),
        ]);
        let (answers, _) = ask(&paths, query(Some(both), Over::Run), None);
        let https = records.iter().filter(|record| record.key.and_then(|key| key.dst_port) == Some(443));
        assert_eq!(read(&answers[0]), by_source(https, 10_000), "seed {seed}");

        let (from_ns, to_ns) = (START + 13 * SECOND, START + 31 * SECOND);
        let (answers, _) = ask(&paths, query(None, Over::Run), Some(Period { from_ns, to_ns }));
        let part = records.iter().filter(|record| (from_ns..to_ns).contains(&record.ltime));
        assert_eq!(read(&answers[0]), by_source(part, 0), "seed {seed}");

        let (every_ns, over_ns) = (5 * SECOND, 10 * SECOND);
        let (answers, _) = ask(&paths, query(None, Over::Windows { every_ns, over_ns }), None);
        let mut seen = 0;
        for answer in &answers {
            let window = answer.window.expect("a window");
            let part =
                records.iter().filter(|record| (window.start_ns..window.end_ns).contains(&record.ltime));
            seen += part.clone().count();
            assert_eq!(read(answer), by_source(part, 0), "seed {seed}, {window:?}");
        }
        // Each record is in two windows, those at the beginning in one.
        let first = records.iter().map(|record| record.ltime / every_ns).min();
        let once = records.iter().map(|record| record.ltime / every_ns).filter(|pane| Some(*pane) == first);
        let last = records.iter().map(|record| record.ltime / every_ns).max();
        let ends = records.iter().filter(|record| Some(record.ltime / every_ns) == last).count();
        assert_eq!(seen, 2 * records.len() - ends, "seed {seed}: {} in the first pane", once.count());
    }
}

/// Row groups in which no row can pass are not read, and the answer is the same.
#[test]
fn parts_without_such_rows_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random(7);
    let mut all = records(&mut random);
    all.sort_by_key(|record| record.ltime);
    let paths: Vec<_> = all
        .chunks(100)
        .enumerate()
        .map(|(number, part)| {
            let path = folder.path().join(format!("{number}.parquet"));
            write(&path, part);
            path
        })
        .collect();
    let (from_ns, to_ns) = (all[250].ltime, all[260].ltime);
    let (answers, outcome) = ask(&paths, query(None, Over::Run), Some(Period { from_ns, to_ns }));
    assert_eq!(read(&answers[0]), by_source(all[250..260].iter(), 0));
    assert_eq!((outcome.skipped_parts, outcome.rows), (5, 100));
}
