//! From a query to the operations on each row.

use super::predicate::Test;
use super::query::{Aggregate, GroupField, RowQuery};
use super::refusal::Refusal;
use super::site::Site;
use flow::{Aggregation, Field, NULL, RowValue};
use packet::KeySpec;

/// Words of a group's key that are not of a flow key.
pub(crate) const MOST_EXTRAS: usize = 7;

/// A query prepared for the rows of a site.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) query: RowQuery,
    pub(crate) filter: Option<Test>,
    /// Columns that it reads.
    pub(crate) columns: Vec<RowValue>,
    pub(crate) grouping: Grouping,
    pub(crate) items: Vec<PlannedItem>,
    /// The state that a group begins with: the words of all items.
    pub(crate) initial: Vec<u64>,
}

/// How rows are grouped.
#[derive(Clone, Debug)]
pub(crate) enum Grouping {
    /// All are one group.
    All,
    /// Each is a group: the group is the whole flow key.
    Rows,
    /// By parts of their keys, and by values.
    Parts(Parts),
}

/// The parts of a group's key.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Members of the flow key as they are.
    pub(crate) plain: KeySpec,
    /// Members of the source's side, of the key in each of its directions: `addr`, `port`.
    pub(crate) either: Option<KeySpec>,
    /// The key without its direction.
    pub(crate) is_conversation: bool,
    pub(crate) extras: Vec<RowValue>,
}

impl Parts {
    /// The members that a group's key has, by the flow key's names.
    pub(crate) fn spec(&self) -> KeySpec {
        self.either.map_or(self.plain, |either| self.plain.with(&either))
    }
}

/// An item and its place in the state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedItem {
    pub(crate) kind: ItemKind,
    /// Its first word.
    pub(crate) at: usize,
}

/// The operation of an item on a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ItemKind {
    Sum(RowValue),
    SumOf([Option<RowValue>; 3]),
    Min(RowValue),
    Count,
    /// Two words: values counted, and rows whose values may or may not be new. Contains the number of the set
    /// of values.
    Distinct(usize, DistinctOf),
    /// Two words: the sum, and the number of round trips.
    MeanRoundTrip,
}

/// What distinct values are of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DistinctOf {
    Key(KeySpec),
    Column(RowValue),
}

/// Members of the flow key that are read from keys; the others are values of rows too.
const KEY_MEMBERS: [&str; 5] = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"];

impl Plan {
    /// Prepares a query.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn new(query: &RowQuery, site: &Site) -> Result<Self, Vec<Refusal>> {
        let mut refusals = Vec::new();
        let mut columns = Vec::new();
        let filter =
            query.filter.as_ref().and_then(|filter| Test::new(filter, site, &mut columns, &mut refusals));
        let grouping = grouping(&query.group, site).unwrap_or_else(|refusal| {
            refusals.push(refusal);
            Grouping::All
        });
        if let Grouping::Parts(parts) = &grouping {
            columns.extend(parts.extras.iter().copied());
        }
        let mut initial = Vec::new();
        let mut items = Vec::new();
        let mut sets = 0;
        for item in &query.items {
            let kind = match kind(&item.aggregate, site, &mut sets) {
                Ok(kind) => kind,
                Err(refusal) => {
                    refusals.push(refusal);
                    continue;
                }
            };
            items.push(PlannedItem { kind, at: initial.len() });
            match kind {
                ItemKind::Sum(column) => {
                    columns.push(column);
                    initial.push(0);
                }
                ItemKind::SumOf(parts) => {
                    columns.extend(parts.iter().flatten());
                    initial.push(0);
                }
                ItemKind::Min(column) => {
                    columns.push(column);
                    initial.push(NULL);
                }
                ItemKind::Count => initial.push(0),
                ItemKind::Distinct(_, of) => {
                    if let DistinctOf::Column(column) = of {
                        columns.push(column);
                    }
                    initial.extend([0, 0]);
                }
                ItemKind::MeanRoundTrip => {
                    columns.extend([RowValue::RttSum, RowValue::RttCount]);
                    initial.extend([0, 0]);
                }
            }
        }
        if query.items.is_empty() {
            refusals.push(Refusal::NoItems);
        }
        let is_missing = |at: &usize| *at >= query.items.len();
        refusals.extend(
            query
                .order
                .iter()
                .map(|order| order.item)
                .filter(is_missing)
                .map(|item| Refusal::NoSuchItem { item }),
        );
        let names =
            query.group.iter().map(|field| &field.field).chain(query.items.iter().map(|item| &item.name));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|names| names[0] == names[1]);
        refusals.extend(twice.map(|names| Refusal::SameName { name: names[0].clone() }));
        columns.sort_unstable_by_key(|column| *column as u8);
        columns.dedup();
        match refusals.is_empty() {
            true => Ok(Self { query: query.clone(), filter, columns, grouping, items, initial }),
            false => Err(refusals),
        }
    }

    /// Adds a state to another. Distinct counts are left to the sets of values, except for what is uncertain.
    pub(crate) fn merge_states(&self, state: &mut [u64], other: &[u64]) {
        for item in &self.items {
            let at = item.at;
            match item.kind {
                ItemKind::Sum(_) | ItemKind::SumOf(_) | ItemKind::Count => state[at] += other[at],
                ItemKind::Min(_) => state[at] = state[at].min(other[at]),
                ItemKind::MeanRoundTrip => {
                    state[at] += other[at];
                    state[at + 1] += other[at + 1];
                }
                ItemKind::Distinct(..) => state[at + 1] += other[at + 1],
            }
        }
    }

    /// Sets of distinct values.
    pub(crate) fn sets(&self) -> usize {
        self.items.iter().filter(|item| matches!(item.kind, ItemKind::Distinct(..))).count()
    }
}

