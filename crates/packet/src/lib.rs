//! Turns the bytes of a frame into flow key, hash and per-packet fields, or into the one named reason why it
//! is not measured.
//!
//! The crate does no I/O, starts no threads, reads no clock, and has no `unsafe`, because frames are
//! untrusted input.
//!
//! ```
//! use packet::{Frame, LinkType, NotMeasured, Tunnel, parse};
//!
//! // An Ethernet frame of type ARP.
//! let data = [&[2; 12][..], &[0x08, 0x06], &[0; 28]].concat();
//! let wire_len = data.len() as u32;
//! let frame = Frame { data: &data, wire_len, time_ns: 0, link: LinkType::Ethernet, stripped_vlan: None };
//! assert_eq!(parse(&frame, Tunnel::Outer), Err(NotMeasured::Arp));
//! ```
//!
//! `examples/parse.rs` prints what is measured of a frame.
#![forbid(unsafe_code)]

mod burst;
mod bursts;
mod bytes;
mod frame;
mod hash;
mod header_bytes;
mod header_fields;
mod ip;
mod key;
mod key_spec;
mod link;
mod link_header;
mod parser;
mod pins;
mod reason;
mod rss;
mod segment;
mod toeplitz;
mod transport;
mod tunnel;

pub use burst::{KeyBurst, KeyedPacket, Numbers, OutOfOrder, PacketFields, PinnedPacket};
pub use bursts::{Bursts, Packets};
/// The readable form of a key, as [`Key::flow_key`] makes it.
pub use flow::FlowKey;
pub use frame::Frame;
pub use hash::{Seed, split_mix};
pub use header_bytes::header_bytes;
pub use ip::PacketKey;
pub use key::{FamilyKey, FamilyRow, Key, KeyParts, KeyV4, KeyV6, MaskedKey};
pub use key_spec::{KeySpec, KeySpecError};
pub use link::LinkType;
pub use parser::{BurstParser, Packet, ParserConfig, Tunnel, parse};
pub use pins::{Network, Pin, Pins, PinsError};
pub use reason::{NotMeasured, Remark};
pub use rss::{RssFields, RssKey, RssSpec};
pub use segment::TcpSegment;
pub use toeplitz::Toeplitz;
