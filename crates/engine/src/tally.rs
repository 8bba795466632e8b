//! Structures that count packets in the place of flow tables: sketches, as the designs of Wu et al. (2016) have them.

use packet::{KeyBurst, KeyV4, KeyV6};
use std::fmt::Debug;

/// What one worker counts its packets in. Separate state is one structure for each worker, to be merged by whoever made
/// them; shared state is one that all of them refer to.
pub trait Tally: Debug + Send {
    /// Counts parsed packets. Their hashes are by the run's seed.
    fn count(&mut self, v4: &KeyBurst<KeyV4>, v6: &KeyBurst<KeyV6>);
    /// Nothing comes any more.
    fn end(self: Box<Self>);
}
