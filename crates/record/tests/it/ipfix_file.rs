//! IPFIX files, read by a decoder written from the RFC and by tshark.

use crate::ipfix;
use crate::ipfix::{Data, Element, Session, decode};
use crate::sample;
use crate::sample::{Bytes, Expected, expected_full};
use crate::tool;
use flow::FlowRecord;
use record::{Format, MeasurementTotals, RecordContents, Selection, domain_of};
use std::collections::{HashMap, HashSet};

const NODE: &str = "rack 7, \"north\"";
const OWN: u32 = 32473;
const REVERSE: u32 = 29305;

fn written(selection: &Selection, records: &[FlowRecord]) -> Vec<u8> {
    with_accounts(selection, records, &[])
}

fn with_accounts(selection: &Selection, records: &[FlowRecord], accounts: &[MeasurementTotals]) -> Vec<u8> {
    let bytes = Bytes::default();
    let mut writer = Format::Ipfix.writer(Box::new(bytes.clone()), NODE, selection).unwrap();
    for batch in records.chunks(700) {
        writer.write(batch).unwrap();
    }
    accounts.iter().for_each(|account| writer.account(account).unwrap());
    writer.finish().unwrap();
    bytes.take()
}

/// Which element carries a column, by the registry and `docs/ipfix.md`. An address has two.
fn elements(column: &str) -> Vec<Element> {
    let (name, is_reverse) = column.strip_prefix("reverse_").map_or((column, false), |name| (name, true));
    let registered: &[u16] = match name {
        "src_addr" => &[8, 27],
        "dst_addr" => &[12, 28],
        "protocol" => &[4],
        "src_port" => &[7],
        "dst_port" => &[11],
        "node_id" => &[300],
        "stime" => &[156],
        "ltime" => &[157],
        "smac" => &[56],
        "dmac" => &[80],
        "ip_ttl" => &[192],
        "ip_tos" => &[5],
        "tcp_seq" => &[184],
        "tcp_ack" => &[185],
        "tcp_win" => &[186],
        "total_count" => &[2],
        "total_byte" => &[1],
        "wire_byte" => &[352],
        "tcp_flags" => &[6],
        "vlan" => &[58],
        "end_reason" => &[136],
        _ => &[],
    };
    if !registered.is_empty() {
        return registered.iter().map(|number| (if is_reverse { REVERSE } else { 0 }, *number)).collect();
    }
    let loss = sample::LOSS_COLUMNS.iter().position(|of| *of == name).map(|at| at as u16 + 1);
    let statistic = sample::STATISTIC_COLUMNS.iter().position(|of| *of == name).map(|at| at as u16 + 64);
    let number = loss.or(statistic).unwrap_or_else(|| panic!("no element for {column}"));
    vec![(OWN, number | if is_reverse { 0x4000 } else { 0 })]
}

/// What a record holds for a column.
fn value(data: &Data, column: &str) -> Expected {
    let name = column.strip_prefix("reverse_").unwrap_or(column);
    let Some(element) = elements(column).into_iter().find(|element| data.octets(*element).is_some()) else {
        return Expected::Null;
    };
    let octets = data.octets(element).unwrap();
    match name {
        "src_addr" | "dst_addr" => Expected::Text(match octets.len() {
            4 => std::net::IpAddr::from(<[u8; 4]>::try_from(octets).unwrap()).to_string(),
            _ => std::net::IpAddr::from(<[u8; 16]>::try_from(octets).unwrap()).to_string(),
        }),
        "smac" | "dmac" if octets == [0; 6] => Expected::Null,
        "smac" | "dmac" => {
            let octets: Vec<_> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            Expected::Text(octets.join(":"))
        }
        "node_id" => Expected::Text(data.text(element).unwrap()),
        "stime" | "ltime" => Expected::Time(data.nanoseconds(element).unwrap()),
        "end_reason" => Expected::Text(
            match octets {
                [1] => "idle",
                [2] => "active",
                [4] => "end",
                _ => panic!("{octets:?}"),
            }
            .to_owned(),
        ),
        _ if sample::STATISTIC_COLUMNS.contains(&name) => match data.float(element).unwrap() {
            value if value.is_finite() => Expected::Float(value),
            _ => Expected::Null,
        },
        _ => Expected::Integer(data.unsigned(element).unwrap()),
    }
}

