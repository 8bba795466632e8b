//! Table II: the best parameters.

use super::PAPER;
use super::aggregation::{judge_tables, tables};
use super::capturing::{batches, judge_batches, judge_models, models};
use crate::deciding::verdict;
use crate::figure::{Figure, PaperClaim};
use crate::row::FigureRows;

const FINDING: &str = "a double hash, batches of 256 packets and the pipeline lose least";

pub(crate) static TABLE_2: Figure = Figure {
    paper: &PAPER,
    name: "table-2",
    title: "the best parameters",
    section: "Section V, Table II",
    shows: "The parameters with which least is lost, each found with all others unchanged.",
    here: "Of those that can be told apart here, whether the paper's choice is the best: the measurements of Figure 5(a), Table III and Figure 7(a). Receive queues, mempools and the scheduler are said in their places.",
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
    panels: |_| Vec::new(),
    judge: |rows, _| verdict(FINDING, judge(rows)),
};

fn judge(rows: &FigureRows) -> Result<(bool, String), String> {
    let parameters = [
        ("batch", judge_batches(rows)?.0),
        ("programming model", judge_models(rows)?.0),
        ("flow table", judge_tables(rows)?.0),
    ];
    let of = |is_best: bool| {
        let names: Vec<_> =
            parameters.iter().filter(|(_, best)| *best == is_best).map(|(name, _)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let why = format!("the paper's choice is the best here of: {}; it is not of: {}", of(true), of(false));
    Ok((parameters.iter().all(|(_, is_best)| *is_best), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_decides_nothing() {
        assert!(judge(&FigureRows::default()).is_err());
    }
}
