//! Expressions: values and conditions, by precedence.

use super::{Failed, Parsed, Parser};
use crate::ast::{Expr, Node, Spanned};
use crate::lexer::{Token, shortened};
use crate::literal::Literal;
use crate::names::{begins_clause, is_address_field, is_reserved};
use crate::sql_length::{is_of_calendar, sql_length_ns};
use flow::{Field, Value};
use task::query::{Comparison, Operator};

/// Nesting of parentheses, calls and operators. What reads the tree calls itself as deeply.
pub(crate) const DEEPEST: usize = 64;

impl Parser<'_, '_, '_> {
    /// A condition in which a comma means `and`.
    pub(super) fn condition(&mut self) -> Parsed<Node> {
        self.nested(|parser| parser.conjunction_by_comma())
    }

    fn conjunction_by_comma(&mut self) -> Parsed<Node> {
        let start = self.span().start;
        let mut all = vec![self.alternatives()?];
        while self.takes_symbol(",") {
            all.push(self.alternatives()?);
        }
        Ok(self.joined(start, all, Expr::And))
    }

    /// A value or a condition.
    pub(super) fn expression(&mut self) -> Parsed<Node> {
        self.nested(|parser| parser.alternatives())
    }

    /// Reads one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        self.limit_depth(self.depth)?;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }

    fn limit_depth(&mut self, depth: usize) -> Parsed<()> {
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
    fn measured(&mut self, read: fn(&mut Self) -> Parsed<Node>) -> Parsed<(Node, usize)> {
        let outer = std::mem::replace(&mut self.deepest, self.depth);
        let node = read(self)?;
        let height = self.deepest - self.depth;
        self.deepest = self.deepest.max(outer);
        Ok((node, height))
    }

    fn joined(&self, start: usize, mut parts: Vec<Node>, join: fn(Vec<Node>) -> Expr) -> Node {
        match parts.len() {
            1 => parts.remove(0),
            _ => self.node(start, join(flattened(parts, join))),
        }
    }

    fn node(&self, start: usize, value: Expr) -> Node {
        Spanned::new(Box::new(value), self.since(start))
    }

    fn alternatives(&mut self) -> Parsed<Node> {
        let start = self.span().start;
        let mut any = vec![self.conjunction()?];
        while self.takes_word("or") {
            any.push(self.conjunction()?);
        }
        Ok(self.joined(start, any, Expr::Or))
    }

    fn conjunction(&mut self) -> Parsed<Node> {
        let start = self.span().start;
        let mut all = vec![self.negation()?];
        while self.takes_word("and") {
            all.push(self.negation()?);
        }
        Ok(self.joined(start, all, Expr::And))
    }

    fn negation(&mut self) -> Parsed<Node> {
        let start = self.span().start;
        if !self.takes_word("not") {
            return self.comparison();
        }
        let of = self.nested(|parser| parser.negation())?;
        Ok(self.node(start, Expr::Not(of)))
    }

    fn comparison(&mut self) -> Parsed<Node> {
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

    fn is(&mut self, start: usize, value: Node) -> Parsed<Node> {
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
    fn list(&mut self) -> Parsed<Vec<Node>> {
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

    fn sum(&mut self) -> Parsed<Node> {
        self.operations(Self::product, |token| match token {
            Token::Symbol("+") => Some(Operator::Add),
            Token::Symbol("-") => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Parsed<Node> {
        self.operations(Self::offset, |token| match token {
            Token::Symbol("*") => Some(Operator::Multiply),
            Token::Symbol("/") => Some(Operator::Divide),
            _ => None,
        })
    }

    /// Operators of one precedence, from the left. Each deepens the tree.
    fn operations(
        &mut self,
        operand: fn(&mut Self) -> Parsed<Node>,
        operator_of: fn(&Token<'_>) -> Option<Operator>,
    ) -> Parsed<Node> {
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

    /// Returns what to write in the place of an operator of bits, which is next, behind a value.
    fn instead_of_bits(&self, left: &Node, symbol: &str) -> String {
        let list = "list the values that are meant";
        let Expr::Name(name) = &*left.value else { return list.to_owned() };
        let field = Field::named(flow::usual_name(name));
        let mut behind = self.tokens[self.at + 1..].iter().map(|placed| &placed.token);
        let mask = behind.next();
        if field.is_some_and(|field| field.name == "tcp_flags") {
            let (flag, bit) = match mask {
                Some(Token::Literal(Literal::Integer(1))) => ("FIN", 1),
                Some(Token::Literal(Literal::Integer(4))) => ("RST", 4),
                Some(Token::Literal(Literal::Integer(8))) => ("PSH", 8),
                _ => ("SYN", 2),
            };
            let with_ack = bit + 16;
            return format!(
                "{list}: 'where tcp_flags in ({bit}, {with_ack}) groupby tcp_flags' has the packets with {flag} alone and with {flag} and ACK"
            );
        }
        let mut behind = behind.skip_while(|token| **token == Token::Symbol(")"));
        let (comparison, value) = (behind.next(), behind.next());
        let is_compared = matches!(comparison, Some(Token::Symbol("=" | "!=" | "<" | "<=" | ">" | ">=")));
        let is_of_octet = field.is_some_and(|field| matches!(field.value, Value::Unsigned(8, _)));
        let not = |comparison| if comparison == "=" { "" } else { "not " };
        match (mask, comparison, value) {
            (
                Some(Token::Literal(Literal::Integer(mask))),
                Some(Token::Symbol(comparison @ ("=" | "!="))),
                Some(Token::Literal(Literal::Integer(value))),
            ) if is_of_octet && symbol == "&" => match (&masked(*mask, *value)[..], *comparison) {
                ([], "=") => "no value is like this".to_owned(),
                ([], _) => "every value is like this: leave it out".to_owned(),
                ([one], comparison) => format!("write '{name} {comparison} {one}'"),
                (all @ [first, .., last], comparison) if last - first + 1 == all.len() as u64 => {
                    format!("write '{name} {}between {first} and {last}'", not(comparison))
                }
                (all, comparison) => {
                    let all: Vec<String> = all.iter().map(u64::to_string).collect();
                    format!("write '{name} {}in ({})'", not(comparison), all.join(", "))
                }
            },
            _ if is_compared && is_address_field(name) => {
                format!("name the prefix that is meant: {name} in 10.0.0.0/8")
            }
            _ if is_compared => format!("{list}: {name} in (1, 2)"),
            _ if is_address_field(name) => format!("leave it out: a group by {name}/24 has each prefix"),
            _ => format!("leave it out: a group by {name} has each of its values"),
        }
    }

    fn offset(&mut self) -> Parsed<Node> {
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
    pub(super) fn operand(&mut self) -> Parsed<Node> {
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

    fn primary(&mut self) -> Parsed<Node> {
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

    /// Reads a length of time as SQL has it behind `interval`: `'7 days'`, `'1' day`, `1 day`. Returns nanoseconds.
    fn interval(&mut self, start: usize) -> Parsed<u64> {
        let mut text = match self.peek() {
            Token::Literal(Literal::Text(text)) => text.clone(),
            Token::Literal(literal) => literal.to_string(),
            _ => String::new(),
        };
        self.advance();
        if let (true, Token::Word(unit)) = (text.bytes().all(|byte| byte.is_ascii_digit()), self.peek()) {
            text = format!("{text} {unit}");
            self.advance();
        }
        if let Some(ns) = sql_length_ns(&text) {
            return Ok(ns);
        }
        let span = self.since(start);
        let help = match is_of_calendar(&text) {
            true => "months and years are of several lengths: write one of days, such as 30d",
            false => "write a length of time, such as 7d",
        };
        let message = format!("'{}' is no length of time", shortened(&text));
        self.diagnostics.error_with_help("syntax", &span, message, help);
        Err(Failed)
    }

    /// Returns whether the word `case` begins an SQL `CASE` expression, searched (`case when`) or simple (`case x when`).
    fn is_case(&self) -> bool {
        let begins_value = match self.ahead(1) {
            Token::Word(word) => !begins_clause(word) || word.eq_ignore_ascii_case("when"),
            Token::Literal(_) | Token::Symbol("(") => true,
            Token::Symbol(_) | Token::End => false,
        };
        let rest = self.tokens[self.at..].iter().map(|token| &token.token);
        let mut of_query = rest.take_while(|token| **token != Token::Symbol(";"));
        begins_value
            && of_query.any(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("then")))
    }

    /// Reports an SQL expression of cases. The rest of the query may be about it.
    fn case(&mut self) -> Failed {
        let span = self.span();
        let help = "ask a query for each case, as in 'web: select sum(total_byte) where dst_port = 80'";
        self.diagnostics.error_with_help("syntax", &span, "there is no 'case'", help);
        self.is_lost = true;
        Failed
    }

    /// Reads an expression that begins with a name: `name`, `name(…)`, `name.item`, `name/24/64`.
    fn named(&mut self, start: usize, name: Spanned<String>) -> Parsed<Node> {
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

    fn plain(&mut self, start: usize, name: Spanned<String>) -> Parsed<Node> {
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
    fn call(&mut self, start: usize, function: &str) -> Parsed<Node> {
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
        if self.is_word(0, "over") && *self.ahead(1) == Token::Symbol("(") {
            self.over_rows(start, &function)?;
        }
        Ok(self.node(start, Expr::Call { function, distinct, arguments }))
    }

    /// The arguments of a function that SQL gives its values in an order: `percentile_cont(0.5) within group (order by x)` has those of
    /// `percentile_cont(x, 0.5)`. From the greatest down, a share is that of the values above. An error where no function has them.
    fn within_group(&mut self, function: &str, mut arguments: Vec<Node>) -> Parsed<Vec<Node>> {
        let span = self.span();
        (0..2).for_each(|_| self.advance());
        if !["percentile_cont", "percentile_disc", "mode"].contains(&function) {
            let help = "remove it: no function depends on the order of its values";
            self.diagnostics.error_with_help("syntax", &span, "there is no 'within group'", help);
            self.is_lost = true;
            return Err(Failed);
        }
        self.expect_symbol("(", "behind 'within group'")?;
        self.expect_word("order", "in parentheses")?;
        self.expect_word("by", "behind 'order'")?;
        let order = self.order_item()?;
        self.expect_symbol(")", "behind the order")?;
        if order.descending {
            arguments.iter_mut().for_each(|share| from_above(&mut share.value));
        }
        Ok(std::iter::once(order.value).chain(arguments).collect())
    }

    /// Passes over the rows around each row, of which SQL has a function: `over (partition by x)`. An error where the function is one of groups too.
    fn over_rows(&mut self, start: usize, function: &str) -> Parsed<()> {
        self.advance();
        let mut depth = 0;
        while !self.is_end() {
            depth += match self.peek() {
                Token::Symbol("(") => 1,
                Token::Symbol(")") => -1,
                _ => 0,
            };
            self.advance();
            if depth == 0 {
                break;
            }
        }
        // The checker says what to write for these.
        let is_of_rows =
            ["row_number", "rank", "dense_rank", "lag", "first_value", "last_value"].contains(&function);
        if is_of_rows {
            return Ok(());
        }
        let help =
            "leave it out: a query has the aggregates of each group, and with 'every 10s' those of each 10 s";
        let span = self.since(start);
        self.diagnostics.error_with_help("syntax", &span, "there is no 'over (…)' behind a function", help);
        Err(Failed)
    }
}

/// Returns the values of an octet of which these bits have this value.
fn masked(mask: u64, value: u64) -> Vec<u64> {
    (0..=u8::MAX.into()).filter(|of| of & mask == value).collect()
}

/// Replaces a share of the values below by that of the values above.
fn from_above(share: &mut Expr) {
    // Shares are written with few digits, and 1 - 0.9 has many.
    let less = |all: f64, share: f64| ((all - share) * 1e12).round() / 1e12;
    let Expr::Literal(literal) = share else { return };
    *literal = match literal {
        Literal::Integer(share @ (0 | 1)) => Literal::Integer(1 - *share),
        Literal::Integer(percent) => Literal::Percent(less(100.0, *percent as f64)),
        Literal::Float(share) if *share <= 1.0 => Literal::Float(less(1.0, *share)),
        Literal::Float(percent) | Literal::Percent(percent) => Literal::Percent(less(100.0, *percent)),
        _ => return,
    };
}

/// Conjunctions within conjunctions become one, and alternatives within alternatives.
fn flattened(parts: Vec<Node>, join: fn(Vec<Node>) -> Expr) -> Vec<Node> {
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
