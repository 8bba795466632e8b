//! The fields of a template that are read, and where their values go.

use super::element::{ElementRole, NumericElement, SOURCES, TimeEncoding, ValueTarget};
use super::template::{Element, Template};

/// Elements by which exporters tell flows apart: keys, interfaces, translated addresses and the like. NAT and tunnels included.
const KEY: &[u16] = &[
    4, 5, 7, 8, 10, 11, 12, 14, 27, 28, 31, 32, 56, 58, 59, 60, 61, 70, 80, 138, 139, 148, 176, 177, 178,
    179, 180, 181, 182, 183, 225, 226, 227, 228, 234, 235, 242, 243, 244, 245, 254, 281, 282, 351,
];

/// A plan of which fields of a template's records are read, and where their values go.
#[derive(Debug)]
pub struct FieldPlan {
    pub(super) fields: Vec<(usize, bool, ValueTarget)>,
    /// The fields by which flows are told apart, with the numbers of their elements; none where no total is told.
    pub(super) key: Vec<(u16, usize)>,
    /// The field that has the start of the flow.
    pub(super) start: Option<usize>,
    /// The fewest bits of a total.
    pub(super) bits: u32,
}

impl FieldPlan {
    /// Creates the plan that reads all fields of a template that have a meaning.
    pub fn from_template(template: &Template) -> Self {
        let mut found: Vec<(usize, ElementRole)> = Vec::new();
        let mut bits = 64;
        for (at, (element, length)) in template.lengths().enumerate() {
            let Some(role) = ElementRole::from_element(element) else { continue };
            if let (ValueTarget::Number(number), Some(length)) = (role.target, length)
                && number.is_total()
            {
                bits = bits.min(8 * u32::from(length));
            }
            // Addresses of both families may be there, of which one is zero.
            let is_address = matches!(role.target, ValueTarget::Source | ValueTarget::Destination);
            let is_same = |(_, known): &&mut (usize, ElementRole)| {
                known.is_reverse == role.is_reverse && known.target.replaces(role.target)
            };
            match found.iter_mut().find(is_same) {
                Some(known) if !is_address => {
                    if role.rank < known.1.rank {
                        *known = (at, role);
                    }
                }
                _ => found.push((at, role)),
            }
        }
        let has_totals = found
            .iter()
            .any(|(_, role)| matches!(role.target, ValueTarget::Number(number) if number.is_total()));
        let mut key = Vec::new();
        if has_totals {
            let elements = template.elements().enumerate();
            key.extend(elements.filter(|(_, element)| is_key(*element)).map(|(at, of)| (of.number, at)));
            key.sort_unstable();
        }
        // One that is told by its distance to the export is another one in each record.
        let is_start = |role: &ElementRole| {
            matches!(role.target, ValueTarget::Start(clock) if clock != TimeEncoding::MicrosecondsBefore)
                && !role.is_reverse
        };
        let start = found.iter().find(|(_, role)| is_start(role)).map(|(at, _)| *at);
        let fields = found.into_iter().map(|(at, role)| (at, role.is_reverse, role.target)).collect();
        Self { fields, key, start, bits }
    }

    /// Reads no more than what tells of sampling, if anything does.
    pub(crate) fn from_sampling_template(template: &Template) -> Option<Self> {
        let is_of_sampling =
            |role: ElementRole| matches!(role.target, ValueTarget::Number(number) if number.is_of_sampling());
        if !template.elements().any(|element| ElementRole::from_element(element).is_some_and(is_of_sampling))
        {
            return None;
        }
        let mut plan = Self::from_template(template);
        plan.fields
            .retain(|(.., target)| matches!(target, ValueTarget::Number(number) if number.is_of_sampling()));
        Some(plan)
    }

    /// Returns for sources, and for destinations, whether some field tells one.
    pub(crate) fn has_ends(&self) -> [bool; 2] {
        [ValueTarget::Source, ValueTarget::Destination]
            .map(|end| self.fields.iter().any(|(.., target)| *target == end))
    }

    /// Returns true if some field tells packets of the other direction.
    pub(crate) fn has_reverse_packets(&self) -> bool {
        let (plain, totals) = SOURCES[0];
        let is_packets = |number: &NumericElement| plain.contains(number) || totals.contains(number);
        let mut reverse = self.fields.iter().filter(|(_, is_reverse, _)| *is_reverse);
        reverse.any(|(.., target)| matches!(target, ValueTarget::Number(number) if is_packets(number)))
    }

    /// Reads no more than what these fields of a row need.
    pub(crate) fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        let is_needed = |target: &ValueTarget| match target {
            ValueTarget::Number(NumericElement::SystemStart | NumericElement::EndReason) => true,
            target => target.columns().iter().any(|column| wanted(column)),
        };
        self.fields.retain(|(.., target)| is_needed(target));
        self
    }
}

fn is_key(element: Element) -> bool {
    element.enterprise == 0 && KEY.contains(&element.number)
}
