//! Makwana: project report, University of Massachusetts Lowell.

use crate::alipourfard::{COUNT_MIN, HEAP, SIMPLE, faster_at_every_size, figure_1::means, sizes};
use crate::deciding::{Claim, RoundedValue, conclude, value_at};
use crate::figure::{Figure, Paper, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

pub(crate) static PAPER: Paper = Paper {
    name: "makwana",
    cite: "Makwana: Software based measurement sketch using DPDK pipeline, project report, University of Massachusetts Lowell",
    machine: "Xeon E5-2650, 12 cores, 256 KB of L2 a core, 25 MB of L3, 32 GB, a 100G card (\"Performance\")",
};

const SECTION: &str = "\"Performance\"; its figures have letters and no numbers";
const HERE: &str = "The same three structures as in Alipourfard's Figure 1, whose measurement the report repeats: points that were measured for it \
                    are taken from there. Packets are generated, of 10 million flows by Zipf(1); the report does not say which traffic it has.";

pub(crate) static FIGURE_A: Figure = Figure {
    paper: &PAPER,
    name: "figure-a",
    title: "throughput of a simple hash table, Count-Min and a heap by size",
    section: SECTION,
    shows: "The throughput of three structures by their size. Count-Min computes three hash functions a packet and accesses three places, the \
            heap several more.",
    here: HERE,
    said: &[
        PaperClaim {
            what: "throughput of the hash table over Count-Min, mean",
            value: "38 % higher",
            place: "of Figure (a)",
        },
        PaperClaim {
            what: "throughput of the hash table over the heap, mean",
            value: "110 % higher",
            place: "of Figure (a)",
        },
    ],
    points,
    panels: throughput,
    judge: judge_throughput,
};

pub(crate) static FIGURE_B: Figure = Figure {
    paper: &PAPER,
    name: "figure-b",
    title: "mean and 95th percentile of the time per packet by size",
    section: SECTION,
    shows: "The mean time per packet of hash table and Count-Min does not depend on their size until 20 MB, and the heap's becomes shorter with its \
            size. The heap's 95th percentile becomes longer with its size.",
    here: HERE,
    said: &[
        PaperClaim {
            what: "largest size that does not affect hash table and Count-Min",
            value: "20 MB",
            place: "of Figure (b)",
        },
        PaperClaim {
            what: "sizes between which the 95th percentile has a jump",
            value: "10 MB to 30 MB",
            place: "of Figure (b)",
        },
    ],
    points,
    panels: times,
    judge: judge_times,
};

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let sizes_kib: &[u64] = scale.pick(
        &[32, 256, 2 << 10, 16 << 10, 128 << 10],
        &[32, 256, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 32 << 10, 128 << 10],
    );
    sizes_kib.iter().map(|kib| sizes(kib << 10, 1.0, scale.pick(1.0, 5.0))).collect()
}

fn panel(rows: &FigureRows, title: &str, y: &str, value: &str) -> Panel {
    let curves = [(SIMPLE, "simple hash table"), (COUNT_MIN, "Count-Min, 3 rows"), (HEAP, "heap")];
    Panel::new(
        title,
        Axis::Bytes { label: "size of the structure".to_owned() },
        Axis::Log { label: y.to_owned() },
        curves.map(|(series, name)| Curve::from_rows(rows, series, name, "bytes", value)).to_vec(),
    )
}

fn throughput(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let said = ["hash table +38 % over Count-Min", "and +110 % over the heap, in the mean"];
    vec![panel(rows, "(a) Throughput", "million packets/s", "mpps").with_guides(said.map(Guide::below))]
}

fn times(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    vec![
        panel(rows, "(b) Mean time per packet", "ns", "ns_per_packet")
            .with_guides([Guide::upright(20e6, "the same up to 20 MB")]),
        panel(rows, "(b) 95th percentile", "ns", "p95_ns")
            .with_guides([Guide::upright(10e6, "a jump from 10 MB"), Guide::upright(30e6, "to 30 MB")]),
    ]
}

fn judge_throughput(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "at every size a simple hash table is faster than Count-Min and than a heap";
    let decide = || {
        let simple = (SIMPLE, "the hash table");
        let mut claims = faster_at_every_size(rows, simple, (COUNT_MIN, "Count-Min"))?;
        claims.extend(faster_at_every_size(rows, simple, (HEAP, "the heap"))?);
        Ok(claims)
    };
    conclude(finding, decide()).summed_up(&means(rows, "38", "110"))
}

/// A time that is longer by no more than this is taken as the same.
const SAME: f64 = 1.25;

fn judge_times(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "up to 20 MB the size changes the mean time per packet of hash table and Count-Min by less than a quarter, and a larger heap is faster";
    let decide = || {
        let time =
            |series: &str, kib: u64| value_at(rows, series, ("bytes", (kib << 10) as f64), "ns_per_packet");
        let grows = |series: &str, to: u64| Ok::<_, String>(time(series, to)?.over(time(series, 32)?));
        let mut claims = Vec::new();
        for (series, name) in [(SIMPLE, "the hash table"), (COUNT_MIN, "Count-Min")] {
            let times = grows(series, 16 << 10)?;
            let text =
                format!("from 32 KiB to 16 MiB a packet takes {} times as long in {name}", times.text(""));
            claims.push(Claim::new(times.is_at_most(RoundedValue::exact(SAME), 0.0), text));
        }
        let heap = grows(HEAP, 128 << 10)?;
        let text =
            format!("from 32 KiB to 128 MiB a packet takes {} times as long in the heap", heap.text(""));
        claims.push(Claim::new(heap.is_below(RoundedValue::exact(1.0)), text));
        Ok(claims)
    };
    conclude(finding, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

    const NS: &str = "ns_per_packet";

    fn rows() -> FigureRows {
        let of = |series: &str, kib: u64, ns: f64| {
            row(series, &[(NS, ns), ("mpps", 1000.0 / ns)]).with("bytes", kib << 10)
        };
        let sizes = [32, 16 << 10, 128 << 10];
        let all = |series, ns: [f64; 3]| (0..3).map(move |at| of(series, sizes[at], ns[at]));
        let rows = all(SIMPLE, [10.0, 11.0, 40.0])
            .chain(all(COUNT_MIN, [12.0, 13.0, 50.0]))
            .chain(all(HEAP, [90.0, 80.0, 70.0]));
        FigureRows(rows.collect())
    }

    #[test]
    fn the_papers_orders_hold_and_others_do_not() {
        let machine = MachineProfile::here();
        for judge in [judge_throughput, judge_times] {
            assert_eq!(judge(&rows(), &machine).holds, Some(true), "{}", judge(&rows(), &machine));
            assert_eq!(judge(&FigureRows::default(), &machine).holds, None);
            assert_eq!(judge(&spread_out(&rows(), COUNT_MIN, NS), &machine).holds, None);
        }
        assert_eq!(judge_throughput(&changed(&rows(), COUNT_MIN, NS, 9.0), &machine).holds, Some(false));
        assert_eq!(judge_times(&changed(&rows(), HEAP, NS, 9.0), &machine).holds, Some(false));
    }
}
