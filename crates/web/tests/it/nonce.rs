//! The nonce of the page: of one response alone.

use crate::client::{Response, get, send};
use crate::sample::{hub, serve};
use std::collections::BTreeSet;
use std::path::Path;

/// The place of the nonce in the file.
const PLACE: &str = "NONCE-OF-THIS-RESPONSE";

/// The nonce in the policy of a response.
fn nonce(response: &Response) -> Option<&str> {
    let policy = response.header("content-security-policy").expect("a policy");
    let (_, rest) = policy.split_once("'nonce-")?;
    Some(rest.split_once('\'').expect("its end").0)
}

/// The page as its file has it.
pub(crate) fn without_nonce(response: &Response) -> String {
    let text = response.text();
    nonce(response).map_or_else(|| text.to_owned(), |nonce| text.replace(nonce, PLACE))
}

#[test]
fn each_page_has_a_nonce_of_its_own_and_nothing_else_has_one() {
    let server = serve(&hub());
    let address = server.address();
    let usual = get(address, "/api/v1/status");
    let usual = usual.header("content-security-policy").expect("a policy");
    assert!(!usual.contains("nonce") && usual.contains("style-src 'self';"), "{usual}");
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page/dist/index.html").exists() {
        assert_eq!(nonce(&get(address, "/")), None);
        return;
    }
    let mut seen = BTreeSet::new();
    for path in ["/", "/", "/queries", "/index.html"] {
        let page = send(address, &format!("GET {path}"), &[("Accept-Encoding", "gzip")], b"");
        let nonce = nonce(&page).expect("a nonce").to_owned();
        assert!(nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()), "{nonce}");
        // Where scripts find it, and nowhere else.
        assert_eq!(page.text().matches(&format!(" nonce=\"{nonce}\"")).count(), 1, "{}", page.text());
        assert_eq!(page.text().matches(&nonce).count(), 1);
        assert!(!page.text().contains(PLACE));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!((page.header("content-encoding"), page.header("etag")), (None, None));
        // It is all that the policy has more.
        let policy = page.header("content-security-policy").expect("a policy");
        assert_eq!(policy.replace(&format!(" 'nonce-{nonce}'"), ""), usual);
        assert!(policy.contains(&format!("style-src 'self' 'nonce-{nonce}';")), "{policy}");
        assert!(seen.insert(nonce), "twice the same");
    }
    let head = send(address, "HEAD /", &[], b"");
    assert!(seen.insert(nonce(&head).expect("a nonce").to_owned()));
    assert_eq!(head.header("content-length"), Some(&*get(address, "/").body.len().to_string()));
    // Files that are kept have none.
    for path in ["/icon.svg", "/licenses.txt", "/none.js"] {
        assert_eq!(nonce(&get(address, path)), None, "{path}");
    }
}
