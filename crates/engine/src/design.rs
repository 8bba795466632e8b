//! Parallel designs as values: who receives, who counts, and on which cores.
//!
//! Sources: Wu et al. 2016, section 3.1 (RSS, SYNC, ASYNC); Wu et al. 2019 ("Edison"), section II.B (clusters of a
//! queue and its workers); Zhang et al. 2019 ("FloWatcher"), section III (pipeline, run to completion).

use crate::config::Config;
use flow::Metric;
use std::fmt;
use std::str::FromStr;

/// How the work is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Every core receives from queues of its own and counts what it received.
    Rss,
    /// One core receives; the others count a burst before the next one is received.
    Sync,
    /// One core receives and hands whole bursts through a ring to each of the others.
    Async,
    /// Two cores: one receives, one counts.
    Pipeline,
    /// One core that receives some bursts, then counts them.
    Cooperative,
    /// Clusters: each of so many queues with so many workers of its own.
    Clusters {
        /// Receivers, each with a queue at least.
        queues: usize,
        /// Workers of each.
        workers: usize,
    },
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rss => f.write_str("rss"),
            Self::Sync => f.write_str("sync"),
            Self::Async => f.write_str("async"),
            Self::Pipeline => f.write_str("pipeline"),
            Self::Cooperative => f.write_str("cooperative"),
            Self::Clusters { queues, workers } => write!(f, "{queues}x{workers}"),
        }
    }
}

impl FromStr for Design {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rss" => return Ok(Self::Rss),
            "sync" => return Ok(Self::Sync),
            "async" => return Ok(Self::Async),
            "pipeline" => return Ok(Self::Pipeline),
            "cooperative" => return Ok(Self::Cooperative),
            _ => {}
        }
        let numbers = text.split_once('x').and_then(|(queues, workers)| {
            Some((queues.parse::<usize>().ok()?, workers.parse::<usize>().ok()?))
        });
        match numbers {
            Some((queues @ 1..=MOST_THREADS, workers @ 1..=MOST_THREADS))
                if queues * (1 + workers) <= MOST_THREADS =>
            {
                Ok(Self::Clusters { queues, workers })
            }
            Some(_) => Err(format!(
                "a design of clusters has 1 to {MOST_THREADS} threads: receivers and their workers"
            )),
            None => {
                Err("a design is rss, sync, async, pipeline, cooperative, or NxM: N queues with M workers \
                         each"
                    .to_owned())
            }
        }
    }
}

/// Which of its workers a receiver gives a packet to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// By the hash of its key: a flow stays on one core (Wu et al. 2019).
    #[default]
    Hash,
    /// By its place in the burst, of which each worker gets a portion in turn (Wu et al. 2016, Algorithms 1 and 2).
    Position,
}

impl Split {
    /// By hash: which of so many workers gets a packet of this one.
    #[inline(always)]
    pub fn by_hash(hash: u64, workers: usize) -> usize {
        // The high half of a product depends on all bits of the hash, of which the tables use some as they are.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * workers as u64) >> 32) as usize
    }

    /// By position: which of so many workers gets the packet at this place of a burst of `packets`. Portions are as even as they
    /// can be, the first one is for whose `turn` it is.
    #[inline(always)]
    pub fn by_position(at: usize, packets: usize, turn: usize, workers: usize) -> usize {
        (turn + at * workers / packets) % workers
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hash => "hash",
            Self::Position => "position",
        })
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hash" => Ok(Self::Hash),
            "position" => Ok(Self::Position),
            _ => Err("packets are split by hash or by position".to_owned()),
        }
    }
}

/// Where flows are kept (Wu et al. 2016, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// By each core for itself.
    #[default]
    Separate,
    /// In one place that all cores update.
    Shared,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Separate => "separate",
            Self::Shared => "shared",
        })
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "separate" => Ok(Self::Separate),
            "shared" => Ok(Self::Shared),
            _ => Err("state is separate or shared".to_owned()),
        }
    }
}

/// Threads of one run.
const MOST_THREADS: usize = 1024;

/// Cores that a run may use (`--cores`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cores {
    /// So many of those that the machine offers.
    Count(usize),
    /// These, by the machine's numbers.
    List(Vec<usize>),
}

