//! `capture N packets`: the file, the story, the report and the API have the same packets.

use crate::support;
use crate::support::capture;
use crate::support::output::{number, report};
use crate::support::program::{Running, call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Fires in each window that has a packet, once for the heaviest destination, and captures packets to that one.
const QUERIES: &str = "
q1: select dst_addr, sum(total_count) as n groupby dst_addr order by n desc, dst_addr limit 1 every 1s;
q2: select dst_addr, sum(total_count) as n where dst_addr = q1.dst_addr groupby dst_addr every 1s
    when q1.n > 0 cooldown 1min capture 10 packets;
";

/// What tshark reads of each packet: the destination, by the file's own times.
fn destinations(path: &Path) -> Vec<String> {
    let read = Command::new("tshark").arg("-r").arg(path).args(["-T", "fields", "-e", "ip.dst"]).output();
    let read = read.expect("tshark is there");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    String::from_utf8(read.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

fn bytes(address: &str, path: &str) -> Vec<u8> {
    let answer = ureq::get(format!("{address}{path}")).call().expect("a file");
    answer.into_body().read_to_vec().expect("bytes")
}

fn json(address: &str, path: &str) -> Value {
    serde_json::from_slice(&bytes(address, path)).expect("JSON")
}

/// A capture of four seconds, and a file with the queries.
fn traffic(scratch: &Scratch) -> (std::path::PathBuf, std::path::PathBuf) {
    let path = capture::generate(scratch, "packets=20k,flows=200,zipf=1.2,rate=5k").path;
    let queries = scratch.path("capture.eq");
    std::fs::write(&queries, QUERIES).expect("a file");
    (path, queries)
}

#[test]
fn the_packets_of_an_event_are_in_its_file_and_everything_names_it() {
    let scratch = Scratch::new();
    let (path, queries) = traffic(&scratch);
    let (folder, file) = (scratch.path("captures"), scratch.path("report.json"));
    let mut command = edison();
    command.args(["run", text(&path), "--node", "tap 1", "-f", text(&queries), "--captures", text(&folder)]);
    command.args(["--web=127.0.0.1:0", "--json", "--report", text(&file)]);
    let mut running = Running::start(&mut command);
    let stays = |running: &Running| running.said().into_iter().find(|line| line.contains("stays at"));
    assert!(
        running.wait_for("the end of the run", |running| stays(running).is_some()),
        "{:?}",
        running.said()
    );
    let line = stays(&running).expect("it was there");
    let address = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address");
    let address = address.trim_end_matches('/');

    // The report, which has its schema.
    let report = report(&file);
    let captures = report["captures"].as_array().expect("captures");
    assert!(!captures.is_empty(), "{report:#}");
    let shown = json(address, "/api/v1/captures");
    assert_eq!(shown["captures"].as_array().expect("captures").len(), captures.len());
    for capture in captures {
        let (event, node) = (capture["event"].as_str().expect("a text"), &capture["node"]);
        assert_eq!((node, &capture["query"]), (&Value::from("tap 1"), &Value::from("q2")));
        assert_eq!((number(&capture["packets"]), &capture["ended_by"]), (10, &Value::from("packets")));
        let place = Path::new(capture["file"].as_str().expect("a file"));
        assert_eq!(place.parent(), Some(&*folder));
        let content = std::fs::read(place).expect("the file");
        assert_eq!(number(&capture["bytes"]), content.len() as u64);
        // The packets of the destination that fired.
        let fired = report["events"].as_array().expect("events").iter().find(|one| one["event"] == event);
        let fired = fired.expect("the event");
        let destination = fired["key"]["dst_addr"].as_str().or(fired["values"]["dst_addr"].as_str());
        let destinations = destinations(place);
        assert_eq!(destinations.len(), 10);
        assert!(destinations.iter().all(|one| Some(one.as_str()) == destination), "{fired} {destinations:?}");
        // The story says it.
        let name = place.file_name().and_then(|name| name.to_str()).expect("a name");
        let stories = report["stories"].as_array().expect("stories");
        let is_named = |story: &&Value| story["text"].as_str().is_some_and(|text| text.contains(name));
        let story = stories.iter().find(is_named).expect("a story that names the file");
        // The API has the same bytes.
        let id = story["id"].as_str().expect("a text");
        let of_story = json(address, &format!("/api/v1/stories/{id}"));
        let listed = of_story["captures"].as_array().expect("captures").iter();
        let listed: Vec<_> = listed.filter(|one| one["event"] == event).collect();
        assert_eq!(listed.len(), 1, "{of_story:#}");
        let href = listed[0]["href"].as_str().expect("a path");
        assert_eq!(href, format!("/api/v1/captures/{event}/tap%201"));
        assert_eq!(bytes(address, href), content);
        let said = call(&["story", id, "--controller", address]).expect(0).stdout;
        assert!(said.contains(&format!("{address}{href}")), "{said}");
    }
    let queries = json(address, "/api/v1/queries");
    assert_eq!(
        (&queries["queries"][0]["capture"], number(&queries["queries"][1]["capture"])),
        (&Value::Null, 10)
    );
    running.signal(libc::SIGINT);
    let ended = running.wait().expect(0);
    // Standard output has answers and events alone, which have their schema; each fetch is on standard error.
    for line in ended.stdout.lines() {
        support::schema::of_line(line);
    }
    let fetched = ended.stderr.lines().filter(|line| line.contains("were fetched")).count();
    assert_eq!(fetched, captures.len(), "{}", ended.stderr);
}

#[test]
fn a_capture_that_is_refused_has_its_reason_everywhere() {
    let scratch = Scratch::new();
    let (path, queries) = traffic(&scratch);
    let file = scratch.path("report.json");
    let ended =
        run(edison().args(["run", text(&path), "-f", text(&queries), "--report", text(&file)])).expect(0);
    let report = report(&file);
    let capture = &report["captures"][0];
    let reason = capture["refused"].as_str().expect("a reason");
    assert!(reason.starts_with("no_folder"), "{reason}");
    assert_eq!((number(&capture["packets"]), &capture["file"]), (0, &Value::Null));
    assert!(ended.stdout.contains(reason), "{}", ended.stdout);
    // What is pinned is in the caption.
    assert!(ended.stdout.contains("  q2 for dst_addr "), "{}", ended.stdout);
    assert!(!ended.stderr.contains("--captures"), "{}", ended.stderr);
}

#[test]
fn a_folder_for_packets_that_nothing_asks_for_is_a_warning() {
    let scratch = Scratch::new();
    let (path, _) = traffic(&scratch);
    let folder = scratch.path("captures");
    let ended = call(&["run", text(&path), "--captures", text(&folder), "-q", "select count(*) as n"]);
    ended.says(0, &["--captures", "no query"]);
}
