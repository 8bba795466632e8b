//! The schema of the report.

use crate::report::Rfc2544Report;
use model::schema::{beside_answer, generator};
use serde_json::Value as Json;

/// Returns the schema of the line that `edison rfc2544 --json` prints.
pub fn report() -> Json {
    let schema = generator().into_root_schema_for::<Rfc2544Report>().to_value();
    beside_answer("urn:edison:rfc2544", "The report of edison rfc2544 --json", schema)
}
