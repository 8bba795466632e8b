//! A port fed from memory: each pass hands out every frame once, in order, from the same mbufs.
use port::dpdk::{Eal, EalConfig, RingPort};
use port::{PacketSource, Poll};
use testbed::process::alone;

#[test]
fn each_pass_gives_every_frame_once() {
    alone(|| {
        let frames: Vec<Vec<u8>> = (0..5000_u32)
            .map(|n| n.to_be_bytes().into_iter().cycle().take(60 + n as usize % 100).collect())
            .collect();
        let config =
            EalConfig { memory_bytes: RingPort::memory_bytes(frames.len() as u64), ..EalConfig::default() };
        let eal = Eal::init(&config).expect("EAL starts");
        let mut port = RingPort::new(&eal, &frames, 64).expect("net_ring opens");
        assert!(matches!(port.source().rx_burst(), Ok(Poll::Idle)), "empty before the first refill");
        // Whole passes, and passes that stop half-way.
        for take in [usize::MAX, usize::MAX, 0, 100, 4990, usize::MAX] {
            port.refill().expect("all mbufs are back");
            let mut number = 0;
            while number < take {
                match port.source().rx_burst().expect("the port works") {
                    Poll::Burst(burst) => {
                        for frame in burst.frames() {
                            assert_eq!(frame.data, frames[number], "frame {number}");
                            assert_eq!(frame.wire_len as usize, frames[number].len());
                            number += 1;
                        }
                    }
                    Poll::Idle => break,
                    Poll::Ended => panic!("a port does not end"),
                }
            }
            assert!(number >= take.min(frames.len()), "{number} of {take}");
        }
        // A second port in the same EAL, while the first one is open.
        let mut other = RingPort::new(&eal, &frames[..1], 64).expect("a second ring");
        other.refill().expect("its mbuf is there");
        assert!(matches!(other.source().rx_burst(), Ok(Poll::Burst(burst)) if burst.len() == 1));
    });
}
