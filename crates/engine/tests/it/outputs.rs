//! What becomes of rows and windows that a live source's outputs have no room for.

use crate::support::{BURST, Watch, config, on_wire, plan};
use engine::{
    ClosedWindow, Control, Destinations, Every, MeasurementConfig, Outputs, PacketTotals, RecordSink,
    RowOutput, WindowId,
};
use flow::{FlowRecord, LossCounts, Rows, WindowRow};
use flowtable::MeasuredParts;
use model::{AnswerStatus, Counters, PacketCounts, Span, Value, Window};
use packet::{Key, KeyV4, KeyV6};
use port::TimeBase;
use port::wire::WireSpec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use task::query::{GroupField, OutputColumn, Over, Query};
use task::rows::{PacketFieldPolicy, PlanContext, Unplaced};
use task::{Generation, SplitWindow, TaskSet};

const MS: u64 = 1_000_000;

fn query(name: &str, over: Over) -> Query {
    Query { over, ..Query::new(name, [], [OutputColumn::sum("total_count")]) }
}

/// A window of a millisecond with one packet in a row and one without a place.
fn closed(number: u64, empty_before: u64, refused_rows: u64) -> ClosedWindow {
    let span = Span { start_ns: number * MS, end_ns: (number + 1) * MS };
    ClosedWindow {
        index: number,
        empty_before,
        packets: PacketCounts { received: 2, measured: 2, ..PacketCounts::default() },
        loss: Some(Counters::default()),
        totals: PacketTotals { packets: 2, bytes: 80, wire_bytes: 108, flows: 1, times: None },
        unplaced: Unplaced { packets: 1, bytes: 40, wire_bytes: 54, keyless: 0 },
        refused_rows,
        ..ClosedWindow::without_packets(WindowId::new(number), span)
    }
}

/// Hands over a row of a window, and gives whether it was refused.
fn row(outputs: &mut Outputs, number: u64) -> u64 {
    let key = KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [0, 1, 0, 2], 17);
    let row = WindowRow { packets: 1, bytes: 40, wire_bytes: 54, ..WindowRow::<()>::default() };
    outputs.begin_rows(WindowId::new(number));
    outputs.row(row.with_key(key), None);
    outputs.end_rows()
}

/// Returns destinations that give each window to the receiver, and whose first window stops the outputs' thread until the sender is dropped.
fn stopped_by_a_window() -> (Destinations, Receiver<Window>, Sender<()>) {
    let (entered, windows) = channel();
    let (release, released) = channel::<()>();
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows: Box::new(move |window: Window| {
            entered.send(window).expect("a test that waits");
            released.recv().expect_err("nothing is sent");
            true
        }),
        node: "here".to_owned(),
    };
    (destinations, windows, release)
}

/// Returns the reason of an answer that lacks rows, because they came too fast.
fn late(rows: u64) -> String {
    match rows {
        1 => "1 row came faster than it was answered".to_owned(),
        rows => format!("{rows} rows came faster than they were answered"),
    }
}

