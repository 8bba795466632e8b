//! The last steps: groups, their values, and which of them are in the answer.

use super::Dialect;
use super::SqlStep;
use super::expressions::{self, field, grouped};
use task::query::{
    Aggregate, AggregateSql, Condition, Expression, GroupField, Grouping, MOST_GROUPS, Query, SideStep,
};

/// The last steps of a query.
pub(super) struct Statement<'a> {
    pub(super) query: &'a Query,
    /// The time that an answer covers in seconds, as SQL.
    pub(super) seconds: String,
    pub(super) dialect: Dialect,
    /// The members of the flow key.
    pub(super) key: Vec<&'a str>,
    /// Columns have names of their own, so that whatever the query calls them is none of the table's.
    pub(super) has_own_names: bool,
}

fn groups(query: &Query) -> &[GroupField] {
    match &query.group {
        Grouping::By(groups) => groups,
        Grouping::All | Grouping::Flows => &[],
    }
}

/// The fields `addr` and `port` among these: what is read of either end.
fn fields_of_ends<'a>(of: impl Iterator<Item = &'a str> + Clone) -> Vec<&'static str> {
    ["addr", "port"].into_iter().filter(|end| of.clone().any(|name| name == *end)).collect()
}

impl<'a> Statement<'a> {
    /// Rows that pass the filter, with the keys of their groups.
    pub(super) fn selected(&self, read: &str) -> String {
        let groups = groups(self.query);
        let ends = fields_of_ends(groups.iter().map(|group| group.field.as_str()));
        let mut columns = vec!["*".to_owned()];
        for (at, group) in groups.iter().enumerate() {
            let is_of_end = matches!(group.field.as_str(), "addr" | "port");
            let end = is_of_end.then(|| self.dialect.end_field("one_end", &group.field, &ends));
            columns.push(format!("{} AS k{}", grouped(self.dialect, group, end), at + 1));
        }
        let either = if ends.is_empty() { String::new() } else { self.dialect.either_end("one_end", &ends) };
        let filter = self.query.filter.as_ref();
        let filter =
            filter.map(|filter| format!("\n  WHERE {}", expressions::condition(self.dialect, filter)));
        format!("  SELECT {}\n  FROM {read}{either}{}", columns.join(", "), filter.unwrap_or_default())
    }

    pub(super) fn purpose(&self) -> String {
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
        let is_side = |aggregate: &&Aggregate| aggregate.meaning().side_step(self).is_some();
        self.query.aggregates().into_iter().filter(is_side).collect()
    }

    pub(super) fn side_steps(&self, steps: &mut Vec<SqlStep>) {
        let keys = self.keys().join(", ");
        for (at, aggregate) in self.side_aggregates().into_iter().enumerate() {
            let meaning = aggregate.meaning();
            let Some(SideStep { step, of, weight, needs_weight, result }) = meaning.side_step(self) else {
                continue;
            };
            let having = if needs_weight { format!(" HAVING {weight} <> 0") } else { String::new() };
            let values = self.weighed(of, &weight, &keys);
            steps.push(SqlStep {
                step: step.to_owned(),
                name: Some(format!("side{}", at + 1)),
                sql: format!(
                    "  SELECT {keys}, {result}\n  FROM (\n{values}{having}\n  ) AS weighed\n  GROUP BY {keys}"
                ),
            });
        }
    }

    /// The weight of each value in each group, as a query.
    fn weighed(&self, of: &GroupField, weight: &str, keys: &str) -> String {
        let ends = fields_of_ends(std::iter::once(of.field.as_str()));
        let (end, either) = match &ends[..] {
            [end] => {
                let value = self.dialect.end_field("value_end", end, &ends);
                (Some(value), self.dialect.either_end("value_end", &ends))
            }
            _ => (None, String::new()),
        };
        let value = grouped(self.dialect, of, end);
        format!(
            "    SELECT {keys}, {value} AS value, {weight} AS weight\n    FROM selected{either}\n    WHERE {value} IS NOT \
             NULL GROUP BY {keys}, {value}"
        )
    }

