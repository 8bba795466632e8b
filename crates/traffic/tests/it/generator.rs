//! The generator against recounts of its own bytes, by a parser that shares no code with it.

use packet::{FlowKey, Key, KeySpec};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use traffic::{
    FlowCount, FrameOrigin, GeneratedFrame, Generator, KeyStream, PlantedEventKind, TrafficSpec, Truth,
};

const MIXED: &str = "packets=200k,flows=30k,zipf=1.0,size=64:7/594:4/1518:1,ipv6=30%,seed=7,\
                     plant=flood:sources=4k/scan/portscan/elephant";

fn spec(text: &str) -> TrafficSpec {
    text.parse().expect(text)
}

/// Every frame with its bytes.
fn frames(spec: &TrafficSpec) -> Vec<(GeneratedFrame, Vec<u8>)> {
    let mut generator = Generator::new(spec.clone());
    let mut buffer = vec![0xaa; 9216];
    let mut frames = Vec::new();
    while let Some(frame) = generator.next_frame(&mut buffer) {
        frames.push((frame, buffer[..frame.captured as usize].to_vec()));
        buffer.fill(0xaa);
    }
    frames
}

fn truth(spec: &TrafficSpec) -> Truth {
    let mut generator = Generator::with_truth(spec.clone());
    while generator.next_frame(&mut [0; 96]).is_some() {}
    generator.truth().expect("made with truth")
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

/// Key and layer-3 length of an untagged frame without IP options.
fn parse(frame: &[u8]) -> (FlowKey, u64) {
    let (src_addr, dst_addr, protocol, total, transport): (IpAddr, IpAddr, u8, u16, &[u8]) =
        match be16(&frame[12..]) {
            0x0800 => {
                assert_eq!(frame[14], 0x45);
                let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&frame[at..at + 4]).unwrap());
                (address(26), address(30), frame[23], be16(&frame[16..]), &frame[34..])
            }
            0x86dd => {
                assert_eq!(frame[14], 0x60);
                let address = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&frame[at..at + 16]).unwrap());
                (address(22), address(38), frame[20], be16(&frame[18..]) + 40, &frame[54..])
            }
            other => panic!("ethertype {other:#x}"),
        };
    let (src_port, dst_port) = match protocol {
        6 | 17 => (be16(transport), be16(&transport[2..])),
        1 | 58 => (0, be16(transport)),
        other => panic!("protocol {other}"),
    };
    (FlowKey::five_tuple((src_addr, src_port), (dst_addr, dst_port), protocol), total.into())
}

#[test]
fn the_same_bytes_everywhere() {
    // FNV-1a over times, lengths and bytes. The number was taken once and must not change: kept results and
    // planted truths would no longer belong to their specifications.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let text = MIXED.replace("200k", "20k").replace("4k", "400").replace("zipf=1.0", "zipf=1.15");
    for (frame, bytes) in frames(&spec(&text)) {
        take(&frame.time_ns.to_le_bytes());
        take(&frame.wire_len.to_le_bytes());
        take(&bytes);
    }
    assert_eq!(hash, 0x174a_62d3_6abd_2742, "{hash:#x}");
}

#[test]
fn another_seed_gives_other_flows() {
    let keys = |seed: u64| -> HashSet<FlowKey> {
        let spec = spec(&format!("packets=1k,flows=1k,seed={seed}"));
        frames(&spec).iter().map(|(_, bytes)| parse(bytes).0).collect()
    };
    assert_eq!(keys(1), keys(1));
    assert!(keys(1).is_disjoint(&keys(2)));
}

