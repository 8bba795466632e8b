//! The cost of tasks: six at once compared with the plain record, and three structures of one size compared with each other.

use super::BENCH;
use super::metrics::{AccuracyMetric, score};
use super::promise;
use super::question::AccuracyQuestion;
use super::stream::{StreamKind, WindowPair};
use super::trial::{TrialDesign, count};
use super::truth::{TruthContext, WindowTruth};
use super::window::BurstWindow;
use crate::BenchResult;
use crate::compare::{in_turn, median_ratio, thread_time};
use crate::line::to_digits;
use arena::Limits;
use flow::{FlowRecord, WindowRow};
use flowtable::{FlowSink, FlowTable, TableConfig, Timeouts};
use notation::size_text;
use packet::{Key, KeyV4, KeyV6, PacketFields, Seed};
use serde_json::{Value, json};
use task::{
    Choice, Structure, TaskAnswer, TaskCounter, TaskKind, TaskRows, TaskRunner, TaskSpec, TaskStates, Tasks,
    WindowId, WorkerId,
};
use tcp::LossCounts;

/// The maximum cost of all six tasks, as a multiple of the plain record.
const ASKED_TIMES: f64 = 3.0;
/// Sizes that fit into L2, into the last-level cache, and only into memory (section 3.3).
const SIZES: [usize; 3] = [128 << 10, 2 << 20, 32 << 20];
/// The fastest first, as in the papers.
const ORDER: [Structure; 3] = [Structure::SimpleHashTable, Structure::CountMin, Structure::SpaceSavingHeap];

/// Runs both.
///
/// # Errors
/// What is wrong with the stream.
pub(super) fn run(
    stream: &StreamKind,
    questions: &[AccuracyQuestion],
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let sample = stream.sample(1)?;
    let counted = TruthContext::new(&sample.now, None);
    six_at_once(stream, &sample, &counted, questions, seconds, out)?;
    for memory in SIZES {
        three_of_a_size(stream, &sample, &counted, questions, memory, seconds, out)?;
    }
    Ok(())
}

/// Tasks that are counted again and again.
struct TaskRound {
    tasks: Tasks,
    counter: TaskCounter,
    /// States that wait to be used.
    spare: Option<Box<TaskStates>>,
}

impl TaskRound {
    fn new(specs: &[TaskSpec], window: &BurstWindow, seed: Seed) -> Result<Self, String> {
        let tasks = TrialDesign::ONE.plan(specs, window.packets, seed)?;
        let states = || Ok::<_, String>(Box::new(tasks.states().map_err(|error| error.to_string())?));
        let (counter, spare) = (TaskCounter::new(&tasks, states()?), Some(states()?));
        Ok(Self { counter, spare, tasks })
    }

    /// Counts the window; processor time of this thread, nanoseconds.
    fn time(&mut self, window: &BurstWindow) -> f64 {
        if let Some(mut empty) = self.spare.take() {
            // Also has its pages there before anything is timed.
            empty.reset();
            self.spare = Some(self.counter.turn(empty));
        }
        let began = thread_time();
        count(&mut self.counter, window);
        thread_time() - began
    }

    /// The answers of the last round, and the memory for one address family, from their notes.
    fn answers(self) -> (Vec<TaskAnswer>, u64) {
        let states = self.counter.into_states();
        let mut desk = TaskRunner::new(self.tasks, 1);
        desk.part(WorkerId::default(), WindowId::default(), states);
        let answers = desk.report(WindowId::default(), Some(0));
        let bytes = answers.iter().map(|answer| answer.note.memory_bytes).sum();
        (answers, bytes)
    }
}

/// The plain record of both families.
struct PlainTables {
    v4: FlowTable<KeyV4>,
    v6: FlowTable<KeyV6>,
    records: RecordAdder,
}

/// Adds up what a table returns at the end.
#[derive(Default)]
struct RecordAdder {
    flows: usize,
    packets: u64,
}

impl FlowSink for RecordAdder {
    fn window_sealed<K: Key>(&mut self, _: u16, _: WindowRow<K>, _: Option<&LossCounts>) {}
    fn flow_ended(&mut self, record: FlowRecord) {
        self.flows += 1;
        self.packets += record.total_count;
    }
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {}
}

impl PlainTables {
    fn new(seed: Seed) -> Result<Self, String> {
        let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
        let limits = Limits::new(usize::MAX >> 1, 1 << 28);
        let config = TableConfig::plain(seed, timeouts);
        let v4 = FlowTable::new(config, &limits).map_err(|error| error.to_string())?;
        let v6 = FlowTable::new(config, &limits).map_err(|error| error.to_string())?;
        Ok(Self { v4, v6, records: RecordAdder::default() })
    }

