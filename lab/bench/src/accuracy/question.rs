//! The question about a window.

use packet::KeySpec;
use std::str::FromStr;
use task::{Structure, TaskKind, TaskSpec};

/// The share of the packets from which on a flow is heavy (Alipourfard et al., section 3.1).
const HEAVY: f64 = 0.002;
/// The share from which on a flow has changed.
const CHANGED: f64 = 0.005;
/// Contacts that make a spreader, for a million packets.
const CONTACTS_PPM: u64 = 1_000;

/// A task, and what its truth needs to know.
#[derive(Clone, Debug)]
pub(super) struct AccuracyQuestion {
    /// The name in tables.
    pub(super) name: &'static str,
    pub(super) kind: TaskKind,
    /// The fields of its flows' keys.
    pub(super) key: &'static str,
    /// `kind:…` of a specification, without structure and memory.
    pub(super) spec: String,
    /// The figure from which on a flow is in the answer: a share of the packets, or contacts.
    pub(super) least: f64,
}

const FIVE_TUPLE: &str = "src_addr,dst_addr,protocol,src_port,dst_port";

impl AccuracyQuestion {
    /// Returns all questions, for windows of this many packets.
    pub(super) fn all(packets: u64) -> Vec<Self> {
        let contacts = (packets * CONTACTS_PPM / 1_000_000).max(2);
        let question = |name, kind: TaskKind, key, spec: &str, least| Self {
            name,
            kind,
            key,
            spec: format!("{kind}:{spec}"),
            least,
        };
        vec![
            question("heavy hitters", TaskKind::HeavyHitters, FIVE_TUPLE, "share=0.2%", HEAVY),
            question(
                "heavy hitters, address pairs",
                TaskKind::HeavyHitters,
                "src_addr,dst_addr",
                "key=src_addr+dst_addr,share=0.2%",
                HEAVY,
            ),
            question(
                "super-spreaders",
                TaskKind::SuperSpreaders,
                "src_addr",
                &format!("count={contacts}"),
                contacts as f64,
            ),
            question("flow sizes", TaskKind::FlowSizes, FIVE_TUPLE, "", 0.0),
            question("change", TaskKind::Change, FIVE_TUPLE, "share=0.5%", CHANGED),
            question("entropy", TaskKind::Entropy, FIVE_TUPLE, "", 0.0),
            question("quantiles of source addresses", TaskKind::Quantiles, "src_addr", "key=src_addr", 0.0),
            question("quantiles of sizes", TaskKind::Quantiles, "", "key=size", 0.0),
            question("inner product", TaskKind::Inner, "dst_addr", "key=dst_addr", 0.0),
            question("distinct sources", TaskKind::Distinct, "src_addr", "of=src_addr", 0.0),
        ]
    }

    /// The task in this much memory; `None`: by the structure that the planner chooses.
    pub(super) fn task(&self, structure: Option<Structure>, memory: usize) -> Result<TaskSpec, String> {
        let structure = structure.map_or_else(String::new, |one| format!(",structure={}", one.name()));
        let all = format!("{},memory={memory}{structure}", self.spec);
        TaskSpec::from_str(&all.replace(":,", ":")).map_err(|error| error.to_string())
    }

    /// Returns the key of its flows.
    pub(super) fn key(&self) -> KeySpec {
        KeySpec::parse(self.key).unwrap_or_default()
    }
}
