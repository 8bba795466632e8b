//! Plans as SQL over the table of window rows (`edison run --rows`), in DuckDB's dialect.
//!
//! Made from the plan, never from the text, so that it shows what is computed. Addresses are 16 bytes, IPv4 as `::ffff:0:0/96`.

mod expressions;

use expressions::{condition, either_ends, field, prefixed, quoted};
use task::query::{Aggregate, Condition, Expression, GroupField, Grouping, MOST_GROUPS, Over, Query, Weight};

/// What the rows are that a query reads.
#[derive(Clone, Copy, Debug)]
pub struct RowTable<'a> {
    /// The table, as it stands in `FROM`.
    pub name: &'a str,
    /// The fields of the flow key.
    pub key: &'a [String],
    /// The length of its windows, if known.
    pub base_window_ns: Option<u64>,
}

/// One step of a query.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SqlStep {
    /// What it does.
    pub step: String,
    /// The name of its result, which later steps read; the last one has none.
    pub name: Option<String>,
    /// How.
    pub sql: String,
}

/// A query as one statement.
pub fn sql(query: &Query, table: &RowTable<'_>) -> String {
    let steps = sql_steps(query, table);
    let named: Vec<_> = steps
        .iter()
        .filter_map(|step| Some(format!("{} AS (\n{}\n)", step.name.as_ref()?, step.sql)))
        .collect();
    let last = steps.last().map(|step| step.sql.as_str()).unwrap_or_default();
    format!("WITH {}\n{last};\n", named.join(", "))
}

/// A query step by step.
pub fn sql_steps(query: &Query, table: &RowTable<'_>) -> Vec<SqlStep> {
    let mut steps = Vec::new();
    let mut read = table.name.to_owned();
    if query.over != Over::Window {
        steps.push(SqlStep {
            step: "merge the rows of each flow over the query's window".to_owned(),
            name: Some("merged".to_owned()),
            sql: merged(query, table),
        });
        read = "merged".to_owned();
    }
    steps.push(SqlStep {
        step: "filter rows".to_owned(),
        name: Some("selected".to_owned()),
        sql: selected(query, &read),
    });
    let statement = Statement { query, seconds: seconds(query.over, table) };
    statement.side_steps(&mut steps);
    steps.push(SqlStep { step: statement.purpose(), name: None, sql: statement.answer() });
    steps
}

/// The filter of rows.
pub(crate) fn condition_text(of: &Condition) -> String {
    condition(of, &|name| field(name))
}

/// A condition on groups, with their fields by name.
pub(crate) fn group_condition_text(query: &Query, of: &Condition) -> String {
    let statement = Statement { query, seconds: "seconds".to_owned() };
    let value = |value: &Expression| statement.plain_value(value);
    expressions::condition_with(of, &|name| name.to_owned(), &value)
}

