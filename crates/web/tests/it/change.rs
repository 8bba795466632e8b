//! `POST /change`: what its address and its text ask, what is refused, and what becomes of the stores' answers.

use crate::client::{Response, send};
use crate::sample::{full, hub, serve};
use model::{Answer, Column, ColumnKind, HistoryAnswers, HistoryNode, Span, Value, parse_time};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use web::{Checking, HistoryAsked, Request, RequestRefusal, Server};

/// What a store of one node says: groups with a value in each period, whatever is asked of them.
pub(crate) fn stored(asked: &HistoryAsked) -> HistoryAnswers {
    let answers = asked.text.lines().map(|line| {
        let (name, query) = line.split_once(": select ").expect("a query");
        let time = |begin: &str| {
            let from = query.split_once(begin).expect("a period").1;
            parse_time(from.split('\'').nth(1).expect("a time")).expect("a time")
        };
        let window = Span { start_ns: time(" from "), end_ns: time(" to ") };
        let width = query.split(" from ").next().expect("columns").matches(", ").count();
        let is_after = name.contains("after");
        let group = |number: u8, sum: u64| {
            let address = Value::Address([10, 0, 0, number].into());
            (0..width).map(|_| address.clone()).chain([Value::Unsigned(sum)]).collect()
        };
        let rows = match (width, is_after) {
            (0, false) => vec![group(0, 1_000)],
            (0, true) => vec![group(0, 3_000)],
            (_, false) => vec![group(1, 600), group(2, 400)],
            (_, true) => vec![group(1, 2_500), group(3, 500)],
        };
        let columns = (0..=width).map(|at| Column::new(format!("c{at}"), ColumnKind::Unsigned, "")).collect();
        Answer { node: Some("n1".to_owned()), ..Answer::new(name, Some(window), columns, rows) }
    });
    HistoryAnswers {
        answers: answers.collect(),
        nodes: vec![HistoryNode { name: "n1".to_owned(), missing: None }],
        warnings: Vec::new(),
    }
}

fn server() -> (Server, Receiver<Request>) {
    let (requests, received) = channel();
    let hub = full();
    hub.set_checking(Checking::new(equery::CheckOptions {
        key: Some(["src_addr", "dst_addr", "protocol"].map(str::to_owned).into()),
        ..equery::CheckOptions::default()
    }));
    let listen = "127.0.0.1:0".parse().expect("an address");
    (web::serve(hub, listen, Some(requests)).expect("a server"), received)
}

fn ask(address: SocketAddr, parameters: &str, text: &str) -> Response {
    send(address, &format!("POST /api/v1/change{parameters}"), &[], text.as_bytes())
}

#[test]
fn a_change_is_what_the_stores_have_in_both_periods() {
    let (server, received) = server();
    let address = server.address();
    let owner = std::thread::spawn(move || {
        let mut texts = Vec::new();
        for request in received {
            let Request::History { asked, reply } = request else { panic!("another request") };
            reply.send(Ok(stored(&asked)));
            texts.push(asked);
        }
        texts
    });
    let periods = "?from=2026-11-02&to=2026-11-03&nodes=n1&by=source,port,node&memory=1MiB";
    let change = ask(address, periods, "protocol = tcp, src_addr in 10.0.0.0/8").json();
    assert_eq!(
        (&change["measure"], &change["compared"], &change["difference_is"], &change["difference"]),
        (&json!("bits"), &json!("sums"), &json!("exact"), &json!(16_000))
    );
    let before = &change["before"];
    assert_eq!(
        (&before["start"], &before["end"], &before["total"]),
        (&json!("2026-11-01T00:00:00.000000000Z"), &json!("2026-11-02T00:00:00.000000000Z"), &json!(8_000))
    );
    let field = &change["fields"][0];
    let group = |number: u8, before: u64, after: u64, share: f64| {
        let address = format!("10.0.0.{number}");
        json!({
            "key": { "src_addr": address }, "condition": format!("src_addr = {address}"),
            "before": before, "after": after, "difference": after as i64 - before as i64, "share": share,
        })
    };
    assert_eq!(field["field"], "source");
    let groups = [group(1, 4_800, 20_000, 0.95), group(3, 0, 4_000, 0.25), group(2, 3_200, 0, -0.2)];
    assert_eq!(field["groups"], json!(groups));
    assert_eq!(
        (&field["rest"]["before"], &field["rest"]["difference"], &field["is_certain"]),
        (&json!(0), &json!(0), &json!(true))
    );
    // The key here has no ports.
    assert_eq!(change["unanswered"][0]["field"], "port");
    assert_eq!(change["fields"][1]["groups"][0]["condition"], "node_id = 'n1'");
    drop(server);
    let asked = owner.join().expect("it ends");
    // Which groups lead, then their figures: one question each for all fields.
    assert_eq!(asked.len(), 2);
    for asked in &asked {
        assert_eq!((&*asked.nodes, asked.memory_bytes), (&["n1".to_owned()][..], Some(1 << 20)));
        let checked = equery::check(
            &equery::SourceText { name: "q", text: &asked.text },
            &equery::CheckOptions { reads_history: true, ..equery::CheckOptions::default() },
        );
        assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
        assert_eq!(checked.queries.len(), 4);
        assert_eq!(asked.text.matches("(protocol = tcp), (src_addr in 10.0.0.0/8)").count(), 4);
    }
    assert!(asked[1].text.contains("src_addr in (10.0.0."));
}

