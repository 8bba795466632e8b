//! The list of all figures, and finding them by name.

use crate::figure::{Figure, Paper};
use crate::{alipourfard, edison, flowatcher, makwana, wu};
use serde_json::{Value, json};

/// The papers, in the order of the page.
pub const PAPERS: &[&Paper] =
    &[&wu::PAPER, &flowatcher::PAPER, &alipourfard::PAPER, &makwana::PAPER, &edison::PAPER];

/// The figures of all papers, in the order of the page.
pub const FIGURES: &[&Figure] = &[
    &wu::figure_7::FIGURE,
    &wu::figure_8::FIGURE,
    &wu::cores::FIGURE_9,
    &wu::cores::FIGURE_10,
    &wu::figure_11::FIGURE,
    &wu::designs::TABLE_3,
    &wu::designs::TABLE_4,
    &wu::designs::FIGURE_12,
    &wu::designs::FIGURE_13,
    &wu::designs::FIGURE_14,
    &flowatcher::parameters::TABLE_2,
    &flowatcher::capturing::FIGURE_5A,
    &flowatcher::capturing::FIGURE_5B,
    &flowatcher::capturing::FIGURE_5C,
    &flowatcher::capturing::TABLE_3,
    &flowatcher::hashing::FIGURE_6A,
    &flowatcher::hashing::FIGURE_6B,
    &flowatcher::hashing::FIGURE_6C,
    &flowatcher::aggregation::FIGURE_7A,
    &flowatcher::aggregation::FIGURE_7B,
    &flowatcher::analytics::FIGURE_7C,
    &flowatcher::precision::FIGURE_8,
    &flowatcher::precision::TABLE_4,
    &flowatcher::echo::FIGURE,
    &flowatcher::device::FIGURE_9B,
    &alipourfard::figure_1::FIGURE,
    &alipourfard::figure_2::FIGURE,
    &alipourfard::table_2::FIGURE,
    &alipourfard::table_3::FIGURE,
    &alipourfard::figure_3::FIGURE,
    &alipourfard::figure_4::FIGURE,
    &alipourfard::figure_5::FIGURE,
    &makwana::FIGURE_A,
    &makwana::FIGURE_B,
    &edison::figure_5::FIGURE,
];

/// The figures of a paper, or one of them; all without a name.
///
/// # Errors
/// An unknown name, and the nearest one.
pub fn find(paper: Option<&str>, figure: Option<&str>) -> Result<Vec<&'static Figure>, String> {
    let Some(paper) = paper else { return Ok(FIGURES.to_vec()) };
    let papers: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
    if !papers.contains(&paper) {
        return Err(unknown("paper", paper, &papers));
    }
    let of_paper = || FIGURES.iter().copied().filter(|figure| figure.paper.name == paper);
    let Some(name) = figure else { return Ok(of_paper().collect()) };
    match of_paper().find(|figure| figure.name == name) {
        Some(figure) => Ok(vec![figure]),
        None => Err(unknown(
            &format!("table or figure of {paper}"),
            name,
            &of_paper().map(|figure| figure.name).collect::<Vec<_>>(),
        )),
    }
}

fn unknown(what: &str, name: &str, known: &[&'static str]) -> String {
    let nearest = notation::nearest(name, known.iter().copied());
    let hint = nearest.map_or(String::new(), |nearest| format!(": did you mean '{nearest}'?"));
    format!("no {what} '{name}'{hint}; there are {}", known.join(", "))
}

/// The command that measures a figure.
pub(crate) fn command(figure: &Figure) -> String {
    format!("edison-lab study {} {} --out study", figure.paper.name, figure.name)
}

/// Papers and figures, each with the command for it.
pub fn list() -> String {
    let mut text = String::new();
    for paper in PAPERS {
        text.push_str(&format!("{}: {}\n", paper.name, paper.cite));
        for figure in FIGURES.iter().filter(|figure| figure.paper.name == paper.name) {
            text.push_str(&format!("  {:<52} {}\n", command(figure), figure.title));
        }
    }
    text
}

/// Returns papers and figures, each with the command for it, as JSON.
pub fn list_json() -> Value {
    let one = |figure: &&Figure| {
        json!({
            "paper": figure.paper.name,
            "figure": figure.name,
            "title": figure.title,
            "section": figure.section,
            "command": command(figure),
        })
    };
    Value::Array(FIGURES.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineProfile;
    use crate::panel::Panel;
    use crate::point::Scale;
    use crate::row::FigureRows;
    use std::collections::HashSet;

    #[test]
    fn every_figure_is_complete_and_has_a_name_of_its_own() {
        let mut ids = HashSet::new();
        let machine = MachineProfile { cores: 1, ..MachineProfile::here() };
        for figure in FIGURES {
            assert!(ids.insert(figure.id()), "{}", figure.id());
            assert!(PAPERS.iter().any(|paper| paper.name == figure.paper.name));
            assert!(!figure.shows.is_empty() && !figure.here.is_empty() && !figure.section.is_empty());
            let name = figure.name.split_once('-').expect("table-3 or figure-7").0;
            assert!(["table", "figure"].contains(&name), "{name}");
            for scale in [Scale::Quick, Scale::Full] {
                let points = (figure.points)(&machine, scale);
                let keys: HashSet<_> = points.iter().map(|point| &point.key).collect();
                assert_eq!(keys.len(), points.len(), "{}: keys twice", figure.id());
                assert!(!points.is_empty());
            }
            // Nothing measured: nothing drawn that could not be, and nothing decided.
            let verdict = (figure.judge)(&FigureRows::default(), &machine);
            assert_eq!(verdict.holds, None, "{}", figure.id());
            assert!(!verdict.why.is_empty());
            let panels = (figure.panels)(&FigureRows::default(), &machine);
            // Values of these are among the rows of their benches.
            let is_in_rows = ["wu-table-4", "wu-figure-12", "wu-figure-13"].contains(&figure.id().as_str());
            let is_marked = is_in_rows || panels.iter().any(Panel::has_paper);
            assert!(figure.said.is_empty() || panels.is_empty() || is_marked, "{}", figure.id());
        }
    }

    #[test]
    fn names_are_found_and_misspelt_ones_are_told() {
        assert_eq!(find(None, None).expect("all").len(), FIGURES.len());
        assert!(
            find(Some("makwana"), None).expect("some").iter().all(|figure| figure.paper.name == "makwana")
        );
        let told = find(Some("alipourfard"), Some("figur-1")).expect_err("misspelt");
        assert!(
            told.starts_with("no table or figure of alipourfard 'figur-1': did you mean 'figure-1'?"),
            "{told}"
        );
        assert!(
            find(Some("nobody"), None).expect_err("unknown").starts_with("no paper 'nobody'; there are ")
        );
        assert_eq!(list().lines().count(), PAPERS.len() + FIGURES.len());
    }
}
