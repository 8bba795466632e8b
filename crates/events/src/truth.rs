//! Logic of three values.

/// The truth of a condition (S. C. Kleene's strong logic, as SQL has it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthValue {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The condition is not decided by what is known.
    Unknown,
}

impl TruthValue {
    /// Returns whether both hold.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }

    /// Returns whether one of them holds.
    pub fn or(self, other: Self) -> Self {
        self.negated().and(other.negated()).negated()
    }

    /// The opposite.
    pub fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl From<bool> for TruthValue {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

#[cfg(test)]
mod tests {
    use super::TruthValue::{self, False, True, Unknown};

    #[test]
    fn what_is_unknown_decides_nothing() {
        let all = [True, False, Unknown];
        let table =
            |of: fn(TruthValue, TruthValue) -> TruthValue| all.map(|one| all.map(|other| of(one, other)));
        assert_eq!(table(TruthValue::and), [[True, False, Unknown], [False; 3], [Unknown, False, Unknown]]);
        assert_eq!(table(TruthValue::or), [[True; 3], [True, False, Unknown], [True, Unknown, Unknown]]);
        assert_eq!(all.map(TruthValue::negated), [False, True, Unknown]);
    }
}
