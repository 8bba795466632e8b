//! The triggers of queries (`when`), and what a firing pins.

use super::conditions::negation;
use super::queries::Outline;
use super::values::no_columns;
use super::{Checker, Context, Scope, TypedExpression};
use crate::ast::{Expr, ExprNode, QueryText, RunClause, Spanned, TriggerKeyword};
use crate::checked::{EdgeKind, EventCondition, FieldBinding, NotRun, SaidPart, TriggerClause};
use crate::fields;
use crate::kind::ValueKind;
use crate::lexer::shortened;
use crate::literal::Literal;
use crate::names::field_name;
use std::collections::BTreeSet;
use task::query::Expression;

/// Queries in one `when`.
const MOST_PARENTS: usize = 64;
/// Packets of one capture. Their headers take some 20 MB.
const MOST_CAPTURED: u64 = 100_000;

/// The parts of a query that refer to other queries.
pub(crate) struct Links {
    pub(crate) trigger: Option<TriggerClause>,
    pub(crate) bindings: Vec<FieldBinding>,
    /// The title of what fires.
    pub(crate) say: Option<Vec<SaidPart>>,
    pub(crate) not_run: Vec<NotRun>,
    /// An error was reported.
    pub(crate) has_errors: bool,
}

/// Checks what refers to other queries, all of which are known. Errors are reported; what has one is missing. `label`: the name of the query.
pub(crate) fn finish(
    checker: &mut Checker<'_, '_>,
    query: &QueryText,
    label: &str,
    outline: Option<&Outline>,
) -> Links {
    let before = checker.diagnostics.errors();
    let trigger = checker.trigger(query);
    let parents: BTreeSet<_> = trigger.iter().flat_map(|trigger| trigger.parents.iter().cloned()).collect();
    let mut bindings = Vec::new();
    for node in outline.iter().flat_map(|outline| &outline.bindings) {
        bindings.extend(checker.binding(node, query, &parents));
    }
    checker.check_trigger_clauses(query);
    checker.check_parts(query, trigger.as_ref());
    checker.captures_packets(query, outline);
    checker.check_structure(query);
    let say = checker.say(query, label, &bindings);
    let not_run = std::mem::take(&mut checker.used.not_run);
    Links { trigger, bindings, say, not_run, has_errors: checker.diagnostics.errors() != before }
}

impl Checker<'_, '_> {
    fn trigger(&mut self, query: &QueryText) -> Option<TriggerClause> {
        let clause = query.trigger.as_ref()?;
        let text = &clause.value;
        let columns = no_columns();
        let scope = Scope { context: Context::Events, groups: &[], columns: &columns };
        let mut parents = BTreeSet::new();
        for condition in std::iter::once(&text.condition).chain(&text.until) {
            parents_of(condition, &mut parents);
        }
        let when = self.event_condition(&text.condition, scope);
        let rearm = text.until.as_ref().map(|until| self.event_condition(until, scope));
        if parents.len() > MOST_PARENTS {
            let message = format!("when is about {} queries: at most {MOST_PARENTS}", parents.len());
            self.diagnostics.error("too_many_parents", &clause.span, message);
            return None;
        }
        if parents.is_empty() {
            let message = "when is about no query";
            let help = "compare an item of another query, as in 'when q1.n > 1000'";
            self.diagnostics.error_with_help("no_parent", &clause.span, message, help);
        }
        Some(TriggerClause {
            kind: match text.kind {
                TriggerKeyword::When => EdgeKind::When,
                TriggerKeyword::WhenEach => EdgeKind::WhenEach,
                TriggerKeyword::While => EdgeKind::While,
            },
            condition: text.condition.value.to_string(),
            when,
            rearm: rearm.flatten(),
            parents: parents.into_iter().collect(),
            for_ns: text.lasting,
            until: text.until.as_ref().map(|until| until.value.to_string()),
            cooldown_ns: text.cooldown,
            in_same_window: query.same_window.is_some(),
            run_ns: query.run.as_ref().and_then(|run| match run.value {
                RunClause::Once => None,
                RunClause::For(ns) => Some(ns),
            }),
            within_ns: query.within.as_ref().map(|within| within.value),
        })
    }

    /// Checks a condition in which `QUERY is missing` and `surely(…)` may stand. `None` where it has an error.
    fn event_condition(&mut self, node: &ExprNode, scope: Scope<'_>) -> Option<EventCondition> {
        match &*node.value {
            Expr::And(of) => self.event_conditions(of, scope).map(EventCondition::And),
            Expr::Or(of) => self.event_conditions(of, scope).map(EventCondition::Or),
            Expr::Not(of) => self.event_condition(of, scope).map(|of| match of {
                EventCondition::Of(of) => EventCondition::Of(negation(of)),
                of => EventCondition::Not(Box::new(of)),
            }),
            Expr::IsMissing(of) => {
                if let Expr::Name(name) = &*of.value {
                    self.parent(&Spanned::new(name.clone(), of.span.clone()))?;
                    return Some(EventCondition::IsMissing(name.clone()));
                }
                let message = "expected the name of a query before 'is missing'";
                self.diagnostics.error("is_missing", &of.span, message);
                None
            }
            Expr::Call { function, arguments, .. } if function == "surely" => match &arguments[..] {
                [of] => self.event_condition(of, scope).map(|of| EventCondition::Surely(Box::new(of))),
                _ => {
                    let message = "wrong arguments: expected surely(CONDITION)";
                    self.diagnostics.error("arguments", &node.span, message);
                    None
                }
            },
            _ => self.condition(node, scope).map(EventCondition::Of),
        }
    }

