//! The ways in which values of a field are merged.

/// The rule that merges a field's values in several packets or records of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregation {
    /// The common value: the field is part of the flow key.
    Key,
    /// The value in the first packet.
    First,
    /// The value in the last packet.
    Last,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The sum of the values.
    Sum,
    /// The bitwise OR of the values.
    Or,
    /// The one value that all of them have; null where they differ.
    Same,
    /// The mean of the samples.
    Mean,
    /// The value that all records of one observation point share.
    Constant,
}

impl Aggregation {
    /// The name that `edison fields` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::First => "first",
            Self::Last => "last",
            Self::Min => "min",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Or => "or",
            Self::Same => "same",
            Self::Mean => "mean",
            Self::Constant => "constant",
        }
    }
}
