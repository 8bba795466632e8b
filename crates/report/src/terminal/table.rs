//! Aligned tables.

use std::fmt::Write;

/// A table: a heading, columns, rows with a cell for each column.
pub(super) struct Table {
    pub(super) heading: String,
    pub(super) columns: Vec<(String, Align)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The alignment of a column's cells: numbers are aligned to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

impl Table {
    pub(super) fn render(&self, out: &mut String) {
        let width = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            cells.chain([self.columns[at].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
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
        if !self.heading.is_empty() {
            out.push_str(&self.heading);
            out.push('\n');
        }
        line(out, &mut self.columns.iter().map(|(name, _)| name.as_str()));
        for row in &self.rows {
            line(out, &mut row.iter().map(String::as_str));
        }
    }
}

/// A table of texts under a line of column names: `edison fields`, `edison ports`.
pub fn text_table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let columns = columns.iter().map(|&name| (name.to_owned(), Align::Left)).collect();
    let mut text = String::new();
    Table { heading: String::new(), columns, rows }.render(&mut text);
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
    }
}
