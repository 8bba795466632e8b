//! A thread that tells one Alertmanager.

use crate::book::AlertBatch;
use crate::desk::NotifierMonitor;
use crate::{Notify, NotifyError};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest time between two looks for alerts that are due, as those that fire are told again.
const LOOK: Duration = Duration::from_secs(1);
/// The first wait after something went wrong, and the longest.
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(15);
/// The longest once the thread is to end.
const LAST: Duration = Duration::from_millis(500);
/// Different reasons of refused alerts that are said.
const MOST_SAID: usize = 10;

pub(crate) struct AlertSender {
    desk: Arc<NotifierMonitor>,
    number: usize,
    client: Box<dyn Notify>,
    address: String,
    wait: Duration,
    said: Vec<String>,
}

impl AlertSender {
    pub(crate) fn new(desk: Arc<NotifierMonitor>, number: usize, client: Box<dyn Notify>) -> Self {
        let address = client.place();
        Self { desk, number, client, address, wait: FIRST, said: Vec::new() }
    }

    /// Tells until the threads are to end.
    pub(crate) fn run(mut self) {
        let mut not_before: Option<Instant> = None;
        loop {
            let now = Instant::now();
            let (batch, ends, is_told) = {
                let shared = self.desk.lock();
                let book = &shared.book;
                let now_ns = now_ns();
                let is_told = book.untold(&self.address, now_ns) == 0;
                (book.due(&self.address, now, now_ns), shared.ends, is_told)
            };
            // Once it is to end, a wait that was long is over.
            let may_try = not_before.is_none_or(|at| at <= now) || (ends.is_some() && self.wait > LAST);
            if ends.is_some_and(|ends| is_told || now >= ends) {
                return;
            }
            if batch.len() != 0 && may_try {
                match self.tell(&batch, 0..batch.len()) {
                    Ok(()) => (not_before, self.wait) = (None, FIRST),
                    Err(NotifyError::Wait(problem, reason)) => {
                        self.report_problem(problem.name(), reason);
                        not_before = Instant::now().checked_add(self.wait);
                        self.wait = (self.wait * 2).min(if ends.is_some() { LAST } else { LONGEST });
                    }
                    Err(NotifyError::Alerts(_)) => {}
                }
                continue;
            }
            let next = not_before.map_or(LOOK, |at| at.saturating_duration_since(now));
            let left = ends.map_or(LOOK, |ends| ends.saturating_duration_since(now));
            self.desk.wait(self.number, next.min(left).min(LOOK));
        }
    }

    /// Tells a part of a batch. Where alerts are refused it is halved, so that one does not keep others from being told.
    fn tell(&mut self, batch: &AlertBatch, range: Range<usize>) -> Result<(), NotifyError> {
        match self.client.post(&batch.body(range.clone())) {
            Ok(()) => self.record_taken(batch, range, false),
            Err(NotifyError::Alerts(_)) if range.len() > 1 => {
                let middle = range.start + range.len() / 2;
                self.tell(batch, range.start..middle)?;
                self.tell(batch, middle..range.end)?;
            }
            Err(NotifyError::Alerts(reason)) => {
                let line = format!(
                    "Alertmanager at {} {reason}; an alert of {} is given up",
                    self.address,
                    batch.name(range.start)
                );
                if self.said.len() < MOST_SAID && !self.said.contains(&line) {
                    self.desk.lock().lines.push(line.clone());
                    self.said.push(line);
                }
                self.record_taken(batch, range, true);
            }
            Err(wait) => return Err(wait),
        }
        Ok(())
    }

    fn record_taken(&mut self, batch: &AlertBatch, range: Range<usize>, is_lost: bool) {
        let now = Instant::now();
        let mut shared = self.desk.lock();
        range.for_each(|at| shared.book.record_taken(&self.address, batch, at, is_lost, now));
        if shared.book.counts_of(&self.address).fault.take().is_some() {
            shared.lines.push(format!("Alertmanager at {} takes alerts again", self.address));
        }
    }

    /// Counts what went wrong, and says it once until it is well again.
    fn report_problem(&mut self, problem: &'static str, reason: String) {
        let mut shared = self.desk.lock();
        let counts = shared.book.counts_of(&self.address);
        counts.problems.count(problem, 1);
        if counts.fault.as_ref() != Some(&reason) {
            let is_first = counts.fault.replace(reason.clone()).is_none();
            if is_first {
                shared
                    .lines
                    .push(format!("Alertmanager at {} {reason}; alerts wait ({problem})", self.address));
            }
        }
    }
}

/// Nanoseconds since the epoch, by the system's clock.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
