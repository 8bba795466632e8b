//! The values of groups that are told apart: those that are counted, and those that have weights.

use super::input::AggregateInput;
use super::keyed::{base, lesser};
use super::owners::Owners;
use super::program::NodeId;
use crate::plan_context::PlanContext;
use arena::{Lease, Limits};
use flow::RowBatch;
use flowtable::{GroupTable, NO_GROUP};
use packet::{KeySpec, MaskedKey, Seed};
use sketch::{Cardinality, GridConfig, HyperLogLog, Summary, Update, UpdateBurst};
use std::collections::BTreeMap;

/// Distinct values that one item of one query counts exactly in one window. Beyond, or without memory, a
/// count has bounds.
pub const MOST_DISTINCT: usize = 1_000_000;

/// Words of a value: its group, the value, and what it is of. The wide ones are addresses of IPv6.
const NARROW: usize = 4;
const WIDE: usize = 8;
/// Registers for the values of one group for which there is no room: an error of about 3 %.
const REGISTERS: usize = 1024;
/// Rows that are looked up together.
const ROWS: usize = 64;

/// The source of the values that are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueOf {
    Key(KeySpec),
    /// The 5-tuple without its direction.
    Conversation,
    Node(NodeId),
}

impl ValueOf {
    /// Returns the node whose values they are.
    pub(crate) fn node(self) -> Option<NodeId> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}

/// The values of all groups, of one aggregate.
#[derive(Debug)]
pub(crate) struct ValueSet {
    narrow: GroupTable<NARROW>,
    wide: GroupTable<WIDE>,
    /// The values for which there is no room, by group; `None` where values have weights.
    beyond: Option<Beyond>,
    found: Vec<u32>,
}

/// Values for which there is no room.
#[derive(Debug)]
struct Beyond {
    groups: BTreeMap<u64, HyperLogLog>,
    /// True if some group has no sketch either.
    has_refused: bool,
    seed: Seed,
    limits: Limits,
    lease: Lease,
}

impl Beyond {
    fn add(&mut self, group: u64, hash: u64) {
        if !self.groups.contains_key(&group) {
            // A map's entry has about twice the size of its value.
            if !self.lease.grow(REGISTERS + 256) {
                self.has_refused = true;
                return;
            }
            let Ok(sketch) = HyperLogLog::new(&GridConfig::with_width(REGISTERS, self.seed)) else { return };
            self.groups.insert(group, sketch);
        }
        if let Some(sketch) = self.groups.get_mut(&group) {
            sketch.update_burst(&[Update { key: (), hash, weight: 1 }]);
        }
    }
}

/// The result of adding a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueInsertion {
    New,
    Known,
    /// A value for which there was no room, so that it may be new or not.
    Unsure,
}

impl ValueInsertion {
    /// Counts the result in a group's state.
    #[inline(always)]
    fn count(self, state: &mut [u64]) {
        match self {
            Self::New => state[0] += 1,
            Self::Known => {}
            Self::Unsure => state[1] += 1,
        }
    }
}

impl ValueSet {
    /// Creates an empty set of values. `have_weights`: each value has a weight instead of being counted.
    pub(crate) fn new(have_weights: bool, site: &PlanContext) -> Self {
        let PlanContext { seed, limits, .. } = site;
        let initial: &[u64] = if have_weights { &[0] } else { &[] };
        Self {
            narrow: GroupTable::new(initial, *seed, limits),
            wide: GroupTable::new(initial, *seed, limits),
            beyond: (!have_weights).then(|| Beyond {
                groups: BTreeMap::new(),
                has_refused: false,
                seed: *seed,
                limits: limits.clone(),
                lease: limits.empty_lease(),
            }),
            found: Vec::new(),
        }
    }

