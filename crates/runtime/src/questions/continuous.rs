//! The queries whose answers the screen, `--json` and `--report` contain without a request.

use crate::spec::RunSpec;
use packet::KeySpec;
use task::query::{
    Aggregate, Comparison, Condition, Expression, GroupField, Operator, Order, OutputColumn, Over, Query,
};

/// The options that determine the standing queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingOptions {
    /// The definition of flows.
    pub(crate) key: KeySpec,
    /// True if losses are tracked.
    pub(crate) tracks_loss: bool,
    /// True if both directions are shown together.
    pub(crate) biflow: bool,
    /// Rows of an answer; without any there are no rankings.
    pub(crate) top: usize,
    /// True if answers of each window are shown.
    pub(crate) of_windows: bool,
    /// True if answers over the run are shown.
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

/// Returns true if answers over the run are shown anywhere.
pub(crate) fn are_of_run(options: &RunSpec) -> bool {
    !options.json_windows || options.output.report.is_some() || options.output.web.is_some()
}

/// The queries.
pub(crate) fn continuous_queries(asked: &StandingOptions) -> Vec<Query> {
    let mut queries = Vec::new();
    if asked.of_windows {
        queries.extend(flows_and_losses(asked, Over::Window));
    }
    if asked.of_run {
        queries.extend(flows_and_losses(asked, Over::Run));
        if asked.top != 0 {
            queries.extend(overview(asked));
        }
    }
    queries
}

/// Returns the queries that answer what a stranger to the traffic wants to know first of a run, as far as the definition of flows tells it:
/// who sends and receives, with whom, by which services, and who contacts many others or is contacted by many.
fn overview(asked: &StandingOptions) -> impl Iterator<Item = Query> + '_ {
    let by_bytes = |name, group: &[&str]| {
        let items = [OutputColumn::count("flows")].into_iter().chain(sums()).collect();
        ranking(asked, name, Over::Run, group.iter().copied().map(GroupField::from_field).collect(), items, 2)
    };
    let by_peers = |name, group, peers, peer: &str| {
        let items: Vec<_> = [OutputColumn::distinct(peer, peers), OutputColumn::count("flows")]
            .into_iter()
            .chain(sums())
            .collect();
        let flows = items[1].value.clone();
        let mut query = ranking(asked, name, Over::Run, vec![GroupField::from_field(group)], items, 0);
        query.order.push(Order::largest(flows));
        query
    };
    let has =
        |members: &[&str]| members.iter().all(|member| asked.key.columns().any(|column| column == *member));
    let addresses = has(&["src_addr", "dst_addr"]);
    let [source, destination] = ["src_addr", "dst_addr"].map(|member| asked.key.prefix_lengths(member));
    let ports = has(&["src_port", "dst_port", "protocol"]);
    [
        (addresses && source == destination, by_bytes("hosts", &["addr"])),
        (have_conversations(&asked.key), conversations(asked, Over::Run)),
        (ports, by_bytes("ports", &["protocol", "port"])),
        (has(&["protocol"]), by_bytes("protocols", &["protocol"])),
        (addresses, by_peers("scanners", "src_addr", "destinations", "dst_addr")),
        (addresses, by_peers("targets", "dst_addr", "sources", "src_addr")),
    ]
    .into_iter()
    .filter_map(|(is_possible, query)| is_possible.then_some(query))
}

/// Returns true if keys are whole 5-tuples at least.
fn have_conversations(key: &KeySpec) -> bool {
    let has = |member: &str| key.columns().any(|column| column == member);
    let is_whole = |member: &str| key.prefix_lengths(member) == Some([32, 128]);
    ["src_addr", "dst_addr"].into_iter().all(is_whole)
        && ["src_port", "dst_port", "protocol"].into_iter().all(has)
}

