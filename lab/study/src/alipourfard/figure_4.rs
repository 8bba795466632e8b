//! Figure 4: counters that two cores share.

use super::{PAPER, faster_at_every_size};
use crate::deciding::conclude;
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-4",
    title: "a hash table that two cores share against one for each",
    section: "section 3.4",
    shows: "The time per packet on two cores that count in one hash table by compare-and-swap, or in one each. Separate tables are faster at every size, in the mean and at the \
            95th percentile; the larger a shared table, the more rarely two cores want the same entry.",
    here: "Two threads count packets of 10 million flows by Zipf(1), drawn beforehand, each packet after the one before it is done: in one simple hash table whose counters of \
           32 bits they update by compare-and-swap, and in one each of as many counters, which they add to. Wu et al. (2016, section 3.2) set compare-and-swap against spinlocks, \
           which are measured too: one for the table, and one for each counter. All counts are compared with what was drawn. Single packets are timed \
           in steps of the processor's clock, so that the 95th percentile is drawn and not judged.",
    said: &[
        PaperClaim { what: "shared over separate at 32 KB, mean", value: "2 times", place: "section 3.4" },
        PaperClaim {
            what: "shared over separate at 32 KB, 95th percentile",
            value: "2.7 times",
            place: "section 3.4",
        },
    ],
    points,
    panels,
    judge,
};

const SMALL: u64 = 32 << 10;

fn points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let sizes_kib: &[u64] =
        scale.pick(&[32, 256, 2 << 10, 16 << 10], &[32, 128, 512, 2 << 10, 8 << 10, 32 << 10, 128 << 10]);
    let seconds = scale.pick(1.0, 5.0);
    let point = |kib: &u64| {
        let bytes = kib << 10;
        StudyPoint::new(format!("two cores bytes={bytes} zipf=1 seconds={seconds}"), move || {
            let mut rows = Vec::new();
            bench::figures::two_cores(bytes, 1.0, seconds, &mut |line| {
                rows.push(FigureRow::from_line(&line))
            })?;
            Ok(rows)
        })
        .unless(machine.lacks_cores(2))
    };
    sizes_kib.iter().map(point).collect()
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let ratio = |name: &str, value: &str| {
        let spots = rows.ratios("shared", "separate", "bytes", value);
        Curve { of_paper: false, ..Curve::from_paper(name, &spots) }
    };
    let panel = |title: &str, y: &str, curves: Vec<Curve>| {
        let x = Axis::Bytes { label: "size of a table".to_owned() };
        Panel::new(title, x, Axis::Linear { label: y.to_owned() }, curves)
    };
    vec![
        panel(
            "Time per packet on two cores",
            "ns",
            vec![
                Curve::from_rows(rows, "separate", "separate, mean", "bytes", "ns_per_packet"),
                Curve::from_rows(rows, "shared", "shared, mean", "bytes", "ns_per_packet"),
                Curve::from_rows(
                    rows,
                    "spinlock",
                    "shared under one spinlock, mean",
                    "bytes",
                    "ns_per_packet",
                ),
                Curve::from_rows(
                    rows,
                    "spinlock_per_counter",
                    "shared, a spinlock for each counter, mean",
                    "bytes",
                    "ns_per_packet",
                ),
                Curve::from_rows(rows, "separate", "separate, 95th percentile", "bytes", "p95_ns"),
                Curve::from_rows(rows, "shared", "shared, 95th percentile", "bytes", "p95_ns"),
            ],
        ),
        panel(
            "Shared over separate",
            "times as long",
            vec![
                ratio("mean", "ns_per_packet"),
                ratio("95th percentile", "p95_ns"),
                Curve::from_paper("mean", &[(SMALL as f64, 2.0)]),
                Curve::from_paper("95th percentile", &[(SMALL as f64, 2.7)]),
            ],
        ),
    ]
}

fn judge(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let finding = "at every size a packet takes longer in a table that two cores share than in one for each, in the mean";
    let decide = || {
        let separate = ("separate", "separate tables");
        let claims = faster_at_every_size(rows, separate, ("shared", "the shared table"))?;
        match machine.lacks_cores(2).filter(|_| claims.is_empty()) {
            Some(lacks) => Err(lacks),
            None => Ok(claims),
        }
    };
    conclude(finding, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

    #[test]
    fn every_size_has_to_take_longer_shared() {
        let of = |series: &str, ns: f64| {
            [SMALL, 2 << 20].map(|bytes| row(series, &[("ns_per_packet", ns)]).with("bytes", bytes))
        };
        let rows = FigureRows([of("separate", 10.0), of("shared", 15.0)].concat());
        let judged = |rows: &FigureRows| judge(rows, &MachineProfile::here()).holds;
        assert_eq!(judged(&rows), Some(true));
        assert_eq!(judged(&changed(&rows, "shared", "ns_per_packet", 9.0)), Some(false));
        assert_eq!(judged(&spread_out(&rows, "shared", "ns_per_packet")), None);
        assert_eq!(judged(&FigureRows::default()), None);
    }
}
