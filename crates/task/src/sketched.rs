//! Tasks that answer queries from packets, or the reasons why no structure can.

use crate::query::{
    Aggregate, Comparison, Condition, Expression, GroupField, Grouping, Order, Over, Query, ValueWeight,
};
use crate::rows::{CountingOffer, PlanContext, Refusal};
use crate::shape::{ColumnOf, Shape, ShapedColumn};
use crate::spec::MOST_ROWS;
use crate::{Size, Structure, TaskSpec, Tasks};
use packet::KeySpec;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The way in which the packets of a query are to be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counting {
    /// The structure; `None` for the planner's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Structure>,
    /// The size of the structure.
    #[serde(default)]
    pub size: Size,
    /// The number of the structure's rows, where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// The number of counters of a row, where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// Packets that a window is expected to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
}

/// A part of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryClause {
    /// The columns that are selected.
    Columns,
    /// The condition on rows.
    Filter,
    /// The grouping of rows.
    Group,
    /// The condition on groups.
    Having,
    /// The order of groups.
    Order,
    /// The number of groups.
    Limit,
    /// The time that an answer covers.
    Over,
    /// The window in which the query answers.
    Window,
    /// The way in which packets are counted.
    Counting,
}

/// The reason why no structure answers a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSketched {
    /// The part that none can answer.
    pub part: QueryClause,
    /// The reason, on one line.
    pub reason: String,
}

impl fmt::Display for NotSketched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for NotSketched {}

fn refused<T>(part: QueryClause, reason: impl Into<String>) -> Result<T, NotSketched> {
    Err(NotSketched { part, reason: reason.into() })
}

/// The task that answers a query in a run whose flows have this key. Its answers have the query's name and columns.
///
/// # Errors
/// The first part that no structure answers, and why.
pub fn task_of(query: &Query, counting: &Counting, key: &KeySpec) -> Result<TaskSpec, NotSketched> {
    if query.filter.is_some() {
        return refused(QueryClause::Filter, "structures count all packets, without a condition on them");
    }
    if matches!(query.over, Over::Windows { every_ns, over_ns } if every_ns != over_ns) {
        return refused(
            QueryClause::Over,
            "structures count each window by itself, so that windows cannot overlap",
        );
    }
    let figure = the_figure(query)?;
    let mut options = match &query.group {
        Grouping::Flows => {
            return refused(
                QueryClause::Columns,
                "a structure counts groups, and without groupby each flow is a row",
            );
        }
        Grouping::All => sketch_all(query, figure, key)?,
        Grouping::By(fields) => sketch_groups(query, figure, fields, key)?,
    };
    options.extend(counting.options());
    let (kind, options) = (options.remove(0), options.join(","));
    let task: TaskSpec = match format!("{kind}:{options}").parse() {
        Ok(task) => task,
        Err(error) => return refused(QueryClause::Counting, error.to_string()),
    };
    let columns = columns(query, figure)?;
    Ok(task.into_query_task(Shape { name: query.name.clone(), columns }))
}

/// Adds the tasks that count packets for queries to those of a run, within half of the site's memory.
///
/// # Errors
/// All refusals, each with the name of its query.
pub(crate) fn with_queries(
    tasks: Option<Tasks>,
    queries: &[&Query],
    site: &PlanContext,
) -> Result<Option<Tasks>, Vec<(String, Refusal)>> {
    let (mut tasks, mut refusals) = (tasks, Vec::new());
    for query in queries {
        match with_query(tasks.as_ref(), query, site) {
            Ok(with) => tasks = Some(with),
            Err(why) => refusals.push((query.name.clone(), Refusal::NotCounted { why })),
        }
    }
    if refusals.is_empty() { Ok(tasks) } else { Err(refusals) }
}

/// Adds the task that counts packets for a query to others.
fn with_query(tasks: Option<&Tasks>, query: &Query, site: &PlanContext) -> Result<Tasks, String> {
    let (run, is_sampled) = match &site.counting {
        CountingOffer::None => return Err("only rows are there, which do not tell packets".to_owned()),
        CountingOffer::NotPossible(why) => return Err(why.clone()),
        CountingOffer::Offered { run, is_sampled } => (run, *is_sampled),
    };
    if let Over::Windows { every_ns, .. } = query.over
        && site.window_ns != Some(every_ns)
    {
        let own = site.window_ns.map_or("a number of packets".to_owned(), notation::time_text);
        let asked = notation::time_text(every_ns);
        return Err(format!("packets are counted in each window of the run, {own}, not every {asked}"));
    }
    let counting = query.counting.unwrap_or_default();
    let task = task_of(query, &counting, &site.key).map_err(|refused| refused.reason)?;
    if let Some(why) = task.why_not_sampled().filter(|_| is_sampled) {
        return Err(why);
    }
    let own =
        |reason: String| reason.strip_prefix(&format!("{task}: ")).map_or(reason.clone(), str::to_owned);
    let with = Tasks::with_query(tasks, &task, run).map_err(own)?;
    let (bytes, most) = (with.bytes(run.workers), site.limits.bytes_allowed() / 2);
    if bytes > most {
        let [bytes, most] = [bytes, most].map(notation::size_text);
        return Err(format!(
            "with it, what counts packets takes {bytes} for {} workers, and half of the node's memory is {most}: give the structure \
             less memory, or the node more",
            run.workers
        ));
    }
    Ok(with)
}

