//! Questions about history: they go to the nodes in their lists, what these answer is merged, and who is missing is named, whatever comes.

use crate::nodes::{SECOND, START, queries};
use controller::{
    Controller, ControllerContext, ControllerOutput, HistoryQuery, HistoryRequest, HistoryResult, NotAsked,
};
use model::{Answer, AnswerStatus, Column, ColumnKind, HistoryNode, Missing, MissingReason, Span, Value};
use protocol::{FromProbe, Heartbeat, HistoryAnswer, HistoryTask, ToProbe};
use std::collections::BTreeMap;
use task::query::{Across, Aggregate, Expression, GroupField, OutputColumn, Over, Query};

const NAMES: [&str; 3] = ["A", "B", "C"];
const UNASKED: &str = "unasked";

/// A controller of nodes that are there, and what it said.
struct Test {
    controller: Controller,
    /// What the last list of each node asks.
    asked: BTreeMap<usize, Vec<HistoryTask>>,
    answered: Vec<HistoryResult>,
}

impl Test {
    fn new() -> Self {
        let setting = ControllerContext { window_ns: SECOND, is_replay: false, key: None };
        let chain = queries("q: select count(*) every 1s;", &NAMES).chain().clone();
        let controller = Controller::new(chain, setting);
        let mut test = Self { controller, asked: BTreeMap::new(), answered: Vec::new() };
        test.tick(0);
        (0..NAMES.len()).for_each(|node| test.beat(node));
        test
    }

    fn carry_out(&mut self, actions: controller::Actions) {
        for (node, message) in actions.send {
            if let ToProbe::Tasks(list) = message {
                self.asked.insert(node, list.history);
            }
        }
        self.answered.extend(actions.show.into_iter().filter_map(|output| match output {
            ControllerOutput::History(history) => Some(*history),
            _ => None,
        }));
    }

    fn tick(&mut self, second: u64) {
        let actions = self.controller.tick(START + second * SECOND, Some(START));
        self.carry_out(actions);
    }

    fn take(&mut self, node: usize, message: FromProbe) {
        let actions = self.controller.take(node, message);
        self.carry_out(actions);
    }

    /// A node says that it is there, and has its list.
    fn beat(&mut self, node: usize) {
        let list = self.controller.health().nth(node).expect("a node").wanted;
        self.take(node, FromProbe::Heartbeat(Box::new(Heartbeat { list, ..Heartbeat::default() })));
    }

    fn ask(&mut self, queries: Vec<HistoryQuery>) -> Result<u64, NotAsked> {
        let asked = HistoryRequest { queries, memory_bytes: 1 << 20, time_ms: 10_000 };
        let (id, actions) = self.controller.ask_history(asked)?;
        self.carry_out(actions);
        Ok(id)
    }

    fn task(&self, node: usize) -> HistoryTask {
        self.asked[&node].first().expect("a question").clone()
    }

    /// A node answers its first question.
    fn answer(&mut self, node: usize, answers: Vec<Answer>, missing: Option<&str>) {
        let HistoryTask { epoch, id, .. } = self.task(node);
        let missing = missing.map(str::to_owned);
        self.take(node, FromProbe::History(Box::new(HistoryAnswer { epoch, id, answers, missing })));
    }

    fn unasked(&self, node: usize) -> u64 {
        self.controller.health().nth(node).expect("a node").not_taken.get(UNASKED)
    }

    fn only_answer(&mut self) -> Answer {
        let history = self.answered.pop().expect("an answer");
        let [answer] = &history.answers[..] else { panic!("{history:?}") };
        answer.clone()
    }
}

fn named(name: &str, missing: Option<&str>) -> HistoryNode {
    HistoryNode { name: name.to_owned(), missing: missing.map(str::to_owned) }
}

fn query(name: &str, over: Over, across: Option<Across>, nodes: &[usize]) -> HistoryQuery {
    let query = Query {
        over,
        ..Query::new(name, [GroupField::from_field("dst_port")], [OutputColumn::sum("total_byte")])
    };
    let key = packet::KeySpec::FIVE_TUPLE.parts();
    HistoryQuery::new(query, across, None, nodes.to_vec(), &key).expect("it can be answered")
}

