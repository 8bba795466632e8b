//! Text to tokens.

use crate::diagnostic::Diagnostics;
use crate::literal::{self, Literal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A keyword or a name.
    Word(&'a str),
    Literal(Literal),
    Symbol(&'static str),
    End,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) span: Range<usize>,
}

/// The longest text of an address: IPv6 with an IPv4 part and a `:` behind it.
const LONGEST_ADDRESS: usize = 48;

/// Symbols, the longer ones first.
const SYMBOLS: [&str; 21] = [
    "!=", "<>", "<=", ">=", "==", "(", ")", ",", ";", ":", ".", "+", "-", "*", "/", "=", "<", ">", "&", "|",
    "^",
];

/// The tokens of a text, [`Token::End`] last.
pub(crate) fn tokens<'a>(text: &'a str, diagnostics: &mut Diagnostics<'_>) -> Vec<Placed<'a>> {
    let mut lexer = Lexer { text, at: 0, is_mask: false, diagnostics };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    tokens.push(Placed { token: Token::End, span: text.len()..text.len() });
    tokens
}

struct Lexer<'a, 'd, 't> {
    text: &'a str,
    at: usize,
    /// An operator of bits was read last, in whose place there is another text to write.
    is_mask: bool,
    diagnostics: &'d mut Diagnostics<'t>,
}

