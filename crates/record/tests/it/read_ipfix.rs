//! IPFIX as routers send it, written by hand from RFC 7011.

use crate::given::{Given, given, of_bytes};
use flow::{FlowKey, NULL, RowValue, float_bits};
use record::Format;
use record::read::{FlowFile, ReadProjection};

const SECOND: u64 = 1_000_000_000;
/// 2023-11-14 22:13:20 UTC.
const START: u64 = 1_700_000_000 * SECOND;
const VARIABLE: u16 = 65535;

/// A field of a template: enterprise, number, length.
type Field = (u32, u16, u16);

fn template_with(id: u16, scope: Option<u16>, fields: &[Field]) -> Vec<u8> {
    let mut out = [id.to_be_bytes(), (fields.len() as u16).to_be_bytes()].concat();
    out.extend(scope.into_iter().flat_map(u16::to_be_bytes));
    for (enterprise, number, length) in fields {
        let mark = if *enterprise == 0 { 0 } else { 0x8000 };
        out.extend((number | mark).to_be_bytes());
        out.extend(length.to_be_bytes());
        if *enterprise != 0 {
            out.extend(enterprise.to_be_bytes());
        }
    }
    out
}

fn template(id: u16, fields: &[Field]) -> Vec<u8> {
    template_with(id, None, fields)
}

fn set(id: u16, content: &[u8]) -> Vec<u8> {
    let length = 4 + content.len() as u16;
    [&id.to_be_bytes()[..], &length.to_be_bytes(), content].concat()
}

fn message(domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let sets = sets.concat();
    let mut out = [10, 16 + sets.len() as u16].map(u16::to_be_bytes).concat();
    out.extend([1_700_000_100, 0, domain].map(u32::to_be_bytes).concat());
    out.extend(sets);
    out
}

fn open(messages: &[Vec<u8>]) -> FlowFile {
    of_bytes(Format::Ipfix, messages.concat()).unwrap()
}

fn read(messages: &[Vec<u8>], columns: &[RowValue]) -> Given {
    let members = vec!["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];
    given(
        &mut open(messages),
        &ReadProjection { members, columns: columns.to_vec(), statistics: Vec::new(), ..Default::default() },
    )
}

fn key(source: &str, destination: &str, ports: [u16; 2], protocol: u8) -> FlowKey {
    let of = |text: &str| text.parse().unwrap();
    FlowKey::five_tuple((of(source), ports[0]), (of(destination), ports[1]), protocol)
}

fn ntp(seconds: u64, fraction: u64) -> [u8; 8] {
    ((seconds + 2_208_988_800) << 32 | fraction).to_be_bytes()
}

#[test]
fn a_routers_records_are_read_from_other_elements_and_lengths() {
    // Interfaces, next hops and the like are no fields; counters are shortened (RFC 7011, section 6.2).
    let fields = [
        (0, 10, 4),
        (0, 8, 4),
        (0, 12, 4),
        (0, 4, 1),
        (0, 180, 2),
        (0, 181, 2),
        (0, 85, 4),
        (0, 86, 2),
        (0, 152, 8),
        (0, 153, 8),
        (0, 6, 2),
        (9, 7, VARIABLE),
        (0, 58, 2),
    ];
    let record = |last: u8, name: &[u8], vlan: u16| {
        let mut record = vec![0, 0, 0, 7, 10, 0, 0, 1, 10, 0, 0, last, 17, 4, 210, 0, 53];
        record.extend([0, 1, 0, 0, 0, 9]);
        record.extend((START / 1_000_000 + 5).to_be_bytes());
        record.extend((START / 1_000_000 + 7).to_be_bytes());
        record.extend([0xf0, 0x12]);
        record.extend(name);
        record.extend(vlan.to_be_bytes());
        record
    };
    let long = [&[255, 1, 44][..], &[7; 300]].concat();
    let data = [record(2, &[2, 1, 1], 0), record(3, &long, 12), vec![0; 3]].concat();
    let messages = [message(1, &[set(2, &template(300, &fields)), set(300, &data)])];
    let file = open(&messages);
    let unread: Vec<_> = file.contents().unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["element 10", "element 9/7"]);
    let columns = [
        RowValue::Bytes,
        RowValue::Packets,
        RowValue::First,
        RowValue::Time,
        RowValue::TcpFlags,
        RowValue::Vlan,
        RowValue::IpTtl,
    ];
    let given = read(&messages, &columns);
    let values = |vlan| vec![65536, 9, START + 5_000_000, START + 7_000_000, 0x12, vlan, NULL];
    assert_eq!(
        given.rows,
        [
            (key("10.0.0.1", "10.0.0.2", [1234, 53], 17), values(NULL)),
            (key("10.0.0.1", "10.0.0.3", [1234, 53], 17), values(12)),
        ]
    );
    assert_eq!((given.error, given.without_key.rows), (None, 0));
}

