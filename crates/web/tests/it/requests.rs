//! Installing and removing queries.

use crate::client::{Response, send};
use crate::sample::{HOSTILE, hub, serve};
use model::{DryRunOutcome, HistoryAnswers, Span};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use web::{DryRunAsked, HistoryAsked, Installed, Removed, Request, RequestRefusal, Server};

fn server() -> (Server, Receiver<Request>) {
    let (requests, received) = channel();
    let listen = "127.0.0.1:0".parse().expect("an address");
    (web::serve(hub(), listen, Some(requests)).expect("a server"), received)
}

fn install(address: SocketAddr, file: &str, text: &[u8]) -> Response {
    send(address, &format!("POST /api/v1/queries?file={file}"), &[("Content-Type", "text/plain")], text)
}

#[test]
fn requests_reach_their_owner_and_are_answered_as_he_says() {
    let (server, received) = server();
    let owner = thread::spawn(move || {
        for request in received {
            match request {
                // Nobody answers.
                Request::Install { file, .. } if file == "ignored.eq" => {}
                Request::Install { file, text, replaces, reply } => reply.send(match &*file {
                    "again.eq" => Ok(Installed { queries: vec![replaces.to_string()], warnings: Vec::new() }),
                    "wrong.eq" => Err(RequestRefusal::Invalid {
                        error: "one error".to_owned(),
                        diagnostics: vec![
                            json!({ "severity": "error", "message": HOSTILE, "line": 1, "column": 2 }),
                        ],
                    }),
                    "taken.eq" => Err(RequestRefusal::Conflict("there is one already".to_owned())),
                    "broken.eq" => Err(RequestRefusal::Failed("it failed".to_owned())),
                    _ => Ok(Installed { queries: vec![file], warnings: vec![text] }),
                }),
                Request::Remove { name, reply } => reply.send(match &*name {
                    "none" => Err(RequestRefusal::Unknown("there is no such query".to_owned())),
                    "parent" => Err(RequestRefusal::Conflict("q2 is started by it".to_owned())),
                    _ => Ok(Removed { removed: vec![name] }),
                }),
                Request::History { .. } | Request::DryRun { .. } => panic!("no such request is sent"),
            }
        }
    });
    let address = server.address();
    let installed = install(address, "a%20b%22.eq", HOSTILE.as_bytes());
    assert_eq!(installed.status, 201);
    assert_eq!(installed.json(), json!({ "queries": ["a b\".eq"], "warnings": [HOSTILE] }));
    for (parameters, replaces) in
        [("again.eq", "false"), ("again.eq&replace=true", "true"), ("again.eq&replace=false", "false")]
    {
        assert_eq!(install(address, parameters, b"").json()["queries"], json!([replaces]));
    }
    assert!(install(address, "again.eq&replace=yes", b"").error().starts_with("replace"));
    let wrong = install(address, "wrong.eq", b"select");
    assert_eq!((wrong.status, &*wrong.error()), (422, "one error"));
    assert_eq!(wrong.json()["diagnostics"][0]["message"], HOSTILE);
    for (file, status) in [("taken.eq", 409), ("broken.eq", 500), ("ignored.eq", 503)] {
        let refused = install(address, file, b"");
        assert_eq!(refused.status, status);
        refused.error();
    }
    let removed = send(address, "DELETE /api/v1/queries/q%2F1", &[], b"");
    assert_eq!((removed.status, removed.json()), (200, json!({ "removed": ["q/1"] })));
    for (name, status) in [("none", 404), ("parent", 409), ("%ff", 400)] {
        let refused = send(address, &format!("DELETE /api/v1/queries/{name}"), &[], b"");
        assert_eq!(refused.status, status);
        refused.error();
    }
    drop(server);
    owner.join().expect("the owner is told that nothing more comes");
}

#[test]
fn what_is_no_text_reaches_nobody() {
    let (server, received) = server();
    let address = server.address();
    let most = 1 << 20;
    let cases: [(&str, &[u8], u16); 5] = [
        ("a%2Fb", b"", 400),
        ("a%0Ab", b"", 400),
        (&"x".repeat(256), b"", 400),
        ("a", b"q1: \xff", 400),
        ("a", &vec![b'x'; most + 1], 413),
    ];
    for (file, text, status) in cases {
        let refused = install(address, file, text);
        assert_eq!(refused.status, status, "{file}");
        refused.error();
    }
    assert!(received.try_recv().is_err());
    // The largest one does.
    let client = thread::spawn(move || install(address, "a", &vec![b'x'; most]).status);
    let Ok(Request::Install { text, reply, .. }) = received.recv_timeout(crate::client::PATIENCE) else {
        panic!("it comes");
    };
    assert_eq!(text.len(), most);
    reply.send(Ok(Installed::default()));
    assert_eq!(client.join().expect("an answer"), 201);
}

#[test]
fn an_owner_that_has_left_is_reported() {
    let (server, received) = server();
    drop(received);
    let refused = install(server.address(), "a", b"");
    assert_eq!(refused.status, 503);
    refused.error();
}

