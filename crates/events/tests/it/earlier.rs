//! What is known of earlier windows: whatever order they come in, however a run of empty ones is passed, and after it was saved.

use events::{
    AnswerColumn, AnswerHistory, ColumnRole, Derivation, DerivationSource, DerivedResult, EventSettings,
    Find, Formula, Graph, GraphQuery, ObservedWindow, SavedWindows, ValueOrder,
};
use model::{Answer, AnswerStatus, ColumnKind, Span, Value};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
const COUNT: u64 = 40;

fn query(name: &str, columns: &[(&str, ColumnKind, ColumnRole)]) -> GraphQuery {
    let column = |(name, kind, role): &(&str, ColumnKind, ColumnRole)| AnswerColumn {
        column: model::Column::new(*name, *kind, ""),
        role: *role,
    };
    GraphQuery {
        name: name.to_owned(),
        text: String::new(),
        columns: columns.iter().map(column).collect(),
        key: vec![0],
        every_ns: SECOND,
        over_ns: SECOND,
        nodes: vec![0],
        bound_key: None,
        pinned: [].into(),
        largest_first: None,
        left_out: None,
        trigger: None,
    }
}

/// A source, and a query that reads its last window, the one three before, and the mean of five.
fn graph(past_bytes: u64) -> (Graph, Vec<Option<Derivation>>) {
    use ColumnKind::{Float, Unsigned};
    let base = query("base", &[("key", Unsigned, ColumnRole::Key), ("n", Unsigned, ColumnRole::Total)]);
    let columns = [
        ("key", Unsigned, ColumnRole::Key),
        ("n", Unsigned, ColumnRole::Total),
        ("before", Unsigned, ColumnRole::Bounded),
        ("old", Unsigned, ColumnRole::Bounded),
        ("usual", Float, ColumnRole::Bounded),
    ];
    let item = || Formula::Item { source: 0, column: 1 };
    let derivation = Derivation {
        sources: vec![DerivationSource { query: 0, name: None, node: None, key: vec![0] }],
        values: vec![
            Formula::Key(0),
            item(),
            Formula::Before(Box::new(item()), SECOND),
            Formula::Before(Box::new(item()), 3 * SECOND),
            Formula::Mean { of: Box::new(item()), first_ns: SECOND, number: 5 },
        ],
        having: None,
        order: vec![ValueOrder { value: 1, descending: true }],
        limit: 100,
    };
    let settings = EventSettings { past_bytes, ..EventSettings::default() };
    let queries = vec![base, query("derived", &columns)];
    (Graph { queries, nodes: vec!["A".to_owned()], settings }, vec![None, Some(derivation)])
}

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end
    }
}

/// What is known of a window of the source.
enum Window {
    Missing,
    Empty,
    Answer(Box<Answer>),
}

type Windows = BTreeMap<u64, Window>;

fn span(end: u64) -> Span {
    Span { start_ns: (end - 1) * SECOND, end_ns: end * SECOND }
}

fn draw(random: &mut Random) -> Windows {
    let mut window = |end: u64| match random.below(8) {
        0 => Window::Missing,
        1..=3 => Window::Empty,
        _ => {
            let groups: BTreeMap<u64, u64> =
                (0..1 + random.below(3)).map(|_| (random.below(4), 1 + random.below(9))).collect();
            let rows = groups.into_iter().map(|(key, n)| vec![Value::Unsigned(key), Value::Unsigned(n)]);
            let columns = ["key", "n"].map(|name| model::Column::new(name, ColumnKind::Unsigned, ""));
            let answer = Answer::new("base", Some(span(end)), columns.to_vec(), rows.collect());
            let is_cut = random.below(8) == 0;
            let status = if is_cut { AnswerStatus::Cut } else { AnswerStatus::Complete };
            Window::Answer(Box::new(Answer { status, ..answer }))
        }
    };
    (1..=COUNT).map(|end| (end, window(end))).collect()
}

fn seen(windows: &Windows, end: u64) -> ObservedWindow<'_> {
    match windows.get(&end) {
        None | Some(Window::Missing) => ObservedWindow::Missing,
        Some(Window::Empty) => ObservedWindow::Empty,
        Some(Window::Answer(answer)) => ObservedWindow::Answer(answer),
    }
}

fn record(past: &mut AnswerHistory, graph: &Graph, windows: &Windows, end: u64) {
    let find: &Find<'_> = &|asked| seen(windows, asked.window.end_ns / SECOND);
    past.record(graph, end * SECOND, find);
}

fn evaluate(
    past: &AnswerHistory,
    graph: &Graph,
    derivations: &[Option<Derivation>],
    windows: &Windows,
    end: u64,
) -> DerivedResult {
    let find: &Find<'_> = &|asked| seen(windows, asked.window.end_ns / SECOND);
    let derivation = derivations[1].as_ref().expect("derived");
    derivation.evaluate(graph, (1, 0), end * SECOND, find, past)
}

/// The outcomes of all windows when they come in order.
fn in_order(graph: &Graph, derivations: &[Option<Derivation>], windows: &Windows) -> Vec<DerivedResult> {
    let mut past = AnswerHistory::new(graph, derivations);
    let each = (1..=COUNT).map(|end| {
        let outcome = evaluate(&past, graph, derivations, windows, end);
        record(&mut past, graph, windows, end);
        outcome
    });
    each.collect()
}

