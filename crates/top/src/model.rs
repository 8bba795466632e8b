//! The model: what is shown.

use crate::rates::RateHistory;
use model::Totals;
use model::view::{EventView, Mode, NodeState, QueryView, Status};
use model::{Answer, PacketCounts};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Queries of the program's own that are kept; a run asks a dozen.
const MOST_OWN: usize = 64;
/// Answers that are kept of a query: a node, or an instance on a node, has one.
const MOST_ANSWERS: usize = 10_000;
/// Events and stories that are kept, the newest.
const MOST_TOLD: usize = 500;

/// The run or the API whose state is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusOrigin {
    /// The run that this program is.
    Own {
        /// The end of the run's first window.
        first_window: FirstWindow,
    },
    /// The run or the controller that has its API at this address.
    Api {
        /// The address.
        address: String,
    },
}

/// The end of the first window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstWindow {
    /// The end is not known.
    #[default]
    Unknown,
    /// The window ends at this time, nanoseconds since the epoch.
    At(u64),
    /// The window ends after this many packets.
    Packets(u64),
}

/// The counts that a run of its own has at any moment, whether or not a window has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveCounts {
    /// The time for which the run has lasted.
    pub elapsed: Duration,
    /// Frames received.
    pub received: u64,
    /// Frames per second of late.
    pub rate: f64,
    /// Flows in the tables.
    pub flows: u64,
    /// Packets of the last window that came when the table was full.
    pub table_full: u64,
}

/// The state of the connection to the run or the API: whether what is shown is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiConnection {
    /// The run or the API answers.
    Connected,
    /// The API does not answer.
    Away {
        /// The time since which it does not answer.
        since: Instant,
        /// The reason, in one line.
        reason: String,
    },
}

/// A story.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryLine {
    /// The event that it began with.
    pub id: String,
    /// The story in a sentence; `None` if whoever has it knows no titles.
    pub title: Option<String>,
    /// A line for each step.
    pub text: String,
    /// The number of the story's events.
    pub events: u64,
    /// True if the story is acknowledged.
    pub is_acknowledged: bool,
    /// True if nobody is told of the story for now.
    pub is_silent: bool,
}

/// The model: the state as the API has it, the latest answers, events and stories.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewModel {
    /// The run or the API whose state it is.
    pub origin: StatusOrigin,
    /// The nodes and the whole.
    pub status: Status,
    /// The queries with their latest answers.
    pub(crate) queries: Vec<QueryView>,
    /// The counts that a run of its own has at this moment.
    pub moment: Option<LiveCounts>,
    /// The state of the connection: whether all this is new.
    pub link: ApiConnection,
    /// The queries that the program asks by itself, as [`QueryView`]s without a text.
    own: Vec<QueryView>,
    /// The rates of the last windows.
    pub(crate) rates: RateHistory,
    /// The newest last.
    events: VecDeque<EventView>,
    /// The one that changed last, last.
    stories: VecDeque<StoryLine>,
}

impl ViewModel {
    /// Makes a model of which nothing is known yet.
    pub fn new(origin: StatusOrigin) -> Self {
        Self {
            origin,
            status: Status::default(),
            queries: Vec::new(),
            moment: None,
            link: ApiConnection::Connected,
            own: Vec::new(),
            rates: RateHistory::default(),
            events: VecDeque::new(),
            stories: VecDeque::new(),
        }
    }

    /// Takes the state. That of another start has nothing of the one before.
    pub fn set_status(&mut self, status: Status) {
        if self.status.started_ns != status.started_ns {
            self.own.clear();
            self.rates = RateHistory::default();
            self.queries.clear();
            self.events.clear();
            self.stories.clear();
        }
        self.status = status;
    }

    /// Takes the queries with their latest answers in the place of those that there were.
    pub fn set_queries(&mut self, queries: Vec<QueryView>) {
        // Answers may have come before it was known that a query is the user's.
        self.own.retain(|own| !queries.iter().any(|query| query.name == own.name));
        self.queries = queries;
    }

