//! The server's thread.

mod connection;
mod paced;
mod places;

use crate::access::{Access, Tokens};
use crate::api::{App, Turns, router};
use crate::certificate::Certificate;
use crate::guard::Guard;
use crate::names::ServerNames;
use crate::{Hub, Request};
use connection::Connections;
use places::ConnectionLimiter;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// Threads that ask the archive, which answers one at a time, and check tokens.
const BLOCKING_THREADS: usize = 4;
/// The time that answers which are being sent may take when the server stops.
const GRACE: Duration = Duration::from_millis(500);
/// The time to wait where a connection cannot be accepted, as without a free file descriptor.
const PAUSE: Duration = Duration::from_millis(200);

/// The address at which a server listens, and who may ask it for what.
#[derive(Debug)]
pub struct ServerSettings {
    /// The address.
    pub listen: SocketAddr,
    /// The names by which the server may be asked besides those of loopback and of its certificate.
    pub names: Vec<String>,
    /// The certificate, with which the server speaks TLS, and nothing else.
    pub certificate: Option<Certificate>,
    /// The tokens, without which nobody is asked who he is.
    pub tokens: Option<Tokens>,
    /// The limits of what clients may take.
    pub limits: ServerLimits,
}

impl ServerSettings {
    /// A server of this address, without TLS and tokens.
    pub fn new(listen: SocketAddr) -> Self {
        Self { listen, names: Vec::new(), certificate: None, tokens: None, limits: ServerLimits::default() }
    }
}

/// The limits of what clients may take. Each limit has a counter of those that went beyond it, `Status::refused_requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The most connections at once.
    pub connections: usize,
    /// The most connections at once of one address; of loopback all.
    pub connections_of_address: usize,
    /// The longest time that a TLS handshake may take.
    pub handshake: Duration,
    /// The longest time that the head of a request may take, and that a connection may wait for the next one.
    pub head: Duration,
    /// The longest time that the body of a request may take.
    pub body: Duration,
    /// The longest time for which a client may take nothing of what is sent to it.
    pub reading: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 512,
            connections_of_address: 128,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(30),
            body: Duration::from_secs(30),
            reading: Duration::from_secs(120),
        }
    }
}

/// A server. It stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    is_tls: bool,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server as a browser takes it.
    pub fn url(&self) -> String {
        format!("{}://{}/", if self.is_tls { "https" } else { "http" }, self.address)
    }
}

impl Drop for Server {
    /// Ends all streams and waits for the thread.
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic was reported by its thread.
            let _ = thread.join();
        }
    }
}

/// Serves what a hub shows on a loopback address, to all programs of this machine: [`serve_with`] without TLS and tokens.
///
/// # Errors
/// Returns the errors of [`serve_with`].
pub fn serve(hub: Hub, listen: SocketAddr, requests: Option<Sender<Request>>) -> io::Result<Server> {
    serve_with(hub, ServerSettings::new(listen), requests)
}

/// Serves what a hub shows, on a thread of its own. Requests that change something go to `requests`; without it they are refused.
///
/// # Errors
/// If the address is beyond loopback without a certificate and tokens, in use or not this machine's, or if there is no thread for it.
pub fn serve_with(
    hub: Hub,
    settings: ServerSettings,
    requests: Option<Sender<Request>>,
) -> io::Result<Server> {
    let ServerSettings { listen, names, certificate, tokens, limits } = settings;
    if !listen.ip().is_loopback() && (certificate.is_none() || tokens.is_none()) {
        let error = format!(
            "cannot listen on {listen}: listening beyond loopback needs TLS and a token: use 127.0.0.1:{}",
            listen.port()
        );
        return Err(io::Error::new(ErrorKind::InvalidInput, error));
    }
    let cannot = |error: io::Error| {
        let why = match error.kind() {
            ErrorKind::AddrInUse => "another program listens there: stop it, or take another port".to_owned(),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("cannot listen on {listen}: {why}"))
    };
    let tls = certificate.as_ref().map(|certificate| {
        let config = certificate.config().map_err(io::Error::other)?;
        Ok::<_, io::Error>((TlsAcceptor::from(Arc::new(config)), certificate.clone()))
    });
    let tls = tls.transpose()?;
    let listener = TcpListener::bind(listen).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("web-archive")
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(cannot)?
    };
    let (stop, stops) = watch::channel(false);
    let is_tls = tls.is_some();
    let access = Arc::new(Access::new(tokens, address.port(), is_tls));
    let guard = Guard { hub: hub.clone(), names: Arc::new(ServerNames::new(names, certificate)) };
    let body_time = limits.body;
    let (shown, turns) = (hub.clone(), Turns::default());
    let app = App { hub: shown, requests, stops: stops.clone(), access, body_time, turns };
    let router = router(app, guard);
    let connections = Connections { router, tls, hub, limits, stops };
    let thread = thread::Builder::new()
        .name("web".to_owned())
        .spawn(move || run(runtime, &listener, Arc::new(connections)))?;
    Ok(Server { address, is_tls, stop, thread: Some(thread) })
}

fn run(runtime: Runtime, listener: &tokio::net::TcpListener, connections: Arc<Connections>) {
    runtime.block_on(async {
        // Each connection has one of these, and so this knows when there is none any more.
        let (all, one) = watch::channel(());
        let mut stops = connections.stops.clone();
        tokio::select! {
            () = accept(listener, &connections, &one) => {}
            _ = stops.wait_for(|stops| *stops) => {}
        }
        drop(one);
        // A client that does not read keeps its connection, and nobody waits for it.
        let _ = tokio::time::timeout(GRACE, all.closed()).await;
    });
    runtime.shutdown_timeout(GRACE);
}

async fn accept(
    listener: &tokio::net::TcpListener,
    connections: &Arc<Connections>,
    one: &watch::Receiver<()>,
) {
    let places = Arc::new(ConnectionLimiter::default());
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Some(place) = places.take(peer.ip(), &connections.limits) else {
            connections.hub.refuse("too_many_connections", || peer.ip().to_string());
            continue;
        };
        let (connections, one) = (Arc::clone(connections), one.clone());
        tokio::spawn(async move {
            connections.serve(stream, peer).await;
            drop((place, one));
        });
    }
}
