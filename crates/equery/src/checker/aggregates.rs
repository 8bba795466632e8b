//! Aggregates.

use super::values::{CheckedOperand, no_columns, prefix_lengths};
use super::{Checker, Context, Scope, TypedExpression};
use crate::ast::{Expr, ExprNode};
use crate::earlier::EarlierWindows;
use crate::fields::{self, FieldInfo};
use crate::kind::{Unit, ValueKind};
use crate::lexer::shortened;
use crate::literal::Literal;
use crate::variables::VariableValue;
use crate::whole_flows::expand_to_whole_flows;
use crate::word::Word;
use flow::{Aggregation, Field};
use task::query::{AggregateFunction, Expression, GroupField, ResultKind, Signature, ValueUse, ValueWeight};

/// The functions that do not aggregate rows.
const OTHERS: [Word; 3] = [
    Word::new("prev", "prev(VALUE)", "the value of the window before"),
    Word::new("avg_over", "avg_over(VALUE, DURATION)", "the mean over the windows before this one"),
    Word::new("surely", "surely(CONDITION)", "whether it holds whatever the packets that were lost"),
];

/// Returns all functions; the first ones aggregate rows.
pub(crate) fn functions() -> impl Iterator<Item = Word> {
    let word = |function: AggregateFunction| Word::new(function.name, function.usage, function.meaning);
    AggregateFunction::all().map(word).chain(OTHERS)
}

/// Returns true if the function aggregates rows.
pub(crate) fn is_aggregate(function: &str) -> bool {
    AggregateFunction::all().any(|known| known.name == function)
}

/// Returns whether one of these calls gives a list of values, with which nothing can be compared.
fn is_top(calls: &[ExprNode]) -> bool {
    calls.iter().any(|call| matches!(&*call.value, Expr::Call { function, .. } if function == "top"))
}

/// Returns whether Equery has a function of this name.
pub(super) fn is_known(function: &str) -> bool {
    functions().any(|known| known.word == function)
}

impl Checker<'_, '_> {
    pub(super) fn call(
        &mut self,
        function: &str,
        distinct: bool,
        arguments: &[ExprNode],
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        let Some(Word { word: name, usage, .. }) = functions().find(|known| known.word == function) else {
            self.unknown_function(function, arguments, node, scope);
            return None;
        };
        if distinct && name != "count" {
            self.diagnostics.error("distinct", &node.span, format!("'distinct' belongs into count: {usage}"));
            return None;
        }
        match (name, arguments) {
            ("prev", [value]) => self.earlier(value, EarlierWindows::Previous, node, scope),
            ("avg_over", [value, length]) => {
                let Some(ns) = self.duration(length) else {
                    self.diagnostics.error(
                        "arguments",
                        &length.span,
                        format!("expected a duration such as 10m: {usage}"),
                    );
                    return None;
                };
                self.earlier(value, EarlierWindows::MeanOver(ns), node, scope)
            }
            ("surely", _) => {
                self.diagnostics.error(
                    "condition_as_value",
                    &node.span,
                    "surely(CONDITION) is a condition, not a value",
                );
                None
            }
            ("prev" | "avg_over", _) => self.wrong_arguments(usage, node),
            (name, arguments) => {
                self.check_place(name, &expand_to_whole_flows(node.clone()), node, scope)?;
                let function = AggregateFunction::all().find(|known| known.name == name)?;
                self.aggregate(&function, arguments, node, scope)
            }
        }
    }

    /// A length of time, by itself or by a variable.
    fn duration(&self, node: &ExprNode) -> Option<u64> {
        let literal = match &*node.value {
            Expr::Literal(literal) => literal,
            Expr::Name(name) => match self.variables.get(name) {
                Some(VariableValue::Constant(constant)) if !constant.is_negative => &constant.literal,
                _ => return None,
            },
            _ => return None,
        };
        if let Literal::Duration(ns) = literal { Some(*ns).filter(|ns| *ns != 0) } else { None }
    }

