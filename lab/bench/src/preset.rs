//! The settings of the benches of parallel designs where no paper's are asked for.

use engine::{HAND_OVER_PACKETS, OfferedLoad, Preset};
use serde_json::{Value, json};

/// Returns what every line of a bench reports of its settings in addition to its own parameters.
pub(crate) fn setting_params(preset: &Preset, burst: usize) -> Vec<(&'static str, Value)> {
    vec![
        ("preset", json!(preset.name)),
        ("burst", json!(burst)),
        ("ring", json!(preset.ring)),
        ("between_cores", json!(preset.between_cores)),
        ("mbufs", json!(preset.mbufs)),
    ]
}

/// Edison's own. The frame sizes of Wu et al. with all that 100 Gbit/s carry of the longer ones, and for the shortest a
/// rate that is more than one core can count.
pub(crate) const OWN: Preset = Preset {
    name: "own",
    source: "Edison",
    settings: &[],
    loads: &[
        OfferedLoad::new(1_000_000, 1.0, 64, "40Mpps", 256),
        OfferedLoad::new(1_000_000, 1.0, 754, "100Gbps", 256),
        OfferedLoad::new(1_000_000, 1.0, 1514, "100Gbps", 256),
    ],
    cases: &[
        ("rss", Some(1), 1),
        ("rss", Some(2), 2),
        ("sync", Some(2), 1),
        ("async", Some(2), 1),
        ("pipeline", Some(2), 1),
        ("cooperative", Some(1), 1),
        ("1x2", None, 1),
        ("2x1", None, 2),
        // Wu et al., Tables 3 and 4: X-Y, with the exact table as Z.
        ("rss shared", Some(2), 2),
        ("sync shared", Some(2), 1),
        ("async shared", Some(2), 1),
        ("1x2 position", None, 1),
        ("1x2 position shared", None, 1),
    ],
    best: ("rss", Some(1), 1),
    has_sketches: true,
    ring: 4096,
    between_cores: HAND_OVER_PACKETS,
    mbufs: None,
};
