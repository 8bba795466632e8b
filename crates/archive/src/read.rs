//! Reading back.

use crate::column::text;
use crate::schema::WHOLE_RUN;
use crate::{AnswerFilter, Archive, ArchiveError, EventFilter, Listing, ProbeOffset, StoredEvent};
use model::{Answer, EventKind, format_time};
use rusqlite::types::{ToSql, ValueRef};
use rusqlite::{OptionalExtension, Result, Row};
use serde::de::DeserializeOwned;

/// Text of all items of one listing, bytes.
const MOST_BYTES: usize = 64 << 20;

/// Conditions and their parameters.
#[derive(Default)]
pub(crate) struct Conditions {
    pub(crate) text: String,
    parameters: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    pub(crate) fn add(&mut self, condition: &str, parameter: Option<impl ToSql + 'static>) {
        let Some(parameter) = parameter else { return };
        self.text.push_str(if self.text.is_empty() { " WHERE " } else { " AND " });
        self.text.push_str(condition);
        self.parameters.push(Box::new(parameter));
    }
}

impl Archive {
    /// The newest answers that pass, in the order of the ends of their windows; those of whole runs are last.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn answers(&self, filter: &AnswerFilter) -> std::result::Result<Listing<Answer>, ArchiveError> {
        let mut conditions = Conditions::default();
        conditions.add("query = ?", filter.query.clone());
        conditions.add("node = ?", filter.node.clone());
        conditions.add("window_end > ?", filter.since_ns.map(format_time));
        conditions.add("window_start < ?", filter.until_ns.map(format_time));
        let has_times = filter.since_ns.or(filter.until_ns).is_some();
        conditions.add("window_end <> ?", has_times.then_some(WHOLE_RUN));
        let statement =
            format!("SELECT body FROM answers{} ORDER BY window_end DESC, id DESC LIMIT ?", conditions.text);
        self.list(&statement, conditions, filter.limit, |row| Ok(self.body(row.get_ref(0)?)))
    }

    /// The newest events that pass, by their times.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn events(&self, filter: &EventFilter) -> std::result::Result<Listing<StoredEvent>, ArchiveError> {
        let mut conditions = Conditions::default();
        conditions.add("query = ?", filter.query.clone());
        conditions.add("node = ?", filter.node.clone());
        conditions.add("kind = ?", filter.kind.map(EventKind::name));
        conditions.add("at >= ?", filter.since_ns.map(format_time));
        conditions.add("at < ?", filter.until_ns.map(format_time));
        let statement =
            format!("SELECT body, story FROM events{} ORDER BY at DESC, id DESC LIMIT ?", conditions.text);
        self.list(&statement, conditions, filter.limit, |row| {
            let story = row.get(1)?;
            Ok(self.body(row.get_ref(0)?).map(|event| StoredEvent { event, story }))
        })
    }

    /// The newest answer of a query for each of its nodes, by the nodes' names. Where firings pin something there is one for
    /// each of what is pinned in the newest window.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn newest(&self, query: &str) -> std::result::Result<Vec<Answer>, ArchiveError> {
        let mut newest = Vec::new();
        let mut read = |node: Option<&str>| -> Result<()> {
            let mut statement = self.connection.prepare_cached(
                "SELECT bound, body FROM answers INDEXED BY answers_key
                 WHERE query = ?1 AND node IS ?2 AND window_end =
                     (SELECT max(window_end) FROM answers INDEXED BY answers_key WHERE query = ?1 AND node IS ?2)
                 ORDER BY bound, id DESC",
            )?;
            let mut rows = statement.query((query, node))?;
            let mut last: Option<String> = None;
            while let Some(row) = rows.next()? {
                let bound: String = row.get(0)?;
                if last.as_ref() != Some(&bound) {
                    newest.extend(self.body(row.get_ref(1)?));
                    last = Some(bound);
                }
            }
            Ok(())
        };
        let mut read_all = || -> Result<()> {
            read(None)?;
            // From one name to the next: the index has as many entries of each as there are windows.
            let first = "SELECT node FROM answers WHERE query = ? AND node IS NOT NULL ORDER BY node LIMIT 1";
            let next = "SELECT node FROM answers WHERE query = ? AND node > ? ORDER BY node LIMIT 1";
            let mut first = self.connection.prepare_cached(first)?;
            let mut next = self.connection.prepare_cached(next)?;
            let mut node: Option<String> = first.query_row([query], |row| row.get(0)).optional()?;
            while let Some(name) = node {
                read(Some(&name))?;
                node = next.query_row([query, &name], |row| row.get(0)).optional()?;
            }
            Ok(())
        };
        read_all().map_err(|error| self.failed(error))?;
        Ok(newest)
    }

    /// The state of this name, if it was stored.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn state(&self, name: &str) -> std::result::Result<Option<String>, ArchiveError> {
        let read = || {
            let mut statement = self.connection.prepare_cached("SELECT text FROM states WHERE name = ?")?;
            statement.query_row([name], |row| row.get(0)).optional()
        };
        read().map_err(|error| self.failed(error))
    }

    /// Returns all state whose names begin with this, by name: names and texts.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn states(&self, prefix: &str) -> std::result::Result<Vec<(String, String)>, ArchiveError> {
        let read = || -> Result<Vec<(String, String)>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT name, text FROM states WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name",
            )?;
            let rows = statement.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        read().map_err(|error| self.failed(error))
    }

    /// The last message of each boot of each probe.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn marks(&self) -> std::result::Result<Vec<ProbeOffset>, ArchiveError> {
        let read = || -> Result<Vec<ProbeOffset>> {
            let mut statement =
                self.connection.prepare_cached("SELECT node, boot, sequence FROM marks ORDER BY id")?;
            let mark = |row: &Row<'_>| {
                let sequence = row.get::<_, i64>(2)?.cast_unsigned();
                Ok(ProbeOffset { node: row.get(0)?, boot: row.get(1)?, sequence })
            };
            statement.query_map([], mark)?.collect()
        };
        read().map_err(|error| self.failed(error))
    }

    /// Returns what a statement finds from the newest on, the oldest first. Rows for which `item` returns `None`, as it does for damaged ones,
    /// are left out.
    pub(crate) fn list<T>(
        &self,
        statement: &str,
        mut conditions: Conditions,
        most: u64,
        item: impl Fn(&Row<'_>) -> Result<Option<T>>,
    ) -> std::result::Result<Listing<T>, ArchiveError> {
        conditions.parameters.push(Box::new(limit(most)));
        let read = || -> Result<Listing<T>> {
            let mut statement = self.connection.prepare_cached(statement)?;
            let parameters: Vec<&dyn ToSql> = conditions.parameters.iter().map(Box::as_ref).collect();
            let mut rows = statement.query(&*parameters)?;
            let (mut items, mut bytes, mut is_cut) = (Vec::new(), 0, false);
            while let Some(row) = rows.next()? {
                bytes += text(row.get_ref(0)?).len();
                // The newest is there however large it is.
                is_cut = bytes > MOST_BYTES && !items.is_empty();
                if is_cut {
                    break;
                }
                items.extend(item(row)?);
            }
            items.reverse();
            Ok(Listing { items, is_cut })
        };
        read().map_err(|error| self.failed(error))
    }

    /// Reads a body; counts it where it is damaged.
    pub(crate) fn body<T: DeserializeOwned>(&self, body: ValueRef<'_>) -> Option<T> {
        let read = serde_json::from_slice(text(body)).ok();
        if read.is_none() {
            self.damaged.set(self.damaged.get() + 1);
        }
        read
    }
}

/// Returns a limit for SQLite, which takes what is negative for no limit.
pub(crate) fn limit(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
