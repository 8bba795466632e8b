//! `edison query --controller`: what the stores of all probes answer is what one store with all their rows answers, and who is missing is named.

use crate::support::deployment::{Broker, Deployment, send};
use crate::support::made_store;
use crate::support::output::{number, round};
use crate::support::program::{Ended, call};
use crate::support::schema;
use crate::support::scratch::text;
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use testbed::veth::{Veth, with_veth};

const NODES: &str = "\"near\", \"far\"";

/// Questions that each node answers for itself.
const OF_NODES: &[&str] = &[
    "select sum(total_byte) as b, sum(total_count) as n, count(*) as flows",
    "select src_port, sum(total_byte) as b, count(*) as n groupby src_port limit 1000",
    "select src_addr, dst_addr, min(stime) as begun, max(ltime) as ended groupby src_addr, dst_addr",
    "select src_port, sum(wire_byte) as b where src_port < 1020 groupby src_port having sum(wire_byte) > 0 order by src_port limit 7",
    "select dst_port, sum(total_count) as n, avg(total_byte) as a groupby dst_port every 1s",
    "select sum(total_count) as n where node_id = far every 1s over 3s",
];

/// The answers, one a line, each with its schema, in an order that does not depend on when they came.
fn answers(ended: &Ended) -> Vec<Value> {
    let mut answers: Vec<Value> = ended.stdout.lines().map(schema::of_line).collect();
    answers.iter_mut().for_each(round);
    answers.sort_by_key(|answer| {
        (answer["query"].to_string(), answer["window"].to_string(), answer["node"].to_string())
    });
    answers
}

/// Without what follows from the time that all rows cover, which is that of each store, and from when its rollups were made.
fn without_times(mut answers: Vec<Value>) -> Vec<Value> {
    for answer in answers.iter_mut().filter_map(Value::as_object_mut) {
        ["window", "watched", "levels"].iter().for_each(|member| drop(answer.remove(*member)));
    }
    answers.sort_by_key(|answer| answer["node"].to_string());
    answers
}

/// The first and the last window are cut, in each store for itself, and rows that were put into a store do not tell which times were watched.
fn without_status(mut answer: Value) -> Value {
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("status");
        answer.remove("coverage");
    }
    answer
}

/// Numbers by the first column of rows.
fn by_key(answers: &[&Value], column: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for row in answers.iter().flat_map(|answer| answer["rows"].as_array().expect("rows")) {
        *sums.entry(row["src_port"].to_string()).or_default() += number(&row[column]);
    }
    sums
}

/// The ends of the last windows of each node that have packets.
fn last_packets(answers: &[Value]) -> BTreeMap<String, String> {
    let has_packets =
        |answer: &&Value| answer["rows"].as_array().expect("rows").iter().any(|row| number(&row["n"]) != 0);
    let mut last = BTreeMap::new();
    for answer in answers.iter().filter(has_packets) {
        let end = answer["window"]["end"].as_str().expect("a time").to_owned();
        let known: &mut String = last.entry(answer["node"].to_string()).or_default();
        *known = known.clone().max(end);
    }
    last
}

