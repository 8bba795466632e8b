//! The parts of a comparison of speed.

use super::contender::Contender;
use super::stream::Stream;
use serde_json::Value;

/// The check that the answers about all flows are such as the structure promises.
pub(super) type Check = Box<dyn Fn(&dyn Contender, &Stream) -> bool>;

/// Contenders that do the same; the first is the plain one.
pub(super) struct Comparison {
    pub(super) params: Vec<(&'static str, Value)>,
    pub(super) contenders: Vec<Box<dyn Contender>>,
    pub(super) check: Check,
    /// The number of times as fast as the plain one that the others must be, if required.
    pub(super) asked_times: Option<f64>,
}
