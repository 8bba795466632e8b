//! The nonce that styles of scripts must carry, so that a browser takes them: of one response, and no other.

use crate::access::random_hex;

/// The place of the nonce in the page.
pub(crate) const PLACE: &str = "NONCE-OF-THIS-RESPONSE";

/// 128 random bits, as digits.
#[derive(Clone, Debug)]
pub(crate) struct Nonce(pub(crate) String);

impl Nonce {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        random_hex::<16>().map(Self)
    }
}
