//! The page, as it was compiled in.

use crate::failure::ApiFailure;
use crate::nonce::{self, Nonce};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::net::IpAddr;
use std::sync::OnceLock;

/// Names and bytes, sorted by name.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const INDEX: &str = "index.html";

/// The paths of the page's views, without slashes at their ends. What a view is about follows them after a question mark.
const VIEWS: [&str; 7] = ["", "/chain", "/events", "/queries", "/explore", "/flow", "/nodes"];
/// The begin of the path of the page of a story. The name of the story follows it.
const STORIES: &str = "/stories/";
/// The begin of the path of the page of a host. Its address follows it.
const HOSTS: &str = "/host/";

/// The most folders that a path of the page has: what is told of a deeper one would be long.
const DEEPEST: usize = 8;

/// The begin of a reference of the page to a file of its folder, or to the API.
const REFERENCE: &str = "=\"./";

/// The page that is shown where the page was not built.
const NO_PAGE: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Edison</title>\n<p>This program was built without its page. \
                       <a href=\"./api/v1/status\">/api/v1/status</a> and <a href=\"./api/v1/openapi.json\">its description</a> are here.\n";

/// Compressed files, by their places in `FILES`, made when first asked for.
static COMPRESSED: [OnceLock<Bytes>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// Serves a file of the page. What has no dot in its last part is a permanent link into the page.
pub(crate) async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        let error = format!("there is nothing at {}: /api/v1/openapi.json has all that there is", uri.path());
        return not_found(uri.path(), error).into_response();
    }
    if !matches!(method, Method::GET | Method::HEAD) {
        let failure =
            ApiFailure::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} does not go here: use GET"));
        return ([(header::ALLOW, HeaderValue::from_static("GET,HEAD"))], failure).into_response();
    }
    let is_view = is_view(uri.path());
    let is_link = is_view || !path.rsplit('/').next().unwrap_or_default().contains('.');
    let name = if is_link { INDEX } else { path };
    let depth = depth(uri.path());
    if depth > DEEPEST {
        return not_found(uri.path(), "there is nothing: the page is at /".to_owned()).into_response();
    }
    if is_link && !is_view {
        // The page says that there is nothing, and so does the status, which is all that programs read.
        let at = FILES.binary_search_by_key(&INDEX, |(name, _)| name);
        let mut response = at.map_or_else(
            |_| {
                not_found(uri.path(), format!("there is nothing at {}: the page is at /", uri.path()))
                    .into_response()
            },
            |at| index(FILES[at].1, depth),
        );
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    match FILES.binary_search_by_key(&name, |(name, _)| name) {
        Ok(at) if name == INDEX => index(FILES[at].1, depth),
        Ok(at) => file(at, accepts_gzip(&headers)).await,
        Err(_) if name == INDEX => with_kind(INDEX, referring(NO_PAGE, depth).into()),
        Err(_) => {
            let error = format!("there is no {}: the page is at /", uri.path());
            not_found(uri.path(), error).into_response()
        }
    }
}

/// Returns true if the page shows something at a path, and not only that there is nothing. Its `App.svelte` has the same paths.
fn is_view(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let is_story =
        path.strip_prefix(STORIES).is_some_and(|story| !story.is_empty() && !story.contains(['/', '.']));
    VIEWS.contains(&path) || is_story || path.strip_prefix(HOSTS).is_some_and(is_address)
}

/// Returns true for an IP address, as a browser or a program writes it into a path.
fn is_address(part: &str) -> bool {
    part.replace("%3A", ":").replace("%3a", ":").parse::<IpAddr>().is_ok()
}

/// Returns how many folders a path lies below the root.
fn depth(path: &str) -> usize {
    path.bytes().filter(|&byte| byte == b'/').count().saturating_sub(1)
}

/// Returns the page with references that lead from a view of this depth to the root, whatever prefix a reverse proxy took from the
/// path: the content security policy allows no `<base>`.
fn referring(page: &str, depth: usize) -> String {
    match depth {
        0 => page.to_owned(),
        _ => page.replace(REFERENCE, &format!("=\"{}", "../".repeat(depth))),
    }
}

/// Returns the failure of a path that is not there. Who looks for files of the system is counted apart.
fn not_found(path: &str, error: String) -> ApiFailure {
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace(['\\'], "/");
    let name = if path.split('/').any(|part| part == "..") { "path_traversal" } else { "unknown_path" };
    ApiFailure::refused(name, StatusCode::NOT_FOUND, error)
}

/// The page itself, with a nonce that no other response has: it is not cached, and too small to compress.
fn index(bytes: &[u8], depth: usize) -> Response {
    let Ok(nonce) = Nonce::new() else {
        return ApiFailure::internal("the system gives no random bytes: the page is not safe without")
            .into_response();
    };
    let page = referring(&String::from_utf8_lossy(bytes), depth).replace(nonce::PLACE, &nonce.0);
    let mut response = with_kind(INDEX, page.into());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.extensions_mut().insert(nonce);
    response
}

async fn file(at: usize, accepts_gzip: bool) -> Response {
    let (name, bytes) = FILES[at];
    if !is_text(name) {
        return with_kind(name, Bytes::from_static(bytes));
    }
    let mut response = match accepts_gzip {
        true => match compressed(at).await {
            Some(compressed) => {
                let mut response = with_kind(name, compressed);
                response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                response
            }
            None => with_kind(name, Bytes::from_static(bytes)),
        },
        false => with_kind(name, Bytes::from_static(bytes)),
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// A compressed file; `None` where that failed. Streams go on meanwhile.
async fn compressed(at: usize) -> Option<Bytes> {
    if let Some(compressed) = COMPRESSED[at].get() {
        return Some(compressed.clone());
    }
    let compress = move || COMPRESSED[at].get_or_init(|| gzip(FILES[at].1)).clone();
    tokio::task::spawn_blocking(compress).await.ok()
}

fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes all that is written").into()
}

fn with_kind(name: &str, body: Bytes) -> Response {
    let caching = match name.starts_with("assets/") {
        // Their names have a hash of their content.
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind(name))),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
    ];
    (headers, body).into_response()
}

fn suffix(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, suffix)| suffix)
}

fn kind(name: &str) -> &'static str {
    match suffix(name) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/vnd.microsoft.icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Returns true if compressing makes the file smaller.
fn is_text(name: &str) -> bool {
    matches!(suffix(name), "html" | "css" | "js" | "mjs" | "json" | "map" | "webmanifest" | "txt" | "svg")
}

/// Returns true if the client takes gzip (RFC 9110, section 12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING);
    let codings = lists.iter().filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    let (mut gzip, mut any) = (None, None);
    for coding in codings {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().trim_start_matches(['q', 'Q']).trim_start().trim_start_matches('=').trim();
        let is_taken = weight.is_empty() || weight.parse::<f32>().is_ok_and(|weight| weight > 0.0);
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
                gzip = Some(is_taken)
            }
            "*" => any = Some(is_taken),
            _ => {}
        }
    }
    gzip.or(any).unwrap_or(false)
}
