//! Locates addresses: autonomous systems and countries, from the user's databases in MaxMind's format (MMDB).
//!
//! A database is read into memory: a mapped file that shrinks would kill the process.

#![forbid(unsafe_code)]

mod cache;
mod databases;
mod error;
mod record;

pub use databases::{Databases, Lookup};
pub use error::{DatabaseError, Flaw};

/// A country's two letters (ISO 3166-1), in upper case.
pub type Country = [u8; 2];

/// The location of an address, as far as the databases know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressLocation {
    /// The number of the autonomous system that announces it.
    pub asn: Option<u32>,
    /// The country.
    pub country: Option<Country>,
}

impl AddressLocation {
    /// Returns this place, completed by another.
    fn or(self, other: Self) -> Self {
        Self { asn: self.asn.or(other.asn), country: self.country.or(other.country) }
    }

    fn is_complete(self) -> bool {
        self.asn.is_some() && self.country.is_some()
    }
}
