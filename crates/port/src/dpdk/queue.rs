//! The queues of started ports.

use super::port::{MAX_BURST, Port};
use dpdk_sys::rte_mbuf;
use std::sync::Arc;

/// A receive queue of a started port; each number has exactly one.
#[derive(Debug)]
pub(super) struct RxQueue {
    port: Arc<Port>,
    number: u16,
}

impl Port {
    /// The receive queues of a started port.
    pub(super) fn into_queues(self) -> Vec<RxQueue> {
        RxQueue::all(&Arc::new(self))
    }

    /// The queues of a port that was opened for sending.
    pub(super) fn into_both_queues(self) -> (TxQueue, Vec<RxQueue>) {
        let port = Arc::new(self);
        let receiving = RxQueue::all(&port);
        (TxQueue { port }, receiving)
    }
}

impl RxQueue {
    fn all(port: &Arc<Port>) -> Vec<Self> {
        (0..port.receive_queues()).map(|number| Self { port: port.clone(), number }).collect()
    }

    /// Takes at most `mbufs.len()` frames; the caller owns what is written and returns it.
    #[inline]
    pub(super) fn poll(&mut self, mbufs: &mut [*mut rte_mbuf]) -> usize {
        let count = mbufs.len().min(usize::from(MAX_BURST)) as u16;
        // SAFETY: the port is started with this queue, `&mut self` makes this its only poll, and there is room for `count`
        // pointers.
        usize::from(unsafe {
            dpdk_sys::shim_rx_burst(self.port.id(), self.number, mbufs.as_mut_ptr(), count)
        })
    }

    pub(super) fn port(&self) -> &Port {
        &self.port
    }

    /// True for the queue that reports for its port, if there are several.
    pub(super) fn is_first(&self) -> bool {
        self.number == 0
    }
}

/// The transmit queue of a started port that has one; each port is in one of these at most.
#[derive(Debug)]
pub(super) struct TxQueue {
    port: Arc<Port>,
}

impl TxQueue {
    /// Hands over frames from the front of `mbufs`; returns how many the driver accepted, which belong to it
    /// from then on.
    #[inline]
    pub(super) fn transmit(&mut self, mbufs: &mut [*mut rte_mbuf]) -> usize {
        let count = mbufs.len().min(usize::from(MAX_BURST)) as u16;
        // SAFETY: the port is started with a transmit queue (`open_for_sending`), `&mut self` makes this the only use
        // of it, and there are `count` mbufs that are the caller's.
        usize::from(unsafe { dpdk_sys::shim_tx_burst(self.port.id(), 0, mbufs.as_mut_ptr(), count) })
    }

    pub(super) fn port(&self) -> &Port {
        &self.port
    }
}
