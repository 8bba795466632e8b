//! A connection whose client must take what is sent to it.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The known facts of a connection that has ended.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// True if something came since something was last sent: a part of a request.
    has_asked: AtomicBool,
    /// True if the client took nothing for too long.
    has_stalled: AtomicBool,
}

impl Signs {
    pub(super) fn has_asked(&self) -> bool {
        self.has_asked.load(Relaxed)
    }

    pub(super) fn has_stalled(&self) -> bool {
        self.has_stalled.load(Relaxed)
    }
}

/// A connection that ends when its client takes nothing for `patience`.
pub(super) struct Paced<S> {
    stream: S,
    signs: Arc<Signs>,
    timeout: Duration,
    /// The deadline, which runs while something waits to be taken.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, patience: Duration) -> (Self, Arc<Signs>) {
        let signs = Arc::<Signs>::default();
        (Self { stream, signs: Arc::clone(&signs), timeout: patience, deadline: None }, signs)
    }

    /// Returns what a write came to, or that it has waited for too long.
    fn judge<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let patience = self.timeout;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        if deadline.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.signs.has_stalled.store(true, Relaxed);
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.signs.has_asked.store(true, Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.signs.has_asked.store(false, Relaxed);
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(closed, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.signs.has_asked.store(false, Relaxed);
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.judge(written, context)
    }
}
