//! The state of an exporter.

use crate::rate::SamplingRate;
use crate::samplers::Samplers;
use crate::sequence::{Sequence, SequenceUnit};
use crate::waiting::WaitingSets;
use record::read::{FieldPlan, Template};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The most rates that are told of sessions that are over together.
const MOST_RATES: usize = 256;

/// The version of what an exporter sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// NetFlow v5.
    V5,
    /// NetFlow v9.
    V9,
    /// IPFIX.
    Ipfix,
    /// sFlow version 5.
    SFlow,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V5 => "NetFlow v5",
            Self::V9 => "NetFlow v9",
            Self::Ipfix => "IPFIX",
            Self::SFlow => "sFlow v5",
        })
    }
}

/// A transport session of an exporter, and the domain of which it tells (RFC 7011, section 2 and 8.4): two processes of an address have
/// ports of their own, and so has one that was started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExporterId {
    pub(crate) address: IpAddr,
    pub(crate) version: Version,
    /// Observation domain, source identifier, type and number of the engine, or part of an agent.
    pub(crate) domain: u32,
    /// The agent of sFlow: one that forwards the datagrams of several agents sends from one port.
    pub(crate) agent: Option<IpAddr>,
    pub(crate) port: u16,
}

impl ExporterId {
    /// The name of what sends from this address and port, and has no agent.
    pub(crate) fn new((address, port): (IpAddr, u16), version: Version, domain: u32) -> Self {
        Self { address, version, domain, agent: None, port }
    }
}

/// A template, and how its records are read.
#[derive(Debug)]
pub(crate) struct ExporterTemplate {
    pub(crate) template: Template,
    pub(crate) plan: FieldPlan,
}

/// The part of what all exporters share that one or all of them take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedRoom {
    /// The fields of templates, each template counting as one more.
    pub(crate) fields: usize,
    /// The sources of samples.
    pub(crate) sources: usize,
}

impl SharedRoom {
    /// Gives back what an exporter had.
    pub(crate) fn give_back(&mut self, own: Self) {
        self.fields -= own.fields;
        self.sources -= own.sources;
    }
}

/// An exporter.
#[derive(Debug)]
pub(crate) struct Exporter {
    /// The number of the session, another one whenever the exporter begins anew: its totals are of no flow before.
    pub(crate) session: u64,
    pub(crate) templates: HashMap<u16, Arc<ExporterTemplate>>,
    /// The fields of all templates of the exporter.
    pub(crate) fields: usize,
    pub(crate) waiting: WaitingSets,
    pub(crate) samplers: Samplers,
    /// The time at which the exporter began, milliseconds since the epoch, where it says so apart from headers.
    pub(crate) start_ms: Option<u64>,
    pub(crate) sequence: Sequence,
    pub(crate) datagrams: u64,
    pub(crate) records: u64,
    /// The records whose packets are samples, and those of them whose rate is not known.
    pub(crate) sampled: u64,
    pub(crate) unknown_rate: u64,
    pub(crate) seen_ns: u64,
}

impl Exporter {
    pub(crate) fn new(version: Version, session: u64) -> Self {
        let counts = match version {
            Version::V9 | Version::SFlow => SequenceUnit::Messages,
            Version::V5 | Version::Ipfix => SequenceUnit::Records,
        };
        Self {
            session,
            templates: HashMap::new(),
            fields: 0,
            waiting: WaitingSets::default(),
            samplers: Samplers::default(),
            start_ms: None,
            sequence: Sequence::new(counts),
            datagrams: 0,
            records: 0,
            sampled: 0,
            unknown_rate: 0,
            seen_ns: 0,
        }
    }

    /// Forgets what the exporter told before it began anew. Returns how much of what exporters share it had.
    pub(crate) fn restart(&mut self) -> SharedRoom {
        self.templates.clear();
        let samplers = std::mem::take(&mut self.samplers);
        self.start_ms = None;
        SharedRoom { fields: std::mem::take(&mut self.fields), sources: samplers.sources() }
    }
}

/// An exporter as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExporterState {
    /// The address of the exporter.
    pub address: IpAddr,
    /// The port that the exporter sends from; `None` for all its sessions that are over together.
    pub port: Option<u16>,
    /// The version of what the exporter sends.
    pub version: Version,
    /// The observation domain, the source identifier, type and number of the engine, or the part of the agent.
    pub domain: u32,
    /// The address of the agent; `None` where the version has none.
    pub agent: Option<IpAddr>,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of datagrams.
    pub datagrams: u64,
    /// The number of flow records.
    pub records: u64,
    /// The number of flow records whose packets are samples.
    pub sampled: u64,
    /// The number of messages or records that did not arrive.
    pub lost: u64,
    /// True if `lost` counts messages, else it counts records.
    pub counts_messages: bool,
    /// The sampling rates, as far as the exporter told them, each once and in their order. Of sessions that are over they are the first 256 of
    /// all.
    pub rates: Vec<SamplingRate>,
    /// The number of records of which it is not known by which rate their packets were sampled.
    pub unknown_rate: u64,
}

impl Exporter {
    pub(crate) fn state(&self, name: &ExporterId) -> ExporterState {
        ExporterState {
            address: name.address,
            port: Some(name.port),
            version: name.version,
            domain: name.domain,
            agent: name.agent,
            sessions: 1,
            datagrams: self.datagrams,
            records: self.records,
            sampled: self.sampled,
            lost: self.sequence.lost,
            counts_messages: self.sequence.counts() == SequenceUnit::Messages,
            rates: self.samplers.rates(),
            unknown_rate: self.unknown_rate,
        }
    }

    /// Returns the state of a session that is over.
    pub(crate) fn state_over(&self, name: &ExporterId) -> ExporterState {
        let mut state = ExporterState { port: None, ..self.state(name) };
        state.rates.truncate(MOST_RATES);
        state
    }
}

impl ExporterState {
    /// Adds another session of the same exporter; both are over.
    pub(crate) fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.datagrams += other.datagrams;
        self.records += other.records;
        self.sampled += other.sampled;
        self.lost += other.lost;
        self.unknown_rate += other.unknown_rate;
        // Several sessions are found to be over at a time: what is told of them does not depend on which is the last.
        self.counts_messages |= other.counts_messages;
        self.rates.extend(other.rates);
        self.rates.sort_unstable();
        self.rates.dedup();
        self.rates.truncate(MOST_RATES);
    }
}
