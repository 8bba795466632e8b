//! Values that packets and records did not tell, and that count as 0.

/// The field that only samples leave open: what their packets and bytes stand for is an estimate.
const SAMPLING_RATE: &str = "sampling_rate";

/// The fields that records of routers and of files may leave open. A row has 0 in the place of each, but its end in the place of its begin, its begin
/// in the place of its end, and null of its bytes on the wire, its VLAN and its MAC addresses.
const FIELDS: [&str; 20] = [
    SAMPLING_RATE,
    "src_addr",
    "dst_addr",
    "src_port",
    "dst_port",
    "protocol",
    "stime",
    "ltime",
    "total_count",
    "total_byte",
    "wire_byte",
    "vlan",
    "smac",
    "dmac",
    "ip_tos",
    "ip_ttl",
    "tcp_flags",
    "tcp_seq",
    "tcp_ack",
    "tcp_win",
];
/// The fields of a key that a cut header takes away.
const PORTS: [&str; 2] = ["src_port", "dst_port"];
/// The fields of a TCP header, without its ports.
const TCP: [&str; 4] = ["tcp_flags", "tcp_seq", "tcp_ack", "tcp_win"];

/// The fields that a frame tells without its headers.
const OF_FRAMES: [&str; 7] = ["total_count", "wire_byte", "stime", "ltime", "vlan", "smac", "dmac"];
/// The fields of which rows of a file may have null.
const NULLABLE: [&str; 8] =
    ["ltime", "wire_byte", "ip_tos", "ip_ttl", "tcp_flags", "tcp_seq", "tcp_ack", "tcp_win"];

/// The protocol numbers (IANA) of TCP, and of others with ports: UDP, SCTP and UDP-Lite.
const TCP_NUMBER: u8 = 6;
const WITH_PORTS: [u8; 3] = [17, 132, 136];
/// The protocol numbers of ICMP and ICMPv6.
const ICMP: [u8; 2] = [1, 58];

/// The set of fields that one record leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFields(u32);

impl OpenFields {
    /// Returns the set of the field of this name; the empty set if a row has no other value in its place.
    pub const fn from_field(field: &str) -> Self {
        let mut at = 0;
        while at < FIELDS.len() {
            if are_equal(FIELDS[at].as_bytes(), field.as_bytes()) {
                return Self(1 << at);
            }
            at += 1;
        }
        Self(0)
    }

    /// Returns the set of the fields of these names.
    pub const fn all(fields: &[&str]) -> Self {
        let (mut all, mut at) = (0, 0);
        while at < fields.len() {
            all |= Self::from_field(fields[at]).0;
            at += 1;
        }
        Self(all)
    }

    /// Adds the fields of another set.
    pub fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }

    /// Removes the fields of another set.
    pub fn remove(&mut self, less: Self) {
        self.0 &= !less.0;
    }

    /// Returns the fields that packets of a protocol have. `None`: the protocol is not known.
    #[must_use]
    pub fn limit_to_protocol(self, protocol: Option<u8>) -> Self {
        let Some(protocol) = protocol else { return self };
        const OF_TCP: u32 = OpenFields::all(&TCP).0;
        const OF_PORTS: u32 = OpenFields::all(&PORTS).0;
        const SOURCE_PORT: u32 = OpenFields::from_field("src_port").0;
        let without = match protocol {
            TCP_NUMBER => 0,
            protocol if WITH_PORTS.contains(&protocol) => OF_TCP,
            // Type and code are the port of the destination.
            protocol if ICMP.contains(&protocol) => OF_TCP | SOURCE_PORT,
            _ => OF_TCP | OF_PORTS,
        };
        Self(self.0 & !without)
    }

    /// Returns whether one of others is among them.
    pub fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Returns whether two names are equal. Constants cannot compare texts by `==`.
const fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Numbers of packets and of records that do not tell a value, which counts as 0, or as nothing where rows of a file are read that have null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    /// Frames that the snap length of a capture cut before the addresses of a packet: they are in no row.
    pub cut_addresses: u64,
    /// Frames that the snap length of a capture cut before what the filter of the capture reads: they are in no row.
    pub cut_filter: u64,
    /// Packets whose headers the snap length cut before the one that tells the protocol. They are among those of `cut_ports`.
    pub cut_protocol: u64,
    /// Packets whose headers the snap length cut before their ports, or before the type and code of ICMP.
    pub cut_ports: u64,
    /// Packets whose headers the snap length cut before the flags, the numbers or the window of TCP.
    pub cut_tcp: u64,
    /// Packets whose headers the snap length cut before the one inside a tunnel that is to be measured: the outer one was.
    pub cut_inner: u64,
    /// TCP segments that could not be read, so that no losses and round trips are known of them.
    pub unparsed_segments: u64,
    /// The number of records that leave a field open, for each of [`FIELDS`].
    open: [u64; FIELDS.len()],
    /// The number of rows that have null of a field, for each of [`FIELDS`].
    null: [u64; FIELDS.len()],
}

impl Untold {
    /// Counts a record that leaves these fields open.
    pub fn add_record(&mut self, fields: OpenFields) {
        for (at, count) in self.open.iter_mut().enumerate() {
            *count = count.saturating_add(u64::from(fields.0 >> at & 1));
        }
    }

