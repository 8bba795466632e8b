//! Tokens: their text, and what is stored of it.
//!
//! `edison_NAME_SECRET`: the name says which hash to check, so that a wrong token costs one check at most; the secret is 256 random
//! bits in hexadecimal.

use argon2::password_hash::{Output, Salt, SaltString};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, PasswordHasher, Version};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The SHA-256 of a text.
pub(super) type Digest = [u8; 32];

const PREFIX: &str = "edison_";
const SECRET_BYTES: usize = 32;
const MOST_NAME: usize = 64;
/// The most that a stored hash may ask for: memory in KiB, and passes over it.
const MOST_MEMORY: u32 = 64 << 10;
const MOST_PASSES: u32 = 10;

/// A new token. It is told once: only its hash is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// A token of this name.
    pub(super) fn random(name: &str) -> Result<Self, getrandom::Error> {
        Ok(Self(format!("{PREFIX}{name}_{}", random_hex::<SECRET_BYTES>()?)))
    }

    /// Returns the token's text: a secret.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the hash that is stored of the token.
    pub(super) fn hash(&self) -> Result<String, String> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|error| error.to_string())?;
        let salt = SaltString::encode_b64(&salt).map_err(|error| error.to_string())?;
        let hash = Argon2::default().hash_password(self.0.as_bytes(), &salt);
        Ok(hash.map_err(|error| error.to_string())?.to_string())
    }
}

impl fmt::Debug for AccessToken {
    /// Writes the name without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", name_of(&self.0).unwrap_or_default())
    }
}

/// Random bytes in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    Ok(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
}

pub(super) fn digest(text: &[u8]) -> Digest {
    Sha256::digest(text).into()
}

/// The name in the text of a token; `None` where it is no such text.
pub(super) fn name_of(text: &str) -> Option<&str> {
    let (name, secret) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (secret.len() == 2 * SECRET_BYTES && secret.bytes().all(is_hex) && is_name(name)).then_some(name)
}

/// Returns true if a token may have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Returns true if a stored text is a hash that can be checked in bounded time and memory.
pub(super) fn is_hash(text: &str) -> bool {
    let Ok(hash) = PasswordHash::new(text) else { return false };
    let is_argon2 =
        hash.algorithm.as_str().starts_with("argon2") && hash.hash.is_some() && hash.salt.is_some();
    is_argon2
        && Params::try_from(&hash).is_ok_and(|params| {
            params.m_cost() <= MOST_MEMORY && params.t_cost() <= MOST_PASSES && params.p_cost() <= 4
        })
}

/// The memory that checking a token takes, kept from one check to the next: what is freed in between is not always found again.
#[derive(Debug, Default)]
pub(super) struct HashingMemory(Vec<Block>);

impl HashingMemory {
    /// Returns true if a text is the token of this hash. It takes tens of milliseconds.
    pub(super) fn is_of(&mut self, text: &str, hash: &str) -> bool {
        self.computed(text, hash).unwrap_or(false)
    }

    /// Returns true if a text is the token of this hash; `None` where it is no hash that can be checked.
    fn computed(&mut self, text: &str, hash: &str) -> Option<bool> {
        let hash = PasswordHash::new(hash).ok()?;
        let algorithm = Algorithm::try_from(hash.algorithm).ok()?;
        let version = hash.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
        let params = Params::try_from(&hash).ok()?;
        let expected = hash.hash?;
        let mut salt = [0; Salt::MAX_LENGTH];
        let salt = hash.salt?.decode_b64(&mut salt).ok()?;
        let blocks = params.block_count().max(self.0.len());
        self.0.resize(blocks, Block::default());
        let (mut output, length) = ([0; Output::MAX_LENGTH], expected.len());
        let output = output.get_mut(..length)?;
        let argon2 = Argon2::new(algorithm, version, params);
        argon2.hash_password_into_with_memory(text.as_bytes(), salt, output, &mut self.0).ok()?;
        // In constant time.
        Some(Output::new(output).ok()? == expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_checked_by_its_hash_alone() {
        let token = AccessToken::random("a_b-c.1").expect("random bytes");
        assert_eq!(name_of(token.text()), Some("a_b-c.1"));
        let hash = token.hash().expect("a hash");
        assert!(is_hash(&hash) && hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let mut memory = HashingMemory::default();
        assert!(memory.is_of(token.text(), &hash));
        let other = AccessToken::random("a_b-c.1").expect("random bytes");
        assert!(other != token && !memory.is_of(other.text(), &hash) && !memory.is_of("", &hash));
        assert!(token.hash().expect("a hash") != hash, "each has a salt of its own");
        assert!(!format!("{token:?}").contains(&token.text()[20..]));
    }

    #[test]
    fn a_hash_of_another_program_is_checked_too() {
        // printf '%s' TOKEN | argon2 somesalt -id -t 2 -k 65536 -p 1 -l 24 -e, whose password is "password": the vector of RFC 9106's
        // reference implementation (test.c).
        let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        let mut memory = HashingMemory::default();
        assert!(is_hash(hash) && memory.is_of("password", hash) && !memory.is_of("passwore", hash));
        // Less memory after more: what was there is of no matter.
        let small = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
        assert!(memory.is_of("password", small) && !memory.is_of("passwore", small));
    }

    #[test]
    fn hashes_that_cost_too_much_and_texts_that_are_none_are_refused() {
        let salt_and_hash = "c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        for wrong in [
            "",
            "x",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ",
            &format!("$argon2id$v=19$m=4194304,t=2,p=1${salt_and_hash}"),
            &format!("$argon2id$v=19$m=65536,t=4000000000,p=1${salt_and_hash}"),
            &format!("$pbkdf2-sha256$i=1${salt_and_hash}"),
        ] {
            assert!(!is_hash(wrong), "{wrong}");
        }
        let secret = "0".repeat(64);
        for wrong in [
            String::new(),
            secret.clone(),
            format!("edison_{secret}"),
            format!("edison__{secret}"),
            format!("edison_a/b_{secret}"),
            format!("edison_a_{}", "A".repeat(64)),
            format!("edison_a_{secret}0"),
            format!("edison_{}_{secret}", "a".repeat(65)),
        ] {
            assert_eq!(name_of(&wrong), None, "{wrong}");
        }
    }
}