    fn wrong_arguments<T>(&mut self, usage: &str, node: &ExprNode) -> Option<T> {
        self.diagnostics.error("arguments", &node.span, format!("wrong arguments: expected {usage}"));
        None
    }

    /// Returns whether an aggregate may stand in this place, and reports it if not. `name` is the function as the query has it. `calls` are texts
    /// for another place, of which the report has the first that may stand there.
    pub(super) fn check_place(
        &mut self,
        name: &str,
        calls: &[ExprNode],
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<()> {
        let (message, help) = match scope.context {
            Context::Rows => (
                format!("'{name}' aggregates, and where filters rows before that"),
                match self.first_usable_in_having(calls) {
                    _ if is_top(calls) => "it is a column of its own, in 'select'".to_owned(),
                    Some(text) => format!("use 'having', as in 'having {text} > …'"),
                    None => "use 'having'".to_owned(),
                },
            ),
            Context::Aggregate => (
                format!("'{name}' is within an aggregate: aggregates do not nest"),
                "aggregate fields and arithmetic on them".to_owned(),
            ),
            Context::Events => (
                format!("'{name}' alone has no meaning in when"),
                "write QUERY.ITEM, such as q1.count(src_addr)".to_owned(),
            ),
            Context::Derived => (
                format!("'{name}' aggregates, but a derived query reads answers"),
                "write QUERY.ITEM, such as q1.sum(total_byte)".to_owned(),
            ),
            Context::Flows | Context::Groups | Context::Total => return Some(()),
        };
        self.diagnostics.error_with_help("aggregate_place", &node.span, message, help);
        None
    }

    /// A call of a function that aggregates rows.
    fn aggregate(
        &mut self,
        function: &AggregateFunction,
        arguments: &[ExprNode],
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        let AggregateFunction { name, usage, is_nullable, .. } = *function;
        let form = function.forms.iter().find(|(signature, _)| fits(*signature, arguments));
        let Some((signature, result)) = form else { return self.wrong_arguments(usage, node) };
        let mut of_values = ValueKind::Unknown;
        let aggregate = match (*signature, arguments) {
            (Signature::Field(aggregate), [of]) => aggregate(self.counted(of, name)?),
            (Signature::FieldAndWeight(aggregate), [of, by]) => {
                let (field, weight) = (self.counted(of, name), self.weight(by));
                aggregate(field?, weight?)
            }
            (Signature::NumberAndField(aggregate), [most, of]) => {
                let (most, field) = (self.most(most, usage), self.counted(of, name));
                aggregate(most?, field?)
            }
            (Signature::NumberFieldAndWeight(aggregate), [most, of, by]) => {
                let (most, field, weight) = (self.most(most, usage), self.counted(of, name), self.weight(by));
                aggregate(most?, field?, weight?)
            }
            (Signature::Value(by, aggregate), [of]) => {
                let (value, kind) = self.measured(name, by, of, scope)?;
                of_values = kind;
                aggregate(Box::new(value))
            }
            (Signature::ValueAndShare(by, aggregate), [of, share]) => {
                let (value, kind) = self.measured(name, by, of, scope)?;
                of_values = kind;
                aggregate(Box::new(value), self.share(share, usage)?)
            }
            (Signature::Condition(aggregate), [condition]) => {
                let columns = no_columns();
                let scope = Scope { context: Context::Aggregate, groups: scope.groups, columns: &columns };
                aggregate(Box::new(self.condition(condition, scope)?))
            }
            (Signature::Rows(aggregate), _) => aggregate(),
            _ => return self.wrong_arguments(usage, node),
        };
        let kind = match (*result, of_values) {
            (ResultKind::Number(unit), _) => ValueKind::Number(Unit::named(unit)),
            (ResultKind::PerSecond, ValueKind::Number(unit)) => ValueKind::Number(unit.per_second()),
            (ResultKind::PerSecond | ResultKind::OfValue, kind) => kind,
            (ResultKind::List, _) => ValueKind::Top,
        };
        Some(TypedExpression { value: Expression::Aggregate(aggregate), kind, is_nullable })
    }

    /// The value that is aggregated, of each row.
    fn measured(
        &mut self,
        name: &str,
        by: ValueUse,
        of: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<(Expression, ValueKind)> {
        let columns = no_columns();
        let scope = Scope { context: Context::Aggregate, groups: scope.groups, columns: &columns };
        let typed = self.value(of, scope)?;
        let field = match &*of.value {
            Expr::Name(name) => fields::find(name),
            _ => None,
        };
        let is_refused = match &typed.kind {
            ValueKind::Number(_)
            | ValueKind::Unknown
            | ValueKind::Port
            | ValueKind::Protocol
            | ValueKind::Identifier => false,
            ValueKind::Time => by != ValueUse::Compared,
            _ => true,
        };
        if matches!(typed.kind, ValueKind::Port | ValueKind::Protocol | ValueKind::Identifier)
            && by != ValueUse::Compared
        {
            let text = shortened(&of.value.to_string());
            let message = format!("'{text}' is {}: {name} computes with it as a number", typed.kind);
            self.diagnostics.note("identifier", &of.span, message);
        }
        if is_refused {
            let text = shortened(&of.value.to_string());
            let message = format!("'{text}' is {}: '{name}' of it has no meaning", typed.kind);
            let help = match typed.kind {
                ValueKind::Time => {
                    format!("min({text}) and max({text}) are times; duration is the time between")
                }
                _ => format!("count({text}) counts its values"),
            };
            self.diagnostics.error_with_help("aggregate_type", &of.span, message, help);
            return None;
        }
        if let Some(field) = field {
            self.judge(name, by, &field, of)?;
        }
        Some((typed.value, typed.kind))
    }

    /// Refuses the rate of a field that is not a counter. Adds a note where the aggregate of a field may not be what the author expects.
    fn judge(&mut self, name: &str, by: ValueUse, field: &FieldInfo, of: &ExprNode) -> Option<()> {
        let aggregation = field.aggregation;
        if by == ValueUse::Counted && !field.is_counter() {
            let message = format!("'{}' is not a counter: it has no rate", field.name);
            let help = "rate(total_byte) and rate(total_count) are rates";
            self.diagnostics.error_with_help("rate", &of.span, message, help);
            return None;
        }
        // The least and the greatest of a field in which packets of a flow may differ are of all packets.
        let is_of_packets = Field::named(&field.name).is_some_and(|field| field.of_flow.is_some());
        if aggregation == Some(Aggregation::Last) && !is_of_packets {
            let message = format!("{name}({}) aggregates the flows' last values", field.name);
            self.diagnostics.note("last_values", &of.span, message);
        } else if by == ValueUse::Added && matches!(aggregation, Some(Aggregation::Min | Aggregation::Mean)) {
            let message = format!("{name}({}) adds one value of each flow", field.name);
            self.diagnostics.note("sum_of_values", &of.span, message);
        }
        Some(())
    }

    /// The field whose values are counted.
    fn counted(&mut self, of: &ExprNode, function: &str) -> Option<GroupField> {
        let (name, prefix) = match &*of.value {
            Expr::Name(name) => (name, None),
            Expr::Prefixed(name, lengths) => (name, Some(prefix_lengths(lengths))),
            _ => {
                let message = format!("'{function}' counts the values of a field, not of an expression");
                self.diagnostics.error("counted", &of.span, message);
                return None;
            }
        };
        self.grouping_field(name, prefix, of)
    }

    /// A field that rows are grouped by, or whose values are counted.
    pub(super) fn grouping_field(
        &mut self,
        name: &str,
        prefix: Option<[u8; 2]>,
        of: &ExprNode,
    ) -> Option<GroupField> {
        let Some(field) = fields::find(name) else {
            let columns = no_columns();
            let scope = Scope { context: Context::Rows, groups: &[], columns: &columns };
            self.undefined_field(name, of, scope);
            return None;
        };
        self.use_field(&field, &of.span)?;
        if field.is_fractional {
            let message = format!(
                "'{}' is a number with a fraction: its values are not grouped or counted",
                field.name
            );
            self.diagnostics.error("fractional", &of.span, message);
            return None;
        }
        Some(GroupField { field: field.name, prefix })
    }

    fn undefined_field(&mut self, name: &str, of: &ExprNode, scope: Scope<'_>) {
        if self.variables.get(name).is_some() {
            let message = format!("'{}' is a variable: expected a field", shortened(name));
            self.diagnostics.error("variable_as_field", &of.span, message);
        } else {
            self.undefined(name, &of.span, scope);
        }
    }

    /// A literal argument, by itself or by a variable.
    fn literal(&mut self, node: &ExprNode) -> Option<Literal> {
        let columns = no_columns();
        match self.operand(node, Scope { context: Context::Aggregate, groups: &[], columns: &columns })? {
            CheckedOperand::Constant(constant) if !constant.is_negative => Some(constant.literal),
            CheckedOperand::Bare(name) => {
                self.undefined(
                    &name,
                    &node.span,
                    Scope { context: Context::Aggregate, groups: &[], columns: &columns },
                );
                None
            }
            _ => {
                self.diagnostics.error("arguments", &node.span, "expected a number");
                None
            }
        }
    }

    fn share(&mut self, node: &ExprNode, usage: &str) -> Option<f64> {
        let share = match self.literal(node)? {
            Literal::Float(share) => share,
            Literal::Integer(share) => share as f64,
            Literal::Percent(percent) => percent / 100.0,
            _ => f64::NAN,
        };
        if !(0.0..=1.0).contains(&share) {
            self.diagnostics.error(
                "share",
                &node.span,
                format!("expected a share from 0 to 1, or from 0% to 100%: {usage}"),
            );
            return None;
        }
        Some(share)
    }

    fn most(&mut self, node: &ExprNode, usage: &str) -> Option<usize> {
        let number = match self.literal(node)? {
            Literal::Integer(number) if number != 0 => usize::try_from(number).ok(),
            _ => None,
        };
        if number.is_none() {
            self.diagnostics.error(
                "top",
                &node.span,
                format!("expected a number of values above zero: {usage}"),
            );
        }
        number
    }

    /// Reads the weight of values: a counter, its sum, or `count(*)`.
    fn weight(&mut self, by: &ExprNode) -> Option<ValueWeight> {
        let name = match &*by.value {
            Expr::Call { function, arguments, distinct: false } => {
                match (function.as_str(), &arguments[..]) {
                    ("count", []) => return Some(ValueWeight::Rows),
                    ("count", [of]) if *of.value == Expr::Star => return Some(ValueWeight::Rows),
                    ("sum", [of]) => match &*of.value {
                        Expr::Name(name) => Some(name),
                        _ => None,
                    },
                    _ => None,
                }
            }
            Expr::Name(name) => Some(name),
            _ => None,
        };
        let field = name.and_then(|name| fields::find(name)).filter(FieldInfo::is_counter);
        let Some(field) = field else {
            let message = "values weigh by a counter, such as total_byte or total_count, or by count(*)";
            self.diagnostics.error("weight", &by.span, message);
            return None;
        };
        self.use_field(&field, &by.span)?;
        Some(ValueWeight::Sum(field.name))
    }
}

/// Returns whether a call has such arguments.
fn fits(signature: Signature, arguments: &[ExprNode]) -> bool {
    match (signature, arguments) {
        (Signature::Rows(_), []) => true,
        (Signature::Rows(_), [of]) => *of.value == Expr::Star,
        (Signature::Field(_) | Signature::Value(..) | Signature::Condition(_), [_]) => true,
        (
            Signature::FieldAndWeight(_) | Signature::NumberAndField(_) | Signature::ValueAndShare(..),
            [_, _],
        ) => true,
        (Signature::NumberFieldAndWeight(_), [_, _, _]) => true,
        _ => false,
    }
}
