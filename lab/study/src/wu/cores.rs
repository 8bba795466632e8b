//! Figures 9 and 10: drop rate and latency by cores and sockets.

use super::{CORES, PAPER, RSS_TABLE, SYNC_TABLE, effort, separate_table};
use crate::deciding::{ends, value_at, verdict};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, PROCESSING, effort_text, measured, nanoseconds, percent};
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

const DROPS_FALL: &str = "with 6 cores instead of 2 up to 50 % less is dropped, whatever the socket, and up to 20 % less on the card's socket";
const LATENCY_STAYS: &str =
    "on the card's socket latency is up to 50 % less, and more cores contribute little";
/// A fall of the drop rate that is one, as a share of it; and percentage points that are nothing.
const FALL: f64 = 0.1;
const SAME: f64 = 2.0;
const RECEIVE: &str = "receive_ns";

pub(crate) static FIGURE_9: Figure = Figure {
    paper: &PAPER,
    name: "figure-9",
    title: "drop rate by cores and sockets",
    section: "Section 4.4.1, Figure 9",
    shows: "The drop rate of SYNC-Separate-SHT and RSS-Separate-SHT with 2 to 6 cores, on the socket of the card and on the other one.",
    here: "The same designs over the software wire at 72 Mpps of 64 bytes, on as many cores as there are, up to six. RSS is measured on one core too. The wire is in the memory of the process and on no socket.",
    said: &[
        PaperClaim {
            what: "from 2 to 6 cores",
            value: "drop rate less by up to 50 %",
            place: "Section 4.4.1",
        },
        PaperClaim {
            what: "between sockets",
            value: "drop rate differs by up to 20 %",
            place: "Section 4.4.1",
        },
    ],
    points,
    panels: drop_panels,
    judge: judge_drops,
};

pub(crate) static FIGURE_10: Figure = Figure {
    paper: &PAPER,
    name: "figure-10",
    title: "latency by cores and sockets",
    section: "Section 4.4.1, Figure 10",
    shows: "Time to receive and time to process a packet with SYNC-Separate-SHT, by socket and number of cores.",
    here: "The same runs as for Figure 9: the time of the poll and of updating the table, for each packet.",
    said: &[PaperClaim {
        what: "on the socket of the card",
        value: "receive and processing latency less by up to 50 %",
        place: "Section 4.4.1",
    }],
    points,
    panels: latency_panels,
    judge: judge_latency,
};

/// All numbers of cores that there are, in one comparison; the others are named.
fn points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let there = machine.cores.min(CORES);
    let measure = move || {
        let rss = (1..=there).map(|cores| (true, cores));
        let sync = (2..=there).map(|cores| (false, cores));
        let all: Vec<_> = rss.chain(sync).collect();
        let points: Vec<_> = all.iter().map(|&(is_rss, cores)| separate_table(is_rss, cores)).collect();
        measured(&points, &effort, |at, row| row.with("cores", all[at].1))
    };
    let mut points =
        vec![StudyPoint::new(format!("wu cores 1 to {there} rss,sync-separate-sht {effort_text}"), measure)];
    for cores in there + 1..=CORES {
        let lacking = StudyPoint::new(format!("wu cores {cores}"), || Ok(Vec::new()));
        points.push(lacking.unless(machine.lacks_cores(cores)));
    }
    let wire = "the software wire is on no socket: a card on one is needed";
    let socket = machine.lacks_sockets(2).unwrap_or_else(|| wire.to_owned());
    points.push(StudyPoint::impossible("wu the other socket", socket));
    points
}

fn cores_axis() -> Axis {
    Axis::Linear { label: "cores".to_owned() }
}

fn drop_panels(rows: &FigureRows) -> Vec<Panel> {
    let curves = [RSS_TABLE, SYNC_TABLE].map(|series| Curve::from_rows(rows, series, series, "cores", DROP));
    vec![Panel {
        title: "Dropped".to_owned(),
        x: cores_axis(),
        y: percent("drop rate"),
        curves: curves.into(),
    }]
}

fn latency_panels(rows: &FigureRows) -> Vec<Panel> {
    let curves = [(RECEIVE, "receiving"), (PROCESSING, "processing")]
        .map(|(value, name)| Curve::from_rows(rows, SYNC_TABLE, name, "cores", value));
    vec![Panel {
        title: SYNC_TABLE.to_owned(),
        x: cores_axis(),
        y: nanoseconds("time"),
        curves: curves.into(),
    }]
}

