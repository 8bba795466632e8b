//! What is found at each address.

use crate::client::{get, json};
use crate::sample::{self, HOSTILE, START, answer, changes, full, serve, story};
use model::{format_time, parse_time};
use serde_json::{Value as Json, json, to_value};
use web::view::Status;

#[test]
fn status_nodes_and_queries_are_what_was_set() {
    let server = serve(&full());
    let address = server.address();
    let status = json(address, "/api/v1/status");
    let now_ns = parse_time(status["now"].as_str().expect("a time")).expect("a time");
    assert!(now_ns > 1_700_000_000_000_000_000);
    let read: Status = serde_json::from_value(status.clone()).expect("a status");
    assert_eq!(read, Status { now_ns, ..sample::status() });
    assert_eq!(status["notes"][0]["text"], HOSTILE);
    assert_eq!(status["windows"]["doubled"], u64::MAX.to_string());
    let all = json!({ "nodes": status["nodes"], "total": sample::status().nodes.len(), "next": null });
    assert_eq!(json(address, "/api/v1/nodes"), all);
    assert_eq!(get(address, "/api/v1/nodes?sort=size").status, 400);
    let queries = json(address, "/api/v1/queries");
    let mut expected = sample::queries();
    // Those that were published, by node; across nodes first.
    expected[0].latest = vec![answer(2, None), answer(0, Some("Node1")), answer(1, Some("Node2"))];
    assert_eq!(queries, json!({ "queries": expected }));
    assert_eq!(queries["queries"][0]["text"], HOSTILE);
}

#[test]
fn answers_are_found_by_what_is_asked() {
    let hub = full();
    let server = serve(&hub);
    let found = |parameters: &str| {
        let mut found = json(server.address(), &format!("/api/v1/answers?{parameters}"));
        found["answers"].take()
    };
    let all = changes().answers;
    let expected = |places: &[usize]| {
        places.iter().map(|place| to_value(&all[*place]).expect("JSON")).collect::<Vec<Json>>()
    };
    let cases: [(&str, &[usize]); 16] = [
        ("", &[0, 3, 1, 2, 4]),
        ("query=q1", &[0, 1, 2]),
        ("query=&node=&limit=", &[0, 3, 1, 2, 4]),
        ("query=q1&limit=2", &[1, 2]),
        ("limit=0", &[]),
        ("limit=99999999999999999999999", &[0, 3, 1, 2, 4]),
        ("node=Node2", &[1]),
        ("node=Node3", &[]),
        ("query=hosts", &[4]),
        ("query=totals&format=json", &[3]),
        ("since=2026-11-24T15:40:10Z", &[1, 2]),
        ("until=2026-11-24T15:40:10Z", &[0, 3]),
        ("since=2026-11-24T16:40:10%2B01:00&until=2026-11-24T15:40:20", &[1]),
        ("since=2026-11-24T15:40:19.999999999Z", &[1, 2]),
        ("since=2026-11-24T15:40:20.000Z", &[2]),
        ("since=1969-01-01&query=q1", &[0, 1, 2]),
    ];
    for (parameters, places) in cases {
        assert_eq!(found(parameters), json!(expected(places)), "{parameters}");
    }
    assert_eq!(all[0].rows[0][3], HOSTILE.into());
    assert_eq!(found("query=q1&limit=1")[0]["rows"][0]["text"], HOSTILE);
}

#[test]
fn a_table_has_the_rows_of_one_query() {
    let hub = full();
    let mut answers = vec![sample::answer(3, Some("a,b\n\"c\""))];
    // Another version of the query: a count is exact, and a column is new.
    answers[0].columns.rotate_left(1);
    answers[0].rows[0].rotate_left(1);
    answers[0].columns.push(model::Column::new("share", model::ColumnKind::Float, ""));
    answers[0].rows[0].push(0.5.into());
    answers[0].rows[0][1] = model::Value::Unsigned(9);
    answers[0].columns[1].kind = model::ColumnKind::Unsigned;
    answers[0].rows[0][2] = "=1+2".into();
    answers[0].coverage = None;
    hub.publish(&archive::ArchiveChanges { answers, ..archive::ArchiveChanges::default() })
        .expect("it is stored");
    let server = serve(&hub);
    let table = get(server.address(), "/api/v1/answers?query=q1&format=csv&since=2026-11-24T15:40:20Z");
    assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(&*table.body);
    let rows: Vec<Vec<String>> =
        rows.deserialize().collect::<Result<_, _>>().expect("a table with as many cells in each row");
    let header = [
        "node",
        "window_start",
        "window_end",
        "status",
        "coverage",
        "dst_addr",
        "total_byte",
        "sources",
        "sources_lower",
        "sources_upper",
        "text",
        "share",
    ];
    let times = |number| {
        let window = sample::window(number);
        [format_time(window.start_ns), format_time(window.end_ns)]
    };
    let ([a, b], [c, d]) = (times(2), times(3));
    let first =
        ["", &a, &b, "complete", "0.25", "192.0.2.7", "18446744073709551613", "7.5", "7", "", HOSTILE, ""];
    let second = [
        "a,b\n\"c\"",
        &c,
        &d,
        "complete",
        "",
        "192.0.2.7",
        "18446744073709551612",
        "9",
        "9",
        "9",
        "=1+2",
        "0.5",
    ];
    assert_eq!(rows, [header, first, second]);
    let none = get(server.address(), "/api/v1/answers?query=none&format=csv");
    assert_eq!(none.text(), "node,window_start,window_end,status,coverage\n");
}

