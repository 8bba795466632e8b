//! The token that a client shows to a controller, and the certificates by which it believes a controller.

use crate::commands::ApiOptions;
use runtime::exit::Failure;
use std::net::IpAddr;
use std::path::Path;
use ureq::http::Uri;

/// The environment's token. It has no option: others see a command line.
const TOKEN: &str = "EDISON_TOKEN";

/// Checks that there is a controller at such an address, and whether it is asked over TLS.
pub(super) fn is_tls(address: &str) -> Result<bool, Failure> {
    let wrong = |reason: &str| Err(Failure::usage(format!("--controller {address}: {reason}")));
    if address.contains('@') {
        // The address is not repeated: it may have a password.
        let line = "--controller has no user and no password: --token-file FILE shows a token";
        return Err(Failure::usage(line));
    }
    let Ok(uri) = address.parse::<Uri>() else {
        return wrong("this is no address, as http://127.0.0.1:8080 or https://HOST:PORT");
    };
    if uri.port_u16().is_none() && uri.authority().map(|authority| authority.as_str()) != uri.host() {
        return wrong("its port must be a number from 1 to 65535");
    }
    if uri.query().is_some() || address.contains('#') {
        return wrong("an address ends with its path");
    }
    match uri.scheme_str() {
        Some("https") => Ok(true),
        Some("http") => Ok(false),
        _ => wrong("the API is at http://HOST:PORT or https://HOST:PORT, as http://127.0.0.1:8080"),
    }
}

/// The header that shows the token, if there is one. It is not sent in clear to another machine.
pub(super) fn authorization(options: &ApiOptions) -> Result<Option<String>, Failure> {
    let (token, place) = match (&options.token_file, std::env::var(TOKEN)) {
        (Some(file), _) => {
            let place = format!("--token-file {}", file.display());
            (first_line(file, &place)?, place)
        }
        (None, Ok(token)) if !token.is_empty() => (token, TOKEN.to_owned()),
        (None, _) => return Ok(None),
    };
    if !is_token(&token) {
        return Err(Failure::usage(format!(
            "{place}: its first line is no token, as `edison controller token` makes it"
        )));
    }
    if !is_tls(&options.controller)? && !is_loopback(&options.controller) {
        let address = &options.controller;
        return Err(Failure::usage(format!(
            "--controller {address}: the token would be sent in clear: use https://, or unset {}",
            if options.token_file.is_some() { "--token-file" } else { TOKEN }
        )));
    }
    Ok(Some(format!("Bearer {token}")))
}

/// Returns the token of another server that a file has. `place`: the option that names the file, with it.
pub(super) fn token_of(file: &Path, place: &str) -> Result<String, Failure> {
    let token = first_line(file, place)?;
    match is_token(&token) {
        true => Ok(token),
        false => {
            Err(Failure::usage(format!("{place}: its first line is no token: letters, digits and signs")))
        }
    }
}

fn first_line(file: &Path, place: &str) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Failure::usage(format!("{place}: {error}")))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(crate) fn is_loopback(address: &str) -> bool {
    let uri = address.parse::<Uri>().ok();
    uri.as_ref().and_then(Uri::host).is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_in_clear_to_this_machine_alone() {
        for address in ["http://127.0.0.1:8080", "http://LOCALHOST", "http://[::1]:80/", "http://127.9.9.9"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "http://127.0.0.1.example.org",
            "http://localhost.example.org",
            "http://192.0.2.1",
            "http://[::2]",
            "http://127.0.0.1@example.org",
            "x",
            "",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
        assert!(is_tls("http://127.0.0.1@example.org").is_err() && is_tls("ftp://x").is_err());
        assert_eq!((is_tls("https://x:1").ok(), is_tls("http://x:1").ok()), (Some(true), Some(false)));
    }
}
