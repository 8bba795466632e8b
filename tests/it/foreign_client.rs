//! A probe that somebody has taken over, and who speaks to the broker with pika (`tests/foreign_client`): whatever it sends is refused by
//! name and counted, the controller lives and stays small, and the other nodes' answers are whole.
//!
//! EDISON_TINY_MESSAGES: how many tiny messages are sent (50,000); EDISON_LARGE_MESSAGES: bodies of 100 MB (5).

use crate::support::broker::{Broker, free_ports};
use crate::support::capture;
use crate::support::program::{Running, edison, run};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::{api_get, until, until_ok};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use testbed::veth::{Veth, ip, with_veth};

const QUERIES: &str = "all: select sum(total_count) as n every 1s;\n\
    each: select src_port, sum(total_count) as n groupby src_port every 1s;";

/// What one step may add to the memory of the controller while it lasts: bodies that wait, one that is looked at, and what is made of it.
/// A single body of those that are sent has 100 MB.
const MOST_WHILE: u64 = 160 << 20;
/// The same of one message with the most values that any may have.
const MOST_WHILE_READ: u64 = 768 << 20;
/// What all of them together may add for good.
const MOST_AFTER: u64 = 64 << 20;

/// What the environment says, or this.
fn count(name: &str, usual: u64) -> String {
    let text = std::env::var(name).unwrap_or_else(|_| usual.to_string());
    text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is no number")).to_string()
}

/// The client, which has an environment of its own.
fn foreign(words: &[&str]) -> Command {
    let mut call = Command::new("python3");
    call.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign_client")).args(words);
    call
}

/// Names and numbers of a JSON object.
fn counters(object: &Value) -> BTreeMap<String, u64> {
    let object = object.as_object().cloned().unwrap_or_default();
    object.into_iter().map(|(name, count)| (name, count.as_u64().expect("a number"))).collect()
}

struct Deployment {
    // Ends before its folder.
    broker: Broker,
    scratch: Scratch,
    web: u16,
}

impl Deployment {
    /// A broker that knows three nodes, each with the least rights.
    fn new() -> Self {
        ip("link set lo up");
        let scratch = Scratch::new();
        let broker = Broker::start(&scratch, &[]);
        let deployment = Self { broker, scratch, web: free_ports(1) };
        let config = deployment.controller_settings();
        let api = format!("http://127.0.0.1:{}", deployment.broker.management);
        let secrets = deployment.scratch.path("secrets");
        let mut provision = edison();
        provision
            .args(["controller", "provision", "--config", text(&config), "--passwords", text(&secrets)])
            .args(["--management", &api])
            .env("EDISON_MANAGEMENT_USER", "guest")
            .env("EDISON_MANAGEMENT_PASSWORD", "guest");
        run(&mut provision).expect(0);
        deployment
    }

    fn password_file(&self, user: &str) -> PathBuf {
        self.scratch.path("secrets").join(format!("{user}.password"))
    }

    /// The broker, as this user.
    fn login(&self, user: &str) -> String {
        let file = self.password_file(user);
        format!(
            "broker = \"amqp://{user}@127.0.0.1:{}\"\npassword-file = \"{}\"\n",
            self.broker.port,
            text(&file)
        )
    }

    fn controller_settings(&self) -> PathBuf {
        let queries = self.scratch.file("queries.eq", QUERIES);
        let settings = format!(
            "{}nodes = [\"near\", \"far\", \"rogue\"]\nevery = \"1s\"\nqueries = [\"{}\"]\nstate = \"{}\"\nlisten = \"127.0.0.1:{}\"\n",
            self.login("join"),
            text(&queries),
            text(&self.scratch.path("state.db")),
            self.web
        );
        self.scratch.file("controller.toml", settings)
    }

    fn probe(&self, node: &str, interface: &str) -> Running {
        let settings = format!(
            "{}node = \"{node}\"\ninterface = [\"{interface}\"]\nevery = \"1s\"\nmemory = \"64MiB\"\n",
            self.login(node)
        );
        let file = self.scratch.file(&format!("{node}.toml"), settings);
        Running::start(edison().args(["probe", "--config", text(&file)]))
    }

    /// Lets the client carry out a step, and returns what it says.
    fn foreign(&self, user: &str, step: &str, words: &[&str]) -> Value {
        let password = match user {
            "guest" => "guest".to_owned(),
            _ => std::fs::read_to_string(self.password_file(user)).expect("a password").trim().to_owned(),
        };
        let (port, recorded) = (self.broker.port.to_string(), self.scratch.path("recorded"));
        let mut call = foreign(&[step, "--port", &port, "--user", user, "--victim", "near"]);
        call.args(["--recorded", text(&recorded)]).args(words).env("FOREIGN_PASSWORD", password);
        let said = run(&mut call).expect(0).stdout;
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{step}: {error}: {said}"))
    }

    fn status(&self) -> Value {
        until("the controller's answer", || api_get(self.web, "/status"))
    }

    fn node(&self, name: &str) -> Value {
        let status = self.status();
        let nodes = status["nodes"].as_array().expect("nodes");
        nodes.iter().find(|node| node["name"] == name).expect("a node").clone()
    }