#[test]
fn the_stores_of_all_probes_are_one() {
    with_veth(|veth| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let controller = deployment.controller_of(NODES, "all: select sum(total_count) as n every 1s;");
        let stores = ["near", "far"].map(|node| deployment.scratch.path(&format!("store-{node}")));
        let start = |node: &str, interface: &str, store: &Path| {
            deployment.probe_with(node, interface, &format!("store = \"{}\"\n", text(store)))
        };
        let near = start("near", Veth::NEAR, &stores[0]);
        let mut far = start("far", Veth::FAR, &stores[1]);
        until("both nodes", || (deployment.is_up("near") && deployment.is_up("far")).then_some(()));
        let counted = |store: &Path| {
            let asked = call(&["query", "--json", "--store", text(store), "select sum(total_count) as n"]);
            let line = asked.stdout.lines().next().map(schema::of_line);
            line.and_then(|answer| answer["rows"][0]["n"].as_u64()).unwrap_or(0)
        };
        // Some windows, and at last the rows of all in both stores.
        let mut sent = 0;
        for first in [1000, 1010, 1020] {
            send(veth, first..first + 20);
            sent += 20;
            until("the rows in the stores", || {
                let counted = [counted(&stores[0]), counted(&stores[1])];
                assert!(counted.iter().all(|counted| *counted <= sent), "{counted:?} of {sent}");
                (counted == [sent, sent]).then_some(())
            });
        }
        let ask = |options: &[&str]| deployment.ask(&[&["query", "--json"], options].concat());
        let whole = |question: &str| {
            // On a loaded machine a probe may be silent for a while.
            until("a whole answer", || {
                let ended = ask(&["-q", question]);
                assert_ne!(ended.code, Some(2), "{question}: {}", ended.stderr);
                (ended.code == Some(0)).then(|| answers(&ended))
            })
        };
        let of_nodes: Vec<Vec<Value>> = OF_NODES.iter().map(|question| whole(question)).collect();
        let merged = "select src_port, sum(total_byte) as b, count(*) as n, min(stime) as first groupby src_port limit 10";
        let across = whole(&format!("{merged} across nodes by sum"));
        let [across] = &across[..] else { panic!("{across:?}") };
        let windows =
            whole("select src_port, sum(total_count) as n groupby src_port every 1s across nodes by sum");
        let greatest =
            whole("select src_port, sum(total_count) as n groupby src_port limit 1000 across nodes by max");

        // What is wrong is said in the words of a text.
        ask(&["select sum(nothing)"]).says(2, &["query:1", "nothing"]);
        ask(&["select sum(total_byte) every 1500ms"]).says(2, &["query:1", "1500ms"]);
        ask(&["select sum(total_byte)", "--per", "1500ms"]).says(2, &["no multiple", "this deployment"]);
        ask(&["select count(*)", "--nodes", "fra"]).says(2, &["no node fra", "did you mean far"]);
        ask(&["select count(*)", "--from", "2026-01-02", "--to", "2026-01-01"])
            .says(2, &["the period is empty"]);
        ask(&["select count(*) when x.n > 1"]).says(2, &["query:1"]);
        ask(&["select entropy(dst_port) across nodes by sum"]).says(2, &["does not follow"]);
        ask(&["x.parquet", "select count(*)"]).says(2, &["x.parquet", "--controller"]);
        ask(&["--diff", "2026-01-01", "2026-01-02"]).says(2, &["--diff", "--controller"]);
        ask(&["select count(*)", "--time", "11min"]).says(2, &["10min"]);
        let none = until("an answer of no rows", || {
            // The store had not begun: that time is missing.
            let ended = ask(&["select count(*) as n last 1h", "--to", "2026-01-01", "--nodes", "near"]);
            (ended.code == Some(3)).then(|| answers(&ended))
        });
        assert_eq!((none.len(), &none[0]["node"]), (1, &"near".into()));

        // A first look, in text, of one node.
        let first = until("a first look", || {
            let ended = deployment.ask(&["query", "--nodes", "near", "--top", "3"]);
            (ended.code == Some(0)).then_some(ended.stdout)
        });
        assert!(first.contains("from rows"), "{first}");

        // A probe that has ended is named, and the others are answered.
        far.signal(libc::SIGTERM);
        far.wait().expect(0);
        until("its end", || (deployment.node("far")?["state"] == "ended").then_some(()));
        let partial = until("the answer of the other", || {
            let ended = ask(&["-q", OF_NODES[0]]);
            (!ended.stderr.contains("near:")).then_some(ended)
        });
        let partial = partial.says(3, &["far: no whole answer: ended"]);
        let found = without_times(answers(&partial));
        let is_of = |node: &'static str| move |answer: &&Value| answer["node"] == node;
        assert_eq!(
            found.iter().find(is_of("near")),
            without_times(of_nodes[0].clone()).iter().find(is_of("near"))
        );
        let missing = found.iter().find(is_of("far")).expect("an answer that says why");
        assert_eq!((&missing["status"], &missing["rows"]), (&"partial".into(), &Value::Array(Vec::new())));
        let lacking = until("the merged answer without it", || {
            let ended = ask(&["-q", &format!("{merged} across nodes by sum")]);
            (!ended.stderr.contains("near:")).then_some(ended)
        });
        let lacking = &answers(&lacking.says(3, &["far"]))[0];
        let reason = lacking["reason"].as_str().expect("a reason");
        assert!(lacking["status"] == "partial" && reason.starts_with("no answer of far (ended"), "{lacking}");
        // When it is there again, all is.
        let far = start("far", Veth::FAR, &stores[1]);
        assert_eq!(without_times(whole(OF_NODES[1])), without_times(of_nodes[1].clone()));
        drop((near, far, controller));

        // The same of one store that has the rows of both.
        let union = made_store::union(&deployment.scratch, &[&stores[0], &stores[1]]);
        let of_union = |question: &str| {
            answers(&call(&["query", "--json", "--store", text(&union), "-q", question]).expect(0))
        };
        for (question, found) in OF_NODES.iter().zip(of_nodes) {
            let (mut found, mut expected) = (found, of_union(question));
            if question.contains(" every ") {
                // Probes went on to watch when the question had been answered.
                let last = last_packets(&found);
                assert!(!last.is_empty(), "{question}");
                let is_before = |answer: &Value| {
                    let last = last.get(&answer["node"].to_string());
                    last.is_some_and(|last| {
                        answer["window"]["end"].as_str().is_some_and(|end| end <= &**last)
                    })
                };
                [&mut found, &mut expected].into_iter().for_each(|answers| answers.retain(is_before));
            }
            assert!(!expected.is_empty(), "{question}");
            // Each answer by itself.
            let windows =
                |answers: &[Value]| answers.iter().map(|answer| answer["window"].clone()).collect::<Vec<_>>();
            if question.contains(" every ") {
                assert_eq!(windows(&found), windows(&expected), "{question}");
            }
            let rows = |answers: Vec<Value>| {
                without_times(answers).into_iter().map(without_status).collect::<Vec<_>>()
            };
            assert_eq!(rows(found), rows(expected), "{question}");
        }
        let each = of_union(&merged.replace("limit 10", "limit 1000"));
        let each: Vec<&Value> = each.iter().collect();
        let rows = across["rows"].as_array().expect("rows");
        assert_eq!((rows.len(), &across["node"], &across["status"]), (10, &Value::Null, &"complete".into()));
        let (bytes, flows) = (by_key(&each, "b"), by_key(&each, "n"));
        let mut order: Vec<(u64, &String)> =
            bytes.iter().map(|(port, bytes)| (u64::MAX - bytes, port)).collect();
        order.sort();
        for (row, (bytes, port)) in rows.iter().zip(order) {
            let port = port.clone();
            let own = (row["src_port"].to_string(), number(&row["b"]), number(&row["n"]));
            assert_eq!(own, (port.clone(), u64::MAX - bytes, flows[&port]));
            let of_port = |row: &&Value| row["src_port"].as_u64() == port.parse().ok();
            let all = each.iter().flat_map(|answer| answer["rows"].as_array().expect("rows")).filter(of_port);
            assert_eq!(
                Some(&row["first"]),
                all.map(|row| &row["first"]).min_by_key(|first| first.to_string()).as_ref().copied()
            );
        }
        assert_eq!(number(&across["rest"]["groups"]), bytes.len() as u64 - 10);
        let counts = of_union("select src_port, sum(total_count) as n groupby src_port limit 1000");
        let counts: Vec<&Value> = counts.iter().collect();
        assert_eq!(by_key(&windows.iter().collect::<Vec<_>>(), "n"), by_key(&counts, "n"));
        let of_one = by_key(&counts[..1], "n");
        assert_eq!(by_key(&greatest.iter().collect::<Vec<_>>(), "n"), of_one, "both see the same frames");
    });
}
