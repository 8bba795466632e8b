//! A controller of live nodes: it does not wait for a silent node, never takes a missing window for zero, and continues from a saved state.

use crate::nodes::{SECOND, START, queries, result};
use controller::{Controller, ControllerContext, ControllerOutput, InstalledText, views};
use model::view::{Coordinates, Site, Spool};
use model::{EventKind, Span};
use protocol::{FromProbe, Heartbeat, ListId, RefusedList, ToProbe, WindowResult};

const NODES: [&str; 2] = ["A", "B"];
const CHAIN: &str = "a: select sum(total_count) as n where node_id = A every 1s;\n\
    b: select sum(total_count) as n where node_id = B every 1s when a.n > 5;";

/// A task's name, and the second in which it begins, if it does not always run.
type Listed<'a> = (&'a str, Option<u64>);

/// A controller, and what it showed and sent.
struct Test {
    controller: Controller,
    shown: Vec<ControllerOutput>,
    sent: Vec<(usize, ToProbe)>,
}

impl Test {
    fn new(text: &str) -> Self {
        let setting = ControllerContext { window_ns: SECOND, is_replay: false, key: None };
        let controller = Controller::new(queries(text, &NODES).chain().clone(), setting);
        Self { controller, shown: Vec::new(), sent: Vec::new() }
    }

    /// It is this second, and messages can come.
    fn tick(&mut self, now: u64) {
        let actions = self.controller.tick(START + now * SECOND, Some(START));
        self.shown.extend(actions.show);
        self.sent.extend(actions.send);
    }

    fn take(&mut self, node: usize, message: FromProbe) {
        let actions = self.controller.take(node, message);
        self.shown.extend(actions.show);
        self.sent.extend(actions.send);
    }

    /// A node answers the window that begins at this second.
    fn window(&mut self, node: usize, at: u64, counts: &[(&str, u64)]) {
        self.take(node, FromProbe::Window(Box::new(result(node, at, counts))));
    }

    fn events(&self) -> Vec<(EventKind, &str, u64)> {
        let events = self.shown.iter().filter_map(|output| match output {
            ControllerOutput::Event(event) => {
                Some((event.kind, event.query.as_str(), (event.at_ns - START) / SECOND))
            }
            _ => None,
        });
        events.collect()
    }

    /// What was not taken of a node, for this reason.
    fn not_taken(&self, node: usize, reason: &str) -> u64 {
        self.controller.health().nth(node).expect("a node").not_taken.get(reason)
    }

    fn warnings(&self) -> Vec<&str> {
        let warnings = self.shown.iter().filter_map(|output| match output {
            ControllerOutput::Warning(line) => Some(line.as_str()),
            _ => None,
        });
        warnings.collect()
    }

    /// The list that was sent last to a node: which one, its tasks' names and times.
    fn list(&self, node: usize) -> Option<(ListId, Vec<Listed<'_>>)> {
        let list = self.sent.iter().rev().find_map(|(to, message)| match message {
            ToProbe::Tasks(list) if *to == node => Some(list),
            _ => None,
        })?;
        let start = |span: Span| (span.start_ns - START) / SECOND;
        let tasks = list.tasks.iter().map(|task| (task.query.name.as_str(), task.time.map(start)));
        Some((list.id(), tasks.collect()))
    }
}

#[test]
fn a_chain_runs_over_two_live_nodes() {
    let mut test = Test::new(CHAIN);
    test.tick(0);
    assert_eq!(test.list(0).expect("a list").1, [("a", None)]);
    assert_eq!(test.list(1).expect("a list").1, []);
    for at in 0..3 {
        test.tick(at + 1);
        test.window(0, at, &[("a", if at == 2 { 9 } else { 1 })]);
        test.window(1, at, &[]);
    }
    assert_eq!(test.events(), [(EventKind::Fired, "b", 3)]);
    // Two seconds later, for one window.
    assert_eq!(test.list(1).expect("a list").1, [("b", Some(5))]);
    for at in 3..6 {
        test.tick(at + 1);
        test.window(0, at, &[("a", 9)]);
        test.window(1, at, if at == 5 { &[("b", 4)] } else { &[] });
    }
    assert_eq!(test.events().len(), 1, "{:?}", test.events());
    let story = test.controller.stories().next().expect("a story");
    assert!(story.text.contains("Therefore b ran on B"), "{}", story.text);
    assert_eq!(test.list(1).expect("a list").1, []);
}

