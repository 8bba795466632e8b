//! The source that polls DPDK ports.

use super::eal::Eal;
use super::lcore;
use super::queue::RxQueue;
use crate::kernel_link::LinkWatch;
use crate::prefetch::prefetch;
use crate::{Burst, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, TimeBase};
use dpdk_sys::{
    RTE_MBUF_F_ELSEWHERE, RTE_MBUF_F_RX_RSS_HASH, RTE_MBUF_F_RX_VLAN_STRIPPED, rte_mbuf, rte_mempool,
};
use packet::LinkType;
use std::ffi::c_int;
use std::sync::Arc;

/// The headers that the parser needs lie within this many bytes of a frame: a first segment of at least this
/// length is delivered as it is.
const HEADER_BYTES: usize = 256;
/// Bytes that are copied from a frame whose first segment is shorter.
const SCRATCH_BYTES: usize = 1024;

/// A source of the frames of one or several ports, one observation point, or of some of their receive queues
/// ([`ProbedPorts::start`](super::ProbedPorts::start)), polled in turn.
///
/// Frames have the clock's time, read once per burst: a card's own timestamps count device ticks. The
/// exception is a source of nothing but net_pcap ports with `rx_pcap=`: a replay, with the file's times in
/// microseconds. net_pcap reports the captured length as the length on the wire, and a replay is followed by
/// `Idle` forever.
///
/// A frame of several segments is delivered with its first segment as the captured bytes when that holds 256
/// bytes; else its first 1,024 bytes are copied into one buffer.
#[derive(Debug)]
pub struct DpdkSource {
    name: String,
    /// The mbufs that were received and not yet returned: the first `held`.
    mbufs: Vec<*mut rte_mbuf>,
    held: usize,
    /// The pool to which all of these go back as they are; null where some are to be looked at before.
    pool: *mut rte_mempool,
    descriptors: Vec<FrameDescriptor>,
    /// `SCRATCH_BYTES` for each place in a burst.
    scratch: Vec<u8>,
    next_queue: usize,
    replay: Option<Timestamps>,
    /// False until the thread that polls first is registered with DPDK. Only that one: each registered thread
    /// caches mbufs of the pools.
    is_registered: bool,
    alive: LinkWatch,
    /// The links of the ports that this source reports on, in the order of `queues`.
    links: Vec<LinkWatch>,
    lost: Vec<SourceCounter>,
    warnings: Vec<String>,
    queues: Vec<RxQueue>,
    /// The first line of each frame is prefetched for the reader.
    prefetches: bool,
    eal: Arc<Eal>,
}

// SAFETY: the pointers are of mbufs, which may be used from any thread, one at a time; `&mut self` ensures
// that.
unsafe impl Send for DpdkSource {}

impl DpdkSource {
    /// A source of these queues.
    pub(super) fn polling(
        eal: &Arc<Eal>,
        queues: Vec<RxQueue>,
        name: String,
        burst: u16,
        replay: Option<Timestamps>,
        mut warnings: Vec<String>,
    ) -> Self {
        let burst = usize::from(burst);
        let links: Vec<_> = queues.iter().map(|queue| LinkWatch::new(queue.port().link_is_up())).collect();
        for (queue, link) in queues.iter().zip(&links).filter(|(queue, _)| queue.is_first()) {
            warnings.extend(link.down_at_first(&format!("port {}", queue.port().device().devargs)));
        }
        Self {
            name,
            mbufs: vec![std::ptr::null_mut(); burst],
            held: 0,
            pool: std::ptr::null_mut(),
            descriptors: vec![FrameDescriptor::EMPTY; burst],
            scratch: vec![0; burst * SCRATCH_BYTES],
            next_queue: 0,
            replay,
            is_registered: false,
            alive: LinkWatch::new(None),
            links,
            lost: Vec::new(),
            warnings,
            queues,
            prefetches: true,
            eal: eal.clone(),
        }
    }

