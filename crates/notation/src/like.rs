//! SQL's patterns of text.

/// Returns true if a text matches a pattern of SQL's `like`: `%` is any text, `_` any character, letters of either case are equal.
pub fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) =
        (name.to_lowercase().chars().collect(), pattern.to_lowercase().chars().collect());
    // The last `%`, and the text that it matches so far: a later `%` makes earlier ones final, so that the time is not exponential.
    let (mut at, mut of, mut retry) = (0, 0, None);
    while at < name.len() {
        match pattern.get(of) {
            Some('%') => {
                retry = Some((of + 1, at));
                of += 1;
            }
            Some(c) if *c == '_' || *c == name[at] => (at, of) = (at + 1, of + 1),
            _ => {
                let Some((after, begun)) = retry else { return false };
                retry = Some((after, begun + 1));
                (of, at) = (after, begun + 1);
            }
        }
    }
    pattern[of..].iter().all(|c| *c == '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_that_of_sql() {
        let cases = [
            ("https", "http%", true),
            ("https", "HTTP_", true),
            ("https", "http", false),
            ("https", "%t%s", true),
            ("https", "%", true),
            ("", "%", true),
            ("", "_", false),
            ("http", "http_", false),
            ("abcabd", "%ab_", true),
            ("Probe-1", "probe-%", true),
            ("xxaxxbxx", "%a%b%", true),
            ("xxbxxaxx", "%a%b%", false),
            ("", "", true),
            ("a", "", false),
        ];
        for (name, pattern, expected) in cases {
            assert_eq!(is_like(name, pattern), expected, "{name} like {pattern}");
        }
    }
}
