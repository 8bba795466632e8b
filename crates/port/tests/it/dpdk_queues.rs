//! Several receive queues: of a port whose number can be configured, and of one whose producer chooses the
//! queue.
use packet::RssSpec;
use port::dpdk::{Eal, EalConfig, PortOptions, ProbedPorts, RingPort, Spread};
use port::{PacketSource, Poll, SourceError, SourceSetting};
use std::sync::Arc;
use testbed::process::alone;

const QUEUES: usize = 3;

fn frames() -> Vec<Vec<u8>> {
    (0..3000_u32).map(|n| n.to_be_bytes().into_iter().cycle().take(60 + n as usize % 100).collect()).collect()
}

fn number(frame: &[u8]) -> usize {
    u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize
}

/// Everything that a source has, until it is idle.
fn drain(source: &mut impl PacketSource) -> Vec<Vec<u8>> {
    let mut received = Vec::new();
    while let Poll::Burst(burst) = source.rx_burst().expect("the port works") {
        received.extend(burst.frames().map(|frame| frame.data.to_vec()));
    }
    received
}

#[test]
fn each_queue_is_a_source() {
    alone(|| {
        let frames = frames();
        let options =
            PortOptions { burst: 64, descriptors: 1024, mbufs: 4095, queues: 2, ..PortOptions::default() };
        let null: Vec<String> = ["net_null0", "net_null1"].map(str::to_owned).to_vec();
        let mut config = EalConfig::for_ports(&null, &options, &[]);
        config.memory_bytes += (QUEUES as u64 + 1) * RingPort::memory_bytes(frames.len() as u64);
        let eal = Eal::init(&config).expect("EAL starts");
        a_ring_for_each_queue(&eal, &frames);
        as_many_as_asked_for(&eal, &null, &options);
        by_the_hash_that_is_asked_for(&eal, &null, &options);
        from_pools_that_queues_share(&eal, &null, &options);
        as_many_as_possible_and_no_more(&eal, &options);
    });
}

/// Each queue, polled by its own thread, gives what its producer put there, in order, and nothing else.
fn a_ring_for_each_queue(eal: &Arc<Eal>, frames: &[Vec<u8>]) {
    let queue_of = |frame: &[u8]| number(frame) * 7 / 5 % QUEUES;
    let mut port = RingPort::spread(eal, frames, QUEUES, queue_of, 64).expect("net_ring opens");
    for pass in 0..3 {
        port.refill().expect("all mbufs are back");
        std::thread::scope(|scope| {
            for (queue, source) in port.sources().iter_mut().enumerate() {
                scope.spawn(move || {
                    let expected: Vec<_> =
                        frames.iter().filter(|frame| queue_of(frame) == queue).cloned().collect();
                    assert!(drain(source) == expected, "pass {pass}, queue {queue}");
                    assert_eq!(source.lost(), Some(vec![("imissed", 0), ("ierrors", 0), ("rx_nombuf", 0)]));
                });
            }
        });
    }
    let error = RingPort::spread(eal, frames, 17, queue_of, 64).expect_err("too many");
    assert!(matches!(&error, SourceError::Open(text) if text.contains("1 to 16")), "{error}");
}

/// net_null hashes by any key it is given, so that its queues are a symmetric port's.
fn as_many_as_asked_for(eal: &Arc<Eal>, devargs: &[String], options: &PortOptions) {
    let ports = ProbedPorts::probe(eal, devargs).expect("net_null opens");
    let possible = ports.queues().expect("of one kind");
    assert!(*possible.start() == 1 && *possible.end() >= 2, "{possible:?}");
    let (mut sources, spread) = ports.start(2, 2, options).expect("two queues start");
    assert_eq!((sources.len(), spread), (2, Spread::Symmetric));
    std::thread::scope(|scope| {
        for source in &mut sources {
            scope.spawn(|| {
                // Four turns: both ports' queue of this number.
                for _ in 0..4 {
                    assert!(matches!(source.rx_burst(), Ok(Poll::Burst(burst)) if burst.len() == 64));
                }
                source.release();
            });
        }
    });
    assert!(sources.iter().all(|source| source.link_downs().is_none()), "nothing that can go down");
    drop(sources);
    // All queues as one source, as few receivers need them.
    let ports = ProbedPorts::probe(eal, devargs).expect("they were closed");
    let (sources, _) = ports.start(2, 1, options).expect("two queues start");
    assert_eq!(sources.len(), 1);
}

