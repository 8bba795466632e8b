//! The values of groups of which quantiles are asked: all of them, so that quantiles are exact.

use super::input::{self, AggregateInput};
use super::owners::Owners;
use super::program::Type;
use super::scalar::Scalar;
use crate::plan_context::PlanContext;
use arena::Lease;

/// The values of all groups, of one aggregate.
#[derive(Debug)]
pub(crate) struct SampleList {
    /// The group, and the order of a value.
    values: Vec<(u64, u64)>,
    lease: Lease,
}

/// The least room, values.
const LEAST: usize = 1024;

impl SampleList {
    pub(crate) fn new(site: &PlanContext) -> Self {
        Self { values: Vec::new(), lease: site.limits.empty_lease() }
    }

    /// Removes all values and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }

    /// Adds the values of rows (their places and numbers). Word `at` of a group's state counts those for which there is no memory.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        input: &AggregateInput,
        rows: impl Iterator<Item = (usize, usize)>,
        owners: &mut impl Owners,
        at: usize,
    ) {
        for (place, row) in rows {
            if input.is_null(row) {
                continue;
            }
            let (state, group) = owners.owner(place);
            if !self.push(group, input.ordered(row)) {
                state[at] += 1;
            }
        }
    }

    fn push(&mut self, group: u64, value: u64) -> bool {
        if self.values.len() == self.values.capacity() {
            let more = self.values.capacity().max(LEAST);
            if !self.lease.grow(more * size_of::<(u64, u64)>()) {
                return false;
            }
            self.values.reserve_exact(more);
        }
        self.values.push((group, value));
        true
    }

    /// Adds another's values, as [`ValueSet::merge`](super::values::ValueSet::merge) does.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        at: usize,
        owner: &mut impl FnMut(u64, &mut dyn FnMut(&mut [u64], u64)),
    ) {
        for &(group, value) in &other.values {
            owner(group, &mut |state, own| {
                if !self.push(own, value) {
                    state[at] += 1;
                }
            });
        }
    }

    /// Puts the values of each group together, in order.
    pub(crate) fn sort(&mut self) {
        self.values.sort_unstable();
    }

    /// The least value that a share of a group's values does not exceed, among [sorted](SampleList::sort) ones; `missing` others had
    /// no memory.
    pub(crate) fn quantile(&self, group: u64, share: f64, of: Type, missing: u64) -> Scalar {
        let from = self.values.partition_point(|(owner, _)| *owner < group);
        let to = from + self.values[from..].partition_point(|(owner, _)| *owner == group);
        let values = &self.values[from..to];
        let all = values.len() as u64 + missing;
        let rank = ((share * all as f64).ceil() as u64).clamp(1, all.max(1));
        let value = |rank: u64| {
            let (_, order) = values.get(usize::try_from(rank.checked_sub(1)?).ok()?)?;
            Some(match of {
                Type::Signed => Scalar::Integer(input::signed_of_order(*order).into()),
                Type::Float => Scalar::float(input::float_of_order(*order)),
                _ => Scalar::Integer((*order).into()),
            })
        };
        if missing == 0 {
            return value(rank).unwrap_or(Scalar::Null);
        }
        // Those that are missing may all be less, or all be greater.
        let likely = |rank: u64| value(rank).and_then(Scalar::likely);
        let lower = likely(rank.saturating_sub(missing)).unwrap_or(f64::NEG_INFINITY);
        let upper = likely(rank).unwrap_or(f64::INFINITY);
        let known = ((share * values.len() as f64).ceil() as u64).clamp(1, (values.len() as u64).max(1));
        likely(known).map_or(Scalar::Null, |value| Scalar::Between { value, lower, upper })
    }
}
