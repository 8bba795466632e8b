//! The screen of a run while it runs: windows on standard output, progress on a terminal. It is a separate thread, so that a slow terminal or
//! pipe never stops measuring.

use crate::exit::say;
use crate::resolver::Resolver;
use crate::sinks::live::{LiveMeasurement, LiveView, Stamped};
use crate::sinks::standard_output::OutputReader;
use engine::{Observer, Snapshot, WindowOutlet};
use model::{Account, Answer, RunReport, Window};
use notation::{grouped, scaled};
use port::TimeBase;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use terminal::Series;
use top::GiveBack;

/// Window reports that may wait for a slow reader.
const WAITING: usize = 64;
const REFRESH: Duration = Duration::from_millis(200);
/// The time after which the screen is refreshed where keys are read.
const KEYS: Duration = Duration::from_millis(50);

/// The form in which windows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// A line of JSON for each answer of a window.
    Json,
    /// A line of JSON for each answer with windows of its own alone: a capture is answered as a whole, at the end.
    JsonOfOwn,
    /// The tables of each window: what a live source shows.
    Tables,
    /// The answers of tasks: what a replay shows, whose report at the end answers the rest.
    Tasks,
    /// The answers of queries with windows of their own: what a replay shows, whose report at the end answers the rest.
    Queries,
    /// No windows are shown; the report at the end is the answer.
    Nothing,
}

enum ScreenEvent {
    Window(Box<Window>),
    /// The answers of windows that the end of the run cut.
    Answers(Vec<Answer>),
    Warning(String),
    /// An event, and the line that says it.
    Happened(Box<model::Event>, String),
}

/// The setting of the screen: what is shown, and of what.
pub(crate) struct DisplaySetting {
    pub(crate) show: Show,
    /// True if the user's queries take the place of those that the program asks by itself.
    pub(crate) is_asked: bool,
    /// The interval whose answers are rows of one table.
    pub(crate) per: Option<Duration>,
    pub(crate) time_base: TimeBase,
    /// The node that the live view shows.
    pub(crate) measured: LiveMeasurement,
    /// The reader of standard output.
    pub(crate) reader: OutputReader,
    /// A flag that is set once the terminal is as it was before.
    pub(crate) given_back: Arc<AtomicBool>,
    /// Finds the names of addresses in answers that are shown.
    pub(crate) resolver: Option<Arc<Resolver>>,
}

/// Returns true if the terminal shows a view of its own instead of lines.
pub(crate) fn is_live(show: Show, time_base: TimeBase, per: Option<Duration>) -> bool {
    show == Show::Tables && time_base == TimeBase::Clock && per.is_none() && top::can_draw()
}

/// The measuring thread's half. Dropped before the end, on an error, it gives the terminal back.
pub(crate) struct RunDisplay {
    /// The channel to the thread of the screen; `None` at the end.
    events: Option<SyncSender<ScreenEvent>>,
    latest: Arc<Mutex<Option<Stamped>>>,
    time_base: TimeBase,
    show: Show,
    /// The thread of the screen; `None` at the end.
    thread: Option<JoinHandle<Option<String>>>,
    give_back: Option<GiveBack>,
    /// Warnings that came when the queue was full: they are said at the end.
    unsaid: Vec<String>,
}

impl RunDisplay {
    /// Starts the thread, which tells the reader when the answers have lost their reader.
    pub(crate) fn start(setting: DisplaySetting) -> io::Result<Self> {
        let DisplaySetting { show, is_asked, per, time_base, measured, reader, given_back, resolver } =
            setting;
        let (events, received) = sync_channel(WAITING);
        let latest = Arc::new(Mutex::new(None));
        let is_live = is_live(show, time_base, per);
        let view = is_live.then(|| LiveView::new(measured)).transpose()?;
        let give_back = view.as_ref().map(LiveView::give_back);
        let painter = Painter {
            show,
            latest: Arc::clone(&latest),
            progress: io::stderr().is_terminal() && !is_live,
            view,
            given_back,
            reader,
            is_asked,
            resolver,
            series: per.map(|_| Series::default()),
            began: Instant::now(),
            fault: None,
        };
        let thread =
            std::thread::Builder::new().name("screen".to_owned()).spawn(move || painter.run(&received));
        let thread = thread.inspect_err(|_| give_back.iter().for_each(GiveBack::leave))?;
        Ok(Self {
            events: Some(events),
            latest,
            time_base,
            show,
            thread: Some(thread),
            give_back,
            unsaid: Vec::new(),
        })
    }

    /// The destination of windows, from any thread that answers them.
    pub(crate) fn outlet(&self) -> WindowOutlet {
        let (events, show, time_base) = (self.events.clone(), self.show, self.time_base);
        Box::new(move |window| {
            let event = ScreenEvent::Window(Box::new(window));
            let Some(events) = &events else { return false };
            match (show, time_base) {
                (Show::Nothing, _) => true,
                (_, TimeBase::Packets) => events.send(event).is_ok(),
                (_, TimeBase::Clock) => events.try_send(event).is_ok(),
            }
        })
    }

