//! Any bytes as a message, as they are or compressed: it is refused, or is the same message when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::envelope::{Properties, decode_within};
use protocol::{Envelope, FromProbe, MessageId, MessageRefusal, ToProbe};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A few bytes can stand for very many.
const MOST_JSON_BYTES: usize = 1 << 20;

fn check<B: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    let Ok(envelope) = decode_within::<B>(bytes, Properties::EXPECTED, MOST_JSON_BYTES) else { return };
    let id = envelope.id.to_string();
    assert_eq!(id.parse::<MessageId>().as_ref(), Ok(&envelope.id), "{id}");
    // An answer whose rows do not fit its columns can be read, and not be written.
    let Ok(written) = envelope.encode() else { return };
    match decode_within::<B>(&written, Properties::EXPECTED, MOST_JSON_BYTES) {
        // What is left out where it is usual is written.
        Err(refusal) => assert_eq!(refusal, MessageRefusal::TooLarge),
        Ok(read) => assert_eq!(Envelope { version: envelope.version, ..read }, envelope),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let compressed = (choice & 1 == 1).then(|| zstd::encode_all(bytes, 1).expect("zstd"));
    let bytes = compressed.as_deref().unwrap_or(bytes);
    if choice & 2 == 0 { check::<FromProbe>(bytes) } else { check::<ToProbe>(bytes) }
});
