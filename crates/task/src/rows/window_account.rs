//! The account of a window of the run, and of several that form a window of another length.

use super::outside::Unplaced;
use flow::{Sampled, Untold};
use model::Span;

/// A window of the run that is closed.
#[derive(Clone, Copy, Debug)]
pub struct WindowAccount {
    /// The window.
    pub span: Span,
    /// The part of it that was watched.
    pub watched: Span,
    /// Packets received.
    pub received: u64,
    /// Packets lost before the table; `None` if the source cannot count its loss.
    pub lost: Option<u64>,
    /// Rows that could not be handed over.
    pub refused_rows: u64,
    /// Packets of pinned flows that there was no memory to follow.
    pub unfollowed: u64,
    /// Packets that are in no row.
    pub outside: Unplaced,
    /// Numbers of packets and records that did not tell a value.
    pub untold: Untold,
    /// The sampling of the packets; `None` if all were taken.
    pub sampled: Option<Sampled>,
}

/// The account of several windows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MergedAccount {
    pub(super) received: u64,
    pub(super) lost: Option<u64>,
    pub(super) refused_rows: u64,
    pub(super) unfollowed: u64,
    pub(super) outside: Unplaced,
    pub(super) untold: Untold,
    pub(super) sampled: Option<Sampled>,
}

impl MergedAccount {
    /// Adds the account of later windows.
    pub(super) fn add(&mut self, more: &Self) {
        self.received += more.received;
        self.lost = self.lost.zip(more.lost).map(|(one, other)| one + other);
        self.refused_rows += more.refused_rows;
        self.unfollowed += more.unfollowed;
        self.outside.add(&more.outside);
        self.untold.add(&more.untold);
        Sampled::merge_into(&mut self.sampled, more.sampled.as_ref());
    }
}