/// What groups are ordered by, with their fields by name.
pub(crate) fn order_text(query: &Query) -> String {
    let statement = Statement { query, seconds: "seconds".to_owned() };
    let text = |order: &task::query::Order| {
        format!("{}{}", statement.plain_value(&order.by), if order.descending { " desc" } else { "" })
    };
    query.order.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The length of a window in seconds, as SQL.
fn seconds(over: Over, table: &RowTable<'_>) -> String {
    match over {
        Over::Windows { over_ns, .. } => (over_ns as f64 / 1e9).to_string(),
        Over::Window => {
            table.base_window_ns.map_or("$window_seconds".to_owned(), |ns| (ns as f64 / 1e9).to_string())
        }
        Over::Run => "$run_seconds".to_owned(),
    }
}

/// Rows of one key and node, merged over longer windows.
fn merged(query: &Query, table: &RowTable<'_>) -> String {
    let over = query.over;
    let read = query.fields();
    let keys: Vec<_> =
        table.key.iter().map(|part| part.split('/').next().unwrap_or(part).to_owned()).collect();
    let (start, windows) = match over {
        Over::Windows { every_ns, over_ns } => {
            let micros = every_ns / 1000;
            let bucket = format!("time_bucket(to_microseconds({micros}), window_start)");
            if over_ns == every_ns {
                (bucket, String::new())
            } else {
                let steps = over_ns / every_ns;
                let shift = format!("{bucket} - shift * to_microseconds({micros})");
                (shift, format!(", generate_series(0, {}) AS shifts(shift)", steps.saturating_sub(1)))
            }
        }
        Over::Window => ("window_start".to_owned(), String::new()),
        Over::Run => ("min(window_start)".to_owned(), String::new()),
    };
    let is_value =
        |field: &&flow::Field| read.contains(field.name) && !keys.iter().any(|key| key == field.name);
    let values: String = flow::FIELDS
        .iter()
        .filter(is_value)
        .filter_map(merged_value)
        .map(|value| format!(",\n    {value}"))
        .collect();
    let grouped = if over == Over::Run { String::new() } else { format!("{start}, ") };
    let keys = keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(", ");
    let key_list = if keys.is_empty() { String::new() } else { format!(", {keys}") };
    format!(
        "  SELECT {start} AS window_start, node_id, ip_version{key_list}{values}\n  FROM {} AS rows{windows}\n  \
         GROUP BY {grouped}node_id, ip_version{key_list}",
        table.name
    )
}

/// How a field's values are merged.
fn merged_value(field: &flow::Field) -> Option<String> {
    use flow::Aggregation::{Constant, First, Key, Last, Max, Mean, Min, Or, Sum};
    let column = expressions::column(field.name);
    let value = match field.aggregation {
        Sum => format!("sum({column})"),
        Min => format!("min({column})"),
        Max => format!("max({column})"),
        Or => format!("bit_or({column})"),
        Mean => format!("avg({column})"),
        First => format!("arg_min({column}, rows.window_start)"),
        // The key's, where it is not part of the key.
        Last | Key => format!("arg_max({column}, rows.window_start)"),
        Constant => return None,
    };
    // What the flow key lacks is in no row.
    (field.aggregation != Key).then(|| format!("{value} AS {column}"))
}

/// Rows that pass the filter, with the keys of their groups.
fn selected(query: &Query, read: &str) -> String {
    let groups = groups(query);
    let mut columns = vec!["*".to_owned()];
    let mut ends = String::new();
    let of_ends = |name: &str| groups.iter().any(|group| group.field == name);
    if of_ends("addr") || of_ends("port") {
        ends = format!(", unnest({}) AS ends(one_end)", either_ends(of_ends("addr"), of_ends("port")));
    }
    for (at, group) in groups.iter().enumerate() {
        let value = match group.field.as_str() {
            "addr" | "port" => format!("one_end.{}", group.field),
            name => field(name),
        };
        columns.push(format!("{} AS k{}", prefixed(&value, group), at + 1));
    }
    let filter =
        query.filter.as_ref().map(|filter| format!("\n  WHERE {}", condition(filter, &|name| field(name))));
    format!("  SELECT {}\n  FROM {read}{ends}{}", columns.join(", "), filter.unwrap_or_default())
}

fn groups(query: &Query) -> &[GroupField] {
    match &query.group {
        Grouping::By(groups) => groups,
        Grouping::All | Grouping::Flows => &[],
    }
}

/// The last step, and what it is made of.
struct Statement<'a> {
    query: &'a Query,
    seconds: String,
}

impl<'a> Statement<'a> {
    fn purpose(&self) -> String {
        let parts = [
            (self.query.group != Grouping::Flows, "group"),
            (self.query.having.is_some(), "restrict groups"),
            (true, "order"),
            (true, "limit"),
        ];
        parts.iter().filter(|(is_there, _)| *is_there).map(|(_, part)| *part).collect::<Vec<_>>().join(", ")
    }

