//! TLS towards a broker: certificates say who connects, what is wrong with one is said, and nothing is ever spoken in clear in its place.

use crate::broker::TestBroker;
use crate::certificates::{Authority, Certificate};
use crate::suite::{MOMENT, PATIENCE, until, window, windows};
use protocol::amqp::{
    AmqpProbeLink, BrokerAddress, BrokerError, ControllerLinkSettings, ProbeSettings, Tls, TlsError,
    controller_link, probe_link,
};
use protocol::{ControllerLink, ProbeLink, TaskList, ToProbe};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Valid whenever this test runs.
const NOW: std::ops::Range<i32> = 2000..2100;

fn tls(authority: &Authority, own: Option<&Certificate>) -> Tls {
    let own = own.map(|own| (own.certificate.as_bytes(), own.key.as_bytes()));
    Tls::new(authority.certificate.as_bytes(), own).expect("what TLS needs")
}

fn broker(url: &str, tls: Tls) -> BrokerAddress {
    url.parse::<BrokerAddress>().expect("an address").with_tls(tls).expect("an address of TLS")
}

fn probe(broker: BrokerAddress, node: &str) -> AmqpProbeLink {
    let settings = ProbeSettings { broker, node: node.to_owned(), spool_bytes: ProbeSettings::SPOOL_BYTES };
    probe_link(settings).expect("a probe")
}

/// Waits until a probe says why it does not connect, in these words.
#[track_caller]
fn says(broker: BrokerAddress, words: &str) {
    let probe = probe(broker, "A");
    probe.send(window(0)).expect("a connection");
    let mut last = String::new();
    let began = std::time::Instant::now();
    while !last.contains(words) {
        assert!(began.elapsed() < PATIENCE, "{last:?} has no {words:?}");
        last = probe.state().reason.unwrap_or_default();
        std::thread::sleep(MOMENT);
    }
    assert!(!last.contains('\n') && !last.contains("secret"), "{last:?}");
}

/// A folder as `scripts/broker` expects it.
struct Folder(PathBuf);

