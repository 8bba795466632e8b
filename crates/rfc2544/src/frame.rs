//! Test frames and learning frames: UDP echo requests over IPv4 with a signature, and requests of ARP.

use std::net::Ipv4Addr;

/// Bytes of an Ethernet check sequence, which frame sizes include and frames in memory do not.
pub const CHECK_SEQUENCE: u32 = 4;
/// The sizes of RFC 2544, section 9.1, for Ethernet: bytes with check sequence.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// The smallest frame of Ethernet, bytes with check sequence.
pub const SMALLEST: u32 = 64;
/// The largest frame that is tested, bytes with check sequence.
pub const LARGEST: u32 = 9216;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
const PAYLOAD: usize = ETHERNET + IPV4 + UDP;
/// EtherTypes of IPv4, ARP, and the two kinds of VLAN tags.
const OF_IPV4: [u8; 2] = [0x08, 0x00];
const OF_ARP: [u8; 2] = [0x08, 0x06];
const OF_TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
/// Bytes of a VLAN tag.
const TAG: usize = 4;
/// The port of UDP echo (RFC 862), to which RFC 2544 sends its test frames.
const ECHO: u16 = 7;
/// The source port of test frames: the first of the dynamic ports (RFC 6335), which are not registered.
const FROM: u16 = 49_152;

/// The addresses of test frames and of learning frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressing {
    /// The MAC address from which test frames are sent.
    pub src_mac: [u8; 6],
    /// The MAC address of the receiving port, behind the device.
    pub dst_mac: [u8; 6],
    /// The MAC address of a router to which test frames are sent; a bridge needs none.
    pub next_hop: Option<[u8; 6]>,
    /// The source address of test frames.
    pub src_addr: Ipv4Addr,
    /// The destination address of test frames, which is the receiving port's.
    pub dst_addr: Ipv4Addr,
    /// The address that learning frames ask for; the receiving port's own where there is none.
    pub router_addr: Option<Ipv4Addr>,
}

impl Default for Addressing {
    /// Returns locally administered MAC addresses, and addresses of 198.18.0.0/15, which is set aside for benchmarks (RFC 2544,
    /// appendix C.2.2).
    fn default() -> Self {
        Self {
            src_mac: [2, 0, 0, 0, 0, 1],
            dst_mac: [2, 0, 0, 0, 0, 2],
            next_hop: None,
            src_addr: Ipv4Addr::new(198, 18, 0, 2),
            dst_addr: Ipv4Addr::new(198, 19, 0, 2),
            router_addr: None,
        }
    }
}

impl Addressing {
    /// Returns a test frame of `size` bytes, of which the check sequence is not part: a UDP echo request without a signature. The UDP
    /// checksum is 0, which says that there is none (RFC 768), so that a time stamp can be written at the last moment.
    pub fn test_frame(&self, size: u32) -> Vec<u8> {
        let length = size.max(SMALLEST).saturating_sub(CHECK_SEQUENCE) as usize;
        let of_ip = (length - ETHERNET) as u16;
        let mut frame = Vec::with_capacity(length);
        frame.extend(self.next_hop.unwrap_or(self.dst_mac));
        frame.extend(self.src_mac);
        frame.extend(OF_IPV4);
        let mut ip = [0; IPV4];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&of_ip.to_be_bytes());
        ip[6] = 0x40; // do not fragment
        ip[8] = 64;
        ip[9] = 17;
        ip[12..16].copy_from_slice(&self.src_addr.octets());
        ip[16..20].copy_from_slice(&self.dst_addr.octets());
        let checksum = checksum(&ip);
        ip[10..12].copy_from_slice(&checksum);
        frame.extend(ip);
        for word in [FROM, ECHO, of_ip - IPV4 as u16, 0] {
            frame.extend(word.to_be_bytes());
        }
        frame.extend((0..length - PAYLOAD).map(|at| at as u8));
        frame
    }

    /// Returns a learning frame: an ARP request from the receiving port, without check sequence. A bridge learns from it behind which
    /// port the destination of the test frames is, a router the MAC address of its neighbour.
    pub fn learning_frame(&self) -> Vec<u8> {
        let mut frame = vec![0xff; 6];
        frame.extend(self.dst_mac);
        frame.extend(OF_ARP);
        // Ethernet, IPv4, the lengths of their addresses, a request (RFC 826).
        frame.extend([0, 1, OF_IPV4[0], OF_IPV4[1], 6, 4, 0, 1]);
        frame.extend(self.dst_mac);
        frame.extend(self.dst_addr.octets());
        frame.extend([0; 6]);
        frame.extend(self.router_addr.unwrap_or(self.dst_addr).octets());
        frame.resize((SMALLEST - CHECK_SEQUENCE) as usize, 0);
        frame
    }
}

