//! Debian's Alertmanager is told what fires and what is resolved: by a run, and by a controller that is killed meanwhile.

use crate::support;
use crate::support::broker::free_ports;
use crate::support::capture::{self, Frame};
use crate::support::deployment::{Broker, Deployment, send};
use crate::support::program::{Running, edison};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use testbed::veth::{Veth, with_veth};

/// What would end a label, a line or a template.
const HOSTILE: &str = "a\"b\\c\nd} 1 ü{{ .Labels }}";

/// Receives what an Alertmanager notifies of: Debian's sends each change of an alert.
struct Hook {
    port: u16,
    told: Arc<Mutex<Vec<Value>>>,
}

impl Hook {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let told: Arc<Mutex<Vec<Value>>> = Arc::default();
        let notes = Arc::clone(&told);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                if let Some(body) = body(&mut stream) {
                    notes.lock().expect("no reader panics").push(body);
                }
                // An Alertmanager that was killed meanwhile notifies again.
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        });
        Self { port, told }
    }

    /// The notifications of this status, as labels.
    fn of(&self, status: &str) -> Vec<Value> {
        let told = self.told.lock().expect("no writer panics");
        let alerts = told.iter().flat_map(|body| body["alerts"].as_array().cloned().unwrap_or_default());
        alerts.filter(|alert| alert["status"] == status).map(|alert| alert["labels"].clone()).collect()
    }
}

/// The JSON of a request.
fn body(stream: &mut TcpStream) -> Option<Value> {
    let (mut read, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        let number = stream.read(&mut part).ok().filter(|number| *number != 0)?;
        read.extend_from_slice(&part[..number]);
        let text = String::from_utf8_lossy(&read);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(json) = serde_json::from_str(body)
        {
            return Some(json);
        }
    }
}

/// Debian's Alertmanager.
struct Alertmanager {
    running: Running,
    port: u16,
}

