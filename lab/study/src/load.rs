//! The load of the machine by others while a point was measured.

use crate::row::FigureRow;
use std::fs;

/// The names of what is kept of the load with each row.
const LOAD_AVERAGE: &str = "load_average";
const STEAL: &str = "steal_percent";
const OTHERS: &str = "others_cores";

/// The share of the processors' time, in percent, from which a host's other machines disturb a measurement.
pub(crate) const MUCH_STEAL: f64 = 1.0;
/// The cores that other processes may keep busy: this many, or this share of all where that is more.
pub(crate) const MUCH_OTHERS: f64 = 0.1;
pub(crate) const MUCH_OTHERS_SHARE: f64 = 0.02;

/// Processor time that passed on some cores, in ticks of `/proc`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ProcessorTicks {
    /// The time in processes, user and system.
    busy: f64,
    /// The time that the host took for other machines.
    steal: f64,
    /// The whole time, idle too.
    total: f64,
    /// The time of this process and of its children that have ended.
    own: f64,
}

impl ProcessorTicks {
    fn now(cores: &[usize]) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::from_texts(&read("/proc/stat"), &read("/proc/self/stat"), cores)
    }

    /// Reads `/proc/stat` of these cores and `/proc/self/stat`.
    fn from_texts(machine: &str, process: &str, cores: &[usize]) -> Self {
        let mut ticks = Self::default();
        for line in machine.lines() {
            let mut words = line.split_whitespace();
            let core = words.next().and_then(|name| name.strip_prefix("cpu")?.parse::<usize>().ok());
            if !core.is_some_and(|core| cores.contains(&core)) {
                continue;
            }
            // User, nice, system, idle, iowait, irq, softirq, steal; time of guests is within user.
            let times: Vec<f64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
            ticks.busy += times.iter().take(3).sum::<f64>();
            ticks.steal += times.get(7).copied().unwrap_or(0.0);
            ticks.total += times.iter().sum::<f64>();
        }
        // The name, in parentheses, may have any byte. After it: state, and eleven fields before the four times.
        let after_name = process.rsplit_once(')').map_or("", |(_, rest)| rest);
        ticks.own =
            after_name.split_whitespace().skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum();
        ticks
    }
}

/// Watches the machine while a point is measured.
#[derive(Debug)]
pub(crate) struct LoadWatch {
    cores: Vec<usize>,
    load_average: Option<f64>,
    began: ProcessorTicks,
}

impl LoadWatch {
    /// Begins to watch the cores that this process may use.
    pub(crate) fn begin() -> Self {
        let cores = engine::allowed_cores();
        let average = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load_average = average.split_whitespace().next().and_then(|word| word.parse().ok());
        let began = ProcessorTicks::now(&cores);
        Self { cores, load_average, began }
    }

    /// Returns what the machine did since. `None` where `/proc` does not show it, or no tick has passed.
    pub(crate) fn end(&self) -> Option<MachineLoad> {
        let ended = ProcessorTicks::now(&self.cores);
        MachineLoad::between(self.load_average?, &self.began, &ended, self.cores.len())
    }
}

/// The load of the machine by others during a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MachineLoad {
    /// The average of runnable processes over the minute before.
    load_average: f64,
    /// The share of the processors' time that the host gave to other machines, percent.
    steal_percent: f64,
    /// Cores that other processes kept busy.
    others_cores: f64,
}

impl MachineLoad {
    fn between(
        load_average: f64,
        began: &ProcessorTicks,
        ended: &ProcessorTicks,
        cores: usize,
    ) -> Option<Self> {
        let total = ended.total - began.total;
        if total <= 0.0 {
            return None;
        }
        let others = (ended.busy - began.busy) - (ended.own - began.own);
        let to_digits = |value: f64| (value * 1000.0).round() / 1000.0;
        Some(Self {
            load_average,
            steal_percent: to_digits(100.0 * (ended.steal - began.steal).max(0.0) / total),
            others_cores: to_digits(cores as f64 * others.max(0.0) / total),
        })
    }

    /// Keeps it with a row.
    pub(crate) fn put(&self, row: &mut FigureRow) {
        row.values.extend(
            [(LOAD_AVERAGE, self.load_average), (STEAL, self.steal_percent), (OTHERS, self.others_cores)]
                .map(|(name, value)| (name.to_owned(), value)),
        );
    }
}

/// The load of all rows of a figure that were measured: from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadRange {
    pub(crate) load_average: [f64; 2],
    pub(crate) steal_percent: [f64; 2],
    pub(crate) others_cores: [f64; 2],
}

