//! Mbufs for the software wire: receiving and freeing cost as much as with a card's driver.

use super::eal::Eal;
use super::pool::{Pool, mbuf_bytes};
use super::source::describe;
use crate::wire::{Buffers, SystemClock, Trace, Wire, WireClock, WireQueue, WireSpec};
use crate::{FrameDescriptor, SourceError, SourceSetting};
use dpdk_sys::{RTE_MBUF_F_RX_RSS_HASH, RTE_MBUF_F_RX_VLAN_STRIPPED, rte_mbuf, rte_mempool_cache};
use std::sync::Arc;

/// Room for data in each mbuf, as a card's have: their distance decides how they share cache sets and pages.
const BUFFER_BYTES: u16 = 2048;
/// Mbufs that a queue keeps out of its pool's ring, as for an lcore.
const CACHE: u32 = 256;

/// The number of mbufs of each queue unless a wire has its own, as for a port.
const DEFAULT_MBUFS: u32 = 16_383;

impl Wire {
    /// The queues of a wire that hands its frames out in mbufs, `mbufs=` of them for each queue.
    ///
    /// # Errors
    /// Returns `Refused` as [`Wire::open`] does, and for a pool that is too small for its ring, a frame that no mbuf can hold, or too little
    /// memory.
    pub fn open_mbufs(
        eal: &Arc<Eal>,
        name: &str,
        spec: &WireSpec,
        trace: &Arc<Trace>,
        burst: usize,
    ) -> Result<Vec<WireQueue>, SourceError> {
        Self::open_mbufs_with(eal, name, spec, trace, burst, || SystemClock)
    }

    /// Opens the queues of a wire that hands its frames out in mbufs, with the caller's clocks, one per queue.
    ///
    /// # Errors
    /// Returns the errors of [`Wire::open_mbufs`].
    pub fn open_mbufs_with<C: WireClock>(
        eal: &Arc<Eal>,
        name: &str,
        spec: &WireSpec,
        trace: &Arc<Trace>,
        burst: usize,
        clock: impl FnMut() -> C,
    ) -> Result<Vec<WireQueue<C>>, SourceError> {
        let least = spec.ring + burst.max(1);
        let mbufs = spec.mbufs.unwrap_or(DEFAULT_MBUFS);
        if (mbufs as usize) < least {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                format!("mbufs={mbufs}: too few for a ring of {}: set at least {least}", spec.ring),
            ));
        }
        if trace.longest() > u32::from(u16::MAX) {
            return Err(SourceError::Refused(
                SourceSetting::Wire,
                format!(
                    "mbufs: a frame of {} bytes does not fit an mbuf: leave mbufs out, or cut frames (snap)",
                    trace.longest()
                ),
            ));
        }
        let queues =
            Self::open_with(name, &WireSpec { mbufs: None, pools: None, ..*spec }, trace, burst, clock)?;
        let pools = spec.pools.map_or(queues.len(), usize::from);
        let pools = Pool::for_queues(eal, queues.len(), pools, mbufs, 0, (BUFFER_BYTES, -1));
        let pools = pools.map_err(|error| error.blame(SourceSetting::Wire))?;
        queues
            .into_iter()
            .zip(pools.iter().cycle())
            .map(|(queue, pool)| {
                let cache = MempoolCache::new(pool.clone(), CACHE.min(mbufs / 4))?;
                let ring = MbufRing::new(cache, spec.ring, burst.max(1))?;
                Ok(queue.with_buffers(Box::new(ring)))
            })
            .collect()
    }

    /// Returns the memory that the mbufs of a wire take, for [`EalConfig::memory_bytes`](super::EalConfig).
    pub fn mbuf_bytes(spec: &WireSpec) -> u64 {
        u64::from(spec.mbufs.unwrap_or(DEFAULT_MBUFS)) * spec.queues as u64 * mbuf_bytes(BUFFER_BYTES)
    }
}

/// The mbufs of one queue, as in a driver: those ready in the descriptor ring, those that the receiver holds,
/// and the others in the pool.
///
/// A card writes a frame into the buffer of the next ready mbuf. The wire has the frame in memory already, so
/// it points the mbuf's buffer address there instead: one more store in a cache line that the driver writes
/// anyway, and no copy, which no driver makes. The mbufs never leave the queues of the wire, each of which writes the
/// address before it reads it, so such a buffer is never freed or used for anything else.
#[derive(Debug)]
struct MbufRing {
    /// The mbufs that are ready for receiving; their number is a power of two.
    ready: Box<[*mut rte_mbuf]>,
    /// The place of the next one that receives a frame.
    next: usize,
    /// The mbufs that are handed out: the first `held`.
    handed: Box<[*mut rte_mbuf]>,
    held: usize,
    rx_nombuf: u64,
    cache: MempoolCache,
}

// SAFETY: the mbufs and the cache belong to this ring alone and may be used from any thread, one at a time, which `&mut self`
// ensures; a pool may be used by any number of threads at a time.
unsafe impl Send for MbufRing {}