    /// Shows the answers of windows that the end of the run cut.
    pub(crate) fn answers(&self, answers: Vec<Answer>) {
        if let Some(events) = self.events.as_ref().filter(|_| !answers.is_empty()) {
            // The thread ends after this half only; where it failed, `finish` says so.
            let _ = events.send(ScreenEvent::Answers(answers));
        }
    }

    /// Shows an event: as JSON, or by this line.
    pub(crate) fn happened(&mut self, event: model::Event, line: String) {
        let Some(events) = &self.events else { return self.unsaid.push(line) };
        if let Err(
            TrySendError::Full(ScreenEvent::Happened(_, line))
            | TrySendError::Disconnected(ScreenEvent::Happened(_, line)),
        ) = events.try_send(ScreenEvent::Happened(Box::new(event), line))
        {
            self.unsaid.push(line);
        }
    }

    /// Ends the thread, once the outlets are gone. Returns what went wrong with standard output, if anything.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.events = None;
        let failed = || Some("the screen's thread failed".to_owned());
        let fault = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_else(failed);
        self.give_back.iter().for_each(GiveBack::leave);
        std::mem::take(&mut self.unsaid).iter().for_each(|line| say(line));
        fault
    }
}

impl Drop for RunDisplay {
    fn drop(&mut self) {
        self.give_back.iter().for_each(GiveBack::leave);
    }
}

impl Observer for RunDisplay {
    fn progress(&mut self, snapshot: Snapshot) {
        // A figure that is missed is replaced soon.
        if let Ok(mut latest) = self.latest.try_lock() {
            *latest = Some(Stamped { snapshot, at: Instant::now() });
        }
    }

    fn warning(&mut self, line: String) {
        let Some(events) = &self.events else { return self.unsaid.push(line) };
        if let Err(
            TrySendError::Full(ScreenEvent::Warning(line))
            | TrySendError::Disconnected(ScreenEvent::Warning(line)),
        ) = events.try_send(ScreenEvent::Warning(line))
        {
            self.unsaid.push(line);
        }
    }
}

struct Painter {
    show: Show,
    latest: Arc<Mutex<Option<Stamped>>>,
    /// True if a line of progress is drawn on standard error.
    progress: bool,
    /// The view of a live source on a terminal, until the run ends.
    view: Option<LiveView>,
    given_back: Arc<AtomicBool>,
    reader: OutputReader,
    is_asked: bool,
    resolver: Option<Arc<Resolver>>,
    /// The table whose rows are the answers of intervals, where there is one.
    series: Option<Series>,
    began: Instant,
    /// The fault of standard output, if there is one.
    fault: Option<String>,
}

