//! Figure 9-(b): a router that shares its link.

use super::PAPER;
use crate::deciding::{Claim, RoundedValue, conclude, value};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{FairQueue, FairQueueRun, FlowThroughput, Queueing};
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

/// Runs of each queueing.
const RUNS: usize = 3;

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
    judge: |rows, _| conclude(SHARES_ARE_FAIR, judge(rows)),
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
    let seconds = scale.pick(3.0, 20.0);
    let point = |queueing| {
        let spec = FairQueue {
            queueing,
            flows: FLOWS,
            packets_per_second: PACKETS_PER_SECOND,
            aggressive: AGGRESSIVE,
            seconds,
        };
        let key = format!("flowatcher fair-queue {spec:?} runs={RUNS}");
        StudyPoint::new(key, move || {
            let runs: Vec<FairQueueRun> = (0..RUNS).map(|_| spec.run()).collect::<Result<_, _>>()?;
            Ok(rows_of(&runs, queueing))
        })
        .unless(missing.clone())
    };
    vec![point(Queueing::Fair), point(Queueing::Fifo)]
}

/// Returns the rows of some flows in the last run, and a summary of what is true of all flows in each.
fn rows_of(runs: &[FairQueueRun], queueing: Queueing) -> Vec<FigureRow> {
    let Some(run) = runs.last() else { return Vec::new() };
    let row = |series: &str| FigureRow {
        series: series.to_owned(),
        checked: Some(runs.iter().all(|run| run.checked)),
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
    let mut summary = row(SUMMARY);
    summary.values.insert("rounds".to_owned(), runs.len() as f64);
    for (name, of) in SUMMARIES {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        summary.values.insert(name.to_owned(), values[values.len() / 2]);
        summary.values.insert(format!("{name}_least"), values[0]);
        summary.values.insert(format!("{name}_most"), values[values.len() - 1]);
    }
    rows.push(summary);
    rows
}

/// A value of a run as a whole.
type RunValue = fn(&FairQueueRun) -> f64;

/// The values of a run as a whole, by name.
const SUMMARIES: [(&str, RunValue); 5] = [
    ("fast_flows_near_fair", near_fair),
    ("slow_flows_whole", whole),
    ("dropped_packets", |run| run.dropped as f64),
    ("lost_by_captures", |run| (run.monitor_lost[0] + run.monitor_lost[1]) as f64),
    ("seconds", |run| run.seconds),
];

/// The share of the flows of which something is known that it is true of.
fn share(run: &FairQueueRun, of: impl Fn(&FlowThroughput) -> Option<bool>) -> f64 {
    let known: Vec<bool> = run.flows.iter().filter_map(of).collect();
    known.iter().filter(|is_true| **is_true).count() as f64 / known.len().max(1) as f64
}

/// The share of the fast flows that get about their fair share.
fn near_fair(run: &FairQueueRun) -> f64 {
    share(run, |flow| {
        (flow.number <= AGGRESSIVE).then(|| (flow.after as f64 - flow.fair).abs() <= NEAR * flow.fair)
    })
}

/// The share of the other flows that are forwarded whole.
fn whole(run: &FairQueueRun) -> f64 {
    share(run, |flow| (flow.number > AGGRESSIVE).then_some(flow.after as f64 >= WHOLE * flow.before as f64))
}

fn filter_queueing(rows: &FigureRows, queueing: Queueing) -> FigureRows {
    let is_it = |row: &&FigureRow| row.params.get("queueing").is_some_and(|known| known == name(queueing));
    FigureRows(rows.0.iter().filter(is_it).cloned().collect())
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let flow = || Axis::Log { label: "flow".to_owned() };
    let rates = |queueing| {
        let rows = filter_queueing(rows, queueing);
        let curves = [BEFORE, AFTER, FAIR]
            .map(|series| Curve::from_rows(&rows, series, series, "flow", "packets_per_second"));
        let y = Axis::Log { label: "packets a second".to_owned() };
        Panel::new(format!("Rates, {}", name(queueing)), flow(), y, curves.into())
            .with_guides([Guide::upright(AGGRESSIVE.into(), "up to here lowered")])
    };
    let gaps = |queueing| {
        let rows = filter_queueing(rows, queueing);
        Curve::from_rows(&rows, AFTER, name(queueing), "flow", "gap_mean")
    };
    vec![
        rates(Queueing::Fair),
        rates(Queueing::Fifo),
        Panel::new(
            "Mean interleaving gap after the device",
            flow(),
            Axis::Log { label: "packets of other flows".to_owned() },
            vec![gaps(Queueing::Fair), gaps(Queueing::Fifo)],
        ),
    ]
}

fn judge(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let shares = |queueing| {
        let rows = filter_queueing(rows, queueing);
        let [near, whole] =
            ["fast_flows_near_fair", "slow_flows_whole"].map(|share| value(&rows, SUMMARY, share));
        Ok::<_, String>((near?, whole?))
    };
    let ((near, whole), (_, control)) = (shares(Queueing::Fair)?, shares(Queueing::Fifo)?);
    let most = RoundedValue::exact(MOST);
    let percent = |share: RoundedValue| share.times(100.0).text("%");
    Ok(vec![
        Claim::new(
            most.is_at_most(near, 0.0),
            format!("{} of the 200 fastest flows get their fair share", percent(near)),
        ),
        Claim::new(
            most.is_at_most(whole, 0.0),
            format!("{} of the others are forwarded whole", percent(whole)),
        ),
        // What one queue for all forwards as well tells nothing of the scheduler.
        Claim::new(
            control.is_below(most),
            format!("with one queue for all {} of them are", percent(control)),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

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
        FigureRows(
            [
                rows_of(std::slice::from_ref(fair), Queueing::Fair),
                rows_of(std::slice::from_ref(fifo), Queueing::Fifo),
            ]
            .concat(),
        )
    }

    #[test]
    fn fair_shares_hold_and_others_do_not() {
        let fair = run(|_, _, fair| fair);
        let fifo = run(|_, sent, _| sent * 0.35);
        let judged = |rows: &FigureRows| conclude("f", judge(rows)).holds;
        assert_eq!(judged(&rows(&fair, &fifo)), Some(true));
        assert_eq!(judged(&rows(&fifo, &fifo)), Some(false));
        // A link that is not narrow forwards all, with any queue.
        assert_eq!(judged(&rows(&run(|_, sent, _| sent), &run(|_, sent, _| sent))), Some(false));
        // One of three runs that was disturbed decides nothing.
        let disturbed = run(|_, _, fair| fair * 0.5);
        let wavering = [
            rows_of(&[fair.clone(), fair.clone(), disturbed], Queueing::Fair),
            rows_of(std::slice::from_ref(&fifo), Queueing::Fifo),
        ];
        assert_eq!(judged(&FigureRows(wavering.concat())), None);
        let wrong = FairQueueRun { checked: false, ..fair };
        assert!(judge(&rows(&wrong, &fifo)).is_err());
        assert!(judge(&FigureRows::default()).is_err());
    }

    #[test]
    fn some_flows_are_drawn_from_the_first_to_the_last() {
        let rows = rows(&run(|_, _, fair| fair), &run(|_, _, fair| fair));
        let panels = panels(&rows, &MachineProfile::here());
        let spots = &panels[0].curves[0].spots;
        assert_eq!((spots[0].x, spots[spots.len() - 1].x), (1.0, 1000.0));
        assert!((25..=41).contains(&spots.len()), "{}", spots.len());
        assert_eq!(panels[2].curves[0].spots.len(), spots.len());
    }
}
