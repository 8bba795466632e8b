//! A prefix tree that zooms: counters for as many prefixes as there is room for, finer where there is traffic or where it changes (Khan, Hosein,
//! Chuah, Ghiasi, "Streaming solutions for fine-grained network traffic measurements and analysis", ANCS 2011; Zhang, "An adaptive flow counting
//! method for anomaly detection in SDN", CoNEXT 2013; Moshref, Yu, Govindan, "Resource/accuracy tradeoffs in software-defined measurement",
//! HotSDN 2013).

use packet::Seed;
use sketch::{Configuration, SketchError, Summary, Update, UpdateBurst};
use std::fmt;

/// Leaves of a binary tree over numbers of 32 bits (addresses), each a prefix with its exact count of a window. Together they cover all
/// numbers.
///
/// [`turn`](Self::turn) ends a window: leaves that are heavy, or in a part of the tree that changed, are split by some bits; leaves that are
/// neither, and have not half of what makes one heavy, give their room back. So a flow is named some windows after it became heavy, and a change no finer than the tree was in both
/// windows. What is named is exact.
#[derive(Clone, Debug)]
pub struct ZoomTree {
    config: ZoomConfig,
    /// The leaves of this window, by their first number.
    leaves: Vec<ZoomLeaf>,
    /// The leaves of the window before; none in the first one.
    before: Vec<ZoomLeaf>,
    /// The leaves of the next window, while they are put together.
    next: Vec<ZoomLeaf>,
}

/// The sizes of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoomConfig {
    /// The most leaves: 256 to 2^24.
    pub leaves: usize,
    /// Bits by which a leaf is split: 1 to 8.
    pub stride: u32,
    /// The seed, which is not used, as nothing is drawn.
    pub seed: Seed,
}

/// A prefix: its first number, and its length in bits, 0 to 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoomPrefix {
    /// The first number.
    pub first: u32,
    /// The number of leading bits that all its numbers have in common.
    pub length: u8,
}

impl ZoomPrefix {
    /// The end of its numbers, which is none of them.
    fn end(self) -> u64 {
        u64::from(self.first) + (1 << (BITS - self.length))
    }

    /// The other half of the prefix that is one bit shorter is the one that follows.
    fn is_before_sibling(self, other: Self) -> bool {
        self.length == other.length
            && self.end() == u64::from(other.first)
            && self.first >> (BITS - self.length) & 1 == 0
    }

    /// True if it has this number.
    pub fn has(self, number: u32) -> bool {
        (u64::from(self.first)..self.end()).contains(&u64::from(number))
    }
}

/// The answer of a window that ended. Counts and changes are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoomAnswer {
    /// Leaves with the threshold or more; those of 32 bits are single numbers.
    pub heavy: Vec<(ZoomPrefix, u64)>,
    /// The smallest prefixes that were counted in this window and in the one before it, of those that changed by the threshold or more.
    pub changes: Vec<(ZoomPrefix, i64)>,
    /// Leaves that were to be split, for which there was no room.
    pub without_room: usize,
}

const BITS: u8 = 32;

#[derive(Clone, Copy, Debug, Default)]
struct ZoomLeaf {
    prefix: ZoomPrefix,
    is_wanted: bool,
    count: u64,
}

impl ZoomConfig {
    const KIND: &'static str = "zooming tree";
    const LEAST: usize = 256;
    const MOST: usize = 1 << 24;
    const DEFAULT_STRIDE: u32 = 4;

    fn check(&self) -> Result<(), SketchError> {
        let size =
            |what, asked, least, most| SketchError::Size { kind: Self::KIND, what, asked, least, most };
        if !(Self::LEAST..=Self::MOST).contains(&self.leaves) {
            return Err(size("number of leaves", self.leaves, Self::LEAST, Self::MOST));
        }
        if !(1..=8).contains(&self.stride) {
            return Err(size("stride in bits", self.stride as usize, 1, 8));
        }
        Ok(())
    }
}

