//! What an answer says of values that are computed of what different nodes measured.

use super::{Derivation, DerivationSource, DerivedResult, Formula};
use crate::figure::ColumnRole;
use crate::graph::{ALL_NODES, AnswerColumn, EventSettings, Graph, GraphQuery};
use crate::past::AnswerHistory;
use crate::seen::ObservedWindow;
use model::{Answer, Class, Column, ColumnKind, Span, Value};
use notation::Operator;

const SECOND: u64 = 1_000_000_000;

/// A query of these columns, without a key.
fn query(name: &str, node: usize, columns: &[(&str, ColumnKind, ColumnRole)]) -> GraphQuery {
    let column = |(name, kind, role): &(&str, ColumnKind, ColumnRole)| AnswerColumn {
        column: Column::new(*name, *kind, ""),
        role: *role,
    };
    GraphQuery {
        columns: columns.iter().map(column).collect(),
        nodes: vec![node],
        ..GraphQuery::new(name, SECOND)
    }
}

fn derivation(sources: &[(usize, &str, usize)], values: Vec<Formula>) -> Derivation {
    let source = |(query, name, node): &(usize, &str, usize)| DerivationSource {
        query: *query,
        name: Some((*name).to_owned()),
        node: Some(*node),
        key: Vec::new(),
    };
    let sources = sources.iter().map(source).collect();
    Derivation { sources, values, having: None, order: Vec::new(), limit: 10 }
}

fn item(source: usize, column: usize) -> Formula {
    Formula::Item { source, column }
}

fn minus(left: Formula, right: Formula) -> Formula {
    Formula::Arithmetic(left.into(), Operator::Subtract, right.into())
}

/// Two nodes with packets and moments, a query that compares them (`compared`), and one that reads that (`again`).
struct Compared {
    graph: Graph,
    answers: Vec<Answer>,
    compared: Derivation,
    again: Derivation,
}

const COMPARED: usize = 2;
const AGAIN: usize = 3;

fn compared(columns: &[(&str, Formula)]) -> Compared {
    let measured = [
        ("n", ColumnKind::Unsigned, ColumnRole::Total),
        ("begins", ColumnKind::Time, ColumnRole::Least),
        ("ends", ColumnKind::Time, ColumnRole::Greatest),
    ];
    let signed: Vec<_> =
        columns.iter().map(|(name, _)| (*name, ColumnKind::Signed, ColumnRole::Bounded)).collect();
    let queries = vec![
        query("before", 0, &measured),
        query("behind", 1, &measured),
        query("compared", ALL_NODES, &signed),
        query("again", ALL_NODES, &signed),
    ];
    let nodes = vec!["tx".to_owned(), "rx".to_owned()];
    let graph = Graph { queries, nodes, settings: EventSettings::default() };
    let answer = |query: usize, n: u64, first: u64| {
        let columns = graph.queries[query].columns.iter().map(|column| column.column.clone()).collect();
        let row = vec![Value::Unsigned(n), Value::Time(first), Value::Time(first + SECOND)];
        Answer::new(graph.queries[query].name.clone(), None, columns, vec![row])
    };
    let answers = vec![answer(0, 9, 10 * SECOND), answer(1, 7, 10 * SECOND + 3)];
    let values = columns.iter().map(|(_, formula)| formula.clone()).collect();
    let compared = derivation(&[(0, "before", 0), (1, "behind", 1)], values);
    let all = (0..columns.len()).map(|column| item(0, column)).collect();
    Compared { graph, answers, compared, again: derivation(&[(COMPARED, "compared", ALL_NODES)], all) }
}

