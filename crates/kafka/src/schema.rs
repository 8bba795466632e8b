//! The schema of messages, derived from their form.

use crate::form::MessageValue;
use model::schema::{beside_answer, generator};
use serde_json::{Value as Json, json};

/// Returns the schema of the value of a message. It refers to that of answers and events.
pub fn message() -> Json {
    let mut schema = generator().into_root_schema_for::<MessageValue<'_>>().to_value();
    // The members that each kind of message has.
    schema["oneOf"] = json!([
        {
            "properties": {"kind": {"const": "event"}, "part": false, "parts": false, "answer": false},
            "required": ["event"],
        },
        {
            "properties": {"kind": {"enum": ["answer", "rows"]}, "event": false},
            "required": ["part", "parts", "answer"],
        },
    ]);
    beside_answer("urn:edison:kafka", "A message to Kafka", schema)
}
