//! The titles of what fires: what the text says, or the condition in words.

use super::conditions::ConditionSources;
use crate::checked::SaidPart;
use events::{Operand, TitleForm, TitlePart, TriggerCondition};
use notation::{Comparison, Operator};
use std::net::IpAddr;
use task::query::{Aggregate, Expression};

/// The most characters of a condition in words.
const LONGEST: usize = 200;
/// A name of this many letters tells a reader something: shorter ones are those of variables.
const LEAST_NAME: usize = 3;

/// Units of which there are more or less; of others there is above and below.
const COUNTED: [&str; 4] = ["bytes", "packets", "flows", "segments"];

impl ConditionSources<'_> {
    /// The title that a text gives.
    pub(super) fn said(&self, parts: &[SaidPart]) -> Result<TitleForm, String> {
        let part = |part: &SaidPart| match part {
            SaidPart::Text(text) => Ok(TitlePart::Text(text.clone())),
            SaidPart::Node => Ok(TitlePart::Node),
            SaidPart::Item { query, item } => {
                let source = self.0.iter().position(|source| source.name == query);
                let source = source.ok_or_else(|| format!("say names {query}, which is not in when"))?;
                Ok(TitlePart::Item(self.item_of(source, item)?))
            }
        };
        Ok(TitleForm { parts: parts.iter().map(part).collect::<Result<_, String>>()?, is_said: true })
    }

    /// The condition in words, for the key and the node that fired.
    pub(super) fn title(&self, condition: &TriggerCondition) -> TitleForm {
        let words = self.in_words(condition);
        let mut letters = words.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        let rest: String = letters.by_ref().take(LONGEST).collect();
        let end = if letters.next().is_some() { "…" } else { "" };
        let text = |text: String| TitlePart::Text(text);
        let parts = vec![
            text(format!("{first}{rest}{end}")),
            TitlePart::Key,
            text(" at ".to_owned()),
            TitlePart::Node,
        ];
        TitleForm { parts, is_said: false }
    }

    fn in_words(&self, condition: &TriggerCondition) -> String {
        let joined = |of: &[TriggerCondition], word: &str| {
            let one = |one: &TriggerCondition| match one {
                TriggerCondition::Or(_) | TriggerCondition::And(_) => format!("({})", self.in_words(one)),
                one => self.in_words(one),
            };
            of.iter().map(one).collect::<Vec<_>>().join(word)
        };
        let list = |of: &[Operand]| {
            let texts: Vec<String> = of.iter().take(5).map(|one| self.value(one, "")).collect();
            format!("{}{}", texts.join(" or "), if of.len() > 5 { " or others" } else { "" })
        };
        match condition {
            TriggerCondition::And(of) => joined(of, " and "),
            TriggerCondition::Or(of) => joined(of, " or "),
            TriggerCondition::Not(of) => match &**of {
                TriggerCondition::Compare(left, by, right) => self.compared(left, opposite(*by), right),
                of => format!("not ({})", self.in_words(of)),
            },
            TriggerCondition::Surely(of) => format!("surely {}", self.in_words(of)),
            TriggerCondition::IsMissing(_) => "no answers".to_owned(),
            TriggerCondition::Compare(left, by, right) => self.compared(left, *by, right),
            TriggerCondition::In(value, of) => format!("{} {}", self.value(value, ""), list(of)),
            TriggerCondition::InPrefixes(item, prefixes) => {
                let text = |(address, length): &(IpAddr, u8)| match (address, length) {
                    (IpAddr::V4(_), 32) | (IpAddr::V6(_), 128) => address.to_string(),
                    _ => format!("{address}/{length}"),
                };
                let texts: Vec<String> = prefixes.iter().take(5).map(text).collect();
                let more = if prefixes.len() > 5 { " or others" } else { "" };
                format!("{} in {}{more}", self.noun(*item), texts.join(" or "))
            }
            TriggerCondition::Like(item, pattern) => format!("{} like '{pattern}'", self.noun(*item)),
            TriggerCondition::IsNull(value) => format!("no {}", self.value(value, "")),
        }
    }

    /// A comparison: `more than 1,000 packets`, `round trip above 100 ms`.
    fn compared(&self, left: &Operand, by: Comparison, right: &Operand) -> String {
        if let (Operand::Item(item), Some(number)) = (left, constant(right)) {
            let unit = self.unit(*item);
            let noun = self.noun(*item);
            if self.is_counted(*item) {
                let counted = match noun.split(' ').any(|word| word == unit) || unit.is_empty() {
                    true => noun,
                    false => format!("{unit} {noun}"),
                };
                let amount = quantity(number, "");
                let counted = match counted.strip_suffix('s') {
                    Some(one) if number == 1.0 && !one.contains(' ') => one.to_owned(),
                    _ => counted,
                };
                return match by {
                    Comparison::Greater => format!("more than {amount} {counted}"),
                    Comparison::GreaterOrEqual => format!("at least {amount} {counted}"),
                    Comparison::Less => format!("less than {amount} {counted}"),
                    Comparison::LessOrEqual => format!("at most {amount} {counted}"),
                    Comparison::Equal if number == 0.0 => format!("no {counted}"),
                    Comparison::Equal => format!("{amount} {counted}"),
                    Comparison::NotEqual => format!("not {amount} {counted}"),
                };
            }
        }
        let unit = match (left, right) {
            (Operand::Item(item), _) | (_, Operand::Item(item)) => self.unit(*item).to_owned(),
            _ => String::new(),
        };
        let (left, right) = (self.value(left, &unit), self.value(right, &unit));
        match by {
            Comparison::Greater => format!("{left} above {right}"),
            Comparison::GreaterOrEqual => format!("{left} at least {right}"),
            Comparison::Less => format!("{left} below {right}"),
            Comparison::LessOrEqual => format!("{left} at most {right}"),
            Comparison::Equal => format!("{left} of {right}"),
            Comparison::NotEqual => format!("{left} other than {right}"),
        }
    }

    /// A value in words. `unit`: that of numbers.
    fn value(&self, value: &Operand, unit: &str) -> String {
        match value {
            Operand::Item(item) => self.noun(*item),
            Operand::Text(text) => text.clone(),
            Operand::Number(number) => quantity(*number, unit),
            Operand::Integer(number) => quantity(*number as f64, unit),
            Operand::Arithmetic(left, by, right) => {
                let (left, right) = (self.value(left, ""), self.value(right, ""));
                let sign = match by {
                    Operator::Add => "+",
                    Operator::Subtract => "−",
                    Operator::Multiply => "×",
                    Operator::Divide => "/",
                };
                format!("{left} {sign} {right}")
            }
        }
    }

    fn unit(&self, item: usize) -> &str {
        let (source, column) = self.place(item);
        self.0.get(source).map_or("", |source| &source.query.columns[column].column.unit)
    }

    /// Returns whether there is more or less of an item: it counts something.
    fn is_counted(&self, item: usize) -> bool {
        let unit = self.unit(item);
        let (source, column) = self.place(item);
        let column = self.0.get(source).and_then(|source| source.task.columns.get(column));
        let counts = |value: &Expression| {
            matches!(
                value,
                Expression::Aggregate(Aggregate::Count | Aggregate::CountDistinct(_) | Aggregate::CountIf(_))
            )
        };
        COUNTED.contains(&unit) || column.is_some_and(|column| unit.is_empty() && counts(&column.value))
    }

    /// The name of an item in words: what its column is called where that is a word, else what it has.
    fn noun(&self, item: usize) -> String {
        let (source, column) = self.place(item);
        let Some(column) = self.0.get(source).and_then(|source| source.task.columns.get(column)) else {
            return String::new();
        };
        let name = column.name.as_str();
        let is_field = flow::Field::named(name).is_some();
        let is_word = name.len() >= LEAST_NAME
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !is_field;
        match is_word {
            true => name.replace('_', " "),
            false => match (thing(&column.value), self.unit(item)) {
                (Some(thing), _) => thing.to_owned(),
                (None, unit) if COUNTED.contains(&unit) => unit.to_owned(),
                _ => name.to_owned(),
            },
        }
    }
}

