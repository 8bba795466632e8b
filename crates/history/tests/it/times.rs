//! Questions to stores that lack times: what was not watched or not stored is missing, and never a time without packets.

use crate::stored::{Random, SECOND, START, setting};
use flow::{Rows, WindowRow};
use history::levels::OpenStore;
use history::{Period, Question};
use model::{Answer, AnswerStatus, MissingReason, Value};
use packet::{KeySpec, KeyV4};
use record::{RecordContents, Selection, WindowFacts};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use store::{Catalog, Level, Manifest, ManifestChange, NodeSetting, StoreWriter};
use task::query::{Aggregate, Expression, GroupField, OutputColumn, Over, Query};

const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// Packets of a window.
const PACKETS: u64 = 7;

fn node(is_live: bool, window_ns: u64) -> NodeSetting {
    NodeSetting {
        node: "n".to_owned(),
        source: Some("source".to_owned()),
        key: KeySpec::FIVE_TUPLE,
        window_ns,
        default_ns: window_ns,
        has_wire_bytes: true,
        tracked: flow::TrackedParts::PLAIN,
        selection: Selection::new(&RecordContents::default()),
        anonymizer: None,
        is_live,
        waits: true,
    }
}

fn open(folder: &Path, keep: &str) -> StoreWriter {
    StoreWriter::open(folder, keep.parse().expect("a good text"), StoreWriter::QUEUE_BYTES).expect("a store")
}

/// The rows of a window: of two hosts with one port.
fn rows(start_ns: u64, packets: u64) -> Rows<KeyV4> {
    let mut rows = Rows::default();
    for (host, packets) in [(1, 1), (2, packets - 1)] {
        let key = KeyV4::new([10, 0, 0, host, 10, 0, 0, 9], [0, 7, 0, 80], 17);
        rows.push(
            WindowRow {
                packets,
                bytes: 100 * packets,
                wire_bytes: 114 * packets,
                ip_ttl: 64,
                ..WindowRow::without_packets(key, start_ns, start_ns + 1)
            },
            None,
        );
    }
    rows
}

/// One run: windows of a second by their numbers, with packets.
fn run(folder: &Path, is_live: bool, windows: impl IntoIterator<Item = u64>) {
    let store = open(folder, "rows=9y,1min=9y,1h=9y,flows=0,size=1G");
    let (mut feed, _) = store.node(node(is_live, SECOND));
    let mut last: Option<u64> = None;
    for number in windows {
        let start_ns = START + number * SECOND;
        assert_eq!(feed.write_v4(start_ns, &rows(start_ns, PACKETS)), 0);
        let before = last.map_or(0, |last| number.saturating_sub(last + 1));
        feed.close(start_ns, WindowFacts::default(), before);
        last = Some(number);
    }
    feed.finish();
    store.close(false);
}

fn sum(over: Over) -> Query {
    let items = vec![OutputColumn::new("n", Expression::sum("total_count"))];
    Query { over, ..Query::new("q", Vec::new(), items) }
}

fn every(every_ns: u64) -> Over {
    Over::Windows { every_ns, over_ns: every_ns }
}

fn ask(folder: &Path, query: Query, seconds: Option<[u64; 2]>) -> Vec<Answer> {
    let at = |second: u64| START + second * SECOND;
    let period = seconds.map(|[from, to]| Period { from_ns: at(from), to_ns: at(to) });
    ask_period(folder, query, period)
}

fn ask_period(folder: &Path, query: Query, period: Option<Period>) -> Vec<Answer> {
    let question = Question { query, period, runs_on: Rc::new(|_| true) };
    let mut answers = Vec::new();
    let mut stored = OpenStore::open(folder).expect("a store");
    let outcomes =
        stored.answer(vec![question], &setting(), &mut |_| true, &mut |answer| answers.push(answer));
    assert!(outcomes.expect("answers").iter().all(|outcome| outcome.errors.is_empty()));
    answers
}

