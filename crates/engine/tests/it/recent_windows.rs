//! Queries that come after the windows that they are about.

use crate::support::{BURST, Watch, config, generated, on_queues, plan};
use arena::Limits;
use engine::{
    ClosedWindow, Control, Destinations, Every, Gate, LookBackCounts, MeasurementConfig, NoRoom, NotKept,
    Outputs, PacketTotals, RecordSink, WindowId, recent_windows_bytes,
};
use flow::TrackedParts;
use flow::WindowRow;
use flowtable::MeasuredParts;
use model::{Answer, AnswerStatus, Counters, PacketCounts, Span, Value, Window};
use packet::KeyV4;
use port::TimeBase;
use record::Anonymizer;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use task::query::{GroupField, OutputColumn, Over, Query};
use task::rows::{PlanContext, RowQueries, Unplaced};
use task::{Generation, TaskSet};

const MS: u64 = 1_000_000;

fn site(config: &MeasurementConfig, window_ns: u64) -> PlanContext {
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    PlanContext { window_ns: Some(window_ns), tracked: config.parts.tracked(), ..site }
}

fn planned(queries: &[Query], site: &PlanContext) -> RowQueries {
    RowQueries::plan(Generation::default(), queries, site).expect("good queries")
}

/// Queries of several kinds. `window_ns`: the run's windows.
fn queries(config: &MeasurementConfig, window_ns: u64) -> Vec<Query> {
    let sums =
        || [OutputColumn::sum("total_count"), OutputColumn::sum("total_byte"), OutputColumn::count("flows")];
    let mut queries = vec![
        Query { limit: Some(5), ..Query::new("by_source", [GroupField::from_field("src_addr")], sums()) },
        Query::new("all", [], sums()),
        Query::new("by_protocol", [GroupField::from_field("protocol")], [OutputColumn::sum("total_count")]),
        Query {
            over: Over::Windows { every_ns: 2 * window_ns, over_ns: 2 * window_ns },
            ..Query::new("long", [GroupField::from_field("dst_port")], sums())
        },
        Query {
            over: Over::Windows { every_ns: 2 * window_ns, over_ns: 4 * window_ns },
            ..Query::new("sliding", [], sums())
        },
    ];
    if config.parts.loss {
        queries.push(Query::new(
            "losses",
            [GroupField::from_field("src_addr")],
            ["ploss_byte", "retrans_byte", "total_count"].map(OutputColumn::sum),
        ));
    }
    queries
}

type Answered = Result<Vec<Answer>, NotKept>;

/// A run, and what it was asked at each of its windows.
struct Asked {
    windows: Vec<Window>,
    /// What the ring answers of each window when it is passed on.
    at_once: Vec<Answered>,
    control: Control,
}

/// Replays with these queries installed, and asks the ring the `later` ones.
fn replay(
    config: &MeasurementConfig,
    design: &str,
    spec: &str,
    installed: &[Query],
    later: &[Query],
) -> Asked {
    let Every::Time(window_ns) = config.every else { panic!("windows of time") };
    let site = site(config, window_ns);
    let set = TaskSet::plan(Generation::default(), installed, None, &site).expect("good queries");
    let control = Control::new(Arc::new(set));
    control.keep_windows(1 << 20, 32 << 20, &config.limits).expect("memory");
    let config = MeasurementConfig { control: Some(control.clone()), ..config.clone() };
    let kept: Arc<Mutex<(Vec<Window>, Vec<Answered>)>> = Arc::default();
    let windows = {
        let (kept, control, later) = (Arc::clone(&kept), control.clone(), planned(later, &site));
        Box::new(move |window: Window| {
            let mut kept = kept.lock().expect("no panic");
            kept.1.push(control.recent_windows().ask(window.span, &later));
            kept.0.push(window);
            true
        })
    };
    let anonymizer = Some(Anonymizer::new(&[7; 32]));
    let destinations =
        Destinations { writers: Vec::new(), rows: Vec::new(), anonymizer, windows, node: "here".to_owned() };
    let mut sources = match design {
        "rss/2" => on_queues(spec, 2, BURST),
        _ => generated(spec, BURST),
    };
    let outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let plan = plan(design);
    let outcome =
        engine::run(&mut sources, None, &config, &plan, &stop, outputs, &mut watch).expect("memory");
    let result = outcome.records.finish();
    assert!(result.faults.is_empty() && result.unreported == 0, "{result:?}");
    let (windows, at_once) = std::mem::take(&mut *kept.lock().expect("no panic"));
    Asked { windows, at_once, control }
}

