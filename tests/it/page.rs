//! `--web`: the page and the API of a run have what the run prints and reports, while it measures and afterwards. Texts are checked
//! there, and by a controller, as the commands check them.

use crate::support::capture;
use crate::support::output::report;
use crate::support::program::{Running, call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testbed::veth::{Veth, ip, with_veth};

/// Where the page of a run is, once it says so.
#[track_caller]
pub(crate) fn address(running: &mut Running, words: &str) -> String {
    let line = |running: &Running| running.said().into_iter().find(|line| line.contains(words));
    assert!(running.wait_for(words, |running| line(running).is_some()), "{:?}", running.said());
    let line = line(running).expect("it was there");
    line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned()
}

pub(crate) fn get(address: &str, path: &str) -> Value {
    let answer = ureq::get(format!("{address}api/v1{path}")).call().expect("an answer");
    serde_json::from_str(&answer.into_body().read_to_string().expect("a text")).expect("JSON")
}

fn post(address: &str, path: &str, text: &str) -> Value {
    let request = ureq::post(format!("{address}api/v1{path}")).config().http_status_as_error(false).build();
    let answer = request.send(text).expect("an answer");
    serde_json::from_str(&answer.into_body().read_to_string().expect("a text")).expect("JSON")
}

/// What a command prints of a text.
fn printed(command: &str, text: &str) -> Value {
    // The run's key, in its order.
    let key = "src_addr,dst_addr,src_port,dst_port,protocol";
    let ended = run(edison().args([command, "--json", "--key", key, "-q", text]));
    serde_json::from_str(&ended.stdout).unwrap_or_default()
}

/// The answers over the run, by query and node.
fn of_run(answers: &Value) -> BTreeSet<String> {
    let answers = answers.as_array().expect("a list").iter().filter(|answer| answer["window"].is_null());
    answers.map(|answer| format!("{} {} {}", answer["query"], answer["node"], answer["rows"])).collect()
}

#[test]
fn the_page_of_a_capture_has_what_its_report_has() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=20k,flows=2k,zipf=1.0,plant=flood").path;
    let file = scratch.path("report.json");
    let mut running =
        Running::start(edison().args(["run", text(&capture), "--web=127.0.0.1:0", "--report", text(&file)]));
    let address = address(&mut running, "stays at");
    let status = get(&address, "/status");
    let report = report(&file);
    assert_eq!((&status["mode"], &status["ended"]), (&Value::from("run"), &Value::from(true)));
    assert_eq!(status["nodes"][0]["packets"], report["packets"]);
    assert_eq!(status["nodes"][0]["state"], "ended");
    let answers = get(&address, "/answers?limit=1000");
    let shown = of_run(&answers["answers"]);
    assert_eq!(shown, of_run(&report["answers"]));
    for query in ["hosts", "conversations", "scanners", "targets", "totals"] {
        assert!(shown.iter().any(|answer| answer.starts_with(&format!("\"{query}\""))), "{query}: {shown:?}");
    }
    let page = ureq::get(&address).call().expect("the page").into_body().read_to_string().expect("a text");
    assert!(page.contains("<script") && page.contains("Edison"), "{page}");
    // Nothing can be installed in a run; the error says so.
    let refused = run(edison().args(["add", "-q", "select count(*)", "--controller", &address]));
    refused.says(2, &["run"]);
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn nodes_of_a_run_have_their_sites() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=100,flows=10").path;
    let settings = "site = [\"tx=Chicago, IL\"]\nat = { rx = \"-33.86,151.2\" }\n";
    let config = scratch.file("run.toml", settings);
    let nodes = ["tx", "rx", "other"].map(|name| format!("{name}={}", capture.display()));
    let mut running =
        Running::start(edison().args(["run", "--web=127.0.0.1:0", "--config", text(&config)]).args(&nodes));
    let address = address(&mut running, "stays at");
    let listed = get(&address, "/nodes");
    let site = |at: usize| &listed["nodes"][at]["site"];
    assert_eq!(*site(0), json!({"name": "Chicago, IL", "at": null}));
    assert_eq!(*site(1), json!({"name": null, "at": {"latitude": -33.86, "longitude": 151.2}}));
    assert_eq!(*site(2), Value::Null);
    assert_eq!(get(&address, "/status")["nodes"], listed["nodes"]);
    let told = run(edison().args(["nodes", "--controller", &address])).expect(0);
    let rows: Vec<Vec<&str>> = told
        .stdout
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        (rows[0][1], rows[1][1], rows[2][1]),
        ("site", "Chicago, IL", "-33.86,151.2"),
        "{}",
        told.stdout
    );
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn a_site_that_is_none_or_of_no_node_is_refused() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=100,flows=10").path;
    let long = "x".repeat(70_000);
    let one =
        |arguments: &[&str]| run(edison().args(["run", text(&capture), "--web=127.0.0.1:0"]).args(arguments));
    for (arguments, words) in [
        (&["--at", "91,0"][..], &["--at", "latitude is 91", "-90 to 90"][..]),
        (&["--at", "0,-180.5"], &["--at", "longitude is -180.5"]),
        (&["--at", "NaN,0"], &["--at", "latitude is NaN"]),
        (&["--at", "Chicago"], &["--at", "LATITUDE,LONGITUDE"]),
        (&["--site", &long], &["--site", "70000 characters"]),
        (&["--site", ""], &["--site", "empty"]),
        (&["--site", "Chicago\u{1b}[2J"], &["--site", "control characters"]),
        (&["--site", "other=Chicago"], &["--site other=…", "no node has this name"]),
        (&["--site", "a", "--site", "b"], &["--site", "given twice"]),
    ] {
        one(arguments).says(2, words);
    }
    let nodes = ["tx", "rx"].map(|name| format!("{name}={}", capture.display()));
    run(edison().arg("run").args(&nodes).args(["--web=127.0.0.1:0", "--site", "Chicago"]))
        .says(2, &["--site", "several nodes", "tx=…"]);
    run(edison().args(["run", text(&capture), "--at", "1,2"])).says(2, &["--site, --at", "without --web"]);
    run(edison().args(["run", text(&capture)]).env("EDISON_SITE", "Chicago")).says(2, &["--site, --at"]);
    let config = scratch.file("run.toml", "at = [41.88, -87.63]\n");
    one(&["--config", text(&config)]).says(2, &["run.toml", "41.88", "LATITUDE,LONGITUDE"]);
}