impl<'a> Lexer<'a, '_, '_> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The length of what begins here and has only such bytes, which are ASCII.
    fn run(&self, from: usize, is_of: impl Fn(u8) -> bool) -> usize {
        self.text.as_bytes()[from..].iter().take_while(|byte| is_of(**byte)).count()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            self.at += blanks;
            let rest = &rest[blanks..];
            if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    let span = self.at..self.at + 2;
                    self.at = self.text.len();
                    let help = "end the comment with */";
                    self.diagnostics.error_with_help("open_comment", &span, "the comment has no end", help);
                    return;
                };
                self.at += end + 4;
                continue;
            }
            if !(rest.starts_with("--") || rest.starts_with('#')) {
                return;
            }
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn next(&mut self) -> Option<Placed<'a>> {
        while !self.diagnostics.is_full() {
            self.skip_blanks();
            let start = self.at;
            let first = self.rest().chars().next()?;
            let token = match first {
                '"' | '\'' => self.string(first),
                '`' => self.name_in_backticks(),
                _ => match self.address() {
                    Some(address) => address,
                    None => match first {
                        '0'..='9' => self.number(),
                        'a'..='z' | 'A'..='Z' | '_' => Some(self.word()),
                        _ => self.symbol(first),
                    },
                },
            };
            if let Some(token) = token {
                self.is_mask = matches!(token, Token::Symbol("&" | "|" | "^"));
                return Some(Placed { token, span: start..self.at });
            }
        }
        None
    }

    fn symbol(&mut self, first: char) -> Option<Token<'a>> {
        // As other languages write them.
        if let Some((symbol, word)) =
            [("&&", "and"), ("||", "or")].iter().find(|(symbol, _)| self.rest().starts_with(symbol))
        {
            self.at += symbol.len();
            return Some(Token::Word(word));
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            self.at += symbol.len();
            return Some(Token::Symbol(match *symbol {
                "<>" => "!=",
                "==" => "=",
                symbol => symbol,
            }));
        }
        let span = self.at..self.at + first.len_utf8();
        self.at = span.end;
        let message = format!("'{}' has no meaning here", first.escape_debug());
        match first {
            '!' => self.diagnostics.error_with_help("unknown_character", &span, message, "write 'not'"),
            _ => self.diagnostics.error("unknown_character", &span, message),
        }
        None
    }

    /// A name as other languages quote it.
    fn name_in_backticks(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        let length = self.run(start + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        let end = start + 1 + length;
        if length != 0 && self.text[end..].starts_with('`') {
            self.at = end + 1;
            return Some(Token::Word(&self.text[start + 1..end]));
        }
        self.at = end;
        let help = "names of fields stand without quotes, other names of columns in \"…\"";
        self.diagnostics.error_with_help("unknown_character", &(start..end), "'`' begins no name here", help);
        None
    }

    fn word(&mut self) -> Token<'a> {
        let start = self.at;
        self.at += self.run(start, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        // `iat_p99.9`
        let word = &self.text[start..self.at];
        let percentile = word.rsplit_once("_p").is_some_and(|(_, digits)| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        if percentile && self.rest().starts_with('.') {
            let digits = self.run(self.at + 1, |byte| byte.is_ascii_digit());
            if digits != 0 {
                self.at += 1 + digits;
            }
        }
        Token::Word(&self.text[start..self.at])
    }

    /// A text in quotes on one line; the quote within is doubled.
    fn string(&mut self, quote: char) -> Option<Token<'a>> {
        let start = self.at;
        let mut text = String::new();
        let mut rest = &self.rest()[1..];
        loop {
            let end = rest.find([quote, '\n']);
            let Some(end) = end.filter(|end| rest[*end..].starts_with(quote)) else {
                self.at = self.text.len() - rest.len() + end.unwrap_or(rest.len());
                let span = start..self.at;
                let help = format!("end the text with {quote} on the same line");
                self.diagnostics.error_with_help("open_text", &span, "the text has no end", help);
                return None;
            };
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix(quote) {
                Some(more) => {
                    text.push(quote);
                    rest = more;
                }
                None => break,
            }
        }
        self.at = self.text.len() - rest.len();
        Some(Token::Literal(Literal::Text(text)))
    }

    /// An address, a prefix or a MAC address, if one begins here; `Some(None)` where its prefix has an error.
    fn address(&mut self) -> Option<Option<Token<'a>>> {
        let is_of = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'.');
        let bytes = &self.text.as_bytes()[self.at..];
        let length = bytes.iter().take(LONGEST_ADDRESS + 1).take_while(is_of).count();
        let run = &self.text[self.at..self.at + length];
        // One `:` behind an address ends the query.
        for candidate in [run, run.strip_suffix(':').unwrap_or(run)] {
            if let Some(mac) = literal::mac(candidate) {
                self.at += candidate.len();
                return Some(Some(Token::Literal(Literal::Mac(mac))));
            }
            let address: Option<IpAddr> = match candidate.contains(':') {
                true => candidate.parse::<Ipv6Addr>().ok().map(IpAddr::from),
                false => candidate.parse::<Ipv4Addr>().ok().map(IpAddr::from),
            };
            if let Some(address) = address {
                self.at += candidate.len();
                return Some(self.prefix(address));
            }
        }
        None
    }

    /// Reads the rest of an address: the length of its prefix, or nothing.
    fn prefix(&mut self, address: IpAddr) -> Option<Token<'a>> {
        let digits = match self.rest().strip_prefix('/') {
            Some(_) => self.run(self.at + 1, |byte| byte.is_ascii_digit()),
            None => 0,
        };
        if digits == 0 {
            return Some(Token::Literal(Literal::Address(address)));
        }
        let text = &self.rest()[1..=digits];
        let most = if address.is_ipv4() { 32 } else { 128 };
        self.at += 1 + digits;
        match text.parse::<u8>() {
            Ok(length) if length <= most => Some(Token::Literal(Literal::Prefix(address, length))),
            _ => {
                let span = self.at - digits..self.at;
                let family = if most == 32 { "IPv4" } else { "IPv6" };
                let message = format!("the length of an {family} prefix is from 0 to {most}");
                self.diagnostics.error("prefix_length", &span, message);
                None
            }
        }
    }

    /// A number with a unit, or several of durations (`1h30m`).
    fn number(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        if let Some(digits) =
            self.rest().strip_prefix("0x").filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()))
        {
            let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            self.at += 2 + length;
            let message = format!("'{}' is no number here", shortened(&self.text[start..self.at]));
            let number = u64::from_str_radix(&digits[..length], 16);
            let help = match number {
                Ok(number) => format!("write {number}"),
                Err(_) => "numbers are decimal and have up to 64 bits".to_owned(),
            };
            if !self.is_mask {
                self.diagnostics.error_with_help("number", &(start..self.at), message, help);
            }
            // What it stands in is read on.
            return Some(Token::Literal(Literal::Integer(number.unwrap_or(0))));
        }
        let mut total: Option<u64> = None;
        loop {
            let (digits, unit) = self.number_and_unit();
            let value = literal::number(digits, unit);
            let follows = self.rest().as_bytes().first().copied();
            let more = follows.is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
            let read = match value {
                Ok(Literal::Duration(ns)) => match total.unwrap_or(0).checked_add(ns) {
                    Some(sum) if more && follows != Some(b'.') => {
                        total = Some(sum);
                        continue;
                    }
                    Some(sum) => Ok(Literal::Duration(sum)),
                    None => Err("the duration does not fit into 64 bits".to_owned()),
                },
                Ok(_) if total.is_some() => Err(format!("'{digits}{unit}' is not part of a duration")),
                other => other,
            };
            let read = if more && read.is_ok() {
                self.at += self.run(self.at, |byte| byte.is_ascii_alphanumeric() || byte == b'.');
                let shown: String = self.text[start..self.at].chars().take(40).collect();
                Err(format!("'{shown}' is neither a number nor an address"))
            } else {
                read
            };
            return match read {
                Ok(literal) => Some(Token::Literal(literal)),
                Err(message) => {
                    self.at += self.run(self.at, |byte| byte.is_ascii_alphanumeric() || byte == b'.');
                    self.diagnostics.error("number", &(start..self.at), message);
                    None
                }
            };
        }
    }

    fn number_and_unit(&mut self) -> (&'a str, &'a str) {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let start = self.at;
        self.at += self.run(self.at, is_digit);
        if self.rest().starts_with('.') {
            let fraction = self.run(self.at + 1, is_digit);
            self.at += if fraction == 0 { 0 } else { 1 + fraction };
        }
        if self.rest().starts_with(['e', 'E']) {
            let sign = usize::from(self.rest()[1..].starts_with(['+', '-']));
            let exponent = self.run(self.at + 1 + sign, is_digit);
            self.at += if exponent == 0 { 0 } else { 1 + sign + exponent };
        }
        let digits = &self.text[start..self.at];
        let unit = self.at;
        let rest = self.rest();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(rest.len());
        self.at += if rest.starts_with('%') { 1 } else { letters };
        (digits, &self.text[unit..self.at])
    }
}

