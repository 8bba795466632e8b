//! Functions of SQL that Equery has under another name, or says in another way.

use super::aggregates::{functions, is_aggregate, is_known};
use super::values::no_columns;
use super::{Checker, Context, Scope};
use crate::ast::{Expr, ExprNode, QueryText, Spanned};
use crate::diagnostic::Diagnostics;
use crate::earlier::{self, EarlierReference};
use crate::executor;
use crate::fields;
use crate::lexer::shortened;
use crate::literal::{Literal, duration_text};
use crate::sql_length::{is_of_calendar, sql_length_ns, unit_ns, until_now};
use crate::whole_flows::{expand_to_whole_flows, replace_by_whole_flows};
use task::query::{Grouping, OutputColumn, Over, Query};

/// The reason why the first and the last packet of several flows are not known.
const NO_ORDER: &str = ", as the order of packets is not kept";

/// The advice that says how to ask for a part of the time.
const WHICH_TIME: &str = "leave it out, and say which time behind the query: 'last 1h', or 'from \"2026-01-31\" to \"2026-02-01\"'";

/// The advice for windows of months and years.
const OF_CALENDAR: &str = "windows are of one length, and these are not: leave it out, also of groupby, and ask for each, as with 'from \"2026-01-01\" to \"2026-02-01\"' behind the query";

