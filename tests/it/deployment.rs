//! Probes, a broker and a controller as programs of their own, on a link that the test makes.

use crate::support::deployment::{Broker, Deployment, send};
use crate::support::program::{Running, edison, run};
use crate::support::scratch::{Scratch, text};
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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
        let site = "site = \"Chicago\"\nat = \"41.88,-87.63\"\n";
        let mut near = deployment.probe_with("near", Veth::NEAR, site);
        let mut far = deployment.probe("far", Veth::FAR);
        // The broker is away at first: all say so, and go on.
        for program in [&mut controller, &mut near, &mut far] {
            let away = |program: &Running| program.said().iter().any(|line| line.contains("is away"));
            assert!(program.wait_for("the word that the broker is away", away), "{:?}", program.said());
        }
        let ready = deployment.api().replace("/api/v1", "/readyz");
        let ready = ureq::get(ready).config().http_status_as_error(false).build().call();
        let mut ready = ready.expect("an answer");
        let body: Value =
            serde_json::from_str(&ready.body_mut().read_to_string().expect("a text")).expect("JSON");
        let away = serde_json::json!({"status": "not_ready", "faults": ["broker_away"]});
        assert_eq!((ready.status().as_u16(), body), (503, away));
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
                let title = story["title"].as_str()?;
                text.contains("Therefore who ran on far")
                    .then(|| (story["id"].clone(), format!("{title}\n{text}")))
            })
        });

        // Every window is there, and every frame in one.
        for node in ["near", "far"] {
            let windows = deployment.windows("totals", node);
            assert_eq!(windows.len() as u64, number_of_seconds(&windows), "{node}: {windows:?}");
        }
        let status = deployment.get("/status").expect("a controller");
        let sites: Vec<&Value> =
            status["nodes"].as_array().into_iter().flatten().map(|node| &node["site"]).collect();
        let chicago = serde_json::json!({"name": "Chicago", "at": {"latitude": 41.88, "longitude": -87.63}});
        assert_eq!(sites, [&chicago, &Value::Null]);
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
        let nodes = until("the nodes, all of them up", || {
            let ended = deployment.ask(&["nodes"]);
            (ended.code == Some(0)).then_some(ended.stdout)
        });
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

/// A probe that was killed leaves windows that never came: they are counted, lower the coverage, and are known to the next controller too.
#[test]
fn what_a_killed_probe_missed_is_told_everywhere_and_outlasts_the_controller() {
    with_veth(|_| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let queries = CHAIN.replace("= far", "= near");
        let mut controller = deployment.controller_of("\"near\"", &queries);
        let mut probe = deployment.probe("near", Veth::NEAR);
        until("the node", || deployment.is_up("near").then_some(()));
        until("an answer", || (!deployment.windows("all", "near").is_empty()).then_some(()));
        probe.signal(libc::SIGKILL);
        drop(probe);
        until("its end", || (deployment.node("near")?["state"] == "down").then_some(()));
        let down = deployment.ask(&["nodes"]).expect(3).stdout;
        assert!(down.contains("down"), "{down}");
        assert_eq!(deployment.ask(&["nodes", "--json"]).code, Some(3));

        let probe = deployment.probe("near", Veth::NEAR);
        let missing = |node: &Value| node["missing"][0]["windows"].as_u64();
        let node =
            until("what is missing", || deployment.node("near").filter(|node| missing(node).is_some()));
        let windows = missing(&node).expect("a number");
        assert!(windows >= 6, "{node}");
        let gap = &node["gaps"][0];
        assert_eq!((&gap["reason"], &node["missing"][0]["reason"]), (&"not_sent".into(), &"not_sent".into()));
        assert_eq!(node["missing"][0]["seconds"].as_f64(), Some(windows as f64));
        assert!(node["watched"].as_f64().is_some_and(|watched| watched < 1.0), "{node}");
        let labels = "{node=\"near\",reason=\"not_sent\"}";
        for name in ["edison_node_missing_windows_total", "edison_node_missing_seconds_total"] {
            let number = deployment.metric(&format!("{name}{labels}"));
            assert_eq!(number, Some(windows.to_string()), "{name}");
        }
        let shown = deployment.ask(&["nodes"]).stdout;
        assert!(
            !shown.contains("100.00 %") && shown.contains(&format!("missing: {windows} not_sent")),
            "{shown}"
        );

        let undecided = |program: &Running| {
            program
                .said()
                .iter()
                .any(|line| line.contains("who: all.n > 1000: some windows do not decide it"))
        };
        assert!(controller.wait_for("the undecided condition", undecided), "{:?}", controller.said());

        // The probe is away for another while, and the controller is killed meanwhile.
        drop(probe);
        until("its end", || (deployment.node("near")?["state"] == "down").then_some(()));
        controller.signal(libc::SIGKILL);
        drop(controller);
        let controller = deployment.controller_of("\"near\"", &queries);
        let known = until("the node", || deployment.node("near"));
        assert_eq!((&known["gaps"][0], missing(&known)), (gap, Some(windows)));
        let probe = deployment.probe("near", Veth::NEAR);
        let more =
            until("the second time", || deployment.node("near").filter(|node| missing(node) > Some(windows)));
        assert!(
            missing(&more) >= Some(windows + 6)
                && more["gaps"].as_array().is_some_and(|gaps| gaps.len() == 2),
            "{more}"
        );
        drop((probe, controller));
    });
}

