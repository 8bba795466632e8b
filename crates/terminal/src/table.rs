//! Aligned tables.

use crate::paper::Paper;
use std::fmt::Write;

/// A table: a heading, columns, rows with a cell for each column.
pub(crate) struct AlignedTable {
    pub(crate) heading: String,
    /// A line below the heading, if there is one.
    pub(crate) note: Option<HeadingNote>,
    pub(crate) columns: Vec<(String, Align)>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A line below a heading.
pub(crate) struct HeadingNote {
    pub(crate) text: String,
    /// True if it says that the table is not whole.
    pub(crate) is_warning: bool,
}

/// The alignment of a column's cells: numbers are aligned to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Characters that a shortened cell keeps at the least.
const LEAST_CELL: usize = 9;
/// The column at which a note goes on that is too long for a line.
const NOTE_INDENT: usize = 4;

impl AlignedTable {
    /// Characters of each column.
    fn widths(&self) -> Vec<usize> {
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            let most = cells.chain([self.columns[at].0.chars().count()]).max().unwrap_or(0);
            // The most that can be formatted.
            most.min(usize::from(u16::MAX))
        };
        (0..self.columns.len()).map(width).collect()
    }

    /// The table in lines of at most `width` characters, as far as it can be: shares are left out, then names shortened.
    /// Figures are always whole.
    pub(crate) fn fitting(mut self, width: usize) -> Self {
        let excess =
            |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(width);
        while excess(&self.widths()) > 0
            && let Some(at) = self.columns.iter().rposition(|(name, _)| name.is_empty())
        {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
        let mut widths = self.widths();
        // One letter a turn from here on: a name that is far too long is cut first.
        let names = widths.iter_mut().zip(&self.columns).filter(|(_, (_, align))| *align == Align::Left);
        names.for_each(|(own, _)| *own = (*own).min(width.max(LEAST_CELL)));
        while excess(&widths) > 0 {
            let is_name = |at: &usize| self.columns[*at].1 == Align::Left && widths[*at] > LEAST_CELL;
            let Some(widest) = (0..widths.len()).filter(is_name).max_by_key(|&at| widths[at]) else { break };
            widths[widest] -= 1;
        }
        for row in &mut self.rows {
            row.iter_mut().zip(&widths).for_each(|(cell, &width)| *cell = shortened(cell, width));
        }
        self
    }

    pub(crate) fn render(&self, out: &mut String) {
        self.render_on(Paper::PLAIN, out);
    }

    /// Writes the table: its heading stands out, and so does what keeps it from being whole. The note goes on below itself where it is too long.
    pub(crate) fn render_on(&self, paper: Paper, out: &mut String) {
        let widths = self.widths();
        let line = |out: &mut String, cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, &width), (_, align)) in cells.zip(&widths).zip(&self.columns) {
                // Writing to a String cannot fail.
                let _ = match align {
                    Align::Left => write!(text, "  {cell:<width$}"),
                    Align::Right => write!(text, "  {cell:>width$}"),
                };
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        for line in self.heading.lines() {
            out.push_str(&paper.strong(line));
            out.push('\n');
        }
        if let Some(HeadingNote { text, is_warning }) = &self.note {
            for line in paper.wrapped(text, NOTE_INDENT).lines() {
                out.push_str(&if *is_warning { paper.warning(line) } else { line.to_owned() });
                out.push('\n');
            }
        }
        line(out, &mut self.columns.iter().map(|(name, _)| name.as_str()));
        for row in &self.rows {
            line(out, &mut row.iter().map(String::as_str));
        }
    }
}

/// The first `width` characters of a line, the last one an ellipsis where there are more.
pub fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain((width > 0).then_some('…')).collect()
}

/// Shortens a text of more than `width` characters to both its ends with an ellipsis between them: the ends tell addresses apart.
fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width == 0 {
        return text.to_owned();
    }
    let (before, after) = ((width - 1) / 2, width - 1 - (width - 1) / 2);
    text.chars().take(before).chain(['…']).chain(text.chars().skip(length - after)).collect()
}

/// A table of texts under a line of column names: `edison fields`, `edison ports`.
pub fn text_table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let columns = columns.iter().map(|&name| (name.to_owned(), Align::Left)).collect();
    let mut text = String::new();
    AlignedTable { heading: String::new(), note: None, columns, rows }.render(&mut text);
    text
}

/// A table of figures, aligned to the right, under a heading and a line of column names.
pub fn figure_table(heading: &str, columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let columns = columns.iter().map(|&name| (name.to_owned(), Align::Right)).collect();
    let mut text = String::new();
    AlignedTable { heading: heading.to_owned(), note: None, columns, rows }.render(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_columns() {
        let text = text_table(&["a", "name"], vec![vec!["long".to_owned(), "x".to_owned()]]);
        assert_eq!(text, "  a     name\n  long  x\n");
        assert_eq!(text_table(&["a", "b"], vec![]), "  a  b\n");
        let text = figure_table("Sizes", &["size", "n"], vec![vec!["64".to_owned(), "1,000".to_owned()]]);
        assert_eq!(text, "Sizes\n  size      n\n    64  1,000\n");
    }

    #[test]
    fn a_table_fits_by_leaving_out_shares_and_shortening_names() {
        let columns = [("source", Align::Left), ("bytes", Align::Right), ("", Align::Right)];
        let row = ["[2001:db8:1111:2222::1]:54321", "123,456", "75.0 %"].map(str::to_owned).to_vec();
        let table = |width| {
            let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
            let mut text = String::new();
            AlignedTable { heading: String::new(), note: None, columns, rows: vec![row.clone()] }
                .fitting(width)
                .render(&mut text);
            text.lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(table(80), "  [2001:db8:1111:2222::1]:54321  123,456  75.0 %");
        assert_eq!(table(46), "  [2001:db8:1111:2222::1]:54321  123,456");
        assert_eq!(table(30), "  [2001:db8…:1]:54321  123,456");
        assert_eq!(table(1), "  [200…4321  123,456");
    }

    #[test]
    fn a_note_is_wrapped_and_warns_only_where_something_lacks() {
        let text =
            "  lost, share compare counts of different nodes: what was under way between them is in it";
        let rendered = |is_warning: bool, paper: Paper| {
            let note = Some(HeadingNote { text: text.to_owned(), is_warning });
            let mut out = String::new();
            AlignedTable { heading: "  flows".to_owned(), note, columns: Vec::new(), rows: Vec::new() }
                .render_on(paper, &mut out);
            out
        };
        let narrow = Paper::terminal(60, true);
        assert_eq!(
            rendered(false, narrow),
            "\x1b[1m  flows\x1b[0m\n  lost, share compare counts of different nodes: what was\n    under way between them is in it\n\n"
        );
        let warned = rendered(true, narrow);
        assert!(warned.contains("\x1b[33m    under way between them is in it\x1b[0m\n"), "{warned:?}");
        assert_eq!(rendered(true, Paper::PLAIN), format!("  flows\n{text}\n\n"));
    }

    #[test]
    fn lines_are_cut_by_characters() {
        assert_eq!([cut("µs und s", 8), cut("µs und s", 3), cut("a", 0)], ["µs und s", "µs…", ""]);
    }
}
