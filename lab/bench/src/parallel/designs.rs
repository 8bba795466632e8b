//! `edison-lab bench designs`: what each design loses and costs at a set rate.

use super::point::{Effort, WirePoint, measure_wire};
use super::row::tables;
use super::{loads, packets, settings, xyz};
use crate::{BenchResult, Points};
use serde_json::json;

const ROUNDS: usize = 3;
/// Flows for which shared tables are made: their memory, about 1.3 kB a flow for two sets of both families,
/// is allocated at once.
const MOST_SHARED_FLOWS: u64 = 2 << 20;

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let preset = settings(points);
    for (number, load) in loads(points).into_iter().enumerate() {
        let mut compared = tables(preset, load)?;
        // The paper's tables have one frame size.
        if number == 0 && preset.has_sketches {
            compared.extend(xyz::points(preset, load));
        }
        compare(points, compared, out)?;
    }
    Ok(())
}

/// Measures some of a preset's designs with frames of one size, in turn.
///
/// # Errors
/// The preset has no such frames; or what the machine lacks.
pub(crate) fn some(
    points: &Points,
    frame: u32,
    is_meant: impl Fn(&str) -> bool,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let preset = settings(points);
    let load = loads(points).into_iter().find(|load| load.frame == frame);
    let load = load.ok_or_else(|| format!("{} has no frames of {frame} bytes", preset.name))?;
    let mut compared = tables(preset, load)?;
    compared.retain(|point| is_meant(point.design));
    compare(points, compared, out)
}

/// Points of one load, in turn, as in every comparison.
fn compare(
    points: &Points,
    mut compared: Vec<WirePoint>,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    compared.retain(|point| !point.is_shared_table() || point.flows <= MOST_SHARED_FLOWS);
    let Some(first) = compared.first() else { return Ok(()) };
    // All rounds of one load take about as long as a comparison may.
    let milliseconds = (points.seconds * 1e3 / (ROUNDS * compared.len()) as f64) as u64;
    let effort = Effort {
        packets: Some(packets(points, first.flows)),
        rounds: ROUNDS,
        milliseconds: milliseconds.max(10),
    };
    for mut line in measure_wire(&compared, &effort)? {
        line.params.push(("preset", json!(settings(points).name)));
        out(line);
    }
    Ok(())
}
