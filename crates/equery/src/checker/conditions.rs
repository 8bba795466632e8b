//! Conditions.

use super::values::{CheckedOperand, unify};
use super::{Checker, Context, Scope, TypedExpression};
use crate::ast::{Expr, ExprNode};
use crate::constant::{SignedLiteral, named};
use crate::kind::{Unit, ValueKind};
use crate::lexer::shortened;
use crate::literal::Literal;
use crate::parser::ExpressionText;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use task::query::{Comparison, Condition, Expression};

impl Checker<'_, '_> {
    /// A condition. `None` where an error was reported.
    pub(super) fn condition(&mut self, node: &ExprNode, scope: Scope<'_>) -> Option<Condition> {
        if self.diagnostics.is_full() {
            return None;
        }
        match &*node.value {
            Expr::And(of) => self.all(of, scope).map(Condition::And),
            Expr::Or(of) => {
                let before = self.kept_nulls.len();
                self.kept_nulls.extend(of.iter().filter_map(kept_null));
                let conditions = self.all(of, scope);
                self.kept_nulls.truncate(before);
                conditions.map(Condition::Or)
            }
            Expr::Not(of) => self.condition(of, scope).map(negation),
            Expr::Compare(left, comparison, right) => self.comparison(left, *comparison, right, node, scope),
            Expr::In { value, list, negated } => {
                let condition = self.membership(value, list, scope)?;
                Some(self.negated(*negated, condition, value, "not in", scope))
            }
            Expr::Between { value, low, high, negated } => {
                let condition = self.between(value, low, high, node, scope)?;
                Some(self.negated(*negated, condition, value, "not between", scope))
            }
            Expr::Like { value, pattern, negated } => {
                let condition = self.like(value, pattern, *negated, scope)?;
                Some(self.negated(*negated, condition, value, "not like", scope))
            }
            Expr::IsNull { value, negated } => {
                let typed = self.value(value, scope)?;
                let condition = Condition::IsNull(typed.value);
                Some(if *negated { negation(condition) } else { condition })
            }
            Expr::IsMissing(_) => {
                let message = "'is missing' is about a query: it belongs into when";
                self.diagnostics.error_with_help(
                    "is_missing",
                    &node.span,
                    message,
                    "a field may be 'is null'",
                );
                None
            }
            Expr::Call { function, .. } if function == "surely" => {
                let message = "'surely' is about answers of other queries: it belongs into when";
                let help = "write the condition without it";
                self.diagnostics.error_with_help("surely", &node.span, message, help);
                None
            }
            _ => {
                let message =
                    format!("expected a condition, but '{}' is a value", shortened(&node.value.to_string()));
                self.diagnostics.error_with_help(
                    "value_as_condition",
                    &node.span,
                    message,
                    "compare it, as in 'total_byte > 1M'",
                );
                None
            }
        }
    }

    fn all(&mut self, of: &[ExprNode], scope: Scope<'_>) -> Option<Vec<Condition>> {
        // Each is checked, so that each reports its errors.
        let conditions: Vec<_> = of.iter().map(|node| self.condition(node, scope)).collect();
        conditions.into_iter().collect()
    }

    fn negated(
        &mut self,
        is_negated: bool,
        condition: Condition,
        value: &ExprNode,
        operator: &str,
        scope: Scope<'_>,
    ) -> Condition {
        if !is_negated {
            return condition;
        }
        if let Expr::Name(name) = &*value.value
            && scope.columns.get(name).is_none()
            && crate::fields::find(name).is_some_and(|field| field.is_nullable)
        {
            self.warn_of_nulls(value, operator, scope);
        }
        negation(condition)
    }

    fn warn_of_nulls(&mut self, value: &ExprNode, operator: &str, scope: Scope<'_>) {
        let text = value.value.to_string();
        if self.kept_nulls.contains(&text) {
            return;
        }
        let text = shortened(&text);
        let is_of_rows = matches!(scope.context, Context::Rows | Context::Aggregate);
        let what = if is_of_rows { "rows" } else { "groups" };
        let message = format!("'{operator}' drops {what} without {text}");
        self.diagnostics.warn(
            "drops_nulls",
            &value.span,
            message,
            format!("add 'or {text} is null' to keep them"),
        );
    }