/// What the format can express: untagged is VLAN 0, bytes on the wire that are not known are 0, and NTP timestamps wrap in 2036.
fn in_ipfix(value: Expected, name: &str, record: &FlowRecord) -> Expected {
    const ERA: u64 = (1 << 32) - 2_208_988_800;
    match (value, name) {
        (Expected::Null, "vlan" | "wire_byte") => Expected::Integer(0),
        (Expected::Null, "reverse_vlan" | "reverse_wire_byte") if record.reverse().is_some() => {
            Expected::Integer(0)
        }
        (Expected::Time(ns), _) if ns / 1_000_000_000 >= ERA => Expected::Null,
        (value, _) => value,
    }
}

/// Times within the first era, so that they can be compared.
fn of_this_era(mut records: Vec<FlowRecord>) -> Vec<FlowRecord> {
    let year_2036 = 2_085_978_495_999_999_999;
    let fix = |record: &mut FlowRecord| {
        record.stime %= year_2036;
        record.ltime %= year_2036;
    };
    for record in &mut records {
        fix(record);
        if let Some(reverse) = record.more.as_mut().and_then(|more| more.reverse.as_mut()) {
            fix(reverse);
        }
    }
    records
}

fn check(session: &Session, records: &[FlowRecord], names: &[String]) {
    assert_eq!(session.flows.len(), records.len());
    for (data, record) in session.flows.iter().zip(records) {
        for (name, want) in expected_full(record, NODE).into_iter().filter(|(name, _)| names.contains(name)) {
            assert_eq!(value(data, &name), in_ipfix(want, &name, record), "{name} of {record:?}");
        }
        let times = [("stime", (0, 152), record.stime), ("ltime", (0, 153), record.ltime)];
        for (name, element, ns) in times {
            if names.iter().any(|of| of == name) {
                assert_eq!(data.unsigned(element), Some(ns / 1_000_000), "{name} in milliseconds");
            }
        }
    }
}

#[test]
fn every_value_of_every_record_is_there() {
    let plain = sample::COLUMNS.map(str::to_owned);
    let records = of_this_era(sample::records(3000));
    check(&decode(&written(&Selection::all(), &records)), &records, &plain);

    let full = of_this_era(sample::full_records(3000));
    let session = decode(&written(&Selection::new(&sample::parts()), &full));
    check(&session, &full, &sample::full_columns());
    for (data, record) in session.flows.iter().zip(&full) {
        // RFC 5103: a record of both directions states which packet decided the first.
        assert_eq!(data.unsigned((0, 239)), record.reverse().map(|_| 1));
        let reverse = data.0.iter().any(|((enterprise, _), _)| *enterprise == REVERSE);
        assert_eq!(reverse, record.reverse().is_some());
    }
}

#[test]
fn a_selection_chooses_the_elements_and_their_order() {
    let records = of_this_era(sample::full_records(500));
    let list = "total_byte,src_addr,reverse_rtt_min,iat_p99.9,vlan";
    let selection = Selection::parse(list, &sample::parts()).unwrap();
    let session = decode(&written(&selection, &records));
    let names: Vec<_> = list.split(',').map(str::to_owned).collect();
    check(&session, &records, &names);
    for (data, record) in session.flows.iter().zip(&records) {
        assert_eq!(data.0[0].0, (0, 1));
        assert!(data.0.len() <= 6, "{data:?}");
        // What was not chosen makes no difference.
        assert_eq!(data.octets((OWN, 1)), None);
        assert_eq!(data.octets((0, 27)).is_some(), record.key.is_some_and(|k| k.src_addr.unwrap().is_ipv6()));
    }
    let templates: HashSet<_> =
        session.flows.iter().map(|data| data.0.iter().map(|(e, _)| *e).collect::<Vec<_>>()).collect();
    // Family or none, reverse time or none with or without an other direction.
    assert!(templates.len() <= 3 * 3, "{templates:?}");
}

#[test]
fn prefixes_say_how_long_they_are() {
    let records = of_this_era(sample::records(500));
    for (key, source, destination) in [
        ("src_addr/24/64,dst_addr", [Some(24), Some(64)], [None; 2]),
        ("src_addr,dst_addr/0/48", [None; 2], [Some(0), Some(48)]),
        // Whole addresses need no length, of both families or of none.
        ("src_addr/32/128,dst_addr/32/127", [None; 2], [Some(32), Some(127)]),
    ] {
        let parts =
            RecordContents { key: packet::KeySpec::parse(key).expect("a key"), ..RecordContents::default() };
        let session = decode(&written(&Selection::new(&parts), &records));
        let mut families = [0, 0];
        for data in &session.flows {
            // By address: elements of IPv4 and IPv6, of the address and of the length.
            for (elements, lengths) in [([(8, 9), (27, 29)], source), ([(12, 13), (28, 30)], destination)] {
                for (family, (address, length)) in elements.into_iter().enumerate() {
                    let is_there = data.octets((0, address)).is_some();
                    let expected = lengths[family].filter(|_| is_there);
                    assert_eq!(data.unsigned((0, length)), expected, "{key}");
                    families[family] += usize::from(is_there);
                }
            }
        }
        assert!(families.iter().all(|records| *records > 50), "{families:?}");
    }
}

