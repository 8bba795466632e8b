//! The memory of a machine, in a form that outlives its graph.

use crate::graph::{ALL_NODES, EvaluationPoint, Graph};
use crate::state::{ChainDeadline, EdgeState, MachineState};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The state of a machine, and what its numbers stand for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedMachine {
    /// The queries, by number: each with its text and those of the queries before it. Any other one is another query.
    queries: Vec<String>,
    /// The names of the nodes, by number.
    nodes: Vec<String>,
    state: MachineState,
}

impl SavedMachine {
    /// The state of a machine of this graph.
    pub(crate) fn new(graph: &Graph, state: &MachineState) -> Self {
        Self { queries: identities(graph), nodes: graph.nodes.clone(), state: state.clone() }
    }

    /// The state for a machine of another graph: of the queries and nodes that both have.
    pub(crate) fn into_state(self, graph: &Graph) -> MachineState {
        let queries = numbers(&identities(graph));
        let nodes = numbers(&graph.nodes);
        let triggered = |query: &usize| graph.queries[*query].trigger.is_some();
        let query = |number: usize| queries.get(self.queries.get(number)?).copied().filter(triggered);
        let node = |number: usize| match number {
            ALL_NODES => Some(ALL_NODES),
            number => nodes.get(self.nodes.get(number)?).copied(),
        };
        let MachineState { until_ns, runs, edges, chains, unfollowed } = self.state;
        let runs: Vec<_> = runs
            .into_iter()
            .filter_map(|mut run| {
                run.query = query(run.query)?;
                run.missing = run.missing.into_iter().filter_map(node).collect();
                run.node = run.node.map(|number| node(number).ok_or(())).transpose().ok()?;
                Some(run)
            })
            .collect();
        let is_run = |cause: &String| runs.iter().any(|run| run.cause == *cause);
        let edge = |mut edge: EdgeState| {
            edge.query = query(edge.query)?;
            let of: Option<Vec<usize>> = edge.place.of.into_iter().map(node).collect();
            edge.place = EvaluationPoint { node: node(edge.place.node)?, of: of? };
            let places = &graph.queries[edge.query].trigger.as_ref()?.places;
            (places.contains(&edge.place) && edge.runs.iter().all(is_run)).then_some(edge)
        };
        let edges = edges.into_iter().filter_map(edge).collect();
        let chain = |chain: ChainDeadline| {
            Some(ChainDeadline { query: query(chain.query)?, reached: query(chain.reached)?, ..chain })
        };
        let chains = chains.into_iter().filter_map(chain).collect();
        let unfollowed =
            unfollowed.into_iter().filter_map(|(number, chains)| Some((query(number)?, chains))).collect();
        MachineState { until_ns, runs, edges, chains, unfollowed }
    }
}

/// Returns the identities that tell the queries of a graph from others: parents come before their children.
fn identities(graph: &Graph) -> Vec<String> {
    let mut identities: Vec<String> = Vec::new();
    for query in &graph.queries {
        let sources = query.trigger.iter().flat_map(|trigger| &trigger.sources);
        let sources = sources.filter_map(|source| identities.get(source.query));
        let sources: String = sources.map(|source| format!("\n{source}")).collect();
        identities.push(format!("{}\n{}{sources}", query.name, query.text));
    }
    identities
}

fn numbers(names: &[String]) -> HashMap<String, usize> {
    names.iter().enumerate().map(|(number, name)| (name.clone(), number)).collect()
}
