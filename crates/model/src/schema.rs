//! The schemas of the JSON, derived from the types that are written. The first paragraph of a doc comment is the description of the type or
//! the member; what only Rust knows stands in others.

mod text;
mod tidy;

pub use text::text;

use crate::{Answer, Event, RunReport};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value as Json, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const ANSWER: &str = "urn:edison:answer";
const OF_DEFINITION: &str = "#/$defs/";

/// Makes schemas of what is written.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(tidy::tidy))
        .into_generator()
}

/// Returns the schema of a line of `edison --json`: an answer or an event.
pub fn answer() -> Json {
    let mut generator = generator();
    generator.subschema_for::<Answer>();
    generator.subschema_for::<Event>();
    let mut definitions = generator.take_definitions(true);
    // A dry run adds it to the events that it prints.
    definitions["Event"]["properties"]["approximate"] = json!({
        "description": "True if the event is of a dry run over flow records, each of which counts whole in the window of its last packet.",
        "const": true,
    });
    let mut schema = json!({
        "$schema": DRAFT,
        "$id": ANSWER,
        "title": "A line of edison --json",
        "description": "The answer of one query for one window and node, or an event.",
        "if": { "type": "object", "required": ["event"] },
        "then": { "$ref": "#/$defs/Event" },
        "else": { "$ref": "#/$defs/Answer" },
        "$defs": lower(definitions),
    });
    refer(&mut schema, &|reference| format!("{OF_DEFINITION}{}", snake(name_of(reference))));
    schema
}

/// Returns the schema of the report of a run.
pub fn report() -> Json {
    let schema = generator().into_root_schema_for::<RunReport>().to_value();
    beside_answer("urn:edison:report", "The report of a run (edison --report)", schema)
}

/// Gives a schema its names, and lets it refer to that of answers for all that both define.
pub fn beside_answer(id: &str, title: &str, mut schema: Json) -> Json {
    let of_answer = answer();
    let shared = of_answer["$defs"].as_object().cloned().unwrap_or_default();
    let own = schema["$defs"].as_object().cloned().unwrap_or_default();
    let own: Map<_, _> = lower(own).into_iter().filter(|(name, _)| !shared.contains_key(name)).collect();
    schema["$id"] = id.into();
    schema["title"] = title.into();
    if own.is_empty() {
        schema.as_object_mut().map(|members| members.remove("$defs"));
    } else {
        schema["$defs"] = own.into();
    }
    refer(&mut schema, &|reference| match reference {
        "#" => id.to_owned(),
        _ => {
            let name = snake(name_of(reference));
            let whose = if shared.contains_key(&name) { ANSWER } else { "" };
            format!("{whose}{OF_DEFINITION}{name}")
        }
    });
    schema
}

/// Replaces all references of a schema.
pub fn refer(json: &mut Json, named: &dyn Fn(&str) -> String) {
    match json {
        Json::Object(members) => {
            if let Some(Json::String(reference)) = members.get_mut("$ref") {
                *reference = named(reference);
            }
            members.values_mut().for_each(|member| refer(member, named));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| refer(item, named)),
        _ => {}
    }
}

/// Returns the name of the definition that a reference leads to.
pub fn name_of(reference: &str) -> &str {
    reference.rsplit_once('/').map_or(reference, |(_, name)| name)
}

/// Definitions under the names that they have in files.
fn lower(definitions: Map<String, Json>) -> Map<String, Json> {
    definitions.into_iter().map(|(name, schema)| (snake(&name), schema)).collect()
}

/// `PacketCounts` is `packet_counts`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
