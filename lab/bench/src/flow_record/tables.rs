//! FloWatcher's flow tables compared with Edison's, on the same packets: speed and miscount.

use super::BENCH;
use super::direct::DirectArray;
use super::flows::{Arrival, PointTraffic, StreamFlow};
use super::hash_tables::{Combined, Double, LinkedList, LinkedListFullKeys};
use super::miscount::{Miscount, TableModel};
use super::table::BenchFlowTable;
use crate::compare::{in_turn, median, ns};
use crate::cuckoo::Cuckoo;
use crate::line::to_digits;
use crate::{BenchResult, Points};
use flowtable::by_hash::BUCKETS;
use serde_json::{Value, json};
use std::time::Instant;

/// The most packets that memory is for.
pub(super) const MOST_PACKETS: u64 = 1 << 28;
/// About how many entries the timed pass of a list may visit, and how many packets it has at least.
const TIMED_VISITS: f64 = 8e6;
const LEAST_TIMED: usize = 250_000;
/// A list that visits more entries while it is filled is filled once, not in each round.
const FILLED_ONCE_VISITS: f64 = 1e7;
/// One that would visit more than this is loaded: to count into lists of 8 million flows takes minutes.
const LOADED_VISITS: f64 = 2e8;

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.map_or(vec![64_000, 1_000_000, 8_000_000], |flows| vec![flows]);
    let skews = points.zipf.map_or(vec![1.0, 0.0], |zipf| vec![zipf]);
    for &flows in &flows {
        for &zipf in &skews {
            let packets = points.packets.unwrap_or(flows.saturating_mul(2).max(4_000_000)).min(MOST_PACKETS);
            // Uniform flows need no shuffling: their order is independent of their weight.
            let arrivals =
                if zipf > 0.0 { &[Arrival::Drawn, Arrival::AnyOrder][..] } else { &[Arrival::Drawn] };
            for &arrival in arrivals {
                let traffic = PointTraffic::draw(packets, flows, zipf, arrival)?;
                let params = vec![
                    ("flows", json!(flows)),
                    ("zipf", json!(zipf)),
                    ("arrival", json!(arrival.name())),
                    ("cores", json!(1)),
                ];
                point(traffic, params, points.seconds, out)?;
            }
        }
    }
    Ok(())
}

/// A variant and what was measured of it.
struct TableVariant {
    table: Box<dyn BenchFlowTable>,
    /// True if the table is filled, and remains so.
    is_kept: bool,
    /// Nanoseconds of the passes that filled it; none where it was loaded.
    first_passes: Vec<f64>,
    /// Passes over the sample since it was filled.
    passes: u64,
    memory_bytes: u64,
    checked: bool,
    miscount: Miscount,
}

/// The tables for these flows, Edison's first and the exact list last, and why there is no array of all hashes, if there is none.
fn variants(flows: &[StreamFlow]) -> Result<(Vec<TableVariant>, Option<String>), String> {
    let no_memory = |error: arena::OutOfMemory| error.to_string();
    let mut tables: Vec<Box<dyn BenchFlowTable>> = vec![
        Box::new(Cuckoo::new()),
        Box::new(Double::new().map_err(no_memory)?),
        Box::new(Combined::new().map_err(no_memory)?),
        Box::new(LinkedList::new().map_err(no_memory)?),
        Box::new(LinkedListFullKeys::new().map_err(no_memory)?),
    ];
    let refused = match DirectArray::new(flows) {
        Ok(direct) => {
            tables.insert(1, Box::new(direct));
            None
        }
        Err(why) => Some(why),
    };
    let variant = |table| TableVariant {
        table,
        is_kept: false,
        first_passes: Vec::new(),
        passes: 0,
        memory_bytes: 0,
        checked: true,
        miscount: Miscount::default(),
    };
    Ok((tables.into_iter().map(variant).collect(), refused))
}

fn point(
    mut traffic: PointTraffic,
    params: Vec<(&'static str, Value)>,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let packets = traffic.packets().len();
    // Half a list is passed on average.
    let visits_per_packet = 1.0 + traffic.flows.len() as f64 / BUCKETS as f64 / 2.0;
    let timed = ((TIMED_VISITS / visits_per_packet) as usize).max(LEAST_TIMED).min(packets);
    let filling_visits = visits_per_packet * packets as f64;
    traffic.sample(timed);
    let model = TableModel::new(&traffic);
    let (mut variants, refused) = variants(&traffic.flows)?;
    let times = in_turn(&mut variants, seconds, |variant| {
        let table = &mut *variant.table;
        if !variant.is_kept {
            table.renew();
            variant.passes = 0;
            if table.is_list() && filling_visits > LOADED_VISITS {
                table.load(&traffic.flows);
            } else {
                let began = Instant::now();
                table.count(traffic.packets());
                variant.first_passes.push(ns(began.elapsed()));
            }
            variant.is_kept = table.is_list() && filling_visits > FILLED_ONCE_VISITS;
        }
        let began = Instant::now();
        table.count(traffic.sampled());
        let time = ns(began.elapsed());
        variant.passes += 1;
        variant.memory_bytes = table.memory_bytes();
        let (agrees, miscount) = model.compare(table, variant.passes);
        variant.checked &= agrees;
        variant.miscount = miscount;
        time
    });
    let mut lines: Vec<BenchResult> = variants
        .iter_mut()
        .zip(times)
        .map(|(variant, rounds_ns)| {
            let first_pass = median(&variant.first_passes) / packets as f64;
            let mut more = vec![("first_pass_ns", json!(to_digits(first_pass, 1)))];
            more.extend(figures(&variant.miscount));
            BenchResult {
                bench: BENCH,
                variant: variant.table.name().to_owned(),
                params: params.clone(),
                packets: timed as u64,
                rounds_ns,
                memory_bytes: Some(variant.memory_bytes),
                checked: variant.checked,
                more,
            }
        })
        .collect();
    // The first is Edison's, the last the exact list.
    let times_faster = lines[lines.len() - 1].ns_per_packet() / lines[0].ns_per_packet();
    lines[0].more.push(("times_linked_list_full_keys", json!(to_digits(times_faster, 2))));
    if let Some(why) = refused {
        lines.insert(1, BenchResult::predicted(BENCH, "direct", params, vec![("refused", json!(why))]));
    }
    lines.into_iter().for_each(out);
    Ok(())
}

/// The miscount as members of a line.
fn figures(miscount: &Miscount) -> [(&'static str, Value); 4] {
    let percent = |part: u64, whole: u64| json!(to_digits(100.0 * part as f64 / (whole as f64).max(1.0), 5));
    [
        ("flows_true", json!(miscount.flows_true)),
        ("flows_counted", json!(miscount.flows_counted)),
        ("flows_lost_percent", percent(miscount.flows_lost, miscount.flows_true)),
        ("packets_miscounted_percent", percent(miscount.packets_miscounted, miscount.packets)),
    ]
}
