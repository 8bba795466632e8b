//! Statistics of the packets of pinned flows in each window. Flow records have the same statistics of all flows with `--gap`,
//! `--packet-size` and `--inter-arrival`.

use crate::group_table::{GroupTable, NO_GROUP};
use crate::statistic::{Moments, PSquare, Quantile};
use arena::Limits;
use flow::{MAX_ROW_STATISTICS, Metric, Statistic, StatisticKind};
use packet::{KeyBurst, KeyV4, KeyV6, KeyedPacket, MaskedKey, Numbers, Seed};

/// Words of a flow's state: the number of its last packet plus one, and the time of that packet plus one; 0 without a packet.
const LAST_NUMBER: usize = 0;
const LAST_TIME: usize = 1;
const FIRST: usize = 2;

/// The layout of a flow's state: the position of each metric's words in it.
#[derive(Debug)]
struct StatisticLayout {
    asked: Vec<Statistic>,
    metrics: Vec<OfMetric>,
    /// The position of the state from which each statistic is computed.
    places: Vec<StatisticSlot>,
    width: usize,
}

/// The requested statistics of a metric: the position of its moments, if they are needed, and the positions of its percentiles.
#[derive(Debug)]
struct OfMetric {
    metric: Metric,
    moments: Option<usize>,
    quantiles: Vec<(Quantile, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum StatisticSlot {
    Mean(usize),
    StdDev(usize),
    Percentile(Quantile, usize),
}

impl StatisticLayout {
    fn new(asked: &[Statistic]) -> Self {
        let mut layout =
            Self { asked: asked.to_vec(), metrics: Vec::new(), places: Vec::new(), width: FIRST };
        for statistic in asked {
            let place = layout.place(statistic);
            layout.places.push(place);
        }
        layout
    }

    fn place(&mut self, statistic: &Statistic) -> StatisticSlot {
        let known = self.metrics.iter().position(|of| of.metric == statistic.metric);
        let at = known.unwrap_or_else(|| {
            self.metrics.push(OfMetric { metric: statistic.metric, moments: None, quantiles: Vec::new() });
            self.metrics.len() - 1
        });
        let Self { metrics, width, .. } = self;
        let OfMetric { moments, quantiles, .. } = &mut metrics[at];
        let mut take = |words: usize| {
            *width += words;
            *width - words
        };
        let mut moments = || *moments.get_or_insert_with(|| take(Moments::WORDS));
        match statistic.kind {
            StatisticKind::Mean => StatisticSlot::Mean(moments()),
            StatisticKind::StdDev => StatisticSlot::StdDev(moments()),
            StatisticKind::Percentile(percent) => {
                let quantile = Quantile::new((percent * 1e4).round() as u32);
                let place = take(PSquare::WORDS);
                quantiles.push((quantile, place));
                StatisticSlot::Percentile(quantile, place)
            }
        }
    }

    /// Adds a packet to the state of its flow.
    fn add<K>(&self, words: &mut [u64], packet: &KeyedPacket<K>, numbers: Numbers) {
        let (number, time) = (numbers.number_of(&packet.fields), packet.fields.time_ns);
        let last = |word: u64| word.checked_sub(1);
        let (last_number, last_time) = (last(words[LAST_NUMBER]), last(words[LAST_TIME]));
        words[LAST_NUMBER] = number.wrapping_add(1);
        words[LAST_TIME] = time.wrapping_add(1);
        for OfMetric { metric, moments, quantiles } in &self.metrics {
            let sample = match metric {
                Metric::Size => Some(packet.fields.total_byte.into()),
                // The number of frames between two packets is the difference of their numbers minus one.
                Metric::Gap => last_number.map(|last| number.saturating_sub(last + 1)),
                Metric::InterArrival => last_time.map(|last| time.saturating_sub(last)),
            };
            let Some(sample) = sample else { continue };
            if let Some(at) = moments {
                let words = &mut words[*at..*at + Moments::WORDS];
                let mut moments = Moments::read(words);
                moments.add(sample);
                words.copy_from_slice(&moments.to_words());
            }
            for (quantile, at) in quantiles {
                let words = &mut words[*at..*at + PSquare::WORDS];
                let mut p_square = PSquare::read(words);
                p_square.add(quantile, sample);
                words.copy_from_slice(&p_square.to_words());
            }
        }
    }

    /// Writes the statistics of a flow to `values`, in the order of the request; NaN where there is no value.
    fn values(&self, words: &[u64], values: &mut [f64; MAX_ROW_STATISTICS]) {
        for (place, value) in self.places.iter().zip(values) {
            let known = match place {
                StatisticSlot::Mean(at) => Moments::read(&words[*at..]).mean(),
                StatisticSlot::StdDev(at) => Moments::read(&words[*at..]).stddev(),
                StatisticSlot::Percentile(quantile, at) => PSquare::read(&words[*at..]).estimate(quantile),
            };
            *value = known.unwrap_or(f64::NAN);
        }
    }
}

/// The flows of one window.
#[derive(Debug)]
struct TrackedWindow {
    layout: StatisticLayout,
    v4: GroupTable<{ KeyV4::WORDS }>,
    v6: GroupTable<{ KeyV6::WORDS }>,
}

impl TrackedWindow {
    fn new(asked: &[Statistic], seed: Seed, limits: &Limits) -> Self {
        let layout = StatisticLayout::new(asked);
        let initial = vec![0; layout.width];
        let (v4, v6) = (GroupTable::new(&initial, seed, limits), GroupTable::new(&initial, seed, limits));
        Self { layout, v4, v6 }
    }
}

/// Statistics of pinned flows in the open window and in the one that is being sealed.
#[derive(Debug)]
pub(super) struct ZoomStatistics {
    asked: Vec<Statistic>,
    open: TrackedWindow,
    closing: TrackedWindow,
    seed: Seed,
    limits: Limits,
    scratch: TrackedFlowScratch,
    values: [f64; MAX_ROW_STATISTICS],
}

#[derive(Debug, Default)]
struct TrackedFlowScratch {
    v4: Vec<[u64; KeyV4::WORDS]>,
    v6: Vec<[u64; KeyV6::WORDS]>,
    found: Vec<u32>,
}

impl ZoomStatistics {
    pub(super) fn new(seed: Seed, limits: &Limits) -> Self {
        let window = || TrackedWindow::new(&[], seed, limits);
        Self {
            asked: Vec::new(),
            open: window(),
            closing: window(),
            seed,
            limits: limits.clone(),
            scratch: TrackedFlowScratch::default(),
            values: [f64::NAN; MAX_ROW_STATISTICS],
        }
    }

    /// Sets the statistics of the open window before its first packet. Those after the first [`MAX_ROW_STATISTICS`] are ignored.
    pub(super) fn set(&mut self, asked: &[Statistic]) {
        self.asked = asked[..asked.len().min(MAX_ROW_STATISTICS)].to_vec();
        self.begin();
    }

    /// Clears the open window.
    fn begin(&mut self) {
        if self.open.layout.asked != self.asked {
            self.open = TrackedWindow::new(&self.asked, self.seed, &self.limits);
        }
        self.open.v4.clear();
        self.open.v6.clear();
    }

    /// Opens the next window. All rows of the one before the last must have been sealed.
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.open, &mut self.closing);
        self.begin();
    }

