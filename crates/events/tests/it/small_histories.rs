//! Histories of a few windows in which one rule decides.

use events::{
    AnswerColumn, Binding, ColumnRole, EvaluationPoint, EventKey, EventSettings, Find, Graph, GraphQuery,
    Machine, Member, ObservedWindow, Operand, QueryTrigger, TriggerCondition, TriggerKind, TriggerSource,
};
use model::{Answer, ColumnKind, Event, EventKind, Value};
use notation::Comparison;

const SECOND: u64 = 1_000_000_000;

/// A query on one node that answers every `seconds` with a key, its total and its rate.
fn query(name: &str, every: u64, trigger: Option<QueryTrigger>) -> GraphQuery {
    let column =
        |name: &str, kind, role| AnswerColumn { column: model::Column::new(name, kind, String::new()), role };
    GraphQuery {
        name: name.to_owned(),
        text: String::new(),
        columns: vec![
            column("key", ColumnKind::Unsigned, ColumnRole::Key),
            column("total", ColumnKind::Unsigned, ColumnRole::Total),
            column("rate", ColumnKind::Float, ColumnRole::Rate),
        ],
        key: vec![0],
        every_ns: every * SECOND,
        over_ns: every * SECOND,
        nodes: vec![0],
        pinned: [].into(),
        bound_key: None,
        largest_first: None,
        left_out: None,
        trigger,
    }
}

fn when(condition: TriggerCondition) -> Option<QueryTrigger> {
    Some(QueryTrigger::new(0, &query("parent", 1, None), condition))
}

fn compare(column: usize, comparison: Comparison, number: f64) -> TriggerCondition {
    TriggerCondition::Compare(Operand::Item(column), comparison, Operand::Number(number))
}

fn machine(queries: Vec<GraphQuery>, most_firings: usize) -> Machine {
    let settings = EventSettings { most_firings, ..EventSettings::default() };
    Machine::new(Graph { queries, nodes: vec!["A".to_owned()], settings })
}

fn key(number: u64) -> EventKey {
    vec![Member::Unsigned(number)]
}

/// The events of all windows until then, with jumps where the machine says that nothing changes.
fn jump(machine: &mut Machine, seen: ObservedWindow<'static>, until: u64) -> Vec<Event> {
    let find: &Find<'_> = &|_| seen;
    let (mut events, mut end_ns) = (Vec::new(), SECOND);
    while end_ns <= until * SECOND {
        let step = machine.step(end_ns, find);
        events.extend(step.events);
        end_ns = match step.is_quiet {
            true => machine.next_change(0).unwrap_or(u64::MAX),
            false => end_ns + SECOND,
        };
    }
    events
}

#[test]
fn events_of_absent_groups_show_their_key_and_zeros_of_their_columns() {
    let condition = TriggerCondition::And(vec![
        compare(1, Comparison::Less, 1.0),
        compare(0, Comparison::Equal, 7.0),
        compare(2, Comparison::Less, 1.0),
    ]);
    let mut parent = query("parent", 1, None);
    parent.pinned = [key(7)].into();
    let mut machine = machine(vec![parent, query("child", 1, when(condition))], 64);
    let events = machine.step(SECOND, &|_| ObservedWindow::Empty).events;
    let values: Vec<_> = events[0].values.iter().map(|item| item.value.clone()).collect();
    assert_eq!(values, [Value::Unsigned(0), Value::Unsigned(7), Value::Float(0.0)]);
}

#[test]
fn a_suppressed_firing_is_not_resolved_as_the_firing_before() {
    let mut child = query("child", 1, when(compare(1, Comparison::Greater, 0.0)));
    child.trigger.as_mut().expect("it has one").cooldown_ns = 3 * SECOND;
    let mut machine = machine(vec![query("parent", 1, None), child], 1);
    let row = |key: u64, total: u64| vec![Value::Unsigned(key), Value::Unsigned(total), Value::Null];
    let mut step = |end, rows: Vec<Vec<Value>>| {
        let columns = query("parent", 1, None).columns.into_iter().map(|column| column.column).collect();
        let answer = Answer::new("parent", None, columns, rows);
        machine.step(end * SECOND, &|_| ObservedWindow::Answer(&answer)).events
    };
    let first = step(1, vec![row(1, 1)]);
    let resolved = step(2, Vec::new());
    assert_eq!(resolved[0].parent.as_ref(), Some(&first[0].event));
    assert_eq!(step(3, Vec::new()), []);
    let second = step(4, vec![row(1, 1), row(2, 2)]);
    assert_eq!([second[0].kind, second[1].kind], [EventKind::Fired, EventKind::Suppressed]);
    let resolved = step(5, Vec::new());
    let parents: Vec<_> = resolved.iter().map(|event| event.parent.clone()).collect();
    assert_eq!(parents, [Some(second[0].event.clone())]);
}