/// net_null hashes by any key and by whole addresses and ports, and takes out none of two.
fn by_the_hash_that_is_asked_for(eal: &Arc<Eal>, devargs: &[String], options: &PortOptions) {
    let start = |queues: usize, fields: &str, key: &str| {
        let rss = RssSpec { fields: fields.parse().expect(fields), key: key.parse().expect(key) };
        let ports = ProbedPorts::probe(eal, devargs).expect("net_null opens");
        ports.start(queues, queues, &PortOptions { rss: Some(rss), ..*options }).map(|(_, spread)| spread)
    };
    let all = "src_addr+dst_addr+src_port+dst_port";
    assert_eq!(start(2, "src_addr+dst_addr", "6d5a"), Ok(Spread::Symmetric));
    assert_eq!(start(2, all, "c3a1"), Ok(Spread::Symmetric));
    assert_eq!(start(2, all, "6d5a56da255b0ec2"), Ok(Spread::Requested));
    for (queues, fields, key, words) in [
        (2, "src_addr", "6d5a", "its driver cannot hash src_addr"),
        (2, "src_port", "6d5a", "an address at least"),
        (2, all, &*"01".repeat(41), "41 are given"),
        (1, all, "6d5a", "one receive queue"),
    ] {
        match start(queues, fields, key) {
            Err(SourceError::Refused(SourceSetting::Rss, text)) => {
                assert!(text.contains(words) && text.starts_with("port net_null0"), "{text}");
            }
            other => panic!("{fields} by {key}: {other:?}"),
        }
    }
}

/// Queues poll at the same time from one pool; it has room for all of them.
fn from_pools_that_queues_share(eal: &Arc<Eal>, devargs: &[String], options: &PortOptions) {
    let shared = PortOptions { pools: Some(1), ..*options };
    let ports = ProbedPorts::probe(eal, devargs).expect("net_null opens");
    let (mut sources, _) = ports.start(2, 2, &shared).expect("two queues start");
    std::thread::scope(|scope| {
        for source in &mut sources {
            scope.spawn(|| {
                for _ in 0..2000 {
                    assert!(matches!(source.rx_burst(), Ok(Poll::Burst(burst)) if burst.len() == 64));
                }
                source.release();
            });
        }
    });
    drop(sources);
    let ports = ProbedPorts::probe(eal, devargs).expect("they were closed");
    let error = ports.start(2, 2, &PortOptions { pools: Some(3), ..*options }).expect_err("too many pools");
    assert!(error.to_string().contains("3 pools for 2 receive queue(s)"), "{error}");
}

fn as_many_as_possible_and_no_more(eal: &Arc<Eal>, options: &PortOptions) {
    let start = |devargs: &[&str], queues: usize| {
        let devargs: Vec<String> = devargs.iter().map(|text| (*text).into()).collect();
        let ports = ProbedPorts::probe(eal, &devargs).expect("they open");
        match ports.queues().and_then(|_| ports.start(queues, queues, options)) {
            Err(SourceError::Open(text)) => text,
            other => panic!("{devargs:?}, {queues} queues: {other:?}"),
        }
    };
    let text = start(&["net_null0"], 5000);
    assert!(
        text.contains("5000 receive queues are not possible, but 1 to ") && !text.contains('\n'),
        "{text}"
    );
    let text = start(&["net_null0"], 0);
    assert!(text.contains("0 receive queues"), "{text}");
    // A file for each queue: two of them are not one.
    let file = std::env::temp_dir().join(format!("edison-queues-{}.pcap", std::process::id()));
    let mut header = Vec::new();
    for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 262_144, 1] {
        header.extend(word.to_le_bytes());
    }
    std::fs::write(&file, header).expect("the temporary directory is writable");
    let path = file.display();
    let two = format!("net_pcap0,rx_pcap={path},rx_pcap={path}");
    let one = format!("net_pcap1,rx_pcap={path}");
    let text = start(&[&two], 1);
    assert!(text.contains("1 receive queues are not possible, but 2"), "{text}");
    let text = start(&[&two, &one], 2);
    assert!(text.contains("has 1 receive queue(s), the ports before it 2"), "{text}");
    std::fs::remove_file(&file).expect("it is there");
}