fn packets(answer: &Answer) -> u64 {
    match answer.rows.first().and_then(|row| row.last()) {
        Some(Value::Unsigned(packets)) => *packets,
        _ => 0,
    }
}

/// A window without rows may lack something all the same: what it lacks is told, as of the windows with rows.
#[test]
fn windows_without_rows_keep_what_they_lack() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let store = open(folder, "rows=9y,1min=9y,1h=9y,flows=0,size=1G");
    let (mut feed, _) = store.node(node(true, SECOND));
    for number in 0..20 {
        let start_ns = START + number * SECOND;
        let is_held = (5..9).contains(&number);
        if !is_held && number != 12 {
            assert_eq!(feed.write_v4(start_ns, &rows(start_ns, PACKETS)), 0);
        }
        let lacks = is_held.then(|| "the receiver did not run for 4 s".to_owned());
        feed.close(start_ns, WindowFacts { lacks, ..WindowFacts::default() }, 0);
    }
    feed.finish();
    store.close(false);
    let answers = ask(folder, sum(every(SECOND)), None);
    let without: Vec<_> = answers.iter().filter(|answer| packets(answer) == 0).collect();
    let [held, quiet] = &without[..] else { panic!("{without:?}") };
    let time = |answer: &Answer| answer.window.map(|window| (window.start_ns - START) / SECOND);
    assert_eq!((time(held), held.empty, held.status), (Some(5), Some(4), AnswerStatus::Partial), "{held:?}");
    // Of several windows the remark is the general one.
    assert_eq!(held.reason.as_deref(), Some("not all of it arrived and was read"), "{held:?}");
    assert_eq!(
        (time(quiet), quiet.empty, quiet.status),
        (Some(12), Some(1), AnswerStatus::Complete),
        "{quiet:?}"
    );
}

/// What an answer says: its window in seconds, packets, how many windows without packets it is, and what is missing.
type Said = ([u64; 2], u64, Option<u64>, Vec<(u64, u64, MissingReason)>);

fn said(answers: &[Answer]) -> Vec<Said> {
    let second = |ns: u64| (ns - START) / SECOND;
    let one = |answer: &Answer| {
        let window = answer.window.expect("a window");
        let missing: Vec<_> = answer
            .missing
            .iter()
            .map(|one| (second(one.span.start_ns), second(one.span.end_ns), one.reason))
            .collect();
        assert_eq!(answer.status == AnswerStatus::Partial, !missing.is_empty(), "{answer:?}");
        assert_eq!(answer.bounds == "exact", missing.is_empty(), "{answer:?}");
        ([second(window.start_ns), second(window.end_ns)], packets(answer), answer.empty, missing)
    };
    answers.iter().map(one).collect()
}

