//! Any bytes as the file of a spool, checksums apart: what is read of it is the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::spool_format::{Replay, SpoolReader, SpoolRecord, write_header};

const NODE: &str = "Node1";
/// The most bytes of messages.
const MOST: u64 = 1 << 20;

fn records(file: &[u8]) -> Option<Vec<SpoolRecord>> {
    let mut reader = SpoolReader::new(file, NODE).expect("memory can be read").ok()?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("memory can be read") {
        records.push(record);
    }
    assert!(reader.at() <= file.len() as u64);
    Some(records)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let mut file = Vec::new();
    if choice & 1 == 1 {
        write_header(NODE, &mut file);
    }
    file.extend_from_slice(bytes);
    let Some(read) = records(&file) else { return };
    let mut again = Vec::new();
    write_header(NODE, &mut again);
    read.iter().for_each(|record| record.write(&mut again));
    assert_eq!(records(&again).as_ref(), Some(&read));
    let of = |file: &[u8]| Replay::read(file, NODE, MOST).expect("memory can be read").expect("a spool");
    let (first, second) = (of(&file), of(&again));
    assert!(second.unread().is_none());
    assert_eq!(first.totals(), second.totals());
    assert_eq!(first.into_kept(), second.into_kept());
});
