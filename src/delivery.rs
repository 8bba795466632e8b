//! Answers, events and window rows to Kafka: of a run (`--kafka`, `--kafka-rows`), of a probe (`kafka-rows`) and of a controller (`kafka`).

mod options;

pub(crate) use options::KafkaOptions;

use crate::cli::RunOptions;
use crate::exit::{EARLY, Failure, say};
use crate::lacking::{KAFKA, lacks};
use crate::machine;
use crate::measurement::no_thread;
use crate::reporting::Verdict;
use crate::screen;
use ::controller::Output;
use ::kafka::{
    Bell, Feed, MemoryOutbox, Outbox, Servers, Sink, StoredRows, Topics, client, of_answer, of_event,
};
use engine::WindowOutlet;
use model::Answer;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Bytes of answers and events that wait, unless there is little memory.
const MOST_BYTES: u64 = 64 << 20;

/// What a run sends to Kafka. A run that fails delivers what waits, too.
pub(crate) struct Delivery {
    /// `None` once it is finished.
    sink: Option<Sink>,
    feed: Option<KafkaFeed>,
    wait: Duration,
}

/// The destination of answers and events.
#[derive(Clone)]
pub(crate) struct KafkaFeed {
    feed: Feed,
    /// The user's queries take the place of those that the program asks by itself.
    is_asked: bool,
}

impl Delivery {
    /// Begins to deliver where the options ask for it. `is_replay`: the run waits where Kafka takes less than it answers, until `stop` is set.
    pub(crate) fn start(
        options: &RunOptions,
        is_asked: bool,
        is_replay: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, Failure> {
        let own = &options.kafka;
        let Some(servers) = own.servers()? else { return Ok(None) };
        let memory = options.memory.unwrap_or_else(machine::half_of_memory);
        let most = usize::try_from((memory / 8).min(MOST_BYTES)).unwrap_or(usize::MAX);
        let bell = Bell::default();
        let outbox = MemoryOutbox::new(most, bell.clone());
        let feed = KafkaFeed { feed: outbox.feed(is_replay, Arc::clone(stop)), is_asked };
        let mut outboxes: Vec<Box<dyn Outbox>> = vec![Box::new(outbox)];
        outboxes.extend(rows(options)?);
        let sink = begin(servers, &own.kafka_topics, outboxes, &bell, Box::new(say))?;
        Ok(Some(Self { sink: Some(sink), feed: Some(feed), wait: own.kafka_wait }))
    }

    /// Begins to deliver the window rows of a probe where its settings ask for it.
    pub(crate) fn start_rows(options: &RunOptions) -> Result<Option<Self>, Failure> {
        let own = &options.kafka;
        let Some(servers) = own.servers()? else { return Ok(None) };
        let outboxes: Vec<_> = rows(options)?.into_iter().collect();
        if outboxes.is_empty() {
            return Err(Failure::usage(
                "'kafka': a probe sends rows alone: give kafka-rows = true; answers and events are the controller's",
            ));
        }
        let sink = begin(servers, &own.kafka_topics, outboxes, &Bell::default(), Box::new(say))?;
        Ok(Some(Self { sink: Some(sink), feed: None, wait: own.kafka_wait }))
    }

    /// Where to send what is new.
    pub(crate) fn feed(&self) -> Option<KafkaFeed> {
        self.feed.clone()
    }

    /// Delivers what waits, for some time, and says what Kafka lacks. The store is closed before.
    pub(crate) fn finish(mut self, verdict: &mut Verdict) {
        let lines = self.end();
        if !lines.is_empty() {
            verdict.code = verdict.code.max(EARLY);
            verdict.lines.extend(lines);
        }
    }

    /// What Kafka lacks, once what waits was delivered, or the time is over.
    fn end(&mut self) -> Vec<String> {
        self.feed = None;
        self.sink.take().map(|sink| sink.finish(self.wait).lines()).unwrap_or_default()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.end().iter().for_each(|line| say(line));
    }
}

/// The rows of the store, if they are asked for.
fn rows(options: &RunOptions) -> Result<Option<Box<dyn Outbox>>, Failure> {
    match (&options.store, options.kafka.kafka_rows) {
        (_, false) => Ok(None),
        (Some(folder), true) => Ok(Some(Box::new(StoredRows::new(folder)))),
        (None, true) => Err(Failure::usage(
            "--kafka-rows sends what the store has, so that no kill loses it: give --store DIR too",
        )),
    }
}

pub(crate) fn begin(
    servers: &Servers,
    topics: &Topics,
    outboxes: Vec<Box<dyn Outbox>>,
    bell: &Bell,
    say_line: Box<dyn Fn(&str) + Send>,
) -> Result<Sink, Failure> {
    let Some(client) = client() else {
        return Err(lacks("sending to Kafka", &KAFKA));
    };
    if !servers.are_loopback() {
        say(&format!("Kafka at {servers} is spoken to in clear text: only within a network that is trusted"));
    }
    let cluster = client(servers.clone(), topics.clone()).map_err(Failure::fault)?;
    Sink::start(outboxes, cluster, bell, say_line).map_err(no_thread)
}

impl KafkaFeed {
    /// Sends what a controller shows.
    pub(crate) fn shown(&self, output: &Output) {
        match output {
            Output::Answer(answer) if screen::has_line(answer, answer.empty.is_some(), self.is_asked) => {
                self.answer(answer);
            }
            Output::Event(event) => match of_event(event) {
                Ok(message) => self.feed.push([message]),
                Err(_) => self.feed.not_json(),
            },
            _ => {}
        }
    }

    fn answer(&self, answer: &Answer) {
        match of_answer(answer) {
            Ok(messages) => self.feed.push(messages),
            Err(_) => self.feed.not_json(),
        }
    }

    /// Sends answers of windows that the end of the run cut.
    pub(crate) fn answers(&self, answers: &[Answer]) {
        answers.iter().for_each(|answer| self.answer(answer));
    }

    /// An outlet that sends each window of the one node of a run before it passes it on.
    pub(crate) fn tee(self, mut outlet: WindowOutlet) -> WindowOutlet {
        Box::new(move |window| {
            screen::lines_of(&window, self.is_asked).for_each(|answer| self.answer(answer));
            outlet(window)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::kafka::{Message, Producer, Refusal};
    use std::sync::Mutex;

    /// Notes what it takes.
    struct Taking(Arc<Mutex<usize>>);

    impl Producer for Taking {
        fn produce(&mut self, messages: &[&Message], _: Duration) -> Vec<Result<(), Refusal>> {
            *self.0.lock().expect("a lock") += messages.len();
            vec![Ok(()); messages.len()]
        }
    }

    #[test]
    fn a_run_that_fails_delivers_what_waits() {
        let outbox = MemoryOutbox::new(1 << 20, Bell::default());
        let feed = outbox.feed(true, Arc::default());
        feed.push(of_answer(&Answer::new("q", None, Vec::new(), Vec::new())).expect("messages"));
        let taken = Arc::default();
        let producer = Box::new(Taking(Arc::clone(&taken)));
        let sink = Sink::start(vec![Box::new(outbox)], producer, &Bell::default(), Box::new(|_| ()));
        let feed = Some(KafkaFeed { feed, is_asked: true });
        drop(Delivery { sink: Some(sink.expect("a thread")), feed, wait: Duration::from_secs(60) });
        assert_eq!(*taken.lock().expect("a lock"), 1);
    }
}
