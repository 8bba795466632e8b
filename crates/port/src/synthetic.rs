//! Generated frames as a source: nothing is read, nothing can be lost.

use crate::{
    Burst, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, SourceProgress, SourceSetting,
    TimeBase,
};
use notation::SpecError;
use packet::LinkType;
use traffic::{Generator, TrafficSpec};

/// Frames of a [`traffic::TrafficSpec`], generated burst by burst into memory that is reused.
#[derive(Debug)]
pub struct SyntheticSource {
    name: String,
    generator: Generator,
    /// The slots of a burst, one per frame.
    slots: Vec<u8>,
    slot_bytes: usize,
    descriptors: Vec<FrameDescriptor>,
    wire_bytes: u64,
}

impl SyntheticSource {
    /// Reads the specification; bursts of at most `burst` frames, at least one.
    ///
    /// # Errors
    /// Returns what is wrong with the specification.
    pub fn open(spec: &str, burst: usize) -> Result<Self, SourceError> {
        let parsed: TrafficSpec = spec
            .parse()
            .map_err(|error: SpecError| SourceError::Refused(SourceSetting::Synthetic, error.to_string()))?;
        Ok(Self::new(spec, Generator::new(parsed), burst))
    }

    /// A source around a generator, for instance one that counts the truth.
    pub fn new(name: &str, generator: Generator, burst: usize) -> Self {
        let burst = burst.max(1);
        // Whole cache lines, so that no two frames share one.
        let slot_bytes = generator.longest_capture().next_multiple_of(64);
        Self {
            name: name.to_owned(),
            generator,
            slots: vec![0; slot_bytes * burst],
            slot_bytes,
            descriptors: Vec::with_capacity(burst),
            wire_bytes: 0,
        }
    }

    /// The generator: its specification and what it has generated.
    pub fn generator(&self) -> &Generator {
        &self.generator
    }
}

impl PacketSource for SyntheticSource {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        self.descriptors.clear();
        for slot in self.slots.chunks_exact_mut(self.slot_bytes) {
            let Some(frame) = self.generator.next_frame(slot) else { break };
            self.wire_bytes += u64::from(frame.wire_len);
            self.descriptors.push(FrameDescriptor {
                data: slot.as_ptr(),
                time_ns: frame.time_ns,
                captured: frame.captured,
                wire_len: frame.wire_len,
                link: LinkType::Ethernet,
                stripped_vlan: None,
                rss_hash: None,
            });
        }
        if self.descriptors.is_empty() {
            return Ok(Poll::Ended);
        }
        // SAFETY: each descriptor points to its own slot, of which the generator has just written the first
        // `captured` bytes; the slots are neither written nor freed while the burst borrows `self`.
        Ok(Poll::Burst(unsafe { Burst::new(&self.descriptors) }))
    }

    fn time_base(&self) -> TimeBase {
        TimeBase::Packets
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        Some(Vec::new())
    }

    fn progress(&self) -> Option<SourceProgress> {
        Some(SourceProgress { done: self.wire_bytes, total: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "packets=1000,flows=100,size=64:1/1518:1,ipv6=50%,seed=5,plant=elephant";

    #[test]
    fn bursts_carry_the_generators_frames() {
        let mut generator = Generator::new(SPEC.parse().unwrap());
        let mut source = SyntheticSource::open(SPEC, 64).unwrap();
        assert_eq!(source.name(), SPEC);
        let mut buffer = [0; 1518];
        let mut bursts = 0;
        while let Poll::Burst(burst) = source.rx_burst().unwrap() {
            bursts += 1;
            assert!(burst.len() <= 64);
            for frame in burst.frames() {
                let expected = generator.next_frame(&mut buffer).unwrap();
                assert_eq!(frame.data, &buffer[..expected.captured as usize]);
                assert_eq!((frame.wire_len, frame.time_ns), (expected.wire_len, expected.time_ns));
            }
        }
        assert_eq!(bursts, 1000usize.div_ceil(64));
        assert_eq!(generator.next_frame(&mut buffer), None);
        assert!(matches!(source.rx_burst(), Ok(Poll::Ended)));
        assert_eq!(source.lost(), Some(Vec::new()));
        assert_eq!(source.generator().generated(), 1000);
    }

    #[test]
    fn a_wrong_specification_is_wrong_usage() {
        let error = SyntheticSource::open("packets=1,flow=2", 32).unwrap_err();
        assert!(
            matches!(&error, SourceError::Refused(SourceSetting::Synthetic, text) if text.contains("flows")),
            "{error}"
        );
    }

    #[test]
    fn a_burst_of_none_is_one() {
        let mut source = SyntheticSource::open("packets=2", 0).unwrap();
        assert!(matches!(source.rx_burst(), Ok(Poll::Burst(burst)) if burst.len() == 1));
    }
}
