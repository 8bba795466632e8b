//! The progress of the nodes, as a line on a terminal.

use crate::exit::say;
use engine::{Observer, Snapshot};
use notation::{grouped, scaled};
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two drawings of the line.
const REFRESH: Duration = Duration::from_millis(200);

/// The progress of all nodes.
#[derive(Clone)]
pub(super) struct ProgressLine(Arc<Mutex<ProgressState>>);

struct ProgressState {
    nodes: Vec<Snapshot>,
    is_shown: bool,
    began: Instant,
    drawn: Instant,
}

/// The progress of a node, as its measuring thread tells it.
pub(super) struct NodeProgress {
    number: usize,
    progress: ProgressLine,
}

impl ProgressLine {
    pub(super) fn new(nodes: usize) -> Self {
        let (nodes, now) = (vec![Snapshot::default(); nodes], Instant::now());
        let is_shown = io::stderr().is_terminal();
        Self(Arc::new(Mutex::new(ProgressState { nodes, is_shown, began: now, drawn: now })))
    }

    pub(super) fn observer(&self, number: usize) -> NodeProgress {
        NodeProgress { number, progress: self.clone() }
    }

    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears the line, so that something else can be written.
    pub(super) fn clear(&self) {
        if self.state().is_shown {
            eprint!("\r\x1b[K");
        }
    }
}

impl ProgressState {
    fn draw(&mut self) {
        if !self.is_shown || self.drawn.elapsed() < REFRESH {
            return;
        }
        self.drawn = Instant::now();
        let sum = |of: fn(&Snapshot) -> u64| self.nodes.iter().map(of).sum::<u64>();
        let received = sum(|node| node.received);
        let rate = scaled(received as f64 / self.began.elapsed().as_secs_f64(), "pps");
        let total: Option<u64> = self.nodes.iter().map(|node| node.total_bytes).sum();
        let part = match total {
            Some(total) if total != 0 => {
                format!("{:3.0} % ", sum(|node| node.done_bytes) as f64 * 100.0 / total as f64)
            }
            _ => String::new(),
        };
        let flows = grouped(sum(|node| node.flows));
        eprint!("\r\x1b[K{part}{} packets, {flows} flows, {rate}", grouped(received));
    }
}

impl Observer for NodeProgress {
    fn progress(&mut self, snapshot: Snapshot) {
        let mut state = self.progress.state();
        state.nodes[self.number] = snapshot;
        state.draw();
    }

    fn warning(&mut self, line: String) {
        self.progress.clear();
        say(&line);
    }
}
