//! Figure 8: the size of the mempool.

use super::figure_7::FRAMES;
use super::{CORES, PAPER, RSS_TABLE, effort, separate_table};
use crate::deciding::{Claim, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, effort_text, measured, percent};
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;
use bench::WirePoint;

/// Mbufs of each queue's pool. The text names 16K only; what is below 8K does not fill the ring and a burst of each step.
const SLOTS: [u32; 4] = [8 << 10, 16 << 10, 32 << 10, 64 << 10];
const PAPERS: u32 = 16 << 10;
const FINDING: &str = "the mempool's size changes the drop rate by less than 5 %, and 16K slots are the best (but for 1514 bytes)";
/// Percentage points: what the paper calls little, and what another size may lose less than 16K slots.
const LITTLE: f64 = 5.0;
const SAME: f64 = 1.0;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-8",
    title: "drop rate by size of the mempool",
    section: "Section 4.3, Figure 8",
    shows: "The drop rate by the packet slots of a receive queue's mempool, for three frame sizes.",
    here: "RSS-Separate-SHT on up to six cores, over a software wire that hands frames out in DPDK's mbufs, from a pool for each queue. The wire points an mbuf at the frame instead of copying it into the slot, so a large pool takes less of the caches than a card's would.",
    said: &[
        PaperClaim { what: "difference between sizes", value: "less than 5 %", place: "Section 4.3" },
        PaperClaim {
            what: "best size",
            value: "16K slots, except for 1514-byte packets",
            place: "Section 4.3",
        },
    ],
    points,
    panels,
    judge,
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let key = format!("wu mempool {SLOTS:?} frames 64,754,1514 rss-separate-sht cores={CORES} {effort_text}");
    let measure = move || {
        let of = |(frame, rate)| {
            SLOTS.map(|slots| WirePoint { frame, rate, mbufs: Some(slots), ..separate_table(true, CORES) })
        };
        let points: Vec<WirePoint> = FRAMES.into_iter().flat_map(of).collect();
        measured(&points, &effort, |_, row| row)
    };
    vec![StudyPoint::new(key, measure)]
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let curve = |(bytes, _): (u32, &str)| {
        Curve::from_rows(
            &rows.only("frame", bytes.into()),
            RSS_TABLE,
            &format!("{bytes} bytes"),
            "mbufs",
            DROP,
        )
    };
    let slots = Axis::Log { label: "packet slots".to_owned() };
    let curves = FRAMES.into_iter().map(curve).collect();
    vec![
        Panel::new("Dropped, by size of each queue's mempool", slots, percent("drop rate"), curves)
            .with_guides([
                Guide::upright(PAPERS.into(), "16K are best"),
                Guide::below("sizes differ by less than 5 %"),
            ]),
    ]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let decide = || {
        let mut claims = Vec::new();
        for (bytes, _) in FRAMES {
            let rows = rows.only("frame", bytes.into());
            let at = |slots: u32| {
                value_at(&rows, RSS_TABLE, ("mbufs", slots.into()), DROP)
                    .map_err(|why| format!("of {bytes} bytes {why} (pools of mbufs take a build with DPDK)"))
            };
            let papers = at(PAPERS)?;
            for (number, slots) in SLOTS.into_iter().enumerate() {
                let drop = at(slots)?;
                for other in &SLOTS[number + 1..] {
                    let (text, more) = (drop.text("%"), at(*other)?);
                    let text =
                        format!("of {bytes} bytes {slots} slots lose {text}, {other} {}", more.text("%"));
                    claims.push(Claim::new(drop.is_within(more, LITTLE), text));
                }
                if bytes != 1514 && slots != PAPERS {
                    let text = format!(
                        "of {bytes} bytes 16K slots lose {}, {slots} {}",
                        papers.text("%"),
                        drop.text("%")
                    );
                    claims.push(Claim::new(papers.is_at_most(drop, SAME), text));
                }
            }
        }
        Ok(claims)
    };
    conclude(FINDING, decide()).summed_up(&largest_difference(rows))
}

/// The largest difference of the sizes, by medians.
fn largest_difference(rows: &FigureRows) -> String {
    let of = |(bytes, _): (u32, &str)| {
        let drops: Vec<f64> = rows.only("frame", bytes.into()).0.iter().map(|row| row.value(DROP)).collect();
        drops.iter().copied().fold(f64::NAN, f64::max) - drops.iter().copied().fold(f64::NAN, f64::min)
    };
    let largest = FRAMES.into_iter().map(of).fold(f64::NAN, f64::max);
    format!("by medians sizes differ by up to {largest:.2} percentage points")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::row;

    #[test]
    fn sizes_may_differ_little_and_16k_has_to_be_among_the_best() {
        let rows = |small: f64, papers: f64| {
            let of = |(frame, _): (u32, &str)| {
                SLOTS.map(|slots| {
                    let drop = if slots == PAPERS { papers } else { small };
                    row(RSS_TABLE, &[(DROP, drop)]).with("frame", frame).with("mbufs", slots)
                })
            };
            FigureRows(FRAMES.into_iter().flat_map(of).collect())
        };
        let judged = |rows| judge(&rows, &MachineProfile::here()).holds;
        assert_eq!(judged(rows(14.0, 13.0)), Some(true));
        assert_eq!(judged(rows(19.0, 13.0)), Some(false));
        assert_eq!(judged(rows(13.0, 15.0)), Some(false));
        assert_eq!(judged(FigureRows::default()), None);
    }
}
