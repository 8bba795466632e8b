//! Rings, and the port that a ring can be.

use core::ffi::{c_char, c_int, c_uint, c_void};

/// A ring of pointers.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct rte_ring {
    _opaque: [u8; 0],
}

/// The flag of a ring to which a single thread enqueues.
pub const RING_F_SP_ENQ: c_uint = 0x0001;
/// The flag of a ring from which a single thread dequeues.
pub const RING_F_SC_DEQ: c_uint = 0x0002;
/// The flag of a ring that holds exactly the requested count, which need not be a power of two.
pub const RING_F_EXACT_SZ: c_uint = 0x0004;

unsafe extern "C" {
    /// Creates a ring.
    pub fn rte_ring_create(
        name: *const c_char,
        count: c_uint,
        socket_id: c_int,
        flags: c_uint,
    ) -> *mut rte_ring;
    /// Frees a ring.
    pub fn rte_ring_free(ring: *mut rte_ring);
    /// Enqueues all or nothing; returns how many.
    pub fn shim_ring_enqueue_bulk(ring: *mut rte_ring, objects: *const *mut c_void, count: u32) -> u32;
    /// Dequeues at most `count`; returns how many.
    pub fn shim_ring_dequeue_burst(ring: *mut rte_ring, objects: *mut *mut c_void, count: u32) -> u32;
    /// Makes a port of driver net_ring with a queue for each ring; returns the port or a negative error.
    pub fn rte_eth_from_rings(
        name: *const c_char,
        rx_queues: *const *mut rte_ring,
        rx_count: c_uint,
        tx_queues: *const *mut rte_ring,
        tx_count: c_uint,
        numa_node: c_uint,
    ) -> c_int;
}
