//! A checksum of all records of a manifest: SQLite has none of its pages.
//!
//! It is a member of the table `meta`. A writer renews it once a second at most: in between there is none, and none is checked.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};
use std::time::{Duration, Instant};

/// The name of the checksum in the table `meta`.
const NAME: &str = "checksum";
/// The time between two sums over all records by a writer, at the least.
const EVERY: Duration = Duration::from_secs(1);

/// The time at which a writer last added all records up.
#[derive(Debug, Default)]
pub(crate) struct Renewal(Option<Instant>);

impl Renewal {
    /// Renews the checksum of what a transaction leaves, or takes the old one away.
    pub(crate) fn renew(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.0.is_some_and(|last| last.elapsed() < EVERY) {
            return connection.execute("DELETE FROM meta WHERE name = ?1", [NAME]).map(|_| ());
        }
        write(connection)?;
        self.0 = Some(Instant::now());
        Ok(())
    }
}

/// Writes the checksum of all records.
pub(crate) fn write(connection: &Connection) -> rusqlite::Result<()> {
    let text = text(connection)?;
    let statement = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(statement, [NAME, &text]).map(|_| ())
}

/// Returns true if the records are those that were written, as far as there is a checksum.
pub(crate) fn is_right(connection: &Connection) -> rusqlite::Result<bool> {
    let known =
        connection.query_row("SELECT value FROM meta WHERE name = ?1", [NAME], |row| row.get::<_, String>(0));
    Ok(match known.optional()? {
        Some(known) => known == text(connection)?,
        None => true,
    })
}

/// The number of records, and the sum of their checksums: their order does not matter.
fn text(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare_cached(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
    )?;
    let tables: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let (mut records, mut sum) = (0_u64, 0_u64);
    for table in tables {
        let name = table.replace('"', "\"\"");
        // An index that is damaged hides records.
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\" NOT INDEXED"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(table.as_bytes());
            let mut is_own = false;
            for column in 0..columns {
                let value = row.get_ref(column)?;
                is_own |= table == "meta" && column == 0 && value == ValueRef::Text(NAME.as_bytes());
                add(&mut hasher, value);
            }
            if !is_own {
                records += 1;
                sum = sum.wrapping_add(u64::from(hasher.finalize()));
            }
        }
    }
    Ok(format!("{records},{sum:016x}"))
}

fn add(hasher: &mut crc32fast::Hasher, value: ValueRef<'_>) {
    let mut put = |kind: u8, bytes: &[u8]| {
        hasher.update(&[kind]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    match value {
        ValueRef::Null => put(0, &[]),
        ValueRef::Integer(number) => put(1, &number.to_le_bytes()),
        ValueRef::Real(number) => put(2, &number.to_le_bytes()),
        ValueRef::Text(text) => put(3, text),
        ValueRef::Blob(bytes) => put(4, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Connection {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(crate::schema::TABLES).expect("tables");
        let insert = "INSERT INTO rolled_up VALUES ('1h', 'a', 5), ('1min', 'a', 7), ('1h', 'b', 9)";
        connection.execute_batch(insert).expect("records");
        connection
    }

    #[test]
    fn what_is_changed_gone_or_more_is_found() {
        let connection = manifest();
        assert!(is_right(&connection).expect("without one nothing is checked"));
        write(&connection).expect("written");
        for change in [
            "UPDATE rolled_up SET until_ns = 13 WHERE node = 'b'",
            "UPDATE rolled_up SET node = 'c' WHERE node = 'b'",
            "DELETE FROM rolled_up WHERE node = 'b'",
            "INSERT INTO rolled_up VALUES ('1min', 'b', 9)",
            "INSERT INTO meta VALUES ('more', '1')",
        ] {
            assert!(is_right(&connection).expect("read"), "before {change}");
            connection.execute_batch(&format!("SAVEPOINT change; {change}")).expect(change);
            assert!(!is_right(&connection).expect("read"), "{change}");
            connection.execute_batch("ROLLBACK TO change; RELEASE change").expect("undone");
        }
    }

    #[test]
    fn it_is_renewed_once_a_second_and_else_there_is_none() {
        let connection = manifest();
        let mut renewal = Renewal::default();
        renewal.renew(&connection).expect("written");
        connection.execute_batch("DELETE FROM rolled_up WHERE node = 'b'").expect("deleted");
        assert!(!is_right(&connection).expect("read"));
        // Within the same second, unless this machine is very slow: right in either case.
        renewal.renew(&connection).expect("renewed");
        assert!(is_right(&connection).expect("read"));
    }
}
