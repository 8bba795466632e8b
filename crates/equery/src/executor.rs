//! What the executor makes of a plan, at a site of which only the flow key is known.

use packet::{KeySpec, Seed};
use std::sync::Arc;
use summary::Limits;
use task::query::{Across, Over, Query};
use task::rows::{ByPackets, Merging, Refusal, RowQueries, Site};
use task::{ChangingFields, Generation};

/// Names, kinds and units of the columns of the plan's answers. `key`: the fields of the flow key; the five-tuple where it is not
/// known.
///
/// # Errors
/// Why the executor cannot answer the plan.
pub fn columns(plan: &Query, key: Option<&[String]>) -> Result<Vec<report::Column>, Vec<String>> {
    let plan = Query { over: Over::Window, ..plan.clone() };
    match RowQueries::plan(Generation::default(), std::slice::from_ref(&plan), &site(&plan, key)) {
        Ok(planned) => Ok(planned.empty_answers().flat_map(|answer| answer.columns).collect()),
        Err(refused) => Err(refused.iter().map(|(_, refusal)| refusal.to_string()).collect()),
    }
}

/// How answers of several nodes to the plan become one. `key`: the fields of the flow key; the five-tuple where it is not known.
///
/// # Errors
/// What of the plan cannot be merged.
pub fn merging(plan: &Query, by: Across, key: Option<&[String]>) -> Result<Merging, Vec<String>> {
    Merging::new(plan, by, &site(plan, key))
}

/// The fields by which a run tells the packets of one flow apart for the plan, and why rows of whole flows do not answer it, where they
/// do not. `key`: as in [`columns`].
pub(crate) fn by_packets(plan: &Query, key: Option<&[String]>) -> (Vec<String>, Option<String>) {
    let plan = Query { over: Over::Window, ..plan.clone() };
    let refused = |by_packets| {
        let site = Site { changing: ChangingFields::NONE, by_packets, ..site(&plan, key) };
        let planned = RowQueries::plan(Generation::default(), std::slice::from_ref(&plan), &site);
        let field = |(_, refusal)| match refusal {
            Refusal::OfPackets { field, of_flow } => Some((field, of_flow)),
            _ => None,
        };
        planned.err().unwrap_or_default().into_iter().filter_map(field).collect::<Vec<_>>()
    };
    let fields = refused(ByPackets::Refused).into_iter().map(|(field, _)| field).collect();
    let (packets, flows): (Vec<_>, Vec<_>) = refused(ByPackets::Named).into_iter().unzip();
    let why = (!packets.is_empty()).then(|| {
        let may_be_in_key = packets.iter().all(|field| packet::KeySpec::parse(field).is_ok());
        format!(
            "the table of rows does not have {} of each packet: ask for {}{}",
            packets.join(", "),
            flows.join(", "),
            if may_be_in_key { ", or measure with it in --key" } else { "" }
        )
    });
    (fields, why)
}

/// A site whose rows have all that rows can have, with the statistics of packets that the plan reads.
fn site(plan: &Query, key: Option<&[String]>) -> Site {
    let key = key.and_then(|key| KeySpec::parse(&key.join(",")).ok());
    Site {
        tracks_loss: true,
        statistics: plan.statistics().iter().map(ToString::to_string).collect(),
        // Runs answer by packets; recorded rows say what they lack when they are read.
        changing: ChangingFields::every(),
        // Whether a run has databases of addresses is checked when it begins.
        geo: Some(Arc::default()),
        ..Site::new(key.unwrap_or(KeySpec::FIVE_TUPLE), Seed::new(0), Limits::new(0, 0))
    }
}