impl FromStr for Cores {
    type Err = String;

    /// A number, or a list such as `0,2-3`; a list of one core is `2-2`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(count) = text.parse::<usize>() {
            return if count == 0 {
                Err("at least one core is needed".to_owned())
            } else {
                Ok(Self::Count(count))
            };
        }
        let list =
            cores_of_list(text).ok_or_else(|| "cores are a number (4) or a list (0,2-3)".to_owned())?;
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != list.len() {
            return Err("a core stands in the list twice".to_owned());
        }
        Ok(Self::List(list))
    }
}

/// The cores of a list such as `0,2-3`.
pub(crate) fn cores_of_list(text: &str) -> Option<Vec<usize>> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last - first >= MOST_THREADS {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list)
}

/// A design, settled for a source and a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The design.
    pub design: Design,
    /// Threads that receive.
    pub receivers: usize,
    /// Workers of each; 0 where receivers count themselves.
    pub workers: usize,
    /// Which of its workers a receiver gives a packet to.
    pub split: Split,
    /// Where flows are kept.
    pub state: State,
    /// The cores of the threads, receivers first, then their workers; empty where threads may go where they like.
    pub cores: Vec<usize>,
    /// More threads than cores.
    pub oversubscribed: bool,
    /// Why this design.
    pub why: String,
}

impl Plan {
    /// One thread that does all, on whichever core.
    pub fn single() -> Self {
        Self {
            design: Design::Rss,
            receivers: 1,
            workers: 0,
            split: Split::Hash,
            state: State::Separate,
            cores: Vec::new(),
            oversubscribed: false,
            why: "one core".to_owned(),
        }
    }

    /// Settles what was asked for, split by hash and with separate state, on a source with so many queues and a machine that offers `allowed` cores.
    ///
    /// # Errors
    /// What is not possible, and what is, in one line.
    pub fn new(
        design: Option<Design>,
        cores: Option<&Cores>,
        queues: usize,
        allowed: &[usize],
    ) -> Result<Self, String> {
        let pinned = match cores {
            None => None,
            Some(Cores::Count(count)) if *count > allowed.len() => {
                return Err(format!(
                    "--cores {count}: there are {}; --design NxM may have more threads than that",
                    allowed.len()
                ));
            }
            Some(Cores::Count(count)) => Some(allowed[..*count].to_vec()),
            Some(Cores::List(list)) => {
                if let Some(missing) = list.iter().find(|core| !allowed.contains(core)) {
                    let there = allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                    return Err(format!(
                        "--cores: there is no core {missing} for this process; there are {there}"
                    ));
                }
                Some(list.clone())
            }
        };
        let count = pinned.as_ref().map(Vec::len);
        let (design, why) = match (design, count) {
            (Some(design), _) => (design, "asked for".to_owned()),
            (None, None) if queues > 1 => (Design::Rss, format!("the source has {queues} queues")),
            (None, None | Some(1)) => (Design::Rss, "one core".to_owned()),
            (None, Some(count)) if count <= queues => {
                (Design::Rss, format!("the source has {queues} queues for {count} cores"))
            }
            (None, Some(count)) => {
                (Design::Async, format!("{count} cores, and the source has only {queues} queue(s)"))
            }
        };
        let one_receiver = |least: usize| {
            let cores = count.unwrap_or(least);
            if cores < least {
                Err(format!("--design {design} needs {least} cores at least, --cores gives {cores}"))
            } else {
                Ok((1, cores - 1))
            }
        };
        let exactly = |cores: usize| match count {
            Some(given) if given != cores => {
                Err(format!("--design {design} has {cores} core(s), --cores gives {given}"))
            }
            _ => Ok((1, cores - 1)),
        };
        let (receivers, workers) = match design {
            Design::Rss => (count.unwrap_or(queues), 0),
            Design::Sync | Design::Async => one_receiver(2)?,
            Design::Pipeline => exactly(2)?,
            Design::Cooperative => exactly(1)?,
            Design::Clusters { queues, workers } => (queues, workers),
        };
        if receivers > queues {
            return Err(format!(
                "--design {design} has {receivers} receivers, but the source has {queues} queue(s): take at most as \
                 many, or --design async"
            ));
        }
        let threads = receivers * (1 + workers);
        let cores = match &pinned {
            Some(list) if threads > 1 || cores.is_some_and(|cores| matches!(cores, Cores::List(_))) => {
                list.iter().copied().cycle().take(threads).collect()
            }
            _ => Vec::new(),
        };
        let available = count.unwrap_or(allowed.len());
        Ok(Self {
            design,
            receivers,
            workers,
            split: Split::Hash,
            state: State::Separate,
            cores,
            oversubscribed: threads > available,
            why,
        })
    }

