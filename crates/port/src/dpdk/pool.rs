//! Pools of mbufs.

use super::eal::{Eal, reason};
use crate::SourceError;
use dpdk_sys::{RTE_PKTMBUF_HEADROOM, rte_mbuf, rte_mempool};
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The memory of one mbuf with `data` bytes of room in a pool: the mbuf, its headroom, the object's header,
/// and a ring slot, with a reserve for pages that are not filled to the end.
pub(super) fn mbuf_bytes(data: u16) -> u64 {
    let object = size_of::<rte_mbuf>() as u64 + u64::from(RTE_PKTMBUF_HEADROOM) + u64::from(data) + 64;
    (object + 16) * 5 / 4
}

/// A pool of mbufs; freed on drop, when all of them must be back.
#[derive(Debug)]
pub(super) struct Pool {
    raw: *mut rte_mempool,
    _eal: Arc<Eal>,
}

// SAFETY: a pool may be used by any number of threads at a time (rte_mempool's ring and its caches by lcore), and freed by any.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `count` mbufs with `data` bytes of room each; `cache` of them are kept per lcore.
    ///
    /// # Errors
    /// Returns `Open` when there is too little memory.
    pub(super) fn new(
        eal: &Arc<Eal>,
        count: u32,
        cache: u32,
        data: u16,
        socket: i32,
    ) -> Result<Self, SourceError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("edison_pool_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).expect("the name holds no NUL");
        let room = data.saturating_add(RTE_PKTMBUF_HEADROOM);
        let (raw, log) = eal.logged(|| {
            // SAFETY: EAL runs (`eal`), and the name is a C string that DPDK copies.
            unsafe { dpdk_sys::rte_pktmbuf_pool_create(name.as_ptr(), count, cache, 0, room, socket) }
        });
        if raw.is_null() {
            // SAFETY: reads a thread-local number.
            let code = unsafe { dpdk_sys::shim_errno() };
            return Err(SourceError::Open(format!(
                "no pool of {count} mbufs of {room} bytes ({} MiB): {}; set fewer mbufs or give DPDK more memory",
                (u64::from(count) * mbuf_bytes(data)) >> 20,
                reason(&log, code)
            )));
        }
        Ok(Self { raw, _eal: eal.clone() })
    }

    /// Makes this many pools, at most one for each queue, with `count` mbufs for each queue that takes from a pool: queue i from pool i
    /// modulo their number. `data` is the room in an mbuf in bytes, `socket` the NUMA node.
    ///
    /// # Errors
    /// Returns `Open` when there is too little memory.
    pub(super) fn for_queues(
        eal: &Arc<Eal>,
        queues: usize,
        pools: usize,
        count: u32,
        cache: u32,
        (data, socket): (u16, i32),
    ) -> Result<Vec<Arc<Self>>, SourceError> {
        let pools = pools.clamp(1, queues.max(1));
        let pool = |number: usize| {
            let of_pool = (number..queues.max(1)).step_by(pools).count() as u32;
            Self::new(eal, count.saturating_mul(of_pool), cache, data, socket).map(Arc::new)
        };
        (0..pools).map(pool).collect()
    }

    pub(super) fn as_ptr(&self) -> *mut rte_mempool {
        self.raw
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: made by `rte_pktmbuf_pool_create`; the owners return all mbufs and close the ports that
        // take from the pool before they drop it.
        unsafe { dpdk_sys::rte_mempool_free(self.raw) };
    }
}