#[test]
fn the_truth_equals_a_recount() {
    let spec = spec(MIXED);
    let truth = truth(&spec);
    let frames = frames(&spec);
    let mut recount: HashMap<FlowKey, FlowCount> = HashMap::new();
    let mut events: HashMap<usize, Vec<(u64, FlowKey)>> = HashMap::new();
    for (frame, bytes) in &frames {
        let (key, total_byte) = parse(bytes);
        assert_eq!(u64::from(frame.wire_len), (total_byte + 14).max(60));
        assert_eq!(frame.captured, frame.wire_len);
        let count = recount.entry(key).or_default();
        count.packets += 1;
        count.total_byte += total_byte;
        count.wire_byte += u64::from(frame.wire_len);
        if let FrameOrigin::Event { event, .. } = frame.origin {
            events.entry(event).or_default().push((frame.time_ns, key));
        }
    }
    assert_eq!(frames.len(), 200_000);
    assert_eq!(truth.flows, recount);
    assert_eq!(truth.totals.flows, recount.len() as u64);
    assert_eq!(truth.totals.count.packets, 200_000);
    assert_eq!(truth.totals.count.wire_byte, frames.iter().map(|(f, _)| u64::from(f.wire_len)).sum::<u64>());
    assert_eq!(truth.totals.first_ns, frames[0].0.time_ns);
    assert_eq!(truth.totals.last_ns, frames[frames.len() - 1].0.time_ns);
    let most = recount.values().map(|count| count.total_byte).max();
    assert_eq!(Some(truth.top_bytes[0].count.total_byte), most);
    assert!(truth.top_packets.windows(2).all(|pair| pair[0].count.packets >= pair[1].count.packets));
    assert_eq!(truth.top_packets.len(), 100);

    assert_eq!(truth.events.len(), 4);
    for (index, event) in truth.events.iter().enumerate() {
        let packets = &events[&index];
        let addresses = |part: fn(&FlowKey) -> Option<IpAddr>| {
            packets.iter().map(|(_, key)| part(key)).collect::<HashSet<_>>().len() as u64
        };
        let dst_ports: HashSet<Option<u16>> = packets.iter().map(|(_, key)| key.dst_port).collect();
        assert_eq!(event.count.packets, packets.len() as u64);
        assert_eq!(event.sources, addresses(|key| key.src_addr));
        assert_eq!(event.destinations, addresses(|key| key.dst_addr));
        assert_eq!(event.dst_ports, dst_ports.len() as u64);
        assert_eq!(event.first_ns, packets[0].0);
        assert_eq!(event.last_ns, packets[packets.len() - 1].0);
    }
}

#[test]
fn planted_paths_keep_their_times_and_the_run_its_count() {
    let text = "packets=30k,flows=900,rate=20k,size=64,plant=elephant/retransmission:connections=4:start=10%/\
                loss:connections=3:segments=300:start=90%";
    let spec = spec(text);
    let (truth, frames) = (truth(&spec), frames(&spec));
    assert_eq!(frames.len(), 30_000);
    assert!(frames.windows(2).all(|pair| pair[0].0.time_ns <= pair[1].0.time_ns));
    let mut recount: HashMap<FlowKey, FlowCount> = HashMap::new();
    for (frame, bytes) in &frames {
        let (key, total_byte) = parse(bytes);
        assert_eq!(u64::from(frame.total_byte), total_byte);
        assert_eq!(frame.captured, frame.wire_len, "payloads are whole");
        let count = recount.entry(key).or_default();
        count.packets += 1;
        count.total_byte += total_byte;
        count.wire_byte += u64::from(frame.wire_len);
    }
    assert_eq!(truth.flows, recount);
    let kinds: Vec<PlantedEventKind> = truth.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [PlantedEventKind::Elephant, PlantedEventKind::Retransmission, PlantedEventKind::Loss]);
    let [_, again, lost] = truth.events.as_slice() else { panic!("three") };
    // Handshake, end, acknowledgements, data, and what was lost after the tap.
    let loss = again.tcp_loss.expect("all came");
    assert_eq!((again.count.packets, again.flows), (4 * 1006 + loss.retrans_count, 8));
    assert_eq!((lost.count.packets, lost.flows), (3 * 606, 6));
    let of = |place: usize| {
        let own = frames.iter().map(|(frame, _)| frame);
        let own = own
            .filter(move |frame| matches!(frame.origin, FrameOrigin::Event { event, .. } if event == place));
        own.map(|frame| frame.time_ns).collect::<Vec<_>>()
    };
    for (place, event) in [(1, again), (2, lost)] {
        let times = of(place);
        assert_eq!((times[0], times[times.len() - 1]), (event.first_ns, event.last_ns));
        assert_eq!(times.len() as u64, event.count.packets);
    }
    assert_eq!(truth.totals.last_ns, frames[29_999].0.time_ns);
    let sum = loss.retrans_count + lost.tcp_loss.expect("all came").ploss_count;
    let in_all = truth.totals.tcp_loss.expect("all came");
    assert_eq!(in_all.retrans_count + in_all.ploss_count, sum);

    // Only paths, and the largest that fits.
    let only = frames_of_paths("packets=3012,plant=loss:connections=2");
    assert!(only > 2000, "{only}");
}

