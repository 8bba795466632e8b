//! Firings and resolutions of standing queries to Alertmanagers, through version 2 of their API.
//!
//! ```text
//! events ─▶ Book (what fires, what each Alertmanager was told) ─▶ a thread for each Alertmanager ─▶ POST /api/v2/alerts
//! ```
//!
//! An alert is told until its Alertmanager has taken it, and again every minute while it fires, since an Alertmanager resolves what it does
//! not hear of. Telling it twice changes nothing there: its labels say which alert it is. So what is told at least once is there once.
//!
//! A silence ([`Book::silence`]) keeps firings from being told for a time. What ends is told to who took it for firing.
//!
//! It must not know how events come about, nor who keeps the book.
#![forbid(unsafe_code)]

mod address;
mod alert;
mod book;
mod bounded;
mod client;
mod desk;
mod notifier;
mod notify;
mod problem;
mod sender;
mod silences;

pub use address::AlertmanagerUrl;
pub use alert::{Alert, Extra};
pub use book::{Book, KEEP, REPEAT};
pub use client::AlertmanagerClient;
pub use notifier::{Notifier, NotifierOutcome};
pub use notify::{Notify, NotifyError};
pub use problem::AlertmanagerProblem;
pub use silences::SilencedFiring;
