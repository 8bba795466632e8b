//! A paper's design, scaled down to the cores and the queues that there are.

use super::Preset;
use crate::design::Design;

/// The cores and the queues that a preset's design has to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The cores that the process may use.
    pub cores: usize,
    /// The receive queues of the source.
    pub queues: usize,
    /// Queues that each replay without a common clock, so that each needs a receiver; 0 if there is a clock, or no queue.
    pub replaying_queues: usize,
}

impl Preset {
    /// The paper's best design and the number of cores that it is pinned to, as far as there is room: fewer receivers, then fewer workers. On a
    /// source with one queue several cores share the work as `async`, since `rss` has a core for each queue. What is given stays as it is;
    /// without a number of cores threads are not pinned.
    pub fn scaled(
        &self,
        design: Option<Design>,
        cores: Option<usize>,
        room: &Room,
    ) -> (Option<Design>, Option<usize>) {
        let (best, wanted, _) = self.best;
        let allowed = wanted.map_or(room.cores, |wanted| wanted.min(room.cores));
        match (design, cores) {
            (Some(design), Some(cores)) => (Some(design), Some(cores)),
            (Some(design), None) => (Some(design), cores_of(design, allowed, room)),
            (None, _) => {
                let best = best.parse().ok();
                let scaled = best.map(|best| scale(best, cores, allowed, room));
                (scaled.map(|(design, _)| design), cores.or_else(|| scaled.and_then(|(_, cores)| cores)))
            }
        }
    }
}

/// The cores that a design takes of those that are allowed; `None` where it needs more.
fn cores_of(design: Design, allowed: usize, room: &Room) -> Option<usize> {
    match design {
        Design::Rss => (room.replaying_queues <= allowed).then_some(allowed.min(room.queues)),
        Design::Sync | Design::Async => (allowed >= 2).then_some(allowed),
        Design::Pipeline => (allowed >= 2).then_some(2),
        Design::Cooperative => Some(1),
        Design::Clusters { queues, workers } => Some(allowed.min(queues * (1 + workers))),
    }
}

/// The design with fewer threads, where there are fewer cores or queues. `given`: the number of cores that was given, which more threads may share.
fn scale(best: Design, given: Option<usize>, allowed: usize, room: &Room) -> (Design, Option<usize>) {
    let cores = given.unwrap_or(allowed);
    match best {
        // A core for each queue is more than there are: threads take turns.
        Design::Rss if room.replaying_queues > cores => (Design::Rss, None),
        Design::Rss if cores > room.queues && (room.queues == 1 || given.is_some()) => {
            (Design::Async, Some(cores))
        }
        Design::Rss => (Design::Rss, Some(cores.min(room.queues))),
        Design::Clusters { queues, workers } => {
            let least = room.replaying_queues.max(1);
            let most = queues.min(room.queues).max(least);
            let fits = |queues: &usize| given.is_some() || queues * (1 + workers) <= cores;
            let queues = (least..=most).rev().find(fits).unwrap_or(least);
            let workers = match given {
                None if queues == 1 => workers.min(cores - 1),
                _ => workers,
            };
            match workers {
                0 => (Design::Rss, Some(1)),
                _ => (Design::Clusters { queues, workers }, Some(cores.min(queues * (1 + workers)))),
            }
        }
        other => (other, cores_of(other, cores, room)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cores, PRESETS, ResolvedDesign};

    #[track_caller]
    fn scales(name: &str, room: (usize, usize, usize), to: (&str, Option<usize>)) {
        let (cores, queues, replaying_queues) = room;
        let preset = Preset::find(name).expect(name);
        let (design, cores) = preset.scaled(None, None, &Room { cores, queues, replaying_queues });
        assert_eq!((&*design.expect(name).to_string(), cores), to, "{name} in {room:?}");
    }

    #[test]
    fn a_large_machine_takes_the_papers_design() {
        scales("wu", (16, 6, 0), ("rss", Some(6)));
        scales("ares", (16, 3, 0), ("3x1", Some(6)));
        scales("flowatcher", (4, 2, 0), ("2x1", Some(4)));
        scales("ares", (6, 3, 3), ("3x1", Some(6)));
    }

    #[test]
    fn fewer_cores_and_queues_are_fewer_threads() {
        scales("wu", (2, 6, 0), ("rss", Some(2)));
        scales("wu", (16, 4, 0), ("rss", Some(4)));
        scales("wu", (16, 1, 0), ("async", Some(6)));
        scales("wu", (2, 1, 0), ("async", Some(2)));
        scales("wu", (1, 1, 0), ("rss", Some(1)));
        scales("ares", (5, 3, 0), ("2x1", Some(4)));
        scales("ares", (2, 3, 0), ("1x1", Some(2)));
        scales("ares", (1, 3, 0), ("rss", Some(1)));
        scales("flowatcher", (8, 1, 0), ("1x1", Some(2)));
        scales("flowatcher", (3, 2, 0), ("1x1", Some(2)));
    }

    #[test]
    fn each_queue_that_replays_has_a_receiver() {
        scales("wu", (2, 6, 6), ("rss", None));
        scales("ares", (2, 3, 3), ("3x1", Some(2)));
        scales("flowatcher", (1, 2, 2), ("2x1", Some(1)));
    }

    #[test]
    fn what_is_given_stays() {
        let ares = Preset::find("ares").expect("ares");
        let room = Room { cores: 2, queues: 1, replaying_queues: 0 };
        let design = |text: &str| Some(text.parse().expect("a design"));
        assert_eq!(ares.scaled(design("rss"), Some(1), &room), (Some(Design::Rss), Some(1)));
        assert_eq!(ares.scaled(design("pipeline"), None, &room), (Some(Design::Pipeline), Some(2)));
        assert_eq!(ares.scaled(design("cooperative"), None, &room), (Some(Design::Cooperative), Some(1)));
        assert_eq!(ares.scaled(design("3x1"), None, &room), (design("3x1"), Some(2)));
        assert_eq!(ares.scaled(None, Some(1), &room), (design("1x1"), Some(1)));
        let three = Room { queues: 3, ..room };
        assert_eq!(ares.scaled(None, Some(1), &three), (design("3x1"), Some(1)));
        let wu = Preset::find("wu").expect("wu");
        assert_eq!(wu.scaled(None, Some(1), &room), (Some(Design::Rss), Some(1)));
        assert_eq!(wu.scaled(None, Some(2), &room), (Some(Design::Async), Some(2)));
    }

    /// The engine takes every design that a preset is scaled to.
    #[test]
    fn every_scale_is_possible() {
        let machine: Vec<usize> = (0..16).collect();
        for preset in PRESETS {
            for cores in 1..=16 {
                for queues in 1..=8 {
                    for replaying_queues in [0, queues] {
                        let room = Room { cores, queues, replaying_queues };
                        let (design, count) = preset.scaled(None, None, &room);
                        let count = count.map(Cores::Count);
                        let plan = ResolvedDesign::new(design, count.as_ref(), queues, &machine[..cores]);
                        let plan = plan.unwrap_or_else(|why| panic!("{}, {room:?}: {why}", preset.name));
                        assert!(plan.receivers >= replaying_queues, "{}, {room:?}", preset.name);
                        assert!(!plan.oversubscribed || replaying_queues > 0, "{}, {room:?}", preset.name);
                    }
                }
            }
        }
    }
}
