//! Frame bytes to flow key, hash and per-packet fields, or to the one named reason why not.
//!
//! The crate knows nothing of I/O, threads and clocks, and has no `unsafe`: frames come from strangers.
#![forbid(unsafe_code)]

mod burst;
mod hash;
mod key;
mod link;
mod reason;

pub use burst::{KeyBurst, PacketFields};
pub use hash::Seed;
pub use key::{FlowKey, Key, KeyV4, KeyV6};
pub use link::LinkType;
pub use reason::{NotMeasured, Remark};
