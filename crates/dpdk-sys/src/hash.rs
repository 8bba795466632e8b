//! DPDK's hash table: the baseline that benches compare with.

use core::ffi::{c_char, c_int, c_void};

/// DPDK's cuckoo hash table.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct rte_hash {
    _opaque: [u8; 0],
}

/// Extendable buckets: all `entries` keys fit, whatever they hash to.
pub const RTE_HASH_EXTRA_FLAGS_EXT_TABLE: u8 = 0x08;
/// The most keys of one bulk lookup.
pub const RTE_HASH_LOOKUP_BULK_MAX: usize = 64;

unsafe extern "C" {
    /// `rte_hash_create` with DPDK's own hash function for this processor; null on failure. `name` is unique
    /// in the process and shorter than 32 bytes.
    pub fn shim_hash_create(
        name: *const c_char,
        entries: u32,
        key_len: u32,
        seed: u32,
        socket_id: c_int,
        extra_flag: u8,
    ) -> *mut rte_hash;
    /// Frees a table; null is fine.
    pub fn rte_hash_free(table: *mut rte_hash);
    /// The key's position (0 to entries - 1), inserted if it was not there, or a negative error.
    pub fn rte_hash_add_key(table: *const rte_hash, key: *const c_void) -> i32;
    /// Inserts or replaces a key's data; 0 or a negative error.
    pub fn rte_hash_add_key_data(table: *const rte_hash, key: *const c_void, data: *mut c_void) -> c_int;
    /// Positions of at most 64 keys, negative where there is none.
    pub fn rte_hash_lookup_bulk(
        table: *const rte_hash,
        keys: *const *const c_void,
        count: u32,
        positions: *mut i32,
    ) -> c_int;
    /// Data of at most 64 keys; bit i of `hit_mask` is set if `data[i]` was found. Returns the hits.
    pub fn rte_hash_lookup_bulk_data(
        table: *const rte_hash,
        keys: *const *const c_void,
        count: u32,
        hit_mask: *mut u64,
        data: *mut *mut c_void,
    ) -> c_int;
}
