//! The state of one query for one window: partial answers that can be merged.

use super::batch::Batch;
use super::keyed::{Groups, OF_V6, States, TakeGroups, base};
use super::plan::{DistinctOf, Grouping, ItemKind, Plan};
use super::site::Site;
use super::top_rows::TopRows;
use flow::{NULL, RowValue};
use packet::MaskedKey;
use summary::{GroupTable, NO_GROUP};

/// Distinct values that one item of one query counts exactly in one window. Beyond, or without memory, a
/// count has bounds.
pub const MOST_DISTINCT: usize = 1_000_000;

/// Number of the group that all rows are in.
const ALL: u64 = 0;
/// Number of the group of rows whose groups had no memory.
const UNPLACED: u64 = u64::MAX;

/// Words of a distinct value: its owner, the value, and what it is of. The wide ones are addresses of IPv6.
const NARROW: usize = 4;
const WIDE: usize = 8;

/// The state of one query for one window.
#[derive(Debug)]
pub(crate) struct QueryState {
    pub(crate) groups: Kinds,
    distinct: Distinct,
    /// Rows whose groups had no memory: their number, and their state as a single group.
    pub(crate) unplaced: Vec<u64>,
    pub(crate) unplaced_rows: u64,
    scratch: Scratch,
}

/// The groups, by how rows are grouped.
#[derive(Debug)]
pub(crate) enum Kinds {
    All(Vec<u64>),
    Rows(TopRows),
    Parts(Box<Groups>),
    /// The first groups, and the sums of all: partitions that were answered one after the other.
    Ranked(TopRows),
}

/// Memory that batches have in common.
#[derive(Debug, Default)]
struct Scratch {
    selected: Vec<u32>,
    found: Vec<u32>,
}

impl QueryState {
    pub(crate) fn new(plan: &Plan, site: &Site) -> Self {
        let groups = match &plan.grouping {
            Grouping::All => Kinds::All(plan.initial.clone()),
            Grouping::Rows => Kinds::Rows(TopRows::new(plan)),
            Grouping::Parts(parts) => Kinds::Parts(Box::new(Groups::new(parts, &plan.initial, site))),
        };
        Self {
            groups,
            distinct: Distinct::new(plan.sets(), site),
            unplaced: plan.initial.clone(),
            unplaced_rows: 0,
            scratch: Scratch::default(),
        }
    }

    /// Adds the rows of a batch that pass the query's filter.
    pub(crate) fn add<K: MaskedKey>(&mut self, plan: &Plan, batch: &Batch<K>) {
        let Self { groups, distinct, unplaced, unplaced_rows, scratch } = self;
        let Scratch { selected, found } = scratch;
        selected.clear();
        match &plan.filter {
            Some(test) => test.select(batch, selected),
            None => selected.extend(0..batch.len() as u32),
        }
        let is_whole = selected.len() == batch.len();
        match (groups, &plan.grouping) {
            (Kinds::All(state), _) => {
                let mut places = AllPlaces(state);
                update(plan, &mut places, batch, selected, distinct);
            }
            (Kinds::Rows(top), _) => top.add(plan, batch, selected, is_whole),
            (Kinds::Parts(groups), Grouping::Parts(parts)) => {
                let mut taker = Taker { plan, batch, distinct, unplaced, unplaced_rows };
                groups.add(parts, batch, selected, found, &mut taker);
            }
            (Kinds::Parts(_) | Kinds::Ranked(_), _) => {}
        }
    }

    /// Passes on the key's words, the family and the state of each group, and leaves none.
    pub(crate) fn drain_groups(&mut self, mut take: impl FnMut(&[u64], bool, &[u64])) {
        if let Kinds::Parts(groups) = &mut self.groups {
            groups.each(|number, words, state| take(words, number & OF_V6 != 0, state));
            groups.clear();
        }
        for set in &mut self.distinct.sets {
            set.narrow.clear();
            set.wide.clear();
        }
    }

    /// Merges the state of another core or node for the same query and window.
    pub(crate) fn merge(&mut self, plan: &Plan, other: &Self) {
        let Self { groups, distinct, unplaced, unplaced_rows, .. } = self;
        *unplaced_rows += other.unplaced_rows;
        plan.merge_states(unplaced, &other.unplaced);
        match (groups, &other.groups) {
            (Kinds::All(state), Kinds::All(theirs)) => {
                plan.merge_states(state, theirs);
                distinct.merge(&other.distinct, plan, |add, _| add(state, ALL));
            }
            (Kinds::Rows(top), Kinds::Rows(theirs)) => top.merge(plan, theirs),
            (Kinds::Parts(groups), Kinds::Parts(theirs)) => {
                let numbers = groups.merge(theirs, &mut |state, theirs| match state {
                    Some(state) => plan.merge_states(state, theirs),
                    None => {
                        *unplaced_rows += 1;
                        plan.merge_states(unplaced, theirs);
                    }
                });
                distinct.merge(&other.distinct, plan, |add, number| match numbers.of(number) {
                    Some(number) => add(groups.state_mut(number), number),
                    None => add(unplaced, UNPLACED),
                });
            }
            _ => {}
        }
    }
}