    /// What was refused of the rogue so far, and what came twice.
    fn refused(&self) -> BTreeMap<String, u64> {
        let mut refused = counters(&self.node("rogue")["refused"]);
        let doubled = self.status()["windows"]["doubled"].as_u64().expect("a number");
        refused.insert("doubled".to_owned(), doubled);
        refused.retain(|_, count| *count > 0);
        refused
    }

    /// The rows of each window that the controller has an answer of.
    fn rows(&self, query: &str, node: &str) -> BTreeMap<String, Vec<Value>> {
        let path = format!("/answers?query={query}&node={node}&limit=10000");
        let answers = until("answers", || api_get(self.web, &path));
        let window = |answer: &Value| {
            let start = answer["window"]["start"].as_str().expect("a time").to_owned();
            (start, answer["rows"].as_array().expect("rows").clone())
        };
        answers["answers"].as_array().expect("answers").iter().map(window).collect()
    }

    /// The frames in all windows of a node.
    fn frames(&self, node: &str) -> u64 {
        self.rows("all", node).values().flatten().map(|row| row["n"].as_u64().unwrap_or(0)).sum()
    }
}

/// The memory of a process, bytes: now, or the most of it since [`forget_peak`].
fn memory(process: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("a line");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

fn forget_peak(process: u32) {
    std::fs::write(format!("/proc/{process}/clear_refs"), "5").expect("own child");
}

/// Ends the sender, also where the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What has become more.
fn more(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let more = |(name, count): (&String, &u64)| (name.clone(), count - before.get(name).unwrap_or(&0));
    after.iter().map(more).filter(|(_, count)| *count > 0).collect()
}

/// Waits until the controller has refused what the client expects, and no more. Names with `|` between them are any of these.
#[track_caller]
fn expect_refused(deployment: &Deployment, step: &str, before: &BTreeMap<String, u64>, said: &Value) {
    let expected = counters(&said["refused"]);
    let total: u64 = expected.values().sum();
    let came = until_ok(&format!("{step}: {expected:?} are refused"), || {
        let came = more(before, &deployment.refused());
        if came.values().sum::<u64>() >= total { Ok(came) } else { Err(came) }
    });
    let mut left = came.clone();
    let (several, single): (Vec<_>, Vec<_>) = expected.iter().partition(|(name, _)| name.contains('|'));
    for (name, count) in single {
        let own = left.get_mut(name).unwrap_or_else(|| panic!("{step}: no {name} in {came:?}"));
        *own =
            own.checked_sub(*count).unwrap_or_else(|| panic!("{step}: {name}: {came:?}, not {expected:?}"));
    }
    for (names, count) in several {
        let names: BTreeSet<&str> = names.split('|').collect();
        let sum: u64 = left
            .iter_mut()
            .filter(|(name, _)| names.contains(name.as_str()))
            .map(|(_, own)| std::mem::take(own))
            .sum();
        assert_eq!(sum, *count, "{step}: {came:?}, not {expected:?}");
    }
    assert!(left.values().all(|count| *count == 0), "{step}: {came:?}, not {expected:?}");
}

/// Sends a frame of each port, every few milliseconds, until it is told to end. Returns how many.
fn send_all(veth: &Veth, stop: &AtomicBool) -> u64 {
    let ports = (1024..60_000).take_while(|port| {
        veth.send(&capture::udp(*port));
        std::thread::sleep(Duration::from_millis(10));
        !stop.load(Relaxed)
    });
    // The one that was sent before the end was seen is not in it.
    ports.count() as u64 + 1
}

#[test]
fn a_rogue_probe_is_refused_by_name_and_the_others_lose_nothing() {
    // Before there is a namespace, from which no way leads to packages.
    run(&mut foreign(&["prepare"])).expect(0);
    with_veth(|veth| {
        let deployment = Deployment::new();
        let mut controller = Running::start(edison().args([
            "controller",
            "--config",
            text(&deployment.controller_settings()),
        ]));
        // What is on the wire is written down for later.
        let answers = |_: &Running| api_get(deployment.web, "/status").is_some();
        assert!(controller.wait_for("the controller's API", answers), "{:?}", controller.said());
        until("the exchange", || {
            deployment.broker.ctl(&["list_queues", "name"]).contains("edison.results").then_some(())
        });
        deployment.foreign("guest", "tap", &[]);
        let good = [deployment.probe("near", Veth::NEAR), deployment.probe("far", Veth::FAR)];
        let mut own = deployment.probe("rogue", Veth::FAR);
        for node in ["near", "far", "rogue"] {
            until("an answer of each node", || (!deployment.rows("each", node).is_empty()).then_some(()));
        }
        let stop = AtomicBool::new(false);
        let sent = std::thread::scope(|scope| {
            let sender = scope.spawn(|| send_all(veth, &stop));
            let ends = Stop(&stop);
            until("frames of the rogue", || (deployment.frames("rogue") > 200).then_some(()));
            own.signal(libc::SIGTERM);
            own.wait().expect(0);
            until("its end", || (deployment.node("rogue")["state"] == "ended").then_some(()));
            let recorded = deployment.foreign("guest", "record", &[])["refused"].clone();
            deployment.broker.ctl(&["delete_queue", "recorder"]);
            let frames = recorded["frames of rogue"].as_u64().expect("frames");
            assert!(frames > 200 && recorded["of near"].as_u64() > Some(5), "{recorded}");
            until("all that it measured", || (deployment.frames("rogue") == frames).then_some(()));
            let windows = deployment.rows("each", "rogue");

            let process = controller.child.id();
            let first = memory(process, "VmRSS");
            let (large, tiny) = (count("EDISON_LARGE_MESSAGES", 5), count("EDISON_TINY_MESSAGES", 50_000));
            for (step, words, most) in [
                ("strangers", ["--count", "1"], MOST_WHILE),
                ("broken", ["--count", "1"], MOST_WHILE),
                ("replays", ["--count", "1"], MOST_WHILE),
                ("large", ["--count", &large], MOST_WHILE),
                ("tiny", ["--count", &tiny], MOST_WHILE),
                ("bombs", ["--count", "1"], MOST_WHILE_READ),
            ] {
                let (before, resident) = (deployment.refused(), memory(process, "VmRSS"));
                forget_peak(process);
                let said = deployment.foreign("rogue", step, &words);
                expect_refused(&deployment, step, &before, &said);
                let by_broker = counters(&said["broker"]);
                assert_eq!(
                    by_broker.is_empty(),
                    !["strangers", "replays"].contains(&step),
                    "{step}: {by_broker:?}"
                );
                let peak = memory(process, "VmHWM").saturating_sub(resident);
                eprintln!(
                    "{step}: {} of the broker {by_broker:?}; memory {} MiB, at most {} MiB more",
                    said["refused"],
                    memory(process, "VmRSS") >> 20,
                    peak >> 20
                );
                assert!(peak < most, "{step}: the controller grows by {} MiB", peak >> 20);
            }
            // What the last step took is given back some time after it was refused.
            until_ok(&format!("{first} bytes of the controller, as before"), || {
                let last = memory(process, "VmRSS");
                if last < first + MOST_AFTER { Ok(()) } else { Err(last) }
            });
            // What it had measured before is as it was.
            assert_eq!(deployment.rows("each", "rogue"), windows);
            drop(ends);
            sender.join().expect("no panic")
        });

        // All frames are in windows of the others, each once, and no window is missing.
        for node in ["near", "far"] {
            until("all frames", || {
                let frames = deployment.frames(node);
                assert!(frames <= sent, "{node}: {frames} of {sent}");
                (frames == sent).then_some(())
            });
            let rows: Vec<Value> = deployment.rows("each", node).into_values().flatten().collect();
            let ports: BTreeMap<u64, u64> = rows
                .iter()
                .map(|row| (row["src_port"].as_u64().expect("a port"), row["n"].as_u64().expect("frames")))
                .collect();
            let expected = (0..sent).map(|number| (1024 + number, 1));
            assert!(rows.len() as u64 == sent && ports.into_iter().eq(expected), "{node}");
            let state = deployment.node(node);
            assert_eq!(
                (&state["refused"], &state["gaps"]),
                (&serde_json::json!({}), &serde_json::json!([])),
                "{state}"
            );
        }
        // Who sends that is said, once each, and shown.
        let address = format!("http://127.0.0.1:{}", deployment.web);
        let state = |node: &str| deployment.node(node)["state"].clone();
        for node in ["near", "far"] {
            until("that it is up", || (state(node) == "up").then_some(()));
        }
        // The rogue node sends no more heartbeats. The exit code is 3 once the controller calls it silent.
        let shown = until("that all nodes but the rogue answer", || {
            let ended = run(edison().args(["nodes", "--controller", &address]));
            let is_silent = !["up", "ended"].iter().any(|quiet| state("rogue") == *quiet);
            (ended.code == Some(if is_silent { 3 } else { 0 })).then_some(ended.stdout)
        });
        let line =
            shown.lines().find(|line| line.starts_with("  of rogue: ")).unwrap_or_else(|| panic!("{shown}"));
        for reason in [
            "too_large",
            "foreign",
            "too_old",
            "too_new",
            "truncated",
            "damaged",
            "malformed",
            "wrong_user",
            "too_late",
        ] {
            assert!(line.contains(reason), "no {reason}: {line}");
        }
        let lines = controller.said();
        for reason in ["too_large", "foreign", "truncated"] {
            let is_it = |line: &&String| line.contains("rogue: ") && line.contains(&format!("({reason})"));
            assert_eq!(lines.iter().filter(is_it).count(), 1, "{reason}: {lines:?}");
        }
        for mut probe in good {
            probe.signal(libc::SIGTERM);
            let said = probe.wait().expect(0).stderr;
            assert!(said.contains(" 0 not measured") && !said.contains("not delivered"), "{said}");
        }
        controller.signal(libc::SIGTERM);
        controller.wait().expect(0);
    });
}
