//! The schemas of `docs/schema` against what is written.

use crate::literal::{full_answer, full_event};
use crate::strategies::{answer, event, run_report};
use jsonschema::{Registry, Validator};
use model::RunReport;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

const ANSWER: &str = include_str!("../../../../docs/schema/answer.json");
const REPORT: &str = include_str!("../../../../docs/schema/report.json");

#[test]
fn the_files_are_derived_from_the_types() {
    for (name, file, schema) in
        [("answer", ANSWER, model::schema::answer()), ("report", REPORT, model::schema::report())]
    {
        let hint = "`cargo run -p model --example schemas` writes it";
        assert_eq!(file, model::schema::text(&schema), "docs/schema/{name}.json: {hint}");
    }
}

/// The objects of a schema, each member of which has a description, and their names.
fn assert_all_is_described(schema: &Json, place: &str) {
    match schema {
        Json::Object(members) => {
            let properties = members.get("properties").and_then(Json::as_object).into_iter().flatten();
            // Conditions name members that are described elsewhere.
            for (name, property) in properties.filter(|_| members.contains_key("type")) {
                let text = property["description"].as_str().unwrap_or_default();
                let is_sentence = text.starts_with(char::is_uppercase) && text.ends_with('.');
                assert!(is_sentence && !text.contains("[`"), "{place}.{name}: {text:?}");
            }
            for (name, member) in members {
                assert_all_is_described(member, &format!("{place}.{name}"));
            }
        }
        Json::Array(items) => items.iter().for_each(|item| assert_all_is_described(item, place)),
        _ => {}
    }
}

#[test]
fn each_member_is_described_in_sentences() {
    for text in [ANSWER, REPORT] {
        assert_all_is_described(&parse(text), "");
    }
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).expect("JSON")
}

/// The validator of `answer.json`, and of `report.json` with it.
static VALIDATORS: LazyLock<[Validator; 2]> = LazyLock::new(|| {
    let [answer, report] = [ANSWER, REPORT].map(parse);
    let registry = Registry::new().add("urn:edison:answer", &answer).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    [&answer, &report].map(|schema| {
        assert!(jsonschema::draft202012::meta::is_valid(schema));
        jsonschema::options().with_registry(&registry).build(schema).expect("a schema")
    })
});

fn refusal(validator: &Validator, json: &Json) -> Option<String> {
    validator.validate(json).err().map(|error| format!("{error} at {}: {json:#}", error.instance_path()))
}

pub(crate) fn of_line(json: &Json) -> Option<String> {
    refusal(&VALIDATORS[0], json)
}

pub(crate) fn of_report(json: &Json) -> Option<String> {
    refusal(&VALIDATORS[1], json)
}

fn tree(value: &impl serde::Serialize) -> Json {
    serde_json::to_value(value).expect("JSON")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn answers_have_the_schema(answer in answer()) {
        prop_assert_eq!(of_line(&tree(&answer)), None);
    }

    #[test]
    fn events_have_the_schema(event in event()) {
        prop_assert_eq!(of_line(&tree(&event)), None);
    }

    #[test]
    fn reports_have_the_schema(report in run_report()) {
        prop_assert_eq!(of_report(&tree(&report)), None);
    }

    #[test]
    fn a_random_answer_with_a_mistake_is_refused(answer in answer(), mistake in 0..6_usize) {
        let mut json = tree(&answer);
        let members = json.as_object_mut().expect("an object");
        match mistake {
            0 => members.insert("unknown".to_owned(), json!(1)),
            1 => members.remove("rest"),
            2 => members.insert("window".to_owned(), json!({"start": "2026-11-24T15:40:00.000000000Z"})),
            3 => members.insert("status".to_owned(), json!("ok")),
            4 => members.insert("rows".to_owned(), json!([[1, 2]])),
            _ => members.insert("node".to_owned(), json!(7)),
        };
        prop_assert!(of_line(&json).is_some(), "{json:#}");
    }
}

/// Every change that is one mistake: each object gets an unknown member and loses each of its members that is
/// not `optional`, unless its place is `open` to any members; each value gets another type.
fn assert_mistakes_are_refused(
    good: &Json,
    check: fn(&Json) -> Option<String>,
    open: &[&str],
    optional: &[&str],
) {
    assert_eq!(check(good), None);
    let mut places = vec![String::new()];
    let mut at = 0;
    while at < places.len() {
        let place = places[at].clone();
        at += 1;
        match good.pointer(&place).expect("a place") {
            Json::Object(members) => {
                let escape = |name: &String| name.replace('~', "~0").replace('/', "~1");
                places.extend(members.keys().map(|name| format!("{place}/{}", escape(name))));
                if open.contains(&place.as_str()) {
                    continue;
                }
                let change = |change: &dyn Fn(&mut serde_json::Map<String, Json>)| {
                    let mut changed = good.clone();
                    change(changed.pointer_mut(&place).and_then(Json::as_object_mut).expect("an object"));
                    changed
                };
                let added = change(&|members| drop(members.insert("unknown".to_owned(), json!(1))));
                assert!(check(&added).is_some(), "{place} with an unknown member");
                for name in members.keys().filter(|name| !optional.contains(&name.as_str())) {
                    let removed = change(&|members| drop(members.remove(name)));
                    assert!(check(&removed).is_some(), "{place} without {name}");
                }
            }
            Json::Array(items) => places.extend((0..items.len()).map(|item| format!("{place}/{item}"))),
            _ => {}
        }
        // No member may be one of these.
        let both = [json!([[true]]), json!({"unknown": [true]})];
        let refused = both.iter().filter(|wrong| {
            let mut changed = good.clone();
            *changed.pointer_mut(&place).expect("a place") = (*wrong).clone();
            check(&changed).is_some()
        });
        assert_eq!(refused.count(), both.len(), "{place} of another type");
    }
}

