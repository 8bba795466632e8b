//! `edison-lab bench events`: a step of the event machine for many keys, windows without packets that a controller passes, the instances of a
//! chain, and what a controller costs the measuring core.

mod empty_windows;
mod instances;
mod machines;
mod transport;

use crate::line::to_digits;
use crate::{BenchResult, Points};
use equery::{Chain, ChainSite, CheckOptions, SourceText};
use serde_json::Value;

/// The length of windows.
const WINDOW_NS: u64 = 1_000_000_000;
/// The begin of the first one.
const BEGIN_NS: u64 = 1_800_000_000 * WINDOW_NS;

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    machines::run(points, out)?;
    empty_windows::run(points, out)?;
    instances::run(points, out)?;
    transport::run(points, out)
}

/// The queries of a text. `most_firings`: keys of one query and window that fire.
fn chain(text: &str, nodes: &[&str], most_firings: usize) -> Result<Chain, String> {
    let checked = equery::check(&SourceText { name: "bench", text }, &CheckOptions::default());
    if checked.has_errors() {
        return Err(format!("{text}: {:?}", checked.diagnostics));
    }
    let nodes: Vec<String> = nodes.iter().map(|&node| node.to_owned()).collect();
    let key: Vec<String> = packet::KeySpec::FIVE_TUPLE.columns().map(str::to_owned).collect();
    let settings = events::EventSettings { most_firings, ..events::EventSettings::default() };
    let site = ChainSite { nodes: &nodes, key: &key, window_ns: WINDOW_NS, base_ns: WINDOW_NS, settings };
    Chain::new(&checked.queries, &site).map_err(|refused| refused.join("; "))
}

/// Milliseconds of one of several equal parts of a round.
fn milliseconds(round_ns: f64, parts: usize) -> Value {
    to_digits(round_ns / parts as f64 / 1e6, 5).into()
}
