//! The ring of the windows that are kept.

use super::kept::{KeptRows, RetainedBytes, RetainedSpan, RetainedWindow, RetrospectiveInput};
use super::{LookBackCounts, NoRoom, NotKept};
use crate::closed::ClosedWindow;
use crate::ids::WindowId;
use arena::{Lease, Limits};
use flow::Rows;
use model::Span;
use packet::{KeyV4, KeyV6};
use record::Anonymizer;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use task::TaskSet;

/// The last windows, with those whose rows are coming among them.
#[derive(Debug, Default)]
pub(super) struct WindowRing {
    windows: usize,
    bytes: usize,
    /// The memory that the ring may take; `None` while it is off.
    lease: Option<Lease>,
    node: String,
    anonymizer: Option<Anonymizer>,
    /// Windows some rows of which have come; `None` where these are too many.
    filling: BTreeMap<WindowId, Option<KeptRows>>,
    kept: VecDeque<Arc<RetainedWindow>>,
    /// Bytes of all rows, including rows that left the ring while a query still reads them.
    used: Arc<RetainedBytes>,
    /// A replay is about to enter the second of these windows, after the first: between them there is no packet.
    reached: Option<(WindowId, WindowId)>,
    dropped_early: u64,
    too_large: u64,
}

impl WindowRing {
    pub(super) fn is_on(&self) -> bool {
        self.lease.is_some()
    }

    pub(super) fn begin(&mut self, node: &str, anonymizer: Option<&Anonymizer>) {
        node.clone_into(&mut self.node);
        self.anonymizer = anonymizer.cloned();
    }

    pub(super) fn clear(&mut self) {
        self.filling.clear();
        self.kept.clear();
        self.reached = None;
    }

    pub(super) fn reach(&mut self, before: WindowId, window: WindowId) {
        self.reached = Some((before, window));
    }

    /// Makes ready for another run.
    pub(super) fn restart(&mut self) {
        self.clear();
        (self.dropped_early, self.too_large) = (0, 0);
    }

    /// Keeps this much from here on. What is kept already stays as far as it fits.
    pub(super) fn resize(&mut self, windows: usize, bytes: usize, limits: &Limits) -> Result<(), NoRoom> {
        if windows == 0 || bytes == 0 {
            (self.windows, self.bytes, self.lease) = (0, 0, None);
            self.clear();
            return Ok(());
        }
        let had = self.lease.as_ref().map_or(0, Lease::bytes);
        let lease = self.lease.get_or_insert_with(|| limits.empty_lease());
        if bytes > had && !lease.grow(bytes - had) {
            let left = limits.bytes_allowed().saturating_sub(limits.bytes_used()) + had;
            self.lease = self.lease.take().filter(|_| had != 0);
            return Err(NoRoom { bytes, left });
        }
        lease.shrink_to(bytes);
        (self.windows, self.bytes) = (windows, bytes);
        self.limit(windows);
        self.make_room(0);
        Ok(())
    }

    /// Drops the oldest windows beyond a number of closed ones.
    fn limit(&mut self, windows: usize) {
        let more = self.kept.len().saturating_sub(windows);
        self.kept.drain(..more);
    }

    /// Drops the oldest windows until `bytes` more bytes fit. Returns false if they do not fit even in the empty ring. A window that a
    /// reader holds takes its room until it is read.
    fn make_room(&mut self, bytes: usize) -> bool {
        let fits = |ring: &Self| ring.used.bytes().checked_add(bytes).is_some_and(|sum| sum <= ring.bytes);
        while !fits(self) {
            if self.kept.pop_front().is_none() {
                return false;
            }
            self.dropped_early += 1;
        }
        true
    }

    pub(super) fn rows(&mut self, window: WindowId, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        if !self.is_on() {
            return;
        }
        if !self.filling.contains_key(&window) {
            // It is one of the last windows from here on.
            self.limit(self.windows.saturating_sub(1 + self.filling.len()));
            self.filling.insert(window, Some(KeptRows::new(&self.used)));
        }
        if self.filling.get(&window).is_none_or(Option::is_none) {
            return;
        }
        let has_room = self.make_room(KeptRows::bytes_of(v4, v6));
        if let Some(rows) = self.filling.get_mut(&window) {
            match rows {
                Some(rows) if has_room => rows.add(v4, v6),
                rows => *rows = None,
            }
        }
    }

    pub(super) fn close(&mut self, closed: &ClosedWindow, set: &Arc<TaskSet>) {
        if !self.is_on() {
            return;
        }
        // Windows of a receiver that failed are in no report.
        let later = self.filling.split_off(&closed.window.next());
        let own = std::mem::replace(&mut self.filling, later).remove(&closed.window);
        match own.unwrap_or_else(|| Some(KeptRows::new(&self.used))) {
            Some(rows) => {
                self.kept.push_back(Arc::new(RetainedWindow::new(closed, set, rows)));
                self.limit(self.windows);
            }
            None => self.too_large += 1,
        }
    }

