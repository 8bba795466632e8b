//! Zhang, Linguaglossa, Gallo, Giaccone and Rossi 2019: FloWatcher-DPDK.

pub(crate) mod aggregation;
pub(crate) mod analytics;
pub(crate) mod capturing;
pub(crate) mod device;
pub(crate) mod echo;
pub(crate) mod hashing;
pub(crate) mod parameters;
pub(crate) mod precision;

use crate::deciding::{Claim, value_at};
use crate::figure::Paper;
use crate::over_wire::{self, DROP};
use crate::point::Scale;
use crate::row::FigureRows;
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

/// Claims that one series loses less than another at the overload, and no more at the lower rate, at which little is lost. Each comes with its
/// name in the text.
fn loses_less(
    rows: &FigureRows,
    lower: &'static str,
    (more, its): (&str, &str),
    (less, other): (&str, &str),
) -> Result<Vec<Claim>, String> {
    let mut claims = Vec::new();
    for rate in [lower, OVERLOAD] {
        let at = |series: &str| value_at(rows, series, (MPPS, mpps(rate)), DROP);
        let (most, least) = (at(more)?, at(less)?);
        let text =
            format!("at {} Mpps {its} loses {} and {other} {}", mpps(rate), most.text("%"), least.text("%"));
        // Where the one loses nothing, the other may lose nothing.
        let holds = if rate == OVERLOAD { least.is_below(most) } else { least.is_at_most(most, 0.0) };
        claims.push(Claim::new(holds, text));
    }
    Ok(claims)
}
