//! A window that is kept, and what queries answer of it.

use super::NotKept;
use crate::closed::ClosedWindow;
use crate::window_answers;
use flow::{RowStatistics, Rows};
use model::{Answer, Span};
use packet::{KeyV4, KeyV6};
use record::Anonymizer;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use task::TaskSet;
use task::rows::{LongWindows, RowQueries, RowScratch};

/// Bytes of the rows that are there.
#[derive(Debug, Default)]
pub(super) struct RetainedBytes(AtomicUsize);

impl RetainedBytes {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Copies of the rows of a window, in blocks without room to spare.
#[derive(Debug)]
pub(super) struct KeptRows {
    blocks: Vec<(Rows<KeyV4>, Rows<KeyV6>)>,
    bytes: usize,
    used: Arc<RetainedBytes>,
}

impl KeptRows {
    pub(super) fn new(used: &Arc<RetainedBytes>) -> Self {
        Self { blocks: Vec::new(), bytes: 0, used: Arc::clone(used) }
    }

    /// Returns the bytes that copies of these rows take.
    pub(super) fn bytes_of(v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) -> usize {
        fn count_bytes<K>(rows: &Rows<K>) -> usize {
            size_of_val(&rows.rows[..]) + size_of_val(&rows.losses[..])
        }
        count_bytes(v4) + count_bytes(v6)
    }

    pub(super) fn add(&mut self, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let bytes = Self::bytes_of(v4, v6);
        self.bytes += bytes;
        self.used.0.fetch_add(bytes, Relaxed);
        // A copy has room for its rows alone. Statistics of packets are read when their window is over, and not again.
        fn copy<K: Copy>(rows: &Rows<K>) -> Rows<K> {
            Rows {
                rows: rows.rows.clone(),
                losses: rows.losses.clone(),
                statistics: RowStatistics::default(),
            }
        }
        self.blocks.push((copy(v4), copy(v6)));
    }
}

impl Drop for KeptRows {
    fn drop(&mut self) {
        self.used.0.fetch_sub(self.bytes, Relaxed);
    }
}

/// A closed window with its rows.
#[derive(Debug)]
pub(super) struct RetainedWindow {
    pub(super) closed: ClosedWindow,
    /// The set that answered the window.
    set: Arc<TaskSet>,
    pub(super) rows: KeptRows,
}

impl RetainedWindow {
    pub(super) fn new(closed: &ClosedWindow, set: &Arc<TaskSet>, rows: KeptRows) -> Self {
        let mut closed = closed.clone();
        closed.answers = Vec::new();
        Self { closed, set: Arc::clone(set), rows }
    }

    /// Returns the time from which on it is known what there was: the windows immediately before it may have had no packet, and before the
    /// first one nothing was watched.
    pub(super) fn since_ns(&self) -> u64 {
        let before = self.length().saturating_mul(self.closed.empty_before);
        if self.is_first() { 0 } else { self.closed.span.start_ns.saturating_sub(before) }
    }

    /// Returns true if the window is the run's first.
    pub(super) fn is_first(&self) -> bool {
        self.closed.index == 0
    }

    fn length(&self) -> u64 {
        self.closed.span.end_ns - self.closed.span.start_ns
    }

    fn answers(&self, queries: &RowQueries, node: &str) -> Vec<Answer> {
        let (mut partials, mut scratch) = (queries.window(), RowScratch::default());
        for (v4, v6) in &self.rows.blocks {
            partials.add_v4(queries, v4, &mut scratch);
            partials.add_v6(queries, v6, &mut scratch);
        }
        let mut answers = window_answers::answer_rows(partials, queries, self.set.rows(), &self.closed);
        window_answers::sign(&mut answers, &self.closed, node);
        answers
    }
}

/// A part of the time that is looked back at.
#[derive(Debug)]
pub(super) enum RetainedSpan {
    Window(Arc<RetainedWindow>),
    /// Windows without a packet that precede or follow a kept one.
    Empty(Arc<RetainedWindow>, Span, u64),
}

impl RetainedSpan {
    /// The windows of this time, which had no packet, immediately before a kept one or after it.
    pub(super) fn empty(kept: &Arc<RetainedWindow>, span: Span) -> Result<Self, NotKept> {
        let length = kept.length().max(1);
        let own = kept.closed.span;
        let is_multiple = |of: u64| of.is_multiple_of(length);
        if !is_multiple(own.start_ns.abs_diff(span.end_ns)) || !is_multiple(span.end_ns - span.start_ns) {
            return Err(NotKept::OtherWindows);
        }
        let windows = (span.end_ns - span.start_ns) / length;
        Ok(Self::Empty(Arc::clone(kept), span, windows))
    }
}

/// All that is needed to answer queries over a time.
#[derive(Debug)]
pub(super) struct RetrospectiveInput {
    pub(super) pieces: Vec<RetainedSpan>,
    pub(super) node: String,
    pub(super) anonymizer: Option<Anonymizer>,
}

impl RetrospectiveInput {
    pub(super) fn answers(self, span: Span, queries: &RowQueries) -> Vec<Answer> {
        let Self { pieces, node, mut anonymizer } = self;
        let mut answers = Vec::new();
        for piece in &pieces {
            match piece {
                RetainedSpan::Window(kept) => answers.extend(kept.answers(queries, &node)),
                RetainedSpan::Empty(kept, span, windows) => answers.extend(
                    queries
                        .empty_answers()
                        .map(|answer| window_answers::empty(answer, *span, *windows, &kept.closed, &node)),
                ),
            }
        }
        answers.extend(long(&pieces, span, queries, &node));
        if let Some(anonymizer) = &mut anonymizer {
            let mut map = |address| anonymizer.address(address);
            answers.iter_mut().for_each(|answer| answer.map_addresses(&mut map));
        }
        answers
    }
}

/// The answers of windows of other lengths that lie in the time.
fn long(pieces: &[RetainedSpan], span: Span, queries: &RowQueries, node: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut long: Vec<LongWindows> = Vec::new();
    queries.begin_long_windows(&mut long);
    for windows in &mut long {
        windows.answer_from(span.start_ns);
        for piece in pieces {
            match piece {
                RetainedSpan::Window(kept) => {
                    for (v4, v6) in &kept.rows.blocks {
                        windows.add(kept.closed.span.start_ns, v4, v6);
                    }
                    answers.extend(windows.close(&window_answers::account(&kept.closed)));
                }
                RetainedSpan::Empty(_, empty, _) => {
                    windows.begin(empty.start_ns);
                    answers.extend(windows.pass(empty.end_ns));
                }
            }
        }
        answers.extend(windows.end());
    }
    // The last ones may end later.
    answers.retain(|answer: &Answer| answer.window.is_some_and(|own| own.end_ns <= span.end_ns));
    answers.iter_mut().for_each(|answer| answer.node = Some(node.to_owned()));
    answers
}