/// Where the states of some rows are.
trait Places {
    /// The state of the group of the row at this place, and the group's number.
    fn state(&mut self, at: usize) -> (&mut [u64], u64);
}

/// All rows are one group.
struct AllPlaces<'a>(&'a mut [u64]);

impl Places for AllPlaces<'_> {
    #[inline(always)]
    fn state(&mut self, _: usize) -> (&mut [u64], u64) {
        (self.0, ALL)
    }
}

/// Each row has a group of a table, or none.
struct GroupPlaces<'a, T> {
    table: &'a mut T,
    found: &'a [u32],
    unplaced: &'a mut [u64],
}

impl<T: States> Places for GroupPlaces<'_, T> {
    #[inline(always)]
    fn state(&mut self, at: usize) -> (&mut [u64], u64) {
        match self.found[at] {
            NO_GROUP => (self.unplaced, UNPLACED),
            group => self.table.state_of(group),
        }
    }
}

/// Adds rows to the states of their groups.
struct Taker<'a, K> {
    plan: &'a Plan,
    batch: &'a Batch<K>,
    distinct: &'a mut Distinct,
    unplaced: &'a mut [u64],
    unplaced_rows: &'a mut u64,
}

impl<K: MaskedKey> TakeGroups for Taker<'_, K> {
    #[inline(always)]
    fn take(&mut self, states: &mut impl States, rows: &[u32], found: &[u32]) {
        *self.unplaced_rows += found.iter().filter(|group| **group == NO_GROUP).count() as u64;
        let mut places = GroupPlaces { table: states, found, unplaced: self.unplaced };
        update(self.plan, &mut places, self.batch, rows, self.distinct);
    }
}

/// Adds rows to their states, one item after the other: what an item does is decided once for all of them.
#[inline(always)]
fn update<K: MaskedKey>(
    plan: &Plan,
    places: &mut impl Places,
    batch: &Batch<K>,
    rows: &[u32],
    distinct: &mut Distinct,
) {
    let rows = || rows.iter().map(|row| *row as usize).enumerate();
    for item in &plan.items {
        let at = item.at;
        let mut add = |values: &[u64]| {
            for (place, row) in rows() {
                let value = values[row];
                places.state(place).0[at] += if value == NULL { 0 } else { value };
            }
        };
        match item.kind {
            ItemKind::Sum(column) => add(batch.column(column)),
            ItemKind::SumOf(parts) => parts.iter().flatten().for_each(|column| add(batch.column(*column))),
            ItemKind::Min(column) => {
                let values = batch.column(column);
                for (place, row) in rows() {
                    let least = &mut places.state(place).0[at];
                    *least = (*least).min(values[row]);
                }
            }
            ItemKind::Count => rows().for_each(|(place, _)| places.state(place).0[at] += 1),
            ItemKind::Distinct(set, of) => {
                let Distinct { sets, found } = distinct;
                let Set { narrow, wide } = &mut sets[set];
                match of {
                    DistinctOf::Key(spec) if spec.has_addresses() && K::WORDS > NARROW - 2 => {
                        count_distinct(wide, found, of, batch, rows(), places, at);
                    }
                    _ => count_distinct(narrow, found, of, batch, rows(), places, at),
                }
            }
            ItemKind::MeanRoundTrip => {
                let (sums, counts) = (batch.column(RowValue::RttSum), batch.column(RowValue::RttCount));
                for (place, row) in rows() {
                    if counts[row] != NULL {
                        let state = places.state(place).0;
                        state[at] += sums[row];
                        state[at + 1] += counts[row];
                    }
                }
            }
        }
    }
}

/// Counts the values of rows in the state of their groups. Rows that are looked up together wait for memory together.
fn count_distinct<K: MaskedKey, const N: usize>(
    values: &mut GroupTable<N>,
    found: &mut Vec<u32>,
    of: DistinctOf,
    batch: &Batch<K>,
    mut rows: impl Iterator<Item = (usize, usize)>,
    places: &mut impl Places,
    at: usize,
) {
    const ROWS: usize = 64;
    let (mut keys, mut owners) = ([[0; N]; ROWS], [0; ROWS]);
    loop {
        let mut len = 0;
        for (place, row) in rows.by_ref() {
            let Some(mut value) = value_of(of, batch, row) else { continue };
            value[0] = places.state(place).1;
            (keys[len], owners[len]) = (value, place);
            len += 1;
            if len == ROWS {
                break;
            }
        }
        add_values(values, &keys[..len], found, |number, seen| {
            let state = &mut places.state(owners[number]).0[at..];
            seen.count(state);
        });
        if len < ROWS {
            return;
        }
    }
}

