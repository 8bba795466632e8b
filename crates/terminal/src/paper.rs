//! The paper that text is written on: a terminal has a width and styles; a file or a pipe has neither.

/// The fewest columns that text is fitted to.
const LEAST_COLUMNS: usize = 40;
/// The column at which the text of a labelled line begins.
const AFTER_LABEL: usize = 10;

const STRONG: &str = "\x1b[1m";
const WARNING: &str = "\x1b[33m";
const END: &str = "\x1b[0m";

/// The place where text is written: how wide it is, and whether it has styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paper {
    columns: usize,
    is_styled: bool,
}

impl Paper {
    /// A file or a pipe: lines are as long as they are, and have no styles. Programs read them.
    pub const PLAIN: Self = Self { columns: usize::MAX, is_styled: false };

    /// A terminal of this many columns. `is_styled`: true if headings are bold and warnings have a colour.
    pub fn terminal(columns: usize, is_styled: bool) -> Self {
        Self { columns: columns.max(LEAST_COLUMNS), is_styled }
    }

    /// The characters of a line.
    pub(crate) fn columns(self) -> usize {
        self.columns
    }

    /// A heading.
    pub(crate) fn strong(self, line: &str) -> String {
        self.styled(STRONG, line)
    }

    /// A line that should not be overlooked.
    pub(crate) fn warning(self, line: &str) -> String {
        self.styled(WARNING, line)
    }

    fn styled(self, style: &str, line: &str) -> String {
        if self.is_styled && !line.is_empty() { format!("{style}{line}{END}") } else { line.to_owned() }
    }

    /// The lines of a report, each with a line break: long ones go on below their text.
    pub(crate) fn lines(self, lines: impl IntoIterator<Item = String>) -> String {
        lines.into_iter().fold(String::new(), |text, line| text + &self.line(&line) + "\n")
    }

    /// A line of a report, which goes on below its text where it is too long. Losses are warnings.
    fn line(self, line: &str) -> String {
        let is_loss = line.starts_with("loss  ") && !line.ends_with(" none") && !line.contains(" unknown");
        let lines = self.wrapped(line, AFTER_LABEL);
        match is_loss {
            true => lines.lines().map(|line| self.warning(line)).collect::<Vec<_>>().join("\n"),
            false => lines,
        }
    }

    /// A text in lines that fit, of which those behind the first are indented. A number stays with its unit.
    pub(crate) fn wrapped(self, text: &str, indent: usize) -> String {
        let mut lines = String::new();
        let mut width = 0;
        for (at, word) in figures(text).into_iter().enumerate() {
            let letters = word.chars().count();
            if at != 0 && width + letters > self.columns {
                lines.truncate(lines.trim_end_matches(' ').len());
                lines.push('\n');
                lines.extend(std::iter::repeat_n(' ', indent));
                width = indent;
            }
            lines.push_str(word);
            width += letters;
            // The blank behind a word need not fit.
            if let Some(more) = width.checked_sub(self.columns) {
                width -= more.min(1);
            }
        }
        // A line of a file or a pipe stays as it is.
        if self.columns != usize::MAX {
            lines.truncate(lines.trim_end_matches(' ').len());
        }
        lines
    }
}

/// The words of a text, each with the blanks before the next one; a figure and its unit are one, and so are both sides of an
/// equation, and a word with what opens behind it.
fn figures(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut is_number = false;
    let mut last: Option<char> = None;
    let mut of_word = 0;
    let mut equals = false;
    for (at, letter) in text.char_indices() {
        if last == Some(' ') && letter != ' ' {
            let is_unit = is_number && letter.is_alphabetic() || matches!(letter, '(' | '=') || equals;
            equals = letter == '=';
            if at != 0 && of_word != 0 && !is_unit {
                words.push(&text[begin..at]);
                begin = at;
            }
            is_number = letter.is_ascii_digit();
            of_word = 0;
        } else if last.is_none() {
            is_number = letter.is_ascii_digit();
        }
        // A figure that ends a part of a sentence has no unit.
        if matches!(letter, ',' | ':' | ';' | ')')
            && !text[at + 1..].starts_with(|next: char| next.is_ascii_digit())
        {
            is_number = false;
        }
        of_word += usize::from(letter != ' ');
        last = Some(letter);
    }
    words.push(&text[begin..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_below_its_text_and_breaks_no_figure() {
        let line = "traffic   9,140,000 L3 bytes in 26,596 flow records over 30.003 s: 6.67 kpps, 3.20 Mbps on the wire";
        let paper = Paper::terminal(80, true);
        assert_eq!(
            paper.wrapped(line, AFTER_LABEL),
            "traffic   9,140,000 L3 bytes in 26,596 flow records over 30.003 s: 6.67 kpps,\n          3.20 Mbps on the wire"
        );
        assert_eq!(Paper::PLAIN.wrapped(line, AFTER_LABEL), line);
        for columns in 40..120 {
            let wrapped = Paper::terminal(columns, false).wrapped(line, AFTER_LABEL);
            assert!(wrapped.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{wrapped}");
            assert!(!wrapped.lines().any(|line| line.ends_with(' ')), "{columns}:\n{wrapped}");
            let one = wrapped.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(one, line.split_whitespace().collect::<Vec<_>>().join(" "));
            for figure in ["30.003 s:", "6.67 kpps,", "3.20 Mbps", "26,596 flow"] {
                assert!(wrapped.contains(figure), "{columns}: {figure}\n{wrapped}");
            }
        }
        let account = "packets   26,600 received = 26,596 measured + 4 not measured (arp)";
        let wrapped = Paper::terminal(50, false).wrapped(account, AFTER_LABEL);
        assert_eq!(wrapped, "packets   26,600 received = 26,596 measured +\n          4 not measured (arp)");
        // What does not fit is whole.
        assert_eq!(Paper::terminal(1, false).wrapped(&"x".repeat(100), 2), "x".repeat(100));
        assert_eq!(Paper::terminal(80, false).wrapped("", 2), "");
        // Nothing ends with a blank.
        assert_eq!(Paper::terminal(40, false).wrapped("a name  ", 2), "a name");
    }

    #[test]
    fn styles_are_for_terminals_that_have_them() {
        let [styled, unstyled] = [true, false].map(|is_styled| Paper::terminal(80, is_styled));
        assert_eq!(styled.strong("a"), "\x1b[1ma\x1b[0m");
        assert_eq!([unstyled.strong("a"), Paper::PLAIN.strong("a"), styled.strong("")], ["a", "a", ""]);
        let lines = |paper: Paper, line: &str| paper.lines([line.to_owned()]);
        assert_eq!(lines(styled, "loss      kernel_full 5"), "\x1b[33mloss      kernel_full 5\x1b[0m\n");
        for fine in
            ["loss      none", "loss      unknown: this source does not count it", "packets   1 received"]
        {
            assert_eq!(lines(styled, fine), format!("{fine}\n"));
        }
    }
}
