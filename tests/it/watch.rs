//! `edison watch --exec` and `--webhook`: what a program and a server get of events, and what is told of those that fail. The controller is a
//! stream of the test's own, or a run that measures; perfSONAR is a stand-in program.

use crate::support::capture;
use crate::support::program::{Running, edison, run};
use crate::support::scratch::{Scratch, text};
use model::{Column, ColumnKind, Event, EventKind, Item, Value};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A text that means something to a shell, in JSON, and in a line.
const HOSTILE: &str = "$(touch owned); `touch owned` ' \" \\ * -rf\n--x";

/// A controller of which there is nothing but the stream.
struct Controller {
    address: String,
    /// The stream ends when this is dropped.
    stays: Option<Sender<()>>,
}

impl Controller {
    /// Begins a stream with these events.
    fn new(events: &[Event]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let messages: String =
            events.iter().map(|event| format!("event: event\ndata: {}\n\n", json_of(event))).collect();
        let (stays, ends) = channel::<()>();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            request(&mut stream);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            // Who listens may have ended.
            let _ = stream.write_all((head.to_owned() + &messages).as_bytes());
            let _ = ends.recv();
        });
        Self { address, stays: Some(stays) }
    }

    fn end(&mut self) {
        self.stays = None;
    }

    /// Starts `edison watch` of it.
    fn watch(&self, arguments: &[&str]) -> Running {
        Running::start(
            edison().args(["watch", "--controller", &self.address]).args(arguments).stdin(Stdio::null()),
        )
    }
}

/// Reads a request. Returns its head and its body.
fn request(stream: &mut impl Read) -> (String, String) {
    let (mut read, mut byte) = (Vec::new(), [0]);
    while !read.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|number| number == 1) {
        read.push(byte[0]);
    }
    let head = String::from_utf8(read).expect("UTF-8");
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).expect("the body");
    (head, String::from_utf8(body).expect("UTF-8"))
}

fn event(number: u64, query: &str, kind: EventKind, key: &str, values: Vec<Item>) -> Event {
    let item = |name: &str, kind, value| Item { column: Column::new(name, kind, ""), value };
    Event {
        event: format!("{number:016x}"),
        kind,
        query: query.to_owned(),
        fired_by: None,
        key: vec![item("user-name(x)", ColumnKind::Text, Value::Text(key.into()))],
        node: Some("Node1".to_owned()),
        at_ns: 1_795_534_800_000_000_000,
        window: None,
        values,
        threshold: None,
        late: false,
        coverage: Some(1.0),
        bounds: None,
        parent: None,
        title: Some("Many scans at Node1".to_owned()),
    }
}

fn number(name: &str, value: u64) -> Item {
    Item { column: Column::new(name, ColumnKind::Unsigned, ""), value: Value::Unsigned(value) }
}

fn json_of(event: &Event) -> String {
    serde_json::to_string(event).expect("JSON")
}

/// A script, as a program.
fn program(scratch: &Scratch, name: &str, content: &str) -> PathBuf {
    let path = scratch.file(name, content);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("own file");
    path
}

fn content(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path.as_ref())
        .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// The lines of standard error with all of these words.
