//! The words of Equery, for editors: from the tables that the checker itself reads.

use crate::checker::functions;
use crate::fields;
use crate::names::keywords;
use crate::sketch;
use crate::word::Word;
use flow::{DERIVED, FIELDS};
use serde::Serialize;

/// The words that have a meaning in Equery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Language {
    /// The words of the grammar, each once.
    pub keywords: Vec<Word>,
    /// The functions.
    pub functions: Vec<Word>,
    /// The fields that queries may read.
    pub fields: Vec<FieldWord>,
    /// The structures for `using`.
    pub structures: Vec<String>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldWord {
    /// The name of the field.
    pub name: &'static str,
    /// The type of its values.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["number", "duration", "port", "protocol", "identifier", "address", "mac", "time", "text"])))]
    pub kind: &'static str,
    /// The unit of its values; empty where there is none.
    pub unit: &'static str,
    /// True if rows may lack it.
    pub nullable: bool,
    /// The meaning of the field, in one line.
    pub meaning: &'static str,
}

/// The words.
pub fn language() -> Language {
    let table = FIELDS.iter().map(|field| (field.name, field.unit, field.meaning));
    let derived = DERIVED.iter().map(|field| (field.name, field.unit, field.meaning));
    let known = |(name, unit, meaning)| {
        let field = fields::find(name)?;
        // What only `where` compares with the names of nodes is in no row.
        (field.is_in_rows || name == "node_id").then(|| FieldWord {
            name,
            kind: field.kind.name(),
            unit,
            nullable: field.is_nullable,
            meaning,
        })
    };
    Language {
        keywords: keywords().copied().collect(),
        functions: functions().collect(),
        fields: table.chain(derived).filter_map(known).collect(),
        structures: sketch::structures(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckOptions, SourceText, check};
    use std::collections::BTreeSet;

    /// The terminals of the grammar in the documentation are the keywords, and each of these has a meaning.
    #[test]
    fn keywords_are_those_of_the_grammar() {
        let text = include_str!("../../../docs/equery.md");
        let (_, rest) = text.split_once("```ebnf").expect("a grammar");
        let (grammar, _) = rest.split_once("```").expect("its end");
        let terminals = grammar.split('"').skip(1).step_by(2);
        let of_grammar: BTreeSet<&str> =
            terminals.filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())).collect();
        let language = language();
        let words: BTreeSet<&str> = language.keywords.iter().map(|word| word.word).collect();
        assert_eq!(words, of_grammar);
        assert_eq!(words.len(), language.keywords.len(), "each once");
        for Word { word, usage, meaning } in language.keywords.iter().chain(&language.functions) {
            assert!(usage.contains(word) && !meaning.is_empty(), "{word}: {usage}: {meaning}");
        }
    }

    #[test]
    fn fields_and_structures_are_those_that_the_checker_takes() {
        let language = language();
        let errors = |text: &str| {
            let checked = check(&SourceText { name: "q", text }, &CheckOptions::default());
            checked.diagnostics.iter().map(|found| found.code).collect::<Vec<_>>()
        };
        for FieldWord { name, .. } in &language.fields {
            let text = match *name {
                "node_id" => "select count(*) where node_id = A".to_owned(),
                name => format!("select total_byte where {name} is not null"),
            };
            let found = errors(&text);
            assert!(
                !found.contains(&"undefined_name") && !found.contains(&"not_in_rows"),
                "{text}: {found:?}"
            );
        }
        assert_eq!(errors("select total_byte where end_reason is null"), ["not_in_rows"]);
        assert!(language.fields.iter().all(|field| field.name != "end_reason"));
        assert!(!language.structures.is_empty());
        for structure in &language.structures {
            let found = errors(&format!("select count(*) using {structure}"));
            assert!(!found.contains(&"unknown_structure"), "{structure}: {found:?}");
        }
        assert_eq!(errors("select count(*) using nothing"), ["unknown_structure"]);
    }
}
