//! Dry runs over stores that answer in parts, refuse, or leave.

use crate::nodes::{SECOND, START, queries, window};
use controller::{DryRunController, DryRunSetting, DryRunStep, HistoryRequest};
use model::{Answer, Column, ColumnKind, DryRunOutcome, EventKind, Span, Value};
use protocol::{HistoryAnswer, HistoryTask};
use std::cell::Cell;
use task::query::Over;

const RULES: &str = "one: select sum(total_byte) as b;\n\
    two: select count(*) as n when one.b > 5;\n\
    lost: select sum(ploss_byte) as p;\n\
    three: select count(*) when lost.p > 0;";
/// Windows of the time, each with packets but every seventh.
const WINDOWS: u64 = 100;

/// Bytes of a window: more than five in 10 of each 20.
fn bytes(at: u64) -> u64 {
    if at / 10 % 2 == 1 { 9 } else { 3 }
}

fn has_packets(at: u64) -> bool {
    at % 7 != 6
}

/// What a store answers, of `most` windows at the most; it tracks no losses.
fn answer(task: &HistoryTask, most: usize) -> HistoryAnswer {
    let refused = task.questions.iter().any(|question| question.query.name.starts_with("lost"));
    if refused {
        return task.no_answer("refused: lost: it reads losses");
    }
    let mut answers = Vec::new();
    for question in &task.questions {
        let period = question.period.expect("a time");
        assert!(matches!(question.query.over, Over::Windows { every_ns: SECOND, over_ns: SECOND }));
        let number = |ns: u64| ns.saturating_sub(START) / SECOND;
        let windows = number(period.start_ns)..number(period.end_ns).min(WINDOWS);
        for at in windows.filter(|at| has_packets(*at)) {
            let name = &question.query.columns[0].name;
            let value = if name == "b" { bytes(at) } else { 1 };
            let unit = if name == "b" { "bytes" } else { "flows" };
            let column = Column::new(name, ColumnKind::Unsigned, unit);
            let row = vec![Value::Unsigned(value)];
            answers.push(Answer::new(&question.query.name, Some(window(at)), vec![column], vec![row]));
        }
    }
    if answers.len() > most {
        return task.no_answer("too_large: the answer has more than is allowed");
    }
    HistoryAnswer { epoch: task.epoch, id: task.id, answers, missing: None }
}

/// Plays the rules over nodes; returns how often these were asked, too.
fn play(names: &[&str], answer: &dyn Fn(usize, &HistoryTask) -> HistoryAnswer) -> (DryRunOutcome, u64) {
    let standing = queries(RULES, names);
    let setting = DryRunSetting {
        key: standing.site().key.clone(),
        window_ns: SECOND,
        period: Span { start_ns: START, end_ns: START + WINDOWS * SECOND },
        reach_ns: 0,
    };
    let mut run = DryRunController::new(standing.chain().clone(), &setting).expect("a dry run");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let asked = Cell::new(0);
    while let DryRunStep::Ask(queries) = run.go_on().expect("no failure") {
        assert!(!queries.is_empty());
        let question = HistoryRequest { queries, memory_bytes: 1 << 20, time_ms: 1_000 };
        run.take(question.query_stores(&names, &mut |node, task| {
            asked.set(asked.get() + 1);
            answer(node, &task)
        }));
    }
    (run.end(), asked.get())
}

/// When the condition of `two` became true on a node: once in each ten windows that have more, and once again behind a window without packets.
fn fired(outcome: &DryRunOutcome, node: &str) -> Vec<u64> {
    let of_node = outcome.events.iter().filter(|event| {
        event.kind == EventKind::Fired && event.query == "two" && event.node.as_deref() == Some(node)
    });
    of_node.map(|event| (event.at_ns - START) / SECOND).collect()
}

/// The same, of the rule.
fn expected() -> Vec<u64> {
    let is_true = |at: u64| has_packets(at) && bytes(at) > 5;
    (0..WINDOWS)
        .filter(|at| is_true(*at) && !at.checked_sub(1).is_some_and(is_true))
        .map(|at| at + 1)
        .collect()
}

#[test]
fn what_is_too_large_is_asked_in_parts() {
    let (whole, at_once) = play(&["Node1"], &|_, task| answer(task, usize::MAX));
    assert_eq!(fired(&whole, "Node1"), expected());
    for most in [1, 3, 40] {
        let (parts, asked) = play(&["Node1"], &|_, task| answer(task, most));
        assert_eq!((&parts.events, &parts.stories), (&whole.events, &whole.stories), "{most}");
        assert!(asked > at_once, "{most}: {asked}");
    }
    assert_eq!(whole.nodes[0].windows, (0..WINDOWS).filter(|at| has_packets(*at)).count() as u64);
    // One query is refused, the others are answered.
    let missing = whole.nodes[0].missing.as_deref();
    assert_eq!(missing, Some("refused: lost: it reads losses"));
}

#[test]
fn who_does_not_answer_is_named_and_the_others_are_played() {
    let names = ["Node1", "Node2", "Node3"];
    let left = Cell::new(0);
    let (outcome, _) = play(&names, &|node, task| match node {
        0 => answer(task, usize::MAX),
        1 => task.no_answer("no_store: the probe has no --store"),
        // It leaves after a part.
        _ => {
            left.set(left.get() + 1);
            if left.get() > 4 { task.no_answer("away: nothing was heard of it") } else { answer(task, 60) }
        }
    });
    assert_eq!(fired(&outcome, "Node1"), expected());
    assert_eq!(fired(&outcome, "Node2"), [0; 0]);
    assert!(expected().starts_with(&fired(&outcome, "Node3")));
    let missing: Vec<_> = outcome.nodes.iter().map(|node| node.missing.clone().unwrap_or_default()).collect();
    assert!(missing[1].starts_with("no_store") && missing[2].contains("away"), "{missing:?}");
    let (none, _) = play(&["Node1"], &|_, task| answer(task, 0));
    assert_eq!((none.judged, none.events.len()), (None, 0));
    assert!(
        none.nodes[0].missing.as_deref().is_some_and(|missing| missing.contains("too_large")),
        "{none:?}"
    );
}

#[test]
fn answers_to_other_questions_change_nothing() {
    let (whole, _) = play(&["Node1"], &|_, task| answer(task, usize::MAX));
    let (hostile, _) = play(&["Node1"], &|_, task| {
        let mut answer = answer(task, usize::MAX);
        for at in [0, 5, WINDOWS, WINDOWS + 1_000_000] {
            let column = Column::new("b", ColumnKind::Unsigned, "bytes");
            let row = vec![Value::Unsigned(u64::MAX)];
            for name in ["one", "two", "windows", "x\u{1b}[2J"] {
                let more = Answer::new(name, Some(window(at)), vec![column.clone()], vec![row.clone()]);
                answer.answers.push(more);
            }
        }
        answer.answers.push(Answer::new("one", None, Vec::new(), vec![vec![Value::Null]]));
        answer
    });
    assert_eq!(hostile.events, whole.events);
}
