//! What the executor makes of a plan, at a site of which only the flow key is known.

use packet::{KeySpec, Seed};
use std::sync::Arc;
use summary::Limits;
use task::Generation;
use task::query::{Over, Query};
use task::rows::{RowQueries, Site};

/// Names, kinds and units of the columns of the plan's answers. `key`: the fields of the flow key; the five-tuple where it is not
/// known. `statistics`: those of packets that rows have.
///
/// # Errors
/// Why the executor cannot answer the plan.
pub(crate) fn columns(
    plan: &Query,
    key: Option<&[String]>,
    statistics: &[String],
) -> Result<Vec<report::Column>, Vec<String>> {
    let key = key.and_then(|key| KeySpec::parse(&key.join(",")).ok());
    let site = Site {
        tracks_loss: true,
        statistics: statistics.to_vec(),
        // Whether a run has databases of addresses is checked when it begins.
        geo: Some(Arc::default()),
        ..Site::new(key.unwrap_or(KeySpec::FIVE_TUPLE), Seed::new(0), Limits::new(0, 0))
    };
    let plan = Query { over: Over::Window, ..plan.clone() };
    match RowQueries::plan(Generation::default(), &[plan], &site) {
        Ok(planned) => Ok(planned.empty_answers().flat_map(|answer| answer.columns).collect()),
        Err(refused) => Err(refused.iter().map(|(_, refusal)| refusal.to_string()).collect()),
    }
}
