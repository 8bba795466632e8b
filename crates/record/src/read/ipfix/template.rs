//! Templates (RFC 7011, section 3.4; RFC 3954, section 5 and 6) and the records that they describe.

use std::ops::Range;

/// Length of a field whose length is given in every record.
const VARIABLE: u16 = 0xffff;
/// The bit that is set in a field's number if an enterprise number follows.
const HAS_ENTERPRISE: u16 = 0x8000;
/// The most fields of a template.
const MOST_FIELDS: u16 = 4096;

/// An information element: its number, and whose number it is; 0 is the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// The enterprise of the number; 0 is the registry.
    pub enterprise: u32,
    /// The number.
    pub number: u16,
}

/// The protocol of a template's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportProtocol {
    /// NetFlow version 9: fields have no enterprises, none has a length of its own, and options say in octets how long they are.
    NetFlow9,
    /// IPFIX.
    Ipfix,
}

impl Element {
    /// The enterprise of what options of NetFlow v9 are about: these numbers are no elements.
    pub const SCOPE: u32 = u32::MAX;

    /// Returns the element of the registry with this number.
    pub const fn registered(number: u16) -> Self {
        Self { enterprise: 0, number }
    }
}

/// A template: the fields that records consist of.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    /// True if the records of the template are of options, not of flows.
    pub is_options: bool,
    fields: Vec<(Element, u16)>,
}

/// A template record: a definition, or the withdrawal of one.
#[derive(Debug)]
pub enum TemplateRecord {
    /// The definition of the template of this number.
    Definition(u16, Template),
    /// The withdrawal of the template with this number; of all templates where it is the number of the set.
    Withdrawal(u16),
}

/// Reads octets from the front.
#[derive(Clone, Copy, Debug)]
pub struct Octets<'a>(pub &'a [u8]);

impl<'a> Octets<'a> {
    /// The next octets; `None` if fewer are left.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads the next two octets as a number.
    pub fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    /// Reads the next four octets as a number.
    pub fn u32(&mut self) -> Option<u32> {
        let octets = self.take(4)?;
        Some(u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]))
    }
}

impl Template {
    /// Reads the next template record of a set; `None` where padding is left.
    ///
    /// # Errors
    /// If the record is cut off, or has a number or a length that no template has.
    pub fn read(
        set: &mut Octets<'_>,
        is_options: bool,
        dialect: ExportProtocol,
    ) -> Result<Option<TemplateRecord>, String> {
        const SHORT: &str = "a template is cut off";
        let (Some(id), Some(number)) = (set.u16(), set.u16()) else { return Ok(None) };
        if id == 0 {
            return Ok(None);
        }
        // Of options, how many fields say what they are about; and of how many fields the template is.
        let (scopes, count) = match (dialect, is_options) {
            (ExportProtocol::NetFlow9, true) => {
                let (scopes, options) = (number / 4, set.u16().ok_or(SHORT)? / 4);
                (scopes, scopes.saturating_add(options))
            }
            _ => (0, number),
        };
        if count == 0 && dialect == ExportProtocol::Ipfix {
            return Ok(Some(TemplateRecord::Withdrawal(id)));
        }
        if id < 256 || count > MOST_FIELDS {
            return Err(format!("template {id} of {count} fields: from 256, of at most {MOST_FIELDS}"));
        }
        if is_options && dialect == ExportProtocol::Ipfix {
            set.u16().ok_or(SHORT)?;
        }
        let mut fields = Vec::new();
        for at in 0..count {
            let (number, length) = (set.u16().ok_or(SHORT)?, set.u16().ok_or(SHORT)?);
            let (enterprise, number) = match dialect {
                ExportProtocol::NetFlow9 if at < scopes => (Element::SCOPE, number),
                ExportProtocol::NetFlow9 => (0, number),
                ExportProtocol::Ipfix if number & HAS_ENTERPRISE == 0 => (0, number),
                ExportProtocol::Ipfix => (set.u32().ok_or(SHORT)?, number & !HAS_ENTERPRISE),
            };
            // A field without octets has no value, and would cost time in every record.
            if length != 0 {
                fields.push((Element { enterprise, number }, length));
            }
        }
        Ok(Some(TemplateRecord::Definition(id, Self { is_options, fields })))
    }

    /// The elements of its fields.
    pub fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.fields.iter().map(|(element, _)| *element)
    }

    /// The elements of its fields, with the length of each; `None` where records say it.
    pub fn lengths(&self) -> impl Iterator<Item = (Element, Option<u16>)> + '_ {
        self.fields.iter().map(|(element, length)| (*element, (*length != VARIABLE).then_some(*length)))
    }

    /// Returns true if the template has no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The number of its fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Finds the fields of the next record of a set; false where only padding is left.
    ///
    /// # Errors
    /// The record is cut off.
    pub fn split(&self, set: &[u8], at: &mut usize, fields: &mut Vec<Range<usize>>) -> Result<bool, String> {
        let least: usize = self
            .fields
            .iter()
            .map(|(_, length)| if *length == VARIABLE { 1 } else { usize::from(*length) })
            .sum();
        // Padding is shorter than any record (RFC 7011, section 3.3.1).
        if self.fields.is_empty() || set.len() - *at < least {
            return Ok(false);
        }
        fields.clear();
        for (_, length) in &self.fields {
            let mut octets = Octets(&set[*at..]);
            let length = match *length {
                VARIABLE => variable_length(&mut octets),
                length => Some(usize::from(length)),
            };
            let value =
                length.and_then(|length| octets.take(length)).ok_or("a record is longer than its set")?;
            let end = set.len() - octets.0.len();
            fields.push(end - value.len()..end);
            *at = end;
        }
        Ok(true)
    }
}

/// Reads the length of a field that is given in the record (RFC 7011, section 7).
fn variable_length(octets: &mut Octets<'_>) -> Option<usize> {
    match octets.take(1)?[0] {
        255 => octets.u16().map(usize::from),
        length => Some(length.into()),
    }
}

/// An unsigned number of at most 8 octets.
pub(crate) fn unsigned(octets: &[u8]) -> Option<u64> {
    let is_number = (1..=8).contains(&octets.len());
    is_number.then(|| octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet)))
}
