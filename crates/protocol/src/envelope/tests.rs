use super::*;
use crate::message_id::Boot;
use crate::{FromProbe, HistoryAnswer, WindowResult};
use model::{Answer, Column, ColumnKind, Span, Value};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

fn id(sequence: u64) -> MessageId {
    MessageId { node: "Node1".to_owned(), boot: Boot(7), sequence }
}

/// A message with `answers` answers of `rows` rows: addresses as a hash table gives them, and counters of a heavy-tailed size.
fn message(answers: u32, rows: u32) -> FromProbe {
    let window = Span { start_ns: 1_795_534_800_000_000_000, end_ns: 1_795_534_810_000_000_000 };
    let mut columns = vec![Column::new("src_addr", ColumnKind::Address, "")];
    for (name, unit) in [("total_count", "packets"), ("total_byte", "bytes"), ("n", "values")] {
        columns.push(Column::new(name, ColumnKind::Unsigned, unit));
    }
    let row = |number: u32| {
        let random = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let random = random ^ random >> 27;
        let packets = (u64::from(u32::MAX) / (1 + (random >> 32))).max(1) + random % 10;
        let address = IpAddr::from(Ipv4Addr::from_bits((random >> 17) as u32));
        let counters = [packets, packets * (60 + random % 1440), 1 + random % 50];
        let counters = counters.map(Value::Unsigned);
        [Value::Address(address)].into_iter().chain(counters).collect::<Vec<_>>()
    };
    let answer = |number: u32| {
        let rows = (0..rows).map(|at| row(number * rows + at)).collect();
        Answer {
            node: Some("Node1".to_owned()),
            ..Answer::new(format!("q{number}"), Some(window), columns.clone(), rows)
        }
    };
    FromProbe::Window(Box::new(WindowResult::new(window, (0..answers).map(answer).collect())))
}

fn decoded(bytes: &[u8]) -> Result<Envelope<FromProbe>, MessageRefusal> {
    decode(bytes, Properties::EXPECTED)
}

fn packed(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), LEVEL).expect("zstd")
}

#[test]
fn envelopes_are_what_was_written() {
    for body in [message(2, 3), FromProbe::Reached { at_ns: u64::MAX }] {
        let envelope = Envelope { after: 6, lost: 3, ..Envelope::new(id(7), body) };
        assert_eq!(decoded(&envelope.encode().expect("bytes")), Ok(envelope));
    }
}

#[test]
fn others_read_an_envelope_as_one_object() {
    let bytes = Envelope::new(id(7), FromProbe::Reached { at_ns: 5 }).encode().expect("bytes");
    let text = String::from_utf8(zstd::decode_all(&bytes[..]).expect("zstd")).expect("text");
    let expected = r#"{"version":1,"id":{"node":"Node1","boot":"0000000000000007","sequence":7},"after":0,"lost":0,"body":{"reached":{"at_ns":5}}}"#;
    assert_eq!(text, expected);
}

/// What the module says of its size.
#[test]
fn a_large_message_is_small() {
    let message = message(10, 1000);
    let json = serde_json::to_string(&message).expect("JSON").len();
    let bytes = Envelope::new(id(1), message).encode().expect("bytes").len();
    println!("{json} bytes of JSON, {bytes} bytes sent");
    assert!(bytes * 4 < json && bytes < 200_000, "{json} became {bytes}");
}

