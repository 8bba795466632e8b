//! The alerts of a controller, for Alertmanagers. Those that they do not take before it ends are sent after its next start.

use super::ControllerPublisher;
use crate::controller::config::ControllerConfig;
use events::MachineState;
use model::Event;
use runtime::exit::{Failure, say};
use runtime::sinks::alerts::Alerts;
use web::Hub;
use web::view::Status;

/// The name of the state of alerts in the archive.
const STATE: &str = "alerts";

/// Begins to tell where the settings ask for it.
pub(super) fn start(
    config: &ControllerConfig,
    hub: &Hub,
) -> Result<Option<Box<dyn ControllerPublisher>>, Failure> {
    let saved = hub.archive().state(STATE).map_err(Failure::fault)?;
    let alerts = Alerts::start(&config.alerts, saved.as_deref())?;
    Ok(alerts.map(|alerts| Box::new(alerts) as Box<dyn ControllerPublisher>))
}

impl ControllerPublisher for Alerts {
    fn follow(&mut self, hub: &Hub) {
        self.silence(hub);
    }

    fn event(&self, event: &Event) {
        Alerts::event(self, event);
    }

    fn settle(&mut self, state: &MachineState) {
        Alerts::settle(self, state);
    }

    fn save(&self) -> Option<(String, String)> {
        Alerts::save(self).map(|saved| (STATE.to_owned(), saved))
    }

    fn stored(&self) {
        Alerts::stored(self);
    }

    fn lines(&self) -> Vec<String> {
        Alerts::lines(self)
    }

    fn add_to(&self, status: &mut Status) {
        status.alertmanagers = self.views();
    }

    fn end(self: Box<Self>) -> Option<(String, String)> {
        let told = self.finish();
        told.untold.iter().for_each(|line| say(&format!("{line}; it is told after the next start")));
        told.given_up.iter().for_each(|line| say(line));
        told.saved.map(|saved| (STATE.to_owned(), saved))
    }
}
