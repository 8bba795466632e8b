//! The counters of a record: those since the last record of its flow, and what totals grew.

use super::super::element::{NumericElement, SOURCES};
use super::super::field_plan::FieldPlan;
use super::super::template::unsigned;
use super::super::totals::{self, COUNTERS, RunningTotals};
use super::{Half, RecordValues};
use flow::NULL;
use std::ops::Range;

/// Reasons why a flow ended after which no record of it follows: all but the active timeout.
const IS_OVER: [u64; 4] = [1, 3, 4, 5];

/// A record, as far as totals need it.
#[derive(Clone, Copy, Debug)]
pub struct RecordOf<'a> {
    /// The plan by which the fields of the record are read.
    pub plan: &'a FieldPlan,
    /// The set of the record.
    pub set: &'a [u8],
    /// The ranges of the record's fields in its set.
    pub fields: &'a [Range<usize>],
    /// The session of the record: flows of different exporters are different ones.
    pub session: u64,
    /// The time at which the record was exported.
    pub export_ns: u64,
}

impl<'a> RecordOf<'a> {
    fn field(&self, at: usize) -> &'a [u8] {
        &self.set[self.fields[at].clone()]
    }
}

impl RecordValues {
    /// Returns what both directions count: packets, bytes, bytes on the wire; [`NULL`] where the record does not tell it. A total counts what it
    /// grew since the last record of the flow.
    pub fn counts(&self, all: &mut RunningTotals, told: &RecordOf<'_>) -> [[u64; COUNTERS]; 2] {
        let of_totals = self.totals();
        let differences = if of_totals.iter().flatten().all(|total| *total == NULL) {
            of_totals
        } else {
            let start = told.plan.start.map_or(NULL, |at| unsigned(told.field(at)).unwrap_or(NULL));
            let is_over =
                self.number(NumericElement::EndReason).is_some_and(|reason| IS_OVER.contains(&reason));
            let key = told.plan.key.iter().map(|(element, at)| (*element, told.field(*at)));
            let key = all.key(told.session, key);
            let export_ns = told.export_ns;
            all.take(
                key,
                totals::RecordTotals { start, export_ns, is_over, bits: told.plan.bits, totals: of_totals },
            )
        };
        let of = |is_reverse: bool, at: usize| {
            let plain = SOURCES[at]
                .0
                .iter()
                .map(|number| self.halves[usize::from(is_reverse)].numbers[*number as usize]);
            first(plain.chain([differences[usize::from(is_reverse)][at]]))
        };
        [false, true]
            .map(|is_reverse| with_wire_bytes([of(is_reverse, 0), of(is_reverse, 1), of(is_reverse, 2)]))
    }

    /// Returns what both directions count of a record in which nothing counts since a flow began.
    pub fn plain_counts(&self) -> [[u64; COUNTERS]; 2] {
        let of =
            |half: &Half, at: usize| first(SOURCES[at].0.iter().map(|number| half.numbers[*number as usize]));
        self.halves.each_ref().map(|half| with_wire_bytes([of(half, 0), of(half, 1), of(half, 2)]))
    }

    fn totals(&self) -> [[u64; COUNTERS]; 2] {
        let of =
            |half: &Half, at: usize| first(SOURCES[at].1.iter().map(|number| half.numbers[*number as usize]));
        self.halves.each_ref().map(|half| [of(half, 0), of(half, 1), of(half, 2)])
    }
}

/// A frame has more bytes than its packet: no bytes on the wire of packets that have some are not known ones.
fn with_wire_bytes([packets, bytes, wire_bytes]: [u64; COUNTERS]) -> [u64; COUNTERS] {
    let is_known = wire_bytes != 0 || matches!(bytes, 0 | NULL);
    [packets, bytes, if is_known { wire_bytes } else { NULL }]
}

/// The first number that is not 0, 0 if one is told, or [`NULL`].
fn first(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(NULL, |found, number| match (found, number) {
        (NULL, number) => number,
        (0, number) if number != NULL => number,
        (found, _) => found,
    })
}
