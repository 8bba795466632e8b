//! The parts of schemas of single types that no attribute derives.

use crate::value::EstimateJson;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};
use std::borrow::Cow;

/// The columns of an answer or an event, the definition of which both have.
const COLUMNS: &str = "#/$defs/Column";

/// A total in the rest of an answer.
pub(crate) struct Total;

impl JsonSchema for Total {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Total".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The total of a count or a sum over these groups, by column. Integers beyond 2^53 are strings, what is out of range is null.",
            "anyOf": [{"type": ["null", "number", "string"]}, generator.subschema_for::<EstimateJson>()],
        })
    }
}

/// The members of an answer that belong together.
pub(crate) fn answer(schema: &mut Schema) {
    let columns = json!({
        "description": "The name, the kind and the unit of each member of `bound`.",
        "type": "array",
        "items": {"$ref": COLUMNS},
    });
    set(schema, "properties", "bound_columns", columns);
    schema.insert(
        "dependentRequired".to_owned(),
        json!({
            "packets": ["loss"],
            "loss": ["packets"],
            "bound": ["bound_columns"],
            "bound_columns": ["bound"],
        }),
    );
    schema.insert(
        "allOf".to_owned(),
        json!([
            {
                "if": {"properties": {"status": {"const": "cut"}}, "required": ["status"]},
                "then": {"required": ["watched"]},
            },
            {
                "if": {"properties": {"status": {"const": "complete"}}, "required": ["status"]},
                "then": {"properties": {"watched": false}},
            },
            {
                "if": {"required": ["missing"]},
                "then": {"properties": {"status": {"const": "partial"}}},
            },
        ]),
    );
}

/// The columns of the key and the values of an event.
pub(crate) fn event(schema: &mut Schema) {
    let columns = json!({
        "description": "The name, the kind and the unit of each member of `key`, then of each of `values`.",
        "type": "array",
        "items": {"$ref": COLUMNS},
    });
    set(schema, "properties", "columns", columns);
    if let Some(Json::Array(required)) = schema.get_mut("required") {
        required.push("columns".into());
    }
}

/// Sets a member of a member of a schema.
fn set(schema: &mut Schema, member: &str, name: &str, json: Json) {
    if let Some(Json::Object(members)) = schema.get_mut(member) {
        members.insert(name.to_owned(), json);
    }
}