#[test]
fn the_time_between_two_runs_is_missing_and_not_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let stopped = |from, to| vec![(from, to, MissingReason::Stopped)];
    // One window of the first run has no packet.
    run(folder.path(), true, [0, 1, 3]);
    run(folder.path(), true, [10, 11]);
    let seconds = ask(folder.path(), sum(every(SECOND)), None);
    let expected = [
        ([0, 1], PACKETS, None, vec![]),
        ([1, 2], PACKETS, None, vec![]),
        ([2, 3], 0, Some(1), vec![]),
        ([3, 4], PACKETS, None, vec![]),
        ([4, 10], 0, None, stopped(4, 10)),
        ([10, 11], PACKETS, None, vec![]),
        ([11, 12], PACKETS, None, vec![]),
    ];
    // The last window is cut by the last packet, and nothing else.
    let complete = |answer: &mut Answer| {
        if answer.status == AnswerStatus::Cut {
            answer.status = AnswerStatus::Complete;
        }
    };
    let mut whole = seconds;
    whole.iter_mut().for_each(complete);
    assert_eq!(said(&whole), expected);
    assert_eq!(whole[4].coverage, Some(0.0));
    assert_eq!(whole[3].coverage, Some(1.0));
    // Longer windows have a part of it.
    let longer = ask(folder.path(), sum(every(5 * SECOND)), None);
    let missing: Vec<_> =
        said(&longer).into_iter().map(|(window, packets, _, missing)| (window, packets, missing)).collect();
    assert_eq!(missing[..2], [([0, 5], 3 * PACKETS, stopped(4, 5)), ([5, 10], 0, stopped(5, 10))],);
    assert_eq!(longer[0].coverage, Some(0.8));
    let watched = |answer: &Answer| answer.watched.map(|watched| [watched.start_ns, watched.end_ns]);
    assert_eq!(watched(&longer[0]), Some([START, START + 4 * SECOND]));
    // Rates are those of the time that was watched.
    let rate = OutputColumn::new(
        "r",
        Expression::Aggregate(Aggregate::Rate(Box::new(Expression::field("total_count")))),
    );
    let rates = Query { columns: vec![rate], ..sum(every(5 * SECOND)) };
    let rates = ask(folder.path(), rates, None);
    assert_eq!(watched(&rates[0]), Some([START, START + 4 * SECOND]));
    let per_second = |packets: u64, seconds: u64| Value::Float(packets as f64 / seconds as f64);
    assert_eq!(rates[0].rows[0][0], per_second(3 * PACKETS, 4));
    // So have rollups, and an answer over all.
    let all = ask(folder.path(), sum(Over::Run), None);
    assert_eq!((packets(&all[0]), all[0].status), (5 * PACKETS, AnswerStatus::Partial));
    assert_eq!(said(&all)[0].3, stopped(4, 10));
    assert_eq!(all[0].coverage, Some(0.5));
    let reason = all[0].reason.clone().expect("a reason");
    assert!(
        reason.contains("missing: 2026-") && reason.contains("(the measurement was stopped)"),
        "{reason}"
    );
    // What is asked for and was never watched.
    let around = ask(folder.path(), sum(every(SECOND)), Some([11, 14]));
    assert_eq!(said(&around).last().expect("an answer"), &([12, 14], 0, None, stopped(12, 14)));
    let nothing = ask(folder.path(), sum(every(SECOND)), Some([5, 8]));
    assert_eq!(said(&nothing), [([5, 8], 0, None, stopped(5, 8))]);
    assert_eq!(nothing[0].columns.len(), 1);
}

#[test]
fn the_time_between_two_captures_is_told_and_missing_in_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), false, [0, 1]);
    run(folder.path(), false, [10, 11]);
    let all = ask(folder.path(), sum(Over::Run), None);
    assert_eq!((packets(&all[0]), all[0].status), (4 * PACKETS, AnswerStatus::Complete));
    assert_eq!((all[0].coverage, &all[0].missing), (Some(1.0), &Vec::new()));
    let reason = all[0].reason.clone().expect("it is told");
    assert!(reason.starts_with("between two recordings: 2026-"), "{reason}");
    let within = ask(folder.path(), sum(Over::Run), Some([3, 8]));
    assert_eq!((packets(&within[0]), within[0].coverage), (0, None));
    assert!(within[0].reason.as_ref().is_some_and(|reason| reason.starts_with("between two recordings")));
    let seconds = ask(folder.path(), sum(every(SECOND)), Some([0, 20]));
    assert!(seconds.iter().all(|answer| answer.missing.is_empty()), "{seconds:?}");
    // A rate over time that was not watched says so. A window that was not watched to its end has that of what was.
    let rate = |over| {
        let rate = Aggregate::Rate(Box::new(Expression::field("total_count")));
        let rate = OutputColumn::new("r", Expression::Aggregate(rate));
        let answers = ask(folder.path(), Query { columns: vec![rate], ..sum(over) }, None);
        let told = answers.into_iter().map(|answer| {
            let reason = answer.reason.clone().unwrap_or_default();
            let value = match answer.rows.first().map(|row| &row[0]) {
                Some(Value::Float(rate)) => *rate,
                other => panic!("{other:?}"),
            };
            (value, reason.contains("rates are over all of its time"))
        });
        told.collect::<Vec<_>>()
    };
    let of = |packets: u64, nanoseconds: u64| packets as f64 / (nanoseconds as f64 / 1e9);
    // Windows were watched to their ends, though the last packet comes a nanosecond after the begin of the last one.
    let whole = (of(4 * PACKETS, 12 * SECOND), true);
    assert_eq!((rate(Over::Run), rate(every(MINUTE))), (vec![whole], vec![whole]));
    let halves = rate(every(6 * SECOND));
    assert_eq!(halves, [(of(2 * PACKETS, 2 * SECOND), false), (of(2 * PACKETS, 2 * SECOND), false)]);
}

