//! Who reaches how many others within a minute, and who is reached by how many.

use crate::group_key::{GroupKey, address, number};
use crate::traffic::{PairState, Traffic};
use arena::Limits;
use flowtable::{GroupTable, NO_GROUP};
use packet::Seed;
use std::net::IpAddr;

/// The pairs that are looked up together.
const TOGETHER: usize = 256;
/// The number of sources and of destinations that are kept of a minute.
pub(crate) const REACHING: usize = 100;

/// An address, and how many others it reaches or is reached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peers {
    pub(crate) key: GroupKey,
    pub(crate) peers: u64,
    /// Of a source: those that sent nothing back.
    pub(crate) silent: u64,
}

/// A source that sends to many ports of one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortsReached {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// The ports that are certainly different.
    pub(crate) ports: u32,
}

/// The addresses of a minute that reach most others, or are reached by most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) sources: Vec<Peers>,
    /// The most destinations that any other source has.
    pub(crate) other_sources: u64,
    pub(crate) destinations: Vec<Peers>,
    /// The most sources that any other destination has.
    pub(crate) other_destinations: u64,
    /// The pairs with the most ports.
    pub(crate) ports: Vec<PortsReached>,
    /// The most ports of any other pair.
    pub(crate) other_ports: u32,
    /// True if there was no room for all pairs: there may be more of all.
    pub(crate) is_cut: bool,
}

impl Reach {
    pub(crate) fn memory(&self) -> usize {
        (self.sources.capacity() + self.destinations.capacity()) * size_of::<Peers>()
            + self.ports.capacity() * size_of::<PortsReached>()
    }

    /// Returns how many destinations a source had at most.
    pub(crate) fn destinations_of(&self, key: &GroupKey) -> u64 {
        self.sources.iter().find(|one| one.key == *key).map_or(self.other_sources, |one| one.peers)
    }

    /// Returns how many sources a destination had at most.
    pub(crate) fn sources_of(&self, key: &GroupKey) -> u64 {
        let known = self.destinations.iter().find(|one| one.key == *key);
        known.map_or(self.other_destinations, |one| one.peers)
    }

    /// Returns how many ports of a destination a source sent to at most.
    pub(crate) fn ports_of(&self, from: IpAddr, to: IpAddr) -> u32 {
        let known = self.ports.iter().find(|one| one.from == from && one.to == to);
        known.map_or(self.other_ports, |one| one.ports)
    }

    /// Replaces addresses.
    pub(crate) fn map(&mut self, f: &mut dyn FnMut(IpAddr) -> IpAddr) {
        for one in self.sources.iter_mut().chain(&mut self.destinations) {
            one.key = one.key.map(f);
        }
        for one in &mut self.ports {
            (one.from, one.to) = (f(one.from), f(one.to));
        }
    }
}

/// Some ways from one address to another, which are looked up together.
#[derive(Debug, Default)]
struct Ways {
    from: Vec<[u64; 2]>,
    to: Vec<[u64; 2]>,
    /// True if nothing was sent back.
    is_silent: Vec<bool>,
    found: Vec<u32>,
}

impl Ways {
    fn push(&mut self, from: [u64; 2], to: [u64; 2], is_silent: bool) {
        self.from.push(from);
        self.to.push(to);
        self.is_silent.push(is_silent);
    }

    /// Counts the ways at both ends, and forgets them. Returns true if there was no room for one.
    fn count(&mut self, sources: &mut GroupTable<2>, destinations: &mut GroupTable<2>) -> bool {
        let Self { from, to, is_silent, found } = self;
        let mut is_cut = false;
        for (table, keys) in [(sources, from), (destinations, to)] {
            table.groups(keys, found);
            for (&group, is_silent) in found.iter().zip(&*is_silent) {
                if group == NO_GROUP {
                    is_cut = true;
                    continue;
                }
                let own = table.state_mut(group);
                own[0] += 1;
                own[1] += u64::from(*is_silent);
            }
            keys.clear();
        }
        is_silent.clear();
        is_cut
    }
}

/// Counts who reaches whom, pair by pair. A pair counts once, however often it is added.
#[derive(Debug)]
pub(crate) struct ReachCounter {
    pairs: GroupTable<4>,
    sources: GroupTable<2>,
    destinations: GroupTable<2>,
    most: usize,
    is_cut: bool,
}

