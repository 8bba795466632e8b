//! Acknowledgements of stories: how they are stored, shown and streamed, and which role they need.

use crate::access::Keys;
use crate::client::{Stream, json, send};
use crate::sample::{changes, full, serve, story};
use model::parse_time;
use serde_json::{Value as Json, json};
use web::Role;

const PATH: &str = "/api/v1/stories/e1";

/// The next message of this name.
fn next(stream: &mut Stream, name: &str) -> Json {
    loop {
        let (own, data) = stream.next().expect("a message");
        if own == name {
            return data;
        }
    }
}

#[test]
fn it_is_shown_and_told_until_it_is_withdrawn() {
    let hub = full();
    let server = serve(&hub);
    let address = server.address();
    let mut stream = Stream::connect(address);
    let put =
        |more: &str, note: &str| send(address, &format!("PUT /api/v1/stories/{more}"), &[], note.as_bytes());
    // By the name of another of its events.
    let answer = put("e2/acknowledgement?events=4", " Called the\nprovider: <b> \n").json();
    assert_eq!(answer["story"], "e1");
    let seen = &answer["acknowledged"];
    assert_eq!(
        (&seen["by"], &seen["note"], &seen["events"]),
        (&Json::Null, &json!("Called the\nprovider: <b>"), &json!(4))
    );
    assert!(parse_time(seen["at"].as_str().expect("a time")).is_some());
    assert_eq!(&json(address, PATH)["acknowledged"], seen);
    let listed = json(address, "/api/v1/stories");
    assert_eq!(
        (&listed["stories"][0]["acknowledged"], &listed["stories"][0]["events_total"]),
        (seen, &json!(7))
    );
    let told = next(&mut stream, "story");
    assert_eq!((&told["id"], &told["acknowledged"]), (&json!("e1"), seen));
    // A story that goes on is told with it, and has more events than were seen.
    let mut longer = story();
    longer.events_unlisted += 1;
    hub.publish(&archive::ArchiveChanges { stories: vec![longer], ..changes() }).expect("it is stored");
    assert_eq!(&next(&mut stream, "story")["acknowledged"], seen);
    assert_eq!(json(address, "/api/v1/stories")["stories"][0]["events_total"], 8);
    // No more can be seen than there is; without a number it is all.
    for more in ["?events=18446744073709551615", ""] {
        let all = put(&format!("e1/acknowledgement{more}"), "").json();
        assert_eq!(all["acknowledged"]["events"], 8);
    }
    let withdrawn = send(address, &format!("DELETE {PATH}/acknowledgement"), &[], b"").json();
    assert_eq!(withdrawn, json!({ "story": "e1", "acknowledged": null }));
    assert_eq!(json(address, PATH)["acknowledged"], Json::Null);
}

#[test]
fn what_does_not_go_is_refused_and_changes_nothing() {
    let server = serve(&full());
    let address = server.address();
    let letters = |number: usize| "é".repeat(number / 2).into_bytes();
    for (more, note, status) in [
        ("e1/acknowledgement", letters(1_000), 200),
        ("e1/acknowledgement", letters(1_002), 400),
        ("e1/acknowledgement", b"a\x1b[2J".to_vec(), 400),
        ("e1/acknowledgement", vec![0xff], 400),
        ("e1/acknowledgement?events=-1", Vec::new(), 400),
        ("e1/acknowledgement?event=1", Vec::new(), 400),
        ("none/acknowledgement", Vec::new(), 404),
    ] {
        let response = send(address, &format!("PUT /api/v1/stories/{more}"), &[], &note);
        assert_eq!(response.status, status, "{more} {note:?}");
        if status != 200 {
            response.error();
        }
    }
    let kept = &json(address, PATH)["acknowledged"];
    assert_eq!(kept["note"].as_str().map(str::len), Some(1_000));
}

#[test]
fn it_has_the_name_of_the_token_and_needs_the_role() {
    let keys = Keys::new();
    let server = keys.serve(&full());
    let ask = |method: &str, role: Role| {
        let headers = [("Authorization", &*keys.bearer(role))];
        send(server.address(), &format!("{method} {PATH}/acknowledgement"), &headers, b"")
    };
    assert_eq!(ask("PUT", Role::View).status, 403);
    assert_eq!(ask("PUT", Role::Run).json()["acknowledged"]["by"], "run");
    assert_eq!(ask("DELETE", Role::View).status, 403);
    assert_eq!(ask("PUT", Role::Admin).json()["acknowledged"]["by"], "admin");
}
