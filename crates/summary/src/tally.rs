//! Two counts in one word, so that a packet adds to both at once and one test sees that either has left its room.

/// Packets and bytes of an open window: in the upper half 30 bits of packets, in the lower one 32 bits of bytes; above each,
/// the bit into which it spills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Tally(u64);

/// What spilled out of a [`Tally`], in units of what it can hold of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spilt {
    packets: u32,
    bytes: u32,
}

impl Spilt {
    pub(crate) const NOTHING: Self = Self { packets: 0, bytes: 0 };
}

const BYTES: u32 = 32;
/// Bits of the bytes, and the one above.
const PACKET: u32 = BYTES + 1;
const PACKETS: u32 = 63 - PACKET;
const SPILL: u64 = 1 << 63 | 1 << BYTES;

impl Tally {
    /// Of one packet.
    pub(crate) fn first(bytes: u32) -> Self {
        Self::default().plus(bytes)
    }

    /// With one packet more; it may [spill](Tally::spills).
    #[inline(always)]
    pub(crate) fn plus(self, bytes: u32) -> Self {
        // Neither sum reaches beyond the bit above it.
        Self(self.0 + u64::from(bytes) + (1 << PACKET))
    }

    /// True where a count has left its room: then it must not be kept.
    #[inline(always)]
    pub(crate) fn spills(self) -> bool {
        self.0 & SPILL != 0
    }

    /// Adds any number of packets and bytes, and to `spilt` what there is no room for.
    pub(crate) fn add(&mut self, packets: u64, bytes: u64, spilt: &mut Spilt) {
        let (held_packets, held_bytes) = (self.0 >> PACKET, self.0 & ((1 << BYTES) - 1));
        let (packets, bytes) = (held_packets + packets, held_bytes + bytes);
        spilt.packets = spilt.packets.saturating_add((packets >> PACKETS) as u32);
        spilt.bytes = spilt.bytes.saturating_add((bytes >> BYTES) as u32);
        self.0 = (packets & ((1 << PACKETS) - 1)) << PACKET | bytes & ((1 << BYTES) - 1);
    }

    /// The packets and the bytes, with what spilled.
    pub(crate) fn whole(self, spilt: Spilt) -> (u64, u64) {
        let packets = (self.0 >> PACKET) + (u64::from(spilt.packets) << PACKETS);
        let bytes = (self.0 & ((1 << BYTES) - 1)) + (u64::from(spilt.bytes) << BYTES);
        (packets, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_full_spills_and_loses_nothing() {
        let most = ((1u64 << PACKETS) - 1, (1u64 << BYTES) - 1);
        let (mut full, mut spilt) = (Tally::default(), Spilt::default());
        full.add(most.0, most.1, &mut spilt);
        assert_eq!((full.spills(), spilt), (false, Spilt::default()));
        assert!(full.plus(0).spills(), "packets");
        full.add(1, 0, &mut spilt);
        assert_eq!(full.whole(spilt), (most.0 + 1, most.1));
        assert!(!full.plus(0).spills());
        assert!(full.plus(1).spills(), "bytes");
        assert!(full.plus(u32::MAX).spills(), "bytes");
        full.add(0, 1, &mut spilt);
        assert_eq!(full.whole(spilt), (most.0 + 1, most.1 + 1));
        assert!(!full.plus(u32::MAX).spills());
    }

    proptest! {
        #[test]
        fn sums_are_whole(
            steps in prop::collection::vec((0u64..1 << 40, 0u64..1 << 50, any::<u32>()), 0..50)
        ) {
            let (mut tally, mut spilt, mut sum) = (Tally::default(), Spilt::default(), (0, 0));
            for (packets, bytes, one) in steps {
                tally.add(packets, bytes, &mut spilt);
                let next = tally.plus(one);
                if next.spills() {
                    tally.add(1, one.into(), &mut spilt);
                } else {
                    tally = next;
                }
                sum = (sum.0 + packets + 1, sum.1 + bytes + u64::from(one));
                prop_assert!(!tally.spills());
                prop_assert_eq!(tally.whole(spilt), sum);
            }
        }
    }
}