    fn time(&mut self, window: &BurstWindow) -> f64 {
        let began = thread_time();
        for bursts in &window.bursts {
            self.v4.prefetch_index(bursts.v4.packets());
            self.v6.prefetch_index(bursts.v6.packets());
            self.v4.update_burst(&bursts.v4, &mut self.records);
            self.v6.update_burst(&bursts.v6, &mut self.records);
        }
        thread_time() - began
    }
}

/// A variant that takes turns with the others.
enum CostContender<'a> {
    Plain(Box<PlainTables>),
    Tasks(Box<TaskRound>, TaskGroup<'a>),
}

/// Tasks that are measured together, each with its memory.
struct TaskGroup<'a> {
    variant: String,
    memory: String,
    tasks: Vec<(&'a AccuracyQuestion, usize)>,
}

fn params(part: &'static str, task: &str, stream: &StreamKind, memory: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("part", json!(part)),
        ("task", json!(task)),
        ("stream", json!(stream.name())),
        ("zipf", stream.zipf()),
        ("memory", json!(memory)),
        ("design", json!(TrialDesign::ONE.name)),
    ]
}

/// Returns the tasks that are measured, one of each kind as the planner chooses: all at once with the memory of their promises, all with a
/// mebibyte each, and each of them alone.
fn groups(questions: &[AccuracyQuestion]) -> impl Iterator<Item = TaskGroup<'_>> {
    const LARGE: usize = 1 << 20;
    let of_kind = move |kind| questions.iter().find(move |question| question.kind == kind);
    // Those of Alipourfard's table 1.
    let six = |kind: &TaskKind| !matches!(kind, TaskKind::Distinct | TaskKind::Inner);
    let all = move || TaskKind::ALL.into_iter().filter(six).filter_map(of_kind);
    let promised = move || all().map(|question| (question, promise::memory_of(question)));
    let group = |variant: &str, memory: &str, tasks| TaskGroup {
        variant: variant.to_owned(),
        memory: memory.to_owned(),
        tasks,
    };
    let together = [
        group("six tasks", "as promised", promised().collect()),
        group("six tasks", "1 MiB each", all().map(|question| (question, LARGE)).collect()),
    ];
    let alone = promised().map(move |(question, bytes)| {
        group(&question.kind.to_string(), &size_text(bytes), vec![(question, bytes)])
    });
    together.into_iter().chain(alone)
}

/// Measures the plain record and all groups of tasks in turn.
fn six_at_once(
    stream: &StreamKind,
    sample: &WindowPair,
    counted: &TruthContext<'_>,
    questions: &[AccuracyQuestion],
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let mut plain = PlainTables::new(sample.seed)?;
    // Flows are there when a window begins, but for those that are new.
    plain.time(&sample.now);
    let mut turns = vec![CostContender::Plain(Box::new(plain))];
    for group in groups(questions) {
        let specs = group.tasks.iter().map(|(question, bytes)| question.task(None, *bytes));
        let specs = specs.collect::<Result<Vec<_>, _>>()?;
        turns.push(CostContender::Tasks(Box::new(TaskRound::new(&specs, &sample.now, sample.seed)?), group));
    }
    let mut rounds = 0;
    let times = in_turn(&mut turns, seconds, |turn| match turn {
        CostContender::Plain(plain) => {
            rounds += 1;
            plain.time(&sample.now)
        }
        CostContender::Tasks(round, _) => round.time(&sample.now),
    });
    let plain_ns = times[0].clone();
    for (turn, rounds_ns) in turns.into_iter().zip(times) {
        let mut measured = match turn {
            CostContender::Plain(plain) => of_plain(*plain, counted, (rounds + 1) * sample.now.packets),
            CostContender::Tasks(round, group) => {
                of_tasks(*round, group, counted, median_ratio(&rounds_ns, &plain_ns))
            }
        };
        measured.more.push(("seeds", json!(1)));
        out(BenchResult {
            bench: BENCH,
            variant: measured.variant,
            params: params("cost", "six at once", stream, &measured.memory),
            packets: sample.now.packets,
            rounds_ns,
            memory_bytes: measured.memory_bytes,
            checked: measured.checked,
            more: measured.more,
        });
    }
    Ok(())
}

