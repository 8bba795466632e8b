//! A prefix tree that zooms (Alipourfard et al., Table 1: heavy hitters and changes by trees) over many windows, of which each makes it finer:
//! when it names a heavy source, and how fine it is where something changes.

use super::BENCH;
use super::metrics::{AccuracyMetric, f1};
use crate::BenchResult;
use crate::compare::{median, thread_time};
use crate::line::to_digits;
use hashbrown::HashMap;
use notation::size_text;
use packet::{Seed, split_mix};
use serde_json::{Value, json};
use sketch::{Configuration, Summary, Update, UpdateBurst};
use structures::{ZoomAnswer, ZoomConfig, ZoomPrefix, ZoomTree};
use traffic::RankDraw;

/// Windows, the first of those with a source that was not there before, and the first of those without it again.
const WINDOWS: usize = 48;
const COMES: usize = 34;
const GOES: usize = 44;
/// Sources, and the skew of their packets.
const SOURCES: u32 = 30_000;
const ZIPF: f64 = 1.0;
/// Shares of a window's packets: of the source that comes; from which on a source is heavy, and a prefix changed.
const NEW: f64 = 0.02;
const HEAVY: f64 = 0.002;
const CHANGED: f64 = 0.01;
/// F1 from which on the tree has found what is heavy.
const SETTLED: f64 = 0.95;
/// Leaves, and the bits by which they are split.
const LEAVES: [usize; 3] = [256, 1_024, 4_096];
const STRIDES: [u32; 3] = [1, 4, 8];
/// Packets of a burst.
const BURST: usize = 64;

/// The packets of a window by source, and the same in an ordinary map.
struct SourceWindow {
    sources: Vec<u32>,
    counts: HashMap<u32, u64>,
}

/// The address of a source, which says nothing about its rank.
fn address(rank: u32) -> u32 {
    let mut state = u64::from(rank);
    (split_mix(&mut state) >> 32) as u32
}

fn window(number: usize, packets: usize) -> SourceWindow {
    let mut draw = RankDraw::new(SOURCES, ZIPF, number as u64 + 1);
    let mut ranks = vec![0; packets];
    draw.draw(&mut ranks);
    let every = (1.0 / NEW) as usize;
    let has_new = (COMES..GOES).contains(&number);
    let source = |(at, rank): (usize, &u32)| {
        // A rank that no other source has.
        if has_new && at % every == 0 { address(SOURCES) } else { address(*rank) }
    };
    let sources: Vec<u32> = ranks.iter().enumerate().map(source).collect();
    let mut counts = HashMap::new();
    sources.iter().for_each(|source| *counts.entry(*source).or_default() += 1);
    SourceWindow { sources, counts }
}

/// The results of a tree in all windows.
#[derive(Default)]
struct ZoomCourse {
    /// F1 of the heavy sources, by window.
    f1: Vec<f64>,
    /// Processor time of counting, by window.
    ns: Vec<f64>,
    /// Windows until the new source was named.
    to_name: Option<usize>,
    /// Bits of the prefix that changed when the source came, and when it went.
    came: Option<u8>,
    went: Option<u8>,
    without_room: usize,
    is_exact: bool,
}

fn course(config: &ZoomConfig, windows: &[SourceWindow]) -> Result<ZoomCourse, String> {
    let mut tree = ZoomTree::new(config).map_err(|error| error.to_string())?;
    let mut course = ZoomCourse { is_exact: true, ..ZoomCourse::default() };
    let mut before: Option<&SourceWindow> = None;
    for (number, now) in windows.iter().enumerate() {
        let began = thread_time();
        let mut updates = [Update { key: 0, hash: 0, weight: 1 }; BURST];
        for sources in now.sources.chunks(BURST) {
            updates.iter_mut().zip(sources).for_each(|(update, source)| update.key = u64::from(*source));
            tree.update_burst(&updates[..sources.len()]);
        }
        course.ns.push(thread_time() - began);
        let share = |share: f64| (share * now.sources.len() as f64).ceil() as u64;
        let (heavy, changed) = (share(HEAVY), share(CHANGED));
        course.is_exact &= tree.total() == now.sources.len() as u64;
        let answer = tree.turn(heavy, changed);
        course.is_exact &= is_exact(&answer, now, before, heavy);
        course.without_room += answer.without_room;
        let single = |(prefix, _): &(ZoomPrefix, u64)| (prefix.length == 32).then_some(prefix.first);
        let named: Vec<u32> = answer.heavy.iter().filter_map(single).collect();
        let is_heavy = |source: &u32| now.counts.get(source).is_some_and(|count| *count >= heavy);
        let right = named.iter().filter(|source| is_heavy(source)).count();
        let all = now.counts.values().filter(|count| **count >= heavy).count();
        course.f1.extend(f1(right, named.len(), all));
        let new = address(SOURCES);
        let length =
            || answer.changes.iter().find(|(prefix, _)| prefix.has(new)).map(|(prefix, _)| prefix.length);
        match number {
            COMES => course.came = length(),
            GOES => course.went = length(),
            _ => {}
        }
        if number >= COMES && named.contains(&new) {
            course.to_name = course.to_name.or(Some(number - COMES));
        }
        before = Some(now);
    }
    Ok(course)
}