/// Frames of planted events in a run.
fn frames_of_paths(text: &str) -> usize {
    frames(&spec(text)).iter().filter(|(frame, _)| matches!(frame.origin, FrameOrigin::Event { .. })).count()
}

#[test]
fn a_truth_of_a_part_says_nothing_of_losses() {
    let mut generator = Generator::with_truth(spec("packets=5k,plant=loss:connections=2"));
    let first = generator.next_frame(&mut [0; 96]).unwrap();
    assert_eq!(generator.truth().unwrap().totals.tcp_loss, None, "the path is not over");
    while generator.next_frame(&mut [0; 96]).is_some() {}
    assert!(generator.truth().unwrap().totals.tcp_loss.is_some());
    generator.take_back(&first);
    let truth = generator.truth().unwrap();
    assert_eq!((truth.totals.count.packets, truth.totals.tcp_loss), (4999, None));
}

#[test]
fn events_are_what_was_asked_for() {
    let events = truth(&spec(MIXED)).events;
    let [flood, scan, portscan, elephant] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((flood.kind, flood.count.packets, flood.sources), (PlantedEventKind::Flood, 8_000, 4_000));
    // A SYN without payload: 40 bytes of IP in the least Ethernet frame.
    assert_eq!((flood.count.total_byte, flood.count.wire_byte), (8_000 * 40, 8_000 * 60));
    assert_eq!((flood.destinations, flood.dst_ports, flood.src_addr), (1, 1, None));
    assert_eq!((scan.count.packets, scan.sources, scan.destinations, scan.dst_ports), (2_000, 1, 2_000, 1));
    assert_eq!((portscan.sources, portscan.destinations, portscan.dst_ports), (1, 1, 2_000));
    assert_eq!((elephant.flows, elephant.count.total_byte), (1, 10_000 * 1500));
    // 30 seconds (200,000 packets at 6,666 a second), the flood from 40 to 60 per cent.
    let start = spec(MIXED).start_ns();
    let seconds = |ns: u64| (ns - start) as f64 / 1e9;
    assert!((seconds(flood.first_ns) - 12.0).abs() < 0.1, "{}", seconds(flood.first_ns));
    assert!((seconds(flood.last_ns) - 18.0).abs() < 0.1, "{}", seconds(flood.last_ns));
}

#[test]
fn crowded_events_keep_their_counts() {
    // All packets planted, and more due at once than there are places.
    let text = "packets=1000,flows=10,plant=elephant:share=50%:start=0:end=50%/\
                scan:share=30%:start=0:end=50%/flood:share=20%:start=50%:end=1:sources=7";
    let truth = truth(&spec(text));
    let packets: Vec<u64> = truth.events.iter().map(|event| event.count.packets).collect();
    assert_eq!(packets, [500, 300, 200]);
    assert_eq!(truth.totals.flows, 1 + 300 + 7);
}

#[test]
fn snapped_frames_are_prefixes() {
    let long = frames(&spec("packets=2k,flows=100,ipv6=50%,size=64:1/1518:1"));
    for snap in [1, 14, 20, 54, 60, 74, 75, 96] {
        let short = frames(&spec(&format!("packets=2k,flows=100,ipv6=50%,size=64:1/1518:1,snap={snap}")));
        for ((whole, bytes), (cut, start)) in long.iter().zip(&short) {
            assert_eq!(cut.captured, whole.wire_len.min(snap));
            assert_eq!(
                (cut.wire_len, cut.time_ns, cut.origin),
                (whole.wire_len, whole.time_ns, whole.origin)
            );
            assert!(bytes.starts_with(start));
        }
    }
    let mut generator = Generator::new(spec("packets=1"));
    assert_eq!(generator.next_frame(&mut []).map(|frame| (frame.captured, frame.wire_len)), Some((0, 60)));
    assert_eq!(generator.next_frame(&mut []), None);
}