/// When a key fires, of windows of a second in which its condition is true (`T`), false (`F`) or unknown (`U`).
fn firings(hold: u64, cooldown: u64, windows: &str) -> Vec<u64> {
    let mut child = query("child", 1, when(compare(1, Comparison::Greater, 0.0)));
    let trigger = child.trigger.as_mut().expect("it has one");
    (trigger.hold_ns, trigger.cooldown_ns) = (hold * SECOND, cooldown * SECOND);
    let mut machine = machine(vec![query("parent", 1, None), child], 64);
    let mut fired = Vec::new();
    for (end, truth) in (1..).zip(windows.chars()) {
        let mut answer = totals(&[(7, u64::from(truth == 'T'))]);
        if truth == 'U' {
            answer.mark_partial("a part");
        }
        let events = machine.step(end * SECOND, &|_| ObservedWindow::Answer(&answer)).events;
        fired.extend(events.iter().filter(|event| event.kind == EventKind::Fired).map(|_| end));
    }
    fired
}

#[test]
fn time_counts_for_a_hold_while_the_key_cools_down() {
    // Re-armed in the fourth window, true again from the fifth on: the cooldown ends 10 s after the firing.
    assert_eq!(firings(3, 10, "TTTFTTTTTTTTTTTTT"), [3, 13]);
    // Not for long enough when the cooldown ends.
    assert_eq!(firings(3, 5, "TTTFFFTTTTTTTTTTT"), [3, 9]);
    // A window that is false begins anew, one that is unknown does not count.
    assert_eq!(firings(3, 8, "TTTFTTTFFFTTTTTTT"), [3, 13]);
    assert_eq!(firings(3, 5, "TTTFTTUTTTTTTTTTT"), [3, 8]);
    assert_eq!(firings(4, 5, "TTTTFTTUUTTTTTTTT"), [4, 11]);
    assert_eq!(firings(4, 5, "TTTTFTTUUUUUUTTTT"), [4, 15]);
    // Without either.
    assert_eq!(firings(3, 0, "TTTFTTTTTTTTTTTTT"), [3, 7]);
    assert_eq!(firings(0, 10, "TFTTTTTTTTTTTTTTT"), [1, 11]);
}

#[test]
fn a_jump_ends_where_a_cooldown_or_a_hold_does() {
    let never_seen = compare(1, Comparison::Less, 1.0);
    for (hold, cooldown, expected) in [(3, 10, 13), (20, 10, 41), (3, 4, 7)] {
        let mut parent = query("parent", 1, None);
        parent.pinned = [key(7)].into();
        let mut child = query("child", 1, when(never_seen.clone()));
        let trigger = child.trigger.as_mut().expect("it has one");
        (trigger.hold_ns, trigger.cooldown_ns) = (hold * SECOND, cooldown * SECOND);
        let mut machine = machine(vec![parent, child], 64);
        // It fires after the hold, is false for one window, and then true without end.
        let present = totals(&[(7, 1)]);
        let mut end = 0;
        let mut fired = Vec::new();
        while end < hold {
            end += 1;
            fired.extend(machine.step(end * SECOND, &|_| ObservedWindow::Empty).events);
        }
        assert_eq!(fired.iter().map(|event| event.at_ns).collect::<Vec<_>>(), [hold * SECOND]);
        end += 1;
        machine.step(end * SECOND, &|_| ObservedWindow::Answer(&present));
        let since = end * SECOND;
        let mut next = end * SECOND + SECOND;
        let again = loop {
            let step = machine.step(next, &|_| ObservedWindow::Empty);
            if let Some(event) = step.events.iter().find(|event| event.kind == EventKind::Fired) {
                break event.at_ns;
            }
            assert!(next < 100 * SECOND, "it never fires again");
            next =
                if step.is_quiet { machine.next_change(since).expect("it changes") } else { next + SECOND };
        };
        // At the earliest when the cooldown has passed since it fired, and the hold since it is true again.
        assert_eq!(again, expected * SECOND, "{hold} {cooldown}");
    }
}

#[test]
fn a_jump_waits_for_what_longer_windows_change() {
    let never = compare(1, Comparison::Less, 0.0);
    let mut machine = machine(vec![query("parent", 3, None), query("child", 3, when(never))], 64);
    let ends: Vec<_> =
        jump(&mut machine, ObservedWindow::Missing, 100).iter().map(|event| event.at_ns).collect();
    assert_eq!(ends, [9 * SECOND], "no data after three windows");
}