#[test]
fn a_silent_node_is_not_awaited_and_its_windows_are_missing() {
    let mut test =
        Test::new("a: select sum(total_count) as n every 1s;\nb: select count(*) every 1s when a.n < 5;");
    for at in 0..4 {
        test.tick(at + 1);
        test.window(0, at, &[("a", 9)]);
        test.window(1, at, &[("a", 9)]);
    }
    // B says nothing more: that is not zero. A goes on, with the grace of a second.
    for at in 4..12 {
        test.tick(at + 1);
        test.window(0, at, &[("a", if at == 10 { 1 } else { 9 })]);
    }
    test.tick(13);
    let events = test.events();
    assert!(events.contains(&(EventKind::NoData, "b", 7)), "{events:?}");
    assert!(events.contains(&(EventKind::Fired, "b", 11)), "{events:?}");
    assert_eq!(events.iter().filter(|event| event.0 == EventKind::Fired).count(), 1, "{events:?}");
    // What it sends later is judged in its order, and what follows is late.
    let before = events.len();
    test.window(1, 5, &[("a", 0)]);
    let late: Vec<_> = test.events().split_off(before);
    let missed = (EventKind::Missed, "b", 9);
    assert_eq!(late, [(EventKind::Fired, "b", 6), missed, missed, (EventKind::NoData, "b", 9)]);
    let is_late = |output: &ControllerOutput| matches!(output, ControllerOutput::Event(event) if event.late);
    assert_eq!(test.shown.iter().filter(|output| is_late(output)).count(), 4);
    // The same window again changes nothing.
    test.window(1, 5, &[("a", 9)]);
    assert_eq!(test.events().len(), before + 4);
    let late = test
        .shown
        .iter()
        .filter(
            |output| matches!(output, ControllerOutput::Answer(answer) if answer.late && answer.query == "a"),
        )
        .count();
    assert_eq!(late, 1);
    assert_eq!(test.controller.health().map(|health| health.windows.late).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_backlog_is_taken_in_order_before_anything_is_missing() {
    let mut test = Test::new(CHAIN);
    test.tick(0);
    // The broker was away for 30 seconds. Then both nodes send the windows that they kept.
    let since = START + 30 * SECOND;
    let mut sent = Vec::new();
    for at in 0..30 {
        for node in [1, 0] {
            let actions = test.controller.tick(since + at, Some(since));
            sent.extend(actions.show);
            test.window(node, at, if node == 0 { &[("a", 1)] } else { &[] });
        }
    }
    assert!(test.warnings().is_empty() && sent.is_empty(), "{:?}", test.warnings());
    let answers = test
        .shown
        .iter()
        .filter(|output| matches!(output, ControllerOutput::Answer(answer) if answer.query == "a"));
    assert_eq!(answers.count(), 30);
}

#[test]
fn while_the_broker_is_away_nothing_is_missing() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    test.window(0, 0, &[("a", 1)]);
    test.window(1, 0, &[]);
    for at in 2..60 {
        let actions = test.controller.tick(START + at * SECOND, None);
        assert!(actions.show.is_empty(), "{:?}", actions.show);
    }
    test.window(1, 1, &[]);
    test.window(0, 1, &[("a", 1)]);
    assert!(test.warnings().is_empty(), "{:?}", test.warnings());
    assert_eq!(test.controller.health().map(|health| health.windows.late).sum::<u64>(), 0);
}

#[test]
fn empty_windows_are_zero() {
    let mut test = Test::new(
        "a: select sum(total_count) as n where node_id = A every 1s;\nb: select count(*) where node_id = A every 1s when a.n < 5 run 3s;",
    );
    test.tick(1);
    test.window(0, 0, &[("a", 9)]);
    test.window(1, 0, &[]);
    // The clock has jumped over ten windows, in which nothing was received.
    let window = Span { start_ns: START + SECOND, end_ns: START + 11 * SECOND };
    let empty = |window| WindowResult { empty: Some(10), ..WindowResult::new(window, Vec::new()) };
    test.take(0, FromProbe::Window(Box::new(empty(window))));
    test.take(1, FromProbe::Window(Box::new(empty(window))));
    test.tick(12);
    assert_eq!(test.events(), [(EventKind::Fired, "b", 2)]);
    let story = test.controller.stories().next().expect("a story");
    assert!(!story.text.contains("missed"), "{}", story.text);
}

#[test]
fn windows_of_another_length_or_of_the_future_are_not_taken() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    for (start, length) in
        [(0, 10 * SECOND), (SECOND / 2, SECOND), (1_000 * SECOND, SECOND), (u64::MAX - START - 5, 5)]
    {
        let window = Span { start_ns: START + start, end_ns: START + start + length };
        test.take(0, FromProbe::Window(Box::new(WindowResult::new(window, Vec::new()))));
    }
    assert_eq!(test.warnings().len(), 4, "{:?}", test.warnings());
    assert_eq!(test.not_taken(0, "wrong_window"), 4);
    // What only replays say is not taken.
    test.take(0, FromProbe::Reached { at_ns: 7 });
    test.window(0, 0, &[("a", 1)]);
    test.window(1, 0, &[]);
    assert_eq!(test.shown.iter().filter(|output| matches!(output, ControllerOutput::Answer(_))).count(), 3);
}

#[test]
fn a_list_is_sent_until_the_heartbeat_has_it() {
    let mut test = Test::new(CHAIN);
    test.tick(0);
    let (wanted, _) = test.list(0).expect("a list");
    let heartbeat = |list, refused| {
        FromProbe::Heartbeat(Box::new(Heartbeat {
            list,
            refused,
            spool: Spool::default(),
            ..Heartbeat::default()
        }))
    };
    let sent = |test: &Test| test.sent.iter().filter(|(node, _)| *node == 0).count();
    assert_eq!(sent(&test), 1);
    test.take(0, heartbeat(None, None));
    assert_eq!((sent(&test), test.list(0).expect("a list").0), (2, wanted));
    test.take(0, heartbeat(Some(wanted), None));
    assert_eq!(sent(&test), 2);
    // One that cannot be carried out is not sent again, and said once.
    let refused = Some(RefusedList { list: wanted, reason: "a: no memory".to_owned() });
    test.take(0, heartbeat(None, refused.clone()));
    test.take(0, heartbeat(None, refused));
    assert_eq!(sent(&test), 2);
    assert_eq!(test.warnings(), ["A cannot answer what is asked next: a: no memory"]);
    // A list of a controller whose clock was ahead: this one's are newer from then on.
    let ahead = ListId { epoch: wanted.epoch + 5, generation: 77 };
    test.take(0, heartbeat(Some(ahead), None));
    assert!(test.list(0).expect("a list").0 > ahead);
}

