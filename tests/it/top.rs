//! `edison top` on a terminal: it shows what the API and the report of a run have, at any size, and leaves the terminal as it was.

use crate::support::capture;
use crate::support::output::report;
use crate::support::program::{Running, call, edison};
use crate::support::pty::Pty;
use crate::support::scratch::{Scratch, text};
use notation::grouped;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

/// A run with a page.
fn serve(arguments: &[&str], listen: &str) -> (Running, String) {
    let mut running = Running::start(edison().args(["run", &format!("--web={listen}")]).args(arguments));
    let said = |running: &Running, words: &str| running.said().into_iter().find(|line| line.contains(words));
    assert!(
        running.wait_for("the page", |running| said(running, "stays at").is_some()),
        "{:?}",
        running.said()
    );
    let line = said(&running, "stays at").expect("it was there");
    let address = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address");
    (running, address.trim_end_matches('/').to_owned())
}

fn command(address: &str) -> Command {
    let mut top = edison();
    top.args(["top", address]);
    top
}

#[track_caller]
fn has_given_back(pty: &Pty) {
    let terminal = pty.shown();
    assert!(!terminal.is_alternate && terminal.has_cursor && !terminal.ran_over, "{terminal:?}");
    assert!(pty.is_as_before(), "the keyboard is not as it was");
}

#[track_caller]
fn wait_for_all(pty: &mut Pty, words: &[String]) {
    let lacks = |pty: &Pty| {
        let frame = pty.frame();
        words.iter().find(|word| !frame.contains(word.as_str())).cloned()
    };
    pty.wait_for(&format!("{words:?}"), |pty| lacks(pty).is_none());
}

#[test]
fn a_run_is_shown_as_its_report_has_it_at_any_size() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=20k,flows=2k,zipf=1.0,plant=flood").path;
    let file = scratch.path("report.json");
    let (mut running, address) = serve(&[text(&capture), "--report", text(&file)], "127.0.0.1:0");
    let report = report(&file);
    let count = |pointer: &str| grouped(report.pointer(pointer).and_then(Value::as_u64).expect("a number"));
    let (received, measured) = (count("/packets/received"), count("/packets/measured"));
    let mut pty = Pty::start(command(&address), 80, 24);
    let hosts =
        report["answers"].as_array().expect("answers").iter().find(|answer| answer["query"] == "hosts");
    let hosts = &hosts.expect("hosts")["rows"];
    let packets = format!("{received} packets received");
    wait_for_all(&mut pty, &[packets.clone(), format!("{measured} measured"), "[1 Now]".to_owned()]);
    assert_eq!(pty.frame().split('\n').count(), 24);

    // Filtered, the table of hosts is the only one, and its first row the report's.
    pty.send("/hosts\r");
    let first = |column: &str| match &hosts[0][column] {
        Value::String(text) => text.clone(),
        number => grouped(number.as_u64().expect("a number")),
    };
    let row = ["addr", "total_count", "total_byte"].map(first);
    pty.wait_for("the first host", |pty| {
        let frame = pty.frame();
        !frame.contains("Conversations")
            && frame.lines().any(|line| row.iter().all(|cell| line.contains(cell)))
    });
    // Alone, it has all rows, down to the last one.
    let last =
        hosts.as_array().and_then(|rows| rows.last()).expect("a row")["addr"].as_str().expect("a text");
    pty.send("\rG");
    wait_for_all(&mut pty, &[last.to_owned(), "Esc back".to_owned()]);
    pty.send("\x1b\x1b3");
    wait_for_all(&mut pty, &["[3 Nodes]".to_owned(), "ended".to_owned(), received.clone()]);

    pty.resize(20, 5);
    wait_for_all(&mut pty, &[format!("{received} packets"), "ended".to_owned()]);
    pty.wait_for("five lines", |pty| pty.frame().split('\n').count() == 5);
    pty.resize(200, 50);
    pty.send("1");
    // More than one table, and their shares: what fits is shown.
    wait_for_all(&mut pty, &[packets, "Conversations by bytes".to_owned(), "Ports by bytes".to_owned()]);
    assert_eq!(pty.frame().split('\n').count(), 50);
    pty.resize(1, 1);
    pty.wait_for("one line", |pty| pty.frame().split('\n').count() <= 1);
    pty.send("q");
    pty.wait().expect(0);
    assert!(!pty.shown().ran_over && pty.is_as_before());
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn chains_and_stories_are_those_of_the_run() {
    let scratch = Scratch::new();
    let [first, second] = capture::lossy_taps(&scratch);
    let file = scratch.path("report.json");
    let chain = format!("{}/examples/locate.eq", env!("CARGO_MANIFEST_DIR"));
    let arguments = [&*first, &*second, "-f", &chain, "--report", text(&file)];
    let (mut running, address) = serve(&arguments, "127.0.0.1:0");
    let report = report(&file);
    let stories = report["stories"].as_array().expect("stories");
    let mut pty = Pty::start(command(&address), 200, 50);
    pty.send("2");
    let chain = ["n1", "before", "n2", "between", "behind"].map(str::to_owned);
    wait_for_all(&mut pty, &chain);
    // Lines are longer than the terminal is wide.
    let begin = |line: &str| line.trim().chars().take(100).collect::<String>();
    for story in stories.iter().take(3) {
        wait_for_all(&mut pty, &[begin(story["title"].as_str().expect("a title"))]);
    }
    // A story alone has all its lines.
    let story = stories.first().expect("a story");
    let title = story["title"].as_str().expect("a title");
    let text = story["text"].as_str().expect("a text");
    let lines: Vec<String> = std::iter::once(title).chain(text.lines()).map(begin).collect();
    assert!(lines.len() > 1, "{lines:?}");
    pty.send(&format!("/{}\r\r", lines[0].chars().take(40).collect::<String>()));
    wait_for_all(&mut pty, &lines);
    wait_for_all(
        &mut pty,
        &[format!("Story {}", story["id"].as_str().expect("a text")), "Esc back".to_owned()],
    );
    pty.send("\x1b\x1b3");
    for (name, node) in report["nodes"].as_object().expect("nodes") {
        let received = grouped(node["packets"]["received"].as_u64().expect("a number"));
        wait_for_all(&mut pty, &[name.clone(), received]);
    }
    pty.signal(libc::SIGTERM);
    pty.wait().expect(0);
    has_given_back(&pty);
    running.signal(libc::SIGTERM);
    running.wait().expect(0);
}

