//! Figures 7(a) and 7(b): flow tables, and how threads are laid on cores.

use super::{LINE_RATE, MPPS, OVERLOAD, PAPER, effort, loses_less, mpps, preset, two_cores};
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, bars, effort_text, measured, nanoseconds, percent, small_percent};
use crate::panel::{Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{HashTableKind, Points, RecordPart, TallyKind, WirePoint, measure_record};

const NS: &str = "ns_per_packet";
const LOST_FLOWS: &str = "flows_lost_percent";
const LOST_PACKETS: &str = "packets_miscounted_percent";
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

const COMBINED_IS_BETWEEN: &str = "the double hash is fastest (or within 5 % of it) but miscounts more than the combined hash, which is faster than lists";
const OWN_CORES_ARE_BEST: &str =
    "a receiver and a monitor on cores of their own lose less than cooperative threads on one core";

pub(crate) static FIGURE_7A: Figure = Figure {
    paper: &PAPER,
    name: "figure-7a",
    title: "loss by flow table",
    section: "Section V-B, Figure 7(a)",
    shows: "The distribution of the loss at 14.88 Mpps with the double hash, lists and the combined hash, and of counting packets in software and in hardware.",
    here: "The time of a packet in each table, built as the paper describes them, of 65,536 flows drawn alike (and four times as many, which decide nothing), and the flows that each counts wrong; Edison's table is measured too. Entries of a list lie in one block in the order of arrival: allocating them costs less than in the paper. The loss is that of each table under two cores over the software wire, at the paper's rate, at which next to nothing is lost, and at 100 Mpps: one value with its rounds in the place of a distribution. Times decide.",
    said: &[
        PaperClaim { what: "counting packets", value: "about 2e-6 lost", place: "Section V-B" },
        PaperClaim {
            what: "the double hash without collisions",
            value: "up to about 450 flows",
            place: "Section III-B",
        },
    ],
    points: |_, scale| vec![tables(scale), table_losses(scale)],
    panels: |rows, machine| [loss_panels(rows), table_panels(rows, machine)].concat(),
    judge: |rows, _| conclude(COMBINED_IS_BETWEEN, judge_tables(rows)),
};

pub(crate) static FIGURE_7B: Figure = Figure {
    paper: &PAPER,
    name: "figure-7b",
    title: "loss by threads and cores",
    section: "Section V-B, Figure 7(b)",
    shows: "The distribution of the loss with cooperative threads (lthread), and with pthread on hyper-threads of one core and on cores of their own.",
    here: "One of the paper's two queues: a receiver and a monitor that take turns on one core, and on two cores, at 7.44 Mpps and at 100 Mpps. Hyper-threads of one core are not told apart from cores, and not judged.",
    said: &[PaperClaim { what: "lthread", value: "about 40 packets a million lost", place: "Section V-B" }],
    points: thread_points,
    panels: |rows, _| {
        let panel = |rate, loss| {
            let title = format!("Lost at {rate} Mpps");
            bars(&rows.only(MPPS, rate), &title, loss, &[COOPERATIVE, TWO_CORES], DROP, None)
        };
        let mut line = panel(mpps(QUEUE_RATE), small_percent("loss"));
        // 40 packets of a million.
        line.curves.push(Curve::from_paper("lthread", &[(0.0, 0.004)]));
        vec![line, panel(mpps(OVERLOAD), percent("loss"))]
    },
    judge: |rows, _| conclude(OWN_CORES_ARE_BEST, judge_threads(rows)),
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

/// The tables over the wire, by other names: rows of times have theirs. Then packets alone, as the paper counts them in software.
const OVER_WIRE: [(&str, TallyKind); 5] = [
    ("double, received", TallyKind::Table(HashTableKind::Double)),
    ("combined, received", TallyKind::Table(HashTableKind::Combined)),
    ("linked list, received", TallyKind::Table(HashTableKind::List)),
    ("cuckoo, received", TallyKind::Flows),
    ("packets alone", TallyKind::Packets),
];

/// Measures the loss of two cores with each table, at both rates.
fn table_losses(scale: Scale) -> StudyPoint {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let key = format!("flowatcher table losses rates {LINE_RATE},{OVERLOAD} {effort_text}");
    StudyPoint::new(key, move || {
        let points: Vec<WirePoint> = [LINE_RATE, OVERLOAD]
            .into_iter()
            .flat_map(|rate| OVER_WIRE.map(|(name, counting)| two_cores(name, counting, rate)))
            .collect();
        measured(&points, &effort, |at, row| row.with(MPPS, mpps(points[at].rate)))
    })
}

fn loss_panels(rows: &FigureRows) -> Vec<Panel> {
    let names = OVER_WIRE.map(|(name, _)| name);
    let panel = |rate: &str, loss| {
        bars(&rows.only(MPPS, mpps(rate)), &format!("Lost at {} Mpps", mpps(rate)), loss, &names, DROP, None)
    };
    let mut line = panel(LINE_RATE, small_percent("loss"));
    line.curves.push(Curve::from_paper("counting packets in software", &[(4.0, 2e-4)]));
    vec![line, panel(OVERLOAD, percent("loss"))]
}

/// The times of both numbers of flows, and what is counted wrong of the paper's.
pub(super) fn table_panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let [few, many] = [FLOWS, MORE_FLOWS].map(|flows| rows.only("flows", flows as f64));
    vec![
        bars(&few, "A packet, 64K flows", nanoseconds("time"), &TABLES, NS, None),
        bars(&many, "A packet, 256K flows", nanoseconds("time"), &TABLES, NS, None),
        bars(&few, "Flows miscounted, of 64K", percent("flows"), &TABLES, LOST_FLOWS, None)
            .with_guides([Guide::below("the double hash miscounts none up to about 450")]),
        bars(&few, "Packets of these flows", percent("packets"), &TABLES, LOST_PACKETS, None),
    ]
}

pub(super) fn judge_tables(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let of = |name| {
        let at = ("flows", FLOWS as f64);
        let [double, combined, list] = [DOUBLE, COMBINED, LIST].map(|table| value_at(rows, table, at, name));
        Ok::<_, String>([double?, combined?, list?])
    };
    let ([double, combined, list], [lost, combined_lost, _]) = (of(NS)?, of(LOST_FLOWS)?);
    let both = |one: &str, first: RoundedValue, other: &str, second: RoundedValue, unit: &str| {
        format!("{one} {}, {other} {}", first.text(unit), second.text(unit))
    };
    Ok(vec![
        Claim::new(
            double.is_below(combined.times(CLEARLY)),
            both("the double hash takes", double, "the combined hash", combined, "ns"),
        ),
        Claim::new(combined.is_below(list), both("the combined hash takes", combined, "lists", list, "ns")),
        Claim::new(
            combined_lost.is_below(lost),
            both("the combined hash miscounts", combined_lost, "the double hash", lost, "% of the flows"),
        ),
    ])
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
    let hyper_threads = "no machine shows it: hyper-threads of one core are not told apart from cores";
    vec![
        StudyPoint::new(key, measure).unless(machine.lacks_cores(2)),
        StudyPoint::impossible("flowatcher hyper-threads", hyper_threads),
    ]
}

fn judge_threads(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    loses_less(rows, QUEUE_RATE, (COOPERATIVE, "one core"), (TWO_CORES, "two cores"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

    #[test]
    fn the_combined_hash_has_to_lie_between() {
        let table = |name: &str, ns, lost| {
            [FLOWS, MORE_FLOWS].map(|flows| row(name, &[(NS, ns), (LOST_FLOWS, lost)]).with("flows", flows))
        };
        let tables = [table(DOUBLE, 5.0, 30.0), table(COMBINED, 8.0, 0.01), table(LIST, 12.0, 0.01)];
        let rows = FigureRows(tables.concat());
        let judged = |rows: &FigureRows| conclude("f", judge_tables(rows)).holds;
        assert_eq!(judged(&rows), Some(true));
        assert_eq!(judged(&spread_out(&rows, COMBINED, NS)), None);
        assert_eq!(judged(&changed(&rows, LIST, NS, 7.0)), Some(false));
        assert_eq!(judged(&changed(&rows, COMBINED, NS, 4.0)), Some(false));
        assert_eq!(judged(&changed(&rows, COMBINED, LOST_FLOWS, 40.0)), Some(false));
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
        let judged = |rows: &FigureRows| conclude("f", judge_threads(rows)).holds;
        assert_eq!(judged(&rows(60.0)), Some(true));
        assert_eq!(judged(&rows(75.0)), Some(false));
        // Medians of 74.41 and 73.44 %, whose rounds overlap.
        assert_eq!(judged(&spread_out(&rows(69.0), TWO_CORES, DROP)), None);
        assert!(judge_threads(&FigureRows::default()).is_err());
    }
}
