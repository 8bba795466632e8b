//! A store that is made by hand: rows, and rollups of them by ordinary maps.

use arena::Limits;
use flow::{Rows, WindowRow};
use history::levels::Shelf;
use history::{AnswerSetting, FlowFiles, Period, Question, ScanSummary};
use model::Answer;
use packet::{KeySpec, KeyV4, KeyV6, Seed};
use record::{RecordedWindows, RowWindow, RowWriter, WindowFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use store::{
    Catalog, Level, Manifest, ManifestChange, MeasurementKind, StoredFile, Unstored, WatchedTime, place,
};
use task::query::Query;

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
/// The begin of an hour.
pub(crate) const START: u64 = 497_222 * HOUR;
/// The length of the windows of rows.
pub(crate) const WINDOW: u64 = 20 * SECOND;
pub(crate) const HOURS: u64 = 3;
pub(crate) const NODES: [&str; 2] = ["a", "b"];

/// A small generator, so that the test needs no dependency and repeats.
pub(crate) struct Random {
    state: u64,
    /// Queries that rollups answer are wanted.
    pub(crate) is_plain: bool,
}

impl Random {
    pub(crate) fn new(state: u64) -> Self {
        Self { state, is_plain: false }
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) % most
    }

    pub(crate) fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }
}

/// A row of either family: addresses by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    is_v6: bool,
    ends: [u8; 2],
    ports: [u16; 2],
    protocol: u8,
}

/// A row, and where it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    node: &'static str,
    window: u64,
    key: Key,
    values: WindowRow<()>,
    /// It came after its time was rolled up.
    is_late: bool,
}

impl Row {
    /// The same, as it comes before its time is rolled up.
    pub(crate) fn in_time(self) -> Self {
        Self { is_late: false, ..self }
    }
}

fn row(random: &mut Random) -> Row {
    let window = START + random.below(HOURS * HOUR / WINDOW) * WINDOW;
    let protocol = random.of(&[6, 6, 17, 1]);
    let first_ns = window + random.below(WINDOW / 2);
    Row {
        node: random.of(&NODES),
        window,
        key: Key {
            is_v6: random.below(3) == 0,
            ends: [random.below(6) as u8, random.below(6) as u8],
            ports: [random.of(&[1000, 1001, 1002]), random.of(&[53, 80, 443])],
            protocol,
        },
        values: WindowRow {
            packets: 1 + random.below(9),
            bytes: 40 + random.below(2000),
            wire_bytes: 60 + random.below(2000),
            first_ns,
            last_ns: first_ns + random.below(WINDOW / 2),
            tcp_win: random.below(60_000) as u16,
            ip_ttl: random.of(&[63, 64, 128]),
            tcp_flags: random.below(32) as u8,
            vlan: random.of(&[5, WindowRow::<()>::NO_VLAN]),
            ..WindowRow::default()
        },
        is_late: random.below(40) == 0,
    }
}

/// Random rows, one for each key, node and window.
pub(crate) fn rows(random: &mut Random, count: u64) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    let mut rows: Vec<Row> = (0..count).map(|_| row(random)).collect();
    rows.retain(|row| seen.insert((row.node, row.window, row.key)));
    rows.sort_by_key(|row| (row.window, row.key));
    rows
}

/// Packets without a place of some windows.
fn without_place(node: &str, window: u64) -> [u64; 3] {
    match (node, (window - START) / WINDOW) {
        ("a", number) if number % 97 == 5 => [1 + number, 100 * (1 + number), 114 * (1 + number)],
        _ => [0; 3],
    }
}

/// Merges rows over longer windows and their ports, as the field table says: what is neither a total nor a bound is the last row's.
fn rolled(rows: &[Row], length: u64) -> Vec<Row> {
    let mut merged: BTreeMap<(u64, Key), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let key = Key { ports: [0; 2], ..row.key };
        merged.entry((row.window - row.window % length, key)).or_default().push(row);
    }
    let row = |((window, key), of): ((u64, Key), Vec<&Row>)| {
        let last = of[of.len() - 1];
        let each = || of.iter().map(|row| &row.values);
        Row {
            window,
            key,
            values: WindowRow {
                packets: each().map(|row| row.packets).sum(),
                bytes: each().map(|row| row.bytes).sum(),
                wire_bytes: each().map(|row| row.wire_bytes).sum(),
                first_ns: each().map(|row| row.first_ns).min().unwrap_or(0),
                last_ns: each().map(|row| row.last_ns).max().unwrap_or(0),
                tcp_flags: each().fold(0, |flags, row| flags | row.tcp_flags),
                ..last.values
            },
            ..*last
        }
    };
    merged.into_iter().map(row).collect()
}

