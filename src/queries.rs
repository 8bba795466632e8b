//! The queries whose answers the screen, `--json` and `--report` contain without a request.

use packet::KeySpec;
use task::rows::{Aggregate, Comparison, GroupField, Item, Literal, Order, Over, Predicate, RowQuery};

/// What determines the standing queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingOptions {
    /// The definition of flows.
    pub(crate) key: KeySpec,
    /// Losses are tracked.
    pub(crate) tracks_loss: bool,
    /// Rows of an answer; without any there are no rankings.
    pub(crate) top: usize,
    /// Answers of each window are shown.
    pub(crate) of_windows: bool,
    /// Answers over the run are shown.
    pub(crate) of_run: bool,
}

/// Fields of losses, in the order of the columns.
const LOSSES: [&str; 9] = [
    "ploss_byte",
    "ploss_count",
    "reorder_count",
    "retrans_count",
    "retrans_byte",
    "unseen_byte",
    "zero_window_count",
    "hole_count",
    "resync_count",
];

/// The order of flows with losses: by all their bytes that were lost, sent again or not seen.
const LOST: [&str; 3] = ["ploss_byte", "retrans_byte", "unseen_byte"];

/// The queries.
pub(crate) fn standing(asked: &StandingOptions) -> Vec<RowQuery> {
    let mut queries = Vec::new();
    if asked.of_windows {
        queries.extend(of(asked, Over::Window));
    }
    if asked.of_run {
        queries.extend(of(asked, Over::Run));
        if asked.top != 0 {
            queries.extend(overview(asked));
        }
    }
    queries
}

/// What a stranger to the traffic wants to know first of a run, as far as the definition of flows tells it: who sends and receives,
/// with whom, by which services, and who contacts many others or is contacted by many.
fn overview(asked: &StandingOptions) -> impl Iterator<Item = RowQuery> + '_ {
    let by_bytes = |name, group: &[&str]| {
        let items = [Item::count("flows")].into_iter().chain(sums()).collect();
        ranking(asked, name, Over::Run, group.iter().copied().map(GroupField::of).collect(), items, 2)
    };
    let by_peers = |name, group, peers, peer: &str| {
        let distinct =
            Item { aggregate: Aggregate::CountDistinct(peer.to_owned()), name: String::from(peers) };
        let items = [distinct, Item::count("flows")].into_iter().chain(sums()).collect();
        let mut query = ranking(asked, name, Over::Run, vec![GroupField::of(group)], items, 0);
        query.order.push(Order { item: 1, descending: true });
        query
    };
    let has =
        |members: &[&str]| members.iter().all(|member| asked.key.columns().any(|column| column == *member));
    let addresses = has(&["src_addr", "dst_addr"]);
    let [source, destination] = ["src_addr", "dst_addr"].map(|member| asked.key.prefix_lengths(member));
    let are_whole = [source, destination] == [Some([32, 128]); 2];
    let ports = has(&["src_port", "dst_port", "protocol"]);
    [
        (addresses && source == destination, by_bytes("hosts", &["addr"])),
        (are_whole && ports, by_bytes("conversations", &["conversation"])),
        (ports, by_bytes("ports", &["protocol", "port"])),
        (has(&["protocol"]), by_bytes("protocols", &["protocol"])),
        (addresses, by_peers("scanners", "src_addr", "destinations", "dst_addr")),
        (addresses, by_peers("targets", "dst_addr", "sources", "src_addr")),
    ]
    .into_iter()
    .filter_map(|(is_possible, query)| is_possible.then_some(query))
}

fn sums() -> [Item; 3] {
    ["total_count", "total_byte", "wire_byte"].map(Item::sum)
}

fn losses() -> impl Iterator<Item = Item> {
    let round_trip = |name: &str, aggregate| Item { aggregate, name: name.to_owned() };
    LOSSES.map(Item::sum).into_iter().chain([
        round_trip("rtt_min", Aggregate::Min("rtt_min".to_owned())),
        round_trip("rtt_avg", Aggregate::MeanRoundTrip),
    ])
}

fn ranking(
    asked: &StandingOptions,
    name: &str,
    over: Over,
    group: Vec<GroupField>,
    items: Vec<Item>,
    by: usize,
) -> RowQuery {
    RowQuery {
        name: name.to_owned(),
        filter: None,
        group,
        items,
        order: vec![Order { item: by, descending: true }],
        limit: Some(asked.top),
        over,
    }
}

/// Flows and losses, of windows or of the run.
fn of(asked: &StandingOptions, over: Over) -> Vec<RowQuery> {
    let key = || asked.key.columns().map(GroupField::of).collect();
    let mut queries = Vec::new();
    if asked.top != 0 {
        queries.push(ranking(asked, "top_bytes", over, key(), sums().into(), 1));
        queries.push(ranking(asked, "top_packets", over, key(), sums().into(), 0));
    }
    if asked.tracks_loss {
        let all = RowQuery {
            limit: None,
            order: Vec::new(),
            ..ranking(asked, "tcp_loss", over, Vec::new(), losses().collect(), 0)
        };
        queries.push(all);
    }
    if asked.tracks_loss && asked.top != 0 {
        let lost = Item {
            aggregate: Aggregate::SumOf(LOST.map(str::to_owned).to_vec()),
            name: "loss_byte".to_owned(),
        };
        let items = sums().into_iter().chain(losses()).chain([lost]).collect::<Vec<_>>();
        let last = items.len() - 1;
        let any = |field: &&str| Predicate::Compare {
            field: (*field).to_owned(),
            comparison: Comparison::Greater,
            value: Literal::Number(0),
        };
        let filter = Some(Predicate::Or(LOST.iter().map(any).collect()));
        queries.push(RowQuery { filter, ..ranking(asked, "top_loss", over, key(), items, last) });
    }
    queries
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Seed;
    use summary::Limits;
    use task::Generation;
    use task::rows::{RowQueries, Site};

    #[test]
    fn every_key_has_queries_that_can_be_answered() {
        for key in [
            "src_addr/24",
            "dst_port",
            "protocol,vlan",
            "src_addr,dst_addr,ip_tos",
            "src_addr/16,dst_addr/8",
            "src_addr/24,dst_addr/24",
        ] {
            let key = KeySpec::parse(key).expect("a key");
            check(key, false);
        }
        check(KeySpec::FIVE_TUPLE, false);
        check(KeySpec::FIVE_TUPLE, true);
    }

    fn check(key: KeySpec, tracks_loss: bool) {
        let asked = StandingOptions { key, tracks_loss, top: 3, of_windows: true, of_run: true };
        let site = Site { key, tracks_loss, seed: Seed::new(1), limits: Limits::new(1 << 20, 1) };
        let queries = standing(&asked);
        let planned = RowQueries::plan(Generation::default(), &queries, &site);
        assert!(planned.is_ok(), "{:?}", planned.err());
        assert!(standing(&StandingOptions { top: 0, tracks_loss: false, ..asked }).is_empty());
    }
}
