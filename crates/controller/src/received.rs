//! The packets of a node's windows, from which the coverage of several nodes follows.

use model::{Counters, Span};
use protocol::WindowResult;
use std::collections::VecDeque;

/// The packets of a node's last windows.
#[derive(Debug, Default)]
pub(crate) struct ReceivedPackets {
    windows: VecDeque<ReceivedWindow>,
    /// The node's source counts its loss.
    counts_loss: bool,
}

#[derive(Debug)]
struct ReceivedWindow {
    span: Span,
    received: u64,
    lost: Option<u64>,
}

impl ReceivedPackets {
    /// Takes a window.
    pub(crate) fn take(&mut self, result: &WindowResult) {
        let totals = result.answers.iter().find(|answer| answer.query == "totals");
        let Some(account) = totals.and_then(|totals| totals.account.as_ref()) else { return };
        let lost = account.loss.as_ref().map(Counters::total);
        self.counts_loss = lost.is_some();
        self.windows.push_back(ReceivedWindow {
            span: result.window,
            received: account.packets.received,
            lost,
        });
    }

    /// Packets received and lost in a longer window; `None` if the loss is not known.
    pub(crate) fn sum_within(&self, window: Span) -> Option<(u64, u64)> {
        let is_in =
            |own: &&ReceivedWindow| window.start_ns <= own.span.start_ns && own.span.end_ns <= window.end_ns;
        let none = self.counts_loss.then_some((0_u64, 0_u64))?;
        self.windows.iter().filter(is_in).try_fold(none, |(received, lost), own| {
            Some((received.saturating_add(own.received), lost.saturating_add(own.lost?)))
        })
    }

    /// Forgets windows that end by this time.
    pub(crate) fn forget_until(&mut self, end_ns: u64) {
        while self.windows.front().is_some_and(|window| window.span.end_ns <= end_ns) {
            self.windows.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Account, Answer, PacketCounts};

    #[test]
    fn windows_add_up_unless_the_loss_of_one_is_not_known() {
        let span = |start_ns, end_ns| Span { start_ns, end_ns };
        let result = |start_ns: u64, received, lost: Option<u64>| {
            let window = span(start_ns, start_ns + 1);
            let packets = PacketCounts { received, ..PacketCounts::default() };
            let loss = lost.map(|lost| Counters(vec![("ring".to_owned(), lost)]));
            let account = Some(Account { packets, loss });
            let totals = Answer { account, ..Answer::new("totals", Some(window), Vec::new(), Vec::new()) };
            WindowResult::new(window, vec![totals])
        };
        let mut received = ReceivedPackets::default();
        assert_eq!(received.sum_within(span(0, 9)), None);
        received.take(&result(1, 10, Some(1)));
        received.take(&result(2, 20, Some(0)));
        received.take(&result(5, 40, Some(4)));
        assert_eq!(received.sum_within(span(0, 9)), Some((70, 5)));
        assert_eq!(received.sum_within(span(2, 5)), Some((20, 0)));
        assert_eq!(received.sum_within(span(3, 5)), Some((0, 0)));
        received.forget_until(3);
        assert_eq!(received.sum_within(span(0, 9)), Some((40, 4)));
        received.take(&result(6, 1, None));
        assert_eq!(received.sum_within(span(0, 9)), None);
    }
}
