//! The memory of a machine.

use crate::graph::EvaluationPoint;
use crate::key::EventKey;
use crate::run::QueryRun;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// The state of a machine: all that it remembers, as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    /// End of the last window that was judged: every window that ends at or before it has been.
    pub until_ns: Option<u64>,
    /// Runs that have not ended, in the order in which they were started.
    pub runs: Vec<QueryRun>,
    /// The edges of the graph, each for a place, and for the runs of the sources whose answers it judges.
    pub edges: Vec<EdgeState>,
    /// Chains that must reach a query in time, in the order in which they began.
    #[serde(default)]
    pub chains: Vec<ChainDeadline>,
    /// Queries that must be reached in time, and how many chains of theirs are not followed, as there are too many.
    #[serde(default)]
    pub unfollowed: BTreeMap<usize, u64>,
}

impl MachineState {
    /// The firings that hold: each key that fired and has not been re-armed, by its event.
    pub fn holding(&self) -> HashSet<&str> {
        let keys = self.edges.iter().flat_map(|edge| edge.keys.values());
        let active = keys.filter(|progress| matches!(progress.phase, KeyPhase::Active { .. }));
        active.filter_map(|progress| progress.fired.as_deref()).collect()
    }

    /// Forgets what was known of the answers of runs that have ended.
    pub(crate) fn forget_ended_runs(&mut self) {
        let Self { runs, edges, chains, .. } = self;
        edges.retain(|edge| edge.runs.iter().all(|cause| runs.iter().any(|run| run.cause == *cause)));
        chains.retain(|chain| !chain.has_started || runs.iter().any(|run| run.root == chain.root));
    }
}

/// A chain that must reach a query in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainDeadline {
    /// The query, by number.
    pub query: usize,
    /// The first event of the chain.
    pub root: String,
    /// The time by which the chain must have reached the query, nanoseconds since the epoch.
    pub deadline_ns: u64,
    /// The last query that was started.
    pub reached: usize,
    /// The event that started it.
    pub cause: String,
    /// True if the query has been reached: this is remembered for as long as the chain has runs.
    pub has_started: bool,
}

/// An edge of the graph: its condition is judged for each key of the sources' answers at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeState {
    /// The query that is started, by number.
    pub query: usize,
    /// The place.
    pub place: EvaluationPoint,
    /// The events that started the sources which do not always run.
    pub runs: Vec<String>,
    /// The end of the last window.
    pub last_end_ns: Option<u64>,
    /// The number of windows in a row that were missing up to then, by source.
    pub missing: Vec<u64>,
    /// The time that was watched altogether, nanoseconds.
    pub watched_ns: u64,
    /// True if another window like the last one changes nothing but what time brings about.
    pub is_settled: bool,
    /// Keys that could not be remembered, as there are too many.
    pub forgotten: u64,
    /// The keys.
    #[serde(with = "by_key")]
    pub keys: BTreeMap<EventKey, KeyProgress>,
}

/// The state of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyProgress {
    /// The phase.
    pub phase: KeyPhase,
    /// The value of [`EdgeState::watched_ns`] when the key was last seen.
    pub seen_ns: u64,
    /// The event that fired last.
    pub fired: Option<String>,
    /// The title of that event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The phase of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyPhase {
    /// The condition has not been true.
    Idle,
    /// The condition is true, but not for long enough.
    Pending {
        /// The time for which the condition was true, nanoseconds.
        held_ns: u64,
        /// The last window decided it.
        is_true: bool,
    },
    /// The key fired at this time, and has not been re-armed.
    Active {
        /// The time at which the key fired, nanoseconds since the epoch.
        fired_ns: u64,
    },
    /// The key was re-armed, but fires again only from this time on.
    Recovering {
        /// The time from which the key fires again, nanoseconds since the epoch.
        until_ns: u64,
        /// The time for which the condition has been true again, nanoseconds.
        #[serde(default)]
        held_ns: u64,
        /// True if the condition was true in the last window.
        #[serde(default)]
        is_true: bool,
    },
}

/// Keys are no texts: the map is a list of pairs.
mod by_key {
    use super::{BTreeMap, EventKey, KeyProgress};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        keys: &BTreeMap<EventKey, KeyProgress>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(keys)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<EventKey, KeyProgress>, D::Error> {
        Ok(Vec::<(EventKey, KeyProgress)>::deserialize(deserializer)?.into_iter().collect())
    }
}
