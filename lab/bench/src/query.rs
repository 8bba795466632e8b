//! `edison-lab bench query`: queries over the rows of one window, as the outputs' thread runs them, against DuckDB on the same rows; and
//! what they cost the measuring core.

mod duckdb;
mod files;
mod instructions;
mod questions;

use crate::compare::{in_turn, median, thread_time};
use crate::{BenchResult, Points};
use arena::Limits;
use flow::{Rows, WindowRow};
use model::{Answer, Span};
use packet::{KeySpec, KeyV4, KeyV6, Seed};
use questions::{ComparedQuery, questions};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use task::Generation;
use task::query::Query;
use task::rows::{PlanContext, RowQueries, RowScratch, Unplaced};

/// Rows of a block, as the engine hands them over: 256 KiB.
const BLOCK: usize = (256 << 10) / size_of::<WindowRow<KeyV6>>();
/// The window.
const SPAN: Span = Span { start_ns: 1_800_000_000_000_000_000, end_ns: 1_800_000_010_000_000_000 };

/// A row as the checks know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReferenceRow {
    pub(crate) src: Ipv4Addr,
    pub(crate) dst: Ipv4Addr,
    pub(crate) ports: [u16; 2],
    pub(crate) protocol: u8,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.map_or(vec![10_000, 100_000, 1_000_000], |flows| vec![flows.max(1)]);
    let skews = points.zipf.map_or(vec![0.0, 1.0], |zipf| vec![zipf]);
    for count in flows {
        for &zipf in &skews {
            window(count, zipf, points.seconds, out)?;
        }
    }
    instructions::run(points, out)
}

fn window(count: u64, zipf: f64, seconds: f64, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = flows(count, zipf);
    let blocks: Vec<Rows<KeyV4>> = flows.chunks(BLOCK).map(rows).collect();
    let questions = questions();
    let all: Vec<Query> = questions.iter().map(|question| question.query.clone()).collect();
    let mut jobs: Vec<QueryJob> = questions
        .iter()
        .map(|question| QueryJob::new(question.name, std::slice::from_ref(&question.query)))
        .chain([QueryJob::new("ten", &all)])
        .collect::<Result<_, _>>()?;
    let times = in_turn(&mut jobs, seconds, |job| job.round(&blocks));
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let path = directory.path().join("rows.parquet");
    duckdb::write_rows(&path, &blocks)?;
    let sql = questions.iter().map(|question| (question.name, question.sql));
    let duckdb = duckdb::times(&path, duckdb::DuckDbSource::Table, sql)?;
    for (job, rounds_ns) in jobs.into_iter().zip(times) {
        let own = questions.iter().filter(|question| job.name == "ten" || question.name == job.name);
        let checked = job.are_equal
            && job.answers.len() == own.clone().count()
            && own.clone().zip(&job.answers).all(|(question, answer)| question.is_right(answer, &flows));
        let ms = median(&rounds_ns) / 1e6;
        let of_duckdb: Option<f64> =
            own.map(|question: &ComparedQuery| duckdb.get(question.name).copied()).sum();
        out(BenchResult {
            bench: "query",
            variant: job.name.to_owned(),
            params: vec![("flows", json!(count)), ("zipf", json!(zipf)), ("cores", json!(1))],
            packets: count,
            rounds_ns,
            memory_bytes: Some(job.memory_bytes),
            checked,
            more: figures(count, ms, of_duckdb),
        });
    }
    files::run((count, zipf), &flows, &path, seconds, out)
}

/// Returns the figures of a query that took this long, and of DuckDB, where it ran.
fn figures(rows: u64, ms: f64, of_duckdb: Option<f64>) -> Vec<(&'static str, Value)> {
    vec![
        ("ms", json!((1000.0 * ms).round() / 1000.0)),
        ("rows_per_s", json!((rows as f64 / ms * 1000.0).round())),
        (
            "times_duckdb",
            of_duckdb.map_or(Value::Null, |of_duckdb| json!((100.0 * of_duckdb / ms).round() / 100.0)),
        ),
    ]
}

