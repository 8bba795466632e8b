//! Literals where a value of a type is expected: units are converted here, and only here.

use crate::kind::{Unit, ValueKind};
use crate::literal::Literal;
use crate::sql_length::until_now;
use std::fmt::Display;
use std::net::IpAddr;
use task::query::Expression;

/// A literal with its sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SignedLiteral {
    pub(crate) literal: Literal,
    pub(crate) is_negative: bool,
}

/// The reason why a literal does not fit, and the advice what to do.
#[derive(Debug, PartialEq)]
pub(crate) struct LiteralMismatch {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl SignedLiteral {
    pub(crate) fn new(literal: Literal) -> Self {
        Self { literal, is_negative: false }
    }

    /// Returns the literal as it is written.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", if self.is_negative { "-" } else { "" }, self.literal)
    }

    /// The text, if it is a number in quotes.
    fn without_quotes(&self) -> Option<&str> {
        let Literal::Text(text) = &self.literal else { return None };
        let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(unit);
        crate::literal::number(digits, unit).is_ok().then_some(text)
    }

    fn integer(&self, number: u64) -> Option<Expression> {
        let number = i64::try_from(number).ok()?;
        Some(Expression::Integer(if self.is_negative { -number } else { number }))
    }

    /// A number, an integer where it is whole.
    fn number(&self, number: f64) -> Expression {
        let number = if self.is_negative { -number } else { number };
        // Below 2^53 every whole number is itself.
        if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
            Expression::Integer(number as i64)
        } else {
            Expression::Float(number)
        }
    }

    /// The type that it has on its own, and its value.
    pub(crate) fn natural(&self) -> Result<(ValueKind, Expression), LiteralMismatch> {
        let kind = match &self.literal {
            Literal::Integer(_) | Literal::Float(_) | Literal::Percent(_) => ValueKind::Number(Unit::None),
            Literal::Duration(_) => ValueKind::Number(Unit::Nanoseconds),
            Literal::Size(_) => ValueKind::Number(Unit::Bytes),
            Literal::BitRate(_) => ValueKind::Number(Unit::BitsPerSecond),
            Literal::ByteRate(_) => ValueKind::Number(Unit::BytesPerSecond),
            Literal::PacketRate(_) => ValueKind::Number(Unit::PacketsPerSecond),
            Literal::Address(_) | Literal::Prefix(..) => ValueKind::Address,
            Literal::Mac(_) => ValueKind::Mac,
            Literal::Text(_) => ValueKind::Text,
        };
        if kind == ValueKind::Address {
            let message =
                format!("{} has no place here: an address is compared with an address field", self.text());
            return Err(LiteralMismatch { message, help: None });
        }
        let value = self.fit(&kind, &"the value")?;
        Ok((kind, value))
    }

    /// Converts the literal to a value of the type `kind`. `of` is what it is compared with.
    pub(crate) fn fit(&self, kind: &ValueKind, of: &dyn Display) -> Result<Expression, LiteralMismatch> {
        let out_of_range =
            || LiteralMismatch { message: format!("{} is out of range", self.text()), help: None };
        let whole = |number: u64| self.integer(number).ok_or_else(out_of_range);
        let other = || {
            let message = format!("{of} is {kind}: expected {}, but found {}", kind.expected(), self.text());
            let help = match (kind, &self.literal) {
                (ValueKind::Time, Literal::Duration(ns)) => Some(until_now(*ns)),
                _ => self.without_quotes().map(|text| format!("write {text} without quotes")),
            };
            LiteralMismatch { message, help }
        };
        let is_text = matches!(self.literal, Literal::Text(_));
        if self.is_negative && !matches!(kind, ValueKind::Number(_) | ValueKind::Unknown) {
            return Err(other());
        }
        match (kind, &self.literal) {
            (ValueKind::Number(_) | ValueKind::Unknown, Literal::Integer(number)) => whole(*number),
            (ValueKind::Number(_) | ValueKind::Unknown, Literal::Float(number)) => {
                Ok(Expression::Float(if self.is_negative { -number } else { *number }))
            }
            (ValueKind::Number(unit), literal) => {
                self.with_unit(unit, literal, of).unwrap_or_else(|| Err(other()))
            }
            (ValueKind::Port, Literal::Integer(number)) if *number <= u64::from(u16::MAX) => whole(*number),
            (ValueKind::Protocol, Literal::Integer(number)) if *number <= u64::from(u8::MAX) => {
                whole(*number)
            }
            (ValueKind::Port | ValueKind::Protocol, Literal::Text(text)) => {
                named(kind, text).ok_or_else(other)
            }
            (ValueKind::Identifier, Literal::Integer(number)) => whole(*number),
            (ValueKind::Mac, Literal::Mac(number)) => whole(*number),
            (ValueKind::Mac, Literal::Text(text)) => {
                crate::literal::mac(text).map_or_else(|| Err(other()), whole)
            }
            (ValueKind::Text, Literal::Text(text)) => Ok(Expression::Text(text.clone())),
            (ValueKind::Time, Literal::Text(text)) => match notation::moment_ns(text) {
                Some(ns) => Ok(Expression::Integer(ns)),
                None => Err(LiteralMismatch {
                    message: format!("{} is not {}", self.text(), notation::MOMENTS),
                    help: None,
                }),
            },
            (
                ValueKind::Unknown,
                Literal::Duration(number) | Literal::Size(number) | Literal::Mac(number),
            ) => whole(*number),
            (ValueKind::Unknown, Literal::Percent(number)) => Ok(self.number(number / 100.0)),
            (
                ValueKind::Unknown,
                Literal::BitRate(rate) | Literal::ByteRate(rate) | Literal::PacketRate(rate),
            ) => Ok(self.number(*rate)),
            (ValueKind::Unknown, _) if is_text => Ok(Expression::Text(self.text())),
            _ => Err(other()),
        }
    }

    /// A literal with a unit as a number of another one; `None` where it is no number at all.
    fn with_unit(
        &self,
        unit: &Unit,
        literal: &Literal,
        of: &dyn Display,
    ) -> Option<Result<Expression, LiteralMismatch>> {
        let whole = |number: u64| {
            let out_of_range =
                || LiteralMismatch { message: format!("{} is out of range", self.text()), help: None };
            Ok(self.integer(number).ok_or_else(out_of_range))
        };
        let unfit = |help: Option<String>| {
            let message = format!(
                "{of} is {}: expected {}, but found {}",
                ValueKind::Number(unit.clone()),
                ValueKind::Number(unit.clone()).expected(),
                self.text()
            );
            Err(LiteralMismatch { message, help })
        };
        let rate_of = || Some(format!("compare rate({of}) with it: {of} is a total"));
        let result = match (literal, unit) {
            (Literal::Percent(number), Unit::None | Unit::Other(_)) => Ok(Ok(self.number(number / 100.0))),
            (Literal::Percent(_), _) => unfit(Some(
                "a percentage is compared with a ratio, such as ploss_byte / total_byte".to_owned(),
            )),
            (Literal::Duration(ns), Unit::Nanoseconds) => whole(*ns),
            (Literal::Size(bytes), Unit::Bytes) => whole(*bytes),
            (Literal::BitRate(rate), Unit::BitsPerSecond) => Ok(Ok(self.number(*rate))),
            (Literal::BitRate(rate), Unit::BytesPerSecond) => Ok(Ok(self.number(rate / 8.0))),
            (Literal::ByteRate(rate), Unit::BytesPerSecond) => Ok(Ok(self.number(*rate))),
            (Literal::ByteRate(rate), Unit::BitsPerSecond) => Ok(Ok(self.number(rate * 8.0))),
            (Literal::PacketRate(rate), Unit::PacketsPerSecond) => Ok(Ok(self.number(*rate))),
            (Literal::BitRate(_) | Literal::ByteRate(_), Unit::Bytes) => unfit(rate_of()),
            (Literal::PacketRate(_), Unit::Packets) => unfit(rate_of()),
            (Literal::Duration(_) | Literal::Size(_), _) => unfit(None),
            (Literal::BitRate(_) | Literal::ByteRate(_) | Literal::PacketRate(_), _) => unfit(None),
            _ => return None,
        };
        Some(match result {
            Ok(value) => value,
            Err(unfit) => Err(unfit),
        })
    }

    /// The prefix that it is where addresses are expected; a whole address has all its bits.
    pub(crate) fn prefix(&self, of: &dyn Display) -> Result<(IpAddr, u8), LiteralMismatch> {
        match self.literal {
            Literal::Address(address) => Ok((address, if address.is_ipv4() { 32 } else { 128 })),
            Literal::Prefix(address, length) => Ok((network(address, length), length)),
            _ => {
                if let Literal::Text(text) = &self.literal
                    && let Some((address, length)) = address_in(text)
                {
                    return Ok((network(address, length), length));
                }
                let message = format!(
                    "{of} is an address: expected {}, but found {}",
                    ValueKind::Address.expected(),
                    self.text()
                );
                Err(LiteralMismatch { message, help: None })
            }
        }
    }
}

