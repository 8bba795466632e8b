//! What a client shows to a controller, and what it believes a controller by.

use crate::commands::ApiOptions;
use crate::exit::Failure;
use rustls::crypto::ring;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

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
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| Failure::usage(format!("{place}: {error}")))?;
            (text.lines().next().unwrap_or_default().trim().to_owned(), place)
        }
        (None, Ok(token)) if !token.is_empty() => (token, TOKEN.to_owned()),
        (None, _) => return Ok(None),
    };
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
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

pub(crate) fn is_loopback(address: &str) -> bool {
    let uri = address.parse::<Uri>().ok();
    uri.as_ref().and_then(Uri::host).is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// What a server's certificate is checked by: the authorities of a file, or of this system. `option`: what names the file.
pub(crate) fn tls(authorities: Option<&Path>, option: &str) -> Result<TlsConfig, Failure> {
    let roots = match authorities {
        Some(file) => of_file(file, option)?,
        None => of_system(option)?,
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .build())
}

fn of_file(file: &Path, option: &str) -> Result<Vec<Certificate<'static>>, Failure> {
    let wrong =
        |reason: &dyn std::fmt::Display| Failure::usage(format!("{option} {}: {reason}", file.display()));
    let text = std::fs::read(file).map_err(|error| wrong(&error))?;
    let items = parse_pem(&text).collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&error))?;
    let certificates = items.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    match certificates.is_empty() {
        true => Err(wrong(&"it has no certificate (BEGIN CERTIFICATE)")),
        false => Ok(certificates),
    }
}

fn of_system(option: &str) -> Result<Vec<Certificate<'static>>, Failure> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        let line = format!("this system has no certificates of authorities{reason}: {option} FILE names one");
        return Err(Failure::usage(line));
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
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
