//! The file of tokens: a line for each, `NAME ROLE HASH`. What begins with # is a comment, and stays.

use super::token::{AccessToken, is_hash, is_name};
use crate::role::Role;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

const HEADER: &str = "# Tokens: name, role, hash. `edison controller token` changes this file.";

/// A token, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEntry {
    /// The token's name.
    pub name: String,
    /// The role of the token's bearer.
    pub role: Role,
    /// The argon2 hash of the token's text.
    pub hash: String,
}

/// The tokens of a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenFile(Vec<TokenLine>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenLine {
    Comment(String),
    Token(TokenEntry),
}

/// The error in a file of tokens: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFileError(String);

impl TokenFileError {
    pub(super) fn new(path: &Path, reason: &dyn fmt::Display) -> Self {
        Self(format!("{}: {reason}", path.display()))
    }
}

impl fmt::Display for TokenFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TokenFileError {}

impl TokenFile {
    /// Reads a file, which nobody else may read.
    ///
    /// # Errors
    /// If it cannot be read, others may read it, or a line is no token.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        let wrong = |reason: &dyn fmt::Display| TokenFileError::new(path, reason);
        let text = secret::read_text(path).map_err(|error| match error.is_missing() {
            true => wrong(
                &"there is no such file: edison controller token NAME --role view --file FILE makes one",
            ),
            false => TokenFileError(error.to_string()),
        })?;
        Self::parse(&text).map_err(|error| wrong(&error))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut file = Self::default();
        for (at, line) in text.lines().enumerate() {
            let is_comment = line.trim().is_empty() || line.starts_with('#');
            let read = match is_comment {
                true => TokenLine::Comment(line.to_owned()),
                false => {
                    let entry = entry(line).map_err(|error| format!("line {}: {error}", at + 1))?;
                    if file.find(&entry.name).is_some() {
                        return Err(format!("line {}: {} is there twice", at + 1, entry.name));
                    }
                    TokenLine::Token(entry)
                }
            };
            file.0.push(read);
        }
        Ok(file)
    }

    /// Changes a file, which is made where it is not there. Others see it as it was or as it is then.
    ///
    /// # Errors
    /// If it cannot be read or written, another command changes it, or the change is refused.
    pub fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, TokenFileError> {
        let wrong = |reason: &dyn fmt::Display| TokenFileError::new(path, reason);
        let part = part_of(path);
        let taken = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let mut new = taken.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                wrong(&format!("another command changes it; if none does, remove {}", part.display()))
            }
            _ => wrong(&error),
        })?;
        let changed = || {
            let mut file = match path.try_exists() {
                Ok(false) => Self(vec![TokenLine::Comment(HEADER.to_owned())]),
                _ => Self::read(path)?,
            };
            if let Ok(about) = fs::metadata(path) {
                // It stays readable to the controller, which may be another user's. Only root can, and only root needs to.
                let _ = fchown(&new, Some(about.uid()), Some(about.gid()));
            }
            let result = change(&mut file).map_err(|error| wrong(&error))?;
            let write = new.write_all(file.to_string().as_bytes()).and_then(|()| new.sync_all());
            write.and_then(|()| fs::rename(&part, path)).map_err(|error| wrong(&error))?;
            Ok(result)
        };
        changed().inspect_err(|_| drop(fs::remove_file(&part)))
    }

    /// Adds a token.
    ///
    /// # Errors
    /// If the name is none, or taken, or the system gives no random bytes.
    pub fn add(&mut self, name: &str, role: Role) -> Result<AccessToken, String> {
        if !is_name(name) {
            return Err(format!("{name:?}: a name has 1 to 64 letters, digits, '-', '_' and '.'"));
        }
        if self.find(name).is_some() {
            return Err(format!("there is a token {name} already: take another name, or remove it first"));
        }
        let token = AccessToken::random(name).map_err(|error| error.to_string())?;
        let entry = TokenEntry { name: name.to_owned(), role, hash: token.hash()? };
        self.0.push(TokenLine::Token(entry));
        Ok(token)
    }

    /// Removes a token.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn remove(&mut self, name: &str) -> Result<(), String> {
        let before = self.0.len();
        self.0.retain(|line| !matches!(line, TokenLine::Token(entry) if entry.name == name));
        match self.0.len() == before {
            true => Err(format!("there is no token {name:?}: --list has all")),
            false => Ok(()),
        }
    }

    /// Returns the tokens, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = &TokenEntry> {
        self.0.iter().filter_map(|line| match line {
            TokenLine::Token(entry) => Some(entry),
            TokenLine::Comment(_) => None,
        })
    }

    fn find(&self, name: &str) -> Option<&TokenEntry> {
        self.entries().find(|entry| entry.name == name)
    }
}

impl fmt::Display for TokenFile {
    /// Writes the tokens as they are in the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| match line {
            TokenLine::Comment(text) => writeln!(f, "{text}"),
            TokenLine::Token(TokenEntry { name, role, hash }) => writeln!(f, "{name} {role} {hash}"),
        })
    }
}

/// Returns the path at which the next version of a file is written.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

fn entry(line: &str) -> Result<TokenEntry, String> {
    let mut words = line.split_ascii_whitespace();
    let (Some(name), Some(role), Some(hash), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("this is no NAME ROLE HASH".to_owned());
    };
    if !is_name(name) {
        return Err(format!("{name:?} is no name of a token"));
    }
    let role = role.parse()?;
    if !is_hash(hash) {
        return Err(format!(
            "{name} has no argon2 hash that can be checked: remove the line, and make a new token"
        ));
    }
    Ok(TokenEntry { name: name.to_owned(), role, hash: hash.to_owned() })
}