#[test]
fn a_jump_counts_from_the_last_window_of_each_query() {
    let mut parent = query("parent", 3, None);
    parent.pinned = [key(7)].into();
    let mut child = query("child", 3, when(compare(1, Comparison::Less, 1.0)));
    child.trigger.as_mut().expect("it has one").hold_ns = 30 * SECOND;
    let mut other = query("other", 2, None);
    other.over_ns = 8 * SECOND;
    let mut machine = machine(vec![parent, child, other], 64);
    let first = jump(&mut machine, ObservedWindow::Empty, 40).into_iter().next().map(|event| event.at_ns);
    assert_eq!(first, Some(30 * SECOND));
}

/// An answer of `query` with keys and their totals.
fn totals(rows: &[(u64, u64)]) -> Answer {
    let columns = query("parent", 1, None).columns.into_iter().map(|column| column.column).collect();
    let row = |&(key, total)| vec![Value::Unsigned(key), Value::Unsigned(total), Value::Null];
    Answer::new("parent", None, columns, rows.iter().map(row).collect())
}

#[test]
fn keys_and_chains_that_find_no_room_are_counted() {
    let more = || when(compare(1, Comparison::Greater, 0.0));
    let mut second = query("second", 1, more());
    second.trigger.as_mut().expect("it has one").kind = TriggerKind::Each;
    let mut third = query("third", 1, when(compare(1, Comparison::Greater, 99.0)));
    let trigger = third.trigger.as_mut().expect("it has one");
    (trigger.sources[0].query, trigger.within_ns) = (1, Some(100 * SECOND));
    let settings = EventSettings { most_keys: 1, ..EventSettings::default() };
    let queries = vec![query("parent", 1, None), second, third, query("child", 1, more())];
    let mut machine = Machine::new(Graph { queries, nodes: vec!["A".to_owned()], settings });
    let (one, two) = (totals(&[(1, 1)]), totals(&[(1, 1), (2, 1)]));
    machine.step(SECOND, &|_| ObservedWindow::Answer(&one));
    let counted = |machine: &Machine| {
        let keys: Vec<_> =
            machine.forgotten().map(|(query, node, keys)| format!("{query} {node:?} {keys}")).collect();
        let chains: Vec<_> =
            machine.unfollowed().map(|(query, chains)| format!("{query} {chains}")).collect();
        (keys, chains)
    };
    assert_eq!(counted(&machine), (Vec::new(), Vec::new()));
    for end in 2..=5 {
        machine.step(end * SECOND, &|_| ObservedWindow::Answer(&two));
    }
    let (keys, chains) = counted(&machine);
    // The second key, in four windows.
    assert!(keys.contains(&"child Some(\"A\") 4".to_owned()), "{keys:?}");
    // The first chain is followed; those of the four windows after it are not.
    assert_eq!(chains, ["third 4"]);
    assert_eq!(counted(&Machine::restore(machine.graph().clone(), machine.save())), (keys, chains));
}

#[test]
fn a_jump_is_no_farther_than_the_first_window_of_its_own() {
    // A query over 8 s has seen all of the time before when its windows have been quiet for so long.
    let mut parent = query("parent", 2, None);
    parent.over_ns = 8 * SECOND;
    let never = compare(1, Comparison::Less, 0.0);
    let mut machine = machine(vec![parent, query("child", 2, when(never))], 64);
    machine.step(20 * SECOND, &|_| ObservedWindow::Empty);
    assert_eq!(machine.next_change(20 * SECOND), Some(22 * SECOND));
    machine.step(30 * SECOND, &|_| ObservedWindow::Empty);
    // From 20 s on, 8 s and a window: then nothing is new.
    assert_eq!(machine.next_change(20 * SECOND), None);
    assert_eq!(machine.next_change(21 * SECOND), Some(32 * SECOND));
}

#[test]
fn a_window_is_quiet_once_only_time_passes() {
    let mut parent = query("parent", 3, None);
    parent.pinned = [key(7)].into();
    let mut child = query("child", 3, when(compare(1, Comparison::Less, 1.0)));
    child.trigger.as_mut().expect("it has one").hold_ns = 30 * SECOND;
    let mut machine = machine(vec![parent, child], 64);
    let quiet: Vec<bool> =
        (1..=4).map(|n| machine.step(3 * n * SECOND, &|_| ObservedWindow::Empty).is_quiet).collect();
    // In the first one the key begins to wait.
    assert_eq!(quiet, [false, true, true, true]);
    let rest: Vec<bool> =
        (5..=11).map(|n| machine.step(3 * n * SECOND, &|_| ObservedWindow::Empty).is_quiet).collect();
    // In the tenth it fires.
    assert_eq!(rest, [true, true, true, true, true, false, true]);
}

