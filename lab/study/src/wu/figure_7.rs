//! Figure 7: throughput and drop rate by frame size.

use super::{CORES, PAPER, RSS_TABLE, effort, preset, separate_table};
use crate::deciding::{value_at, verdict};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, effort_text, measured, percent};
use crate::panel::{Axis, Curve, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;
use bench::WirePoint;

/// Bytes, and what arrives of such frames.
pub(super) const FRAMES: [(u32, &str); 3] = [(64, "72Mpps"), (754, "100Gbps"), (1514, "8Mpps")];
const FINDING: &str = "the drop rate increases dramatically as frames become small";
/// Percent that are lost of the smallest frames at least, and how many times those of the others.
const LEAST: f64 = 1.0;
const TIMES: f64 = 2.0;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-7",
    title: "throughput and drop rate by frame size",
    section: "Section 4.2, Figure 7",
    shows: "What arrives and what is dropped of frames of 64, 754 and 1514 bytes. Packets of 64 bytes come at the highest rate, which saturates the receiver.",
    here: "Frames arrive over the software wire at the paper's rates (of 754 bytes, of which the text has none, at 100 Gbit/s). RSS-Separate-SHT counts them on up to six cores.",
    said: &[
        PaperClaim { what: "64-byte frames", value: "72 Mpps (34 Gbit/s)", place: "Section 4.2" },
        PaperClaim { what: "1514-byte frames", value: "8 Mpps (90 Gbit/s)", place: "Section 4.2" },
    ],
    points,
    panels,
    judge,
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let key = format!("wu frames 64,754,1514 rss-separate-sht cores={CORES} {effort_text}");
    vec![StudyPoint::new(key, move || {
        let points = FRAMES.map(|(frame, rate)| WirePoint { frame, rate, ..separate_table(true, CORES) });
        debug_assert_eq!(points[0].frame, WirePoint::new(preset(), "rss", None, 1).frame);
        measured(&points, &effort, |_, row| row)
    })]
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let names: Vec<String> = FRAMES.iter().map(|(bytes, _)| format!("{bytes} bytes")).collect();
    let spots = FRAMES.iter().enumerate().filter_map(|(at, &(bytes, _))| {
        let row = rows.at(RSS_TABLE, "frame", bytes.into())?;
        Some(Spot { x: at as f64, y: row.value(DROP), spread: row.spread(DROP) })
    });
    vec![Panel {
        title: "Dropped".to_owned(),
        x: Axis::Names { label: "frame".to_owned(), names },
        y: percent("drop rate"),
        curves: vec![Curve { name: RSS_TABLE.to_owned(), of_paper: false, spots: spots.collect() }],
    }]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let decide = || {
        let drops = FRAMES.map(|(bytes, _)| value_at(rows, RSS_TABLE, ("frame", bytes.into()), DROP));
        let [small, medium, large] = [drops[0].clone()?, drops[1].clone()?, drops[2].clone()?];
        let holds = small >= LEAST && small >= TIMES * medium && small >= TIMES * large;
        Ok((holds, format!("of 64 bytes {small} % are dropped, of 754 {medium} %, of 1514 {large} %")))
    };
    verdict(FINDING, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::row;

    #[test]
    fn small_frames_have_to_lose_most() {
        let rows = |drops: [f64; 3]| {
            let rows = FRAMES.iter().zip(drops);
            FigureRows(
                rows.map(|((bytes, _), drop)| row(RSS_TABLE, &[(DROP, drop)]).with("frame", *bytes))
                    .collect(),
            )
        };
        let judged = |drops| judge(&rows(drops), &MachineProfile::here()).holds;
        assert_eq!(judged([15.0, 1.0, 0.0]), Some(true));
        assert_eq!(judged([15.0, 10.0, 0.0]), Some(false));
        assert_eq!(judged([0.01, 0.0, 0.0]), Some(false));
        assert_eq!(judge(&FigureRows::default(), &MachineProfile::here()).holds, None);
    }
}
