//! Answers of intervals as rows of one table, as they come.

use crate::answer::cell_texts;
use crate::time::moment;
use model::Answer;

/// The tables that have begun, one for each query.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The query whose rows were the last, and the widths of the columns.
    last: Option<(String, Vec<usize>)>,
    /// The levels of a store that the last rows were read from.
    levels: Vec<String>,
}

/// The least width of a column: figures grow.
const LEAST: usize = 11;

impl Series {
    /// The rows of some answers, each with the time that its window begins; headings before the first and where the query changes.
    pub fn rows(&mut self, answers: &[Answer]) -> String {
        let mut text = String::new();
        for answer in answers {
            let (headings, rows) = cell_texts(answer);
            if self.last.as_ref().is_none_or(|(query, _)| *query != answer.query) {
                self.begin(answer, &headings, &rows, &mut text);
            }
            let Some((_, widths)) = &self.last else { continue };
            let start = answer.window.map_or_else(String::new, |window| moment(window.start_ns));
            if let Some(empty) = answer.empty {
                text.push_str(&format!("  {start}  {empty} empty\n"));
            }
            for row in &rows {
                text.push_str(&line(&start, row, widths));
            }
            let note = answer.watched.map(|_| "cut").into_iter().chain(answer.reason.as_deref());
            let mut note: Vec<_> = note.map(str::to_owned).collect();
            if !answer.levels.is_empty() && answer.levels != self.levels {
                note.push(format!("from {}", answer.levels.join(", ")));
                self.levels.clone_from(&answer.levels);
            }
            if !note.is_empty() {
                text.push_str(&format!("  {:width$}  {}\n", "", note.join(": "), width = start.len()));
            }
        }
        text
    }

    fn begin(&mut self, answer: &Answer, headings: &[String], rows: &[Vec<String>], text: &mut String) {
        let widest = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = headings
            .iter()
            .enumerate()
            .map(|(at, heading)| heading.chars().count().max(widest(at)).max(LEAST))
            .collect();
        let start = answer.window.map_or_else(String::new, |window| moment(window.start_ns));
        let title = format!("{:width$}", "from", width = start.chars().count());
        text.push_str(&line(&title, headings, &widths));
        self.last = Some((answer.query.clone(), widths));
    }
}

fn line(start: &str, cells: &[String], widths: &[usize]) -> String {
    let cells: String = cells.iter().zip(widths).map(|(cell, width)| format!("  {cell:>width$}")).collect();
    format!("  {start}{cells}\n")
}
