//! Figure 5 and Table III: batches, queues, mempools, programming models, schedulers.

use super::{LINE_RATE, MPPS, OVERLOAD, PAPER, effort, loses_less, mpps, preset, two_cores};
use crate::deciding::{Claim, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, bars, effort_text, measured, percent, small_percent};
use crate::panel::{Axis, Curve, Guide, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;
use bench::{TallyKind, WirePoint};

/// The least and the most are the paper's, and its best.
const BATCHES: [usize; 5] = [64, 128, 256, 512, 1024];
pub(super) const BEST_BATCH: usize = 256;
const PACKETS: &str = "packets";
const FLOWS: &str = "flows";
const PIPELINE: &str = "pipeline";
const COMPLETION: &str = "run to completion";
const QUEUES: [usize; 4] = [1, 2, 4, 8];
/// Percentage points below which two drop rates are the same here.
pub(super) const SAME: f64 = 0.5;

const BATCH_IS_BEST: &str = "batches of 256 packets lose least, and those of 64 and of 1024 more";
const TWO_QUEUES_ARE_BEST: &str =
    "two receive queues lose least, more of them more, as they contend for the PCI bus";
const POOLS_OF_THEIR_OWN: &str = "a mempool for each queue loses a tenth of what one for all loses";
const PIPELINE_IS_BEST: &str = "the pipeline loses less than run to completion";

pub(crate) static FIGURE_5A: Figure = Figure {
    paper: &PAPER,
    name: "figure-5a",
    title: "loss by batch size",
    section: "Section V-A, Figure 5-(a)",
    shows: "The loss by the largest number of packets of a poll, from 64 to 1024, of counting packets and of counting each flow's packets.",
    here: "Two queues, each polled and counted by a core, at the paper's 14.88 Mpps, at which little is lost whatever the batch, and at 100 Mpps, more than two cores count: what is lost then tells how long a packet takes.",
    said: &[
        PaperClaim { what: "batches", value: "64 to 1024 packets", place: "Section V-A" },
        PaperClaim { what: "best", value: "256 packets", place: "Table II" },
    ],
    points: |_, scale| vec![batches(scale)],
    panels: batch_panels,
    judge: |rows, _| conclude(BATCH_IS_BEST, judge_batches(rows)),
};

pub(crate) static FIGURE_5B: Figure = Figure {
    paper: &PAPER,
    name: "figure-5b",
    title: "loss by number of receive queues",
    section: "Section V-A, Figure 5-(b)",
    shows: "The loss by the number of receive queues that RSS spreads packets over, of counting packets and of counting each flow's.",
    here: "A queue for each core, as many as there are cores, at 14.88 and at 100 Mpps. Frames of the software wire are in memory: no bus is contended for, so that the finding is not judged.",
    said: &[PaperClaim { what: "best", value: "2 queues", place: "Section V-A, Table II" }],
    points: queue_points,
    panels: queue_panels,
    judge: judge_queues,
};

pub(crate) static FIGURE_5C: Figure = Figure {
    paper: &PAPER,
    name: "figure-5c",
    title: "loss with one mempool and with one for each queue",
    section: "Section V-A, Figure 5-(c)",
    shows: "The loss where queues share a mempool and where each has its own.",
    here: "Not measured here. A run has either: `edison run --wire rate=100Mpps,queues=2,mbufs=16k` gives each queue a mempool, with `pools=1` they share one.",
    said: &[PaperClaim {
        what: "a pool for each queue",
        value: "loss less by about one order of magnitude",
        place: "Section V-A",
    }],
    points: |_, _| {
        let reason = "this study does not measure it; edison run --wire has pools=1";
        vec![StudyPoint::impossible("flowatcher shared mempool", reason)]
    },
    panels: |_, _| Vec::new(),
    judge: |_, _| {
        FindingResult::open(
            POOLS_OF_THEIR_OWN,
            "this study does not measure it: runs with --wire compare a mempool for each queue with one for all, pools=1",
        )
    },
};

pub(crate) static TABLE_3: Figure = Figure {
    paper: &PAPER,
    name: "table-3",
    title: "programming models and schedulers",
    section: "Section V-A, Table III",
    shows: "The loss of run to completion and of the pipeline, and of the pipeline under SCHED_DEADLINE and SCHED_OTHER.",
    here: "Both models on two cores: run to completion with two queues, the pipeline with one, at 14.88 and at 100 Mpps. With four cores the pipeline has two queues, as in the paper, and run to completion four. All threads run under SCHED_OTHER: schedulers are not judged, and runs with `--scheduler` compare them.",
    said: &[
        PaperClaim {
            what: "run to completion",
            value: "4.8e-6 (95 % confidence 0.57e-6)",
            place: "Table III",
        },
        PaperClaim { what: "pipeline with pthread", value: "2.6e-6 (0.56e-6)", place: "Table III" },
        PaperClaim { what: "SCHED_DEADLINE", value: "2500e-6 (300e-6)", place: "Table III" },
        PaperClaim { what: "SCHED_OTHER", value: "2.6e-6 (0.56e-6)", place: "Table III" },
    ],
    points: |machine, scale| {
        let reason = "this study does not measure it; edison run --scheduler does";
        let deadline = StudyPoint::impossible("flowatcher SCHED_DEADLINE", reason);
        vec![models(machine, scale), deadline]
    },
    panels: model_panels,
    judge: |rows, _| conclude(PIPELINE_IS_BEST, judge_models(rows)),
};

/// Measures all batches, at both rates.
pub(super) fn batches(scale: Scale) -> StudyPoint {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let key = format!("flowatcher batches {BATCHES:?} rates {LINE_RATE},{OVERLOAD} {effort_text}");
    StudyPoint::new(key, move || {
        let points: Vec<WirePoint> = [LINE_RATE, OVERLOAD]
            .into_iter()
            .flat_map(|rate| {
                BATCHES.into_iter().flat_map(move |burst| {
                    [(PACKETS, TallyKind::Packets), (FLOWS, TallyKind::Flows)]
                        .map(|(name, counting)| WirePoint { burst, ..two_cores(name, counting, rate) })
                })
            })
            .collect();
        measured(&points, &effort, |at, row| row.with(MPPS, mpps(points[at].rate)))
    })
}

/// The loss at both rates by a numeric parameter, of counting packets and of counting flows.
fn by_rate(rows: &FigureRows, param: &str, x: Axis) -> [Panel; 2] {
    [LINE_RATE, OVERLOAD].map(mpps).map(|rate| {
        let rows = rows.only(MPPS, rate);
        let curves = [(PACKETS, "counting packets"), (FLOWS, "counting each flow's")];
        let curves = curves.map(|(series, name)| Curve::from_rows(&rows, series, name, param, DROP));
        Panel::new(format!("Lost at {rate} Mpps"), x.clone(), percent("loss"), curves.into())
    })
}

pub(super) fn batch_panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let best = || Guide::upright(BEST_BATCH as f64, "256 is best");
    by_rate(rows, "burst", Axis::Log { label: "batch, packets".to_owned() })
        .map(|panel| panel.with_guides([best()]))
        .into()
}