/// The answers of installed queries to a window, without those of the program.
fn own(window: &Window) -> &[Answer] {
    assert_eq!(window.answers[0].query, "totals");
    &window.answers[1..]
}

fn of_windows(answers: &[Answer]) -> Vec<Answer> {
    answers.iter().filter(|answer| !["long", "sliding"].contains(&&*answer.query)).cloned().collect()
}

#[test]
fn what_is_looked_back_at_is_what_would_have_been_answered() {
    let planted =
        "tcp=handshake,plant=loss:connections=3:segments=90/retransmission:connections=3:segments=90";
    let cases = [
        ("rss", format!("packets=6k,flows=300,ipv6=30%,rate=20000,{planted}"), true, 5, usize::MAX),
        ("async/2", "packets=5k,flows=500,ipv6=50%,rate=20000,seed=3".to_owned(), false, 20, usize::MAX),
        ("rss/2", "packets=5k,flows=500,ipv6=20%,rate=20000,seed=4".to_owned(), false, 20, usize::MAX),
        // Windows without packets.
        ("rss", "packets=150,flows=20,ipv6=20%,rate=200,seed=5".to_owned(), false, 2, usize::MAX),
        // Flows without a place.
        ("rss", "packets=6k,flows=900,ipv6=40%,rate=20000,seed=6".to_owned(), false, 20, 100),
    ];
    for (design, spec, loss, window_ms, flows) in cases {
        let config = MeasurementConfig {
            every: Every::Time(window_ms * MS),
            parts: MeasuredParts { loss, ..MeasuredParts::default() },
            limits: Limits::new(1 << 30, flows),
            ..config()
        };
        let queries = queries(&config, window_ms * MS);
        let before = replay(&config, design, &spec, &queries, &queries);
        let is_overflowing = before.windows.iter().any(|window| window.table_full != 0);
        assert_eq!(is_overflowing, flows != usize::MAX, "{spec}");
        assert!(before.windows.len() > 5, "{spec}");
        assert!(before.windows.iter().any(|window| window.status == AnswerStatus::Cut), "{spec}");
        // At once, of each window.
        for (window, answers) in before.windows.iter().zip(&before.at_once) {
            match (answers, window.empty) {
                // A run of empty windows is known by the window that ends it.
                (Err(reason), Some(_)) => assert_eq!(*reason, NotKept::NotYet, "{spec}"),
                (Ok(answers), None) => assert_eq!(of_windows(answers), own(window), "{spec}"),
                other => panic!("{spec}: {other:?}"),
            }
        }
        // Without the queries, each window by itself, after the run.
        let after = replay(&config, design, &spec, &[], &[]);
        let later = planned(&queries, &site(&config, window_ms * MS));
        let ask = |span| after.control.recent_windows().ask(span, &later);
        for window in before.windows.iter().filter(|_| !is_overflowing) {
            let answers = ask(window.span).expect("it is kept");
            assert_eq!(of_windows(&answers), own(window), "{spec}");
        }
        // Windows of other lengths: each by itself.
        let mut looked = 0;
        for answer in before.windows.iter().flat_map(|window| &window.longer) {
            let span = answer.window.expect("a window");
            let given = ask(span).expect("it is kept");
            let given: Vec<_> = given
                .iter()
                .filter(|own| (&own.query, own.window) == (&answer.query, answer.window))
                .collect();
            assert_eq!(given, [answer], "{spec}");
            looked += 1;
        }
        assert!(looked > 2, "{spec}: {looked}");
    }
}

