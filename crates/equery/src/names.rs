//! Names: which are reserved, which mean fields.

use crate::word::Word;
use flow::{DerivedField, Field, Metric, Statistic};

/// Words that begin a clause.
pub(crate) const CLAUSES: [Word; 21] = [
    Word::new("select", "select VALUE [as NAME], …", "the columns of the answer"),
    Word::new(
        "from",
        "from QUERY, …; from TIME [to TIME]",
        "reads answers of other queries, or recorded rows of a time",
    ),
    Word::new("last", "last DURATION", "reads recorded rows of the time until now"),
    Word::new("where", "where CONDITION", "only rows that pass"),
    Word::new("groupby", "groupby FIELD[/PREFIX], …", "a row of the answer for each value of these fields"),
    Word::new("group", "group by FIELD[/PREFIX], …", "groupby in two words"),
    Word::new("having", "having CONDITION", "only groups that pass"),
    Word::new("order", "order by VALUE [asc|desc], …", "which rows come first"),
    Word::new("limit", "limit NUMBER", "the number of rows at most; further groups are counted in the rest"),
    Word::new("every", "every DURATION", "how often there is an answer"),
    Word::new("over", "over DURATION", "the time that each answer is about; as every unless it is given"),
    Word::new(
        "across",
        "across nodes by sum|max",
        "one answer for all nodes: sum where they see different traffic, max where the same",
    ),
    Word::new(
        "using",
        "using STRUCTURE(memory=SIZE, depth=ROWS, width=COUNTERS, packets=NUMBER)",
        "counts packets in this structure",
    ),
    Word::new("error", "error PERCENT", "counts packets in a structure with this error at most"),
    Word::new("when", "when [each] CONDITION", "starts the query when answers of others fulfil this"),
    Word::new("while", "while CONDITION", "answers in each window in which this holds"),
    Word::new("run", "run once; run DURATION", "how long the query runs once it is started"),
    Word::new(
        "within",
        "within DURATION",
        "sets a deadline: the chain ends if the query does not fire within this time",
    ),
    Word::new("capture", "capture NUMBER packets", "keeps the next packets of what fired"),
    Word::new("say", "say \"TEXT with {COLUMN} and {node}\"", "the title of what fires"),
    Word::new("export", "export as metric", "answers are exported as a metric"),
];

/// Other words that cannot be names.
const RESERVED: [Word; 16] = [
    Word::new(
        "in",
        "VALUE in (VALUE, …); in same window",
        "one of these, or within this prefix; or: asks for the window that fired",
    ),
    Word::new("and", "CONDITION and CONDITION", "both hold"),
    Word::new("or", "CONDITION or CONDITION", "one of them holds, or both"),
    Word::new("not", "not CONDITION", "it does not hold"),
    Word::new("between", "VALUE between LOW and HIGH", "from the one to the other, both included"),
    Word::new("like", "TEXT like 'PATTERN'", "% stands for any text, _ for one character"),
    Word::new("is", "VALUE is [not] null; QUERY is missing", "there is no value; there is no answer"),
    Word::new("as", "VALUE as NAME", "the name of a column"),
    Word::new("asc", "order by VALUE asc", "the least first"),
    Word::new("desc", "order by VALUE desc", "the greatest first"),
    Word::new("let", "let NAME = VALUE;", "defines a variable"),
    Word::new("until", "when CONDITION until CONDITION", "what has fired stays so until this holds"),
    Word::new("cooldown", "when CONDITION cooldown DURATION", "how long it does not fire again"),
    Word::new("for", "when CONDITION for DURATION", "fires once it has held for so long"),
    Word::new("null", "VALUE is null", "no value"),
    Word::new("offset", "VALUE offset DURATION", "the value of the window that ended so long before"),
];

/// Words that mean something behind others, and may be names elsewhere.
const WITHIN: [Word; 13] = [
    Word::new("by", "group by; order by; across nodes by", "what it is done by"),
    Word::new("to", "from TIME to TIME", "the end of the time"),
    Word::new("same", "in same window", "asks for the window that fired"),
    Word::new("window", "in same window", "asks for the window that fired"),
    Word::new("each", "when each CONDITION", "answers in each window in which this holds"),
    Word::new("nodes", "across nodes by sum|max", "one answer for all nodes"),
    Word::new("sum", "across nodes by sum", "the nodes see different traffic"),
    Word::new("max", "across nodes by max", "the nodes see the same flows"),
    Word::new("once", "run once", "runs for one window"),
    Word::new("packets", "capture NUMBER packets", "keeps the next packets of what fired"),
    Word::new("metric", "export as metric", "answers are exported as a metric"),
    Word::new("missing", "QUERY is missing", "there is no answer of it"),
    Word::new("distinct", "count(distinct FIELD)", "counts values of the field"),
];

/// Returns the words of the grammar; a few have a second meaning as a function.
pub(crate) fn keywords() -> impl Iterator<Item = &'static Word> {
    const ALL: [&[Word]; 3] = [&CLAUSES, &RESERVED, &WITHIN];
    ALL.into_iter().flatten()
}

/// Returns true if a word begins a clause. `in` of `in same window` is not among them.
pub(crate) fn begins_clause(word: &str) -> bool {
    CLAUSES.iter().any(|clause| clause.word.eq_ignore_ascii_case(word))
}

/// Returns true if a word has a meaning of its own and cannot be a name.
pub(crate) fn is_reserved(word: &str) -> bool {
    begins_clause(word) || RESERVED.iter().any(|reserved| reserved.word.eq_ignore_ascii_case(word))
}

/// Returns true if a name needs no quotes.
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

/// Returns true if a field holds addresses, which have prefixes.
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