/// The outcome of all rounds of a variant, but for their times.
struct MeasuredTurn {
    variant: String,
    memory: String,
    /// True if the variant counted these packets.
    checked: bool,
    memory_bytes: Option<u64>,
    more: Vec<(&'static str, Value)>,
}

/// Ends the plain record. `packets`: the number of packets of all its rounds.
fn of_plain(mut plain: PlainTables, counted: &TruthContext<'_>, packets: u64) -> MeasuredTurn {
    plain.v4.end_all(&mut plain.records);
    plain.v6.end_all(&mut plain.records);
    MeasuredTurn {
        variant: "plain record".to_owned(),
        memory: "as needed".to_owned(),
        checked: plain.records.flows == counted.flows() && plain.records.packets == packets,
        memory_bytes: None,
        more: Vec::new(),
    }
}

/// Ends a group of tasks. `times_plain`: the cost of a round, as a multiple of the plain record.
fn of_tasks(
    round: TaskRound,
    group: TaskGroup<'_>,
    counted: &TruthContext<'_>,
    times_plain: f64,
) -> MeasuredTurn {
    let TaskGroup { variant, memory, tasks } = group;
    let chosen = chosen(&round.tasks);
    let (answers, bytes) = round.answers();
    // A change has no window before it here: it is counted, but has no answer.
    let is_answered = |((question, _), answer): (&(&AccuracyQuestion, _), &TaskAnswer)| {
        let truth = || counted.truth(question);
        question.kind == TaskKind::Change || truth().is_some_and(|truth| is_near(&truth, answer))
    };
    let checked = answers.len() == tasks.len() && tasks.iter().zip(&answers).all(is_answered);
    let mut more = vec![("times_plain", json!(to_digits(times_plain, 2))), ("chosen", json!(chosen))];
    if tasks.len() > 1 {
        more.push(("asked_times", json!(ASKED_TIMES)));
    }
    MeasuredTurn { variant, memory, checked, memory_bytes: Some(bytes), more }
}

/// The planner's choice for each task.
fn chosen(tasks: &Tasks) -> String {
    let of_task =
        |(spec, choice): (&TaskSpec, &Choice)| format!("{}: {}", spec.kind, choice.structure.name());
    tasks.choices().map(of_task).collect::<Vec<_>>().join(", ")
}

/// Does not check the accuracy of an answer, only that it is about these packets.
fn is_near(truth: &WindowTruth, answer: &TaskAnswer) -> bool {
    let score = score(truth, answer);
    let at_most = |metric, most| score.get(metric).is_none_or(|value| value <= most);
    let is_found = score.get(AccuracyMetric::F1).is_none_or(|f1| f1 >= 0.5);
    let is_empty = matches!(answer.rows, TaskRows::Entropy(None)) || answer.rows.is_empty();
    !is_empty
        && is_found
        && at_most(AccuracyMetric::RelativeError, 0.5)
        && at_most(AccuracyMetric::RankError, 0.25)
        && at_most(AccuracyMetric::Wmre, 1.0)
}

/// Simple Hash Table, Count-Min and heap, by address pairs as in the paper.
fn three_of_a_size(
    stream: &StreamKind,
    sample: &WindowPair,
    counted: &TruthContext<'_>,
    questions: &[AccuracyQuestion],
    memory: usize,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let pairs = questions.iter().find(|question| question.key == "src_addr,dst_addr");
    let question = pairs.ok_or("no question is about address pairs")?;
    let truth = counted.truth(question).ok_or("address pairs have no truth")?;
    let specs = ORDER.map(|structure| question.task(Some(structure), memory));
    let rounds = specs.into_iter().map(|spec| TaskRound::new(&[spec?], &sample.now, sample.seed));
    let mut rounds = rounds.collect::<Result<Vec<_>, String>>()?;
    let times = in_turn(&mut rounds, seconds, |round| round.time(&sample.now));
    for (place, (round, rounds_ns)) in rounds.into_iter().zip(times.clone()).enumerate() {
        let (answers, bytes) = round.answers();
        let answer = answers.first().ok_or("the window was not answered")?;
        let score = score(&truth, answer);
        let mut more = vec![("seeds", json!(1))];
        for metric in [AccuracyMetric::Precision, AccuracyMetric::Recall, AccuracyMetric::F1] {
            more.extend(score.get(metric).map(|value| (metric.names()[0], json!(to_digits(value, 5)))));
        }
        if let Some(next) = times.get(place + 1) {
            more.push(("times_the_next", json!(to_digits(median_ratio(next, &rounds_ns), 2))));
        }
        out(BenchResult {
            bench: BENCH,
            variant: ORDER[place].name().to_owned(),
            params: params("speed", question.name, stream, &size_text(memory)),
            packets: sample.now.packets,
            rounds_ns,
            memory_bytes: Some(bytes),
            checked: answer.note.total == sample.now.packets && score.get(AccuracyMetric::F1).is_some(),
            more,
        });
    }
    Ok(())
}
