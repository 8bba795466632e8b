//! A port that receives from memory: driver net_ring over mbufs that were filled before.

use super::eal::{Eal, reason};
use super::pool::{Pool, mbuf_bytes};
use super::port::{Port, PortOptions};
use super::source::DpdkSource;
use crate::{PacketSource, SourceError};
use dpdk_sys::{RING_F_EXACT_SZ, RING_F_SC_DEQ, RING_F_SP_ENQ, rte_mbuf, rte_ring};
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Room for data in each mbuf, as a card's have: their distance decides how they share cache sets and pages.
const BUFFER_BYTES: usize = 2048;
/// The maximum of net_ring.
const MOST_QUEUES: usize = 16;

/// A net_ring port over a fixed set of frames, for benches.
///
/// Each pass hands out every frame once, in the same order, through [`DpdkSource`]; polling frees the mbufs
/// into their pool, as with a card. [`refill`](Self::refill) then takes all of them from the pool again and
/// enqueues them as they were: it writes no mbuf and no frame, so the next pass finds the caches as the last
/// one left them. It belongs outside the timed section. (The alternative, one more reference per mbuf, would
/// add atomic operations to the timed section that no card's receive path has.) A card's driver in addition
/// takes new mbufs for its ring.
#[derive(Debug)]
pub struct RingPort {
    /// The source of each queue.
    sources: Vec<DpdkSource>,
    /// The mbufs of each queue, in the order of the frames.
    mbufs: Vec<Vec<*mut rte_mbuf>>,
    /// Receives the mbufs that `refill` takes from the pool.
    taken: Vec<*mut c_void>,
    rings: Vec<RteRing>,
    pool: Pool,
}

impl RingPort {
    /// A port over these frames, empty until the first [`refill`](Self::refill).
    ///
    /// # Errors
    /// Returns `Open` without frames, with a frame that no mbuf holds, or with too little memory.
    pub fn new(eal: &Arc<Eal>, frames: &[Vec<u8>], burst: u16) -> Result<Self, SourceError> {
        Self::spread(eal, frames, 1, |_| 0, burst)
    }

    /// A port of several queues, 1 to 16, each of which is a source: `queue_of` selects the queue of each
    /// frame, as a card's hash would.
    ///
    /// # Errors
    /// Returns the errors of [`RingPort::new`].
    pub fn spread(
        eal: &Arc<Eal>,
        frames: &[Vec<u8>],
        queues: usize,
        queue_of: impl Fn(&[u8]) -> usize,
        burst: u16,
    ) -> Result<Self, SourceError> {
        if !(1..=MOST_QUEUES).contains(&queues) {
            return Err(SourceError::Open(format!("{queues} queues: a ring port has 1 to {MOST_QUEUES}")));
        }
        let longest = frames.iter().map(Vec::len).max().unwrap_or(0).max(BUFFER_BYTES);
        let room = u16::try_from(longest)
            .ok()
            .filter(|room| room.checked_add(dpdk_sys::RTE_PKTMBUF_HEADROOM).is_some())
            .ok_or_else(|| SourceError::Open(format!("a frame of {longest} bytes does not fit an mbuf")))?;
        let count = u32::try_from(frames.len())
            .ok()
            .filter(|count| (1..1 << 30).contains(count))
            .ok_or_else(|| SourceError::Open(format!("a ring of {} frames: give 1 to 2^30", frames.len())))?;
        // No cache: mbufs in an lcore's cache could not be taken back.
        let pool = Pool::new(eal, count, 0, room, -1)?;
        let mut mbufs: Vec<*mut rte_mbuf> = vec![std::ptr::null_mut(); frames.len()];
        // SAFETY: the pool has exactly `count` mbufs and the vector as many places.
        let result = unsafe { dpdk_sys::shim_mbuf_alloc_bulk(pool.as_ptr(), mbufs.as_mut_ptr(), count) };
        if result != 0 {
            return Err(SourceError::Open(format!("{count} mbufs cannot be taken from their pool")));
        }
        for (&mbuf, frame) in mbufs.iter().zip(frames) {
            // SAFETY: freshly allocated and not shared; the buffer has `room` bytes after `data_off`.
            unsafe {
                let data = (*mbuf).buf_addr.cast::<u8>().add(usize::from((*mbuf).data_off));
                std::ptr::copy_nonoverlapping(frame.as_ptr(), data, frame.len());
                (*mbuf).data_len = frame.len() as u16;
                (*mbuf).pkt_len = frame.len() as u32;
            }
        }
        // SAFETY: each was allocated above and is returned once; its contents do not change.
        unsafe { dpdk_sys::shim_mbuf_free_burst(mbufs.clone().as_mut_ptr(), count) };

        let mut shares: Vec<Vec<*mut rte_mbuf>> = vec![Vec::new(); queues];
        for (&mbuf, frame) in mbufs.iter().zip(frames) {
            shares[queue_of(frame) % queues].push(mbuf);
        }
        let rings = shares
            .iter()
            .map(|share| RteRing::new(eal, share.len().max(1) as u32))
            .collect::<Result<Vec<_>, _>>()?;
        // The pools of the queues themselves are unused: net_ring hands over the mbufs that are in the rings.
        let options = PortOptions {
            burst,
            descriptors: 512,
            mbufs: 8191,
            queues: queues as u16,
            promiscuous: false,
            ..PortOptions::default()
        };
        let mut port = port(eal, &rings)?;
        port.start(options.queues, &options, &mut Vec::new())?;
        let sources = port
            .into_queues()
            .into_iter()
            .map(|queue| DpdkSource::polling(eal, vec![queue], "net_ring".into(), burst, None, Vec::new()))
            .collect();
        Ok(Self { sources, mbufs: shares, taken: vec![std::ptr::null_mut(); frames.len()], rings, pool })
    }

