//! Figure 8 and Table IV: counting packets and counting each flow's, and what the processor does meanwhile.

use super::{LINE_RATE, PAPER, effort, two_cores};
use crate::deciding::{Claim, conclude, short, value_at};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DROP, bars, effort_text, measured, percent};
use crate::panel::{Axis, Curve, Guide, Panel, Spot};
use crate::point::{Scale, StudyPoint};
use crate::row::FigureRows;
use crate::verdict::FindingResult;
use bench::{TallyKind, WirePoint};

const PACKETS: &str = "packets in software";
const FLOWS: &str = "each flow's packets";
const SERIES: [&str; 2] = [PACKETS, FLOWS];
const PATTERNS: [(&str, f64); 2] = [("uniform", 0.0), ("Zipf", 1.0)];
/// A share, of which medians of rounds know packets that a thread missed while it was on its core.
const LOSS: &str = "loss_clock_stopped";
/// The share of the packets that counts as little: five nines are not lost.
const LITTLE: f64 = 1e-5;

const FLOWS_COST_LITTLE: &str =
    "counting each flow's packets loses at most 1e-5 more than counting packets, uniform and Zipf";
const CARDS_DIFFER: &str = "neither cache misses nor instructions per cycle explain why one testbed loses packets and the others none";

pub(crate) static FIGURE_8: Figure = Figure {
    paper: &PAPER,
    name: "figure-8",
    title: "counting packets and counting each flow's",
    section: "Section VI-A, Figure 8",
    shows: "The loss of MoonGen, Speedometer, pktgen-DPDK and FloWatcher-DPDK at 14.88 Mpps, of counting packets in hardware and software and of counting each flow's, of uniform and of Zipf flows.",
    here: "Edison counts packets, and each flow's, on two cores over the software wire, whose own counters are the hardware's. The other tools need a card and a second server: they are not measured, and not judged.",
    said: &[
        PaperClaim {
            what: "FloWatcher-DPDK instead of MoonGen and pktgen-DPDK",
            value: "loss less by two orders of magnitude at least",
            place: "Section VI-A",
        },
        PaperClaim {
            what: "counting each flow's in MoonGen",
            value: "loss more by one or two orders of magnitude",
            place: "Section VI-A",
        },
    ],
    points,
    panels: |rows, _| {
        let panel = |(name, zipf): (&str, f64)| {
            let rows = rows.only("zipf", zipf);
            let said = [
                "MoonGen and pktgen lose 100 times as much",
                "in MoonGen counting flows 10 to 100 times as much",
            ];
            bars(&rows, name, percent("loss"), &SERIES, DROP, None).with_guides(said.map(Guide::below))
        };
        PATTERNS.map(panel).into()
    },
    judge: |rows, _| conclude(FLOWS_COST_LITTLE, judge_counting(rows)),
};

pub(crate) static TABLE_4: Figure = Figure {
    paper: &PAPER,
    name: "table-4",
    title: "profile on different testbeds",
    section: "Section VI-B, Table IV",
    shows: "Cache misses, instructions per cycle and loss of counting packets on three testbeds, of which one loses packets.",
    here: "The runs of Figure 8: what the processor's counters say of user code, where the machine shows them, and the loss. It is one testbed; `--beside` puts the results of another machine next to it.",
    said: &[
        PaperClaim {
            what: "testbed 1",
            value: "0.008 % cache misses, 2.030 instructions a cycle, 3.5e-6 lost",
            place: "Table IV",
        },
        PaperClaim { what: "testbed 2", value: "0.011 %, 1.810, 0", place: "Table IV" },
        PaperClaim { what: "testbed 3", value: "0.014 %, 2.080, 0", place: "Table IV" },
    ],
    points: |_, scale| vec![counting(scale)],
    panels: profile_panels,
    judge: judge_profile,
};