#[test]
fn rows_without_room_make_answers_partial_also_where_their_windows_have_none() {
    // Where losses are tracked, queries over the run read the rows of windows.
    let config =
        MeasurementConfig { parts: MeasuredParts { loss: true, ..MeasuredParts::default() }, ..config() };
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let queries = [query("of_window", Over::Window), query("of_run", Over::Run)];
    let set = TaskSet::plan(Generation::default(), &queries, None, &site).expect("good queries");
    let (destinations, windows, release) = stopped_by_a_window();
    let control = Control::new(Arc::new(set));
    let mut outputs = Outputs::start(destinations, &config, &control, TimeBase::Clock).expect("a thread");

    assert_eq!(row(&mut outputs, 0), 0);
    assert!(outputs.window(closed(0, 0, 0)));
    let first = windows.recv().expect("the first window");
    assert_eq!(first.span.start_ns, 0);
    // The queue fills up: windows without rows take one place, others two.
    let (mut rows, mut refused, mut taken, mut given) = (1, 0, vec![0], 1);
    for number in 1..200 {
        let own = if number == 1 { 0 } else { row(&mut outputs, number) };
        rows += u64::from(number != 1) - own;
        refused += own;
        given += 1;
        if outputs.window(closed(number, 0, own)) {
            taken.push(number);
        }
    }
    assert!(refused > 0 && taken.len() > 2 && taken.len() < 199, "{refused} {}", taken.len());
    // The rows of a window find no room, and the window itself does, after five empty ones.
    let own = row(&mut outputs, 205);
    assert_eq!(own, 1);
    refused += own;
    given += 1;
    drop(release);
    for number in &taken[1..] {
        let window = windows.recv().expect("a window");
        assert_eq!(window.span.start_ns, number * MS);
        // A sum over all has the packets without a place too.
        assert_eq!(
            (window.status, window.answers[1].status),
            (AnswerStatus::Complete, AnswerStatus::Complete)
        );
        assert_eq!(window.answers[1].rows[0][0], Value::Unsigned(1 + u64::from(*number != 1)));
    }
    assert!(outputs.window(closed(205, 5, own)), "the queue is empty");
    let (empty, last) = (windows.recv().expect("empty ones"), windows.recv().expect("the last"));
    // Windows that found no room lie before them, and are not reported as empty.
    assert_eq!((empty.empty, empty.span), (Some(5), Span { start_ns: 200 * MS, end_ns: 205 * MS }));
    assert_eq!((last.status, last.answers[1].status), (AnswerStatus::Partial, AnswerStatus::Partial));
    let reason = "1 row came faster than it was answered";
    assert_eq!(last.answers[1].reason.as_deref(), Some(reason));

    let result = outputs.finish();
    assert!(result.faults.is_empty(), "{result:?}");
    let [of_run] = &result.answers[..] else { panic!("{result:?}") };
    assert_eq!(of_run.status, AnswerStatus::Partial);
    let reason = late(refused);
    assert_eq!(of_run.reason, Some(reason), "also of windows that nothing was told of");
    assert_eq!(of_run.rows[0][0], Value::Unsigned(rows + given));
}

#[test]
fn answers_by_packets_say_which_windows_without_room_they_lack() {
    let config = config();
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let site = PlanContext { window_ns: Some(MS), by_packets: PacketFieldPolicy::Counted, ..site };
    let over = [("of_run", Over::Run), ("long", Over::Windows { every_ns: 10 * MS, over_ns: 20 * MS })];
    let queries = over.map(|(name, over)| Query {
        over,
        ..Query::new(name, [GroupField::from_field("vlan")], [OutputColumn::sum("total_count")])
    });
    let set = TaskSet::plan(Generation::default(), &queries, None, &site).expect("good queries");
    let (destinations, windows, release) = stopped_by_a_window();
    let control = Control::new(Arc::new(set));
    let mut outputs = Outputs::start(destinations, &config, &control, TimeBase::Clock).expect("a thread");
    let by_packets = |number, index, empty_before| ClosedWindow {
        index,
        split: Some(SplitWindow::default()),
        ..closed(number, empty_before, 0)
    };
    assert!(outputs.window(by_packets(0, 0, 0)));
    let mut seen = vec![windows.recv().expect("the first window")];
    // The queue fills up.
    let taken: Vec<u64> = (1..200).filter(|number| outputs.window(by_packets(*number, *number, 0))).collect();
    let refused = 199 - taken.len() as u64;
    assert!(taken.iter().copied().eq(1..=taken.len() as u64) && refused > 50, "{taken:?}");
    drop(release);
    seen.extend((0..taken.len()).map(|_| windows.recv().expect("a window")));
    // Of 200 to 204 there is no packet. What is complete after the gap is said to be.
    for (number, index, empty) in [(205, 200, 5), (209, 201, 3), (219, 202, 9), (229, 203, 9), (239, 204, 9)]
    {
        assert!(outputs.window(by_packets(number, index, empty)), "the queue is empty");
        let of_one = |_| windows.recv().expect("a window and the empty ones before it");
        seen.extend((0..2).map(of_one));
    }
    let result = outputs.finish();
    assert!(result.faults.is_empty(), "{result:?}");
    let reason = |windows: u64| {
        format!("{windows} windows came faster than they were answered: their packets are missing")
    };
    let [of_run] = &result.answers[..] else { panic!("{result:?}") };
    assert_eq!((of_run.status, &of_run.reason), (AnswerStatus::Partial, &Some(reason(refused))));
    let longer: Vec<_> = seen.iter().flat_map(|window| &window.longer).collect();
    let (first, end) = (taken.len() as u64 + 1, 200);
    let mut gaps = 0;
    for answer in &longer {
        let span = answer.window.expect("a window");
        let [start, until] = [span.start_ns, span.end_ns].map(|ns| ns / MS);
        let lacking = until.min(end).saturating_sub(start.max(first));
        gaps += u64::from(lacking != 0);
        assert_eq!(answer.status == AnswerStatus::Partial, lacking != 0, "{answer:?}");
        assert_eq!(answer.reason, (lacking != 0).then(|| reason(lacking)), "{answer:?}");
    }
    assert!(
        gaps > 2 && longer.last().is_some_and(|answer| answer.status == AnswerStatus::Complete),
        "{longer:?}"
    );
}

