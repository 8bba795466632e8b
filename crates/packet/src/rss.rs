//! The fields of a frame that a card hashes to choose its receive queue, and the key of the hash (receive-side scaling).

use crate::bytes::HeaderBudget;
use crate::ip::{self, HeaderAddresses, protocol};
use crate::{Frame, KeySpec, Toeplitz, link_header};
use std::fmt;
use std::str::FromStr;

/// The fields that a card can hash.
const HASHED: [&str; 4] = ["src_addr", "dst_addr", "src_port", "dst_port"];

/// The fields of the outermost addresses and ports that are hashed. Made from `src_addr+dst_addr` by [`str::parse`]; `Display` gives the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RssFields(KeySpec);

impl RssFields {
    /// Returns true if this field is hashed.
    pub fn has(&self, field: &str) -> bool {
        self.0.columns().any(|column| column == field)
    }

    /// True if ports are among the fields. They are hashed of TCP and UDP packets that are no fragments; of the others only addresses are.
    pub fn has_ports(&self) -> bool {
        self.0.has_src_port() || self.0.has_dst_port()
    }

    /// True if each field stands with its counterpart of the other direction.
    pub fn are_paired(&self) -> bool {
        self.0.has_src_addr() == self.0.has_dst_addr() && self.0.has_src_port() == self.0.has_dst_port()
    }

    /// The key that decides what the hash is (fragments aside): the fields, and with ports the protocol, which tells whether there are any.
    pub fn deciding_key(&self) -> KeySpec {
        match self.has_ports() {
            true => self.0.with(&KeySpec::from_members([None; 2], [false; 2], true)),
            false => self.0,
        }
    }
}

/// Addresses and ports.
impl Default for RssFields {
    fn default() -> Self {
        Self(KeySpec::from_members([Some(128); 2], [true; 2], false))
    }
}

impl fmt::Display for RssFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.columns().collect::<Vec<_>>().join("+"))
    }
}

impl FromStr for RssFields {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = HASHED.join(", ");
        let wrong = |what: String| format!("{what}; a card hashes {known}, joined by '+'");
        let name = |part: &str| KeySpec::parse(part).ok().and_then(|spec| spec.columns().next());
        for part in text.split('+') {
            match name(part.trim()) {
                Some(field) if HASHED.contains(&field) && !part.contains('/') => {}
                Some(_) if part.contains('/') => return Err(wrong(format!("'{part}' has a prefix"))),
                Some(field) => return Err(wrong(format!("{field} is not hashed"))),
                None => return Err(wrong(format!("there is no field '{part}'"))),
            }
        }
        let spec = KeySpec::parse(&text.replace('+', ","));
        spec.map(Self).map_err(|_| wrong(format!("'{text}' has a field twice")))
    }
}

/// The key of a Toeplitz hash: some bytes, which repeat up to the length that a card takes. Made from hexadecimal digits by [`str::parse`], with or
/// without colons between bytes; `Display` gives the digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RssKey {
    bytes: [u8; RssKey::MOST_BYTES],
    length: usize,
}

impl RssKey {
    /// The length of the longest key of a card, bytes.
    pub const MOST_BYTES: usize = 64;
    /// A key that repeats after 16 bits, by which both directions of a connection have one hash ([`Toeplitz::SYMMETRIC_KEY`]).
    pub const SYMMETRIC: Self = {
        let mut bytes = [0; Self::MOST_BYTES];
        bytes[0] = Toeplitz::SYMMETRIC_KEY[0];
        bytes[1] = Toeplitz::SYMMETRIC_KEY[1];
        Self { bytes, length: 2 }
    };

    /// The bytes as they were given.
    pub fn given(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The key of this many bytes.
    pub fn bytes(&self, length: usize) -> Vec<u8> {
        self.given().iter().copied().cycle().take(length).collect()
    }

    /// The hash by this key.
    pub fn toeplitz(&self) -> Toeplitz {
        Toeplitz::new(&std::array::from_fn(|at| self.bytes[at % self.length]))
    }
}

impl fmt::Display for RssKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.given().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RssKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RssKey({self})")
    }
}

impl FromStr for RssKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits: Vec<char> = text.chars().filter(|letter| *letter != ':').collect();
        let expected = "a key is bytes in hexadecimal, as 6d5a56da or 6d:5a:56:da";
        if digits.is_empty() || !digits.len().is_multiple_of(2) {
            return Err(format!("{} hexadecimal digits; {expected}", digits.len()));
        }
        let length = digits.len() / 2;
        if length > Self::MOST_BYTES {
            return Err(format!("{length} bytes; keys of cards have {} at most", Self::MOST_BYTES));
        }
        let mut bytes = [0; Self::MOST_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |letter: char| {
                letter.to_digit(16).ok_or_else(|| format!("'{letter}' is no hexadecimal digit; {expected}"))
            };
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        match bytes[..length].iter().any(|byte| *byte != 0) {
            true => Ok(Self { bytes, length }),
            false => Err("a key of zeros hashes all packets to 0, and so to one queue".to_owned()),
        }
    }
}

/// A hash over frames: its fields, and its key. The default is that of a card as this program sets it up: addresses and ports by the symmetric key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RssSpec {
    /// The fields that are hashed.
    pub fields: RssFields,
    /// The key of the hash.
    pub key: RssKey,
}

impl RssSpec {
    /// True if both directions of each connection have one hash.
    pub fn is_symmetric(&self) -> bool {
        self.fields.are_paired() && self.key.toeplitz().is_symmetric(self.fields.has_ports())
    }
}

