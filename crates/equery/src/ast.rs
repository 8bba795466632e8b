//! The text as a tree: what was written, not yet what it means.

use crate::literal::Literal;
use std::ops::Range;
use task::query::Across;

/// A part of the text and where it is. Two are equal if their values are, wherever they are.
#[derive(Clone, Debug)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

impl<T> Spanned<T> {
    pub(crate) fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// A file of queries and definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct File {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) queries: Vec<QueryText>,
}

/// `let NAME = VALUE`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: Spanned<String>,
    pub(crate) value: ExprNode,
}

/// An expression with its place.
pub(crate) type ExprNode = Spanned<Box<Expr>>;

/// A value or a condition: the checker tells them apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Literal(Literal),
    /// A field, a column, a variable, or a text without quotes.
    Name(String),
    /// An address field with the lengths of its prefix.
    Prefixed(String, Vec<u8>),
    /// `q1.item`
    Of(Spanned<String>, ExprNode),
    /// The argument of `count(*)`.
    Star,
    Call {
        function: String,
        distinct: bool,
        arguments: Vec<ExprNode>,
    },
    Negative(ExprNode),
    Arithmetic(ExprNode, task::query::Operator, ExprNode),
    /// `x offset 1d`
    Offset(ExprNode, u64),
    Compare(ExprNode, task::query::Comparison, ExprNode),
    And(Vec<ExprNode>),
    Or(Vec<ExprNode>),
    Not(ExprNode),
    In {
        value: ExprNode,
        list: Vec<ExprNode>,
        negated: bool,
    },
    Between {
        value: ExprNode,
        low: ExprNode,
        high: ExprNode,
        negated: bool,
    },
    Like {
        value: ExprNode,
        pattern: ExprNode,
        negated: bool,
    },
    IsNull {
        value: ExprNode,
        negated: bool,
    },
    /// `q1 is missing`
    IsMissing(ExprNode),
}

impl Expr {
    /// Returns the expressions that it is made of.
    pub(crate) fn parts(&mut self) -> Vec<&mut ExprNode> {
        match self {
            Self::Literal(_) | Self::Name(_) | Self::Prefixed(..) | Self::Star => Vec::new(),
            Self::Of(_, of)
            | Self::Negative(of)
            | Self::Offset(of, _)
            | Self::Not(of)
            | Self::IsNull { value: of, .. }
            | Self::IsMissing(of) => vec![of],
            Self::Arithmetic(left, _, right) | Self::Compare(left, _, right) => vec![left, right],
            Self::Call { arguments: of, .. } | Self::And(of) | Self::Or(of) => of.iter_mut().collect(),
            Self::In { value, list, .. } => std::iter::once(value).chain(list).collect(),
            Self::Between { value, low, high, .. } => vec![value, low, high],
            Self::Like { value, pattern, .. } => vec![value, pattern],
        }
    }

    /// Returns whether this holds of the expression or of one within it.
    pub(crate) fn any(&self, is_it: impl Fn(&Self) -> bool) -> bool {
        fn within(expression: &mut Expr, is_it: &impl Fn(&Expr) -> bool) -> bool {
            is_it(expression) || expression.parts().into_iter().any(|part| within(&mut part.value, is_it))
        }
        within(&mut self.clone(), &is_it)
    }
}

/// An item of `select`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SelectItem {
    pub(crate) value: ExprNode,
    pub(crate) alias: Option<Spanned<String>>,
}

/// A member of `order by`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrderItem {
    pub(crate) value: ExprNode,
    pub(crate) descending: bool,
}

/// A time: absolute, as text, or this long ago.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TimeText {
    At(String),
    Ago(u64),
}

/// The source that a query reads, where that is not the traffic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum From {
    Queries(Vec<Spanned<String>>),
    Range(Spanned<TimeText>, Option<Spanned<TimeText>>),
    Last(u64),
}

/// The clause by which a condition starts a triggered query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriggerKeyword {
    When,
    WhenEach,
    While,
}

/// `when` and its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TriggerText {
    pub(crate) kind: TriggerKeyword,
    pub(crate) condition: ExprNode,
    pub(crate) lasting: Option<u64>,
    pub(crate) until: Option<ExprNode>,
    pub(crate) cooldown: Option<u64>,
}

/// A part of what `say` says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SayPart {
    Text(String),
    /// The name in braces, without blanks around it.
    Name(Spanned<String>),
}

/// `say "Packets to {dst_addr} are lost behind {node}"`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SayText {
    /// The text as it is written.
    pub(crate) text: String,
    pub(crate) parts: Vec<SayPart>,
}

/// The number of times that a triggered query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunClause {
    Once,
    For(u64),
}

/// `using NAME(KEY=VALUE, …)`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Using {
    pub(crate) structure: Spanned<String>,
    pub(crate) settings: Vec<(String, ExprNode)>,
}

/// A query: each clause that stands in it, with its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueryText {
    pub(crate) label: Option<Spanned<String>>,
    pub(crate) select: Option<Spanned<Vec<SelectItem>>>,
    pub(crate) from: Option<Spanned<From>>,
    pub(crate) filter: Option<Spanned<ExprNode>>,
    pub(crate) group: Option<Spanned<Vec<ExprNode>>>,
    pub(crate) having: Option<Spanned<ExprNode>>,
    pub(crate) order: Option<Spanned<Vec<OrderItem>>>,
    pub(crate) limit: Option<Spanned<u64>>,
    pub(crate) every: Option<Spanned<u64>>,
    pub(crate) over: Option<Spanned<u64>>,
    pub(crate) across: Option<Spanned<Across>>,
    pub(crate) using: Option<Spanned<Using>>,
    pub(crate) error: Option<Spanned<f64>>,
    pub(crate) trigger: Option<Spanned<TriggerText>>,
    pub(crate) same_window: Option<Spanned<()>>,
    pub(crate) run: Option<Spanned<RunClause>>,
    pub(crate) within: Option<Spanned<u64>>,
    pub(crate) capture: Option<Spanned<u64>>,
    pub(crate) say: Option<Spanned<SayText>>,
    pub(crate) export: Option<Spanned<()>>,
    /// The whole query.
    pub(crate) span: TextRange,
    /// A clause has an error: what follows from its absence is not judged.
    pub(crate) is_broken: bool,
}

/// The most characters of a query that is said to be written instead.
const LONGEST_ADVICE: usize = 200;

impl QueryText {
    /// Returns the expressions of its columns, filters, groups and order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut ExprNode> {
        let Self { select, filter, group, having, order, .. } = self;
        let select = select.iter_mut().flat_map(|select| &mut select.value).map(|item| &mut item.value);
        let conditions = [filter, having].into_iter().flatten().map(|condition| &mut condition.value);
        let groups = group.iter_mut().flat_map(|group| &mut group.value);
        let order = order.iter_mut().flat_map(|order| &mut order.value).map(|item| &mut item.value);
        select.chain(conditions).chain(groups).chain(order)
    }

    /// Returns the text as a message says to write it; `None` if it is too long for one.
    pub(crate) fn to_advise(&self) -> Option<String> {
        let text = self.to_string().trim_end_matches(';').to_owned();
        (text.chars().count() <= LONGEST_ADVICE).then_some(text)
    }
}

/// A place that is no part of the meaning.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextRange(pub(crate) Range<usize>);

impl PartialEq for TextRange {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
