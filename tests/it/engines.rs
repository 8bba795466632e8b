//! `edison query --engine`: what becomes of engines that are away, refuse, hang, die, or answer something else; and of files that the store
//! replaces meanwhile. Real engines are compared by `scripts/store-engines`.

use crate::support::program::{Ended, Running, call, edison};
use crate::support::scratch::{Scratch, text};
use crate::support::{capture, made_store, schema};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use store::{Catalog, Level, Manifest, ManifestChange, place};

const SPEC: &str = "packets=2k,flows=200,rate=2,zipf=1.0";
const ASKED: &str = "select count(*) as n, avg(total_byte) as mean";
const RIGHT: &str = r#"{"window_us":0,"node":"n1","groups_of_all":1,"rows_of_all":1,"c1":"7","c2":2.5}"#;

fn made(scratch: &Scratch) -> PathBuf {
    let generated = capture::generate(scratch, SPEC);
    made_store::of_capture(scratch, &generated.path, "n1", "10s")
}

/// A program that runs these lines of a shell.
fn program(scratch: &Scratch, lines: &str) -> PathBuf {
    let path = scratch.path("engine");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("may be run");
    path
}

fn asked(store: &Path, engine: &[&str]) -> Ended {
    call(&[&["query", "--store", text(store), "--json", "-q", ASKED], engine].concat())
}

/// What is said of an engine that runs these lines.
fn of_program(scratch: &Scratch, store: &Path, lines: &str, more: &[&str]) -> Ended {
    let program = program(scratch, lines);
    let engine = ["--engine", "duckdb", "--engine-program", text(&program)];
    asked(store, &[&engine, more].concat())
}

#[test]
fn an_answer_has_the_columns_of_the_plan() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let ended = of_program(&scratch, &store, &format!("cat >/dev/null; echo '{RIGHT}'"), &[]).expect(0);
    let answer = schema::of_line(ended.stdout.trim_end());
    let own = schema::of_line(asked(&store, &[]).expect(0).stdout.trim_end());
    assert_eq!((&answer["rows"][0]["n"], &answer["rows"][0]["mean"]), (&7.into(), &2.5.into()));
    for member in ["columns", "window", "node", "levels", "status", "bounds", "rest"] {
        assert_eq!(answer[member], own[member], "{member}");
    }
}

#[test]
fn a_damaged_file_is_named_and_given_to_no_engine() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let statement = scratch.path("statement");
    let ask = || {
        // It answers what it answers, whatever bytes it would read.
        let lines = format!("cat >{}; echo '{RIGHT}'", text(&statement));
        of_program(&scratch, &store, &lines, &[])
    };
    ask().expect(0);
    let asked = std::fs::read_to_string(&statement).expect("a statement");
    let is_read = |file: &&PathBuf| asked.contains(text(file));
    let files = made_store::files_of(&store);
    let file = files.iter().find(is_read).expect("a file of rows");
    let whole = std::fs::read(file).expect("a file");
    for at in [4, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        std::fs::write(file, flipped).expect("written");
        let _ = std::fs::remove_file(&statement);
        let ended = ask();
        assert!(ended.stderr.contains(text(file)), "byte {at}: {ended:?}");
        let is_partial = ended.stdout.lines().all(|line| line.contains(r#""status":"partial""#));
        assert!(ended.code == Some(3) && is_partial, "byte {at}: {ended:?}");
        let asked = std::fs::read_to_string(&statement).unwrap_or_default();
        assert!(!asked.contains(text(file)), "byte {at}: {asked}");
    }
}

#[test]
fn packets_without_a_place_of_the_first_window_are_told_too() {
    let scratch = Scratch::new();
    // Its first packet is a second behind the begin of the first window.
    let generated = capture::generate(&scratch, SPEC);
    let begin = capture::read(&generated.path)[0].time_ns;
    let late = scratch
        .file("late.pcap", capture::retimed(&generated.path, |time| Some(time - begin + 1_000_000_000)));
    let store = scratch.path("full");
    let run = ["run", text(&late), "--node", "n1", "--every", "10s", "--max-flows", "20"];
    call(&[&run[..], &["--store", text(&store)]].concat()).expect(0);
    let without_place = |ended: Ended| {
        let answer = schema::of_line(ended.expect(3).stdout.trim_end());
        let reason = answer["reason"].as_str().expect("a reason").to_owned();
        reason.split_once(" packets had no place").expect("their number").0.to_owned()
    };
    let own = without_place(asked(&store, &[]));
    assert!(own.parse::<u64>().is_ok_and(|packets| packets > 20), "{own}");
    let lines = format!("cat >/dev/null; echo '{RIGHT}'");
    assert_eq!(without_place(of_program(&scratch, &store, &lines, &[])), own);
}

#[test]
fn programs_that_fail_are_named_in_a_line() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let missing = scratch.path("missing");
    asked(&store, &["--engine", "spark", "--engine-program", text(&missing)])
        .says(2, &["q1: Spark: there is no program", "pip install pyspark"]);
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "cat >/dev/null; echo 'Catalog Error: no such' >&2; exit 1",
            &[],
            &["Catalog Error: no such", "exit status: 1"],
        ),
        ("kill -9 $$", &[], &["signal: 9"]),
        ("sleep 1000", &["--engine-time", "300ms"], &["no answer within 300.00 ms", "--engine-time"]),
        // What it has started keeps its output open.
        ("sleep 1000 & exit 0", &["--engine-time", "300ms"], &["no answer within 300.00 ms"]),
        ("echo no", &[], &["'no' is no JSON"]),
        ("echo '{\"x\":1}'", &[], &["there is no column rows_of_all"]),
        (
            r#"echo '{"window_us":0,"node":"n1","groups_of_all":1,"rows_of_all":1,"c1":7}'"#,
            &[],
            &["no column c2"],
        ),
        (
            r#"echo '{"window_us":0,"node":"n1","groups_of_all":1,"rows_of_all":1,"c1":7,"c2":1,"c3":1}'"#,
            &[],
            &["there is a column c3"],
        ),
        (
            r#"echo '{"window_us":0,"node":"n1","groups_of_all":1,"rows_of_all":1,"c1":7.5,"c2":1}'"#,
            &[],
            &["c1 (n) is 7.5", "unsigned"],
        ),
        (
            r#"echo '{"window_us":0,"node":"n1","groups_of_all":1,"rows_of_all":2,"c1":7,"c2":1}'"#,
            &[],
            &["1 rows came", "to be 2"],
        ),
        ("head -c 300000000 /dev/zero | tr '\\0' ' '", &[], &["larger than 256 MiB"]),
    ];
    for (lines, more, words) in cases {
        let ended = of_program(&scratch, &store, lines, more).says(1, words);
        assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{lines}: {ended:?}");
    }
}