impl Alertmanager {
    /// One on this port that notifies the hook of each change; `None` where it is not installed.
    fn start(scratch: &Scratch, hook: &Hook, port: u16) -> Option<Self> {
        if Command::new("prometheus-alertmanager").arg("--version").output().is_err() {
            eprintln!("not tested: there is no Alertmanager (Debian's package prometheus-alertmanager)");
            return None;
        }
        let settings = format!(
            "route: {{receiver: hook, group_wait: 0s, group_interval: 1s, group_by: ['...']}}\n\
             receivers: [{{name: hook, webhook_configs: [{{url: 'http://127.0.0.1:{}/'}}]}}]\n",
            hook.port
        );
        let settings = scratch.file("alertmanager.yml", settings);
        let mut command = Command::new("prometheus-alertmanager");
        command.arg(format!("--config.file={}", text(&settings)));
        command.arg(format!("--storage.path={}", text(&scratch.path("alertmanager"))));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        // Alone.
        command.arg("--cluster.listen-address=");
        let running = Running::start(&mut command);
        let ready = format!("http://127.0.0.1:{port}/-/ready");
        until("Alertmanager to be ready", || ureq::get(&ready).call().ok().map(drop));
        Some(Self { running, port })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The alerts that fire.
    fn active(&self) -> Vec<Value> {
        let address = format!("{}/api/v2/alerts", self.url());
        let answer = ureq::get(address).call().expect("an answer").into_body().read_to_string();
        let alerts: Vec<Value> = serde_json::from_str(&answer.expect("a text")).expect("a list");
        assert!(alerts.iter().all(|alert| alert["status"]["state"] == "active"), "{alerts:?}");
        alerts
    }
}

/// Frames at a rate of a hundred a second in seconds 2 and 3, of one a second before and after, from two sources.
fn rise_and_fall() -> Vec<Frame> {
    let second = 1_000_000_000;
    let frames = (0..8_u64).flat_map(|at| {
        let number = if (2..4).contains(&at) { 100 } else { 1 };
        (0..number).map(move |n| Frame {
            time_ns: 1_700_000_000 * second + at * second + n * 1_000_000,
            data: capture::udp(1_000),
        })
    });
    frames.collect()
}

const BUSY: &str = "busy: select dst_addr, sum(total_count) as n groupby dst_addr every 1s;\n\
    who: select src_addr, count(*) as n groupby src_addr limit 5 every 1s when busy.n > 50;";

#[test]
fn a_run_tells_each_firing_and_its_resolution() {
    let (scratch, hook) = (Scratch::new(), Hook::start());
    let Some(alertmanager) = Alertmanager::start(&scratch, &hook, free_ports(1)) else { return };
    let file = scratch.file("rise.pcap", capture::pcap(1, &rise_and_fall()));
    let queries = scratch.file("busy.eq", BUSY);
    let report = scratch.path("report.json");
    let mut command = edison();
    command.args(["run", text(&file), "-f", text(&queries), "--node", "Node1", "--report", text(&report)]);
    command.args(["--alertmanager", &alertmanager.url(), "--alertmanager-label", &format!("note={HOSTILE}")]);
    command.args(["--alertmanager-page", "https://edison.example.org"]);
    support::program::run(&mut command).expect(0);
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(report).expect("a report")).expect("JSON");
    let kinds: Vec<&str> = report["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["query"] == "who")
        .map(|event| event["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["fired", "resolved"]);
    // All was told when the run ended: what had fired is resolved.
    assert_eq!(alertmanager.active(), Vec::<Value>::new());

    // A run whose second half never comes: what fired fires on, and Alertmanager has all that there is to say of it.
    let frames: Vec<Frame> = rise_and_fall().into_iter().take(200).collect();
    let file = scratch.file("rise_only.pcap", capture::pcap(1, &frames));
    let mut command = edison();
    command.args(["run", text(&file), "-f", text(&queries), "--node", "Node1"]);
    command.args(["--alertmanager", &alertmanager.url(), "--alertmanager-label", &format!("note={HOSTILE}")]);
    command.args(["--alertmanager-page", "https://edison.example.org"]);
    support::program::run(&mut command).expect(0);
    let active = alertmanager.active();
    let [alert] = &active[..] else { panic!("{active:?}") };
    let labels = json!({"alertname": "who", "node": "Node1", "dst_addr": "198.51.100.1", "note": HOSTILE});
    assert_eq!(alert["labels"], labels);
    assert_eq!(alert["startsAt"], "2023-11-14T22:13:23.000Z");
    assert_eq!(alert["generatorURL"], "https://edison.example.org/events?query=who");
    let notes = &alert["annotations"];
    assert_eq!((&notes["value_n"], &notes["threshold"]), (&json!("100"), &json!("50")));
    assert_eq!(notes["summary"], "More than 50 packets for dst_addr 198.51.100.1 at Node1");
    assert!(
        notes["description"].as_str().is_some_and(|text| text.starts_with("who fired for dst_addr")),
        "{notes}"
    );
    until("the notification", || hook.of("firing").contains(&labels).then_some(()));
}

#[test]
fn a_run_says_what_alertmanager_was_not_told() {
    let scratch = Scratch::new();
    let file = scratch.file("rise.pcap", capture::pcap(1, &rise_and_fall()));
    let queries = scratch.file("busy.eq", BUSY);
    let away = format!("http://127.0.0.1:{}", free_ports(1));
    let run = |more: &[&str]| {
        let mut command = edison();
        command.args(["run", text(&file)]).args(more);
        support::program::run(&mut command)
    };
    run(&["-f", text(&queries), "--alertmanager", &away])
        .says(3, &[&away, "was not told of 1 alert at", "cannot be reached"]);
    // One that takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let slow = format!("http://{}", silent.local_addr().expect("an address"));
    run(&["-f", text(&queries), "--alertmanager", &slow]).says(3, &[&slow, "was not told of 1 alert at"]);
    // One that refuses every alert for good.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let strict = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if body(&mut stream).is_some() {
                // The run may have ended.
                let _ =
                    stream.write_all(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        }
    });
    run(&["-f", text(&queries), "--alertmanager", &strict]).says(3, &[&strict, "did not take", "refused"]);
    // What is wrong is said before anything is measured.
    run(&["--alertmanager", &away]).says(2, &["--alertmanager", "'when'"]);
    run(&["-f", text(&queries), "--alertmanager", "nonsense"])
        .says(2, &["nonsense", "http://127.0.0.1:9093"]);
    run(&["-f", text(&queries), "--alertmanager", "http://user:secret@x"]).says(2, &["no password"]);
    run(&["-f", text(&queries), "--alertmanager", &away, "--alertmanager-label", "node=x"])
        .says(2, &["'node'"]);
    run(&["-f", text(&queries), "--alertmanager-page", "http://x"])
        .says(2, &["the address of Alertmanager is missing"]);
    let open = scratch.file("credentials", "edison:secret");
    let remote = [
        "-f",
        text(&queries),
        "--alertmanager",
        "http://192.0.2.1:9093",
        "--alertmanager-credentials",
        text(&open),
    ];
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("own file");
    run(&remote).says(2, &["in clear"]);
}

const HELD: &str = "a: select sum(total_count) as n where src_port = 1001 every 1s;\n\
    b: select sum(total_count) as n where src_port = 1002 every 1s;\n\
    who: select count(*) as n every 1s when a.n > 0 until b.n > 0;";

#[test]
fn a_firing_outlives_a_controller_and_an_alertmanager_that_are_killed() {
    with_veth(|veth| {
        let deployment = Deployment::new();
        let hook = Hook::start();
        let port = free_ports(1);
        let Some(alertmanager) = Alertmanager::start(&deployment.scratch, &hook, port) else { return };
        let more =
            format!("alertmanager = \"{}\"\nalertmanager-label = [\"severity=page\"]\n", alertmanager.url());
        let mut controller = deployment.controller_with("\"near\"", HELD, &more);
        let broker = Broker(&deployment);
        deployment.broker("start");
        let mut probe = deployment.probe("near", Veth::NEAR);
        until("the node", || deployment.is_up("near").then_some(()));
        until("an answer", || (!deployment.windows("a", "near").is_empty()).then_some(()));
        let labels = json!({"alertname": "who", "node": "near", "severity": "page"});
        send(veth, 1001..1002);
        until("the firing", || (alertmanager.active().first()?["labels"] == labels).then_some(()));
        until("its notification", || hook.of("firing").contains(&labels).then_some(()));

        // It fires on while both are away.
        controller.signal(libc::SIGKILL);
        drop(controller);
        let mut alertmanager = alertmanager;
        alertmanager.running.signal(libc::SIGTERM);
        alertmanager.running.wait();
        let mut controller = deployment.controller_with("\"near\"", HELD, &more);
        let away = |program: &Running| program.said().iter().any(|line| line.contains("alerts wait (away)"));
        assert!(controller.wait_for("the word that it is away", away), "{:?}", controller.said());
        until("the node again", || deployment.is_up("near").then_some(()));
        let told = || deployment.get("/status")?["alertmanagers"].as_array()?.first().cloned();
        until("the problem", || (told()?["problems"]["away"].as_u64()? > 0).then_some(()));
        let nodes = deployment.ask(&["nodes"]).expect(0).stdout;
        assert!(nodes.contains("alerts to http://127.0.0.1:") && nodes.contains("problems: "), "{nodes}");

        // It is resolved while Alertmanager is away, which hears of it once it is back.
        send(veth, 1002..1003);
        until("the resolution", || {
            let events = deployment.get("/events?query=who&kind=resolved")?;
            (!events["events"].as_array()?.is_empty()).then_some(())
        });
        assert!(hook.of("resolved").is_empty());
        let alertmanager = Alertmanager::start(&deployment.scratch, &hook, port).expect("it is installed");
        until("the notification", || hook.of("resolved").contains(&labels).then_some(()));
        assert_eq!(alertmanager.active(), Vec::<Value>::new());
        let counts = until("the counts", || told().filter(|told| told["resolved"] == 1));
        assert_eq!(counts["fault"], Value::Null);
        assert_eq!(counts["lost"], json!({}));
        for program in [&mut controller, &mut probe] {
            program.signal(libc::SIGTERM);
        }
        let said = controller.wait().expect(0).stderr;
        assert!(said.contains("takes alerts again"), "{said}");
        probe.wait().expect(0);
        drop(broker);
    });
}
