//! The mbuf and its pools.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::{offset_of, size_of};

/// A pool of objects of one size.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct rte_mempool {
    _opaque: [u8; 0],
}

/// Objects of a pool that one thread keeps for itself.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct rte_mempool_cache {
    _opaque: [u8; 0],
}

/// A segment of a frame. `shim.c` asserts each offset and size that is declared here.
#[repr(C, align(64))]
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct rte_mbuf {
    /// The segment's buffer.
    pub buf_addr: *mut c_void,
    _iova: u64,
    /// The place in the buffer where the data begin.
    pub data_off: u16,
    /// Reference count.
    pub refcnt: u16,
    /// Segments of the frame; valid in its first mbuf.
    pub nb_segs: u16,
    /// The port that received the frame.
    pub port: u16,
    /// Offload flags (`RTE_MBUF_F_…`).
    pub ol_flags: u64,
    _packet_type: u32,
    /// Bytes of the frame, all segments.
    pub pkt_len: u32,
    /// Bytes in this segment.
    pub data_len: u16,
    /// VLAN tag (TCI) in the processor's byte order, if a flag is set.
    pub vlan_tci: u16,
    /// RSS hash, if a flag is set.
    pub hash_rss: u32,
    _hash_hi: u32,
    _vlan_tci_outer: u16,
    /// Size of the buffer.
    pub buf_len: u16,
    /// The pool that the mbuf belongs to.
    pub pool: *mut rte_mempool,
    /// The next segment, or null.
    pub next: *mut rte_mbuf,
    _rest: [u8; 56],
}

const _: () = {
    assert!(offset_of!(rte_mbuf, buf_addr) == 0);
    assert!(offset_of!(rte_mbuf, data_off) == 16);
    assert!(offset_of!(rte_mbuf, refcnt) == 18);
    assert!(offset_of!(rte_mbuf, nb_segs) == 20);
    assert!(offset_of!(rte_mbuf, port) == 22);
    assert!(offset_of!(rte_mbuf, ol_flags) == 24);
    assert!(offset_of!(rte_mbuf, pkt_len) == 36);
    assert!(offset_of!(rte_mbuf, data_len) == 40);
    assert!(offset_of!(rte_mbuf, vlan_tci) == 42);
    assert!(offset_of!(rte_mbuf, hash_rss) == 44);
    assert!(offset_of!(rte_mbuf, buf_len) == 54);
    assert!(offset_of!(rte_mbuf, pool) == 56);
    assert!(offset_of!(rte_mbuf, next) == 64);
    assert!(size_of::<rte_mbuf>() == 128);
};

/// The card hashed the frame for receive-side scaling; the hash is in `hash_rss`.
pub const RTE_MBUF_F_RX_RSS_HASH: u64 = 1 << 1;
/// The driver took the VLAN tag out of the frame; it is in `vlan_tci`.
pub const RTE_MBUF_F_RX_VLAN_STRIPPED: u64 = 1 << 6;
/// The mbuf's data are in another mbuf, or in a buffer that belongs to no mbuf.
pub const RTE_MBUF_F_ELSEWHERE: u64 = 1 << 62 | 1 << 61;
/// Bytes kept free in front of the data.
pub const RTE_PKTMBUF_HEADROOM: u16 = 128;

unsafe extern "C" {
    /// Creates a pool of `n` mbufs.
    pub fn rte_pktmbuf_pool_create(
        name: *const c_char,
        n: c_uint,
        cache_size: c_uint,
        priv_size: u16,
        data_room_size: u16,
        socket_id: c_int,
    ) -> *mut rte_mempool;
    /// Frees a pool; all its objects must be back.
    pub fn rte_mempool_free(pool: *mut rte_mempool);
    /// Calls `rte_mempool_get_bulk`: takes `count` objects as they are, or none with an error.
    pub fn shim_mempool_get_bulk(pool: *mut rte_mempool, objects: *mut *mut c_void, count: u32) -> c_int;
    /// Calls `rte_pktmbuf_alloc_bulk`: takes `count` reset mbufs, or none with an error.
    pub fn shim_mbuf_alloc_bulk(pool: *mut rte_mempool, mbufs: *mut *mut rte_mbuf, count: u32) -> c_int;
    /// Makes a cache of the caller's own; null where there is no memory.
    pub fn rte_mempool_cache_create(size: u32, socket_id: c_int) -> *mut rte_mempool_cache;
    /// Frees a cache, which must be empty.
    pub fn rte_mempool_cache_free(cache: *mut rte_mempool_cache);
    /// Gives what a cache holds back to its pool.
    pub fn shim_mempool_cache_flush(cache: *mut rte_mempool_cache, pool: *mut rte_mempool);
    /// Gives objects of the pool back as they are, by way of the calling lcore's cache.
    pub fn shim_mempool_put_bulk(pool: *mut rte_mempool, objects: *const *mut c_void, count: u32);
    /// `shim_mempool_get_bulk` by way of a cache of the caller's own.
    pub fn shim_mempool_get_bulk_cached(
        pool: *mut rte_mempool,
        objects: *mut *mut c_void,
        count: u32,
        cache: *mut rte_mempool_cache,
    ) -> c_int;
    /// Calls `rte_mempool_generic_put`: gives objects of the pool back as they are, by way of a cache of the caller's own.
    pub fn shim_mempool_put_bulk_cached(
        pool: *mut rte_mempool,
        objects: *const *mut c_void,
        count: u32,
        cache: *mut rte_mempool_cache,
    );
    /// Gives received frames back to their pools, in bulk where they are of one segment.
    pub fn shim_mbuf_free_burst(mbufs: *mut *mut rte_mbuf, count: u32);
    /// Registers the field and the flag of a frame's receive time.
    pub fn rte_mbuf_dyn_rx_timestamp_register(field_offset: *mut c_int, rx_flag: *mut u64) -> c_int;
}
