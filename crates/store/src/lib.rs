//! What a probe remembers: window rows, flow records and rollups, as Parquet files in a folder that any engine reads.
//!
//! A manifest ([`Manifest`]) names the files that count: what it names is on the disk, and what it does not name is ignored. One process
//! writes a store at a time; others read it meanwhile ([`Catalog`]).
#![forbid(unsafe_code)]

mod catalog;
mod fault;
mod level;
mod lock;
mod manifest;
mod place;
mod schema;
mod stored_file;

pub use catalog::Catalog;
pub use level::Level;
pub use manifest::{Change, Manifest};
pub use place::place;
pub use stored_file::StoredFile;
