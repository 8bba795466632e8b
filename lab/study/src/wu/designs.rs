//! Tables 3 and 4, Figures 12 to 14: every design with every sketch, in one comparison.

use super::{CORES, PAPER, effort, preset};
use crate::deciding::{Claim, RoundedValue, conclude, value};
use crate::figure::{Figure, PaperClaim};
use crate::machine::MachineProfile;
use crate::over_wire::{DELAY, DROP, PROCESSING, bars, effort_text, measured, nanoseconds, percent};
use crate::panel::{Guide, Panel};
use crate::point::{Scale, StudyPoint};
use crate::row::{FigureRow, FigureRows};
use bench::{Effort, wu_designs};

const HERE: &str = "All designs with all sketches over the software wire, 72 Mpps of 64 bytes of 256K flows drawn alike, on up to six cores, in turn. Estimates of all flows are compared with those of one core's sketch. Sizes of Count-Min (4 rows of 64K) and of the Reversible sketch (4 of 16K) are not in the paper; Count-Min under SYNC and ASYNC, which the paper leaves out, is measured too, and decides nothing.";
const HERE_PARTS: &str = "The same runs: the delay, and its parts each by itself, as a sum of parts has no place on a logarithmic axis. Besides the paper's three they are parsing, and handing over to a worker.";
const PAPER_DROP: &str = "paper_drop_percent";
const PAPER_PROCESSING: &str = "paper_processing_ns";
const SKETCHES: [&str; 3] = ["SHT", "CMS", "RS"];
const STATES: [&str; 2] = ["Separate", "Shared"];
/// Percentage points below which two drop rates are the same here.
const SAME: f64 = 1.0;

const RSS: [&str; 6] = [
    "RSS-Separate-SHT",
    "RSS-Shared-SHT",
    "RSS-Separate-CMS",
    "RSS-Shared-CMS",
    "RSS-Separate-RS",
    "RSS-Shared-RS",
];
const NONE: [&str; 8] = [
    "SYNC-Separate-SHT",
    "SYNC-Shared-SHT",
    "ASYNC-Separate-SHT",
    "ASYNC-Shared-SHT",
    "SYNC-Separate-RS",
    "SYNC-Shared-RS",
    "ASYNC-Separate-RS",
    "ASYNC-Shared-RS",
];
const ADDED: [&str; 4] = ["SYNC-Separate-CMS", "SYNC-Shared-CMS", "ASYNC-Separate-CMS", "ASYNC-Shared-CMS"];

pub(crate) static TABLE_3: Figure = Figure {
    paper: &PAPER,
    name: "table-3",
    title: "RSS: separate and shared sketches",
    section: "Section 4.5.1, Table 3",
    shows: "Drop rate (PDR) and processing time (PPT) of the three sketches, each core its own or one for all, where each core has a receive queue.",
    here: HERE,
    said: &[
        PaperClaim { what: "RSS-Separate-SHT", value: "PDR 16.6 %, PPT 38.0 ns", place: "Table 3" },
        PaperClaim { what: "RSS-Shared-SHT", value: "PDR 20.2 %, PPT 49.5 ns", place: "Table 3" },
        PaperClaim { what: "RSS-Separate-CMS", value: "PDR 38.6 %, PPT 82.9 ns", place: "Table 3" },
        PaperClaim { what: "RSS-Shared-CMS", value: "PDR 94.4 %, PPT 1480 ns", place: "Table 3" },
        PaperClaim { what: "RSS-Separate-RS", value: "PDR 96.1 %, PPT 2140 ns", place: "Table 3" },
        PaperClaim { what: "RSS-Shared-RS", value: "PDR 99.1 %, PPT 9150 ns", place: "Table 3" },
        PaperClaim {
            what: "separate instead of shared CMS",
            value: "17.8 times as fast",
            place: "Section 4.5.1",
        },
    ],
    points: |_, scale| vec![compared(scale).only(|row| RSS.contains(&row.series.as_str()))],
    panels: |rows, _| {
        let [dropped, processing] = both(rows, &RSS);
        vec![dropped, processing.with_guides([Guide::below("separate CMS 17.8 times as fast as shared")])]
    },
    judge: |rows, _| conclude(SEPARATE_IS_BETTER, separate_is_better(rows)),
};