/// A run that is killed before its first files are named is known by its begin, until another run has read the same.
#[test]
fn a_run_that_was_killed_before_anything_was_stored_is_told_until_it_is_run_again() {
    for has_other in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        if has_other {
            run(folder.path(), false, 0..5);
        }
        let begin = |run, source: &str| {
            let watched = vec![store::WatchedTime {
                number: run,
                run,
                node: "n".to_owned(),
                by: Some(store::MeasurementKind::Recorded),
                first_ns: 0,
                end_ns: 0,
                why: store::Unstored::Killed,
            }];
            let source = Some(source.to_owned());
            let begun = vec![store::RunBegin { run, node: "n".to_owned(), source }];
            let mut manifest = Manifest::open(folder.path()).expect("a store");
            manifest
                .commit(&ManifestChange { watched, begun, ..ManifestChange::default() })
                .expect("it is written");
            manifest.close();
        };
        let status = || {
            let answers = ask(folder.path(), sum(Over::Run), None);
            assert_eq!(answers.len(), 1, "{answers:?}");
            (answers[0].status, packets(&answers[0]))
        };
        let before = if has_other { 5 * PACKETS } else { 0 };
        begin(100, "source");
        assert_eq!(status(), (AnswerStatus::Partial, before));
        // A run of another source does not tell of this one.
        begin(200, "other");
        run(folder.path(), false, 10..12);
        assert_eq!(status(), (AnswerStatus::Partial, before + 2 * PACKETS));
        let catalog = Catalog::open(folder.path()).expect("a store");
        let entries = catalog.watched().expect("entries").expect("a manifest of today");
        let begins: Vec<u64> =
            entries.iter().filter(|entry| entry.is_begin()).map(|entry| entry.run).collect();
        assert_eq!(begins, [200]);
        begin(300, "other");
        begin(400, "source");
        run(folder.path(), false, 20..22);
        assert_eq!(status(), (AnswerStatus::Partial, before + 4 * PACKETS));
        let mut manifest = Manifest::open(folder.path()).expect("a store");
        let ended = vec![(300, store::Unstored::Stopped)];
        manifest.commit(&ManifestChange { ended, ..ManifestChange::default() }).expect("it is written");
        manifest.close();
        assert_eq!(status(), (AnswerStatus::Complete, before + 4 * PACKETS));
    }
}

/// Removes the files of rows that end before a time, as retention does.
fn drop_rows(folder: &Path, before_ns: u64) {
    let catalog = Catalog::open(folder).expect("a store");
    let files = catalog.files(Level::Rows, None).expect("files");
    let old = files.iter().filter(|file| file.last_ns < before_ns);
    let (removed, paths): (Vec<u64>, Vec<&Path>) = old.map(|file| (file.number, &*file.path)).unzip();
    assert!(!removed.is_empty() && removed.len() < files.len(), "{files:?}");
    let mut manifest = Manifest::open(folder).expect("a store");
    manifest.commit(&ManifestChange { removed, ..ManifestChange::default() }).expect("removed");
    manifest.close();
    paths.into_iter().for_each(|path| std::fs::remove_file(path).expect("removed"));
}

