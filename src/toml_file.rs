//! TOML files of settings: reading them, and wording what is wrong with them.

use runtime::exit::Failure;
use std::path::Path;

/// Reads a file; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<toml::Table, Failure> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(|error| wrong(path, &error.to_string()))?;
    text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        wrong(path, &format!("line {line}: {}", error.message().replace('\n', " ")))
    })
}

/// Returns the failure that says what is wrong with a file.
pub(crate) fn wrong(path: &Path, reason: &str) -> Failure {
    Failure::usage(format!("{}: {reason}", path.display()))
}

/// A key that is not one of `names`. `all`: where all of them are listed.
pub(crate) fn unknown(path: &Path, key: &str, names: &[&str], all: &str) -> Failure {
    let hint = match notation::nearest(key, names.iter().copied()) {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => all.to_owned(),
    };
    wrong(path, &format!("unknown key '{key}'; {hint}"))
}

/// A value as the words of a command line, one for each member of a list.
pub(crate) fn texts(path: &Path, key: &str, value: &toml::Value) -> Result<Vec<String>, Failure> {
    let wrong =
        || wrong(path, &format!("'{key}' must be a text, a number, true or false, a list or a table"));
    words(value).ok_or_else(wrong)
}

fn words(value: &toml::Value) -> Option<Vec<String>> {
    Some(match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Integer(number) => vec![number.to_string()],
        toml::Value::Float(number) => vec![number.to_string()],
        toml::Value::Boolean(flag) => vec![flag.to_string()],
        toml::Value::Array(list) => list.iter().map(words).collect::<Option<Vec<_>>>()?.concat(),
        // Variables of queries.
        toml::Value::Table(table) => {
            let pair =
                |(name, value)| Some(words(value)?.iter().map(|word| format!("{name}={word}")).collect());
            table.iter().map(pair).collect::<Option<Vec<Vec<_>>>>()?.concat()
        }
        toml::Value::Datetime(_) => return None,
    })
}
