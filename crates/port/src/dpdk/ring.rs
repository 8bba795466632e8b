//! A port that receives from memory: driver net_ring over mbufs that were filled before.

use super::eal::{Eal, reason};
use super::pool::{Pool, mbuf_bytes};
use super::port::{Port, PortOptions};
use super::source::DpdkSource;
use crate::SourceError;
use dpdk_sys::{RING_F_EXACT_SZ, RING_F_SC_DEQ, RING_F_SP_ENQ, rte_mbuf, rte_ring};
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Room for data in each mbuf, as a card's have: their distance decides how they share cache sets and pages.
const BUFFER_BYTES: usize = 2048;

/// A net_ring port over a fixed set of frames, for benches.
///
/// Each pass hands out every frame once, in the same order, through [`DpdkSource`]; polling frees the mbufs into
/// their pool for real, as with a card. [`refill`](Self::refill) then takes all of them from the pool again and
/// enqueues them as they were: it writes no mbuf and no frame, so what the last pass left in the caches is
/// what the next one finds. It belongs outside the timed section. (The other way, one more reference per mbuf,
/// would put atomic operations into the timed section that no card's receive path has.) What a card's driver
/// adds is taking new mbufs for its ring.
#[derive(Debug)]
pub struct RingPort {
    source: DpdkSource,
    /// In the order of the frames.
    mbufs: Vec<*mut rte_mbuf>,
    /// Where the pool's answer to `refill` goes.
    taken: Vec<*mut c_void>,
    ring: Ring,
    pool: Pool,
}

impl RingPort {
    /// A port over these frames, empty until the first [`refill`](Self::refill).
    ///
    /// # Errors
    /// `Open` without frames, with a frame that no mbuf holds, or with too little memory.
    pub fn new(eal: &Arc<Eal>, frames: &[Vec<u8>], burst: u16) -> Result<Self, SourceError> {
        let longest = frames.iter().map(Vec::len).max().unwrap_or(0).max(BUFFER_BYTES);
        let room = u16::try_from(longest)
            .ok()
            .filter(|room| room.checked_add(dpdk_sys::RTE_PKTMBUF_HEADROOM).is_some())
            .ok_or_else(|| SourceError::Open(format!("a frame of {longest} bytes does not fit an mbuf")))?;
        let count = u32::try_from(frames.len())
            .ok()
            .filter(|count| (1..1 << 30).contains(count))
            .ok_or_else(|| SourceError::Open(format!("a ring of {} frames: give 1 to 2^30", frames.len())))?;
        // No cache: mbufs that some lcore's cache holds could not be taken back.
        let pool = Pool::new(eal, count, 0, room, -1)?;
        let mut mbufs: Vec<*mut rte_mbuf> = vec![std::ptr::null_mut(); frames.len()];
        // SAFETY: the pool has exactly `count` mbufs and the vector as many places.
        let result = unsafe { dpdk_sys::shim_mbuf_alloc_bulk(pool.as_ptr(), mbufs.as_mut_ptr(), count) };
        if result != 0 {
            return Err(SourceError::Open(format!("{count} mbufs cannot be taken from their pool")));
        }
        for (&mbuf, frame) in mbufs.iter().zip(frames) {
            // SAFETY: freshly allocated and nobody else's; the buffer has `room` bytes behind `data_off`.
            unsafe {
                let data = (*mbuf).buf_addr.cast::<u8>().add(usize::from((*mbuf).data_off));
                std::ptr::copy_nonoverlapping(frame.as_ptr(), data, frame.len());
                (*mbuf).data_len = frame.len() as u16;
                (*mbuf).pkt_len = frame.len() as u32;
            }
        }
        // SAFETY: each was allocated above and is given back once; what is in it stays as it is.
        unsafe { dpdk_sys::shim_mbuf_free_burst(mbufs.clone().as_mut_ptr(), count) };

        let ring = Ring::new(eal, count)?;
        // The pool of the queue itself stays unused: net_ring hands over the mbufs that are in the ring.
        let options = PortOptions { burst, descriptors: 512, mbufs: 8191, promiscuous: false };
        let source = DpdkSource::of_port(eal, ring.port(eal, &options)?, burst);
        Ok(Self { source, taken: vec![std::ptr::null_mut(); mbufs.len()], mbufs, ring, pool })
    }