    /// Takes an answer that is not older than those of its query and node.
    pub fn answer(&mut self, answer: &Answer) {
        if answer.query == "totals" {
            self.rates.take(answer);
        }
        let is_it = |query: &&mut QueryView| query.name == answer.query;
        let known = self.queries.iter_mut().find(is_it);
        let query = match known {
            Some(query) => query,
            None => match self.own.iter().position(|own| own.name == answer.query) {
                Some(at) => &mut self.own[at],
                // A controller asks nothing by itself: its query was removed.
                None if self.status.mode == Mode::Controller => return,
                None if self.own.len() < MOST_OWN => {
                    self.own.push(QueryView { name: answer.query.clone(), ..QueryView::default() });
                    let last = self.own.len() - 1;
                    &mut self.own[last]
                }
                None => return,
            },
        };
        query.remember(answer);
        query.latest.truncate(MOST_ANSWERS);
    }

    /// Takes an event, once.
    pub fn event(&mut self, told: EventView) {
        if self.events.iter().any(|known| known.event.event == told.event.event) {
            return;
        }
        // They come in the order of time, but for late ones and those that are read again.
        let at = self.events.partition_point(|known| known.event.at_ns <= told.event.at_ns);
        self.events.insert(at, told);
        while self.events.len() > MOST_TOLD {
            self.events.pop_front();
        }
    }

    /// Takes a story in the place of what it was.
    pub fn story(&mut self, story: StoryLine) {
        match self.stories.iter().position(|known| known.id == story.id) {
            Some(at) if self.stories[at] == story => return,
            Some(at) => drop(self.stories.remove(at)),
            None => {}
        }
        self.stories.push_back(story);
        while self.stories.len() > MOST_TOLD {
            self.stories.pop_front();
        }
    }

    /// Events, the newest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &EventView> {
        self.events.iter().rev()
    }

    /// Stories, the one that changed last first.
    pub fn stories(&self) -> impl DoubleEndedIterator<Item = &StoryLine> {
        self.stories.iter().rev()
    }

    /// The latest answers that are tables: those of queries, then those of the program's own of the newest window of their node.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        let asked = self.queries.iter().flat_map(|query| &query.latest);
        let own = self.own.iter().filter(|own| !terminal::is_head(&own.name));
        let is_newest = |answer: &&Answer| !answer.rows.is_empty() && self.is_newest(answer);
        asked.chain(own.flat_map(|own| &own.latest).filter(is_newest))
    }

    /// Returns true if the node of an answer has none of a later window. Windows without a packet have no tables.
    fn is_newest(&self, answer: &Answer) -> bool {
        let newest = self.latest("totals", answer.node.as_deref()).and_then(|totals| totals.window);
        newest.zip(answer.window).is_none_or(|(newest, own)| newest.end_ns <= own.end_ns)
    }

    /// The latest answer of one of the program's own queries.
    pub fn latest(&self, query: &str, node: Option<&str>) -> Option<&Answer> {
        let own = self.own.iter().find(|own| own.name == query)?;
        own.latest.iter().find(|answer| answer.node.as_deref() == node)
    }

    /// The whole that rows of an answer are shares of.
    pub fn totals_of(&self, answer: &Answer) -> Option<Totals> {
        let totals = self.latest("totals", answer.node.as_deref())?;
        (totals.window == answer.window).then(|| Totals::from_answer(totals))
    }

    /// Frames per second: of this moment, else of the last windows of the nodes that are up; `None` where no node has one.
    pub fn rate(&self) -> Option<f64> {
        if let Some(moment) = self.moment {
            return Some(moment.rate);
        }
        let up = self.status.nodes.iter().filter(|node| node.state == NodeState::Up);
        let watched = self.watched();
        up.filter_map(|node| watched.rate(node)).reduce(|sum, rate| sum + rate)
    }

    /// Returns what is known of the time that was watched. It looks through all answers: once for all nodes.
    pub(crate) fn watched(&self) -> WatchedCoverage<'_> {
        let mut answers = self.own.iter().chain(&self.queries).flat_map(|query| &query.latest).peekable();
        // A run answers each window: before its first answer is known, a cut window looks whole.
        let is_known = self.status.mode == Mode::Controller || answers.peek().is_some();
        let cut = answers.filter(|answer| answer.watched.is_some()).collect();
        WatchedCoverage { is_known, cut }
    }

    /// Frames of all nodes since they started.
    pub fn packets(&self) -> PacketCounts {
        let mut sum = PacketCounts::default();
        self.status.nodes.iter().for_each(|node| sum.add(&node.packets));
        sum
    }

    /// Nodes that are up.
    pub fn up(&self) -> usize {
        self.status.nodes.iter().filter(|node| node.state == NodeState::Up).count()
    }
}

