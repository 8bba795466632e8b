//! Conditions on rows, prepared and evaluated over a batch.

use super::batch::Batch;
use super::query::{Comparison, Literal, Predicate};
use super::refusal::Refusal;
use super::site::Site;
use flow::{NULL, RowValue};
use packet::MaskedKey;
use std::net::IpAddr;

/// The truth value of a condition for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    False,
    Unknown,
    True,
}

impl Truth {
    fn of(is_true: bool) -> Self {
        if is_true { Self::True } else { Self::False }
    }

    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }

    fn rank(self) -> u8 {
        self as u8
    }

    fn and(self, other: Self) -> Self {
        if self.rank() < other.rank() { self } else { other }
    }

    fn or(self, other: Self) -> Self {
        if self.rank() > other.rank() { self } else { other }
    }
}

/// Where a compared number comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Column(RowValue),
    Protocol,
    Port(usize),
    EitherPort,
}

/// A prepared condition.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    And(Vec<Test>),
    Or(Vec<Test>),
    Not(Box<Test>),
    Number(Source, Comparison, u64),
    /// Addresses (source, destination) of which one is in the prefix.
    Address {
        sides: &'static [usize],
        mask: u128,
        bits: u128,
        is_in: bool,
    },
}

const BOTH: &[usize] = &[0, 1];

impl Test {
    /// Prepares a condition for rows of a site, and adds the columns that it reads.
    pub(crate) fn new(
        predicate: &Predicate,
        site: &Site,
        columns: &mut Vec<RowValue>,
        refusals: &mut Vec<Refusal>,
    ) -> Option<Self> {
        let mut all = |parts: &[Predicate]| {
            let tests: Vec<_> = parts.iter().map(|part| Self::new(part, site, columns, refusals)).collect();
            tests.into_iter().collect::<Option<Vec<_>>>()
        };
        Some(match predicate {
            Predicate::And(parts) => Self::And(all(parts)?),
            Predicate::Or(parts) => Self::Or(all(parts)?),
            Predicate::Not(part) => Self::Not(Box::new(all(std::slice::from_ref(part))?.pop()?)),
            Predicate::Compare { field, comparison, value } => {
                match Self::compare(field, *comparison, *value, site) {
                    Ok(test) => {
                        if let Self::Number(Source::Column(column), ..) = test
                            && !columns.contains(&column)
                        {
                            columns.push(column);
                        }
                        test
                    }
                    Err(refusal) => {
                        refusals.push(refusal);
                        return None;
                    }
                }
            }
        })
    }

    fn compare(field: &str, comparison: Comparison, value: Literal, site: &Site) -> Result<Self, Refusal> {
        let name = field.to_ascii_lowercase();
        let sides: Option<&'static [usize]> = match name.as_str() {
            "src_addr" => Some(&BOTH[..1]),
            "dst_addr" => Some(&BOTH[1..]),
            "addr" => Some(BOTH),
            _ => None,
        };
        if let Some(sides) = sides {
            for side in sides {
                site.needs(["src_addr", "dst_addr"][*side])?;
            }
            let (Literal::Prefix(address, length), Comparison::Equal | Comparison::NotEqual) =
                (value, comparison)
            else {
                return Err(Refusal::WrongType { field: field.to_owned() });
            };
            let (bits, length) = match address {
                IpAddr::V4(v4) => (v4.to_ipv6_mapped().to_bits(), 96 + u32::from(length.min(32))),
                IpAddr::V6(v6) => (v6.to_bits(), u32::from(length.min(128))),
            };
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            return Ok(Self::Address {
                sides,
                mask,
                bits: bits & mask,
                is_in: comparison == Comparison::Equal,
            });
        }
        let Literal::Number(number) = value else {
            return Err(Refusal::WrongType { field: field.to_owned() });
        };
        let source = match name.as_str() {
            "port" => {
                site.needs("src_port")?;
                site.needs("dst_port")?;
                Source::EitherPort
            }
            "src_port" => site.needs("src_port").map(|()| Source::Port(0))?,
            "dst_port" => site.needs("dst_port").map(|()| Source::Port(1))?,
            "protocol" => site.needs("protocol").map(|()| Source::Protocol)?,
            _ => Source::Column(site.column(field)?),
        };
        Ok(Self::Number(source, comparison, number))
    }

    /// Appends the numbers of the rows for which it is true.
    pub(crate) fn select<K: MaskedKey>(&self, batch: &Batch<K>, selected: &mut Vec<u32>) {
        let rows = (0..batch.len()).filter(|&row| self.truth(batch, row) == Truth::True);
        selected.extend(rows.map(|row| row as u32));
    }

    fn truth<K: MaskedKey>(&self, batch: &Batch<K>, row: usize) -> Truth {
        match self {
            Self::And(tests) => {
                tests.iter().fold(Truth::True, |truth, test| truth.and(test.truth(batch, row)))
            }
            Self::Or(tests) => {
                tests.iter().fold(Truth::False, |truth, test| truth.or(test.truth(batch, row)))
            }
            Self::Not(test) => test.truth(batch, row).not(),
            Self::Address { sides, mask, bits, is_in } => {
                let addresses = batch.keys[row].addresses();
                let is_any = sides.iter().any(|side| addresses[*side] & mask == *bits);
                Truth::of(is_any == *is_in)
            }
            Self::Number(source, comparison, value) => {
                let compare = |number: u64| match number {
                    NULL => Truth::Unknown,
                    number => Truth::of(match comparison {
                        Comparison::Equal => number == *value,
                        Comparison::NotEqual => number != *value,
                        Comparison::Less => number < *value,
                        Comparison::LessOrEqual => number <= *value,
                        Comparison::Greater => number > *value,
                        Comparison::GreaterOrEqual => number >= *value,
                    }),
                };
                let port = |side: usize| batch.keys[row].ports()[side].into();
                match source {
                    Source::Column(column) => compare(batch.column(*column)[row]),
                    Source::Protocol => compare(batch.keys[row].protocol().into()),
                    Source::Port(side) => compare(port(*side)),
                    // `!=` is the negation of `=`: both ports must differ.
                    Source::EitherPort if *comparison == Comparison::NotEqual => {
                        compare(port(0)).and(compare(port(1)))
                    }
                    Source::EitherPort => compare(port(0)).or(compare(port(1))),
                }
            }
        }
    }
}
