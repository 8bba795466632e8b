//! What stands on the screen, held against the state that it is drawn from.

use crate::{ApiConnection, KeyPress, LiveCounts, StatusOrigin, StoryLine, Ui, View, ViewModel, draw};
use crate::{FirstWindow, Reaction};
use model::view::{
    Edge, EventView, Mode, NodeState, NodeView, Note, Phase, QueryState, QueryView, Status, Trigger,
    WindowTotals,
};
use model::{Account, Answer, Column, ColumnKind, Counters, Event, EventKind, PacketCounts, Span, Value};
use notation::grouped;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::{Duration, Instant};
use terminal::{node_state, when};

const START: u64 = 1_795_534_800_000_000_000;
const SECOND: u64 = 1_000_000_000;
const SIZES: [(u16, u16); 3] = [(80, 24), (200, 50), (20, 5)];

/// The lines of the screen.
fn shown(ui: &mut Ui, model: &ViewModel, (columns, rows): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal.draw(|frame| draw(ui, model, frame.buffer_mut())).expect("drawn");
    let buffer = terminal.backend().buffer();
    let line = |row| (0..columns).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    (0..rows).map(|row| line(row).trim_end().to_owned()).collect()
}

fn span(end: u64) -> Span {
    Span { start_ns: START, end_ns: START + end * SECOND }
}

fn packets(received: u64) -> PacketCounts {
    let not_measured = [("arp", 60), ("filter", 40)].into_iter().collect();
    PacketCounts { received, measured: received - 100, not_measured, ..PacketCounts::default() }
}

fn table(query: &str, node: &str, rows: u64) -> Answer {
    let column = |name, kind| Column::new(name, kind, "");
    let columns = vec![
        column("dst_addr", ColumnKind::Address),
        column("total_count", ColumnKind::Unsigned),
        column("total_byte", ColumnKind::Unsigned),
    ];
    let row = |number: u64| {
        let address = std::net::Ipv4Addr::from(0xc000_0200 + u32::try_from(number).expect("few"));
        vec![
            Value::Address(address.into()),
            Value::Unsigned(1_000_000 - number),
            Value::Unsigned(9_000_000 - number),
        ]
    };
    let mut answer = Answer::new(query, Some(span(10)), columns, (0..rows).map(row).collect());
    answer.node = Some(node.to_owned());
    answer
}

fn totals(node: &str) -> Answer {
    let columns = ["total_count", "total_byte", "wire_byte", "flows"];
    let columns = columns.map(|name| Column::new(name, ColumnKind::Unsigned, "")).to_vec();
    let row = [2_000, 1_000_000, 1_250_000, 40].map(Value::Unsigned).to_vec();
    let mut answer = Answer::new("totals", Some(span(10)), columns, vec![row]);
    answer.node = Some(node.to_owned());
    answer.account = Some(Account { packets: packets(2_100), loss: Some(Counters::default()) });
    answer
}

fn node(name: &str, state: NodeState) -> NodeView {
    NodeView {
        name: name.to_owned(),
        state,
        coverage: Some(0.9967),
        window: Some(span(10)),
        packets: packets(1_234_567),
        loss: Some([("imissed", 7)].into_iter().collect()),
        last: Some(Account { packets: packets(2_100), loss: Some([("imissed", 7)].into_iter().collect()) }),
        ..NodeView::default()
    }
}

