//! Frames that are parsed and handed over many at a time give what one at a time gives: a run with a filter that lets everything pass looks at
//! each frame by itself.

use crate::support::{Recorder, Run, config, plan, same_answers};
use engine::{Every, MeasurementConfig, ResolvedDesign, Split, StatePlacement};
use flowtable::Timeouts;
use port::{CaptureSource, CaptureWriter, Filter, PacketSource, Poll, SyntheticSource};
use proptest::prelude::*;
use std::io::{self, Read};
use testbed::Random;

const MS: u64 = 1_000_000;
const ETHERNET: u16 = 1;

/// How often, once in so many, a frame is unlike the others; never for 0.
#[derive(Clone, Copy, Debug)]
struct Oddities {
    late: u64,
    ahead: u64,
    fragment: u64,
    tagged: u64,
    garbled: u64,
}

/// A capture whose bytes come in pieces, so that bursts are of any length.
struct InPieces {
    bytes: Vec<u8>,
    at: usize,
    random: Random,
}

impl Read for InPieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = 1 + self.random.below(9_000) as usize;
        let count = piece.min(buffer.len()).min(self.bytes.len() - self.at);
        buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Generated traffic with odd frames in between, as a capture.
fn capture(packets: u64, seed: u64, odd: Oddities) -> Vec<u8> {
    let spec = format!("packets={packets},flows=60,seed={seed},ipv6=10%,rate=2000,tcp=handshake");
    let mut source = SyntheticSource::open(&spec, 64).expect("a good specification");
    let mut writer = CaptureWriter::new(Vec::new(), ETHERNET, 1 << 16).expect("memory takes it");
    let mut random = Random::new(seed);
    while let Poll::Burst(burst) = source.rx_burst().expect("generated") {
        for frame in burst.frames() {
            let (mut data, mut time_ns) = (frame.data.to_vec(), frame.time_ns);
            if random.once_in(odd.late) {
                time_ns -= random.below(30 * MS);
            }
            if random.once_in(odd.ahead) {
                time_ns += 7_200_000_000_000;
            }
            if random.once_in(odd.fragment) {
                // More of them, or the second one.
                data[if random.once_in(2) { 20 } else { 21 }] |= 0x20;
            }
            if random.once_in(odd.tagged) {
                data.splice(12..12, [0x81, 0, 0, 7]);
            }
            if random.once_in(odd.garbled) {
                data.truncate(10 + random.below(50) as usize);
            }
            let wire_len = frame.wire_len.max(data.len() as u32);
            writer.write(time_ns, &data, wire_len).expect("memory takes it");
        }
    }
    writer.finish().expect("memory takes it")
}

fn measure(
    bytes: &[u8],
    seed: u64,
    filter: Option<&Filter>,
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
) -> Run {
    let reader = InPieces { bytes: bytes.to_vec(), at: 0, random: Random::new(seed) };
    let source = CaptureSource::from_reader("pieces", Box::new(reader), None, config.burst);
    let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
    let run = Run::new(&mut sources, filter, config, plan, Recorder::new(|_, _| ()));
    run.is_consistent();
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(48), ..ProptestConfig::default() })]

    #[test]
    fn many_at_a_time_are_those_one_at_a_time(
        (packets, seed, reads) in (1u64..1500, any::<u32>(), any::<u64>()),
        (late, ahead, fragment, tagged, garbled) in (0u64..20, 0u64..200, 0u64..10, 0u64..10, 0u64..10),
        (burst, hand_over_batches, workers) in (1usize..300, 1usize..4, 0usize..5),
        (window_us, idle_us, has_timeouts) in (500u64..400_000, 1000u64..300_000, any::<bool>()),
    ) {
        let odd = Oddities { late, ahead, fragment, tagged, garbled };
        let bytes = capture(packets, seed.into(), odd);
        let idle_ns = if has_timeouts { idle_us * 1000 } else { u64::MAX };
        let config = MeasurementConfig {
            every: Every::Time(window_us * 1000),
            timeouts: Timeouts { idle_ns, active_ns: idle_ns },
            burst,
            hand_over_batches,
            ..config()
        };
        let all = Filter::new("greater 0").expect("a good filter");
        let one_by_one = measure(&bytes, 1, Some(&all), &config, &ResolvedDesign::single());
        prop_assert_eq!(one_by_one.outcome.ended.packets.received, packets);
        let design = if workers == 0 { plan("rss/1") } else { plan(&format!("1x{workers}")) };
        same_answers(&one_by_one, &measure(&bytes, reads, None, &config, &design), &format!("{odd:?}"));
        if workers > 1 && !has_timeouts {
            let design = ResolvedDesign { split: Split::Position, state: StatePlacement::Separate, ..design };
            let what = format!("{odd:?}, split by position");
            same_answers(&one_by_one, &measure(&bytes, reads, None, &config, &design), &what);
        }
    }
}
