//! The authorities by which the certificates of servers are checked.

use crate::exit::Failure;
use rustls::crypto::ring;
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Returns what a server's certificate is checked by: the authorities of a file, or of this system. `option`: what names the file.
///
/// # Errors
/// If there is no certificate.
pub fn tls(authorities: Option<&Path>, option: &str) -> Result<TlsConfig, Failure> {
    let roots = match authorities {
        Some(file) => read_file(file, option)?,
        None => read_system(option)?,
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .build())
}

fn read_file(file: &Path, option: &str) -> Result<Vec<Certificate<'static>>, Failure> {
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

fn read_system(option: &str) -> Result<Vec<Certificate<'static>>, Failure> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        let line = format!("this system has no certificates of authorities{reason}: {option} FILE names one");
        return Err(Failure::usage(line));
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}
