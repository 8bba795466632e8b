//! Templates (RFC 7011, section 3.4) and the records that they describe.

use std::ops::Range;

/// Length of a field whose length is given in every record.
const VARIABLE: u16 = 0xffff;
/// Set in a field's number if an enterprise number follows.
const HAS_ENTERPRISE: u16 = 0x8000;
/// The most fields of a template.
const MOST_FIELDS: u16 = 4096;

/// An information element: its number, and whose number it is; 0 is the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Element {
    pub(crate) enterprise: u32,
    pub(crate) number: u16,
}

impl Element {
    /// Of the registry.
    pub(crate) const fn registered(number: u16) -> Self {
        Self { enterprise: 0, number }
    }
}

/// What records consist of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// Its records are of options, not of flows.
    pub(crate) is_options: bool,
    fields: Vec<(Element, u16)>,
}

/// A template record: a definition, or the withdrawal of one.
pub(crate) enum Told {
    Definition(u16, Template),
    /// Of the template with this number; of all where it is the number of the set.
    Withdrawal(u16),
}

/// Reads octets from the front.
pub(crate) struct Octets<'a>(pub(crate) &'a [u8]);

impl<'a> Octets<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let octets = self.take(4)?;
        Some(u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]))
    }
}

impl Template {
    /// Reads the next template record of a set; `None` where padding is left.
    pub(crate) fn read(set: &mut Octets<'_>, is_options: bool) -> Result<Option<Told>, String> {
        const SHORT: &str = "a template is cut off";
        let (Some(id), Some(count)) = (set.u16(), set.u16()) else { return Ok(None) };
        if id == 0 {
            return Ok(None);
        }
        if count == 0 {
            return Ok(Some(Told::Withdrawal(id)));
        }
        if id < 256 || count > MOST_FIELDS {
            return Err(format!("template {id} of {count} fields: from 256, of at most {MOST_FIELDS}"));
        }
        if is_options {
            set.u16().ok_or(SHORT)?;
        }
        let mut fields = Vec::new();
        for _ in 0..count {
            let (number, length) = (set.u16().ok_or(SHORT)?, set.u16().ok_or(SHORT)?);
            let is_registered = number & HAS_ENTERPRISE == 0;
            let enterprise = if is_registered { 0 } else { set.u32().ok_or(SHORT)? };
            // A field without octets has no value, and would cost time in every record.
            if length != 0 {
                fields.push((Element { enterprise, number: number & !HAS_ENTERPRISE }, length));
            }
        }
        Ok(Some(Told::Definition(id, Self { is_options, fields })))
    }

    /// The elements of its fields.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.fields.iter().map(|(element, _)| *element)
    }

    /// The number of its fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Finds the fields of the next record of a set; false where only padding is left.
    ///
    /// # Errors
    /// The record is cut off.
    pub(crate) fn split(
        &self,
        set: &[u8],
        at: &mut usize,
        fields: &mut Vec<Range<usize>>,
    ) -> Result<bool, String> {
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

/// RFC 7011, section 7.
fn variable_length(octets: &mut Octets<'_>) -> Option<usize> {
    match octets.take(1)?[0] {
        255 => octets.u16().map(usize::from),
        length => Some(length.into()),
    }
}
