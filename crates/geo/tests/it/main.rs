//! Places of addresses.

mod databases;