    /// Removes all values and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
        if let Some(beyond) = &mut self.beyond {
            beyond.groups.clear();
            beyond.has_refused = false;
            beyond.lease = beyond.limits.empty_lease();
        }
    }

    /// Counts the values of rows (their places and numbers) in the states of their groups, from word `at` on.
    #[inline(always)]
    pub(crate) fn count<K: MaskedKey>(
        &mut self,
        of: ValueOf,
        batch: &RowBatch<K>,
        input: Option<&AggregateInput>,
        rows: impl Iterator<Item = (usize, usize)>,
        owners: &mut impl Owners,
        at: usize,
    ) {
        let Self { narrow, wide, beyond, found } = self;
        match is_wide::<K>(of) {
            true => count(wide, beyond, found, |row| value_of(of, batch, input, row), rows, owners, at),
            false => count(narrow, beyond, found, |row| value_of(of, batch, input, row), rows, owners, at),
        }
    }

    /// Adds the rows' weights to those of their values; without memory for a value, to word `at` of its group's state.
    #[expect(clippy::too_many_arguments, reason = "as count, and the weights")]
    #[inline(always)]
    pub(crate) fn weigh<K: MaskedKey>(
        &mut self,
        of: ValueOf,
        batch: &RowBatch<K>,
        input: Option<&AggregateInput>,
        weights: Option<&AggregateInput>,
        rows: impl Iterator<Item = (usize, usize)>,
        owners: &mut impl Owners,
        at: usize,
    ) {
        let weight = |row: usize| match weights {
            None => 1,
            Some(weights) if weights.is_null(row) => 0,
            Some(weights) => weights.ordered(row),
        };
        let Self { narrow, wide, found, .. } = self;
        match is_wide::<K>(of) {
            true => weigh(wide, found, |row| value_of(of, batch, input, row), weight, rows, owners, at),
            false => weigh(narrow, found, |row| value_of(of, batch, input, row), weight, rows, owners, at),
        }
    }

    /// Adds another's values. `owner` gets the number of a value's group there, and passes the group's state and number here to its
    /// argument.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        at: usize,
        owner: &mut impl FnMut(u64, &mut dyn FnMut(&mut [u64], u64)),
    ) {
        let Self { narrow, wide, beyond, found } = self;
        merge(narrow, &other.narrow, beyond, found, at, owner);
        merge(wide, &other.wide, beyond, found, at, owner);
        let (Some(ours), Some(theirs)) = (beyond, &other.beyond) else { return };
        for (group, sketch) in &theirs.groups {
            owner(*group, &mut |_, own| ours.merge(own, sketch));
        }
    }

    /// True where some values had no room.
    pub(crate) fn is_full(&self) -> bool {
        self.beyond.as_ref().is_some_and(|beyond| !beyond.groups.is_empty() || beyond.has_refused)
    }

    /// Returns the number of values of a group that had no room, estimated; `None` if that is not known.
    pub(crate) fn beyond(&self, group: u64) -> Option<f64> {
        let sketch = self.beyond.as_ref()?.groups.get(&group)?;
        Some(sketch.distinct().value)
    }

    /// Calls `each` with the group, the words, and the weight of every value.
    pub(crate) fn each_weight(&self, mut each: impl FnMut(u64, ValueWords<'_>, u64)) {
        each_weight(&self.narrow, &mut each);
        each_weight(&self.wide, &mut each);
    }
}

/// The words of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ValueWords<'a> {
    /// The words of a key, or the number.
    pub(crate) words: &'a [u64],
    /// A key of IPv6.
    pub(crate) is_v6: bool,
}