/// Conversations: with `--biflow`, also what each direction has of them.
fn conversations(asked: &StandingOptions, over: Over) -> Query {
    let one = || Box::new(Expression::Integer(1));
    let is_forward = Expression::field("forward");
    let is_reverse = Expression::Arithmetic(one(), Operator::Subtract, Box::new(is_forward.clone()));
    let directed = |name: &str, field: &str, is_it: &Expression| {
        let of = Expression::Arithmetic(
            Box::new(Expression::field(field)),
            Operator::Multiply,
            Box::new(is_it.clone()),
        );
        OutputColumn::new(name, Expression::Aggregate(Aggregate::Sum(Box::new(of))))
    };
    let directions = [
        directed("forward_count", "total_count", &is_forward),
        directed("reverse_count", "total_count", &is_reverse),
        directed("forward_byte", "total_byte", &is_forward),
        directed("reverse_byte", "total_byte", &is_reverse),
    ];
    let directions = directions.into_iter().filter(|_| asked.biflow);
    let items = [OutputColumn::count("flows")].into_iter().chain(sums()).chain(directions).collect();
    ranking(asked, "conversations", over, vec![GroupField::from_field("conversation")], items, 2)
}

fn sums() -> [OutputColumn; 3] {
    ["total_count", "total_byte", "wire_byte"].map(OutputColumn::sum)
}

fn losses() -> impl Iterator<Item = OutputColumn> {
    let least = Aggregate::Min(Box::new(Expression::field("rtt_min")));
    LOSSES.map(OutputColumn::sum).into_iter().chain([
        OutputColumn::new("rtt_min", Expression::Aggregate(least)),
        OutputColumn::new("rtt_avg", Expression::Aggregate(Aggregate::MeanRoundTrip)),
    ])
}

fn ranking(
    asked: &StandingOptions,
    name: &str,
    over: Over,
    group: Vec<GroupField>,
    items: Vec<OutputColumn>,
    by: usize,
) -> Query {
    Query {
        order: vec![Order::largest(items[by].value.clone())],
        limit: Some(asked.top),
        over,
        ..Query::new(name, group, items)
    }
}

/// Flows and losses, of windows or of the run.
fn flows_and_losses(asked: &StandingOptions, over: Over) -> Vec<Query> {
    let key = || asked.key.columns().map(GroupField::from_field).collect();
    let mut queries = Vec::new();
    if asked.top != 0 && asked.biflow && over == Over::Window && have_conversations(&asked.key) {
        queries.push(conversations(asked, over));
    }
    if asked.top != 0 {
        queries.push(ranking(asked, "top_bytes", over, key(), sums().into(), 1));
        queries.push(ranking(asked, "top_packets", over, key(), sums().into(), 0));
    }
    if asked.tracks_loss {
        let all = Query {
            limit: None,
            order: Vec::new(),
            ..ranking(asked, "tcp_loss", over, Vec::new(), losses().collect(), 0)
        };
        queries.push(all);
    }
    if asked.tracks_loss && asked.top != 0 {
        let add = |sum, field| Expression::Arithmetic(Box::new(sum), Operator::Add, Box::new(field));
        let all = LOST.map(Expression::field).into_iter().reduce(add);
        let lost = all
            .map(|all| OutputColumn::new("loss_byte", Expression::Aggregate(Aggregate::Sum(Box::new(all)))));
        let items = sums().into_iter().chain(losses()).chain(lost).collect::<Vec<_>>();
        let last = items.len() - 1;
        let any = |field: &&str| Condition::compare(field, Comparison::Greater, 0);
        let filter = Some(Condition::Or(LOST.iter().map(any).collect()));
        queries.push(Query { filter, ..ranking(asked, "top_loss", over, key(), items, last) });
    }
    queries
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena::Limits;
    use packet::Seed;
    use task::Generation;
    use task::rows::{PlanContext, RowQueries};

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
        let asked =
            StandingOptions { key, tracks_loss, biflow: false, top: 3, of_windows: true, of_run: true };
        let site = PlanContext {
            tracked: flow::TrackedParts { loss: tracks_loss, headers: false },
            ..PlanContext::new(key, Seed::new(1), Limits::new(1 << 20, 1))
        };
        let queries = continuous_queries(&asked);
        let planned = RowQueries::plan(Generation::default(), &queries, &site);
        assert!(planned.is_ok(), "{:?}", planned.err());
        assert!(continuous_queries(&StandingOptions { top: 0, tracks_loss: false, ..asked }).is_empty());
    }
}
