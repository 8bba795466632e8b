//! Streams of what is published.

use crate::client::{Stream, get};
use crate::sample::{self, HOSTILE, changes, full, hub, serve};
use archive::ArchiveChanges;
use model::{Answer, Column, ColumnKind, Span, Value};
use serde_json::{json, to_value};
use std::net::Shutdown;
use std::time::Instant;
use web::view::Status;

#[test]
fn a_stream_is_told_the_state_and_then_what_is_published() {
    let hub = hub();
    hub.set_status(sample::status());
    hub.set_queries(sample::queries());
    let server = serve(&hub);
    let mut stream = Stream::connect(server.address());
    let (name, mut status) = stream.next().expect("a message");
    assert_eq!(name, "status");
    let mut expected = to_value(sample::status()).expect("JSON");
    expected["now"] = status["now"].clone();
    assert_eq!(status, expected);
    let (name, queries) = stream.next().expect("a message");
    assert_eq!((&*name, queries), ("queries", json!({ "queries": sample::queries() })));

    // What does not change is not told.
    hub.set_status(Status { now_ns: 7, ..sample::status() });
    hub.set_queries(sample::queries());
    hub.publish(&changes()).expect("it is stored");
    let ArchiveChanges { answers, events, .. } = changes();
    for answer in answers {
        assert_eq!(stream.next(), Some(("answer".to_owned(), to_value(answer).expect("JSON"))));
    }
    for (event, story) in events.iter().zip([Some("e1"), Some("e1"), None]) {
        let text = ::events::sentence(event);
        let mut event = to_value(event).expect("JSON");
        event["story"] = json!(story);
        event["text"] = json!(text);
        assert_eq!(stream.next(), Some(("event".to_owned(), event)));
    }
    let story = json!({
        "id": "e1", "title": HOSTILE, "text": HOSTILE, "events": ["e1", "e2", "gone"], "events_unlisted": 4, "acknowledged": null,
            "silence": null,
    });
    assert_eq!(stream.next(), Some(("story".to_owned(), story)));

    hub.set_status(Status { ended: true, ..sample::status() });
    hub.set_queries(Vec::new());
    (_, status) = stream.next().expect("a message");
    assert_eq!(status["ended"], true);
    assert_ne!(status["now"], "1970-01-01T00:00:00.000000000Z");
    assert_eq!(stream.next(), Some(("queries".to_owned(), json!({ "queries": [] }))));
}

#[test]
fn latest_answers_outlive_a_restart_and_new_states_of_their_query() {
    let hub = full();
    let latest = |hub: &web::Hub| {
        let server = serve(hub);
        crate::client::json(server.address(), "/api/v1/queries")["queries"][0]["latest"].take()
    };
    let before = latest(&hub);
    assert_eq!(before.as_array().map(Vec::len), Some(3));
    hub.set_queries(sample::queries());
    assert_eq!(latest(&hub), before);
    // Older ones do not replace newer ones.
    let answers = vec![sample::answer(0, None)];
    hub.publish(&ArchiveChanges { answers, ..ArchiveChanges::default() }).expect("it is stored");
    assert_eq!(latest(&hub), before);
    // As after a restart: they are in the archive.
    hub.set_queries(Vec::new());
    hub.set_queries(sample::queries());
    assert_eq!(latest(&hub), before);
    // Another version of the query has no answer yet.
    let mut queries = sample::queries();
    queries[0].columns.pop();
    hub.set_queries(queries);
    assert_eq!(latest(&hub), json!([]));
}

fn large(number: u64) -> ArchiveChanges {
    let window = Some(Span { start_ns: number, end_ns: number + 1 });
    let columns = vec![Column::new("text", ColumnKind::Text, "")];
    let answers = vec![Answer::new("q1", window, columns, vec![vec![Value::Text("x".repeat(1 << 20))]])];
    ArchiveChanges { answers, ..ArchiveChanges::default() }
}

