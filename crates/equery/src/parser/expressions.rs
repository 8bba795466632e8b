//! Expressions: values and conditions, by precedence.

use super::{Failed, ParseResult, Parser};
use crate::ast::{Expr, ExprNode, Spanned};
use crate::lexer::Token;
use crate::literal::Literal;
use crate::names::{is_address_field, is_reserved};
use task::query::{Comparison, Operator};

/// Nesting of parentheses, calls and operators. What reads the tree calls itself as deeply.
pub(crate) const DEEPEST: usize = 64;

impl Parser<'_, '_, '_> {
    /// A condition in which a comma means `and`.
    pub(super) fn condition(&mut self) -> ParseResult<ExprNode> {
        self.nested(|parser| parser.conjunction_by_comma())
    }

    fn conjunction_by_comma(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        let mut all = vec![self.alternatives()?];
        while self.takes_symbol(",") {
            all.push(self.alternatives()?);
        }
        Ok(self.joined(start, all, Expr::And))
    }

    /// A value or a condition.
    pub(super) fn expression(&mut self) -> ParseResult<ExprNode> {
        self.nested(|parser| parser.alternatives())
    }

    /// Reads one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        self.depth += 1;
        self.limit_depth(self.depth)?;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }

    fn limit_depth(&mut self, depth: usize) -> ParseResult<()> {
        self.deepest = self.deepest.max(depth);
        if depth <= DEEPEST {
            return Ok(());
        }
        let span = self.span();
        let message = format!("nested too deeply: at most {DEEPEST} levels of parentheses and operators");
        self.diagnostics.error("nested_too_deeply", &span, message);
        self.is_lost = true;
        Err(Failed)
    }

    /// Reads something, and how deep it is.
    fn measured(&mut self, read: fn(&mut Self) -> ParseResult<ExprNode>) -> ParseResult<(ExprNode, usize)> {
        let outer = std::mem::replace(&mut self.deepest, self.depth);
        let node = read(self)?;
        let height = self.deepest - self.depth;
        self.deepest = self.deepest.max(outer);
        Ok((node, height))
    }

    fn joined(&self, start: usize, mut parts: Vec<ExprNode>, join: fn(Vec<ExprNode>) -> Expr) -> ExprNode {
        match parts.len() {
            1 => parts.remove(0),
            _ => self.node(start, join(flattened(parts, join))),
        }
    }

    fn node(&self, start: usize, value: Expr) -> ExprNode {
        Spanned::new(Box::new(value), self.since(start))
    }

    fn alternatives(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        let mut any = vec![self.conjunction()?];
        while self.takes_word("or") {
            any.push(self.conjunction()?);
        }
        Ok(self.joined(start, any, Expr::Or))
    }

    fn conjunction(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        let mut all = vec![self.negation()?];
        while self.takes_word("and") {
            all.push(self.negation()?);
        }
        Ok(self.joined(start, all, Expr::And))
    }

    fn negation(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        if !self.takes_word("not") {
            return self.comparison();
        }
        let of = self.nested(|parser| parser.negation())?;
        Ok(self.node(start, Expr::Not(of)))
    }

    fn comparison(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        let value = self.sum()?;
        if let Some(comparison) = self.comparison_symbol() {
            if self.is_word(0, "null") {
                let is_it = if comparison == Comparison::NotEqual { "is not null" } else { "is null" };
                return Err(self.expected_with_help("a value", format!("write '{is_it}'")));
            }
            let right = self.sum()?;
            if self.comparison_symbol().is_some() {
                let span = self.since(start);
                let help = "join two comparisons with 'and', or use between";
                self.diagnostics.error_with_help(
                    "chained_comparison",
                    &span,
                    "comparisons do not chain",
                    help,
                );
                return Err(Failed);
            }
            return Ok(self.node(start, Expr::Compare(value, comparison, right)));
        }
        if self.takes_word("is") {
            return self.is(start, value);
        }
        // `in same window` is a clause.
        let negated = self.is_word(0, "not")
            && ["in", "between", "like", "ilike"].iter().any(|word| self.is_word(1, word));
        if negated {
            self.advance();
        }
        if self.is_word(0, "in") && (negated || !self.is_word(1, "same")) {
            self.advance();
            let list = self.list()?;
            return Ok(self.node(start, Expr::In { value, list, negated }));
        }
        if self.takes_word("between") {
            let low = self.sum()?;
            self.expect_word("and", "between the limits of between")?;
            let high = self.sum()?;
            return Ok(self.node(start, Expr::Between { value, low, high, negated }));
        }
        // Of SQL's two it is the one for which letters of either case are equal.
        if self.takes_word("like") || self.takes_word("ilike") {
            let pattern = self.primary()?;
            return Ok(self.node(start, Expr::Like { value, pattern, negated }));
        }
        Ok(value)
    }

    fn comparison_symbol(&mut self) -> Option<Comparison> {
        let comparison = match self.peek() {
            Token::Symbol("=") => Comparison::Equal,
            Token::Symbol("!=") => Comparison::NotEqual,
            Token::Symbol("<") => Comparison::Less,
            Token::Symbol("<=") => Comparison::LessOrEqual,
            Token::Symbol(">") => Comparison::Greater,
            Token::Symbol(">=") => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.advance();
        Some(comparison)
    }

    fn is(&mut self, start: usize, value: ExprNode) -> ParseResult<ExprNode> {
        let negated = self.takes_word("not");
        if self.takes_word("null") {
            return Ok(self.node(start, Expr::IsNull { value, negated }));
        }
        if !negated && self.takes_word("missing") {
            return Ok(self.node(start, Expr::IsMissing(value)));
        }
        if self.is_word(0, "distinct") && self.is_word(1, "from") {
            let span = self.span();
            let operator = if negated { "=" } else { "!=" };
            let help = format!("write '{operator}', and 'is null' where null counts, too");
            self.diagnostics.error_with_help("syntax", &span, "there is no 'is distinct from'", help);
            return Err(Failed);
        }
        let help = format!("'is' asks for null alone: write '{}'", if negated { "!=" } else { "=" });
        Err(self.expected_with_help("'null', 'not null' or 'missing' behind 'is'", help))
    }

    /// Values in parentheses, or one without.
    fn list(&mut self) -> ParseResult<Vec<ExprNode>> {
        if !self.takes_symbol("(") {
            return Ok(vec![self.sum()?]);
        }
        self.nested(|parser| {
            let mut list = vec![parser.sum()?];
            while parser.takes_symbol(",") {
                list.push(parser.sum()?);
            }
            parser.expect_symbol(")", "at the end of the list")?;
            Ok(list)
        })
    }

    fn sum(&mut self) -> ParseResult<ExprNode> {
        self.operations(Self::product, |token| match token {
            Token::Symbol("+") => Some(Operator::Add),
            Token::Symbol("-") => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> ParseResult<ExprNode> {
        self.operations(Self::offset, |token| match token {
            Token::Symbol("*") => Some(Operator::Multiply),
            Token::Symbol("/") => Some(Operator::Divide),
            _ => None,
        })
    }

    /// Operators of one precedence, from the left. Each deepens the tree.
    fn operations(
        &mut self,
        operand: fn(&mut Self) -> ParseResult<ExprNode>,
        operator_of: fn(&Token<'_>) -> Option<Operator>,
    ) -> ParseResult<ExprNode> {
        let start = self.span().start;
        let (mut left, mut height) = self.measured(operand)?;
        while let Some(operator) = operator_of(self.peek()) {
            self.advance();
            let (right, right_height) = self.measured(operand)?;
            height = height.max(right_height) + 1;
            self.limit_depth(self.depth + height)?;
            left = self.node(start, Expr::Arithmetic(left, operator, right));
        }
        if let Token::Symbol(symbol @ ("&" | "|" | "^")) = *self.peek() {
            let span = self.span();
            let message = format!("'{symbol}' has no meaning here: no operator is of bits");
            let help = self.instead_of_bits(&left, symbol);
            self.diagnostics.error_with_help("unknown_character", &span, message, help);
            self.is_lost = true;
            return Err(Failed);
        }
        Ok(left)
    }

    fn offset(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        let of = self.operand()?;
        let span = self.span();
        if !self.takes_word("offset") {
            return Ok(of);
        }
        if matches!(self.peek(), Token::Literal(Literal::Integer(_))) {
            return Err(self.passed_over(&span, None));
        }
        let by = self.duration("behind offset")?;
        Ok(self.node(start, Expr::Offset(of, by.value)))
    }

    /// A value with its sign.
    pub(super) fn operand(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        if self.takes_symbol("+") {
            return self.nested(|parser| parser.operand());
        }
        if !self.takes_symbol("-") {
            return self.primary();
        }
        let of = self.nested(|parser| parser.operand())?;
        Ok(self.node(start, Expr::Negative(of)))
    }

    fn primary(&mut self) -> ParseResult<ExprNode> {
        let start = self.span().start;
        match self.peek().clone() {
            Token::Literal(literal) => {
                self.advance();
                Ok(self.node(start, Expr::Literal(literal)))
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.nested(|parser| parser.conjunction_by_comma())?;
                self.expect_symbol(")", "to match the '(' before")?;
                Ok(inner)
            }
            // A function of SQL: the checker says what to write.
            Token::Word(word)
                if word.eq_ignore_ascii_case("last") && *self.ahead(1) == Token::Symbol("(") =>
            {
                let name = Spanned::new(word.to_owned(), self.span());
                self.advance();
                self.named(start, name)
            }
            Token::Word(word) if is_reserved(word) && *self.ahead(1) != Token::Symbol(".") => {
                Err(self.expected("a field or a value"))
            }
            Token::Word(word) if word.eq_ignore_ascii_case("case") && self.is_case() => Err(self.case()),
            Token::Word(word)
                if word.eq_ignore_ascii_case("interval") && matches!(self.ahead(1), Token::Literal(_)) =>
            {
                self.advance();
                let ns = self.interval(start)?;
                Ok(self.node(start, Expr::Literal(Literal::Duration(ns))))
            }
            Token::Word(word) => {
                let name = Spanned::new(word.to_owned(), self.span());
                self.advance();
                self.named(start, name)
            }
            _ => Err(self.expected("a field or a value")),
        }
    }

    /// Reads an expression that begins with a name: `name`, `name(…)`, `name.item`, `name/24/64`.
    fn named(&mut self, start: usize, name: Spanned<String>) -> ParseResult<ExprNode> {
        if self.takes_symbol("(") {
            return self.nested(|parser| parser.call(start, &name.value));
        }
        if self.takes_symbol(".") {
            let at = self.span().start;
            let item = match self.peek().clone() {
                Token::Literal(Literal::Text(text)) => {
                    self.advance();
                    self.node(at, Expr::Literal(Literal::Text(text)))
                }
                Token::Word(word) => {
                    let item = Spanned::new(word.to_owned(), self.span());
                    self.advance();
                    if self.takes_symbol("(") {
                        self.nested(|parser| parser.call(at, &item.value))?
                    } else {
                        self.plain(at, item)?
                    }
                }
                _ => {
                    return Err(self.expected(&format!(
                        "an item of '{}' behind '.'",
                        crate::lexer::shortened(&name.value)
                    )));
                }
            };
            return Ok(self.node(start, Expr::Of(name, item)));
        }
        self.plain(start, name)
    }

    fn plain(&mut self, start: usize, name: Spanned<String>) -> ParseResult<ExprNode> {
        let mut lengths = Vec::new();
        while is_address_field(&name.value)
            && *self.peek() == Token::Symbol("/")
            && self.is_adjacent()
            && matches!(self.ahead(1), Token::Literal(Literal::Integer(_)))
        {
            self.advance();
            let (most, span) = (if lengths.is_empty() { 32 } else { 128 }, self.span());
            let length = match *self.peek() {
                Token::Literal(Literal::Integer(length)) if length <= most => u8::try_from(length).ok(),
                _ => None,
            };
            self.advance();
            let Some(length) = length.filter(|_| lengths.len() < 2) else {
                let message = match lengths.len() {
                    0 => "the length of an IPv4 prefix is from 0 to 32",
                    1 => "the length of an IPv6 prefix is from 0 to 128",
                    _ => "an address has two prefix lengths at most: of IPv4 and of IPv6",
                };
                self.diagnostics.error("prefix_length", &span, message);
                return Err(Failed);
            };
            lengths.push(length);
        }
        Ok(self.node(
            start,
            if lengths.is_empty() { Expr::Name(name.value) } else { Expr::Prefixed(name.value, lengths) },
        ))
    }

    /// Returns true if the next token and the one behind it follow without a blank, as in `src_addr/24`.
    fn is_adjacent(&self) -> bool {
        let end = |at: usize| self.tokens.get(at).map(|token| token.span.end);
        let start = |at: usize| self.tokens.get(at).map(|token| token.span.start);
        self.at > 0 && end(self.at - 1) == start(self.at) && end(self.at) == start(self.at + 1)
    }

    /// Returns true if `distinct` stands before an argument. A query and a column may have this name.
    pub(super) fn is_distinct(&self) -> bool {
        let begins_argument = match self.ahead(1) {
            Token::Word(word) => !is_reserved(word),
            Token::Literal(_) | Token::Symbol("(") => true,
            Token::Symbol(_) | Token::End => false,
        };
        self.is_word(0, "distinct") && begins_argument
    }

    /// Arguments, behind the parenthesis.
    fn call(&mut self, start: usize, function: &str) -> ParseResult<ExprNode> {
        let distinct = self.is_distinct();
        if distinct {
            self.advance();
        }
        let mut arguments = Vec::new();
        if !self.takes_symbol(")") {
            loop {
                let at = self.span().start;
                let argument =
                    if self.takes_symbol("*") { self.node(at, Expr::Star) } else { self.expression()? };
                arguments.push(argument);
                if function.eq_ignore_ascii_case("cast") && self.is_word(0, "as") {
                    let span = self.span();
                    let help = "write the value alone: numbers have the type that they need";
                    self.diagnostics.error_with_help("syntax", &span, "there is no 'cast'", help);
                    return Err(Failed);
                }
                if !self.takes_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")", "behind the arguments")?;
        }
        let function = function.to_ascii_lowercase();
        if self.is_word(0, "within") && self.is_word(1, "group") {
            arguments = self.within_group(&function, arguments)?;
        }
        if self.is_word(0, "filter") && *self.ahead(1) == Token::Symbol("(") {
            self.filter_of_function(start, &function, &arguments)?;
        }
        if self.is_word(0, "over") && *self.ahead(1) == Token::Symbol("(") {
            self.over_rows(start, &function)?;
        }
        Ok(self.node(start, Expr::Call { function, distinct, arguments }))
    }
}

/// Conjunctions within conjunctions become one, and alternatives within alternatives.
fn flattened(parts: Vec<ExprNode>, join: fn(Vec<ExprNode>) -> Expr) -> Vec<ExprNode> {
    let joins_all = matches!(join(Vec::new()), Expr::And(_));
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match *part.value {
            Expr::And(inner) if joins_all => flat.extend(inner),
            Expr::Or(inner) if !joins_all => flat.extend(inner),
            value => flat.push(Spanned::new(Box::new(value), part.span)),
        }
    }
    flat
}
