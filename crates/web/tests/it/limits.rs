//! What clients may take: each limit has a name and a counter, and nobody else waits for who goes beyond it.

use crate::access::{Keys, refused};
use crate::client::{PATIENCE, connect, get, send};
use crate::sample::{full, serve};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use web::{Hub, Role, Server, ServerLimits, ServerSettings};

const SOON: Duration = Duration::from_millis(300);
/// Long enough for who means to be quick, on a loaded machine.
const SOON_ENOUGH: Duration = Duration::from_secs(3);

fn with(hub: &Hub, limits: ServerLimits) -> Server {
    let settings =
        ServerSettings { limits, ..ServerSettings::new("127.0.0.1:0".parse().expect("an address")) };
    web::serve_with(hub.clone(), settings, None).expect("a server")
}

/// Waits until this was refused so often.
pub(crate) fn wait_for(hub: &Hub, name: &str, count: u64) {
    let begun = Instant::now();
    while refused(hub, name) < count {
        assert!(begun.elapsed() < PATIENCE, "{name} was not refused {count} times");
    }
    assert_eq!(refused(hub, name), count, "{name}");
}

fn begin(address: SocketAddr, text: &[u8]) -> TcpStream {
    let mut connection = connect(address);
    connection.write_all(text).expect("it is sent");
    connection
}

/// What comes until the end.
fn rest(mut connection: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset has ended, too.
    let _ = connection.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn slow_heads_are_ended_and_hold_nobody() {
    let hub = full();
    let server = with(&hub, ServerLimits { head: SOON_ENOUGH, ..ServerLimits::default() });
    let address = server.address();
    let slow: Vec<TcpStream> =
        (0..20).map(|_| begin(address, b"GET /api/v1/status HTTP/1.1\r\nHost: localh")).collect();
    let idle = connect(address);
    assert_eq!(get(address, "/api/v1/status").status, 200);
    slow.into_iter().map(rest).for_each(|answer| assert!(!answer.contains(" 200 "), "{answer}"));
    // Who asks nothing is let go, and was refused nothing.
    assert_eq!(rest(idle), "");
    wait_for(&hub, "slow_head", 20);
}

#[test]
fn slow_bodies_are_ended() {
    let hub = full();
    let server = with(&hub, ServerLimits { body: SOON, ..ServerLimits::default() });
    let head = b"POST /api/v1/queries?file=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf";
    let answer = rest(begin(server.address(), head));
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("did not arrive in"), "{answer}");
    wait_for(&hub, "slow_body", 1);
}

#[test]
fn who_takes_nothing_is_let_go() {
    let hub = full();
    let server = with(&hub, ServerLimits { reading: SOON, ..ServerLimits::default() });
    let stuck = begin(server.address(), b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let begun = Instant::now();
    let mut number = 0;
    while refused(&hub, "slow_reader") == 0 {
        assert!(begun.elapsed() < PATIENCE, "it stays");
        let columns = vec![model::Column::new("text", model::ColumnKind::Text, "")];
        let row = vec![model::Value::Text("x".repeat(1 << 20))];
        let answer = model::Answer { revision: number, ..model::Answer::new("q", None, columns, vec![row]) };
        hub.publish(&archive::ArchiveChanges { answers: vec![answer], ..Default::default() })
            .expect("it is stored");
        number += 1;
    }
    drop(stuck);
}

#[test]
fn connections_are_counted() {
    let hub = full();
    let server = with(&hub, ServerLimits { connections: 3, ..ServerLimits::default() });
    let address = server.address();
    let ask = b"GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut held: Vec<TcpStream> = (0..3).map(|_| begin(address, ask)).collect();
    let mut first = [0; 15];
    for connection in &mut held {
        connection.read_exact(&mut first).expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200 OK");
    }
    assert_eq!(rest(connect(address)), "");
    wait_for(&hub, "too_many_connections", 1);
    held.pop();
    let begun = Instant::now();
    while !rest(begin(address, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")).contains(" 200 ") {
        assert!(begun.elapsed() < PATIENCE, "nobody makes room");
    }
}

#[test]
fn what_is_no_http_is_named() {
    let hub = full();
    let server = with(&hub, ServerLimits::default());
    let address = server.address();
    assert!(
        rest(begin(address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n")).contains(" 400 ")
    );
    wait_for(&hub, "malformed", 1);
    let many: String = (0..100).map(|number| format!("X-{number}: x\r\n")).collect();
    let large = format!("X: {}\r\n", "x".repeat(400_000));
    // The buffer may take somewhat more than its limit.
    for headers in [many, large] {
        let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        let answer = rest(begin(address, request.as_bytes()));
        assert!(answer.is_empty() || answer.contains(" 431 "), "{answer}");
    }
    wait_for(&hub, "large_head", 2);
}

#[test]
fn paths_that_look_for_other_files_are_named() {
    let hub = full();
    let server = serve(&hub);
    let paths = [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/assets/../index.html",
        "/assets/..%2f..%2fetc%2fpasswd.x",
        "/assets/..\\..\\x.y",
        "/api/v1/captures/e1/../../../x",
    ];
    for path in paths {
        assert_eq!(get(server.address(), path).status, 404, "{path}");
    }
    assert_eq!(get(server.address(), "/none..js").status, 404);
    assert_eq!((refused(&hub, "path_traversal"), refused(&hub, "unknown_path")), (paths.len() as u64, 1));
}

/// Sends a body of this many bytes piece by piece, until the server hears no more, and gives what it answers.
fn pour(address: SocketAddr, head: &str, bytes: usize) -> String {
    let mut connection = begin(address, head.as_bytes());
    let piece = vec![b'x'; 1 << 16];
    for _ in 0..bytes / piece.len() {
        let chunked = head.contains("chunked");
        let sent = match chunked {
            true => write!(connection, "{:x}\r\n", piece.len())
                .and_then(|()| connection.write_all(&piece))
                .and_then(|()| connection.write_all(b"\r\n")),
            false => connection.write_all(&piece),
        };
        if sent.is_err() {
            break;
        }
    }
    rest(connection)
}

#[test]
fn a_body_of_a_hundred_megabytes_is_refused() {
    const HUGE: usize = 100 << 20;
    let (hub, keys) = (full(), Keys::new());
    let server = keys.serve(&hub);
    let bearer = keys.bearer(Role::Run);
    assert_eq!(send(server.address(), "GET /api/v1/nodes", &[("Authorization", &bearer)], b"").status, 200);
    let line = "POST /api/v1/queries?file=a HTTP/1.1\r\nHost: localhost\r\n";
    let (length, chunked) = (format!("Content-Length: {HUGE}\r\n\r\n"), "Transfer-Encoding: chunked\r\n\r\n");
    let known = format!("Authorization: {bearer}\r\n");
    for (token, end, name) in [
        (&*known, &*length, "large_body"),
        (&known, chunked, "large_body"),
        // Of who shows no token nothing is read at all.
        ("", &length, "no_token"),
        ("", chunked, "no_token"),
    ] {
        let counted = refused(&hub, name);
        let answer = pour(server.address(), &format!("{line}{token}{end}"), HUGE);
        // A connection that is closed on who still sends may be reset before the answer is read.
        let status = if name == "no_token" { " 401 " } else { " 413 " };
        assert!(answer.is_empty() || answer.contains(status), "{answer}");
        wait_for(&hub, name, counted + 1);
    }
}
