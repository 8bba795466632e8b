//! The controller's states in the archive, each under a name of its own, of which those that changed are stored anew.

use super::{lacks, past, unsettled};
use controller::Controller;
use std::collections::BTreeSet;

/// The states that the archive has, as far as their names and versions tell which are to be stored anew.
pub(super) struct ArchivedStates {
    /// The names under which results that are not settled are stored: probes will not send them again.
    unsettled: BTreeSet<String>,
    /// The names under which earlier windows that queries read are stored.
    past: BTreeSet<String>,
    /// The number of times that each node's lacks had changed when they were stored.
    lacks: lacks::StoredChanges,
}

impl ArchivedStates {
    /// Returns the states that the archive has when a controller starts.
    pub(super) fn at_start(unsettled: Vec<(String, String)>, past: Vec<(String, String)>) -> Self {
        let names = |states: Vec<(String, String)>| states.into_iter().map(|(name, _)| name).collect();
        Self { unsettled: names(unsettled), past: names(past), lacks: lacks::StoredChanges::default() }
    }

    /// Returns the states that the archive has once all of a controller are stored.
    pub(super) fn from_controller(controller: &Controller) -> Self {
        Self {
            unsettled: unsettled::names(controller),
            past: past::names(controller),
            lacks: lacks::stored(controller),
        }
    }

    /// Returns the states of a controller that the archive does not have yet, each with its name.
    pub(super) fn changed(
        &self,
        controller: &Controller,
    ) -> Result<Vec<(String, String)>, serde_json::Error> {
        let mut changed = unsettled::new(controller, &self.unsettled)?;
        changed.extend(past::new(controller, &self.past)?);
        changed.extend(lacks::new(controller, &self.lacks)?);
        Ok(changed)
    }

    /// Returns the names of the states that the archive has and `now` does not.
    pub(super) fn dropped(&self, now: &Self) -> Vec<String> {
        let dropped = self.unsettled.difference(&now.unsettled).chain(self.past.difference(&now.past));
        dropped.cloned().collect()
    }
}