fn of_family<K>(rows: &[&Row], is_v6: bool, key: impl Fn(&Key) -> K) -> Rows<K> {
    let mut found = Rows::with_capacity(rows.len(), 0);
    for row in rows.iter().filter(|row| row.key.is_v6 == is_v6) {
        found.push(row.values.with_key(key(&row.key)), None);
    }
    found
}

fn ports(key: &Key) -> [u8; 4] {
    let [from, to] = key.ports.map(u16::to_be_bytes);
    [from[0], from[1], to[0], to[1]]
}

fn key_v4(key: &Key) -> KeyV4 {
    let [src, dst] = key.ends;
    KeyV4::new([10, 0, src / 2, src, 10, 1, 0, dst], ports(key), key.protocol)
}

fn key_v6(key: &Key) -> KeyV6 {
    let [src, dst] = key.ends.map(|end| {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[0x20, 1, 0xd, 0xb8]);
        (address[5], address[15]) = (end / 2, end);
        address
    });
    KeyV6::new(&src, &dst, ports(key), key.protocol)
}

/// What a file has.
#[derive(Clone, Copy)]
struct Of<'a> {
    level: Level,
    node: &'a str,
    key: &'a str,
    window_ns: u64,
    has_facts: bool,
}

/// A store that is being made.
pub(crate) struct Maker {
    manifest: Manifest,
}

