//! Groups over a whole run, one part of them after the other.
//!
//! A table of a million groups is in no cache: each row waits for three lines of memory. Rows that are sorted into partitions by the
//! hash of their group come in the order in which memory is read, and the groups of one partition fit the L2 cache. Of each partition
//! only the first groups of the answer are kept, and the sums of all.
//!
//! Partitioning before aggregation is how parallel databases build large hash tables (Boncz, Manegold and Kersten, "Database
//! architecture optimized for the new bottleneck: memory access", VLDB 1999, section 3.3).

use super::aggregates::{Collected, PlannedAggregate};
use super::evaluate::Evaluation;
use super::grouping::{GroupKeyParts, PlannedGrouping};
use super::keyed::lesser;
use super::plan::QueryPlan;
use super::program::{NodeId, ProgramNode, RowProgram};
use super::state::{Kinds, QueryWindowState};
use super::top_rows::TopRows;
use crate::plan_context::PlanContext;
use arena::{Lease, Limits};
use flow::{RowBatch, RowValue};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey, Seed};

/// Rows of a partition, about: their groups, with sets of distinct values, take some hundred KiB.
const PARTITION: usize = if cfg!(test) { 4 } else { 4096 };
/// Partitions, at the most: as many places are written in turn.
const MOST_PARTITIONS: usize = 512;
/// Rows that go to a table together.
const ROWS: usize = 1024;
/// The partition that stands for no second group.
const NONE: u16 = u16::MAX;

/// Rows of a run that wait for its end.
#[derive(Debug)]
pub(crate) struct HeldRows {
    columns: Vec<RowValue>,
    v4: FamilyRows<KeyV4>,
    v6: FamilyRows<KeyV6>,
    limits: Limits,
    lease: Lease,
}

/// The rows of one address family.
#[derive(Debug)]
struct FamilyRows<K> {
    keys: Vec<K>,
    /// The values of the columns, row by row.
    values: Vec<u64>,
}

impl<K> Default for FamilyRows<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), values: Vec::new() }
    }
}

impl<K: MaskedKey> FamilyRows<K> {
    fn push(&mut self, batch: &RowBatch<K>, columns: &[RowValue], lease: &mut Lease) -> bool {
        let needed = self.keys.len() + batch.len();
        if needed > self.keys.capacity() {
            let capacity = needed.max(2 * self.keys.capacity()).max(ROWS);
            let more = capacity - self.keys.capacity();
            if !lease.grow(more * (size_of::<K>() + columns.len() * size_of::<u64>())) {
                return false;
            }
            self.keys.reserve_exact(capacity - self.keys.len());
            self.values.reserve_exact(capacity * columns.len() - self.values.len());
        }
        self.keys.extend_from_slice(&batch.keys);
        for row in 0..batch.len() {
            self.values.extend(columns.iter().map(|column| batch.column(*column)[row]));
        }
        true
    }

    fn each(&self, columns: &[RowValue], mut give: impl FnMut(&RowBatch<K>)) {
        let mut batch = RowBatch::default();
        let values = self.values.chunks(ROWS * columns.len().max(1));
        for (keys, values) in self.keys.chunks(ROWS).zip(values) {
            batch.refill(keys.iter().copied(), columns, values);
            give(&batch);
        }
    }
}

impl HeldRows {
    /// Creates a store without rows as yet. The rows have these columns.
    pub(crate) fn new(columns: Vec<RowValue>, site: &PlanContext) -> Self {
        let limits = site.limits.clone();
        Self {
            columns,
            v4: FamilyRows::default(),
            v6: FamilyRows::default(),
            lease: limits.empty_lease(),
            limits,
        }
    }

    /// Adds rows of IPv4. False if there is no memory for them.
    pub(crate) fn push_v4(&mut self, batch: &RowBatch<KeyV4>) -> bool {
        self.v4.push(batch, &self.columns, &mut self.lease)
    }

    /// Adds rows of IPv6.
    pub(crate) fn push_v6(&mut self, batch: &RowBatch<KeyV6>) -> bool {
        self.v6.push(batch, &self.columns, &mut self.lease)
    }

    /// Emits all rows of IPv4.
    pub(crate) fn each_v4(&self, give: impl FnMut(&RowBatch<KeyV4>)) {
        self.v4.each(&self.columns, give);
    }

    /// Emits all rows of IPv6.
    pub(crate) fn each_v6(&self, give: impl FnMut(&RowBatch<KeyV6>)) {
        self.v6.each(&self.columns, give);
    }

    /// The state of a query that [can be partitioned](can_be_partitioned), after all rows; `None` if there is no memory for the partitions.
    pub(crate) fn state_of(
        &self,
        plan: &QueryPlan,
        program: &RowProgram,
        site: &PlanContext,
    ) -> Option<QueryWindowState> {
        let sides = sides(plan, program)?;
        let mut state = QueryWindowState::new(&sides.plan, site);
        let mut top = TopRows::new(plan);
        self.add_family(&self.v4, (&sides, program), site, &mut state, &mut top)?;
        self.add_family(&self.v6, (&sides, program), site, &mut state, &mut top)?;
        state.groups = Kinds::Ranked(top);
        Some(state)
    }

