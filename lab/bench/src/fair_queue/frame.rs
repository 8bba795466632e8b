//! The frame that is sent: a datagram for each packet of a flow, whose source port says which.

use std::net::Ipv4Addr;

/// Bytes of a frame without its check sequence.
pub(super) const FRAME: usize = 500;
/// The source port of flow 0, which is none.
pub(super) const FIRST_PORT: u16 = 10_000;
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 98, 1, 2);
pub(super) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 98, 2, 2);
const SENDER_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 0x11];
const UDP: u8 = 17;

/// A datagram of a flow, from the sender's address to the receiver's, by the device.
pub(super) fn frame(flow: u16, to: &[u8; 6]) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..6].copy_from_slice(to);
    frame[6..12].copy_from_slice(&SENDER_ADDRESS);
    frame[12] = 8;
    let ip = &mut frame[14..34];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(FRAME as u16 - 14).to_be_bytes());
    (ip[8], ip[9]) = (64, UDP);
    ip[12..16].copy_from_slice(&SENDER.octets());
    ip[16..20].copy_from_slice(&RECEIVER.octets());
    let sum: u32 = ip.as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let check = !((folded & 0xffff) + (folded >> 16)) as u16;
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    frame[34..36].copy_from_slice(&(FIRST_PORT + flow).to_be_bytes());
    // Discard (RFC 863); a UDP checksum of 0 is none.
    frame[36..38].copy_from_slice(&9_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&(FRAME as u16 - 34).to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_sound() {
        let frame = frame(7, &[1, 2, 3, 4, 5, 6]);
        let words = frame[14..34].as_chunks::<2>().0.iter();
        let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        // RFC 791: with its checksum a header adds up to all ones.
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        assert_eq!(u16::from_be_bytes([frame[34], frame[35]]), FIRST_PORT + 7);
    }
}
