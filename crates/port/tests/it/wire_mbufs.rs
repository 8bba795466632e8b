//! The wire in mbufs gives what it gives without them, and every mbuf comes back.
use crate::wire_fixture::{Received, TestClock, synthetic};
use port::dpdk::{Eal, EalConfig};
use port::wire::{Wire, WireQueue, WireSpec};
use port::{PacketSource, Poll};
use std::sync::atomic::Ordering::Relaxed;
use testbed::process::alone;

/// One test, because EAL starts once in a process.
#[test]
fn mbufs_carry_the_same_frames() {
    alone(|| {
        const SPEC: &str = "packets=5000,flows=300,size=64:7/594:4/1518:1,ipv6=40%,snap=200";
        let largest: WireSpec = "rate=10Mpps,ring=64,queues=3,mbufs=400,packets=50k".parse().unwrap();
        let config = EalConfig { memory_bytes: 8 * Wire::mbuf_bytes(&largest), ..EalConfig::default() };
        let eal = Eal::init(&config).expect("EAL starts");
        let (trace, _) = synthetic(SPEC, 3);

        // A replay by threads that are no lcores, with as few mbufs as can be.
        for text in ["queues=3,mbufs=4128", "queues=3,mbufs=4128,pools=2", "queues=3,mbufs=4128,pools=1"] {
            let spec: WireSpec = text.parse().unwrap();
            let plain =
                Wire::open("wire", &WireSpec { mbufs: None, pools: None, ..spec }, &trace, 32).unwrap();
            let mbufs = Wire::open_mbufs(&eal, "wire", &spec, &trace, 32).unwrap();
            // All at once: they take from a pool that they share.
            let threads: Vec<_> = mbufs
                .into_iter()
                .map(|mut mbufs| {
                    std::thread::spawn(move || {
                        let received = drain_hashes(&mut mbufs);
                        assert_eq!(mbufs.counters().rx_nombuf, 0);
                        received
                    })
                })
                .collect();
            for (mut plain, received) in plain.into_iter().zip(threads) {
                assert_eq!(received.join().unwrap(), drain_hashes(&mut plain), "{text}");
            }
        }

        // At a rate: many more packets than mbufs, by polls far apart and near.
        let clock = TestClock::default();
        let without = WireSpec { mbufs: None, ..largest };
        let mut plain = Wire::open_with("wire", &without, &trace, 32, || clock.clone()).unwrap();
        let mut mbufs = Wire::open_mbufs_with(&eal, "wire", &largest, &trace, 32, || clock.clone()).unwrap();
        for step in 0..400_u64 {
            clock.now.fetch_add([1_000, 40_000, 10_000, 7_000][step as usize % 4], Relaxed);
            for (plain, mbufs) in plain.iter_mut().zip(&mut mbufs) {
                assert_eq!(poll(mbufs), poll(plain));
                assert_eq!(mbufs.counters(), plain.counters());
            }
        }
        let total = mbufs[0].wire().total();
        assert!(total.imissed > 100 && total.delivered > 2000, "{total:?}");

        let refused = |text: &str| {
            let spec: WireSpec = text.parse().expect(text);
            Wire::open_mbufs(&eal, "wire", &spec, &trace, 32).expect_err(text).to_string()
        };
        assert!(refused("rate=1Mpps,queues=3,ring=1024,mbufs=1055").contains("at least 1056"));
        assert!(refused("queues=2,mbufs=16k").contains("spread over 3"));
    });
}

fn poll(queue: &mut WireQueue<TestClock>) -> Vec<Received> {
    match queue.rx_burst().unwrap() {
        Poll::Burst(burst) => Received::all(&burst),
        Poll::Idle | Poll::Ended => Vec::new(),
    }
}

/// With the hashes that the source gives.
fn drain_hashes(source: &mut dyn PacketSource) -> Vec<Received> {
    let mut all = Vec::new();
    while let Poll::Burst(burst) = source.rx_burst().unwrap() {
        all.extend(Received::all(&burst));
    }
    assert!(!all.is_empty());
    all
}
