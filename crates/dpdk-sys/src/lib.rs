//! DPDK as C sees it: hand-declared functions, the mbuf, and a shim (`shim.c`) for what DPDK defines inline
//! or passes in large structures.
//!
//! Names, arguments and return values are DPDK's; `shim_…` are this crate's own. Nothing here is safe: the
//! contracts are those of DPDK's documentation, and crate `port` is where they are kept.
//!
//! ```
//! // SAFETY: the function takes nothing and returns a string that lives as long as the process.
//! let version = unsafe { std::ffi::CStr::from_ptr(dpdk_sys::rte_version()) };
//! assert!(version.to_str().unwrap().starts_with("DPDK "));
//! ```

mod hash;
mod mbuf;
mod port;
mod ring;

pub use hash::*;
pub use mbuf::*;
pub use port::*;
pub use ring::*;

use core::ffi::{c_char, c_int};

unsafe extern "C" {
    /// `rte_eal_init` with the log on standard error (or captured) and nothing on standard output.
    pub fn shim_eal_init(argc: c_int, argv: *mut *mut c_char) -> c_int;
    /// Makes the calling thread an lcore: pools then keep mbufs for it. 1 if it did, 0 if it was one, or an error.
    pub fn shim_thread_register() -> c_int;
    /// Gives the place of the calling thread back, which `shim_thread_register` made an lcore. Only the thread itself can.
    pub fn rte_thread_unregister();
    /// Sends DPDK's log to a buffer of 4 KiB from here on.
    pub fn shim_log_capture_begin();
    /// Ends the capture and copies what was captured; returns the bytes written to `text`.
    pub fn shim_log_capture_end(text: *mut c_char, size: usize) -> usize;
    /// `rte_errno` of the calling thread.
    pub fn shim_errno() -> c_int;
    /// Frees what EAL holds; ports must be closed before.
    pub fn rte_eal_cleanup() -> c_int;
    /// The directory of this process's runtime files.
    pub fn rte_eal_get_runtime_dir() -> *const c_char;
    /// The library's version, "DPDK 22.11.…"; needs no EAL.
    pub fn rte_version() -> *const c_char;
    /// The text of an error number.
    pub fn rte_strerror(errnum: c_int) -> *const c_char;
}
