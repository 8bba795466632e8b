//! The check of one query: its clauses put together.

use super::nodes::{Mention, mention};
use super::values::{group_text, no_columns, prefix_lengths};
use super::{Checker, Context, QueryColumns, QueryNeeds, Scope, aggregates};
use crate::ast::{Expr, ExprNode, From, QueryText, SelectItem, TimeText};
use crate::checked::{HistoryRange, TimePoint};
use crate::fields;
use crate::kind::ValueKind;
use crate::lexer::shortened;
use crate::node_filter::NodeFilter;
use crate::parents::Parent;
use flow::Field;
use std::collections::HashSet;
use task::query::{Condition, Expression, GroupField, Grouping, Order, OutputColumn, Over, Query};

/// A query as far as it can be checked without the others.
pub(crate) struct Outline {
    pub(crate) plan: Query,
    pub(crate) columns: QueryColumns,
    pub(crate) nodes: NodeFilter,
    pub(crate) history: Option<HistoryRange>,
    pub(crate) used: QueryNeeds,
    /// Conjuncts of `where` that refer to the query that fires.
    pub(crate) bindings: Vec<ExprNode>,
}

impl Outline {
    /// The query as others see it.
    pub(crate) fn parent(&self) -> Parent {
        let own = self.columns.list.iter().map(|(name, typed)| (name.clone(), typed.kind.clone()));
        let of_flows;
        let groups = match &self.plan.group {
            Grouping::By(groups) => groups,
            Grouping::Flows => {
                of_flows =
                    ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"].map(GroupField::from_field);
                &of_flows[..]
            }
            Grouping::All => &[],
        };
        let kind =
            |group: &GroupField| fields::find(&group.field).map_or(ValueKind::Unknown, |field| field.kind);
        let keys = groups
            .iter()
            .flat_map(|group| [(group_text(group), kind(group)), (group.field.clone(), kind(group))]);
        Parent::new(own.chain(keys), groups.iter().map(group_text).collect(), Some(self.plan.over))
    }
}

/// Checks a query that reads traffic. `None` where it has errors.
pub(crate) fn outline(checker: &mut Checker<'_, '_>, query: &QueryText, label: &str) -> Option<Outline> {
    let before = checker.diagnostics.errors();
    checker.query = Some(query.clone());
    let groups = query.group.as_ref().map(|group| checker.groups(&group.value));
    let context = match &query.group {
        Some(_) => Context::Groups,
        None if has_aggregates(query) => Context::Total,
        None => Context::Flows,
    };
    let groups = match groups {
        // Without its groups a query has no columns that could be judged.
        Some(None) => {
            checker.filter(query);
            return None;
        }
        Some(Some(groups)) => groups,
        // They may be in a clause that has an error.
        None if context == Context::Total && query.is_broken => {
            checker.filter(query);
            return None;
        }
        None => Vec::new(),
    };
    let none = no_columns();
    let columns = checker.columns(query, Scope { context, groups: &groups, columns: &none });
    let (filter, nodes, bindings) = checker.filter(query);
    let scope = Scope { context, groups: &groups, columns: &columns };
    let having = checker.having(query, scope);
    let order = checker.order(query, scope);
    let over = checker.over(query);
    checker.check_earlier_lengths(over);
    let history = checker.history(query);
    let limit = query.limit.as_ref().map(|limit| usize::try_from(limit.value).unwrap_or(usize::MAX));
    if checker.diagnostics.errors() != before || query.is_broken {
        return None;
    }
    let group = match context {
        Context::Groups => Grouping::By(groups),
        Context::Total => Grouping::All,
        _ => Grouping::Flows,
    };
    let items = columns
        .list
        .iter()
        .map(|(name, typed)| OutputColumn::new(name.clone(), typed.value.clone()))
        .collect();
    let plan =
        Query { filter, group, columns: items, having, order, limit, over, ..Query::new(label, [], []) };
    Some(Outline { plan, columns, nodes, history, used: std::mem::take(&mut checker.used), bindings })
}

/// Returns true if any value of the query aggregates rows.
fn has_aggregates(query: &QueryText) -> bool {
    let items = query.select.iter().flat_map(|select| &select.value).map(|item| &item.value);
    let order = query.order.iter().flat_map(|order| &order.value).map(|item| &item.value);
    let having = query.having.iter().map(|having| &having.value);
    items.chain(order).chain(having).any(aggregates_rows)
}