/// Returns what a value is a number of.
fn thing(value: &Expression) -> Option<&'static str> {
    match value {
        Expression::Field(name) => match name.as_str() {
            "total_byte" => Some("bytes"),
            "total_count" => Some("packets"),
            "ploss_byte" => Some("bytes lost before"),
            "retrans_byte" => Some("bytes sent again"),
            "src_addr" => Some("source"),
            "dst_addr" => Some("destination"),
            "src_port" => Some("source port"),
            "dst_port" => Some("destination port"),
            _ => None,
        },
        Expression::Aggregate(Aggregate::Sum(of)) => thing(of),
        Expression::Aggregate(Aggregate::Count) => Some("flows"),
        Expression::Aggregate(Aggregate::CountDistinct(of)) => match of.field.as_str() {
            "src_addr" => Some("sources"),
            "dst_addr" => Some("destinations"),
            "src_port" => Some("source ports"),
            "dst_port" => Some("destination ports"),
            _ => None,
        },
        _ => None,
    }
}

/// The comparison that holds where this one does not.
const fn opposite(by: Comparison) -> Comparison {
    match by {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}

/// The number, if the value is one.
fn constant(value: &Operand) -> Option<f64> {
    match value {
        Operand::Number(number) => Some(*number),
        Operand::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

/// A number with its unit, as people write it.
fn quantity(number: f64, unit: &str) -> String {
    let text = match unit {
        // What was written in whole units is told in them.
        "ns" => return notation::computed_time_text(number).replacen(".00 ", " ", 1).replacen(".0 ", " ", 1),
        _ if number.fract() == 0.0 && number.abs() < 9e15 => notation::grouped_signed(number as i64),
        _ => notation::trimmed(number, 4),
    };
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}
