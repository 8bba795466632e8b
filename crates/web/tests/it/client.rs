//! A client that sends what it is told to, right or wrong.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What a test waits for comes long before.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Json {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The error, which is one line.
    pub(crate) fn error(&self) -> String {
        let error = self.json()["error"].as_str().expect("an error").to_owned();
        assert!(!error.contains('\n') && !error.is_empty(), "{error}");
        error
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).expect("a connection");
    connection.set_read_timeout(Some(PATIENCE)).expect("it is set");
    connection
}

/// Sends a request with these headers and no other.
pub(crate) fn send_bare(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let mut connection = connect(address);
    // HTTP/1.0: the body ends with the connection.
    let mut request = format!("{line} HTTP/1.0\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    connection.write_all(request.as_bytes()).expect("it is sent");
    // A server that refuses a body need not read it.
    let _ = connection.write_all(body);
    read(connection)
}

fn read(mut connection: TcpStream) -> Response {
    let mut bytes = Vec::new();
    if let Err(error) = connection.read_to_end(&mut bytes) {
        assert!(!bytes.is_empty(), "{error}");
    }
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("headers");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("UTF-8");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Response { status, head, body: bytes[end + 4..].to_vec() }
}

pub(crate) fn send(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    send_bare(address, line, &[&[("Host", "localhost")], headers].concat(), body)
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Response {
    send(address, &format!("GET {path}"), &[], b"")
}

/// What is at this address, which must be there.
pub(crate) fn json(address: SocketAddr, path: &str) -> Json {
    let response = get(address, path);
    assert_eq!(response.status, 200, "{path} {}", response.text());
    response.json()
}

/// A stream of server-sent events.
pub(crate) struct Stream(pub(crate) BufReader<TcpStream>);

impl Stream {
    /// Connects, and reads what a stream is told first.
    pub(crate) fn open(address: SocketAddr) -> Self {
        let mut stream = Self::connect(address);
        for first in ["status", "queries"] {
            assert_eq!(stream.next().expect("a message").0, first);
        }
        stream
    }

    /// Connects, and reads the headers.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::connect_with(address, &[])
    }

    /// Connects to a stream that is told the nodes alone that changed, and reads the headers.
    pub(crate) fn connect_for_changes(address: SocketAddr) -> Self {
        Self::connect_to(address, "/api/v1/stream?nodes=changes", &[])
    }

    /// The same with these headers.
    pub(crate) fn connect_with(address: SocketAddr, headers: &[(&str, &str)]) -> Self {
        Self::connect_to(address, "/api/v1/stream", headers)
    }

    fn connect_to(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut connection = connect(address);
        let mut request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        connection.write_all(format!("{request}\r\n").as_bytes()).expect("it is sent");
        let mut stream = Self(BufReader::new(connection));
        let head: Vec<String> =
            std::iter::from_fn(|| stream.line().filter(|line| !line.is_empty())).collect();
        assert!(head[0].contains(" 200 "), "{head:?}");
        assert!(head.iter().any(|line| line == "content-type: text/event-stream"), "{head:?}");
        // nginx obeys it, and does not hand it on.
        assert!(head.iter().any(|line| line == "x-accel-buffering: no"), "{head:?}");
        stream
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line in time");
        line.strip_suffix('\n').map(|line| line.trim_end_matches('\r').to_owned())
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<(String, Json)> {
        loop {
            let line = self.line()?;
            if let Some(name) = line.strip_prefix("event: ") {
                let data = self.line()?;
                let data = data.strip_prefix("data: ").expect("data");
                assert_eq!(self.line().as_deref(), Some(""));
                return Some((name.to_owned(), serde_json::from_str(data).expect("JSON")));
            }
            assert!(line.is_empty() || line.starts_with(':'), "{line}");
        }
    }
}