#[test]
fn a_record_of_nothing_but_what_is_missing_is_still_a_record() {
    let selection = Selection::parse("src_addr", &RecordContents::default()).unwrap();
    let records = sample::records(200);
    let session = decode(&written(&selection, &records));
    let with_address = records.iter().filter(|record| record.key.is_some()).count();
    assert_eq!(session.flows.len(), 200);
    assert!(with_address < 200);
    let addresses = session.flows.iter().filter(|data| value(data, "src_addr") != Expected::Null).count();
    assert_eq!(addresses, with_address);
}

#[test]
fn templates_come_first_and_all_messages_are_of_the_nodes_domain() {
    let records = of_this_era(sample::full_records(2000));
    let bytes = written(&Selection::new(&sample::parts()), &records);
    let first = ipfix::messages(&bytes)[0];
    let mut session = Session::default();
    session.message(first);
    assert!(session.flows.is_empty() && session.told.len() >= 7, "templates of options, of IPv4, of IPv6");

    let session = decode(&bytes);
    assert!(session.headers.iter().all(|header| header.domain == domain_of(NODE) && header.length <= 61_440));
    assert!(session.told.values().all(|times| *times == 1));
    // The export time is the stream's, so that the same records give the same file.
    assert!(session.headers.is_sorted_by_key(|header| header.export_time));
    let latest = records.iter().map(|record| record.ltime).max().unwrap();
    assert_eq!(session.headers.last().unwrap().export_time, (latest / 1_000_000_000) as u32);
    assert_eq!(bytes, written(&Selection::new(&sample::parts()), &records));
}

#[test]
fn names_give_their_domains() {
    // The published test vectors of 32-bit FNV-1a.
    for (name, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("b", 0xe70c_2de5), ("foobar", 0xbf9c_f968)] {
        assert_eq!(domain_of(name), hash);
    }
}

#[test]
fn no_records_still_make_a_file_with_templates() {
    let session = decode(&written(&Selection::all(), &[]));
    assert!(session.flows.is_empty() && !session.told.is_empty());
}

#[test]
fn own_elements_are_described() {
    let session = decode(&written(&Selection::new(&sample::parts()), &[]));
    let types = session.options_about(&[(0, 346), (0, 303)]);
    let names: HashMap<u16, String> = types
        .iter()
        .map(|data| {
            assert_eq!(data.unsigned((0, 346)), Some(OWN.into()));
            assert!(!data.text((0, 340)).unwrap().is_empty());
            (data.unsigned((0, 303)).unwrap() as u16, data.text((0, 341)).unwrap())
        })
        .collect();
    assert_eq!(names.len(), types.len());
    for column in sample::full_columns() {
        let element = elements(&column)[0];
        if element.0 == OWN {
            assert_eq!(names.get(&element.1), Some(&column));
        }
    }
    let by_name = |name: &str| types.iter().find(|data| data.text((0, 341)).unwrap() == name).unwrap();
    // Type, semantics, units: 4 unsigned64, 10 float64; 1 quantity, 3 delta counter; 2 octets, 3 packets, 8 nanoseconds.
    for (name, numbers) in [
        ("ploss_byte", [4, 3, 2]),
        ("reorder_count", [4, 3, 3]),
        ("reverse_rtt_min", [4, 1, 8]),
        ("gap_p99", [10, 1, 3]),
        ("size_stddev", [10, 1, 2]),
    ] {
        let data = by_name(name);
        assert_eq!([(0, 339), (0, 344), (0, 345)].map(|of| data.unsigned(of).unwrap()), numbers, "{name}");
    }
    // A plain file describes only what options contain.
    let plain = decode(&written(&Selection::all(), &[]));
    assert_eq!(plain.options_about(&[(0, 346), (0, 303)]).len(), 2);
}

