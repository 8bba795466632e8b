//! `--store`: what is kept is what was measured.

use crate::support::capture::{self, Generated};
use crate::support::output;
use crate::support::program::call;
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::Path;
use store::{Catalog, Level, Manifest};

/// Five minutes.
const SPEC: &str = "packets=30k,flows=3k,rate=100,zipf=1.0,ipv6=20%,plant=flood/scan/elephant";

/// What does not depend on ports.
const WITHOUT_PORTS: &[&str] = &[
    "select sum(total_byte), sum(total_count), sum(wire_byte), min(stime), max(ltime)",
    "select src_addr, dst_addr, protocol, sum(total_byte), sum(total_count) groupby src_addr, dst_addr, protocol limit 500",
    "select dst_addr, min(stime), max(ltime), count(src_addr) groupby dst_addr limit 100",
    "select src_addr/24, sum(total_byte) where dst_addr in 10.0.0.0/8 groupby src_addr/24 limit 100",
];
const OF_PORTS: &[&str] = &[
    "select count(*), count(src_port), sum(total_byte * forward) where dst_port < 1024 or protocol = 17",
    "select src_addr, dst_addr, src_port, dst_port, protocol, sum(total_byte), sum(total_count) \
     groupby src_addr, dst_addr, src_port, dst_port, protocol limit 500",
];

/// The answers over files, without what the files themselves tell of losses.
fn query(file: &Path, asked: &str) -> Vec<Value> {
    let ended = call(&["query", text(file), "--json", "-q", asked]).expect(0);
    let answer = |line: &str| {
        let mut answer: Value = serde_json::from_str(line).expect("JSON");
        output::round(&mut answer);
        answer
    };
    ended.stdout.lines().map(answer).collect()
}

/// The files of a level, as the manifest lists them, in a folder of links by themselves.
fn files(scratch: &Scratch, store: &Path, level: Level, name: &str) -> std::path::PathBuf {
    let folder = scratch.path(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let files = Catalog::open(store).and_then(|catalog| catalog.files(level, None)).expect("a list");
    for (at, file) in files.iter().enumerate() {
        std::os::unix::fs::symlink(&file.path, folder.join(format!("{at:04}.parquet"))).expect("a link");
    }
    folder.join("*.parquet")
}

#[test]
fn a_store_has_what_rows_and_records_have() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, SPEC);
    let key = scratch.file("key", [7; 32]);
    let key = text(&key);
    for (case, options) in
        [&["--every", "1s"][..], &["--every", "10s", "--loss", "--anonymize", key]].iter().enumerate()
    {
        let [store, rows, flows] =
            ["store", "rows.parquet", "flows.parquet"].map(|name| scratch.path(&format!("{case}{name}")));
        let mut arguments =
            vec!["run", text(&path), "--store", text(&store), "--store-keep", "rows=1y,1min=1y,size=1G"];
        arguments.extend(["--rows", text(&rows), "--flows", text(&flows), "--idle-timeout", "20s"]);
        arguments.extend(*options);
        call(&arguments).expect(0);
        let of = |level: Level| files(&scratch, &store, level, &format!("{case}{level}"));
        let stored = of(Level::Rows);
        for asked in WITHOUT_PORTS.iter().chain(OF_PORTS) {
            let every = format!("{asked} every 10s");
            for asked in [*asked, &every] {
                let (expected, found) = (query(&rows, asked), query(&stored, asked));
                assert_eq!(expected.len(), found.len(), "{asked}");
                for (expected, found) in expected.iter().zip(&found) {
                    for member in ["window", "rows", "rest", "watched", "status", "coverage"] {
                        assert_eq!(expected[member], found[member], "{asked}: {member}");
                    }
                }
            }
        }
        let stored = of(Level::Flows);
        for asked in OF_PORTS {
            let [expected, found] = [&flows, &stored].map(|file| query(file, asked));
            assert_eq!(expected[0]["rows"], found[0]["rows"], "{asked}");
        }
        // The last minute is not complete.
        let stored = of(Level::Minute);
        for asked in WITHOUT_PORTS {
            let asked = format!("{asked} every 1min");
            let (expected, found) = (query(&rows, &asked), query(&stored, &asked));
            assert!(found.len() >= 4 && found.len() <= expected.len(), "{}", found.len());
            for (expected, found) in expected.iter().zip(&found) {
                for member in ["window", "rows", "rest"] {
                    assert_eq!(expected[member], found[member], "{asked}: {member}");
                }
            }
        }
    }
}

#[test]
fn two_nodes_share_a_store_and_two_runs_do_not() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=3k,flows=50,rate=100");
    let store = scratch.path("store");
    let [north, south] = ["north", "south"].map(|node| format!("{node}={}", text(&path)));
    let run = |sources: &[&str]| {
        call(
            &[&["run", "--every", "1s", "--store", text(&store), "--store-keep", "rows=1y,size=1G"], sources]
                .concat(),
        )
    };
    run(&[&north, &south]).expect(0);
    let catalog = Catalog::open(&store).expect("a store");
    assert_eq!(catalog.nodes(), Ok(vec!["north".to_owned(), "south".to_owned()]));
    let rows = |node: &str| {
        let files = catalog.files(Level::Rows, None).expect("a list");
        files.iter().filter(|file| file.node == node).map(|file| file.rows).sum::<u64>()
    };
    let of_one = rows("north");
    assert!(of_one > 50);
    assert_eq!(rows("south"), of_one);
    let held = Manifest::open(&store).expect("it is free");
    run(&[text(&path), "--node", "north"]).says(2, &["another process writes this store"]);
    drop(held);
    // What is measured again is there again.
    run(&[text(&path), "--node", "north"]).expect(0);
    assert_eq!(rows("north"), 2 * of_one);
}

#[test]
fn mistakes_are_told() {
    let scratch = Scratch::new();
    let Generated { path, .. } = capture::generate(&scratch, "packets=100,flows=5");
    let store = scratch.path("store");
    let file = scratch.file("file", "");
    for (options, words) in [
        (&["--store-keep", "rows=1d"][..], &["--store-keep", "--store DIR"][..]),
        (&["--store", text(&store), "--store-keep", "row=1d"], &["did you mean"]),
        (&["--store", text(&store), "--store-keep", "size=1M"], &["16MiB"]),
        (&["--store", text(&file)], &["file"]),
    ] {
        let ended = call(&[&["run", text(&path)], options].concat());
        let ended = ended.expect(2);
        assert!(words.iter().all(|word| ended.stderr.contains(word)), "{}", ended.stderr);
    }
    let config = scratch.file(
        "edison.toml",
        format!("store = {:?}\nstore-keep = \"rows=1y,flows=0,size=1G\"\n", text(&store)),
    );
    call(&["run", text(&path), "--config", text(&config)]).expect(0);
    let catalog = Catalog::open(&store).expect("a store");
    let of = |level| catalog.files(level, None).expect("a list").len();
    assert!(of(Level::Rows) > 0 && of(Level::Flows) == 0);
}