#[test]
fn texts_are_checked_and_explained_as_the_commands_do_it() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=100,flows=10").path;
    let taken = "flood: select dst_addr, count(src_addr) as sources groupby dst_addr every 1s;";
    let mut running = Running::start(edison().args([
        "run",
        text(&capture),
        "--web=127.0.0.1:0",
        "-q",
        taken,
        "--set",
        "Large=5",
    ]));
    let address = address(&mut running, "are at");
    for text in [
        "a: select src_addr, sum(total_byte) groupby src_addr every 10s; b: select dst_port;",
        "a: select count(*) as n every 1s; b: select count(*) every 1s when a.n > 5 for 3s run 10s;",
        "a: select iat_p99, count(*) groupby src_country;",
    ] {
        let checked = post(&address, "/check", text);
        assert_eq!(checked["diagnostics"], printed("check", text)["files"][0]["diagnostics"], "{text}");
        let explained = &printed("explain", text)["files"][0];
        assert_eq!(checked["explanation"]["queries"], explained["queries"], "{text}");
        assert_eq!(checked["explanation"]["graph"], explained["graph"], "{text}");
    }
    // What stands and is set is known here.
    let here = "who: select count(*) every 1s when flood.sources > Large;";
    assert_eq!(post(&address, "/check", here)["explanation"]["queries"][0]["query"], "who");
    assert_eq!(printed("check", here)["files"][0]["diagnostics"][0]["code"], "unknown_query");
    let words = get(&address, "/language");
    assert_eq!((&words["queries"][0]["name"], &words["variables"][0]), (&"flood".into(), &"Large".into()));
    assert_eq!(words["nodes"].as_array().map(Vec::len), Some(1));
    let fields: Value = serde_json::from_str(&run(edison().args(["fields", "--json"])).stdout).expect("JSON");
    for field in words["fields"].as_array().expect("fields") {
        let mut known = fields.as_array().expect("fields").iter();
        let known = known.find(|known| known["name"] == field["name"]).expect("a field");
        assert_eq!((&field["meaning"], &field["unit"]), (&known["meaning"], &known["unit"]), "{known}");
    }
    running.signal(libc::SIGINT);
    running.wait().expect(0);
}

