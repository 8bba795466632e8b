//! What the wire itself costs a receiver that only adds lengths up. Not a test of anything: `docs/wire.md` has what it printed.
//!
//! `cargo test --release -p port --test it wire_cost:: -- --ignored --nocapture`, on a machine that does nothing else.
use crate::wire_fixture::synthetic;
use port::dpdk::{Eal, EalConfig};
use port::wire::{SystemClock, Trace, Wire, WireClock, WireQueue, WireSpec};
use port::{PacketSource, Poll};
use std::sync::{Arc, Barrier};

const BURST: usize = 64;
const ROUNDS: usize = 3;

/// Nanoseconds of the thread's own time per packet, and the share of packets that found the ring full.
fn cost(mut queue: WireQueue, barrier: &Barrier, touch: bool) -> (f64, f64) {
    // A thread that waits at a barrier for the other is not measured; its packets are.
    barrier.wait();
    queue.wire().start();
    let mut clock = SystemClock;
    let (mut packets, mut bytes) = (0_u64, 0_u64);
    let before = clock.thread().cpu_ns;
    loop {
        match queue.rx_burst().expect("a wire does not fail") {
            Poll::Burst(burst) => {
                packets += burst.len() as u64;
                bytes += match touch {
                    false => burst.frames().map(|frame| u64::from(frame.wire_len)).sum::<u64>(),
                    // EtherType IPv4 is 0x0800, so that what is added is known.
                    true => burst.frames().map(|frame| u64::from(frame.data[12]) + 52).sum(),
                };
            }
            Poll::Idle => {}
            Poll::Ended => break,
        }
    }
    let ns = clock.thread().cpu_ns - before;
    assert_eq!(bytes, packets * 60);
    let counters = queue.counters();
    (ns as f64 / packets as f64, counters.imissed as f64 / counters.offered as f64)
}

fn round(text: &str, touch: bool, traces: &[Arc<Trace>], eal: &Arc<Eal>) -> (f64, f64) {
    let spec: WireSpec = text.parse().expect(text);
    let trace = &traces[spec.queues - 1];
    let queues = match spec.mbufs {
        None => Wire::open("wire", &spec, trace, BURST),
        Some(_) => Wire::open_mbufs(eal, "wire", &spec, trace, BURST),
    };
    let queues = queues.expect("the wire opens");
    let barrier = Barrier::new(queues.len());
    let costs: Vec<_> = std::thread::scope(|scope| {
        let barrier = &barrier;
        let threads: Vec<_> =
            queues.into_iter().map(|queue| scope.spawn(move || cost(queue, barrier, touch))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let mean = |part: fn(&(f64, f64)) -> f64| costs.iter().map(part).sum::<f64>() / costs.len() as f64;
    (mean(|cost| cost.0), mean(|cost| cost.1))
}

#[test]
#[ignore = "measures; see above"]
fn ns_per_packet() {
    let eal = Eal::init(&EalConfig { memory_bytes: 512 << 20, ..EalConfig::default() }).expect("EAL starts");
    let mut variants = Vec::new();
    for queues in [1, 2] {
        for mbufs in ["", ",mbufs=16k"] {
            variants.push(format!("queues={queues}{mbufs}"));
            for rest in [
                "rate=200Mpps,packets=20M",
                "rate=200Mpps,packets=20M,arrivals=poisson",
                "rate=200Mpps,packets=20M,arrivals=bursts:32",
            ] {
                variants.push(format!("queues={queues}{mbufs},{rest}"));
            }
        }
    }
    // The second one stays in the L3 cache, as what a card writes there does.
    for trace in ["packets=1M,flows=100k", "packets=64k,flows=10k"] {
        let (one, _) = synthetic(trace, 1);
        let two = Arc::new(one.spread(2, 1 << 30).unwrap());
        let traces = [one, two];
        println!("{trace}: {} MB", traces[0].memory_bytes() >> 20);
        let mut costs = vec![Vec::new(); variants.len()];
        for _ in 0..ROUNDS {
            for (text, costs) in variants.iter().zip(&mut costs) {
                costs.push([false, true].map(|touch| round(text, touch, &traces, &eal)));
            }
        }
        for (text, costs) in variants.iter().zip(&costs) {
            let [(own, _), (touching, missed)] = [0, 1].map(|at| median(costs.iter().map(|cost| cost[at])));
            let missed = missed * 100.0;
            println!(
                "{own:6.2} ns, {touching:6.2} ns with the first line read, {missed:4.1} % missed: {text}"
            );
        }
    }
}

fn median(costs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let mut costs: Vec<_> = costs.collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    costs[costs.len() / 2]
}
