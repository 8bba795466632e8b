//! Texts that clients have checked, and the words that they may have.

use crate::client::{Response, json, send};
use crate::sample::{hub, serve};
use equery::{CheckOptions, ExplainContext, QueryItems, SourceText};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use web::{Checking, Hub};

fn options() -> CheckOptions {
    let standing = QueryItems {
        name: "flood".to_owned(),
        columns: vec!["sources".to_owned()],
        keys: vec!["dst_addr".to_owned()],
        ..QueryItems::default()
    };
    CheckOptions {
        set: vec![("Large".to_owned(), "10K".to_owned())],
        known_nodes: Some(vec!["Node1".to_owned(), "Node2".to_owned()]),
        continuous: vec![standing],
        base_window_ns: Some(1_000_000_000),
        key: Some(vec!["src_addr".to_owned(), "dst_addr".to_owned()]),
        ..CheckOptions::default()
    }
}

fn checking() -> Checking {
    let refuse = |file: &str, text: &str, replaces: bool| {
        let is_taken = text.starts_with("flood:") && !replaces;
        is_taken.then(|| format!("{file}: taken")).into_iter().collect()
    };
    Checking::new(options()).with_grace(3_000_000_000).with_refusals(refuse)
}

fn check(address: SocketAddr, parameters: &str, text: &str) -> Response {
    send(address, &format!("POST /api/v1/check{parameters}"), &[], text.as_bytes())
}

fn here() -> (Hub, web::Server) {
    let hub = hub();
    hub.set_checking(checking());
    let server = serve(&hub);
    (hub, server)
}

#[test]
fn a_text_is_checked_and_explained_for_what_is_here() {
    let (_hub, server) = here();
    let address = server.address();
    let explain = ExplainContext { grace_ns: 3_000_000_000, ..ExplainContext::from_options(&options()) };
    let right =
        "who: select src_addr, sum(total_byte) as b where node_id = Node2 groupby src_addr having b > Large
                 every 1s when flood.sources > 5 run 2s;
                 all: select count(*);";
    let wrong = [
        // What is known is what is here.
        "who: select src_addr where node_id = Node3;",
        "who: select count(*) when flod.sources > 5;",
        "who: select count(*) every 1500ms;",
        "who: select dst_port;",
        "a: select nothing; b: select count(*) as n, dst_addr groupby dst_addr every 1s;",
        "ü: '",
    ];
    for text in [right].into_iter().chain(wrong) {
        let checked = equery::check(&SourceText { name: "a b.eq", text }, &options());
        let standing: Vec<QueryItems> = checked.queries.iter().map(QueryItems::from_query).collect();
        let explanation = (!checked.has_errors()).then(|| equery::explain(&checked, &explain));
        assert_eq!(explanation.is_some(), text == right, "{text}: {:?}", checked.diagnostics);
        let expected = json!({
            "file": "a b.eq",
            "diagnostics": checked.diagnostics,
            "queries": standing,
            "refused": [],
            "explanation": explanation,
            "unexplained": 0,
        });
        let response = check(address, "?file=a%20b.eq", text);
        assert_eq!((response.status, response.json()), (200, expected), "{text}");
    }
    let items = json!([{ "name": "b", "columns": ["n", "dst_addr"], "keys": ["dst_addr"] }]);
    assert_eq!(check(address, "", wrong[4]).json()["queries"], items);
    // Without errors, and yet it cannot stand.
    let refused = check(address, "?file=f", "flood: select count(*);").json();
    assert_eq!((&refused["refused"], &refused["diagnostics"]), (&json!(["f: taken"]), &json!([])));
    let replacing = check(address, "?file=f&replace=true", "flood: select count(*);").json();
    assert_eq!(replacing["refused"], json!([]));
    let many = check(address, "", &"select count(*);".repeat(130)).json();
    assert_eq!(many["explanation"]["queries"].as_array().map(Vec::len), Some(100));
    assert_eq!((&many["unexplained"], many["queries"].as_array().map(Vec::len)), (&json!(30), Some(130)));
}

#[test]
fn what_is_no_text_is_refused() {
    let (_hub, server) = here();
    let address = server.address();
    for (parameters, status) in [("?file=a%2Fb", 400), ("?file=a%0A", 400), ("?text=x", 400)] {
        let refused = check(address, parameters, "");
        assert_eq!(refused.status, status, "{parameters}");
        refused.error();
    }
    assert_eq!(send(address, "POST /api/v1/check", &[], b"q: \xff").status, 400);
    assert_eq!(check(address, "", &" ".repeat((1 << 20) + 1)).status, 413);
    assert_eq!(check(address, "", &" ".repeat(1 << 20)).status, 200);
}

#[test]
fn the_words_are_those_of_the_checker_and_of_this_place() {
    let (hub, server) = here();
    let words = json(server.address(), "/api/v1/language");
    let mut expected = json!(equery::language());
    expected["nodes"] = json!(["Node1", "Node2"]);
    expected["queries"] = json!(options().continuous);
    expected["variables"] = json!(["Large"]);
    assert_eq!(words, expected);
    let items = json!([{ "name": "flood", "columns": ["sources"], "keys": ["dst_addr"] }]);
    assert_eq!(words["queries"], items);
    // What changes here is told to who asks later.
    hub.set_checking(Checking::default());
    assert_eq!(json(server.address(), "/api/v1/language")["nodes"], json!([]));
}

#[test]
fn one_text_is_checked_at_a_time_and_nobody_else_waits() {
    let hub = hub();
    let (entered, enters) = mpsc::channel();
    let (leave, leaves) = mpsc::channel::<()>();
    let leaves = Mutex::new(leaves);
    let refuse = move |_: &str, _: &str, _: bool| {
        entered.send(()).expect("the test waits");
        // Ends when the test lets it, or has failed.
        let _ = leaves.lock().expect("one at a time").recv();
        Vec::new()
    };
    hub.set_checking(Checking::new(options()).with_refusals(refuse));
    let server = Arc::new(serve(&hub));
    let address = server.address();
    thread::scope(|scope| {
        let leave = leave;
        let first = scope.spawn(move || check(address, "", "select count(*)").status);
        enters.recv().expect("it is checked");
        // One is checked, sixteen wait: of seventeen more, one is refused, and it alone is answered.
        let (answered, answers) = mpsc::channel();
        for _ in 0..17 {
            let answered = answered.clone();
            scope
                .spawn(move || answered.send(check(address, "", "select count(*)")).expect("the test waits"));
        }
        let busy = answers.recv().expect("one is refused");
        assert_eq!((busy.status, busy.header("retry-after")), (429, Some("2")));
        assert!(answers.try_recv().is_err() && enters.try_recv().is_err());
        let status = json(address, "/api/v1/status");
        assert_eq!(status["refused_requests"]["busy"], 1);
        assert_eq!(json(address, "/api/v1/answers")["answers"], json!([]));
        drop(leave);
        assert_eq!(first.join().expect("a response"), 200);
        assert!((0..16).all(|_| answers.recv().expect("a response").status == 200));
    });
}
