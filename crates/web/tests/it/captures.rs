//! Captures and their files.

use crate::client::{get, json};
use crate::sample::{self, HOSTILE, PACKETS, START, full, serve};
use archive::ArchiveChanges;
use model::{Answer, Column, ColumnKind, Item, format_time};
use serde_json::{Value as Json, json, to_value};
use std::sync::Mutex;

/// The lines that were logged. One test alone fetches files of a hub that logs.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(line: &str) {
    LOG.lock().expect("nobody panics").push(line.to_owned());
}

fn list(address: std::net::SocketAddr, parameters: &str) -> Vec<Json> {
    let found = json(address, &format!("/api/v1/captures{parameters}"));
    found["captures"].as_array().expect("a list").clone()
}

#[test]
fn captures_are_listed_with_where_their_files_are() {
    let server = serve(&full());
    let address = server.address();
    let all = list(address, "");
    let first = json!({
        "event": "e1", "node": "Node1", "query": "q2", "at": format_time(START + 10 * sample::SECOND), "story": "e1",
        "packets": 10, "bytes": u64::MAX.to_string(), "file": HOSTILE, "ended_by": "packets",
        "dropped": { "capture_rate": 3 }, "cut": true, "href": "/api/v1/captures/e1/Node1", "reason": null,
    });
    assert_eq!(all[0], first);
    let reasons: Vec<_> = all.iter().map(|one| one["reason"].as_str()).collect();
    assert_eq!((reasons[0], reasons[1], reasons[3]), (None, None, Some(HOSTILE)));
    assert!(reasons[2].is_some_and(|reason| reason.contains("too large")), "{reasons:?}");
    assert!(all[2..].iter().all(|one| one["href"].is_null()));
    let events = |parameters: &str| -> Vec<String> {
        list(address, parameters)
            .iter()
            .map(|one| one["event"].as_str().expect("a text").to_owned())
            .collect()
    };
    assert_eq!(events("?event=e2"), ["e2", "e2"]);
    assert_eq!(events("?story=e1"), ["e1", "e2", "e2"]);
    assert_eq!(events("?story=e1&event=e1"), ["e1"]);
    assert_eq!(events("?limit=1"), ["e2"]);
    assert_eq!(events("?story=e3"), [""; 0]);
    assert!(get(address, "/api/v1/captures?node=x").error().starts_with("node: "));
}

#[test]
fn a_file_is_fetched_by_event_and_node_and_each_fetch_is_logged() {
    let hub = full();
    hub.log_to(log);
    let server = serve(&hub);
    let address = server.address();
    let found = list(address, "");
    let hrefs = found.iter().filter_map(|one| one["href"].as_str());
    let mut fetched = 0;
    for (href, begin) in hrefs.zip(["e1.Node1.", "e3.__script__"]) {
        let file = get(address, href);
        assert_eq!((file.status, &*file.body), (200, PACKETS), "{href}");
        assert_eq!(file.header("content-type"), Some("application/vnd.tcpdump.pcap"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        let disposition = file.header("content-disposition").expect("it is a file");
        let shown =
            disposition.strip_prefix("attachment; filename=\"").and_then(|rest| rest.strip_suffix('"'));
        let shown = shown.expect("a name");
        assert!(shown.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)), "{shown}");
        assert!(shown.starts_with(begin) && shown.ends_with(".pcapng") && !shown.contains(".."), "{shown}");
        fetched += 1;
    }
    assert_eq!(fetched, 2);
    let logged = LOG.lock().expect("nobody panics").clone();
    assert_eq!(logged.len(), 2);
    assert!(logged[0].contains("e1") && logged[0].contains("Node1"), "{logged:?}");
    assert!(logged.iter().all(|line| !line.contains(char::is_control)), "{logged:?}");
    // By no other name, and not one that is not here: nothing of it is logged.
    for (path, reason) in [
        ("e1/Node2", "there is no capture"),
        ("none/Node1", "there is no capture"),
        ("e1/%2e%2e%2fNode1", "there is no capture"),
        ("e3/..%2F..%2Fetc%2Fpasswd", "there is no capture"),
        ("e2/Node1", "too large"),
        ("e2/Node2", "onerror"),
        ("e1", "/api/v1/openapi.json"),
    ] {
        let none = get(address, &format!("/api/v1/captures/{path}"));
        assert_eq!(none.status, 404, "{path}");
        let error = none.error();
        assert!(error.contains(reason), "{path}: {error}");
    }
    let logged = LOG.lock().expect("nobody panics").clone();
    assert_eq!(logged.iter().filter(|line| line.contains("fetched")).count(), 2, "{logged:?}");
}

#[test]
fn a_file_that_made_room_is_not_found_for_that_reason() {
    let keep = archive::ArchiveRetention { capture_bytes: 4, ..archive::ArchiveRetention::default() };
    let hub = web::Hub::new(archive::Archive::in_memory(keep).expect("an archive"));
    hub.publish(&sample::changes()).expect("it is stored");
    let server = serve(&hub);
    let none = get(server.address(), "/api/v1/captures/e1/Node1");
    assert_eq!(none.status, 404);
    assert!(none.error().contains("made room"));
}

/// An answer of an instance, in the window of this number.
fn pinned(window: u64, value: &str) -> Answer {
    let item = Item { column: Column::new("name", ColumnKind::Text, ""), value: value.into() };
    Answer { bound: vec![item], ..sample::answer(window, Some("Node1")) }
}

#[test]
fn answers_of_instances_stand_side_by_side() {
    let hub = sample::hub();
    hub.set_queries(sample::queries());
    let server = serve(&hub);
    let latest = |hub: &web::Hub, answers: Vec<Answer>| {
        hub.publish(&ArchiveChanges { answers, ..ArchiveChanges::default() }).expect("it is stored");
        json(server.address(), "/api/v1/queries")["queries"][0]["latest"].clone()
    };
    let (a, b) = (pinned(0, "a"), pinned(0, "b"));
    assert_eq!(latest(&hub, vec![a.clone(), b.clone()]), to_value([&a, &b]).expect("JSON"));
    let again = Answer { coverage: Some(0.5), ..a.clone() };
    assert_eq!(latest(&hub, vec![again.clone()]), to_value([&b, &again]).expect("JSON"));
    // The window that follows has one of them; what comes late changes nothing.
    let next = pinned(1, "b");
    assert_eq!(latest(&hub, vec![next.clone()]), to_value([&next]).expect("JSON"));
    assert_eq!(latest(&hub, vec![again.clone()]), to_value([&next]).expect("JSON"));
    let all = json(server.address(), "/api/v1/answers?query=q1");
    assert_eq!(all, json!({ "answers": [again, b, next] }));
    let table = get(server.address(), "/api/v1/answers?query=q1&format=csv");
    let mut rows = csv::Reader::from_reader(&*table.body);
    assert_eq!(rows.headers().expect("a header").get(5), Some("bound"));
    let pinned = rows.records().map(|row| row.expect("a row")[5].to_owned()).collect::<Vec<_>>();
    assert_eq!(pinned, [r#"{"name":"a"}"#, r#"{"name":"b"}"#, r#"{"name":"b"}"#]);
}