fn aggregates_rows(node: &ExprNode) -> bool {
    match &*node.value {
        Expr::Literal(_)
        | Expr::Name(_)
        | Expr::Prefixed(..)
        | Expr::Of(..)
        | Expr::Star
        | Expr::IsMissing(_) => false,
        Expr::Call { function, arguments, .. } => {
            aggregates::is_aggregate(function) || arguments.iter().any(aggregates_rows)
        }
        Expr::Negative(of) | Expr::Offset(of, _) | Expr::Not(of) | Expr::IsNull { value: of, .. } => {
            aggregates_rows(of)
        }
        Expr::Arithmetic(left, _, right) | Expr::Compare(left, _, right) => {
            aggregates_rows(left) || aggregates_rows(right)
        }
        Expr::And(of) | Expr::Or(of) => of.iter().any(aggregates_rows),
        Expr::In { value, .. } | Expr::Like { value, .. } => aggregates_rows(value),
        Expr::Between { value, low, high, .. } => [value, low, high].into_iter().any(aggregates_rows),
    }
}

/// Returns whether a condition of `having` reads a field that groups do not have, and nothing that they have.
fn is_of_flows(condition: &ExprNode, scope: Scope<'_>) -> bool {
    let is_group = |name: &str| {
        scope.columns.get(name).is_some()
            || scope.groups.iter().any(|group| group.field == name)
            || Expression::from_group_field(name).is_some()
    };
    let field = |of: &Expr| match of {
        Expr::Name(name) => fields::find(name).map(|field| is_group(name) || is_group(&field.name)),
        _ => None,
    };
    let reads = |of_group: bool| condition.value.any(|of| field(of) == Some(of_group));
    // Conditions on nodes and nulls are not taken of each field that groups do not have.
    let is_other = condition.value.any(|of| matches!(of, Expr::Call { .. } | Expr::IsNull { .. }));
    !is_other && matches!(mention(condition), Mention::None) && reads(false) && !reads(true)
}

impl Checker<'_, '_> {
    fn groups(&mut self, nodes: &[ExprNode]) -> Option<Vec<GroupField>> {
        let groups: Vec<_> = nodes.iter().map(|node| self.group(node)).collect();
        let groups = groups.into_iter().collect::<Option<Vec<_>>>()?;
        let mut names = HashSet::new();
        for (group, node) in groups.iter().zip(nodes) {
            if !names.insert(group.field.as_str()) {
                let message = format!("'{}' stands in groupby for the second time", group.field);
                self.diagnostics.error_with_help(
                    "duplicate_group",
                    &node.span,
                    message,
                    "remove one of them",
                );
                return None;
            }
        }
        Some(groups)
    }

    fn group(&mut self, node: &ExprNode) -> Option<GroupField> {
        match &*node.value {
            Expr::Name(name) => self.grouping_field(name, None, node),
            Expr::Prefixed(name, lengths) => self.grouping_field(name, Some(prefix_lengths(lengths)), node),
            Expr::Call { function, arguments, .. } => {
                self.grouped_call(function, arguments, node);
                None
            }
            _ => {
                let message = format!(
                    "expected a field to group by, but found '{}'",
                    shortened(&node.value.to_string())
                );
                self.diagnostics.error("group", &node.span, message);
                None
            }
        }
    }

    pub(super) fn columns(&mut self, query: &QueryText, scope: Scope<'_>) -> QueryColumns {
        let mut columns = QueryColumns::default();
        let Some(select) = &query.select else {
            if !query.is_broken {
                let help = "a query selects its columns: 'select count(*)'";
                self.diagnostics.error_with_help("no_select", &query.span.0, "the query has no select", help);
            }
            return columns;
        };
        for SelectItem { value, alias } in &select.value {
            if matches!(&*value.value, Expr::Literal(_)) {
                let message =
                    format!("a column needs a field, but found {}", shortened(&value.value.to_string()));
                self.diagnostics.error("constant_column", &value.span, message);
                continue;
            }
            let Some(typed) = self.value(value, scope) else { continue };
            let (name, span) = match alias {
                Some(alias) => (alias.value.clone(), &alias.span),
                None => (self.own_name(value, scope, query), &value.span),
            };
            let shown = shortened(&name);
            if !columns.add(name, typed, value.span.len()) {
                let message = format!("two columns have the name '{shown}'");
                let help = "name one of them with 'as NAME'";
                self.diagnostics.error_with_help("duplicate_column", span, message, help);
            }
        }
        columns
    }

