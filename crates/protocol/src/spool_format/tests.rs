use super::*;
use proptest::prelude::*;

const NODE: &str = "Node1";
const MOST: u64 = 1 << 30;

fn which(boot: u64, sequence: u64) -> NodeMessageId {
    NodeMessageId { boot: Boot(boot), sequence }
}

fn header() -> Vec<u8> {
    let mut bytes = Vec::new();
    write_header(NODE, &mut bytes);
    bytes
}

fn file(records: &[SpoolRecord]) -> Vec<u8> {
    let mut bytes = header();
    records.iter().for_each(|record| record.write(&mut bytes));
    bytes
}

fn replay(bytes: &[u8]) -> Replay {
    Replay::read(bytes, NODE, MOST).expect("it is read").expect("it is a spool")
}

fn records(bytes: &[u8]) -> (Vec<SpoolRecord>, Unread) {
    let mut reader = SpoolReader::new(bytes, NODE).expect("it is read").expect("it is a spool");
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("it is read") {
        records.push(record);
    }
    assert_eq!(reader.next_record().expect("it is read"), None);
    (records, reader.unread().clone())
}

/// Few messages, so that records speak of the same ones.
fn some_record() -> impl Strategy<Value = SpoolRecord> {
    let some = || (0..3_u64, 1..6_u64).prop_map(|(boot, sequence)| which(boot, sequence));
    let totals = (0..9_u64, 0..9_u64).prop_map(|(dropped, shortened)| SpoolTotals { dropped, shortened });
    let body = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => (some(), any::<bool>(), body)
            .prop_map(|(which, is_result, body)| SpoolRecord::Message { which, is_result, body }),
        3 => (some(), 0..6_u64, 0..9_u64).prop_map(|(which, after, lost)| SpoolRecord::Said { which, after, lost }),
        2 => (some(), totals.clone()).prop_map(|(which, totals)| SpoolRecord::Gone { which, totals }),
        1 => totals.prop_map(SpoolRecord::Totals),
    ]
}

