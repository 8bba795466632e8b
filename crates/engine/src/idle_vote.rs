//! The vote by which several receivers are idle: only if nothing arrives at any of them. A queue to which no flow hashes for a while must
//! still be polled.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of receivers of a run that still get packets.
#[derive(Debug)]
pub(crate) struct IdleVote {
    busy: AtomicUsize,
}

impl IdleVote {
    pub(crate) fn new(receivers: usize) -> Self {
        Self { busy: AtomicUsize::new(receivers) }
    }

    /// The handle of a receiver; to be requested once for each.
    pub(crate) fn place(&self) -> IdleVoter<'_> {
        IdleVoter { quiet: self, is_quiet: false }
    }
}

/// The vote of one receiver. It is quiet when dropped: the receiver gets nothing more.
#[derive(Debug)]
pub(crate) struct IdleVoter<'a> {
    quiet: &'a IdleVote,
    is_quiet: bool,
}

impl IdleVoter<'_> {
    /// Votes whether nothing arrived here for the length of the limit. Returns true if that is so at all
    /// receivers.
    #[inline]
    pub(crate) fn is_everywhere(&mut self, is_quiet: bool) -> bool {
        if is_quiet != self.is_quiet {
            self.is_quiet = is_quiet;
            match is_quiet {
                true => self.quiet.busy.fetch_sub(1, Relaxed),
                false => self.quiet.busy.fetch_add(1, Relaxed),
            };
        }
        is_quiet && self.quiet.busy.load(Relaxed) == 0
    }
}

impl Drop for IdleVoter<'_> {
    fn drop(&mut self) {
        self.is_everywhere(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_quiet_where_all_are() {
        let quiet = IdleVote::new(3);
        let (mut first, mut second, third) = (quiet.place(), quiet.place(), quiet.place());
        assert!(!first.is_everywhere(true) && !second.is_everywhere(false));
        assert!(!second.is_everywhere(true));
        drop(third);
        assert!(first.is_everywhere(true) && second.is_everywhere(true));
        // A frame after all: the other receiver continues too.
        assert!(!first.is_everywhere(false) && !second.is_everywhere(true));
        drop(first);
        assert!(second.is_everywhere(true));
    }
}
