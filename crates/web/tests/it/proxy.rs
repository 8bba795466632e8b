//! The page and the API below a path of a reverse proxy: nginx, as Debian has it, which takes the prefix away.

use crate::access::Keys;
use crate::client::{PATIENCE, Response, connect, get, send};
use crate::page::{references, resolved};
use crate::sample::{changes, full, serve};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use web::Role;

/// A running nginx that serves `/edison/` from a server.
struct Proxy {
    nginx: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.nginx.kill();
        let _ = self.nginx.wait();
    }
}

impl Proxy {
    /// Starts it; `None`, with a line on standard error, where there is no nginx.
    fn start(server: SocketAddr) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"]
            .into_iter()
            .find(|path| fs::exists(path).is_ok_and(|is_there| is_there));
        let Some(program) = program else {
            eprintln!("skipped: nginx is not installed");
            return None;
        };
        // Another program may take the port before nginx does: then another one is tried.
        (0..5).find_map(|_| Self::try_start(program, server)).or_else(|| panic!("nginx does not start"))
    }

    fn try_start(program: &str, server: SocketAddr) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let path = folder.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {path}/{name};\n"))
            .concat();
        // As docs/web.md has it.
        let settings = format!(
            "daemon off; master_process off; pid {path}/pid; error_log stderr; events {{}}\n\
             http {{ access_log off; {temporary}\n\
             server {{ listen {address}; location /edison/ {{\n\
             proxy_pass http://{server}/; proxy_set_header Host $http_host; }} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, settings).expect("it is written");
        let mut nginx = Command::new(program)
            .arg("-e")
            .arg("stderr")
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .expect("it runs");
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if nginx.try_wait().expect("a state").is_some() {
                return None;
            }
            assert!(begun.elapsed() < PATIENCE, "nginx does not listen");
            sleep(Duration::from_millis(20));
        }
        Some(Self { nginx, address, _folder: folder })
    }

    fn get(&self, path: &str) -> Response {
        get(self.address, path)
    }
}

#[test]
fn the_page_its_files_and_the_api_are_below_a_prefix() {
    let server = serve(&full());
    let Some(proxy) = Proxy::start(server.address()) else { return };
    for path in ["/edison/", "/edison/stories/e1", "/edison/host/2001:db8::1", "/edison/explore?by=src_addr"]
    {
        let page = proxy.get(path);
        assert_eq!(page.status, 200, "{path}");
        for reference in references(&page) {
            let found = resolved(path.split('?').next().expect("a path"), reference);
            assert!(found.starts_with("/edison/"), "{path}: {reference} is {found}");
            assert_eq!(proxy.get(&found).status, 200, "{path}: {reference} is {found}");
        }
    }
    let nodes = |address, path| get(address, path).json()["nodes"].take();
    let own = nodes(server.address(), "/api/v1/status");
    assert!(own.as_array().is_some_and(|nodes| !nodes.is_empty()));
    assert_eq!(nodes(proxy.address, "/edison/api/v1/status"), own);
    for path in ["/edison/nowhere", "/edison/host/here", "/edison/assets/none.js", "/edison/api/v1/none"] {
        assert_eq!(proxy.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_proxy_hands_on_each_message_of_a_stream_as_it_comes() {
    let hub = full();
    let server = serve(&hub);
    let Some(proxy) = Proxy::start(server.address()) else { return };
    let mut connection = connect(proxy.address);
    connection
        .write_all(b"GET /edison/api/v1/stream HTTP/1.0\r\nHost: localhost\r\n\r\n")
        .expect("it is sent");
    let mut lines = BufReader::new(connection).lines().map(|line| line.expect("a line in time"));
    let first = lines.next().expect("a status");
    assert!(first.contains(" 200 "), "{first}");
    assert!(lines.any(|line| line == "event: queries"));
    // A proxy that collects would keep these few bytes until there are more, or the stream ends.
    hub.publish(&changes()).expect("it is stored");
    assert!(lines.any(|line| line == "event: story"));
}

#[test]
fn a_session_is_begun_and_kept_below_a_prefix() {
    let keys = Keys::new();
    let server = keys.serve(&full());
    let Some(proxy) = Proxy::start(server.address()) else { return };
    let own = [("Origin", "http://localhost"), ("Sec-Fetch-Site", "same-origin")];
    let bearer = keys.bearer(Role::View);
    let shown = [&own[..], &[("Authorization", &*bearer)]].concat();
    let began = send(proxy.address, "POST /edison/api/v1/session", &shown, b"");
    assert_eq!(began.status, 200, "{}", began.text());
    let cookie = began.header("set-cookie").expect("a cookie");
    // It is the browser that gives it the path of the folder of the call, `/edison/api/v1`.
    assert!(!cookie.to_ascii_lowercase().contains("path="), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair");
    let asked = |headers: &[(&str, &str)]| send(proxy.address, "GET /edison/api/v1/session", headers, b"");
    assert_eq!(asked(&[]).status, 401);
    assert_eq!(asked(&[("Cookie", pair)]).json()["name"], "view");
    // Another site is as far away as without a proxy.
    let foreign = [("Origin", "http://elsewhere"), ("Cookie", pair)];
    assert_eq!(send(proxy.address, "DELETE /edison/api/v1/session", &foreign, b"").status, 403);
}
