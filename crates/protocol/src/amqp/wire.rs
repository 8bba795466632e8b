//! Connections in clear or encrypted, as `lapin` takes them.
//!
//! `lapin` has TLS of its own, which takes a library of PKCS #12 with it, and which speaks in clear where it is not compiled in. Here it is
//! the address alone that decides.

use super::TIMEOUT;
use super::room::{Metered, Room};
use super::tls::{self, Tls};
use async_compat::Compat;
use async_rs::traits::Reactor;
use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use futures_core::Stream;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// A stream that bytes are read from and written to.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A connection.
pub(super) type WireStream = Compat<Box<dyn ByteStream>>;

/// `lapin`'s executor and clock: those of tokio, with other connections.
pub(super) type Kit = RuntimeParts<Tokio, Wires>;

/// Returns `lapin`'s runtime for the runtime that this is called in.
pub(super) fn runtime() -> Runtime<Kit> {
    Runtime::new(RuntimeParts::new(Tokio::current(), Wires(Tokio::current())))
}

/// Makes a connection, which is read as far as there is room where that is limited. Each step has its time: without a limit a thread would
/// wait for the system's, which is minutes.
pub(super) async fn connect(
    host: &str,
    port: u16,
    tls: Option<&Tls>,
    room: Option<&Arc<Room>>,
) -> io::Result<WireStream> {
    let wire = |stream: Box<dyn ByteStream>| match room {
        Some(room) => wire(Metered::new(stream, Arc::clone(room))),
        None => Compat::new(stream),
    };
    let reached = timeout(TIMEOUT, reach(host, port)).await;
    let stream = reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    let Some(tls) = tls else { return Ok(wire(Box::new(stream))) };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| io::Error::other("its host is no name that a certificate can have"))?;
    let agreed = timeout(TIMEOUT, TlsConnector::from(tls.config()).connect(name, stream)).await;
    match agreed {
        Ok(Ok(stream)) => Ok(wire(Box::new(stream))),
        Ok(Err(error)) => Err(match (tls::words(&error), error.kind()) {
            (Some(words), _) => io::Error::other(words),
            (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => io::Error::other(
                "it ends the connection when TLS begins: is this the port of its TLS listener (often 5671)?",
            ),
            (None, _) => error,
        }),
        Err(_) => Err(io::Error::other(
            "it does not answer when TLS begins: is this the port of its TLS listener (often 5671)?",
        )),
    }
}

/// Connects to the first address of a name that answers.
async fn reach(host: &str, port: u16) -> io::Result<TcpStream> {
    // `lapin` would look the name up in a way that panics where the connection is dropped meanwhile.
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    for address in tokio::net::lookup_host((host, port)).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn wire(stream: impl ByteStream + 'static) -> WireStream {
    Compat::new(Box::new(stream))
}

/// Tokio's reactor with connections of ours.
#[derive(Clone, Debug)]
pub(super) struct Wires(Tokio);

impl Reactor for Wires {
    type TcpStream = WireStream;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H>(
        &self,
        socket: H,
    ) -> io::Result<impl futures_io::AsyncRead + futures_io::AsyncWrite + Send + Unpin + 'static>
    where
        H: io::Read + io::Write + AsFd + AsRawFd + Send + 'static,
    {
        self.0.register(socket)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        let connected = self.0.tcp_connect_addr(address);
        async move { Ok(wire(connected.await?.into_inner())) }
    }
}
