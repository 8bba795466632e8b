//! Messages as bytes.
//!
//! A message is a JSON object in an envelope, compressed with zstd: content type `application/json`, content encoding `zstd`.
//!
//! ```json
//! {"version": 1, "id": {"node": "Node1", "boot": "9f86d081884c7d65", "sequence": 7}, "after": 6, "lost": 0, "body": {"window": …}}
//! ```
//!
//! The compressed bytes are three zstd frames one after the other, what precedes the body, the body, and the brace that ends it, so that a body
//! which waits in a spool is compressed once although what the envelope says of it is known when it is sent. A reader sees one object.
//!
//! Answers stay JSON, rather than Arrow IPC within JSON: it is the one form of an answer that is documented (`docs/report.md`), has a
//! schema and keeps every kind of value, and a message can be read with `zstd -d | jq`. A window with 10 answers of 1,000 rows, each an
//! address and three counters, is 709 kB of JSON and 144 kB on the wire; a column of addresses alone is 40 kB in any form.

use crate::message_id::MessageId;
use crate::refusal::MessageRefusal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{DCtx, ResetDirective};

/// The version of the protocol that is spoken. It changes when a message means something else, or cannot be read any more.
pub const VERSION: u32 = 1;

/// The oldest version that is understood: the one before, where there is one, so that probes and controllers can be replaced one by one.
pub const OLDEST_VERSION: u32 = if VERSION > 1 { VERSION - 1 } else { VERSION };

/// The content type of messages.
pub const CONTENT_TYPE: &str = "application/json";

/// The content encoding of messages.
pub const CONTENT_ENCODING: &str = "zstd";

/// The most bytes of a message as it is sent.
pub const MOST_BYTES: usize = 16 << 20;

/// The most bytes of a message as JSON.
pub const MOST_JSON_BYTES: usize = 64 << 20;

/// The most values of a message, counted by the commas of its JSON: one takes many times the room of its text. As many as 200,000 rows of ten
/// columns have.
pub const MOST_VALUES: usize = 2 << 20;

/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The most bytes, and below the most values, that a message may have besides its body.
const MOST_HEAD_BYTES: usize = 64 << 10;
const MOST_HEAD_VALUES: usize = 1 << 10;

/// The compression level of zstd. A higher one costs the probe more than the network saves.
const LEVEL: i32 = 3;

/// The most memory that a frame may make its reader keep: 8 MiB, the most that every zstd decoder accepts (RFC 8878).
const MOST_WINDOW_LOG: u32 = 23;

/// A message, and which one it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<B> {
    /// The version of the protocol that it is of.
    pub version: u32,
    /// The identifier of the message.
    pub id: MessageId,
    /// The sequence number of the message before it, if the broker had not confirmed that one when this one was sent; else 0. A reader
    /// that has not taken that one leaves this message alone: both come again, in order.
    pub after: u64,
    /// Window results that the sender dropped before this message, since it started.
    pub lost: u64,
    /// The message.
    pub body: B,
}

impl<B> Envelope<B> {
    /// A message of this version.
    pub fn new(id: MessageId, body: B) -> Self {
        Self { version: VERSION, id, after: 0, lost: 0, body }
    }
}

/// The properties that a transport gives a message's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    /// The content type.
    pub content_type: Option<&'a str>,
    /// The content encoding.
    pub content_encoding: Option<&'a str>,
}

impl Properties<'static> {
    /// The properties of a message of Edison.
    pub const EXPECTED: Self =
        Self { content_type: Some(CONTENT_TYPE), content_encoding: Some(CONTENT_ENCODING) };
}

impl<B: Serialize> Envelope<B> {
    /// The message as bytes.
    ///
    /// # Errors
    /// If it cannot be written, as an answer whose rows do not fit its columns.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let body = PackedBody::new(&self.body)?;
        let Self { version, id, after, lost, .. } = self;
        seal(&EnvelopeHead { version: *version, id, after: *after, lost: *lost }, &body)
    }
}

/// The part of an envelope that precedes the body.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EnvelopeHead<'a> {
    pub(crate) version: u32,
    pub(crate) id: &'a MessageId,
    pub(crate) after: u64,
    pub(crate) lost: u64,
}

/// A compressed body.
#[derive(Clone, Debug)]
pub(crate) struct PackedBody(pub(crate) Vec<u8>);

impl PackedBody {
    pub(crate) fn new(body: &impl Serialize) -> io::Result<Self> {
        let (left, values) = (MOST_JSON_BYTES - MOST_HEAD_BYTES, MOST_VALUES - MOST_HEAD_VALUES);
        let mut text = Bounded { into: Vec::new(), left, values };
        serde_json::to_writer(&mut text, body)?;
        let body = compress(&text.into)?;
        if body.len() > MOST_BYTES - MOST_HEAD_BYTES { Err(too_large()) } else { Ok(Self(body)) }
    }
}

/// Refuses to write more than a reader takes.
struct Bounded {
    into: Vec<u8>,
    left: usize,
    values: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_large)?;
        self.values = self.values.checked_sub(commas(bytes)).ok_or_else(too_large)?;
        self.into.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

fn commas(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b',').count()
}

fn too_large() -> io::Error {
    io::Error::other("the message is larger than any may be")
}