/// A window with two packets, one of them without a place.
fn closed(number: u64, empty_before: u64) -> ClosedWindow {
    let span = Span { start_ns: number * MS, end_ns: (number + 1) * MS };
    ClosedWindow {
        index: number,
        empty_before,
        packets: PacketCounts { received: 2, measured: 2, ..PacketCounts::default() },
        loss: Some(Counters::default()),
        totals: PacketTotals { packets: 2, bytes: 80, wire_bytes: 108, flows: 1, times: None },
        unplaced: Unplaced { packets: 1, bytes: 40, wire_bytes: 54, keyless: 0 },
        ..ClosedWindow::without_packets(WindowId::new(number), span)
    }
}

/// Outputs that are fed by hand, and keep windows.
struct ByHand {
    control: Control,
    outputs: Outputs,
    later: RowQueries,
    limits: Limits,
    closed: Receiver<()>,
}

/// What a row takes.
const ROW: usize = size_of::<WindowRow<KeyV4>>();

impl ByHand {
    fn new(memory: usize) -> Self {
        let config =
            MeasurementConfig { every: Every::Time(MS), limits: Limits::new(memory, usize::MAX), ..config() };
        let site = site(&config, MS);
        let set = TaskSet::plan(Generation::default(), &[], None, &site).expect("no query");
        let control = Control::new(Arc::new(set));
        let (sender, closed) = channel();
        let destinations = Destinations {
            writers: Vec::new(),
            rows: Vec::new(),
            anonymizer: None,
            windows: Box::new(move |_| sender.send(()).is_ok()),
            node: "here".to_owned(),
        };
        let outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
        let later = planned(&[Query::new("all", [], [OutputColumn::count("rows")])], &site);
        Self { control, outputs, later, limits: config.limits, closed }
    }

    fn keep(&self, windows: usize, rows: usize) -> Result<(), NoRoom> {
        self.control.keep_windows(windows, rows * ROW, &self.limits)
    }

    /// Rows of a window that is not closed yet.
    fn rows(&mut self, number: u64, rows: usize) {
        self.outputs.begin_rows(WindowId::new(number));
        for at in 0..rows {
            let [low, high, ..] = at.to_le_bytes();
            let key = KeyV4::new([10, 0, high, low, 10, 0, 0, 2], [0, 1, 0, 2], 17);
            self.outputs.row(WindowRow { packets: 1, ..WindowRow::<()>::default() }.with_key(key), None);
        }
        assert_eq!(self.outputs.end_rows(), 0);
    }

    fn close(&mut self, closed: ClosedWindow) {
        let windows = 1 + usize::from(closed.empty_before != 0);
        assert!(self.outputs.window(closed));
        (0..windows).for_each(|_| self.closed.recv().expect("it is passed on"));
    }

    fn window(&mut self, number: u64, rows: usize) {
        self.rows(number, rows);
        self.close(closed(number, 0));
    }

    /// Rows of the windows from `first` up to `end`, by window; `None` where these are empty.
    fn ask(&self, first: u64, end: u64) -> Result<Vec<Option<u64>>, NotKept> {
        let span = Span { start_ns: first * MS, end_ns: end * MS };
        let answers = self.control.recent_windows().ask(span, &self.later)?;
        Ok(answers.iter().map(|answer| answer.rows.first().map(|row| number(&row[0]))).collect())
    }

    fn counts(&self) -> LookBackCounts {
        self.control.recent_windows().counts()
    }
}

fn number(value: &Value) -> u64 {
    match value {
        // The packet without a place may be one more row.
        Value::Estimate { lower, .. } => *lower as u64,
        value => value.as_unsigned().expect("a number"),
    }
}