#[test]
fn a_fault_is_of_the_answers_by_packets_that_cover_its_windows() {
    let config = config();
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let site = PlanContext { window_ns: Some(MS), by_packets: PacketFieldPolicy::Counted, ..site };
    let over = Over::Windows { every_ns: 10 * MS, over_ns: 20 * MS };
    let query = Query {
        over,
        ..Query::new("long", [GroupField::from_field("vlan")], [OutputColumn::sum("total_count")])
    };
    let set = TaskSet::plan(Generation::default(), &[query], None, &site).expect("a good query");
    let (entered, windows) = channel();
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows: Box::new(move |window: Window| entered.send(window).is_ok()),
        node: "here".to_owned(),
    };
    let control = Control::new(Arc::new(set));
    let mut outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
    for number in 0..60 {
        let mut split = SplitWindow::default();
        split.fault = matches!(number, 13 | 14 | 26).then(|| "it rains".to_owned());
        assert!(outputs.window(ClosedWindow { split: Some(split), ..closed(number, 0, 0) }));
    }
    let result = outputs.finish();
    assert!(result.faults.is_empty(), "{result:?}");
    let longer: Vec<_> = windows.try_iter().flat_map(|window| window.longer).collect();
    let seen: Vec<_> = longer.iter().map(|answer| (answer.status, answer.reason.as_deref())).collect();
    let faulty = (AnswerStatus::Partial, Some("incomplete: it rains"));
    let whole = (AnswerStatus::Complete, None);
    assert_eq!(seen, [whole, faulty, faulty, faulty, whole, whole]);
}

#[test]
fn windows_by_packets_are_watched_from_when_their_query_is_there() {
    let config = config();
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let site = PlanContext { window_ns: Some(MS), by_packets: PacketFieldPolicy::Counted, ..site };
    let over = Over::Windows { every_ns: 10 * MS, over_ns: 20 * MS };
    let queries = ["vlan", "src_addr"].map(|by| Query {
        over,
        ..Query::new(by, [GroupField::from_field(by)], [OutputColumn::sum("total_count")])
    });
    let set = |number, queries: &[Query]| {
        let generation = Generation::new(number);
        Arc::new(TaskSet::plan(generation, queries, None, &site).expect("good queries"))
    };
    let (entered, windows) = channel();
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows: Box::new(move |window: Window| entered.send(window).is_ok()),
        node: "here".to_owned(),
    };
    let control = Control::new(set(0, &[]));
    let mut outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
    assert!(outputs.window(closed(0, 0, 0)));
    // Both sets of the empty windows have the queries.
    for (first, generation) in [(13, 1), (25, 2)] {
        control.install_at(WindowId::new(first), set(generation, &queries)).expect("a later set");
    }
    let split = || Some(SplitWindow::default());
    assert!(outputs.window(ClosedWindow { index: 1, split: split(), ..closed(38, 37, 0) }));
    assert!(outputs.window(ClosedWindow { index: 2, split: split(), ..closed(60, 21, 0) }));
    let result = outputs.finish();
    assert!(result.faults.is_empty(), "{result:?}");
    let longer: Vec<_> = windows.try_iter().flat_map(|window| window.longer).collect();
    let [by_packets, by_flows] = ["vlan", "src_addr"].map(|name| {
        let of_query = longer.iter().filter(|answer| answer.query == name);
        of_query.map(|answer| (answer.window, answer.watched, answer.empty)).collect::<Vec<_>>()
    });
    assert_eq!(by_packets, by_flows);
    // Two windows end after the query is there and before there are packets.
    assert_eq!(by_packets[0], (Some(Span { start_ns: 0, end_ns: 30 * MS }), None, Some(2)));
}

