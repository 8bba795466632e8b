//! The tree as canonical text: one line for each query, keywords in lower case. Names stand as
//! they are in the tree, where [`crate::canonical`] gives fields their own.

#[cfg(test)]
use crate::ast::{Definition, File};
use crate::ast::{
    Expr, ExprNode, From, QueryText, RunClause, SelectItem, Spanned, TimeText, TriggerKeyword, TriggerText,
    Using,
};
use crate::literal::{Literal, duration_text};
use std::fmt::{self, Display, Formatter, Write};
use task::query::{Across, Operator};

/// The binding strength of an expression. An expression that binds less is written in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OperatorPrecedence {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Offset,
    Sign,
    Primary,
}

impl Expr {
    fn binding(&self) -> OperatorPrecedence {
        match self {
            Self::Or(_) => OperatorPrecedence::Or,
            Self::And(_) => OperatorPrecedence::And,
            Self::Not(_) => OperatorPrecedence::Not,
            Self::Compare(..)
            | Self::In { .. }
            | Self::Between { .. }
            | Self::Like { .. }
            | Self::IsNull { .. }
            | Self::IsMissing(_) => OperatorPrecedence::Comparison,
            Self::Arithmetic(_, Operator::Add | Operator::Subtract, _) => OperatorPrecedence::Sum,
            Self::Arithmetic(..) => OperatorPrecedence::Product,
            Self::Offset(..) => OperatorPrecedence::Offset,
            Self::Negative(_) => OperatorPrecedence::Sign,
            Self::Literal(_)
            | Self::Name(_)
            | Self::Prefixed(..)
            | Self::Of(..)
            | Self::Star
            | Self::Call { .. } => OperatorPrecedence::Primary,
        }
    }
}

/// An expression where only those that bind at least so tightly need no parentheses.
struct ExpressionDisplay<'a>(&'a ExprNode, OperatorPrecedence);

impl Display for ExpressionDisplay<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.value.binding() < self.1 {
            write!(f, "({})", self.0.value)
        } else {
            write!(f, "{}", self.0.value)
        }
    }
}

fn list(f: &mut Formatter<'_>, items: &[impl Display], separator: &str) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { separator })?;
        item.fmt(f)?;
    }
    Ok(())
}

fn bound(
    f: &mut Formatter<'_>,
    nodes: &[ExprNode],
    binding: OperatorPrecedence,
    separator: &str,
) -> fmt::Result {
    let nodes: Vec<_> = nodes.iter().map(|node| ExpressionDisplay(node, binding)).collect();
    list(f, &nodes, separator)
}

const fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use OperatorPrecedence::{Not, Offset, Primary, Product, Sign, Sum};
        match self {
            Self::Literal(literal) => literal.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Prefixed(name, lengths) => {
                f.write_str(name)?;
                lengths.iter().try_for_each(|length| write!(f, "/{length}"))
            }
            Self::Of(query, item) => write!(f, "{}.{}", query.value, item.value),
            Self::Star => f.write_char('*'),
            Self::Call { function, distinct, arguments } => {
                write!(f, "{function}({}", if *distinct { "distinct " } else { "" })?;
                bound(f, arguments, OperatorPrecedence::Or, ", ")?;
                f.write_char(')')
            }
            Self::Negative(of) => write!(f, "-{}", ExpressionDisplay(of, Primary)),
            Self::Arithmetic(left, operator, right) => {
                let own = self.binding();
                let above = if own == Sum { Product } else { Offset };
                write!(
                    f,
                    "{} {} {}",
                    ExpressionDisplay(left, own),
                    operator.text(),
                    ExpressionDisplay(right, above)
                )
            }
            Self::Offset(of, ns) => {
                write!(f, "{} offset {}", ExpressionDisplay(of, Sign), duration_text(*ns))
            }
            Self::Compare(left, comparison, right) => {
                write!(
                    f,
                    "{} {} {}",
                    ExpressionDisplay(left, Sum),
                    comparison.text(),
                    ExpressionDisplay(right, Sum)
                )
            }
            Self::And(of) => bound(f, of, Not, " and "),
            Self::Or(of) => bound(f, of, OperatorPrecedence::And, " or "),
            Self::Not(of) => write!(f, "not {}", ExpressionDisplay(of, Not)),
            Self::In { value, list, negated } => {
                write!(f, "{} {}in (", ExpressionDisplay(value, Sum), not(*negated))?;
                bound(f, list, Sum, ", ")?;
                f.write_char(')')
            }
            Self::Between { value, low, high, negated } => {
                write!(
                    f,
                    "{} {}between {} and {}",
                    ExpressionDisplay(value, Sum),
                    not(*negated),
                    ExpressionDisplay(low, Sum),
                    ExpressionDisplay(high, Sum)
                )
            }
            Self::Like { value, pattern, negated } => {
                write!(
                    f,
                    "{} {}like {}",
                    ExpressionDisplay(value, Sum),
                    not(*negated),
                    ExpressionDisplay(pattern, Primary)
                )
            }
            Self::IsNull { value, negated } => {
                write!(f, "{} is {}null", ExpressionDisplay(value, Sum), not(*negated))
            }
            Self::IsMissing(of) => write!(f, "{} is missing", ExpressionDisplay(of, Sum)),
        }
    }
}

