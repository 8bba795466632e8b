//! Statistics of a flow's packets, as columns: `gap_mean`, `size_p50`, `iat_p99.9`.

use std::fmt;
use std::str::FromStr;

/// The quantity of which a statistic has samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Packets of other flows between two of this one (`--gap`).
    Gap,
    /// Layer-3 bytes of a packet (`--packet-size`).
    Size,
    /// Time between two packets, nanoseconds (`--inter-arrival`).
    InterArrival,
}

impl Metric {
    /// Returns the name with which the metric's columns begin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Size => "size",
            Self::InterArrival => "iat",
        }
    }

    /// Returns the option of a run that keeps its statistics of all flows.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Gap => "--gap",
            Self::Size => "--packet-size",
            Self::InterArrival => "--inter-arrival",
        }
    }

    /// The unit of its samples and of each of its statistics.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Gap => "packets",
            Self::Size => "bytes",
            Self::InterArrival => "ns",
        }
    }
}

/// The value that is computed from the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatisticKind {
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    StdDev,
    /// Percentile of this rank, between 0 and 100, estimated by P-square.
    Percentile(f64),
}

/// A statistic of a metric: one column. Its text form is the column's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// The metric of which the samples are.
    pub metric: Metric,
    /// The value that is computed from the samples.
    pub kind: StatisticKind,
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.metric.name();
        match self.kind {
            StatisticKind::Mean => write!(f, "{metric}_mean"),
            StatisticKind::StdDev => write!(f, "{metric}_stddev"),
            StatisticKind::Percentile(percent) => write!(f, "{metric}_p{percent}"),
        }
    }
}

impl FromStr for Statistic {
    type Err = NoStatistic;

    /// Reads the name of a column, upper and lower case alike.
    fn from_str(name: &str) -> Result<Self, NoStatistic> {
        let (metric, kind) = name.split_once('_').ok_or(NoStatistic)?;
        let metrics = [Metric::Gap, Metric::Size, Metric::InterArrival];
        let metric = metrics.into_iter().find(|known| known.name().eq_ignore_ascii_case(metric));
        let kind = match kind.to_ascii_lowercase().as_str() {
            "mean" => StatisticKind::Mean,
            "stddev" => StatisticKind::StdDev,
            kind => {
                let percent: Option<f64> = kind.strip_prefix('p').and_then(|digits| digits.parse().ok());
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
                StatisticKind::Percentile(percent.ok_or(NoStatistic)?)
            }
        };
        Ok(Self { metric: metric.ok_or(NoStatistic)?, kind })
    }
}

/// The name is none of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStatistic;

impl fmt::Display for NoStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("statistics are named as gap_mean, size_stddev, iat_p99.9")
    }
}

impl std::error::Error for NoStatistic {}

impl Statistic {
    /// A description in one line.
    pub fn meaning(&self) -> String {
        let samples = match self.metric {
            Metric::Gap => "the packets of other flows between two of this one",
            Metric::Size => "the packets' layer-3 bytes",
            Metric::InterArrival => "the time between two packets",
        };
        match self.kind {
            StatisticKind::Mean => format!("mean of {samples}"),
            StatisticKind::StdDev => format!("standard deviation of {samples}"),
            StatisticKind::Percentile(percent) => format!("percentile {percent} of {samples}, estimated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["gap_mean", "size_stddev", "iat_p99.9", "gap_p0", "size_p100"] {
            assert_eq!(name.parse::<Statistic>().map(|statistic| statistic.to_string()), Ok(name.to_owned()));
        }
        assert_eq!("GAP_P50".parse::<Statistic>().map(|statistic| statistic.metric), Ok(Metric::Gap));
        for other in ["gap", "gap_median", "gap_p101", "tcp_win", "size_p", "size_pnan"] {
            assert_eq!(other.parse::<Statistic>(), Err(NoStatistic), "{other}");
        }
    }
}