    /// The windows of a time.
    pub(super) fn find(&self, span: Span) -> Result<RetrospectiveInput, NotKept> {
        if !self.is_on() {
            return Err(NotKept::Off);
        }
        let mut pieces = Vec::new();
        let mut at = span.start_ns;
        for kept in self.kept.iter().filter(|kept| kept.closed.span.end_ns > span.start_ns) {
            if at >= span.end_ns {
                break;
            }
            let own = kept.closed.span;
            if kept.since_ns() > at {
                return Err(NotKept::Gone);
            }
            let until = own.start_ns.min(span.end_ns);
            if at < until {
                // Before the run nothing was watched.
                if !kept.is_first() {
                    pieces.push(RetainedSpan::empty(kept, Span { start_ns: at, end_ns: until })?);
                }
                at = until;
            }
            if own.start_ns >= span.end_ns {
                break;
            }
            if own.start_ns < span.start_ns || own.end_ns > span.end_ns {
                return Err(NotKept::OtherWindows);
            }
            pieces.push(RetainedSpan::Window(Arc::clone(kept)));
            at = own.end_ns;
        }
        if let Some((last, until_ns)) = self.known_empty().filter(|(_, until_ns)| *until_ns >= span.end_ns)
            && (last.closed.span.end_ns..until_ns).contains(&at)
            && at < span.end_ns
        {
            pieces.push(RetainedSpan::empty(last, Span { start_ns: at, end_ns: span.end_ns })?);
            at = span.end_ns;
        }
        match at < span.end_ns {
            true => Err(NotKept::NotYet),
            false if pieces.is_empty() => Err(NotKept::Gone),
            false => Ok(RetrospectiveInput {
                pieces,
                node: self.node.clone(),
                anonymizer: self.anonymizer.clone(),
            }),
        }
    }

    /// Returns the time up to which there was no packet after the last window, where a replay waits, with that window.
    fn known_empty(&self) -> Option<(&Arc<RetainedWindow>, u64)> {
        let (last, (before, window)) = (self.kept.back()?, self.reached?);
        let Span { start_ns, end_ns } = last.closed.span;
        let windows = window.number().checked_sub(before.number())?;
        let until_ns = start_ns.saturating_add(windows.saturating_mul(end_ns - start_ns));
        (last.closed.window == before).then_some((last, until_ns))
    }

    pub(super) fn counts(&self) -> LookBackCounts {
        let Self { dropped_early, too_large, .. } = *self;
        LookBackCounts { windows: self.kept.len(), bytes: self.used.bytes(), dropped_early, too_large }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::WindowRow;
    use packet::{KeySpec, Seed};
    use task::Generation;
    use task::rows::PlanContext;

    fn closed(number: u64) -> ClosedWindow {
        let span = Span { start_ns: number * 10, end_ns: number * 10 + 10 };
        ClosedWindow { index: number, ..ClosedWindow::without_packets(WindowId::new(number), span) }
    }

    #[test]
    fn what_somebody_reads_takes_its_room_until_it_is_read() {
        let limits = Limits::new(1 << 20, 1);
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), limits.clone());
        let set = Arc::new(TaskSet::plan(Generation::default(), &[], None, &site).expect("no query"));
        let rows = |rows: usize| Rows { rows: vec![WindowRow::<KeyV4>::default(); rows], ..Rows::default() };
        let row = size_of::<WindowRow<KeyV4>>();
        let mut ring = WindowRing::default();
        ring.resize(5, 100 * row, &limits).expect("memory");
        let window = |ring: &mut WindowRing, number, count| {
            ring.rows(WindowId::new(number), &rows(count), &Rows::default());
            ring.close(&closed(number), &set);
        };
        window(&mut ring, 0, 60);
        let read = ring.find(Span { start_ns: 0, end_ns: 10 }).expect("it is kept");
        window(&mut ring, 1, 60);
        let counts = LookBackCounts { windows: 0, bytes: 60 * row, dropped_early: 1, too_large: 1 };
        assert_eq!(ring.counts(), counts);
        drop(read);
        window(&mut ring, 2, 60);
        assert_eq!(ring.counts(), LookBackCounts { windows: 1, ..counts });
        // Rows of a window that is in no report are dropped with the next one.
        ring.rows(WindowId::new(3), &rows(30), &Rows::default());
        window(&mut ring, 4, 10);
        assert_eq!(ring.counts(), LookBackCounts { windows: 2, bytes: 70 * row, ..counts });
        assert_eq!(ring.find(Span { start_ns: 30, end_ns: 50 }).map(|_| ()), Err(NotKept::Gone));
    }
}
