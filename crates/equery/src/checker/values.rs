//! Values: fields, variables, arithmetic.

use super::{Checker, Context, QueryColumns, Scope, TypedExpression};
use crate::ast::{Expr, ExprNode};
use crate::constant::SignedLiteral;
use crate::earlier::EarlierWindows;
use crate::fields::{self, FieldInfo};
use crate::kind::{Unit, ValueKind};
use crate::lexer::shortened;
use crate::literal::{Literal, duration_text};
use crate::names;
use crate::parser::ExpressionText;
use crate::sql_length::until_now;
use crate::variables::VariableValue;
use std::ops::Range;
use task::query::{Expression, GroupField, Operator};

/// A side of a comparison or of an operator.
pub(super) enum CheckedOperand {
    Value(TypedExpression),
    Constant(SignedLiteral),
    /// A name that means nothing yet: what it is compared with may give it a meaning.
    Bare(String),
}

/// The advice for a field that is neither grouped by nor aggregated.
const SUGGESTED_GROUP: &str = "group by it, or aggregate it";

impl Checker<'_, '_> {
    /// A value. `None` where an error was reported.
    pub(super) fn value(&mut self, node: &ExprNode, scope: Scope<'_>) -> Option<TypedExpression> {
        match self.operand(node, scope)? {
            CheckedOperand::Value(value) => Some(value),
            CheckedOperand::Constant(constant) => match constant.natural() {
                Ok((kind, value)) => Some(TypedExpression { value, kind, is_nullable: false }),
                Err(unfit) => {
                    self.unfit(&node.span, unfit);
                    None
                }
            },
            CheckedOperand::Bare(name) => {
                self.undefined(&name, &node.span, scope);
                None
            }
        }
    }

