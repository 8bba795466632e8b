//! A build without the client of the API: no Alertmanager is told.

use crate::alert_options::AlertOptions;
use crate::exit::Failure;
use events::State;
use report::Event;
use report::view::AlertmanagerView;
use std::convert::Infallible;

/// What Alertmanagers were told, which is nothing.
pub(crate) struct Told {
    pub(crate) untold: Vec<String>,
    pub(crate) given_up: Vec<String>,
    pub(crate) views: Vec<AlertmanagerView>,
}

/// Tells Alertmanagers, of which there are none.
pub(crate) struct Alerts(Infallible);

impl Alerts {
    pub(crate) fn start(_: &AlertOptions, _: Option<&str>) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    pub(crate) fn event(&self, _: &Event) {
        match self.0 {}
    }

    pub(crate) fn settle(&mut self, _: &State) {
        match self.0 {}
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        match self.0 {}
    }

    pub(crate) fn views(&self) -> Vec<AlertmanagerView> {
        match self.0 {}
    }

    pub(crate) fn finish(self) -> Told {
        match self.0 {}
    }
}
