//! Where what is known of an edge is kept.

use super::Machine;
use crate::state::Edge;
use std::collections::BTreeMap;

impl Machine {
    /// The place of an edge among all, which is made where it is new.
    pub(super) fn edge(&mut self, query: usize, node: usize, run: Option<&str>) -> usize {
        let edges = &mut self.state.edges;
        let known = edges
            .iter()
            .position(|edge| edge.query == query && edge.node == node && edge.run.as_deref() == run);
        known.unwrap_or_else(|| {
            edges.push(Edge {
                query,
                node,
                run: run.map(str::to_owned),
                last_end_ns: None,
                missing: 0,
                watched_ns: 0,
                is_settled: false,
                forgotten: 0,
                keys: BTreeMap::new(),
            });
            edges.len() - 1
        })
    }
}
