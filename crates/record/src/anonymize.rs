//! Prefix-preserving anonymisation of addresses: Crypto-PAn (Xu, Fan, Ammar, Moon: Prefix-Preserving IP
//! Address Anonymization, ICNP 2002), with AES-128 as in the authors' own program.
//!
//! Two addresses that share their first n bits share the first n bits of what replaces them, and no more. Bit
//! n of an address is flipped by the first bit of the cipher of the n bits before it, padded from a secret
//! pad; so all bits can be computed in parallel.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use flow::FlowRecord;
use packet::FlowKey;
use std::fmt;
use std::io::{Error, ErrorKind, Read, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Octets of a key: one half is the cipher's, the other the pad's.
const KEY: usize = 32;
/// Addresses of each family whose replacements are cached: a power of two. 640 KiB together.
const KEPT: usize = 1 << 14;

/// Replaces addresses.
#[derive(Clone)]
pub struct Anonymizer {
    cipher: Aes128,
    pad: u128,
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
}

impl fmt::Debug for Anonymizer {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anonymizer").finish_non_exhaustive()
    }
}

impl Anonymizer {
    /// Creates an anonymizer. `key`: 16 octets of the cipher's key, and 16 that are enciphered to the pad.
    pub fn new(key: &[u8; KEY]) -> Self {
        let (cipher_key, pad) = key.split_at(KEY / 2);
        let half = |half: &[u8]| std::array::from_fn::<u8, 16, _>(|i| half[i]);
        let cipher = Aes128::new(&Array(half(cipher_key)));
        let mut pad = Array(half(pad));
        cipher.encrypt_block(&mut pad);
        let mut anonymizer =
            Self { cipher, pad: u128::from_be_bytes(pad.0), v4: Box::default(), v6: Box::default() };
        // Every place of the caches initially holds an address: that of all zero bits.
        anonymizer.v4 = vec![(0, anonymizer.flip(0, 32) as u32); KEPT].into();
        anonymizer.v6 = vec![(0, anonymizer.flip(0, 128)); KEPT].into();
        anonymizer
    }

    /// Reads a key file: 32 octets, or 64 hexadecimal digits with or without a line's end. The second value
    /// is a warning if others than the owner may read the file.
    ///
    /// # Errors
    /// Returns one line: what is wrong with which file.
    pub fn from_file(path: &Path) -> Result<(Self, Option<String>)> {
        let at = |kind: ErrorKind, reason: String| Error::new(kind, format!("{}: {reason}", path.display()));
        let mut file = std::fs::File::open(path).map_err(|e| at(e.kind(), e.to_string()))?;
        // A wrong path may name a source without an end.
        let mut bytes = Vec::new();
        let read = file.by_ref().take(128).read_to_end(&mut bytes);
        read.map_err(|e| at(e.kind(), e.to_string()))?;
        let key = key(&bytes).ok_or_else(|| {
            let form = "is no key: 32 octets, or 64 hexadecimal digits";
            at(ErrorKind::InvalidData, format!("{form} (head -c 32 /dev/urandom > FILE makes one)"))
        })?;
        Ok((Self::new(&key), exposure(&file, path)))
    }

    /// The replacement of an address, of the same family. An IPv4 address within an IPv6 one is not treated
    /// separately.
    #[inline]
    pub fn address(&mut self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let bits = address.to_bits();
                let place = (u64::from(bits).wrapping_mul(SPREAD) >> (64 - KEPT.ilog2())) as usize;
                if self.v4[place].0 != bits {
                    self.v4[place] = (bits, self.flip(u128::from(bits) << 96, 32) as u32);
                }
                Ipv4Addr::from_bits(self.v4[place].1).into()
            }
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                let folded = (bits >> 64) as u64 ^ (bits as u64).wrapping_mul(SPREAD).rotate_left(32);
                let place = (folded.wrapping_mul(SPREAD) >> (64 - KEPT.ilog2())) as usize;
                if self.v6[place].0 != bits {
                    self.v6[place] = (bits, self.flip(bits, 128));
                }
                Ipv6Addr::from_bits(self.v6[place].1).into()
            }
        }
    }

    /// Returns the address that this one replaces. Of a prefix the bits that it has are those of the address that it was made of.
    ///
    /// Each bit depends on those before it, so that nothing is enciphered side by side: this is for what a user asks, not for packets.
    #[must_use]
    pub fn restore(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let bits = self.unflip(u128::from(address.to_bits()) << 96, 32);
                Ipv4Addr::from_bits((bits >> 96) as u32).into()
            }
            IpAddr::V6(address) => Ipv6Addr::from_bits(self.unflip(address.to_bits(), 128)).into(),
        }
    }

    /// Replaces all that identifies a host in a record, in both directions: addresses by others; MAC
    /// addresses, which identify a device, are removed.
    #[inline]
    pub fn record(&mut self, record: &mut FlowRecord) {
        self.direction(record);
        if let Some(reverse) = record.more.as_mut().and_then(|more| more.reverse.as_mut()) {
            self.direction(reverse);
        }
    }

    /// Replaces the addresses of a key.
    pub fn flow_key(&mut self, key: &mut FlowKey) {
        key.src_addr = key.src_addr.map(|address| self.address(address));
        key.dst_addr = key.dst_addr.map(|address| self.address(address));
    }

    fn direction(&mut self, record: &mut FlowRecord) {
        if let Some(key) = &mut record.key {
            self.flow_key(key);
        }
        record.smac = [0; 6];
        record.dmac = [0; 6];
    }

    /// The first `length` bits of what replaces an address, which begins at the top, as they were.
    fn unflip(&self, mut address: u128, length: u32) -> u128 {
        for bit in 0..length {
            let kept = u128::MAX.checked_shl(128 - bit).unwrap_or(0);
            let mut block = Array((address & kept | self.pad & !kept).to_be_bytes());
            self.cipher.encrypt_block(&mut block);
            address ^= u128::from(block[0] >> 7) << (127 - bit);
        }
        address
    }

    /// The first `length` bits of `address`, which begins at the top, replaced; at the bottom of the result.
    fn flip(&self, address: u128, length: u32) -> u128 {
        /// The number that the processor keeps in flight at once.
        const SIDE_BY_SIDE: u32 = 8;
        let mut flips = 0;
        for start in (0..length).step_by(SIDE_BY_SIDE as usize) {
            let mut blocks: [_; SIDE_BY_SIDE as usize] = std::array::from_fn(|i| {
                let kept = u128::MAX.checked_shl(128 - (start + i as u32)).unwrap_or(0);
                Array((address & kept | self.pad & !kept).to_be_bytes())
            });
            self.cipher.encrypt_blocks(&mut blocks);
            for block in blocks {
                flips = flips << 1 | u128::from(block[0] >> 7);
            }
        }
        address >> (128 - length) ^ flips
    }
}

/// Spreads addresses over the cache: 2⁶⁴ by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

fn key(bytes: &[u8]) -> Option<[u8; KEY]> {
    if let Ok(raw) = bytes.try_into() {
        return Some(raw);
    }
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    if text.len() != 2 * KEY || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; KEY];
    for (octet, digits) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *octet = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

/// A warning if others can read the key: with it every address can be recovered.
#[cfg(unix)]
fn exposure(file: &std::fs::File, path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        let path = path.display();
        format!("{path}: others may read this key, and with it find out every address: chmod 600 {path}")
    })
}

#[cfg(not(unix))]
fn exposure(_: &std::fs::File, _: &Path) -> Option<String> {
    None
}
