//! The thread that carries out what a controller says.

use crate::gate::ReplayGate;
use crate::planner::Planner;
use engine::{Control, WindowOutlet};
use protocol::{FromProbe, ProbeLink, ToProbe, WindowResult};
use report::Answer;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread checks whether the run is over.
const END_LOOK: Duration = Duration::from_millis(50);

/// A node under a controller.
#[derive(Debug)]
pub struct Probe {
    link: Arc<dyn ProbeLink>,
    is_over: Arc<AtomicBool>,
    /// The first list is installed, or none comes.
    has_tasks: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Probe {
    /// Starts the thread. `gate`: that of `control`, if the run is a replay.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        link: Arc<dyn ProbeLink>,
        mut planner: Planner,
        control: Control,
        gate: Option<Arc<ReplayGate>>,
    ) -> std::io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let has_tasks: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let (own, over, first) = (Arc::clone(&link), Arc::clone(&is_over), Arc::clone(&has_tasks));
        let work = move || {
            while !over.load(Relaxed) {
                match own.receive(END_LOOK) {
                    Ok(Some(ToProbe::Tasks(list))) => {
                        if let Err(reason) = planner.install(&control, &list) {
                            let id = list.id();
                            // Where the controller has left, there is nothing to tell it.
                            let _ = own.send(FromProbe::Refused { list: id, reason });
                        }
                        tell(&first);
                    }
                    Ok(Some(ToProbe::Enter { until_ns })) => {
                        gate.iter().for_each(|gate| gate.open(until_ns));
                    }
                    Ok(None) => {}
                    Err(_) => break,
                }
            }
            // Without a controller a replay waits for none.
            gate.iter().for_each(|gate| gate.open(u64::MAX));
            tell(&first);
        };
        let thread = std::thread::Builder::new().name("probe".to_owned()).spawn(work)?;
        Ok(Self { link, is_over, has_tasks, thread: Some(thread) })
    }

    /// Waits until the first list is carried out, or none can come.
    pub fn await_tasks(&self) {
        let (has_tasks, changed) = &*self.has_tasks;
        let has_tasks = has_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_while(has_tasks, |has_tasks| !*has_tasks));
    }

    /// The destination of the engine's windows.
    pub fn outlet(&self) -> WindowOutlet {
        let link = Arc::clone(&self.link);
        let mut empty = Vec::new();
        Box::new(move |window| {
            // A run of windows without packets is told with the window that ends it.
            if window.empty.is_some() {
                empty = window.answers;
                return true;
            }
            let answers = std::mem::take(&mut empty).into_iter();
            let answers = answers.chain(window.answers).chain(window.longer).collect();
            let result = WindowResult::new(window.span, answers);
            link.send(FromProbe::Window(Box::new(result))).is_ok()
        })
    }

    /// The run is over. `answers`: those of windows that its end cut.
    pub fn end(mut self, answers: Vec<Answer>) {
        // Where the controller has left, there is nothing to tell it.
        let _ = self.link.send(FromProbe::Ended { answers });
        self.stop();
    }

    fn stop(&mut self) {
        self.is_over.store(true, Relaxed);
        // A thread that panicked has ended too.
        self.thread.take().map(JoinHandle::join);
    }
}

fn tell(has_tasks: &(Mutex<bool>, Condvar)) {
    *has_tasks.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    has_tasks.1.notify_all();
}

/// A probe that ends without an answer says so too: its controller waits for it.
impl Drop for Probe {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.link.send(FromProbe::Ended { answers: Vec::new() });
            self.stop();
        }
    }
}
