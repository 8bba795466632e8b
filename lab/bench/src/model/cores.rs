//! `edison-lab bench cores`: what 1 to 64 cores count, by the costs that one and two cores are measured to have.
//!
//! A receiver that counts itself takes `receive + free + parse + update`, one that hands over `receive + free + parse + hand over`, a worker
//! `take + update`. An update waits for two lines, of the index and of the flow, as in [`super::exact_table`]. Work is split by the hash of
//! flows, so that the core with most of it decides ([`spread`]).

mod costs;
mod design;
mod spread;

use super::machine::MachineModel;
use super::popularity::Popularity;
use crate::line::to_digits;
use crate::parallel::FullSpeed;
use crate::{BenchResult, Points, parallel};
use costs::{Costs, FAR, NEAR};
use design::{CoreSplits, Prediction};
use serde_json::{Value, json};

const BENCH: &str = "cores";
/// Cores, flows and skews of the predictions.
const CORES: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const FLOWS: [u64; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
const SKEWS: [f64; 2] = [0.0, 1.0];
/// Points that are measured in addition to those that the costs are fitted to.
const CHECKED: [(u64, f64); 4] = [(64_000, 0.0), (64_000, 1.0), (1_000_000, 1.0), (4_000_000, 0.0)];
/// Gbit/s of the links, and bytes of their frames with check sequence; a frame takes 20 more on the line.
const LINKS: [u64; 3] = [100, 200, 400];
const FRAMES: [u64; 3] = [64, 594, 1518];
/// Passes over a traffic: most packets are of flows that are there.
const LAPS: u64 = 12;

/// Measures, and predicts.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    if !super::clock::IS_KNOWN {
        return Err("bench cores needs an x86-64 processor: its time stamp counter".to_owned());
    }
    let mut machine_lines = Vec::new();
    let machine = MachineModel::measured(&mut |line| machine_lines.push(line))?;
    let measure = |flows: u64, zipf: f64| {
        let felt_l3 = machine.felt_l3();
        parallel::full_speed(points, flows, zipf, LAPS).map(|runs| (runs, felt_l3))
    };
    let near = measure(NEAR, 0.0)?;
    let far = measure(FAR, 0.0)?;
    let costs = Costs::fitted(&machine, &near, &far)?;
    machine_lines.into_iter().map(|line| BenchResult { bench: BENCH, ..line }).for_each(&mut *out);
    out(costs.line());
    for (runs, felt_l3) in [near, far] {
        give_out(&machine, &costs, felt_l3, runs, true, out);
    }
    for (flows, zipf) in checked(points) {
        let (runs, felt_l3) = measure(flows, zipf)?;
        give_out(&machine, &costs, felt_l3, runs, false, out);
    }
    predict(&machine, &costs, points, out);
    Ok(())
}

fn checked(points: &Points) -> Vec<(u64, f64)> {
    match (points.flows, points.zipf) {
        (None, None) => CHECKED.to_vec(),
        (flows, zipf) => vec![(flows.unwrap_or(FAR), zipf.unwrap_or(1.0))],
    }
}

/// Emits the lines of what was measured, with what was predicted for it.
fn give_out(
    machine: &MachineModel,
    costs: &Costs,
    felt_l3: f64,
    runs: Vec<FullSpeed>,
    is_fitted: bool,
    out: &mut dyn FnMut(BenchResult),
) {
    for FullSpeed { mut line, flows, zipf, design, threads, is_easy, .. } in runs {
        if is_easy {
            // Its rate is the wire's.
            line.bench = BENCH;
            out(line);
            continue;
        }
        let popularity = Popularity::zipf(flows, zipf);
        let cores = threads as u64;
        let prediction =
            CoreSplits::compute(machine, costs, felt_l3, &popularity, cores).predicted(design, cores);
        let measured = line.mpps();
        line.bench = BENCH;
        line.more.extend([
            ("predicted_mpps", json!(to_digits(prediction.mpps(), 2))),
            ("error_percent", json!(to_digits(100.0 * (prediction.mpps() / measured - 1.0), 1))),
            ("predicted_fullest", json!(to_digits(prediction.fullest, 3))),
            ("felt_l3_mib", super::machine::mib(felt_l3)),
            ("fitted", json!(is_fitted)),
        ]);
        out(line);
    }
}

/// The predictions for all numbers of cores, and the least numbers that links need.
fn predict(machine: &MachineModel, costs: &Costs, points: &Points, out: &mut dyn FnMut(BenchResult)) {
    let flows = points.flows.map_or(FLOWS.to_vec(), |flows| vec![flows]);
    let skews = points.zipf.map_or(SKEWS.to_vec(), |zipf| vec![zipf]);
    for &zipf in &skews {
        for &flows in &flows {
            let popularity = Popularity::zipf(flows, zipf);
            let most = CORES[CORES.len() - 1];
            let parts = CoreSplits::compute(machine, costs, costs.felt_l3, &popularity, most);
            let params = |more: Vec<(&'static str, Value)>| {
                [vec![("flows", json!(flows)), ("zipf", json!(zipf))], more].concat()
            };
            for design in design::DESIGNS {
                for cores in CORES.into_iter().filter(|cores| *cores >= design.least_cores()) {
                    let more = members(&parts.predicted(design, cores));
                    out(BenchResult::predicted(
                        BENCH,
                        design.name(),
                        params(vec![("cores", json!(cores))]),
                        more,
                    ));
                }
            }
            let rates = design::DESIGNS.map(|design| {
                let cores = design.least_cores()..=most;
                let rates = cores.map(|cores| (cores, parts.predicted(design, cores).mpps()));
                (design, rates.collect::<Vec<_>>())
            });
            for (link, frame) in LINKS.into_iter().flat_map(|link| FRAMES.map(|frame| (link, frame))) {
                let mpps = link as f64 * 1e3 / (8.0 * (frame + 20) as f64);
                let mut more = vec![("needed_mpps", json!(to_digits(mpps, 1)))];
                // `null` if even the most cores do not suffice.
                more.extend(rates.iter().map(|(design, rates)| {
                    let needed = rates.iter().find(|(_, rate)| *rate >= mpps).map(|(cores, _)| cores);
                    (design.needed(), json!(needed))
                }));
                let of = params(vec![("gbit_s", json!(link)), ("frame", json!(frame))]);
                out(BenchResult::predicted(BENCH, "needed", of, more));
            }
        }
    }
}

/// The members of a prediction.
fn members(prediction: &Prediction) -> Vec<(&'static str, Value)> {
    let mut members = vec![
        ("predicted_mpps", json!(to_digits(prediction.mpps(), 1))),
        ("busiest_ns", json!(to_digits(prediction.busiest_ns, 2))),
        ("fullest", json!(to_digits(prediction.fullest, 4))),
        ("limited_by", json!(prediction.limited_by)),
        ("memory_gb_per_s", json!(to_digits(prediction.memory_gb_per_s(), 1))),
    ];
    members.extend(prediction.receivers.map(|receivers| ("receivers", json!(receivers))));
    members
}
