//! A node that tells its controller of its traffic.

use crate::overview::Overview;
use crate::report::{ENTRIES, EntryReport, TrafficReport, UnusualReport};
use crate::step::Step;
use crate::unusual::rule_state;
use model::view::unusual::{UnusualEntry, UnusualRule};

/// Tells a controller of the traffic of a node, as its recorder takes it.
#[derive(Debug)]
pub struct TrafficReporter {
    overview: Overview,
    /// What was told last.
    told: Option<UnusualReport>,
}

impl Overview {
    /// Returns what tells a controller of the steps from now on, of the one node that is recorded here.
    pub fn reporter(&self) -> TrafficReporter {
        self.shared().untold.get_or_insert_default();
        TrafficReporter { overview: self.clone(), told: None }
    }
}

impl TrafficReporter {
    /// Returns what is new since the last call; `None` if nothing is.
    pub fn report(&mut self) -> Option<Box<TrafficReport>> {
        let mut shared = self.overview.shared();
        let steps: Vec<Step> = shared.untold.iter_mut().flat_map(std::mem::take).collect();
        let node = shared.nodes.first()?;
        let shape = node.shape.into();
        let mut entries: Vec<UnusualEntry> = node.entries.views(&node.name, &node.shape).collect();
        let rules = UnusualRule::ALL.map(|rule| rule_state(rule, node)).into();
        drop(shared);
        let unlisted = entries.len().saturating_sub(ENTRIES);
        let entries = entries.drain(unlisted..).map(EntryReport::from).collect();
        let unusual = UnusualReport { rules, entries, unlisted: unlisted as u64 };
        // With each step it is told again: a message may be dropped, and a controller starts anew.
        let is_new = !steps.is_empty() || self.told.as_ref() != Some(&unusual);
        is_new.then(|| {
            self.told = Some(unusual.clone());
            Box::new(TrafficReport { shape, steps, unusual: Some(unusual) })
        })
    }
}