/// Returns true if all counts and changes that were named are those of the ordinary maps, and each source with `heavy` packets lies in a prefix
/// that was named.
fn is_exact(answer: &ZoomAnswer, now: &SourceWindow, before: Option<&SourceWindow>, heavy: u64) -> bool {
    let sum = |window: &SourceWindow, prefix: ZoomPrefix| {
        window.counts.iter().filter(|(source, _)| prefix.has(**source)).map(|(_, count)| count).sum::<u64>()
    };
    let is_named = |source: u32| answer.heavy.iter().any(|(prefix, _)| prefix.has(source));
    answer.heavy.iter().all(|(prefix, count)| sum(now, *prefix) == *count)
        && now.counts.iter().all(|(source, count)| *count < heavy || is_named(*source))
        && answer.changes.iter().all(|(prefix, change)| {
            let before = before.map_or(0, |before| sum(before, *prefix));
            sum(now, *prefix) as i64 - before as i64 == *change
        })
}

/// Measures trees of several sizes on windows of this many packets.
///
/// # Errors
/// One line: a tree cannot be made.
pub(super) fn run(packets: u64, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let windows: Vec<SourceWindow> = (0..WINDOWS).map(|number| window(number, packets as usize)).collect();
    for leaves in LEAVES {
        for stride in STRIDES {
            let config = ZoomConfig { leaves, stride, seed: Seed::new(1) };
            let course = course(&config, &windows)?;
            // From the first window on after which none is worse.
            let unsettled = course.f1.iter().rposition(|f1| *f1 < SETTLED).map_or(0, |at| at + 1);
            let settles = (unsettled < course.f1.len()).then_some(unsettled);
            let [name, spread] = AccuracyMetric::F1.names();
            let last = &course.f1[GOES.min(course.f1.len())..];
            let ends = crate::compare::spread(last).map(|end| to_digits(end, 5));
            let more: Vec<(&'static str, Value)> = vec![
                (name, json!(to_digits(median(last), 5))),
                (spread, json!(ends)),
                ("windows_to_settle", json!(settles)),
                ("windows_to_name", json!(course.to_name)),
                ("bits_of_change_when_it_came", json!(course.came)),
                ("bits_of_change_when_it_went", json!(course.went)),
                ("not_split_for_room", json!(course.without_room)),
            ];
            out(BenchResult {
                bench: BENCH,
                variant: "zooming tree (lab)".to_owned(),
                params: vec![
                    ("part", json!("tree")),
                    ("task", json!("heavy sources and changes")),
                    ("stream", json!(format!("{WINDOWS} windows"))),
                    ("zipf", json!(ZIPF)),
                    ("memory", json!(size_text(config.bytes()))),
                    ("design", json!("one worker")),
                    ("leaves", json!(leaves)),
                    ("stride", json!(stride)),
                ],
                packets,
                rounds_ns: course.ns,
                memory_bytes: Some(config.bytes() as u64),
                checked: course.is_exact,
                more,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_with_room_names_what_is_heavy_and_says_exactly_what_went() {
        let mut lines = Vec::new();
        run(20_000, &mut |line| lines.push(line.json())).expect("lines");
        assert_eq!(lines.len(), LEAVES.len() * STRIDES.len());
        assert!(lines.iter().all(|line| line["checked"] == true), "{lines:?}");
        let of = |leaves: usize, stride: u32| {
            let is_it =
                |line: &&Value| line["params"]["leaves"] == leaves && line["params"]["stride"] == stride;
            lines.iter().find(is_it).expect("a line")
        };
        let (slow, fast) = (of(4_096, 1), of(4_096, 4));
        assert!(fast["f1"].as_f64().is_some_and(|f1| f1 > 0.9), "{fast}");
        assert!(fast["windows_to_name"].as_u64().is_some_and(|took| (1..=8).contains(&took)), "{fast}");
        // It was seen at once, in a prefix; when it went, the tree had got to it, but for one that takes 32 windows for that.
        for line in [slow, fast] {
            assert!(line["bits_of_change_when_it_came"].as_u64().is_some_and(|bits| bits < 32), "{line}");
        }
        assert_eq!(fast["bits_of_change_when_it_went"], 32, "{fast}");
        assert!(slow["windows_to_name"].is_null(), "{slow}");
        assert!(slow["bits_of_change_when_it_went"].as_u64().is_some_and(|bits| bits < 32), "{slow}");
        assert!(of(256, 8)["not_split_for_room"].as_u64() > Some(0), "{}", of(256, 8));
    }

    #[test]
    fn wrong_counts_are_seen() {
        let now = window(0, 1_000);
        let whole = ZoomPrefix::default();
        let answer = |count, change| ZoomAnswer {
            heavy: vec![(whole, count)],
            changes: vec![(whole, change)],
            without_room: 0,
        };
        let is_right = |answer: &ZoomAnswer, before: Option<&SourceWindow>| is_exact(answer, &now, before, 1);
        assert!(is_right(&answer(1_000, 1_000), None) && is_right(&answer(1_000, 0), Some(&now)));
        assert!(!is_right(&answer(999, 0), Some(&now)) && !is_right(&answer(1_000, 1), Some(&now)));
        assert!(!is_right(&ZoomAnswer::default(), None), "sources are missing");
    }
}
