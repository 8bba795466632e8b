//! Quantiles by ranks that are known within bounds (Greenwald, Khanna, "Space-efficient online computation of quantile summaries",
//! SIGMOD 2001).

use sketch::parts::filled;
use sketch::{
    Configuration, Estimate, Grid, GridConfig, Merge, Quantiles, SketchError, Summary, Unmergeable, Update,
    UpdateBurst,
};
use std::cell::Cell;

/// A summary that keeps some of the values (weights of its updates; keys and hashes are not used), in order, each with the least and the
/// greatest rank that it can have among all. Nothing is drawn: every bound is certain.
///
/// The paper sets the rank error ε and lets the number of tuples grow. Here the memory is set, and ε grows: where tuples find no room, those
/// that stay are as many as fit with the least ε·n for which the paper's compression leaves no more. Values come in through a buffer, which is
/// sorted and merged when it is full (Luo, Wang, Yi, Cormode, "Quantiles over data streams", VLDB Journal 2016), so that a value costs the
/// sort and four passes over a tuple. As long as all values have a tuple, answers are exact.
///
/// All values between two tuples of one value are that value, so that a value that comes often (a size of packets) takes two tuples and its
/// ranks are no error. The paper does not tell equal values apart.
#[derive(Clone, Debug)]
pub struct GreenwaldKhanna {
    config: GridConfig<Self>,
    /// Tuples in the order of their values, then room for a buffer of new ones.
    tuples: Box<[RankTuple]>,
    used: usize,
    buffer: Box<[u64]>,
    buffered: usize,
    /// No tuple that a compression made has a larger [`RankTuple::width`]: 2εn of the paper.
    threshold: u64,
}

/// A value of the stream, and what is known of its rank.
#[derive(Clone, Copy, Debug, Default)]
struct RankTuple {
    value: u64,
    /// The least rank minus that of the tuple before it: g of the paper.
    gap: u64,
    /// The greatest rank minus the least one: Δ of the paper.
    spread: u64,
}

impl RankTuple {
    /// The number of ranks between the least one of the tuple before and the greatest one of this.
    fn width(&self) -> u64 {
        self.gap + self.spread
    }
}

/// The number of values that are merged at a time, for this many tuples.
fn buffer_of(tuples: usize) -> usize {
    (tuples / 4).max(1)
}

impl Grid for GreenwaldKhanna {
    const KIND: &'static str = "Greenwald-Khanna summary";
    const ROWS: std::ops::RangeInclusive<usize> = 1..=1;
    const DEFAULT_ROWS: usize = 1;
    const UNIT: &'static str = "number of tuples";
    // The first and the last value always have a tuple.
    const WIDTH: std::ops::RangeInclusive<usize> = 8..=u32::MAX as usize;

    fn bytes(_: usize, tuples: usize) -> usize {
        let buffer = buffer_of(tuples);
        (tuples + buffer) * size_of::<RankTuple>() + buffer * size_of::<u64>()
    }
}

impl GreenwaldKhanna {
    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        self.tuples[..self.used].iter().map(|tuple| tuple.gap).sum::<u64>() + self.buffered as u64
    }

    /// Returns the number of ranks by which the value of a quantile may be off, for certain: half of the widest tuple (proposition 1 of the
    /// paper); 0 as long as all values are kept.
    pub fn rank_error(&self) -> f64 {
        let tuples = self.flushed();
        let widest = tuples.chunk_by(is_equal).map(|run| run[0].width()).max().unwrap_or(0);
        if widest <= 1 { 0.0 } else { widest as f64 / 2.0 }
    }

    /// The tuples with those of the buffer.
    fn flushed(&self) -> Vec<RankTuple> {
        let mut buffer: Vec<RankTuple> =
            self.buffer[..self.buffered].iter().map(|value| new_tuple(*value)).collect();
        buffer.sort_unstable_by_key(|tuple| tuple.value);
        merged(&self.tuples[..self.used], &buffer)
    }

    /// Merges the buffer into the tuples, without allocating.
    fn flush(&mut self) {
        let new = &mut self.buffer[..self.buffered];
        new.sort_unstable();
        // From the end, so that no tuple is overwritten before it has moved.
        let (mut old, mut to) = (self.used, self.used + new.len());
        self.used = to;
        // How many ranks lie between a new value and what follows it among the old ones.
        let mut spread = 0;
        for value in new.iter().rev() {
            while old > 0 && self.tuples[old - 1].value > *value {
                (old, to) = (old - 1, to - 1);
                self.tuples[to] = self.tuples[old];
                spread = self.tuples[to].width() - 1;
            }
            to -= 1;
            self.tuples[to] = RankTuple { spread, ..new_tuple(*value) };
        }
        self.buffered = 0;
        if self.used > self.config.width {
            let room = self.config.width;
            self.threshold = least_threshold(&self.tuples[..self.used], self.threshold, room);
            self.used = compress(&mut self.tuples[..self.used], self.threshold);
        }
    }
}

