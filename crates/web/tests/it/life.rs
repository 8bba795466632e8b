//! Where a server listens, and how it ends.

use crate::client::{Stream, connect, get, json};
use crate::sample::{full, hub, serve};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;

#[test]
fn nothing_listens_beyond_loopback() {
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080"] {
        let error = web::serve(hub(), listen.parse().expect("an address"), None).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(listen) && text.contains("TLS and a token"), "{text}");
    }
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let error = web::serve(hub(), address, None).expect_err("it is taken");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let text = error.to_string();
    assert!(text.contains(&address.to_string()) && text.contains("another program"), "{text}");
}

#[test]
fn a_server_that_stops_ends_streams_and_connections() {
    let hub = full();
    // An address of its own: no other test takes the port meanwhile.
    let server = web::serve(hub.clone(), "127.0.0.2:0".parse().expect("an address"), None).expect("a server");
    let address = server.address();
    let mut stream = Stream::open(address);
    // A connection that is kept, one that sent half a request, and one that does not read.
    let mut kept = connect(address);
    kept.write_all(b"GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
    let mut first = [0; 15];
    kept.read_exact(&mut first).expect("a response");
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let mut half = connect(address);
    half.write_all(b"GET /api/v1/sta").expect("it is sent");
    let _stuck = Stream::open(address);
    for number in 0..32 {
        let text = model::Value::Text("x".repeat(1 << 20));
        let columns = vec![model::Column::new("text", model::ColumnKind::Text, "")];
        let mut answer = model::Answer::new("large", None, columns, vec![vec![text]]);
        answer.revision = number;
        hub.publish(&archive::ArchiveChanges { answers: vec![answer], ..Default::default() })
            .expect("it is stored");
        stream.next().expect("a message");
    }
    drop(server);
    while stream.next().is_some() {}
    kept.read_to_end(&mut Vec::new()).expect("the end");
    // An error is an end, too.
    let _ = half.read_to_end(&mut Vec::new());
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens");
    // The hub goes on, and another server shows it.
    let again = web::serve(hub.clone(), address, None).expect("the port is free");
    assert_eq!(again.address(), address);
    json(address, "/api/v1/status");
    drop(again);
    drop(hub);
}

#[test]
fn two_servers_may_show_one_hub() {
    let hub = full();
    let (one, other) = (serve(&hub), serve(&hub));
    let mut stream = Stream::open(other.address());
    drop(one);
    hub.publish(&crate::sample::changes()).expect("it is stored");
    assert_eq!(stream.next().expect("a message").0, "answer");
    assert_eq!(get(other.address(), "/api/v1/status").status, 200);
}

#[test]
fn who_watches_the_program_is_told_whether_it_is_well() {
    let hub = hub();
    let server = serve(&hub);
    let of = |path: &str| {
        let response = get(server.address(), path);
        (response.status, response.json())
    };
    assert_eq!(of("/healthz"), (200, serde_json::json!({"status": "ok"})));
    assert_eq!(of("/readyz"), (200, serde_json::json!({"status": "ready", "faults": []})));
    let fault = |name: &str, until_ns| web::view::Fault {
        fault: name.to_owned(),
        since_ns: 1,
        until_ns,
        reason: "/var/lib/secret".to_owned(),
    };
    let with = |faults: Vec<web::view::Fault>| web::view::Status { faults, ..web::view::Status::default() };
    hub.set_status(with(vec![fault("archive", Some(2)), fault("archive_rows", None)]));
    assert_eq!(of("/readyz").0, 200);
    hub.set_status(with(vec![fault("archive", None)]));
    assert_eq!(of("/readyz"), (503, serde_json::json!({"status": "not_ready", "faults": ["archive"]})));
    // A broker that was never reached is no fault yet, and is one that was lost.
    let broker = |state| Some(web::view::Broker { state, since_ns: 1, reason: None });
    let away = serde_json::json!({"status": "not_ready", "faults": ["broker_away"]});
    for faults in [Vec::new(), vec![fault("broker_away", Some(2))], vec![fault("broker_away", None)]] {
        hub.set_status(web::view::Status { broker: broker(web::view::BrokerState::Away), ..with(faults) });
        assert_eq!(of("/readyz"), (503, away.clone()));
    }
    hub.set_status(web::view::Status {
        broker: broker(web::view::BrokerState::Connected),
        ..with(Vec::new())
    });
    assert_eq!(of("/readyz").0, 200);
    assert_eq!(of("/healthz").0, 200);
}
