//! Limits the memory of message bodies that a connection has read.
//!
//! The broker delivers up to the prefetch count of messages before they are acknowledged, however large their bodies are. This module counts the
//! bytes of bodies that were read and not yet consumed, and stops reading at a limit. A body that exceeds the size limit of messages is
//! discarded while it is read: its header is rewritten to an empty body, heartbeat frames replace its body frames, and the number of the
//! message is recorded.

use crate::envelope::MOST_BYTES;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes of bodies that are held before reading stops.
const MOST_HELD: usize = 64 << 20;

/// The most bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// The memory of the bodies that a connection has read and that are not consumed.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<RoomState>);

#[derive(Debug, Default)]
struct RoomState {
    bytes: usize,
    /// The task that waits for room.
    waits: Option<Waker>,
    /// The numbers of messages whose bodies were discarded.
    too_large: VecDeque<u64>,
}

impl Room {
    fn held(&self) -> MutexGuard<'_, RoomState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the bytes of a body that was consumed.
    pub(super) fn release(&self, bytes: usize) {
        let waits = {
            let mut held = self.held();
            held.bytes = held.bytes.saturating_sub(bytes);
            if held.bytes < MOST_HELD { held.waits.take() } else { None }
        };
        waits.iter().for_each(Waker::wake_by_ref);
    }

    /// Returns true if the body of a message was discarded. Messages are numbered from 1 and must be asked for in order.
    pub(super) fn is_too_large(&self, message: u64) -> bool {
        let mut held = self.held();
        let is_it = held.too_large.front() == Some(&message);
        if is_it {
            held.too_large.pop_front();
        }
        is_it
    }

    /// Returns true if more may be read. If not, the task that asks is woken when it may.
    fn is_there(&self, context: &Context<'_>) -> bool {
        let mut held = self.held();
        let is_there = held.bytes < MOST_HELD;
        if !is_there {
            held.waits = Some(context.waker().clone());
        }
        is_there
    }
}

/// The frames of AMQP 0-9-1 (section 2.3.5 of its specification): kind, channel, length, payload, and an end.
const HEAD: usize = 7;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const HEARTBEAT: [u8; 8] = [8, 0, 0, 0, 0, 0, 0, 0xce];
/// The bytes of a header's frame that hold the size of the body: after the class and the weight.
const SIZE: std::ops::Range<usize> = HEAD + 4..HEAD + 12;

/// The treatment of the bytes to come.
#[derive(Debug)]
enum SieveState {
    /// The bytes are the begin of a frame.
    Begin,
    /// The number of bytes that is passed on.
    Kept(u64),
    /// The number of bytes that is discarded.
    LeftOut(u64),
}

/// Discards bodies that exceed the size limit.
#[derive(Debug)]
struct Sieve {
    part: SieveState,
    /// The begin of a frame.
    begin: Vec<u8>,
    /// The number of messages so far.
    messages: u64,
    /// The bytes of the current body that are still to be discarded.
    left_out: u64,
}

impl Sieve {
    fn new() -> Self {
        Self { part: SieveState::Begin, begin: Vec::with_capacity(SIZE.end), messages: 0, left_out: 0 }
    }

    /// Processes bytes, and appends those that are passed on to `kept`.
    fn take(&mut self, mut bytes: &[u8], room: &Room, kept: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let most = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            match &mut self.part {
                SieveState::Begin => {
                    self.begin.push(bytes[0]);
                    bytes = &bytes[1..];
                    self.look(room, kept);
                    continue;
                }
                SieveState::Kept(left) => {
                    let number = most(*left);
                    *left -= number as u64;
                    kept.extend_from_slice(&bytes[..number]);
                    bytes = &bytes[number..];
                }
                SieveState::LeftOut(left) => {
                    let number = most(*left);
                    *left -= number as u64;
                    bytes = &bytes[number..];
                }
            }
            if matches!(self.part, SieveState::Kept(0) | SieveState::LeftOut(0)) {
                self.part = SieveState::Begin;
            }
        }
    }

    /// Decides on a frame, once enough of its begin is there.
    fn look(&mut self, room: &Room, kept: &mut Vec<u8>) {
        let begin = &mut self.begin;
        let &[kind, _, _, a, b, c, d, ..] = begin.as_slice() else { return };
        let length = u32::from_be_bytes([a, b, c, d]);
        // With its end.
        let left = u64::from(length) + 1;
        let has_size = kind == HEADER && length as usize + HEAD >= SIZE.end;
        if has_size && begin.len() < SIZE.end {
            return;
        }
        if has_size {
            self.messages += 1;
            let size = begin[SIZE].iter().fold(0, |size, byte| size << 8 | u64::from(*byte));
            if size > MOST_BYTES as u64 {
                begin[SIZE].fill(0);
                self.left_out = size;
                room.held().too_large.push_back(self.messages);
            }
        }
        if kind == BODY && self.left_out > 0 {
            self.left_out = self.left_out.saturating_sub(u64::from(length));
            // The connection is alive, however long it takes.
            kept.extend_from_slice(&HEARTBEAT);
            self.part = SieveState::LeftOut(left);
        } else {
            if kind == BODY {
                room.held().bytes += length as usize;
            }
            kept.extend_from_slice(begin);
            self.part = SieveState::Kept(left - (begin.len() - HEAD) as u64);
        }
        begin.clear();
    }
}

