//! Packets of a key stream and how often each flow is among them.

use crate::tuple::Tuple;
use packet::KeyV4;
use traffic::{KeyStream, TrafficSpec};

/// Packets in the forms that structures take them in.
pub(super) struct SketchStream {
    pub(super) keys: Vec<KeyV4>,
    /// The keys in 13 bytes, for those who hash bytes.
    pub(super) tuples: Vec<Tuple>,
    /// Every flow that was drawn, and its packets.
    pub(super) flows: Vec<(KeyV4, u32)>,
}

impl SketchStream {
    pub(super) fn draw(packets: u64, flows: u64, zipf: f64, seed: u64) -> Result<Self, String> {
        let spec: TrafficSpec = format!("packets={packets},flows={flows},zipf={zipf},seed={seed}")
            .parse()
            .map_err(|error| format!("{error}"))?;
        let stream = KeyStream::ipv4(&spec);
        let keys = stream.keys().to_vec();
        let tuples = keys.iter().map(Tuple::from_v4).collect();
        Ok(Self { keys, tuples, flows: stream.counts().collect() })
    }

    pub(super) fn packets(&self) -> u64 {
        self.keys.len() as u64
    }
}