/// What the records say, naively.
fn naive(records: &[SpoolRecord]) -> (Vec<SpooledMessage>, SpoolTotals) {
    let (mut kept, mut sum): (Vec<SpooledMessage>, SpoolTotals) = Default::default();
    for record in records {
        match record.clone() {
            SpoolRecord::Message { which, is_result, body } => {
                match kept.iter_mut().find(|one| one.which == which) {
                    Some(one) => one.body = body,
                    None => kept.push(SpooledMessage { which, is_result, body, said: None }),
                }
            }
            SpoolRecord::Said { which, after, lost } => {
                kept.iter_mut()
                    .filter(|one| one.which == which)
                    .for_each(|one| one.said = Some((after, lost)));
            }
            SpoolRecord::Gone { which, totals } => {
                kept.retain(|one| one.which != which);
                sum = totals;
            }
            SpoolRecord::Totals(totals) => sum = totals,
        }
    }
    let all: Vec<NodeMessageId> = kept.iter().map(|one| one.which).collect();
    for one in &mut kept {
        let is_there = |after| all.contains(&NodeMessageId { sequence: after, ..one.which });
        one.said = one.said.map(|(after, lost)| (if is_there(after) { after } else { 0 }, lost));
    }
    (kept, sum)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    #[test]
    fn a_file_is_what_its_records_say(said in prop::collection::vec(some_record(), 0..40)) {
        let bytes = file(&said);
        let (read, unread) = records(&bytes);
        prop_assert!(unread.is_none());
        prop_assert_eq!(&read, &said);
        let replay = replay(&bytes);
        prop_assert_eq!(replay.end(), bytes.len() as u64);
        let (kept, totals) = naive(&said);
        prop_assert_eq!(replay.totals(), totals);
        prop_assert_eq!(replay.into_kept(), kept);
    }

    /// Whatever byte it was cut at: all whole records before it are there, and what follows is named.
    #[test]
    fn a_file_that_was_cut_is_a_prefix(said in prop::collection::vec(some_record(), 1..8)) {
        let begin = header().len();
        let ends: Vec<usize> = (0..=said.len()).map(|count| file(&said[..count]).len()).collect();
        let bytes = file(&said);
        for length in 0..bytes.len() {
            if length < begin {
                let begun = SpoolReader::new(&bytes[..length], NODE).expect("it is read");
                prop_assert_eq!(begun.err(), Some(SpoolMismatch::NoSpool));
                continue;
            }
            let whole = ends.iter().filter(|end| **end <= length).count() - 1;
            let (read, unread) = records(&bytes[..length]);
            prop_assert_eq!(&read, &said[..whole]);
            let from = (ends[whole] != length).then_some(ends[whole] as u64);
            prop_assert_eq!(unread, Unread { records: 0, from });
        }
    }

    /// A byte that was flipped costs the record that it is in, and those behind it only where it is of a length.
    #[test]
    fn a_flipped_byte_costs_its_record(
        said in prop::collection::vec(some_record(), 1..12),
        at in any::<prop::sample::Index>(),
        bits in 1..=255_u8,
    ) {
        let mut bytes = file(&said);
        let begin = header().len();
        let at = begin + at.index(bytes.len() - begin);
        bytes[at] ^= bits;
        let ends: Vec<usize> = (0..=said.len()).map(|count| file(&said[..count]).len()).collect();
        let hit = ends.iter().filter(|end| **end <= at).count() - 1;
        let (read, unread) = records(&bytes);
        prop_assert!(!unread.is_none());
        prop_assert_eq!(&read[..hit], &said[..hit]);
        if at >= ends[hit] + 4 {
            prop_assert_eq!(&read[hit..], &said[hit + 1..]);
            let is_last = hit + 1 == said.len();
            let expected = match is_last {
                true => Unread { records: 0, from: Some(ends[hit] as u64) },
                false => Unread { records: 1, from: None },
            };
            prop_assert_eq!(unread, expected);
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Replay::read(&bytes[..], NODE, MOST).expect("it is read");
        let mut behind = header();
        behind.extend_from_slice(&bytes);
        let replay = replay(&behind);
        prop_assert!(bytes.is_empty() || !replay.unread().is_none());
    }
}

#[test]
fn files_of_others_are_named() {
    let of = |bytes: &[u8]| Replay::read(bytes, NODE, MOST).expect("it is read").err();
    let mut other = Vec::new();
    write_header("Node2", &mut other);
    assert_eq!(of(&other), Some(SpoolMismatch::Node("Node2".to_owned())));
    let mut newer = header();
    newer[8] = 2;
    assert_eq!(of(&newer), Some(SpoolMismatch::Version(2)));
    assert_eq!(of(b"SQLite format 3\0, and so on"), Some(SpoolMismatch::NoSpool));
    assert_eq!(of(&[]), Some(SpoolMismatch::NoSpool));
    let mut damaged = header();
    *damaged.last_mut().expect("bytes") ^= 1;
    assert_eq!(of(&damaged), Some(SpoolMismatch::NoSpool));
    for foreign in [SpoolMismatch::NoSpool, SpoolMismatch::Version(2), SpoolMismatch::Node("a\nb".to_owned())]
    {
        assert_eq!(foreign.to_string().lines().count(), 1);
    }
}

#[test]
fn no_file_takes_more_memory_than_it_may() {
    let message =
        |sequence| SpoolRecord::Message { which: which(1, sequence), is_result: true, body: vec![7; 100] };
    let said: Vec<SpoolRecord> = (1..=20).map(message).collect();
    let bytes = file(&said);
    let replay = Replay::read(&bytes[..], NODE, 1000).expect("it is read").expect("it is a spool");
    assert_eq!(replay.unread().from, Some(file(&said[..10]).len() as u64));
    // A length that no record has is not read.
    let mut huge = header();
    huge.extend_from_slice(&[0xff; 8]);
    huge.extend_from_slice(&vec![0; 1 << 20]);
    assert_eq!(records(&huge), (Vec::new(), Unread { records: 0, from: Some(header().len() as u64) }));
}
