//! Something to show, with texts that mean something in JSON, HTML, SQL and streams.

use archive::{Archive, ArchiveChanges, ArchiveRetention, EndedCapture};
use model::{
    Account, Answer, Capture, Column, ColumnKind, Counters, Event, EventKind, Item, PacketCounts, Span,
    Story, Value,
};
use web::view::{
    AlertmanagerView, Broker, BrokerState, Clock, Coordinates, Delivered, Edge, Fault, Gap, KernelClock,
    KeyState, Load, MissingWindows, Mode, NodeState, NodeView, Note, Phase, QueryState, QueryView, Run, Site,
    Spool, Status, Store, TaskState, Threshold, Trigger, WindowTotals,
};
use web::{Hub, Server};

pub(crate) const HOSTILE: &str =
    "</script><img src=x onerror=alert(1)>\"'\\\n\r\ndata: x\n\nevent: y; DROP TABLE events--\0ü\u{2028}";
pub(crate) const START: u64 = 1_795_534_800_000_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn hub() -> Hub {
    Hub::new(Archive::in_memory(ArchiveRetention::default()).expect("an archive"))
}

pub(crate) fn serve(hub: &Hub) -> Server {
    web::serve(hub.clone(), "127.0.0.1:0".parse().expect("an address"), None).expect("a server")
}

pub(crate) fn window(number: u64) -> Span {
    let start_ns = START + number * 10 * SECOND;
    Span { start_ns, end_ns: start_ns + 10 * SECOND }
}

pub(crate) fn columns() -> Vec<Column> {
    vec![
        Column::new("dst_addr", ColumnKind::Address, ""),
        Column::new("total_byte", ColumnKind::Unsigned, "bytes"),
        Column::new("sources", ColumnKind::Estimate, ""),
        Column::new("text", ColumnKind::Text, ""),
    ]
}

pub(crate) fn answer(number: u64, node: Option<&str>) -> Answer {
    let row = vec![
        Value::Address("192.0.2.7".parse().expect("an address")),
        Value::Unsigned(u64::MAX - number),
        Value::Estimate { value: 7.5, lower: 7.0, upper: f64::INFINITY },
        Value::Text(HOSTILE.to_owned()),
    ];
    let node = node.map(str::to_owned);
    Answer { node, coverage: Some(0.25), ..Answer::new("q1", Some(window(number)), columns(), vec![row]) }
}

/// With all members that an answer may have.
pub(crate) fn totals() -> Answer {
    let packets = packets();
    let columns = vec![Column::new("total_count", ColumnKind::Unsigned, "packets")];
    let mut answer = Answer::new("totals", Some(window(0)), columns, vec![vec![Value::Null]]);
    answer.bound = event("", EventKind::Fired, 0).key;
    answer.late = true;
    answer.revision = 3;
    answer.watched = Some(window(0));
    answer.empty = Some(1);
    answer.mark_partial("a reason");
    answer.account = Some(Account { packets, loss: None });
    answer.task = Some(model::TaskNote {
        text: "entropy".to_owned(),
        structure: "a sketch".to_owned(),
        why: "memory".to_owned(),
        memory_bytes: 1,
        total: 2,
        lost: None,
        most_unlisted: None,
    });
    answer
}

pub(crate) fn event(id: &str, kind: EventKind, at_ns: u64) -> Event {
    let item = |name: &str, kind, value| Item { column: Column::new(name, kind, ""), value };
    Event {
        event: id.to_owned(),
        kind,
        query: "q2".to_owned(),
        fired_by: Some("q1".to_owned()),
        key: vec![item("name", ColumnKind::Text, Value::Text(HOSTILE.to_owned()))],
        node: Some("Node1".to_owned()),
        at_ns,
        window: Some(window(0)),
        values: vec![item("count", ColumnKind::Unsigned, Value::Unsigned(u64::MAX))],
        threshold: Some(1000.0),
        late: false,
        coverage: None,
        bounds: None,
        parent: None,
        title: None,
    }
}

