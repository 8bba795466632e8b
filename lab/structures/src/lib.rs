//! Structures that no task of Edison answers with, for those who compare: bitmaps, an invertible Bloom lookup table, and a hash table that
//! checks its keys. They are summaries like those of `sketch`, whose traits they implement and of whose parts they are made.
//!
//! ```
//! use packet::{KeyV4, Seed};
//! use structures::LinearBitmap;
//! use sketch::{Cardinality, Configuration, Summary, Update, UpdateBurst};
//!
//! let seed = Seed::new(1);
//! let configuration = <LinearBitmap as Summary>::Configuration::with_bytes(1_024, seed)?;
//! let mut bitmap = LinearBitmap::new(&configuration)?;
//! bitmap.update_burst(&[Update::new(KeyV4::default(), 1, &seed)]);
//! assert!(bitmap.distinct().bounds.expect("bounds").contain(1.0));
//! # Ok::<(), sketch::SketchError>(())
//! ```
#![forbid(unsafe_code)]

mod bitmap;
mod checked_hash_table;
mod iblt;
#[cfg(test)]
#[allow(dead_code, reason = "each crate uses a part of it")]
#[path = "../../../crates/sketch/src/oracle.rs"]
mod oracle;
#[cfg(test)]
mod parts_tests;

pub use bitmap::{LinearBitmap, MultiResolutionBitmap};
pub use checked_hash_table::CheckedHashTable;
pub use iblt::{Iblt, NotRecovered};

// The oracle takes its names from the module that declares it.
#[cfg(test)]
use sketch::*;
