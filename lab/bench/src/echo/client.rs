//! Clients, each of which sends, waits for the echo, closes, and begins again.

use super::PAYLOAD;
use super::link::{ADDRESS, PORT, clients_end, sent_again};
use super::stream::{receive, send};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Time for which a client waits for the end of a round.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time after a round that failed.
const PAUSE: Duration = Duration::from_millis(50);

/// The clients' own count of their rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientRounds {
    /// Rounds that were completed, by the client's port.
    pub(super) by_port: HashMap<u16, u64>,
    /// Connections that failed.
    pub(super) failed: u64,
    /// Segments that the kernel sent again.
    pub(super) sent_again: u64,
}

/// Runs this many clients in the network of this thread; rounds begin for the time that is given, and all end.
pub(super) fn run(clients: u16, seconds: f64) -> Result<ClientRounds, String> {
    clients_end()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let rounds = Rc::new(RefCell::new(ClientRounds::default()));
    let local = tokio::task::LocalSet::new();
    for _ in 0..clients {
        let rounds = Rc::clone(&rounds);
        local.spawn_local(async move { client(until, &rounds).await });
    }
    // Ends when all clients have.
    runtime.block_on(local);
    let mut rounds = rounds.take();
    rounds.sent_again = sent_again()?;
    Ok(rounds)
}

/// A client: a round at least.
async fn client(until: Instant, rounds: &RefCell<ClientRounds>) {
    loop {
        let done = tokio::time::timeout(PATIENCE, round()).await;
        match done {
            Ok(Ok(port)) => *rounds.borrow_mut().by_port.entry(port).or_default() += 1,
            _ => {
                rounds.borrow_mut().failed += 1;
                tokio::time::sleep(PAUSE).await;
            }
        }
        if Instant::now() >= until {
            break;
        }
    }
}

/// A round; returns the port that the client had.
async fn round() -> io::Result<u16> {
    let stream = TcpStream::connect((std::net::Ipv4Addr::from(ADDRESS), PORT)).await?;
    let port = stream.local_addr()?.port();
    let [high, low] = port.to_be_bytes();
    let sent: [u8; PAYLOAD] = std::array::from_fn(|at| if at % 2 == 0 { high } else { low });
    send(&stream, &sent).await?;
    let mut back = [0; PAYLOAD];
    let is_whole = receive(&stream, &mut back).await?;
    if is_whole && back == sent { Ok(port) } else { Err(io::Error::other("another echo than what was sent")) }
}