/// The losses of both models, and the paper's with 95 % confidence at its rate.
pub(super) fn model_panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let names = [COMPLETION, PIPELINE];
    let panel = |rate, loss| {
        let rows = rows.only(MPPS, rate);
        bars(&rows, &format!("Lost at {rate} Mpps"), loss, &names, DROP, None)
    };
    let mut line = panel(mpps(LINE_RATE), small_percent("loss"));
    let said = [(0.0, 4.8e-4, 0.57e-4), (1.0, 2.6e-4, 0.56e-4)];
    let spots = said.map(|(x, y, more)| Spot { x, y, spread: Some([y - more, y + more]) });
    line.curves.push(Curve { name: "with 95 % confidence".to_owned(), of_paper: true, spots: spots.into() });
    line.guides.push(Guide::below("0.25 % under SCHED_DEADLINE"));
    vec![line, panel(mpps(OVERLOAD), percent("loss"))]
}

pub(super) fn judge_batches(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let rows = rows.only(MPPS, mpps(OVERLOAD));
    let at = |batch: usize| value_at(&rows, FLOWS, ("burst", batch as f64), DROP);
    let papers = at(BEST_BATCH)?;
    let mut claims = Vec::new();
    for batch in BATCHES.into_iter().filter(|batch| *batch != BEST_BATCH) {
        let drop = at(batch)?;
        let text = format!(
            "at {OVERLOAD} counting flows loses {} with 256 packets and {} with {batch}",
            papers.text("%"),
            drop.text("%")
        );
        let is_end = batch == BATCHES[0] || batch == BATCHES[BATCHES.len() - 1];
        let holds = if is_end { papers.is_at_most(drop, -SAME) } else { papers.is_at_most(drop, SAME) };
        claims.push(Claim::new(holds, text));
    }
    Ok(claims)
}

