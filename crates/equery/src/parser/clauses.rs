//! The clauses of a query.

use super::{Failed, ParseResult, Parser};
use crate::ast::{
    Expr, ExprNode, From, OrderItem, QueryText, RunClause, SelectItem, Spanned, TimeText, TriggerKeyword,
    TriggerText, Using,
};
use crate::lexer::Token;
use crate::literal::Literal;
use crate::names::{begins_clause, is_reserved};
use crate::whole_flows::replace_by_whole_flows;
use flow::{Derived, DerivedField};
use std::ops::Range;
use task::query::Across;

/// Columns, group fields and members of `order by`: more than a screen or a file of one record holds.
const MOST_ITEMS: usize = 256;

impl Parser<'_, '_, '_> {
    /// Reads the clause that begins here.
    pub(super) fn clause(&mut self, query: &mut QueryText) -> ParseResult<()> {
        let start = self.span();
        let keyword = self.word().to_ascii_lowercase();
        self.advance();
        let clause = keyword.as_str();
        match clause {
            "select" => {
                self.other_select()?;
                let items = self.items("columns", |parser| parser.select_item())?;
                self.set(&mut query.select, items, &start, clause)
            }
            "from" => {
                let from = self.from()?;
                self.set(&mut query.from, from, &start, clause)
            }
            "last" => {
                let ns = self.duration("behind last")?.value;
                self.set(&mut query.from, From::Last(ns), &start, "from")
            }
            "where" => {
                let condition = self.condition()?;
                self.set(&mut query.filter, condition, &start, clause)
            }
            "groupby" => self.group(query, &start),
            "group" => {
                self.expect_word("by", "behind 'group'")?;
                self.group(query, &start)
            }
            "having" => {
                let condition = self.condition()?;
                self.set(&mut query.having, condition, &start, clause)
            }
            "order" => self.order(query, &start),
            "limit" => self.limit(query, &start),
            "every" => {
                let ns = self.duration("behind every")?.value;
                self.set(&mut query.every, ns, &start, clause)
            }
            "over" => {
                let ns = self.duration("behind over")?.value;
                self.set(&mut query.over, ns, &start, clause)
            }
            "across" => self.parse_across(query, &start),
            "using" => {
                let using = self.using()?;
                self.set(&mut query.using, using, &start, clause)
            }
            "error" => {
                let error = self.percent()?;
                self.set(&mut query.error, error, &start, clause)
            }
            "when" | "while" => self.trigger(query, clause, &start),
            "in" => self.same_window(query, &start),
            "run" => self.run(query, &start),
            "within" => {
                let ns = self.duration("behind within")?.value;
                self.set(&mut query.within, ns, &start, clause)
            }
            "capture" => self.capture(query, &start),
            "say" => {
                let say = self.say()?;
                self.set(&mut query.say, say, &start, clause)
            }
            // `export as metric`: the last word that begins a clause.
            _ => {
                self.expect_word("as", "behind 'export'")?;
                self.expect_word("metric", "behind 'export as'")?;
                self.set(&mut query.export, (), &start, "export")
            }
        }
    }

    fn order(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        self.expect_word("by", "behind 'order'")?;
        let items = self.items("members of order by", |parser| parser.order_item())?;
        self.set(&mut query.order, items, start, "order by")
    }

    fn limit(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        let limit = self.count("a number of rows behind limit, such as 10")?;
        if self.takes_symbol(",") || self.takes_word("offset") {
            return Err(self.passed_over(start, Some(limit)));
        }
        self.set(&mut query.limit, limit, start, "limit")
    }

    fn same_window(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        self.expect_word("same", "behind 'in'")?;
        self.expect_word("window", "behind 'in same'")?;
        self.set(&mut query.same_window, (), start, "in same window")
    }

    fn run(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        let run = if self.takes_word("once") {
            RunClause::Once
        } else {
            RunClause::For(self.duration("or 'once' behind run")?.value)
        };
        self.set(&mut query.run, run, start, "run")
    }

    fn capture(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        let packets = self.count("a number of packets behind capture, such as 100")?;
        self.expect_word("packets", "behind the number")?;
        self.set(&mut query.capture, packets, start, "capture")
    }

    /// Puts a clause into its place, which must be empty.
    fn set<T>(
        &mut self,
        place: &mut Option<Spanned<T>>,
        value: T,
        start: &Range<usize>,
        clause: &str,
    ) -> ParseResult<()> {
        if place.is_some() {
            let message = format!("'{clause}' stands here for the second time in one query");
            let help = "remove it, or end the query before it with ';'";
            self.diagnostics.error_with_help("duplicate_clause", start, message, help);
            return Err(Failed);
        }
        let span = self.since(start.start);
        *place = Some(Spanned::new(value, span));
        Ok(())
    }

    /// Members separated by commas.
    fn items<T>(&mut self, what: &str, read: fn(&mut Self) -> ParseResult<T>) -> ParseResult<Vec<T>> {
        let mut items = vec![read(self)?];
        while self.takes_symbol(",") {
            if items.len() == MOST_ITEMS {
                let span = self.span();
                let message = format!("more than {MOST_ITEMS} {what}");
                self.diagnostics.error("too_many_items", &span, message);
                return Err(Failed);
            }
            items.push(read(self)?);
        }
        Ok(items)
    }

    fn select_item(&mut self) -> ParseResult<SelectItem> {
        if matches!(self.peek(), Token::Symbol("*")) {
            let span = self.span();
            let help = "name the columns: 'select src_addr, dst_addr, protocol, src_port, dst_port, total_count, total_byte'";
            self.diagnostics.error_with_help("select_all", &span, "select does not take '*'", help);
            return Err(Failed);
        }
        let value = self.expression()?;
        let alias = if self.takes_word("as") || self.is_alias() { Some(self.alias()?) } else { None };
        Ok(SelectItem { value, alias })
    }

    /// Returns true if the name of a column stands here without `as`. A misspelt clause is no such name.
    fn is_alias(&self) -> bool {
        let is_name = match self.peek() {
            Token::Word(word) => {
                let clauses = crate::names::CLAUSES.iter().map(|clause| clause.word);
                // A field is more likely another column, whose comma is missing.
                let is_field = crate::fields::find(word).is_some();
                !is_reserved(word)
                    && !is_field
                    && !self.is_sql()
                    && crate::names::nearest(word, clauses).is_none()
            }
            Token::Literal(Literal::Text(text)) => !text.is_empty(),
            _ => false,
        };
        is_name
            && match self.ahead(1) {
                Token::End | Token::Symbol("," | ";") => true,
                Token::Word(word) => {
                    begins_clause(word) || word.eq_ignore_ascii_case("in") && self.is_word(2, "same")
                }
                _ => false,
            }
    }

    /// Reports `select distinct …` and `select top 10 …`.
    fn other_select(&mut self) -> ParseResult<()> {
        let span = self.span();
        if self.is_distinct() {
            self.advance();
            let help = match self.is_word(0, "on") && *self.ahead(1) == Token::Symbol("(") {
                true => self.distinct_on()?,
                false => {
                    let items = self.items("columns", |parser| parser.select_item())?;
                    format!("write 'select {}'", distinct(&items))
                }
            };
            self.diagnostics.error_with_help("select_distinct", &span, "select takes no 'distinct'", help);
            return Err(Failed);
        }
        if let (true, Token::Literal(Literal::Integer(number))) = (self.is_word(0, "top"), self.ahead(1)) {
            let help = format!("write 'limit {number}' behind the columns");
            self.diagnostics.error_with_help("select_top", &span, "select takes no 'top'", help);
            return Err(Failed);
        }
        Ok(())
    }

    /// Returns what to write in the place of SQL's `on (a) a, b`: a row for each value of `a`, with that of `b` in the row that comes first.
    fn distinct_on(&mut self) -> ParseResult<String> {
        self.advance();
        self.advance();
        let groups = self.items("fields", |parser| parser.expression())?;
        self.expect_symbol(")", "behind the fields")?;
        let items = self.items("columns", |parser| parser.select_item())?;
        // What it is ordered by is of rows, too.
        self.is_lost = true;
        let column = |value: &ExprNode| {
            let text = value.value.to_string();
            let field = match &*value.value {
                _ if groups.contains(value) => None,
                Expr::Name(name) | Expr::Prefixed(name, _) => crate::fields::find(name),
                _ => None,
            };
            match field {
                Some(field) if field.default_aggregate() != "count" => format!("max({text})"),
                Some(_) => format!("top(1, {text})"),
                None => text,
            }
        };
        let columns = items.iter().map(|item| column(&item.value)).collect::<Vec<_>>().join(", ");
        let groups = groups.iter().map(|group| group.value.to_string()).collect::<Vec<_>>().join(", ");
        Ok(format!(
            "write 'select {columns} groupby {groups}': a group has no first row, and the greatest value or the one with the most bytes is asked for"
        ))
    }

    fn alias(&mut self) -> ParseResult<Spanned<String>> {
        match self.peek().clone() {
            Token::Literal(Literal::Text(text)) if !text.is_empty() => {
                let alias = Spanned::new(text, self.span());
                self.advance();
                Ok(alias)
            }
            _ => self.name("the name of a column"),
        }
    }

    pub(super) fn order_item(&mut self) -> ParseResult<OrderItem> {
        // A column's name may need quotes.
        let value = self.expression()?;
        let descending = self.takes_word("desc");
        if !descending {
            self.takes_word("asc");
        }
        // They are the last in either direction.
        if self.is_word(0, "nulls") {
            self.advance();
            if !self.takes_word("last") {
                return Err(self.expected_with_help(
                    "'last' behind 'nulls'",
                    "values that are null are the last: leave it out",
                ));
            }
        }
        Ok(OrderItem { value, descending })
    }

    /// Reports rows that SQL passes over, whose number is next. `limit`: how many are to follow, if it is known.
    pub(super) fn passed_over(&mut self, start: &Range<usize>, limit: Option<u64>) -> Failed {
        let passed = self.take_integer().unwrap_or(0);
        self.takes_rows();
        let limit = limit.or_else(|| {
            let is_fetch = self.takes_word("fetch");
            if is_fetch { self.fetched() } else { self.takes_word("limit").then(|| self.take_integer())? }
        });
        let help = match limit.map(|limit| limit.saturating_add(passed)) {
            Some(all) => format!("write 'limit {all}', which has the first {all}"),
            None => "leave it out: 'limit' has the first ones".to_owned(),
        };
        let span = self.since(start.start);
        self.diagnostics.error_with_help("syntax", &span, "no rows are passed over", help);
        Failed
    }

    /// The number of SQL's `fetch first 5 rows only`, behind the first word.
    pub(super) fn fetched(&mut self) -> Option<u64> {
        if !self.takes_word("first") {
            self.takes_word("next");
        }
        let number = self.take_integer();
        let is_row = self.takes_rows();
        self.takes_word("only");
        number.or(is_row.then_some(1))
    }

    fn takes_rows(&mut self) -> bool {
        self.takes_word("rows") || self.takes_word("row")
    }

    fn take_integer(&mut self) -> Option<u64> {
        let Some(Literal::Integer(number)) = self.literal() else { return None };
        self.advance();
        Some(*number)
    }

    fn group(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        if self.is_word(0, "grouping") && self.is_word(1, "sets") {
            let help =
                "ask a query for each of them, as with 'groupby src_addr' and without groupby for the total";
            let failed = self.expected_with_help("fields to group by", help);
            self.is_lost = true;
            return Err(failed);
        }
        let fields: Vec<ExprNode> = self.items("fields to group by", |parser| parser.expression())?;
        self.set(&mut query.group, fields, start, "groupby")
    }

    fn from(&mut self) -> ParseResult<From> {
        let is_time = matches!(self.peek(), Token::Literal(Literal::Text(_)) | Token::Symbol("-"));
        if !is_time {
            let names =
                self.items("queries", |parser| parser.name("the name of a query, or a time in quotes"))?;
            let is_other =
                matches!(self.peek(), Token::Word(word) if !is_reserved(word)) && !self.is_label(0);
            if self.is_word(0, "as") || is_other && !self.is_sql() {
                let help =
                    "what is read has no other name: leave it out, and write fields alone and items as q1.n";
                return Err(self.expected_with_help("the next clause behind 'from'", help));
            }
            return Ok(From::Queries(names));
        }
        let from = self.time()?;
        let to = if self.takes_word("to") { Some(self.time()?) } else { None };
        Ok(From::Range(from, to))
    }

    fn time(&mut self) -> ParseResult<Spanned<TimeText>> {
        let start = self.span().start;
        let time = match self.peek().clone() {
            Token::Literal(Literal::Text(text)) => {
                self.advance();
                TimeText::At(text)
            }
            Token::Symbol("-") => {
                self.advance();
                TimeText::Ago(self.duration("behind '-'")?.value)
            }
            _ => return Err(self.expected("a time, such as \"2026-11-01\" or -1h")),
        };
        Ok(Spanned::new(time, self.since(start)))
    }

    fn count(&mut self, what: &str) -> ParseResult<u64> {
        match self.literal() {
            Some(Literal::Integer(number)) if *number != 0 => {
                self.advance();
                Ok(*number)
            }
            Some(Literal::Integer(_)) => {
                let span = self.span();
                self.diagnostics.error("zero_count", &span, "the number must be above zero");
                Err(Failed)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn percent(&mut self) -> ParseResult<f64> {
        match self.literal() {
            Some(Literal::Percent(percent)) if *percent > 0.0 && *percent <= 100.0 => {
                self.advance();
                Ok(*percent)
            }
            _ => Err(self.expected("a percentage above 0% and up to 100% behind error, such as 1%")),
        }
    }

    fn parse_across(&mut self, query: &mut QueryText, start: &Range<usize>) -> ParseResult<()> {
        self.expect_word("nodes", "behind 'across'")?;
        self.expect_word("by", "behind 'across nodes'")?;
        let across = if self.takes_word("sum") {
            Across::Sum
        } else if self.takes_word("max") {
            Across::Max
        } else {
            return Err(
                self.expected("'sum' (the nodes see different traffic) or 'max' (they see the same flows)")
            );
        };
        self.set(&mut query.across, across, start, "across")
    }

    fn using(&mut self) -> ParseResult<Using> {
        let mut structure = self.name("the name of a structure")?;
        // Tasks write names with hyphens.
        while let (Token::Symbol("-"), Token::Word(word)) = (self.peek(), self.ahead(1)) {
            let name = format!("{}_{word}", structure.value);
            self.advance();
            self.advance();
            structure = Spanned::new(name, self.since(structure.span.start));
        }
        let mut settings = Vec::new();
        if self.takes_symbol("(") && !self.takes_symbol(")") {
            settings = self.items("settings", |parser| {
                let name = parser.name("the name of a setting")?;
                parser.expect_symbol("=", "behind the setting")?;
                Ok((name.value, parser.operand()?))
            })?;
            self.expect_symbol(")", "behind the settings")?;
        }
        Ok(Using { structure, settings })
    }

    /// Returns whether the next word is the name of a query called `each`, as in `each.item` and `each is missing`.
    fn is_name_each(&self) -> bool {
        *self.ahead(1) == Token::Symbol(".") || self.is_word(1, "is") && self.is_word(2, "missing")
    }

    fn trigger(&mut self, query: &mut QueryText, keyword: &str, start: &Range<usize>) -> ParseResult<()> {
        let kind = match keyword {
            "while" => TriggerKeyword::While,
            _ if !self.is_name_each() && self.takes_word("each") => TriggerKeyword::WhenEach,
            _ => TriggerKeyword::When,
        };
        let condition = self.condition()?;
        let mut trigger = TriggerText { kind, condition, lasting: None, until: None, cooldown: None };
        loop {
            let part = self.span();
            let (is_double, name) = if self.takes_word("for") {
                let ns = self.duration("behind for")?.value;
                (trigger.lasting.replace(ns).is_some(), "for")
            } else if self.takes_word("until") {
                let condition = self.condition()?;
                (trigger.until.replace(condition).is_some(), "until")
            } else if self.takes_word("cooldown") {
                let ns = self.duration("behind cooldown")?.value;
                (trigger.cooldown.replace(ns).is_some(), "cooldown")
            } else {
                break;
            };
            let message = match (is_double, kind) {
                (true, _) => format!("'{name}' stands here for the second time"),
                (false, TriggerKeyword::When) => continue,
                _ => format!(
                    "'{name}' belongs to a plain 'when'; 'while' and 'when each' answer in each window in which they hold"
                ),
            };
            self.diagnostics.error("trigger_part", &part, message);
            return Err(Failed);
        }
        self.set(
            &mut query.trigger,
            trigger,
            start,
            if kind == TriggerKeyword::While { "while" } else { "when" },
        )
    }
}

/// Returns the columns and groups of a query that has each combination of these values once.
fn distinct(items: &[SelectItem]) -> String {
    let field = |name: &str| crate::fields::find(name);
    let is_of_flows = |item: &SelectItem| matches!(&*item.value.value, Expr::Name(name) if field(name).is_some_and(|field| field.is_fractional));
    let is_field = |item: &&SelectItem| matches!(&*item.value.value, Expr::Name(_) | Expr::Prefixed(..));
    // A group has no value of each packet next to one of whole flows.
    let of_whole_flow = |item: &SelectItem| match &*item.value.value {
        Expr::Name(name) => DerivedField::named(name).is_some_and(|field| field.derived == Derived::OfFlow),
        _ => false,
    };
    let are_of_flows = items.iter().any(of_whole_flow);
    let text = |item: &SelectItem| match are_of_flows {
        true => replace_by_whole_flows(&item.value).value.to_string(),
        false => item.value.value.to_string(),
    };
    let all = items.iter().map(text).collect::<Vec<_>>().join(", ");
    let groups = items.iter().filter(is_field).map(text).collect::<Vec<_>>().join(", ");
    let has = |members: &[&str]| {
        items.iter().any(|item| matches!(&*item.value.value, Expr::Name(name) | Expr::Prefixed(name, _) if members.contains(&flow::resolve_alias(name))))
    };
    let are_of_conversations =
        has(&["conversation"]) && has(&["src_addr", "dst_addr", "src_port", "dst_port", "protocol"]);
    // Values that are in no group are those of each flow, and a group has no conversation next to its members.
    if groups.is_empty() || are_of_conversations || items.iter().any(is_of_flows) {
        all
    } else {
        format!("{all} groupby {groups}")
    }
}
