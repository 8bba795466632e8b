//! The queue between the socket and the decoder. A separate thread reads the socket, so that closing a window does not delay reading.

use crate::inlet::{Inlet, ReceiveOutcome};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The greatest number of octets in the queue: some seconds of a million records a second.
const MOST_BYTES: usize = 64 << 20;
/// The octets of memory that a datagram takes in addition to its own octets.
const OF_DATAGRAM: usize = 64;
/// The number of datagrams received without a pause after which the kernel's count of drops is read.
const LOOK: u32 = 1024;
/// The longest time in which the rest of the socket is read at the end. Without a limit, steady traffic would never let it end.
const REST: Duration = Duration::from_secs(1);

/// The sender's address and port, and the octets of a datagram.
pub type Datagram = (SocketAddr, Box<[u8]>);

/// The intake of datagrams as they arrive. After [`DatagramIntake::end`] it reads the rest of the socket, and stops.
#[derive(Debug)]
pub struct DatagramIntake {
    queue: Arc<DatagramQueue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct DatagramQueue {
    waiting: Mutex<WaitingDatagrams>,
    changed: Condvar,
    ends: AtomicBool,
}

#[derive(Debug, Default)]
struct WaitingDatagrams {
    datagrams: VecDeque<Datagram>,
    bytes: usize,
    /// The number of datagrams that the kernel dropped; `None` where it does not report it.
    dropped: Option<u64>,
    /// True if no more datagrams follow.
    ended: bool,
    /// The error that ended reading.
    fault: Option<io::Error>,
}

impl DatagramQueue {
    fn locked(&self) -> MutexGuard<'_, WaitingDatagrams> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the socket until the intake ends.
    fn read(&self, mut inlet: Inlet) -> io::Result<()> {
        let mut number = 0u32;
        let mut end: Option<Instant> = None;
        loop {
            if end.is_none() && self.ends.load(Relaxed) {
                // Datagrams that have arrived are read without waiting.
                inlet.wait_no_more()?;
                end = Some(Instant::now());
            }
            let is_idle = match inlet.receive()? {
                ReceiveOutcome::Nothing => true,
                ReceiveOutcome::Datagram(from, octets) => {
                    let datagram = (from, octets.into());
                    self.push(datagram);
                    false
                }
            };
            number = number.wrapping_add(1);
            if is_idle || number.is_multiple_of(LOOK) {
                let dropped = inlet.dropped();
                self.locked().dropped = dropped;
            }
            if end.is_some_and(|end| is_idle || end.elapsed() > REST) {
                let dropped = inlet.dropped();
                self.locked().dropped = dropped;
                return Ok(());
            }
        }
    }

    /// Adds a datagram, and waits for room first. Meanwhile the kernel buffers datagrams, and counts those that it drops.
    fn push(&self, datagram: Datagram) {
        let bytes = datagram.1.len() + OF_DATAGRAM;
        let mut waiting = self.locked();
        while waiting.bytes + bytes > MOST_BYTES {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.bytes += bytes;
        let was_empty = waiting.datagrams.is_empty();
        waiting.datagrams.push_back(datagram);
        drop(waiting);
        if was_empty {
            self.changed.notify_all();
        }
    }
}

impl DatagramIntake {
    /// Begins to read a socket.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(inlet: Inlet) -> io::Result<Self> {
        let queue = Arc::new(DatagramQueue::default());
        queue.locked().dropped = Some(0);
        let own = Arc::clone(&queue);
        let read = move || {
            // `ended` is set even after a panic, so that `take` does not wait for ever.
            let read = catch_unwind(AssertUnwindSafe(|| own.read(inlet)));
            let read =
                read.unwrap_or_else(|_| Err(io::Error::other("the thread that reads the socket failed")));
            let mut waiting = own.locked();
            (waiting.ended, waiting.fault) = (true, read.err());
            drop(waiting);
            own.changed.notify_all();
        };
        let thread = std::thread::Builder::new().name("routers".to_owned()).spawn(read)?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Takes all datagrams in the queue, or waits at most `patience` for some; `None` if no more follow.
    ///
    /// # Errors
    /// If the socket failed. All datagrams received before have been taken.
    pub fn take(&self, patience: Duration) -> io::Result<Option<VecDeque<Datagram>>> {
        let waiting = self.queue.locked();
        let is_idle = |waiting: &mut WaitingDatagrams| waiting.datagrams.is_empty() && !waiting.ended;
        let waited = self.queue.changed.wait_timeout_while(waiting, patience, is_idle);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        let taken = std::mem::take(&mut waiting.datagrams);
        waiting.bytes = 0;
        let ended = waiting.ended;
        let fault = if taken.is_empty() { waiting.fault.take() } else { None };
        drop(waiting);
        self.queue.changed.notify_all();
        match fault {
            Some(fault) => Err(fault),
            None if taken.is_empty() && ended => Ok(None),
            None => Ok(Some(taken)),
        }
    }

    /// Ends reading. Datagrams that have arrived can still be taken.
    pub fn end(&self) {
        self.queue.ends.store(true, Relaxed);
    }

    /// Returns the number of datagrams that the kernel dropped so far because they arrived faster than they were read; `None` where it does
    /// not report it.
    pub fn dropped(&self) -> Option<u64> {
        self.queue.locked().dropped
    }
}

impl Drop for DatagramIntake {
    fn drop(&mut self) {
        self.end();
        // The thread may wait for room.
        while self.take(Duration::ZERO).is_ok_and(|taken| taken.is_some()) {
            std::thread::yield_now();
        }
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn what_is_in_the_socket_at_the_end_is_taken() {
        let inlet = Inlet::open("127.0.0.1:0".parse().expect("an address")).expect("a socket");
        let address = inlet.address().expect("an address");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        // Less than any kernel's buffer.
        for number in 0..50u8 {
            sender.send_to(&[number], address).expect("sent");
        }
        let intake = DatagramIntake::start(inlet).expect("a thread");
        intake.end();
        let mut found = Vec::new();
        while let Some(taken) = intake.take(Duration::from_secs(60)).expect("a socket") {
            found.extend(taken.into_iter().map(|(_, octets)| octets[0]));
        }
        assert_eq!(found.len() as u64 + intake.dropped().unwrap_or(0), 50);
        assert!(found.is_sorted());
    }

    #[test]
    fn one_socket_receives_both_families() {
        let Ok(mut inlet) = Inlet::open("[::]:0".parse().expect("an address")) else {
            eprintln!("skipped: this machine has no IPv6");
            return;
        };
        let port = inlet.address().expect("an address").port();
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        sender.send_to(&[7], ("127.0.0.1", port)).expect("sent");
        // What was sent on loopback is there.
        assert!(
            matches!(inlet.receive(), Ok(ReceiveOutcome::Datagram(from, [7])) if from.ip().to_canonical().is_ipv4())
        );
    }

    #[test]
    fn an_intake_that_nobody_reads_ends() {
        let inlet = Inlet::open("127.0.0.1:0".parse().expect("an address")).expect("a socket");
        drop(DatagramIntake::start(inlet).expect("a thread"));
    }
}
