//! What is written, to the letter: the members' names and order are those that `docs/report.md` promises.

use model::{
    Account, Answer, AnswerStatus, Class, Column, ColumnKind, Counters, Event, EventKind, Item, Missing,
    MissingReason, PacketCounts, Rest, RunReport, Span, TaskNote, Value, Window, WindowCounts,
};

const START: u64 = 1_795_534_800_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn window() -> Span {
    Span { start_ns: START, end_ns: START + 10 * SECOND }
}

/// An answer with every member.
pub(crate) fn full_answer() -> Answer {
    let columns = vec![
        Column::new("dst_addr/24", ColumnKind::Prefix, ""),
        Column::new("src_addr", ColumnKind::Address, ""),
        Column::new("protocol", ColumnKind::Unsigned, ""),
        Column::new("sum(total_byte)", ColumnKind::Unsigned, "bytes"),
        Column::new("change", ColumnKind::Signed, "packets"),
        Column::new("ratio", ColumnKind::Float, ""),
        Column::new("node_id", ColumnKind::Text, ""),
        Column::new("stime", ColumnKind::Time, ""),
        Column::new("contacts", ColumnKind::Estimate, "flows"),
    ];
    let prefix = Value::Prefix { address: [10, 1, 2, 0].into(), length: 24 };
    let row = vec![
        prefix,
        Value::Address("2001:db8::1".parse().expect("an address")),
        Value::Unsigned(6),
        Value::Unsigned((1 << 53) + 1),
        Value::Signed(-7),
        Value::Float(0.25),
        Value::Text("a \"node\"".to_owned()),
        Value::Time(START + 1),
        Value::Estimate { value: 40_000.0, lower: 39_000.5, upper: f64::INFINITY },
    ];
    let nulls = vec![Value::Null; 9];
    Answer {
        node: Some("Node1".to_owned()),
        status: AnswerStatus::Partial,
        late: true,
        revision: 2,
        watched: Some(Span { start_ns: START + 2 * SECOND, end_ns: START + 10 * SECOND }),
        empty: Some(3),
        missing: vec![Missing {
            span: Span { start_ns: START, end_ns: START + 2 * SECOND },
            reason: MissingReason::DiskFull,
        }],
        coverage: Some(0.5),
        class: Class::Sketch,
        levels: vec!["1h".to_owned(), "rows".to_owned()],
        rest: Rest {
            groups: 12,
            is_open: false,
            totals: vec![("sum(total_byte)".to_owned(), Value::Unsigned(0))],
        },
        bounds: "certain".to_owned(),
        reason: Some("rows were refused".to_owned()),
        task: Some(TaskNote {
            text: "heavy-hitters:key=dst_addr".to_owned(),
            structure: "space_saving(1024)".to_owned(),
            why: "least memory".to_owned(),
            memory_bytes: 65_536,
            total: 100,
            lost: None,
            most_unlisted: None,
        }),
        account: Some(Account {
            packets: PacketCounts {
                received: 100,
                measured: 98,
                not_measured: Counters(vec![("arp".to_owned(), 2), ("filter".to_owned(), 0)]),
                remarks: Counters::default(),
            },
            loss: Some([("rx_nombuf", 3), ("imissed", 1)].into_iter().collect()),
        }),
        ..Answer::new("q1", Some(window()), columns, vec![row, nulls])
    }
}

