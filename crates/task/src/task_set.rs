//! All that a run answers at one time.

use crate::rows::{Refusal, RowQueries, RowQuery, Site};
use crate::{Generation, Tasks};

/// Queries over window rows, and tasks that count packets: what is answered of each window, as one set of one generation.
#[derive(Clone, Debug)]
pub struct TaskSet {
    rows: RowQueries,
    packets: Option<Tasks>,
}

impl TaskSet {
    /// Plans queries over the rows of a site, and adds tasks that are planned already.
    ///
    /// # Errors
    /// All refusals, each with the name of its query.
    pub fn plan(
        generation: Generation,
        queries: &[RowQuery],
        packets: Option<Tasks>,
        site: &Site,
    ) -> Result<Self, Vec<(String, Refusal)>> {
        let packets = packets.map(|tasks| tasks.of_generation(generation));
        Ok(Self { rows: RowQueries::plan(generation, queries, site)?, packets })
    }

    /// The number of this set.
    pub fn generation(&self) -> Generation {
        self.rows.generation()
    }

    /// The queries over rows.
    pub fn rows(&self) -> &RowQueries {
        &self.rows
    }

    /// The tasks that count packets.
    pub fn packets(&self) -> Option<&Tasks> {
        self.packets.as_ref()
    }
}
