//! Values as text, straight into a byte buffer: `std`'s formatting machinery costs several times as much.
//!
//! Each value is written in pieces of a fixed length, of which only the first bytes count: a copy of a length
//! that the compiler knows is a store or two, one that it does not know is a call.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A table of each byte in decimal with a dot after it, and the length of that text.
static OCTETS: [([u8; 4], u8); 256] = {
    let mut table = [([0; 4], 0); 256];
    let mut value = 0;
    while value < 256 {
        let (hundreds, tens, ones) =
            (b'0' + (value / 100) as u8, b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8);
        table[value] = match value {
            0..10 => ([ones, b'.', 0, 0], 2),
            10..100 => ([tens, ones, b'.', 0], 3),
            _ => ([hundreds, tens, ones, b'.'], 4),
        };
        value += 1;
    }
    table
};

/// A buffer that is filled from its start. The caller leaves [`LineBuffer::SLACK`] bytes after what each value
/// needs.
pub(crate) struct LineBuffer<'a> {
    bytes: &'a mut [u8],
    end: usize,
}

impl<'a> LineBuffer<'a> {
    /// The largest piece.
    pub(crate) const SLACK: usize = 48;

    /// Continues after the first `end` bytes.
    pub(crate) fn after(bytes: &'a mut [u8], end: usize) -> Self {
        Self { bytes, end }
    }

    /// Bytes filled.
    pub(crate) fn len(&self) -> usize {
        self.end
    }

    /// The first `len` bytes of a piece.
    #[inline(always)]
    pub(crate) fn piece<const N: usize>(&mut self, piece: &[u8; N], len: usize) {
        self.bytes[self.end..self.end + N].copy_from_slice(piece);
        self.end += len;
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    #[inline]
    pub(crate) fn integer(&mut self, value: u64) {
        if value < 10 {
            return self.piece(&[b'0' + value as u8], 1);
        }
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value).as_bytes();
        let len = digits.len();
        // Two pieces that overlap cover any length between theirs.
        match (digits.first_chunk::<8>(), digits.last_chunk::<8>()) {
            (Some(head), Some(tail)) if len <= 16 => self.overlapping(head, tail, len),
            (Some(_), Some(_)) => match (digits.first_chunk::<16>(), digits.last_chunk::<16>()) {
                (Some(head), Some(tail)) => self.overlapping(head, tail, len),
                _ => self.bytes(digits),
            },
            _ => match (digits.first_chunk::<4>(), digits.last_chunk::<4>()) {
                (Some(head), Some(tail)) => self.overlapping(head, tail, len),
                _ => match (digits.first_chunk::<2>(), digits.last_chunk::<2>()) {
                    (Some(head), Some(tail)) => self.overlapping(head, tail, len),
                    _ => self.bytes(digits),
                },
            },
        }
    }

    /// The shortest text that reads back as the same number; `value` is finite.
    pub(crate) fn float(&mut self, value: f64) {
        self.bytes(zmij::Buffer::new().format_finite(value).as_bytes());
    }

    /// `len` bytes that begin with `head` and end with `tail`.
    #[inline(always)]
    fn overlapping<const N: usize>(&mut self, head: &[u8; N], tail: &[u8; N], len: usize) {
        let place = &mut self.bytes[self.end..self.end + len];
        if let Some(start) = place.first_chunk_mut() {
            *start = *head;
        }
        if let Some(end) = place.last_chunk_mut() {
            *end = *tail;
        }
        self.end += len;
    }

    /// An address; IPv6 as in RFC 5952.
    #[inline]
    pub(crate) fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.ipv4(address),
            IpAddr::V6(address) => self.ipv6(address),
        }
    }

    #[inline]
    fn ipv4(&mut self, address: Ipv4Addr) {
        for octet in address.octets() {
            let (digits, len) = &OCTETS[usize::from(octet)];
            self.piece(digits, usize::from(*len));
        }
        // Without the last dot.
        self.end -= 1;
    }

    fn ipv6(&mut self, address: Ipv6Addr) {
        if let Some(mapped) = address.to_ipv4_mapped() {
            self.bytes(b"::ffff:");
            return self.ipv4(mapped);
        }
        let groups = address.segments();
        let zeros = longest_zero_run(&groups);
        let mut i = 0;
        while i < 8 {
            if i == zeros.start && !zeros.is_empty() {
                // The colon after the previous group is present already, except at the very start.
                self.piece(b"::", if i == 0 { 2 } else { 1 });
                i = zeros.end;
                continue;
            }
            let group = groups[i];
            let skip = group.leading_zeros().min(12) / 4;
            let shifted = group << (4 * skip);
            let digit = |shift: u16| HEX[usize::from(shifted >> shift & 15)];
            self.piece(&[digit(12), digit(8), digit(4), digit(0)], 4 - skip as usize);
            i += 1;
            self.piece(b":", usize::from(i < 8));
        }
    }

    /// A MAC address as `aa:bb:cc:dd:ee:ff`.
    #[inline]
    pub(crate) fn mac(&mut self, mac: [u8; 6]) {
        let mut text = [b':'; 17];
        for (i, byte) in mac.into_iter().enumerate() {
            text[i * 3] = HEX[usize::from(byte >> 4)];
            text[i * 3 + 1] = HEX[usize::from(byte & 15)];
        }
        self.piece(&text, 17);
    }
}

