//! The columns of a record that have values: a template cannot express "none", so records that lack different columns have different templates.

use crate::FileColumn;
use flow::{FlowRecord, HEADER_FIELDS, Loss, OpenFields};
use std::net::IpAddr;

/// The set of values that are present. The chosen columns determine which of them matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordShape(u64);

const SRC_V4: u64 = 1;
const SRC_V6: u64 = 2;
const DST_V4: u64 = 4;
const DST_V6: u64 = 8;
const PROTOCOL: u64 = 0x10;
const SRC_PORT: u64 = 0x20;
const DST_PORT: u64 = 0x40;
/// The values that a direction may have beyond the plain record: three bits of this direction, three of the other.
const LOSS: u64 = 0x100;
const RTT_MIN: u64 = 0x200;
const RTT_AVG: u64 = 0x400;
const REVERSE: u64 = 0x1000;
/// The bit of a record of a sample, which tells its sampling rate.
const SAMPLED: u64 = 0x2000_0000_0000;
/// The first of the bits of [`FIELDS`], one after the other.
const FIRST_FIELD: u64 = 0x10_0000;
/// Fields of this direction, besides those of keys with bits of their own, that a record may leave open.
const FIELDS: [OpenFields; 13] = [
    OpenFields::from_field("total_count"),
    OpenFields::from_field("total_byte"),
    OpenFields::from_field("ip_tos"),
    OpenFields::from_field("ip_ttl"),
    OpenFields::from_field("tcp_flags"),
    OpenFields::from_field("tcp_seq"),
    OpenFields::from_field("tcp_ack"),
    OpenFields::from_field("tcp_win"),
    OpenFields::from_field("stime"),
    OpenFields::from_field("wire_byte"),
    OpenFields::from_field("vlan"),
    OpenFields::from_field("smac"),
    OpenFields::from_field("dmac"),
];
/// The first of the bits of header fields, one after the other; of the other direction they follow those of this one.
const FIRST_HEADER: u64 = 1 << 46;
/// The bits of all header fields of this direction.
const ALL_HEADERS: u64 = ((1 << HEADER_FIELDS) - 1) * FIRST_HEADER;
/// The bits of all of [`FIELDS`].
const ALL_FIELDS: u64 = ((1 << FIELDS.len()) - 1) * FIRST_FIELD;
/// Members of keys that a record may leave open, with their bits.
const MEMBERS: [(OpenFields, u64); 3] = [
    (OpenFields::from_field("protocol"), PROTOCOL),
    (OpenFields::from_field("src_port"), SRC_PORT),
    (OpenFields::from_field("dst_port"), DST_PORT),
];
/// The shift from a bit of this direction to the same bit of the other direction.
const TO_REVERSE: u64 = 8;

/// The way in which a missing value is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// A value that is in every record: the format has no representation of a missing one, or uses a value for it (0, or no number).
    Always,
    /// A value that records have if their shape has this bit.
    If(u64),
    /// An address, by its family.
    Family { v4: u64, v6: u64 },
}

impl Presence {
    pub(super) fn from_column(column: &FileColumn) -> Self {
        if column.is_key() {
            return match column.name() {
                "src_addr" => Self::Family { v4: SRC_V4, v6: SRC_V6 },
                "dst_addr" => Self::Family { v4: DST_V4, v6: DST_V6 },
                "protocol" => Self::If(PROTOCOL),
                "src_port" => Self::If(SRC_PORT),
                "dst_port" => Self::If(DST_PORT),
                _ => Self::Always,
            };
        }
        if let Some(at) = column.header() {
            let to_reverse = if column.is_reverse() { HEADER_FIELDS } else { 0 };
            return Self::If(FIRST_HEADER << (usize::from(at) + to_reverse));
        }
        let bit = match column.elements().first().map(|element| element.name) {
            Some("rtt_min") => RTT_MIN,
            Some("rtt_avg") => RTT_AVG,
            Some("sampling_rate") => return Self::If(SAMPLED),
            _ if column.is_loss() => LOSS,
            _ if !column.open().is_empty() => return Self::If(bit_of(column.open())),
            _ if column.is_reverse() => return Self::If(REVERSE),
            // The VLAN identifier 0 means none (IEEE 802.1Q, 9.6), NaN for a statistic without a value.
            _ => return Self::Always,
        };
        Self::If(if column.is_reverse() { bit << TO_REVERSE } else { bit })
    }

    fn bits(self) -> u64 {
        match self {
            Self::Always => 0,
            Self::If(bit) => bit,
            Self::Family { v4, v6 } => v4 | v6,
        }
    }
}

