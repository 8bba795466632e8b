//! Files of other programs, written by hand.

use crate::given::{Given, given, of_bytes};
use flow::{FlowKey, NULL, RowValue, float_bits};
use packet::KeySpec;
use record::Format;
use record::read::{FlowFile, ReadProjection};

const SECOND: u64 = 1_000_000_000;
/// 2023-11-14 22:13:20 UTC.
const START: u64 = 1_700_000_000 * SECOND;

fn wanted(columns: &[RowValue]) -> ReadProjection {
    let members = vec!["src_addr", "dst_addr", "src_port", "dst_port", "protocol"];
    ReadProjection { members, columns: columns.to_vec(), statistics: Vec::new(), ..Default::default() }
}

fn five_tuple(source: &str, destination: &str, ports: [u16; 2], protocol: u8) -> FlowKey {
    let of = |text: &str| text.parse().unwrap();
    FlowKey::five_tuple((of(source), ports[0]), (of(destination), ports[1]), protocol)
}

fn open(format: Format, text: &str) -> FlowFile {
    of_bytes(format, text.as_bytes().to_vec()).unwrap()
}

fn refusal(format: Format, bytes: &[u8]) -> String {
    of_bytes(format, bytes.to_vec()).err().map(|error| error.to_string()).unwrap_or_default()
}

/// The only value of each row.
fn values(given: &Given) -> Vec<u64> {
    given.rows.iter().map(|(_, values)| values[0]).collect()
}

#[test]
fn csv_has_quotes_usual_names_and_other_columns() {
    let text = "\u{feff}dstip,\"bytes\",router,SrcIP,proto,sport,dport,\"odd \"\"name\"\"\",bytes\r\n\
        10.0.0.2,\"1500\",\"a,b\r\n\"\"c\"\"\",10.0.0.1/24,tcp,1234,80,x,7\r\n\
        \r\n\
        ::2,40.0,,::1,17,5,53,,8\r\n\
        ,99,,,,,,,\r\n";
    let mut file = open(Format::Csv, text);
    let contents = file.contents();
    assert_eq!((contents.key, contents.parts[0].bytes), (KeySpec::FIVE_TUPLE, text.len() as u64));
    let unread: Vec<_> = contents.unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["router", "odd \"name\"", "bytes"]);
    assert_eq!(contents.fields.iter().copied().collect::<Vec<_>>(), ["total_byte"]);
    let given = given(&mut file, &wanted(&[RowValue::Bytes, RowValue::Packets]));
    assert_eq!(
        given.rows,
        [
            (five_tuple("10.0.0.1", "10.0.0.2", [1234, 80], 6), vec![1500, NULL]),
            (five_tuple("::1", "::2", [5, 53], 17), vec![40, NULL]),
        ]
    );
    assert_eq!((given.without_key.rows, given.without_key.bytes, given.error), (1, 99, None));
}

#[test]
fn times_are_nanoseconds_seconds_with_a_fraction_or_dates() {
    let times = [
        ("1700000000000000001", START + 1),
        ("1700000000.25", START + SECOND / 4),
        ("1700000000.0000000019", START + 1),
        ("2023-11-14T22:13:20.5Z", START + SECOND / 2),
        ("2023-11-14 22:13:20", START),
        ("2023-11-15 00:13:20.000000001+02", START + 1),
        ("", NULL),
    ];
    for (text, time) in times {
        for (format, file) in [
            (Format::Csv, format!("ltime,bytes\n{text},1\n")),
            (Format::JsonLines, format!("{{\"ltime\":\"{text}\",\"bytes\":1}}\n")),
        ] {
            let given = given(
                &mut open(format, &file),
                &ReadProjection { columns: vec![RowValue::Time], ..ReadProjection::default() },
            );
            assert_eq!((values(&given), given.error), (vec![time], None), "{text}");
        }
    }
    // A number of JSON is read from its digits: as a double it would lose some.
    for (text, time) in [("1700000000.123456789", START + 123_456_789), ("1700000000000000001", START + 1)] {
        let mut file = open(Format::JsonLines, &format!("{{\"ltime\": {text}}}"));
        let given =
            given(&mut file, &ReadProjection { columns: vec![RowValue::Time], ..ReadProjection::default() });
        assert_eq!(values(&given), [time]);
    }
}

