//! The graph that the event machine runs and the tasks that nodes answer, made of checked queries.

mod columns;
mod conditions;
mod derived;
mod pinned;
mod titles;
mod triggers;

use crate::checked::{CheckedQuery, SaidPart};
use crate::graph::ordered;
use crate::{earlier, executor};
use columns::KeyedQuery;
use events::{ALL_NODES, Derivation, EventSettings, Graph, QueryTrigger};
use std::collections::HashMap;
use task::query::{Over, Query};
use task::rows::Merging;

/// Queries whose answers may start others, each after those that start it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The queries as the event machine sees them.
    pub graph: Graph,
    /// The plan that nodes compute for each query: its columns, then those of its key that it does not select. For a query across nodes, it is
    /// the plan of its parts.
    pub tasks: Vec<Query>,
    /// The nodes that compute each, by number.
    pub nodes: Vec<Vec<usize>>,
    /// The merging of the answers of these nodes, for each query across nodes.
    pub mergings: Vec<Option<Merging>>,
    /// The number of columns of each query that are shown.
    pub shown: Vec<usize>,
    /// The number of packets that are stored of the pinned traffic when each query is started.
    pub captures: Vec<Option<u64>>,
    /// The derivation of each query that no node computes, from the answers of other queries.
    pub derivations: Vec<Option<Derivation>>,
    /// True for each query whose answers are only read by another query and not shown.
    pub hidden: Vec<bool>,
}

/// The site that queries are put together for.
#[derive(Clone, Debug)]
pub struct ChainSite<'a> {
    /// The names of the nodes.
    pub nodes: &'a [String],
    /// The fields of the flow key, as `--key` has them (`src_addr/24`).
    pub key: &'a [String],
    /// The length of windows of queries that do not say it, nanoseconds.
    pub window_ns: u64,
    /// The length of the windows of nodes, in which packets are counted, nanoseconds.
    pub base_ns: u64,
    /// The settings of the event machine.
    pub settings: EventSettings,
}

impl Chain {
    /// Puts checked queries together, which nothing of must be in [`CheckedQuery::not_run`]. Those that do not say the length of their windows
    /// have the usual one of the site.
    ///
    /// # Errors
    /// A line for each query that the executor refuses, or that is started by one that is not there.
    pub fn new(queries: &[CheckedQuery], site: &ChainSite<'_>) -> Result<Self, Vec<String>> {
        let labels: HashMap<&str, usize> =
            queries.iter().enumerate().map(|(at, query)| (query.label.as_str(), at)).collect();
        let parents = |query: &CheckedQuery| -> Vec<usize> {
            let parents = query.trigger.iter().flat_map(|trigger| &trigger.parents);
            parents.chain(&query.derived_from).filter_map(|name| labels.get(name.as_str()).copied()).collect()
        };
        let dependencies: Vec<_> = queries.iter().map(parents).collect();
        // Those that start it or that it reads first, otherwise as in the text.
        let mut order = ordered(&dependencies);
        let mut depth = vec![0; queries.len()];
        for at in &order {
            depth[*at] = dependencies[*at].iter().map(|parent| depth[*parent] + 1).max().unwrap_or(0);
        }
        order.sort_by_key(|at| (depth[*at], *at));
        let graph = Graph { queries: Vec::new(), nodes: site.nodes.to_vec(), settings: site.settings };
        let mut chain = Self::from_graph(graph);
        let mut refused = Vec::new();
        for at in order {
            let query = &queries[at];
            // A query titles what fires by its own answers.
            let of_parents = || {
                let trigger = query.trigger.as_ref()?;
                let when = trigger.when.as_ref()?;
                let parents = trigger.parents.iter().filter(|name| when.rests_on(name));
                let parents = parents.filter_map(|name| labels.get(name.as_str()).map(|at| &queries[*at]));
                let mut parents = parents.filter(|parent| parent.trigger.is_none());
                parents.find_map(|parent| parent.firing.title.as_deref())
            };
            let said = query.firing.title.as_deref().or_else(of_parents);
            if let Err(reason) = chain.add(query, said, site) {
                refused.push(format!("{}: {reason}", query.label));
                // Those after it keep their places.
                chain.skip(query, site);
            }
        }
        if refused.is_empty() { Ok(chain) } else { Err(refused) }
    }

