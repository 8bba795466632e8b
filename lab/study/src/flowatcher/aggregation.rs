//! Figures 7(a) and 7(b): flow tables, and how threads are laid on cores.

use super::{MPPS, OVERLOAD, PAPER, effort, mpps, preset};
use crate::deciding::{value_at, verdict};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, bars, effort_text, measured, nanoseconds, percent};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{Points, RecordPart, WirePoint, measure_record};

const NS: &str = "ns_per_packet";
const LOST_FLOWS: &str = "flows_lost_percent";
const DOUBLE: &str = "double";
const COMBINED: &str = "combined";
const LIST: &str = "linked_list";
const TABLES: [&str; 4] = [DOUBLE, COMBINED, LIST, "cuckoo"];
/// The paper's number of flows: a load of one flow for each bucket.
const FLOWS: u64 = 1 << 16;
/// A load of four flows for each bucket: the paper loses too much to show it.
const MORE_FLOWS: u64 = 1 << 18;
/// Half of the paper's rate: what comes to each of two queues.
const QUEUE_RATE: &str = "7.44Mpps";
const COOPERATIVE: &str = "one core (lthread)";
const TWO_CORES: &str = "two cores (pthread)";
/// The ratio of two times from which one counts as longer.
const CLEARLY: f64 = 1.05;

const COMBINED_IS_BETWEEN: &str = "the double hash is fastest but miscounts, lists are exact but slow, and the combined hash is exact at a limited cost";
const OWN_CORES_ARE_BEST: &str =
    "receiver and monitor on cores of their own lose least, and cooperative threads on one core most";

pub(crate) static FIGURE_7A: Figure = Figure {
    paper: &PAPER,
    name: "figure-7a",
    title: "loss by flow table",
    section: "Section V-B, Figure 7(a)",
    shows: "The distribution of the loss at 14.88 Mpps with the double hash, lists and the combined hash, and of counting packets in software and in hardware.",
    here: "The time of a packet in each table, built as the paper describes them, of 65,536 flows drawn alike (and four times as many, which decide nothing), and the flows that each counts wrong; besides Edison's table. Entries of a list lie in one block in the order of arrival: allocating them costs less than in the paper. Loss is not measured: times decide.",
    said: &[
        PaperClaim { what: "counting packets", value: "about 2e-6 lost", place: "Section V-B" },
        PaperClaim {
            what: "the double hash without collisions",
            value: "up to about 450 flows",
            place: "Section III-B",
        },
    ],
    points: |_, scale| vec![tables(scale)],
    panels: |rows| {
        let [few, many] = [FLOWS, MORE_FLOWS].map(|flows| rows.only("flows", flows as f64));
        vec![
            bars(&few, "A packet, 64K flows", nanoseconds("time"), &TABLES, NS, None),
            bars(&many, "A packet, 256K flows", nanoseconds("time"), &TABLES, NS, None),
            bars(&few, "Miscounted of 64K flows", percent("flows"), &TABLES, LOST_FLOWS, None),
        ]
    },
    judge: |rows, _| verdict(COMBINED_IS_BETWEEN, judge_tables(rows)),
};

pub(crate) static FIGURE_7B: Figure = Figure {
    paper: &PAPER,
    name: "figure-7b",
    title: "loss by threads and cores",
    section: "Section V-B, Figure 7(b)",
    shows: "The distribution of the loss with cooperative threads (lthread), and with pthread on hyper-threads of one core and on cores of their own.",
    here: "One of the paper's two queues: a receiver and a monitor that take turns on one core, and on two cores, at 7.44 Mpps and at 100 Mpps. Hyper-threads of one core are not told apart from cores.",
    said: &[PaperClaim { what: "lthread", value: "about 40 packets a million lost", place: "Section V-B" }],
    points: thread_points,
    panels: |rows| {
        let panel = |rate| {
            let title = format!("Lost at {rate} Mpps");
            bars(&rows.only(MPPS, rate), &title, percent("loss"), &[COOPERATIVE, TWO_CORES], DROP, None)
        };
        vec![panel(mpps(QUEUE_RATE)), panel(mpps(OVERLOAD))]
    },
    judge: |rows, _| verdict(OWN_CORES_ARE_BEST, judge_threads(rows)),
};

pub(super) fn tables(scale: Scale) -> StudyPoint {
    let key = format!("flowatcher tables flows={FLOWS},{MORE_FLOWS} zipf=0 {}", scale.name());
    StudyPoint::new(key, move || {
        let mut rows = Vec::new();
        for flows in [FLOWS, MORE_FLOWS] {
            let points = Points {
                flows: Some(flows),
                zipf: Some(0.0),
                packets: Some(8 * flows),
                seconds: scale.pick(3.0, 10.0),
                ..Points::default()
            };
            rows.extend(measure_record(RecordPart::Tables, &points)?.iter().map(FigureRow::from_line));
        }
        Ok(rows)
    })
}

