//! Parallel designs over the software wire: what each loses and costs at a set rate (`designs`, as Tables 3
//! and 4 of Wu et al. 2016), the highest rate within a bound of loss (`rate`), and the gain of more cores and
//! the cost of handing over (`scale`).

mod adapt;
mod designs;
mod fit;
mod full_speed;
mod packets_only;
mod point;
mod rate;
mod rig;
mod row;
mod sampled;
mod scale;
mod sketches;
mod tee;
mod turns;
mod xyz;

pub(crate) use adapt::run_all as adapt;
pub(crate) use designs::run as designs;
pub(crate) use designs::some as some_designs;
pub(crate) use full_speed::{DesignKind, FullSpeed, full_speed};
pub(crate) use rate::run as rate;
pub(crate) use scale::run as scale;
pub(crate) use tee::{answers_of_a_window, path_of as tee_path, run as tee};

pub use point::{Effort, TallyKind, WirePoint, measure_wire};
pub use sketches::SketchKind;
pub use xyz::wu_designs;

use crate::Points;
use crate::preset::OWN;
use engine::{OfferedLoad, Preset};
use notation::Rate;
use port::wire::{ReplayLength, WireSpec};
use traffic::ArrivalProcess;

/// A single window for the whole run.
const ONE_WINDOW: engine::Every = engine::Every::Time(1 << 62);

/// The settings of a bench.
fn settings(points: &Points) -> &'static Preset {
    points.preset.unwrap_or(&OWN)
}

/// A wire with these settings; without a rate a replay.
fn wire(preset: &Preset, rate: Option<Rate>, queues: usize, length: ReplayLength) -> WireSpec {
    let Preset { ring, mbufs, .. } = *preset;
    WireSpec {
        rate,
        steps: None,
        arrivals: ArrivalProcess::Constant,
        queues,
        ring,
        length,
        mbufs,
        pools: None,
        seed: 1,
    }
}

/// The loads, as restricted by the points: none twice.
fn loads(points: &Points) -> Vec<OfferedLoad> {
    let mut loads: Vec<OfferedLoad> = Vec::new();
    for load in settings(points).loads {
        let flows = points.flows.unwrap_or(load.flows);
        let zipf = points.zipf.unwrap_or(load.zipf);
        let load = OfferedLoad { flows, zipf, ..*load };
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    loads
}

/// Packets of one pass of a traffic of this many flows.
fn packets(points: &Points, flows: u64) -> u64 {
    points.packets.unwrap_or((4 * flows).clamp(1_000_000, 1 << 23))
}

fn rounded(value: f64) -> f64 {
    crate::line::to_digits(value, 2)
}