/// While a broker hangs, its connections stay: no node is down, for none can be heard.
#[test]
fn a_broker_that_hangs_is_no_fault_of_a_probe() {
    with_veth(|_| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let _controller = deployment.controller_of("\"near\"", "all: select sum(total_count) as n every 1s;");
        let _probe = deployment.probe("near", Veth::NEAR);
        until("the node", || deployment.is_up("near").then_some(()));
        let pid = std::fs::read_to_string(deployment.scratch.path("broker").join("pid")).expect("a process");
        let signal = |name: &str| {
            run(std::process::Command::new("kill").args([name, pid.trim()])).expect(0);
        };
        signal("-STOP");
        let since = std::time::Instant::now();
        let (mut states, mut faults) = (BTreeSet::new(), BTreeSet::new());
        // Longer than it takes until the connections are given up.
        until("twenty seconds", || {
            let state = deployment.node("near")?["state"].as_str()?.to_owned();
            states.insert(state);
            let status = deployment.get("/status")?;
            let begun = status["faults"].as_array()?.iter().filter(|fault| fault["until"].is_null());
            faults.extend(begun.filter_map(|fault| Some(fault["fault"].as_str()?.to_owned())));
            (since.elapsed() > std::time::Duration::from_secs(20)).then_some(())
        });
        signal("-CONT");
        assert!(states.contains("unheard") && !states.contains("down"), "{states:?}");
        assert_eq!(faults, ["broker_away", "broker_blocked"].map(str::to_owned).into());
        until("the node", || deployment.is_up("near").then_some(()));
    });
}

