//! Probes, a broker and a controller as programs of their own, on a link that the test makes.

use crate::support::deployment::{Broker, Deployment, send};
use crate::support::program::{Running, edison, run};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::BTreeMap;
use testbed::veth::{Veth, with_veth};

const CHAIN: &str = "all: select sum(total_count) as n every 1s;\n\
    who: select src_port, sum(total_count) as n where node_id = far groupby src_port limit 5 every 1s when all.n > 1000;";

fn number_of_seconds(windows: &BTreeMap<String, u64>) -> u64 {
    let second = |time: &String| {
        let part = |from: usize, to: usize| time[from..to].parse::<u64>().expect("a number");
        (part(8, 10) * 24 + part(11, 13)) * 3600 + part(14, 16) * 60 + part(17, 19)
    };
    let (first, last) =
        (windows.keys().next().expect("a window"), windows.keys().next_back().expect("a window"));
    second(last) - second(first) + 1
}

#[test]
fn nothing_is_lost_or_doubled_while_broker_and_controller_die() {
    with_veth(|veth| {
        let deployment = Deployment::new();
        let nodes = "\"near\", \"far\"";
        let mut controller = deployment.controller_of(nodes, CHAIN);
        let (mut near, mut far) = (deployment.probe("near", Veth::NEAR), deployment.probe("far", Veth::FAR));
        // The broker is away at first: all say so, and go on.
        for program in [&mut controller, &mut near, &mut far] {
            let away = |program: &Running| program.said().iter().any(|line| line.contains("is away"));
            assert!(program.wait_for("the word that the broker is away", away), "{:?}", program.said());
        }
        let broker = Broker(&deployment);
        deployment.broker("start");
        until("both nodes", || (deployment.is_up("near") && deployment.is_up("far")).then_some(()));
        for program in [&mut controller, &mut near, &mut far] {
            let back = |program: &Running| program.said().iter().any(|line| line.contains("is back"));
            assert!(program.wait_for("the word that the broker is back", back), "{:?}", program.said());
        }

        // A list is applied between windows: the first answers say that it is.
        for node in ["near", "far"] {
            until("its first answer", || (!deployment.windows("all", node).is_empty()).then_some(()));
        }
        let counted = |query: &str, node: &str| deployment.windows(query, node).values().sum::<u64>();
        let all = |sent: u64| {
            until("all frames in answers", || {
                let counted = [counted("all", "near"), counted("all", "far")];
                assert!(counted.iter().all(|counted| *counted <= sent), "{counted:?} of {sent}");
                (counted == [sent, sent]).then_some(())
            });
        };
        send(veth, 1000..1100);
        all(100);
        deployment.broker("kill");
        send(veth, 1100..1200);
        until("the word of it", || (deployment.get("/status")?["broker"]["state"] == "away").then_some(()));
        deployment.broker("start");
        all(200);
        // A second one waits, with the same settings, and takes over.
        let mut standby = deployment.controller_of(nodes, CHAIN);
        let waits = |program: &Running| program.said().iter().any(|line| line.contains("this one waits"));
        assert!(standby.wait_for("the word that it waits", waits), "{:?}", standby.said());
        controller.signal(libc::SIGKILL);
        drop(controller);
        send(veth, 1200..1300);
        all(300);
        let mut controller = standby;
        assert!(controller.said().iter().any(|line| line.contains("takes over")), "{:?}", controller.said());
        until("both nodes again", || (deployment.is_up("near") && deployment.is_up("far")).then_some(()));
        // A flood, which starts a query.
        let story = until("a story", || {
            send(veth, 2000..4000);
            let stories = deployment.get("/stories")?;
            stories["stories"].as_array()?.iter().find_map(|story| {
                let text = story["text"].as_str()?;
                text.contains("Therefore who ran on far").then(|| (story["id"].clone(), text.to_owned()))
            })
        });

        // Every window is there, and every frame in one.
        for node in ["near", "far"] {
            let windows = deployment.windows("totals", node);
            assert_eq!(windows.len() as u64, number_of_seconds(&windows), "{node}: {windows:?}");
        }
        let status = deployment.get("/status").expect("a controller");
        assert_eq!(
            (&status["windows"]["lost"], &status["refused"]),
            (&Value::from(0), &serde_json::json!({}))
        );
        for node in status["nodes"].as_array().expect("nodes") {
            let packets = &node["packets"];
            assert_eq!(packets["received"], packets["measured"], "{packets}");
            assert_eq!(node["coverage"], 1.0);
        }

        // The commands say what the API has.
        let nodes = deployment.ask(&["nodes"]).expect(0).stdout;
        assert!(
            nodes.contains("near") && nodes.contains("applied") && nodes.contains("windows: "),
            "{nodes}"
        );
        let events = deployment.ask(&["events", "--query", "who"]).expect(0).stdout;
        assert!(events.contains("who fired"), "{events}");
        let id = story.0.as_str().expect("a text");
        assert_eq!(deployment.ask(&["story", id]).expect(0).stdout, story.1);
        deployment.ask(&["story", "0000"]).says(2, &["0000"]);
        let queries = deployment.ask(&["queries"]).expect(0).stdout;
        assert!(queries.contains("when all.n > 1000"), "{queries}");
        let added =
            deployment.ask(&["add", "-q", "more: select count(*) as flows every 1s"]).expect(0).stdout;
        assert_eq!(added, "added: more\n");
        until("its answer", || (!deployment.windows("more", "near").is_empty()).then_some(()));
        deployment.ask(&["add", "-q", "more: select count(*)"]).says(2, &["more", "taken"]);
        deployment.ask(&["add", "-q", "x: select sum(nothing)"]).says(2, &["nothing"]);
        deployment.ask(&["cancel", "all"]).says(2, &["all starts who"]);
        deployment.ask(&["cancel", "mroe"]).says(2, &["did you mean more"]);

        // It ends well, and what was added is there again.
        controller.signal(libc::SIGTERM);
        controller.wait().expect(0);
        deployment.ask(&["nodes"]).says(1, &["does not answer"]);
        let controller = deployment.controller_of("\"near\", \"far\"", CHAIN);
        until("the query again", || {
            deployment.get("/queries")?["queries"]
                .as_array()?
                .iter()
                .any(|query| query["name"] == "more")
                .then_some(())
        });
        assert_eq!(deployment.ask(&["cancel", "more"]).expect(0).stdout, "removed: more\n");
        for mut probe in [near, far] {
            probe.signal(libc::SIGTERM);
            let said = probe.wait().expect(0).stderr;
            assert!(said.contains(" 0 not measured") && !said.contains("not delivered"), "{said}");
        }
        until("their ends", || (deployment.node("near")?["state"] == "ended").then_some(()));
        drop(controller);
        drop(broker);
    });
}