pub(crate) static TABLE_4: Figure = Figure {
    paper: &PAPER,
    name: "table-4",
    title: "SYNC and ASYNC: separate and shared sketches",
    section: "Section 4.5.2, Table 4",
    shows: "The same where one core receives and hands packets to the others, of the Simple Hash Table and the Reversible sketch.",
    here: HERE,
    said: &[
        PaperClaim { what: "SYNC-Separate-SHT", value: "PDR 80.6 %, PPT 79.0 ns", place: "Table 4" },
        PaperClaim { what: "SYNC-Shared-SHT", value: "PDR 80.4 %, PPT 104 ns", place: "Table 4" },
        PaperClaim { what: "ASYNC-Separate-SHT", value: "PDR 80.3 %, PPT 66.6 ns", place: "Table 4" },
        PaperClaim { what: "ASYNC-Shared-SHT", value: "PDR 80.2 %, PPT 97.2 ns", place: "Table 4" },
        PaperClaim { what: "SYNC-Separate-RS", value: "PDR 99.3 %, PPT 7830 ns", place: "Table 4" },
        PaperClaim { what: "SYNC-Shared-RS", value: "PDR 99.2 %, PPT 7700 ns", place: "Table 4" },
        PaperClaim { what: "ASYNC-Separate-RS", value: "PDR 99.3 %, PPT 7190 ns", place: "Table 4" },
        PaperClaim { what: "ASYNC-Shared-RS", value: "PDR 99.2 %, PPT 8540 ns", place: "Table 4" },
    ],
    points: |_, scale| vec![compared(scale).only(|row| NONE.contains(&row.series.as_str()))],
    panels: |rows, _| both(rows, &NONE).into(),
    judge: |rows, machine| conclude(STATE_IS_LITTLE, state_is_little(rows, machine)),
};

pub(crate) static FIGURE_12: Figure = Figure {
    paper: &PAPER,
    name: "figure-12",
    title: "drop rate of all designs",
    section: "Section 4.6, Figure 12",
    shows: "The drop rate of all fourteen designs: which parallel design and which sketch to choose.",
    here: HERE,
    said: &[],
    points,
    panels: |rows, _| vec![bars(rows, "Dropped", percent("drop rate"), &all(), DROP, Some(PAPER_DROP))],
    judge: |rows, _| conclude(LEAST_DROPPED, least(rows, DROP, "%", SAME)),
};

pub(crate) static FIGURE_13: Figure = Figure {
    paper: &PAPER,
    name: "figure-13",
    title: "processing time of all designs",
    section: "Section 4.6, Figure 13",
    shows: "The time to update the sketch with a packet, of all fourteen designs.",
    here: HERE,
    said: &[PaperClaim {
        what: "ASYNC instead of SYNC",
        value: "processing faster by up to 8 %",
        place: "Section 4.6.2",
    }],
    points,
    panels: |rows, _| {
        vec![bars(rows, "Processing", nanoseconds("processing"), &all(), PROCESSING, Some(PAPER_PROCESSING))]
    },
    judge: |rows, _| conclude(LEAST_PROCESSING, least(rows, PROCESSING, "ns", 0.0)),
};

pub(crate) static FIGURE_14: Figure = Figure {
    paper: &PAPER,
    name: "figure-14",
    title: "delay of a packet in all designs",
    section: "Section 4.6, Figure 14",
    shows: "The delay of a packet, of all fourteen designs: receiving, processing and giving its buffer back.",
    here: HERE_PARTS,
    said: &[],
    points,
    panels: |rows, _| {
        let names = all();
        let whole = bars(rows, "Delay", nanoseconds("delay"), &names, DELAY, None);
        let part = |(name, value): (&str, &str)| {
            let mut part = bars(rows, name, nanoseconds("time"), &names, value, None).curves;
            part.iter_mut().for_each(|curve| name.clone_into(&mut curve.name));
            part
        };
        let parts = PARTS.into_iter().flat_map(part).collect();
        vec![whole.clone(), Panel { title: "Its parts".to_owned(), curves: parts, ..whole }]
    },
    judge: |rows, _| conclude(LEAST_DELAY, least(rows, DELAY, "ns", 0.0)),
};

const SEPARATE_IS_BETTER: &str =
    "with RSS separate sketches always lose less and are updated faster than a shared one";
const STATE_IS_LITTLE: &str = "without RSS it changes the drop rate by less than 1 % whether sketches are separate or shared, and separate ones are updated faster (but for SYNC with the Reversible sketch)";
const LEAST_DROPPED: &str =
    "RSS with separate sketches loses least, and the Simple Hash Table less than the other sketches";
const LEAST_PROCESSING: &str =
    "the Simple Hash Table is updated fastest in every design, and with RSS fastest where it is separate";
const LEAST_DELAY: &str =
    "RSS with separate sketches delays packets least, and the Simple Hash Table less than the other sketches";

fn points(_: &MachineProfile, scale: Scale) -> Vec<StudyPoint> {
    vec![compared(scale)]
}

/// All of them are measured in turn, whichever figure asks first.
fn compared(scale: Scale) -> StudyPoint {
    // Eighteen designs.
    let effort = Effort { rounds: scale.pick(3, 7), ..effort(scale) };
    let effort_text = effort_text(&effort);
    let key = format!("wu designs x-y-z cores={CORES} {effort_text}");
    StudyPoint::new(key, move || measured(&wu_designs(preset()), &effort, |_, row| row))
}

