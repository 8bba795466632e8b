//! `edison query --store` and `edison dry-run --store`: the answers over a store are those over its rows, from whichever level they come.

use crate::support::capture;
use crate::support::made_store;
use crate::support::output;
use crate::support::program::{Ended, call};
use crate::support::schema;
use crate::support::scratch::{Scratch, text};
use serde_json::{Value, json};
use std::path::Path;
use store::Level;

/// Nearly three hours.
const SPEC: &str = "packets=30k,flows=3k,rate=3,zipf=1.0,ipv6=20%,size=64:7/594:4/1518:1";
const DAY: &str = "2024-01-01";

/// Queries, and the level that a rollup answers them from.
const QUERIES: &[(&str, &str)] = &[
    ("select sum(total_byte), sum(total_count), min(stime), max(ltime)", "1h"),
    ("select src_addr, sum(total_byte) groupby src_addr limit 20", "1h"),
    ("select src_addr/16/32, sum(total_count) groupby src_addr/16/32 limit 20", "1h"),
    ("select addr, rate(total_byte) groupby addr limit 20", "1h"),
    ("select protocol, count(src_addr), sum(total_byte) / sum(total_count) as size groupby protocol", "1h"),
    ("select entropy(dst_addr, total_byte), top(3, src_addr, total_byte)", "1h"),
    (
        "select dst_addr, sum(wire_byte) where src_addr in 10.0.0.0/8 and protocol = tcp groupby dst_addr limit 9",
        "1h",
    ),
    ("select protocol, sum(total_byte) groupby protocol every 1h", "1h"),
    ("select src_addr, sum(total_byte) groupby src_addr limit 3 every 10min over 20min", "1min"),
    ("select dst_port, sum(total_byte) groupby dst_port limit 20", "rows"),
    ("select src_addr, count(*) groupby src_addr limit 20", "rows"),
    ("select avg(total_byte), quantile(total_byte, 0.9)", "rows"),
    ("select sum(total_byte) every 90s", "rows"),
];

fn made(scratch: &Scratch) -> std::path::PathBuf {
    let generated = capture::generate(scratch, SPEC);
    made_store::of_capture(scratch, &generated.path, "n1", "10s")
}

fn answers(ended: &Ended) -> Vec<Value> {
    let answer = |line| {
        let mut answer = schema::of_line(line);
        output::round(&mut answer);
        answer
    };
    ended.stdout.lines().map(answer).collect()
}

fn without_levels(mut answers: Vec<Value>) -> Vec<Value> {
    answers.iter_mut().filter_map(Value::as_object_mut).for_each(|answer| {
        answer.remove("levels");
    });
    answers
}

fn levels(answers: &[Value]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for answer in answers {
        found.extend(answer["levels"].as_array().into_iter().flatten().map(|level| level.to_string()));
    }
    found.sort();
    found.dedup();
    found
}

/// The patterns of the rows of a store.
fn rows(store: &Path) -> String {
    format!("{}/rows/*/*/*/*.parquet", text(store))
}

#[test]
fn answers_are_those_over_the_rows() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let rows = rows(&store);
    for (asked, level) in QUERIES {
        for period in
            [&[][..], &["--from", DAY, "--to", "2024-01-01 01:10:20"], &["--from", "2024-01-01 00:59:30"]]
        {
            let ask = |source: &[&str]| {
                answers(&call(&[source, period, &["--json", "-q", asked]].concat()).expect(0))
            };
            let of_rows = ask(&["query", &rows]);
            let of_store = ask(&["query", "--store", text(&store)]);
            assert!(of_rows.iter().all(|answer| answer.get("levels").is_none()), "{of_rows:?}");
            let read = levels(&of_store);
            assert!(read.contains(&format!("{level:?}")), "{asked} {period:?}: {read:?}");
            assert_eq!(without_levels(of_store), of_rows, "{asked} {period:?}");
        }
    }
}

