//! Silences of stories: how they are set, listed, told and ended, what they count, and which role they need.

use crate::access::Keys;
use crate::client::{Stream, get, json, send};
use crate::sample::{changes, event, full, serve, story};
use archive::ArchiveChanges;
use model::{EventKind, Story, parse_time};
use serde_json::{Value as Json, json};
use web::Role;

const PATH: &str = "/api/v1/stories/e1";
const HOUR: u64 = 3_600_000_000_000;

/// The next message of this name.
fn next(stream: &mut Stream, name: &str) -> Json {
    loop {
        let (own, data) = stream.next().expect("a message");
        if own == name {
            return data;
        }
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    u64::try_from(since.as_nanos()).expect("a time")
}

fn time(of: &Json) -> u64 {
    parse_time(of.as_str().expect("a time")).expect("a time")
}

#[test]
fn it_is_shown_told_and_counted_until_it_is_ended() {
    let hub = full();
    let server = serve(&hub);
    let address = server.address();
    let mut stream = Stream::connect(address);
    let none = json(address, "/api/v1/silences");
    assert_eq!((none, &json(address, PATH)["silence"]), (json!({ "silences": [] }), &Json::Null));
    // By the name of another of its events.
    let put = |more: &str, note: &[u8]| send(address, &format!("PUT /api/v1/stories/{more}"), &[], note);
    let answer = put("e2/silence?for=2h", " A <b>test</b>\n".as_bytes()).json();
    let silence = &answer["silence"];
    assert_eq!((&answer["story"], &silence["by"], &silence["fired"]), (&json!("e1"), &Json::Null, &json!(0)));
    assert_eq!(silence["note"], "A <b>test</b>");
    assert_eq!(time(&silence["until"]) - time(&silence["at"]), 2 * HOUR);
    assert_eq!(&json(address, PATH)["silence"], silence);
    assert_eq!(&json(address, "/api/v1/stories")["stories"][0]["silence"], silence);
    let told = next(&mut stream, "story");
    assert_eq!((&told["id"], &told["silence"]), (&json!("e1"), silence));
    // A step of the story, and a story of something else.
    let mut step = event("e9", EventKind::Fired, 5);
    step.parent = Some("e1".to_owned());
    let mut other = event("o1", EventKind::Fired, 6);
    other.query = "other".to_owned();
    let of_other = Story { id: "o1".to_owned(), events: vec!["o1".to_owned()], ..Story::default() };
    let mut longer = story();
    longer.events.push("e9".to_owned());
    let more = ArchiveChanges {
        events: vec![step, other],
        stories: vec![longer, of_other],
        ..ArchiveChanges::default()
    };
    hub.publish(&more).expect("it is stored");
    let [first, second] = [0; 2].map(|_| next(&mut stream, "event"));
    assert_eq!((&first["event"], &first["silenced_until"]), (&json!("e9"), &silence["until"]));
    assert_eq!((&second["event"], &second["silenced_until"]), (&json!("o1"), &Json::Null));
    assert_eq!(next(&mut stream, "story")["silence"]["fired"], 1);
    let listed = json(address, "/api/v1/events?query=other");
    assert!(
        listed["events"].as_array().expect("events").iter().all(|event| event["silenced_until"].is_null())
    );
    let listed = &json(address, "/api/v1/silences")["silences"];
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let own = &listed[0];
    assert_eq!((&own["story"], &own["holds"], &own["fired"]), (&json!("e1"), &json!(true), &json!(1)));
    assert!(own["query"].is_string());
    // It is ended, keeps its count, and is still listed.
    let ended = send(address, &format!("DELETE {PATH}/silence"), &[], b"").json();
    assert_eq!((&ended["story"], &ended["silence"]["fired"]), (&json!("e1"), &json!(1)));
    assert!(time(&ended["silence"]["until"]) < time(&silence["until"]));
    assert_eq!(json(address, "/api/v1/silences")["silences"][0]["holds"], false);
    // A story that begins as a silent one did is ended with it.
    send(address, &format!("PUT {PATH}/silence?for=1h"), &[], b"").json();
    let mut again = event("f1", EventKind::Fired, now());
    again.key = event("e1", EventKind::Fired, 1).key;
    let of_again = Story { id: "f1".to_owned(), events: vec!["f1".to_owned()], ..Story::default() };
    let more = ArchiveChanges { events: vec![again], stories: vec![of_again], ..ArchiveChanges::default() };
    hub.publish(&more).expect("it is stored");
    assert_eq!(json(address, "/api/v1/stories/f1")["silence"]["fired"], 1);
    let ended = send(address, "DELETE /api/v1/stories/f1/silence", &[], b"").json();
    assert_eq!((&ended["story"], &ended["silence"]["fired"]), (&json!("f1"), &json!(1)));
    assert_eq!(json(address, "/api/v1/silences")["silences"][0]["holds"], false);
    // One that was never silent stays so.
    let never = send(address, "DELETE /api/v1/stories/o1/silence", &[], b"").json();
    assert_eq!(never, json!({ "story": "o1", "silence": null }));
}

#[test]
fn what_does_not_go_is_refused_and_changes_nothing() {
    let hub = full();
    hub.publish(&changes()).expect("it is stored");
    let server = serve(&hub);
    let address = server.address();
    let letters = |number: usize| "é".repeat(number / 2).into_bytes();
    for (more, note, status) in [
        ("e1/silence?for=30d", letters(1_000), 200),
        ("e1/silence?for=2h", letters(1_002), 400),
        ("e1/silence?for=2h", b"a\x1b[2J".to_vec(), 400),
        ("e1/silence?for=2h", vec![0xff], 400),
        ("e1/silence", Vec::new(), 400),
        ("e1/silence?for=0s", Vec::new(), 400),
        ("e1/silence?for=31d", Vec::new(), 400),
        ("e1/silence?for=-1h", Vec::new(), 400),
        ("e1/silence?for=x", Vec::new(), 400),
        ("e1/silence?until=2h", Vec::new(), 400),
        ("none/silence?for=2h", Vec::new(), 404),
    ] {
        let response = send(address, &format!("PUT /api/v1/stories/{more}"), &[], &note);
        assert_eq!(response.status, status, "{more} {note:?}");
        if status != 200 {
            response.error();
        }
    }
    assert_eq!(json(address, PATH)["silence"]["note"].as_str().map(str::len), Some(1_000));
    assert_eq!(get(address, "/api/v1/silences?limit=1").status, 400);
}

#[test]
fn it_has_the_name_of_the_token_and_needs_the_role() {
    let keys = Keys::new();
    let server = keys.serve(&full());
    let ask = |line: &str, role: Role| {
        let headers = [("Authorization", &*keys.bearer(role))];
        send(server.address(), line, &headers, b"")
    };
    let [set, end] = [format!("PUT {PATH}/silence?for=1h"), format!("DELETE {PATH}/silence")];
    assert_eq!(ask(&set, Role::View).status, 403);
    assert_eq!(ask(&set, Role::Run).json()["silence"]["by"], "run");
    assert_eq!(ask(&end, Role::View).status, 403);
    assert_eq!(ask("GET /api/v1/silences", Role::View).json()["silences"][0]["by"], "run");
    assert_eq!(ask(&end, Role::Admin).status, 200);
}