    pub(super) fn bytes(&self) -> usize {
        [&self.open, &self.closing].iter().map(|window| window.v4.bytes() + window.v6.bytes()).sum()
    }

    /// Counts the marked packets of a burst. Returns true for each packet that was counted, in their order; nothing if no statistics are
    /// requested.
    pub(super) fn count_v4(&mut self, burst: &KeyBurst<KeyV4>) -> impl Iterator<Item = bool> {
        let Self {
            open: TrackedWindow { layout, v4, .. },
            scratch: TrackedFlowScratch { v4: keys, found, .. },
            ..
        } = self;
        count(layout, v4, burst, (keys, found))
    }

    /// Counts the marked IPv6 packets of a burst, as [`ZoomStatistics::count_v4`] does.
    pub(super) fn count_v6(&mut self, burst: &KeyBurst<KeyV6>) -> impl Iterator<Item = bool> {
        let Self {
            open: TrackedWindow { layout, v6, .. },
            scratch: TrackedFlowScratch { v6: keys, found, .. },
            ..
        } = self;
        count(layout, v6, burst, (keys, found))
    }

    /// Returns the statistics of an IPv4 key in the window that is being sealed; none if it has no marked packet there.
    pub(super) fn get_v4(&mut self, key: &KeyV4) -> &[f64] {
        let Self { closing: TrackedWindow { layout, v4, .. }, scratch, values, .. } = self;
        find_statistics(layout, v4, key, (&mut scratch.found, values))
    }

    /// Returns the statistics of an IPv6 key in the window that is being sealed; none if it has no marked packet there.
    pub(super) fn get_v6(&mut self, key: &KeyV6) -> &[f64] {
        let Self { closing: TrackedWindow { layout, v6, .. }, scratch, values, .. } = self;
        find_statistics(layout, v6, key, (&mut scratch.found, values))
    }
}

fn words<K: MaskedKey, const WORDS: usize>(key: &K) -> [u64; WORDS] {
    let mut all = key.words().iter();
    std::array::from_fn(|_| all.next().copied().unwrap_or_default())
}

fn count<'a, K: MaskedKey, const WORDS: usize>(
    layout: &StatisticLayout,
    table: &mut GroupTable<WORDS>,
    burst: &KeyBurst<K>,
    (keys, found): (&mut Vec<[u64; WORDS]>, &'a mut Vec<u32>),
) -> impl Iterator<Item = bool> + use<'a, K, WORDS> {
    keys.clear();
    found.clear();
    if !layout.asked.is_empty() {
        let named = || burst.pinned().iter().filter_map(|pinned| burst.packets().get(pinned.at));
        keys.extend(named().map(|packet| words(&packet.key)));
        table.groups(keys, found);
        for (packet, group) in named().zip(found.iter()).filter(|(_, group)| **group != NO_GROUP) {
            layout.add(table.state_mut(*group), packet, burst.numbers());
        }
    }
    found.iter().map(|group| *group != NO_GROUP)
}

fn find_statistics<'a, K: MaskedKey, const WORDS: usize>(
    layout: &StatisticLayout,
    table: &GroupTable<WORDS>,
    key: &K,
    (found, values): (&mut Vec<u32>, &'a mut [f64; MAX_ROW_STATISTICS]),
) -> &'a [f64] {
    table.known_groups(&[words(key)], found);
    match found.first() {
        Some(group) if *group != NO_GROUP => {
            layout.values(table.state(*group), values);
            &values[..layout.places.len()]
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
