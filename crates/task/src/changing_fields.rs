//! Sets of fields in which the packets of one flow may differ.

use flow::{FIELDS, Field, HeaderValues, RowValue, WindowRow};
use packet::PacketFields;

/// A set of fields in which the packets of one flow may differ ([`Field::of_flow`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangingFields(u16);

/// The values of fields, those that are not in the set zero.
pub(crate) type FieldWords = [u64; 4];

impl ChangingFields {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The fields in the order of the field table; a set has a bit of each.
    fn all() -> impl Iterator<Item = (u16, &'static Field)> {
        let changing = FIELDS.iter().filter(|field| field.of_flow.is_some());
        changing.enumerate().map(|(at, field)| (1 << at, field))
    }

    /// Returns the set of every field.
    pub fn every() -> Self {
        Self(Self::all().fold(0, |all, (bit, _)| all | bit))
    }

    /// The field of this name alone; `None` if it does not change within a flow.
    pub(crate) fn one(name: &str) -> Option<Self> {
        let field = Field::named(name)?;
        Self::all().find(|(_, known)| *known == field).map(|(bit, _)| Self(bit))
    }

    /// True without fields.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of fields.
    pub(crate) fn len(self) -> u32 {
        self.0.count_ones()
    }

    #[must_use]
    pub(crate) fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    #[must_use]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The fields.
    pub(crate) fn fields(self) -> impl Iterator<Item = &'static Field> {
        Self::all().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, field)| field)
    }

    /// Returns the columns of rows that have the fields.
    pub(crate) fn columns(self) -> Vec<RowValue> {
        self.fields().map(|field| field.row).collect()
    }

    /// The bits of [`FieldWords`] that are theirs.
    pub(crate) fn mask(self) -> FieldWords {
        let every = WindowRow::<()> {
            key: (),
            tcp_seq: u32::MAX,
            tcp_ack: u32::MAX,
            tcp_win: u16::MAX,
            vlan: u16::MAX,
            tcp_flags: u8::MAX,
            ip_ttl: u8::MAX,
            ip_tos: u8::MAX,
            macs: [u8::MAX; 12],
            ..WindowRow::default()
        };
        let none = WindowRow::<()>::default();
        let mut row = none;
        for field in self.fields() {
            match field.row {
                RowValue::TcpSeq => row.tcp_seq = every.tcp_seq,
                RowValue::TcpAck => row.tcp_ack = every.tcp_ack,
                RowValue::TcpWin => row.tcp_win = every.tcp_win,
                RowValue::Vlan => row.vlan = every.vlan,
                RowValue::TcpFlags => row.tcp_flags = every.tcp_flags,
                RowValue::IpTtl => row.ip_ttl = every.ip_ttl,
                RowValue::IpTos => row.ip_tos = every.ip_tos,
                RowValue::SourceMac => row.macs[6..].fill(u8::MAX),
                RowValue::DestinationMac => row.macs[..6].fill(u8::MAX),
                _ => {}
            }
        }
        words(&row)
    }
}

/// Returns the values of a row in which packets of one flow may differ.
#[inline(always)]
pub(crate) fn words<K>(row: &WindowRow<K>) -> FieldWords {
    let WindowRow { tcp_seq, tcp_ack, tcp_win, vlan, tcp_flags, ip_ttl, ip_tos, macs, .. } = row;
    let small = u64::from(*vlan)
        | u64::from(*tcp_win) << 16
        | u64::from(*ip_tos) << 32
        | u64::from(*ip_ttl) << 40
        | u64::from(*tcp_flags) << 48;
    let mac = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| if i < 6 { macs[at + i] } else { 0 }));
    [small, u64::from(*tcp_seq) << 32 | u64::from(*tcp_ack), mac(0), mac(6)]
}

/// The row of a single packet.
#[inline(always)]
pub(crate) fn row<K>(key: K, fields: &PacketFields) -> WindowRow<K> {
    WindowRow {
        key,
        packets: 1,
        bytes: fields.total_byte.into(),
        wire_bytes: fields.wire_byte.into(),
        first_ns: fields.time_ns,
        last_ns: fields.time_ns,
        tcp_seq: fields.tcp_seq,
        tcp_ack: fields.tcp_ack,
        tcp_win: fields.tcp_win,
        vlan: fields.vlan,
        tcp_flags: fields.tcp_flags,
        ip_ttl: fields.ip_ttl,
        ip_tos: fields.ip_tos,
        macs: fields.macs,
        headers: HeaderValues::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_bits_of_its_own() {
        let mut seen = [0; 4];
        for field in ChangingFields::every().fields() {
            let one = ChangingFields::one(field.name).expect("it changes");
            assert!(one.mask() != [0; 4], "{}", field.name);
            for (seen, mask) in seen.iter_mut().zip(one.mask()) {
                assert_eq!(*seen & mask, 0, "{}", field.name);
                *seen |= mask;
            }
        }
        assert_eq!(seen, ChangingFields::every().mask());
        assert_eq!(ChangingFields::one("src_addr"), None);
    }
}