#[test]
fn a_server_that_goes_is_said_and_found_again() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=1k,flows=100").path;
    let (mut running, address) = serve(&[text(&capture)], "127.0.0.1:0");
    let mut pty = Pty::start(command(&address), 80, 24);
    wait_for_all(&mut pty, &["1,000 packets received".to_owned()]);
    running.signal(libc::SIGINT);
    running.wait().expect(0);
    // What was known stays.
    wait_for_all(&mut pty, &["away ".to_owned(), "1,000 packets received".to_owned()]);
    let other = capture::generate(&scratch, "packets=3k,flows=100").path;
    let (mut running, _) = serve(&[text(&other)], address.trim_start_matches("http://"));
    wait_for_all(&mut pty, &["3,000 packets received".to_owned()]);
    assert!(!pty.frame().contains("away "), "{}", pty.frame());
    // The terminal is closed.
    pty.close();
    let ended = pty.wait();
    assert!(ended.signal.is_none(), "{ended:?}");
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn what_cannot_be_shown_is_said_in_a_line() {
    call(&["top"]).says(2, &["standard output is no terminal", "edison nodes"]);
    call(&["top", "--interval", "1ms"]).says(2, &["--interval", "100ms"]);
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let mut pty = Pty::start(command(&format!("http://{closed}")), 80, 24);
    let ended = pty.wait().expect(1);
    assert!(ended.stdout.contains("is it running?"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("?1049"), "the terminal was not taken");
    let mut pty = Pty::start(command("ftp://127.0.0.1"), 80, 24);
    assert!(pty.wait().expect(2).stdout.contains("http://HOST:PORT"));
    for (address, words) in
        [("http://127.0.0.1:99999", "its port"), ("http://127.0.0.1:1/?a=b", "ends with its path")]
    {
        call(&["nodes", "--controller", address]).says(2, &[address, words]);
    }
    let mut dumb = command(&format!("http://{closed}"));
    dumb.env("TERM", "dumb");
    let mut pty = Pty::start(dumb, 80, 24);
    let ended = pty.wait().expect(2);
    assert!(ended.stdout.contains("TERM=dumb") && !ended.stdout.contains('\x1b'), "{}", ended.stdout);
}

/// Answers requests with what a hostile server might say.
fn hostile(listener: &TcpListener) {
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\r\n\u{202e}日本\u{200b}e\u{301}";
    let packets = json!({"received": 5, "measured": 5, "not_measured": {evil: 0}, "remarks": {}});
    let node = json!({
        "name": evil, "state": "up", "seen": null, "coverage": null, "window": null, "packets": packets, "loss": null,
        "last": null, "spool": {"messages": 0, "bytes": 0, "shortened": 0, "dropped": 0, "unwritten": 0, "fault": evil},
        "store": null, "clock": null, "load": null,
        "tasks": {"wanted": 0, "applied": null, "refused": evil, "lapsed": 0},
        "version": evil, "sources": [evil], "gaps": [], "refused": {evil: 3},
    });
    let time = "2026-11-24T15:40:00.000000000Z";
    let status = json!({
        "mode": "controller", "version": evil, "now": time, "started": time, "ended": false, "sources": [evil], "span": null,
        "broker": {"state": "away", "since": time, "reason": evil}, "nodes": [node.clone(), node], "refused": {evil: 2},
        "windows": {"complete": 1, "partial": 0, "late": 0, "lost": 0, "doubled": 0},
        "notes": [{"at": time, "text": evil}],
    });
    let story = json!({"id": evil, "text": evil, "at": time, "query": evil, "node": evil, "events_total": 1, "acknowledged": null});
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
        let Some(Ok(request)) = lines.next() else { continue };
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let path = request.split(' ').nth(1).unwrap_or_default();
        let body = match path.split('?').next().unwrap_or_default() {
            "/api/v1/status" => status.to_string(),
            "/api/v1/stories" => json!({"stories": [story]}).to_string(),
            "/api/v1/events" => json!({"events": []}).to_string(),
            "/api/v1/answers" => json!({"answers": []}).to_string(),
            "/api/v1/stream" => format!(
                "event: status\ndata: {status}\n\nevent: queries\ndata: {{\"queries\":[]}}\n\nevent: answer\ndata: {{}}\n\n"
            ),
            _ => return,
        };
        answer(&mut stream, &body);
    }
}

