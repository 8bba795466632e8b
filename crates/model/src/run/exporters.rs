//! Routers that sent flow records.

use crate::Integer;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A router, or one of its processes, that sent flow records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExporterReport {
    /// The address that it sends from.
    pub address: IpAddr,
    /// The port that it sends from; `None` for all its sessions that are over together.
    pub port: Option<u16>,
    /// The protocol: NetFlow v5, NetFlow v9, IPFIX or sFlow v5.
    pub version: String,
    /// The observation domain, the source identifier, the type and number of the engine, or the part of the agent of sFlow.
    #[serde(with = "Integer")]
    pub domain: u64,
    /// The address of the agent of sFlow, which is the switch; `None` of other protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<IpAddr>,
    /// The number of transport sessions: one, or those that are over. An exporter that is started again with another port begins a new one.
    #[serde(with = "Integer")]
    pub sessions: u64,
    /// The number of its datagrams.
    #[serde(with = "Integer")]
    pub datagrams: u64,
    /// The number of its flow records.
    #[serde(with = "Integer")]
    pub records: u64,
    /// The number of its flow records whose packets are samples.
    #[serde(with = "Integer")]
    pub sampled: u64,
    /// The number of messages or records that did not arrive, by its sequence numbers.
    #[serde(with = "Integer")]
    pub lost: u64,
    /// The unit of its sequence numbers, and of `lost`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["messages", "records"])))]
    pub lost_unit: String,
    /// The sampling rates as far as it told them: 1:100 counts one packet of a hundred. One of them is `unknown` where records are samples
    /// of a rate that it did not tell.
    pub sampling: Vec<String>,
}
