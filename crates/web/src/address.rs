//! Addresses of the API.

use std::fmt::Write;

/// They begin with this.
pub(crate) const PREFIX: &str = "/api/v1";

/// A part of a path, percent-encoded.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            // Writing to a text does not fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
        encoded
    })
}
