//! The texts of queries that Edison ships: each is checked, measures, and stands under a controller.

use crate::support::broker::free_ports;
use crate::support::capture::{self, Frame};
use crate::support::program::{Ended, Running, call, edison, run};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

const NODES: [&str; 3] = ["Node1", "Node2", "NodeX"];

/// The nodes of both sides of a device, and the text that asks them. Its answers are tested in `device.rs`.
const SIDES: [&str; 2] = ["tx", "rx"];
const OF_DEVICE: &str = "device.eq";

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

/// The rows of a question, over all windows: what each address has.
type Rows = BTreeMap<String, u64>;

/// What each question of a shipped text that nothing has to start answers of these frames, by its name and node. What the started ones
/// answer is tested with chains.
fn expected(file: &str, frames: &[Frame]) -> BTreeMap<(String, String), Rows> {
    let (mut talkers, mut sources, mut senders) = (Rows::new(), BTreeMap::new(), Rows::new());
    for ((source, destination, ..), count) in capture::flows(frames) {
        *talkers.entry(source.to_string()).or_default() += count.total_byte;
        sources.entry(destination.to_string()).or_insert_with(BTreeSet::new).insert(source);
        if matches!(source, IpAddr::V4(address) if address.octets()[0] == 10) {
            // No packet is lost.
            senders.insert(destination.to_string(), 0);
        }
    }
    let flooded: Rows = sources.into_iter().map(|(to, from)| (to, from.len() as u64)).collect();
    assert!(flooded.values().any(|sources| *sources > 9) && !senders.is_empty());
    let on = |query: &str, node: &str, rows: &Rows| ((query.to_owned(), node.to_owned()), rows.clone());
    match file {
        "example1.eq" => BTreeMap::from([on("q1", "NodeX", &flooded)]),
        // The flow that it asks for is not there.
        "example2.eq" => BTreeMap::from([on("q1", "Node1", &Rows::new())]),
        "locate.eq" => BTreeMap::from([on("n1", "Node1", &senders)]),
        "queries.eq" => {
            let of_node = |node| {
                [on("talkers", node, &largest(&talkers, 20)), on("flooded", node, &largest(&flooded, 20))]
            };
            NODES.into_iter().flat_map(of_node).collect()
        }
        file => panic!("{file} is shipped, and no test knows its answers"),
    }
}

/// The rows of the largest values, and those that are as large as the last of them: which of these are shown is not said.
fn largest(rows: &Rows, limit: usize) -> Rows {
    let mut values: Vec<_> = rows.values().copied().collect();
    values.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
    let least = values.get(limit - 1).copied().unwrap_or(0);
    rows.iter().filter(|(_, value)| **value >= least).map(|(key, value)| (key.clone(), *value)).collect()
}

/// What was answered, alike.
fn answered(stdout: &str) -> BTreeMap<(String, String), Rows> {
    let mut answers = BTreeMap::<_, Rows>::new();
    for line in stdout.lines().map(schema::of_line) {
        let word = |member: &str| line[member].as_str().expect("a text").to_owned();
        let rows = answers.entry((word("query"), word("node"))).or_default();
        for row in line["rows"].as_array().expect("rows") {
            let row = row.as_object().expect("a row");
            let key = row.values().find_map(|value| value.as_str()).expect("an address").to_owned();
            *rows.entry(key).or_default() += row.values().filter_map(|value| value.as_u64()).sum::<u64>();
        }
    }
    answers
}

#[test]
fn each_is_checked_and_answers() {
    let scratch = Scratch::new();
    let captured = capture::generate(&scratch, "packets=1000,flows=60,plant=flood:sources=30");
    let nodes = NODES.map(|node| format!("{node}={}", text(&captured.path)));
    for path in shipped() {
        says(call(&[&["check", text(&path)], &SET[..]].concat()), 0, &["no errors"]);
        if path.ends_with(OF_DEVICE) {
            continue;
        }
        let ended =
            run(edison().arg("run").args(&nodes).args(["-f", text(&path), "--json"]).args(SET)).expect(0);
        assert!(!ended.stderr.contains("error"), "{}: {}", path.display(), ended.stderr);
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let (answers, expected) = (answered(&ended.stdout), expected(file, &captured.frames));
        assert_eq!(answers.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{file}");
        for (of, rows) in answers {
            let expected = &expected[&of];
            let is_limited = file == "queries.eq" && expected.len() > 20;
            assert_eq!(rows.len(), if is_limited { 20 } else { expected.len() }, "{file} {of:?}");
            for (key, value) in rows {
                assert_eq!(expected.get(&key), Some(&value), "{file} {of:?} {key}");
            }
        }
    }
}

#[test]
fn each_stands_under_a_controller() {
    for path in shipped() {
        let scratch = Scratch::new();
        // No broker is there, and none is needed to refuse a query.
        let [broker, web] = [free_ports(1), free_ports(1)];
        let settings = format!(
            "broker = \"amqp://guest:guest@127.0.0.1:{broker}\"\nnodes = {:?}\n\
             every = \"1s\"\nqueries = [\"{}\"]\nstate = \"{}\"\nlisten = \"127.0.0.1:{web}\"\n\
             [set]\nK1 = \"10K\"\nK2 = \"100K\"\nK3 = \"100K\"\n",
            [&NODES[..], &SIDES].concat(),
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
