//! Figure 7(c): simple and complex statistics of more and more flows.

use super::{LINE_RATE, MPPS, OVERLOAD, PAPER, effort, mpps, two_cores};
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, PROCESSING, effort_text, measured, nanoseconds, percent, small_percent};
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use bench::{Effort, TallyKind, WirePoint};

const FLOWS: [u64; 5] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18];
const COUNTING: &str = "counting";
const MEAN: &str = "mean gap";
const PERCENTILE: &str = "99th percentile of the gap";
const SERIES: [(&str, TallyKind); 3] =
    [(COUNTING, TallyKind::Flows), (MEAN, TallyKind::Gaps("mean")), (PERCENTILE, TallyKind::Gaps("p99"))];
/// The ratio of two times from which one counts as longer.
const CLEARLY: f64 = 1.1;

const FINDING: &str =
    "the loss increases with the number of flows, and a percentile of each flow increases it";

pub(crate) static FIGURE_7C: Figure = Figure {
    paper: &PAPER,
    name: "figure-7c",
    title: "loss by number of flows and by statistics",
    section: "Section V-C, Figure 7(c)",
    shows: "The distribution of the loss, by number of flows, of counting each flow's packets, of its interleaving gap, and of the 99th percentile of its gaps by P-square.",
    here: "The same of 1K to 256K flows drawn alike, on two cores, at 14.88 and at 100 Mpps. At the paper's rate next to nothing is lost: processing times and what the higher rate loses decide. The order of magnitude that the paper finds at its rate is not judged: next to nothing is lost there.",
    said: &[
        PaperClaim {
            what: "percentile",
            value: "loss more by an order of magnitude, below 1e-5 up to 65k flows",
            place: "Section V-C",
        },
        PaperClaim { what: "counting", value: "loss below 1e-5 up to 65k flows", place: "Section V-C" },
    ],
    points,
    panels,
    judge: |rows, _| conclude(FINDING, judge(rows)),
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = Effort { rounds: scale.pick(3, 7), ..effort(scale) };
    let effort_text = effort_text(&effort);
    let key = format!("flowatcher statistics flows={FLOWS:?} rates {LINE_RATE},{OVERLOAD} {effort_text}");
    vec![StudyPoint::new(key, move || {
        let points: Vec<WirePoint> = [LINE_RATE, OVERLOAD]
            .into_iter()
            .flat_map(|rate| {
                FLOWS.into_iter().flat_map(move |flows| {
                    SERIES.map(|(name, counting)| WirePoint { flows, ..two_cores(name, counting, rate) })
                })
            })
            .collect();
        measured(&points, &effort, |at, row| row.with(MPPS, mpps(points[at].rate)))
    })]
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let panel = |title: String, rate: f64, value: &str, y: Axis| {
        let rows = rows.only(MPPS, rate);
        let curves = SERIES.map(|(name, _)| Curve::from_rows(&rows, name, name, "flows", value));
        Panel::new(title, Axis::Log { label: "flows".to_owned() }, y, curves.into())
    };
    let [line, over] = [LINE_RATE, OVERLOAD].map(mpps);
    vec![
        panel(format!("Lost at {line} Mpps"), line, DROP, small_percent("loss")).with_guides([
            Guide::across(0.001, "below 1e-5 up to 65k flows"),
            Guide::upright(65_000.0, "65k flows"),
            Guide::below("the percentile 10 times as much as counting"),
        ]),
        panel(format!("Lost at {over} Mpps"), over, DROP, percent("loss")),
        panel(format!("Processing at {over} Mpps"), over, PROCESSING, nanoseconds("processing")),
    ]
}

fn judge(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let rows = rows.only(MPPS, mpps(OVERLOAD));
    let at = |series: &str, flows: u64, name: &str| value_at(&rows, series, ("flows", flows as f64), name);
    let (few, many) = (FLOWS[0], FLOWS[FLOWS.len() - 1]);
    let text = |what: &str, first: RoundedValue, second: RoundedValue, unit: &str| {
        format!("at {OVERLOAD} {what}: {} against {}", first.text(unit), second.text(unit))
    };
    let mut claims = Vec::new();
    for series in [COUNTING, PERCENTILE] {
        let (first, last) = (at(series, few, DROP)?, at(series, many, DROP)?);
        let what = format!("{series} of {few} flows and of {many} loses");
        claims.push(Claim::new(first.is_below(last), text(&what, first, last, "%")));
    }
    for flows in FLOWS {
        let (counting, percentile) = (at(COUNTING, flows, DROP)?, at(PERCENTILE, flows, DROP)?);
        let what = format!("counting and the percentile of {flows} flows lose");
        claims.push(Claim::new(counting.is_below(percentile), text(&what, counting, percentile, "%")));
        let (counting, percentile) = (at(COUNTING, flows, PROCESSING)?, at(PERCENTILE, flows, PROCESSING)?);
        let what = format!("counting and the percentile of {flows} flows take");
        let is_longer = counting.times(CLEARLY).is_below(percentile);
        claims.push(Claim::new(is_longer, text(&what, counting, percentile, "ns")));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

    #[test]
    fn flows_and_percentiles_have_to_cost() {
        let of = |series, drop: f64| {
            FLOWS.into_iter().enumerate().map(move |(at, flows)| {
                let drop = drop + at as f64;
                row(series, &[(DROP, drop), (PROCESSING, drop)])
                    .with("flows", flows)
                    .with(MPPS, mpps(OVERLOAD))
            })
        };
        let rows = FigureRows(of(COUNTING, 20.0).chain(of(PERCENTILE, 50.0)).collect());
        let judged = |rows: &FigureRows| conclude("f", judge(rows)).holds;
        assert_eq!(judged(&rows), Some(true));
        assert_eq!(judged(&spread_out(&rows, COUNTING, DROP)), None);
        assert_eq!(judged(&changed(&rows, PERCENTILE, PROCESSING, 20.0)), Some(false));
        assert_eq!(judged(&changed(&rows, COUNTING, DROP, 20.0)), Some(false));
        assert!(judge(&FigureRows::default()).is_err());
    }
}
