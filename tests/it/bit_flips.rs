//! A bit that is flipped in a file: the answer is that of before, or the file is named and the answer partial.

use crate::support::capture;
use crate::support::made_store::files_of;
use crate::support::program::{Ended, call};
use crate::support::scratch::{Scratch, text};
use std::path::{Path, PathBuf};

const ASKED: &str = "select count(*) as f, sum(total_count) as n, sum(total_byte) as b, count(src_addr) as s";
/// Flips in each file.
const FLIPS: u64 = 24;

/// Places that repeat, and that are spread over a file.
struct Places(u64);

impl Places {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }
}

/// Flips bits of a file, one after the other, and asks; returns how many flips were named. The last bytes are flipped too: they lead to the footer.
fn flip(file: &Path, seed: u64, right: &str, ask: &dyn Fn() -> Ended) -> u64 {
    let whole = std::fs::read(file).expect("a file");
    let mut places = Places(seed);
    let mut named = 0;
    for number in 0..FLIPS {
        let at = match number {
            0..4 => whole.len() as u64 - 1 - places.below(60.min(whole.len() as u64)),
            _ => places.below(whole.len() as u64),
        };
        let bit = places.below(8);
        let mut flipped = whole.clone();
        flipped[at as usize] ^= 1 << bit;
        std::fs::write(file, flipped).expect("written");
        let ended = ask();
        let place = format!("{} byte {at} bit {bit}", file.display());
        assert!(!ended.stderr.contains("panicked"), "{place}: {}", ended.stderr);
        match ended.code {
            Some(0) => assert_eq!(ended.stdout, right, "{place}"),
            _ => {
                check_named(&ended, file, &place);
                named += 1;
            }
        }
    }
    std::fs::write(file, whole).expect("written");
    named
}

/// The file is named, and what is answered is partial. With status 2 nothing is answered: of one file alone, nothing is left.
fn check_named(ended: &Ended, file: &Path, place: &str) {
    let is_partial = ended.stdout.lines().all(|line| line.contains(r#""status":"partial""#));
    let is_told = match ended.code {
        Some(3) => is_partial,
        Some(2) => ended.stdout.is_empty(),
        _ => false,
    };
    assert!(is_told && ended.stderr.contains(text(file)), "{place}: {ended:?}");
}

#[test]
fn parquet_files_of_records_and_rows_are_checked() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=6k,flows=600,rate=100,ipv6=20%");
    let [flows, rows] = ["flows.parquet", "rows.parquet"].map(|name| scratch.path(name));
    call(&["run", text(&made.path), "--every", "10s", "--flows", text(&flows), "--rows", text(&rows)])
        .expect(0);
    for (seed, file) in [(1, &flows), (2, &rows)] {
        let ask = || call(&["query", text(file), "--json", "-q", ASKED]);
        let right = ask().expect(0).stdout;
        assert!(right.contains(r#""n":6000"#), "{right}");
        let named = flip(file, seed, &right, &ask);
        assert!(named >= 4, "{named} of {FLIPS} flips of {} were named", file.display());
    }
}

#[test]
fn all_files_of_a_store_are_checked() {
    let scratch = Scratch::new();
    let made = capture::generate(&scratch, "packets=6k,flows=600,rate=20,ipv6=20%");
    let store = scratch.path("store");
    call(&[
        "run",
        text(&made.path),
        "--every",
        "10s",
        "--store",
        text(&store),
        "--store-keep",
        "rows=1y,1min=1y",
    ])
    .expect(0);
    let files: Vec<PathBuf> = files_of(&store)
        .into_iter()
        .filter(|file| std::fs::metadata(file).is_ok_and(|file| file.len() != 0))
        .collect();
    assert!(files.len() >= 3, "{files:?}");
    // The rows, and the rollups.
    for (seed, asked) in
        [(3, ASKED), (4, "select src_addr, sum(total_byte) as b groupby src_addr limit 9999")]
    {
        let ask = || call(&["query", "--store", text(&store), "--json", "-q", asked]);
        // Finer files may take the place of a damaged rollup.
        let rows = |ended: &Ended| ended.stdout.split(r#","rows":"#).skip(1).collect::<String>();
        let right = rows(&ask().expect(0));
        assert!(asked != ASKED || right.contains(r#""n":6000"#), "{right}");
        let mut named = 0;
        for (number, file) in (0..).zip(&files) {
            let mut places = Places(seed * 1000 + number);
            let whole = std::fs::read(file).expect("a file");
            for _ in 0..FLIPS / 2 {
                let (at, bit) = (places.below(whole.len() as u64) as usize, places.below(8));
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                std::fs::write(file, flipped).expect("written");
                let ended = ask();
                let place = format!("{} byte {at} bit {bit}", file.display());
                assert!(!ended.stderr.contains("panicked"), "{place}: {}", ended.stderr);
                named += u64::from(ended.stderr.contains(text(file)));
                match ended.code {
                    Some(0) => assert_eq!(rows(&ended), right, "{place}"),
                    _ => check_named(&ended, file, &place),
                }
            }
            std::fs::write(file, whole).expect("written");
        }
        // Most flips are in columns that the question does not read.
        assert!(named >= 2, "{named} flips were named");
    }
}