const EACH_SECOND: Over = Over::Windows { every_ns: SECOND, over_ns: SECOND };

/// The answer of a node to the query of this name: bytes by port, in a time of seconds.
fn said(task: &HistoryTask, name: &str, window: Option<[u64; 2]>, rows: &[(u64, u64)]) -> Answer {
    let question = task.questions.iter().find(|question| question.query.name == name).expect("it is asked");
    let items = question.query.columns.iter();
    let units = ["", "bytes"];
    let columns = items.zip(units).map(|(item, unit)| Column::new(&*item.name, ColumnKind::Unsigned, unit));
    let window =
        window.map(|[start, end]| Span { start_ns: START + start * SECOND, end_ns: START + end * SECOND });
    let rows = rows.iter().map(|(port, bytes)| vec![Value::Unsigned(*port), Value::Unsigned(*bytes)]);
    Answer { levels: vec!["rows".to_owned()], ..Answer::new(name, window, columns.collect(), rows.collect()) }
}

fn numbers(answer: &Answer) -> Vec<(u64, u64)> {
    let number =
        |value: &Value| if let Value::Unsigned(number) = value { *number } else { panic!("{value:?}") };
    answer.rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect()
}

#[test]
fn what_all_stores_have_is_one_answer() {
    let mut test = Test::new();
    test.ask(vec![query("all", Over::Run, Some(Across::Sum), &[0, 1])]).expect("asked");
    assert!(test.asked[&2].is_empty(), "it is no question to C");
    let task = test.task(0);
    assert_eq!((task.limits.memory_bytes, task.limits.time_ms), (1 << 20, 10_000));
    let own = said(&task, "all", Some([1, 5]), &[(443, 10), (53, 2)]);
    test.answer(0, vec![Answer { levels: vec!["1h".to_owned(), "rows".to_owned()], ..own }], None);
    assert!(test.answered.is_empty(), "B has not answered");
    assert!(test.asked[&0].is_empty() && !test.asked[&1].is_empty(), "A is asked no more");
    let own = said(&test.task(1), "all", Some([2, 9]), &[(80, 5), (443, 1)]);
    test.answer(1, vec![Answer { levels: vec!["1min".to_owned()], ..own }], None);
    assert!(test.asked.values().all(Vec::is_empty));
    assert_eq!(test.answered[0].nodes, [named("A", None), named("B", None)]);
    let answer = test.only_answer();
    assert_eq!(numbers(&answer), [(443, 11), (80, 5), (53, 2)]);
    assert_eq!((answer.status, answer.node, answer.watched), (AnswerStatus::Complete, None, None));
    assert_eq!(answer.window, Some(Span { start_ns: START + SECOND, end_ns: START + 9 * SECOND }));
    assert_eq!(answer.levels, ["1h", "1min", "rows"]);
}

#[test]
fn windows_of_all_stores_stand_in_one_row_of_time() {
    let mut test = Test::new();
    test.ask(vec![query("each", EACH_SECOND, Some(Across::Sum), &[0, 1])]).expect("asked");
    let task = test.task(0);
    let window = |at, rows| said(&task, "each", Some([at, at + 1]), rows);
    let empty = Answer { empty: Some(3), ..said(&task, "each", Some([1, 4]), &[]) };
    test.answer(0, vec![window(0, &[(53, 1)]), empty, window(4, &[(53, 2)])], None);
    test.answer(1, vec![window(1, &[(80, 4)]), window(4, &[(80, 8), (53, 16)])], None);
    let history = test.answered.pop().expect("an answer");
    let rows: Vec<_> = history.answers.iter().map(|answer| (numbers(answer), answer.empty)).collect();
    let expected =
        [(vec![(53, 1)], None), (vec![(80, 4)], None), (vec![], Some(2)), (vec![(53, 18), (80, 8)], None)];
    assert_eq!(rows, expected);
    let passed = history.answers[2].window.expect("a window");
    assert_eq!((passed.start_ns, passed.end_ns), (START + 2 * SECOND, START + 4 * SECOND));
    assert!(history.answers.iter().all(|answer| answer.status == AnswerStatus::Complete));
}

