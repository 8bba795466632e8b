//! The publishers, which tell others what a controller has stored: one trait, and the list of all. The controller at work knows none by its
//! name.

mod alerts;
mod kafka;

use super::config::ControllerConfig;
use events::MachineState;
use model::Event;
use runtime::exit::Failure;
use web::Hub;
use web::view::Status;

/// Takes what a controller stores to others.
pub(super) trait ControllerPublisher {
    /// Looks at what users did at the hub, before events come.
    fn follow(&mut self, _: &Hub) {}

    /// Takes an event, which is not stored yet.
    fn event(&self, _: &Event) {}

    /// Looks at what conditions hold.
    fn settle(&mut self, _: &MachineState) {}

    /// Returns the name of its state in the archive and the state, if that has changed since it was stored.
    fn save(&self) -> Option<(String, String)> {
        None
    }

    /// Tells what is stored now, what was saved among it.
    fn stored(&self);

    /// Returns what is to be said since the last call.
    fn lines(&self) -> Vec<String>;

    /// Adds what became of what it took.
    fn add_to(&self, status: &mut Status);

    /// Ends, and says what others were not told. Returns the state from which the next start continues, as [`ControllerPublisher::save`] does.
    fn end(self: Box<Self>) -> Option<(String, String)>;
}

type PublisherStart = fn(&ControllerConfig, &Hub) -> Result<Option<Box<dyn ControllerPublisher>>, Failure>;

/// The starts of all publishers.
const PUBLISHERS: [PublisherStart; 2] = [kafka::start, alerts::start];

/// Starts those that the settings ask for.
pub(super) fn start(
    config: &ControllerConfig,
    hub: &Hub,
) -> Result<Vec<Box<dyn ControllerPublisher>>, Failure> {
    let mut publishers = Vec::new();
    for start in PUBLISHERS {
        publishers.extend(start(config, hub)?);
    }
    Ok(publishers)
}
