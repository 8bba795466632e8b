//! `edison-lab bench model`: the time per packet by the size of a table and the skew of the traffic, as
//! Alipourfard et al. predict it (HotNets 2015, section 3.2, Equation 1) from a short measurement of this
//! machine, compared with the measured time.

mod caches;
mod cas_table;
mod chase;
mod clock;
mod cores;
mod counted;
mod draw;
mod equation;
mod exact_table;
mod hits;
mod latency;
mod machine;
mod packets;
mod percentile;
mod points;
mod popularity;
mod spin_table;
mod tables;
mod two_cores;

pub(crate) use cores::run as cores;

use crate::{BenchResult, Points};
use machine::MachineModel;

const BENCH: &str = "model";

/// Checks that this machine and these points are possible.
fn refused(points: &Points) -> Result<(), String> {
    if !clock::IS_KNOWN {
        return Err("bench model needs an x86-64 processor: its fence and its time stamp counter".to_owned());
    }
    if let Some(flows) = points.flows.filter(|flows| !(1..=points::MOST).contains(flows)) {
        return Err(format!("{flows} flows: bench model takes 1 to {} (a table of 512 MiB)", points::MOST));
    }
    if let Some(skew) = points.zipf.filter(|skew| !(0.0..=10.0).contains(skew)) {
        return Err(format!("a Zipf exponent of {skew}: bench model takes 0 (uniform) to 10"));
    }
    Ok(())
}

/// Figure 1's three structures alone.
pub(crate) fn structures(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    refused(points)?;
    latency::run(points, out)
}

/// Measures what Tables 2 and 3 and Figure 2 are foretold from (the machine, the simple hash table in L2 and far beyond L3, and Edison's own
/// table), and emits those predictions.
pub(crate) fn foretold(seconds: f64, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let all = Points { seconds, ..Points::default() };
    refused(&all)?;
    let of = |flows| Points { flows: Some(flows), zipf: Some(1.0), ..all.clone() };
    let machine = MachineModel::measured(out)?;
    let fitted = points::run(&of(1 << 15), &machine, out)?;
    let exact = exact_table::run(&of(64_000), &machine, out)?;
    tables::entries_and_links(&all, &machine, &fitted, &exact, out);
    tables::cached_entries(&all, &fitted, out);
    Ok(())
}

/// Figure 4 at one size.
pub(crate) fn two_cores(
    bytes: u64,
    skew: f64,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    refused(&Points { zipf: Some(skew), ..Points::default() })?;
    two_cores::run(bytes, skew, seconds, out)
}

/// Runs all parts.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    refused(points)?;
    let machine = MachineModel::measured(out)?;
    let fitted = points::run(points, &machine, out)?;
    let exact = exact_table::run(points, &machine, out)?;
    tables::entries_and_links(points, &machine, &fitted, &exact, out);
    tables::cached_entries(points, &fitted, out);
    latency::run(points, out)
}