#[test]
fn what_is_not_taken_has_a_name() {
    let bytes = Envelope::new(id(7), message(1, 20)).encode().expect("bytes");
    let of = |version: &str| packed(&format!(r#"{{"version":{version},"id":"another","body":[]}}"#));
    let none = Properties::default();
    let plain = Properties { content_encoding: None, ..Properties::EXPECTED };
    assert_eq!(decode::<FromProbe>(&bytes, none), Err(MessageRefusal::Foreign));
    assert_eq!(decode::<FromProbe>(&bytes, plain), Err(MessageRefusal::Foreign));
    for length in 0..bytes.len() {
        assert_eq!(decoded(&bytes[..length]), Err(MessageRefusal::Truncated), "{length} of {}", bytes.len());
    }
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    assert_eq!(decoded(&flipped), Err(MessageRefusal::Damaged));
    for foreign in ["hello", "x", r#"{"version":1}"#] {
        assert_eq!(decoded(foreign.as_bytes()), Err(MessageRefusal::Damaged));
    }
    assert_eq!(decoded(&of("0")), Err(MessageRefusal::TooOld));
    assert_eq!(decoded(&of("2")), Err(MessageRefusal::TooNew));
    assert_eq!(decoded(&of("1")), Err(MessageRefusal::Malformed));
    assert_eq!(decoded(&of("-1")), Err(MessageRefusal::Malformed));
    assert_eq!(decoded(&packed("[]")), Err(MessageRefusal::Malformed));
    assert_eq!(decoded(&vec![0; MOST_BYTES + 1]), Err(MessageRefusal::TooLarge));
    let other = Envelope::new(id(1), crate::ToProbe::Enter { until_ns: 1 }).encode().expect("bytes");
    assert_eq!(decoded(&other), Err(MessageRefusal::Malformed));
}

#[test]
fn a_bomb_is_refused_within_its_limit() {
    let bomb = packed(&" ".repeat(MOST_JSON_BYTES + 1));
    assert!(bomb.len() < 10_000);
    assert_eq!(decoded(&bomb), Err(MessageRefusal::TooLarge));
    // Values of no bytes to speak of, which take room when they are read.
    let bomb = packed(&format!("[{}1]", "1,".repeat(MOST_VALUES + 1)));
    assert!(bomb.len() < 10_000);
    assert_eq!(decoded(&bomb), Err(MessageRefusal::TooLarge));
    let column = || model::Column::new("n", model::ColumnKind::Unsigned, "");
    let rows = vec![vec![model::Value::Unsigned(1)]; MOST_VALUES];
    let answer = model::Answer::new("q", None, vec![column()], rows);
    let body = FromProbe::Ended { answers: vec![answer], traffic: None };
    assert!(Envelope::new(id(1), body).encode().is_err());
    // A window of 128 MiB, in a frame of one empty block.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x01, 0x00, 0x00];
    assert_eq!(decoded(&window), Err(MessageRefusal::Damaged));
}

#[derive(Clone, Debug)]
enum Mutation {
    Flip(usize, u8),
    Cut(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
}

/// A window, or what a store answers, of fewer rows than these.
fn body(rows: u32) -> impl Strategy<Value = FromProbe> {
    let history = |body: FromProbe| match body {
        FromProbe::Window(result) => FromProbe::History(Box::new(HistoryAnswer {
            epoch: u64::MAX,
            id: 1,
            answers: result.answers,
            missing: Some("too_late: 7 rows were read".to_owned()),
        })),
        other => other,
    };
    let window = (0..rows).prop_map(|rows| message(1, rows));
    prop_oneof![window.clone(), window.prop_map(history)]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let (at, to) = (any::<usize>(), any::<usize>());
    prop_oneof![
        (at, 1..=255_u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        (at, to).prop_map(|(at, to)| Mutation::Cut(at, to)),
        (at, prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, new)| Mutation::Insert(at, new)),
        (at, to).prop_map(|(at, to)| Mutation::Repeat(at, to)),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: Mutation) {
    let length = bytes.len().max(1);
    match mutation {
        Mutation::Flip(at, bits) => bytes.iter_mut().skip(at % length).take(1).for_each(|byte| *byte ^= bits),
        Mutation::Cut(at, to) => {
            drop(bytes.drain((at % length).min(to % length)..(at % length).max(to % length)))
        }
        Mutation::Insert(at, new) => drop(bytes.splice(at % length..at % length, new)),
        Mutation::Repeat(at, to) => {
            let part = bytes[(at % length).min(to % length)..(at % length).max(to % length)].to_vec();
            bytes.splice(at % length..at % length, part);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(256)))]

    /// Whatever happens to its bytes, a message is refused or is what was sent.
    #[test]
    fn mutated_bytes_are_refused(body in body(30), mutations in prop::collection::vec(mutation(), 1..4)) {
        let envelope = Envelope::new(id(7), body);
        let mut bytes = envelope.encode().expect("bytes");
        mutations.into_iter().for_each(|one| mutate(&mut bytes, one));
        if let Ok(read) = decoded(&bytes) {
            prop_assert_eq!(read, envelope);
        }
    }

    /// Texts that are nearly messages.
    #[test]
    fn mutated_text_is_refused_or_a_message(body in body(5), mutations in prop::collection::vec(mutation(), 1..4)) {
        let bytes = Envelope::new(id(7), body).encode().expect("bytes");
        let mut text = zstd::decode_all(&bytes[..]).expect("zstd");
        mutations.into_iter().for_each(|one| mutate(&mut text, one));
        let read = decoded(&zstd::encode_all(&text[..], LEVEL).expect("zstd"));
        if let Ok(read) = read {
            prop_assert_eq!(decoded(&read.encode().expect("bytes")), Ok(read));
        }
    }
}