impl MbufRing {
    /// Fills a ring from a pool that has no caches of its own: the receiver need not be an lcore.
    fn new(cache: MempoolCache, ring: usize, burst: usize) -> Result<Self, SourceError> {
        let mut ready = vec![std::ptr::null_mut(); ring].into_boxed_slice();
        if !cache.get(&mut ready) {
            return Err(SourceError::Open(format!("{ring} mbufs cannot be taken from their pool")));
        }
        let handed = vec![std::ptr::null_mut(); burst].into_boxed_slice();
        Ok(Self { ready, next: 0, handed, held: 0, rx_nombuf: 0, cache })
    }
}

impl Buffers for MbufRing {
    #[inline]
    fn release(&mut self) {
        self.cache.put(&self.handed[..self.held]);
        self.held = 0;
    }

    /// Moves the next mbufs out of the ring and new ones into their places: first the new ones, so that the ring stays full.
    #[inline]
    fn reserve(&mut self, count: usize) -> bool {
        debug_assert!(self.held == 0 && count <= self.handed.len());
        let handed = &mut self.handed[..count];
        if !self.cache.get(handed) {
            self.rx_nombuf += count as u64;
            return false;
        }
        let mut rest = handed;
        while !rest.is_empty() {
            // Up to the end of the ring at most.
            let behind = &mut self.ready[self.next..];
            let run = rest.len().min(behind.len());
            let (here, others) = rest.split_at_mut(run);
            behind[..run].swap_with_slice(here);
            self.next = (self.next + run) & (self.ready.len() - 1);
            rest = others;
        }
        self.held = count;
        true
    }

    /// The descriptors stay as they are: they hold what the mbufs hold from now on.
    #[inline]
    fn fill(&mut self, frames: &mut [FrameDescriptor]) {
        for (&mbuf, frame) in self.handed.iter().zip(frames) {
            // SAFETY: an mbuf owned by this ring, to which no other reference exists.
            receive(unsafe { &mut *mbuf }, frame);
            debug_assert_eq!(described(mbuf, frame), *frame);
        }
    }

    fn rx_nombuf(&self) -> u64 {
        self.rx_nombuf
    }
}

/// Writes what a driver writes of a received frame, all of it into the mbuf's first line. Tag and hash are of no meaning without their flags.
#[inline(always)]
fn receive(mbuf: &mut rte_mbuf, frame: &FrameDescriptor) {
    mbuf.buf_addr = frame.data.cast_mut().cast();
    mbuf.data_off = 0;
    mbuf.refcnt = 1;
    mbuf.nb_segs = 1;
    mbuf.port = 0;
    mbuf.pkt_len = frame.wire_len;
    mbuf.data_len = frame.captured as u16;
    let mut flags = 0;
    if let Some(hash) = frame.rss_hash {
        mbuf.hash_rss = hash;
        flags |= RTE_MBUF_F_RX_RSS_HASH;
    }
    if let Some(tag) = frame.stripped_vlan {
        mbuf.vlan_tci = tag;
        flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
    }
    mbuf.ol_flags = flags;
}

/// Reads back what a driver wrote, and what is in no mbuf: not every capture is of Ethernet.
fn described(mbuf: *mut rte_mbuf, frame: &FrameDescriptor) -> FrameDescriptor {
    // SAFETY: an mbuf owned by the ring, written by `receive`.
    let received = describe(unsafe { &*mbuf }, &mut [], frame.time_ns);
    FrameDescriptor { link: frame.link, ..received }
}

impl Drop for MbufRing {
    fn drop(&mut self) {
        self.release();
        // Never handed out or received into before: in either case it has one segment and one reference.
        self.cache.put(&self.ready);
    }
}

/// A pool and one thread's cache of it.
#[derive(Debug)]
struct MempoolCache {
    raw: *mut rte_mempool_cache,
    pool: Arc<Pool>,
}

impl MempoolCache {
    fn new(pool: Arc<Pool>, size: u32) -> Result<Self, SourceError> {
        // SAFETY: EAL runs: the pool holds it.
        let raw = unsafe { dpdk_sys::rte_mempool_cache_create(size, -1) };
        if raw.is_null() {
            return Err(SourceError::Open(format!("no memory for a cache of {size} mbufs")));
        }
        Ok(Self { raw, pool })
    }

    /// Fills all places, or none.
    #[inline]
    fn get(&self, places: &mut [*mut rte_mbuf]) -> bool {
        let (objects, count) = (places.as_mut_ptr().cast(), places.len() as u32);
        // SAFETY: there are `count` places, and the cache is this pool's.
        unsafe { dpdk_sys::shim_mempool_get_bulk_cached(self.pool.as_ptr(), objects, count, self.raw) == 0 }
    }

    /// Returns mbufs that were taken from here, without a look at them: none has a second segment or another reference.
    #[inline]
    fn put(&self, mbufs: &[*mut rte_mbuf]) {
        if !mbufs.is_empty() {
            let (objects, count) = (mbufs.as_ptr().cast(), mbufs.len() as u32);
            // SAFETY: mbufs of this pool, each given back once, and the cache is this pool's.
            unsafe { dpdk_sys::shim_mempool_put_bulk_cached(self.pool.as_ptr(), objects, count, self.raw) };
        }
    }
}

impl Drop for MempoolCache {
    fn drop(&mut self) {
        // SAFETY: this pool's cache, which is not used afterwards.
        unsafe {
            dpdk_sys::shim_mempool_cache_flush(self.raw, self.pool.as_ptr());
            dpdk_sys::rte_mempool_cache_free(self.raw);
        }
    }
}
