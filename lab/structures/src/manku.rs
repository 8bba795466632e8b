//! Quantiles by collapsing buffers (Manku, Rajagopalan, Lindsay, "Approximate medians and other quantiles in one pass and with limited
//! memory", SIGMOD 1998; "Random sampling techniques for space efficient online computation of order statistics of large datasets",
//! SIGMOD 1999).

use sketch::parts::filled;
use sketch::{
    Configuration, Estimate, Grid, GridConfig, Merge, Quantiles, SketchError, Summary, Unmergeable, Update,
    UpdateBurst,
};

/// Ten buffers of equal size for values (weights of its updates; keys and hashes are not used). Full ones are sorted; where none is free,
/// those of the lowest level collapse into one: of their values, each repeated as often as its buffer weighs, in order, every w-th stays, with
/// the weight w of all together.
///
/// It is the policy of the paper of 1998, whose errors are certain; the sampling that the paper of 1999 puts in front of it for streams of
/// unknown length is left out. What the collapses may have moved is added up as it happens, so that bounds hold for any length. As long as
/// nothing collapsed, answers are exact.
#[derive(Clone, Debug)]
pub struct MankuRajagopalanLindsay {
    config: GridConfig<Self>,
    /// The buffers one after the other, then one for what a collapse leaves.
    values: Box<[u64]>,
    buffers: [BufferState; BUFFERS],
    /// The buffer that is being filled, which weighs nothing yet, its level when it is full, and the number of its values.
    open: usize,
    open_level: u32,
    filled: usize,
    total: u64,
    /// The most by which the buffers may count more values up to any number than there were, and fewer.
    above: u64,
    below: u64,
    /// Collapses of an even weight take the middle above and the one below in turn.
    takes_upper: bool,
    least: u64,
    most: u64,
}

/// The state of a full buffer; one that is free weighs nothing.
#[derive(Clone, Copy, Debug, Default)]
struct BufferState {
    weight: u64,
    level: u32,
}

const BUFFERS: usize = 10;

impl Grid for MankuRajagopalanLindsay {
    const KIND: &'static str = "Manku-Rajagopalan-Lindsay summary";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of values of a buffer";

    fn bytes(_: usize, width: usize) -> usize {
        (BUFFERS + 1) * width * size_of::<u64>()
    }
}

impl MankuRajagopalanLindsay {
    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of ranks by which the value of a quantile may be off, for certain; 0 as long as nothing collapsed.
    pub fn rank_error(&self) -> f64 {
        self.above.max(self.below) as f64
    }

    fn buffer(&self, number: usize) -> &[u64] {
        &self.values[number * self.config.width..][..self.config.width]
    }

    fn push(&mut self, value: u64) {
        self.values[self.open * self.config.width + self.filled] = value;
        self.filled += 1;
        self.total += 1;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        if self.filled == self.config.width {
            let from = self.open * self.config.width;
            self.values[from..][..self.filled].sort_unstable();
            self.buffers[self.open] = BufferState { weight: 1, level: self.open_level };
            self.open_next();
        }
    }

    fn free(&self) -> impl Iterator<Item = usize> + '_ {
        (0..BUFFERS).filter(|number| self.buffers[*number].weight == 0)
    }

    fn lowest_level(&self) -> u32 {
        let full = self.buffers.iter().filter(|buffer| buffer.weight > 0);
        full.map(|buffer| buffer.level).min().unwrap_or(0)
    }

    /// Opens a free buffer: the last one for the lowest level there is, so that two or more collapse there.
    fn open_next(&mut self) {
        if self.free().next().is_none() {
            self.collapse();
        }
        let is_last = self.free().nth(1).is_none();
        let open = self.free().next().unwrap_or(0);
        self.open = open;
        self.open_level = if is_last { self.lowest_level() } else { 0 };
        self.filled = 0;
    }

    /// Collapses the buffers of the lowest level into one of the next; where that is one alone, with those of the level above it.
    fn collapse(&mut self) {
        let full = |buffers: &[BufferState], level: u32| {
            buffers.iter().filter(|buffer| buffer.weight > 0 && buffer.level <= level).count()
        };
        let mut level = self.lowest_level();
        while full(&self.buffers, level) < 2 {
            level += 1;
        }
        let width = self.config.width;
        let is_chosen = self.buffers.map(|buffer| buffer.weight > 0 && buffer.level <= level);
        let chosen = || (0..BUFFERS).filter(|number| is_chosen[*number]);
        let weight: u64 = chosen().map(|number| self.buffers[number].weight).sum();
        let middle = match weight % 2 {
            1 => weight.div_ceil(2),
            _ => {
                self.takes_upper = !self.takes_upper;
                weight / 2 + u64::from(self.takes_upper)
            }
        };
        let (buffers, left) = self.values.split_at_mut(BUFFERS * width);
        let mut next = [0; BUFFERS];
        let (mut position, mut kept) = (0, 0);
        while kept < width {
            let value_of = |number: &usize| buffers[number * width..][..width].get(next[*number]).copied();
            let least = chosen().filter_map(|number| Some((value_of(&number)?, number))).min();
            let Some((value, number)) = least else { break };
            next[number] += 1;
            position += self.buffers[number].weight;
            if position >= kept as u64 * weight + middle {
                left[kept] = value;
                kept += 1;
            }
        }
        let into = chosen().next().unwrap_or(0);
        for number in chosen() {
            self.buffers[number] = BufferState::default();
        }
        self.buffers[into] = BufferState { weight, level: level + 1 };
        buffers[into * width..][..width].copy_from_slice(left);
        self.above += weight - middle;
        self.below += middle - 1;
    }

    /// All values that are left, in order, each with its weight.
    fn weighted(&self) -> Vec<(u64, u64)> {
        let full = (0..BUFFERS).filter(|number| self.buffers[*number].weight > 0);
        let of_full = full.flat_map(|number| {
            self.buffer(number).iter().map(move |value| (*value, self.buffers[number].weight))
        });
        let open = self.buffer(self.open)[..self.filled].iter().map(|value| (*value, 1));
        let mut all: Vec<(u64, u64)> = of_full.chain(open).collect();
        all.sort_unstable();
        all
    }
}

