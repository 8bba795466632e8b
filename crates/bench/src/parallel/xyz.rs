//! The designs that Wu et al. (2016) call X-Y-Z: parallel design, state, sketch. Their Tables 3 and 4, for `edison bench designs`.

use super::fit::{Fitted, fit};
use super::row::Row;
use super::sketches::{Kind, Sketches};
use engine::{Design, Split, State};

/// A design's name, state and sketch, and the paper's share of packets dropped and seconds of an update. The
/// paper has no Count-Min for SYNC and ASYNC, where one flow's packets reach several sketches: rows are added
/// before they answer here.
type Published = (&'static str, State, Kind, Option<[f64; 2]>);

/// Table 3, and Table 4 with Count-Min.
const TABLES: [Published; 18] = {
    use Kind::{CountMin as Cms, Reversible as Rs, SimpleHashTable as Sht};
    use State::{Separate, Shared};
    [
        ("rss", Separate, Sht, Some([1.66e-1, 3.80e-8])),
        ("rss", Shared, Sht, Some([2.02e-1, 4.95e-8])),
        ("rss", Separate, Cms, Some([3.86e-1, 8.29e-8])),
        ("rss", Shared, Cms, Some([9.44e-1, 1.48e-6])),
        ("rss", Separate, Rs, Some([9.61e-1, 2.14e-6])),
        ("rss", Shared, Rs, Some([9.91e-1, 9.15e-6])),
        ("sync", Separate, Sht, Some([8.06e-1, 7.90e-8])),
        ("sync", Shared, Sht, Some([8.04e-1, 1.04e-7])),
        ("async", Separate, Sht, Some([8.03e-1, 6.66e-8])),
        ("async", Shared, Sht, Some([8.02e-1, 9.72e-8])),
        ("sync", Separate, Rs, Some([9.93e-1, 7.83e-6])),
        ("sync", Shared, Rs, Some([9.92e-1, 7.70e-6])),
        ("async", Separate, Rs, Some([9.93e-1, 7.19e-6])),
        ("async", Shared, Rs, Some([9.92e-1, 8.54e-6])),
        ("sync", Separate, Cms, None),
        ("sync", Shared, Cms, None),
        ("async", Separate, Cms, None),
        ("async", Shared, Cms, None),
    ]
};
/// Cores of the paper (section 4.1).
const CORES: usize = 6;

/// All of them, on the cores that there are.
pub(super) fn rows() -> Result<Vec<Row>, String> {
    TABLES.iter().map(row).collect()
}

fn row(&(design, state, kind, paper): &Published) -> Result<Row, String> {
    let queues = if design == "rss" { CORES } else { 1 };
    let mut case: Fitted = fit((design, Some(CORES), queues))?;
    if case.plan.design != Design::Rss {
        // "Portions" of a burst (Algorithms 1 and 2).
        case.plan.split = Split::Position;
    }
    let state_name = match state {
        State::Separate => "Separate",
        State::Shared => "Shared",
    };
    let kind_name = match kind {
        Kind::CountMin => "CMS",
        Kind::Reversible => "RS",
        Kind::SimpleHashTable => "SHT",
    };
    Ok(Row {
        variant: format!("{}-{state_name}-{kind_name}", design.to_uppercase()),
        case,
        sketches: Some(Sketches { kind, state }),
        paper: paper.map(|[dropped, seconds]| [dropped, seconds * 1e9]),
    })
}
