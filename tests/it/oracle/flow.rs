//! What is compared: packets and bytes per 5-tuple.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// Which IP header is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Outer,
    Inner,
}

impl Level {
    pub(crate) const ALL: [Self; 2] = [Self::Outer, Self::Inner];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Outer => "outer",
            Self::Inner => "inner",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { src, dst, protocol, src_port, dst_port } = self;
        write!(f, "{src} {dst} {protocol} {src_port} {dst_port}")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

pub(crate) type Flows = BTreeMap<Key, Counts>;
