//! The answers of nodes merged into one.

use super::rows::GROUPS;
use crate::compare::{in_turn, thread_time};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use arena::Limits;
use equery::{Across, CheckOptions, SourceText, check};
use model::{Answer, Column, ColumnKind, Span, Value};
use packet::{KeySpec, Seed};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use task::rows::{Merging, PlanContext};

/// The query: all groups are merged, the largest are answered.
const QUERY: &str = "q: select src_addr, sum(total_byte) as bytes groupby src_addr order by bytes desc limit 1K across nodes by sum";
/// The most rows of the answer.
const LIMIT: usize = 1000;
const NODES: u64 = 10;
const WINDOW: Span = Span { start_ns: 0, end_ns: 10_000_000_000 };

/// Runs it. Half of the groups of a node are those of others too.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let rows = points.flows.unwrap_or(1_000_000).max(NODES * u64::from(GROUPS));
    let of_node = rows / NODES;
    let checked = check(&SourceText { name: "bench", text: QUERY }, &CheckOptions::default());
    let plan = &checked.queries.first().ok_or("the query is refused")?.plan;
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(0, 0));
    let merging = Merging::new(plan, Across::Sum, &site)
        .map_err(|reasons| format!("the query is refused: {reasons:?}"))?;
    // What nodes answer has names of its own: the group, and its part of the sum.
    let names = merging.parts().columns.iter().map(|item| item.name.as_str());
    let columns: Vec<Column> = names
        .zip([ColumnKind::Address, ColumnKind::Unsigned])
        .map(|(name, kind)| Column::new(name, kind, ""))
        .collect();
    let mut truth: HashMap<u32, u64> = HashMap::new();
    let mut answer = |node: u64| {
        let group = |number: u64| (number + node * of_node / 2) as u32;
        let row = |number: u64| {
            let (group, bytes) = (group(number), 40 + number.wrapping_mul(2_654_435_761) % 1_000_000_007);
            *truth.entry(group).or_default() += bytes;
            vec![Value::Address(IpAddr::V4(Ipv4Addr::from(group))), Value::Unsigned(bytes)]
        };
        let rows = (0..of_node).map(row).collect();
        Answer { node: Some(format!("N{node}")), ..Answer::new("q", Some(WINDOW), columns.clone(), rows) }
    };
    let answers: Vec<Answer> = (0..NODES).map(&mut answer).collect();
    if let Some(unfit) = answers.iter().find(|answer| !merging.fits(answer)) {
        return Err(format!("the answers of nodes have other columns: {:?}", unfit.columns));
    }
    let parts: Vec<&Answer> = answers.iter().collect();
    let mut is_right = true;
    let times = in_turn(&mut [()], points.seconds.min(10.0), |()| {
        let began = thread_time();
        let merged = merging.merge(WINDOW, &parts);
        let took = thread_time() - began;
        is_right &= agrees(&merged, &truth);
        took
    });
    out(BenchResult {
        bench: "distributed",
        variant: "merged_rows".to_owned(),
        params: vec![("nodes", json!(NODES)), ("groups", json!(truth.len())), ("cores", json!(1))],
        packets: of_node * NODES,
        more: vec![("ms", json!(to_digits(crate::compare::median(&times[0]) / 1e6, 1)))],
        rounds_ns: times.into_iter().next().unwrap_or_default(),
        memory_bytes: None,
        checked: is_right,
    });
    Ok(())
}

/// Returns true if the answer has the largest groups, each once and with its sum, and says how many others there are.
fn agrees(answer: &Answer, truth: &HashMap<u32, u64>) -> bool {
    let mut largest: Vec<u64> = truth.values().copied().collect();
    largest.sort_unstable_by(|one, other| other.cmp(one));
    largest.truncate(LIMIT);
    let is_row = |(row, expected): (&Vec<Value>, &u64)| match row[..] {
        [Value::Address(IpAddr::V4(group)), Value::Unsigned(bytes)] => {
            bytes == *expected && truth.get(&u32::from(group)) == Some(&bytes)
        }
        _ => false,
    };
    let group = |row: &Vec<Value>| match row[..] {
        [Value::Address(group), _] => Some(group),
        _ => None,
    };
    let groups: HashSet<IpAddr> = answer.rows.iter().filter_map(group).collect();
    let is_whole =
        groups.len() == largest.len() && answer.rest.groups == (truth.len() - largest.len()) as u64;
    is_whole && answer.rows.len() == largest.len() && answer.rows.iter().zip(&largest).all(is_row)
}
