//! Queries of a controller, and answers of nodes as a probe sends them.

use controller::{InstalledText, Site, StandingQueries};
use protocol::WindowResult;
use report::{Account, Answer, Column, ColumnKind, PacketCounts, Span, Value};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The first second of the tests.
pub(crate) const START: u64 = 1_795_534_800 * SECOND;

/// The answers of a node (0 is A, 1 is B) in the window of a second that begins so long after the first one.
pub(crate) fn result(node: usize, at: u64, counts: &[(&str, u64)]) -> WindowResult {
    let window = Span { start_ns: START + at * SECOND, end_ns: START + (at + 1) * SECOND };
    let name = ["A", "B"][node];
    let answer = |(query, count): &(&str, u64)| {
        let column = Column::new("n", ColumnKind::Unsigned, "packets");
        let rows = vec![vec![Value::Unsigned(*count)]];
        Answer { node: Some(name.to_owned()), ..Answer::new(*query, Some(window), vec![column], rows) }
    };
    let packets = PacketCounts { received: 10, measured: 10, ..PacketCounts::default() };
    let totals = Answer {
        node: Some(name.to_owned()),
        account: Some(Account { packets, loss: None }),
        ..Answer::new("totals", Some(window), Vec::new(), Vec::new())
    };
    WindowResult::new(window, [totals].into_iter().chain(counts.iter().map(answer)).collect())
}

/// These queries, under a controller of nodes of these names with windows of a second.
pub(crate) fn queries(text: &str, nodes: &[&str]) -> StandingQueries {
    let site = Site {
        nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        key: packet::KeySpec::FIVE_TUPLE.parts(),
        window_ns: SECOND,
        set: Vec::new(),
        settings: events::Settings::default(),
    };
    let mut queries = StandingQueries::new(site);
    let text =
        InstalledText { file: "test.eq".to_owned(), text: text.to_owned(), ..InstalledText::default() };
    queries.install(text).expect("installed");
    queries
}
