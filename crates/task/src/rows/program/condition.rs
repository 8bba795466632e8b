//! Conditions on rows.

use super::KEY_MEMBERS;
use super::{BOTH, Constant, NetworkMask, NodeId, ProgramNode, RowProgram, Type};
use crate::plan_context::PlanContext;
use crate::query::{Comparison, Condition, Expression};
use crate::row_refusal::Refusal;
use notation::is_like;

/// A comparison with the sides of a field that is of either end.
const ENDS_OF_PORT: [&str; 2] = ["src_port", "dst_port"];

impl RowProgram {
    /// A condition on rows.
    pub(crate) fn condition(&mut self, condition: &Condition, site: &PlanContext) -> Result<NodeId, Refusal> {
        Ok(match condition {
            Condition::And(parts) => {
                let parts = self.conditions(parts, site)?;
                self.join(parts, true)
            }
            Condition::Or(parts) => {
                let parts = self.conditions(parts, site)?;
                self.join(parts, false)
            }
            Condition::Not(part) => {
                let part = self.condition(part, site)?;
                self.add(ProgramNode::Not(part), Type::Boolean)
            }
            Condition::Compare(left, comparison, right) => self.comparison(left, *comparison, right, site)?,
            Condition::InPrefixes(field, prefixes) => {
                let sides = sides(field).ok_or_else(|| Refusal::WrongType { field: field.clone() })?;
                prefixes.iter().try_for_each(|(address, length)| {
                    need_bits(sides, site, |[v4, v6]| *length <= if address.is_ipv4() { v4 } else { v6 })
                })?;
                let networks = prefixes.iter().copied().map(NetworkMask::new).collect();
                self.add(ProgramNode::InNetworks(sides, networks), Type::Boolean)
            }
            Condition::In(value, list) => self.is_in(value, list, site)?,
            Condition::Like(field, pattern) if is_conversation(field) => {
                self.conversation(vec![pattern.clone()], site)?
            }
            Condition::Like(field, pattern) => {
                let field = self.field(field, site)?;
                self.named(field, |name| is_like(name, pattern))?
            }
            Condition::IsNull(Expression::Field(field)) if sides(field).is_some() => {
                need_addresses(sides(field).unwrap_or(BOTH), site)?;
                self.constant(Constant::Boolean(false))
            }
            Condition::IsNull(value) => {
                let value = self.expression(value, site)?;
                self.add(ProgramNode::IsNull(value), Type::Boolean)
            }
        })
    }

    fn conditions(&mut self, parts: &[Condition], site: &PlanContext) -> Result<Vec<NodeId>, Refusal> {
        parts.iter().map(|part| self.condition(part, site)).collect()
    }

    /// Joins conditions: all of them must hold, or any of them.
    fn join(&mut self, parts: Vec<NodeId>, are_all: bool) -> NodeId {
        match parts[..] {
            [] => self.constant(Constant::Boolean(are_all)),
            [one] => one,
            _ if are_all => self.add(ProgramNode::And(parts), Type::Boolean),
            _ => self.add(ProgramNode::Or(parts), Type::Boolean),
        }
    }

    fn comparison(
        &mut self,
        left: &Expression,
        comparison: Comparison,
        right: &Expression,
        site: &PlanContext,
    ) -> Result<NodeId, Refusal> {
        use Comparison::{Equal, NotEqual};
        if let (Expression::Field(one), Expression::Field(other)) = (left, right)
            && let (Some(one_side), Some(other_side)) = (sides(one), sides(other))
        {
            need_bits(BOTH, site, |lengths| lengths == [32, 128])?;
            let same = match one_side == other_side || one_side.len() + other_side.len() > 2 {
                true => self.constant(Constant::Boolean(true)),
                false => self.add(ProgramNode::SameAddress, Type::Boolean),
            };
            return match comparison {
                Equal => Ok(same),
                NotEqual => Ok(self.add(ProgramNode::Not(same), Type::Boolean)),
                _ => Err(Refusal::WrongType { field: one.clone() }),
            };
        }
        if let (Expression::Field(field), Expression::Text(text)) = (left, right)
            && is_conversation(field)
        {
            let is_same = self.conversation(vec![literally(text)], site)?;
            return match comparison {
                Equal => Ok(is_same),
                NotEqual => Ok(self.add(ProgramNode::Not(is_same), Type::Boolean)),
                _ => Err(Refusal::WrongType { field: field.clone() }),
            };
        }
        if let (Expression::Field(field), Expression::Text(text)) = (left, right) {
            let node = self.field(field, site)?;
            let is_same = self.named(node, |name| name.eq_ignore_ascii_case(text))?;
            return match comparison {
                Equal => Ok(is_same),
                NotEqual => Ok(self.add(ProgramNode::Not(is_same), Type::Boolean)),
                _ => Err(Refusal::WrongType { field: field.clone() }),
            };
        }
        self.each_end([left, right], |program, [left, right]| {
            let [left, right] = [program.operand(left, site)?, program.operand(right, site)?];
            let types = [program.type_of(left), program.type_of(right)];
            match types.iter().any(|of| matches!(of, Type::Name(_) | Type::Boolean)) {
                false => Ok(program.compare(left, comparison, right)),
                true => Err(Refusal::Misplaced { what: "a comparison of a name with a number".to_owned() }),
            }
        })
    }

