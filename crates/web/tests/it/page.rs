//! The page is the files of `page/dist`, if they are there.

use crate::client::{Response, get, send};
use crate::nonce::without_nonce;
use crate::sample::{hub, serve};
use flate2::read::GzDecoder;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page/dist")
}

fn files(folder: &Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let name = format!("{prefix}{}", entry.file_name().to_str().expect("UTF-8"));
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path(), &format!("{name}/"))),
            false => found.push((name, fs::read(entry.path()).expect("a file"))),
        }
    }
    found
}

#[test]
fn files_are_served_as_they_are_and_compressed_where_that_is_accepted() {
    let server = serve(&hub());
    // The page itself is another one each time.
    for (name, content) in files(&folder(), "").into_iter().filter(|(name, _)| name != "index.html") {
        let plain = get(server.address(), &format!("/{name}"));
        assert_eq!((plain.status, &plain.body), (200, &content), "{name}");
        assert_eq!(plain.header("content-encoding"), None);
        let caching = plain.header("cache-control").expect("caching");
        assert_eq!(caching.contains("immutable"), name.starts_with("assets/"), "{name}");
        assert_eq!(caching == "no-cache", !name.starts_with("assets/"), "{name}");
        let encodings = [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("*", true),
            ("br", false),
            ("*, gzip;q=0", false),
            ("", false),
        ];
        for (accepted, is_accepted) in encodings {
            // Twice: when it is made, and as it was made.
            for _ in 0..2 {
                let response =
                    send(server.address(), &format!("GET /{name}"), &[("Accept-Encoding", accepted)], b"");
                let is_text = response.header("vary") == Some("accept-encoding");
                let is_compressed = response.header("content-encoding") == Some("gzip");
                assert_eq!(is_compressed, is_accepted && is_text, "{name} {accepted}");
                let mut read = Vec::new();
                match is_compressed {
                    true => drop(GzDecoder::new(&*response.body).read_to_end(&mut read).expect("gzip")),
                    false => read.clone_from(&response.body),
                }
                assert_eq!(read, content, "{name} {accepted}");
            }
        }
        let head = send(server.address(), &format!("HEAD /{name}"), &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), Some(&*content.len().to_string()));
    }
}

#[test]
fn all_of_the_page_has_less_than_350_kilobytes_compressed() {
    let server = serve(&hub());
    let size = |name: &str| {
        let response = send(server.address(), &format!("GET /{name}"), &[("Accept-Encoding", "gzip")], b"");
        response.body.len()
    };
    let total: usize = files(&folder(), "").iter().map(|(name, _)| size(name)).sum();
    println!("the page has {total} bytes compressed");
    assert!(total < 350_000, "{total}");
}

/// The page with its references as those of the root's have them.
fn at_root(page: &Response) -> String {
    let mut text = without_nonce(page);
    while text.contains("../../") {
        text = text.replace("../../", "../");
    }
    text.replace("=\"../", "=\"./")
}

/// What the references of a page lead to: all that is quoted and begins with a dot.
pub(crate) fn references(page: &Response) -> Vec<&str> {
    let quoted = page.text().split('"').filter(|text| text.starts_with("./") || text.starts_with("../"));
    quoted.collect()
}

/// Where a browser that shows a path goes for a reference (RFC 3986, section 5.2.4).
pub(crate) fn resolved(path: &str, reference: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    // The last part is no folder.
    parts.pop();
    for part in reference.split('/') {
        match part {
            "." => {}
            // The root has nothing above it.
            ".." if parts.len() > 1 => drop(parts.pop()),
            ".." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn references_of_the_page_lead_to_its_files_from_each_view() {
    let server = serve(&hub());
    if !folder().join("index.html").exists() {
        return;
    }
    for path in ["/", "/flow", "/flow/", "/index.html", "/stories/5f1c", "/host/192.0.2.1/", "/a/b/c/d"] {
        let page = get(server.address(), path);
        let references = references(&page);
        assert!(references.iter().filter(|one| one.contains("assets/")).count() > 2, "{path} {references:?}");
        // Nothing is asked from the root of a server that has other things, too.
        assert!(!page.text().contains("=\"/"), "{}", page.text());
        for reference in references {
            for prefix in ["", "/edison", "/a/b"] {
                let found = resolved(&format!("{prefix}{path}"), reference);
                let own = found.strip_prefix(prefix).expect("below the prefix");
                let status = get(server.address(), own).status;
                assert_eq!(status, 200, "{prefix}{path}: {reference} is {found}");
            }
        }
    }
}

#[test]
fn permanent_links_are_the_page() {
    let server = serve(&hub());
    let index = get(server.address(), "/");
    assert_eq!(index.status, 200);
    assert_eq!(index.header("content-type"), Some("text/html; charset=utf-8"));
    if let Ok(content) = fs::read_to_string(folder().join("index.html")) {
        assert_eq!(without_nonce(&index), content);
    } else {
        assert!(index.text().contains("built without its page"));
    }
    for path in [
        "/stories/5f1c2a9be01d7734",
        "/stories/5f1c/",
        "/queries?query=q1",
        "/chain",
        "/events",
        "/explore",
        "/index.html",
        "/flow/",
        "/host/192.0.2.12",
        "/host/2001:db8::7",
        "/host/2001%3Adb8%3a%3A7/",
        "//",
    ] {
        let link = get(server.address(), path);
        assert_eq!((link.status, at_root(&link)), (200, without_nonce(&index)), "{path}");
    }
    for path in [
        "/health",
        "/livez",
        "/-/ready",
        "/a.b/c",
        "/chains",
        "/storiesx/1",
        "/queries/q1?x=1",
        "/explore/x",
        "/stories",
        "/stories/",
        "/stories/a/b",
        "/host",
        "/host/",
        "/host/here",
        "/host/192.0.2.12/a",
        "//flow",
    ] {
        let none = get(server.address(), path);
        assert_eq!(none.status, 404, "{path}");
        if folder().join("index.html").exists() {
            assert_eq!(at_root(&none), without_nonce(&index), "{path}");
        }
    }
    for path in [
        "/none.js",
        "/assets/none.css",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/assets/../index.html",
        "/host/..",
        "/host/1.2.3",
        "/stories/..",
    ] {
        let none = get(server.address(), path);
        assert_eq!(none.status, 404, "{path}");
        none.error();
    }
}
