//! Dry runs over the stores of probes: what fired live fires when it is played, and who remembers nothing is named.

use crate::support::deployment::{Broker, Deployment, send};
use crate::support::scratch::text;
use crate::support::waiting::until;
use serde_json::Value;
use std::collections::BTreeSet;
use testbed::veth::{Veth, with_veth};

const CHAIN: &str = "all: select sum(total_count) as n where node_id = near every 1s;\n\
    who: select src_port, sum(total_count) as n where node_id = far groupby src_port limit 5 every 1s when all.n > 1000;\n\
    sum: select sum(total_count) as n every 1s across nodes by sum;\n\
    both: select count(*) as flows every 1s when sum.n > 2000;";

/// What the controller answers to a text that is played from a time on.
fn played(deployment: &Deployment, from: &str, chain: &str) -> Value {
    let path = format!("{}/dry-run?from={from}", deployment.api());
    let request = ureq::post(path).config().http_status_as_error(false).build();
    let answer = request.send(chain).expect("an answer").into_body().read_to_string().expect("a text");
    serde_json::from_str(&answer).expect("JSON")
}

fn fired(events: &Value) -> BTreeSet<String> {
    let fired = events.as_array().expect("events").iter().filter(|event| event["kind"] == "fired");
    fired.map(|event| event["event"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn what_fired_live_fires_when_it_is_played() {
    with_veth(|veth| {
        let deployment = Deployment::new();
        let _broker = Broker(&deployment);
        deployment.broker("start");
        let controller = deployment.controller_of("\"near\", \"far\", \"none\"", CHAIN);
        let stores = ["near", "far"].map(|node| deployment.scratch.path(&format!("store-{node}")));
        let probe = |node: &str, interface: &str, store| {
            deployment.probe_with(node, interface, &format!("store = \"{}\"\n", text(store)))
        };
        let near = probe("near", Veth::NEAR, &stores[0]);
        let far = probe("far", Veth::FAR, &stores[1]);
        until("both nodes", || (deployment.is_up("near") && deployment.is_up("far")).then_some(()));
        until("an answer", || (!deployment.windows("all", "near").is_empty()).then_some(()));
        let from =
            deployment.get("/status").expect("a controller")["started"].as_str().expect("a time").to_owned();
        // Floods, until both queries have fired.
        until("events of both", || {
            send(veth, 2000..4000);
            let events = deployment.get("/events?kind=fired&limit=1000")?;
            let queries: BTreeSet<String> =
                events["events"].as_array()?.iter().map(|event| event["query"].to_string()).collect();
            (queries.len() == 2).then_some(())
        });
        // Stores have what was measured a little later, and what happens last is told by either first.
        let run = until("the same firings", || {
            let live = fired(&deployment.get("/events?limit=1000")?["events"]);
            let run = played(&deployment, &from, CHAIN);
            assert!(run["error"].is_null(), "{run}");
            (fired(&run["events"]) == live && !live.is_empty()).then_some(run)
        });
        let node = |name: &str| {
            let nodes = run["nodes"].as_array().expect("nodes");
            nodes.iter().find(|node| node["name"] == name).expect("a node").clone()
        };
        assert!(node("near")["windows"].as_u64() > Some(0) && node("near")["missing"].is_null(), "{run}");
        let none = node("none")["missing"].as_str().unwrap_or_default().to_owned();
        assert!(none.starts_with("never_seen"), "{none}");
        // Nothing was installed, and another threshold is another answer.
        assert_eq!(deployment.get("/queries").expect("queries")["queries"].as_array().map(Vec::len), Some(4));
        let higher = CHAIN.replace("all.n > 1000", "all.n > 1000000000");
        let run = played(&deployment, &from, &higher);
        let of_who = run["events"].as_array().expect("events").iter().filter(|event| event["query"] == "who");
        assert_eq!(of_who.count(), 0, "{run}");
        drop((controller, near, far));
    });
}
