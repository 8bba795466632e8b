//! What the writers write, read again by readers that know nothing of the field table.

use crate::sample;
use crate::sample::{Bytes, Expected, expected_full};
use flow::{FIELDS, FlowRecord, Part};
use record::{Format, RecordContents, Selection};
use std::collections::BTreeMap;

const NODE: &str = "rack 7, \"north\"\n\tüber\\";

fn written(format: Format, node: &str, selection: &Selection, records: &[FlowRecord]) -> Vec<u8> {
    let bytes = Bytes::default();
    let mut writer = format.writer(Box::new(bytes.clone()), node, selection).unwrap();
    // Batches of all sizes, empty ones too.
    let mut rest = records;
    for size in (0..).map(|i| i * 7 % 50) {
        let (now, later) = rest.split_at(rest.len().min(size));
        writer.write(now).unwrap();
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    writer.finish().unwrap();
    bytes.take()
}

/// Plain records, and records of a run with all options.
fn runs(n: usize) -> [(Selection, Vec<String>, Vec<FlowRecord>); 2] {
    let plain = sample::COLUMNS.map(str::to_owned).to_vec();
    [
        (Selection::all(), plain, sample::records(n)),
        (Selection::new(&sample::parts()), sample::full_columns(), sample::full_records(n)),
    ]
}

/// What the first `columns` of a record hold.
fn expected(record: &FlowRecord, columns: usize) -> Vec<(String, Expected)> {
    expected_full(record, NODE).into_iter().take(columns).collect()
}

#[test]
fn csv() {
    for (selection, names, records) in runs(3000) {
        let bytes = written(Format::Csv, NODE, &selection, &records);
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        let header: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(header, names);
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), records.len());
        for (row, record) in rows.iter().zip(&records) {
            for (cell, (name, value)) in row.iter().zip(expected(record, names.len())) {
                let text = match value {
                    Expected::Null => String::new(),
                    Expected::Integer(value) | Expected::Time(value) => value.to_string(),
                    Expected::Float(value) => {
                        assert_eq!(cell.parse::<f64>(), Ok(value), "{name} of {record:?}");
                        continue;
                    }
                    Expected::Text(text) => text,
                };
                assert_eq!(cell, text, "{name} of {record:?}");
            }
        }
    }
}

#[test]
fn csv_quotes_only_where_needed() {
    let selection = Selection::parse("node_id,vlan", &RecordContents::default()).unwrap();
    let records = &sample::records(1)[..1];
    assert_eq!(written(Format::Csv, "plain name", &selection, records), b"node_id,vlan\nplain name,\n");
    assert_eq!(written(Format::Csv, "a,\"b\"", &selection, records), b"node_id,vlan\n\"a,\"\"b\"\"\",\n");
}

#[test]
fn json_lines() {
    for (selection, names, records) in runs(3000) {
        let bytes = written(Format::JsonLines, NODE, &selection, &records);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.lines().count(), records.len());
        for (line, record) in text.lines().zip(&records) {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            let want: serde_json::Map<_, _> = expected(record, names.len())
                .into_iter()
                .map(|(name, value)| {
                    let value = match value {
                        Expected::Null => serde_json::Value::Null,
                        Expected::Integer(value) | Expected::Time(value) if value > 9_007_199_254_740_992 => {
                            value.to_string().into()
                        }
                        Expected::Integer(value) | Expected::Time(value) => value.into(),
                        Expected::Float(value) => value.into(),
                        Expected::Text(text) => text.into(),
                    };
                    (name, value)
                })
                .collect();
            assert_eq!(object, want);
        }
    }
}

#[test]
fn parquet() {
    for (selection, names, records) in runs(3000) {
        check_parquet(&selection, &names, &records, 1);
    }
}

#[test]
fn parquet_over_several_row_groups() {
    let names = sample::COLUMNS.map(str::to_owned);
    check_parquet(&Selection::all(), &names, &sample::records(150_000), 2);
}

