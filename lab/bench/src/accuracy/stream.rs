//! The streams that are measured: windows of a capture, of generated traffic, or drawn by Zipf's law from the flows of either.

use super::window::{BURST, BurstWindow, read};
use packet::{PacketFields, PacketKey, Seed};
use port::{CaptureSource, SyntheticSource};
use serde_json::{Value, json};
use std::collections::HashMap;
use traffic::RankDraw;

/// Windows of a capture that are read: the number that fits into memory.
const MOST_WINDOWS: usize = 10;
/// The number of flows of the background.
const FLOWS: u64 = 300_000;
/// Scans in both windows: parts of a million of the packets, each to a different destination.
const SCANS: [u64; 4] = [4_000, 3_000, 2_000, 1_200];
/// Elephants that begin with the second window, and those that end with the first.
const ELEPHANTS: &str = "elephant:share=2%:start=50%:end=100%/elephant:share=1%:start=50%:end=100%\
    /elephant:share=0.5%:start=50%:end=100%/elephant:share=0.3%:start=50%:end=100%\
    /elephant:share=1%:start=0%:end=50%/elephant:share=0.5%:start=0%:end=50%\
    /elephant:share=0.3%:start=0%:end=50%";
/// Every other one of the flows that may change places in the previous window does.
const MOVED: usize = 64;

/// Returns the events that are planted into two windows of this many packets, the second of which is measured: sources with many destinations, a
/// flood, and flows that begin or end. They are an eighth of that window.
fn planted(packets: u64) -> String {
    let in_window = |ppm: u64| (packets * ppm / 1_000_000).max(1);
    let scan = |ppm: &u64| {
        format!("scan:share={}%:targets={}:start=0%:end=100%/", *ppm as f64 / 1e4, in_window(*ppm))
    };
    let of_second = in_window(20_000);
    let scans: String = SCANS.iter().map(scan).collect();
    format!(
        "scan:share=1%:targets={of_second}:start=50%:end=100%/flood:share=1%:sources={of_second}:start=50%:end=100%/{scans}\
         {ELEPHANTS}"
    )
}

/// A flow, and its first packet.
type RankedFlow = (PacketKey, PacketFields);

/// A kind of stream, of which a seed makes windows.
pub(super) enum StreamKind {
    /// Zipf(1) with planted events.
    Generated { packets: u64, flows: u64 },
    /// Windows of a capture, unchanged.
    Capture { name: String, windows: Vec<BurstWindow> },
    /// Packets drawn by Zipf's law from flows, the heaviest first.
    Ranked { of: String, flows: Vec<RankedFlow>, zipf: f64, packets: u64 },
}

/// A window, and the previous one if any.
pub(super) struct WindowPair {
    /// The seed by which keys are hashed.
    pub(super) seed: Seed,
    pub(super) before: Option<BurstWindow>,
    pub(super) now: BurstWindow,
}

impl StreamKind {
    /// Generated traffic: two windows of this many packets.
    pub(super) fn generated(packets: u64, flows: Option<u64>) -> Self {
        Self::Generated { packets, flows: flows.unwrap_or(FLOWS) }
    }