/// A name, in quotes where it is not an identifier.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if crate::names::is_identifier(self.0) {
            f.write_str(self.0)
        } else {
            Literal::Text(self.0.to_owned()).fmt(f)
        }
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.value.value.fmt(f)?;
        match &self.alias {
            Some(alias) => write!(f, " as {}", Quoted(&alias.value)),
            None => Ok(()),
        }
    }
}

impl Display for TimeText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(text) => Literal::Text(text.clone()).fmt(f),
            Self::Ago(ns) => write!(f, "-{}", duration_text(*ns)),
        }
    }
}

impl Display for From {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queries(names) => {
                let names: Vec<_> = names.iter().map(|name| name.value.as_str()).collect();
                write!(f, " from {}", names.join(", "))
            }
            Self::Range(from, None) => write!(f, " from {}", from.value),
            Self::Range(from, Some(to)) => write!(f, " from {} to {}", from.value, to.value),
            Self::Last(ns) => write!(f, " last {}", duration_text(*ns)),
        }
    }
}

impl Display for TriggerText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            TriggerKeyword::When => "when",
            TriggerKeyword::WhenEach => "when each",
            TriggerKeyword::While => "while",
        };
        write!(f, " {kind} {}", self.condition.value)?;
        if let Some(ns) = self.lasting {
            write!(f, " for {}", duration_text(ns))?;
        }
        if let Some(until) = &self.until {
            write!(f, " until {}", until.value)?;
        }
        match self.cooldown {
            Some(ns) => write!(f, " cooldown {}", duration_text(ns)),
            None => Ok(()),
        }
    }
}

impl Display for Using {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.structure.value)?;
        if self.settings.is_empty() {
            return Ok(());
        }
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| format!("{name}={}", ExpressionDisplay(value, OperatorPrecedence::Sign)));
        write!(f, "({})", settings.collect::<Vec<_>>().join(", "))
    }
}

/// Writes a clause if it is there.
fn clause<T>(
    f: &mut Formatter<'_>,
    clause: &Option<Spanned<T>>,
    write: impl FnOnce(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    clause.as_ref().map_or(Ok(()), |clause| write(f, &clause.value))
}

impl Display for QueryText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "{}: ", label.value)?;
        }
        f.write_str("select ")?;
        clause(f, &self.select, |f, items| list(f, items, ", "))?;
        clause(f, &self.from, |f, from| from.fmt(f))?;
        clause(f, &self.filter, |f, filter| write!(f, " where {}", filter.value))?;
        clause(f, &self.group, |f, fields| {
            f.write_str(" groupby ")?;
            bound(f, fields, OperatorPrecedence::Or, ", ")
        })?;
        clause(f, &self.having, |f, having| write!(f, " having {}", having.value))?;
        clause(f, &self.order, |f, items| {
            let items: Vec<_> = items
                .iter()
                .map(|item| format!("{}{}", item.value.value, if item.descending { " desc" } else { "" }))
                .collect();
            write!(f, " order by {}", items.join(", "))
        })?;
        clause(f, &self.limit, |f, limit| write!(f, " limit {limit}"))?;
        clause(f, &self.every, |f, ns| write!(f, " every {}", duration_text(*ns)))?;
        clause(f, &self.over, |f, ns| write!(f, " over {}", duration_text(*ns)))?;
        clause(f, &self.across, |f, across| {
            write!(f, " across nodes by {}", if *across == Across::Sum { "sum" } else { "max" })
        })?;
        clause(f, &self.using, |f, using| write!(f, " using {using}"))?;
        clause(f, &self.error, |f, percent| write!(f, " error {percent}%"))?;
        clause(f, &self.trigger, |f, trigger| trigger.fmt(f))?;
        clause(f, &self.same_window, |f, ()| f.write_str(" in same window"))?;
        clause(f, &self.run, |f, run| match run {
            RunClause::Once => f.write_str(" run once"),
            RunClause::For(ns) => write!(f, " run {}", duration_text(*ns)),
        })?;
        clause(f, &self.within, |f, ns| write!(f, " within {}", duration_text(*ns)))?;
        clause(f, &self.capture, |f, packets| write!(f, " capture {packets} packets"))?;
        clause(f, &self.say, |f, say| write!(f, " say {}", Literal::Text(say.text.clone())))?;
        clause(f, &self.export, |f, ()| f.write_str(" export as metric"))?;
        f.write_char(';')
    }
}

#[cfg(test)]
impl Display for Definition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "let {} = {};", self.name.value, self.value.value)
    }
}

#[cfg(test)]
impl Display for File {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definitions.iter().try_for_each(|definition| writeln!(f, "{definition}"))?;
        self.queries.iter().try_for_each(|query| writeln!(f, "{query}"))
    }
}
