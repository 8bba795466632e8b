//! Tokens to a tree, by recursive descent.
//!
//! Every function either returns a part of the tree and has consumed its tokens, or has reported an error. The clause that an
//! error is in is dropped, and parsing resumes at the next clause, label or `;`.

mod clauses;
mod expressions;
mod say;
mod sql_expressions;

use crate::ast::{Definition, File, QueryText, Spanned};
use crate::diagnostic::Diagnostics;
use crate::lexer::{Placed, Token, shortened};
use crate::literal::Literal;
use crate::names::{CLAUSES, begins_clause, is_reserved};
use crate::variables::Constants;
use std::ops::Range;

/// Words that begin clauses of SQL, and what to write.
const OF_SQL: [(&[&str], &str); 9] = [
    (&["sort", "cluster", "distribute"], "write 'order by'"),
    (
        &["qualify"],
        "leave it out: 'limit 10' has the first 10 groups, and the column 'top(3, dst_port)' the first 3 ports of each group",
    ),
    (
        &["filter"],
        "ask a query with this condition in 'where', as in 'web: select sum(total_byte) where dst_port = 80'",
    ),
    (
        &["join", "inner", "outer", "left", "right", "full", "cross", "natural"],
        "name both queries, 'a: select …; b: select …;', and join their answers by their keys: 'select a.n, b.n from a, b'",
    ),
    (&["union", "intersect", "except"], "write two queries, with ';' between them"),
    (&["with"], "name the inner query, 'q1: select …;', and read its answers: 'select q1.n from q1'"),
    (&["insert", "update", "delete", "create", "drop", "into"], "queries read only: 'select …'"),
    (
        &["explain", "describe"],
        "edison explain -q 'select …' explains a query, edison fields lists the fields",
    ),
    (&["partition", "window"], "'every 10s' answers for each 10 s, and 'groupby' for each group"),
];

/// An error was reported.
#[derive(Debug)]
pub(crate) struct Failed;

pub(crate) type ParseResult<T> = Result<T, Failed>;

/// Reads a file.
pub(crate) fn parse(tokens: &[Placed<'_>], constants: &Constants, diagnostics: &mut Diagnostics<'_>) -> File {
    Parser::new(tokens, constants, diagnostics).file()
}

pub(crate) struct Parser<'a, 'd, 't> {
    tokens: &'a [Placed<'a>],
    constants: &'a Constants,
    at: usize,
    diagnostics: &'d mut Diagnostics<'t>,
    /// Nesting of the expression that is being read.
    depth: usize,
    /// The greatest since it was last set.
    deepest: usize,
    /// An error was such that the rest of the statement has no meaning.
    is_lost: bool,
    /// Tokens looked at.
    #[cfg(test)]
    pub(crate) steps: std::cell::Cell<usize>,
}

