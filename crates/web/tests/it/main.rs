//! The server as its clients see it, over TCP on loopback.

mod access;
mod acknowledgements;
mod captures;
mod change;
mod check;
mod client;
mod description;
mod guard;
mod life;
mod limits;
mod listings;
mod metrics;
mod node_changes;
mod nonce;
mod now;
mod page;
mod proxy;
mod requests;
mod sample;
mod sessions;
mod silences;
mod streams;
mod tls;
mod token_file;
