//! Forms of SQL in expressions: those that mean something here, and what is said of the others.

use super::{Failed, ParseResult, Parser};
use crate::ast::{Expr, ExprNode};
use crate::lexer::{Token, shortened};
use crate::literal::Literal;
use crate::names::{begins_clause, is_address_field};
use crate::sql_length::{is_of_calendar, sql_length_ns};
use flow::{Field, FieldAccessor};

impl Parser<'_, '_, '_> {
    /// Returns what to write in the place of an operator of bits, which is next, behind a value.
    pub(super) fn instead_of_bits(&self, left: &ExprNode, symbol: &str) -> String {
        let list = "list the values that are meant";
        let Expr::Name(name) = &*left.value else { return list.to_owned() };
        let field = Field::named(flow::resolve_alias(name));
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
        let is_of_octet = field.is_some_and(|field| matches!(field.value, FieldAccessor::Unsigned(8, _)));
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

    /// Reads a length of time as SQL has it behind `interval`: `'7 days'`, `'1' day`, `1 day`. Returns nanoseconds.
    pub(super) fn interval(&mut self, start: usize) -> ParseResult<u64> {
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
    pub(super) fn is_case(&self) -> bool {
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
    pub(super) fn case(&mut self) -> Failed {
        let span = self.span();
        let help = "count_if(dst_port = 80) counts the flows of a case; for other figures ask a query for each case, as in \
                    'web: select sum(total_byte) where dst_port = 80'";
        self.diagnostics.error_with_help("syntax", &span, "there is no 'case'", help);
        self.is_lost = true;
        Failed
    }

    /// The arguments of a function that SQL gives its values in an order: `percentile_cont(0.5) within group (order by x)` has those of
    /// `percentile_cont(x, 0.5)`. From the greatest down, a share is that of the values above. An error where no function has them.
    pub(super) fn within_group(
        &mut self,
        function: &str,
        mut arguments: Vec<ExprNode>,
    ) -> ParseResult<Vec<ExprNode>> {
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
            arguments.iter_mut().for_each(|share| use_values_above(&mut share.value));
        }
        Ok(std::iter::once(order.value).chain(arguments).collect())
    }

    /// Reports the condition that SQL has behind a function, and passes over it: `count(*) filter (where dst_port = 80)`.
    pub(super) fn filter_of_function(
        &mut self,
        start: usize,
        function: &str,
        arguments: &[ExprNode],
    ) -> ParseResult<()> {
        (0..2).for_each(|_| self.advance());
        self.expect_word("where", "in parentheses")?;
        let condition = self.expression()?;
        self.expect_symbol(")", "behind the condition")?;
        let counts_flows = matches!(arguments, [argument] if *argument.value == Expr::Star);
        let help = match function {
            "count" if counts_flows => format!("write 'count_if({})'", condition.value),
            _ => "ask a query for each condition, as in 'web: select sum(total_byte) where dst_port = 80'"
                .to_owned(),
        };
        let span = self.since(start);
        self.diagnostics.error_with_help("syntax", &span, "there is no 'filter' behind a function", help);
        Ok(())
    }

    /// Passes over the rows around each row, of which SQL has a function: `over (partition by x)`. An error where the function is one of groups too.
    pub(super) fn over_rows(&mut self, start: usize, function: &str) -> ParseResult<()> {
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
fn use_values_above(share: &mut Expr) {
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