fn all() -> Vec<&'static str> {
    [&RSS[..], &NONE, &ADDED].concat()
}

/// The parts of a delay: what the paper stacks, and what Edison does besides.
const PARTS: [(&str, &str); 5] = [
    ("receiving", "receive_ns"),
    ("processing", PROCESSING),
    ("freeing", "free_ns"),
    ("parsing", "parse_ns"),
    ("handing over", "hand_over_ns"),
];

fn both(rows: &FigureRows, names: &[&str]) -> [Panel; 2] {
    [
        bars(rows, "Dropped (PDR)", percent("drop rate"), names, DROP, Some(PAPER_DROP)),
        bars(rows, "Processing (PPT)", nanoseconds("processing"), names, PROCESSING, Some(PAPER_PROCESSING)),
    ]
}

/// The values of separate sketches and of a shared one.
fn of_states(rows: &FigureRows, design: &str, sketch: &str, name: &str) -> Result<[RoundedValue; 2], String> {
    let [separate, shared] = STATES.map(|state| value(rows, &format!("{design}-{state}-{sketch}"), name));
    Ok([separate?, shared?])
}

fn states_text(what: &str, [separate, shared]: [RoundedValue; 2], unit: &str) -> String {
    format!("{what} separate {}, shared {}", separate.text(unit), shared.text(unit))
}

fn separate_is_better(rows: &FigureRows) -> Result<Vec<Claim>, String> {
    let mut claims = Vec::new();
    for sketch in SKETCHES {
        let drops @ [drop, shared_drop] = of_states(rows, "RSS", sketch, DROP)?;
        let times @ [ns, shared_ns] = of_states(rows, "RSS", sketch, PROCESSING)?;
        if rows.rows_of_series(&format!("RSS-Shared-{sketch}")).any(|row| row.param("threads") < 2.0) {
            return Err("one core shares its sketch with no other; it takes two".to_owned());
        }
        let lost = states_text(&format!("{sketch} drops"), drops, "%");
        claims.push(Claim::new(drop.is_at_most(shared_drop, SAME), lost));
        let updated = states_text(&format!("{sketch} takes"), times, "ns");
        claims.push(Claim::new(ns.is_below(shared_ns), updated));
    }
    Ok(claims)
}

fn state_is_little(rows: &FigureRows, machine: &MachineProfile) -> Result<Vec<Claim>, String> {
    let mut claims = Vec::new();
    for design in ["SYNC", "ASYNC"] {
        for sketch in ["SHT", "RS"] {
            let drops @ [drop, shared_drop] = of_states(rows, design, sketch, DROP)?;
            let lost = states_text(&format!("{design} with {sketch} drops"), drops, "%");
            claims.push(Claim::new(drop.is_within(shared_drop, SAME), lost));
            if (design, sketch) != ("SYNC", "RS") {
                let times @ [ns, shared_ns] = of_states(rows, design, sketch, PROCESSING)?;
                let updated = states_text(&format!("{design} with {sketch} takes"), times, "ns");
                claims.push(Claim::new(ns.is_below(shared_ns), updated));
            }
        }
    }
    let is_alone = |row: &FigureRow| NONE.contains(&row.series.as_str()) && row.param("threads") < 3.0;
    if rows.0.iter().any(is_alone) {
        let lacks = machine.lacks_cores(3).unwrap_or_else(|| "it was measured with fewer cores".to_owned());
        return Err(format!("one worker shares its sketch with no other: {lacks}"));
    }
    Ok(claims)
}

