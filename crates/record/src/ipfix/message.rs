//! Messages (RFC 7011, section 3): a header, followed by sets.

/// Length of the header.
pub(crate) const HEADER: usize = 16;
/// Length of a set's own header.
pub(crate) const SET_HEADER: usize = 4;
/// The set of templates.
pub(crate) const TEMPLATE_SET: u16 = 2;
/// The set of options templates.
pub(crate) const OPTIONS_TEMPLATE_SET: u16 = 3;
/// The maximum of the length field.
pub(super) const LONGEST: usize = 65_535;

/// Sums over records, modulo 2⁶⁴ as IPFIX counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordSums {
    pub(super) records: u64,
    pub(super) packets: u64,
    pub(super) octets: u64,
}

impl RecordSums {
    pub(super) fn add(&mut self, other: Self) {
        self.records = self.records.wrapping_add(other.records);
        self.packets = self.packets.wrapping_add(other.packets);
        self.octets = self.octets.wrapping_add(other.octets);
    }

    pub(super) fn take(&mut self, other: Self) {
        self.records = self.records.wrapping_sub(other.records);
        self.packets = self.packets.wrapping_sub(other.packets);
        self.octets = self.octets.wrapping_sub(other.octets);
    }
}

/// A message whose header is still to be filled in.
#[derive(Debug, Default)]
pub(super) struct IpfixMessage {
    /// Room for the header, then the sets.
    pub(super) bytes: Vec<u8>,
    /// The flow records in it.
    pub(super) flows: RecordSums,
}

/// The numbering of the messages of one session.
#[derive(Debug)]
pub(super) struct MessageNumbering {
    domain: u32,
    /// Data records in the earlier messages (RFC 7011, section 3.1), including those of options.
    sequence: u32,
}

impl MessageNumbering {
    pub(super) fn new(domain: u32) -> Self {
        Self { domain, sequence: 0 }
    }

    pub(super) fn domain(&self) -> u32 {
        self.domain
    }

    /// Fills in the header. `seconds` is the export time. The message is not counted yet: it may fail to be sent.
    pub(super) fn seal(&self, bytes: &mut [u8], seconds: u32) {
        let length = bytes.len() as u16;
        bytes[..2].copy_from_slice(&10_u16.to_be_bytes());
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..8].copy_from_slice(&seconds.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.domain.to_be_bytes());
    }

    /// Counts the data records of a message that was sent.
    pub(super) fn advance(&mut self, data_records: u64) {
        self.sequence = self.sequence.wrapping_add(data_records as u32);
    }
}

/// Combines sets into messages within a length limit.
pub(super) struct MessagePacker {
    limit: usize,
    /// The finished messages, each with its number of data records.
    done: Vec<(Vec<u8>, u64)>,
    bytes: Vec<u8>,
    records: u64,
    /// The open set: where it begins, and its number.
    set: Option<(usize, u16)>,
}

impl MessagePacker {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, done: Vec::new(), bytes: vec![0; HEADER], records: 0, set: None }
    }

    /// Adds a record of any kind to a set with the number `set`. An options template has a set of its own: pmacct's collector
    /// reads one of each set and refuses the rest, and with it all flows.
    pub(super) fn put(&mut self, set: u16, record: &[u8]) {
        let continues = |(_, open): (usize, u16)| open == set && set != OPTIONS_TEMPLATE_SET;
        let opens = !self.set.is_some_and(continues);
        let needed = record.len() + if opens { SET_HEADER } else { 0 };
        if self.bytes.len() + needed > self.limit && self.bytes.len() > HEADER {
            self.end_message();
        }
        if !self.set.is_some_and(continues) {
            self.end_set();
            self.set = Some((self.bytes.len(), set));
            self.bytes.extend(set.to_be_bytes());
            self.bytes.extend([0; 2]);
        }
        self.bytes.extend(record);
        self.records += u64::from(set > OPTIONS_TEMPLATE_SET);
    }

    fn end_set(&mut self) {
        if let Some((start, _)) = self.set.take() {
            close_set(&mut self.bytes, start);
        }
    }

    fn end_message(&mut self) {
        self.end_set();
        let bytes = std::mem::replace(&mut self.bytes, vec![0; HEADER]);
        self.done.push((bytes, std::mem::take(&mut self.records)));
    }

    /// The messages, their headers still to be filled in, and the number of data records of each.
    pub(super) fn finish(mut self) -> Vec<(Vec<u8>, u64)> {
        if self.bytes.len() > HEADER {
            self.end_message();
        }
        self.done
    }
}

/// Fills in the length of the set that begins at `start` and ends with the buffer.
pub(super) fn close_set(bytes: &mut [u8], start: usize) {
    let length = (bytes.len() - start) as u16;
    bytes[start + 2..start + SET_HEADER].copy_from_slice(&length.to_be_bytes());
}