    fn comparison(
        &mut self,
        left: &ExprNode,
        comparison: Comparison,
        right: &ExprNode,
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<Condition> {
        let (a, b) = (self.operand(left, scope), self.operand(right, scope));
        match (a?, b?) {
            (CheckedOperand::Value(a), CheckedOperand::Value(b)) => {
                self.two_values(a, comparison, b, (left, right), node, scope)
            }
            (CheckedOperand::Value(a), b) => self.value_and_literal((a, left), comparison, (b, right), scope),
            (a, CheckedOperand::Value(b)) => {
                self.value_and_literal((b, right), flipped(comparison), (a, left), scope)
            }
            (CheckedOperand::Bare(name), _) => {
                self.undefined(&name, &left.span, scope);
                None
            }
            (_, CheckedOperand::Bare(name)) => {
                self.undefined(&name, &right.span, scope);
                None
            }
            (CheckedOperand::Constant(_), CheckedOperand::Constant(_)) => {
                let message = "both sides are literals: expected a field on one side";
                self.diagnostics.error("constant_condition", &node.span, message);
                None
            }
        }
    }

    fn value_and_literal(
        &mut self,
        (typed, of): (TypedExpression, &ExprNode),
        comparison: Comparison,
        (operand, at): (CheckedOperand, &ExprNode),
        scope: Scope<'_>,
    ) -> Option<Condition> {
        let constant = self.constant(operand, &typed.kind, of, &at.span, scope)?;
        if typed.kind == ValueKind::Address {
            let prefix = self.prefix(&constant, of, &at.span)?;
            self.check_equality(comparison, of, &typed.kind)?;
            let condition = Condition::InPrefixes(self.address_field(&typed, of)?, vec![prefix]);
            return Some(if comparison == Comparison::Equal { condition } else { negation(condition) });
        }
        let value = self.fitted(&constant, &typed, of, &at.span)?;
        let ordered = matches!(
            typed.kind,
            ValueKind::Number(_)
                | ValueKind::Port
                | ValueKind::Time
                | ValueKind::Identifier
                | ValueKind::Unknown
        );
        if !ordered {
            self.check_equality(comparison, of, &typed.kind)?;
        }
        if comparison == Comparison::NotEqual && typed.is_nullable {
            self.warn_of_nulls(of, "!=", scope);
        }
        // Of either end: both differ.
        if comparison == Comparison::NotEqual && typed.value == Expression::field("port") {
            return Some(negation(Condition::Compare(typed.value, Comparison::Equal, value)));
        }
        Some(Condition::Compare(typed.value, comparison, value))
    }

    /// Returns the constant that an operand stands for next to a value of this type: a name that means nothing by itself gets a meaning there.
    pub(super) fn constant(
        &mut self,
        operand: CheckedOperand,
        kind: &ValueKind,
        of: &ExprNode,
        span: &Range<usize>,
        scope: Scope<'_>,
    ) -> Option<SignedLiteral> {
        let name = match operand {
            CheckedOperand::Constant(constant) => return Some(constant),
            CheckedOperand::Bare(name) => name,
            CheckedOperand::Value(_) => {
                let message = "expected a literal, but found a field or an expression";
                self.diagnostics.error("literal", span, message);
                return None;
            }
        };
        let names: Vec<&str> = match kind {
            ValueKind::Text if is_field(of, "protocol_name") => flow::protocol_names().collect(),
            ValueKind::Text if is_field(of, "service") => {
                flow::SERVICES.iter().map(|(_, name)| *name).collect()
            }
            ValueKind::Port => flow::SERVICES.iter().map(|(_, name)| *name).collect(),
            ValueKind::Protocol => flow::protocol_names().collect(),
            ValueKind::Text | ValueKind::Unknown => return Some(SignedLiteral::new(Literal::Text(name))),
            _ => {
                self.undefined(&name, span, scope);
                return None;
            }
        };
        let is_known = match kind {
            ValueKind::Text => names.iter().any(|known| known.eq_ignore_ascii_case(&name)),
            kind => named(kind, &name).is_some(),
        };
        if is_known {
            return Some(SignedLiteral::new(Literal::Text(if *kind == ValueKind::Text {
                name.to_ascii_lowercase()
            } else {
                name
            })));
        }
        let shown = shortened(&name);
        let is_protocol = *kind == ValueKind::Protocol || is_field(of, "protocol_name");
        let what = if is_protocol { "protocol" } else { "service" };
        let near = crate::names::nearest(&name, names)
            .map(|near| format!("'{near}' may be meant; "))
            .unwrap_or_default();
        let message = format!("'{shown}' is not the name of a {what}");
        let help = format!("{near}'let {shown} = VALUE;' or --set {shown}=VALUE defines a variable");
        self.diagnostics.error_with_help("unknown_value", span, message, help);
        None
    }

    fn check_equality(&mut self, comparison: Comparison, of: &ExprNode, kind: &ValueKind) -> Option<()> {
        if matches!(comparison, Comparison::Equal | Comparison::NotEqual) || *kind == ValueKind::Protocol {
            return Some(());
        }
        let text = shortened(&of.value.to_string());
        let message = format!("'{text}' is {kind}, which is compared with = and != only");
        let help = match kind {
            ValueKind::Address => format!("'{text} in 10.0.0.0/8' selects a range of addresses"),
            _ => "use =, !=, in or like".to_owned(),
        };
        self.diagnostics.error_with_help("order_of_type", &of.span, message, help);
        None
    }

    fn prefix(
        &mut self,
        constant: &SignedLiteral,
        of: &ExprNode,
        span: &Range<usize>,
    ) -> Option<(std::net::IpAddr, u8)> {
        match constant.prefix(&ExpressionText(of)) {
            Ok(prefix) => {
                if let Literal::Prefix(address, length) = constant.literal
                    && prefix.0 != address
                {
                    let message =
                        format!("bits behind the prefix are ignored: {}/{length} is meant", prefix.0);
                    self.diagnostics.warn(
                        "host_bits",
                        span,
                        message,
                        format!("write {}/{length}, or {address} alone", prefix.0),
                    );
                }
                Some(prefix)
            }
            Err(unfit) => {
                self.unfit(span, unfit);
                None
            }
        }
    }

    /// The field that an address is read from.
    fn address_field(&mut self, typed: &TypedExpression, of: &ExprNode) -> Option<String> {
        match &typed.value {
            Expression::Field(name) => Some(name.clone()),
            _ => {
                self.diagnostics.error("address", &of.span, "expected an address field");
                None
            }
        }
    }

    fn two_values(
        &mut self,
        mut a: TypedExpression,
        comparison: Comparison,
        mut b: TypedExpression,
        (left, right): (&ExprNode, &ExprNode),
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<Condition> {
        let fits = match (a.kind.clone(), b.kind.clone()) {
            (ValueKind::Number(x), ValueKind::Number(y)) => unify(&mut a, &x, &mut b, &y).is_some(),
            (ValueKind::Top, _) | (_, ValueKind::Top) => false,
            (ValueKind::Unknown, _) | (_, ValueKind::Unknown) => true,
            (ValueKind::Port | ValueKind::Identifier, ValueKind::Number(Unit::None)) => true,
            (ValueKind::Number(Unit::None), ValueKind::Port | ValueKind::Identifier) => true,
            (x, y) => x == y,
        };
        if !fits {
            let texts = [left, right].map(|side| shortened(&side.value.to_string()));
            let message = format!("'{}' is {}, but '{}' is {}", texts[0], a.kind, texts[1], b.kind);
            self.diagnostics.error("type", &node.span, message);
            return None;
        }
        if matches!(a.kind, ValueKind::Address | ValueKind::Mac | ValueKind::Text | ValueKind::Protocol) {
            self.check_equality(comparison, left, &a.kind)?;
        }
        if comparison != Comparison::NotEqual {
            return Some(Condition::Compare(a.value, comparison, b.value));
        }
        for (typed, side) in [(&a, left), (&b, right)] {
            if typed.is_nullable {
                self.warn_of_nulls(side, "!=", scope);
            }
        }
        Some(negation(Condition::Compare(a.value, Comparison::Equal, b.value)))
    }

    fn membership(&mut self, value: &ExprNode, list: &[ExprNode], scope: Scope<'_>) -> Option<Condition> {
        let typed = match self.operand(value, scope)? {
            CheckedOperand::Value(typed) => typed,
            CheckedOperand::Bare(name) => {
                self.undefined(&name, &value.span, scope);
                return None;
            }
            CheckedOperand::Constant(_) => {
                self.diagnostics.error("constant_condition", &value.span, "expected a field before 'in'");
                return None;
            }
        };
        let members: Vec<_> = list.iter().map(|node| self.member(&typed, value, node, scope)).collect();
        let members = members.into_iter().collect::<Option<Vec<_>>>()?;
        if typed.kind == ValueKind::Address {
            let prefixes: Vec<_> =
                members.iter().zip(list).map(|(member, at)| self.prefix(member, value, &at.span)).collect();
            let prefixes = prefixes.into_iter().collect::<Option<Vec<_>>>()?;
            return Some(Condition::InPrefixes(self.address_field(&typed, value)?, prefixes));
        }
        let values: Vec<_> = members
            .iter()
            .zip(list)
            .map(|(member, at)| self.fitted(member, &typed, value, &at.span))
            .collect();
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        if values.iter().any(|value| matches!(value, Expression::Float(_))) {
            let equals = |value| Condition::Compare(typed.value.clone(), Comparison::Equal, value);
            return Some(Condition::Or(values.into_iter().map(equals).collect()));
        }
        Some(self.expand_either_end(&typed, scope, |value| Condition::In(value, values.clone())))
    }

    fn member(
        &mut self,
        typed: &TypedExpression,
        of: &ExprNode,
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<SignedLiteral> {
        let operand = self.operand(node, scope)?;
        self.constant(operand, &typed.kind, of, &node.span, scope)
    }

    /// A condition on one value, which for the field `port` of a row holds if it does for one of the ends.
    fn expand_either_end(
        &self,
        typed: &TypedExpression,
        scope: Scope<'_>,
        of: impl Fn(Expression) -> Condition,
    ) -> Condition {
        let of_row = matches!(scope.context, Context::Rows);
        if of_row && typed.value == Expression::field("port") {
            return Condition::Or(["src_port", "dst_port"].map(|end| of(Expression::field(end))).into());
        }
        of(typed.value.clone())
    }

    fn between(
        &mut self,
        value: &ExprNode,
        low: &ExprNode,
        high: &ExprNode,
        node: &ExprNode,
        scope: Scope<'_>,
    ) -> Option<Condition> {
        let lower = self.comparison(value, Comparison::GreaterOrEqual, low, node, scope)?;
        let upper = self.comparison(value, Comparison::LessOrEqual, high, node, scope)?;
        // One end is between both: not one above, the other below.
        match (lower, upper) {
            (Condition::Compare(a, from, low), Condition::Compare(_, to, high))
                if a == Expression::field("port") && scope.context == Context::Rows =>
            {
                let typed = TypedExpression { value: a, kind: ValueKind::Port, is_nullable: false };
                Some(self.expand_either_end(&typed, scope, |end| {
                    Condition::And(vec![
                        Condition::Compare(end.clone(), from, low.clone()),
                        Condition::Compare(end, to, high.clone()),
                    ])
                }))
            }
            (lower, upper) => Some(Condition::And(vec![lower, upper])),
        }
    }

    fn like(
        &mut self,
        value: &ExprNode,
        pattern: &ExprNode,
        is_negated: bool,
        scope: Scope<'_>,
    ) -> Option<Condition> {
        let typed = self.value(value, scope)?;
        let pattern = self.pattern(pattern)?;
        match (typed.value, &typed.kind) {
            (Expression::Field(name), ValueKind::Text | ValueKind::Unknown) => {
                Some(Condition::Like(name, pattern))
            }
            (_, kind) => {
                let text = shortened(&value.value.to_string());
                let message = format!("'{text}' is {kind}: like compares texts");
                match kind {
                    ValueKind::Address => {
                        let help = match prefix_like(&pattern) {
                            Some(prefix) => {
                                let not = if is_negated { "not " } else { "" };
                                format!("write '{text} {not}in {prefix}'")
                            }
                            None => format!("an example of a range of addresses is '{text} in 10.0.0.0/8'"),
                        };
                        self.diagnostics.error_with_help("like", &value.span, message, help);
                    }
                    _ => self.diagnostics.error("like", &value.span, message),
                }
                None
            }
        }
    }

    /// The pattern of `like`.
    pub(super) fn pattern(&mut self, node: &ExprNode) -> Option<String> {
        let columns = super::QueryColumns::default();
        let scope = Scope { context: Context::Rows, groups: &[], columns: &columns };
        if let Some(CheckedOperand::Constant(SignedLiteral { literal: Literal::Text(text), .. })) =
            self.operand(node, scope)
        {
            return Some(text);
        }
        let help = "% is any text, _ any character";
        self.diagnostics.error_with_help(
            "like",
            &node.span,
            "expected a pattern in quotes, such as 'http%'",
            help,
        );
        None
    }

    /// The conjuncts of a condition.
    pub(super) fn conjuncts(node: &ExprNode) -> Vec<&ExprNode> {
        match &*node.value {
            Expr::And(of) => of.iter().collect(),
            _ => vec![node],
        }
    }

    /// Notes that a condition compares with another query's answer.
    pub(super) fn is_of_query(node: &ExprNode) -> bool {
        matches!(&*node.value, Expr::Of(..))
    }
}

/// Returns the address or the prefix whose addresses have texts that match a pattern of `like`: `10.0.%` is 10.0.0.0/16. `None` if it is no single one.
fn prefix_like(pattern: &str) -> Option<String> {
    if pattern.contains('_') {
        return None;
    }
    if let Ok(address) = pattern.parse::<IpAddr>() {
        return Some(address.to_string());
    }
    let (known, rest) = pattern.split_once('%')?;
    if let Some(known) = known.strip_suffix('.') {
        let parts: Vec<u8> = known.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let is_rest = rest.chars().all(|letter| matches!(letter, '.' | '%'));
        let mut octets = [0; 4];
        octets.get_mut(..parts.len())?.copy_from_slice(&parts);
        let is_prefix = is_rest && parts.len() < 4;
        return is_prefix.then(|| format!("{}/{}", Ipv4Addr::from(octets), parts.len() * 8));
    }
    let parts = known.strip_suffix(':')?.split(':').map(|part| u16::from_str_radix(part, 16).ok());
    let parts: Vec<u16> = parts.collect::<Option<_>>()?;
    let mut groups = [0; 8];
    groups.get_mut(..parts.len())?.copy_from_slice(&parts);
    // The text of an address leaves groups out that are zero.
    let is_prefix = rest.is_empty() && parts.len() < 8 && !parts.contains(&0);
    is_prefix.then(|| format!("{}/{}", Ipv6Addr::from(groups), parts.len() * 16))
}

/// The value whose nulls a condition selects.
fn kept_null(condition: &ExprNode) -> Option<String> {
    match &*condition.value {
        Expr::IsNull { value, negated: false } => Some(value.value.to_string()),
        _ => None,
    }
}

fn is_field(node: &ExprNode, field: &str) -> bool {
    matches!(&*node.value, Expr::Name(name) if name.eq_ignore_ascii_case(field))
}

/// Negates a condition without a double negation.
pub(super) fn negation(condition: Condition) -> Condition {
    match condition {
        Condition::Not(of) => *of,
        condition => Condition::Not(Box::new(condition)),
    }
}

const fn flipped(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}
