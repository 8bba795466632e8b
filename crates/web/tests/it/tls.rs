//! TLS: who is asked, by which name, and what is spoken.

use crate::access::{Keys, refused};
use crate::client::{PATIENCE, connect};
use crate::limits::wait_for;
use crate::sample::full;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use web::{Certificate, Hub, Role, Server, ServerLimits, ServerSettings};

/// An authority of its own.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// Files of a certificate for these names, and its key.
    fn issue(&self, folder: &Path, names: &[&str]) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let params = CertificateParams::new(names).expect("names");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let paths = (folder.join("server.pem"), folder.join("server.key"));
        fs::write(&paths.0, certificate.pem()).expect("it is written");
        fs::write(&paths.1, key.serialize_pem()).expect("it is written");
        set_mode(&paths.1, 0o600);
        paths
    }

    /// A client that believes this authority alone.
    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("PEM")).expect("a root");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is set");
}

struct Served {
    hub: Hub,
    keys: Keys,
    authority: Authority,
    folder: tempfile::TempDir,
    server: Server,
}

/// A server beyond loopback too: on all addresses.
fn served(limits: ServerLimits) -> Served {
    let (hub, keys, authority) = (full(), Keys::new(), Authority::new());
    let folder = tempfile::tempdir().expect("a folder");
    let (chain, key) = authority.issue(folder.path(), &["monitor.example.org", "*.lab.example.org"]);
    let certificate = Certificate::read(&chain, &key).expect("a certificate");
    let listen = "0.0.0.0:0".parse().expect("an address");
    let settings = ServerSettings { listen, certificate: Some(certificate), limits, ..keys.settings() };
    let server = web::serve_with(hub.clone(), settings, None).expect("a server");
    Served { hub, keys, authority, folder, server }
}

impl Served {
    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.server.address().port()))
    }
}

/// A request over TLS, to a server of this name.
fn ask(
    address: SocketAddr,
    client: &Arc<ClientConfig>,
    name: &str,
    head: &str,
) -> Result<String, std::io::Error> {
    let server = ServerName::try_from(name.to_owned()).expect("a name");
    let connection = ClientConnection::new(Arc::clone(client), server).expect("a connection");
    let mut stream = StreamOwned::new(connection, connect(address));
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).expect("UTF-8"))
}

#[test]
fn names_of_the_certificate_are_answered_with_a_token() {
    let served = served(ServerLimits::default());
    let client = served.authority.client();
    let bearer = served.keys.bearer(Role::View);
    let name = "monitor.example.org";
    let status = |host: &str, bearer: &str| {
        let head = format!("GET /api/v1/status HTTP/1.1\r\nHost: {host}\r\n{bearer}");
        ask(served.address(), &client, name, &head).expect("an answer")[9..12].to_owned()
    };
    let token = format!("Authorization: {bearer}");
    let port = served.address().port();
    for host in [name, &format!("Monitor.Example.Org:{port}"), "a.lab.example.org", "localhost"] {
        assert_eq!(status(host, &token), "200", "{host}");
        assert_eq!(status(host, "X: x"), "401", "{host}");
    }
    for host in ["attacker.example", "example.org", "a.b.lab.example.org", "192.0.2.1"] {
        assert_eq!(status(host, &token), "403", "{host}");
    }
    assert_eq!(refused(&served.hub, "host"), 4);
    let head = format!("POST /api/v1/session HTTP/1.1\r\nHost: {name}\r\nOrigin: https://{name}\r\n{token}");
    let began = ask(served.address(), &client, name, &head).expect("an answer");
    assert!(began.contains("; HttpOnly; SameSite=Strict; Secure\r\n"), "{began}");
    assert!(served.server.url().starts_with("https://"));
}

#[test]
fn who_does_not_know_the_authority_is_not_served() {
    let served = served(ServerLimits::default());
    let head = "GET / HTTP/1.1\r\nHost: monitor.example.org";
    let others = [
        (Authority::new().client(), "monitor.example.org"),
        (served.authority.client(), "other.example.org"),
    ];
    for (client, name) in others {
        let error = ask(served.address(), &client, name, head).expect_err("it is refused");
        assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    }
    wait_for(&served.hub, "handshake", 2);
}

