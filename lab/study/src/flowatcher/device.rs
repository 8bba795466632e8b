//! Figure 9-(b): a router that shares its link.

use super::PAPER;
use crate::deciding::{value, verdict};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{FairQueue, FairQueueRun, Queueing};
use std::sync::OnceLock;

const FLOWS: u16 = 1000;
const AGGRESSIVE: u16 = 200;
const PACKETS_PER_SECOND: f64 = 40_000.0;
/// A share of its packets that a flow may lose and still counts as forwarded whole; and how far a rate may be from the fair one, as the
/// queues themselves hold a few packets.
const WHOLE: f64 = 0.95;
const NEAR: f64 = 0.2;
/// The share of flows of which what is found has to be true.
const MOST: f64 = 0.95;

const BEFORE: &str = "before the device";
const AFTER: &str = "after the device";
const FAIR: &str = "fair share";
const SUMMARY: &str = "summary";

const SHARES_ARE_FAIR: &str = "the device lowers the rates of the 200 fastest flows to their fair share and forwards the others whole, as the monitor shows";

pub(crate) static FIGURE_9B: Figure = Figure {
    paper: &PAPER,
    name: "figure-9b",
    title: "rates of flows before and after a fair scheduler",
    section: "Section VI-C, Figure 9-(b)",
    shows: "Rates of 1000 flows, the k-th k times slower than the first, before and after a router (VPP) that shares its link fairly.",
    here: "The device is Linux: a router in a network namespace with a class of HTB for each flow, all with equal shares of a link as narrow as makes 200 flows exceed theirs. 40,000 packets of 500 bytes a second come in; Edison measures both sides, with interleaving gaps after the device. The fair share of each flow is computed from what was sent. The same link with one queue for all is the control.",
    said: &[
        PaperClaim {
            what: "flows",
            value: "1000, the k-th k times slower than the first",
            place: "Section IV-C",
        },
        PaperClaim { what: "lowered by the scheduler", value: "the first 200", place: "Section VI-C" },
    ],
    points,
    panels,
    judge: |rows, _| verdict(SHARES_ARE_FAIR, judge(rows)),
};

fn name(queueing: Queueing) -> &'static str {
    match queueing {
        Queueing::Fair => "a class for each flow",
        Queueing::Fifo => "one queue for all",
    }
}

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    // Asked once: links are made to find out.
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(FairQueue::missing);
    let seconds = scale.pick(6.0, 20.0);
    let point = |queueing| {
        let spec = FairQueue {
            queueing,
            flows: FLOWS,
            packets_per_second: PACKETS_PER_SECOND,
            aggressive: AGGRESSIVE,
            seconds,
        };
        let key = format!("flowatcher fair-queue {spec:?}");
        StudyPoint::new(key, move || Ok(rows_of(&spec.run()?, queueing))).unless(missing.clone())
    };
    vec![point(Queueing::Fair), point(Queueing::Fifo)]
}

/// Returns the rows of some flows, and those of what is true of all.
fn rows_of(run: &FairQueueRun, queueing: Queueing) -> Vec<FigureRow> {
    let row = |series: &str| FigureRow {
        series: series.to_owned(),
        checked: Some(run.checked),
        ..FigureRow::default().with("queueing", name(queueing))
    };
    let mut rows = Vec::new();
    // Forty, at even distances of their logarithms.
    let mut last = 0;
    for at in 0..=40 {
        let number = f64::from(FLOWS).powf(f64::from(at) / 40.0).round() as usize;
        let Some(flow) = run.flows.get(number - 1).filter(|_| number > last) else { continue };
        last = number;
        for (series, packets) in [(BEFORE, flow.before as f64), (AFTER, flow.after as f64), (FAIR, flow.fair)]
        {
            let mut row = row(series).with("flow", number);
            row.values.insert("packets_per_second".to_owned(), packets / run.seconds);
            if series == AFTER {
                row.values.extend(flow.gap_mean.map(|gap| ("gap_mean".to_owned(), gap)));
            }
            if series == FAIR {
                row.checked = None;
            }
            rows.push(row);
        }
    }
    let share = |of: &dyn Fn(&bench::FlowThroughput) -> Option<bool>| {
        let known: Vec<bool> = run.flows.iter().filter_map(of).collect();
        known.iter().filter(|is_true| **is_true).count() as f64 / known.len().max(1) as f64
    };
    let is_aggressive = |flow: &bench::FlowThroughput| flow.number <= AGGRESSIVE;
    let near_fair =
        share(&|flow| is_aggressive(flow).then(|| (flow.after as f64 - flow.fair).abs() <= NEAR * flow.fair));
    let whole =
        share(&|flow| (!is_aggressive(flow)).then_some(flow.after as f64 >= WHOLE * flow.before as f64));
    let mut summary = row(SUMMARY);
    for (name, value) in [
        ("fast_flows_near_fair", near_fair),
        ("slow_flows_whole", whole),
        ("dropped_packets", run.dropped as f64),
        ("lost_by_captures", (run.monitor_lost[0] + run.monitor_lost[1]) as f64),
        ("seconds", run.seconds),
    ] {
        summary.values.insert(name.to_owned(), value);
    }
    rows.push(summary);
    rows
}

