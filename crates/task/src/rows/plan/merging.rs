//! The decision whether an answer depends on how packets are spread over the rows of one key.

use super::super::aggregates::PlannedAggregate;
use super::super::grouping::PlannedGrouping;
use super::super::program::{NodeId, ProgramNode, RowProgram};
use super::super::values::ValueOf;
use flow::{Aggregation, Field};

/// True unless several rows of one key give the same answer as one row that has what all of them have: filters and groups that read keys
/// alone, totals, distinct parts of keys, the first and the last time.
pub(super) fn is_needed(
    filter: Option<NodeId>,
    grouping: &PlannedGrouping,
    aggregates: &[PlannedAggregate],
    program: &RowProgram,
) -> bool {
    let reads_keys = |node: NodeId| reads_keys(node, program);
    let groups_by_keys = match grouping {
        PlannedGrouping::All => true,
        PlannedGrouping::Rows => false,
        PlannedGrouping::Parts(parts) => parts.extras.iter().all(|node| reads_keys(*node)),
    };
    let is_of_any_rows = |aggregate: &PlannedAggregate| aggregate.kind.state().is_of_any_rows(program);
    !(groups_by_keys && filter.is_none_or(reads_keys) && aggregates.iter().all(is_of_any_rows))
}

/// The parts of a filter, all of which rows must pass, that keys alone decide: merging does not change them.
pub(super) fn key_filters(filter: Option<NodeId>, program: &RowProgram) -> Vec<NodeId> {
    let parts = match filter.map(|filter| (filter, program.node(filter))) {
        None => Vec::new(),
        Some((_, ProgramNode::And(parts))) => parts.clone(),
        Some((filter, _)) => vec![filter],
    };
    parts.into_iter().filter(|part| reads_keys(*part, program)).collect()
}

/// Returns true if values that are told apart follow from the keys of rows.
pub(crate) fn reads_only_keys(of: &ValueOf, program: &RowProgram) -> bool {
    match of {
        ValueOf::Key(_) | ValueOf::Conversation => true,
        ValueOf::Node(node) => reads_keys(*node, program),
    }
}

/// Returns true if a node is a column that is merged by this rule.
pub(crate) fn has_rule(node: NodeId, rule: Aggregation, program: &RowProgram) -> bool {
    matches!(program.node(node), ProgramNode::Column(column) if Field::aggregation_of(*column) == rule)
}

/// Returns true if a node is a column that is merged by its sum.
pub(crate) fn is_total(node: NodeId, program: &RowProgram) -> bool {
    has_rule(node, Aggregation::Sum, program)
}

/// Returns true if the values of a node follow from the keys of rows.
fn reads_keys(node: NodeId, program: &RowProgram) -> bool {
    let reads = |node: &NodeId| reads_keys(*node, program);
    match program.node(node) {
        ProgramNode::Column(_) | ProgramNode::Duration => false,
        ProgramNode::Member(_)
        | ProgramNode::Forward
        | ProgramNode::ProtocolName
        | ProgramNode::Service
        | ProgramNode::Asn(_)
        | ProgramNode::Country(_)
        | ProgramNode::Constant(_)
        | ProgramNode::InNetworks(..)
        | ProgramNode::SameAddress
        | ProgramNode::Conversation(_) => true,
        ProgramNode::Cast(of, _)
        | ProgramNode::IsIn(of, _)
        | ProgramNode::IsNull(of)
        | ProgramNode::Not(of) => reads(of),
        ProgramNode::Arithmetic(left, _, right) | ProgramNode::Compare(left, _, right) => {
            reads(left) && reads(right)
        }
        ProgramNode::And(parts) | ProgramNode::Or(parts) => parts.iter().all(reads),
    }
}
