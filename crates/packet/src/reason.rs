//! Every reason why a frame is not measured, and every remark on one that is: the one list.

/// Declares an enum of counters whose names appear in reports, so that no name is written twice.
macro_rules! named {
    ($(#[$meta:meta])* $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $enum { $($(#[$doc])* $variant,)* }

        impl $enum {
            /// The variants, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name that reports carry.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// The reason why a received frame is in no flow record. Each frame has exactly one.
    NotMeasured {
        /// ARP or RARP.
        Arp = "arp",
        /// A protocol other than IP: spanning tree, LLDP, PPP control, PPPoE discovery, …
        NotIp = "not_ip",
        /// The source's link type is not supported.
        LinkType = "link_type",
        /// The snap length cut the headers before the addresses.
        Truncated = "truncated",
        /// The IP header states more than the frame held on the wire, or less than the header itself.
        BadLength = "bad_length",
        /// The frame ended on the wire before its link, VLAN, MPLS or PPPoE headers did.
        MalformedLink = "malformed_link",
        /// The version is not the one that was announced, or the header length is below the least.
        MalformedIp = "malformed_ip",
        /// The nested tags, labels or extension headers are more than `MAX_HEADERS`.
        MalformedNesting = "malformed_nesting",
        /// The time is one that no field can hold: before 1970, or after the year 2262 ([`Frame::LATEST_NS`](crate::Frame::LATEST_NS)).
        BadTime = "bad_time",
        /// The user's filter does not match it.
        Filter = "filter",
        /// The snap length cut what the user's filter reads of it.
        FilterUndecided = "filter_undecided",
    }
}

named! {
    /// A remark on a measured frame; a frame may have several.
    Remark {
        /// The snap length cut the ports: they are 0 in the key.
        PortsTruncated = "ports_truncated",
        /// The snap length cut the TCP header before the window, or a header before it: flags, numbers and window of the packet are 0.
        TcpTruncated = "tcp_truncated",
        /// The snap length cut a header before the one that the protocol is of: an IPv6 extension header or AH. The protocol in the key is that
        /// of the header that was cut, and the ports are cut, too.
        ProtocolTruncated = "protocol_truncated",
        /// The packet itself ends before its ports: they are 0 in the key.
        PortsMissing = "ports_missing",
        /// The header inside a tunnel could not be parsed, though it was not cut: the outer one was measured.
        InnerUnparsed = "inner_unparsed",
        /// The snap length cut the header inside a tunnel, or what tells whether there is one: the outer one was measured.
        InnerTruncated = "inner_truncated",
        /// The TCP header was cut short or states an impossible length, with `--loss`: the segment is not tracked.
        SegmentUnparsed = "segment_unparsed",
    }
}