/// A controller of two nodes with a chain that has fired.
fn controller() -> ViewModel {
    let mut model = ViewModel::new(StatusOrigin::Api { address: "http://192.0.2.1:8080".to_owned() });
    model.status = Status {
        mode: Mode::Controller,
        now_ns: START + 3_725 * SECOND,
        started_ns: START,
        nodes: vec![node("Node1", NodeState::Up), node("Node2", NodeState::Down)],
        windows: WindowTotals { complete: 120, partial: 3, ..WindowTotals::default() },
        ..Status::default()
    };
    let edge = Edge {
        node: Some("Node1".to_owned()),
        phase: Phase::Active,
        keys: 2,
        since_ns: Some(START),
        until_ns: None,
        event: None,
    };
    let trigger = Trigger {
        parent: "n1".to_owned(),
        condition: "n1.lost > 0".to_owned(),
        edges: vec![edge],
        ..Trigger::default()
    };
    let flood = table("n1", "Node1", 30);
    model.queries = vec![
        QueryView {
            name: "n1".to_owned(),
            columns: flood.columns.clone(),
            latest: vec![flood],
            ..QueryView::default()
        },
        QueryView {
            name: "behind".to_owned(),
            text: "behind: select …".to_owned(),
            state: QueryState::Running,
            trigger: Some(trigger),
            ..QueryView::default()
        },
    ];
    let event = Event {
        event: "e1".to_owned(),
        kind: EventKind::Fired,
        query: "behind".to_owned(),
        fired_by: None,
        key: Vec::new(),
        node: Some("Node1".to_owned()),
        at_ns: START + 10 * SECOND,
        window: Some(span(10)),
        values: Vec::new(),
        threshold: Some(0.0),
        late: false,
        coverage: None,
        bounds: None,
        parent: None,
        title: Some("Packets are lost behind Node1".to_owned()),
    };
    model.event(EventView {
        event,
        story: Some("e1".to_owned()),
        text: "behind fired on Node1".to_owned(),
        silenced_until: None,
    });
    model.story(StoryLine {
        id: "e1".to_owned(),
        title: None,
        text: "Losses at Node1\nthey are behind it".to_owned(),
        events: 1,
        is_acknowledged: false,
        is_silent: false,
    });
    model
}

/// A run of one node, filled by itself.
fn run() -> ViewModel {
    let mut model = ViewModel::new(StatusOrigin::Own { first_window: FirstWindow::At(START) });
    model.status.sources = vec!["eth0".to_owned()];
    model.status.nodes = vec![node("here", NodeState::Up)];
    model.moment = Some(LiveCounts {
        elapsed: Duration::from_secs(72),
        received: 7_654_321,
        rate: 20_000.0,
        flows: 321,
        table_full: 20,
    });
    model.answer(&totals("here"));
    model.answer(&table("top_bytes", "here", 40));
    model.answer(&table("top_packets", "here", 40));
    model
}

