//! The shim's `rte_hash`, as benches use it: what is added is found, nothing else is.
use dpdk_sys::{
    RTE_HASH_EXTRA_FLAGS_EXT_TABLE, RTE_HASH_LOOKUP_BULK_MAX, rte_hash_add_key_data, rte_hash_free,
    rte_hash_lookup_bulk_data, shim_hash_create,
};
use port::dpdk::{Eal, EalConfig};
use std::ffi::c_void;
use testbed::process::alone;

#[test]
fn added_keys_are_found() {
    alone(|| {
        const ENTRIES: u32 = 100_000;
        let eal =
            Eal::init(&EalConfig { memory_bytes: 128 << 20, ..EalConfig::default() }).expect("EAL starts");
        // SAFETY: EAL runs.
        let table = unsafe {
            shim_hash_create(c"dpdk_hash_test".as_ptr(), ENTRIES, 16, 1, -1, RTE_HASH_EXTRA_FLAGS_EXT_TABLE)
        };
        assert!(!table.is_null());
        let key = |n: u64| [n.to_le_bytes(), (n * 3).to_le_bytes()];
        for n in 0..u64::from(ENTRIES) {
            // SAFETY: a table of 16-byte keys, and one such key.
            let added = unsafe { rte_hash_add_key_data(table, key(n).as_ptr().cast(), n as *mut c_void) };
            assert_eq!(added, 0, "extendable buckets take all {ENTRIES} keys");
        }
        for first in (0..u64::from(ENTRIES) * 2).step_by(RTE_HASH_LOOKUP_BULK_MAX) {
            let keys: Vec<_> = (first..first + RTE_HASH_LOOKUP_BULK_MAX as u64).map(key).collect();
            let pointers: Vec<*const c_void> = keys.iter().map(|key| key.as_ptr().cast()).collect();
            let (mut hits, mut data) = (0, [std::ptr::null_mut(); RTE_HASH_LOOKUP_BULK_MAX]);
            // SAFETY: 64 pointers to keys and 64 places for data.
            unsafe { rte_hash_lookup_bulk_data(table, pointers.as_ptr(), 64, &mut hits, data.as_mut_ptr()) };
            for (i, n) in (first..).take(RTE_HASH_LOOKUP_BULK_MAX).enumerate() {
                let found = hits >> i & 1 == 1;
                assert_eq!(found, n < u64::from(ENTRIES), "key {n}");
                assert!(!found || data[i] as u64 == n, "key {n}");
            }
        }
        // SAFETY: made above, not used after.
        unsafe { rte_hash_free(table) };
        drop(eal);
    });
}
