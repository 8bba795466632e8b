//! Names: which are reserved, which mean fields.

use flow::{DerivedField, Field, Metric, Statistic};

/// Words that begin a clause, with what stands in them, as errors show it.
pub(crate) const CLAUSES: [&str; 20] = [
    "select", "from", "last", "where", "groupby", "group", "having", "order", "limit", "every", "over",
    "across", "using", "error", "when", "while", "run", "within", "capture", "export",
];

/// Other words that cannot be names.
const RESERVED: [&str; 16] = [
    "in", "and", "or", "not", "between", "like", "is", "as", "asc", "desc", "let", "until", "cooldown",
    "for", "null", "offset",
];

/// Whether a word begins a clause. `in` of `in same window` is not among them.
pub(crate) fn begins_clause(word: &str) -> bool {
    CLAUSES.iter().any(|clause| clause.eq_ignore_ascii_case(word))
}

/// Whether a word has a meaning of its own and cannot be a name.
pub(crate) fn is_reserved(word: &str) -> bool {
    begins_clause(word) || RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(word))
}

/// Whether a name needs no quotes.
pub(crate) fn is_identifier(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !is_reserved(name)
}

/// A field's own name, where the name means one; any other name as it is.
pub(crate) fn field_name(name: &str) -> &str {
    Field::named(name)
        .map(|field| field.name)
        .or_else(|| DerivedField::named(name).map(|field| field.name))
        .unwrap_or(name)
}

/// Whether a field holds addresses, which have prefixes.
pub(crate) fn is_address_field(name: &str) -> bool {
    matches!(field_name(name), "src_addr" | "dst_addr" | "addr")
}

/// The metric of a statistic of packets: `gap_mean`, `size_stddev`, `iat_p99.9`.
pub(crate) fn statistic(name: &str) -> Option<Metric> {
    name.parse::<Statistic>().ok().map(|statistic| statistic.metric)
}

/// The candidate nearest to a name, whatever the case of both.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let lower: Vec<String> = candidates.iter().map(|candidate| candidate.to_ascii_lowercase()).collect();
    let near = notation::nearest(name, lower.iter().map(String::as_str))?;
    lower.iter().position(|candidate| candidate == near).map(|at| candidates[at])
}

/// Names of all fields, of the table and derived.
pub(crate) fn all_fields<'a>() -> impl Iterator<Item = &'a str> {
    flow::FIELDS.iter().map(|field| field.name).chain(flow::DERIVED.iter().map(|field| field.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_reserved() {
        assert_eq!(all_fields().find(|name| is_reserved(name)), None);
    }
}
