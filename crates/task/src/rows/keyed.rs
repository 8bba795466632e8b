//! Groups by parts of the flow key and by values, each address family in a separate table where keys have
//! addresses.

use super::grouping::{GroupKeyParts, MOST_EXTRAS};
use super::input::AggregateInput;
use crate::plan_context::PlanContext;
use flow::{FlowKey, NULL, RowBatch};
use flowtable::{GroupTable, NO_GROUP};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey};

/// Words of a group's key that has values in addition to the flow key.
const WIDE: usize = 5 + MOST_EXTRAS;

/// The groups of a query.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The groups of IPv4, and those of both families where groups have no addresses.
    v4: KeyedTable,
    v6: KeyedTable,
}

/// A table by the words that its keys take.
#[derive(Debug)]
enum KeyedTable {
    Two(GroupTable<2>),
    Five(GroupTable<5>),
    Wide(Box<GroupTable<WIDE>>),
}

macro_rules! each_table {
    ($table:expr, $groups:ident => $work:expr) => {
        match $table {
            KeyedTable::Two($groups) => $work,
            KeyedTable::Five($groups) => $work,
            KeyedTable::Wide($groups) => $work,
        }
    };
}

/// Puts a key's words at the front.
#[inline(always)]
pub(crate) fn base<K: MaskedKey>(key: &K, words: &mut [u64]) {
    for (word, own) in words.iter_mut().zip(key.words()) {
        *word = *own;
    }
}

/// The bit that is set in the number of a group of IPv6.
pub(crate) const OF_V6: u64 = 1 << 32;

impl Groups {
    pub(crate) fn new(parts: &GroupKeyParts, initial: &[u64], site: &PlanContext) -> Self {
        let PlanContext { seed, limits, .. } = site;
        let is_wide = !parts.extras.is_empty();
        let wide = || KeyedTable::Wide(Box::new(GroupTable::new(initial, *seed, limits)));
        Self {
            v4: if is_wide { wide() } else { KeyedTable::Two(GroupTable::new(initial, *seed, limits)) },
            v6: if is_wide { wide() } else { KeyedTable::Five(GroupTable::new(initial, *seed, limits)) },
        }
    }

    pub(crate) fn len(&self) -> usize {
        each_table!(&self.v4, table => table.len()) + each_table!(&self.v6, table => table.len())
    }

    /// Finds the groups of selected rows, one per row or, if groups are of either direction, two, and passes
    /// them to `taker`: the states, rows, and the group of each row, [`NO_GROUP`] if there is no memory for
    /// it.
    pub(crate) fn add<K: MaskedKey>(
        &mut self,
        parts: &GroupKeyParts,
        batch: &RowBatch<K>,
        extras: &[AggregateInput],
        selected: &[u32],
        found: &mut Vec<u32>,
        taker: &mut impl TakeGroups,
    ) {
        let has_addresses = parts.spec().has_addresses();
        let (table, flag) = match K::WORDS == KeyV6::WORDS && has_addresses {
            true => (&mut self.v6, OF_V6),
            false => (&mut self.v4, 0),
        };
        each_table!(table, table => {
            match has_addresses {
                true => add_to(table, parts, batch, |key: &K| *key, extras, selected, found, flag, taker),
                false => add_to(table, parts, batch, K::without_addresses, extras, selected, found, flag, taker),
            }
        });
    }

    /// Calls `merge` with the state of the group of each of the other's groups, none if there is no memory
    /// for it, and with the other's state. Returns the numbers that the other's groups have here.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        merge: &mut impl FnMut(Option<&mut [u64]>, &[u64]),
    ) -> Renumbered {
        let mut of = |ours: &mut KeyedTable, theirs: &KeyedTable| match (ours, theirs) {
            (KeyedTable::Two(ours), KeyedTable::Two(theirs)) => merge_tables(ours, theirs, merge),
            (KeyedTable::Five(ours), KeyedTable::Five(theirs)) => merge_tables(ours, theirs, merge),
            (KeyedTable::Wide(ours), KeyedTable::Wide(theirs)) => merge_tables(ours, theirs, merge),
            _ => Vec::new(),
        };
        Renumbered { v4: of(&mut self.v4, &other.v4), v6: of(&mut self.v6, &other.v6) }
    }

    /// Calls `each` with the number, the key's words and the state of every group.
    pub(crate) fn each(&self, mut each: impl FnMut(u64, &[u64], &[u64])) {
        for (table, flag) in [(&self.v4, 0), (&self.v6, OF_V6)] {
            each_table!(table, table => {
                for group in 0..table.len() as u32 {
                    each(u64::from(group) | flag, table.key(group), table.state(group));
                }
            });
        }
    }

    /// Adds the group of this key, if there is none and there is memory for it.
    pub(crate) fn place(&mut self, is_v6: bool, words: &[u64]) {
        let table = if is_v6 { &mut self.v6 } else { &mut self.v4 };
        each_table!(table, table => place(table, words));
    }

    /// Removes all groups and keeps the memory.
    pub(crate) fn clear(&mut self) {
        each_table!(&mut self.v4, table => table.clear());
        each_table!(&mut self.v6, table => table.clear());
    }

    /// The state of a group.
    pub(crate) fn state_mut(&mut self, number: u64) -> &mut [u64] {
        let (table, group) = (if number & OF_V6 == 0 { &mut self.v4 } else { &mut self.v6 }, number as u32);
        each_table!(table, table => table.state_mut(group))
    }

    /// The words of a group's key, and its state.
    pub(crate) fn get(&self, number: u64) -> (&[u64], &[u64]) {
        let (table, group) = (if number & OF_V6 == 0 { &self.v4 } else { &self.v6 }, number as u32);
        each_table!(table, table => (table.key(group).as_slice(), table.state(group)))
    }
}

