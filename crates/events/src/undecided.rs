//! Conditions that windows did not decide.

/// The reason why a window does not decide a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The window is missing.
    Missing,
    /// Too much was lost.
    Uncovered,
    /// The window was watched only in part.
    Cut,
    /// The window's answer is not whole.
    Partial,
    /// The window's values are bounds between which the condition lies.
    Bounds,
}

impl Why {
    /// The list of all reasons.
    pub const ALL: [Self; 5] = [Self::Missing, Self::Uncovered, Self::Cut, Self::Partial, Self::Bounds];

    /// The name that reports have.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Uncovered => "coverage",
            Self::Cut => "cut",
            Self::Partial => "partial",
            Self::Bounds => "bounds",
        }
    }
}

/// Counts of the windows that left a condition undecided for a key that it might have fired for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undecided {
    /// Windows, each counted once on each node.
    pub windows: u64,
    /// The windows by reason, in the order of [`Why::ALL`].
    pub by_reason: [u64; 5],
}

impl Undecided {
    pub(crate) fn add(&mut self, why: Why) {
        self.windows += 1;
        self.by_reason[why as usize] += 1;
    }

    /// The reasons, with how many windows each explains.
    pub fn reasons(&self) -> impl Iterator<Item = (Why, u64)> + '_ {
        Why::ALL.into_iter().zip(self.by_reason).filter(|(_, windows)| *windows != 0)
    }
}
