//! The memory of tables and sketches: within the limits of a run, in large pages, prefetched, and shared by several cores.
//!
//! The crate does not know keys, packets, flows and threads.
//!
//! ```
//! use arena::Limits;
//!
//! let limits = Limits::new(1 << 20, usize::MAX);
//! let lease = limits.lease(1 << 19).expect("half of it");
//! assert!(limits.lease(1 << 20).is_none());
//! drop(lease);
//! assert_eq!(limits.bytes_used(), 0);
//! ```

mod arena;
mod bits;
mod large_pages;
mod limits;
mod prefetch;
pub mod shared;
pub mod sync;
pub mod tags;

pub use arena::{Arena, OutOfMemory};
pub use bits::ones;
pub use large_pages::ask_for_large_pages;
pub use limits::{Lease, Limits};
pub use prefetch::{prefetch, prefetch_for_writing, prefetch_lines};