#[test]
fn text_says_which_level_was_read() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let store = text(&store);
    let told = |options: &[&str]| call(&[&["query", "--store", store], options].concat()).expect(0).stdout;
    let asked = "select src_addr, sum(total_byte) groupby src_addr limit 3";
    assert!(told(&[asked]).contains("\n  from 1h\n"), "{}", told(&[asked]));
    let cut = told(&[asked, "--from", "2024-01-01 00:00:10"]);
    assert!(cut.contains("\n  from 1h, 1min, rows\n"), "{cut}");
    let own = told(&["select sum(total_byte) from \"2024-01-01 01:00\" to \"2024-01-01 02:00\""]);
    assert!(own.contains("\n  from 1h\n"), "{own}");
    // Hosts are counted by flows.
    let first_screen = told(&[]);
    assert!(first_screen.contains("\n  from rows\n"), "{first_screen}");
    let per = told(&["--per", "30min", "-q", "select sum(total_byte)"]);
    assert_eq!(per.matches("from 1min").count(), 1, "{per}");
    // Nothing is of that time.
    let none = told(&["--json", "select sum(total_byte) last 1h"]);
    let none = schema::of_line(none.trim_end());
    assert_eq!((&none["node"], &none["rows"][0]["sum(total_byte)"]), (&"n1".into(), &0.into()));
    let difference = told(&[
        "--json",
        "--diff",
        "2024-01-01 00:00..2024-01-01 01:00",
        "2024-01-01 01:00..2024-01-01 02:00",
        "--by",
        "protocol",
    ]);
    assert!(difference.contains("total_byte_change"), "{difference}");
}

#[test]
fn what_is_wrong_is_named_and_the_rest_is_answered() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let asked = "select dst_port, sum(total_byte) groupby dst_port limit 3";
    let whole = call(&["query", "--store", text(&store), "--json", asked]).expect(0);
    // A file that no manifest names, and one that is being written.
    let rows = call(&["query", &rows(&store), "--json", "select count(*)"]).expect(0);
    assert_eq!(rows.stdout.lines().count(), 1);
    let folder = store.join("rows/date=2024-01-01/hour=00/node=n1");
    std::fs::write(folder.join("9999.parquet"), "foreign").expect("written");
    std::fs::write(folder.join(".0002.parquet.part"), "PAR1").expect("written");
    let again = call(&["query", "--store", text(&store), "--json", asked]).expect(0);
    assert_eq!(again.stdout, whole.stdout);
    // A damaged rollup: rows are read in its place.
    let sums = "select src_addr, sum(total_byte) groupby src_addr";
    let summed = call(&["query", "--store", text(&store), "--json", sums]).expect(0);
    assert!(levels(&answers(&summed)).iter().any(|level| level.contains("1h")), "{summed:?}");
    let hours = store.join("rollup=1h/date=2024-01-01/hour=00/node=n1");
    let hour = std::fs::read_dir(&hours).expect("a folder").next().expect("a file").expect("a file").path();
    std::fs::write(&hour, "foreign").expect("written");
    let ended =
        call(&["query", "--store", text(&store), "--json", sums]).says(0, &["finer level", text(&hour)]);
    let found = answers(&ended);
    assert_eq!(
        (&found[0]["rows"], found[0]["levels"][0].as_str()),
        (&answers(&summed)[0]["rows"], Some("1min"))
    );
    // More rows of another node, and then their file is damaged.
    let more = capture::generate(&scratch, "packets=2k,flows=50,rate=1");
    let file = scratch.path("more.parquet");
    call(&["run", text(&more.path), "--node", "n2", "--every", "10s", "--rows", text(&file)]).expect(0);
    let key = "src_addr,dst_addr,protocol,src_port,dst_port";
    let path = made_store::add(&store, &file, Level::Rows, "n2", key);
    let both = call(&["query", "--store", text(&store), "--json", asked]).expect(0);
    assert_eq!(answers(&both).len(), 2, "{both:?}");
    let bytes = std::fs::read(&path).expect("a file");
    for damaged in [&bytes[..bytes.len() / 2], b"foreign", b""] {
        std::fs::write(&path, damaged).expect("written");
        let ended =
            call(&["query", "--store", text(&store), "--json", asked]).says(3, &["error", text(&path)]);
        let found = answers(&ended);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0]["rows"], answers(&whole)[0]["rows"]);
        // The other node lacks nothing of it.
        let told: Vec<_> = found.iter().map(|answer| (&answer["node"], &answer["status"])).collect();
        assert_eq!(told, [(&json!("n1"), &json!("complete")), (&json!("n2"), &json!("partial"))]);
    }
    std::fs::remove_file(&path).expect("removed");
    call(&["query", "--store", text(&store), "--json", asked]).says(3, &["error", text(&path)]);
    // What is no store.
    call(&["query", "--store", text(&scratch.path("none")), asked]).says(2, &["no such folder"]);
    call(&["query", "--store", text(&folder), asked]).says(2, &["is no store", "manifest.sqlite"]);
    call(&["query", "--store", text(&store), "rows.parquet", "-q", asked])
        .says(2, &["rows.parquet", "--store"]);
    std::fs::write(
        store.join("manifest.sqlite"),
        "no database, but long enough to be one, or so it may seem",
    )
    .expect("written");
    let ended = call(&["query", "--store", text(&store), asked]).expect(2);
    assert!(ended.stderr.contains("manifest.sqlite"), "{ended:?}");
}

