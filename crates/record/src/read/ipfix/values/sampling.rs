//! The statements of a record about sampling.

use super::super::element::NumericElement;
use super::RecordValues;

/// Property match filtering (RFC 5475, section 6.1): it selects packets and leaves none of these out.
const FILTER: u64 = 5;

/// The statement of a record about sampling, of itself or, in options, of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SamplingStatement {
    /// A fixed share of the packets is counted.
    Rate {
        /// The number of packets in a period of the selection.
        packets: u64,
        /// The number of these that are counted.
        counted: u64,
    },
    /// The probability with which a packet is counted.
    Probability(f64),
    /// An unknown number of packets that are left out.
    Unknown,
}

impl RecordValues {
    /// Returns what the record tells of sampling.
    pub fn sampling(&self) -> Option<SamplingStatement> {
        let pair = |packets, counted| Some((self.number(packets)?, self.number(counted)?));
        let interval = self.number(NumericElement::PacketInterval).map(|counted| {
            let distance = |not: u64| (counted.saturating_add(not), counted);
            // Some tell the distance alone.
            self.number(NumericElement::PacketSpace).map_or((counted, 1), distance)
        });
        let of_population = || pair(NumericElement::SamplePopulation, NumericElement::SampleSize);
        let one_of = || self.number(NumericElement::OneOf).map(|packets| (packets, 1));
        // Zero is nothing told, and hides no rate that another element tells.
        let is_told = |(packets, _): &(u64, u64)| *packets != 0;
        let told = interval
            .filter(is_told)
            .or_else(|| of_population().filter(is_told))
            .or_else(|| one_of().filter(is_told));
        if let Some((packets, counted)) = told {
            return Some(SamplingStatement::Rate { packets, counted });
        }
        if let Some(bits) = self.number(NumericElement::Probability) {
            return Some(SamplingStatement::Probability(f64::from_bits(bits)));
        }
        let selects =
            self.number(NumericElement::Algorithm).is_some_and(|algorithm| !matches!(algorithm, 0 | FILTER));
        let leaves_out = self.number(NumericElement::PacketSpace).is_some_and(|packets| packets != 0);
        (selects || leaves_out).then_some(SamplingStatement::Unknown)
    }
}