/// A row's value to be counted as distinct, in the form of the sets; `None` if it is null.
fn value_of<K: MaskedKey, const N: usize>(of: DistinctOf, batch: &Batch<K>, row: usize) -> Option<[u64; N]> {
    let mut value = [0; N];
    match of {
        // The families' addresses differ, whatever their words; ports do not.
        DistinctOf::Key(spec) if spec.has_addresses() => {
            base(&batch.keys[row].masked(&spec), &mut value[1..]);
            value[N - 1] = K::WORDS as u64;
        }
        DistinctOf::Key(spec) => base(&batch.keys[row].without_addresses().masked(&spec), &mut value[1..]),
        DistinctOf::Column(column) => match batch.column(column)[row] {
            NULL => return None,
            number => value[1] = number,
        },
    }
    Some(value)
}

/// The distinct values of all groups, by item.
#[derive(Debug)]
struct Distinct {
    sets: Vec<Set>,
    found: Vec<u32>,
}

/// The distinct values of one item.
#[derive(Debug)]
struct Set {
    narrow: GroupTable<NARROW>,
    wide: GroupTable<WIDE>,
}

/// Whether a value was there before.
#[derive(Clone, Copy)]
enum Seen {
    New,
    Known,
    /// The available room is unknown.
    Unsure,
}

impl Seen {
    /// Counts it in a group's state.
    #[inline(always)]
    fn count(self, state: &mut [u64]) {
        match self {
            Self::New => state[0] += 1,
            Self::Known => {}
            Self::Unsure => state[1] += 1,
        }
    }
}

/// Adds values to a set; tells of each, by its place, whether it was there.
fn add_values<const N: usize>(
    set: &mut GroupTable<N>,
    values: &[[u64; N]],
    found: &mut Vec<u32>,
    mut tell: impl FnMut(usize, Seen),
) {
    let mut next = set.len();
    if next + values.len() <= MOST_DISTINCT {
        set.groups(values, found);
        for (number, &group) in found.iter().enumerate() {
            // New ones are numbered as they come.
            let seen = match group {
                NO_GROUP => Seen::Unsure,
                group if group as usize == next => Seen::New,
                _ => Seen::Known,
            };
            next += usize::from(matches!(seen, Seen::New));
            tell(number, seen);
        }
        return;
    }
    for (number, value) in values.iter().enumerate() {
        let before = set.len();
        if before >= MOST_DISTINCT && !set.has(value) {
            tell(number, Seen::Unsure);
            continue;
        }
        set.groups(&[*value], found);
        let seen = match found[0] {
            NO_GROUP => Seen::Unsure,
            _ if set.len() > before => Seen::New,
            _ => Seen::Known,
        };
        tell(number, seen);
    }
}

impl Distinct {
    fn new(sets: usize, site: &Site) -> Self {
        let Site { seed, limits, .. } = site;
        let set =
            || Set { narrow: GroupTable::new(&[], *seed, limits), wide: GroupTable::new(&[], *seed, limits) };
        Self { sets: (0..sets).map(|_| set()).collect(), found: Vec::new() }
    }

    /// Counts another's values. `place` gets the number of a value's group there, and passes the group's
    /// state and number here to its argument.
    fn merge(
        &mut self,
        other: &Self,
        plan: &Plan,
        mut place: impl FnMut(&mut dyn FnMut(&mut [u64], u64), u64),
    ) {
        let Self { sets, found } = self;
        for item in &plan.items {
            let ItemKind::Distinct(set, _) = item.kind else { continue };
            let (ours, theirs) = (&mut sets[set], &other.sets[set]);
            merge_values(&mut ours.narrow, &theirs.narrow, found, item.at, &mut place);
            merge_values(&mut ours.wide, &theirs.wide, found, item.at, &mut place);
        }
    }
}

fn merge_values<const N: usize>(
    ours: &mut GroupTable<N>,
    theirs: &GroupTable<N>,
    found: &mut Vec<u32>,
    at: usize,
    place: &mut impl FnMut(&mut dyn FnMut(&mut [u64], u64), u64),
) {
    for value in theirs.keys() {
        let count = &mut |state: &mut [u64], group: u64| {
            let mut own = *value;
            own[0] = group;
            add_values(ours, &[own], found, |_, seen| seen.count(&mut state[at..]));
        };
        place(count, value[0]);
    }
}