/// A connection that is read as far as there is room.
#[derive(Debug)]
pub(super) struct Metered<S> {
    stream: S,
    room: Arc<Room>,
    sieve: Sieve,
    chunk: Box<[u8]>,
    /// The bytes that are let through, of which `handed` were handed out.
    kept: Vec<u8>,
    handed: usize,
    has_ended: bool,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, room: Arc<Room>) -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Self { stream, room, sieve: Sieve::new(), chunk, kept: Vec::new(), handed: 0, has_ended: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        loop {
            let left = &own.kept[own.handed..];
            if !left.is_empty() {
                let number = left.len().min(into.remaining());
                into.put_slice(&left[..number]);
                own.handed += number;
                return Poll::Ready(Ok(()));
            }
            own.kept.clear();
            own.handed = 0;
            if own.has_ended {
                return Poll::Ready(Ok(()));
            }
            if !own.room.is_there(context) {
                return Poll::Pending;
            }
            let mut chunk = ReadBuf::new(&mut own.chunk);
            ready!(Pin::new(&mut own.stream).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                own.has_ended = true;
                own.kept.append(&mut own.sieve.begin);
            }
            own.sieve.take(chunk.filled(), &own.room, &mut own.kept);
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::Wake;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        [&[kind, 0, 1], length.as_slice(), payload, &[0xce]].concat()
    }

    fn header(size: u64) -> Vec<u8> {
        frame(HEADER, &[&[0, 60, 0, 0], size.to_be_bytes().as_slice(), &[0x80, 0, 1, b'x']].concat())
    }

    /// What is let through of bytes that come in pieces of this length.
    fn sieved(bytes: &[u8], piece: usize) -> (Vec<u8>, Room) {
        let (mut sieve, room, mut kept) = (Sieve::new(), Room::default(), Vec::new());
        bytes.chunks(piece).for_each(|piece| sieve.take(piece, &room, &mut kept));
        (kept, room)
    }

    #[test]
    fn a_body_that_is_too_large_is_left_out_however_it_comes() {
        let large = MOST_BYTES as u64 + 1;
        let mut sent = vec![frame(1, b"deliver"), header(3), frame(BODY, b"abc"), header(large)];
        let mut left = vec![frame(1, b"deliver"), header(3), frame(BODY, b"abc"), header(0)];
        let half = vec![7; 9_000_000];
        sent.extend([
            frame(BODY, &half),
            HEARTBEAT.to_vec(),
            frame(BODY, &half[..large as usize - half.len()]),
        ]);
        left.extend([HEARTBEAT; 3].map(Vec::from));
        let after = [header(0), header(2), frame(BODY, b"de")];
        sent.extend(after.clone());
        left.extend(after);
        let (sent, left) = (sent.concat(), left.concat());
        for piece in [1, 2, 7, 18, 19, 20, 1000, CHUNK, sent.len()] {
            let (kept, room) = sieved(&sent, piece);
            assert!(kept == left, "pieces of {piece}");
            assert_eq!(room.held().bytes, 5);
            let too_large: Vec<u64> = (1..6).filter(|message| room.is_too_large(*message)).collect();
            assert_eq!(too_large, [2]);
        }
        // The largest that may be is kept.
        let (kept, room) = sieved(&header(large - 1), 5);
        assert_eq!((kept, room.is_too_large(1)), (header(large - 1), false));
    }

    #[test]
    fn what_is_no_frame_is_let_through() {
        for bytes in [b"AMQP\0\0\x09\x01".as_slice(), &frame(HEADER, b"short"), &[9; 500]] {
            assert_eq!(sieved(bytes, 3).0, bytes);
        }
    }

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }

    #[test]
    fn nothing_is_read_where_there_is_no_room() {
        const SIZE: usize = 8 << 20;
        let message = [header(SIZE as u64), frame(BODY, &vec![1; SIZE])].concat();
        // The end of the stream lies within a frame.
        let sent = [message.repeat(20).as_slice(), b"abc"].concat();
        let room = Arc::new(Room::default());
        let mut metered = Metered::new(Cursor::new(sent.as_slice()), Arc::clone(&room));
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut bytes = vec![0; 1 << 20];
        let (mut read, mut waited) = (0, 0);
        loop {
            let mut into = ReadBuf::new(&mut bytes);
            match Pin::new(&mut metered).poll_read(&mut Context::from_waker(&waker), &mut into) {
                Poll::Ready(result) => result.expect("no error"),
                Poll::Pending => {
                    waited += 1;
                    assert!((MOST_HELD..MOST_HELD + SIZE).contains(&room.held().bytes));
                    assert!(!woken.0.swap(false, Relaxed));
                    room.release(SIZE);
                    assert!(woken.0.swap(false, Relaxed));
                    continue;
                }
            }
            if into.filled().is_empty() {
                break;
            }
            read += into.filled().len();
        }
        assert_eq!((waited, read), (13, sent.len()));
    }
}
