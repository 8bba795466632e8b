//! A probe whose controller asks what its store remembers.

use arena::Limits;
use engine::Control;
use flow::{Rows, WindowRow};
use model::{AnswerStatus, Span, Value};
use packet::{KeySpec, KeyV4, Seed};
use probe::{Probe, TaskSetPlanner};
use protocol::{
    ControllerLink, FromProbe, HistoryAnswer, HistoryLimits, HistoryQuestion, HistoryTask, TaskList, ToProbe,
    memory::{self, MemoryControllerLink},
};
use record::{RecordContents, Selection, WindowFacts};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{NodeSetting, StoreRetention, StoreWriter};
use task::query::{GroupField, OutputColumn, Over, Query};
use task::rows::PlanContext;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_795_341_600 * SECOND;
/// Longer than any machine takes for a step.
const LONG: Duration = Duration::from_secs(60);
const ROWS: u64 = 500;

/// Fills a store with windows of a second of a node: each has the same flows with the same bytes.
fn fill(folder: &Path, node: &str, windows: u64) {
    let store =
        StoreWriter::open(folder, StoreRetention::default(), StoreWriter::QUEUE_BYTES).expect("a store");
    let (mut feed, _) = store.node(NodeSetting {
        node: node.to_owned(),
        source: Some("link".to_owned()),
        key: KeySpec::FIVE_TUPLE,
        window_ns: SECOND,
        default_ns: SECOND,
        tracked: flow::TrackedParts::PLAIN,
        has_wire_bytes: true,
        selection: Selection::new(&RecordContents::default()),
        anonymizer: None,
        is_live: true,
        waits: true,
    });
    for at in 0..windows {
        let start_ns = START + at * SECOND;
        let mut rows = Rows::with_capacity(ROWS as usize, 0);
        for number in 0..ROWS {
            let port = (number as u16).to_be_bytes();
            let key = KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [port[0], port[1], 0, 80], 17);
            let row = WindowRow {
                packets: 1,
                bytes: 100 + number,
                wire_bytes: 114 + number,
                ..WindowRow::<()>::default()
            };
            let row = WindowRow { first_ns: start_ns, last_ns: start_ns + 9, ..row };
            rows.push(row.with_key(key), None);
        }
        assert_eq!(feed.write_v4(start_ns, &rows), 0);
        feed.close(start_ns, WindowFacts::default(), 0);
    }
    feed.finish();
    store.close(true);
}

/// A probe without traffic, and its controller's side.
struct Test {
    controller: MemoryControllerLink,
    probe: Option<Probe>,
    list: TaskList,
}

impl Test {
    fn new(store: Option<PathBuf>) -> Self {
        let (controller, mut links) = memory::links(&["A".to_owned()]);
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(64 << 20, 100_000));
        let site = PlanContext { node: "A".to_owned(), window_ns: Some(SECOND), ..site };
        let planner = TaskSetPlanner::new(site, Vec::new());
        let control = Control::new(planner.first().expect("nothing is refused"));
        let probe = Probe::start(Arc::new(links.remove(0)), planner, control, None, None, None, store);
        Self { controller, probe: Some(probe.expect("threads")), list: TaskList::default() }
    }

    /// Sends the list with these questions.
    fn ask(&mut self, tasks: &[HistoryTask]) {
        self.list.generation += 1;
        self.list.history = tasks.to_vec();
        self.controller.send(0, ToProbe::Tasks(self.list.clone())).expect("a probe");
    }

    /// What its store answers next.
    fn next(&self) -> HistoryAnswer {
        loop {
            match self.controller.receive(LONG).expect("a probe").expect("a message").message {
                FromProbe::History(answer) => return *answer,
                FromProbe::Ended { .. } => panic!("it has ended"),
                _ => {}
            }
        }
    }

    fn end(&mut self) {
        self.probe.take().expect("once").end(Vec::new());
    }
}

fn query(name: &str, over: Over) -> Query {
    let items = [OutputColumn::sum("total_byte"), OutputColumn::count("flows")];
    Query { over, ..Query::new(name, [GroupField::from_field("dst_addr")], items) }
}

fn task(id: u64, queries: Vec<Query>) -> HistoryTask {
    let questions = queries.into_iter().map(|query| HistoryQuestion { query, period: None }).collect();
    let limits = HistoryLimits { memory_bytes: 8 << 20, time_ms: 60_000, answer_bytes: 1 << 20 };
    HistoryTask { epoch: 7, id, questions, limits }
}

/// The bytes of the flows of a window.
fn bytes(flows: std::ops::Range<u64>) -> u64 {
    flows.map(|number| 100 + number).sum()
}

fn reason(answer: &HistoryAnswer) -> &str {
    answer.missing.as_deref().expect("a reason")
}

