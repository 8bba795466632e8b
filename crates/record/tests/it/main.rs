//! Flow files: what is written and read.

mod given;
mod ipfix;
mod sample;
mod tool;

mod anonymize;
mod files;
mod ipfix_export;
mod ipfix_file;
mod nfdump;
mod open_fields;
mod pmacct;
mod read;
mod read_foreign;
mod read_ipfix;
mod read_parquet;
mod read_quietly;
mod rotation;
mod round_trip;
mod rows;
mod sampled;
mod sorted;
