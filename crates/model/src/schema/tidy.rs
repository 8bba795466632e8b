//! The rules that all schemas follow.

use schemars::Schema;
use serde_json::{Map, Value as Json};

/// Changes a schema, without those within it.
///
/// - An object has no members beyond those that are described, and a member that may be left out is not null.
/// - An enumeration is a list, and its description tells the meaning of each of its words.
/// - Neither formats of Rust's own nor defaults for reading are told.
pub(super) fn tidy(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    if members.get("format").is_some_and(|format| format != "date-time") {
        members.remove("format");
    }
    members.remove("default");
    if let Some(Json::String(text)) = members.get_mut("description") {
        *text = told(text);
    }
    list(members);
    if members.get("type").is_some_and(|kind| kind == "object") && members.contains_key("properties") {
        members.entry("additionalProperties").or_insert(false.into());
        without_nulls(members);
    }
}

/// The first paragraph of a doc comment, in the words of JSON.
fn told(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph.replace('\n', " ").replace("`None`", "`null`")
}

/// Writes `oneOf` of described constants as an enumeration.
fn list(members: &mut Map<String, Json>) {
    let Some(Json::Array(choices)) = members.get("oneOf") else { return };
    let words: Option<Vec<Json>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    let Some(words) = words else { return };
    let meaning = |choice: &Json| {
        let (word, meaning) = (choice["const"].as_str()?, choice["description"].as_str()?);
        Some(format!(" `{word}`: {}", lower(&told(meaning))))
    };
    let meanings: String = choices.iter().filter_map(meaning).collect();
    let description = members.get("description").and_then(Json::as_str).unwrap_or_default();
    members.insert("description".to_owned(), format!("{description}{meanings}").trim().into());
    members.remove("oneOf");
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), words.into());
}

/// A sentence behind a colon.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let is_name = sentence.split(' ').next().is_some_and(|word| word.chars().skip(1).any(char::is_uppercase));
    match letters.next() {
        Some(first) if !is_name => first.to_lowercase().chain(letters).collect(),
        _ => sentence.to_owned(),
    }
}

/// A member that is left out where there is no value is never null, unless another one requires it.
fn without_nulls(members: &mut Map<String, Json>) {
    let names = |list: &Json| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let mut there: Vec<String> = members.get("required").map(names).unwrap_or_default();
    let dependent = members.get("dependentRequired").and_then(Json::as_object);
    there.extend(dependent.into_iter().flat_map(Map::values).flat_map(names));
    let Some(Json::Object(properties)) = members.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !there.contains(name)) {
        let Some(property) = property.as_object_mut() else { continue };
        if let Some(Json::Array(kinds)) = property.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [kind] = &kinds[..] {
                property["type"] = kind.clone();
            }
        }
        if let Some(Json::Array(choices)) = property.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != "null");
            if let [Json::Object(only)] = &choices[..] {
                let only = only.clone();
                property.remove("anyOf");
                property.extend(only);
            }
        }
    }
}
