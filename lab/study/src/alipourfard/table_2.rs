//! Table 2: bytes of an entry.

use super::PAPER;
use super::foretold::{ENTRIES, OWN, entry, foretold, is_measured, model};
use crate::deciding::{Claim, RoundedValue, conclude};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "table-2",
    title: "bytes of an entry, and what a packet takes with such entries",
    section: "section 3.2",
    shows: "The bytes of an entry by what is measured. With a skew of 1 and 2 MB of L3 a core keeps up with 10 Gbit/s of the smallest packets \
            whatever the entry: 67 ns a packet.",
    here: "The paper's model (Equation 1, corrected as docs/model.md says) is fitted to this machine by measurements, which are among the values, and \
           foretells the time per packet for 1.25 million flows with a skew of 1, counted in bursts; Edison's own flow table is in the same model.",
    said: &[
        PaperClaim { what: "simple hash table", value: "4 bytes", place: "Table 2" },
        PaperClaim { what: "5-tuple and a counter", value: "17 bytes", place: "Table 2" },
        PaperClaim { what: "simple hash table and a distinct counter", value: "20 bytes", place: "Table 2" },
        PaperClaim {
            what: "source and its destinations, 4 in the mean",
            value: "20 bytes",
            place: "Table 2",
        },
        PaperClaim { what: "NetFlow v5", value: "44 bytes", place: "Table 2" },
        PaperClaim { what: "time per packet at 10 Gbit/s", value: "67 ns", place: "section 3.2" },
    ],
    points: |_, scale: Scale| -> Vec<StudyPoint> {
        vec![model(scale, |row| is_measured(row) || is_of_10g(row))]
    },
    panels,
    judge,
};

/// Nanoseconds for a packet at 14.8 million a second.
const MOST_NS: f64 = 1000.0 / 14.8;

fn is_of_10g(row: &FigureRow) -> bool {
    row.series == ENTRIES && row.param("gbit_s") == 10.0
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let of_10g: Vec<_> = rows.0.iter().filter(|row| is_of_10g(row)).collect();
    let names = of_10g.iter().map(|row| format!("{}, {} B", entry(row), row.param("entry_bytes"))).collect();
    let curve = |name: &str, value: &str| Curve {
        name: name.to_owned(),
        of_paper: false,
        spots: (of_10g.iter().enumerate())
            .map(|(at, row)| Spot { x: at as f64, y: row.value(value), spread: None })
            .collect(),
    };
    let most: Vec<_> = (0..of_10g.len()).map(|at| (at as f64, MOST_NS)).collect();
    vec![Panel::new(
        "Time per packet, 1.25 million flows, skew 1 (foretold)",
        Axis::Names { label: "entry".to_owned(), names },
        Axis::Linear { label: "ns".to_owned() },
        vec![
            curve("in bursts", "bursts_ns"),
            curve("one at a time", "one_at_a_time_ns"),
            Curve::from_paper("bound for 10 Gbit/s", &most),
        ],
    )]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "one core keeps up with 10 Gbit/s of the smallest packets with entries of 4 to 44 bytes";
    let decide = || {
        let of_10g: Vec<_> = rows.0.iter().filter(|row| is_of_10g(row) && entry(row) != OWN).collect();
        let most = |value: &str| of_10g.iter().map(|row| row.value(value)).reduce(f64::max);
        let (Some(bursts), Some(single)) = (most("bursts_ns"), most("one_at_a_time_ns")) else {
            return Err("nothing is measured".to_owned());
        };
        let (bursts, single) = (foretold(rows, bursts)?, foretold(rows, single)?);
        let text = format!(
            "the slowest entry takes {} in bursts and {} one at a time, give or take the model's largest error here, of the {MOST_NS:.0} ns that \
             there are",
            bursts.text("ns"),
            single.text("ns")
        );
        Ok(vec![Claim::new(bursts.is_at_most(RoundedValue::exact(MOST_NS), 0.0), text)])
    };
    conclude(finding, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::row;

    #[test]
    fn the_models_error_counts() {
        let rows = |ns, error| {
            let values = [("bursts_ns", ns), ("one_at_a_time_ns", ns)];
            let foretold = row(ENTRIES, &values).with("gbit_s", 10).with("entry", "counter");
            FigureRows(vec![row("bursts_of_64", &[("error_percent", error)]), foretold])
        };
        let judged = |ns, error| judge(&rows(ns, error), &MachineProfile::here()).holds;
        assert_eq!(judged(60.0, -5.0), Some(true));
        assert_eq!(judged(60.0, -20.0), None);
        assert_eq!(judged(90.0, -20.0), Some(false));
    }
}
