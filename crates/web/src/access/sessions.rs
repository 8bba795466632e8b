//! Sessions of pages, in memory: they end with the server.

use super::token::{Digest, digest, random_hex};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a session lasts.
pub(super) const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// Sessions of one token: the oldest makes room.
const MOST: usize = 16;

/// Sessions, by the SHA-256 of their identifiers.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Digest, PageSession>>);

#[derive(Debug)]
struct PageSession {
    name: String,
    /// The hash of the token that was shown.
    hash: Arc<str>,
    began: Instant,
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<Digest, PageSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session of a token: its identifier.
    pub(super) fn begin(
        &self,
        name: &str,
        hash: &Arc<str>,
        now: Instant,
    ) -> Result<String, getrandom::Error> {
        let id = random_hex::<32>()?;
        let mut all = self.all();
        all.retain(|_, session| now.duration_since(session.began) < LIFETIME);
        let own = all.iter().filter(|(_, session)| session.name == name);
        let oldest = own.clone().min_by_key(|(_, session)| session.began).map(|(id, _)| *id);
        if let Some(oldest) = oldest.filter(|_| own.count() >= MOST) {
            all.remove(&oldest);
        }
        let session = PageSession { name: name.to_owned(), hash: Arc::clone(hash), began: now };
        all.insert(digest(id.as_bytes()), session);
        Ok(id)
    }

    /// The token of a session that goes on: its name and hash.
    pub(super) fn find(&self, id: &Digest, now: Instant) -> Option<(String, Arc<str>)> {
        let all = self.all();
        let session = all.get(id).filter(|session| now.duration_since(session.began) < LIFETIME)?;
        Some((session.name.clone(), Arc::clone(&session.hash)))
    }

    pub(super) fn end(&self, id: &Digest) {
        self.all().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_bounded_in_number_and_time() {
        let sessions = Sessions::default();
        let (hash, start) = (Arc::from("h"), Instant::now());
        let begin = |name: &str, second: u64| {
            let id = sessions.begin(name, &hash, start + Duration::from_secs(second)).expect("random bytes");
            digest(id.as_bytes())
        };
        let other = begin("other", 0);
        let ids: Vec<Digest> = (1..=MOST as u64 + 1).map(|second| begin("a", second)).collect();
        let at = start + Duration::from_secs(20);
        assert_eq!(sessions.find(&ids[0], at), None, "the oldest made room");
        assert!(ids[1..].iter().all(|id| sessions.find(id, at) == Some(("a".to_owned(), Arc::clone(&hash)))));
        assert!(sessions.find(&other, at).is_some());
        sessions.end(&ids[1]);
        assert_eq!(sessions.find(&ids[1], at), None);
        assert_eq!(sessions.find(&other, start + LIFETIME), None);
        begin("b", LIFETIME.as_secs() + 100);
        assert_eq!(sessions.all().len(), 1, "those that have ended are not kept");
    }
}
