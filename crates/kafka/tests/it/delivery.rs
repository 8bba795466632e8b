//! Delivery against a model: whatever the producer refuses or forgets, and whenever the process is killed, each message is taken at least once,
//! under one identifier, and none before one that was put in earlier under the same key is given up.

use crate::support::{Fake, Mood, answer, event, log};
use archive::{Archive, ArchiveChanges, ArchiveRetention, Numbered};
use kafka::{
    Archived, Bell, DeliveryThread, KafkaProblem, MemoryOutbox, Message, MessageBatch, Outbox, Topic,
    encode_answer, encode_event,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Long enough for any machine: what is waited for comes.
const LONG: Duration = Duration::from_secs(120);

fn message(id: u64) -> Message {
    Message { topic: Topic::Answers, id: id.to_string(), key: "k".to_owned(), value: b"{}".to_vec() }
}

fn deliver(outboxes: Vec<Box<dyn Outbox>>, fake: &Fake, wait: Duration) -> kafka::KafkaOutcome {
    let sink = DeliveryThread::start(outboxes, Box::new(fake.clone()), &Bell::default(), Box::new(|_| ()));
    sink.expect("a thread").finish(wait)
}

/// What an archive has of a kind, as identifiers of messages.
fn expected(answers: &[model::Answer], events: &[model::Event]) -> BTreeSet<String> {
    let answers = answers.iter().flat_map(|answer| encode_answer(answer).expect("messages"));
    let events = events.iter().map(|event| encode_event(event).expect("a message"));
    answers.chain(events).map(|message| message.id).collect()
}

#[test]
fn what_may_pass_is_tried_until_it_does() {
    let outbox = MemoryOutbox::new(1 << 20, Bell::default());
    outbox.feed(true, Arc::default()).push((0..10).map(message));
    let fake = Fake::of([Mood::Away, Mood::Forgets, Mood::TakesSome, Mood::Away]);
    let ended = deliver(vec![Box::new(outbox)], &fake, LONG);
    assert_eq!((ended.counts.delivered, ended.counts.lost.total()), (10, 0));
    assert!(ended.waiting.is_empty() && ended.lines().is_empty());
    assert_eq!(ended.counts.problems.get("away"), 4, "{:?}", ended.counts);
    assert!(ended.counts.again >= 10);
    assert_eq!(fake.taken_once(), (0..10).map(|id| id.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_message_that_is_refused_for_itself_holds_up_no_other() {
    let outbox = MemoryOutbox::new(1 << 20, Bell::default());
    let feed = outbox.feed(true, Arc::default());
    feed.push((0..10).map(message));
    let fake = Fake::default().refuses("3", KafkaProblem::TooLarge).refuses("7", KafkaProblem::Malformed);
    let said = log();
    let sink = DeliveryThread::start(
        vec![Box::new(outbox)],
        Box::new(fake.clone()),
        &Bell::default(),
        said.writer(),
    );
    let ended = sink.expect("a thread").finish(LONG);
    assert_eq!(ended.counts.delivered, 8);
    assert_eq!(ended.counts.lost.nonzero().collect::<Vec<_>>(), [("malformed", 1), ("too_large", 1)]);
    assert_eq!(said.lines().len(), 2, "{:?}", said.lines());
    assert_eq!(ended.lines().len(), 2);
    assert_eq!(fake.taken_once().len(), 8);
}

#[test]
fn a_topic_that_is_refused_holds_up_no_other() {
    let archive = Arc::new(Mutex::new(Archive::in_memory(ArchiveRetention::default()).expect("an archive")));
    let (answers, events) = (vec![answer(1), answer(2)], vec![event(1), event(2)]);
    let changes = ArchiveChanges { answers: answers.clone(), events, ..ArchiveChanges::default() };
    archive.lock().expect("a lock").commit(&changes).expect("it is stored");
    let outboxes: Vec<Box<dyn Outbox>> = vec![
        Box::new(Archived::new(Arc::clone(&archive), Numbered::Events)),
        Box::new(Archived::new(Arc::clone(&archive), Numbered::Answers)),
    ];
    let fake = Fake::default().refuses_topic(Topic::Events, KafkaProblem::NotAllowed);
    let said = log();
    let sink = DeliveryThread::start(outboxes, Box::new(fake.clone()), &Bell::default(), said.writer());
    let sink = sink.expect("a thread");
    while sink.counts().delivered < 2 || sink.counts().problems.total() == 0 {
        std::thread::yield_now();
    }
    let ended = sink.finish(Duration::ZERO);
    assert_eq!(fake.taken_once().into_iter().collect::<BTreeSet<_>>(), expected(&answers, &[]));
    assert_eq!(ended.waiting, [("events", 2)]);
    assert_eq!(ended.lines().len(), 1);
    // Once, however often it was tried.
    assert_eq!(said.lines().iter().filter(|line| line.contains("not_allowed")).count(), 1);
    assert_eq!(ended.counts.problems.nonzero().map(|(name, _)| name).collect::<Vec<_>>(), ["not_allowed"]);
}

#[test]
fn a_cluster_that_is_away_and_back_is_told_once_each() {
    let outbox = MemoryOutbox::new(1 << 20, Bell::default());
    outbox.feed(true, Arc::default()).push((0..3).map(message));
    let fake = Fake::of([Mood::Away, Mood::Away, Mood::Away]);
    let said = log();
    let sink = DeliveryThread::start(vec![Box::new(outbox)], Box::new(fake), &Bell::default(), said.writer());
    let ended = sink.expect("a thread").finish(LONG);
    assert_eq!(ended.counts.delivered, 3);
    assert_eq!(said.lines().len(), 2, "{:?}", said.lines());
    assert!(said.lines()[0].contains("(away)") && said.lines()[1].contains("again"));
}

#[test]
fn what_was_dropped_before_it_was_sent_is_counted_by_number() {
    let keep = ArchiveRetention { answers: 5, ..ArchiveRetention::default() };
    let archive = Arc::new(Mutex::new(Archive::in_memory(keep).expect("an archive")));
    let store = |numbers: std::ops::Range<u64>| {
        let changes = ArchiveChanges { answers: numbers.map(answer).collect(), ..ArchiveChanges::default() };
        archive.lock().expect("a lock").commit(&changes).expect("it is stored");
    };
    let outbox =
        || -> Vec<Box<dyn Outbox>> { vec![Box::new(Archived::new(Arc::clone(&archive), Numbered::Answers))] };
    // No reader has asked for the first ones yet.
    store(0..7);
    let fake = Fake::default();
    let ended = deliver(outbox(), &fake, LONG);
    assert_eq!((ended.counts.delivered, ended.counts.lost.total()), (5, 0));
    store(7..20);
    let ended = deliver(outbox(), &fake, LONG);
    assert_eq!(ended.counts.delivered, 5);
    assert_eq!(ended.counts.lost.get("dropped"), 8);
    let ended = deliver(outbox(), &fake, LONG);
    assert_eq!((ended.counts.delivered, ended.counts.lost.total()), (0, 0));
}

#[test]
fn what_is_dropped_before_the_first_delivery_is_counted_after_another_start() {
    let archive = Arc::new(Mutex::new(
        Archive::in_memory(ArchiveRetention { answers: 5, ..ArchiveRetention::default() })
            .expect("an archive"),
    ));
    let outbox =
        || -> Vec<Box<dyn Outbox>> { vec![Box::new(Archived::new(Arc::clone(&archive), Numbered::Answers))] };
    // Kafka is away as long as this one lives.
    let away = Fake::default().refuses_topic(Topic::Answers, KafkaProblem::NotAllowed);
    assert_eq!(deliver(outbox(), &away, LONG).counts.delivered, 0);
    let changes = ArchiveChanges { answers: (0..7).map(answer).collect(), ..ArchiveChanges::default() };
    archive.lock().expect("a lock").commit(&changes).expect("it is stored");
    let ended = deliver(outbox(), &Fake::default(), LONG);
    assert_eq!((ended.counts.delivered, ended.counts.lost.get("dropped")), (5, 2));
}

/// A producer that takes its time, and refuses all for what they are.
struct Slow(Arc<Mutex<Vec<Duration>>>);

impl kafka::Producer for Slow {
    fn produce(&mut self, messages: &[&Message], patience: Duration) -> Vec<Result<(), kafka::ProduceError>> {
        self.0.lock().expect("a lock").push(patience);
        std::thread::sleep(patience.min(Duration::from_millis(20)));
        messages.iter().map(|_| Err(kafka::ProduceError::new(KafkaProblem::TooLarge, "too large"))).collect()
    }
}

#[test]
fn the_time_at_the_end_is_that_of_all_messages_together() {
    let outbox = MemoryOutbox::new(1 << 20, Bell::default());
    outbox.feed(true, Arc::default()).push((0..40).map(message));
    let asked = Arc::default();
    let sink = DeliveryThread::start(
        vec![Box::new(outbox)],
        Box::new(Slow(Arc::clone(&asked))),
        &Bell::default(),
        Box::new(|_| ()),
    );
    let ended = sink.expect("a thread").finish(LONG);
    assert_eq!(ended.counts.lost.get("too_large"), 40);
    // Each is given what is left, not all of the time again.
    let asked = asked.lock().expect("a lock");
    assert!(asked.len() > 40 && asked.windows(2).any(|two| two[1] < two[0]), "{asked:?}");
}

#[test]
fn numbers_that_begin_anew_are_noticed() {
    let archive = Arc::new(Mutex::new(Archive::in_memory(ArchiveRetention::default()).expect("an archive")));
    let states = vec![("kafka/answers".to_owned(), "1000".to_owned())];
    let changes = ArchiveChanges { answers: vec![answer(1)], states, ..ArchiveChanges::default() };
    archive.lock().expect("a lock").commit(&changes).expect("it is stored");
    let outboxes: Vec<Box<dyn Outbox>> = vec![Box::new(Archived::new(archive, Numbered::Answers))];
    assert_eq!(deliver(outboxes, &Fake::default(), LONG).counts.delivered, 1);
}

/// What happens to an archive and the one who delivers.
#[derive(Clone, Debug)]
enum Happening {
    /// Answers and events are stored.
    Stored(u64, u64),
    /// A batch is taken by Kafka, and acknowledged or not.
    Delivered { answers: bool, acknowledged: bool },
    /// The process is killed, and another one begins.
    Killed,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        (0..4_u64, 0..4_u64).prop_map(|(answers, events)| Happening::Stored(answers, events)),
        (any::<bool>(), any::<bool>())
            .prop_map(|(answers, acknowledged)| Happening::Delivered { answers, acknowledged }),
        Just(Happening::Killed),
    ];
    prop::collection::vec(one, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(20), ..ProptestConfig::default() })]

    /// The file of an archive, closed and opened again at any point.
    #[test]
    fn an_archive_delivers_all_at_least_once_whenever_it_is_killed(happenings in happenings()) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("archive.db");
        let open = || Arc::new(Mutex::new(Archive::open(&path, ArchiveRetention::default()).expect("an archive")));
        let outboxes = |archive: &Arc<Mutex<Archive>>| {
            [Numbered::Answers, Numbered::Events].map(|of| Archived::new(Arc::clone(archive), of))
        };
        let mut archive = open();
        let mut both = outboxes(&archive);
        let (mut answers, mut events) = (Vec::new(), Vec::new());
        let mut taken = BTreeSet::new();
        let mut acknowledged: [BTreeSet<String>; 2] = Default::default();
        // A batch that was taken and not acknowledged is not asked for again by the same process.
        let mut pending: [Option<MessageBatch>; 2] = [None, None];
        for happening in happenings {
            match happening {
                Happening::Stored(more_answers, more_events) => {
                    let new: Vec<_> = (0..more_answers).map(|n| answer(answers.len() as u64 + n)).collect();
                    let happened: Vec<_> = (0..more_events).map(|n| event(events.len() as u64 + n)).collect();
                    let changes = ArchiveChanges { answers: new.clone(), events: happened.clone(), ..ArchiveChanges::default() };
                    archive.lock().expect("a lock").commit(&changes).expect("it is stored");
                    answers.extend(new);
                    events.extend(happened);
                }
                Happening::Delivered { answers, acknowledged: is_acknowledged } => {
                    let at = usize::from(!answers);
                    let batch = match pending[at].take() {
                        Some(batch) => batch,
                        None => both[at].next().expect("a batch"),
                    };
                    prop_assert!(batch.lost.is_empty());
                    for message in &batch.messages {
                        // What was acknowledged is never sent again.
                        prop_assert!(!acknowledged[at].contains(&message.id));
                        taken.insert(message.id.clone());
                    }
                    if is_acknowledged && !batch.is_empty() {
                        both[at].acknowledge().expect("it is noted");
                        acknowledged[at].extend(batch.messages.into_iter().map(|message| message.id));
                    } else if !batch.is_empty() {
                        pending[at] = Some(batch);
                    }
                }
                Happening::Killed => {
                    drop((both, archive));
                    archive = open();
                    both = outboxes(&archive);
                    pending = [None, None];
                }
            }
        }
        let fake = Fake::default();
        let rest: Vec<Box<dyn Outbox>> = outboxes(&archive).into_iter().map(|one| Box::new(one) as _).collect();
        let ended = deliver(rest, &fake, LONG);
        prop_assert!(ended.waiting.is_empty() && ended.counts.lost.total() == 0);
        taken.extend(fake.taken());
        prop_assert_eq!(taken, expected(&answers, &events));
    }

    /// A producer of any mood: all arrive, in their order where each is seen first.
    #[test]
    fn all_arrive_whatever_the_producer_does(
        moods in prop::collection::vec(prop::sample::select(Mood::ALL.to_vec()), 0..4),
        count in 0..1_200_u64,
    ) {
        let outbox = MemoryOutbox::new(64 << 20, Bell::default());
        outbox.feed(true, Arc::default()).push((0..count).map(message));
        let fake = Fake::of(moods);
        let ended = deliver(vec![Box::new(outbox)], &fake, LONG);
        prop_assert_eq!(ended.counts.delivered, count);
        let mut taken: Vec<u64> = fake.taken_once().iter().map(|id| id.parse().expect("a number")).collect();
        taken.sort_unstable();
        prop_assert_eq!(taken, (0..count).collect::<Vec<_>>());
    }
}
