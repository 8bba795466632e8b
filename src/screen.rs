//! What a run shows while it goes on: windows on standard output, progress on a terminal. A thread of its own, so
//! that a slow terminal or pipe never stops measuring.

use crate::exit::say;
use engine::{Observer, Snapshot};
use port::TimeBase;
use record::Anonymizer;
use record::report::{Span, TaskAnswer, WindowReport};
use record::terminal;
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
    pub(crate) answers: VecDeque<(Span, Vec<TaskAnswer>)>,
    /// Windows before those.
    pub(crate) unlisted: u64,
}

enum Event {
    Window(Box<WindowReport>),
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
    pub(crate) fn start(
        show: Show,
        time_base: TimeBase,
        anonymizer: Option<Anonymizer>,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let (events, received) = sync_channel(WAITING);
        let snapshot = Arc::new(Mutex::new(Snapshot::default()));
        let painter = Painter {
            show,
            anonymizer,
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

    /// Ends the thread.
    pub(crate) fn finish(self) -> Shown {
        drop(self.events);
        let failed = || Shown { fault: Some("the screen's thread failed".to_owned()), ..Shown::default() };
        let shown = self.thread.join().unwrap_or_else(|_| failed());
        self.unsaid.iter().for_each(|line| say(line));
        shown
    }
}

impl Observer for Screen {
    fn window(&mut self, report: WindowReport) -> bool {
        let event = Event::Window(Box::new(report));
        match (self.show, self.time_base) {
            (Show::Nothing, _) => true,
            (_, TimeBase::Packets) => self.events.send(event).is_ok(),
            (_, TimeBase::Clock) => self.events.try_send(event).is_ok(),
        }
    }

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
    /// For the keys in windows' rankings.
    anonymizer: Option<Anonymizer>,
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
                Ok(Event::Window(mut report)) => {
                    self.anonymize(&mut report);
                    self.window(&report);
                    self.keep(*report);
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
    fn keep(&mut self, report: WindowReport) {
        if report.tasks.is_empty() {
            return;
        }
        self.shown.answers.push_back((report.span, report.tasks));
        if self.shown.answers.len() > KEPT_WINDOWS {
            self.shown.answers.pop_front();
            self.shown.unlisted += 1;
        }
    }

    fn anonymize(&mut self, report: &mut WindowReport) {
        let Some(anonymizer) = &mut self.anonymizer else { return };
        let flows = report.top_bytes.iter_mut().chain(&mut report.top_packets).map(|flow| &mut flow.key);
        let lossy = report.tcp_loss.iter_mut().flat_map(|answer| &mut answer.flows).map(|flow| &mut flow.key);
        flows.chain(lossy).flatten().for_each(|key| anonymizer.flow_key(key));
        report.tasks.iter_mut().for_each(|answer| answer.rows.anonymize(anonymizer));
    }

    fn window(&mut self, report: &WindowReport) {
        let text = match self.show {
            Show::Json => match serde_json::to_string(report) {
                Ok(line) => line + "\n",
                Err(error) => return self.shown.fault = Some(format!("window {}: {error}", report.index)),
            },
            Show::Tables => {
                // Home and clear: the view stays where it is.
                let start = if self.redraw { "\x1b[H\x1b[2J" } else { "" };
                format!("{start}{}\n", terminal::window_report(report))
            }
            Show::Tasks => format!("{}\n", terminal::window_tasks(report)),
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
