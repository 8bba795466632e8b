//! The same questions over Parquet files, as `edison query` answers them: rows of windows, and flow records with addresses as text.

use super::duckdb::{self, DuckDbSource};
use super::questions::{ComparedQuery, file_questions, questions};
use super::{ReferenceRow, SPAN, figures};
use crate::BenchResult;
use crate::compare::{in_turn, median, thread_time};
use arena::Limits;
use flow::{FlowKey, FlowRecord};
use history::{AnswerSetting, FlowFiles};
use model::Answer;
use packet::Seed;
use record::Selection;
use serde_json::json;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use task::query::{Over, Query};

/// A question about a file.
struct FileQueryJob {
    variant: String,
    question: ComparedQuery,
    path: PathBuf,
    answers: Vec<Answer>,
    /// Every round answered the same.
    are_equal: bool,
    memory_bytes: u64,
    fault: Option<String>,
}

impl FileQueryJob {
    fn new(prefix: &str, question: ComparedQuery, path: &Path) -> Self {
        let variant = format!("{prefix}_{}", question.name);
        let path = path.to_owned();
        Self { variant, question, path, answers: Vec::new(), are_equal: true, memory_bytes: 0, fault: None }
    }

    /// Opens the file and answers; returns the processor time that it takes.
    fn round(&mut self) -> f64 {
        let began = thread_time();
        let setting =
            AnswerSetting { limits: Limits::new(4 << 30, usize::MAX), seed: Seed::new(1), geo: None };
        let mut answers = Vec::new();
        let question = history::Question {
            query: Query { over: Over::Run, ..self.question.query.clone() },
            period: None,
            runs_on: Rc::new(|_| true),
        };
        let mut most = 0;
        let mut progress = |_| {
            most = most.max(setting.limits.bytes_used());
            true
        };
        let outcome = FlowFiles::open([self.path.clone()]).and_then(|mut files| {
            let give = &mut |answer| answers.push(answer);
            files.answer(&[question], &setting, &mut progress, give).map_err(|refused| format!("{refused:?}"))
        });
        let time = thread_time() - began;
        self.fault = outcome.map_or_else(Some, |outcome| outcome.errors.first().map(ToString::to_string));
        self.memory_bytes = most as u64;
        self.are_equal &= self.answers.is_empty() || self.answers == answers;
        self.answers = answers;
        time
    }
}

/// Runs it. `rows`: the file with the same rows.
pub(super) fn run(
    (count, zipf): (u64, f64),
    flows: &[ReferenceRow],
    rows: &Path,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let records = rows.with_file_name("flows.parquet");
    write_records(&records, flows)?;
    let mut jobs: Vec<FileQueryJob> = questions()
        .into_iter()
        .map(|question| FileQueryJob::new("rows", question, rows))
        .chain(file_questions().into_iter().map(|question| FileQueryJob::new("records", question, &records)))
        .collect();
    let times = in_turn(&mut jobs, seconds, FileQueryJob::round);
    let sql = |path: &Path| {
        let own: Vec<_> = jobs.iter().filter(|job| job.path == path).collect();
        duckdb::times(path, DuckDbSource::File, own.iter().map(|job| (&*job.variant, job.question.sql)))
    };
    let mut duckdb = sql(rows)?;
    duckdb.extend(sql(&records)?);
    for (job, rounds_ns) in jobs.into_iter().zip(times) {
        if let Some(fault) = job.fault {
            return Err(fault);
        }
        let ms = median(&rounds_ns) / 1e6;
        let of_duckdb = duckdb.get(&job.variant).copied();
        let is_right = job.answers.iter().all(|answer| job.question.is_right(answer, flows));
        out(BenchResult {
            bench: "query",
            params: vec![("flows", json!(count)), ("zipf", json!(zipf)), ("cores", json!(1))],
            packets: count,
            rounds_ns,
            memory_bytes: Some(job.memory_bytes),
            checked: job.are_equal && job.answers.len() == 1 && is_right,
            more: figures(count, ms, of_duckdb),
            variant: job.variant,
        });
    }
    Ok(())
}

/// Writes flows as `edison run --flows` does.
fn write_records(path: &Path, flows: &[ReferenceRow]) -> Result<(), String> {
    let record = |flow: &ReferenceRow| {
        let [from, to] = [(flow.src, flow.ports[0]), (flow.dst, flow.ports[1])]
            .map(|(address, port)| (IpAddr::V4(address), port));
        FlowRecord {
            key: Some(FlowKey::five_tuple(from, to, flow.protocol)),
            total_count: flow.packets,
            total_byte: flow.bytes,
            wire_byte: flow.bytes,
            ..FlowRecord::without_packets(SPAN.start_ns, SPAN.start_ns + 1)
        }
    };
    let write = || -> std::io::Result<()> {
        let mut writer = record::create(path, "bench", &Selection::all())?;
        for flows in flows.chunks(4096) {
            writer.write(&flows.iter().map(record).collect::<Vec<_>>())?;
        }
        writer.finish().map(drop)
    };
    write().map_err(|error| error.to_string())
}
