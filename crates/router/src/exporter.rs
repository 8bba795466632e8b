//! What is known of an exporter.

use crate::element::Plan;
use crate::rate::Rate;
use crate::sequence::Sequence;
use crate::waiting::Waiting;
use record::read::Template;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The most samplers of an exporter.
const MOST_SAMPLERS: usize = 128;

/// The version of what an exporter sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// NetFlow v5.
    V5,
    /// NetFlow v9.
    V9,
    /// IPFIX.
    Ipfix,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V5 => "NetFlow v5",
            Self::V9 => "NetFlow v9",
            Self::Ipfix => "IPFIX",
        })
    }
}

/// Who sends: an address may have several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) address: IpAddr,
    pub(crate) version: Version,
    /// Observation domain, source identifier, or type and number of the engine.
    pub(crate) domain: u32,
}

/// A template, and how its records are read.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) template: Template,
    pub(crate) plan: Plan,
}

/// An exporter.
#[derive(Debug, Default)]
pub(crate) struct Exporter {
    pub(crate) templates: HashMap<u16, Arc<Known>>,
    /// Fields of all its templates.
    pub(crate) fields: usize,
    pub(crate) waiting: Waiting,
    /// Sampling rates by the number of the sampler.
    pub(crate) samplers: HashMap<u64, Rate>,
    /// The rate of records that name no sampler.
    pub(crate) rate: Option<Rate>,
    /// When it began, milliseconds since the epoch, where it says so apart from headers.
    pub(crate) start_ms: Option<u64>,
    pub(crate) sequence: Sequence,
    /// Its time since its start in its last message, milliseconds.
    pub(crate) uptime_ms: Option<u32>,
    pub(crate) datagrams: u64,
    pub(crate) records: u64,
    /// Records whose packets are samples.
    pub(crate) sampled: u64,
    pub(crate) seen_ns: u64,
}

impl Exporter {
    /// Keeps the rate of a sampler; false where there is no room.
    pub(crate) fn sampler(&mut self, number: u64, rate: Rate) -> bool {
        let has_room = self.samplers.len() < MOST_SAMPLERS || self.samplers.contains_key(&number);
        if has_room {
            self.samplers.insert(number, rate);
        }
        has_room
    }

    /// Forgets what it told before it began anew. Returns how many fields its templates had.
    pub(crate) fn restart(&mut self) -> usize {
        self.templates.clear();
        self.samplers.clear();
        (self.rate, self.start_ms) = (None, None);
        std::mem::take(&mut self.fields)
    }
}

/// An exporter as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExporterState {
    /// Its address.
    pub address: IpAddr,
    /// What it sends.
    pub version: Version,
    /// Observation domain, source identifier, or type and number of the engine.
    pub domain: u32,
    /// Its datagrams.
    pub datagrams: u64,
    /// Its records of flows.
    pub records: u64,
    /// Those of them whose packets are samples.
    pub sampled: u64,
    /// What did not arrive: messages of NetFlow v9, else records.
    pub lost: u64,
    /// Its sampling rates, as far as it told them.
    pub rates: Vec<Rate>,
}

impl Exporter {
    pub(crate) fn state(&self, name: &Name) -> ExporterState {
        let mut rates: Vec<Rate> = self.samplers.values().copied().chain(self.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        ExporterState {
            address: name.address,
            version: name.version,
            domain: name.domain,
            datagrams: self.datagrams,
            records: self.records,
            sampled: self.sampled,
            lost: self.sequence.lost,
            rates,
        }
    }
}
