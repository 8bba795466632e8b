//! Databases of addresses in MaxMind's format, made of a few networks.

use std::net::IpAddr;

/// A value of a record.
#[derive(Clone, Debug)]
pub enum MmdbValue {
    /// A text of at most 284 bytes.
    Text(&'static str),
    /// An unsigned integer of 32 bits.
    Number(u32),
    /// A map of at most 28 members.
    Map(Vec<(&'static str, MmdbValue)>),
}

/// A database of IPv6 and, under `::/96`, of IPv4, or of IPv4 alone.
#[derive(Clone, Debug)]
pub struct Database {
    /// The bits of a record, 24 or 28.
    pub record_bits: u16,
    /// The version of IP, 4 or 6.
    pub ip_version: u16,
    /// Networks that do not overlap, each with its record.
    pub networks: Vec<(&'static str, u8, MmdbValue)>,
}

/// The target of one side of a node in the search tree.
#[derive(Clone, Copy, Debug)]
enum TreeBranch {
    Nothing,
    Node(usize),
    /// An offset in the data section.
    Data(usize),
}

impl Database {
    /// The bytes of the file.
    ///
    /// # Panics
    /// If networks overlap or are no addresses, and on sizes that the encoder does not have.
    pub fn encode(&self) -> Vec<u8> {
        let mut nodes = vec![[TreeBranch::Nothing; 2]];
        let mut data = Vec::new();
        for (address, length, record) in &self.networks {
            let (bits, length) = self.bits(address.parse().expect("an address"), *length);
            let mut at = 0;
            for depth in 0..length {
                let side = usize::from(bits >> (127 - depth) & 1 == 1);
                if depth + 1 == length {
                    assert!(
                        matches!(nodes[at][side], TreeBranch::Nothing),
                        "{address} overlaps another network"
                    );
                    nodes[at][side] = TreeBranch::Data(data.len());
                    break;
                }
                at = match nodes[at][side] {
                    TreeBranch::Node(next) => next,
                    TreeBranch::Data(_) => panic!("{address} overlaps another network"),
                    TreeBranch::Nothing => {
                        nodes.push([TreeBranch::Nothing; 2]);
                        let next = nodes.len() - 1;
                        nodes[at][side] = TreeBranch::Node(next);
                        next
                    }
                };
            }
            encode(record, &mut data);
        }
        let count = nodes.len();
        let value = |side: TreeBranch| match side {
            TreeBranch::Nothing => count,
            TreeBranch::Node(number) => number,
            TreeBranch::Data(offset) => count + 16 + offset,
        };
        let mut bytes = Vec::new();
        for [left, right] in nodes {
            let [left, right] = [value(left) as u32, value(right) as u32];
            bytes.extend(&left.to_be_bytes()[1..]);
            if self.record_bits == 28 {
                bytes.push(((left >> 24) << 4 | right >> 24) as u8);
            }
            bytes.extend(&right.to_be_bytes()[1..]);
        }
        bytes.extend([0; 16]);
        bytes.extend(data);
        bytes.extend(b"\xab\xcd\xefMaxMind.com");
        self.metadata(count as u32, &mut bytes);
        bytes
    }

    /// A network's bits from the first one on, and its length in the tree.
    fn bits(&self, address: IpAddr, length: u8) -> (u128, u32) {
        match (address, self.ip_version) {
            (IpAddr::V4(v4), 4) => (u128::from(v4.to_bits()) << 96, length.into()),
            (IpAddr::V4(v4), _) => (v4.to_bits().into(), 96 + u32::from(length)),
            (IpAddr::V6(v6), 6) => (v6.to_bits(), length.into()),
            (IpAddr::V6(_), _) => panic!("{address} in a database of IPv4"),
        }
    }

    fn metadata(&self, nodes: u32, bytes: &mut Vec<u8>) {
        bytes.push(7 << 5 | 9);
        for (name, number) in [
            ("binary_format_major_version", 2),
            ("binary_format_minor_version", 0),
            ("ip_version", self.ip_version),
            ("record_size", self.record_bits),
        ] {
            encode(&MmdbValue::Text(name), bytes);
            bytes.push(5 << 5 | 2);
            bytes.extend(number.to_be_bytes());
        }
        encode(&MmdbValue::Text("node_count"), bytes);
        encode(&MmdbValue::Number(nodes), bytes);
        encode(&MmdbValue::Text("build_epoch"), bytes);
        // An extended type: 64 bits, of which one byte is written.
        bytes.extend([1, 2, 1]);
        encode(&MmdbValue::Text("database_type"), bytes);
        encode(&MmdbValue::Text("Edison-Test"), bytes);
        encode(&MmdbValue::Text("description"), bytes);
        encode(&MmdbValue::Map(Vec::new()), bytes);
        encode(&MmdbValue::Text("languages"), bytes);
        // An empty array.
        bytes.extend([0, 4]);
    }
}

fn encode(item: &MmdbValue, bytes: &mut Vec<u8>) {
    match item {
        MmdbValue::Text(text) if text.len() < 29 => bytes.push(2 << 5 | text.len() as u8),
        MmdbValue::Text(text) => {
            bytes.extend([2 << 5 | 29, u8::try_from(text.len() - 29).expect("a short text")]);
        }
        MmdbValue::Number(number) => {
            bytes.push(6 << 5 | 4);
            bytes.extend(number.to_be_bytes());
        }
        MmdbValue::Map(members) => {
            assert!(members.len() < 29, "a small map");
            bytes.push(7 << 5 | members.len() as u8);
            for (name, value) in members {
                encode(&MmdbValue::Text(name), bytes);
                encode(value, bytes);
            }
        }
    }
    if let MmdbValue::Text(text) = item {
        bytes.extend(text.as_bytes());
    }
}