fn lines_with(said: &str, words: &[&str]) -> usize {
    said.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

#[test]
fn a_program_gets_each_event_and_no_shell_runs() {
    let scratch = Scratch::new();
    let script = "#!/bin/sh\ncd \"$1\" || exit 9\ncat >\"$EVENT_ID.json\"\nprintf %s \"$EVENT_KEY_USER_NAME_X_\" >\"$EVENT_ID.key\"\n\
        env | sort >\"$EVENT_ID.env\"\necho out\nexit \"$EVENT_VALUE_CODE\"\n";
    let script = program(&scratch, "a script", script);
    let mut long = "x".repeat(100_000);
    long.push_str(HOSTILE);
    let events = [
        event(1, "q", EventKind::Fired, HOSTILE, vec![number("code", 0)]),
        event(
            2,
            "q",
            EventKind::Fired,
            "b",
            vec![number("code", 3), number("CODE", 4), Item { value: Value::Null, ..number("none", 0) }],
        ),
        event(3, "q", EventKind::Resolved, "c", vec![number("code", 0)]),
        event(4, "other", EventKind::Fired, "d", vec![number("code", 0)]),
        // More than a pipe takes, and longer than a variable may be.
        event(5, "q", EventKind::Fired, &long, vec![number("code", 0)]),
    ];
    let mut controller = Controller::new(&events);
    let exec = format!("'{}' '{}'", text(&script), scratch.as_ref().display());
    let running = Running::start(
        edison()
            .args([
                "watch",
                "--controller",
                &controller.address,
                "--json",
                "--query",
                "q",
                "--kind",
                "fired",
                "--exec",
                &exec,
            ])
            .stdin(Stdio::null())
            .env("EVENT_PARENT", "of another event")
            .current_dir(scratch.as_ref()),
    );
    controller.end();
    let ended = running.wait().expect(1);
    let shown: Vec<String> = [0, 1, 4].map(|at| json_of(&events[at])).into();
    assert_eq!(ended.stdout.lines().collect::<Vec<_>>(), shown);
    for at in [0, 1, 4] {
        let id = &events[at].event;
        assert_eq!(content(scratch.path(&format!("{id}.json"))), json_of(&events[at]) + "\n");
    }
    let file = |id: u64, end: &str| content(scratch.path(&format!("{id:016x}.{end}")));
    assert_eq!(
        (file(1, "key"), file(2, "key"), file(5, "key")),
        (HOSTILE.to_owned(), "b".to_owned(), String::new())
    );
    assert!(!scratch.path("owned").exists() && !scratch.path(&format!("{:016x}.env", 3)).exists());
    let environment = file(2, "env");
    let own: Vec<&str> = environment.lines().filter(|line| line.starts_with("EVENT_")).collect();
    let expected = [
        "EVENT_AT=2026-11-24T15:40:00.000000000Z",
        &format!("EVENT_CONTROLLER={}", controller.address),
        "EVENT_ID=0000000000000002",
        "EVENT_KEY_USER_NAME_X_=b",
        "EVENT_KIND=fired",
        "EVENT_NODE=Node1",
        "EVENT_QUERY=q",
        "EVENT_TITLE=Many scans at Node1",
        "EVENT_VALUE_CODE=3",
    ];
    assert_eq!(own, expected);
    assert_eq!(
        lines_with(&ended.stderr, &["--exec: 0000000000000002 of q: exit code 3", "(exit_code_3)"]),
        1
    );
    assert_eq!(lines_with(&ended.stderr, &["of q: exit code 0"]), 2);
    assert_eq!(
        lines_with(&ended.stderr, &["--exec: 3 events: 1 exit_code_3, 2 succeeded"]),
        1,
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().filter(|line| *line == "out").count(), 3);
}

#[test]
fn programs_are_few_at_once_and_what_takes_too_long_is_ended() {
    let scratch = Scratch::new();
    // What a program has started is ended with it; its parent tells the number.
    let script = "#!/bin/sh\nmkdir \"$1/lock\" || exit 9\nif [ \"$EVENT_VALUE_SLOW\" = 1 ]; then\n  trap '' TERM\n  sleep 1000 & echo $! >\"$1/started\"\n\
        \x20 rmdir \"$1/lock\"\n  while :; do sleep 1; done\nfi\nsleep 0.02\nrmdir \"$1/lock\"\n";
    let script = program(&scratch, "script", script);
    let mut events: Vec<Event> =
        (1..=10).map(|at| event(at, "q", EventKind::Fired, "x", vec![number("slow", 0)])).collect();
    events.insert(5, event(99, "q", EventKind::Fired, "x", vec![number("slow", 1)]));
    let mut controller = Controller::new(&events);
    let exec = format!("{} {}", text(&script), scratch.as_ref().display());
    let running = controller.watch(&["--exec", &exec, "--exec-jobs", "1", "--exec-time", "2s"]);
    controller.end();
    let ended = running.wait().expect(1);
    assert_eq!(
        lines_with(&ended.stderr, &["--exec: 11 events: 10 succeeded, 1 timeout"]),
        1,
        "{}",
        ended.stderr
    );
    assert_eq!(
        lines_with(&ended.stderr, &["0000000000000063 of q: ended after", "(timeout)"]),
        1,
        "{}",
        ended.stderr
    );
    let started: libc::pid_t = content(scratch.path("started")).trim().parse().expect("a number");
    assert!(!is_alive(started));
}

/// Returns whether a process runs. One that has ended and was not waited for does not.
fn is_alive(process: libc::pid_t) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn what_waits_too_long_and_what_ctrl_c_ends_is_counted() {
    let scratch = Scratch::new();
    let script = program(&scratch, "script", "#!/bin/sh\necho $$ >\"$1/started\"\nexec sleep 1000\n");
    let events: Vec<Event> = (0..1_100).map(|at| event(at, "q", EventKind::Fired, "x", Vec::new())).collect();
    let controller = Controller::new(&events);
    let exec = format!("{} {}", text(&script), scratch.as_ref().display());
    let mut running = controller.watch(&["--exec", &exec, "--exec-jobs", "1"]);
    let all = |running: &Running| running.lines().len() == 1_100;
    assert!(running.wait_for("all events", |running| all(running)), "{:?}", running.said());
    let started = scratch.path("started");
    let is_started = || std::fs::read_to_string(&started).is_ok_and(|number| number.ends_with('\n'));
    assert!(running.wait_for("the program", |_| is_started()));
    let process = content(&started).trim().parse().expect("a number");
    assert!(is_alive(process));
    running.signal(libc::SIGINT);
    let ended = running.wait().expect(3);
    assert!(!is_alive(process));
    let summary =
        ended.stderr.lines().find(|line| line.contains("--exec: 1,100 events: ")).expect("the counts");
    let skipped = lines_with(&ended.stderr, &["skipped: 1000 events wait already", "(no_room)"]);
    let stopped = lines_with(&ended.stderr, &["(ended)"]);
    assert!((98..=100).contains(&skipped) && skipped + stopped == 1_100, "{skipped} {stopped}");
    assert!(
        summary.ends_with(&format!(": {} ended, {skipped} no_room", notation::grouped(stopped as u64))),
        "{summary}"
    );
}

#[test]
fn a_second_ctrl_c_kills_programs_and_the_counts_are_told() {
    let scratch = Scratch::new();
    let script = "#!/bin/sh\ntrap 'echo told >\"$1/told\"' TERM\necho $$ >\"$1/started\"\nwhile :; do sleep 0.1; done\n";
    let script = program(&scratch, "script", script);
    let controller = Controller::new(&[event(1, "q", EventKind::Fired, "x", Vec::new())]);
    let exec = format!("{} {}", text(&script), scratch.as_ref().display());
    let mut running = controller.watch(&["--exec", &exec]);
    let is_written =
        |name: &str| std::fs::read_to_string(scratch.path(name)).is_ok_and(|content| content.ends_with('\n'));
    assert!(running.wait_for("the program", |_| is_written("started")));
    running.signal(libc::SIGINT);
    assert!(running.wait_for("SIGTERM", |_| is_written("told")));
    running.signal(libc::SIGINT);
    let ended = running.wait().expect(3);
    assert!(!is_alive(content(scratch.path("started")).trim().parse().expect("a number")));
    assert_eq!(lines_with(&ended.stderr, &["--exec: 1 event: 1 ended"]), 1, "{}", ended.stderr);
    // Not because its time to end by itself was over.
    assert_eq!(lines_with(&ended.stderr, &["of q: killed after", "(ended)"]), 1, "{}", ended.stderr);
}

/// A server that answers each request in turn with one of these. Returns its address and what it gets.
fn server(answers: Vec<&'static str>) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, got) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let read = request(&mut stream);
            let text = format!("HTTP/1.1 {answer}\r\ncontent-length: 5\r\nconnection: close\r\n\r\nwords");
            let _ = stream.write_all(text.as_bytes());
            let _ = sender.send(read);
        }
    });
    (address, got)
}

