//! `edison bench designs`: what each design loses and costs at a set rate.

use super::point::{Effort, measure_wire};
use super::row::tables;
use super::{loads, packets, settings, xyz};
use crate::{Line, Points};
use serde_json::json;

const ROUNDS: usize = 3;
/// Flows for which shared tables are made: their memory, about 1.3 kB a flow for two sets of both families,
/// is allocated at once.
const MOST_SHARED_FLOWS: u64 = 2 << 20;

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let preset = settings(points);
    for (number, load) in loads(points).into_iter().enumerate() {
        let mut compared = tables(preset, load)?;
        // The paper's tables have one frame size.
        if number == 0 && preset.has_sketches {
            compared.extend(xyz::points(preset, load));
        }
        compared.retain(|point| !point.is_shared_table() || load.flows <= MOST_SHARED_FLOWS);
        // All rounds of one load take about as long as a comparison may.
        let milliseconds = (points.seconds * 1e3 / (ROUNDS * compared.len()) as f64) as u64;
        let effort = Effort {
            packets: Some(packets(points, load.flows)),
            rounds: ROUNDS,
            milliseconds: milliseconds.max(10),
        };
        for mut line in measure_wire(&compared, &effort)? {
            line.params.push(("preset", json!(preset.name)));
            out(line);
        }
    }
    Ok(())
}
