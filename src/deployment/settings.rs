//! The settings of a probe or a controller, from a TOML file.

use crate::exit::Failure;
use crate::toml_file;
use std::path::{Path, PathBuf};

/// A file's settings, which are taken key by key.
pub(crate) struct Settings {
    path: PathBuf,
    table: toml::Table,
    /// The keys that were asked for.
    names: Vec<&'static str>,
}

impl Settings {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self { path: path.to_owned(), table: toml_file::read(path)?, names: Vec::new() })
    }

    /// What is wrong with the file.
    pub(crate) fn wrong(&self, reason: impl AsRef<str>) -> Failure {
        toml_file::wrong(&self.path, reason.as_ref())
    }

    /// The values of a list, or the one value; none where the key is not there.
    pub(crate) fn list(&mut self, key: &'static str) -> Result<Vec<String>, Failure> {
        self.names.push(key);
        match self.table.remove(key) {
            None => Ok(Vec::new()),
            Some(value) => toml_file::texts(&self.path, key, &value),
        }
    }

    /// A value, if the key is there.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, Failure> {
        let mut values = self.list(key)?.into_iter();
        match (values.next(), values.next()) {
            (first, None) => Ok(first),
            _ => Err(self.wrong(format!("'{key}' must be one value"))),
        }
    }

    /// A value that must be there. `what`: what it is, with an example.
    pub(crate) fn required(&mut self, key: &'static str, what: &str) -> Result<String, Failure> {
        let text = self.text(key)?;
        text.ok_or_else(|| self.wrong(format!("'{key}' is missing: {what}")))
    }

    /// A value as `read` understands it, or `usual`.
    pub(crate) fn value<T, E: std::fmt::Display>(
        &mut self,
        key: &'static str,
        usual: T,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Failure> {
        match self.text(key)? {
            None => Ok(usual),
            Some(text) => read(&text).map_err(|error| self.wrong(format!("'{key}': {error}"))),
        }
    }

    /// A table of names and values.
    pub(crate) fn pairs(&mut self, key: &'static str) -> Result<Vec<(String, String)>, Failure> {
        self.names.push(key);
        let Some(value) = self.table.remove(key) else { return Ok(Vec::new()) };
        let toml::Value::Table(table) = value else {
            return Err(self.wrong(format!("'{key}' must be a table: [{key}], then NAME = VALUE")));
        };
        let pair = |(name, value): (String, toml::Value)| {
            let mut values = toml_file::texts(&self.path, &name, &value)?.into_iter();
            match (values.next(), values.next()) {
                (Some(value), None) => Ok((name, value)),
                _ => Err(self.wrong(format!("'{key}.{name}' must be one value"))),
            }
        };
        table.into_iter().map(pair).collect()
    }

    /// The file and the keys that were not taken.
    pub(crate) fn rest(self) -> (PathBuf, toml::Table) {
        (self.path, self.table)
    }

    /// Refuses keys that were not taken. `all`: where all are listed.
    pub(crate) fn finish(self, all: &str) -> Result<(), Failure> {
        match self.table.keys().next() {
            None => Ok(()),
            Some(key) => Err(toml_file::unknown(&self.path, key, &self.names, all)),
        }
    }
}
