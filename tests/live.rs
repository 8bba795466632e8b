//! What a terminal shows: the live view, which fits and leaves the terminal as it was, and the line of progress.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use std::io::Write;
use std::process::Command;
use support::capture::{self, ETHERNET};
use support::program::Running;
use support::scratch::Scratch;
use support::terminal::{self, Terminal};
use testbed::veth::{Veth, with_veth};

const COLUMNS: usize = 80;
const ROWS: usize = 24;
const START: u64 = 1_700_000_000_000_000_000;

/// What the terminal shows so far. Lines are read up to the last line feed.
fn shown(running: &Running) -> Terminal {
    Terminal::showing(&running.lines().join("\n"), COLUMNS, ROWS)
}

/// The number before these words in a line.
fn number_before(lines: &[String], words: &str) -> Option<u64> {
    let before = lines.iter().find_map(|line| Some(line.split_once(words)?.0.to_owned()))?;
    before.rsplit(' ').next()?.replace(',', "").parse().ok()
}

fn kill(scratch: &Scratch, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &terminal::pid(scratch)]).status();
    assert!(sent.expect("kill is there").success());
}

#[track_caller]
fn has_given_back(terminal: &Terminal) {
    assert!(!terminal.is_alternate && terminal.has_cursor, "{terminal:?}");
    assert!(!terminal.ran_over, "something was drawn beyond {COLUMNS} by {ROWS}");
}

/// Endless traffic, in windows of this length.
fn live(scratch: &Scratch, every: &str) -> Option<Running> {
    let arguments =
        format!("--synthetic packets=1M,flows=300 --wire rate=5kpps,seconds=3000 --every {every} --cores 1");
    terminal::start(&terminal::program(scratch, &arguments), COLUMNS, ROWS)
}

#[test]
fn the_view_counts_on_before_the_first_window_ends() {
    let scratch = Scratch::new();
    let Some(mut running) = live(&scratch, "1000h") else { return };
    let counts = |running: &Running| {
        let frames = shown(running).frames;
        frames.iter().filter_map(|frame| number_before(frame, " packets received")).collect::<Vec<_>>()
    };
    let grows = |running: &Running| {
        let counts = counts(running);
        counts.first() < counts.last() && counts.len() > 2
    };
    assert!(running.wait_for("a second figure", grows), "{:?}", running.lines());
    let seen = shown(&running);
    assert!(seen.is_alternate && !seen.has_cursor && !seen.ran_over, "{seen:?}");
    let last = seen.frames.last().expect("two at least").join("\n");
    assert!(last.contains("the first one ends at ") && last.contains("Ctrl-C ends"), "{last}");
    kill(&scratch, "INT");
    let ended = running.wait().expect(0);
    let terminal = Terminal::showing(&ended.stdout, COLUMNS, ROWS);
    has_given_back(&terminal);
    // The report on the main screen states what was received.
    let received = number_before(&terminal.lines(), " received = ").expect("a report");
    assert!(counts_of(&terminal).last().is_some_and(|&last| last <= received), "{received}");
}

fn counts_of(terminal: &Terminal) -> Vec<u64> {
    terminal.frames.iter().filter_map(|frame| number_before(frame, " packets received")).collect()
}

#[test]
fn the_view_fits_and_every_end_gives_the_terminal_back() {
    for signal in ["INT", "TERM", "HUP"] {
        let scratch = Scratch::new();
        let Some(mut running) = live(&scratch, "500ms") else { return };
        let has_tables = |running: &Running| {
            let frames = shown(running).frames;
            frames
                .last()
                .is_some_and(|frame| frame.iter().any(|line| line.contains("Flows with the most bytes")))
        };
        assert!(running.wait_for("a table", has_tables), "{:?}", running.lines());
        kill(&scratch, signal);
        let ended = running.wait().expect(0);
        has_given_back(&Terminal::showing(&ended.stdout, COLUMNS, ROWS));
    }
}

#[test]
fn the_end_of_the_source_gives_the_terminal_back() {
    let scratch = Scratch::new();
    let arguments = "--synthetic packets=2k,flows=300 --wire rate=5kpps,packets=4000 --every 100ms --cores 1";
    let Some(running) = terminal::start(&terminal::program(&scratch, arguments), COLUMNS, ROWS) else {
        return;
    };
    let ended = running.wait().expect(0);
    let terminal = Terminal::showing(&ended.stdout, COLUMNS, ROWS);
    has_given_back(&terminal);
    let lines = terminal.lines();
    let figure = |words| number_before(&lines, words).unwrap_or_else(|| panic!("no{words}in {lines:?}"));
    // What the wire offered was received or missed.
    assert_eq!((figure(" packets arrived,"), figure(" received = ") + figure(" missed (")), (4000, 4000));
}

#[test]
fn an_interface_is_counted_at_once_and_its_loss_gives_the_terminal_back() {
    with_veth(|veth| {
        let scratch = Scratch::new();
        let arguments = format!("-i {} --every 1000h", Veth::NEAR);
        let Some(mut running) = terminal::start(&terminal::program(&scratch, &arguments), COLUMNS, ROWS)
        else {
            return;
        };
        assert!(running.wait_for("the view", |it| shown(it).frames.len() > 1), "{:?}", running.lines());
        (0..20).for_each(|port| veth.send(&capture::udp(port)));
        let all = |it: &Running| counts_of(&shown(it)).contains(&20);
        assert!(running.wait_for("the frames that were sent", all), "{:?}", running.lines());
        veth.vanish();
        let ended = running.wait().expect(1);
        let terminal = Terminal::showing(&ended.stdout, COLUMNS, ROWS);
        has_given_back(&terminal);
        let lines = terminal.lines();
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
    let arguments = format!("run {} --every 100ms --cores 1", pipe.display());
    let Some(running) = terminal::start(&terminal::program(&scratch, &arguments), 200, ROWS) else { return };
    let mut writer = std::fs::File::options().write(true).open(&pipe).expect("the program reads it");
    writer.write_all(header).expect("the program reads it");
    let is_progress =
        |line: &str| line.contains(" packets, ") && line.contains(" flows, ") && line.contains("pps");
    let mut written = 0;
    // The progress line is drawn while the source is idle; the terminal's output contains it after the next line feed.
    for window in windows.chunks(100 * 76) {
        writer.write_all(window).expect("the program reads it");
        written += 1;
        std::thread::sleep(std::time::Duration::from_millis(250));
        if running.lines().iter().any(|line| is_progress(line)) {
            break;
        }
    }
    drop(writer);
    let ended = running.wait().expect(0);
    assert!(ended.stdout.lines().any(is_progress), "no progress was shown in {written} windows");
    let lines = Terminal::showing(&ended.stdout, 200, ROWS).lines();
    assert_eq!(lines.iter().filter(|line| line.contains("window ")).count(), written, "{lines:?}");
    for line in lines {
        assert!(!is_progress(&line) && (!line.contains("window ") || line.starts_with("window ")), "{line}");
    }
}
