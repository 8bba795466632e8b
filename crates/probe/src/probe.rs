//! The thread that carries out what a controller says.

use crate::captures::ProbeCaptures;
use crate::gate::ReplayGate;
use crate::history::HistoryRequests;
use crate::leases::Leases;
use crate::planner::TaskSetPlanner;
use crate::recent_windows::LookBacks;
use crate::reporter::Reporter;
use crate::task_file::TaskFile;
use engine::{Control, FinishedCapture, WindowOutlet};
use model::Answer;
use overview::{TrafficReport, TrafficReporter};
use protocol::{FromProbe, ProbeLink, TaskList, ToProbe, WindowResult};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval at which the thread checks whether the run is over.
const END_LOOK: Duration = Duration::from_millis(50);

/// A node under a controller.
#[derive(Debug)]
pub struct Probe {
    link: Arc<dyn ProbeLink>,
    gate: Option<Arc<ReplayGate>>,
    is_over: Arc<AtomicBool>,
    /// True once no packet follows; `has_told` is set by the thread once it has said what was captured.
    is_ending: Arc<AtomicBool>,
    has_told: Arc<(Mutex<bool>, Condvar)>,
    /// True once the first list is installed, or none comes.
    has_tasks: Arc<(Mutex<bool>, Condvar)>,
    /// Says what the traffic of the last hours is; `None` where that is not kept.
    traffic: Option<Arc<Mutex<TrafficReporter>>>,
    thread: Option<JoinHandle<()>>,
}

/// The state of the thread.
struct ProbeWorker {
    link: Arc<dyn ProbeLink>,
    planner: TaskSetPlanner,
    control: Control,
    gate: Option<Arc<ReplayGate>>,
    /// The newest list.
    list: Option<TaskList>,
    recent_windows: LookBacks,
    captures: ProbeCaptures,
    history: HistoryRequests,
    /// The leases of a live run.
    leases: Leases,
    reporter: Option<Reporter>,
    /// Keeps the newest list that is carried out.
    file: Option<TaskFile>,
}

impl Probe {
    /// Starts the thread. `gate`: that of `control`, if the run is a replay. `reporter`: makes the heartbeats, if the controller needs any.
    /// `file`: keeps the lists that are carried out. `store`: the folder of the store that answers questions about history.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(
        link: Arc<dyn ProbeLink>,
        planner: TaskSetPlanner,
        control: Control,
        gate: Option<Arc<ReplayGate>>,
        reporter: Option<Reporter>,
        file: Option<TaskFile>,
        store: Option<PathBuf>,
    ) -> std::io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let has_tasks: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let (over, first) = (Arc::clone(&is_over), Arc::clone(&has_tasks));
        let gate_of_worker = gate.clone();
        let is_ending = Arc::new(AtomicBool::new(false));
        let has_told: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let (ending, told) = (Arc::clone(&is_ending), Arc::clone(&has_told));
        let (look_backs, captures, leases) = Default::default();
        let history = HistoryRequests::start(Arc::clone(&link), store, planner.site())?;
        let link_of_worker = Arc::clone(&link);
        let mut worker = ProbeWorker {
            link: link_of_worker,
            planner,
            control,
            gate: gate_of_worker,
            list: None,
            recent_windows: look_backs,
            captures,
            history,
            leases,
            reporter,
            file,
        };
        let work = move || {
            while !over.load(Relaxed) {
                match worker.link.receive(END_LOOK) {
                    Ok(Some(message)) => worker.take(message, &first),
                    Ok(None) => {}
                    Err(_) => break,
                }
                let is_last = ending.load(Relaxed);
                let captures = worker.control.captures();
                let finished = if is_last { captures.end() } else { captures.take_finished() };
                worker.tell_captured(finished);
                if is_last {
                    worker.history.end();
                    tell(&told);
                }
                worker.end_leases();
                // Nothing follows the end.
                if !is_last {
                    worker.beat();
                }
            }
            worker.history.end();
            let finished = worker.control.captures().end();
            worker.tell_captured(finished);
            // Without a controller a replay waits for none.
            worker.gate.iter().for_each(|gate| gate.open(u64::MAX));
            tell(&first);
            tell(&told);
        };
        let thread = std::thread::Builder::new().name("probe".to_owned()).spawn(work)?;
        Ok(Self { link, gate, is_over, is_ending, has_told, has_tasks, traffic: None, thread: Some(thread) })
    }

    /// Tells the controller of the traffic, with each window and at the end.
    #[must_use]
    pub fn with_traffic(mut self, traffic: Option<TrafficReporter>) -> Self {
        self.traffic = traffic.map(|traffic| Arc::new(Mutex::new(traffic)));
        self
    }

    /// Waits until the first list is carried out, or none can come.
    pub fn await_tasks(&self) {
        wait(&self.has_tasks);
    }

    /// The destination of the engine's windows.
    pub fn outlet(&self) -> WindowOutlet {
        let (link, is_replay) = (Arc::clone(&self.link), self.gate.is_some());
        let traffic = self.traffic.clone();
        let mut empty = Vec::new();
        Box::new(move |window| {
            // A replay tells which windows it enters: a run of windows without packets is told with the window that ends it.
            if window.empty.is_some() && is_replay {
                empty = window.answers;
                return true;
            }
            let answers = std::mem::take(&mut empty).into_iter();
            let answers = answers.chain(window.answers).chain(window.longer).collect();
            let mut result = WindowResult::new(window.span, answers);
            (result.empty, result.traffic) = (window.empty, reported(&traffic));
            link.send(FromProbe::Window(Box::new(result))).is_ok()
        })
    }

    /// The run is over. `answers`: those of windows that its end cut. A replay ends once the controller has settled all windows: it may ask
    /// for what is kept of them until then.
    pub fn end(mut self, answers: Vec<Answer>) {
        self.is_ending.store(true, Relaxed);
        wait(&self.has_told);
        // Where the controller has left, there is nothing to tell it.
        let is_told = self.link.send(FromProbe::Ended { answers, traffic: reported(&self.traffic) }).is_ok();
        self.gate.iter().filter(|_| is_told).for_each(|gate| gate.await_end());
        self.stop();
    }

    fn stop(&mut self) {
        self.is_over.store(true, Relaxed);
        // A thread that panicked has ended too.
        self.thread.take().map(JoinHandle::join);
    }
}