/// Half an hour after the rows begin nothing is measured for hours: no window is in the runs of both levels, and none in neither.
#[test]
fn windows_of_runs_at_the_begin_of_rows_are_given_once() {
    for is_stopped in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let minute = |number: u64| number * 60;
        let first: Vec<u64> = (0..121).map(minute).collect();
        let second: Vec<u64> = (300..360).map(minute).collect();
        match is_stopped {
            true => {
                run(folder.path(), true, first);
                run(folder.path(), true, second);
            }
            false => run(folder.path(), true, [first, second].concat()),
        }
        drop_rows(folder.path(), START + 2 * HOUR);
        let items =
            vec![OutputColumn::count("flows"), OutputColumn::new("n", Expression::sum("total_count"))];
        let over = Over::Windows { every_ns: 30 * MINUTE, over_ns: HOUR };
        let query = Query { over, ..Query::new("q", Vec::new(), items) };
        let answers = ask(folder.path(), query, Some([0, 6 * 3600]));
        let mut starts = Vec::new();
        let mut runs = 0;
        for answer in &answers {
            let window = answer.window.expect("a window");
            starts.extend((window.start_ns..=window.end_ns - HOUR).step_by(30 * MINUTE as usize));
            if answer.rows.is_empty() {
                runs += 1;
                let windows = (window.length_ns() - HOUR) / (30 * MINUTE) + 1;
                assert_eq!(answer.empty, (!is_stopped).then_some(windows), "{answer:?}");
                assert_eq!(answer.missing.is_empty(), !is_stopped, "{answer:?}");
            }
        }
        starts.sort_unstable();
        // The first window that has something begins half an hour before the first packet.
        let all: Vec<u64> = (START - 30 * MINUTE..=START + 5 * HOUR).step_by(30 * MINUTE as usize).collect();
        assert_eq!(starts, all, "{is_stopped}: {answers:?}");
        assert!(runs != 0, "{answers:?}");
    }
}

/// A small file system of its own, if this process may mount one.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8M", "tmpfs"]).arg(path);
        mount.status().is_ok_and(|status| status.success()).then_some(Self(path))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn what_a_full_disk_did_not_take_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_disk) = Disk::mount(folder.path()) else {
        eprintln!("not as root, or without mount: no file system can be filled");
        return;
    };
    let store = open(folder.path(), "rows=9y,1min=9y,1h=9y,flows=0,size=1G");
    let (mut feed, _) = store.node(node(true, SECOND));
    let ballast = folder.path().join("ballast");
    let mut fed = 0;
    for number in 0..60 {
        if number == 20 || number == 40 {
            // What was handed over has been written, but for the segment that waits for this window.
            while store.counts().rows.stored + store.counts().rows.lost() < fed - 20 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            match number {
                20 => drop(std::fs::write(&ballast, vec![1; 8 << 20])),
                _ => std::fs::remove_file(&ballast).expect("removed"),
            }
        }
        let start_ns = START + number * SECOND;
        assert_eq!(feed.write_v4(start_ns, &rows(start_ns, PACKETS)), 0);
        feed.close(start_ns, WindowFacts::default(), 0);
        fed += 2;
    }
    feed.finish();
    let counts = store.close(false);
    assert!(counts.rows.refused > 0 && counts.rows.stored > 0, "{counts:?}");
    let answers = ask(folder.path(), sum(every(SECOND)), None);
    // Each window was stored or is missing.
    let mut found: BTreeMap<u64, bool> = BTreeMap::new();
    for ([from, to], packets, empty, missing) in said_but_for_the_end(&answers) {
        assert_eq!(empty, None, "{from} to {to} had packets");
        let is_missing = packets == 0;
        assert_eq!(missing, if is_missing { vec![(from, to, MissingReason::DiskFull)] } else { vec![] });
        (from..to).for_each(|second| assert_eq!(found.insert(second, is_missing), None));
    }
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), (0..60).collect::<Vec<_>>());
    let lost = found.values().filter(|is_missing| **is_missing).count() as u64;
    assert_eq!((lost * 2, (60 - lost) * 2), (counts.rows.refused, counts.rows.stored));
    let all = ask(folder.path(), sum(Over::Run), None);
    assert_eq!((packets(&all[0]), all[0].status), ((60 - lost) * PACKETS, AnswerStatus::Partial));
    assert_eq!(all[0].coverage, Some(1.0 - lost as f64 / 60.0));
}

