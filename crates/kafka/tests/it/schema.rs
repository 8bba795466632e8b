//! Messages have the schema of `docs/schema/kafka.json`.

use crate::support::{answer, event};
use jsonschema::{Registry, Validator};
use kafka::{encode_answer, encode_event};
use serde_json::{Value as Json, json};

fn validator() -> Validator {
    let parse = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
    let of_answers = parse(include_str!("../../../../docs/schema/answer.json"));
    let of_messages = parse(include_str!("../../../../docs/schema/kafka.json"));
    assert!(jsonschema::draft202012::meta::is_valid(&of_messages));
    let registry = Registry::new().add("urn:edison:answer", &of_answers).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    jsonschema::options().with_registry(&registry).build(&of_messages).expect("a schema")
}

#[test]
fn the_file_is_derived_from_the_form() {
    let file = include_str!("../../../../docs/schema/kafka.json");
    let hint = "`cargo run -p kafka --example schema` writes docs/schema/kafka.json";
    assert_eq!(file, model::schema::text(&kafka::schema::message()), "{hint}");
}

#[test]
fn messages_have_the_schema() {
    let validator = validator();
    let mut long = answer(1);
    long.rows = (0..20_000).map(|_| long.rows[0].clone()).collect();
    let mut messages = encode_answer(&long).expect("messages");
    assert!(messages.len() > 1);
    messages.extend((0..3).flat_map(|number| encode_answer(&answer(number)).expect("messages")));
    messages.extend((0..3).map(|number| encode_event(&event(number)).expect("a message")));
    for message in messages {
        let json: Json = serde_json::from_slice(&message.value).expect("JSON");
        assert_eq!(validator.validate(&json).map_err(|error| error.to_string()), Ok(()), "{json:#}");
        assert_eq!(json["id"], message.id.as_str());
    }
}

#[test]
fn other_things_have_it_not() {
    let validator = validator();
    let message = encode_answer(&answer(1)).expect("messages").remove(0);
    let good: Json = serde_json::from_slice(&message.value).expect("JSON");
    assert!(validator.is_valid(&good));
    for (member, value) in [
        ("schema", json!(2)),
        ("kind", json!("event")),
        ("id", json!("x")),
        ("part", json!(0)),
        ("answer", json!({})),
        ("event", json!({})),
        ("more", json!(1)),
    ] {
        let mut wrong = good.clone();
        wrong[member] = value;
        assert!(!validator.is_valid(&wrong), "{member}");
    }
}
