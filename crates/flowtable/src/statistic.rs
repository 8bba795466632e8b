//! Statistics of a metric of one flow (interleaving gap, packet size, inter-arrival time), kept while its packets
//! pass.
//!
//! Source: FloWatcher, section III.D, whose Algorithm 1 as printed divides the sum of the gaps by the packets. A
//! flow of n packets has n − 1 gaps: here the samples are counted, and the caller adds one per gap.
//!
//! The [`StatisticSpec`] is the same for all flows of a run, so that the state of a flow is nothing but
//! numbers: [`StatisticSpec::blocks`] cache lines, one for the moments if they are needed and one for each
//! percentile.

mod moments;
mod p_square;

use flow::{Metric, Statistic, StatisticKind};
pub use moments::Moments;
pub use p_square::{PSquare, Quantile};
use std::fmt;
use std::str::FromStr;

/// A statistic that can be requested. Its text form is its name in a list and as a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedStatistic {
    /// Arithmetic mean, exact ([`Moments::mean`]).
    Mean,
    /// Standard deviation of the population, exact ([`Moments::stddev`]).
    StdDev,
    /// A percentile in units of 0.0001 %, estimated ([`PSquare`]).
    Percentile(u32),
}

impl RequestedStatistic {
    /// Returns the column that has this statistic of `metric`.
    pub fn column(self, metric: Metric) -> Statistic {
        let kind = match self {
            Self::Mean => StatisticKind::Mean,
            Self::StdDev => StatisticKind::StdDev,
            Self::Percentile(p) => StatisticKind::Percentile(f64::from(p) / 1e4),
        };
        Statistic { metric, kind }
    }
}

impl fmt::Display for RequestedStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mean => f.write_str("mean"),
            Self::StdDev => f.write_str("stddev"),
            Self::Percentile(p) => match (p / 10_000, p % 10_000) {
                (whole, 0) => write!(f, "p{whole}"),
                (whole, part) => write!(f, "p{whole}.{}", format!("{part:04}").trim_end_matches('0')),
            },
        }
    }
}

impl FromStr for RequestedStatistic {
    type Err = StatisticError;

    /// Reads a name, case-insensitive.
    fn from_str(name: &str) -> Result<Self, StatisticError> {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "" => return Err(StatisticError::Empty),
            "mean" => return Ok(Self::Mean),
            "stddev" => return Ok(Self::StdDev),
            _ => {}
        }
        let number = lower.strip_prefix('p').ok_or_else(|| StatisticError::Unknown(name.to_owned()))?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(part) {
            return Err(StatisticError::Unknown(name.to_owned()));
        }
        let part = part.trim_end_matches('0');
        if part.len() > 4 {
            return Err(StatisticError::TooFine(name.to_owned()));
        }
        // Only digits are left: it is a number, or too long for one.
        let percentile = format!("{whole}{part:0<4}").parse().unwrap_or(u32::MAX);
        match percentile {
            1..1_000_000 => Ok(Self::Percentile(percentile)),
            _ => Err(StatisticError::OutOfRange(name.to_owned())),
        }
    }
}

/// The reason why a list of statistics was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticError {
    /// A name is missing: an empty list, or an extra comma.
    Empty,
    /// A name that is no statistic.
    Unknown(String),
    /// A percentile of 0 or below, or of 100 or above.
    OutOfRange(String),
    /// A percentile with more than four decimals.
    TooFine(String),
    /// A statistic is in the list more than once.
    Twice(RequestedStatistic),
    /// The first one beyond [`StatisticSpec::MAX_STATISTICS`].
    TooMany(RequestedStatistic),
}

impl fmt::Display for StatisticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("the name of a statistic is missing; write them as `mean,stddev,p99.9`")
            }
            Self::Unknown(name) => write!(
                f,
                "unknown statistic `{name}`; there are `mean`, `stddev` and percentiles such as `p50` or `p99.9`"
            ),
            Self::OutOfRange(name) => {
                write!(f, "percentile `{name}` is out of range; it must lie above `p0` and below `p100`")
            }
            Self::TooFine(name) => {
                write!(
                    f,
                    "percentile `{name}` has too many decimals; `p99.9999` has the four that it may have"
                )
            }
            Self::Twice(statistic) => write!(f, "statistic `{statistic}` is named twice"),
            Self::TooMany(statistic) => write!(
                f,
                "statistic `{statistic}` is one too many; a list may name {}",
                StatisticSpec::MAX_STATISTICS
            ),
        }
    }
}