#[test]
fn a_webhook_gets_each_event_in_order_and_again_where_it_was_not_ready() {
    let scratch = Scratch::new();
    let token = scratch.file("token", "a-token\n");
    let answers = vec![
        "503 Busy",
        "429 Slowly",
        "200 OK",
        "400 Bad",
        "204 Nothing",
        "500 a",
        "502 b",
        "503 c",
        "504 d",
    ];
    let (hook, got) = server(answers);
    let events: Vec<Event> =
        (1..=4).map(|at| event(at, "q", EventKind::Fired, HOSTILE, Vec::new())).collect();
    let mut controller = Controller::new(&events);
    let url = format!("{hook}/path/secret?key=secret");
    let running = controller.watch(&["--webhook", &url, "--webhook-token-file", text(&token)]);
    controller.end();
    let ended = running.wait().expect(1);
    let got: Vec<(String, String)> = got.iter().collect();
    let bodies: Vec<&str> = got.iter().map(|(_, body)| body.as_str()).collect();
    let texts: Vec<String> = events.iter().map(json_of).collect();
    assert_eq!(bodies, [0, 0, 0, 1, 2, 3, 3, 3, 3].map(|at| texts[at].as_str()));
    for (head, _) in &got {
        let head = head.to_lowercase();
        assert!(head.starts_with("post /path/secret?key=secret http/1.1\r\n"), "{head}");
        assert!(head.contains("\r\ncontent-type: application/json\r\n"), "{head}");
        assert!(head.contains("\r\nauthorization: bearer a-token\r\n"), "{head}");
    }
    let said = &ended.stderr;
    assert_eq!(
        lines_with(said, &[&format!("--webhook {hook}: 4 events: 1 busy, 2 posted, 1 refused")]),
        1,
        "{said}"
    );
    assert_eq!(
        lines_with(said, &["0000000000000002 of q: it refuses the event (400", "words (refused)"]),
        1,
        "{said}"
    );
    assert_eq!(
        lines_with(said, &["0000000000000004 of q: given up after 4 tries", "(504", "(busy)"]),
        1,
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn a_webhook_that_is_away_is_given_up() {
    // A port that nothing listens at.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let mut controller = Controller::new(&[event(1, "q", EventKind::Fired, "x", Vec::new())]);
    let running = controller.watch(&["--webhook", &format!("http://{free}/"), "--exec", "true"]);
    controller.end();
    let ended = running.wait().expect(1);
    let counted = format!("--webhook http://{free}: 1 event: 1 away");
    assert_eq!(lines_with(&ended.stderr, &[&counted]), 1, "{}", ended.stderr);
    assert_eq!(lines_with(&ended.stderr, &["--exec: 1 event: 1 succeeded"]), 1, "{}", ended.stderr);
}

#[test]
fn what_cannot_be_done_is_refused_before_the_controller_is_asked() {
    let scratch = Scratch::new();
    let token = scratch.file("token", "a-token\n");
    let plain = scratch.file("plain", "#!/bin/sh\n");
    for (arguments, words) in [
        (&["--exec", "no-such-program x"][..], &["--exec no-such-program", "no such program"][..]),
        (&["--exec", text(&plain)], &["no such program"]),
        (&["--exec", "a 'b"], &["--exec", "quote"]),
        (&["--exec", ""], &["--exec", "no program"]),
        (&["--exec", "true", "--exec-jobs", "0"], &["--exec-jobs"]),
        (&["--exec", "true", "--exec-time", "0s"], &["--exec-time", "above zero"]),
        (&["--exec-jobs", "2"], &["--exec"]),
        (&["--webhook-ca", "x"], &["--webhook"]),
        (&["--webhook", "ftp://127.0.0.1/"], &["--webhook", "http://HOST:PORT/PATH"]),
        (&["--webhook", "http://a:b@127.0.0.1/"], &["--webhook-token-file"]),
        (
            &["--webhook", "http://192.0.2.1/", "--webhook-token-file", text(&token)],
            &["http://192.0.2.1", "in clear"],
        ),
        (
            &["--webhook", "http://127.0.0.1/", "--webhook-token-file", "/nosuch"],
            &["--webhook-token-file /nosuch"],
        ),
        (&["--kind", "fire"], &["--kind"]),
    ] {
        run(edison().args(["watch", "--controller", "http://127.0.0.1:9"]).args(arguments)).says(2, words);
    }
}

/// A stand-in for `pscheduler task`: it checks its arguments, keeps the task, and prints a result as a test of round trips has it.
const STAND_IN: &str = r#"#!/usr/bin/env python3
import json, sys
assert sys.argv[1:3] == ["task", "--import"] and sys.argv[4:] == ["--quiet", "--format", "json", "."], sys.argv
with open(sys.argv[3]) as file:
    task = json.load(file)
with open("tasks.jsonl", "a") as file:
    file.write(json.dumps(task) + "\n")
print(json.dumps({"schema": 1, "succeeded": True, "sent": task["test"]["spec"]["count"], "lost": 0, "mean": "PT0.0123S"}))
"#;

#[test]
fn an_event_of_a_run_starts_a_test_of_perfsonar() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=50k,flows=2k,plant=flood,rate=10k");
    program(&scratch, "pscheduler", STAND_IN);
    let settings = json!({
        "test": {"type": "rtt", "spec": {"count": 7}},
        "points": {"0.0.0.0/0": "far.example.net", "203.0.113.0/24": "near.example.net"},
        "sources": {"tap": "here.example.net"},
        "results": "results.jsonl",
    });
    let points = scratch.file("points.json", settings.to_string());
    let query = "flood: select dst_addr, count(src_addr) as sources groupby dst_addr every 1s; \
        who: select count(*) as packets where dst_addr = flood.dst_addr every 1s when flood.sources > 100;";
    let mut measured = Running::start(
        edison().args(["run", "-", "--node", "tap", "--web=127.0.0.1:0", "-q", query]).stdin(Stdio::piped()),
    );
    let words = "the page and the API are at ";
    let address =
        |running: &Running| running.said().iter().find_map(|line| Some(line.split_once(words)?.1.to_owned()));
    assert!(measured.wait_for(words, |running| address(running).is_some()), "{:?}", measured.said());
    let address = address(&measured).expect("it was there");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pscheduler.py");
    let path = format!("{}:{}", scratch.as_ref().display(), std::env::var("PATH").expect("a path"));
    let exec = format!("python3 {} {}", script.display(), text(&points));
    let mut watch = Running::start(
        edison()
            .args(["watch", "--controller", &address, "--kind", "fired", "--json", "--exec", &exec])
            .stdin(Stdio::null())
            .env("PATH", path)
            .current_dir(scratch.as_ref()),
    );
    // It is subscribed before the first frame is there.
    assert!(watch.wait_for("the watch", |watch| watch.said().iter().any(|line| line.contains("watching"))));
    let frames = std::fs::read(&made.path).expect("the capture");
    measured.child.stdin.take().expect("piped").write_all(&frames).expect("the run reads");
    let results = scratch.path("results.jsonl");
    let told = |watch: &Running| {
        watch.said().iter().any(|line| line.contains("--exec: ") && line.contains("exit code"))
    };
    assert!(watch.wait_for("a test", told), "{:?}", watch.said());
    watch.signal(libc::SIGINT);
    let ended = watch.wait();
    let events: Vec<Json> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let target = "203.0.113.10";
    let fired = events.iter().find(|event| event["key"]["dst_addr"] == target).expect("the flood");
    let lines = |path: &Path| -> Vec<Json> {
        content(path).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let tasks = lines(&scratch.path("tasks.jsonl"));
    let task =
        tasks.iter().find(|task| task["reference"]["edison"]["event"] == fired["event"]).expect("its task");
    assert_eq!(
        task["test"],
        json!({"type": "rtt", "spec": {"schema": 1, "count": 7, "source": "here.example.net", "dest": "near.example.net"}})
    );
    assert_eq!((&task["schema"], &task["schedule"]), (&json!(1), &json!({"slip": "PT5M"})));
    assert_eq!(task["reference"]["edison"]["key"], fired["key"]);
    let results = lines(&results);
    let result = results.iter().find(|result| result["event"] == fired["event"]).expect("its result");
    assert_eq!((&result["exit_code"], &result["result"]["mean"]), (&json!(0), &json!("PT0.0123S")));
    assert_eq!(lines_with(&ended.stderr, &[fired["event"].as_str().expect("a text"), "exit code 0"]), 1);
    measured.signal(libc::SIGINT);
    measured.wait().expect(0);
}
