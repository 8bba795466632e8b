//! Parsing and printing of quantities, rates, durations, moments, specifications, comparisons and operators, and the search for
//! the nearest name.
//!
//! Every option, specification and report writes a quantity in the same way, because all of them call this crate.
//! A leaf: it must not know what a quantity measures, which keys a specification has, or which option it belongs to,
//! and it depends on no other crate of the project.
//!
//! ```
//! use notation::{Rate, bytes, grouped, nearest, pairs, size_text};
//!
//! assert_eq!(bytes("1.5MiB"), Ok(3 << 19));
//! assert_eq!(size_text(3 << 19), "1536 KiB");
//! assert_eq!(bytes("much").unwrap_err().to_string(), "'much' is not a size below 16 EiB such as 128KiB, 1.5MiB or 2G");
//! assert_eq!("1.5Mpps".parse(), Ok(Rate::Packets(1_500_000)));
//! assert_eq!(grouped(1_500_000), "1,500,000");
//! assert_eq!(pairs("rate=25Mpps,queues=2"), Ok(vec![("rate", "25Mpps"), ("queues", "2")]));
//! assert_eq!(nearest("queus", ["rate", "queues"]), Some("queues"));
//! ```
#![forbid(unsafe_code)]

mod encoded;
mod like;
mod moment;
mod name;
mod operator;
mod printable;
mod quantity;
mod rate;
mod spec;
mod text;

pub use encoded::{encoded, label_name};
pub use like::is_like;
pub use moment::{MOMENTS, moment_ns};
pub use name::nearest;
pub use operator::{Comparison, Operator};
pub use printable::printable;
pub use quantity::{QuantityError, bytes, count, duration, share_ppm, time_ns, timeout_ns};
pub use rate::Rate;
pub use spec::{SpecError, pairs, unknown_key};
pub use text::{
    computed_time_text, counted, counted_as, grouped, grouped_decimal, grouped_signed, how_long, number_of,
    scaled, size_text, time_text, trimmed, wrapped,
};