#[test]
fn times_of_all_kinds() {
    let cases: [(&[Field], Vec<u8>, u64); 10] = [
        (&[(0, 151, 4)], 1_700_000_000_u32.to_be_bytes().to_vec(), START),
        (&[(0, 153, 8)], 1_700_000_000_001_u64.to_be_bytes().to_vec(), START + 1_000_000),
        // 0.5 s; a microsecond whose fraction is cut.
        (&[(0, 155, 8)], ntp(1_700_000_000, 1 << 31).to_vec(), START + SECOND / 2),
        (&[(0, 155, 8)], ntp(1_700_000_000, 123_456 * (1 << 32) / 1_000_000).to_vec(), START + 123_456_000),
        (&[(0, 157, 8)], ntp(1_700_000_000, 123_456_789 * (1 << 32) / SECOND).to_vec(), START + 123_456_789),
        // The second era of NTP begins on 7 February 2036.
        (&[(0, 157, 8)], 1_u64.wrapping_shl(32).to_be_bytes().to_vec(), 2_085_978_497 * SECOND),
        // Before the export time; since the system's start.
        (&[(0, 159, 4)], 2_500_000_u32.to_be_bytes().to_vec(), START + 97_500_000_000),
        (
            &[(0, 160, 8), (0, 21, 4)],
            [&1_699_999_000_000_u64.to_be_bytes()[..], &1_000_250_u32.to_be_bytes()].concat(),
            START + SECOND / 4,
        ),
        // The uptime's 32 bits have begun anew twice.
        (
            &[(0, 160, 8), (0, 21, 4)],
            [&(1_700_000_000_000_u64 - (2 << 32)).to_be_bytes()[..], &250_u32.to_be_bytes()].concat(),
            START + SECOND / 4,
        ),
        // Of several the exact one.
        (
            &[(0, 151, 4), (0, 157, 8), (0, 153, 8)],
            [&1_u32.to_be_bytes()[..], &ntp(1_700_000_000, 0), &[0; 8]].concat(),
            START,
        ),
    ];
    for (fields, data, time) in cases {
        let messages = [message(1, &[set(2, &template(256, fields)), set(256, &data)])];
        let wanted = ReadProjection { columns: vec![RowValue::Time], ..ReadProjection::default() };
        let given = given(&mut open(&messages), &wanted);
        assert_eq!(given.rows.first().map(|(_, values)| values[0]), Some(time), "{fields:?}");
    }
}

#[test]
fn a_file_of_samples_says_so() {
    let packets = set(2, &template(256, &[(0, 2, 1)]));
    let options = |field: Field| set(3, &template_with(257, Some(1), &[(0, 149, 4), field]));
    let of = |sets: &[Vec<u8>]| open(&[message(1, sets)]).contents().sampled;
    assert!(!of(&[packets.clone(), set(256, &[9])]));
    assert!(!of(&[options((0, 34, 4)), set(257, &[0, 0, 0, 1, 0, 0, 0, 1])]));
    assert!(of(&[options((0, 34, 4)), set(257, &[0, 0, 0, 1, 0, 0, 0, 100])]));
    assert!(of(&[options((0, 306, 2)), set(257, &[0, 0, 0, 1, 0, 9])]));
    // In the records themselves.
    let own = set(2, &template(258, &[(0, 2, 1), (0, 309, 1), (0, 310, 1)]));
    assert!(!of(&[own.clone(), set(258, &[9, 1, 1])]));
    assert!(of(&[own, set(258, &[9, 1, 2])]));
}