fn counting(scale: Scale) -> StudyPoint {
    let effort = effort(scale);
    let effort_text = effort_text(&effort);
    let key = format!("flowatcher precision packets,flows uniform,zipf rate {LINE_RATE} {effort_text}");
    StudyPoint::new(key, move || {
        let points: Vec<WirePoint> = PATTERNS
            .into_iter()
            .flat_map(|(_, zipf)| {
                [(PACKETS, TallyKind::Packets), (FLOWS, TallyKind::Flows)]
                    .map(|(name, counting)| WirePoint { zipf, ..two_cores(name, counting, LINE_RATE) })
            })
            .collect();
        let mut rows = measured(&points, &effort, |_, row| row)?;
        for row in &mut rows {
            let ratio = row.value("instructions") / row.value("cycles");
            if ratio.is_finite() {
                row.values.insert("instructions_per_cycle".to_owned(), ratio);
            }
        }
        Ok(rows)
    })
}

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    let tools = "no machine alone shows it: MoonGen, Speedometer and pktgen-DPDK receive from a card what another server sends";
    vec![counting(scale), StudyPoint::impossible("flowatcher other tools", tools)]
}

fn judge_counting(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let mut claims = Vec::new();
    for (name, zipf) in PATTERNS {
        let [packets, flows] = SERIES.map(|series| value_at(rows, series, ("zipf", zipf), LOSS));
        let (packets, flows) = (packets?, flows?);
        let text = format!(
            "of {name} flows counting packets loses {} of all, counting flows {}",
            packets.text(""),
            flows.text("")
        );
        claims.push(Claim::new(flows.is_at_most(packets, LITTLE), text));
    }
    Ok(claims)
}

/// The values of Table IV of three testbeds, and those that this machine shows.
fn profile_panels(rows: &FigureRows, _: &MachineProfile) -> Vec<Panel> {
    let names = ["here", "testbed 1", "testbed 2", "testbed 3"].map(str::to_owned);
    let row = rows.at(PACKETS, "zipf", 0.0);
    let panel = |title: &str, value: &str, factor: f64, said: [f64; 3]| {
        let here = row.map(|row| factor * row.value(value)).filter(|value| value.is_finite());
        let spots = here.map(|y| Spot { x: 0.0, y, spread: None }).into_iter().collect();
        let paper: Vec<_> = (1..).map(f64::from).zip(said).collect();
        let curves = vec![
            Curve { name: "here".to_owned(), of_paper: false, spots },
            Curve::from_paper("testbeds", &paper),
        ];
        let x = Axis::Names { label: String::new(), names: names.to_vec() };
        let missing = here.is_none().then(|| (0.0, "no counters here".to_owned()));
        Panel::new(title, x, Axis::Linear { label: title.to_lowercase() }, curves).with_remarks(missing)
    };
    vec![
        panel("Instructions per cycle", "instructions_per_cycle", 1.0, [2.03, 1.81, 2.08]),
        panel("Lost, of a million packets", LOSS, 1e6, [3.5, 0.0, 0.0]),
    ]
}

/// Judges the profile. The finding is about three testbeds, of which this machine is one: it is never decided.
fn judge_profile(rows: &FigureRows, _: &MachineProfile) -> FindingResult {
    let row = rows.at(PACKETS, "zipf", 0.0);
    let measured = row.map_or(String::new(), |row| {
        let ratio = row.value("instructions_per_cycle");
        let counters = if ratio.is_finite() {
            format!("{ratio:.3} instructions a cycle")
        } else {
            "a machine that shows no performance counters".to_owned()
        };
        format!("; here it is {counters}, and {} lost", short(row.value(LOSS)))
    });
    FindingResult::open(
        CARDS_DIFFER,
        format!("no machine alone shows it: it is about the cards of three testbeds{measured}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{row, spread_out};

    #[test]
    fn flows_may_cost_five_nines() {
        let rows = |flows: f64| {
            let of = |(_, zipf): (&str, f64)| {
                [(PACKETS, 2e-6), (FLOWS, flows)]
                    .map(|(series, loss)| row(series, &[(LOSS, loss)]).with("zipf", zipf))
            };
            FigureRows(PATTERNS.into_iter().flat_map(of).collect())
        };
        let judged = |rows: &FigureRows| conclude("f", judge_counting(rows)).holds;
        assert_eq!(judged(&rows(4e-6)), Some(true));
        assert_eq!(judged(&rows(4e-4)), Some(false));
        assert_eq!(judged(&spread_out(&rows(1e-5), FLOWS, LOSS)), None);
        assert!(judge_counting(&FigureRows::default()).is_err());
        assert_eq!(judge_profile(&rows(0.0), &MachineProfile::here()).holds, None);
    }
}