/// Uniform probabilistic sampling is algorithm 4 of the registry, with the element samplingProbability (RFC 5477, sections 8.2.1 and 8.2.8).
#[test]
fn options_tell_of_a_sample() {
    let share = flow::Share::from_ppm(150_000).unwrap();
    let session = decode(&written(&Selection::all().with_share(share), &sample::records(10)));
    let selector = session.options_about(&[(0, 302)]);
    assert_eq!(selector.len(), 1);
    assert_eq!(selector[0].unsigned((0, 304)), Some(4));
    assert_eq!(selector[0].float((0, 311)), Some(0.15));
    assert_eq!(selector[0].unsigned((0, 305)), None);
}

#[test]
fn options_tell_of_selection_and_loss() {
    let records = sample::records(100);
    let accounts = [
        MeasurementTotals { time_ns: 5_000_000_000, received: 1000, measured: 900, lost: Some(7) },
        MeasurementTotals { time_ns: 6_000_000_000, received: 2000, measured: 1800, lost: None },
    ];
    let bytes = with_accounts(&Selection::all(), &records, &accounts);
    let session = decode(&bytes);
    let selector = session.options_about(&[(0, 302)]);
    assert_eq!(selector.len(), 1);
    assert_eq!([304, 305, 306].map(|of| selector[0].unsigned((0, of)).unwrap()), [1, 1, 0], "one of one");

    let metering = session.options_about(&[(0, 149)]);
    assert_eq!(metering.len(), 2);
    for (data, account) in metering.iter().zip(&accounts) {
        assert_eq!(data.unsigned((0, 149)), Some(domain_of(NODE).into()));
        assert_eq!(data.text((0, 300)).as_deref(), Some(NODE));
        assert_eq!(data.unsigned((OWN, 20)), Some(account.received));
        assert_eq!(data.unsigned((OWN, 21)), Some(account.measured));
        assert_eq!(data.unsigned((0, 164)), account.lost, "unknown is not zero");
    }
    let exporting = session.options_about(&[(0, 144)]);
    assert_eq!(exporting.len(), 2);
    let last = exporting[1];
    assert_eq!(last.unsigned((0, 42)), Some(100));
    assert_eq!(last.unsigned((0, 166)), Some(0));
    // What was out when it was written: all but the message that it is in.
    let before: usize = session.headers[..session.headers.len() - 1].iter().map(|header| header.length).sum();
    assert_eq!(last.unsigned((0, 40)), Some(before as u64));
    assert_eq!(last.unsigned((0, 41)), Some(session.headers.len() as u64 - 1));
}

#[test]
fn tshark_reads_the_same_totals_and_values() {
    if !tool::is_there("tshark") {
        return;
    }
    let directory = tool::Directory::new("tshark-file");
    let path = directory.path("flows.ipfix");
    let records: Vec<_> = of_this_era(sample::records(2500))
        .into_iter()
        .map(|record| FlowRecord {
            // Sums that do not run over.
            total_count: record.total_count >> 20,
            total_byte: record.total_byte >> 20,
            ..record
        })
        .collect();
    let mut writer = record::create(&path, NODE, &Selection::all()).unwrap();
    // Records of options count as data records too: tshark checks each message's number.
    writer.write(&records[..1000]).unwrap();
    writer
        .account(&MeasurementTotals { time_ns: 0, received: 5000, measured: 4321, lost: Some(77) })
        .unwrap();
    writer.write(&records[1000..]).unwrap();
    writer.finish().unwrap();

    let file = path.to_str().unwrap();
    tool::check(&tool::tshark(&["-r", file], &tool::FLOW_FIELDS), &records, NODE);
    let options = tool::tshark(
        &["-r", file, "-Y", "cflow.ignore_packets"],
        &["cflow.ignore_packets", "cflow.flowsexp", "cflow.notsent_flows"],
    );
    assert_eq!(options.list("cflow.ignore_packets"), ["77"]);
    assert_eq!(options.list("cflow.flowsexp"), ["1000"]);
    assert_eq!(options.list("cflow.notsent_flows"), ["0"]);

    let full = of_this_era(sample::full_records(1500));
    let path = directory.path("full.ipfix");
    let mut writer = record::create(&path, NODE, &Selection::new(&sample::parts())).unwrap();
    writer.write(&full).unwrap();
    writer.finish().unwrap();
    // By default tshark reads no templates of more than 60 fields.
    let arguments = ["-o", "cflow.max_template_fields:200", "-r", path.to_str().unwrap()];
    let read = tool::tshark(&arguments, &["cflow.packets", "cflow.enterprise_private_entry"]);
    assert_eq!(
        read.list("cflow.packets").len(),
        full.len() + full.iter().filter(|r| r.reverse().is_some()).count()
    );
}