#[test]
fn answers_over_the_run_say_that_records_of_a_failed_worker_are_missing() {
    let config = config();
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let set = TaskSet::plan(Generation::default(), &[query("of_run", Over::Run)], None, &site);
    let set = Arc::new(set.expect("a good query"));
    let of_run = |has_failure: bool| {
        let windows = Box::new(|_: Window| true);
        let destinations = Destinations {
            writers: Vec::new(),
            rows: Vec::new(),
            anonymizer: None,
            windows,
            node: "here".to_owned(),
        };
        let control = Control::new(Arc::clone(&set));
        let mut outputs =
            Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
        let mut sibling = outputs.sibling();
        let key = KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [0, 1, 0, 2], 17);
        sibling.record_row(WindowRow { packets: 3, ..WindowRow::<()>::default() }.with_key(key));
        outputs.absorb(sibling);
        if has_failure {
            outputs.worker_failed();
        }
        outputs.finish().answers.remove(0)
    };
    let (whole, lacking) = (of_run(false), of_run(true));
    assert_eq!((whole.status, &whole.reason), (AnswerStatus::Complete, &None));
    assert_eq!([&whole.rows, &lacking.rows], [&vec![vec![Value::Unsigned(3)]]; 2]);
    let reason = "1 workers failed: flows that had not ended on them are missing";
    assert_eq!((lacking.status, lacking.reason.as_deref()), (AnswerStatus::Partial, Some(reason)));
}

/// What passes between the tables and the outputs of a run.
#[derive(Default)]
struct Passed {
    /// Rows that left the tables.
    rows: AtomicU64,
    /// Those that the outputs refused.
    refused: AtomicU64,
    /// Rows that arrived at the other end.
    arrived: AtomicU64,
    closed: Mutex<Closed>,
}

/// Windows that were closed.
#[derive(Default)]
struct Closed {
    packets: u64,
    /// Refused rows of those that the outputs took, by their begin.
    reported: BTreeMap<u64, u64>,
    unreported: u64,
    /// The refused rows of all.
    refused: u64,
    /// The consumer waits until this is gone.
    holds: Option<Sender<()>>,
    /// The window with which it was let go.
    released_at: Option<u64>,
}

/// Outputs whose losses are counted in addition.
struct Observed {
    outputs: Outputs,
    passed: Arc<Passed>,
}

impl RecordSink for Observed {
    fn record(&mut self, record: FlowRecord) {
        self.outputs.record(record);
    }
    fn takes_records(&self) -> bool {
        self.outputs.takes_records()
    }
    fn row<K: Key>(&mut self, row: WindowRow<K>, loss: Option<&LossCounts>) {
        self.passed.rows.fetch_add(1, Relaxed);
        self.outputs.row(row, loss);
    }
    fn begin_rows(&mut self, window: WindowId) {
        self.outputs.begin_rows(window);
    }
    fn takes_record_rows(&self) -> bool {
        self.outputs.takes_record_rows()
    }
    fn end_rows(&mut self) -> u64 {
        let refused = self.outputs.end_rows();
        self.passed.refused.fetch_add(refused, Relaxed);
        refused
    }
    fn window(&mut self, window: ClosedWindow) -> bool {
        let (start_ns, refused, packets) =
            (window.span.start_ns, window.refused_rows, window.packets.measured);
        let is_taken = self.outputs.window(window);
        let mut closed = self.passed.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.packets += packets;
        closed.refused += refused;
        match is_taken {
            true => drop(closed.reported.insert(start_ns, refused)),
            false => closed.unreported += 1,
        }
        if closed.refused != 0 && closed.unreported != 0 && closed.holds.take().is_some() {
            closed.released_at = Some(start_ns);
        }
        is_taken
    }
    fn hand_over(&mut self) {
        self.outputs.hand_over();
    }
    fn may_wait(&mut self) {
        self.outputs.may_wait();
    }
    fn sibling(&self) -> Self {
        Self { outputs: self.outputs.sibling(), passed: Arc::clone(&self.passed) }
    }
    fn absorb(&mut self, sibling: Self) {
        self.outputs.absorb(sibling.outputs);
    }
}

/// Counts the rows that arrive.
struct Arrivals(Arc<Passed>);

impl RowOutput for Arrivals {
    fn write_v4(&mut self, _: u64, rows: &Rows<KeyV4>) -> std::io::Result<()> {
        self.0.arrived.fetch_add(rows.len() as u64, Relaxed);
        Ok(())
    }
    fn write_v6(&mut self, _: u64, rows: &Rows<KeyV6>) -> std::io::Result<()> {
        self.0.arrived.fetch_add(rows.len() as u64, Relaxed);
        Ok(())
    }
    fn finish(self: Box<Self>, _: &Unplaced) -> std::io::Result<()> {
        Ok(())
    }
}

