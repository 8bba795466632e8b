//! Conditions that windows did not decide.

/// Why a window does not decide a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is missing.
    Missing,
    /// Too much was lost.
    Uncovered,
    /// It was watched only in part.
    Cut,
    /// Its answer is not whole.
    Partial,
    /// Its values are bounds between which the condition lies.
    Bounds,
}

impl Why {
    /// All of them.
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

/// How often windows left a condition undecided for a key that it might have fired for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undecided {
    /// Windows, each counted once on each node.
    pub windows: u64,
    /// The same by reason, in the order of [`Why::ALL`].
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
