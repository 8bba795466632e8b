//! Text of strangers, made harmless.

/// The text without characters that steer a terminal, begin another line or turn the direction of writing: each becomes `�`.
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if is_harmful(letter) { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

fn is_harmful(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_replaced() {
        assert_eq!(printable("a\x1b[2Jb\nc\u{9b}d\u{202e}e µ 日本"), "a�[2Jb�c�d�e µ 日本");
    }
}