fn filter_queueing(rows: &FigureRows, queueing: Queueing) -> FigureRows {
    let is_it = |row: &&FigureRow| row.params.get("queueing").is_some_and(|known| known == name(queueing));
    FigureRows(rows.0.iter().filter(is_it).cloned().collect())
}

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let flow = || Axis::Log { label: "flow".to_owned() };
    let rates = |queueing| {
        let rows = filter_queueing(rows, queueing);
        Panel {
            title: format!("Rates, {}", name(queueing)),
            x: flow(),
            y: Axis::Log { label: "packets a second".to_owned() },
            curves: [BEFORE, AFTER, FAIR]
                .map(|series| Curve::from_rows(&rows, series, series, "flow", "packets_per_second"))
                .into(),
        }
    };
    let gaps = |queueing| {
        let rows = filter_queueing(rows, queueing);
        let spots = rows.rows_of_series(AFTER).map(|row| Spot {
            x: row.param("flow"),
            y: row.value("gap_mean"),
            spread: None,
        });
        Curve {
            name: name(queueing).to_owned(),
            of_paper: false,
            spots: spots.filter(|spot| spot.y.is_finite()).collect(),
        }
    };
    vec![
        rates(Queueing::Fair),
        rates(Queueing::Fifo),
        Panel {
            title: "Mean interleaving gap after the device".to_owned(),
            x: flow(),
            y: Axis::Log { label: "packets of other flows".to_owned() },
            curves: vec![gaps(Queueing::Fair), gaps(Queueing::Fifo)],
        },
    ]
}

fn judge(rows: &FigureRows) -> Result<(bool, String), String> {
    let shares = |queueing| {
        let rows = filter_queueing(rows, queueing);
        let [near, whole] =
            ["fast_flows_near_fair", "slow_flows_whole"].map(|share| value(&rows, SUMMARY, share));
        Ok::<_, String>((near?, whole?))
    };
    let ((near, whole), (_, control)) = (shares(Queueing::Fair)?, shares(Queueing::Fifo)?);
    // What one queue for all forwards as well tells nothing of the scheduler.
    let holds = near >= MOST && whole >= MOST && control < MOST;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let why = format!(
        "{} of the 200 fastest flows get their fair share, and {} of the others are forwarded whole (with one queue for all {})",
        percent(near),
        percent(whole),
        percent(control)
    );
    Ok((holds, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::FlowThroughput;

    /// A device that forwards of each flow what `after` says of what was sent and what is fair.
    fn run(after: impl Fn(u16, f64, f64) -> f64) -> FairQueueRun {
        let flow = |number: u16| {
            let sent = 60_000 / u64::from(number);
            let fair = (sent as f64).min(300.0);
            let after = after(number, sent as f64, fair) as u64;
            FlowThroughput { number, sent, before: sent, after, fair, gap_mean: Some(f64::from(number)) }
        };
        let flows = (1..=FLOWS).map(flow).collect();
        FairQueueRun { flows, seconds: 6.0, dropped: 1, monitor_lost: [0; 2], checked: true }
    }

    fn rows(fair: &FairQueueRun, fifo: &FairQueueRun) -> FigureRows {
        FigureRows([rows_of(fair, Queueing::Fair), rows_of(fifo, Queueing::Fifo)].concat())
    }

    #[test]
    fn fair_shares_hold_and_others_do_not() {
        let fair = run(|_, _, fair| fair);
        let fifo = run(|_, sent, _| sent * 0.35);
        let judged = |rows: &FigureRows| judge(rows).map(|(holds, _)| holds);
        assert_eq!(judged(&rows(&fair, &fifo)), Ok(true));
        assert_eq!(judged(&rows(&fifo, &fifo)), Ok(false));
        // A link that is not narrow forwards all, with any queue.
        assert_eq!(judged(&rows(&run(|_, sent, _| sent), &run(|_, sent, _| sent))), Ok(false));
        let wrong = FairQueueRun { checked: false, ..fair };
        assert!(judge(&rows(&wrong, &fifo)).is_err());
        assert!(judge(&FigureRows::default()).is_err());
    }

    #[test]
    fn some_flows_are_drawn_from_the_first_to_the_last() {
        let rows = rows(&run(|_, _, fair| fair), &run(|_, _, fair| fair));
        let panels = panels(&rows);
        let spots = &panels[0].curves[0].spots;
        assert_eq!((spots[0].x, spots[spots.len() - 1].x), (1.0, 1000.0));
        assert!((25..=41).contains(&spots.len()), "{}", spots.len());
        assert_eq!(panels[2].curves[0].spots.len(), spots.len());
    }
}