    fn event_conditions(&mut self, of: &[ExprNode], scope: Scope<'_>) -> Option<Vec<EventCondition>> {
        // Each is checked, so that each reports its errors.
        let conditions: Vec<_> = of.iter().map(|node| self.event_condition(node, scope)).collect();
        conditions.into_iter().collect()
    }

    /// `q1.item`, where another query's answer may be read.
    pub(super) fn item_of(
        &mut self,
        query: &Spanned<String>,
        item: &ExprNode,
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        if !matches!(scope.context, Context::Events | Context::Derived) {
            let text = shortened(&node.value.to_string());
            let message = format!("'{text}' is of another query");
            let help = match scope.context {
                Context::Rows => format!(
                    "'FIELD = {text}', joined with others by 'and', pins a field; other comparisons belong into when"
                ),
                _ => format!("a query with 'from {}' reads its answers", query.value),
            };
            self.diagnostics.error_with_help("other_query", &node.span, message, help);
            return None;
        }
        let is_source = |name: &str| self.sources.iter().any(|source| source.value == name);
        if scope.context == Context::Derived && !is_source(&query.value) {
            let message = format!("'{}' is not in from", shortened(&query.value));
            self.diagnostics.error_with_help(
                "not_in_from",
                &query.span,
                message,
                "add it to the queries in from",
            );
            return None;
        }
        let (name, kind) = self.parent_item(query, item)?;
        let value = Expression::Field(format!("{}.{name}", query.value));
        Some(TypedExpression { value, kind, is_nullable: false })
    }

    /// The name and type of another query's column or key.
    fn parent_item(&mut self, query: &Spanned<String>, item: &ExprNode) -> Option<(String, ValueKind)> {
        let parent = self.parent(query)?;
        let (written, canonical) = match &*item.value {
            Expr::Literal(Literal::Text(text)) => (text.clone(), text.clone()),
            Expr::Name(name) => (name.clone(), field_name(name).to_owned()),
            other => (other.to_string(), other.to_string()),
        };
        if !parent.is_known {
            return Some((canonical, ValueKind::Unknown));
        }
        for name in [&written, &canonical] {
            if let Some(kind) = parent.item(name) {
                return Some((name.clone(), kind.clone()));
            }
        }
        let names = parent.items.iter().map(|(name, _)| name.as_str());
        let near = crate::names::nearest(&canonical, names)
            .map(|near| format!("'{}.{near}' may be meant; ", query.value));
        let message = format!("'{}' has no item '{}'", query.value, shortened(&written));
        let help = format!("{}its items are {}", near.unwrap_or_default(), parent.listed());
        self.diagnostics.error_with_help("unknown_item", &item.span, message, help);
        None
    }

    /// `FIELD = QUERY.ITEM` in `where`.
    fn binding(
        &mut self,
        node: &ExprNode,
        query: &QueryText,
        parents: &BTreeSet<String>,
    ) -> Option<FieldBinding> {
        let Expr::Compare(left, _, right) = &*node.value else { return None };
        let (field, of) = if Self::is_of_query(right) { (left, right) } else { (right, left) };
        let Expr::Of(parent, item) = &*of.value else { return None };
        let Expr::Name(name) = &*field.value else {
            self.diagnostics.error(
                "binding",
                &field.span,
                "expected a field that the other query's item pins",
            );
            return None;
        };
        let Some(info) = fields::find(name) else {
            let columns = no_columns();
            self.undefined(
                name,
                &field.span,
                Scope { context: Context::Rows, groups: &[], columns: &columns },
            );
            return None;
        };
        if !parents.contains(&parent.value) {
            let message =
                format!("'{}' is not in the query's when: its items pin nothing", shortened(&parent.value));
            let help = match &query.trigger {
                Some(_) => "a field is pinned by a query that triggers this one".to_owned(),
                None => format!("add 'when' with a condition on {}", shortened(&parent.value)),
            };
            self.diagnostics.error_with_help("binding_parent", &of.span, message, help);
            return None;
        }
        if info.name == "node_id" {
            let is_node = matches!(&*item.value, Expr::Name(name) if field_name(name) == "node_id");
            if !is_node {
                self.diagnostics.error(
                    "binding",
                    &item.span,
                    "node_id is pinned by the other query's node_id",
                );
                return None;
            }
            self.parent(parent)?;
            return Some(FieldBinding {
                field: info.name,
                parent: parent.value.clone(),
                item: "node_id".to_owned(),
            });
        }
        self.use_field(&info, &field.span)?;
        let (item_name, kind) = self.parent_item(parent, item)?;
        let fits = kind == info.kind
            || kind == ValueKind::Unknown
            || matches!((&kind, &info.kind), (ValueKind::Number(_), ValueKind::Number(_)));
        if !fits {
            let message =
                format!("'{}' is {}, but '{}.{item_name}' is {kind}", info.name, info.kind, parent.value);
            self.diagnostics.error("type", &node.span, message);
            return None;
        }
        Some(FieldBinding { field: info.name, parent: parent.value.clone(), item: item_name })
    }

