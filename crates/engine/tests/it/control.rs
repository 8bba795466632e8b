//! Task sets that are installed and removed while packets flow.

use crate::support::{BURST, Watch, config, generated, on_queues, on_wire, plan, task_set};
use engine::admission::{self, SourceProperties};
use engine::{
    ClosedWindow, Control, Destinations, Every, MeasurementConfig, Outputs, RecordSink, ResolvedDesign,
    TaskInstallError, WindowId,
};
use flow::{FlowRecord, LossCounts, WindowRow};
use model::{AnswerStatus, Value, Window};
use packet::Key;
use port::PacketSource;
use port::wire::WireSpec;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use task::query::{GroupField, OutputColumn, Query};
use task::{Generation, TaskSet};

const MS: u64 = 1_000_000;
/// Packets, and windows of 20 ms in which they come.
const PACKETS: u64 = 30_000;

fn query(name: &str, field: &str) -> Query {
    let items = [OutputColumn::sum("total_count"), OutputColumn::sum("total_byte")];
    Query { limit: Some(3), ..Query::new(name, [GroupField::from_field(field)], items) }
}

/// Tasks whose answers have all flows: of the first one packets, of the second one bytes.
const TASKS: [&str; 2] = [
    "heavy-hitters:key=src_addr,count=1,structure=exact,memory=256KiB",
    "heavy-hitters:key=dst_port,count=1,by=bytes,structure=exact,memory=128KiB",
];

/// How many queries over rows and how many tasks the set of this generation has.
fn sizes(generation: u64) -> (usize, usize) {
    [(0, 0), (1, 1), (2, 0), (0, 2), (1, 1), (2, 2)][generation as usize % 6]
}

fn set(generation: u64, config: &MeasurementConfig, plan: &ResolvedDesign) -> Arc<TaskSet> {
    let (queries, tasks) = sizes(generation);
    let specs: Vec<_> = TASKS[..tasks].iter().map(|text| text.parse().expect("a task")).collect();
    let tasks = admission::tasks(config, plan, &specs, &SourceProperties::default())
        .expect("tasks that can be counted");
    let all = [query("by_source", "src_addr"), query("by_port", "dst_port")];
    task_set(generation, &all[..queries], tasks, config)
}

fn estimate(value: &Value) -> f64 {
    let Value::Estimate { value, .. } = value else { panic!("no estimate: {value:?}") };
    *value
}

/// Runs with a new set after every window, and gives the windows and from which window on each set answers.
fn run(design: &str, sources: &mut [Box<dyn PacketSource>], paced: bool) -> (Vec<Window>, Vec<WindowId>) {
    let mut config = MeasurementConfig { every: Every::Time(20 * MS), ..config() };
    let plan = plan(design);
    let begin = if paced { Control::paced } else { Control::new };
    let control = begin(set(0, &config, &plan));
    config.control = Some(control.clone());
    let kept: Arc<Mutex<(Vec<Window>, Vec<WindowId>)>> = Arc::default();
    let windows = {
        let (kept, config, control) = (Arc::clone(&kept), config.clone(), control.clone());
        let plan = plan.clone();
        Box::new(move |window: Window| {
            let mut kept = kept.lock().expect("no panic");
            let generation = kept.1.len() as u64 + 1;
            kept.1.push(control.install(set(generation, &config, &plan)).expect("memory"));
            kept.0.push(window);
            true
        })
    };
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows,
        node: "here".to_owned(),
    };
    let time_base = sources[0].time_base();
    let outputs = Outputs::start(destinations, &config, &control, time_base).expect("a thread");
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let outcome = engine::run(sources, None, &config, &plan, &stop, outputs, &mut watch).expect("memory");
    // The outputs' thread may still be answering: only its end shows that it is done.
    let result = outcome.records.finish();
    assert!(result.faults.is_empty() && result.unreported == 0, "{result:?}");
    std::mem::take(&mut *kept.lock().expect("no panic"))
}