#[test]
fn nothing_is_said_in_clear() {
    let served = served(ServerLimits::default());
    let mut connection = connect(served.address());
    connection.write_all(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("use https://\"}"), "{answer}");
    wait_for(&served.hub, "clear_text", 1);
    let mut connection = connect(served.address());
    connection.write_all(b"\x16\x03\x01\x00\x05hello").expect("it is sent");
    // An alert, or nothing.
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    assert!(answer.len() < 16, "{answer:?}");
    wait_for(&served.hub, "handshake", 1);
}

#[test]
fn slow_handshakes_are_ended_and_hold_nobody() {
    let served = served(ServerLimits { handshake: Duration::from_millis(300), ..ServerLimits::default() });
    let mut silent = connect(served.address());
    let mut half = connect(served.address());
    half.write_all(&[0x16, 3, 1]).expect("it is sent");
    let bearer = served.keys.bearer(Role::View);
    let head = format!("GET /api/v1/nodes HTTP/1.1\r\nHost: monitor.example.org\r\nAuthorization: {bearer}");
    // On a loaded machine its handshake may take too long as well: it is tried again.
    let begun = Instant::now();
    while ask(served.address(), &served.authority.client(), "monitor.example.org", &head)
        .map_or(true, |answer| !answer.contains(" 200 "))
    {
        assert!(begun.elapsed() < PATIENCE);
    }
    for connection in [&mut silent, &mut half] {
        if let Err(error) = connection.read_to_end(&mut Vec::new()) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
    }
    while refused(&served.hub, "slow_handshake") < 2 {
        assert!(begun.elapsed() < PATIENCE);
    }
}

#[test]
fn a_renewed_certificate_is_taken() {
    let served = served(ServerLimits::default());
    let head = "GET / HTTP/1.1\r\nHost: localhost";
    let new = Authority::new();
    assert!(ask(served.address(), &new.client(), "monitor.example.org", head).is_err());
    // What is half there changes nothing.
    fs::write(served.folder.path().join("server.key"), "x").expect("it is written");
    std::thread::sleep(Duration::from_millis(1_100));
    ask(served.address(), &served.authority.client(), "monitor.example.org", head)
        .expect("the one before stays");
    new.issue(served.folder.path(), &["monitor.example.org"]);
    let begun = Instant::now();
    while ask(served.address(), &new.client(), "monitor.example.org", head).is_err() {
        assert!(begun.elapsed() < PATIENCE, "it is not taken");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn beyond_loopback_both_are_needed() {
    let (keys, authority) = (Keys::new(), Authority::new());
    let folder = tempfile::tempdir().expect("a folder");
    let (chain, key) = authority.issue(folder.path(), &["monitor.example.org"]);
    let certificate = || Some(Certificate::read(&chain, &key).expect("a certificate"));
    let beyond: SocketAddr = "0.0.0.0:0".parse().expect("an address");
    let cases = [
        ServerSettings::new(beyond),
        ServerSettings { certificate: certificate(), ..ServerSettings::new(beyond) },
        ServerSettings { listen: beyond, ..keys.settings() },
    ];
    for settings in cases {
        let error = web::serve_with(full(), settings, None).expect_err("it is refused");
        assert!(error.to_string().contains("needs TLS and a token"), "{error}");
    }
    // On loopback either may be alone.
    let loopback =
        ServerSettings { certificate: certificate(), ..ServerSettings::new(([127, 0, 0, 1], 0).into()) };
    let server = web::serve_with(full(), loopback, None).expect("a server");
    let head = "GET /api/v1/status HTTP/1.1\r\nHost: localhost";
    let answer = ask(server.address(), &authority.client(), "monitor.example.org", head).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn files_that_are_no_certificate_and_key_are_named() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (chain, key) = authority.issue(folder.path(), &["monitor.example.org"]);
    let none = folder.path().join("none");
    let other = tempfile::tempdir().expect("a folder");
    let (_, foreign) = authority.issue(other.path(), &["monitor.example.org"]);
    set_mode(&chain, 0o600);
    for (chain, key, named) in [
        (&none, &key, "none"),
        (&chain, &none, "none"),
        (&key, &key, "server.key"),
        (&chain, &chain, "server.pem"),
        (&chain, &foreign, "server.key"),
    ] {
        let error = Certificate::read(chain, key).expect_err("it is refused");
        assert!(error.contains(named) && !error.contains('\n'), "{error}");
    }
    set_mode(&key, 0o644);
    let error = Certificate::read(&chain, &key).expect_err("it is refused");
    assert!(error.contains("chmod 600"), "{error}");
}
