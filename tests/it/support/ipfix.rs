//! The data records of an IPFIX stream, counted by RFC 7011 alone.

use std::collections::HashMap;

fn number(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// The lengths of the fields of a template, and where they end.
fn fields(set: &[u8], mut at: usize, count: usize) -> (Vec<usize>, usize) {
    let mut lengths = Vec::new();
    for _ in 0..count {
        lengths.push(number(set, at + 2));
        at += if set[at] & 0x80 == 0 { 4 } else { 8 };
    }
    (lengths, at)
}

/// Where a record that begins at `at` ends.
fn end(set: &[u8], mut at: usize, lengths: &[usize]) -> usize {
    for length in lengths {
        at += match (*length, set.get(at)) {
            (0xffff, Some(255)) => 3 + number(set, at + 1),
            (0xffff, Some(short)) => 1 + usize::from(*short),
            (length, _) => length,
        };
    }
    at
}

/// How many flow records whole messages have, one behind the other to the end of the stream.
pub(crate) fn flow_records(mut stream: &[u8]) -> u64 {
    let mut templates: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut options = HashMap::new();
    let mut count = 0;
    while !stream.is_empty() {
        assert_eq!(number(stream, 0), 10, "a message begins here");
        let (message, rest) = stream.split_at(number(stream, 2));
        stream = rest;
        let mut sets = &message[16..];
        while !sets.is_empty() {
            let id = number(sets, 0);
            let (set, later) = sets.split_at(number(sets, 2));
            sets = later;
            let mut at = 4;
            while at + 4 <= set.len() {
                match id {
                    2 => {
                        let (lengths, next) = fields(set, at + 4, number(set, at + 2));
                        templates.insert(number(set, at), lengths);
                        at = next;
                    }
                    3 => {
                        let (lengths, next) = fields(set, at + 6, number(set, at + 2));
                        options.insert(number(set, at), lengths);
                        at = next;
                    }
                    id => {
                        let is_flow = templates.contains_key(&id);
                        let lengths = templates.get(&id).or_else(|| options.get(&id)).expect("a template");
                        at = end(set, at, lengths);
                        assert!(at <= set.len(), "a record is whole");
                        count += u64::from(is_flow);
                    }
                }
            }
        }
    }
    count
}
