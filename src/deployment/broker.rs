//! Where the broker is, whom it is trusted by, and how passwords and keys come to the program: from files or the environment, never from
//! the command line.

use crate::deployment::settings::Settings;
use crate::exit::{Failure, say};
use protocol::amqp::{self, Tls, TlsError};
use std::net::IpAddr;
use std::path::Path;

/// Takes the broker of a probe or a controller from its settings.
pub(super) fn take(settings: &mut Settings) -> Result<amqp::Broker, Failure> {
    let text = settings.required("broker", "the address of the broker, as \"amqps://USER@HOST\"")?;
    let broker: amqp::Broker = text.parse().map_err(|error| settings.wrong(format!("'broker': {error}")))?;
    let broker = match password(settings)? {
        Some(password) => broker.with_password(password),
        None => broker,
    };
    let broker = match tls(settings)? {
        Some(tls) => broker.with_tls(tls).map_err(|error| settings.wrong(format!("'broker': {error}")))?,
        None => broker,
    };
    broker.check().map_err(|error| settings.wrong(format!("'broker': {error}")))?;
    if !broker.is_tls() && !is_loopback(broker.host()) {
        say(&format!(
            "the broker at {broker} is spoken to in clear text, the password too: say amqps:// where that is another machine"
        ));
    }
    Ok(broker)
}

/// Whether a host is this machine, as far as its name says.
pub(in crate::deployment) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn password(settings: &mut Settings) -> Result<Option<String>, Failure> {
    Ok(match (settings.text("password-file")?, password_of_environment()) {
        (Some(file), _) => {
            let read = secret::password(Path::new(&file));
            Some(read.map_err(|reason| settings.wrong(format!("'password-file': {reason}")))?)
        }
        (None, password) => password,
    })
}

fn password_of_environment() -> Option<String> {
    std::env::var("EDISON_BROKER_PASSWORD").ok().filter(|password| !password.is_empty())
}

/// Whom the broker's certificate has to be of, and the own certificate.
fn tls(settings: &mut Settings) -> Result<Option<Tls>, Failure> {
    let ca = settings.text("ca")?;
    let (certificate, key) = (settings.text("certificate")?, settings.text("key-file")?);
    let Some(ca) = ca else {
        return match (certificate, key) {
            (None, None) => Ok(None),
            _ => Err(settings
                .wrong("'ca' is missing: the file of the authority that the broker's certificate is of")),
        };
    };
    let own = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(settings.wrong("'key-file' is missing: the file of the certificate's key"));
        }
        (None, Some(_)) => {
            return Err(settings.wrong("'certificate' is missing: the file of the key's certificate"));
        }
    };
    let files = TlsFiles { ca, own };
    Tls::renewed_by(move || files.read()).map(Some).map_err(|error| settings.wrong(error))
}

/// The files of TLS, which are read again for each connection.
struct TlsFiles {
    ca: String,
    /// The certificate and its key.
    own: Option<(String, String)>,
}

impl TlsFiles {
    fn read(&self) -> Result<Tls, String> {
        let read =
            |key: &str, file: &str| std::fs::read(file).map_err(|error| format!("'{key}': {file}: {error}"));
        let authority = read("ca", &self.ca)?;
        let own = match &self.own {
            Some((certificate, key)) => {
                let secret =
                    secret::read(Path::new(key)).map_err(|reason| format!("'key-file': {reason}"))?;
                Some((read("certificate", certificate)?, secret))
            }
            None => None,
        };
        let own = own.as_ref().map(|(certificate, key)| (certificate.as_slice(), key.as_slice()));
        Tls::new(&authority, own).map_err(|error| {
            let (certificate, key) =
                self.own.as_ref().map_or(("", ""), |(certificate, key)| (certificate, key));
            match &error {
                TlsError::Authority(_) => format!("'ca': {}: {error}", self.ca),
                TlsError::Certificate(_) => format!("'certificate': {certificate}: {error}"),
                TlsError::Key(_) => format!("'key-file': {key}: {error}"),
            }
        })
    }
}
