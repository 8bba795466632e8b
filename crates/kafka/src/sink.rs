//! The thread that delivers.

use crate::delivery::{DeliveryStep, OutboxDelivery};
use crate::{Bell, KafkaOutcome, KafkaProblem, Outbox, ProduceError, Producer};
use model::view::Delivered;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval at which outboxes are asked that ring no bell.
const LOOK: Duration = Duration::from_millis(200);
/// The longest time that a producer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The first wait after something went wrong, and the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// The longest wait once the sink is to end.
const LAST: Duration = Duration::from_millis(500);
/// Different lines of messages that are given up that are said.
const MOST_SAID: usize = 10;

#[derive(Debug, Default)]
struct SharedDelivery {
    counts: Delivered,
    /// The time when the sink ends at the latest.
    ends: Option<Instant>,
}

/// Delivers what outboxes have, on a thread of its own.
pub struct DeliveryThread {
    shared: Arc<Mutex<SharedDelivery>>,
    bell: Bell,
    thread: JoinHandle<KafkaOutcome>,
}

impl DeliveryThread {
    /// Starts the thread. Each outbox keeps its own order, and none waits for another one whose topic is refused. `bell` tells that there is
    /// something to do; `say` is told what is wrong and when it is well again, once for each change.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(
        outboxes: Vec<Box<dyn Outbox>>,
        producer: Box<dyn Producer>,
        bell: &Bell,
        say: Box<dyn Fn(&str) + Send>,
    ) -> io::Result<Self> {
        let shared: Arc<Mutex<SharedDelivery>> = Arc::default();
        let work = DeliveryWorker {
            outboxes: outboxes.into_iter().map(ScheduledOutbox::new).collect(),
            producer,
            bell: bell.clone(),
            say,
            counts: Delivered::default(),
            wrong: BTreeMap::new(),
            said: Vec::new(),
            is_ending: false,
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new().name("kafka".to_owned()).spawn(move || work.run())?;
        Ok(Self { shared, bell: bell.clone(), thread })
    }

    /// Returns the counts of messages so far, by what became of them.
    pub fn counts(&self) -> Delivered {
        locked(&self.shared).counts.clone()
    }

    /// Ends once everything is delivered, or after this time.
    pub fn finish(self, wait: Duration) -> KafkaOutcome {
        let now = Instant::now();
        locked(&self.shared).ends = Some(now.checked_add(wait).unwrap_or(now));
        self.bell.ring();
        let failed = |_| KafkaOutcome { has_failed: true, ..KafkaOutcome::default() };
        self.thread.join().unwrap_or_else(failed)
    }
}

fn locked(shared: &Mutex<SharedDelivery>) -> std::sync::MutexGuard<'_, SharedDelivery> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An outbox, and when it is its turn.
struct ScheduledOutbox {
    delivery: OutboxDelivery,
    /// The reason why the last step failed; none if it did not.
    refusal: Option<ProduceError>,
    not_before: Option<Instant>,
    wait: Duration,
    is_idle: bool,
}

impl ScheduledOutbox {
    fn new(outbox: Box<dyn Outbox>) -> Self {
        Self {
            delivery: OutboxDelivery::new(outbox),
            refusal: None,
            not_before: None,
            wait: FIRST,
            is_idle: false,
        }
    }
}

struct DeliveryWorker {
    outboxes: Vec<ScheduledOutbox>,
    producer: Box<dyn Producer>,
    bell: Bell,
    say: Box<dyn Fn(&str) + Send>,
    counts: Delivered,
    /// The problems at present that were said, each with its reason.
    wrong: BTreeMap<KafkaProblem, String>,
    /// Problems for which messages were given up, which were said.
    said: Vec<String>,
    is_ending: bool,
    shared: Arc<Mutex<SharedDelivery>>,
}

impl DeliveryWorker {
    fn run(mut self) -> KafkaOutcome {
        loop {
            let ends = locked(&self.shared).ends;
            if ends.is_some() && !std::mem::replace(&mut self.is_ending, true) {
                self.outboxes.iter_mut().for_each(|lane| (lane.not_before, lane.wait) = (None, FIRST));
            }
            let has_worked = self.pass(ends);
            self.tell();
            locked(&self.shared).counts.clone_from(&self.counts);
            let now = Instant::now();
            if ends.is_some_and(|ends| now >= ends || self.outboxes.iter().all(|lane| lane.is_idle)) {
                return self.ended();
            }
            if !has_worked {
                let turns = self.outboxes.iter().filter_map(|lane| lane.not_before);
                let next = turns.chain(ends).map(|at| at.saturating_duration_since(now)).min();
                self.bell.wait(next.unwrap_or(LOOK).min(LOOK));
            }
        }
    }

    /// A step of each outbox whose turn it is. Returns whether anything was delivered.
    fn pass(&mut self, ends: Option<Instant>) -> bool {
        let mut has_worked = false;
        for lane in &mut self.outboxes {
            let now = Instant::now();
            if lane.not_before.is_some_and(|at| at > now) {
                continue;
            }
            let left = ends.map_or(TIMEOUT, |ends| ends.saturating_duration_since(now));
            let step = lane.delivery.step(&mut *self.producer, &mut self.counts, TIMEOUT.min(left));
            lane.is_idle = step == DeliveryStep::Idle;
            match step {
                DeliveryStep::Idle | DeliveryStep::Done => {
                    has_worked |= step == DeliveryStep::Done;
                    (lane.refusal, lane.not_before, lane.wait) = (None, None, FIRST);
                }
                DeliveryStep::Failed(refusal) => {
                    lane.refusal = Some(refusal);
                    lane.not_before = now.checked_add(lane.wait);
                    lane.wait = (lane.wait * 2).min(if ends.is_some() { LAST } else { LONGEST });
                }
            }
        }
        has_worked
    }

    /// Says what has changed.
    fn tell(&mut self) {
        let wrong: BTreeMap<KafkaProblem, String> = self
            .outboxes
            .iter()
            .filter_map(|lane| lane.refusal.as_ref())
            .map(|refusal| (refusal.problem, refusal.reason.clone()))
            .collect();
        for (problem, reason) in &wrong {
            if !self.wrong.contains_key(problem) {
                (self.say)(&format!("{reason}; messages wait ({})", problem.name()));
            }
        }
        if wrong.is_empty() && !self.wrong.is_empty() {
            (self.say)("Kafka takes messages again");
        }
        self.wrong = wrong;
        for lane in &mut self.outboxes {
            for line in lane.delivery.given_up.drain(..) {
                if self.said.len() < MOST_SAID && !self.said.contains(&line) {
                    (self.say)(&line);
                    self.said.push(line);
                }
            }
        }
    }

    fn ended(mut self) -> KafkaOutcome {
        let reason = self.outboxes.iter().find_map(|lane| lane.refusal.as_ref());
        let reason = reason.map(|refusal| refusal.reason.clone());
        let waiting = self.outboxes.iter_mut().map(|lane| lane.delivery.waiting());
        let waiting = waiting.filter(|(_, number)| *number != 0).collect();
        self.outboxes.iter_mut().for_each(|lane| lane.delivery.abandon(&mut self.counts));
        KafkaOutcome { counts: self.counts, waiting, reason, has_failed: false }
    }
}