/// An address, or an address and the length of a prefix, as text.
fn address_in(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(most), |length| length.parse().ok())?;
    (length <= most).then_some((address, length))
}

/// The address with all bits behind the prefix zero.
pub(crate) fn network(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

/// A protocol or a port by name.
pub(crate) fn named(kind: &ValueKind, name: &str) -> Option<Expression> {
    match kind {
        ValueKind::Protocol => flow::protocol_number(name).map(|number| Expression::Integer(number.into())),
        ValueKind::Port => {
            let service = flow::SERVICES.iter().find(|(_, service)| service.eq_ignore_ascii_case(name));
            service.map(|(port, _)| Expression::Integer((*port).into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(literal: Literal, kind: ValueKind) -> Result<Expression, LiteralMismatch> {
        SignedLiteral::new(literal).fit(&kind, &"x")
    }

    #[test]
    fn bits_and_bytes_per_second_are_converted() {
        let rate = |unit| fit(Literal::BitRate(5e6), ValueKind::Number(unit));
        assert_eq!(rate(Unit::BitsPerSecond), Ok(Expression::Integer(5_000_000)));
        assert_eq!(rate(Unit::BytesPerSecond), Ok(Expression::Integer(625_000)));
        let bytes = |unit| fit(Literal::ByteRate(1.0), ValueKind::Number(unit));
        assert_eq!(bytes(Unit::BitsPerSecond), Ok(Expression::Integer(8)));
        assert!(rate(Unit::Bytes).unwrap_err().help.unwrap().contains("rate(x)"));
        assert!(rate(Unit::PacketsPerSecond).is_err());
    }

    #[test]
    fn literals_fit_only_their_types() {
        assert!(fit(Literal::Integer(65_536), ValueKind::Port).is_err());
        assert_eq!(fit(Literal::Text("https".into()), ValueKind::Port), Ok(Expression::Integer(443)));
        assert!(fit(Literal::Duration(5), ValueKind::Number(Unit::Bytes)).is_err());
        assert!(fit(Literal::Integer(5), ValueKind::Address).is_err());
        assert!(
            fit(Literal::Integer(u64::MAX), ValueKind::Number(Unit::None))
                .unwrap_err()
                .message
                .contains("out of range")
        );
        let negative = SignedLiteral { literal: Literal::Integer(5), is_negative: true };
        assert_eq!(negative.fit(&ValueKind::Number(Unit::None), &"x"), Ok(Expression::Integer(-5)));
        assert!(negative.fit(&ValueKind::Port, &"x").is_err());
    }

    #[test]
    fn a_prefix_has_no_host_bits() {
        let prefix = SignedLiteral::new(Literal::Prefix("10.1.2.3".parse().unwrap(), 8)).prefix(&"x");
        assert_eq!(prefix, Ok(("10.0.0.0".parse().unwrap(), 8)));
        let all = SignedLiteral::new(Literal::Prefix("::1".parse().unwrap(), 0)).prefix(&"x");
        assert_eq!(all, Ok(("::".parse().unwrap(), 0)));
    }
}