impl Configuration for ZoomConfig {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let leaves = (bytes / (3 * size_of::<ZoomLeaf>())).min(Self::MOST);
        let config = Self { leaves, stride: Self::DEFAULT_STRIDE, seed };
        if leaves < Self::LEAST {
            let least = Self { leaves: Self::LEAST, ..config }.bytes();
            return Err(SketchError::TooLittleMemory { kind: Self::KIND, bytes, least });
        }
        Ok(config)
    }

    fn bytes(&self) -> usize {
        3 * self.leaves * size_of::<ZoomLeaf>()
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl fmt::Display for ZoomConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (number of leaves {}, stride {})", Self::KIND, self.leaves, self.stride)
    }
}

/// A prefix that two windows counted, and what each did.
struct CommonPrefix {
    prefix: ZoomPrefix,
    now: u64,
    before: u64,
    /// Leaves of this window in it.
    leaves: usize,
}

/// The smallest prefixes that are unions of leaves on both sides: at each place the larger of the two.
fn common<'a>(now: &'a [ZoomLeaf], before: &'a [ZoomLeaf]) -> impl Iterator<Item = CommonPrefix> + 'a {
    let (mut now, mut before) = (now.iter().peekable(), before.iter().peekable());
    std::iter::from_fn(move || {
        let (ours, theirs) = (now.peek()?.prefix, before.peek()?.prefix);
        let prefix = if ours.length <= theirs.length { ours } else { theirs };
        let mut common = CommonPrefix { prefix, now: 0, before: 0, leaves: 0 };
        while let Some(leaf) = now.next_if(|leaf| prefix.has(leaf.prefix.first)) {
            common.now += leaf.count;
            common.leaves += 1;
        }
        while let Some(leaf) = before.next_if(|leaf| prefix.has(leaf.prefix.first)) {
            common.before += leaf.count;
        }
        Some(common)
    })
}

impl ZoomTree {
    /// Returns the sum of all weights of the window.
    pub fn total(&self) -> u64 {
        self.leaves.iter().map(|leaf| leaf.count).sum()
    }

    /// Ends a window: answers by the thresholds of weights from which on a prefix is heavy, or changed against the window before, and zooms.
    pub fn turn(&mut self, heavy: u64, changed: u64) -> ZoomAnswer {
        let mut answer = ZoomAnswer::default();
        self.leaves.iter_mut().for_each(|leaf| leaf.is_wanted = leaf.count >= heavy);
        let named = self.leaves.iter().filter(|leaf| leaf.is_wanted);
        answer.heavy = named.map(|leaf| (leaf.prefix, leaf.count)).collect();
        let mut at = 0;
        let mut changes = Vec::new();
        for CommonPrefix { prefix, now, before, leaves } in common(&self.leaves, &self.before) {
            let has_changed = now.abs_diff(before) >= changed;
            if has_changed {
                answer.changes.push((prefix, now.wrapping_sub(before) as i64));
                changes.push(at..at + leaves);
            }
            at += leaves;
        }
        for leaf in changes.into_iter().flatten() {
            self.leaves[leaf].is_wanted = true;
        }
        // Half: what is heavy in most windows is not forgotten in one.
        self.collapse(heavy.div_ceil(2));
        answer.without_room = self.split();
        std::mem::swap(&mut self.before, &mut self.leaves);
        std::mem::swap(&mut self.leaves, &mut self.next);
        answer
    }

    /// Puts leaves into `next`, both halves of a prefix as one as long as neither is wanted and they have less than `kept` together.
    fn collapse(&mut self, kept: u64) {
        let next = &mut self.next;
        next.clear();
        for leaf in &self.leaves {
            let mut leaf = *leaf;
            while let Some(last) = next.last() {
                let is_quiet = !last.is_wanted && !leaf.is_wanted && last.count + leaf.count < kept;
                if !is_quiet || !last.prefix.is_before_sibling(leaf.prefix) {
                    break;
                }
                leaf.prefix = ZoomPrefix { first: last.prefix.first, length: leaf.prefix.length - 1 };
                leaf.count += last.count;
                next.pop();
            }
            next.push(leaf);
        }
    }

