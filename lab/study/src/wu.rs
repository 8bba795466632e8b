//! Wu, Li, Ran and Luo 2016: sketches on several cores for 100 Gbit/s.

pub(crate) mod cores;
pub(crate) mod designs;
pub(crate) mod figure_11;
pub(crate) mod figure_7;
pub(crate) mod figure_8;

use crate::figure::Paper;
use crate::over_wire;
use crate::point::Scale;
use bench::{Effort, SketchKind, TallyKind, WirePoint};
use engine::Preset;

pub(crate) static PAPER: Paper = Paper {
    name: "wu",
    cite: "Xiaoban Wu, Peilong Li, Yongyi Ran, Yan Luo: Network Measurement for 100Gbps Links Using Multicore Processors, 2016",
    machine: "two servers, each with two Intel Xeon E5-2643 of 6 cores at 3.4 GHz, L2 256 KB, L3 20 MB; Mellanox ConnectX-4 100GbE on socket 1; DPDK 16.04",
};

/// Cores of a socket of the paper.
pub(super) const CORES: usize = 6;

fn preset() -> &'static Preset {
    over_wire::preset("wu")
}

/// Rounds of a comparison, and how long packets arrive in each.
fn effort(scale: Scale) -> Effort {
    Effort { packets: Some(1 << 20), rounds: scale.pick(5, 7), milliseconds: scale.pick(50, 200) }
}

/// The Simple Hash Table of each core's own, as RSS or SYNC fills it; one comparison of the paper has these two.
fn separate_table(is_rss: bool, cores: usize) -> WirePoint {
    let (design, queues) = if is_rss { ("rss", cores) } else { ("sync position", 1) };
    WirePoint {
        variant: if is_rss { RSS_TABLE } else { SYNC_TABLE }.to_owned(),
        counting: TallyKind::Sketch(SketchKind::SimpleHashTable, SketchKind::SimpleHashTable.default_width()),
        ..WirePoint::new(preset(), design, Some(cores), queues)
    }
}

const RSS_TABLE: &str = "RSS-Separate-SHT";
const SYNC_TABLE: &str = "SYNC-Separate-SHT";
