//! Structures that count packets instead of flow tables: sketches, as in the designs of Wu et al. (2016).

use packet::Bursts;
use std::fmt::Debug;

/// The structure in which one worker counts its packets. Separate state is one structure for each worker, to
/// be merged by the caller; shared state is one structure that all of them refer to.
pub trait Tally: Debug + Send {
    /// Counts parsed packets. Their hashes use the run's seed.
    fn count(&mut self, bursts: &Bursts);
    /// Ends the tally: no more packets follow.
    fn end(self: Box<Self>);
}
