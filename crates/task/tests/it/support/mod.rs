//! A stream of packets, counted by tasks and by maps.

use packet::{Bursts, FlowKey, Key, KeySpec, KeyV4, KeyV6, MaskedKey, PacketFields, Seed};
use std::collections::{HashMap, HashSet};
use task::{
    EstimatedFlow, RunProperties, TaskAnswer, TaskCounter, TaskRows, TaskRunner, TaskSpec, Tasks, WindowId,
    WorkerId,
};

pub(crate) const SEED: u64 = 7;
const BURST: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyKey {
    V4(KeyV4),
    V6(KeyV6),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) key: AnyKey,
    pub(crate) bytes: u32,
}

impl Packet {
    pub(crate) fn flow_key(&self, spec: &KeySpec) -> FlowKey {
        match self.key {
            AnyKey::V4(key) => key.masked(spec).flow_key(spec),
            AnyKey::V6(key) => key.masked(spec).flow_key(spec),
        }
    }
}

/// SplitMix64 by another hand would be the same: the project's own, for numbers that no structure sees.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(packet::split_mix(&mut self.0)) * u128::from(end)) >> 64) as u64
    }
}

pub(crate) fn v4(src: u32, dst: u32, src_port: u16) -> AnyKey {
    let mut addresses = [0; 8];
    addresses[..4].copy_from_slice(&src.to_be_bytes());
    addresses[4..].copy_from_slice(&dst.to_be_bytes());
    let [a, b] = src_port.to_be_bytes();
    AnyKey::V4(KeyV4::new(addresses, [a, b, 1, 187], 6))
}

pub(crate) fn v6(src: u128, dst: u128, src_port: u16) -> AnyKey {
    let [a, b] = src_port.to_be_bytes();
    AnyKey::V6(KeyV6::new(&src.to_be_bytes(), &dst.to_be_bytes(), [a, b, 1, 187], 6))
}

/// Some flows with much and many with little; every fifth packet is IPv6. A spreader has as many others as packets.
pub(crate) fn stream(seed: u64, packets: usize) -> Vec<Packet> {
    let mut random = Random(seed);
    let mut one = |at: usize| {
        let draw = random.below(2_000);
        let rank = (draw * draw * draw / 4_000_000) as u32;
        let bytes = 40 + random.below(1_400) as u32;
        let key = match at {
            _ if at % 10 == 3 => v4(0xc633_640b, 0x0a00_0000 + at as u32, 5_000),
            _ if at.is_multiple_of(5) => v6(u128::from(rank) << 70, u128::from(rank % 40) << 3, 443),
            _ => v4(0x0a00_0000 + rank * 97, 0xc000_0200 + rank % 50, 1_024 + (rank % 7) as u16),
        };
        Packet { key, bytes }
    };
    (0..packets).map(&mut one).collect()
}

pub(crate) fn spec(text: &str) -> TaskSpec {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn setting(packets: u64, workers: usize, scatters: bool) -> RunProperties {
    RunProperties {
        key: KeySpec::FIVE_TUPLE,
        is_paired: false,
        packets: Some(packets),
        workers,
        scatters,
        shares: false,
        seed: Seed::new(SEED),
    }
}

pub(crate) fn tasks(specs: &[&str], setting: &RunProperties) -> Tasks {
    let specs: Vec<TaskSpec> = specs.iter().map(|text| spec(text)).collect();
    Tasks::plan(&specs, setting).unwrap_or_else(|error| panic!("{error}"))
}

/// Counts packets as a worker does.
pub(crate) fn count(counter: &mut TaskCounter, packets: &[Packet]) {
    count_by(counter, packets, Seed::new(SEED));
}

/// The same of a run with this seed.
pub(crate) fn count_by(counter: &mut TaskCounter, packets: &[Packet], seed: Seed) {
    let mut bursts = Bursts::with_capacity(BURST);
    for packets in packets.chunks(BURST) {
        bursts.clear();
        for packet in packets {
            let fields = PacketFields { total_byte: packet.bytes, ..PacketFields::default() };
            match packet.key {
                AnyKey::V4(key) => bursts.v4.push(key, fields, &seed),
                AnyKey::V6(key) => bursts.v6.push(key, fields, &seed),
            }
        }
        counter.count(&bursts);
    }
}

pub(crate) fn counter(tasks: &Tasks) -> TaskCounter {
    TaskCounter::new(tasks, Box::new(tasks.states().expect("memory")))
}

/// The answers of windows that one worker counted.
pub(crate) fn answers(tasks: &Tasks, windows: &[&[Packet]]) -> Vec<Vec<TaskAnswer>> {
    answers_by(tasks, windows, Seed::new(SEED))
}

/// The same of a run with this seed.
pub(crate) fn answers_by(tasks: &Tasks, windows: &[&[Packet]], seed: Seed) -> Vec<Vec<TaskAnswer>> {
    let (mut desk, mut counter) = (TaskRunner::new(tasks.clone(), 1), counter(tasks));
    let mut empty = Some(Box::new(tasks.states().expect("memory")));
    (0..)
        .map(WindowId::new)
        .zip(windows)
        .map(|(window, packets)| {
            count_by(&mut counter, packets, seed);
            let states = counter.turn(empty.take().expect("states come back"));
            empty = desk.part(WorkerId::new(0), window, states).pop().map(|(_, states)| states);
            desk.report(window, Some(0))
        })
        .collect()
}

/// The answer of one task about one window.
pub(crate) fn answer(text: &str, packets: &[Packet]) -> TaskAnswer {
    let tasks = tasks(&[text], &setting(packets.len() as u64, 1, false));
    answers(&tasks, &[packets]).remove(0).remove(0)
}

/// The weight of each flow.
pub(crate) fn weights(packets: &[Packet], key: &KeySpec, bytes: bool) -> HashMap<FlowKey, u64> {
    let mut weights = HashMap::new();
    for packet in packets {
        *weights.entry(packet.flow_key(key)).or_default() += if bytes { packet.bytes.into() } else { 1 };
    }
    weights
}

/// With how many others each key had to do.
pub(crate) fn contacts(packets: &[Packet], key: &KeySpec, of: &KeySpec) -> HashMap<FlowKey, u64> {
    let mut sets: HashMap<FlowKey, HashSet<FlowKey>> = HashMap::new();
    for packet in packets {
        sets.entry(packet.flow_key(key)).or_default().insert(packet.flow_key(of));
    }
    sets.into_iter().map(|(key, set)| (key, set.len() as u64)).collect()
}

pub(crate) fn flows(answer: &TaskAnswer) -> &[EstimatedFlow] {
    match &answer.rows {
        TaskRows::Flows { flows, .. } => flows,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn key(text: &str) -> KeySpec {
    KeySpec::parse(text).expect("a key")
}