    /// Returns the frames of the last burst to their pools.
    #[inline]
    fn free(&mut self) {
        if self.held > 0 {
            let (mbufs, count) = (self.mbufs.as_mut_ptr(), self.held as u32);
            // SAFETY: the first `held` pointers are mbufs that the last poll handed over; each is given back once. If there is a pool, all are
            // its own, without other segments and references.
            unsafe {
                match self.pool.is_null() {
                    false => dpdk_sys::shim_mempool_put_bulk(self.pool, mbufs.cast(), count),
                    true => dpdk_sys::shim_mbuf_free_burst(mbufs, count),
                }
            }
            self.held = 0;
        }
    }

    /// Polls each queue at most once, beginning after the one that was served last.
    #[inline]
    fn receive(&mut self) -> usize {
        for _ in 0..self.queues.len() {
            let queue = self.next_queue;
            self.next_queue = if queue + 1 == self.queues.len() { 0 } else { queue + 1 };
            let count = self.queues[queue].poll(&mut self.mbufs);
            if count > 0 {
                return count;
            }
        }
        0
    }

    /// Fills the descriptors of the received mbufs, and prefetches each frame's first cache line if that is left to the source. While each
    /// mbuf's first line is at hand, it finds out how they are to be freed.
    #[inline]
    fn describe(&mut self, count: usize) {
        let now = clock_ns();
        let (mut pool, mut are_plain) = (None, true);
        let slots = self.mbufs[..count]
            .iter()
            .zip(&mut self.descriptors)
            .zip(self.scratch.chunks_exact_mut(SCRATCH_BYTES));
        for ((&mbuf, descriptor), scratch) in slots {
            // SAFETY: an mbuf that the last poll handed over, not given back before the next one.
            let frame = unsafe { &*mbuf };
            let time_ns = match &self.replay {
                Some(timestamps) => timestamps.time_ns(frame).unwrap_or(now),
                None => now,
            };
            *descriptor = describe(frame, scratch, time_ns);
            if self.prefetches {
                prefetch(descriptor.data);
            }
            let pool = *pool.get_or_insert(frame.pool);
            are_plain &= is_plain(frame) && frame.pool == pool;
        }
        self.pool = pool.filter(|_| are_plain).unwrap_or(std::ptr::null_mut());
    }

    /// Checks from time to time, when idle, whether the ports still exist, and the state of their links.
    fn check_alive(&mut self) -> Result<(), SourceError> {
        if !self.alive.is_due() {
            return Ok(());
        }
        for (queue, link) in self.queues.iter().zip(&mut self.links) {
            let port = queue.port();
            if port.vanished() {
                return Err(SourceError::Fault(format!(
                    "port {}: its device has vanished while it was measured",
                    port.device().devargs
                )));
            }
            if queue.is_first()
                && let Some(change) = port.link_is_up().and_then(|is_up| link.found(is_up))
            {
                self.warnings.push(change.line(&format!("port {}", port.device().devargs)));
            }
        }
        Ok(())
    }

    #[cold]
    fn register_thread(&mut self) {
        self.is_registered = true;
        if !lcore::register(&self.eal) {
            self.warnings.push(
                "DPDK has no place for one more thread: receiving works without a cache of mbufs, slower"
                    .into(),
            );
        }
    }
}

impl PacketSource for DpdkSource {
    #[inline]
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        self.free();
        if !self.is_registered {
            self.register_thread();
        }
        let count = self.receive();
        if count == 0 {
            self.check_alive()?;
            return Ok(Poll::Idle);
        }
        self.held = count;
        self.describe(count);
        // SAFETY: the data lies in mbufs that are held, or in the scratch, until the next call, which needs
        // `&mut self` and so ends the burst's borrow; their owner is this source, so they are not written to.
        Ok(Poll::Burst(unsafe { Burst::new(&self.descriptors[..count]) }))
    }

    fn release(&mut self) {
        self.free();
    }

    fn leave_prefetching(&mut self) {
        self.prefetches = false;
    }

    fn time_base(&self) -> TimeBase {
        if self.replay.is_some() { TimeBase::Packets } else { TimeBase::Clock }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        let mut known = true;
        for queue in &self.queues {
            known &= queue.port().take_losses(&mut self.lost);
        }
        known.then(|| self.lost.clone())
    }

    fn link_downs(&self) -> Option<u64> {
        let own = self.queues.iter().zip(&self.links).filter(|(queue, _)| queue.is_first());
        own.filter(|(queue, _)| queue.port().has_link()).map(|(_, link)| link.downs()).reduce(|a, b| a + b)
    }

    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = self.eal.warnings();
        warnings.append(&mut self.warnings);
        warnings
    }
}

