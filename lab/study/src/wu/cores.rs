//! Figures 9 and 10: drop rate and latency by cores and sockets.

use super::{CORES, PAPER, RSS_TABLE, SYNC_TABLE, effort, separate_table};
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, PROCESSING, effort_text, measured, nanoseconds, percent};
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

const DROPS_FALL: &str = "with more cores than 2 RSS drops less, by a tenth at least, and SYNC no more";
const LATENCY_STAYS: &str = "more cores than 2 make receiving and processing hardly faster";
/// The part that no machine decides: the software wire lies in memory, and a card is on a socket.
const NO_SOCKET: &str = "no machine shows it: the software wire is on no socket, as a card is";
/// A fall of the drop rate that is one, as a share of it; and percentage points that are nothing.
const FALL: f64 = 0.1;
const SAME: f64 = 2.0;
/// The share of the time that counts as little.
const LITTLE: f64 = 0.1;
const RECEIVE: &str = "receive_ns";

pub(crate) static FIGURE_9: Figure = Figure {
    paper: &PAPER,
    name: "figure-9",
    title: "drop rate by cores and sockets",
    section: "Section 4.4.1, Figure 9",
    shows: "The drop rate of SYNC-Separate-SHT and RSS-Separate-SHT with 2 to 6 cores, on the socket of the card and on the other one.",
    here: "The same designs over the software wire at 72 Mpps of 64 bytes, on as many cores as there are, up to six. RSS is measured on one core too. The wire is in the memory of the process and on no socket: the comparison of sockets is not judged.",
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
    here: "The same runs as for Figure 9: the time of the poll and of updating the table, for each packet. Sockets are not compared: the wire is on none.",
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
    points.push(StudyPoint::impossible("wu the other socket", NO_SOCKET));
    points
}

/// A panel by cores, with a remark in the place of those that this machine does not have.
fn by_cores(rows: &FigureRows, machine: &MachineProfile, title: &str, y: Axis, curves: Vec<Curve>) -> Panel {
    let is_measured = |cores: &usize| rows.0.iter().any(|row| row.param("cores") == *cores as f64);
    let missing = (2..=CORES).filter(|cores| !is_measured(cores));
    let remarks = missing.map(|cores| (cores as f64, machine.remark(cores)));
    Panel::new(title, Axis::Whole { label: "cores".to_owned() }, y, curves).with_remarks(remarks)
}

fn drop_panels(rows: &FigureRows, machine: &MachineProfile) -> Vec<Panel> {
    let curves = [RSS_TABLE, SYNC_TABLE].map(|series| Curve::from_rows(rows, series, series, "cores", DROP));
    let said = ["from 2 to 6 cores up to 50 % less is dropped", "between sockets up to 20 % less"];
    vec![
        by_cores(rows, machine, "Dropped", percent("drop rate"), curves.into())
            .with_guides(said.map(Guide::below)),
    ]
}

fn latency_panels(rows: &FigureRows, machine: &MachineProfile) -> Vec<Panel> {
    let curves = [(RECEIVE, "receiving"), (PROCESSING, "processing")]
        .map(|(value, name)| Curve::from_rows(rows, SYNC_TABLE, name, "cores", value));
    vec![
        by_cores(rows, machine, SYNC_TABLE, nanoseconds("time"), curves.into())
            .with_guides([Guide::below("on the card's socket up to 50 % less")]),
    ]
}

fn most_cores(rows: &FigureRows) -> f64 {
    rows.0.iter().map(|row| row.param("cores")).fold(f64::NAN, f64::max)
}

