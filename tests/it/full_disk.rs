//! Outputs that fail: what is counted as exported is what a reader finds.

use crate::support::capture;
use crate::support::ipfix;
use crate::support::output::{self, list, number};
use crate::support::program::{edison, run};
use crate::support::scratch::{Scratch, text};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The records that a reader finds in a file.
fn readable(path: &Path, format: &str) -> u64 {
    let lines = || {
        let text = fs::read_to_string(path).expect("text");
        assert!(text.is_empty() || text.ends_with('\n'), "its last line is whole");
        text.lines().count() as u64
    };
    match format {
        "csv" => lines().saturating_sub(1),
        "jsonl" => lines(),
        "ipfix" => ipfix::flow_records(&fs::read(path).expect("a file")),
        _ => {
            let reader =
                SerializedFileReader::new(fs::File::open(path).expect("a file")).expect("it can be read");
            let rows = reader.get_row_iter(None).expect("rows").inspect(|row| assert!(row.is_ok())).count();
            assert_eq!(reader.metadata().file_metadata().num_rows(), rows as i64);
            rows as u64
        }
    }
}

#[test]
fn what_is_exported_is_what_a_reader_finds() {
    let scratch = Scratch::new();
    // More than a row group of Parquet has.
    let generated = capture::generate(&scratch, "packets=170k,flows=400k,zipf=uniform,rate=1M");
    let flows = capture::flows(&generated.frames).len() as u64;
    assert!(flows > 135_000, "{flows}");
    let report = scratch.path("report.json");
    let mut failed = 0;
    for format in ["csv", "jsonl", "parquet", "ipfix"] {
        // A limit on the size of files fails writes as a full disk does, wherever the shell's unit is a half or a whole KiB.
        for limit in ["100", "1500", "4000", "7000", "12000"] {
            let path = scratch.path(&format!("f{limit}.{format}"));
            let script = r#"trap '' XFSZ; ulimit -f "$1"; shift; exec "$@""#;
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", limit, env!("CARGO_BIN_EXE_edison"), "run"]);
            command.args([text(&generated.path), "--flows", text(&path), "--report", text(&report)]);
            let ended = run(&mut command);
            let what = format!("{format} {limit}");
            let found = match ended.code {
                Some(0) => readable(&path, format),
                _ => {
                    failed += 1;
                    let ended = ended.says(1, &["File too large"]);
                    assert!(!path.exists(), "{what}: it is not complete");
                    let found = readable(Path::new(&format!("{}.part", text(&path))), format);
                    let says = format!("{found} records were written whole");
                    assert!(ended.stderr.contains(&says), "{what}: {}", ended.stderr);
                    found
                }
            };
            let report = output::report(&report);
            let counts = &report["flows"];
            assert_eq!(number(&counts["exported"]), found, "{what}");
            assert_eq!(number(&counts["dropped"]), flows - found, "{what}");
            let of_output = &list(&counts["outputs"])[0];
            assert_eq!(of_output["output"], text(&path), "{what}");
            assert_eq!(number(&of_output["exported"]), found, "{what}");
            assert_eq!(number(&report["packets"]["measured"]), 170_000, "{what}");
        }
    }
    assert!(failed >= 8, "{failed}");
}

#[test]
fn each_output_is_counted_by_itself() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=20k,flows=5k");
    let flows = capture::flows(&generated.frames).len() as u64;
    let (csv, report) = (scratch.path("flows.csv"), scratch.path("report.json"));
    // There is no listener on the port of a socket that is closed again.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("ipfix://127.0.0.1:{port}?transport=tcp");
    let mut command = edison();
    command.arg("run").arg(&generated.path).args(["--export", &url, "--flows"]).arg(&csv);
    let ended = run(command.arg("--report").arg(&report)).expect(3);
    let counts = output::report(&report)["flows"].clone();
    assert_eq!(readable(&csv, "csv"), flows);
    assert_eq!((number(&counts["exported"]), number(&counts["dropped"])), (flows, 0));
    let of = |at: usize| {
        let output = &list(&counts["outputs"])[at];
        let name = output["output"].as_str().expect("a name").to_owned();
        (name, number(&output["exported"]), number(&output["dropped"]))
    };
    assert_eq!(of(0), (text(&csv).to_owned(), flows, 0));
    let (name, exported, dropped) = of(1);
    assert!(name.contains(&format!("127.0.0.1:{port}")), "{name}");
    assert_eq!((exported, dropped), (0, flows));
    assert!(ended.stdout.contains(&format!("lacks {} of", notated(flows))), "{}", ended.stdout);
}

/// With commas between thousands.
fn notated(number: u64) -> String {
    let digits = number.to_string();
    let (head, tail) = digits.split_at(digits.len() - 3);
    format!("{head},{tail}")
}
