//! What is compared of each task: columns of the other program and those of Edison that have the same.

use super::table::Shape;

/// Two names of a column: the other program's and Edison's.
type Same = (&'static str, &'static str);

/// How an answer of another program corresponds to Edison's.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) task: &'static str,
    /// The program.
    pub(crate) peer: &'static str,
    pub(crate) shape: Shape,
    pub(crate) keys: &'static [Same],
    pub(crate) values: &'static [Same],
    /// The other program has one row for all of Edison's.
    pub(crate) is_total: bool,
    /// What differs by definition, and is equal so.
    pub(crate) difference: &'static str,
}

const fn equal(
    task: &'static str,
    peer: &'static str,
    shape: Shape,
    keys: &'static [Same],
    values: &'static [Same],
) -> Comparison {
    Comparison { task, peer, shape, keys, values, is_total: false, difference: "" }
}

impl Comparison {
    const fn but(self, difference: &'static str) -> Self {
        Self { difference, ..self }
    }

    const fn of_total(self) -> Self {
        Self { is_total: true, ..self }
    }
}

const COUNTS: &[Same] = &[("pkt", "total_count"), ("byt", "total_byte")];
const RECORD_COUNTS: &[Same] = &[("ipkt", "total_count"), ("ibyt", "total_byte")];
const FRAMES: &[Same] = &[("2", "wire_byte"), ("3", "total_count")];
const ENDPOINTS: &[Same] = &[("2", "total_count"), ("3", "wire_byte")];
const INTERVAL: &[Same] = &[("packets", "total_count"), ("bytes", "wire_byte")];
const FRAME_BYTES: &str = "its bytes are those of frames, `wire_byte`";
const ROUNDED: &str = "packets; its bytes are rounded";

/// All comparisons.
pub(crate) const COMPARISONS: &[Comparison] = &[
    equal("Top sources by bytes", "nfdump", Shape::Named, &[("val", "src_addr")], COUNTS),
    equal("Top sources by bytes", "racluster", Shape::Commas, &[("1", "src_addr")], FRAMES).but(FRAME_BYTES),
    equal("Top sources by packets", "nfdump", Shape::Named, &[("val", "src_addr")], COUNTS),
    equal("Hosts, either side", "nfdump", Shape::Named, &[("val", "addr")], COUNTS),
    equal("Hosts, either side", "racluster", Shape::Commas, &[("1", "addr")], FRAMES).but(FRAME_BYTES),
    equal("Hosts of IPv4", "tshark", Shape::Words(7), &[("1", "addr")], ENDPOINTS).but(FRAME_BYTES),
    equal("Hosts of IPv6", "tshark", Shape::Words(7), &[("1", "addr")], ENDPOINTS).but(FRAME_BYTES),
    equal("Destination ports", "nfdump", Shape::Named, &[("val", "dst_port")], COUNTS),
    equal("Ports of TCP, either side", "nfdump", Shape::Named, &[("val", "port")], &[("pkt", "total_count")]),
    equal("Protocols", "nfdump", Shape::Named, &[("val", "protocol")], COUNTS),
    equal("Protocols", "racluster", Shape::Commas, &[("1", "protocol")], FRAMES).but(FRAME_BYTES),
    equal("Networks of /24", "nfdump", Shape::Named, &[("sa", "src_addr/24")], RECORD_COUNTS),
    equal("Pairs of hosts", "nfdump", Shape::Named, &[("sa", "src_addr"), ("da", "dst_addr")], RECORD_COUNTS),
    equal(
        "Pairs of hosts",
        "tshark",
        Shape::Conversations,
        &[("src", "src_addr"), ("dst", "dst_addr")],
        &[("packets", "total_count")],
    )
    .but(ROUNDED),
    equal(
        "Conversations",
        "tshark",
        Shape::Conversations,
        &[("conversation", "conversation")],
        &[("both", "total_count")],
    )
    .but(ROUNDED),
    equal(
        "Conversations",
        "racluster",
        Shape::Ends,
        &[("conversation", "conversation")],
        &[("5", "wire_byte"), ("6", "total_count")],
    )
    .but(FRAME_BYTES),
    equal("VLANs", "tshark", Shape::Counted, &[("1", "vlan")], &[("count", "total_count")]),
    equal("Type of service", "tshark", Shape::Counted, &[("1", "ip_tos")], &[("count", "total_count")])
        .but("hexadecimal there"),
    equal("Time series per minute", "tshark", Shape::Intervals, &[("#", "#")], INTERVAL).but(FRAME_BYTES),
    equal("Port and protocol", "nfdump", Shape::Words(2), &[], &[("1", "total_count"), ("2", "total_byte")]),
    equal("Port and protocol", "tshark", Shape::Intervals, &[], INTERVAL).but(FRAME_BYTES),
    equal("A network", "nfdump", Shape::Named, &[("val", "protocol")], COUNTS),
    equal("A network", "tshark", Shape::Intervals, &[], INTERVAL).of_total().but(FRAME_BYTES),
    equal("IPv6 only", "nfdump", Shape::Named, &[("val", "protocol")], COUNTS),
    equal("IPv6 only", "tshark", Shape::Intervals, &[], INTERVAL).of_total().but(FRAME_BYTES),
    equal("Long flows", "nfdump", Shape::Words(1), &[], &[("1", "flows")]),
    equal("Bytes per packet", "nfdump", Shape::Words(1), &[], &[("1", "flows")]).but("it rounds down"),
    equal("Only SYN", "nfdump", Shape::Words(1), &[], &[("1", "flows")]),
    equal("Number of flows", "nfdump", Shape::Words(1), &[], &[("1", "flows")]).but("its records are joined"),
    equal(
        "Elephant flows",
        "nfdump",
        Shape::Named,
        &[("sa", "src_addr"), ("da", "dst_addr"), ("pr", "protocol"), ("sp", "src_port"), ("dp", "dst_port")],
        RECORD_COUNTS,
    ),
    equal("DDoS victim", "nfdump", Shape::Counted, &[("1", "dst_addr")], &[("count", "count(src_addr)")]),
    equal("Scanner", "nfdump", Shape::Counted, &[("1", "src_addr")], &[("count", "count(dst_addr)")]),
    equal(
        "Scanner of one port",
        "nfdump",
        Shape::Counted,
        &[("1", "src_addr"), ("2", "dst_port")],
        &[("count", "count(dst_addr)")],
    ),
    equal(
        "Port scan",
        "nfdump",
        Shape::Counted,
        &[("1", "src_addr"), ("2", "dst_addr")],
        &[("count", "count(dst_port)")],
    ),
    equal("Entropy of sources", "nfdump", Shape::Words(1), &[], &[("1", "bits")]),
    equal(
        "What a capture has",
        "capinfos",
        Shape::Words(4),
        &[],
        &[("2", "total_count"), ("3", "first_packet"), ("4", "last_packet")],
    ),
    equal("An answer as CSV", "nfdump", Shape::Commas, &[("1", "1")], &[("2", "2")]),
    equal("JSON for jq", "nfdump", Shape::Words(1), &[], &[("1", "1")]),
];
