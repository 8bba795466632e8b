//! Octets behind a message, and datagrams of other protocols.

use crate::support::*;
use router::Protocol;

#[test]
fn octets_behind_a_message_are_counted_and_its_records_read() {
    let mut test = Test::new();
    let data = set(256, &record(1, 2, 60));
    let messages = [
        v9(0, 0, &[set(0, &template(256, &FIELDS)), data.clone()]),
        ipfix(0, 0, &[set(2, &template(256, &FIELDS)), data]),
        v5(0, 0, &[v5_record(1, 2, 60)]),
    ];
    let mut octets = 0;
    for behind in [&[0, 0][..], &[7, 7, 7], &[0; 9], &[1, 2, 3, 4, 5, 6, 7]] {
        for (from, message) in messages.iter().enumerate() {
            let flows = test.take(1 + from as u8, &[&message[..], behind].concat());
            assert_eq!(seen(&flows), [(1, 2, 60)], "{behind:?} behind {from}");
            octets += behind.len() as u64;
            assert_eq!(
                (test.0.counts().datagrams.trailing_octets, test.0.counts().datagrams.damaged),
                (octets, 0)
            );
        }
    }
    // A message that is cut off is damaged, whatever it has.
    for message in &messages[..2] {
        test.take(9, &message[..message.len() - 1]);
    }
    assert_eq!(test.0.counts().datagrams.damaged, 2);
}

#[test]
fn other_protocols_are_recognised() {
    let mut test = Test::new();
    let sflow = [0, 0, 0, 4, 0, 0, 0, 1, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 232, 0, 0, 0, 0];
    for _ in 0..3 {
        test.take(1, &sflow);
    }
    for (from, version) in [(2, 1), (2, 7), (3, 8), (4, 77)] {
        test.take(from, &[&[0, version, 0, 1][..], &[0; 60]].concat());
    }
    let found: Vec<_> = test.0.foreigners().iter().map(|sender| (sender.protocol, sender.from)).collect();
    let expected = [
        (Some(Protocol::SFlow), exporter(1)),
        (Some(Protocol::NetFlow1), exporter(2)),
        (Some(Protocol::NetFlow7), exporter(2)),
        (Some(Protocol::NetFlow8), exporter(3)),
        (None, exporter(4)),
    ];
    assert_eq!(found, expected);
    assert_eq!(
        (test.0.counts().datagrams.unknown_version, test.0.counts().datagrams.foreign),
        (7, [3, 1, 1, 1])
    );
    // Each is told once, and strangers take no memory.
    test.take(1, &sflow);
    assert!(test.0.foreigners().is_empty());
    (10..100).for_each(|from| drop(test.take(from, &sflow)));
    assert_eq!(test.0.foreigners().len(), 16 - expected.len());
}
