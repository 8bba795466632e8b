//! A producer that does as it is told, and what is sent to it.

use kafka::{KafkaProblem, Message, ProduceError, Producer, Topic};
use model::{Answer, Column, ColumnKind, Event, EventKind, Item, Span, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a producer does with what it is handed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It takes all.
    Takes,
    /// It takes none and says so.
    Away,
    /// It takes all and says that it took none.
    Forgets,
    /// It takes every second one.
    TakesSome,
    /// It takes all and says something of the first only.
    SaysLittle,
}

impl Mood {
    pub(crate) const ALL: [Self; 5] =
        [Self::Takes, Self::Away, Self::Forgets, Self::TakesSome, Self::SaysLittle];
}

#[derive(Debug, Default)]
struct State {
    moods: VecDeque<Mood>,
    refused: BTreeMap<String, KafkaProblem>,
    topics: Vec<(Topic, KafkaProblem)>,
    taken: Vec<String>,
    values: Vec<Vec<u8>>,
}

/// A producer that notes what it takes. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

impl Fake {
    /// One with these moods, one after the other; later it takes all.
    pub(crate) fn of(moods: impl IntoIterator<Item = Mood>) -> Self {
        let fake = Self::default();
        fake.0.lock().expect("a lock").moods = moods.into_iter().collect();
        fake
    }

    /// It never takes this message.
    pub(crate) fn refuses(self, id: &str, problem: KafkaProblem) -> Self {
        self.0.lock().expect("a lock").refused.insert(id.to_owned(), problem);
        self
    }

    /// It never takes messages of this topic.
    pub(crate) fn refuses_topic(self, topic: Topic, problem: KafkaProblem) -> Self {
        self.0.lock().expect("a lock").topics.push((topic, problem));
        self
    }

    /// The identifiers of what it took.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.0.lock().expect("a lock").taken.clone()
    }

    /// The same, each where it was first.
    pub(crate) fn taken_once(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        self.taken().into_iter().filter(|id| seen.insert(id.clone())).collect()
    }

    /// The values of what it took, each identifier once.
    pub(crate) fn values(&self) -> Vec<Vec<u8>> {
        let state = self.0.lock().expect("a lock");
        let mut seen = BTreeSet::new();
        let once = state.taken.iter().zip(&state.values).filter(|(id, _)| seen.insert((*id).clone()));
        once.map(|(_, value)| value.clone()).collect()
    }
}

impl Producer for Fake {
    fn produce(&mut self, messages: &[&Message], _: Duration) -> Vec<Result<(), ProduceError>> {
        let mut state = self.0.lock().expect("a lock");
        let mood = state.moods.pop_front().unwrap_or(Mood::Takes);
        let away = || Err(ProduceError::new(KafkaProblem::Away, "no broker listens there"));
        // One message makes the broker refuse all that come with it.
        let spoiled = messages.iter().find_map(|message| state.refused.get(&message.id).copied());
        let mut results = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let topic = state.topics.iter().find(|(topic, _)| *topic == message.topic);
            let refused = topic.map(|(_, problem)| *problem).or(spoiled);
            let (takes, result) = match (refused, mood) {
                (Some(problem), _) => (false, Err(ProduceError::new(problem, problem.name()))),
                (None, Mood::Takes | Mood::SaysLittle) => (true, Ok(())),
                (None, Mood::Away) => (false, away()),
                (None, Mood::Forgets) => (true, away()),
                (None, Mood::TakesSome) => (at % 2 == 0, if at % 2 == 0 { Ok(()) } else { away() }),
            };
            if takes {
                state.taken.push(message.id.clone());
                state.values.push(message.value.clone());
            }
            results.push(result);
        }
        if mood == Mood::SaysLittle {
            results.truncate(1);
        }
        results
    }
}

/// What was said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn writer(&self) -> Box<dyn Fn(&str) + Send> {
        let lines = Arc::clone(&self.0);
        Box::new(move |line| lines.lock().expect("a lock").push(line.to_owned()))
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("a lock").clone()
    }
}

pub(crate) fn log() -> Log {
    Log::default()
}

/// An answer that differs from those of other numbers.
pub(crate) fn answer(number: u64) -> Answer {
    let columns = vec![
        Column::new("dst_addr", ColumnKind::Address, ""),
        Column::new("total_count", ColumnKind::Unsigned, "packets"),
    ];
    let window = Span { start_ns: number * 10, end_ns: number * 10 + 10 };
    let address = Value::Address("192.0.2.7".parse().expect("an address"));
    let mut answer = Answer::new("q", Some(window), columns, vec![vec![address, Value::Unsigned(number)]]);
    answer.node = (!number.is_multiple_of(3)).then(|| format!("Node{}", number % 3));
    answer
}

/// An event that differs from those of other numbers.
pub(crate) fn event(number: u64) -> Event {
    let item = |name: &str, value| Item { column: Column::new(name, ColumnKind::Unsigned, ""), value };
    Event {
        event: format!("{number:016x}"),
        kind: if number.is_multiple_of(2) { EventKind::Fired } else { EventKind::Resolved },
        query: "q".to_owned(),
        fired_by: None,
        key: vec![item("dst_port", Value::Unsigned(number))],
        node: Some("Node1".to_owned()),
        at_ns: number,
        window: Some(Span { start_ns: number, end_ns: number + 10 }),
        values: vec![item("total_count", Value::Unsigned(u64::MAX))],
        threshold: Some(3.5),
        late: false,
        coverage: None,
        bounds: None,
        parent: None,
        title: None,
    }
}
