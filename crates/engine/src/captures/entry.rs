//! A frame on its way from a receiver to the file.

use packet::{Frame, LinkType};

/// Bytes before a frame's own.
pub(super) const HEAD: usize = 40;

/// The bytes that stand in a frame before the VLAN (TCI) that a driver took out of it.
pub(super) const TAG: [u8; 2] = [0x81, 0x00];

/// The metadata of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameMetadata {
    pub(super) order: u64,
    pub(super) time_ns: u64,
    pub(super) wire_len: u32,
    pub(super) captured: u32,
    pub(super) link: LinkType,
    pub(super) stripped_vlan: Option<u16>,
}

impl FrameMetadata {
    /// The metadata of a frame; `captured` is the number of its bytes that are kept.
    pub(super) fn new(order: u64, frame: &Frame<'_>, captured: usize) -> Self {
        let Frame { wire_len, time_ns, link, stripped_vlan, .. } = *frame;
        Self { order, time_ns, wire_len, captured: captured as u32, link, stripped_vlan }
    }

    pub(super) fn bytes(&self) -> [u8; HEAD] {
        let words = [
            self.order,
            self.time_ns,
            u64::from(self.wire_len) << 32 | u64::from(self.captured),
            // All that are supported have a number.
            u64::from(self.link.number().unwrap_or(u16::MAX)),
            self.stripped_vlan.map_or(u64::MAX, u64::from),
        ];
        let mut bytes = [0; HEAD];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The frame as it was on the wire, where a driver took a tag out of it.
    pub(super) fn with_tag(&self, data: &[u8]) -> Option<Vec<u8>> {
        let (tci, (addresses, rest)) = self.stripped_vlan.zip(data.split_at_checked(12))?;
        let is_ethernet = self.link == LinkType::Ethernet;
        is_ethernet.then(|| [addresses, &TAG, &tci.to_be_bytes(), rest].concat())
    }

    pub(super) fn read(bytes: &[u8; HEAD]) -> Self {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[8 * at + i]));
        Self {
            order: word(0),
            time_ns: word(1),
            wire_len: (word(2) >> 32) as u32,
            captured: word(2) as u32,
            link: LinkType::from(word(3) as u32),
            stripped_vlan: u16::try_from(word(4)).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for (link, stripped_vlan) in [
            (LinkType::Ethernet, None),
            (LinkType::Raw, Some(0)),
            (LinkType::BsdNull, Some(u16::MAX)),
            (LinkType::Ppp, Some(7)),
        ] {
            let frame = Frame { data: &[], wire_len: u32::MAX, time_ns: u64::MAX - 1, link, stripped_vlan };
            let head = FrameMetadata::new(u64::MAX, &frame, 77);
            assert_eq!(FrameMetadata::read(&head.bytes()), head);
        }
    }

    #[test]
    fn a_tag_is_put_back() {
        let data: Vec<u8> = (0..20).collect();
        let head = |link, stripped_vlan| {
            FrameMetadata::new(1, &Frame { data: &data, wire_len: 20, time_ns: 0, link, stripped_vlan }, 20)
        };
        let tagged = head(LinkType::Ethernet, Some(0x2064)).with_tag(&data).expect("a tag");
        assert_eq!(tagged, [&data[..12], &[0x81, 0, 0x20, 0x64], &data[12..]].concat());
        assert_eq!(head(LinkType::Ethernet, None).with_tag(&data), None);
        assert_eq!(head(LinkType::Raw, Some(1)).with_tag(&data), None);
        assert_eq!(head(LinkType::Ethernet, Some(1)).with_tag(&data[..11]), None, "no address is whole");
    }
}
