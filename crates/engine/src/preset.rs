//! The settings of the papers' measurements, each with its place in the paper.

mod room;

pub use room::Room;

/// The traffic that a measurement offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedLoad {
    /// The number of different flows.
    pub flows: u64,
    /// The Zipf exponent of the flows' sizes; 0 is uniform.
    pub zipf: f64,
    /// The bytes of a frame with its check sequence.
    pub frame: u32,
    /// The rate of arrival, as a wire takes it (`rate`).
    pub rate: &'static str,
    /// The most frames of one poll.
    pub burst: usize,
}

impl OfferedLoad {
    /// Makes a load.
    pub const fn new(flows: u64, zipf: f64, frame: u32, rate: &'static str, burst: usize) -> Self {
        Self { flows, zipf, frame, rate, burst }
    }
}

/// A design (with its split and its state, unless they are hash and separate), the cores that it is pinned to
/// (`None`: as many threads as it has, wherever there is room), and its receive queues.
pub type DesignCase = (&'static str, Option<usize>, usize);

/// Settings with a name.
#[derive(Debug)]
pub struct Preset {
    /// The name for `--preset`.
    pub name: &'static str,
    /// The source of the settings.
    pub source: &'static str,
    /// The settings, each with its value and its place in the paper; settings that are not in the paper are marked.
    pub settings: &'static [[&'static str; 3]],
    /// The loads that are measured.
    pub loads: &'static [OfferedLoad],
    /// The designs that are measured.
    pub cases: &'static [DesignCase],
    /// The paper's best design, which a run takes.
    pub best: DesignCase,
    /// Wu's three sketches are measured in addition to the tables.
    pub has_sketches: bool,
    /// The descriptors of a receive queue.
    pub ring: usize,
    /// The packets that may wait between a receiver and each worker.
    pub between_cores: usize,
    /// The mbufs of a receive queue's pool; `None`: frames come without.
    pub mbufs: Option<u32>,
}

impl Preset {
    /// Finds the settings with this name.
    ///
    /// # Errors
    /// Returns one line with the names that there are.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            format!("no preset '{name}'; there are {}", names.join(", "))
        })
    }

    /// The equivalent options of `edison run`, by their long names, apart from design and cores, which depend on the machine and the source
    /// ([`Preset::scaled`]).
    pub fn run_options(&self) -> Vec<(&'static str, String)> {
        let burst = self.loads.first().map(|load| ("burst", load.burst.to_string()));
        let mempool = self.mbufs.map(|mbufs| ("mempool", mbufs.to_string()));
        [("ring", self.ring.to_string())].into_iter().chain(burst).chain(mempool).collect()
    }

    /// The settings in readable form, one line each.
    pub fn text(&self) -> String {
        let lines =
            self.settings.iter().map(|[what, value, place]| format!("  {what:<12} {value:<34} {place}\n"));
        format!("{}: {}\n", self.name, self.source) + &lines.collect::<String>()
    }
}

/// Entries of the three tables of Wu et al.
const WU_TABLES: [u64; 3] = [1 << 10, 256 << 10, 8 << 20];
/// The number of `RTE_MBUF`s that 16K denotes.
const SIXTEEN_K: u32 = 16 << 10;