impl Painter {
    fn run(mut self, events: &Receiver<ScreenEvent>) -> Option<String> {
        loop {
            self.refresh();
            match events.recv_timeout(if self.view.is_some() { KEYS } else { REFRESH }) {
                Ok(ScreenEvent::Window(mut window)) => {
                    self.enrich(&mut window.answers);
                    self.enrich(&mut window.longer);
                    self.window(&window);
                }
                Ok(ScreenEvent::Answers(mut answers)) => {
                    self.enrich(&mut answers);
                    self.longer(&answers);
                }
                Ok(ScreenEvent::Happened(event, _)) if matches!(self.show, Show::Json | Show::JsonOfOwn) => {
                    if let Ok(line) = serde_json::to_string(&event) {
                        self.print(&format!("{line}\n"));
                    }
                }
                Ok(ScreenEvent::Warning(line) | ScreenEvent::Happened(_, line)) => match &mut self.view {
                    Some(view) => view.note(line),
                    None => {
                        self.wipe();
                        say(&line);
                    }
                },
                Err(RecvTimeoutError::Timeout) => self.draw_progress(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.leave_view();
        self.wipe();
        self.fault
    }

    /// Names addresses in answers that are shown.
    fn enrich(&self, answers: &mut [Answer]) {
        if let Some(resolver) = self.resolver.as_ref().filter(|_| self.show != Show::Nothing) {
            resolver.enrich(answers);
        }
    }

    /// Draws the view; gives the terminal back when the run is to end.
    fn refresh(&mut self) {
        if self.reader.is_stopping() {
            return self.leave_view();
        }
        let latest = *self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match self.view.as_mut().map(|view| view.refresh(latest)) {
            None | Some(Ok(false)) => {}
            Some(Ok(true)) => {
                self.reader.stop();
                self.leave_view();
            }
            Some(Err(error)) => {
                self.failed(&error);
                self.leave_view();
            }
        }
    }

    fn leave_view(&mut self) {
        self.view.take().iter_mut().for_each(LiveView::leave);
        self.given_back.store(true, Relaxed);
    }

    /// Standard output cannot be written to.
    fn failed(&mut self, error: &io::Error) {
        if !self.reader.takes(error) {
            self.fault = Some(format!("standard output: {error}"));
            self.reader.stop();
        }
    }

    fn window(&mut self, window: &Window) {
        if let Some(view) = &mut self.view {
            return view.window(window.clone());
        }
        let text = match self.show {
            Show::Json | Show::JsonOfOwn => match json_lines(self.shown_answers(window)) {
                Ok(lines) => lines,
                Err(error) => return self.fault = Some(format!("window {}: {error}", window.index)),
            },
            Show::Tables | Show::Tasks | Show::Queries if self.series.is_some() => {
                let answers: Vec<_> = self.shown_answers(window).cloned().collect();
                self.rows(&answers)
            }
            Show::Tables => format!("{}\n", terminal::window_report(window, top::paper())),
            Show::Tasks => format!("{}\n", terminal::window_answers(window, top::paper())),
            Show::Queries => terminal::answers(self.shown_answers(window), top::paper()),
            Show::Nothing => return,
        };
        self.print(&text);
    }

    /// Shows answers of windows that the end of the run cut.
    fn longer(&mut self, answers: &[Answer]) {
        self.leave_view();
        let text = match self.show {
            Show::Json | Show::JsonOfOwn => json_lines(answers.iter()).unwrap_or_default(),
            Show::Tables | Show::Tasks | Show::Queries if self.series.is_some() => self.rows(answers),
            Show::Tables | Show::Tasks | Show::Queries => terminal::answers(answers, top::paper()),
            Show::Nothing => return,
        };
        self.print(&text);
    }

    fn shown_answers<'a>(&self, window: &'a Window) -> impl Iterator<Item = &'a Answer> {
        lines_of(window, self.is_asked || self.show == Show::JsonOfOwn)
    }

    /// Answers of intervals as rows.
    fn rows(&mut self, answers: &[Answer]) -> String {
        self.series.as_mut().map_or_else(String::new, |series| series.rows(answers))
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.reader.has_left() || self.fault.is_some() {
            return;
        }
        self.wipe();
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        drop(out);
        if let Err(error) = written {
            self.failed(&error);
        }
    }

    fn draw_progress(&self) {
        if !self.progress {
            return;
        }
        let latest = *self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = latest.map(|latest| latest.snapshot).unwrap_or_default();
        let rate = scaled(snapshot.received as f64 / self.began.elapsed().as_secs_f64(), "pps");
        let part = match snapshot.total_bytes {
            Some(total) if total != 0 => {
                format!("{:3.0} % ", snapshot.done_bytes as f64 * 100.0 / total as f64)
            }
            _ => String::new(),
        };
        let (packets, flows) = (grouped(snapshot.received), grouped(snapshot.flows));
        eprint!("\r\x1b[K{part}{packets} packets, {flows} flows, {rate}");
    }

    fn wipe(&self) {
        if self.progress {
            eprint!("\r\x1b[K");
        }
    }
}

/// The answers of a window that have lines of JSON: those of the user's queries, if there are any.
pub(crate) fn lines_of(window: &Window, is_asked: bool) -> impl Iterator<Item = &Answer> {
    let is_empty = window.empty.is_some();
    let has_line = move |answer: &&Answer| has_line(answer, is_empty, is_asked);
    window.answers.iter().filter(has_line).chain(&window.longer)
}

/// Returns true if an answer of a window has a line of JSON. `is_empty`: the window is without a packet; `is_asked`: the user asks something.
pub(crate) fn has_line(answer: &Answer, is_empty: bool, is_asked: bool) -> bool {
    match answer.query == "totals" {
        true => !is_asked,
        // Of windows without a packet, one answer of the program's own queries is that of all.
        false => is_asked || !is_empty,
    }
}

/// The answers over a whole run that have lines of JSON: as those of a window, with the time that they are of and what became of the frames.
pub(crate) fn whole(report: &RunReport, is_asked: bool) -> Vec<Answer> {
    let shown = report.answers.iter().filter(|answer| answer.window.is_none());
    let shown = shown.filter(|answer| has_line(answer, false, is_asked));
    let of_node =
        |answer: &Answer| answer.node.as_ref().and_then(|node| report.nodes.get(node)).unwrap_or(report);
    // Without a frame there is no time, and nothing to answer.
    let shown = shown.filter(|answer| of_node(answer).span().is_some());
    let line = |answer: &Answer| {
        let of_node = of_node(answer);
        let account = || Account { packets: of_node.packets.clone(), loss: of_node.loss.clone() };
        let account = (answer.query == "totals").then(account);
        Answer { window: of_node.span(), account, ..answer.clone() }
    };
    shown.map(line).collect()
}

/// An object for each answer, one per line.
pub(crate) fn json_lines<'a>(answers: impl Iterator<Item = &'a Answer>) -> serde_json::Result<String> {
    let mut lines = String::new();
    for answer in answers {
        lines.push_str(&serde_json::to_string(answer)?);
        lines.push('\n');
    }
    Ok(lines)
}
