//! The delivery of a controller to Kafka: all that its archive has, from the last answer and the last event on that Kafka took.

use super::ControllerPublisher;
use crate::controller::config::ControllerConfig;
use ::kafka::{Archived, Bell, DeliveryThread, Outbox, SharedArchive};
use archive::{Archive, Numbered};
use runtime::exit::{Failure, say};
use runtime::sinks::kafka::begin;
use runtime::spec::ClusterOptions;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use web::Hub;
use web::view::Status;

/// The time for which the end of a controller waits. What is not delivered then is delivered after its next start.
const WAIT: Duration = Duration::from_secs(2);

/// The archive of a hub.
struct OfHub(Hub);

impl SharedArchive for OfHub {
    fn with<T>(&self, work: impl FnOnce(&mut Archive) -> T) -> T {
        work(&mut self.0.archive())
    }
}

/// The delivery of a controller.
struct KafkaPublisher {
    sink: DeliveryThread,
    bell: Bell,
    lines: Receiver<String>,
}

/// Begins to deliver where the settings ask for it.
pub(super) fn start(
    config: &ControllerConfig,
    hub: &Hub,
) -> Result<Option<Box<dyn ControllerPublisher>>, Failure> {
    let ClusterOptions { kafka: Some(servers), kafka_topics } = &config.kafka else { return Ok(None) };
    let outbox = |of| Box::new(Archived::new(OfHub(hub.clone()), of)) as Box<dyn Outbox>;
    let outboxes = vec![outbox(Numbered::Answers), outbox(Numbered::Events)];
    let bell = Bell::default();
    let (sender, lines) = channel();
    // The receiver is gone once the controller has ended.
    let note = move |line: &str| drop(sender.send(line.to_owned()));
    let sink = begin(servers, kafka_topics, outboxes, &bell, Box::new(note))?;
    Ok(Some(Box::new(KafkaPublisher { sink, bell, lines })))
}

impl ControllerPublisher for KafkaPublisher {
    fn stored(&self) {
        self.bell.ring();
    }

    fn lines(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    fn add_to(&self, status: &mut Status) {
        status.kafka = Some(self.sink.counts());
    }

    fn end(self: Box<Self>) -> Option<(String, String)> {
        let Self { sink, lines, .. } = *self;
        let ended = sink.finish(WAIT);
        lines.try_iter().for_each(|line| say(&line));
        for (what, number) in &ended.waiting {
            say(&format!("{number} {what} wait for Kafka until a controller is started again"));
        }
        // What was delivered is in the archive already.
        None
    }
}
