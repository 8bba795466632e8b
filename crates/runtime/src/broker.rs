//! The broker: its address, whom it is trusted by, and how passwords and keys come to the program, from files or the environment, never from
//! the command line.

use crate::exit::{Failure, say};
use crate::spec::BrokerOptions;
use protocol::amqp::{self, Tls, TlsError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Returns the broker that options name, with what is needed to log in.
pub fn from_options(options: &BrokerOptions) -> Result<amqp::BrokerAddress, Failure> {
    let broker = named(options, "amqps://USER@HOST")?;
    let broker = match password(options)? {
        Some(password) => broker.with_password(password),
        None => broker,
    };
    let broker = match tls(options)? {
        Some(tls) => broker.with_tls(tls).map_err(|error| wrong("broker", error))?,
        None => broker,
    };
    broker.check().map_err(|error| wrong("broker", error))?;
    if !broker.is_tls() && !is_loopback(broker.host()) {
        say(&format!(
            "the broker at {broker} is spoken to in clear text, the password too: say amqps:// where that is another machine"
        ));
    }
    Ok(broker)
}

/// Returns the broker without its password and keys. `example`: what is written where it is missing.
pub fn named(options: &BrokerOptions, example: &str) -> Result<amqp::BrokerAddress, Failure> {
    let Some(text) = &options.broker else {
        return Err(Failure::usage(format!(
            "'broker' is missing: the address of the broker, as \"{example}\", by --broker or in the file that --config names"
        )));
    };
    text.parse().map_err(|error| wrong("broker", error))
}

/// The error of an option.
fn wrong(option: &str, error: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("'{option}': {error}"))
}

/// Returns true if a host is this machine, as far as its name says.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn password(options: &BrokerOptions) -> Result<Option<String>, Failure> {
    match &options.password_file {
        Some(file) => secret::password(file).map(Some).map_err(|reason| wrong("password-file", reason)),
        None => Ok(password_of_environment()),
    }
}

fn password_of_environment() -> Option<String> {
    std::env::var("EDISON_BROKER_PASSWORD").ok().filter(|password| !password.is_empty())
}

/// Returns by which authority the broker's certificate is checked, with the own certificate; `None` where no file is named.
fn tls(options: &BrokerOptions) -> Result<Option<Tls>, Failure> {
    let lacks =
        |option: &str, what: &str| Err(Failure::usage(format!("'{option}' is missing: the file of {what}")));
    let BrokerOptions { ca, certificate, key_file, .. } = options.clone();
    let Some(ca) = ca else {
        return match (certificate, key_file) {
            (None, None) => Ok(None),
            _ => lacks("ca", "the authority that the broker's certificate is of"),
        };
    };
    let own = match (certificate, key_file) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => return lacks("key-file", "the certificate's key"),
        (None, Some(_)) => return lacks("certificate", "the key's certificate"),
    };
    let files = TlsFiles { ca, own };
    Tls::renewed_by(move || files.read()).map(Some).map_err(Failure::usage)
}

/// The files of TLS, which are read again for each connection.
struct TlsFiles {
    ca: PathBuf,
    /// The certificate and its key.
    own: Option<(PathBuf, PathBuf)>,
}

impl TlsFiles {
    fn read(&self) -> Result<Tls, String> {
        let of = |key: &str, file: &Path, error: &dyn std::fmt::Display| {
            format!("'{key}': {}: {error}", file.display())
        };
        let read = |key: &str, file: &Path| std::fs::read(file).map_err(|error| of(key, file, &error));
        let authority = read("ca", &self.ca)?;
        let own = match &self.own {
            Some((certificate, key)) => {
                let secret = secret::read(key).map_err(|reason| format!("'key-file': {reason}"))?;
                Some((read("certificate", certificate)?, secret))
            }
            None => None,
        };
        let own = own.as_ref().map(|(certificate, key)| (certificate.as_slice(), key.as_slice()));
        Tls::new(&authority, own).map_err(|error| match (&error, &self.own) {
            (TlsError::Certificate(_), Some((certificate, _))) => of("certificate", certificate, &error),
            (TlsError::Key(_), Some((_, key))) => of("key-file", key, &error),
            _ => of("ca", &self.ca, &error),
        })
    }
}
