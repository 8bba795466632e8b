//! Answers of several nodes become one.
//!
//! Nodes compute for such a query what can be merged ([`Merging::parts`]): its groups without `having`, `order by` and `limit`, and of
//! each the counts, sums, least and greatest values that its aggregates are made of. [`Merging::merge`] puts them together and does the
//! rest as a node does it for its own rows.

mod answer;
mod groups;
mod parts;

use super::plan::QueryPlan;
use super::program::RowProgram;
use crate::plan_context::PlanContext;
use crate::query::{Across, Query};
use groups::MergedGroups;
use model::{Answer, Span};
use parts::MergePlan;
pub(crate) use parts::{MergeRule, NodeParts};

/// The reason why queries across nodes are not answered of samples.
pub const OF_SAMPLES: &str = "'across nodes' adds up counts of nodes, and a sample has estimates";

/// A query whose answer is that of several nodes together.
#[derive(Clone, Debug)]
pub struct Merging {
    by: Across,
    /// The whole query, as one node would answer it.
    plan: QueryPlan,
    parts: MergePlan,
}

impl Merging {
    /// Prepares a query for the rows of a site.
    ///
    /// # Errors
    /// Returns why the query cannot be answered: each reason names the part of the query.
    pub fn new(query: &Query, by: Across, site: &PlanContext) -> Result<Self, Vec<String>> {
        let mut program = RowProgram::default();
        let refused = |refusals: Vec<super::Refusal>| -> Vec<String> {
            refusals.iter().map(ToString::to_string).collect()
        };
        let plan = QueryPlan::new(query, site, &mut program).map_err(refused)?;
        let parts = MergePlan::new(&plan, site, &mut program)?;
        let of_sum_alone =
            query.aggregates().into_iter().filter(|aggregate| !aggregate.planning().is_of_greatest_parts());
        let refused_by_max = of_sum_alone.filter(|_| by == Across::Max).map(|aggregate| {
            format!(
                "{} by max does not follow from that of each node; ask by sum",
                aggregate.meaning().text()
            )
        });
        let refused_by_max: Vec<String> = refused_by_max.collect();
        if !refused_by_max.is_empty() {
            return Err(refused_by_max);
        }
        QueryPlan::new(&parts.query, site, &mut program).map_err(refused)?;
        Ok(Self { by, plan, parts })
    }

    /// The whole query.
    pub fn query(&self) -> &Query {
        &self.plan.query
    }

    /// Returns the query that each node computes. It has the name of the whole query.
    pub fn parts(&self) -> &Query {
        &self.parts.query
    }

    /// Returns true if this is a node's answer to [`Merging::parts`].
    pub fn fits(&self, answer: &Answer) -> bool {
        let own = self.parts.query.columns.iter().map(|item| &item.name);
        own.eq(answer.columns.iter().map(|column| &column.name))
    }

    /// The answer for a window, of those of the nodes that had packets in it. What they lack, it lacks. It does not say the coverage.
    pub fn merge(&self, window: Span, answers: &[&Answer]) -> Answer {
        let groups = MergedGroups::new(self, window, answers);
        let mut merged = self.answer(window, &groups);
        answer::add_account(&mut merged, answers, &groups);
        // What they lack for it is in the reasons already.
        let mut missing: Vec<model::Missing> =
            answers.iter().flat_map(|answer| answer.missing.clone()).collect();
        missing.sort_by_key(|one| (one.span.start_ns, one.span.end_ns));
        missing.into_iter().for_each(|one| model::Missing::push(&mut merged.missing, one));
        // Its own estimates are each node's, and groups without a sampled packet are missing.
        if let Some(sampled) = answers.iter().find(|answer| answer.sampling.is_some()) {
            let node = sampled.node.as_deref().unwrap_or("a node");
            merged.rows.clear();
            merged.rest.open();
            merged.mark_partial(&format!("{OF_SAMPLES}: the rows of {node} are of one"));
        }
        merged
    }
}

impl PartialEq for Merging {
    fn eq(&self, other: &Self) -> bool {
        self.by == other.by && self.plan.query == other.plan.query && self.parts.query == other.parts.query
    }
}
