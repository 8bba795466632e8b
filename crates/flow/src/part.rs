//! The optional parts of what is measured of flows.

/// A group of fields. Records carry the fields of a part only if the run is configured for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The plain part, which every record has.
    Plain,
    /// The TCP losses of the flow.
    Loss,
    /// The header fields beyond the plain ones.
    Headers,
    /// The rate by which a router sampled packets.
    Sampling,
}

/// The optional parts that window rows and records have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrackedParts {
    /// True if they have TCP losses (`--loss`).
    pub loss: bool,
    /// True if they have header fields beyond the plain ones (`--headers`).
    pub headers: bool,
}

impl TrackedParts {
    /// The plain part alone.
    pub const PLAIN: Self = Self { loss: false, headers: false };
    /// The plain part and the losses.
    pub const LOSS: Self = Self { loss: true, headers: false };
    /// Every part.
    pub const ALL: Self = Self { loss: true, headers: true };

    /// Returns true if the fields of a part are there. Those that a router alone knows are not.
    pub const fn has(self, part: Part) -> bool {
        match part {
            Part::Plain => true,
            Part::Loss => self.loss,
            Part::Headers => self.headers,
            Part::Sampling => false,
        }
    }

    /// Adds the fields of a part.
    pub const fn add(&mut self, part: Part) {
        match part {
            Part::Loss => self.loss = true,
            Part::Headers => self.headers = true,
            Part::Plain | Part::Sampling => {}
        }
    }

    /// Returns the parts that all of these have: every part where there are none of them.
    pub fn common(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::ALL, |common, parts| Self {
            loss: common.loss && parts.loss,
            headers: common.headers && parts.headers,
        })
    }
}