#[test]
fn a_probe_that_starts_while_the_controller_is_away_answers_from_its_first_window_on() {
    with_veth(|veth| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let queries = "all: select sum(total_count) as n every 1s;";
        let mut controller = deployment.controller_of("\"near\"", queries);
        let spool = deployment.scratch.path("near.spool");
        let tasks = deployment.scratch.path("near.spool.tasks");
        let settings = format!("spool-file = \"{}\"\n", text(&spool));
        let start = || {
            let mut probe = deployment.probe_with("near", Veth::NEAR, &settings);
            let measures = |probe: &Running| probe.said().iter().any(|line| line.contains("near measures"));
            assert!(probe.wait_for("the word that it measures", measures), "{:?}", probe.said());
            probe
        };
        let mut probe = start();
        until("its first answer", || (!deployment.windows("all", "near").is_empty()).then_some(()));
        let counted = || deployment.windows("all", "near").values().sum::<u64>();
        send(veth, 1000..1100);
        until("all frames", || (counted() == 100).then_some(()));
        until("the list in its file", || tasks.exists().then_some(()));
        controller.signal(libc::SIGTERM);
        controller.wait().expect(0);
        // Nobody can tell it what to answer.
        probe.signal(libc::SIGKILL);
        drop(probe);
        let probe = start();
        let said = probe.said();
        assert!(said.iter().any(|line| line.contains("goes on: 1 standing task")), "{said:?}");
        send(veth, 1100..1200);
        let controller = deployment.controller_of("\"near\"", queries);
        until("the frames of the start without a controller", || {
            let counted = counted();
            assert!(counted <= 200, "{counted} of 200");
            (counted == 200).then_some(())
        });
        until("the node", || deployment.is_up("near").then_some(()));
        assert_eq!(deployment.get("/status").expect("a controller")["refused"], serde_json::json!({}));
        // What is damaged is named, and the next list is kept again.
        drop(probe);
        std::fs::write(&tasks, b"no list").expect("own file");
        let probe = start();
        let said = probe.said();
        assert!(said.iter().any(|line| line.contains("near.spool.tasks is not taken: damaged")), "{said:?}");
        until("the list in its file", || (std::fs::read(&tasks).ok()? != b"no list").then_some(()));
        drop((probe, controller));
    });
}