#[test]
fn what_was_saved_goes_on_and_the_gap_is_unknown() {
    let text = "a: select sum(total_count) as n where node_id = A every 1s;\n\
        b: select count(*) where node_id = A every 1s when a.n < 5 cooldown 1h;";
    let mut test = Test::new(text);
    for at in 0..3 {
        test.tick(at + 1);
        test.window(0, at, &[("a", if at == 2 { 1 } else { 9 })]);
        test.window(1, at, &[]);
    }
    assert_eq!(test.events().len(), 1);
    let saved = serde_json::to_string(&test.controller.save()).expect("JSON");
    let stories: Vec<_> = test.controller.stories().cloned().collect();
    let mut again = Test::new(text);
    again.controller.restore(
        serde_json::from_str(&saved).expect("a state"),
        [],
        events::StoryLog::restore(stories),
    );
    // Half a minute without a controller: its windows are missing, which neither fires nor resolves anything.
    again.tick(33);
    for at in 33..36 {
        again.tick(at + 1);
        again.window(0, at, &[("a", 1)]);
        again.window(1, at, &[]);
    }
    let events = again.events();
    assert!(
        events.iter().all(|event| !matches!(event.0, EventKind::Fired | EventKind::Resolved)),
        "{events:?}"
    );
    assert!(events.contains(&(EventKind::Missed, "b", 6)), "{events:?}");
    let story = again.controller.stories().next().expect("the story");
    assert!(story.text.contains("fired") && story.events.len() == 2, "{story:?}");
}

#[test]
fn a_query_that_is_added_or_removed_leaves_the_others_alone() {
    let text = "a: select sum(total_count) as n where node_id = A every 1s;\n\
        b: select count(*) as n where node_id = A every 1s when a.n > 5;";
    let mut queries = queries(text, &NODES);
    let mut test = Test::new(text);
    test.controller.replace(queries.chain().clone());
    for at in 0..20 {
        if at == 5 {
            let more = "c: select sum(total_count) as n where node_id = B every 1s;";
            let more =
                InstalledText { file: "c.eq".to_owned(), text: more.to_owned(), ..InstalledText::default() };
            queries.install(more).expect("installed");
            let actions = test.controller.replace(queries.chain().clone());
            assert_eq!(actions.send.len(), 1, "B alone has another list");
        }
        if at == 9 {
            queries.remove("c").expect("removed");
            test.controller.replace(queries.chain().clone());
        }
        test.tick(at + 1);
        // It is true from the third window on: it fires once.
        test.window(0, at, &[("a", if at < 2 { 1 } else { 9 }), ("b", 1)]);
        test.window(1, at, if (5..9).contains(&at) { &[("c", 1)] } else { &[] });
    }
    assert_eq!(test.events(), [(EventKind::Fired, "b", 3)]);
}

#[test]
fn a_heartbeat_that_comes_after_the_end_of_its_start_is_no_new_start() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    let beat = |started_ns| FromProbe::Heartbeat(Box::new(Heartbeat { started_ns, ..Heartbeat::default() }));
    let has_ended = |test: &Test| test.controller.health().next().expect("A").has_ended;
    test.take(0, beat(START));
    test.take(0, FromProbe::Ended { answers: Vec::new(), traffic: None });
    test.take(0, beat(START));
    assert!(has_ended(&test));
    test.take(0, beat(START + SECOND));
    assert!(!has_ended(&test));
}

/// The site of a probe is what its last heartbeat says. One that is none is left out, counted and named once, and the rest of the heartbeat is
/// taken; a probe that says nothing of it, as those of earlier versions, has none.
#[test]
fn a_site_that_is_none_is_refused_and_the_heartbeat_is_taken() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    let chicago = Site {
        name: Some("Chicago".to_owned()),
        at: Some(Coordinates { latitude: 41.88, longitude: -87.63 }),
    };
    let mut version = 0;
    let mut beat = |test: &mut Test, site: Option<Site>| {
        version += 1;
        let version = format!("{version}");
        let heartbeat = Heartbeat { site, version: version.clone(), ..Heartbeat::default() };
        test.take(0, FromProbe::Heartbeat(Box::new(heartbeat)));
        let health = test.controller.health().next().expect("A");
        let node = views::node("A", health, &views::HealthCriteria::default());
        assert_eq!(node.version, Some(version));
        node.site
    };
    assert_eq!(beat(&mut test, Some(chicago.clone())), Some(chicago.clone()));
    assert_eq!((test.not_taken(0, "wrong_site"), test.warnings().len()), (0, 0));
    let named = |name: String| Site { name: Some(name), at: None };
    let placed = |latitude, longitude| Site { name: None, at: Some(Coordinates { latitude, longitude }) };
    let wrong = [
        (placed(90.5, 0.0), "the latitude is 90.5"),
        (placed(0.0, -181.0), "the longitude is -181"),
        (placed(f64::NAN, 0.0), "the latitude is NaN"),
        (placed(0.0, f64::INFINITY), "the longitude is inf"),
        (named("x".repeat(70_000)), "70000 characters"),
        (named("\u{1b}[2J".to_owned()), "control characters"),
        (named(String::new()), "is empty"),
    ];
    for (number, (site, reason)) in (1..).zip(wrong) {
        assert_eq!(beat(&mut test, Some(site.clone())), None, "{reason}");
        assert_eq!(beat(&mut test, Some(site)), None, "{reason}");
        assert_eq!(test.not_taken(0, "wrong_site"), 2 * number);
        let warnings = test.warnings();
        assert_eq!(warnings.len() as u64, number, "{warnings:?}");
        let last = *warnings.last().expect("a line");
        assert!(last.starts_with("A: its site is not taken: ") && last.contains(reason), "{last}");
        assert!(last.len() < 200, "{last}");
    }
    assert_eq!(beat(&mut test, None), None);
    assert_eq!(beat(&mut test, Some(chicago.clone())), Some(chicago));
}

#[test]
fn a_node_that_ended_and_is_there_again_is_judged_and_has_its_list() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    test.window(0, 0, &[("a", 1)]);
    test.window(1, 0, &[]);
    test.take(0, FromProbe::Ended { answers: Vec::new(), traffic: None });
    test.window(1, 1, &[]);
    assert!(test.controller.health().next().expect("A").has_ended);
    // It is always a little later than B.
    test.take(0, FromProbe::Heartbeat(Box::default()));
    for at in 2..10 {
        test.tick(at + 1);
        test.window(1, at, &[]);
        test.window(0, at, &[("a", if at == 5 { 9 } else { 1 })]);
    }
    // B never answers what it is asked.
    let events = [(EventKind::Fired, "b", 6), (EventKind::Resolved, "b", 7), (EventKind::Missed, "b", 9)];
    assert_eq!(test.events(), events);
    assert_eq!(test.controller.health().map(|health| health.windows.late).sum::<u64>(), 0);
}

