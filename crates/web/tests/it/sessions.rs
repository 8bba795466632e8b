//! Sessions of pages.

use crate::access::Keys;
use crate::client::{Response, Stream, send_bare};
use crate::sample::full;
use serde_json::json;
use std::net::SocketAddr;
use web::Role;

struct Page {
    address: SocketAddr,
    own: String,
}

impl Page {
    fn ask(&self, line: &str, headers: &[(&str, &str)]) -> Response {
        let host = self.address.to_string();
        send_bare(self.address, line, &[&[("Host", &*host)], headers].concat(), b"")
    }

    /// As a page of this server would.
    fn change(&self, line: &str, headers: &[(&str, &str)]) -> Response {
        let origin = [("Origin", &*self.own), ("Sec-Fetch-Site", "same-origin")];
        self.ask(line, &[&origin, headers].concat())
    }

    /// The cookie of a new session.
    fn begin(&self, keys: &Keys, role: Role) -> String {
        let began = self.change("POST /api/v1/session", &[("Authorization", &keys.bearer(role))]);
        assert_eq!((began.status, began.json()), (200, json!({ "name": role.name(), "role": role.name() })));
        let cookie = began.header("set-cookie").expect("a cookie");
        let (pair, attributes) = cookie.split_once("; ").expect("attributes");
        // Without a path it is that of the folder of the call (RFC 6265, section 5.1.4), below any prefix of a proxy.
        assert_eq!(attributes, "Max-Age=43200; HttpOnly; SameSite=Strict");
        let (name, id) = pair.split_once('=').expect("a name");
        assert_eq!((name, id.len()), (&*format!("edison-session-{}", self.address.port()), 64));
        assert!(!keys.bearer(role).contains(id));
        pair.to_owned()
    }
}

fn page(keys: &Keys) -> (web::Server, Page) {
    let server = keys.serve(&full());
    let address = server.address();
    (server, Page { address, own: format!("http://{address}") })
}

#[test]
fn a_cookie_stands_for_the_token_until_the_session_ends() {
    let keys = Keys::new();
    let (_server, page) = page(&keys);
    let cookie = page.begin(&keys, Role::View);
    let mixed = format!("a=b; {cookie}; c=d");
    let headers = [("Cookie", &*mixed)];
    assert_eq!(page.ask("GET /api/v1/status", &headers).status, 200);
    let whom = page.ask("GET /api/v1/session", &headers).json();
    assert_eq!(whom, json!({ "name": "view", "role": "view" }));
    let mut stream = Stream::connect_with(page.address, &headers);
    assert_eq!(stream.next().expect("a message").0, "status");
    // It may no more than the token.
    let refused = page.change("DELETE /api/v1/queries/q1", &headers);
    assert_eq!(refused.status, 403);
    assert!(refused.error().contains("needs the role run"));
    // A token that comes with it decides.
    let both = [headers[0], ("Authorization", "Bearer x")];
    assert_eq!(page.ask("GET /api/v1/status", &both).status, 401);
    // It is not told again to who has it, and ends for all.
    assert!(page.change("POST /api/v1/session", &headers).header("set-cookie").is_none());
    let ended = page.change("DELETE /api/v1/session", &headers);
    assert!(
        ended
            .header("set-cookie")
            .is_some_and(|cookie| cookie.contains("=; ") && cookie.contains("Max-Age=0"))
    );
    let gone = page.ask("GET /api/v1/status", &headers);
    assert_eq!(gone.status, 401);
    assert!(gone.error().contains("session has ended"));
    for wrong in ["edison-session-1=x", &format!("edison-session-{}=", page.address.port())] {
        assert_eq!(page.ask("GET /api/v1/status", &[("Cookie", wrong)]).status, 401);
    }
}

#[test]
fn another_site_cannot_use_the_cookie() {
    let keys = Keys::new();
    let (_server, page) = page(&keys);
    let cookie = page.begin(&keys, Role::Run);
    let refused: [&[(&str, &str)]; 6] = [
        &[("Origin", "https://attacker.example")],
        &[("Origin", "null")],
        // Another program of this machine: browsers send cookies to all ports.
        &[("Origin", "http://127.0.0.1:1"), ("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Origin", &page.own), ("Sec-Fetch-Site", "same-site")],
        // No browser changes something without saying from where.
        &[],
    ];
    let ask = |line: &str, more: &[(&str, &str)]| page.ask(line, &[&[("Cookie", &*cookie)], more].concat());
    for line in ["POST /api/v1/queries?file=a", "DELETE /api/v1/queries/q1", "POST /api/v1/session"] {
        for more in refused {
            assert_eq!(ask(line, more).status, 403, "{line} {more:?}");
        }
    }
    for more in &refused[..5] {
        assert_eq!(ask("DELETE /api/v1/session", more).status, 403);
    }
    // 409: it would be done, were it not a run.
    for more in [&[("Origin", &*page.own)][..], &[("Sec-Fetch-Site", "same-origin")]] {
        assert_eq!(ask("DELETE /api/v1/queries/q1", more).status, 409);
    }
    // A program that shows its token says nothing of pages.
    let bearer = keys.bearer(Role::Run);
    assert_eq!(page.ask("DELETE /api/v1/queries/q1", &[("Authorization", &*bearer)]).status, 409);
}

#[test]
fn a_session_ends_with_its_token() {
    let keys = Keys::new();
    let (_server, page) = page(&keys);
    let cookie = page.begin(&keys, Role::View);
    keys.change(|file| file.remove("view").and_then(|()| file.add("view", Role::Admin)));
    let begun = std::time::Instant::now();
    while page.ask("GET /api/v1/status", &[("Cookie", &cookie)]).status == 200 {
        assert!(begun.elapsed() < crate::client::PATIENCE);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(page.ask("GET /api/v1/status", &[("Cookie", &cookie)]).status, 401);
}

#[test]
fn without_tokens_there_are_no_sessions() {
    let server = crate::sample::serve(&full());
    let page = Page { address: server.address(), own: format!("http://{}", server.address()) };
    let began = page.change("POST /api/v1/session", &[]);
    assert_eq!((began.status, began.json()), (200, json!({ "name": null, "role": "admin" })));
    assert!(began.header("set-cookie").is_none());
    // What comes without being asked for is not looked at.
    assert_eq!(
        page.ask("GET /api/v1/status", &[("Authorization", "Bearer x"), ("Cookie", "a=b")]).status,
        200
    );
}
