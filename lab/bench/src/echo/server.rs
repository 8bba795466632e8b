//! The echo server.

use super::PAYLOAD;
use super::link::{ADDRESS, PORT, sent_again, server_end};
use super::stream::{receive, send};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;
/// The longest time until it sees that it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Serves in the network of this thread until it is stopped, each client after the time `service`, and says when it is ready; returns the
/// segments that the kernel sent again.
pub(super) fn run(service: Duration, stop: &AtomicBool, ready: &Sender<()>) -> Result<u64, String> {
    server_end()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let local = tokio::task::LocalSet::new();
    local
        .block_on(&runtime, serve(service, stop, ready))
        .map_err(|error| format!("the echo server: {error}"))?;
    sent_again()
}

async fn serve(service: Duration, stop: &AtomicBool, ready: &Sender<()>) -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((ADDRESS, PORT)))?;
    let listener = socket.listen(BACKLOG)?;
    // A caller that has failed meanwhile does not wait.
    let _ = ready.send(());
    while !stop.load(Ordering::Relaxed) {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                tokio::task::spawn_local(async move { echo(stream, service).await });
            }
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    Ok(())
}

/// Sends back what one client sent, and waits for the end of the connection. A client that leaves is no fault of the server.
async fn echo(stream: TcpStream, service: Duration) -> io::Result<()> {
    let mut bytes = [0; PAYLOAD];
    if receive(&stream, &mut bytes).await? {
        tokio::time::sleep(service).await;
        send(&stream, &bytes).await?;
        // Until the client ends.
        while receive(&stream, &mut bytes).await? {}
    }
    Ok(())
}