/// Windows in a row of which a node has nothing are one answer of it.
#[test]
fn windows_that_a_store_lacks_are_partial_and_the_others_count() {
    let mut test = Test::new();
    test.ask(vec![query("each", EACH_SECOND, Some(Across::Sum), &[0, 1])]).expect("asked");
    let task = test.task(0);
    let window = |at, rows| said(&task, "each", Some([at, at + 1]), rows);
    let lacks = |from: u64, to: u64| {
        let mut answer = said(&task, "each", Some([from, to]), &[]);
        let span = Span { start_ns: START + from * SECOND + SECOND / 2, end_ns: START + to * SECOND };
        answer.mark_missing(&[Missing { span, reason: MissingReason::Killed }]);
        answer
    };
    test.answer(0, vec![window(2, &[(53, 1)]), lacks(3, 6), window(6, &[(53, 2)])], None);
    test.answer(1, vec![lacks(0, 2), window(2, &[(80, 4)]), window(4, &[(80, 8)]), lacks(7, 9)], None);
    assert_eq!((test.unasked(0), test.unasked(1)), (0, 0));
    let history = test.answered.pop().expect("an answer");
    let told: Vec<_> = history
        .answers
        .iter()
        .map(|answer| {
            let Span { start_ns, end_ns } = answer.window.expect("a window");
            let seconds = [(start_ns - START) / SECOND, (end_ns - START) / SECOND];
            (seconds, numbers(answer), answer.status, answer.missing.len(), answer.empty)
        })
        .collect();
    use AnswerStatus::{Complete, Partial};
    let expected = [
        ([0, 2], vec![], Partial, 1, None),
        ([2, 3], vec![(80, 4), (53, 1)], Complete, 0, None),
        ([3, 4], vec![], Partial, 1, None),
        ([4, 5], vec![(80, 8)], Partial, 1, None),
        ([5, 6], vec![], Partial, 1, None),
        ([6, 7], vec![(53, 2)], Complete, 0, None),
        ([7, 9], vec![], Partial, 1, None),
    ];
    assert_eq!(told, expected);
    // What is missing is that of the window.
    let [missing] = &history.answers[3].missing[..] else { panic!("{:?}", history.answers[3]) };
    assert_eq!(missing.span, Span { start_ns: START + 4 * SECOND, end_ns: START + 5 * SECOND });
}

/// A rate across nodes adds the rates of the nodes: 100 packets in the 4 s that one watched, and 200 packets in the 8 s of the other.
#[test]
fn rates_across_nodes_are_over_what_each_has_watched() {
    let mut test = Test::new();
    let rate = OutputColumn::new(
        "r",
        Expression::Aggregate(Aggregate::Rate(Box::new(Expression::field("total_count")))),
    );
    let one = Query { over: Over::Run, ..Query::new("rate", [], [rate]) };
    let key = packet::KeySpec::FIVE_TUPLE.parts();
    let one = HistoryQuery::new(one, Some(Across::Sum), None, vec![0, 1], &key).expect("it can be answered");
    test.ask(vec![one]).expect("asked");
    let window = Span { start_ns: START, end_ns: START + 8 * SECOND };
    let own = |task: &HistoryTask, packets: u64| {
        let items = task.questions[0].query.columns.iter();
        let columns = items.map(|item| Column::new(&*item.name, ColumnKind::Unsigned, "packets"));
        Answer::new("rate", Some(window), columns.collect(), vec![vec![Value::Unsigned(packets)]])
    };
    let mut killed = own(&test.task(0), 100);
    let span = Span { start_ns: START + 2 * SECOND, end_ns: START + 6 * SECOND };
    killed.mark_missing(&[Missing { span, reason: MissingReason::Killed }]);
    test.answer(0, vec![killed], None);
    let whole = own(&test.task(1), 200);
    test.answer(1, vec![whole], None);
    let answer = test.only_answer();
    assert_eq!((&answer.rows, answer.status), (&vec![vec![Value::Float(50.0)]], AnswerStatus::Partial));
}