#[test]
fn templates_are_of_a_domain_and_change_and_go() {
    let packets = &[(0, 2, 1)];
    let octets = &[(0, 1, 1)];
    let messages = [
        // Unknown yet.
        message(1, &[set(256, &[9])]),
        message(1, &[set(2, &template(256, packets)), set(256, &[1, 2])]),
        message(2, &[set(256, &[9])]),
        message(2, &[set(2, &[template(256, octets), vec![0, 0]].concat()), set(256, &[3])]),
        message(1, &[set(256, &[4])]),
        // Another template of the number; then none.
        message(1, &[set(2, &template(256, &[(0, 1, 1), (0, 2, 2)])), set(256, &[5, 0, 6, 0])]),
        message(1, &[set(2, &[1, 0, 0, 0]), set(256, &[9]), set(77, &[1])]),
        message(2, &[set(256, &[7])]),
        message(2, &[set(2, &[0, 2, 0, 0]), set(256, &[9])]),
    ];
    let given = read(&messages, &[RowValue::Packets, RowValue::Bytes]);
    let rows: Vec<_> = given.rows.iter().map(|(_, values)| (values[0], values[1])).collect();
    assert_eq!((rows.len(), given.without_key.rows, given.error), (0, 6, None));
    assert_eq!((given.without_key.packets, given.without_key.bytes), (1 + 2 + 4 + 6, 3 + 5 + 7));
    let file = open(&messages);
    let unread: Vec<_> = file.contents().unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["sets of template 256 of domain 1", "sets of template 256 of domain 2"]);
}

#[test]
fn options_name_domains_and_elements() {
    let describe: &[Field] = &[(0, 346, 4), (0, 303, 2), (0, 341, VARIABLE)];
    let describes = |number: u16, name: &str| {
        [&4242_u32.to_be_bytes()[..], &number.to_be_bytes(), &[name.len() as u8], name.as_bytes()].concat()
    };
    let names =
        [describes(7, "gap_mean"), describes(8, "reverse_gap_mean"), describes(9, "ploss_byte")].concat();
    let flow =
        template(300, &[(0, 8, 4), (0, 2, 1), (29305, 2, 1), (4242, 7, 8), (4242, 8, 4), (4242, 9, 2)]);
    let data = |octet: u8, reverse: u8| {
        let head = [10, 0, 0, octet, 3, reverse];
        [&head[..], &1.5_f64.to_be_bytes(), &2.5_f32.to_be_bytes(), &[1, 0]].concat()
    };
    let messages = [message(
        5,
        &[
            set(3, &template_with(256, Some(2), describe)),
            set(3, &template_with(257, Some(1), &[(0, 149, 4), (0, 300, VARIABLE)])),
            set(2, &flow),
            set(256, &names),
            set(300, &[data(1, 4), data(2, 0)].concat()),
            set(257, &[&5_u32.to_be_bytes()[..], &[5], b"north"].concat()),
        ],
    )];
    let mut file = open(&messages);
    let contents = file.contents();
    assert_eq!(contents.node.as_deref(), Some("north"));
    assert_eq!((&contents.statistics[..], contents.tracked.loss), (&["gap_mean".to_owned()][..], true));
    let wanted = ReadProjection {
        members: vec!["src_addr", "dst_addr"],
        columns: vec![RowValue::Packets, RowValue::Statistic(0), RowValue::PlossByte],
        statistics: vec!["gap_mean".to_owned()],
        ..Default::default()
    };
    let given = given(&mut file, &wanted);
    // A record has another direction only where it has packets.
    let (mean, reverse_mean) = (float_bits(Some(1.5)), float_bits(Some(2.5)));
    assert_eq!(
        given.rows,
        [
            (key("0.0.0.0", "10.0.0.1", [0; 2], 0), vec![4, reverse_mean, NULL]),
            (key("10.0.0.1", "0.0.0.0", [0; 2], 0), vec![3, mean, 256]),
            (key("10.0.0.2", "0.0.0.0", [0; 2], 0), vec![3, mean, 256]),
        ]
    );
    assert_eq!(given.nodes, ["north"]);
}