impl std::error::Error for StatisticError {}

/// The statistics of one metric: a list such as `mean,stddev,p50,p99.9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticSpec {
    /// The first `len` are requested.
    statistics: [RequestedStatistic; Self::MAX_STATISTICS],
    len: usize,
    has_moments: bool,
    /// Quantiles of the percentiles, in their order.
    quantiles: [Quantile; Self::MAX_STATISTICS],
    quantiles_len: usize,
}

impl FromStr for StatisticSpec {
    type Err = StatisticError;

    /// Reads a list with commas; blanks around the names and their case are ignored.
    fn from_str(list: &str) -> Result<Self, StatisticError> {
        let mut spec = Self::EMPTY;
        list.split(',').map(str::trim).try_for_each(|name| spec.push(name.parse()?))?;
        Ok(spec)
    }
}

impl fmt::Display for StatisticSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, statistic) in self.statistics().iter().enumerate() {
            write!(f, "{}{statistic}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// A sample of one flow, for [`StatisticSpec::add_to_percentiles`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PercentileSample {
    /// Index of the first block of the flow's state.
    pub(crate) block: usize,
    /// The sample: packets of other flows, bytes, nanoseconds.
    pub(crate) value: u64,
}

impl StatisticSpec {
    /// The most statistics that may be requested, and the most blocks that the state of a flow takes.
    pub const MAX_STATISTICS: usize = 4;

    const EMPTY: Self = Self {
        statistics: [RequestedStatistic::Mean; Self::MAX_STATISTICS],
        len: 0,
        has_moments: false,
        quantiles: [Quantile::new(0); Self::MAX_STATISTICS],
        quantiles_len: 0,
    };

    fn push(&mut self, statistic: RequestedStatistic) -> Result<(), StatisticError> {
        if self.statistics().contains(&statistic) {
            return Err(StatisticError::Twice(statistic));
        }
        if self.len == Self::MAX_STATISTICS {
            return Err(StatisticError::TooMany(statistic));
        }
        self.statistics[self.len] = statistic;
        self.len += 1;
        if let RequestedStatistic::Percentile(p) = statistic {
            self.quantiles[self.quantiles_len] = Quantile::new(p);
            self.quantiles_len += 1;
        } else {
            self.has_moments = true;
        }
        Ok(())
    }

    /// Returns the requested statistics for which `keep` is true, in their order; `None` if it is true for none.
    pub fn filtered(&self, mut keep: impl FnMut(&RequestedStatistic) -> bool) -> Option<Self> {
        let mut kept = Self::EMPTY;
        for statistic in self.statistics().iter().filter(|statistic| keep(statistic)) {
            // A part of a list has no more than the list, and nothing twice.
            kept.push(*statistic).ok()?;
        }
        (kept.len != 0).then_some(kept)
    }

    /// Returns the columns that records and rows have of this list, which is of `metric`, in their order.
    pub fn columns(&self, metric: Metric) -> impl Iterator<Item = Statistic> + '_ {
        self.statistics().iter().map(move |statistic| statistic.column(metric))
    }

    /// The requested statistics, in their order.
    pub fn statistics(&self) -> &[RequestedStatistic] {
        &self.statistics[..self.len]
    }

    /// Blocks that the state of one flow takes, 1 to [`StatisticSpec::MAX_STATISTICS`].
    pub fn blocks(&self) -> usize {
        usize::from(self.has_moments) + self.quantiles_len
    }

    fn quantiles(&self) -> &[Quantile] {
        &self.quantiles[..self.quantiles_len]
    }

    /// Counts a sample in a flow's state.
    ///
    /// # Panics
    /// If there are fewer blocks than [`StatisticSpec::blocks`].
    #[inline]
    pub fn add(&self, state: &mut [StatisticBlock], sample: u64) {
        let (moments, quantiles) = state[..self.blocks()].split_at_mut(usize::from(self.has_moments));
        if let [block] = moments {
            block.add_to_moments(sample);
        }
        for (block, quantile) in quantiles.iter_mut().zip(self.quantiles()) {
            block.add_to_quantile(quantile, sample);
        }
    }

    /// True if mean or deviation are requested: they are in the first block, which
    /// [`StatisticBlock::add_to_moments`] counts in.
    pub(crate) fn has_moments(&self) -> bool {
        self.has_moments
    }