fn new_tuple(value: u64) -> RankTuple {
    RankTuple { value, gap: 1, spread: 0 }
}

/// Merges two summaries: the ranks of a value of one grow by those that it may have in the other (Greenwald, Khanna, PODS 2004).
fn merged(ours: &[RankTuple], theirs: &[RankTuple]) -> Vec<RankTuple> {
    let mut all = Vec::with_capacity(ours.len() + theirs.len());
    let (mut a, mut b) = (ours.iter().peekable(), theirs.iter().peekable());
    loop {
        let is_ours = match (a.peek(), b.peek()) {
            (Some(ours), Some(theirs)) => ours.value <= theirs.value,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return all,
        };
        let (from, other) = if is_ours { (&mut a, &mut b) } else { (&mut b, &mut a) };
        let between = other.peek().map_or(0, |next| next.width() - 1);
        all.extend(from.next().map(|tuple| RankTuple { spread: tuple.spread + between, ..*tuple }));
    }
}

fn is_equal(a: &RankTuple, b: &RankTuple) -> bool {
    a.value == b.value
}

/// Calls `keep` for each tuple that stays where others go into the next one as long as that gets no wider than `threshold`. The first and the
/// last tuple stay. Between two of one value all go.
fn compress_each(
    tuples: usize,
    threshold: u64,
    at: impl Fn(usize) -> RankTuple,
    mut keep: impl FnMut(RankTuple),
) {
    let (mut carried, mut before) = (0, None);
    for number in 0..tuples {
        let tuple = at(number);
        let tuple = RankTuple { gap: tuple.gap + carried, ..tuple };
        let next = (0 < number && number + 1 < tuples).then(|| at(number + 1));
        let goes = next.is_some_and(|next| {
            let is_between = before == Some(tuple.value) && next.value == tuple.value;
            is_between || tuple.gap + next.width() <= threshold
        });
        if goes {
            carried = tuple.gap;
        } else {
            keep(tuple);
            (carried, before) = (0, Some(tuple.value));
        }
    }
}

/// Compresses tuples in place; returns how many are left.
fn compress(tuples: &mut [RankTuple], threshold: u64) -> usize {
    let mut kept = 0;
    // What is kept never passes what is read next.
    let cells = Cell::from_mut(tuples).as_slice_of_cells();
    compress_each(
        cells.len(),
        threshold,
        |at| cells[at].get(),
        |tuple| {
            cells[kept].set(tuple);
            kept += 1;
        },
    );
    kept
}

/// Returns the number of tuples that [`compress`] would leave.
fn compressed(tuples: &[RankTuple], threshold: u64) -> usize {
    let mut kept = 0;
    compress_each(tuples.len(), threshold, |at| tuples[at], |_| kept += 1);
    kept
}

/// Returns the least threshold from `threshold` on with which no more than `room` tuples are left, by halving the distance to one that is
/// found by doubling it. A part more than the least would be a part more in each round, where all values fall between two tuples.
fn least_threshold(tuples: &[RankTuple], threshold: u64, room: usize) -> u64 {
    let fits = |threshold| compressed(tuples, threshold) <= room;
    if fits(threshold) {
        return threshold;
    }
    let mut more = 1;
    while !fits(threshold + more) {
        more *= 2;
    }
    let (mut too_little, mut enough) = (threshold + more / 2, threshold + more);
    while enough - too_little > 1 {
        let middle = u64::midpoint(too_little, enough);
        if fits(middle) { enough = middle } else { too_little = middle }
    }
    enough
}

