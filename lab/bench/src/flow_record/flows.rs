//! The flows of a key stream and their exact counts, in the order of arrival.

use crate::tuple::Tuple;
use hashbrown::HashMap;
use packet::{KeyV4, Toeplitz};
use traffic::{KeyStream, TrafficSpec};

/// Packets as a card hands them over: keys from the header, RSS hashes from the descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashedPackets<'a> {
    pub(super) keys: &'a [KeyV4],
    pub(super) hashes: &'a [u32],
}

impl HashedPackets<'_> {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// A flow and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamFlow {
    pub(super) key: KeyV4,
    /// The RSS hash of the flow.
    pub(super) hash: u32,
    /// Packets in the whole stream.
    pub(super) packets: u32,
    /// Packets in the sample.
    pub(super) sampled: u32,
}

impl StreamFlow {
    /// Returns the number of packets that a table should have counted after the whole stream and this many passes over the sample.
    pub(super) fn counted(&self, passes: u64) -> u64 {
        u64::from(self.packets) + passes * u64::from(self.sampled)
    }

    /// The different hashes in the order of arrival, each with the packets of all its flows.
    pub(super) fn first_of_each_hash(flows: &[Self]) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut totals: HashMap<u32, u64> = HashMap::with_capacity(flows.len());
        for flow in flows {
            *totals.entry(flow.hash).or_default() += u64::from(flow.packets);
        }
        flows.iter().filter_map(move |flow| Some((flow.hash, totals.remove(&flow.hash)?)))
    }
}

/// The order in which flows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Flows come in the order of drawing: in a skewed stream the heavy flows are first, and some never occur.
    Drawn,
    /// Every flow sends one packet, in an order independent of the weights, before those in the order of drawing.
    AnyOrder,
}

impl Arrival {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Drawn => "drawn",
            Self::AnyOrder => "any_order",
        }
    }
}

/// The packets of a point and the truth about them.
pub(super) struct PointTraffic {
    stream: KeyStream<KeyV4>,
    /// Packets before the drawn ones.
    before: usize,
    hashes: Vec<u32>,
    sampled_keys: Vec<KeyV4>,
    sampled_hashes: Vec<u32>,
    /// The flows in the order of their first packets.
    pub(super) flows: Vec<StreamFlow>,
    /// The index of each flow in `flows`, by its key.
    places: HashMap<KeyV4, u32>,
}

impl PointTraffic {
    /// Draws the packets and computes their RSS hashes, as a card with Microsoft's key would.
    pub(super) fn draw(packets: u64, flows: u64, zipf: f64, arrival: Arrival) -> Result<Self, String> {
        let spec: TrafficSpec = format!("packets={packets},flows={flows},zipf={zipf},seed=1")
            .parse()
            .map_err(|error| format!("{error}"))?;
        let stream = match arrival {
            Arrival::Drawn => KeyStream::ipv4(&spec),
            Arrival::AnyOrder => KeyStream::ipv4(&spec).after_each_flow(),
        };
        let before = stream.keys().len() - packets as usize;
        let rss = Toeplitz::new(&Toeplitz::MICROSOFT_KEY);
        let hashes: Vec<u32> = stream.keys().iter().map(|key| Tuple::from_v4(key).rss(&rss)).collect();
        let mut places = HashMap::with_capacity(stream.distinct());
        let mut flows: Vec<StreamFlow> = Vec::with_capacity(stream.distinct());
        for (&key, &hash) in stream.keys().iter().zip(&hashes) {
            let place = *places.entry(key).or_insert(flows.len() as u32);
            match flows.get_mut(place as usize) {
                Some(flow) => flow.packets += 1,
                None => flows.push(StreamFlow { key, hash, packets: 1, sampled: 0 }),
            }
        }
        let traffic = Self {
            stream,
            before,
            hashes,
            sampled_keys: Vec::new(),
            sampled_hashes: Vec::new(),
            flows,
            places,
        };
        // The stream counted what it drew by itself.
        let agrees =
            |(key, count)| traffic.place(&key).is_some_and(|place| traffic.flows[place].packets == count);
        if traffic.stream.distinct() == traffic.flows.len() && traffic.stream.counts().all(agrees) {
            Ok(traffic)
        } else {
            Err(format!("the keys of '{spec}' are not those that it says it drew"))
        }
    }

    /// Chooses this many of the drawn packets, at even distances: the first ones alone would be those of the
    /// earliest flows, which are at the heads of lists.
    pub(super) fn sample(&mut self, count: usize) {
        let keys = self.stream.keys();
        let chosen = (0..count).map(|at| self.before + at * (keys.len() - self.before) / count);
        (self.sampled_keys, self.sampled_hashes) = chosen.map(|at| (keys[at], self.hashes[at])).unzip();
        for flow in &mut self.flows {
            flow.sampled = 0;
        }
        for key in &self.sampled_keys {
            self.flows[self.places[key] as usize].sampled += 1;
        }
    }

    /// Replaces the card's hashes by others.
    #[cfg(test)]
    pub(super) fn rehash(&mut self, change: impl Fn(u32) -> u32) {
        self.hashes.iter_mut().for_each(|hash| *hash = change(*hash));
        self.sampled_hashes.iter_mut().for_each(|hash| *hash = change(*hash));
        self.flows.iter_mut().for_each(|flow| flow.hash = change(flow.hash));
    }

    pub(super) fn packets(&self) -> HashedPackets<'_> {
        HashedPackets { keys: self.stream.keys(), hashes: &self.hashes }
    }

    /// The packets of the sample.
    pub(super) fn sampled(&self) -> HashedPackets<'_> {
        HashedPackets { keys: &self.sampled_keys, hashes: &self.sampled_hashes }
    }

    /// Returns the index in `flows` of the flow of this key.
    pub(super) fn place(&self, key: &KeyV4) -> Option<usize> {
        self.places.get(key).map(|&place| place as usize)
    }
}
