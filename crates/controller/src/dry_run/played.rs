//! A node that is played: it enters the windows in which its store has packets, as a replay does.

use super::stock::{NextWindow, Stock};
use model::Span;
use protocol::{FromProbe, LookBackTask, LookedBack, TaskList, ToProbe, WindowResult};
use std::collections::BTreeSet;
use task::query::Over;

/// A node of a dry run.
#[derive(Debug)]
pub(super) struct Played {
    window_ns: u64,
    at: ReplayPosition,
    /// The time up to which the node may enter windows, by their begins.
    until_ns: u64,
    /// The tasks that the node answers: the place of a query in the stock, and the time, as of its list.
    tasks: Vec<(usize, Option<Span>)>,
    /// The tasks about windows that are over: the places of their queries.
    retrospective_tasks: Vec<(LookBackTask, Vec<usize>)>,
    /// The numbers of the tasks about windows that are over that are answered.
    looked: BTreeSet<u64>,
    windows: u64,
}

/// The place of the node among its windows.
#[derive(Clone, Copy, Debug)]
enum ReplayPosition {
    /// The node is before its first window, which begins then or later.
    Before(u64),
    /// The node is about to enter the window that begins then.
    Waits(u64),
    /// The node is in the window that begins then.
    In(u64),
    /// The node has ended: no window follows.
    End,
}

impl Played {
    /// A node before its first window, which begins at `start_ns` or later.
    pub(super) fn new(start_ns: u64, window_ns: u64) -> Self {
        let (tasks, look_backs, looked) = Default::default();
        Self {
            window_ns,
            at: ReplayPosition::Before(start_ns),
            until_ns: 0,
            tasks,
            retrospective_tasks: look_backs,
            looked,
            windows: 0,
        }
    }

    /// Returns the number of windows in which the node had packets.
    pub(super) fn windows(&self) -> u64 {
        self.windows
    }

    /// Takes what the controller says.
    ///
    /// # Errors
    /// A line, if a query cannot be asked.
    pub(super) fn take(&mut self, number: usize, message: ToProbe, stock: &mut Stock) -> Result<(), String> {
        match message {
            ToProbe::Enter { until_ns } => self.until_ns = self.until_ns.max(until_ns),
            ToProbe::Tasks(list) => {
                // A dry run has no packets, so `list.captures` are not taken.
                let TaskList { tasks, look_backs, .. } = list;
                self.tasks.clear();
                for (query, time) in tasks.iter().flat_map(protocol::Task::queries) {
                    // Nothing is judged by an answer over all of the time.
                    if query.over != Over::Run {
                        let place = stock.place(number, query, time, false)?;
                        self.tasks.push((place, time));
                    }
                }
                self.looked.retain(|id| look_backs.iter().any(|task| task.id == *id));
                self.retrospective_tasks.clear();
                for task in look_backs {
                    let place = |query| stock.place(number, query, Some(task.window), true);
                    let places = task.queries.iter().cloned().map(place).collect::<Result<_, _>>()?;
                    self.retrospective_tasks.push((task, places));
                }
                let of_look_backs = self.retrospective_tasks.iter().flat_map(|(_, places)| places);
                let places =
                    self.tasks.iter().map(|(place, _)| place).chain(of_look_backs).copied().collect();
                stock.keep_only(number, &places);
            }
        }
        Ok(())
    }

    /// Returns what the node says next, as far as that is known.
    pub(super) fn go_on(&mut self, number: usize, stock: &mut Stock) -> Vec<FromProbe> {
        let mut said = self.answer_retrospective(number, stock);
        match self.at {
            ReplayPosition::Before(start_ns) => said.extend(self.come(stock.next_window(number, start_ns))),
            ReplayPosition::Waits(start_ns) if start_ns <= self.until_ns => {
                self.at = ReplayPosition::In(start_ns)
            }
            ReplayPosition::Waits(_) | ReplayPosition::End => {}
            ReplayPosition::In(_) => {}
        }
        if let ReplayPosition::In(start_ns) = self.at {
            said.extend(self.close(number, start_ns, stock));
        }
        said
    }

    /// Returns that the node is about to enter its next window, or has ended; nothing where that is not known.
    fn come(&mut self, next: NextWindow) -> Option<FromProbe> {
        match next {
            NextWindow::Unknown => None,
            NextWindow::Window(at_ns) => {
                self.at = ReplayPosition::Waits(at_ns);
                Some(FromProbe::Reached { at_ns })
            }
            NextWindow::End => {
                self.at = ReplayPosition::End;
                Some(FromProbe::Ended { answers: Vec::new(), traffic: None })
            }
        }
    }

    /// Answers its window, with the longer ones that end before its next one, and goes on to that.
    fn close(&mut self, number: usize, start_ns: u64, stock: &mut Stock) -> Vec<FromProbe> {
        let window = Span { start_ns, end_ns: start_ns.saturating_add(self.window_ns) };
        let next = stock.next_window(number, window.end_ns);
        let limit_ns = match next {
            NextWindow::Unknown => return Vec::new(),
            NextWindow::Window(next_ns) => next_ns,
            NextWindow::End => stock.end_ns(),
        };
        let is_asked =
            |time: &Option<Span>| time.is_none_or(|time| time.start_ns < limit_ns && time.end_ns > start_ns);
        let asked = self.tasks.iter().filter(|(_, time)| is_asked(time));
        let mut places: Vec<usize> = asked.map(|(place, _)| *place).collect();
        places.sort_unstable();
        places.dedup();
        // All of them, so that what is not known is asked at once.
        let known = places.iter().filter(|place| stock.knows(number, **place, limit_ns)).count();
        if known != places.len() {
            return Vec::new();
        }
        let answers = places.iter().flat_map(|place| stock.answers(number, *place, (start_ns, limit_ns)));
        let result = WindowResult::new(window, answers.collect());
        self.windows += 1;
        [Some(FromProbe::Window(Box::new(result))), self.come(next)].into_iter().flatten().collect()
    }

    /// Answers what is asked of windows that are over, as far as it is known.
    fn answer_retrospective(&mut self, number: usize, stock: &mut Stock) -> Vec<FromProbe> {
        let mut said = Vec::new();
        for (LookBackTask { id, window, .. }, places) in &self.retrospective_tasks {
            if self.looked.contains(id) {
                continue;
            }
            let known = places.iter().filter(|place| stock.knows(number, **place, window.end_ns)).count();
            if known != places.len() {
                continue;
            }
            self.looked.insert(*id);
            let answers = places.iter().filter_map(|place| stock.answer(number, *place, *window)).collect();
            let looked = LookedBack { id: *id, window: *window, answers, missing: None };
            said.push(FromProbe::LookedBack(Box::new(looked)));
        }
        said
    }
}