/// The last window ends with the last packet.
fn said_but_for_the_end(answers: &[Answer]) -> Vec<Said> {
    let mut answers = answers.to_vec();
    for answer in answers.iter_mut().filter(|answer| answer.status == AnswerStatus::Cut) {
        answer.status = AnswerStatus::Complete;
    }
    said(&answers)
}

/// Times that jump ahead and back: whatever a level claims to have, it has.
#[test]
fn levels_agree_on_times_that_jump() {
    let mut complete = [0; 2];
    for seed in 0..24 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut random = Random::new(seed);
        let is_live = random.below(2) == 0;
        let window_ns = random.of(&[SECOND, 10 * SECOND, MINUTE]);
        let keep = random.of(&["", "rows=1h,1min=6h", "rows=9y,1min=9y", "rows=20min,1min=2h,1h=9y"]);
        let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
        for _ in 0..1 + random.below(3) {
            let store = open(folder.path(), ["flows=0,size=1G", keep].join(",").trim_end_matches(','));
            let (mut feed, _) = store.node(node(is_live, window_ns));
            let mut now = START + random.below(40 * HOUR) / window_ns * window_ns;
            let mut last: Option<u64> = None;
            for _ in 0..5 + random.below(60) {
                let step = match random.below(12) {
                    0 => 1 + random.below(50 * HOUR) / window_ns,
                    1 => 1 + random.below(HOUR) / window_ns,
                    _ => 1,
                };
                let steps = step * window_ns;
                now = match random.below(10) {
                    0 => now.saturating_sub(steps).max(START),
                    _ => now + steps,
                };
                let packets = 2 + random.below(9);
                assert_eq!(feed.write_v4(now, &rows(now, packets)), 0);
                let before = last.filter(|last| *last < now).map_or(0, |last| (now - last) / window_ns - 1);
                feed.close(now, WindowFacts::default(), before);
                *truth.entry(now).or_default() += packets;
                last = Some(now);
            }
            feed.finish();
            store.close(false);
        }
        let of_ports = Query {
            group: task::query::Grouping::By(vec![GroupField::from_field("dst_port")]),
            ..sum(Over::Run)
        };
        for _ in 0..12 {
            let [one, other] = [0; 2].map(|_| random.below(100 * HOUR) / HOUR * HOUR);
            let period = Period { from_ns: START + one.min(other), to_ns: START + one.max(other) + HOUR };
            let right: u64 = truth.range(period.from_ns..period.to_ns).map(|(_, packets)| packets).sum();
            for (number, query) in [sum(Over::Run), of_ports.clone()].into_iter().enumerate() {
                let answers = ask_period(folder.path(), query, Some(period));
                let [answer] = &answers[..] else { panic!("{answers:?}") };
                let lost = answer.missing.iter().any(|one| one.reason == MissingReason::Retention);
                assert!(packets(answer) <= right, "{seed} {keep}: {answer:?} of {right}");
                assert!(lost || packets(answer) == right, "{seed} {keep} {number}: {answer:?} of {right}");
                complete[number] += u64::from(!lost && right != 0);
            }
        }
        // Without a begin, both have all that they say that they have.
        for query in [sum(Over::Run), of_ports] {
            let answers = ask_period(folder.path(), query, None);
            let [answer] = &answers[..] else { panic!("{answers:?}") };
            let from = answer.window.expect("a window").start_ns;
            let right: u64 = truth.range(from - from % window_ns..).map(|(_, packets)| packets).sum();
            assert_eq!(packets(answer), right, "{seed} {keep} from {from}: {answer:?}");
        }
    }
    assert!(complete.iter().all(|complete| *complete > 20), "{complete:?}");
}

