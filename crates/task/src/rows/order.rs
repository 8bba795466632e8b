//! The order of groups in an answer.

use super::plan::{ItemKind, Plan};
use super::query::Order;
use std::cmp::Ordering;

/// A group as far as its place in an answer depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked<'a> {
    pub(crate) state: &'a [u64],
    pub(crate) is_v6: bool,
    pub(crate) words: &'a [u64],
}

impl Plan {
    /// The order's first item.
    pub(crate) fn first_order(&self) -> Order {
        self.query.order.first().copied().unwrap_or(Order { item: 0, descending: true })
    }

    /// The value by which item number `item` of a group is ordered.
    pub(crate) fn value(&self, item: usize, state: &[u64]) -> u64 {
        let item = &self.items[item];
        match item.kind {
            // Without round trips there is no mean: the least.
            ItemKind::MeanRoundTrip => state[item.at].checked_div(state[item.at + 1]).unwrap_or(0),
            _ => state[item.at],
        }
    }

    /// Which of two groups is first: by the order's items, and by key if they are equal, so that an answer
    /// does not depend on the order of rows.
    pub(crate) fn compare(&self, a: &Ranked<'_>, b: &Ranked<'_>) -> Ordering {
        let first = [self.first_order()];
        let orders = if self.query.order.is_empty() { &first[..] } else { &self.query.order };
        let by_items = orders.iter().map(|order| {
            let ordering = self.value(order.item, a.state).cmp(&self.value(order.item, b.state));
            if order.descending { ordering.reverse() } else { ordering }
        });
        by_items.fold(Ordering::Equal, Ordering::then).then_with(|| a.is_v6.cmp(&b.is_v6)).then_with(|| {
            // A key's bytes are in the order of its members.
            let pairs = a.words.iter().zip(b.words).map(|(a, b)| a.to_be().cmp(&b.to_be()));
            pairs.fold(Ordering::Equal, Ordering::then)
        })
    }
}
