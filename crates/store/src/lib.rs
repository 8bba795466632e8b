//! The store of a probe: window rows, flow records and rollups, as Parquet files in a folder that any engine reads.
//!
//! A manifest ([`Manifest`]) names the files that count: what it names is on the disk, and what it does not name is ignored. One process
//! writes a store at a time; others read it meanwhile ([`Catalog`]).
#![forbid(unsafe_code)]

mod begun;
mod budget;
mod catalog;
mod clock;
mod closed_windows;
mod compaction;
mod counts;
mod digest;
mod fault;
mod feed;
mod flow_segments;
mod flush;
mod group;
mod keep;
mod level;
mod lock;
mod manifest;
mod message;
mod naming;
mod place;
mod retention;
mod rollup;
mod row_segments;
mod schema;
mod segment;
mod setting;
mod shared;
mod store;
mod stored_file;
mod sums;
mod sweep;
mod upkeep;
mod watched;
mod writing;

pub use catalog::Catalog;
pub use counts::{StoreCounts, WriteCounts};
pub use fault::is_damage;
pub use feed::RowFeed;
pub use keep::StoreRetention;
pub use level::Level;
pub use manifest::{Manifest, ManifestChange};
pub use place::{place, store_of_records};
pub use row_segments::MOST_EMPTY_NS;
pub use setting::NodeSetting;
pub use store::StoreWriter;
pub use stored_file::StoredFile;
pub use watched::{MeasurementKind, RunBegin, Unstored, WatchedTime};