    /// An operand of a comparison: a number, or a time or MAC address, which are numbers too.
    fn operand(&mut self, expression: &Expression, site: &PlanContext) -> Result<NodeId, Refusal> {
        match expression {
            Expression::Field(field) => self.field(field, site),
            other => self.number(other, site),
        }
    }

    fn is_in(
        &mut self,
        value: &Expression,
        list: &[Expression],
        site: &PlanContext,
    ) -> Result<NodeId, Refusal> {
        let texts: Option<Vec<&str>> = list
            .iter()
            .map(|value| if let Expression::Text(text) = value { Some(text.as_str()) } else { None })
            .collect();
        match texts {
            Some(texts) if matches!(value, Expression::Field(field) if is_conversation(field)) => {
                self.conversation(texts.into_iter().map(literally).collect(), site)
            }
            Some(texts) if !texts.is_empty() => {
                let value = self.expression(value, site)?;
                self.named(value, |name| texts.iter().any(|text| name.eq_ignore_ascii_case(text)))
            }
            _ => self.each_end([value, value], |program, [value, _]| {
                let node = program.operand(value, site)?;
                let naturals: Option<Vec<u64>> = list.iter().map(natural).collect();
                if let (Type::Unsigned, Some(mut naturals)) = (program.type_of(node), naturals) {
                    naturals.sort_unstable();
                    naturals.dedup();
                    return Ok(program.add(ProgramNode::IsIn(node, naturals), Type::Boolean));
                }
                let mut equal = Vec::new();
                for value in list {
                    let value = program.number(value, site)?;
                    equal.push(program.compare(node, Comparison::Equal, value));
                }
                Ok(program.join(equal, false))
            }),
        }
    }

    /// True where the flow without its direction matches one of the patterns.
    fn conversation(&mut self, patterns: Vec<String>, site: &PlanContext) -> Result<NodeId, Refusal> {
        KEY_MEMBERS.iter().try_for_each(|member| site.needs(member))?;
        Ok(self.add(ProgramNode::Conversation(patterns), Type::Boolean))
    }

    /// True where a name passes a test.
    fn named(&mut self, node: NodeId, test: impl Fn(&str) -> bool) -> Result<NodeId, Refusal> {
        let Type::Name(names) = self.type_of(node) else {
            return Err(Refusal::Misplaced { what: "a text that is compared with a number".to_owned() });
        };
        Ok(self.add(ProgramNode::IsIn(node, names.numbers(test)), Type::Boolean))
    }

    /// A condition in which `port` may stand: for both ends then, of which one suffices.
    fn each_end(
        &mut self,
        operands: [&Expression; 2],
        mut condition: impl FnMut(&mut Self, [&Expression; 2]) -> Result<NodeId, Refusal>,
    ) -> Result<NodeId, Refusal> {
        if !operands.iter().any(|operand| has_port(operand)) {
            return condition(self, operands);
        }
        let mut ends = Vec::new();
        for end in ENDS_OF_PORT {
            let [left, right] = operands.map(|operand| with_port(operand, end));
            ends.push(condition(self, [&left, &right])?);
        }
        Ok(self.join(ends, false))
    }
}

fn has_port(expression: &Expression) -> bool {
    match expression {
        Expression::Field(field) => field.eq_ignore_ascii_case("port"),
        Expression::Arithmetic(left, _, right) => has_port(left) || has_port(right),
        _ => false,
    }
}

/// The expression with the port of one end in the place of `port`.
fn with_port(expression: &Expression, end: &str) -> Expression {
    match expression {
        Expression::Field(field) if field.eq_ignore_ascii_case("port") => Expression::field(end),
        Expression::Arithmetic(left, operator, right) => {
            Expression::Arithmetic(Box::new(with_port(left, end)), *operator, Box::new(with_port(right, end)))
        }
        other => other.clone(),
    }
}

fn natural(expression: &Expression) -> Option<u64> {
    if let Expression::Integer(number) = expression { u64::try_from(*number).ok() } else { None }
}

/// The ends (source, destination) whose addresses a field has; `None` for a field that is no address.
fn sides(field: &str) -> Option<&'static [usize]> {
    match flow::resolve_alias(field).to_ascii_lowercase().as_str() {
        "src_addr" => Some(&BOTH[..1]),
        "dst_addr" => Some(&BOTH[1..]),
        "addr" => Some(BOTH),
        _ => None,
    }
}

fn need_addresses(sides: &[usize], site: &PlanContext) -> Result<(), Refusal> {
    sides.iter().try_for_each(|side| site.needs(["src_addr", "dst_addr"][*side]))
}

/// Requires addresses in keys, with as long prefixes of IPv4 and of IPv6 as a condition reads: with shorter ones it would hold of a whole network or of
/// none of it.
fn need_bits(sides: &[usize], site: &PlanContext, suffice: impl Fn([u8; 2]) -> bool) -> Result<(), Refusal> {
    sides.iter().try_for_each(|side| {
        let field = ["src_addr", "dst_addr"][*side];
        match site.key.prefix_lengths(field) {
            Some(lengths) if suffice(lengths) => Ok(()),
            _ => Err(Refusal::NotInKey { field: field.to_owned() }),
        }
    })
}

fn is_conversation(field: &str) -> bool {
    field.eq_ignore_ascii_case("conversation")
}

/// The pattern that this text alone matches: a conversation has no characters that patterns have.
fn literally(text: &str) -> String {
    if text.contains(['%', '_']) { String::new() } else { text.to_owned() }
}