#[test]
fn a_controller_checks_texts_for_what_stands() {
    let scratch = Scratch::new();
    let state = scratch.path("state.db");
    // A broker that is away is no error.
    let settings = format!(
        "broker = \"amqp://edison@127.0.0.1:1\"\nnodes = [\"Node1\", \"Node2\"]\nevery = \"1s\"\nlisten = \"127.0.0.1:0\"\n\
         state = \"{}\"\n",
        text(&state)
    );
    let settings = scratch.file("controller.toml", settings);
    let mut running = Running::start(edison().args(["controller", "--config", text(&settings)]));
    let address = address(&mut running, "the API are at").trim_end_matches(';').to_owned();
    let one = "one: select sum(total_byte) as b where node_id = Node1 every 1s;";
    let two = "two: select sum(total_byte) as b where node_id = Node2 every 1s when one.b > 5;";
    let code = |text: &str| post(&address, "/check", text)["diagnostics"][0]["code"].clone();
    assert_eq!(code(two), "unknown_query");
    assert_eq!(code("a: select count(*) where node_id = Node3 every 1s;"), "unknown_node");
    let checked = post(&address, "/check", one);
    assert_eq!((&checked["refused"], checked["explanation"].is_null()), (&serde_json::json!([]), false));
    // Checked, and not installed.
    assert_eq!(get(&address, "/language")["queries"], serde_json::json!([]));
    assert_eq!(post(&address, "/queries", one)["queries"][0], "one");
    assert_eq!(get(&address, "/language")["queries"][0]["columns"], serde_json::json!(["b"]));
    assert_eq!(get(&address, "/language")["nodes"], serde_json::json!(["Node1", "Node2"]));
    assert_eq!(post(&address, "/check", two)["diagnostics"], serde_json::json!([]));
    // Why a text is not installed is what it is told when it is.
    assert_eq!(code("totals: select count(*) every 1s;"), "taken_name");
    for wrong in [one, "-- nothing"] {
        let refused = post(&address, "/check?file=a.eq", wrong)["refused"].clone();
        assert_eq!(post(&address, "/queries?file=a.eq", wrong)["error"], refused[0], "{wrong}");
        assert!(refused[0].is_string(), "{wrong}: {refused}");
    }
    run(edison().args(["cancel", "one", "--controller", &address])).expect(0);
    assert_eq!(code(two), "unknown_query");
    running.signal(libc::SIGTERM);
    running.wait().expect(0);
}

