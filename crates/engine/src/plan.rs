//! A design resolved for a source and a machine: its number of threads, and their cores.

use crate::design::{Cores, Design, Split, StatePlacement};
use crate::refusal::RunRefusal;

/// A design, resolved for a source and a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedDesign {
    /// The design.
    pub design: Design,
    /// Threads that receive.
    pub receivers: usize,
    /// The number of workers of each receiver; 0 where receivers count themselves.
    pub workers: usize,
    /// The rule by which a receiver chooses the worker that gets a packet.
    pub split: Split,
    /// The place where flows are kept.
    pub state: StatePlacement,
    /// The cores of the threads, receivers first, then their workers; empty if threads are not pinned.
    pub cores: Vec<usize>,
    /// True if there are more threads than cores.
    pub oversubscribed: bool,
    /// The reason for this design.
    pub why: String,
}

impl ResolvedDesign {
    /// Returns a plan with one thread for everything, on any core.
    pub fn single() -> Self {
        Self {
            design: Design::Rss,
            receivers: 1,
            workers: 0,
            split: Split::Hash,
            state: StatePlacement::Separate,
            cores: Vec::new(),
            oversubscribed: false,
            why: "one core".to_owned(),
        }
    }

    /// Resolves the requested plan for a source with `queues` queues and a machine that offers the cores
    /// `allowed`: split by hash and with separate state.
    ///
    /// # Errors
    /// The first reason why the plan is not possible.
    pub fn new(
        design: Option<Design>,
        cores: Option<&Cores>,
        queues: usize,
        allowed: &[usize],
    ) -> Result<Self, RunRefusal> {
        let pinned = match cores {
            None => None,
            Some(Cores::Count(count)) if *count > allowed.len() => {
                return Err(RunRefusal::TooFewCores { asked: *count, allowed: allowed.len() });
            }
            Some(Cores::Count(count)) => Some(allowed[..*count].to_vec()),
            Some(Cores::List(list)) => {
                if let Some(&core) = list.iter().find(|core| !allowed.contains(core)) {
                    return Err(RunRefusal::NoSuchCore { core, allowed: allowed.to_vec() });
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
                Err(RunRefusal::DesignNeedsCores { design, least, given: cores })
            } else {
                Ok((1, cores - 1))
            }
        };
        let exactly = |cores: usize| match count {
            Some(given) if given != cores => Err(RunRefusal::DesignHasCores { design, cores, given }),
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
            return Err(RunRefusal::TooFewQueues { design, receivers, queues });
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
            state: StatePlacement::Separate,
            cores,
            oversubscribed: threads > available,
            why,
        })
    }

    /// True if a flow is not confined to one core: its state is merged when a window closes, and
    /// [`crate::admission`] determines what is possible then. (The only worker of a receiver gets the whole
    /// flow, however packets are split.)
    pub fn merges(&self) -> bool {
        self.state == StatePlacement::Shared || self.split == Split::Position && self.workers > 1
    }

    /// Threads that measure.
    pub fn threads(&self) -> usize {
        self.receivers * (1 + self.workers)
    }

    /// Returns the number of threads that count.
    pub fn counting(&self) -> usize {
        self.receivers * self.workers.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: [usize; 4] = [0, 1, 4, 5];

    fn plan(design: &str, cores: &str, queues: usize) -> Result<ResolvedDesign, RunRefusal> {
        let design = (!design.is_empty()).then(|| design.parse().expect("a design"));
        let cores: Option<Cores> = (!cores.is_empty()).then(|| cores.parse().expect("cores"));
        ResolvedDesign::new(design, cores.as_ref(), queues, &MACHINE)
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
        // If there are fewer cores than threads, cores are reused in turn.
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
        assert!(!ResolvedDesign::single().oversubscribed);
    }

    #[test]
    fn what_cannot_be_settled() {
        let allowed = MACHINE.to_vec();
        let needs = |design, given| RunRefusal::DesignNeedsCores { design, least: 2, given };
        let has = |design, cores, given| RunRefusal::DesignHasCores { design, cores, given };
        let queues = |design, receivers, queues| RunRefusal::TooFewQueues { design, receivers, queues };
        let clusters = Design::Clusters { queues: 3, workers: 1 };
        for (design, cores, source, refusal) in [
            ("", "5", 1, RunRefusal::TooFewCores { asked: 5, allowed: 4 }),
            ("", "0,2", 1, RunRefusal::NoSuchCore { core: 2, allowed }),
            ("rss", "3", 2, queues(Design::Rss, 3, 2)),
            ("rss", "2", 1, queues(Design::Rss, 2, 1)),
            ("3x1", "", 2, queues(clusters, 3, 2)),
            ("sync", "1", 1, needs(Design::Sync, 1)),
            ("async", "4-4", 1, needs(Design::Async, 1)),
            ("pipeline", "3", 1, has(Design::Pipeline, 2, 3)),
            ("cooperative", "2", 1, has(Design::Cooperative, 1, 2)),
        ] {
            assert_eq!(plan(design, cores, source), Err(refusal));
        }
    }
}