/// Three packets, one of them a day ahead: rows have all of them.
#[test]
fn a_packet_a_day_ahead_drops_no_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), "");
    let (mut feed, _) = store.node(node(false, SECOND));
    for (second, before) in [(17, 0), (86_447, 86_429), (47, 0)] {
        let start_ns = START + second * SECOND;
        assert_eq!(feed.write_v4(start_ns, &rows(start_ns, PACKETS)), 0);
        feed.close(start_ns, WindowFacts::default(), before);
    }
    feed.finish();
    store.close(false);
    for over in [Over::Run, every(SECOND), every(MINUTE), every(HOUR)] {
        let answers = ask(folder.path(), sum(over), None);
        assert_eq!(answers.iter().map(packets).sum::<u64>(), 3 * PACKETS, "{over:?}: {answers:?}");
    }
}

/// Windows of ten seconds, each of which has packets.
fn run_of_ten_seconds(folder: &Path) {
    let store = open(folder, "rows=9y,1min=9y,1h=9y,flows=0,size=1G");
    let (mut feed, _) = store.node(node(true, 10 * SECOND));
    for number in 0..6 {
        let start_ns = START + number * 10 * SECOND;
        assert_eq!(feed.write_v4(start_ns, &rows(start_ns, PACKETS)), 0);
        feed.close(start_ns, WindowFacts::default(), 0);
    }
    feed.finish();
    store.close(false);
}

#[test]
fn windows_that_a_period_cuts_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    run_of_ten_seconds(folder.path());
    let asked = |seconds| ask(folder.path(), sum(Over::Run), Some(seconds)).remove(0);
    let within = |answer: &Answer| {
        let window = answer.window.expect("a window");
        [window.start_ns, window.end_ns].map(|ns| (ns - START) / SECOND)
    };
    let (left_out, counted) =
        ("begins before the period and is left out", "ends behind the period and is counted whole");
    for (seconds, expected, windows, coverage, reasons) in [
        ([3, 9], [10, 10], 0, 0.0, vec![left_out]),
        ([3, 17], [10, 20], 1, 0.5, vec![left_out, counted]),
        ([10, 27], [10, 30], 2, 1.0, vec![counted]),
        ([5, 30], [10, 30], 2, 0.8, vec![left_out]),
        ([10, 30], [10, 30], 2, 1.0, vec![]),
    ] {
        let answer = asked(seconds);
        assert_eq!(packets(&answer), windows * PACKETS, "{answer:?}");
        assert_eq!((within(&answer), answer.coverage), (expected, Some(coverage)), "{answer:?}");
        let is_whole = reasons.is_empty();
        assert_eq!((answer.status == AnswerStatus::Complete, answer.bounds == "exact"), (is_whole, is_whole));
        let reason = answer.reason.unwrap_or_default();
        let said: Vec<&str> = [left_out, counted].into_iter().filter(|text| reason.contains(text)).collect();
        assert_eq!(said, reasons, "{reason}");
    }
    // Windows of answers are partial where they overlap those.
    let parts = ask(folder.path(), sum(every(20 * SECOND)), Some([3, 55]));
    let status: Vec<AnswerStatus> = parts.iter().map(|answer| answer.status).collect();
    assert_eq!(status, [AnswerStatus::Partial, AnswerStatus::Complete, AnswerStatus::Partial]);
    // Of the 17 seconds that are asked about in the first, the seven in which the window that is left out lies are not told.
    let coverage: Vec<_> = parts.iter().map(|answer| answer.coverage).collect();
    assert_eq!(coverage, [Some(10.0 / 17.0), Some(1.0), Some(1.0)], "{parts:?}");
    let counted: u64 = parts.iter().map(packets).sum();
    assert_eq!(counted, 5 * PACKETS, "{parts:?}");
}