    /// Memory that a port of one queue over `frames` frames of at most 2,048 bytes takes, for
    /// [`EalConfig::memory_bytes`](super::EalConfig).
    pub fn memory_bytes(frames: u64) -> u64 {
        (frames + 8192) * (mbuf_bytes(BUFFER_BYTES as u16) + 16)
    }

    /// Puts every frame into the ring again. Frames that were not received yet are taken out first.
    ///
    /// # Errors
    /// Returns `Fault` when mbufs are missing, which is an error in this crate.
    pub fn refill(&mut self) -> Result<(), SourceError> {
        self.drain();
        let count = self.taken.len() as u32;
        // SAFETY: `taken` has `count` places.
        let got =
            unsafe { dpdk_sys::shim_mempool_get_bulk(self.pool.as_ptr(), self.taken.as_mut_ptr(), count) };
        if got != 0 {
            return Err(SourceError::Fault("mbufs of the ring port are missing from its pool".into()));
        }
        for (ring, mbufs) in self.rings.iter().zip(&self.mbufs) {
            let count = mbufs.len() as u32;
            // SAFETY: all mbufs of the pool are now ours, and these are pointers to some of them; the ring is empty and has
            // room for all.
            unsafe { dpdk_sys::shim_ring_enqueue_bulk(ring.raw, mbufs.as_ptr().cast(), count) };
        }
        Ok(())
    }

    /// Takes back what sources hold and what was not received.
    fn drain(&mut self) {
        self.sources.iter_mut().for_each(PacketSource::release);
        for ring in &mut self.rings {
            ring.drain(&mut self.taken);
        }
    }

    /// The source that receives from the first queue; `Idle` when its ring is empty.
    pub fn source(&mut self) -> &mut DpdkSource {
        &mut self.sources[0]
    }

    /// A source for each queue.
    pub fn sources(&mut self) -> &mut [DpdkSource] {
        &mut self.sources
    }
}

impl Drop for RingPort {
    fn drop(&mut self) {
        self.drain();
    }
}

/// Makes the port over these rings, a queue for each. It has transmit queues only because the driver requires
/// some.
fn port(eal: &Arc<Eal>, rings: &[RteRing]) -> Result<Port, SourceError> {
    let name = rings[0].name.as_str();
    let c_name = CString::new(name).expect("the name holds no NUL");
    let raw: Vec<*mut rte_ring> = rings.iter().map(|ring| ring.raw).collect();
    let count = raw.len() as u32;
    // SAFETY: EAL runs (`eal`), the lists have `count` rings, which live longer than the port: `RingPort` drops its
    // sources first. Node 0 always exists.
    let (id, log) = eal.logged(|| unsafe {
        dpdk_sys::rte_eth_from_rings(c_name.as_ptr(), raw.as_ptr(), count, raw.as_ptr(), count, 0)
    });
    match u16::try_from(id) {
        Ok(id) => Ok(Port::from_id(eal, id, &format!("net_ring_{name}"))),
        Err(_) => Err(SourceError::Open(format!("no port over a ring: {}", reason(&log, id)))),
    }
}

/// A ring of mbufs between one writer and one reader; freed on drop, after the port over it is closed.
#[derive(Debug)]
struct RteRing {
    raw: *mut rte_ring,
    name: String,
    _eal: Arc<Eal>,
}

impl RteRing {
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

    /// Removes what is left and returns it to its pool.
    fn drain(&mut self, places: &mut [*mut c_void]) {
        loop {
            // SAFETY: `places` has room, and no other thread polls the port: it is borrowed by the same
            // `&mut`.
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

impl Drop for RteRing {
    fn drop(&mut self) {
        // SAFETY: made by `rte_ring_create`, emptied by `RingPort`, its port closed before.
        unsafe { dpdk_sys::rte_ring_free(self.raw) };
    }
}