    /// True where a flow is not one core's: what is kept of it is merged when a window closes, and [`Plan::check`] says what that
    /// leaves possible. (The only worker of a receiver gets all of it, however it is split.)
    pub fn merges(&self) -> bool {
        self.state == State::Shared || self.split == Split::Position && self.workers > 1
    }

    /// Refuses what hangs on the order of a flow's packets where several cores count them.
    ///
    /// # Errors
    /// What is not possible, why, and what is, in one line.
    pub fn check(&self, config: &Config) -> Result<(), String> {
        if !self.merges() {
            return Ok(());
        }
        let (what, why, instead) = match self.state {
            State::Separate => ("--split position", "spreads them over cores", "--split hash"),
            State::Shared => ("--state shared", "keeps what has no order only", "--state separate"),
        };
        let parts = &config.parts;
        let metric = parts.statistics.iter().flatten().next().map(|(metric, _)| match metric {
            Metric::Gap => "--gap",
            Metric::Size => "--packet-size",
            Metric::InterArrival => "--inter-arrival",
        });
        let part = [(parts.loss, "--loss"), (parts.biflow, "--biflow")].into_iter().find(|(given, _)| *given);
        if let Some(part) = part.map(|(_, name)| name).or(metric) {
            return Err(format!(
                "{part} needs a flow's packets on one core and in their order, but {what} {why}: take {instead}"
            ));
        }
        if config.timeouts.idle_ns != u64::MAX || config.timeouts.active_ns != u64::MAX {
            return Err(format!(
                "timeouts end records by the order of a flow's packets, but {what} {why}: switch them off (--idle-timeout off \
                 --active-timeout off), or take {instead}"
            ));
        }
        Ok(())
    }

    /// Threads that measure.
    pub fn threads(&self) -> usize {
        self.receivers * (1 + self.workers)
    }

