//! A reader of IPFIX messages, written from RFC 7011 alone: it knows nothing of the field table.

use std::collections::HashMap;

/// An element: whose number, and which.
pub(crate) type Element = (u32, u16);

/// A data record: each field's octets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data(pub(crate) Vec<(Element, Vec<u8>)>);

impl Data {
    /// The octets of an element; `None` if the template has none.
    pub(crate) fn octets(&self, element: Element) -> Option<&[u8]> {
        self.0.iter().find(|(of, _)| *of == element).map(|(_, octets)| &octets[..])
    }

    /// An unsigned integer of any length.
    pub(crate) fn unsigned(&self, element: Element) -> Option<u64> {
        self.octets(element).map(|octets| octets.iter().fold(0, |number, o| number << 8 | u64::from(*o)))
    }

    pub(crate) fn float(&self, element: Element) -> Option<f64> {
        self.octets(element).map(|octets| f64::from_be_bytes(octets.try_into().unwrap()))
    }

    pub(crate) fn text(&self, element: Element) -> Option<String> {
        self.octets(element).map(|octets| String::from_utf8(octets.to_vec()).unwrap())
    }

    /// Nanoseconds since 1970 of an NTP timestamp of the first era, what is below a nanosecond cut.
    pub(crate) fn nanoseconds(&self, element: Element) -> Option<u64> {
        self.unsigned(element).map(|ntp| {
            let (seconds, fraction) = (ntp >> 32, ntp & 0xffff_ffff);
            (seconds - 2_208_988_800) * 1_000_000_000 + ((fraction * 1_000_000_000) >> 32)
        })
    }
}

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: usize,
    pub(crate) export_time: u32,
    pub(crate) sequence: u32,
    pub(crate) domain: u32,
}

#[derive(Clone, Debug)]
struct Template {
    /// How many of the fields are scope; 0 in one of data.
    scope: usize,
    fields: Vec<(Element, u16)>,
}

/// All that a session contained.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) headers: Vec<Header>,
    /// Records of templates without scope.
    pub(crate) flows: Vec<Data>,
    /// Records of options templates, with the elements of their scope.
    pub(crate) options: Vec<(Vec<Element>, Data)>,
    /// Which message each flow record was in.
    pub(crate) message_of_flow: Vec<usize>,
    /// How often each template was told, by its number.
    pub(crate) told: HashMap<u16, usize>,
    templates: HashMap<u16, Template>,
    /// Data records so far.
    records: u32,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl Session {
    /// Reads one message, which must fill `bytes`, and checks its number.
    pub(crate) fn message(&mut self, bytes: &[u8]) {
        self.message_after_loss(bytes, 0);
    }

    /// The same if this many data records before it are known to be missing.
    pub(crate) fn message_after_loss(&mut self, bytes: &[u8], lost: u32) {
        assert_eq!(u16_at(bytes, 0), 10, "version");
        let header = Header {
            length: u16_at(bytes, 2).into(),
            export_time: u32_at(bytes, 4),
            sequence: u32_at(bytes, 8),
            domain: u32_at(bytes, 12),
        };
        assert_eq!(header.length, bytes.len(), "length");
        assert_eq!(header.sequence, self.records.wrapping_add(lost), "sequence number");
        self.records = header.sequence;
        self.headers.push(header);
        let mut at = 16;
        assert!(at < bytes.len(), "a message without sets");
        while at < bytes.len() {
            let (id, length) = (u16_at(bytes, at), usize::from(u16_at(bytes, at + 2)));
            assert!(length > 4 && at + length <= bytes.len(), "set of {length} octets at {at}");
            let set = &bytes[at + 4..at + length];
            match id {
                2 => self.templates(set, false),
                3 => {
                    let before: usize = self.told.values().sum();
                    self.templates(set, true);
                    // More are allowed, but pmacct reads no flow then.
                    assert_eq!(self.told.values().sum::<usize>(), before + 1, "options templates of a set");
                }
                256.. => self.data(id, set),
                _ => panic!("set {id} is reserved"),
            }
            at += length;
        }
    }

    fn templates(&mut self, mut set: &[u8], has_scope: bool) {
        while set.len() >= 4 {
            let (id, count) = (u16_at(set, 0), u16_at(set, 2));
            assert!(id >= 256 && count > 0, "template {id} of {count} fields");
            let mut at = 4;
            let mut scope = 0;
            if has_scope {
                scope = usize::from(u16_at(set, at));
                assert!(scope > 0 && scope <= count.into());
                at += 2;
            }
            let mut fields = Vec::new();
            for _ in 0..count {
                let (number, length) = (u16_at(set, at), u16_at(set, at + 2));
                at += 4;
                let mut enterprise = 0;
                if number & 0x8000 != 0 {
                    enterprise = u32_at(set, at);
                    at += 4;
                }
                fields.push(((enterprise, number & 0x7fff), length));
            }
            let template = Template { scope, fields };
            if let Some(before) = self.templates.get(&id) {
                assert_eq!(before.fields, template.fields, "template {id} changed");
            }
            *self.told.entry(id).or_default() += 1;
            self.templates.insert(id, template);
            set = &set[at..];
        }
        assert!(set.iter().all(|octet| *octet == 0), "padding");
    }

    fn data(&mut self, id: u16, mut set: &[u8]) {
        let template =
            self.templates.get(&id).unwrap_or_else(|| panic!("template {id} is not known")).clone();
        let least: usize = template
            .fields
            .iter()
            .map(|(_, length)| if *length == 65535 { 1 } else { usize::from(*length) })
            .sum();
        while set.len() >= least {
            let mut data = Data::default();
            for (element, length) in &template.fields {
                let mut length = usize::from(*length);
                if length == 65535 {
                    length = set[0].into();
                    set = &set[1..];
                    if length == 255 {
                        length = u16_at(set, 0).into();
                        set = &set[2..];
                    }
                }
                let (octets, rest) = set.split_at(length);
                data.0.push((*element, octets.to_vec()));
                set = rest;
            }
            self.records = self.records.wrapping_add(1);
            if template.scope == 0 {
                self.message_of_flow.push(self.headers.len() - 1);
                self.flows.push(data);
            } else {
                let scope = template.fields[..template.scope].iter().map(|(element, _)| *element).collect();
                self.options.push((scope, data));
            }
        }
        assert!(set.iter().all(|octet| *octet == 0), "padding");
    }

    /// Records of the options template whose scope is this.
    pub(crate) fn options_about(&self, scope: &[Element]) -> Vec<&Data> {
        self.options.iter().filter(|(of, _)| of == scope).map(|(_, data)| data).collect()
    }
}

/// The messages of a stream or a file.
pub(crate) fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) = bytes.split_at(u16_at(bytes, 2).into());
        messages.push(message);
        bytes = rest;
    }
    messages
}

/// Reads a whole stream or file of one session.
pub(crate) fn decode(bytes: &[u8]) -> Session {
    let mut session = Session::default();
    messages(bytes).into_iter().for_each(|message| session.message(message));
    session
}
