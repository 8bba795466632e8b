//! The thread of a connection.

use super::back_off::BackOff;
use super::broker::BrokerError;
use super::status::{ConnectionHealth, ConnectionStatus};
use super::{LOOK, TIMEOUT};
use std::future::Future;
use std::thread::JoinHandle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// A signal that the connection is to end.
#[derive(Clone, Debug)]
pub(super) struct ShutdownSignal(watch::Receiver<bool>);

impl ShutdownSignal {
    pub(super) fn is_now(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the connection is to end.
    pub(super) async fn wait(&self) {
        // A sender that is gone means the same.
        let _ = self.0.clone().wait_for(|is_closing| *is_closing).await;
    }
}

/// A thread that carries out what a connection has to do, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionThread {
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl ConnectionThread {
    pub(super) fn start<W: Future<Output = ()>>(
        name: &str,
        work: impl FnOnce(ShutdownSignal) -> W + Send + 'static,
    ) -> Result<Self, BrokerError> {
        let no_thread = |error: std::io::Error| BrokerError::Thread(error.to_string());
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
        let (closing, receiver) = watch::channel(false);
        let closes = ShutdownSignal(receiver);
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work(closes.clone()) => {}
                    // What is under way has a moment to end.
                    () = async { closes.wait().await; sleep(2 * LOOK).await } => {}
                }
            });
            // A name that is being looked up is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(no_thread)?;
        Ok(Self { closing, thread: Some(thread) })
    }
}

impl Drop for ConnectionThread {
    fn drop(&mut self) {
        // If the thread has ended, there is no receiver.
        let _ = self.closing.send(true);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Begins a session again and again, with waits between, until it ends without a reason.
pub(super) async fn keep<const PARTS: usize>(
    closing: &ShutdownSignal,
    status: &ConnectionStatus<PARTS>,
    part: usize,
    session: impl AsyncFn() -> Result<(), String>,
) {
    let mut back_off = BackOff::new();
    while !closing.is_now() {
        let began = Instant::now();
        let Err(reason) = session().await else { return };
        status.set(part, ConnectionHealth::Away(reason));
        if began.elapsed() > TIMEOUT {
            back_off.reset();
        }
        tokio::select! {
            () = sleep(back_off.wait()) => {}
            () = closing.wait() => {}
        }
    }
}