fn grouping(fields: &[GroupField], site: &Site) -> Result<Grouping, Refusal> {
    if fields.is_empty() {
        return Ok(Grouping::All);
    }
    let lower: Vec<_> = fields.iter().map(|field| field.field.to_ascii_lowercase()).collect();
    let has = |name: &str| lower.iter().any(|field| field == name);
    let is_whole = |field: &GroupField| field.prefix.is_none();
    if fields.iter().all(is_whole)
        && site.key.columns().count() == fields.len()
        && site.key.columns().all(has)
    {
        return Ok(Grouping::Rows);
    }
    for (one, other) in [
        ("addr", "src_addr"),
        ("port", "src_port"),
        ("conversation", "addr"),
        ("conversation", "port"),
        ("conversation", "src_addr"),
        ("conversation", "dst_addr"),
        ("conversation", "src_port"),
        ("conversation", "dst_port"),
        ("conversation", "protocol"),
    ] {
        if has(one) && has(other) {
            return Err(Refusal::Conflict { field: one.to_owned(), other: other.to_owned() });
        }
    }
    let mut parts =
        Parts { plain: KeySpec::NOTHING, either: None, is_conversation: false, extras: Vec::new() };
    for (field, name) in fields.iter().zip(&lower) {
        let unusable = || Refusal::WrongType { field: field.field.clone() };
        let spec = |member: &str| {
            let text = match field.prefix {
                Some([v4, v6]) => format!("{member}/{v4}/{v6}"),
                None => member.to_owned(),
            };
            let spec = KeySpec::parse(&text).map_err(|_| unusable())?;
            // Where the run's keys have prefixes, a whole address is as much of it as they have.
            match (site.key.lacks(&spec), field.prefix) {
                (None, _) => Ok(spec),
                (Some(_), None) if site.needs(member).is_ok() => site.key.only(member).ok_or_else(unusable),
                _ => Err(Refusal::NotInKey { field: member.to_owned() }),
            }
        };
        match name.as_str() {
            "addr" | "port" => {
                let (source, destination) = match name.as_str() {
                    "addr" => ("src_addr", "dst_addr"),
                    _ => ("src_port", "dst_port"),
                };
                spec(destination)?;
                let side = spec(source)?;
                // An address of either end is one only where both ends have the same bits of it.
                if field.prefix.is_none()
                    && site.key.prefix_lengths(source) != site.key.prefix_lengths(destination)
                {
                    return Err(Refusal::NotInKey { field: name.clone() });
                }
                parts.either = Some(parts.either.map_or(side, |either| either.with(&side)));
            }
            "conversation" => {
                if field.prefix.is_some() {
                    return Err(unusable());
                }
                KEY_MEMBERS.iter().try_for_each(|member| site.needs(member))?;
                parts.is_conversation = true;
                parts.plain = KeySpec::FIVE_TUPLE;
            }
            member if KEY_MEMBERS.contains(&member) => parts.plain = parts.plain.with(&spec(member)?),
            _ if field.prefix.is_some() => return Err(unusable()),
            _ => parts.extras.push(site.column(&field.field)?),
        }
    }
    match parts.extras.len() {
        ..=MOST_EXTRAS => Ok(Grouping::Parts(parts)),
        _ => Err(Refusal::TooManyFields { most: MOST_EXTRAS }),
    }
}

fn kind(aggregate: &Aggregate, site: &Site, sets: &mut usize) -> Result<ItemKind, Refusal> {
    Ok(match aggregate {
        Aggregate::Count => ItemKind::Count,
        Aggregate::Sum(field) => ItemKind::Sum(summed(field, site)?),
        Aggregate::SumOf(fields) => {
            let mut parts = [None; 3];
            if fields.len() > parts.len() {
                return Err(Refusal::TooManyFields { most: parts.len() });
            }
            for (part, field) in parts.iter_mut().zip(fields) {
                *part = Some(summed(field, site)?);
            }
            ItemKind::SumOf(parts)
        }
        Aggregate::Min(field) => ItemKind::Min(site.column(field)?),
        Aggregate::MeanRoundTrip => site.column("rtt_avg").map(|_| ItemKind::MeanRoundTrip)?,
        Aggregate::CountDistinct(field) => {
            let name = field.to_ascii_lowercase();
            let of = match KEY_MEMBERS.contains(&name.as_str()) {
                true => {
                    site.needs(&name)?;
                    DistinctOf::Key(site.key.only(&name).ok_or(Refusal::NotInKey { field: name })?)
                }
                false => DistinctOf::Column(site.column(field)?),
            };
            *sets += 1;
            ItemKind::Distinct(*sets - 1, of)
        }
    })
}

/// The column of a field whose values add up.
fn summed(field: &str, site: &Site) -> Result<RowValue, Refusal> {
    let column = site.column(field)?;
    match Field::named(field).is_some_and(|field| field.aggregation == Aggregation::Sum) {
        true => Ok(column),
        false => Err(Refusal::WrongType { field: field.to_owned() }),
    }
}
