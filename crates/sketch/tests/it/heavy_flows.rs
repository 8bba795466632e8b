//! Counter arrays with candidates: which flows are heavy.

use crate::sketch_support::{Random, counts, key, seeds, skewed, summarise};
use packet::{BurstParser, Frame, Key, KeyV4, LinkType, ParserConfig, Seed};
use sketch::{
    ArrayConfig, Configuration, Conservative, CountMin, CountSketch, Frequency, HeavyHitters, HeavyKeys,
    KAry, Merge, Policy, Summary, Tracked, TrackedConfig, Turnstile, Update, UpdateBurst, preset,
};
use std::collections::HashMap;

fn config<P: Policy>(width: usize, candidates: usize, seed: u64) -> TrackedConfig<KeyV4, P> {
    let array = ArrayConfig::new(3, width, Seed::new(seed)).expect("an array");
    TrackedConfig::new(array, candidates).expect("candidates")
}

/// Every flow whose estimate reaches the threshold is there, and no other.
fn finds_all<P: Policy>() {
    for seed in 0..20 {
        let packets = skewed(20_000, 3000, &mut Random::new(seed));
        let tracked: Tracked<KeyV4, P> = summarise(&config(1000, 150, seed), &packets);
        let found = tracked.heavy_hitters(100);
        assert!(!found.is_cut_short);
        let found: HashMap<KeyV4, f64> =
            found.keys.into_iter().map(|(key, estimate)| (key, estimate.value)).collect();
        let mut heavy = 0;
        for flow in counts(&packets).into_keys() {
            let estimate = tracked.estimate(&key(flow)).value;
            assert_eq!(
                found.get(&key(flow)).copied(),
                (estimate >= 100.0).then_some(estimate),
                "flow {flow}"
            );
            heavy += usize::from(estimate >= 100.0);
        }
        assert!(heavy == found.len() && heavy > 20, "{heavy} heavy flows");
    }
}

#[test]
fn no_heavy_flow_is_missed() {
    finds_all::<CountMin>();
    finds_all::<Conservative>();
}

#[test]
fn the_largest_come_first_and_one_candidate_is_the_heaviest() {
    let packets = skewed(20_000, 3000, &mut Random::new(1));
    let tracked: Tracked<KeyV4, CountMin> = summarise(&config(1000, 50, 1), &packets);
    let HeavyKeys { keys, is_cut_short, .. } = tracked.heavy_hitters(1);
    assert!(is_cut_short && !tracked.heavy_hitters(10_000).is_cut_short);
    assert_eq!(keys.len(), 50);
    assert!(keys.is_sorted_by(|(_, a), (_, b)| a.value >= b.value));
    let one: Tracked<KeyV4, CountMin> = summarise(&config(1000, 1, 1), &packets);
    assert_eq!(one.heaviest(), Some(keys[0]));
    assert_eq!(keys[0].0, key(0));
}

#[test]
fn scattered_flows_are_found_after_merging_and_the_answer_is_that_of_one_pass() {
    for seed in 0..20 {
        let packets = skewed(20_000, 3000, &mut Random::new(seed));
        let whole: Tracked<KeyV4, CountMin> = summarise(&config(1000, 400, seed), &packets);
        // By position: every flow on both cores.
        let part = |which: usize| -> Vec<u64> { packets.iter().skip(which).step_by(2).copied().collect() };
        let mut merged: Tracked<KeyV4, CountMin> = summarise(&config(1000, 400, seed), &part(0));
        merged.merge(&summarise(&config(1000, 400, seed), &part(1))).expect("the same configuration");
        assert_eq!(merged.heavy_hitters(80), whole.heavy_hitters(80));
        assert!(whole.heavy_hitters(80).keys.len() > 20);
        merged.reset();
        assert_eq!(merged.heavy_hitters(0).keys, []);
    }
    let mut one: Tracked<KeyV4, CountMin> = summarise(&config(10, 4, 1), &[1]);
    let refused = one.merge(&summarise(&config(10, 5, 1), &[1])).expect_err("other candidates").to_string();
    assert!(refused.contains("candidates=4") && refused.contains("candidates=5"), "{refused}");
}

