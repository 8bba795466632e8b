//! Counters in a binary heap, the least on top.

use super::PriorityQueue;
use crate::SketchError;
use crate::memory::{filled, prefetch};

/// A heap of counters, the order of [`SpaceSavingHeap`](super::SpaceSavingHeap).
#[derive(Clone, Debug)]
pub struct Heap {
    nodes: Box<[HeapNode]>,
    /// The place of each counter's node.
    places: Box<[u32]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct HeapNode {
    count: u64,
    number: u32,
}

impl PriorityQueue for Heap {
    const KIND: &'static str = "SpaceSaving with a heap";
    const BYTES: usize = size_of::<HeapNode>() + size_of::<u32>();

    fn new(capacity: usize) -> Result<Self, SketchError> {
        let mut heap = Self { nodes: filled(capacity, HeapNode::default())?, places: filled(capacity, 0)? };
        heap.set_all(std::iter::repeat_n(0, capacity));
        Ok(heap)
    }

    #[inline(always)]
    fn prefetch(&self, number: u32) {
        prefetch(&self.places, number as usize);
    }

    #[inline(always)]
    fn count(&self, number: u32) -> u64 {
        self.nodes[self.places[number as usize] as usize].count
    }

    #[inline(always)]
    fn least(&self) -> (u32, u64) {
        (self.nodes[0].number, self.nodes[0].count)
    }

    /// Sifts the node down: its children move up while they are less.
    #[inline(always)]
    fn increase(&mut self, number: u32, weight: u64) {
        let mut at = self.places[number as usize] as usize;
        let count = self.nodes[at].count.saturating_add(weight);
        loop {
            let left = 2 * at + 1;
            let Some(&first) = self.nodes.get(left) else { break };
            let (child, node) = match self.nodes.get(left + 1) {
                Some(&second) if second.count < first.count => (left + 1, second),
                _ => (left, first),
            };
            if node.count >= count {
                break;
            }
            self.nodes[at] = node;
            self.places[node.number as usize] = at as u32;
            at = child;
        }
        self.nodes[at] = HeapNode { count, number };
        self.places[number as usize] = at as u32;
    }

    fn set_all(&mut self, counts: impl Iterator<Item = u64>) {
        // What is sorted is a heap.
        for (number, count) in (0..).zip(counts) {
            self.nodes[number as usize] = HeapNode { count, number };
            self.places[number as usize] = number;
        }
    }
}