#[test]
fn now_has_the_figures_of_the_run_at_any_size() {
    let model = run();
    for size in SIZES {
        let lines = shown(&mut Ui::new(false, true), &model, size);
        assert_eq!(lines.len(), usize::from(size.1));
        let text = lines.join("\n");
        let received = format!("{} packets", grouped(7_654_321));
        assert!(text.contains(&received) && text.contains("20.00 kpps"), "{text}");
        if size.0 < 80 {
            assert!(text.contains("loss 7"), "{text}");
            continue;
        }
        assert_eq!(lines[1], "1.00 Mbps in 40 flows");
        assert_eq!(lines[2], "source    eth0, for 1 min 12 s (Ctrl-C ends)");
        assert_eq!(lines[3], "now       20.00 kpps, 7,654,321 packets received, 321 flows open");
        for words in [
            when(span(10)).as_str(),
            "1,000,000 L3 bytes in 40 flows over 10 s: 200 pps, 1.00 Mbps",
            "2,100 received = 2,000 measured + 100 not measured",
            "imissed 7",
            "20 packets came when the table was full",
            "Flows with the most bytes",
            "192.0.2.0",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        // As many rows as fit, of as many tables.
        let rows = lines.iter().filter(|line| line.trim_start().starts_with("192.0.2.")).count();
        let least = usize::from(size.1) - 20;
        assert!(rows >= least, "{rows} rows: {text}");
    }
}

#[test]
fn the_first_line_says_what_matters_most() {
    let first = |model: &ViewModel| shown(&mut Ui::new(false, true), model, (200, 50))[1].clone();
    let mut model = run();
    let columns = ["src_addr", "dst_addr"].map(|name| Column::new(name, ColumnKind::Address, ""));
    let bytes = Column::new("total_byte", ColumnKind::Unsigned, "bytes");
    let addresses = [[192, 0, 2, 1], [192, 0, 2, 2]].map(|address| Value::Address(address.into()));
    let row = [&addresses[..], &[Value::Unsigned(456_789)]].concat();
    let mut top = Answer::new("top_bytes", Some(span(10)), [&columns[..], &[bytes]].concat(), vec![row]);
    top.node = Some("here".to_owned());
    model.answer(&top);
    assert_eq!(first(&model), "1.00 Mbps in 40 flows, 45.6 % of it from 192.0.2.1 to 192.0.2.2");
    // A share of the packets is lost before they are measured.
    model.status.nodes[0].coverage = Some(0.98999);
    assert_eq!(first(&model), "here measures 98.9 % of its packets: the others are lost before it");
    let mut model = controller();
    assert_eq!(first(&model), "behind fires since 2026-11-24 15:40:00 UTC; 1 more");
    if let Some(trigger) = &mut model.queries[1].trigger {
        trigger.edges[0].event = Some("e1".to_owned());
        trigger.edges[0].keys = 1;
    }
    assert_eq!(first(&model), "Packets are lost behind Node1 since 2026-11-24 15:40:00 UTC");
    model.queries[1].trigger = None;
    assert_eq!(first(&model), "Of 2 nodes, 1 down");
    model.link = ApiConnection::Away { since: Instant::now(), reason: "refused".to_owned() };
    assert_eq!(first(&model), "Nothing answers: what is shown is older");
}

#[test]
fn before_the_first_window_it_is_said_when_that_ends() {
    let mut model = run();
    model.status.nodes[0] = NodeView { name: "here".to_owned(), state: NodeState::Up, ..NodeView::default() };
    let text = shown(&mut Ui::new(false, true), &model, (80, 24)).join("\n");
    assert!(text.contains("the first one ends at 2026-11-24 15:40:00 UTC"), "{text}");
    let small = shown(&mut Ui::new(false, true), &model, (20, 5)).join("\n");
    assert!(
        small.contains("loss unknown"),
        "a loss that is not counted is shown as unknown, not as 0: {small}"
    );
}

#[test]
fn nodes_say_their_state_in_words_and_what_is_unknown() {
    let mut model = controller();
    model.status.nodes[1].loss = None;
    model.status.nodes[1].coverage = None;
    let mut ui = Ui::new(false, true);
    ui.press(KeyPress::Letter('3'), &model);
    for size in [(80, 24), (200, 50)] {
        let lines = shown(&mut ui, &model, size);
        for node in &model.status.nodes {
            let line = lines.iter().find(|line| line.contains(&node.name)).expect("a line");
            assert!(line.contains(node_state(node.state)), "{line}");
            assert!(line.contains(&grouped(node.packets.received)), "{line}");
            assert_eq!(line.contains("210 pps"), node.state == NodeState::Up, "{line}");
            assert_eq!(line.contains("99.67 %"), node.coverage.is_some(), "{line}");
            assert!(node.loss.is_some() || line.contains("unknown"), "{line}");
        }
        let text = lines.join("\n");
        assert!(text.contains("windows: 120 complete, 3 partial"), "{text}");
    }
    let lines = shown(&mut Ui::new(false, true), &model, (80, 24)).join("\n");
    assert!(lines.contains("7 counted; unknown at 1 of 2 node(s)"), "{lines}");
    assert_eq!(shown(&mut ui, &model, (20, 5))[0], "1 of 2 up 210 pps");
}

#[test]
fn a_rate_is_over_the_time_that_was_watched_and_unknown_before_that_is() {
    let mut model = controller();
    for query in &mut model.queries {
        query.latest.clear();
    }
    assert_eq!(model.rate(), Some(210.0));
    model.status.mode = Mode::Run;
    assert_eq!(model.rate(), None);
    let mut cut = totals("Node1");
    cut.watched = Some(Span { start_ns: START + 8 * SECOND, end_ns: START + 10 * SECOND });
    model.answer(&cut);
    assert_eq!(model.rate(), Some(1_050.0));
    // Another node's answer says nothing of this one's window.
    let mut other = totals("Node2");
    other.watched = cut.watched;
    let mut model = controller();
    model.status.mode = Mode::Run;
    model.answer(&other);
    assert_eq!(model.rate(), Some(210.0));
    model.status.nodes[0].state = NodeState::Ended;
    assert_eq!(model.rate(), None);
    let mut ui = Ui::new(false, true);
    ui.press(KeyPress::Letter('3'), &model);
    assert!(!shown(&mut ui, &model, (80, 24)).join("\n").contains("pps"));
}

#[test]
fn a_run_that_has_ended_has_one_account_before_and_after_its_answers_are_known() {
    let mut model = ViewModel::new(StatusOrigin::Api { address: "http://192.0.2.1:8080".to_owned() });
    model.status = Status { ended: true, span: Some(span(60)), ..run().status };
    let account = |model: &ViewModel| {
        let lines = shown(&mut Ui::new(false, true), model, (80, 24));
        let is_meant = |line: &&String| line.starts_with("time ") || line.starts_with("packets ");
        lines.iter().filter(is_meant).cloned().collect::<Vec<_>>()
    };
    let before = account(&model);
    assert_eq!(before.len(), 2, "{before:?}");
    assert!(before[0].contains(&when(span(60))) && before[1].contains("1,234,567 received"), "{before:?}");
    let mut of_run = totals("here");
    of_run.window = None;
    model.answer(&of_run);
    assert_eq!(account(&model), before);
}

#[test]
fn the_last_line_names_keys_that_do_something() {
    let model = run();
    let last = |ui: &mut Ui, size| shown(ui, &model, size).last().cloned().expect("a line");
    let mut ui = Ui::new(false, true);
    assert!(last(&mut ui, (40, 8)).starts_with("q quit  ? help"));
    for letter in "/a filter that is longer than what the line can show".chars() {
        ui.press(KeyPress::Letter(letter), &model);
    }
    ui.press(KeyPress::Enter, &model);
    let line = last(&mut ui, (80, 24));
    assert!(line.starts_with("only lines with 'a filter") && line.contains("q quit  ? help"), "{line}");
    assert!(last(&mut Ui::new(false, false), (80, 24)).starts_with("Ctrl-C quits"));
    ui.press(KeyPress::Letter('?'), &model);
    let help = shown(&mut ui, &model, (80, 24));
    assert!(!help[..23].iter().any(|line| line.contains('…')), "{help:?}");
}

#[test]
fn chains_have_phases_and_stories_open() {
    let model = controller();
    let mut ui = Ui::new(false, true);
    ui.press(KeyPress::Letter('2'), &model);
    for size in [(80, 24), (200, 50)] {
        let text = shown(&mut ui, &model, size).join("\n");
        for words in [
            "n1  standing",
            "└ behind  running, active for 2 key(s) on Node1  when n1.lost > 0",
            "Losses at Node1 (1 event(s))",
            "  behind fired on Node1",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    // The third thing to choose is the story.
    for key in [KeyPress::Down, KeyPress::Down, KeyPress::Enter] {
        ui.press(key, &model);
    }
    let text = shown(&mut ui, &model, (80, 24)).join("\n");
    assert!(text.contains("Story e1, 1 event(s)") && text.contains("they are behind it"), "{text}");
    ui.press(KeyPress::Escape, &model);
    // What is chosen stays chosen where something is put before it.
    let mut more = model.clone();
    more.story(StoryLine {
        id: "e2".to_owned(),
        title: Some("Another one".to_owned()),
        text: "Its first step".to_owned(),
        events: 1,
        is_acknowledged: true,
        is_silent: true,
    });
    let lines = shown(&mut ui, &more, (80, 24));
    assert!(lines.iter().any(|line| line.starts_with("> Losses at Node1")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("Another one (1 event(s), seen, silent)")), "{lines:?}");
}

#[test]
fn an_answer_opens_and_a_filter_leaves_the_others_out() {
    let model = run();
    let mut ui = Ui::new(false, true);
    let packets = "Flows with the most packets";
    for letter in "/top_packets".chars() {
        ui.press(KeyPress::Letter(letter), &model);
    }
    ui.press(KeyPress::Enter, &model);
    let text = shown(&mut ui, &model, (80, 24)).join("\n");
    assert!(text.contains(packets) && !text.contains("most bytes"), "{text}");
    assert!(text.contains("only lines with 'top_packets'"), "{text}");
    ui.press(KeyPress::Enter, &model);
    ui.press(KeyPress::End, &model);
    let text = shown(&mut ui, &model, (80, 24)).join("\n");
    assert!(text.contains("192.0.2.39") && !text.contains(packets), "the end of the table: {text}");
    ui.press(KeyPress::Home, &model);
    assert!(shown(&mut ui, &model, (80, 24))[1].contains(packets));
    assert_eq!(ui.press(KeyPress::Letter('q'), &model), Reaction::Leave);
}

#[test]
fn who_is_away_is_said_and_what_is_known_stays() {
    let mut model = controller();
    let reason = "http://192.0.2.1:8080: the controller does not answer: connection refused".to_owned();
    model.link = ApiConnection::Away { since: Instant::now(), reason };
    for view in ['1', '2', '3'] {
        let mut ui = Ui::new(false, true);
        ui.press(KeyPress::Letter(view), &model);
        let text = shown(&mut ui, &model, (80, 24)).join("\n");
        assert!(text.contains("away ") && text.contains("connection refused"), "{text}");
        assert!(text.contains("Node1"), "{text}");
    }
    assert_eq!(shown(&mut Ui::new(false, true), &model, (20, 5))[0], "away");
}

#[test]
fn any_text_at_any_size_with_any_keys_stays_in_its_place() {
    let evil = "\x1b[2J\u{9b}1m\r\n\u{202e}日本語\u{200b}e\u{301}👩‍👩‍👧 ".repeat(9);
    let mut model = controller();
    model.status.nodes[0].name.clone_from(&evil);
    model.status.nodes[1].tasks.refused = Some(evil.clone());
    model.status.sources = vec![evil.clone()];
    model.status.notes = vec![Note { at_ns: START, text: evil.clone() }];
    model.queries[1].name.clone_from(&evil);
    model.queries[1].text.clone_from(&evil);
    model.queries[0].latest[0].reason = Some(evil.clone());
    model.story(StoryLine {
        id: evil.clone(),
        title: Some(evil.clone()),
        text: evil.clone(),
        events: u64::MAX,
        is_acknowledged: true,
        is_silent: true,
    });
    // Queries that start each other.
    for (name, parent) in [("a", "b"), ("b", "a")] {
        let trigger = Some(Trigger { parent: parent.to_owned(), ..Trigger::default() });
        model.queries.push(QueryView { name: name.to_owned(), trigger, ..QueryView::default() });
    }
    let keys = [
        KeyPress::Down,
        KeyPress::Up,
        KeyPress::PageDown,
        KeyPress::PageUp,
        KeyPress::Home,
        KeyPress::End,
        KeyPress::Enter,
        KeyPress::Escape,
        KeyPress::Tab,
        KeyPress::BackTab,
        KeyPress::Backspace,
        KeyPress::Letter('/'),
        KeyPress::Letter('?'),
        KeyPress::Letter('2'),
        KeyPress::Letter('日'),
    ];
    // A linear congruential generator chooses keys and sizes.
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut ui = Ui::new(true, true);
    for _ in 0..3_000 {
        let key = keys[usize::try_from(next(keys.len() as u64)).expect("few")];
        ui.press(key, &model);
        let size = [next(220), next(60)].map(|size| u16::try_from(size).expect("small"));
        let mut buffer = ratatui::buffer::Buffer::empty(ratatui::layout::Rect::new(0, 0, size[0], size[1]));
        draw(&mut ui, &model, &mut buffer);
        let harmful = |letter: char| letter.is_control() || letter == '\u{202e}';
        assert!(!buffer.content.iter().any(|cell| cell.symbol().contains(harmful)), "{buffer:?}");
    }
    assert!(View::ALL.contains(&ui.view));
}

#[test]
fn colours_are_an_aid_that_can_be_left_out() {
    let model = controller();
    let colours = |is_coloured| {
        let mut ui = Ui::new(is_coloured, true);
        ui.press(KeyPress::Letter('3'), &model);
        let mut buffer = ratatui::buffer::Buffer::empty(ratatui::layout::Rect::new(0, 0, 80, 24));
        draw(&mut ui, &model, &mut buffer);
        buffer.content.iter().filter(|cell| cell.fg != ratatui::style::Color::Reset).count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 0);
}
