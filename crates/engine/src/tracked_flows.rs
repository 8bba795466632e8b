//! The check whether a run can follow pinned flows alone.

use crate::config::MeasurementConfig;
use crate::design::{Design, Split, StatePlacement};
use crate::plan::ResolvedDesign;
use crate::refusal::Directions;
use std::fmt;

/// The reason why pinned flows alone cannot be followed: their losses, and statistics of their packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoZoom {
    /// The flow key is not the 5-tuple.
    Key,
    /// Packets are sampled, and every packet of a connection is needed.
    Sampled,
    /// Flows are not confined to one core.
    Merges {
        /// The rule by which packets are split.
        split: Split,
        /// The place where flows are kept.
        state: StatePlacement,
    },
    /// The two directions of a connection go to different workers.
    Workers {
        /// The design.
        design: Design,
        /// Workers of each receiver.
        workers: usize,
    },
    /// The two directions of a connection may arrive at different receivers.
    Directions {
        /// The receivers of the two directions, as far as they are known.
        directions: Directions,
    },
}

impl fmt::Display for NoZoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("the flow key is not the 5-tuple, by which connections are followed"),
            Self::Sampled => f.write_str("packets are sampled, and every packet of a connection is needed"),
            Self::Merges { split, state } => {
                write!(f, "flows are not on one core ({state} state, split by {split})")
            }
            Self::Workers { design, workers } => write!(
                f,
                "the design {design} gives the two directions of a connection to different ones of {workers} workers"
            ),
            Self::Directions { directions } => {
                write!(f, "both directions of a connection are needed on one core, and {directions}")
            }
        }
    }
}

/// Returns why the gaps of pinned flows cannot be told even where these are followed: frames are numbered by each receiver.
pub fn no_gaps(plan: &ResolvedDesign) -> Option<String> {
    (plan.receivers > 1)
        .then(|| format!("gaps need all frames at one receiver, and there are {}", plan.receivers))
}

/// Returns why a run of this plan cannot follow pinned flows alone; `None` if it can. `directions`: where those of a connection arrive if
/// there are several receivers.
pub fn check_tracked_flows(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    directions: Directions,
) -> Option<NoZoom> {
    if !config.key.is_five_tuple() {
        return Some(NoZoom::Key);
    }
    if config.sampling.is_some() {
        return Some(NoZoom::Sampled);
    }
    if plan.merges() {
        return Some(NoZoom::Merges { split: plan.split, state: plan.state });
    }
    if plan.workers > 1 {
        return Some(NoZoom::Workers { design: plan.design, workers: plan.workers });
    }
    let is_apart = plan.receivers > 1 && directions != Directions::Together;
    is_apart.then_some(NoZoom::Directions { directions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::KeySpec;

    #[test]
    fn what_is_not_possible_is_named() {
        let config = MeasurementConfig::default();
        let plan = |design: &str, cores: usize| {
            let cores = format!("{cores}").parse().expect("cores");
            ResolvedDesign::new(Some(design.parse().expect("a design")), Some(&cores), 4, &[0, 1, 2, 3])
                .expect("a plan")
        };
        let (together, apart) = (Directions::Together, Directions::Apart);
        for (design, cores) in
            [("rss", 1), ("rss", 3), ("async", 2), ("sync", 2), ("pipeline", 2), ("cooperative", 1)]
        {
            assert_eq!(check_tracked_flows(&config, &plan(design, cores), together), None, "{design}");
            assert_eq!(no_gaps(&plan(design, cores)).is_some(), cores == 3, "{design}");
        }
        assert_eq!(check_tracked_flows(&config, &plan("rss", 1), apart), None);
        let key = KeySpec::parse("dst_addr").expect("a key");
        let said = [
            check_tracked_flows(&MeasurementConfig { key, ..config.clone() }, &plan("rss", 1), together),
            check_tracked_flows(
                &config,
                &ResolvedDesign { state: StatePlacement::Shared, ..plan("rss", 2) },
                together,
            ),
            check_tracked_flows(
                &config,
                &ResolvedDesign { split: Split::Position, ..plan("async", 3) },
                together,
            ),
            check_tracked_flows(&config, &plan("async", 3), together),
            check_tracked_flows(&config, &plan("rss", 2), apart),
        ];
        let words = ["5-tuple", "shared state", "split by position", "2 workers", "one core"];
        for (said, word) in said.iter().zip(words) {
            let said = said.as_ref().expect("not possible").to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
