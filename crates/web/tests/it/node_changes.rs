//! Streams that are told of the nodes alone that changed.

use crate::client::{Stream, get};
use crate::sample::{changes, hub, serve};
use model::view::{NodeState, NodeView};
use serde_json::{Value as Json, json, to_value};
use std::collections::BTreeMap;
use web::view::Status;

/// The status of this number of nodes, each with a number that may change.
fn status(seen_ns: &[u64]) -> Status {
    let node = |(number, seen_ns): (usize, &u64)| NodeView {
        name: format!("n{number}"),
        state: NodeState::Up,
        seen_ns: Some(*seen_ns),
        ..NodeView::default()
    };
    Status { nodes: seen_ns.iter().enumerate().map(node).collect(), ..Status::default() }
}

/// What a client knows of a status: it puts changes into it.
#[derive(Default)]
struct Known {
    nodes: BTreeMap<String, Json>,
    ended: Json,
}

impl Known {
    fn take(&mut self, name: &str, data: &Json) {
        if name == "status" {
            self.nodes.clear();
        } else if name != "changes" {
            return;
        }
        self.ended = data["ended"].clone();
        for node in data["nodes"].as_array().expect("nodes") {
            self.nodes.insert(node["name"].as_str().expect("a name").to_owned(), node.clone());
        }
    }

    fn is(&self, status: &Status) -> bool {
        let nodes = status.nodes.iter().map(|node| (node.name.clone(), to_value(node).expect("JSON")));
        self.nodes == nodes.collect() && self.ended == json!(status.ended)
    }
}

fn names(data: &Json) -> Vec<&str> {
    let nodes = data["nodes"].as_array().expect("nodes");
    nodes.iter().map(|node| node["name"].as_str().expect("a name")).collect()
}

#[test]
fn nodes_that_changed_are_told_alone() {
    let hub = hub();
    hub.set_status(status(&[1, 1, 1]));
    let server = serve(&hub);
    let mut stream = Stream::connect_for_changes(server.address());
    let mut whole = Stream::open(server.address());
    let mut known = Known::default();
    // All of it first.
    let (name, first) = stream.next().expect("a message");
    assert_eq!((&*name, names(&first)), ("status", vec!["n0", "n1", "n2"]));
    known.take(&name, &first);
    assert_eq!(stream.next().expect("a message").0, "queries");
    // Nothing changed.
    hub.set_status(status(&[1, 1, 1]));
    let last = Status { ended: true, ..status(&[1, 3, 3]) };
    for (next, expected) in [
        (status(&[1, 2, 1]), vec!["n1"]),
        (status(&[1, 3, 2]), vec!["n1", "n2"]),
        (Status { ended: true, ..status(&[1, 3, 2]) }, vec![]),
        (last.clone(), vec!["n2"]),
    ] {
        hub.set_status(next.clone());
        let (name, data) = stream.next().expect("a message");
        assert_eq!((&*name, names(&data)), ("changes", expected));
        known.take(&name, &data);
        assert!(known.is(&next));
        // Others are told all of it, as ever.
        let (name, data) = whole.next().expect("a message");
        assert_eq!((&*name, names(&data)), ("status", vec!["n0", "n1", "n2"]));
        assert_ne!(data["now"], "1970-01-01T00:00:00.000000000Z");
    }
    // Where the nodes are others, all of them are told.
    hub.set_status(status(&[1, 3]));
    let (name, data) = stream.next().expect("a message");
    assert_eq!((&*name, names(&data)), ("status", vec!["n0", "n1"]));
    // All else is told as ever.
    hub.publish(&changes()).expect("it is stored");
    assert_eq!(stream.next().expect("a message").0, "answer");
    for query in ["?nodes=some", "?nods=changes"] {
        assert_eq!(get(server.address(), &format!("/api/v1/stream{query}")).status, 400);
    }
}

/// A client that does not read misses changes: it is told all of it then, and knows in the end what there is.
#[test]
fn a_slow_client_is_told_the_whole_after_what_it_missed() {
    const NODES: usize = 400;
    let hub = hub();
    let mut seen = vec![0; NODES];
    hub.set_status(status(&seen));
    let server = serve(&hub);
    let mut slow = Stream::connect_for_changes(server.address());
    let mut last = status(&seen);
    // Each node changes, in turns of half of them: more than sockets and the backlog hold.
    for turn in 1..300_u64 {
        seen.iter_mut().skip(turn as usize % 2).step_by(2).for_each(|seen| *seen = turn);
        last = status(&seen);
        hub.set_status(last.clone());
    }
    last.ended = true;
    hub.set_status(last.clone());
    let (mut known, mut lagged) = (Known::default(), 0);
    while !known.is(&last) {
        let (name, data) = slow.next().expect("a message");
        if name == "lagged" {
            lagged += 1;
            let (name, data) = slow.next().expect("a message");
            assert_eq!((&*name, names(&data).len()), ("status", NODES));
            known.take(&name, &data);
            continue;
        }
        known.take(&name, &data);
    }
    assert!(lagged > 0, "nothing was missed");
}
