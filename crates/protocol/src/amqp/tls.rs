//! The settings of TLS: whom a connection trusts, as whom it is made, and what goes wrong in words.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, Error, InvalidMessage, RootCertStore,
};

/// The settings of TLS: whom a connection trusts, and as whom it is made. Clones are the same one.
#[derive(Clone)]
pub struct Tls {
    now: Arc<Mutex<Now>>,
    /// The function that reads the settings again.
    renew: Option<Arc<Renew>>,
    has_certificate: bool,
}

type Renew = dyn Fn() -> Result<Tls, String> + Send + Sync;

struct Now {
    config: Arc<ClientConfig>,
    /// The reason why the files could not be read again.
    problem: Option<String>,
}

/// Names of a certificate that are told.
const MOST_NAMES: usize = 8;

/// The file of TLS that is wrong, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsError {
    /// The authority.
    Authority(String),
    /// The certificate.
    Certificate(String),
    /// The key.
    Key(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Authority(reason) | Self::Certificate(reason) | Self::Key(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// Reads texts in PEM: the authorities that are trusted, and the own certificate with its key.
    ///
    /// # Errors
    /// If one of them is not what it should be, or they do not belong together.
    pub fn new(authorities: &[u8], own: Option<(&[u8], &[u8])>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(authorities).map_err(TlsError::Authority)? {
            roots.add(authority).map_err(|error| {
                TlsError::Authority(format!("this is no certificate of an authority: {error}"))
            })?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Authority(error.to_string()))?
            .with_root_certificates(roots);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let certificate = certificates(certificate).map_err(TlsError::Certificate)?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
                    pem::Error::NoItemsFound => {
                        TlsError::Key("there is no key in it (-----BEGIN PRIVATE KEY-----)".to_owned())
                    }
                    error => TlsError::Key(format!("this is no key: {error}")),
                })?;
                builder.with_client_auth_cert(certificate, key).map_err(|error| match error {
                    Error::InconsistentKeys(_) => {
                        TlsError::Key("this is the key of another certificate".to_owned())
                    }
                    Error::InvalidCertificate(_) => {
                        TlsError::Certificate(format!("this is no certificate: {error}"))
                    }
                    error => TlsError::Key(error.to_string()),
                })?
            }
        };
        let now = Now { config: Arc::new(config), problem: None };
        Ok(Self { now: Arc::new(Mutex::new(now)), renew: None, has_certificate: own.is_some() })
    }

    /// Returns what `read` returns, which is called again for each connection: so a certificate that was renewed is used by the next one. Where
    /// it fails then, the last that was read is used, and the link's [`LinkState`](crate::LinkState) says why.
    ///
    /// # Errors
    /// Returns the errors of `read`.
    pub fn renewed_by<E: fmt::Display>(
        read: impl Fn() -> Result<Self, E> + Send + Sync + 'static,
    ) -> Result<Self, E> {
        let first = read()?;
        let renew = move || read().map_err(|error| error.to_string());
        Ok(Self { renew: Some(Arc::new(renew)), ..first })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the files could not be read again for the last connection.
    pub(super) fn problem(&self) -> Option<String> {
        self.now().problem.clone()
    }

    /// Returns true if a certificate says who connects.
    pub fn has_certificate(&self) -> bool {
        self.has_certificate
    }

    /// Returns the configuration that `rustls` needs for a new connection.
    pub(super) fn config(&self) -> Arc<ClientConfig> {
        let renewed = self.renew.as_ref().map(|renew| renew());
        let mut now = self.now();
        match renewed {
            None => {}
            Some(Ok(renewed)) => *now = Now { config: Arc::clone(&renewed.now().config), problem: None },
            Some(Err(reason)) => now.problem = Some(reason),
        }
        Arc::clone(&now.config)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("has_certificate", &self.has_certificate).finish_non_exhaustive()
    }
}

/// The certificates of a text, of which there is one at least.
fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(certificates) if certificates.is_empty() => {
            Err("there is no certificate in it (-----BEGIN CERTIFICATE-----)".to_owned())
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("this is no certificate: {error}")),
    }
}

/// Returns what TLS says, if it is TLS that failed.
pub(super) fn words(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(reason) => {
            format!("its certificate is refused: {}", describe_certificate_error(reason))
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS at this port: give the port of its TLS listener (often 5671)".to_owned()
        }
        Error::AlertReceived(alert) => describe_alert(*alert),
        error => format!("TLS fails: {error}"),
    })
}

fn describe_certificate_error(reason: &CertificateError) -> String {
    use CertificateError as Wrong;
    match reason {
        Wrong::UnknownIssuer => "it is of another authority than 'ca' names".to_owned(),
        Wrong::Expired | Wrong::ExpiredContext { .. } => {
            "it has expired: give the broker a new one, or set this machine's clock".to_owned()
        }
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            "it is not valid yet: look at the clocks of both machines".to_owned()
        }
        Wrong::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            let names = presented.iter().take(MOST_NAMES).map(|name| name.replace(char::is_control, " "));
            let names = names.collect::<Vec<_>>().join(", ");
            format!(
                "it is for other names than the address has ({names}): use one of those, or give the broker another certificate"
            )
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
            "it is for other names than the address has: give the broker another certificate".to_owned()
        }
        reason => reason.to_string(),
    }
}

fn describe_alert(alert: AlertDescription) -> String {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired => {
            "it wants a client certificate: give 'certificate' and 'key-file'".to_owned()
        }
        Alert::CertificateExpired => {
            "it refuses the certificate of 'certificate', which has expired".to_owned()
        }
        Alert::UnknownCA => {
            "it refuses the certificate of 'certificate', which is of an authority that it does not know"
                .to_owned()
        }
        Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateUnknown
        | Alert::CertificateRevoked => {
            format!("it refuses the certificate of 'certificate' ({alert:?})")
        }
        Alert::HandshakeFailure => {
            "it refuses the handshake: it may want a client certificate ('certificate' and 'key-file')"
                .to_owned()
        }
        alert => format!("it refuses the TLS connection ({alert:?})"),
    }
}
