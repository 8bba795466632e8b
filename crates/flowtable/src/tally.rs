//! Two counts in one word, so that a packet adds to both at once and one test detects anything but one more
//! packet.

use std::collections::HashMap;

/// Packets and wire bytes of a flow in the open window: in the upper half 30 bits of packets, in the lower
/// one 32 bits of bytes; above each, the bit into which it spills. Without packets it is [`FlowTally::EMPTY`],
/// which spills at the first one: so the test for rare cases also detects a flow's first packet of a window,
/// at no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct FlowTally(u64);

const BYTES: u32 = 32;
/// Bits of the bytes, and the one above.
const PACKET: u32 = BYTES + 1;
const PACKETS: u32 = 63 - PACKET;
const MOST_BYTES: u64 = (1 << BYTES) - 1;
const MOST_PACKETS: u64 = (1 << PACKETS) - 1;
const SPILL: u64 = 1 << 63 | 1 << BYTES;

impl FlowTally {
    /// The tally of no packet. As a count of packets it would be one with less than five bytes in each, which no IP packet has.
    pub(crate) const EMPTY: Self = Self(!SPILL);

    /// True without packets.
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Creates the tally of one packet.
    #[inline(always)]
    pub(crate) fn first(bytes: u32) -> Self {
        Self(u64::from(bytes) + (1 << PACKET))
    }

    /// Returns the tally with one more packet; it may [spill](FlowTally::spills).
    #[inline(always)]
    pub(crate) fn plus(self, bytes: u32) -> Self {
        // Neither sum reaches beyond the bit above it.
        Self(self.0 + u64::from(bytes) + (1 << PACKET))
    }

    /// True if a count has overflowed, or if there was none before: then the tally must not be kept.
    #[inline(always)]
    pub(crate) fn spills(self) -> bool {
        self.0 & SPILL != 0
    }

    /// The packets and the bytes that are in the word.
    fn held(self) -> (u64, u64) {
        if self.is_empty() { (0, 0) } else { (self.0 >> PACKET, self.0 & MOST_BYTES) }
    }
}

/// The VLAN and the MAC addresses of a flow's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstLinkFields {
    pub(crate) vlan: u16,
    pub(crate) macs: [u8; 12],
}

/// Rare facts of flows in the open window, by slot, kept apart so that a slot needs one cache line less. Two are kept: the counts that a tally has no
/// room for, and the VLAN and MAC addresses of the window's first packet if a later record of the flow in the same window has others. The first takes
/// 2^32 bytes within a window, 0.34 s of 100 Gbit/s. The second takes a pause longer than the idle timeout and another path after it.
#[derive(Debug, Default)]
pub(crate) struct Spills(HashMap<u32, Spilt>);

#[derive(Clone, Copy, Debug, Default)]
struct Spilt {
    packets: u64,
    bytes: u64,
    first: Option<FirstLinkFields>,
}

impl Spills {
    /// Adds any number of packets and bytes to the tally in `slot`.
    pub(crate) fn add(&mut self, slot: usize, tally: &mut FlowTally, packets: u64, bytes: u64) {
        let (held_packets, held_bytes) = tally.held();
        let (packets, bytes) = (held_packets + packets, held_bytes + bytes);
        let whole = packets << PACKET | bytes;
        if packets <= MOST_PACKETS && bytes <= MOST_BYTES && whole != FlowTally::EMPTY.0 {
            *tally = if packets == 0 { FlowTally::EMPTY } else { FlowTally(whole) };
        } else {
            // One packet stays: a tally with packets elsewhere is not empty.
            let spilt = self.0.entry(slot as u32).or_default();
            spilt.packets += packets - 1;
            spilt.bytes += bytes;
            *tally = FlowTally::first(0);
        }
    }

    /// Keeps how the window of the flow in `slot` began, unless that is known.
    pub(crate) fn begin(&mut self, slot: usize, first: FirstLinkFields) {
        self.0.entry(slot as u32).or_default().first.get_or_insert(first);
    }

    /// The packets and the bytes of the tally in `slot`, with what spilled.
    #[inline]
    pub(crate) fn whole(&self, slot: usize, tally: FlowTally) -> (u64, u64) {
        let (packets, bytes) = tally.held();
        if self.0.is_empty() {
            return (packets, bytes);
        }
        let spilt = self.0.get(&(slot as u32)).copied().unwrap_or_default();
        (packets + spilt.packets, bytes + spilt.bytes)
    }

    /// Returns whether nothing is kept of any flow.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the flow in `slot`. Returns how its window began, where that was kept.
    #[cold]
    pub(crate) fn forget(&mut self, slot: usize) -> Option<FirstLinkFields> {
        self.0.remove(&(slot as u32))?.first
    }

    /// Removes what is kept of all flows.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_full_spills_and_loses_nothing() {
        let (mut full, mut spills) = (FlowTally::EMPTY, Spills::default());
        spills.add(7, &mut full, MOST_PACKETS, MOST_BYTES - 1);
        assert!(!full.spills() && spills.0.is_empty());
        assert!(full.plus(0).spills(), "packets");
        assert!(full.plus(2).spills(), "bytes");
        // A count that would look like no packet at all is not kept in the word.
        spills.add(7, &mut full, 0, 1);
        assert!(!full.is_empty());
        assert_eq!(spills.whole(7, full), (MOST_PACKETS, MOST_BYTES));
        assert_eq!(spills.whole(8, full), (1, 0), "another slot's");
        assert!(!full.plus(0).spills());
        assert_eq!(spills.forget(7), None);
        assert!(spills.is_empty());
        assert_eq!(spills.whole(7, FlowTally::EMPTY), (0, 0));
    }

    #[test]
    fn how_a_window_began_is_kept_once() {
        let mut spills = Spills::default();
        let first = |vlan| FirstLinkFields { vlan, macs: [vlan as u8; 12] };
        spills.begin(7, first(1));
        spills.begin(7, first(2));
        assert_eq!(spills.whole(7, FlowTally::first(60)), (1, 60));
        assert_eq!(spills.forget(8), None, "another slot's");
        assert_eq!(spills.forget(7), Some(first(1)));
        assert_eq!(spills.forget(7), None);
    }

    #[test]
    fn the_first_packet_spills() {
        for bytes in [0, 1, u32::MAX] {
            assert!(FlowTally::EMPTY.plus(bytes).spills());
            assert!(!FlowTally::first(bytes).spills());
        }
        assert!(!FlowTally::EMPTY.spills());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

        #[test]
        fn sums_are_whole(
            steps in prop::collection::vec((0u64..1 << 40, 0u64..1 << 50, any::<u32>()), 0..50)
        ) {
            let (mut tally, mut spills, mut sum) = (FlowTally::EMPTY, Spills::default(), (0, 0));
            for (packets, bytes, one) in steps {
                if packets != 0 {
                    spills.add(3, &mut tally, packets, bytes);
                    sum = (sum.0 + packets, sum.1 + bytes);
                }
                let next = tally.plus(one);
                if next.spills() {
                    spills.add(3, &mut tally, 1, one.into());
                } else {
                    tally = next;
                }
                sum = (sum.0 + 1, sum.1 + u64::from(one));
                prop_assert!(!tally.spills() && !tally.is_empty());
                prop_assert_eq!(spills.whole(3, tally), sum);
            }
        }
    }
}