#[test]
fn the_oldest_windows_go_by_number_and_by_bytes() {
    let mut run = ByHand::new(1 << 30);
    assert_eq!(run.ask(0, 1), Err(NotKept::Off));
    run.window(0, 10);
    run.keep(3, 100).expect("memory");
    assert_eq!(run.ask(0, 1), Err(NotKept::NotYet), "nothing is kept yet");
    (1..=3).for_each(|number| run.window(number, 10 * number as usize));
    assert_eq!([1, 2, 3].map(|at| run.ask(at, at + 1)), [10, 20, 30].map(|rows| Ok(vec![Some(rows)])));
    assert_eq!(run.ask(1, 4), Ok(vec![Some(10), Some(20), Some(30)]));
    assert_eq!((run.ask(0, 1), run.ask(3, 5)), (Err(NotKept::Gone), Err(NotKept::NotYet)));
    let half = Span { start_ns: MS + MS / 2, end_ns: 3 * MS };
    assert_eq!(run.control.recent_windows().ask(half, &run.later), Err(NotKept::OtherWindows));
    // With the first rows of the fourth, the first one goes.
    run.window(4, 10);
    assert_eq!((run.ask(1, 2), run.ask(2, 3)), (Err(NotKept::Gone), Ok(vec![Some(20)])));
    let full = LookBackCounts { windows: 3, bytes: 60 * ROW, dropped_early: 0, too_large: 0 };
    assert_eq!(run.counts(), full);
    // 30 + 10 + 65 rows are more than a hundred.
    run.window(5, 65);
    let early = LookBackCounts { windows: 2, bytes: 75 * ROW, dropped_early: 1, too_large: 0 };
    assert_eq!((run.ask(3, 4), run.counts()), (Err(NotKept::Gone), early));
    // One that takes more than all.
    run.window(6, 101);
    assert_eq!(run.ask(6, 7), Err(NotKept::NotYet));
    let counts = run.counts();
    assert_eq!((counts.windows, counts.bytes, counts.too_large), (0, 0, 1));
    run.window(7, 5);
    assert_eq!((run.ask(6, 7), run.ask(7, 8)), (Err(NotKept::Gone), Ok(vec![Some(5)])));
    // Fewer from now on, and none.
    run.window(8, 6);
    run.keep(1, 100).expect("less memory");
    assert_eq!((run.ask(7, 8), run.ask(8, 9)), (Err(NotKept::Gone), Ok(vec![Some(6)])));
    run.keep(0, 0).expect("no memory");
    assert_eq!((run.ask(8, 9), run.counts().bytes), (Err(NotKept::Off), 0));
    let result = run.outputs.finish();
    let warning = "look-back: 3 windows went early and 1 were too large: its memory was full";
    assert_eq!(result.warnings, [warning]);
}

#[test]
fn windows_without_packets_are_known() {
    let mut run = ByHand::new(1 << 30);
    run.keep(4, 100).expect("memory");
    run.window(3, 1);
    run.rows(9, 2);
    run.close(closed(9, 5));
    assert_eq!(run.ask(4, 9), Ok(vec![None]), "one answer for all of them");
    assert_eq!((run.ask(5, 6), run.ask(8, 10)), (Ok(vec![None]), Ok(vec![None, Some(2)])));
    assert_eq!(run.ask(3, 10), Ok(vec![Some(1), None, Some(2)]));
    let span = Span { start_ns: 5 * MS, end_ns: 7 * MS };
    let [empty] = &run.control.recent_windows().ask(span, &run.later).expect("it is kept")[..] else {
        panic!()
    };
    assert_eq!((empty.window, empty.empty, empty.status), (Some(span), Some(2), AnswerStatus::Complete));
    // A window that was not passed on lies between.
    run.rows(12, 2);
    run.close(closed(12, 1));
    assert_eq!((run.ask(11, 13), run.ask(10, 11)), (Ok(vec![None, Some(2)]), Err(NotKept::Gone)));
}

#[test]
fn memory_comes_out_of_the_run_s() {
    let queue = {
        let run = ByHand::new(1 << 30);
        run.limits.bytes_used()
    };
    let mut run = ByHand::new(queue + 100 * ROW);
    let refused = run.keep(2, 101).expect_err("too much");
    assert_eq!(refused, NoRoom { bytes: 101 * ROW, left: 100 * ROW });
    assert_eq!((run.ask(0, 1), run.limits.bytes_used()), (Err(NotKept::Off), queue));
    run.keep(2, 60).expect("memory");
    run.window(0, 40);
    // What is refused changes nothing.
    assert_eq!(run.keep(2, 101), Err(NoRoom { bytes: 101 * ROW, left: 100 * ROW }));
    assert_eq!(run.ask(0, 1), Ok(vec![Some(40)]));
    run.keep(2, 100).expect("memory");
    assert_eq!((run.ask(0, 1), run.limits.bytes_used()), (Ok(vec![Some(40)]), queue + 100 * ROW));
    run.keep(2, 30).expect("memory");
    assert_eq!((run.ask(0, 1), run.limits.bytes_used()), (Err(NotKept::NotYet), queue + 30 * ROW));
    run.keep(0, 0).expect("nothing");
    assert_eq!(run.limits.bytes_used(), queue);
}