    fn add_family<K: MaskedKey>(
        &self,
        rows: &FamilyRows<K>,
        (sides, program): (&SourceSideQuery, &RowProgram),
        site: &PlanContext,
        state: &mut QueryWindowState,
        top: &mut TopRows,
    ) -> Option<()> {
        if rows.keys.is_empty() {
            return Some(());
        }
        let width = self.columns.len();
        let per_row = if sides.are_two { 2 } else { 1 };
        let row_bytes = size_of::<K>() + width * size_of::<u64>() + size_of::<u16>();
        // It goes back at the end of this function.
        let _lease = self.limits.lease(rows.keys.len() * per_row * row_bytes)?;
        let (owners, ends) = owners(rows, sides, site.seed);
        let entries = *ends.last().unwrap_or(&0);
        let mut keys = vec![K::default(); entries];
        let mut values = vec![0u64; entries * width];
        let mut next: Vec<usize> =
            ends.iter().scan(0, |from, &end| Some(std::mem::replace(from, end))).collect();
        for (row, key) in rows.keys.iter().enumerate() {
            for (key, &owner) in [*key, key.reversed()].iter().zip(&owners[row * per_row..][..per_row]) {
                if owner != NONE {
                    let at = next[usize::from(owner)];
                    next[usize::from(owner)] += 1;
                    keys[at] = *key;
                    values[at * width..][..width].copy_from_slice(&rows.values[row * width..][..width]);
                }
            }
        }
        let mut batch = RowBatch::default();
        let mut from = 0;
        for &end in &ends {
            while from < end {
                let to = end.min(from + ROWS);
                batch.refill(
                    keys[from..to].iter().copied(),
                    &self.columns,
                    &values[from * width..to * width],
                );
                state.add(&sides.plan, &mut Evaluation::new(program, &batch));
                from = to;
            }
            state.drain_groups(|words, is_v6, group| top.add_group(&sides.plan, words, is_v6, group));
        }
        Some(())
    }
}

/// The partition of each row's group, or groups, and where each partition ends.
fn owners<K: MaskedKey>(rows: &FamilyRows<K>, sides: &SourceSideQuery, seed: Seed) -> (Vec<u16>, Vec<usize>) {
    let partitions = (rows.keys.len() / PARTITION).next_power_of_two().clamp(1, MOST_PARTITIONS);
    let owner = |key: K| {
        let group = if sides.is_conversation { lesser(key) } else { key }.masked(&sides.members);
        // A table's index takes the lower half.
        ((group.hash(&seed) >> 32) as usize & (partitions - 1)) as u16
    };
    let mut owners = Vec::with_capacity(rows.keys.len() * if sides.are_two { 2 } else { 1 });
    let mut ends = vec![0; partitions];
    for key in &rows.keys {
        let first = owner(*key);
        owners.push(first);
        ends[usize::from(first)] += 1;
        if sides.are_two {
            let reversed = key.reversed();
            // Both ends in one group are one row of it.
            let is_same = reversed.masked(&sides.members) == key.masked(&sides.members);
            let second = if is_same { NONE } else { owner(reversed) };
            owners.push(second);
            if second != NONE {
                ends[usize::from(second)] += 1;
            }
        }
    }
    ends.iter_mut().fold(0, |sum, end| {
        *end += sum;
        *end
    });
    (owners, ends)
}

/// A query whose groups are those of the source's side, with each row in either direction where groups are of both.
struct SourceSideQuery {
    plan: QueryPlan,
    /// The members of the flow key by which rows are grouped.
    members: KeySpec,
    is_conversation: bool,
    are_two: bool,
}

/// True for a query that can be answered by partitions: groups by addresses, of all rows, and values that do not depend on the direction
/// of a row where it counts for both ends.
pub(crate) fn can_be_partitioned(plan: &QueryPlan, program: &RowProgram) -> bool {
    let PlannedGrouping::Parts(parts) = &plan.grouping else { return false };
    let is_directed = |member: &str| matches!(member, "src_addr" | "dst_addr" | "src_port" | "dst_port");
    let is_of_either = |node: NodeId| matches!(program.node(node), ProgramNode::Column(_));
    let depends_on_direction = || {
        parts.plain.columns().any(is_directed)
            || plan.aggregates.iter().any(|aggregate| {
                matches!(aggregate.kind.state().collected(), Collected::Distinct(..))
                    || !aggregate.kind.state().inputs().into_iter().flatten().all(is_of_either)
            })
    };
    let is_kept_by_group =
        |aggregate: &PlannedAggregate| aggregate.pass == 0 && aggregate.kind.state().is_kept_by_group();
    plan.filter.is_none()
        && plan.having.is_none()
        && !plan.order.iter().any(|order| order.by.is_rate())
        && plan.aggregates.iter().all(is_kept_by_group)
        && parts.extras.is_empty()
        && parts.spec().has_addresses()
        && !(parts.either.is_some() && depends_on_direction())
}

fn sides(plan: &QueryPlan, program: &RowProgram) -> Option<SourceSideQuery> {
    let PlannedGrouping::Parts(parts) = &plan.grouping else { return None };
    let members = parts.spec();
    let sided = GroupKeyParts { plain: members, either: None, ..parts.clone() };
    can_be_partitioned(plan, program).then(|| SourceSideQuery {
        plan: QueryPlan { grouping: PlannedGrouping::Parts(sided), ..plan.clone() },
        members,
        is_conversation: parts.is_conversation,
        are_two: parts.either.is_some(),
    })
}