#[test]
fn a_probe_whose_windows_are_not_taken_is_not_awaited() {
    let mut test = Test::new(CHAIN);
    test.tick(0);
    for at in 0..40 {
        test.tick(at + 1);
        test.window(0, at, &[("a", 1)]);
        let window = Span { start_ns: START + at * SECOND, end_ns: START + at * SECOND + SECOND / 2 };
        test.take(1, FromProbe::Window(Box::new(WindowResult::new(window, Vec::new()))));
        test.take(1, FromProbe::Heartbeat(Box::default()));
    }
    let answers = test
        .shown
        .iter()
        .filter(|output| matches!(output, ControllerOutput::Answer(answer) if answer.query == "a"));
    assert!(answers.count() > 20);
    assert_eq!(test.warnings().len(), 1, "{:?}", test.warnings());
}

#[test]
fn what_is_not_settled_is_there_after_a_restart() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    // B has not answered yet.
    for at in 0..3 {
        test.window(0, at, &[("a", at + 1)]);
    }
    assert!(test.shown.is_empty(), "{:?}", test.shown);
    let results: Vec<_> =
        test.controller.unsettled().map(|(node, result)| (node.to_owned(), result.clone())).collect();
    assert_eq!(results.len(), 3);
    let mut again = Test::new(CHAIN);
    again.controller.restore(test.controller.save(), results, events::StoryLog::default());
    again.tick(3);
    (0..3).for_each(|at| again.window(1, at, &[]));
    let counts = again.shown.iter().filter_map(|output| match output {
        ControllerOutput::Answer(answer) if answer.query == "a" => Some(answer.rows[0][0].clone()),
        _ => None,
    });
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 3].map(model::Value::Unsigned));
    assert_eq!(again.controller.unsettled().count(), 0);
}

#[test]
fn all_nodes_end_and_the_time_goes_on_as_before() {
    let mut test = Test::new("a: select sum(total_count) as n every 1h;");
    for at in 0..2 {
        test.tick(at + 1);
        test.window(0, at, &[]);
        test.window(1, at, &[]);
    }
    // What the end cut lies an hour ahead.
    let hour = Span {
        start_ns: START - START % (3_600 * SECOND),
        end_ns: START - START % (3_600 * SECOND) + 3_600 * SECOND,
    };
    let cut = result(0, 0, &[("a", 1)]).answers.pop().expect("an answer");
    let cut = model::Answer { window: Some(hour), ..cut };
    for node in 0..2 {
        test.take(node, FromProbe::Ended { answers: vec![cut.clone()], traffic: None });
    }
    // They are started again, which their heartbeats say first.
    (0..2).for_each(|node| test.take(node, FromProbe::Heartbeat(Box::default())));
    for at in 5..10 {
        test.tick(at + 1);
        test.window(0, at, &[]);
        test.window(1, at, &[]);
    }
    assert_eq!(test.controller.health().map(|health| health.windows.late).sum::<u64>(), 0);
}

#[test]
fn an_hour_that_was_kept_is_judged_in_order() {
    let mut test = Test::new(CHAIN);
    test.tick(0);
    let since = START + 3_600 * SECOND;
    let mut shown = Vec::new();
    for at in 0..3_600 {
        for node in [1, 0] {
            let actions = test.controller.tick(since + at * 10_000_000, Some(since));
            shown.extend(actions.show);
            test.window(node, at, if node == 0 { &[("a", 1)] } else { &[] });
        }
    }
    assert!(test.events().is_empty() && test.warnings().is_empty() && shown.is_empty());
    assert_eq!(test.controller.health().map(|health| health.windows.late).sum::<u64>(), 0);
}

#[test]
fn answers_are_of_their_sender_and_of_what_was_asked() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    let mut hostile = result(0, 0, &[("a", 1), ("nobody_asked", 1), ("b", 7)]);
    let forged = model::Answer { node: Some("B".to_owned()), ..hostile.answers[1].clone() };
    let whole_run = model::Answer { window: None, ..forged.clone() };
    let other = model::Answer { columns: Vec::new(), rows: Vec::new(), ..forged.clone() };
    let far = Span { start_ns: 0, end_ns: u64::MAX };
    let far = model::Answer { window: Some(far), ..forged.clone() };
    hostile.answers.extend([forged, whole_run, other, far]);
    test.take(0, FromProbe::Window(Box::new(hostile)));
    test.window(1, 0, &[]);
    // That of no query, and those without a window, with other columns and of the far future. The forged one is A's now.
    assert_eq!(test.not_taken(0, "unasked"), 4);
    let shown: Vec<_> = test
        .shown
        .iter()
        .filter_map(|output| match output {
            ControllerOutput::Answer(answer) => {
                Some((answer.query.as_str(), answer.node.as_deref().unwrap_or("none")))
            }
            _ => None,
        })
        .collect();
    assert!(
        shown
            .iter()
            .all(|(query, node)| ["totals", "a"].contains(query) && (*query == "totals" || *node == "A")),
        "{shown:?}"
    );
}

