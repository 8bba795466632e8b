//! Figure 5: a tee with sampling in the place of the measurement.

use super::PAPER;
use crate::deciding::{Claim, conclude, value, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::panel::{Axis, Curve, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use crate::verdict::FindingResult;

pub(crate) static FIGURE: Figure = Figure {
    paper: &PAPER,
    name: "figure-5",
    title: "throughput and precision where another core measures a sample",
    section: "section 4",
    shows: "At a skew of 0.5, a tee in the place of the measurement copies 10, 15 or 20 % of the packets to a ring that another core reads. The path of the packets is faster than with the \
            measurement in it (Not-Tee), and heavy hitters are found with less precision.",
    here: "`edison run --tee`, and without a tee the exact table that it has in its path: the packets that the receiving core takes a second from a software wire which waits for it, with exact tables for 20,000 and for \
           330,000 flows (2 and 32 MiB). Precision is that of the flows with 0.2 % of a window of a million packets of 100,000 flows: at a skew of 1, as no flow has 0.2 % of them at 0.5; the paper has both at 0.5. \
           So the throughput is measured at both skews.",
    said: &[
        PaperClaim {
            what: "throughput with a tee of 15 %, table of 2 MB",
            value: "13 Mpps",
            place: "section 4",
        },
        PaperClaim { what: "throughput without, table of 2 MB", value: "9.4 Mpps", place: "section 4" },
        PaperClaim { what: "precision with a tee of 15 %", value: "75 %", place: "section 4" },
        PaperClaim { what: "precision without", value: "97 %", place: "section 4" },
    ],
    points,
    panels,
    judge,
};

/// The paper's skew, and one at which there are heavy hitters to find.
const SKEWS: [f64; 2] = [0.5, 1.0];
/// Flows of the tables, and their names.
const TABLES: [(u64, &str); 2] = [(20_000, "2 MiB"), (330_000, "32 MiB")];
const VARIANTS: [(&str, &str); 4] =
    [("not_tee", "no tee"), ("tee_10", "10 %"), ("tee_15", "15 %"), ("tee_20", "20 %")];
/// The place of the paper's tee among them.
const PAPERS: f64 = 2.0;

fn points(machine: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let seconds = scale.pick(4.0, 20.0);
    let table = |(skew, flows): (f64, u64)| {
        StudyPoint::new(format!("tee flows={flows} zipf={skew} seconds={seconds}"), move || {
            let mut rows = Vec::new();
            bench::figures::tee((flows, skew), seconds, &mut |line| rows.push(FigureRow::from_line(&line)))?;
            Ok(rows)
        })
    };
    let tables = SKEWS.into_iter().flat_map(|skew| TABLES.map(|(flows, _)| (skew, flows)));
    let answers =
        StudyPoint::new("tee answers packets=1000000 flows=100000 zipf=1, and without a tee", || {
            let mut rows = Vec::new();
            bench::figures::tee_answers(&mut |line| rows.push(FigureRow::from_line(&line)))?;
            Ok(rows)
        });
    let points = tables.map(table).chain([answers]);
    points.map(|point| point.unless(machine.lacks_cores(2))).collect()
}

fn panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let names: Vec<String> = VARIANTS.iter().map(|(_, name)| (*name).to_owned()).collect();
    let spots = |value: &dyn Fn(&str) -> Option<f64>| -> Vec<(f64, f64)> {
        let spot = |(at, (series, _)): (usize, &(&str, &str))| Some((at as f64, value(series)?));
        VARIANTS.iter().enumerate().filter_map(spot).collect()
    };
    let own = |name: &str, spots: &[(f64, f64)]| Curve { of_paper: false, ..Curve::from_paper(name, spots) };
    let panel = |title: &str, y: &str, curves| {
        let label = "share of the packets that another core measures".to_owned();
        let x = Axis::Names { label, names: names.clone() };
        Panel::new(title, x, Axis::Linear { label: y.to_owned() }, curves)
    };
    let speeds = |skew| {
        let rows = rows.only("zipf", skew);
        TABLES.map(|(flows, name)| {
            let spot = |(at, (series, _)): (usize, &(&str, &str))| {
                let row = rows.at(series, "flows", flows as f64)?;
                Some(Spot { x: at as f64, y: row.value("mpps"), spread: row.spread("mpps") })
            };
            let spots = VARIANTS.iter().enumerate().filter_map(spot).collect();
            Curve { name: name.to_owned(), of_paper: false, spots }
        })
    };
    let precision = |series: &str| {
        Some(100.0 * rows.rows_of_series(&format!("{series}_answers")).next()?.value("precision"))
    };
    vec![
        panel(
            "Throughput of the core that receives, skew 0.5",
            "million packets/s",
            speeds(0.5)
                .into_iter()
                .chain([Curve::from_paper("2 MB", &[(0.0, 9.4), (PAPERS, 13.0)])])
                .collect(),
        ),
        panel("Throughput of the core that receives, skew 1", "million packets/s", speeds(1.0).to_vec()),
        panel(
            "Precision of heavy hitters, skew 1 (paper: 0.5)",
            "%",
            vec![
                own("Edison", &spots(&precision)),
                Curve::from_paper("2 MB", &[(0.0, 97.0), (PAPERS, 75.0)]),
            ],
        ),
    ]
}

fn judge(rows: &FigureRows, machine: &MachineProfile) -> FindingResult {
    let finding = "a tee of 15 % makes the path of packets faster, at a skew of 0.5 and of 1, and costs precision, at a skew of 1";
    let decide = || {
        if let Some(lacks) = machine.lacks_cores(2).filter(|_| rows.0.is_empty()) {
            return Err(lacks);
        }
        let mut claims = Vec::new();
        for skew in SKEWS {
            for (flows, name) in TABLES {
                let of_skew = rows.only("zipf", skew);
                let at = |series| {
                    value_at(&of_skew, series, ("flows", flows as f64), "ns_per_packet")
                        .map_err(|why| format!("{why} at a skew of {skew}"))
                };
                let (without, with) = (at("not_tee")?, at("tee_15")?);
                let text = format!(
                    "with a table of {name} at a skew of {skew} the core that receives takes {} a packet with a tee of 15 % and {} without",
                    with.text("ns"),
                    without.text("ns")
                );
                claims.push(Claim::new(with.is_below(without), text));
            }
        }
        let precision = |series| value(rows, series, "precision");
        let (without, with) = (precision("not_tee_answers")?, precision("tee_15_answers")?);
        let text = format!(
            "at a skew of 1 the precision is {} with a tee of 15 % and {} without",
            with.times(100.0).text("%"),
            without.times(100.0).text("%")
        );
        claims.push(Claim::new(with.is_below(without), text));
        Ok(claims)
    };
    conclude(finding, decide())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::row;

    fn machine() -> MachineProfile {
        MachineProfile::here()
    }

    fn rows(tee_ns: [f64; 2], precision: f64) -> FigureRows {
        let of = |series: &str, flows: u64, zipf: f64, [least, most]: [f64; 2]| {
            let ns = (least + most) / 2.0;
            let values = [
                ("ns_per_packet", ns),
                ("ns_per_packet_least", least),
                ("ns_per_packet_most", most),
                ("rounds", 7.0),
            ];
            row(series, &[&values[..], &[("mpps", 1000.0 / ns)]].concat())
                .with("flows", flows)
                .with("zipf", zipf)
        };
        let mut rows = Vec::new();
        for (flows, _) in TABLES {
            for zipf in SKEWS {
                rows.extend([of("not_tee", flows, zipf, [95.0, 105.0]), of("tee_15", flows, zipf, tee_ns)]);
            }
        }
        for (series, precision) in [("not_tee_answers", 1.0), ("tee_15_answers", precision)] {
            rows.push(row(series, &[("precision", precision)]).with("flows", 100_000).with("zipf", 1.0));
        }
        FigureRows(rows)
    }

    #[test]
    fn a_tee_that_is_faster_and_less_precise_holds() {
        let judged = |rows: &FigureRows| judge(rows, &machine()).holds;
        assert_eq!(judged(&rows([60.0, 70.0], 0.9)), Some(true));
        assert_eq!(judged(&rows([110.0, 120.0], 0.9)), Some(false));
        assert_eq!(judged(&rows([90.0, 100.0], 0.9)), None);
        assert_eq!(judged(&rows([60.0, 70.0], 1.0)), Some(false));
        assert_eq!(judged(&FigureRows::default()), None);
        let panels = panels(&rows([60.0, 70.0], 0.9), &machine());
        assert_eq!(panels.len(), 3);
        assert_eq!(panels[2].curves[0].spots.len(), 2);
    }
}