    /// Of these, the ones that count.
    pub fn counting(&self) -> usize {
        self.receivers * self.workers.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_by_name() {
        for name in ["rss", "sync", "async", "pipeline", "cooperative", "1x1", "3x2", "512x1", "1x1023"] {
            assert_eq!(name.parse::<Design>().expect(name).to_string(), name);
        }
        assert_eq!("2x3".parse(), Ok(Design::Clusters { queues: 2, workers: 3 }));
        for name in
            ["", "RSS", "rss ", "x", "2x", "x2", "2X2", "2x2x2", "-1x2", "2x2.0", "1x99999999999999999999"]
        {
            let error = name.parse::<Design>().expect_err(name);
            assert!(error.contains("rss, sync, async, pipeline, cooperative, or NxM"), "{name}: {error}");
            assert!(!error.contains('\n'));
        }
        for name in ["0x1", "1x0", "1024x1", "1x1024", "600x1", "1025x1", "18446744073709551615x2"] {
            let error = name.parse::<Design>().expect_err(name);
            assert!(error.contains("1 to 1024 threads"), "{name}: {error}");
        }
    }

    #[test]
    fn cores_by_number_and_list() {
        let list = |cores: &[usize]| Ok(Cores::List(cores.to_vec()));
        assert_eq!("3".parse(), Ok(Cores::Count(3)));
        assert_eq!("2-2".parse(), list(&[2]));
        assert_eq!("0,2-4,7".parse(), list(&[0, 2, 3, 4, 7]));
        // The order is the user's: receivers come first.
        assert_eq!("5,1".parse(), list(&[5, 1]));
        for text in
            ["", ",", "1,", "a", "1-", "-1", "3-1", "0-1024", "1 2", "0..3", "1-2-3", "99999999999999999999"]
        {
            let error = text.parse::<Cores>().expect_err(text);
            assert!(error.contains("a number (4) or a list (0,2-3)"), "{text}: {error}");
        }
        assert!("0".parse::<Cores>().is_err_and(|error| error.contains("at least one")));
        assert!("0,1,0".parse::<Cores>().is_err_and(|error| error.contains("twice")));
        assert!("0-3,2".parse::<Cores>().is_err_and(|error| error.contains("twice")));
    }

    const MACHINE: [usize; 4] = [0, 1, 4, 5];

    fn plan(design: &str, cores: &str, queues: usize) -> Result<Plan, String> {
        let design = (!design.is_empty()).then(|| design.parse().expect("a design"));
        let cores: Option<Cores> = (!cores.is_empty()).then(|| cores.parse().expect("cores"));
        Plan::new(design, cores.as_ref(), queues, &MACHINE)
    }

    #[track_caller]
    fn settles(asked: (&str, &str, usize), design: &str, threads: (usize, usize), cores: &[usize]) {
        let plan = plan(asked.0, asked.1, asked.2).expect("possible");
        assert_eq!(plan.design.to_string(), design);
        assert_eq!((plan.receivers, plan.workers), threads);
        assert_eq!(plan.cores, cores);
        assert_eq!(plan.threads(), threads.0 * (1 + threads.1));
        assert!(!plan.why.is_empty() && !plan.why.contains('\n'));
    }

    #[test]
    fn what_is_settled() {
        settles(("", "", 1), "rss", (1, 0), &[]);
        settles(("", "1", 1), "rss", (1, 0), &[]);
        settles(("", "4-4", 1), "rss", (1, 0), &[4]);
        settles(("", "2", 1), "async", (1, 1), &[0, 1]);
        settles(("", "3", 2), "async", (1, 2), &[0, 1, 4]);
        settles(("", "2", 2), "rss", (2, 0), &[0, 1]);
        settles(("", "5,0", 8), "rss", (2, 0), &[5, 0]);
        settles(("rss", "", 2), "rss", (2, 0), &[]);
        settles(("rss", "1", 2), "rss", (1, 0), &[]);
        settles(("", "", 2), "rss", (2, 0), &[]);
        assert_eq!(plan("", "", 2).expect("possible").why, "the source has 2 queues");
        settles(("sync", "", 1), "sync", (1, 1), &[]);
        settles(("async", "4", 1), "async", (1, 3), &[0, 1, 4, 5]);
        settles(("pipeline", "2", 1), "pipeline", (1, 1), &[0, 1]);
        settles(("cooperative", "5-5", 1), "cooperative", (1, 0), &[5]);
        settles(("2x1", "", 2), "2x1", (2, 1), &[]);
        // Fewer cores than threads go round.
        settles(("2x1", "1,0", 2), "2x1", (2, 1), &[1, 0, 1, 0]);
    }

    #[test]
    fn more_threads_than_cores_are_oversubscribed() {
        let oversubscribed =
            |design, cores, queues| plan(design, cores, queues).expect("possible").oversubscribed;
        assert!(!oversubscribed("1x3", "", 1));
        assert!(oversubscribed("1x4", "", 1));
        assert!(oversubscribed("1x3", "3", 1));
        assert!(!oversubscribed("2x1", "4", 2));
        assert!(oversubscribed("rss", "", 5));
        assert!(!Plan::single().oversubscribed);
    }

    #[test]
    fn refusals_say_what_is_possible() {
        for (design, cores, queues, words) in [
            ("", "5", 1, &["--cores 5", "there are 4", "NxM"][..]),
            ("", "0,2", 1, &["no core 2", "0,1,4,5"]),
            ("rss", "3", 2, &["3 receivers", "2 queue", "at most", "async"]),
            ("rss", "2", 1, &["2 receivers", "1 queue", "async"]),
            ("3x1", "", 2, &["3 receivers", "2 queue"]),
            ("sync", "1", 1, &["sync needs 2 cores", "--cores gives 1"]),
            ("async", "4-4", 1, &["async needs 2 cores", "--cores gives 1"]),
            ("pipeline", "3", 1, &["pipeline has 2 core", "--cores gives 3"]),
            ("cooperative", "2", 1, &["cooperative has 1 core", "--cores gives 2"]),
        ] {
            let error = plan(design, cores, queues).expect_err(design);
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