/// The consumer of a live source's windows stands still until some rows and windows have found no room, and goes on: the run ends when
/// a later window is complete again.
#[test]
fn a_consumer_that_stands_still_costs_rows_that_are_counted_and_no_packet() {
    let every = 10 * MS;
    // Where losses are tracked, what the run lacks has the rows of windows that are not reported.
    let parts = MeasuredParts { loss: true, ..MeasuredParts::default() };
    let mut config = MeasurementConfig { parts, every: Every::Time(every), ..config() };
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let queries = [query("of_window", Over::Window), query("of_run", Over::Run)];
    let set = TaskSet::plan(Generation::default(), &queries, None, &site).expect("good queries");
    let control = Control::new(Arc::new(set));
    config.control = Some(control.clone());

    let (holds, released) = channel();
    let passed = Arc::new(Passed::default());
    passed.closed.lock().expect("no panic").holds = Some(holds);
    let stop = Arc::new(AtomicBool::new(false));
    let (windows, seen) = channel();
    let outlet = {
        let (passed, stop) = (Arc::clone(&passed), Arc::clone(&stop));
        Box::new(move |window: Window| {
            released.recv().expect_err("nothing is sent");
            let released_at = passed.closed.lock().unwrap_or_else(PoisonError::into_inner).released_at;
            let is_later = released_at.is_some_and(|at| window.span.start_ns > at);
            if is_later && window.empty.is_none() && window.status == AnswerStatus::Complete {
                stop.store(true, Relaxed);
            }
            windows.send(window).is_ok()
        })
    };
    let destinations = Destinations {
        writers: Vec::new(),
        rows: vec![Box::new(Arrivals(Arc::clone(&passed)))],
        anonymizer: None,
        windows: outlet,
        node: "here".to_owned(),
    };
    // A minute, if nothing ended it before; the ring lasts more than a second.
    let wire: WireSpec = "rate=50kpps,packets=3M,ring=65536".parse().expect("a good wire");
    let (wire, mut sources) = on_wire("packets=20k,flows=500", &wire, BURST);
    let outputs = Outputs::start(destinations, &config, &control, TimeBase::Clock).expect("a thread");
    let sink = Observed { outputs, passed: Arc::clone(&passed) };
    let mut watch = Watch::default();
    let outcome = engine::run(&mut sources, None, &config, &plan("rss"), &stop, sink, &mut watch);
    let outcome = outcome.expect("memory");
    let result = outcome.records.outputs.finish();
    assert!(stop.load(Relaxed), "no window was complete after the consumer went on");

    // No packet is missing.
    let counters = wire.total();
    assert_eq!(counters.imissed_clock_stopped, 0, "{counters:?}");
    let packets = &outcome.ended.packets;
    assert_eq!([packets.received, packets.measured], [counters.delivered; 2], "{counters:?}");
    let closed = passed.closed.lock().expect("no panic");
    assert_eq!(closed.packets, packets.measured);

    // Rows arrive or are counted as refused, in their windows and in all.
    let [rows, refused, arrived] =
        [&passed.rows, &passed.refused, &passed.arrived].map(|count| count.load(Relaxed));
    assert!(refused > 0 && closed.unreported > 0, "{refused} {}", closed.unreported);
    assert_eq!(rows, arrived + refused);
    assert_eq!(closed.refused, refused);
    let of_run = result.answers.iter().find(|answer| answer.query == "of_run").expect("an answer");
    assert_eq!(of_run.status, AnswerStatus::Partial);
    assert_eq!(of_run.reason, Some(late(refused)));

    // A window is reported with what it lacks, or is not reported.
    let windows: Vec<_> = seen.try_iter().filter(|window| window.empty.is_none()).collect();
    let starts: Vec<_> = windows.iter().map(|window| window.span.start_ns).collect();
    assert_eq!(starts, closed.reported.keys().copied().collect::<Vec<_>>());
    for (window, refused) in windows.iter().zip(closed.reported.values()) {
        assert_eq!(window.status == AnswerStatus::Partial, *refused != 0, "{window:?}");
        let reason = (*refused != 0).then(|| late(*refused));
        assert_eq!(window.answers[1].reason, reason, "{window:?}");
    }
}
