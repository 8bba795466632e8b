//! The part of its windows that a run keeps for the report: the newest events, captures and answers of tasks.

use super::captured;
use super::{Sink, SinkContext};
use crate::exit::Failure;
use controller::ControllerOutput;
use model::{Answer, Capture, Event, RunReport, Span, Window};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Events that are kept.
const MOST_EVENTS: usize = 10_000;
/// Captures that are kept.
const MOST_CAPTURES: usize = 1_000;
/// Windows whose answers of tasks are kept.
const MOST_WINDOWS: usize = 100;

/// The newest items, and how many older ones there were.
struct Newest<T> {
    items: VecDeque<T>,
    most: usize,
    unlisted: u64,
}

impl<T> Newest<T> {
    fn new(most: usize) -> Self {
        Self { items: VecDeque::new(), most, unlisted: 0 }
    }

    fn push(&mut self, item: T) {
        self.items.push_back(item);
        if self.items.len() > self.most {
            self.items.pop_front();
            self.unlisted += 1;
        }
    }
}

struct NewestResults {
    events: Newest<Event>,
    captures: Newest<Capture>,
    /// The answers of tasks by window, those of all nodes together.
    answers: Newest<(Option<Span>, Vec<Answer>)>,
}

/// Keeps what the report lists.
pub(crate) struct RetainedResults(Mutex<NewestResults>);

impl RetainedResults {
    /// Keeps nothing yet.
    pub(super) fn start(_: &SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let (events, captures) = (Newest::new(MOST_EVENTS), Newest::new(MOST_CAPTURES));
        let state = NewestResults { events, captures, answers: Newest::new(MOST_WINDOWS) };
        Ok(Some(Box::new(Self(Mutex::new(state)))))
    }

    fn state(&self) -> MutexGuard<'_, NewestResults> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NewestResults {
    fn answer(&mut self, answer: &Answer) {
        if answer.task.is_none() {
            return;
        }
        match self.answers.items.back_mut() {
            Some((window, answers)) if *window == answer.window => answers.push(answer.clone()),
            _ => self.answers.push((answer.window, vec![answer.clone()])),
        }
    }
}

impl Sink for RetainedResults {
    fn window(&self, window: &Window) {
        let mut state = self.state();
        window.answers.iter().for_each(|answer| state.answer(answer));
    }

    fn take_output(&self, output: &ControllerOutput) {
        match output {
            ControllerOutput::Answer(answer) => self.state().answer(answer),
            ControllerOutput::Event(event) => self.state().events.push((**event).clone()),
            ControllerOutput::Captured(captured) => {
                self.state().captures.push(captured::capture(&captured.0, &captured.1));
            }
            ControllerOutput::Sentence(_) | ControllerOutput::Warning(_) | ControllerOutput::History(_) => {}
        }
    }

    fn add_to(&self, report: &mut RunReport) {
        let NewestResults { events, captures, answers } = &mut *self.state();
        report.occurrences.events = std::mem::take(&mut events.items).into();
        report.occurrences.events_unlisted = events.unlisted;
        report.occurrences.captures = std::mem::take(&mut captures.items).into();
        report.occurrences.captures_unlisted = captures.unlisted;
        let windows = std::mem::take(&mut answers.items);
        report.answers.extend(windows.into_iter().flat_map(|(_, answers)| answers));
        report.answers_unlisted = answers.unlisted;
    }
}
