//! Formulas by which a value follows from those of other queries.

use crate::figure::ColumnRole;
use crate::graph::GraphQuery;
use model::ColumnKind;
use notation::Operator;
use std::collections::BTreeSet;

/// A value of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// The member of the key of this number.
    Key(usize),
    /// A column of a source, both by number.
    Item {
        /// The number of the source.
        source: usize,
        /// The number of the source's column.
        column: usize,
    },
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Arithmetic.
    Arithmetic(Box<Formula>, Operator, Box<Formula>),
    /// The value of a formula in the window that ended this long before, nanoseconds.
    Before(Box<Formula>, u64),
    /// The mean over this many windows, the last of which ended `first_ns` before. It has no other mean in it.
    Mean {
        /// The formula of whose values it is the mean.
        of: Box<Formula>,
        /// The time from the end of the last of these windows to that of this one, nanoseconds.
        first_ns: u64,
        /// The number of windows.
        number: u64,
    },
}

/// Windows of a source that a formula reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReadWindows {
    pub(crate) source: usize,
    pub(crate) column: usize,
    /// The time from the end of the last of them to that of the window that is computed, nanoseconds. 0 is that window itself.
    pub(crate) first_ns: u64,
    pub(crate) number: u64,
}

impl Formula {
    /// The kind and the unit of its values. `sources`: the queries that it reads, `key`: the kinds of the key's members.
    pub fn kind(&self, sources: &[&GraphQuery], key: &[(ColumnKind, String)]) -> (ColumnKind, String) {
        match self {
            Self::Key(member) => key[*member].clone(),
            Self::Item { source, column } => {
                let column = &sources[*source].columns[*column].column;
                (column.kind, column.unit.clone())
            }
            Self::Integer(_) => (ColumnKind::Signed, String::new()),
            Self::Number(_) => (ColumnKind::Float, String::new()),
            Self::Before(of, _) => of.kind(sources, key),
            Self::Mean { of, .. } => (ColumnKind::Float, of.kind(sources, key).1),
            Self::Arithmetic(left, operator, right) => {
                let ((left, of_left), (right, of_right)) =
                    (left.kind(sources, key), right.kind(sources, key));
                let is_float = *operator == Operator::Divide || [left, right].contains(&ColumnKind::Float);
                let is_time = [left, right] == [ColumnKind::Time; 2];
                let unit = match operator {
                    // From one moment to another.
                    Operator::Subtract if is_time => "ns".to_owned(),
                    Operator::Add | Operator::Subtract if of_left == of_right => of_left,
                    Operator::Multiply | Operator::Divide if of_right.is_empty() => of_left,
                    Operator::Multiply if of_left.is_empty() => of_right,
                    _ => String::new(),
                };
                (if is_float { ColumnKind::Float } else { ColumnKind::Signed }, unit)
            }
        }
    }

    /// Returns the role of its values: of a group that none of the sources has, sums and differences of totals are 0.
    pub fn role(&self, sources: &[&GraphQuery]) -> ColumnRole {
        let is = |of: &Self, allowed: &[ColumnRole]| match of {
            Self::Integer(number) => *number >= 0 || allowed.contains(&ColumnRole::Net),
            Self::Number(number) => *number >= 0.0 || allowed.contains(&ColumnRole::Net),
            of => allowed.contains(&of.role(sources)),
        };
        match self {
            Self::Key(_) => ColumnRole::Key,
            Self::Item { source, column } => match sources[*source].columns[*column].role {
                role @ (ColumnRole::Total | ColumnRole::Net | ColumnRole::Rate) => role,
                _ => ColumnRole::Bounded,
            },
            Self::Arithmetic(left, operator, right) => {
                let is_constant = |of: &Self| matches!(of, Self::Integer(_) | Self::Number(_));
                let all = |allowed: &[ColumnRole]| is(left, allowed) && is(right, allowed);
                // Without traffic a constant that is added is no 0.
                match operator {
                    Operator::Divide => ColumnRole::Bounded,
                    Operator::Add | Operator::Subtract if is_constant(left) || is_constant(right) => {
                        ColumnRole::Bounded
                    }
                    Operator::Multiply if is_constant(left) && is_constant(right) => ColumnRole::Bounded,
                    Operator::Add | Operator::Multiply if all(&[ColumnRole::Total, ColumnRole::Rate]) => {
                        ColumnRole::Total
                    }
                    _ if all(&[ColumnRole::Total, ColumnRole::Rate, ColumnRole::Net]) => ColumnRole::Net,
                    _ => ColumnRole::Bounded,
                }
            }
            // Whether earlier windows are known, the window itself does not tell.
            Self::Integer(_) | Self::Number(_) | Self::Before(..) | Self::Mean { .. } => ColumnRole::Bounded,
        }
    }

    /// Returns true if it computes with what different nodes counted. `nodes`: by source, the node whose answers are read.
    pub(crate) fn mixes(&self, nodes: &[Option<usize>]) -> bool {
        let mut reads = Vec::new();
        match self {
            Self::Arithmetic(..) => self.add_reads(&mut reads),
            Self::Before(of, _) | Self::Mean { of, .. } => return of.mixes(nodes),
            Self::Key(_) | Self::Item { .. } | Self::Integer(_) | Self::Number(_) => {}
        }
        let mut read = reads.iter().filter_map(|read| nodes.get(read.source));
        read.next().is_some_and(|first| read.any(|other| other != first))
    }

    /// Returns the nodes on whose clocks its value depends: those of the moments that it is computed of. The time from one moment to another of
    /// the same node depends on none. `nodes`: by source, the node whose answers are read.
    pub(crate) fn clocks(&self, sources: &[&GraphQuery], nodes: &[Option<usize>]) -> BTreeSet<Option<usize>> {
        match self {
            Self::Item { source, .. } => {
                let is_moment = self.kind(sources, &[]).0 == ColumnKind::Time;
                is_moment.then_some(nodes[*source]).into_iter().collect()
            }
            Self::Arithmetic(left, operator, right) => {
                let [left, right] = [left, right].map(|of| of.clocks(sources, nodes));
                let is_of_one = left.len() == 1 && left == right;
                match operator {
                    Operator::Subtract if is_of_one => BTreeSet::new(),
                    _ => left.union(&right).copied().collect(),
                }
            }
            Self::Before(of, _) | Self::Mean { of, .. } => of.clocks(sources, nodes),
            Self::Key(_) | Self::Integer(_) | Self::Number(_) => BTreeSet::new(),
        }
    }

    /// Adds what it reads. `every_ns`: from window to window.
    pub(crate) fn add_reads(&self, reads: &mut Vec<ReadWindows>) {
        self.add_reads_at(0, 1, reads);
    }

    fn add_reads_at(&self, before_ns: u64, windows: u64, reads: &mut Vec<ReadWindows>) {
        match self {
            Self::Item { source, column } => {
                let own =
                    ReadWindows { source: *source, column: *column, first_ns: before_ns, number: windows };
                if !reads.contains(&own) {
                    reads.push(own);
                }
            }
            Self::Arithmetic(left, _, right) => {
                left.add_reads_at(before_ns, windows, reads);
                right.add_reads_at(before_ns, windows, reads);
            }
            Self::Before(of, ns) => of.add_reads_at(before_ns.saturating_add(*ns), windows, reads),
            Self::Mean { of, first_ns, number } => {
                of.add_reads_at(before_ns.saturating_add(*first_ns), *number, reads);
            }
            Self::Key(_) | Self::Integer(_) | Self::Number(_) => {}
        }
    }
}
