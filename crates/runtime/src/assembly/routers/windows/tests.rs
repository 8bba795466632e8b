use super::*;
use engine::{Destinations, Every, MeasurementConfig, RowOutput};
use flow::{FlowKey, FlowRecord, Rows};
use model::Window;
use packet::{KeyV4, KeyV6};
use port::TimeBase;
use router::{DecoderCounts, ExporterCounts, SamplingRate};
use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use task::rows::PlanContext;
use task::{Generation, TaskSet};

const SECOND: u64 = 1_000_000_000;
/// A time at which a window begins.
const BEGIN: u64 = 1_700_000_000 * SECOND;

/// What arrived of a window.
#[derive(Clone, Debug, Default, PartialEq)]
struct Arrived {
    rows: u64,
    packets: u64,
    closed: Option<ClosedWindow>,
}

/// Takes rows. The first ones wait until `released` says so, or for a moment.
struct Taking {
    arrived: Arc<Mutex<BTreeMap<u64, Arrived>>>,
    released: Option<Receiver<()>>,
}

impl Taking {
    fn rows<K>(&mut self, start_ns: u64, rows: &Rows<K>) -> io::Result<()> {
        if let Some(released) = self.released.take() {
            let _ = released.recv_timeout(Duration::from_millis(300));
        }
        let mut arrived = self.arrived.lock().expect("a lock");
        let window = arrived.entry(start_ns).or_default();
        window.rows += rows.rows.len() as u64;
        window.packets += rows.rows.iter().map(|row| row.packets).sum::<u64>();
        Ok(())
    }
}

impl RowOutput for Taking {
    fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> io::Result<()> {
        self.rows(start_ns, rows)
    }

    fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> io::Result<()> {
        self.rows(start_ns, rows)
    }

    fn window(&mut self, window: &ClosedWindow) {
        let mut arrived = self.arrived.lock().expect("a lock");
        arrived.entry(window.span.start_ns).or_default().closed = Some(window.clone());
    }

    fn finish(self: Box<Self>, _: &Unplaced) -> io::Result<()> {
        Ok(())
    }
}

/// Windows of a second, and what arrives of them.
struct Collected {
    windows: RouterWindows,
    arrived: Arc<Mutex<BTreeMap<u64, Arrived>>>,
    release: Sender<()>,
}

impl Collected {
    fn new(wait_ns: u64, bytes: usize) -> Self {
        let limits = Limits::new(bytes, usize::MAX);
        let config = MeasurementConfig {
            every: Every::Time(SECOND),
            limits: limits.clone(),
            ..MeasurementConfig::default()
        };
        let site = PlanContext::new(config.key, config.seed, limits.clone());
        let control = Control::new(Arc::new(
            TaskSet::plan(Generation::default(), &[], None, &site).expect("no queries"),
        ));
        let arrived = Arc::new(Mutex::new(BTreeMap::new()));
        let (release, released) = channel();
        let taking = Taking { arrived: Arc::clone(&arrived), released: Some(released) };
        let destinations = Destinations {
            writers: Vec::new(),
            rows: vec![Box::new(taking)],
            anonymizer: None,
            windows: Box::new(|_: Window| true),
            node: "here".to_owned(),
        };
        let outputs = Outputs::start(destinations, &config, &control, TimeBase::Clock).expect("a thread");
        let setting = RouterWindowSetting { window_ns: SECOND, wait_ns, key: config.key, limits };
        let windows = RouterWindows::new(setting, control, outputs, Qualities::default(), BEGIN);
        Self { windows, arrived, release }
    }

    /// A flow with its last packet then; each number is another one.
    fn take(&mut self, number: u32, packets: u64, ltime: u64, now_ns: u64) {
        let mut record = FlowRecord::without_packets(ltime, ltime);
        record.key = Some(FlowKey {
            src_addr: Some(Ipv4Addr::from(number).into()),
            dst_addr: Some(Ipv4Addr::LOCALHOST.into()),
            src_port: Some(1),
            dst_port: Some(2),
            protocol: Some(17),
            ..FlowKey::default()
        });
        [record.total_count, record.total_byte, record.wire_byte] = [packets, 40 * packets, 64 * packets];
        self.windows.take(ExportedFlow { record, rate: Some(SamplingRate::ALL), counted: packets }, now_ns);
    }

    fn end(self, now_ns: u64, tally: &DatagramTally) -> (RunTotals, BTreeMap<u64, Arrived>) {
        let (ended, outputs) = self.windows.finish(now_ns, tally);
        let result = outputs.finish();
        assert!(result.faults.is_empty(), "{:?}", result.faults);
        assert_eq!(result.unreported, 0);
        let arrived = self.arrived.lock().expect("a lock").clone();
        (ended, arrived)
    }
}

