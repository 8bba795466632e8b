//! The server's thread.

use crate::api::{App, router};
use crate::{Hub, Request};
use axum::Router;
use axum::serve::ListenerExt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Threads that ask the archive, which answers one at a time.
const BLOCKING_THREADS: usize = 4;
/// How long answers that are being sent may take when the server stops.
const GRACE: Duration = Duration::from_millis(500);

/// A server. It stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
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

/// Serves what a hub shows, on a thread of its own. Requests that change something go to `requests`; without it they are refused.
///
/// # Errors
/// If the address is beyond loopback, in use or not this machine's, or if there is no thread for it.
pub fn serve(hub: Hub, listen: SocketAddr, requests: Option<Sender<Request>>) -> io::Result<Server> {
    if !listen.ip().is_loopback() {
        let error = format!(
            "cannot listen on {listen}: listening beyond loopback needs TLS and a token, which are not there yet: \
             use 127.0.0.1:{}",
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
    let router = router(App { hub, requests, stops: stops.clone() });
    let run = move || run(runtime, listener, router, stops);
    let thread = thread::Builder::new().name("web".to_owned()).spawn(run)?;
    Ok(Server { address, stop, thread: Some(thread) })
}

fn run(runtime: Runtime, listener: tokio::net::TcpListener, router: Router, stops: watch::Receiver<bool>) {
    // Small messages of streams leave at once. Where that cannot be set, they leave later.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let stopped = |mut stops: watch::Receiver<bool>| async move {
        let _ = stops.wait_for(|stops| *stops).await;
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(stopped(stops.clone()));
    runtime.block_on(async {
        tokio::select! {
            // It never fails: what cannot be accepted is tried again.
            _ = serving => {}
            // A client that does not read keeps its connection, and nobody waits for it.
            () = async { stopped(stops).await; tokio::time::sleep(GRACE).await } => {}
        }
    });
    runtime.shutdown_timeout(GRACE);
}
