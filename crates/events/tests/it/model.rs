//! The machine against a naive one that is written from the rules alone, over random histories.
//!
//! Where the rules leave a choice, the naive machine makes that of the machine; `model/naive.rs` names these choices.

mod compare;
mod draw;
mod edge;
mod graphs;
mod jump;
mod known;
mod late;
mod naive;
mod windows;

use compare::agree;
use draw::Draw;
use events::{Find, Graph, GraphQuery, Machine, MachineStep, ObservedWindow, QueryWindow};
use jump::{jump, walk};
use late::{as_they_come, in_order};
use model::EventKind;
use std::collections::{BTreeMap, BTreeSet};
use windows::History;

/// Runs a test over histories, and says which one fails.
fn over(
    histories: std::ops::Range<u64>,
    draw: fn(u64) -> History,
    mut test: impl FnMut(&History) -> Result<(), String>,
) {
    for number in histories {
        let history = draw(number);
        if let Err(error) = test(&history) {
            panic!("history {number}: {error}\n{:#?}", history.graph);
        }
    }
}

#[test]
fn both_machines_tell_the_same() {
    over(histories(20_000), History::of, |history| agree(history, |_| {}));
}

/// The numbers of the histories of a test.
fn histories(usual: u32) -> std::ops::Range<u64> {
    0..testbed::cases(usual).into()
}

#[test]
fn late_windows_in_any_order_lead_to_the_state_of_windows_in_time() {
    let (mut late, mut in_time) = (0, 0);
    // Each history takes hundreds of steps, so fewer of them are the default.
    over(histories(1_000), History::of, |history| {
        let whole = in_order(history);
        let told = as_they_come(history, history.steps)?;
        let other = as_they_come(history, history.steps + 1)?;
        if told.state != whole.state || other.state != whole.state {
            return Err(format!("late:    {:?}\n in time: {:?}", told.state, whole.state));
        }
        for told in [&told, &other] {
            let names: BTreeSet<&String> = told.events.iter().map(|(event, _)| event).collect();
            if names.len() != told.events.len() {
                return Err("an event is told twice".to_owned());
            }
            if let Some((event, _)) = whole.events.iter().find(|(event, _)| !names.contains(event)) {
                return Err(format!("{event} is not told"));
            }
            late += told.events.iter().filter(|(_, is_late)| *is_late).count();
            in_time += told.events.iter().filter(|(_, is_late)| !is_late).count();
        }
        Ok(())
    });
    assert!(late > 100 && in_time > 100, "{late} events are late, {in_time} are not");
}

#[test]
fn both_machines_tell_the_same_of_long_quiet_times() {
    over(histories(500), History::with_quiet_times, |history| agree(history, |_| {}));
}

#[test]
fn histories_have_all_kinds_of_events() {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut count = |what: String| *kinds.entry(what).or_default() += 1;
    over(histories(2_000), History::of, |history| {
        agree(history, |step| {
            step.events.iter().for_each(|event| count(format!("{:?}", event.kind)));
            let is_new = |started: &&events::Started| started.events.first() == Some(&started.run.cause);
            step.started.iter().for_each(|started| {
                count(if is_new(&started) { "start" } else { "extension" }.to_owned());
            });
        })
    });
    for kind in [
        EventKind::Fired,
        EventKind::Resolved,
        EventKind::NoData,
        EventKind::Expired,
        EventKind::Suppressed,
        EventKind::Missed,
        EventKind::Timeout,
    ] {
        let number = kinds.get(&format!("{kind:?}")).copied().unwrap_or(0);
        assert!(number >= 100, "{number} events are {kind:?}: {kinds:?}");
    }
    assert!(kinds["start"] >= 100 && kinds["extension"] >= 100, "{kinds:?}");
}

#[test]
fn a_restored_machine_continues_as_the_one_that_was_saved() {
    over(histories(2_000), History::of, |history| {
        let restored_at = Draw::of(&[history.first_ns, history.steps]).below(history.steps);
        let mut machine = Machine::new(history.graph.clone());
        let mut saved: Option<Machine> = None;
        for (number, end_ns) in (0..).zip(history.ends()) {
            let windows = history.windows(end_ns);
            let find: &Find<'_> = &|asked| windows.find(asked);
            let step = machine.step(end_ns, find);
            if let Some(saved) = &mut saved {
                let own = numbered_as_before(saved.step(end_ns, &|asked| match asked.query {
                    0 => ObservedWindow::Missing,
                    query => find(QueryWindow { query: query - 1, ..asked }),
                }));
                if own != step {
                    return Err(format!("the step to {end_ns}:\n saved:    {own:?}\n original: {step:?}"));
                }
            }
            if number == restored_at {
                let json = serde_json::to_string(&machine.save()).map_err(|error| error.to_string())?;
                let state = serde_json::from_str(&json).map_err(|error| error.to_string())?;
                saved = Some(Machine::restore(with_another(&history.graph), state));
            }
        }
        let saved = saved.ok_or("it is not saved")?;
        let again = Machine::restore(history.graph.clone(), saved.save());
        if again.state() == machine.state() { Ok(()) } else { Err("the states differ".to_owned()) }
    });
}

/// The graph with a query before all others, so that each has another number.
fn with_another(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    graph
        .queries
        .iter_mut()
        .filter_map(|query| query.trigger.as_mut())
        .flat_map(|trigger| &mut trigger.sources)
        .for_each(|source| source.query += 1);
    let other = GraphQuery { name: "another".to_owned(), trigger: None, ..graph.queries[0].clone() };
    graph.queries.insert(0, other);
    graph
}

/// A step of a machine of that graph in the numbers of the graph without the other query.
fn numbered_as_before(mut step: MachineStep) -> MachineStep {
    step.started.iter_mut().for_each(|started| started.run.query -= 1);
    step.reports.iter_mut().for_each(|report| report.query -= 1);
    step
}

#[test]
fn a_changed_query_begins_anew() {
    over(histories(500), History::of, |history| {
        let mut machine = Machine::new(history.graph.clone());
        for end_ns in history.ends() {
            let windows = history.windows(end_ns);
            machine.step(end_ns, &|asked| windows.find(asked));
        }
        let mut changed = history.graph.clone();
        changed.queries[0].text.push_str(" limit 3");
        let restored = Machine::restore(changed.clone(), machine.save());
        let mut depends: Vec<bool> = Vec::new();
        for (number, query) in changed.queries.iter().enumerate() {
            let mut sources = query.trigger.iter().flat_map(|trigger| &trigger.sources);
            depends.push(number == 0 || sources.any(|source| depends[source.query]));
        }
        let kept = machine.state().edges.iter().filter(|edge| !depends[edge.query]).count();
        let is_kept = restored.state().edges.iter().all(|edge| !depends[edge.query]);
        if is_kept && restored.state().edges.len() == kept { Ok(()) } else { Err("kept".to_owned()) }
    });
}

#[test]
fn a_jump_over_quiet_windows_is_a_walk_through_them() {
    let (mut walked, mut jumped) = (0, 0);
    over(histories(1_000), History::with_quiet_times, |history| {
        let (walk, jump) = (walk(history), jump(history)?);
        walked += walk.steps;
        jumped += jump.steps;
        walk.compare(&jump)
    });
    assert!(jumped * 2 < walked, "{jumped} steps of {walked} are taken");
}
