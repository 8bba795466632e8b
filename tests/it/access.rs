//! Tokens and TLS of a controller, as its operators and clients use them. It needs no broker: one that is away is no error.

use crate::support::program::{Ended, Running, edison, run};
use crate::support::scratch::{Scratch, text};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// An authority, and the certificate of a server that it signed.
struct Certificates {
    authority: PathBuf,
    chain: PathBuf,
    key: PathBuf,
}

fn certificates(scratch: &Scratch, name: &str) -> Certificates {
    let root = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&root).expect("a certificate");
    let issuer = Issuer::new(params, root);
    let key = KeyPair::generate().expect("a key");
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let signed =
        CertificateParams::new(names).expect("names").signed_by(&key, &issuer).expect("a certificate");
    let private = scratch.file(&format!("{name}.key"), key.serialize_pem());
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).expect("it is set");
    Certificates {
        authority: scratch.file(&format!("{name}.ca.pem"), authority.pem()),
        chain: scratch.file(&format!("{name}.pem"), signed.pem()),
        key: private,
    }
}

fn token(file: &str, arguments: &[&str]) -> Ended {
    run(edison().args(["controller", "token", "--file", file]).args(arguments))
}

/// A new token.
fn made(file: &str, name: &str, role: &str) -> String {
    let made = token(file, &[name, "--role", role]).says(0, &["only time"]);
    made.stdout.trim_end().to_owned()
}

/// Settings of a controller whose broker is away.
fn settings(scratch: &Scratch, more: &str) -> PathBuf {
    let state = scratch.path("state.db");
    let settings = format!(
        "broker = \"amqp://edison@127.0.0.1:1\"\nnodes = [\"Node1\"]\nevery = \"1s\"\nstate = \"{}\"\n{more}",
        text(&state)
    );
    scratch.file("controller.toml", settings)
}

fn refused(scratch: &Scratch, more: &str, words: &[&str]) {
    let file = settings(scratch, more);
    run(edison().args(["controller", "--config", text(&file)])).says(2, words);
}

/// A controller, and its address once it listens.
fn controller(scratch: &Scratch, more: &str) -> (Running, String) {
    let file = settings(scratch, more);
    let mut controller = Running::start(edison().args(["controller", "--config", text(&file)]));
    let address = |running: &Running| {
        let begin =
            |line: &String| Some(line.split_once("the API are at ")?.1.split_once("/;")?.0.to_owned());
        running.said().iter().find_map(begin)
    };
    assert!(
        controller.wait_for("its address", |running| address(running).is_some()),
        "{:?}",
        controller.said()
    );
    let address = address(&controller).expect("it is there");
    (controller, address)
}

#[test]
fn tokens_are_made_listed_and_removed() {
    let scratch = Scratch::new();
    let (file, out) = (scratch.path("tokens"), scratch.path("ci.token"));
    let file = text(&file);
    let alice = made(file, "alice", "view");
    assert!(alice.starts_with("edison_alice_") && alice.len() == "edison_alice_".len() + 64, "{alice}");
    let quiet = token(file, &["ci", "--role", "run", "--out", text(&out)]).expect(0);
    assert_eq!((&*quiet.stdout, &*quiet.stderr), ("", ""));
    assert!(fs::read_to_string(&out).expect("a token").starts_with("edison_ci_"));
    for path in [file, text(&out)] {
        assert_eq!(fs::metadata(path).expect("it is there").permissions().mode() & 0o777, 0o600);
    }
    assert!(!fs::read_to_string(file).expect("a text").contains(&alice[13..]));
    assert_eq!(token(file, &["--list"]).expect(0).stdout, "alice view\nci run\n");
    token(file, &["alice", "--role", "run"]).says(2, &["there is a token alice already"]);
    token(file, &["bob", "--role", "run", "--out", text(&out)]).says(2, &["--out", "ci.token"]);
    let new = scratch.path("new.token");
    token(file, &["a b", "--role", "run", "--out", text(&new)]).says(2, &["\"a b\"", "letters"]);
    assert!(!new.exists());
    token(file, &["bob"]).says(2, &["--role"]);
    token(file, &["bob", "--role", "root"]).says(2, &["root", "view"]);
    token(file, &[]).says(2, &["--list"]);
    token(file, &["--list", "--remove", "ci"]).says(2, &["--list"]);
    token(file, &["--remove", "ci"]).says(0, &["ci is removed"]);
    token(file, &["--remove", "ci"]).says(2, &["there is no token"]);
    assert_eq!(token(file, &["--list"]).expect(0).stdout, "alice view\n");
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("it is set");
    token(file, &["--list"]).says(2, &["chmod 600"]);
}