impl Compared {
    /// The answers of both derived queries over the whole run.
    fn of_run(&self) -> [Answer; 2] {
        let evaluate = |derivation: &Derivation, query: usize, answers: &[Answer]| {
            let find = |(query, _): (usize, usize)| ObservedWindow::Answer(&answers[query]);
            match derivation.evaluate_run(&self.graph, (query, ALL_NODES), &find) {
                DerivedResult::Answer(answer) => *answer,
                other => panic!("{other:?}"),
            }
        };
        let first = evaluate(&self.compared, COMPARED, &self.answers);
        let mut answers = self.answers.clone();
        answers.push(first.clone());
        [first, evaluate(&self.again, AGAIN, &answers)]
    }
}

const EDGES: &str = "what was under way between them when the run began and when it ended is in it";

#[test]
fn a_difference_of_two_clocks_has_no_bounds_over_the_run() {
    let of = compared(&[
        ("lost", minus(item(0, 0), item(1, 0))),
        ("delay", minus(item(1, 1), item(0, 1))),
        ("lasts", minus(item(1, 2), item(1, 1))),
    ]);
    let [first, again] = of.of_run();
    assert_eq!(first.rows, [[Value::Signed(2), Value::Signed(3), Value::Signed(SECOND as i64)]]);
    assert_eq!(first.bounds, "none");
    let reason = format!(
        "lost compares counts of different nodes: {EDGES}; delay compares times of tx and rx: how far their clocks differ is in it"
    );
    assert_eq!(first.reason.as_deref(), Some(&*reason));
    // What reads it has the same in it.
    assert_eq!((&*again.bounds, again.reason), ("none", Some(format!("compared: {reason}"))));
}

#[test]
fn what_one_clock_tells_is_exact_over_the_run() {
    let [times, _] = compared(&[("lasts", minus(item(1, 2), item(1, 1))), ("n", item(0, 0))]).of_run();
    assert_eq!((&*times.bounds, times.reason), ("exact", None));
    // How long it lasted on either node, which depends on where neither clock stands.
    let lasts = |source: usize| minus(item(source, 2), item(source, 1));
    let [longer, _] = compared(&[("longer", minus(lasts(0), lasts(1)))]).of_run();
    assert_eq!(longer.rows, [[Value::Signed(0)]]);
    let reason = format!("longer compares counts of different nodes: {EDGES}");
    assert_eq!((&*longer.bounds, longer.reason), ("exact", Some(reason)));
}

/// A window says so once more in what reads it, and names each source whose remark it is.
#[test]
fn remarks_of_windows_are_those_of_what_reads_them() {
    let of = compared(&[("lost", minus(item(0, 0), item(1, 0)))]);
    let window = Span { start_ns: 0, end_ns: SECOND };
    let past = AnswerHistory::new(&of.graph, &[]);
    let evaluate = |derivation: &Derivation, query: usize, answers: &[Answer]| {
        let find = |window: crate::seen::QueryWindow<'_>| ObservedWindow::Answer(&answers[window.query]);
        match derivation.evaluate(&of.graph, (query, ALL_NODES), SECOND, &find, &past) {
            DerivedResult::Answer(answer) => *answer,
            other => panic!("{other:?}"),
        }
    };
    let mut answers = of.answers.clone();
    answers.iter_mut().for_each(|answer| answer.window = Some(window));
    answers.push(evaluate(&of.compared, COMPARED, &answers));
    let remark = "lost compares counts of different nodes: what was under way between them and how far their clocks differ is in it";
    assert_eq!(answers[COMPARED].reason.as_deref(), Some(remark));
    let again = evaluate(&of.again, AGAIN, &answers);
    assert_eq!((&*again.bounds, again.reason), ("none", Some(format!("compared: {remark}"))));
    // Both sources say the same: it is said once, of both.
    for answer in &mut answers[..2] {
        (answer.class, answer.reason) = (Class::Sample, Some("of a sample of 1 %".to_owned()));
    }
    let sampled = evaluate(&of.compared, COMPARED, &answers);
    let reason = format!("{remark}; before, behind: of a sample of 1 %");
    assert_eq!(sampled.reason, Some(reason));
}
