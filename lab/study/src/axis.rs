//! An axis' scale: where a value lies, which values are marked, and how.

use crate::panel::Axis;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// A scale that fits values.
#[derive(Clone, Debug)]
pub(crate) struct Scaled {
    low: f64,
    high: f64,
    is_log: bool,
    ticks: Vec<f64>,
    labels: Vec<String>,
}

impl Scaled {
    /// Makes the scale for these values of an axis. Values that cannot be drawn are not among them.
    pub(crate) fn fitting(axis: &Axis, values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = if least <= most { (least, most) } else { (1.0, 2.0) };
        match axis {
            Axis::Linear { .. } => Self::linear(least.min(0.0), if most > 0.0 { most * 1.05 } else { 1.0 }),
            Axis::Log { .. } => Self::log(least, most),
            Axis::Whole { .. } => {
                let ticks: Vec<f64> =
                    (least.floor() as i64..=most.ceil() as i64).map(|number| number as f64).collect();
                let labels = ticks.iter().map(|tick| number(*tick)).collect();
                Self { low: least.floor() - 0.5, high: most.ceil() + 0.5, is_log: false, ticks, labels }
            }
            Axis::Bytes { .. } => {
                let mut ticks = values.to_vec();
                ticks.sort_by(f64::total_cmp);
                ticks.dedup();
                let labels = ticks.iter().map(|tick| notation::size_text(*tick as usize)).collect();
                Self { low: least / 1.3, high: most * 1.3, is_log: true, ticks, labels }
            }
            Axis::Names { names, .. } => {
                let ticks = (0..names.len()).map(|number| number as f64).collect();
                let high = names.len().max(1) as f64 - 0.5;
                Self { low: -0.5, high, is_log: false, ticks, labels: names.clone() }
            }
        }
    }

    fn linear(low: f64, high: f64) -> Self {
        let step = step((high - low) / 5.0);
        let first = (low / step).ceil() as i64;
        let ticks: Vec<_> =
            (first..).map(|number| number as f64 * step).take_while(|tick| *tick <= high).collect();
        let labels = ticks.iter().map(|tick| number(*tick)).collect();
        Self { low, high, is_log: false, ticks, labels }
    }

    fn log(least: f64, most: f64) -> Self {
        let (low, high) = (least / 1.25, most * 1.25);
        let decades =
            (low.log10().floor() as i32..=high.log10().ceil() as i32).map(|power| 10_f64.powi(power));
        // More marks where there are few decades.
        let parts: &[f64] = match (high / low).log10() {
            ..=0.8 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            ..=3.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let ticks: Vec<_> = decades
            .flat_map(|decade| parts.iter().map(move |part| decade * part))
            .filter(|tick| (low..=high).contains(tick))
            .collect();
        let labels = ticks.iter().map(|tick| number(*tick)).collect();
        Self { low, high, is_log: true, ticks, labels }
    }

    /// Returns true if a value can be drawn on the axis.
    pub(crate) fn takes(axis: &Axis, value: f64) -> bool {
        value.is_finite() && (value > 0.0 || !matches!(axis, Axis::Log { .. } | Axis::Bytes { .. }))
    }

    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    /// Returns both ends of the scale.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Returns the number of values that are marked.
    pub(crate) fn marks(&self) -> usize {
        self.ticks.len()
    }
}

/// The nearest of 1, 2, 5 times a power of ten above.
fn step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let parts = [1.0, 2.0, 5.0, 10.0];
    power * parts.into_iter().find(|part| part * power >= rough).unwrap_or(10.0)
}

/// A number for a mark: `20M`, `1.5`, `0.002`, `1e-8`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let trimmed = |value: f64, unit: &str| format!("{}{unit}", (value * 1000.0).round() / 1000.0);
    match size {
        0.0 => "0".to_owned(),
        1e9.. => trimmed(value / 1e9, "G"),
        1e6.. => trimmed(value / 1e6, "M"),
        1e4.. => trimmed(value / 1e3, "k"),
        1e-3.. => trimmed(value, ""),
        _ => format!("{value:.0e}"),
    }
}

impl Ranged for Scaled {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let at = |value: f64| if self.is_log { value.ln() } else { value };
        let share = (at(*value) - at(self.low)) / (at(self.high) - at(self.low));
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scaled {
    fn format_ext(&self, value: &f64) -> String {
        let at = self.ticks.iter().position(|tick| tick == value);
        at.map_or_else(String::new, |at| self.labels[at].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> String {
        "ns".to_owned()
    }

    #[test]
    fn marks_are_round_numbers_within_the_scale() {
        let linear = Scaled::fitting(&Axis::Linear { label: label() }, &[3.0, 47.0]);
        assert_eq!(linear.ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
        let log = Scaled::fitting(&Axis::Log { label: label() }, &[3.0, 470.0]);
        assert_eq!(log.ticks, [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]);
        let sizes = Scaled::fitting(&Axis::Bytes { label: label() }, &[2097152.0, 32768.0, 32768.0]);
        assert_eq!(sizes.labels, ["32 KiB", "2 MiB"]);
        assert_eq!((log.map(&(3.0 / 1.25), (0, 100)), log.map(&(470.0 * 1.25), (0, 100))), (0, 100));
        assert!(!Scaled::takes(&Axis::Log { label: label() }, 0.0));
        assert!(Scaled::takes(&Axis::Linear { label: label() }, 0.0));
        assert!(!Scaled::takes(&Axis::Linear { label: label() }, f64::NAN));
    }

    #[test]
    fn an_axis_of_whole_numbers_marks_no_halves() {
        let cores = Scaled::fitting(&Axis::Whole { label: label() }, &[1.0, 2.0]);
        assert_eq!((cores.ticks.as_slice(), cores.labels.join(" ")), (&[1.0, 2.0][..], "1 2".to_owned()));
        assert_eq!((cores.low, cores.high), (0.5, 2.5));
    }

    #[test]
    fn an_axis_of_nothing_has_marks() {
        for values in [&[][..], &[0.0], &[5.0, 5.0]] {
            let linear = Scaled::fitting(&Axis::Linear { label: label() }, values);
            assert!(linear.low < linear.high && !linear.ticks.is_empty(), "{values:?}");
        }
        let log = Scaled::fitting(&Axis::Log { label: label() }, &[]);
        assert!(log.low > 0.0 && !log.ticks.is_empty());
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 2e7, 1.5, 0.002, 1e-8, 25_000.0, 1e9, 120.0].map(number);
        assert_eq!(texts, ["0", "20M", "1.5", "0.002", "1e-8", "25k", "1G", "120"]);
    }
}