impl Drop for DpdkSource {
    fn drop(&mut self) {
        self.free();
    }
}

/// The mbuf field and flag that hold a frame's receive time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    offset: usize,
    flag: u64,
}

impl Timestamps {
    /// Registers the field and the flag; `None` where DPDK has no room for the field: then the clock's time is used.
    pub(super) fn register() -> Option<Self> {
        let (mut offset, mut flag): (c_int, u64) = (0, 0);
        // SAFETY: two writable numbers.
        let result = unsafe { dpdk_sys::rte_mbuf_dyn_rx_timestamp_register(&mut offset, &mut flag) };
        let offset = usize::try_from(offset).ok()?;
        (result == 0 && offset + size_of::<u64>() <= size_of::<rte_mbuf>()).then_some(Self { offset, flag })
    }

    /// net_pcap writes microseconds since the epoch.
    #[inline]
    fn time_ns(&self, frame: &rte_mbuf) -> Option<u64> {
        if frame.ol_flags & self.flag == 0 {
            return None;
        }
        // SAFETY: `register` checked that the field lies in the mbuf; its 8 bytes are always initialised.
        let micros =
            unsafe { std::ptr::from_ref(frame).cast::<u8>().add(self.offset).cast::<u64>().read_unaligned() };
        Some(micros.saturating_mul(1000))
    }
}

/// True if an mbuf goes back to its pool as it is: of one segment with its own buffer, without another reference.
#[inline(always)]
fn is_plain(mbuf: &rte_mbuf) -> bool {
    mbuf.nb_segs == 1 && mbuf.refcnt == 1 && mbuf.ol_flags & RTE_MBUF_F_ELSEWHERE == 0
}

/// Describes what an mbuf holds of its frame.
#[inline(always)]
pub(super) fn describe(frame: &rte_mbuf, scratch: &mut [u8], time_ns: u64) -> FrameDescriptor {
    let (data, captured) = locate(frame, scratch);
    let stripped = frame.ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED != 0;
    let hashed = frame.ol_flags & RTE_MBUF_F_RX_RSS_HASH != 0;
    FrameDescriptor {
        data,
        time_ns,
        captured,
        wire_len: frame.pkt_len.max(captured),
        link: LinkType::Ethernet,
        stripped_vlan: stripped.then_some(frame.vlan_tci),
        rss_hash: hashed.then_some(frame.hash_rss),
    }
}

/// Returns where a frame's captured bytes lie, and how many: the first segment, or what `gather` copies.
#[inline(always)]
fn locate(frame: &rte_mbuf, scratch: &mut [u8]) -> (*const u8, u32) {
    if frame.nb_segs != 1 && usize::from(frame.data_len) < HEADER_BYTES {
        let captured = gather(frame, scratch);
        return (scratch.as_ptr(), captured as u32);
    }
    // SAFETY: ethdev's contract: the data begins `data_off` into the buffer.
    let data = unsafe { frame.buf_addr.cast::<u8>().add(usize::from(frame.data_off)) };
    (data.cast_const(), u32::from(frame.data_len))
}

