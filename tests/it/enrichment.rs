//! Places and names of addresses in answers.

use crate::support::capture;
use crate::support::output::{number, rows};
use crate::support::program::{edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::path::PathBuf;
use testbed::mmdb::{Database, MmdbValue};

const SPEC: &str = "packets=2k,flows=200,rate=20k,zipf=1.0,ipv6=20%";

/// One half of IPv4 is in one country and system, the other half in another one; of IPv6 nothing is known.
fn databases(scratch: &Scratch) -> [PathBuf; 2] {
    let country =
        |code| MmdbValue::Map(vec![("country", MmdbValue::Map(vec![("iso_code", MmdbValue::Text(code))]))]);
    let system = |text| MmdbValue::Map(vec![("asn", MmdbValue::Text(text))]);
    let halves = |low, high| vec![("0.0.0.0", 1, low), ("128.0.0.0", 1, high)];
    let write = |name, record_bits, ip_version, networks| {
        let path = scratch.path(name);
        std::fs::write(&path, Database { record_bits, ip_version, networks }.encode()).expect("a file");
        path
    };
    [
        write("country.mmdb", 28, 6, halves(country("DE"), country("FR"))),
        write("asn.mmdb", 24, 4, halves(system("AS64500"), system("AS64501"))),
    ]
}

#[test]
fn queries_read_places_of_addresses() {
    let scratch = Scratch::new();
    let trace = capture::generate(&scratch, SPEC).path;
    let [countries, systems] = databases(&scratch);
    let first = |query: &str| -> Vec<Value> {
        let mut command = edison();
        command.arg("run").arg(&trace).args(["--every", "1h", "--json", "-q", query]);
        let ended = run(command.arg("--geo").arg(&countries).arg("--geo").arg(&systems)).expect(0);
        let answer: Value = serde_json::from_str(ended.stdout.lines().next().expect("a line")).expect("JSON");
        rows(&answer).to_vec()
    };
    let sum = |condition: &str| -> u64 {
        number(&first(&format!("select sum(total_count) as n where {condition}"))[0]["n"])
    };
    let (low, high) = (sum("src_addr in 0.0.0.0/1"), sum("src_addr in 128.0.0.0/1"));
    assert!(low > 0 && high > 0, "{low} {high}");
    for condition in
        ["src_country = 'DE'", "src_country like 'd_'", "src_country in ('DE', 'XX')", "src_asn = 64500"]
    {
        assert_eq!(sum(condition), low, "{condition}");
    }
    assert_eq!(sum("src_country in ('DE', 'FR')"), low + high);
    assert_eq!(sum("src_asn is null"), sum("src_addr in ::/0"));
    assert_eq!(sum("dst_country != 'FR' and dst_asn = 64500"), sum("dst_addr in 0.0.0.0/1"));
    let by = "select src_asn, src_country, sum(total_count) as n groupby src_asn, src_country";
    let groups = first(by);
    let of = |country: &Value| groups.iter().find(|row| row["src_country"] == *country).expect("a group");
    assert_eq!((&of(&"DE".into())["src_asn"], number(&of(&"DE".into())["n"])), (&64_500.into(), low));
    assert_eq!((&of(&"FR".into())["src_asn"], number(&of(&"FR".into())["n"])), (&64_501.into(), high));
    assert_eq!(of(&Value::Null)["src_asn"], Value::Null);
    let distinct =
        first("select count(src_country) as n, top(1, dst_asn, total_count) as t, entropy(dst_country) as e");
    assert_eq!(number(&distinct[0]["n"]), 2);
    assert!(
        distinct[0]["t"].to_string().contains("6450") && distinct[0]["e"].as_f64().is_some(),
        "{distinct:?}"
    );
}

#[test]
fn fields_of_places_are_refused_without_databases() {
    let scratch = Scratch::new();
    let trace = capture::generate(&scratch, SPEC).path;
    let query = "select sum(total_count) where src_country = 'DE'";
    let ended = run(edison().arg("run").arg(&trace).args(["-q", query])).expect(2);
    assert!(ended.stderr.contains("src_country") && ended.stderr.contains("--geo FILE"), "{}", ended.stderr);
    run(edison().args(["check", "-q", query])).expect(0);
    let explained = run(edison().args(["explain", "-q", query])).expect(0).stdout;
    assert!(explained.contains("--geo FILE for src_country"), "{explained}");
    assert!(explained.contains("none: the table of rows does not have src_country"), "{explained}");
    let wrong = run(edison().arg("run").arg(&trace).arg("--geo").arg(&trace)).expect(2).stderr;
    assert!(wrong.contains(text(&trace)) && wrong.contains("not in MMDB format"), "{wrong}");
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
}

#[test]
fn answers_have_a_column_of_names() {
    let scratch = Scratch::new();
    // What the names are depends on the machine; without a server they are null.
    let trace = capture::generate(&scratch, "packets=100,flows=1,rate=20k").path;
    let query = "select src_addr, sum(total_count) groupby src_addr";
    let mut command = edison();
    command.arg("run").arg(&trace).args(["--every", "1h", "--json", "--resolve", "-q", query]);
    let ended = run(&mut command).expect(0);
    let answer: Value = serde_json::from_str(ended.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(answer["columns"][1]["name"], "src_addr_name");
    assert!(
        rows(&answer).iter().all(|row| row["src_addr_name"].is_string() || row["src_addr_name"].is_null())
    );
    let key = scratch.path("key");
    std::fs::write(&key, [7; 32]).expect("a file");
    let refused =
        run(edison().arg("run").arg(&trace).arg("--resolve").arg("--anonymize").arg(&key)).expect(2);
    assert!(refused.stderr.contains("--resolve"), "{}", refused.stderr);
}