fn each_weight<const N: usize>(table: &GroupTable<N>, each: &mut impl FnMut(u64, ValueWords<'_>, u64)) {
    for group in 0..table.len() as u32 {
        let [owner, words @ .., _] = table.key(group).as_slice() else { return };
        each(*owner, ValueWords { words, is_v6: N == WIDE }, table.state(group)[0]);
    }
}

impl Beyond {
    fn merge(&mut self, group: u64, sketch: &HyperLogLog) {
        use sketch::Merge;
        match self.groups.get_mut(&group) {
            // Sketches of one seed and size merge.
            Some(own) => drop(own.merge(sketch)),
            None if self.lease.grow(REGISTERS + 256) => drop(self.groups.insert(group, sketch.clone())),
            None => self.has_refused = true,
        }
    }
}

fn is_wide<K: MaskedKey>(of: ValueOf) -> bool {
    let has_addresses = match of {
        ValueOf::Key(spec) => spec.has_addresses(),
        ValueOf::Conversation => true,
        ValueOf::Node(_) => false,
    };
    has_addresses && K::WORDS > NARROW - 2
}

/// A row's value in the form of the sets; `None` if it is null.
#[inline(always)]
fn value_of<K: MaskedKey, const N: usize>(
    of: ValueOf,
    batch: &RowBatch<K>,
    input: Option<&AggregateInput>,
    row: usize,
) -> Option<[u64; N]> {
    let mut value = [0; N];
    match of {
        ValueOf::Conversation => {
            base(&lesser(batch.keys[row]).masked(&KeySpec::FIVE_TUPLE), &mut value[1..]);
            value[N - 1] = K::WORDS as u64;
        }
        // The families' addresses differ, whatever their words; ports do not.
        ValueOf::Key(spec) if spec.has_addresses() => {
            base(&batch.keys[row].masked(&spec), &mut value[1..]);
            value[N - 1] = K::WORDS as u64;
        }
        ValueOf::Key(spec) => base(&batch.keys[row].without_addresses().masked(&spec), &mut value[1..]),
        ValueOf::Node(_) => match input {
            Some(input) if !input.is_null(row) => value[1] = input.ordered(row),
            _ => return None,
        },
    }
    Some(value)
}

/// Gathers the values of rows until there are [`ROWS`], and passes them on with their places: they wait for memory together.
#[inline(always)]
fn each_batch<const N: usize>(
    mut value_of: impl FnMut(usize) -> Option<[u64; N]>,
    mut rows: impl Iterator<Item = (usize, usize)>,
    owners: &mut impl Owners,
    mut work: impl FnMut(&[[u64; N]], &[(usize, usize)], &mut dyn FnMut(usize, &mut dyn FnMut(&mut [u64]))),
) {
    let (mut keys, mut places) = ([[0; N]; ROWS], [(0, 0); ROWS]);
    loop {
        let mut len = 0;
        for (place, row) in rows.by_ref() {
            let Some(mut value) = value_of(row) else { continue };
            value[0] = owners.owner(place).1;
            (keys[len], places[len]) = (value, (place, row));
            len += 1;
            if len == ROWS {
                break;
            }
        }
        work(&keys[..len], &places[..len], &mut |place, change| change(owners.owner(place).0));
        if len < ROWS {
            return;
        }
    }
}

fn count<const N: usize>(
    values: &mut GroupTable<N>,
    beyond: &mut Option<Beyond>,
    found: &mut Vec<u32>,
    value_of: impl FnMut(usize) -> Option<[u64; N]>,
    rows: impl Iterator<Item = (usize, usize)>,
    owners: &mut impl Owners,
    at: usize,
) {
    each_batch(value_of, rows, owners, |keys, places, state| {
        add_values(values, beyond, keys, found, |number, seen| {
            if seen != ValueInsertion::Known {
                state(places[number].0, &mut |state| seen.count(&mut state[at..]));
            }
        });
    });
}

fn weigh<const N: usize>(
    values: &mut GroupTable<N>,
    found: &mut Vec<u32>,
    value_of: impl FnMut(usize) -> Option<[u64; N]>,
    weight: impl Fn(usize) -> u64,
    rows: impl Iterator<Item = (usize, usize)>,
    owners: &mut impl Owners,
    at: usize,
) {
    each_batch(value_of, rows, owners, |keys, places, state| {
        values.groups(keys, found);
        for (&(place, row), &group) in places.iter().zip(found.iter()) {
            match group {
                NO_GROUP => state(place, &mut |state| state[at] += weight(row)),
                group => values.state_mut(group)[0] += weight(row),
            }
        }
    });
}

/// Adds values to a set; tells of each, by its place, whether it was there.
#[inline(always)]
fn add_values<const N: usize>(
    set: &mut GroupTable<N>,
    beyond: &mut Option<Beyond>,
    values: &[[u64; N]],
    found: &mut Vec<u32>,
    mut tell: impl FnMut(usize, ValueInsertion),
) {
    let mut no_room = |value: &[u64; N]| {
        let Some(beyond) = beyond else { return };
        let mut alone = *value;
        // Groups have other numbers on another core or node.
        alone[0] = 0;
        beyond.add(value[0], beyond.seed.hash_words(&alone));
    };
    let mut next = set.len();
    if next + values.len() <= MOST_DISTINCT {
        set.groups(values, found);
        for (number, &group) in found.iter().enumerate() {
            // New ones are numbered as they come.
            let seen = match group {
                NO_GROUP => {
                    no_room(&values[number]);
                    ValueInsertion::Unsure
                }
                group if group as usize == next => ValueInsertion::New,
                _ => ValueInsertion::Known,
            };
            next += usize::from(seen == ValueInsertion::New);
            tell(number, seen);
        }
        return;
    }
    for (number, value) in values.iter().enumerate() {
        let before = set.len();
        let has_room = before < MOST_DISTINCT || set.has(value);
        if has_room {
            set.groups(&[*value], found);
        }
        let seen = match found.first() {
            Some(group) if has_room && *group != NO_GROUP => {
                if set.len() > before {
                    ValueInsertion::New
                } else {
                    ValueInsertion::Known
                }
            }
            _ => {
                no_room(value);
                ValueInsertion::Unsure
            }
        };
        tell(number, seen);
    }
}

fn merge<const N: usize>(
    ours: &mut GroupTable<N>,
    theirs: &GroupTable<N>,
    beyond: &mut Option<Beyond>,
    found: &mut Vec<u32>,
    at: usize,
    owner: &mut impl FnMut(u64, &mut dyn FnMut(&mut [u64], u64)),
) {
    for group in 0..theirs.len() as u32 {
        let value = theirs.key(group);
        let weight = theirs.state(group).first();
        owner(value[0], &mut |state, own| {
            let mut value = *value;
            value[0] = own;
            match weight {
                None => add_values(ours, beyond, &[value], found, |_, seen| seen.count(&mut state[at..])),
                Some(weight) => {
                    ours.groups(&[value], found);
                    match found.first() {
                        Some(group) if *group != NO_GROUP => ours.state_mut(*group)[0] += weight,
                        _ => state[at] += weight,
                    }
                }
            }
        });
    }
}