#[test]
fn a_question_about_history_is_what_its_address_says() {
    let (server, received) = server();
    let address = server.address();
    let ask = |parameters: &str, text: &[u8]| {
        send(address, &format!("POST /api/v1/history{parameters}"), &[], text)
    };
    let all = "?nodes=a,%20b&from=2026-11-01&to=2026-11-02T06:00Z&per=1min&top=3&memory=1MiB&time=2s";
    let asked = thread::scope(|scope| {
        let client = scope.spawn(|| ask(all, "select ü".as_bytes()));
        let Ok(Request::History { asked, reply }) = received.recv() else { panic!("another request") };
        assert!(!reply.has_left());
        reply.send(Ok(HistoryAnswers::default()));
        let response = client.join().expect("a response");
        let none = json!({ "answers": [], "nodes": [], "warnings": [] });
        assert_eq!((response.status, response.json()), (200, none));
        asked
    });
    let midnight = 1_793_491_200_000_000_000;
    let expected = HistoryAsked {
        text: "select ü".to_owned(),
        nodes: vec!["a".to_owned(), "b".to_owned()],
        from_ns: Some(midnight),
        to_ns: Some(midnight + 30 * 3_600_000_000_000),
        every_ns: Some(60_000_000_000),
        top: 3,
        memory_bytes: Some(1 << 20),
        time: Duration::from_secs(2),
    };
    assert_eq!(asked, expected);
    for wrong in
        ["time=0s", "time=x", "time=601s", "memory=much", "from=-x", "to=x", "top=-1", "per=x", "form=-1h"]
    {
        let refused = ask(&format!("?{wrong}"), b"");
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.error().starts_with(&wrong[..2]), "{}", refused.error());
    }
    assert!(received.try_recv().is_err());
    // A client that leaves is noticed.
    let mut client = std::net::TcpStream::connect(address).expect("a server");
    let head = b"POST /api/v1/history?from=-1h HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    std::io::Write::write_all(&mut client, head).expect("sent");
    let Ok(Request::History { asked, reply }) = received.recv() else { panic!("another request") };
    assert!(asked.from_ns.is_some_and(|from_ns| from_ns > midnight) && asked.text.is_empty());
    drop(client);
    while !reply.has_left() {
        thread::sleep(Duration::from_millis(5));
    }
    // A run answers none.
    let run = serve(&hub());
    let refused = send(run.address(), "POST /api/v1/history", &[], b"");
    assert_eq!(refused.status, 409);
    assert!(refused.error().contains("--store"), "{}", refused.error());
}

#[test]
fn a_dry_run_is_what_its_address_says() {
    let (server, received) = server();
    let play = |parameters: &str| {
        send(server.address(), &format!("POST /api/v1/dry-run{parameters}"), &[], "a: ü".as_bytes())
    };
    let all = "?file=a.eq&from=2026-11-01&to=2026-11-02T06:00Z&memory=1MiB&time=2s";
    let asked = thread::scope(|scope| {
        let client = scope.spawn(|| play(all));
        let Ok(Request::DryRun { asked, reply }) = received.recv() else { panic!("another request") };
        reply.send(Ok(DryRunOutcome { fired: 3, ..DryRunOutcome::default() }));
        let response = client.join().expect("a response");
        let played = json!({
            "period": { "start": "2026-11-01T00:00:00.000000000Z", "end": "2026-11-02T06:00:00.000000000Z" },
            "judged": null, "fired": 3, "events": [], "more_events": 0, "stories": [], "nodes": [], "warnings": [],
        });
        assert_eq!((response.status, response.json()), (200, played));
        asked
    });
    let midnight = 1_793_491_200_000_000_000;
    let expected = DryRunAsked {
        file: "a.eq".to_owned(),
        text: "a: ü".to_owned(),
        period: Span { start_ns: midnight, end_ns: midnight + 30 * 3_600_000_000_000 },
        memory_bytes: Some(1 << 20),
        time: Duration::from_secs(2),
    };
    assert_eq!(asked, expected);
    for wrong in [
        "time=0s",
        "time=601s",
        "from=-x",
        "to=x",
        "from=2100-01-01",
        "memory=much",
        "file=a%2Fb",
        "form=-1h",
    ] {
        let refused = play(&format!("?{wrong}"));
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.error().starts_with(&wrong[..2]), "{}", refused.error());
    }
    assert!(received.try_recv().is_err());
    // An hour up to now.
    thread::scope(|scope| {
        let client = scope.spawn(|| play(""));
        let Ok(Request::DryRun { asked, reply }) = received.recv() else { panic!("another request") };
        assert_eq!(asked.period.length_ns(), 3_600_000_000_000);
        assert!(asked.period.start_ns > midnight);
        // An owner that does not carry out dry runs refuses them.
        reply.send(Err(RequestRefusal::NotHere));
        let refused = client.join().expect("a response");
        assert_eq!(refused.status, 409);
        assert!(refused.error().contains("--store"), "{}", refused.error());
    });
}