#[test]
fn nothing_listens_beyond_loopback_without_tls_and_tokens() {
    let scratch = Scratch::new();
    let tokens = scratch.path("tokens");
    made(text(&tokens), "alice", "view");
    let Certificates { chain, key, .. } = certificates(&scratch, "server");
    let [tokens, chain, key] = [("tokens", &tokens), ("web-certificate", &chain), ("web-key", &key)]
        .map(|(name, path)| format!("{name} = \"{}\"\n", text(path)));
    let beyond = "listen = \"0.0.0.0:0\"\n";
    refused(&scratch, beyond, &["beyond loopback", "tokens, web-certificate, web-key"]);
    refused(&scratch, &format!("{beyond}{tokens}"), &["set web-certificate, web-key"]);
    refused(&scratch, &format!("{beyond}{chain}{key}"), &["set tokens"]);
    refused(&scratch, &format!("{beyond}{tokens}{chain}"), &["set web-key"]);
    refused(&scratch, &chain, &["go together"]);
    refused(&scratch, "tokens = \"none\"\n", &["'tokens'", "edison controller token"]);
    run(edison().args(["controller"])).says(2, &["--config"]);
}

#[test]
fn commands_ask_over_tls_with_a_token() {
    let scratch = Scratch::new();
    let file = scratch.path("tokens");
    let file = text(&file);
    let (alice, bob) = (made(file, "alice", "view"), made(file, "bob", "run"));
    let (server, other) = (certificates(&scratch, "server"), certificates(&scratch, "other"));
    let more = format!(
        "listen = \"127.0.0.1:0\"\ntokens = \"{file}\"\nweb-certificate = \"{}\"\nweb-key = \"{}\"\n",
        text(&server.chain),
        text(&server.key)
    );
    let (controller, address) = controller(&scratch, &more);
    assert!(address.starts_with("https://127.0.0.1:"), "{address}");
    let (alice_file, bob_file) = (scratch.file("alice", format!("{alice}\n")), scratch.file("bob", &bob));
    let ask = |arguments: &[&str], token: &[&str], authority: &PathBuf| {
        let place = ["--controller", &*address, "--ca", text(authority)];
        run(edison().args(arguments).args(place).args(token))
    };
    let (as_alice, as_bob) = (["--token-file", text(&alice_file)], ["--token-file", text(&bob_file)]);
    // Its node is not up.
    let nodes = ask(&["nodes"], &as_alice, &server.authority).expect(3);
    assert!(nodes.stdout.contains("Node1"), "{}", nodes.stdout);
    // The environment shows it, too.
    let mut command = edison();
    command
        .args(["nodes", "--controller", &address])
        .env("EDISON_TOKEN", &alice)
        .env("EDISON_CA", &server.authority);
    run(&mut command).expect(3);
    ask(&["nodes"], &[], &server.authority).says(2, &["needs a token", "--token-file"]);
    ask(&["nodes"], &as_alice, &other.authority).says(2, &["certificate is not believed", "--ca FILE"]);
    let query = ["add", "-q", "q9: select count(*) as n every 1s"];
    ask(&query, &as_alice, &server.authority).says(2, &["needs the role run", "alice has view"]);
    assert_eq!(ask(&query, &as_bob, &server.authority).expect(0).stdout, "added: q9\n");
    assert_eq!(ask(&["cancel", "q9"], &as_bob, &server.authority).expect(0).stdout, "removed: q9\n");
    let nodes = ask(&["nodes"], &as_bob, &server.authority).expect(3).stdout;
    assert!(nodes.contains("requests refused: ") && nodes.contains("1 role"), "{nodes}");
    // A stream needs it as well.
    let mut watch = edison();
    watch.args(["watch", "--controller", &address, "--ca", text(&server.authority)]).args(as_alice);
    let mut watch = Running::start(&mut watch);
    let is_watching = |running: &Running| running.said().iter().any(|line| line.contains("watching"));
    assert!(watch.wait_for("a stream", is_watching), "{:?}", watch.said());
    drop(watch);
    // A token that is removed is of no use any more.
    token(file, &["--remove", "bob"]).expect(0);
    let began = Instant::now();
    while ask(&["nodes"], &as_bob, &server.authority).code == Some(3) {
        assert!(began.elapsed() < DEADLINE, "it is still taken");
    }
    ask(&["nodes"], &as_alice, &server.authority).expect(3);
    let said = controller.said().join("\n");
    assert!(said.contains("refused (no_token): 127.0.0.1: GET /api/v1/status"), "{said}");
    assert!([&alice, &bob].iter().all(|token| !said.contains(&token[13..])), "{said}");
}