#[test]
fn strangers_are_refused_by_name() {
    with_veth(|_| {
        let deployment = Deployment::new();
        let broker = Broker(&deployment);
        deployment.broker("start");
        let nodes = "\"<img src=x onerror=alert(1)>\", \"near\"";
        let controller = deployment.controller_of(nodes, "all: select sum(total_count) as n every 1s;");
        until("the controller", || deployment.get("/status"));
        // Its queue is there when the controller has declared it.
        let known = deployment.probe("near", Veth::NEAR);
        until("the node", || (deployment.node("near")?["state"] == "up").then_some(()));
        let stranger = deployment.probe("stranger", Veth::FAR);
        until("the refusal", || {
            deployment.get("/status")?["refused"]["unknown_node"].as_u64().filter(|count| *count > 2)
        });
        let names = deployment.get("/nodes").expect("nodes");
        assert_eq!(names["nodes"][0]["name"], "<img src=x onerror=alert(1)>");
        assert_eq!(names["nodes"][0]["state"], "never");
        drop((controller, known, stranger, broker));
    });
}

#[test]
fn settings_that_are_wrong_are_named() {
    let scratch = Scratch::new();
    let broker = "broker = \"amqp://127.0.0.1:5672\"\n";
    for (settings, words) in [
        ("node = \"a\"\n", vec!["broker", "is missing"]),
        ("broker = \"amqps://127.0.0.1\"\n", vec!["broker", "'ca' is missing"]),
        (&format!("{broker}ca = \"{}\"\n", text(&scratch.path("missing.pem"))), vec!["'ca'", "missing.pem"]),
        ("broker = \"http://127.0.0.1\"\n", vec!["broker", "amqp://"]),
        (&format!("{broker}interfase = [\"lo\"]\n"), vec!["interfase", "did you mean 'interface'"]),
        (&format!("{broker}synthetic = \"packets=1\"\n"), vec!["synthetic"]),
        (&format!("{broker}query = \"select count(*)\"\n"), vec!["query", "the controller says"]),
        (&format!("{broker}every = \"1Mp\"\ninterface = [\"lo\"]\n"), vec!["every", "1s"]),
        (&format!("{broker}interface = [\"nothing0\"]\n"), vec!["nothing0"]),
        (&format!("{broker}spool = \"much\"\n"), vec!["spool", "much"]),
        ("broker = 5\nbroker = 6\n", vec!["line", "duplicate key"]),
    ] {
        let file = scratch.file("probe.toml", settings);
        run(edison().args(["probe", "--config", text(&file)])).says(2, &words);
    }
    let nodes = "nodes = [\"a\"]\n";
    let state = format!("state = \"{}\"\n", text(&scratch.path("state.db")));
    let wrong = scratch.file("wrong.eq", "q: select sum(nothing);");
    for (settings, words) in [
        (nodes.to_owned(), vec!["broker", "is missing"]),
        (broker.to_owned(), vec!["nodes", "is missing"]),
        (format!("{broker}nodes = [\"a\", \"a\"]\n"), vec!["nodes", "twice"]),
        (format!("{broker}nodes = [\"\"]\n"), vec!["nodes", "characters"]),
        (format!("{broker}{nodes}evry = \"1s\"\n"), vec!["evry", "did you mean 'every'"]),
        (format!("{broker}{nodes}every = \"1ms\"\n"), vec!["every", "100 ms"]),
        (format!("{broker}{nodes}listen = \"here\"\n"), vec!["listen", "here"]),
        (format!("{broker}{nodes}{state}listen = \"0.0.0.0:0\"\n"), vec!["beyond loopback"]),
        (format!("{broker}{nodes}{state}queries = [\"{}\"]\n", text(&wrong)), vec!["wrong.eq:1", "nothing"]),
        (format!("{broker}{nodes}{state}queries = [\"missing.eq\"]\n"), vec!["missing.eq"]),
        (format!("{broker}{nodes}state = \"{}\"\n", text(&wrong)), vec!["wrong.eq"]),
    ] {
        let file = scratch.file("controller.toml", settings);
        run(edison().args(["controller", "--config", text(&file)])).says(2, &words);
    }
    run(edison().args(["nodes", "--controller", "ftp://x"])).says(2, &["http://"]);
}
