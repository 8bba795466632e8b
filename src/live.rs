//! The live view: what a running source has delivered so far, drawn once a second from the start.

use crate::alternate_screen::AlternateScreen;
use crate::exit::say;
use engine::{Every, Snapshot};
use report::terminal::{self, FirstWindow, Now};
use report::{Answer, Window};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often it is drawn, without anything new.
const EVERY: Duration = Duration::from_secs(1);
/// How soon what is new is drawn: windows may be short.
const SOONEST: Duration = Duration::from_millis(200);
/// Notes that are kept; the latest one is shown, and all are said at the end.
const MOST_NOTES: usize = 100;

/// The view.
pub(crate) struct LiveView {
    screen: AlternateScreen,
    began: Instant,
    drawn: Option<Instant>,
    now: Now,
    /// What the rate is counted from.
    before: Option<Stamped>,
    window: Option<Box<Window>>,
    /// The last answers of windows of other lengths, by query.
    longer: BTreeMap<String, Answer>,
    has_news: bool,
}

/// What was counted, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped {
    pub(crate) snapshot: Snapshot,
    pub(crate) at: Instant,
}

impl LiveView {
    /// Shows nothing yet. Windows are as long as `every` says.
    pub(crate) fn new(screen: AlternateScreen, sources: Vec<String>, every: Every) -> Self {
        let now = Now { sources, first_window: first_window(every), ..Now::default() };
        Self {
            screen,
            began: Instant::now(),
            drawn: None,
            now,
            before: None,
            window: None,
            longer: BTreeMap::new(),
            has_news: true,
        }
    }

    /// A window has ended.
    pub(crate) fn window(&mut self, mut window: Window) {
        let longer = std::mem::take(&mut window.longer).into_iter();
        self.longer.extend(longer.map(|answer| (answer.query.clone(), answer)));
        window.longer = self.longer.values().cloned().collect();
        self.window = Some(Box::new(window));
        self.has_news = true;
    }

    /// A line for the user.
    pub(crate) fn note(&mut self, line: String) {
        if self.now.notes.len() < MOST_NOTES {
            self.now.notes.push(line);
        }
        self.has_news = true;
    }

    /// Draws the view where it is time to. `latest` is what was counted last.
    pub(crate) fn refresh(&mut self, latest: Option<Stamped>) -> io::Result<()> {
        let wait = if self.has_news { SOONEST } else { EVERY };
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < wait) {
            return Ok(());
        }
        if let Some(latest) = latest {
            self.count(latest);
        }
        self.now.elapsed = self.began.elapsed();
        let (columns, rows) = AlternateScreen::size();
        self.drawn = Some(Instant::now());
        self.has_news = false;
        self.screen.draw(&terminal::live_view(&self.now, self.window.as_deref(), columns, rows))
    }

    /// Takes what was counted, and the rate since a second ago or longer.
    fn count(&mut self, latest: Stamped) {
        let Snapshot { received, flows, .. } = latest.snapshot;
        (self.now.received, self.now.flows) = (received, flows);
        let before = self.before.get_or_insert(Stamped { snapshot: Snapshot::default(), at: self.began });
        let seconds = latest.at.saturating_duration_since(before.at).as_secs_f64();
        if seconds >= EVERY.as_secs_f64() / 2.0 {
            self.now.rate = received.saturating_sub(before.snapshot.received) as f64 / seconds;
            *before = latest;
        }
    }

    /// Gives the terminal back and says the notes there.
    pub(crate) fn leave(&mut self) {
        self.screen.leave();
        self.now.notes.drain(..).for_each(|line| say(&line));
    }
}

/// When the first window ends: those by time begin at multiples of their length.
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
