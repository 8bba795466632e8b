//! Structures that no task of Edison answers with, for those who compare: an invertible Bloom lookup table, a hash table that checks its
//! keys, summaries of ranks, compressed counting, Count-Min without hash functions, and a prefix tree that zooms. They are summaries like
//! those of `sketch`, whose traits they implement and of whose parts they are made.
//!
//! ```
//! use packet::{KeyV4, Seed};
//! use sketch::{Configuration, Summary, Update, UpdateBurst};
//! use structures::Iblt;
//!
//! let seed = Seed::new(1);
//! let configuration = <Iblt<KeyV4> as Summary>::Configuration::with_bytes(4_096, seed)?;
//! let mut table = Iblt::new(&configuration)?;
//! table.update_burst(&[Update::new(KeyV4::default(), 3, &seed)]);
//! assert_eq!(table.flows().expect("room for one flow"), [(KeyV4::default(), 3)]);
//! # Ok::<(), sketch::SketchError>(())
//! ```
#![forbid(unsafe_code)]

mod address_modulo;
mod checked_hash_table;
mod compressed_counting;
mod greenwald_khanna;
mod iblt;
mod manku;
#[cfg(test)]
#[allow(dead_code, reason = "each crate uses a part of it")]
#[path = "../../../crates/sketch/src/oracle.rs"]
mod oracle;
#[cfg(test)]
mod ordered_oracle;
#[cfg(test)]
mod parts_tests;
mod zoom_tree;

pub use address_modulo::AddressModulo;
pub use checked_hash_table::CheckedHashTable;
pub use compressed_counting::CompressedCounting;
pub use greenwald_khanna::GreenwaldKhanna;
pub use iblt::{Iblt, NotRecovered};
pub use manku::MankuRajagopalanLindsay;
pub use zoom_tree::{ZoomAnswer, ZoomConfig, ZoomPrefix, ZoomTree};

// The oracle takes its names from the module that declares it.
#[cfg(test)]
use sketch::*;