#[test]
fn periods_of_different_length_are_compared_by_the_second() {
    let (server, received) = server();
    let owner = std::thread::spawn(move || {
        for request in received {
            let Request::History { asked, reply } = request else { panic!("another request") };
            reply.send(Ok(stored(&asked)));
        }
    });
    let periods = "?measure=packets&before_from=2026-11-01&before_to=2026-11-01T00:00:10Z&from=2026-11-02&to=2026-11-02T00:01Z";
    let change = ask(server.address(), periods, "").json();
    assert_eq!((&change["compared"], &change["difference"]), (&json!("rates"), &json!(-50)));
    drop(server);
    owner.join().expect("it ends");
}

#[test]
fn what_cannot_be_asked_is_refused_in_one_line() {
    let (server, received) = server();
    let address = server.address();
    for (parameters, text, begin) in [
        ("?from=2026-11-02&to=2026-11-01", "", "from: "),
        ("?from=2026-11-02&to=2026-11-03&before_from=2026-11-04", "", "before_from: "),
        ("?from=x", "", "from: "),
        ("?measure=miles", "", "measure: "),
        ("?by=colour", "", "by: "),
        ("?by=sour%0Ace", "", "by: "),
        ("?top=0", "", "top: "),
        ("?top=1000000", "", "top: "),
        ("?across=mean", "", "across: "),
        ("?time=0s", "", "time: "),
        ("?time=11min", "", "time: "),
        ("?memory=much", "", "memory: "),
        ("?form=-1h", "", "form: "),
        ("", "nothing = 1", "condition: "),
        ("", "protocol = tcp; select count(*)", "condition: "),
        ("", "protocol = tcp) groupby protocol having (1 = 1", "condition: "),
        ("", "protocol = tcp groupby protocol", "condition: "),
        ("", "sum(total_byte) > 1", "condition: "),
        ("", &"(".repeat(1_000), "condition: "),
        ("", &format!("{}protocol = tcp{}", "(".repeat(500), ")".repeat(500)), "condition: "),
        ("", &"x".repeat(17_000), "condition: "),
    ] {
        let refused = ask(address, parameters, text);
        assert_eq!(refused.status, 400, "{parameters} {text}");
        let error = refused.error();
        assert!(error.starts_with(begin) && !error.contains('\n'), "{parameters} {text}: {error}");
    }
    assert_eq!(send(address, "POST /api/v1/change", &[], &[0xff]).status, 400);
    assert!(received.try_recv().is_err(), "no store is asked");
    // What the owner refuses is passed on; that a text has errors is the condition's.
    let owner = std::thread::spawn(move || {
        for request in received {
            let Request::History { asked, reply } = request else { panic!("another request") };
            reply.send(Err(match &*asked.nodes.join(",") {
                "busy" => RequestRefusal::Busy("busy".to_owned()),
                "none" => RequestRefusal::Unknown("none".to_owned()),
                _ => RequestRefusal::Invalid { error: "wrong".to_owned(), diagnostics: Vec::new() },
            }));
        }
    });
    for (nodes, status) in [("busy", 429), ("none", 404), ("n1", 400)] {
        assert_eq!(ask(address, &format!("?nodes={nodes}"), "").status, status, "{nodes}");
    }
    drop(server);
    owner.join().expect("it ends");
    // A run without a store answers none.
    let refused = ask(serve(&hub()).address(), "", "");
    assert_eq!(refused.status, 409);
    assert!(refused.error().contains("--store"));
}