#[test]
fn errors_name_the_line_and_the_rows_before_are_given() {
    let long = "x".repeat(2 << 20);
    let unclosed = format!("bytes,node_id\n1,a\n2,\"{long}");
    let many = format!("{{\"bytes\":1}}\n{{\"bytes\":2,\"z\":\"{long}\"}}\n");
    for (format, text, error) in [
        (Format::Csv, "bytes,sport\n1,2\n3\n", "line 3: it has 1 fields, the header 2"),
        (Format::Csv, "bytes,sport\n1,2\n3,4,5\n", "line 3: it has 3 fields, the header 2"),
        (
            Format::Csv,
            "bytes,sport\n1,2\n3,65536\n",
            "line 3: column sport: the number 65536 is greater than 65535",
        ),
        (Format::Csv, "bytes,sport\n1,2\n-3,4\n", "line 3: column bytes: '-3' is not a number"),
        (Format::Csv, "node_id,bytes\n\"a\n\nb\",1\nx,y", "line 5: column bytes: 'y' is not a number"),
        (
            Format::Csv,
            "srcip,bytes\n10.0.0.1,1\n10.0.0,2\n",
            "line 3: column srcip: '10.0.0' is not an address",
        ),
        (Format::Csv, "ltime,bytes\n1,1\n14/11/2023,2\n", "line 3: column ltime: '14/11/2023' is not a time"),
        (Format::Csv, &unclosed, "line 3: it is longer than 1048576 bytes"),
        (Format::JsonLines, "{\"bytes\":1}\n\n{\"bytes\":2\n", "line 3: no complete JSON object: EOF"),
        (Format::JsonLines, "{\"bytes\":1}\n[2]\n", "line 2: no complete JSON object: invalid type"),
        (Format::JsonLines, "{\"bytes\":1}\n{\"bytes\":2}}\n", "line 2: no complete JSON object: trailing"),
        (
            Format::JsonLines,
            "{\"bytes\":1}\n{\"bytes\":[2]}\n",
            "line 2: member bytes: a nested value is not read",
        ),
        (
            Format::JsonLines,
            "{\"bytes\":1}\n{\"bytes\":true}\n",
            "line 2: member bytes: true and false are not read",
        ),
        (
            Format::JsonLines,
            "{\"bytes\":1}\n{\"bytes\":1e3}\n",
            "line 2: column bytes: '1e3' is not a number",
        ),
        (Format::JsonLines, &many, "line 2: it is longer than 1048576 bytes"),
    ] {
        let wanted = ReadProjection {
            members: vec!["src_addr", "src_port"],
            columns: vec![RowValue::Bytes, RowValue::Time],
            ..ReadProjection::default()
        };
        let given = given(&mut open(format, text), &wanted);
        let text = given.error.unwrap().to_string();
        assert!(text.contains(&format!("damaged: {error}")), "{text}");
        assert!(!text.contains('\n') && text.len() < 200, "{text}");
        assert_eq!(given.rows.len() as u64 + given.without_key.rows, 1, "{error}");
    }
}

#[test]
fn what_is_no_flow_file_is_refused() {
    for (format, bytes, reason) in [
        (Format::Csv, &b""[..], "the header line"),
        (Format::Csv, b"1,2,3\n4,5,6\n", "no column of the header line is a field"),
        (Format::JsonLines, b"src_addr,bytes\n", "line 1: no complete JSON object"),
        (Format::JsonLines, b"{\"a\":1}\n", "no member of its objects is a field"),
        (Format::Ipfix, b"", "it is empty"),
        (Format::Ipfix, b"src_addr,total_byte\n10.0.0.1,1\n", "its version is 29554, not 10"),
        (Format::Ipfix, &[0, 10, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "its length is 3 octets"),
        (Format::Parquet, b"PAR1 is not enough PAR1", "no complete Parquet file"),
    ] {
        let error = refusal(format, bytes);
        assert!(error.contains(reason) && !error.contains('\n'), "{error}");
    }
    // Nothing is no damage where there is no header.
    let mut empty = open(Format::JsonLines, "\n");
    let given = given(&mut empty, &wanted(&[]));
    assert_eq!((given.rows.len(), given.error), (0, None));
}

#[test]
fn json_lines_have_members_in_any_order_and_new_ones_later() {
    let text = "{\"srcip\":\"10.0.0.1\",\"bytes\":null,\"x\":{\"y\":[1,\"}\"]}}\n\
        {\"b\":true,\"bytes\":\"18446744073709551614\",\"\\u0073rcip\":\"10.0.0.\\u0032\",\"proto\":\"udp\",\"gap_mean\":0.1}\n\
        {}\n";
    let mut file = open(Format::JsonLines, text);
    assert_eq!(file.contents().statistics, ["gap_mean"]);
    let unread: Vec<_> = file.contents().unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["x", "b"]);
    let wanted = ReadProjection {
        members: vec!["src_addr", "protocol"],
        columns: vec![RowValue::Bytes, RowValue::Statistic(0)],
        statistics: vec!["gap_mean".to_owned()],
        ..Default::default()
    };
    let given = given(&mut file, &wanted);
    assert_eq!(
        given.rows,
        [
            (five_tuple("10.0.0.1", "0.0.0.0", [0; 2], 0), vec![NULL, NULL]),
            (five_tuple("10.0.0.2", "0.0.0.0", [0; 2], 17), vec![u64::MAX - 1, float_bits(Some(0.1))]),
        ]
    );
    assert_eq!((given.without_key.rows, given.error), (1, None));
}