    /// Reports a structure that there is not. Names have `_` where those of `--task` have `-`.
    fn check_structure(&mut self, query: &QueryText) {
        let Some(using) = &query.using else { return };
        let names = crate::sketch::structures();
        let written = &using.value.structure;
        if self.diagnostics.is_full() || names.iter().any(|name| name.eq_ignore_ascii_case(&written.value)) {
            return;
        }
        let near = crate::names::nearest(&written.value, names.iter().map(String::as_str));
        let near = near.map(|near| format!("'{near}' may be meant; ")).unwrap_or_default();
        let message = format!("there is no structure '{}'", shortened(&written.value));
        let help = format!("{near}structures are {}", names.join(", "));
        self.diagnostics.error_with_help("unknown_structure", &written.span, message, help);
    }

    /// Reports parts of a trigger that do not go together, and captures that are too large.
    fn check_parts(&mut self, query: &QueryText, trigger: Option<&TriggerClause>) {
        let is_while = trigger.is_some_and(|trigger| trigger.kind == EdgeKind::While);
        if let Some(clause) = query.same_window.as_ref().filter(|_| is_while) {
            let message = "'while' answers in the windows in which the condition holds";
            self.diagnostics.error_with_help("same_window", &clause.span, message, "remove 'in same window'");
        }
        if let Some(run) = query.run.as_ref().filter(|_| is_while || query.same_window.is_some()) {
            let what = if is_while { "'while' says" } else { "'in same window' says" };
            let message = format!("{what} in which windows the query answers");
            self.diagnostics.error_with_help("same_window", &run.span, message, "remove 'run'");
        }
        if let Some(capture) = query.capture.as_ref().filter(|capture| capture.value > MOST_CAPTURED) {
            let message = format!(
                "capture {} packets could fill the disk: at most {MOST_CAPTURED} are stored at a time",
                capture.value
            );
            self.diagnostics.error("capture", &capture.span, message);
        }
    }

    /// Reports a capture of a query that reads answers, not packets.
    fn captures_packets(&mut self, query: &QueryText, outline: Option<&Outline>) {
        let reads_earlier = outline.is_some_and(|outline| !outline.used.earlier.is_empty());
        let reads_answers = reads_earlier || !super::sources(query).is_empty();
        if let Some(capture) = query.capture.as_ref().filter(|_| reads_answers) {
            let message = "the query reads answers: it has no packets to capture";
            let help = "start another query with 'capture' by the same 'when'";
            self.diagnostics.error_with_help("capture", &capture.span, message, help);
        }
    }

    /// Reports clauses that mean something only in a triggered query.
    fn check_trigger_clauses(&mut self, query: &QueryText) {
        if query.trigger.is_some() {
            return;
        }
        let clauses = [
            ("in same window", query.same_window.as_ref().map(|clause| &clause.span)),
            ("run", query.run.as_ref().map(|clause| &clause.span)),
            ("within", query.within.as_ref().map(|clause| &clause.span)),
            ("capture", query.capture.as_ref().map(|clause| &clause.span)),
        ];
        for (name, span) in clauses {
            if let Some(span) = span {
                let message = format!("'{name}' belongs to a query that another one triggers");
                self.diagnostics.error_with_help("needs_when", span, message, "add 'when', or remove it");
            }
        }
    }
}

/// The queries that a condition is about.
fn parents_of(node: &ExprNode, parents: &mut BTreeSet<String>) {
    match &*node.value {
        Expr::Of(query, _) => {
            parents.insert(query.value.clone());
        }
        Expr::IsMissing(of) => {
            if let Expr::Name(name) = &*of.value {
                parents.insert(name.clone());
            }
        }
        Expr::Literal(_) | Expr::Name(_) | Expr::Prefixed(..) | Expr::Star => {}
        Expr::Call { arguments: of, .. } | Expr::And(of) | Expr::Or(of) => {
            of.iter().for_each(|node| parents_of(node, parents))
        }
        Expr::Negative(of) | Expr::Offset(of, _) | Expr::Not(of) | Expr::IsNull { value: of, .. } => {
            parents_of(of, parents)
        }
        Expr::Arithmetic(left, _, right) | Expr::Compare(left, _, right) => {
            parents_of(left, parents);
            parents_of(right, parents);
        }
        Expr::In { value, list, .. } => {
            parents_of(value, parents);
            list.iter().for_each(|node| parents_of(node, parents));
        }
        Expr::Like { value, pattern, .. } => {
            parents_of(value, parents);
            parents_of(pattern, parents);
        }
        Expr::Between { value, low, high, .. } => {
            [value, low, high].into_iter().for_each(|node| parents_of(node, parents))
        }
    }
}