#[test]
fn events_have_their_stories_and_stories_their_events() {
    let server = serve(&full());
    let address = server.address();
    let events = changes().events;
    let stored = |place: usize| {
        let mut event = to_value(&events[place]).expect("JSON");
        event["story"] = if place < 2 { "e1".into() } else { Json::Null };
        event["text"] = ::events::sentence(&events[place]).into();
        event
    };
    let cases: [(&str, &[usize]); 7] = [
        ("", &[0, 1, 2]),
        ("?limit=1", &[2]),
        ("?kind=resolved", &[1]),
        ("?kind=timeout", &[]),
        ("?query=q2&node=Node1&since=2026-11-24T15:40:20Z", &[1, 2]),
        ("?until=2026-11-24T15:40:20Z", &[0]),
        ("?query=q1", &[]),
    ];
    for (parameters, places) in cases {
        let expected: Vec<Json> = places.iter().map(|place| stored(*place)).collect();
        let found = json(address, &format!("/api/v1/events{parameters}"));
        assert_eq!(found, json!({ "events": expected }), "{parameters}");
    }
    let entry = json!({
        "id": "e1", "title": HOSTILE, "text": HOSTILE, "at": format_time(START + 10 * sample::SECOND), "query": "q2", "node": "Node1",
        "events_total": 7, "acknowledged": null,
            "silence": null,
    });
    assert_eq!(json(address, "/api/v1/stories"), json!({ "stories": [entry] }));
    assert_eq!(json(address, "/api/v1/stories?limit=0"), json!({ "stories": [] }));
    // One listed event is not stored.
    let captures = json(address, "/api/v1/captures?story=e1");
    let whole = json!({
        "id": "e1", "title": HOSTILE, "text": HOSTILE, "events": &events[..2], "events_unlisted": 5, "captures": captures["captures"],
        "acknowledged": null,
            "silence": null,
    });
    for id in ["e1", "e2", "e%32"] {
        assert_eq!(json(address, &format!("/api/v1/stories/{id}")), whole, "{id}");
    }
    assert_eq!(story().events.len(), 3);
    for id in ["e3", "none", "%00", "%22%0a"] {
        let none = get(address, &format!("/api/v1/stories/{id}"));
        assert_eq!(none.status, 404);
        none.error();
    }
}

#[test]
fn wrong_parameters_are_named() {
    let server = serve(&full());
    let cases = [
        ("answers?limit=x", "limit: "),
        ("answers?limit=-1", "limit: "),
        ("answers?limit=1.5", "limit: "),
        ("answers?since=yesterday", "since: "),
        ("answers?until=2026-13-01", "until: "),
        ("answers?format=xml", "format: "),
        ("answers?format=csv", "query: "),
        ("answers?querry=q1", "querry: there is no such parameter, did you mean query?"),
        ("answers?query=a&query=b", "query: it is there twice"),
        ("answers?a%0ab=x", "a\\nb: "),
        ("events?kind=Fired", "kind: "),
        ("events?limit=%00", "limit: "),
        ("stories?limit=many", "limit: "),
        ("stories?query=q1", "query: "),
        ("status?x=1", "x: nothing takes parameters here"),
        ("stream?x=1", "x: "),
    ];
    for (path, begin) in cases {
        let response = get(server.address(), &format!("/api/v1/{path}"));
        assert_eq!(response.status, 400, "{path}");
        let error = response.error();
        assert!(error.starts_with(begin), "{path}: {error}");
    }
}

#[test]
fn what_is_nowhere_and_what_does_not_go_are_json() {
    let server = serve(&full());
    for path in ["/api", "/api/", "/api/v1", "/api/v2/status", "/api/v1/none", "/api/v1/status/", "/none.js"]
    {
        let response = get(server.address(), path);
        assert_eq!(response.status, 404, "{path}");
        response.error();
    }
    let cases = [
        ("POST /api/v1/status", "GET,HEAD"),
        ("PUT /api/v1/queries", "GET,HEAD,POST"),
        ("GET /api/v1/queries/q1", "DELETE"),
        ("POST /", "GET,HEAD"),
    ];
    for (line, allow) in cases {
        let response = crate::client::send(server.address(), line, &[], b"");
        assert_eq!((response.status, response.header("allow")), (405, Some(allow)), "{line}");
        response.error();
    }
}

#[test]
fn clients_are_answered_side_by_side() {
    let hub = full();
    let server = serve(&hub);
    let address = server.address();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(move || {
                let mut last = 0;
                for _ in 0..20 {
                    let answers = json(address, "/api/v1/answers?query=growing&limit=10000");
                    let answers = answers["answers"].as_array().expect("a list").len();
                    // Each commit has two of them.
                    assert!(answers >= last && answers.is_multiple_of(2), "{answers} {last}");
                    last = answers;
                    json(address, "/api/v1/stories/e1");
                }
            });
        }
        for number in 0..50 {
            let mut answers = vec![answer(2 * number, None), answer(2 * number + 1, None)];
            answers.iter_mut().for_each(|answer| "growing".clone_into(&mut answer.query));
            hub.publish(&archive::ArchiveChanges { answers, ..archive::ArchiveChanges::default() })
                .expect("it is stored");
        }
    });
    let answers = json(address, "/api/v1/answers?query=growing&limit=10000");
    assert_eq!(answers["answers"].as_array().expect("a list").len(), 100);
}
