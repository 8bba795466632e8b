//! Parallel designs over the software wire: what each loses and costs at a set rate (`designs`, as Tables 3 and 4 of Wu et
//! al. 2016), the highest rate within a bound of loss (`rate`), and what more cores and handing over give and take
//! (`scale`).

mod designs;
mod rate;
mod rig;
mod scale;

pub(crate) use designs::run as designs;
pub(crate) use rate::run as rate;
pub(crate) use scale::run as scale;

use crate::Points;
use engine::{Cores, Design, Plan, allowed_cores};
use port::wire::{Length, WireSpec};
use traffic::{Arrivals, Rate};

/// One window for the whole run.
const ONE_WINDOW: engine::Every = engine::Every::Time(1 << 62);

/// A wire without a rate: a replay.
fn wire(rate: Option<Rate>, queues: usize, length: Length, mbufs: Option<u32>) -> WireSpec {
    WireSpec { rate, arrivals: Arrivals::Constant, queues, ring: 2048, length, mbufs, seed: 1 }
}

/// The plan of a design, pinned to cores where there are enough.
fn plan(design: Design, cores: Option<usize>, queues: usize) -> Result<Plan, String> {
    let allowed = allowed_cores();
    let cores = cores.map(|count| Cores::Count(count.min(allowed.len())));
    Plan::new(Some(design), cores.as_ref(), queues, &allowed)
}

/// Flows of the traffic, and packets of one pass of it.
fn size(points: &Points) -> (u64, u64) {
    let flows = points.flows.unwrap_or(1_000_000);
    (flows, points.packets.unwrap_or((4 * flows).clamp(1_000_000, 1 << 23)))
}

fn rounded(value: f64) -> f64 {
    crate::line::to_digits(value, 2)
}
