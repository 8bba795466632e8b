//! What a terminal shows: the live view, which fits and leaves the terminal as it was, and the line of progress.

use crate::support::capture::{self, ETHERNET};
use crate::support::program::edison;
use crate::support::pty::Pty;
use crate::support::scratch::Scratch;
use crate::support::terminal::Terminal;
use std::io::Write;
use std::process::Command;
use testbed::veth::{Veth, with_veth};

const COLUMNS: usize = 80;
const ROWS: usize = 24;
const START: u64 = 1_700_000_000_000_000_000;

/// The number before these words in a line.
fn number_before(lines: &[String], words: &str) -> Option<u64> {
    let before = lines.iter().find_map(|line| Some(line.split_once(words)?.0.to_owned()))?;
    before.rsplit(' ').next()?.replace(',', "").parse().ok()
}

/// The program with these words.
fn start(arguments: &str) -> Pty {
    let mut command = edison();
    command.args(arguments.split(' '));
    Pty::start(command, COLUMNS, ROWS)
}

#[track_caller]
fn has_given_back(pty: &Pty) -> Terminal {
    let terminal = pty.shown();
    assert!(!terminal.is_alternate && terminal.has_cursor, "{terminal:?}");
    assert!(!terminal.ran_over, "something was drawn beyond {COLUMNS} by {ROWS}");
    assert!(pty.is_as_before(), "the keyboard is not as it was");
    terminal
}

/// Endless traffic, in windows of this length.
fn live(every: &str) -> Pty {
    start(&format!(
        "run --synthetic packets=1M,flows=300 --wire rate=5kpps,seconds=3000 --every {every} --cores 1"
    ))
}

#[test]
fn the_view_counts_on_before_the_first_window_ends() {
    let mut pty = live("1000h");
    let grows = |pty: &Pty| {
        let counts = counts_of(&pty.shown());
        counts.first() < counts.last() && counts.len() > 2
    };
    pty.wait_for("a second figure", grows);
    let seen = pty.shown();
    assert!(seen.is_alternate && !seen.has_cursor && !seen.ran_over, "{seen:?}");
    let last = seen.frames.last().expect("two at least").join("\n");
    assert!(last.contains("the first one ends at ") && last.contains("Ctrl-C ends"), "{last}");
    // Ctrl-C, as a terminal sends it.
    pty.send("\x03");
    pty.wait().expect(0);
    let terminal = has_given_back(&pty);
    // The report on the main screen states what was received.
    let received = number_before(&terminal.lines(), " received = ").expect("a report");
    assert!(counts_of(&terminal).last().is_some_and(|&last| last <= received), "{received}");
}

fn counts_of(terminal: &Terminal) -> Vec<u64> {
    terminal.frames.iter().filter_map(|frame| number_before(frame, " packets received")).collect()
}

#[test]
fn the_view_fits_and_every_end_gives_the_terminal_back() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut pty = live("500ms");
        pty.wait_for("a table", |pty| pty.frame().contains("Flows with the most bytes"));
        pty.signal(signal);
        pty.wait().expect(0);
        has_given_back(&pty);
    }
}

#[test]
fn the_view_has_the_keys_of_top_and_q_ends_the_run() {
    let mut pty = live("500ms");
    pty.wait_for("a table", |pty| pty.frame().contains("Flows with the most bytes"));
    pty.send("3");
    pty.wait_for("the nodes", |pty| pty.frame().contains("[3 Nodes]") && pty.frame().contains("lost before"));
    pty.send("2");
    pty.wait_for("the chains", |pty| pty.frame().contains("Queries that start others"));
    pty.resize(20, 5);
    pty.wait_for("what fits", |pty| {
        let frame = pty.frame();
        frame.split('\n').count() == 5 && number_before(&lines_of(&frame), " packets").is_some()
    });
    pty.send("q");
    let ended = pty.wait().expect(0);
    assert!(ended.stdout.contains(" received = "), "a report follows");
    assert!(pty.is_as_before());
    assert!(!pty.shown().ran_over, "{}", pty.text());
}

fn lines_of(frame: &str) -> Vec<String> {
    frame.lines().map(str::to_owned).collect()
}

#[test]
fn a_run_whose_terminal_is_closed_ends() {
    let mut pty = live("500ms");
    pty.wait_for("a table", |pty| pty.frame().contains("Flows with the most bytes"));
    pty.close();
    let ended = pty.wait();
    // Whether the report found its terminal is no matter of the view.
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
}

#[test]
fn the_end_of_the_source_gives_the_terminal_back() {
    let mut pty =
        start("run --synthetic packets=2k,flows=300 --wire rate=5kpps,packets=4000 --every 100ms --cores 1");
    pty.wait().expect(0);
    let lines = has_given_back(&pty).lines();
    let figure = |words| number_before(&lines, words).unwrap_or_else(|| panic!("no{words}in {lines:?}"));
    // What the wire offered was received or missed.
    assert_eq!((figure(" packets arrived,"), figure(" received = ") + figure(" missed (")), (4000, 4000));
}

#[test]
fn an_interface_is_counted_at_once_and_its_loss_gives_the_terminal_back() {
    with_veth(|veth| {
        let mut pty = start(&format!("run -i {} --every 1000h", Veth::NEAR));
        pty.wait_for("the view", |pty| pty.shown().frames.len() > 1);
        (0..20).for_each(|port| veth.send(&capture::udp(port)));
        pty.wait_for("the frames that were sent", |pty| counts_of(&pty.shown()).contains(&20));
        veth.vanish();
        pty.wait().expect(1);
        let lines = has_given_back(&pty).lines();
        assert_eq!(number_before(&lines, " received = "), Some(20), "{lines:?}");
        assert!(
            lines.iter().any(|line| line.starts_with("edison: error: ") && line.contains("'near'")),
            "{lines:?}"
        );
    });
}

#[test]
fn progress_is_erased_before_a_window_is_shown() {
    let scratch = Scratch::new();
    let pipe = scratch.path("pipe.pcap");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo is not installed");
        return;
    }
    // Windows of a hundred frames: 24 bytes, then 16 + 60 for each frame.
    let bytes = capture::pcap(ETHERNET, &capture::udp_frames(20_000, START));
    let (header, windows) = bytes.split_at(24);
    let mut command = edison();
    command.arg("run").arg(&pipe).args(["--every", "100ms", "--cores", "1"]);
    let mut pty = Pty::start(command, 200, ROWS);
    let mut writer = std::fs::File::options().write(true).open(&pipe).expect("the program reads it");
    writer.write_all(header).expect("the program reads it");
    let is_progress =
        |line: &str| line.contains(" packets, ") && line.contains(" flows, ") && line.contains("pps");
    let mut written = 0;
    // The progress line is drawn while the source is idle.
    for window in windows.chunks(100 * 76) {
        writer.write_all(window).expect("the program reads it");
        written += 1;
        std::thread::sleep(std::time::Duration::from_millis(250));
        if pty.text().lines().any(is_progress) {
            break;
        }
    }
    drop(writer);
    let ended = pty.wait().expect(0);
    assert!(ended.stdout.lines().any(is_progress), "no progress was shown in {written} windows");
    let lines = pty.shown().lines();
    assert_eq!(lines.iter().filter(|line| line.contains("window ")).count(), written, "{lines:?}");
    for line in lines {
        assert!(!is_progress(&line) && (!line.contains("window ") || line.starts_with("window ")), "{line}");
    }
}
