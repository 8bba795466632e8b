//! Parallel designs as values: who receives, who counts, and on which cores.
//!
//! Sources: Wu et al. 2016, section 3.1 (RSS, SYNC, ASYNC); Wu et al. 2019 ("Edison"), section II.B (clusters of a
//! queue and its workers); Zhang et al. 2019 ("FloWatcher"), section III (pipeline, run to completion).

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
        let wrong = || "cores are a number (4) or a list (0,2-3)".to_owned();
        if let Ok(count) = text.parse::<usize>() {
            return if count == 0 {
                Err("at least one core is needed".to_owned())
            } else {
                Ok(Self::Count(count))
            };
        }
        let mut list = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last - first >= MOST_THREADS {
                return Err(wrong());
            }
            list.extend(first..=last);
        }
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != list.len() {
            return Err("a core stands in the list twice".to_owned());
        }
        Ok(Self::List(list))
    }
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
            cores: Vec::new(),
            oversubscribed: false,
            why: "one core".to_owned(),
        }
    }

    /// Settles what was asked for on a source with so many queues and a machine that offers `allowed` cores.
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
        Ok(Self { design, receivers, workers, cores, oversubscribed: threads > available, why })
    }

    /// Threads that measure.
    pub fn threads(&self) -> usize {
        self.receivers * (1 + self.workers)
    }
}