impl Summary for MankuRajagopalanLindsay {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            values: filled((BUFFERS + 1) * config.width, 0)?,
            buffers: Default::default(),
            open: 0,
            open_level: 0,
            filled: 0,
            total: 0,
            above: 0,
            below: 0,
            takes_upper: false,
            least: u64::MAX,
            most: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.buffers = Default::default();
        (self.open, self.open_level, self.filled) = (0, 0, 0);
        (self.total, self.above, self.below) = (0, 0, 0);
        (self.takes_upper, self.least, self.most) = (false, u64::MAX, 0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for MankuRajagopalanLindsay {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        burst.iter().for_each(|update| self.push(update.weight));
    }
}

/// The buffers of both, collapsed where there is no room for all; the rank errors of both add up, and those of these collapses.
impl Merge for MankuRajagopalanLindsay {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        for (number, buffer) in other.buffers.iter().enumerate().filter(|(_, buffer)| buffer.weight > 0) {
            // One of the free buffers is the open one.
            if self.free().nth(1).is_none() {
                self.collapse();
            }
            let Some(free) = self.free().find(|free| *free != self.open) else { continue };
            let width = self.config.width;
            self.values[free * width..][..width].copy_from_slice(other.buffer(number));
            self.buffers[free] = *buffer;
        }
        self.total += other.total - other.filled as u64;
        other.buffer(other.open)[..other.filled].iter().for_each(|value| self.push(*value));
        self.above += other.above;
        self.below += other.below;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        Ok(())
    }
}

impl Quantiles for MankuRajagopalanLindsay {
    fn quantile(&self, q: f64) -> Option<Estimate> {
        if self.total == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = (q * (self.total - 1) as f64).floor() as u64 + 1;
        let all = self.weighted();
        let first_with = |rank: u64| {
            let mut counted = 0;
            let reaches = |(_, weight): &&(u64, u64)| {
                counted += weight;
                counted >= rank
            };
            all.iter().find(reaches).map(|(value, _)| *value)
        };
        let value = first_with(rank).unwrap_or(self.most) as f64;
        if self.above == 0 && self.below == 0 {
            return Some(Estimate::exact(value));
        }
        let lower =
            if rank > self.below { first_with(rank - self.below).unwrap_or(self.least) } else { self.least };
        let upper = first_with(rank + self.above).unwrap_or(self.most);
        Some(Estimate::bounded(value, lower as f64, upper as f64, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use crate::ordered_oracle::{STREAMS, check_answers, quantiles, updates};
    use packet::Seed;

    type Structure = MankuRajagopalanLindsay;

    fn config(width: usize) -> GridConfig<Structure> {
        GridConfig::with_width(width, Seed::new(1))
    }

    #[test]
    fn ranks_are_within_the_promised_error_whatever_the_order() {
        for (name, stream) in STREAMS {
            for (width, count) in [(1, 700), (10, 3_000), (100, 999), (100, 60_001), (333, 60_000)] {
                let values = stream(count);
                let summary: Structure = oracle::summary_of(&config(width), &updates(&values));
                assert_eq!(summary.total(), count as u64);
                let (error, collapses) = (summary.rank_error(), count > BUFFERS * width);
                assert_eq!(error > 0.0, collapses, "{name}, {width}: {error}");
                check_answers(&format!("{name}, buffers of {width}"), &summary, error, &values);
                // All weights together are those of all values.
                let weights: u64 = summary.weighted().iter().map(|(_, weight)| weight).sum();
                assert_eq!(weights, count as u64);
            }
            // Of 3,330 values the rank error is below 0.5 %.
            let summary: Structure = oracle::summary_of(&config(333), &updates(&stream(60_000)));
            assert!(summary.rank_error() < 300.0, "{name}: {}", summary.rank_error());
        }
    }

    #[test]
    fn merged_summaries_keep_their_promise_and_go_on() {
        for (name, stream) in STREAMS {
            let values = stream(30_000);
            let (first, rest) = values.split_at(11_111);
            let (second, last) = rest.split_at(13_010);
            let mut merged: Structure = oracle::summary_of(&config(60), &updates(first));
            merged.merge(&oracle::summary_of(&config(60), &updates(second))).expect("equal configurations");
            merged.update_burst(&updates(last));
            assert_eq!(merged.total(), 30_000);
            check_answers(name, &merged, merged.rank_error(), &values);
            assert!(merged.rank_error() < 1_500.0, "{name}: {}", merged.rank_error());
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (first, second) = (updates(&STREAMS[0].1(3_000)), updates(&STREAMS[1].1(500)));
        oracle::reset_equals_new(&config(20), &first, &second, quantiles::<Structure>);
        oracle::do_not_merge::<Structure>(&config(20), &config(21));
        oracle::check_sizes::<Structure>();
        assert!(Structure::new(&config(0)).is_err());
        let mut empty = Structure::new(&config(20)).expect("a structure");
        empty.merge(&empty.clone()).expect("equal configurations");
        assert!([0.0, 0.5, 1.5, -0.1, f64::NAN].iter().all(|q| empty.quantile(*q).is_none()));
        empty.update_burst(&updates(&[7]));
        assert_eq!((empty.quantile(0.3), empty.quantile(1.5)), (Some(Estimate::exact(7.0)), None));
    }
}
