//! Errors: the reasons why a structure cannot be made, or two cannot be merged.

use std::fmt;

/// The reason why a structure cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SketchError {
    /// A size outside the structure's range.
    Size {
        /// The structure.
        kind: &'static str,
        /// The name of the size: `width`, `depth`, `capacity`, …
        what: &'static str,
        /// The requested value.
        asked: usize,
        /// The least possible.
        least: usize,
        /// The greatest possible.
        most: usize,
    },
    /// A size that must be a power of something.
    NoPower {
        /// The structure.
        kind: &'static str,
        /// The name of the size.
        what: &'static str,
        /// The requested value.
        asked: usize,
        /// The base of which it must be a power.
        base: usize,
    },
    /// Less memory than the smallest one takes.
    TooLittleMemory {
        /// The structure.
        kind: &'static str,
        /// The memory that the structure may take, bytes.
        bytes: usize,
        /// The memory that the smallest one takes, bytes.
        least: usize,
    },
    /// The memory cannot be allocated.
    OutOfMemory {
        /// The requested value, bytes.
        bytes: usize,
    },
}

impl SketchError {
    /// Refuses a size outside of `least..=most`.
    pub(crate) fn check_size(
        kind: &'static str,
        what: &'static str,
        asked: usize,
        least: usize,
        most: usize,
    ) -> Result<(), Self> {
        let fits = (least..=most).contains(&asked);
        if fits { Ok(()) } else { Err(Self::Size { kind, what, asked, least, most }) }
    }
}

impl fmt::Display for SketchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Size { kind, what, asked, least, most } => {
                write!(f, "{kind}: a {what} of {asked} cannot be; it goes from {least} to {most}")
            }
            Self::NoPower { kind, what, asked, base } => {
                let below = base.pow(asked.ilog(base));
                let above = below.saturating_mul(base);
                write!(f, "{kind}: a {what} of {asked} cannot be; take a power of {base}: {below} or {above}")
            }
            Self::TooLittleMemory { kind, bytes, least } => {
                write!(f, "{kind}: {bytes} bytes are too little memory; it needs at least {least}")
            }
            Self::OutOfMemory { bytes } => {
                let mib = bytes.div_ceil(1 << 20);
                write!(f, "no {mib} MiB of memory for a sketch; make it smaller")
            }
        }
    }
}

impl std::error::Error for SketchError {}

/// Two structures were not made from the same configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmergeable {
    ours: String,
    theirs: String,
}

impl Unmergeable {
    /// Refuses configurations that differ.
    pub fn check<C: PartialEq + fmt::Display>(ours: &C, theirs: &C) -> Result<(), Self> {
        if ours == theirs {
            return Ok(());
        }
        Err(Self { ours: ours.to_string(), theirs: theirs.to_string() })
    }

    /// Creates the error for structures of two kinds, which are named like their configurations.
    pub fn new(ours: impl fmt::Display, theirs: impl fmt::Display) -> Self {
        Self { ours: ours.to_string(), theirs: theirs.to_string() }
    }
}

impl fmt::Display for Unmergeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, theirs } = self;
        if ours == theirs {
            // The seed is a secret, and the text form leaves nothing else out.
            return write!(
                f,
                "cannot merge {ours} with another {theirs}: their seeds differ; give both one seed"
            );
        }
        write!(f, "cannot merge {ours} with {theirs}; give both one configuration")
    }
}

impl std::error::Error for Unmergeable {}