#[test]
fn who_is_missing_is_named_with_the_reason() {
    let mut test = Test::new();
    test.take(2, FromProbe::Ended { answers: Vec::new(), traffic: None });
    let both =
        |over| vec![query("all", over, Some(Across::Sum), &[0, 1, 2]), query("each", over, None, &[0, 1, 2])];
    let id = test.ask(both(Over::Run)).expect("asked");
    assert!(test.asked.get(&2).is_none_or(Vec::is_empty), "C has ended");
    let answers = ["all", "each"].map(|name| said(&test.task(0), name, Some([0, 9]), &[(53, 7)]));
    test.answer(0, answers.to_vec(), None);
    test.beat(1);
    assert!(test.answered.is_empty());
    let actions = test.controller.end_history(id);
    test.carry_out(actions);
    let history = test.answered.pop().expect("an answer");
    let late = "late: it did not answer within 10 s";
    let ended = "ended: the probe has ended";
    assert_eq!(history.nodes, [named("A", None), named("B", Some(late)), named("C", Some(ended))]);
    let [all, each @ ..] = &history.answers[..] else { panic!("{history:?}") };
    assert_eq!((numbers(all), all.status), (vec![(53, 7)], AnswerStatus::Partial));
    assert_eq!(all.reason.as_deref(), Some(&*format!("no answer of B ({late}), C ({ended})")));
    let of =
        |name: &str| each.iter().find(|answer| answer.node.as_deref() == Some(name)).expect("its answer");
    assert_eq!((each.len(), of("A").status, numbers(of("A"))), (3, AnswerStatus::Complete, vec![(53, 7)]));
    assert_eq!((of("C").status, &of("C").columns), (AnswerStatus::Partial, &of("A").columns));
    assert_eq!(of("C").reason.as_deref(), Some(&*format!("no answer: {ended}")));
    // Too late: it is asked no more.
    assert_eq!(test.unasked(1), 0);
    let late = HistoryAnswer { epoch: START, id, answers: vec![each[0].clone()], missing: None };
    test.take(1, FromProbe::History(Box::new(late)));
    assert_eq!((test.unasked(1), test.answered.len()), (1, 0));

    // A node that is silent is not awaited, and one that ends meanwhile is awaited no more.
    test.tick(30);
    test.beat(0);
    test.ask(both(EACH_SECOND)).expect("asked");
    test.take(0, FromProbe::Ended { answers: Vec::new(), traffic: None });
    let history = test.answered.pop().expect("an answer");
    let away = "away: nothing was heard of it for 30 s";
    assert_eq!(history.nodes, [named("A", Some(ended)), named("B", Some(away)), named("C", Some(ended))]);
    assert!(history.answers.iter().all(|answer| answer.status == AnswerStatus::Partial));
    assert_eq!(history.answers[0].window, None);
}

#[test]
fn a_window_that_a_node_did_not_reach_says_so() {
    let mut test = Test::new();
    test.ask(vec![query("each", EACH_SECOND, Some(Across::Max), &[0, 1])]).expect("asked");
    let task = test.task(0);
    let window = |at, rows| said(&task, "each", Some([at, at + 1]), rows);
    test.answer(0, vec![window(0, &[(53, 1)]), window(1, &[(53, 2)])], None);
    test.answer(1, vec![window(0, &[(53, 9)])], Some("too_late: 5 rows were read\n"));
    let history = test.answered.pop().expect("an answer");
    let [first, second] = &history.answers[..] else { panic!("{history:?}") };
    assert_eq!((numbers(first), first.status), (vec![(53, 9)], AnswerStatus::Complete));
    assert_eq!((numbers(second), second.status), (vec![(53, 2)], AnswerStatus::Partial));
    let reason = second.reason.as_deref().expect("a reason");
    assert_eq!(reason, "no answer of B (too_late: 5 rows were read\u{fffd})");
}

