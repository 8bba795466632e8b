//! The state of a task: one of the structures, for each address family.

mod contacts;
mod counted;
mod products;
mod shared;
mod values;

pub(crate) use contacts::ContactCounter;
pub(crate) use counted::FlowCounter;
pub(crate) use products::ProductCounter;
pub(crate) use shared::{SharedFlowCounter, SharedPart, can_be_shared};
pub(crate) use values::OrderedValues;

use crate::feed::{FamilyItems, FeedItems};
use crate::{Choice, Quantity, Structure, TaskKind, Weight};
use arena::{Lease, Limits};
use packet::{KeySpec, KeyV4, KeyV6, MaskedKey, Seed};
use sketch::{
    ByteKey, Configuration, KeyBytes, RowConfiguration, RowSizes, SketchError, Summary, Unmergeable,
};
use std::sync::Arc;

/// The state of one feed of one task.
#[derive(Debug)]
pub(crate) struct FeedState {
    pub(crate) v4: FamilyState<KeyV4>,
    /// The part of IPv6; `None` if keys have no addresses, and values are of no family.
    pub(crate) v6: Option<FamilyState<KeyV6>>,
}

/// The part of a state that is of one address family.
#[derive(Debug)]
pub(crate) struct FamilyState<K: ByteKey> {
    pub(crate) of: StateKind<K>,
    /// The total of its input, in the unit of the weights.
    pub(crate) total: u64,
    /// The memory of what grows.
    memory: Option<Lease>,
}

/// The kind of structure, with the structure.
#[derive(Debug)]
pub(crate) enum StateKind<K: ByteKey> {
    Counted(Box<FlowCounter<K>>),
    Contacts(Box<ContactCounter<K>>),
    Values(Box<OrderedValues>),
    Products(Box<ProductCounter<K>>),
    /// The part of a worker in a structure of all workers.
    Shared(Box<SharedPart<K>>),
}

impl<K: ByteKey> StateKind<K> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Counted(_) => "a state of counted flows",
            Self::Contacts(_) => "a state of contacts",
            Self::Values(_) => "a state of values",
            Self::Products(_) => "a state of products",
            Self::Shared(_) => "a part of a shared state",
        }
    }
}

/// Makes states of a task as planned.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    pub(crate) choice: Choice,
    pub(crate) kind: TaskKind,
    /// The key of the task: that of its longest prefixes in a hierarchy.
    pub(crate) key: KeySpec,
    pub(crate) weight: Weight,
    pub(crate) quantity: Quantity,
    /// The rows that the user gives.
    pub(crate) rows: RowSizes,
    /// The memory that structures that grow take theirs from.
    pub(crate) grows: Option<Limits>,
    /// True if all workers count in one structure.
    pub(crate) is_shared: bool,
}

/// The parameters that a structure is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    structure: Structure,
    /// The memory that it may take.
    bytes: usize,
    /// The sampling interval: a sample takes one in this many.
    one_in: u32,
    /// The rows that the user gives.
    rows: RowSizes,
    /// The bytes of its keys, if they are four at most.
    key_bytes: Option<KeyBytes>,
    seed: Seed,
}

impl Making {
    /// A structure of this many bytes.
    fn sized<S: Summary>(&self) -> Result<S, SketchError> {
        S::new(&Configuration::with_bytes(self.bytes, self.seed)?)
    }

    /// A structure of the rows that are given, or of this many bytes.
    fn with_rows<S: Summary>(&self) -> Result<S, SketchError>
    where
        S::Configuration: RowConfiguration,
    {
        S::new(&RowConfiguration::sized(self.rows, self.bytes, self.seed)?)
    }
}

impl Maker {
    /// True if the structure can be one for all workers.
    pub(crate) fn can_be_shared(&self) -> bool {
        let counts_flows =
            !matches!(self.kind, TaskKind::SuperSpreaders | TaskKind::Quantiles | TaskKind::Inner);
        counts_flows && can_be_shared(self.choice.structure)
    }

    /// Memory of the lists of flows that a worker keeps of a level beside structures of all workers.
    pub(crate) fn list_bytes(&self, (key, has_v6): (&KeySpec, bool), seed: &Seed) -> usize {
        let v4 = shared::list_bytes::<KeyV4>(&self.making::<KeyV4>(false, key, seed), self.weight);
        let v6 = || shared::list_bytes::<KeyV6>(&self.making::<KeyV6>(true, key, seed), self.weight);
        v4 + if has_v6 { v6() } else { 0 }
    }

    fn making<K: ByteKey + MaskedKey>(&self, is_v6: bool, key: &KeySpec, seed: &Seed) -> Making {
        let Choice { structure, bytes, bytes_v6, one_in, one_in_v6, .. } = self.choice;
        let (bytes, one_in) = if is_v6 { (bytes_v6, one_in_v6) } else { (bytes, one_in) };
        // Whether they are so few is the same of all levels of a hierarchy, for which one memory was planned.
        let of_task = KeyBytes::new::<K>(&self.key);
        let key_bytes = of_task.and_then(|_| KeyBytes::new::<K>(key)).ok();
        Making { structure, bytes, one_in, rows: self.rows, key_bytes, seed: *seed }
    }

