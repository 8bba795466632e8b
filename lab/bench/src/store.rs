//! `edison-lab bench store`: questions to a store, as `edison query --store` answers them on one core: a filtered sum over window rows, and the
//! largest networks of a week, from rollups of an hour. And what storing costs: the threads of the store, and the measuring core.

mod made;
mod measuring;
mod writing;

use crate::compare::{in_turn, median, thread_time};
use crate::{BenchResult, Points};
use ::store::{Catalog, Level};
use arena::Limits;
use history::levels::Shelf;
use history::{AnswerSetting, FlowFiles, Question};
use made::BenchStore;
use model::{Answer, Value};
use packet::Seed;
use serde_json::json;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;
use task::query::{Comparison, Condition, GroupField, Order, OutputColumn, Over, Query};

/// Rows of the filtered sum, unless it is said.
const ROWS: u64 = 2_000_000;
/// Rows of an hour, unless it is said.
const HOURLY: u64 = 5_000;
/// The hours of a week.
const WEEK: u64 = 7 * 24;
/// Networks that are asked for.
const TOP: usize = 20;
const PORT: u16 = 443;

/// Runs it with `--packets` rows, and `--flows` of each hour.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    run_in_process(points, out)?;
    measuring::run(points, out)
}

/// Measures what this process measures of itself.
fn run_in_process(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let rows = BenchStore::rows(&folder.path().join("rows"), points.packets.unwrap_or(ROWS).max(1), PORT)?;
    let sum = Query {
        filter: Some(Condition::compare("dst_port", Comparison::Equal, PORT.into())),
        over: Over::Run,
        ..Query::new("sum", [], [OutputColumn::sum("total_byte"), OutputColumn::sum("total_count")])
    };
    let is_sum = |answer: &Answer| answer.rows == [[rows.bytes, rows.packets].map(Value::Unsigned)];
    measure(
        "filtered_sum",
        &folder.path().join("rows"),
        &sum,
        &rows,
        Level::Rows,
        &is_sum,
        points.seconds,
        out,
    )?;
    drop(folder);

    let folder = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let week = BenchStore::week(folder.path(), WEEK, points.flows.unwrap_or(HOURLY).max(1))?;
    let network = GroupField { field: "src_addr".to_owned(), prefix: Some([24, 64]) };
    let top = Query {
        order: vec![Order::largest(task::query::Expression::sum("total_byte"))],
        limit: Some(TOP),
        over: Over::Run,
        ..Query::new("top", [network], [OutputColumn::sum("total_byte")])
    };
    let is_top = |answer: &Answer| are_largest(answer, &week.networks);
    measure("week_top_20", folder.path(), &top, &week, Level::Hour, &is_top, points.seconds, out)?;
    drop(folder);
    writing::run(points, out)
}

/// The packets of all rows of a store.
fn packets_of(store: &Path) -> Result<u64, String> {
    let all = Query { over: Over::Run, ..Query::new("all", [], [OutputColumn::sum("total_count")]) };
    match &ask(store, &all)?[..] {
        [Answer { rows, .. }] => match &rows[..] {
            [row] => row.first().and_then(Value::as_unsigned).ok_or_else(|| format!("{row:?} is no number")),
            rows => Err(format!("{} rows, not one", rows.len())),
        },
        answers => Err(format!("{} answers, not one", answers.len())),
    }
}

/// Asks a question again and again.
#[expect(clippy::too_many_arguments, reason = "what one line of results is about")]
fn measure(
    variant: &str,
    store: &Path,
    query: &Query,
    made: &BenchStore,
    level: Level,
    is_right: &dyn Fn(&Answer) -> bool,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let mut fault = None;
    let mut checked = true;
    let times = in_turn(&mut [()], seconds, |()| {
        let began = thread_time();
        let answers = ask(store, query);
        let time = thread_time() - began;
        match answers {
            Ok(answers) => {
                let [answer] = &answers[..] else {
                    checked = false;
                    return time;
                };
                checked &= answer.levels == [level.name()] && is_right(answer);
            }
            Err(error) => fault = Some(error),
        }
        time
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    let rounds_ns = times.into_iter().next().unwrap_or_default();
    let ms = median(&rounds_ns) / 1e6;
    out(BenchResult {
        bench: "store",
        variant: variant.to_owned(),
        params: vec![("files", json!(made.files)), ("cores", json!(1))],
        packets: made.rows,
        rounds_ns,
        memory_bytes: None,
        checked,
        more: vec![
            ("ms", json!((10.0 * ms).round() / 10.0)),
            ("rows_per_s", json!((made.rows as f64 / ms * 1000.0).round())),
            ("bytes_per_row", json!((10.0 * made.file_bytes as f64 / made.rows as f64).round() / 10.0)),
        ],
    });
    Ok(())
}

/// Opens the store and answers.
fn ask(store: &Path, query: &Query) -> Result<Vec<Answer>, String> {
    let setting = AnswerSetting { limits: Limits::new(4 << 30, usize::MAX), seed: Seed::new(1), geo: None };
    let shelf = Shelf::open(&Catalog::open(store)?)?;
    let question = Question { query: query.clone(), period: None, runs_on: Rc::new(|_| true) };
    let reading = shelf.choose(&question, Level::Hour, &setting);
    let mut files = FlowFiles::open_stored(reading.files(), shelf.spans(), reading.nodes().to_vec())?;
    let mut answers = Vec::new();
    let outcome = files.answer(&[question], &setting, &mut |_| true, &mut |mut answer| {
        reading.describe(&mut answer);
        answers.push(answer);
    });
    let outcome = outcome.map_err(|refused| format!("{refused:?}"))?;
    outcome.errors.first().map_or(Ok(answers), |error| Err(error.to_string()))
}

/// Returns true if the rows of an answer are the largest networks: those of equal size in any order.
fn are_largest(answer: &Answer, networks: &HashMap<u32, u64>) -> bool {
    let mut sizes: Vec<u64> = networks.values().copied().collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    sizes.truncate(TOP);
    let found = answer.rows.iter().map(|row| match &row[..] {
        [Value::Prefix { address: IpAddr::V4(address), length: 24 }, Value::Unsigned(bytes)] => {
            (networks.get(&(address.to_bits() >> 8)) == Some(bytes)).then_some(*bytes)
        }
        _ => None,
    });
    found.eq(sizes.into_iter().map(Some))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_compared_and_a_wrong_one_is_found() {
        let points = Points { packets: Some(20_000), flows: Some(50), seconds: 0.0, ..Points::default() };
        let mut lines = Vec::new();
        run_in_process(&points, &mut |line| lines.push(line)).expect("answers");
        let variants: Vec<_> = lines.iter().map(|line| line.variant.as_str()).collect();
        assert_eq!(variants, ["filtered_sum", "week_top_20", "writing"]);
        assert!(lines.iter().all(|line| line.checked), "{lines:?}");
        assert_eq!(lines[0].packets, 20_000);
        assert!(lines[1].packets > 50 * WEEK / 2, "{}", lines[1].packets);
        let network = |bytes| {
            vec![Value::Prefix { address: IpAddr::from([10, 0, 0, 0]), length: 24 }, Value::Unsigned(bytes)]
        };
        let answer = |bytes| Answer::new("top", None, Vec::new(), vec![network(bytes)]);
        let networks = HashMap::from([(10 << 16, 7)]);
        assert!(are_largest(&answer(7), &networks) && !are_largest(&answer(8), &networks));
        assert!(!are_largest(&answer(7), &HashMap::from([(10 << 16, 7), (11 << 16, 6)])));
    }
}