fn finds_changes<P>()
where
    P: sketch::Signed,
    P::Cell: sketch::SignedCell,
{
    for seed in seeds(20) {
        let before = skewed(20_000, 3000, &mut Random::new(1));
        let mut after = skewed(20_000, 3000, &mut Random::new(2));
        // Flow 5 ends, flow 2999 begins.
        after.retain(|flow| *flow != 5);
        after.extend([2999; 700]);
        let array = ArrayConfig::<P>::new(5, 2000, seed).expect("an array");
        let configuration = TrackedConfig::new(array, 300).expect("candidates");
        let earlier: Tracked<KeyV4, P> = summarise(&configuration, &before);
        let later: Tracked<KeyV4, P> = summarise(&configuration, &after);
        let changes = later.changes_since(&earlier, 300).expect("the same configuration").keys;
        let keys: Vec<KeyV4> = changes.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, [key(2999), key(5)], "{changes:?}");
        assert!(changes[0].1.value > 600.0 && changes[1].1.value < -300.0, "{changes:?}");
    }
}

#[test]
fn changes_between_two_windows_are_found_either_way() {
    finds_changes::<CountSketch>();
    finds_changes::<KAry>();
    finds_changes::<Turnstile>();
}

/// An Ethernet frame with a UDP datagram without a body.
fn udp_frame(src: [u8; 4], src_port: u16) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(src);
    frame.extend([10, 9, 9, 9]);
    frame.extend(src_port.to_be_bytes());
    frame.extend([0, 53, 0, 8, 0, 0]);
    frame
}

/// From frames, with the preset's key: every third packet is of one pair, each time with another port.
fn finds_the_pair<P: Policy>() {
    let seed = Seed::new(4);
    let (key, configuration) = preset::makwana::<KeyV4, P>(seed).expect("sizes that can be");
    assert_eq!((configuration.array().depth(), configuration.array().width()), (3, 1024));
    let mut tracked = Tracked::<KeyV4, P>::new(&configuration).expect("memory");
    let mut parser = BurstParser::new(seed, ParserConfig { key, ..ParserConfig::default() }, 1);
    for packet in 0..3000_u16 {
        let host = if packet % 3 == 0 { 999 } else { packet % 500 };
        let data = udp_frame([10, 0, (host >> 8) as u8, host as u8], packet);
        let wire_len = data.len() as u32;
        let link = LinkType::Ethernet;
        parser.clear();
        parser.push::<false>(&Frame { data: &data, wire_len, time_ns: 0, link, stripped_vlan: None }, 0);
        let [packet] = parser.bursts.v4.packets() else { panic!("one IPv4 packet") };
        tracked.update_burst(&[Update { key: packet.key, hash: packet.hash, weight: 1 }]);
    }
    let (found, estimate) = tracked.heaviest().expect("packets");
    let found = found.flow_key(&key);
    assert_eq!((found.src_addr, found.dst_addr), (Some([10, 0, 3, 231].into()), Some([10, 9, 9, 9].into())));
    assert_eq!((found.src_port, found.protocol), (None, None));
    assert!((estimate.value - 1000.0).abs() < 20.0, "{}: {estimate:?}", P::KIND);
}

#[test]
fn makwanas_program_finds_the_heaviest_pair_of_addresses() {
    finds_the_pair::<CountMin>();
    finds_the_pair::<Conservative>();
    finds_the_pair::<KAry>();
}

#[test]
fn memory_is_kept_to() {
    type Config = TrackedConfig<KeyV4, CountMin>;
    for bytes in [200, 1000, 128 << 10, 64 << 20] {
        let configuration = Config::with_bytes(bytes, Seed::new(1)).expect("memory");
        assert!(
            configuration.bytes() <= bytes && configuration.bytes() > bytes * 9 / 10 - 20,
            "{configuration}"
        );
        assert_eq!(Tracked::new(&configuration).expect("a sketch").bytes(), configuration.bytes());
    }
    let refused = Config::with_bytes(10, Seed::new(1)).expect_err("too little").to_string();
    let least = refused.rsplit(' ').next().and_then(|least| least.parse().ok()).expect("the least");
    assert!(Config::with_bytes(least, Seed::new(1)).is_ok(), "{refused}");
    assert!(Config::with_bytes(least - 1, Seed::new(1)).is_err(), "{refused}");
    let array = ArrayConfig::<CountMin>::new(3, 10, Seed::new(1)).expect("an array");
    assert_eq!(
        TrackedConfig::<KeyV4, _>::new(array, 0).expect_err("none").to_string(),
        "count_min: a number of candidates of 0 cannot be; it goes from 1 to 16777216"
    );
}