    /// The name of a column that the query does not name. Of a field in which packets of a flow may differ, a row for a whole flow has the
    /// value of one packet, or of all of them: the name says which. Where the query filters by the field, it is the value of packets that pass.
    fn own_name(&self, value: &ExprNode, scope: Scope<'_>, query: &QueryText) -> String {
        let of_flow = match &*value.value {
            Expr::Name(name) if scope.context == Context::Flows => Field::named(name).and_then(|field| {
                let is_of_key = self.options.key.iter().flatten().any(|of_key| of_key == field.name);
                // A filter by flags alone selects flows by what any of their packets had.
                let is_filtered = field.name != "tcp_flags"
                    && query.filter.as_ref().is_some_and(|filter| mentions_field(&filter.value, field.name));
                field.of_flow.filter(|_| !is_of_key && !is_filtered)
            }),
            _ => None,
        };
        of_flow.map_or_else(|| value.value.to_string(), str::to_owned)
    }

    /// The filter of rows, that of nodes, and what a firing pins.
    fn filter(&mut self, query: &QueryText) -> (Option<Condition>, NodeFilter, Vec<ExprNode>) {
        let (mut conditions, mut nodes, mut bindings) = (Vec::new(), Vec::new(), Vec::new());
        let columns = no_columns();
        let scope = Scope { context: Context::Rows, groups: &[], columns: &columns };
        let conjuncts =
            query.filter.as_ref().map(|filter| Self::conjuncts(&filter.value)).unwrap_or_default();
        for conjunct in conjuncts {
            if is_binding(conjunct) {
                bindings.push(conjunct.clone());
                continue;
            }
            match mention(conjunct) {
                Mention::None => conditions.extend(self.condition(conjunct, scope)),
                Mention::Only => nodes.extend(self.node_filter(conjunct)),
                Mention::Mixed => self.refuse_mixed_nodes(conjunct),
            }
        }
        (joined(conditions), joined_nodes(nodes), bindings)
    }

    /// The filter of rows of a query, without what it says of nodes and of another query that fires; `None` where it has none, or an error.
    pub(super) fn plain_filter(&self, query: &QueryText) -> Option<Condition> {
        let mut diagnostics = crate::diagnostic::Diagnostics::new("");
        let mut checker = self.apart(&mut diagnostics);
        let (filter, ..) = checker.filter(query);
        filter.filter(|_| diagnostics.errors() == 0)
    }

    fn having(&mut self, query: &QueryText, scope: Scope<'_>) -> Option<Condition> {
        let having = query.having.as_ref()?;
        if scope.context == Context::Flows {
            let message = "having restricts groups, but the query has neither groupby nor aggregates";
            self.diagnostics.error_with_help("having_without_groups", &having.span, message, "use where");
            return None;
        }
        let of_flows = Self::conjuncts(&having.value).into_iter().find(|part| is_of_flows(part, scope));
        if let Some(condition) = of_flows {
            let text = condition.value.to_string();
            let message =
                format!("'{}' is a condition on flows, and having is about groups", shortened(&text));
            let filter = query.filter.iter().flat_map(|filter| Self::conjuncts(&filter.value));
            let all = Expr::And(filter.chain([condition]).cloned().collect()).to_string();
            let help = match shortened(&all) == all {
                true => format!("move it: 'where {all}'"),
                false => "move it to where".to_owned(),
            };
            self.diagnostics.error_with_help("having_of_flows", &condition.span, message, help);
            return None;
        }
        self.condition(&having.value, scope)
    }

    pub(super) fn order(&mut self, query: &QueryText, scope: Scope<'_>) -> Vec<Order> {
        let Some(order) = &query.order else { return Vec::new() };
        let by = |checker: &mut Self, item: &crate::ast::OrderItem| {
            let named = match &*item.value.value {
                Expr::Literal(crate::literal::Literal::Text(name)) => scope.columns.get(name).cloned(),
                _ => None,
            };
            let typed = match named {
                Some(typed) => typed,
                None => checker.value(&item.value, scope)?,
            };
            let is_constant =
                matches!(typed.value, Expression::Integer(_) | Expression::Float(_) | Expression::Text(_));
            if typed.kind == ValueKind::Top || is_constant {
                let message = format!("nothing is ordered by '{}'", shortened(&item.value.value.to_string()));
                checker.diagnostics.error_with_help(
                    "order",
                    &item.value.span,
                    message,
                    "order by a column, a field or an aggregate",
                );
                return None;
            }
            Some(Order { by: typed.value, descending: item.descending })
        };
        order.value.iter().filter_map(|item| by(self, item)).collect()
    }

