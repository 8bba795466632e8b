//! A decoder's panics over damaged files are errors, and print nothing. The hook is that of the process: the test runs alone in one.

use flow::RowValue;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use record::read::{FlowFile, ReadProjection};
use std::cell::Cell;
use std::panic::{catch_unwind, set_hook};
use std::path::Path;
use std::sync::Arc;
use testbed::process::alone;

thread_local! {
    static PRINTED: Cell<u32> = const { Cell::new(0) };
}

/// A file of another program: what is damaged in one of Edison's own never comes to the decoder.
fn without_checksums() -> Vec<u8> {
    let schema = "message rows { required binary src_addr (utf8); required int64 total_count; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(column) => {
                let addresses: Vec<ByteArray> =
                    (0..20).map(|row| ByteArray::from(format!("10.0.0.{}", row % 7).into_bytes())).collect();
                column.write_batch(&addresses, None, None).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(column) => {
                column.write_batch(&(0..20).collect::<Vec<_>>(), None, None).unwrap();
            }
            _ => panic!("a column of another type"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn panics_of_the_decoder_print_nothing_and_others_still_do() {
    alone(|| {
        set_hook(Box::new(|_| PRINTED.set(PRINTED.get() + 1)));
        let whole = without_checksums();
        let wanted = ReadProjection {
            members: vec!["src_addr"],
            columns: vec![RowValue::Packets],
            ..ReadProjection::default()
        };
        let mut panics = 0;
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let mut error = None;
                match FlowFile::from_bytes(Path::new("flows.parquet"), damaged) {
                    Ok(mut file) => {
                        for part in 0..file.contents().parts.len() {
                            error = error.or(file.read_part(part, &wanted, &mut |_| true).err());
                        }
                    }
                    Err(refused) => error = Some(refused),
                }
                let text = error.map(|error| error.to_string()).unwrap_or_default();
                panics += u32::from(text.contains("breaks the rules of its format"));
            }
        }
        assert!(panics > 0, "no damage makes the decoder panic: the guard is not needed any more");
        assert_eq!(PRINTED.get(), 0);
        catch_unwind(|| panic!("of another kind")).unwrap_err();
        assert_eq!(PRINTED.get(), 1);
    });
}
