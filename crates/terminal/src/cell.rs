//! Values as the cells of a table.

use crate::protocol::{has_ports, with_type};
use crate::table::Align;
use model::{Answer, Column, ColumnKind, Item, Value, format_time};
use notation::{computed_time_text, grouped, grouped_decimal, grouped_signed};

/// The notation of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellFormat {
    /// Digits in groups of three, and this many decimals.
    Grouped(usize),
    /// Digits alone: ports and other numbers that are identifiers.
    Digits,
    /// A duration.
    Duration,
    /// A share of one, in percent.
    Percent,
    /// The value's own text.
    Text,
}

/// Fields whose numbers are read digit by digit, besides those that are identifiers.
const NAMES: [&str; 6] = ["src_port", "dst_port", "port", "ip_tos", "tcp_seq", "tcp_ack"];

/// Returns true if the numbers of a column are not grouped.
fn are_digits(column: &str) -> bool {
    NAMES.contains(&column) || flow::Field::named(column).is_some_and(|field| field.is_identifier)
}

impl CellFormat {
    /// The form of a column by its name, kind, unit and values. Bounds have the form of what they bound.
    pub(crate) fn from_answer(answer: &Answer, at: usize) -> Self {
        let column = &answer.columns[at];
        let is_number = matches!(
            column.kind,
            ColumnKind::Unsigned | ColumnKind::Signed | ColumnKind::Float | ColumnKind::Estimate
        );
        match column.name.as_str() {
            _ if !is_number => Self::Text,
            "lower" | "upper" if at > 0 => {
                let bounded =
                    (0..at).rev().find(|&at| !matches!(&*answer.columns[at].name, "lower" | "upper"));
                bounded.map_or(Self::Grouped(0), |at| Self::from_answer(answer, at))
            }
            "share" => Self::Percent,
            name if are_digits(name) => Self::Digits,
            _ if column.unit == "ns" => Self::Duration,
            _ => Self::Grouped(decimals(column, answer.rows.iter().map(|row| &row[at]))),
        }
    }

    /// The form of a value that stands alone: numbers that are identifiers are not grouped.
    pub(crate) fn from_column(column: &Column) -> Self {
        if are_digits(&column.name) { Self::Digits } else { Self::Grouped(0) }
    }

    fn number(self, number: f64) -> String {
        match self {
            Self::Grouped(decimals) => grouped_decimal(number, decimals),
            Self::Duration => computed_time_text(number),
            Self::Percent => format!("{} %", (number * 1e6).round() / 1e4),
            Self::Digits | Self::Text if number.is_finite() => number.to_string(),
            Self::Digits | Self::Text => "?".to_owned(),
        }
    }

    /// The text of a value; empty for null.
    pub(crate) fn text(self, value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::Unsigned(number) => match self {
                Self::Grouped(_) => grouped(*number),
                Self::Digits | Self::Text => number.to_string(),
                Self::Duration | Self::Percent => self.number(*number as f64),
            },
            Value::Signed(number) => match self {
                Self::Grouped(_) => grouped_signed(*number),
                Self::Digits | Self::Text => number.to_string(),
                Self::Duration | Self::Percent => self.number(*number as f64),
            },
            Value::Float(number) => self.number(*number),
            Value::Text(text) => text.chars().map(printable).collect(),
            Value::Conversation(conversation) => conversation.to_string(),
            Value::Address(address) => address.to_string(),
            Value::Prefix { address, length } => format!("{address}/{length}"),
            Value::Time(ns) => format_time(*ns),
            Value::Estimate { value, .. } => self.number(*value),
            Value::Heaviest(heaviest) => {
                let value = |(value, weight): &(Value, u64)| {
                    format!("{} {}", Self::Text.text(value), grouped(*weight))
                };
                let mut texts: Vec<_> = heaviest.values.iter().map(value).collect();
                if heaviest.rest_values != 0 || heaviest.rest_weight != 0 {
                    let others = [heaviest.rest_values, heaviest.rest_weight].map(grouped);
                    texts.push(format!("rest ({}) {}", others[0], others[1]));
                }
                texts.join(", ")
            }
        }
    }

    /// The texts of a value's bounds: of an exact value, its own.
    pub(crate) fn bounds(self, value: &Value) -> [String; 2] {
        match value {
            Value::Estimate { lower, upper, .. } => [self.number(*lower), self.number(*upper)],
            exact => [self.text(exact), self.text(exact)],
        }
    }
}

/// The value of an item that stands alone.
pub fn item_text(item: &Item) -> String {
    CellFormat::from_column(&item.column).text(&item.value)
}

/// Text from packets and files must not move the cursor.
fn printable(character: char) -> char {
    if character.is_control() { char::REPLACEMENT_CHARACTER } else { character }
}

/// Decimals of a column: none for counts and whole numbers.
fn decimals<'a>(column: &Column, values: impl Iterator<Item = &'a Value>) -> usize {
    let is_count = match column.kind {
        ColumnKind::Estimate => !matches!(column.unit.as_str(), "" | "bits"),
        _ => column.unit == "flows",
    };
    if column.unit == "bits" {
        return 4;
    }
    let numbers = values.flat_map(|value| match *value {
        Value::Float(number) => [number, 0.0, 0.0],
        Value::Estimate { value, lower, upper } => [value, lower, upper],
        _ => [0.0; 3],
    });
    let mut numbers = numbers.filter(|number| number.is_finite());
    if is_count || numbers.all(|number| number.fract() == 0.0) { 0 } else { 4 }
}

/// The side that a column's values are aligned to.
pub(crate) fn align(column: &Column) -> Align {
    let is_text = matches!(
        column.kind,
        ColumnKind::Text | ColumnKind::Address | ColumnKind::Prefix | ColumnKind::Time | ColumnKind::Heaviest
    );
    if is_text || column.name == "protocol" { Align::Left } else { Align::Right }
}

/// A row's cells of the flow key, if the answer has these columns.
pub(crate) struct KeyCells<'a> {
    answer: &'a Answer,
    row: &'a [Value],
}

impl<'a> KeyCells<'a> {
    pub(crate) fn new(answer: &'a Answer, row: &'a [Value]) -> Self {
        Self { answer, row }
    }

    fn number(&self, column: &str) -> Option<u64> {
        self.row[self.answer.column(column)?].as_unsigned()
    }

    /// The address and the port: of a protocol without ports, the address alone.
    pub(crate) fn endpoint(&self, address: &Value, port: &str) -> String {
        let protocol_has_ports = self.number("protocol").is_none_or(has_ports);
        let text = CellFormat::Text.text(address);
        let is_ipv6 = match address {
            Value::Address(address) | Value::Prefix { address, .. } => address.is_ipv6(),
            _ => return text,
        };
        match self.number(port).filter(|_| protocol_has_ports) {
            None => text,
            Some(port) if is_ipv6 => format!("[{text}]:{port}"),
            Some(port) => format!("{text}:{port}"),
        }
    }

    /// The protocol's name.
    pub(crate) fn protocol(&self, value: &Value) -> String {
        match value.as_unsigned() {
            Some(number) => with_type(number, self.number("dst_port")),
            None => CellFormat::Digits.text(value),
        }
    }
}
