//! What a run shows while it goes on: windows on standard output, progress on a terminal. A thread of its own, so
//! that a slow terminal or pipe never stops measuring.

use crate::exit::say;
use engine::{Observer, Snapshot, WindowOutlet};
use port::TimeBase;
use report::{Answer, Window, terminal};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Window reports that may wait for a slow reader.
const WAITING: usize = 64;
const REFRESH: Duration = Duration::from_millis(200);

/// What is shown of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// A line of JSON each.
    Json,
    /// A table each: what a live source shows.
    Tables,
    /// The answers of tasks: what a replay shows, whose report at the end answers the rest.
    Tasks,
    /// Nothing; the report at the end is the answer.
    Nothing,
}

/// Windows whose answers of tasks are kept for the report.
const KEPT_WINDOWS: usize = 100;

/// What the screen leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// What went wrong with standard output, if anything did.
    pub(crate) fault: Option<String>,
    /// What tasks answered of the last windows, oldest first.
    pub(crate) answers: VecDeque<Vec<Answer>>,
    /// Windows before those.
    pub(crate) unlisted: u64,
}

enum Event {
    Window(Box<Window>),
    Warning(String),
}

/// The measuring thread's half.
pub(crate) struct Screen {
    events: SyncSender<Event>,
    snapshot: Arc<Mutex<Snapshot>>,
    time_base: TimeBase,
    show: Show,
    thread: JoinHandle<Shown>,
    /// Warnings that came when the queue was full: they are said at the end.
    unsaid: Vec<String>,
}

impl Screen {
    /// Starts the thread. `stop` is set when nobody reads the answers any more.
    pub(crate) fn start(show: Show, time_base: TimeBase, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let (events, received) = sync_channel(WAITING);
        let snapshot = Arc::new(Mutex::new(Snapshot::default()));
        let painter = Painter {
            show,
            snapshot: Arc::clone(&snapshot),
            progress: io::stderr().is_terminal() && show != Show::Tables,
            redraw: io::stdout().is_terminal() && show == Show::Tables,
            stop,
            began: Instant::now(),
            is_closed: false,
            shown: Shown::default(),
        };
        let thread =
            std::thread::Builder::new().name("screen".to_owned()).spawn(move || painter.run(&received))?;
        Ok(Self { events, snapshot, time_base, show, thread, unsaid: Vec::new() })
    }

    /// Where windows go, from whichever thread answers them.
    pub(crate) fn outlet(&self) -> WindowOutlet {
        let (events, show, time_base) = (self.events.clone(), self.show, self.time_base);
        Box::new(move |window| {
            let event = Event::Window(Box::new(window));
            match (show, time_base) {
                (Show::Nothing, _) => true,
                (_, TimeBase::Packets) => events.send(event).is_ok(),
                (_, TimeBase::Clock) => events.try_send(event).is_ok(),
            }
        })
    }

    /// Ends the thread, once the outlets are gone.
    pub(crate) fn finish(self) -> Shown {
        drop(self.events);
        let failed = || Shown { fault: Some("the screen's thread failed".to_owned()), ..Shown::default() };
        let shown = self.thread.join().unwrap_or_else(|_| failed());
        self.unsaid.iter().for_each(|line| say(line));
        shown
    }
}

impl Observer for Screen {
    fn progress(&mut self, snapshot: Snapshot) {
        // A figure that is missed is replaced soon.
        if let Ok(mut shown) = self.snapshot.try_lock() {
            *shown = snapshot;
        }
    }

    fn warning(&mut self, line: String) {
        if let Err(
            TrySendError::Full(Event::Warning(line)) | TrySendError::Disconnected(Event::Warning(line)),
        ) = self.events.try_send(Event::Warning(line))
        {
            self.unsaid.push(line);
        }
    }
}

struct Painter {
    show: Show,
    snapshot: Arc<Mutex<Snapshot>>,
    /// Draw a line of progress on standard error.
    progress: bool,
    /// Begin each table at the top of the screen.
    redraw: bool,
    stop: Arc<AtomicBool>,
    began: Instant,
    /// Nobody reads standard output any more.
    is_closed: bool,
    shown: Shown,
}

impl Painter {
    fn run(mut self, events: &Receiver<Event>) -> Shown {
        loop {
            match events.recv_timeout(REFRESH) {
                Ok(Event::Window(window)) => {
                    self.window(&window);
                    self.keep(*window);
                }
                Ok(Event::Warning(line)) => {
                    self.wipe();
                    say(&line);
                }
                Err(RecvTimeoutError::Timeout) => self.draw_progress(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.wipe();
        self.shown
    }

    /// Keeps what tasks answered, for the report.
    fn keep(&mut self, window: Window) {
        let is_task = |answer: &Answer| answer.task.is_some();
        let answers: Vec<_> = window.answers.into_iter().filter(is_task).collect();
        if answers.is_empty() {
            return;
        }
        self.shown.answers.push_back(answers);
        if self.shown.answers.len() > KEPT_WINDOWS {
            self.shown.answers.pop_front();
            self.shown.unlisted += 1;
        }
    }

    fn window(&mut self, window: &Window) {
        let text = match self.show {
            Show::Json => match json_lines(window) {
                Ok(lines) => lines,
                Err(error) => return self.shown.fault = Some(format!("window {}: {error}", window.index)),
            },
            Show::Tables => {
                // Home and clear: the view stays where it is.
                let start = if self.redraw { "\x1b[H\x1b[2J" } else { "" };
                format!("{start}{}\n", terminal::window_report(window))
            }
            Show::Tasks => format!("{}\n", terminal::window_answers(window)),
            Show::Nothing => return,
        };
        if self.is_closed {
            return;
        }
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.is_closed = true;
            // Whoever read (`| head`) has seen enough; any other failure is a fault. Either way the run is over.
            if error.kind() != ErrorKind::BrokenPipe {
                self.shown.fault = Some(format!("standard output: {error}"));
            }
            self.stop.store(true, Relaxed);
        }
    }

    fn draw_progress(&self) {
        if !self.progress {
            return;
        }
        let snapshot = *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = snapshot.received as f64 / self.began.elapsed().as_secs_f64() / 1e6;
        let part = match snapshot.total_bytes {
            Some(total) if total != 0 => {
                format!("{:3.0} % ", snapshot.done_bytes as f64 * 100.0 / total as f64)
            }
            _ => String::new(),
        };
        eprint!("\r\x1b[K{part}{} packets, {} flows, {rate:.1} Mpps", snapshot.received, snapshot.flows);
    }

    fn wipe(&self) {
        if self.progress {
            eprint!("\r\x1b[K");
        }
    }
}

/// An object for each answer, a line each.
fn json_lines(window: &Window) -> serde_json::Result<String> {
    let mut lines = String::new();
    for answer in &window.answers {
        lines.push_str(&serde_json::to_string(answer)?);
        lines.push('\n');
    }
    Ok(lines)
}
