//! A connection, from its handshake to its end. Each way in which a client makes it fail has a name.

use super::ServerLimits;
use super::paced::{Paced, Signs};
use crate::Hub;
use crate::certificate::Certificate;
use crate::peer::Peer;
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::pin::pin;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

/// The most headers of a request, and the largest head, bytes.
const MOST_HEADERS: usize = 64;
const MOST_HEAD: usize = 64 << 10;
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// The response to a client that speaks HTTP where TLS is spoken.
const CLEAR_TEXT: &str = "{\"error\":\"this port speaks TLS alone: use https://\"}";

/// The state that all connections share.
pub(super) struct Connections {
    pub(super) router: Router,
    /// The acceptor of TLS; `None` where HTTP is spoken in clear.
    pub(super) tls: Option<(TlsAcceptor, Certificate)>,
    pub(super) hub: Hub,
    pub(super) limits: ServerLimits,
    /// True once the server stops.
    pub(super) stops: watch::Receiver<bool>,
}

impl Connections {
    /// Serves a client until it or the server ends.
    pub(super) async fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        // Small messages of streams leave at once. Where that cannot be set, they leave later.
        let _ = stream.set_nodelay(true);
        let Some((acceptor, certificate)) = &self.tls else { return self.speak(stream, peer).await };
        let handshake = tokio::time::timeout(self.limits.handshake, self.handshake(acceptor, stream, peer));
        let encrypted = tokio::select! {
            encrypted = handshake => encrypted,
            () = self.stopped() => return,
        };
        if let Some(problem) = certificate.problem() {
            self.hub.log(&problem);
        }
        match encrypted {
            Ok(Some(encrypted)) => self.speak(encrypted, peer).await,
            Ok(None) => {}
            Err(_) => self.refuse("slow_handshake", peer, &"the TLS handshake took too long"),
        }
    }

    /// Waits until the server stops.
    async fn stopped(&self) {
        let mut stops = self.stops.clone();
        // The sender lives as long as the server: an error is its end.
        drop(stops.wait_for(|stops| *stops).await);
    }

    fn refuse(&self, name: &'static str, peer: SocketAddr, reason: &dyn std::fmt::Display) {
        self.hub.refuse(name, || format!("{}: {reason}", peer.ip()));
    }

    async fn handshake(
        &self,
        acceptor: &TlsAcceptor,
        mut stream: TcpStream,
        peer: SocketAddr,
    ) -> Option<impl AsyncRead + AsyncWrite + Unpin + use<>> {
        let mut first = [0];
        match stream.peek(&mut first).await {
            // It only looked whether somebody listens.
            Ok(0) | Err(_) => return None,
            Ok(_) if first[0] == HANDSHAKE => {}
            Ok(_) if first[0].is_ascii_alphabetic() => {
                self.refuse("clear_text", peer, &"HTTP in clear where TLS is spoken");
                // What was sent is read first: a connection that is closed before is reset, and nothing of the answer arrives.
                let _ = stream.read(&mut [0; 4096]).await;
                let answer = format!(
                    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n\
                     {CLEAR_TEXT}",
                    CLEAR_TEXT.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
                return None;
            }
            Ok(_) => {}
        }
        match acceptor.accept(stream).await {
            Ok(encrypted) => Some(encrypted),
            Err(error) => {
                self.refuse("handshake", peer, &error);
                None
            }
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S, peer: SocketAddr) {
        let (paced, signs) = Paced::new(stream, self.limits.reading);
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer));
            // A router is always ready.
            self.router.clone().call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head)
            .max_headers(MOST_HEADERS)
            .max_buf_size(MOST_HEAD)
            .serve_connection(TokioIo::new(paced), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stopped() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended
            && let Some(name) = name_of(&error, &signs)
        {
            self.refuse(name, peer, &error);
        }
    }
}

/// Returns the name of what a client did that ended its connection so; `None` where it left, or was idle.
fn name_of(error: &hyper::Error, signs: &Signs) -> Option<&'static str> {
    if signs.has_stalled() {
        return Some("slow_reader");
    }
    if error.is_timeout() {
        return signs.has_asked().then_some("slow_head");
    }
    if error.is_parse_too_large() {
        return Some("large_head");
    }
    error.is_parse().then_some("malformed")
}
