//! The view of a live source: as many lines and columns as the terminal has.

use super::answer;
use super::head;
use super::layout::HEAD;
use super::table::cut;
use super::time::{how_long, moment};
use super::totals::Totals;
use crate::{Answer, Window};
use notation::{grouped, scaled};
use std::time::Duration;

/// The least rows of a table that is worth its heading.
const LEAST_ROWS: usize = 3;
/// Lines of a table that are no rows: a blank one, the heading, the names of its columns.
const TABLE_LINES: usize = 3;

/// What is known at any moment, whether or not a window has ended.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// Names of the sources.
    pub sources: Vec<String>,
    /// How long the run has lasted.
    pub elapsed: Duration,
    /// Frames received.
    pub received: u64,
    /// Frames per second of late.
    pub rate: f64,
    /// Flows in the tables.
    pub flows: u64,
    /// What ends the first window.
    pub first_window: FirstWindow,
    /// What the user should know, the latest last.
    pub notes: Vec<String>,
}

/// What ends the first window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstWindow {
    /// It is not known.
    #[default]
    Unknown,
    /// This time, nanoseconds since the epoch.
    At(u64),
    /// This many packets.
    Packets(u64),
}

/// The lines of the view: at most `rows`, each of at most `columns` characters. `window` is the last one that has ended.
pub fn live_view(now: &Now, window: Option<&Window>, columns: usize, rows: usize) -> Vec<String> {
    let note = now.notes.last().map(|note| format!("note      {note}"));
    let rows = rows.saturating_sub(usize::from(note.is_some()));
    let elapsed = format!(", for {} (Ctrl-C ends)", how_long(now.elapsed.as_secs() * 1_000_000_000));
    let source = cut(&head::sources(&now.sources), columns.saturating_sub(elapsed.chars().count()));
    let mut lines = vec![
        source + &elapsed,
        format!(
            "now       {}, {} packets received, {} flows open",
            scaled(now.rate, "pps"),
            grouped(now.received),
            grouped(now.flows)
        ),
    ];
    match window {
        None => lines.push(first_window(now.first_window)),
        Some(window) => {
            lines.extend(super::report::window_head(window));
            let room = rows.saturating_sub(lines.len());
            lines.extend(tables(window, columns, room));
        }
    }
    lines.truncate(rows);
    lines.extend(note);
    lines.into_iter().map(|line| cut(&line, columns)).collect()
}

fn first_window(first: FirstWindow) -> String {
    match first {
        FirstWindow::Unknown => "window    the first one has not ended".to_owned(),
        FirstWindow::At(ns) => format!("window    the first one ends at {}", moment(ns)),
        FirstWindow::Packets(packets) => {
            format!("window    the first one ends after {} packets", grouped(packets))
        }
    }
}

/// Tables of the answers that fit into this many lines, the first ones before the others.
fn tables(window: &Window, columns: usize, room: usize) -> Vec<String> {
    let totals = window.answer("totals").map(Totals::from_answer);
    let is_table = |answer: &&Answer| !HEAD.contains(&answer.query.as_str()) && !answer.rows.is_empty();
    let answers: Vec<&Answer> = window.answers.iter().chain(&window.longer).filter(is_table).collect();
    let count = answers.len().min(room / (TABLE_LINES + LEAST_ROWS)).max(1);
    let (each, mut over) = (room / count, room % count);
    let mut lines = Vec::new();
    for answer in answers.into_iter().take(count) {
        let rows = (each + std::mem::take(&mut over)).saturating_sub(TABLE_LINES);
        let table = answer::brief(answer, totals.as_ref(), rows, columns);
        // A table that needs fewer lines leaves them to the next one.
        over += (rows + TABLE_LINES).saturating_sub(table.len() + 1);
        lines.push(String::new());
        lines.extend(table);
    }
    lines
}
