//! Records about the export itself: what Edison's own elements are, which packets were selected, what was lost.

use super::message::{MessagePacker, OPTIONS_TEMPLATE_SET, RecordSums, TEMPLATE_SET};
use super::template::{Specifier, options_definition, text};
use super::{FIRST_STATISTIC, OWN_REVERSE, element};
use crate::{FileColumn, MeasurementTotals, Selection};
use flow::{FieldAccessor, InformationElement, Share};

/// Templates of flow records have this number and those above.
pub(super) const FIRST_FREE_TEMPLATE: u16 = 320;

/// Selection of packets, by its number in the registry (RFC 5477, section 8.2.1).
const COUNT_BASED: u16 = 1;
const UNIFORM_PROBABILISTIC: u16 = 4;

const TYPES: u16 = 256;
const SELECTOR: u16 = 257;
const METERING: u16 = 258;
/// The number of the metering template where the source cannot know what it lost: no value denotes that.
const METERING_BLIND: u16 = 259;
const EXPORTING: u16 = 260;
const KEYS: u16 = 261;
/// The bit that is set in the number of a field of a template if an enterprise number follows.
const HAS_ENTERPRISE: u16 = 0x8000;

/// The totals of an exporter so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ExportTotals {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Flow records sent.
    pub(super) sent: RecordSums,
    /// Flow records that were to be sent but will not be.
    pub(super) not_sent: RecordSums,
}

/// The options templates and those of their records that never change.
#[derive(Debug)]
pub(super) struct OptionsRecords {
    node: Vec<u8>,
    domain: u32,
    types: Vec<Vec<u8>>,
    /// The share by which packets were sampled.
    share: Share,
    /// The elements of the key of flows, where a field that any record has is among them.
    key: Vec<u16>,
}

impl OptionsRecords {
    pub(super) fn new(node: &str, domain: u32, selection: &Selection) -> Self {
        let mut types: Vec<_> = selection.columns().iter().filter_map(type_of).collect();
        types.push(account_type(element::RECEIVED, "frames taken from the source"));
        types.push(account_type(element::MEASURED, "frames counted in a flow record"));
        let parts = selection.key_column().map(|(_, parts)| parts).unwrap_or_default();
        let is_member =
            |column: &&FileColumn| parts.split(' ').any(|part| part.split('/').next() == Some(column.name()));
        let members = selection.columns().iter().filter(|column| !column.is_reverse()).filter(is_member);
        let key = members.flat_map(FileColumn::elements).map(|element| element.number).collect();
        Self { node: text(node), domain, types, share: selection.share(), key }
    }

    /// Options templates, these flow templates and the records that never change: sent at the start of a
    /// session, and resent over UDP.
    pub(super) fn preamble(&self, flow_templates: &[Vec<u8>], out: &mut MessagePacker) {
        self.templates().iter().for_each(|template| out.put(OPTIONS_TEMPLATE_SET, template));
        flow_templates.iter().for_each(|template| out.put(TEMPLATE_SET, template));
        self.types.iter().for_each(|record| out.put(TYPES, record));
        let mut selector = 1_u64.to_be_bytes().to_vec();
        if self.share == Share::ALL {
            // All packets are taken: one of one, none between (RFC 5476, section 6.5.2.1; RFC 5477, section 8.2).
            selector.extend(COUNT_BASED.to_be_bytes());
            selector.extend(1_u32.to_be_bytes());
            selector.extend(0_u32.to_be_bytes());
        } else {
            // Each with the same probability (RFC 5476, section 6.5.2.5).
            selector.extend(UNIFORM_PROBABILISTIC.to_be_bytes());
            selector.extend(self.share.probability().to_be_bytes());
        }
        out.put(SELECTOR, &selector);
        flow_templates.iter().filter(|_| !self.key.is_empty()).for_each(|template| {
            out.put(KEYS, &self.key_of(template));
        });
    }

    /// Returns the record that tells which fields of a flow template are those of the key (RFC 7011, section 4.4).
    fn key_of(&self, template: &[u8]) -> Vec<u8> {
        let (id, mut rest) = template.split_at(2);
        let number = |octets: &[u8]| octets.first_chunk().map_or(0, |octets| u16::from_be_bytes(*octets));
        let mut keys = 0_u64;
        rest = rest.get(2..).unwrap_or_default();
        for at in 0..64 {
            let element = number(rest);
            let is_own = element & HAS_ENTERPRISE != 0;
            if !rest.is_empty() && !is_own && self.key.contains(&element) {
                keys |= 1 << at;
            }
            rest = rest.get(if is_own { 8 } else { 4 }..).unwrap_or_default();
        }
        [id, &keys.to_be_bytes()].concat()
    }