impl Maker {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { manifest: Manifest::open(folder).expect("a store") }
    }

    /// Writes rows as one file, with the windows of a time, and with what is known of these.
    fn file(&mut self, of: Of<'_>, period: Period, rows: &[&Row], is_rolled: bool) {
        let Of { level, node, key, window_ns, has_facts } = of;
        let number = self.manifest.take_number();
        let path = self.manifest.folder().join(place(level, node, period.from_ns, number));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let spec = KeySpec::parse(key).expect("a key");
        let mut writer = RowWriter::create(&path, node, spec, flow::TrackedParts::PLAIN).expect("a file");
        let mut windows = RecordedWindows::new(window_ns, window_ns);
        let mut all_without_place = [0; 3];
        for start_ns in (period.from_ns..period.to_ns).step_by(window_ns as usize) {
            let of: Vec<&Row> = rows.iter().filter(|row| row.window == start_ns).copied().collect();
            let mut sums = [0; 3];
            for window in (start_ns..start_ns + window_ns).step_by(WINDOW as usize).filter(|_| has_facts) {
                sums.iter_mut().zip(without_place(node, window)).for_each(|(sum, more)| *sum += more);
            }
            all_without_place.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
            windows.push(start_ns, WindowFacts { without_place: sums, ..WindowFacts::default() });
            let window = RowWindow { start_ns, end_ns: start_ns + window_ns };
            writer.write(window, &of_family(&of, false, key_v4)).expect("written");
            writer.write(window, &of_family(&of, true, key_v6)).expect("written");
        }
        writer.describe_windows(&windows).expect("a list");
        let [packets, bytes, wire_bytes] = all_without_place;
        writer.describe_without_place(packets, bytes, wire_bytes);
        writer.finish().expect("a whole file");
        let file = StoredFile {
            number,
            path,
            level,
            node: node.to_owned(),
            first_ns: period.from_ns,
            last_ns: period.to_ns - window_ns,
            window_ns,
            rows: rows.len() as u64,
            bytes: 1,
            key: key.to_owned(),
            created_ns: 0,
            is_compacted: false,
            is_rolled,
        };
        self.manifest
            .commit(&ManifestChange { added: vec![file], ..ManifestChange::default() })
            .expect("named");
    }

    /// Writes rows, and rollups of what came in time and is before `until` hours; of those of a minute half an hour more.
    pub(crate) fn fill(&mut self, rows: &[Row], until: u64) {
        const FULL: &str = "src_addr,dst_addr,protocol,src_port,dst_port";
        const PART: &str = "src_addr,dst_addr,protocol";
        let until_ns =
            |level: Level| START + until * HOUR + if level == Level::Minute { 30 * MINUTE } else { 0 };
        for node in NODES {
            let of_node = |period: Period, is_late: bool| -> Vec<Row> {
                let is_in =
                    |row: &&Row| row.node == node && row.is_late == is_late && period.contains(row.window);
                rows.iter().filter(is_in).copied().collect()
            };
            for from_ns in (START..START + HOURS * HOUR).step_by(30 * MINUTE as usize) {
                let period = Period { from_ns, to_ns: from_ns + 30 * MINUTE };
                for is_late in [false, true] {
                    let own = of_node(period, is_late);
                    let is_rolled = !is_late && period.to_ns <= until_ns(Level::Minute);
                    let of =
                        Of { level: Level::Rows, node, key: FULL, window_ns: WINDOW, has_facts: !is_late };
                    if !is_late || !own.is_empty() {
                        self.file(of, period, &own.iter().collect::<Vec<_>>(), is_rolled);
                    }
                }
            }
            for level in [Level::Minute, Level::Hour] {
                for from_ns in (START..until_ns(level)).step_by(HOUR as usize) {
                    let period = Period { from_ns, to_ns: (from_ns + HOUR).min(until_ns(level)) };
                    let window_ns = level.window_ns().expect("a rollup");
                    let rolled = rolled(&of_node(period, false), window_ns);
                    let is_rolled = level == Level::Minute && period.to_ns <= until_ns(Level::Hour);
                    let of = Of { level, node, key: PART, window_ns, has_facts: true };
                    self.file(of, period, &rolled.iter().collect::<Vec<_>>(), is_rolled);
                }
                let until = Some((level, node.to_owned(), until_ns(level)));
                self.manifest
                    .commit(&ManifestChange {
                        until: until.into_iter().collect(),
                        ..ManifestChange::default()
                    })
                    .expect("named");
            }
        }
    }

    /// Notes all of the time as watched by a version that did not note it.
    pub(crate) fn take_over(&mut self) {
        let entry = |(number, node): (u64, &str)| WatchedTime {
            number,
            run: 0,
            node: node.to_owned(),
            by: Some(MeasurementKind::Unknown),
            first_ns: START,
            end_ns: START + HOURS * HOUR,
            why: Unstored::Stopped,
        };
        let watched = (1..).zip(NODES).map(entry).collect();
        self.manifest.commit(&ManifestChange { watched, ..ManifestChange::default() }).expect("noted");
    }

    /// Removes the files of a level that end before a time, as retention does.
    pub(crate) fn retain(&mut self, level: Level, from_ns: u64) {
        let catalog = Catalog::open(self.manifest.folder()).expect("a store");
        let files = catalog.files(level, None).expect("files");
        let old: Vec<_> = files.into_iter().filter(|file| file.last_ns < from_ns).collect();
        let removed = old.iter().map(|file| file.number).collect();
        self.manifest.commit(&ManifestChange { removed, ..ManifestChange::default() }).expect("removed");
        old.iter().for_each(|file| std::fs::remove_file(&file.path).expect("removed"));
    }
}

pub(crate) fn setting() -> AnswerSetting {
    AnswerSetting { limits: Limits::new(1 << 30, usize::MAX), seed: Seed::new(1), geo: None }
}

pub(crate) fn shelf(folder: &Path) -> Shelf {
    Shelf::open(&Catalog::open(folder).expect("a store")).expect("a manifest")
}

/// The answers of a query, from no coarser level than this.
pub(crate) fn ask(
    shelf: &Shelf,
    query: &Query,
    period: Option<Period>,
    coarsest: Level,
) -> (Vec<Answer>, ScanSummary) {
    let question = Question { query: query.clone(), period, runs_on: Rc::new(|_| true) };
    let reading = shelf.choose(&question, coarsest, &setting());
    let files =
        FlowFiles::open_stored(reading.files(), reading.kept_of(shelf.spans()), reading.nodes().to_vec());
    let mut files = files.expect("keys that fit");
    let mut answers = Vec::new();
    let outcome = files.answer(&[question], &setting(), &mut |_| true, &mut |mut answer| {
        reading.describe(&mut answer);
        answers.push(answer);
    });
    // Windows of several nodes come as they are complete.
    answers.sort_by_key(|answer| (answer.window.map(|window| window.start_ns), answer.node.clone()));
    (answers, outcome.unwrap_or_else(|refused| panic!("{query:?}: {refused:?}")))
}
