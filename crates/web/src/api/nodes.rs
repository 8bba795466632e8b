//! Lists of nodes.

use super::App;
use crate::failure::{ApiFailure, json_response};
use crate::parameters::Parameters;
use crate::responses::Nodes;
use crate::view::Status;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::view::{NodeState, NodeView};
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The numbers of nodes that may be asked for.
const LIMITS: RangeInclusive<u64> = 1..=10_000;

/// The states of nodes, the worst first, with their names.
const STATES: [(&str, NodeState); 6] = [
    ("down", NodeState::Down),
    ("late", NodeState::Late),
    ("unheard", NodeState::Unheard),
    ("never", NodeState::Never),
    ("ended", NodeState::Ended),
    ("up", NodeState::Up),
];

/// The orders that nodes may have, with their names.
const ORDERS: [(&str, Order); 4] =
    [("given", Order::Given), ("name", Order::Name), ("worst", Order::Worst), ("packets", Order::Packets)];

/// The order of nodes. Where two are alike, their names decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    /// The order in which the controller or the run was given them.
    #[default]
    Given,
    /// By name.
    Name,
    /// By state, the worst first, then by coverage, the least first.
    Worst,
    /// By the packets of their last window, the most first.
    Packets,
}

/// A question about nodes.
#[derive(Debug, Default, PartialEq)]
struct NodesAsked {
    site: Option<String>,
    /// The states that pass; all if there is none.
    states: Vec<NodeState>,
    order: Order,
    limit: Option<usize>,
    after: Option<String>,
}

pub(super) async fn list(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, ApiFailure> {
    let asked = asked(&uri)?;
    let status = app.hub.status();
    Ok(json_response(StatusCode::OK, serde_json::to_vec(&listed(&status, &asked)?)?))
}

/// Returns what the parameters ask.
fn asked(uri: &Uri) -> Result<NodesAsked, ApiFailure> {
    let parameters = Parameters::read(uri, &["site", "state", "sort", "limit", "after"])?;
    let limit = parameters.read_as("limit", notation::count)?;
    if limit.is_some_and(|limit| !LIMITS.contains(&limit)) {
        let (least, most) = (LIMITS.start(), LIMITS.end());
        return Err(ApiFailure::bad(format!("limit: it is {least} at least and {most} at most")));
    }
    let states = parameters
        .text("state")
        .map(|text| text.split(',').map(|text| known("state", text, &STATES)).collect::<Result<Vec<_>, _>>());
    Ok(NodesAsked {
        site: parameters.text("site").map(str::to_owned),
        states: states.transpose()?.unwrap_or_default(),
        order: parameters.text("sort").map_or(Ok(Order::default()), |text| known("sort", text, &ORDERS))?,
        limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        after: parameters.text("after").map(str::to_owned),
    })
}

/// Returns what has this name.
fn known<T: Copy>(parameter: &str, text: &str, names: &[(&str, T)]) -> Result<T, ApiFailure> {
    let found = names.iter().find(|(name, _)| *name == text).map(|(_, found)| *found);
    found.ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        ApiFailure::bad(format!("{parameter}: {text:?} is none of {}", names.join(", ")))
    })
}

/// Returns the nodes that are asked for.
fn listed<'a>(status: &'a Status, asked: &NodesAsked) -> Result<Nodes<'a>, ApiFailure> {
    let mut nodes: Vec<&NodeView> = status.nodes.iter().collect();
    match asked.order {
        Order::Given => {}
        Order::Name => nodes.sort_by(|one, other| one.name.cmp(&other.name)),
        Order::Worst => nodes.sort_by(|one, other| {
            let coverage = |node: &NodeView| node.coverage.unwrap_or(1.0);
            let worse = rank(one).cmp(&rank(other)).then(coverage(one).total_cmp(&coverage(other)));
            worse.then_with(|| one.name.cmp(&other.name))
        }),
        Order::Packets => nodes.sort_by(|one, other| {
            let packets = |node: &NodeView| Reverse(node.last.as_ref().map(|last| last.packets.received));
            packets(one).cmp(&packets(other)).then_with(|| one.name.cmp(&other.name))
        }),
    }
    if let Some(after) = &asked.after {
        // The place of a node that does not pass any more is known too.
        let at = nodes.iter().position(|node| node.name == *after);
        let at = at.ok_or_else(|| ApiFailure::bad(format!("after: there is no node {after:?}")))?;
        let passes = |node: &&NodeView| passes(node, asked);
        let total = nodes.iter().filter(|node| passes(node)).count();
        return Ok(page(nodes.drain(..).skip(at + 1).filter(passes).collect(), total, asked.limit));
    }
    nodes.retain(|node| passes(node, asked));
    let total = nodes.len();
    Ok(page(nodes, total, asked.limit))
}