    /// True if percentiles are requested.
    pub(crate) fn has_percentiles(&self) -> bool {
        self.quantiles_len != 0
    }

    /// Counts samples of many flows in their percentiles, in their order. The work of one percentile is done
    /// for the whole batch before that of the next: which there are is determined once per batch, not per
    /// packet.
    ///
    /// # Panics
    /// If a sample's blocks do not all lie in `states`.
    pub(crate) fn add_to_percentiles(&self, states: &mut [StatisticBlock], samples: &[PercentileSample]) {
        for (offset, quantile) in (usize::from(self.has_moments)..).zip(self.quantiles()) {
            for sample in samples {
                states[sample.block + offset].add_to_quantile(quantile, sample.value);
            }
        }
    }

    /// Clears a flow's samples and its last counter.
    ///
    /// # Panics
    /// If there are fewer blocks than [`StatisticSpec::blocks`].
    pub fn clear(&self, state: &mut [StatisticBlock]) {
        state[..self.blocks()].fill(StatisticBlock::EMPTY);
    }

    /// The statistics of a flow in the order of [`StatisticSpec::statistics`]; NaN if there is no value, and
    /// after the last.
    ///
    /// # Panics
    /// If there are fewer blocks than [`StatisticSpec::blocks`].
    pub fn values(&self, state: &[StatisticBlock]) -> [f64; Self::MAX_STATISTICS] {
        let (moments, quantiles) = state[..self.blocks()].split_at(usize::from(self.has_moments));
        let moments = moments.first().map(|block| block.moments()).unwrap_or_default();
        let mut estimates = quantiles
            .iter()
            .zip(self.quantiles())
            .map(|(block, quantile)| block.quantile().estimate(quantile));
        let mut values = [f64::NAN; Self::MAX_STATISTICS];
        for (value, statistic) in values.iter_mut().zip(self.statistics()) {
            let known = match statistic {
                RequestedStatistic::Mean => moments.mean(),
                RequestedStatistic::StdDev => moments.stddev(),
                RequestedStatistic::Percentile(_) => estimates.next().flatten(),
            };
            *value = known.unwrap_or(f64::NAN);
        }
        values
    }
}

/// A cache line of a flow's state. All zero is empty, like new memory.
///
/// Words and not a `union`, because the spec, not the block, knows whether moments or a percentile are in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct StatisticBlock {
    /// Moments: 4 words, 3 unused. A percentile: heights, then positions.
    words: [u64; 7],
    /// The counter at the flow's last packet plus one; 0 is none.
    last: u64,
}

const _: () = assert!(size_of::<StatisticBlock>() == 64);

impl StatisticBlock {
    /// The block without samples.
    pub const EMPTY: Self = Self { words: [0; 7], last: 0 };

    /// Stores a counter's value at the flow's latest packet and returns that at the previous one, if any. It
    /// is kept in a line that the next sample touches anyway: that of the flow's first block. For the
    /// interleaving gap the counter is that of all packets received, and the gap `counter - last - 1`.
    ///
    /// The counter's very last value, 2^64 − 1, is not stored.
    #[inline(always)]
    pub fn replace_last(&mut self, counter: u64) -> Option<u64> {
        let last = self.last.checked_sub(1);
        self.last = counter.wrapping_add(1);
        last
    }

    #[inline(always)]
    fn moments(&self) -> Moments {
        let [a, b, c, d, ..] = self.words;
        Moments::from_words([a, b, c, d])
    }

    #[inline(always)]
    fn quantile(&self) -> PSquare {
        PSquare::from_words(self.words)
    }

    #[inline(always)]
    pub(crate) fn add_to_moments(&mut self, sample: u64) {
        let mut moments = self.moments();
        moments.add(sample);
        self.words[..4].copy_from_slice(&moments.to_words());
    }

    #[inline(always)]
    fn add_to_quantile(&mut self, quantile: &Quantile, sample: u64) {
        let mut p_square = self.quantile();
        if !p_square.is_common() {
            return self.add_to_quantile_rare(quantile, sample);
        }
        p_square.add_common(quantile, sample);
        self.words = p_square.to_words();
    }

    /// A separate function, so that the common case stays in registers.
    #[inline(never)]
    fn add_to_quantile_rare(&mut self, quantile: &Quantile, sample: u64) {
        let mut p_square = self.quantile();
        p_square.add_rare(quantile, sample);
        self.words = p_square.to_words();
    }
}
