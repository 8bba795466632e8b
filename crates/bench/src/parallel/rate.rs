//! `edison bench rate`: the highest rate at which one core loses no more than a bound, by bisection (RFC 2544, section
//! 26.1, with a bound instead of none).

use super::rig::{Measured, Setting, Traffic, measure};
use super::{ONE_WINDOW, plan, rounded, size, wire};
use crate::{Line, Points};
use engine::Design;
use port::wire::Length;
use serde_json::json;
use traffic::Rate;

/// Share of the packets that may be lost.
const BOUND: f64 = 1e-5;
/// Megapackets per second between which the rate is looked for, and how near it is to be found.
const RANGE_MPPS: (f64, f64) = (2.0, 80.0);
const NEAR: f64 = 0.04;
/// What is lost in a trial may be the machine's fault; a rate is given up when it has failed so often.
const TRIALS: usize = 2;
/// After two passes over the traffic, in which flows begin.
const TRIAL_NS: u64 = 700_000_000;

pub(crate) fn run(points: &Points, out: &mut dyn FnMut(Line)) -> Result<(), String> {
    let (flows, packets) = size(points);
    let zipf = points.zipf.unwrap_or(1.0);
    let mut traffic = Traffic::new(packets, flows, zipf, 64)?;
    for (variant, mbufs) in variants() {
        let (mut low, mut high) = RANGE_MPPS;
        let mut best: Option<Measured> = None;
        let mut checked = true;
        let mut trials = 0;
        while high / low > 1.0 + NEAR {
            let middle = (low * high).sqrt();
            let warm_up_ns = (2.0 * packets as f64 * 1e3 / middle) as u64;
            let mut passed = None;
            for _ in 0..TRIALS {
                let rate: Rate = format!("{middle:.3}Mpps").parse().map_err(|error| format!("{error}"))?;
                let setting = Setting {
                    wire: wire(Some(rate), 1, Length::Nanoseconds(warm_up_ns + TRIAL_NS), mbufs),
                    plan: plan(Design::Rss, Some(1), 1)?,
                    every: ONE_WINDOW,
                    warm_up: 2 * packets,
                };
                let measured = measure(&mut traffic, &setting)?;
                trials += 1;
                checked &= measured.is_right;
                if measured.loss()[1] <= BOUND {
                    passed = Some(measured);
                    break;
                }
            }
            match passed {
                Some(measured) => (low, best) = (middle, Some(measured)),
                None => high = middle,
            }
        }
        let Some(best) = best else {
            return Err(format!("{variant}: more than {BOUND:e} of the packets were lost at every rate"));
        };
        let [receive, parse, count, _] = best.step_ns();
        out(Line {
            bench: "rate",
            variant: variant.to_owned(),
            params: vec![
                ("flows", json!(flows)),
                ("zipf", json!(zipf)),
                ("cores", json!(1)),
                ("frame", json!(64)),
            ],
            packets: best.wire.offered,
            rounds_ns: vec![best.wire.offered as f64 * 1e3 / low],
            memory_bytes: Some(best.memory_bytes),
            checked,
            more: vec![
                ("flows_seen", json!(traffic.flows())),
                ("loss_bound", json!(BOUND)),
                ("loss", json!(best.loss()[0])),
                ("loss_clock_stopped", json!(best.loss()[1])),
                ("gaps", json!(best.wire.gaps)),
                ("gap_ms", json!(rounded(best.wire.gap_ns as f64 / 1e6))),
                ("trials", json!(trials)),
                ("receive_ns", json!(rounded(receive))),
                ("parse_ns", json!(rounded(parse))),
                ("processing_ns", json!(rounded(count))),
                ("busy", json!(best.busy())),
            ],
        });
    }
    Ok(())
}

/// Without mbufs, and with them where this build can.
fn variants() -> Vec<(&'static str, Option<u32>)> {
    let mut variants = vec![("wire", None)];
    if cfg!(feature = "dpdk") {
        variants.push(("wire_mbufs", Some(8191)));
    }
    variants
}
