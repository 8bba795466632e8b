//! `edison bench designs`: what each design loses and costs at a set rate.

use super::fit::{Fitted, fit};
use super::rig::{Measured, Setting, Traffic, expect, measure};
use super::row::Row;
use super::{ONE_WINDOW, loads, packets, rounded, settings, wire, xyz};
use crate::preset::{Load, Preset};
use crate::{Line, Points};
use engine::State;
use notation::Rate;
use port::wire::Length;
use serde_json::json;

const ROUNDS: usize = 3;
/// Flows for which shared tables are made: their memory, about 1.3 kB a flow for two sets of both families,
/// is allocated at once.
const MOST_SHARED_FLOWS: u64 = 2 << 20;

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let preset = settings(points);
    let cases = preset.cases.iter().map(|&case| fit(case)).collect::<Result<Vec<_>, _>>()?;
    let tables: Vec<Row> = cases.into_iter().map(Row::of_tables).collect();
    let sketches = if preset.has_sketches { xyz::rows()? } else { Vec::new() };
    let all = || tables.iter().chain(&sketches);
    expect(all().map(|row| wire(preset, None, row.case.queues, Length::Once)));
    for (number, load) in loads(points).into_iter().enumerate() {
        // The paper's tables have one frame size.
        let rows: Vec<_> = if number == 0 { all().collect() } else { tables.iter().collect() };
        measure_load(points, preset, &rows, load, out)?;
    }
    Ok(())
}

/// Some of a preset's designs with frames of one size, in turn.
///
/// # Errors
/// The preset has no such frames; or what the machine lacks.
pub(crate) fn some(
    points: &Points,
    frame: u32,
    is_meant: impl Fn(&str) -> bool,
    out: &mut dyn FnMut(Line),
) -> Result<(), String> {
    let preset = settings(points);
    let cases = preset.cases.iter().filter(|(name, _, _)| is_meant(name));
    let rows = cases.map(|&case| fit(case).map(Row::of_tables)).collect::<Result<Vec<_>, _>>()?;
    let load = loads(points).into_iter().find(|load| load.frame == frame);
    let load = load.ok_or_else(|| format!("{} has no frames of {frame} bytes", preset.name))?;
    expect(rows.iter().map(|row| wire(preset, None, row.case.queues, Length::Once)));
    measure_load(points, preset, &rows.iter().collect::<Vec<_>>(), load, out)
}

/// All rows at one load, in turn, as in every comparison.
fn measure_load(
    points: &Points,
    preset: &Preset,
    rows: &[&Row],
    load: Load,
    out: &mut dyn FnMut(Line),
) -> Result<(), String> {
    let is_possible = |row: &&Row| row.case.plan.state != State::Shared || load.flows <= MOST_SHARED_FLOWS;
    let rows: Vec<_> = rows.iter().copied().filter(is_possible).collect();
    // All rounds of one load take about as long as a comparison may.
    let load_ns = (points.seconds * 1e9 / (ROUNDS * rows.len()) as f64) as u64;
    let length = Length::Nanoseconds(load_ns.max(10_000_000));
    let rate: Rate = load.rate.parse().map_err(|error| format!("{}: {error}", load.rate))?;
    let mut traffic = Traffic::new(packets(points, load.flows), load.flows, load.zipf, load.frame)?;
    let mut rounds: Vec<Vec<_>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (row, measured) in rows.iter().zip(&mut rounds) {
            let setting = Setting {
                wire: wire(preset, Some(rate), row.case.queues, length),
                plan: row.case.plan.clone(),
                sketches: row.sketches,
                every: ONE_WINDOW,
                between_cores: preset.between_cores,
                burst: load.burst,
                // What rings refused is known of the whole run only.
                warm_up: 0,
                timed: true,
            };
            measured.push(measure(&mut traffic, &setting)?);
        }
    }
    for (row, measured) in rows.iter().zip(rounds) {
        out(line(preset, row, load, measured));
    }
    Ok(())
}

/// The median of the rounds by loss.
fn line(preset: &Preset, row: &Row, load: Load, mut measured: Vec<Measured>) -> Line {
    let Fitted { plan, queues, instead } = &row.case;
    let checked = measured.iter().all(|measured| measured.is_right);
    measured.sort_by(|a, b| a.loss()[1].total_cmp(&b.loss()[1]));
    let worst = measured[measured.len() - 1].loss()[1];
    let median = &measured[measured.len() / 2];
    let mut params = vec![
        ("flows", json!(load.flows)),
        ("zipf", json!(load.zipf)),
        ("frame", json!(load.frame)),
        ("rate", json!(load.rate)),
        ("queues", json!(queues)),
        ("threads", json!(plan.threads())),
    ];
    params.extend(preset.params(load.burst));
    let mut more = vec![
        ("oversubscribed", json!(plan.oversubscribed)),
        ("drop_percent", json!(rounded(100.0 * median.loss()[0]))),
        ("drop_percent_clock_stopped", json!(rounded(100.0 * median.loss()[1]))),
        ("worst_drop_percent_clock_stopped", json!(rounded(100.0 * worst))),
        ("imissed", json!(median.wire.imissed)),
        ("ring_full", json!(median.ring_full)),
    ];
    more.extend(median.members());
    more.extend([
        ("gaps", json!(median.wire.gaps)),
        ("gap_ms", json!(rounded(median.wire.gap_ns as f64 / 1e6))),
    ]);
    if let Some([dropped, processing_ns]) = row.paper {
        more.push(("paper_drop_percent", json!(rounded(100.0 * dropped))));
        more.push(("paper_processing_ns", json!(rounded(processing_ns))));
    }
    more.extend(instead.as_ref().map(|instead| ("instead", json!(instead))));
    Line {
        bench: "designs",
        variant: row.variant.clone(),
        params,
        packets: median.wire.delivered.max(1),
        rounds_ns: vec![median.receiving_ns()],
        // Of tables and rings: a sketch is the bench's own.
        memory_bytes: row.sketches.is_none().then_some(median.memory_bytes),
        checked,
        more,
    }
}
