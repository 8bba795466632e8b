//! The parts of a comparison of speed.

use super::contender::Contender;
use super::stream::SketchStream;
use serde_json::Value;

/// The check that the answers about all flows are such as the structure promises.
pub(super) type ContenderCheck = Box<dyn Fn(&dyn Contender, &SketchStream) -> bool>;

/// Contenders that do the same; the first is the plain one.
pub(super) struct SpeedComparison {
    pub(super) params: Vec<(&'static str, Value)>,
    pub(super) contenders: Vec<Box<dyn Contender>>,
    pub(super) check: ContenderCheck,
    /// The number of times as fast as the plain one that the others must be, if required.
    pub(super) asked_times: Option<f64>,
}