#[test]
fn a_query_that_took_a_place_keeps_it_after_a_restart() {
    let scratch = Scratch::new();
    let one = "one: select sum(total_byte) as b where node_id = Node1 every 1s;";
    let two = "two: select sum(total_byte) as b every 1s when one.b > Most;";
    let queries = scratch.file("chain.eq", format!("let Most = 5;\n{one}\n{two}\n"));
    // A broker that is away is no error.
    let settings = format!(
        "broker = \"amqp://edison@127.0.0.1:1\"\nnodes = [\"Node1\", \"Node2\"]\nevery = \"1s\"\nlisten = \"127.0.0.1:0\"\n\
         state = \"{}\"\nqueries = [\"{}\"]\n",
        text(&scratch.path("state.db")),
        text(&queries)
    );
    let settings = scratch.file("controller.toml", settings);
    let start = || Running::start(edison().args(["controller", "--config", text(&settings)]));
    let stands = |address: &str| -> Vec<(String, String)> {
        let queries = get(address, "/queries")["queries"].as_array().expect("queries").clone();
        let name = |query: &Value, of: &str| query[of].as_str().unwrap_or_default().to_owned();
        queries.iter().map(|query| (name(query, "file"), name(query, "text"))).collect()
    };
    let mut running = start();
    let at = address(&mut running, "the API are at").trim_end_matches(';').to_owned();
    assert_eq!(stands(&at).len(), 2);
    assert_eq!(get(&at, "/queries")["queries"][1]["definitions"], serde_json::json!(["let Most = 5;"]));
    let other = one.replace("total_byte", "total_count");
    let add = |more: &[&str]| run(edison().args(["add", "-q", &other, "--controller", &at]).args(more));
    add(&[]).says(2, &["the name one is taken"]);
    assert_eq!(add(&["--replace"]).expect(0).stdout, "added: one\n");
    let before = stands(&at);
    assert!(before.iter().any(|(file, text)| file == "query" && text.contains("total_count")), "{before:?}");
    // Of the settings, one that others refer to.
    let wrong =
        post(&at, "/queries?replace=true", "one: select count(*) as n where node_id = Node1 every 1s;");
    assert!(
        wrong["error"].as_str().is_some_and(|error| error.contains("chain.eq would not stand any more")),
        "{wrong}"
    );
    assert_eq!(stands(&at), before);
    running.signal(libc::SIGKILL);
    drop(running);
    let mut running = start();
    let at = address(&mut running, "the API are at").trim_end_matches(';').to_owned();
    let sorted = |mut stands: Vec<(String, String)>| {
        stands.sort();
        stands
    };
    assert_eq!(sorted(stands(&at)), sorted(before));
    running.signal(libc::SIGTERM);
    running.wait().expect(0);
}

#[test]
fn events_and_stories_are_those_of_the_run() {
    let scratch = Scratch::new();
    let [first, second] = capture::lossy_taps(&scratch);
    let file = scratch.path("report.json");
    let chain = format!("{}/examples/locate.eq", env!("CARGO_MANIFEST_DIR"));
    let mut command = edison();
    command.args(["run", &first, &second, "-f", &chain, "--web=127.0.0.1:0", "--report", text(&file)]);
    let mut running = Running::start(&mut command);
    let address = address(&mut running, "stays at");
    let report = report(&file);
    let events = get(&address, "/events?limit=1000");
    let ids = |events: &Value| -> Vec<String> {
        let events = events.as_array().expect("events").iter();
        events.map(|event| event["event"].as_str().expect("a text").to_owned()).collect()
    };
    assert!(!ids(&report["events"]).is_empty());
    assert_eq!(ids(&events["events"]), ids(&report["events"]));
    for story in report["stories"].as_array().expect("stories") {
        let id = story["id"].as_str().expect("a text");
        let shown = get(&address, &format!("/stories/{id}"));
        assert_eq!(shown["text"], story["text"]);
        assert_eq!(Value::from(ids(&shown["events"])), story["events"]);
    }
    let queries = get(&address, "/queries");
    let names: Vec<&str> = queries["queries"]
        .as_array()
        .expect("queries")
        .iter()
        .filter_map(|query| query["name"].as_str())
        .collect();
    assert_eq!(names, ["n1", "before", "n2", "between", "behind"]);
    assert_eq!(queries["queries"][2]["trigger"]["thresholds"][0]["column"], "lost_behind");
    for node in get(&address, "/status")["nodes"].as_array().expect("nodes") {
        let of_report = &report["nodes"][node["name"].as_str().expect("a name")];
        assert_eq!(node["packets"], of_report["packets"]);
    }
    running.signal(libc::SIGTERM);
    running.wait().expect(0);
}