#[test]
fn of_two_addresses_the_one_that_is_set_counts() {
    let fields = [(0, 8, 4), (0, 27, 16), (0, 12, 4), (0, 28, 16)];
    let v6 = "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let data = [
        [&[10, 0, 0, 1][..], &[0; 16], &[10, 0, 0, 2], &[0; 16]].concat(),
        [&[0; 4][..], &v6, &[0; 4], &v6].concat(),
    ];
    let given = read(&[message(1, &[set(2, &template(256, &fields)), set(256, &data.concat())])], &[]);
    let rows: Vec<_> = given.rows.iter().map(|(key, _)| *key).collect();
    assert_eq!(rows, [key("10.0.0.1", "10.0.0.2", [0; 2], 0), key("2001:db8::1", "2001:db8::1", [0; 2], 0)]);
}

#[test]
fn the_element_of_an_address_tells_its_family() {
    let [v4, v6] = [[(0, 8, 4), (0, 2, 4)], [(0, 27, 16), (0, 2, 4)]];
    let mapped = "::ffff:10.0.0.1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let templates = [template(300, &v4), template(301, &v6)].concat();
    let of_v4 = [&[10, 0, 0, 1][..], &[0, 0, 0, 3]].concat();
    let of_v6 = [&mapped[..], &[0, 0, 0, 5]].concat();
    let messages = [message(1, &[set(2, &templates), set(300, &of_v4), set(301, &of_v6)])];
    // Whether a question reads one address or both.
    for members in [vec!["src_addr"], vec!["src_addr", "dst_addr"]] {
        let wanted = ReadProjection {
            members,
            columns: vec![RowValue::Packets],
            statistics: Vec::new(),
            ..Default::default()
        };
        let given = given(&mut open(&messages), &wanted);
        let mut rows: Vec<_> =
            given.rows.iter().map(|(key, values)| (key.src_addr.unwrap().to_string(), values[0])).collect();
        rows.sort();
        assert_eq!(rows, [("10.0.0.1".to_owned(), 3), ("::ffff:10.0.0.1".to_owned(), 5)]);
    }
}

#[test]
fn errors_name_the_message_and_the_records_before_are_given() {
    let good =
        message(1, &[set(2, &template(256, &[(0, 8, 4), (0, 7, 4)])), set(256, &[10, 0, 0, 1, 0, 0, 0, 1])]);
    let length = good.len();
    let bad = |sets: &[Vec<u8>]| message(1, sets);
    let mut wrong_version = good.clone();
    wrong_version[1] = 9;
    for (next, error) in [
        (wrong_version, "its version is 9, not 10"),
        (good[..10].to_vec(), "the file ends in its header"),
        (good[..length - 1].to_vec(), "the file ends after"),
        (bad(&[vec![1, 0, 0, 3]]), "the set at octet 16 has 3 octets"),
        (bad(&[vec![1, 0, 0, 9]]), "the set at octet 16 has 9 octets"),
        (bad(&[set(2, &[1, 0, 0, 2, 0, 1, 0, 1])]), "a template is cut off"),
        (bad(&[set(2, &[0, 9, 0, 1, 0, 1, 0, 1])]), "template 9 of 1 fields"),
        (
            bad(&[set(2, &template(257, &[(0, 300, VARIABLE)])), set(257, &[5, 0])]),
            "a record is longer than its set",
        ),
        (bad(&[set(256, &[10, 0, 0, 1, 0, 1, 0, 0])]), "the number 65536 is greater than 65535: src_port"),
        (
            bad(&[set(2, &template(257, &[(0, 8, 5)])), set(257, &[1; 5])]),
            "a value of 5 octets is none of src_addr",
        ),
    ] {
        let given = read(&[good.clone(), next], &[]);
        let text = given.error.map(|error| error.to_string()).unwrap_or_default();
        let place = format!("flows.ipfix: damaged: message 2, at octet {length}: ");
        assert!(text.starts_with(&place) && text.contains(error) && !text.contains('\n'), "{text}");
        assert_eq!(given.rows.len(), 1, "{error}");
    }
}

