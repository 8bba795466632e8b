//! What is served is what `openapi.json` says.

use crate::client::{Stream, get, json, send};
use crate::sample::{changes, full, queries, serve};
use jsonschema::Validator;
use model::{Answer, DryRunNode, DryRunOutcome, HistoryAnswers, HistoryNode, Span};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use web::view::QueryView;
use web::{Installed, Removed, Request, RequestRefusal};

pub(crate) fn description() -> Json {
    serde_json::from_str(include_str!("../../openapi.json")).expect("JSON")
}

/// The schema of a component.
fn schema(name: &str) -> Validator {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": description()["components"],
    });
    jsonschema::validator_for(&schema).expect("a schema")
}

pub(crate) fn check(name: &str, data: &Json) {
    let schema = schema(name);
    let errors: Vec<String> =
        schema.iter_errors(data).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{name} {data:#} {errors:#?}");
}

/// The schema that the description names for a response.
pub(crate) fn named(path: &str, method: &str, status: u16) -> String {
    let description = description();
    let mut response = &description["paths"][path][method]["responses"][status.to_string()];
    if let Some(reference) = response["$ref"].as_str() {
        response = description.pointer(reference.trim_start_matches('#')).expect("it is there");
    }
    let reference = response["content"]["application/json"]["schema"]["$ref"].as_str();
    let reference = reference.unwrap_or_else(|| panic!("{path} {method} {status} has no schema"));
    reference.trim_start_matches("#/components/schemas/").to_owned()
}

#[test]
fn methods_are_those_of_the_description() {
    let server = serve(&full());
    for (path, operations) in description()["paths"].as_object().expect("paths") {
        let operations = operations.as_object().expect("operations").keys();
        let mut described: BTreeSet<String> = operations.map(|method| method.to_uppercase()).collect();
        if described.contains("GET") {
            described.insert("HEAD".to_owned());
        }
        let path = format!(
            "/api/v1{}",
            path.replace("{name}", "x").replace("{id}", "x").replace("{event}/{node}", "x/y")
        );
        let refused = send(server.address(), &format!("PATCH {path}"), &[], b"");
        assert_eq!(refused.status, 405, "{path}");
        let allowed = refused.header("allow").expect("what is allowed").split(',');
        assert_eq!(allowed.map(str::to_owned).collect::<BTreeSet<_>>(), described, "{path}");
    }
}

/// What stores answer, one of them not.
fn answered() -> HistoryAnswers {
    let answers = changes().answers.into_iter();
    let levels = vec!["1h".to_owned(), "rows".to_owned()];
    let node = |name: &str, missing: Option<&str>| HistoryNode {
        name: name.to_owned(),
        missing: missing.map(str::to_owned),
    };
    HistoryAnswers {
        answers: answers.map(|answer| Answer { levels: levels.clone(), ..answer }).collect(),
        nodes: vec![node("Node1", None), node("Node2", Some("no_store"))],
        warnings: vec!["w".to_owned()],
    }
}

/// What would have happened, of which one node tells nothing.
fn played() -> DryRunOutcome {
    let changes = changes();
    let node = |name: &str, missing: Option<&str>| DryRunNode {
        name: name.to_owned(),
        windows: u64::MAX,
        missing: missing.map(str::to_owned),
    };
    DryRunOutcome {
        judged: Some(Span { start_ns: 1, end_ns: 2 }),
        fired: u64::MAX,
        events: changes.events,
        more_events: 1,
        stories: changes.stories,
        nodes: vec![node("Node1", None), node("Node2", Some("no_store"))],
        warnings: vec!["w".to_owned()],
    }
}

#[test]
fn responses_are_as_described() {
    let hub = full();
    let (requests, received) = std::sync::mpsc::channel();
    let listen = "127.0.0.1:0".parse().expect("an address");
    let server = web::serve(hub.clone(), listen, Some(requests)).expect("a server");
    let address = server.address();
    let owner = std::thread::spawn(move || {
        for request in received {
            match request {
                Request::Install { file, reply, .. } if file == "wrong" => {
                    reply.send(Err(RequestRefusal::Invalid {
                        error: "wrong".to_owned(),
                        diagnostics: vec![json!(diagnostic())],
                    }))
                }
                Request::Install { reply, .. } => {
                    reply.send(Ok(Installed {
                        queries: vec!["q".to_owned()],
                        warnings: vec!["w".to_owned()],
                    }));
                }
                Request::Remove { name, reply } if name == "none" => {
                    reply.send(Err(RequestRefusal::Unknown("none".to_owned())));
                }
                Request::Remove { name, reply } if name == "q1" => {
                    reply.send(Err(RequestRefusal::Conflict("used".to_owned())));
                }
                Request::Remove { name, reply } => reply.send(Ok(Removed { removed: vec![name] })),
                Request::History { asked, reply } if asked.text.starts_with("all_before") => {
                    reply.send(Ok(crate::change::stored(&asked)));
                }
                Request::History { asked, reply } => reply.send(match &*asked.nodes.join(",") {
                    "busy" => Err(RequestRefusal::Busy("busy".to_owned())),
                    "none" => Err(RequestRefusal::Unknown("none".to_owned())),
                    _ => Ok(answered()),
                }),
                Request::DryRun { asked, reply } => reply.send(match &*asked.file {
                    "busy" => Err(RequestRefusal::Busy("busy".to_owned())),
                    "run" => Err(RequestRefusal::NotHere),
                    _ => Ok(played()),
                }),
            }
        }
    });
    let calls: [(&str, &str, &str, u16); 47] = [
        ("get", "/status", "", 200),
        ("get", "/status", "?x=1", 400),
        ("get", "/nodes", "", 200),
        ("get", "/queries", "", 200),
        ("post", "/check", "?file=a.eq", 200),
        ("post", "/check", "?file=a%2Fb", 400),
        ("post", "/check", "?fiel=a", 400),
        ("get", "/language", "", 200),
        ("get", "/language", "?x=1", 400),
        ("get", "/answers", "", 200),
        ("get", "/answers", "?limit=x", 400),
        ("post", "/history", "", 200),
        ("post", "/history", "?time=11min", 400),
        ("post", "/history", "?nodes=none", 404),
        ("post", "/history", "?nodes=busy", 429),
        ("post", "/change", "?top=0", 400),
        ("post", "/dry-run", "", 200),
        ("post", "/dry-run", "?time=11min", 400),
        ("post", "/dry-run", "?file=busy", 429),
        ("post", "/dry-run", "?file=run", 409),
        ("get", "/events", "", 200),
        ("get", "/events", "?kind=x", 400),
        ("get", "/captures", "?event=e1", 200),
        ("get", "/captures", "?limit=x", 400),
        ("get", "/captures/{event}/{node}", "e2/Node1", 404),
        ("get", "/stories", "", 200),
        ("get", "/stories/{id}", "e1", 200),
        ("get", "/stories/{id}", "none", 404),
        ("put", "/stories/{id}/acknowledgement", "e1/acknowledgement", 200),
        ("put", "/stories/{id}/acknowledgement", "none/acknowledgement", 404),
        ("put", "/stories/{id}/acknowledgement", "e1/acknowledgement?events=x", 400),
        ("delete", "/stories/{id}/acknowledgement", "e1/acknowledgement", 200),
        ("put", "/stories/{id}/silence", "e1/silence?for=2h", 200),
        ("put", "/stories/{id}/silence", "none/silence?for=2h", 404),
        ("put", "/stories/{id}/silence", "e1/silence", 400),
        ("delete", "/stories/{id}/silence", "e1/silence", 200),
        ("get", "/silences", "", 200),
        ("get", "/session", "", 200),
        ("post", "/session", "", 200),
        ("delete", "/session", "", 200),
        ("post", "/queries", "?file=a", 201),
        ("post", "/queries", "?file=wrong", 422),
        ("post", "/queries", "", 201),
        ("post", "/queries", "?file=a%2Fb", 400),
        ("delete", "/queries/{name}", "other", 200),
        ("delete", "/queries/{name}", "none", 404),
        ("delete", "/queries/{name}", "q1", 409),
    ];
    for (method, path, more, status) in calls {
        let asked = match path.split_once('{') {
            Some((begin, _)) => format!("{begin}{more}"),
            None => format!("{path}{more}"),
        };
        let response = send(address, &format!("{} /api/v1{asked}", method.to_uppercase()), &[], b"text");
        assert_eq!(response.status, status, "{method} {asked}");
        check(&named(path, method, status), &response.json());
    }
    let change = send(address, "POST /api/v1/change", &[], b"");
    assert_eq!(change.status, 200);
    check(&named("/change", "post", 200), &change.json());
    let refused = send(address, "GET /api/v1/status", &[("Host", "other")], b"");
    check(&named("/status", "get", refused.status), &refused.json());
    // A hub that knows nothing yet.
    let empty = serve(&crate::sample::hub());
    for path in ["/status", "/nodes", "/queries", "/answers", "/events", "/captures", "/stories"] {
        check(&named(path, "get", 200), &json(empty.address(), &format!("/api/v1{path}")));
    }
    drop(server);
    owner.join().expect("it ends");
}

/// An error of the checker.
fn diagnostic() -> equery::Diagnostic {
    let source = equery::SourceText { name: "q", text: "select" };
    equery::check(&source, &equery::CheckOptions::default()).diagnostics.remove(0)
}

#[test]
fn texts_of_all_kinds_are_checked_as_described() {
    let server = serve(&full());
    let texts = [
        "",
        "a: select count(*); b: select count(*) when a.\"count(*)\" > 1 run 1s;",
        "select src_addr, count(distinct dst_addr) as n groupby src_addr having n > 2 using contact_sample(memory=64KiB);",
        "select src_country, count(*) groupby src_country; select sum(total_byte) across nodes by sum;",
        "select sum(total_byte) last 1h; select nothing; sel",
        "select iat_p99 from x; select stddev(src_port) using exact error 1%",
    ];
    for text in texts {
        let response = send(server.address(), "POST /api/v1/check", &[], text.as_bytes());
        check("Checked", &response.json());
    }
}

#[test]
fn messages_of_streams_are_as_described() {
    let hub = full();
    let server = serve(&hub);
    let mut stream = Stream::connect(server.address());
    hub.publish(&changes()).expect("it is stored");
    hub.set_queries(queries().into_iter().chain([QueryView::default()]).collect());
    let schemas = [
        ("status", "Status"),
        ("queries", "Queries"),
        ("answer", "Answer"),
        ("event", "StoredEvent"),
        ("story", "StoryNames"),
    ];
    let mut seen = BTreeSet::new();
    // Two first ones, five answers, three events, a story, and the queries.
    for _ in 0..12 {
        let (name, data) = stream.next().expect("a message");
        let (_, schema) = schemas.iter().find(|(own, _)| *own == name).expect("a schema");
        check(schema, &data);
        seen.insert(name);
    }
    assert_eq!(seen.len(), schemas.len());
}

#[test]
fn the_description_is_served() {
    let server = serve(&full());
    assert_eq!(get(server.address(), "/api/v1/openapi.json").json(), description());
}

#[test]
fn the_file_is_derived_from_the_types_and_the_calls() {
    let hint = "`cargo run -p web --example openapi` writes crates/web/openapi.json";
    assert_eq!(include_str!("../../openapi.json"), web::description::description(), "{hint}");
}

/// The references of a description.
fn references<'a>(json: &'a Json, found: &mut BTreeSet<&'a str>) {
    match json {
        Json::Object(members) => {
            found.extend(members.get("$ref").and_then(Json::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Json::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn references_lead_to_what_is_there_and_all_is_referred_to() {
    let description = description();
    let mut found = BTreeSet::new();
    references(&description, &mut found);
    for reference in &found {
        assert!(description.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    let of_streams = ["StoryNames", "Lagged"];
    for kind in ["schemas", "parameters", "responses"] {
        for name in description["components"][kind].as_object().expect("components").keys() {
            let is_found = found.contains(&*format!("#/components/{kind}/{name}"));
            assert!(is_found || of_streams.contains(&name.as_str()), "nothing refers to {kind}/{name}");
        }
    }
}

#[test]
fn types_and_members_are_described_in_sentences() {
    for (name, schema) in description()["components"]["schemas"].as_object().expect("schemas") {
        let members = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        let members = members.map(|(member, schema)| (member.as_str(), schema));
        for (member, schema) in members.chain([("", schema)]) {
            let text = schema["description"].as_str().unwrap_or_default();
            let is_sentence = text.starts_with(char::is_uppercase) && text.ends_with('.');
            assert!(is_sentence && !text.contains("[`"), "{name} {member}: {text:?}");
        }
    }
}

#[test]
fn the_schemas_tell_right_from_wrong() {
    for (name, wrong) in [
        ("Time", json!("2026-11-24T15:40:00Z")),
        ("Integer", json!(-1)),
        ("Integer", json!("0x7")),
        ("Error", json!({ "error": "x", "more": 1 })),
        ("Node", json!({ "name": "x" })),
    ] {
        assert!(!schema(name).is_valid(&wrong), "{name} {wrong}");
    }
    // All schemas are schemas, used or not.
    for name in description()["components"]["schemas"].as_object().expect("schemas").keys() {
        schema(name);
    }
}
