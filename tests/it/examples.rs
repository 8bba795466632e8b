//! The texts of queries that Edison ships: each is checked, measures, and stands under a controller.

use crate::support::broker::free_ports;
use crate::support::capture;
use crate::support::program::{Ended, Running, call, edison, run};
use crate::support::scratch::{Scratch, text};
use std::path::{Path, PathBuf};

/// What the paper leaves to the reader.
const SET: [&str; 6] = ["--set", "K1=10K", "--set", "K2=100K", "--set", "K3=100K"];

fn shipped() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["deploy/examples", "examples"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
        entries.map(|entry| entry.expect("an entry").path())
    });
    let mut texts: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "eq")).collect();
    texts.sort();
    assert!(texts.len() >= 4, "{texts:?}");
    texts
}

/// Expects a line on standard error that has all of the words, next to the places that are drawn.
#[track_caller]
fn says(ended: Ended, code: i32, words: &[&str]) {
    let ended = ended.expect(code);
    let said = ended.stderr.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(said, "no line with {words:?} in:\n{}", ended.stderr);
}

#[test]
fn each_is_checked_and_runs() {
    let scratch = Scratch::new();
    let captured = capture::generate(&scratch, "packets=500,flows=20");
    let nodes = ["Node1", "Node2", "NodeX"].map(|node| format!("{node}={}", text(&captured.path)));
    for path in shipped() {
        says(call(&[&["check", text(&path)], &SET[..]].concat()), 0, &["no errors"]);
        let ended =
            run(edison().arg("run").args(&nodes).args(["-f", text(&path), "--json"]).args(SET)).expect(0);
        assert!(!ended.stderr.contains("error"), "{}: {}", path.display(), ended.stderr);
    }
}

#[test]
fn each_stands_under_a_controller() {
    for path in shipped() {
        let scratch = Scratch::new();
        // No broker is there, and none is needed to refuse a query.
        let [broker, web] = [free_ports(1), free_ports(1)];
        let settings = format!(
            "broker = \"amqp://guest:guest@127.0.0.1:{broker}\"\nnodes = [\"Node1\", \"Node2\", \"NodeX\"]\n\
             every = \"1s\"\nqueries = [\"{}\"]\nstate = \"{}\"\nlisten = \"127.0.0.1:{web}\"\n\
             [set]\nK1 = \"10K\"\nK2 = \"100K\"\nK3 = \"100K\"\n",
            text(&path),
            text(&scratch.path("state.db")),
        );
        let file = scratch.file("controller.toml", settings);
        let mut controller = Running::start(edison().args(["controller", "--config", text(&file)]));
        let is_there =
            |controller: &Running| controller.said().iter().any(|line| line.contains("the API are at"));
        assert!(controller.wait_for("the page", is_there), "{}: {:?}", path.display(), controller.said());
    }
}

/// `check` says what `run` and `controller` refuse, and all three say where, and who has the name.
#[test]
fn a_name_that_is_taken_is_named_with_its_place() {
    let scratch = Scratch::new();
    let own = scratch.file("own.eq", "talkers: select count(*);\n  targets: select count(*);\n");
    let taken = format!("{}:2:3: error: the name 'targets' is taken by Edison", text(&own));
    says(call(&["check", text(&own)]), 2, &[&taken]);
    says(call(&["run", "--synthetic", "packets=100", "-f", text(&own)]), 2, &[&taken]);
    let first = scratch.file("first.eq", "one: select count(*);");
    let second = scratch.file("second.eq", "-- Another file.\n one: select count(*);");
    let place = format!("{}:2:2: ", text(&second));
    let other = format!("taken by the query at {}:1:1", text(&first));
    let both = ["-f", text(&first), "-f", text(&second)];
    let ran = call(&[&["run", "--synthetic", "packets=100"], &both[..]].concat());
    says(ran, 2, &[&place, "the name one is", &other]);
    says(call(&["check", text(&first), text(&second)]), 0, &[&place, "warning", &other]);
    let [broker, web] = [free_ports(1), free_ports(1)];
    let settings = format!(
        "broker = \"amqp://guest:guest@127.0.0.1:{broker}\"\nnodes = [\"Node1\"]\nqueries = [\"{}\", \"{}\"]\n\
         state = \"{}\"\nlisten = \"127.0.0.1:{web}\"\n",
        text(&first),
        text(&second),
        text(&scratch.path("state.db")),
    );
    let file = scratch.file("controller.toml", settings);
    says(call(&["controller", "--config", text(&file)]), 2, &[&place, "the name one is", &other]);
}