impl Summary for GreenwaldKhanna {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let buffer = buffer_of(config.width);
        Ok(Self {
            config: config.clone(),
            tuples: filled(config.width + buffer, RankTuple::default())?,
            used: 0,
            buffer: filled(buffer, 0)?,
            buffered: 0,
            threshold: 0,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        (self.used, self.buffered, self.threshold) = (0, 0, 0);
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K> UpdateBurst<K> for GreenwaldKhanna {
    fn update_burst(&mut self, burst: &[Update<K>]) {
        for update in burst {
            self.buffer[self.buffered] = update.weight;
            self.buffered += 1;
            if self.buffered == self.buffer.len() {
                self.flush();
            }
        }
    }
}

/// The rank errors of both add up, and a compression to the room of one adds its own. It allocates.
impl Merge for GreenwaldKhanna {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        let mut all = merged(&self.flushed(), &other.flushed());
        self.buffered = 0;
        self.threshold = self.threshold.max(other.threshold);
        if all.len() > self.config.width {
            self.threshold = least_threshold(&all, self.threshold, self.config.width);
            let kept = compress(&mut all, self.threshold);
            all.truncate(kept);
        }
        self.used = all.len();
        self.tuples[..all.len()].copy_from_slice(&all);
        Ok(())
    }
}

impl Quantiles for GreenwaldKhanna {
    fn quantile(&self, q: f64) -> Option<Estimate> {
        let tuples = self.flushed();
        let total = tuples.iter().map(|tuple| tuple.gap).sum::<u64>();
        if total == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = (q * (total - 1) as f64).floor() as u64 + 1;
        let mut least_rank = 0;
        // The first tuple has rank 1 and the last one rank n, so that there are always both bounds.
        let (mut lower, mut upper, mut nearest) = (None, None, None);
        for run in tuples.chunk_by(is_equal) {
            let value = run[0].value as f64;
            // A value has all ranks from the greatest one of its first tuple to the least one of its last.
            let from = least_rank + run[0].width();
            least_rank += run.iter().map(|tuple| tuple.gap).sum::<u64>();
            lower = if from <= rank { Some(value) } else { lower };
            upper = if least_rank >= rank { upper.or(Some(value)) } else { upper };
            let off = rank.saturating_sub(least_rank).max(from.saturating_sub(rank));
            nearest = match nearest {
                Some((_, least_off)) if least_off <= off => nearest,
                _ => Some((value, off)),
            };
        }
        let ((value, _), lower, upper) = (nearest?, lower?, upper?);
        Some(if lower == upper {
            Estimate::exact(lower)
        } else {
            Estimate::bounded(value.clamp(lower, upper), lower, upper, 1.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use crate::ordered_oracle::{STREAMS, check_answers, quantiles, updates};
    use packet::Seed;

    fn config(tuples: usize) -> GridConfig<GreenwaldKhanna> {
        GridConfig::with_width(tuples, Seed::new(1))
    }

    /// The rank error that is asked for, as a multiple of values for each tuple.
    fn worst(name: &str) -> f64 {
        if name == "from both ends" { 5.0 } else { 1.25 }
    }

    #[test]
    fn ranks_are_within_the_promised_error_whatever_the_order() {
        for (name, stream) in STREAMS {
            for (tuples, count) in [(8, 3_000), (100, 20_000), (1_000, 999), (1_000, 60_000)] {
                let values = stream(count);
                let summary: GreenwaldKhanna = oracle::summary_of(&config(tuples), &updates(&values));
                assert_eq!(summary.total(), count as u64);
                let error = summary.rank_error();
                check_answers(&format!("{name}, {tuples} tuples"), &summary, error, &values);
                // As few tuples as ε takes: of 1,000 the rank error is below 0.125 %, and four times that where all values fall between two tuples.
                let asked = if count <= tuples { 0.0 } else { worst(name) * count as f64 / tuples as f64 };
                assert!(error <= asked, "{name}: {error} ranks of {count} with {tuples} tuples");
            }
        }
    }

    #[test]
    fn merged_summaries_keep_their_promise_and_go_on() {
        for (name, stream) in STREAMS {
            let values = stream(30_000);
            let (first, rest) = values.split_at(11_000);
            let (second, last) = rest.split_at(13_010);
            let mut merged: GreenwaldKhanna = oracle::summary_of(&config(400), &updates(first));
            merged.merge(&oracle::summary_of(&config(400), &updates(second))).expect("equal configurations");
            merged.update_burst(&updates(last));
            assert_eq!(merged.total(), 30_000);
            let error = merged.rank_error();
            assert!(error < worst(name) * 30_000.0 / 400.0, "{name}: {error}");
            check_answers(name, &merged, error, &values);
        }
    }

    #[test]
    fn resets_sizes_and_refusals() {
        let (first, second) = (updates(&STREAMS[0].1(3_000)), updates(&STREAMS[1].1(500)));
        oracle::reset_equals_new(&config(64), &first, &second, quantiles::<GreenwaldKhanna>);
        oracle::do_not_merge::<GreenwaldKhanna>(&config(64), &config(65));
        oracle::check_sizes::<GreenwaldKhanna>();
        assert!(GreenwaldKhanna::new(&config(7)).is_err());
        let mut empty = GreenwaldKhanna::new(&config(64)).expect("a structure");
        empty.merge(&empty.clone()).expect("equal configurations");
        assert_eq!((empty.total(), empty.rank_error()), (0, 0.0));
        assert!([0.0, 0.5, 1.5, -0.1, f64::NAN].iter().all(|q| empty.quantile(*q).is_none()));
        empty.update_burst(&updates(&[7]));
        assert_eq!((empty.quantile(0.3), empty.quantile(1.5)), (Some(Estimate::exact(7.0)), None));
    }
}