/// What a run keeps in its store is asked and played from its page.
#[test]
fn a_run_with_a_store_remembers() {
    let scratch = Scratch::new();
    let [first, second] = capture::lossy_taps(&scratch);
    let (file, store) = (scratch.path("report.json"), scratch.path("store"));
    let chain = format!("{}/examples/locate.eq", env!("CARGO_MANIFEST_DIR"));
    let mut command = edison();
    command.args(["run", &first, &second, "-f", &chain, "--web=127.0.0.1:0", "--report", text(&file)]);
    command.args(["--store", text(&store)]);
    let mut running = Running::start(&mut command);
    let address = address(&mut running, "stays at");
    assert_eq!(get(&address, "/status")["history"], true);
    let report = report(&file);
    let chain = std::fs::read_to_string(chain).expect("a file");
    let span = format!("from={}&to=2100-01-01", report["started"].as_str().expect("a time"));
    let played = post(&address, &format!("/dry-run?{span}"), &chain);
    assert!(played["events"].as_array().is_some_and(|events| events.len() >= 2), "{played}");
    assert_eq!(played["events"], report["events"]);
    let texts = |stories: &Value| -> Vec<Value> {
        stories.as_array().expect("stories").iter().map(|story| story["text"].clone()).collect()
    };
    assert_eq!(texts(&played["stories"]), texts(&report["stories"]));
    assert_eq!(
        (&played["nodes"][1]["name"], &played["nodes"][1]["missing"]),
        (&"Node2".into(), &Value::Null)
    );
    // A query of the text takes the place of the one that stands, which starts the others.
    let quiet = "n1: select dst_addr, sum(ploss_byte) as lost_before, sum(retrans_byte) as lost_behind\n\
        where node_id = Node1, src_addr = 192.0.2.77 groupby dst_addr every 1s;";
    assert_eq!(post(&address, &format!("/dry-run?{span}"), quiet)["fired"], 0);
    // One that stands is known to a text that it starts.
    let more = "more: select count(*) every 1s where node_id = Node1 when n1.lost_behind > 0;";
    let more = post(&address, &format!("/dry-run?{span}"), more);
    assert!(more["fired"].as_u64().is_some_and(|fired| fired > 0), "{more}");

    // What is asked is what the command answers.
    let question = "select dst_addr, sum(total_byte) as b groupby dst_addr every 1s";
    let printed = call(&["query", "--json", "--store", text(&store), "-q", question]).expect(0).stdout;
    let mut printed: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut answers = post(&address, "/history", question)["answers"].as_array().expect("answers").clone();
    let key = |answer: &Value| (answer["window"].to_string(), answer["node"].to_string());
    // The first and the last window are cut: here by the time of all nodes, there by that of each.
    for answer in printed.iter_mut().chain(&mut answers) {
        ["status", "watched"].iter().for_each(|name| {
            answer.as_object_mut().map(|answer| answer.remove(*name));
        });
    }
    printed.sort_by_key(key);
    answers.sort_by_key(key);
    assert_eq!(answers, printed);

    // What is wrong is said in one line.
    let error =
        |path: &str, text: &str| post(&address, path, text)["error"].as_str().unwrap_or_default().to_owned();
    for (path, text, part) in [
        (format!("/dry-run?{span}"), "select sum(nothing)", "nothing"),
        (format!("/dry-run?{span}"), "a: select count(*) every 1500ms;", "1500ms"),
        (format!("/dry-run?{span}"), "a: select src_addr groupby src_addr using space_saving;", "using"),
        (format!("/dry-run?{span}"), "-- nothing", "no query"),
        ("/dry-run?from=2024-01-02&to=2024-01-01".to_owned(), "a: select count(*);", "from"),
        ("/queries".to_owned(), "a: select count(*);", "run"),
    ] {
        let said = error(&path, text);
        assert!(said.contains(part) && !said.contains('\n'), "{text}: {said}");
    }
    running.signal(libc::SIGTERM);
    running.wait().expect(0);

    let mut running = Running::start(edison().args(["run", &first, "--web=127.0.0.1:0"]));
    let address = self::address(&mut running, "stays at");
    assert_eq!(get(&address, "/status")["history"], false);
    let said = post(&address, "/dry-run", "a: select count(*) every 1s;");
    assert!(said["error"].as_str().is_some_and(|said| said.contains("--store")), "{said}");
    running.signal(libc::SIGTERM);
    running.wait().expect(0);
}

