//! Datagrams between the socket and what decodes them: a thread of its own reads the socket, so that nothing is dropped while a window is closed.

use crate::inlet::{Inlet, ReceiveOutcome};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The octets that may wait: some seconds of a million records a second.
const MOST_BYTES: usize = 64 << 20;
/// The octets that a datagram takes besides its own.
const OF_DATAGRAM: usize = 64;
/// The number of datagrams without a pause after which the kernel's drops are read.
const LOOK: u32 = 1024;
/// The time in which what is in the socket is read at the end: where more comes all the time, there is no end.
const REST: Duration = Duration::from_secs(1);

/// A datagram, and the address and port that it is from.
pub type Datagram = (SocketAddr, Box<[u8]>);

/// An intake of datagrams as they come. Once it is told to end, what is in the socket is read, and no more.
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
    /// The number of datagrams that the kernel dropped, if it says so.
    dropped: Option<u64>,
    /// True if nothing follows.
    ended: bool,
    /// The reason why the socket is read no more.
    fault: Option<io::Error>,
}

impl DatagramQueue {
    fn locked(&self) -> MutexGuard<'_, WaitingDatagrams> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the socket to the end.
    fn read(&self, mut inlet: Inlet) -> io::Result<()> {
        let mut number = 0u32;
        let mut end: Option<Instant> = None;
        loop {
            if end.is_none() && self.ends.load(Relaxed) {
                // What is there already is there at once.
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

    /// Adds a datagram once there is room: meanwhile the kernel keeps what comes, and counts what it cannot keep.
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
    /// If there is no thread.
    pub fn start(inlet: Inlet) -> io::Result<Self> {
        let queue = Arc::new(DatagramQueue::default());
        queue.locked().dropped = Some(0);
        let own = Arc::clone(&queue);
        let read = move || {
            // After a panic, too, takers learn that nothing follows.
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

    /// Takes all that waits, or what comes within this time; `None` where nothing follows.
    ///
    /// # Errors
    /// The socket failed; what came before was given.
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

    /// Ends waiting: what has come can be taken, and then nothing follows.
    pub fn end(&self) {
        self.queue.ends.store(true, Relaxed);
    }

    /// Returns the number of datagrams that the kernel dropped so far, because they came faster than they were read; `None` where it does not
    /// say so.
    pub fn dropped(&self) -> Option<u64> {
        self.queue.locked().dropped
    }
}

impl Drop for DatagramIntake {
    fn drop(&mut self) {
        self.end();
        // It may wait for room.
        while self.take(Duration::ZERO).is_ok_and(|taken| taken.is_some()) {
            std::thread::yield_now();
        }
        if let Some(thread) = self.thread.take() {
            // A panic of it was told when it came.
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
