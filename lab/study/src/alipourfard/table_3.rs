//! Table 3: entries of a second.

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
    name: "table-3",
    title: "entries in a second of 10, 40 and 100 Gbit/s, and the cores that they take",
    section: "section 3.2",
    shows: "Packets of 64 bytes and flows of 1 kB in the mean that a link carries in a second. The text concludes that one core supports all entries of \
            Table 2 up to 40 Gbit/s.",
    here: "Packets and flows follow from the link's rate (84 bytes a packet on the wire). The cores that count them in bursts are foretold by the model that is \
           fitted to this machine (table-2), at a skew of 1. For 100 Gbit/s it is asked with the paper's 125 million flows, though 1 kB a flow gives 12.5 million.",
    said: &[
        PaperClaim { what: "packets at 10, 40 and 100 Gbit/s", value: "14.8M, 60M, 148M", place: "Table 3" },
        PaperClaim { what: "5-tuple flows", value: "1.25M, 5M, 125M", place: "Table 3" },
    ],
    points: |_, scale: Scale| -> Vec<StudyPoint> {
        let entries = StudyPoint::new("entries of a second", || Ok(LINKS.map(entries).to_vec()));
        vec![entries, model(scale, |row| is_measured(row) || row.series == ENTRIES)]
    },
    panels,
    judge,
};

/// Gbit/s, and the paper's packets and flows.
const LINKS: [(f64, f64, f64); 3] = [(10.0, 14.8e6, 1.25e6), (40.0, 60e6, 5e6), (100.0, 148e6, 125e6)];
/// The bytes of the smallest packet on the wire: frame, preamble and gap.
const PACKET_BYTES: f64 = 84.0;
const FLOW_BYTES: f64 = 1000.0;

/// Returns the entries of a second by the rate of the link.
fn entries((gbit_s, paper_packets, paper_flows): (f64, f64, f64)) -> FigureRow {
    let bytes = gbit_s * 1e9 / 8.0;
    let values = [
        ("packets_per_s", bytes / PACKET_BYTES),
        ("flows_per_s", bytes / FLOW_BYTES),
        ("paper_packets_per_s", paper_packets),
        ("paper_flows_per_s", paper_flows),
    ];
    FigureRow {
        series: "entries of a second".to_owned(),
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        ..FigureRow::default().with("gbit_s", gbit_s)
    }
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let names = LINKS.map(|(gbit_s, _, _)| format!("{gbit_s} Gbit/s")).to_vec();
    let at =
        |row: &FigureRow| LINKS.iter().position(|link| link.0 == row.param("gbit_s")).map(|at| at as f64);
    let curve = |name: &str, is_meant: &dyn Fn(&FigureRow) -> bool, value: &str, of_paper: bool| Curve {
        name: name.to_owned(),
        of_paper,
        spots: (rows.0.iter().filter(|row| is_meant(row)))
            .filter_map(|row| Some(Spot { x: at(row)?, y: row.value(value), spread: None }))
            .collect(),
    };
    let of_link = |row: &FigureRow| row.series == "entries of a second";
    let cores = |name: &'static str| curve(name, &move |row: &FigureRow| entry(row) == name, "cores", false);
    vec![
        Panel::new(
            "Entries in a second",
            Axis::Names { label: "link".to_owned(), names: names.clone() },
            Axis::Log { label: "entries".to_owned() },
            vec![
                curve("packets of 64 bytes", &of_link, "packets_per_s", false),
                curve("flows of 1 kB", &of_link, "flows_per_s", false),
                curve("packets", &of_link, "paper_packets_per_s", true),
                curve("flows", &of_link, "paper_flows_per_s", true),
            ],
        ),
        Panel::new(
            "Cores that count them (foretold)",
            Axis::Names { label: "link".to_owned(), names },
            Axis::Linear { label: "cores".to_owned() },
            vec![cores("counter"), cores("5-tuple and counter"), cores("NetFlow v5"), cores(OWN)],
        ),
    ]
}

fn judge(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let finding = "one core supports all entries of Table 2 for a second of up to 40 Gbit/s";
    let decide = || {
        let up_to_40 =
            (rows.rows_of_series(ENTRIES)).filter(|row| row.param("gbit_s") <= 40.0 && entry(row) != OWN);
        let claim = |row: &FigureRow| {
            let cores = row.value("cores");
            // Cores are whole: of the times of a packet one knows how near they are to the bound.
            let packet_ns = 1e9 / (row.param("gbit_s") * 1e9 / 8.0 / PACKET_BYTES);
            let times = foretold(rows, row.value("bursts_ns"))?;
            let text = format!(
                "{} at {} Gbit/s take {} in bursts of the {packet_ns:.1} ns that there are, and {cores} cores",
                entry(row),
                row.param("gbit_s"),
                times.text("ns")
            );
            Ok(Claim::new(times.is_at_most(RoundedValue::exact(packet_ns), 0.0), text))
        };
        up_to_40.map(claim).collect::<Result<Vec<_>, String>>()
    };
    let numbers = "one of the paper's numbers does not follow from the others: 100 Gbit/s with 1 kB a flow are 12.5 million flows, not 125 million";
    let verdict = conclude(finding, decide());
    FindingResult { why: format!("{}; {numbers}", verdict.why), ..verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_what_the_paper_says_but_for_one_number() {
        for link in LINKS {
            let row = entries(link);
            assert!((row.value("packets_per_s") / link.1 - 1.0).abs() < 0.02, "{link:?}");
            let times = link.2 / row.value("flows_per_s");
            assert_eq!(times, if link.0 == 100.0 { 10.0 } else { 1.0 });
        }
    }
}