    /// Counts a row of a file that has null of these fields. Those of which rows have another value in its place, counters and members of keys among
    /// them, count as in records.
    pub fn add_row(&mut self, fields: OpenFields) {
        let null = OpenFields(fields.0 & OpenFields::all(&NULLABLE).0);
        self.add_record(OpenFields(fields.0 & !null.0));
        for (at, count) in self.null.iter_mut().enumerate() {
            *count = count.saturating_add(u64::from(null.0 >> at & 1));
        }
    }

    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.combine(more, u64::saturating_add);
    }

    /// Returns the lesser of each number and that of others.
    #[must_use]
    pub fn at_most(mut self, most: &Self) -> Self {
        self.combine(most, u64::min);
        self
    }

    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        let mut other = *other;
        self.counts().zip(other.counts()).for_each(|((_, own), (_, other))| *own = with(*own, *other));
        self.null.iter_mut().zip(other.null).for_each(|(own, other)| *own = with(*own, other));
    }

    /// Returns whether all is told.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the numbers that matter to what reads these fields; the others are 0. `by_flow`: it depends on which packets are one
    /// flow of keys with these members. `reads_losses`: it reads what is known of TCP losses.
    #[must_use]
    pub fn limit_to_fields(
        mut self,
        reads: impl Fn(&str) -> bool,
        by_flow: &[&str],
        reads_losses: bool,
    ) -> Self {
        if self.is_none() {
            return self;
        }
        // A sample has fewer packets and flows than there were, whatever is asked.
        let reads = |field: &str| field == SAMPLING_RATE || reads(field) || by_flow.contains(&field);
        let keep = |count: &mut u64, is_kept: bool| {
            if !is_kept {
                *count = 0;
            }
        };
        keep(&mut self.cut_protocol, reads("protocol"));
        keep(&mut self.cut_ports, PORTS.into_iter().any(reads));
        keep(&mut self.cut_tcp, TCP.into_iter().any(reads));
        let reads_header = FIELDS
            .into_iter()
            .any(|field| field != SAMPLING_RATE && !OF_FRAMES.contains(&field) && reads(field));
        keep(&mut self.cut_inner, reads_losses || reads_header);
        keep(&mut self.unparsed_segments, reads_losses);
        FIELDS.into_iter().zip(&mut self.open).for_each(|(field, count)| keep(count, reads(field)));
        FIELDS.into_iter().zip(&mut self.null).for_each(|(field, count)| keep(count, reads(field)));
        self
    }

    /// Returns the numbers that matter where no packets of TCP are read; those of fields that only TCP has are 0.
    #[must_use]
    pub fn without_tcp(mut self) -> Self {
        self.cut_tcp = 0;
        let all = FIELDS.into_iter().zip(&mut self.open).chain(FIELDS.into_iter().zip(&mut self.null));
        let of_tcp = all.filter(|(field, _)| TCP.contains(field));
        of_tcp.for_each(|(_, count)| *count = 0);
        self
    }

    /// Returns the number of records and rows that do not tell a field.
    pub fn without(&self, field: &str) -> u64 {
        let all = self.open_fields().chain(self.null_fields()).filter(|(name, _)| *name == field);
        all.fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Returns the numbers of all but a field, whose number is 0.
    #[must_use]
    pub fn but(mut self, field: &str) -> Self {
        let all = FIELDS.into_iter().zip(&mut self.open).chain(FIELDS.into_iter().zip(&mut self.null));
        all.filter(|(name, _)| *name == field).for_each(|(_, count)| *count = 0);
        self
    }

    /// Returns the number of records that are samples.
    pub fn samples(&self) -> u64 {
        self.without(SAMPLING_RATE)
    }

    /// Returns the numbers of what is not told of records, whether these are samples or not.
    #[must_use]
    pub fn but_samples(self) -> Self {
        self.but(SAMPLING_RATE)
    }

    /// Returns the number of records of a field alone; the other numbers are 0.
    #[must_use]
    pub fn only(&self, field: &str) -> Self {
        let kept = |counts: &[u64; FIELDS.len()]| {
            std::array::from_fn(|at| if FIELDS[at] == field { counts[at] } else { 0 })
        };
        Self { open: kept(&self.open), null: kept(&self.null), ..Self::default() }
    }

    fn counts(&mut self) -> impl Iterator<Item = (&'static str, &mut u64)> {
        let Self {
            cut_addresses,
            cut_filter,
            cut_protocol,
            cut_ports,
            cut_tcp,
            cut_inner,
            unparsed_segments,
            open,
            null: _,
        } = self;
        let cut = [
            ("cut_addresses", cut_addresses),
            ("cut_filter", cut_filter),
            ("cut_protocol", cut_protocol),
            ("cut_ports", cut_ports),
            ("cut_tcp", cut_tcp),
            ("cut_inner", cut_inner),
            ("unparsed_segments", unparsed_segments),
        ];
        cut.into_iter().chain(FIELDS.into_iter().zip(open))
    }

    /// Returns the fields that records leave open, each with the number of these records, which is not 0.
    pub fn open_fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
        FIELDS.into_iter().zip(self.open).filter(|(_, count)| *count != 0)
    }

    /// Returns the fields of which rows have null, each with the number of these rows, which is not 0.
    pub fn null_fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
        FIELDS.into_iter().zip(self.null).filter(|(_, count)| *count != 0)
    }

    /// Returns the numbers of what counts as 0 that are not 0, by their names: that of a field is of the records that leave it open.
    pub fn named(mut self) -> Vec<(&'static str, u64)> {
        self.counts().map(|(name, count)| (name, *count)).filter(|(_, count)| *count != 0).collect()
    }

    /// Adds to the number of this name. Returns false if there is none.
    pub fn add_named(&mut self, name: &str, more: u64) -> bool {
        let count = self.counts().find(|(known, _)| *known == name).map(|(_, count)| count);
        count.map(|count| *count = count.saturating_add(more)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_leave_open_what_packets_of_their_protocol_have() {
        let all = OpenFields::all(&FIELDS);
        let left = |protocol| {
            let mut untold = Untold::default();
            untold.add_record(all.limit_to_protocol(protocol));
            untold.named().into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(left(None), FIELDS);
        assert_eq!(left(Some(6)), FIELDS);
        assert_eq!(left(Some(17)), FIELDS[..16]);
        // ICMP has a type and a code in the place of the destination's port; OSPF has no ports.
        let of_ospf = [
            "sampling_rate",
            "src_addr",
            "dst_addr",
            "protocol",
            "stime",
            "ltime",
            "total_count",
            "total_byte",
            "wire_byte",
            "vlan",
            "smac",
            "dmac",
            "ip_tos",
            "ip_ttl",
        ];
        assert_eq!(left(Some(89)), of_ospf);
        assert_eq!(left(Some(58)), [&of_ospf[..3], &["dst_port"], &of_ospf[3..]].concat());
        assert!(OpenFields::all(&["end_reason", "node_id", "tcp", "tcp_flags_"]).is_empty());
    }

    #[test]
    fn numbers_matter_to_what_reads_them() {
        let mut all = Untold {
            cut_addresses: 1,
            cut_protocol: 2,
            cut_ports: 3,
            cut_tcp: 4,
            cut_inner: 6,
            unparsed_segments: 5,
            ..Default::default()
        };
        all.add_record(OpenFields::all(&["src_port", "ip_ttl"]));
        let names = |untold: Untold| untold.named().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let of = |fields: &[&str], by_flow: &[&str], losses| {
            names(all.limit_to_fields(|field| fields.contains(&field), by_flow, losses))
        };
        assert_eq!(of(&[], &[], false), ["cut_addresses"]);
        assert_eq!(
            of(&["ip_ttl", "tcp_win"], &[], true),
            ["cut_addresses", "cut_tcp", "cut_inner", "unparsed_segments", "ip_ttl"]
        );
        assert_eq!(
            of(&[], &["protocol", "src_port"], false),
            ["cut_addresses", "cut_protocol", "cut_ports", "cut_inner", "src_port"]
        );
        // An outer header is one packet as the inner one is, in the same frame.
        assert_eq!(of(&["total_count", "wire_byte", "vlan"], &[], false), ["cut_addresses"]);
        assert_eq!(of(&["total_byte"], &[], false), ["cut_addresses", "cut_inner"]);
        all.add_record(OpenFields::all(&["tcp_win"]));
        assert!(names(all).contains(&"tcp_win"));
        assert_eq!(
            names(all.without_tcp()),
            [
                "cut_addresses",
                "cut_protocol",
                "cut_ports",
                "cut_inner",
                "unparsed_segments",
                "src_port",
                "ip_ttl"
            ]
        );
        assert_eq!(names(all.at_most(&Untold { cut_tcp: 9, ..Untold::default() })), ["cut_tcp"]);
    }

    #[test]
    fn nulls_of_rows_are_told_apart() {
        let mut untold = Untold::default();
        untold.add_row(OpenFields::all(&["src_port", "total_byte", "ip_ttl", "stime"]));
        untold.add_row(OpenFields::all(&["ip_ttl"]));
        assert_eq!(untold.named(), [("src_port", 1), ("stime", 1), ("total_byte", 1)]);
        assert_eq!(untold.null_fields().collect::<Vec<_>>(), [("ip_ttl", 2)]);
        untold.add(&untold.clone());
        assert_eq!(
            untold.limit_to_fields(|field| field == "ip_ttl", &[], false).null_fields().next(),
            Some(("ip_ttl", 4))
        );
        assert_eq!((untold.without("ip_ttl"), untold.but("ip_ttl").without("ip_ttl")), (4, 0));
        assert_eq!(untold.only("stime").named(), [("stime", 2)]);
        assert!(untold.limit_to_fields(|field| field == "tcp_win", &[], false).is_none());
    }

    #[test]
    fn samples_matter_to_any_question() {
        let mut untold = Untold { cut_inner: 1, ..Untold::default() };
        untold.add_row(OpenFields::all(&["sampling_rate", "vlan"]));
        let mattering = untold.limit_to_fields(|_| false, &[], false);
        assert_eq!((mattering.samples(), mattering.named()), (1, vec![("sampling_rate", 1)]));
        assert!(mattering.but_samples().is_none());
    }

    #[test]
    fn numbers_have_names() {
        let mut one = Untold { cut_tcp: 1, ..Untold::default() };
        one.add_record(OpenFields::all(&["ip_tos", "ip_ttl"]));
        one.add_record(OpenFields::all(&["tcp_win"]));
        one.add_record(OpenFields::all(&["tcp_win"]));
        let mut other = Untold::default();
        assert!(
            one.named().into_iter().all(|(name, count)| other.add_named(name, count))
                && !other.add_named("end_reason", 1)
        );
        assert_eq!(other, one);
        assert_eq!(one.open_fields().collect::<Vec<_>>(), [("ip_tos", 1), ("ip_ttl", 1), ("tcp_win", 2)]);
        one.add(&other);
        assert_eq!(one.named(), [("cut_tcp", 2), ("ip_tos", 2), ("ip_ttl", 2), ("tcp_win", 4)]);
    }
}