pub(super) fn judge_tables(rows: &FigureRows) -> Result<(bool, String), String> {
    let of = |flows: u64, name| {
        let at = ("flows", flows as f64);
        let [double, combined, list] = [DOUBLE, COMBINED, LIST].map(|table| value_at(rows, table, at, name));
        Ok::<_, String>([double?, combined?, list?])
    };
    let ([double, combined, list], [lost, combined_lost, _]) = (of(FLOWS, NS)?, of(FLOWS, LOST_FLOWS)?);
    let [_, combined_more, list_more] = of(MORE_FLOWS, NS)?;
    let holds = double < CLEARLY * combined && combined < list && combined_lost < lost;
    let why = format!(
        "the double hash takes {double:.1} ns and miscounts {lost} % of the flows, the combined hash {combined:.1} ns and {combined_lost} %, lists {list:.1} ns (of 256K flows the combined hash takes {combined_more:.1} ns, lists {list_more:.1} ns)"
    );
    Ok((holds, why))
}

fn thread_points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let key = format!("flowatcher threads rates {QUEUE_RATE},{OVERLOAD} {effort_text}");
    let measure = move || {
        let of = |(name, design, cores): (&str, &'static str, usize), rate| WirePoint {
            variant: name.to_owned(),
            rate,
            ..WirePoint::new(preset(), design, Some(cores), 1)
        };
        let points = [QUEUE_RATE, OVERLOAD]
            .map(|rate| {
                [(COOPERATIVE, "cooperative", 1), (TWO_CORES, "pipeline", 2)].map(|case| of(case, rate))
            })
            .concat();
        measured(&points, &effort, |at, row| row.with(MPPS, mpps(points[at].rate)))
    };
    let hyper_threads = "hyper-threads of one core are not told apart from cores here";
    vec![
        StudyPoint::new(key, measure).unless(machine.lacks_cores(2)),
        StudyPoint::impossible("flowatcher hyper-threads", hyper_threads),
    ]
}

fn judge_threads(rows: &FigureRows) -> Result<(bool, String), String> {
    let at = |series, rate| value_at(rows, series, (MPPS, mpps(rate)), DROP);
    let (one, two) = (at(COOPERATIVE, OVERLOAD)?, at(TWO_CORES, OVERLOAD)?);
    let (one_line, two_line) = (at(COOPERATIVE, QUEUE_RATE)?, at(TWO_CORES, QUEUE_RATE)?);
    let why = format!(
        "one core loses {one_line} % and two cores {two_line} % at 7.44 Mpps, {one} % and {two} % at {OVERLOAD}"
    );
    Ok((two < one && two_line <= one_line, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row};

    #[test]
    fn the_combined_hash_has_to_lie_between() {
        let table = |name: &str, ns, lost| {
            [FLOWS, MORE_FLOWS].map(|flows| row(name, &[(NS, ns), (LOST_FLOWS, lost)]).with("flows", flows))
        };
        let tables = [table(DOUBLE, 5.0, 30.0), table(COMBINED, 8.0, 0.01), table(LIST, 12.0, 0.01)];
        let rows = FigureRows(tables.concat());
        let judged = |rows: &FigureRows| judge_tables(rows).map(|(holds, _)| holds);
        assert_eq!(judged(&rows), Ok(true));
        assert_eq!(judged(&changed(&rows, LIST, NS, 7.0)), Ok(false));
        assert_eq!(judged(&changed(&rows, COMBINED, NS, 4.0)), Ok(false));
        assert_eq!(judged(&changed(&rows, COMBINED, LOST_FLOWS, 40.0)), Ok(false));
        assert!(judge_tables(&FigureRows::default()).is_err());
    }

    #[test]
    fn two_cores_have_to_lose_less() {
        let of = |series, rate, drop| row(series, &[(DROP, drop)]).with(MPPS, mpps(rate));
        let rows = |two| {
            FigureRows(vec![
                of(COOPERATIVE, QUEUE_RATE, 0.0),
                of(TWO_CORES, QUEUE_RATE, 0.0),
                of(COOPERATIVE, OVERLOAD, 70.0),
                of(TWO_CORES, OVERLOAD, two),
            ])
        };
        assert_eq!(judge_threads(&rows(60.0)).map(|(holds, _)| holds), Ok(true));
        assert_eq!(judge_threads(&rows(75.0)).map(|(holds, _)| holds), Ok(false));
        assert!(judge_threads(&FigureRows::default()).is_err());
    }
}
