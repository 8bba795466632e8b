//! Zhang, Linguaglossa, Gallo, Giaccone and Rossi 2019: FloWatcher-DPDK.

pub(crate) mod aggregation;
pub(crate) mod analytics;
pub(crate) mod capturing;
pub(crate) mod device;
pub(crate) mod echo;
pub(crate) mod hashing;
pub(crate) mod parameters;
pub(crate) mod precision;

use crate::figure::Paper;
use crate::over_wire;
use crate::point::Scale;
use bench::{Effort, TallyKind, WirePoint};
use engine::Preset;

pub(crate) static PAPER: Paper = Paper {
    name: "flowatcher",
    cite: "Tianzhu Zhang, Leonardo Linguaglossa, Massimo Gallo, Paolo Giaccone, Dario Rossi: FloWatcher-DPDK: Lightweight Line-Rate Flow-Level Monitoring in Software, IEEE TNSM 16(3), 2019",
    machine: "testbed 1: two servers, each with two Intel Xeon at 2.60 GHz, L2 256 KB, L3 25.6 MB, Intel 82599ES 10 Gbit/s; testbed 2: Xeon E5-2690 v3; testbed 3: Xeon E5-2650 v3; MoonGen sends",
};

/// The rate of the paper: 14.88 million packets of 64 bytes a second.
const LINE_RATE: &str = "10Gbps";
/// The rate where nothing is lost at the paper's rate: more than two cores count.
const OVERLOAD: &str = "100Mpps";
/// The name of a row's numeric parameter for `rate`, megapackets per second.
const MPPS: &str = "mpps";

fn mpps(rate: &str) -> f64 {
    match rate {
        LINE_RATE => 14.88,
        other => other.trim_end_matches("Mpps").parse().unwrap_or(f64::NAN),
    }
}

fn preset() -> &'static Preset {
    over_wire::preset("flowatcher")
}

/// Rounds of a comparison, and how long packets arrive in each.
fn effort(scale: Scale) -> Effort {
    Effort { packets: Some(1 << 20), rounds: scale.pick(5, 7), milliseconds: scale.pick(60, 300) }
}

/// Run to completion on two cores, with two queues: what two cores can do without workers.
fn two_cores(variant: &str, counting: TallyKind, rate: &'static str) -> WirePoint {
    WirePoint { variant: variant.to_owned(), counting, rate, ..WirePoint::new(preset(), "rss", Some(2), 2) }
}