fn queue_points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let there: Vec<usize> = QUEUES.into_iter().filter(|queues| *queues <= machine.cores).collect();
    let key = format!("flowatcher queues {there:?} rates {LINE_RATE},{OVERLOAD} {effort_text}");
    let queues = there.clone();
    let measure = move || {
        let mut points = Vec::new();
        for rate in [LINE_RATE, OVERLOAD] {
            for &queues in &queues {
                for (name, counting) in [(PACKETS, TallyKind::Packets), (FLOWS, TallyKind::Flows)] {
                    let cores = Some(queues);
                    points.push(WirePoint { cores, queues, ..two_cores(name, counting, rate) });
                }
            }
        }
        measured(&points, &effort, |at, row| row.with(MPPS, mpps(points[at].rate)))
    };
    let mut points = vec![StudyPoint::new(key, measure)];
    for queues in QUEUES.into_iter().filter(|queues| !there.contains(queues)) {
        let lacking = StudyPoint::new(format!("flowatcher queues {queues}"), || Ok(Vec::new()));
        points.push(lacking.unless(machine.lacks_cores(queues)));
    }
    points
}

fn queue_panels(rows: &FigureRows, machine: &MachineProfile) -> Vec<Panel> {
    let is_measured = |queues: &usize| rows.0.iter().any(|row| row.param("queues") == *queues as f64);
    let missing: Vec<_> = (QUEUES.into_iter().filter(|queues| !is_measured(queues)))
        .map(|queues| (queues as f64, machine.remark(queues)))
        .collect();
    by_rate(rows, "queues", Axis::Whole { label: "receive queues, one for each core".to_owned() })
        .map(|panel| {
            panel.with_remarks(missing.clone()).with_guides([Guide::upright(2.0, "2 queues are best")])
        })
        .into()
}

/// Judges the queues. The paper's finding is of the bus, which a wire in memory has none of: it is never decided.
fn judge_queues(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let rows = rows.only(MPPS, mpps(OVERLOAD));
    let at = |queues: usize| value_at(&rows, FLOWS, ("queues", queues as f64), DROP).ok();
    let losses =
        QUEUES.into_iter().filter_map(|queues| Some(format!("{} with {queues}", at(queues)?.text("%"))));
    let losses: Vec<_> = losses.collect();
    let measured = if losses.is_empty() {
        String::new()
    } else {
        format!("; counting flows at {OVERLOAD} loses {}", losses.join(", "))
    };
    FindingResult::open(
        TWO_QUEUES_ARE_BEST,
        format!("no machine shows it: the software wire has no bus to contend for{measured}"),
    )
}