#[test]
fn hostile_numbers_are_no_panic() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    for lost in [u64::MAX, 5, u64::MAX] {
        test.take(0, FromProbe::Window(Box::new(WindowResult { lost, ..result(0, 0, &[]) })));
        test.take(1, FromProbe::Window(Box::new(WindowResult { lost, ..result(1, 0, &[]) })));
    }
    let wanted = test.list(0).expect("a list").0;
    for list in [ListId { epoch: u64::MAX, generation: u64::MAX }, ListId { generation: u64::MAX, ..wanted }]
    {
        let heartbeat = Heartbeat { list: Some(list), ..Heartbeat::default() };
        test.take(0, FromProbe::Heartbeat(Box::new(heartbeat)));
    }
    let id = test.list(0).expect("a list").0;
    assert!(id > ListId { generation: u64::MAX, ..wanted } && id.epoch < u64::MAX, "{id:?}");
    // A clock that began in 1970.
    let window = Span { start_ns: 0, end_ns: START + 2 * SECOND };
    let number = window.end_ns / SECOND;
    let empty = WindowResult { empty: Some(number), ..WindowResult::new(window, result(0, 0, &[]).answers) };
    test.take(0, FromProbe::Window(Box::new(empty)));
    assert!(test.controller.health().next().expect("A").windows.complete < 10);
}

const SAME_WINDOW: &str = "a: select sum(total_count) as n where node_id = A every 1s;\n\
    b: select sum(total_count) as n where node_id = B every 1s when a.n > 5 in same window;\n\
    c: select sum(total_count) as n where node_id = A every 1s when b.n > 3;";

impl Test {
    /// What a node is asked of windows that are over: the numbers, and the queries.
    fn look_backs(&self, node: usize) -> Vec<(u64, Vec<String>)> {
        let lists = self.sent.iter().rev().filter_map(|(to, message)| match message {
            ToProbe::Tasks(list) if *to == node => Some(list),
            _ => None,
        });
        let list = lists.into_iter().next().expect("a list");
        let names =
            |task: &protocol::LookBackTask| task.queries.iter().map(|query| query.name.clone()).collect();
        list.look_backs.iter().map(|task| (task.id, names(task))).collect()
    }
}

/// A controller that asks B for the third window.
fn that_looks_back() -> Test {
    let mut test = Test::new(SAME_WINDOW);
    test.tick(0);
    for at in 0..3 {
        test.tick(at + 1);
        test.window(0, at, &[("a", if at == 2 { 9 } else { 1 })]);
        test.window(1, at, &[]);
    }
    let ToProbe::Tasks(list) = &test.sent[1].1 else { panic!("no list") };
    let kept = list.look_back.expect("windows are kept");
    // That of the query, those that pass within the grace and the second for the way, and one for what is coming.
    assert_eq!((kept.windows, kept.flows), (5, 1_000_000));
    test
}

#[test]
fn a_node_is_asked_for_the_window_that_fired() {
    let mut test = that_looks_back();
    // Nothing is told before the answer is there.
    assert_eq!(test.events(), []);
    let asked = test.look_backs(1);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].1, ["b"]);
    let answers = result(1, 2, &[("b", 4)]).answers;
    let window = Span { start_ns: START + 2 * SECOND, end_ns: START + 3 * SECOND };
    let looked = |id| protocol::LookedBack { id, window, answers: answers.clone(), missing: None };
    // The answer to another question is none.
    test.take(1, FromProbe::LookedBack(Box::new(looked(asked[0].0 + 1))));
    test.take(0, FromProbe::LookedBack(Box::new(looked(asked[0].0))));
    assert_eq!(test.events(), []);
    test.take(1, FromProbe::LookedBack(Box::new(looked(asked[0].0))));
    assert_eq!(test.events(), [(EventKind::Fired, "b", 3), (EventKind::Fired, "c", 3)]);
    assert_eq!(test.look_backs(1), []);
    let shown = test
        .shown
        .iter()
        .filter(|output| matches!(output, ControllerOutput::Answer(answer) if answer.query == "b"));
    assert_eq!(shown.count(), 1);
}

#[test]
fn a_node_that_has_kept_nothing_or_is_silent_misses_the_window() {
    let mut test = that_looks_back();
    let (id, _) = test.look_backs(1)[0];
    let window = Span { start_ns: START + 2 * SECOND, end_ns: START + 3 * SECOND };
    let missing = Some("not_kept: it is gone".to_owned());
    let looked = protocol::LookedBack { id, window, answers: Vec::new(), missing };
    test.take(1, FromProbe::LookedBack(Box::new(looked)));
    let missed = [(EventKind::Fired, "b", 3), (EventKind::Missed, "b", 3)];
    assert_eq!(test.events(), missed);
    assert!(
        test.warnings().iter().any(|line| line.contains("not_kept: it is gone")),
        "{:?}",
        test.warnings()
    );
    // One that says nothing is awaited for the grace; windows that come meanwhile wait.
    let mut test = that_looks_back();
    test.window(0, 3, &[("a", 1)]);
    test.window(1, 3, &[]);
    assert_eq!(test.events(), []);
    test.tick(4);
    test.tick(5);
    assert_eq!(test.events()[..2], missed);
    assert!(test.events().contains(&(EventKind::Resolved, "b", 4)), "{:?}", test.events());
}

