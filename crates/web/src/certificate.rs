//! The certificate of a server, and TLS with it.

use crate::changed::FileWatch;
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SupportedProtocolVersion};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A certificate with its key. Files that are renewed are taken within a second. Clones are the same one.
#[derive(Clone)]
pub struct Certificate(Arc<SharedCertificate>);

struct SharedCertificate {
    chain: PathBuf,
    key: PathBuf,
    state: Mutex<CertificateState>,
}

struct CertificateState {
    watch: FileWatch,
    certified: Arc<CertifiedKey>,
    /// The problem of the files that came since.
    problem: Option<String>,
}

impl fmt::Debug for Certificate {
    /// Writes the path of the certificate, without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.0.chain.display())
    }
}

const VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];

impl Certificate {
    /// Reads PEM files: a certificate and those that signed it, and its private key.
    ///
    /// # Errors
    /// If a file cannot be read, has nothing of its kind, or they do not go together: one line.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, String> {
        let watch = FileWatch::new([chain.to_owned(), key.to_owned()], Instant::now());
        let certified = Arc::new(certified(chain, key)?);
        let state = Mutex::new(CertificateState { watch, certified, problem: None });
        Ok(Self(Arc::new(SharedCertificate { chain: chain.to_owned(), key: key.to_owned(), state })))
    }

    fn state(&self) -> MutexGuard<'_, CertificateState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files again if they have changed. Files that do not go together, as between two that are replaced, change nothing: then
    /// what is wrong with them.
    fn refresh(&self) {
        let mut state = self.state();
        if !state.watch.has_changed(Instant::now()) {
            return;
        }
        match certified(&self.0.chain, &self.0.key) {
            Ok(certified) => {
                state.certified = Arc::new(certified);
                state.problem = None;
            }
            Err(error) => state.problem = Some(format!("{error}; the certificate before stays")),
        }
    }

    /// Returns what is wrong with files that came since, once.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state().problem.take()
    }

    /// Returns true if the certificate is valid for a name or an address.
    pub(crate) fn is_for(&self, name: &str) -> bool {
        let certified = Arc::clone(&self.state().certified);
        let parsed = certified.cert.first().and_then(|first| ParsedCertificate::try_from(first).ok());
        let name = ServerName::try_from(name);
        let (Some(parsed), Ok(name)) = (parsed, name) else { return false };
        verify_server_name(&parsed, &name).is_ok()
    }

    /// Returns the configuration with which a server speaks TLS.
    pub(crate) fn config(&self) -> Result<ServerConfig, rustls::Error> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(VERSIONS)?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::new(self.clone()));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.refresh();
        Some(Arc::clone(&self.state().certified))
    }
}

fn certified(chain: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let wrong = |path: &Path, error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let read = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| wrong(chain, &error))?;
    if certificates.is_empty() {
        return Err(wrong(chain, &"it has no certificate (BEGIN CERTIFICATE)"));
    }
    let text = secret::read(key).map_err(|error| error.to_string())?;
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|error| wrong(key, &error))?;
    let certified = CertifiedKey::from_der(certificates, private, &ring::default_provider());
    certified.map_err(|error| format!("{} and {}: {error}", chain.display(), key.display()))
}
