//! The tokens that a server knows, kept as the file has them.

use super::token::{Digest, name_of};
use super::token_file::{TokenFile, TokenFileError};
use crate::changed::FileWatch;
use crate::role::Role;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The tokens that a server knows. It takes changes of the file within a second.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    state: Mutex<TokenState>,
}

#[derive(Debug)]
struct TokenState {
    watch: FileWatch,
    /// The tokens by name.
    known: BTreeMap<String, RegisteredToken>,
}

#[derive(Debug)]
struct RegisteredToken {
    role: Role,
    hash: Arc<str>,
    /// The SHA-256 of the token of this hash, once it was shown: argon2 is asked once.
    shown: Option<Digest>,
}

/// The result of looking for the text of a token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenLookup {
    /// The token was shown before.
    Known { name: String, role: Role, hash: Arc<str> },
    /// The name is that of a token: the hash tells whether it is this one.
    Unchecked { name: String, role: Role, hash: Arc<str> },
    /// The token is wrong.
    Nobody,
}

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// If it cannot be read, others may read it, a line is no token, or it has none.
    pub fn open(path: &Path) -> Result<Self, TokenFileError> {
        let watch = FileWatch::new([path.to_owned()], Instant::now());
        let known = known(&TokenFile::read(path)?);
        if known.is_empty() {
            let error = "there is no token: edison controller token NAME --role view --file FILE adds one";
            return Err(TokenFileError::new(path, &error));
        }
        Ok(Self { path: path.to_owned(), state: Mutex::new(TokenState { watch, known }) })
    }

    /// Returns the number of tokens.
    pub fn count(&self) -> usize {
        self.state().known.len()
    }

    fn state(&self) -> MutexGuard<'_, TokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file again if it has changed. A file that cannot be read lets nobody in. What is worth a line.
    pub(super) fn refresh(&self, now: Instant) -> Option<String> {
        let mut state = self.state();
        if !state.watch.has_changed(now) {
            return None;
        }
        match TokenFile::read(&self.path) {
            Ok(file) => {
                let mut new = known(&file);
                for (name, known) in &mut new {
                    let before = state.known.get(name).filter(|before| before.hash == known.hash);
                    known.shown = before.and_then(|before| before.shown);
                }
                state.known = new;
                Some(format!("{}: has changed: {} tokens are known", self.path.display(), state.known.len()))
            }
            Err(error) => {
                state.known.clear();
                Some(format!("{error}; until then nobody is let in"))
            }
        }
    }

    pub(super) fn find(&self, text: &str, digest: &Digest) -> TokenLookup {
        let Some(name) = name_of(text) else { return TokenLookup::Nobody };
        let state = self.state();
        let Some(known) = state.known.get(name) else { return TokenLookup::Nobody };
        let (name, role, hash) = (name.to_owned(), known.role, Arc::clone(&known.hash));
        match known.shown.as_ref() == Some(digest) {
            true => TokenLookup::Known { name, role, hash },
            false => TokenLookup::Unchecked { name, role, hash },
        }
    }

    /// A token was shown that is the one of this hash.
    pub(super) fn remember(&self, name: &str, hash: &Arc<str>, digest: Digest) {
        if let Some(known) = self.state().known.get_mut(name).filter(|known| known.hash == *hash) {
            known.shown = Some(digest);
        }
    }

    /// The role of a token, if it is still there.
    pub(super) fn role_of(&self, name: &str, hash: &Arc<str>) -> Option<Role> {
        self.state().known.get(name).filter(|known| known.hash == *hash).map(|known| known.role)
    }
}

fn known(file: &TokenFile) -> BTreeMap<String, RegisteredToken> {
    let known = |entry: &super::token_file::TokenEntry| {
        let hash = Arc::from(entry.hash.as_str());
        (entry.name.clone(), RegisteredToken { role: entry.role, hash, shown: None })
    };
    file.entries().map(known).collect()
}