fn answer(stream: &mut TcpStream, body: &str) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all((head + body).as_bytes());
}

#[test]
fn hostile_text_is_harmless_and_what_is_no_message_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || hostile(&listener));
    let mut pty = Pty::start(command(&format!("http://{address}")), 80, 24);
    // The terminal of the test knows no other control sequences than those of drawing, and fails at any other.
    wait_for_all(&mut pty, &["a message is not understood".to_owned(), "2 node(s): 2 up".to_owned()]);
    for keys in ["2", "3", "j", "\r", "G", "\x1b", "?"] {
        let frames = pty.shown().frames.len();
        pty.send(keys);
        pty.wait_for("another frame", |pty| pty.shown().frames.len() > frames);
    }
    pty.resize(41, 9);
    pty.send("3");
    pty.wait_for("a small view", |pty| pty.frame().split('\n').count() == 9);
    assert!(!pty.text().contains("\u{202e}") && !pty.text().contains("\x1b]"), "{}", pty.text());
    pty.send("q");
    pty.wait().expect(0);
    has_given_back(&pty);
}

#[test]
fn no_color_leaves_colours_out() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || hostile(&listener));
    let colours = |no_color: &str| {
        let mut coloured = command(&format!("http://{address}"));
        coloured.env("NO_COLOR", no_color);
        let mut pty = Pty::start(coloured, 80, 24);
        wait_for_all(&mut pty, &["broker    away".to_owned()]);
        pty.send("q");
        pty.wait().expect(0);
        pty.shown().colours
    };
    assert_eq!(colours("1"), 0);
    assert!(colours("") > 0);
}

/// The program has no panic that a test could cause: this test starts itself on a terminal, and panics there while it draws.
#[test]
fn a_panic_gives_the_terminal_back_and_its_message_stays() {
    const CHILD: &str = "TOP_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let mut screen = top::Screen::enter(std::time::Duration::from_secs(1)).expect("a terminal");
        let model = top::ViewModel::new(top::StatusOrigin::Api { address: "nowhere".to_owned() });
        screen.refresh(&model).expect("drawn");
        panic!("this is what the test wants to read");
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let name = "top::a_panic_gives_the_terminal_back_and_its_message_stays";
    command.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    let mut pty = Pty::start(command, 120, 24);
    let ended = pty.wait();
    assert!(ended.code != Some(0), "{ended:?}");
    assert!(pty.frame().contains("a run at nowhere"), "it has drawn: {}", pty.frame());
    has_given_back(&pty);
    let lines = pty.shown().lines();
    assert!(lines.iter().any(|line| line.contains("this is what the test wants to read")), "{lines:?}");
}