    /// A capture in windows of this many packets.
    ///
    /// # Errors
    /// One line: why it cannot be read.
    pub(super) fn capture(path: &str, packets: u64) -> Result<Self, String> {
        let mut source = CaptureSource::open(path, BURST).map_err(|error| error.to_string())?;
        let windows = read(&mut source, &Seed::new(0), packets, MOST_WINDOWS)?;
        if windows.is_empty() {
            return Err(format!("{path}: no packet of it can be measured"));
        }
        let name = std::path::Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Self::Capture { name: name.unwrap_or_else(|| path.to_owned()), windows })
    }

    /// The flows of this stream's first window, the heaviest first, with sizes by Zipf's law (Alipourfard et al., section 3.3).
    ///
    /// # Errors
    /// See [`StreamKind::sample`].
    pub(super) fn with_skew(&self, zipf: f64) -> Result<Self, String> {
        self.with_keys(self.name(), zipf, |_, _, key| key)
    }

    /// Returns the stream with other keys, and with a name of its own: `key` gets a flow's rank, the number of all flows, and the flow's key.
    ///
    /// # Errors
    /// See [`StreamKind::sample`].
    pub(super) fn with_keys(
        &self,
        name: &str,
        zipf: f64,
        key: impl Fn(u32, u32, PacketKey) -> PacketKey,
    ) -> Result<Self, String> {
        let sample = self.sample(1)?;
        let mut flows: HashMap<FlowBytes, (u64, RankedFlow)> = HashMap::new();
        sample.now.each(|key, fields| {
            flows.entry(bytes_of(&key)).or_insert((0, (key, *fields))).0 += 1;
        });
        let mut flows: Vec<(FlowBytes, (u64, RankedFlow))> = flows.into_iter().collect();
        flows.sort_unstable_by(|(a, (ours, _)), (b, (theirs, _))| theirs.cmp(ours).then_with(|| a.cmp(b)));
        let all = flows.len() as u32;
        let flows = flows.into_iter().map(|(_, (_, flow))| flow);
        let flows = (0..).zip(flows).map(|(rank, (known, fields))| (key(rank, all, known), fields)).collect();
        Ok(Self::Ranked { of: name.to_owned(), flows, zipf, packets: self.packets() })
    }

    /// Returns the name of the stream in tables.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Generated { .. } => "generated",
            Self::Capture { name, .. } => name,
            Self::Ranked { of, .. } => of,
        }
    }

    /// Skew of flow sizes, where it was set.
    pub(super) fn zipf(&self) -> Value {
        match self {
            Self::Generated { .. } => json!(1.0),
            Self::Capture { .. } => Value::Null,
            Self::Ranked { zipf, .. } => json!(zipf),
        }
    }

    /// Packets of a window.
    pub(super) fn packets(&self) -> u64 {
        match self {
            Self::Generated { packets, .. } | Self::Ranked { packets, .. } => *packets,
            Self::Capture { windows, .. } => windows[0].packets,
        }
    }

    /// Returns the number of samples that there are to be for at least this many seeds: each window of a capture is one.
    pub(super) fn samples(&self, seeds: u64) -> u64 {
        match self {
            Self::Capture { windows, .. } => seeds.max(windows.len().saturating_sub(1) as u64),
            _ => seeds,
        }
    }

    /// The windows of a seed: other packets, where they are drawn, and other hashes.
    ///
    /// # Errors
    /// One line.
    pub(super) fn sample(&self, seed: u64) -> Result<WindowPair, String> {
        let hash_seed = Seed::new(seed);
        let (before, now) = match self {
            Self::Generated { packets, flows } => {
                let spec = format!(
                    "packets={},flows={flows},zipf=1.0,size=64:7/594:4/1518:1,plant={},seed={seed}",
                    2 * packets,
                    planted(*packets)
                );
                let mut source = SyntheticSource::open(&spec, BURST).map_err(|error| error.to_string())?;
                let mut windows = read(&mut source, &hash_seed, *packets, 2)?.into_iter();
                let first = windows.next().ok_or("generated traffic has no packets")?;
                match windows.next() {
                    Some(second) => (Some(first), second),
                    None => (None, first),
                }
            }
            Self::Capture { windows, .. } => match &windows[..] {
                [only] => (None, only.hashed(&hash_seed)),
                _ => {
                    let at = (seed.saturating_sub(1) as usize) % (windows.len() - 1);
                    (Some(windows[at].hashed(&hash_seed)), windows[at + 1].hashed(&hash_seed))
                }
            },
            Self::Ranked { flows, zipf, packets, .. } => {
                let window = |random, is_before: bool| {
                    let mut draw = RankDraw::new(flows.len() as u32, *zipf, random);
                    let (mut window, mut ranks) = (BurstWindow::default(), [0; BURST]);
                    while window.packets < *packets {
                        draw.draw(&mut ranks);
                        for rank in ranks.iter().take((*packets - window.packets) as usize) {
                            let at =
                                if is_before { moved(*rank as usize, flows.len()) } else { *rank as usize };
                            let (key, fields) = &flows[at];
                            window.push(key, *fields, &hash_seed);
                        }
                    }
                    window
                };
                (Some(window(2 * seed, true)), window(2 * seed + 1, false))
            }
        };
        Ok(WindowPair { seed: hash_seed, before, now })
    }
}