pub(crate) fn story() -> Story {
    let events = vec!["e1".to_owned(), "e2".to_owned(), "gone".to_owned()];
    Story {
        id: "e1".to_owned(),
        title: Some(HOSTILE.to_owned()),
        text: HOSTILE.to_owned(),
        events,
        events_unlisted: 4,
    }
}

pub(crate) fn changes() -> ArchiveChanges {
    ArchiveChanges {
        answers: vec![
            answer(0, Some("Node1")),
            answer(1, Some("Node2")),
            answer(2, None),
            totals(),
            Answer::new("hosts", None, columns(), Vec::new()),
        ],
        events: vec![
            event("e1", EventKind::Fired, START + 10 * SECOND),
            event("e2", EventKind::Resolved, START + 20 * SECOND),
            event("e3", EventKind::Missed, START + 30 * SECOND),
        ],
        stories: vec![story()],
        captures: captures(),
        ..ArchiveChanges::default()
    }
}

/// The file of a capture.
pub(crate) const PACKETS: &[u8] = b"\x0a\x0d\x0d\x0a\0\xff";

/// One whose file is here, one that is too large, one that was refused, and one of an event without a story; with names of strangers.
pub(crate) fn captures() -> Vec<EndedCapture> {
    let capture = |event: &str, node: &str, file: Option<&str>, refused: Option<&str>| Capture {
        event: event.to_owned(),
        node: node.to_owned(),
        query: "q2".to_owned(),
        packets: 10,
        bytes: u64::MAX,
        file: file.map(str::to_owned),
        ended_by: "packets".to_owned(),
        dropped: [("capture_rate", 3)].into_iter().collect(),
        cut: true,
        refused: refused.map(str::to_owned),
    };
    let here = EndedCapture {
        capture: capture("e1", "Node1", Some(HOSTILE), None),
        content: Some(PACKETS.to_vec()),
    };
    let strange = EndedCapture {
        capture: capture("e3", HOSTILE, Some("../../etc/passwd"), None),
        content: Some(PACKETS.to_vec()),
    };
    let large = EndedCapture { capture: capture("e2", "Node1", Some(HOSTILE), None), content: None };
    let refused = EndedCapture { capture: capture("e2", "Node2", None, Some(HOSTILE)), content: None };
    vec![here, strange, large, refused]
}

fn packets() -> PacketCounts {
    let not_measured: Counters = [("arp", 3)].into_iter().collect();
    PacketCounts { received: 10, measured: 7, not_measured, remarks: Counters::default() }
}

