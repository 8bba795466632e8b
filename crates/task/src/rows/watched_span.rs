//! The time that was watched, and the times in it that are missing.

use model::Span;

/// The time that was watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedSpan<'a> {
    pub(super) span: Span,
    /// Times in it of which nothing is known.
    pub(super) missing: &'a [Span],
}

impl WatchedSpan<'_> {
    /// Returns true if an instant was watched.
    pub(super) fn has(self, time_ns: u64) -> bool {
        let within = |span: &Span| (span.start_ns..span.end_ns).contains(&time_ns);
        within(&self.span) && !self.missing.iter().any(within)
    }

    /// Creates a time that was watched as a whole.
    pub(super) fn all(span: Span) -> Self {
        Self { span, missing: &[] }
    }

    /// The part of a window that was watched. Times that are missing between others count in it.
    pub(super) fn part_of(self, window: Span) -> Span {
        let Self { span, missing } = self;
        let both =
            Span { start_ns: span.start_ns.max(window.start_ns), end_ns: span.end_ns.min(window.end_ns) };
        both.without(missing).unwrap_or(both)
    }
}
