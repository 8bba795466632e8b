//! The settings of a run: tests, frame sizes, and lengths.

use crate::frame::{self, FRAMES};
use crate::search::LoadSearch;
use crate::trial::LinkLoad;
use model::Integer;
use serde::Serialize;
use std::fmt;

/// The most frames of a trial: a bit for each takes 8 GiB. 100 Gbit/s of the smallest frames have fewer in seven minutes.
const MOST_OF_TRIAL: u64 = 1 << 36;
// A signature has room for the number of each.
const _: () = assert!(MOST_OF_TRIAL <= FRAMES);

/// A test of RFC 2544.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The greatest rate without loss (section 26.1).
    Throughput,
    /// The delay at the throughput (section 26.2).
    Latency,
    /// The share of frames that is lost at each rate (section 26.3).
    FrameLoss,
    /// The longest burst at the link's rate without loss (section 26.4).
    BackToBack,
}

impl Test {
    /// All tests, in the order in which they are performed.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Latency, Self::FrameLoss, Self::BackToBack];

    /// Returns the name of the test on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::FrameLoss => "frame-loss",
            Self::BackToBack => "back-to-back",
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestSettings {
    /// The tests that are performed.
    pub tests: Vec<Test>,
    /// Frame sizes, bytes with check sequence.
    pub sizes: Vec<u32>,
    /// The speed of the link, from which the theoretical maximum follows, bits per second.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub link_bits_per_second: u64,
    /// Length of a trial of throughput and frame loss, nanoseconds.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub trial_ns: u64,
    /// Length of a trial of latency, nanoseconds.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub latency_trial_ns: u64,
    /// Trials of latency at each size.
    pub latency_repeats: u32,
    /// The longest burst, as the time that it takes at the link's rate, nanoseconds.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub burst_ns: u64,
    /// Searches for the longest burst at each size.
    pub burst_repeats: u32,
    /// Frames of a million that may be lost in a trial that passes.
    pub tolerance_ppm: u32,
    /// The resolution of searches, in millionths of the theoretical maximum, or of the longest burst.
    pub resolution_ppm: u32,
    /// The step between two rates of the frame loss test, in millionths of the theoretical maximum.
    pub loss_step_ppm: u32,
    /// The wait after learning frames, and after the last frame of a trial, nanoseconds.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub settle_ns: u64,
    /// The wait between two trials, nanoseconds.
    #[serde(with = "Integer")]
    #[cfg_attr(feature = "schema", schemars(with = "Integer"))]
    pub pause_ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

impl TestSettings {
    /// The procedure of RFC 2544 on a link of this speed. Where the RFC leaves it open, searches resolve a thousandth of the maximum.
    pub fn of_rfc(link_bits_per_second: u64) -> Self {
        Self {
            tests: Test::ALL.to_vec(),
            sizes: frame::SIZES.to_vec(),
            link_bits_per_second,
            trial_ns: 60 * SECOND_NS,
            latency_trial_ns: 120 * SECOND_NS,
            latency_repeats: 20,
            burst_ns: 2 * SECOND_NS,
            burst_repeats: 50,
            tolerance_ppm: 0,
            resolution_ppm: 1000,
            loss_step_ppm: 100_000,
            settle_ns: 2 * SECOND_NS,
            pause_ns: 5 * SECOND_NS,
        }
    }

    /// Returns true if a test is performed. That of latency needs the throughput.
    pub fn has(&self, test: Test) -> bool {
        let is_needed = test == Test::Throughput && self.tests.contains(&Test::Latency);
        self.tests.contains(&test) || is_needed
    }

    /// Returns a frame size on the link.
    pub fn load(&self, frame_size: u32) -> LinkLoad {
        LinkLoad { frame_size, link_bits_per_second: self.link_bits_per_second }
    }

    /// Returns the frames of the longest burst of a size.
    pub fn longest_burst(&self, frame_size: u32) -> u64 {
        frames_in(self.load(frame_size).most(), self.burst_ns).max(1)
    }

    /// Returns the resolution of a search up to `most`.
    pub fn step(&self, most: u64) -> u64 {
        let step = u128::from(most) * u128::from(self.resolution_ppm) / 1_000_000;
        u64::try_from(step).unwrap_or(u64::MAX).max(1)
    }

    /// Returns the tests that are performed, and the length of a trial of each in words and nanoseconds.
    fn lengths(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let length = |test: Test| match test {
            Test::Throughput | Test::FrameLoss => ("a trial", self.trial_ns),
            Test::Latency => ("a trial of latency", self.latency_trial_ns),
            Test::BackToBack => ("the longest burst", self.burst_ns),
        };
        Test::ALL.into_iter().filter(|&test| self.has(test)).map(length)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Returns, in one line, which setting cannot be.
    pub fn check(&self) -> Result<(), String> {
        for &size in &self.sizes {
            if !(frame::SMALLEST..=frame::LARGEST).contains(&size) {
                return Err(format!(
                    "frames of {size} bytes: Ethernet has frames from {} bytes, with check sequence, and up to {} are tested",
                    frame::SMALLEST,
                    frame::LARGEST
                ));
            }
            let most = self.load(size).most();
            if most == 0 {
                return Err(format!(
                    "a link of {} bits per second carries no frame of {size} bytes in a second",
                    self.link_bits_per_second
                ));
            }
            for (what, length_ns) in self.lengths() {
                let frames = match frames_in(most, length_ns) {
                    0 => "no frame",
                    MOST_OF_TRIAL.. => "too many frames",
                    _ => continue,
                };
                let (length, unit) = match length_ns % SECOND_NS {
                    0 => (length_ns / SECOND_NS, "s"),
                    _ => (length_ns, "ns"),
                };
                return Err(format!("{what} of {length} {unit} at {most} frames per second has {frames}"));
            }
        }
        Ok(())
    }

    /// Returns about how long the run takes at the most, nanoseconds: it is shorter where searches and rates end early, and longer where the
    /// sender is slow.
    pub fn longest_run_ns(&self) -> u64 {
        let waits = 2 * u128::from(self.settle_ns) + u128::from(self.pause_ns);
        let mut sum: u128 = 0;
        let mut add = |trials: u64, length: u64| sum += u128::from(trials) * (u128::from(length) + waits);
        add(1, SECOND_NS);
        for &size in &self.sizes {
            let search = |most: u64| u64::from(LoadSearch::most_trials(most, self.step(most)));
            if self.has(Test::Throughput) {
                add(search(self.load(size).most()), self.trial_ns);
            }
            if self.has(Test::Latency) {
                add(self.latency_repeats.into(), self.latency_trial_ns);
            }
            if self.has(Test::FrameLoss) {
                add(1_000_000_u64.div_ceil(self.loss_step_ppm.max(1).into()), self.trial_ns);
            }
            if self.has(Test::BackToBack) {
                add(search(self.longest_burst(size)) * u64::from(self.burst_repeats), self.burst_ns);
            }
        }
        u64::try_from(sum).unwrap_or(u64::MAX)
    }
}

fn frames_in(rate: u64, time_ns: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(time_ns) / u128::from(SECOND_NS)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_tested_is_refused() {
        let settings = TestSettings::of_rfc(10_000_000_000);
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(settings.longest_burst(64), 29_761_904);
        assert_eq!((settings.step(14_880_952), settings.step(10)), (14_880, 1));
        for (changed, word) in [
            (TestSettings { sizes: vec![64, 63], ..settings.clone() }, "63 bytes"),
            (TestSettings { sizes: vec![9217], ..settings.clone() }, "9217 bytes"),
            (TestSettings { link_bits_per_second: 100, ..settings.clone() }, "no frame of 64 bytes"),
            (TestSettings { trial_ns: u64::MAX, ..settings.clone() }, "too many frames"),
            (
                TestSettings { trial_ns: 1, ..settings.clone() },
                "a trial of 1 ns at 14880952 frames per second has no frame",
            ),
            (TestSettings { latency_trial_ns: 1, ..settings.clone() }, "a trial of latency of 1 ns"),
            (TestSettings { burst_ns: 1, ..settings.clone() }, "the longest burst of 1 ns"),
        ] {
            assert!(changed.check().unwrap_err().contains(word), "{word}");
        }
        // The lengths of tests that are not performed do not matter.
        let endless = TestSettings { latency_trial_ns: u64::MAX, settle_ns: u64::MAX, ..settings.clone() };
        assert!(endless.check().unwrap_err().contains("too many frames"));
        let throughput = TestSettings { tests: vec![Test::Throughput], ..endless };
        assert_eq!((throughput.check(), throughput.longest_run_ns()), (Ok(()), u64::MAX));
        let fast = TestSettings { link_bits_per_second: 10_000_000_000_000, ..throughput };
        assert!(
            fast.check().unwrap_err().starts_with("a trial of 60 s at 14880952380 frames"),
            "{:?}",
            fast.check()
        );
        assert!(TestSettings { tests: vec![Test::Latency], ..settings.clone() }.has(Test::Throughput));
        assert!(!TestSettings { tests: vec![Test::FrameLoss], ..settings }.has(Test::Throughput));
    }
}
