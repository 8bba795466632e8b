//! The rates of the last windows, as a line of bars.

use model::{Answer, Totals};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Windows that are remembered, and bars that are drawn at the most.
const MOST_WINDOWS: usize = 60;
/// Nodes of one window.
const MOST_NODES: usize = 10_000;
/// Bars of eight heights.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A window without traffic.
const EMPTY: char = ' ';
/// A window of which the rate of some node is not known.
const UNKNOWN: char = '·';

/// The rates of the nodes in a window.
#[derive(Clone, Debug, PartialEq)]
struct WindowRates {
    end_ns: u64,
    /// The bits per second of each node; of all nodes together under the empty name.
    nodes: BTreeMap<Arc<str>, u64>,
    /// The sum of these.
    sum: u64,
}

/// The rates of the nodes in the last windows, the oldest window first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RateHistory {
    windows: VecDeque<WindowRates>,
    /// True if some window's bits are those of layer 3, as those on the wire are not known.
    of_layer_3: bool,
    /// True if there are more nodes than are remembered.
    has_more: bool,
}

impl RateHistory {
    /// Takes the totals of a window of one node, or of a run of its empty windows.
    pub(crate) fn take(&mut self, totals: &Answer) {
        let Some(window) = totals.window else { return };
        let node = totals.node.as_deref().unwrap_or_default();
        if let Some(windows) = totals.empty.filter(|windows| *windows > 1) {
            let length_ns = window.end_ns.saturating_sub(window.start_ns) / windows;
            let last = (0..windows.min(MOST_WINDOWS as u64)).rev();
            last.for_each(|before| self.put(window.end_ns - before * length_ns, node, 0));
            return;
        }
        let seconds = totals.watched.unwrap_or(window).seconds();
        if seconds <= 0.0 {
            return;
        }
        let sums = Totals::from_answer(totals);
        self.of_layer_3 |= sums.wire_bytes.is_none() && totals.empty.is_none();
        let bits = sums.wire_bytes.unwrap_or(sums.bytes) as f64 * 8.0 / seconds;
        self.put(window.end_ns, node, bits.round() as u64);
    }

    fn put(&mut self, end_ns: u64, node: &str, bits: u64) {
        let at = self.windows.partition_point(|window| window.end_ns < end_ns);
        if self.windows.get(at).is_none_or(|window| window.end_ns != end_ns) {
            if at == 0 && self.windows.len() == MOST_WINDOWS {
                return;
            }
            self.windows.insert(at, WindowRates { end_ns, nodes: BTreeMap::new(), sum: 0 });
        }
        let own = &self.windows[at].nodes;
        if own.len() >= MOST_NODES && !own.contains_key(node) {
            self.has_more = true;
            return;
        }
        // A name stands once, however many windows have it.
        let known = self.windows.iter().rev().find_map(|window| window.nodes.get_key_value(node));
        let name = known.map_or_else(|| Arc::from(node), |(name, _)| Arc::clone(name));
        let window = &mut self.windows[at];
        let before = window.nodes.insert(name, bits).unwrap_or(0);
        window.sum = (window.sum - before).saturating_add(bits);
        while self.windows.len() > MOST_WINDOWS {
            self.windows.pop_front();
        }
    }

