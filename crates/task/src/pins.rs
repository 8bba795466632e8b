//! The flows that queries pin by their filters, so that what is too dear for all flows is measured of these alone.

use crate::query::{Comparison, Condition, Expression, Query};
use crate::rows::{PlanContext, Refusal, ZoomOffer};
use flow::{MAX_ROW_STATISTICS, Statistic};
use packet::{Network, Pin, Pins};
use std::sync::Arc;

/// The flows that a filter lets through at the most, as pins of which each has one; `None` if it does not pin a port or an address
/// by constants. More than [`Pins::MOST`] are given where the filter names more.
pub fn pins_of(filter: &Condition) -> Option<Vec<Pin>> {
    alternatives(filter).filter(|pins| pins.iter().all(Pin::is_narrow))
}

/// The flows that queries pin of which the site measures more than of others; `None` if no query needs that.
///
/// # Errors
/// Returns all refusals, each with the name of its query.
pub(crate) fn collect_pins<'a>(
    queries: impl Iterator<Item = &'a Query>,
    site: &PlanContext,
) -> Result<Option<Arc<Pins>>, Vec<(String, Refusal)>> {
    let mut refusals = Vec::new();
    let mut pinned: Option<Pins> = None;
    for query in queries.filter(|query| site.tracked_flow_field(query).is_some()) {
        // What pins nothing was refused before.
        let own = query.filter.as_ref().and_then(pins_of).unwrap_or_default();
        let before = pinned.iter().flat_map(Pins::iter).copied();
        match Pins::new(before.chain(own), site.seed) {
            Ok(all) => pinned = Some(all),
            Err(error) => refusals.push((query.name.clone(), Refusal::Pins { error })),
        }
    }
    if refusals.is_empty() { Ok(pinned.map(Arc::new)) } else { Err(refusals) }
}

/// The statistics of packets that queries read of the rows of a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatisticsRead {
    /// True if any is among those that rows of all flows have ([`PlanContext::row_statistics`]).
    pub(crate) of_all: bool,
    /// Those of pinned flows, each once.
    pub(crate) of_pinned: Vec<Statistic>,
}

/// The statistics of packets that queries read.
///
/// # Errors
/// Returns all refusals, each with the name of its query.
pub(crate) fn statistics<'a>(
    queries: impl Iterator<Item = &'a Query>,
    site: &PlanContext,
) -> Result<StatisticsRead, Vec<(String, Refusal)>> {
    let mut refusals = Vec::new();
    let mut read = StatisticsRead::default();
    for query in queries {
        let mut own = query.statistics();
        // Where no flows are followed, the plan refuses what not all flows have.
        own.retain(|statistic| site.is_of_all_flows(statistic) || site.tracked_flows == ZoomOffer::Offered);
        let before = refusals.len();
        let refused = own.iter().filter_map(|statistic| site.refused_statistic(query, statistic));
        refusals.extend(refused.map(|refusal| (query.name.clone(), refusal)));
        read.of_all |= own.iter().any(|statistic| site.is_of_all_flows(statistic));
        own.retain(|statistic| !site.is_of_all_flows(statistic) && !read.of_pinned.contains(statistic));
        if site.row_statistics.len() + read.of_pinned.len() + own.len() > MAX_ROW_STATISTICS {
            refusals.push((query.name.clone(), Refusal::TooManyStatistics { most: MAX_ROW_STATISTICS }));
        }
        if refusals.len() == before {
            read.of_pinned.extend(own);
        }
    }
    if refusals.is_empty() { Ok(read) } else { Err(refusals) }
}

/// Pins of which each flow has one that the condition is true for; `None` if that is not known.
fn alternatives(condition: &Condition) -> Option<Vec<Pin>> {
    match condition {
        Condition::And(parts) => {
            let mut known: Vec<_> = parts.iter().filter_map(alternatives).collect();
            known.sort_by_key(Vec::len);
            known.into_iter().reduce(all)
        }
        Condition::Or(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(alternatives).collect();
            parts.map(|parts| parts.concat())
        }
        Condition::Compare(Expression::Field(field), Comparison::Equal, Expression::Integer(value))
        | Condition::Compare(Expression::Integer(value), Comparison::Equal, Expression::Field(field)) => {
            pin_number(field, *value)
        }
        Condition::In(Expression::Field(field), values) => {
            let of = |value: &Expression| match value {
                Expression::Integer(value) => pin_number(field, *value),
                _ => None,
            };
            let values: Option<Vec<_>> = values.iter().map(of).collect();
            values.map(|values| values.concat())
        }
        Condition::InPrefixes(field, networks) => {
            let networks: Option<Vec<_>> =
                networks.iter().map(|network| pin_network(field, *network)).collect();
            networks.map(|networks| networks.concat())
        }
        Condition::Compare(..)
        | Condition::In(..)
        | Condition::Not(_)
        | Condition::Like(..)
        | Condition::IsNull(_) => None,
    }
}

/// Pins of flows that have one of each. Where that were too many, the first ones, which let more flows through.
fn all(one: Vec<Pin>, other: Vec<Pin>) -> Vec<Pin> {
    if one.len().saturating_mul(other.len()) > Pins::MOST {
        return one;
    }
    one.iter().flat_map(|one| other.iter().filter_map(|other| one.and(other))).collect()
}

/// A member of the key that is this number; none where it cannot be.
fn pin_number(field: &str, value: i64) -> Option<Vec<Pin>> {
    let port = |side: usize| {
        let mut pin = Pin::ANY;
        pin.ports[side] = Some(u16::try_from(value).ok()?);
        Some(pin)
    };
    match flow::resolve_alias(field).to_ascii_lowercase().as_str() {
        "src_port" => Some(port(0).into_iter().collect()),
        "dst_port" => Some(port(1).into_iter().collect()),
        "port" => Some([port(0), port(1)].into_iter().flatten().collect()),
        "protocol" => {
            let of = |protocol| Pin { protocol: Some(protocol), ..Pin::ANY };
            Some(u8::try_from(value).ok().map(of).into_iter().collect())
        }
        _ => None,
    }
}

fn pin_network(field: &str, network: Network) -> Option<Vec<Pin>> {
    let address = |side: usize| {
        let mut pin = Pin::ANY;
        pin.networks[side] = Some(network);
        pin
    };
    match flow::resolve_alias(field).to_ascii_lowercase().as_str() {
        "src_addr" => Some(vec![address(0)]),
        "dst_addr" => Some(vec![address(1)]),
        "addr" => Some(vec![address(0), address(1)]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