/// The Internet checksum (RFC 1071) of an IP header whose own checksum is 0.
fn checksum(header: &[u8; IPV4]) -> [u8; 2] {
    let sum: u32 = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes()
}

/// The first bytes of each signature.
const MAGIC: [u8; 2] = [0xed, 0x25];
/// Bytes of a signature: what the payload of the smallest frame has room for.
const SIGNATURE: usize = 18;

/// The signature of a test frame, at the beginning of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSignature {
    /// The number of the trial, 24 bits.
    pub trial: u32,
    /// The place of the frame in its trial, 40 bits.
    pub sequence: u64,
    /// The time at which the frame was handed to the port, nanoseconds since 1970.
    pub time_ns: u64,
}

/// The number of trials that signatures tell apart.
pub(crate) const TRIALS: u32 = 1 << 24;
/// The number of frames that signatures of one trial tell apart.
pub(crate) const FRAMES: u64 = 1 << 40;

/// A test frame as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadSignature {
    /// The signature.
    pub signature: FrameSignature,
    /// Bytes of VLAN tags that stand in the frame.
    pub tags: u32,
}

impl FrameSignature {
    /// Writes the signature into a test frame.
    ///
    /// # Panics
    /// If the frame is shorter than a test frame is.
    pub fn write(&self, frame: &mut [u8]) {
        let place = &mut frame[PAYLOAD..PAYLOAD + SIGNATURE];
        place[..2].copy_from_slice(&MAGIC);
        place[2..5].copy_from_slice(&self.trial.to_be_bytes()[1..]);
        place[5..10].copy_from_slice(&self.sequence.to_be_bytes()[3..]);
        place[10..].copy_from_slice(&self.time_ns.to_be_bytes());
    }

    /// Writes the time of a signature that stands in the frame already.
    ///
    /// # Panics
    /// If the frame is shorter than a test frame is.
    pub fn write_time(frame: &mut [u8], time_ns: u64) {
        frame[PAYLOAD + 10..PAYLOAD + SIGNATURE].copy_from_slice(&time_ns.to_be_bytes());
    }

    /// Reads the signature of a frame; `None` of a frame that is no test frame. VLAN tags, which a device may add, are skipped.
    pub fn read(frame: &[u8]) -> Option<ReadSignature> {
        let mut after_tags = 12;
        while OF_TAGS.iter().any(|tag| frame.get(after_tags..after_tags + 2) == Some(tag)) {
            after_tags += TAG;
        }
        let tags = after_tags - 12;
        let payload = frame.get(tags + PAYLOAD..tags + PAYLOAD + SIGNATURE)?;
        let ip = frame.get(tags + ETHERNET..tags + PAYLOAD)?;
        let is_echo = frame[after_tags..after_tags + 2] == OF_IPV4
            && ip[0] == 0x45
            && ip[9] == 17
            && ip[IPV4 + 2..IPV4 + 4] == ECHO.to_be_bytes()
            && payload[..2] == MAGIC;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        is_echo.then(|| ReadSignature {
            signature: Self {
                trial: number(&payload[2..5]) as u32,
                sequence: number(&payload[5..10]),
                time_ns: number(&payload[10..]),
            },
            tags: tags as u32,
        })
    }
}

