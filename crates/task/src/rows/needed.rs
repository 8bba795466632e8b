//! The members of flow keys that queries read.

use super::evaluate::is_loss;
use super::grouping::PlannedGrouping;
use super::plan::QueryPlan;
use super::program::{ProgramNode, RowKeyMember, RowProgram};
use super::values::ValueOf;
use packet::KeySpec;
use std::collections::BTreeSet;

/// Members of flow keys, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequiredMembers(BTreeSet<&'static str>);

const ENDS: [&str; 4] = ["src_addr", "dst_addr", "src_port", "dst_port"];

impl RequiredMembers {
    /// Adds every field of a key.
    pub(crate) fn add_key(&mut self, key: &KeySpec) {
        self.0.extend(key.columns());
    }

    /// Adds the fields that a plan groups by and counts.
    pub(crate) fn add_plan(&mut self, plan: &QueryPlan) {
        match &plan.grouping {
            PlannedGrouping::All => {}
            PlannedGrouping::Rows => self.add_key(&plan.key),
            PlannedGrouping::Parts(parts) => {
                self.add_key(&parts.plain);
                if parts.is_conversation {
                    self.add_conversation();
                }
                if let Some(either) = &parts.either {
                    // Rows count with their directions exchanged too.
                    self.add_key(either);
                    self.0.extend(either.columns().map(other_side));
                }
            }
        }
        for aggregate in &plan.aggregates {
            match aggregate.kind.state().collected().value_of() {
                Some(ValueOf::Key(key)) => self.add_key(&key),
                Some(ValueOf::Conversation) => self.add_conversation(),
                Some(ValueOf::Node(_)) | None => {}
            }
        }
    }

    /// Adds the fields that a program reads.
    pub(crate) fn add_program(&mut self, program: &RowProgram) {
        for node in program.nodes() {
            match node {
                ProgramNode::Member(RowKeyMember::Protocol) | ProgramNode::ProtocolName => {
                    self.add(&["protocol"])
                }
                ProgramNode::Member(RowKeyMember::SourcePort) => self.add(&["src_port"]),
                ProgramNode::Member(RowKeyMember::DestinationPort) => self.add(&["dst_port"]),
                ProgramNode::Service => self.add(&["protocol", "src_port", "dst_port"]),
                ProgramNode::Forward | ProgramNode::Conversation(_) => self.add_conversation(),
                ProgramNode::InNetworks(sides, _) => sides.iter().for_each(|side| self.add_address(*side)),
                ProgramNode::Asn(side) | ProgramNode::Country(side) => self.add_address(*side),
                ProgramNode::SameAddress => self.add(&["src_addr", "dst_addr"]),
                // Flows that are not TCP have none.
                ProgramNode::Column(column) if is_loss(*column) => self.add(&["protocol"]),
                ProgramNode::Column(_)
                | ProgramNode::Duration
                | ProgramNode::Constant(_)
                | ProgramNode::Cast(..)
                | ProgramNode::Arithmetic(..)
                | ProgramNode::Compare(..)
                | ProgramNode::IsIn(..)
                | ProgramNode::IsNull(_)
                | ProgramNode::Not(_)
                | ProgramNode::And(_)
                | ProgramNode::Or(_) => {}
            }
        }
    }

    fn add(&mut self, members: &[&'static str]) {
        self.0.extend(members);
    }

    /// The address of a side: source, destination.
    fn add_address(&mut self, side: usize) {
        self.0.extend(["src_addr", "dst_addr"].get(side));
    }

    fn add_conversation(&mut self) {
        self.add(&ENDS);
        self.add(&["protocol"]);
    }

    /// Returns the needed fields that a key has.
    pub(crate) fn names(&self, key: &KeySpec) -> Vec<&'static str> {
        key.columns().filter(|member| self.0.contains(member)).collect()
    }
}

/// The member of the other end.
fn other_side(member: &'static str) -> &'static str {
    match member {
        "src_addr" => "dst_addr",
        "dst_addr" => "src_addr",
        "src_port" => "dst_port",
        "dst_port" => "src_port",
        member => member,
    }
}
