//! Figure 4: counters that two cores share.

use super::PAPER;
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
    here: "Two threads count packets of 10 million flows by Zipf(1), drawn beforehand, each packet after the one before it is done: in one table of Edison's that updates counters of \
           64 bits by compare-and-swap, and in one simple hash table each, of as many bytes. Wu et al. (2016, section 3.2) set compare-and-swap against spinlocks, which are measured \
           too: one for the table, and one for each counter. All counts are compared with what was drawn.",
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

fn panels(rows: &FigureRows) -> Vec<Panel> {
    let ratio = |name: &str, value: &str| {
        let spots = rows.ratios("shared", "separate", "bytes", value);
        Curve { of_paper: false, ..Curve::from_paper(name, &spots) }
    };
    let panel = |title: &str, y: &str, curves: Vec<Curve>| Panel {
        title: title.to_owned(),
        x: Axis::Bytes { label: "size of a table".to_owned() },
        y: Axis::Linear { label: y.to_owned() },
        curves,
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
    let finding = "separate tables are faster than a shared one at every size, by 2 times in the mean and 2.7 times at the 95th percentile with 32 KB";
    let mean = rows.ratios("shared", "separate", "bytes", "ns_per_packet");
    let tail = rows.ratios("shared", "separate", "bytes", "p95_ns");
    let at_small = |ratios: &[(f64, f64)]| {
        ratios.iter().find(|(bytes, _)| *bytes == SMALL as f64).map(|(_, ratio)| *ratio)
    };
    let (Some(small), Some(small_tail)) = (at_small(&mean), at_small(&tail)) else {
        return FindingResult::open(
            finding,
            machine.lacks_cores(2).unwrap_or_else(|| "nothing is measured".to_owned()),
        );
    };
    let least = mean.iter().map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min);
    let why = format!(
        "with 32 KiB a packet takes {small:.1} times as long in the shared table, {small_tail:.1} times at the 95th percentile, and at least {least:.1} times at any size"
    );
    FindingResult::new(finding, least > 1.0, why)
}
