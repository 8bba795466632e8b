//! Texts of strangers within bounds.

/// Returns the text, cut to at most `most` characters. A text that is cut ends in `…`.
pub(crate) fn bounded(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Returns the text as one line without control characters, cut as [`bounded`] does.
pub(crate) fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split(|letter: char| letter.is_control() || letter == ' ').collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    bounded(&line, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_within_their_bound() {
        assert_eq!(bounded("äöü", 3), "äöü");
        assert_eq!(bounded("äöüx", 3), "äö…");
        assert_eq!(line(" a\n\tb\u{1}  c ", 10), "a b c");
    }
}