fn tally(dropped: u64, lost_records: u64) -> DatagramTally {
    let exporters = ExporterCounts { lost_records, ..ExporterCounts::default() };
    DatagramTally { counts: DecoderCounts { exporters, ..DecoderCounts::default() }, dropped: Some(dropped) }
}

#[test]
fn windows_of_more_rows_than_wait_in_the_queue_come_whole() {
    const KEYS: u32 = 500_000;
    let mut collected = Collected::new(0, 1 << 30);
    for window in 0..2 {
        let start_ns = BEGIN + window * SECOND;
        collected.windows.advance(start_ns, &tally(0, 0));
        (0..KEYS).for_each(|key| collected.take(key, 2, start_ns, start_ns));
    }
    collected.windows.advance(BEGIN + 2 * SECOND, &tally(0, 0));
    // Where rows are not waited for, they are refused before this.
    let _ = collected.release.send(());
    let (ended, arrived) = collected.end(BEGIN + 2 * SECOND, &tally(0, 0));
    assert_eq!((ended.windows.unreported, ended.packets.measured), (0, 4 * u64::from(KEYS)));
    assert_eq!(arrived.len(), 3);
    for start_ns in [BEGIN, BEGIN + SECOND] {
        let Arrived { rows, packets, closed } = &arrived[&start_ns];
        let closed = closed.as_ref().expect("the window's message");
        assert_eq!((*rows, *packets), (KEYS.into(), 2 * u64::from(KEYS)));
        assert_eq!((closed.refused_rows, closed.totals.flows), (0, KEYS.into()));
        assert_eq!(closed.packets.received, closed.packets.measured);
    }
}

#[test]
fn records_count_in_their_windows_while_these_are_open() {
    let mut collected = Collected::new(SECOND / 2, 1 << 28);
    collected.take(1, 1, BEGIN, BEGIN);
    // The window before it was never open, and the next one is not yet.
    collected.take(1, 2, BEGIN - SECOND, BEGIN + 1);
    collected.take(1, 4, BEGIN + SECOND, BEGIN + 2);
    let now_ns = BEGIN + SECOND + SECOND / 4;
    assert!(collected.windows.is_due(now_ns));
    collected.windows.advance(now_ns, &tally(2, 0));
    assert!(!collected.windows.is_due(now_ns));
    // Both are open.
    collected.take(1, 8, BEGIN + 5, now_ns);
    collected.take(1, 16, now_ns, now_ns);
    let now_ns = BEGIN + SECOND + SECOND / 2;
    assert!(collected.windows.is_due(now_ns));
    collected.windows.advance(now_ns, &tally(3, 1));
    collected.take(1, 32, BEGIN + 5, now_ns);
    let qualities = collected.windows.qualities.clone();
    let (ended, arrived) = collected.end(now_ns, &tally(3, 5));
    let reason = |window: Option<u64>| {
        let span = |start_ns| Span { start_ns, end_ns: start_ns + SECOND };
        let mut answers = [model::Answer::new("q", window.map(span), Vec::new(), Vec::new())];
        qualities.mark(&mut answers);
        answers[0].reason.clone().unwrap_or_default()
    };
    assert_eq!(reason(Some(BEGIN)), "2 datagrams were dropped by the kernel");
    assert_eq!(reason(None), "3 datagrams were dropped by the kernel, 5 records did not arrive");
    let packets: Vec<_> = arrived.values().map(|window| (window.rows, window.packets)).collect();
    assert_eq!(packets, [(1, 15), (1, 48)]);
    let remarks = &ended.packets.remarks;
    assert_eq!((remarks.get("late"), remarks.get("early")), (2, 1));
    let losses: Vec<_> =
        arrived.values().map(|window| window.closed.clone().and_then(|of| of.loss)).collect();
    let of = |window: usize, name| losses[window].as_ref().map(|loss| loss.get(name));
    // What is lost is of the clock's window then.
    assert_eq!([of(0, "datagrams_dropped"), of(0, "records_lost")], [Some(2), Some(0)]);
    assert_eq!([of(1, "datagrams_dropped"), of(1, "records_lost")], [Some(1), Some(5)]);
    let ends: Vec<_> = arrived.values().map(|window| window.closed.as_ref().map(|of| of.ended_by)).collect();
    assert_eq!(ends, [Some(WindowEnd::Full), Some(WindowEnd::RunEnd)]);
}

#[test]
fn packets_without_memory_are_counted_in_no_row() {
    // The outputs' queue takes most of it.
    let mut collected = Collected::new(0, (82 << 18) + (1 << 20));
    (0..50_000).for_each(|key| collected.take(key, 1 << 32, BEGIN, BEGIN));
    let (ended, arrived) = collected.end(BEGIN + 1, &tally(0, 0));
    let window = &arrived[&BEGIN];
    let closed = window.closed.as_ref().expect("the window's message");
    assert!(window.rows != 0 && window.rows < 50_000, "{}", window.rows);
    assert_eq!(closed.unplaced.packets, (50_000 - window.rows) << 32);
    assert_eq!(ended.flows.table_full, closed.unplaced.packets);
    assert_eq!(ended.packets.measured, 50_000 << 32);
}