/// The flow with this rank in the previous window: some of the heaviest are exchanged with flows of half the
/// ranks, so that there are changes to find.
fn moved(rank: usize, flows: usize) -> usize {
    let half = flows / 2;
    match rank {
        _ if half < MOVED => rank,
        _ if rank < MOVED && rank % 2 == 1 => half + rank,
        _ if (half..half + MOVED).contains(&rank) && (rank - half) % 2 == 1 => rank - half,
        _ => rank,
    }
}

/// A key in a form that can be compared with those of the other family.
type FlowBytes = (bool, [u8; 40]);

fn bytes_of(key: &PacketKey) -> FlowBytes {
    match key {
        PacketKey::V4(key) => {
            let mut bytes = [0; 40];
            bytes[..16].copy_from_slice(&key.to_bytes());
            (false, bytes)
        }
        PacketKey::V6(key) => (true, key.to_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn keys(window: &BurstWindow) -> HashMap<FlowBytes, u64> {
        let mut keys = HashMap::new();
        window.each(|key, _| *keys.entry(bytes_of(&key)).or_default() += 1);
        keys
    }

    #[test]
    fn a_skew_keeps_the_streams_flows_and_their_order() {
        let stream = StreamKind::generated(20_000, Some(2_000));
        let of_stream = keys(&stream.sample(1).expect("a sample").now);
        for zipf in [0.0, 1.0, 2.0] {
            let ranked = stream.with_skew(zipf).expect("a stream");
            let sample = ranked.sample(3).expect("a sample");
            let drawn = keys(&sample.now);
            assert!(drawn.keys().all(|key| of_stream.contains_key(key)), "another flow than the stream's");
            assert_eq!((sample.now.packets, drawn.values().sum::<u64>()), (20_000, 20_000));
            if zipf > 0.0 {
                let heaviest = |keys: &HashMap<FlowBytes, u64>| {
                    keys.iter().max_by_key(|(_, count)| **count).map(|(key, _)| *key)
                };
                assert_eq!(heaviest(&drawn), heaviest(&of_stream));
            }
        }
        // Seeds draw other packets.
        let ranked = stream.with_skew(1.0).expect("a stream");
        assert_ne!(
            keys(&ranked.sample(1).expect("a sample").now),
            keys(&ranked.sample(2).expect("a sample").now)
        );
    }

    #[test]
    fn ranks_change_places_one_for_one() {
        for flows in [10, 128, 1_000] {
            let all: HashSet<usize> = (0..flows).map(|rank| moved(rank, flows)).collect();
            assert_eq!(all.len(), flows);
        }
        assert_eq!((moved(0, 1_000), moved(1, 1_000), moved(501, 1_000)), (0, 501, 1));
    }

    #[test]
    fn windows_of_a_capture_are_as_long_as_was_asked() {
        let windows = |packets: u64, most| {
            let mut source =
                SyntheticSource::open("packets=1000,flows=50,ipv6=30%", BURST).expect("a source");
            let windows = read(&mut source, &Seed::new(1), packets, most).expect("windows");
            windows.iter().map(|window| window.packets).collect::<Vec<_>>()
        };
        assert_eq!(windows(300, 10), [300, 300, 300]);
        assert_eq!(windows(300, 2), [300, 300]);
        assert_eq!(windows(1_000, 10), [1_000]);
        assert_eq!(windows(5_000, 10), [1_000]);
    }

    #[test]
    fn each_packet_goes_to_one_worker() {
        use engine::Split;
        let mut source = SyntheticSource::open("packets=1000,flows=50,ipv6=30%", BURST).expect("a source");
        let seed = Seed::new(1);
        let window = &read(&mut source, &seed, 1_000, 1).expect("windows")[0];
        let all = keys(window);
        for (split, workers) in [(Split::Hash, 4), (Split::Position, 2)] {
            let parts = window.split(split, workers, &seed);
            let mut sum = HashMap::new();
            for part in &parts {
                assert!(part.packets > 0);
                keys(part).into_iter().for_each(|(key, count)| *sum.entry(key).or_default() += count);
            }
            assert_eq!(sum, all);
            let flows: usize = parts.iter().map(|part| keys(part).len()).sum();
            assert_eq!(flows == all.len(), split == Split::Hash);
        }
    }
}