impl Counting {
    /// Returns the options of a task that counts like this.
    fn options(&self) -> impl Iterator<Item = String> {
        let size = match self.size {
            Size::Usual => None,
            Size::Memory(bytes) => Some(format!("memory={}", notation::size_text(bytes).replace(' ', ""))),
            Size::ErrorPpm(ppm) => Some(format!("error={}%", f64::from(ppm) / 10_000.0)),
        };
        let size = size.map(|size| size.replace("bytes", "B"));
        let structure = self.structure.map(|structure| format!("structure={}", structure.name()));
        let packets = self.packets.map(|packets| format!("packets={packets}"));
        let depth = self.depth.map(|depth| format!("depth={depth}"));
        let width = self.width.map(|width| format!("width={width}"));
        structure.into_iter().chain(size).chain(depth).chain(width).chain(packets)
    }
}

/// The one aggregate of a query.
fn the_figure(query: &Query) -> Result<&Aggregate, NotSketched> {
    match query.aggregates()[..] {
        [one] => Ok(one),
        [] => refused(QueryClause::Columns, "a structure counts one aggregate, and the query has none"),
        _ => refused(
            QueryClause::Columns,
            "a structure counts one aggregate, and the query has several: make each a query of its own",
        ),
    }
}

/// Returns the weight of packets where this field is added up.
fn weight_of(field: &str) -> Result<&'static str, NotSketched> {
    match flow::resolve_alias(field) {
        "total_count" => Ok("packets"),
        "total_byte" => Ok("bytes"),
        other => refused(
            QueryClause::Columns,
            format!("structures add up packets (total_count) and bytes (total_byte), not {other}"),
        ),
    }
}

/// A query without groups.
fn sketch_all(query: &Query, figure: &Aggregate, key: &KeySpec) -> Result<Vec<String>, NotSketched> {
    if query.having.is_some() {
        return refused(QueryClause::Having, "the figure of a whole window has no condition");
    }
    match figure {
        Aggregate::Entropy(field, weight) => {
            no_nulls(field)?;
            let by = match weight {
                ValueWeight::Sum(field) => weight_of(field)?,
                ValueWeight::Rows => {
                    return refused(QueryClause::Columns, "structures count packets, not flows");
                }
            };
            let of = key_text(std::slice::from_ref(field), key, QueryClause::Columns)?;
            Ok(vec!["entropy".to_owned(), format!("key={of}"), format!("by={by}")])
        }
        Aggregate::Sum(_) => {
            refused(QueryClause::Columns, "a total has no groups that a structure would count")
        }
        Aggregate::CountDistinct(field) => {
            no_nulls(field)?;
            let of = key_text(std::slice::from_ref(field), key, QueryClause::Columns)?;
            Ok(vec!["distinct".to_owned(), format!("of={of}")])
        }
        other => Err(not_counted(other)),
    }
}

/// A query of groups.
fn sketch_groups(
    query: &Query,
    figure: &Aggregate,
    fields: &[GroupField],
    key: &KeySpec,
) -> Result<Vec<String>, NotSketched> {
    let groups = key_text(fields, key, QueryClause::Group)?;
    let mut options = match figure {
        Aggregate::Sum(of) => {
            let Expression::Field(field) = &**of else {
                return refused(
                    QueryClause::Columns,
                    "structures add up a field, not what is computed of several",
                );
            };
            vec!["heavy-hitters".to_owned(), format!("key={groups}"), format!("by={}", weight_of(field)?)]
        }
        Aggregate::CountDistinct(field) => {
            no_nulls(field)?;
            let of = key_text(std::slice::from_ref(field), key, QueryClause::Columns)?;
            vec!["super-spreaders".to_owned(), format!("key={groups}"), format!("of={of}")]
        }
        Aggregate::Entropy(..) => {
            return refused(
                QueryClause::Group,
                "a structure has the entropy of a whole window, not of groups",
            );
        }
        other => return Err(not_counted(other)),
    };
    largest_first(&query.order, figure)?;
    let least = query.having.as_ref().map(|having| least(having, figure)).transpose()?;
    if let Some(least) = least {
        options.push(format!("count={}", least.max(1)));
    }
    match query.limit {
        Some(limit) if limit > MOST_ROWS => {
            return refused(
                QueryClause::Limit,
                format!("an answer of a structure has {MOST_ROWS} rows at most"),
            );
        }
        Some(limit) => options.push(format!("top={limit}")),
        None if least.is_none() => options.push(format!("top={MOST_ROWS}")),
        None => {}
    }
    Ok(options)
}