#[test]
fn rows_of_several_observation_points_are_in_blocks_of_one() {
    let mut text = "node_id,bytes\n".to_owned();
    for at in 0..5000 {
        text += &format!("{},{at}\n", ["north", "south", ""][at % 3]);
    }
    let mut sums = std::collections::BTreeMap::new();
    let wanted = ReadProjection { columns: vec![RowValue::Bytes], ..ReadProjection::default() };
    let read = open(Format::Csv, &text).read_part(0, &wanted, &mut |block| {
        let values = block.v4.column(RowValue::Bytes);
        assert_eq!(values.len(), block.v4.len());
        let sum: &mut (usize, u64) = sums.entry(block.node.as_deref().map(str::to_owned)).or_default();
        *sum = (sum.0 + values.len(), sum.1 + values.iter().sum::<u64>());
        true
    });
    let of = |rest: u64| {
        let all = (0..5000).filter(|at| at % 3 == rest);
        (all.clone().count(), all.sum::<u64>())
    };
    assert_eq!(read, Ok(()));
    let expected = [(Some("north".to_owned()), of(0)), (Some("south".to_owned()), of(1)), (None, of(2))];
    assert_eq!(sums, expected.into());

    // More than memory is meant for.
    let many: String = (0..3000).map(|at| format!("node{at},1\n")).collect();
    let given = given(&mut open(Format::Csv, &format!("node_id,bytes\n{many}")), &wanted);
    assert!(given.error.unwrap().to_string().contains("line 1026: the rows are of more than 1024"));
}

/// Rows with a key, and without one, of these destinations in blocks of 4096 rows.
fn keys_and_rows_without(format: Format, destinations: &[&str], note: &str) -> (usize, u64) {
    let mut text = match format {
        Format::Csv => "src_addr,dst_addr,bytes,note\n".to_owned(),
        _ => String::new(),
    };
    for destination in destinations {
        text += &match (format, *destination) {
            (Format::Csv, destination) => format!("10.0.0.1,{destination},1,{note}\n"),
            (_, "null") => {
                format!("{{\"src_addr\":\"10.0.0.1\",\"dst_addr\":null,\"bytes\":1,\"note\":\"{note}\"}}\n")
            }
            (_, destination) => format!(
                "{{\"src_addr\":\"10.0.0.1\",\"dst_addr\":\"{destination}\",\"bytes\":1,\"note\":\"{note}\"}}\n"
            ),
        };
    }
    let wanted = ReadProjection {
        members: vec!["src_addr", "dst_addr"],
        columns: vec![RowValue::Bytes],
        ..ReadProjection::default()
    };
    let mut file = open(format, &text);
    let all = given(&mut file, &wanted);
    assert!(all.error.is_none());
    let again = given(&mut file, &wanted);
    assert_eq!((again.rows.len(), again.without_key.rows), (all.rows.len(), all.without_key.rows));
    (all.rows.len(), all.without_key.rows)
}

#[test]
fn rows_without_an_address_have_no_key_where_any_row_has_it() {
    for (format, none) in [(Format::Csv, ""), (Format::JsonLines, ""), (Format::JsonLines, "null")] {
        // Only the second of three blocks has a destination.
        let mut destinations = vec![none; 3 * 4_096];
        assert_eq!(keys_and_rows_without(format, &destinations, ""), (3 * 4_096, 0));
        destinations[5_000] = "10.0.0.2";
        assert_eq!(keys_and_rows_without(format, &destinations, ""), (1, 3 * 4_096 - 1));
        // Behind 16 MiB it is found when it is read.
        destinations.resize(4_096 * 5, none);
        destinations[5_000] = none;
        destinations[4_096 * 4 + 100] = "10.0.0.2";
        let found = keys_and_rows_without(format, &destinations, &"n".repeat(1_024));
        assert_eq!(found, (4 * 4_096 + 1, 4_095));
    }
}
