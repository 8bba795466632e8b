//! `--web`: the page and the API of a run have what the run prints and reports, while it measures and afterwards.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use support::capture;
use support::output::report;
use support::program::{Running, call, edison, run};
use support::scratch::{Scratch, text};
use testbed::veth::{Veth, ip, with_veth};

/// Where the page of a run is, once it says so.
#[track_caller]
fn address(running: &mut Running, words: &str) -> String {
    let line = |running: &Running| running.said().into_iter().find(|line| line.contains(words));
    assert!(running.wait_for(words, |running| line(running).is_some()), "{:?}", running.said());
    let line = line(running).expect("it was there");
    line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned()
}

fn get(address: &str, path: &str) -> Value {
    let answer = ureq::get(format!("{address}api/v1{path}")).call().expect("an answer");
    serde_json::from_str(&answer.into_body().read_to_string().expect("a text")).expect("JSON")
}

/// The answers over the run, by query and node.
fn of_run(answers: &Value) -> BTreeSet<String> {
    let answers = answers.as_array().expect("a list").iter().filter(|answer| answer["window"].is_null());
    answers.map(|answer| format!("{} {} {}", answer["query"], answer["node"], answer["rows"])).collect()
}

#[test]
fn the_page_of_a_capture_has_what_its_report_has() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=20k,flows=2k,zipf=1.0,plant=flood").path;
    let file = scratch.path("report.json");
    let mut running =
        Running::start(edison().args(["run", text(&capture), "--web=127.0.0.1:0", "--report", text(&file)]));
    let address = address(&mut running, "stays at");
    let status = get(&address, "/status");
    let report = report(&file);
    assert_eq!((&status["mode"], &status["ended"]), (&Value::from("run"), &Value::from(true)));
    assert_eq!(status["nodes"][0]["packets"], report["packets"]);
    assert_eq!(status["nodes"][0]["state"], "ended");
    let answers = get(&address, "/answers?limit=1000");
    let shown = of_run(&answers["answers"]);
    assert_eq!(shown, of_run(&report["answers"]));
    for query in ["hosts", "conversations", "scanners", "targets", "totals"] {
        assert!(shown.iter().any(|answer| answer.starts_with(&format!("\"{query}\""))), "{query}: {shown:?}");
    }
    let page = ureq::get(&address).call().expect("the page").into_body().read_to_string().expect("a text");
    assert!(page.contains("<script") && page.contains("Edison"), "{page}");
    // Nothing can be installed in a run; the error says so.
    let refused = run(edison().args(["add", "-q", "select count(*)", "--controller", &address]));
    refused.says(2, &["run"]);
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn events_and_stories_are_those_of_the_run() {
    let scratch = Scratch::new();
    let path = scratch.path("path.pcap");
    call(&["generate", text(&path), "--path", "connections=40,segments=200,over=10s,hops=3,lossy=2,loss=2%"])
        .expect(0);
    let tap =
        |number: usize| format!("Node{number}={}", text(&scratch.path(&format!("path.tap{number}.pcap"))));
    let file = scratch.path("report.json");
    let chain = format!("{}/examples/locate.eq", env!("CARGO_MANIFEST_DIR"));
    let mut command = edison();
    command.args(["run", &tap(1), &tap(2), "-f", &chain, "--web=127.0.0.1:0", "--report", text(&file)]);
    let mut running = Running::start(&mut command);
    let address = address(&mut running, "stays at");
    let report = report(&file);
    let events = get(&address, "/events?limit=1000");
    let ids = |events: &Value| -> Vec<String> {
        let events = events.as_array().expect("events").iter();
        events.map(|event| event["event"].as_str().expect("a text").to_owned()).collect()
    };
    assert!(!ids(&report["events"]).is_empty());
    assert_eq!(ids(&events["events"]), ids(&report["events"]));
    for story in report["stories"].as_array().expect("stories") {
        let id = story["id"].as_str().expect("a text");
        let shown = get(&address, &format!("/stories/{id}"));
        assert_eq!(shown["text"], story["text"]);
        assert_eq!(Value::from(ids(&shown["events"])), story["events"]);
    }
    let queries = get(&address, "/queries");
    let names: Vec<&str> = queries["queries"]
        .as_array()
        .expect("queries")
        .iter()
        .filter_map(|query| query["name"].as_str())
        .collect();
    assert_eq!(names, ["n1", "before", "n2", "between", "behind"]);
    assert_eq!(queries["queries"][2]["trigger"]["thresholds"][0]["column"], "lost_behind");
    for node in get(&address, "/status")["nodes"].as_array().expect("nodes") {
        let of_report = &report["nodes"][node["name"].as_str().expect("a name")];
        assert_eq!(node["packets"], of_report["packets"]);
    }
    running.signal(libc::SIGTERM);
    running.wait().expect(0);
}

#[test]
fn a_live_run_shows_its_windows_as_they_end() {
    with_veth(|veth| {
        ip("link set lo up");
        let mut command = edison();
        command.args(["run", "-i", Veth::NEAR, "--every", "1s", "--web=127.0.0.1:0", "--json"]);
        command.args(["-q", "q: select sum(total_count) as n every 1s"]);
        let mut running = Running::start(&mut command);
        let address = address(&mut running, "are at");
        // Some frames are sent before the interface is watched.
        let counted = |address: &str| -> u64 {
            let answers = get(address, "/answers?query=q&limit=1000");
            let answers = answers["answers"].as_array().expect("answers").iter();
            answers.filter_map(|answer| answer["rows"][0]["n"].as_u64()).sum()
        };
        let mut port = 1000;
        assert!(running.wait_for("counted frames", |_| {
            veth.send(&capture::udp(port));
            port += 1;
            counted(&address) > 100
        }));
        assert_eq!(get(&address, "/status")["ended"], false);
        // Ctrl-C ends the run, and the page with it.
        running.signal(libc::SIGINT);
        let ended = running.wait().expect(0);
        assert!(!ended.stderr.contains("stays at"), "{}", ended.stderr);
    });
}

#[test]
fn an_address_that_cannot_be_listened_on_is_named() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=10,flows=1").path;
    call(&["run", text(&capture), "--web=0.0.0.0:0"]).says(2, &["--web", "beyond loopback"]);
    call(&["run", text(&capture), "--web=here"]).says(2, &["--web", "127.0.0.1:8080"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = taken.local_addr().expect("an address").to_string();
    call(&["run", text(&capture), "--web", &place]).says(2, &["--web", &place, "another"]);
}