    pub(super) fn over(&mut self, query: &QueryText) -> Over {
        let Some(every) = &query.every else {
            if let Some(over) = &query.over {
                let help = "add 'every 10s': how often the query answers";
                self.diagnostics.error_with_help("over_without_every", &over.span, "over needs every", help);
            }
            return Over::Window;
        };
        if let Some(base) =
            self.options.base_window_ns.filter(|base| *base != 0 && !every.value.is_multiple_of(*base))
        {
            let text = crate::literal::duration_text;
            let message = format!(
                "every {} is not a multiple of the run's windows of {}",
                text(every.value),
                text(base)
            );
            self.diagnostics.error_with_help(
                "every",
                &every.span,
                message,
                "choose a multiple, or another --every",
            );
        }
        let over_ns = query.over.as_ref().map_or(every.value, |over| over.value);
        if let Some(over) = &query.over
            && !over.value.is_multiple_of(every.value)
        {
            let text = crate::literal::duration_text;
            let message =
                format!("over {} is not a multiple of every {}", text(over.value), text(every.value));
            self.diagnostics.error("over", &over.span, message);
        }
        Over::Windows { every_ns: every.value, over_ns }
    }

    fn history(&mut self, query: &QueryText) -> Option<HistoryRange> {
        let from = query.from.as_ref()?;
        let history = match &from.value {
            From::Queries(_) => return None,
            From::Last(ns) => Some(HistoryRange { from: TimePoint::Ago(*ns), to: None }),
            From::Range(begin, end) => {
                let begin = self.moment(begin);
                let end = end.as_ref().map(|end| self.moment(end));
                match (begin, end) {
                    (Some(from), None) => Some(HistoryRange { from, to: None }),
                    (Some(from), Some(Some(to))) => Some(HistoryRange { from, to: Some(to) }),
                    _ => None,
                }
            }
        };
        let is_empty = match history? {
            HistoryRange { from: TimePoint::At(from), to: Some(TimePoint::At(to)) } => from >= to,
            HistoryRange { from: TimePoint::Ago(from), to: Some(TimePoint::Ago(to)) } => from <= to,
            _ => false,
        };
        if is_empty {
            self.diagnostics.error(
                "empty_range",
                &from.span,
                "the time after 'to' is not later than that before it",
            );
            return None;
        }
        if !self.options.reads_history {
            let reason = "packets are of the present; edison query reads recorded flows";
            self.report_not_run("from", reason, from);
        }
        history
    }

    fn moment(&mut self, time: &crate::ast::Spanned<TimeText>) -> Option<TimePoint> {
        match &time.value {
            TimeText::Ago(ns) => Some(TimePoint::Ago(*ns)),
            TimeText::At(text) => {
                let moment = notation::moment_ns(text).map(TimePoint::At);
                if moment.is_none() {
                    let message = format!("'{}' is not {}", shortened(text), notation::MOMENTS);
                    self.diagnostics.error("time", &time.span, message);
                }
                moment
            }
        }
    }
}

/// Returns whether a condition reads a field.
fn mentions_field(condition: &ExprNode, field: &str) -> bool {
    let is_it = |name: &str| fields::find(name).is_some_and(|found| found.name == field);
    condition.value.any(|of| matches!(of, Expr::Name(name) if is_it(name)))
}

/// `FIELD = QUERY.ITEM`
fn is_binding(node: &ExprNode) -> bool {
    matches!(&*node.value, Expr::Compare(left, task::query::Comparison::Equal, right)
        if Checker::is_of_query(left) != Checker::is_of_query(right))
}

fn joined(mut conditions: Vec<Condition>) -> Option<Condition> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Condition::And(conditions)),
    }
}

fn joined_nodes(mut filters: Vec<NodeFilter>) -> NodeFilter {
    match filters.len() {
        0 => NodeFilter::Every,
        1 => filters.swap_remove(0),
        _ => NodeFilter::All(filters),
    }
}
