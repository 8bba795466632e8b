//! The window in which something was measured.

use std::fmt;

/// The number of a window. Windows by time are counted from the epoch, so that receivers and probes use the
/// same numbers; windows by packets from the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(u64);

impl WindowId {
    /// The greatest number, later than any window that is measured.
    pub const MAX: Self = Self(u64::MAX);

    /// The window of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of the window.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The window after this one.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The window before this one, if any.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// The window `windows` before this one, or the first.
    pub const fn back(self, windows: u64) -> Self {
        Self(self.0.saturating_sub(windows))
    }

    /// The number of windows that lie between `earlier` and this one, without both.
    pub const fn windows_between(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.next().0)
    }
}

impl fmt::Display for WindowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_window() {
        let [first, second, sixth] = [0, 1, 5].map(WindowId::new);
        assert_eq!((first.next(), second.previous(), first.previous()), (second, Some(first), None));
        assert_eq!((sixth.back(4), sixth.back(7)), (second, first));
        assert_eq!([second, sixth, first].map(|window| window.windows_between(first)), [0, 4, 0]);
        assert_eq!((WindowId::MAX.next(), WindowId::MAX.number()), (WindowId::MAX, u64::MAX));
        assert!(first < second && second < WindowId::MAX);
    }
}