impl LoadRange {
    /// Returns the range of the rows whose answers were checked; `None` if there are none or the load of one is not known.
    pub(crate) fn of_rows(rows: &[FigureRow]) -> Option<Self> {
        let range = |name: &str| {
            let measured = rows.iter().filter(|row| row.checked.is_some());
            let values: Option<Vec<f64>> = measured.map(|row| row.values.get(name).copied()).collect();
            let values = values.filter(|values| !values.is_empty())?;
            Some([f64::min, f64::max].map(|end| values.iter().copied().fold(f64::NAN, end)))
        };
        Some(Self {
            load_average: range(LOAD_AVERAGE)?,
            steal_percent: range(STEAL)?,
            others_cores: range(OTHERS)?,
        })
    }

    /// Returns true if so much else went on that times decide nothing.
    pub(crate) fn is_busy(&self, cores: usize) -> bool {
        self.steal_percent[1] > MUCH_STEAL
            || self.others_cores[1] > MUCH_OTHERS.max(MUCH_OTHERS_SHARE * cores as f64)
    }

    /// Returns the range as a clause.
    pub(crate) fn text(&self) -> String {
        let range = |[least, most]: [f64; 2]| {
            if least == most { format!("{least}") } else { format!("{least} to {most}") }
        };
        format!(
            "load average {}, steal {} %, other processes on {} cores",
            range(self.load_average),
            range(self.steal_percent),
            range(self.others_cores)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "cpu  900 0 0 0 0 0 0 0 0 0\n\
        cpu0 100 10 40 800 20 5 5 20 7 0\n\
        cpu1 50 0 50 900 0 0 0 0 0 0\n\
        cpu2 999 999 999 999 0 0 0 999 0 0\nintr 1 2 3\n";
    const PROCESS: &str = "12 (a ) b) S 1 12 12 0 -1 4194304 100 0 0 0 30 6 10 4 20 0 1 0 5 6 7\n";

    #[test]
    fn ticks_are_those_of_the_cores_and_of_this_process() {
        let ticks = ProcessorTicks::from_texts(MACHINE, PROCESS, &[0, 1]);
        assert_eq!(ticks, ProcessorTicks { busy: 250.0, steal: 20.0, total: 2000.0, own: 50.0 });
        assert_eq!(ProcessorTicks::from_texts("", "", &[0]), ProcessorTicks::default());
    }

    #[test]
    fn others_and_steal_are_what_this_process_did_not_take() {
        let began = ProcessorTicks::default();
        let ended = ProcessorTicks { busy: 150.0, steal: 4.0, total: 200.0, own: 110.0 };
        let load = MachineLoad::between(1.5, &began, &ended, 2).expect("a load");
        assert_eq!(load, MachineLoad { load_average: 1.5, steal_percent: 2.0, others_cores: 0.4 });
        assert_eq!(MachineLoad::between(1.5, &began, &began, 2), None, "no time has passed");
        // Ticks are sampled: a process may have more than there were.
        let own = ProcessorTicks { own: 160.0, ..ended };
        assert_eq!(MachineLoad::between(1.5, &began, &own, 2).expect("a load").others_cores, 0.0);
    }

    #[test]
    fn one_busy_row_makes_the_machine_busy() {
        let row = |steal_percent, others_cores| {
            let mut row = FigureRow { checked: Some(true), ..FigureRow::default() };
            MachineLoad { load_average: 1.0, steal_percent, others_cores }.put(&mut row);
            row
        };
        let is_busy = |rows: &[FigureRow], cores| LoadRange::of_rows(rows).map(|range| range.is_busy(cores));
        assert_eq!(is_busy(&[row(0.1, 0.05), row(0.9, 0.1)], 2), Some(false));
        assert_eq!(is_busy(&[row(0.1, 0.05), row(1.1, 0.1)], 2), Some(true));
        assert_eq!(is_busy(&[row(0.0, 0.2)], 2), Some(true));
        assert_eq!(is_busy(&[row(0.0, 0.2)], 16), Some(false), "of sixteen cores it is little");
        let unknown = FigureRow { checked: Some(true), ..FigureRow::default() };
        assert_eq!(is_busy(&[row(0.0, 0.0), unknown], 2), None);
        // A prediction takes no time.
        assert_eq!(is_busy(&[row(0.0, 0.0), FigureRow::default()], 2), Some(false));
        let text = LoadRange::of_rows(&[row(0.0, 0.05), row(0.5, 0.05)]).expect("a range").text();
        assert_eq!(text, "load average 1, steal 0 to 0.5 %, other processes on 0.05 cores");
    }

    #[test]
    fn this_machine_is_watched() {
        let watch = LoadWatch::begin();
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 60 {
            std::hint::black_box(0);
        }
        // A machine without these files has no load.
        if let Some(load) = watch.end() {
            assert!(load.steal_percent >= 0.0 && load.others_cores <= watch.cores.len() as f64, "{load:?}");
        }
    }
}