    /// The answer, in its order.
    pub(super) fn answer(&self) -> String {
        let names = self.query.columns.iter().map(|column| self.dialect.identifier(&column.name));
        let names: Vec<_> = ["window_start", "node_id"].map(str::to_owned).into_iter().chain(names).collect();
        let limit = match self.query.group {
            Grouping::All => String::new(),
            _ => format!("\nWHERE answer_place <= {}", self.query.limit.unwrap_or(MOST_GROUPS)),
        };
        format!(
            "SELECT {}\nFROM (\n{}\n) AS placed{limit}\nORDER BY window_start, node_id, answer_place{}",
            names.join(", "),
            self.placed(""),
            self.dialect.ending()
        )
    }

    /// Selects the groups with their place in the answer of their window and node, and with more columns of their own.
    pub(super) fn placed(&self, more: &str) -> String {
        let items: Vec<_> = self
            .query
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| format!("{} AS {}", self.value(&column.value), self.name(at)))
            .collect();
        let keys = self.keys();
        let joins: String = (1..=self.side_aggregates().len()).map(|at| join(&keys, at)).collect();
        let own: Vec<_> = keys.iter().map(|key| format!("selected.{key}")).collect();
        let order: Vec<_> = self.order().into_iter().chain(self.key_order()).collect();
        let by = if order.is_empty() { own[0].clone() } else { order.join(", ") };
        let mut text = format!(
            "  SELECT {} AS window_start, {} AS node_id, {},\n    row_number() OVER (PARTITION BY {}, {} ORDER BY {by}) AS \
             answer_place{more}\n  FROM selected{joins}",
            own[0],
            own[1],
            items.join(", "),
            own[0],
            own[1],
        );
        if self.query.group != Grouping::Flows {
            text.push_str(&format!("\n  GROUP BY {}", own.join(", ")));
        }
        if let Some(having) = &self.query.having {
            // Flows are no groups: what restricts them is a filter.
            let word = if self.query.group == Grouping::Flows { "WHERE" } else { "HAVING" };
            text.push_str(&format!("\n  {word} {}", self.condition(having)));
        }
        text
    }

    /// The name of a column.
    pub(super) fn name(&self, at: usize) -> String {
        match self.has_own_names {
            true => format!("v{}", at + 1),
            false => self.dialect.identifier(&self.query.columns[at].name),
        }
    }

    /// The family of the addresses of a group.
    fn family(&self) -> String {
        match self.query.group {
            Grouping::Flows => "ip_version".to_owned(),
            _ => "min(selected.ip_version)".to_owned(),
        }
    }

    fn order(&self) -> Vec<String> {
        let text = |value: &Expression, descending: bool| {
            let direction = if descending { "DESC" } else { "ASC" };
            format!("{} {direction} NULLS LAST", self.value(value))
        };
        if self.query.group == Grouping::All {
            return Vec::new();
        }
        if !self.query.order.is_empty() {
            return self.query.order.iter().map(|order| text(&order.by, order.descending)).collect();
        }
        let first = self.query.columns.iter().map(|column| &column.value);
        let first = first.filter(|value| self.is_largest_first(value)).map(|value| text(value, true));
        first.take(1).collect()
    }

    /// Returns true if the largest of a column's values are the first where no order is requested: of aggregates, and of flows' counters.
    fn is_largest_first(&self, value: &Expression) -> bool {
        match value {
            Expression::Aggregate(aggregate) => aggregate.meaning().heaviest().is_none(),
            Expression::Arithmetic(left, _, right) => {
                self.is_largest_first(left) || self.is_largest_first(right)
            }
            Expression::Field(name) if self.query.group == Grouping::Flows => {
                flow::Field::named(name).is_some_and(|field| field.aggregation == flow::Aggregation::Sum)
            }
            _ => false,
        }
    }

    /// Returns the order of equal groups: by the family of their addresses, by the members of the flow key as its bytes have them, then by other
    /// values as they were requested. Names are ordered by their numbers.
    fn key_order(&self) -> Vec<String> {
        const ORDER: [&str; 9] =
            ["src_addr", "addr", "dst_addr", "src_port", "port", "dst_port", "protocol", "ip_tos", "vlan"];
        let place = |name: &str| ORDER.iter().position(|known| *known == name);
        let mut keys: Vec<(usize, String)> = Vec::new();
        match &self.query.group {
            Grouping::By(groups) => {
                for (at, group) in (1..).zip(groups) {
                    let name = group.field.as_str();
                    let key = format!("selected.k{at}");
                    // Of the flow key these are no part, unless whole flows are asked for.
                    let is_member = !matches!(name, "ip_tos" | "vlan");
                    match (place(name).filter(|_| is_member), name) {
                        (Some(place), _) => keys.push((place, format!("{key} NULLS FIRST"))),
                        (None, "conversation") => {
                            for (field, members) in
                                [("addr", ["src_addr", "dst_addr"]), ("port", ["src_port", "dst_port"])]
                            {
                                for (end, member) in expressions::ends(field).iter().zip(members) {
                                    keys.push((place(member).unwrap_or(0), format!("min({end})")));
                                }
                            }
                            keys.push((place("protocol").unwrap_or(0), "min(protocol)".to_owned()));
                        }
                        (None, name) => {
                            let number = expressions::number_of_name(name);
                            let value = number.map_or(key, |number| format!("min({number})"));
                            keys.push((ORDER.len(), format!("{value} NULLS LAST")));
                        }
                    }
                }
            }
            Grouping::Flows => keys.extend(self.key.iter().map(|name| {
                (place(name).unwrap_or(ORDER.len()), format!("{} NULLS FIRST", field(self.dialect, name)))
            })),
            Grouping::All => {}
        }
        // The sort is stable.
        keys.sort_by_key(|(place, _)| *place);
        let has_addresses = match &self.query.group {
            Grouping::By(groups) => groups
                .iter()
                .any(|group| expressions::is_address(&group.field) || group.field == "conversation"),
            Grouping::Flows => self.key.iter().any(|name| expressions::is_address(name)),
            Grouping::All => false,
        };
        let family = has_addresses.then(|| self.family());
        family.into_iter().chain(keys.into_iter().map(|(_, key)| key)).collect()
    }

    fn condition(&self, of: &Condition) -> String {
        expressions::condition_with(self.dialect, of, &|name| self.field(name), &|value| self.value(value))
    }

    /// A field of a flow, or the key of a group.
    fn field(&self, name: &str) -> String {
        match groups(self.query).iter().position(|group| group.field == name) {
            Some(at) => format!("selected.k{}", at + 1),
            None => field(self.dialect, name),
        }
    }

    /// A value with fields by their names, and those of columns where it is one.
    pub(super) fn plain_value(&self, value: &Expression) -> String {
        if let Some(column) = self.query.columns.iter().find(|column| column.value == *value) {
            return column.name.clone();
        }
        let name = |name: &str| name.to_owned();
        expressions::value_with(self.dialect, value, &name, &|aggregate| self.aggregate(aggregate))
    }

    fn value(&self, value: &Expression) -> String {
        let field = |name: &str| self.field(name);
        expressions::value_with(self.dialect, value, &field, &|aggregate| self.aggregate(aggregate))
    }

    /// Returns a column that another step has of a group.
    pub(super) fn side_column(&self, aggregate: &Aggregate, column: &str) -> Option<String> {
        let at = self.side_aggregates().iter().position(|side| *side == aggregate)?;
        Some(self.dialect.any(&format!("side{}.{column}", at + 1)))
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let meaning = aggregate.meaning();
        match self.side_column(aggregate, "result") {
            Some(result) => meaning.of_side_step(result),
            None => meaning.sql(self),
        }
    }
}

impl AggregateSql for Statement<'_> {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn seconds(&self) -> &str {
        &self.seconds
    }

    fn row_field(&self, name: &str) -> String {
        field(self.dialect, name)
    }

    fn row_value(&self, of: &Expression) -> String {
        expressions::value(self.dialect, of)
    }

    fn row_condition(&self, of: &Condition) -> String {
        expressions::condition(self.dialect, of)
    }

    fn grouped(&self, of: &GroupField) -> String {
        grouped(self.dialect, of, None)
    }
}

fn join(keys: &[String], at: usize) -> String {
    let on: Vec<_> =
        keys.iter().map(|key| format!("selected.{key} IS NOT DISTINCT FROM side{at}.{key}")).collect();
    format!("\n  LEFT JOIN side{at} ON {}", on.join(" AND "))
}
