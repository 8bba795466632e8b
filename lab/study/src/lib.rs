//! The papers' tables and figures, each measured on this machine and drawn beside what the paper says: `edison-lab study`.
//!
//! A [`Figure`] names its paper, the points that are measured for it, how they are drawn, and how the paper's finding is
//! judged by them. [`run()`] measures the points that a folder does not have yet, and writes one page, `figures.json`, and
//! a CSV and an SVG file for each figure.
//!
//! ```
//! use study::{FIGURES, find};
//!
//! assert!(!FIGURES.is_empty());
//! assert_eq!(find(Some("alipourfard"), Some("figure-1")).unwrap().len(), 1);
//! assert_eq!(
//!     find(Some("alipourfart"), None).unwrap_err(),
//!     "no paper 'alipourfart': did you mean 'alipourfard'?; there are wu, flowatcher, alipourfard, makwana, edison",
//! );
//! ```

mod alipourfard;
mod axis;
mod beside;
mod csv;
mod deciding;
mod edison;
mod escape;
mod figure;
mod flowatcher;
mod folder;
mod listing;
mod load;
mod machine;
mod makwana;
mod measured;
mod over_wire;
mod page;
mod panel;
mod plot;
mod point;
mod row;
mod run;
mod verdict;
mod wu;

pub use figure::{Figure, Paper, PaperClaim};
pub use listing::{FIGURES, PAPERS, find, list, list_json};
pub use machine::MachineProfile;
pub use panel::{Axis, Curve, Panel, Spot};
pub use point::{Scale, StudyPoint};
pub use row::{FigureRow, FigureRows};
pub use run::{StudyRequest, StudyResult, run};
pub use verdict::{FindingResult, VerdictBasis};