#[test]
fn fields_without_octets_cost_nothing() {
    // Padding of no length is allowed to stand in a template, and a template may consist of it.
    let many: Vec<Field> = (0..4000).map(|_| (0, 210, 0)).chain([(0, 8, 4)]).collect();
    let messages = [
        message(1, &[set(2, &template(256, &many)), set(256, &[10, 0, 0, 1].repeat(10_000))]),
        message(1, &[set(2, &template(257, &[(0, 210, 0)])), set(257, &[0; 60_000])]),
    ];
    let given = read(&messages, &[]);
    assert_eq!((given.rows.len(), given.error), (10_000, None));
}

/// Packets and bytes of the rows of a file of one template.
fn counted(fields: &[Field], records: &[Vec<u8>]) -> Vec<(u64, u64)> {
    let fields = [&[(0, 8, 4), (0, 12, 4)], fields].concat();
    let of = |record: &Vec<u8>| [&[10, 0, 0, 1, 10, 0, 0, 2][..], record].concat();
    let data: Vec<u8> = records.iter().flat_map(of).collect();
    let messages = [message(1, &[set(2, &template(256, &fields)), set(256, &data)])];
    let given = read(&messages, &[RowValue::Packets, RowValue::Bytes]);
    assert_eq!(given.error, None);
    let mut rows: Vec<_> = given.rows.iter().map(|(_, values)| (values[0], values[1])).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn totals_that_grow_are_differences_in_files_too() {
    let totals = [(0, 86, 1), (0, 85, 1), (0, 150, 4)];
    let record = |packets: u8, start: u8| vec![packets, 2 * packets, 0, 0, 1, start];
    assert_eq!(counted(&totals, &[record(10, 1), record(20, 1), record(30, 1)]), [(10, 20); 3]);
    // Another flow of the key.
    assert_eq!(
        counted(&totals, &[record(10, 1), record(40, 2), record(50, 2)]),
        [(10, 20), (10, 20), (40, 80)]
    );
    // Whatever is wanted of the rows, the flows are told apart. Rows are sorted.
    let messages = [message(
        1,
        &[
            set(2, &template(256, &[(0, 8, 4), (0, 86, 1)])),
            set(256, &[[10, 0, 0, 1, 10], [10, 0, 0, 2, 30], [10, 0, 0, 1, 15]].concat()),
        ],
    )];
    let wanted = ReadProjection { columns: vec![RowValue::Packets], ..ReadProjection::default() };
    let rows = given(&mut open(&messages), &wanted).rows;
    let packets: Vec<_> = rows.iter().map(|(_, values)| values[0]).collect();
    assert_eq!(packets, [5, 10, 30]);
}

#[test]
fn counts_of_both_directions_and_of_what_left() {
    assert_eq!(
        counted(&[(0, 2, 1), (0, 1, 1), (0, 24, 1), (0, 23, 1)], &[vec![0, 0, 5, 9], vec![1, 2, 5, 9]]),
        [(1, 2), (5, 9)]
    );
    assert_eq!(counted(&[(0, 2, 1), (0, 1, 1), (0, 86, 1), (0, 85, 1)], &[vec![0, 0, 5, 9]]), [(5, 9)]);
    let biflow = [(0, 86, 1), (0, 85, 1), (29305, 86, 1), (29305, 85, 1)];
    assert_eq!(counted(&biflow, &[vec![10, 50, 5, 70]]), [(5, 70), (10, 50)]);
    assert_eq!(
        counted(&[(0, 298, 1), (0, 231, 1), (0, 299, 1), (0, 232, 1)], &[vec![1, 2, 3, 4]]),
        [(1, 2), (3, 4)]
    );
    // Of the other direction bytes alone, which may be none.
    let firewall = [(0, 298, 1), (0, 231, 1), (0, 232, 1)];
    assert_eq!(counted(&firewall, &[vec![1, 2, 4], vec![1, 3, 0]]), [(1, 2), (1, 3), (NULL, 4)]);
    assert_eq!(
        counted(&[(0, 1, 1), (29305, 1, 1)], &[vec![7, 9], vec![5, 0]]),
        [(NULL, 5), (NULL, 7), (NULL, 9)]
    );
    // They are there whatever is wanted of the rows.
    let fields = [(0, 8, 4), (0, 12, 4), (0, 2, 1), (0, 231, 1), (0, 232, 1)];
    let data = set(256, &[10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 4]);
    let rows = read(&[message(1, &[set(2, &template(256, &fields)), data])], &[]).rows;
    assert_eq!(rows.len(), 2);
}

#[test]
fn durations_and_events_are_times() {
    let times = |fields: &[Field], data: &[u8]| {
        let messages = [message(1, &[set(2, &template(256, fields)), set(256, data)])];
        let wanted =
            ReadProjection { columns: vec![RowValue::First, RowValue::Time], ..ReadProjection::default() };
        given(&mut open(&messages), &wanted).rows[0].1.clone()
    };
    let start = 1_700_000_000_u32.to_be_bytes();
    assert_eq!(
        times(&[(0, 150, 4), (0, 161, 2)], &[&start[..], &[0x46, 0x50]].concat()),
        [START, START + 18 * SECOND]
    );
    assert_eq!(times(&[(0, 322, 4)], &start), [NULL, START]);
    let both = open(&[message(1, &[set(2, &template(256, &[(0, 150, 4), (0, 161, 2)]))])]);
    assert!(both.contents().fields.contains("stime") && both.contents().fields.contains("ltime"));
}

#[test]
fn records_without_an_address_have_no_key_where_others_have_it() {
    // Of 60,000 records the last one alone has a destination; the template stands before all.
    let templates =
        [template(256, &[(0, 8, 4), (0, 7, 2)]), template(257, &[(0, 8, 4), (0, 12, 4)])].concat();
    let without = message(1, &[set(256, &[10, 0, 0, 1, 0, 80].repeat(10_000))]);
    let with = message(1, &[set(257, &[10, 0, 0, 1, 10, 0, 0, 2])]);
    let mut messages = vec![message(1, &[set(2, &templates)])];
    messages.extend(std::iter::repeat_n(without, 6));
    let of = |messages: &[Vec<u8>]| {
        let given = read(messages, &[]);
        (given.rows.len(), given.without_key.rows)
    };
    assert_eq!(of(&messages), (60_000, 0), "a template without records tells nothing");
    messages.push(with);
    assert_eq!(of(&messages), (1, 60_000));
}

/// Bytes on the wire of 0 next to bytes of packets are not known ones, whichever columns are read.
#[test]
fn no_bytes_on_the_wire_are_not_known_ones_when_read_alone() {
    let fields: Vec<Field> = [8, 12, 2, 1, 352].map(|number| (0, number, 4)).to_vec();
    let record = |wire: u32| {
        let numbers = [3, 300, wire].map(u32::to_be_bytes).concat();
        [&[10, 0, 0, 1, 10, 0, 0, 2][..], &numbers].concat()
    };
    let messages =
        [message(1, &[set(2, &template(256, &fields)), set(256, &[record(0), record(342)].concat())])];
    for columns in [&[RowValue::WireBytes][..], &[RowValue::WireBytes, RowValue::Bytes]] {
        let mut read: Vec<u64> = read(&messages, columns).rows.iter().map(|(_, values)| values[0]).collect();
        read.sort_unstable();
        assert_eq!(read, [342, NULL], "{columns:?}");
    }
}