// An answer that is partial may have `watched`.
const OPTIONAL: [&str; 15] = [
    "watched",
    "late",
    "revision",
    "empty",
    "missing",
    "reason",
    "levels",
    "task",
    "link_down",
    "exporters",
    "agent",
    "wire",
    "steps",
    "tuning",
    "changes_unlisted",
];

#[test]
fn an_answer_with_any_one_mistake_is_refused() {
    let open = ["/rows/0", "/rows/1", "/rest", "/packets/not_measured", "/packets/remarks", "/loss"];
    assert_mistakes_are_refused(&tree(&full_answer()), of_line, &open, &OPTIONAL);
}

#[test]
fn an_event_with_any_one_mistake_is_refused() {
    // Without `event` it is held against the schema of answers, and refused there.
    assert_mistakes_are_refused(&tree(&full_event()), of_line, &["/key", "/values"], &[]);
}

#[test]
fn a_report_with_any_one_mistake_is_refused() {
    let report = RunReport {
        source: vec!["a.pcap".to_owned()],
        started_ns: Some(1),
        ended_ns: Some(u64::MAX),
        loss: Some([("imissed", 1)].into_iter().collect()),
        answers: vec![full_answer()],
        occurrences: model::RunEvents { events: vec![full_event()], ..model::RunEvents::default() },
        command_line: vec!["edison".to_owned()],
        link_down: Some(0),
        exporters: vec![model::ExporterReport {
            address: std::net::IpAddr::from([192, 0, 2, 1]),
            port: Some(2055),
            version: "NetFlow v9".to_owned(),
            domain: 7,
            agent: Some(std::net::IpAddr::from([192, 0, 2, 9])),
            sessions: 1,
            datagrams: 3,
            records: 60,
            sampled: 60,
            lost: 1,
            lost_unit: "messages".to_owned(),
            sampling: vec!["1:100".to_owned()],
        }],
        wire: Some(model::WireReport::default()),
        steps: Some(crate::strategies::full_steps()),
        tuning: Some(crate::strategies::full_tuning()),
        faults: vec!["a fault".to_owned()],
        ..RunReport::default()
    };
    let open = [
        "/packets/not_measured",
        "/packets/remarks",
        "/loss",
        "/answers/0/rows/0",
        "/answers/0/rows/1",
        "/answers/0/rest",
        "/answers/0/packets/not_measured",
        "/answers/0/packets/remarks",
        "/answers/0/loss",
        "/events/0/key",
        "/events/0/values",
    ];
    assert_mistakes_are_refused(&tree(&report), of_report, &open, &OPTIONAL);
}

#[test]
fn a_value_that_no_program_writes_is_refused() {
    let wrong = [
        ("/window/start", json!("2026-11-24T15:40:02Z")),
        ("/window/start", json!("2026-11-24T15:40:02.000000001+00:00")),
        ("/window/start", json!("2026-13-24T15:40:02.000000001Z")),
        ("/window/start", json!("2026-11-24T24:40:02.000000001Z")),
        ("/window/start", json!(1_795_534_802)),
        ("/late", json!(false)),
        ("/revision", json!(0)),
        ("/empty", json!(0)),
        ("/coverage", json!(1.5)),
        ("/coverage", json!(-0.5)),
        ("/status", json!("complete")),
        ("/class", json!("exact")),
        ("/rest", json!({})),
        ("/rest/groups", json!(-1)),
        ("/rest/groups", json!(1.5)),
        ("/rest/groups", json!(9_007_199_254_740_993_u64)),
        ("/rest/groups", json!("12")),
        ("/packets/received", json!("-9007199254740993")),
        ("/packets/not_measured/arp", json!(0)),
        ("/columns/0/kind", json!("integer")),
        ("/rows/0/contacts", json!({"value": 1, "lower": 1})),
        ("/rows/0/contacts", json!({"value": 1, "lower": 1, "upper": 1, "error": 0})),
        ("/rows/0/protocol", json!(true)),
    ];
    for (place, json) in wrong {
        let mut changed = tree(&full_answer());
        *changed.pointer_mut(place).expect("a place") = json.clone();
        assert!(of_line(&changed).is_some(), "{place}: {json}");
    }
    for json in [json!({}), json!([]), json!(null), json!("q1"), json!({"event": "5f1c"})] {
        assert!(of_line(&json).is_some() && of_report(&json).is_some(), "{json}");
    }
}
