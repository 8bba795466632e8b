//! What becomes of rows and windows that a live source's outputs have no room for.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use engine::{ClosedWindow, Config, Control, Destinations, Outputs, RecordSink, Totals, WindowId};
use flow::WindowRow;
use packet::KeyV4;
use port::TimeBase;
use report::{Counters, PacketCounts, Span, Status, Value, Window, WindowEnd};
use std::sync::Arc;
use std::sync::mpsc::channel;
use summary::Parts;
use support::config;
use task::query::{Item, Over, Query};
use task::rows::{Site, Unplaced};
use task::{Generation, TaskSet};

const MS: u64 = 1_000_000;

fn query(name: &str, over: Over) -> Query {
    Query { over, ..Query::new(name, [], [Item::sum("total_count")]) }
}

/// A window of a millisecond with one packet in a row and one without a place.
fn closed(number: u64, empty_before: u64, refused_rows: u64) -> ClosedWindow {
    let span = Span { start_ns: number * MS, end_ns: (number + 1) * MS };
    ClosedWindow {
        window: WindowId::new(number),
        index: number,
        span,
        watched: span,
        ended_by: WindowEnd::Full,
        empty_before,
        packets: PacketCounts { received: 2, measured: 2, ..PacketCounts::default() },
        loss: Some(Counters::default()),
        totals: Totals { packets: 2, bytes: 80, wire_bytes: 108, flows: 1 },
        unplaced: Unplaced { packets: 1, bytes: 40, wire_bytes: 54 },
        refused_rows,
        tcp_loss: None,
        answers: Vec::new(),
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

#[test]
fn rows_without_room_make_answers_partial_also_where_their_windows_have_none() {
    // Where losses are tracked, queries over the run read the rows of windows.
    let config = Config { parts: Parts { loss: true, ..Parts::default() }, ..config() };
    let site = Site::new(config.key, config.seed, config.limits.clone());
    let queries = [query("of_window", Over::Window), query("of_run", Over::Run)];
    let set = TaskSet::plan(Generation::default(), &queries, None, &site).expect("good queries");
    let (entered, windows) = channel();
    let (release, released) = channel::<()>();
    let destinations = Destinations {
        writers: Vec::new(),
        rows: None,
        anonymizer: None,
        // The first window stops the outputs' thread until `release` is dropped.
        windows: Box::new(move |window: Window| {
            entered.send(window).expect("a test that waits");
            released.recv().expect_err("nothing is sent");
            true
        }),
        node: "here".to_owned(),
    };
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
        assert_eq!((window.status, window.answers[1].status), (Status::Complete, Status::Complete));
        assert_eq!(window.answers[1].rows[0][0], Value::Unsigned(1 + u64::from(*number != 1)));
    }
    assert!(outputs.window(closed(205, 5, own)), "the queue is empty");
    let (empty, last) = (windows.recv().expect("empty ones"), windows.recv().expect("the last"));
    // Windows that found no room lie before them, and are not reported as empty.
    assert_eq!((empty.empty, empty.span), (Some(5), Span { start_ns: 200 * MS, end_ns: 205 * MS }));
    assert_eq!((last.status, last.answers[1].status), (Status::Partial, Status::Partial));
    let reason = "1 rows came faster than they were answered";
    assert_eq!(last.answers[1].reason.as_deref(), Some(reason));

    let result = outputs.finish();
    assert!(result.faults.is_empty(), "{result:?}");
    let [of_run] = &result.answers[..] else { panic!("{result:?}") };
    assert_eq!(of_run.status, Status::Partial);
    let reason = format!("{refused} rows came faster than they were answered");
    assert_eq!(of_run.reason, Some(reason), "also of windows that nothing was told of");
    assert_eq!(of_run.rows[0][0], Value::Unsigned(rows + given));
}

#[test]
fn answers_over_the_run_say_that_records_of_a_failed_worker_are_missing() {
    let config = config();
    let site = Site::new(config.key, config.seed, config.limits.clone());
    let set = TaskSet::plan(Generation::default(), &[query("of_run", Over::Run)], None, &site);
    let set = Arc::new(set.expect("a good query"));
    let of_run = |has_failure: bool| {
        let windows = Box::new(|_: Window| true);
        let destinations = Destinations {
            writers: Vec::new(),
            rows: None,
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
    assert_eq!((whole.status, &whole.reason), (Status::Complete, &None));
    assert_eq!([&whole.rows, &lacking.rows], [&vec![vec![Value::Unsigned(3)]]; 2]);
    let reason = "1 workers failed: flows that had not ended on them are missing";
    assert_eq!((lacking.status, lacking.reason.as_deref()), (Status::Partial, Some(reason)));
}
