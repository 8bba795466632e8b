//! Designs on the available cores.

use engine::{Cores, Design, DesignCase, ResolvedDesign, Split, StatePlacement, allowed_cores};

/// A case as this machine can run it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FeasibleCase {
    pub(super) plan: ResolvedDesign,
    pub(super) queues: usize,
    /// The respects in which the case is less than requested.
    pub(super) instead: Option<String>,
}

/// The case on this machine's cores.
pub(super) fn fit(case: DesignCase) -> Result<FeasibleCase, String> {
    fit_on(case, &allowed_cores())
}

/// Uses the available cores if there are too few: a design whose receivers are its cores then has fewer
/// queues, one with workers has fewer workers; clusters, and designs that need two threads, oversubscribe the
/// available cores.
fn fit_on((name, cores, queues): DesignCase, allowed: &[usize]) -> Result<FeasibleCase, String> {
    let mut words = name.split(' ');
    let design: Design = words.next().unwrap_or_default().parse()?;
    let (mut split, mut state) = (Split::default(), StatePlacement::default());
    for word in words {
        match word.parse() {
            Ok(found) => split = found,
            Err(_) => state = word.parse::<StatePlacement>()?,
        }
    }
    let there = allowed.len();
    let used = cores.map(|cores| cores.min(there));
    let used_queues = match (design, used) {
        (Design::Rss, Some(used)) => queues.min(used),
        _ => queues,
    };
    let pinned = match design {
        // One core cannot keep a receiver and a worker apart: threads without a dedicated core,
        // oversubscribed.
        Design::Sync | Design::Async | Design::Pipeline => used.filter(|&used| used > 1),
        _ => used,
    };
    let plan = ResolvedDesign::new(Some(design), pinned.map(Cores::Count).as_ref(), used_queues, allowed)
        .map_err(|refusal| refusal.to_string())?;
    let plan = ResolvedDesign { split, state, ..plan };
    let instead = match cores {
        Some(cores) if cores > there => {
            let less = format!("{there} core(s) instead of {cores}");
            Some(if used_queues == queues {
                less
            } else {
                format!("{less}, {used_queues} queue(s) instead of {queues}")
            })
        }
        None if plan.oversubscribed => Some(format!("{} threads on {there} core(s)", plan.threads())),
        _ => None,
    };
    Ok(FeasibleCase { plan, queues: used_queues, instead })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::OWN;
    use notation::Rate;

    #[track_caller]
    fn fits(case: DesignCase, cores: usize, threads: (usize, usize, usize), instead: Option<&str>) {
        let allowed: Vec<usize> = (0..cores).collect();
        let fitted = fit_on(case, &allowed).expect("possible");
        assert_eq!((fitted.plan.receivers, fitted.plan.workers, fitted.queues), threads);
        assert_eq!(fitted.instead.as_deref(), instead);
    }

    #[test]
    fn what_is_not_there_is_said() {
        fits(("rss", Some(6), 6), 8, (6, 0, 6), None);
        fits(("rss", Some(6), 6), 2, (2, 0, 2), Some("2 core(s) instead of 6, 2 queue(s) instead of 6"));
        fits(("async", Some(6), 1), 2, (1, 1, 1), Some("2 core(s) instead of 6"));
        fits(("async", Some(6), 1), 1, (1, 1, 1), Some("1 core(s) instead of 6"));
        fits(("sync", Some(2), 1), 2, (1, 1, 1), None);
        fits(("pipeline", Some(2), 1), 1, (1, 1, 1), Some("1 core(s) instead of 2"));
        fits(("cooperative", Some(1), 1), 1, (1, 0, 1), None);
        fits(("3x1", None, 3), 2, (3, 1, 3), Some("6 threads on 2 core(s)"));
        fits(("3x1", None, 3), 6, (3, 1, 3), None);
        fits(("sync position shared", Some(3), 1), 3, (1, 2, 1), None);
        fits(("2x1", Some(4), 2), 2, (2, 1, 2), Some("2 core(s) instead of 4"));
    }

    #[test]
    fn the_benches_own_settings_are_possible_where_there_are_cores() {
        let many: Vec<usize> = (0..64).collect();
        for &case in OWN.cases {
            assert_eq!(fit_on(case, &many).expect("possible").instead, None, "{case:?}");
        }
        assert!(OWN.loads.iter().all(|load| load.rate.parse::<Rate>().is_ok()));
    }

    #[test]
    fn how_it_splits_and_where_it_keeps_flows() {
        let ways = |name| {
            fit_on((name, Some(3), 1), &[0, 1, 2]).map(|fitted| (fitted.plan.split, fitted.plan.state))
        };
        assert_eq!(ways("async"), Ok((Split::Hash, StatePlacement::Separate)));
        assert_eq!(ways("async position"), Ok((Split::Position, StatePlacement::Separate)));
        assert_eq!(ways("async shared"), Ok((Split::Hash, StatePlacement::Shared)));
        assert_eq!(ways("sync position shared"), Ok((Split::Position, StatePlacement::Shared)));
        assert!(ways("sync somehow").is_err());
    }
}
