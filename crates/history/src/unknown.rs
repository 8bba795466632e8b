//! The part of a query that its rows do not tell: it is unknown in the answer, and the rest is answered.

use model::{Answer, Column, Value};
use task::Generation;
use task::query::{Expression, Grouping, Order, OutputColumn, Over, Query};
use task::rows::{PlanContext, RowQueries};

/// The columns of a query that are not read, and what becomes of an answer without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// The columns of the whole query.
    columns: Vec<Column>,
    /// The flags of the columns: true for those that are read.
    is_read: Vec<bool>,
    /// The columns whose totals over the groups that an answer leaves out are not known either.
    totals: Vec<String>,
    /// The values that groups were to be ordered by, and are not, by name.
    orders: Vec<String>,
}

/// The part of a query that rows tell, if they do not tell all of it: `is_told` says it of a query. `None` where they tell nothing of what it computes, or
/// not which rows and groups are its. `site`: rows that tell all of it, for the columns of its answers.
pub(crate) fn known(
    query: &Query,
    is_told: &dyn Fn(&Query) -> bool,
    site: &PlanContext,
) -> Option<(Query, Unknown)> {
    if query.group == Grouping::Flows {
        return None;
    }
    let alone = |column: OutputColumn| Query { columns: vec![column], order: Vec::new(), ..query.clone() };
    // Fields that are grouped by, and the conditions on rows and groups, have to be told.
    let is_value_told = |value: &Expression| is_told(&alone(OutputColumn::new("value", value.clone())));
    let is_read: Vec<bool> = query.columns.iter().map(|column| is_value_told(&column.value)).collect();
    let read = query.columns.iter().zip(&is_read).filter(|(_, is_read)| **is_read);
    let read: Vec<OutputColumn> = read.map(|(column, _)| column.clone()).collect();
    let (order, unknown): (Vec<Order>, Vec<Order>) =
        asked_order(query).into_iter().partition(|order| is_value_told(&order.by));
    let name = |order: &Order| {
        let column = query.columns.iter().find(|column| column.value == order.by);
        column.map_or_else(|| "what is asked for".to_owned(), |column| column.name.clone())
    };
    let orders = unknown.iter().map(name).collect();
    let known = Query { columns: read, order, ..query.clone() };
    let is_some_use = !known.aggregates().is_empty() && is_told(&known);
    let columns = is_some_use.then(|| columns(query, site)).flatten()?;
    let is_total = |value: &Expression| matches!(value, Expression::Aggregate(of) if of.meaning().is_total());
    let not_read = query.columns.iter().zip(&is_read).filter(|(_, is_read)| !**is_read);
    let totals = not_read.filter(|(column, _)| is_total(&column.value));
    let totals = totals.map(|(column, _)| column.name.clone()).collect();
    (columns.len() == is_read.len()).then_some((known, Unknown { columns, is_read, totals, orders }))
}

/// Returns what groups are ordered by: by the first aggregate where the query does not say it.
fn asked_order(query: &Query) -> Vec<Order> {
    if !query.order.is_empty() || query.group == Grouping::All {
        return query.order.clone();
    }
    let first = query.columns.iter().find(|column| {
        matches!(column.value, Expression::Aggregate(_) | Expression::Arithmetic(..))
            && !is_list(&column.value)
    });
    first.map(|column| Order::largest(column.value.clone())).into_iter().collect()
}

fn is_list(value: &Expression) -> bool {
    matches!(value, Expression::Aggregate(of) if of.meaning().heaviest().is_some())
}

/// The columns of a query.
fn columns(query: &Query, site: &PlanContext) -> Option<Vec<Column>> {
    let query = Query { over: Over::Run, ..query.clone() };
    let plan = RowQueries::plan(Generation::default(), &[query], site).ok()?;
    let answer = plan.recorded().finish(&plan, None).pop()?;
    Some(answer.columns)
}

impl Unknown {
    /// Puts the columns that were not read into an answer, in which their values are not known.
    pub(crate) fn restore(&self, answer: &mut Answer) {
        answer.columns.clone_from(&self.columns);
        for row in &mut answer.rows {
            let mut read = std::mem::take(row).into_iter();
            let value = |is_read: &bool| if *is_read { read.next().unwrap_or_default() } else { Value::Null };
            *row = self.is_read.iter().map(value).collect();
        }
        if answer.rest.groups != 0 {
            answer.rest.totals.extend(self.totals.iter().map(|name| (name.clone(), Value::Null)));
        }
    }

    /// Returns true if an answer is one of those that lack columns.
    pub(crate) fn is_of(&self, answer: &Answer) -> bool {
        answer.columns.len() == self.is_read.iter().filter(|is_read| **is_read).count()
    }

    /// Returns what is not known, in words.
    pub(crate) fn words(&self) -> String {
        let names: Vec<&str> = self.names().collect();
        let orders = self.orders.join(", ");
        match (names.is_empty(), orders.is_empty()) {
            (false, true) => format!("{} not known", names.join(", ")),
            (false, false) => {
                format!("{} not known, so that groups are not in the order of {orders}", names.join(", "))
            }
            (true, _) => format!("groups are not in the order of {orders}, which is not known"),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let unknown = self.columns.iter().zip(&self.is_read).filter(|(_, is_read)| !**is_read);
        unknown.map(|(column, _)| column.name.as_str())
    }
}
