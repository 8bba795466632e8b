//! Table II: the best parameters.

use super::PAPER;
use super::aggregation::{judge_tables, table_panels, tables};
use super::capturing::{batch_panels, batches, judge_batches, judge_models, model_panels, models};
use crate::deciding::conclude;
use crate::figure::{Figure, PaperClaim};
use crate::row::FigureRows;
use crate::verdict::FindingResult;

const FINDING: &str = "batches of 256 packets, the pipeline and the double hash are best";

pub(crate) static TABLE_2: Figure = Figure {
    paper: &PAPER,
    name: "table-2",
    title: "the best parameters",
    section: "Section V, Table II",
    shows: "The parameters with which least is lost, each found with all others unchanged.",
    here: "Of those that can be told apart here, whether the paper's choice is the best: the measurements of Figure 5(a), Table III and Figure 7(a). Receive queues, mempools and the scheduler are not judged; their figures say why.",
    said: &[
        PaperClaim { what: "flow table", value: "double hash", place: "Table II" },
        PaperClaim { what: "RX queue size", value: "4096 packets", place: "Table II" },
        PaperClaim { what: "batch size", value: "256 packets", place: "Table II" },
        PaperClaim { what: "RSS queues", value: "2, a mempool for each", place: "Table II" },
        PaperClaim { what: "cores", value: "4 (no hyper-threading)", place: "Table II" },
        PaperClaim { what: "programming model", value: "pipeline with pthread", place: "Table II" },
        PaperClaim { what: "scheduler", value: "SCHED_OTHER", place: "Table II" },
    ],
    points: |machine, scale| vec![batches(scale), models(machine, scale), tables(scale)],
    panels: |rows, machine| {
        let mut panels = batch_panels(rows, machine);
        panels.extend(model_panels(rows, machine));
        // Times of lists and hashes at the paper's number of flows.
        panels.extend(table_panels(rows, machine).into_iter().next());
        panels
    },
    judge: |rows, _| judge(rows),
};

fn judge(rows: &FigureRows) -> FindingResult {
    let parameters = || {
        Ok::<_, String>([
            ("batch", judge_batches(rows)?),
            ("programming model", judge_models(rows)?),
            ("flow table", judge_tables(rows)?),
        ])
    };
    let parameters = match parameters() {
        Ok(parameters) => parameters,
        Err(why) => return FindingResult::open(FINDING, why),
    };
    let verdicts = parameters.map(|(name, claims)| (name, conclude(name, Ok(claims)).holds));
    let of = |wanted: Option<bool>| {
        let names: Vec<_> =
            verdicts.iter().filter(|(_, holds)| *holds == wanted).map(|(name, _)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let is_any = |wanted| verdicts.iter().any(|(_, holds)| *holds == wanted);
    let holds = match () {
        () if is_any(Some(false)) => Some(false),
        () if is_any(None) => None,
        () => Some(true),
    };
    let why = format!(
        "the paper's choice is the best here of: {}; it is not of: {}; rounds overlap of: {}",
        of(Some(true)),
        of(Some(false)),
        of(None)
    );
    FindingResult::of_rounds(FINDING, holds, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_decides_nothing() {
        assert_eq!(judge(&FigureRows::default()).holds, None);
    }
}
