//! Tokens: who is let in, to what, and what becomes of the others.

use crate::client::{PATIENCE, Response, Stream, get, send};
use crate::description::description;
use crate::sample::{full, serve};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use web::{AccessToken, Hub, Role, Server, ServerSettings, TokenFile, Tokens};

/// A file of tokens, one of each role under its name.
pub(crate) struct Keys {
    folder: tempfile::TempDir,
    pub(crate) tokens: Vec<(Role, AccessToken)>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut keys = Self { folder, tokens: Vec::new() };
        for role in Role::ALL {
            let token = keys.change(|file| file.add(role.name(), role));
            keys.tokens.push((role, token));
        }
        keys
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("tokens")
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut TokenFile) -> Result<T, String>) -> T {
        TokenFile::change(&self.path(), change).expect("it is changed")
    }

    pub(crate) fn settings(&self) -> ServerSettings {
        let tokens = Tokens::open(&self.path()).expect("tokens");
        ServerSettings {
            tokens: Some(tokens),
            ..ServerSettings::new("127.0.0.1:0".parse().expect("an address"))
        }
    }

    pub(crate) fn serve(&self, hub: &Hub) -> Server {
        web::serve_with(hub.clone(), self.settings(), None).expect("a server")
    }

    /// The header of the token of a role.
    pub(crate) fn bearer(&self, role: Role) -> String {
        let (_, token) = self.tokens.iter().find(|(own, _)| *own == role).expect("one of each");
        format!("Bearer {}", token.text())
    }
}

fn ask(address: SocketAddr, line: &str, bearer: &str) -> Response {
    send(address, line, &[("Authorization", bearer)], b"")
}

/// How often this was refused so far.
pub(crate) fn refused(hub: &Hub, name: &str) -> u64 {
    let server = serve(hub);
    let status = get(server.address(), "/api/v1/status").json();
    status["refused_requests"][name].as_u64().unwrap_or(0)
}

#[test]
fn each_call_needs_the_role_that_the_description_names() {
    let (hub, keys) = (full(), Keys::new());
    let server = keys.serve(&hub);
    let address = server.address();
    let mut calls = 0;
    for (path, operations) in description()["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let asked =
                path.replace("{event}/{node}", "e1/Node1").replace("{name}", "q1").replace("{id}", "e1");
            let line = format!("{} /api/v1{asked}", method.to_uppercase());
            if operation["security"].as_array().is_some_and(Vec::is_empty) {
                assert_eq!(line, "DELETE /api/v1/session");
                assert_eq!(send(address, &line, &[], b"").status, 200);
                continue;
            }
            let needed: Role = operation["x-role"].as_str().unwrap_or_default().parse().expect(&line);
            let none = send(address, &line, &[], b"");
            assert_eq!(
                (none.status, none.header("www-authenticate")),
                (401, Some("Bearer realm=\"edison\""))
            );
            assert!(none.error().contains("edison controller token"), "{line}");
            for role in Role::ALL {
                // A stream has no end.
                if line.ends_with("/stream") && role >= needed {
                    Stream::connect_with(address, &[("Authorization", &keys.bearer(role))]);
                    continue;
                }
                let response = ask(address, &line, &keys.bearer(role));
                let is_let_in = ![401, 403].contains(&response.status);
                assert_eq!(is_let_in, role >= needed, "{line} {role}: {}", response.status);
                if !is_let_in {
                    assert_eq!(response.status, 403);
                    assert!(response.error().contains(&format!("needs the role {needed}")), "{line}");
                }
            }
            calls += 1;
        }
    }
    assert!(calls >= 15, "{calls}");
    assert_eq!(refused(&hub, "no_token"), calls);
    // Seven calls need more than view, none more than run.
    assert_eq!(refused(&hub, "role"), 7);
}

#[test]
fn the_page_itself_is_for_all_and_what_is_not_there_is_for_none() {
    let keys = Keys::new();
    let server = keys.serve(&full());
    assert_eq!(get(server.address(), "/").status, 200);
    assert_eq!(get(server.address(), "/api/v1/none").status, 404);
    assert_eq!(send(server.address(), "HEAD /api/v1/status", &[], b"").status, 401);
}

#[test]
fn wrong_tokens_are_refused_whatever_they_look_like() {
    let (hub, keys) = (full(), Keys::new());
    let server = keys.serve(&hub);
    let right = keys.bearer(Role::View);
    let mut flipped = right.clone();
    let last = if flipped.pop() == Some('0') { '1' } else { '0' };
    flipped.push(last);
    let stranger = format!("Bearer edison_nobody_{}", "0".repeat(64));
    let admin = right.replace("edison_view_", "edison_admin_");
    let wrong = [&*flipped, &stranger, &admin, "Bearer", "Bearer ", "Basic dmlldzp4", "x", "Bearer \u{e4}"];
    for bearer in wrong {
        let refused = ask(server.address(), "GET /api/v1/status", bearer);
        assert_eq!(refused.status, 401, "{bearer}");
        assert!(refused.header("www-authenticate").is_some());
        assert!(!refused.text().contains(&"0".repeat(64)));
    }
    assert_eq!(refused(&hub, "wrong_token"), wrong.len() as u64);
    for _ in 0..3 {
        assert_eq!(ask(server.address(), "GET /api/v1/status", &right).status, 200);
    }
    // The scheme's name has no case.
    let lower = right.replace("Bearer", "bearer");
    assert_eq!(ask(server.address(), "GET /api/v1/status", &lower).status, 200);
}