#[test]
fn a_dry_run_over_a_store_tells_what_the_run_told() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, SPEC);
    let chain = "
        a: select src_addr, sum(total_byte) as b groupby src_addr limit 50 every 1min;
        b: select dst_addr, sum(total_byte) as b groupby dst_addr limit 5 when a.b > 5K until a.b < 2K cooldown 2min;
        c: select sum(total_byte) as b, avg_over(sum(total_byte), 10min) as usual every 1min;
        d: select count(*) when c.b > 1.05 * c.usual;";
    let store = made_store::of_capture(&scratch, &generated.path, "n1", "10s");
    let events = |ended: &Ended| -> Vec<String> {
        ended.stdout.lines().filter(|line| line.starts_with(r#"{"event":"#)).map(str::to_owned).collect()
    };
    let live = call(&["run", text(&generated.path), "--node", "n1", "--every", "10s", "--json", "-q", chain])
        .expect(0);
    let live = events(&live);
    assert!(live.len() > 10, "{live:?}");
    let dry = |options: &[&str]| {
        events(
            &call(&[&["dry-run", "--json", "--store", text(&store), "-q", chain], options].concat())
                .expect(0),
        )
    };
    assert_eq!(dry(&[]), live);
    // Of an hour, what reads earlier windows has those before it.
    let within = |line: &&String, query: &str| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let at = event["at"].as_str().expect("a time").to_owned();
        event["query"] == query
            && (at.as_str() > "2024-01-01T01:00:00.000000000Z")
            && at.as_str() <= "2024-01-01T02:00:00.000000000Z"
    };
    let hour = dry(&["--from", "2024-01-01 01:00", "--to", "2024-01-01 02:00"]);
    let of = |events: &[String]| -> Vec<String> {
        events.iter().filter(|line| within(line, "d")).cloned().collect()
    };
    assert!(!of(&live).is_empty(), "{live:?}");
    assert_eq!(of(&hour), of(&live));
    let told =
        call(&["dry-run", "--store", text(&store), "-q", chain, "--from", "2024-01-01 01:00"]).expect(0);
    assert!(told.stdout.contains("firings in"), "{}", told.stdout);
    call(&["dry-run", "--store", text(&store), "-q", chain, "--from", "2037-01-01"])
        .says(2, &["has no rows of this time"]);
    call(&["dry-run", "--store", text(&store), "-q", chain, "rows.parquet"])
        .says(2, &["rows.parquet", "--store"]);
}

/// Changes the checksum of a store's manifest, which is as if its records were changed.
fn damage(manifest: &Path) {
    let mut bytes = std::fs::read(manifest).expect("a manifest");
    let name = b"checksum";
    let places: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
    assert!(!places.is_empty());
    // The first digit behind the name becomes another one.
    places.iter().for_each(|at| bytes[at + name.len()] ^= 1);
    std::fs::write(manifest, bytes).expect("written");
}

