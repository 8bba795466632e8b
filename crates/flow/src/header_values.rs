//! Fields of IP headers that flows keep beyond the plain record (`--headers`): one number for each, of all packets together.

use crate::Aggregation;
use crate::header_field::HEADER;

/// The number of header fields.
pub const HEADER_FIELDS: usize = HEADER.len();

/// The way in which the values of packets are merged, by the number of the header field.
const AGGREGATIONS: [Aggregation; HEADER_FIELDS] = aggregations();

/// The value of a header field where none is known: no packet tells it, or packets differ in a field that has one value for all.
const UNKNOWN: u32 = u32::MAX;
/// The value of a field that is the same in all packets, before the first packet.
const UNSET: u32 = u32::MAX - 1;

/// The values of the header fields, of one packet or of several: each by its number ([`crate::RowValue::Header`]), below 2³² - 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderValues([u32; HEADER_FIELDS]);

impl HeaderValues {
    /// The values of no packet.
    pub const NONE: Self = Self::none();

    /// Creates the values of one packet; `None` where its header does not have the field.
    #[inline(always)]
    pub fn new(values: [Option<u32>; HEADER_FIELDS]) -> Self {
        Self(values.map(|value| value.unwrap_or(UNKNOWN)))
    }

    /// Returns the value of a header field, if there is one.
    #[inline]
    pub fn get(&self, at: usize) -> Option<u64> {
        self.0.get(at).copied().filter(|value| *value < UNSET).map(u64::from)
    }

    /// Sets the value of a header field. `None`, and a value that is too large, means that it is not known.
    #[inline]
    pub fn set(&mut self, at: usize, value: Option<u64>) {
        if let Some(own) = self.0.get_mut(at) {
            *own = value
                .and_then(|value| u32::try_from(value).ok())
                .filter(|value| *value < UNSET)
                .unwrap_or(UNKNOWN);
        }
    }

    /// Merges the values of other packets of the same flow, in whatever order: each by the aggregation in the field table.
    #[inline(always)]
    pub fn merge(&mut self, more: &Self) {
        for (at, aggregation) in AGGREGATIONS.iter().enumerate() {
            let (own, more) = (&mut self.0[at], more.0[at]);
            *own = match aggregation {
                Aggregation::Min => (*own).min(more),
                // What is unknown counts as less than any value.
                Aggregation::Max => own.wrapping_add(1).max(more.wrapping_add(1)).wrapping_sub(1),
                _ if *own == UNSET || *own == more => more,
                _ if more == UNSET => *own,
                _ => UNKNOWN,
            };
        }
    }

    const fn none() -> Self {
        let (mut values, mut at) = ([UNKNOWN; HEADER_FIELDS], 0);
        while at < HEADER_FIELDS {
            if matches!(AGGREGATIONS[at], Aggregation::Same) {
                values[at] = UNSET;
            }
            at += 1;
        }
        Self(values)
    }
}

impl Default for HeaderValues {
    fn default() -> Self {
        Self::NONE
    }
}

const fn aggregations() -> [Aggregation; HEADER_FIELDS] {
    let (mut all, mut at) = ([Aggregation::Same; HEADER_FIELDS], 0);
    while at < HEADER_FIELDS {
        all[at] = HEADER[at].aggregation;
        assert!(
            matches!(all[at], Aggregation::Min | Aggregation::Max | Aggregation::Same),
            "the order of packets does not matter to a header field"
        );
        at += 1;
    }
    all
}
