//! A story that is silenced: no Alertmanager is told of it, its firings are counted, and when that is over all are told again.

use crate::page::{address, get};
use crate::support::capture;
use crate::support::program::{Running, call, edison};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use testbed::veth::{Veth, ip, with_veth};

const BUSY: &str = "busy: select src_port, sum(total_count) as n groupby src_port every 1s;\n\
    who: select count(*) as n every 1s when busy.n > 50;";

/// Takes alerts as an Alertmanager does.
struct Taker {
    port: u16,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Taker {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let bodies: Arc<Mutex<Vec<String>>> = Arc::default();
        let taken = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let (mut read, mut part) = (Vec::new(), [0; 4_096]);
                while let Ok(number @ 1..) = stream.read(&mut part) {
                    read.extend_from_slice(&part[..number]);
                    let said = String::from_utf8_lossy(&read);
                    if let Some((_, body)) = said.split_once("\r\n\r\n")
                        && serde_json::from_str::<Value>(body).is_ok()
                    {
                        taken.lock().expect("no reader panics").push(body.to_owned());
                        break;
                    }
                }
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        });
        Self { port, bodies }
    }

    /// The begins of the alerts that were told of a port.
    fn told(&self, port: u16) -> BTreeSet<String> {
        let bodies = self.bodies.lock().expect("no writer panics");
        let alerts =
            bodies.iter().flat_map(|body| -> Vec<Value> { serde_json::from_str(body).expect("a list") });
        let port = port.to_string();
        let of_port = alerts.filter(|alert| alert["labels"]["src_port"].as_str() == Some(&port));
        of_port.map(|alert| alert["startsAt"].to_string()).collect()
    }
}

/// The firings for a port, the oldest first.
fn fired(address: &str, port: u16) -> Vec<Value> {
    let events = get(address, "/events?query=who&kind=fired&limit=1000");
    let events = events["events"].as_array().expect("events").clone();
    events.into_iter().filter(|event| event["key"]["src_port"] == port).collect()
}

fn flood(veth: &Veth, port: u16) {
    (0..200).for_each(|_| veth.send(&capture::udp(port)));
}

/// Floods a port until it has fired more often than before.
fn fires(veth: &Veth, address: &str, port: u16) -> Value {
    let before = fired(address, port).len();
    // A condition that holds still fires no more: the flood ends, and comes again.
    let mut turn = 0;
    until("a firing", || {
        turn += 1;
        if turn % 40 < 8 {
            flood(veth, port);
        }
        fired(address, port).get(before).cloned()
    })
}

/// Floods two ports until both have fired in one story.
fn fire_together(veth: &Veth, address: &str, ports: [u16; 2]) -> [Value; 2] {
    let before = ports.map(|port| fired(address, port).len());
    let mut turn = 0;
    until("a story of both", || {
        turn += 1;
        if turn % 40 < 8 {
            ports.iter().for_each(|port| flood(veth, *port));
        }
        let [ones, others] = [0, 1].map(|at| fired(address, ports[at]).split_off(before[at]));
        let pair = |one: &Value| {
            let other = others.iter().find(|other| other["story"] == one["story"])?;
            one["story"].is_string().then(|| [one.clone(), other.clone()])
        };
        ones.iter().find_map(pair)
    })
}

fn ask(method: &str, address: &str, path: &str) -> Value {
    let url = format!("{address}api/v1{path}");
    let answer = match method {
        "PUT" => ureq::put(url).send("a test").expect("an answer"),
        _ => ureq::delete(url).call().expect("an answer"),
    };
    serde_json::from_str(&answer.into_body().read_to_string().expect("a text")).expect("JSON")
}

#[test]
fn nobody_is_told_of_a_silent_story_until_it_is_over() {
    with_veth(|veth| {
        // The page and the Alertmanager are at the loopback interface.
        ip("link set lo up");
        let scratch = Scratch::new();
        let taker = Taker::start();
        let queries = scratch.file("busy.eq", BUSY);
        let mut command = edison();
        command.args(["run", "-i", Veth::NEAR, "-f", text(&queries), "--node", "Node1", "--web=127.0.0.1:0"]);
        command.args(["--alertmanager", &format!("http://127.0.0.1:{}", taker.port)]);
        let mut running = Running::start(&mut command);
        let address = address(&mut running, "http://");
        let first = fires(veth, &address, 1_000);
        until("the alert", || (!taker.told(1_000).is_empty()).then_some(()));
        let story = first["story"].as_str().expect("a story").to_owned();
        let set = ask("PUT", &address, &format!("/stories/{story}/silence?for=1h"));
        let silence = |address: &str| get(address, "/silences")["silences"][0].clone();
        assert_eq!(
            (&silence(&address)["holds"], &silence(&address)["story"]),
            (&true.into(), &story.as_str().into())
        );
        // It fires again, is shown and counted, and is in a story of its own that is silent, too.
        let told = taker.told(1_000);
        let again = fires(veth, &address, 1_000);
        assert_eq!(again["silenced_until"], set["silence"]["until"], "{again}");
        assert_ne!(again["story"], first["story"]);
        until("the count", || (silence(&address)["fired"].as_u64() >= Some(1)).then_some(()));
        let said = call(&[
            "story",
            again["event"].as_str().expect("an event"),
            "--controller",
            address.trim_end_matches('/'),
        ]);
        assert!(said.stdout.contains("is silent until"), "{}", said.stdout);
        // What happens later, of another port, is told, though in a story with the silent one: so that is not on its way.
        let [silent, loud] = fire_together(veth, &address, [1_000, 2_000]);
        assert_eq!(silent["silenced_until"], set["silence"]["until"], "{silent}");
        assert_eq!(loud["silenced_until"], Value::Null, "{loud}");
        until("the other alert", || (!taker.told(2_000).is_empty()).then_some(()));
        assert_eq!(taker.told(1_000), told);
        // It is ended: what fires from now on is told.
        let ended = ask("DELETE", &address, &format!("/stories/{story}/silence"));
        assert!(ended["silence"]["fired"].as_u64() >= Some(1), "{ended}");
        assert_eq!(silence(&address)["holds"], false);
        fires(veth, &address, 1_000);
        until("an alert again", || (taker.told(1_000).len() > told.len()).then_some(()));
        running.signal(libc::SIGINT);
        running.wait().expect(0);
    });
}