#[test]
fn captures_are_asked_for_once_and_told_in_the_story() {
    let mut test = Test::new(
        "a: select dst_addr, sum(total_count) as n groupby dst_addr where node_id = A every 1s;\n\
         b: select count(*) where dst_addr = a.dst_addr, node_id = B every 1s when a.n > 5 capture 10 packets;",
    );
    test.tick(0);
    let victim = |count: u64| {
        let mut window = result(0, 0, &[]);
        let columns = vec![
            model::Column::new("dst_addr", model::ColumnKind::Address, ""),
            model::Column::new("n", model::ColumnKind::Unsigned, "packets"),
        ];
        let rows = vec![vec![model::Value::Address([203, 0, 113, 9].into()), model::Value::Unsigned(count)]];
        window.answers.push(model::Answer::new("a", Some(window.window), columns, rows));
        window
    };
    test.tick(1);
    test.take(0, FromProbe::Window(Box::new(victim(9))));
    test.window(1, 0, &[]);
    assert_eq!(test.events(), [(EventKind::Fired, "b", 1)]);
    let list = test.sent.iter().rev().find_map(|(to, message)| match message {
        ToProbe::Tasks(list) if *to == 1 => Some(list.clone()),
        _ => None,
    });
    let list = list.expect("a list");
    let [capture] = &list.captures[..] else { panic!("{:?}", list.captures) };
    assert_eq!((capture.packets, capture.query.as_str()), (10, "b"));
    let filter = format!("{:?}", capture.filter);
    assert!(filter.contains("dst_addr") && filter.contains("203.0.113.9"), "{filter}");
    let [task] = &list.tasks[..] else { panic!("{:?}", list.tasks) };
    assert_eq!(task.instances.len(), 1);
    assert_eq!(Some(task.instances[0].time), capture.time);
    let captured = protocol::Captured {
        id: capture.id.clone(),
        query: "b".to_owned(),
        file: Some("x.pcapng".to_owned()),
        packets: 10,
        ..protocol::Captured::default()
    };
    // Of a node that was not asked, nothing is taken.
    test.take(0, FromProbe::Captured(Box::new(captured.clone())));
    assert!(!test.shown.iter().any(|output| matches!(output, ControllerOutput::Captured(_))));
    test.take(1, FromProbe::Captured(Box::new(captured.clone())));
    test.take(1, FromProbe::Captured(Box::new(captured)));
    assert_eq!(test.shown.iter().filter(|output| matches!(output, ControllerOutput::Captured(_))).count(), 1);
    let story = test.controller.stories().next().expect("a story");
    assert!(story.text.contains("b captured 10 packets on B: x.pcapng."), "{}", story.text);
    test.tick(2);
    let last = test.sent.iter().rev().find_map(|(to, message)| match message {
        ToProbe::Tasks(list) if *to == 1 => Some(list.captures.len()),
        _ => None,
    });
    assert_eq!(last, Some(0));
}

/// Returns a test of two queries across nodes, `all` and `long`, and the columns of the parts that nodes answer for each.
fn across_nodes() -> (Test, Vec<String>) {
    let mut test = Test::new(
        "all: select sum(total_count) as n every 1s across nodes by sum;\n\
        long: select sum(total_count) as n over 4s every 2s across nodes by sum;",
    );
    test.tick(0);
    let ToProbe::Tasks(list) = &test.sent[0].1 else { panic!("{:?}", test.sent) };
    let parts: Vec<_> = list.tasks.iter().map(|task| task.query.columns[0].name.clone()).collect();
    (test, parts)
}

#[test]
fn a_late_window_changes_the_answers_across_nodes_of_each_window_that_contains_it() {
    let (mut test, parts) = across_nodes();
    let window = |test: &mut Test, node: usize, at: u64, lost: u64| {
        let counts: &[_] = if at >= 3 && at % 2 == 1 { &[("all", 7), ("long", 28)] } else { &[("all", 7)] };
        let mut result = result(node, at, counts);
        for answer in &mut result.answers {
            match (answer.query.as_str(), &mut answer.window, &mut answer.account) {
                ("totals", _, Some(account)) => {
                    account.loss = Some(model::Counters(vec![("imissed".to_owned(), lost)]));
                }
                ("long", Some(window), _) => {
                    window.start_ns = window.end_ns - 4 * SECOND;
                    answer.columns[0].name.clone_from(&parts[1]);
                }
                _ => answer.columns[0].name.clone_from(&parts[0]),
            }
        }
        test.take(node, FromProbe::Window(Box::new(result)));
    };
    for at in 0..12 {
        test.tick(at + 1);
        window(&mut test, 0, at, 0);
        if at != 5 {
            window(&mut test, 1, at, 0);
        }
    }
    test.tick(14);
    // Of each window, by the second in which it ends: how often it was shown, its newest sum and coverage.
    let newest = |test: &Test, query: &str| {
        let mut newest = std::collections::BTreeMap::new();
        for output in &test.shown {
            let ControllerOutput::Answer(answer) = output else { continue };
            if answer.query == query {
                let end = (answer.window.expect("a window").end_ns - START) / SECOND;
                let known = newest.entry(end).or_insert((0, model::Value::Null, None));
                *known = (known.0 + 1, answer.rows[0][0].clone(), answer.coverage);
            }
        }
        newest
    };
    let before = ["all", "long"].map(|query| newest(&test, query));
    assert_eq!(before[0][&6], (1, model::Value::Unsigned(7), Some(1.0)));
    // B had lost as much as it received.
    window(&mut test, 1, 5, 10);
    let of_long = [(6, 56, 80.0 / 90.0), (8, 56, 80.0 / 90.0)];
    for (query, before, changed) in
        [("all", &before[0], &[(6, 14, 20.0 / 30.0)][..]), ("long", &before[1], &of_long)]
    {
        let mut expected = before.clone();
        for (end, sum, coverage) in changed {
            expected.insert(*end, (2, model::Value::Unsigned(*sum), Some(*coverage)));
        }
        assert_eq!(newest(&test, query), expected, "{query}");
    }
}

#[test]
fn windows_beyond_the_lateness_are_a_named_gap() {
    let mut test = Test::new(CHAIN);
    for at in 0..700 {
        test.tick(at + 1);
        test.window(0, at, &[("a", 1)]);
    }
    let late = |test: &Test| test.controller.health().nth(1).expect("a node").windows.late;
    test.window(1, 699, &[]);
    test.window(1, 20, &[]);
    test.window(1, 21, &[]);
    assert_eq!((test.not_taken(1, "too_late"), late(&test)), (2, 2));
    let gaps: Vec<_> = test.controller.health().nth(1).expect("a node").lacks.gaps.iter().cloned().collect();
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!(gap.window, Span { start_ns: START + 20 * SECOND, end_ns: START + 22 * SECOND });
    // Within it, it is judged.
    test.window(1, 300, &[]);
    assert_eq!((test.not_taken(1, "too_late"), late(&test)), (2, 3));
}