#[test]
fn a_client_that_does_not_read_is_told_how_many_it_missed() {
    const ALL: u64 = 96;
    let hub = hub();
    let server = serve(&hub);
    let mut slow = Stream::open(server.address());
    let mut quick = Stream::open(server.address());
    // More than the server and the two sockets hold.
    for number in 0..ALL {
        hub.publish(&large(number)).expect("it is stored");
        let (name, answer) = quick.next().expect("a message");
        assert_eq!((&*name, &answer["window"]["start"]), ("answer", &json!(model::format_time(number))));
    }
    let (mut told, mut missed) = (0, 0);
    while told + missed < ALL {
        let (name, data) = slow.next().expect("a message");
        match &*name {
            "answer" => {
                // In order, without those that it was told it missed.
                assert_eq!(data["window"]["start"], model::format_time(told + missed));
                told += 1;
            }
            "lagged" => missed += data["missed"].as_u64().expect("a number"),
            other => panic!("{other}"),
        }
    }
    assert_eq!(told + missed, ALL);
    assert!(missed > 0 && told > 0, "{told} {missed}");
}

#[test]
fn there_are_at_most_so_many_streams() {
    let hub = hub();
    let server = serve(&hub);
    let mut streams: Vec<Stream> = (0..256).map(|_| Stream::open(server.address())).collect();
    let refused = get(server.address(), "/api/v1/stream");
    assert_eq!(refused.status, 503);
    assert!(refused.error().contains("too many streams"));
    hub.set_queries(sample::queries());
    for stream in &mut streams {
        assert_eq!(stream.next().expect("a message").0, "queries");
    }
    // One that leaves makes room, once the server sees it.
    let left = streams.pop().expect("a stream");
    left.0.get_ref().shutdown(Shutdown::Both).expect("it is closed");
    drop(left);
    let begun = Instant::now();
    while begun.elapsed() < crate::client::PATIENCE {
        // The head alone: a stream has no end.
        let mut connection = crate::client::connect(server.address());
        use std::io::{Read, Write};
        connection.write_all(b"GET /api/v1/stream HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("it is sent");
        let mut head = [0; 12];
        connection.read_exact(&mut head).expect("a status");
        if &head[9..] == b"200" {
            return;
        }
    }
    panic!("a stream that has left still takes its place");
}

/// A query may answer a million groups. Streams and the list of queries have the first thousand of them, and what the others have.
#[test]
fn a_million_groups_are_told_as_the_first_and_a_rest() {
    const GROUPS: u64 = 1_000_000;
    let columns = vec![
        Column::new("src_port", ColumnKind::Unsigned, ""),
        Column::new("total_byte", ColumnKind::Unsigned, "bytes"),
    ];
    let hub = hub();
    hub.set_queries(vec![web::view::QueryView {
        name: "many".to_owned(),
        columns: columns.clone(),
        ..web::view::QueryView::default()
    }]);
    let server = serve(&hub);
    let mut stream = Stream::connect(server.address());
    assert_eq!([(); 2].map(|()| stream.next().expect("a message").0), ["status", "queries"]);
    let rows =
        (0..GROUPS).map(|group| vec![Value::Unsigned(group), Value::Unsigned(GROUPS - group)]).collect();
    let mut answer = Answer::new("many", Some(sample::window(0)), columns, rows);
    answer.rest.totals = vec![("total_byte".to_owned(), Value::Unsigned(0))];
    hub.publish(&ArchiveChanges { answers: vec![answer], ..ArchiveChanges::default() })
        .expect("it is stored");

    let (name, told) = stream.next().expect("a message");
    assert_eq!(name, "answer");
    let latest = crate::client::json(server.address(), "/api/v1/queries")["queries"][0]["latest"][0].take();
    assert_eq!(latest, told);
    let asked =
        crate::client::json(server.address(), "/api/v1/answers?query=many&rows=7")["answers"][0].take();
    for (answer, listed) in [(told, 1000), (asked, 7)] {
        let rows = answer["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), listed);
        assert!(rows.iter().enumerate().all(|(at, row)| row["src_port"] == json!(at)));
        let rest = GROUPS - listed as u64;
        assert_eq!(answer["rest"], json!({ "groups": rest, "total_byte": rest * (rest + 1) / 2 }));
        // Nothing is missing: it is not listed.
        assert_eq!(answer["status"], "complete");
    }
}
