//! What a controller sends to Kafka: all that its archive has, from the last answer and the last event on that Kafka took.

use ::kafka::{Archived, Bell, Outbox, SharedArchive, Sink};
use archive::{Archive, Keep, Numbered};
use runtime::exit::{Failure, say};
use runtime::sinks::kafka::begin;
use runtime::spec::ClusterOptions;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use web::Hub;
use web::view::Delivered;

/// How long the end of a controller waits: what is not delivered then is delivered after its next start.
const WAIT: Duration = Duration::from_secs(2);

/// Returns why Kafka does not go with what the archive keeps.
pub(crate) fn lacks(options: &ClusterOptions, keep: &Keep) -> Option<String> {
    let of = [("keep-answers", keep.answers), ("keep-events", keep.events)];
    let nothing = of.into_iter().find(|(_, number)| options.kafka.is_some() && *number == 0);
    nothing.map(|(key, _)| format!("'{key}': what Kafka is to have waits in the archive: keep some"))
}

/// The archive of a hub.
struct OfHub(Hub);

impl SharedArchive for OfHub {
    fn with<T>(&self, work: impl FnOnce(&mut Archive) -> T) -> T {
        work(&mut self.0.archive())
    }
}

/// The delivery of a controller.
pub(crate) struct Hand {
    sink: Sink,
    bell: Bell,
    lines: Receiver<String>,
}

impl Hand {
    /// Begins to deliver where the settings ask for it.
    pub(crate) fn start(options: &ClusterOptions, hub: &Hub) -> Result<Option<Self>, Failure> {
        let Some(servers) = &options.kafka else { return Ok(None) };
        let outbox = |of| Box::new(Archived::new(OfHub(hub.clone()), of)) as Box<dyn Outbox>;
        let outboxes = vec![outbox(Numbered::Answers), outbox(Numbered::Events)];
        let bell = Bell::default();
        let (sender, lines) = channel();
        // Once nobody listens the controller has ended.
        let note = move |line: &str| drop(sender.send(line.to_owned()));
        let sink = begin(servers, &options.kafka_topics, outboxes, &bell, Box::new(note))?;
        Ok(Some(Self { sink, bell, lines }))
    }

    /// There may be something new in the archive.
    pub(crate) fn stored(&self) {
        self.bell.ring();
    }

    /// What became of messages so far.
    pub(crate) fn delivered(&self) -> Delivered {
        self.sink.counts()
    }

    /// What is to be said since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    /// Ends the delivery.
    pub(crate) fn end(self) {
        let ended = self.sink.finish(WAIT);
        self.lines.try_iter().for_each(|line| say(&line));
        for (what, number) in &ended.waiting {
            say(&format!("{number} {what} wait for Kafka until a controller is started again"));
        }
    }
}
