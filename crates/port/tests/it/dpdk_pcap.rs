//! net_pcap over a file: each frame byte for byte, with the file's time; then idle, not ended.

use crate::dpdk_fixture::pcap_file::PcapFile;
use crate::dpdk_fixture::receive::{self, Received};
use port::{PacketSource, Poll, TimeBase};
use std::time::Duration;
use testbed::process::alone;

#[test]
fn a_file_is_replayed_with_its_own_times() {
    alone(|| {
        let frames: Vec<(u32, u32, Vec<u8>)> = (0..1000_u32)
            .map(|n| {
                let length = 14 + (n as usize * 53) % 1500;
                let frame = (0..length).map(|i| (i as u32 ^ n.wrapping_mul(31)) as u8).collect();
                // Times that also stop and go back.
                (1_700_000_000 - n % 7, n.wrapping_mul(7919) % 1_000_000, frame)
            })
            .collect();
        let file = PcapFile::new("replay", &frames);
        let devargs = format!("net_pcap0,rx_pcap={}", file.path().display());
        let mut source = receive::open(&[&devargs]).expect("net_pcap opens");
        assert_eq!(source.time_base(), TimeBase::Packets);

        let received = receive::receive(&mut source, Duration::from_millis(50));
        let expected: Vec<Received> = frames
            .iter()
            .map(|(seconds, micros, data)| Received {
                data: data.clone(),
                wire_len: data.len() as u32,
                time_ns: u64::from(*seconds) * 1_000_000_000 + u64::from(*micros) * 1000,
            })
            .collect();
        assert_eq!(received.len(), expected.len());
        for (number, (received, expected)) in received.iter().zip(&expected).enumerate() {
            assert_eq!(received, expected, "frame {number}");
        }
        for _ in 0..200 {
            assert!(matches!(source.rx_burst().expect("the port works"), Poll::Idle));
        }
        assert_eq!(source.lost(), Some(vec![("imissed", 0), ("ierrors", 0), ("rx_nombuf", 0)]));
    });
}