#[test]
fn options_that_no_engine_can_follow_are_refused() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let cases: &[(&[&str], &[&str])] = &[
        (&["--engine", "clickhouse"], &["--engine-url http://HOST:8123"]),
        (&["--engine", "duckdb", "--engine-url", "x"], &["leave out --engine-url"]),
        (&["--engine", "duckdb", "--engine-login", "x"], &["leave out --engine-login"]),
        (&["--engine", "clickhouse", "--engine-url", "ftp://x"], &["--engine-url ftp://x"]),
        (&["--engine", "duck"], &["duckdb"]),
    ];
    for (engine, words) in cases {
        asked(&store, engine).says(2, words);
    }
    let secret = asked(&store, &["--engine", "clickhouse", "--engine-url", "http://u:word@127.0.0.1:1"]);
    let secret = secret.says(2, &["no user and no password"]);
    assert!(!secret.stderr.contains("word@"), "{secret:?}");
    let login = scratch.path("login");
    std::fs::write(&login, "user\nword\n").expect("written");
    let near =
        ["--engine", "clickhouse", "--engine-url", "http://127.0.0.1:1", "--engine-login", text(&login)];
    std::fs::set_permissions(&login, PermissionsExt::from_mode(0o644)).expect("set");
    asked(&store, &near).says(2, &["--engine-login", text(&login)]);
    std::fs::set_permissions(&login, PermissionsExt::from_mode(0o600)).expect("set");
    let far =
        ["--engine", "clickhouse", "--engine-url", "http://192.0.2.1:1", "--engine-login", text(&login)];
    asked(&store, &far).says(2, &["in clear"]);
    call(&["query", "x.parquet", "--engine", "duckdb", "-q", ASKED]).says(2, &["--store DIR"]);
}

