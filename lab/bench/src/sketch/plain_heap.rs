//! SpaceSaving in a heap as published (Alipourfard et al., HotNets 2015, section 2): a hash map by one
//! murmur3 finds a flow's counter, packet by packet.

use super::contender::Contender;
use super::stream::SketchStream;
use crate::murmur3::library_murmur3;
use crate::tuple::Tuple;
use hashbrown::HashMap;
use packet::KeyV4;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A flow as the map hashes it: its 13 bytes at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FlowTuple(Tuple);

impl Hash for FlowTuple {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(self.0.bytes());
    }
}

#[derive(Default)]
struct Murmur3(u32);

impl Hasher for Murmur3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = library_murmur3(bytes, 1);
    }

    /// The map takes its tags from the upper bits.
    fn finish(&self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

#[derive(Clone, Copy)]
struct PlainHeapNode {
    count: u32,
    /// The counter's number, which does not change when the node moves.
    number: u32,
}

pub(super) struct PlainHeap {
    numbers: HashMap<FlowTuple, u32, BuildHasherDefault<Murmur3>>,
    /// The flow of each counter, by number; `None` if no flow has taken the counter yet.
    flows: Vec<Option<FlowTuple>>,
    /// The place of each counter's node, by number.
    places: Vec<u32>,
    /// A heap with the least on top.
    nodes: Vec<PlainHeapNode>,
}

impl PlainHeap {
    pub(super) fn new(capacity: usize) -> Self {
        let mut heap = Self {
            numbers: HashMap::with_capacity_and_hasher(capacity, BuildHasherDefault::default()),
            flows: vec![None; capacity],
            places: Vec::with_capacity(capacity),
            nodes: Vec::with_capacity(capacity),
        };
        heap.reset();
        heap
    }

    /// The flow's counter: its own, or the least one.
    #[inline(always)]
    fn number_of(&mut self, flow: FlowTuple) -> u32 {
        if let Some(number) = self.numbers.get(&flow) {
            return *number;
        }
        let number = self.nodes[0].number;
        if let Some(before) = self.flows[number as usize].replace(flow) {
            self.numbers.remove(&before);
        }
        self.numbers.insert(flow, number);
        number
    }

    /// Adds one, and sifts the node down.
    #[inline(always)]
    fn increase(&mut self, number: u32) {
        let mut at = self.places[number as usize] as usize;
        self.nodes[at].count += 1;
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.nodes.len());
            let Some(child) = children.min_by_key(|child| self.nodes[*child].count) else { return };
            if self.nodes[child].count >= self.nodes[at].count {
                return;
            }
            self.nodes.swap(at, child);
            for place in [at, child] {
                self.places[self.nodes[place].number as usize] = place as u32;
            }
            at = child;
        }
    }
}

impl Contender for PlainHeap {
    fn name(&self) -> &'static str {
        "plain_heap"
    }

    fn is_baseline(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.numbers.clear();
        self.flows.fill(None);
        let numbers = 0..self.flows.len() as u32;
        self.places = numbers.clone().collect();
        self.nodes = numbers.map(|number| PlainHeapNode { count: 0, number }).collect();
    }

    fn count(&mut self, stream: &SketchStream) {
        for tuple in &stream.tuples {
            let number = self.number_of(FlowTuple(*tuple));
            self.increase(number);
        }
    }

    fn bytes(&self) -> usize {
        self.numbers.allocation_size()
            + size_of_val(&*self.flows)
            + size_of_val(&*self.places)
            + size_of_val(&*self.nodes)
    }

    fn estimate(&self, key: &KeyV4) -> Option<f64> {
        let number = self.numbers.get(&FlowTuple(Tuple::from_v4(key)));
        let place = number.map_or(0, |number| self.places[*number as usize] as usize);
        Some(self.nodes[place].count.into())
    }

    fn listed(&self, threshold: u64) -> Option<Vec<KeyV4>> {
        let heavy = self.nodes.iter().filter(|node| u64::from(node.count) >= threshold.max(1));
        let flow = |node: &PlainHeapNode| self.flows[node.number as usize].map(|flow| flow.0.key());
        Some(heavy.filter_map(flow).collect())
    }
}