    /// Memory that a port over `frames` frames of at most 2,048 bytes takes, for
    /// [`EalConfig::memory_bytes`](super::EalConfig).
    pub fn memory_bytes(frames: u64) -> u64 {
        (frames + 8192) * (mbuf_bytes(BUFFER_BYTES as u16) + 16)
    }

    /// Puts every frame into the ring again. Frames that were not received yet are taken out first.
    ///
    /// # Errors
    /// `Fault` when mbufs are missing, which is an error in this crate.
    pub fn refill(&mut self) -> Result<(), SourceError> {
        self.source.release();
        let count = self.mbufs.len() as u32;
        self.ring.drain(&mut self.taken);
        // SAFETY: `taken` has `count` places.
        let got =
            unsafe { dpdk_sys::shim_mempool_get_bulk(self.pool.as_ptr(), self.taken.as_mut_ptr(), count) };
        if got != 0 {
            return Err(SourceError::Fault("mbufs of the ring port are missing from its pool".into()));
        }
        // SAFETY: all `count` mbufs of the pool are now ours, and these are their pointers; the ring is empty and
        // has room for all.
        unsafe { dpdk_sys::shim_ring_enqueue_bulk(self.ring.raw, self.mbufs.as_ptr().cast(), count) };
        Ok(())
    }

    /// The source that receives from the ring; `Idle` when the ring is empty.
    pub fn source(&mut self) -> &mut DpdkSource {
        &mut self.source
    }
}

impl Drop for RingPort {
    fn drop(&mut self) {
        self.source.release();
        self.ring.drain(&mut self.taken);
    }
}

/// A ring of mbufs between one writer and one reader; freed on drop, after the port over it is closed.
#[derive(Debug)]
struct Ring {
    raw: *mut rte_ring,
    name: String,
    _eal: Arc<Eal>,
}

impl Ring {
    fn new(eal: &Arc<Eal>, count: u32) -> Result<Self, SourceError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("edison_ring_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str()).expect("the name holds no NUL");
        let flags = RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ;
        // SAFETY: EAL runs (`eal`), and the name is a C string that DPDK copies.
        let (raw, log) =
            eal.logged(|| unsafe { dpdk_sys::rte_ring_create(c_name.as_ptr(), count, -1, flags) });
        if raw.is_null() {
            // SAFETY: reads a thread-local number.
            let code = unsafe { dpdk_sys::shim_errno() };
            return Err(SourceError::Open(format!("no ring of {count} mbufs: {}", reason(&log, code))));
        }
        Ok(Self { raw, name, _eal: eal.clone() })
    }

    /// Makes and starts the port over this ring.
    fn port(&self, eal: &Arc<Eal>, options: &PortOptions) -> Result<Port, SourceError> {
        // SAFETY: the ring lives longer than the port: `RingPort` drops its source first.
        let (id, log) = eal.logged(|| unsafe { dpdk_sys::rte_eth_from_ring(self.raw) });
        match u16::try_from(id) {
            Ok(id) => Port::of_id(eal, id, &format!("net_ring_{}", self.name), options),
            Err(_) => Err(SourceError::Open(format!("no port over a ring: {}", reason(&log, id)))),
        }
    }

    /// Takes out what is left and gives it back to its pool.
    fn drain(&mut self, places: &mut [*mut c_void]) {
        loop {
            // SAFETY: `places` has room, and nobody polls the port: it is behind the same `&mut`.
            let count = unsafe {
                dpdk_sys::shim_ring_dequeue_burst(self.raw, places.as_mut_ptr(), places.len() as u32)
            };
            if count == 0 {
                return;
            }
            // SAFETY: what the ring holds are mbufs, each given back once.
            unsafe { dpdk_sys::shim_mbuf_free_burst(places.as_mut_ptr().cast(), count) };
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: made by `rte_ring_create`, emptied by `RingPort`, its port closed before.
        unsafe { dpdk_sys::rte_ring_free(self.raw) };
    }
}
