//! Flow records of routers: datagrams of NetFlow v5, NetFlow v9 (RFC 3954), IPFIX (RFC 7011) and sFlow v5.
//!
//! A [`Decoder`] takes datagrams and gives [`ExportedFlow`]s. It keeps what exporters told of their templates, samplers and numbers, all of it
//! within limits, and counts by name what it could not take ([`DecoderCounts`]). An [`Inlet`] is the socket, an [`DatagramIntake`] the thread that reads it. The crate does not know windows,
//! tables or what becomes of flows.
//!
//! ```
//! use router::{Decoder, DecoderSettings};
//!
//! let mut decoder = Decoder::new(DecoderSettings::default());
//! let exporter = "192.0.2.1:2055".parse().expect("an address");
//! decoder.datagram(exporter, b"no NetFlow", 0, &mut |_| {});
//! assert_eq!((decoder.counts().datagrams.received, decoder.counts().datagrams.unknown_version), (1, 1));
//! ```

mod counts;
mod decoder;
mod exporter;
mod foreign;
mod inlet;
mod intake;
mod network;
mod rate;
mod samplers;
mod sequence;
mod sflow;
mod values;
mod version5;
mod waiting;

pub use counts::{
    DatagramCounts, DecoderCounts, ExporterCounts, RecordCounts, SamplingCounts, TemplateCounts,
};
pub use decoder::{Decoder, DecoderSettings, ExportedFlow};
pub use exporter::{ExporterState, Version};
pub use foreign::{ForeignSender, Protocol};
pub use inlet::{Inlet, ReceiveOutcome};
pub use intake::{Datagram, DatagramIntake};
pub use network::ExporterNetwork;
pub use rate::SamplingRate;