#[test]
fn an_answer_with_every_member() {
    let expected = concat!(
        r#"{"query":"q1","node":"Node1","#,
        r#""window":{"start":"2026-11-24T15:40:00.000000000Z","end":"2026-11-24T15:40:10.000000000Z"},"#,
        r#""status":"partial","late":true,"revision":2,"#,
        r#""watched":{"start":"2026-11-24T15:40:02.000000000Z","end":"2026-11-24T15:40:10.000000000Z"},"#,
        r#""empty":3,"missing":[{"start":"2026-11-24T15:40:00.000000000Z","end":"2026-11-24T15:40:02.000000000Z","reason":"disk_full"}],"#,
        r#""coverage":0.5,"class":"sketch","levels":["1h","rows"],"rows":["#,
        r#"{"dst_addr/24":"10.1.2.0/24","src_addr":"2001:db8::1","protocol":6,"sum(total_byte)":"9007199254740993","#,
        r#""change":-7,"ratio":0.25,"node_id":"a \"node\"","stime":"2026-11-24T15:40:00.000000001Z","#,
        r#""contacts":{"value":40000,"lower":39000.5,"upper":null}},"#,
        r#"{"dst_addr/24":null,"src_addr":null,"protocol":null,"sum(total_byte)":null,"#,
        r#""change":null,"ratio":null,"node_id":null,"stime":null,"contacts":null}],"#,
        r#""rest":{"groups":12,"sum(total_byte)":0},"bounds":"certain","columns":["#,
        r#"{"name":"dst_addr/24","kind":"prefix","unit":""},{"name":"src_addr","kind":"address","unit":""},"#,
        r#"{"name":"protocol","kind":"unsigned","unit":""},{"name":"sum(total_byte)","kind":"unsigned","unit":"bytes"},"#,
        r#"{"name":"change","kind":"signed","unit":"packets"},{"name":"ratio","kind":"float","unit":""},"#,
        r#"{"name":"node_id","kind":"text","unit":""},{"name":"stime","kind":"time","unit":""},"#,
        r#"{"name":"contacts","kind":"estimate","unit":"flows"}],"reason":"rows were refused","#,
        r#""task":{"text":"heavy-hitters:key=dst_addr","structure":"space_saving(1024)","why":"least memory","#,
        r#""memory_bytes":65536,"total":100,"lost":null},"#,
        r#""packets":{"received":100,"measured":98,"not_measured":{"arp":2},"remarks":{}},"#,
        r#""loss":{"rx_nombuf":3,"imissed":1}}"#,
    );
    assert_eq!(serde_json::to_string(&full_answer()).expect("JSON"), expected);
    assert_eq!(serde_json::from_str::<Answer>(expected).expect("an answer"), full_answer());
}

#[test]
fn an_answer_with_the_fewest_members() {
    let expected = concat!(
        r#"{"query":"q1","node":null,"window":null,"status":"complete","coverage":null,"class":"row","rows":[],"#,
        r#""rest":{"groups":0},"bounds":"exact","columns":[]}"#,
    );
    let answer = Answer::new("q1", None, vec![], vec![]);
    assert_eq!(serde_json::to_string(&answer).expect("JSON"), expected);
    let unknown_loss = Answer { account: Some(Account::default()), ..answer };
    let json = serde_json::to_string(&unknown_loss).expect("JSON");
    assert!(
        json.ends_with(
            r#""columns":[],"packets":{"received":0,"measured":0,"not_measured":{},"remarks":{}},"loss":null}"#
        ),
        "{json}"
    );
    assert_eq!(serde_json::from_str::<Answer>(&json).expect("an answer"), unknown_loss);
}

/// An event with every member.
pub(crate) fn full_event() -> Event {
    let item = |name: &str, kind, value| Item { column: Column::new(name, kind, ""), value };
    Event {
        event: "5f1c".to_owned(),
        kind: EventKind::NoData,
        query: "q2".to_owned(),
        fired_by: Some("q1".to_owned()),
        key: vec![item("dst_addr", ColumnKind::Address, Value::Address([203, 0, 113, 10].into()))],
        node: Some("Node2".to_owned()),
        at_ns: START + 10 * SECOND,
        window: Some(window()),
        values: vec![item("count(src_addr)", ColumnKind::Unsigned, Value::Unsigned(40_000))],
        threshold: Some(1000.5),
        late: false,
        coverage: Some(1.0),
        bounds: None,
        parent: None,
        title: None,
    }
}

#[test]
fn an_event() {
    let expected = concat!(
        r#"{"event":"5f1c","kind":"nodata","query":"q2","fired_by":"q1","key":{"dst_addr":"203.0.113.10"},"#,
        r#""node":"Node2","at":"2026-11-24T15:40:10.000000000Z","#,
        r#""window":{"start":"2026-11-24T15:40:00.000000000Z","end":"2026-11-24T15:40:10.000000000Z"},"#,
        r#""values":{"count(src_addr)":40000},"threshold":1000.5,"late":false,"coverage":1.0,"parent":null,"#,
        r#""columns":[{"name":"dst_addr","kind":"address","unit":""},{"name":"count(src_addr)","kind":"unsigned","unit":""}]}"#,
    );
    assert_eq!(serde_json::to_string(&full_event()).expect("JSON"), expected);
    assert_eq!(serde_json::from_str::<Event>(expected).expect("an event"), full_event());
}