impl<'a, 'd, 't> Parser<'a, 'd, 't> {
    pub(crate) fn new(
        tokens: &'a [Placed<'a>],
        constants: &'a Constants,
        diagnostics: &'d mut Diagnostics<'t>,
    ) -> Self {
        Self {
            tokens,
            constants,
            at: 0,
            diagnostics,
            depth: 0,
            deepest: 0,
            is_lost: false,
            #[cfg(test)]
            steps: std::cell::Cell::new(0),
        }
    }

    fn ahead(&self, distance: usize) -> &Token<'a> {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        &self.tokens[(self.at + distance).min(self.tokens.len() - 1)].token
    }

    fn peek(&self) -> &Token<'a> {
        self.ahead(0)
    }

    /// The place of the next token.
    fn span(&self) -> Range<usize> {
        self.tokens[self.at].span.clone()
    }

    /// Returns the bytes from `start` to the end of the last token consumed.
    fn since(&self, start: usize) -> Range<usize> {
        let end = self.at.checked_sub(1).map_or(start, |last| self.tokens[last].span.end);
        start..end.max(start)
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn is_word(&self, distance: usize, word: &str) -> bool {
        matches!(self.ahead(distance), Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_it = self.is_word(0, word);
        if is_it {
            self.advance();
        }
        is_it
    }

    fn takes_symbol(&mut self, symbol: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        if is_it {
            self.advance();
        }
        is_it
    }

    fn expect_word(&mut self, word: &str, within: &str) -> ParseResult<()> {
        if self.takes_word(word) { Ok(()) } else { Err(self.expected(&format!("'{word}' {within}"))) }
    }

    fn expect_symbol(&mut self, symbol: &str, within: &str) -> ParseResult<()> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(self.expected(&format!("'{symbol}' {within}"))) }
    }

    /// Reports that something else was expected than what is next.
    fn expected(&mut self, what: &str) -> Failed {
        let message = self.expectation(what);
        let span = self.span();
        self.diagnostics.error("syntax", &span, message);
        Failed
    }

    /// Reports that something else was expected than what is next, with a help text that says what to write.
    fn expected_with_help(&mut self, what: &str, help: impl Into<String>) -> Failed {
        let message = self.expectation(what);
        let span = self.span();
        self.diagnostics.error_with_help("syntax", &span, message, help);
        Failed
    }

    fn expectation(&self, what: &str) -> String {
        let found = match self.peek() {
            Token::End => "the text ends".to_owned(),
            Token::Word(word) => format!("found '{}'", shortened(word)),
            Token::Literal(literal) => format!("found {}", shortened(&literal.to_string())),
            Token::Symbol(symbol) => format!("found '{symbol}'"),
        };
        format!("expected {what}, but {found}")
    }

    /// A word that may be a keyword elsewhere: what follows it tells that it is a name.
    fn any_word(&mut self, what: &str) -> ParseResult<Spanned<String>> {
        match *self.peek() {
            Token::Word(word) => {
                let name = Spanned::new(word.to_owned(), self.span());
                self.advance();
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A name that the user chooses.
    fn name(&mut self, what: &str) -> ParseResult<Spanned<String>> {
        match *self.peek() {
            Token::Word(word) if is_reserved(word) => {
                let (message, span) =
                    (format!("'{}' is a keyword and cannot be {what}", shortened(word)), self.span());
                self.diagnostics.error_with_help("keyword", &span, message, "choose another name");
                Err(Failed)
            }
            _ => self.any_word(what),
        }
    }

    fn is_label(&self, distance: usize) -> bool {
        matches!(self.ahead(distance), Token::Word(_)) && *self.ahead(distance + 1) == Token::Symbol(":")
    }

    /// Returns true if a clause begins here.
    fn is_clause(&self) -> bool {
        match self.peek() {
            Token::Word(word) if word.eq_ignore_ascii_case("in") => self.is_word(1, "same"),
            Token::Word(word) => begins_clause(word),
            _ => false,
        }
    }

    /// Returns true if a statement ends here.
    fn is_end(&self) -> bool {
        matches!(self.peek(), Token::End | Token::Symbol(";"))
    }

    /// Moves to where parsing can resume.
    fn resynchronise(&mut self) {
        while !self.is_end() && (self.is_lost || !(self.is_clause() || self.is_label(0))) {
            self.advance();
        }
        self.depth = 0;
    }

    pub(crate) fn file(&mut self) -> File {
        let mut file = File::default();
        while *self.peek() != Token::End && !self.diagnostics.is_full() {
            self.is_lost = false;
            if self.takes_symbol(";") {
                continue;
            }
            if self.is_word(0, "let") {
                self.definition(&mut file);
            } else {
                file.queries.push(self.query());
            }
        }
        file
    }

    fn definition(&mut self, file: &mut File) {
        self.advance();
        let read = |parser: &mut Self| {
            let name = parser.name("the name of a variable")?;
            parser.expect_symbol("=", "and a value behind the name")?;
            let value = parser.operand()?;
            if parser.is_end() {
                Ok(Definition { name, value })
            } else {
                Err(parser.expected("';' behind the value"))
            }
        };
        match read(self) {
            Ok(definition) => file.definitions.push(definition),
            Err(Failed) => {
                while !self.is_end() && !self.is_label(0) {
                    self.advance();
                }
                self.depth = 0;
            }
        }
    }

    fn query(&mut self) -> QueryText {
        let start = self.span().start;
        let mut query = QueryText::default();
        if self.is_label(0) {
            match self.any_word("a label") {
                Ok(label) => query.label = Some(label),
                Err(Failed) => {
                    query.is_broken = true;
                    self.advance();
                }
            }
            self.advance();
        }
        let mut ends_in_text = false;
        while !self.is_end() && !self.diagnostics.is_full() {
            if *self.peek() == Token::Symbol(":") && (self.is_label(1) || *self.ahead(1) == Token::End) {
                let span = self.span();
                self.diagnostics.warn("colon_for_semicolon", &span, "':' ends this query", "write ';'");
                self.advance();
                ends_in_text = true;
                break;
            }
            if self.is_label(0) {
                let span = self.span();
                let message = format!("expected ';' before the label '{}'", shortened(self.word()));
                self.diagnostics.error_with_help(
                    "syntax",
                    &span,
                    message,
                    "end the query before it with ';'",
                );
                query.is_broken = true;
                ends_in_text = true;
                break;
            }
            let result = if self.is_clause() { self.clause(&mut query) } else { Err(self.not_a_clause()) };
            if let Err(Failed) = result {
                query.is_broken = true;
                self.resynchronise();
            }
        }
        query.span = crate::ast::TextRange(self.since(start));
        if !ends_in_text {
            self.takes_symbol(";");
        }
        query
    }

    fn word(&self) -> &'a str {
        match *self.peek() {
            Token::Word(word) => word,
            _ => "",
        }
    }

    /// Returns true if the next word begins a clause in SQL.
    fn is_sql(&self) -> bool {
        let word = self.word();
        let others = OF_SQL.iter().flat_map(|(words, _)| *words);
        others.chain(&["offset", "fetch"]).any(|known| known.eq_ignore_ascii_case(word))
    }

    /// Reports `offset 5` and `fetch first 5 rows only`.
    fn other_limit(&mut self) -> Failed {
        let span = self.span();
        if self.takes_word("offset") {
            return self.passed_over(&span, None);
        }
        self.advance();
        let help = format!("write 'limit {}'", self.fetched().unwrap_or(10));
        self.diagnostics.error_with_help("unknown_clause", &span, "'fetch' begins no clause", help);
        Failed
    }

    /// Reports what stands where a clause should, and moves past it.
    fn not_a_clause(&mut self) -> Failed {
        if self.is_word(0, "offset") || self.is_word(0, "fetch") {
            return self.other_limit();
        }
        let span = self.span();
        match *self.peek() {
            Token::Word(word) => {
                let others = ["in same window", "group by", "order by"];
                let near =
                    crate::names::nearest(word, CLAUSES.iter().map(|clause| clause.word).chain(others));
                let message = format!("'{}' begins no clause", shortened(word));
                let of_sql = OF_SQL
                    .iter()
                    .find(|(words, _)| words.iter().any(|known| known.eq_ignore_ascii_case(word)));
                let is_field = crate::fields::find(word).is_some();
                // What it ranks by has words that begin clauses, too.
                self.is_lost |= word.eq_ignore_ascii_case("qualify");
                let totals = word.eq_ignore_ascii_case("with")
                    && (self.is_word(1, "rollup") || self.is_word(1, "cube"));
                let help = match (of_sql, near) {
                    _ if totals => "leave it out, and ask another query for each total".to_owned(),
                    _ if is_field => format!("write ', {0}' if it is a column, 'as {0}' if it is the name of one", shortened(word)),
                    (Some((_, help)), _) => (*help).to_owned(),
                    (None, Some(near)) => format!("'{near}' may be meant"),
                    (None, None) => "clauses are select, from, where, groupby, having, order by, limit, every, over, when and others".to_owned(),
                };
                self.diagnostics.error_with_help("unknown_clause", &span, message, help);
            }
            _ => {
                self.expected("a clause such as where, groupby or limit, or ';'");
            }
        }
        self.advance();
        Failed
    }

    /// The literal that is next, or that the variable that is next stands for.
    fn literal(&self) -> Option<&'a Literal> {
        match &self.tokens[self.at].token {
            Token::Literal(literal) => Some(literal),
            Token::Word(name) => self.constants.get(*name),
            _ => None,
        }
    }

    /// A duration above zero.
    fn duration(&mut self, what: &str) -> ParseResult<Spanned<u64>> {
        match self.literal() {
            Some(Literal::Duration(ns)) if *ns != 0 => {
                let duration = Spanned::new(*ns, self.span());
                self.advance();
                Ok(duration)
            }
            Some(Literal::Duration(_)) => {
                let span = self.span();
                self.diagnostics.error("zero_duration", &span, "the duration must be above zero");
                Err(Failed)
            }
            _ => Err(self.expected(&format!("a duration {what}, such as 10s or 5min"))),
        }
    }
}

/// An expression as messages show it. Written only where there is a message.
pub(crate) struct ExpressionText<'a>(pub(crate) &'a crate::ast::ExprNode);

impl std::fmt::Display for ExpressionText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shortened(&self.0.value.to_string()))
    }
}