/// A controller that cannot store, or whose broker takes no messages, says so, when it begins and when it is over; it calls no probe down.
#[test]
fn a_controller_tells_of_its_own_faults_and_blames_no_probe() {
    with_veth(|_| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let script = r#"trap '' XFSZ; exec "$@""#;
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_edison")]);
        let queries = "all: select sum(total_count) as n every 1s;";
        let mut controller =
            Running::start(deployment.controller_command(&mut command, "\"near\"", queries, ""));
        let probe = deployment.probe("near", Veth::NEAR);
        until("the node", || deployment.is_up("near").then_some(()));
        until("an answer", || (!deployment.windows("all", "near").is_empty()).then_some(()));
        let pid = controller.child.id().to_string();
        let limit = |bytes: &str| {
            let limit = format!("--fsize={bytes}");
            assert!(run(std::process::Command::new("prlimit").args(["--pid", &pid, &limit])).code == Some(0));
        };
        let fault = |name: &str| {
            let status = deployment.get("/status")?;
            let all = status["faults"].as_array()?.clone();
            all.into_iter().rfind(|fault| fault["fault"] == name)
        };
        let ready = || ureq::get(deployment.api().replace("/api/v1", "/readyz")).call().is_ok();
        let memory = |share: &str| deployment.ctl(&["set_vm_memory_high_watermark", share]);
        let kinds: [(&str, &dyn Fn(bool)); 2] = [
            // A limit on the size of files fails writes as a full disk does.
            ("archive", &|begins| limit(if begins { "4096:unlimited" } else { "unlimited" })),
            ("broker_blocked", &|begins| memory(if begins { "0.0000001" } else { "0.9" })),
        ];
        for (name, set) in kinds {
            set(true);
            until(name, || (fault(name)?["until"].is_null()).then_some(()));
            until("the state of the node", || (deployment.node("near")?["state"] == "unheard").then_some(()));
            // Longer than a node may be silent.
            let since = std::time::Instant::now();
            until("ten seconds", || {
                assert_eq!(deployment.node("near").expect("a node")["state"], "unheard", "{name}");
                (since.elapsed() > std::time::Duration::from_secs(10)).then_some(())
            });
            assert_eq!(
                deployment.metric(&format!("edison_controller_fault{{fault=\"{name}\"}}")).as_deref(),
                Some("1")
            );
            assert_eq!(deployment.metric("edison_node_up{node=\"near\"}"), None, "{name}");
            assert!(!ready(), "{name}");
            let shown = deployment.ask(&["nodes"]).expect(3).stdout;
            assert!(
                shown.contains(&format!("own fault {name} since")) && shown.contains("unheard"),
                "{shown}"
            );
            set(false);
            until("its end", || (!fault(name)?["until"].is_null()).then_some(()));
            until("the node", || deployment.is_up("near").then_some(()));
            assert_eq!(
                deployment.metric(&format!("edison_controller_fault{{fault=\"{name}\"}}")).as_deref(),
                Some("0")
            );
            let shown = deployment.ask(&["nodes"]).stdout;
            assert!(shown.contains(&format!("own fault {name} is over")), "{shown}");
        }
        let said = controller.said();
        for words in
            ["it can be stored", "is stored again, after ", "it takes no messages now", "is back, after "]
        {
            assert!(said.iter().any(|line| line.contains(words)), "{words}: {said:?}");
        }
        // Nothing was lost: each second has its window.
        let windows = deployment.windows("totals", "near");
        assert_eq!(windows.len() as u64, number_of_seconds(&windows), "{windows:?}");
        assert_eq!(deployment.node("near").expect("a node")["missing"], serde_json::json!([]));

        // What ends other programs silently is said.
        controller.signal(libc::SIGHUP);
        let hears =
            |program: &Running| program.said().iter().any(|line| line.contains("SIGHUP changes nothing"));
        assert!(controller.wait_for("the word", hears), "{:?}", controller.said());
        let mut probe = probe;
        probe.signal(libc::SIGHUP);
        assert!(probe.wait_for("the word", hears), "{:?}", probe.said());
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
        (&format!("{broker}spool = \"much\"\n"), vec!["probe.toml: ", "spool", "much"]),
        (&format!("{broker}spool = \"1k\"\n"), vec!["probe.toml: 'spool'", "1MiB"]),
        (&format!("{broker}top = 4\n"), vec!["probe.toml: --top", "the controller says"]),
        (&format!("{broker}duration = \"5s\"\n"), vec!["probe.toml: --duration", "until it is told to end"]),
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
    // Each key is an option and a variable too, and what is wrong with one is said of where it was given.
    let given = ["probe", "--broker", "amqp://127.0.0.1:5672", "-i", "lo"];
    run(edison().args(given).env("EDISON_SPOOL", "1k")).says(2, &["EDISON_SPOOL: 'spool'"]);
    run(edison().args(given).env("EDISON_PER", "1s")).says(2, &["EDISON_PER: --per in a probe"]);
    run(edison().args(given).args(["-q", "select count(*)"])).says(2, &["error: --query in a probe"]);
    let given = ["controller", "--broker", "amqp://127.0.0.1:5672", "--nodes", "a,a"];
    run(edison().args(given)).says(2, &["error: 'nodes': a is there twice"]);
    run(edison().args(&given[..3]).env("EDISON_NODES", "a,a"))
        .says(2, &["EDISON_NODES: 'nodes': a is there twice"]);
}
