//! Access to the API: who may ask for what.
//!
//! A program shows its token with each request (`Authorization: Bearer`). A page shows it once, for a session: its cookie has a random
//! identifier, never the token, and no script can read it.

mod attempts;
mod sessions;
mod token;
mod token_file;
mod tokens;

pub use crate::role::Role;
pub use token::AccessToken;
pub(crate) use token::random_hex;
pub use token_file::{TokenEntry, TokenFile, TokenFileError};
pub use tokens::Tokens;

use crate::failure::ApiFailure;
use attempts::Attempts;
use axum::http::{HeaderMap, StatusCode, header};
use sessions::Sessions;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use token::{Digest, HashingMemory};
use tokens::TokenLookup;
use tokio::sync::Semaphore;

/// Clients that wait while the token of another is checked. It takes tens of milliseconds and 19 MiB: one is checked at a time.
const MOST_WAITING: usize = 16;
/// The hint where to get a token.
const HOW: &str = "make one: edison controller token NAME --role view --file TOKENS";

/// The identity of who asks.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The name of the token; `None` where the API asks for no token.
    pub(crate) name: Option<String>,
    pub(crate) role: Role,
    proof: Proof,
}

#[derive(Clone, Debug)]
enum Proof {
    NotAsked,
    /// The hash that the token has in the file.
    Token(Arc<str>),
    Session(Digest),
}

impl Identity {
    /// Returns true if the identity is known by a cookie, which a browser sends unasked.
    pub(crate) fn is_by_cookie(&self) -> bool {
        matches!(self.proof, Proof::Session(_))
    }
}

/// The rules of access: who may ask for what.
#[derive(Debug)]
pub(crate) struct Access {
    /// The tokens; `None` where the API asks for no token.
    tokens: Option<Arc<Tokens>>,
    attempts: Attempts,
    sessions: Sessions,
    /// The name of the cookie: browsers send those of one port to others.
    cookie: String,
    is_tls: bool,
    waiting: AtomicUsize,
    checks: Semaphore,
    memory: Arc<Mutex<HashingMemory>>,
}

impl Access {
    pub(crate) fn new(tokens: Option<Tokens>, port: u16, is_tls: bool) -> Self {
        Self {
            tokens: tokens.map(Arc::new),
            attempts: Attempts::default(),
            sessions: Sessions::default(),
            cookie: format!("edison-session-{port}"),
            is_tls,
            waiting: AtomicUsize::new(0),
            checks: Semaphore::new(1),
            memory: Arc::default(),
        }
    }

    /// Takes what has changed in the file of tokens. A line where that is worth one.
    pub(crate) fn refresh(&self) -> Option<String> {
        self.tokens.as_ref()?.refresh(Instant::now())
    }

    /// Returns the identity of who sent these headers.
    pub(crate) async fn identify(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Identity, ApiFailure> {
        let Some(tokens) = &self.tokens else {
            return Ok(Identity { name: None, role: Role::Admin, proof: Proof::NotAsked });
        };
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let token = value.to_str().ok().and_then(bearer);
            let token =
                token.ok_or_else(|| unknown("wrong_token", "Authorization has no Bearer and a token"))?;
            return self.by_token(tokens, token, peer).await;
        }
        let Some(id) = self.cookie_of(headers) else {
            return Err(unknown(
                "no_token",
                &format!("this needs a token (Authorization: Bearer TOKEN); {HOW}"),
            ));
        };
        self.by_session(tokens, token::digest(id.as_bytes()))
            .ok_or_else(|| unknown("no_session", "the session has ended: show the token again"))
    }

    fn by_session(&self, tokens: &Tokens, id: Digest) -> Option<Identity> {
        let (name, hash) = self.sessions.find(&id, Instant::now())?;
        let role = tokens.role_of(&name, &hash)?;
        Some(Identity { name: Some(name), role, proof: Proof::Session(id) })
    }