#[test]
fn no_packets_and_odd_sizes() {
    assert!(frames(&spec("packets=0")).is_empty());
    assert_eq!(truth(&spec("packets=0")).totals.count, FlowCount::default());
    let jumbo = frames(&spec("packets=10,size=9216,ipv6=100%"));
    assert!(jumbo.iter().all(|(frame, bytes)| frame.wire_len == 9212 && parse(bytes).1 == 9198));
    // Ethernet, IPv6 and TCP headers are longer than the least Ethernet frame.
    let small = frames(&spec("packets=100,size=64,ipv6=100%"));
    assert!(small.iter().any(|(frame, bytes)| parse(bytes).0.protocol == Some(6) && frame.wire_len == 74));
}

#[test]
fn times_follow_the_rate() {
    let frames = frames(&spec("packets=3001,rate=1500,start=1000.25"));
    let times: Vec<u64> = frames.iter().map(|(frame, _)| frame.time_ns).collect();
    assert_eq!(times[0], 1_000_250_000_000);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(times[3000].abs_diff(1_002_250_000_000) <= 3000, "{}", times[3000]);
}

#[test]
fn the_json_form() {
    let json: serde_json::Value = serde_json::to_value(truth(&spec(MIXED))).unwrap();
    assert_eq!(json["totals"]["packets"], 200_000);
    assert_eq!(json["totals"]["first_ns"], "1704067200000000000");
    assert_eq!(json["events"][0]["kind"], "flood");
    assert_eq!(json["events"][0]["dst_addr"], "203.0.113.10");
    assert_eq!(json["events"][0]["src_addr"], serde_json::Value::Null);
    assert_eq!(json["events"][0]["sources"], 4000);
    assert_eq!(json["top_bytes"].as_array().map(Vec::len), Some(100));
    assert!(json["top_bytes"][0]["total_byte"].is_u64());
    assert!(json.get("flows").is_none());
}

#[test]
fn key_streams_are_the_generators_keys() {
    let text = "packets=50k,flows=20k,zipf=0.9,seed=3";
    let stream = KeyStream::ipv4(&spec(text));
    let generated: Vec<FlowKey> = frames(&spec(text)).iter().map(|(_, bytes)| parse(bytes).0).collect();
    assert!(stream.keys().iter().map(|key| key.flow_key(&KeySpec::FIVE_TUPLE)).eq(generated));
    check_counts(&stream);

    let stream = KeyStream::ipv6(&spec(text));
    let generated = frames(&spec(&format!("{text},ipv6=100%")));
    let keys = stream.keys().iter().map(|key| key.flow_key(&KeySpec::FIVE_TUPLE));
    assert!(keys.eq(generated.iter().map(|(_, bytes)| parse(bytes).0)));
    check_counts(&stream);
}

#[test]
fn every_flow_may_come_before_the_stream() {
    let drawn = KeyStream::ipv4(&spec("packets=50k,flows=20k,zipf=1,seed=3"));
    let stream = drawn.clone().after_each_flow();
    let (first, rest) = stream.keys().split_at(20_000);
    assert_eq!(rest, drawn.keys());
    assert_eq!((stream.distinct(), first.iter().collect::<HashSet<_>>().len()), (20_000, 20_000));
    check_counts(&stream);
    // The heaviest thousand lie anywhere among them: their mean place has a standard deviation of 178.
    let mut counts: Vec<_> = drawn.counts().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let heavy: HashSet<_> = counts[..1_000].iter().map(|(key, _)| *key).collect();
    let places = first.iter().enumerate().filter(|(_, key)| heavy.contains(*key)).map(|(place, _)| place);
    let mean = places.sum::<usize>() as f64 / 1_000.0;
    assert!((mean - 10_000.0).abs() < 1_000.0, "{mean}");
}

fn check_counts<K: Key + std::hash::Hash + std::fmt::Debug>(stream: &KeyStream<K>) {
    let mut recount: HashMap<K, u32> = HashMap::new();
    for key in stream.keys() {
        *recount.entry(*key).or_default() += 1;
    }
    assert_eq!(stream.distinct(), recount.len());
    assert_eq!(stream.counts().collect::<HashMap<K, u32>>(), recount);
}

#[test]
fn the_manuals_examples_are_valid() {
    let manual = include_str!("../../../../docs/traffic.md");
    let examples: Vec<&str> = manual.lines().filter(|line| line.starts_with("packets=")).collect();
    assert_eq!(examples.len(), 4);
    examples.into_iter().for_each(|example| drop(spec(example)));
}
