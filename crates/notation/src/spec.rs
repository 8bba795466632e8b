//! Specifications of one line: `key=value,key=value,…`.

use crate::name::nearest;
use std::fmt;

/// The reason why a specification cannot be used: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(String);

impl SpecError {
    /// An error with this line as its message.
    pub fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// Refuses `key`: names the known key that it most likely means, and lists all. `what` begins the line: `unknown key`.
pub fn unknown_key(what: &str, key: &str, known: &[&str]) -> SpecError {
    let list = known.join(", ");
    SpecError(match nearest(key, known.iter().copied()) {
        Some(name) => format!("{what} {key:?}: did you mean {name:?}? There are: {list}"),
        None => format!("{what} {key:?}. There are: {list}"),
    })
}

/// Splits `key=value,key=value,…` into pairs; a key alone has an empty value.
///
/// # Errors
/// A key occurs twice.
pub fn pairs(text: &str) -> Result<Vec<(&str, &str)>, SpecError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in text.split(',').filter(|_| !text.trim().is_empty()) {
        let pair = pair.trim();
        let (key, text) = pair.split_once('=').unwrap_or((pair, ""));
        if pairs.iter().any(|(seen, _)| *seen == key) {
            return Err(SpecError(format!("{key} is given twice")));
        }
        pairs.push((key, text));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_their_order() {
        assert_eq!(pairs(" "), Ok(Vec::new()));
        assert_eq!(pairs("a=1, b ,c=d=e,"), Ok(vec![("a", "1"), ("b", ""), ("c", "d=e"), ("", "")]));
        assert_eq!(pairs("a=1,a").unwrap_err().to_string(), "a is given twice");
    }

    #[test]
    fn an_unknown_key_names_the_known_ones() {
        let error = |key| unknown_key("unknown key", key, &["rate", "ring"]).to_string();
        assert_eq!(error("rat"), "unknown key \"rat\": did you mean \"rate\"? There are: rate, ring");
        assert_eq!(error("speed"), "unknown key \"speed\". There are: rate, ring");
    }
}