/// Returns the reason why this aggregate is in no structure.
fn not_counted(aggregate: &Aggregate) -> NotSketched {
    let reason = aggregate.planning().not_sketched();
    NotSketched { part: QueryClause::Columns, reason: reason.to_owned() }
}

/// Queries ignore nulls, structures count them.
fn no_nulls(field: &GroupField) -> Result<(), NotSketched> {
    match flow::resolve_alias(&field.field) {
        "vlan" => refused(
            QueryClause::Columns,
            "vlan may be null, which queries leave out here and structures count as a value",
        ),
        _ => Ok(()),
    }
}

/// Fields as the key of a task: with the prefixes of the run's key, unless they have their own.
fn key_text(fields: &[GroupField], key: &KeySpec, part: QueryClause) -> Result<String, NotSketched> {
    let text = |field: &GroupField| {
        let name = flow::resolve_alias(&field.field).to_ascii_lowercase();
        if !KeySpec::field_names().any(|known| known == name) {
            let known: Vec<_> = KeySpec::field_names().collect();
            return refused(part, format!("structures count packets by {}, not by {name}", known.join(", ")));
        }
        Ok(match field.prefix.or(key.prefix_lengths(&name)) {
            None | Some([32, 128]) => name,
            Some([v4, v6]) => format!("{name}/{v4}/{v6}"),
        })
    };
    let texts = fields.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(texts.join("+"))
}

/// Structures know the largest.
fn largest_first(order: &[Order], figure: &Aggregate) -> Result<(), NotSketched> {
    let is_it = |by: &Expression| matches!(by, Expression::Aggregate(aggregate) if aggregate == figure);
    match order {
        [] => Ok(()),
        [Order { by, descending: true }, ..] if is_it(by) => match order {
            [_] => Ok(()),
            _ => refused(QueryClause::Order, "equal groups of a structure are in the order of their keys"),
        },
        _ => refused(QueryClause::Order, "structures know the largest groups: order by the aggregate, desc"),
    }
}

/// The least figure of groups in the answer.
fn least(having: &Condition, figure: &Aggregate) -> Result<u64, NotSketched> {
    let is_it = |value: &Expression| matches!(value, Expression::Aggregate(aggregate) if aggregate == figure);
    let found = match having {
        Condition::And(of) if of.len() == 1 => return least(&of[0], figure),
        Condition::Compare(value, Comparison::Greater, Expression::Integer(than)) if is_it(value) => {
            Some(than.saturating_add(1))
        }
        Condition::Compare(value, Comparison::GreaterOrEqual, Expression::Integer(least)) if is_it(value) => {
            Some(*least)
        }
        _ => None,
    };
    match found {
        // All groups have that.
        Some(least) => Ok(u64::try_from(least).unwrap_or(0)),
        None => refused(
            QueryClause::Having,
            "structures know groups above a threshold: compare the aggregate by > or >= with a whole number",
        ),
    }
}

/// The query's columns.
fn columns(query: &Query, figure: &Aggregate) -> Result<Vec<ShapedColumn>, NotSketched> {
    let column = |item: &crate::query::OutputColumn| {
        let of = match &item.value {
            Expression::Aggregate(aggregate) if aggregate == figure => ColumnOf::Figure,
            Expression::Field(field) if is_group(query, field) => {
                ColumnOf::Member(flow::resolve_alias(field).to_ascii_lowercase())
            }
            _ => {
                return refused(
                    QueryClause::Columns,
                    format!("{} is neither a group nor the aggregate itself", item.name),
                );
            }
        };
        Ok(ShapedColumn { name: item.name.clone(), of })
    };
    query.columns.iter().map(column).collect()
}

/// True for a field that the query groups by.
fn is_group(query: &Query, field: &str) -> bool {
    let is_it = |group: &GroupField| {
        flow::resolve_alias(&group.field).eq_ignore_ascii_case(flow::resolve_alias(field))
    };
    matches!(&query.group, Grouping::By(fields) if fields.iter().any(is_it))
}

#[cfg(test)]
mod tests;
