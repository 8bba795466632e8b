//! Lines for people: a table in the columns that a terminal has. Every figure is in the JSON.

use crate::line::BenchResult;
use serde_json::Value;

/// Characters of the columns, but for the points that grow with the terminal.
const VARIANT: usize = 20;
const FIGURES: usize = 9 + 10 + 8 + 7;
/// The narrowest table.
const LEAST: usize = 80;
/// The most columns of a wide terminal that the points take; what else was measured has the rest.
const MOST_POINTS: usize = 44;

/// A table of lines that come one by one.
#[derive(Clone, Copy, Debug)]
pub struct TextTable {
    width: usize,
}

impl TextTable {
    /// A table for a terminal with this many columns.
    pub fn new(width: usize) -> Self {
        Self { width: width.max(LEAST) }
    }

    fn points(&self) -> usize {
        (self.width - VARIANT - FIGURES - 1).min(MOST_POINTS)
    }

    /// The names of the columns.
    pub fn heading(&self) -> String {
        let points = self.points();
        let heading = format!(
            "{:<VARIANT$} {:<points$}{:>9}{:>10}{:>8}  {:<5}",
            "variant", "at", "Mpps", "ns/packet", "MiB", "right"
        );
        heading.trim_end().to_owned()
    }

    /// A line in as many columns, without the figures that find no place.
    pub fn row(&self, line: &BenchResult) -> String {
        let points = self.points();
        let start = format!(
            "{:<VARIANT$} {:<points$}",
            cut(&line.variant, VARIANT),
            cut(&pairs(&line.params), points)
        );
        let more = pairs(&line.more);
        if !line.was_timed() {
            return cut(&format!("{start}  {more}"), self.width);
        }
        let memory = line.memory_bytes.map_or(String::new(), |bytes| bytes.div_ceil(1 << 20).to_string());
        let right = if line.checked { "yes" } else { "NO" };
        let figures = format!("{:>9.2}{:>10.1}{memory:>8}  {right:<5}", line.mpps(), line.ns_per_packet());
        let row = start + &figures;
        // A part of a figure is worse than none.
        let room = self.width.saturating_sub(row.chars().count());
        let more: String = line
            .more
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .scan(0, |taken, pair| {
                *taken += pair.chars().count();
                (*taken <= room).then_some(pair)
            })
            .collect();
        (row + &more).trim_end().to_owned()
    }
}

fn pairs(pairs: &[(&'static str, Value)]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    pairs.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(" ")
}

/// The first `width` characters of a text, the last one an ellipsis where there are more.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line() -> BenchResult {
        BenchResult {
            bench: "table",
            variant: "a structure with a long name".to_owned(),
            params: vec![("flows", json!(1_000_000)), ("zipf", json!(1.0)), ("arrival", json!("any_order"))],
            packets: 1_000_000,
            rounds_ns: vec![81e6, 80e6, 90e6],
            memory_bytes: Some(64 << 20),
            checked: true,
            more: vec![("first_pass_ns", json!(123.4)), ("list", json!(vec![1; 200])), ("last", json!(7))],
        }
    }

    #[test]
    fn a_row_fits_and_has_whole_figures() {
        for width in 0..300 {
            let table = TextTable::new(width);
            let untimed = BenchResult { rounds_ns: Vec::new(), ..line() };
            for text in [table.heading(), table.row(&line()), table.row(&untimed)] {
                assert!(text.chars().count() <= width.max(LEAST), "{width}: {text}");
            }
            let row = table.row(&line());
            assert!(row.contains("    12.35      81.0      64  yes"), "{row}");
            assert!(row.contains("first_pass_ns=123.4") == (width >= 119), "{width}: {row}");
            assert!(!row.contains("list="), "{row}");
        }
        assert_eq!(
            TextTable::new(80).heading(),
            "variant              at                            Mpps ns/packet     MiB  right"
        );
        assert_eq!(
            TextTable::new(80).row(&line()),
            "a structure with a … flows=1000000 zipf=1.0 a…    12.35      81.0      64  yes"
        );
    }

    #[test]
    fn a_wrong_answer_stands_out() {
        assert!(TextTable::new(80).row(&BenchResult { checked: false, ..line() }).ends_with("  NO"));
    }
}