#[test]
fn what_was_not_asked_is_not_taken() {
    let mut test = Test::new();
    let first = test.ask(vec![query("all", Over::Run, None, &[0, 1])]).expect("asked");
    let task = test.task(0);
    let good = said(&task, "all", Some([0, 9]), &[(53, 7)]);
    let mut number = 0;
    let mut refuses = |test: &mut Test, node: usize, answer: HistoryAnswer| {
        test.take(node, FromProbe::History(Box::new(answer)));
        if node == 0 {
            number += 1;
            assert_eq!(test.unasked(0), number);
        }
        assert!(test.answered.is_empty());
    };
    let with = |epoch, id| HistoryAnswer { epoch, id, answers: vec![good.clone()], missing: None };
    // Of a controller before, of no question, of a node that was not asked, and of one that is not there.
    refuses(&mut test, 0, with(START - 1, first));
    refuses(&mut test, 0, with(START, first + 1));
    refuses(&mut test, 0, HistoryAnswer { answers: Vec::new(), ..with(0, 0) });
    refuses(&mut test, 2, with(START, first));
    refuses(&mut test, 9, with(START, first));
    assert_eq!(test.unasked(2), 1);
    // The first one counts.
    test.take(0, FromProbe::History(Box::new(with(START, first))));
    refuses(&mut test, 0, with(START, first));

    // Answers to another question, with other columns, of a wrong shape, doubled.
    let other = Answer { query: "other".to_owned(), ..good.clone() };
    let columns = Answer { columns: Vec::new(), rows: Vec::new(), ..good.clone() };
    let windows = Answer { empty: Some(u64::MAX), ..good.clone() };
    let own = Answer { node: Some("C".to_owned()), late: true, revision: 9, ..good.clone() };
    test.answer(1, vec![other, columns, windows, own, good.clone()], None);
    assert_eq!(test.unasked(1), 4);
    let history = test.answered.pop().expect("an answer");
    let reason = "unasked: 4 of its answers are not to the question";
    assert_eq!(history.nodes[1], named("B", Some(reason)));
    let of_b = history.answers.iter().find(|answer| answer.node.as_deref() == Some("B")).expect("its own");
    assert_eq!((numbers(of_b), of_b.late, of_b.revision), (vec![(53, 7)], false, 0));

    // One that is larger than was allowed.
    test.ask(vec![query("all", Over::Run, Some(Across::Sum), &[0])]).expect("asked");
    let most = test.task(0).limits.answer_bytes;
    let large = said(&test.task(0), "all", Some([0, 9]), &vec![(53, 7); most as usize / 16]);
    test.answer(0, vec![large], None);
    let answer = test.only_answer();
    assert_eq!((numbers(&answer), answer.status), (vec![], AnswerStatus::Partial));
    assert!(answer.reason.expect("a reason").contains("A (too_large: "));

    // Windows of other lengths, and a row without its values.
    test.ask(vec![query("each", EACH_SECOND, None, &[0])]).expect("asked");
    let task = test.task(0);
    let short = Answer { rows: vec![vec![Value::Null]], ..said(&task, "each", Some([0, 1]), &[]) };
    let window = |span| said(&task, "each", Some(span), &[]);
    let before = test.unasked(0);
    test.answer(0, vec![short, window([0, 2]), said(&task, "each", None, &[]), window([1, 2])], None);
    assert_eq!(test.unasked(0) - before, 3);
    assert_eq!(test.only_answer().window.expect("a window").start_ns, START + SECOND);
}

#[test]
fn questions_are_few_at_once_and_run_on_some_node() {
    let mut test = Test::new();
    let one = || vec![query("all", Over::Run, None, &[0])];
    assert!(matches!(test.ask(vec![query("all", Over::Run, None, &[])]), Err(NotAsked::NoNode(_))));
    let ids: Vec<u64> = (0..4).map(|_| test.ask(one()).expect("asked")).collect();
    assert_eq!(test.asked[&0].len(), 4);
    let Err(NotAsked::Busy(line)) = test.ask(one()) else { panic!("it is asked") };
    assert!(line.contains("4 questions"), "{line}");
    // One is left: there is room for another.
    let actions = test.controller.end_history(ids[1]);
    test.carry_out(actions);
    let left: Vec<u64> = test.asked[&0].iter().map(|task| task.id).collect();
    assert_eq!(left, [ids[0], ids[2], ids[3]]);
    test.ask(one()).expect("asked");
    // No list has changed for a node that is not asked.
    assert!(test.asked[&2].is_empty());
}