/// Some queries that are run together.
struct QueryJob {
    name: &'static str,
    queries: RowQueries,
    limits: Limits,
    answers: Vec<Answer>,
    /// Every round answered the same.
    are_equal: bool,
    memory_bytes: u64,
}

impl QueryJob {
    fn new(name: &'static str, queries: &[Query]) -> Result<Self, String> {
        let limits = Limits::new(4 << 30, usize::MAX);
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), limits.clone());
        let queries = RowQueries::plan(Generation::default(), queries, &site);
        let queries = queries.map_err(|refusals| format!("{name}: {refusals:?}"))?;
        Ok(Self { name, queries, limits, answers: Vec::new(), are_equal: true, memory_bytes: 0 })
    }

    /// Adds all rows of the window and makes the answers; returns the processor time that it takes.
    fn round(&mut self, blocks: &[Rows<KeyV4>]) -> f64 {
        let began = thread_time();
        let mut partials = self.queries.window();
        let mut scratch = RowScratch::default();
        for block in blocks {
            partials.add_v4(&self.queries, block, &mut scratch);
        }
        self.memory_bytes = self.limits.bytes_used() as u64;
        let answers = partials.window_answers(&self.queries, SPAN, SPAN, &Unplaced::default());
        let time = thread_time() - began;
        // The last round's are compared with the truth.
        self.are_equal &= self.answers.is_empty() || self.answers == answers;
        self.answers = answers;
        time
    }
}

/// Flows whose packets follow Zipf's law, or have one to eight each.
fn flows(count: u64, zipf: f64) -> Vec<ReferenceRow> {
    let mut random = QueryRandom(7);
    let services = [443, 80, 53, 22, 8080];
    let one_of = |random: u64, many: u64| (random >> 8) as u32 % (many.max(1) as u32);
    let flow = |number: u64| {
        let (one, other) = (random.next(), random.next());
        let packets = match zipf {
            0.0 => 1 + one % 8,
            zipf => (count as f64 / (number as f64 + 1.0).powf(zipf)).ceil() as u64,
        };
        ReferenceRow {
            // Hosts talk to several others.
            src: Ipv4Addr::from(0x0a00_0000 | one_of(one, count.div_ceil(4))),
            dst: Ipv4Addr::from(0xc000_0000 | one_of(other, count.div_ceil(8))),
            // Told apart by the number, so that no two flows have one key.
            ports: [1024 + (number % 60_000) as u16, services[(other % 5) as usize]],
            protocol: if one.is_multiple_of(5) { 17 } else { 6 },
            packets,
            bytes: packets * (40 + other % 1400),
        }
    };
    (0..count).map(flow).collect()
}

fn rows(flows: &[ReferenceRow]) -> Rows<KeyV4> {
    let mut rows = Rows::with_capacity(flows.len(), 0);
    for flow in flows {
        let [src, dst] = [flow.src, flow.dst].map(|address| address.octets());
        let addresses = [src[0], src[1], src[2], src[3], dst[0], dst[1], dst[2], dst[3]];
        let [from, to] = flow.ports.map(u16::to_be_bytes);
        let key = KeyV4::new(addresses, [from[0], from[1], to[0], to[1]], flow.protocol);
        let row = WindowRow {
            packets: flow.packets,
            bytes: flow.bytes,
            wire_bytes: flow.bytes + 14 * flow.packets,
            ..WindowRow::without_packets(key, SPAN.start_ns, SPAN.end_ns - 1)
        };
        rows.push(row, None);
    }
    rows
}

/// Steele, Lea and Flood, OOPSLA 2014: random numbers that need no library.
struct QueryRandom(u64);

impl QueryRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_compared_and_a_wrong_one_is_found() {
        for zipf in [0.0, 1.0] {
            let flows = flows(3000, zipf);
            let blocks: Vec<_> = flows.chunks(BLOCK).map(rows).collect();
            for question in questions() {
                let mut job =
                    QueryJob::new(question.name, std::slice::from_ref(&question.query)).expect("a query");
                job.round(&blocks);
                assert!(question.is_right(&job.answers[0], &flows), "{}: {:?}", question.name, job.answers);
                // Of other flows.
                assert!(!question.is_right(&job.answers[0], &flows[10..2000]), "{}", question.name);
            }
        }
    }
}
