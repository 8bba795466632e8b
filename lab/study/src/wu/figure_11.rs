//! Figure 11: the size of the Simple Hash Table.

use super::{CORES, PAPER, RSS_TABLE, SYNC_TABLE, effort, separate_table};
use crate::deciding::{Claim, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DELAY, DROP, PROCESSING, effort_text, measured, nanoseconds, percent};
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;
use bench::{Effort, SketchKind, TallyKind, WirePoint};

/// Entries.
const SIZES: [usize; 3] = [1 << 10, 256 << 10, 8 << 20];
/// Flows of the traffic: the entries of an 8M table that they reach fit in no cache.
const FLOWS: u64 = 1 << 20;
const SHARE: &str = "processing_percent";
const FINDING: &str =
    "the size of the hash table hardly affects the drop rate: by less than 5 percentage points";
/// Percentage points: what the paper calls little of the mempool (section 4.3).
const LITTLE: f64 = 5.0;
const SERIES: [&str; 2] = [SYNC_TABLE, RSS_TABLE];

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-11",
    title: "drop rate by size of the hash table",
    section: "Section 4.4.2, Figure 11",
    shows: "The drop rate of SYNC-Separate-SHT and RSS-Separate-SHT with tables of 1K, 256K and 8M entries: in L2, in L3, and in memory.",
    here: "The same sizes on up to six cores, at 72 Mpps of 64 bytes of one million flows drawn alike, which touch all of each table. Entries are prefetched, which the paper's are not said to be.",
    said: &[
        PaperClaim { what: "tables", value: "1K, 256K and 8M entries of 17 bytes", place: "Section 4.4.2" },
        PaperClaim { what: "share of processing in the delay", value: "about 40 %", place: "Section 4.4.2" },
    ],
    points,
    panels,
    judge,
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = Effort { packets: Some(2 * FLOWS), rounds: scale.pick(3, 7), ..effort(scale) };
    let effort_text = effort_text(&effort);
    let key =
        format!("wu table-sizes {SIZES:?} flows={FLOWS} sync,rss-separate-sht cores={CORES} {effort_text}");
    vec![StudyPoint::new(key, move || {
        let of = |is_rss| {
            SIZES.map(|entries| WirePoint {
                counting: TallyKind::Sketch(SketchKind::SimpleHashTable, entries),
                flows: FLOWS,
                ..separate_table(is_rss, CORES)
            })
        };
        let points = [of(false), of(true)].concat();
        measured(&points, &effort, |at, row| row.with("entries", SIZES[at % SIZES.len()]))
    })]
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let panel = |title: &str, value: &str, y: Axis| {
        let curves = SERIES.map(|series| Curve::from_rows(rows, series, series, "entries", value)).into();
        Panel::new(title, Axis::Log { label: "entries".to_owned() }, y, curves)
    };
    let mut shares = rows.clone();
    for row in &mut shares.0 {
        row.values.insert(SHARE.to_owned(), 100.0 * row.value(PROCESSING) / row.value(DELAY));
    }
    let share = SERIES.map(|series| Curve::from_rows(&shares, series, series, "entries", SHARE)).into();
    vec![
        panel("Dropped", DROP, percent("drop rate"))
            .with_guides([Guide::below("the size has little effect")]),
        panel("Processing", PROCESSING, nanoseconds("processing")),
        Panel::new(
            "Processing, of the whole delay",
            Axis::Log { label: "entries".to_owned() },
            percent("share"),
            share,
        )
        .with_guides([Guide::across(40.0, "about 40 %")]),
    ]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let decide = || {
        let mut claims = Vec::new();
        for series in SERIES {
            let at = |entries: usize| value_at(rows, series, ("entries", entries as f64), DROP);
            for (number, entries) in SIZES.into_iter().enumerate() {
                for other in &SIZES[number + 1..] {
                    let (few, many) = (at(entries)?, at(*other)?);
                    let text = format!(
                        "{series} drops {} with {entries} entries and {} with {other}",
                        few.text("%"),
                        many.text("%")
                    );
                    claims.push(Claim::new(few.is_within(many, LITTLE), text));
                }
            }
        }
        Ok(claims)
    };
    conclude(FINDING, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{row, spread_out};

    #[test]
    fn sizes_may_differ_little_in_each_design() {
        let rows = |rss: [f64; 3]| {
            let of = |series, drops: [f64; 3]| {
                SIZES
                    .into_iter()
                    .zip(drops)
                    .map(move |(entries, drop)| row(series, &[(DROP, drop)]).with("entries", entries))
            };
            FigureRows(of(SYNC_TABLE, [80.0, 80.5, 81.0]).chain(of(RSS_TABLE, rss)).collect())
        };
        let judged = |rows| judge(&rows, &MachineProfile::here()).holds;
        assert_eq!(judged(rows([15.0, 16.0, 18.0])), Some(true));
        assert_eq!(judged(rows([15.0, 16.0, 28.0])), Some(false));
        assert_eq!(judged(spread_out(&rows([5.0, 6.0, 8.0]), RSS_TABLE, DROP)), None);
        assert_eq!(judged(FigureRows(rows([1.0; 3]).0.split_off(1))), None);
    }
}