fn rank(node: &NodeView) -> usize {
    STATES.iter().position(|(_, state)| *state == node.state).unwrap_or(STATES.len())
}

fn passes(node: &NodeView, asked: &NodesAsked) -> bool {
    let name = node.site.as_ref().and_then(|site| site.name.as_deref());
    let is_there = asked.site.as_deref().is_none_or(|site| name == Some(site));
    is_there && (asked.states.is_empty() || asked.states.contains(&node.state))
}

/// Returns the first of these nodes.
fn page(mut nodes: Vec<&NodeView>, total: usize, limit: Option<usize>) -> Nodes<'_> {
    let has_more = limit.is_some_and(|limit| nodes.len() > limit);
    nodes.truncate(limit.unwrap_or(usize::MAX));
    let next = nodes.last().filter(|_| has_more).map(|last| last.name.as_str());
    Nodes { nodes, total, next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::view::Site;
    use model::{Account, PacketCounts};

    fn status() -> Status {
        let node = |name: &str, state, site: Option<&str>, coverage, received: Option<u64>| NodeView {
            name: name.to_owned(),
            state,
            site: site.map(|name| Site { name: Some(name.to_owned()), at: None }),
            coverage,
            last: received.map(|received| Account {
                packets: PacketCounts { received, measured: received, ..PacketCounts::default() },
                loss: None,
            }),
            ..NodeView::default()
        };
        let nodes = vec![
            node("d", NodeState::Up, Some("Rome"), Some(0.9), Some(5)),
            node("b", NodeState::Down, Some("Oslo"), None, None),
            node("a", NodeState::Up, Some("Oslo"), Some(0.5), Some(7)),
            node("c", NodeState::Late, None, None, Some(7)),
        ];
        Status { nodes, ..Status::default() }
    }

    fn ask(query: &str) -> Result<(String, usize, Option<String>), String> {
        let uri: Uri = format!("/api/v1/nodes?{query}").parse().expect("an address");
        let status = status();
        let asked = asked(&uri).map_err(|failure| failure.error)?;
        let found = listed(&status, &asked).map_err(|failure| failure.error)?;
        let names = found.nodes.iter().map(|node| node.name.as_str()).collect();
        Ok((names, found.total, found.next.map(str::to_owned)))
    }

    #[test]
    fn nodes_are_chosen_ordered_and_listed_page_by_page() {
        for (query, names, total, next) in [
            ("", "dbac", 4, None),
            ("sort=name", "abcd", 4, None),
            ("sort=worst", "bcad", 4, None),
            ("sort=packets", "acdb", 4, None),
            ("site=Oslo", "ba", 2, None),
            ("state=up,late", "dac", 3, None),
            ("site=Oslo&state=up", "a", 1, None),
            ("site=Nowhere", "", 0, None),
            ("sort=name&limit=2", "ab", 4, Some("b")),
            ("sort=name&limit=2&after=b", "cd", 4, None),
            ("sort=name&limit=1&after=b", "c", 4, Some("c")),
            // The node after which it goes on need not pass.
            ("sort=name&state=up&after=b", "d", 2, None),
            ("after=c", "", 4, None),
        ] {
            let expected = (names.to_owned(), total, next.map(str::to_owned));
            assert_eq!(ask(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn pages_together_are_all_nodes() {
        for order in ORDERS.map(|(name, _)| name) {
            let (all, ..) = ask(&format!("sort={order}")).expect("all");
            let (mut joined, mut after) = (String::new(), String::new());
            loop {
                let (names, total, next) = ask(&format!("sort={order}&limit=1{after}")).expect("a page");
                assert_eq!(total, 4);
                joined += &names;
                let Some(next) = next else { break };
                after = format!("&after={next}");
            }
            assert_eq!(joined, all);
        }
    }

    #[test]
    fn what_cannot_be_asked_is_refused_in_one_line() {
        for (query, begin) in [
            ("state=dwon", "state: \"dwon\" is none of down, late,"),
            ("state=up,", "state: \"\" is none of"),
            ("sort=%0a", "sort: \"\\n\" is none of given,"),
            ("limit=0", "limit: it is 1 at least"),
            ("limit=10001", "limit: it is 1 at least and 10000 at most"),
            ("limit=-1", "limit: "),
            ("limit=x", "limit: "),
            ("after=x", "after: there is no node \"x\""),
            ("site=a&site=b", "site: it is there twice"),
            ("stat=up", "stat: there is no such parameter, did you mean state?"),
        ] {
            let error = ask(query).expect_err(query);
            assert!(error.starts_with(begin) && !error.contains('\n'), "{query}: {error}");
        }
    }
}