/// ClickHouse, which is asked over HTTP.
mod servers {
    use super::*;
    use crate::support::program::run;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    /// A server that answers each request with these bytes, and passes on what it was sent.
    fn server(bytes: &'static [u8], ends: bool) -> (String, std::sync::mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (told, heard) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                let _ = told.send(request(&stream));
                let _ = (&stream).write_all(bytes);
                if !ends {
                    held.push(stream);
                }
            }
        });
        (address, heard)
    }

    /// The head and the body of a request.
    fn request(stream: &TcpStream) -> String {
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                break;
            }
            if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = number.trim().parse().unwrap_or(0);
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        head + &String::from_utf8_lossy(&body)
    }

    #[test]
    fn servers_that_fail_are_named_in_a_line() {
        let scratch = Scratch::new();
        let store = made(&scratch);
        let of = |url: &str, more: &[&str]| {
            asked(&store, &[&["--engine", "clickhouse", "--engine-url", url], more].concat())
        };
        let refused: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 47\r\n\r\nCode: 60. DB::Exception: no table. (UNKNOWN)\n\n\n";
        let half: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"window_us\":0,";
        // What it says, whether it then ends, more options, and what is said of it.
        type Case<'a> = (&'static [u8], bool, &'a [&'a str], &'a [&'a str]);
        let cases: &[Case] = &[
            (refused, true, &[], &["refuses (404 Not Found)", "DB::Exception: no table"]),
            (half, true, &[], &["its answer ends early"]),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", true, &[], &["'no' is no JSON"]),
            (b"", false, &["--engine-time", "300ms"], &["no answer within 300.00 ms"]),
            (half, false, &["--engine-time", "300ms"], &["no answer within 300.00 ms"]),
            (b"SSH-2.0\r\n\r\n", true, &[], &["does not answer", "HTTP interface"]),
        ];
        for (bytes, ends, more, words) in cases {
            let (address, _) = server(bytes, *ends);
            let ended = of(&address, more).says(1, words);
            assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{ended:?}");
        }
        let nobody = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        of(&format!("http://{nobody}"), &[]).says(1, &["does not answer", "is it running"]);
    }

    #[test]
    fn the_password_is_in_no_line_but_that_of_the_request() {
        let scratch = Scratch::new();
        let store = made(&scratch);
        let (address, heard) = server(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", true);
        let engine = [
            "query",
            "--store",
            text(&store),
            "-q",
            ASKED,
            "--engine",
            "clickhouse",
            "--engine-url",
            &address,
        ];
        let mut command = edison();
        command
            .args(engine)
            .env("EDISON_ENGINE_USER", "someone")
            .env("EDISON_ENGINE_PASSWORD", "secret-word");
        let ended = run(&mut command).says(1, &["403"]);
        assert!(!ended.stderr.contains("secret-word"), "{ended:?}");
        let request = heard.recv().expect("asked").to_lowercase();
        assert!(
            request.contains("x-clickhouse-user: someone")
                && request.contains("x-clickhouse-key: secret-word")
        );
        assert!(
            request.contains("default_format=jsoneachrow") && request.contains("from file('"),
            "{request}"
        );
    }
}

#[test]
fn files_that_the_store_replaces_meanwhile_are_asked_for_again() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    let (asked, go) = (scratch.path("asked"), scratch.path("go"));
    let lines = format!(
        "cat >>'{}'; until [ -e '{}' ]; do sleep 0.05; done; echo '{RIGHT}'",
        text(&asked),
        text(&go)
    );
    let program = program(&scratch, &lines);
    let engine = ["--engine", "duckdb", "--engine-program", text(&program)];
    let mut command = edison();
    command.args(["query", "--store", text(&store), "--json", "-q", ASKED]).args(engine);
    command.stdin(std::process::Stdio::null());
    let mut running = Running::start(&mut command);
    let said = || std::fs::read_to_string(&asked).unwrap_or_default();
    assert!(running.wait_for("the question", |_| said().contains(";\n")));
    // What compaction does: another file has the rows, then the first one goes.
    let file = Catalog::open(&store).expect("a store").files(Level::Rows, None).expect("files").remove(0);
    let mut manifest = Manifest::open(&store).expect("a store");
    let number = manifest.take_number();
    let path = store.join(place(Level::Rows, "n1", file.first_ns, number));
    std::fs::copy(&file.path, &path).expect("copied");
    let added = store::StoredFile { number, path: path.clone(), ..file.clone() };
    manifest
        .commit(&ManifestChange {
            added: vec![added],
            removed: vec![file.number],
            ..ManifestChange::default()
        })
        .expect("named");
    std::fs::remove_file(&file.path).expect("removed");
    std::fs::write(&go, "").expect("written");
    let ended = running.wait().expect(0);
    let answer = schema::of_line(ended.stdout.trim_end());
    assert_eq!((answer["rows"][0]["n"].clone(), answer["status"].clone()), (7.into(), "complete".into()));
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let questions = said();
    assert!(questions.starts_with("SET memory_limit = '"), "{questions}");
    let asked_for = |path: &Path| questions.matches(&format!("/{}'", name(path))).count();
    assert_eq!((asked_for(&file.path), asked_for(&path)), (1, 1), "{questions}");
}

#[test]
fn a_question_without_an_answer_does_not_keep_others_from_theirs() {
    let scratch = Scratch::new();
    let store = made(&scratch);
    // It has no answer to what asks for the greatest.
    let lines = format!("if grep -q 'max(' -; then echo 'Binder Error: max' >&2; exit 1; fi; echo '{RIGHT}'");
    let program = program(&scratch, &lines);
    let texts = format!(
        "a: select max(total_byte); b: {ASKED}; c: select conversation, count(*) groupby conversation order by conversation; d: {ASKED}"
    );
    let asked = |program: &Path| {
        let question = ["query", "--store", text(&store), "--json", "-q", &texts];
        call(&[&question[..], &["--engine", "duckdb", "--engine-program", text(program)]].concat())
    };
    let ended = asked(&program).expect(1);
    let names: Vec<_> = ended.stdout.lines().map(|line| schema::of_line(line)["query"].clone()).collect();
    assert_eq!(names, ["b", "d"], "{ended:?}");
    for line in ["a: DuckDB: Binder Error: max", "c: no other engine orders conversations as texts"] {
        assert!(ended.stderr.contains(line), "{ended:?}");
    }
    // All are refused alike where the program is not there, in one line.
    let ended = asked(&scratch.path("missing")).expect(2);
    assert_eq!(ended.stderr.matches("there is no program").count(), 1, "{ended:?}");
}