/// A part of the user's text as messages show it.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut diagnostics = Diagnostics::new(text);
        let tokens = tokens(text, &mut diagnostics);
        assert_eq!(diagnostics.errors(), 0, "{text}: {:?}", diagnostics.finish());
        let shown = tokens.iter().map(|placed| match &placed.token {
            Token::Word(word) => format!("w {word}"),
            Token::Literal(literal) => format!("l {literal}"),
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::End => "end".to_owned(),
        });
        shown.collect()
    }

    fn errors(text: &str) -> Vec<String> {
        let mut diagnostics = Diagnostics::new(text);
        tokens(text, &mut diagnostics);
        let found = diagnostics.finish();
        found
            .iter()
            .map(|found| format!("{}..{} {}", found.span.start, found.span.end, found.message))
            .collect()
    }

    #[test]
    fn addresses_prefixes_and_labels_are_told_apart() {
        assert_eq!(of("10.0.0.0/8"), ["l 10.0.0.0/8", "end"]);
        assert_eq!(of("2001:db8::/32 ::1"), ["l 2001:db8::/32", "l ::1", "end"]);
        assert_eq!(of("src_addr/24/64"), ["w src_addr", "/", "l 24", "/", "l 64", "end"]);
        assert_eq!(of("02:00:5e:00:53:01"), ["l 02:00:5e:00:53:01", "end"]);
        assert_eq!(of("q1:select a"), ["w q1", ":", "w select", "w a", "end"]);
        assert_eq!(of("add: fe:"), ["w add", ":", "w fe", ":", "end"]);
        assert_eq!(of("=::1:\nq3:"), ["=", "l ::1", ":", "w q3", ":", "end"]);
        assert_eq!(of("K1:q3: 10.0.0.1;"), ["w K1", ":", "w q3", ":", "l 10.0.0.1", ";", "end"]);
    }

    #[test]
    fn numbers_texts_and_comments() {
        assert_eq!(
            of("1h30m 1e3 5% 'it''s' \"a\"\"b\""),
            ["l 90min", "l 1000.0", "l 5%", "l \"it's\"", "l \"a\"\"b\"", "end"]
        );
        assert_eq!(of("a -- b\n# c\n<> d == e"), ["w a", "!=", "w d", "=", "w e", "end"]);
        assert_eq!(of("iat_p99.9 q1.x gap_p50"), ["w iat_p99.9", "w q1", ".", "w x", "w gap_p50", "end"]);
    }

    #[test]
    fn errors_have_their_place() {
        assert_eq!(
            errors("a 10x b"),
            [
                "2..5 'x' is not a unit: units are ns us ms s m min h d w, K M G Ki Mi Gi with or without B, bps, Bps, pps (Mbps, \
             kpps), and %"
            ]
        );
        assert_eq!(errors("10.0.0.0/33"), ["9..11 the length of an IPv4 prefix is from 0 to 32"]);
        assert_eq!(errors("10.0.0 1"), ["0..6 '10.0.0' is neither a number nor an address"]);
        assert_eq!(errors("'open\n a"), ["0..5 the text has no end"]);
        assert_eq!(
            errors("a /* b */ é /* c\n"),
            ["10..12 'é' has no meaning here", "13..15 the comment has no end"]
        );
        assert_eq!(errors("/*/"), ["0..2 the comment has no end"]);
        assert_eq!(errors("a é ?"), ["2..4 'é' has no meaning here", "5..6 '?' has no meaning here"]);
    }
}