    /// The columns that identify a group.
    fn keys(&self) -> Vec<String> {
        let keys = (1..=groups(self.query).len()).map(|at| format!("k{at}"));
        ["window_start".to_owned(), "node_id".to_owned()].into_iter().chain(keys).collect()
    }

    /// Aggregates that need values grouped before they are aggregated.
    fn side_aggregates(&self) -> Vec<&'a Aggregate> {
        let is_side = |aggregate: &&Aggregate| match aggregate {
            Aggregate::Entropy(..) | Aggregate::Top(..) => true,
            Aggregate::CountDistinct(of) => matches!(of.field.as_str(), "addr" | "port"),
            _ => false,
        };
        self.query.aggregates().into_iter().filter(is_side).collect()
    }

    fn side_steps(&self, steps: &mut Vec<SqlStep>) {
        let keys = self.keys().join(", ");
        for (at, aggregate) in self.side_aggregates().into_iter().enumerate() {
            let (step, values, value) = match aggregate {
                Aggregate::CountDistinct(of) => (
                    "count distinct values of either end",
                    weighed(of, "1", &keys),
                    "count(value)".to_owned(),
                ),
                Aggregate::Entropy(of, weight) => (
                    "the entropy of values",
                    weighed(of, &weight_sql(weight), &keys),
                    // DuckDB refuses the logarithm of zero.
                    "log2(nullif(sum(weight), 0)) - sum(weight * log2(nullif(weight, 0))) / sum(weight)"
                        .to_owned(),
                ),
                Aggregate::Top(most, of, weight) => (
                    "the values that weigh most",
                    weighed(of, &weight_sql(weight), &keys),
                    format!(
                        "list(struct_pack(value := value, weight := weight) ORDER BY weight DESC)[1:{most}]"
                    ),
                ),
                _ => continue,
            };
            steps.push(SqlStep {
                step: step.to_owned(),
                name: Some(format!("side{}", at + 1)),
                sql: format!("  SELECT {keys}, {value} AS result\n  FROM (\n{values}\n  ) GROUP BY {keys}"),
            });
        }
    }

    fn answer(&self) -> String {
        let items: Vec<_> = self
            .query
            .columns
            .iter()
            .map(|column| format!("{} AS {}", self.value(&column.value), quoted(&column.name)))
            .collect();
        let keys = self.keys();
        let joins: String = (1..=self.side_aggregates().len()).map(|at| join(&keys, at)).collect();
        let own: Vec<_> = keys.iter().map(|key| format!("selected.{key}")).collect();
        let mut text = format!("SELECT {}, {}, {}\nFROM selected{joins}", own[0], own[1], items.join(", "));
        if self.query.group != Grouping::Flows {
            text.push_str(&format!("\nGROUP BY {}", own.join(", ")));
        }
        if let Some(having) = &self.query.having {
            text.push_str(&format!("\nHAVING {}", self.condition(having)));
        }
        let order = self.order();
        let limit = self.query.limit.unwrap_or(MOST_GROUPS);
        if self.query.group != Grouping::All {
            let by = if order.is_empty() { String::new() } else { format!(" ORDER BY {order}") };
            text.push_str(&format!(
                "\nQUALIFY row_number() OVER (PARTITION BY {}, {}{by}) <= {limit}",
                own[0], own[1]
            ));
        }
        let by = if order.is_empty() { String::new() } else { format!(", {order}") };
        text.push_str(&format!("\nORDER BY {}, {}{by}", own[0], own[1]));
        text
    }

    fn order(&self) -> String {
        let text = |value: &Expression, descending: bool| {
            format!("{} {} NULLS LAST", self.value(value), if descending { "DESC" } else { "ASC" })
        };
        let orders: Vec<_> = self.query.order.iter().map(|order| text(&order.by, order.descending)).collect();
        if !orders.is_empty() || self.query.group == Grouping::All {
            return orders.join(", ");
        }
        let is_first = |value: &&Expression| match (&self.query.group, value) {
            (Grouping::Flows, Expression::Field(name)) => {
                flow::Field::named(name).is_some_and(|field| field.aggregation == flow::Aggregation::Sum)
            }
            (_, Expression::Aggregate(Aggregate::Top(..))) => false,
            (_, value) => matches!(value, Expression::Aggregate(_)),
        };
        let first = self.query.columns.iter().map(|column| &column.value).find(is_first);
        first.map(|value| text(value, true)).unwrap_or_default()
    }

    fn condition(&self, of: &Condition) -> String {
        expressions::condition_with(of, &|name| self.field(name), &|value| self.value(value))
    }

    /// A field of a flow, or the key of a group.
    fn field(&self, name: &str) -> String {
        match groups(self.query).iter().position(|group| group.field == name) {
            Some(at) => format!("selected.k{}", at + 1),
            None => field(name),
        }
    }

    /// A value with fields by their names, and those of columns where it is one.
    fn plain_value(&self, value: &Expression) -> String {
        if let Some(column) = self.query.columns.iter().find(|column| column.value == *value) {
            return column.name.clone();
        }
        expressions::value_with(value, &|name| name.to_owned(), &|aggregate| self.aggregate(aggregate))
    }

    fn value(&self, value: &Expression) -> String {
        expressions::value_with(value, &|name| self.field(name), &|aggregate| self.aggregate(aggregate))
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        if let Some(at) = self.side_aggregates().iter().position(|side| *side == aggregate) {
            let value = format!("any_value(side{}.result)", at + 1);
            return if let Aggregate::CountDistinct(_) = aggregate {
                format!("coalesce({value}, 0)")
            } else {
                value
            };
        }
        let of = |value: &Expression| expressions::value(value);
        match aggregate {
            Aggregate::Count => "count(*)".to_owned(),
            Aggregate::CountDistinct(group) => {
                format!("count(DISTINCT {})", prefixed(&field(&group.field), group))
            }
            Aggregate::Sum(value) => format!("coalesce(sum({}), 0)", of(value)),
            Aggregate::Min(value) => format!("min({})", of(value)),
            Aggregate::Max(value) => format!("max({})", of(value)),
            Aggregate::Mean(value) => format!("avg({})", of(value)),
            Aggregate::Deviation(value) => format!("stddev_pop({})", of(value)),
            Aggregate::Rate(value) => format!("sum({}) / {}", of(value), self.seconds),
            Aggregate::Quantile(value, share) => format!("quantile_disc({}, {share})", of(value)),
            Aggregate::MeanRoundTrip => "avg(rtt_avg)".to_owned(),
            // These are side aggregates always.
            Aggregate::Entropy(..) | Aggregate::Top(..) => "NULL".to_owned(),
        }
    }
}

/// The weight of each value in each group, as a query.
fn weighed(of: &GroupField, weight: &str, keys: &str) -> String {
    let is_end = matches!(of.field.as_str(), "addr" | "port");
    let (value, ends) = if is_end {
        let ends = either_ends(of.field == "addr", of.field == "port");
        (format!("value_end.{}", of.field), format!(", unnest({ends}) AS value_ends(value_end)"))
    } else {
        (field(&of.field), String::new())
    };
    let value = prefixed(&value, of);
    format!(
        "    SELECT {keys}, {value} AS value, {weight} AS weight\n    FROM selected{ends}\n    WHERE {value} IS NOT NULL GROUP BY \
         {keys}, {value}"
    )
}

fn weight_sql(weight: &Weight) -> String {
    match weight {
        Weight::Rows => "count(*)".to_owned(),
        Weight::Sum(name) => format!("sum({})", field(name)),
    }
}

fn join(keys: &[String], at: usize) -> String {
    let on: Vec<_> =
        keys.iter().map(|key| format!("selected.{key} IS NOT DISTINCT FROM side{at}.{key}")).collect();
    format!("\nLEFT JOIN side{at} ON {}", on.join(" AND "))
}
