//! Columns, merging and refusals of a plan by the executor, at a site of which only the flow key is known.

use crate::sketch::usual_run;
use arena::Limits;
use packet::{KeySpec, Seed};
use std::sync::Arc;
use task::query::{Across, Comparison, Condition, Over, Query};
use task::rows::{CountingOffer, Merging, PacketFieldPolicy, PlanContext, Refusal, RowQueries};
use task::{ChangingFields, Generation, TaskSet, refused_by_packets};

/// Names, kinds and units of the columns of the plan's answers. `key`: the fields of the flow key; the five-tuple where it is not
/// known.
///
/// # Errors
/// Returns why the executor cannot answer the plan.
pub fn columns(plan: &Query, key: Option<&[String]>) -> Result<Vec<model::Column>, Vec<String>> {
    if plan.counting.is_some() {
        return counted_columns(plan, key);
    }
    let plan = Query { over: Over::Window, ..plan.clone() };
    let site = site(&plan, key);
    match RowQueries::plan(Generation::default(), std::slice::from_ref(&plan), &site) {
        Ok(planned) => {
            // A run answers it by packets.
            let refused: Vec<String> =
                refused_by_packets(&plan, &site).iter().map(ToString::to_string).collect();
            if refused.is_empty() {
                Ok(planned.empty_answers().flat_map(|answer| answer.columns).collect())
            } else {
                Err(refused)
            }
        }
        Err(refused) => Err(refused.iter().map(|(_, refusal)| refusal.to_string()).collect()),
    }
}

/// Names, kinds and units of the columns of a plan whose packets are counted.
fn counted_columns(plan: &Query, key: Option<&[String]>) -> Result<Vec<model::Column>, Vec<String>> {
    let plan = Query { over: Over::Window, ..plan.clone() };
    let site = site(&plan, key);
    let counting = CountingOffer::Offered { run: usual_run(site.key, None), is_sampled: false };
    // The memory is checked where the structure is planned.
    let site = PlanContext { counting, limits: Limits::new(usize::MAX, 0), ..site };
    match TaskSet::plan(Generation::default(), &[plan], None, &site) {
        Ok(planned) => Ok(planned.empty_answers().flat_map(|answer| answer.columns).collect()),
        Err(refused) => Err(refused.iter().map(|(_, refusal)| refusal.to_string()).collect()),
    }
}

/// Returns the merging of the answers of several nodes to the plan. `key`: the fields of the flow key; the five-tuple where it is not known.
///
/// # Errors
/// The parts of the plan that cannot be merged.
pub fn merging(plan: &Query, by: Across, key: Option<&[String]>) -> Result<Merging, Vec<String>> {
    Merging::new(plan, by, &site(plan, key))
}

/// The fields by which a run tells the packets of one flow apart for the plan, and why rows of whole flows do not answer it, where they
/// do not. `key`: as in [`columns`].
pub(crate) fn by_packets(plan: &Query, key: Option<&[String]>) -> (Vec<String>, Option<String>) {
    let plan = Query { over: Over::Window, ..plan.clone() };
    let refused = |by_packets| {
        let site = PlanContext { changing: ChangingFields::NONE, by_packets, ..site(&plan, key) };
        let planned = RowQueries::plan(Generation::default(), std::slice::from_ref(&plan), &site);
        let field = |(_, refusal)| match refusal {
            Refusal::OfPackets { field, of_flow } => Some((field, of_flow)),
            _ => None,
        };
        planned.err().unwrap_or_default().into_iter().filter_map(field).collect::<Vec<_>>()
    };
    let fields = refused(PacketFieldPolicy::Refused).into_iter().map(|(field, _)| field).collect();
    let (packets, flows): (Vec<_>, Vec<_>) = refused(PacketFieldPolicy::Named).into_iter().unzip();
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

/// Returns what [`by_packets`] does for a plan that also filters by the fields that a firing pins.
pub(crate) fn by_packets_of_firing<'a>(
    plan: &Query,
    pinned: impl Iterator<Item = &'a str>,
    key: Option<&[String]>,
) -> (Vec<String>, Option<String>) {
    // Which values they are does not matter.
    let pinned = pinned.map(|field| Condition::compare(field, Comparison::Equal, 0));
    let filter = plan.filter.iter().cloned().chain(pinned).collect();
    by_packets(&Query { filter: Some(Condition::And(filter)), ..plan.clone() }, key)
}

/// Returns the reason why a query by packets cannot answer in the window that fired.
pub(crate) fn not_kept(query: &str, field: &str) -> String {
    format!(
        "{query} reads {field} of each packet, but of the window that fired nodes keep the rows of whole flows"
    )
}

/// Returns the advice for a query by packets that asks for the window that fired. `clause` is the clause that asks for it.
pub(crate) fn instead_of_kept(field: &str, clause: &str) -> String {
    let of_flow = flow::Field::named(field).and_then(|field| field.of_flow).unwrap_or_default();
    let later = match clause {
        "while" => "write 'when' instead of 'while'",
        _ => "remove 'in same window'",
    };
    let in_key = if KeySpec::parse(field).is_ok() { ", measure with it in --key," } else { "" };
    format!("ask for {of_flow}{in_key} or {later}: the query then answers in a later window")
}

/// A site whose rows have all that rows can have, with the statistics of packets that the plan reads.
fn site(plan: &Query, key: Option<&[String]>) -> PlanContext {
    let key = key.and_then(|key| KeySpec::parse(&key.join(",")).ok());
    PlanContext {
        tracked: flow::TrackedParts::ALL,
        statistics: plan.statistics().iter().map(ToString::to_string).collect(),
        // Runs answer by packets; recorded rows say what they lack when they are read.
        changing: ChangingFields::every(),
        // Whether a run has databases of addresses is checked when it begins.
        geo: Some(Arc::default()),
        ..PlanContext::new(key.unwrap_or(KeySpec::FIVE_TUPLE), Seed::new(0), Limits::new(0, 0))
    }
}
