//! The settings of a run, and the order in which accuracy is given up.

/// The share of all packets, in millionths.
pub(super) const ALL_PPM: u32 = 1_000_000;
/// The least share that is measured: one packet in 128.
const LEAST_PPM: f64 = 1e6 / 128.0;

/// A setting that changes while packets flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnobSetting {
    /// Workers of each receiver that are given packets.
    Workers,
    /// The time without a packet after which flow records end, and with it how many flows the tables hold: one part in this many of
    /// what was asked for.
    IdleTimeout,
    /// Memory of the tasks that count packets: one part in this many of what was asked for.
    TaskMemory,
    /// The share of the packets that is measured.
    Share,
}

impl KnobSetting {
    /// Returns the setting's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workers => "workers",
            Self::IdleTimeout => "idle_timeout",
            Self::TaskMemory => "task_memory",
            Self::Share => "share",
        }
    }
}

/// The settings by which a window is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobValues {
    /// Workers of each receiver in use; 0 where receivers count themselves.
    pub workers: usize,
    /// Records end after one part in this many of the idle timeout.
    pub idle_divisor: u32,
    /// The divisor of the memory of tasks: they have one part in this many.
    pub memory_divisor: u32,
    /// Measured packets in a million.
    pub share_ppm: u32,
}

impl KnobValues {
    /// The value of a setting, as reports have it: a number of workers, a share of the idle timeout, of the memory, of the packets.
    pub fn value(&self, setting: KnobSetting) -> f64 {
        match setting {
            KnobSetting::Workers => self.workers as f64,
            KnobSetting::IdleTimeout => 1.0 / f64::from(self.idle_divisor),
            KnobSetting::TaskMemory => 1.0 / f64::from(self.memory_divisor),
            KnobSetting::Share => f64::from(self.share_ppm) / f64::from(ALL_PPM),
        }
    }
}

/// The range of a run's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobRange {
    /// Workers of each receiver that there are.
    pub workers: usize,
    /// The number of workers in use may change: flows are split by their hash, and nothing of a flow depends on the order of its packets.
    pub varies_workers: bool,
    /// The idle timeout may be one part in this many of what was asked for; 1: it does not change.
    pub idle_divisor: u32,
    /// Divisors of the tasks' memory for which structures can be made, growing, without 1.
    pub memory_divisors: Vec<u32>,
    /// The share of the packets may change.
    pub varies_share: bool,
    /// The share that the run begins with, and never goes beyond, in millionths.
    pub most_share_ppm: u32,
}

impl KnobRange {
    /// Memory and share from the most accurate to the least: first less memory for tasks, which changes their bounds alone, then
    /// a smaller share by a factor of √2 each, which makes estimates of all answers.
    pub(super) fn rungs(&self) -> Vec<Rung> {
        let mut rungs = vec![Rung { memory_divisor: 1, share_ppm: self.most_share_ppm }];
        rungs.extend(
            self.memory_divisors
                .iter()
                .map(|&memory_divisor| Rung { memory_divisor, share_ppm: self.most_share_ppm }),
        );
        let memory_divisor = self.memory_divisors.last().copied().unwrap_or(1);
        let shares = (1..).map(|step| f64::from(self.most_share_ppm) / 2_f64.powf(f64::from(step) / 2.0));
        if self.varies_share {
            let shares = shares.take_while(|share| *share > 0.99 * LEAST_PPM);
            rungs.extend(shares.map(|share| Rung { memory_divisor, share_ppm: share.round() as u32 }));
        }
        rungs
    }
}

/// A step between accuracy and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    pub(super) memory_divisor: u32,
    pub(super) share_ppm: u32,
}

impl Rung {
    /// The share of the packets.
    pub(super) fn share(self) -> f64 {
        f64::from(self.share_ppm) / f64::from(ALL_PPM)
    }
}