/// The first of the longest runs of at least two zero groups; empty if there is none.
fn longest_zero_run(groups: &[u16; 8]) -> std::ops::Range<usize> {
    let (mut best, mut start) = (0..0, 0);
    for (i, group) in groups.iter().enumerate() {
        if *group != 0 {
            start = i + 1;
        } else if i + 1 - start > best.len().max(1) {
            best = start..i + 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    fn line(format: impl Fn(&mut LineBuffer<'_>)) -> String {
        let mut bytes = [0; 2 * LineBuffer::SLACK];
        let mut line = LineBuffer::after(&mut bytes, 0);
        format(&mut line);
        let len = line.len();
        String::from_utf8(bytes[..len].to_vec()).unwrap()
    }

    fn text(address: IpAddr) -> String {
        line(|line| line.address(address))
    }

    /// A small generator, so that the test needs no dependency and repeats.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state ^ *state >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 8
    }

    #[test]
    fn ipv4_is_what_std_prints() {
        let mut state = 1;
        for i in 0..100_000 {
            let octets = if i < 256 { [i as u8; 4] } else { (random(&mut state) as u32).to_be_bytes() };
            let address = IpAddr::from(octets);
            assert_eq!(text(address), address.to_string());
        }
    }

    #[test]
    fn ipv6_is_what_std_prints_for_every_pattern_of_zeros() {
        let mut state = 2;
        for pattern in 0..256_u32 {
            for width in [1, 4, 8, 12, 16] {
                let groups: [u16; 8] = std::array::from_fn(|i| match pattern >> i & 1 {
                    0 => 0,
                    _ => (random(&mut state) as u16 >> (16 - width)).max(1),
                });
                let address = IpAddr::from(groups);
                assert_eq!(text(address), address.to_string());
            }
        }
        for _ in 0..100_000 {
            let bits = u128::from(random(&mut state)) << 80
                | u128::from(random(&mut state)) << 40
                | u128::from(random(&mut state));
            let address = IpAddr::from(Ipv6Addr::from_bits(bits));
            assert_eq!(text(address), address.to_string());
        }
    }

    #[test]
    fn the_examples_of_rfc_5952() {
        for (long, short) in [
            ("2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:DB8:0:0:0:0:2:1", "2001:db8::2:1"),
            ("0:0:0:0:0:ffff:192.0.2.1", "::ffff:192.0.2.1"),
            ("0:0:0:0:0:0:0:0", "::"),
            ("fe80:0:0:0:0:0:0:0", "fe80::"),
        ] {
            assert_eq!(text(long.parse().unwrap()), short);
        }
    }

    #[test]
    fn mac_addresses() {
        assert_eq!(line(|line| line.mac([0x00, 0x1f, 0xff, 0xa0, 0x09, 0x90])), "00:1f:ff:a0:09:90");
    }

    #[test]
    fn floats_read_back_as_they_were() {
        let mut state = 4;
        let same = |value: f64| {
            let text = line(|line| line.float(value));
            assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(value.to_bits()), "{text}");
            // As a JSON reader parses it (RFC 8259, section 6).
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(read.is_number(), "{text}");
        };
        for value in [0.0, 0.1, 1.0, 1.5, 1e21, 1e22, f64::MIN_POSITIVE, f64::MAX, 2f64.powi(63)] {
            same(value);
        }
        for _ in 0..100_000 {
            let value = f64::from_bits(random(&mut state) << 20 ^ random(&mut state));
            if value.is_finite() {
                same(value);
            }
            same(random(&mut state) as f64 / 1000.0);
        }
    }

    #[test]
    fn integers_are_what_std_prints() {
        let mut state = 3;
        for bits in 0..=64 {
            for _ in 0..1000 {
                let value = if bits == 0 {
                    0
                } else {
                    (random(&mut state) << 24 ^ random(&mut state)) >> (64 - bits)
                };
                assert_eq!(line(|line| line.integer(value)), value.to_string());
            }
        }
        let powers = (0..20).map(|n| 10_u64.pow(n)).flat_map(|p| [p - 1, p]);
        for value in powers.chain([u64::MAX]) {
            assert_eq!(line(|line| line.integer(value)), value.to_string());
        }
    }
}