    pub(super) fn operand(&mut self, node: &ExprNode, scope: Scope<'_>) -> Option<CheckedOperand> {
        if self.diagnostics.is_full() {
            return None;
        }
        match &*node.value {
            Expr::Literal(literal) => Some(CheckedOperand::Constant(SignedLiteral::new(literal.clone()))),
            Expr::Name(name) => self.name(name, &node.span, scope),
            Expr::Negative(of) => self.negative(node, of, scope),
            Expr::Prefixed(name, lengths) => {
                self.prefixed(name, lengths, node, scope).map(CheckedOperand::Value)
            }
            Expr::Of(query, item) => self.item_of(query, item, node, scope).map(CheckedOperand::Value),
            Expr::Call { function, distinct, arguments } => {
                self.call(function, *distinct, arguments, node, scope).map(CheckedOperand::Value)
            }
            Expr::Arithmetic(left, operator, right) => {
                self.arithmetic(left, *operator, right, scope).map(CheckedOperand::Value)
            }
            Expr::Offset(of, ns) => {
                self.earlier(of, EarlierWindows::Offset(*ns), node, scope).map(CheckedOperand::Value)
            }
            Expr::Star => {
                self.diagnostics.error("star", &node.span, "'*' belongs into count(*)");
                None
            }
            Expr::Compare(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::In { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::IsNull { .. }
            | Expr::IsMissing(_) => {
                let help = "a condition belongs into where, having or when";
                self.diagnostics.error_with_help(
                    "condition_as_value",
                    &node.span,
                    "expected a value, but found a condition",
                    help,
                );
                None
            }
        }
    }

    fn name(&mut self, name: &str, span: &Range<usize>, scope: Scope<'_>) -> Option<CheckedOperand> {
        if let Some(column) = scope.columns.get(name) {
            self.expand(scope.columns.size(name), span)?;
            return Some(CheckedOperand::Value(column.clone()));
        }
        if let Some(meaning) = self.variables.get(name) {
            self.expand(meaning.size(), span)?;
            return Some(match meaning {
                VariableValue::Constant(constant) => CheckedOperand::Constant(constant.clone()),
                VariableValue::Bare(text) => CheckedOperand::Bare(text.clone()),
            });
        }
        match fields::find(name) {
            Some(field) => self.field(&field, span, scope).map(CheckedOperand::Value),
            None => Some(CheckedOperand::Bare(name.to_owned())),
        }
    }

    fn negative(&mut self, node: &ExprNode, of: &ExprNode, scope: Scope<'_>) -> Option<CheckedOperand> {
        match self.operand(of, scope)? {
            CheckedOperand::Constant(constant) => Some(CheckedOperand::Constant(SignedLiteral {
                is_negative: !constant.is_negative,
                ..constant
            })),
            CheckedOperand::Value(value) => {
                self.check_number(&value, of)?;
                let minus = Expression::Arithmetic(
                    Box::new(Expression::Integer(0)),
                    Operator::Subtract,
                    Box::new(value.value),
                );
                Some(CheckedOperand::Value(TypedExpression { value: minus, ..value }))
            }
            CheckedOperand::Bare(name) => {
                self.undefined(&name, &node.span, scope);
                None
            }
        }
    }

    /// A field where it stands.
    pub(super) fn field(
        &mut self,
        field: &FieldInfo,
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        if matches!(scope.context, Context::Events) {
            let message = format!(
                "'{}' alone has no meaning in when: it reads the answers of other queries",
                field.name
            );
            let help = format!("write QUERY.{}", field.name);
            self.diagnostics.error_with_help("field_in_when", span, message, help);
            return None;
        }
        self.use_field(field, span)?;
        let is_grouped = scope.groups.iter().any(|group| group.field == field.name);
        match scope.context {
            Context::Groups | Context::Total
                if !is_grouped && Expression::from_group_field(&field.name).is_some() =>
            {
                let value = Expression::from_group_field(&field.name)?;
                return Some(TypedExpression { value, kind: field.kind.clone(), is_nullable: true });
            }
            Context::Groups if !is_grouped => {
                let message = format!("'{}' is neither grouped by nor aggregated", field.name);
                let help = self.advise_group(field, span, scope);
                self.diagnostics.error_with_help("not_grouped", span, message, help);
                return None;
            }
            Context::Total => {
                let message = format!(
                    "'{}' is a field of each flow, but other items are of all flows together",
                    field.name
                );
                let (name, function) = (&field.name, field.default_aggregate());
                let help = format!("add 'groupby {name}', or aggregate it: '{function}({name})'");
                self.diagnostics.error_with_help("mixed_without_groupby", span, message, help);
                return None;
            }
            Context::Derived if !is_grouped => {
                let message = format!("'{}' is not a key of the queries in from", field.name);
                let help = "a derived query selects their keys, and items such as q1.item".to_owned();
                self.diagnostics.error_with_help("not_a_key", span, message, help);
                return None;
            }
            _ => {}
        }
        let value = Expression::Field(field.name.clone());
        Some(TypedExpression { value, kind: field.kind.clone(), is_nullable: field.is_nullable })
    }

    /// Returns advice on how a query with these groups may have a field.
    fn advise_group(&self, field: &FieldInfo, span: &Range<usize>, scope: Scope<'_>) -> String {
        let node = |expression| ExprNode::new(Box::new(expression), span.clone());
        let name = node(Expr::Name(field.name.clone()));
        let groups: Vec<_> =
            scope.groups.iter().cloned().chain([GroupField::from_field(&field.name)]).collect();
        let by_it = self.first_usable(std::slice::from_ref(&name), Scope { groups: &groups, ..scope });
        let by_it = by_it
            .filter(|_| !field.is_fractional)
            .map(|_| format!("'groupby {}'", groups.iter().map(group_text).collect::<Vec<_>>().join(", ")));
        let function = field.default_aggregate().to_owned();
        let call = node(Expr::Call { function, distinct: false, arguments: vec![name] });
        let aggregate = self.first_usable(&[call], scope).map(|call| format!("'{call}'"));
        match (by_it, aggregate) {
            (Some(by_it), Some(aggregate)) => format!("{SUGGESTED_GROUP}: {by_it} or {aggregate}"),
            (Some(by_it), None) => format!("group by it: {by_it}"),
            (None, Some(aggregate)) => format!("aggregate it: {aggregate}"),
            (None, None) => "ask for it in another query".to_owned(),
        }
    }

    /// Checks that window rows have a field, and notes what it needs.
    pub(super) fn use_field(&mut self, field: &FieldInfo, span: &Range<usize>) -> Option<()> {
        if field.name == "node_id" {
            let help = "every answer carries its node; 'where node_id = NAME' selects nodes";
            self.diagnostics.error_with_help(
                "node_id",
                span,
                "node_id selects nodes in where and is no column",
                help,
            );
            return None;
        }
        if !field.is_in_rows {
            let message =
                format!("'{}' belongs to flow records: the rows of windows do not have it", field.name);
            self.diagnostics.error_with_help("not_in_rows", span, message, "edison fields lists all fields");
            return None;
        }
        self.check_key(field, span)?;
        self.used.parts.add(field.part);
        if field.needs_geo {
            self.used.of_geo.insert(field.name.clone());
        }
        let is_recorded = self.options.statistics.iter().any(|known| known.eq_ignore_ascii_case(&field.name));
        if field.needs_packets && !is_recorded && self.options.reads_history {
            let message = format!("the files have no {}", field.name);
            let help =
                "edison run --flows writes statistics of packets with --gap, --packet-size, --inter-arrival";
            self.diagnostics.error_with_help("no_column", span, message, help);
            return None;
        }
        if field.needs_packets && !is_recorded {
            self.used.of_packets.entry(field.name.clone()).or_insert_with(|| span.clone());
        }
        Some(())
    }

    /// Checks that the flow key has what the field is read from.
    fn check_key(&mut self, field: &FieldInfo, span: &Range<usize>) -> Option<()> {
        let Some(key) = &self.options.key else { return Some(()) };
        let of_key = ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"];
        let own = of_key.iter().filter(|name| **name == field.name);
        let read = own.chain(field.from.iter().filter(|name| of_key.contains(name)));
        let has = |name: &str| {
            key.iter().any(|part| names::field_name(part.split('/').next().unwrap_or(part)) == name)
        };
        let Some(lacking) = read.copied().find(|name| !has(name)) else { return Some(()) };
        let (message, help) = match self.options.reads_history {
            true => (
                format!("'{}' cannot be told: the files have no column {lacking}", field.name),
                match key.is_empty() {
                    true => "none of their columns is of a flow key".to_owned(),
                    false => format!("the columns of their flow keys are {}", key.join(",")),
                },
            ),
            false => (
                format!("'{}' is not in the flow key, which is {}", field.name, key.join(",")),
                format!("add {lacking} to --key"),
            ),
        };
        self.diagnostics.error_with_help("not_in_key", span, message, help);
        None
    }

    fn prefixed(
        &mut self,
        name: &str,
        lengths: &[u8],
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        let field = fields::find(name)?;
        let prefix = prefix_lengths(lengths);
        let is_grouped =
            scope.groups.iter().any(|group| group.field == field.name && group.prefix == Some(prefix));
        if is_grouped {
            return self.field(&field, &node.span, scope);
        }
        let text = node.value.to_string();
        let message = format!("'{text}' is a prefix that the query does not group by");
        let help = match scope.context {
            Context::Rows => format!("compare with a prefix instead: '{} in 10.0.0.0/8'", field.name),
            Context::Aggregate => "only count, entropy and top take a prefix".to_owned(),
            _ => format!("add 'groupby {text}'"),
        };
        self.diagnostics.error_with_help("prefix", &node.span, message, help);
        None
    }

    fn arithmetic(
        &mut self,
        left: &ExprNode,
        operator: Operator,
        right: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        if let (true, Expr::Literal(Literal::Duration(ns))) = (is_now(left), &*right.value) {
            let help = until_now(*ns);
            self.diagnostics.error_with_help("unknown_function", &left.span, "there is no 'now'", help);
            return None;
        }
        let (a, b) = (self.operand(left, scope), self.operand(right, scope));
        let (mut a, mut b) = match (a?, b?) {
            // The literal takes the unit of the other side where they are added.
            (CheckedOperand::Value(a), CheckedOperand::Constant(b))
                if matches!(operator, Operator::Add | Operator::Subtract) =>
            {
                self.check_addend(&a, left)?;
                let b = self.fitted(&b, &a, left, &right.span)?;
                (a.clone(), TypedExpression { value: b, kind: a.kind, is_nullable: false })
            }
            (CheckedOperand::Constant(a), CheckedOperand::Value(b))
                if matches!(operator, Operator::Add | Operator::Subtract) =>
            {
                self.check_addend(&b, right)?;
                let a = self.fitted(&a, &b, right, &left.span)?;
                (TypedExpression { value: a, kind: b.kind.clone(), is_nullable: false }, b)
            }
            (a, b) => {
                let a = self.check_operand(a, &left.span, scope);
                let b = self.check_operand(b, &right.span, scope);
                (a?, b?)
            }
        };
        let is_nullable = a.is_nullable || b.is_nullable || operator == Operator::Divide;
        let kind = if a.kind == ValueKind::Time && b.kind == ValueKind::Time && operator == Operator::Subtract
        {
            ValueKind::Number(Unit::Nanoseconds)
        } else {
            let (x, y) = (self.check_number(&a, left), self.check_number(&b, right));
            self.unit(operator, &mut a, &x?, &mut b, &y?, &(left.span.start..right.span.end))?
        };
        let value = Expression::Arithmetic(Box::new(a.value), operator, Box::new(b.value));
        Some(TypedExpression { value, kind, is_nullable })
    }

    /// The type of a sum, difference, product or quotient.
    fn unit(
        &mut self,
        operator: Operator,
        a: &mut TypedExpression,
        x: &Unit,
        b: &mut TypedExpression,
        y: &Unit,
        span: &Range<usize>,
    ) -> Option<ValueKind> {
        if a.kind == ValueKind::Unknown || b.kind == ValueKind::Unknown {
            return Some(ValueKind::Unknown);
        }
        Some(ValueKind::Number(match operator {
            Operator::Multiply => x.times(y),
            Operator::Divide => x.over(y),
            Operator::Add | Operator::Subtract => {
                let Some(unit) = unify(a, x, b, y) else {
                    let message = format!(
                        "{} and {} cannot be added",
                        ValueKind::Number(x.clone()),
                        ValueKind::Number(y.clone())
                    );
                    self.diagnostics.error("units", span, message);
                    return None;
                };
                unit
            }
        }))
    }

    fn check_operand(
        &mut self,
        operand: CheckedOperand,
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Option<TypedExpression> {
        match operand {
            CheckedOperand::Value(value) => Some(value),
            CheckedOperand::Constant(constant) => match constant.natural() {
                Ok((kind, value)) => Some(TypedExpression { value, kind, is_nullable: false }),
                Err(unfit) => {
                    self.unfit(span, unfit);
                    None
                }
            },
            CheckedOperand::Bare(name) => {
                self.undefined(&name, span, scope);
                None
            }
        }
    }

    /// A literal next to a value.
    pub(super) fn fitted(
        &mut self,
        constant: &SignedLiteral,
        typed: &TypedExpression,
        of: &ExprNode,
        span: &Range<usize>,
    ) -> Option<Expression> {
        match constant.fit(&typed.kind, &ExpressionText(of)) {
            Ok(value) => {
                // What is multiplied or divided by a number may be in any unit.
                if typed.kind == ValueKind::Number(Unit::Nanoseconds) && !is_scaled(&typed.value) {
                    self.warn_of_plain(constant, of, span);
                }
                Some(value)
            }
            Err(unfit) => {
                self.unfit(span, unfit);
                None
            }
        }
    }

    /// Warns of a number without a unit next to a duration.
    fn warn_of_plain(&mut self, constant: &SignedLiteral, of: &ExprNode, span: &Range<usize>) {
        const SECOND: u64 = 1_000_000_000;
        let text = constant.text();
        let help = match constant.literal {
            Literal::Integer(0) => return,
            // It is a second or more: seconds are hardly meant.
            Literal::Integer(number @ SECOND..) => format!("write {}", duration_text(number)),
            Literal::Integer(_) => format!("write {text}s if seconds are meant, {text}ns if not"),
            Literal::Float(number) if number != 0.0 => format!("write {text}s if seconds are meant"),
            _ => return,
        };
        let message = format!("{text} is {text} ns: '{}' is a duration", shortened(&of.value.to_string()));
        self.diagnostics.warn("plain_duration", span, message, help);
    }

    /// An error for what a literal cannot be added to or subtracted from.
    fn check_addend(&mut self, value: &TypedExpression, node: &ExprNode) -> Option<()> {
        if value.kind == ValueKind::Time {
            return Some(());
        }
        self.check_number(value, node).map(|_| ())
    }

    /// The unit of a number; an error for what cannot be computed with.
    pub(super) fn check_number(&mut self, value: &TypedExpression, node: &ExprNode) -> Option<Unit> {
        let is_either_end = value.value == Expression::field("port");
        match &value.kind {
            ValueKind::Number(unit) => Some(unit.clone()),
            ValueKind::Unknown => Some(Unit::None),
            ValueKind::Protocol | ValueKind::Identifier => Some(Unit::None),
            ValueKind::Port if !is_either_end => Some(Unit::None),
            kind => {
                let message = format!(
                    "'{}' is {kind}: there is no arithmetic on it",
                    shortened(&node.value.to_string())
                );
                self.diagnostics.error("arithmetic", &node.span, message);
                None
            }
        }
    }

    /// Reports a name that means nothing.
    pub(super) fn undefined(&mut self, name: &str, span: &Range<usize>, scope: Scope<'_>) {
        let shown = shortened(name);
        let candidates: Vec<&str> = names::all_fields().chain(scope.columns.names()).collect();
        let near = crate::names::nearest(name, candidates)
            .map(|near| format!("'{near}' may be meant; "))
            .unwrap_or_default();
        let message = format!("'{shown}' is neither a field nor defined");
        let help = format!("{near}'let {shown} = VALUE;' or --set {shown}=VALUE defines it");
        self.diagnostics.error_with_help("undefined_name", span, message, help);
    }
}

/// Returns whether a product or a quotient is a part of a value.
fn is_scaled(value: &Expression) -> bool {
    match value {
        Expression::Arithmetic(_, Operator::Multiply | Operator::Divide, _) => true,
        Expression::Arithmetic(left, _, right) => is_scaled(left) || is_scaled(right),
        Expression::Aggregate(aggregate) => aggregate.meaning().scaled().is_some_and(is_scaled),
        _ => false,
    }
}

/// Returns whether an expression is the time at which SQL answers.
fn is_now(node: &ExprNode) -> bool {
    let is_it =
        |name: &str| name.eq_ignore_ascii_case("now") || name.eq_ignore_ascii_case("current_timestamp");
    matches!(&*node.value, Expr::Call { function: name, .. } | Expr::Name(name) if is_it(name))
}

/// The common unit of two numbers that are compared or added; bytes per second become bits per second where they must.
pub(super) fn unify(a: &mut TypedExpression, x: &Unit, b: &mut TypedExpression, y: &Unit) -> Option<Unit> {
    let in_bits = |typed: &mut TypedExpression| {
        let value = std::mem::replace(&mut typed.value, Expression::Integer(8));
        typed.value =
            Expression::Arithmetic(Box::new(value), Operator::Multiply, Box::new(Expression::Integer(8)));
    };
    match (x, y) {
        (Unit::BitsPerSecond, Unit::BytesPerSecond) => in_bits(b),
        (Unit::BytesPerSecond, Unit::BitsPerSecond) => in_bits(a),
        _ if x.fits(y) => return Some(if *x == Unit::None { y.clone() } else { x.clone() }),
        _ => return None,
    }
    Some(Unit::BitsPerSecond)
}

/// Lengths for IPv4 and IPv6; one length is the same share of both.
pub(crate) fn prefix_lengths(lengths: &[u8]) -> [u8; 2] {
    match lengths {
        [v4, v6] => [*v4, *v6],
        [v4] => [*v4, v4.saturating_mul(4)],
        _ => [32, 128],
    }
}

/// A group field as it is written.
pub(crate) fn group_text(group: &task::query::GroupField) -> String {
    match group.prefix {
        None => group.field.clone(),
        Some([v4, v6]) if v6 == v4.saturating_mul(4) => format!("{}/{v4}", group.field),
        Some([v4, v6]) => format!("{}/{v4}/{v6}", group.field),
    }
}

/// Columns of a place that has none.
pub(super) fn no_columns() -> QueryColumns {
    QueryColumns::default()
}
