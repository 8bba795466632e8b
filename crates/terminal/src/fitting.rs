//! Tables that share the lines of a screen.

use crate::answer;
use model::Answer;
use model::Totals;

/// The least rows of a table that is worth its heading.
const LEAST_ROWS: usize = 3;
/// Lines of a table that are no rows: a blank one, the heading, the names of its columns.
const TABLE_LINES: usize = 3;

/// Tables of the answers that fit into `room` lines, the first ones before the others, each table after a blank line; a text
/// follows its heading. Names are
/// shortened so that a line has at most `columns` characters where that suffices. `totals` finds the whole that rows of an answer are
/// shares of.
pub fn fitting<'a>(
    answers: impl IntoIterator<Item = (&'a Answer, String)>,
    totals: impl Fn(&Answer) -> Option<Totals>,
    columns: usize,
    room: usize,
) -> Vec<String> {
    let most = (room / (TABLE_LINES + LEAST_ROWS)).max(1);
    let answers: Vec<(&Answer, String)> = answers.into_iter().take(most).collect();
    let count = answers.len().max(1);
    let (each, mut over) = (room / count, room % count);
    let mut lines = Vec::new();
    for (answer, suffix) in answers {
        let rows = (each + std::mem::take(&mut over)).saturating_sub(TABLE_LINES);
        let mut table = answer::brief(answer, totals(answer).as_ref(), rows, columns);
        table.iter_mut().take(1).for_each(|heading| heading.push_str(&suffix));
        // A table that needs fewer lines leaves them to the next one.
        over += (rows + TABLE_LINES).saturating_sub(table.len() + 1);
        lines.push(String::new());
        lines.extend(table);
    }
    lines.truncate(room);
    lines
}