/// Measures both models on the same cores, at both rates.
pub(super) fn models(machine: &MachineProfile, scale: Scale) -> StudyPoint {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let cores = if machine.cores >= 4 { 4 } else { 2 };
    let key = format!("flowatcher models cores={cores} rates {LINE_RATE},{OVERLOAD} {effort_text}");
    let lacks = machine.lacks_cores(2);
    let measure = move || {
        let pipeline = if cores == 4 { ("2x1", 2) } else { ("pipeline", 1) };
        let of = |(name, (design, queues)): (&str, (&'static str, usize)), rate| WirePoint {
            variant: name.to_owned(),
            rate,
            ..WirePoint::new(preset(), design, Some(cores), queues)
        };
        let points = [LINE_RATE, OVERLOAD]
            .map(|rate| [(COMPLETION, ("rss", cores)), (PIPELINE, pipeline)].map(|model| of(model, rate)))
            .concat();
        measured(&points, &effort, |at, row| row.with(MPPS, mpps(points[at].rate)).with("cores", cores))
    };
    StudyPoint::new(key, measure).unless(lacks)
}

pub(super) fn judge_models(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let pipeline = (PIPELINE, "the pipeline on the same cores");
    loses_less(rows, LINE_RATE, (COMPLETION, "run to completion"), pipeline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{row, spread_out};

    fn of_batches(drops: [f64; 5]) -> FigureRows {
        let of = |(batch, drop): (usize, f64)| {
            row(FLOWS, &[(DROP, drop)]).with("burst", batch).with(MPPS, mpps(OVERLOAD))
        };
        FigureRows(BATCHES.into_iter().zip(drops).map(of).collect())
    }

    #[test]
    fn the_best_batch_is_256_and_both_ends_are_worse() {
        let judged = |drops| conclude("f", judge_batches(&of_batches(drops))).holds;
        assert_eq!(judged([50.0, 45.0, 42.0, 43.0, 46.0]), Some(true));
        assert_eq!(judged([50.0, 45.0, 42.0, 41.0, 40.0]), Some(false));
        assert_eq!(judged([42.0, 42.0, 42.0, 42.0, 46.0]), Some(false));
        let open = spread_out(&of_batches([50.0, 45.0, 42.0, 43.0, 46.0]), FLOWS, DROP);
        assert_eq!(conclude("f", judge_batches(&open)).holds, None);
        assert!(judge_batches(&FigureRows::default()).is_err());
    }

    #[test]
    fn the_pipeline_has_to_lose_less_at_both_rates() {
        let rows = |drops: [f64; 4]| {
            let of = |series, rate, drop| row(series, &[(DROP, drop)]).with(MPPS, mpps(rate));
            FigureRows(vec![
                of(COMPLETION, LINE_RATE, drops[0]),
                of(PIPELINE, LINE_RATE, drops[1]),
                of(COMPLETION, OVERLOAD, drops[2]),
                of(PIPELINE, OVERLOAD, drops[3]),
            ])
        };
        let judged = |drops| conclude("f", judge_models(&rows(drops))).holds;
        assert_eq!(judged([0.1, 0.0, 50.0, 40.0]), Some(true));
        assert_eq!(judged([0.0, 0.0, 50.0, 60.0]), Some(false));
        assert_eq!(judged([0.0, 0.1, 50.0, 40.0]), Some(false));
        assert!(judge_models(&FigureRows::default()).is_err());
    }

    #[test]
    fn what_takes_a_bus_is_never_decided() {
        let machine = MachineProfile { cores: 2, ..MachineProfile::here() };
        assert_eq!(judge_queues(&FigureRows::default(), &machine).holds, None);
        let points = queue_points(&machine, Scale::Quick);
        assert_eq!(points.iter().filter(|point| point.measure.is_err()).count(), 2, "4 and 8 queues");
        assert_eq!((FIGURE_5C.judge)(&FigureRows::default(), &machine).holds, None);
    }
}