/// A gate that asks for the window before the last, as a controller does while the run waits.
#[derive(Debug)]
struct Asking {
    asked: Mutex<Option<(Control, RowQueries)>>,
    /// Windows as they are passed on.
    passed: Mutex<Receiver<Span>>,
    has_begun: AtomicBool,
    rows: AtomicU64,
}

impl Gate for Asking {
    fn enter(&self, window: WindowId) {
        let asked = self.asked.lock().expect("no panic");
        let Some((control, later)) = &*asked else { return };
        // The first window has none before it.
        if !self.has_begun.swap(true, Relaxed) {
            return;
        }
        // The window that the run leaves now is answered without its help.
        let passed = self.passed.lock().expect("no panic");
        if let Ok(span) = passed.recv_timeout(Duration::from_secs(60)) {
            assert_eq!(span.end_ns, window.number() * 20 * MS);
            let answers = control.recent_windows().ask(span, later).expect("it is kept");
            self.rows.fetch_add(number(&answers[0].rows[0][0]), Relaxed);
        }
    }
}

#[test]
fn a_run_that_waits_at_its_gate_is_asked() {
    let config = MeasurementConfig { every: Every::Time(20 * MS), ..config() };
    let site = site(&config, 20 * MS);
    let set = TaskSet::plan(Generation::default(), &[], None, &site).expect("no query");
    let (sender, receiver) = channel();
    let gate = Arc::new(Asking {
        asked: Mutex::default(),
        passed: Mutex::new(receiver),
        has_begun: AtomicBool::default(),
        rows: AtomicU64::default(),
    });
    let control = Control::gated(Arc::new(set), Arc::clone(&gate) as Arc<dyn Gate>);
    control.keep_windows(3, 1 << 20, &config.limits).expect("memory");
    let later = planned(&[Query::new("all", [], [OutputColumn::sum("total_count")])], &site);
    *gate.asked.lock().expect("no panic") = Some((control.clone(), later));
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let windows = Box::new(move |window: Window| sender.send(window.span).is_ok());
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows,
        node: String::new(),
    };
    let outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let mut sources = generated("packets=2k,flows=50,rate=10000", BURST);
    let plan = plan("rss");
    let outcome =
        engine::run(&mut sources, None, &config, &plan, &stop, outputs, &mut watch).expect("memory");
    assert!(outcome.records.finish().faults.is_empty());
    // Ten windows; what is in the last one is asked by no query.
    assert_eq!(gate.rows.load(Relaxed), 2000 - 200);
    // The gate and the control own each other.
    *gate.asked.lock().expect("no panic") = None;
}

/// A gate that asks for what lies between two windows.
#[derive(Debug, Default)]
struct AskingBetween {
    asked: Mutex<Option<(Control, RowQueries)>>,
    /// Windows as they are passed on.
    passed: Mutex<Option<Receiver<Span>>>,
    has_begun: AtomicBool,
    empty: AtomicU64,
}

impl Gate for AskingBetween {
    fn enter(&self, window: WindowId) {
        if !self.has_begun.swap(true, Relaxed) {
            return;
        }
        let passed = self.passed.lock().expect("no panic");
        let passed = passed.as_ref().expect("a receiver");
        // With packets; those without are passed on later.
        let last = passed.recv_timeout(Duration::from_secs(60)).expect("a window");
        let until_ns = window.number() * MS;
        let asked = self.asked.lock().expect("no panic");
        let (control, later) = asked.as_ref().expect("a handle");
        let ask = |start_ns, end_ns| control.recent_windows().ask(Span { start_ns, end_ns }, later);
        if last.end_ns < until_ns {
            let [answer] = &ask(last.end_ns, until_ns).expect("it is known")[..] else {
                panic!("one answer")
            };
            let windows = (until_ns - last.end_ns) / MS;
            assert_eq!((answer.empty, answer.rows.len()), (Some(windows), 0));
            assert_eq!(ask(last.start_ns, until_ns).expect("it is known").len(), 2);
            assert_eq!(ask(last.end_ns + MS / 2, until_ns), Err(NotKept::OtherWindows));
            self.empty.fetch_add(windows, Relaxed);
        }
        assert_eq!(ask(last.start_ns, until_ns + MS), Err(NotKept::NotYet));
    }
}

