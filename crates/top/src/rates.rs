//! The rates of the last windows, as a line of bars.

use model::{Answer, Totals};
use std::collections::{BTreeMap, VecDeque};

/// Windows that are remembered, and bars that are drawn at the most.
const MOST_WINDOWS: usize = 60;
/// Nodes of one window.
const MOST_NODES: usize = 10_000;
/// Bars of eight heights.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A window of which the rate of some node is not known.
const UNKNOWN: char = '·';

/// The bits a second of each node in the last windows, the oldest window first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RateHistory {
    windows: VecDeque<(u64, BTreeMap<Option<String>, f64>)>,
    /// True if some window's bits are those of layer 3, as those on the wire are not known.
    of_layer_3: bool,
}

impl RateHistory {
    /// Takes the totals of a window of one node.
    pub(crate) fn take(&mut self, totals: &Answer) {
        let Some(window) = totals.window else { return };
        let seconds = totals.watched.unwrap_or(window).seconds();
        if seconds <= 0.0 || totals.empty.is_some_and(|windows| windows > 1) {
            return;
        }
        let sums = Totals::from_answer(totals);
        self.of_layer_3 |= sums.wire_bytes.is_none();
        let bits = sums.wire_bytes.unwrap_or(sums.bytes) as f64 * 8.0 / seconds;
        let at = self.windows.partition_point(|(end_ns, _)| *end_ns < window.end_ns);
        if self.windows.get(at).is_none_or(|(end_ns, _)| *end_ns != window.end_ns) {
            self.windows.insert(at, (window.end_ns, BTreeMap::new()));
        }
        if let Some((_, nodes)) = self.windows.get_mut(at)
            && (nodes.len() < MOST_NODES || nodes.contains_key(&totals.node))
        {
            nodes.insert(totals.node.clone(), bits);
        }
        while self.windows.len() > MOST_WINDOWS {
            self.windows.pop_front();
        }
    }

    /// The rate of the last window whose rate is known of all nodes, the greatest rate, and as many bars as fit in a line of this many characters;
    /// `None` of fewer than two windows.
    pub(crate) fn line(&self, columns: usize) -> Option<String> {
        let all = self.windows.iter().map(|(_, nodes)| nodes.len()).max()?;
        let sum = |(_, nodes): &(u64, BTreeMap<Option<String>, f64>)| {
            (nodes.len() == all).then(|| nodes.values().sum::<f64>())
        };
        let rates: Vec<Option<f64>> = self.windows.iter().map(sum).collect();
        let most = rates.iter().flatten().copied().fold(0.0, f64::max);
        let last = rates.iter().rev().flatten().next()?;
        if rates.len() < 2 {
            return None;
        }
        let bar = |rate: &Option<f64>| match rate {
            None => UNKNOWN,
            Some(rate) if most > 0.0 => BARS[((rate / most * 7.0).round() as usize).min(7)],
            Some(_) => BARS[0],
        };
        let of = if self.of_layer_3 { "of layer 3" } else { "on the wire" };
        let [last, most] = [*last, most].map(|rate| notation::scaled(rate, "bps"));
        let figures = format!("{last} {of}, at most {most}  ");
        let room = columns.saturating_sub(figures.chars().count());
        let bars: String = rates.iter().skip(rates.len().saturating_sub(room)).map(bar).collect();
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
        assert_eq!(rates.line(200), None);
        rates.take(&totals("a", 0, 125_000));
        assert_eq!(rates.line(200), None);
        for (node, second, bytes) in
            [("a", 1, 250_000), ("b", 1, 250_000), ("b", 0, 0), ("a", 2, 0), ("b", 2, 125_000)]
        {
            rates.take(&totals(node, second, bytes));
        }
        // Known of one node alone.
        rates.take(&totals("a", 3, 1_000_000));
        assert_eq!(rates.line(200).as_deref(), Some("1.00 Mbps on the wire, at most 4.00 Mbps  ▃█▃·"));
        // A part of a window counts for the time that was watched.
        let mut cut = totals("b", 3, 0);
        cut.watched = Some(Span { start_ns: 3 * SECOND, end_ns: 3 * SECOND + SECOND / 2 });
        rates.take(&cut);
        assert_eq!(rates.line(200).as_deref(), Some("8.00 Mbps on the wire, at most 8.00 Mbps  ▂▅▂█"));
        (4..100).for_each(|second| ["a", "b"].iter().for_each(|node| rates.take(&totals(node, second, 0))));
        let line = rates.line(200).expect("a line");
        assert_eq!(line, format!("0 bps on the wire, at most 0 bps  {}", "▁".repeat(MOST_WINDOWS)));
        assert_eq!(rates.line(40).expect("a line"), "0 bps on the wire, at most 0 bps  ▁▁▁▁▁▁");
    }
}