#[test]
fn a_dry_run_over_a_store_says_that_its_manifest_is_damaged() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let manifest = store.join("manifest.sqlite");
    let chain = "a: select sum(total_byte) as b every 1min; b: select count(*) as n when a.b > 1;";
    let dry = ["dry-run", "--json", "--answers", "--store", text(&store), "-q", chain];
    let statuses = |ended: &Ended| -> Vec<String> {
        let lines = answers(ended).into_iter();
        lines.filter_map(|answer| Some(answer["status"].as_str()?.to_owned())).collect()
    };
    let whole = statuses(&call(&dry).expect(0));
    assert!(whole.iter().any(|status| status == "complete"), "{whole:?}");
    damage(&manifest);
    let ended = call(&dry).says(3, &["another checksum", text(&manifest)]);
    let told = statuses(&ended);
    assert_eq!(told.len(), whole.len());
    assert!(told.iter().all(|status| status == "partial"), "{}", ended.stdout);
    // A time without rows may be one whose files are named no more.
    call(&["dry-run", "--store", text(&store), "-q", chain, "--from", "2037-01-01"])
        .says(3, &["another checksum"]);
}

/// A UDP packet of either family: the addresses are 10.0.0.1 and 10.0.0.9, of IPv6 those that contain them.
fn mapped(is_v6: bool, time_ns: u64) -> capture::Frame {
    let mut data = if is_v6 { capture::udp6(53) } else { capture::udp(53) };
    let of = |last: u8| {
        let address = std::net::Ipv4Addr::from([10, 0, 0, last]);
        if is_v6 { address.to_ipv6_mapped().octets().to_vec() } else { address.octets().to_vec() }
    };
    let (at, length) = if is_v6 { (22, 16) } else { (26, 4) };
    data[at..at + length].copy_from_slice(&of(1));
    data[at + length..at + 2 * length].copy_from_slice(&of(9));
    capture::Frame { time_ns, data }
}

#[test]
fn an_address_of_ipv4_and_one_of_ipv6_that_contains_it_are_two_in_files_too() {
    let scratch = Scratch::new();
    let second = 1_000_000_000;
    let frames: Vec<_> =
        (0..6_u64).map(|at| mapped(at % 3 == 2, 1_704_067_200 * second + at * second)).collect();
    let path = scratch.path("two.pcap");
    std::fs::write(&path, capture::pcap(1, &frames)).expect("written");
    let store = made_store::of_capture(&scratch, &path, "n1", "2s");
    let flows = scratch.path("flows.parquet");
    call(&["run", text(&path), "--flows", text(&flows), "--node", "n1"]).expect(0);
    for (query, expected) in [
        (
            "select src_addr, sum(total_count) as n groupby src_addr",
            vec![("10.0.0.1", 4), ("::ffff:10.0.0.1", 2)],
        ),
        (
            "select src_addr, dst_addr, src_port, total_count as n",
            vec![("10.0.0.1", 4), ("::ffff:10.0.0.1", 2)],
        ),
        (
            "select src_addr, sum(total_count) as n where src_addr in 10.0.0.0/8 groupby src_addr",
            vec![("10.0.0.1", 4)],
        ),
        (
            "select src_addr, sum(total_count) as n where src_addr in ::/0 groupby src_addr",
            vec![("::ffff:10.0.0.1", 2)],
        ),
    ] {
        for source in [vec!["--store", text(&store)], vec![text(&flows)]] {
            let ended = call(&[&["query", "--json"], &source[..], &["-q", query]].concat()).expect(0);
            let answer = &answers(&ended)[0];
            let rows = answer["rows"].as_array().expect("rows").iter();
            let found: Vec<_> = rows
                .map(|row| (row["src_addr"].as_str().expect("a text"), row["n"].as_i64().expect("a number")))
                .collect();
            assert_eq!(found, expected, "{query} {source:?}");
        }
    }
}
