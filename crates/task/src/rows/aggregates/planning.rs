//! The properties of an aggregate that the planner reads.

use super::Kind;
use crate::query::Expression;
use crate::row_refusal::Refusal;
use crate::rows::across::NodeParts;
use crate::rows::group_value::GroupValue;
use crate::rows::plan::PlanBuilder;
use crate::rows::program::Type;
use model::ColumnKind;

/// The facts of an aggregate for the planner.
///
/// Most defaults are the cautious answer; an aggregate that counts flows says so.
pub(crate) trait AggregatePlanning {
    /// Returns what groups keep of it. What it reads of rows becomes part of the program.
    fn plan(&self, planner: &mut PlanBuilder<'_>) -> Result<Kind, Refusal>;

    /// Returns the kind and the unit of its column. `values`: the type of the values that its [state](super::KeptState::values) is of.
    fn column(&self, values: Type) -> (ColumnKind, &'static str);

    /// Returns its value in a group. `number`: that of the state.
    fn value(&self, number: usize) -> GroupValue {
        GroupValue::Aggregate(number)
    }

    /// Returns what nodes compute so that it follows for all of them; `None` if it does not follow. `values`: as for [`Self::column`].
    fn parts(&self, _values: Type) -> Option<NodeParts> {
        None
    }

    /// Returns the field that it reads beyond its arguments.
    fn also_reads(&self) -> Option<&'static str> {
        None
    }

    /// Returns true if it may be of a field in which packets of a flow differ: no value weighs by the number of flows.
    fn takes_packets(&self) -> bool {
        false
    }

    /// Returns true if it computes one value of several fields of a row.
    fn joins_fields(&self) -> bool {
        false
    }

    /// Returns true if it follows from the greatest of the nodes' parts, where these have counted the same packets.
    fn is_of_greatest_parts(&self) -> bool {
        true
    }

    /// Returns true if it depends on which packets are one flow.
    fn counts_flows(&self) -> bool {
        false
    }

    /// Returns the value whose sum alone it depends on.
    fn summed(&self) -> Option<&Expression> {
        None
    }

    /// Returns why no structure counts it.
    fn not_sketched(&self) -> &'static str;
}
