//! What the tests of losses share: segments, paths, a model, and tshark's analysis.

pub(crate) mod differences;
pub(crate) mod model;
pub(crate) mod path;
pub(crate) mod talk;
pub(crate) mod tshark;
