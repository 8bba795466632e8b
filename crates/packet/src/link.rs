//! Link types: what the first byte of a frame belongs to.

/// The link type of a frame. `TryFrom` takes the number that capture files carry (LINKTYPE_… of
/// tcpdump.org, with the platform-dependent DLT_RAW values that old files hold).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LinkType {
    /// Ethernet II or 802.3 (LINKTYPE_ETHERNET, 1).
    Ethernet,
    /// IPv4 or IPv6, distinguished by the version nibble (LINKTYPE_RAW, 101).
    Raw,
    /// IPv4 only (LINKTYPE_IPV4, 228).
    RawIpv4,
    /// IPv6 only (LINKTYPE_IPV6, 229).
    RawIpv6,
    /// Linux cooked capture, version 1 (LINKTYPE_LINUX_SLL, 113).
    LinuxCooked,
    /// Linux cooked capture, version 2 (LINKTYPE_LINUX_SLL2, 276).
    LinuxCooked2,
    /// BSD loopback, protocol family in the byte order of the capturing host (LINKTYPE_NULL, 0).
    BsdNull,
    /// OpenBSD loopback, protocol family in network byte order (LINKTYPE_LOOP, 108).
    BsdLoop,
    /// PPP, with or without the HDLC address and control bytes, or Cisco HDLC, which its first byte tells (LINKTYPE_PPP, 9;
    /// PPP_HDLC, 50).
    Ppp,
    /// Cisco HDLC (LINKTYPE_C_HDLC, 104).
    CiscoHdlc,
    /// Anything else: its frames are counted, none is measured.
    Unsupported,
}

impl LinkType {
    /// The number of this link type in libpcap's filter compiler (a DLT_… value); `None` for
    /// [`LinkType::Unsupported`]. Both kinds of PPP give 9: libpcap compiles the same program for them.
    pub const fn number(self) -> Option<u16> {
        Some(match self {
            Self::Ethernet => 1,
            // DLT_RAW, which differs from LINKTYPE_RAW.
            Self::Raw => 12,
            Self::RawIpv4 => 228,
            Self::RawIpv6 => 229,
            Self::LinuxCooked => 113,
            Self::LinuxCooked2 => 276,
            Self::BsdNull => 0,
            Self::BsdLoop => 108,
            Self::Ppp => 9,
            Self::CiscoHdlc => 104,
            Self::Unsupported => return None,
        })
    }
}

impl From<u32> for LinkType {
    fn from(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            12 | 14 | 101 => Self::Raw,
            228 => Self::RawIpv4,
            229 => Self::RawIpv6,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            0 => Self::BsdNull,
            108 => Self::BsdLoop,
            9 | 50 => Self::Ppp,
            104 => Self::CiscoHdlc,
            _ => Self::Unsupported,
        }
    }
}
