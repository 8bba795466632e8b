//! Routers that sent flow records.

use crate::Integer;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A router, or one of its processes, that sent flow records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExporterReport {
    /// Its address.
    pub address: IpAddr,
    /// The port that it sends from; `None` for all its sessions that are over together.
    pub port: Option<u16>,
    /// What it sent: NetFlow v5, NetFlow v9 or IPFIX.
    pub version: String,
    /// Observation domain, source identifier, or type and number of the engine.
    #[serde(with = "Integer")]
    pub domain: u64,
    /// How many transport sessions it is: one, or those that are over. An exporter that is started again with another port begins a new
    /// one.
    #[serde(with = "Integer")]
    pub sessions: u64,
    /// Its datagrams.
    #[serde(with = "Integer")]
    pub datagrams: u64,
    /// Its records of flows.
    #[serde(with = "Integer")]
    pub records: u64,
    /// Those of them whose packets are samples.
    #[serde(with = "Integer")]
    pub sampled: u64,
    /// What did not arrive by its sequence numbers.
    #[serde(with = "Integer")]
    pub lost: u64,
    /// What its sequence numbers count, and `lost`: messages or records.
    pub lost_unit: String,
    /// Its sampling rates as far as it told them: 1:100 counts one packet of a hundred. One of them is `unknown` where records are samples
    /// of a rate that it did not tell.
    pub sampling: Vec<String>,
}
