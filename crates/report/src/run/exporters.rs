//! Routers that sent flow records.

use crate::integer;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A router, or one of its processes, that sent flow records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExporterReport {
    /// Its address.
    pub address: IpAddr,
    /// What it sent: NetFlow v5, NetFlow v9 or IPFIX.
    pub version: String,
    /// Observation domain, source identifier, or type and number of the engine.
    #[serde(with = "integer")]
    pub domain: u64,
    /// Its datagrams.
    #[serde(with = "integer")]
    pub datagrams: u64,
    /// Its records of flows.
    #[serde(with = "integer")]
    pub records: u64,
    /// Those of them whose packets are samples.
    #[serde(with = "integer")]
    pub sampled: u64,
    /// What did not arrive by its sequence numbers: messages of NetFlow v9, else records.
    #[serde(with = "integer")]
    pub lost: u64,
    /// Its sampling rates as far as it told them: 1:100 counts one packet of a hundred.
    pub sampling: Vec<String>,
}