#[test]
fn a_window() {
    let window = Window {
        index: 4,
        span: window(),
        status: AnswerStatus::Complete,
        watched: None,
        empty: None,
        packets: PacketCounts::default(),
        loss: None,
        table_full: u64::MAX,
        answers: vec![],
        longer: vec![],
    };
    let expected = concat!(
        r#"{"index":4,"window":{"start":"2026-11-24T15:40:00.000000000Z","end":"2026-11-24T15:40:10.000000000Z"},"#,
        r#""status":"complete","packets":{"received":0,"measured":0,"not_measured":{},"remarks":{}},"loss":null,"#,
        r#""table_full":"18446744073709551615","answers":[]}"#,
    );
    assert_eq!(serde_json::to_string(&window).expect("JSON"), expected);
}

#[test]
fn a_report() {
    let report = RunReport {
        source: vec!["a.pcap".to_owned()],
        node: "Node1".to_owned(),
        started_ns: Some(START),
        windows: WindowCounts { count: 1, ..WindowCounts::default() },
        version: "0.1.0".to_owned(),
        ..RunReport::default()
    };
    let expected = concat!(
        r#"{"source":"a.pcap","node":"Node1","started":"2026-11-24T15:40:00.000000000Z","ended":null,"#,
        r#""windows":{"count":1,"full":0,"jump":0,"run_end":0,"unreported":0},"#,
        r#""packets":{"received":0,"measured":0,"not_measured":{},"remarks":{}},"loss":null,"#,
        r#""flows":{"seen":0,"active":0,"exported":0,"dropped":0,"table_full":0,"outputs":[]},"#,
        r#""rates":{"packets_per_second":null,"bits_per_second":null,"processed_per_second":null},"#,
        r#""memory_bytes":0,"answers":[],"events":[],"version":"0.1.0","command_line":[],"elapsed_seconds":0.0,"#,
        r#""design":{"name":"","receivers":0,"workers":0,"split":"","state":"","cores":[],"oversubscribed":false,"why":""},"#,
        r#""faults":[],"answers_unlisted":0}"#,
    );
    assert_eq!(serde_json::to_string(&report).expect("JSON"), expected);
    let two = RunReport { source: vec!["a".to_owned(), "b".to_owned()], ..report };
    assert!(serde_json::to_string(&two).expect("JSON").starts_with(r#"{"source":["a","b"],"#));
}

#[test]
fn a_total_named_like_the_number_of_groups_is_left_out() {
    let rest = Rest {
        groups: 2,
        is_open: false,
        totals: vec![("groups".to_owned(), Value::Unsigned(7)), ("n".to_owned(), Value::Unsigned(u64::MAX))],
    };
    assert_eq!(serde_json::to_string(&rest).expect("JSON"), r#"{"groups":2,"n":"18446744073709551615"}"#);
}

#[test]
fn a_number_of_groups_that_is_not_known_is_null() {
    let mut rest = Rest::default();
    rest.open();
    assert_eq!(serde_json::to_string(&rest).expect("JSON"), r#"{"groups":null}"#);
    assert_eq!(serde_json::from_str::<Rest>(r#"{"groups":null}"#).expect("a rest"), rest);
    assert!(serde_json::from_str::<Rest>("{}").is_err());
}

#[test]
fn a_counter_that_is_there_twice_is_refused() {
    assert!(serde_json::from_str::<Counters>(r#"{"arp":1,"arp":2}"#).is_err());
    let read: Counters = serde_json::from_str(r#"{"b":1,"a":"18446744073709551615"}"#).expect("counters");
    assert_eq!(read.0, [("b".to_owned(), 1), ("a".to_owned(), u64::MAX)]);
}