#[test]
fn many_wrong_tokens_are_not_looked_at_and_keep_nobody_out_who_is_known() {
    let (hub, keys) = (full(), Keys::new());
    let server = keys.serve(&hub);
    let address = server.address();
    let right = keys.bearer(Role::View);
    assert_eq!(ask(address, "GET /api/v1/status", &right).status, 200);
    let mut statuses = Vec::new();
    for number in 0..100 {
        let wrong = format!("Bearer edison_view_{number:064x}");
        let response = ask(address, "GET /api/v1/status", &wrong);
        if response.status == 429 {
            let wait: u64 =
                response.header("retry-after").and_then(|wait| wait.parse().ok()).expect("seconds");
            assert!((1..=6).contains(&wait), "{wait}");
        }
        statuses.push(response.status);
        if number % 10 == 0 {
            assert_eq!(ask(address, "GET /api/v1/status", &right).status, 200);
        }
    }
    assert!(statuses[..10].iter().all(|status| *status == 401), "{statuses:?}");
    let checked = statuses.iter().filter(|status| **status == 401).count();
    // One more in each five seconds that this takes.
    assert!(statuses[10..].contains(&429) && checked < 60, "{statuses:?}");
    assert_eq!(refused(&hub, "too_many_wrong_tokens"), 100 - checked as u64);
    // Not checked yet, it is not looked at either: until the address may try again.
    let begun = Instant::now();
    while ask(address, "GET /api/v1/status", &keys.bearer(Role::Run)).status == 429 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Asks until a token is taken, or is not.
fn wait_for(address: SocketAddr, bearer: &str, is_taken: bool) {
    let begun = Instant::now();
    loop {
        // Who shows a wrong token again and again is not looked at.
        let status = ask(address, "GET /api/v1/status", bearer).status;
        assert!([200, 401, 429].contains(&status), "{status}");
        if (status == 200) == is_taken {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "it stays");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn changes_of_the_file_take_effect() {
    let (hub, keys) = (full(), Keys::new());
    let server = keys.serve(&hub);
    let address = server.address();
    let bearer = keys.bearer(Role::View);
    let mut stream = Stream::connect_with(address, &[("Authorization", &bearer)]);
    let kept = keys.bearer(Role::Run);
    let mut other = Stream::connect_with(address, &[("Authorization", &kept)]);
    for stream in [&mut stream, &mut other] {
        assert_eq!(stream.next().expect("a message").0, "status");
        assert_eq!(stream.next().expect("a message").0, "queries");
    }
    keys.change(|file| file.remove("view"));
    wait_for(address, &bearer, false);
    // Nothing more is told to who is not known any more.
    hub.publish(&crate::sample::changes()).expect("it is stored");
    assert_eq!(stream.next(), None);
    assert_eq!(other.next().expect("a message").0, "answer");
    // A new token of the same name is another one.
    let new = keys.change(|file| file.add("view", Role::View));
    wait_for(address, &format!("Bearer {}", new.text()), true);
    wait_for(address, &bearer, false);
    // What cannot be read lets nobody in, until it can.
    fs::write(keys.path(), "view view x\n").expect("it is written");
    wait_for(address, &kept, false);
    fs::remove_file(keys.path()).expect("it is removed");
    wait_for(address, &kept, false);
    keys.change(|file| file.add("again", Role::View));
    let again = keys.change(|file| file.remove("again").and_then(|()| file.add("again", Role::View)));
    wait_for(address, &format!("Bearer {}", again.text()), true);
    wait_for(address, &kept, false);
}

/// The lines that were logged, by the one test whose hub logs them.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(line: &str) {
    LOG.lock().expect("nobody panics").push(line.to_owned());
}

#[test]
fn few_refusals_are_logged_and_no_token_is() {
    let (hub, keys) = (full(), Keys::new());
    hub.log_to(log);
    let server = keys.serve(&hub);
    for number in 0..50 {
        let wrong = format!("Bearer edison_view_{number:064x}");
        ask(server.address(), "GET /api/v1/status?x=edison_secret", &wrong);
        get(server.address(), &format!("/api/v1/status/{}", "x".repeat(5_000)));
    }
    let bearer = keys.bearer(Role::Run);
    let begun = Instant::now();
    while ask(server.address(), "GET /api/v1/captures/e1/Node1", &bearer).status != 200 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(500));
    }
    let lines = LOG.lock().expect("nobody panics").clone();
    assert!(
        lines.iter().any(|line| line.starts_with("refused (wrong_token): 127.0.0.1: GET /api/v1/status: "))
    );
    assert!(lines.iter().any(|line| line.ends_with("were fetched with the token run")), "{lines:?}");
    assert!(lines.iter().all(|line| line.len() < 400 && !line.contains("edison_")), "{lines:?}");
    // Each reason has a line in ten seconds, and few of those pass.
    assert!(lines.len() < 40, "{lines:#?}");
}
