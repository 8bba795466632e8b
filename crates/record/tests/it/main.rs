//! Flow files: what is written and read.

mod given;
mod ipfix;
mod sample;
mod tool;

mod anonymize;
#[cfg(feature = "parquet")]
mod files;
mod ipfix_export;
mod ipfix_file;
mod nfdump;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod read_foreign;
mod read_ipfix;
#[cfg(feature = "parquet")]
mod read_parquet;
#[cfg(feature = "parquet")]
mod read_quietly;
mod rotation;
#[cfg(feature = "parquet")]
mod round_trip;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod sorted;
