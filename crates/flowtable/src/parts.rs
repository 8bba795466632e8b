//! The parts that a run may measure of flows beyond the plain record. Their state lies in separate arenas (except for packets' numbers,
//! which have room next to what every packet touches), so that the plain record pays nothing.

use crate::statistic::{RequestedStatistic, StatisticSpec};
use flow::{Metric, Statistic, TrackedParts};

/// The parts that are measured of flows beyond the plain record.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredParts {
    /// Statistics by metric, in the order of the record's values.
    pub statistics: [Option<(Metric, StatisticSpec)>; 3],
    /// Statistics by metric of the packets of each key in each window, in the order of the row's values.
    pub window_statistics: [Option<(Metric, StatisticSpec)>; 3],
    /// True if both directions of a key share an entry, and end together in one record (`--biflow`).
    pub biflow: bool,
    /// True if TCP losses are counted (`--loss`).
    pub loss: bool,
    /// True if header fields beyond the plain ones are kept (`--headers`).
    pub headers: bool,
    /// True if flows are shares, to be merged ([`crate::FlowShare`]). Excludes the other parts except header fields: their state is in no share.
    pub shares: bool,
}

impl MeasuredParts {
    /// Returns the optional parts of rows that are measured.
    pub fn tracked(&self) -> TrackedParts {
        TrackedParts { loss: self.loss, headers: self.headers }
    }

    /// Returns the columns of the statistics that all rows have, in the order of a row's values.
    pub fn row_statistics(&self) -> Vec<Statistic> {
        self.window_statistics.iter().flatten().flat_map(|(metric, spec)| spec.columns(*metric)).collect()
    }

    /// Returns the metrics of which records or rows have statistics, each once.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> + '_ {
        let is_asked = |of: &[Option<(Metric, StatisticSpec)>; 3], metric: Metric| {
            of.iter().flatten().any(|(known, _)| *known == metric)
        };
        let all = [Metric::Gap, Metric::Size, Metric::InterArrival].into_iter();
        all.filter(move |metric| {
            is_asked(&self.statistics, *metric) || is_asked(&self.window_statistics, *metric)
        })
    }

    /// True if both directions of a key must share an entry: keys must then be hashed alike
    /// ([`packet::Key::pair_hash`]).
    pub fn are_paired(&self) -> bool {
        self.biflow || self.loss
    }

    /// True if a packet changes more than the lines of the plain record.
    pub(crate) fn have_state(&self) -> bool {
        let is_kept = |(metric, spec): &(Metric, StatisticSpec)| !is_of_record(*metric, spec);
        let has_windows = self.window_statistics.iter().any(Option::is_some);
        self.loss || self.headers || has_windows || self.statistics.iter().flatten().any(is_kept)
    }

    /// True if records keep the numbers of their first and last packet.
    pub(crate) fn keep_numbers(&self) -> bool {
        let is_told_by_them =
            |(metric, spec): &(Metric, StatisticSpec)| *metric == Metric::Gap && is_of_record(*metric, spec);
        self.shares || self.statistics.iter().flatten().any(is_told_by_them)
    }
}

/// True where the statistics of `metric` follow from what the record has anyway, so that they need no state:
/// the mean size from its bytes and packets, the mean gap from its packets and the numbers of the first and
/// the last. The mean inter-arrival time is not among them: if times run backwards, it does not follow from
/// those of the first and the last packet.
pub(crate) fn is_of_record(metric: Metric, spec: &StatisticSpec) -> bool {
    metric != Metric::InterArrival && spec.statistics() == [RequestedStatistic::Mean]
}
