//! What comes from another site.

use crate::client::{get, send, send_bare};
use crate::sample::{full, serve};

#[test]
fn only_names_of_this_machine_are_answered() {
    let server = serve(&full());
    let port = server.address().port().to_string();
    let own = [
        "localhost".to_owned(),
        format!("127.0.0.1:{port}"),
        format!("LocalHost:{port}"),
        "[::1]:80".to_owned(),
    ];
    for host in &own {
        for line in ["GET /api/v1/status", "GET /"] {
            assert_eq!(send_bare(server.address(), line, &[("Host", host)], b"").status, 200, "{host}");
        }
    }
    let rebound = format!("attacker.example:{port}");
    let others: [&[(&str, &str)]; 5] = [
        &[("Host", &rebound)],
        &[("Host", "127.0.0.1.attacker.example")],
        &[("Host", "10.0.0.1")],
        &[],
        &[("Host", "localhost"), ("Host", "attacker.example")],
    ];
    for headers in others {
        for line in [
            "GET /api/v1/status",
            "GET /",
            "GET /api/v1/stream",
            "DELETE /api/v1/queries/q1",
            "GET /api/none",
        ] {
            let response = send_bare(server.address(), line, headers, b"");
            assert_eq!(response.status, 403, "{headers:?} {line}");
            response.error();
        }
    }
}

#[test]
fn another_site_changes_nothing() {
    let server = serve(&full());
    let own = format!("127.0.0.1:{}", server.address().port());
    let status = |line: &str, headers: &[(&str, &str)]| {
        send_bare(server.address(), line, &[&[("Host", &*own)], headers].concat(), b"").status
    };
    let same_site = format!("http://{own}");
    // 409: it would be done, were it not a run.
    let allowed: [&[(&str, &str)]; 4] = [
        &[],
        &[("Origin", &same_site)],
        &[("Origin", &same_site), ("Sec-Fetch-Site", "same-origin")],
        &[("Sec-Fetch-Site", "none")],
    ];
    let refused: [&[(&str, &str)]; 6] = [
        &[("Origin", "https://attacker.example")],
        &[("Origin", "null")],
        &[("Origin", "http://127.0.0.1:1")],
        &[("Origin", &own)],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Origin", &same_site), ("Sec-Fetch-Site", "same-site")],
    ];
    for line in ["POST /api/v1/queries?file=a.eq", "DELETE /api/v1/queries/q1"] {
        for headers in allowed {
            assert_eq!(status(line, headers), 409, "{line} {headers:?}");
        }
        for headers in refused {
            assert_eq!(status(line, headers), 403, "{line} {headers:?}");
        }
    }
    // Reading is what a browser's own rules keep from other sites.
    assert_eq!(status("GET /api/v1/status", &[("Sec-Fetch-Site", "cross-site")]), 200);
}

#[test]
fn all_responses_say_what_a_browser_may_do() {
    let server = serve(&full());
    for path in ["/", "/none.js", "/api/v1/status", "/api/v1/none", "/api/v1/answers?limit=x", "/stories/e1"]
    {
        let response = get(server.address(), path);
        let policy = response.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        assert!(response.header("access-control-allow-origin").is_none());
    }
    assert_eq!(get(server.address(), "/api/v1/status").header("cache-control"), Some("no-store"));
    let refused = send(server.address(), "GET /", &[("Host", "x")], b"");
    assert!(refused.header("content-security-policy").is_some());
}
