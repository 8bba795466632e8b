//! Single points of the benches, for who draws the papers' figures.

use crate::{BenchResult, Points, accuracy, capture, model, parallel};
use engine::Preset;
use std::path::PathBuf;

/// The function that takes the lines.
type Out<'a> = &'a mut dyn FnMut(BenchResult);

/// Measures Alipourfard et al.'s simple hash table, Count-Min and heap of this many bytes each (4 KiB at least), at this skew, in turn for about
/// `seconds`: mean and percentiles of the time per packet (Figures 1 and 3).
///
/// # Errors
/// What the machine lacks, in one line.
pub fn structures(bytes: u64, zipf: f64, seconds: f64, out: Out) -> Result<(), String> {
    let flows = Some(bytes / 4);
    model::structures(&Points { flows, zipf: Some(zipf), seconds: 10.0 * seconds, ..Points::default() }, out)
}

/// Measures how many of the heavy address pairs of a million packets the same three structures find, each in `bytes` bytes, over `seeds` seeds
/// (Figure 1(c)).
///
/// # Errors
/// One line.
pub fn heavy_hitters(bytes: u64, seeds: u64, out: Out) -> Result<(), String> {
    accuracy::heavy_hitters(bytes as usize, seeds, out)
}

/// Measures Alipourfard et al.'s model, fitted to this machine, and what it foretells: Tables 2 and 3, Figure 2. It takes about `seconds` for
/// each of its five points.
///
/// # Errors
/// What the machine lacks, in one line.
pub fn model(seconds: f64, out: Out) -> Result<(), String> {
    model::foretold(10.0 * seconds, out)
}

/// Measures two cores that count in one table, by compare-and-swap and under spinlocks, and in one each, of this many bytes, in turn for about
/// `seconds` (Figure 4).
///
/// # Errors
/// What the machine lacks, in one line.
pub fn two_cores(bytes: u64, zipf: f64, seconds: f64, out: Out) -> Result<(), String> {
    model::two_cores(bytes, zipf, seconds, out)
}

/// Measures what the core that receives takes of a packet where it measures itself, and where another core measures a sample, in turn for about
/// `seconds`: a table for so many flows, whose packets are drawn at a skew (Figure 5).
///
/// # Errors
/// What the machine lacks, in one line.
pub fn tee(traffic: (u64, f64), seconds: f64, out: Out) -> Result<(), String> {
    parallel::tee_path(traffic, seconds, out)
}

/// Measures how right a run without a sample and samples are about the heavy hitters of a million packets at a skew of 1, and how often
/// bounds hold.
///
/// # Errors
/// One line.
pub fn tee_answers(out: Out) -> Result<(), String> {
    parallel::answers_of_a_window(out)
}

/// Measures some designs of a preset with frames of one size over the software wire, in turn for about `seconds`. `packets` is the number of one
/// pass of the traffic.
///
/// # Errors
/// An unknown preset, or what the machine lacks, in one line.
pub fn designs(
    preset: &str,
    frame: u32,
    names: &[&str],
    packets: Option<u64>,
    seconds: f64,
    out: Out,
) -> Result<(), String> {
    let points = Points { preset: Some(Preset::find(preset)?), packets, seconds, ..Points::default() };
    parallel::some_designs(&points, frame, |name| names.contains(&name), out)
}

/// Measures this program, and those of argus and pmacct that are given by name (`argus`, `pmacctd`) and path, on one generated capture, `rounds`
/// times in turn: processor time of whole processes.
///
/// # Errors
/// What failed, in one line.
pub fn meters(
    spec: &str,
    rounds: usize,
    programs: &[(&'static str, PathBuf)],
    out: Out,
) -> Result<(), String> {
    capture::meters(spec, rounds, programs, out)
}