impl ProbeWorker {
    fn take(&mut self, message: ToProbe, first: &(Mutex<bool>, Condvar)) {
        match message {
            ToProbe::Tasks(list) => {
                self.install(list);
                tell(first);
            }
            ToProbe::Enter { until_ns } => self.gate.iter().for_each(|gate| gate.open(until_ns)),
        }
    }

    fn install(&mut self, list: TaskList) {
        if self.list.as_ref().is_some_and(|last| !list.is_newer_than(last)) {
            return;
        }
        // What a store answers does not depend on what is measured.
        self.history.take(&list);
        let (id, told) = (list.id(), list);
        let list = self.planner.restored(&told);
        let (site, most) = (self.planner.site().clone(), self.planner.recent_windows_bytes());
        let kept = self.recent_windows.keep(list.look_back, most, &self.control, &site);
        let granted = self.granted(&list);
        let mut installed = self.planner.install(&self.control, &granted);
        let is_installed = installed.is_ok();
        if let (Ok(refused), Err(reason)) = (&mut installed, kept) {
            *refused = Some(refused.take().map_or(reason.clone(), |other| format!("{other}; {reason}")));
        }
        if let Some(reporter) = &mut self.reporter {
            reporter.installed(id, &installed);
        }
        let refused = match installed {
            Ok(refused) => refused,
            Err(reason) => Some(reason),
        };
        if let Some(reason) = refused {
            // Where the controller has left, there is nothing to tell it.
            let _ = self.link.send(FromProbe::Refused { list: id, reason });
        }
        // A list of other flows asks nothing that can be answered.
        if is_installed {
            self.file.iter().for_each(|file| file.keep(&told));
            for looked in self.recent_windows.answer(&list, &self.control, &site) {
                let _ = self.link.send(FromProbe::LookedBack(Box::new(looked)));
            }
            for refused in self.captures.carry_out(&list.captures, &self.control, &site) {
                let _ = self.link.send(FromProbe::Captured(Box::new(refused)));
            }
        }
        self.list = Some(list);
    }

    /// Returns a list without what its lease has ended. A replay has its time from the capture, and no clock.
    fn granted(&mut self, list: &TaskList) -> TaskList {
        if self.gate.is_some() {
            return list.clone();
        }
        self.leases.grant(list, now_ns(), Instant::now());
        self.leases.trimmed(list).0
    }

    /// Ends tasks whose lease is over.
    fn end_leases(&mut self) {
        if !self.leases.end(Instant::now()) {
            return;
        }
        let Some(list) = &self.list else { return };
        let (list, ended) = self.leases.trimmed(list);
        // What is left was installed before; where it is refused now, all goes on as it is.
        let _ = self.planner.install(&self.control, &list);
        self.reporter.iter_mut().for_each(|reporter| reporter.ended(ended));
    }

    fn tell_captured(&mut self, finished: Vec<FinishedCapture>) {
        for captured in self.captures.captured(finished) {
            // Where the controller has left, there is nothing to tell it.
            let _ = self.link.send(FromProbe::Captured(Box::new(captured)));
        }
    }

    fn beat(&mut self) {
        let heartbeat = self.reporter.as_mut().and_then(|reporter| reporter.heartbeat(self.link.spool()));
        if let Some(heartbeat) = heartbeat {
            let _ = self.link.send(FromProbe::Heartbeat(Box::new(heartbeat)));
        }
    }
}

/// The clock of live windows, nanoseconds since the epoch.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns what is new of the traffic.
fn reported(traffic: &Option<Arc<Mutex<TrafficReporter>>>) -> Option<Box<TrafficReport>> {
    traffic.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).report()
}

fn wait((is_so, changed): &(Mutex<bool>, Condvar)) {
    let is_so = is_so.lock().unwrap_or_else(PoisonError::into_inner);
    drop(changed.wait_while(is_so, |is_so| !*is_so));
}

fn tell(has_tasks: &(Mutex<bool>, Condvar)) {
    *has_tasks.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    has_tasks.1.notify_all();
}

/// A probe that ends without an answer says so too: its controller waits for it.
impl Drop for Probe {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
            let _ = self.link.send(FromProbe::Ended { answers: Vec::new(), traffic: None });
        }
    }
}
