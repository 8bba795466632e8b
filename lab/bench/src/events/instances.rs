//! The steps of a probe with the instances of a chain that has fired for as many keys as it may: the list becomes a task set and is installed,
//! and a window of rows is answered.

use super::{BEGIN_NS, WINDOW_NS, chain, milliseconds};
use crate::compare::{in_turn, median, thread_time};
use crate::{BenchResult, Points};
use arena::Limits;
use engine::{Control, WindowId};
use flow::{Rows, WindowRow};
use model::{Column, ColumnKind, Item, Span, Value};
use packet::{KeyParts, KeySpec, KeyV4, Seed};
use protocol::{Instance, Task};
use serde_json::json;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use task::query::{Over, Query};
use task::rows::{PlanContext, RowScratch, Unplaced};
use task::{Generation, TaskSet};

/// Keys that fire, of which each step has an instance.
const KEYS: u32 = 64;
/// Queries that are started, one by the other.
const STEPS: usize = 4;

/// A list, and the rows of a window.
struct TaskListJob {
    tasks: Vec<Task>,
    site: PlanContext,
    generation: u64,
    rows: Rows<KeyV4>,
    /// The bytes to each key that fired.
    truth: HashMap<Ipv4Addr, u64>,
    /// Times to plan and install, and to answer.
    install_ns: Vec<f64>,
    answer_ns: Vec<f64>,
    is_right: bool,
}

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.unwrap_or(1_000_000).clamp(1, 10_000_000) as u32;
    let mut jobs = [TaskListJob::new(flows)?];
    in_turn(&mut jobs, points.seconds, TaskListJob::round);
    let [job] = jobs;
    for (variant, times) in [("instances_install", &job.install_ns), ("instances_answer", &job.answer_ns)] {
        out(BenchResult {
            bench: "events",
            variant: variant.to_owned(),
            params: vec![("instances", json!(KEYS)), ("steps", json!(STEPS)), ("flows", json!(flows))],
            packets: 0,
            rounds_ns: times.clone(),
            memory_bytes: None,
            checked: job.is_right,
            more: vec![("ms", milliseconds(median(times), 1))],
        });
    }
    Ok(())
}

/// The address of a key.
fn address(key: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | key)
}

impl TaskListJob {
    fn new(flows: u32) -> Result<Self, String> {
        let mut text = "q0: select dst_addr, sum(total_byte) as b groupby dst_addr every 1s;".to_owned();
        for step in 1..=STEPS {
            let before = step - 1;
            text += &format!(
                "q{step}: select src_addr, dst_addr, sum(total_byte) as b where dst_addr = q{before}.dst_addr \
                 groupby src_addr, dst_addr every 1s when q{before}.b > 0;"
            );
        }
        let chain = chain(&text, &["Node1"], KEYS as usize)?;
        let bound = |key: u32| Item {
            column: Column::new("dst_addr", ColumnKind::Address, ""),
            value: Value::Address(address(key).into()),
        };
        let time = Span { start_ns: BEGIN_NS, end_ns: BEGIN_NS + 10 * WINDOW_NS };
        let task = |query: &Query| Task {
            query: Query { over: Over::Window, ..query.clone() },
            time: None,
            instances: (0..KEYS).map(|key| Instance { bound: vec![bound(key)], time }).collect(),
        };
        let mut rows = Rows::with_capacity(flows as usize, 0);
        let mut truth = HashMap::new();
        for flow in 0..flows {
            let key = flow % 65_536;
            let source = Ipv4Addr::from(0xc000_0000 + flow).octets();
            let parts = KeyParts { protocol: 6, ..KeyParts::default() };
            let row = WindowRow {
                key: KeyV4::from_parts([source, address(key).octets()], parts),
                packets: 1,
                bytes: u64::from(flow % 1_000 + 40),
                ..WindowRow::default()
            };
            if key < KEYS {
                *truth.entry(address(key)).or_default() += row.bytes;
            }
            rows.push(row, None);
        }
        Ok(Self {
            tasks: chain.tasks[1..].iter().map(task).collect(),
            site: PlanContext {
                window_ns: Some(WINDOW_NS),
                ..PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 30, 1_000_000))
            },
            generation: 1,
            rows,
            truth,
            install_ns: Vec::new(),
            answer_ns: Vec::new(),
            is_right: true,
        })
    }

    fn plan(&mut self, queries: &[Query]) -> Arc<TaskSet> {
        self.generation += 1;
        let set = TaskSet::plan(Generation::new(self.generation), queries, None, &self.site);
        Arc::new(set.unwrap_or_else(|refused| panic!("the site refuses {refused:?}")))
    }

    /// A list comes, and a window is answered by it.
    fn round(&mut self) -> f64 {
        let control = Control::new(self.plan(&[]));
        let began = thread_time();
        let queries: Vec<Query> = self.tasks.iter().flat_map(Task::queries).map(|(query, _)| query).collect();
        let set = self.plan(&queries);
        let installed = control.install_at(WindowId::default(), Arc::clone(&set));
        let installed_ns = thread_time() - began;
        let began = thread_time();
        let mut partials = set.rows().window();
        partials.add_v4(set.rows(), &self.rows, &mut RowScratch::default());
        let span = Span { start_ns: BEGIN_NS, end_ns: BEGIN_NS + WINDOW_NS };
        let answers = partials.window_answers(set.rows(), span, span, &Unplaced::default());
        let answered_ns = thread_time() - began;
        let is_right = |answer: &model::Answer| {
            let Some(Value::Address(std::net::IpAddr::V4(key))) =
                answer.bound.first().map(|item| &item.value)
            else {
                return false;
            };
            let bytes = |row: usize| answer.value(row, "b").and_then(Value::as_unsigned).unwrap_or(0);
            let sum: u64 = (0..answer.rows.len()).map(bytes).sum();
            sum == self.truth.get(key).copied().unwrap_or(0)
        };
        self.is_right &=
            installed.is_ok() && answers.len() == KEYS as usize * STEPS && answers.iter().all(is_right);
        self.install_ns.push(installed_ns);
        self.answer_ns.push(answered_ns);
        installed_ns + answered_ns
    }
}