#[test]
fn a_token_is_never_sent_in_clear_to_another_machine() {
    let scratch = Scratch::new();
    let file = scratch.file("token", format!("edison_a_{}\n", "0".repeat(64)));
    let shown = ["--token-file", text(&file)];
    let ask =
        |address: &str, more: &[&str]| run(edison().args(["nodes", "--controller", address]).args(more));
    // An address of documentation: nothing is sent there.
    ask("http://192.0.2.1:8080", &shown).says(2, &["in clear", "https://"]);
    ask("http://localhost@192.0.2.1:8080", &shown).says(2, &["no user"]);
    ask("ftp://192.0.2.1", &shown).says(2, &["https://HOST:PORT"]);
    ask("https://127.0.0.1:1", &[&shown[..], &["--ca", "none"]].concat()).says(2, &["--ca none"]);
    ask("https://127.0.0.1:1", &[&shown[..], &["--ca", text(&file)]].concat()).says(2, &["no certificate"]);
    ask("http://127.0.0.1:1", &["--token-file", "none"]).says(2, &["--token-file none"]);
    let empty = scratch.file("empty", "\n");
    ask("http://127.0.0.1:1", &["--token-file", text(&empty)]).says(2, &["no token"]);
    // Where another address is named instead, the token stays here.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let location = format!("http://{}/", elsewhere.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        use std::io::Read;
        let (mut stream, _) = listener.accept().expect("a client");
        let mut read = [0; 4096];
        let length = stream.read(&mut read).expect("a request");
        let answer = format!("HTTP/1.1 307 x\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).expect("it is sent");
        String::from_utf8_lossy(&read[..length]).into_owned()
    });
    ask(&address, &shown).says(1, &["not the API", "307"]);
    assert!(server.join().expect("a request").to_lowercase().contains("authorization: bearer edison_a_0"));
    elsewhere.set_nonblocking(true).expect("it is set");
    assert!(elsewhere.accept().is_err(), "it was followed");
}

/// The most memory that a process has had, MiB.
fn peak(running: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", running.child.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") >> 10
}

#[test]
fn what_strangers_send_takes_no_memory() {
    let scratch = Scratch::new();
    let file = scratch.path("tokens");
    let right = made(text(&file), "alice", "run");
    let (controller, address) =
        controller(&scratch, &format!("listen = \"127.0.0.1:0\"\ntokens = \"{}\"\n", text(&file)));
    let ask = |token: &str| {
        let shown = format!("Bearer {token}");
        let call = ureq::get(format!("{address}/api/v1/nodes")).header("Authorization", shown).call();
        match call {
            Ok(answer) => answer.status().as_u16(),
            Err(ureq::Error::StatusCode(status)) => status,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(ask(&right), 200);
    let first = peak(&controller);
    let statuses: Vec<u16> = (0..60).map(|number| ask(&format!("edison_alice_{number:064x}"))).collect();
    assert!(statuses[..10].iter().all(|status| *status == 401) && statuses.contains(&429), "{statuses:?}");
    // A hundred megabytes, of who may send a text and of who may not.
    let place = address.strip_prefix("http://").expect("it is in clear");
    for token in ["", &format!("Authorization: Bearer {right}\r\n")] {
        for length in ["Content-Length: 104857600\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n6400000\r\n"] {
            let mut connection = TcpStream::connect(place).expect("a connection");
            let head = format!("POST /api/v1/queries HTTP/1.1\r\nHost: localhost\r\n{token}{length}");
            connection.write_all(head.as_bytes()).expect("it is sent");
            let piece = vec![b'x'; 1 << 20];
            let sent = (0..100).take_while(|_| connection.write_all(&piece).is_ok()).count();
            assert!(sent < 100, "all of it was taken");
        }
    }
    // Each token takes 19 MiB while it is checked.
    assert!(peak(&controller) < first + 30, "{first} {}", peak(&controller));
}
