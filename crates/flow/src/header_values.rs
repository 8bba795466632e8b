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

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of packets, and what they are together: the same, the least, the greatest.
    type Case<'a> = (&'a [Option<u32>], [Option<u64>; 3]);

    /// Merges one by one, in this order.
    fn merged(all: &[HeaderValues]) -> HeaderValues {
        let mut sum = HeaderValues::NONE;
        all.iter().for_each(|values| sum.merge(values));
        sum
    }

    #[test]
    fn each_is_merged_by_its_aggregation_in_any_order() {
        let of = |value| HeaderValues::new([value; HEADER_FIELDS]);
        let cases: [Case<'_>; 6] = [
            (&[], [None; 3]),
            (&[None], [None; 3]),
            (&[Some(0)], [Some(0); 3]),
            (&[Some(7), Some(7), Some(7)], [Some(7); 3]),
            (&[Some(7), Some(9), Some(7)], [None, Some(7), Some(9)]),
            (&[Some(7), None, Some(9)], [None, Some(7), Some(9)]),
        ];
        for (values, expected) in cases {
            let all: Vec<_> = values.iter().map(|value| of(*value)).collect();
            let reversed: Vec<_> = all.iter().rev().copied().collect();
            let halves = all.split_at(all.len() / 2);
            let mut of_parts = merged(halves.0);
            of_parts.merge(&merged(halves.1));
            assert!(merged(&all) == merged(&reversed) && merged(&all) == of_parts);
            for (at, aggregation) in AGGREGATIONS.iter().enumerate() {
                let expected = match aggregation {
                    Aggregation::Same => expected[0],
                    Aggregation::Min => expected[1],
                    _ => expected[2],
                };
                assert_eq!(merged(&all).get(at), expected, "{values:?} {aggregation:?}");
            }
        }
    }

    #[test]
    fn values_that_are_too_large_are_not_known() {
        let mut values = HeaderValues::NONE;
        for (value, expected) in [
            (Some(5), Some(5)),
            (Some(u64::from(UNSET) - 1), Some(u64::from(UNSET) - 1)),
            (Some(UNSET.into()), None),
            (Some(UNKNOWN.into()), None),
            (Some(1 << 32), None),
            (None, None),
        ] {
            values.set(0, value);
            assert_eq!(values.get(0), expected);
        }
        values.set(HEADER_FIELDS, Some(1));
        assert_eq!(values.get(HEADER_FIELDS), None);
    }
}