#[test]
fn windows_that_never_came_are_a_named_gap() {
    let mut test = Test::new(CHAIN);
    let lost = |test: &mut Test, at: u64, lost: u64| {
        let result = WindowResult { lost, ..result(1, at, &[]) };
        test.take(1, FromProbe::Window(Box::new(result)));
    };
    for at in [0, 1, 2, 2] {
        lost(&mut test, at, 0);
    }
    // It was killed, and runs again.
    lost(&mut test, 6, 0);
    // Its spool was full.
    lost(&mut test, 9, 2);
    lost(&mut test, 10, 2);
    let health = test.controller.health().nth(1).expect("a node");
    let second = |ns: u64| (ns - START) / SECOND;
    let gap = |gap: &controller::HealthGap| {
        (second(gap.window.start_ns), second(gap.window.end_ns), gap.reason.to_string())
    };
    let gaps: Vec<_> = health.lacks.gaps.iter().map(gap).collect();
    assert_eq!(gaps, [(3, 6, "not_sent".to_owned()), (7, 9, "spool_full".to_owned())]);
    assert_eq!(health.windows.lost, 2);
    let missing = |reason: &str| health.lacks.missing.get(reason).copied().unwrap_or_default();
    assert_eq!(missing("not_sent"), controller::MissingTally { windows: 3, ns: 3 * SECOND });
    assert_eq!(missing("spool_full"), controller::MissingTally { windows: 2, ns: 2 * SECOND });
    // Of eleven seconds, windows of six came.
    assert_eq!(health.watched(), Some(6.0 / 11.0));
}

/// An answer across nodes lacks the times of a node that never came, and no time of a window that came without the answer.
#[test]
fn an_answer_across_nodes_has_the_gaps_of_a_node_and_no_other_time() {
    let (mut test, parts) = across_nodes();
    let window = |test: &mut Test, node: usize, at: u64, has_list: bool, lost: u64| {
        let is_long = at >= 3 && at % 2 == 1;
        let counts: &[_] = if is_long { &[("all", 7), ("long", 28)] } else { &[("all", 7)] };
        let mut result = result(node, at, if has_list { counts } else { &[] });
        for answer in &mut result.answers {
            match (answer.query.as_str(), &mut answer.window) {
                ("totals", _) => {}
                ("long", Some(window)) => {
                    window.start_ns = window.end_ns - 4 * SECOND;
                    answer.columns[0].name.clone_from(&parts[1]);
                }
                _ => answer.columns[0].name.clone_from(&parts[0]),
            }
        }
        test.take(node, FromProbe::Window(Box::new(WindowResult { lost, ..result })));
    };
    for at in 0..3 {
        test.tick(at + 1);
        window(&mut test, 0, at, true, 0);
        window(&mut test, 1, at, true, 0);
    }
    test.tick(3);
    // B was killed, and runs again without its list for a second. Then its spool was full.
    for (at, has_list, lost) in [(5, false, 0), (6, true, 0), (8, true, 1), (9, true, 1)] {
        test.tick(at + 1);
        window(&mut test, 1, at, has_list, lost);
    }
    (3..10).for_each(|at| window(&mut test, 0, at, true, 0));
    test.tick(12);
    let second = |ns: u64| (ns - START) / SECOND;
    let missing = |query: &str, end: u64| -> Vec<(u64, u64, &str)> {
        let of_window = |output: &&ControllerOutput| {
            matches!(output, ControllerOutput::Answer(answer)
            if answer.query == query && answer.window.is_some_and(|window| second(window.end_ns) == end))
        };
        let Some(ControllerOutput::Answer(answer)) = test.shown.iter().find(of_window) else {
            panic!("{query} at {end}: {:?}", test.shown)
        };
        assert_eq!(answer.status, model::AnswerStatus::Partial, "{query} at {end}");
        assert_eq!(answer.reason.as_deref(), Some("no answer of B"), "{query} at {end}");
        let span = |of: &model::Missing| (second(of.span.start_ns), second(of.span.end_ns), of.reason.name());
        answer.missing.iter().map(span).collect()
    };
    assert_eq!(missing("all", 4), [(3, 4, "not_sent")]);
    assert_eq!(missing("all", 5), [(4, 5, "not_sent")]);
    // That window came.
    assert_eq!(missing("all", 6), []);
    assert_eq!(missing("all", 8), [(7, 8, "spool_full")]);
    // Of four seconds, those that never came.
    assert_eq!(missing("long", 6), [(3, 5, "not_sent")]);
    assert_eq!(missing("long", 8), [(4, 5, "not_sent"), (7, 8, "spool_full")]);
}

/// A probe is killed, and the controller while it is away: what is missing is known to the next controller, also between the last window that
/// the one took and the first that the other takes.
#[test]
fn what_is_missing_outlasts_the_controller() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    for at in [0, 1, 5] {
        test.window(1, at, &[]);
        test.window(0, at, &[("a", 1)]);
    }
    let saved = serde_json::to_string(&test.controller.save()).expect("JSON");
    let lacks: Vec<(String, String)> = test
        .controller
        .lacks()
        .map(|(name, lacks, _)| (name.to_owned(), serde_json::to_string(lacks).expect("JSON")))
        .collect();

    let mut next = Test::new(CHAIN);
    next.controller.restore(serde_json::from_str(&saved).expect("its own"), [], events::StoryLog::default());
    let lacks = lacks.into_iter().map(|(name, text)| (name, serde_json::from_str(&text).expect("its own")));
    next.controller.restore_lacks(lacks);
    next.tick(10);
    next.window(1, 9, &[]);
    let health = next.controller.health().nth(1).expect("a node");
    let second = |ns: u64| (ns - START) / SECOND;
    let gaps: Vec<_> = health
        .lacks
        .gaps
        .iter()
        .map(|gap| (second(gap.window.start_ns), second(gap.window.end_ns)))
        .collect();
    assert_eq!(gaps, [(2, 5), (6, 9)]);
    let missing = controller::MissingTally { windows: 6, ns: 6 * SECOND };
    assert_eq!(
        health.lacks.missing.iter().map(|(name, of)| (&**name, *of)).collect::<Vec<_>>(),
        [("not_sent", missing)]
    );
    assert_eq!(health.watched(), Some(4.0 / 10.0));
}