/// The settings of the papers.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "wu",
        source: "Wu et al. 2016, Network Measurement for 100Gbps Links Using Multicore Processors",
        settings: &[
            ["frame sizes", "64, 754, 1514 bytes", "section 4.2"],
            [
                "rate",
                "72 Mpps of 64 bytes, 8 Mpps of 1514",
                "section 4.2; of 754 not in the text: 100 Gbit/s",
            ],
            ["traffic", "uniform", "section 4.2: random headers"],
            ["mempool", "16K for each queue", "section 4.3"],
            [
                "tables",
                "1K, 256K, 8M entries of 17 bytes",
                "section 4.4.2; Edison's exact table grows: flows instead",
            ],
            [
                "designs",
                "RSS, SYNC, ASYNC; Separate, Shared",
                "sections 3.1, 3.2; Shared to 2M flows; sketches: rows X-Y-Z",
            ],
            ["cores", "6", "section 4.1 (a socket), 4.4.1 (2 to 6)"],
            ["burst, ring", "256, 4096", "not in the paper: Edison's own"],
        ],
        loads: &[
            OfferedLoad::new(WU_TABLES[1], 0.0, 64, "72Mpps", 256),
            OfferedLoad::new(WU_TABLES[1], 0.0, 754, "100Gbps", 256),
            OfferedLoad::new(WU_TABLES[1], 0.0, 1514, "8Mpps", 256),
            OfferedLoad::new(WU_TABLES[0], 0.0, 64, "72Mpps", 256),
            OfferedLoad::new(WU_TABLES[2], 0.0, 64, "72Mpps", 256),
        ],
        cases: &[
            ("rss", Some(6), 6),
            ("rss shared", Some(6), 6),
            ("sync position", Some(6), 1),
            ("sync position shared", Some(6), 1),
            ("async position", Some(6), 1),
            ("async position shared", Some(6), 1),
        ],
        best: ("rss", Some(6), 6),
        has_sketches: true,
        ring: 4096,
        between_cores: 4096,
        mbufs: Some(SIXTEEN_K),
    },
    Preset {
        name: "ares",
        source: "Wu et al. 2019, Edison (its probes are called Ares)",
        settings: &[
            ["frame sizes", "64, 750 bytes", "section III.B"],
            ["rate", "78 Mpps of 64 bytes, 16 Mpps of 750", "section III.B"],
            ["flows", "1.5M, random", "section III.B"],
            ["designs", "1x1, 1x2, 1x4, 2x1, 2x2, 3x1", "section III.C, Figure 5"],
            ["cores", "6 at most: clusters of receiver and workers", "section III.C"],
            ["mempool", "16K for each queue", "not in the paper: Wu et al. 2016, section 4.3"],
            ["burst, ring", "256, 4096", "not in the paper: Edison's own"],
        ],
        loads: &[
            OfferedLoad::new(1_500_000, 0.0, 64, "78Mpps", 256),
            OfferedLoad::new(1_500_000, 0.0, 750, "16Mpps", 256),
        ],
        cases: &[
            ("1x1", None, 1),
            ("1x2", None, 1),
            ("1x4", None, 1),
            ("2x1", None, 2),
            ("2x2", None, 2),
            ("3x1", None, 3),
        ],
        best: ("3x1", Some(6), 3),
        has_sketches: false,
        ring: 4096,
        between_cores: 4096,
        mbufs: Some(SIXTEEN_K),
    },
    Preset {
        name: "flowatcher",
        source: "Zhang et al. 2019, FloWatcher-DPDK",
        settings: &[
            ["frame size", "64 bytes", "section IV.C"],
            ["rate", "10 Gbit/s: 14.88 Mpps", "section IV.C"],
            ["flows", "2^16, uniform and Zipf(1)", "section IV.C"],
            ["burst", "256; 64 to 1024", "Table II; section V.A, Figure 5-(a)"],
            ["ring", "4096 descriptors", "Table II"],
            ["queues", "2, a pool for each", "Table II, Figure 5-(b) and (c)"],
            ["designs", "pipeline per queue, run to completion", "sections III.A and V.A, Table III"],
            ["", "cooperative", "section III.A (lthread)"],
            ["cores", "4 (2 without workers)", "Table II"],
            [
                "mempool",
                "16K for each queue",
                "not in the paper: as many as its ring and a burst need, and more",
            ],
        ],
        loads: &[
            OfferedLoad::new(1 << 16, 0.0, 64, "10Gbps", 256),
            OfferedLoad::new(1 << 16, 1.0, 64, "10Gbps", 256),
            OfferedLoad::new(1 << 16, 0.0, 64, "10Gbps", 64),
            OfferedLoad::new(1 << 16, 0.0, 64, "10Gbps", 128),
            OfferedLoad::new(1 << 16, 0.0, 64, "10Gbps", 512),
            OfferedLoad::new(1 << 16, 0.0, 64, "10Gbps", 1024),
        ],
        cases: &[("2x1", Some(4), 2), ("rss", Some(2), 2), ("cooperative", Some(1), 1)],
        best: ("2x1", Some(4), 2),
        has_sketches: false,
        ring: 4096,
        between_cores: 4096,
        mbufs: Some(SIXTEEN_K),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cores, Design, ResolvedDesign};
    use port::wire::WireSpec;

    #[test]
    fn every_setting_is_possible_where_there_are_cores() {
        let many: Vec<usize> = (0..64).collect();
        for preset in PRESETS {
            for &(name, cores, queues) in preset.cases {
                let design: Design = name.split(' ').next().unwrap_or(name).parse().expect(name);
                let cores = cores.map(Cores::Count);
                let plan = ResolvedDesign::new(Some(design), cores.as_ref(), queues, &many).expect(name);
                assert!(!plan.oversubscribed, "{name}");
                for load in preset.loads {
                    let text = format!("rate={},queues={queues},ring={}", load.rate, preset.ring);
                    let spec: WireSpec = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
                    let mbufs = preset.mbufs.unwrap_or(u32::MAX) as usize;
                    assert!(mbufs >= spec.ring + load.burst, "{}: {load:?}", preset.name);
                    assert!((1..=4096).contains(&load.burst));
                }
            }
        }
    }

    #[test]
    fn every_setting_says_where_it_stands() {
        for preset in PRESETS {
            let text = preset.text();
            assert_eq!(text.lines().count(), 1 + preset.settings.len());
            assert!(preset.settings.iter().all(|[_, value, place]| !value.is_empty() && !place.is_empty()));
            assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
        }
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names, ["wu", "ares", "flowatcher"]);
    }
}