impl Folder {
    fn new(authority: &Authority, server: &Certificate) -> Self {
        let path = std::env::temp_dir().join(format!("edison-tls-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        for (name, text) in [
            ("ca.pem", &authority.certificate),
            ("broker.pem", &server.certificate),
            ("broker.key", &server.key),
        ] {
            std::fs::write(path.join(name), text).expect("a file");
        }
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_certificate_says_who_connects() {
    let authority = Authority::new("authority");
    let folder = Folder::new(&authority, &authority.server(&["127.0.0.1"], NOW));
    let running = TestBroker::with_tls(&folder.0);
    for (user, rights) in [("A", ["^$", r"^edison\.results$", r"^edison\.tasks\.A$"]), ("join", [".*"; 3])] {
        running.ctl(&["add_user", user, "unknown"]);
        running.ctl(&["clear_password", user]);
        running.ctl(&[&["set_permissions", user], rights.as_slice()].concat());
    }
    let url = |user: &str| format!("amqps://{user}@127.0.0.1:{}", running.port());
    let good = authority.client("A", 2100);
    let own = |certificate: &Certificate| tls(&authority, Some(certificate));

    let join = broker(&url("join"), own(&authority.client("join", 2100)));
    let controller =
        controller_link(ControllerLinkSettings::new(join, vec!["A".to_owned()])).expect("a controller");
    let link = probe(broker(&url("A"), own(&good)), "A");
    (0..3).for_each(|number| link.send(window(number)).expect("a connection"));
    assert_eq!(windows(&controller, 1, 3), [[0, 1, 2]]);
    controller.acknowledge();
    controller.send(0, ToProbe::Tasks(TaskList::default())).expect("a connection");
    until("the list arrives", || link.receive(MOMENT).expect("a connection").is_some());
    drop(link);

    // Somebody else's certificate is of no use.
    says(broker(&url("B"), own(&good)), "user_id property set to 'B' but authenticated user was 'A'");
    says(broker(&url("C"), own(&authority.client("C", 2100))), "refuses the certificate of user \"C\"");
    says(broker(&url("A"), own(&authority.client("A", 2010))), "which has expired");
    says(
        broker(&url("A"), own(&Authority::new("other").client("A", 2100))),
        "authority that it does not know",
    );
    says(broker(&url("A:secret"), tls(&authority, None)), "client certificate");
    says(broker(&url("A:secret"), own(&good)), "refuses user \"A\" or the password");

    // Who speaks in clear is not answered in clear.
    let clear = format!("amqp://guest:secret@127.0.0.1:{}", running.port());
    says(clear.parse().expect("an address"), "does it want TLS");
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", running.port())).expect("a port");
    stream.write_all(b"AMQP\0\0\x09\x01").expect("it is taken");
    let mut answered = Vec::new();
    let _ = stream.read_to_end(&mut answered);
    assert!(answered.is_empty() || answered[0] == 21, "no TLS alert: {answered:?}");
}

/// What is renewed while a program runs is used by its next connection; what cannot be read is said, and what was read before stays.
#[test]
fn a_certificate_that_is_renewed_is_used_by_the_next_connection() {
    let authority = Authority::new("authority");
    // The names of those who connected.
    let (port, got) = ask_for_certificates(&authority);
    let files = Arc::new(Mutex::new(Ok(authority.client("first", 2100))));
    let (read, ca) = (Arc::clone(&files), authority.certificate.clone());
    let tls = Tls::renewed_by(move || {
        let own: Result<Certificate, String> = read.lock().expect("no panic").clone();
        let own = own?;
        Tls::new(ca.as_bytes(), Some((own.certificate.as_bytes(), own.key.as_bytes())))
            .map_err(|error| error.to_string())
    });
    let link = probe(broker(&format!("amqps://A@127.0.0.1:{port}"), tls.expect("files")), "A");
    // Each connection ends at once, and is made again.
    let next = |name: &str| until(name, || got.recv_timeout(MOMENT).is_ok_and(|shown| shown == name));
    next("first");
    assert_eq!(link.state().remark, None);
    *files.lock().expect("no panic") = Ok(authority.client("second", 2100));
    next("second");
    *files.lock().expect("no panic") = Err("'key-file': it is gone".to_owned());
    until("the remark", || {
        link.state().remark.as_deref() == Some("'key-file': it is gone; what was read before is used")
    });
    next("second");
    *files.lock().expect("no panic") = Ok(authority.client("third", 2100));
    next("third");
    until("no remark", || link.state().remark.is_none());
}

/// A server that wants a certificate, and what name it is shown each time; then it ends the connection.
fn ask_for_certificates(authority: &Authority) -> (u16, std::sync::mpsc::Receiver<String>) {
    let server = authority.server(&["127.0.0.1"], NOW);
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(authority.certificate.as_bytes()).expect("a certificate");
    roots.add(ca).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let chain = CertificateDer::pem_slice_iter(server.certificate.as_bytes());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(
            chain.collect::<Result<Vec<_>, _>>().expect("a certificate"),
            PrivateKeyDer::from_pem_slice(server.key.as_bytes()).expect("a key"),
        )
        .expect("a certificate with its key");
    let config = Arc::new(config);
    let (port, got) = listen(move |stream| {
        let mut server =
            StreamOwned::new(ServerConnection::new(Arc::clone(&config)).expect("a server"), stream);
        let _ = server.read(&mut [0; 8]);
        let shown = server.conn.peer_certificates().and_then(|shown| shown.first());
        shown.map(|shown| shown.to_vec()).unwrap_or_default()
    });
    let (into, names) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for shown in got {
            // A common name is in its certificate as it is.
            let has = |name: &&str| shown.windows(name.len()).any(|window| window == name.as_bytes());
            let name = ["first", "second", "third"].iter().find(|name| has(name)).unwrap_or(&"unknown");
            if into.send((*name).to_owned()).is_err() {
                break;
            }
        }
    });
    (port, names)
}

/// A port that answers as `serve` does, each time in a thread of the test, and what it was sent.
fn listen(
    serve: impl Fn(std::net::TcpStream) -> Vec<u8> + Send + 'static,
) -> (u16, std::sync::mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (into, got) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Until nobody listens.
        for stream in listener.incoming() {
            if into.send(serve(stream.expect("a connection"))).is_err() {
                break;
            }
        }
    });
    (port, got)
}

