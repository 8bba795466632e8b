//! Draws the model as it is looked at.

use crate::compact;
use crate::model::ViewModel;
use crate::now;
use crate::row::{Tone, ViewLine};
use crate::ui::{Ui, View};
use notation::printable;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use terminal::cut;

const HELP: [&str; 18] = [
    "Keys",
    "",
    "  1, 2, 3        the views Now, Chains and Nodes",
    "  Tab            the next view, Shift-Tab the one before",
    "  j, k, arrows   choose a table or a line; go down and up in what is shown alone",
    "  Enter          show what is chosen alone: an answer, a query, a story, a node",
    "  Esc            go back; without that, remove the filter",
    "  PgUp, PgDn     ten lines; Home or g, End or G: the first and the last",
    "  /              type a filter: lines with this text are shown; Enter ends it",
    "  Ctrl-L         draw the screen again",
    "  q, Ctrl-C      quit; a live run ends, and its report follows",
    "",
    "Words",
    "",
    "  unknown        not counted there; never 0",
    "  lost before    lost before the measurement",
    "",
    "Any key closes this.",
];

/// Characters of the filter that the last line shows, so that keys have room there.
const FILTER: usize = 24;

/// Draws into a buffer of any size. What is beyond it is left out.
pub fn draw(ui: &mut Ui, model: &ViewModel, buffer: &mut Buffer) {
    let (columns, lines) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    buffer.reset();
    let mut sheet = Sheet { buffer, is_coloured: ui.is_coloured };
    let (least_columns, least_lines) = compact::LEAST;
    if columns < least_columns || lines < least_lines {
        let rows = compact::rows(model);
        rows.iter().take(lines).enumerate().for_each(|(at, row)| sheet.row(at, row, columns, false));
        return;
    }
    sheet.row(0, &ViewLine::new(Tone::Strong, tabs(ui, model, columns)), columns, false);
    sheet.row(lines - 1, &footer(ui, model), columns, false);
    let room = lines - 2;
    let (rows, chosen) = body(ui, model, columns, room);
    for (at, row) in rows.iter().take(room).enumerate() {
        sheet.row(at + 1, row, columns, Some(at) == chosen);
    }
}

/// The lines between the first and the last one, and which is chosen.
fn body(ui: &mut Ui, model: &ViewModel, columns: usize, room: usize) -> (Vec<ViewLine>, Option<usize>) {
    if ui.has_help {
        return (HELP.map(ViewLine::plain).to_vec(), None);
    }
    if let Some(rows) = ui.detail_rows(model, columns) {
        let most = rows.len().saturating_sub(room);
        let above = ui.detail.as_mut().map_or(0, |(_, above)| {
            *above = (*above).min(most);
            *above
        });
        return (rows.into_iter().skip(above).collect(), None);
    }
    let chosen = ui.chosen_at(model);
    if ui.view == View::Now {
        let mut rows = now::head(model, columns);
        let left = room.saturating_sub(rows.len());
        rows.extend(now::tables(model, ui.answers(model).skip(chosen.unwrap_or(0)), columns, left));
        return (rows, None);
    }
    let mut rows = now::away(model);
    rows.extend(ui.rows(model, columns));
    let places: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].target.is_some()).collect();
    let at = chosen.and_then(|chosen| places.get(chosen).copied());
    // What is chosen stays on the screen, with the headings above the first one and what stands behind the last one.
    let above = match at {
        Some(at) if places.len() > 1 && at == places[places.len() - 1] => {
            at.min(rows.len().saturating_sub(room))
        }
        Some(at) => (at + 1).saturating_sub(room),
        None => 0,
    };
    (rows.into_iter().skip(above).collect(), at.map(|at| at - above))
}

/// The views, the shown one in brackets, and the time.
fn tabs(ui: &Ui, model: &ViewModel, columns: usize) -> String {
    let name = |(number, view): (usize, &View)| match *view == ui.view {
        true => format!("[{} {}]", number + 1, view.name()),
        false => format!(" {} {} ", number + 1, view.name()),
    };
    let tabs: String = View::ALL.iter().enumerate().map(name).collect();
    let time = match model.status.now_ns {
        0 => String::new(),
        ns => terminal::moment(ns / 1_000_000_000 * 1_000_000_000),
    };
    let space = columns.saturating_sub(tabs.chars().count() + time.chars().count()).max(1);
    format!("{tabs}{}{time}", " ".repeat(space))
}

/// Returns the last line: what is typed; else the filter with what keys do, the latest note, or what keys do.
fn footer(ui: &Ui, model: &ViewModel) -> ViewLine {
    if ui.is_typing {
        return ViewLine::new(Tone::Strong, format!("/{}_", ui.filter));
    }
    if let Some(note) = model.status.notes.last().filter(|_| ui.filter.is_empty()) {
        return ViewLine::new(Tone::Warning, format!("note      {}", note.text));
    }
    let filter = if ui.filter.is_empty() {
        String::new()
    } else {
        format!("only lines with '{}'; ", cut(&ui.filter, FILTER))
    };
    if !ui.has_keys {
        return ViewLine::plain(
            "Ctrl-C quits; standard input is no terminal, so that no other key does anything",
        );
    }
    let enter = if ui.detail.is_some() { "Esc back" } else { "Enter details  / filter" };
    // What matters most stands first: the end is cut where the line is short.
    ViewLine::plain(format!("{filter}q quit  ? help  {enter}  j k choose  1-3 Tab views"))
}

/// The buffer that is drawn on.
struct Sheet<'a> {
    buffer: &'a mut Buffer,
    is_coloured: bool,
}

impl Sheet<'_> {
    /// Writes a line and clears the rest of it.
    fn row(&mut self, at: usize, row: &ViewLine, columns: usize, is_chosen: bool) {
        let Ok(line) = u16::try_from(at) else { return };
        let area = self.buffer.area;
        if line >= area.height {
            return;
        }
        let style = match is_chosen {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => row.tone.style(self.is_coloured),
        };
        let mark = if is_chosen { ">" } else { "" };
        // The mark takes the place of the indent.
        let text = format!("{mark}{}", &row.text[usize::from(is_chosen && row.text.starts_with(' '))..]);
        self.buffer.set_stringn(area.x, area.y + line, cut(&printable(&text), columns), columns, style);
    }
}