    /// Writes the records of what was measured and what was exported (RFC 7011, sections 4.1 to 4.3).
    pub(super) fn account(
        &self,
        account: &MeasurementTotals,
        exported: &ExportTotals,
        out: &mut MessagePacker,
    ) {
        let mut metering = self.domain.to_be_bytes().to_vec();
        metering.extend(&self.node);
        for number in [Some(account.received), Some(account.measured), account.lost].into_iter().flatten() {
            metering.extend(number.to_be_bytes());
        }
        out.put(if account.lost.is_some() { METERING } else { METERING_BLIND }, &metering);
        let mut exporting = 1_u32.to_be_bytes().to_vec();
        let ExportTotals { messages, bytes, sent, not_sent } = *exported;
        let numbers = [messages, sent.records, bytes, not_sent.records, not_sent.packets, not_sent.octets];
        numbers.iter().for_each(|number| exporting.extend(number.to_be_bytes()));
        out.put(EXPORTING, &exporting);
    }

    fn templates(&self) -> Vec<Vec<u8>> {
        let fixed = Specifier::fixed;
        let metering = [
            fixed(element::DOMAIN, 4),
            Specifier::text(element::DOMAIN_NAME),
            fixed(element::RECEIVED, 8),
            fixed(element::MEASURED, 8),
            fixed(element::IGNORED_PACKETS, 8),
        ];
        let mut selector = vec![fixed(element::SELECTOR, 8), fixed(element::SELECTOR_ALGORITHM, 2)];
        if self.share == Share::ALL {
            selector.extend([fixed(element::PACKET_INTERVAL, 4), fixed(element::PACKET_SPACE, 4)]);
        } else {
            selector.push(fixed(element::PROBABILITY, 8));
        }
        let keys = [fixed(element::TEMPLATE, 2), fixed(element::FLOW_KEYS, 8)];
        let keys = (!self.key.is_empty()).then(|| options_definition(KEYS, 1, &keys));
        let mut templates = vec![
            // RFC 5610, section 3.9.
            options_definition(
                TYPES,
                2,
                &[
                    fixed(element::ENTERPRISE, 4),
                    fixed(element::ELEMENT_ID, 2),
                    fixed(element::ELEMENT_TYPE, 1),
                    fixed(element::ELEMENT_SEMANTICS, 1),
                    fixed(element::ELEMENT_UNITS, 2),
                    Specifier::text(element::ELEMENT_NAME),
                    Specifier::text(element::ELEMENT_DESCRIPTION),
                ],
            ),
            options_definition(SELECTOR, 1, &selector),
            options_definition(METERING, 1, &metering),
            options_definition(METERING_BLIND, 1, &metering[..4]),
            options_definition(
                EXPORTING,
                1,
                &[
                    fixed(element::EXPORTING_PROCESS, 4),
                    fixed(element::EXPORTED_MESSAGES, 8),
                    fixed(element::EXPORTED_RECORDS, 8),
                    fixed(element::EXPORTED_OCTETS, 8),
                    fixed(element::NOT_SENT_RECORDS, 8),
                    fixed(element::NOT_SENT_PACKETS, 8),
                    fixed(element::NOT_SENT_OCTETS, 8),
                ],
            ),
        ];
        templates.extend(keys);
        templates
    }
}

/// Types, semantics and units by their numbers in the registry (RFC 7012; RFC 5610, sections 3.1 to 3.3).
const UNSIGNED64: u8 = 4;
const FLOAT64: u8 = 10;
const QUANTITY: u8 = 1;
const TOTAL_COUNTER: u8 = 2;
const DELTA_COUNTER: u8 = 3;
const FRAMES: u16 = 13;

fn units(unit: &str) -> u16 {
    match unit {
        "bytes" => 2,
        "packets" | "segments" => 3,
        "ns" => 8,
        _ => 0,
    }
}

fn type_record(number: u16, data_type: u8, semantics: u8, units: u16, name: &str, meaning: &str) -> Vec<u8> {
    let mut record = InformationElement::DOCUMENTATION.to_be_bytes().to_vec();
    record.extend(number.to_be_bytes());
    record.extend([data_type, semantics]);
    record.extend(units.to_be_bytes());
    record.extend(text(name));
    record.extend(text(meaning));
    record
}

fn account_type(element: InformationElement, meaning: &str) -> Vec<u8> {
    type_record(element.number, UNSIGNED64, TOTAL_COUNTER, FRAMES, element.name, meaning)
}

/// The type record of the column's element, if it is Edison's own.
fn type_of(column: &FileColumn) -> Option<Vec<u8>> {
    let (number, data_type) = match (column.value(), column.elements().first()) {
        (FieldAccessor::Float(at), _) => (FIRST_STATISTIC + at as u16, FLOAT64),
        (_, Some(own)) if own.enterprise != 0 => (own.number, UNSIGNED64),
        _ => return None,
    };
    let number = number | if column.is_reverse() { OWN_REVERSE } else { 0 };
    let semantics = if column.is_sum() { DELTA_COUNTER } else { QUANTITY };
    let units = units(column.unit());
    Some(type_record(number, data_type, semantics, units, column.name(), &column.meaning()))
}