#[test]
fn windows_before_the_next_packet_of_a_waiting_replay_are_empty() {
    let config = MeasurementConfig { every: Every::Time(MS), ..config() };
    let site = site(&config, MS);
    let set = TaskSet::plan(Generation::default(), &[], None, &site).expect("no query");
    let (sender, receiver) = channel();
    let gate = Arc::new(AskingBetween::default());
    let control = Control::gated(Arc::new(set), Arc::clone(&gate) as Arc<dyn Gate>);
    control.keep_windows(3, 1 << 20, &config.limits).expect("memory");
    let later = planned(&[Query::new("all", [], [OutputColumn::sum("total_count")])], &site);
    *gate.asked.lock().expect("no panic") = Some((control.clone(), later));
    *gate.passed.lock().expect("no panic") = Some(receiver);
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let windows = Box::new(move |window: Window| window.empty.is_some() || sender.send(window.span).is_ok());
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows,
        node: String::new(),
    };
    let outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    // A packet every five windows.
    let mut sources = generated("packets=100,flows=50,rate=200", BURST);
    let plan = plan("rss");
    let outcome =
        engine::run(&mut sources, None, &config, &plan, &stop, outputs, &mut watch).expect("memory");
    assert!(outcome.records.finish().faults.is_empty());
    assert_eq!(gate.empty.load(Relaxed), 99 * 4);
    // The gate and the control own each other.
    *gate.asked.lock().expect("no panic") = None;
}

/// Six windows of a million flows, from generated traffic: `cargo test --release -p engine --test it recent_windows:: -- --ignored --nocapture`.
#[test]
#[ignore = "takes 600 MB"]
fn six_windows_of_a_million_flows() {
    let config = MeasurementConfig {
        every: Every::Time(1000 * MS),
        limits: Limits::new(3 << 30, usize::MAX),
        ..config()
    };
    let site = site(&config, 1000 * MS);
    let set = TaskSet::plan(Generation::default(), &[], None, &site).expect("no query");
    let control = Control::new(Arc::new(set));
    let bytes = recent_windows_bytes(6, 1_000_000, TrackedParts::PLAIN);
    assert!(bytes <= 600_000_000, "{bytes}");
    control.keep_windows(6, bytes as usize, &config.limits).expect("memory");
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let windows = Box::new(|_: Window| true);
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows,
        node: String::new(),
    };
    let outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let mut sources = generated("packets=16M,flows=1M,zipf=uniform,rate=2M", 256);
    let plan = plan("rss");
    let outcome =
        engine::run(&mut sources, None, &config, &plan, &stop, outputs, &mut watch).expect("memory");
    let before = resident();
    let counts = control.recent_windows().counts();
    let result = outcome.records.finish();
    let queries =
        [Query::new("by_source", [GroupField::from_field("src_addr")], [OutputColumn::sum("total_byte")])];
    let later = planned(&queries, &site);
    let start = Instant::now();
    let start_ns = outcome.ended.span.expect("packets").start_ns / (1000 * MS) * 1000 * MS + 5000 * MS;
    let span = Span { start_ns, end_ns: start_ns + 1000 * MS };
    let answers = control.recent_windows().ask(span, &later).expect("it is kept");
    let took = start.elapsed();
    control.keep_windows(0, 0, &config.limits).expect("nothing");
    println!(
        "{counts:?}; {} MB resident, {} MB of them the ring's; {} groups in {took:?}; {:?}",
        before >> 20,
        (before - resident()) >> 20,
        answers[0].rows.len(),
        result.warnings
    );
    assert_eq!((counts.windows, counts.dropped_early), (6, 0), "{counts:?}");
}

/// Resident memory of this process, bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split(' ').nth(1).expect("pages").parse::<usize>().expect("a number") << 12
}