    async fn by_token(&self, tokens: &Arc<Tokens>, text: &str, peer: IpAddr) -> Result<Identity, ApiFailure> {
        let wrong = || {
            unknown(
                "wrong_token",
                "there is no such token: it may have been removed, or belong to another controller",
            )
        };
        let digest = token::digest(text.as_bytes());
        let (name, role, hash) = match tokens.find(text, &digest) {
            TokenLookup::Known { name, role, hash } => (name, role, hash),
            TokenLookup::Nobody => {
                self.attempts.take_of_address(peer, Instant::now()).map_err(too_many)?;
                return Err(wrong());
            }
            TokenLookup::Unchecked { name, role, hash } => {
                let _waits = WaitingClient::among(&self.waiting).ok_or_else(busy)?;
                self.attempts.take(peer, Instant::now()).map_err(too_many)?;
                // It is never closed.
                let _turn = self.checks.acquire().await.map_err(|_| busy())?;
                let (asked, stored, memory) = (text.to_owned(), Arc::clone(&hash), Arc::clone(&self.memory));
                let check =
                    move || memory.lock().unwrap_or_else(PoisonError::into_inner).is_of(&asked, &stored);
                let check = tokio::task::spawn_blocking(check);
                if !check.await.map_err(|_| ApiFailure::internal("a token could not be checked"))? {
                    return Err(wrong());
                }
                self.attempts.give_back(peer);
                tokens.remember(&name, &hash, digest);
                (name, role, hash)
            }
        };
        Ok(Identity { name: Some(name), role, proof: Proof::Token(hash) })
    }

    /// Returns true if who was let in still is: his token is in the file, with his role, and his session goes on.
    pub(crate) fn still_knows(&self, identity: &Identity) -> bool {
        let (Some(tokens), Some(name)) = (&self.tokens, &identity.name) else { return true };
        let role = match &identity.proof {
            Proof::NotAsked => return true,
            Proof::Token(hash) => tokens.role_of(name, hash),
            Proof::Session(id) => self.by_session(tokens, *id).map(|identity| identity.role),
        };
        role == Some(identity.role)
    }

    /// Begins a session of who showed his token: the cookie for it. `None` where the API asks for no token, or he has one.
    pub(crate) fn begin_session(&self, identity: &Identity) -> Result<Option<String>, getrandom::Error> {
        let (Proof::Token(hash), Some(name)) = (&identity.proof, &identity.name) else { return Ok(None) };
        let id = self.sessions.begin(name, hash, Instant::now())?;
        Ok(Some(self.set_cookie(&id, sessions::LIFETIME)))
    }

    /// Ends the session of these headers: the cookie that takes its place.
    pub(crate) fn end_session(&self, headers: &HeaderMap) -> String {
        if let Some(id) = self.cookie_of(headers) {
            self.sessions.end(&token::digest(id.as_bytes()));
        }
        self.set_cookie("", Duration::ZERO)
    }

    /// Returns the cookie with this value. It has no path: browsers then send it to what lies beside the call that set it, which is the API,
    /// whatever prefix a reverse proxy took from the path.
    fn set_cookie(&self, value: &str, lifetime: Duration) -> String {
        let (name, seconds) = (&self.cookie, lifetime.as_secs());
        let secure = if self.is_tls { "; Secure" } else { "" };
        format!("{name}={value}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    fn cookie_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let lists = headers.get_all(header::COOKIE).into_iter().filter_map(|list| list.to_str().ok());
        let pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value).next()
    }
}

/// The token of `Bearer TOKEN`.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unknown(name: &'static str, error: &str) -> ApiFailure {
    ApiFailure::refused(name, StatusCode::UNAUTHORIZED, error)
}

fn too_many(wait: Duration) -> ApiFailure {
    let seconds = wait.as_secs() + 1;
    let error = format!("too many wrong tokens came lately: try again in {seconds} s");
    ApiFailure::refused("too_many_wrong_tokens", StatusCode::TOO_MANY_REQUESTS, error).again_after(seconds)
}

fn busy() -> ApiFailure {
    let error = "too many tokens wait to be checked: try again in 1 s";
    ApiFailure::refused("too_many_tokens", StatusCode::TOO_MANY_REQUESTS, error).again_after(1)
}

/// A client that waits.
struct WaitingClient<'a>(&'a AtomicUsize);

impl<'a> WaitingClient<'a> {
    fn among(waiting: &'a AtomicUsize) -> Option<Self> {
        let waits = Self(waiting);
        (waiting.fetch_add(1, Relaxed) < MOST_WAITING).then_some(waits)
    }
}

impl Drop for WaitingClient<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