pub(crate) fn status() -> Status {
    let node = NodeView {
        name: "Node1".to_owned(),
        state: NodeState::Up,
        site: Some(Site {
            name: Some(HOSTILE.to_owned()),
            at: Some(Coordinates { latitude: 41.88, longitude: -87.63 }),
        }),
        seen_ns: Some(START),
        coverage: Some(0.5),
        window: Some(window(0)),
        packets: packets(),
        loss: Some([("imissed", u64::MAX)].into_iter().collect()),
        last: Some(Account { packets: packets(), loss: None }),
        spool: Spool {
            messages: 1,
            bytes: 2,
            shortened: 4,
            dropped: 3,
            unwritten: 5,
            fault: Some(HOSTILE.to_owned()),
        },
        store: Some(Store { files: 1, bytes: 2, lost: 3, fault: Some(HOSTILE.to_owned()) }),
        clock: Some(Clock {
            kernel: KernelClock { synchronised: Some(true), max_error_ns: Some(5) },
            ahead_s: Some(-0.25),
        }),
        load: Some(Load { busy: Some(0.5), flows: 7, most_flows: Some(u64::MAX) }),
        tasks: TaskState { wanted: 2, applied: Some(1), refused: Some(HOSTILE.to_owned()), lapsed: 0 },
        version: Some("0.1.0".to_owned()),
        sources: vec!["eth0".to_owned()],
        missing: vec![MissingWindows { reason: "not_sent".to_owned(), windows: 6, seconds: 6.0 }],
        watched: Some(0.9),
        gaps: vec![Gap { start_ns: START, end_ns: START + SECOND, reason: "too_late".to_owned() }],
        refused: [("too_large", 2)].into_iter().collect(),
    };
    Status {
        mode: Mode::Controller,
        version: "0.1.0".to_owned(),
        now_ns: 0,
        started_ns: START,
        ended: false,
        sources: vec![HOSTILE.to_owned()],
        span: Some(window(0)),
        history: true,
        broker: Some(Broker {
            state: BrokerState::Away,
            since_ns: START,
            reason: Some("refused".to_owned()),
        }),
        kafka: Some(Delivered {
            delivered: 1,
            bytes: 2,
            again: 3,
            lost: [("dropped", 4)].into_iter().collect(),
            problems: [("away", 5)].into_iter().collect(),
        }),
        alertmanagers: vec![AlertmanagerView {
            address: "http://127.0.0.1:9093".to_owned(),
            fired: 1,
            resolved: 2,
            repeated: 3,
            unseen: 4,
            merged: 5,
            lost: [("refused", 6)].into_iter().collect(),
            problems: [("away", 7)].into_iter().collect(),
            fault: Some(HOSTILE.to_owned()),
        }],
        nodes: vec![node, NodeView { name: "Node2".to_owned(), ..NodeView::default() }],
        refused: [("version", 2)].into_iter().collect(),
        refused_requests: Counters::default(),
        windows: WindowTotals { complete: 1, partial: 2, late: 3, lost: 4, missing: 5, doubled: u64::MAX },
        faults: vec![
            Fault {
                fault: "archive".to_owned(),
                since_ns: START,
                until_ns: Some(START + SECOND),
                reason: HOSTILE.to_owned(),
            },
            Fault {
                fault: "broker_away".to_owned(),
                since_ns: START,
                until_ns: None,
                reason: "refused".to_owned(),
            },
        ],
        least_coverage: Some(0.999),
        notes: vec![Note { at_ns: START, text: HOSTILE.to_owned() }],
    }
}

pub(crate) fn queries() -> Vec<QueryView> {
    let parent = QueryView {
        name: "q1".to_owned(),
        text: HOSTILE.to_owned(),
        definitions: vec!["let Large = 5;".to_owned()],
        file: Some("a.eq".to_owned()),
        nodes: vec!["Node1".to_owned()],
        every_ns: Some(10 * SECOND),
        over_ns: None,
        columns: columns(),
        ..QueryView::default()
    };
    let edge = Edge {
        node: None,
        phase: Phase::NoData,
        keys: 2,
        since_ns: Some(START),
        until_ns: None,
        event: Some("e1".to_owned()),
    };
    let trigger = Trigger {
        parent: "q1".to_owned(),
        condition: "total_byte > 1000".to_owned(),
        thresholds: vec![Threshold {
            column: "total_byte".to_owned(),
            comparison: ">".to_owned(),
            value: 1000.0,
        }],
        edges: vec![edge],
        keys: vec![KeyState {
            node: Some("Node1".to_owned()),
            key: event("", EventKind::Fired, 0).key,
            phase: Phase::Recovering,
            since_ns: None,
            until_ns: Some(START + SECOND),
            event: Some("e1".to_owned()),
        }],
        ..Trigger::default()
    };
    let child = QueryView {
        name: "q2".to_owned(),
        state: QueryState::Running,
        runs: vec![Run { start_ns: START, end_ns: START + SECOND, cause: "e1".to_owned() }],
        trigger: Some(trigger),
        metric: true,
        capture: Some(100),
        ..QueryView::default()
    };
    vec![parent, child]
}

/// A hub with all of it.
pub(crate) fn full() -> Hub {
    let hub = hub();
    hub.set_status(status());
    hub.set_queries(queries());
    hub.publish(&changes()).expect("it is stored");
    hub
}