    /// Splits what is wanted, the heaviest first, as long as there is room; returns how many are not, and empties the leaves.
    fn split(&mut self) -> usize {
        let is_open = |leaf: &ZoomLeaf| leaf.is_wanted && leaf.prefix.length < BITS;
        let mut wanted: Vec<(u64, usize)> = self
            .next
            .iter()
            .enumerate()
            .filter(|(_, leaf)| is_open(leaf))
            .map(|(at, leaf)| (leaf.count, at))
            .collect();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        let mut room = self.config.leaves - self.next.len();
        let (mut chosen, mut without) = (vec![false; self.next.len()], 0);
        for (_, at) in wanted {
            let more = (1 << self.bits_of(self.next[at].prefix)) - 1;
            if more <= room {
                room -= more;
                chosen[at] = true;
            } else {
                without += 1;
            }
        }
        // From the end, so that no leaf is overwritten before it was split.
        let old = self.next.len();
        let used = self.config.leaves - room;
        self.next.resize(used, ZoomLeaf::default());
        let mut to = used;
        for at in (0..old).rev() {
            let prefix = self.next[at].prefix;
            let bits = if chosen[at] { self.bits_of(prefix) } else { 0 };
            for part in (0..1_u64 << bits).rev() {
                let length = prefix.length + bits as u8;
                // The part times its size: below the end of the prefix, so that it fits.
                let first = (u64::from(prefix.first) + (part << (BITS - length))) as u32;
                to -= 1;
                self.next[to] = ZoomLeaf { prefix: ZoomPrefix { first, length }, ..ZoomLeaf::default() };
            }
        }
        without
    }

    /// The bits by which a prefix is split.
    fn bits_of(&self, prefix: ZoomPrefix) -> u32 {
        self.config.stride.min(u32::from(BITS - prefix.length))
    }
}

fn room(leaves: usize) -> Result<Vec<ZoomLeaf>, SketchError> {
    let mut room = Vec::new();
    room.try_reserve_exact(leaves)
        .map_err(|_| SketchError::OutOfMemory { bytes: leaves * size_of::<ZoomLeaf>() })?;
    Ok(room)
}

impl Summary for ZoomTree {
    type Configuration = ZoomConfig;

    fn new(config: &ZoomConfig) -> Result<Self, SketchError> {
        config.check()?;
        let mut leaves = room(config.leaves)?;
        leaves.push(ZoomLeaf::default());
        Ok(Self { config: config.clone(), leaves, before: room(config.leaves)?, next: room(config.leaves)? })
    }

    fn configuration(&self) -> &ZoomConfig {
        &self.config
    }