/// Compresses texts whose size is known, for which the library uses tables of that size. A stream clears those of the largest window for
/// each frame: a heartbeat took 56 µs to encode instead of 23, a window with 10 answers of 20 rows 118 instead of 106.
fn compress(text: &[u8]) -> io::Result<Vec<u8>> {
    thread_local! {
        /// The compressor, created once per thread: creating it for each message took 4 % of the processor time of probes and controller
        /// together.
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|own| {
        let compressor = match own {
            Some(compressor) => compressor,
            None => {
                let mut compressor = Compressor::new(LEVEL)?;
                compressor.include_checksum(true)?;
                own.insert(compressor)
            }
        };
        compressor.compress(text)
    })
}

/// Puts a body into an envelope.
pub(crate) fn seal(head: &EnvelopeHead<'_>, body: &PackedBody) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(head)?;
    // In the place of the brace at the end.
    text.pop();
    text.extend_from_slice(br#","body":"#);
    let [before, after] = [compress(&text)?, compress(b"}")?];
    Ok([&before, &body.0, &after].map(Vec::as_slice).concat())
}

/// Reads a message.
///
/// # Errors
/// Returns why the message is not taken.
pub fn decode<B: DeserializeOwned>(
    bytes: &[u8],
    properties: Properties<'_>,
) -> Result<Envelope<B>, MessageRefusal> {
    decode_within(bytes, properties, MOST_JSON_BYTES)
}

/// Reads a message of at most this number of bytes of JSON.
///
/// # Errors
/// Returns why the message is not taken.
pub fn decode_within<B: DeserializeOwned>(
    bytes: &[u8],
    properties: Properties<'_>,
    most_json_bytes: usize,
) -> Result<Envelope<B>, MessageRefusal> {
    let text = text(bytes, properties, most_json_bytes)?;
    let Opened { version, id, after, lost, body } = Opened::parse(&text)?;
    let body = body_of(body)?;
    Ok(Envelope { version, id, after, lost, body })
}

/// The JSON of a message.
pub(crate) fn text(bytes: &[u8], properties: Properties<'_>, most: usize) -> Result<Vec<u8>, MessageRefusal> {
    if properties != Properties::EXPECTED {
        return Err(MessageRefusal::Foreign);
    }
    if bytes.len() > MOST_BYTES {
        return Err(MessageRefusal::TooLarge);
    }
    let text = expand(bytes, most)?;
    if text.len() > MOST_VALUES && commas(&text) > MOST_VALUES {
        Err(MessageRefusal::TooLarge)
    } else {
        Ok(text)
    }
}

/// An envelope whose body has not been read.
#[derive(Debug, Deserialize)]
pub(crate) struct Opened<'a> {
    pub(crate) version: u32,
    pub(crate) id: MessageId,
    #[serde(default)]
    pub(crate) after: u64,
    #[serde(default)]
    pub(crate) lost: u64,
    #[serde(borrow)]
    pub(crate) body: &'a RawValue,
}

impl<'a> Opened<'a> {
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, MessageRefusal> {
        let opened: Result<Self, MessageRefusal> = read(text);
        // What another version's envelope says further is not known.
        let version = match &opened {
            Ok(opened) => opened.version,
            Err(_) => read::<Versioned>(text)?.version,
        };
        match version {
            ..OLDEST_VERSION => Err(MessageRefusal::TooOld),
            OLDEST_VERSION..=VERSION => opened,
            _ => Err(MessageRefusal::TooNew),
        }
    }
}

pub(crate) fn body_of<B: DeserializeOwned>(body: &RawValue) -> Result<B, MessageRefusal> {
    serde_json::from_str(body.get()).map_err(|_| MessageRefusal::Malformed)
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, MessageRefusal> {
    serde_json::from_slice(text).map_err(|error| match error.is_eof() {
        // Frames are whole where they end: the next one is missing.
        true => MessageRefusal::Truncated,
        false => MessageRefusal::Malformed,
    })
}

pub(crate) fn expand(bytes: &[u8], most: usize) -> Result<Vec<u8>, MessageRefusal> {
    thread_local! {
        /// The decompressor, created once per thread: creating it for each message took 6 % of a controller's processor time.
        static DECODER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    }
    // Of a few bytes that are none of its, the decoder says that others are missing.
    if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
        return Err(MessageRefusal::Damaged);
    }
    let damaged = |_| MessageRefusal::Damaged;
    let text = DECODER.with_borrow_mut(|context| {
        // What a message before it was refused for is forgotten.
        context.reset(ResetDirective::SessionOnly).map_err(|_| MessageRefusal::Damaged)?;
        let mut decoder = Decoder::with_context(bytes, context);
        decoder.window_log_max(MOST_WINDOW_LOG).map_err(damaged)?;
        let mut text = Vec::new();
        let mut bounded = decoder.take(most as u64 + 1);
        bounded.read_to_end(&mut text).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => MessageRefusal::Truncated,
            _ => MessageRefusal::Damaged,
        })?;
        Ok(text)
    })?;
    if text.len() > most { Err(MessageRefusal::TooLarge) } else { Ok(text) }
}

#[cfg(test)]
mod tests;
