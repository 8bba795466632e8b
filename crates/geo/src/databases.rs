//! Databases in memory.

use crate::cache::PlaceCache;
use crate::record::GeoRecord;
use crate::{AddressLocation, DatabaseError, Flaw};
use maxminddb::{MaxMindDbError, Reader};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest size of a database that is read, bytes; it is more than any database that is sold has.
const LARGEST: u64 = 4 << 30;
/// Networks, and those of them that have records, which are looked at to see what a database is about.
const MOST_NETWORKS: usize = 1 << 16;
const MOST_RECORDS: usize = 1 << 10;
/// The greatest distance of the metadata's beginning from the end of the file, bytes, by the format.
const LONGEST_METADATA: usize = 128 << 10;
/// The beginning of the metadata, which ends each database.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// Databases of which the first that knows a thing tells it.
#[derive(Default)]
pub struct Databases {
    readers: Vec<Reader<Vec<u8>>>,
    cache: Mutex<PlaceCache>,
}

impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.readers.iter().map(|reader| &reader.metadata().database_type);
        f.debug_list().entries(types).finish()
    }
}

impl Databases {
    /// Reads the databases in these files.
    ///
    /// # Errors
    /// The first file that is no database with countries or autonomous systems.
    pub fn open<P: AsRef<Path>>(files: &[P]) -> Result<Self, DatabaseError> {
        let mut databases = Self::default();
        for file in files {
            let file = file.as_ref();
            let added = read(file).and_then(|bytes| databases.add(bytes));
            added.map_err(|flaw| DatabaseError { file: file.display().to_string(), flaw })?;
        }
        Ok(databases)
    }

    /// Adds a database, which is asked after those that are there.
    ///
    /// # Errors
    /// The bytes are no database with countries or autonomous systems.
    pub fn add(&mut self, bytes: Vec<u8>) -> Result<(), Flaw> {
        let end = &bytes[bytes.len().saturating_sub(LONGEST_METADATA)..];
        if !end.windows(MARKER.len()).any(|window| window == MARKER) {
            return Err(Flaw::NoDatabase);
        }
        let reader = Reader::from_source(bytes).map_err(|_| Flaw::Damaged)?;
        match has_places(&reader) {
            Ok(true) => {}
            Ok(false) => return Err(Flaw::NothingUsed),
            Err(_) => return Err(Flaw::Damaged),
        }
        self.readers.push(reader);
        self.cache = Mutex::default();
        Ok(())
    }

    /// Looks addresses up; others wait meanwhile.
    pub fn lookup(&self) -> Lookup<'_> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        Lookup { readers: &self.readers, cache }
    }
}

/// A row of lookups.
pub struct Lookup<'a> {
    readers: &'a [Reader<Vec<u8>>],
    cache: MutexGuard<'a, PlaceCache>,
}

impl fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup").finish_non_exhaustive()
    }
}

impl Lookup<'_> {
    /// Returns what the databases know of an address. A database that is damaged at this address knows nothing.
    pub fn place(&mut self, address: IpAddr) -> AddressLocation {
        let readers = self.readers;
        self.cache.place(address, || {
            let mut place = AddressLocation::default();
            for reader in readers {
                if place.is_complete() {
                    break;
                }
                place = place.or(place_in(reader, address));
            }
            place
        })
    }
}

fn place_in(reader: &Reader<Vec<u8>>, address: IpAddr) -> AddressLocation {
    let record = reader.lookup(address).and_then(|found| found.decode::<GeoRecord>());
    record.ok().flatten().map_or_else(AddressLocation::default, |record| record.place())
}

/// Returns true if a database has countries or autonomous systems, as its first networks tell. The numbers of networks and of records are
/// bounded, because the tree of a damaged database may have any number.
fn has_places(reader: &Reader<Vec<u8>>) -> Result<bool, MaxMindDbError> {
    let is_v6 = reader.metadata().ip_version == 6;
    let bits: u32 = if is_v6 { 128 } else { 32 };
    let (mut first, mut records) = (0_u128, 0);
    for _ in 0..MOST_NETWORKS {
        let address = match is_v6 {
            true => IpAddr::V6(Ipv6Addr::from_bits(first)),
            false => IpAddr::V4(Ipv4Addr::from_bits(first as u32)),
        };
        let found = reader.lookup(address)?;
        if let Some(record) = found.decode::<GeoRecord>()? {
            records += 1;
            if record.place() != AddressLocation::default() {
                return Ok(true);
            }
            if records == MOST_RECORDS {
                return Ok(false);
            }
        }
        let length = u32::from(found.network()?.prefix()).min(bits);
        let size = 1_u128.checked_shl(bits - length);
        // Behind the last network there is none.
        let next = size.and_then(|size| (first | (size - 1)).checked_add(1));
        match next.filter(|next| is_v6 || *next >> 32 == 0) {
            Some(next) => first = next,
            None => break,
        }
    }
    Ok(false)
}

fn read(path: &Path) -> Result<Vec<u8>, Flaw> {
    // Before it is opened: opening a pipe would wait for its writer.
    if !path.metadata().map_err(Flaw::Unreadable)?.is_file() {
        return Err(Flaw::NoFile);
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Flaw::Unreadable)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(Flaw::Unreadable)?;
    if bytes.len() as u64 > LARGEST { Err(Flaw::TooLarge) } else { Ok(bytes) }
}