fn most_cores(rows: &FigureRows) -> f64 {
    rows.0.iter().map(|row| row.param("cores")).fold(f64::NAN, f64::max)
}

fn judge_drops(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let decide = || {
        let at = |series, cores| value_at(rows, series, ("cores", cores), DROP);
        let most = most_cores(rows);
        if most < 3.0 || most.is_nan() {
            let lacks = machine.lacks_cores(3).unwrap_or_else(|| "three cores were not measured".to_owned());
            let fall = match (at(RSS_TABLE, 1.0), at(RSS_TABLE, 2.0)) {
                (Ok(one), Ok(two)) => {
                    format!(" (with RSS from one core to two the drop rate goes from {one} % to {two} %)")
                }
                _ => String::new(),
            };
            return Err(format!("from 2 cores on, {lacks}{fall}"));
        }
        let (two, all) = (at(RSS_TABLE, 2.0)?, at(RSS_TABLE, most)?);
        let (sync_two, sync_all) = (at(SYNC_TABLE, 2.0)?, at(SYNC_TABLE, most)?);
        let holds = all < two * (1.0 - FALL) && sync_all < sync_two + SAME;
        let why = format!(
            "from 2 to {most} cores RSS goes from {two} % to {all} %, SYNC from {sync_two} % to {sync_all} %; sockets are not compared"
        );
        Ok((holds, why))
    };
    verdict(DROPS_FALL, decide())
}

/// Half of the finding is about sockets, which a wire in memory has none of: it is never decided.
fn judge_latency(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let socket = machine
        .lacks_sockets(2)
        .unwrap_or_else(|| "the software wire is on no socket, which takes a card".to_owned());
    let total = |row: &crate::row::FigureRow| row.value(RECEIVE) + row.value(PROCESSING);
    let totals: Vec<f64> =
        rows.rows_of_series(SYNC_TABLE).map(total).filter(|total| total.is_finite()).collect();
    let [least, most] = ends(&totals);
    let cores = match totals.len() {
        0 => "SYNC takes two cores".to_owned(),
        1 => format!("with two cores receiving and processing take {least:.1} ns"),
        _ => format!("by number of cores receiving and processing take {least:.1} to {most:.1} ns"),
    };
    FindingResult::open(LATENCY_STAYS, format!("{socket}; {cores}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::row;

    fn machine(cores: usize) -> MachineProfile {
        MachineProfile { cores, sockets: 1, ..MachineProfile::here() }
    }

    fn rows(drops: &[(&str, usize, f64)]) -> FigureRows {
        let of = |&(series, cores, drop): &(&str, usize, f64)| {
            row(series, &[(DROP, drop), (RECEIVE, 20.0), (PROCESSING, 5.0)]).with("cores", cores)
        };
        FigureRows(drops.iter().map(of).collect())
    }

    #[test]
    fn more_than_two_cores_decide() {
        let two = [(RSS_TABLE, 1, 60.0), (RSS_TABLE, 2, 20.0), (SYNC_TABLE, 2, 80.0)];
        let verdict = judge_drops(&rows(&two), &machine(2));
        assert_eq!(verdict.holds, None);
        assert!(verdict.why.contains("60 % to 20 %"), "{}", verdict.why);
        let with = |rss, sync| {
            let more = [(RSS_TABLE, 6, rss), (SYNC_TABLE, 6, sync)];
            judge_drops(&rows(&[&two[..], &more].concat()), &machine(6)).holds
        };
        assert_eq!(with(5.0, 70.0), Some(true));
        assert_eq!(with(19.5, 70.0), Some(false));
        assert_eq!(with(5.0, 90.0), Some(false));
        assert_eq!(judge_latency(&rows(&two), &machine(2)).holds, None);
        assert_eq!(judge_drops(&FigureRows::default(), &machine(2)).holds, None);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let points = points(&machine(2), Scale::Quick);
        let reasons: Vec<_> = points.iter().filter_map(|point| point.measure.as_ref().err()).collect();
        assert_eq!(reasons.len(), 5, "3 to 6 cores, and the other socket: {reasons:?}");
        assert!(points[0].measure.is_ok());
    }
}