impl ReachCounter {
    pub(crate) fn new(most: usize, seed: Seed, limits: &Limits) -> Self {
        Self {
            pairs: GroupTable::new(&[0; 5], seed, limits),
            sources: GroupTable::new(&[0; 2], seed, limits),
            destinations: GroupTable::new(&[0; 2], seed, limits),
            most,
            is_cut: false,
        }
    }

    /// Adds the pairs of a step, or of a part of it.
    pub(crate) fn add(&mut self, traffic: &Traffic) {
        let (mut keys, mut states) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
        traffic.for_each_pair(|key, state| {
            keys.push(*key);
            states.push(state);
            if keys.len() == TOGETHER {
                self.add_pairs(&keys, &states);
                keys.clear();
                states.clear();
            }
        });
        self.add_pairs(&keys, &states);
    }

    fn add_pairs(&mut self, keys: &[[u64; 4]], states: &[PairState]) {
        let mut found = Vec::new();
        match self.pairs.len() + keys.len() <= self.most {
            true => self.pairs.groups(keys, &mut found),
            false => self.pairs.known_groups(keys, &mut found),
        }
        for (group, state) in found.into_iter().zip(states) {
            if group == NO_GROUP {
                self.is_cut = true;
                continue;
            }
            let own = self.pairs.state_mut(group);
            own.copy_from_slice(&PairState::from_words(own).join(*state).words());
        }
    }

    /// Returns those that reach most. Nothing is removed.
    pub(crate) fn counted(&mut self) -> Reach {
        self.sources.clear();
        self.destinations.clear();
        let mut reach = Reach { is_cut: self.is_cut, ..Reach::default() };
        let mut ports = Vec::new();
        let mut ways = Ways::default();
        for group in 0..self.pairs.len() as u32 {
            let [a, b, c, d] = *self.pairs.key(group);
            let ends = [[a, b], [c, d]];
            let state = PairState::from_words(self.pairs.state(group));
            for way in [0, 1] {
                let (from, to) = (ends[way], ends[1 - way]);
                if !state.has_sent[way] {
                    continue;
                }
                ways.push(from, to, !state.has_sent[1 - way]);
                let different = state.ports[way].count_ones();
                if different > 8 {
                    let [from, to] = [from, to].map(|half| address(number(half)));
                    ports.push(PortsReached { from, to, ports: different });
                }
            }
            if ways.is_silent.len() >= TOGETHER {
                reach.is_cut |= ways.count(&mut self.sources, &mut self.destinations);
            }
        }
        reach.is_cut |= ways.count(&mut self.sources, &mut self.destinations);
        (reach.sources, reach.other_sources) = most(&self.sources);
        (reach.destinations, reach.other_destinations) = most(&self.destinations);
        ports.sort_unstable_by_key(|one| (std::cmp::Reverse(one.ports), one.from, one.to));
        // Pairs with fewer ports are not listed.
        reach.other_ports = ports.get(REACHING).map_or(8, |one| one.ports);
        ports.truncate(REACHING);
        ports.shrink_to_fit();
        reach.ports = ports;
        reach
    }

    /// Begins the next minute.
    pub(crate) fn clear(&mut self) {
        self.pairs.clear();
        self.is_cut = false;
    }
}

/// Returns the addresses with the most peers, and how many any other one has at most.
fn most(table: &GroupTable<2>) -> (Vec<Peers>, u64) {
    let mut all: Vec<u32> = (0..table.len() as u32).collect();
    let by = |group: &u32| (std::cmp::Reverse(table.state(*group)[0]), *table.key(*group));
    let mut others = 0;
    if all.len() > REACHING {
        let (_, next, _) = all.select_nth_unstable_by_key(REACHING, by);
        others = table.state(*next)[0];
        all.truncate(REACHING);
    }
    all.sort_unstable_by_key(by);
    let peers = all.into_iter().map(|group| {
        let state = table.state(group);
        Peers {
            key: GroupKey::Address(address(number(*table.key(group)))),
            peers: state[0],
            silent: state[1],
        }
    });
    (peers.collect(), others)
}
