//! Statistics of a flow's packets, as columns: `gap_mean`, `size_p50`, `iat_p99.9`.

use std::fmt;

/// What the samples of a statistic are.
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
    /// How its columns begin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Size => "size",
            Self::InterArrival => "iat",
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

/// What is computed from the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatisticKind {
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    StdDev,
    /// This percentile, between 0 and 100, estimated by P-square.
    Percentile(f64),
}

/// A statistic of a metric: one column. Its text form is the column's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// What the samples are.
    pub metric: Metric,
    /// What is computed from them.
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
