//! `edison-lab bench accuracy`: the accuracy of every structure, by task, memory, skew of the traffic and design,
//! against a count of every flow in an ordinary map (`docs/accuracy.md`).

mod addresses;
mod cost;
mod lab;
mod metrics;
mod promise;
mod question;
mod stream;
mod study;
mod table;
mod tree;
mod trial;
mod truth;
mod window;

pub(crate) use table::markdown;

use crate::{BenchResult, Points};
use question::AccuracyQuestion;
use stream::StreamKind;
use study::{AccuracyCase, CaseStructure, Study};
use task::Structure;
use trial::TrialDesign;

const BENCH: &str = "accuracy";
/// Packets of a window (Alipourfard et al., section 3.1).
const PACKETS: u64 = 1_000_000;
/// Memory for each address family.
const SIZES: [usize; 6] = [32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20];
/// The memory at which designs and skews are compared.
const DEFAULT_SIZES: [usize; 2] = [128 << 10, 2 << 20];
/// Skews that are compared.
const SKEWS: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];
/// The fewest seeds of a comparison.
const LEAST_SEEDS: f64 = 3.0;
const MOST_SEEDS: f64 = 10.0;
/// The longest time of a comparison of times, seconds.
const MOST_SECONDS: f64 = 5.0;
/// Windows of the zooming tree are this part of the others, as there are many.
const TREE_PARTS: u64 = 10;
/// Threads, each of which needs memory.
const MOST_THREADS: usize = 4;
/// Seconds of run time for each further seed.
const SECONDS_OF_SEED: f64 = 3.0;

/// Heavy address pairs (0.2 % of a window of a million packets by Zipf(1)) found by the three structures of Alipourfard et al. in this
/// much memory: precision, recall and F1 by `seeds` seeds (their section 3.1).
pub(crate) fn heavy_hitters(
    bytes: usize,
    seeds: u64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let stream = &StreamKind::generated(PACKETS, None);
    let questions: Vec<_> = AccuracyQuestion::all(PACKETS)
        .into_iter()
        .filter(|question| question.key == "src_addr,dst_addr")
        .collect();
    let case =
        |structure| AccuracyCase { question: 0, structure: CaseStructure::Task(structure), memory: bytes };
    let structures = [Structure::SimpleHashTable, Structure::CountMin, Structure::SpaceSavingHeap];
    let cases = structures.map(case).to_vec();
    Study {
        part: "memory",
        stream,
        questions: &questions,
        design: TrialDesign::ONE,
        cases,
        seeds,
        threads: 1,
    }
    .report(out)
}

/// Runs it: all memories on one core, designs and skews at few of them; with a skew given, that one at all memories and nothing else.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let packets = points.packets.unwrap_or(PACKETS).clamp(1_000, 1 << 22);
    let generated = StreamKind::generated(packets, points.flows);
    let stream = match &points.capture {
        Some(path) => &StreamKind::capture(path, packets)?,
        None => &generated,
    };
    let seeds = (points.seconds / SECONDS_OF_SEED).clamp(LEAST_SEEDS, MOST_SEEDS) as u64;
    let questions = AccuracyQuestion::all(stream.packets());
    let questions = &questions[..];
    let cases =
        |sizes: &[usize]| sizes.iter().flat_map(|bytes| AccuracyCase::all(questions, *bytes)).collect();
    let design = TrialDesign::ONE;
    if let Some(zipf) = points.zipf {
        let (stream, cases) = (&stream.with_skew(zipf)?, cases(&SIZES));
        return Study { part: "skew", stream, questions, design, cases, seeds, threads: 1 }.report(out);
    }
    promise::run(&generated, &AccuracyQuestion::all(packets), out)?;
    cost::run(&generated, &AccuracyQuestion::all(packets), points.seconds.min(MOST_SECONDS), out)?;
    addresses::run(&generated, seeds, out)?;
    tree::run(packets / TREE_PARTS, out)?;
    Study { part: "memory", stream, questions, design, cases: cases(&SIZES), seeds, threads: 1 }
        .report(out)?;
    // Figures only: times are of the studies above.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    for design in TrialDesign::SEVERAL {
        let cases = cases(&DEFAULT_SIZES[1..]);
        Study { part: "design", stream, questions, design, cases, seeds, threads }.report(out)?;
    }
    for zipf in SKEWS {
        let (stream, cases) = (&stream.with_skew(zipf)?, cases(&DEFAULT_SIZES));
        Study { part: "skew", stream, questions, design, cases, seeds, threads }.report(out)?;
    }
    Ok(())
}