fn judge_drops(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let decide = || {
        let at = |series, cores| value_at(rows, series, ("cores", cores), DROP);
        let most = most_cores(rows);
        if most < 3.0 || most.is_nan() {
            let lacks = lacks_three(machine);
            let fall = match (at(RSS_TABLE, 1.0), at(RSS_TABLE, 2.0)) {
                (Ok(one), Ok(two)) => format!(
                    " (with RSS from one core to two the drop rate goes from {} to {})",
                    one.text("%"),
                    two.text("%")
                ),
                _ => String::new(),
            };
            return Err(format!("from 2 cores on, {lacks}{fall}"));
        }
        let (two, all) = (at(RSS_TABLE, 2.0)?, at(RSS_TABLE, most)?);
        let (sync_two, sync_all) = (at(SYNC_TABLE, 2.0)?, at(SYNC_TABLE, most)?);
        let goes = |design: &str, from: RoundedValue, to: RoundedValue| {
            format!("from 2 to {most} cores {design} goes from {} to {}", from.text("%"), to.text("%"))
        };
        Ok(vec![
            Claim::new(all.is_below(two.times(1.0 - FALL)), goes("RSS", two, all)),
            Claim::new(sync_all.is_at_most(sync_two, SAME), goes("SYNC", sync_two, sync_all)),
        ])
    };
    conclude(DROPS_FALL, decide())
}

fn lacks_three(machine: &MachineProfile) -> String {
    machine.lacks_cores(3).unwrap_or_else(|| "three cores were not measured".to_owned())
}

/// Judges the half of the finding that is about cores.
fn judge_latency(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let decide = || {
        let at = |cores| {
            let of = |name| value_at(rows, SYNC_TABLE, ("cores", cores), name);
            Ok::<_, String>(of(RECEIVE)?.plus(of(PROCESSING)?))
        };
        let most = most_cores(rows);
        if most.is_nan() {
            return Err("nothing is measured".to_owned());
        }
        let two = at(2.0)?;
        if most < 3.0 {
            let ns = two.text("ns");
            return Err(format!("{} (with two cores both take {ns})", lacks_three(machine)));
        }
        let all = at(most)?;
        let text = format!("with 2 cores both take {}, with {most} {}", two.text("ns"), all.text("ns"));
        Ok(vec![Claim::new(two.times(1.0 - LITTLE).is_at_most(all, 0.0), text)])
    };
    conclude(LATENCY_STAYS, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

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
        assert!(!verdict.why.contains("run it"), "{}", verdict.why);
        let with = |rss, sync| {
            let more = [(RSS_TABLE, 6, rss), (SYNC_TABLE, 6, sync)];
            judge_drops(&rows(&[&two[..], &more].concat()), &machine(6)).holds
        };
        assert_eq!(with(5.0, 70.0), Some(true));
        assert_eq!(with(19.5, 70.0), Some(false));
        assert_eq!(with(5.0, 90.0), Some(false));
        let open = spread_out(
            &rows(&[&two[..], &[(RSS_TABLE, 6, 15.0), (SYNC_TABLE, 6, 70.0)]].concat()),
            RSS_TABLE,
            DROP,
        );
        assert_eq!(judge_drops(&open, &machine(6)).holds, None);
        assert_eq!(judge_drops(&FigureRows::default(), &machine(2)).holds, None);
    }

    #[test]
    fn more_cores_may_contribute_little() {
        let six = |receive| {
            let mut all = rows(&[(SYNC_TABLE, 2, 80.0)]);
            all.0.extend(changed(&rows(&[(SYNC_TABLE, 6, 70.0)]), SYNC_TABLE, RECEIVE, receive).0);
            judge_latency(&all, &machine(6))
        };
        assert_eq!(six(19.0).holds, Some(true));
        assert_eq!(six(10.0).holds, Some(false));
        assert_eq!(judge_latency(&rows(&[(SYNC_TABLE, 2, 80.0)]), &machine(2)).holds, None);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let points = points(&machine(2), Scale::Quick);
        let reasons: Vec<_> = points.iter().filter_map(|point| point.measure.as_ref().err()).collect();
        assert_eq!(reasons.len(), 5, "3 to 6 cores, and the other socket: {reasons:?}");
        assert!(points[0].measure.is_ok());
    }
}
