//! Answers, events and window rows to Kafka: of a run (`--kafka`, `--kafka-rows`), of a probe (`kafka-rows`) and of a controller (`kafka`).

use super::{Sink, SinkContext};
use crate::exit::no_thread;
use crate::exit::{EARLY, Failure, say};
use crate::lacking::{KAFKA, lacks};
use crate::machine;
use crate::sinks::screen;
use crate::spec::RunSpec;
use crate::verdict::ExitStatus;
use ::controller::ControllerOutput;
use ::kafka::{
    Bell, MemoryOutbox, Outbox, OutboxSender, Servers, StoredRows, Topics, client, encode_answer,
    encode_event,
};
use model::{Answer, RunReport, Window};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of answers and events that wait, unless there is little memory.
const MOST_BYTES: u64 = 64 << 20;

/// The delivery of what a run sends to Kafka. A run that fails delivers what waits, too.
pub(crate) struct RunDelivery {
    /// The client of Kafka; `None` once it is finished.
    sink: Option<::kafka::DeliveryThread>,
    wait: Duration,
}

/// Sends answers and events.
struct KafkaSink {
    /// The destination of answers and events; `None` where rows alone are sent.
    feed: Option<KafkaFeed>,
    /// The delivery; `None` once it is finished.
    delivery: Mutex<Option<RunDelivery>>,
}

/// The destination of answers and events.
struct KafkaFeed {
    feed: OutboxSender,
    /// True if the user's queries take the place of those that the program asks by itself.
    is_asked: bool,
}

impl RunDelivery {
    /// Begins to deliver where the options ask for it. A replay waits where Kafka takes less than it answers, until it is told to end.
    pub(super) fn start(context: &SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let SinkContext { options, asked, is_replay, stop, .. } = *context;
        let own = &options.output.kafka;
        let Some(servers) = own.servers()? else { return Ok(None) };
        let bell = Bell::default();
        let mut outboxes: Vec<Box<dyn Outbox>> = Vec::new();
        let mut feed = None;
        if options.link.is_none() {
            let memory = options.limit.memory.unwrap_or_else(machine::half_of_memory);
            let most = usize::try_from((memory / 8).min(MOST_BYTES)).unwrap_or(usize::MAX);
            let outbox = MemoryOutbox::new(most, bell.clone());
            let own = outbox.feed(is_replay, Arc::clone(stop));
            feed = Some(KafkaFeed { feed: own, is_asked: !asked.is_empty() });
            outboxes.push(Box::new(outbox));
        }
        outboxes.extend(rows(options)?);
        if outboxes.is_empty() {
            return Err(Failure::usage(
                "'kafka': a probe sends rows alone: give kafka-rows = true; answers and events are the controller's",
            ));
        }
        let sink = begin(servers, &own.cluster.kafka_topics, outboxes, &bell, Box::new(say))?;
        let delivery = Mutex::new(Some(Self { sink: Some(sink), wait: own.kafka_wait }));
        Ok(Some(Box::new(KafkaSink { feed, delivery })))
    }

    /// Delivers what waits, for some time, and says what Kafka lacks. The store is closed before.
    pub(crate) fn finish(mut self, verdict: &mut ExitStatus) {
        let lines = self.end();
        if !lines.is_empty() {
            verdict.code = verdict.code.max(EARLY);
            verdict.lines.extend(lines);
        }
    }

    /// Returns what Kafka lacks, once what waits was delivered, or the time is over.
    fn end(&mut self) -> Vec<String> {
        self.sink.take().map(|sink| sink.finish(self.wait).lines()).unwrap_or_default()
    }
}

impl Drop for RunDelivery {
    fn drop(&mut self) {
        self.end().iter().for_each(|line| say(line));
    }
}

/// The rows of the store, if they are asked for.
fn rows(options: &RunSpec) -> Result<Option<Box<dyn Outbox>>, Failure> {
    match (&options.output.store, options.output.kafka.kafka_rows) {
        (_, false) => Ok(None),
        (Some(folder), true) => Ok(Some(Box::new(StoredRows::new(folder)))),
        (None, true) => Err(Failure::usage(
            "--kafka-rows sends what the store has, so that no kill loses it: give --store DIR too",
        )),
    }
}

/// Begins to send what outboxes have.
///
/// # Errors
/// If this build has no client of Kafka, or no thread can be started.
pub fn begin(
    servers: &Servers,
    topics: &Topics,
    outboxes: Vec<Box<dyn Outbox>>,
    bell: &Bell,
    say_line: Box<dyn Fn(&str) + Send>,
) -> Result<::kafka::DeliveryThread, Failure> {
    let Some(client) = client() else {
        return Err(lacks("sending to Kafka", &KAFKA));
    };
    if !servers.are_loopback() {
        say(&format!("Kafka at {servers} is spoken to in clear text: only within a network that is trusted"));
    }
    let cluster = client(servers.clone(), topics.clone()).map_err(Failure::fault)?;
    ::kafka::DeliveryThread::start(outboxes, cluster, bell, say_line).map_err(no_thread)
}

impl Sink for KafkaSink {
    fn window(&self, window: &Window) {
        let Some(feed) = &self.feed else { return };
        screen::lines_of(window, feed.is_asked).for_each(|answer| feed.answer(answer));
    }

    fn cut(&self, answers: &[Answer]) {
        self.feed.iter().for_each(|feed| answers.iter().for_each(|answer| feed.answer(answer)));
    }

    fn take_output(&self, output: &ControllerOutput) {
        let Some(feed) = &self.feed else { return };
        match output {
            ControllerOutput::Answer(answer)
                if screen::has_line(answer, answer.empty.is_some(), feed.is_asked) =>
            {
                feed.answer(answer);
            }
            ControllerOutput::Event(event) => match encode_event(event) {
                Ok(message) => feed.feed.push([message]),
                Err(_) => feed.feed.count_not_json(),
            },
            _ => {}
        }
    }

    fn finish(&self, _: &RunReport, verdict: &mut ExitStatus) {
        let delivery = self.delivery.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(delivery) = delivery {
            delivery.finish(verdict);
        }
    }
}

impl KafkaFeed {
    fn answer(&self, answer: &Answer) {
        match encode_answer(answer) {
            Ok(messages) => self.feed.push(messages),
            Err(_) => self.feed.count_not_json(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::kafka::{Message, ProduceError, Producer};
    use std::sync::Mutex;

    /// Notes what it takes.
    struct Taking(Arc<Mutex<usize>>);

    impl Producer for Taking {
        fn produce(&mut self, messages: &[&Message], _: Duration) -> Vec<Result<(), ProduceError>> {
            *self.0.lock().expect("a lock") += messages.len();
            vec![Ok(()); messages.len()]
        }
    }

    #[test]
    fn a_run_that_fails_delivers_what_waits() {
        let outbox = MemoryOutbox::new(1 << 20, Bell::default());
        let feed = outbox.feed(true, Arc::default());
        feed.push(encode_answer(&Answer::new("q", None, Vec::new(), Vec::new())).expect("messages"));
        let taken = Arc::default();
        let producer = Box::new(Taking(Arc::clone(&taken)));
        let sink = ::kafka::DeliveryThread::start(
            vec![Box::new(outbox)],
            producer,
            &Bell::default(),
            Box::new(|_| ()),
        );
        drop(RunDelivery { sink: Some(sink.expect("a thread")), wait: Duration::from_secs(60) });
        assert_eq!(*taken.lock().expect("a lock"), 1);
    }
}