/// Returns the number of frames of `size` bytes that an Ethernet link of this speed carries in a second: with preamble and start
/// delimiter (8 bytes) and the gap between frames (12 bytes), rounded down.
pub(crate) fn most_frames_per_second(link_bits_per_second: u64, size: u32) -> u64 {
    link_bits_per_second / bits_on_the_link(size)
}

/// Returns the bits that a frame of `size` bytes takes on an Ethernet link.
pub(crate) fn bits_on_the_link(size: u32) -> u64 {
    (u64::from(size) + 20) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_that_of_the_literature() {
        // RFC 5180, appendix A.1, for 10 and 1000 Mbit/s; 14.88 Mpps is known of 10 Gbit/s.
        let of = |mbps: u64| SIZES.map(|size| most_frames_per_second(mbps * 1_000_000, size));
        assert_eq!(of(10), [14_880, 8_445, 4_528, 2_349, 1_197, 961, 812]);
        assert_eq!(of(1000), [1_488_095, 844_594, 452_898, 234_962, 119_731, 96_153, 81_274]);
        assert_eq!(of(10_000)[0], 14_880_952);
    }

    #[test]
    fn a_test_frame_is_an_echo_request_of_its_size() {
        for size in SIZES.into_iter().chain([LARGEST]) {
            let frame = Addressing::default().test_frame(size);
            assert_eq!(frame.len() as u32, size - 4);
            assert_eq!(frame[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
            // The sum of a header with its checksum is all ones.
            let words =
                frame[14..34].chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
            let sum: u32 = words.sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
            assert_eq!(frame[16..18], (size as u16 - 18).to_be_bytes());
            assert_eq!(frame[38..40], (size as u16 - 38).to_be_bytes());
            assert_eq!((&frame[30..34], &frame[36..38]), (&[198, 19, 0, 2][..], &[0, 7][..]));
        }
    }

    #[test]
    fn a_signature_is_read_back_through_a_router_and_tags() {
        let signature = FrameSignature { trial: 0xab_cdef, sequence: 0x12_3456_789a, time_ns: u64::MAX - 5 };
        let mut frame = Addressing::default().test_frame(64);
        assert_eq!(FrameSignature::read(&frame), None);
        signature.write(&mut frame);
        let read =
            |frame: &[u8]| FrameSignature::read(frame).map(|received| (received.signature, received.tags));
        assert_eq!(read(&frame), Some((signature, 0)));
        FrameSignature::write_time(&mut frame, 7);
        assert_eq!(read(&frame), Some((FrameSignature { time_ns: 7, ..signature }, 0)));
        // A router writes other MAC addresses, a smaller TTL and another checksum.
        frame[..12].fill(9);
        frame[22] -= 1;
        frame[24..26].fill(0);
        let mut tagged = frame.clone();
        tagged.splice(12..12, [0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 7]);
        assert_eq!(read(&tagged), Some((FrameSignature { time_ns: 7, ..signature }, 8)));
        for (at, byte) in [(12, 9), (14, 0x46), (23, 6), (37, 8), (42, 0)] {
            let mut other = frame.clone();
            other[at] = byte;
            assert_eq!(read(&other), None, "{at}");
        }
        (0..frame.len()).for_each(|end| assert_eq!(read(&frame[..end]), None, "{end}"));
    }

    #[test]
    fn a_learning_frame_comes_from_the_receiving_port() {
        let addresses =
            Addressing { router_addr: Some(Ipv4Addr::new(198, 19, 0, 1)), ..Addressing::default() };
        let frame = addresses.learning_frame();
        assert_eq!((frame.len(), &frame[6..14]), (60, &[2, 0, 0, 0, 0, 2, 8, 6][..]));
        assert_eq!((&frame[28..32], &frame[38..42]), (&[198, 19, 0, 2][..], &[198, 19, 0, 1][..]));
        assert_eq!(Addressing::default().learning_frame()[38..42], [198, 19, 0, 2]);
    }
}