#[test]
fn sets_of_runs_that_find_no_room_are_counted() {
    let pins = |name: &str, field: &str| {
        let mut query = query(name, 1, when(compare(1, Comparison::Greater, 0.0)));
        let trigger = query.trigger.as_mut().expect("it has one");
        let column = model::Column::new(field, ColumnKind::Unsigned, String::new());
        trigger.bindings = vec![Binding::Field { column, item: 0 }];
        trigger.run_ns = 100 * SECOND;
        query
    };
    let mut last = query("last", 1, when(compare(1, Comparison::Greater, 99.0)));
    let trigger = last.trigger.as_mut().expect("it has one");
    trigger.sources = [1, 2].map(|query| TriggerSource { query, key: Some(vec![0]) }).to_vec();
    trigger.places = vec![EvaluationPoint { node: 0, of: vec![0, 0] }];
    let queries = vec![query("parent", 1, None), pins("one", "a"), pins("other", "b"), last];
    let mut machine = machine(queries, 64);
    // Nine instances of each make 81 sets.
    let rows: Vec<(u64, u64)> = (1..=9).map(|key| (key, 1)).collect();
    let answer = totals(&rows);
    let forgotten = |machine: &Machine| -> u64 {
        machine.forgotten().filter(|(query, ..)| *query == "last").map(|(.., sets)| sets).sum()
    };
    for end in 1..=3 {
        machine.step(end * SECOND, &|_| ObservedWindow::Answer(&answer));
        assert_eq!(forgotten(&machine), 0, "no window of the runs has ended after {end} s");
    }
    machine.step(4 * SECOND, &|_| ObservedWindow::Answer(&answer));
    assert_eq!(forgotten(&machine), 81 - 64);
    // A window that does not decide is one window, however many sets of runs it is of.
    let mut partial = answer.clone();
    partial.mark_partial("a part");
    let undecided = |machine: &Machine| -> u64 {
        machine.undecided().filter(|(query, ..)| *query == "last").map(|(.., last)| last.windows).sum()
    };
    assert_eq!(undecided(&machine), 0);
    for (end, expected) in [(5, 1), (6, 2)] {
        machine.step(end * SECOND, &|_| ObservedWindow::Answer(&partial));
        assert_eq!(undecided(&machine), expected);
    }
}

#[test]
fn events_of_two_queries_name_them_and_have_the_least_coverage() {
    let mut child = query("child", 1, when(compare(1, Comparison::Greater, 5.0)));
    let trigger = child.trigger.as_mut().expect("it has one");
    trigger.sources = [0, 1].map(|query| TriggerSource { query, key: Some(vec![0]) }).to_vec();
    trigger.places = vec![EvaluationPoint { node: 0, of: vec![0, 0] }];
    let queries = vec![query("one", 1, None), query("two", 1, None), child];
    let settings = EventSettings { coverage: 0.1, ..EventSettings::default() };
    let mut machine = Machine::new(Graph { queries, nodes: vec!["A".to_owned()], settings });
    let covered = |coverage| Answer { coverage, ..totals(&[(1, 9)]) };
    let mut step = |end: u64, answers: [Answer; 2]| {
        machine.step(end * SECOND, &|asked| ObservedWindow::Answer(&answers[asked.query])).events
    };
    let fired = step(1, [covered(Some(0.75)), covered(Some(0.5))]);
    assert_eq!((fired.len(), fired[0].kind, fired[0].coverage), (1, EventKind::Fired, Some(0.5)));
    let names: Vec<_> = fired[0].values.iter().map(|item| item.column.name.as_str()).collect();
    assert_eq!(names, ["one.total"]);
    assert_eq!(fired[0].values[0].column.kind, ColumnKind::Unsigned);
    // Where that of one is not known, none is.
    let low = |coverage| Answer { coverage, ..totals(&[(1, 0)]) };
    let resolved = step(2, [low(None), low(Some(1.0))]);
    assert_eq!((resolved.len(), resolved[0].kind, resolved[0].coverage), (1, EventKind::Resolved, None));
}

#[test]
fn the_end_names_runs_that_will_not_have_answered() {
    let mut child = query("child", 1, when(compare(1, Comparison::Greater, 0.0)));
    child.trigger.as_mut().expect("it has one").run_ns = SECOND;
    let ended_after = |seconds: u64| {
        let mut machine = machine(vec![query("parent", 1, None), child.clone()], 64);
        let answer = totals(&[(1, 1)]);
        for end in 1..=seconds {
            machine.step(end * SECOND, &|_| ObservedWindow::Answer(&answer));
        }
        let end = machine.end();
        end.events.iter().map(|event| (event.kind, event.query.clone())).collect::<Vec<_>>()
    };
    // It fires in the first window and answers that from 3 s to 4 s.
    assert_eq!(ended_after(2), [(EventKind::Missed, "child".to_owned())]);
    assert_eq!(ended_after(4), []);
}