#[test]
fn windows_without_a_record_are_told() {
    let mut collected = Collected::new(0, 1 << 28);
    collected.take(1, 1, BEGIN, BEGIN);
    collected.windows.advance(BEGIN + 10 * SECOND, &tally(0, 0));
    let (_, arrived) = collected.end(BEGIN + 10 * SECOND, &tally(0, 0));
    let told: Vec<_> = arrived
        .values()
        .filter_map(|window| window.closed.as_ref())
        .map(|closed| (closed.span.start_ns, closed.empty_before, closed.ended_by))
        .collect();
    assert_eq!(told, [(BEGIN, 0, WindowEnd::Jump), (BEGIN + 10 * SECOND, 9, WindowEnd::RunEnd)]);
}

#[test]
fn records_that_no_sum_has_room_for_are_left_out() {
    let mut collected = Collected::new(0, 1 << 28);
    // Bytes on the wire are 64 times as many.
    let most = MOST_OF_WINDOW / 64;
    collected.take(1, most - 1, BEGIN, BEGIN);
    collected.take(2, 2, BEGIN, BEGIN);
    collected.take(3, 1, BEGIN, BEGIN);
    collected.take(4, u64::MAX / 64, BEGIN, BEGIN);
    let (ended, arrived) = collected.end(BEGIN + 1, &tally(0, 0));
    assert_eq!((arrived[&BEGIN].rows, arrived[&BEGIN].packets), (2, most));
    assert_eq!((ended.packets.received, ended.packets.measured), (most, most));
    assert_eq!(ended.packets.remarks.get("implausible"), 2);
}

#[test]
fn what_is_lost_while_a_window_waits_may_be_of_it() {
    let mut collected = Collected::new(SECOND, 1 << 28);
    collected.windows.advance(BEGIN + SECOND, &tally(0, 0));
    collected.windows.advance(BEGIN + 2 * SECOND, &tally(0, 7));
    let qualities = collected.windows.qualities.clone();
    let (_, arrived) = collected.end(BEGIN + 2 * SECOND, &tally(0, 6));
    let lost: Vec<_> = arrived
        .values()
        .filter_map(|window| window.closed.as_ref()?.loss.as_ref())
        .map(|loss| loss.get("records_lost"))
        .collect();
    assert_eq!(lost, [0, 7, 0]);
    let reasons = [Some(BEGIN), Some(BEGIN + SECOND), None].map(|start_ns| {
        let span = start_ns.map(|start_ns| Span { start_ns, end_ns: start_ns + SECOND });
        let mut answers = [model::Answer::new("q", span, Vec::new(), Vec::new())];
        qualities.mark(&mut answers);
        answers[0].reason.clone().unwrap_or_default()
    });
    let expected = [
        "records that did not arrive may have been of it",
        "7 records did not arrive",
        // One of them was overtaken.
        "6 records did not arrive",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn what_is_not_read_is_lacking() {
    let mut collected = Collected::new(SECOND, 1 << 28);
    let mut counts = DecoderCounts::default();
    counts.datagrams.damaged = 1;
    (counts.templates.without_template, counts.templates.damaged_sets) = (3, 2);
    let unread = DatagramTally { counts, dropped: None };
    collected.windows.advance(BEGIN + SECOND, &DatagramTally::default());
    collected.windows.advance(BEGIN + 2 * SECOND, &unread);
    collected.take(1, u64::MAX / 64, BEGIN + 2 * SECOND, BEGIN + 2 * SECOND);
    let qualities = collected.windows.qualities.clone();
    collected.end(BEGIN + 2 * SECOND, &unread);
    let reasons = [Some(BEGIN), Some(BEGIN + SECOND), Some(BEGIN + 2 * SECOND), None].map(|start_ns| {
        let span = start_ns.map(|start_ns| Span { start_ns, end_ns: start_ns + SECOND });
        let mut answers = [model::Answer::new("q", span, Vec::new(), Vec::new())];
        qualities.mark(&mut answers);
        assert_eq!(answers[0].status, model::AnswerStatus::Partial);
        answers[0].reason.clone().unwrap_or_default()
    });
    let unread = "records of 3 sets without a template were not read, 1 damaged datagrams were not read to their end, \
                  records of 2 damaged sets were not read";
    let expected = [
        "records that were not read may have been of it".to_owned(),
        unread.to_owned(),
        "1 records were refused as implausible".to_owned(),
        format!("{unread}, 1 records were refused as implausible"),
    ];
    assert_eq!(reasons, expected);
}