fn check_parquet(selection: &Selection, names: &[String], records: &[FlowRecord], row_groups: usize) {
    use parquet::basic::{LogicalType, Repetition, TimeUnit};
    use parquet::column::reader::ColumnReader;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let file = written(Format::Parquet, NODE, selection, records);
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    let metadata = reader.metadata();
    assert_eq!(metadata.file_metadata().num_rows(), records.len() as i64);
    assert_eq!(metadata.num_row_groups(), row_groups);

    let schema = metadata.file_metadata().schema_descr();
    let mut types = BTreeMap::new();
    for column in schema.columns() {
        let optional = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
        types.insert(column.name().to_owned(), (column.logical_type_ref().cloned(), optional));
    }
    let timestamp = LogicalType::timestamp(true, TimeUnit::NANOS);
    for (name, want) in [
        ("stime", (Some(timestamp.clone()), false)),
        ("ltime", (Some(timestamp), false)),
        ("src_addr", (Some(LogicalType::String), true)),
        ("protocol", (Some(LogicalType::integer(8, false)), true)),
        ("total_byte", (Some(LogicalType::integer(64, false)), false)),
        ("tcp_seq", (Some(LogicalType::integer(32, false)), false)),
        ("vlan", (Some(LogicalType::integer(16, false)), true)),
        ("node_id", (Some(LogicalType::String), false)),
        ("ploss_byte", (Some(LogicalType::integer(64, false)), true)),
        ("iat_p99.9", (None, true)),
        ("reverse_stime", (Some(LogicalType::timestamp(true, TimeUnit::NANOS)), true)),
        ("reverse_end_reason", (Some(LogicalType::String), true)),
    ] {
        if names.iter().any(|column| column == name) {
            assert_eq!(types[name], want, "{name}");
        }
    }

    let mut rest = records;
    for group in 0..metadata.num_row_groups() {
        let group = reader.get_row_group(group).unwrap();
        let rows = group.metadata().num_rows() as usize;
        let (now, later) = rest.split_at(rows);
        rest = later;
        let mut columns = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let (mut levels, unsigned32) = (Vec::new(), |v: i32| u64::from(v as u32));
            let present: Vec<Expected> = match group.get_column_reader(index).unwrap() {
                ColumnReader::Int32ColumnReader(mut column) => {
                    let mut values = Vec::new();
                    column.read_records(rows, Some(&mut levels), None, &mut values).unwrap();
                    values.into_iter().map(|v| Expected::Integer(unsigned32(v))).collect()
                }
                ColumnReader::Int64ColumnReader(mut column) => {
                    let mut values = Vec::new();
                    column.read_records(rows, Some(&mut levels), None, &mut values).unwrap();
                    let time = name.ends_with("time");
                    values
                        .into_iter()
                        .map(|v| if time { Expected::Time(v as u64) } else { Expected::Integer(v as u64) })
                        .collect()
                }
                ColumnReader::DoubleColumnReader(mut column) => {
                    let mut values = Vec::new();
                    column.read_records(rows, Some(&mut levels), None, &mut values).unwrap();
                    values.into_iter().map(Expected::Float).collect()
                }
                ColumnReader::ByteArrayColumnReader(mut column) => {
                    let mut values = Vec::new();
                    column.read_records(rows, Some(&mut levels), None, &mut values).unwrap();
                    values.into_iter().map(|v| Expected::Text(v.as_utf8().unwrap().to_owned())).collect()
                }
                _ => panic!("{name}: unexpected physical type"),
            };
            columns.push((types[name].1, levels, present.into_iter()));
        }
        for (row, record) in now.iter().enumerate() {
            for ((optional, levels, present), (name, want)) in
                columns.iter_mut().zip(expected(record, names.len()))
            {
                let got = if *optional && levels[row] == 0 { Some(Expected::Null) } else { present.next() };
                let want = match want {
                    // The format's last nanosecond.
                    Expected::Time(value) => Expected::Time(value.min(i64::MAX as u64)),
                    want => want,
                };
                assert_eq!(got, Some(want), "{name} of {record:?}");
            }
        }
        assert!(columns.iter_mut().all(|(_, _, present)| present.next().is_none()));
    }
    assert!(rest.is_empty());
}

#[test]
fn no_records_still_make_a_file() {
    let all = Selection::all();
    assert_eq!(written(Format::JsonLines, NODE, &all, &[]), b"");
    assert_eq!(written(Format::Csv, NODE, &all, &[]), (sample::COLUMNS.join(",") + "\n").into_bytes());
    {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        let file = bytes::Bytes::from(written(Format::Parquet, NODE, &all, &[]));
        let reader = SerializedFileReader::new(file).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), sample::COLUMNS.len());
        assert_eq!(FIELDS.iter().filter(|field| field.part == Part::Plain).count(), sample::COLUMNS.len());
    }
}

#[test]
fn a_selection_chooses_and_orders_the_columns_of_every_format() {
    let records = sample::records(10);
    let selection =
        Selection::parse(" total_byte,SRC_ADDR , end_reason", &RecordContents::default()).unwrap();
    let names = ["total_byte", "src_addr", "end_reason"];

    let csv = written(Format::Csv, NODE, &selection, &records);
    let mut reader = csv::Reader::from_reader(&csv[..]);
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), names);
    assert_eq!(&reader.records().next().unwrap().unwrap()[0], records[0].total_byte.to_string());

    let json = String::from_utf8(written(Format::JsonLines, NODE, &selection, &records)).unwrap();
    let places: Vec<_> = names.iter().map(|n| json.lines().last().unwrap().find(n).unwrap()).collect();
    assert!(places.is_sorted());

    {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        let file = bytes::Bytes::from(written(Format::Parquet, NODE, &selection, &records));
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        assert_eq!(schema.columns().iter().map(|c| c.name()).collect::<Vec<_>>(), names);
    }
}