/// Copies the first bytes of a frame of several segments into one buffer; returns their number.
#[cold]
fn gather(first: &rte_mbuf, scratch: &mut [u8]) -> usize {
    let mut filled = 0;
    let mut segment: *const rte_mbuf = first;
    while !segment.is_null() && filled < scratch.len() {
        // SAFETY: the segments of a held frame, linked by `next` and ended by null.
        let mbuf = unsafe { &*segment };
        let count = usize::from(mbuf.data_len).min(scratch.len() - filled);
        // SAFETY: ethdev's contract: `data_len` bytes lie `data_off` into the buffer; there is room for `count`.
        unsafe {
            let data = mbuf.buf_addr.cast::<u8>().add(usize::from(mbuf.data_off));
            std::ptr::copy_nonoverlapping(data, scratch.as_mut_ptr().add(filled), count);
        }
        filled += count;
        segment = mbuf.next;
    }
    filled
}

fn clock_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a writable timespec; the real-time clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain over these segments, each 16 bytes into its buffer.
    fn chain(segments: &mut [Vec<u8>]) -> Vec<rte_mbuf> {
        let count = segments.len();
        let mut mbufs: Vec<rte_mbuf> = segments
            .iter_mut()
            .map(|segment| {
                // SAFETY: numbers and raw pointers, for which zero is a value.
                let mut mbuf: rte_mbuf = unsafe { std::mem::zeroed() };
                mbuf.data_len = segment.len() as u16;
                segment.splice(0..0, [0xee; 16]);
                mbuf.buf_addr = segment.as_mut_ptr().cast();
                mbuf.data_off = 16;
                mbuf.nb_segs = count as u16;
                mbuf
            })
            .collect();
        for number in 1..count {
            mbufs[number - 1].next = &raw mut mbufs[number];
        }
        mbufs
    }

    fn located(lengths: &[usize]) -> Vec<u8> {
        let mut next = 0_u8;
        let mut segments: Vec<Vec<u8>> = lengths
            .iter()
            .map(|&length| {
                (0..length)
                    .map(|_| {
                        next = next.wrapping_mul(5).wrapping_add(1);
                        next
                    })
                    .collect()
            })
            .collect();
        let whole = segments.concat();
        let mbufs = chain(&mut segments);
        let mut scratch = vec![0; SCRATCH_BYTES];
        let (data, captured) = locate(&mbufs[0], &mut scratch);
        // SAFETY: what `locate` gives lies in a segment or in the scratch, both alive here.
        let bytes = unsafe { std::slice::from_raw_parts(data, captured as usize) };
        assert_eq!(bytes, &whole[..bytes.len()], "{lengths:?}");
        bytes.to_vec()
    }

    #[test]
    fn only_an_mbuf_that_nothing_else_uses_goes_back_as_it_is() {
        type Change = fn(&mut rte_mbuf);
        let plain = || {
            let mut mbuf = chain(&mut [vec![0; 60]]).remove(0);
            (mbuf.refcnt, mbuf.ol_flags) = (1, RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN_STRIPPED);
            mbuf
        };
        assert!(is_plain(&plain()));
        let changes: [Change; 4] = [
            |mbuf| mbuf.nb_segs = 2,
            |mbuf| mbuf.refcnt = 2,
            |mbuf| mbuf.ol_flags |= 1 << 61,
            |mbuf| mbuf.ol_flags |= 1 << 62,
        ];
        for change in changes {
            let mut mbuf = plain();
            change(&mut mbuf);
            assert!(!is_plain(&mbuf));
        }
    }

    #[test]
    fn one_segment_is_taken_as_it_is() {
        for length in [0, 1, 60, 255, 256, 2048] {
            assert_eq!(located(&[length]).len(), length);
        }
    }

    #[test]
    fn a_long_first_segment_is_enough() {
        assert_eq!(located(&[256, 900]).len(), 256);
        assert_eq!(located(&[2048, 2048, 904]).len(), 2048);
    }

    #[test]
    fn short_segments_are_copied_together() {
        assert_eq!(located(&[255, 100]).len(), 355);
        assert_eq!(located(&[14, 20, 0, 20, 9000]).len(), SCRATCH_BYTES);
        assert_eq!(located(&[64; 40]).len(), SCRATCH_BYTES);
    }
}