#[test]
fn each_question_is_answered_once_from_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), "A", 3);
    // The same store has another node, whose rows are not this one's.
    fill(folder.path(), "B", 5);
    let mut test = Test::new(Some(folder.path().to_owned()));
    let every = Over::Windows { every_ns: SECOND, over_ns: SECOND };
    let mut first = task(1, vec![query("all", Over::Run), query("each", every)]);
    first.questions[1].period = Some(Span { start_ns: START + SECOND, end_ns: u64::MAX });
    test.ask(std::slice::from_ref(&first));
    let answer = test.next();
    assert_eq!((answer.epoch, answer.id, &answer.missing), (7, 1, &None));
    let of =
        |name: &str| answer.answers.iter().filter(move |answer| answer.query == name).collect::<Vec<_>>();
    let [all] = of("all")[..] else { panic!("{answer:?}") };
    assert_eq!(
        (all.node.as_deref(), all.status, &*all.levels),
        (Some("A"), AnswerStatus::Complete, &["rows".to_owned()][..])
    );
    assert_eq!(all.rows[0][1..], [3 * bytes(0..ROWS), ROWS].map(Value::Unsigned));
    let windows: Vec<_> = of("each").iter().map(|answer| answer.window.expect("a window").start_ns).collect();
    assert_eq!(windows, [1, 2].map(|at| START + at * SECOND));
    // The list comes again, with another question and without the first; then with the first one of another epoch.
    test.ask(&[first.clone(), task(2, vec![query("all", Over::Run)])]);
    assert_eq!(test.next().id, 2);
    test.ask(&[]);
    test.ask(&[HistoryTask { epoch: 8, ..first }]);
    let again = test.next();
    assert_eq!((again.epoch, again.id, again.answers.len()), (8, 1, 3));
    test.end();
}

#[test]
fn a_probe_says_why_it_has_no_answer() {
    let mut test = Test::new(None);
    test.ask(&[task(1, vec![query("all", Over::Run)])]);
    assert_eq!(test.next(), task(1, Vec::new()).no_answer("no_store: the probe has no --store"));
    test.end();

    let folder = tempfile::tempdir().expect("a folder");
    let mut test = Test::new(Some(folder.path().join("none")));
    test.ask(&[task(1, vec![query("all", Over::Run)])]);
    assert!(reason(&test.next()).starts_with("fault: "));
    fill(folder.path(), "B", 1);
    test.end();

    let mut test = Test::new(Some(folder.path().to_owned()));
    test.ask(&[task(1, vec![query("all", Over::Run)])]);
    assert_eq!(reason(&test.next()), "no_rows: the store has nothing of A yet");
    fill(folder.path(), "A", 2);
    // What its rows do not have, and windows that theirs do not fit into.
    let losses = Query::new("losses", [], [OutputColumn::sum("ploss_byte")]);
    test.ask(&[task(2, vec![Query { over: Over::Run, ..losses }])]);
    let answer = test.next();
    assert!(reason(&answer).starts_with("refused: ") && reason(&answer).contains("ploss_byte"), "{answer:?}");
    let half = Over::Windows { every_ns: SECOND / 2, over_ns: SECOND };
    test.ask(&[task(3, vec![query("half", half)])]);
    let answer = test.next();
    assert!(reason(&answer).contains("half: its windows of 500.00 ms are no multiple"), "{answer:?}");
    test.ask(&[task(4, vec![query("window", Over::Window)])]);
    assert_eq!(reason(&test.next()), "refused: window: it is of single windows");
    test.end();
}

#[test]
fn limits_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), "A", 2);
    let mut test = Test::new(Some(folder.path().to_owned()));
    let with = |id, change: &dyn Fn(&mut HistoryLimits)| {
        let ports =
            Query::new("ports", [GroupField::from_field("src_port")], [OutputColumn::sum("total_byte")]);
        let mut task = task(id, vec![Query { over: Over::Run, ..ports }]);
        change(&mut task.limits);
        task
    };
    // An answer that is larger than allowed is named, and not sent.
    test.ask(&[with(1, &|limits| limits.answer_bytes = 1_000)]);
    let answer = test.next();
    assert!(answer.answers.is_empty() && reason(&answer).starts_with("too_large: "), "{answer:?}");
    // No time at all.
    test.ask(&[with(2, &|limits| limits.time_ms = 0)]);
    let answer = test.next();
    assert!(answer.answers.is_empty() && reason(&answer).starts_with("too_late: "), "{answer:?}");
    // Groups that find no memory are counted, and the answer is partial.
    test.ask(&[with(3, &|limits| limits.memory_bytes = 1)]);
    let answer = test.next();
    assert!(answer.missing.is_none() && answer.answers[0].status == AnswerStatus::Partial, "{answer:?}");
    // As much as is asked for is not given: the rest of the memory is for measuring.
    test.ask(&[with(4, &|limits| limits.memory_bytes = u64::MAX)]);
    let answer = test.next();
    assert_eq!((answer.missing, answer.answers[0].status), (None, AnswerStatus::Complete));
    assert_eq!(answer.answers[0].rows.len() as u64, ROWS);
    test.end();
}

#[test]
fn an_end_waits_for_no_question() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), "A", 2);
    let mut test = Test::new(Some(folder.path().to_owned()));
    let tasks: Vec<HistoryTask> = (0..40).map(|id| task(id, vec![query("all", Over::Run)])).collect();
    test.ask(&tasks);
    // More wait than are possible; and what is asked while the probe ends is not answered twice.
    test.end();
    let mut seen = std::collections::BTreeSet::new();
    loop {
        match test.controller.receive(LONG).expect("a probe").expect("a message").message {
            FromProbe::History(answer) => assert!(seen.insert(answer.id), "{answer:?}"),
            FromProbe::Ended { .. } => break,
            _ => {}
        }
    }
}
