//! The losses of a port, distributed among the queues that query it: each loss is reported by one of them.

use super::kernel_socket::KernelSockets;
use crate::SourceCounter;

/// `rte_eth_stats_get`'s loss counters. `imissed`: dropped by the device because the queue was full.
/// `ierrors`: frames received in error (checksum of the frame, length); a few old drivers add drops that they
/// also report as `imissed`, which cannot be detected from outside. `rx_nombuf`: the pool was empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EthLossCounters {
    pub(super) imissed: u64,
    pub(super) ierrors: u64,
    pub(super) rx_nombuf: u64,
}

/// The losses that were reported so far. A port counts for all its queues together: each query returns what was added since the last query
/// of any queue, so that the sum over the queues is the port's own count, whichever queue is queried last.
#[derive(Debug)]
pub(super) struct LossTally {
    given_out: EthLossCounters,
    kernel: Option<KernelSockets>,
    kernel_given_out: u64,
    /// False if the driver's losses cannot be known.
    counts_loss: bool,
}

impl LossTally {
    /// Begins to count at the port's present counters.
    pub(super) fn since(now: EthLossCounters) -> Self {
        Self { given_out: now, kernel: None, kernel_given_out: 0, counts_loss: true }
    }

    /// The kernel counts too, if it has sockets to be queried; otherwise the number is unknown.
    pub(super) fn count_in_kernel(&mut self, kernel: KernelSockets) {
        self.counts_loss = !kernel.is_empty();
        self.kernel = self.counts_loss.then_some(kernel);
    }

    /// Adds to `sums` what was lost since the last call by any caller; false if that is unknown. `now`: the
    /// port's counters; a port that is gone has none, and its earlier losses remain.
    pub(super) fn take(&mut self, now: Option<EthLossCounters>, sums: &mut Vec<SourceCounter>) -> bool {
        let now = now.unwrap_or(self.given_out);
        let before = std::mem::replace(&mut self.given_out, now);
        add(sums, ("imissed", now.imissed.saturating_sub(before.imissed)));
        add(sums, ("ierrors", now.ierrors.saturating_sub(before.ierrors)));
        add(sums, ("rx_nombuf", now.rx_nombuf.saturating_sub(before.rx_nombuf)));
        let Some(kernel) = &mut self.kernel else { return self.counts_loss };
        let Some((name, dropped)) = kernel.lost() else { return false };
        add(sums, (name, dropped.saturating_sub(self.kernel_given_out)));
        self.kernel_given_out = dropped;
        true
    }
}

fn add(sums: &mut Vec<SourceCounter>, (name, value): SourceCounter) {
    match sums.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum += value,
        None => sums.push((name, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_comes_to_one_of_those_who_ask() {
        let losses = |imissed, ierrors, rx_nombuf| EthLossCounters { imissed, ierrors, rx_nombuf };
        let mut tally = LossTally::since(losses(100, 10, 1));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        assert!(tally.take(Some(losses(103, 10, 1)), &mut first));
        assert!(tally.take(Some(losses(110, 12, 1)), &mut second));
        assert!(tally.take(Some(losses(111, 12, 2)), &mut first));
        // The port is gone: nothing is reported twice, and nothing is taken back.
        assert!(tally.take(None, &mut first));
        assert_eq!(first, [("imissed", 4), ("ierrors", 0), ("rx_nombuf", 1)]);
        assert_eq!(second, [("imissed", 7), ("ierrors", 2), ("rx_nombuf", 0)]);
        let nothing = KernelSockets::opened_since(libc::AF_PACKET, &KernelSockets::open_now(libc::AF_PACKET));
        tally.count_in_kernel(nothing);
        assert!(
            !tally.take(Some(losses(111, 12, 2)), &mut second),
            "the kernel should know and cannot be asked"
        );
    }
}