/// The replacement of a call of an SQL function.
enum Instead {
    /// The value that a flow has, the least or the greatest of that over several flows, and the word for which of these two it is.
    End(ExprNode, ExprNode, &'static str),
    /// A function of Equery: the first of these calls that the query may have.
    Function(&'static str, Vec<ExprNode>),
    /// The first of these values that the query may have, and what is said behind it.
    Value(Vec<ExprNode>, &'static str),
    /// The value alone, which stays null where it is not known, so that no function replaces the call.
    NotNull(ExprNode),
    /// An answer for each time of this length, nanoseconds.
    Each(u64),
    /// A sentence that says how to ask instead.
    Advice(String),
}

impl Checker<'_, '_> {
    /// Reports a call of a function that there is not.
    pub(super) fn unknown_function(
        &mut self,
        function: &str,
        arguments: &[ExprNode],
        node: &ExprNode,
        scope: Scope<'_>,
    ) {
        let help = match instead(function, arguments, node) {
            Some(Instead::Function(name, candidates)) => {
                if is_aggregate(name) && self.check_place(function, &candidates, node, scope).is_none() {
                    return;
                }
                let written = self.written(&candidates, node, scope).map(|text| format!("write '{text}'"));
                let known = functions().find(|known| known.word == name);
                written.or_else(|| known.map(|known| format!("{} is {}", known.usage, known.meaning)))
            }
            Some(Instead::Value(candidates, more)) => {
                let written =
                    self.written(&candidates, node, scope).map(|text| format!("write '{text}'{more}"));
                written.or_else(|| Some(format!("leave it out{more}")))
            }
            Some(Instead::End(of_flow, end, words)) => {
                let written =
                    self.written(&[of_flow], node, scope).map(|text| format!("write '{text}'{NO_ORDER}"));
                let end = || self.written(&[end], node, scope);
                written.or_else(|| {
                    end().map(|text| format!("'{text}' is {words} of what its flows have{NO_ORDER}"))
                })
            }
            Some(Instead::NotNull(value)) => Some(self.not_null(&value)),
            // A condition on the time is that on which time is asked for.
            Some(Instead::Each(_)) if scope.context == Context::Rows => Some(WHICH_TIME.to_owned()),
            Some(Instead::Each(length_ns)) => Some(each(length_ns)),
            Some(Instead::Advice(advice)) => Some(advice),
            None => None,
        };
        let help = help.unwrap_or_else(|| {
            let known: Vec<&str> = functions().map(|known| known.word).collect();
            match crate::names::nearest(function, known.iter().copied()) {
                Some(near) => format!("'{near}' may be meant"),
                None => format!("functions are {}", known.join(", ")),
            }
        });
        let message = format!("there is no function '{}'", shortened(function));
        self.diagnostics.error_with_help("unknown_function", &node.span, message, help);
    }

    /// Reports a call in `groupby`, which has fields alone.
    pub(super) fn grouped_call(&mut self, function: &str, arguments: &[ExprNode], node: &ExprNode) {
        let columns = no_columns();
        let scope = Scope { context: Context::Flows, groups: &[], columns: &columns };
        let is_field = |value: &ExprNode| match &*value.value {
            Expr::Name(name) => fields::find(name).is_some_and(|field| !field.is_fractional),
            _ => false,
        };
        match instead(function, arguments, node) {
            Some(Instead::Advice(_) | Instead::Each(_)) => {
                return self.unknown_function(function, arguments, node, scope);
            }
            Some(Instead::Value(values, _)) if values.first().is_some_and(is_field) => {
                return self.unknown_function(function, arguments, node, scope);
            }
            Some(Instead::End(value, ..)) if is_field(&value) => {
                return self.unknown_function(function, arguments, node, scope);
            }
            _ => {}
        }
        let message =
            format!("expected a field to group by, but found '{}'", shortened(&node.value.to_string()));
        self.diagnostics.error("group", &node.span, message);
    }

    /// Returns advice for a function that has another value in the place of null.
    fn not_null(&self, value: &ExprNode) -> String {
        let stays = "what is not known stays null";
        if let Expr::Name(name) = &*value.value
            && fields::find(name).is_some_and(|field| !field.is_nullable)
        {
            return stays.to_owned();
        }
        let columns = no_columns();
        let of_flows = Scope { context: Context::Flows, groups: &[], columns: &columns };
        let candidates = std::slice::from_ref(value);
        let (clause, text) = match calls(value, is_aggregate) {
            true => ("having", self.first_usable_in_having(candidates)),
            false => ("where", self.first_usable(candidates, of_flows)),
        };
        text.map_or_else(
            || stays.to_owned(),
            |text| format!("{stays}: '{clause} {text} is not null' leaves it out"),
        )
    }

    /// Returns what to write in the place of a call: the first candidate that the query may have there, or the whole query, where its filter has to
    /// read what whole flows have as the candidate does.
    fn written(&self, candidates: &[ExprNode], node: &ExprNode, scope: Scope<'_>) -> Option<String> {
        let text = self.first_usable(candidates, scope);
        let is_filtered = self.query.as_ref().is_some_and(|query| query.filter.is_some());
        if text.is_some() || !is_filtered {
            return text;
        }
        let mut query = self.query.clone()?;
        query.filter.iter_mut().for_each(|filter| filter.value = replace_by_whole_flows(&filter.value));
        let usable = candidates.iter().find(|candidate| self.is_usable_in(candidate, scope, Some(&query)))?;
        let usable = usable.clone();
        for item in query.select.iter_mut().flat_map(|select| &mut select.value) {
            replace(&mut item.value, node, &usable);
        }
        for item in query.order.iter_mut().flat_map(|order| &mut order.value) {
            replace(&mut item.value, node, &usable);
        }
        query.having.iter_mut().for_each(|having| replace(&mut having.value, node, &usable));
        query.to_advise().filter(|_| !calls_unknown(&query))
    }

    /// Returns the text of the first candidate that a query may have in this place.
    pub(super) fn first_usable(&self, candidates: &[ExprNode], scope: Scope<'_>) -> Option<String> {
        let usable = candidates.iter().find(|candidate| self.is_usable(candidate, scope))?;
        let text = usable.value.to_string();
        // What is too long to be shown is not to be typed either.
        let is_whole = shortened(&text) == text;
        is_whole.then_some(text)
    }

    /// Returns whether a query with these groups may have this value.
    fn is_usable(&self, candidate: &ExprNode, scope: Scope<'_>) -> bool {
        self.is_usable_in(candidate, scope, self.query.as_ref())
    }

    /// Returns whether this query with these groups may have this value.
    fn is_usable_in(&self, candidate: &ExprNode, scope: Scope<'_>, query: Option<&QueryText>) -> bool {
        // Each unknown function would have candidates of its own, which are judged when it is replaced.
        if has_unknown_function(candidate) {
            return false;
        }
        let mut diagnostics = Diagnostics::new("");
        let mut checker = self.apart(&mut diagnostics);
        // A filter that is wrong itself is reported as what it is.
        let is_of_traffic =
            !matches!(scope.context, Context::Derived | Context::Events | Context::Rows | Context::Aggregate);
        let filter = query.filter(|_| is_of_traffic).and_then(|query| self.plain_filter(query));
        let value = checker.value(candidate, scope);
        let earlier: Vec<EarlierReference> =
            checker.used.earlier.into_iter().map(|(earlier, _)| earlier).collect();
        let Some(value) = value.filter(|_| diagnostics.errors() == 0) else { return false };
        if scope.context == Context::Derived {
            return true;
        }
        let is_of_flows = scope.context == Context::Flows && !calls(candidate, is_aggregate);
        let plan = Query {
            name: String::new(),
            filter,
            group: match scope.groups {
                [] if is_of_flows => Grouping::Flows,
                [] => Grouping::All,
                groups => Grouping::By(groups.to_vec()),
            },
            columns: vec![OutputColumn::new("value", value.value)],
            having: None,
            order: Vec::new(),
            limit: None,
            over: Over::Window,
            bound: Vec::new(),
            counting: None,
        };
        let plan = if earlier.is_empty() { plan } else { earlier::base(&plan, &earlier) };
        executor::columns(&plan, self.options.key.as_deref()).is_ok()
    }

    /// Returns the text of the first candidate that `having` may have, in a query whose groups are not known.
    pub(super) fn first_usable_in_having(&self, candidates: &[ExprNode]) -> Option<String> {
        let columns = no_columns();
        self.first_usable(candidates, Scope { context: Context::Total, groups: &[], columns: &columns })
    }
}

/// Returns whether a function of this kind is called anywhere in an expression.
fn calls(node: &ExprNode, is_it: impl Fn(&str) -> bool) -> bool {
    node.value.any(|of| matches!(of, Expr::Call { function, .. } if is_it(function)))
}

/// Puts a value in the place of another one, wherever that stands.
fn replace(node: &mut ExprNode, old: &ExprNode, new: &ExprNode) {
    if node.span == old.span && node.value == old.value {
        node.value.clone_from(&new.value);
        return;
    }
    node.value.parts().into_iter().for_each(|part| replace(part, old, new));
}

/// Returns whether a query calls a function anywhere that there is not.
fn calls_unknown(query: &QueryText) -> bool {
    let items = query.select.iter().flat_map(|select| &select.value).map(|item| &item.value);
    let order = query.order.iter().flat_map(|order| &order.value).map(|item| &item.value);
    let conditions = query.having.iter().chain(&query.filter).map(|condition| &condition.value);
    items.chain(order).chain(conditions).any(has_unknown_function)
}

fn has_unknown_function(node: &ExprNode) -> bool {
    calls(node, |function| !is_known(function))
}

/// Returns what to write in the place of a call of an SQL function; `None` if it is none.
fn instead(function: &str, arguments: &[ExprNode], node: &ExprNode) -> Option<Instead> {
    let at = |expression| Spanned::new(Box::new(expression), node.span.clone());
    let literal = |literal| at(Expr::Literal(literal));
    let first = arguments.first().cloned().unwrap_or_else(|| at(Expr::Name("total_byte".to_owned())));
    let call = |function: &'static str, arguments: Vec<ExprNode>, distinct| {
        at(Expr::Call { function: function.to_owned(), distinct, arguments })
    };
    let of = |function: &'static str, arguments: Vec<ExprNode>| {
        Some(Instead::Function(function, expand_to_whole_flows(call(function, arguments, false))))
    };
    let quantile = |value: ExprNode, share: Option<&ExprNode>| {
        let share = at(quantile_share(share));
        of("quantile", vec![value, share])
    };
    match function {
        "mean" | "average" => of("avg", vec![first]),
        "median" => of("quantile", vec![first, literal(Literal::Float(0.5))]),
        "percentile_cont" | "percentile_disc" if matches!(arguments, [ExprNode { value, .. }] if matches!(**value, Expr::Literal(_))) => {
            quantile(at(Expr::Name("total_byte".to_owned())), Some(&first))
        }
        "percentile" | "percentile_cont" | "percentile_disc" | "approx_quantile" | "approx_percentile" => {
            quantile(first, arguments.get(1))
        }
        "std" | "stdev" | "stddev_pop" => of("stddev", vec![first]),
        "stddev_samp" => Some(Instead::Advice(
            "stddev is that of the population, divided by the number of values".to_owned(),
        )),
        "approx_count_distinct" | "count_distinct" | "uniq" => {
            Some(Instead::Function("count", vec![call("count", vec![first], true)]))
        }
        "total" => of("sum", vec![first]),
        // Values weigh by bytes otherwise.
        "mode" => {
            of("top", vec![literal(Literal::Integer(1)), first, call("count", vec![at(Expr::Star)], false)])
        }
        "lag" => of("prev", vec![first]),
        "first" | "first_value" | "last" | "last_value" | "any_value" | "arbitrary" => {
            let (end, words) = match function.starts_with("last") {
                true => ("max", "the greatest"),
                false => ("min", "the least"),
            };
            let of_flow = replace_by_whole_flows(&first);
            let end = call(end, vec![of_flow.clone()], false);
            Some(Instead::End(of_flow, end, words))
        }
        "now" | "current_timestamp" => Some(Instead::Advice(until_now(3_600_000_000_000))),
        "coalesce" | "ifnull" | "nvl" | "nullif" => Some(Instead::NotNull(first)),
        "round" | "floor" | "ceil" | "ceiling" | "trunc" | "truncate" => {
            Some(Instead::Value(vec![first], ", and round where its answer is read"))
        }
        "countif" => of("count_if", vec![first]),
        "if" | "iif" | "decode" | "sumif" | "sum_if" => {
            Some(Instead::Advice("ask a query for each case, with its condition in 'where'".to_owned()))
        }
        "row_number" | "rank" | "dense_rank" => Some(Instead::Advice(
            "leave it out: rows come in the order of their ranks, and 'limit 10' has the first 10".to_owned(),
        )),
        "rollup" | "cube" => {
            let groups: Vec<String> = arguments.iter().map(|group| group.value.to_string()).collect();
            Some(Instead::Advice(format!(
                "write '{}', and ask another query for each total",
                groups.join(", ")
            )))
        }
        "date_trunc" | "time_bucket" | "date_bin" | "tumble" => Some(windows_of(arguments)),
        "date" | "to_date" => Some(Instead::Each(86_400_000_000_000)),
        _ => None,
    }
}

/// Returns the share of a quantile, which SQL's functions take as a percentage too; 95 % where none is given.
fn quantile_share(share: Option<&ExprNode>) -> Expr {
    match share.map(|share| &*share.value) {
        Some(Expr::Literal(Literal::Integer(percent))) if *percent > 1 => {
            Expr::Literal(Literal::Percent(*percent as f64))
        }
        Some(Expr::Literal(Literal::Float(percent))) if *percent > 1.0 => {
            Expr::Literal(Literal::Percent(*percent))
        }
        Some(share) => share.clone(),
        None => Expr::Literal(Literal::Percent(95.0)),
    }
}

/// Returns what to write in the place of a function that cuts times into windows, by the least length among its arguments; an hour where none has one.
fn windows_of(arguments: &[ExprNode]) -> Instead {
    let lengths = arguments.iter().filter_map(|of| match &*of.value {
        Expr::Literal(Literal::Text(text)) => sql_length_ns(text),
        Expr::Literal(Literal::Duration(ns)) => Some(*ns).filter(|ns| *ns != 0),
        Expr::Name(unit) => unit_ns(&unit.to_ascii_lowercase()),
        _ => None,
    });
    let is_of_calendar = |of: &ExprNode| match &*of.value {
        Expr::Literal(Literal::Text(text)) | Expr::Name(text) => is_of_calendar(text),
        _ => false,
    };
    match lengths.min() {
        Some(length_ns) => Instead::Each(length_ns),
        None if arguments.iter().any(is_of_calendar) => Instead::Advice(OF_CALENDAR.to_owned()),
        None => Instead::Each(3_600_000_000_000),
    }
}

/// Says how to ask for an answer for each time of this length.
fn each(length_ns: u64) -> String {
    let every = duration_text(length_ns);
    format!("leave it out, also of groupby, and write 'every {every}': an answer for each {every}")
}
