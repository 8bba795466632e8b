//! Window rows in the forms in which exact structures take them.

use super::{FamilyItems, FeedItems, Feeder, InputKind, value_of_v4, value_of_v6};
use crate::spec::Weight;
use flow::{Rows, WindowRow};
use packet::{Key, KeySpec, KeyV4, KeyV6, MaskedKey, Seed};
use sketch::{Contact, Update};

impl Feeder {
    /// Takes rows of IPv4.
    pub(crate) fn feed_rows_v4(&mut self, rows: &Rows<KeyV4>) {
        let Self { seed, feeds, .. } = self;
        for (feed, FeedItems { v4, v6 }) in feeds {
            v4.clear();
            v6.clear();
            match feed {
                InputKind::Flows { key, weight } => {
                    flows(counted(rows), v4, seed, *weight, |row| row.masked(key));
                }
                InputKind::Selected { key, weight, only } => {
                    let rows = counted(rows).filter(|row| only.takes_v4(&row.key));
                    flows(rows, v4, seed, *weight, |row| row.masked(key));
                }
                InputKind::Contacts { key, pair } => {
                    contacts(rows, v4, seed, |row| (row.masked(key), row.masked(pair)));
                }
                InputKind::Values(quantity) => values(rows, v4, |row| value_of_v4(row, *quantity)),
            }
        }
    }

    /// Takes rows of IPv6.
    pub(crate) fn feed_rows_v6(&mut self, rows: &Rows<KeyV6>) {
        let Self { seed, feeds, .. } = self;
        for (feed, FeedItems { v4, v6 }) in feeds {
            v4.clear();
            v6.clear();
            match feed {
                InputKind::Flows { key, weight } => {
                    flows_of_v6(counted(rows), (v4, v6), seed, (key, *weight));
                }
                InputKind::Selected { key, weight, only } => {
                    let rows = counted(rows).filter(|row| only.takes_v6(&row.key));
                    flows_of_v6(rows, (v4, v6), seed, (key, *weight));
                }
                InputKind::Contacts { key, pair } if key.has_addresses() => {
                    contacts(rows, v6, seed, |row| (row.masked(key), row.masked(pair)));
                }
                InputKind::Contacts { key, pair } => {
                    contacts(rows, v4, seed, |row| (row.without_addresses().masked(key), row.masked(pair)));
                }
                InputKind::Values(quantity) if quantity.is_address() => {
                    values(rows, v6, |row| value_of_v6(row, *quantity));
                }
                InputKind::Values(quantity) => values(rows, v4, |row| value_of_v6(row, *quantity)),
            }
        }
    }
}

/// Rows with packets: where losses are tracked there are others too.
fn counted<P>(rows: &Rows<P>) -> impl Iterator<Item = &WindowRow<P>> {
    rows.rows.iter().filter(|row| row.packets > 0)
}

/// Takes the flows of rows of IPv6.
fn flows_of_v6<'a>(
    rows: impl Iterator<Item = &'a WindowRow<KeyV6>>,
    (v4, v6): (&mut FamilyItems<KeyV4>, &mut FamilyItems<KeyV6>),
    seed: &Seed,
    (key, weight): (&KeySpec, Weight),
) {
    if key.has_addresses() {
        flows(rows, v6, seed, weight, |row| row.masked(key));
    } else {
        flows(rows, v4, seed, weight, |row| row.without_addresses().masked(key));
    }
}

fn flows<'a, P: 'a, K: Key>(
    rows: impl Iterator<Item = &'a WindowRow<P>>,
    items: &mut FamilyItems<K>,
    seed: &Seed,
    weight: Weight,
    masked: impl Fn(&P) -> K,
) {
    items.flows.extend(rows.map(|row| {
        let weight = match weight {
            Weight::Packets => row.packets,
            Weight::Bytes => row.bytes,
        };
        items.total = items.total.saturating_add(weight);
        Update::new(masked(&row.key), weight, seed)
    }));
}

fn contacts<P, K: Key, Q: Key>(
    rows: &Rows<P>,
    items: &mut FamilyItems<K>,
    seed: &Seed,
    masked: impl Fn(&P) -> (K, Q),
) {
    items.contacts.extend(counted(rows).map(|row| {
        items.total = items.total.saturating_add(row.packets);
        let (key, pair) = masked(&row.key);
        Contact { key, pair: pair.hash(seed) }
    }));
}

fn values<P, K>(rows: &Rows<P>, items: &mut FamilyItems<K>, value: impl Fn(&P) -> u64) {
    items.weighed_values.extend(counted(rows).map(|row| {
        items.total = items.total.saturating_add(row.packets);
        (value(&row.key), row.packets)
    }));
}