    fn part<K: ByteKey + MaskedKey>(
        &self,
        is_v6: bool,
        key: &KeySpec,
        seed: &Seed,
    ) -> Result<FamilyState<K>, SketchError> {
        let making = self.making::<K>(is_v6, key, seed);
        let of = match self.kind {
            TaskKind::SuperSpreaders => StateKind::Contacts(Box::new(ContactCounter::new(&making)?)),
            TaskKind::Quantiles => {
                StateKind::Values(Box::new(OrderedValues::new(&making, self.quantity.bits(is_v6))?))
            }
            TaskKind::Inner => StateKind::Products(Box::new(ProductCounter::new(&making, self.weight)?)),
            _ => StateKind::Counted(Box::new(FlowCounter::new(&making, self.weight)?)),
        };
        Ok(FamilyState { of, total: 0, memory: self.grows.as_ref().map(Limits::empty_lease) })
    }

    /// The part of a worker in a structure of all workers.
    fn shared_part<K: ByteKey + MaskedKey>(
        &self,
        is_v6: bool,
        key: &KeySpec,
        seed: &Seed,
    ) -> Result<FamilyState<K>, SketchError> {
        let part = SharedPart::new(&self.making::<K>(is_v6, key, seed), self.weight)?;
        Ok(FamilyState { of: StateKind::Shared(Box::new(part)), total: 0, memory: None })
    }

    fn shared_counter<K: ByteKey + MaskedKey>(
        &self,
        is_v6: bool,
        key: &KeySpec,
        seed: &Seed,
    ) -> Result<Arc<SharedFlowCounter<K>>, SketchError> {
        SharedFlowCounter::new(&self.making::<K>(is_v6, key, seed), self.weight).map(Arc::new)
    }
}

/// The structures of one level of a task in which all workers count.
#[derive(Debug)]
pub(crate) struct SharedFeed {
    v4: Arc<SharedFlowCounter<KeyV4>>,
    v6: Option<Arc<SharedFlowCounter<KeyV6>>>,
}

impl SharedFeed {
    /// Empty structures of a level, as [`FeedState::new`] makes them for one worker.
    pub(crate) fn new(
        maker: &Maker,
        (key, has_v6): (&KeySpec, bool),
        seed: &Seed,
    ) -> Result<Self, SketchError> {
        let v6 = has_v6.then(|| maker.shared_counter(true, key, seed)).transpose()?;
        Ok(Self { v4: maker.shared_counter(false, key, seed)?, v6 })
    }

    /// Clears them. No worker may count in them.
    pub(crate) fn reset(&self) {
        self.v4.reset();
        self.v6.iter().for_each(|v6| v6.reset());
    }
}

impl FeedState {
    /// An empty state of a level, of flows with this key, and with a part of IPv6 or without.
    pub(crate) fn new(
        maker: &Maker,
        (key, has_v6): (&KeySpec, bool),
        seed: &Seed,
    ) -> Result<Self, SketchError> {
        let v6 = has_v6.then(|| maker.part(true, key, seed)).transpose()?;
        Ok(Self { v4: maker.part(false, key, seed)?, v6 })
    }

    /// The state of a level that one worker has: its part, where all workers count in one structure.
    pub(crate) fn of_worker(
        maker: &Maker,
        (key, has_v6): (&KeySpec, bool),
        seed: &Seed,
    ) -> Result<Self, SketchError> {
        if !maker.is_shared {
            return Self::new(maker, (key, has_v6), seed);
        }
        let v6 = has_v6.then(|| maker.shared_part(true, key, seed)).transpose()?;
        Ok(Self { v4: maker.shared_part(false, key, seed)?, v6 })
    }

    /// Counts in these structures from here on, where it is a part of such ones.
    pub(crate) fn bind(&mut self, shared: &SharedFeed) {
        if let StateKind::Shared(part) = &mut self.v4.of {
            part.bind(&shared.v4);
        }
        if let (Some(FamilyState { of: StateKind::Shared(part), .. }), Some(shared)) =
            (&mut self.v6, &shared.v6)
        {
            part.bind(shared);
        }
    }

    /// Returns the state of one worker that has all that was counted in structures of all workers; `None` if this is no part of such ones.
    pub(crate) fn settled(&self) -> Result<Option<Self>, SketchError> {
        let Some(v4) = self.v4.settled()? else { return Ok(None) };
        let v6 = self.v6.as_ref().map(FamilyState::settled).transpose()?.flatten();
        Ok(Some(Self { v4, v6 }))
    }

    /// Makes room for all that rows can bring, as far as there is memory, and counts them.
    pub(crate) fn count_rows(&mut self, fed: &FeedItems) {
        self.v4.make_room(&fed.v4);
        if let Some(v6) = &mut self.v6 {
            v6.make_room(&fed.v6);
        }
        self.count(fed);
    }

    /// True where nothing is missing of what it was given, and nothing is estimated.
    pub(crate) fn is_exact(&self) -> bool {
        self.v4.is_exact() && self.v6.as_ref().is_none_or(FamilyState::is_exact)
    }