impl Default for RssSpec {
    fn default() -> Self {
        Self { fields: RssFields::default(), key: RssKey::SYMMETRIC }
    }
}

impl Toeplitz {
    /// The hash of a frame's outermost addresses, and of the ports if it is TCP or UDP and no fragment: a
    /// fragment that is not the first has none, and all fragments of a datagram should reach one queue.
    /// `None` without an IP header that can be parsed.
    pub fn frame(&self, frame: &Frame<'_>) -> Option<u32> {
        self.frame_fields(frame, &RssFields::default())
    }

    /// The hash of these of a frame's outermost addresses and ports, as [`Toeplitz::frame`] has of all of them. What is not hashed counts as zero.
    pub fn frame_fields(&self, frame: &Frame<'_>, fields: &RssFields) -> Option<u32> {
        let mut budget = HeaderBudget::new();
        let (_, announced, bytes) = link_header::parse(frame, &mut budget).ok()?;
        let packet = ip::parse(announced, bytes, false, &mut budget).ok()?;
        // Ports that the snap length cut are not hashed either; a card sees the whole frame.
        let has_ports = matches!(packet.protocol, protocol::TCP | protocol::UDP)
            && !packet.fragment
            && packet.remark.is_none();
        let RssFields(chosen) = fields;
        let keep = |is_hashed: bool| if is_hashed { 0xff } else { 0 };
        let [src, dst] = [chosen.has_src_addr(), chosen.has_dst_addr()].map(keep);
        let [src_port, dst_port] =
            [chosen.has_src_port() && has_ports, chosen.has_dst_port() && has_ports].map(keep);
        let [a, b, c, d] = packet.ports;
        let ports = [a & src_port, b & src_port, c & dst_port, d & dst_port];
        Some(match packet.addresses() {
            HeaderAddresses::V4(addresses) => {
                let hashed = std::array::from_fn(|at| addresses[at] & if at < 4 { src } else { dst });
                self.ipv4_ports(&hashed, &ports)
            }
            HeaderAddresses::V6(from, to) => {
                self.ipv6_ports(&from.map(|byte| byte & src), &to.map(|byte| byte & dst), &ports)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_shown() {
        let fields = |text: &str| text.parse::<RssFields>().expect(text);
        assert_eq!(fields("src_addr+dst_addr+src_port+dst_port"), RssFields::default());
        assert_eq!(fields("dst_addr+src_addr").to_string(), "src_addr+dst_addr");
        assert_eq!(fields("srcip").to_string(), "src_addr");
        assert!(fields("src_addr+dst_addr").are_paired() && !fields("src_addr+dst_addr").has_ports());
        assert!(!fields("src_addr").are_paired() && !fields("src_addr+dst_addr+dst_port").are_paired());
        assert_eq!(RssFields::default().deciding_key(), KeySpec::FIVE_TUPLE);
        assert_eq!(fields("src_addr").deciding_key(), KeySpec::parse("src_addr").expect("a key"));
        for (text, words) in [
            ("", "no field ''"),
            ("vlan", "vlan is not hashed; a card hashes src_addr, dst_addr"),
            ("protocol", "protocol is not hashed"),
            ("src_addr/24", "'src_addr/24' has a prefix"),
            ("src_addr+src_addr", "twice"),
            ("source", "no field 'source'"),
        ] {
            let error = text.parse::<RssFields>().expect_err(text);
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn keys_are_read_and_repeat() {
        let key = |text: &str| text.parse::<RssKey>().expect(text);
        assert_eq!(key("6d5a"), RssKey::SYMMETRIC);
        assert_eq!(key("6D:5a"), RssKey::SYMMETRIC);
        assert_eq!(key("6d5a").bytes(40), Toeplitz::SYMMETRIC_KEY);
        assert_eq!(key("010203").bytes(5), [1, 2, 3, 1, 2]);
        let text: String = Toeplitz::MICROSOFT_KEY.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(key(&text).to_string(), text);
        assert_eq!(key(&text).bytes(40), Toeplitz::MICROSOFT_KEY);
        for (text, words) in [
            ("", "0 hexadecimal digits"),
            ("6d5", "3 hexadecimal digits"),
            ("6g", "'g' is no hexadecimal digit"),
            ("0000", "zeros"),
            (&"01".repeat(65), "65 bytes"),
        ] {
            assert!(text.parse::<RssKey>().expect_err(text).contains(words), "{text}");
        }
    }

    #[test]
    fn symmetry_is_that_of_fields_and_key() {
        let is_symmetric = |fields: &str, key: &str| {
            let fields = fields.parse().expect(fields);
            RssSpec { fields, key: key.parse().expect(key) }.is_symmetric()
        };
        assert!(RssSpec::default().is_symmetric());
        assert!(is_symmetric("src_addr+dst_addr", "6d5a"));
        assert!(is_symmetric("src_port+dst_port", "0123"));
        assert!(!is_symmetric("src_addr", "6d5a"));
        assert!(!is_symmetric("src_addr+dst_addr+src_port", "6d5a"));
        // IPv4 addresses need a key that repeats after 32 bits, IPv6 addresses 128, ports 16.
        assert!(is_symmetric("src_addr+dst_addr", "01020304"));
        assert!(!is_symmetric("src_addr+dst_addr+src_port+dst_port", "01020304"));
        assert!(!is_symmetric("src_addr+dst_addr", "0102030405060708"));
        assert!(!is_symmetric("src_addr+dst_addr", "010203"));
    }
}
