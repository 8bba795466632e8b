//! Frames longer than an mbuf: first bytes and length on the wire are right, and no mbuf leaks.

use crate::dpdk_fixture::pcap_file::PcapFile;
use crate::dpdk_fixture::receive;
use port::PacketSource;
use std::time::Duration;
use testbed::process::alone;

#[test]
fn frames_of_several_segments() {
    alone(|| {
        let lengths = [60, 2047, 2048, 2049, 4096, 4097, 5000, 9014, 16_000, 60];
        // More segments than the pool has mbufs: each must come back.
        let frames: Vec<(u32, u32, Vec<u8>)> = (0..12_000_u32)
            .map(|n| {
                let length = lengths[n as usize % lengths.len()];
                (n, 0, (0..length).map(|i| (i as u32).wrapping_mul(n | 1) as u8).collect())
            })
            .collect();
        let file = PcapFile::new("segments", &frames);
        let devargs = format!("net_pcap0,rx_pcap={}", file.path().display());
        let mut source = receive::open(&[&devargs]).expect("net_pcap opens");

        let received = receive::receive(&mut source, Duration::from_millis(50));
        assert_eq!(received.len(), frames.len());
        for (number, (received, (_, _, sent))) in received.iter().zip(&frames).enumerate() {
            assert_eq!(received.wire_len as usize, sent.len(), "frame {number}");
            assert!(received.data.len() >= sent.len().min(1024), "frame {number}: {}", received.data.len());
            assert_eq!(received.data, sent[..received.data.len()], "frame {number}");
        }
        assert_eq!(source.lost(), Some(vec![("imissed", 0), ("ierrors", 0), ("rx_nombuf", 0)]));
    });
}