/// The knowledge of the time that was watched.
pub(crate) struct WatchedCoverage<'a> {
    is_known: bool,
    /// Answers of windows that were watched in part.
    cut: Vec<&'a Answer>,
}

impl WatchedCoverage<'_> {
    /// Frames per second in the last window of a node, over the time of it that was watched; `None` where that is not known yet, and
    /// for a node from which nothing comes.
    pub(crate) fn rate(&self, node: &model::view::NodeView) -> Option<f64> {
        if !self.is_known || !matches!(node.state, NodeState::Up | NodeState::Late) {
            return None;
        }
        let (window, last) = (node.window?, node.last.as_ref()?);
        let is_of_it = |answer: &&&Answer| {
            answer.window == Some(window) && answer.node.as_deref().is_none_or(|name| name == node.name)
        };
        let watched = self.cut.iter().find(is_of_it).and_then(|answer| answer.watched);
        let seconds = watched.unwrap_or(window).seconds();
        (seconds > 0.0).then(|| last.packets.received as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Event, EventKind, Span};

    fn model() -> ViewModel {
        ViewModel::new(StatusOrigin::Api { address: String::new() })
    }

    fn told(id: u64, at_ns: u64) -> EventView {
        let event = Event {
            event: id.to_string(),
            kind: EventKind::Fired,
            query: "q".to_owned(),
            fired_by: None,
            key: Vec::new(),
            node: None,
            at_ns,
            window: None,
            values: Vec::new(),
            threshold: None,
            late: false,
            coverage: None,
            bounds: None,
            parent: None,
            title: None,
        };
        EventView { event, story: None, text: String::new(), silenced_until: None }
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest() {
        let mut model = model();
        for id in 0..2_000 {
            model.event(told(id, id));
            model.event(told(id, id));
            model.story(StoryLine { id: (id % 700).to_string(), events: id, ..StoryLine::default() });
            model.answer(&Answer::new(format!("q{id}"), None, Vec::new(), Vec::new()));
        }
        let times: Vec<u64> = model.events().map(|told| told.event.at_ns).collect();
        assert_eq!(times, (1_500..2_000).rev().collect::<Vec<_>>());
        let stories: Vec<u64> = model.stories().map(|story| story.events).collect();
        assert_eq!(stories, (1_500..2_000).rev().collect::<Vec<_>>());
        assert_eq!(model.own.len(), MOST_OWN);
    }

    #[test]
    fn late_events_stand_at_their_time() {
        let mut model = model();
        for (id, at) in [(1, 10), (2, 30), (3, 20)] {
            model.event(told(id, at));
        }
        assert_eq!(model.events().map(|told| told.event.at_ns).collect::<Vec<_>>(), [30, 20, 10]);
    }

    #[test]
    fn tables_of_an_earlier_window_are_not_shown() {
        let mut model = model();
        let columns = vec![model::Column::new("n", model::ColumnKind::Unsigned, "")];
        let answer = |query: &str, end_ns| {
            let window = Some(Span { start_ns: end_ns - 1, end_ns });
            Answer::new(query, window, columns.clone(), vec![vec![1_u64.into()]])
        };
        model.answer(&answer("totals", 10));
        model.answer(&answer("top_bytes", 10));
        assert_eq!(model.answers().count(), 1);
        // An empty window has its totals alone.
        model.answer(&answer("totals", 11));
        assert_eq!(model.answers().count(), 0);
    }
}
