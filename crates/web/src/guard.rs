//! Who may ask: programs of this machine, and pages that this server sent.
//!
//! A page of another site can have a browser send requests here. A name that it made resolve to 127.0.0.1 stands in `Host`; what it
//! posts without one comes with its `Origin`.

use crate::failure::Failure;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{Ipv4Addr, Ipv6Addr};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Refuses what comes from elsewhere, and adds to each response what a browser may do with it.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    let mut response = match check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(reason) => Failure::new(StatusCode::FORBIDDEN, reason).into_response(),
    };
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value| headers.insert(name, HeaderValue::from_static(value));
    set("content-security-policy", POLICY);
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "no-referrer");
    set("cross-origin-resource-policy", "same-origin");
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn check(method: &Method, headers: &HeaderMap) -> Result<(), String> {
    let host = host(headers)?;
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    if let Some(origin) = headers.get(header::ORIGIN)
        && !is_own(origin, host)
    {
        let origin = String::from_utf8_lossy(origin.as_bytes());
        return Err(format!("{origin} may not change anything here: use the page of this server"));
    }
    // Missing where it is no browser; `none`: the user's own doing.
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err("another site may not change anything here: use the page of this server".to_owned()),
    }
}

fn is_own(origin: &HeaderValue, host: &str) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

/// The one name by which the server was asked, if it is a loopback one.
fn host(headers: &HeaderMap) -> Result<&str, String> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (host, more) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
    let Some(host) = host.filter(|_| more.is_none()) else {
        return Err("the request needs one Host: use localhost or 127.0.0.1".to_owned());
    };
    match is_loopback(host) {
        true => Ok(host),
        false => Err(format!("the Host {host} is not this machine: use localhost or 127.0.0.1")),
    }
}

fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) => {
                let is_loopback = address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
                return is_loopback && is_port(port);
            }
            None => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_name = name.eq_ignore_ascii_case("localhost");
    (is_name || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())) && is_port(port)
}

/// Nothing, or a colon and digits.
fn is_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_of_this_machine_are_loopback() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080"] {
            assert!(is_loopback(host), "{host}");
        }
        let others = [
            "",
            ":8080",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "127.0.0.1:",
            "127.0.0.1:x",
            "128.0.0.1",
            "0.0.0.0",
            "127.1",
            "2130706433",
            "[::1",
            "[::2]",
            "::1",
            "[::1]x",
            "[::ffff:127.0.0.1]",
            "localhost:8080:8080",
            "localhost@example.org",
            "localhost:99999",
            "localhost ",
        ];
        for host in others {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
