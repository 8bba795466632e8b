//! The condition of a question, which becomes a part of a text.

/// The longest condition, bytes: it stands in each query of the text.
const LONGEST: usize = 16 << 10;

/// Returns the parts of a condition that commas divide, all of which flows must pass. Each is a text in whose place an expression in
/// parentheses can stand, and nothing else.
///
/// # Errors
/// Returns what is wrong, in one line.
pub(crate) fn parts(text: &str) -> Result<Vec<&str>, String> {
    if text.len() > LONGEST {
        return Err(format!("condition: it has more than {} KiB", LONGEST >> 10));
    }
    let mut parts = Vec::new();
    let (mut begin, mut depth, mut quote) = (0, 0_usize, None);
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            (letter, _) if letter.is_control() => {
                return Err("condition: it has a line break or another control character".to_owned());
            }
            (letter, Some(open)) => quote = (letter != open).then_some(open),
            ('\'' | '"', None) => quote = Some(letter),
            (';', None) => return Err("condition: it has ';': one condition is compared".to_owned()),
            _ if ["--", "/*", "#"].iter().any(|comment| text[at..].starts_with(comment)) => {
                return Err("condition: it has a comment".to_owned());
            }
            ('(', None) => depth += 1,
            (')', None) => {
                depth = depth.checked_sub(1).ok_or("condition: a ')' closes nothing")?;
            }
            (',', None) if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    match (quote, depth) {
        (Some(quote), _) => return Err(format!("condition: a text has no end: {quote} is missing")),
        (None, 1..) => return Err("condition: a ')' is missing".to_owned()),
        (None, 0) => parts.push(&text[begin..]),
    }
    let parts: Vec<&str> = parts.into_iter().map(str::trim).collect();
    match &*parts {
        [""] => Ok(Vec::new()),
        _ if parts.contains(&"") => Err("condition: nothing stands before or behind a comma".to_owned()),
        _ => Ok(parts),
    }
}