/// The numbers that the groups of one state have in another one.
#[derive(Debug)]
pub(crate) struct Renumbered {
    v4: Vec<u32>,
    v6: Vec<u32>,
}

impl Renumbered {
    /// Returns the new number of the group with this number; `None` if it has no place there, or is none.
    pub(crate) fn get(&self, number: u64) -> Option<u64> {
        let groups = if number & OF_V6 == 0 { &self.v4 } else { &self.v6 };
        match *groups.get(number as u32 as usize)? {
            NO_GROUP => None,
            group => Some(u64::from(group) | number & OF_V6),
        }
    }
}

/// The flow key that the words of group `number` represent.
pub(crate) fn flow_key(number: u64, words: &[u64], spec: &KeySpec) -> FlowKey {
    use packet::Key;
    match number & OF_V6 == 0 {
        true => KeyV4::from_words(words).flow_key(spec),
        false => KeyV6::from_words(words).flow_key(spec),
    }
}

/// The direction of a key whose source is the lesser endpoint.
pub(crate) fn lesser<K: MaskedKey>(key: K) -> K {
    let reversed = key.reversed();
    // A key's bytes are in the order of its members.
    let is_less =
        reversed.words().iter().map(|word| word.to_be()).lt(key.words().iter().map(|word| word.to_be()));
    if is_less { reversed } else { key }
}

/// States by the numbers of their groups.
pub(crate) trait States {
    /// The state of a group, and the group's number among those of all families.
    fn state_of(&mut self, group: u32) -> (&mut [u64], u64);
}

/// A table of one family.
#[derive(Debug)]
pub(crate) struct OfFamily<'a, const N: usize> {
    table: &'a mut GroupTable<N>,
    flag: u64,
}

impl<const N: usize> States for OfFamily<'_, N> {
    #[inline(always)]
    fn state_of(&mut self, group: u32) -> (&mut [u64], u64) {
        (self.table.state_mut(group), u64::from(group) | self.flag)
    }
}

/// Receives rows whose groups were found.
pub(crate) trait TakeGroups {
    fn take(&mut self, states: &mut impl States, rows: &[u32], found: &[u32]);
}

#[expect(clippy::too_many_arguments, reason = "one loop for all kinds of tables and keys")]
#[inline(always)]
fn add_to<K: MaskedKey, Q: MaskedKey, const N: usize>(
    table: &mut GroupTable<N>,
    parts: &GroupKeyParts,
    batch: &RowBatch<K>,
    key_of: impl Fn(&K) -> Q,
    extras: &[AggregateInput],
    selected: &[u32],
    found: &mut Vec<u32>,
    flag: u64,
    taker: &mut impl TakeGroups,
) {
    /// Rows that are looked up together.
    const ROWS: usize = 256;
    let mut words = [[0; N]; ROWS];
    let mut rows = [0; ROWS];
    for selected in selected.chunks(ROWS / 2) {
        let mut len = 0;
        for &row in selected {
            let key = key_of(&batch.keys[row as usize]);
            let plain = if parts.is_conversation { lesser(key) } else { key }.masked(&parts.plain);
            let mut group = [0; N];
            base(&plain, &mut group);
            for (word, input) in group.iter_mut().skip(Q::WORDS).zip(extras) {
                let row = row as usize;
                *word = if input.is_null(row) { NULL } else { input.ordered(row) };
            }
            let Some(either) = &parts.either else {
                (words[len], rows[len]) = (group, row);
                len += 1;
                continue;
            };
            let with = |key: Q| {
                let mut words = group;
                words.iter_mut().zip(key.masked(either).words()).for_each(|(word, own)| *word |= own);
                words
            };
            let sides = [with(key), with(key.reversed())];
            // Both ends in one group are one row of it.
            for side in &sides[..if sides[0] == sides[1] { 1 } else { 2 }] {
                (words[len], rows[len]) = (*side, row);
                len += 1;
            }
        }
        table.groups(&words[..len], found);
        taker.take(&mut OfFamily { table, flag }, &rows[..len], found);
    }
}

fn place<const N: usize>(table: &mut GroupTable<N>, words: &[u64]) {
    let key = std::array::from_fn(|at| words.get(at).copied().unwrap_or(0));
    table.groups(&[key], &mut Vec::new());
}

fn merge_tables<const N: usize>(
    ours: &mut GroupTable<N>,
    theirs: &GroupTable<N>,
    merge: &mut impl FnMut(Option<&mut [u64]>, &[u64]),
) -> Vec<u32> {
    let mut found = Vec::new();
    ours.groups(theirs.keys(), &mut found);
    for (number, &group) in (0..).zip(&found) {
        let state = (group != NO_GROUP).then(|| ours.state_mut(group));
        merge(state, theirs.state(number));
    }
    found
}