/// Without an answer in TLS nothing is sent but the begin of a handshake.
#[test]
fn nothing_is_spoken_in_clear() {
    let authority = Authority::new("authority");
    for answer in [b"AMQP\0\0\x09\x01".as_slice(), b""] {
        let (port, got) = listen(move |mut stream| {
            let mut bytes = vec![0; 4096];
            let count = stream.read(&mut bytes).expect("bytes");
            bytes.truncate(count);
            stream.write_all(answer).expect("it is taken");
            stream.shutdown(std::net::Shutdown::Write).expect("a connection");
            let _ = stream.read_to_end(&mut bytes);
            bytes
        });
        let at = broker(&format!("amqps://somebody:secret@127.0.0.1:{port}"), tls(&authority, None));
        says(at, "(often 5671)");
        let bytes = got.recv_timeout(PATIENCE).expect("a connection");
        // A record of a handshake, which is a ClientHello.
        assert_eq!((bytes[0], bytes[1], bytes[5]), (22, 3, 1));
        let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
        assert!(!has(b"AMQP") && !has(b"secret") && !has(b"somebody"));
    }
}

/// What a server reads once it has shown a certificate.
fn show(certificate: &Certificate) -> (u16, std::sync::mpsc::Receiver<Vec<u8>>) {
    let chain = CertificateDer::pem_slice_iter(certificate.certificate.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate with its key");
    let config = Arc::new(config);
    listen(move |stream| {
        let server = ServerConnection::new(Arc::clone(&config)).expect("a server");
        let mut bytes = vec![0; 4096];
        let count = StreamOwned::new(server, stream).read(&mut bytes).unwrap_or(0);
        bytes.truncate(count);
        bytes
    })
}

/// A broker with a wrong certificate is told nothing, not even who connects.
#[test]
fn wrong_certificates_are_told_apart() {
    let authority = Authority::new("authority");
    let cases = [
        (Authority::new("other").server(&["127.0.0.1"], NOW), "another authority"),
        // One that has the same name, and another key.
        (Authority::new("authority").server(&["127.0.0.1"], NOW), "its certificate is refused"),
        (authority.server(&["127.0.0.1"], 2000..2010), "has expired"),
        (authority.server(&["127.0.0.1"], 2090..2100), "not valid yet"),
        (authority.server(&["127.0.0.2", "broker.example.net"], NOW), "broker.example.net"),
        (authority.client("127.0.0.1", 2100), "its certificate is refused"),
    ];
    for (certificate, words) in &cases {
        let (port, got) = show(certificate);
        let at = broker(&format!("amqps://somebody:secret@127.0.0.1:{port}"), tls(&authority, None));
        says(at, words);
        assert_eq!(got.recv_timeout(PATIENCE).expect("a connection"), b"", "{words}");
    }
    // The same with a good one: then it speaks.
    let (port, got) = show(&authority.server(&["127.0.0.1"], NOW));
    let at = broker(&format!("amqps://somebody:secret@127.0.0.1:{port}"), tls(&authority, None));
    let link = probe(at, "A");
    assert_eq!(got.recv_timeout(PATIENCE).expect("a connection"), b"AMQP\0\0\x09\x01");
    drop(link);
}

#[test]
fn files_that_are_wrong_are_told_apart() {
    let authority = Authority::new("authority");
    let (one, other) = (authority.client("A", 2100), authority.client("B", 2100));
    let ca = authority.certificate.as_bytes();
    let (certificate, key) = (one.certificate.as_bytes(), one.key.as_bytes());
    let wrong = |ca: &[u8], own: Option<(&[u8], &[u8])>| Tls::new(ca, own).expect_err("wrong files");
    assert!(matches!(wrong(b"", None), TlsError::Authority(_)));
    assert!(matches!(wrong(key, None), TlsError::Authority(_)));
    let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(wrong(broken, None), TlsError::Authority(_)));
    assert!(matches!(wrong(ca, Some((b"", key))), TlsError::Certificate(_)));
    assert!(matches!(wrong(ca, Some((broken, key))), TlsError::Certificate(_)));
    assert!(matches!(wrong(ca, Some((certificate, b""))), TlsError::Key(_)));
    assert!(matches!(wrong(ca, Some((certificate, certificate))), TlsError::Key(_)));
    let mixed = wrong(ca, Some((certificate, other.key.as_bytes())));
    assert_eq!(mixed, TlsError::Key("this is the key of another certificate".to_owned()));
    // No text has the key.
    let good = Tls::new(ca, Some((certificate, key))).expect("good files");
    assert!(format!("{good:?}").len() < 50);
    let address = "amqp://A@h".parse::<BrokerAddress>().expect("an address");
    assert_eq!(address.with_tls(good.clone()).expect_err("clear text"), BrokerError::ClearText);
    let without_user = "amqps://h".parse::<BrokerAddress>().expect("an address").with_tls(good).expect("TLS");
    assert_eq!(without_user.check(), Err(BrokerError::NoUser));
}
