//! Figure 7: throughput and drop rate by frame size.

use super::{CORES, PAPER, RSS_TABLE, effort, preset, separate_table};
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, effort_text, measured, percent};
use crate::panel::{Axis, Curve, Guide, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;
use bench::WirePoint;
use notation::Rate;

/// Bytes, and what arrives of such frames.
pub(super) const FRAMES: [(u32, &str); 3] = [(64, "72Mpps"), (754, "100Gbps"), (1514, "8Mpps")];
const FINDING: &str = "of the smallest frames at least 1 % are dropped, and twice as many as of larger ones";
/// The rise that the paper calls dramatic: percent that are lost of the smallest frames, and how many times those of the others.
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

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let names: Vec<String> = FRAMES.iter().map(|(bytes, _)| format!("{bytes} bytes")).collect();
    let of = |name: &str, value: &dyn Fn(&FigureRow) -> Spot| {
        let spots = FRAMES.iter().enumerate().filter_map(|(at, &(bytes, _))| {
            Some(Spot { x: at as f64, ..value(rows.at(RSS_TABLE, "frame", bytes.into())?) })
        });
        Curve { name: name.to_owned(), of_paper: false, spots: spots.collect() }
    };
    let frames = || Axis::Names { label: "frame".to_owned(), names: names.clone() };
    let dropped = of(RSS_TABLE, &|row| Spot { x: 0.0, y: row.value(DROP), spread: row.spread(DROP) });
    let rate = |name: &str, lost: bool| {
        of(name, &move |row| {
            let sent = sent_mpps(row);
            let received = |drop: f64| if lost { sent * (1.0 - drop / 100.0) } else { sent };
            let spread = row.spread(DROP).filter(|_| lost);
            Spot {
                x: 0.0,
                y: received(row.value(DROP)),
                spread: spread.map(|[least, most]| [received(most), received(least)]),
            }
        })
    };
    // 72 million of 64 bytes, and 8 million of 1514.
    let paper = Curve::from_paper("arrives", &[(0.0, 72.0), (2.0, 8.0)]);
    vec![
        Panel::new(
            "Throughput",
            frames(),
            Axis::Log { label: "million packets a second".to_owned() },
            vec![rate("arrives", false), rate("received and counted", true), paper],
        ),
        Panel::new("Dropped", frames(), percent("drop rate"), vec![dropped])
            .with_guides([Guide::below("increases dramatically as frames become small")]),
    ]
}

/// Million packets a second that arrive of a row's frames.
fn sent_mpps(row: &FigureRow) -> f64 {
    let rate = row.params.get("rate").and_then(|rate| rate.as_str()).unwrap_or_default();
    match rate.parse::<Rate>() {
        Ok(Rate::Packets(number)) => number as f64 / 1e6,
        // With preamble and gap.
        Ok(Rate::Bits(number)) => number as f64 / 8e6 / (row.param("frame") + 20.0),
        Err(_) => f64::NAN,
    }
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let decide = || {
        let drops = FRAMES.map(|(bytes, _)| value_at(rows, RSS_TABLE, ("frame", bytes.into()), DROP));
        let [small, medium, large] = [drops[0].clone()?, drops[1].clone()?, drops[2].clone()?];
        let lost = Claim::new(
            RoundedValue::exact(LEAST).is_at_most(small, 0.0),
            format!("of 64 bytes {} are dropped", small.text("%")),
        );
        let more = [("754", medium), ("1514", large)].map(|(bytes, other)| {
            let text = format!("of 64 bytes {} and of {bytes} {}", small.text("%"), other.text("%"));
            Claim::new(other.times(TIMES).is_at_most(small, 0.0), text)
        });
        Ok([lost].into_iter().chain(more).collect())
    };
    conclude(FINDING, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{row, spread_out};

    #[test]
    fn what_is_received_is_what_arrives_without_the_drops() {
        let frames = FRAMES
            .map(|(frame, rate)| row(RSS_TABLE, &[(DROP, 50.0)]).with("frame", frame).with("rate", rate));
        let rows = FigureRows(frames.into());
        let panels = panels(&rows, &MachineProfile::here());
        let of = |number: usize| panels[0].curves[number].spots[0].y;
        assert_eq!((of(0), of(1)), (72.0, 36.0));
        // 100 Gbit/s of 754 bytes with preamble and gap.
        let middle = panels[0].curves[0].spots[1].y;
        assert!((middle - 100e3 / 8.0 / 774.0).abs() < 0.01, "{middle}");
        assert_eq!(panels[0].curves[2].spots[0].y, 72.0, "the paper's");
    }

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
        let open = spread_out(&rows([3.0, 1.0, 0.0]), RSS_TABLE, DROP);
        assert_eq!(judge(&open, &MachineProfile::here()).holds, None);
        assert_eq!(judge(&FigureRows::default(), &MachineProfile::here()).holds, None);
    }
}