const _: () = assert!(FIRST_HEADER > SAMPLED && 46 + 2 * HEADER_FIELDS <= 64);
const _: () = assert!(LOSS << TO_REVERSE > REVERSE && RTT_AVG << TO_REVERSE < FIRST_FIELD);

/// Returns the bit of one of [`FIELDS`].
fn bit_of(field: OpenFields) -> u64 {
    FIELDS.iter().position(|known| *known == field).map_or(0, |at| FIRST_FIELD << at)
}

#[inline(always)]
fn given(is_present: bool, bit: u64) -> u64 {
    u64::from(is_present) * bit
}

impl RecordShape {
    /// An ordinary flow of one address family, with everything that `columns` can have except the other
    /// direction.
    pub(super) fn ordinary(is_v6: bool) -> Self {
        let addresses = if is_v6 { SRC_V6 | DST_V6 } else { SRC_V4 | DST_V4 };
        Self(addresses | PROTOCOL | SRC_PORT | DST_PORT | LOSS | RTT_MIN | RTT_AVG | ALL_FIELDS | ALL_HEADERS)
    }

    /// The part of a shape that matters to these columns.
    pub(super) fn mask(columns: &[FileColumn]) -> Self {
        let bits_of = |column: &FileColumn| {
            Presence::from_column(column).bits() | if column.is_reverse() { REVERSE } else { 0 }
        };
        Self(columns.iter().map(bits_of).fold(0, |all, bits| all | bits))
    }

    #[inline]
    pub(super) fn from_record(record: &FlowRecord, mask: Self) -> Self {
        let mut bits = 0;
        if let Some(key) = &record.key {
            let family = |address: Option<IpAddr>| match address {
                None => 0,
                Some(IpAddr::V4(_)) => SRC_V4,
                Some(IpAddr::V6(_)) => SRC_V6,
            };
            bits |= family(key.src_addr) | (family(key.dst_addr) * (DST_V4 / SRC_V4));
            bits |= given(key.protocol.is_some(), PROTOCOL);
            bits |= given(key.src_port.is_some(), SRC_PORT);
            bits |= given(key.dst_port.is_some(), DST_PORT);
        }
        bits |= given(record.sampling_rate != 1, SAMPLED);
        if record.more.is_some() {
            bits |= Self::more(record);
        }
        if mask.0 >= FIRST_HEADER {
            bits |= Self::headers(record);
        }
        bits |= ALL_FIELDS;
        if !record.open.is_empty() {
            bits &= !Self::open(record);
        }
        Self(bits & mask.0)
    }

    /// Returns the bits of the header fields that a record has, of both directions.
    fn headers(record: &FlowRecord) -> u64 {
        let of = |record: &FlowRecord| {
            (0..HEADER_FIELDS)
                .fold(0, |bits, at| bits | given(record.headers.get(at).is_some(), FIRST_HEADER << at))
        };
        of(record) | record.reverse().map_or(0, of) << HEADER_FIELDS
    }

    /// Returns the bits of the fields that a record leaves open.
    fn open(record: &FlowRecord) -> u64 {
        let fields = FIELDS.iter().enumerate().map(|(at, field)| (*field, FIRST_FIELD << at));
        let open = fields.chain(MEMBERS).filter(|(field, _)| record.open.has_any(*field));
        open.fold(0, |bits, (_, bit)| bits | bit)
    }

    /// Returns the shape of records that tell the other fields, too.
    pub(super) fn with_all_fields(self, mask: Self) -> Self {
        Self(self.0 | ALL_FIELDS & mask.0)
    }

    fn more(record: &FlowRecord) -> u64 {
        let of_loss = |loss: Option<&Loss>| {
            loss.map_or(0, |loss| {
                LOSS | given(loss.rtt_min.is_some(), RTT_MIN) | given(loss.rtt_avg.is_some(), RTT_AVG)
            })
        };
        let other = record.reverse().map_or(0, |reverse| REVERSE | of_loss(reverse.loss()) << TO_REVERSE);
        of_loss(record.loss()) | other
    }

    pub(super) fn masked(self, mask: Self) -> Self {
        Self(self.0 & mask.0)
    }

    pub(super) fn has_reverse(self) -> bool {
        self.0 & REVERSE != 0
    }

    /// Returns true if records of this shape have the value.
    pub(super) fn has(self, presence: Presence) -> bool {
        presence == Presence::Always || self.0 & presence.bits() != 0
    }

    /// Returns true if the address is an IPv6 address.
    pub(super) fn is_v6(self, presence: Presence) -> bool {
        matches!(presence, Presence::Family { v6, .. } if self.0 & v6 != 0)
    }
}