/// Claims that RSS with separate sketches has the least of a value (but for `same`), and in every design the Simple Hash Table less than the
/// paper's other sketches.
fn least(rows: &FigureRows, name: &str, unit: &str, same: f64) -> Result<Vec<Claim>, String> {
    let of = |design: &str, state: &str, sketch: &str| {
        let series = format!("{design}-{state}-{sketch}");
        Ok::<_, String>((value(rows, &series, name)?, series))
    };
    let claim = |(less, its): &(RoundedValue, String), (more, other): &(RoundedValue, String)| {
        let text = format!("{its} has {}, {other} {}", less.text(unit), more.text(unit));
        Claim::new(less.is_at_most(*more, same), text)
    };
    let best = of("RSS", "Separate", "SHT")?;
    let mut claims = Vec::new();
    for design in ["RSS", "SYNC", "ASYNC"] {
        // Table 4 leaves Count-Min out.
        let others: &[&str] = if design == "RSS" { &["CMS", "RS"] } else { &["RS"] };
        for state in STATES {
            let table = of(design, state, "SHT")?;
            if table.1 != best.1 {
                claims.push(claim(&best, &table));
            }
            for sketch in others {
                let other = of(design, state, sketch)?;
                claims.push(claim(&table, &other));
                let with_rss = of("RSS", "Separate", sketch)?;
                if name != PROCESSING && with_rss.1 != other.1 {
                    claims.push(claim(&with_rss, &other));
                }
            }
        }
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding::made::{changed, row, spread_out};

    /// The paper's tables as if they had been measured; delays and Count-Min of Table 4 as one may expect them.
    fn papers(workers: usize) -> FigureRows {
        let rows = [
            ("RSS-Separate-SHT", 16.6, 38.0),
            ("RSS-Shared-SHT", 20.2, 49.5),
            ("RSS-Separate-CMS", 38.6, 82.9),
            ("RSS-Shared-CMS", 94.4, 1480.0),
            ("RSS-Separate-RS", 96.1, 2140.0),
            ("RSS-Shared-RS", 99.1, 9150.0),
            ("SYNC-Separate-SHT", 80.6, 79.0),
            ("SYNC-Shared-SHT", 80.4, 104.0),
            ("ASYNC-Separate-SHT", 80.3, 66.6),
            ("ASYNC-Shared-SHT", 80.2, 97.2),
            ("SYNC-Separate-RS", 99.3, 7830.0),
            ("SYNC-Shared-RS", 99.2, 7700.0),
            ("ASYNC-Separate-RS", 99.3, 7190.0),
            ("ASYNC-Shared-RS", 99.2, 8540.0),
            ("SYNC-Separate-CMS", 82.0, 100.0),
            ("SYNC-Shared-CMS", 95.0, 1500.0),
            ("ASYNC-Separate-CMS", 82.0, 90.0),
            ("ASYNC-Shared-CMS", 95.0, 1500.0),
        ];
        let of = |&(series, drop, ns): &(&str, f64, f64)| {
            row(series, &[(DROP, drop), (PROCESSING, ns), (DELAY, 2.0 * ns)]).with("threads", 1 + workers)
        };
        FigureRows(rows.iter().map(of).collect())
    }

    #[test]
    fn the_papers_own_values_hold() {
        let machine = MachineProfile { cores: 6, ..MachineProfile::here() };
        for figure in [&TABLE_3, &TABLE_4, &FIGURE_12, &FIGURE_13, &FIGURE_14] {
            let verdict = (figure.judge)(&papers(5), &machine);
            assert_eq!(verdict.holds, Some(true), "{}: {verdict}", figure.name);
            assert_eq!((figure.judge)(&FigureRows::default(), &machine).holds, None, "{}", figure.name);
        }
        let names: Vec<_> = wu_designs(preset()).into_iter().map(|point| point.variant).collect();
        assert!(all().iter().all(|name| names.iter().any(|known| known == name)));
    }

    #[test]
    fn other_values_do_not() {
        let machine = MachineProfile { cores: 6, ..MachineProfile::here() };
        let judged = |figure: &Figure, rows: &FigureRows| (figure.judge)(rows, &machine).holds;
        assert_eq!(judged(&TABLE_3, &changed(&papers(5), "RSS-Shared-SHT", DROP, 10.0)), Some(false));
        assert_eq!(judged(&TABLE_3, &changed(&papers(5), "RSS-Shared-RS", PROCESSING, 10.0)), Some(false));
        assert_eq!(judged(&TABLE_4, &changed(&papers(5), "SYNC-Shared-SHT", DROP, 90.0)), Some(false));
        assert_eq!(judged(&TABLE_4, &changed(&papers(5), "ASYNC-Shared-SHT", PROCESSING, 10.0)), Some(false));
        assert_eq!(judged(&FIGURE_12, &changed(&papers(5), "ASYNC-Separate-RS", DROP, 10.0)), Some(false));
        // The paper leaves it out.
        assert_eq!(judged(&FIGURE_12, &changed(&papers(5), "ASYNC-Separate-CMS", DROP, 10.0)), Some(true));
        let open = spread_out(&papers(5), "RSS-Shared-SHT", PROCESSING);
        assert_eq!((judged(&TABLE_3, &open), judged(&FIGURE_13, &open)), (None, None));
        assert_eq!(
            judged(&FIGURE_13, &changed(&papers(5), "SYNC-Separate-RS", PROCESSING, 10.0)),
            Some(false)
        );
        assert_eq!(judged(&FIGURE_14, &changed(&papers(5), "SYNC-Separate-SHT", DELAY, 10.0)), Some(false));
    }

    #[test]
    fn who_shares_with_nobody_decides_nothing() {
        let machine = MachineProfile { cores: 2, ..MachineProfile::here() };
        let verdict = (TABLE_4.judge)(&papers(1), &machine);
        assert_eq!(verdict.holds, None);
        assert!(verdict.why.contains("3 cores"), "{}", verdict.why);
        assert_eq!((TABLE_3.judge)(&papers(0), &machine).holds, None);
    }
}