    /// The rate of the newest window, the greatest rate, and as many bars as fit in a line of this many characters; `None` of fewer than two windows.
    /// `is_over`: nothing is measured any more.
    pub(crate) fn line(&self, columns: usize, is_over: bool) -> Option<String> {
        let Self { windows, .. } = self;
        let all = windows.iter().map(|window| window.nodes.len()).max()?;
        if windows.len() < 2 {
            return None;
        }
        // Answers of the newest window may be on their way from some nodes.
        let newest = windows.iter().rev().take(2).rev().max_by_key(|window| window.nodes.len())?;
        let rate = |window: &WindowRates| (window.nodes.len() == all).then_some(window.sum);
        let most = windows.iter().filter_map(rate).max().unwrap_or(0);
        let bar = |window: &WindowRates| match rate(window) {
            None => UNKNOWN,
            Some(0) => EMPTY,
            Some(rate) => BARS[((rate as f64 / most as f64 * 7.0).round() as usize).min(7)],
        };
        let of = if self.of_layer_3 { "of layer 3" } else { "on the wire" };
        let scaled = |rate: u64| notation::scaled(rate as f64, "bps");
        let nodes = match (newest.nodes.len(), self.has_more) {
            (own, false) if own == all => String::new(),
            (own, false) => format!(" at {own} of {all} nodes"),
            (own, true) => format!(" at {} nodes of more", notation::grouped(own as u64)),
        };
        let figures = match is_over {
            true => format!("at most {} {of}  ", scaled(most)),
            false => {
                format!("{} {of}{nodes}, at most {}  ", scaled(newest.sum), scaled(most.max(newest.sum)))
            }
        };
        let room = columns.saturating_sub(figures.chars().count());
        let bars: String = windows.iter().skip(windows.len().saturating_sub(room)).map(bar).collect();
        Some(figures + &bars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, ColumnKind, Span, Value};

    const SECOND: u64 = 1_000_000_000;

    fn totals(node: &str, second: u64, bytes: u64) -> Answer {
        let columns = vec![Column::new("wire_byte", ColumnKind::Unsigned, "bytes")];
        let window = Span { start_ns: second * SECOND, end_ns: (second + 1) * SECOND };
        let mut answer = Answer::new("totals", Some(window), columns, vec![vec![Value::Unsigned(bytes)]]);
        answer.node = Some(node.to_owned());
        answer
    }

    #[test]
    fn bars_are_of_all_nodes_together() {
        let mut rates = RateHistory::default();
        assert_eq!(rates.line(200, false), None);
        rates.take(&totals("a", 0, 125_000));
        assert_eq!(rates.line(200, false), None);
        for (node, second, bytes) in
            [("a", 1, 250_000), ("b", 1, 250_000), ("b", 0, 0), ("a", 2, 0), ("b", 2, 125_000)]
        {
            rates.take(&totals(node, second, bytes));
        }
        // Known of one node alone: the answer of the other one is on its way.
        rates.take(&totals("a", 3, 1_000_000));
        let line = rates.line(200, false);
        assert_eq!(line.as_deref(), Some("1.00 Mbps on the wire, at most 4.00 Mbps  ▃█▃·"));
        // A part of a window counts for the time that was watched.
        let mut cut = totals("b", 3, 0);
        cut.watched = Some(Span { start_ns: 3 * SECOND, end_ns: 3 * SECOND + SECOND / 2 });
        rates.take(&cut);
        let line = rates.line(200, false);
        assert_eq!(line.as_deref(), Some("8.00 Mbps on the wire, at most 8.00 Mbps  ▂▅▂█"));
        // An answer that comes again takes the place of the one before.
        rates.take(&totals("a", 3, 500_000));
        let line = rates.line(200, false);
        assert_eq!(line.as_deref(), Some("4.00 Mbps on the wire, at most 4.00 Mbps  ▃█▃█"));
    }

    /// Where nothing was sent nothing stands, also for windows that come in one answer.
    #[test]
    fn a_window_without_traffic_has_no_bar() {
        let mut rates = RateHistory::default();
        rates.take(&totals("a", 0, 1_000));
        let mut empty = totals("a", 1, 0);
        empty.window = Some(Span { start_ns: SECOND, end_ns: 4 * SECOND });
        empty.empty = Some(3);
        rates.take(&empty);
        rates.take(&totals("a", 4, 1_000));
        rates.take(&totals("a", 5, 0));
        let line = rates.line(200, false);
        assert_eq!(line.as_deref(), Some("0 bps on the wire, at most 8.00 kbps  █   █ "));
        // However many they are, the last ones are there.
        empty.window = Some(Span { start_ns: 6 * SECOND, end_ns: 1_000_006 * SECOND });
        empty.empty = Some(1_000_000);
        rates.take(&empty);
        let line = rates.line(200, false).expect("a line");
        assert_eq!(line, format!("0 bps on the wire, at most 0 bps  {}", " ".repeat(MOST_WINDOWS)));
        assert_eq!(rates.line(40, false).expect("a line"), "0 bps on the wire, at most 0 bps        ");
    }

    /// A node that is away, and a run that is over, leave no rate that was.
    #[test]
    fn no_rate_is_that_of_an_earlier_time() {
        let mut rates = RateHistory::default();
        for second in 0..3 {
            ["a", "b"].iter().for_each(|node| rates.take(&totals(node, second, 125_000)));
        }
        (3..6).for_each(|second| rates.take(&totals("a", second, 250_000)));
        let line = rates.line(200, false);
        assert_eq!(line.as_deref(), Some("2.00 Mbps on the wire at 1 of 2 nodes, at most 2.00 Mbps  ███···"));
        let line = rates.line(200, true);
        assert_eq!(line.as_deref(), Some("at most 2.00 Mbps on the wire  ███···"));
    }

    /// Of more nodes than are remembered the line says so, and a name stands once for all windows.
    #[test]
    fn ten_thousand_nodes_have_one_name_each() {
        let mut rates = RateHistory::default();
        for second in 0..3 {
            for node in 0..MOST_NODES {
                rates.take(&totals(&format!("node{node}"), second, 125));
            }
        }
        let line = rates.line(200, false);
        assert_eq!(line.as_deref(), Some("10.00 Mbps on the wire, at most 10.00 Mbps  ███"));
        let names: Vec<&Arc<str>> =
            rates.windows.iter().map(|window| window.nodes.keys().next().expect("a node")).collect();
        assert!(names.iter().all(|name| Arc::ptr_eq(name, names[0])));
        rates.take(&totals("another", 2, 125));
        let line = rates.line(200, false).expect("a line");
        assert!(line.starts_with("10.00 Mbps on the wire at 10,000 nodes of more, "), "{line}");
    }
}
