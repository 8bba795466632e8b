//! The HTTP interface of a controller or a run: what it measured, what happened, its state, and the page that shows them.
//!
//! A [`Hub`] has all that is shown. Its owner publishes what follows from each step of the controller, and replaces the state; the
//! hub stores answers, events and stories in its archive and tells all streams. [`serve`] answers requests on a thread of its own, and
//! hands those that change something, or ask nodes ([`Request`]), to the owner, which answers them in its own time. Texts of queries are checked
//! on a thread of the server, for what the owner says ([`Checking`]). `openapi.json` describes the interface.
//!
//! On a loopback address nobody is asked who he is, unless there are [`Tokens`]: then each request needs one, whose [`Role`] says what it
//! may do. Beyond loopback a server needs tokens and a [`Certificate`]. What a browser sends on behalf of another site is refused, and all
//! that is refused is counted by name.
//!
//! ```
//! use archive::{Archive, ArchiveChanges, ArchiveRetention};
//! use std::io::{Read, Write};
//!
//! let hub = web::Hub::new(Archive::in_memory(ArchiveRetention::default())?);
//! let server = web::serve(hub.clone(), "127.0.0.1:0".parse()?, None)?;
//! hub.publish(&ArchiveChanges::default())?;
//!
//! let mut client = std::net::TcpStream::connect(server.address())?;
//! client.write_all(b"GET /api/v1/answers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
//! let mut response = String::new();
//! client.read_to_string(&mut response)?;
//! assert!(response.ends_with(r#"{"answers":[]}"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod access;
mod address;
mod api;
mod assets;
mod body;
mod capture;
mod certificate;
mod change;
mod changed;
mod checking;
#[cfg(feature = "schema")]
pub mod description;
mod event_counts;
mod failure;
mod feed;
mod guard;
mod hub;
mod message;
mod metrics;
mod names;
mod nonce;
mod parameters;
mod peer;
mod refusals;
mod request;
mod responses;
mod role;
mod server;

pub use access::{AccessToken, Role, TokenEntry, TokenFile, TokenFileError, Tokens};
pub use certificate::Certificate;
pub use checking::Checking;
pub use hub::{Hub, SilencedEvents};
pub use model::view;
pub use request::{DryRunAsked, HistoryAsked, Installed, Removed, Reply, Request, RequestRefusal};
pub use server::{Server, ServerLimits, ServerSettings, serve, serve_with};
