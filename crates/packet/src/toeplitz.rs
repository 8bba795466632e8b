//! The Toeplitz hash of receive-side scaling, by table.
//!
//! Source: Microsoft, "RSS hashing functions" (NDIS driver documentation). For every bit that is set in the
//! input, from the first byte's highest bit on, the 32 bits of the key that begin at the same bit position are
//! added without carry. The hash is linear, so the share of each byte can be looked up: 256 entries per byte,
//! made once from the key.

/// A key's tables: 36 KiB, of which IPv4 with ports uses the first 12 KiB.
#[derive(Clone)]
pub struct Toeplitz {
    /// The share of the hash that a byte at each position of the input adds.
    shares: Box<[[u32; 256]; Toeplitz::INPUT_BYTES]>,
}

impl Toeplitz {
    /// Length of a key in bytes. Some cards take longer ones; no input here reaches beyond the first 40 bytes.
    pub const KEY_BYTES: usize = 40;
    /// The longest input in bytes: two IPv6 addresses and two ports.
    pub const INPUT_BYTES: usize = 36;

    /// The key of Microsoft's verification suite, that many drivers configure.
    pub const MICROSOFT_KEY: [u8; Self::KEY_BYTES] = [
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
        0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
        0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
    ];

    /// A key that repeats after 16 bits, so that both directions of a connection have one hash (Woo and Park,
    /// "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", 2012). Both halves of such a hash
    /// are the same: it is good for choosing a queue, and no identifier of a flow.
    pub const SYMMETRIC_KEY: [u8; Self::KEY_BYTES] = {
        let mut key = [0x6d; Self::KEY_BYTES];
        let mut at = 1;
        while at < key.len() {
            key[at] = 0x5a;
            at += 2;
        }
        key
    };

    /// The tables of a key.
    pub fn new(key: &[u8; Self::KEY_BYTES]) -> Self {
        let mut shares = Box::new([[0; 256]; Self::INPUT_BYTES]);
        for (position, share) in shares.iter_mut().enumerate() {
            let window =
                u64::from_be_bytes(std::array::from_fn(|i| key.get(position + i).copied().unwrap_or(0)));
            for value in 1..256_usize {
                // All bits but the lowest form an entry that exists already.
                let lowest = value & value.wrapping_neg();
                let bit = 7 - lowest.trailing_zeros();
                share[value] = share[value ^ lowest] ^ (window << bit >> 32) as u32;
            }
        }
        Self { shares }
    }

    /// Returns true if source and destination may be exchanged without another hash: the addresses, and with `has_ports` the ports.
    pub(crate) fn is_symmetric(&self, has_ports: bool) -> bool {
        let same = |source: usize, target: usize, bytes: usize| {
            self.shares[source..source + bytes] == self.shares[target..target + bytes]
        };
        // Of IPv4, whose ports lie where the third quarter of an IPv6 source does, and of IPv6.
        same(0, 4, 4) && same(0, 16, 16) && (!has_ports || same(8, 10, 2) && same(32, 34, 2))
    }

    /// Returns the share of the hash that the bytes at `position` of an input add. The parts of an input are added by exclusive or.
    #[inline(always)]
    fn part<const N: usize>(&self, position: usize, bytes: &[u8; N]) -> u32 {
        let shares = self.shares[position..position + N].iter();
        shares.zip(bytes).fold(0, |hash, (share, &byte)| hash ^ share[usize::from(byte)])
    }

    /// IPv4 without ports. `addresses`: source then destination as in the header.
    #[inline]
    pub fn ipv4(&self, addresses: &[u8; 8]) -> u32 {
        self.part(0, addresses)
    }

    /// IPv4 with the ports of TCP or UDP, source first, as in the header.
    #[inline]
    pub fn ipv4_ports(&self, addresses: &[u8; 8], ports: &[u8; 4]) -> u32 {
        self.part(0, addresses) ^ self.part(8, ports)
    }

    /// IPv6 without ports.
    #[inline]
    pub fn ipv6(&self, src: &[u8; 16], dst: &[u8; 16]) -> u32 {
        self.part(0, src) ^ self.part(16, dst)
    }

    /// IPv6 with the ports of TCP or UDP, source first, as in the header.
    #[inline]
    pub fn ipv6_ports(&self, src: &[u8; 16], dst: &[u8; 16], ports: &[u8; 4]) -> u32 {
        self.ipv6(src, dst) ^ self.part(32, ports)
    }
}

/// 36 KiB of numbers are of no use in debug output.
impl std::fmt::Debug for Toeplitz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Toeplitz(…)")
    }
}