    /// The most that any flow has that is not listed, where no estimate of the flows that are known and not listed is more than `known`. `None`
    /// where nothing certain bounds it.
    pub(crate) fn most_unlisted(&self, known: u64) -> Option<u64> {
        let of_v6 = self.v6.as_ref().map_or(Some(0), |v6| v6.most_unlisted(known));
        Some(self.v4.most_unlisted(known)?.max(of_v6?))
    }

    /// Counts a burst.
    #[inline]
    pub(crate) fn count(&mut self, fed: &FeedItems) {
        self.v4.count(&fed.v4);
        if let Some(v6) = &mut self.v6 {
            v6.count(&fed.v6);
        }
    }

    /// Adds what another core counted of the same window.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        self.v4.merge(&other.v4)?;
        match (&mut self.v6, &other.v6) {
            (Some(ours), Some(theirs)) => ours.merge(theirs),
            _ => Ok(()),
        }
    }

    /// Memory of its structures.
    pub(crate) fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.as_ref().map_or(0, FamilyState::bytes)
    }

    pub(crate) fn reset(&mut self) {
        self.v4.reset();
        if let Some(v6) = &mut self.v6 {
            v6.reset();
        }
    }

    /// The total of its input.
    pub(crate) fn total(&self) -> u64 {
        self.v4.total.saturating_add(self.v6.as_ref().map_or(0, |v6| v6.total))
    }
}

impl<K: ByteKey> FamilyState<K> {
    fn count(&mut self, items: &FamilyItems<K>) {
        if items.total == 0 && items.flows.is_empty() {
            return;
        }
        if let StateKind::Values(values) = &mut self.of {
            values.update_weighed(&items.weighed_values);
        }
        self.total = self.total.saturating_add(items.total);
        match &mut self.of {
            StateKind::Counted(counted) => counted.update(&items.flows),
            StateKind::Contacts(contacts) => contacts.update(&items.contacts),
            StateKind::Values(values) => values.update(&items.values),
            StateKind::Products(products) => products.update(&items.flows),
            StateKind::Shared(part) => part.update(&items.flows),
        }
    }

    fn settled(&self) -> Result<Option<Self>, SketchError> {
        let StateKind::Shared(part) = &self.of else { return Ok(None) };
        let of = StateKind::Counted(Box::new(part.settled()?));
        Ok(Some(Self { of, total: self.total, memory: None }))
    }

    /// Makes room for the items, as far as there is memory. What finds no room is counted as such.
    fn make_room(&mut self, items: &FamilyItems<K>) {
        let Some(memory) = &mut self.memory else { return };
        match &mut self.of {
            StateKind::Counted(counted) => counted.make_room(items.flows.len(), memory),
            StateKind::Contacts(contacts) => contacts.make_room(items.contacts.len(), memory),
            StateKind::Values(values) => values.make_room(items.weighed_values.len(), memory),
            StateKind::Products(products) => products.make_room(items.flows.len(), memory),
            // What is shared does not grow.
            StateKind::Shared(_) => {}
        }
    }

    fn is_exact(&self) -> bool {
        match &self.of {
            StateKind::Counted(counted) => counted.is_exact(),
            StateKind::Contacts(contacts) => contacts.is_exact(),
            StateKind::Values(values) => values.is_exact(),
            StateKind::Products(products) => products.is_exact(),
            StateKind::Shared(_) => false,
        }
    }

    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        match (&mut self.of, &other.of) {
            (StateKind::Counted(ours), StateKind::Counted(theirs)) => ours.merge(theirs)?,
            (StateKind::Contacts(ours), StateKind::Contacts(theirs)) => ours.merge(theirs)?,
            (StateKind::Values(ours), StateKind::Values(theirs)) => ours.merge(theirs)?,
            (StateKind::Products(ours), StateKind::Products(theirs)) => ours.merge(theirs)?,
            (StateKind::Shared(ours), StateKind::Shared(theirs)) => ours.merge(theirs)?,
            (ours, theirs) => return Err(Unmergeable::new(ours.kind(), theirs.kind())),
        }
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }

    fn reset(&mut self) {
        self.total = 0;
        match &mut self.of {
            StateKind::Counted(counted) => counted.reset(),
            StateKind::Contacts(contacts) => contacts.reset(),
            StateKind::Values(values) => values.reset(),
            StateKind::Products(products) => products.reset(),
            StateKind::Shared(part) => part.reset(),
        }
    }

    fn most_unlisted(&self, known: u64) -> Option<u64> {
        match &self.of {
            StateKind::Counted(counted) => counted.most_unlisted(known),
            StateKind::Contacts(contacts) => contacts.most_unlisted(known),
            StateKind::Values(_) | StateKind::Products(_) | StateKind::Shared(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        match &self.of {
            StateKind::Counted(counted) => counted.bytes(),
            StateKind::Contacts(contacts) => contacts.bytes(),
            StateKind::Values(values) => values.bytes(),
            StateKind::Products(products) => products.bytes(),
            StateKind::Shared(part) => part.bytes(),
        }
    }
}
