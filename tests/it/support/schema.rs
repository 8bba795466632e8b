//! The schemas of `docs/schema`.

use jsonschema::{Registry, Validator};
use serde_json::Value;
use std::sync::LazyLock;

/// The validators of a line of `--json`, of a report, and of what `edison rfc2544 --json` prints.
static VALIDATORS: LazyLock<[Validator; 3]> = LazyLock::new(|| {
    let schemas = [
        include_str!("../../../docs/schema/answer.json"),
        include_str!("../../../docs/schema/report.json"),
        include_str!("../../../docs/schema/rfc2544.json"),
    ];
    let [answer, report, rfc2544] = schemas.map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
    let registry = Registry::new().add("urn:edison:answer", &answer).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    [&answer, &report, &rfc2544]
        .map(|schema| jsonschema::options().with_registry(&registry).build(schema).expect("a schema"))
});

/// A line of `--json`, which has its schema.
#[track_caller]
pub(crate) fn of_line(text: &str) -> Value {
    read(&VALIDATORS[0], text)
}

/// A report, which has its schema.
#[track_caller]
pub(crate) fn of_report(text: &str) -> Value {
    read(&VALIDATORS[1], text)
}

/// The report of `edison rfc2544 --json`, which has its schema.
#[track_caller]
pub(crate) fn of_rfc2544(text: &str) -> Value {
    read(&VALIDATORS[2], text)
}

#[track_caller]
fn read(validator: &Validator, text: &str) -> Value {
    let json: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    if let Err(error) = validator.validate(&json) {
        panic!("{error} at {}: {json:#}", error.instance_path());
    }
    json
}