/// Every window has the answers of its set, and their sums.
fn check(paced: bool, mut more: impl FnMut(&str, &[WindowId], &[WindowId])) {
    let spec = format!("packets={PACKETS},flows=500,rate=10000,ipv6=20%");
    for design in ["rss", "async/3", "rss/2", "2x1", "cooperative"] {
        let mut sources = match design {
            "rss/2" | "2x1" => on_queues(&spec, 2, BURST),
            _ => generated(&spec, BURST),
        };
        let (windows, firsts) = run(design, &mut sources, paced);
        assert!(firsts.len() >= 100, "{design}: {} sets", firsts.len());
        assert!(firsts.is_sorted(), "{design}");
        let mut packets = 0;
        for window in &windows {
            assert!(
                matches!(window.status, AnswerStatus::Complete | AnswerStatus::Cut),
                "{design}: {window:?}"
            );
            let id = WindowId::new(window.span.start_ns / (20 * MS));
            // The last set that begins at this window or before; the run began with set 0.
            let generation = firsts.iter().filter(|first| **first <= id).count();
            let names: Vec<_> = window.answers.iter().map(|answer| answer.query.as_str()).collect();
            let (queries, tasks) = sizes(generation as u64);
            let all = ["totals", "by_source", "by_port", "heavy_hitters", "heavy_hitters"];
            let expected = [&all[..1 + queries], &all[3..3 + tasks]].concat();
            assert_eq!(names, expected, "{design}: window {id} of set {generation}");
            let totals = &window.answers[0].rows[0];
            packets += totals[0].as_unsigned().expect("packets");
            for answer in &window.answers[1..=queries] {
                for (item, total) in [("total_count", &totals[0]), ("total_byte", &totals[1])] {
                    let at = answer.column(item).expect("an item");
                    let shown: u64 = answer.rows.iter().filter_map(|row| row[at].as_unsigned()).sum();
                    let rest = answer
                        .rest
                        .totals
                        .iter()
                        .find(|(name, _)| name == item)
                        .expect("a total")
                        .1
                        .as_unsigned()
                        .expect("a count");
                    assert_eq!(&Value::Unsigned(shown + rest), total, "{design}: {item} of window {id}");
                }
            }
            for (answer, total) in window.answers[1 + queries..].iter().zip(&totals[..2]) {
                let sum: f64 = answer.rows.iter().map(|row| estimate(&row[1])).sum();
                assert_eq!(total.as_unsigned(), Some(sum as u64), "{design}: {answer:?} of window {id}");
                let counted = answer.task.as_ref().expect("a task").total;
                assert_eq!(total.as_unsigned(), Some(counted), "{design}: window {id}");
            }
        }
        assert_eq!(packets, PACKETS, "{design}");
        let ids: Vec<_> =
            windows.iter().map(|window| WindowId::new(window.span.start_ns / (20 * MS))).collect();
        more(design, &ids, &firsts);
    }
}

#[test]
fn sets_that_are_installed_while_packets_flow() {
    check(false, |_, _, _| ());
}

/// At a rate that loses nothing, a new set after every window loses nothing. What a receiver misses while the machine does not run it is
/// named by itself (`imissed - imissed_clock_stopped`).
#[test]
fn sets_that_are_installed_at_a_rate_lose_no_packet() {
    let wire: WireSpec = "rate=100kpps,packets=250k,ring=65536".parse().expect("a good wire");
    let (wire, mut sources) = on_wire("packets=20k,flows=500", &wire, BURST);
    let (windows, firsts) = run("rss", &mut sources, false);
    // How many windows have packets depends on the machine; a hundred sets and more are those of a replay, above.
    assert!(!firsts.is_empty() && firsts.is_sorted(), "{firsts:?}");
    let counters = wire.total();
    assert_eq!((counters.offered, counters.imissed_clock_stopped), (250_000, 0), "{counters:?}");
    let packets = |window: &Window| window.answers[0].rows.first().and_then(|row| row[0].as_unsigned());
    let measured: u64 = windows.iter().filter_map(packets).sum();
    assert_eq!(measured, counters.offered - counters.imissed, "{counters:?}");
}

#[test]
fn a_paced_replay_waits_for_answers() {
    check(true, |design, windows, firsts| {
        // What is installed in answer to a window answers the second one after it, or an earlier one.
        for (second_next, first) in windows[2..].iter().zip(firsts) {
            assert!(first <= second_next, "{design}: {first} for {second_next}");
        }
    });
}

/// Tries to install sets whenever a window is over, during the run.
#[derive(Debug)]
struct Installer {
    control: Control,
    sets: Vec<Arc<TaskSet>>,
    refused: Vec<TaskInstallError>,
}

impl RecordSink for Installer {
    fn record(&mut self, _: FlowRecord) {}
    fn row<K: Key>(&mut self, _: WindowRow<K>, _: Option<&LossCounts>) {}
    fn window(&mut self, _: ClosedWindow) -> bool {
        let Self { control, sets, refused } = self;
        refused.extend(sets.iter().filter_map(|set| control.install(Arc::clone(set)).err()));
        true
    }
    fn sibling(&self) -> Self {
        Self { control: self.control.clone(), sets: Vec::new(), refused: Vec::new() }
    }
    fn absorb(&mut self, _: Self) {}
}

#[test]
fn what_cannot_be_installed_changes_nothing() {
    let mut config = MeasurementConfig { every: Every::Time(20 * MS), ..config() };
    let plan = plan("rss");
    let control = Control::new(set(0, &config, &plan));
    config.control = Some(control.clone());
    let specs = ["heavy-hitters:structure=exact,memory=1GiB".parse().expect("a task")];
    let large = admission::tasks(&config, &plan, &specs, &SourceProperties::default()).expect("a task");
    let sets = vec![task_set(1, &[], large, &config), set(0, &config, &plan)];
    let sink = Installer { control, sets, refused: Vec::new() };
    let mut sources = generated("packets=100,flows=10,rate=1000", BURST);
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let outcome = engine::run(&mut sources, None, &config, &plan, &stop, sink, &mut watch).expect("memory");
    let refused = outcome.records.refused;
    assert!(refused.len() >= 2 * 5, "five windows: {refused:?}");
    for pair in refused.chunks(2) {
        let [
            TaskInstallError::TasksTooLarge { bytes, workers: 1 },
            TaskInstallError::OldGeneration { given, last },
        ] = pair
        else {
            panic!("{pair:?}")
        };
        assert!(*bytes > 1 << 30);
        assert_eq!([*given, *last], [Generation::new(0); 2]);
    }
    assert_eq!(config.limits.bytes_used(), 0, "what was refused took no memory");
}