/// Windows that a node lacked before it was taken out of the settings do not count once it is put back.
#[test]
fn a_node_that_was_taken_out_and_put_back_is_counted_from_then_on() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    for at in [0, 5] {
        test.window(1, at, &[]);
    }
    let lacks: Vec<_> =
        test.controller.lacks().map(|(name, lacks, _)| (name.to_owned(), lacks.clone())).collect();
    // The controllers without it have saved a state that does not know it.
    let saved = Test::new(CHAIN).controller.save();
    let mut next = Test::new(CHAIN);
    next.controller.restore(saved, [], events::StoryLog::default());
    next.controller.restore_lacks(lacks);
    let of_b =
        |test: &Test| test.controller.lacks().nth(1).map(|(_, lacks, version)| (lacks.clone(), version));
    let (lacks, version) = of_b(&next).expect("a node");
    assert_eq!((lacks.gaps.len(), lacks.missing.len()), (1, 0));
    assert_ne!(version, 0, "the archive forgets them too");
    next.tick(10);
    next.window(1, 8, &[]);
    next.window(1, 9, &[]);
    assert_eq!(next.controller.health().nth(1).expect("a node").watched(), Some(1.0));
}

#[test]
fn a_window_that_waits_is_settled_before_other_queries_come() {
    let mut test = that_looks_back();
    let more = format!("another: select sum(total_count) as n where node_id = B every 1s;\n{SAME_WINDOW}");
    let actions = test.controller.replace(queries(&more, &NODES).chain().clone());
    test.shown.extend(actions.show);
    test.sent.extend(actions.send);
    assert_eq!(test.events(), [(EventKind::Fired, "b", 3), (EventKind::Missed, "b", 3)]);
    assert!(
        test.warnings().iter().any(|line| line.contains("the queries were changed")),
        "{:?}",
        test.warnings()
    );
    assert_eq!(test.look_backs(1), []);
    test.tick(4);
    test.window(0, 3, &[("a", 1)]);
    test.window(1, 3, &[]);
    assert_eq!(test.events().last(), Some(&(EventKind::Resolved, "b", 4)));
}

#[test]
fn a_capture_of_which_nothing_is_heard_is_told() {
    let mut test = Test::new(
        "a: select sum(total_count) as n where node_id = A every 1s;\n\
         b: select count(*) where dst_port = 443, node_id = B every 1s when a.n > 5 capture 10 packets;",
    );
    test.tick(0);
    for at in 0..70 {
        test.tick(at + 1);
        test.window(0, at, &[("a", 9)]);
        test.window(1, at, &[]);
    }
    let captured: Vec<_> = test
        .shown
        .iter()
        .filter_map(|output| match output {
            ControllerOutput::Captured(captured) => {
                Some((captured.0.as_str(), captured.1.refused.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(captured, [("B", Some("it did not say how the capture ended"))]);
    // A capture that is no longer wanted, and the answer to a request that was not made, are counted.
    let captured = protocol::Captured { id: "x".to_owned(), ..protocol::Captured::default() };
    test.take(1, FromProbe::Captured(Box::new(captured)));
    let window = Span { start_ns: START, end_ns: START + SECOND };
    let answers = result(1, 0, &[("b", 4)]).answers;
    let number = answers.len() as u64;
    test.take(
        1,
        FromProbe::LookedBack(Box::new(protocol::LookedBack { id: 9, window, answers, missing: None })),
    );
    assert_eq!(test.not_taken(1, "unasked"), 1 + number);
}

#[test]
fn a_node_that_is_wrong_in_turns_fills_no_log() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    let (wanted, _) = test.list(0).expect("a list");
    for number in 0..1_000_u64 {
        test.take(0, FromProbe::Refused { list: wanted, reason: format!("{number}{}", "x".repeat(10_000)) });
        let longer = Span { start_ns: START, end_ns: START + 7 * SECOND };
        test.take(0, FromProbe::Window(Box::new(WindowResult::new(longer, Vec::new()))));
        test.window(0, 0, &[("a", 1)]);
    }
    assert_eq!(test.not_taken(0, "wrong_window"), 1_000);
    assert_eq!(test.warnings().len(), 20);
    assert!(test.warnings().iter().all(|line| line.len() < 3_000));
}

#[test]
fn a_window_has_no_end_of_results() {
    let mut test = Test::new(CHAIN);
    test.tick(1);
    for _ in 0..1_000 {
        test.window(0, 0, &[("a", 1)]);
        let empty = Span { start_ns: START + SECOND, end_ns: START + 2 * SECOND };
        let empty = WindowResult { empty: Some(1), ..WindowResult::new(empty, Vec::new()) };
        test.take(0, FromProbe::Window(Box::new(empty)));
    }
    assert_eq!(test.not_taken(0, "repeated"), 1_000 - 17);
    let answers = test.controller.unsettled().map(|(_, result)| result.answers.len());
    // Two answers of each result.
    assert_eq!(answers.collect::<Vec<_>>(), [2 * 17]);
    let saved = serde_json::to_string(&test.controller.save()).expect("JSON");
    assert_eq!(saved.matches("\"empty\":[").count(), 1);
    assert!(saved.len() < 2_000, "{saved}");
}
