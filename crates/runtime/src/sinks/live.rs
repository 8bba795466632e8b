//! The live view: what a running source has delivered so far. It is what `edison top` shows, filled by the run itself.

use crate::exit::say;
use crate::machine::now_ns;
use controller::{Health, views};
use engine::{Every, Snapshot};
use model::Window;
use model::view::{NodeState, NodeView, Note, QueryView};
use protocol::WindowResult;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use top::{FirstWindow, GiveBack, Screen, StatusOrigin, ViewModel, Wish};

/// The time after which the view is drawn again where nothing is typed.
const EVERY: Duration = Duration::from_secs(1);
/// Notes that are kept; the latest one is shown, and all are said at the end.
const MOST_NOTES: usize = 100;

/// The node that is measured, for the live view.
pub(crate) struct LiveMeasurement {
    /// The name of the node.
    pub(crate) node: String,
    /// The names of the node's sources.
    pub(crate) sources: Vec<String>,
    /// The length of windows.
    pub(crate) every: Every,
    /// The user's queries.
    pub(crate) queries: Vec<QueryView>,
}

/// The view.
pub(crate) struct LiveView {
    screen: Screen,
    began: Instant,
    model: ViewModel,
    node: String,
    /// The health of the node.
    health: Health,
    /// The counts from which the rate is counted.
    before: Option<Stamped>,
    /// Lines for the user, which are said at the end too.
    notes: Vec<String>,
}

/// The counts of a run at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped {
    pub(crate) snapshot: Snapshot,
    pub(crate) at: Instant,
}

impl LiveView {
    /// Takes the terminal. Shows nothing yet.
    pub(crate) fn new(measured: LiveMeasurement) -> io::Result<Self> {
        let LiveMeasurement { node, sources, every, queries } = measured;
        let mut model = ViewModel::new(StatusOrigin::Own { first_window: first_window(every) });
        model.status.version = env!("CARGO_PKG_VERSION").to_owned();
        model.status.started_ns = now_ns();
        model.status.sources = sources;
        model.set_queries(queries);
        let mut view = Self {
            screen: Screen::enter(EVERY)?,
            began: Instant::now(),
            model,
            node,
            health: Health::default(),
            before: None,
            notes: Vec::new(),
        };
        view.tell_node();
        Ok(view)
    }

    /// Returns a handle that gives the terminal back, from any thread.
    pub(crate) fn give_back(&self) -> GiveBack {
        self.screen.give_back()
    }

    /// A window has ended.
    pub(crate) fn window(&mut self, window: Window) {
        self.model.moment.get_or_insert_default().table_full = window.table_full;
        let answers = window.answers.into_iter().chain(window.longer).collect();
        let result = WindowResult { empty: window.empty, ..WindowResult::new(window.span, answers) };
        self.health.count(&result);
        result.answers.iter().for_each(|answer| self.model.answer(answer));
        self.tell_node();
    }

    /// Shows how the node fares.
    fn tell_node(&mut self) {
        let sources = self.model.status.sources.clone();
        let node = views::node(&self.node, &self.health, &views::HealthCriteria::default());
        self.model.status.nodes = vec![NodeView { state: NodeState::Up, sources, ..node }];
        let windows = &mut self.model.status.windows;
        (windows.complete, windows.partial) = (self.health.windows.complete, self.health.windows.partial);
    }

    /// A line for the user.
    pub(crate) fn note(&mut self, line: String) {
        self.model.status.notes = vec![Note { at_ns: now_ns(), text: line.clone() }];
        if self.notes.len() < MOST_NOTES {
            self.notes.push(line);
        }
    }

    /// Draws the view where it is time to. `latest` is what was counted last. Returns whether the user wants the run to end.
    pub(crate) fn refresh(&mut self, latest: Option<Stamped>) -> io::Result<bool> {
        if let Some(latest) = latest {
            self.count(latest);
        }
        self.model.moment.get_or_insert_default().elapsed = self.began.elapsed();
        self.model.status.now_ns = now_ns();
        Ok(match self.screen.refresh(&self.model)? {
            // A terminal that is closed says so by SIGHUP.
            Wish::Stay | Wish::Closed => false,
            Wish::Leave => true,
        })
    }

    /// Takes what was counted, and the rate since a second ago or longer.
    fn count(&mut self, latest: Stamped) {
        let moment = self.model.moment.get_or_insert_default();
        let Snapshot { received, flows, .. } = latest.snapshot;
        (moment.received, moment.flows) = (received, flows);
        let before = self.before.get_or_insert(Stamped { snapshot: Snapshot::default(), at: self.began });
        let seconds = latest.at.saturating_duration_since(before.at).as_secs_f64();
        if seconds >= EVERY.as_secs_f64() / 2.0 {
            moment.rate = received.saturating_sub(before.snapshot.received) as f64 / seconds;
            *before = latest;
        }
    }

    /// Gives the terminal back and says the notes there.
    pub(crate) fn leave(&mut self) {
        self.screen.leave();
        self.notes.drain(..).for_each(|line| say(&line));
    }
}

/// Returns when the first window ends: windows by time begin at multiples of their length.
fn first_window(every: Every) -> FirstWindow {
    match every {
        Every::Packets(packets) => FirstWindow::Packets(packets),
        Every::Time(length) => {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let end = u64::try_from(since_epoch.as_nanos())
                .ok()
                .and_then(|now| (now / length.max(1) + 1).checked_mul(length));
            end.map_or(FirstWindow::Unknown, FirstWindow::At)
        }
    }
}