    fn reset(&mut self) {
        self.before.clear();
        self.leaves.clear();
        self.leaves.push(ZoomLeaf::default());
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

/// Keys are numbers of 32 bits.
impl UpdateBurst<u64> for ZoomTree {
    fn update_burst(&mut self, burst: &[Update<u64>]) {
        for update in burst {
            let after = self.leaves.partition_point(|leaf| u64::from(leaf.prefix.first) <= update.key);
            // The first leaf begins at 0.
            let count = &mut self.leaves[after - 1].count;
            *count = count.saturating_add(update.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn config(leaves: usize, stride: u32) -> ZoomConfig {
        ZoomConfig { leaves, stride, seed: Seed::new(1) }
    }

    fn tree(leaves: usize, stride: u32) -> ZoomTree {
        ZoomTree::new(&config(leaves, stride)).expect("a tree")
    }

    fn count(tree: &mut ZoomTree, window: &HashMap<u32, u64>) {
        let update = |(key, weight): (&u32, &u64)| Update { key: u64::from(*key), hash: 0, weight: *weight };
        tree.update_burst(&window.iter().map(update).collect::<Vec<_>>());
    }

    /// Some heavy numbers, the same in each window, and others that differ.
    fn window(number: u64) -> HashMap<u32, u64> {
        let mut state = 77 + number;
        let mut window: HashMap<u32, u64> = HashMap::new();
        for _ in 0..5_000 {
            *window.entry((packet::split_mix(&mut state) >> 32) as u32).or_default() += 1;
        }
        [(0, 700), (0xc000_0201, 500), (0xc000_0202, 900), (u32::MAX, 300)]
            .into_iter()
            .for_each(|(number, weight)| *window.entry(number).or_default() += weight);
        window
    }

    fn sum(window: &HashMap<u32, u64>, prefix: ZoomPrefix) -> u64 {
        window.iter().filter(|(number, _)| prefix.has(**number)).map(|(_, weight)| weight).sum()
    }

    /// Leaves cover each number once, and what is named is exact, in every window.
    #[test]
    fn counts_and_changes_are_exact_in_every_window() {
        for (leaves, stride) in [(256, 1), (256, 8), (2_000, 4), (300, 5)] {
            let mut tree = tree(leaves, stride);
            let mut before: Option<HashMap<u32, u64>> = None;
            for number in 0..40 {
                let mut now = window(number);
                if (15..25).contains(&number) {
                    now.insert(0x0a00_0001, 1_000);
                }
                count(&mut tree, &now);
                assert_eq!(tree.total(), now.values().sum::<u64>());
                assert!(tree.leaves.len() <= leaves);
                let ends = tree.leaves.iter().map(|leaf| leaf.prefix.end());
                let firsts = tree.leaves.iter().map(|leaf| u64::from(leaf.prefix.first));
                assert!([0].into_iter().chain(ends).eq(firsts.chain([1 << 32])), "leaves follow each other");
                let answer = tree.turn(250, 400);
                for (prefix, weight) in &answer.heavy {
                    assert_eq!((sum(&now, *prefix), *weight >= 250), (*weight, true), "{prefix:?}");
                }
                for (prefix, change) in &answer.changes {
                    let truth = sum(&now, *prefix) as i64
                        - before.as_ref().map_or(0, |before| sum(before, *prefix)) as i64;
                    assert_eq!((truth, change.abs() >= 400), (*change, true), "{prefix:?}");
                }
                // One came and went, by more than the others differ.
                let is_seen = answer.changes.iter().any(|(prefix, _)| prefix.has(0x0a00_0001));
                assert_eq!(is_seen, number == 15 || number == 25, "{leaves} {stride} {number}: {answer:?}");
                if number == 25 && leaves == 2_000 {
                    let single = ZoomPrefix { first: 0x0a00_0001, length: 32 };
                    assert!(answer.changes.iter().any(|(prefix, _)| *prefix == single), "{answer:?}");
                }
                before = Some(now);
            }
        }
    }

    #[test]
    fn heavy_numbers_are_named_when_the_tree_has_got_there() {
        for (stride, windows) in [(1, 32), (4, 8), (8, 4), (5, 7)] {
            let mut tree = tree(4_096, stride);
            let singles = |tree: &mut ZoomTree| {
                count(tree, &window(1));
                let heavy = tree.turn(250, u64::MAX).heavy;
                heavy
                    .into_iter()
                    .filter(|(prefix, _)| prefix.length == 32)
                    .map(|(prefix, _)| prefix.first)
                    .collect::<Vec<_>>()
            };
            for window in 0..windows {
                assert_eq!(singles(&mut tree), Vec::<u32>::new(), "{stride} {window}");
            }
            assert_eq!(singles(&mut tree), [0, 0xc000_0201, 0xc000_0202, u32::MAX]);
            assert_eq!(singles(&mut tree).len(), 4);
            // Without them their leaves are given back.
            let before = tree.leaves.len();
            count(&mut tree, &HashMap::from([(5, 1)]));
            tree.turn(250, u64::MAX);
            assert!(before > 40 && tree.leaves.len() == 1, "{before}, then {}", tree.leaves.len());
        }
    }

    #[test]
    fn sizes_resets_and_refusals() {
        assert!(ZoomTree::new(&config(255, 4)).is_err() && ZoomTree::new(&config(256, 9)).is_err());
        assert!(ZoomTree::new(&config(256, 0)).is_err());
        crate::oracle::check_sizes::<ZoomTree>();
        let mut used = tree(256, 4);
        for number in 0..5 {
            count(&mut used, &window(number));
            used.turn(250, 400);
        }
        used.reset();
        let mut new = tree(256, 4);
        for number in 5..9 {
            count(&mut used, &window(number));
            count(&mut new, &window(number));
            assert_eq!(used.turn(250, 400), new.turn(250, 400));
        }
        // No room is said.
        let mut small = tree(256, 8);
        let spread: HashMap<u32, u64> = (0..64).map(|number| (number << 26, 300)).collect();
        count(&mut small, &spread);
        assert_eq!(small.turn(250, u64::MAX).without_room, 0);
        count(&mut small, &spread);
        assert!(small.turn(250, u64::MAX).without_room > 0);
    }
}
