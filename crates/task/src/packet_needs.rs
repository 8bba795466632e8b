//! Questions by fields in which the packets of a flow may differ, and the questions that they become where only rows of flows are there.

use crate::changing_fields::ChangingFields;
use crate::query::{Aggregate, Condition, Expression, Grouping, Query};
use crate::rows::{PacketFieldPolicy, PlanContext, Refusal};
use flow::{Aggregation, Derived, DerivedField, Field};

/// The fields by which a query tells packets apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// The fields that the query groups by.
    pub(crate) grouped: ChangingFields,
    /// The fields that its filter reads.
    pub(crate) filtered: ChangingFields,
    /// The fields that its aggregates read: a query counts their values, ranks them, or asks for the least or the greatest.
    pub(crate) aggregated: ChangingFields,
}

/// The field of this name as a set: empty where packets of a flow do not differ in it at the site.
fn one(name: &str, site: &PlanContext) -> ChangingFields {
    ChangingFields::one(name).filter(|_| !is_of_key(name, site)).unwrap_or_default()
}

/// The fields that an aggregate reads of each packet.
pub(crate) fn read_by(aggregate: &Aggregate, site: &PlanContext) -> ChangingFields {
    aggregate.fields().iter().fold(ChangingFields::NONE, |read, name| read.with(one(name, site)))
}

impl Needs {
    /// Returns the needs of a query at a site whose keys may have some of the fields.
    pub(crate) fn from_query(query: &Query, site: &PlanContext) -> Self {
        let mut needs = Self::default();
        if let Grouping::By(fields) = &query.group {
            fields.iter().for_each(|field| needs.grouped = needs.grouped.with(one(&field.field, site)));
        }
        for aggregate in query.aggregates() {
            // Others are refused, whatever rows are there.
            if refuse_weighing(aggregate, site).is_ok() {
                needs.aggregated = needs.aggregated.with(read_by(aggregate, site));
            }
        }
        let parts = query.filter.as_ref().map(parts).unwrap_or_default();
        for part in parts {
            // What any packet of a flow had is the flow's, where the question is not by packets anyway.
            let is_packets =
                |name: &String| Field::named(name).is_some_and(|field| field.aggregation != Aggregation::Or);
            let read = part.fields().into_iter().filter(is_packets);
            needs.filtered = read.fold(needs.filtered, |needed, name| needed.with(one(&name, site)));
        }
        needs
    }

    pub(crate) fn all(&self) -> ChangingFields {
        self.grouped.with(self.filtered).with(self.aggregated)
    }
}

/// The conditions that must all hold.
pub(crate) fn parts(condition: &Condition) -> Vec<&Condition> {
    match condition {
        Condition::And(of) => of.iter().flat_map(parts).collect(),
        other => vec![other],
    }
}

/// The query as rows of whole flows answer it, where those are all there is: names for what a flow has (`first_vlan`) become the fields,
/// and columns of groups that are by packets say what they are.
///
/// # Errors
/// A filter, or an aggregate, that only packets can answer, or that not even these do.
pub(crate) fn rewrite_for_whole_flows(query: &Query, site: &PlanContext) -> Result<Query, Vec<Refusal>> {
    let needs = Needs::from_query(query, site);
    // Rows by packets do not tell what a whole flow has, and rows of flows have one column for both.
    if let (Some(by), Some(field)) = (needs.all().fields().next(), query.first_whole_flow_name()) {
        return Err(vec![Refusal::NotByPackets { field, by: by.name.to_owned() }]);
    }
    let lacking = needs.all().without(site.changing);
    let is_named = site.by_packets == PacketFieldPolicy::Named
        && needs.filtered.with(needs.aggregated).without(site.changing).is_empty();
    if !lacking.is_empty() && !is_named {
        let refused = |field: &Field| Refusal::OfPackets {
            field: field.name.to_owned(),
            of_flow: field.of_flow.unwrap_or_default().to_owned(),
        };
        return Err(lacking.fields().map(refused).collect());
    }
    if let Some(refusal) = apart(query, &needs, site) {
        return Err(vec![refusal]);
    }
    let mut query = query.clone();
    for field in lacking.fields() {
        let named = query.columns.iter_mut().filter(|column| {
            matches!(&column.value, Expression::Field(name) if Field::named(name) == Some(field))
                && Field::named(&column.name) == Some(field)
        });
        named.for_each(|column| field.of_flow.unwrap_or_default().clone_into(&mut column.name));
    }
    query.rename(&|name| {
        let derived = DerivedField::named(name).filter(|derived| derived.derived == Derived::OfFlow)?;
        derived.from.first().copied()
    });
    Ok(query)
}

/// Refuses sums, means and their like of fields in which packets of a flow may differ: rows do not say of how many packets a value is.
pub(crate) fn refuse_weighing(aggregate: &Aggregate, site: &PlanContext) -> Result<(), Refusal> {
    if aggregate.planning().takes_packets() {
        return Ok(());
    }
    let Some(field) = read_by(aggregate, site).fields().next() else { return Ok(()) };
    let of_flow = field.of_flow.unwrap_or_default().to_owned();
    Err(Refusal::Unweighed { function: aggregate.meaning().name(), field: field.name.to_owned(), of_flow })
}

/// Returns true if a field is of the key, or of the site.
pub(crate) fn is_of_key(name: &str, site: &PlanContext) -> bool {
    let own = Field::named(name).map_or(name, |field| field.name);
    site.key.columns().any(|column| column == own) || own == "node_id"
}

/// Refuses what rows of none of the passes tell: a value of packets and of whole flows in one aggregate, and aggregates of packets of the
/// flows that a filter selects.
fn apart(query: &Query, needs: &Needs, site: &PlanContext) -> Option<Refusal> {
    let is_of_flow = |name: &String| {
        let of_packets = ChangingFields::one(name).is_some_and(|one| one.without(needs.all()).is_empty());
        !of_packets && !is_of_key(name, site)
    };
    let filtered = query.filter.as_ref().map(parts).unwrap_or_default();
    let filtered = || filtered.iter().flat_map(|part| part.fields()).find(is_of_flow);
    for aggregate in query.aggregates() {
        let finer = read_by(aggregate, site).without(needs.grouped);
        let Some(field) = finer.fields().next().filter(|_| refuse_weighing(aggregate, site).is_ok()) else {
            continue;
        };
        let joins = aggregate.planning().joins_fields();
        let read = joins.then(|| aggregate.fields().into_iter().find(is_of_flow)).flatten();
        if let Some(other) = read.or_else(filtered) {
            return Some(Refusal::Apart { field: field.name.to_owned(), other });
        }
    }
    None
}
