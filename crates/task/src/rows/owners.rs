//! The groups that rows are added to.

/// Number of the group that all rows are in.
pub(crate) const ALL: u64 = 0;

/// The groups of some rows.
pub(crate) trait Owners {
    /// The state of the group of the row at this place, and the group's number.
    fn owner(&mut self, place: usize) -> (&mut [u64], u64);
}

/// All rows are one group.
pub(crate) struct OneState<'a>(pub(crate) &'a mut [u64]);

impl Owners for OneState<'_> {
    #[inline(always)]
    fn owner(&mut self, _: usize) -> (&mut [u64], u64) {
        (self.0, ALL)
    }
}