#[test]
fn windows_that_come_late_are_put_into_their_places() {
    let (graph, derivations) = graph(1 << 30);
    let mut random = Random(1);
    for _ in 0..200 {
        let windows = draw(&mut random);
        let expected = in_order(&graph, &derivations, &windows);
        let mut past = AnswerHistory::new(&graph, &derivations);
        // Each window as if nothing were known, then what came late.
        let none = Windows::new();
        (1..=COUNT).for_each(|end| record(&mut past, &graph, &none, end));
        let mut order: Vec<u64> = (1..=COUNT).collect();
        order.sort_by_cached_key(|_| random.below(1000));
        order.iter().for_each(|end| record(&mut past, &graph, &windows, *end));
        for end in 1..=COUNT {
            let outcome = evaluate(&past, &graph, &derivations, &windows, end);
            assert_eq!(outcome, expected[end as usize - 1], "window {end}");
        }
        // Nothing is counted that is not there.
        (1..=COUNT).for_each(|end| record(&mut past, &graph, &none, end));
        assert_eq!(past.bytes(), 0);
    }
}

#[test]
fn what_is_saved_is_continued() {
    let (graph, derivations) = graph(1 << 30);
    let mut random = Random(2);
    for _ in 0..100 {
        let windows = draw(&mut random);
        let expected = in_order(&graph, &derivations, &windows);
        let mut past = AnswerHistory::new(&graph, &derivations);
        for end in 1..=COUNT {
            assert_eq!(evaluate(&past, &graph, &derivations, &windows, end), expected[end as usize - 1]);
            record(&mut past, &graph, &windows, end);
            if random.below(4) == 0 {
                let texts = past
                    .parts(&graph, &derivations)
                    .map(|part| (part.name(), serde_json::to_string(&part.windows()).expect("JSON")));
                let texts: BTreeMap<String, String> = texts.collect();
                assert_eq!(texts.len(), past.parts(&graph, &derivations).count(), "names are different");
                let saved = texts.values();
                let saved = saved.map(|text| serde_json::from_str::<SavedWindows>(text).expect("windows"));
                let bytes = past.bytes();
                past = AnswerHistory::new(&graph, &derivations);
                past.restore(&graph, &derivations, saved);
                assert_eq!((past.bytes(), past.not_kept()), (bytes, 0));
            }
        }
    }
    // Of another query nothing is continued.
    let mut other = graph.clone();
    other.queries[0].text = "another".to_owned();
    let mut past = AnswerHistory::new(&graph, &derivations);
    let windows = draw(&mut random);
    (1..=COUNT).for_each(|end| record(&mut past, &graph, &windows, end));
    let saved: Vec<SavedWindows> = past.parts(&graph, &derivations).map(|part| part.windows()).collect();
    let mut again = AnswerHistory::new(&other, &derivations);
    again.restore(&other, &derivations, saved);
    assert_eq!(again.parts(&other, &derivations).count(), 0);
}

#[test]
fn a_run_of_windows_is_passed_in_one_step() {
    let (graph, derivations) = graph(1 << 30);
    let (far, mut windows) = (4_000_000_000, draw(&mut Random(3)));
    let mut past = AnswerHistory::new(&graph, &derivations);
    (1..=COUNT).for_each(|end| record(&mut past, &graph, &windows, end));
    let mut end = COUNT;
    let mut steps = 0;
    while past.next_change(end * SECOND).is_some() {
        end = past.next_change(end * SECOND).expect("a time") / SECOND;
        windows.insert(end, Window::Empty);
        record(&mut past, &graph, &windows, end);
        steps += 1;
    }
    // Six windows have something of the last groups, and the next one is the first that has nothing.
    assert!((1..=7).contains(&steps), "{steps}");
    // Nothing of the windows between was said.
    let columns = ["key", "n"].map(|name| model::Column::new(name, ColumnKind::Unsigned, ""));
    let rows = vec![[7, 5].map(Value::Unsigned).to_vec()];
    let answer = Answer::new("base", Some(span(far)), columns.to_vec(), rows);
    windows.insert(far, Window::Answer(Box::new(answer)));
    let DerivedResult::Answer(answer) = evaluate(&past, &graph, &derivations, &windows, far) else {
        panic!("no answer")
    };
    let zero = || Value::Unsigned(0);
    let expected = vec![Value::Unsigned(7), Value::Unsigned(5), zero(), zero(), Value::Float(0.0)];
    assert_eq!((answer.rows, answer.status), (vec![expected], AnswerStatus::Complete));
}

#[test]
fn what_has_no_room_is_counted_and_null() {
    let (graph, derivations) = graph(1_000);
    let mut windows = Windows::new();
    for end in 1..=COUNT {
        let columns = ["key", "n"].map(|name| model::Column::new(name, ColumnKind::Unsigned, ""));
        // Ever other groups.
        let rows = (0..5).map(|at| [end * 5 + at, 3].map(Value::Unsigned).to_vec());
        let answer = Answer::new("base", Some(span(end)), columns.to_vec(), rows.collect());
        windows.insert(end, Window::Answer(Box::new(answer)));
    }
    let mut past = AnswerHistory::new(&graph, &derivations);
    for end in 1..=COUNT {
        record(&mut past, &graph, &windows, end);
        assert!(past.bytes() <= 1_000, "{}", past.bytes());
    }
    assert!(past.not_kept() >= COUNT - 3, "{}", past.not_kept());
    let DerivedResult::Answer(answer) = evaluate(&past, &graph, &derivations, &windows, COUNT) else {
        panic!("no answer")
    };
    assert_eq!((answer.rows.len(), answer.status), (5, AnswerStatus::Partial));
    assert_eq!(answer.reason.as_deref(), Some("no room for earlier windows that it reads"));
    assert!(answer.rows.iter().all(|row| row[2..].iter().all(|value| *value == Value::Null)));
}