#[test]
fn a_live_run_shows_its_windows_as_they_end() {
    with_veth(|veth| {
        ip("link set lo up");
        let mut command = edison();
        command.args(["run", "-i", Veth::NEAR, "--every", "1s", "--web=127.0.0.1:0", "--json"]);
        command.args(["-q", "q: select sum(total_count) as n every 1s"]);
        let mut running = Running::start(&mut command);
        let address = address(&mut running, "are at");
        // Some frames are sent before the interface is watched.
        let counted = |address: &str| -> u64 {
            let answers = get(address, "/answers?query=q&limit=1000");
            let answers = answers["answers"].as_array().expect("answers").iter();
            answers.filter_map(|answer| answer["rows"][0]["n"].as_u64()).sum()
        };
        let mut port = 1000;
        assert!(running.wait_for("counted frames", |_| {
            veth.send(&capture::udp(port));
            port += 1;
            counted(&address) > 100
        }));
        assert_eq!(get(&address, "/status")["ended"], false);
        // Ctrl-C ends the run, and the page with it.
        running.signal(libc::SIGINT);
        let ended = running.wait().expect(0);
        assert!(!ended.stderr.contains("stays at"), "{}", ended.stderr);
    });
}

#[test]
fn an_address_that_cannot_be_listened_on_is_named() {
    let scratch = Scratch::new();
    let capture = capture::generate(&scratch, "packets=10,flows=1").path;
    call(&["run", text(&capture), "--web=0.0.0.0:0"]).says(2, &["--web", "beyond loopback"]);
    call(&["run", text(&capture), "--web=here"]).says(2, &["--web", "127.0.0.1:8080"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = taken.local_addr().expect("an address").to_string();
    call(&["run", text(&capture), "--web", &place]).says(2, &["--web", &place, "another"]);
}

/// The query that the page offers where none stands, as its source has it.
fn offered() -> String {
    let source = include_str!("../../page/src/words/example.ts");
    let text = source.split('`').nth(3).expect("a text in backticks, after the name of the command");
    text.to_owned()
}

#[test]
fn the_query_that_the_page_offers_finds_the_planted_flood() {
    let scratch = Scratch::new();
    let text_of = offered();
    let query = scratch.file("offered.eq", &text_of);
    call(&["check", text(&query)]).says(0, &["no errors in 2 queries: flood, who"]);
    for spec in [
        "packets=200k,flows=20k,plant=flood/scan/elephant",
        "packets=200k,flows=20k,rate=20k,plant=scan/flood:start=30%:end=50%",
    ] {
        let generated = capture::generate(&scratch, spec);
        let planted = generated.truth["events"].as_array().expect("a list");
        let flood = planted.iter().find(|event| event["kind"] == "flood").expect("a flood");
        let victim = flood["dst_addr"].as_str().expect("an address");
        let ended =
            call(&["run", text(&generated.path), "--node", "tap", "-f", text(&query), "--json"]).expect(0);
        let lines: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let fired: Vec<_> = lines.iter().filter(|line| line["kind"] == "fired").collect();
        assert!(
            !fired.is_empty() && fired.iter().all(|event| event["key"]["dst_addr"] == victim),
            "{spec}: {fired:?}"
        );
        // Who it was: its sources are told, each of them one of the flood's.
        let answers = lines.iter().filter(|line| line["query"] == "who" && line["rows"].is_array());
        let sources: Vec<&str> = answers
            .flat_map(|answer| answer["rows"].as_array().expect("rows"))
            .filter_map(|row| row["src_addr"].as_str())
            .collect();
        let is_of_it = |source: &&str| {
            let address: std::net::Ipv4Addr = source.parse().expect("an address");
            address.octets()[0] >> 5 == 64 >> 5
        };
        assert!(!sources.is_empty() && sources.iter().all(is_of_it), "{spec}: {sources:?}");
    }
}
