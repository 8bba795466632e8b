//! The questions of a trigger to its sources, worked out once.

use crate::condition::{GroupFigures, TriggerCondition};
use crate::figure::BoundedValue;
use crate::graph::{Graph, GraphQuery, QueryTrigger};
use crate::key::{EventKey, Member};
use crate::rows::without_packets;
use crate::state::EdgeState;
use crate::truth::TruthValue;
use model::Column;
use std::collections::BTreeSet;

/// The questions of a trigger to its sources.
#[derive(Clone, Debug)]
pub(super) struct TriggerPlan {
    /// The number of the first item of each source.
    offsets: Vec<usize>,
    /// True for each source whose items are read: if not, it is at most asked whether it is missing.
    pub(super) reads: Vec<bool>,
    /// True if some condition asks whether a source is missing.
    pub(super) asks_missing: bool,
    /// True if some condition asks what holds for sure.
    pub(super) widens: bool,
    /// The items that the condition reads.
    pub(super) items: Vec<usize>,
    /// The items that titles of firings have.
    pub(super) titled: Vec<usize>,
    /// Keys that are known before they have packets.
    pub(super) pinned: BTreeSet<EventKey>,
    /// The columns of the key.
    pub(super) key: Vec<Column>,
    /// Time from one answer of the sources to the next, nanoseconds.
    pub(super) every_ns: u64,
    /// The truth of the condition for a key without packets, if that is the same for all keys.
    without_packets: Option<TruthValue>,
}

impl TriggerPlan {
    pub(super) fn new(graph: &Graph, trigger: &QueryTrigger) -> Self {
        let sources: Vec<&GraphQuery> =
            trigger.sources.iter().map(|source| &graph.queries[source.query]).collect();
        let mut offsets = Vec::new();
        let mut items = 0;
        for source in &sources {
            offsets.push(items);
            items += source.columns.len();
        }
        let any = |is_so: &dyn Fn(&TriggerCondition) -> bool| {
            std::iter::once(&trigger.condition).chain(&trigger.until).any(|condition| condition.any(is_so))
        };
        let mut watch = Self {
            offsets,
            reads: vec![false; sources.len()],
            asks_missing: any(&|condition| matches!(condition, TriggerCondition::IsMissing(_))),
            widens: any(&|condition| matches!(condition, TriggerCondition::Surely(_))),
            items: trigger.condition.items(),
            titled: trigger.title.items().collect(),
            pinned: BTreeSet::new(),
            key: graph.key_columns(trigger).cloned().collect(),
            every_ns: sources.iter().map(|source| source.every_ns).max().unwrap_or(1),
            without_packets: None,
        };
        let until = trigger.until.iter().flat_map(TriggerCondition::items);
        for item in trigger.condition.items().into_iter().chain(until) {
            let (source, _) = watch.place(item);
            watch.reads[source] = true;
        }
        let keyed = trigger.sources.iter().zip(&sources).filter_map(|(source, query)| {
            let columns = source.key.as_ref()?;
            Some((*query, columns))
        });
        for (query, columns) in keyed {
            let pinned = query.pinned.iter().map(|key| {
                let member = |column: &usize| query.key.iter().position(|own| own == column);
                columns
                    .iter()
                    .map(|column| member(column).map_or(Member::Null, |at| key[at].clone()))
                    .collect()
            });
            watch.pinned.extend(pinned);
        }
        if trigger.sources.iter().all(|source| source.key.is_none()) {
            // All is one group.
            watch.pinned = [EventKey::new()].into();
        }
        let reads_key = watch.items.iter().any(|item| {
            let (source, column) = watch.place(*item);
            sources[source].key.contains(&column)
        });
        watch.without_packets =
            (!reads_key).then(|| watch.judge_without_packets(graph, trigger, &EventKey::new()));
        watch
    }

    /// The source and the column of an item.
    pub(super) fn place(&self, item: usize) -> (usize, usize) {
        let source = self.offsets.partition_point(|first| *first <= item).saturating_sub(1);
        (source, item - self.offsets[source])
    }

    /// Returns true if all that is read was there in the last window of an edge.
    pub(super) fn sees(&self, edge: &EdgeState) -> bool {
        self.reads.iter().zip(&edge.missing).all(|(is_read, missing)| !is_read || *missing == 0)
    }

    /// Returns whether a key without packets fulfils the condition.
    pub(super) fn without_packets(
        &self,
        graph: &Graph,
        trigger: &QueryTrigger,
        key: &EventKey,
    ) -> TruthValue {
        self.without_packets.unwrap_or_else(|| self.judge_without_packets(graph, trigger, key))
    }

    fn judge_without_packets(&self, graph: &Graph, trigger: &QueryTrigger, key: &EventKey) -> TruthValue {
        let of = |source: &crate::graph::TriggerSource| {
            let query = &graph.queries[source.query];
            without_packets(query, &own_key(query, source.key.as_deref(), key))
        };
        let figures: Vec<BoundedValue> = trigger.sources.iter().flat_map(of).collect();
        trigger.condition.holds(GroupFigures::from_figures(&figures))
    }
}

/// A key as a source has it: its members in the order of the source's own key. `columns`: those of the source in the order of the key.
pub(super) fn own_key(query: &GraphQuery, columns: Option<&[usize]>, key: &[Member]) -> EventKey {
    let Some(columns) = columns else { return EventKey::new() };
    let member = |own: &usize| columns.iter().position(|column| column == own);
    query
        .key
        .iter()
        .map(|own| member(own).and_then(|at| key.get(at)).cloned().unwrap_or(Member::Null))
        .collect()
}
