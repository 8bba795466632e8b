//! `edison bench model`: the time per packet by the size of a table and the skew of the traffic, as
//! Alipourfard et al. predict it (HotNets 2015, section 3.2, Equation 1) from a short measurement of this
//! machine, compared with the measured time.

mod caches;
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
mod tables;

pub(crate) use cores::run as cores;

use crate::{Line, Points};
use machine::Machine;

const BENCH: &str = "model";

/// Why this machine or these points are impossible.
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
pub(crate) fn structures(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    refused(points)?;
    latency::run(points, out)
}

/// Runs all parts.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    refused(points)?;
    let machine = Machine::measured(out)?;
    let fitted = points::run(points, &machine, out)?;
    let exact = exact_table::run(points, &machine, out)?;
    tables::entries_and_links(points, &machine, &fitted, &exact, out);
    tables::cached_entries(points, &fitted, out);
    latency::run(points, out)
}
