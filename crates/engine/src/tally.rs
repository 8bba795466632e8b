//! Structures that count packets instead of flow tables: sketches, as in the designs of Wu et al. (2016).

use packet::Bursts;
use std::fmt::Debug;

/// What one worker counts its packets in. Separate state is one structure for each worker, to be merged by whoever made
/// them; shared state is one that all of them refer to.
pub trait Tally: Debug + Send {
    /// Counts parsed packets. Their hashes are by the run's seed.
    fn count(&mut self, bursts: &Bursts);
    /// Nothing comes any more.
    fn end(self: Box<Self>);
}