    /// A chain without queries.
    pub fn from_graph(graph: Graph) -> Self {
        Self {
            graph,
            tasks: Vec::new(),
            nodes: Vec::new(),
            mergings: Vec::new(),
            shown: Vec::new(),
            captures: Vec::new(),
            derivations: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// True if any query starts another one.
    pub fn has_events(&self) -> bool {
        self.graph.queries.iter().any(|query| query.trigger.is_some())
    }

    /// The nodes whose traffic a query is about, by number: of one that reads others, theirs.
    pub fn nodes_of(&self, query: usize) -> Vec<usize> {
        let Some(derivation) = &self.derivations[query] else { return self.nodes[query].clone() };
        let sources = derivation.sources.iter().flat_map(|source| self.nodes_of(source.query));
        let nodes: std::collections::BTreeSet<usize> = sources.collect();
        nodes.into_iter().collect()
    }

    /// Adds a query. `said`: what its firing is titled, where a text says it.
    fn add(
        &mut self,
        query: &CheckedQuery,
        said: Option<&[SaidPart]>,
        site: &ChainSite<'_>,
    ) -> Result<(), String> {
        let trigger = query.trigger.as_ref().map(|_| self.trigger(query, said, site)).transpose()?;
        if !query.derived_from.is_empty() {
            return self.add_derived(query, trigger, query.derived_from.iter().map(String::as_str), site);
        }
        if query.earlier.is_empty() {
            return self.add_measured(query, &query.plan, trigger, site);
        }
        if !query.bindings.is_empty() {
            return Err("earlier windows of what a firing pins are not known before it fires".to_owned());
        }
        let base = earlier::base(&query.plan, &query.earlier);
        self.add_measured(query, &base, None, site)?;
        if let Some(hidden) = self.hidden.last_mut() {
            *hidden = true;
        }
        self.add_derived(query, trigger, std::iter::once(base.name.as_str()), site)
    }

    /// Adds what nodes compute.
    fn add_measured(
        &mut self,
        query: &CheckedQuery,
        plan: &Query,
        trigger: Option<QueryTrigger>,
        site: &ChainSite<'_>,
    ) -> Result<(), String> {
        let (every_ns, over_ns) = lengths(plan, site);
        if plan.counting.is_some() && every_ns != site.base_ns {
            let [base, every] = [site.base_ns, every_ns].map(notation::time_text);
            return Err(format!(
                "packets are counted in each window of the nodes, {base}, not every {every}"
            ));
        }
        let plan = Query { over: Over::Windows { every_ns, over_ns }, ..plan.clone() };
        let KeyedQuery { task, shown, columns, key, groups } = columns::planned(&plan, site.key)?;
        let nodes = site.nodes.iter().enumerate().filter(|(_, name)| query.nodes.matches(name));
        let nodes: Vec<usize> = nodes.map(|(at, _)| at).collect();
        let pinned = pinned::keys(&task, &key, site.key);
        // Keys that are pinned are answered beyond the limit.
        let limit = task.limit.map(|limit| limit.max(pinned.len()));
        let task = Query { limit, ..task };
        let merging = query.across.map(|by| executor::merging(&task, by, Some(site.key))).transpose();
        let merging = merging.map_err(|reasons| reasons.join("; "))?;
        let captured = trigger.as_ref().and(query.firing.capture_packets);
        self.graph.queries.push(events::GraphQuery {
            name: plan.name.clone(),
            text: query.firing.text_without_title.clone(),
            largest_first: columns::largest_first(&task),
            left_out: columns::left_out(&task),
            columns,
            key,
            every_ns,
            over_ns,
            nodes: if merging.is_some() { vec![ALL_NODES] } else { nodes.clone() },
            bound_key: trigger.as_ref().and_then(|trigger| pinned::by_firing(&groups, trigger)),
            pinned,
            trigger,
        });
        self.captures.push(captured);
        self.tasks.push(merging.as_ref().map_or(task, |merging| merging.parts().clone()));
        self.nodes.push(nodes);
        self.mergings.push(merging);
        self.shown.push(shown);
        self.derivations.push(None);
        self.hidden.push(false);
        Ok(())
    }

    /// Adds what is computed of the answers of others.
    fn add_derived<'a>(
        &mut self,
        query: &CheckedQuery,
        trigger: Option<QueryTrigger>,
        sources: impl Iterator<Item = &'a str>,
        site: &ChainSite<'_>,
    ) -> Result<(), String> {
        let is_own = query.derived_from.is_empty();
        let read = |name: &'a str| {
            let number = self.number(name)?;
            let (query, task) = (&self.graph.queries[number], self.task(number));
            Ok(derived::ReadQuery { number, query, task, name: (!is_own).then_some(name) })
        };
        let reads: Vec<derived::ReadQuery<'_>> = sources.map(read).collect::<Result<_, String>>()?;
        let (every_ns, over_ns) = lengths(&query.plan, site);
        let planned = derived::planned(&query.plan, &query.earlier, &reads, (every_ns, over_ns))?;
        let derived::DerivedQuery { task, columns, key, largest_first, left_out, nodes, pinned, derivation } =
            planned;
        self.graph.queries.push(events::GraphQuery {
            name: query.label.clone(),
            text: query.firing.text_without_title.clone(),
            columns,
            key,
            every_ns,
            over_ns,
            nodes,
            pinned,
            bound_key: None,
            largest_first,
            left_out,
            trigger,
        });
        self.captures.push(None);
        self.tasks.push(task);
        self.nodes.push(Vec::new());
        self.mergings.push(None);
        self.shown.push(query.plan.columns.len());
        self.derivations.push(Some(derivation));
        self.hidden.push(false);
        Ok(())
    }

    /// The number of the query of this name, which comes before those that refer to it.
    fn number(&self, name: &str) -> Result<usize, String> {
        let place = self.graph.queries.iter().position(|query| query.name == name);
        place.ok_or_else(|| format!("there is no query {name}"))
    }

    /// Returns the plan of a query over all its nodes.
    fn task(&self, number: usize) -> &Query {
        self.mergings[number].as_ref().map_or(&self.tasks[number], Merging::query)
    }

    /// Takes the place of a query that is refused.
    fn skip(&mut self, query: &CheckedQuery, site: &ChainSite<'_>) {
        let (every_ns, over_ns) = lengths(&query.plan, site);
        self.graph.queries.push(events::GraphQuery {
            text: query.firing.text_without_title.clone(),
            over_ns,
            ..events::GraphQuery::new(query.label.clone(), every_ns)
        });
        self.tasks.push(query.plan.clone());
        self.nodes.push(Vec::new());
        self.mergings.push(None);
        self.shown.push(query.plan.columns.len());
        self.captures.push(None);
        self.derivations.push(None);
        self.hidden.push(false);
    }
}

/// Time from answer to answer, and the time that one covers.
fn lengths(plan: &Query, site: &ChainSite<'_>) -> (u64, u64) {
    match plan.over {
        Over::Windows { every_ns, over_ns } => (every_ns, over_ns),
        Over::Window | Over::Run if plan.counting.is_some() => (site.base_ns, site.base_ns),
        Over::Window | Over::Run => (site.window_ns, site.window_ns),
    }
}
